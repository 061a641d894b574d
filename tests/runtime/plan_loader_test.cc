// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans that are damaged, or made for something else: an error, never a crash.
#include "runtime/loading/plan_loader.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "absl/strings/str_cat.h"
#include "plan/plan_file.h"
#include "tests/runtime/nccl_plans.h"
#include "tests/runtime/plan_mutator.h"
#include "tests/runtime/row_plan.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using testing::LoadError;
using testing::PlanBuilder;
using testing::Trainer;

std::string ErrorAfter(std::function<void(plan::Plan &)> change) {
  PlanBuilder plan = Trainer(4);
  change(plan.proto());
  return LoadError(plan.Bytes());
}

TEST(PlanLoaderTest, LoadsWhatIsWhole) { EXPECT_EQ(LoadError(Trainer(4).Bytes()), ""); }

TEST(PlanLoaderTest, TruncatedAtEveryByte) {
  std::string bytes = Trainer(2).Bytes();
  for (size_t n = 0; n < bytes.size(); n += n < 64 ? 1 : 97)
    EXPECT_NE(LoadError(bytes.substr(0, n)), "") << n;
  EXPECT_NE(LoadError(bytes + "x"), "");
}

TEST(PlanLoaderTest, FlippedBytesAreNoticed) {
  std::string bytes = Trainer(2).Bytes();
  for (size_t i = 0; i < bytes.size(); i += 131) {
    std::string damaged = bytes;
    damaged[i] = char(damaged[i] ^ 0x10);
    EXPECT_NE(LoadError(damaged), "") << i;
  }
}

TEST(PlanLoaderTest, NamesWhatIsWrong) {
  using ::testing::HasSubstr;
  auto step = [](plan::Plan &p) { return p.mutable_functions(0); };
  auto instruction = [&](plan::Plan &p, int i) { return step(p)->mutable_instructions(i); };
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) { p.set_schema_version(99); }),
              HasSubstr("schema version 99"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) { p.set_required_features(uint64_t{1} << 60); }),
              HasSubstr("features"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) { p.mutable_cluster()->set_nodes(0); }),
              HasSubstr("number of nodes"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) { p.mutable_cluster()->set_nodes(4097); }),
              HasSubstr("number of nodes must be 1 to 4096, got: 4097"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) { p.mutable_cluster()->set_devices(65); }),
              HasSubstr("devices of a node must be at most 64, got: 65"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { step(p)->mutable_buffers(4)->set_offset(1 << 20); }),
              HasSubstr("buffer 4: lies outside of the arena"));
  EXPECT_THAT(
      ErrorAfter([&](plan::Plan &p) { step(p)->mutable_buffers(4)->set_offset(~0ull - 8); }),
      HasSubstr("buffer 4: lies outside of the arena"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { step(p)->set_arena_bytes(~0ull); }),
              HasSubstr("arena is too large"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) {
                step(p)->mutable_buffers(4)->mutable_type()->set_shape(0, int64_t{1} << 62);
              }),
              HasSubstr("too large"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { step(p)->mutable_buffers(1)->set_slot(7); }),
              HasSubstr("there is no slot 7"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { step(p)->mutable_buffers(1)->set_slot(1); }),
              HasSubstr("must match slot \"n\" i32[]"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) {
                instruction(p, 3)->mutable_run()->set_symbol("nothing");
              }),
              HasSubstr("no symbol \"nothing\""));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { instruction(p, 3)->mutable_run()->set_object(3); }),
              HasSubstr("instruction 3 \"add\" (test.mlir:1:1): there is no code object 3"));
  EXPECT_THAT(
      ErrorAfter([&](plan::Plan &p) { instruction(p, 3)->mutable_run()->set_inputs(0, 77); }),
      HasSubstr("there is no buffer 77"));
  EXPECT_THAT(
      ErrorAfter([&](plan::Plan &p) { instruction(p, 3)->mutable_run()->set_outputs(0, 1); }),
      HasSubstr("which may only be read"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) {
                instruction(p, 1)->mutable_dependences(0)->set_distance(0);
              }),
              HasSubstr("does not come before it"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) {
                instruction(p, 1)->mutable_dependences(0)->set_distance(2);
              }),
              HasSubstr("distance"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { instruction(p, 1)->set_device(5); }),
              HasSubstr("there is no device 5"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { instruction(p, 1)->set_location(5); }),
              HasSubstr("there is no location 5"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { instruction(p, 1)->clear_kind(); }),
              HasSubstr("does nothing"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) {
                instruction(p, 2)->mutable_communicate()->mutable_phases(0)->set_chunks(0);
              }),
              HasSubstr("phase 0: number of parts"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) {
                instruction(p, 2)->mutable_communicate()->mutable_phases(0)->set_rounds(1u << 30);
              }),
              HasSubstr("rounds"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { step(p)->set_global_batch(65); }),
              HasSubstr("must match the global batch 65"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { step(p)->mutable_outputs(0)->set_buffer(1); }),
              HasSubstr("must have one element"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) { p.mutable_slots(1)->set_name("w"); }),
              HasSubstr("must be unique"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) { p.add_kernels()->set_kind("fourier"); }),
              HasSubstr("kernel 0 \"fourier\": unknown kind"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) { p.mutable_objects(0)->set_elf("no code"); }),
              HasSubstr("object 0: code object is not a usable ELF"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) {
                p.mutable_objects(0)->mutable_elf()->resize(p.objects(0).elf().size() / 2);
              }),
              HasSubstr("outside"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) { p.mutable_objects(0)->set_target("riscv64"); }),
              HasSubstr("another machine"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) {
                p.add_roles()->set_count(3);
              }),
              HasSubstr("must match the cluster's 4 nodes, got: 3"));
}

TEST(PlanLoaderTest, NamesWhatIsWrongWithMessagesBetweenRanks) {
  using ::testing::HasSubstr;
  // Two ends in the place of an exchange: `change` may break them.
  auto error_after = [](std::function<void(plan::Communicate *, plan::Communicate *)> change) {
    return ErrorAfter([&](plan::Plan &p) {
      plan::Function *step = p.mutable_functions(0);
      int at = 0;
      while (!step->instructions(at).has_communicate()) ++at;
      const int last = step->instructions_size();
      *step->add_instructions() = step->instructions(at);
      plan::Communicate *send = step->mutable_instructions(at)->mutable_communicate();
      plan::Communicate *recv = step->mutable_instructions(last)->mutable_communicate();
      for (plan::Communicate *end : {send, recv}) {
        end->clear_phases();
        plan::Phase *phase = end->add_phases();
        phase->set_chunks(1);
        phase->set_rounds(1);
        plan::Side *acts = end == send ? phase->mutable_send() : phase->mutable_recv();
        plan::Side *idles = end == send ? phase->mutable_recv() : phase->mutable_send();
        using testing::operator+, testing::operator%;
        const auto all = testing::Constant(1);
        const int by = end == send ? 1 : 3;
        *acts = testing::MakeSide(testing::Constant(0), all,
                                  (testing::Rank() + testing::Constant(by)) % 4);
        *idles = *acts;
        idles->add_condition()->mutable_expr()->set_constant(-1);
        end->set_source_op(end == send ? "send" : "recv");
      }
      send->set_other_end(uint32_t(last));
      recv->set_other_end(uint32_t(at));
      change(send, recv);
    });
  };
  using testing::operator+, testing::operator%;
  const plan::AffineExpr next_but_one = (testing::Rank() + testing::Constant(2)) % 4;
  EXPECT_EQ(error_after([](auto *, auto *) {}), "");
  EXPECT_THAT(error_after([](auto *send, auto *) { send->clear_other_end(); }),
              HasSubstr("which does not receive them"));
  EXPECT_THAT(error_after([](auto *, auto *recv) { recv->clear_other_end(); }),
              HasSubstr("has the key of instruction"));
  EXPECT_THAT(error_after([](auto *send, auto *) { send->set_other_end(0); }),
              HasSubstr("is not its other end"));
  EXPECT_THAT(error_after([](auto *send, auto *) { send->set_other_end(1000); }),
              HasSubstr("instruction 1000 is not its other end"));
  EXPECT_THAT(error_after([](auto *send, auto *) { send->mutable_phases(0)->set_rounds(2); }),
              HasSubstr("must have one part and one round"));
  EXPECT_THAT(error_after([](auto *, auto *recv) { recv->set_source_op("send"); }),
              HasSubstr("has the key of instruction"));
  EXPECT_THAT(error_after([](auto *send, auto *) {
                send->mutable_phases(0)->mutable_recv()->clear_condition();
              }),
              HasSubstr("must send or receive, not both"));
  EXPECT_THAT(error_after([&](auto *, auto *recv) {
                *recv->mutable_phases(0)->mutable_recv()->mutable_peer() =
                    next_but_one;
              }),
              HasSubstr("which does not receive them"));
}

TEST(PlanLoaderTest, NamesWhatIsWrongWithExclusiveExchanges) {
  using ::testing::HasSubstr;
  constexpr uint64_t kFeature = uint64_t{1} << plan::FEATURE_EXCLUSIVE;
  PlanBuilder plan = Trainer(4);
  plan::Function *step = plan.proto().mutable_functions(0);
  int at = 0;
  while (!step->instructions(at).has_communicate()) ++at;
  plan::Instruction *instruction = step->mutable_instructions(at);
  plan::Communicate *c = instruction->mutable_communicate();
  const uint64_t features = plan.proto().required_features();
  const auto patience = [&]() -> runtime::Time {
    auto image = runtime::PlanImage::Load(plan.Bytes());
    EXPECT_TRUE(image.ok()) << image.status();
    if (!image.ok()) return -1;
    for (int rank = 1; rank < 4; ++rank)
      EXPECT_EQ((*(*image)->ForRank(rank))->functions[0].instructions[size_t(at)].communicate.exclusive,
                (*(*image)->ForRank(0))->functions[0].instructions[size_t(at)].communicate.exclusive);
    return (*(*image)->ForRank(0))->functions[0].instructions[size_t(at)].communicate.exclusive;
  };
  EXPECT_EQ(patience(), 0);
  c->set_exclusive_ns(1);
  EXPECT_THAT(LoadError(plan.Bytes()), HasSubstr("an exclusive exchange needs FEATURE_EXCLUSIVE"));
  plan.proto().set_required_features(features | kFeature);
  for (uint64_t ns : {0, 1, 5'000'000, 1'000'000'000}) {
    c->set_exclusive_ns(ns);
    EXPECT_EQ(patience(), runtime::Time(ns));
  }
  for (uint64_t ns : {uint64_t{1'000'000'001}, uint64_t{1} << 63, ~uint64_t{0}}) {
    c->set_exclusive_ns(ns);
    EXPECT_THAT(LoadError(plan.Bytes()), HasSubstr(absl::StrCat("exclusive_ns must be at most 1000000000, got: ", ns)));
  }
  c->set_exclusive_ns(1);
  const plan::Communicate exchange = *c;
  c->clear_phases();
  EXPECT_THAT(LoadError(plan.Bytes()), HasSubstr("exclusive_ns must be of an exchange"));
  // An end of messages.
  *c = exchange;
  c->set_source_op("send");
  c->set_other_end(uint32_t(at));
  EXPECT_THAT(LoadError(plan.Bytes()), HasSubstr("exclusive_ns must be of an exchange"));
}

TEST(PlanLoaderTest, RefusesExclusiveExchangesByNccl) {
  const testing::NcclStep step{.instructions = {{.number = 0, .elements = 8}}, .order = {0}};
  testing::CostPlan plan = step.Plan();
  EXPECT_EQ(LoadError(plan.plan.Bytes()), "");
  plan.plan.proto().set_required_features(plan.plan.proto().required_features() | uint64_t{1} << plan::FEATURE_EXCLUSIVE);
  EXPECT_EQ(LoadError(plan.plan.Bytes()), "");
  plan.f.proto()->mutable_instructions(0)->mutable_communicate()->set_exclusive_ns(1);
  EXPECT_THAT(LoadError(plan.plan.Bytes()), ::testing::HasSubstr("exclusive_ns must be of an exchange"));
}

TEST(PlanLoaderTest, RefusesGroupsThatAreNone) {
  // The all-reduce of 4 ranks becomes that of the group.
  const auto error_after = [](std::vector<uint32_t> ranks, std::function<void(plan::Plan &)> change) {
    return ErrorAfter([&](plan::Plan &p) {
      plan::Function *step = p.mutable_functions(0);
      int at = 0;
      while (!step->instructions(at).has_communicate()) ++at;
      plan::Communicate *sum = step->mutable_instructions(at)->mutable_communicate();
      sum->clear_phases();
      for (plan::Phase &phase : testing::RingAllReduce(int(ranks.size()), plan::SUM, 0))
        *sum->add_phases() = phase;
      sum->set_group(0);
      plan::Group *group = p.add_groups();
      group->set_name("some");
      for (uint32_t rank : ranks) group->add_ranks(rank);
      p.set_required_features(p.required_features() | uint64_t{1} << plan::FEATURE_GROUPS);
      change(p);
    });
  };
  const auto nothing = [](plan::Plan &) {};
  EXPECT_EQ(error_after({3, 1}, nothing), "");
  EXPECT_THAT(error_after({3, 1, 0, 2, 4}, nothing),
              HasSubstr("group \"some\": ranks must be below 4, got: 4"));
  EXPECT_THAT(error_after({3, 1, 3}, nothing), HasSubstr("must have a rank once, got 3 twice"));
  EXPECT_THAT(error_after({3, 1}, [](plan::Plan &p) { p.mutable_groups(0)->clear_ranks(); }),
              HasSubstr("group \"some\": has no ranks"));
  EXPECT_THAT(error_after({3, 1}, [](plan::Plan &p) { p.clear_groups(); }),
              HasSubstr("there is no group 0"));
  EXPECT_THAT(error_after({3, 1}, [](plan::Plan &p) { p.mutable_groups(0)->add_ranks(0); }),
              HasSubstr("does not"));
  EXPECT_THAT(error_after({3, 1}, [](plan::Plan &p) {
                p.set_required_features(p.required_features() &
                                        ~(uint64_t{1} << plan::FEATURE_GROUPS));
              }),
              HasSubstr("a group needs FEATURE_GROUPS"));
}

TEST(PlanLoaderTest, RefusesRolesThatDoNotFit) {
  // Two ranks run the step, two a copy of it; each pair all-reduces.
  const auto error_after = [](std::function<void(plan::Plan &)> change) {
    return ErrorAfter([&](plan::Plan &p) {
      for (int pair = 0; pair < 2; ++pair) {
        plan::Group *group = p.add_groups();
        group->set_name(absl::StrCat("pair", pair));
        for (int i = 0; i < 2; ++i) group->add_ranks(uint32_t(2 * pair + i));
      }
      plan::Function copy = p.functions(0);
      copy.set_name("other");
      std::vector<plan::Function> functions(p.functions().begin(), p.functions().end());
      functions.insert(functions.begin() + 1, copy);
      p.clear_functions();
      for (const plan::Function &function : functions) *p.add_functions() = function;
      for (int pair = 0; pair < 2; ++pair) {
        for (plan::Instruction &in : *p.mutable_functions(pair)->mutable_instructions())
          if (in.has_communicate()) {
            in.mutable_communicate()->clear_phases();
            for (plan::Phase &phase : testing::RingAllReduce(2, plan::SUM, 0))
              *in.mutable_communicate()->add_phases() = phase;
            in.mutable_communicate()->set_group(uint32_t(pair));
          }
        plan::Role *role = p.add_roles();
        role->set_name(absl::StrCat("role", pair));
        role->set_count(2);
        role->add_functions(uint32_t(pair));
        for (int f = 2; f < p.functions_size(); ++f) role->add_functions(uint32_t(f));
        p.mutable_functions(pair)->set_global_batch(0);
      }
      p.set_required_features(p.required_features() | uint64_t{1} << plan::FEATURE_GROUPS |
                              uint64_t{1} << plan::FEATURE_ROLES);
      change(p);
    });
  };
  EXPECT_EQ(error_after([](plan::Plan &) {}), "");
  EXPECT_THAT(error_after([](plan::Plan &p) { p.mutable_roles(1)->set_count(1); }),
              HasSubstr("roles must have the cluster's 4 nodes together, got: 3"));
  EXPECT_THAT(error_after([](plan::Plan &p) { p.mutable_roles(1)->set_count(3); }),
              HasSubstr("role 1 \"role1\": must have 1 to 2 of the nodes, got: 3"));
  EXPECT_THAT(error_after([](plan::Plan &p) {
                p.mutable_roles(0)->set_count(4);
                p.set_required_features(p.required_features() &
                                        ~(uint64_t{1} << plan::FEATURE_ROLES));
              }),
              HasSubstr("several roles need FEATURE_ROLES"));
  EXPECT_THAT(error_after([](plan::Plan &p) { p.mutable_functions(1)->set_is_step(false); }),
              HasSubstr("must have one step, in front of its other functions"));
  EXPECT_THAT(error_after([](plan::Plan &p) { p.mutable_roles(1)->add_functions(0); }),
              HasSubstr("must have one step"));
  EXPECT_THAT(error_after([](plan::Plan &p) {
                p.add_functions()->set_name("more");
                p.mutable_roles(1)->add_functions(uint32_t(p.functions_size() - 1));
              }),
              HasSubstr("must have the functions that the first role has beside its step"));
  EXPECT_THAT(error_after([](plan::Plan &p) {
                p.mutable_functions(0)->set_global_batch(8);
                p.mutable_functions(1)->set_global_batch(6);
              }),
              HasSubstr("role 1 \"role1\": its global batch must be 8, got: 6"));
  EXPECT_THAT(error_after([](plan::Plan &p) {
                for (plan::Instruction &in : *p.mutable_functions(1)->mutable_instructions())
                  if (in.has_communicate()) in.mutable_communicate()->set_peer_group(0);
              }),
              HasSubstr("an exchange must be within a group"));
}

std::string ServerErrorAfter(std::function<void(plan::Plan &)> change) {
  PlanBuilder plan = testing::ServerPlan({});
  change(plan.proto());
  return LoadError(plan.Bytes());
}

TEST(PlanLoaderTest, NamesWhatIsWrongWithBlocksThatShareMessages) {
  using ::testing::HasSubstr;
  auto error = [](std::function<void(plan::Plan &, plan::ServerBlock *)> change) {
    PlanBuilder plan = testing::ServerPlan({.fused = true});
    change(plan.proto(),
           plan.proto().mutable_parameter_servers()->mutable_servers(1)->mutable_blocks(0));
    return LoadError(plan.Bytes());
  };
  EXPECT_EQ(error([](plan::Plan &, plan::ServerBlock *) {}), "");
  EXPECT_THAT(error([](plan::Plan &p, plan::ServerBlock *) {
                p.set_required_features(p.required_features() &
                                        ~(uint64_t{1} << plan::FEATURE_FUSED_BLOCKS));
              }),
              HasSubstr("has several slots, which the plan's required features do not say"));
  EXPECT_THAT(error([](plan::Plan &, plan::ServerBlock *block) {
                block->add_more_slots(block->slot());
              }),
              HasSubstr("must be one of its role, for it alone"));
  EXPECT_THAT(error([](plan::Plan &, plan::ServerBlock *block) {
                block->mutable_lists()->set_entries(1);
              }),
              HasSubstr("blocks of single rows, or of lists, share no messages"));
  EXPECT_THAT(error([](plan::Plan &, plan::ServerBlock *block) { block->set_row_chunk(1); }),
              HasSubstr("blocks of single rows, or of lists, share no messages"));
  uint32_t count = 0;
  auto add_count = [&count](plan::Plan &p, plan::ServerBlock *block) {
    for (uint32_t slot : p.roles(2).slots())
      if (p.slots(int(slot)).name() == "count") count = slot;
    block->add_more_slots(count);
  };
  EXPECT_THAT(error(add_count), HasSubstr("must write its slot "));
  EXPECT_THAT(error([&](plan::Plan &p, plan::ServerBlock *block) {
                add_count(p, block);
                plan::Buffer *buffer = p.mutable_functions(int(block->function()))->add_buffers();
                buffer->set_kind(plan::Buffer::SLOT_NEXT);
                buffer->set_slot(count);
              }),
              HasSubstr("what shares messages must have one element type, got: i32"));
  EXPECT_THAT(error([](plan::Plan &p, plan::ServerBlock *) {
                p.mutable_functions(0)->mutable_instructions(6)->mutable_pull()->set_buffer(3);
              }),
              HasSubstr("must match f32[15] of the server"));
}

TEST(PlanLoaderTest, NamesWhatIsWrongWithBlocksTogether) {
  using ::testing::HasSubstr;
  auto error = [](std::function<void(plan::Plan &)> change) {
    PlanBuilder plan = testing::ServerPlan({.together = true, .shared_loss = true});
    change(plan.proto());
    return LoadError(plan.Bytes());
  };
  EXPECT_EQ(error([](plan::Plan &) {}), "");
  EXPECT_THAT(error([](plan::Plan &p) {
                p.mutable_parameter_servers()->set_mode(plan::ParameterServers::ASYNC);
              }),
              HasSubstr("server 1: block 0 \"w.block1\": function @update.w.1 takes "
                        "several messages, which arrive one by one"));
  auto server = [](plan::Plan &p) {
    return p.mutable_parameter_servers()->mutable_servers(1);
  };
  EXPECT_THAT(error([&](plan::Plan &p) {
                server(p)->mutable_blocks(2)->set_function(server(p)->schedule());
              }),
              HasSubstr("must be one of its role, and not the schedule"));
  EXPECT_THAT(error([&](plan::Plan &p) {
                server(p)->mutable_blocks()->RemoveLast();
                server(p)->mutable_blocks()->RemoveLast();
              }),
              HasSubstr("must have no batch argument but the keys of its blocks, got: \"b\""));
  EXPECT_THAT(error([&](plan::Plan &p) {
                server(p)->mutable_blocks(2)->set_function(server(p)->blocks(0).function());
              }),
              HasSubstr("function @update.w.1 must have the batch argument \"loss\""));
}

TEST(PlanLoaderTest, NamesWhatIsWrongWithServers) {
  using ::testing::HasSubstr;
  EXPECT_EQ(ServerErrorAfter([](plan::Plan &) {}), "");
  auto server = [](plan::Plan &p, int k) {
    return p.mutable_parameter_servers()->mutable_servers(k);
  };
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) { server(p, 1)->set_role(9); }),
              HasSubstr("server 1: there is no role 9"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) { server(p, 1)->set_role(1); }),
              HasSubstr("or another server has it"));
  EXPECT_THAT(ServerErrorAfter([](plan::Plan &p) { p.mutable_roles(0)->set_count(3); }),
              HasSubstr("role 0 \"trainer\": must match the cluster's 2 nodes, got: 3"));
  EXPECT_THAT(ServerErrorAfter([](plan::Plan &p) { p.mutable_roles(1)->set_count(2); }),
              HasSubstr("role 1 \"server.0\": a server must be one process, got: 2"));
  EXPECT_THAT(ServerErrorAfter([](plan::Plan &p) { p.mutable_roles(1)->set_functions(0, 77); }),
              HasSubstr("role 1 \"server.0\": there is no function 77"));
  EXPECT_THAT(ServerErrorAfter([](plan::Plan &p) { p.add_roles()->set_count(2); }),
              HasSubstr("must be one role beside those of servers"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                server(p, 0)->mutable_blocks(0)->set_key("b");
              }),
              HasSubstr("must have the batch argument \"b\""));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                server(p, 1)->mutable_blocks(1)->set_key("w.block0");
              }),
              HasSubstr("server 1: block 1 \"w.block0\": key must be unique"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                server(p, 1)->mutable_blocks(1)->set_function(0);
              }),
              HasSubstr("function 0 must be one of its role"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                server(p, 1)->mutable_blocks(1)->set_slot(0);
              }),
              HasSubstr("slot 0 must be one of its role"));
  EXPECT_THAT(ServerErrorAfter([](plan::Plan &p) {
                p.mutable_parameter_servers()->set_mode(plan::ParameterServers::HALF_ASYNC);
                p.mutable_parameter_servers()->set_merge(0);
              }),
              HasSubstr("number of merged gradients must be 1 to"));
  EXPECT_THAT(ServerErrorAfter([](plan::Plan &p) { p.mutable_slots(3)->set_row_begin(1); }),
              HasSubstr("\"w\": the servers must hold all rows of it"));
  EXPECT_THAT(ServerErrorAfter([](plan::Plan &p) { p.mutable_slots(3)->set_row_begin(4); }),
              HasSubstr("slot 0 \"w\": must match \"w\" f32[7,4], got: f32[5,4]"));
  EXPECT_THAT(ServerErrorAfter([](plan::Plan &p) { p.mutable_slots(3)->set_row_begin(-1); }),
              HasSubstr("rows lie outside"));
  auto instruction = [](plan::Plan &p, int i) {
    return p.mutable_functions(0)->mutable_instructions(i);
  };
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                instruction(p, 3)->mutable_push()->set_server(2);
              }),
              HasSubstr("instruction 3 \"w.block0\" (test.mlir:1:1): there is no server 2"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                instruction(p, 3)->mutable_push()->set_block(7);
              }),
              HasSubstr("server 0 has no block 7"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                instruction(p, 3)->mutable_push()->set_key("x");
              }),
              HasSubstr("key must match block 0 \"w.block0\" of server 0, got: \"x\""));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                instruction(p, 3)->mutable_push()->set_buffer(6);
              }),
              HasSubstr("must match f32[3,4] of the server, got: f32[5,4]"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                *instruction(p, 4)->mutable_push() = instruction(p, 3)->push();
              }),
              HasSubstr("pushes block \"w.block0\" of server 0 2 times, must be 1"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) {
                instruction(p, 6)->mutable_pull()->set_buffer(0);
              }),
              HasSubstr("may only be read"));
  auto buffer = [](plan::Plan &p, int i) {
    return p.mutable_functions(0)->mutable_buffers(i);
  };
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) { buffer(p, 10)->set_offset(52); }),
              HasSubstr("lies outside of buffer 6"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) { buffer(p, 10)->set_offset(~0ull); }),
              HasSubstr("lies outside of buffer 6"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) { buffer(p, 10)->set_offset(2); }),
              HasSubstr("is not aligned to its elements"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) { buffer(p, 10)->set_parent(10); }),
              HasSubstr("must come before its parts"));
  EXPECT_THAT(ServerErrorAfter([&](plan::Plan &p) { buffer(p, 10)->set_parent(9); }),
              HasSubstr("must come before its parts and be none"));
}

// How many of `count` plans with one to three fields changed are refused.
int RefusedMutants(const PlanBuilder &original, uint32_t count) {
  int refused = 0;
  for (uint32_t seed = 0; seed < count; ++seed) {
    PlanBuilder plan = original;
    testing::PlanMutator mutator(seed);
    for (uint32_t i = 0; i <= seed % 3; ++i) mutator.Mutate(&plan.proto());
    refused += LoadError(plan.Bytes()).empty() ? 0 : 1;
  }
  return refused;
}

// Most changes matter.
TEST(PlanLoaderTest, MutatedFieldsNeverCrashTheLoader) {
  PlanBuilder original = Trainer(4);
  plan::Kernel *kernel = original.proto().add_kernels();
  kernel->set_kind("matmul");
  for (int i = 0; i < 3; ++i) {
    plan::KernelTensor *t = kernel->add_operands();
    t->set_element(plan::F32);
    for (int d = 0; d < 2; ++d) t->add_dims(4), t->add_strides(d == 0 ? 4 : 1);
  }
  EXPECT_GT(RefusedMutants(original, 2000), 500);
}

TEST(PlanLoaderTest, MutatedServersNeverCrashTheLoader) {
  EXPECT_GT(RefusedMutants(testing::ServerPlan({}), 1000), 300);
  EXPECT_GT(RefusedMutants(testing::ServerPlan({.fused = true}), 1000), 300);
}

TEST(PlanLoaderTest, MutatedRowsNeverCrashTheLoader) {
  EXPECT_GT(RefusedMutants(testing::RowPlan({}), 1000), 300);
}

TEST(PlanLoaderTest, RandomBytesBehindARightHeader) {
  std::mt19937 random(7);
  for (int run = 0; run < 500; ++run) {
    PlanBuilder plan = Trainer(2);
    std::string payload = plan.proto().SerializeAsString();
    for (int i = 0; i < 3; ++i) payload[random() % 600] = char(random());
    plan::Plan parsed;
    google::protobuf::LogSilencer silence;
    if (!parsed.ParseFromString(payload)) continue;
    // The code may have been hit: leave that to its own checks.
    for (int o = 0; o < parsed.objects_size(); ++o)
      if (o >= plan.proto().objects_size() ||
          parsed.objects(o).elf() != plan.proto().objects(o).elf())
        parsed.mutable_objects(o)->set_elf("");
    LoadError(plan::Serialize(parsed));
  }
}

}  // namespace
}  // namespace commsched
