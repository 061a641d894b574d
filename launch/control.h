// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ranks of a job tell each other besides their steps: bytes from rank 0 to all,
// and from all to rank 0, along the tree of core::StopAgreement, so that nobody talks with
// more than three others. All ranks call the same functions in the same order; a call
// waits for those it needs, as long as they are there.
#ifndef COMMSCHED_LAUNCH_CONTROL_H
#define COMMSCHED_LAUNCH_CONTROL_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/session/session.h"
#include "runtime/transport/transport.h"

namespace commsched::launch {

// With whom a rank talks, in that tree.
int ParentOf(int rank);  // of another one than 0
std::vector<int> ChildrenOf(int rank, int size);

// Used by one thread at a time, except Abort.
class Control {
 public:
  // Connects; `options` has rank, number of nodes, addresses, membership and deadline. Of one
  // rank, nothing is connected.
  static absl::StatusOr<std::unique_ptr<Control>> Connect(runtime::TransportOptions options,
                                                          const runtime::ConnectFunction &connect);
  ~Control();

  // `what` names the call: where ranks do different things, all get an error that says so.
  // What rank 0 has given, on all ranks; what others give is not looked at.
  absl::StatusOr<std::string> Broadcast(absl::string_view what, absl::string_view bytes);
  // On rank 0 what each rank has given, by rank; elsewhere nothing.
  absl::StatusOr<std::vector<std::string>> Gather(absl::string_view what, absl::string_view bytes);
  // What rank 0 makes of what all have given, on all ranks. An error of `own` of any rank, or
  // of `merge`, is that of all: "rank 2: ...".
  absl::StatusOr<std::string> Combine(
      absl::string_view what, const absl::StatusOr<std::string> &own,
      const std::function<absl::StatusOr<std::string>(const std::vector<std::string> &)> &merge);

  // Tells all ranks why this one gives up. What they wait for, and all calls from now on, fail.
  void Abort(const absl::Status &why);

  // Whether a rank has given up or is gone.
  bool failed() const;

  // Null for one rank.
  runtime::Transport *transport() { return transport_.get(); }

 private:
  struct State;
  Control(int rank, int size);
  absl::Status SendFrame(int peer, absl::string_view what, absl::string_view bytes);
  absl::StatusOr<std::string> ReceiveFrame(int peer, absl::string_view what);
  absl::Status Failed(const absl::Status &status);

  const int rank_, size_;
  uint64_t calls_ = 0;
  const std::shared_ptr<State> state_;
  std::unique_ptr<runtime::Transport> transport_;
};

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_CONTROL_H
