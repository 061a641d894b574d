// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session asks of that which executes the program of one rank: on CPUs, and in emulation,
// runtime/execute/executor.h; on a CUDA device runtime/cuda/device_executor.h. Calls of functions
// are queued and run in order. The first error ends the rank: waiting calls return it, and so does
// every later call.
//
// All functions may be called from any thread.
#ifndef COMMSCHED_RUNTIME_EXECUTE_RANK_EXECUTOR_H
#define COMMSCHED_RUNTIME_EXECUTE_RANK_EXECUTOR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/data/batch_rows.h"
#include "runtime/program/program.h"
#include "runtime/transport/parameter_client.h"

namespace commsched::runtime {

// Sums over the completed calls of one function. Of several compute streams,
// it is the one that computed longest that counts. What is emulated counts with
// the time that it was to take.
struct FunctionStats {
  uint64_t calls = 0;
  int64_t total_ns = 0;  // time between completions
  int64_t first_ns = 0;  // of that, until the first one: it touches memory that nobody has touched before
  // False: what follows is not known, as on CUDA devices, whose streams nobody looks at.
  bool of_streams = true;
  int64_t compute_ns = 0;  // the compute stream ran an instruction
  int64_t exposed_ns = 0;  // it waited: for communication, copies, other devices
  int64_t copy_ns = 0;     // of the copy engine that ran longest
  // In emulation, over all streams and engines: the time that delays and copies
  // were to take and the time that they took, and the most that one of them
  // ended late.
  int64_t requested_ns = 0, elapsed_ns = 0, latest_ns = 0;

  // Of the last calls, call n at n % kLast.
  static constexpr uint64_t kLast = 8;
  std::array<int64_t, kLast> last_ns = {};

  // One more call, `ns` after the one before it.
  void Completed(int64_t ns) {
    if (calls == 0) first_ns = ns;
    last_ns[calls++ % kLast] = ns;
    total_ns += ns;
  }
};

class RankExecutor {
 public:
  // Drops calls that have not completed.
  virtual ~RankExecutor() = default;

  virtual const Program &program() const = 0;

  // Value of slot `slot` (index). Both wait for the calls before them.
  virtual absl::Status SetSlot(uint32_t slot, absl::Span<const std::byte> value) = 0;
  virtual absl::Status GetSlot(uint32_t slot, absl::Span<std::byte> value) = 0;

  // Queues a call and returns its number, counted from 0. Waits while two
  // calls are waiting already. `batches` must have one entry per batch.
  virtual absl::StatusOr<uint64_t> Enqueue(int function, BatchRows batches) = 0;
  // The outputs of call `call`, in the order of FunctionProgram::outputs;
  // waits until it has completed. Those of the last calls are kept.
  static constexpr size_t kKeptMetrics = 65536;
  virtual absl::StatusOr<std::vector<double>> Metrics(uint64_t call) = 0;
  // Waits until everything queued has completed.
  virtual absl::Status Drain() = 0;
  // After an error, and of all that go back together: the values are again those
  // after the first `calls` calls, and GetSlot gives them. `calls`: what
  // CompletedCalls::OfAll is when all have ended. kUnimplemented: it cannot, and its
  // values are lost.
  virtual absl::Status GoBack(uint64_t calls) = 0;
  // Ends the rank with this error, from outside.
  virtual void Cancel(const absl::Status &why) = 0;
  virtual absl::Status status() = 0;

  virtual FunctionStats Stats(int function) = 0;
  virtual void ResetStats() = 0;
  virtual size_t memory_bytes() const = 0;  // of arenas, scratch and slots
  virtual uint64_t bytes_sent() const = 0;  // by messages, to peers and servers
  // With parameter servers: what talks to them. Null without.
  virtual ParameterClient *servers() = 0;
  virtual uint64_t completed() = 0;  // calls
  virtual uint64_t steps() = 0;      // that have been queued
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_RANK_EXECUTOR_H
