// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/plan_order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace commsched::runtime {
namespace {

// When the compute stream first waits for something: so many calls later, at which of its places.
using Need = uint64_t;
constexpr Need kNever = UINT64_MAX;
constexpr Need kCall = uint64_t{1} << 32;
// What is needed by way of more calls than that counts as never needed.
constexpr int kCallsAhead = 6;

class Orderer {
 public:
  explicit Orderer(const FunctionProgram &function)
      : function_(function), count_(uint32_t(function.instructions.size())), next_(count_), next_call_(count_) {}

  absl::StatusOr<PlanOrder> Make() {
    AddEdges();
    std::vector<uint32_t> topological = Sorted();
    if (topological.size() != count_)
      return absl::InvalidArgumentError(
          absl::StrCat("function @", function_.name, ": the numbers of its collectives must go with its dependences"));
    LookBack(topological);
    FindFeeding(topological);
    PlanOrder result;
    for (uint32_t i = 0; i < count_; ++i) result.lanes.push_back(LaneOf(i));
    // What the streams of the others hold up is known when that of the last is ordered.
    ChainLanes(topological, result.lanes, /*last=*/false);
    const std::vector<uint32_t> held = Sorted();
    LookBack(held);
    LookAhead(held);
    ChainLanes(held, result.lanes, /*last=*/true);
    result.order = Sorted();
    return result;
  }

 private:
  const InstructionProgram &At(uint32_t i) const { return function_.instructions[i]; }
  bool IsCompute(uint32_t i) const {
    return At(i).on_stream() && At(i).runs_on.kind == StreamInfo::kCompute && !At(i).deferred;
  }
  bool Communicates(uint32_t i) const { return !At(i).on_stream(); }
  bool IsMessage(uint32_t i) const { return Communicates(i) && !At(i).communicate.nccl; }

  void AddEdges() {
    std::map<uint32_t, uint32_t> collectives;  // by number
    for (uint32_t i = 0; i < count_; ++i) {
      const InstructionProgram &instruction = At(i);
      for (uint32_t on : instruction.waits_same) next_[on].push_back(i);
      for (const PartWait &on : instruction.part_waits_same) next_[on.instruction].push_back(i);
      for (uint32_t on : instruction.waits_last) next_call_[on].push_back(i);
      for (const PartWait &on : instruction.part_waits_last) next_call_[on.instruction].push_back(i);
      if (instruction.kind == InstructionProgram::kCommunicate && instruction.communicate.nccl)
        collectives.emplace(instruction.communicate.nccl->number, i);
    }
    std::vector<uint32_t> numbered;
    for (const auto &[number, i] : collectives) numbered.push_back(i);
    Chain(numbered);
    for (const std::vector<uint32_t> &stream : function_.in_order) Chain(stream);
  }
  void Chain(const std::vector<uint32_t> &stream) {
    for (size_t i = 1; i < stream.size(); ++i) next_[stream[i - 1]].push_back(stream[i]);
  }

  // As the plan has them, as far as what is before them allows; fewer than all, if there is a circle.
  std::vector<uint32_t> Sorted() const {
    std::vector<uint32_t> waits(count_, 0), sorted;
    for (const std::vector<uint32_t> &of : next_) {
      for (uint32_t to : of) ++waits[to];
    }
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t i = 0; i < count_; ++i) {
      if (waits[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const uint32_t i = ready.top();
      ready.pop();
      sorted.push_back(i);
      for (uint32_t to : next_[i]) {
        if (--waits[to] == 0) ready.push(to);
      }
    }
    return sorted;
  }

  // What has to be there first, in the same call.
  void LookBack(const std::vector<uint32_t> &topological) {
    places_ = 0;
    place_.assign(count_, 0);
    come_.assign(count_, 0);
    by_message_.assign(count_, false);
    again_.assign(count_, false);
    for (uint32_t i : topological) {
      if (IsCompute(i)) place_[i] = ++places_;
      const bool communicates = Communicates(i), compute = IsCompute(i);
      if (communicates && !IsMessage(i)) come_[i] = std::max(come_[i], At(i).communicate.nccl->number + 1);
      for (uint32_t to : next_[i]) {
        place_[to] = std::max(place_[to], place_[i]);
        come_[to] = std::max(come_[to], come_[i]);
        by_message_[to] = by_message_[to] || by_message_[i] || IsMessage(i);
        again_[to] = again_[to] || communicates || (again_[i] && !compute);
      }
    }
  }

  void FindFeeding(const std::vector<uint32_t> &topological) {
    feeds_.assign(count_, false);
    for (auto i = topological.rbegin(); i != topological.rend(); ++i) {
      for (uint32_t to : next_[*i]) feeds_[*i] = feeds_[*i] || feeds_[to] || Communicates(to);
    }
  }
  // What no communication of the same call waits for.
  bool IsLast(uint32_t i) const { return !feeds_[i] && !Communicates(i); }

  void LookAhead(const std::vector<uint32_t> &topological) {
    need_.assign(count_, kNever);
    for (int calls = 0; calls <= kCallsAhead; ++calls) {
      const std::vector<Need> later = need_;
      // A batch is filled again for the call after the next, when its readers are done.
      std::vector<Need> batches(function_.batches.size(), kNever);
      for (uint32_t i = 0; i < count_; ++i) {
        ForEachBatch(i, [&](uint32_t batch) { batches[batch] = std::min(batches[batch], later[i]); });
      }
      for (auto at = topological.rbegin(); at != topological.rend(); ++at) {
        Need need = IsCompute(*at) ? place_[*at] : kNever;
        for (uint32_t to : next_[*at]) need = std::min(need, need_[to]);
        for (uint32_t to : next_call_[*at]) {
          if (later[to] != kNever) need = std::min(need, later[to] + kCall);
        }
        ForEachBatch(*at, [&](uint32_t batch) {
          if (batches[batch] != kNever) need = std::min(need, batches[batch] + 2 * kCall);
        });
        need_[*at] = need;
      }
      if (need_ == later) break;
    }
  }

  template <typename F>
  void ForEachBatch(uint32_t i, F f) const {
    const auto look = [&](uint32_t buffer) {
      if (function_.buffers[buffer].kind == BufferInfo::kBatch) f(function_.buffers[buffer].batch);
    };
    if (At(i).kind == InstructionProgram::kCopy) look(At(i).source);
    if (At(i).kind != InstructionProgram::kLaunch) return;
    for (uint32_t buffer : At(i).launch.operands) look(buffer);
  }

  PlanLane LaneOf(uint32_t i) const {
    if (Communicates(i)) return IsMessage(i) ? PlanLane::kHost : PlanLane::kNccl;
    if (At(i).runs_on.kind == StreamInfo::kToHost) return again_[i] ? PlanLane::kToHostAgain : PlanLane::kToHost;
    if (At(i).runs_on.kind == StreamInfo::kToDevice) return feeds_[i] ? PlanLane::kToDeviceFirst : PlanLane::kToDevice;
    if (!At(i).deferred) return PlanLane::kCompute;
    return feeds_[i] ? PlanLane::kDeferredFirst : PlanLane::kDeferred;
  }

  // All lanes go by one order, with which the plan's goes: so there is no circle. What communications wait for is
  // before all else in it.
  void ChainLanes(const std::vector<uint32_t> &topological, const std::vector<PlanLane> &lanes, bool last) {
    std::vector<std::tuple<bool, bool, Need, uint32_t, uint32_t>> by;  // the last one: of `topological`
    for (uint32_t at = 0; at < count_; ++at) {
      const uint32_t i = topological[at];
      if (IsLast(i) && !last) continue;
      const bool needed = IsLast(i) && by_message_[i];
      by.emplace_back(IsLast(i), needed, needed ? need_[i] : come_[i], place_[i], at);
    }
    std::sort(by.begin(), by.end());
    std::map<PlanLane, std::vector<uint32_t>> streams;
    for (const auto &key : by) {
      const uint32_t i = topological[std::get<4>(key)];
      if (lanes[i] != PlanLane::kHost) streams[lanes[i]].push_back(i);
    }
    for (const auto &[lane, stream] : streams) {
      Chain(stream);
      if (!last) next_call_[stream.back()].push_back(stream.front());
    }
  }

  const FunctionProgram &function_;
  const uint32_t count_;
  std::vector<std::vector<uint32_t>> next_, next_call_;  // what waits for an instruction, in the same call and the next
  uint32_t places_ = 0;
  // Of each instruction: the last place of the compute stream that is before it, or its own; the last number of a
  // collective, counted from 1; whether a message is; whether something communicated is, other than through compute.
  std::vector<uint32_t> place_, come_;
  std::vector<bool> by_message_, again_;
  std::vector<bool> feeds_;  // a communication of the same call waits for it
  std::vector<Need> need_;
};

}  // namespace

absl::StatusOr<PlanOrder> OrderInstructions(const FunctionProgram &function) { return Orderer(function).Make(); }

}  // namespace commsched::runtime
