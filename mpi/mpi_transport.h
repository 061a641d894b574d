// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The MPI transport: ranks are the processes of an MPI job, by their numbers in
// it. Implements the contract of runtime/transport/transport.h; mpi/wire.h says what goes
// over MPI.
//
// Matching. Messages are matched here, by (peer, tag): MPI's tags are too short,
// and MPI would keep what nobody receives without limit. Short messages go with
// a header in one MPI message; of long ones the receiver grants an MPI tag, and
// parts of a bounded size go under it, so that an urgent message overtakes and no
// MPI message is longer than an int can say.
//
// Copies: none of long messages into a buffer (MPI receives in place); with
// RecvStream each part is received into memory that fits the cache, and passed on.
//
// Progress. MPI moves on only while it is called. The thread that waits for a
// message calls Poll (runtime/execute/progress_engine.h does); a thread of the
// transport does so while no one else does, with pauses that grow to a
// millisecond while nothing is under way. Where processes outnumber cores,
// polling takes time from the others: every pass without success yields.
//
// Failure. A rank that gives up tells the others. MPI says nothing of a process
// that is gone or hangs: its launcher ends the job (mpirun, srun
// --kill-on-bad-exit), and the deadline of the executor finds the rest.
#ifndef COMMSCHED_MPI_MPI_TRANSPORT_H
#define COMMSCHED_MPI_MPI_TRANSPORT_H

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "runtime/transport/transport.h"

namespace commsched::transport {

struct MpiOptions {
  // Messages up to this size go without a grant, as far as
  // TransportOptions::unexpected_bytes of the receiver allows; at most 1 MiB.
  size_t eager_bytes = size_t{16} << 10;
  // The same between ranks of one host that share memory; at most 64 KiB. Longer
  // messages are read where they are.
  size_t ring_eager_bytes = size_t{32} << 10;
  // Whether ranks of one host share memory where the system allows it; else all
  // goes through MPI.
  bool share = true;
  // A long message is cut into parts of this size: a multiple of 64, 4 KiB to
  // 1 GiB.
  size_t part_bytes = size_t{256} << 10;
  // Parts that are under way to one peer at most: a more urgent message waits
  // for these. More of them were slower on a link of 1 Gbit/s.
  int window = 2;
};

// Connects to the ranks of the MPI job that this process belongs to; begins MPI
// if that has not been done (mpi/world.h). options.rank and .nodes must be those
// of the job; .peers is not used. Blocks until all ranks are there.
// Errors: kInvalidArgument for options that make no sense, kFailedPrecondition if
// the job or a peer does not fit, kAborted if a peer gave up, kDeadlineExceeded
// naming the ranks that did not come, kUnavailable if MPI fails.
absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectMpi(
    runtime::TransportOptions options, MpiOptions mpi = {});

}  // namespace commsched::transport

#endif  // COMMSCHED_MPI_MPI_TRANSPORT_H
