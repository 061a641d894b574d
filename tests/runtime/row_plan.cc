// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/row_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace commsched::testing {
namespace {

uint32_t PartSlot(PlanBuilder *plan, const std::string &name,
                  const std::string &whole, int64_t row, int64_t rows,
                  int64_t columns, bool param) {
  uint32_t slot = plan->Slot(name, plan::F32, {rows, columns}, param);
  plan->proto().mutable_slots(int(slot))->set_part_of(whole);
  plan->proto().mutable_slots(int(slot))->set_row_begin(row);
  return slot;
}

void BuildStep(PlanBuilder *plan, uint32_t e, uint32_t b, uint32_t ne, uint32_t na,
               uint32_t nw) {
  const FunctionBuilder::Parts of_e = {{0, 0, 0}, {1, kEBlock, kESplit}};
  const FunctionBuilder::Parts of_a = {{1, kABlock, 0}};
  {
    auto f = plan->Function("step");
    uint32_t i = f.Batch("i", plan::I32, {kEIds});
    uint32_t j = f.Batch("j", plan::I64, {kAIds});
    uint32_t x = f.Batch("x", plan::F32, {kEIds, kEColumns});
    uint32_t y = f.Batch("y", plan::F32, {1, kB});
    uint32_t rows_e = f.Arena(plan::F32, {kEIds, kEColumns});
    uint32_t rows_a = f.Arena(plan::F32, {kAIds, kAColumns});
    uint32_t ge = f.Arena(plan::F32, {kEIds, kEColumns});
    uint32_t ga = f.Arena(plan::F32, {kAIds, kAColumns});
    uint32_t gb = f.Arena(plan::F32, {kB});
    uint32_t loss = f.Arena(plan::F32, {});
    uint32_t n = f.Slot(false, ne, plan::I32, {});
    f.Output("loss", loss);
    f.PullRows("e", of_e, kERows, i, rows_e, {{0, 1}, {1, 1}, {2, 1}, {3, 1}});
    f.Run("sum", {n, rows_e}, {loss}, {{0}, {1, 1}});
    f.Run("add", {n, rows_e, x}, {ge}, {{0}, {3, 1}, {2, 1}});
    f.PushRows("e", of_e, kERows, i, ge, {{2}});
    f.PullRows("a", of_a, kARows, j, rows_a, {{4, 1}, {5, 1}, {6, 1}});
    f.Run("twice", {f.Slot(false, na, plan::I32, {}), rows_a}, {ga},
          {{4}, {6, 1}, {5, 1}});
    f.PushRows("a", of_a, kARows, j, ga, {{5}});
    f.Copy(y, gb, {{8, 1}, {7, 1}});
    f.Push("b", 1, kBBlock, gb, {{7}});
    f.Pull("b.new", 1, kBBlock, f.Slot(true, b, plan::F32, {kB}), {{8}, {9, 1}});
  }
  auto f = plan->Function("look");
  uint32_t i = f.Batch("i", plan::I32, {kEIds});
  uint32_t rows = f.Arena(plan::F32, {kEIds, kEColumns});
  uint32_t seen = f.Arena(plan::F32, {});
  f.Output("seen", seen);
  f.PullRows("e", of_e, kERows, i, rows);
  f.Run("sum", {f.Slot(false, ne, plan::I32, {}), rows}, {seen}, {{0}});
  auto g = plan->Function("whole");
  uint32_t all = g.Arena(plan::F32, {});
  g.Output("all", all);
  g.Run("sum",
        {g.Slot(false, nw, plan::I32, {}),
         g.Slot(false, e, plan::F32, {kERows, kEColumns})},
        {all});
}

}  // namespace

PlanBuilder RowPlan(const RowPlanOptions &options) {
  PlanBuilder plan(options.trainers);
  plan::Plan &proto = plan.proto();
  proto.set_required_features(uint64_t{1} << plan::FEATURE_PARAMETER_SERVER |
                              uint64_t{1} << plan::FEATURE_ROW_SPARSE);
  uint32_t e = plan.Slot("e", plan::F32, {kERows, kEColumns});
  uint32_t b = plan.Slot("b", plan::F32, {kB});
  uint32_t ne = plan.Slot("n.e", plan::I32, {}, false);
  uint32_t na = plan.Slot("n.a", plan::I32, {}, false);
  uint32_t nw = plan.Slot("n.w", plan::I32, {}, false);
  plan::Role *trainer = proto.add_roles();
  trainer->set_name("trainer");
  trainer->set_count(uint32_t(options.trainers));
  for (uint32_t f : {0, 1, 2}) trainer->add_functions(f);
  for (uint32_t s : {e, b, ne, na, nw}) trainer->add_slots(s);
  BuildStep(&plan, e, b, ne, na, nw);

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
    uint32_t count = slot(plan.Slot("count", plan::I32, {}, false));
    uint32_t rate = slot(plan.Slot("rate", plan::F32, {}, false));
    proto.mutable_slots(int(rate))->set_internal(true);
    {
      server->set_has_schedule(true);
      server->set_schedule(uint32_t(proto.functions_size()));
      auto s = function("schedule.");
      s.Run("schedule", {s.Slot(false, count, plan::I32, {})},
            {s.Slot(true, count, plan::I32, {}), s.Slot(true, rate, plan::F32, {})});
    }
    // A block of rows: `kinds` are the suffixes of the slots, the value first.
    auto table = [&](const std::string &name, const std::string &key, int64_t first,
                     int64_t rows, int64_t columns, uint32_t chunk,
                     const std::string &symbol,
                     const std::vector<std::string> &kinds, const std::string &size) {
      std::vector<uint32_t> slots;
      for (const std::string &kind : kinds)
        slots.push_back(slot(PartSlot(&plan, key + kind + "/" + suffix, name + kind,
                                      first, rows, columns, kind.empty())));
      uint32_t n = slot(plan.Slot(size, plan::I32, {}, false));
      plan::ServerBlock *block = server->add_blocks();
      block->set_key(key);
      block->set_pull_key(key + ".new");
      block->set_function(uint32_t(proto.functions_size()));
      block->set_slot(slots[0]);
      block->set_row_chunk(chunk);
      auto u = function("update." + name);
      const std::vector<int64_t> shape = {chunk, columns};
      std::vector<uint32_t> inputs = {u.Slot(false, n, plan::I32, {}),
                                      u.Batch(key, plan::F32, shape)};
      std::vector<uint32_t> outputs;
      for (uint32_t s : slots)
        inputs.push_back(u.Batch(proto.slots(int(s)).name(), plan::F32, shape));
      inputs.push_back(u.Slot(false, rate, plan::F32, {}));
      for (uint32_t s : slots) {
        outputs.push_back(u.Arena(plan::F32, shape));
        u.Output(proto.slots(int(s)).name(), outputs.back());
      }
      u.Run(symbol, inputs, outputs);
    };
    table("e", "e.block" + suffix, k == 0 ? 0 : kESplit,
          k == 0 ? kESplit : kERows - kESplit, kEColumns, kEChunk, "momentum",
          {"", ".m"}, "n.chunk.e");
    if (k == 0) continue;
    table("a", "a", 0, kARows, kAColumns, kAChunk, "adam", {"", ".m", ".v"},
          "n.chunk.a");
    uint32_t bias = slot(plan.Slot("b", plan::F32, {kB}));
    uint32_t nb = slot(plan.Slot("n.b", plan::I32, {}, false));
    plan::ServerBlock *block = server->add_blocks();
    block->set_key("b");
    block->set_pull_key("b.new");
    block->set_function(uint32_t(proto.functions_size()));
    block->set_slot(bias);
    auto u = function("update.b.");
    u.Run("descend",
          {u.Slot(false, nb, plan::I32, {}), u.Batch("b", plan::F32, {kB}),
           u.Slot(false, bias, plan::F32, {kB})},
          {u.Slot(true, bias, plan::F32, {kB})});
  }
  return plan;
}

std::vector<std::pair<std::string, int>> RowPlanSizes() {
  return {{"n.e", kEIds * kEColumns},
          {"n.a", kAIds * kAColumns},
          {"n.w", kERows * kEColumns},
          {"n.chunk.e", int(kEChunk) * kEColumns},
          {"n.chunk.a", int(kAChunk) * kAColumns},
          {"n.b", kB}};
}

RowBatch MakeRowBatch(int trainer, int step) {
  RowBatch batch;
  for (int k = 0; k < kEIds; ++k)
    batch.i.push_back((5 * k + 3 * trainer + 7 * step) % (kERows + 3) - 1);
  if (step % 3 == 0) batch.i[5] = batch.i[2];
  if (step % 4 == 3) batch.i.assign(kEIds, -1 - trainer);  // nothing of it counts
  for (int k = 0; k < kAIds; ++k) batch.j.push_back((k * k + trainer + step) % kARows);
  for (int k = 0; k < kEIds * kEColumns; ++k)
    batch.x.push_back(1.0f / float(k + 5 * step + 3 * trainer + 2));
  for (int k = 0; k < kB; ++k) batch.y.push_back(float((k + step) % 4 + 4 * trainer));
  return batch;
}

SparseRows SumRows(const std::vector<int64_t> &ids, const Floats &values, int rows,
                   int columns) {
  std::map<int64_t, Floats> sums;
  for (size_t r = 0; r < ids.size(); ++r) {
    if (ids[r] < 0 || ids[r] >= rows) continue;
    Floats row(values.begin() + long(r) * columns,
               values.begin() + long(r + 1) * columns);
    auto [sum, fresh] = sums.emplace(ids[r], row);
    for (int c = 0; c < columns && !fresh; ++c) sum->second[c] += row[c];
  }
  SparseRows out;
  for (const auto &[id, row] : sums) {
    out.ids.push_back(id);
    out.values.insert(out.values.end(), row.begin(), row.end());
  }
  return out;
}

SparseRows MeanRows(const std::vector<SparseRows> &of_trainers, int columns) {
  std::vector<int64_t> ids;
  Floats values;
  for (const SparseRows &own : of_trainers) {
    ids.insert(ids.end(), own.ids.begin(), own.ids.end());
    values.insert(values.end(), own.values.begin(), own.values.end());
  }
  SparseRows sum = SumRows(ids, values, 1 << 30, columns);
  if (of_trainers.size() > 1)
    for (float &v : sum.values) v *= float(1.0 / double(of_trainers.size()));
  return sum;
}

Floats MeanOf(const std::vector<Floats> &of_trainers) {
  Floats sum = of_trainers[0];
  for (size_t t = 1; t < of_trainers.size(); ++t)
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += of_trainers[t][k];
  if (of_trainers.size() > 1)
    for (float &v : sum) v *= float(1.0 / double(of_trainers.size()));
  return sum;
}

RowReference::RowReference() {
  for (size_t k = 0; k < e.size(); ++k) e[k] = 0.1f * float(k), em[k] = 0.25f;
  for (size_t k = 0; k < a.size(); ++k) a[k] = 1.0f - 0.2f * float(k);
  std::fill(am.begin(), am.end(), 0.5f);
  std::fill(av.begin(), av.end(), 0.125f);
  std::fill(b.begin(), b.end(), 64.0f);
}

Floats RowReference::LookE(const RowBatch &batch) const {
  Floats rows;
  for (int32_t id : batch.i)
    for (int c = 0; c < kEColumns; ++c)
      rows.push_back(e[size_t(std::clamp(id, 0, kERows - 1)) * kEColumns + size_t(c)]);
  return rows;
}

double RowReference::Loss(const RowBatch &batch) const {
  float sum = 0;
  for (float v : LookE(batch)) sum += v;
  return sum;
}

SparseRows RowReference::GradientE(const RowBatch &batch) const {
  Floats g = LookE(batch);
  for (size_t k = 0; k < g.size(); ++k) g[k] = g[k] + batch.x[k];
  return SumRows({batch.i.begin(), batch.i.end()}, g, kERows, kEColumns);
}

SparseRows RowReference::GradientA(const RowBatch &batch) const {
  Floats g;
  for (int64_t id : batch.j)
    for (int c = 0; c < kAColumns; ++c)
      g.push_back(2 * a[size_t(std::clamp<int64_t>(id, 0, kARows - 1)) * kAColumns +
                        size_t(c)]);
  return SumRows(batch.j, g, kARows, kAColumns);
}

void RowReference::UpdateE(const SparseRows &g, float rate) {
  for (size_t r = 0; r < g.ids.size(); ++r)
    for (size_t c = 0; c < kEColumns; ++c) {
      const size_t k = size_t(g.ids[r]) * kEColumns + c;
      em[k] = em[k] * 0.5f + g.values[r * kEColumns + c];
      e[k] = e[k] - rate * em[k];
    }
}

void RowReference::UpdateA(const SparseRows &g, float rate) {
  for (size_t r = 0; r < g.ids.size(); ++r)
    for (size_t c = 0; c < kAColumns; ++c) {
      const size_t k = size_t(g.ids[r]) * kAColumns + c;
      const float value = g.values[r * kAColumns + c];
      am[k] = 0.75f * am[k] + 0.25f * value;
      av[k] = 0.5f * av[k] + 0.5f * (value * value);
      a[k] = a[k] - rate * am[k] / (std::sqrt(av[k]) + 0.125f);
    }
}

void RowReference::UpdateB(const Floats &g) {
  for (size_t k = 0; k < b.size(); ++k) b[k] = b[k] - g[k] * 0.25f;
}

void RowReference::Step(const std::vector<RowBatch> &batches) {
  std::vector<SparseRows> ge, ga;
  std::vector<Floats> gb;
  for (const RowBatch &batch : batches) {
    ge.push_back(GradientE(batch));
    ga.push_back(GradientA(batch));
    gb.push_back(batch.y);
  }
  const float rate = Rate();
  UpdateE(MeanRows(ge, kEColumns), rate);
  UpdateA(MeanRows(ga, kAColumns), rate);
  UpdateB(MeanOf(gb));
}

}  // namespace commsched::testing
