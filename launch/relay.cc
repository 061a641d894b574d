// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/relay.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/sync.h"

namespace commsched::launch {
namespace {

using Numbers = std::shared_ptr<std::vector<double>>;

// Of the tags; below it is the number of the connection.
constexpr uint32_t kNumbersKey = 0xffd00001u;
// Calls whose numbers are kept although nobody has taken them.
constexpr size_t kKept = 65536;

}  // namespace

struct Relay::State {
  struct Entry {
    Numbers numbers;
    bool there = false;
    absl::Status status;
  };

  void SendOn(uint64_t call, const Numbers &numbers) {
    for (int child : children)
      transport->Send(child, {call, kNumbersKey, number, 0}, 0,
                      {reinterpret_cast<const std::byte *>(numbers->data()),
                       numbers->size() * sizeof(double)},
                      [numbers](absl::Status) {});
  }

  runtime::Transport *transport = nullptr;
  uint32_t number = 0;
  int rank = 0;
  std::vector<int> children;
  runtime::Mutex mu;
  runtime::CondVar changed;
  absl::Status failure ABSL_GUARDED_BY(mu);
  std::map<uint64_t, Entry> entries ABSL_GUARDED_BY(mu);
};

Relay::Relay(Job *job) : state_(std::make_shared<State>()) {
  state_->transport = job->control().transport();
  state_->number = job->connections();
  state_->rank = job->rank();
  state_->children = ChildrenOf(job->rank(), job->size());
}

Relay::~Relay() { Fail(absl::CancelledError("the session is closed")); }

void Relay::Expect(uint64_t call, size_t count) {
  if (count == 0) return;
  auto numbers = std::make_shared<std::vector<double>>(count);
  {
    runtime::MutexLock lock(&state_->mu);
    state_->entries[call].numbers = numbers;
    if (state_->entries.size() > kKept) state_->entries.erase(state_->entries.begin());
  }
  state_->transport->Recv(
      ParentOf(state_->rank), {call, kNumbersKey, state_->number, 0},
      {reinterpret_cast<std::byte *>(numbers->data()), count * sizeof(double)},
      [state = state_, numbers, call](absl::Status status) {
        if (status.ok()) state->SendOn(call, numbers);
        runtime::MutexLock lock(&state->mu);
        if (auto it = state->entries.find(call); it != state->entries.end()) {
          it->second.there = true;
          it->second.status = std::move(status);
        }
        state->changed.SignalAll();
      });
}

void Relay::Put(uint64_t call, const std::vector<double> &numbers) {
  if (numbers.empty()) return;
  state_->SendOn(call, std::make_shared<std::vector<double>>(numbers));
}

absl::StatusOr<std::vector<double>> Relay::Take(uint64_t call, absl::Duration patience) {
  const runtime::Clock::time_point end = runtime::After(patience);
  runtime::MutexLock lock(&state_->mu);
  while (true) {
    auto it = state_->entries.find(call);
    if (it == state_->entries.end())
      return absl::FailedPreconditionError(
          absl::StrCat("call ", call, " has no metrics that are still kept"));
    if (it->second.there) {
      Numbers numbers = it->second.numbers;
      absl::Status status = it->second.status;
      if (!status.ok()) return status;
      return *numbers;
    }
    if (!state_->failure.ok()) return state_->failure;
    if (state_->changed.WaitUntil(&state_->mu, end))
      return absl::DeadlineExceededError("rank 0 has not told the metrics yet");
  }
}

void Relay::Fail(const absl::Status &why) {
  runtime::MutexLock lock(&state_->mu);
  if (state_->failure.ok()) state_->failure = why;
  state_->changed.SignalAll();
}

}  // namespace commsched::launch
