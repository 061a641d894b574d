// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs ops on tensors one element after the other, in double precision: slow,
// and simple enough to be believed. Any structured linalg op, and the few
// others that the tests of --insert-dist-comm use.

#ifndef COMMSCHED_TESTS_PASSES_INSERT_TENSORINTERPRETER_H
#define COMMSCHED_TESTS_PASSES_INSERT_TENSORINTERPRETER_H

#include <cstdint>
#include <map>
#include <vector>

#include "mlir/IR/Operation.h"

namespace commsched::testing {

/// Row-major; a scalar, of any kind, has no dimensions and one element.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> elements;
  bool operator==(const Tensor &) const = default;

  static Tensor zeros(std::vector<int64_t> shape);
  int64_t rowElements() const;
  Tensor rows(int64_t begin, int64_t end) const;
};

/// Values by their SSA value.
class Environment {
public:
  void set(mlir::Value value, Tensor tensor) {
    values[value.getAsOpaquePointer()] = std::move(tensor);
  }
  const Tensor &get(mlir::Value value) const {
    return values.at(value.getAsOpaquePointer());
  }

private:
  std::map<void *, Tensor> values;
};

/// Computes the results of `op`, which must not be a terminator. Ends the
/// program at an op that it does not know.
void interpret(mlir::Operation &op, Environment &environment);

} // namespace commsched::testing

#endif // COMMSCHED_TESTS_PASSES_INSERT_TENSORINTERPRETER_H
