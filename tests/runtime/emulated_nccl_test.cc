// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives by NCCL in emulation: in their order, one at a time, each as long as the plan says,
// and not before all ranks have come to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "runtime/measure/trace.h"
#include "runtime/session/session.h"
#include "tests/cases.h"
#include "tests/runtime/nccl_plans.h"
#include "tests/runtime/trace_spans.h"

namespace commsched {
namespace {

using testing::NcclStep;
using testing::Span;

TEST(EmulatedNccl, GoesInOrderWhenAllHaveCome) {
  constexpr int kCalls = 3;
  for (uint32_t seed = casesOf(15).first; seed < casesOf(15).end; ++seed) {
    std::mt19937 random(seed);
    NcclStep step = testing::DrawNcclStep(random);
    while (step.order.empty() ||
           !testing::NcclReference(step, std::vector<double>(size_t(step.ranks), 1)).End(0))
      step = testing::DrawNcclStep(random);
    auto image = step.Plan().Load();
    ASSERT_NE(image, nullptr);
    runtime::TraceRecorder trace;
    runtime::SessionOptions options;
    options.emulate = true;
    options.trace = &trace;
    auto session = runtime::Session::InProcess(image, options);
    ASSERT_TRUE(session.ok()) << session.status();
    for (int call = 0; call < kCalls; ++call) ASSERT_TRUE((*session)->Call(0, nullptr).ok());
    ASSERT_TRUE((*session)->Drain().ok());
    std::map<int, std::vector<Span>> nccl;  // by rank
    std::map<int, std::map<std::string, std::vector<Span>>> spans;
    for (const Span &span : testing::SpansOf(trace)) {
      if (span.track == "NCCL") nccl[span.rank].push_back(span);
      spans[span.rank][span.name].push_back(span);
    }
    ASSERT_EQ(nccl.size(), size_t(step.ranks));
    for (auto &[rank, of_rank] : nccl) {
      ASSERT_EQ(of_rank.size(), kCalls * step.order.size()) << "seed " << seed;
      for (size_t i = 0; i < of_rank.size(); ++i) {
        const int instruction = step.order[i % step.order.size()];
        const NcclStep::Instruction &in = step.instructions[size_t(instruction)];
        EXPECT_EQ(of_rank[i].name, "g" + std::to_string(instruction)) << "seed " << seed;
        EXPECT_NEAR(of_rank[i].end - of_rank[i].begin, double(in.ns) / 1000, 0.01);
        if (i > 0) {
          EXPECT_GE(of_rank[i].begin + 0.01, of_rank[i - 1].end);
        }
        // On no rank does it begin before what it waits for has ended on all of them.
        for (const auto &wait : in.waits) {
          const size_t call = i / step.order.size();
          if (wait.distance > call || step.instructions[wait.instruction].number < 0) continue;
          for (auto &[other, of_other] : nccl)
            EXPECT_GE(of_rank[i].begin + 0.01,
                      spans[other]["g" + std::to_string(wait.instruction)][call - wait.distance].end)
                << "seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace commsched
