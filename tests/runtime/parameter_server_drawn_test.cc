// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn numbers of trainers, which end after drawn steps and push in drawn orders, to a
// synchronous server that is saved and restored at drawn moments, and pull the newest value or
// the one before it at others: values bit for bit, and no message is looked at once the server
// has let go of it. Blocks are updated apart, together, or share messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/cases.h"
#include "tests/runtime/single_server.h"

namespace commsched {
namespace {

using namespace testing::single_server;

// Messages whose bytes are no numbers any more once nobody has them.
class Messages {
 public:
  SharedBytes Make(const Floats &values) {
    auto bytes = std::make_shared<Floats>(values);
    memory_.push_back(bytes);
    return {testing::BytesOf(*bytes), std::shared_ptr<const void>(bytes.get(), [bytes](const void *) {
              std::fill(bytes->begin(), bytes->end(), std::numeric_limits<float>::quiet_NaN());
            })};
  }

 private:
  std::vector<std::shared_ptr<Floats>> memory_;
};

class Job {
 public:
  Job(uint32_t seed, std::string path) : random_(seed), path_(std::move(path)) {
    plan_.trainers = 1 + int(Draw(4));
    const size_t kind = Draw(3);
    plan_.together = kind == 1;
    plan_.fused = kind == 2;
    if (!plan_.fused) blocks_.push_back(kB);
    for (int t = 0; t < plan_.trainers; ++t) trainers_.push_back({.steps = int(Draw(7))});
    Train();
    server_ = std::make_unique<Server>(plan_);
    server_->Start();
  }

  void Run() {
    while (true) {
      std::vector<int> left;
      for (int t = 0; t < plan_.trainers; ++t)
        if (!trainers_[size_t(t)].finished) left.push_back(t);
      if (left.empty()) break;
      const int t = left[Draw(left.size())];
      Move(t, &trainers_[size_t(t)]);
      if (::testing::Test::HasFailure()) return;
      // A server that is saved waits until its blocks have had as many updates.
      if (Draw(6) == 0 && Updates(kW) == Updates(blocks_.back())) Restart();
      if (Draw(3) == 0) PullSomething();
      if (::testing::Test::HasFailure()) return;
    }
    ASSERT_TRUE((*server_)->Wait().ok());
    for (uint32_t b : blocks_)
      EXPECT_EQ(*server_->Pull(0, b, kFinal), ValueOf(b, int(references_.size()) - 1));
  }

 private:
  static constexpr int kFinal = -1;
  struct Trainer {
    int steps;
    int next[2] = {0, 0};  // by block
    bool finished = false;
  };

  // What plain loops make, by step.
  void Train() {
    references_.emplace_back();
    for (int step = 0;; ++step) {
      std::vector<int> there;
      for (int t = 0; t < plan_.trainers; ++t)
        if (trainers_[size_t(t)].steps > step) there.push_back(t);
      if (there.empty()) return;
      references_.push_back(references_.back());
      references_.back().Step(step, there);
    }
  }

  Floats ValueOf(uint32_t block, int version) const {
    const Reference &reference = references_[size_t(version)];
    if (block == kB) return reference.b;
    Floats values = reference.w;
    if (plan_.fused) values.insert(values.end(), reference.b.begin(), reference.b.end());
    return values;
  }

  // The newest version of a block that what has been pushed makes, and the one before, which is
  // there unless the server has begun again since.
  void PullSomething() {
    const uint32_t b = blocks_[Draw(blocks_.size())];
    int newest = Updates(b);
    for (uint32_t other : blocks_)  // a step's schedule waits for all blocks
      newest = std::min(newest, Updates(other) + (plan_.together ? 0 : 1));
    for (const int version : {newest, newest - 1}) {
      if (version != newest && (version < begun_at_ || Draw(2) == 0)) break;
      const absl::StatusOr<Floats> value =
          server_->Pull(int(Draw(size_t(plan_.trainers))), b, version);
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(*value, ValueOf(b, version)) << "block " << b << ", version " << version;
    }
  }

  size_t Draw(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random_); }

  void Move(int t, Trainer *trainer) {
    std::vector<uint32_t> blocks;
    for (uint32_t b : blocks_)
      if (trainer->next[b] < trainer->steps) blocks.push_back(b);
    if (blocks.empty()) {
      ASSERT_TRUE((*server_)->Finish(t, uint64_t(trainer->steps)).ok());
      trainer->finished = true;
      return;
    }
    const uint32_t b = blocks[Draw(blocks.size())];
    const int step = trainer->next[b]++;
    absl::Status pushed = absl::UnknownError("is not done");
    (*server_)->Push(t, b, uint64_t(step),
                     messages_.Make(GradientOf(t, step, b)),
                     [&pushed](absl::Status s) { pushed = std::move(s); });
    ASSERT_TRUE(pushed.ok()) << pushed;
  }

  Floats GradientOf(int trainer, int step, uint32_t block) const {
    Floats gradient = Gradient(trainer, step, block == kB ? testing::kBias : kRest);
    if (!plan_.fused) return gradient;
    const Floats more = Gradient(trainer, step, testing::kBias);
    gradient.insert(gradient.end(), more.begin(), more.end());
    return gradient;
  }

  int Updates(uint32_t block) const {
    for (int step = 0;; ++step) {
      bool any = false;
      for (const Trainer &trainer : trainers_) {
        any |= trainer.next[block] > step;
        if (trainer.next[block] <= step && !(trainer.finished && trainer.steps <= step))
          return step;
      }
      if (!any) return step;
    }
  }

  void Restart() {
    ASSERT_TRUE((*server_)->Save(path_).ok());
    server_ = std::make_unique<Server>(plan_);
    const absl::Status restored = (*server_)->Restore(path_);
    ASSERT_TRUE(restored.ok()) << restored;
    server_->Join();
    begun_at_ = Updates(kW);
    for (int t = 0; t < plan_.trainers; ++t)
      for (uint32_t b : blocks_)
        EXPECT_EQ((*server_)->taken(t).next[b], uint64_t(trainers_[size_t(t)].next[b]));
  }

  std::mt19937 random_;
  const std::string path_;
  testing::ServerPlanOptions plan_;
  std::vector<uint32_t> blocks_ = {kW};
  std::vector<Trainer> trainers_;
  std::vector<Reference> references_;  // by version
  int begun_at_ = 0;                   // version of the values with which the server began
  Messages messages_;
  std::unique_ptr<Server> server_;
};

TEST(DrawnServerTest, ValuesAreThoseOfPlainLoops) {
  testing::TemporaryFolder folder;
  const Cases cases = casesOf(60);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(seed);
    Job(seed, folder / "server").Run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace commsched
