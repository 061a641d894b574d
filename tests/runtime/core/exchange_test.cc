// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// core::Exchange and core::LinkQueue as the ranks of a job without threads: messages
// take any time and overtake each other, and memory is read and written at any
// moment at which a transport may do that. Every rank gets the sum, whatever the seed.
#include "runtime/core/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "runtime/core/link_queue.h"
#include "runtime/loading/exchange.h"
#include "tests/runtime/all_to_all.h"
#include "tests/runtime/plan_builder.h"

namespace commsched {
namespace {

using runtime::PhaseProgram;
using runtime::Round;
using runtime::core::Exchange;
using runtime::core::LinkQueue;
using runtime::core::Place;
using runtime::core::Posted;

// An exchange over all ranks, cut into slices; elements are int64.
class Job {
 public:
  Job(std::vector<plan::Phase> phases, int nodes, int64_t elements, uint32_t slices,
      uint64_t credit, uint64_t seed)
      : phases_(std::move(phases)), slices_(slices), credit_(credit), random_(seed) {
    const runtime::TensorInfo type{
        ops::Element::kI64, {elements}, elements, size_t(elements) * sizeof(int64_t)};
    for (int r = 0; r < nodes; ++r) {
      ranks_.emplace_back();
      Rank &rank = ranks_.back();
      for (const plan::Phase &phase : phases_) {
        auto rounds = runtime::EvaluatePhase(phase, type, r, runtime::RankGroup(nodes));
        EXPECT_TRUE(rounds.ok()) << rounds.status();
        rank.rounds.push_back(*std::move(rounds));
      }
      for (int64_t i = 0; i < elements; ++i) rank.values.push_back(int64_t(random_() >> 8));
      rank.links.resize(size_t(nodes));
      for (uint32_t s = 0; s < slices; ++s) {
        auto slice = std::make_unique<Slice>();
        *slice = {.job = this, .rank = r, .number = s};
        rank.slices.push_back(std::move(slice));
      }
    }
  }

  const std::vector<int64_t> &values(int rank) const { return ranks_[size_t(rank)].values; }

  // Returns false if nothing is under way before all are done.
  bool Run() {
    for (Rank &rank : ranks_)
      for (auto &slice : rank.slices)
        // Ranks and slices begin at any time.
        Later([s = slice.get()] { s->exchange.Begin(*s); });
    while (!events_.empty()) {
      std::swap(events_[random_() % events_.size()], events_.back());
      auto event = std::move(events_.back());
      events_.pop_back();
      ++now_;
      event();
      Pump();
    }
    for (const Rank &rank : ranks_)
      for (const auto &slice : rank.slices)
        if (!slice->done) return false;
    return true;
  }

 private:
  using Tag = std::tuple<int, uint32_t, uint32_t, uint32_t>;  // sender, phase, round, slice
  struct Slice {
    Job *job = nullptr;
    int rank = 0;
    uint32_t number = 0;
    Exchange exchange = {};
    std::vector<int64_t> staging = {};
    bool done = false;

    uint32_t phases() const { return uint32_t(job->phases_.size()); }
    uint32_t rounds(uint32_t phase) const { return job->phases_[phase].rounds(); }
    Round RoundAt(const Place &at) const {
      return runtime::SliceOf(job->ranks_[size_t(rank)].rounds[at.phase][at.round],
                              sizeof(int64_t), number, job->slices_);
    }
    Posted Receive(const Place &at, const Round &round, bool staged) {
      return job->Post(this, at, round, staged);
    }
    bool Lands(const Round &received, const Round &sent) const {
      return runtime::core::LandsOn(received, sent);
    }
    void Send(const Place &at, const Round &round) {
      job->ranks_[size_t(rank)].links[size_t(round.send_peer)].Push(
          {{int32_t(at.phase), 0}, 0, at.index, number}, round.send_bytes, this);
    }
    void Take(const Place &at, const Round &round, bool staged) {
      if (staged) job->Combine(this, at, round, 0, staging);
    }
    void Done() {
      EXPECT_FALSE(done);
      done = true;
    }
  };
  struct Rank {
    std::vector<std::vector<Round>> rounds;  // by phase
    std::vector<int64_t> values;
    std::vector<LinkQueue<Slice *, size_t>> links;  // by peer
    std::vector<std::unique_ptr<Slice>> slices;
    std::map<Tag, std::vector<int64_t>> here;  // messages
    std::map<Tag, std::tuple<Slice *, Place, Round, bool>> posted;
  };

  void Later(std::function<void()> event) { events_.push_back(std::move(event)); }

  void Combine(Slice *slice, const Place &at, const Round &round, size_t from,
               const std::vector<int64_t> &values) {
    int64_t *target = ranks_[size_t(slice->rank)].values.data() +
                      round.recv_begin / sizeof(int64_t) + from;
    for (size_t i = 0; i < values.size(); ++i)
      if (phases_[at.phase].combine() == plan::SUM)
        target[i] = int64_t(uint64_t(target[i]) + uint64_t(values[i]));
      else
        target[i] = values[i];
  }

  Posted Post(Slice *slice, const Place &at, const Round &round, bool staged) {
    Rank &rank = ranks_[size_t(slice->rank)];
    const Tag tag{round.recv_peer, at.phase, at.round, slice->number};
    auto it = rank.here.find(tag);
    if (it == rank.here.end() || random_() % 2 == 0) {
      EXPECT_TRUE(rank.posted.try_emplace(tag, slice, at, round, staged).second);
      if (it != rank.here.end()) Arrive(slice->rank, tag);
      return Posted::kWaits;
    }
    if (staged)
      slice->staging = it->second;
    else
      Combine(slice, at, round, 0, it->second);
    rank.here.erase(it);
    return Posted::kHere;
  }

  // A message with a receive: it is written in two pieces, at any time.
  void Arrive(int to, const Tag &tag) {
    Later([this, to, tag] {
      auto [slice, at, round, staged] = ranks_[size_t(to)].posted.at(tag);
      const std::vector<int64_t> &all = ranks_[size_t(to)].here.at(tag);
      const size_t cut = random_() % (all.size() + 1);
      const std::vector<int64_t> first(all.begin(), all.begin() + long(cut));
      if (staged)
        slice->staging = first;
      else
        Combine(slice, at, round, 0, first);
      Later([this, to, tag, cut] {
        auto [slice, at, round, staged] = ranks_[size_t(to)].posted.at(tag);
        const std::vector<int64_t> &all = ranks_[size_t(to)].here.at(tag);
        const std::vector<int64_t> rest(all.begin() + long(cut), all.end());
        if (staged)
          slice->staging.insert(slice->staging.end(), rest.begin(), rest.end());
        else
          Combine(slice, at, round, cut, rest);
        ranks_[size_t(to)].posted.erase(tag);
        ranks_[size_t(to)].here.erase(tag);
        slice->exchange.Received(*slice);
      });
    });
  }

  // What links hand over is read in two pieces, and is with the peer and done at any
  // time after that.
  void Pump() {
    for (Rank &rank : ranks_)
      for (size_t peer = 0; peer < rank.links.size(); ++peer) {
        Slice *slice;
        while (rank.links[peer].Next(credit_, now_, kPatience, &slice)) {
          const Place at = slice->exchange.send();
          auto message = std::make_shared<std::vector<int64_t>>();
          Read(slice, at, message, int(peer));
        }
        // Somebody looks at the link when its patience is over.
        if (!rank.links[peer].empty() && !looks_) {
          looks_ = true;
          Later([this] { looks_ = false; });
        }
      }
  }
  void Read(Slice *slice, const Place &at, std::shared_ptr<std::vector<int64_t>> message,
            int peer) {
    Later([this, slice, at, message, peer] {
      const Round round = slice->RoundAt(at);
      const size_t all = round.send_bytes / sizeof(int64_t);
      const size_t until =
          message->size() + std::min(all - message->size(), 1 + random_() % (all + 1));
      const int64_t *source =
          ranks_[size_t(slice->rank)].values.data() + round.send_begin / sizeof(int64_t);
      message->insert(message->end(), source + message->size(), source + until);
      if (until < all) return Read(slice, at, message, peer);
      const Tag tag{slice->rank, at.phase, at.round, slice->number};
      Later([this, tag, message, peer] {
        Rank &to = ranks_[size_t(peer)];
        EXPECT_TRUE(to.here.try_emplace(tag, *message).second);
        if (to.posted.contains(tag)) Arrive(peer, tag);
      });
      Later([this, slice, peer, phase = at.phase, bytes = round.send_bytes] {
        ranks_[size_t(slice->rank)].links[size_t(peer)].Completed({int32_t(phase), 0}, bytes, now_, kPatience);
        slice->exchange.Sent(*slice);
      });
    });
  }

  static constexpr runtime::Time kPatience = 20;
  std::vector<plan::Phase> phases_;
  const uint32_t slices_;
  const uint64_t credit_;
  std::mt19937_64 random_;
  std::deque<Rank> ranks_;
  std::vector<std::function<void()>> events_;
  bool looks_ = false;
  runtime::Time now_ = 0;
};

// The values before, for the sum.
std::vector<int64_t> Sum(const Job &job, int nodes, int64_t elements) {
  std::vector<int64_t> sum(size_t(elements), 0);
  for (int r = 0; r < nodes; ++r)
    for (int64_t i = 0; i < elements; ++i)
      sum[size_t(i)] = int64_t(uint64_t(sum[size_t(i)]) + uint64_t(job.values(r)[size_t(i)]));
  return sum;
}

TEST(ExchangeMachineTest, EveryRankGetsTheSumInAnyOrderOfEvents) {
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    std::mt19937_64 random(seed);
    int nodes = 1 + int(random() % 7);
    const int64_t elements = 1 + int64_t(random() % 40);
    uint32_t slices = 1;
    std::vector<plan::Phase> phases;
    switch (random() % 3) {
      case 0:
        phases = testing::RingAllReduce(nodes, plan::SUM, 0);
        slices = 1 + uint32_t(random() % 3);
        break;
      case 1:
        phases = testing::HalvingAllReduce(nodes, plan::SUM, 0);
        break;
      default:
        nodes = 1 << (random() % 4);
        phases = testing::DoublingAllReduce(nodes, plan::SUM);
        if (nodes <= 2) slices = 1 + uint32_t(random() % 3);
    }
    const uint64_t credit = random() % 3 == 0 ? 0 : 8 * (random() % 30);
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", " << nodes << " ranks");
    Job job(phases, nodes, elements, slices, credit, seed);
    const std::vector<int64_t> sum = Sum(job, nodes, elements);
    ASSERT_TRUE(job.Run()) << "it does not end";
    for (int r = 0; r < nodes; ++r) ASSERT_EQ(job.values(r), sum) << "rank " << r;
  }
}

TEST(ExchangeMachineTest, EveryRankGetsItsPartsOfAllOthers) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    const int nodes = 2 + int(random() % 5), part = 1 + int(random() % 4);
    const int64_t elements = 2 * nodes * part;
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Job job({testing::AllToAll(nodes)}, nodes, elements, 1 + uint32_t(random() % 2),
            random() % 2 == 0 ? 0 : 16, seed);
    std::vector<std::vector<int64_t>> before;
    for (int r = 0; r < nodes; ++r) before.push_back(job.values(r));
    ASSERT_TRUE(job.Run()) << "it does not end";
    for (int r = 0; r < nodes; ++r)
      for (int64_t i = 0; i < elements; ++i) {
        const int64_t sender = i / part - nodes;
        const int64_t want = sender < 0 || sender == r
                                 ? before[size_t(r)][size_t(i)]
                                 : before[size_t(sender)][size_t(r * part + i % part)];
        ASSERT_EQ(job.values(r)[size_t(i)], want) << "rank " << r << ", element " << i;
      }
  }
}

// Two halves in turn: what a round sends is where the next one's message lands, and no
// peer waits for it to be sent.
plan::Phase PassOn(int nodes, uint32_t rounds, bool sum) {
  using testing::operator+, testing::operator%;
  plan::Phase phase;
  phase.set_chunks(2);
  phase.set_rounds(rounds);
  if (sum) phase.set_combine(plan::SUM);
  *phase.mutable_send()->mutable_begin() = testing::RoundNumber() % 2;
  *phase.mutable_send()->mutable_peer() = (testing::Rank() + testing::Constant(1)) % nodes;
  *phase.mutable_recv()->mutable_begin() =
      (testing::RoundNumber() + testing::Constant(1)) % 2;
  *phase.mutable_recv()->mutable_peer() = (testing::Rank() + testing::Constant(-1)) % nodes;
  for (plan::Side *side : {phase.mutable_send(), phase.mutable_recv()})
    *side->mutable_count() = testing::Constant(1);
  return phase;
}

TEST(ExchangeMachineTest, WhatIsStillToBeSentIsNotOverwritten) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    const int nodes = 2 + int(random() % 4);
    const uint32_t rounds = 1 + uint32_t(random() % 8);
    const int64_t part = 1 + int64_t(random() % 6);
    const bool sum = random() % 2 == 0;
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Job job({PassOn(nodes, rounds, sum)}, nodes, 2 * part, 1 + uint32_t(random() % 2),
            random() % 2 == 0 ? 0 : 16, seed);
    std::vector<std::vector<int64_t>> values;
    for (int r = 0; r < nodes; ++r) values.push_back(job.values(r));
    for (uint32_t k = 0; k < rounds; ++k) {
      const std::vector<std::vector<int64_t>> before = values;
      for (int r = 0; r < nodes; ++r)
        for (int64_t i = 0; i < part; ++i) {
          const int64_t got = before[size_t((r + nodes - 1) % nodes)][size_t(k % 2 * part + i)];
          int64_t &to = values[size_t(r)][size_t((k + 1) % 2 * part + i)];
          to = sum ? int64_t(uint64_t(to) + uint64_t(got)) : got;
        }
    }
    ASSERT_TRUE(job.Run()) << "it does not end";
    for (int r = 0; r < nodes; ++r) ASSERT_EQ(job.values(r), values[size_t(r)]) << "rank " << r;
  }
}

// --- The queue of a link ----------------------------------------------------

TEST(LinkQueueTest, GivesTheMostUrgentFirstAndKeepsTheCredit) {
  size_t overtakes = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const uint64_t credit = random() % 4 == 0 ? 0 : 1 + random() % 60;
    constexpr runtime::Time kPatience = 10;
    LinkQueue<int, uint64_t> queue;
    struct Waiting {
      std::tuple<int32_t, uint64_t, uint64_t, uint32_t, uint32_t> order;
      uint64_t bytes;
      int item;
    };
    const auto urgency = [](const Waiting &w) { return std::pair(std::get<0>(w.order), std::get<1>(w.order)); };
    std::vector<Waiting> waiting, flying;
    runtime::Time now = 0, moved = -kPatience;
    for (int i = 0; i < 300; ++i) {
      now += int64_t(random() % 4);
      const Waiting next{{int32_t(random() % 3) - 1, random() % 3, random() % 3,
                          uint32_t(random() % 3), uint32_t(i)},
                         random() % 40,
                         i};
      if (random() % 2 == 0) {
        waiting.push_back(next);
        const auto [priority, call, exchange, round, slice] = next.order;
        queue.Push({{priority, call}, exchange, round, slice}, next.bytes, next.item);
      }
      int item = -1;
      const bool given = queue.Next(credit, now, kPatience, &item);
      auto first = std::min_element(
          waiting.begin(), waiting.end(),
          [](const Waiting &a, const Waiting &b) { return a.order < b.order; });
      // What it does not overtake.
      uint64_t in_flight = 0, before = 0;
      for (const Waiting &f : flying)
        if (first != waiting.end() && urgency(f) <= urgency(*first)) in_flight += f.bytes, ++before;
      if (first == waiting.end()) {
        EXPECT_FALSE(given);
      } else {
        const bool may = credit == 0 || before == 0 ||
                         in_flight + first->bytes <= credit || now - moved >= kPatience;
        overtakes += given && credit != 0 && before < flying.size();
        ASSERT_EQ(given, may);
        if (given) {
          ASSERT_EQ(item, first->item);
          flying.push_back(*first);
          waiting.erase(first);
          moved = now;
        }
      }
      if (!flying.empty() && random() % 3 == 0) {
        std::swap(flying[random() % flying.size()], flying.back());
        const auto [priority, call] = urgency(flying.back());
        queue.Completed({priority, call}, flying.back().bytes, now, kPatience);
        flying.pop_back();
        moved = now;
      }
      ASSERT_EQ(queue.empty(), waiting.empty());
    }
  }
  EXPECT_GT(overtakes, 100u);
}

}  // namespace
}  // namespace commsched
