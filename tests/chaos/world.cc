// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/chaos/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {

void World::Note(const std::string &what) {
  trace_.push_back(absl::StrCat(now_ / kMillisecond, " ms: ", what));
}

void World::At(Time time, Process *process, std::function<void()> then) {
  Push(time, next_event_++, process, process == nullptr ? 0 : process->incarnation,
       std::move(then));
}

void World::Push(Time time, uint64_t order, Process *process, uint64_t incarnation,
                 std::function<void()> then) {
  events_.push({time, order, [=, this, then = std::move(then)] {
                  if (process == nullptr) return then();
                  if (!process->alive || process->incarnation != incarnation) return;
                  // What a stopped process finds when it goes on keeps its order.
                  if (process->stopped_until > now_)
                    return Push(process->stopped_until, order, process, incarnation, then);
                  then();
                }});
}

void World::Later(Process *process, Time most, std::function<void()> then) {
  At(now_ + Random(most), process, std::move(then));
}

void World::Stop(Time at, Process *process, const std::string &name, Time length) {
  At(at, nullptr, [=, this] {
    Note(absl::StrCat(name, " is stopped"));
    process->stopped_until = std::max(process->stopped_until, now_ + length);
  });
}

void World::Run(Time limit) {
  while (!events_.empty() && events_.top().time <= limit) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.time;
    event.then();
  }
}

}  // namespace commsched::runtime::core
