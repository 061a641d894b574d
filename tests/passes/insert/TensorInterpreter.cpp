// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/passes/insert/TensorInterpreter.h"

#include <cmath>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "ir/Cs.h"

using namespace mlir;

namespace commsched::testing {

Tensor Tensor::zeros(std::vector<int64_t> shape) {
  int64_t n = 1;
  for (int64_t dim : shape)
    n *= dim;
  return {std::move(shape), std::vector<double>(n)};
}

int64_t Tensor::rowElements() const {
  return static_cast<int64_t>(elements.size()) / shape[0];
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  Tensor result{shape,
                {elements.begin() + begin * rowElements(),
                 elements.begin() + end * rowElements()}};
  result.shape[0] = end - begin;
  return result;
}

namespace {

std::vector<int64_t> shapeOrNone(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? std::vector<int64_t>(tensor.getShape().begin(),
                                       tensor.getShape().end())
                : std::vector<int64_t>();
}

double numberOf(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  return static_cast<double>(cast<IntegerAttr>(attribute).getInt());
}

Tensor constant(arith::ConstantOp op) {
  Tensor result = Tensor::zeros(shapeOrNone(op.getType()));
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  size_t i = 0;
  if (!dense)
    result.elements[0] = numberOf(op.getValue());
  else
    for (Attribute element : dense.getValues<Attribute>())
      result.elements[i++] = numberOf(element);
  return result;
}

int64_t indexOf(AffineMap map, ArrayRef<int64_t> point,
                const std::vector<int64_t> &shape) {
  int64_t index = 0;
  SmallVector<int64_t> coordinates = map.compose(point);
  for (auto [dim, coordinate] : llvm::zip(shape, coordinates))
    index = index * dim + coordinate;
  return index;
}

void structured(linalg::LinalgOp op, Environment &environment) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges(), point(ranges.size());
  std::vector<Tensor> operands;
  for (Value operand : op->getOperands())
    operands.push_back(environment.get(operand));
  Block *body = &op->getRegion(0).front();
  bool isEmpty = llvm::is_contained(ranges, 0);
  while (!isEmpty) {
    for (OpOperand &operand : op->getOpOperands()) {
      const Tensor &tensor = operands[operand.getOperandNumber()];
      AffineMap map = op.getMatchingIndexingMap(&operand);
      double element = tensor.elements[indexOf(map, point, tensor.shape)];
      environment.set(body->getArgument(operand.getOperandNumber()),
                      {{}, {element}});
    }
    for (Operation &inner : body->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        environment.set(index, {{}, {double(point[index.getDim()])}});
      else
        interpret(inner, environment);
    }
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Tensor &tensor = operands[init.getOperandNumber()];
      AffineMap map = op.getMatchingIndexingMap(&init);
      unsigned number = init.getOperandNumber() - op.getNumDpsInputs();
      Value made = body->getTerminator()->getOperand(number);
      tensor.elements[indexOf(map, point, tensor.shape)] =
          environment.get(made).elements[0];
    }
    size_t dim = point.size();
    while (dim > 0 && ++point[dim - 1] == ranges[dim - 1])
      point[--dim] = 0;
    if (dim == 0)
      break;
  }
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    environment.set(result, operands[op.getNumDpsInputs() + i]);
}

Tensor slice(tensor::ExtractSliceOp op, const Tensor &from) {
  Tensor result = Tensor::zeros(shapeOrNone(op.getType()));
  std::vector<int64_t> point(from.shape.size());
  for (double &element : result.elements) {
    int64_t index = 0;
    for (size_t dim = 0; dim < point.size(); ++dim)
      index = index * from.shape[dim] + op.getStaticOffset(dim) +
              point[dim] * op.getStaticStride(dim);
    element = from.elements[index];
    for (size_t dim = point.size();
         dim > 0 && ++point[dim - 1] == op.getStaticSize(dim - 1); --dim)
      point[dim - 1] = 0;
  }
  return result;
}

/// Row `ids[i]`, or the one nearest to it.
Tensor lookup(const Tensor &table, const Tensor &ids) {
  Tensor result = table.rows(0, 0);
  result.shape[0] = static_cast<int64_t>(ids.elements.size());
  for (double id : ids.elements) {
    auto at = static_cast<int64_t>(
        std::fmin(std::fmax(id, 0), static_cast<double>(table.shape[0] - 1)));
    Tensor row = table.rows(at, at + 1);
    result.elements.insert(result.elements.end(), row.elements.begin(),
                           row.elements.end());
  }
  return result;
}

Tensor segmentSum(const Tensor &ids, const Tensor &values, Tensor result) {
  int64_t width = result.rowElements();
  for (size_t i = 0; i < ids.elements.size(); ++i) {
    auto id = static_cast<int64_t>(ids.elements[i]);
    for (int64_t j = 0; id >= 0 && id < result.shape[0] && j < width; ++j)
      result.elements[id * width + j] +=
          values.elements[static_cast<int64_t>(i) * width + j];
  }
  return result;
}

bool elementwise(Operation &op, Environment &environment) {
  double (*unary)(double) = nullptr;
  double (*binary)(double, double) = nullptr;
  if (isa<math::TanhOp>(op))
    unary = [](double a) { return std::tanh(a); };
  else if (isa<arith::SIToFPOp, arith::IndexCastOp>(op))
    unary = [](double a) { return a; };
  else if (isa<arith::AddFOp, arith::AddIOp>(op))
    binary = [](double a, double b) { return a + b; };
  else if (isa<arith::SubFOp>(op))
    binary = [](double a, double b) { return a - b; };
  else if (isa<arith::MulFOp>(op))
    binary = [](double a, double b) { return a * b; };
  else
    return false;
  Tensor result = environment.get(op.getOperand(0));
  for (size_t i = 0; i < result.elements.size(); ++i)
    result.elements[i] =
        unary ? unary(result.elements[i])
              : binary(result.elements[i],
                       environment.get(op.getOperand(1)).elements[i]);
  environment.set(op.getResult(0), result);
  return true;
}

} // namespace

void interpret(Operation &op, Environment &environment) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return structured(linalgOp, environment);
  if (elementwise(op, environment))
    return;
  Value result = op.getResult(0);
  Tensor made = Tensor::zeros(shapeOrNone(result.getType()));
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    made = constant(constantOp);
  } else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                 tensor::ExtractOp, tensor::FromElementsOp>(op)) {
    made.elements = environment.get(op.getOperand(0)).elements;
    if (made.elements.size() != Tensor::zeros(made.shape).elements.size())
      llvm::report_fatal_error("interpreter: element of more than one");
  } else if (isa<tensor::SplatOp>(op)) {
    std::fill(made.elements.begin(), made.elements.end(),
              environment.get(op.getOperand(0)).elements[0]);
  } else if (auto rows = dyn_cast<cs::LookupOp>(op)) {
    made = lookup(environment.get(rows.getTable()),
                  environment.get(rows.getIds()));
  } else if (auto sum = dyn_cast<cs::SegmentSumOp>(op)) {
    made = segmentSum(environment.get(sum.getIds()),
                      environment.get(sum.getValues()), std::move(made));
  } else if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op)) {
    made = slice(extract, environment.get(extract.getSource()));
  } else if (!isa<tensor::EmptyOp>(op)) {
    llvm::report_fatal_error(llvm::Twine("interpreter: unknown op ") +
                             op.getName().getStringRef());
  }
  environment.set(result, std::move(made));
}

} // namespace commsched::testing
