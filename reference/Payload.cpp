// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Payload.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace commsched::reference;

static void runIndex(const Instruction &i, Machine &m) {
  m.out(i).integer = m.indices[i.immediate];
  m.out(i).bound = 0;
}

/// tensor.extract: immediate is the number of the array, operands are the indices.
static void runExtract(const Instruction &i, Machine &m) {
  const Array &array = *m.captures[i.immediate];
  Scalar &out = m.out(i);
  int64_t offset = 0;
  bool exact = true, inside = true;
  for (auto [d, size] : llvm::enumerate(array.shape)) {
    const Scalar &index = m.in(i, d);
    exact &= index.bound == 0;
    inside &= index.integer >= 0 && index.integer < size;
    offset = offset * size + index.integer;
  }
  if (!inside) {
    // An index that nobody knows need not be this one.
    if (exact)
      m.fail(i.op, "reads an element outside of the tensor");
    out.value = 0;
    out.integer = 0;
    out.bound = kUndetermined;
    return;
  }
  load(out, array, offset);
  if (isUnwritten(out.bound))
    m.fail(i.op, "reads an element that was never written");
  if (!exact)
    out.bound = !i.format && i.width == 1 ? 1 : kUndetermined;
}

/// Whether it promises more than that a product and a sum may be one.
static bool isRelaxed(Operation &op) {
  auto interface = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!interface || !interface.getFastMathFlagsAttr())
    return false;
  auto flags = interface.getFastMathFlagsAttr().getValue();
  return (flags & ~arith::FastMathFlags::contract) != arith::FastMathFlags::none;
}

unsigned Payload::registerOf(Value value) {
  auto [entry, isNew] = registerOfValue.try_emplace(value, registers);
  if (isNew) {
    ++registers;
    scalarsOfOutside.push_back({value, entry->second});
  }
  return entry->second;
}

/// A sum: the argument is used once, by an addition (or a conversion in front of one),
/// and so on until its result is yielded, at the argument's place.
void Payload::findSums(Block &block, unsigned firstSum) {
  Operation *yield = block.getTerminator();
  for (unsigned a = firstSum; a < block.getNumArguments(); ++a) {
    if (!isa<FloatType>(block.getArgument(a).getType()))
      continue;
    Value at = block.getArgument(a);
    llvm::SmallVector<std::pair<Operation *, Value>> way;
    unsigned terms = 0;
    while (at.hasOneUse()) {
      OpOperand &use = *at.use_begin();
      Operation *op = use.getOwner();
      if (op == yield) {
        if (use.getOperandNumber() != a - firstSum || terms == 0)
          break;
        sums[a] = terms;
        sumOps.insert(way.begin(), way.end());
        break;
      }
      bool adds = isa<arith::AddFOp>(op) ||
                  (isa<arith::SubFOp>(op) && use.getOperandNumber() == 0);
      if ((!adds && !isa<arith::ExtFOp, arith::TruncFOp>(op)) || op->getBlock() != &block ||
          isRelaxed(*op))
        break;
      terms += adds;
      way.push_back({op, at});
      at = op->getResult(0);
    }
  }
}

LogicalResult Payload::add(Operation &op) {
  Instruction instruction;
  instruction.op = &op;
  if (isRelaxed(op))
    return op.emitOpError("has fast-math flags that the reference does not know");
  auto defineResults = [&] {
    instruction.result = registers;
    for (Value result : op.getResults())
      registerOfValue[result] = registers++;
  };
  auto setTypes = [&](Type from, Type to) {
    instruction.from = formatOf(from);
    instruction.fromWidth = widthOf(from);
    instruction.format = formatOf(to);
    instruction.width = widthOf(to);
  };
  Type first = op.getNumOperands() ? getElementTypeOrSelf(op.getOperand(0).getType()) : Type();
  Type last = op.getNumResults() ? getElementTypeOrSelf(op.getResult(0).getType()) : Type();
  if (!last || !isSupported(last))
    return op.emitOpError("is not known to the reference");
  setTypes(first ? first : last, last);

  Attribute value;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    ArrayPtr number = makeConstant(constant.getValue(), constant.getType());
    if (!number || number->size() != 1)
      return op.emitOpError("is not known to the reference");
    Scalar scalar;
    load(scalar, *number, 0);
    constants.push_back({registers, scalar});
    defineResults();
    return success();
  }
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    instruction.run = runIndex;
    instruction.immediate = static_cast<int64_t>(index.getDim());
    defineResults();
  } else if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
    std::optional<int64_t> number = dim.getConstantIndex();
    if (!type || !number || *number < 0 || *number >= type.getRank() ||
        type.isDynamicDim(*number))
      return op.emitOpError("is not known to the reference");
    Scalar scalar;
    scalar.integer = type.getDimSize(*number);
    constants.push_back({registers, scalar});
    defineResults();
    return success();
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    instruction.run = runExtract;
    instruction.immediate = static_cast<int64_t>(tensorsOfOutside.size());
    tensorsOfOutside.push_back({extract.getTensor(), 0});
    for (Value index : extract.getIndices())
      instruction.operands.push_back(registerOf(index));
    defineResults();
  } else if (auto sum = sumOps.find(&op); sum != sumOps.end()) {
    bool adds = isa<arith::AddFOp, arith::SubFOp>(op);
    instruction.run = adds ? runAccumulate : runCopy;
    instruction.immediate = isa<arith::SubFOp>(op);
    instruction.operands.push_back(registerOf(sum->second));
    if (adds)
      instruction.operands.push_back(
          registerOf(op.getOperand(op.getOperand(0) == sum->second ? 1 : 0)));
    defineResults();
  } else {
    ScalarBuilder build = scalarBuilder(op.getName().getStringRef());
    if (!build || op.getNumRegions() != 0)
      return op.emitOpError("is not known to the reference");
    // Of a select, what is chosen from.
    if (isa<arith::SelectOp>(op))
      setTypes(last, last);
    for (Value operand : op.getOperands()) {
      if (!isSupported(getElementTypeOrSelf(operand.getType())))
        return op.emitOpError() << "is not known to the reference for " << operand.getType();
      instruction.operands.push_back(registerOf(operand));
    }
    if (!build(&op, instruction))
      return op.emitOpError("is not known to the reference in this form");
    defineResults();
  }
  instructions.push_back(std::move(instruction));
  return success();
}

std::unique_ptr<Payload> Payload::compile(Block &block, unsigned firstSum) {
  auto payload = std::make_unique<Payload>();
  for (BlockArgument argument : block.getArguments()) {
    payload->registerOfValue[argument] = payload->registers++;
    payload->used.push_back(!argument.use_empty());
  }
  payload->sums.resize(block.getNumArguments());
  payload->findSums(block, firstSum);
  for (Operation &op : block.without_terminator())
    if (failed(payload->add(op)))
      return nullptr;
  for (Value result : block.getTerminator()->getOperands())
    payload->results.push_back(payload->registerOf(result));
  payload->machine.registers.resize(payload->registers);
  return payload;
}

std::unique_ptr<Payload> Payload::compile(Operation *op) {
  auto payload = std::make_unique<Payload>();
  // Operands come in the order of registers; one that is used twice has one.
  for (Value operand : op->getOperands())
    payload->registerOfValue.try_emplace(operand, payload->registers++);
  if (failed(payload->add(*op)))
    return nullptr;
  for (Value result : op->getResults())
    payload->results.push_back(payload->registerOfValue[result]);
  payload->machine.registers.resize(payload->registers);
  return payload;
}

void Payload::bind(const Interpreter &interpreter) {
  machine.failed = nullptr;
  for (const auto &[reg, scalar] : constants)
    machine.registers[reg] = scalar;
  for (const auto &[value, reg] : scalarsOfOutside) {
    const ArrayPtr &array = interpreter.lookup(value);
    load(machine.registers[reg], *array, 0);
    if (isUnwritten(array->bounds[0]))
      machine.fail(value.getDefiningOp() ? value.getDefiningOp() : instructions[0].op,
                   "is used, but was never written");
  }
  machine.captures.clear();
  for (const auto &[value, number] : tensorsOfOutside)
    machine.captures.push_back(interpreter.lookup(value));
}

void Payload::release() { machine.captures.clear(); }

void Payload::failUnwritten(Operation *op) {
  machine.fail(op, "reads an element that was never written");
}

LogicalResult Payload::check() {
  if (!machine.failed)
    return success();
  return machine.failed->emitOpError(machine.why);
}
