// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function has, and its compute.

#include "passes/plan/CheckPlan.h"
#include "passes/plan/CheckTimer.h"
#include "passes/plan/FunctionBuilder.h"
#include "passes/plan/Urgency.h"

#include "ir/CsDevices.h"
#include "ir/CsServerFunctions.h"
#include "ir/CsSparseOps.h"
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

// Whether all compute but what waits for communication is on the first device of a node.
bool computesOnFirst(func::FuncOp function) {
  return llvm::all_of(function.getOps<cs::FragmentOp>(),
                      [](cs::FragmentOp fragment) { return fragment.getDevice() == 0 || fragment.getDeferred(); });
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

} // namespace

LogicalResult FunctionBuilder::build() {
  out.set_name(function.getName().str());
  out.set_is_step(function->hasAttr(cs::CsDialect::kStepAttr));
  out.set_sums_gradients(function->hasAttr(cs::CsDialect::kGradientReductionAttr));
  if (auto schedule =
          function->getAttrOfType<cs::ScheduleAttr>(cs::CsDialect::kScheduleAttr)) {
    out.set_credit_bytes(static_cast<uint64_t>(schedule.getCredit()));
    plan::Schedule *made = out.mutable_schedule();
    made->set_policy(schedule.getPolicy().str());
    made->set_period_ns(static_cast<uint64_t>(schedule.getPeriodNs()));
    made->set_bound_ns(static_cast<uint64_t>(schedule.getBoundNs()));
    made->set_any_order_bound_ns(static_cast<uint64_t>(schedule.getAnyOrderBoundNs()));
    auto clusters = function->getParentOfType<ModuleOp>().getOps<cs::ClusterOp>();
    if (schedule.getBoundNs() != 0 && llvm::hasSingleElement(clusters))
      made->set_bound_assumes((*clusters.begin()).whatBoundsAssume());
  }
  if (failed(addArguments()))
    return failure();
  findJoinedInPlace();
  if (failed(addAreas()))
    return failure();
  urgent = findUrgent(function);
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
    else if (auto pack = dyn_cast<cs::PackOp>(op))
      addPack(pack);
    else if (auto unpack = dyn_cast<cs::UnpackOp>(op))
      addUnpack(unpack);
    else
      result = addResults(cast<func::ReturnOp>(op));
    if (failed(result))
      return failure();
  }
  llvm::sort(ncclNumbers);
  for (auto [i, number] : llvm::enumerate(ncclNumbers))
    if (number != static_cast<int64_t>(i))
      return function.emitError("numbers of NCCL's collectives must be 0 to ")
             << ncclNumbers.size() - 1 << ", each once; run --verify-distributed";
  addDependences(out, accesses);
  assignArena(out, accesses, keep);
  CheckTimer timer(context.checkSeconds);
  if (std::string wrong = checkOrder(out); !wrong.empty())
    return function.emitError("internal error: ") << wrong;
  return checkValues(function, context.plan, out);
}

cs::PlacedType FunctionBuilder::placedOf(Value value) {
  if (auto future = dyn_cast<cs::FutureType>(value.getType()))
    return future.getValue();
  return cast<cs::PlacedType>(value.getType());
}

LogicalResult FunctionBuilder::addAreas() {
  SmallVector<cs::PlacedType> places(layout.areas().size());
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults()) {
      std::optional<MessageLayout::Place> at = layout.placeOf(result);
      if (!at)
        continue;
      cs::PlacedType placed = placedOf(result);
      cs::PlacedType &known = places[at->area];
      if (!known)
        known = placed;
      else if (onDevices() && (known.getDevice() != placed.getDevice() ||
                               known.getMemory() != placed.getMemory()))
        return op.emitOpError("cannot be part of a plan: a message has pieces in several memories");
    }
  for (auto [area, placed] : llvm::zip(layout.areas(), places))
    areas.push_back(addBuffer(plan::Buffer::ARENA,
                              RankedTensorType::get({area.elements}, area.element),
                              "messages", placed));
  return success();
}

unsigned FunctionBuilder::addBuffer(plan::Buffer::Kind kind, RankedTensorType type,
                                    StringRef name, cs::PlacedType placed) {
  plan::Buffer *buffer = out.add_buffers();
  buffer->set_kind(kind);
  if (onDevices() && placed && kind == plan::Buffer::ARENA) {
    buffer->set_device(placed.getDevice());
    buffer->set_host(placed.getMemory() == cs::MemoryKind::host);
  }
  *buffer->mutable_type() = toPlan(type);
  buffer->set_name(name.str());
  keep.push_back(false);
  return out.buffers_size() - 1;
}

FailureOr<unsigned> FunctionBuilder::slotOf(StringRef name, plan::Slot::Kind kind,
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

LogicalResult FunctionBuilder::addArguments() {
  uint64_t batch = 0;
  for (auto [i, arg] : llvm::enumerate(function.getArguments())) {
    auto placed = cast<cs::PlacedType>(arg.getType());
    RankedTensorType type = placed.getTensor();
    auto attr = [&](StringRef name) {
      return function.getArgAttrOfType<StringAttr>(i, name);
    };
    if (StringAttr name = attr(cs::CsDialect::kBatchAttr)) {
      unsigned buffer = addBuffer(plan::Buffer::BATCH, type, name.getValue(), placed);
      out.mutable_buffers(buffer)->set_batch(name.str());
      out.mutable_buffers(buffer)->set_device(placed.getDevice());
      useDevice(placed.getDevice());
      buffers[arg] = buffer;
      // On a server it is a gradient.
      if (batch == 0 && type.getRank() > 0 && !cs::getServerIndex(function))
        batch = type.getDimSize(0) * context.roleOf(function).count;
      continue;
    }
    if (function.getArgAttr(i, cs::CsDialect::kWorkerIndexAttr)) {
      unsigned buffer = addBuffer(plan::Buffer::WORKER_INDEX, type, "worker_index", placed);
      out.mutable_buffers(buffer)->set_device(placed.getDevice());
      useDevice(placed.getDevice());
      context.usesWorkerIndex = true;
      buffers[arg] = buffer;
      continue;
    }
    StringAttr param = attr(cs::CsDialect::kParamAttr);
    StringAttr name = param ? param : attr(cs::CsDialect::kStateAttr);
    if (!name)
      return function.emitError()
             << "argument " << i << " needs cs.param, cs.state, cs.batch or cs.worker_index";
    FailureOr<unsigned> slot =
        slotOf(name, param ? plan::Slot::PARAM : plan::Slot::STATE, placed, true);
    if (failed(slot))
      return failure();
    if (function.getArgAttr(i, cs::kPerRankAttr))
      context.plan.mutable_slots(*slot)->set_per_rank(true);
    unsigned buffer = addBuffer(plan::Buffer::SLOT_CURRENT, type, name.getValue(), placed);
    out.mutable_buffers(buffer)->set_slot(*slot);
    buffers[arg] = buffer;
  }
  const int64_t parts = cs::getBatchParts(function, context.cluster);
  batch *= static_cast<uint64_t>(parts);
  auto total = function->getAttrOfType<IntegerAttr>(cs::CsDialect::kGlobalBatchAttr);
  // It may be meant, and then says how many samples a step takes.
  if (batch != 0 && !total && parts == 1 && context.cluster.getDevices() > 1 &&
      function->hasAttr(cs::CsDialect::kStepAttr) && computesOnFirst(function))
    function.emitWarning("takes one part of the batch for each node, on device 0 of ")
        << context.cluster.getDevices() << ": for one of each device, run --replicate-devices directly behind --insert-dist-comm";
  if (total) {
    auto samples = static_cast<uint64_t>(total.getInt());
    if (batch != 0 && samples != batch)
      return function.emitError() << "'" << cs::CsDialect::kGlobalBatchAttr << "' must match the " << batch
                                  << " samples that all nodes take together, got: " << samples;
    batch = samples;
  }
  out.set_global_batch(batch);
  return success();
}

plan::Instruction &FunctionBuilder::addInstruction(Operation *op, StringRef name) {
  plan::Instruction *instruction = out.add_instructions();
  instruction->set_name(name.str());
  instruction->set_location(context.location(op->getLoc()));
  accesses.emplace_back();
  return *instruction;
}

LogicalResult FunctionBuilder::addFragment(cs::FragmentOp op) {
  plan::Instruction &instruction = addInstruction(op, op.getLabel());
  instruction.set_device(op.getDevice());
  useDevice(op.getDevice());
  instruction.set_deferred(op.getDeferred());
  if (urgent.contains(op))
    instruction.set_priority(kUrgent);
  Access &access = accesses.back();
  access.stream = !op.getDeferred();
  uint64_t bytes = 0;
  for (Value input : op.getInputs()) {
    access.reads.push_back(buffers.lookup(input));
    bytes += tensorBytes(out.buffers(buffers.lookup(input)).type());
  }
  for (Value result : op.getOutputs()) {
    unsigned buffer =
        bufferFor(result, cast<cs::PlacedType>(result.getType()).getTensor(), "");
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
  auto fill = [&](auto *made) {
    made->mutable_inputs()->Add(access.reads.begin(), access.reads.end());
    made->mutable_outputs()->Add(access.writes.begin(), access.writes.end());
    made->set_flops(cost && cost.getFlops() ? cost.getFlops() : countFlops(op.getBody()));
    made->set_bytes(cost && cost.getBytes() ? cost.getBytes() : bytes);
  };
  unsigned number = out.instructions_size() - 1;
  Block &body = op.getBody().front();
  if (onDevices()) {
    fill(instruction.mutable_launch());
    context.launches.push_back({index, number, context.device->add(body, op.getLoc())});
    if (context.initOnServers && function.getName() == "init")
      context.onHost.push_back({index, number, context.compiler.add(body, op.getLoc())});
    return success();
  }
  fill(instruction.mutable_run());
  context.runs.push_back({index, number, context.compiler.add(body, op.getLoc())});
  return success();
}

LogicalResult FunctionBuilder::addResults(func::ReturnOp op) {
  llvm::DenseSet<unsigned> updated;
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    unsigned buffer = buffers.lookup(value);
    auto placed = cast<cs::PlacedType>(value.getType());
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
    if (own->host())
      return op.emitError() << "result " << i << " must not be in memory of the host";
    if (own->kind() == plan::Buffer::ARENA) {
      own->set_kind(plan::Buffer::SLOT_NEXT);
      own->clear_device();
      own->set_slot(*slot);
      own->set_name(name.str());
      continue;
    }
    unsigned target =
        copyTo(op, buffer, plan::Buffer::SLOT_NEXT, placed, name.getValue());
    out.mutable_buffers(target)->set_slot(*slot);
  }
  return success();
}

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
