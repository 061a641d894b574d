// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Relaxation.h"
#include "passes/schedule/solver/MessageCosts.h"
#include "passes/schedule/solver/OpStream.h"
#include "passes/schedule/solver/RelaxedLinks.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

namespace commsched::schedule {

namespace {

struct Event {
  Time time;
  unsigned kind;
  uint64_t step; ///< or version of the queue
  unsigned index;
  auto key() const { return std::tie(time, kind, step, index); }
  bool operator<(const Event &other) const { return key() > other.key(); }
};
enum EventKind : unsigned {
  kOpEnds,
  kItemIsThere,
  kQueueIsDone,
  kItemArrives,
  kOpMayStart
};

struct Step {
  std::vector<unsigned> opWaits, communicationWaits;
  std::vector<Time> left; ///< by item: work
  std::vector<Time> opReady;
  std::vector<unsigned> last; ///< by op: the communication that arrived last
  size_t opsLeft = 0, itemsLeft = 0;
};

/// Each stream waits for what it needs itself, in its own view of the links: while
/// its view of step s is not done, it cannot be in step s + 2, no other one beyond
/// s + 3, and what these wait for ends in s + 5.
constexpr uint64_t kSteps = 8;

struct Queue {
  using Entry = std::tuple<uint64_t, uint64_t, unsigned>; // urgency, step, item
  std::set<Entry> entries;
  Time since = 0; ///< when the first one's work was counted
  uint64_t version = 0;
};

struct Stream : OpStream {
  Time notBefore = -1; ///< of the next op, for the costs of messages; -1: unknown
};

/// The finalizer of SplitMix64 (Steele et al., OOPSLA 2014).
uint64_t mix(uint64_t sum, uint64_t value) {
  uint64_t z = sum * 0x9e3779b97f4a7c15 + value + 0x632be59bd9b4e019;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

class Simulation {
public:
  Simulation(const Problem &problem, const std::vector<std::vector<unsigned>> &order)
      : problem(problem), order(order), streams(order.size()) {
    Time total = 0;
    for (const Op &op : problem.ops)
      total += op.duration;
    for (const Communication &communication : problem.communications)
      for (const Stage &stage : communication.stages)
        total += transferTime(problem.links[stage.link], stage.bytes) +
                 stage.overhead + stage.latency;
    unit = total < (Time{1} << 40) ? 1024 : 1;
    for (unsigned stream = 0; stream < order.size(); ++stream) {
      messageCosts.emplace_back(problem, order, stream, unit);
      if (!order[stream].empty())
        addItems(problem, order, stream, unit, items, costs);
    }
    prepare();
  }

  Relaxation run(unsigned maxSteps);

private:
  void prepare();
  void reset(uint64_t step);
  Step &at(uint64_t step) { return steps[step % kSteps]; }
  void handle(const Event &event);
  void endOp(uint64_t step, unsigned op);
  void restart(unsigned queue);
  void arrive(uint64_t step, unsigned item);
  void completeSteps();
  bool startOps();
  bool costsAllow(size_t stream);
  std::vector<int64_t> state();

  const Problem &problem;
  const std::vector<std::vector<unsigned>> &order;
  Time unit = 1; ///< times are in parts of a nanosecond, work rounded down
  std::vector<Item> items;
  std::vector<QueueCosts> costs;
  std::vector<std::vector<unsigned>> itemsOf, opUsers, opCommunications;
  std::vector<unsigned> positions;
  std::vector<unsigned> waitsOf[3]; ///< of ops, for steps 0, 1 and all after
  Step fresh;
  Step steps[kSteps];
  std::vector<Queue> queues;
  std::vector<Stream> streams;
  std::vector<MessageCosts> messageCosts; ///< by stream
  Produced produced[kSteps];
  std::priority_queue<Event> events;
  Time now = 0;
  uint64_t complete = 0; ///< steps of which all views are done
  uint64_t computed = 0; ///< steps of which all ops are done
  std::vector<Time> starts;
  struct Stall {
    uint64_t step;
    unsigned communication;
    Time time;
  };
  std::vector<Stall> stalls;
};

void Simulation::prepare() {
  size_t count = problem.ops.size();
  itemsOf.resize(problem.communications.size());
  opUsers.resize(count);
  opCommunications.resize(count);
  positions.resize(count);
  queues.resize(costs.size());
  for (const std::vector<unsigned> &ops : order)
    for (unsigned i = 0; i < ops.size(); ++i)
      positions[ops[i]] = i;
  fresh.opReady.resize(count);
  fresh.last.assign(count, ~0u);
  fresh.opsLeft = count;
  fresh.itemsLeft = items.size();
  for (std::vector<unsigned> &waits : waitsOf)
    waits.resize(count);
  for (unsigned i = 0; i < count; ++i)
    for (unsigned before : problem.ops[i].after) {
      opUsers[before].push_back(i);
      for (std::vector<unsigned> &waits : waitsOf)
        ++waits[i];
    }
  for (unsigned i = 0; i < items.size(); ++i) {
    itemsOf[items[i].communication].push_back(i);
    fresh.left.push_back(items[i].work);
    for (unsigned step = items[i].distance; step < 3; ++step)
      ++waitsOf[step][items[i].op];
  }
  for (unsigned i = 0; i < problem.communications.size(); ++i) {
    fresh.communicationWaits.push_back(
        static_cast<unsigned>(problem.communications[i].producers.size()));
    for (unsigned producer : problem.communications[i].producers)
      opCommunications[producer].push_back(i);
  }
}

void Simulation::reset(uint64_t step) {
  at(step) = fresh;
  at(step).opWaits = waitsOf[std::min<uint64_t>(step, 2)];
}

void Simulation::endOp(uint64_t step, unsigned op) {
  unsigned index = problem.ops[op].stream;
  Stream &stream = streams[index];
  stream.end(now, order[index].size());
  Step &s = at(step);
  --s.opsLeft;
  for (unsigned user : opUsers[op]) {
    --s.opWaits[user];
    s.opReady[user] = now;
  }
  Produced &made = produced[step % kSteps];
  if (made.step != step) {
    made.step = step;
    made.communications.clear();
  }
  for (unsigned communication : opCommunications[op])
    if (--s.communicationWaits[communication] == 0) {
      made.communications.push_back({communication, now});
      for (unsigned item : itemsOf[communication])
        events.push({now + items[item].head, kItemIsThere, step, item});
    }
}

/// Announces the end of the queue's first item.
void Simulation::restart(unsigned index) {
  Queue &queue = queues[index];
  queue.since = now;
  ++queue.version;
  if (queue.entries.empty())
    return;
  auto [urgency, step, item] = *queue.entries.begin();
  events.push({now + at(step).left[item], kQueueIsDone, queue.version, index});
}

void Simulation::arrive(uint64_t step, unsigned index) {
  const Item &item = items[index];
  --at(step).itemsLeft;
  Step &to = at(step + item.distance);
  --to.opWaits[item.op];
  to.last[item.op] = item.communication;
}

void Simulation::handle(const Event &event) {
  switch (event.kind) {
  case kOpEnds:
    endOp(event.step, event.index);
    break;
  case kItemIsThere: {
    const Item &item = items[event.index];
    Queue &queue = queues[item.queue];
    uint64_t length = order[costs[item.queue].stream].size();
    if (!queue.entries.empty()) {
      auto [urgency, step, first] = *queue.entries.begin();
      at(step).left[first] -= now - queue.since;
    }
    queue.entries.insert({(event.step + item.distance) * length + positions[item.op],
                          event.step, event.index});
    restart(item.queue);
    break;
  }
  case kQueueIsDone: {
    Queue &queue = queues[event.index];
    if (queue.version != event.step)
      return; // something more urgent came
    auto [urgency, step, item] = *queue.entries.begin();
    queue.entries.erase(queue.entries.begin());
    events.push({now + costs[event.index].tail, kItemArrives, step, item});
    restart(event.index);
    break;
  }
  case kItemArrives:
    arrive(event.step, event.index);
    break;
  case kOpMayStart:
    break;
  }
}

void Simulation::completeSteps() {
  while (computed < complete + 4 && at(computed).opsLeft == 0)
    ++computed;
  while (complete < computed && at(complete).itemsLeft == 0) {
    reset(complete + kSteps);
    ++complete;
  }
}

/// Whether messages can have brought what the next op of the stream needs. The
/// links alone allow it.
bool Simulation::costsAllow(size_t index) {
  Stream &stream = streams[index];
  if (!messageCosts[index].isUseful(stream.position))
    return true;
  if (stream.notBefore < 0) {
    std::vector<const Produced *> steps;
    for (uint64_t step = stream.step - std::min<uint64_t>(stream.step, 2);
         step <= stream.step; ++step)
      if (produced[step % kSteps].step == step)
        steps.push_back(&produced[step % kSteps]);
    stream.notBefore =
        messageCosts[index].earliest(stream.step, stream.position, steps);
    if (stream.notBefore > now)
      events.push({stream.notBefore, kOpMayStart, stream.step, unsigned(index)});
  }
  return stream.notBefore <= now;
}

bool Simulation::startOps() {
  bool any = false;
  for (size_t i = 0; i < streams.size(); ++i) {
    Stream &stream = streams[i];
    if (stream.busy || order[i].empty() || stream.step >= computed + 2)
      continue;
    unsigned op = order[i][stream.position];
    Step &s = at(stream.step);
    if (s.opWaits[op] != 0 || !costsAllow(i))
      continue;
    stream.notBefore = -1;
    Time base = std::max(stream.free, s.opReady[op]);
    if (now > base && s.last[op] != ~0u)
      stalls.push_back({computed, s.last[op], now - base});
    if (starts.size() == stream.step)
      starts.push_back(now);
    stream.busy = true;
    events.push({now + problem.ops[op].duration * unit, kOpEnds, stream.step, op});
    any = true;
  }
  return any;
}

/// Everything that the future depends on, relative to now and to the steps done.
/// What has arrived follows from the ops run and from what has not arrived.
std::vector<int64_t> Simulation::state() {
  std::vector<int64_t> state{static_cast<int64_t>(computed - complete)};
  auto relative = [&](uint64_t step) { return static_cast<int64_t>(step - complete); };
  for (const Stream &stream : streams)
    state.insert(state.end(), {relative(stream.step),
                               static_cast<int64_t>(stream.position), stream.busy,
                               stream.notBefore < 0});
  for (const Queue &queue : queues) {
    state.push_back(-1);
    Time served = now - queue.since;
    for (auto [urgency, step, item] : queue.entries) {
      state.insert(state.end(),
                   {relative(step), item, at(step).left[item] - served});
      served = 0;
    }
  }
  for (std::priority_queue<Event> copy = events; !copy.empty(); copy.pop()) {
    const Event &event = copy.top();
    if (event.kind != kQueueIsDone)
      state.insert(state.end(), {event.time - now, event.kind, relative(event.step),
                                 event.index});
  }
  // What is produced counts for ops of the two steps after, when it was produced:
  // much, so that sums of it are kept, of 128 bits.
  uint64_t sums[2] = {1, 2};
  for (uint64_t step = complete - std::min<uint64_t>(complete, 2); step < complete + 6;
       ++step) {
    const Produced &made = produced[step % kSteps];
    if (made.step != step)
      continue;
    for (uint64_t &sum : sums)
      sum = mix(sum, static_cast<uint64_t>(relative(step)));
    for (auto [communication, time] : made.communications)
      for (uint64_t &sum : sums)
        sum = mix(mix(sum, communication), static_cast<uint64_t>(now - time));
  }
  for (uint64_t sum : sums)
    state.push_back(static_cast<int64_t>(sum));
  return state;
}

Relaxation Simulation::run(unsigned maxSteps) {
  for (uint64_t step = 0; step < kSteps; ++step)
    reset(step);
  Relaxation result;
  result.settled = false;
  std::vector<Time> ends;
  std::vector<std::vector<int64_t>> states;
  size_t from = 0;
  while (starts.size() < maxSteps) {
    // Steps without duration run within one instant.
    if (startOps() && events.top().time == now) {
    } else if (computed > ends.size()) {
      ends.resize(computed, now);
      states.resize(computed);
      states.back() = state();
      from = std::find(states.begin(), states.end() - 1, states.back()) -
             states.begin();
      if (from + 1 != states.size()) {
        result.settled = true;
        break;
      }
    }
    now = events.top().time;
    while (!events.empty() && events.top().time == now) {
      Event event = events.top();
      events.pop();
      handle(event);
    }
    completeSteps();
  }
  double scale = static_cast<double>(unit);
  for (Time start : starts)
    result.starts.push_back(static_cast<double>(start) / scale);
  if (result.settled)
    result.period = static_cast<double>(ends.back() - ends[from]) / scale /
                    static_cast<double>(ends.size() - 1 - from);
  else // Starting afresh at any step could only be faster.
    for (size_t step = 1; step < starts.size(); ++step)
      result.period = std::max(result.period,
                               result.starts[step] / static_cast<double>(step));
  std::vector<Time> waited(problem.communications.size());
  for (const Stall &stall : stalls)
    if (stall.step > from)
      waited[stall.communication] += stall.time;
  auto most = std::max_element(waited.begin(), waited.end());
  if (most != waited.end() && *most > 0)
    result.critical = static_cast<unsigned>(most - waited.begin());
  return result;
}

} // namespace

Relaxation relax(const Problem &problem,
                 const std::vector<std::vector<unsigned>> &order,
                 unsigned maxSteps) {
  return Simulation(problem, order).run(maxSteps);
}

} // namespace commsched::schedule
