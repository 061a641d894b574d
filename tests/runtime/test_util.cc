// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/test_util.h"

#include <algorithm>

namespace commsched::testing {

std::string LoadError(const std::string &bytes) {
  auto image = runtime::PlanImage::Load(bytes);
  if (!image.ok()) return std::string(image.status().message());
  for (int r = 0; r < std::min((*image)->nodes(), 8); ++r)
    if (auto program = (*image)->ForRank(r); !program.ok())
      return std::string(program.status().message());
  for (int k = 0; k < std::min(int((*image)->servers().servers.size()), 8); ++k)
    if (auto program = (*image)->ForServer(k); !program.ok())
      return std::string(program.status().message());
  return "";
}

PlanBuilder Trainer(int nodes, bool deferred, bool halving) {
  PlanBuilder plan(nodes);
  uint32_t w = plan.Slot("w", plan::F32, {kTrainerSize});
  uint32_t n = plan.Slot("n", plan::I32, {}, false);
  auto f = plan.Function("step");
  uint32_t x = f.Batch("x", plan::F32, {1, kTrainerSize});
  uint32_t wc = f.Slot(false, w, plan::F32, {kTrainerSize});
  uint32_t wn = f.Slot(true, w, plan::F32, {kTrainerSize});
  uint32_t nc = f.Slot(false, n, plan::I32, {});
  uint32_t g = f.Arena(plan::F32, {kTrainerSize});
  uint32_t loss = f.Arena(plan::F32, {});
  // Instructions: 0 loss, 1 gradient, 2 all_reduce, 3 update.
  f.Run("sum", {nc, wc}, {loss}, {{3, 1}, {0, 1}});
  uint32_t copy = f.Copy(x, g, {{3, 1}, {2, 1}});
  auto phases = halving ? HalvingAllReduce(nodes, plan::SUM, 1.0 / nodes)
                        : RingAllReduce(nodes, plan::SUM, 1.0 / nodes);
  uint32_t comm = f.Communicate("w", g, phases, {{copy}});
  f.Run("add", {nc, wc, g}, {wn}, {{comm}, {0, 1}, {3, 1}}, deferred);
  f.Output("loss", loss);
  f.proto()->set_global_batch(uint64_t(nodes));
  auto eval = plan.Function("eval");
  uint32_t we = eval.Slot(false, w, plan::F32, {kTrainerSize});
  uint32_t ne = eval.Slot(false, n, plan::I32, {});
  uint32_t total = eval.Arena(plan::F32, {});
  eval.Run("sum", {ne, we}, {total});
  eval.Output("total", total);
  return plan;
}

void StartTrainer(runtime::Session *session, float value) {
  std::vector<float> w(kTrainerSize, value);
  std::vector<int> n = {kTrainerSize};
  ASSERT_TRUE(session->SetSlot(0, BytesOf(w)).ok());
  ASSERT_TRUE(session->SetSlot(1, BytesOf(n)).ok());
}

void RunTrainer(runtime::Session *session, int first, int count) {
  int nodes = session->image().nodes();
  for (int step = first; step < first + count; ++step) {
    auto x = std::make_shared<std::vector<float>>();
    for (int i = 0; i < nodes * kTrainerSize; ++i)
      x->push_back(1.0f / float(i + 3 * step + 1));
    runtime::GlobalBatch batch;
    batch.Set("x", BytesOf(*x), x);
    auto call = session->Call(0, &batch);
    ASSERT_TRUE(call.ok()) << call.status();
  }
}

}  // namespace commsched::testing
