// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/plan_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "runtime/cuda/issue_plan.h"
#include "runtime/loading/plan_loader.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/drawn_plan.h"
#include "tests/runtime/cuda/orders.h"

namespace commsched::runtime::cuda {
namespace {

using ByteSet = std::set<std::pair<uint32_t, uint64_t>>;  // memory and address

ByteSet BytesOf(const std::vector<Range> &ranges) {
  ByteSet bytes;
  for (const Range &range : ranges) {
    for (uint64_t i = 0; i < range.bytes; ++i) bytes.emplace(range.memory, range.begin + i);
  }
  return bytes;
}

// What a call of a function uses, from the plan's own words.
class Addresses {
 public:
  Addresses(const DrawnPlan &plan, int function, const SlotPlaces &slots)
      : f_(plan.proto.functions(function)), slots_(slots) {
    for (const plan::Buffer &b : f_.buffers()) {
      if (b.kind() == plan::Buffer::SLOT_NEXT) written_.insert(b.slot());
      if (b.kind() == plan::Buffer::BATCH && batches_.try_emplace(b.batch(), total_).second)
        total_ += (SizeOf(b) + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
    }
  }
  static uint64_t SizeOf(const plan::Buffer &b) { return uint64_t(b.type().shape(0)) * 4; }
  void Add(uint32_t buffer, uint64_t call, ByteSet *bytes) const {
    const plan::Buffer &b = f_.buffers(int(buffer));
    uint32_t memory = b.host() ? kHostArenaMemory : kArenaMemory;
    uint64_t begin = b.offset();
    if (b.kind() == plan::Buffer::BATCH) {
      memory = kBatchMemory;
      begin = batches_.at(b.batch()) + (call % 2) * total_;
    } else if (b.kind() != plan::Buffer::ARENA) {
      // The next value of a call is the current one of the call behind it.
      const uint64_t version = b.kind() == plan::Buffer::SLOT_NEXT ? call + 1 : call;
      memory = kSlotMemory;
      begin = slots_.slots[b.slot()].copies[written_.count(b.slot()) != 0 ? version % 2 : 0];
    }
    for (uint64_t i = 0; i < SizeOf(b); ++i) bytes->emplace(memory, begin + i);
  }

 private:
  const plan::Function &f_;
  const SlotPlaces &slots_;
  std::set<uint32_t> written_;
  std::map<std::string, uint64_t> batches_;
  uint64_t total_ = 0;
};

class PlanGraphTest : public ::testing::Test {
 protected:
  void Check(uint64_t seed) {
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawPlan(random);
    auto image = PlanImage::Load(plan.bytes);
    ASSERT_TRUE(image.ok()) << image.status() << " seed " << seed;
    auto program = (*image)->ForRank(int(random() % uint64_t(plan.ranks())));
    ASSERT_TRUE(program.ok()) << program.status() << " seed " << seed;
    const SlotPlaces slots = PlaceSlots(**program);
    ByteSet taken;
    for (size_t s = 0; s < slots.slots.size(); ++s) {
      for (uint64_t i = 0; i < (*program)->slots[s].type.bytes; ++i) {
        const auto &copies = slots.slots[s].copies;
        EXPECT_TRUE(taken.emplace(0, copies[0] + i).second);
        EXPECT_TRUE(!(*program)->slots[s].written || taken.emplace(0, copies[1] + i).second);
      }
    }
    for (int f = 0; f < plan.proto.functions_size(); ++f) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " function " << f);
      auto graph = MakePlanGraph(**program, (*program)->functions[size_t(f)], slots);
      ASSERT_TRUE(graph.ok()) << graph.status();
      CheckMemory(plan, f, slots, *graph);
      CheckOrders(plan, f, *graph);
    }
  }

  // The ranges of an op are the bytes of its instruction's buffers, and no others.
  void CheckMemory(const DrawnPlan &plan, int function, const SlotPlaces &slots,
                   const PlanGraph &graph) {
    const plan::Function &f = plan.proto.functions(function);
    const Addresses addresses(plan, function, slots);
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (size_t op = 0; op < graph.work.size(); ++op) {
      const DeviceOp &work = graph.work[op];
      EXPECT_EQ(work.call, op < graph.second_call ? 0u : 1u);
      for (const auto *ranges : {&graph.graph.ops[op].reads, &graph.graph.ops[op].writes}) {
        for (const Range &range : *ranges)
          EXPECT_TRUE(range.memory == kSlotMemory
                          ? range.begin + range.bytes <= slots.bytes
                          : range.begin + range.bytes <= graph.bytes[range.memory]);
      }
      if (work.instruction == DeviceOp::kNone) continue;
      EXPECT_TRUE(seen.emplace(work.call, work.instruction).second);
      const plan::Instruction &instruction = f.instructions(int(work.instruction));
      ByteSet reads, writes, written = BytesOf(graph.graph.ops[op].writes);
      if (instruction.has_copy()) {
        addresses.Add(instruction.copy().source(), work.call, &reads);
        addresses.Add(instruction.copy().target(), work.call, &writes);
      } else if (instruction.has_launch()) {
        for (uint32_t b : instruction.launch().inputs()) addresses.Add(b, work.call, &reads);
        for (uint32_t b : instruction.launch().outputs()) addresses.Add(b, work.call, &writes);
        // The scratch is that of its lane alone.
        std::erase_if(written, [](const auto &byte) { return byte.first == kScratchMemory; });
      } else {
        const plan::Communicate &c = instruction.communicate();
        if (c.has_input()) addresses.Add(c.input(), work.call, &reads);
        if (c.has_output()) addresses.Add(c.output(), work.call, &writes);
        if (!c.has_nccl() || !c.has_output()) addresses.Add(c.buffer(), work.call, &writes);
        if (c.has_nccl() && !c.has_input()) addresses.Add(c.buffer(), work.call, &reads);
      }
      EXPECT_EQ(BytesOf(graph.graph.ops[op].reads), reads) << graph.graph.ops[op].name;
      EXPECT_EQ(written, writes) << graph.graph.ops[op].name;
    }
    EXPECT_EQ(seen.size(), 2 * size_t(f.instructions_size()));
    // No two lanes share scratch.
    std::map<uint64_t, uint32_t> lanes;
    for (const Op &op : graph.graph.ops) {
      for (const Range &range : op.writes) {
        if (range.memory != kScratchMemory) continue;
        for (uint64_t i = 0; i < range.bytes; ++i)
          EXPECT_EQ(lanes.try_emplace(range.begin + i, op.lane).first->second, op.lane);
      }
    }
  }

  // With the waits that are planned, all that the plan orders is ordered: by brute force.
  void CheckOrders(const DrawnPlan &plan, int function, const PlanGraph &graph) {
    const plan::Function &f = plan.proto.functions(function);
    auto issue = PlanIssue(graph.graph);
    ASSERT_TRUE(issue.ok()) << issue.status();
    const Orders orders = Orders::Given(graph.graph, *issue);
    std::vector<std::vector<uint32_t>> ops(2, std::vector<uint32_t>(size_t(f.instructions_size())));
    std::vector<uint32_t> ends(2);
    for (uint32_t op = 0; op < graph.work.size(); ++op) {
      const DeviceOp &work = graph.work[op];
      if (work.instruction != DeviceOp::kNone) ops[work.call][work.instruction] = op;
      if (work.kind == DeviceOp::kEndOfCall) ends[work.call] = op;
    }
    const auto at = [&](uint32_t instruction, uint64_t call) {
      return OpOfRound{ops[call % 2][instruction], call / 2};
    };
    std::map<uint32_t, uint32_t> collectives;
    std::vector<uint32_t> in_order;
    for (uint32_t i = 0; i < uint32_t(f.instructions_size()); ++i) {
      const plan::Instruction &instruction = f.instructions(int(i));
      for (uint64_t call = 0; call < 2 * kRoundsOfOrders; ++call) {
        for (const plan::Dependence &d : instruction.dependences()) {
          if (call < d.distance()) continue;
          EXPECT_TRUE(orders.Has(at(d.instruction(), call - d.distance()), at(i, call)))
              << i << " after " << d.instruction() << " at distance " << d.distance();
        }
        // The call has not ended before it has.
        EXPECT_TRUE(orders.Has(at(i, call), {ends[call % 2], call / 2}));
      }
      if (instruction.communicate().has_nccl())
        collectives[instruction.communicate().nccl().number()] = i;
      if (instruction.has_launch() && !instruction.deferred()) in_order.push_back(i);
    }
    std::vector<uint32_t> calls;
    for (const auto &[number, i] : collectives) calls.push_back(i);
    for (const std::vector<uint32_t> *list : {&in_order, &calls}) {
      for (size_t i = 1; i < list->size(); ++i) {
        for (uint64_t call = 0; call < 2 * kRoundsOfOrders; ++call)
          EXPECT_TRUE(orders.Has(at((*list)[i - 1], call), at((*list)[i], call)));
      }
    }
  }
};

TEST_F(PlanGraphTest, WhatThePlanOrdersIsOrdered) {
  const Cases cases = casesOf(150);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) Check(seed);
}

}  // namespace
}  // namespace commsched::runtime::cuda
