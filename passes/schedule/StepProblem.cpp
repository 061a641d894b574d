// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Communications of the problem, and what stands for what in it.

#include "passes/schedule/ProblemBuilder.h"

#include "passes/lower/ExchangeAlgorithms.h"
#include "passes/schedule/StepValues.h"
#include "passes/support/Module.h"

using namespace mlir;
using namespace commsched;

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

/// A copy in line waits for what the communication waits for, and what waits for the communication for its copy: of the
/// next step all of the stream that does the copy.
void ProblemBuilder::throughCopies(Operation *op, Operation *last,
                                   schedule::Communication &communication) {
  std::vector<schedule::Op> &ops = result.problem.ops;
  if (auto copy = copyBefore.find(op); copy != copyBefore.end()) {
    ops[copy->second].after = std::exchange(communication.producers, {copy->second});
  }
  auto copy = copyBehind.find(last);
  if (copy == copyBehind.end())
    return;
  std::vector<schedule::Consumer> consumers = {{copy->second, 0}};
  for (const schedule::Consumer &consumer : communication.consumers)
    if (consumer.distance == 0)
      ops[consumer.op].after.push_back(copy->second);
    else if (ops[consumer.op].stream != ops[copy->second].stream)
      consumers.push_back(consumer);
  communication.consumers = std::move(consumers);
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
  throughCopies(op, pull ? pull : op, communication);
  communication.stages = costs.stagesOf(op, pull, result.problem);
  if (auto reduce = dyn_cast<cs::AllReduceOp>(op); reduce && parts)
    communication.tail = costs.tailOf(reduce);
  // Pieces begin at cache lines.
  StepProblem::Part part{op, pull, /*unit=*/64, costs.copiesOf(op)};
  part.lastStage = static_cast<unsigned>(communication.stages.size()) - 1;
  if (auto copy = copyBefore.find(op); copy != copyBefore.end())
    part.copyBefore = copy->second;
  if (auto copy = copyBehind.find(pull ? pull : op); copy != copyBehind.end())
    part.copyBehind = copy->second;
  part.block = block;
  if (pull)
    communication.connection = 1 + servers.try_emplace(cs::SendOp(op).getRoleAttr(), servers.size()).first->second;
  if (block && block->divisible) {
    communication.divisible = true;
    part.unit = block->rowBytes;
  }
  result.problem.communications.push_back(std::move(communication));
  result.parts.push_back(part);
}

/// NCCL's stay in device memory.
void ProblemBuilder::addStaging() {
  for (auto [part, communication] : llvm::zip_equal(result.parts, result.problem.communications))
    if (!costs.isNccls(part.op))
      staging.addTo(result.problem, part, communication);
}

/// Of trainers that do not wait for each other: the steps of which one sends gradients.
static std::optional<int64_t> stepsApart(Operation *function) {
  auto servers = function->getAttrOfType<cs::ServersAttr>(cs::CsDialect::kServersAttr);
  if (!servers || servers.getSyncMode() == cs::SyncMode::sync)
    return std::nullopt;
  return servers.getMerge();
}

StepProblem ProblemBuilder::build(BlockFreedom blocks, bool parts, HostCopies hostCopies) {
  freedom = blocks;
  if (blocks.cut || blocks.fuse)
    result.blocks = std::make_shared<const ServerBlocks>(step, blocks.cut);
  result.problem.name = step.function().getName().str();
  result.problem.stepsApart = stepsApart(step.function());
  if (hostCopies == HostCopies::inLine)
    result.hostEngine = staging.costs;
  else // nothing is awaited in line for the next step
    findLate();
  findStreams();
  addBegins();
  addOps();
  addDependences();
  for (Operation *op : step.all())
    addCommunication(op, parts);
  costs.slowDown(result.problem);
  if (hostCopies == HostCopies::overlap)
    addStaging();
  if (copies.any())
    copies.addTo(result);
  return std::move(result);
}

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
                                        BlockFreedom blocks, bool parts, HostCopies hostCopies) {
  StepProblem step =
      ProblemBuilder(communications, cluster, algorithm).build(blocks, parts, hostCopies);
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
