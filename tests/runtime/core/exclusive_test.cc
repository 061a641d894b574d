// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exclusive exchanges: what they hold back, and until when; and how a link's queue holds it back.
#include "plan/exclusive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/packet_queue.h"
#include "tests/cases.h"

namespace commsched::exclusive {
namespace {

using plan::Exclusives;
using plan::Urgency;

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

// --- Which, and until when -------------------------------------------------------

// All that has ever happened, from which everything is found again each time.
struct History {
  struct What {
    enum {
      kBegin,
      kProgress,
      kEnd
    } kind;
    uint64_t id;
    Urgency urgency;
    int64_t patience, at;
  };
  std::vector<What> all;

  // Of those that have begun and not ended: when the last of it has come, or it has begun, and how long it waits then.
  std::vector<std::pair<What, int64_t>> Waiting(int64_t now) const {
    std::vector<std::pair<What, int64_t>> waiting;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].kind != What::kBegin) continue;
      int64_t until = all[i].at + all[i].patience;
      bool ended = false;
      for (size_t k = i + 1; k < all.size() && !ended; ++k) {
        if (all[k].id != all[i].id) continue;
        ended = all[k].kind != What::kProgress;
        if (!ended) until = all[k].at + all[i].patience;
      }
      if (!ended && now < until) waiting.emplace_back(all[i], until);
    }
    return waiting;
  }
  bool HeldBack(const Urgency &urgency, int64_t now) const {
    const auto waiting = Waiting(now);
    // What is not less urgent than one of them goes.
    return !waiting.empty() && std::all_of(waiting.begin(), waiting.end(), [&](const auto &of) {
      return std::pair(urgency.priority, urgency.call) > std::pair(of.first.urgency.priority, of.first.urgency.call);
    });
  }
};

TEST(ExclusivesTest, HoldsBackWhatIsLessUrgentThanAllUntilNothingComes) {
  int held = 0, free = 0, several = 0, again = 0;
  const Cases cases = casesOf(400);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Exclusives exclusives;
    History history;
    std::vector<uint64_t> ids;  // begun and not ended
    uint64_t next = random() % 2;
    int64_t now = int64_t(random() % 1000) - 500;
    const auto draw = [&](int64_t priorities) {
      return Urgency{int64_t(random() % uint64_t(priorities)) - 2, random() % 3};
    };
    for (int i = 0; i < 80; ++i) {
      now += int64_t(random() % 3 == 0 ? random() % 30 : 0);
      const uint64_t id = ids.empty() || random() % 8 == 0 ? random() % (next + 2) : ids[random() % ids.size()];
      switch (random() % 4) {
        case 0: {
          const Urgency urgency = draw(5);
          const auto patience = int64_t(1 + random() % 50);
          // What has ended may begin again.
          const bool fresh = ids.size() < 2 || random() % 4 != 0;
          const uint64_t begun = std::find(ids.begin(), ids.end(), id) == ids.end() && !fresh ? id : next++;
          if (std::find(ids.begin(), ids.end(), begun) != ids.end()) break;
          next = std::max(next, begun + 1);
          exclusives.Begin(begun, urgency, patience, now);
          history.all.push_back({History::What::kBegin, begun, urgency, patience, now});
          ids.push_back(begun);
          break;
        }
        case 1:
        case 2: {
          const size_t before = history.Waiting(now).size();
          exclusives.Progress(id, now);
          history.all.push_back({History::What::kProgress, id, {}, 0, now});
          again += history.Waiting(now).size() > before;
          break;
        }
        case 3:
          exclusives.End(id);
          history.all.push_back({History::What::kEnd, id, {}, 0, now});
          std::erase(ids, id);
      }
      // Now, and later though nothing happens.
      for (int64_t at = now; at < now + 60; at += 1 + int64_t(random() % 15)) {
        const auto waiting = history.Waiting(at);
        std::vector<std::pair<uint64_t, int64_t>> expected, got;
        int64_t until = Exclusives::kNever;
        for (const auto &[what, end] : waiting) {
          until = std::min(until, end);
          expected.emplace_back(what.id, end - at);
        }
        exclusives.ForEach(at, [&](uint64_t own, int64_t left) { got.emplace_back(own, left); });
        ASSERT_EQ(got, expected);
        ASSERT_EQ(exclusives.Until(at), until);
        const std::optional<Urgency> least = exclusives.Least(at);
        ASSERT_EQ(least.has_value(), !waiting.empty());
        several += waiting.size() > 1;
        for (int k = 0; k < 5; ++k) {
          const Urgency urgency = draw(6);
          const bool is_held = least && *least < urgency;
          ++(is_held ? held : free);
          ASSERT_EQ(is_held, history.HeldBack(urgency, at)) << urgency.priority << " " << urgency.call;
        }
        // Until then nothing changes; then it does.
        if (until == Exclusives::kNever) continue;
        ASSERT_EQ(exclusives.Least(until - 1), least);
        ASSERT_GT(until, at);
        ASSERT_LT(history.Waiting(until).size(), waiting.size());
      }
    }
  }
  EXPECT_GT(held, 100 * int(cases.count()));
  EXPECT_GT(free, 100 * int(cases.count()));
  EXPECT_GT(several, 30 * int(cases.count()));
  EXPECT_GT(again, int(cases.count())) << "what had waited in vain";
}

// --- In a queue --------------------------------------------------------------------

using Queue = plan::PacketQueue<int, int, uint64_t>;
using Pieces = std::vector<std::tuple<int, uint64_t, uint64_t, bool>>;  // item, offset, size, last

struct Packet {
  uint64_t bytes, enough;
  size_t frames;
  bool before;
};

Packet DrawPacket(std::mt19937_64 &random) {
  return {1 + random() % 60, random() % 2 ? kAll : random() % 40, random() % 5, random() % 4 == 0};
}

Pieces Take(Queue &queue, const Packet &packet) {
  Pieces pieces;
  uint64_t sum = 0;
  const uint64_t taken = queue.Take(
      packet.bytes, packet.frames,
      [&](int item, uint64_t offset, uint64_t size, bool last) {
        pieces.emplace_back(item, offset, size, last);
        sum += size;
      },
      packet.enough, packet.before);
  EXPECT_EQ(taken, sum);
  return pieces;
}

Urgency DrawUrgency(std::mt19937_64 &random) { return {int64_t(random() % 7) - 3, random() % 3}; }

std::optional<Urgency> DrawFloor(std::mt19937_64 &random) {
  return random() % 4 == 0 ? std::nullopt : std::optional(DrawUrgency(random));
}

// What is held back before any of it has been begun is as if it were not there, and is there when it is not held
// back any more.
TEST(PacketQueueHoldTest, WhatIsHeldBackMakesNoDifference) {
  int held = 0, let = 0;
  const Cases cases = casesOf(400);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Urgency floor = DrawUrgency(random);
    Queue queue, without;
    queue.Hold(floor);
    std::vector<uint64_t> bytes, taken;  // by item
    int own = 0;                         // that are held back
    const auto count = [&](const Pieces &pieces) {
      for (const auto &[item, offset, size, last] : pieces) {
        ASSERT_EQ(offset, taken[size_t(item)]);
        taken[size_t(item)] += size;
        ASSERT_EQ(last, taken[size_t(item)] == bytes[size_t(item)]);
      }
    };
    for (int i = 0; i < 60 || !without.empty(); ++i) {
      if (i < 60 && random() % 3 != 0) {
        const Urgency urgency = DrawUrgency(random);
        const auto item = int(bytes.size());
        bytes.push_back(random() % 5 == 0 ? 0 : random() % 100);
        taken.push_back(0);
        const bool whole = random() % 2 == 0;
        queue.Push(urgency, item, bytes.back(), item, whole);
        ++(floor < urgency ? own : let);
        if (!(floor < urgency)) without.Push(urgency, item, bytes.back(), item, whole);
      }
      EXPECT_EQ(queue.idle(), without.empty());
      EXPECT_EQ(without.idle(), without.empty());
      const Packet packet = DrawPacket(random);
      const Pieces pieces = Take(queue, packet);
      ASSERT_EQ(pieces, Take(without, packet));
      count(pieces);
      if (HasFatalFailure()) return;
    }
    EXPECT_TRUE(queue.idle());
    EXPECT_EQ(queue.empty(), own == 0);
    held += own;
    queue.Hold(std::nullopt);
    for (int i = 0; i < 10000 && !queue.empty(); ++i) {
      ASSERT_FALSE(queue.idle());
      count(Take(queue, DrawPacket(random)));
      if (HasFatalFailure()) return;
    }
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(queue.idle());
    EXPECT_EQ(taken, bytes);
  }
  EXPECT_GT(held, 10 * int(cases.count()));
  EXPECT_GT(let, 10 * int(cases.count()));
}

// The messages of a queue, of which each packet is found anew.
class Messages {
 public:
  struct Message {
    Urgency urgency;
    uint64_t bytes, taken = 0;
    bool whole = false;
    bool begun() const { return whole && taken > 0; }
  };
  std::map<int, Message> all;  // by item, which is the order too

  Pieces Take(const Packet &packet, const std::optional<Urgency> &floor) {
    Pieces pieces;
    uint64_t taken = 0;
    std::optional<Urgency> most;
    while (pieces.size() < packet.frames && taken < packet.bytes) {
      const auto next = Next(floor);
      if (next == all.end()) break;
      Message &message = next->second;
      if (pieces.empty() && !packet.before) most = message.urgency;
      uint64_t room = packet.bytes;
      if (most != message.urgency && packet.enough < packet.bytes)
        room = packet.enough > taken ? packet.enough - taken : 0;
      if (room == 0) break;
      const uint64_t size = std::min(room, message.bytes - message.taken);
      const bool last = message.taken + size == message.bytes;
      pieces.emplace_back(next->first, message.taken, size, last);
      message.taken += size;
      taken += size;
      if (last) all.erase(next);
    }
    return pieces;
  }
  // Whether a whole that has been begun is held back.
  bool HoldsBegun(const std::optional<Urgency> &floor) const {
    return std::any_of(all.begin(), all.end(), [&](const auto &of) { return of.second.begun() && floor && *floor < of.second.urgency; });
  }

 private:
  // Of those that are not held back.
  std::map<int, Message>::iterator Next(const std::optional<Urgency> &floor) {
    auto best = all.end(), begun = all.end();
    const auto before = [&](auto a, auto b) {
      return b == all.end() || std::pair(a->second.urgency, a->first) < std::pair(b->second.urgency, b->first);
    };
    for (auto at = all.begin(); at != all.end(); ++at) {
      if (floor && *floor < at->second.urgency) continue;
      if (before(at, best)) best = at;
      if (at->second.begun() && before(at, begun)) begun = at;
    }
    const bool waits = begun != all.end() && best != begun && best->second.bytes >= begun->second.bytes - begun->second.taken;
    return waits ? begun : best;
  }
};

// The floor rises and falls while messages are under way. Returns how often what had been begun was held back.
int RaiseAndLower(uint32_t seed, bool wholes, bool hold_begun) {
  std::mt19937_64 random(seed);
  Queue queue;
  Messages messages;
  std::optional<Urgency> floor;
  int next = 0, held = 0;
  for (int i = 0; i < 100 || !messages.all.empty(); ++i) {
    if (i < 100 && random() % 2 == 0) {
      const Messages::Message message{DrawUrgency(random), random() % 100, 0, wholes && random() % 3 != 0};
      queue.Push(message.urgency, next, message.bytes, next, message.whole);
      messages.all.emplace(next++, message);
    }
    if (random() % 4 == 0) {
      floor = i < 100 ? DrawFloor(random) : std::nullopt;
      if (!hold_begun && messages.HoldsBegun(floor)) floor = std::nullopt;
      queue.Hold(floor);
    }
    held += floor && std::any_of(messages.all.begin(), messages.all.end(), [&](const auto &of) { return of.second.taken > 0 && *floor < of.second.urgency; });
    const Packet packet = DrawPacket(random);
    const Pieces expected = messages.Take(packet, floor);
    EXPECT_EQ(Take(queue, packet), expected);
    EXPECT_EQ(queue.empty(), messages.all.empty());
    // Whether one more piece would come.
    EXPECT_EQ(queue.idle(), Messages(messages).Take({1, kAll, 1, false}, floor).empty());
    std::map<int, uint64_t> lefts, rests;
    queue.ForEach([&](const Urgency &, int, int item, uint64_t left) { lefts[item] = left; });
    for (const auto &[item, message] : messages.all) rests[item] = message.bytes - message.taken;
    EXPECT_EQ(lefts, rests);
    if (::testing::Test::HasFailure()) break;
  }
  return held;
}

TEST(PacketQueueHoldTest, WhatHasBeenBegunIsHeldBackToo) {
  int held = 0;
  const Cases cases = casesOf(300);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    held += RaiseAndLower(seed, /*wholes=*/false, /*hold_begun=*/true);
    RaiseAndLower(seed, /*wholes=*/true, /*hold_begun=*/false);
  }
  EXPECT_GT(held, int(cases.count()));
}

// Of wholes, it does not stand in the way of what is longer than its rest and not held back.
TEST(PacketQueueHoldTest, AWholeThatHasBeenBegunDoesNotStandInTheWay) {
  const Cases cases = casesOf(300);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RaiseAndLower(seed, /*wholes=*/true, /*hold_begun=*/true);
  }
}

}  // namespace
}  // namespace commsched::exclusive
