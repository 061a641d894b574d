// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/chaos/ranks_case.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/loading/exchange.h"
#include "tests/runtime/plan_builder.h"

namespace commsched::runtime::core {
namespace {

struct Algorithm {
  std::vector<plan::Phase> phases;
  uint32_t slices = 1;
};

Algorithm RandomAlgorithm(int nodes, std::mt19937_64 &random) {
  Algorithm algorithm;
  switch (random() % 3) {
    case 0:
      algorithm.phases = testing::RingAllReduce(nodes, plan::SUM, 0);
      algorithm.slices = 1 + uint32_t(random() % 3);
      break;
    case 1:
      algorithm.phases = testing::HalvingAllReduce(nodes, plan::SUM, 0);
      break;
    default:
      if ((nodes & (nodes - 1)) != 0)
        algorithm.phases = testing::RingAllReduce(nodes, plan::SUM, 0);
      else
        algorithm.phases = testing::DoublingAllReduce(nodes, plan::SUM);
  }
  return algorithm;
}

// Around a ring; each rank begins with a part of its own.
std::vector<plan::Phase> Gather(int nodes) {
  using testing::operator+, testing::operator*, testing::operator%;
  plan::Phase phase;
  phase.set_chunks(uint32_t(nodes));
  phase.set_rounds(uint32_t(nodes - 1));
  const auto part = [&](int64_t behind) {
    return (testing::Rank() + testing::RoundNumber() * -1 + testing::Constant(nodes - behind)) %
           nodes;
  };
  *phase.mutable_send() =
      testing::MakeSide(part(0), testing::Constant(1),
                        (testing::Rank() + testing::Constant(1)) % nodes);
  *phase.mutable_recv() =
      testing::MakeSide(part(1), testing::Constant(1),
                        (testing::Rank() + testing::Constant(nodes - 1)) % nodes);
  return {phase};
}

// Of one rank; `order` is that of the gradients.
class Builder {
 public:
  Builder(const RanksCase &ranks, FunctionProgram *function)
      : ranks_(ranks), function_(*function) {
    function_.name = "step";
    function_.is_step = true;
    function_.in_order.resize(ranks_.streams.size());
  }
  InstructionProgram &Add(InstructionProgram::Kind kind, const char *name, uint32_t parameter,
                          uint32_t stream, std::vector<uint32_t> waits_same,
                          std::vector<uint32_t> waits_last) {
    InstructionProgram &i = function_.instructions.emplace_back();
    i.kind = kind;
    i.name = name;
    i.source = parameter;
    i.stream = stream;
    i.runs_on = ranks_.streams[stream];
    i.waits_same = std::move(waits_same);
    i.waits_last = std::move(waits_last);
    return i;
  }
  uint32_t last() const { return uint32_t(function_.instructions.size()) - 1; }
  void Finish() {
    auto &list = function_.instructions;
    for (uint32_t i = 0; i < list.size(); ++i) {
      for (uint32_t d : list[i].waits_same) list[d].wakes_same.push_back(i);
      for (uint32_t d : list[i].waits_last) list[d].wakes_next.push_back(i);
      for (const PartWait &d : list[i].part_waits_same)
        list[d.instruction].communicate.parts[d.part].wakes_same.push_back(i);
      if (list[i].on_stream() && !list[i].deferred &&
          list[i].runs_on.kind == StreamInfo::kCompute)
        function_.in_order[list[i].stream].push_back(i);
    }
  }

 private:
  const RanksCase &ranks_;
  FunctionProgram &function_;
};

FunctionProgram ProgramOf(const RanksCase &ranks, const std::vector<Algorithm> &algorithms,
                          int rank, int nodes, uint64_t seed) {
  std::mt19937_64 random(seed);  // the same for all ranks
  FunctionProgram function;
  Builder builder(ranks, &function);
  const uint32_t n = uint32_t(ranks.elements.size());
  const uint32_t computes = uint32_t(ranks.streams.size()) - (ranks.copies ? 1 : 0);
  const uint32_t each = ranks.copies ? 4 : 3;
  std::vector<uint32_t> order(n), ready(n), sums(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  // Of the call before: numbers of instructions as they will be.
  std::vector<std::vector<uint32_t>> before(n);
  uint32_t next = (each - 1) * n;
  for (uint32_t at = 0; at < n; ++at) {
    const uint32_t p = order[at];
    for (size_t part = 0; part < std::max<size_t>(1, ranks.parts[p].size()); ++part)
      before[p].push_back(next++);
    // Who writes where a message lies waits for all of it.
    if (!ranks.parts[p].empty()) before[p].push_back((each - 2) * n + at);
  }
  for (uint32_t p : order) {
    builder.Add(InstructionProgram::kDelay, kGradient, p, uint32_t(random() % computes), {},
                before[p]);
    ready[p] = builder.last();
  }
  for (uint32_t p : order)
    if (ranks.copies) {
      InstructionProgram &copy = builder.Add(InstructionProgram::kCopy, "copy", p, computes,
                                             {ready[p]}, before[p]);
      copy.priority = int32_t(random() % 3);
      ready[p] = builder.last();
    }
  for (uint32_t p : order) {
    InstructionProgram &sum =
        builder.Add(InstructionProgram::kCommunicate, "sum", p, 0, {ready[p]}, {});
    sums[p] = builder.last();
    CommunicateProgram &c = sum.communicate;
    c.key = absl::StrCat("p", p);
    c.source_op = "sum";
    c.key_id = p;
    c.element = ops::Element::kI32;
    const int64_t elements = ranks.elements[p] * (ranks.gathers[p] ? nodes : 1);
    const TensorInfo type{c.element, {elements}, elements, size_t(elements) * 4};
    c.slices = algorithms[p].slices;
    for (int64_t part : ranks.parts[p]) c.parts.push_back({size_t(part) * 4, {}, {}});
    c.first_part = function.parts;
    function.parts += uint32_t(c.parts.size());
    const int32_t priority = int32_t(random() % 4);
    plan::Group members;
    for (int member : ranks.groups[p]) members.add_ranks(uint32_t(member));
    const auto group = RankGroup::Parse(members, nodes);
    if (!group.ok()) std::abort();
    for (const plan::Phase &phase : algorithms[p].phases) {
      PhaseProgram &own = c.phases.emplace_back();
      own.combine = phase.combine() == plan::SUM ? ops::Combine::kSum : ops::Combine::kReplace;
      own.priority = priority;
      auto rounds = EvaluatePhase(phase, type, rank, *group, *group, ranks.parts[p]);
      if (!rounds.ok()) std::abort();
      own.rounds = *std::move(rounds);
      own.chunks = phase.chunks();
    }
    for (uint32_t slice = 0; slice < c.slices && !c.parts.empty(); ++slice)
      c.part_ends.push_back(PartEndsOf(c, slice));
  }
  for (uint32_t p : order)
    for (size_t part = 0; part < std::max<size_t>(1, ranks.parts[p].size()); ++part) {
      InstructionProgram &instruction =
          builder.Add(InstructionProgram::kDelay, kUpdate, p, uint32_t(random() % computes), {}, {});
      if (ranks.parts[p].empty())
        instruction.waits_same = {sums[p]};
      else
        instruction.part_waits_same = {{sums[p], uint32_t(part)}};
      instruction.deferred = random() % 3 == 0;
      instruction.priority = int32_t(random() % 3) - 1;
    }
  function.credit_bytes = random() % 2 == 0 ? 0 : 8 * (random() % 40);
  builder.Finish();
  return function;
}

}  // namespace

RanksCase RandomRanks(std::mt19937_64 &random) {
  RanksCase ranks;
  const int nodes = 2 + int(random() % 4);
  const size_t plans = random() % 3 == 0 ? 2 + random() % 2 : 1;
  ranks.steps = plans == 1 ? 1 + random() % 4 : 4 + random() % 20;
  for (size_t n = 1 + random() % 4; n != 0; --n)
    ranks.elements.push_back(1 + int64_t(random() % 60));
  ranks.copies = random() % 3 == 0;
  ranks.streams.resize(1 + random() % 2);
  if (ranks.copies) ranks.streams.push_back({StreamInfo::kToHost, 0});
  ranks.limits = {random() % 200, 300 + random() % 2000};
  ranks.packet_bytes = 4 << (random() % 6);
  for (size_t p = 0; p < ranks.elements.size(); ++p) {
    ranks.gathers.push_back(random() % 3 == 0);
    std::vector<int> &group = ranks.groups.emplace_back(size_t(nodes));
    std::iota(group.begin(), group.end(), 0);
    if (ranks.gathers.back() || random() % 3 != 0) continue;
    std::shuffle(group.begin(), group.end(), random);
    group.resize(2 + random() % size_t(nodes - 1));
  }
  for (size_t p = 0; p < ranks.elements.size(); ++p) {
    std::vector<int64_t> &parts = ranks.parts.emplace_back();
    if (ranks.gathers[p] || random() % 2 == 0) continue;
    for (int64_t left = ranks.elements[p]; left > 0; left -= parts.back())
      parts.push_back(parts.size() == 5 ? left : 1 + int64_t(random() % size_t(left)));
  }
  for (size_t plan = 0; plan < plans; ++plan) {
    std::vector<Algorithm> algorithms;
    for (size_t p = 0; p < ranks.gathers.size(); ++p)
      algorithms.push_back(ranks.gathers[p]
                               ? Algorithm{Gather(nodes), 1 + uint32_t(random() % 2)}
                               : RandomAlgorithm(int(ranks.groups[p].size()), random));
    const uint64_t seed = random();
    ranks.plans.emplace_back();
    for (int r = 0; r < nodes; ++r)
      ranks.plans.back().push_back(ProgramOf(ranks, algorithms, r, nodes, seed));
  }
  return ranks;
}

std::pair<size_t, size_t> RanksCase::RangeOf(uint32_t parameter, uint32_t part) const {
  const std::vector<int64_t> &all = parts[parameter];
  const int64_t first = std::accumulate(all.begin(), all.begin() + part, int64_t{0});
  return {size_t(first), size_t(first + all[part])};
}

uint32_t GradientOf(int rank, uint64_t call, uint32_t parameter, size_t element,
                    uint32_t value) {
  uint64_t hash = value;
  for (const uint64_t word : {uint64_t(rank), call, uint64_t(parameter), uint64_t(element)})
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return uint32_t(hash >> 29);
}

std::vector<std::vector<Tensor>> ParametersAfter(const RanksCase &ranks, uint64_t steps) {
  std::vector<Tensor> first;
  for (const int64_t elements : ranks.elements) first.emplace_back(size_t(elements), 1);
  std::vector<std::vector<Tensor>> values(size_t(ranks.nodes()), first);
  for (uint64_t call = 0; call < steps; ++call)
    for (uint32_t p = 0; p < first.size(); ++p)
      for (size_t e = 0; e < first[p].size(); ++e) {
        std::vector<uint32_t> gradients;  // by rank
        for (int r = 0; r < ranks.nodes(); ++r)
          gradients.push_back(GradientOf(r, call, p, e, values[size_t(r)][p][e]));
        uint32_t sum = 0;
        for (int member : ranks.groups[p]) sum += gradients[size_t(member)];
        for (int member : ranks.groups[p]) gradients[size_t(member)] = sum;
        for (size_t r = 0; r < values.size(); ++r)
          values[r][p][e] = Updated(values[r][p][e], gradients[r]);
      }
  return values;
}

}  // namespace commsched::runtime::core
