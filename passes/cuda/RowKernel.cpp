// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp for each row: lane l has columns l, l + 32, l + 64, ... Ops come one after the other, each for all columns of
// a lane. What an op writes is kept by the threads that have written it, in memory of their own, which the code generator turns
// into registers; the sum of a row comes about as in any reduction with 32 lanes, and all lanes get it.

#include "passes/cuda/KernelBody.h"
#include "passes/cuda/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace commsched::cudaexport {
using namespace mlir;
namespace {

/// The memory of a thread for what ops have written, by where else it goes.
using Kept = DenseMap<Value, Value>;

bool isOfThreads(Value root) {
  auto alloca = root.getDefiningOp<memref::AllocaOp>();
  return alloca && alloca->hasAttr(planexport::kOfThreadsAttr);
}

class RowBody : public KernelBody {
public:
  RowBody(linalg::GenericOp op, const NestShape &shape, Kept &kept)
      : KernelBody(op, shape), kept(kept), role(roleOf(op, shape.outputs, shape.terms)) {}

  void write() {
    Value thread = ask(kThread), block = ask(kBlock);
    Value first = times(block, shape.columns), warp = over(thread, kWarp);
    row = add(first, warp);
    lane = modulo(thread, kWarp);
    Values indices(sizes.size());
    locate(row, role.rows, indices);
    switch (role.kind) {
    case RowRole::Kind::Rows:
      storeOutputs(evaluate(indices, loadOutputs(indices, /*all=*/false)), indices);
      break;
    case RowRole::Kind::Elements:
      eachColumn(indices, [&] { storeOutputs(evaluate(here, loadOutputs(here, /*all=*/false)), here); });
      break;
    case RowRole::Kind::Sums:
      sum(indices);
      break;
    case RowRole::Kind::None:
      llvm_unreachable("not an op of rows");
    }
    kept.insert(fresh.begin(), fresh.end());
  }

private:
  /// Calls `each` where the column is one, with its indices in `here`, and its number of those of the lane in `place`.
  void eachColumn(ArrayRef<Value> indices, llvm::function_ref<void()> each) {
    for (place = 0; place * kWarp < shape.terms; ++place)
      where(isThere(), [&] {
        at(indices);
        each();
      });
    place = 0;
  }
  // Whether there is such a column; null: in each lane.
  Value isThere() {
    column = add(lane, count(place * kWarp));
    return (place + 1) * kWarp > shape.terms ? less(column, count(shape.terms)) : Value();
  }
  void at(ArrayRef<Value> indices) {
    here.assign(indices.begin(), indices.end());
    locate(column, role.columns, here);
  }

  void sum(ArrayRef<Value> indices) {
    Values sums = identities();
    for (place = 0; place * kWarp < shape.terms; ++place) {
      Values before = sums;
      sums = choose(
          isThere(),
          [&] {
            at(indices);
            return evaluate(here, before);
          },
          before);
    }
    place = 0;
    sums = combineLanes(sums, kWarp);
    Values total = combine(loadOutputs(indices, /*all=*/true), sums), known;
    for (Value value : total) {
      Value bits = toBits(value);
      Value first = call(kFirst + Twine(bitsOf(value.getType())), {bits}, bits.getType());
      known.push_back(fromBits(first, value.getType()));
    }
    storeOutputs(known, indices);
  }

  Value placeIn(Value memory) {
    int64_t own = cast<MemRefType>(memory.getType()).getNumElements();
    return arith::ConstantIndexOp::create(builder, loc, own == 1 ? 0 : place);
  }
  Value load(OpOperand &operand, ValueRange indices) override {
    Value own = isa<MemRefType>(operand.get().getType()) ? kept.lookup(rootOf(operand.get())) : Value();
    if (!own)
      return KernelBody::load(operand, indices);
    return memref::LoadOp::create(builder, loc, own, placeIn(own));
  }
  void storeOutputs(ValueRange values, ValueRange indices) override {
    bool ofRow = role.kind != RowRole::Kind::Elements;
    for (auto [value, init] : llvm::zip(values, op.getDpsInitsMutable())) {
      Value root = rootOf(init.get());
      Value &own = kept.contains(root) ? kept[root] : fresh[root];
      if (!own) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(&op->getParentOfType<func::FuncOp>().getBody().front());
        int64_t count = ofRow ? 1 : llvm::divideCeil(shape.terms, int64_t(kWarp));
        own = memref::AllocaOp::create(builder, loc, MemRefType::get({count}, value.getType()));
      }
      memref::StoreOp::create(builder, loc, value, own, placeIn(own));
      if (isOfThreads(root))
        continue;
      where(ofRow ? less(lane, count(1)) : Value(),
            [&] { memref::StoreOp::create(builder, loc, value, init.get(), indicesOf(init, indices)); });
    }
  }

  // What is there when the op begins; what it adds, which it must not read for its other columns.
  Kept &kept, fresh;
  RowRole role;
  Value row, lane, column;
  Values here;
  int64_t place = 0;
};

// As many rows a block as go into all, so that no thread is left out.
unsigned rowsOfBlock(int64_t rows) {
  // Few rows: on more multiprocessors.
  unsigned most = rows >= 2048 ? 8 : 4;
  while (rows % most != 0)
    most /= 2;
  return most;
}

} // namespace

NestKernels lowerRows(func::FuncOp nest) {
  NestKernels result;
  auto region = *nest.getBody().front().getOps<scf::ExecuteRegionOp>().begin();
  auto sizes = cast<DenseI64ArrayAttr>(region->getAttr(kRowsAttr));
  NestShape &shape = result.shape;
  shape.form = NestShape::Form::Rows;
  shape.outputs = sizes[0];
  shape.terms = shape.chunk = sizes[1];
  shape.lanesFirst = true;
  shape.lanes = kWarp;
  shape.columns = rowsOfBlock(shape.outputs);
  Block &inner = region.getRegion().front();
  inner.getTerminator()->erase();
  region->getBlock()->getOperations().splice(Block::iterator(region), inner.getOperations());
  region->erase();
  IRRewriter rewriter(nest.getContext());
  Kept kept;
  for (auto structured : llvm::make_early_inc_range(nest.getBody().front().getOps<linalg::LinalgOp>())) {
    rewriter.setInsertionPoint(structured);
    auto op = dyn_cast<linalg::GenericOp>(structured.getOperation());
    if (!op)
      op = *linalg::generalizeNamedOp(rewriter, structured);
    RowBody(op, shape, kept).write();
    op->erase();
  }
  // What was of threads is where they keep it.
  SmallVector<Operation *> unused;
  for (auto alloca : nest.getBody().front().getOps<memref::AllocaOp>())
    if (alloca->hasAttr(planexport::kOfThreadsAttr))
      unused.push_back(alloca);
  for (size_t i = 0; i < unused.size(); ++i)
    llvm::append_range(unused, unused[i]->getUsers());
  for (Operation *op : llvm::reverse(unused))
    op->erase();
  result.kernels.push_back({nest.getName().str(), static_cast<uint32_t>(shape.blocks()), shape.threads(), 0});
  return result;
}

} // namespace commsched::cudaexport
