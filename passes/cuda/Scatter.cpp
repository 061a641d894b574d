// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Updates at places that are computed, in the order of the program, by many threads: sums have the
// bits of one thread's. A first kernel computes the place of each update; in a second one a warp for each
// update looks for the next one of the same place, which then is not the first of its place; in the third one a
// thread for each element of each first update goes along its chain.

#include "passes/cuda/KernelBody.h"
#include "passes/plan/HalfSums.h"
#include "passes/plan/Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace commsched::cudaexport {

namespace {

constexpr unsigned kBlockThreads = 256;
// Each update is compared with those behind it, up to the next of its place; beyond that many, a thread goes through all.
constexpr int64_t kMostCompared = 1 << 16;
// Updates of a chain whose elements are on their way at the same time. What is rounded to 16 bits is so after each one, as
// in any loop: of several in one iteration, rounding may be left out between them.
constexpr unsigned kAhead = 4;
// Updates that a lane compares before its warp asks whether one was found.
constexpr unsigned kCompared = 8;
unsigned aheadOf(Type element) { return planexport::isHalf(element) ? 1 : kAhead; }

} // namespace

std::optional<ScatterLoop> scatterOf(Operation *body) {
  ScatterLoop found;
  found.loop = dyn_cast_or_null<scf::ForOp>(body);
  if (!found.loop || !found.loop.getInitArgs().empty() || !found.loop.getInductionVar().getType().isIndex())
    return std::nullopt;
  std::optional<int64_t> from = getConstantIntValue(found.loop.getLowerBound()),
                         to = getConstantIntValue(found.loop.getUpperBound()),
                         step = getConstantIntValue(found.loop.getStep());
  if (from != 0 || step != 1 || !to || *to < 1)
    return std::nullopt;
  found.count = *to;
  for (Operation &op : found.loop.getBody()->without_terminator()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (found.update)
        return std::nullopt;
      found.update = generic;
    } else if (found.update || (!isMemoryEffectFree(&op) && !isa<memref::LoadOp>(op))) {
      return std::nullopt;
    }
  }
  if (!found.update || found.update.getNumDpsInits() != 1 || found.update.getNumReductionLoops() != 0 ||
      !isParallel(found.update))
    return std::nullopt;
  found.window = found.update.getDpsInitOperand(0)->get().getDefiningOp<memref::SubViewOp>();
  // Whoever else used the window would read what is in memory before the updates.
  if (!found.window || found.window->getBlock() != found.loop.getBody() || !found.window->hasOneUse())
    return std::nullopt;
  // Windows that have something in common are one.
  MemRefType whole = found.window.getSourceType();
  if (!whole.hasStaticShape() || ShapedType::isDynamicShape(found.window.getStaticSizes()) ||
      llvm::any_of(found.window.getStaticStrides(), [](int64_t stride) { return stride != 1; }))
    return std::nullopt;
  for (auto [dim, size, offset] :
       llvm::zip(whole.getShape(), found.window.getStaticSizes(), found.window.getStaticOffsets())) {
    if (size != 1 && (size != dim || offset != 0))
      return std::nullopt;
    found.elements *= size;
    found.places *= size == dim ? 1 : dim;
  }
  // What is updated is not read for anything else.
  Value target = rootOf(found.window.getSource());
  WalkResult walk = found.loop.walk([&](Operation *op) {
    if (op == found.window || isa<scf::ForOp>(op))
      return WalkResult::advance();
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()) && rootOf(operand) == target && operand != found.window.getResult())
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return std::nullopt;
  return found;
}

NestShape shapeOf(const ScatterLoop &scatter) {
  NestShape shape;
  shape.outputs = scatter.count * scatter.elements;
  shape.terms = scatter.places;
  shape.columns = kBlockThreads;
  if (scatter.count <= kMostCompared && shape.blocks() <= INT32_MAX)
    shape.form = NestShape::Form::Scatter;
  else if (scatter.elements > 1)
    shape.form = NestShape::Form::ScatterColumns;
  return shape;
}

namespace {

class ScatterBody : public KernelBody {
public:
  /// memory: of places, next updates, and whether an update is the first of its place.
  ScatterBody(const ScatterLoop &scatter, const NestShape &shape, ValueRange memory)
      : KernelBody(scatter.update, shape), scatter(scatter), memory(memory) {
    builder.setInsertionPoint(scatter.loop);
    for (unsigned loop = 0; loop < sizes.size(); ++loop)
      loops.push_back(loop);
  }
  static Type elementOf(MLIRContext *context, const NestShape &shape) {
    bool large = std::max(shape.outputs, shape.terms) >= int64_t(1) << 30;
    return IntegerType::get(context, large ? 64 : 32);
  }

  void places() {
    forEach(scatter.count, [&](Value i) {
      Copy copy = bodyAt(i);
      Value place = count(0);
      for (auto [dim, size, offset] : llvm::zip(scatter.window.getSourceType().getShape(),
                                                scatter.window.getStaticSizes(), copy.window.getMixedOffsets())) {
        if (size == dim)
          continue;
        Value scaled = times(place, dim);
        place = add(scaled, fromIndex(offset));
      }
      copy.update.erase();
      store(place, 0, i);
      store(count(1), 2, i);
    });
  }

  void chains() {
    forEach(scatter.count * kWarp, [&](Value flat) {
      Value i = over(flat, kWarp), lane = modulo(flat, kWarp);
      Value own = load(0, i), end = count(scatter.count), last = count(scatter.count - 1);
      Value from = add(i, count(1));
      SmallVector<Type> types = {counter, counter};
      auto search = scf::WhileOp::create(
          builder, loc, types, ValueRange{from, end},
          [&](OpBuilder &at, Location, ValueRange carried) {
            OpBuilder::InsertionGuard guard(builder);
            builder.setInsertionPointToEnd(at.getInsertionBlock());
            Value mine = less(carried[1], end);
            Value given = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), mine);
            Value known = call(kAny, {given}, builder.getI32Type());
            Value nobody = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, known, word(0));
            Value more = less(carried[0], end);
            Value goesOn = arith::AndIOp::create(builder, loc, nobody, more);
            scf::ConditionOp::create(builder, loc, goesOn, carried);
          },
          [&](OpBuilder &at, Location, ValueRange carried) {
            OpBuilder::InsertionGuard guard(builder);
            builder.setInsertionPointToEnd(at.getInsertionBlock());
            Value next = carried[1], first = add(carried[0], lane);
            for (unsigned round = 0; round < kCompared; ++round) {
              Value j = add(first, count(round * kWarp));
              Value known = arith::MinUIOp::create(builder, loc, j, last);
              Value place = load(0, known), there = less(j, end);
              Value same = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, place, own);
              Value found = arith::AndIOp::create(builder, loc, same, there);
              Value candidate = select(found, j, end);
              next = arith::MinUIOp::create(builder, loc, next, candidate);
            }
            Value behind = add(carried[0], count(kCompared * kWarp));
            scf::YieldOp::create(builder, loc, ValueRange{behind, next});
          });
      Value next = search.getResult(1);
      for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
        Value bits = toBits(next), by = word(distance);
        Value other = call(kShuffleDown + Twine(bitsOf(counter)), {bits, by}, bits.getType());
        next = arith::MinUIOp::create(builder, loc, next, fromBits(other, counter));
      }
      where(less(lane, count(1)), [&] {
        store(next, 1, i);
        where(less(next, end), [&] { store(count(0), 2, next); });
      });
    });
  }

  void apply() {
    forEach(shape.outputs, [&](Value flat) {
      Value i = over(flat, scatter.elements), element = modulo(flat, scatter.elements);
      Value first = load(2, i), zero = count(0);
      Value heads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, first, zero);
      where(heads, [&] {
        Values indices(sizes.size());
        locate(element, loops, indices);
        Copy own = bodyAt(i);
        Values begin = of(own.update, [&] { return loadOutputs(indices, /*all=*/true); });
        Value end = count(scatter.count), last = count(scatter.count - 1);
        SmallVector<Type> types = {counter, begin.front().getType()};
        auto chain = scf::WhileOp::create(
            builder, loc, types, ValueRange{i, begin.front()},
            [&](OpBuilder &at, Location, ValueRange carried) {
              OpBuilder::InsertionGuard guard(builder);
              builder.setInsertionPointToEnd(at.getInsertionBlock());
              Value more = less(carried[0], end);
              scf::ConditionOp::create(builder, loc, more, carried);
            },
            [&](OpBuilder &at, Location, ValueRange carried) {
              OpBuilder::InsertionGuard guard(builder);
              builder.setInsertionPointToEnd(at.getInsertionBlock());
              Value j = carried[0], value = carried[1];
              for (unsigned ahead = 0; ahead < aheadOf(value.getType()); ++ahead) {
                // Behind the end it is the last one, whose result nobody takes.
                Value there = less(j, end);
                Value known = arith::MinUIOp::create(builder, loc, j, last);
                Copy copy = bodyAt(known);
                Value updated = of(copy.update, [&] { return evaluate(indices, value); }).front();
                copy.update.erase();
                value = ahead == 0 ? updated : select(there, updated, value);
                Value next = load(1, known);
                j = select(there, next, end);
              }
              scf::YieldOp::create(builder, loc, ValueRange{j, value});
            });
        Value result = chain.getResult(1);
        of(own.update, [&]() -> Values {
          storeOutputs(result, indices);
          return {};
        });
        own.update.erase();
      });
    });
  }

  void columns() {
    forEach(scatter.elements, [&](Value element) {
      Values indices(sizes.size());
      locate(element, loops, indices);
      loop(count(0), count(scatter.count), 1, {}, [&](Value i, ValueRange) -> Values {
        Copy copy = bodyAt(i);
        of(copy.update, [&]() -> Values {
          storeOutputs(evaluate(indices, loadOutputs(indices, /*all=*/false)), indices);
          return {};
        });
        copy.update.erase();
        return {};
      });
    });
  }

private:
  struct Copy {
    memref::SubViewOp window;
    linalg::GenericOp update;
  };

  void forEach(int64_t threads, llvm::function_ref<void(Value)> each) {
    Value block = ask(kBlock), thread = ask(kThread);
    Value begin = times(block, kBlockThreads);
    Value flat = add(begin, thread);
    Value inside = threads % kBlockThreads ? less(flat, count(threads)) : Value();
    where(inside, [&] { each(flat); });
  }
  // The loop's body for update `number`, but for what `update` does.
  Copy bodyAt(Value number) {
    IRMapping mapping;
    mapping.map(scatter.loop.getInductionVar(), asIndex(number));
    Copy copy;
    for (Operation &inner : scatter.loop.getBody()->without_terminator()) {
      Operation *clone = builder.clone(inner, mapping);
      if (&inner == scatter.window)
        copy.window = cast<memref::SubViewOp>(clone);
      if (&inner == scatter.update)
        copy.update = cast<linalg::GenericOp>(clone);
    }
    return copy;
  }
  Values of(linalg::GenericOp update, llvm::function_ref<Values()> what) {
    llvm::SaveAndRestore saved(op, update);
    return what();
  }
  Value fromIndex(OpFoldResult offset) {
    if (std::optional<int64_t> known = getConstantIntValue(offset))
      return count(*known);
    return arith::IndexCastUIOp::create(builder, loc, counter, cast<Value>(offset));
  }
  Value select(Value condition, Value then, Value otherwise) {
    return arith::SelectOp::create(builder, loc, condition, then, otherwise);
  }
  Value load(unsigned which, Value at) {
    Value index = asIndex(at);
    return memref::LoadOp::create(builder, loc, memory[which], index);
  }
  void store(Value value, unsigned which, Value at) {
    Value index = asIndex(at);
    memref::StoreOp::create(builder, loc, value, memory[which], index);
  }

  ScatterLoop scatter;
  SmallVector<Value> memory;
  SmallVector<unsigned> loops;
};

// Of a nest that has one; its scalars may have been loaded before the loop.
ScatterLoop scatterIn(func::FuncOp nest) { return *scatterOf(*nest.getBody().front().getOps<scf::ForOp>().begin()); }

uint32_t blocksOf(int64_t threads) { return llvm::divideCeil(threads, int64_t(kBlockThreads)); }

// As the host would: nothing may be reassociated.
void finish(func::FuncOp kernel, scf::ForOp loop) {
  loop.erase();
  kernel.walk([](arith::ArithFastMathInterface op) {
    auto none = arith::FastMathFlagsAttr::get(op->getContext(), arith::FastMathFlags::none);
    op->setAttr(op.getFastMathAttrName(), none);
  });
}

} // namespace

NestKernels lowerScatter(func::FuncOp nest, const NestShape &shape) {
  NestKernels result;
  std::string symbol = nest.getName().str();
  int64_t count = scatterIn(nest).count;
  unsigned kept = 0;
  auto make = [&](func::FuncOp kernel, int64_t threads, void (ScatterBody::*write)()) {
    ScatterLoop scatter = scatterIn(kernel);
    ScatterBody body(scatter, shape, kernel.getArguments().take_back(kept));
    (body.*write)();
    finish(kernel, scatter.loop);
    result.kernels.push_back({kernel.getName().str(), blocksOf(threads), kBlockThreads, 0});
  };
  if (shape.form == NestShape::Form::ScatterColumns) {
    int64_t elements = scatterIn(nest).elements;
    make(nest, elements, &ScatterBody::columns);
    return result;
  }
  Type element = ScatterBody::elementOf(nest.getContext(), shape);
  for (kept = 0; kept < 3; ++kept) {
    (void)nest.insertArgument(nest.getNumArguments(), MemRefType::get({count}, element), {}, nest.getLoc());
    result.partialBytes.push_back(count * planexport::elementBytes(element));
  }
  auto module = nest->getParentOfType<ModuleOp>();
  func::FuncOp chain = nest.clone(), apply = nest.clone();
  chain.setName(symbol + "_chain");
  apply.setName(symbol + "_apply");
  module.insert(std::next(nest->getIterator()), chain);
  module.insert(std::next(chain->getIterator()), apply);
  make(nest, count, &ScatterBody::places);
  make(chain, count * kWarp, &ScatterBody::chains);
  make(apply, shape.outputs, &ScatterBody::apply);
  return result;
}

} // namespace commsched::cudaexport
