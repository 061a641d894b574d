// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a trainer reaches the parameter servers of its plan. One object per
// trainer, for all servers; implementations for servers in this process and
// over gRPC.
//
// Servers and blocks are indices into the plan's ParameterServers. Steps count
// from 0 over the whole job, resumed parts included.
//
// A trainer pushes every block once per step (half-asynchronous: once per
// `merge` steps; the step is then the last one merged), in the order of steps,
// and pulls version v of a block only after it has pushed step v - 1.
//
// Exactly once. An implementation may repeat a push after a lost connection or
// a restarted server; the server applies the push of (trainer, step, block) once.
//
// Threading: all methods may be called from any thread, concurrently. `done` is
// called exactly once, from any thread, possibly before the call returns, never
// while a lock is held that a call into the object would need.
#ifndef COMMSCHED_RUNTIME_TRANSPORT_PARAMETER_CLIENT_H
#define COMMSCHED_RUNTIME_TRANSPORT_PARAMETER_CLIENT_H

#include <cstddef>
#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/program/server_program.h"

namespace commsched::runtime {

class ParameterClient {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // Closes if that has not been done.
  virtual ~ParameterClient() = default;

  // For errors and traces: "in-process", "grpc".
  virtual const char *name() const = 0;
  // Steps that the servers have behind them: 0, or where the job goes on.
  virtual uint64_t first_step() const = 0;
  // Whether they write checkpoints while they run.
  virtual bool keeps_checkpoints() const = 0;

  // `bytes` (exactly the block's; of a block of rows, a message of rows: see
  // runtime/program/rows_message.h) stay unchanged until `done`, which means that the
  // memory may be reused, not that the update is applied.
  virtual void Push(int server, uint32_t block, uint64_t step,
                    absl::Span<const std::byte> bytes, Done done) = 0;

  // Of Pull, after Finish: the value when all trainers have finished and all that
  // they have sent is applied.
  static constexpr uint64_t kFinal = ~uint64_t{0};

  // Version 0 is the initial value. Synchronous: the value after exactly
  // `version` steps. Asynchronous: the newest value that has this trainer's
  // pushes of the steps before `version` in it. `buffer` has exactly the
  // block's bytes and may be written until `done`.
  virtual void Pull(int server, uint32_t block, uint64_t version,
                    absl::Span<std::byte> buffer, Done done) = 0;

  // Of a block of rows: `buffer` gets the rows `ids` (ascending, counted from the
  // block's first one) of the version. The call may be repeated, also while
  // another one for the same block and version waits.
  virtual void PullRows(int server, uint32_t block, uint64_t version,
                        absl::Span<const int64_t> ids,
                        absl::Span<std::byte> buffer, Done done) = 0;

  // How messages go from now on, where there is something to order: of another plan with the
  // same servers and blocks. Nothing is being pushed or pulled.
  virtual void SetOrder(const ServerOrder &) {}

  // This trainer has run out of batches: it pushes nothing of step `steps` and
  // later ones. The others go on without it. Waits until all servers know.
  virtual absl::Status Finish(uint64_t steps) = 0;

  // Tells all servers, and through them all trainers, that this one gives up,
  // and why. What is pending fails with kCancelled. Only Close may follow.
  virtual void Abort(const absl::Status &why) = 0;

  // Drops the connections. After it has returned no callback runs and no
  // caller's memory is touched. Calling it again does nothing.
  virtual void Close() = 0;

  // Sums of payload, for reports.
  virtual uint64_t bytes_sent() const = 0;
  virtual uint64_t bytes_received() const = 0;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_TRANSPORT_PARAMETER_CLIENT_H
