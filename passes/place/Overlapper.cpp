// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/Overlapper.h"

#include "passes/layout/StagingRing.h"
#include "passes/support/Module.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::place;

namespace {

cs::PlacedType inMemory(cs::PlacedType type, cs::MemoryKind memory) {
  return cs::PlacedType::get(type.getContext(), type.getTensor(),
                             type.getDevice(), memory);
}

/// The op in a start, the first of several.
Operation &contentOf(cs::StartOp start) {
  return start.getBody().front().front();
}
bool holdsSend(cs::StartOp start) { return isa<cs::SendOp, cs::SendRowsOp>(contentOf(start)); }

} // namespace

bool place::holdsCopy(cs::StartOp start) { return isa<cs::CopyOp>(contentOf(start)); }

bool place::staysOnDevice(cs::StartOp start) {
  return start->hasAttr(cs::CsDialect::kNcclAttr);
}

LogicalResult Overlapper::check() {
  for (Operation &op : func.front()) {
    if (isa<cs::CommunicationOpInterface>(op))
      return op.emitOpError("must be in a cs.start: run --schedule-comm before "
                            "--overlap-rpc-memcpy");
    auto start = dyn_cast<cs::StartOp>(op);
    if (!start)
      continue;
    keys.insert(start.getKey());
    if (!stages || holdsCopy(start) || staysOnDevice(start))
      continue;
    // Rows of a table have their indices beside them.
    if (start.getInputs().size() > 1 && !isa<cs::SendRowsOp>(contentOf(start)))
      return op.emitOpError() << "must have at most one input to be staged, got: "
                              << start.getInputs().size();
    if (start.getInputs().size() > 1 && limit > 0)
      return op.emitOpError("sends rows of a table, which staging memory with a bound has no place for");
    unsigned awaits = llvm::count_if(start.getFuture().getUsers(),
                                     llvm::IsaPred<cs::AwaitOp>);
    if (awaits != 1)
      return op.emitOpError() << "must be awaited once, got: " << awaits;
    for (Operation *user : start.getFuture().getUsers())
      if (user->getBlock() != &func.front())
        return user->emitOpError("must be at the top of its function");
  }
  return success();
}

std::string Overlapper::unique(std::string key) {
  std::string own = key;
  for (unsigned n = 2; !keys.insert(own).second; ++n)
    own = key + "." + std::to_string(n);
  return own;
}

cs::StartOp Overlapper::createStart(OpBuilder &builder, Location loc,
                                    StringRef key, Value value,
                                    cs::PlacedType to, int64_t priority) {
  auto start = cs::StartOp::create(
      builder, loc, cs::FutureType::get(func.getContext(), to), key, value,
      /*after=*/ValueRange(), priority, /*gather_priority=*/IntegerAttr(),
      /*parts=*/DenseI64ArrayAttr(), /*exclusive=*/IntegerAttr());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&start.getBody());
  Value inner = body->addArgument(value.getType(), loc);
  Value copy = cs::CopyOp::create(builder, loc, to, inner);
  cs::ReturnOp::create(builder, loc, copy);
  return start;
}

Value Overlapper::startBehind(Operation *op, Location loc, StringRef key,
                              Value value, cs::PlacedType to, int64_t priority,
                              cs::StartOp &start) {
  OpBuilder builder(func.getContext());
  Operation *&last = lastBehind[op];
  if (last)
    builder.setInsertionPointAfter(last);
  else if (op)
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPointToStart(&func.front());
  start = createStart(builder, loc, unique(key.str()), value, to, priority);
  last = start;
  return start.getFuture();
}

cs::AwaitOp Overlapper::awaitBefore(Operation *op, cs::StartOp start) {
  OpBuilder builder(op);
  return cs::AwaitOp::create(builder, start.getLoc(), start.getFuture());
}

/// The first op of the block that uses `value`, else its end.
static Operation *firstUser(Value value, Block &block) {
  Operation *first = block.getTerminator();
  for (Operation *user : value.getUsers())
    if (Operation *top = block.findAncestorOpInBlock(*user);
        top && top->isBeforeInBlock(first))
      first = top;
  return first;
}

/// What has been staged before keeps its copies, and its place: they must be those that are asked for.
LogicalResult Overlapper::checkStaged(cs::StartOp start, Value input) {
  Operation *copy = input ? input.getDefiningOp() : nullptr;
  if (!input) // what is received fills its buffer itself
    for (Operation *user : start.getFuture().getUsers())
      if (auto await = dyn_cast<cs::AwaitOp>(user); await && await.getResult().hasOneUse())
        copy = *await.getResult().getUsers().begin();
  if (auto await = dyn_cast_or_null<cs::AwaitOp>(copy))
    copy = await.getFuture().getDefiningOp();
  if (auto held = dyn_cast_or_null<cs::StartOp>(copy); held && !holdsCopy(held))
    copy = nullptr;
  const bool isInLine = isa_and_nonnull<cs::CopyOp>(copy);
  if (isa_and_nonnull<cs::CopyOp, cs::StartOp>(copy) && isInLine != inLine)
    return start.emitOpError("is staged already, ") << (isInLine ? "by copies in line" : "by copies that overlap")
                                                    << ": give mode to the first --overlap-rpc-memcpy";
  if (limit <= 0)
    return success();
  auto fills = input ? dyn_cast_or_null<cs::StartOp>(copy) : start;
  auto place = fills ? fills->getAttrOfType<IntegerAttr>(kStagingAttr) : IntegerAttr();
  if (!place)
    return start.emitOpError("is staged already, without a bound: give staging-bytes to the first --overlap-rpc-memcpy");
  int64_t end = place.getInt() + std::max(bytesOf(start.getFuture().getType().getValue()),
                                          input ? bytesOf(placedType(input)) : 0);
  if (end > limit)
    return start.emitOpError("is staged already, in bytes up to ") << end << ", beyond staging-bytes, " << limit
                                                                   << ": give it to the first --overlap-rpc-memcpy";
  return success();
}

LogicalResult Overlapper::stage(cs::StartOp start) {
  cs::PlacedType result = start.getFuture().getType().getValue();
  SmallVector<Value> inputs(start.getInputs());
  // What it gives back, of a send.
  auto back = dyn_cast<BlockArgument>(start.getBody().front().getTerminator()->getOperand(0));
  Value input = inputs.empty() ? Value() : inputs[back ? back.getArgNumber() : 0];
  if (result.getMemory() == cs::MemoryKind::host ||
      (input && placedType(input).getMemory() == cs::MemoryKind::host))
    return checkStaged(start, input); // done
  cs::AwaitOp await;
  for (Operation *user : start.getFuture().getUsers())
    if (auto found = dyn_cast<cs::AwaitOp>(user))
      await = found;
  Staging staging{start, start, await, nullptr, bytesOf(result)};
  std::string key = start.getKey().str();
  auto priority = static_cast<int64_t>(start.getPriority());
  Block &block = func.front();

  int64_t sent = 0;
  for (Value &value : inputs) {
    cs::PlacedType host = inMemory(placedType(value), cs::MemoryKind::host);
    sent += bytesOf(host);
    if (inLine) {
      OpBuilder builder(start);
      value = cs::CopyOp::create(builder, start.getLoc(), host, value);
    } else {
      // With a bound, in the order of the communications: those before free
      // the memory.
      Operation *behind = value.getDefiningOp();
      if (limit > 0 && previous &&
          (!behind || behind->isBeforeInBlock(previous)))
        behind = previous;
      startBehind(behind, start.getLoc(), key + ".to_host", value, host,
                  priority, staging.fills);
      value = awaitBefore(start, staging.fills).getResult();
    }
  }
  staging.bytes = std::max(staging.bytes, sent);
  start.getInputsMutable().assign(inputs);
  // All that the communication works on is in host memory.
  Block &body = start.getBody().front();
  auto move = [](Value value) {
    value.setType(inMemory(placedType(value), cs::MemoryKind::host));
  };
  llvm::for_each(body.getArguments(), move);
  for (Operation &op : body)
    llvm::for_each(op.getResults(), move);
  cs::PlacedType host = inMemory(result, cs::MemoryKind::host);
  start.getFuture().setType(cs::FutureType::get(func.getContext(), host));
  await.getResult().setType(host);

  if (holdsSend(start)) {
    // What was sent is still where it was.
    await.getResult().replaceAllUsesWith(input);
  } else if (inLine) {
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfter(await);
    auto copy =
        cs::CopyOp::create(builder, start.getLoc(), result, await.getResult());
    await.getResult().replaceAllUsesExcept(copy.getResult(), copy);
  } else {
    Operation *user = firstUser(await.getResult(), block);
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfter(await);
    staging.toDevice =
        createStart(builder, start.getLoc(), unique(key + ".to_device"),
                    await.getResult(), result, priority);
    auto back = awaitBefore(user, staging.toDevice);
    await.getResult().replaceAllUsesExcept(back.getResult(), staging.toDevice);
  }
  previous = start;
  stagings.push_back(staging);
  return success();
}

/// That of the most urgent communication which the copy leads to, else of that
/// which it comes from, through what does not belong to a compute stream.
int64_t Overlapper::priorityOf(cs::CopyOp copy) {
  auto passes = [](Operation *op) {
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    return (fragment && fragment.getDeferred()) ||
           isa<cs::SplitOp, cs::ConcatOp, cs::PackOp, cs::UnpackOp, cs::CopyOp,
               cs::AwaitOp>(op);
  };
  std::optional<int64_t> best;
  auto offer = [&](cs::StartOp start) {
    auto priority = static_cast<int64_t>(start.getPriority());
    best = best ? std::min(*best, priority) : priority;
  };
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> worklist{copy};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    for (Operation *user : op->getUsers())
      if (auto start = dyn_cast<cs::StartOp>(user))
        offer(start);
      else if (passes(user) && seen.insert(user).second)
        worklist.push_back(user);
  }
  if (best)
    return *best;
  seen.clear();
  worklist.push_back(copy);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (auto start = dyn_cast_or_null<cs::StartOp>(def))
        offer(start);
      else if (def && passes(def) && seen.insert(def).second)
        worklist.push_back(def);
    }
  }
  return best.value_or(0);
}

std::string Overlapper::keyOf(cs::CopyOp copy) {
  Value value = copy.getValue();
  std::string what = "value", block;
  if (auto split = value.getDefiningOp<cs::SplitOp>()) {
    block = ".block" + std::to_string(cast<OpResult>(value).getResultNumber());
    value = split.getValue();
  }
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    for (StringRef attr : {cs::CsDialect::kParamAttr, cs::CsDialect::kStateAttr,
                           cs::CsDialect::kBatchAttr})
      if (auto name =
              func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr))
        what = name.str();
    if (func.getArgAttr(argument.getArgNumber(), cs::CsDialect::kWorkerIndexAttr))
      what = cs::CsDialect::kWorkerIndexAttr.str();
  } else if (auto fragment = value.getDefiningOp<cs::FragmentOp>()) {
    what = fragment.getLabel().str();
    if (fragment.getOutputs().size() > 1)
      what += "." + std::to_string(cast<OpResult>(value).getResultNumber());
  } else if (auto await = value.getDefiningOp<cs::AwaitOp>()) {
    if (auto start = await.getFuture().getDefiningOp<cs::StartOp>())
      what = start.getKey().str();
  } else if (auto concat = value.getDefiningOp<cs::ConcatOp>()) {
    if (auto await = concat.getBlocks().front().getDefiningOp<cs::AwaitOp>())
      if (auto start = await.getFuture().getDefiningOp<cs::StartOp>())
        what = start.getKey().str();
  }
  return "copy." + what + block + ".to_device" +
         std::to_string(copy.getResult().getType().getDevice());
}

void Overlapper::startDeviceCopies() {
  SmallVector<std::tuple<cs::CopyOp, std::string, int64_t>> copies;
  for (auto copy : func.front().getOps<cs::CopyOp>())
    if (isDeviceCopy(copy))
      copies.emplace_back(copy, keyOf(copy), priorityOf(copy));
  for (auto &[copy, key, priority] : copies) {
    cs::StartOp start;
    Operation *user = firstUser(copy.getResult(), func.front());
    if (auto fragment = dyn_cast<cs::FragmentOp>(user); fragment && fragment.getDeferred()) {
      // Of copies that are equally urgent an engine takes them in this order: those of a
      // sum together.
      OpBuilder builder(user);
      start = createStart(builder, copy.getLoc(), unique(key), copy.getValue(),
                          copy.getResult().getType(), priority);
    } else {
      startBehind(copy.getValue().getDefiningOp(), copy.getLoc(), key,
                  copy.getValue(), copy.getResult().getType(), priority, start);
    }
    copy.getResult().replaceAllUsesWith(awaitBefore(user, start).getResult());
    copy.erase();
    ++deviceCopies;
  }
}

void Overlapper::tell() {
  remarkAt(func.getLoc(), "overlap-rpc-memcpy", func.getName(), "copies",
           [&](raw_ostream &os) {
             int64_t bytes = 0;
             for (const Staging &staging : stagings)
               bytes += staging.bytes;
             os << "@" << func.getName() << ": ";
             if (!stages) {
               os << deviceCopies << " copies between devices started";
               return;
             }
             os << stagings.size() << " communications staged through " << bytes
                << " bytes of host memory";
             if (inLine)
               os << ", copies in line";
             else
               os << "; " << deviceCopies << " copies between devices started";
             if (limit > 0)
               os << "; at most " << limit << " bytes in use at once";
           });
}

LogicalResult Overlapper::run() {
  if (failed(check()))
    return failure();
  if (!stages) {
    startDeviceCopies();
    if (deviceCopies)
      tell();
    return success();
  }
  SmallVector<cs::StartOp> starts;
  for (auto start : func.front().getOps<cs::StartOp>())
    if (!holdsCopy(start) && !staysOnDevice(start))
      starts.push_back(start);
  if (!inLine)
    startDeviceCopies();
  for (cs::StartOp start : starts)
    if (failed(stage(start)))
      return failure();
  if (limit > 0 && !inLine && failed(giveStagingPlaces(func, stagings, limit)))
    return failure();
  for (const Staging &staging : stagings) // no further use
    cs::StartOp(staging.communication)->removeAttr(kTurnAttr);
  tell();
  return success();
}
