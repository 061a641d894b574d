// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function: values become buffers, ops become instructions.

#include "PlanBuilder.h"

#include "ir/CsServerFunctions.h"
#include "passes/place/StagingRing.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

plan::ElementType elementOf(Type type) {
  return type.isF64()         ? plan::F64
         : type.isF32()       ? plan::F32
         : type.isF16()       ? plan::F16
         : type.isBF16()      ? plan::BF16
         : type.isInteger(64) ? plan::I64
         : type.isInteger(32) ? plan::I32
         : type.isInteger(8)  ? plan::I8
                              : plan::I1;
}

// Operations of a body: what its structured ops compute, element by element.
uint64_t countFlops(Region &body) {
  uint64_t flops = 0;
  body.walk([&](linalg::LinalgOp op) {
    uint64_t iterations = 1;
    for (int64_t size : op.getStaticLoopRanges())
      iterations *= ShapedType::isDynamic(size) ? 1 : size;
    uint64_t each = 0;
    for (Operation &inner : op.getBlock()->without_terminator())
      each += !isa<linalg::IndexOp>(inner) && !inner.hasTrait<OpTrait::ConstantLike>();
    flops += iterations * each;
  });
  return flops;
}

class FunctionBuilder {
public:
  FunctionBuilder(func::FuncOp function, PlanContext &context)
      : function(function), context(context), index(context.plan.functions_size()),
        out(*context.plan.add_functions()) {}

  LogicalResult build() {
    out.set_name(function.getName().str());
    out.set_is_step(function->hasAttr(cs::CsDialect::kStepAttr));
    if (failed(addArguments()))
      return failure();
    findJoinedInPlace();
    for (Operation &op : function.getBody().front()) {
      LogicalResult result = success();
      if (auto fragment = dyn_cast<cs::FragmentOp>(op))
        result = addFragment(fragment);
      else if (auto start = dyn_cast<cs::StartOp>(op))
        result = addStart(start);
      else if (auto await = dyn_cast<cs::AwaitOp>(op))
        buffers[await.getResult()] = buffers.lookup(await.getFuture());
      else if (auto copy = dyn_cast<cs::CopyOp>(op))
        addCopy(copy);
      else if (auto split = dyn_cast<cs::SplitOp>(op))
        addSplit(split);
      else if (auto concat = dyn_cast<cs::ConcatOp>(op))
        addConcat(concat);
      else
        result = addResults(cast<func::ReturnOp>(op));
      if (failed(result))
        return failure();
    }
    addDependences(out, accesses);
    assignArena(out, accesses, keep);
    return success();
  }

private:
  unsigned addBuffer(plan::Buffer::Kind kind, RankedTensorType type, StringRef name) {
    plan::Buffer *buffer = out.add_buffers();
    buffer->set_kind(kind);
    *buffer->mutable_type() = toPlan(type);
    buffer->set_name(name.str());
    keep.push_back(false);
    return out.buffers_size() - 1;
  }

  // `type` at `offset` bytes of `whole`.
  unsigned addPart(unsigned whole, uint64_t offset, RankedTensorType type,
                   StringRef name) {
    const plan::Buffer &outer = out.buffers(whole);
    if (outer.kind() == plan::Buffer::PART) {
      offset += outer.offset();
      whole = outer.parent();
    }
    unsigned buffer = addBuffer(plan::Buffer::PART, type, name);
    out.mutable_buffers(buffer)->set_parent(whole);
    out.mutable_buffers(buffer)->set_offset(offset);
    context.usesServers = true;
    return buffer;
  }

  void useDevice(unsigned device) { context.usesDevices |= device > 0; }

  FailureOr<unsigned> slotOf(StringRef name, plan::Slot::Kind kind,
                             cs::PlacedType placed, bool kindKnown) {
    RankedTensorType type = placed.getTensor();
    auto [it, fresh] = context.slots.try_emplace(slotKey(name, placed.getDevice()),
                                                 context.plan.slots_size());
    if (fresh) {
      plan::Slot *slot = context.plan.add_slots();
      slot->set_name(name.str());
      slot->set_kind(kind);
      *slot->mutable_type() = toPlan(type);
      slot->set_device(placed.getDevice());
      useDevice(placed.getDevice());
      return it->second;
    }
    plan::Slot *slot = context.plan.mutable_slots(it->second);
    plan::TensorType own = toPlan(type);
    if (own.element() != slot->type().element() ||
        !std::equal(own.shape().begin(), own.shape().end(),
                    slot->type().shape().begin(), slot->type().shape().end()))
      return function.emitError() << "\"" << name
                                  << "\" must have the same type in all functions, got: "
                                  << type;
    if (kindKnown)
      slot->set_kind(kind);
    return it->second;
  }

  LogicalResult addArguments() {
    uint64_t batch = 0, batchDevices = 1;
    for (auto [i, arg] : llvm::enumerate(function.getArguments())) {
      auto placed = cast<cs::PlacedType>(arg.getType());
      RankedTensorType type = placed.getTensor();
      auto attr = [&](StringRef name) {
        return function.getArgAttrOfType<StringAttr>(i, name);
      };
      if (StringAttr name = attr(cs::CsDialect::kBatchAttr)) {
        unsigned buffer = addBuffer(plan::Buffer::BATCH, type, name.getValue());
        out.mutable_buffers(buffer)->set_batch(name.str());
        out.mutable_buffers(buffer)->set_device(placed.getDevice());
        useDevice(placed.getDevice());
        if (placed.getDevice() > 0)
          batchDevices = context.cluster.getDevices();
        buffers[arg] = buffer;
        // On a server it is a gradient.
        if (batch == 0 && type.getRank() > 0 && !cs::getServerIndex(function))
          batch = type.getDimSize(0) * context.cluster.getNodes();
        continue;
      }
      StringAttr param = attr(cs::CsDialect::kParamAttr);
      StringAttr name = param ? param : attr(cs::CsDialect::kStateAttr);
      if (!name)
        return function.emitError()
               << "argument " << i << " needs cs.param, cs.state or cs.batch";
      FailureOr<unsigned> slot =
          slotOf(name, param ? plan::Slot::PARAM : plan::Slot::STATE, placed, true);
      if (failed(slot))
        return failure();
      unsigned buffer = addBuffer(plan::Buffer::SLOT_CURRENT, type, name.getValue());
      out.mutable_buffers(buffer)->set_slot(*slot);
      buffers[arg] = buffer;
    }
    batch *= batchDevices;
    if (auto total = function->getAttrOfType<IntegerAttr>(cs::CsDialect::kGlobalBatchAttr))
      batch = total.getInt();
    out.set_global_batch(batch);
    return success();
  }

  plan::Instruction &addInstruction(Operation *op, StringRef name) {
    plan::Instruction *instruction = out.add_instructions();
    instruction->set_name(name.str());
    instruction->set_location(context.location(op->getLoc()));
    accesses.emplace_back();
    return *instruction;
  }

  LogicalResult addFragment(cs::FragmentOp op) {
    plan::Instruction &instruction = addInstruction(op, op.getLabel());
    instruction.set_device(op.getDevice());
    useDevice(op.getDevice());
    instruction.set_deferred(op.getDeferred());
    Access &access = accesses.back();
    access.stream = !op.getDeferred();
    uint64_t bytes = 0;
    for (Value input : op.getInputs()) {
      access.reads.push_back(buffers.lookup(input));
      bytes += tensorBytes(out.buffers(buffers.lookup(input)).type());
    }
    for (Value result : op.getOutputs()) {
      unsigned buffer = addBuffer(plan::Buffer::ARENA,
                                  cast<cs::PlacedType>(result.getType()).getTensor(), "");
      buffers[result] = buffer;
      access.writes.push_back(buffer);
      bytes += tensorBytes(out.buffers(buffer).type());
    }
    cs::CostAttr cost = op.getCostAttr();
    if (!op.hasBody()) {
      if (!cost)
        return op.emitOpError("needs a body or a cost");
      plan::Delay *delay = instruction.mutable_delay();
      cs::DeviceAttr device = context.cluster.getDevice();
      uint64_t ns = cost.getNs();
      if (ns == 0)
        ns = std::max(cost.getFlops() / std::max<int64_t>(1, device.getGflops()),
                      cost.getBytes() / std::max<int64_t>(1, device.getGbPerS()));
      delay->set_nanoseconds(ns);
      delay->mutable_inputs()->Add(access.reads.begin(), access.reads.end());
      delay->mutable_outputs()->Add(access.writes.begin(), access.writes.end());
      context.costOnly = true;
      return success();
    }
    plan::Run *run = instruction.mutable_run();
    run->mutable_inputs()->Add(access.reads.begin(), access.reads.end());
    run->mutable_outputs()->Add(access.writes.begin(), access.writes.end());
    run->set_flops(cost && cost.getFlops() ? cost.getFlops() : countFlops(op.getBody()));
    run->set_bytes(cost && cost.getBytes() ? cost.getBytes() : bytes);
    unsigned compiled = context.compiler.add(op.getBody().front(), op.getLoc());
    context.runs.push_back(
        {index, static_cast<unsigned>(out.instructions_size() - 1), compiled});
    return success();
  }

  // Whether `value` is a fragment's result that nothing but `user` needs, so
  // that a communication may work on it in place.
  bool ownedBy(Value value, Operation *user) {
    unsigned buffer = buffers.lookup(value);
    if (out.buffers(buffer).kind() != plan::Buffer::ARENA &&
        out.buffers(buffer).kind() != plan::Buffer::PART)
      return false;
    // Another value may live in the same buffer: only fragments and copies make
    // new ones.
    Operation *def = value.getDefiningOp();
    if (auto await = dyn_cast_or_null<cs::AwaitOp>(def))
      if (auto start = await.getFuture().getDefiningOp<cs::StartOp>())
        def = &start.getBody().front().front();
    return isa_and_nonnull<cs::FragmentOp, cs::CopyOp>(def) && value.hasOneUse() &&
           *value.getUsers().begin() == user;
  }

  LogicalResult addStart(cs::StartOp op) {
    for (Operation &inner : op.getBody().front())
      if (isa<cs::SendOp, cs::RecvOp>(inner))
        return addMessage(op, &inner);
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
      expected = inner.getResult(0);
      if (auto exchange = dyn_cast<cs::ExchangeOp>(inner)) {
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

    unsigned working;
    if (!unshard && ownedBy(value, op)) {
      working = input;
    } else {
      working = addBuffer(plan::Buffer::ARENA, type, op.getKey());
      communicate->set_has_input(true);
      communicate->set_input(input);
      communicate->set_input_is_shard(static_cast<bool>(unshard));
    }
    communicate->set_buffer(working);
    access.writes.push_back(working);
    unsigned result = working;
    if (shard) {
      result = addBuffer(plan::Buffer::ARENA, shard.getResult().getType().getTensor(),
                         op.getKey());
      communicate->set_has_output(true);
      communicate->set_output(result);
      access.writes.push_back(result);
    }
    buffers[op.getFuture()] = result;
    for (cs::ExchangeOp exchange : exchanges)
      if (failed(buildPhase(exchange, *communicate->add_phases())))
        return failure();
    auto collective = op->getAttrOfType<StringAttr>("cs.collective");
    communicate->set_source_op(collective ? collective.str()
                                          : sourceOp(exchanges, unshard, shard));
    return success();
  }

  // A message to or from a parameter server.
  LogicalResult addMessage(cs::StartOp op, Operation *message) {
    bool sends = isa<cs::SendOp>(message);
    if (message->hasAttr("when"))
      return message->emitOpError("cannot be part of a plan: not all ranks take part");
    unsigned server = *cs::getServerIndex(cs::getServerOf(message));
    auto &blocks = sends ? context.pushes : context.pulls;
    auto block = blocks.find({server, op.getKey().str()});
    if (block == blocks.end())
      return message->emitOpError()
             << "\"" << op.getKey() << "\" is not " << (sends ? "collected" : "published")
             << " by server " << server << "; run --verify-distributed";
    context.usesServers = true;
    RankedTensorType type = op.getFuture().getType().getValue().getTensor();
    unsigned buffer = sends ? buffers.lookup(op.getInputs()[0]) : receiveInto(op, type);
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
    } else {
      fill(instruction.mutable_pull());
      access.writes.push_back(buffer);
    }
    return success();
  }

  // Blocks that are received for nothing but to be joined are received where
  // they belong.
  void findJoinedInPlace() {
    for (auto concat : function.getBody().front().getOps<cs::ConcatOp>()) {
      uint64_t offset = 0;
      for (Value block : concat.getBlocks()) {
        auto await = block.getDefiningOp<cs::AwaitOp>();
        auto start = await ? await.getFuture().getDefiningOp<cs::StartOp>() : cs::StartOp();
        if (start && block.hasOneUse() &&
            isa<cs::RecvOp, cs::CopyOp>(start.getBody().front().front()))
          joinedAt[start.getFuture()] = {concat, offset};
        offset += bytesOf(block);
      }
    }
  }

  static uint64_t bytesOf(Value value) {
    return tensorBytes(toPlan(cast<cs::PlacedType>(value.getType()).getTensor()));
  }

  unsigned wholeOf(cs::ConcatOp concat) {
    auto [it, fresh] = buffers.try_emplace(concat.getResult(), 0);
    if (fresh) {
      unsigned whole =
          addBuffer(plan::Buffer::ARENA, concat.getResult().getType().getTensor(), "concat");
      buffers[concat.getResult()] = whole;
      return whole;
    }
    return it->second;
  }

  // A part of the staging area of the node. Dependences follow from its memory,
  // within a step and from one to the next.
  unsigned stageAt(uint64_t offset, RankedTensorType type, StringRef name) {
    if (!stagingArea) {
      stagingArea = addBuffer(plan::Buffer::ARENA,
                              RankedTensorType::get({0}, IntegerType::get(type.getContext(), 64)),
                              "staging");
    }
    plan::TensorType *area = out.mutable_buffers(*stagingArea)->mutable_type();
    int64_t end = offset + tensorBytes(toPlan(type));
    area->set_shape(0, std::max<int64_t>(area->shape(0), (end + 7) / 8));
    return addPart(*stagingArea, offset, type, name);
  }

  unsigned receiveInto(cs::StartOp op, RankedTensorType type) {
    if (auto offset = op->getAttrOfType<IntegerAttr>(place::kStagingAttr))
      return stageAt(offset.getInt(), type, op.getKey());
    auto joined = joinedAt.find(op.getFuture());
    if (joined == joinedAt.end())
      return addBuffer(plan::Buffer::ARENA, type, op.getKey());
    auto [concat, offset] = joined->second;
    return addPart(wholeOf(concat), offset, type, op.getKey());
  }

  void addSplit(cs::SplitOp op) {
    uint64_t offset = 0;
    unsigned whole = buffers.lookup(op.getValue());
    for (Value block : op.getBlocks()) {
      buffers[block] = addPart(whole, offset,
                               cast<cs::PlacedType>(block.getType()).getTensor(), "split");
      offset += bytesOf(block);
    }
  }

  void addConcat(cs::ConcatOp op) {
    unsigned whole = wholeOf(op);
    uint64_t offset = 0;
    for (Value block : op.getBlocks()) {
      auto await = block.getDefiningOp<cs::AwaitOp>();
      if (!await || !joinedAt.count(await.getFuture())) {
        unsigned part = addPart(
            whole, offset, cast<cs::PlacedType>(block.getType()).getTensor(), "concat");
        addCopyInstruction(op, buffers.lookup(block), part, "concat");
        out.mutable_instructions(out.instructions_size() - 1)
            ->set_device(op.getResult().getType().getDevice());
      }
      offset += bytesOf(block);
    }
  }

  // What the exchanges were expanded from, as far as their shape tells: for
  // communication that was written by hand.
  static std::string sourceOp(ArrayRef<cs::ExchangeOp> exchanges, bool unshard,
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

  unsigned copyTo(Operation *op, unsigned source, plan::Buffer::Kind kind,
                  RankedTensorType type, StringRef name) {
    unsigned target = addBuffer(kind, type, name);
    addCopyInstruction(op, source, target, name);
    return target;
  }

  void addCopyInstruction(Operation *op, unsigned source, unsigned target,
                          StringRef name) {
    plan::Instruction &instruction = addInstruction(op, name);
    instruction.set_deferred(true);
    instruction.mutable_copy()->set_source(source);
    instruction.mutable_copy()->set_target(target);
    accesses.back().reads.push_back(source);
    accesses.back().writes.push_back(target);
  }

  // Who makes a copy, in which direction.
  void setRoute(plan::Instruction &instruction, cs::CopyOp op) {
    cs::PlacedType from = op.getValue().getType(), to = op.getResult().getType();
    bool toHost = to.getMemory() == cs::MemoryKind::host;
    bool stays = from.getDevice() == to.getDevice() && from.getMemory() == to.getMemory();
    instruction.set_device(toHost ? from.getDevice() : to.getDevice());
    instruction.mutable_copy()->set_direction(stays    ? plan::CopyBuffer::LOCAL
                                              : toHost ? plan::CopyBuffer::TO_HOST
                                                       : plan::CopyBuffer::TO_DEVICE);
    context.usesDevices |= !stays;
    useDevice(instruction.device());
  }

  // Whether the stream of the device of `value` makes it in its turn.
  static bool isMadeInTurn(Value value) {
    auto fragment = value.getDefiningOp<cs::FragmentOp>();
    return fragment ? !fragment.getDeferred() : isa<BlockArgument>(value);
  }

  // Outside of a start: on the compute stream, in its turn if the operand is there
  // by then.
  void addCopy(cs::CopyOp op) {
    buffers[op.getResult()] =
        copyTo(op, buffers.lookup(op.getValue()), plan::Buffer::ARENA,
               op.getResult().getType().getTensor(), "copy");
    plan::Instruction &instruction =
        *out.mutable_instructions(out.instructions_size() - 1);
    setRoute(instruction, op);
    if (instruction.copy().direction() == plan::CopyBuffer::LOCAL)
      return;
    instruction.mutable_copy()->set_in_line(true);
    bool inTurn = isMadeInTurn(op.getValue()) &&
                  op.getValue().getType().getDevice() == instruction.device();
    instruction.set_deferred(!inTurn);
    accesses.back().stream = inTurn;
  }

  // For a copy engine.
  LogicalResult addCopyStart(cs::StartOp op, cs::CopyOp copy) {
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

  LogicalResult addResults(func::ReturnOp op) {
    llvm::DenseSet<unsigned> updated;
    for (auto [i, value] : llvm::enumerate(op.getOperands())) {
      unsigned buffer = buffers.lookup(value);
      auto placed = cast<cs::PlacedType>(value.getType());
      RankedTensorType type = placed.getTensor();
      if (auto metric =
              function.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kMetricAttr)) {
        plan::Output *output = out.add_outputs();
        output->set_metric(metric.str());
        output->set_buffer(buffer);
        keep[buffer] = true;
        continue;
      }
      auto name =
          function.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kUpdatesAttr);
      if (!name)
        return op.emitError() << "result " << i << " needs cs.updates or cs.metric";
      FailureOr<unsigned> slot = slotOf(name, plan::Slot::PARAM, placed, false);
      if (failed(slot))
        return failure();
      if (!updated.insert(*slot).second)
        return op.emitError() << "result " << i << " updates \"" << name.getValue()
                              << "\" again";
      plan::Buffer *own = out.mutable_buffers(buffer);
      if (own->kind() == plan::Buffer::SLOT_CURRENT && own->slot() == *slot)
        continue; // unchanged
      if (own->kind() == plan::Buffer::ARENA) {
        own->set_kind(plan::Buffer::SLOT_NEXT);
        own->set_slot(*slot);
        own->set_name(name.str());
        continue;
      }
      unsigned target =
          copyTo(op, buffer, plan::Buffer::SLOT_NEXT, type, name.getValue());
      out.mutable_buffers(target)->set_slot(*slot);
    }
    return success();
  }

  func::FuncOp function;
  PlanContext &context;
  unsigned index;
  plan::Function &out;
  DenseMap<Value, unsigned> buffers; // of placed values and futures
  DenseMap<Value, unsigned> started; // future -> instruction
  // future of a recv -> the concat that it is for, and where in it
  DenseMap<Value, std::pair<cs::ConcatOp, uint64_t>> joinedAt;
  std::optional<unsigned> stagingArea; // buffer
  std::vector<Access> accesses;
  std::vector<bool> keep;
};

} // namespace

plan::TensorType toPlan(RankedTensorType type) {
  plan::TensorType result;
  result.set_element(elementOf(type.getElementType()));
  result.mutable_shape()->Add(type.getShape().begin(), type.getShape().end());
  return result;
}

std::string slotKey(StringRef name, unsigned device) {
  return device == 0 ? name.str() : (name + "\n" + Twine(device)).str();
}

LogicalResult buildFunction(func::FuncOp function, PlanContext &context) {
  return FunctionBuilder(function, context).build();
}

} // namespace commsched::planexport
