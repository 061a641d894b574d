// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// core::Calls on random functions, with instructions that end in any order, against
// what its header says, worked out anew from what has ended at every moment.
#include "runtime/core/calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace commsched {
namespace {

using runtime::FunctionProgram;
using runtime::InstructionProgram;
using runtime::PartWait;
using runtime::StreamInfo;
using runtime::core::Call;
using runtime::core::Calls;

constexpr uint32_t kComputeStreams = 2, kStreams = 3;

std::vector<StreamInfo> Streams() {
  return {{StreamInfo::kCompute, 0}, {StreamInfo::kCompute, 1}, {StreamInfo::kToHost, 0}};
}

// Instructions wait for earlier ones of their call, and for any of the call before.
FunctionProgram RandomFunction(std::mt19937_64 &random, bool is_step) {
  FunctionProgram f;
  f.is_step = is_step;
  f.in_order.resize(kStreams);
  const uint32_t n = uint32_t(random() % 14);
  f.instructions.resize(n);
  for (uint32_t i = 0; i < n; ++i) {
    InstructionProgram &instruction = f.instructions[i];
    instruction.name = std::string(1, char('a' + i));
    switch (random() % 4) {
      case 0:
        instruction.kind = InstructionProgram::kCommunicate;
        instruction.communicate.parts.resize(random() % 4);
        instruction.communicate.first_part = f.parts;
        f.parts += uint32_t(instruction.communicate.parts.size());
        break;
      case 1:
        instruction.kind = InstructionProgram::kCopy;
        break;
      default:
        instruction.kind = InstructionProgram::kRun;
    }
    instruction.priority = int32_t(random() % 5) - 2;
    if (instruction.kind == InstructionProgram::kRun) {
      instruction.stream = uint32_t(random() % kComputeStreams);
      instruction.deferred = random() % 3 == 0;
      if (!instruction.deferred) f.in_order[instruction.stream].push_back(i);
    } else if (instruction.kind == InstructionProgram::kCopy) {
      instruction.stream = 2;
      instruction.runs_on.kind = StreamInfo::kToHost;
    }
    std::set<uint32_t> same, last;
    for (uint64_t k = random() % 3; k > 0 && i > 0; --k) same.insert(uint32_t(random() % i));
    for (uint64_t k = random() % 2; k > 0; --k) last.insert(uint32_t(random() % n));
    instruction.waits_same.assign(same.begin(), same.end());
    instruction.waits_last.assign(last.begin(), last.end());
    for (uint32_t d : same) f.instructions[d].wakes_same.push_back(i);
    for (uint32_t d : last) f.instructions[d].wakes_next.push_back(i);
  }
  // Of some communications, parts are waited for, in addition to others' ends.
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t d = 0; d < n; ++d)
      for (uint32_t part = 0; part < f.instructions[d].communicate.parts.size(); ++part) {
        if (d < i && random() % 3 == 0) {
          f.instructions[i].part_waits_same.push_back({d, part});
          f.instructions[d].communicate.parts[part].wakes_same.push_back(i);
        }
        if (random() % 6 == 0) {
          f.instructions[i].part_waits_last.push_back({d, part});
          f.instructions[d].communicate.parts[part].wakes_next.push_back(i);
        }
      }
  return f;
}

// As on a CUDA device: copies and deferred instructions on up to two lanes of their stream, in any order with which what
// they wait for goes.
void AddLanes(std::mt19937_64 &random, FunctionProgram *f) {
  const uint32_t n = uint32_t(f->instructions.size());
  std::vector<std::set<uint32_t>> before(n);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t d : f->instructions[i].waits_same) before[i].insert(d);
    for (const PartWait &d : f->instructions[i].part_waits_same) before[i].insert(d.instruction);
  }
  for (const std::vector<uint32_t> &stream : f->in_order)
    for (size_t k = 1; k < stream.size(); ++k) before[stream[k]].insert(stream[k - 1]);
  f->turns.assign(n, 0);
  std::set<uint32_t> done;
  std::map<std::pair<uint32_t, uint64_t>, runtime::DeviceLane> lanes;
  while (done.size() < n) {
    const uint32_t i = uint32_t(random() % n);
    if (done.contains(i) || !std::includes(done.begin(), done.end(), before[i].begin(), before[i].end())) continue;
    const InstructionProgram &instruction = f->instructions[i];
    f->turns[i] = uint32_t(done.size());
    done.insert(i);
    if (!instruction.on_stream() || (instruction.stream < kComputeStreams && !instruction.deferred)) continue;
    runtime::DeviceLane &lane = lanes[{instruction.stream, random() % 2}];
    lane.stream = instruction.stream;
    lane.instructions.push_back(i);
  }
  for (auto &[key, lane] : lanes) f->lanes.push_back(std::move(lane));
}

class Rank {
 public:
  explicit Rank(uint64_t seed) : random_(seed), calls_(Streams(), /*keep_times=*/true) {
    for (bool is_step : {true, true, false}) functions_.push_back(RandomFunction(random_, is_step));
    if (seed % 2 == 0)
      for (FunctionProgram &f : functions_) AddLanes(random_, &f);
    for (uint64_t i = 0; i < 8; ++i) order_.push_back(int(random_() % functions_.size()));
  }

  void Run() {
    Admit();
    while (!ended_all()) {
      for (uint32_t s = 0; s < kStreams; ++s)
        if (!busy_[s] && random_() % 2 == 0) StartNext(s);
      if (::testing::Test::HasFailure()) return;
      if (under_way_.empty()) {
        // Now everybody looks.
        bool any = false;
        for (uint32_t s = 0; s < kStreams; ++s) any |= !busy_[s] && StartNext(s);
        ASSERT_TRUE(any) << "nothing is under way, and nothing can begin";
        continue;
      }
      std::swap(under_way_[random_() % under_way_.size()], under_way_.back());
      const auto [number, index] = under_way_.back();
      const size_t parts = FunctionOf(number).instructions[index].communicate.parts.size();
      if (parts > 0 && random_() % 3 != 0) {
        Release(number, index, uint32_t(random_() % parts));
        continue;
      }
      under_way_.pop_back();
      End(number, index);
    }
  }

 private:
  struct Made {
    std::unique_ptr<Call> call = std::make_unique<Call>();
    std::set<uint32_t> begun, ended;
    std::map<uint32_t, int64_t> ended_at;
    std::map<PartWait, int64_t> released_at;  // before the end, or with it
    bool retired = false;
    int64_t begun_at = 0;
  };
  const FunctionProgram &FunctionOf(uint64_t number) const {
    return functions_[size_t(order_[number])];
  }
  bool ended_all() const {
    return made_.size() == order_.size() && made_.back().retired;
  }

  // By definition: all that it waits for has ended; what a call waits for in the one
  // before counts only if that one was there when it began, so of the same function.
  bool DependencesMet(uint64_t number, uint32_t index) const {
    const InstructionProgram &i = FunctionOf(number).instructions[index];
    for (uint32_t d : i.waits_same)
      if (!made_[number].ended.contains(d)) return false;
    for (const PartWait &d : i.part_waits_same)
      if (!made_[number].released_at.contains(d)) return false;
    if (number == 0 || order_[number - 1] != order_[number] || !FunctionOf(number).is_step)
      return true;
    for (uint32_t d : i.waits_last)
      if (!made_[number - 1].ended.contains(d)) return false;
    for (const PartWait &d : i.part_waits_last)
      if (!made_[number - 1].released_at.contains(d)) return false;
    return true;
  }
  // Whether something that has not begun is in front of it on its lane, if it has one.
  bool HeldUp(uint64_t number, uint32_t index) const {
    for (uint64_t c = 0; c <= number; ++c) {
      if (made_[c].retired) continue;
      for (const runtime::DeviceLane &lane : FunctionOf(c).lanes) {
        const auto at = std::find(lane.instructions.begin(), lane.instructions.end(), index);
        if (at == lane.instructions.end()) continue;
        const auto end = c < number ? lane.instructions.end() : at;
        for (auto other = lane.instructions.begin(); other != end; ++other)
          if (!made_[c].begun.contains(*other)) return true;
      }
    }
    return false;
  }
  // What a stream should do, of all calls in flight.
  bool Expected(uint32_t stream, uint64_t *number, uint32_t *index) const {
    const bool compute = stream < kComputeStreams;
    // By call, priority, call and turn; the last one is the instruction.
    std::set<std::tuple<uint64_t, int32_t, uint64_t, uint32_t, uint32_t>> others;
    bool head = false;
    uint64_t head_number = 0;
    uint32_t head_index = 0;
    bool blocked = false;
    for (uint64_t c = 0; c < made_.size(); ++c) {
      if (made_[c].retired) continue;
      const FunctionProgram &f = FunctionOf(c);
      for (uint32_t i = 0; i < f.instructions.size(); ++i) {
        const InstructionProgram &instruction = f.instructions[i];
        if (!instruction.on_stream() || instruction.stream != stream ||
            made_[c].begun.contains(i))
          continue;
        if (!compute || instruction.deferred) {
          const bool on_lane = !f.turns.empty();
          if (DependencesMet(c, i) && !HeldUp(c, i))
            others.emplace(compute ? 0 : c,
                           compute   ? std::min(0, instruction.priority)
                           : on_lane ? 0
                                     : instruction.priority,
                           c, on_lane ? f.turns[i] : i, i);
        } else if (!head && !blocked) {  // the first of the list that has not begun
          head = DependencesMet(c, i);
          blocked = !head;
          head_number = c;
          head_index = i;
        }
      }
    }
    const bool urgent = compute && !others.empty() && std::get<1>(*others.begin()) < 0;
    if (head && !urgent) {
      *number = head_number;
      *index = head_index;
      return true;
    }
    if (others.empty()) return false;
    *number = std::get<2>(*others.begin());
    *index = std::get<4>(*others.begin());
    return true;
  }

  bool StartNext(uint32_t stream) {
    uint64_t number = 0;
    uint32_t index = 0;
    const bool should = Expected(stream, &number, &index);
    Call *call = nullptr;
    uint32_t got = 0;
    const bool does = calls_.Next(stream, &call, &got);
    EXPECT_EQ(does, should);
    if (!does || !should) return false;
    EXPECT_EQ(call->number, number);
    EXPECT_EQ(got, index);
    BeginInstruction(number, index);
    busy_[stream] = true;
    had_[stream] = Expected(stream, &number, &index);
    return true;
  }
  void BeginInstruction(uint64_t number, uint32_t index) {
    EXPECT_TRUE(made_[number].begun.insert(index).second) << "twice";
    EXPECT_TRUE(DependencesMet(number, index));
    // When they were met: with the last of them, or with the call.
    int64_t met = made_[number].begun_at;
    const InstructionProgram &i = FunctionOf(number).instructions[index];
    for (uint32_t d : i.waits_same) met = std::max(met, made_[number].ended_at.at(d));
    for (const PartWait &d : i.part_waits_same)
      met = std::max(met, made_[number].released_at.at(d));
    if (number > 0 && order_[number - 1] == order_[number] && FunctionOf(number).is_step) {
      for (uint32_t d : i.waits_last) met = std::max(met, made_[number - 1].ended_at.at(d));
      for (const PartWait &d : i.part_waits_last)
        met = std::max(met, made_[number - 1].released_at.at(d));
    }
    EXPECT_EQ(made_[number].call->met[index], met);
    under_way_.emplace_back(number, index);
  }
  void Release(uint64_t number, uint32_t index, uint32_t part) {
    made_[number].released_at.try_emplace({index, part}, ++now_);
    calls_.Release(made_[number].call.get(), index, part, now_, &actions_);
    Act();
  }
  void End(uint64_t number, uint32_t index) {
    const InstructionProgram &i = FunctionOf(number).instructions[index];
    if (i.on_stream()) busy_[i.stream] = false;
    made_[number].ended.insert(index);
    made_[number].ended_at[index] = ++now_;
    for (uint32_t part = 0; part < i.communicate.parts.size(); ++part)
      made_[number].released_at.try_emplace({index, part}, now_);
    const bool retire =
        calls_.Complete(made_[number].call.get(), index, now_, &actions_);
    Act();
    EXPECT_EQ(retire, Oldest() != nullptr &&
                          Oldest()->ended.size() ==
                              Oldest()->call->program->instructions.size());
    if (retire) Admit();
  }
  Made *Oldest() {
    for (Made &made : made_)
      if (!made.retired) return &made;
    return nullptr;
  }
  void Admit() {
    for (;;) {
      while (Call *call = calls_.Retire()) {
        Made *oldest = Oldest();
        ASSERT_EQ(call, oldest->call.get());
        ASSERT_EQ(oldest->ended.size(), call->program->instructions.size());
        oldest->retired = true;
      }
      size_t in_flight = 0;
      for (const Made &made : made_) in_flight += !made.retired;
      EXPECT_EQ(calls_.size(), in_flight);
      if (made_.size() == order_.size()) return;
      const uint64_t next = made_.size();
      const FunctionProgram &f = FunctionOf(next);
      const bool may = in_flight == 0 || (in_flight == 1 && f.is_step &&
                                          order_[next - 1] == order_[next]);
      ASSERT_EQ(calls_.MayBegin(f), may);
      if (!may) return;
      Made &made = made_.emplace_back();
      made.call->program = &f;
      made.call->number = next;
      made.begun_at = ++now_;
      calls_.Begin(made.call.get(), now_, &actions_);
      Act();
    }
  }
  void Act() {
    const Calls::Actions actions = std::move(actions_);
    actions_ = {};
    for (auto [call, index] : actions.begin) {
      EXPECT_FALSE(call->program->instructions[index].on_stream());
      BeginInstruction(call->number, index);
    }
    // A stream that has something to do now and had not before is told.
    for (uint32_t s = 0; s < kStreams; ++s) {
      uint64_t number;
      uint32_t index;
      const bool has = Expected(s, &number, &index);
      EXPECT_TRUE(!has || had_[s] ||
                  std::find(actions.wake.begin(), actions.wake.end(), s) !=
                      actions.wake.end())
          << "stream " << s;
      had_[s] = has;
    }
    for (uint64_t c = 0; c < made_.size(); ++c) {
      if (made_[c].retired) continue;
      for (uint32_t i = 0; i < FunctionOf(c).instructions.size(); ++i)
        EXPECT_TRUE(FunctionOf(c).instructions[i].on_stream() || !DependencesMet(c, i) ||
                    made_[c].begun.contains(i))
            << "a communication was not begun";
    }
  }

  std::mt19937_64 random_;
  std::vector<FunctionProgram> functions_;
  std::vector<int> order_;  // of which function the calls are
  Calls calls_;
  Calls::Actions actions_;
  std::vector<Made> made_;
  std::vector<std::pair<uint64_t, uint32_t>> under_way_;
  bool busy_[kStreams] = {}, had_[kStreams] = {};
  int64_t now_ = 0;
};

TEST(CallsTest, RunsWhatItsRulesSayWhateverEndsWhen) {
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Rank(seed).Run();
    if (HasFailure()) return;
  }
}

TEST(CallsTest, SaysWhatAStreamWaitsFor) {
  FunctionProgram f;
  f.is_step = true;
  f.in_order = {{2}, {}, {}};
  f.instructions.resize(3);
  for (uint32_t i = 0; i < 3; ++i) f.instructions[i].name = std::string(1, char('a' + i));
  f.instructions[0].kind = f.instructions[1].kind = InstructionProgram::kCommunicate;
  f.instructions[2].waits_same = {0, 1};
  f.instructions[0].wakes_same = f.instructions[1].wakes_same = {2};
  f.instructions[2].waits_last = {1};
  f.instructions[1].wakes_next = {2};
  Calls calls(Streams());
  Calls::Actions actions;
  EXPECT_EQ(calls.WaitName(0), "wait");
  Call first, second;
  first.program = second.program = &f;
  second.number = 1;
  calls.Begin(&first, 0, &actions);
  EXPECT_EQ(calls.WaitName(0), "wait for a, b");
  calls.Complete(&first, 0, 0, &actions);
  EXPECT_EQ(calls.WaitName(0), "wait for b");
  calls.Begin(&second, 0, &actions);
  EXPECT_EQ(calls.WaitName(0), "wait for b");
  calls.Complete(&first, 1, 0, &actions);
  EXPECT_EQ(calls.WaitName(0), "wait");
  EXPECT_EQ(calls.WaitName(1), "wait");
}

TEST(CallsTest, SaysWhichPartsAStreamWaitsFor) {
  FunctionProgram f;
  f.in_order = {{1}, {}, {}};
  f.instructions.resize(2);
  f.instructions[0].name = "a";
  f.instructions[0].kind = InstructionProgram::kCommunicate;
  f.instructions[0].communicate.parts.resize(f.parts = 2);
  f.instructions[0].communicate.parts[1].wakes_same = {1};
  f.instructions[1].part_waits_same = {{0, 1}};
  Calls calls(Streams());
  Calls::Actions actions;
  Call call;
  call.program = &f;
  calls.Begin(&call, 0, &actions);
  calls.Release(&call, 0, 0, 0, &actions);
  EXPECT_EQ(calls.WaitName(0), "wait for a");
  calls.Release(&call, 0, 1, 0, &actions);
  EXPECT_EQ(calls.WaitName(0), "wait");
}

}  // namespace
}  // namespace commsched
