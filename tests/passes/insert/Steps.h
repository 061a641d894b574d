// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of parameter servers that run random steps have in common.

#ifndef COMMSCHED_TESTS_PASSES_INSERT_STEPS_H
#define COMMSCHED_TESTS_PASSES_INSERT_STEPS_H

#include <map>
#include <string>
#include <vector>

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "tests/passes/insert/TensorInterpreter.h"

namespace commsched::testing {

inline constexpr int kTrainers = 2, kSteps = 3;

using Named = std::map<std::string, Tensor>;

inline Tensor mean(const std::vector<Tensor> &parts) {
  Tensor result = parts[0];
  for (size_t i = 1; i < parts.size(); ++i)
    for (size_t j = 0; j < result.elements.size(); ++j)
      result.elements[j] += parts[i].elements[j];
  for (double &element : result.elements)
    element /= static_cast<double>(parts.size());
  return result;
}

inline std::string nameOf(mlir::func::FuncOp func, unsigned argument) {
  for (const char *attr : {"cs.param", "cs.state", "cs.batch"})
    if (auto name = func.getArgAttrOfType<mlir::StringAttr>(argument, attr))
      return name.str();
  return "";
}

inline std::vector<int64_t> shapeOf(mlir::Type type) {
  auto placed = mlir::dyn_cast<cs::PlacedType>(type);
  auto tensor = placed ? placed.getTensor() : mlir::cast<mlir::RankedTensorType>(type);
  return {tensor.getShape().begin(), tensor.getShape().end()};
}

} // namespace commsched::testing

#endif // COMMSCHED_TESTS_PASSES_INSERT_STEPS_H
