// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes back from the arrival that ends a stall: latency, sending, what the link
// was busy with, the stage before, and so on to what made the tensor.

#include "passes/schedule/solver/Arrivals.h"
#include "passes/schedule/solver/Timeline.h"

#include <algorithm>
#include <map>
#include <utility>

namespace commsched::schedule {

namespace {

class Explainer {
public:
  Explainer(const Problem &problem, const Schedule &schedule,
            const Timeline &timeline, const Timeline::Stall &stall)
      : problem(problem), schedule(schedule), timeline(timeline), stall(stall),
        cursor(stall.end) {}

  std::vector<Stretch> run();

private:
  const std::vector<Stage> &stagesOf(unsigned message) const {
    return problem.communications[schedule.messages[message]
                                      .pieces.front()
                                      .communication]
        .stages;
  }
  unsigned linkOf(const Timeline::Transfer &t) const {
    return stagesOf(t.message)[t.stage].link;
  }
  plan::Urgency urgencyOf(const Timeline::Transfer &t) const {
    return {schedule.messages[t.message].priorities[t.stage], t.step};
  }
  const Timeline::Transfer *lastToArrive() const;
  void add(Time begin, Stretch stretch);
  void queued(const Timeline::Transfer &own);
  void produced(const Timeline::Transfer &own);

  const Problem &problem;
  const Schedule &schedule;
  const Timeline &timeline;
  const Timeline::Stall &stall;
  Time cursor;                 ///< everything later is explained
  std::vector<Stretch> result; ///< latest first
};

/// The message with a piece of the communication that came when the stall ended.
const Timeline::Transfer *Explainer::lastToArrive() const {
  // What is there behind its first half has no second one.
  std::map<std::pair<unsigned, uint64_t>, const Timeline::Transfer *> ends;
  for (const Timeline::Transfer &t : timeline.transfers)
    if (t.isLast)
      if (const Timeline::Transfer *&end = ends[{t.message, t.step}]; !end || end->stage < t.stage)
        end = &t;
  const Timeline::Transfer *last = nullptr;
  Time latest = 0;
  for (const Timeline::Transfer &t : timeline.transfers) {
    if (ends[{t.message, t.step}] != &t)
      continue;
    const Message &message = schedule.messages[t.message];
    std::vector<Time> leads = leadsOf(problem, message);
    for (size_t i = 0; i < leads.size(); ++i) {
      Time arrived = t.arrived - leads[i];
      if (message.pieces[i].communication != stall.communication ||
          arrived > stall.end || (last && latest >= arrived))
        continue;
      last = &t;
      latest = arrived;
    }
  }
  return last;
}

/// From `begin` to what is explained already.
void Explainer::add(Time begin, Stretch stretch) {
  begin = std::max(begin, stall.begin);
  if (begin >= cursor)
    return;
  stretch.begin = begin;
  stretch.end = cursor;
  cursor = begin;
  result.push_back(stretch);
}

/// Between release and sending: what the link did meanwhile.
void Explainer::queued(const Timeline::Transfer &own) {
  std::vector<const Timeline::Transfer *> before;
  for (const Timeline::Transfer &t : timeline.transfers)
    if (&t != &own && linkOf(t) == linkOf(own) && t.begin < own.begin &&
        t.sent > own.ready && t.sent > t.begin)
      before.push_back(&t);
  std::sort(before.begin(), before.end(),
            [](const auto *a, const auto *b) { return a->begin > b->begin; });
  Stretch stretch{0, 0, Cause::credit, own.message, own.stage, 0, 0, false};
  for (const Timeline::Transfer *other : before) {
    stretch.cause = Cause::credit;
    add(std::max(other->sent, own.ready), stretch);
    stretch.cause = Cause::busy;
    stretch.other = other->message;
    stretch.otherStage = other->stage;
    stretch.moreUrgent = urgencyOf(*other) < urgencyOf(own);
    add(std::max(other->begin, own.ready), stretch);
  }
  stretch.cause = Cause::credit;
  add(own.ready, stretch);
}

/// Before release: the producer that is done last, and all before it.
void Explainer::produced(const Timeline::Transfer &own) {
  const Timeline::Run *last = nullptr;
  for (const Timeline::Run &run : timeline.runs) {
    if (run.step != own.step || run.end > own.ready ||
        (last && last->end >= run.end))
      continue;
    for (const Piece &piece : schedule.messages[own.message].pieces) {
      const auto &producers = problem.communications[piece.communication].producers;
      if (std::find(producers.begin(), producers.end(), run.op) != producers.end())
        last = &run;
    }
  }
  Stretch stretch{0, 0, Cause::producer, own.message, 0, 0, 0, false};
  stretch.other = last ? last->op
                       : problem.communications[schedule.messages[own.message]
                                                    .pieces.front()
                                                    .communication]
                             .producers.back();
  add(stall.begin, stretch);
}

std::vector<Stretch> Explainer::run() {
  const Timeline::Transfer *last = lastToArrive();
  if (!last)
    return {};
  // Its transfers, last to first.
  std::vector<const Timeline::Transfer *> stages;
  for (const Timeline::Transfer &t : timeline.transfers)
    if (t.message == last->message && t.step == last->step)
      stages.push_back(&t);
  std::sort(stages.begin(), stages.end(), [](const auto *a, const auto *b) {
    return std::pair(a->stage, a->begin) < std::pair(b->stage, b->begin);
  });
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    const Timeline::Transfer &own = **stage;
    Stretch stretch{0, 0, Cause::latency, own.message, own.stage, 0, 0, false};
    if (own.isLast)
      add(own.sent, stretch);
    stretch.cause = Cause::sending;
    add(own.begin, stretch);
    queued(own);
  }
  produced(*stages.front());
  std::reverse(result.begin(), result.end());
  return std::move(result);
}

} // namespace

std::vector<Stretch> explain(const Problem &problem, const Schedule &schedule,
                             const Timeline &timeline, const Timeline::Stall &stall) {
  return Explainer(problem, schedule, timeline, stall).run();
}

} // namespace commsched::schedule
