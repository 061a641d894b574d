// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions in an order that is the program's. Each lane combines its terms one after the
// other; then lanes combine: of a warp by halves (lane l with lane l + 16, 8, 4, 2, 1), warps
// of a row likewise, lanes of columns from the first to the last. The initial value comes last.

#include "passes/cuda/KernelBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace commsched::cudaexport {

Value KernelBody::call(const Twine &function, ValueRange operands, Type result) {
  std::string name = function.str();
  auto module = op->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(name)) {
    OpBuilder declare = OpBuilder::atBlockBegin(module.getBody());
    auto type = declare.getFunctionType(operands.getTypes(), result ? TypeRange(result) : TypeRange());
    func::FuncOp::create(declare, module.getLoc(), name, type).setPrivate();
  }
  auto made = func::CallOp::create(builder, loc, name, result ? TypeRange(result) : TypeRange(), operands);
  return result ? made.getResult(0) : Value();
}

void KernelBody::barrier() { call(kBarrier, {}, Type()); }

unsigned KernelBody::bitsOf(Type type) const {
  return type.isIndex() || type.getIntOrFloatBitWidth() > 32 ? 64 : 32;
}

Value KernelBody::toWord(Value value) {
  Type i32 = builder.getI32Type();
  return value.getType() == i32 ? value : arith::TruncIOp::create(builder, loc, i32, value).getResult();
}

Value KernelBody::toBits(Value value, unsigned least) {
  Type type = value.getType(), bits = builder.getIntegerType(std::max(least, bitsOf(type)));
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, loc, bits, value);
  if (isa<FloatType>(type)) {
    type = builder.getIntegerType(type.getIntOrFloatBitWidth());
    value = arith::BitcastOp::create(builder, loc, type, value);
  }
  return type == bits ? value : arith::ExtUIOp::create(builder, loc, bits, value).getResult();
}

Value KernelBody::fromBits(Value bits, Type type) {
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, bits);
  Type integer = builder.getIntegerType(type.getIntOrFloatBitWidth());
  if (integer != bits.getType())
    bits = arith::TruncIOp::create(builder, loc, integer, bits);
  return integer == type ? bits : arith::BitcastOp::create(builder, loc, type, bits).getResult();
}

unsigned KernelBody::sharedBits() const {
  unsigned bits = 32;
  for (Operation *combiner : combiners)
    bits = std::max(bits, bitsOf(combiner->getResult(0).getType()));
  return bits;
}

// Value i lies in word `slot` + i * `stride`.
void KernelBody::storeShared(ValueRange values, Value slot, unsigned stride) {
  unsigned bits = sharedBits();
  for (auto [i, value] : llvm::enumerate(values)) {
    Value offset = word(i * stride);
    Value at = add(slot, offset), own = toBits(value, bits);
    call(kSharedStore + Twine(bits), {at, own}, Type());
  }
}

KernelBody::Values KernelBody::loadShared(Value slot, unsigned stride) {
  unsigned bits = sharedBits();
  Values loaded;
  for (auto [i, combiner] : llvm::enumerate(combiners)) {
    Value offset = word(i * stride);
    Value at = add(slot, offset);
    Value found = call(kSharedLoad + Twine(bits), {at}, builder.getIntegerType(bits));
    loaded.push_back(fromBits(found, combiner->getResult(0).getType()));
  }
  return loaded;
}

KernelBody::Values KernelBody::combineLanes(Values values, unsigned lanes) {
  for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
    Values further;
    for (Value value : values) {
      Value bits = toBits(value), by = word(distance);
      Value other = call(kShuffleDown + Twine(bitsOf(value.getType())), {bits, by}, bits.getType());
      further.push_back(fromBits(other, value.getType()));
    }
    values = combine(values, further);
  }
  return values;
}

// One row a block, of several warps: the result is in the first thread.
KernelBody::Values KernelBody::exchangeRows(Values values, Value thread) {
  unsigned warps = shape.lanes / kWarp;
  Value lane = modulo(thread, kWarp), warp = toWord(over(thread, kWarp));
  where(less(lane, count(1)), [&] { storeShared(values, warp, warps); });
  barrier();
  shared = values.size() * warps * sharedBits() / 8;
  return combineLanes(loadShared(toWord(modulo(thread, warps)), warps), warps);
}

// Threads of a column lie `columns` apart: the result is in those of lane 0.
KernelBody::Values KernelBody::combineColumns(Values values, Value lane, Value column) {
  unsigned stride = shape.threads();
  auto slot = [&](Value ofLane) {
    Value row = times(ofLane, shape.columns);
    return toWord(add(row, column));
  };
  storeShared(values, slot(lane), stride);
  barrier();
  shared = values.size() * stride * sharedBits() / 8;
  auto others = [&] {
    Values sum = values;
    for (unsigned other = 1; other < shape.lanes; ++other)
      sum = combine(sum, loadShared(slot(count(other)), stride));
    return sum;
  };
  return choose(less(lane, count(1)), others, values);
}

void KernelBody::reduction(ValueRange partials) {
  Value thread = ask(kThread), block = ask(kBlock);
  Value chunk = modulo(block, shape.chunks), group = over(block, shape.chunks);
  unsigned columns = shape.columns, lanes = shape.lanes;
  Value lane = shape.lanesFirst ? modulo(thread, lanes) : over(thread, columns);
  Value column = shape.lanesFirst ? over(thread, lanes) : modulo(thread, columns);
  Value first = times(group, columns);
  Value output = add(first, column);
  Value inside = shape.outputs % columns ? less(output, count(shape.outputs)) : Value();
  // The terms from `first` on, in steps of the lanes.
  auto terms = [&](Values initial, Values indices) {
    Value begin = times(chunk, shape.chunk), end = add(begin, count(shape.chunk));
    Value all = count(shape.terms);
    if (shape.terms % shape.chunk)
      end = arith::MinUIOp::create(builder, loc, end, all);
    Value from = add(begin, lane);
    return loop(from, end, lanes, initial, [&](Value term, ValueRange carried) {
      Values here = indices;
      locate(term, shape.reduction, here);
      return evaluate(here, carried);
    });
  };
  if (lanes == 1 && shape.chunks == 1)
    return where(inside, [&] {
      Values indices(sizes.size());
      locate(output, shape.parallel, indices);
      storeOutputs(terms(loadOutputs(indices, /*all=*/true), indices), indices);
    });
  Values none = identities();
  Values sums = choose(
      inside,
      [&] {
        Values indices(sizes.size());
        locate(output, shape.parallel, indices);
        return terms(none, indices);
      },
      none);
  if (shape.lanesFirst) {
    sums = combineLanes(sums, std::min(lanes, kWarp));
    if (lanes > kWarp)
      sums = exchangeRows(sums, thread);
  } else {
    sums = combineColumns(sums, lane, column);
  }
  Value writes = less(lane, count(1));
  if (inside)
    writes = arith::AndIOp::create(builder, loc, writes, inside);
  where(writes, [&] {
    if (shape.chunks > 1) {
      Value row = times(chunk, shape.outputs);
      Value at = asIndex(add(row, output));
      for (auto [sum, partial] : llvm::zip(sums, partials))
        memref::StoreOp::create(builder, loc, sum, partial, ValueRange{at});
      return;
    }
    Values indices(sizes.size());
    locate(output, shape.parallel, indices);
    storeOutputs(combine(loadOutputs(indices, /*all=*/true), sums), indices);
  });
}

void KernelBody::finish(ValueRange partials) {
  unsigned columns = 256 / kWarp;
  Value thread = ask(kThread), block = ask(kBlock);
  Value lane = modulo(thread, kWarp), column = over(thread, kWarp);
  Value first = times(block, columns);
  Value output = add(first, column);
  Value inside = shape.outputs % columns ? less(output, count(shape.outputs)) : Value();
  Values none = identities();
  Values sums = choose(
      inside,
      [&] {
        Value all = count(shape.chunks);
        return loop(lane, all, kWarp, none, [&](Value chunk, ValueRange carried) {
          Value row = times(chunk, shape.outputs);
          Value at = asIndex(add(row, output));
          Values found;
          for (Value partial : partials)
            found.push_back(memref::LoadOp::create(builder, loc, partial, ValueRange{at}));
          return combine(carried, found);
        });
      },
      none);
  sums = combineLanes(sums, kWarp);
  Value writes = less(lane, count(1));
  if (inside)
    writes = arith::AndIOp::create(builder, loc, writes, inside);
  where(writes, [&] {
    Values indices(sizes.size());
    locate(output, shape.parallel, indices);
    storeOutputs(combine(loadOutputs(indices, /*all=*/true), sums), indices);
  });
}

} // namespace commsched::cudaexport
