// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Execution.h"

#include "passes/schedule/solver/Arrivals.h"
#include "plan/packets.h"

#include <algorithm>

namespace commsched::schedule {

namespace {

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

/// The first index of each run of the same number.
std::vector<unsigned> firstOfEach(const std::vector<unsigned> &numbers) {
  std::vector<unsigned> firsts;
  for (unsigned i = 0; i < numbers.size(); ++i)
    firsts.push_back(i && numbers[i - 1] == numbers[i] ? firsts.back() : i);
  return firsts;
}

} // namespace

Execution::Execution(const Problem &problem, const Schedule &schedule,
                     const Sharing &sharing, const std::vector<unsigned> &exchanges, Timeline *timeline)
    : problem(problem), schedule(schedule), firstSlice(firstOfEach(exchanges)),
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
                         add(producer, firstSlice.empty() ? i : firstSlice[i]);
                 }),
      links(problem.links.size()), connections(links.size()), isTouched(links.size()), sharing(sharing), exchanges(exchanges),
      shared(sharing.media.empty() ? 0 : 1 + *std::max_element(sharing.media.begin(), sharing.media.end())),
      streams(problem.streams), timeline(timeline) {
  credit = schedule.credit;
  if (!sharing.media.empty()) {
    credit.clear();
    for (size_t i = 0; i < links.size(); ++i) {
      const int64_t whole = schedule.credit[sharing.media[i]], parts = sharing.parts[i];
      // In bytes of the round that a message is in.
      credit.push_back(parts == 0 || whole == kNoLimit ? kNoLimit : std::max<int64_t>(1, whole / parts + (whole % parts != 0)));
    }
  }
  for (size_t i = 0; i < sharing.sends.size(); ++i) {
    const Sharing::Sends sends = sharing.sends[i];
    if (sends == Sharing::Sends::messages)
      continue;
    const bool ranks = sends == Sharing::Sends::rounds;
    const Link &link = problem.links[i];
    const Time packet = transferTime(link, link.packetBytes), ahead = transferTime(link, link.aheadBytes);
    const Time enough = ranks ? transferTime(link, static_cast<int64_t>(plan::EnoughOfPacket(static_cast<uint64_t>(link.packetBytes))))
                              : plan::EnoughOfServerPacket(packet, ahead);
    connections[i].emplace(packet, ahead, enough, sends == Sharing::Sends::pushes, ranks);
  }
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
    const unsigned of = schedule.messages[i].pieces.front().communication;
    for (size_t stage = 0; stage < stagesOf(i).size(); ++stage) {
      latencies.push_back(stagesOf(i)[stage].latency);
      priorities.push_back(schedule.messages[i].priorities[sharing.stageOf.empty() ? stage : sharing.stageOf[of][stage]]);
    }
    for (const Piece &piece : schedule.messages[i].pieces) {
      const Communication &communication =
          problem.communications[piece.communication];
      first.messageWaits[firstSlice.empty() ? i : firstSlice[i]] += communication.producers.size();
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
  sendOnce();
  joinSlices();
  countBytesBefore();
  if (hasTails(problem))
    for (unsigned i = 0; i < schedule.messages.size(); ++i)
      leads.push_back(onceOf(i) ? std::vector<Time>(piecesOf(i).size()) : leadsOf(problem, {piecesOf(i), {}}));
  if (timeline)
    ready.resize(2 * bytes.size());
  for (uint64_t step = 0; step < 3; ++step)
    reset(step);
}

void Execution::countBytesBefore() {
  unsigned connection = 0;
  bool several = false;
  for (const Communication &communication : problem.communications)
    if (unsigned own = communication.connection) {
      several |= connection && own != connection;
      connection = own;
    }
  if (!several)
    return;
  struct Visit {
    unsigned connection, link;
    int64_t priority;
    unsigned message, stage;
    auto way() const { return std::tie(connection, link, priority); }
  };
  std::vector<Visit> visits;
  for (unsigned i = 0; i < schedule.messages.size(); ++i) {
    const Message &message = schedule.messages[i];
    if (unsigned own = problem.communications[message.pieces.front().communication].connection)
      for (unsigned stage = 0; stage < stagesOf(i).size(); ++stage)
        if (!connections[stagesOf(i)[stage].link]) // these have an order of their own
          visits.push_back({own, stagesOf(i)[stage].link, priorities[stageBegin[i] + stage], i, stage});
  }
  std::stable_sort(visits.begin(), visits.end(),
                   [](const Visit &a, const Visit &b) { return a.way() < b.way(); });
  bytesBefore.resize(bytes.size());
  int64_t sum = 0;
  for (size_t i = 0; i < visits.size(); ++i) {
    const Visit &visit = visits[i];
    if (i && visits[i - 1].way() != visit.way())
      sum = 0;
    bytesBefore[stageBegin[visit.message] + visit.stage] = sum;
    for (const Piece &piece : schedule.messages[visit.message].pieces)
      sum += piece.end - piece.begin;
  }
}

void Execution::reset(uint64_t step) {
  at(step) = first;
  if (step == 0)
    for (const Communication &communication : problem.communications)
      for (const Consumer &consumer : communication.consumers)
        if (consumer.distance == 1)
          --at(step).opWaits[consumer.op];
}

void Execution::endOp(uint64_t step, unsigned op) {
  unsigned stream = problem.ops[op].stream;
  streams[stream].end(current, schedule.order[stream].size());
  Step &s = at(step);
  --s.opsLeft;
  for (unsigned user : opUsers[op]) {
    --s.opWaits[user];
    s.opReady[user] = current;
  }
  for (unsigned message : opMessages[op])
    if (--s.messageWaits[message] == 0)
      beginStage(step, message, 0);
}

void Execution::push(unsigned link, const plan::Urgency &urgency, unsigned message, unsigned stage) {
  Medium &medium = shared[mediumOf(link)];
  count(medium);
  connections[link]->push(urgency, {exchangeOf(message), message, stage, urgency.call, stagesOf(message)[stage].overhead, timeline || leadsIn(message, stage)},
                          transferTime(problem.links[link], bytesOf(message, stage)), medium.clock);
}

void Execution::enqueue(uint64_t step, unsigned message, unsigned stage) {
  size_t index = stageBegin[message] + stage;
  if (timeline)
    ready[2 * index + step % 2] = current;
  const Stage &own = stagesOf(message)[stage];
  if (schedule.messages[message].exclusive > 0)
    beginExclusive(step, message, stage);
  const plan::Urgency urgency{priorities[index], step};
  touch(own.link);
  if (connections[own.link] && sharing.sends[own.link] != Sharing::Sends::rounds)
    return push(own.link, urgency, message, stage);
  if (isAskedFor(message, stage)) {
    Medium &medium = shared[mediumOf(own.link)];
    count(medium);
    connections[own.link]->ask({exchangeOf(message), message, stage, step}, medium.clock);
  }
  links[own.link].queue.push({urgency, bytesBefore.empty() ? 0 : bytesBefore[index], exchangeOf(message), message, stage});
}

void Execution::freeCredit(uint64_t step, unsigned message, unsigned stage) {
  unsigned link = stagesOf(message)[stage].link;
  if (connections[link] && sharing.sends[link] != Sharing::Sends::rounds)
    return;
  removeFromCredit(step, message, stage);
  touch(link);
}

void Execution::removeFromCredit(uint64_t step, unsigned message, unsigned stage) {
  unsigned link = stagesOf(message)[stage].link;
  links[link].inFlight.Remove(countedUrgency(link, {priorities[stageBegin[message] + stage], step}), bytesOf(message, stage));
}

void Execution::endMessage(uint64_t step, unsigned message, unsigned stage) {
  const std::vector<Stage> &stages = stagesOf(message);
  if (!freesCreditEarly(message, stage))
    freeCredit(step, message, stage);
  unsigned next = stage + 1;
  if (const Sharing::Once *own = onceOf(message); own && next == own->end)
    next = own->behind;
  if (schedule.messages[message].exclusive > 0)
    endExclusive(step, message, stage, next);
  if (next == stages.size())
    endPieces(step, message);
  else if (slices.empty() || slices[message] == 1)
    enqueue(step, message, next);
  else
    endSlice(step, message, stage, next);
}

void Execution::endPieces(uint64_t step, unsigned message) {
  const std::vector<Piece> &pieces = piecesOf(message);
  for (size_t i = 0; i < pieces.size(); ++i)
    if (leads.empty() || leads[message][i] == 0)
      endPiece(step, pieces[i].communication);
}

void Execution::endPiece(uint64_t step, unsigned communication) {
  if (--at(step).communicationWaits[communication] == 0)
    arrive(step, communication);
}

void Execution::arrive(uint64_t step, unsigned communication) {
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

void Execution::completeSteps() {
  while (at(computed).opsLeft == 0 && computed < complete + 2)
    ++computed;
  while (complete < computed && at(complete).communicationsLeft == 0) {
    gateComm = at(complete).lastOfStep;
    gateTime = current;
    reset(complete + 3);
    ++complete;
  }
}

/// Whether the first op of a stream may start as far as steps before are concerned.
bool Execution::gateOpen(uint64_t step) {
  if (step >= complete + 2)
    return false;
  return !schedule.barrier || step == 0 || step <= complete ||
         at(step - 1).communicationsLeft == 0;
}

bool Execution::startOps() {
  bool any = false;
  for (size_t i = 0; i < streams.size(); ++i) {
    OpStream &stream = streams[i];
    if (stream.busy || schedule.order[i].empty())
      continue;
    if (stream.position == 0 && !gateOpen(stream.step))
      continue;
    unsigned op = schedule.order[i][stream.position];
    Step &s = at(stream.step);
    if (s.opWaits[op] != 0)
      continue;
    Time base = std::max(stream.free, s.opReady[op]);
    if (current > base) {
      // What came last: the communication of the op, or of the step that the
      // first op of this one waits for.
      unsigned last = s.lastComm[op];
      if (stream.position == 0 && stream.step > complete && schedule.barrier)
        last = at(stream.step - 1).lastOfStep;
      else if (stream.position == 0 && (last == kNone || gateTime == current))
        last = gateComm;
      if (last != kNone)
        stalls.push_back({computed, last, current - base});
      if (last != kNone && timeline)
        timeline->stalls.push_back({op, stream.step, last, base, current});
    }
    if (timeline)
      timeline->runs.push_back(
          {op, stream.step, current, current + problem.ops[op].duration});
    stream.busy = true;
    events.push({current + problem.ops[op].duration, stream.step, 0, op});
    any = true;
  }
  return any;
}

std::vector<int64_t> Execution::state() {
  std::vector<int64_t> state{static_cast<int64_t>(computed - complete)};
  auto relative = [&](uint64_t step) { return static_cast<int64_t>(step - complete); };
  for (const OpStream &stream : streams) {
    state.push_back(relative(stream.step));
    state.push_back(static_cast<int64_t>(stream.position));
    state.push_back(stream.busy);
  }
  for (unsigned i = 0; i < links.size(); ++i) {
    const LinkState &link = links[i];
    if (connections[i])
      connections[i]->describe(clockOf(i), complete, [&](int64_t number) { state.push_back(number); });
    else
      state.push_back(std::max<Time>(link.free - current, 0));
    std::vector<Waiting> queue = contents(link.queue);
    std::sort(queue.begin(), queue.end());
    state.push_back(static_cast<int64_t>(queue.size()));
    for (const Waiting &waiting : queue)
      state.insert(state.end(), {relative(waiting.step()), waiting.message, waiting.stage});
  }
  for (size_t i = 0; i < asking.size(); ++i)
    if (asking[i] != Asking::none)
      state.insert(state.end(), {static_cast<int64_t>(i / 3), static_cast<int64_t>((i + 3 - complete % 3) % 3), static_cast<int64_t>(asking[i])});
  for (size_t i = 0; i < joined.size(); ++i)
    if (joined[i])
      state.insert(state.end(), {static_cast<int64_t>(i / 3), static_cast<int64_t>((i + 3 - complete % 3) % 3), int64_t{joined[i]}});
  std::vector<Event> sorted = contents(events);
  exclusives.ForEach(current, [&](uint64_t id, Time left) {
    state.insert(state.end(), {static_cast<int64_t>(id - complete * schedule.messages.size()), left});
  });
  std::erase_if(sorted, [](const Event &event) { return event.kind == kLink || event.kind == kHold; }); // of links, exclusive messages
  std::sort(sorted.begin(), sorted.end());
  for (const Event &event : sorted)
    state.insert(state.end(),
                 {event.time - current, relative(event.step), event.kind, event.index});
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

bool Execution::begin() {
  bool any = startOps();
  any |= dispatch();
  return any && events.top().time == current;
}

bool Execution::advance() {
  if (events.empty())
    return false;
  current = events.top().time;
  while (!events.empty() && events.top().time == current) {
    Event event = events.top();
    events.pop();
    if (event.kind == 0)
      endOp(event.step, event.index);
    else if (event.kind == kPiece)
      endPiece(event.step, event.index);
    else if (event.kind == kAsked)
      endAsking(event.step, event.index);
    else if (event.kind == kHold)
      holdBack();
    else if (event.kind == kLink)
      shared[event.index].events == event.step ? lookAll(event.index) : void();
    else if (event.kind % 2)
      endMessage(event.step, event.index, event.kind / 2);
    else
      freeCredit(event.step, event.index, event.kind / 2 - 1);
  }
  completeSteps();
  return true;
}

} // namespace commsched::schedule
