// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Communication over time: exchanges between ranks, messages with parameter
// servers, and copy engines.

#include "passes/plan/FunctionBuilder.h"

#include "ir/CsServerFunctions.h"

using namespace mlir;

namespace commsched::planexport {

bool FunctionBuilder::ownedBy(Value value, Operation *user) {
  unsigned buffer = buffers.lookup(value);
  if (out.buffers(buffer).kind() != plan::Buffer::ARENA &&
      out.buffers(buffer).kind() != plan::Buffer::PART)
    return false;
  // Another value may live in the same buffer: only fragments and copies make
  // new ones. A communication between nodes does, or works in one that was its own.
  Operation *def = value.getDefiningOp();
  if (auto await = dyn_cast_or_null<cs::AwaitOp>(def))
    if (auto start = await.getFuture().getDefiningOp<cs::StartOp>())
      def = &start.getBody().front().front();
  return isa_and_nonnull<cs::FragmentOp, cs::CopyOp, cs::PackOp, cs::ExchangeOp,
                         cs::UnshardOp, cs::AllReduceOp>(def) &&
         value.hasOneUse() &&
         *value.getUsers().begin() == user;
}

LogicalResult FunctionBuilder::checkMemory(cs::StartOp op) {
  if (!onDevices() || isa<cs::CopyOp>(op.getBody().front().front()) ||
      op->hasAttr(cs::CsDialect::kNcclAttr))
    return success();
  bool onHost = placedOf(op.getFuture()).getMemory() == cs::MemoryKind::host;
  for (Value input : op.getInputs())
    onHost &= placedOf(input).getMemory() == cs::MemoryKind::host;
  if (onHost)
    return success();
  return op.emitError() << "\"" << op.getKey()
                        << "\" is in memory of a CUDA device, from which the host does not send: run "
                           "--overlap-rpc-memcpy, which makes the copies, or --lower-to-nccl";
}

LogicalResult FunctionBuilder::addStart(cs::StartOp op) {
  if (failed(checkMemory(op)))
    return failure();
  for (Operation &inner : op.getBody().front())
    if (isa<cs::SendOp, cs::RecvOp>(inner))
      return addMessage(op, &inner);
    else if (isa<cs::FetchRowsOp, cs::SendRowsOp>(inner))
      return addRows(op, &inner);
  if (auto copy = dyn_cast<cs::CopyOp>(op.getBody().front().front()))
    return addCopyStart(op, copy);
  if (op.getInputs().size() != 1)
    return op.emitOpError() << "must have one input to be part of a plan, got: "
                            << op.getInputs().size();
  context.communicates = true;
  plan::Instruction &instruction = addInstruction(op, op.getKey());
  instruction.set_priority(static_cast<int32_t>(op.getPriority()));
  instruction.set_device(op.getFuture().getType().getValue().getDevice());
  plan::Communicate *communicate = instruction.mutable_communicate();
  communicate->set_key(op.getKey().str());
  Access &access = accesses.back();
  for (Value after : op.getAfter())
    access.after.push_back(started.lookup(after));
  started[op.getFuture()] = out.instructions_size() - 1;

  Block &body = op.getBody().front();
  Value value = op.getInputs()[0];
  unsigned input = buffers.lookup(value);
  access.reads.push_back(input);
  RankedTensorType type = cast<cs::PlacedType>(value.getType()).getTensor();
  cs::UnshardOp unshard;
  cs::ShardOp shard;
  SmallVector<cs::ExchangeOp> exchanges;
  Value expected = body.getArgument(0);
  for (Operation &inner : body.without_terminator()) {
    if (inner.getNumOperands() != 1 || inner.getOperand(0) != expected || shard)
      return inner.emitOpError("must work on the result of the op before it");
    if (cs::getGroupName(&inner) != cs::getGroupName(&body.front()))
      return inner.emitOpError("must be in the same group as the op before it");
    expected = inner.getResult(0);
    if (auto reduce = dyn_cast<cs::AllReduceOp>(inner)) {
      if (failed(addNccl(op, reduce, *communicate)))
        return failure();
    } else if (auto exchange = dyn_cast<cs::ExchangeOp>(inner)) {
      exchanges.push_back(exchange);
    } else if (auto first = dyn_cast<cs::UnshardOp>(inner)) {
      if (unshard || !exchanges.empty())
        return inner.emitOpError("must come before the exchanges");
      unshard = first;
      type = first.getResult().getType().getTensor();
    } else {
      shard = cast<cs::ShardOp>(inner);
    }
  }
  if (body.getTerminator()->getOperand(0) != expected)
    return op.emitOpError("must return the result of the last op");
  FailureOr<std::optional<unsigned>> group = context.group(&body.front());
  if (failed(group))
    return failure();
  if (*group)
    communicate->set_group(**group);

  unsigned working;
  if (!unshard && ownedBy(value, op)) {
    working = input;
  } else {
    working = addBuffer(plan::Buffer::ARENA, type, op.getKey(), placedOf(value));
    communicate->set_has_input(true);
    communicate->set_input(input);
    communicate->set_input_is_shard(static_cast<bool>(unshard));
  }
  communicate->set_buffer(working);
  access.writes.push_back(working);
  unsigned result = working;
  if (shard) {
    result = addBuffer(plan::Buffer::ARENA, shard.getResult().getType().getTensor(),
                       op.getKey(), shard.getResult().getType());
    communicate->set_has_output(true);
    communicate->set_output(result);
    access.writes.push_back(result);
  }
  buffers[op.getFuture()] = result;
  if (std::optional<ArrayRef<int64_t>> parts = op.getParts(); parts && !exchanges.empty()) {
    context.usesParts = true;
    int64_t bytes = tensorBytes(out.buffers(working).type()) / type.getNumElements();
    for (int64_t part : *parts)
      communicate->add_part_bytes(part * bytes);
  }
  if (std::optional<int64_t> exclusive = op.getExclusive(); exclusive && !exchanges.empty()) {
    context.usesExclusive = true;
    communicate->set_exclusive_ns(static_cast<uint64_t>(*exclusive));
  }
  for (cs::ExchangeOp exchange : exchanges)
    if (failed(buildPhase(exchange, *communicate->add_phases())))
      return failure();
  if (communicate->has_nccl()) {
    communicate->set_source_op("all_reduce");
    return success();
  }
  auto collective = op->getAttrOfType<StringAttr>("cs.collective");
  communicate->set_source_op(collective ? collective.str()
                                        : sourceOp(exchanges, unshard, shard));
  return success();
}

LogicalResult FunctionBuilder::addNccl(cs::StartOp op, cs::AllReduceOp reduce,
                                       plan::Communicate &communicate) {
  auto place = op->getAttrOfType<cs::NcclAttr>(cs::CsDialect::kNcclAttr);
  if (!onDevices())
    return op.emitOpError("needs devices of kind cuda whose fragments have code");
  if (place.getLane() != 0)
    return op.emitError() << "\"" << op.getKey() << "\" is of lane " << place.getLane()
                          << " of NCCL: a plan has one, 0";
  ncclNumbers.push_back(place.getNumber());
  context.usesNccl = true;
  plan::Nccl &nccl = *communicate.mutable_nccl();
  nccl.set_kind(plan::Nccl::ALL_REDUCE);
  switch (reduce.getReduction()) {
  case cs::Reduction::sum:
    nccl.set_reduction(plan::Nccl::SUM);
    break;
  case cs::Reduction::mean:
    nccl.set_reduction(plan::Nccl::MEAN);
    break;
  case cs::Reduction::max:
    nccl.set_reduction(plan::Nccl::MAX);
    break;
  case cs::Reduction::min:
    nccl.set_reduction(plan::Nccl::MIN);
    break;
  }
  nccl.set_lane(static_cast<uint32_t>(place.getLane()));
  nccl.set_number(static_cast<uint32_t>(place.getNumber()));
  return success();
}

LogicalResult FunctionBuilder::addMessage(cs::StartOp op, Operation *message) {
  bool sends = isa<cs::SendOp>(message);
  auto served = cs::getServerOf(message, &context.symbols);
  if (!served)
    return addEnd(op, message);
  if (message->hasAttr("when"))
    return message->emitOpError("cannot be part of a plan: not all ranks take part");
  unsigned server = *cs::getServerIndex(served);
  auto &blocks = sends ? context.pushes : context.pulls;
  auto block = blocks.find({server, op.getKey().str()});
  if (block == blocks.end())
    return message->emitOpError()
           << "\"" << op.getKey() << "\" is not " << (sends ? "collected" : "published")
           << " by server " << server << "; run --verify-distributed";
  context.usesServers = true;
  RankedTensorType type = op.getFuture().getType().getValue().getTensor();
  unsigned buffer;
  if (auto send = dyn_cast<cs::SendOp>(message))
    buffer = buffers.lookup(
        op.getInputs()[cast<BlockArgument>(send.getValue()).getArgNumber()]);
  else
    buffer = receiveInto(op, type);
  plan::Instruction &instruction = addInstruction(op, op.getKey());
  instruction.set_priority(static_cast<int32_t>(op.getPriority()));
  instruction.set_device(op.getFuture().getType().getValue().getDevice());
  Access &access = accesses.back();
  for (Value after : op.getAfter())
    access.after.push_back(started.lookup(after));
  started[op.getFuture()] = out.instructions_size() - 1;
  buffers[op.getFuture()] = buffer;
  auto fill = [&](auto *what) {
    what->set_key(op.getKey().str());
    what->set_server(server);
    what->set_block(block->second);
    what->set_buffer(buffer);
  };
  if (sends) {
    fill(instruction.mutable_push());
    access.reads.push_back(buffer);
    pushes[{server, block->second}] = out.instructions_size() - 1;
  } else {
    fill(instruction.mutable_pull());
    access.writes.push_back(buffer);
    // A server keeps a value until all trainers have pushed the next step.
    if (auto push = pushes.find({server, block->second}); push != pushes.end())
      accesses[push->second].afterPrevious.push_back(out.instructions_size() - 1);
  }
  return success();
}

/// What a rank sends, or receives, where it lies in `when`.
static void buildEnd(AffineMap peer, std::optional<IntegerSet> when, plan::Side &side) {
  side.mutable_begin()->set_constant(0);
  side.mutable_count()->set_constant(1);
  *side.mutable_peer() = toPlan(peer.getResult(0));
  if (when)
    addConditions(*when, side);
}

static void buildNothing(plan::Side &side) {
  for (plan::AffineExpr *expr : {side.mutable_begin(), side.mutable_count(), side.mutable_peer()})
    expr->set_constant(0);
  side.add_condition()->mutable_expr()->set_constant(-1);
}

LogicalResult FunctionBuilder::addEnd(cs::StartOp op, Operation *message) {
  auto send = dyn_cast<cs::SendOp>(message);
  auto recv = dyn_cast<cs::RecvOp>(message);
  std::optional<StringRef> role = send ? send.getRole() : recv.getRole();
  func::FuncOp peer = function;
  if (role)
    peer = function->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(*role);
  auto isStep = [&](const PlanContext::Role &other) { return other.function == peer; };
  if (!peer || (peer != function && llvm::none_of(context.roles, isStep)))
    return message->emitOpError()
           << "cannot be part of a plan: the other end is in @" << *role
           << ", which is no step of other nodes";
  PlanContext::Role own = context.roleOf(function), others = context.roleOf(peer);
  context.communicates = context.betweenRanks = true;
  plan::Instruction &instruction = addInstruction(op, op.getKey());
  unsigned number = out.instructions_size() - 1;
  instruction.set_priority(static_cast<int32_t>(op.getPriority()));
  instruction.set_device(op.getFuture().getType().getValue().getDevice());
  plan::Communicate *communicate = instruction.mutable_communicate();
  communicate->set_key(op.getKey().str());
  communicate->set_source_op(send ? "send" : "recv");
  communicate->set_other_end(number); // until joinEnds()
  if (std::optional<unsigned> group = context.group(own))
    communicate->set_group(*group);
  if (std::optional<unsigned> group = context.group(others); group && peer != function)
    communicate->set_peer_group(*group);
  plan::Phase *phase = communicate->add_phases();
  phase->set_chunks(1);
  phase->set_rounds(1);
  unsigned working;
  if (send) {
    Value value = op.getInputs()[cast<BlockArgument>(send.getValue()).getArgNumber()];
    unsigned input = buffers.lookup(value);
    accesses.back().reads.push_back(input);
    working = input;
    if (!ownedBy(value, op)) {
      working = addBuffer(plan::Buffer::ARENA,
                          cast<cs::PlacedType>(value.getType()).getTensor(), op.getKey(),
                          placedOf(value));
      communicate->set_has_input(true);
      communicate->set_input(input);
    }
    buildEnd(send.getPeer(), send.getWhen(), *phase->mutable_send());
    buildNothing(*phase->mutable_recv());
  } else {
    working = receiveInto(op, recv.getResult().getType().getTensor());
    buildNothing(*phase->mutable_send());
    buildEnd(recv.getPeer(), recv.getWhen(), *phase->mutable_recv());
  }
  communicate->set_buffer(working);
  Access &access = accesses[number];
  access.writes.push_back(working);
  for (Value after : op.getAfter())
    access.after.push_back(started.lookup(after));
  started[op.getFuture()] = number;
  buffers[op.getFuture()] = working;
  context.ends.push_back({index, number, message, function, peer});
  return success();
}

std::string FunctionBuilder::sourceOp(ArrayRef<cs::ExchangeOp> exchanges, bool unshard,
                                      bool shard) {
  if (unshard)
    return "all_gather";
  if (shard)
    return "reduce_scatter";
  bool combines = llvm::any_of(exchanges, [](cs::ExchangeOp e) {
    return e.getCombine() != cs::Combine::replace;
  });
  return combines ? "all_reduce" : "broadcast";
}

LogicalResult FunctionBuilder::addCopyStart(cs::StartOp op, cs::CopyOp copy) {
  if (op.getInputs().size() != 1 ||
      copy.getValue() != op.getBody().front().getArgument(0))
    return op.emitOpError("must copy its one input to be part of a plan");
  unsigned source = buffers.lookup(op.getInputs()[0]);
  unsigned target = receiveInto(op, copy.getResult().getType().getTensor());
  addCopyInstruction(op, source, target, op.getKey());
  plan::Instruction &instruction =
      *out.mutable_instructions(out.instructions_size() - 1);
  instruction.set_deferred(false);
  instruction.set_priority(static_cast<int32_t>(op.getPriority()));
  setRoute(instruction, copy);
  for (Value after : op.getAfter())
    accesses.back().after.push_back(started.lookup(after));
  started[op.getFuture()] = out.instructions_size() - 1;
  buffers[op.getFuture()] = target;
  return success();
}

} // namespace commsched::planexport
