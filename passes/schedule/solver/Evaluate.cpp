// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Event-driven simulation of a schedule, step after step. At every instant first
// everything that ends is counted, then links choose what they are given, so that
// nothing depends on the order of events of the same time.

#include "passes/schedule/solver/Arrivals.h"
#include "passes/schedule/solver/Timeline.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace commsched::schedule {

namespace {

constexpr unsigned kNone = ~0u;
constexpr unsigned kPiece = ~0u; ///< of events; behind all others of their time

/// Lists of indices, by index, in one array.
class Lists {
public:
  /// `visit(add)` calls add(from, to) for every entry, the same each time.
  template <typename Visit>
  Lists(size_t size, Visit visit) : begins(size + 1) {
    visit([&](unsigned from, unsigned) { ++begins[from + 1]; });
    for (size_t i = 0; i < size; ++i)
      begins[i + 1] += begins[i];
    entries.resize(begins[size]);
    std::vector<size_t> next(begins.begin(), begins.end() - 1);
    visit([&](unsigned from, unsigned to) { entries[next[from]++] = to; });
  }

  struct Range {
    const unsigned *first, *last;
    const unsigned *begin() const { return first; }
    const unsigned *end() const { return last; }
  };
  Range operator[](size_t index) const {
    return {entries.data() + begins[index], entries.data() + begins[index + 1]};
  }

private:
  std::vector<size_t> begins;
  std::vector<unsigned> entries;
};

/// What is left to wait for in one step.
struct Step {
  std::vector<unsigned> opWaits;
  std::vector<unsigned> messageWaits;
  std::vector<unsigned> communicationWaits;
  std::vector<Time> opReady;      ///< when the last op arrived that is waited for
  std::vector<unsigned> lastComm; ///< the last to arrive of what is waited for
  size_t opsLeft = 0;
  size_t communicationsLeft = 0;
  unsigned lastOfStep = kNone; ///< communication
};

struct Event {
  Time time;
  uint64_t step;
  /// 0: op ends; 1 + 2 stage: message is complete; 2 + 2 stage: its credit is free;
  /// kPiece: a piece has arrived before its message.
  unsigned kind;
  unsigned index;
  auto key() const { return std::tie(time, step, kind, index); }
  bool operator<(const Event &other) const { return key() > other.key(); }
};

struct Waiting {
  int64_t priority;
  uint64_t step;
  unsigned message;
  unsigned stage;
  auto key() const { return std::tie(priority, step, message, stage); }
  bool operator<(const Waiting &other) const { return key() > other.key(); }
};

struct LinkState {
  std::priority_queue<Waiting> queue;
  Time free = 0;
  int64_t bytes = 0; ///< given, credit not free again
  unsigned messages = 0;
};

struct StreamState {
  uint64_t step = 0;
  size_t position = 0;
  bool busy = false;
  Time free = 0;
};

/// The contents of a queue of the standard library, for the state.
template <typename T>
const std::vector<T> &contents(const std::priority_queue<T> &queue) {
  struct Open : std::priority_queue<T> {
    static const std::vector<T> &of(const std::priority_queue<T> &queue) {
      return queue.*&Open::c;
    }
  };
  return Open::of(queue);
}

class Simulation {
public:
  Simulation(const Problem &problem, const Schedule &schedule);
  Evaluation run(unsigned maxSteps);
  Timeline trace(unsigned steps, unsigned maxSteps);

private:
  struct Stall {
    uint64_t steps; ///< complete on all streams when it ended
    unsigned communication;
    Time time;
  };

  Step &at(uint64_t step) { return steps[step % 3]; }
  void reset(uint64_t step);
  void endOp(uint64_t step, unsigned op);
  void endMessage(uint64_t step, unsigned message, unsigned stage);
  void freeCredit(unsigned message, unsigned stage);
  void endPiece(uint64_t step, unsigned communication);
  void arrive(uint64_t step, unsigned communication);
  void enqueue(uint64_t step, unsigned message, unsigned stage);
  void completeSteps();
  bool startOps();
  bool dispatch();
  bool gateOpen(uint64_t step);
  bool advance();
  std::vector<int64_t> state();

  int64_t bytesOf(unsigned message, unsigned stage) const {
    return bytes[stageBegin[message] + stage];
  }
  /// From its last byte on the link until it is complete.
  Time latencyOf(unsigned message, unsigned stage) const {
    return latencies[stageBegin[message] + stage];
  }
  const std::vector<Stage> &stagesOf(unsigned message) const {
    return problem.communications[schedule.messages[message]
                                      .pieces.front()
                                      .communication]
        .stages;
  }

  /// Before the message is complete.
  bool freesCreditEarly(const Stage &stage) const {
    return problem.links[stage.link].creditUntilSent && stage.latency + stage.update > 0 &&
           schedule.credit[stage.link] != kNoLimit;
  }

  const Problem &problem;
  const Schedule &schedule;
  Lists opUsers;                  ///< op -> ops after it
  Lists opMessages;               ///< op -> messages with a piece that it produces
  std::vector<size_t> stageBegin; ///< by message, into `bytes`
  std::vector<int64_t> bytes;     ///< by message and stage
  std::vector<Time> latencies;    ///< likewise
  /// By message, if some piece arrives before it: by piece, how long before.
  std::vector<std::vector<Time>> leads;
  Step first; ///< all that any step but the first waits for
  Step steps[3];
  std::vector<LinkState> links;
  std::vector<StreamState> streams;
  std::priority_queue<Event> events;
  Time now = 0;
  uint64_t complete = 0;     ///< steps of which everything is done
  uint64_t computed = 0;     ///< steps of which all ops are done
  unsigned gateComm = kNone; ///< the last communication of the last complete step
  Time gateTime = 0;         ///< when that step became complete
  std::vector<Stall> stalls;
  /// All ends of steps, and from which on they repeat, after run().
  std::vector<Time> ends;
  size_t from = 0;
  /// If set, everything is recorded there.
  Timeline *timeline = nullptr;
  /// By message, stage and step modulo 2: when it became ready. The step two before
  /// is complete then.
  std::vector<Time> ready;
};

Simulation::Simulation(const Problem &problem, const Schedule &schedule)
    : problem(problem), schedule(schedule),
      opUsers(problem.ops.size(),
              [&](auto add) {
                for (unsigned i = 0; i < problem.ops.size(); ++i)
                  for (unsigned before : problem.ops[i].after)
                    add(before, i);
              }),
      opMessages(problem.ops.size(),
                 [&](auto add) {
                   for (unsigned i = 0; i < schedule.messages.size(); ++i)
                     for (const Piece &piece : schedule.messages[i].pieces)
                       for (unsigned producer :
                            problem.communications[piece.communication].producers)
                         add(producer, i);
                 }),
      links(problem.links.size()), streams(problem.streams) {
  first.opWaits.resize(problem.ops.size());
  first.messageWaits.resize(schedule.messages.size());
  first.communicationWaits.resize(problem.communications.size());
  first.opReady.resize(problem.ops.size());
  first.lastComm.assign(problem.ops.size(), kNone);
  first.opsLeft = problem.ops.size();
  first.communicationsLeft = problem.communications.size();
  for (size_t i = 0; i < problem.ops.size(); ++i)
    first.opWaits[i] += problem.ops[i].after.size();
  for (const Communication &communication : problem.communications)
    for (const Consumer &consumer : communication.consumers)
      ++first.opWaits[consumer.op];
  for (size_t i = 0; i < schedule.messages.size(); ++i) {
    stageBegin.push_back(bytes.size());
    bytes.resize(bytes.size() + stagesOf(i).size());
    for (const Stage &stage : stagesOf(i))
      latencies.push_back(stage.latency);
    for (const Piece &piece : schedule.messages[i].pieces) {
      const Communication &communication =
          problem.communications[piece.communication];
      first.messageWaits[i] += communication.producers.size();
      ++first.communicationWaits[piece.communication];
      for (size_t i = 0; i < communication.stages.size(); ++i) {
        const Stage &stage = communication.stages[i];
        bytes[stageBegin.back() + i] +=
            stageBytes(communication, stage, piece.begin, piece.end);
        if (stage.update)
          latencies[stageBegin.back() + i] += updateShare(
              stage.update, piece.end - piece.begin, communication.bytes);
      }
    }
  }
  if (hasTails(problem))
    for (const Message &message : schedule.messages)
      leads.push_back(leadsOf(problem, message));
}

void Simulation::reset(uint64_t step) {
  at(step) = first;
  if (step == 0)
    for (const Communication &communication : problem.communications)
      for (const Consumer &consumer : communication.consumers)
        if (consumer.distance == 1)
          --at(step).opWaits[consumer.op];
}

void Simulation::endOp(uint64_t step, unsigned op) {
  StreamState &stream = streams[problem.ops[op].stream];
  stream.busy = false;
  stream.free = now;
  if (++stream.position == schedule.order[problem.ops[op].stream].size()) {
    stream.position = 0;
    ++stream.step;
  }
  Step &s = at(step);
  --s.opsLeft;
  for (unsigned user : opUsers[op]) {
    --s.opWaits[user];
    s.opReady[user] = now;
  }
  for (unsigned message : opMessages[op])
    if (--s.messageWaits[message] == 0)
      enqueue(step, message, 0);
}

void Simulation::enqueue(uint64_t step, unsigned message, unsigned stage) {
  int64_t priority = schedule.messages[message].priorities[stage] +
                     static_cast<int64_t>(step * problem.ops.size());
  if (timeline)
    ready[2 * (stageBegin[message] + stage) + step % 2] = now;
  links[stagesOf(message)[stage].link].queue.push(
      {priority, step, message, stage});
}

void Simulation::freeCredit(unsigned message, unsigned stage) {
  LinkState &link = links[stagesOf(message)[stage].link];
  link.bytes -= bytesOf(message, stage);
  --link.messages;
}

void Simulation::endMessage(uint64_t step, unsigned message, unsigned stage) {
  const std::vector<Stage> &stages = stagesOf(message);
  if (!freesCreditEarly(stages[stage]))
    freeCredit(message, stage);
  if (stage + 1 < stages.size()) {
    enqueue(step, message, stage + 1);
    return;
  }
  const std::vector<Piece> &pieces = schedule.messages[message].pieces;
  for (size_t i = 0; i < pieces.size(); ++i)
    if (leads.empty() || leads[message][i] == 0)
      endPiece(step, pieces[i].communication);
}

void Simulation::endPiece(uint64_t step, unsigned communication) {
  if (--at(step).communicationWaits[communication] == 0)
    arrive(step, communication);
}

void Simulation::arrive(uint64_t step, unsigned communication) {
  Step &s = at(step);
  --s.communicationsLeft;
  s.lastOfStep = communication;
  for (const Consumer &consumer :
       problem.communications[communication].consumers) {
    Step &to = at(step + consumer.distance);
    --to.opWaits[consumer.op];
    to.lastComm[consumer.op] = communication;
  }
}

void Simulation::completeSteps() {
  while (at(computed).opsLeft == 0 && computed < complete + 2)
    ++computed;
  while (complete < computed && at(complete).communicationsLeft == 0) {
    gateComm = at(complete).lastOfStep;
    gateTime = now;
    reset(complete + 3);
    ++complete;
  }
}

/// Whether the first op of a stream may start as far as steps before are concerned.
bool Simulation::gateOpen(uint64_t step) {
  if (step >= complete + 2)
    return false;
  return !schedule.barrier || step == 0 || step <= complete ||
         at(step - 1).communicationsLeft == 0;
}

bool Simulation::startOps() {
  bool any = false;
  for (size_t i = 0; i < streams.size(); ++i) {
    StreamState &stream = streams[i];
    if (stream.busy || schedule.order[i].empty())
      continue;
    if (stream.position == 0 && !gateOpen(stream.step))
      continue;
    unsigned op = schedule.order[i][stream.position];
    Step &s = at(stream.step);
    if (s.opWaits[op] != 0)
      continue;
    Time base = std::max(stream.free, s.opReady[op]);
    if (now > base) {
      // What came last: the communication of the op, or of the step that the
      // first op of this one waits for.
      unsigned last = s.lastComm[op];
      if (stream.position == 0 && stream.step > complete && schedule.barrier)
        last = at(stream.step - 1).lastOfStep;
      else if (stream.position == 0 && (last == kNone || gateTime == now))
        last = gateComm;
      if (last != kNone)
        stalls.push_back({computed, last, now - base});
      if (last != kNone && timeline)
        timeline->stalls.push_back({op, stream.step, last, base, now});
    }
    if (timeline)
      timeline->runs.push_back(
          {op, stream.step, now, now + problem.ops[op].duration});
    stream.busy = true;
    events.push({now + problem.ops[op].duration, stream.step, 0, op});
    any = true;
  }
  return any;
}

bool Simulation::dispatch() {
  bool any = false;
  for (size_t i = 0; i < links.size(); ++i) {
    LinkState &link = links[i];
    while (!link.queue.empty()) {
      Waiting next = link.queue.top();
      int64_t size = bytesOf(next.message, next.stage);
      if (link.messages && size > schedule.credit[i] - link.bytes)
        break;
      link.queue.pop();
      link.bytes += size;
      ++link.messages;
      const Stage &stage = stagesOf(next.message)[next.stage];
      Time begin = std::max(link.free, now);
      link.free = begin + stage.overhead + transferTime(problem.links[i], size);
      Time end = link.free + latencyOf(next.message, next.stage);
      if (timeline)
        timeline->transfers.push_back(
            {next.message, next.stage, next.step,
             ready[2 * (stageBegin[next.message] + next.stage) + next.step % 2],
             begin, link.free, end});
      events.push({end, next.step, 1 + 2 * next.stage, next.message});
      if (freesCreditEarly(stage))
        events.push({link.free, next.step, 2 + 2 * next.stage, next.message});
      if (!leads.empty() && next.stage + 1 == stagesOf(next.message).size())
        for (size_t j = 0; j < leads[next.message].size(); ++j)
          if (Time lead = leads[next.message][j])
            events.push({end - lead, next.step, kPiece,
                         schedule.messages[next.message].pieces[j].communication});
      any = true;
    }
  }
  return any;
}

/// Everything that the future depends on, relative to now and to the steps done.
std::vector<int64_t> Simulation::state() {
  std::vector<int64_t> state{static_cast<int64_t>(computed - complete)};
  auto relative = [&](uint64_t step) { return static_cast<int64_t>(step - complete); };
  for (const StreamState &stream : streams) {
    state.push_back(relative(stream.step));
    state.push_back(static_cast<int64_t>(stream.position));
    state.push_back(stream.busy);
  }
  for (const LinkState &link : links) {
    state.push_back(std::max<Time>(link.free - now, 0));
    std::vector<Waiting> queue = contents(link.queue);
    std::sort(queue.begin(), queue.end());
    state.push_back(static_cast<int64_t>(queue.size()));
    for (const Waiting &waiting : queue)
      state.insert(state.end(), {relative(waiting.step), waiting.message, waiting.stage});
  }
  std::vector<Event> sorted = contents(events);
  std::sort(sorted.begin(), sorted.end());
  for (const Event &event : sorted)
    state.insert(state.end(),
                 {event.time - now, relative(event.step), event.kind, event.index});
  // What has been counted follows from the ops run, and from what has arrived.
  for (uint64_t step = complete; step < complete + 2; ++step) {
    Step &s = at(step);
    state.push_back(-1);
    for (size_t i = 0; i < s.communicationWaits.size(); ++i)
      if (s.communicationWaits[i] != first.communicationWaits[i])
        state.insert(state.end(), {static_cast<int64_t>(i), s.communicationWaits[i]});
  }
  return state;
}

/// Goes on to what ends next; false if nothing does.
bool Simulation::advance() {
  if (events.empty())
    return false;
  now = events.top().time;
  while (!events.empty() && events.top().time == now) {
    Event event = events.top();
    events.pop();
    if (event.kind == 0)
      endOp(event.step, event.index);
    else if (event.kind == kPiece)
      endPiece(event.step, event.index);
    else if (event.kind % 2)
      endMessage(event.step, event.index, event.kind / 2);
    else
      freeCredit(event.index, event.kind / 2 - 1);
  }
  completeSteps();
  return true;
}

Evaluation Simulation::run(unsigned maxSteps) {
  for (uint64_t step = 0; step < 3; ++step)
    reset(step);
  Evaluation result;
  result.exposed.resize(problem.communications.size());
  std::vector<std::vector<int64_t>> states;
  maxSteps = std::max(maxSteps, 2u);
  for (;;) {
    bool any = startOps();
    any |= dispatch();
    if (any && computed < maxSteps && events.top().time == now) {
      // Of no duration: part of this instant.
    } else if (computed > ends.size()) {
      // Several steps of no duration may end at once.
      ends.resize(computed, now);
      states.resize(ends.size());
      states.back() = state();
      auto same = std::find(states.begin(), states.end() - 1, states.back());
      if (same != states.end() - 1) {
        from = same - states.begin();
        break;
      }
      if (ends.size() >= maxSteps) {
        from = (ends.size() - 1) / 2;
        result.settled = false;
        break;
      }
    }
    if (!advance()) { // something waits for itself
      result.period = kNever;
      result.settled = false;
      return result;
    }
  }
  result.firstStep = ends.front();
  double count = static_cast<double>(ends.size() - 1 - from);
  result.period = static_cast<double>(ends.back() - ends[from]) / count;
  // A stall belongs to the step that was being computed when it ended.
  for (const Stall &stall : stalls)
    if (stall.steps > from && stall.steps < ends.size())
      result.exposed[stall.communication] += static_cast<double>(stall.time) / count;
  return result;
}

Timeline Simulation::trace(unsigned steps, unsigned maxSteps) {
  Timeline result;
  timeline = &result;
  ready.resize(2 * bytes.size());
  Evaluation evaluation = run(maxSteps);
  if (evaluation.period >= kNever)
    return {};
  result.settled = evaluation.settled;
  if (!evaluation.settled)
    from = ends.size() - 1;
  // One more, whose compute the last messages of interest may reach into.
  while (ends.size() < from + steps + 2) {
    bool any = startOps();
    any |= dispatch();
    if (!(any && events.top().time == now))
      ends.resize(std::max<size_t>(ends.size(), computed), now);
    if (!advance())
      break;
  }
  result.firstStep = from + 1;
  for (size_t i = from; i < ends.size() && i <= from + steps; ++i)
    result.steps.push_back(ends[i]);
  timeline = nullptr;
  return result;
}

} // namespace

Timeline traceSchedule(const Problem &problem, const Schedule &schedule,
                       unsigned steps, unsigned maxSteps) {
  if (takesTooLong(problem, schedule))
    return {};
  return Simulation(problem, schedule).trace(steps, maxSteps);
}

Evaluation evaluate(const Problem &problem, const Schedule &schedule,
                    unsigned maxSteps) {
  if (takesTooLong(problem, schedule)) {
    Evaluation never;
    never.period = kNever;
    never.exposed.resize(problem.communications.size());
    never.settled = false;
    return never;
  }
  return Simulation(problem, schedule).run(maxSteps);
}

} // namespace commsched::schedule
