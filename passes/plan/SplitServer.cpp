// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SplitServer.h"

#include "ir/CsServerFunctions.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

constexpr int kSchedule = -1; // else the index of a block

class Splitter {
public:
  explicit Splitter(func::FuncOp server)
      : server(server), body(server.front()),
        dependences(cast<FunctionOpInterface>(server.getOperation())) {
    program.index = *cs::getServerIndex(server);
    program.source = server;
    prefix = "server." + std::to_string(program.index) + "/";
  }

  FailureOr<ServerProgram> run() {
    if (failed(findParts()) || failed(findArguments()) ||
        failed(findResults()) || failed(findReaders()) ||
        failed(findPublished()))
      return failure();
    program.functions = ModuleOp::create(server.getLoc());
    if (!passed.empty() || llvm::any_of(results, [](const Result &r) {
          return r.part == kSchedule;
        }))
      program.schedule = build(kSchedule, prefix + "schedule");
    for (auto [i, block] : llvm::enumerate(program.blocks))
      block.function = build(i, prefix + block.collect.getKey().str());
    return std::move(program);
  }

private:
  struct Result {
    Value value;
    std::string slot;
    int part;
  };

  static RankedTensorType tensorOf(Value value) {
    return cast<cs::PlacedType>(value.getType()).getTensor();
  }

  int partOf(Operation *op) const {
    const auto &collects = dependences.of(op);
    return collects.empty() ? kSchedule : blockOf.lookup(collects.front());
  }
  int partOf(Value value) const {
    Operation *op = value.getDefiningOp();
    return op ? partOf(op) : kSchedule;
  }
  std::string nameOf(int part) {
    return part == kSchedule
               ? "the schedule"
               : "\"" + program.blocks[part].collect.getKey().str() + "\"";
  }

  LogicalResult findParts() {
    for (auto collect : body.getOps<cs::CollectOp>()) {
      blockOf[collect] = program.blocks.size();
      program.blocks.push_back({collect, {}, {}, {}});
    }
    for (Operation &op : body.without_terminator()) {
      cs::ServerDependences::Collects collects = dependences.of(&op);
      if (collects.size() > 1)
        return op.emitOpError()
               << "depends on the messages \"" << collects[0].getKey()
               << "\" and \"" << collects[1].getKey()
               << "\": a server updates each block by itself";
      auto publish = dyn_cast<cs::PublishOp>(op);
      if (!publish)
        continue;
      if (collects.empty())
        return op.emitOpError("depends on no message of the trainers");
      cs::PublishOp &own = program.blocks[partOf(&op)].publish;
      if (own) {
        InFlightDiagnostic diagnostic =
            op.emitOpError() << "publishes a second value of block \""
                             << collects[0].getKey() << "\"";
        diagnostic.attachNote(own.getLoc()) << "the first is here";
        return diagnostic;
      }
      own = publish;
    }
    for (ServerBlockFunction &block : program.blocks)
      if (!block.publish)
        return block.collect.emitOpError("has no cs.publish that depends on it");
    return success();
  }

  /// Name of the slot of an argument or result.
  std::string slotName(StringAttr name, DenseI64ArrayAttr rows) {
    std::string text = prefix + name.str();
    if (rows)
      text += "[" + std::to_string(rows[0]) + ":" + std::to_string(rows[1]) + "]";
    return text;
  }

  LogicalResult findArguments() {
    for (BlockArgument argument : body.getArguments()) {
      unsigned i = argument.getArgNumber();
      auto param = server.getArgAttrOfType<StringAttr>(i, cs::CsDialect::kParamAttr);
      auto state = server.getArgAttrOfType<StringAttr>(i, cs::CsDialect::kStateAttr);
      auto rows =
          server.getArgAttrOfType<DenseI64ArrayAttr>(i, cs::CsDialect::kRowsAttr);
      if (!param && !state)
        return server.emitOpError() << "argument " << i
                                    << " of a server must have cs.param or cs.state";
      StringAttr name = param ? param : state;
      std::string slot = slotName(name, rows);
      if (!argumentOf.try_emplace(slot, argument).second)
        return server.emitOpError() << "argument " << i << " is \"" << slot << "\" again";
      slotOf[argument] = slot;
      program.slots.push_back({slot, name.str(), rows ? rows[0] : 0,
                               static_cast<bool>(param), tensorOf(argument), server});
    }
    return success();
  }

  LogicalResult findResults() {
    Operation *ret = body.getTerminator();
    for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
      auto name = server.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kUpdatesAttr);
      if (!name)
        return ret->emitOpError() << "result " << i << " of a server must have cs.updates";
      std::string slot = slotName(
          name, server.getResultAttrOfType<DenseI64ArrayAttr>(i, cs::CsDialect::kRowsAttr));
      auto argument = argumentOf.find(slot);
      if (argument == argumentOf.end())
        return ret->emitOpError() << "result " << i << " updates \"" << slot
                                  << "\", which is no argument";
      if (tensorOf(argument->second) != tensorOf(value))
        return ret->emitOpError() << "type of \"" << slot << "\" must match "
                                  << tensorOf(argument->second)
                                  << ", got: " << tensorOf(value);
      if (value == argument->second)
        continue; // unchanged
      if (!updatedBy.try_emplace(argument->second, partOf(value)).second)
        return ret->emitOpError() << "result " << i << " updates \"" << slot << "\" again";
      results.push_back({value, slot, partOf(value)});
    }
    return success();
  }

  /// What goes from the schedule to blocks, and what must not be read where
  /// it is.
  LogicalResult findReaders() {
    auto reads = [&](Operation *reader, Value value, int part) -> LogicalResult {
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        auto writer = updatedBy.find(argument);
        if (writer == updatedBy.end() || writer->second == part)
          return success();
        if (writer->second != kSchedule)
          return reader->emitOpError()
                 << "of " << nameOf(part) << " reads \"" << slotOf[argument]
                 << "\", which " << nameOf(writer->second)
                 << " updates: nothing orders them";
        // When the block runs, the schedule has updated it already.
        passed.insert({value, ""});
        return success();
      }
      if (partOf(value) == kSchedule && part != kSchedule)
        passed.insert({value, ""});
      return success();
    };
    for (Operation &op : body.without_terminator())
      for (Value operand : op.getOperands())
        if (failed(reads(&op, operand, partOf(&op))))
          return failure();
    for (Result &result : results)
      if (isa<BlockArgument>(result.value) &&
          failed(reads(body.getTerminator(), result.value, result.part)))
        return failure();
    unsigned next = 0;
    for (auto &[value, slot] : passed) {
      slot = prefix + "schedule#" + std::to_string(next++);
      program.slots.push_back({slot, "", 0, false, tensorOf(value), server});
    }
    return success();
  }

  LogicalResult findPublished() {
    for (ServerBlockFunction &block : program.blocks) {
      Value value = block.publish.getValue();
      auto it = llvm::find_if(
          results, [&](const Result &result) { return result.value == value; });
      if (it == results.end())
        return block.publish.emitOpError(
            "must publish the new value of a parameter or state, one that the "
            "function returns");
      block.slot = it->slot;
    }
    return success();
  }

  func::FuncOp build(int part, const std::string &name) {
    MLIRContext *context = server.getContext();
    OpBuilder builder = OpBuilder::atBlockEnd(program.functions->getBody());
    auto function = func::FuncOp::create(
        builder, server.getLoc(), name, FunctionType::get(context, {}, {}));
    function->setAttr(cs::CsDialect::kServerAttr,
                      server->getAttr(cs::CsDialect::kServerAttr));
    Block *block = function.addEntryBlock();
    IRMapping mapping;
    SmallVector<Type> inputs;
    SmallVector<DictionaryAttr> attributes;
    auto add = [&](Value value, StringRef kind, StringRef name) {
      mapping.map(value, block->addArgument(value.getType(), value.getLoc()));
      inputs.push_back(value.getType());
      attributes.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(kind, builder.getStringAttr(name))));
    };
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      if (partOf(&op) == part && !isa<cs::CollectOp, cs::PublishOp>(op))
        ops.push_back(&op);
    auto isRead = [&](Value value) {
      return llvm::any_of(ops, [&](Operation *op) {
        return llvm::is_contained(op->getOperands(), value);
      }) || llvm::any_of(results, [&](const Result &result) {
        return result.part == part && result.value == value;
      });
    };
    if (part != kSchedule) {
      cs::CollectOp collect = program.blocks[part].collect;
      add(collect.getResult(), cs::CsDialect::kBatchAttr, collect.getKey());
    }
    for (BlockArgument argument : body.getArguments()) {
      bool wanted = isRead(argument) ||
                    (part == kSchedule && passed.contains(argument));
      if (wanted && (part == kSchedule || !passed.contains(argument)))
        add(argument,
            server.getArgAttr(argument.getArgNumber(), cs::CsDialect::kParamAttr)
                ? cs::CsDialect::kParamAttr
                : cs::CsDialect::kStateAttr,
            slotOf[argument]);
    }
    if (part != kSchedule)
      for (auto &[value, slot] : passed)
        if (isRead(value))
          add(value, cs::CsDialect::kStateAttr, slot);

    builder.setInsertionPointToEnd(block);
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    SmallVector<Value> returned;
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> resultAttributes;
    auto give = [&](Value value, StringRef slot) {
      returned.push_back(mapping.lookup(value));
      types.push_back(value.getType());
      resultAttributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
          cs::CsDialect::kUpdatesAttr, builder.getStringAttr(slot))));
    };
    for (const Result &result : results)
      if (result.part == part)
        give(result.value, result.slot);
    if (part == kSchedule)
      for (auto &[value, slot] : passed)
        give(value, slot);
    func::ReturnOp::create(builder, body.getTerminator()->getLoc(), returned);
    function.setType(FunctionType::get(context, inputs, types));
    function.setAllArgAttrs(attributes);
    function.setAllResultAttrs(resultAttributes);
    return function;
  }

  func::FuncOp server;
  Block &body;
  cs::ServerDependences dependences;
  std::string prefix;
  ServerProgram program;
  DenseMap<Operation *, int> blockOf;           // by collect
  llvm::StringMap<BlockArgument> argumentOf;    // by slot
  DenseMap<Value, std::string> slotOf;          // of an argument
  DenseMap<Value, int> updatedBy;               // part, of an argument
  std::vector<Result> results;                  // that change something
  llvm::MapVector<Value, std::string> passed;   // schedule to blocks: slot
};

} // namespace

FailureOr<ServerProgram> splitServer(func::FuncOp server) {
  return Splitter(server).run();
}

} // namespace commsched::planexport
