// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions PushRows and PullRows of a trainer: makes messages of rows for
// a ParameterClient, and rows of its answers. A thread of its own does the work.
//
// Threading: all methods may be called from any thread. `done` is called once,
// from any thread, with the payload bytes of each part, and may call nothing of
// this object.
#ifndef COMMSCHED_RUNTIME_EXECUTE_ROW_EXCHANGE_H
#define COMMSCHED_RUNTIME_EXECUTE_ROW_EXCHANGE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/base/sync.h"
#include "runtime/program/server_program.h"
#include "runtime/transport/parameter_client.h"

namespace commsched::runtime {

class RowExchange {
 public:
  using Done = absl::AnyInvocable<void(absl::Status, std::vector<uint64_t>)>;

  // `client` outlives the object, and must have been closed when that goes.
  explicit RowExchange(ParameterClient *client);
  // Drops what has not begun; without `done`.
  ~RowExchange();

  // `message` outlives the call; ids and values stay as they are until `done`.
  void Push(const RowsMessageProgram *message, uint64_t step,
            const std::byte *ids, const std::byte *values, Done done);
  // Writes `values` until `done`.
  void Pull(const RowsMessageProgram *message, uint64_t version,
            const std::byte *ids, std::byte *values, Done done);

 private:
  struct Group;

  void Post(absl::AnyInvocable<void()> work);
  void Run();

  ParameterClient *const client_;
  Mutex mu_;
  CondVar work_;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<absl::AnyInvocable<void()>> queue_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_ROW_EXCHANGE_H
