// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value is a row of pieces of named values: byte `from` .. of the value of
// this name. Names are hashes of what made a value.

#include "passes/plan/CheckPlan.h"
#include "passes/plan/PlanBuilder.h"
#include "passes/plan/PlanDependences.h"

#include "ir/Cs.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;

namespace commsched::planexport {
namespace {

using Name = uint64_t;

struct Piece {
  Name name;
  uint64_t from, bytes;
};

/// Neighbours that continue each other are one piece.
class Row {
public:
  Row() = default;
  Row(Name name, uint64_t bytes) { append({name, 0, bytes}); }
  void append(const Piece &piece) {
    if (piece.bytes == 0)
      return;
    if (!pieces.empty() && pieces.back().name == piece.name &&
        pieces.back().from + pieces.back().bytes == piece.from)
      pieces.back().bytes += piece.bytes;
    else
      pieces.push_back(piece);
  }
  void append(const Row &other) {
    for (const Piece &piece : other.pieces)
      append(piece);
  }
  Row part(uint64_t begin, uint64_t end) const {
    Row result;
    uint64_t at = 0;
    for (const Piece &piece : pieces) {
      uint64_t from = std::max(begin, at), to = std::min(end, at + piece.bytes);
      if (from < to)
        result.append({piece.name, piece.from + from - at, to - from});
      at += piece.bytes;
    }
    return result;
  }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const Piece &piece : pieces)
      sum += piece.bytes;
    return sum;
  }
  Name name() const {
    llvm::hash_code code = 17;
    for (const Piece &piece : pieces)
      code = llvm::hash_combine(code, piece.name, piece.from, piece.bytes);
    return code;
  }

private:
  llvm::SmallVector<Piece, 1> pieces;
};

Name nameOf(StringRef what, StringRef label, ArrayRef<Name> operands, unsigned result) {
  return llvm::hash_combine(what, label, llvm::hash_combine_range(operands.begin(), operands.end()),
                            result);
}

/// Bytes of all memories; what was never written has a name of its own.
class SymbolicMemory {
public:
  explicit SymbolicMemory(const plan::Plan &plan, const plan::Function &function)
      : plan(plan), function(function) {}

  Row read(unsigned buffer) const {
    MemoryRange range = rangeOf(function, buffer);
    Row result;
    Name initial = initialName(range);
    uint64_t at = range.begin;
    auto memory = memories.find({range.kind, range.index});
    if (memory != memories.end()) {
      auto it = memory->second.upper_bound(range.begin);
      if (it != memory->second.begin())
        --it;
      for (; it != memory->second.end() && it->first < range.end; ++it) {
        const auto &[begin, run] = *it;
        uint64_t from = std::max(range.begin, begin), to = std::min(range.end, run.first);
        if (from >= to)
          continue;
        result.append({initial, at, from - at});
        result.append(run.second.part(from - begin, to - begin));
        at = to;
      }
    }
    result.append({initial, at, range.end - at});
    return result;
  }

  void write(unsigned buffer, const Row &row) {
    MemoryRange range = rangeOf(function, buffer);
    if (range.begin == range.end)
      return;
    auto &memory = memories[{range.kind, range.index}];
    // Cut what is there at both ends.
    for (uint64_t cut : {range.begin, range.end}) {
      auto it = memory.upper_bound(cut);
      if (it == memory.begin())
        continue;
      --it;
      auto [end, old] = it->second;
      if (it->first >= cut || end <= cut)
        continue;
      memory[cut] = {end, old.part(cut - it->first, end - it->first)};
      it->second = {cut, old.part(0, cut - it->first)};
    }
    memory.erase(memory.lower_bound(range.begin), memory.lower_bound(range.end));
    memory[range.begin] = {range.end, row};
  }

  uint64_t bytes(unsigned buffer) const {
    MemoryRange range = rangeOf(function, buffer);
    return range.end - range.begin;
  }

private:
  Name initialName(const MemoryRange &range) const {
    if (range.kind == MemoryRange::SlotCurrent) {
      const plan::Slot &slot = plan.slots(range.index);
      return nameOf("slot", slotKey(slot.name(), slot.device()), {}, 0);
    }
    if (range.kind == MemoryRange::Batch) {
      const plan::Buffer &batch = function.buffers(range.index);
      return nameOf("batch", batch.batch(), {batch.device()}, 0);
    }
    return nameOf("nothing", "", {range.kind, range.index}, 0);
  }

  const plan::Plan &plan;
  const plan::Function &function;
  // begin -> end, content
  std::map<std::pair<MemoryRange::Kind, unsigned>,
           std::map<uint64_t, std::pair<uint64_t, Row>>>
      memories;
};

/// What of a step is seen outside of it, by name.
struct Seen {
  std::vector<std::pair<std::string, Name>> metrics;
  std::map<std::string, Name> sent, kept;

  /// Adds what a slot holds afterwards, unless it is what it held before: a plan may
  /// write that once more or leave it.
  void keep(const std::string &key, const Row &value) {
    if (value.name() != Row(nameOf("slot", key, {}, 0), value.bytes()).name())
      kept[key] = value.name();
  }
};

Seen runPlan(const plan::Plan &plan, const plan::Function &function) {
  SymbolicMemory memory(plan, function);
  Seen seen;
  for (const plan::Instruction &instruction : function.instructions()) {
    auto compute = [&](StringRef what, const auto &run) {
      SmallVector<Name> inputs;
      for (unsigned input : run.inputs())
        inputs.push_back(memory.read(input).name());
      for (auto [k, output] : llvm::enumerate(run.outputs()))
        memory.write(output,
                     Row(nameOf(what, instruction.name(), inputs, k), memory.bytes(output)));
    };
    switch (instruction.kind_case()) {
    case plan::Instruction::kRun:
      compute("compute", instruction.run());
      break;
    case plan::Instruction::kLaunch:
      compute("compute", instruction.launch());
      break;
    case plan::Instruction::kDelay:
      compute("compute", instruction.delay());
      break;
    case plan::Instruction::kCommunicate: {
      const plan::Communicate &communicate = instruction.communicate();
      unsigned from = communicate.has_input() ? communicate.input() : communicate.buffer();
      if (communicate.has_other_end() && communicate.source_op() == "send") {
        Row value = memory.read(from);
        seen.sent[communicate.key()] = value.name();
        memory.write(communicate.buffer(), value);
        break;
      }
      if (communicate.has_other_end()) {
        memory.write(communicate.buffer(), Row(nameOf("receive", communicate.key(), {}, 0),
                                               memory.bytes(communicate.buffer())));
        break;
      }
      Name name = nameOf("communicate", communicate.key(), {memory.read(from).name()}, 0);
      unsigned result = communicate.has_output() ? communicate.output() : communicate.buffer();
      if (communicate.has_output())
        memory.write(communicate.buffer(), Row(nameOf("working", communicate.key(), {name}, 0),
                                               memory.bytes(communicate.buffer())));
      memory.write(result, Row(name, memory.bytes(result)));
      break;
    }
    case plan::Instruction::kCopy:
      memory.write(instruction.copy().target(), memory.read(instruction.copy().source()));
      break;
    case plan::Instruction::kPush:
      seen.sent[instruction.push().key()] = memory.read(instruction.push().buffer()).name();
      break;
    case plan::Instruction::kPull:
      memory.write(instruction.pull().buffer(),
                   Row(nameOf("receive", instruction.pull().key(), {}, 0),
                       memory.bytes(instruction.pull().buffer())));
      break;
    case plan::Instruction::kPushRows:
      seen.sent[instruction.push_rows().key()] =
          nameOf("rows", "",
                 {memory.read(instruction.push_rows().ids()).name(),
                  memory.read(instruction.push_rows().values()).name()},
                 0);
      break;
    case plan::Instruction::kPullRows:
      memory.write(instruction.pull_rows().values(),
                   Row(nameOf("receive", instruction.pull_rows().key(),
                              {memory.read(instruction.pull_rows().ids()).name()}, 0),
                       memory.bytes(instruction.pull_rows().values())));
      break;
    default:
      break;
    }
  }
  for (const plan::Output &output : function.outputs())
    seen.metrics.emplace_back(output.metric(), memory.read(output.buffer()).name());
  for (int b = 0; b < function.buffers_size(); ++b)
    if (function.buffers(b).kind() == plan::Buffer::SLOT_NEXT) {
      const plan::Slot &slot = plan.slots(function.buffers(b).slot());
      seen.keep(slotKey(slot.name(), slot.device()), memory.read(b));
    }
  return seen;
}

uint64_t bytesOf(Value value) {
  auto placed = dyn_cast<cs::PlacedType>(value.getType());
  if (!placed)
    placed = cast<cs::FutureType>(value.getType()).getValue();
  return tensorBytes(toPlan(placed.getTensor()));
}

/// The function over values. An op that has no meaning here is reported.
class SymbolicValues {
public:
  LogicalResult run(func::FuncOp function, Seen &seen) {
    for (auto [i, arg] : llvm::enumerate(function.getArguments()))
      values[arg] = Row(argumentName(function, i), bytesOf(arg));
    for (Operation &op : function.getBody().front())
      if (failed(visit(&op, function, seen)))
        return failure();
    return success();
  }

private:
  static Name argumentName(func::FuncOp function, unsigned i) {
    unsigned device = cast<cs::PlacedType>(function.getArgumentTypes()[i]).getDevice();
    for (StringRef kind : {cs::CsDialect::kParamAttr, cs::CsDialect::kStateAttr})
      if (auto name = function.getArgAttrOfType<StringAttr>(i, kind))
        return nameOf("slot", slotKey(name, device), {}, 0);
    // A worker's index has no name.
    auto batch = function.getArgAttrOfType<StringAttr>(i, cs::CsDialect::kBatchAttr);
    return nameOf("batch", batch ? batch.getValue() : "", {device}, 0);
  }

  static uint64_t elementOf(Value value) {
    auto type = cast<cs::PlacedType>(value.getType()).getTensor();
    return tensorBytes(toPlan(RankedTensorType::get({1}, type.getElementType())));
  }

  LogicalResult visit(Operation *op, func::FuncOp function, Seen &seen) {
    auto name = [&](Value value) { return values[value].name(); };
    auto joined = [&](ValueRange pieces, ArrayRef<int64_t> bounds) {
      Row row;
      for (auto [i, piece] : llvm::enumerate(pieces)) {
        uint64_t bytes = elementOf(piece);
        row.append(values[piece].part(bounds[2 * i] * bytes, bounds[2 * i + 1] * bytes));
      }
      return row;
    };
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](cs::FragmentOp fragment) {
          SmallVector<Name> inputs;
          for (Value input : fragment.getInputs())
            inputs.push_back(name(input));
          for (auto [k, result] : llvm::enumerate(fragment.getOutputs()))
            values[result] =
                Row(nameOf("compute", fragment.getLabel(), inputs, k), bytesOf(result));
          return success();
        })
        .Case([&](cs::StartOp start) {
          values[start.getFuture()] = communicated(start, seen);
          return success();
        })
        .Case([&](cs::AwaitOp await) {
          values[await.getResult()] = Row(values[await.getFuture()]);
          return success();
        })
        .Case([&](cs::CopyOp copy) {
          values[copy.getResult()] = Row(values[copy.getValue()]);
          return success();
        })
        .Case([&](cs::SplitOp split) {
          uint64_t at = 0;
          Row whole = values[split.getValue()];
          for (Value block : split.getBlocks()) {
            values[block] = whole.part(at, at + bytesOf(block));
            at += bytesOf(block);
          }
          return success();
        })
        .Case([&](cs::ConcatOp concat) {
          Row row;
          for (Value block : concat.getBlocks())
            row.append(values[block]);
          values[concat.getResult()] = row;
          return success();
        })
        .Case([&](cs::PackOp pack) {
          Row row = joined(pack.getPieces(), pack.getBounds());
          values[pack.getResult()] = row;
          return success();
        })
        .Case([&](cs::UnpackOp unpack) {
          Row row = joined(unpack.getPieces(), unpack.getBounds());
          values[unpack.getResult()] = row;
          return success();
        })
        .Case([&](func::ReturnOp result) {
          for (auto [i, value] : llvm::enumerate(result.getOperands())) {
            auto attr = [&](StringRef kind) {
              return function.getResultAttrOfType<StringAttr>(i, kind);
            };
            if (auto metric = attr(cs::CsDialect::kMetricAttr)) {
              seen.metrics.emplace_back(metric.str(), name(value));
            } else if (auto slot = attr(cs::CsDialect::kUpdatesAttr)) {
              unsigned device = cast<cs::PlacedType>(value.getType()).getDevice();
              seen.keep(slotKey(slot, device), values[value]);
            }
          }
          return success();
        })
        .Default([](Operation *other) {
          return other->emitOpError("internal error: has no meaning to the check of plans");
        });
  }

  Row communicated(cs::StartOp start, Seen &seen) {
    Operation *inner = &start.getBody().front().front();
    auto outer = [&](Value value) -> const Row & {
      return values[start.getInputs()[cast<BlockArgument>(value).getArgNumber()]];
    };
    std::string key = start.getKey().str();
    uint64_t bytes = bytesOf(start.getFuture());
    if (auto send = dyn_cast<cs::SendOp>(inner)) {
      seen.sent[key] = outer(send.getValue()).name();
      return outer(send.getValue());
    }
    if (isa<cs::RecvOp>(inner))
      return Row(nameOf("receive", key, {}, 0), bytes);
    if (auto send = dyn_cast<cs::SendRowsOp>(inner)) {
      seen.sent[key] = nameOf("rows", "", {outer(send.getIds()).name(), outer(send.getValues()).name()}, 0);
      return outer(send.getValues());
    }
    if (auto fetch = dyn_cast<cs::FetchRowsOp>(inner))
      return Row(nameOf("receive", key, {outer(fetch.getIds()).name()}, 0), bytes);
    const Row &input = values[start.getInputs()[0]];
    if (isa<cs::CopyOp>(inner))
      return input;
    return Row(nameOf("communicate", key, {input.name()}, 0), bytes);
  }

  llvm::DenseMap<Value, Row> values;
};

} // namespace

LogicalResult checkValues(func::FuncOp function, const plan::Plan &plan,
                          const plan::Function &made) {
  Seen wanted;
  if (failed(SymbolicValues().run(function, wanted)))
    return failure();
  Seen got = runPlan(plan, made);
  auto differs = [&](StringRef what, const std::string &name) {
    return function.emitError("internal error: the plan's memory does not hold the value of ")
           << what << " \"" << name << "\" when it is wanted";
  };
  if (wanted.metrics.size() != got.metrics.size())
    return function.emitError("internal error: the plan must have ")
           << wanted.metrics.size() << " metrics, got: " << got.metrics.size();
  for (auto [want, have] : llvm::zip(wanted.metrics, got.metrics))
    if (want != have)
      return differs("metric", want.first);
  auto compare = [&](StringRef what, const auto &want, const auto &have) -> LogicalResult {
    for (const auto &[name, value] : want) {
      auto it = have.find(name);
      if (it == have.end() || it->second != value)
        return differs(what, name);
    }
    for (const auto &[name, value] : have)
      if (!want.count(name))
        return differs(what, name);
    return success();
  };
  return success(succeeded(compare("message", wanted.sent, got.sent)) &&
                 succeeded(compare("slot", wanted.kept, got.kept)));
}

} // namespace commsched::planexport
