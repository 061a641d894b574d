// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/plan_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "plan/plan_file.h"
#include "runtime/cuda/issue_plan.h"
#include "runtime/loading/plan_loader.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/drawn_plan.h"
#include "tests/runtime/cuda/orders.h"
#include "tests/runtime/plan_mutator.h"

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
    const DrawnPlan plan = DrawPlan(random, {.servers = seed % 2 == 1});
    auto image = PlanImage::Load(plan.bytes);
    ASSERT_TRUE(image.ok()) << image.status() << " seed " << seed;
    auto program = (*image)->ForRank(int(random() % uint64_t(plan.ranks())));
    ASSERT_TRUE(program.ok()) << program.status() << " seed " << seed;
    const SlotPlaces slots = PlaceSlots(**program);
    ByteSet taken;
    for (size_t s = 0; s < slots.slots.size(); ++s) {
      EXPECT_EQ(slots.slots[s].held, s < plan.slots);
      for (uint64_t i = 0; i < (*program)->slots[s].type.bytes && s < plan.slots; ++i) {
        const auto &copies = slots.slots[s].copies;
        EXPECT_TRUE(taken.emplace(0, copies[0] + i).second);
        EXPECT_TRUE(!(*program)->slots[s].written || taken.emplace(0, copies[1] + i).second);
      }
    }
    for (int f = 0; f < plan.functions; ++f) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " function " << f);
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
      } else if (instruction.has_push()) {
        addresses.Add(instruction.push().buffer(), work.call, &reads);
      } else if (instruction.has_pull()) {
        addresses.Add(instruction.pull().buffer(), work.call, &writes);
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

  static void CheckServerMessages(const Program &program, const FunctionProgram &f, const SlotPlaces &slots,
                                  const PlanGraph &graph) {
    for (size_t op = 0; op < graph.work.size(); ++op) {
      const Op &ranges = graph.graph.ops[op];
      for (const auto *list : {&ranges.reads, &ranges.writes}) {
        for (const Range &range : *list)
          EXPECT_LE(range.begin + range.bytes,
                    range.memory == kSlotMemory ? slots.bytes : graph.bytes[range.memory]);
      }
      if (graph.work[op].kind != DeviceOp::kMessage) continue;
      const InstructionProgram &i = f.instructions[graph.work[op].instruction];
      if (!i.of_block()) continue;
      const BlockProgram &block = program.servers.servers.at(i.message.server).blocks.at(i.message.block);
      const uint64_t bytes = i.pushes() ? block.pushed().bytes : block.value.bytes;
      const std::vector<Range> &moved = i.pushes() ? ranges.reads : ranges.writes;
      EXPECT_TRUE((i.pushes() ? ranges.writes : ranges.reads).empty());
      EXPECT_EQ(moved.size(), bytes == 0 ? 0u : 1u);
      for (const Range &range : moved) {
        EXPECT_TRUE(IsPinned(range.memory));
        EXPECT_EQ(range.bytes, bytes);
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

TEST_F(PlanGraphTest, SeveralDevicesOfANodeAreRefusedWithWhatToWrite) {
  std::mt19937_64 random(1);
  auto image = PlanImage::Load(DrawPlan(random).bytes);
  ASSERT_TRUE(image.ok()) << image.status();
  auto program = (*image)->ForRank(0);
  ASSERT_TRUE(program.ok()) << program.status();
  Program changed = **program;
  changed.nodes = 2;
  FunctionProgram function = changed.functions[0];
  function.instructions.back().runs_on.device = 7;
  EXPECT_EQ(MakePlanGraph(changed, function, PlaceSlots(changed)).status(),
            absl::UnimplementedError(
                "function @step: each CUDA device must be a rank: a cluster of nodes = 16 devices = 1 "
                "nccl = <machine_ranks = 8>, got: nodes = 2 devices = 8"));
}

// Plans with servers, changed at random: what is loaded stays within its memory, and what is pushed and
// pulled is in pinned memory, of the size that the server's block has.
TEST_F(PlanGraphTest, MutatedPlansOfServersAreRefusedOrSound) {
  const Cases cases = casesOf(600);
  uint32_t loaded = 0, refused = 0;
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed / 4);
    DrawnPlan plan;
    do {
      plan = DrawPlan(random, {.nccl = false, .messages = false, .servers = true});
    } while (!plan.servers);
    commsched::testing::PlanMutator mutator(seed);
    for (uint32_t i = 0; i <= seed % 2; ++i) {
      plan::Function *step = plan.proto.mutable_functions(0);
      if (seed % 3 == 0)
        mutator.Mutate(&plan.proto);
      else
        mutator.Mutate(seed % 3 == 1 ? static_cast<google::protobuf::Message *>(step)
                                     : plan.proto.mutable_parameter_servers());
    }
    auto image = PlanImage::Load(plan::Serialize(plan.proto));
    auto program = image.ok() && (*image)->nodes() != 0
                       ? (*image)->ForRank(0)
                       : absl::StatusOr<std::shared_ptr<const Program>>(absl::InvalidArgumentError("refused"));
    if (!program.ok() || (*program)->cuda == nullptr) {
      ++refused;
      continue;
    }
    ++loaded;
    const SlotPlaces slots = PlaceSlots(**program);
    for (const FunctionProgram &f : (*program)->functions) {
      auto graph = MakePlanGraph(**program, f, slots);
      if (graph.ok()) CheckServerMessages(**program, f, slots, *graph);
    }
  }
  std::printf("%u loaded, %u refused\n", loaded, refused);
  EXPECT_GT(loaded, cases.end - cases.first > 100 ? 50u : 0u);
  EXPECT_GT(refused, cases.end - cases.first > 100 ? 50u : 0u);
}

}  // namespace
}  // namespace commsched::runtime::cuda
