// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/CutBlocks.h"

#include "passes/support/LinkCosts.h"
#include "passes/support/RowFragment.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commsched;

static cs::PlacedType typeOf(Value value, const BlockPart &part) {
  return withRows(cast<cs::PlacedType>(value.getType()), part.end - part.begin);
}

/// By their rows.
static std::vector<const BlockPart *> inOrder(const CutBlock &cut) {
  std::vector<const BlockPart *> parts;
  for (const BlockPart &part : cut.parts)
    parts.push_back(&part);
  llvm::sort(parts, [](const auto *a, const auto *b) { return a->begin < b->begin; });
  return parts;
}

//===----------------------------------------------------------------------===//
// The trainers
//===----------------------------------------------------------------------===//

namespace {

class TrainerCutter {
public:
  void run(ArrayRef<CutBlock> cuts) {
    for (const CutBlock &cut : cuts)
      if (auto split = splitOf(cut))
        splits[split][cast<OpResult>(cs::SendOp(cut.block->send).getValue())
                          .getResultNumber()] = &cut;
    for (auto &[split, own] : splits)
      widen(cast<cs::SplitOp>(split), own);
    for (const CutBlock &cut : cuts) {
      send(cut);
      receive(cut);
    }
    for (auto &[concat, own] : concats)
      widen(cast<cs::ConcatOp>(concat), own);
    for (Operation *op : llvm::concat<Operation *>(sends, done))
      op->erase();
  }

private:
  using Cuts = llvm::DenseMap<unsigned, const CutBlock *>;           // by result
  using Joined = llvm::DenseMap<unsigned, llvm::SmallVector<Value>>; // by operand

  /// What makes the block, if it is for this message only.
  static Operation *splitOf(const CutBlock &cut) {
    Value value = cs::SendOp(cut.block->send).getValue();
    return value.hasOneUse() ? value.getDefiningOp<cs::SplitOp>() : cs::SplitOp();
  }

  /// The same cut, into parts where it made blocks.
  void widen(cs::SplitOp split, const Cuts &own) {
    llvm::SmallVector<Type> types;
    for (OpResult block : split->getResults())
      if (const CutBlock *cut = own.lookup(block.getResultNumber()))
        for (const BlockPart *part : inOrder(*cut))
          types.push_back(typeOf(block, *part));
      else
        types.push_back(block.getType());
    OpBuilder builder(split);
    auto wide = cs::SplitOp::create(builder, split.getLoc(), types, split.getValue());
    unsigned next = 0;
    for (OpResult block : split->getResults())
      if (const CutBlock *cut = own.lookup(block.getResultNumber()))
        for (const BlockPart *part : inOrder(*cut))
          values[part] = wide->getResult(next++);
      else
        block.replaceAllUsesWith(wide->getResult(next++));
    done.push_back(split);
  }

  void send(const CutBlock &cut) {
    cs::SendOp send = cut.block->send;
    OpBuilder builder(send);
    if (!splitOf(cut)) {
      llvm::SmallVector<Type> types;
      for (const BlockPart *part : inOrder(cut))
        types.push_back(typeOf(send.getValue(), *part));
      auto split =
          cs::SplitOp::create(builder, send.getLoc(), types, send.getValue());
      for (auto [part, value] : llvm::zip_equal(inOrder(cut), split.getBlocks()))
        values[part] = value;
    }
    for (const BlockPart &part : cut.parts) {
      auto own = cast<cs::SendOp>(builder.clone(*send));
      own.setKey(part.key);
      own.getValueMutable().assign(values.lookup(&part));
    }
    sends.push_back(send);
  }

  void receive(const CutBlock &cut) {
    cs::RecvOp recv = cut.block->recv;
    OpBuilder builder(recv);
    llvm::SmallVector<Value> received;
    for (const BlockPart *part : inOrder(cut)) {
      auto own = cast<cs::RecvOp>(builder.clone(*recv));
      own.setKey(part->key + ".new");
      own.getResult().setType(typeOf(recv.getResult(), *part));
      received.push_back(own.getResult());
    }
    done.push_back(recv);
    if (recv.getResult().hasOneUse()) {
      OpOperand &use = *recv.getResult().getUses().begin();
      if (isa<cs::ConcatOp>(use.getOwner())) {
        concats[use.getOwner()][use.getOperandNumber()] = std::move(received);
        return;
      }
    }
    Value whole = cs::ConcatOp::create(builder, recv.getLoc(), received);
    recv.getResult().replaceAllUsesWith(whole);
  }

  void widen(cs::ConcatOp concat, const Joined &own) {
    llvm::SmallVector<Value> blocks;
    for (auto [i, block] : llvm::enumerate(concat.getBlocks()))
      if (auto parts = own.find(i); parts != own.end())
        llvm::append_range(blocks, parts->second);
      else
        blocks.push_back(block);
    concat.getBlocksMutable().assign(blocks);
  }

  llvm::MapVector<Operation *, Cuts> splits;
  llvm::MapVector<Operation *, Joined> concats;
  llvm::DenseMap<const BlockPart *, Value> values; // what is sent
  std::vector<Operation *> sends, done;            // the former use what the latter make
};

//===----------------------------------------------------------------------===//
// A server
//===----------------------------------------------------------------------===//

/// Replaces arguments and results of one server's function, all at once.
class ServerCutter {
public:
  explicit ServerCutter(func::FuncOp server)
      : server(server), lost(server.getNumArguments()) {}

  void add(const CutBlock &cut);
  void finish();

private:
  /// A value that a function takes or returns, and what is said of it.
  struct Carried {
    Value value;
    DictionaryAttr attributes;
  };
  /// What is said of an argument or result, which may be nothing.
  DictionaryAttr attributesOf(DictionaryAttr attributes) {
    return attributes ? attributes : DictionaryAttr::get(server.getContext());
  }
  DictionaryAttr rowsOf(DictionaryAttr attributes, const BlockPart &part);
  Value argumentFor(BlockArgument whole, const BlockPart &part);

  func::FuncOp server;
  llvm::BitVector lost; // arguments
  llvm::SmallVector<Operation *> done;
  std::vector<Carried> arguments;                               // behind those that there were
  llvm::DenseMap<unsigned, llvm::SmallVector<Carried>> results; // for one that goes
};

DictionaryAttr ServerCutter::rowsOf(DictionaryAttr attributes,
                                    const BlockPart &part) {
  NamedAttrList list(attributes);
  auto rows = attributes.getAs<DenseI64ArrayAttr>(cs::CsDialect::kRowsAttr);
  int64_t first = rows ? rows[0] : 0;
  list.set(cs::CsDialect::kRowsAttr,
           DenseI64ArrayAttr::get(server.getContext(),
                                  {first + part.begin, first + part.end}));
  return list.getDictionary(server.getContext());
}

Value ServerCutter::argumentFor(BlockArgument whole, const BlockPart &part) {
  Value own = server.front().addArgument(typeOf(whole, part), whole.getLoc());
  arguments.push_back(
      {own, rowsOf(attributesOf(server.getArgAttrDict(whole.getArgNumber())),
                   part)});
  return own;
}

void ServerCutter::add(const CutBlock &cut) {
  const ServerBlock &block = *cut.block;
  cs::CollectOp collect = block.collect;
  cs::FragmentOp update = block.update;
  cs::PublishOp publish = block.publish;
  Operation *ret = server.front().getTerminator();
  OpBuilder builder(update);
  for (const BlockPart *part : inOrder(cut)) {
    auto own = cast<cs::CollectOp>(builder.clone(*collect));
    own.setKey(part->key);
    own.getResult().setType(typeOf(collect.getResult(), *part));
    IRMapping parts;
    parts.map(collect.getResult(), own.getResult());
    for (unsigned number : block.arguments) {
      BlockArgument whole = server.getArgument(number);
      parts.map(whole, argumentFor(whole, *part));
    }
    SmallVector<Value> inputs;
    for (Value input : update.getInputs())
      inputs.push_back(parts.lookupOrDefault(input));
    cs::FragmentOp made = cutFragment(builder, update, "update." + part->key,
                                      part->begin, part->end, inputs, block.isCut);
    for (auto [whole, value] : llvm::zip_equal(update.getOutputs(), made.getOutputs()))
      parts.map(whole, value);
    auto handed = cast<cs::PublishOp>(builder.clone(*publish, parts));
    handed.setKey(part->key + ".new");
    for (unsigned result : block.results) {
      Value value = parts.lookupOrNull(ret->getOperand(result));
      results[result].push_back(
          {value, rowsOf(attributesOf(server.getResultAttrDict(result)),
                         *part)});
    }
  }
  for (unsigned number : block.arguments)
    lost.set(number);
  done.append({publish, update, collect});
}

void ServerCutter::finish() {
  SmallVector<DictionaryAttr> argumentAttributes, resultAttributes;
  for (unsigned i = 0; i < server.getNumArguments(); ++i)
    if (!lost.test(i))
      argumentAttributes.push_back(
          attributesOf(server.getArgAttrDict(i)));
  for (const Carried &carried : arguments)
    argumentAttributes.push_back(carried.attributes);
  Operation *ret = server.front().getTerminator();
  SmallVector<Value> values;
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    auto parts = results.find(i);
    if (parts == results.end()) {
      values.push_back(value);
      resultAttributes.push_back(
          attributesOf(server.getResultAttrDict(i)));
      continue;
    }
    for (const Carried &carried : parts->second) {
      values.push_back(carried.value);
      resultAttributes.push_back(carried.attributes);
    }
  }
  ret->setOperands(values);
  for (Operation *op : done)
    op->erase();
  lost.resize(server.front().getNumArguments());
  server.front().eraseArguments(lost);
  server.setFunctionType(FunctionType::get(server.getContext(),
                                           server.front().getArgumentTypes(),
                                           ValueRange(values).getTypes()));
  auto function = cast<FunctionOpInterface>(server.getOperation());
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(resultAttributes);
}

} // namespace

void commsched::cutBlocks(ArrayRef<CutBlock> cuts) {
  llvm::MapVector<Operation *, std::unique_ptr<ServerCutter>> servers;
  for (const CutBlock &cut : cuts) {
    Operation *server = cs::FragmentOp(cut.block->update)->getParentOp();
    std::unique_ptr<ServerCutter> &one = servers[server];
    if (!one)
      one = std::make_unique<ServerCutter>(cast<func::FuncOp>(server));
    one->add(cut);
  }
  for (auto &[server, one] : servers)
    one->finish();
  TrainerCutter().run(cuts);
}

std::vector<CutBlock> commsched::cutByBytes(const ServerBlocks &blocks,
                                            cs::ClusterOp cluster) {
  constexpr int64_t kPartsOfServer = 128;
  // Bytes that take twenty times as long as what their message costs.
  cs::LinkAttr link = cluster.getInter();
  double bytes = 20.0 * static_cast<double>(overheadOf(link)) *
                 static_cast<double>(link.getMbitPerS()) / 8000;
  auto least = static_cast<int64_t>(std::clamp(bytes, 1.0, 0x1p60));
  std::vector<CutBlock> cuts;
  for (const std::unique_ptr<ServerBlock> &block : blocks.all()) {
    if (!block->divisible)
      continue;
    int64_t most = std::max(least, blocks.loadOf(*block) / kPartsOfServer);
    int64_t count =
        std::min(block->rows, llvm::divideCeilSigned(block->bytes(), most));
    if (count < 2)
      continue;
    int64_t each = llvm::divideCeilSigned(block->rows, count);
    CutBlock &cut = cuts.emplace_back();
    cut.block = block.get();
    StringRef key = cs::SendOp(block->send).getKey();
    for (int64_t begin = 0, end; begin < block->rows; begin = end) {
      end = block->rows - begin > each ? begin + each : block->rows; // no overflow
      cut.parts.push_back({(key + ".part" + Twine(cut.parts.size())).str(), begin, end});
    }
  }
  return cuts;
}
