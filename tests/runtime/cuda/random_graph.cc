// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/random_graph.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/staging_ring.h"

namespace commsched::runtime::cuda {
namespace {

constexpr uint64_t kUnit = 8;  // bytes: an element of each type

class Maker {
 public:
  explicit Maker(std::mt19937_64 &random) : random_(random) {
    result_.ranks = 1 + int(Draw(3));
    arena_units_ = 8 + Draw(24);
    for (const auto &[name, kind] :
         {std::pair("compute", LaneKind::kCompute), std::pair("to_host", LaneKind::kToHost),
          std::pair("to_device", LaneKind::kToDevice), std::pair("nccl", LaneKind::kNccl)})
      result_.graph.lanes.push_back({name, kind});
    if (Draw(4) == 0) result_.graph.lanes.push_back({"compute2", LaneKind::kCompute});
  }

  GraphCase Make() {
    // Which pieces there are, from steps of collectives only to those of anything.
    const uint64_t reduced = Draw(4), messages = Draw(4), others = Draw(6);
    for (uint64_t left = 1 + Draw(10); left-- > 0;) {
      const uint64_t which = Draw(reduced + messages + others + 1);
      if (which < reduced)
        Reduced();
      else if (which < reduced + messages)
        Message();
      else
        Anything();
    }
    // Orders besides those of memory.
    for (uint64_t left = Draw(3); left-- > 0;) {
      const auto op = uint32_t(Draw(result_.graph.ops.size())),
                 on = uint32_t(Draw(result_.graph.ops.size()));
      result_.graph.ops[op].after.push_back({on, on >= op || Draw(3) == 0});
    }
    uint64_t least = kUnit, sum = 0;
    for (const GraphCase::Buffer &buffer : result_.buffers) {
      least = std::max(least, buffer.bytes);
      sum += buffer.bytes;
    }
    result_.memory = {arena_units_ * kUnit, 0};
    PlaceBuffers(&result_, least + (sum > least ? Draw(sum - least + 1) / kUnit * kUnit : 0));
    return std::move(result_);
  }

 private:
  uint64_t Draw(uint64_t below) { return random_() % below; }

  Range InArena(uint64_t most_units) {
    const uint64_t units = 1 + Draw(std::min(most_units, arena_units_));
    return {kArena, Draw(arena_units_ - units + 1) * kUnit, units * kUnit};
  }
  uint32_t Add(const std::string &name, uint32_t lane, std::vector<Range> reads,
               std::vector<Range> writes, OpWork work = {}) {
    result_.graph.ops.push_back({absl::StrCat(name, result_.graph.ops.size()),
                                 lane,
                                 std::move(reads),
                                 std::move(writes),
                                 {}});
    result_.work.push_back(work);
    return uint32_t(result_.graph.ops.size() - 1);
  }
  uint32_t ComputeLane() {
    return result_.graph.lanes.size() > 4 && Draw(3) == 0 &&
                   result_.graph.lanes[4].kind == LaneKind::kCompute
               ? 4
               : 0;
  }

  void Anything() {
    const auto ranges = [&](uint64_t most) {
      std::vector<Range> list;
      for (uint64_t left = Draw(most + 1); left-- > 0;) list.push_back(InArena(6));
      return list;
    };
    std::vector<Range> reads = ranges(3), writes = ranges(2);
    if (reads.empty() && writes.empty()) writes.push_back(InArena(6));
    // Kernels on the streams of copies are allowed as well.
    Add("op", Draw(4) == 0 ? uint32_t(1 + Draw(2)) : ComputeLane(), std::move(reads),
        std::move(writes));
  }

  void Reduced() {
    const auto ranks = uint64_t(result_.ranks);
    OpWork work{OpWork::kCollective};
    work.type = Draw(2) == 0 ? NcclType::kInt32 : NcclType::kInt64;
    work.reduction = Draw(4) == 0 ? NcclReduction::kMax : NcclReduction::kSum;
    const uint64_t element = work.type == NcclType::kInt32 ? 4 : 8;
    Range from = InArena(6), to = from;
    if (Draw(4) == 0 && 4 * ranks <= arena_units_ / 2) {
      // Of all and of a part of it, in the two halves of the arena.
      const uint64_t units = 1 + Draw(3), half = arena_units_ / 2 * kUnit;
      const Range part{kArena, 0, units * kUnit}, whole{kArena, half, ranks * units * kUnit};
      const bool gather = Draw(2) == 0;
      work.collective = gather ? Collective::Kind::kAllGather : Collective::Kind::kReduceScatter;
      from = gather ? part : whole;
      to = gather ? whole : part;
      work.count = units * kUnit / element;
    } else {
      work.count = from.bytes / element;
      if (Draw(4) == 0 && from.begin >= from.bytes)
        to.begin = Draw((from.begin - from.bytes) / kUnit + 1) * kUnit;
    }
    if (Draw(5) != 0) Add("backward", ComputeLane(), {InArena(4)}, {from});
    Add("reduce", 3, {from}, {to}, work);
    if (Draw(5) != 0) Add("update", ComputeLane(), {to, InArena(3)}, {InArena(3)});
  }

  void Message() {
    const Range gradient = InArena(5), back = InArena(5);
    if (Draw(4) != 0) Add("backward", ComputeLane(), {InArena(4)}, {gradient});
    const auto lane = uint32_t(result_.graph.lanes.size());
    result_.graph.lanes.push_back({absl::StrCat("message", lane), LaneKind::kHost});
    // Ranges of staging memory come with the places.
    const uint32_t out =
        Add("to_host", 1, {gradient}, {{kStaging, 0, gradient.bytes}}, {OpWork::kCopy});
    const uint32_t send = Add("send", lane, {{kStaging, 0, gradient.bytes}}, {}, {OpWork::kHost});
    result_.buffers.push_back({gradient.bytes, out, send});
    if (Draw(6) == 0) return;
    if (Draw(3) == 0) Anything();
    const uint32_t receive = Add("receive", lane, {}, {{kStaging, 0, back.bytes}}, {OpWork::kHost});
    const uint32_t in = Add("to_device", 2, {{kStaging, 0, back.bytes}}, {back}, {OpWork::kCopy});
    result_.buffers.push_back({back.bytes, receive, in});
    if (Draw(4) != 0) Add("update", ComputeLane(), {back, InArena(3)}, {InArena(3)});
  }

  std::mt19937_64 &random_;
  uint64_t arena_units_ = 0;
  GraphCase result_;
};

}  // namespace

void PlaceBuffers(GraphCase *graph_case, uint64_t ring) {
  StagingRing places(ring, kUnit);
  for (const GraphCase::Buffer &buffer : graph_case->buffers) {
    const uint64_t place = *places.Place(buffer.bytes);
    graph_case->graph.ops[buffer.fill].writes.front().begin = place;
    graph_case->graph.ops[buffer.use].reads.front().begin = place;
  }
  graph_case->memory[kStaging] = ring;
}

GraphCase RandomGraph(std::mt19937_64 &random) { return Maker(random).Make(); }

}  // namespace commsched::runtime::cuda
