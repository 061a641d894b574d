// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operation is which, before and after bufferization.

#include "passes/plan/MemoryTrace.h"
#include "passes/plan/Stages.h"

#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace commsched::planexport {

/// Of an op that reads or writes single elements: how many numbers it takes; 0 of
/// any other.
static unsigned elementsOf(Operation *op) {
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op))
    return elements.getElements().size();
  return isa<tensor::ExtractOp, memref::LoadOp, tensor::InsertOp, memref::StoreOp>(op);
}

static bool isLoad(Operation *op) { return isa<tensor::ExtractOp, memref::LoadOp>(op); }

void numberMemory(func::FuncOp function) {
  Builder builder(function.getContext());
  unsigned structured = 0, loads = 0, stores = 0;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    unsigned number;
    if (isa<linalg::LinalgOp, cs::KernelOp>(op)) {
      number = structured++;
    } else if (isLoad(op)) {
      number = loads++;
    } else if (unsigned count = elementsOf(op)) {
      number = stores;
      stores += count;
    } else {
      return;
    }
    op->setAttr(kMemoryNumberAttr, builder.getI64IntegerAttr(number));
  });
}

void keepMemoryOrder(func::FuncOp function) {
  SmallVector<int64_t> loads, stores;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto number = op->getAttrOfType<IntegerAttr>(kMemoryNumberAttr);
    unsigned count = elementsOf(op);
    for (unsigned i = 0; number && i < count; ++i)
      (isLoad(op) ? loads : stores).push_back(number.getInt() + i);
  });
  Builder builder(function.getContext());
  function->setAttr(kLoadOrderAttr, builder.getDenseI64ArrayAttr(loads));
  function->setAttr(kStoreOrderAttr, builder.getDenseI64ArrayAttr(stores));
}

void forgetMemoryNumbers(func::FuncOp function) {
  function.walk([](Operation *op) { op->removeAttr(kMemoryNumberAttr); });
  function->removeAttr(kLoadOrderAttr);
  function->removeAttr(kStoreOrderAttr);
}

LogicalResult MemoryTrace::number() {
  auto loads = function->getAttrOfType<DenseI64ArrayAttr>(kLoadOrderAttr);
  auto stores = function->getAttrOfType<DenseI64ArrayAttr>(kStoreOrderAttr);
  size_t load = 0, store = 0;
  bool known = true;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto number = op->getAttrOfType<IntegerAttr>(kMemoryNumberAttr)) {
      numbers[op] = number.getInt();
    } else if (elementsOf(op)) {
      // Bufferization replaces these one by one, where they are.
      auto order = isLoad(op) ? loads : stores;
      size_t &next = isLoad(op) ? load : store;
      known &= order && next < static_cast<size_t>(order.size());
      if (known)
        numbers[op] = order[next++];
    }
  });
  if (!known)
    return function.emitError("internal error: reads and writes of elements are not those "
                              "that were there before memory was assigned");
  return success();
}

} // namespace commsched::planexport
