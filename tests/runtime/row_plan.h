// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small plan with tables of which trainers push and pull single rows, built by
// hand, and what it must do, in plain loops.
#ifndef COMMSCHED_TESTS_RUNTIME_ROW_PLAN_H
#define COMMSCHED_TESTS_RUNTIME_ROW_PLAN_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/plan_builder.h"

namespace commsched::testing {

// Table "e" f32[11,3], rows 0..5 on server 0 and the others on server 1, with the
// momentum "e.m"; table "a" f32[5,2] on server 1, with Adam's "a.m" and "a.v";
// "b" f32[4] on server 1.
inline constexpr int kERows = 11, kEColumns = 3, kESplit = 6;
inline constexpr int kARows = 5, kAColumns = 2, kB = 4;
inline constexpr int kEIds = 7, kAIds = 4;  // of a trainer's batch
inline constexpr uint32_t kEChunk = 2, kAChunk = 3;
// Blocks of server 1; "e" is block 0 of server 0 as well.
inline constexpr uint32_t kEBlock = 0, kABlock = 1, kBBlock = 2;

struct RowPlanOptions {
  int trainers = 2;
  plan::ParameterServers::Mode mode = plan::ParameterServers::SYNC;
  uint32_t merge = 1;
  bool mean = true;
};

// A trainer looks rows e[i] and a[j] up, with batches i i32[7] and j i64[4]; the
// gradient of e[i] is e[i] + x, with batch x f32[7,3], that of a[j] is 2 a[j] and
// that of b is batch y f32[1,4]. Metric "loss" is the sum of e[i]. @look has the
// metric "seen", the sum of e[i] with batch i, and @whole the metric "all", the sum
// of e. Updates: m' = m / 2 + g, e' = e - rate m'; Adam as in fragments.c; b' = b -
// g / 4. rate is 1 / (2 + count), count of steps, from a schedule.
PlanBuilder RowPlan(const RowPlanOptions &options);

// Names and values of the state that holds sizes.
std::vector<std::pair<std::string, int>> RowPlanSizes();

using Floats = std::vector<float>;

// What one trainer puts into a step. Ids lie in and outside the tables.
struct RowBatch {
  std::vector<int32_t> i;
  std::vector<int64_t> j;
  Floats x, y;
};
RowBatch MakeRowBatch(int trainer, int step);

// Rows and what is to be added to them, by id ascending, without repetition.
struct SparseRows {
  std::vector<int64_t> ids;
  Floats values;
};
// Adds up rows of one id, in their order; ids from `rows` on are dropped.
SparseRows SumRows(const std::vector<int64_t> &ids, const Floats &values,
                   int rows, int columns);

struct RowReference {
  Floats e = Floats(kERows * kEColumns), em = Floats(kERows * kEColumns);
  Floats a = Floats(kARows * kAColumns), am = a, av = a;
  Floats b = Floats(kB);
  int count = 0;

  RowReference();
  Floats LookE(const RowBatch &batch) const;
  double Loss(const RowBatch &batch) const;
  SparseRows GradientE(const RowBatch &batch) const;
  SparseRows GradientA(const RowBatch &batch) const;
  float Rate() { return 1.0f / float(2 + count++); }
  void UpdateE(const SparseRows &g, float rate);
  void UpdateA(const SparseRows &g, float rate);
  void UpdateB(const Floats &g);
  // A synchronous step with the mean.
  void Step(const std::vector<RowBatch> &batches);
};
// The sum of some trainers' rows, in their order, times 1 / (their number).
SparseRows MeanRows(const std::vector<SparseRows> &of_trainers, int columns);
Floats MeanOf(const std::vector<Floats> &of_trainers);

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_ROW_PLAN_H
