// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/StepCommunications.h"

#include "passes/support/Module.h"

using namespace mlir;
using namespace commsched;

LogicalResult StepCommunications::check() {
  SymbolTableCollection symbols;
  for (Operation &op : func.front()) {
    FunctionOpInterface server = cs::getServerOf(&op, &symbols);
    if (!server)
      continue;
    serverOfMessage[&op] = server;
    if (auto send = dyn_cast<cs::SendOp>(op))
      sendsTo[server].try_emplace(send.getKey(), send);
  }
  for (auto fetch : func.front().getOps<cs::FetchRowsOp>())
    fetchesByKey[fetch.getKey()].push_back(fetch);
  for (Operation &op : func.front()) {
    if (isa<cs::StartOp, cs::AwaitOp>(op))
      return op.emitOpError("must not be there yet: the module is scheduled");
    if (isa<cs::ExchangeOp, cs::ShardOp, cs::UnshardOp>(op))
      return op.emitOpError("must be inside a cs.start: run --schedule-comm "
                            "before --expand-collectives");
    if (isa<cs::GradientOp>(op))
      return op.emitOpError("must have been replaced: run --insert-dist-comm "
                            "first");
    auto communication = dyn_cast<cs::CommunicationOpInterface>(op);
    if (!communication)
      continue;
    bool isOfRows = isa<cs::FetchRowsOp, cs::SendRowsOp>(op);
    if (!communication.isCollective() && !isOfRows && !serverOf(&op))
      return op.emitOpError("cannot be scheduled: must be a collective, or a "
                            "message to or from a parameter server");
    communications.push_back(&op);
    if (cs::getGroupName(&op)) {
      FailureOr<cs::ClusterOp> cluster = findCluster(func->getParentOfType<ModuleOp>());
      if (failed(cluster))
        return failure();
      FailureOr<cs::Members> members = cs::Members::of(&op, getRankCount(func, *cluster));
      if (failed(members))
        return failure();
      groups.try_emplace(&op, *members);
    }
    auto recv = dyn_cast<cs::RecvOp>(op);
    if (recv && failed(findUpdates(recv)))
      return failure();
    auto send = dyn_cast<cs::SendRowsOp>(op);
    if (send && failed(findFetch(send)))
      return failure();
  }
  return success();
}

/// A server publishes what depends on the messages that it collects.
LogicalResult StepCommunications::findUpdates(cs::RecvOp recv) {
  FunctionOpInterface function = serverOf(recv);
  if (!llvm::hasSingleElement(function.getFunctionBody()))
    return function.emitOpError("must have one block");
  std::unique_ptr<Server> &server = servers[function];
  if (!server) {
    server = std::make_unique<Server>(function);
    Block &body = function.getFunctionBody().front();
    for (auto publish : body.getOps<cs::PublishOp>())
      server->publishes.try_emplace(publish.getKey(), publish);
  }
  cs::PublishOp publish = server->publishes.lookup(recv.getKey());
  if (!publish)
    return success();
  publishes[recv] = publish;
  const llvm::StringMap<cs::SendOp> &sent = sendsTo[function];
  for (cs::CollectOp collect : server->dependences.of(publish)) {
    cs::SendOp send = sent.lookup(collect.getKey());
    if (!send)
      continue;
    if (!send->isBeforeInBlock(recv)) {
      InFlightDiagnostic diagnostic =
          recv.emitOpError() << "must come after the cs.send \"" << send.getKey()
                             << "\" whose update it receives";
      diagnostic.attachNote(send.getLoc()) << "which is here";
      return diagnostic;
    }
    sends[recv].push_back(send);
    recvs[send].push_back(recv);
  }
  return success();
}

/// A fetch gets what the steps before have left: nothing of this step may be
/// ahead of it.
LogicalResult StepCommunications::findFetch(cs::SendRowsOp send) {
  auto known = fetchesByKey.find(send.getKey());
  if (known == fetchesByKey.end())
    return success();
  for (cs::FetchRowsOp fetch : known->second) {
    if (!fetch->isBeforeInBlock(send)) {
      InFlightDiagnostic diagnostic =
          send.emitOpError() << "must come after the cs.fetch_rows of \""
                             << send.getKey() << "\"";
      diagnostic.attachNote(fetch.getLoc()) << "which is here";
      return diagnostic;
    }
    fetches[send] = fetch;
  }
  return success();
}

void StepCommunications::sinkConcats() {
  Block &block = func.front();
  // Where an op is, or will be: in front of the op of that place, or that op itself. The block numbers its ops anew
  // when it is asked behind a move, so it is asked only which of two comes first that are in front of the same op.
  llvm::DenseMap<Operation *, std::pair<unsigned, bool>> at;
  unsigned place = 0;
  for (Operation &op : block)
    at[&op] = {place++, true};
  auto isBefore = [&](Operation *a, Operation *b) {
    std::pair<unsigned, bool> first = at.lookup(a), second = at.lookup(b);
    return first != second ? first < second : a != b && a->isBeforeInBlock(b);
  };
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isa<cs::ConcatOp, cs::UnpackOp>(op))
      continue;
    Operation *first = block.getTerminator();
    for (Operation *user : op.getUsers())
      if (isBefore(user, first))
        first = user;
    op.moveBefore(first);
    at[&op] = {at.lookup(first).first, false};
  }
}

static unsigned deviceOf(Value value) {
  auto placed = dyn_cast<cs::PlacedType>(value.getType());
  return placed ? placed.getDevice() : 0;
}

void StepCommunications::findReaders() {
  Block &block = func.front();
  for (BlockArgument argument : block.getArguments())
    for (StringRef attr :
         {cs::CsDialect::kParamAttr, cs::CsDialect::kStateAttr})
      if (auto name =
              func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr)) {
        Carried &known = carried[name.getValue()];
        if (!known.first)
          known.first = argument;
        known.byDevice.try_emplace(deviceOf(argument), argument);
      }
  for (auto fragment : block.getOps<cs::FragmentOp>())
    if (!fragment.getDeferred())
      for (Value input : fragment.getInputs())
        if (isa<BlockArgument>(input))
          readers.try_emplace(input, fragment);
}

Value StepCommunications::updatedBy(unsigned result) const {
  auto name = function().getResultAttrOfType<StringAttr>(result,
                                                         cs::CsDialect::kUpdatesAttr);
  if (!name)
    return {};
  auto known = carried.find(name.getValue());
  if (known == carried.end())
    return {};
  Value value = function().front().getTerminator()->getOperand(result);
  Value there = known->second.byDevice.lookup(deviceOf(value));
  return there ? there : known->second.first;
}

Operation *StepCommunications::firstUserOf(Operation *op) const {
  Block &block = function().front();
  Operation *first = block.getTerminator();
  for (Operation *user : op->getUsers()) {
    user = block.findAncestorOpInBlock(*user);
    if (placeOf(user) < placeOf(first))
      first = user;
  }
  return first;
}

/// Backwards over the block: a value is needed where its users are, and through
/// deferred fragments and communications where their results are; what is sent
/// to a server, where the value that comes back is.
void StepCommunications::findNeeds() {
  Block &block = func.front();
  auto offer = [&](Value value, const Need &need) {
    auto [entry, isNew] = needs.try_emplace(value, need);
    if (!isNew && need < entry->second)
      entry->second = need;
  };
  // Rows that are sent are needed where rows are read in the next step.
  llvm::DenseMap<Operation *, Need> nextRows; // by cs.fetch_rows
  for (auto fragment : block.getOps<cs::FragmentOp>())
    if (!fragment.getDeferred())
      for (Value input : fragment.getInputs())
        if (auto fetch = input.getDefiningOp<cs::FetchRowsOp>())
          nextRows.try_emplace(fetch, Need{Need::NextStep, placeOf(fragment),
                                           fragment, fetch.getKey()});
  Operation *ret = block.getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    Need need;
    if (Value argument = updatedBy(i))
      if (cs::FragmentOp reader = readerOf(argument))
        need = {Need::NextStep, placeOf(reader), reader,
                func.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kUpdatesAttr)
                    .getValue()};
    offer(value, need);
  }
  for (Operation &op : llvm::drop_begin(llvm::reverse(block))) {
    Need need;
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    if (fragment && !fragment.getDeferred())
      need = {Need::ThisStep, placeOf(&op), fragment, {}};
    else
      for (Value result : op.getResults())
        if (auto known = needs.find(result);
            known != needs.end() && known->second < need)
          need = known->second;
    if (Operation *fetch = fetches.lookup(&op))
      need = nextRows.lookup(fetch);
    for (Operation *recv : recvs.lookup(&op))
      need = std::min(need, opNeeds.lookup(recv));
    opNeeds[&op] = need;
    for (Value operand : op.getOperands())
      offer(operand, need);
  }
}

LogicalResult StepCommunications::analyze() {
  if (failed(check()))
    return failure();
  sinkConcats();
  unsigned place = 0;
  for (Operation &op : func.front())
    places[&op] = place++;
  findReaders();
  findNeeds();
  return success();
}
