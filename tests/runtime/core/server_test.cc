// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// core::Server in jobs without threads: trainers push, pull and finish, additions and
// updates end, snapshots are taken and servers begin again from them, in any order that
// a job allows. A value is the list of what has been applied to it; what it must be is
// worked out from what the trainers pushed alone.
#include "runtime/core/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/chaos/server_cases.h"

namespace commsched::runtime::core {
namespace {

struct Case {
  ServersProgram::Mode mode = ServersProgram::kSync;
  ServerProgram program;
  int trainers = 1;
  std::vector<uint64_t> steps;  // that each trainer makes
  uint64_t cut_every = 0;
  bool saves = false, restarts = false;
};

Case RandomCase(std::mt19937_64 &random) {
  auto below = [&](uint64_t n) { return random() % n; };
  Case c;
  c.mode = ServersProgram::Mode(below(3));
  c.trainers = 1 + int(below(4));
  c.program = RandomServer(c.mode, random);
  for (int t = 0; t < c.trainers; ++t) c.steps.push_back(below(7));
  if (below(2) == 0) c.cut_every = 1 + below(4);
  c.saves = c.cut_every != 0 || below(2) == 0;
  c.restarts = below(2) == 0;
  return c;
}

class Job {
 public:
  Job(const Case &c, uint64_t seed) : c_(c), random_(seed) {
    values_.resize(c_.program.blocks.size());
    before_ = values_;
    adding_.resize(values_.size());
    machine_ = Make();
    for (int t = 0; t < c_.trainers; ++t) {
      trainers_.emplace_back();
      trainers_.back().blocks.resize(values_.size());
    }
    if (c_.restarts) Keep();
  }

  // Returns false if the job does not end.
  bool Run() {
    for (int i = 0; i < 100'000 && !Ended(); ++i) {
      std::vector<std::function<void()>> can;
      AddTrainers(&can);
      AddServer(&can);
      if (can.empty()) continue;
      can[random_() % can.size()]();
      if (::testing::Test::HasFailure()) return true;
    }
    return Ended();
  }

  // For a job that does not end.
  std::string Describe() const {
    std::string text = absl::StrCat("mode ", int(c_.mode), ", cuts ", c_.cut_every, ", ",
                                    machine_->Missing(), "; pulls ", pulls_.size(),
                                    machine_->paused() ? ", paused" : "");
    for (size_t t = 0; t < trainers_.size(); ++t) {
      absl::StrAppend(&text, "; trainer ", t, " of ", c_.steps[t], " steps",
                      trainers_[t].finished ? " has finished" : "");
      for (const auto &block : trainers_[t].blocks)
        absl::StrAppend(&text, " ", block.pushed, "/", block.pulled);
    }
    return text;
  }

 private:
  struct Trainer {
    struct Block {
      uint64_t pushed = 0, pulled = 0;
      bool asks = false;
    };
    bool joined = false, finished = false, final = false;
    std::vector<Block> blocks;
  };
  struct Kept {
    Server::State state;
    std::vector<Values> values, sums;
  };
  bool sync() const { return c_.mode == ServersProgram::kSync; }
  bool of_rows(uint32_t b) const { return c_.program.blocks[b].of_rows(); }

  std::unique_ptr<Server> Make() {
    Server::Options options;
    options.trainers = c_.trainers;
    options.cut_every = c_.cut_every;
    return std::make_unique<Server>(c_.mode, &c_.program, options);
  }

  // --- What trainers do: push each block once per step, when they have the value that
  // the step before made; pull, and finish.
  void AddTrainers(std::vector<std::function<void()>> *can) {
    for (int t = 0; t < c_.trainers; ++t) {
      Trainer &trainer = trainers_[size_t(t)];
      if (!trainer.joined) {
        can->push_back([this, t] { Join(t); });
        continue;
      }
      bool done = true;
      for (uint32_t b = 0; b < trainer.blocks.size(); ++b) {
        Trainer::Block &block = trainer.blocks[b];
        if (block.pushed < c_.steps[size_t(t)] && block.pulled >= block.pushed)
          can->push_back([this, t, b] { Push(t, b); });
        if (block.pulled < block.pushed && !block.asks)
          can->push_back([this, t, b] { Pull(t, b, trainers_[size_t(t)].blocks[b].pushed); });
        done &= block.pushed == c_.steps[size_t(t)] && block.pulled == block.pushed;
      }
      if (done && !trainer.finished) can->push_back([this, t] { Finish(t); });
      if (trainer.finished && !trainer.final)
        can->push_back([this, t] {
          trainers_[size_t(t)].final = true;
          for (uint32_t b = 0; b < values_.size(); ++b) Pull(t, b, Server::kFinal);
        });
      // An older version is what it was, or is refused.
      const uint32_t old = uint32_t(random_() % trainer.blocks.size());
      if (sync() && random_() % 8 == 0)
        can->push_back([this, t, old] { PullOld(t, old); });
      // Again, as after a lost connection: it counts once.
      const uint32_t b = uint32_t(random_() % trainer.blocks.size());
      const uint64_t pushed = trainer.blocks[b].pushed;
      if (pushed != 0 && random_() % 8 == 0)
        can->push_back([this, t, b, pushed] {
          const uint64_t step = random_() % pushed;
          if (step < machine_->taken(t)[b]) {
            EXPECT_TRUE(machine_->Push(t, b, step, Payload("again")).ok());
          }
        });
    }
  }

  void Join(int t) {
    auto steps = machine_->Join(t);
    ASSERT_TRUE(steps.ok());
    EXPECT_EQ(*steps, 0u);
    trainers_[size_t(t)].joined = true;
  }
  void Push(int t, uint32_t b) {
    Trainer::Block &block = trainers_[size_t(t)].blocks[b];
    const absl::Status s =
        machine_->Push(t, b, block.pushed, Payload(absl::StrCat(t, ":", block.pushed)));
    ASSERT_TRUE(s.ok()) << s;
    if (!sync()) arrived_[b].push_back(absl::StrCat(t, ":", block.pushed));
    ++block.pushed;
  }
  void Finish(int t) {
    const absl::Status s = machine_->Finish(t, c_.steps[size_t(t)]);
    ASSERT_TRUE(s.ok()) << s;
    trainers_[size_t(t)].finished = true;
  }
  void Pull(int t, uint32_t b, uint64_t version) {
    const uint64_t name = next_pull_++;
    auto pulled = machine_->Pull(t, b, version, name);
    ASSERT_TRUE(pulled.ok()) << pulled.status();
    if (version != Server::kFinal) trainers_[size_t(t)].blocks[b].asks = true;
    pulls_[name] = {t, b, version};
    if (*pulled == Server::Pulled::kWaits) return;
    EXPECT_FALSE(of_rows(b) && RunsRows(b)) << "rows are read while they change";
    Answer(name, *pulled == Server::Pulled::kNewest ? values_[b] : before_[b]);
  }
  void PullOld(int t, uint32_t b) {
    const uint64_t version = random_() % (Updates(b) + 1);
    if (of_rows(b) && RunsRows(b)) return;
    auto pulled = machine_->Pull(t, b, version, next_pull_++);
    if (!pulled.ok()) {
      EXPECT_LT(version, Updates(b));
      return;
    }
    ASSERT_NE(*pulled, Server::Pulled::kWaits);
    EXPECT_EQ(*pulled == Server::Pulled::kNewest ? values_[b] : before_[b],
              Expected(b, version));
  }
  void Answer(uint64_t name, const Values &value) {
    const auto [t, b, version] = pulls_.extract(name).mapped();
    if (version == Server::kFinal) {
      EXPECT_EQ(value, Expected(b, Server::kNever)) << "final, block " << b;
      ++finals_;
      return;
    }
    if (sync()) {
      EXPECT_EQ(value, Expected(b, version)) << "version " << version << " of block " << b;
    } else {
      for (uint64_t s = 0; s < version; ++s)
        EXPECT_EQ(std::count(value.begin(), value.end(), absl::StrCat(t, ":", s)), 1);
    }
    trainers_[size_t(t)].blocks[b].pulled = version;
    trainers_[size_t(t)].blocks[b].asks = false;
  }

  // As they arrived, but for those that a cut has held up.
  Values Arrived(uint32_t b) const {
    auto it = arrived_.find(b);
    Values pushes = it == arrived_.end() ? Values() : it->second;
    const auto period = [this](const std::string &push) {
      return c_.cut_every == 0 ? 0 : StepOf(push) / c_.cut_every;
    };
    std::stable_sort(pushes.begin(), pushes.end(), [&](const auto &one, const auto &other) {
      return period(one) < period(other);
    });
    return pushes;
  }
  static uint64_t StepOf(const std::string &push) {
    return std::stoull(push.substr(push.find(':') + 1));
  }

  Values Expected(uint32_t b, uint64_t version) const {
    Values value;
    if (!sync()) {
      for (const std::string &push : Arrived(b)) value.insert(value.end(), {push, "|"});
      return value;
    }
    return ExpectedOf(version, [this](uint64_t s) { return MakersOf(c_.steps, s); });
  }

  // --- What ends on the server.
  void AddServer(std::vector<std::function<void()>> *can) {
    for (uint32_t b = 0; b < values_.size(); ++b) {
      if (adding_[b].busy) {
        Server::Addition another;
        EXPECT_FALSE(machine_->NextAddition(b, &another)) << "two at a time";
        can->push_back([this, b] { EndAddition(b); });
        continue;
      }
      Server::Addition &addition = adding_[b].addition;
      const bool last = adding_[b].last;
      if (machine_->NextAddition(b, &addition)) {
        adding_[b].busy = true;
        EXPECT_TRUE(addition.close || !last) << "behind the last one";
        adding_[b].last = !addition.close && addition.last;
        can->push_back([this, b] { EndAddition(b); });
      }
      if (machine_->readers(b) != 0)
        can->push_back([this, b] { machine_->EndRead(b); });
      else if (of_rows(b) && random_() % 8 == 0 && !RunsRows(b))
        can->push_back([this, b] { machine_->BeginRead(b); });
    }
    while (running_ < 3) {
      Server::Work *work = machine_->Next();
      if (work == nullptr) break;
      ++running_;
      EXPECT_LE(running_, 2u);
      Begins(*work);
    }
    if (Server::Work *work = machine_->running();
        work != nullptr && (work->block < 0 || machine_->readers(uint32_t(work->block)) == 0))
      can->push_back([this] { EndUpdate(); });
    std::vector<Server::Answer> answers;
    machine_->TakeFinal(&answers);
    for (const Server::Answer &answer : answers) Answer(answer.pull, values_[answer.block]);
    if (c_.saves && !machine_->paused() && (MustSave() || random_() % 16 == 0))
      can->push_back([this] { machine_->Pause(); });
    if (machine_->paused() && machine_->Still()) can->push_back([this] { Save(); });
    if (c_.restarts && kept_ != nullptr && random_() % 64 == 0)
      can->push_back([this] { Restart(); });
  }
  bool RunsRows(uint32_t b) const { return rows_running_.count(b) != 0; }
  bool MustSave() const { return c_.cut_every != 0 && machine_->AtCut(); }

  void EndAddition(uint32_t b) {
    adding_[b].busy = false;
    const Server::Addition &addition = adding_[b].addition;
    Values &sum = adding_[b].sum;
    if (!addition.close) {
      sum.push_back(Text(addition.payload));
      EXPECT_EQ(addition.parts, int(sum.size()));
      machine_->Added(b);
      return;
    }
    EXPECT_EQ(addition.parts, int(sum.size()));
    machine_->Closed(b, Payload(absl::StrJoin(sum, ",")));
    sum.clear();
  }

  void Begins(const Server::Work &work) {
    EXPECT_FALSE(behind_rows_) << "behind an update of rows, which is run in parts";
    behind_rows_ = work.block >= 0 && of_rows(uint32_t(work.block));
    if (c_.cut_every != 0) {
      EXPECT_LT(work.step, passed_ + c_.cut_every) << "behind the cut";
    }
    if (work.block < 0) {
      // In its step, when nothing else uses what it made for the one before.
      ++schedules_;
      for (uint32_t b = 0; b < values_.size(); ++b)
        if (!c_.program.blocks[b].apart) {
          EXPECT_EQ(users_.count(b), 0u);
          EXPECT_GE(Updates(b), sync() ? work.step : 0);
        }
      return;
    }
    const std::vector<uint32_t> &together = c_.program.blocks[size_t(work.block)].together;
    EXPECT_EQ(work.others.size() + 1, together.size());
    for (uint32_t b : together) {
      EXPECT_TRUE(users_.insert(b).second) << "two updates of a block";
      before_[b].clear();  // its memory is used again
      if (of_rows(b)) rows_running_.insert(b);
      if (c_.program.has_schedule && !c_.program.blocks[b].apart) {
        EXPECT_GE(schedules_, sync() ? work.step + 1 : 1);
        if (sync()) {
          EXPECT_LE(schedules_, work.step + 1);
        }
      }
    }
  }
  uint64_t Updates(uint32_t b) const {
    return uint64_t(std::count(values_[b].begin(), values_[b].end(), "|"));
  }

  void EndUpdate() {
    std::vector<Server::Answer> answers;
    const Server::Work work = machine_->Complete(&answers);
    --running_;
    behind_rows_ &= running_ != 0;
    if (work.block >= 0) {
      Apply(work);
      for (const Server::Work &other : work.others) {
        EXPECT_EQ(other.step, work.step);
        Apply(other);
      }
    }
    for (const Server::Answer &answer : answers) {
      EXPECT_TRUE(answer.status.ok()) << answer.status;
      Answer(answer.pull, values_[answer.block]);
    }
  }
  void Apply(const Server::Work &work) {
    const uint32_t b = uint32_t(work.block);
    users_.erase(b);
    rows_running_.erase(b);
    before_[b] = values_[b];
    for (absl::string_view part : absl::StrSplit(Text(work.gradient), ','))
      values_[b].emplace_back(part);
    values_[b].push_back("|");
    if (sync()) {
      EXPECT_EQ(values_[b], Expected(b, work.step + 1));
    }
  }

  // --- Snapshots, and the server that begins again from the last one: its trainers
  // repeat what it lacks.
  void Save() {
    for (uint32_t b = 0; b < values_.size() && sync(); ++b)
      EXPECT_EQ(Updates(b), Updates(0)) << "a snapshot between two blocks";
    const bool at_cut = c_.cut_every != 0 && machine_->AtCut();
    const uint64_t cut = machine_->cut();
    const std::optional<uint64_t> step = machine_->PassCut();
    EXPECT_TRUE(step.has_value() || !at_cut);
    if (step) {
      if (!machine_->Finished()) {
        EXPECT_EQ(*step, cut);
        for (uint32_t b = 0; b < values_.size(); ++b) EXPECT_EQ(values_[b], UpToCut(b, cut));
      }
      EXPECT_GT(machine_->cut(), *step);
      passed_ = machine_->cut() - c_.cut_every;
    }
    Keep();
    machine_->Resume();
  }
  // Every update of a step before the cut, and no other.
  Values UpToCut(uint32_t b, uint64_t cut) const {
    if (sync()) return Expected(b, cut);
    Values value;
    for (const std::string &push : Arrived(b))
      if (StepOf(push) < cut) value.insert(value.end(), {push, "|"});
    return value;
  }
  void Keep() {
    kept_ = std::make_unique<Kept>();
    kept_->state = machine_->state();
    kept_->values = values_;
    for (const auto &adding : adding_) kept_->sums.push_back(adding.sum);
  }
  void Restart() {
    machine_ = Make();
    ASSERT_TRUE(machine_->SetState(kept_->state, false).ok());
    values_ = before_ = kept_->values;
    for (uint32_t b = 0; b < values_.size(); ++b) adding_[b] = {{}, kept_->sums[b], false};
    schedules_ = kept_->state.schedules;
    users_.clear();
    rows_running_.clear();
    running_ = 0;
    behind_rows_ = false;
    passed_ = c_.cut_every == 0 ? 0 : machine_->cut() - c_.cut_every;
    std::map<uint64_t, std::tuple<int, uint32_t, uint64_t>> pulls = std::move(pulls_);
    pulls_.clear();
    // What arrives again is applied where it is repeated.
    for (auto &[b, pushes] : arrived_) {
      Values had;
      for (const std::string &push : pushes) {
        const int t = std::stoi(push);
        if (StepOf(push) < kept_->state.blocks[b].taken[size_t(t)])
          had.push_back(push);
      }
      pushes = had;
    }
    for (int t = 0; t < c_.trainers; ++t) {
      Trainer &trainer = trainers_[size_t(t)];
      if (!trainer.joined) continue;
      ASSERT_TRUE(machine_->Join(t).ok());
      const std::vector<uint64_t> taken = machine_->taken(t);
      for (uint32_t b = 0; b < values_.size(); ++b)
        for (uint64_t s = taken[b]; s < trainer.blocks[b].pushed; ++s) {
          const std::string push = absl::StrCat(t, ":", s);
          const absl::Status status = machine_->Push(t, b, s, Payload(push));
          ASSERT_TRUE(status.ok()) << status;
          if (!sync()) arrived_[b].push_back(push);
        }
      // One whose finish is in the snapshot may have left, and does not say it again.
      if (trainer.finished && kept_->state.finish[size_t(t)] == Server::kNever) {
        ASSERT_TRUE(machine_->Finish(t, c_.steps[size_t(t)]).ok());
      }
    }
    for (const auto &[name, pull] : pulls) {
      const auto [t, b, version] = pull;
      Pull(t, b, version);
    }
  }

  bool Ended() const {
    bool all = machine_->Finished() && pulls_.empty();
    for (const Trainer &trainer : trainers_) all &= trainer.finished && trainer.final;
    return all;
  }

  const Case &c_;
  std::mt19937_64 random_;
  std::unique_ptr<Server> machine_;
  std::vector<Trainer> trainers_;
  std::vector<Values> values_, before_;
  struct Adding {
    Server::Addition addition;
    Values sum;
    bool busy = false;
    bool last = false;  // what was added was the last one
  };
  std::vector<Adding> adding_;
  std::map<uint64_t, std::tuple<int, uint32_t, uint64_t>> pulls_;
  std::map<uint32_t, Values> arrived_;
  std::set<uint32_t> users_, rows_running_;
  size_t running_ = 0;
  bool behind_rows_ = false;  // the last one that runs is of rows
  uint64_t schedules_ = 0, next_pull_ = 0, finals_ = 0;
  uint64_t passed_ = 0;  // the last cut that was passed
  std::unique_ptr<Kept> kept_;
};

TEST(CoreServer, AppliesWhatItsModePromises) {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    const Case c = RandomCase(random);
    Job job(c, seed);
    EXPECT_TRUE(job.Run()) << "the job does not end: " << job.Describe();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace commsched::runtime::core
