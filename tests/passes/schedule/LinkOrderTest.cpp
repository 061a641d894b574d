// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What waits for a link goes in one order, in the evaluator as in the queues of the runtime and of the
// simulator: on random steps, of which messages of two calls wait at once.

#include "passes/schedule/solver/Timeline.h"
#include "plan/packet_queue.h"
#include "runtime/core/link_queue.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <vector>

namespace commsched::schedule {
namespace {

using plan::PacketQueue;
using runtime::core::LinkQueue;
using Transfer = Timeline::Transfer;

/// What of all that is ready and not sent goes next, by looking at each pair.
size_t firstOf(const Schedule &schedule, const std::vector<Transfer> &waiting) {
  auto priorityOf = [&](const Transfer &t) { return schedule.messages[t.message].priorities[t.stage]; };
  auto goesBefore = [&](const Transfer &a, const Transfer &b) {
    if (priorityOf(a) != priorityOf(b))
      return priorityOf(a) < priorityOf(b);
    if (a.step != b.step)
      return a.step < b.step;
    return a.message != b.message ? a.message < b.message : a.stage < b.stage;
  };
  for (size_t i = 0; i < waiting.size(); ++i)
    if (std::all_of(waiting.begin(), waiting.end(),
                    [&](const Transfer &other) { return !goesBefore(other, waiting[i]); }))
      return i;
  return waiting.size();
}

// The link has one message at a time. At each moment at which it takes one, all are asked.
TEST(LinkOrderTest, IsOneForAll) {
  int overtakes = 0, ties = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Problem problem = randomProblem(seed, {.maxOverhead = 2, .maxBytes = 9, .maxCommunications = 6});
    problem.links[0].creditUntilSent = true;
    Schedule schedule = randomSchedule(problem, seed, 3);
    schedule.credit = {1};
    // Few priorities, so that messages of two calls often have the same.
    for (Message &message : schedule.messages)
      for (int64_t &priority : message.priorities)
        priority %= 4;
    ASSERT_FALSE(verify(problem, schedule));
    Timeline timeline = traceSchedule(problem, schedule);
    if (timeline.steps.empty())
      continue;
    std::vector<Transfer> transfers = timeline.transfers;
    std::stable_sort(transfers.begin(), transfers.end(),
                     [](const Transfer &a, const Transfer &b) { return a.begin < b.begin; });
    LinkQueue<const Transfer *, int64_t> links;
    PacketQueue<std::pair<unsigned, unsigned>, const Transfer *, int64_t> packets;
    std::vector<const Transfer *> coming;
    for (const Transfer &t : transfers)
      coming.push_back(&t);
    std::vector<Transfer> waiting;
    for (const Transfer &next : transfers) {
      std::erase_if(coming, [&](const Transfer *t) {
        if (t->ready > next.begin)
          return false;
        plan::Urgency urgency{schedule.messages[t->message].priorities[t->stage], t->step};
        links.Push({urgency, t->message, t->stage, 0}, 1, t);
        packets.Push(urgency, {t->message, t->stage}, 1, t);
        waiting.push_back(*t);
        return true;
      });
      size_t first = firstOf(schedule, waiting);
      ASSERT_LT(first, waiting.size());
      const Transfer expected = waiting[first];
      auto isExpected = [&](const Transfer &t) {
        return t.message == expected.message && t.stage == expected.stage && t.step == expected.step;
      };
      EXPECT_TRUE(isExpected(next)) << "the evaluator sends message " << next.message << " of step " << next.step
                                    << ", expected " << expected.message << " of step " << expected.step;
      const Transfer *given = nullptr;
      ASSERT_TRUE(links.Next(0, 0, 0, &given));
      EXPECT_TRUE(isExpected(*given));
      packets.Take(1, 1, [&](const Transfer *t, int64_t, int64_t, bool) { EXPECT_TRUE(isExpected(*t)); });
      for (const Transfer &other : waiting) {
        bool same = schedule.messages[other.message].priorities[other.stage] ==
                    schedule.messages[expected.message].priorities[expected.stage];
        overtakes += other.step < expected.step && !same;
        ties += other.step > expected.step && same;
      }
      waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(first));
      if (HasFailure())
        return;
    }
  }
  EXPECT_GT(overtakes, 500);
  EXPECT_GT(ties, 500);
}

} // namespace
} // namespace commsched::schedule
