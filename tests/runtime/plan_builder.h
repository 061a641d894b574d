// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds plans by hand, without the compiler.
#ifndef COMMSCHED_TESTS_RUNTIME_PLAN_BUILDER_H
#define COMMSCHED_TESTS_RUNTIME_PLAN_BUILDER_H

#include <cstdint>
#include <initializer_list>
#include <string>
#include <tuple>
#include <vector>

#include "plan/plan.pb.h"

namespace commsched::testing {

// Expressions in rank and round.
plan::AffineExpr Constant(int64_t value);
plan::AffineExpr Rank();
plan::AffineExpr RoundNumber();
plan::AffineExpr operator+(const plan::AffineExpr &a, const plan::AffineExpr &b);
plan::AffineExpr operator*(const plan::AffineExpr &a, int64_t b);
plan::AffineExpr operator%(const plan::AffineExpr &a, int64_t b);
plan::AffineExpr operator/(const plan::AffineExpr &a, int64_t b);
plan::Side MakeSide(const plan::AffineExpr &begin, const plan::AffineExpr &count,
                    const plan::AffineExpr &peer,
                    const std::vector<plan::AffineExpr> &not_negative = {});

// Phases of an all-reduce over `nodes` ranks. The result is multiplied by
// `scale` (0: not at all).
std::vector<plan::Phase> RingAllReduce(int nodes, plan::Combine combine,
                                       double scale);
std::vector<plan::Phase> HalvingAllReduce(int nodes, plan::Combine combine,
                                          double scale);
// Every rank exchanges the whole tensor with its partner; `nodes` is a power
// of two.
std::vector<plan::Phase> DoublingAllReduce(int nodes, plan::Combine combine);

// One function under construction. Methods return the index of what they add.
class FunctionBuilder {
 public:
  explicit FunctionBuilder(plan::Function *function) : function_(function) {}

  uint32_t Arena(plan::ElementType element, std::vector<int64_t> shape);
  uint32_t Slot(bool next, uint32_t slot, plan::ElementType element,
                std::vector<int64_t> shape);
  uint32_t Batch(const std::string &name, plan::ElementType element,
                 std::vector<int64_t> shape);

  // Bytes of `parent` from `offset` on.
  uint32_t Part(uint32_t parent, uint64_t offset, plan::ElementType element,
                std::vector<int64_t> shape);

  struct Wait {
    uint32_t instruction;
    uint32_t distance = 0;
  };
  plan::Instruction *Add(const std::string &name, std::vector<Wait> waits);
  uint32_t Run(const std::string &symbol, std::vector<uint32_t> inputs,
               std::vector<uint32_t> outputs, std::vector<Wait> waits = {},
               bool deferred = false);
  uint32_t Copy(uint32_t source, uint32_t target, std::vector<Wait> waits = {},
                bool deferred = false);
  uint32_t Delay(uint64_t nanoseconds, std::vector<Wait> waits = {});
  uint32_t Communicate(const std::string &key, uint32_t buffer,
                       const std::vector<plan::Phase> &phases,
                       std::vector<Wait> waits = {});
  uint32_t Push(const std::string &key, uint32_t server, uint32_t block,
                uint32_t buffer, std::vector<Wait> waits = {});
  uint32_t Pull(const std::string &key, uint32_t server, uint32_t block,
                uint32_t buffer, std::vector<Wait> waits = {});
  // Parts are server, block and first row.
  using Parts = std::vector<std::tuple<uint32_t, uint32_t, int64_t>>;
  uint32_t PushRows(const std::string &key, const Parts &parts, uint64_t rows,
                    uint32_t ids, uint32_t values, std::vector<Wait> waits = {});
  uint32_t PullRows(const std::string &key, const Parts &parts, uint64_t rows,
                    uint32_t ids, uint32_t values, std::vector<Wait> waits = {});
  void Output(const std::string &metric, uint32_t buffer);
  plan::Function *proto() { return function_; }

 private:
  uint32_t AddBuffer(plan::Buffer buffer, plan::ElementType element,
                     std::vector<int64_t> shape);
  plan::Function *function_;
};

// A plan with a cluster of `nodes` and the test fragments as object 0.
class PlanBuilder {
 public:
  explicit PlanBuilder(int nodes);
  uint32_t Slot(const std::string &name, plan::ElementType element,
                std::vector<int64_t> shape, bool param = true);
  // The first one is the step.
  FunctionBuilder Function(const std::string &name);
  plan::Plan &proto() { return plan_; }
  std::string Bytes() const;  // of the plan file

 private:
  plan::Plan plan_;
};

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_PLAN_BUILDER_H
