// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What links send when: whole messages in the order in which they were given, or packets,
// the most urgent first.

#include "passes/schedule/solver/Execution.h"

#include <algorithm>

namespace commsched::schedule {

bool Execution::dispatch() {
  bool any = false;
  std::sort(touched.begin(), touched.end());
  for (unsigned i : touched) {
    isTouched[i] = false;
    any |= connections[i] ? sendFrom(i) : giveWhatFits(i);
  }
  touched.clear();
  return any;
}

/// What the credit of the link allows now, the most urgent first.
bool Execution::giveWhatFits(unsigned i) {
  LinkState &link = links[i];
  bool any = false;
  while (!link.queue.empty()) {
    const Waiting &next = link.queue.top();
    const int64_t size = bytesOf(next.message, next.stage);
    const plan::Urgency urgency = countedUrgency(i, next.urgency);
    if (!link.inFlight.Fits(urgency, size, credit[i]))
      break;
    link.inFlight.Add(urgency, size);
    if (connections[i]) {
      if (!isAskedFor(next.message, next.stage) || meets(next.step(), next.message, next.stage, Asking::given))
        push(i, next.urgency, next.message, next.stage);
    } else {
      sendInOrder(i, next);
    }
    link.queue.pop();
    any = true;
  }
  return any;
}

void Execution::touch(unsigned link) {
  if (!isTouched[link])
    touched.push_back(link);
  isTouched[link] = true;
}

/// Behind all that the link has been given.
void Execution::sendInOrder(unsigned i, const Waiting &next) {
  LinkState &link = links[i];
  Time begin = std::max(link.free, current);
  const Stage &stage = stagesOf(next.message)[next.stage];
  link.free = begin + stage.overhead + transferTime(problem.links[i], bytesOf(next.message, next.stage));
  Time end = link.free + latencyOf(next.message, next.stage);
  if (timeline)
    timeline->transfers.push_back(
        {next.message, next.stage, next.step(),
         ready[2 * (stageBegin[next.message] + next.stage) + next.step() % 2],
         begin, link.free, end});
  events.push({end, next.step(), 1 + 2 * next.stage, next.message});
  if (freesCreditEarly(next.message, next.stage))
    events.push({link.free, next.step(), 2 + 2 * next.stage, next.message});
  if (const std::vector<Time> *own = leadsIn(next.message, next.stage))
    for (size_t j = 0; j < own->size(); ++j)
      if (Time lead = (*own)[j])
        events.push({end - lead, next.step(), kPiece,
                     piecesOf(next.message)[j].communication});
}

/// Brings its clock up to now, but for what is less than a nanosecond of it.
void Execution::count(Medium &medium) {
  if (medium.busy == 0) {
    medium.counted = current;
    return;
  }
  Time passed = (current - medium.counted) / medium.busy;
  medium.clock += passed;
  medium.counted += passed * medium.busy;
}

/// Begins or ends to send. Others on the medium get less of its rate from now on, or more.
void Execution::setBusy(unsigned i, bool busy) {
  unsigned own = mediumOf(i);
  Medium &medium = shared[own];
  count(medium);
  links[i].busy = busy;
  Time before = medium.busy;
  medium.busy += busy ? 1 : -1;
  // The same part of a nanosecond.
  medium.counted = before && medium.busy ? current - (current - medium.counted) * medium.busy / before : current;
  if (!busy)
    ++links[i].looks;
  waitFor(own);
}

/// Has an event when the first of its links looks.
void Execution::waitFor(unsigned index) {
  Medium &medium = shared[index];
  auto &looks = medium.looks;
  while (!looks.empty() && looks.top().looks != links[looks.top().link].looks)
    looks.pop();
  if (looks.empty()) {
    medium.waits = false;
    ++medium.events;
    return;
  }
  Time at = std::max(current, medium.counted + std::max<Time>(0, looks.top().clock - medium.clock) * medium.busy);
  if (medium.waits && medium.next == at)
    return;
  medium.waits = true;
  medium.next = at;
  events.push({at, ++medium.events, kLink, index});
}

void Execution::lookAll(unsigned index) {
  Medium &medium = shared[index];
  medium.waits = false;
  count(medium);
  while (!medium.looks.empty() && medium.looks.top().clock <= medium.clock) {
    Medium::Look next = medium.looks.top();
    medium.looks.pop();
    if (next.looks == links[next.link].looks)
      look(next.link);
  }
  waitFor(index);
}

/// What its socket takes now; then it looks again when the next thing happens.
bool Execution::sendFrom(unsigned i) {
  ConnectionLink &connection = *connections[i];
  unsigned own = mediumOf(i);
  count(shared[own]);
  bool any = false, takes = true;
  const Time clock = shared[own].clock;
  while (takes) {
    connection.accept(clock, [&](const ConnectionLink::Item &item) {
      if (freesCreditEarly(item.message, item.stage))
        removeFromCredit(item.step, item.message, item.stage);
    });
    any |= giveWhatFits(i);
    takes = connection.take(clock);
    any |= takes;
  }
  if (connection.sends() != links[i].busy)
    setBusy(i, connection.sends());
  if (connection.sends()) {
    shared[own].looks.push({connection.next(), i, ++links[i].looks});
    waitFor(own);
  }
  return any;
}

void Execution::look(unsigned i) {
  connections[i]->deliver(shared[mediumOf(i)].clock, [&](const ConnectionLink::Part &part) {
    const auto &[exchange, message, stage, step, overhead, tells, asks] = part.item;
    if (asks) {
      events.push({current + stagesOf(message)[stage].latency, step, kAsked, static_cast<unsigned>(stageBegin[message] + stage)});
      return;
    }
    if (timeline)
      trace(i, part);
    if (const std::vector<Time> *leads = tells ? leadsIn(message, stage) : nullptr) {
      const Time whole = transferTime(problem.links[i], bytesOf(message, stage));
      for (size_t j = 0; j < leads->size(); ++j)
        if (const Time lead = (*leads)[j]; lead && whole - lead > part.begin && whole - lead <= part.end)
          events.push({current + latencyOf(message, stage), step, kPiece, piecesOf(message)[j].communication});
    }
    if (part.last)
      events.push({current + latencyOf(message, stage), step, 1 + 2 * stage, message});
  });
  touch(i);
}

/// Of so many bytes, those that a link sends between two moments.
static int64_t bytesWithin(const Link &link, Time begin, Time end, int64_t all) {
  const auto before = [&](Time time) {
    return time >= transferTime(link, all) ? all : static_cast<int64_t>(static_cast<__int128>(link.bytesPerSecond) * time / 1'000'000'000);
  };
  return before(end) - before(begin);
}

/// Connections that send at a time share the link; what one has sent of it is shown where the link is done with what was before it.
void Execution::trace(unsigned link, const ConnectionLink::Part &part) {
  const ConnectionLink::Item &item = part.item;
  Medium &medium = shared[mediumOf(link)];
  Time &since = ready[2 * (stageBegin[item.message] + item.stage) + item.step % 2];
  const Time work = part.end - part.begin + (part.begin == 0 ? item.overhead : 0);
  const Time begin = std::max({medium.traced, current - work, since});
  timeline->transfers.push_back({item.message, item.stage, item.step, since, begin, current,
                                 current + (part.last ? latencyOf(item.message, item.stage) : 0), part.last,
                                 bytesWithin(problem.links[link], part.begin, part.end, bytesOf(item.message, item.stage))});
  medium.traced = since = current;
}

} // namespace commsched::schedule
