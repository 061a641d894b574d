// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions in (rank, round) of a plan, flattened so that evaluating one
// touches no protobuf and needs no recursion.
#ifndef COMMSCHED_RUNTIME_LOADING_AFFINE_H
#define COMMSCHED_RUNTIME_LOADING_AFFINE_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plan/plan.pb.h"

namespace commsched::runtime {

class Affine {
 public:
  // Refuses unknown operations, missing operands, more than 1024 nodes.
  static absl::StatusOr<Affine> Parse(const plan::AffineExpr &expr);
  // Empty if it overflows, or divides by a number that is not positive.
  std::optional<int64_t> Evaluate(int64_t rank, int64_t round) const;
  // False: it is the same in all rounds.
  bool UsesRound() const;
  // If from a round to the next one it grows by `step` modulo `modulus`: these two.
  // Empty if that is not seen.
  std::optional<std::pair<int64_t, int64_t>> Turn() const;
  // Its value, if it is a plain number.
  std::optional<int64_t> Constant() const;

 private:
  struct Node {
    plan::AffineExpr::Op op;
    int64_t constant;
  };
  static absl::Status Append(const plan::AffineExpr &expr, int depth,
                             std::vector<Node> *nodes);
  std::vector<Node> nodes_;  // in postfix order
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_AFFINE_H
