// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why compute waited, from a trace of what ranks computed and sent. Goes back from
// the arrival that ended a wait: on its way, not sent yet, the round before.

#include "report/Document.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace commsched::report {

namespace {

/// What ends a wait comes a little before it does: threads are woken.
constexpr int64_t kSlack = 50'000; // nanoseconds

struct Message {
  int64_t begin, end;
  uint32_t name;
  uint64_t step;
  int peer; ///< number in the names of tracks
};

int numberAtEnd(const std::string &text) {
  size_t digit = text.find_last_not_of("0123456789") + 1;
  int number = -1;
  std::from_chars(text.data() + digit, text.data() + text.size(), number);
  return number;
}

class WaitExplainer {
public:
  WaitExplainer(Timeline &timeline, Strings &strings)
      : timeline(timeline), strings(strings) {}
  void run();

private:
  using Key = std::tuple<std::string, uint32_t, uint64_t>; // process, name, step

  void index();
  void explainTrack(Track &track);
  const Message *arrival(const std::string &process, const Event &wait) const;
  const Message *sendOf(const std::string &process, const Message &received) const;
  const Message *roundBefore(const std::string &process, const Message &last) const;
  std::string activityOf(const std::string &process, int64_t begin, int64_t end) const;
  void explain(const Track &track, const Event &wait, const std::string &op,
               std::vector<Event> &out);

  Timeline &timeline;
  Strings &strings;
  std::map<std::string, std::vector<Message>> received; ///< by process, by end
  std::map<Key, std::vector<Message>> rounds, sent;     ///< by end
  std::map<std::string, std::vector<Event>> computed;   ///< by process
};

void WaitExplainer::index() {
  for (const Track &track : timeline.tracks) {
    if (!track.isLink) {
      auto &events = computed[track.process];
      for (const Event &event : track.events)
        if (event.category != Category::exposed)
          events.push_back(event);
      continue;
    }
    bool isReceive = track.name.starts_with("receive ");
    int peer = numberAtEnd(track.name);
    for (const Event &event : track.events) {
      Message message{event.begin, event.end, event.name, event.step, peer};
      if (isReceive)
        received[track.process].push_back(message);
      (isReceive ? rounds : sent)[{track.process, event.name, event.step}].push_back(
          message);
    }
  }
  auto byEnd = [](const Message &a, const Message &b) { return a.end < b.end; };
  for (auto &[process, messages] : received)
    std::stable_sort(messages.begin(), messages.end(), byEnd);
  for (auto *map : {&rounds, &sent})
    for (auto &[key, messages] : *map)
      std::stable_sort(messages.begin(), messages.end(), byEnd);
}

/// The message that ended the wait: the last to arrive of those that it names, or of
/// all.
const Message *WaitExplainer::arrival(const std::string &process,
                                      const Event &wait) const {
  auto of = received.find(process);
  if (of == received.end())
    return nullptr;
  const std::vector<Message> &messages = of->second;
  auto last = std::upper_bound(
      messages.begin(), messages.end(), wait.end,
      [](int64_t time, const Message &message) { return time < message.end; });
  std::string names = ", " + strings.text(wait.name) + ",";
  const Message *any = nullptr;
  while (last != messages.begin() && (--last)->end > wait.begin) {
    if (names.find(", " + strings.text(last->name) + ",") != std::string::npos)
      return &*last;
    // No compute waits for what is only reported.
    if (!any && !strings.text(last->name).starts_with("metric."))
      any = &*last;
  }
  return any;
}

const Message *WaitExplainer::sendOf(const std::string &process,
                                     const Message &received) const {
  auto of = sent.find({"rank " + std::to_string(received.peer), received.name,
                       received.step});
  if (of == sent.end())
    return nullptr;
  const Message *best = nullptr;
  int self = numberAtEnd(process);
  for (const Message &message : of->second)
    if (message.peer == self && message.begin < received.end &&
        message.end <= received.end + kSlack)
      best = &message;
  return best;
}

const Message *WaitExplainer::roundBefore(const std::string &process,
                                          const Message &last) const {
  auto of = rounds.find({process, last.name, last.step});
  const Message *best = nullptr;
  for (const Message &message : of->second)
    if (&message != &last && message.end < last.end &&
        message.end <= last.begin + kSlack)
      best = &message;
  return best;
}

/// What a rank spent most of a time with.
std::string WaitExplainer::activityOf(const std::string &process, int64_t begin,
                                      int64_t end) const {
  auto of = computed.find(process);
  if (of == computed.end())
    return "";
  const std::vector<Event> &events = of->second;
  auto at = std::lower_bound(
      events.begin(), events.end(), begin,
      [](const Event &event, int64_t time) { return event.begin < time; });
  if (at != events.begin())
    --at;
  const Event *longest = nullptr;
  int64_t most = 0, all = 0;
  for (; at != events.end() && at->begin < end; ++at) {
    int64_t shared = std::min(end, at->end) - std::max(begin, at->begin);
    all += std::max<int64_t>(shared, 0);
    if (shared > most) {
      most = shared;
      longest = &*at;
    }
  }
  if (!longest || all * 2 < end - begin)
    return "which waits itself, for others or for a processor";
  return "which still computes (most of it " + strings.text(longest->name) + ")";
}

/// The wait in stretches, each with its reason.
void WaitExplainer::explain(const Track &track, const Event &wait,
                            const std::string &op, std::vector<Event> &out) {
  const Message *message = arrival(track.process, wait);
  std::vector<Event> stretches; // latest first
  int64_t cursor = wait.end;
  std::string before = op.empty() ? "compute waits for " : op + " waits for ";
  Event stretch = wait;
  if (message)
    stretch.name = message->name;
  before += strings.text(stretch.name) + ": ";
  auto add = [&](int64_t begin, const std::string &why) {
    begin = std::max(begin, wait.begin);
    if (begin >= cursor)
      return;
    stretch.begin = begin;
    stretch.end = cursor;
    stretch.detail = strings.number(before + why);
    cursor = begin;
    stretches.push_back(stretch);
  };
  if (!message) {
    add(wait.begin, "nothing arrives meanwhile: another thread, or the processor");
  } else {
    add(message->end, "it has arrived, and is handed over");
    for (int round = 0; message && round < 256 && cursor > wait.begin; ++round) {
      std::string peer = "rank " + std::to_string(message->peer);
      const Message *send = sendOf(track.process, *message);
      int64_t begun = send ? std::max(send->begin, message->begin) : message->begin;
      add(begun, send ? "it is on its way from " + peer
                      : "it is awaited from peer " + std::to_string(message->peer));
      if (send && send->begin > message->begin) {
        std::string activity = activityOf(
            peer, std::max({message->begin, wait.begin}), std::min(send->begin, cursor));
        add(message->begin, peer + " has not sent it yet" +
                                (activity.empty() ? "" : ", " + activity));
      }
      const Message *earlier = roundBefore(track.process, *message);
      if (earlier)
        add(earlier->end, "between two of its rounds");
      message = earlier;
    }
    add(wait.begin, "its exchange has not begun: an earlier one is combined, or the "
                    "thread for it has not run");
  }
  out.insert(out.end(), stretches.rbegin(), stretches.rend());
}

void WaitExplainer::explainTrack(Track &track) {
  std::vector<Event> out;
  for (size_t i = 0; i < track.events.size(); ++i) {
    const Event &event = track.events[i];
    if (event.category != Category::exposed || event.detail) {
      out.push_back(event);
      continue;
    }
    std::string op;
    for (size_t next = i + 1; next < track.events.size() && op.empty(); ++next)
      if (track.events[next].category != Category::exposed)
        op = strings.text(track.events[next].name);
    explain(track, event, op, out);
  }
  track.events = std::move(out);
  assignLanes(track);
}

void WaitExplainer::run() {
  index();
  for (Track &track : timeline.tracks)
    if (!track.isLink)
      explainTrack(track);
}

} // namespace

void explainWaits(Timeline &timeline, Strings &strings) {
  WaitExplainer(timeline, strings).run();
}

} // namespace commsched::report
