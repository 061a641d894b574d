// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops and communications of the problem. What they cost is in StepCosts.cpp.

#include "passes/schedule/StepProblem.h"

#include "passes/lower/ExchangeAlgorithms.h"
#include "passes/schedule/DeviceCopies.h"
#include "passes/schedule/MessageKinds.h"
#include "passes/schedule/StepCosts.h"
#include "passes/schedule/StepValues.h"
#include "passes/support/Module.h"

#include <map>

using namespace mlir;
using namespace commsched;
using Operations = StepCommunications::Operations;

namespace {

class ProblemBuilder {
public:
  ProblemBuilder(const StepCommunications &step, cs::ClusterOp cluster,
                 StringRef algorithm)
      : step(step), costs(step, cluster, algorithm), copies(step, cluster), kinds(step, costs) {}

  StepProblem build(BlockFreedom blocks, bool parts);

private:
  void findLate();
  void findStreams();
  void addBegins();
  void addOps();
  void addFragment(cs::FragmentOp fragment);
  void addRelay(Operation *communication);
  void addDependences();
  void addCommunication(Operation *op, bool parts);
  bool isPaired(Operation *send) const;
  Operations awaitedBy(Operation *communication) const;
  std::vector<unsigned> producersOf(Operation *communication);
  std::vector<schedule::Consumer> consumersOf(Operation *op);

  unsigned shiftOf(Operation *op) const { return isLate.contains(op); }
  static unsigned deviceOf(Operation *communication) {
    Value value = communication->getNumOperands() ? communication->getOperand(0)
                                                  : communication->getResult(0);
    return cast<cs::PlacedType>(value.getType()).getDevice();
  }

  const StepCommunications &step;
  StepCosts costs;
  DeviceCopies copies;
  StepProblem result;
  llvm::DenseSet<Operation *> isLate;         // of the next step
  std::map<unsigned, unsigned> streamOf;      // by device
  llvm::DenseMap<Operation *, unsigned> opOf; // by fragment
  // By communication: what it starts after, where that is communication too, and
  // what starts after it.
  llvm::DenseMap<Operation *, unsigned> relayBefore;
  llvm::DenseMap<Operation *, llvm::SmallVector<schedule::Consumer, 1>> relaysAfter;
  std::map<Operations, unsigned> relays;     // only looked up, never walked
  llvm::DenseMap<unsigned, unsigned> begins; // by device
  MessageKinds kinds;
  BlockFreedom freedom;
};

/// A deferred fragment that waits for communication which no other compute of this
/// step waits for: an update. Communication of what it makes is late as well.
void ProblemBuilder::findLate() {
  for (Operation &op : step.function().front()) {
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    if (!isCommunication(&op) && !(fragment && fragment.getDeferred()))
      continue;
    if (step.needOf(&op).when == Need::ThisStep)
      continue;
    bool late = false;
    for (Value operand : op.getOperands())
      forSources(operand, [&](Operation *source) {
        late |= isLate.contains(source) ||
                (fragment && isCommunication(source) &&
                 step.needOf(source).when != Need::ThisStep);
      });
    if (!late)
      continue;
    isLate.insert(&op);
    if (fragment)
      result.late.push_back(fragment);
  }
}

/// A send that is the only one that its recv waits for, and the reverse: both are
/// stages of one communication.
bool ProblemBuilder::isPaired(Operation *send) const {
  Operations recvs = step.recvsOf(send);
  return recvs.size() == 1 && step.sendsOf(recvs.front()).size() == 1;
}

/// Communications that must be done before this one can start.
Operations ProblemBuilder::awaitedBy(Operation *communication) const {
  Operations awaited;
  if (isa<cs::RecvOp>(communication)) {
    awaited = step.sendsOf(communication);
    if (!awaited.empty() && isPaired(awaited.front()))
      awaited.clear();
  } else {
    for (Value operand : communication->getOperands())
      if (Operation *source = operand.getDefiningOp(); isCommunication(source))
        awaited.push_back(source);
  }
  return awaited;
}

/// One for each device that does something, whatever its number is.
void ProblemBuilder::findStreams() {
  for (auto fragment : step.function().front().getOps<cs::FragmentOp>())
    streamOf.try_emplace(static_cast<unsigned>(fragment.getDevice()));
  for (Operation *op : step.all())
    streamOf.try_emplace(deviceOf(op));
  unsigned next = 0;
  for (auto &[device, stream] : streamOf)
    stream = next++;
  result.problem.streams = std::max(1u, next);
}

/// What is sent as it came in is there when the step begins on its device.
void ProblemBuilder::addBegins() {
  for (Operation *op : step.all()) {
    if (!awaitedBy(op).empty() || !step.sendsOf(op).empty())
      continue;
    bool made = false;
    for (Value operand : op->getOperands())
      forSources(operand, [&](Operation *source) { made |= source != nullptr; });
    unsigned device = deviceOf(op);
    auto next = static_cast<unsigned>(result.problem.ops.size());
    if (made || !begins.try_emplace(device, next).second)
      continue;
    schedule::Op begin;
    begin.name = "begin";
    begin.stream = streamOf.at(device);
    result.problem.ops.push_back(std::move(begin));
    result.fragments.push_back(nullptr);
  }
}

void ProblemBuilder::addFragment(cs::FragmentOp fragment) {
  opOf[fragment] = static_cast<unsigned>(result.problem.ops.size());
  schedule::Op op;
  op.name = fragment.getLabel().str();
  op.stream = streamOf.at(static_cast<unsigned>(fragment.getDevice()));
  op.duration = costs.durationOf(fragment);
  op.deferred = fragment.getDeferred();
  for (Value output : fragment.getOutputs())
    op.extraBytes += StepCosts::bytesOf(output);
  result.problem.ops.push_back(std::move(op));
  result.fragments.push_back(fragment);
}

/// The moment at which other communication is done: an op without duration, on a
/// stream of its own, as no compute waits for it.
void ProblemBuilder::addRelay(Operation *communication) {
  Operations awaited = awaitedBy(communication);
  auto next = static_cast<unsigned>(result.problem.ops.size());
  auto [known, isNew] = relays.try_emplace(awaited, next);
  relayBefore[communication] = known->second;
  if (!isNew)
    return;
  schedule::Op op;
  op.name = "relay";
  op.stream = result.problem.streams++;
  result.problem.ops.push_back(std::move(op));
  result.fragments.push_back(nullptr);
  for (Operation *source : awaited)
    relaysAfter[source].push_back(
        {next, shiftOf(communication) - shiftOf(source)});
}

/// In program order, but what is deferred behind communication directly before the
/// first fragment that needs it, in this step or the next; at the end if none does.
void ProblemBuilder::addOps() {
  std::map<unsigned, std::vector<Operation *>> before; // by place
  std::vector<Operation *> last;
  llvm::DenseSet<Operation *> moved;
  for (Operation &op : step.function().front()) {
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    Need need = step.needOf(&op);
    bool moves = isLate.contains(&op);
    if (fragment && fragment.getDeferred() && need.when == Need::ThisStep)
      for (Value input : fragment.getInputs())
        forSources(input, [&](Operation *source) { moves |= isCommunication(source); });
    if (!moves)
      continue;
    moved.insert(&op);
    if (need.when == Need::Report)
      last.push_back(&op);
    else
      before[need.place].push_back(&op);
  }
  auto add = [&](Operation *op) {
    if (auto fragment = dyn_cast<cs::FragmentOp>(op))
      addFragment(fragment);
    else if (isCommunication(op) && !awaitedBy(op).empty())
      addRelay(op);
  };
  for (Operation &op : step.function().front()) {
    if (auto here = before.find(step.placeOf(&op)); here != before.end())
      for (Operation *earlier : here->second)
        add(earlier);
    if (!moved.contains(&op))
      add(&op);
  }
  for (Operation *op : last)
    add(op);
}

void ProblemBuilder::addDependences() {
  std::vector<schedule::Op> &ops = result.problem.ops;
  for (cs::FragmentOp fragment : result.fragments) {
    if (!fragment)
      continue;
    std::vector<unsigned> &after = ops[opOf.lookup(fragment)].after;
    for (Value input : fragment.getInputs())
      forSources(input, [&](Operation *source) {
        if (isa_and_nonnull<cs::FragmentOp>(source) &&
            shiftOf(source) == shiftOf(fragment))
          after.push_back(opOf.lookup(source));
      });
    if (!shiftOf(fragment))
      continue;
    // What reads the new value, in the step that the fragment counts to.
    for (Value output : fragment.getOutputs())
      forUses(output, [&](OpOperand &use) {
        if (!isa<func::ReturnOp>(use.getOwner()))
          return;
        if (Value argument = step.updatedBy(use.getOperandNumber()))
          if (cs::FragmentOp reader = step.readerOf(argument))
            ops[opOf.lookup(reader)].after.push_back(opOf.lookup(fragment));
      });
  }
  for (schedule::Op &op : ops) {
    llvm::sort(op.after);
    op.after.erase(llvm::unique(op.after), op.after.end());
  }
}

std::vector<unsigned> ProblemBuilder::producersOf(Operation *communication) {
  std::vector<unsigned> producers;
  if (relayBefore.contains(communication))
    producers.push_back(relayBefore.lookup(communication));
  for (Value operand : communication->getOperands())
    forSources(operand, [&](Operation *source) {
      // What the step before has made is there.
      if (isa_and_nonnull<cs::FragmentOp>(source) &&
          shiftOf(source) == shiftOf(communication))
        producers.push_back(opOf.lookup(source));
    });
  if (producers.empty())
    producers.push_back(begins.lookup(deviceOf(communication)));
  llvm::sort(producers);
  producers.erase(llvm::unique(producers), producers.end());
  return producers;
}

std::vector<schedule::Consumer> ProblemBuilder::consumersOf(Operation *op) {
  unsigned shift = shiftOf(op);
  std::vector<schedule::Consumer> consumers;
  for (const schedule::Consumer &relay : relaysAfter.lookup(op))
    consumers.push_back(relay);
  for (Value value : op->getResults())
    forUses(value, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (isa<cs::FragmentOp>(user))
        consumers.push_back({opOf.lookup(user), shiftOf(user) - shift});
      else if (isa<func::ReturnOp>(user))
        if (Value argument = step.updatedBy(use.getOperandNumber()))
          if (cs::FragmentOp reader = step.readerOf(argument))
            consumers.push_back({opOf.lookup(reader), 1 - shift});
    });
  // The next fetch waits for the rows that this step sends.
  if (Operation *fetch = step.fetchOf(op))
    forUses(fetch->getResult(0), [&](OpOperand &use) {
      if (auto reader = dyn_cast<cs::FragmentOp>(use.getOwner());
          reader && !reader.getDeferred())
        consumers.push_back({opOf.lookup(reader), 1});
    });
  auto key = [](const schedule::Consumer &consumer) {
    return std::pair(consumer.distance, consumer.op);
  };
  llvm::sort(consumers, [&](const auto &a, const auto &b) { return key(a) < key(b); });
  consumers.erase(
      llvm::unique(consumers, [&](const auto &a, const auto &b) { return key(a) == key(b); }),
      consumers.end());
  return consumers;
}

void ProblemBuilder::addCommunication(Operation *op, bool parts) {
  Operation *pull = nullptr;
  if (isa<cs::SendOp>(op) && isPaired(op))
    pull = step.recvsOf(op).front();
  if (isa<cs::RecvOp>(op))
    if (Operations sends = step.sendsOf(op);
        !sends.empty() && isPaired(sends.front()))
      return; // a stage of the send
  schedule::Communication communication;
  communication.name = cast<cs::CommunicationOpInterface>(op).getCommunicationKey().str();
  Value value = op->getNumOperands() ? op->getOperand(op->getNumOperands() - 1)
                                     : op->getResult(0);
  int64_t bytes = StepCosts::bytesOf(value);
  communication.bytes = std::max<int64_t>(1, bytes);
  communication.divisible =
      isa<cs::AllReduceOp>(op) && bytes > 0 && costs.takesPart(op);
  const ServerBlock *block = result.blocks ? result.blocks->of(op) : nullptr;
  communication.kind = kinds.of(op, isLate.contains(op), freedom.fuse ? block : nullptr);
  communication.producers = producersOf(op);
  communication.consumers = consumersOf(pull ? pull : op);
  communication.stages = costs.stagesOf(op, pull, result.problem);
  if (auto reduce = dyn_cast<cs::AllReduceOp>(op); reduce && parts)
    communication.tail = costs.tailOf(reduce);
  // Pieces begin at cache lines.
  StepProblem::Part part{op, pull, /*unit=*/64, costs.copiesOf(op)};
  part.lastStage = static_cast<unsigned>(communication.stages.size()) - 1;
  part.block = block;
  if (block && block->divisible) {
    communication.divisible = true;
    part.unit = block->rowBytes;
  }
  result.problem.communications.push_back(std::move(communication));
  result.parts.push_back(part);
}

/// Of trainers that do not wait for each other: the steps of which one sends gradients.
static std::optional<int64_t> stepsApart(Operation *function) {
  auto servers = function->getAttrOfType<cs::ServersAttr>(cs::CsDialect::kServersAttr);
  if (!servers || servers.getSyncMode() == cs::SyncMode::sync)
    return std::nullopt;
  return servers.getMerge();
}

StepProblem ProblemBuilder::build(BlockFreedom blocks, bool parts) {
  freedom = blocks;
  if (blocks.cut || blocks.fuse)
    result.blocks = std::make_shared<const ServerBlocks>(step, blocks.cut);
  result.problem.name = step.function().getName().str();
  result.problem.stepsApart = stepsApart(step.function());
  findLate();
  findStreams();
  addBegins();
  addOps();
  addDependences();
  for (Operation *op : step.all())
    addCommunication(op, parts);
  costs.slowDown(result.problem);
  if (copies.any())
    copies.addTo(result);
  return std::move(result);
}

} // namespace

const StepProblem::Part &StepProblem::partOf(const schedule::Message &message) const {
  return parts[message.pieces.front().communication];
}

bool StepProblem::hasOnePriority(const Part &part, int64_t bytes) const {
  auto reduce = dyn_cast<cs::AllReduceOp>(part.op);
  if (!reduce)
    return false;
  if (part.firstStage == part.lastStage) // one call of NCCL
    return true;
  Collective collective{CollectiveKind::allReduce, reduce.getReduction()};
  return chooseExchanges(algorithm, collective, part.ranks, bytes, inter).chosen ==
         ExchangeAlgorithm::recursiveDoubling;
}

StepProblem commsched::buildStepProblem(const StepCommunications &communications,
                                        cs::ClusterOp cluster, StringRef algorithm,
                                        BlockFreedom blocks, bool parts) {
  StepProblem step = ProblemBuilder(communications, cluster, algorithm).build(blocks, parts);
  auto nodes = static_cast<int64_t>(cluster.getNodes());
  step.rounds = algorithm == NcclLink::kName
                    ? 1
                    : std::max<int64_t>(1, halfOfAllReduce(algorithm, nodes, 0).rounds);
  step.algorithm = algorithmWithoutNccl(algorithm).str();
  step.inter = cluster.getInter();
  int64_t ranks = getRankCount(communications.function(), cluster);
  for (StepProblem::Part &part : step.parts) {
    const cs::Members *group = communications.groupOf(part.op);
    part.ranks = group ? group->size() : ranks;
  }
  return step;
}
