// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Cs.h"

#include "ir/CsBytecode.h"
#include "ir/CsProblemOps.h"
#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "plan/limits.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

#include "ir/CsDialect.cpp.inc"

#include "ir/CsInterfaces.cpp.inc"

namespace {

/// Everything of the dialect may be inlined: a helper function of a training
/// step may mark gradients too.
struct CsInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

} // namespace

void CsDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "ir/CsOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/CsProblemOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/CsSparseOps.cpp.inc"
      >();
  addInterfaces<CsInliner>();
  addBytecodeInterface(*this);
}

/// `attr` belongs on a step whose values have been placed, of `level`.
static LogicalResult verifyOfPlacedStep(Operation *op, NamedAttribute attr, StringRef level) {
  StringRef name = attr.getName();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || !function->hasAttr(CsDialect::kStepAttr))
    return op->emitOpError() << "'" << name << "' belongs on the function "
                             << "with '" << CsDialect::kStepAttr << "'";
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (!isa<PlacedType>(type))
      return op->emitOpError() << "'" << name << "' belongs on a function of "
                               << level << ", got argument " << index
                               << " of type " << type;
  return success();
}

/// `attr` says how the communication of a step was scheduled.
static LogicalResult verifySchedule(Operation *op, NamedAttribute attr) {
  if (op->hasAttr(CsDialect::kStepAttr) && !isa<ScheduleAttr>(attr.getValue()))
    return op->emitOpError() << "'" << attr.getName().strref() << "' must be a #cs.schedule, got: "
                             << attr.getValue();
  return verifyOfPlacedStep(op, attr, "level 2");
}

/// `attr` says what becomes of the gradients of the workers, where that is no mean.
static LogicalResult verifyReduction(Operation *op, NamedAttribute attr) {
  auto reduction = dyn_cast<ReductionAttr>(attr.getValue());
  if (!reduction || reduction.getValue() != Reduction::sum)
    return op->emitOpError() << "'" << attr.getName().strref() << "' must be #cs<reduction sum>, got: "
                             << attr.getValue();
  return verifyOfPlacedStep(op, attr, "level 1 or 2");
}

/// `attr` says on how many devices of each node the step is.
static LogicalResult verifyStepDevices(Operation *op, NamedAttribute attr) {
  auto devices = dyn_cast<IntegerAttr>(attr.getValue());
  if (!devices || !devices.getType().isInteger(64) || devices.getInt() < 2 || devices.getInt() > kMaxDevices)
    return op->emitOpError() << "'" << attr.getName().strref() << "' must be an i64 of 2 to " << kMaxDevices
                             << ", got: " << attr.getValue();
  return verifyOfPlacedStep(op, attr, "level 1 or 2");
}

/// What goes by rows has as many as all results.
static LogicalResult verifyByRows(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  auto fragment = dyn_cast<FragmentOp>(op);
  if (!fragment || fragment.hasBody())
    return op->emitOpError() << "'" << name << "' belongs on a cs.fragment without a body";
  auto byRows = dyn_cast<DenseBoolArrayAttr>(attr.getValue());
  if (!byRows || byRows.size() != static_cast<int64_t>(op->getNumOperands()))
    return op->emitOpError() << "'" << name << "' must be an array<i1> of "
                             << op->getNumOperands() << ", got: " << attr.getValue();
  auto rowsOf = [](Value value) {
    RankedTensorType type = cast<PlacedType>(value.getType()).getTensor();
    return type.getRank() ? type.getDimSize(0) : -1;
  };
  int64_t rows = op->getNumResults() ? rowsOf(op->getResult(0)) : -1;
  bool alike = rows >= 0;
  for (Value result : op->getResults())
    alike &= rowsOf(result) == rows;
  for (auto [operand, own] : llvm::zip_equal(op->getOperands(), byRows.asArrayRef()))
    alike &= !own || rowsOf(operand) == rows;
  if (!alike)
    return op->emitOpError() << "'" << name
                             << "' needs results and inputs of as many rows";
  return success();
}

LogicalResult CsDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kStepAttr) {
    if (!isa<FunctionOpInterface>(op))
      return op->emitOpError() << "'" << name << "' belongs on a function";
    if (!isa<UnitAttr>(attr.getValue()))
      return op->emitOpError()
             << "'" << name << "' must be a unit attribute, got: "
             << attr.getValue();
    return success();
  }
  if (name == kServersAttr) {
    if (!op->hasAttr(kStepAttr))
      return op->emitOpError() << "'" << name << "' belongs on the function "
                               << "with '" << kStepAttr << "'";
    if (!isa<ServersAttr>(attr.getValue()))
      return op->emitOpError() << "'" << name << "' must be a #cs.servers, got: "
                               << attr.getValue();
    return success();
  }
  if (name == kScheduleAttr)
    return verifySchedule(op, attr);
  if (name == kGradientReductionAttr)
    return verifyReduction(op, attr);
  if (name == kDevicesAttr)
    return verifyStepDevices(op, attr);
  if (name == kNcclAttr) {
    if (!isa<StartOp>(op))
      return op->emitOpError() << "'" << name << "' belongs on a cs.start";
    if (!isa<NcclAttr>(attr.getValue()))
      return op->emitOpError() << "'" << name << "' must be a #cs.nccl, got: " << attr.getValue();
    return success();
  }
  if (name == kGlobalBatchAttr || name == kRankAttr || name == kServerAttr) {
    if (!isa<FunctionOpInterface>(op))
      return op->emitOpError() << "'" << name << "' belongs on a function";
    auto value = dyn_cast<IntegerAttr>(attr.getValue());
    int64_t least = name == kGlobalBatchAttr ? 1 : 0;
    if (!value || !value.getType().isInteger(64) || value.getInt() < least)
      return op->emitOpError() << "'" << name << "' must be an i64 of at least "
                               << least << ", got: " << attr.getValue();
    return success();
  }
  if (name == kCountAttr) {
    if (!isa<FunctionOpInterface>(op))
      return op->emitOpError() << "'" << name << "' belongs on a function";
    auto count = dyn_cast<IntegerAttr>(attr.getValue());
    if (!count || !count.getType().isInteger(64) || count.getInt() < 1 ||
        count.getInt() > kMaxNodes)
      return op->emitOpError() << "'" << name << "' must be an i64 of 1 to " << kMaxNodes
                               << ", got: " << attr.getValue();
    return success();
  }
  if (name == kByRowsAttr)
    return verifyByRows(op, attr);
  if (name == kParamAttr || name == kStateAttr || name == kBatchAttr ||
      name == kWorkerIndexAttr || name == kUpdatesAttr || name == kMetricAttr ||
      name == kRowsAttr || name == kRowSparseAttr)
    return op->emitOpError() << "'" << name
                             << "' belongs on an argument or result";
  if (failed(verifySparseAttribute(op, attr)))
    return failure();
  if (isa<FunctionOpInterface>(op)) // a misspelled one would be as if it were not there
    return op->emitOpError() << "'" << name << "' is not a function attribute of cs";
  return success();
}

/// Bytes and elements are counted in 64 bits.
static bool isCountable(Type type) {
  if (auto future = dyn_cast<FutureType>(type))
    type = future.getValue();
  auto placed = dyn_cast<PlacedType>(type);
  RankedTensorType tensor = placed ? placed.getTensor() : cast<RankedTensorType>(type);
  int64_t bytes = tensor.getElementType().isIntOrFloat()
                      ? llvm::divideCeil(tensor.getElementTypeBitWidth(), 8)
                      : 16;
  for (int64_t dim : tensor.getShape())
    if (ShapedType::isStatic(dim) && llvm::MulOverflow(bytes, std::max<int64_t>(dim, 1), bytes))
      return false;
  return true;
}

static LogicalResult verifyName(Operation *op, NamedAttribute attr, Type type,
                                StringRef where, unsigned index) {
  auto name = dyn_cast<StringAttr>(attr.getValue());
  if (!name || name.empty())
    return op->emitOpError()
           << where << " " << index << ": '" << attr.getName().getValue()
           << "' must be a non-empty string, got: " << attr.getValue();
  // It is in what tools print, a line each, in JSON, and in files of tensors.
  if (llvm::any_of(name.getValue(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }) ||
      !llvm::json::isUTF8(name.getValue()))
    return op->emitOpError()
           << where << " " << index << ": '" << attr.getName().getValue()
           << "' must be UTF-8 without control characters, got: " << attr.getValue();
  if (!isa<RankedTensorType, PlacedType, FutureType>(type))
    return op->emitOpError() << where << " " << index << ": '" << attr.getName().getValue()
                             << "' needs a tensor, got: " << type;
  if (!isCountable(type))
    return op->emitOpError() << where << " " << index << ": '" << attr.getName().getValue()
                             << "' needs a tensor of less than 2^63 bytes, got: " << type;
  return success();
}

/// `attr` says which rows of dimension 0 an argument or result of a server's
/// function holds.
static LogicalResult verifyRows(Operation *op, NamedAttribute attr,
                                StringRef where, unsigned index) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || !function->hasAttr(CsDialect::kServerAttr))
    return op->emitOpError()
           << "'" << attr.getName().getValue()
           << "' belongs on a function with '" << CsDialect::kServerAttr << "'";
  auto rows = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (!rows || rows.size() != 2 || rows[0] < 0 || rows[1] <= rows[0])
    return op->emitOpError()
           << where << " " << index << ": '" << attr.getName().getValue()
           << "' must be array<i64: begin, end> of rows, got: "
           << attr.getValue();
  Type type = where == "argument" ? function.getArgumentTypes()[index]
                                  : function.getResultTypes()[index];
  auto placed = dyn_cast<PlacedType>(type);
  auto tensor = placed ? placed.getTensor() : dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0 ||
      tensor.getDimSize(0) != rows[1] - rows[0])
    return op->emitOpError()
           << where << " " << index << ": '" << attr.getName().getValue()
           << "' must match dimension 0 of " << type
           << ", got: " << attr.getValue();
  return success();
}

/// `attr` asks for row-sparse gradients of a parameter.
static LogicalResult verifyRowSparse(Operation *op, NamedAttribute attr,
                                     unsigned index) {
  StringRef name = attr.getName();
  if (!isa<UnitAttr>(attr.getValue()))
    return op->emitOpError() << "argument " << index << ": '" << name
                             << "' must be a unit attribute, got: "
                             << attr.getValue();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || !function.getArgAttr(index, CsDialect::kParamAttr))
    return op->emitOpError() << "argument " << index << ": '" << name
                             << "' belongs beside '" << CsDialect::kParamAttr
                             << "'";
  Type type = function.getArgumentTypes()[index];
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0)
    return op->emitOpError() << "argument " << index << ": '" << name
                             << "' needs a tensor with rows, got: " << type;
  return success();
}

/// `attr` says that an argument is the worker's index.
static LogicalResult verifyWorkerIndex(Operation *op, NamedAttribute attr, Type type,
                                       unsigned index) {
  StringRef name = attr.getName();
  if (!isa<UnitAttr>(attr.getValue()))
    return op->emitOpError() << "argument " << index << ": '" << name
                             << "' must be a unit attribute, got: " << attr.getValue();
  auto placed = dyn_cast<PlacedType>(type);
  auto tensor = placed ? placed.getTensor() : dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() != 0 || !tensor.getElementType().isInteger(32))
    return op->emitOpError() << "argument " << index << ": '" << name
                             << "' must be of tensor<i32>, got: " << type;
  return success();
}

LogicalResult CsDialect::verifyRegionArgAttribute(Operation *op,
                                                  unsigned regionIndex,
                                                  unsigned argIndex,
                                                  NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kRowsAttr)
    return verifyRows(op, attr, "argument", argIndex);
  if (name == kRowSparseAttr)
    return verifyRowSparse(op, attr, argIndex);
  if (name == kPerRankAttr)
    return verifyPerRank(op, attr, argIndex);
  if (name != kParamAttr && name != kStateAttr && name != kBatchAttr &&
      name != kWorkerIndexAttr)
    return op->emitOpError() << "argument " << argIndex << ": '" << name
                             << "' is not an argument attribute of cs";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "'" << name << "' belongs on a function";
  int roles = 0;
  for (StringRef role : {kParamAttr, kStateAttr, kBatchAttr, kWorkerIndexAttr})
    roles += function.getArgAttr(argIndex, role) ? 1 : 0;
  if (roles > 1)
    return op->emitOpError() << "argument " << argIndex
                             << " must have one role, got: " << roles;
  if (name == kWorkerIndexAttr)
    return verifyWorkerIndex(op, attr, function.getArgumentTypes()[argIndex],
                             argIndex);
  return verifyName(op, attr, function.getArgumentTypes()[argIndex], "argument",
                    argIndex);
}

LogicalResult CsDialect::verifyRegionResultAttribute(Operation *op,
                                                     unsigned regionIndex,
                                                     unsigned resultIndex,
                                                     NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kRowsAttr)
    return verifyRows(op, attr, "result", resultIndex);
  if (name != kUpdatesAttr && name != kMetricAttr)
    return op->emitOpError() << "result " << resultIndex << ": '" << name
                             << "' is not a result attribute of cs";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError() << "'" << name << "' belongs on a function";
  if (function.getResultAttr(resultIndex, kUpdatesAttr) &&
      function.getResultAttr(resultIndex, kMetricAttr))
    return op->emitOpError() << "result " << resultIndex
                             << " must have one role, got: 2";
  return verifyName(op, attr, function.getResultTypes()[resultIndex], "result",
                    resultIndex);
}
