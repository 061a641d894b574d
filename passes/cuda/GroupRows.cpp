// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ops of a fragment are one kernel of rows: those that follow each other from one that is a reduction of
// rows on, or before it, as far as all have its rows and columns, and threads of one row use of each other's results only
// those of that row.

#include "passes/cuda/Rows.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace commsched::cudaexport {
namespace {

// Each lane has an element of each op for each 32 columns, in registers and in code.
constexpr int64_t kMostColumns = 1024, kMostInstructions = 4096;
// More would be too long a time without anything else to do for those that wait.
constexpr size_t kMostGrouped = 32;

bool isWhole(Value memory, int64_t elements) {
  auto type = cast<MemRefType>(memory.getType());
  return type.getLayout().isIdentity() && type.hasStaticShape() && type.getNumElements() == elements;
}

int64_t instructionsOf(linalg::GenericOp op) {
  int64_t count = 0;
  op.getBody()->walk([&](Operation *inner) { count += inner->getDialect()->getNamespace() == "math" ? 30 : 1; });
  return count;
}

// Runs of ops in their block; what is between them computes nothing.
class Groups {
public:
  explicit Groups(func::FuncOp fragment) : fragment(fragment) {}

  void run() {
    for (Operation &op : fragment.getBody().front().without_terminator()) {
      if (isa<memref::AllocOp, memref::DeallocOp, memref::GetGlobalOp>(op) || planexport::isMemoryView(&op) ||
          op.hasTrait<OpTrait::ConstantLike>())
        continue;
      take(&op);
    }
    flush();
    for (const Group &group : found)
      gather(group);
  }

private:
  struct Group {
    SmallVector<linalg::LinalgOp> ops;
    int64_t rows = 0, columns = 0; // 0: of no reduction yet
  };

  void take(Operation *op) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured || !structured.hasPureBufferSemantics() || !isa<linalg::GenericOp, linalg::FillOp>(op) ||
        structured.hasDynamicShape())
      return flush();
    if (open.rows == 0)
      if (auto generic = dyn_cast<linalg::GenericOp>(op))
        if (NestShape shape = shapeOf(generic); begins(shape)) {
          open.rows = shape.outputs;
          open.columns = shape.terms;
          // As many of those before as go with it: of some less may not, such as without what fills a sum.
          SmallVector<linalg::LinalgOp> before = std::move(open.ops);
          for (size_t count = std::min(before.size(), kMostGrouped - 1);; --count) {
            open.ops.assign(before.end() - count, before.end());
            open.ops.push_back(structured);
            if (fits(open))
              return;
            if (count == 0)
              break;
          }
          open = {};
          return;
        }
    open.ops.push_back(structured);
    if (open.rows == 0 || (open.ops.size() <= kMostGrouped && fits(open)))
      return;
    open.ops.pop_back();
    flush();
    take(op);
  }

  void flush() {
    // A reduction alone begins with the number that was filled in (FoldFills.cpp).
    if (open.rows != 0 && llvm::count_if(open.ops, [](Operation *op) { return isa<linalg::GenericOp>(op); }) > 1)
      found.push_back(open);
    open = {};
  }

  static bool begins(const NestShape &shape) {
    return shape.form == NestShape::Form::Reduction && shape.lanesFirst && shape.lanes == kWarp && shape.chunks == 1 &&
           shape.terms <= kMostColumns && shape.outputs >= 2;
  }

  struct Use {
    RowRole::Kind place = RowRole::Kind::None;
    bool written = false, readBefore = false, mixed = false;
  };

  // Whether the first dimensions are those of rows, and the others of columns.
  static bool splits(MemRefType type, const Group &group) {
    int64_t count = 1;
    ArrayRef<int64_t> sizes = type.getShape();
    while (!sizes.empty() && count < group.rows) {
      count *= sizes.front();
      sizes = sizes.drop_front();
    }
    return count == group.rows && type.getNumElements() == group.rows * group.columns;
  }

  // Whether one kernel may do them.
  bool fits(const Group &group) {
    llvm::MapVector<Value, Use> uses;
    int64_t instructions = 0, perLane = llvm::divideCeil(group.columns, int64_t(kWarp));
    for (linalg::LinalgOp op : group.ops) {
      auto place = [&](Value memory, RowRole::Kind kind, bool reads, bool writes) {
        Use &use = uses[memory];
        use.mixed |= use.place != RowRole::Kind::None && use.place != kind;
        use.mixed |= kind == RowRole::Kind::None;
        use.place = kind;
        use.readBefore |= reads && !use.written;
        use.written |= writes;
      };
      if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation())) {
        Value memory = fill.getOutputs().front(), root = rootOf(memory);
        int64_t elements = cast<MemRefType>(memory.getType()).getNumElements();
        bool ofRows = elements == group.rows;
        if (!isWhole(root, elements) || !isWhole(memory, elements) ||
            (!ofRows && !splits(cast<MemRefType>(memory.getType()), group)))
          return false;
        place(root, ofRows ? RowRole::Kind::Rows : RowRole::Kind::Elements, false, true);
        continue;
      }
      auto generic = cast<linalg::GenericOp>(op.getOperation());
      RowRole role = roleOf(generic, group.rows, group.columns);
      if (role.kind == RowRole::Kind::None)
        return false;
      instructions += instructionsOf(generic) * (role.kind == RowRole::Kind::Rows ? 1 : perLane);
      if (instructions > kMostInstructions)
        return false;
      for (OpOperand *input : generic.getDpsInputOperands())
        if (isa<MemRefType>(input->get().getType()))
          place(rootOf(input->get()), placeOf(generic, *input, role, group.rows, group.columns), true, false);
      generic.getBody()->walk([&](memref::LoadOp load) {
        place(rootOf(load.getMemRef()), RowRole::Kind::None, true, false);
      });
      for (OpOperand &init : generic.getDpsInitsMutable())
        place(rootOf(init.get()), placeOf(generic, init, role, group.rows, group.columns),
              generic.payloadUsesValueFromOperand(&init), true);
    }
    // Of one of each row all lanes of a warp know what its first one may just write.
    return llvm::none_of(uses, [](const auto &entry) {
      const Use &use = entry.second;
      return use.written && (use.mixed || (use.place == RowRole::Kind::Rows && use.readBefore));
    });
  }

  void gather(const Group &group) {
    Operation *last = group.ops.back();
    OpBuilder builder(last);
    auto region = scf::ExecuteRegionOp::create(builder, last->getLoc(), TypeRange());
    region->setAttr(kRowsAttr, builder.getDenseI64ArrayAttr({group.rows, group.columns}));
    Block *body = builder.createBlock(&region.getRegion());
    for (linalg::LinalgOp op : group.ops)
      op->moveBefore(body, body->end());
    builder.setInsertionPointToEnd(body);
    scf::YieldOp::create(builder, last->getLoc());
    moveTemporaries(group, region);
  }

  // What nobody else uses has no memory but the threads' own.
  static void moveTemporaries(const Group &group, scf::ExecuteRegionOp region) {
    llvm::SetVector<Operation *> allocs;
    for (linalg::LinalgOp op : group.ops)
      for (Value operand : op->getOperands())
        if (isa<MemRefType>(operand.getType()))
          if (auto alloc = rootOf(operand).getDefiningOp<memref::AllocOp>())
            allocs.insert(alloc);
    Block &body = region.getRegion().front();
    Operation *first = &body.front();
    for (Operation *alloc : allocs) {
      SmallVector<Operation *> moved{alloc}, deallocs;
      bool own = true;
      for (size_t i = 0; i < moved.size() && own; ++i)
        for (Operation *user : moved[i]->getUsers()) {
          if (planexport::isMemoryView(user) && user->getBlock() == region->getBlock())
            moved.push_back(user);
          else if (isa<memref::DeallocOp>(user))
            deallocs.push_back(user);
          else
            own &= region->isAncestor(user);
        }
      if (!own)
        continue;
      for (Operation *dealloc : deallocs)
        dealloc->erase();
      for (Operation *op : moved)
        op->moveBefore(first);
      OpBuilder builder(alloc);
      auto type = cast<MemRefType>(alloc->getResult(0).getType());
      auto local = memref::AllocaOp::create(builder, alloc->getLoc(), type);
      local->setAttr(planexport::kOfThreadsAttr, builder.getUnitAttr());
      alloc->getResult(0).replaceAllUsesWith(local);
      alloc->erase();
    }
  }

  func::FuncOp fragment;
  Group open;
  SmallVector<Group> found;
};

} // namespace

RowRole roleOf(linalg::GenericOp op, int64_t rows, int64_t columns) {
  RowRole role;
  NestShape shape = shapeOf(op);
  if (shape.form == NestShape::Form::Reduction && shape.outputs == rows && shape.terms == columns && shape.lanesFirst &&
      shape.lanes == kWarp && shape.chunks == 1) {
    role.kind = RowRole::Kind::Sums;
    role.rows = shape.parallel;
    role.columns = shape.reduction;
  } else if (shape.form == NestShape::Form::Elementwise && shape.outputs == rows) {
    role.kind = RowRole::Kind::Rows;
    role.rows = shape.parallel;
  } else if (shape.form == NestShape::Form::Elementwise && shape.outputs == rows * columns) {
    int64_t count = 1;
    for (unsigned loop : shape.parallel) {
      bool ofRows = count < rows;
      if (ofRows)
        count *= op.getStaticLoopRanges()[loop];
      (ofRows ? role.rows : role.columns).push_back(loop);
    }
    if (count == rows)
      role.kind = RowRole::Kind::Elements;
  }
  return role;
}

RowRole::Kind placeOf(linalg::GenericOp op, OpOperand &operand, const RowRole &role, int64_t rows, int64_t columns) {
  using Kind = RowRole::Kind;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!map.isProjectedPermutation())
    return Kind::None;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto walks = [&](ArrayRef<unsigned> loops, int64_t stride) {
    for (unsigned loop : llvm::reverse(loops)) {
      if (sizes[loop] != 1 && planexport::strideOf(op, operand, loop) != stride)
        return false;
      stride *= sizes[loop];
    }
    return true;
  };
  bool ofRows = role.kind == Kind::Rows || (op.isDpsInit(&operand) && role.kind == Kind::Sums);
  if (!ofRows && walks(role.columns, 1) && walks(role.rows, columns) && isWhole(operand.get(), rows * columns) &&
      isWhole(rootOf(operand.get()), rows * columns))
    return Kind::Elements;
  bool repeats = llvm::all_of(role.columns, [&](unsigned loop) {
    return sizes[loop] == 1 || planexport::strideOf(op, operand, loop) == 0;
  });
  if (repeats && walks(role.rows, 1) && isWhole(operand.get(), rows) && isWhole(rootOf(operand.get()), rows))
    return Kind::Rows;
  return Kind::None;
}

void groupRows(func::FuncOp fragment) { Groups(fragment).run(); }

} // namespace commsched::cudaexport
