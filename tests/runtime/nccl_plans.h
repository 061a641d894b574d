// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn steps of delays and collectives by NCCL, and what they take, by recursion over what waits
// for what: no clock, no events.
#ifndef COMMSCHED_TESTS_RUNTIME_NCCL_PLANS_H
#define COMMSCHED_TESTS_RUNTIME_NCCL_PLANS_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/runtime/simulator_plans.h"

namespace commsched::testing {

// An all-reduce of 4 n bytes takes this by the cluster's table.
inline int64_t TableNs(int64_t elements) { return 700 + 13 * elements; }

struct NcclStep {
  struct Instruction {
    int64_t ns = 0;        // of a delay, or by NCCL
    int number = -1;       // of NCCL; -1: a delay
    int64_t elements = 0;  // of NCCL
    std::vector<FunctionBuilder::Wait> waits;
  };
  int ranks = 2;
  std::vector<Instruction> instructions;
  std::vector<int> order;  // of NCCL

  CostPlan Plan() const {
    CostPlan made(ranks);
    plan::Plan &proto = made.plan.proto();
    proto.set_required_features((uint64_t{1} << plan::FEATURE_COST_ONLY) |
                                (uint64_t{1} << plan::FEATURE_CUDA) |
                                (uint64_t{1} << plan::FEATURE_NCCL));
    proto.mutable_cluster()->set_device_kind("cuda");
    for (int64_t elements = 1; elements <= 4096; elements *= 2) {
      proto.mutable_cluster()->mutable_nccl()->add_bytes(uint64_t(4 * elements));
      proto.mutable_cluster()->mutable_nccl()->add_ns(uint64_t(TableNs(elements)));
    }
    for (size_t i = 0; i < instructions.size(); ++i) {
      const Instruction &in = instructions[i];
      if (in.number < 0) {
        made.f.Delay(uint64_t(in.ns), in.waits);
        continue;
      }
      const uint32_t buffer = made.f.Arena(plan::F32, {in.elements});
      const uint32_t at = made.f.Communicate("g" + std::to_string(i), buffer, {}, in.waits);
      plan::Communicate *c =
          made.f.proto()->mutable_instructions(int(at))->mutable_communicate();
      c->set_source_op("all_reduce");
      c->mutable_nccl()->set_number(uint32_t(in.number));
    }
    return made;
  }
};

// Between 2 and 12 instructions, which wait for some before them and some of the step before. The
// numbers of NCCL are drawn: not every such step can end.
inline NcclStep DrawNcclStep(std::mt19937 &random) {
  NcclStep step;
  step.ranks = 2 + int(random() % 4);
  const int count = 2 + int(random() % 11);
  for (int i = 0; i < count; ++i) {
    NcclStep::Instruction &in = step.instructions.emplace_back();
    if (random() % 2 == 0) {
      in.elements = 1 + int64_t(random() % 4096);
      in.ns = TableNs(in.elements);
      in.number = 0;
      step.order.push_back(i);
    } else {
      in.ns = int64_t(random() % 40000);
    }
    for (int j = 0; j < count; ++j) {
      if (j < i && random() % 3 == 0) in.waits.push_back({uint32_t(j), 0});
      if (j >= i && random() % 4 == 0) in.waits.push_back({uint32_t(j), 1});
    }
    // What it has made is used up before it is made again.
    if (std::none_of(in.waits.begin(), in.waits.end(),
                     [&](const auto &w) { return int(w.instruction) == i; }))
      in.waits.push_back({uint32_t(i), 1});
  }
  // In most steps nearly as in the list.
  for (size_t k = 1; k < step.order.size(); ++k)
    if (random() % 4 == 0) std::swap(step.order[k - 1], step.order[k]);
  for (size_t k = 0; k < step.order.size(); ++k)
    step.instructions[size_t(step.order[k])].number = int(k);
  return step;
}

// When everything ends, of ranks whose compute takes `slower` times as long.
class NcclReference {
 public:
  NcclReference(const NcclStep &step, std::vector<double> slower)
      : step_(step), slower_(std::move(slower)) {}

  // Of instruction `i` in call `call` on a rank; nothing, if it waits for itself.
  std::optional<int64_t> End(int call, int i, int rank) {
    auto [it, is_new] = ends_.try_emplace({call, i, rank}, kOpen);
    if (!is_new) return it->second == kOpen ? std::nullopt : std::optional(it->second);
    const NcclStep::Instruction &in = step_.instructions[size_t(i)];
    std::optional<int64_t> begin = in.number < 0 ? Ready(call, i, rank) : 0;
    const auto after = [&](std::optional<int64_t> end) {
      begin = begin && end ? std::optional(std::max(*begin, *end)) : std::nullopt;
    };
    if (in.number < 0) {
      if (auto before = Before(call, i)) after(End(before->first, before->second, rank));
    } else {
      for (int r = 0; r < step_.ranks; ++r) after(Ready(call, i, r));
      const int count = int(step_.order.size());
      const int turn = call * count + in.number - 1;
      if (turn >= 0) after(End(turn / count, step_.order[size_t(turn % count)], rank));
    }
    if (!begin) return std::nullopt;
    const double slower = in.number < 0 ? slower_[size_t(rank)] : 1;
    return ends_[{call, i, rank}] = *begin + int64_t(double(in.ns) * slower + 0.5);
  }
  // Of a call on a rank.
  std::optional<int64_t> End(int call, int rank) {
    if (auto known = calls_.find({call, rank}); known != calls_.end()) return known->second;
    int64_t last = 0;
    for (int i = 0; i < int(step_.instructions.size()); ++i) {
      std::optional<int64_t> end = End(call, i, rank);
      if (!end) return std::nullopt;
      last = std::max(last, *end);
    }
    std::optional<int64_t> before = call == 0 ? 0 : End(call - 1, rank);
    if (!before) return std::nullopt;
    return calls_[{call, rank}] = std::max(last, *before);
  }
  std::optional<int64_t> End(int call) {
    int64_t last = 0;
    for (int r = 0; r < step_.ranks; ++r) {
      std::optional<int64_t> end = End(call, r);
      if (!end) return std::nullopt;
      last = std::max(last, *end);
    }
    return last;
  }

 private:
  static constexpr int64_t kOpen = -1;

  // What is on the compute stream before it.
  std::optional<std::pair<int, int>> Before(int call, int i) const {
    for (int j = i - 1; j >= 0; --j)
      if (step_.instructions[size_t(j)].number < 0) return std::pair(call, j);
    if (call == 0) return std::nullopt;
    for (int j = int(step_.instructions.size()) - 1;; --j)
      if (step_.instructions[size_t(j)].number < 0) return std::pair(call - 1, j);
  }
  std::optional<int64_t> Ready(int call, int i, int rank) {
    int64_t ready = 0;
    if (call >= 2) {  // two are under way at most
      std::optional<int64_t> retired = End(call - 2, rank);
      if (!retired) return std::nullopt;
      ready = *retired;
    }
    for (const FunctionBuilder::Wait &wait : step_.instructions[size_t(i)].waits) {
      if (int(wait.distance) > call) continue;
      std::optional<int64_t> end = End(call - int(wait.distance), int(wait.instruction), rank);
      if (!end) return std::nullopt;
      ready = std::max(ready, *end);
    }
    return ready;
  }

  const NcclStep &step_;
  const std::vector<double> slower_;
  std::map<std::tuple<int, int, int>, int64_t> ends_;
  std::map<std::pair<int, int>, int64_t> calls_;
};

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_NCCL_PLANS_H
