// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans whose blocks of rows are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <tuple>

#include "runtime/loading/plan_loader.h"
#include "tests/cases.h"
#include "tests/runtime/row_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using testing::LoadError;
using testing::PlanBuilder;

std::string RowErrorAfter(std::function<void(plan::Plan &)> change) {
  PlanBuilder plan = testing::RowPlan({});
  change(plan.proto());
  return LoadError(plan.Bytes());
}

TEST(PlanRowsTest, NamesWhatIsWrong) {
  using ::testing::HasSubstr;
  EXPECT_EQ(RowErrorAfter([](plan::Plan &) {}), "");
  auto block = [](plan::Plan &p, int b) {
    return p.mutable_parameter_servers()->mutable_servers(1)->mutable_blocks(b);
  };
  // The function of block `b` of server 1.
  auto update = [&](plan::Plan &p, int b) {
    return p.mutable_functions(int(block(p, b)->function()));
  };
  EXPECT_THAT(RowErrorAfter([](plan::Plan &p) {
                p.set_required_features(uint64_t{1} << plan::FEATURE_PARAMETER_SERVER);
              }),
              HasSubstr("server 0: block 0 \"e.block0\": has single rows, which the plan's "
                        "required features do not say"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { block(p, 1)->set_row_chunk(5); }),
              HasSubstr("server 1: block 1 \"a\": the gradient must be of 5 rows, got: f32[3,2]"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { block(p, 1)->set_row_chunk(~0u); }),
              HasSubstr("the gradient must be of 4294967295 rows"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { block(p, 2)->set_row_chunk(3); }),
              HasSubstr("function @update.b.1 must write single rows only, and no slot"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { block(p, 1)->set_row_chunk(0); }),
              HasSubstr("server 1: block 1 \"a\""));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) {
                update(p, 1)->mutable_buffers(3)->set_batch("nothing");
              }),
              HasSubstr("batch argument \"nothing\" must have the name of a slot"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) {
                update(p, 1)->mutable_buffers(3)->set_batch("e.block1.m/1");
              }),
              HasSubstr("slot \"e.block1.m/1\" must have rows 0 to 5, got: f32[5,3] from row 6"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) {
                update(p, 1)->mutable_buffers(3)->mutable_type()->set_shape(1, 1);
              }),
              HasSubstr("batch argument \"a.m/1\" must match f32[3,2], got: f32[3,1]"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) {
                update(p, 1)->mutable_outputs(0)->set_metric("a.m/1");
              }),
              HasSubstr("output \"a.m/1\" is there twice"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { update(p, 1)->clear_outputs(); }),
              HasSubstr("function @update.a1 must have the output \"a/1\""));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) {
                update(p, 1)->mutable_outputs(0)->set_buffer(99);
              }),
              HasSubstr("there is no buffer 99"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { update(p, 1)->clear_instructions(); }),
              HasSubstr("nothing writes the new rows of \"a/1\""));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) {
                // The schedule of server 1 reads a.
                plan::Buffer *buffer =
                    p.mutable_functions(int(p.parameter_servers().servers(1).schedule()))
                        ->add_buffers();
                buffer->set_kind(plan::Buffer::SLOT_CURRENT);
                buffer->set_slot(block(p, 1)->slot());
                *buffer->mutable_type() = p.slots(int(buffer->slot())).type();
              }),
              HasSubstr("server 1: function @schedule.1 must not have slot"));
  // The trainer's instructions: 0 pulls rows of e, 3 pushes them, 6 pushes those of a.
  auto step = [](plan::Plan &p) { return p.mutable_functions(0); };
  auto push = [&](plan::Plan &p) {
    return step(p)->mutable_instructions(3)->mutable_push_rows();
  };
  auto pull = [&](plan::Plan &p) {
    return step(p)->mutable_instructions(0)->mutable_pull_rows();
  };
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->set_ids(99); }),
              HasSubstr("function @step: instruction 3 \"e\" (test.mlir:1:1): there is no buffer 99"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->set_ids(2); }),
              HasSubstr("ids must match i32[n] or i64[n], got: f32[7,3]"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->set_ids(1); }),
              HasSubstr("values must have a row for each of the 4 ids, got: f32[7,3]"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { pull(p)->set_values(2); }),
              HasSubstr("may only be read"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->set_rows(0); }),
              HasSubstr("a table must have 1 to"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->set_rows(~0ull); }),
              HasSubstr("a table must have 1 to"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->set_rows(12); }),
              HasSubstr("block 0 \"e.block1\" of server 1 must have rows 6 to 12 of the table, "
                        "got: 6 to 11"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->clear_parts(); }),
              HasSubstr("the first part of the table must begin at row 0"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->mutable_parts(1)->set_row_begin(0); }),
              HasSubstr("parts of the table must ascend and lie in its 11 rows, got: 0 to 0"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->mutable_parts(1)->set_row_begin(-3); }),
              HasSubstr("parts of the table must ascend"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->mutable_parts(1)->set_server(7); }),
              HasSubstr("there is no server 7"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->mutable_parts(1)->set_block(7); }),
              HasSubstr("server 1 has no block 7"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->mutable_parts(1)->set_block(2); }),
              HasSubstr("block 2 \"b\" of server 1 has no single rows"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->mutable_parts(1)->set_server(0); }),
              HasSubstr("block 0 \"e.block0\" of server 0 is there twice"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) { push(p)->set_key("a"); }),
              HasSubstr("key must match block 0 \"e.block0\" of server 0, got: \"a\""));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) {
                step(p)->mutable_buffers(6)->mutable_type()->set_element(plan::I32);
              }),
              HasSubstr("values must match f32[7,3] of block 0 \"e.block0\""));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) {
                *step(p)->mutable_instructions(6)->mutable_push_rows() = *push(p);
              }),
              HasSubstr("pushes block \"e.block0\" of server 0 2 times, must be 1"));
  EXPECT_THAT(RowErrorAfter([&](plan::Plan &p) {
                plan::Push *dense = step(p)->mutable_instructions(6)->mutable_push();
                dense->set_key("a");
                dense->set_server(1);
                dense->set_block(1);
              }),
              HasSubstr("block \"a\" takes single rows only"));
}

// Of pulls and pushes of single rows and of whole blocks alike: the most urgent of the step's on each block. What other
// functions do says nothing.
TEST(PlanRowsTest, OrderIsThatOfTheStepsMostUrgent) {
  size_t tells = 0, seeds = 0;
  for (Cases cases = casesOf(100); cases.first < cases.end; ++cases.first, ++seeds) {
    SCOPED_TRACE(cases.first);
    std::mt19937 random(cases.first);
    PlanBuilder plan = testing::RowPlan({});
    // Tables that are looked up again, after all else.
    plan::Function &step = *plan.proto().mutable_functions(0);
    for (uint32_t more = random() % 4; more > 0; --more)
      for (int i : {0, 4}) {
        if (random() % 2 == 0) continue;
        const plan::Instruction again = step.instructions(i);
        const auto last = uint32_t(step.instructions_size() - 1);
        plan::Instruction *in = step.add_instructions();
        *in = again;
        in->clear_dependences();
        in->add_dependences()->set_instruction(last);
      }
    std::map<std::tuple<bool, uint32_t, uint32_t>, int32_t> least;  // whether it is pulled; server; block
    for (plan::Function &function : *plan.proto().mutable_functions())
      for (plan::Instruction &in : *function.mutable_instructions()) {
        in.set_priority(int32_t(random() % 9) - 4);
        if (!function.is_step()) continue;
        const auto takes = [&](bool pull, uint32_t server, uint32_t block) {
          auto [at, fresh] = least.try_emplace({pull, server, block}, in.priority());
          if (in.priority() < at->second) at->second = in.priority();
        };
        for (const plan::TablePart &part : in.pull_rows().parts()) takes(true, part.server(), part.block());
        for (const plan::TablePart &part : in.push_rows().parts()) takes(false, part.server(), part.block());
        if (in.has_pull()) takes(true, in.pull().server(), in.pull().block());
        if (in.has_push()) takes(false, in.push().server(), in.push().block());
      }
    auto image = runtime::PlanImage::Load(plan.Bytes());
    ASSERT_TRUE(image.ok()) << image.status();
    const runtime::ServerOrder &order = (*image)->servers().order;
    for (const auto &[key, priority] : least) {
      const auto &[pull, server, block] = key;
      EXPECT_EQ(pull ? order.OfPull(server, block) : order.OfPush(server, block), priority)
          << (pull ? "pull" : "push") << " of block " << block << " of server " << server;
      // Of an order that goes by pushes, or by nothing.
      tells += pull && priority != 0 && order.OfPush(server, block) != priority;
    }
  }
  EXPECT_GT(tells, seeds);
}

}  // namespace
}  // namespace commsched
