// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/server_plan.h"

#include <utility>

namespace commsched::testing {
namespace {

uint32_t PartSlot(PlanBuilder *plan, const std::string &name,
                  const std::string &whole, int64_t row, int64_t rows, bool param) {
  uint32_t slot = plan->Slot(name, plan::F32, {rows, kColumns}, param);
  plan->proto().mutable_slots(int(slot))->set_part_of(whole);
  plan->proto().mutable_slots(int(slot))->set_row_begin(row);
  return slot;
}

// Pushes and pulls of a trainer whose gradients of server 1 lie side by side.
void AddFusedMessages(FunctionBuilder *f, uint32_t n, uint32_t wc, uint32_t wn, uint32_t bn,
                      uint32_t x, uint32_t y, uint32_t loss) {
  const uint64_t row = kColumns * 4;
  const int64_t shared = 2 * kColumns + kBias;
  uint32_t all = f->Arena(plan::F32, {kWeights + kBias});
  uint32_t fresh = f->Arena(plan::F32, {shared});
  uint32_t g = f->Part(all, 0, plan::F32, {kRows, kColumns});
  uint32_t gb = f->Part(all, kWeights * 4, plan::F32, {kBias});
  uint32_t g0 = f->Part(all, 0, plan::F32, {3, kColumns});
  uint32_t g1 = f->Part(all, 3 * row, plan::F32, {shared});
  // Instructions 0 loss, 1 copy, 2 gradient, 3 and 4 pushes, 5 and 6 pulls, 7 and 8 copies
  // to where the values belong.
  f->Run("sum", {n, wc}, {loss}, {{5, 1}, {7, 1}, {0, 1}});
  f->Copy(y, gb, {{4, 1}});
  f->Run("add", {n, wc, x}, {g}, {{3, 1}, {4, 1}, {5, 1}, {7, 1}});
  f->Push("w.block0", 0, 0, g0, {{2}});
  f->Push("w.block1+1", 1, 0, g1, {{1}, {2}, {6, 1}});
  f->Pull("w.block0.new", 0, 0, f->Part(wn, 0, plan::F32, {3, kColumns}),
          {{3}, {0, 1}, {2, 1}, {5, 1}});
  f->Pull("w.block1+1.new", 1, 0, fresh, {{4}, {6, 1}, {7, 1}, {8, 1}});
  f->Copy(f->Part(fresh, 0, plan::F32, {2, kColumns}),
          f->Part(wn, 3 * row, plan::F32, {2, kColumns}), {{6}, {0, 1}, {2, 1}, {7, 1}});
  f->Copy(f->Part(fresh, 2 * row, plan::F32, {kBias}), bn, {{6}, {8, 1}});
}

}  // namespace

PlanBuilder ServerPlan(const ServerPlanOptions &options) {
  PlanBuilder plan(options.trainers);
  plan::Plan &proto = plan.proto();
  proto.set_required_features(uint64_t{1} << plan::FEATURE_PARAMETER_SERVER);
  uint32_t w = plan.Slot("w", plan::F32, {kRows, kColumns});
  uint32_t b = plan.Slot("b", plan::F32, {kBias});
  uint32_t nw = plan.Slot("n.w", plan::I32, {}, false);
  plan::Role *trainer = proto.add_roles();
  trainer->set_name("trainer");
  trainer->set_count(uint32_t(options.trainers));
  trainer->add_functions(0);
  for (uint32_t s : {w, b, nw}) trainer->add_slots(s);

  // The step of a trainer.
  auto f = plan.Function("step");
  uint32_t x = f.Batch("x", plan::F32, {1, kWeights});
  const int64_t words = 2 * int64_t(options.lists);
  uint32_t y = options.lists != 0 ? f.Batch("y", plan::I32, {1, words})
                                  : f.Batch("y", plan::F32, {1, kBias});
  uint32_t wc = f.Slot(false, w, plan::F32, {kRows, kColumns});
  uint32_t wn = f.Slot(true, w, plan::F32, {kRows, kColumns});
  uint32_t bn = f.Slot(true, b, plan::F32, {kBias});
  uint32_t n = f.Slot(false, nw, plan::I32, {});
  if (options.fused) {
    uint32_t loss = f.Arena(plan::F32, {});
    f.Output("loss", loss);
    AddFusedMessages(&f, n, wc, wn, bn, x, y, loss);
  } else {
    uint32_t g = f.Arena(plan::F32, {kRows, kColumns});
    uint32_t gb =
        options.lists != 0 ? f.Arena(plan::I32, {1, words}) : f.Arena(plan::F32, {kBias});
    uint32_t loss = f.Arena(plan::F32, {});
    uint32_t mean_loss = options.shared_loss ? f.Arena(plan::F32, {}) : loss;
    f.Output("loss", mean_loss);
    const int64_t row = kColumns * 4;
    uint32_t g0 = f.Part(g, 0, plan::F32, {3, kColumns});
    uint32_t g1 = f.Part(g, 3 * row, plan::F32, {2, kColumns});
    uint32_t w0 = f.Part(wn, 0, plan::F32, {3, kColumns});
    uint32_t w1 = f.Part(wn, 3 * row, plan::F32, {2, kColumns});
    // Instructions 0 loss, 1 copy, 2 gradient, 3..5 pushes, 6..8 pulls.
    std::vector<FunctionBuilder::Wait> after = {{6, 1}, {7, 1}, {0, 1}};
    if (options.shared_loss) after.push_back({9, 1});
    f.Run("sum", {n, wc}, {loss}, after);
    uint32_t copy = f.Copy(y, gb, {{5, 1}});
    uint32_t grad = f.Run("add", {n, wc, x}, {g}, {{3, 1}, {4, 1}, {6, 1}, {7, 1}});
    uint32_t p0 = f.Push("w.block0", 0, 0, g0, {{grad}});
    uint32_t p1 = f.Push("w.block1", 1, 0, g1, {{grad}});
    uint32_t p2 = f.Push("b", 1, 1, gb, {{copy}});
    f.Pull("w.block0.new", 0, 0, w0, {{p0}, {0, 1}, {grad, 1}, {6, 1}});
    f.Pull("w.block1.new", 1, 0, w1, {{p1}, {0, 1}, {grad, 1}, {7, 1}});
    f.Pull("b.new", 1, 1, bn, {{p2}, {8, 1}});
    if (options.shared_loss) {
      uint32_t p3 = f.Push("loss", 1, 2, loss, {{0}, {10, 1}});
      f.Pull("loss.mean", 1, 2, mean_loss, {{p3}, {10, 1}});
    }
  }
  f.proto()->set_global_batch(uint64_t(options.trainers));

  plan::ParameterServers *servers = proto.mutable_parameter_servers();
  servers->set_mode(options.mode);
  servers->set_merge(options.merge);
  servers->set_mean(options.mean);
  for (int k = 0; k < 2; ++k) {
    const std::string suffix = std::to_string(k);
    plan::Role *role = proto.add_roles();
    role->set_name("server." + suffix);
    role->set_count(1);
    plan::Server *server = servers->add_servers();
    server->set_role(uint32_t(proto.roles_size() - 1));
    auto slot = [&](uint32_t s) {
      role->add_slots(s);
      return s;
    };
    auto function = [&](const std::string &name) {
      role->add_functions(uint32_t(proto.functions_size()));
      return plan.Function(name + suffix);
    };
    int64_t rows = k == 0 ? 3 : 2, first = k == 0 ? 0 : 3;
    uint32_t part = slot(PartSlot(&plan, "w.block" + suffix, "w", first, rows, true));
    uint32_t m = slot(PartSlot(&plan, "w.momentum.block" + suffix, "w.momentum", first,
                               rows, false));
    uint32_t count = slot(plan.Slot("count", plan::I32, {}, false));
    uint32_t rate = slot(plan.Slot("rate", plan::F32, {}, false));
    proto.mutable_slots(int(rate))->set_internal(true);
    uint32_t size = slot(plan.Slot(k == 0 ? "n.3" : "n.2", plan::I32, {}, false));
    {
      server->set_has_schedule(true);
      server->set_schedule(uint32_t(proto.functions_size()));
      auto s = function("schedule.");
      uint32_t c0 = s.Slot(false, count, plan::I32, {});
      uint32_t c1 = s.Slot(true, count, plan::I32, {});
      s.Run("schedule", {c0}, {c1, s.Slot(true, rate, plan::F32, {})});
    }
    uint32_t update = uint32_t(proto.functions_size());
    FunctionBuilder u = function("update.w.");
    uint32_t bias_gradient = 0;
    {
      plan::ServerBlock *block = server->add_blocks();
      const bool fused = options.fused && k == 1;
      block->set_key("w.block" + suffix + (fused ? "+1" : ""));
      block->set_pull_key(block->key() + ".new");
      block->set_function(update);
      block->set_slot(part);
      std::vector<int64_t> shape = {rows, kColumns};
      // Not in the order of the blocks.
      if (options.together && k == 1) bias_gradient = u.Batch("b", plan::F32, {kBias});
      uint32_t gradient = 0;
      if (fused) {
        const uint32_t all =
            u.Batch(block->key(), plan::F32, {rows * kColumns + kBias});
        gradient = u.Part(all, 0, plan::F32, shape);
        bias_gradient = u.Part(all, uint64_t(rows) * kColumns * 4, plan::F32, {kBias});
      } else {
        gradient = u.Batch(block->key(), plan::F32, shape);
      }
      u.Run("momentum",
            {u.Slot(false, size, plan::I32, {}), gradient,
             u.Slot(false, part, plan::F32, shape), u.Slot(false, m, plan::F32, shape),
             u.Slot(false, rate, plan::F32, {})},
            {u.Slot(true, part, plan::F32, shape), u.Slot(true, m, plan::F32, shape)});
    }
    if (k == 0) continue;
    uint32_t bias = slot(plan.Slot("b", plan::F32, {kBias}));
    uint32_t nb = slot(plan.Slot("n.b", plan::I32, {}, false));
    auto descend = [&] {
      u.Run("descend",
            {u.Slot(false, nb, plan::I32, {}), bias_gradient,
             u.Slot(false, bias, plan::F32, {kBias})},
            {u.Slot(true, bias, plan::F32, {kBias})});
    };
    if (options.fused) {
      server->mutable_blocks(0)->add_more_slots(bias);
      proto.set_required_features(proto.required_features() |
                                  uint64_t{1} << plan::FEATURE_FUSED_BLOCKS);
      descend();
      continue;
    }
    plan::ServerBlock *block = server->add_blocks();
    block->set_key("b");
    block->set_pull_key("b.new");
    block->set_slot(bias);
    if (options.lists != 0) {
      block->mutable_lists()->set_entries(options.lists);
      block->mutable_lists()->set_values(plan::F32);
      proto.set_required_features(proto.required_features() |
                                  uint64_t{1} << plan::FEATURE_SPARSE_SERVERS);
    }
    if (!options.together) {
      update = uint32_t(proto.functions_size());
      u = function("update.b.");
      bias_gradient = u.Batch("b", plan::F32, {kBias});
    }
    block->set_function(update);
    descend();
    if (!options.shared_loss) continue;
    uint32_t mean = slot(plan.Slot("#loss.mean", plan::F32, {}, false));
    proto.mutable_slots(int(mean))->set_internal(true);
    block = server->add_blocks();
    block->set_key("loss");
    block->set_pull_key("loss.mean");
    block->set_function(uint32_t(proto.functions_size()));
    block->set_slot(mean);
    block->set_mean(true);
    auto hand_back = function("loss.");
    hand_back.Copy(hand_back.Batch("loss", plan::F32, {}),
                   hand_back.Slot(true, mean, plan::F32, {}));
  }
  return plan;
}

}  // namespace commsched::testing
