// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two ends of a connection without threads and bytes: whatever is posted when, and
// however long things take, every message meets its receive, and no end keeps more
// than it has room for.
#include "runtime/core/matcher.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace commsched {
namespace {

using runtime::MessageTag;
using runtime::core::Control;
using runtime::core::Controls;
using runtime::core::kMessageCost;
using runtime::core::Matcher;
using runtime::core::MessageLimits;

// A message is its number; what is kept of it, how many bytes.
using End = Matcher<uint32_t, uint32_t, size_t>;

struct Part {
  MessageTag tag;
  uint32_t message = 0;
  size_t total = 0, offset = 0, size = 0;
};

class Pair {
 public:
  // `wrong`: the receive of one message has another size.
  Pair(uint64_t seed, uint32_t messages, bool wrong = false) : random_(seed) {
    for (int e : {0, 1}) {
      limits_[e].eager = random_() % 5 == 0 ? 0 : random_() % 2000;
      limits_[e].room = random_() % 3 == 0 ? 0 : random_() % 6000;
      ends_[e] = std::make_unique<End>(limits_[e]);
    }
    for (uint32_t m = 0; m < messages; ++m) {
      const size_t bytes = random_() % 4 == 0 ? 0 : random_() % 3000;
      sizes_.push_back(bytes);
      senders_.push_back(int(random_() % 2));
    }
    receive_sizes_ = sizes_;
    if (!wrong) return;
    wrong_ = uint32_t(random_() % messages);
    while (receive_sizes_[*wrong_] == sizes_[*wrong_])
      receive_sizes_[*wrong_] = random_() % 4 == 0 ? 0 : random_() % 3000;
  }

  void Run() {
    const uint32_t n = uint32_t(sizes_.size());
    uint32_t next_send = 0, next_receive = 0;
    // Receives are posted in another order.
    std::vector<uint32_t> receives(n);
    for (uint32_t m = 0; m < n; ++m) receives[m] = m;
    const size_t window = 1 + random_() % 8;
    for (size_t i = 0; i < n; ++i)
      std::swap(receives[i], receives[std::min<size_t>(n - 1, i + random_() % window)]);
    const bool late = random_() % 2 == 0;  // receives come only when nothing else is left
    for (;;) {
      std::vector<int> choices;
      if (next_send < n) choices.push_back(0);
      if (next_receive < n && !(late && (next_send < n))) choices.push_back(1);
      for (int e : {0, 1}) {
        if (!going_[e].empty()) choices.push_back(2 + e);
        if (!line_[e].empty() && open_[1 - e]) choices.push_back(4 + e);
        if (!open_[e]) choices.push_back(6 + e);
      }
      if (choices.empty()) break;
      const int choice = choices[random_() % choices.size()];
      if (choice == 0) {
        Send(next_send++);
      } else if (choice == 1) {
        Receive(receives[next_receive++]);
      } else if (choice < 4) {
        Write(choice - 2);
      } else if (choice < 6) {
        Read(choice - 4);
      } else {
        Open(choice - 6);
      }
      if (told_ || ::testing::Test::HasFailure()) return;
      CheckRoom();
    }
    EXPECT_FALSE(wrong_) << "nobody has said that the sizes differ";
    EXPECT_EQ(received_.size(), n) << "something waits for ever";
    for (int e : {0, 1}) EXPECT_TRUE(ends_[e]->idle());
  }

 private:
  MessageTag Tag(uint32_t m) const { return {m / 4, m % 4, 0, 0}; }
  int Sender(uint32_t m) const { return senders_[m]; }
  // An error is that of the message with two sizes, and has both.
  bool Well(const absl::Status &status) {
    if (status.ok()) return true;
    if (wrong_)
      EXPECT_EQ(status.message(), runtime::core::WrongSize(Tag(*wrong_), receive_sizes_[*wrong_],
                                                           sizes_[*wrong_]));
    else
      ADD_FAILURE() << status;
    told_ = true;
    return false;
  }

  void Tell(int from, Controls *controls) {
    for (const Control &control : *controls) line_[from].push_back(control);
    controls->clear();
  }
  void Go(int e, const End::Going &going) {
    EXPECT_TRUE(gone_.insert(going.item).second) << "twice";
    EXPECT_EQ(going.tag, Tag(going.item));
    EXPECT_EQ(going.note, going.granted ? 7 * sizes_[going.item] : 0);
    going_[e].push_back({going.tag, going.item, sizes_[going.item], 0, 0});
  }
  void Open(int e) {
    open_[e] = true;
    std::vector<End::Going> going;
    Controls controls;
    ends_[e]->Open(limits_[1 - e], &going, &controls);
    Tell(e, &controls);
    for (const End::Going &g : going) Go(e, g);
  }
  void Send(uint32_t m) {
    Controls controls;
    auto going = ends_[Sender(m)]->Send(Tag(m), sizes_[m], m, &controls);
    if (!Well(going.status())) return;
    Tell(Sender(m), &controls);
    if (going->has_value()) Go(Sender(m), **going);
  }
  void Receive(uint32_t m) {
    if (asked_for_.contains(m)) return;
    const int e = 1 - Sender(m);
    Controls controls;
    auto here = ends_[e]->Receive(Tag(m), receive_sizes_[m], m, &controls);
    if (!Well(here.status())) return;
    Tell(e, &controls);
    posted_.insert(m);
    if (here->kept.has_value()) {
      EXPECT_EQ(*here->kept, came_whole_.contains(m) ? 0 : taken_[m]);
      EXPECT_EQ(here->whole, taken_[m] == sizes_[m]);
      kept_.erase(m);
    } else {
      EXPECT_FALSE(here->whole);
    }
    EXPECT_TRUE(!here->whole || received_.insert(m).second);
  }
  // Any of what may go, in pieces.
  void Write(int e) {
    std::vector<Part> &parts = going_[e];
    std::swap(parts[random_() % parts.size()], parts.back());
    Part &part = parts.back();
    part.offset += part.size;
    part.size = part.total - part.offset;
    if (random_() % 2 == 0 && part.size > 1) part.size = 1 + random_() % (part.size - 1);
    line_[e].push_back(part);
    if (part.offset + part.size < part.total) return;
    ends_[e]->Sent(part.tag);
    parts.pop_back();
  }
  // Nothing is kept of what came so, but that it did.
  void ReadWhole(int e, const Part &part) {
    Controls controls;
    const uint32_t m = part.message;
    auto receive = ends_[e]->TakeWhole(part.tag, part.total, &controls);
    if (!Well(receive.status())) return;
    Tell(e, &controls);
    taken_[m] += part.size;
    EXPECT_EQ(receive->has_value(), posted_.contains(m));
    if (!receive->has_value()) {
      kept_.insert(m);
      came_whole_.insert(m);
      return;
    }
    EXPECT_EQ(**receive, m);
    EXPECT_TRUE(received_.insert(m).second);
  }
  // The receiver has asked for it, instead of posting a receive.
  void TakeUnposted(int e, const Part &part) {
    Controls controls;
    EXPECT_TRUE(ends_[e]->TakeUnposted(part.tag, part.total, &controls));
    Tell(e, &controls);
    EXPECT_TRUE(asked_for_.insert(part.message).second);
    EXPECT_TRUE(received_.insert(part.message).second);
  }
  void Read(int from) {
    const int e = 1 - from;
    const auto item = line_[from].front();
    line_[from].pop_front();
    Controls controls;
    if (const auto *part = std::get_if<Part>(&item)) {
      if (part->size == part->total && receive_sizes_[part->message] == part->total &&
          !posted_.contains(part->message) && random_() % 3 == 0)
        return TakeUnposted(e, *part);
      if (part->size == part->total && random_() % 2 == 0) return ReadWhole(e, *part);
      auto place = ends_[e]->Take(part->tag, part->total, part->offset, part->size, &controls);
      if (!Well(place.status())) return;
      Tell(e, &controls);
      const uint32_t m = part->message;
      taken_[m] += part->size;
      EXPECT_EQ(place->receive != nullptr, posted_.contains(m));
      if (place->kept != nullptr) {
        *place->kept += part->size;
        kept_.insert(m);
        return;
      }
      EXPECT_EQ(*place->receive, m);
      EXPECT_EQ(place->last, taken_[m] == sizes_[m]);
      if (!place->last) return;
      EXPECT_EQ(ends_[e]->End(part->tag), m);
      EXPECT_TRUE(received_.insert(m).second);
      return;
    }
    Control control = std::get<Control>(item);
    switch (control.kind) {
      case Control::kAnnounce:
        if (!Well(ends_[e]->TakeAnnounce(control.tag, control.bytes, &controls))) return;
        Tell(e, &controls);
        return;
      case Control::kCredit:
        ASSERT_TRUE(ends_[e]->TakeCredit(control.bytes).ok());
        return;
      case Control::kGrant: {
        control.note = 7 * control.bytes;
        auto going = ends_[e]->TakeGrant(control);
        if (!Well(going.status())) return;
        if (going->has_value()) Go(e, **going);
      }
    }
  }
  void CheckRoom() {
    size_t used[2] = {0, 0};
    for (uint32_t m : kept_) used[1 - Sender(m)] += sizes_[m] + kMessageCost;
    for (int e : {0, 1}) EXPECT_LE(used[e], limits_[e].room);
  }

  std::mt19937_64 random_;
  MessageLimits limits_[2];
  std::unique_ptr<End> ends_[2];
  bool open_[2] = {false, false};
  std::vector<size_t> sizes_, receive_sizes_;
  std::optional<uint32_t> wrong_;
  bool told_ = false;
  std::vector<int> senders_;
  std::vector<Part> going_[2];
  std::deque<std::variant<Control, Part>> line_[2];  // by sender
  std::map<uint32_t, size_t> taken_;
  std::set<uint32_t> gone_, posted_, received_, kept_, came_whole_, asked_for_;
};

TEST(MatcherTest, EveryMessageMeetsItsReceiveAndNothingExceedsTheRoom) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Pair(seed, 1 + uint32_t(seed % 40)).Run();
    if (HasFailure()) return;
  }
}

TEST(MatcherTest, WhoeverSeesThatSizesDifferSaysBoth) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Pair(seed, 1 + uint32_t(seed % 40), true).Run();
    if (HasFailure()) return;
  }
}

// --- What is not allowed ----------------------------------------------------

constexpr MessageLimits kLimits{1000, 3000};

struct Open {
  End end{kLimits};
  Controls controls;
  Open() {
    std::vector<End::Going> going;
    end.Open(kLimits, &going, &controls);
  }
};

std::string Message(const absl::Status &status) { return std::string(status.message()); }

TEST(MatcherTest, ATagIsUsedOnce) {
  Open o;
  ASSERT_TRUE(o.end.Send({1}, 10, 1, &o.controls).ok());
  EXPECT_EQ(o.end.Send({1}, 10, 1, &o.controls).status().code(),
            absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(o.end.Receive({1}, 10, 1, &o.controls).ok());
  EXPECT_EQ(o.end.Receive({1}, 10, 1, &o.controls).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST(MatcherTest, SizesMustMatch) {
  Open o;
  ASSERT_TRUE(o.end.Receive({1}, 10, 1, &o.controls).ok());
  EXPECT_EQ(Message(o.end.Take({1}, 11, 0, 11, &o.controls).status()),
            "size of message (step 1, key 0, phase 0, round 0) must match the receive's 10 "
            "bytes, got: 11");
  ASSERT_TRUE(o.end.Take({2}, 5, 0, 5, &o.controls).ok());
  EXPECT_FALSE(o.end.Receive({2}, 6, 1, &o.controls).ok());
  ASSERT_TRUE(o.end.TakeAnnounce({3}, 5, &o.controls).ok());
  EXPECT_FALSE(o.end.Receive({3}, 6, 1, &o.controls).ok());
  ASSERT_TRUE(o.end.Receive({4}, 6, 1, &o.controls).ok());
  EXPECT_FALSE(o.end.TakeAnnounce({4}, 5, &o.controls).ok());
  ASSERT_TRUE(o.end.Send({5}, 2000, 1, &o.controls).ok());
  EXPECT_FALSE(o.end.TakeGrant({Control::kGrant, {5}, 2001}).ok());
  ASSERT_TRUE(o.end.TakeGrant({Control::kGrant, {6}, 2001}).ok());
  EXPECT_FALSE(o.end.Send({6}, 2000, 1, &o.controls).ok());
}

TEST(MatcherTest, PartsComeInOrderAndOnce) {
  Open o;
  EXPECT_EQ(Message(o.end.Take({1}, 10, 4, 6, &o.controls).status()),
            "got a part of message (step 1, key 0, phase 0, round 0), of which the first one "
            "is missing");
  ASSERT_TRUE(o.end.Take({1}, 10, 0, 4, &o.controls).ok());
  EXPECT_FALSE(o.end.Take({1}, 10, 5, 5, &o.controls).ok());
  EXPECT_FALSE(o.end.Take({1}, 10, 4, 7, &o.controls).ok());
  EXPECT_FALSE(o.end.Take({1}, 11, 4, 7, &o.controls).ok());
  ASSERT_TRUE(o.end.Take({1}, 10, 4, 6, &o.controls).ok());
  EXPECT_EQ(Message(o.end.Take({1}, 10, 0, 10, &o.controls).status()),
            "got message (step 1, key 0, phase 0, round 0) twice");
  ASSERT_TRUE(o.end.Receive({2}, 10, 1, &o.controls).ok());
  EXPECT_FALSE(o.end.Take({2}, 10, 1, 9, &o.controls).ok());
}

TEST(MatcherTest, NobodySendsMoreThanThereIsRoomFor) {
  Open o;
  EXPECT_FALSE(o.end.Take({1}, 1001, 0, 1001, &o.controls).ok());  // needs a grant
  ASSERT_TRUE(o.end.Take({2}, 1000, 0, 1000, &o.controls).ok());
  ASSERT_TRUE(o.end.Take({3}, 1000, 0, 1000, &o.controls).ok());
  EXPECT_FALSE(o.end.Take({4}, 1000, 0, 1000, &o.controls).ok());
  EXPECT_FALSE(o.end.TakeCredit(1).ok());
  ASSERT_TRUE(o.end.Send({1}, 100, 1, &o.controls).ok());
  EXPECT_FALSE(o.end.TakeCredit(357).ok());
  EXPECT_TRUE(o.end.TakeCredit(356).ok());
}

TEST(MatcherTest, GrantsAndAnnouncementsComeOnce) {
  Open o;
  ASSERT_TRUE(o.end.TakeGrant({Control::kGrant, {1}, 5}).ok());
  EXPECT_FALSE(o.end.TakeGrant({Control::kGrant, {1}, 5}).ok());
  ASSERT_TRUE(o.end.Send({2}, 5, 1, &o.controls).ok());  // has gone
  EXPECT_FALSE(o.end.TakeGrant({Control::kGrant, {2}, 5}).ok());
  ASSERT_TRUE(o.end.TakeAnnounce({3}, 5, &o.controls).ok());
  EXPECT_FALSE(o.end.TakeAnnounce({3}, 5, &o.controls).ok());
  ASSERT_TRUE(o.end.Receive({4}, 5, 1, &o.controls).ok());
  ASSERT_TRUE(o.end.TakeAnnounce({4}, 5, &o.controls).ok());
  EXPECT_FALSE(o.end.TakeAnnounce({4}, 5, &o.controls).ok());
  ASSERT_TRUE(o.end.Receive({5}, 2000, 1, &o.controls).ok());
  EXPECT_TRUE(o.end.TakeAnnounce({5}, 2000, &o.controls).ok());
}

// What only costs time if it is forgotten.
TEST(MatcherTest, NobodyWaitsForARoundTripThatIsNotNeeded) {
  End end{kLimits};
  Controls controls;
  ASSERT_FALSE(end.Send({1}, 10, 1, &controls)->has_value());
  ASSERT_FALSE(end.Send({2}, 2000, 2, &controls)->has_value());
  std::vector<End::Going> going;
  end.Open(kLimits, &going, &controls);
  ASSERT_EQ(going.size(), 1u);  // the short one
  EXPECT_EQ(going[0].item, 1u);
  controls.clear();
  // A long receive is granted of its own accord.
  ASSERT_TRUE(end.Receive({3}, 2000, 3, &controls).ok());
  ASSERT_EQ(controls.size(), 1u);
  EXPECT_EQ(controls[0].kind, Control::kGrant);
  // Room comes back, also of what finds its receive.
  controls.clear();
  size_t used = 0;
  for (uint64_t m = 10; m < 40; ++m) {
    const auto receive = [&] { return end.Receive({m}, 500, 1, &controls).ok(); };
    ASSERT_TRUE(m % 2 == 1 || receive());
    ASSERT_TRUE(end.Take({m}, 500, 0, 500, &controls).ok());
    ASSERT_TRUE(m % 2 == 0 || receive());
    used += 500 + kMessageCost;
    for (const Control &control : controls)
      if (control.kind == Control::kCredit) used -= control.bytes;
    controls.clear();
    EXPECT_LT(used, kLimits.room / 4);
  }
}

TEST(MatcherTest, GivesBackWhatWaitsInOrder) {
  Open o;
  for (uint32_t m : {3, 1, 2}) {
    ASSERT_TRUE(o.end.Send({m}, 2000, m, &o.controls).ok());
    ASSERT_TRUE(o.end.Receive({m + 10}, 5, m, &o.controls).ok());
  }
  ASSERT_TRUE(o.end.Send({4}, 5, 4, &o.controls)->has_value());
  ASSERT_TRUE(o.end.Take({20}, 5, 0, 5, &o.controls).ok());
  ASSERT_TRUE(o.end.Take({21}, 5, 0, 4, &o.controls).ok());
  std::vector<uint32_t> sends, receives;
  o.end.Clear(/*keep=*/true, &sends, &receives);
  EXPECT_EQ(sends, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(receives, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_TRUE(o.end.idle());
  EXPECT_TRUE(o.end.Receive({20}, 5, 1, &o.controls)->whole);
  EXPECT_FALSE(o.end.Receive({21}, 5, 1, &o.controls)->kept.has_value());
}

}  // namespace
}  // namespace commsched
