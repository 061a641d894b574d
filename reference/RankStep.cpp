// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/RankStep.h"

#include "ir/Cs.h"
#include "ir/CsServerFunctions.h"
#include "reference/Collectives.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

SmallVector<Place> reference::placesOf(ArrayRef<func::FuncOp> functions) {
  SmallVector<Place> places;
  auto all = static_cast<int64_t>(functions.size());
  for (auto [rank, function] : llvm::enumerate(functions)) {
    auto own = static_cast<int64_t>(rank);
    func::FuncOp op = function;
    if (!op->hasAttr(cs::CsDialect::kCountAttr) || op->hasAttr(cs::CsDialect::kRankAttr)) {
      places.push_back({0, own, all});
      continue;
    }
    int64_t first = llvm::find(functions, op) - functions.begin();
    places.push_back({first, own - first, llvm::count(functions, op)});
  }
  return places;
}

RankStep::RankStep(Interpreter &interpreter, ArrayRef<func::FuncOp> functions,
                   int64_t devices)
    : interpreter(interpreter), functions(functions), places(placesOf(functions)),
      devices(devices) {}

void RankStep::addRank(ArrayRef<ArrayPtr> arguments) {
  Rank &rank = ranks.emplace_back();
  rank.rank = static_cast<int64_t>(ranks.size()) - 1;
  Block &block = functions[rank.rank].getBody().front();
  rank.next = &block.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    rank.values[argument] = value;
}

void RankStep::addServer(func::FuncOp function, ArrayRef<ArrayPtr> arguments) {
  servers.push_back({function.getName().str(),
                     std::make_unique<ServerStep>(function, interpreter,
                                                  static_cast<int64_t>(functions.size()),
                                                  arguments)});
}

LogicalResult RankStep::run() {
  for (bool anyLeft = true; anyLeft;) {
    anyLeft = false;
    bool moved = false;
    for (Rank &rank : ranks) {
      FailureOr<bool> went = advance(rank);
      if (failed(went))
        return failure();
      moved |= *went;
      anyLeft |= rank.next != nullptr;
    }
    if (anyLeft && !moved)
      for (Rank &rank : ranks)
        if (rank.next)
          return rank.next->emitError() << "rank " << rank.rank
                                        << " waits here for what never comes";
  }
  for (auto &[name, server] : servers) {
    Operation *waiting = nullptr;
    if (failed(server->advance(messages)))
      return failure();
    std::optional<SmallVector<ArrayPtr>> results = server->results(waiting);
    if (!results)
      return waiting->emitError("waits for what the trainers never send");
    serverResults.push_back(std::move(*results));
  }
  for (auto &[address, left] : messages)
    if (!left.empty())
      return left.begin()->second.sender->emitError()
             << "sends \"" << address.key << "\", which nobody receives";
  for (auto &[key, joint] : joints)
    for (const CommunicationPtr &member : joint.joined)
      if (member && !member->done)
        return member->at->emitError("is not joined by all ranks");
  return success();
}

FailureOr<bool> RankStep::advance(Rank &rank) {
  bool moved = false;
  while (rank.next) {
    FailureOr<bool> went = step(rank);
    if (failed(went))
      return failure();
    if (!*went)
      return moved;
    moved = true;
    if (rank.next)
      rank.next = rank.next->getNextNode();
  }
  return moved;
}

FailureOr<bool> RankStep::step(Rank &rank) {
  Operation *op = rank.next;
  SmallVector<ArrayPtr> operands;
  for (Value operand : op->getOperands())
    operands.push_back(rank.values.lookup(operand));
  if (isa<func::ReturnOp>(op)) {
    rank.results = std::move(operands);
    rank.next = nullptr;
    return true;
  }
  if (isa<cs::FragmentOp>(op)) {
    if (failed(fragment(rank, op, operands)))
      return failure();
    return true;
  }
  if (isMove(op)) {
    SmallVector<ArrayPtr> moved = evaluateMove(op, operands);
    for (auto [result, array] : llvm::zip(op->getResults(), moved))
      rank.values[result] = array;
    return true;
  }
  if (auto await = dyn_cast<cs::AwaitOp>(op)) {
    CommunicationPtr communication = rank.futures.lookup(await.getFuture());
    FailureOr<bool> ready = finish(rank, *communication);
    if (failed(ready) || !*ready)
      return ready;
    auto start = cast<cs::StartOp>(communication->at);
    Value returned = start.getBody().front().getTerminator()->getOperand(0);
    rank.values[await.getResult()] = communication->values.lookup(returned);
    return true;
  }
  if (auto start = dyn_cast<cs::StartOp>(op)) {
    auto communication = std::make_shared<Communication>();
    communication->at = op;
    communication->key = start.getKey().str();
    Block &body = start.getBody().front();
    for (auto [argument, array] : llvm::zip(body.getArguments(), operands))
      communication->values[argument] = array;
    for (Operation &inner : body.without_terminator())
      communication->ops.push_back(&inner);
    rank.futures[start.getFuture()] = communication;
    if (failed(begin(rank, communication)))
      return failure();
    return true;
  }
  auto interface = dyn_cast<cs::CommunicationOpInterface>(op);
  if (!interface)
    return op->emitOpError("is not interpreted at level 1 or 2"), failure();
  if (!rank.begun) {
    rank.begun = std::make_shared<Communication>();
    rank.begun->at = op;
    rank.begun->key = interface.getCommunicationKey().str();
    rank.begun->ops.push_back(op);
    for (auto [operand, array] : llvm::zip(op->getOperands(), operands))
      rank.begun->values[operand] = array;
    if (failed(begin(rank, rank.begun)))
      return failure();
  }
  FailureOr<bool> ready = finish(rank, *rank.begun);
  if (failed(ready) || !*ready)
    return ready;
  for (Value result : op->getResults())
    rank.values[result] = rank.begun->values.lookup(result);
  rank.begun = nullptr;
  return true;
}

LogicalResult RankStep::fragment(Rank &rank, Operation *op, ArrayRef<ArrayPtr> operands) {
  auto fragment = cast<cs::FragmentOp>(op);
  if (!fragment.hasBody())
    return fragment.emitOpError("has no body, only a cost");
  FailureOr<SmallVector<ArrayPtr>> results = interpreter.evaluateRegion(
      fragment.getBody(), llvm::to_vector(operands),
      places[rank.rank].index * devices + static_cast<int64_t>(fragment.getDevice()),
      places[rank.rank].count * devices);
  if (failed(results))
    return failure();
  for (auto [result, array] : llvm::zip(fragment.getOutputs(), *results))
    rank.values[result] = array;
  return success();
}

//===----------------------------------------------------------------------===//
// Communications
//===----------------------------------------------------------------------===//

LogicalResult RankStep::join(Rank &rank, const CommunicationPtr &communication,
                             Operation *op) {
  const Place &place = places[rank.rank];
  FailureOr<SmallVector<int64_t>> members = membersOf(op, place.count);
  if (failed(members))
    return failure();
  auto *own = llvm::find(*members, place.index);
  if (own == members->end()) {
    for (Operation *op : communication->ops)
      communication->values[op->getResult(0)] =
          evaluateOutside(op, communication->values.lookup(op->getOperand(0)));
    communication->done = true;
    return success();
  }
  Joint &joint = joints[{place.first, communication->key}];
  if (joint.members.empty()) {
    joint.members = *members;
    joint.joined.resize(members->size());
  }
  if (joint.members != *members)
    return communication->at->emitError()
           << "key \"" << communication->key << "\" is of other ranks elsewhere";
  CommunicationPtr &member = joint.joined[own - members->begin()];
  if (member)
    return communication->at->emitError()
           << "key \"" << communication->key << "\" is already taken in this step";
  member = communication;
  return success();
}

LogicalResult RankStep::begin(Rank &rank, const CommunicationPtr &communication) {
  if (auto *op = llvm::find_if(communication->ops, isTogether);
      op != communication->ops.end())
    return join(rank, communication, *op);
  for (Operation *op : communication->ops) {
    if (isa<cs::SendOp, cs::SendRowsOp>(op)) {
      if (failed(send(rank, op, *communication)))
        return failure();
    } else if (isMove(op)) {
      ArrayPtr operand = communication->values.lookup(op->getOperand(0));
      communication->values[op->getResult(0)] = evaluateMove(op, operand).front();
    } else if (!isa<cs::RecvOp, cs::FetchRowsOp>(op)) {
      return op->emitOpError("is not interpreted at level 1 or 2");
    }
  }
  return success();
}

FailureOr<bool> RankStep::finish(Rank &rank, Communication &communication) {
  if (communication.done)
    return true;
  if (llvm::any_of(communication.ops, isTogether)) {
    const Joint &joint = joints.at({places[rank.rank].first, communication.key});
    if (llvm::is_contained(joint.joined, nullptr))
      return false;
    if (failed(runTogether(joint)))
      return failure();
    return true;
  }
  for (Operation *op : communication.ops) {
    if (isa<cs::RecvOp>(op)) {
      FailureOr<bool> ready = receive(rank, op, communication);
      if (failed(ready) || !*ready)
        return ready;
    } else if (isa<cs::FetchRowsOp>(op)) {
      if (failed(fetch(op, communication)))
        return failure();
    }
  }
  communication.done = true;
  return true;
}

LogicalResult RankStep::runTogether(const Joint &joint) {
  ArrayRef<CommunicationPtr> members = joint.joined;
  const CommunicationPtr &first = members.front();
  for (const CommunicationPtr &member : members)
    if (member->ops.size() != first->ops.size())
      return member->at->emitError("is not the communication that rank 0 has here");
  for (size_t i = 0; i < first->ops.size(); ++i) {
    SmallVector<Operation *> ops;
    SmallVector<ArrayPtr> operands;
    for (const CommunicationPtr &member : members) {
      ops.push_back(member->ops[i]);
      operands.push_back(member->values.lookup(ops.back()->getOperand(0)));
    }
    FailureOr<PerWorker> results = evaluateTogether(ops, operands, joint.members);
    if (failed(results))
      return failure();
    for (auto [member, op, result] : llvm::zip(members, ops, *results))
      member->values[op->getResult(0)] = result;
  }
  for (const CommunicationPtr &member : members)
    member->done = true;
  return success();
}

std::optional<int64_t> RankStep::peerOf(const Rank &rank, AffineMap peer,
                                        std::optional<StringRef> role) {
  const Place &place = places[rank.rank];
  int64_t index = evaluate(peer.getResult(0), place.index);
  if (!role)
    return place.first + index;
  for (auto [first, function] : llvm::enumerate(functions)) {
    func::FuncOp op = function;
    if (op.getName() == *role)
      return places[first].first + index;
  }
  return std::nullopt;
}

LogicalResult RankStep::send(Rank &rank, Operation *op, const Communication &communication) {
  auto post = [&](Address address, Message message) -> LogicalResult {
    message.sender = op;
    auto [at, isNew] = messages[address].insert({rank.rank, message});
    if (!isNew)
      return op->emitOpError() << "sends \"" << address.key << "\" twice in a step";
    return success();
  };
  if (auto send = dyn_cast<cs::SendOp>(op)) {
    int64_t index = places[rank.rank].index;
    if (send.getWhen() && !contains(*send.getWhen(), index))
      return success();
    Address address{"", 0, send.getKey().str()};
    if (std::optional<int64_t> peer = peerOf(rank, send.getPeer(), send.getRole()))
      address.rank = *peer;
    else
      address = {send.getRole()->str(), evaluate(send.getPeer().getResult(0), index),
                 send.getKey().str()};
    return post(address, {{communication.values.lookup(send.getValue())}});
  }
  auto send = cast<cs::SendRowsOp>(op);
  const Array &ids = *communication.values.lookup(send.getIds());
  const Array &rows = *communication.values.lookup(send.getValues());
  int64_t width = ids.size() == 0 ? 0 : rows.size() / ids.size();
  ArrayRef<int64_t> offsets = send.getOffsets();
  Type i64 = IntegerType::get(op->getContext(), 64);
  for (size_t block = 0; block < send.getServers().size(); ++block) {
    SmallVector<int64_t> own;
    for (int64_t i = 0; i < ids.size(); ++i)
      if (ids.bounds[i] != 0 || (ids.ints[i] >= offsets[block] && ids.ints[i] < offsets[block + 1]))
        own.push_back(i);
    auto count = static_cast<int64_t>(own.size());
    SmallVector<int64_t, 4> shape(rows.shape);
    shape.erase(shape.begin(), shape.begin() + ids.shape.size());
    shape.insert(shape.begin(), count);
    Message message{{makeZeros(i64, count), makeZeros(rows.elementType, shape)}};
    for (auto [at, i] : llvm::enumerate(own)) {
      message.parts[0]->ints[at] = ids.ints[i] - offsets[block];
      message.parts[0]->bounds[at] = ids.bounds[i];
      copyElements(rows, i * width, width, *message.parts[1], static_cast<int64_t>(at) * width);
    }
    auto server = cast<FlatSymbolRefAttr>(send.getServers()[block]);
    if (failed(post({server.getValue().str(), 0,
                     cs::getBlockKey(send.getKey(), block, send.getServers().size())},
                    message)))
      return failure();
  }
  return success();
}

FailureOr<bool> RankStep::receive(Rank &rank, Operation *op, Communication &communication) {
  auto recv = cast<cs::RecvOp>(op);
  RankedTensorType type = recv.getResult().getType().getTensor();
  ArrayPtr &value = communication.values[recv.getResult()];
  if (recv.getWhen() && !contains(*recv.getWhen(), places[rank.rank].index)) {
    value = makeUndetermined(type.getElementType(), type.getShape());
    return true;
  }
  std::optional<int64_t> peer = peerOf(rank, recv.getPeer(), recv.getRole());
  if (std::optional<StringRef> role = recv.getRole(); role && !peer) {
    for (auto &[name, server] : servers) {
      if (name != *role)
        continue;
      if (failed(server->advance(messages)))
        return failure();
      value = server->published(recv.getKey());
      if (value && (value->shape != type.getShape() || value->elementType != type.getElementType()))
        return op->emitOpError() << "gets " << value->type(), failure();
      return value != nullptr;
    }
  }
  auto found = messages.find({"", rank.rank, recv.getKey().str()});
  if (!peer || found == messages.end() || !found->second.count(*peer))
    return false;
  value = found->second.at(*peer).parts.front();
  found->second.erase(*peer);
  return true;
}

LogicalResult RankStep::fetch(Operation *op, Communication &communication) {
  auto fetch = cast<cs::FetchRowsOp>(op);
  const Array &ids = *communication.values.lookup(fetch.getIds());
  ArrayRef<int64_t> offsets = fetch.getOffsets();
  size_t blocks = fetch.getServers().size();
  SmallVector<ArrayPtr> tables;
  for (size_t block = 0; block < blocks; ++block) {
    StringRef name = cast<FlatSymbolRefAttr>(fetch.getServers()[block]).getValue();
    ArrayPtr table;
    for (auto &[role, server] : servers)
      if (role == name)
        table = server->table(cs::getBlockKey(fetch.getKey(), block, blocks));
    if (!table)
      return op->emitOpError() << "block " << block << " is not on @" << name;
    tables.push_back(table);
  }
  RankedTensorType type = fetch.getResult().getType().getTensor();
  ArrayPtr result = makeZeros(type.getElementType(), type.getShape());
  int64_t width = ids.size() == 0 ? 0 : result->size() / ids.size();
  for (int64_t i = 0; i < ids.size(); ++i) {
    if (ids.bounds[i] != 0) {
      std::fill_n(result->bounds.begin() + i * width, width, kUndetermined);
      continue;
    }
    int64_t row = std::clamp<int64_t>(ids.ints[i], 0, offsets.back() - 1);
    size_t block = 0;
    while (row >= offsets[block + 1])
      ++block;
    copyElements(*tables[block], (row - offsets[block]) * width, width, *result, i * width);
  }
  communication.values[fetch.getResult()] = result;
  return success();
}
