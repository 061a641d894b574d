// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/affine.h"

#include <array>

namespace commsched::runtime {
namespace {

constexpr size_t kMaxNodes = 1024;
constexpr int kMaxDepth = 48;

// Rounds to minus infinity; b > 0.
int64_t FloorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b < 0 ? 1 : 0);
}

}  // namespace

absl::StatusOr<Affine> Affine::Parse(const plan::AffineExpr &expr) {
  Affine affine;
  if (absl::Status status = Append(expr, 0, &affine.nodes_); !status.ok())
    return status;
  return affine;
}

absl::Status Affine::Append(const plan::AffineExpr &expr, int depth,
                            std::vector<Node> *nodes) {
  if (depth > kMaxDepth || nodes->size() > kMaxNodes)
    return absl::InvalidArgumentError("an expression is too large");
  switch (expr.op()) {
    case plan::AffineExpr::CONSTANT:
    case plan::AffineExpr::RANK:
    case plan::AffineExpr::ROUND:
      break;
    case plan::AffineExpr::ADD:
    case plan::AffineExpr::MUL:
    case plan::AffineExpr::MOD:
    case plan::AffineExpr::FLOORDIV:
    case plan::AffineExpr::CEILDIV: {
      if (!expr.has_lhs() || !expr.has_rhs())
        return absl::InvalidArgumentError("an expression lacks an operand");
      absl::Status status = Append(expr.lhs(), depth + 1, nodes);
      if (status.ok()) status = Append(expr.rhs(), depth + 1, nodes);
      if (!status.ok()) return status;
      break;
    }
    default:
      return absl::InvalidArgumentError("an expression has an unknown operation");
  }
  nodes->push_back({expr.op(), expr.constant()});
  return absl::OkStatus();
}

std::optional<int64_t> Affine::Constant() const {
  if (nodes_.size() != 1 || nodes_[0].op != plan::AffineExpr::CONSTANT)
    return std::nullopt;
  return nodes_[0].constant;
}

std::optional<std::pair<int64_t, int64_t>> Affine::Turn() const {
  if (nodes_.size() < 3 || nodes_.back().op != plan::AffineExpr::MOD) return std::nullopt;
  // Of what is on the stack: by how much it grows, and its value if that is known.
  struct Value {
    int64_t step = 0;
    std::optional<int64_t> known;
  };
  std::vector<Value> stack;
  for (const Node &node : nodes_) {
    switch (node.op) {
      case plan::AffineExpr::CONSTANT:
        stack.push_back({0, node.constant});
        continue;
      case plan::AffineExpr::RANK:
        stack.push_back({0, std::nullopt});
        continue;
      case plan::AffineExpr::ROUND:
        stack.push_back({1, std::nullopt});
        continue;
      default:
        break;
    }
    const Value b = stack.back();
    stack.pop_back();
    Value &a = stack.back();
    const bool last = &node == &nodes_.back();
    if (last && b.known && *b.known > 0) return std::pair{a.step, *b.known};
    if (node.op == plan::AffineExpr::ADD) {
      if (__builtin_add_overflow(a.step, b.step, &a.step)) return std::nullopt;
    } else if (node.op == plan::AffineExpr::MUL && b.known) {
      if (__builtin_mul_overflow(a.step, *b.known, &a.step)) return std::nullopt;
    } else if (a.step != 0 || b.step != 0) {
      return std::nullopt;
    }
    a.known.reset();
  }
  return std::nullopt;
}

bool Affine::UsesRound() const {
  for (const Node &node : nodes_)
    if (node.op == plan::AffineExpr::ROUND) return true;
  return false;
}

std::optional<int64_t> Affine::Evaluate(int64_t rank, int64_t round) const {
  std::array<int64_t, kMaxDepth + 2> stack;
  size_t top = 0;
  for (const Node &node : nodes_) {
    switch (node.op) {
      case plan::AffineExpr::CONSTANT:
        stack[top++] = node.constant;
        continue;
      case plan::AffineExpr::RANK:
        stack[top++] = rank;
        continue;
      case plan::AffineExpr::ROUND:
        stack[top++] = round;
        continue;
      default:
        break;
    }
    int64_t b = stack[--top];
    int64_t a = stack[--top];
    int64_t value = 0;
    switch (node.op) {
      case plan::AffineExpr::ADD:
        if (__builtin_add_overflow(a, b, &value)) return std::nullopt;
        break;
      case plan::AffineExpr::MUL:
        if (__builtin_mul_overflow(a, b, &value)) return std::nullopt;
        break;
      default:
        if (b <= 0) return std::nullopt;
        if (node.op == plan::AffineExpr::FLOORDIV)
          value = FloorDiv(a, b);
        else if (node.op == plan::AffineExpr::CEILDIV)
          value = FloorDiv(a, b) + (a % b != 0 ? 1 : 0);
        else
          value = a % b + (a % b < 0 ? b : 0);
    }
    stack[top++] = value;
  }
  return stack[0];
}

}  // namespace commsched::runtime
