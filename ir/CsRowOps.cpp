// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Row-sparse gradients.

#include "ir/CsCommunication.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace commsched::cs;

COMMSCHED_COMMUNICATION(FetchRowsOp)
COMMSCHED_COMMUNICATION(SendRowsOp)

void UpdateRowsOp::getEffects(common::Effects &effects) {
  common::useNetwork(effects);
}
void UpdateRowsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getNumResults() > 0)
    setName(getResult(0), common::ssaName(getKey()));
}

//===----------------------------------------------------------------------===//
// Ids, rows and tables
//===----------------------------------------------------------------------===//

static LogicalResult verifyIds(Operation *op, RankedTensorType ids) {
  Type element = ids.getElementType();
  if (ids.getRank() != 1 || (!element.isInteger(32) && !element.isInteger(64)))
    return op->emitOpError()
           << "ids must be a tensor of rank 1 of i32 or i64, got: " << ids;
  return success();
}

/// `table` but for dimension 0, which is `rows`.
static RankedTensorType withRows(RankedTensorType table, int64_t rows) {
  SmallVector<int64_t> shape(table.getShape());
  shape[0] = rows;
  return RankedTensorType::get(shape, table.getElementType());
}

/// Checks that `rows` are rows of `table`, one for each of `ids`.
static LogicalResult verifyRowsOf(Operation *op, RankedTensorType table,
                                  RankedTensorType ids, StringRef what,
                                  RankedTensorType rows) {
  if (failed(verifyIds(op, ids)))
    return failure();
  if (table.getRank() == 0)
    return op->emitOpError() << "table must have rows, got: " << table;
  RankedTensorType want = withRows(table, ids.getDimSize(0));
  if (rows != want)
    return op->emitOpError()
           << what << " must match " << want << ", got: " << rows;
  return success();
}

LogicalResult LookupOp::verify() {
  auto table = cast<RankedTensorType>(getTable().getType());
  if (table.getRank() > 0 && table.getDimSize(0) == 0)
    return emitOpError() << "table must have rows, got: " << table;
  return verifyRowsOf(*this, table, cast<RankedTensorType>(getIds().getType()),
                      "result", cast<RankedTensorType>(getResult().getType()));
}

LogicalResult SegmentSumOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  if (result.getElementType().isInteger(1))
    return emitOpError() << "cannot add elements of type i1";
  return verifyRowsOf(*this, result, cast<RankedTensorType>(getIds().getType()),
                      "values", cast<RankedTensorType>(getValues().getType()));
}

//===----------------------------------------------------------------------===//
// Messages of a trainer
//===----------------------------------------------------------------------===//

/// Checks the blocks of a table.
static LogicalResult verifyBlocks(Operation *op, StringRef key,
                                  ArrayAttr servers, ArrayRef<int64_t> offsets) {
  if (failed(common::verifyKey(op, key)))
    return failure();
  if (servers.empty())
    return op->emitOpError("needs at least one server");
  if (offsets.size() != servers.size() + 1)
    return op->emitOpError() << "rows must be " << servers.size() + 1
                             << " offsets, one more than servers, got: "
                             << offsets.size();
  if (offsets[0] != 0)
    return op->emitOpError() << "rows must begin at 0, got: " << offsets[0];
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] <= offsets[i - 1])
      return op->emitOpError() << "rows must ascend, got: " << offsets[i]
                               << " after " << offsets[i - 1];
  return success();
}

/// Checks that `rows`, of a table, live beside `ids`, one for each of them.
static LogicalResult verifyPlacedRows(Operation *op, PlacedType ids,
                                      StringRef what, PlacedType rows) {
  if (failed(verifyIds(op, ids.getTensor())))
    return failure();
  if (rows.getDevice() != ids.getDevice() || rows.getMemory() != ids.getMemory())
    return op->emitOpError() << what << " must live where the ids do, on device "
                             << ids.getDevice() << ", got: " << rows;
  RankedTensorType tensor = rows.getTensor();
  if (tensor.getRank() == 0 ||
      tensor.getDimSize(0) != ids.getTensor().getDimSize(0))
    return op->emitOpError()
           << what << " must have " << ids.getTensor().getDimSize(0)
           << " rows, one for each id, got: " << tensor;
  return success();
}

LogicalResult FetchRowsOp::verify() {
  if (failed(verifyBlocks(*this, getKey(), getServers(), getOffsets())))
    return failure();
  return verifyPlacedRows(*this, getIds().getType(), "result",
                          getResult().getType());
}

LogicalResult SendRowsOp::verify() {
  if (failed(verifyBlocks(*this, getKey(), getServers(), getOffsets())))
    return failure();
  if (!isa<FloatType>(getValues().getType().getTensor().getElementType()))
    return emitOpError() << "values must be of a floating-point type, got: "
                         << getValues().getType().getTensor();
  return verifyPlacedRows(*this, getIds().getType(), "values",
                          getValues().getType());
}

//===----------------------------------------------------------------------===//
// A server's update
//===----------------------------------------------------------------------===//

LogicalResult UpdateRowsOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, UpdateRowsOp::Adaptor adaptor,
    SmallVectorImpl<Type> &results) {
  llvm::append_range(results, adaptor.getRows().getTypes());
  return success();
}

LogicalResult UpdateRowsOp::verify() {
  auto function = (*this)->getParentOfType<FunctionOpInterface>();
  if (!function || !function->hasAttr(CsDialect::kServerAttr))
    return emitOpError() << "belongs into a function with '"
                         << CsDialect::kServerAttr << "'";
  if (getRows().empty())
    return emitOpError("needs the rows of a table");
  auto table = cast<PlacedType>(getRows()[0].getType());
  if (!isa<FloatType>(table.getTensor().getElementType()))
    return emitOpError() << "table must be of a floating-point type, got: "
                         << table.getTensor();
  if (failed(common::verifyKey(*this, getKey())) ||
      (getReduction() && failed(common::verifyReduction(*this, getKey(),
                                                        *getReduction(), table))))
    return failure();
  for (auto [i, type] : llvm::enumerate(getRows().getTypes())) {
    RankedTensorType tensor = cast<PlacedType>(type).getTensor();
    if (tensor.getRank() == 0 || table.getTensor().getRank() == 0 ||
        tensor.getDimSize(0) != table.getTensor().getDimSize(0))
      return emitOpError() << "operand " << i
                           << " must have the rows of the table, " << table
                           << ", got: " << type;
  }
  for (Type type : getOperandTypes())
    if (cast<PlacedType>(type).getDevice() != table.getDevice() ||
        cast<PlacedType>(type).getMemory() != table.getMemory())
      return emitOpError() << "operands must live on device "
                           << table.getDevice() << ", got: " << type;
  auto chunk = static_cast<int64_t>(getChunk());
  int64_t rows = table.getTensor().getDimSize(0);
  if (chunk < 1 || chunk > rows)
    return emitOpError() << "chunk must be 1 to " << rows
                         << ", the rows of the block, got: " << chunk;
  // The gradient and all rows, then the others.
  SmallVector<Type> arguments = {withRows(table.getTensor(), chunk)}, results;
  for (Type type : getRows().getTypes())
    results.push_back(withRows(cast<PlacedType>(type).getTensor(), chunk));
  llvm::append_range(arguments, results);
  for (Type type : getOthers().getTypes())
    arguments.push_back(cast<PlacedType>(type).getTensor());
  auto check = [&](StringRef what, TypeRange got,
                   ArrayRef<Type> want) -> LogicalResult {
    if (got.size() != want.size())
      return emitOpError() << "must have " << want.size() << " " << what
                           << ", got: " << got.size();
    for (auto [i, types] : llvm::enumerate(llvm::zip(got, want)))
      if (std::get<0>(types) != std::get<1>(types))
        return emitOpError() << "type of " << what << " " << i << " must match "
                             << std::get<1>(types)
                             << ", got: " << std::get<0>(types);
    return success();
  };
  Block &block = getBody().front();
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return emitOpError("body must end in cs.return");
  if (failed(check("body arguments", block.getArgumentTypes(), arguments)))
    return failure();
  return check("returned values", block.back().getOperandTypes(), results);
}
