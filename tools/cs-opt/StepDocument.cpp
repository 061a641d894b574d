// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/cs-opt/StepDocument.h"

#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/Policy.h"
#include "passes/schedule/solver/Timeline.h"
#include "passes/schedule/solver/baselines/Baselines.h"

#include <algorithm>
#include <cstdio>

using namespace commsched;
using namespace commsched::schedule;

static std::string number(double value, const char *format = "%.4g") {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value);
  return buffer;
}

static std::string duration(double nanoseconds) {
  if (nanoseconds >= 1e9)
    return number(nanoseconds / 1e9) + " s";
  if (nanoseconds >= 1e6)
    return number(nanoseconds / 1e6) + " ms";
  if (nanoseconds >= 1e3)
    return number(nanoseconds / 1e3) + " us";
  return number(nanoseconds) + " ns";
}

static std::string size(double bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return number(bytes) + " " + units[unit];
}

namespace {

class TimelineBuilder {
public:
  TimelineBuilder(const ScheduledStep &step, report::Document &document)
      : step(step), problem(step.problem), schedule(step.solution.schedule),
        timeline(traceSchedule(problem, schedule)), document(document) {}

  report::Timeline build();

private:
  const std::vector<Stage> &stagesOf(unsigned message) const {
    return problem.communications[schedule.messages[message]
                                      .pieces.front()
                                      .communication]
        .stages;
  }
  std::string nameOf(unsigned message, unsigned stage) const;
  std::string contentsOf(unsigned message) const;
  std::string reasonOf(const Timeline::Stall &stall, const Stretch &stretch) const;
  bool isShown(Time begin, Time end) const {
    return begin < timeline.steps.back() && end > timeline.steps.front();
  }
  void addCompute(report::Timeline &to);
  void addLinks(report::Timeline &to);
  void addWaits(report::Timeline &to);

  const ScheduledStep &step;
  const Problem &problem;
  const Schedule &schedule;
  Timeline timeline;
  report::Document &document;
};

} // namespace

/// With two stages on one link, they are the halves of an all-reduce.
std::string TimelineBuilder::nameOf(unsigned message, unsigned stage) const {
  std::string name = step.messages[message];
  const std::vector<Stage> &stages = stagesOf(message);
  if (stages.size() == 2 && stages[0].link == stages[1].link)
    name += stage ? " (all-gather)" : " (reduce-scatter)";
  return name;
}

/// What a message of several tensors, or of part of one, holds.
std::string TimelineBuilder::contentsOf(unsigned message) const {
  const std::vector<Piece> &pieces = schedule.messages[message].pieces;
  std::string text;
  for (const Piece &piece : pieces) {
    const Communication &tensor = problem.communications[piece.communication];
    bool whole = piece.end - piece.begin == tensor.bytes;
    if (pieces.size() == 1 && whole)
      return "";
    text += text.empty() ? "it holds " : &piece == &pieces.back() ? " and "
                                                                  : ", ";
    text += whole ? tensor.name
                  : size(static_cast<double>(piece.end - piece.begin)) + " of " +
                        size(static_cast<double>(tensor.bytes)) + " of " + tensor.name;
  }
  return text;
}

std::string TimelineBuilder::reasonOf(const Timeline::Stall &stall,
                                      const Stretch &stretch) const {
  const std::string &tensor = problem.communications[stall.communication].name;
  const std::string &link = problem.links[stagesOf(stretch.message)[stretch.stage].link].name;
  std::string own = nameOf(stretch.message, stretch.stage);
  std::string text = problem.ops[stall.op].name + " waits for " + tensor + ": ";
  switch (stretch.cause) {
  case Cause::producer:
    return text + own + " is not released before " + problem.ops[stretch.other].name +
           " has run";
  case Cause::busy:
    return text + own + " waits for link " + link + ", which is busy with " +
           nameOf(stretch.other, stretch.otherStage) +
           (stretch.moreUrgent ? ", which is more urgent (priority)"
                               : ", which was there first");
  case Cause::credit:
    return text + own + " waits for link " + link +
           ", which may have no more bytes on their way (credit)";
  case Cause::sending:
    return text + "link " + link + " sends " + own;
  case Cause::latency:
    break;
  }
  return text + own + " is on its way: latency of link " + link;
}

void TimelineBuilder::addCompute(report::Timeline &to) {
  // An update of a parameter waits for communication, and is named by that.
  for (const Timeline::Run &run : timeline.runs) {
    const schedule::Op &op = problem.ops[run.op];
    if (!isShown(run.begin, run.end) || run.begin == run.end)
      continue;
    report::Event event;
    event.begin = run.begin;
    event.end = run.end;
    event.name = document.strings.number(op.name);
    event.step = run.step;
    bool waits = false;
    for (const Communication &communication : problem.communications)
      for (const Consumer &consumer : communication.consumers)
        waits |= consumer.op == run.op;
    if (waits && op.name.starts_with("update."))
      event.category = report::Category::update;
    to.tracks[op.stream].events.push_back(event);
  }
}

void TimelineBuilder::addLinks(report::Timeline &to) {
  for (const Timeline::Transfer &transfer : timeline.transfers) {
    if (!isShown(transfer.begin, transfer.sent))
      continue;
    const Stage &stage = stagesOf(transfer.message)[transfer.stage];
    report::Event event;
    event.begin = transfer.begin;
    event.end = transfer.sent;
    event.name = document.strings.number(nameOf(transfer.message, transfer.stage));
    event.category = report::Category::message;
    event.step = transfer.step;
    event.bytes = transfer.bytes.value_or(0);
    for (const Piece &piece : schedule.messages[transfer.message].pieces) {
      if (transfer.bytes || !transfer.isLast)
        break; // counted where the rest is sent
      const Communication &communication = problem.communications[piece.communication];
      event.bytes += stageBytes(communication, communication.stages[transfer.stage],
                                piece.begin, piece.end);
    }
    event.queued = transfer.begin - transfer.ready;
    event.detail = document.strings.number(contentsOf(transfer.message));
    to.tracks[problem.streams + stage.link].events.push_back(event);
  }
}

void TimelineBuilder::addWaits(report::Timeline &to) {
  for (const Timeline::Stall &stall : timeline.stalls) {
    if (!isShown(stall.begin, stall.end))
      continue;
    for (const Stretch &stretch : explain(problem, schedule, timeline, stall)) {
      report::Event event;
      event.begin = stretch.begin;
      event.end = stretch.end;
      event.name =
          document.strings.number(problem.communications[stall.communication].name);
      event.detail = document.strings.number(reasonOf(stall, stretch));
      event.category = report::Category::exposed;
      event.step = stall.step;
      to.tracks[problem.ops[stall.op].stream].events.push_back(event);
    }
  }
}

report::Timeline TimelineBuilder::build() {
  report::Timeline to;
  to.name = "predicted";
  to.source = "of one rank: all are alike";
  if (timeline.steps.empty())
    return to;
  for (Time begin : timeline.steps)
    to.steps.push_back(begin);
  to.firstStep = timeline.firstStep;
  to.tracks.resize(problem.streams + problem.links.size());
  for (unsigned i = 0; i < problem.streams; ++i)
    to.tracks[i].name = i ? "compute (device " + std::to_string(i) + ")" : "compute";
  for (size_t i = 0; i < problem.links.size(); ++i) {
    to.tracks[problem.streams + i].name = "link " + problem.links[i].name;
    to.tracks[problem.streams + i].isLink = true;
  }
  addCompute(to);
  addLinks(to);
  addWaits(to);
  // Streams of relays have nothing to show.
  std::erase_if(to.tracks, [](const report::Track &track) {
    return track.events.empty() && !track.isLink;
  });
  for (report::Track &track : to.tracks) {
    track.process = "rank 0";
    report::assignLanes(track);
  }
  return to;
}

/// The schedule as it is, on another problem with the same ops and communications;
/// and one that is made for it.
static report::WhatIf whatIf(std::string name, const Problem &problem,
                             const ScheduledStep &step, const Schedule &schedule) {
  report::WhatIf result{std::move(name), 0, 0, 0};
  if (check(problem))
    return result;
  if (!verify(problem, schedule))
    result.same = evaluate(problem, schedule).period;
  SolverOptions options;
  options.buckets = step.buckets;
  Solution solved = runPolicy(problem, step.policy, options);
  result.solved = evaluate(problem, solved.schedule).period;
  result.bound = solved.bound.period;
  if (result.same >= kNever)
    result.same = 0;
  // The search is not exhaustive: what is there already counts, too.
  if (result.same > 0)
    result.solved = std::min(result.solved, result.same);
  if (result.solved >= kNever)
    result.solved = 0;
  return result;
}

static void addWhatIfs(report::Document &document, const ScheduledStep &step) {
  const Schedule &schedule = step.solution.schedule;
  auto add = [&](const char *name, const Problem &problem, const Schedule &schedule) {
    document.whatIfs.push_back(whatIf(name, problem, step, schedule));
  };
  Problem changed = step.problem;
  for (Link &link : changed.links)
    link.bytesPerSecond *= 2;
  add("twice the bandwidth", changed, schedule);
  if (step.twiceNodes)
    add("twice the workers", *step.twiceNodes, schedule);
  // The messages have half of the bytes, so as many of them are on their way.
  Schedule half = schedule;
  for (int64_t &credit : half.credit)
    if (credit != kNoLimit)
      credit = (credit + 1) / 2;
  changed = step.problem;
  for (Communication &communication : changed.communications)
    for (Stage &stage : communication.stages)
      for (int64_t *bytes : {&stage.bytes, &stage.avoidableBytes})
        *bytes = (*bytes + 1) / 2;
  for (Communication &communication : changed.communications)
    communication.tail = (communication.tail + 1) / 2;
  add("half the gradient bytes", changed, half);
  changed = step.problem;
  for (Communication &communication : changed.communications)
    for (Stage &stage : communication.stages) {
      for (schedule::Time *time : {&stage.overhead, &stage.latency, &stage.avoidableOverhead,
                                   &stage.avoidableLatency})
        *time = (*time + 1) / 2;
    }
  add("half the latency and overhead", changed, schedule);
  changed = step.problem;
  for (schedule::Op &op : changed.ops) {
    op.duration = (op.duration + 1) / 2;
    op.shared /= 2;
  }
  add("compute twice as fast", changed, schedule);
}

static void addPeriods(report::Document &document, const ScheduledStep &step) {
  const Solution &solution = step.solution;
  using report::Period;
  document.periods.push_back({"bound", Period::bound, solution.bound.period,
                              solution.bound.why});
  std::string note = solution.schedule.name == step.policy ? "" : solution.schedule.name;
  document.periods.push_back(
      {step.policy == "solver" ? "this schedule" : "this schedule (" + step.policy + ")",
       Period::ours, solution.evaluation.period, note});
  // A policy by itself has been compared with nothing.
  auto baselines = solution.baselines;
  if (step.policy != "solver") {
    Solution solved = runPolicy(step.problem, "solver");
    baselines = solved.baselines;
    document.periods.push_back(
        {"solver", Period::baseline, evaluate(step.problem, solved.schedule).period, ""});
  }
  for (const auto &[name, period] : baselines)
    if (period < kNever && name != step.policy)
      document.periods.push_back({name, Period::baseline, period, ""});
}

static void addFacts(report::Document &document, const ScheduledStep &step) {
  const Problem &problem = step.problem;
  auto add = [&](std::string name, std::string value) {
    document.facts.emplace_back(std::move(name), std::move(value));
  };
  for (const auto &[name, value] : step.facts)
    add(name, value);
  std::vector<double> compute(problem.streams);
  for (const schedule::Op &op : problem.ops)
    compute[op.stream] += static_cast<double>(op.duration);
  add("compute", duration(*std::max_element(compute.begin(), compute.end())) +
                     " per step, on the busiest stream");
  for (size_t i = 0; i < problem.links.size(); ++i) {
    double bytes = 0;
    for (const Communication &communication : problem.communications)
      for (const Stage &stage : communication.stages)
        if (stage.link == i)
          bytes += static_cast<double>(stage.bytes);
    double rate = static_cast<double>(problem.links[i].bytesPerSecond);
    add("link " + problem.links[i].name,
        number(rate * 8 / 1e9) + " Gbit/s; " + size(bytes) + " per step take " +
            duration(bytes / rate * 1e9));
  }
  add("messages", std::to_string(step.solution.schedule.messages.size()) + " for " +
                      std::to_string(problem.communications.size()) + " tensors");
  add("limited by", step.solution.bound.why);
  add("bound for any order of compute", duration(step.solution.anyOrderBound.period));
  if (!step.solution.evaluation.settled)
    add("note", "steps do not repeat exactly; times per step are averages");
}

report::Document commsched::stepDocument(const ScheduledStep &step) {
  report::Document document;
  document.title = step.problem.name.empty() ? "step" : step.problem.name;
  addPeriods(document, step);
  addWhatIfs(document, step);
  addFacts(document, step);
  document.timelines.push_back(TimelineBuilder(step, document).build());
  return document;
}
