// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/SplitServer.h"
#include "passes/plan/ServerParts.h"

#include "ir/CsServerFunctions.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

constexpr int kSchedule = ServerParts::kSchedule;

class Splitter {
public:
  explicit Splitter(func::FuncOp server)
      : server(server), body(server.front()),
        dependences(cast<FunctionOpInterface>(server.getOperation())) {
    program.index = *cs::getServerIndex(server);
    program.source = parts.server = server;
    prefix = "server." + std::to_string(program.index) + "/";
  }

  FailureOr<ServerProgram> run() {
    if (failed(findParts()) || failed(findArguments()) ||
        failed(findResults()) || failed(checkUpdates()) || failed(joinReaders()) ||
        failed(pairPublishes()))
      return failure();
    findPassed();
    findPublished();
    findMembers();
    program.functions = ModuleOp::create(server.getLoc());
    if (!parts.passed.empty() || llvm::any_of(parts.results, [](const Result &r) {
          return r.part == kSchedule;
        }))
      program.schedule = build(kSchedule, prefix + "schedule");
    for (auto [i, block] : llvm::enumerate(program.blocks)) {
      int first = find(i);
      block.function = first == int(i)
                           ? build(i, prefix + block.key().str())
                           : program.blocks[first].function;
    }
    return std::move(program);
  }

private:
  using Result = ServerParts::Result;

  static RankedTensorType tensorOf(Value value) {
    return cast<cs::PlacedType>(value.getType()).getTensor();
  }

  int partOf(Operation *op) const {
    const auto &collects = dependences.of(op);
    if (cs::UpdateRowsOp update = dependences.updateOf(op))
      return blockOf.lookup(update);
    return collects.empty() ? kSchedule : find(blockOf.lookup(collects.front()));
  }
  int partOf(Value value) const {
    Operation *op = value.getDefiningOp();
    return op ? partOf(op) : kSchedule;
  }
  StringRef keyOf(int block) { return program.blocks[block].key(); }

  /// The first of the blocks that are updated together with this one.
  int find(int block) const {
    while (block != kSchedule && joined[block] != block)
      block = joined[block];
    return block;
  }

  /// The updates of two blocks need each other.
  LogicalResult join(int a, int b, Operation *at) {
    if (a == kSchedule || b == kSchedule || find(a) == find(b))
      return success();
    for (int block : {a, b})
      if (program.blocks[block].update)
        return at->emitOpError() << "joins the update of rows \"" << keyOf(block)
                                 << "\" with another";
    for (int block : {a, b})
      if (!program.blocks[block].reduction())
        return at->emitOpError()
               << "joins the updates of \"" << keyOf(a) << "\" and \"" << keyOf(b)
               << "\", whose messages are applied one by one as they arrive";
    auto [first, second] = std::minmax({find(a), find(b)});
    joined[second] = first;
    return success();
  }

  /// Rows of a block depend on its message alone, and are handed out as they are.
  LogicalResult checkRows(Operation *op) {
    cs::UpdateRowsOp update = dependences.updateOf(op);
    if (!update)
      return success();
    auto publish = dyn_cast<cs::PublishOp>(op);
    bool isFirst = publish && publish.getValue() == update.getResult(0);
    if (isFirst || (op == update && dependences.of(op).empty() &&
                    llvm::none_of(op->getOperands(), [&](Value operand) {
                      Operation *from = operand.getDefiningOp();
                      return from && dependences.updateOf(from);
                    })))
      return success();
    return op->emitOpError() << "needs what the rows of \"" << update.getKey()
                             << "\" become, and nothing but a cs.publish of the "
                                "table can: they are updated by themselves";
  }

  /// What is published together is in slots of its own, and put together when it is sent.
  LogicalResult checkPack(Operation *op) {
    auto pack = dyn_cast<cs::PackOp>(op);
    if (!pack)
      return success();
    bool isPublished = llvm::all_of(pack->getUsers(), llvm::IsaPred<cs::PublishOp>);
    for (auto [i, piece] : llvm::enumerate(pack.getPieces()))
      isPublished &= pack.getBounds()[2 * i] == 0 &&
                     pack.getBounds()[2 * i + 1] == tensorOf(piece).getNumElements();
    return isPublished ? success()
                       : LogicalResult(op->emitOpError(
                             "of a server must be of whole tensors, for a cs.publish"));
  }

  LogicalResult findParts() {
    for (Operation &op : body) {
      auto collect = dyn_cast<cs::CollectOp>(op);
      auto update = dyn_cast<cs::UpdateRowsOp>(op);
      if (!collect && !update)
        continue;
      joined.push_back(program.blocks.size());
      blockOf[&op] = program.blocks.size();
      program.blocks.push_back({collect, {}, {}, {}, update});
    }
    for (Operation &op : body.without_terminator()) {
      cs::ServerDependences::Collects collects = dependences.of(&op);
      if (failed(checkRows(&op)) || failed(checkPack(&op)))
        return failure();
      for (cs::CollectOp collect : collects)
        if (failed(join(blockOf.lookup(collects[0]), blockOf.lookup(collect), &op)))
          return failure();
      if (isa<cs::PublishOp>(op) && collects.empty() && !dependences.updateOf(&op))
        return op.emitOpError("depends on no message of the trainers");
    }
    return success();
  }

  /// Each block hands out one value. Blocks that are updated together have their
  /// values at the same time: which is whose say their keys, or else their order.
  LogicalResult pairPublishes() {
    std::vector<unsigned> next(program.blocks.size());
    llvm::StringMap<unsigned> byNewKey;
    for (unsigned block = 0; block < program.blocks.size(); ++block)
      byNewKey.try_emplace(cs::getNewKey(keyOf(block)), block);
    llvm::DenseSet<Operation *> paired;
    cs::PublishOp last;
    for (auto publish : body.getOps<cs::PublishOp>())
      if (auto known = byNewKey.find(publish.getKey());
          known != byNewKey.end() && find(known->second) == partOf(publish) &&
          !program.blocks[known->second].publish) {
        last = program.blocks[known->second].publish = publish;
        paired.insert(publish);
      }
    for (auto publish : body.getOps<cs::PublishOp>()) {
      if (paired.contains(publish))
        continue;
      int part = partOf(publish);
      unsigned &block = next[part];
      while (block < program.blocks.size() &&
             (find(block) != part || program.blocks[block].publish))
        ++block;
      if (block == program.blocks.size()) {
        InFlightDiagnostic diagnostic =
            publish.emitOpError() << "publishes a second value of block \""
                                  << keyOf(part) << "\"";
        diagnostic.attachNote(last.getLoc()) << "another one is here";
        return diagnostic;
      }
      last = program.blocks[block++].publish = publish;
    }
    for (ServerBlockFunction &block : program.blocks)
      if (!block.publish)
        return block.op()->emitOpError("has no cs.publish that depends on it");
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
      parts.slotOf[argument] = slot;
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
      parts.results.push_back({value, slot, partOf(value)});
    }
    return success();
  }

  /// What has the rows of a table is taken out of its slot and put back there.
  LogicalResult checkUpdates() {
    DenseMap<Operation *, SmallVector<unsigned>> resultsBy;
    for (auto [i, result] : llvm::enumerate(parts.results))
      if (auto update = result.value.getDefiningOp<cs::UpdateRowsOp>())
        resultsBy[update].push_back(i);
    for (auto update : body.getOps<cs::UpdateRowsOp>()) {
      int block = blockOf.lookup(update);
      llvm::StringMap<Value> bySlot; // by slot
      for (auto [rows, result] : llvm::zip(update.getRows(), update.getResults())) {
        auto argument = dyn_cast<BlockArgument>(rows);
        if (!argument)
          return update.emitOpError("must update rows of the function's arguments");
        if (!bySlot.try_emplace(parts.slotOf[argument], result).second)
          return update.emitOpError() << "has \"" << parts.slotOf[argument] << "\" twice";
        auto writer = updatedBy.find(argument);
        if (writer != updatedBy.end() && writer->second != block)
          return update.emitOpError()
                 << "updates rows of \"" << parts.slotOf[argument]
                 << "\", which is also updated as a whole";
      }
      for (unsigned number : resultsBy.lookup(update)) {
        const Result &own = parts.results[number];
        auto expected = bySlot.find(own.slot);
        if (expected == bySlot.end() || expected->second != own.value)
          return update.emitOpError()
                 << "makes new rows of another slot than \"" << own.slot
                 << "\", which the function updates with them";
      }
    }
    return success();
  }

  /// Calls `fn` with each op that reads an argument and the part that it is in.
  template <typename Fn>
  LogicalResult forEachRead(Fn fn) {
    for (Operation &op : body.without_terminator())
      for (Value operand : op.getOperands())
        if (auto argument = dyn_cast<BlockArgument>(operand))
          if (failed(fn(&op, argument, partOf(&op))))
            return failure();
    for (Result &result : parts.results)
      if (auto argument = dyn_cast<BlockArgument>(result.value))
        if (failed(fn(body.getTerminator(), argument, result.part)))
          return failure();
    return success();
  }

  /// Nothing orders the blocks of a server: what one updates and another reads
  /// makes them one. The schedule runs before all of them.
  LogicalResult joinReaders() {
    return forEachRead([&](Operation *op, BlockArgument argument, int part) {
      auto writer = updatedBy.find(argument);
      if (writer == updatedBy.end() || writer->second == kSchedule)
        return success();
      if (part != kSchedule)
        return join(writer->second, part, op);
      if (program.blocks[writer->second].reduction())
        return success();
      return LogicalResult(op->emitOpError()
                           << "of the schedule reads \"" << parts.slotOf[argument]
                           << "\", which \"" << keyOf(writer->second)
                           << "\" updates whenever a message arrives");
    });
  }

  /// What goes from the schedule to blocks.
  void findPassed() {
    for (Result &result : parts.results)
      result.part = find(result.part);
    (void)forEachRead([&](Operation *, BlockArgument argument, int part) {
      auto writer = updatedBy.find(argument);
      // When the block runs, the schedule has updated it already.
      if (part != kSchedule && writer != updatedBy.end() &&
          writer->second == kSchedule)
        parts.passed.insert({argument, ""});
      return success();
    });
    for (Operation &op : body.without_terminator())
      for (Value operand : op.getOperands())
        if (operand.getDefiningOp() && partOf(operand) == kSchedule &&
            partOf(&op) != kSchedule)
          parts.passed.insert({operand, ""});
    unsigned next = 0;
    for (auto &[value, slot] : parts.passed) {
      slot = prefix + "schedule#" + std::to_string(next++);
      program.slots.push_back({slot, "", 0, false, tensorOf(value), server});
    }
  }

  void findPublished() {
    llvm::StringSet<> taken;
    DenseMap<Value, unsigned> first; // result
    for (auto [i, result] : llvm::enumerate(parts.results))
      first.try_emplace(result.value, i);
    for (ServerBlockFunction &block : program.blocks) {
      SmallVector<Value> values = {block.publish.getValue()};
      if (auto pack = values.front().getDefiningOp<cs::PackOp>())
        values = llvm::to_vector(pack.getPieces());
      for (Value value : values) {
        auto known = first.find(value);
        if (known != first.end() && taken.insert(parts.results[known->second].slot).second) {
          block.slots.push_back(parts.results[known->second].slot);
          continue;
        }
        std::string slot = prefix + "#" + block.publish.getKey().str();
        if (values.size() > 1)
          slot += "#" + std::to_string(block.slots.size());
        program.slots.push_back({slot, "", 0, false, tensorOf(value), block.publish});
        first.try_emplace(value, parts.results.size());
        parts.results.push_back({value, slot, partOf(value)});
        block.slots.push_back(std::move(slot));
      }
    }
  }

  /// What belongs to each part, in order.
  void findMembers() {
    for (auto [i, result] : llvm::enumerate(parts.results)) {
      parts.resultsOf[result.part].push_back(i);
      parts.changed.insert(result.value);
    }
    for (Operation &op : body.without_terminator())
      if (!isa<cs::CollectOp, cs::PublishOp, cs::PackOp>(op))
        opsOf[partOf(&op)].push_back(&op);
    for (auto [i, member] : llvm::enumerate(program.blocks))
      messagesOf[find(i)].push_back(member.collect);
  }

  func::FuncOp build(int part, const std::string &name) {
    Block *module = program.functions->getBody();
    if (part != kSchedule && program.blocks[part].update)
      return buildRowsPart(module, parts, program.blocks[part].update, name);
    return buildServerPart(module, parts, part, opsOf.lookup(part), messagesOf[part], name);
  }

  func::FuncOp server;
  Block &body;
  cs::ServerDependences dependences;
  std::string prefix;
  ServerProgram program;
  ServerParts parts;
  DenseMap<Operation *, int> blockOf;                   // by collect
  std::vector<int> joined;                              // by block: an earlier one, or itself
  llvm::StringMap<BlockArgument> argumentOf;            // by slot
  DenseMap<Value, int> updatedBy;                       // part, of an argument
  DenseMap<int, SmallVector<Operation *>> opsOf;        // by part
  DenseMap<int, SmallVector<cs::CollectOp>> messagesOf; // by part
};

} // namespace

FailureOr<ServerProgram> splitServer(func::FuncOp server) {
  return Splitter(server).run();
}

} // namespace commsched::planexport
