// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/StepCosts.h"

#include "ir/CsSparseOps.h"
#include "passes/lower/ExchangeAlgorithms.h"
#include "passes/support/LeastTime.h"
#include "passes/support/LinkCosts.h"
#include "passes/support/Module.h"
#include "plan/packets.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commsched;
using schedule::Stage;
using schedule::Time;

/// The link that collectives use.
static constexpr StringRef kInter = "inter";

/// Whether all-reduces are by halving and doubling. Of a power of two it sends the same bytes as a ring in
/// fewer rounds. Of another number it sends all of the tensor twice in addition: worth it for the
/// smallest messages only, so the ring is counted.
static bool halves(StringRef algorithm, int64_t ranks) {
  return ranks > 2 && (algorithm == "halving-doubling" ||
                       (algorithm == "auto" && llvm::isPowerOf2_64(ranks)));
}

CollectiveCost commsched::halfOfAllReduce(StringRef algorithm, int64_t ranks,
                                          int64_t bytes) {
  auto part = [&](int64_t of) { // of - 1 of `of` equal parts
    return static_cast<int64_t>(
        (static_cast<__int128>(bytes) * (of - 1) + of - 1) / of);
  };
  auto share = [&](int64_t of) { return std::min(part(ranks), (bytes + of - 1) / of); };
  if (!halves(algorithm, ranks))
    return {part(ranks), ranks - 1, share(ranks)};
  int64_t rounds = llvm::Log2_64(ranks);
  int64_t core = int64_t{1} << rounds;
  if (core == ranks)
    return {part(core), rounds, share(2)};
  // Last, those that did not take part get all of it. Each direction of a link has all of it once only: who stands in for
  // another one gets it before, and sends it behind.
  return {part(core) + bytes, rounds + 1, bytes, bytes - bytes / 2};
}

/// What an all-reduce takes at least, whatever --expand-collectives makes of its messages: so many messages of a link, one
/// after the other, and latencies. Few bytes may go by another algorithm than the one that is counted. Where ranks are no power of
/// two, one of them stands in for another, which is a message more.
static CollectiveLeast leastOfAllReduce(StringRef algorithm, cs::Reduction reduction, int64_t ranks) {
  if (algorithm == "ring")
    return {2 * (ranks - 1), 2};
  const int64_t rounds = llvm::Log2_64(ranks), folds = llvm::isPowerOf2_64(ranks) ? 0 : 1;
  if (algorithm == "auto" && (reduction == cs::Reduction::sum || reduction == cs::Reduction::mean)) // recursive doubling
    return {rounds + folds, std::min<int64_t>(2, rounds + folds)};
  return {2 * rounds + folds, 2};
}

StepCosts::StepCosts(const StepCommunications &step, cs::ClusterOp cluster,
                     StringRef algorithm)
    : step(step), cluster(cluster), algorithm(algorithmWithoutNccl(algorithm)),
      ranks(getRankCount(step.function(), cluster)),
      overhead(overheadOf(cluster.getInter())),
      latency(cluster.getInter().getLatencyNs()),
      avoidableOverhead(overhead - cluster.leastOverhead()),
      avoidableLatency(latency - cluster.leastLatency()) {
  // A trainer's link carries its own bytes to all servers, a server's those of all trainers to it. Only one of them
  // is looked at, the busier one. With as many trainers as servers that is a server's, whatever is on the way: where a
  // trainer's is busy for as long in a step, it is while it sends to all servers, and a block is there when all
  // trainers' are. The bound is that of the link that is looked at, which holds.
  int64_t total = 0;
  llvm::MapVector<Operation *, int64_t> loads;
  for (Operation *op : step.all())
    if (auto send = dyn_cast<cs::SendOp>(op)) {
      int64_t bytes = bytesOf(send.getValue());
      total += bytes;
      ++sends;
      loads[step.serverOf(op)] += bytes;
    }
  sentBytes = total;
  servers = static_cast<int64_t>(loads.size());
  const bool all = ranks > 1 && ranks >= servers;
  for (auto [server, bytes] : loads)
    if (all || static_cast<__int128>(bytes) * ranks > total)
      narrow.insert(server);
  findBusiest();
  if (algorithm == NcclLink::kName)
    nccl.emplace(step, cluster, ranks);
}

int64_t StepCosts::ranksOf(Operation *collective) const {
  const cs::Members *group = step.groupOf(collective);
  return group ? group->size() : ranks;
}

bool StepCosts::takesPart(Operation *collective) const {
  const cs::Members *group = step.groupOf(collective);
  return !group || (group->has(busiest) && group->size() > 1);
}

void StepCosts::findBusiest() {
  std::vector<double> bytes(ranks);
  for (Operation *op : step.all())
    if (const cs::Members *group = step.groupOf(op))
      for (int64_t i = 0; i < group->size(); ++i)
        if (group->rankAt(i) < ranks)
          bytes[group->rankAt(i)] += static_cast<double>(bytesOf(op->getOperand(0))) *
                                     static_cast<double>(group->size() - 1) /
                                     static_cast<double>(group->size());
  busiest = std::max_element(bytes.begin(), bytes.end()) - bytes.begin();
}

Time StepCosts::durationOf(cs::FragmentOp fragment) const {
  std::optional<cs::CostAttr> cost = fragment.getCost();
  return cost ? cost->nanosecondsOn(cs::ClusterOp(cluster).getDevice())
              : 0;
}

Time StepCosts::avoidableOf(cs::FragmentOp fragment) const {
  const Time duration = durationOf(fragment);
  return duration - leastNsOf(fragment, duration);
}

int64_t StepCosts::widthOf(Value value) {
  RankedTensorType type = cast<cs::PlacedType>(value.getType()).getTensor();
  return (type.getElementTypeBitWidth() + 7) / 8; // a bit takes a byte
}

int64_t StepCosts::bytesOf(Value value) {
  RankedTensorType type = cast<cs::PlacedType>(value.getType()).getTensor();
  return type.getNumElements() * widthOf(value);
}

unsigned StepCosts::linkOf(schedule::Problem &problem, StringRef name) {
  auto [known, isNew] =
      links.try_emplace(name, static_cast<unsigned>(problem.links.size()));
  if (!isNew)
    return known->second;
  schedule::Link &link = problem.links.emplace_back();
  link.name = name.str();
  link.bytesPerSecond = name == NcclLink::kName
                            ? nccl->bytesPerSecond()
                            : cluster.getInter().getMbitPerS() * (1'000'000 / 8);
  // A message is off the link's hands when it is sent.
  link.creditUntilSent = true;
  if (name != kInter && name != NcclLink::kName) { // to servers
    link.byConnection = true;
    const int64_t each = name == "up" || name == "down" ? 1 : ranks; // connections that a message goes through
    link.packetBytes = each * static_cast<int64_t>(plan::ServerPacketBytes(
                                  schedule::transferTime(link, plan::kLargePacket), std::max(ranks, servers)));
    link.aheadBytes = each * static_cast<int64_t>(plan::kSocketBytes);
  }
  if (name == kInter)
    setRounds(link);
  return known->second;
}

void StepCosts::setRounds(schedule::Link &link) const {
  // Of so many rounds it takes seconds to judge a step of a hundred tensors.
  constexpr int64_t kMostRounds = 63;
  if (ranks == 2) { // a round for each half, with the one peer that there is
    link.packetBytes = static_cast<int64_t>(
        plan::PacketBytes(schedule::transferTime(link, plan::kLargePacket)));
    link.aheadBytes = plan::kSocketBytes;
  } else if (!halves(algorithm, ranks)) {
    if (ranks < 2 || ranks - 1 > kMostRounds)
      return;
    link.rounds = static_cast<unsigned>(ranks - 1);
  } else if (!llvm::isPowerOf2_64(ranks) && cs::ClusterOp(cluster).getDevices() == 1) {
    // Some nodes stand in for others, which no rounds here do: in order, with one device, that is nearer.
    return;
  } else {
    link.peers = llvm::Log2_64(ranks);
  }
  // The largest message that goes by recursive doubling.
  const Collective sum{CollectiveKind::allReduce, cs::Reduction::sum};
  for (int64_t step = int64_t{1} << 30; step > 0; step /= 2)
    if (chooseExchanges(algorithm, sum, ranks, link.onceBytes + step, cs::ClusterOp(cluster).getInter()).chosen == ExchangeAlgorithm::recursiveDoubling)
      link.onceBytes += step;
}

/// Each round is a message: it occupies the link for the overhead and its bytes, and
/// the next one follows when it is there. The link sends other messages meanwhile, and other slices
/// of the same one (plan/slices.h): of a long message no latency need show but that of the last round.
Stage StepCosts::message(unsigned link, CollectiveCost cost) const {
  const Time least = latency - avoidableLatency;
  return {link,
          cost.bytes,
          overhead * cost.rounds,
          latency * cost.rounds,
          /*update=*/0,
          avoidableOverhead * cost.rounds,
          avoidableLatency * cost.rounds + least * std::max<int64_t>(0, cost.rounds - 1),
          cost.avoidableBytes};
}

/// Bounds count no more than `least` of it.
Stage StepCosts::countingLess(Stage stage, CollectiveLeast least) const {
  stage.avoidableOverhead = stage.overhead - (overhead - avoidableOverhead) * least.rounds;
  stage.avoidableLatency = stage.latency - (latency - avoidableLatency) * least.latencies;
  return stage;
}

int64_t StepCosts::copiesOf(Operation *message) const {
  if (!isa<cs::SendOp, cs::RecvOp>(message))
    return 1;
  return narrow.contains(step.serverOf(message)) ? ranks : 1;
}

Stage StepCosts::messageTo(Operation *op, bool up, schedule::Problem &problem) {
  Value value = up ? Value(cast<cs::SendOp>(op).getValue()) : op->getResult(0);
  std::string name = up ? "up" : "down";
  if (FunctionOpInterface server = step.serverOf(op); narrow.contains(server))
    name = (server.getName() + (up ? ".in" : ".out")).str();
  const int64_t many = copiesOf(op);
  Stage stage = message(linkOf(problem, name), {bytesOf(value) * many, 1});
  stage.overhead *= many;
  stage.avoidableOverhead *= many;
  return stage;
}

/// Ids go to the servers, rows come back; or both go.
std::vector<Stage> StepCosts::rowsOf(Operation *op, schedule::Problem &problem) {
  if (auto fetch = dyn_cast<cs::FetchRowsOp>(op))
    return {message(linkOf(problem, "up"), {bytesOf(fetch.getIds()), 1}),
            message(linkOf(problem, "down"), {bytesOf(fetch.getResult()), 1})};
  auto send = cast<cs::SendRowsOp>(op);
  return {message(linkOf(problem, "up"),
                  {bytesOf(send.getIds()) + bytesOf(send.getValues()), 1})};
}

void StepCosts::setUpdate(Stage &stage, Operation *pull) const {
  auto recv = cast<cs::RecvOp>(pull);
  cs::PublishOp publish = step.publishOf(recv);
  if (!publish)
    return;
  Value value = publish.getValue();
  SmallVector<Value> made = {value};
  if (auto pack = value.getDefiningOp<cs::PackOp>())
    made = llvm::to_vector(pack.getPieces());
  llvm::SmallDenseSet<Operation *> updates;
  for (Value piece : made)
    if (auto update = piece.getDefiningOp<cs::FragmentOp>();
        update && updates.insert(update).second) {
      stage.update += durationOf(update);
      stage.avoidableUpdate += avoidableOf(update);
    }
}

int64_t StepCosts::mostBytesToFuse() const {
  // Read and written by the trainer, and by the server. A GB/s is a byte in a ns.
  constexpr double kTimes = 4;
  // What is fused waits for the last of it, in a run for longer than in the problem: a trainer's messages must take the
  // link a hundredth of what their bytes do.
  constexpr double kPart = 0.01;
  const double bytesTake =
      static_cast<double>(sentBytes) * 8e3 / static_cast<double>(cs::ClusterOp(cluster).getInter().getMbitPerS());
  if (static_cast<double>(sends) * static_cast<double>(overhead) < kPart * bytesTake)
    return 0;
  auto rate = static_cast<double>(cs::ClusterOp(cluster).getDevice().getGbPerS());
  return static_cast<int64_t>(std::min(static_cast<double>(overhead) * rate / kTimes, 0x1p60));
}

std::vector<Stage> StepCosts::stagesOf(Operation *op, Operation *pull,
                                       schedule::Problem &problem) {
  if (isa<cs::FetchRowsOp, cs::SendRowsOp>(op))
    return rowsOf(op, problem);
  if (isa<cs::RecvOp>(op)) {
    Stage stage = messageTo(op, /*up=*/false, problem);
    setUpdate(stage, op);
    return {stage};
  }
  if (isa<cs::SendOp>(op)) {
    std::vector<Stage> stages = {messageTo(op, /*up=*/true, problem)};
    if (pull) {
      setUpdate(stages.front(), pull);
      stages.push_back(messageTo(pull, /*up=*/false, problem));
    }
    return stages;
  }
  if (isNccls(op))
    return {nccl->stageOf(op, linkOf(problem, NcclLink::kName))};
  unsigned link = linkOf(problem, kInter);
  // Of what has no elements nothing is sent.
  if (!takesPart(op) || ranksOf(op) < 2 || (op->getNumOperands() != 0 && bytesOf(op->getOperand(0)) == 0))
    return std::vector<Stage>(isa<cs::AllReduceOp>(op) ? 2 : 1, message(link, {0, 0}));
  const int64_t ranks = ranksOf(op);
  int64_t bytes = bytesOf(op->getOperand(0));
  if (isa<cs::AllGatherOp>(op))
    bytes = bytesOf(op->getResult(0));
  Stage half = message(link, halfOfAllReduce(algorithm, ranks, bytes));
  if (auto reduce = dyn_cast<cs::AllReduceOp>(op)) {
    const CollectiveLeast least = leastOfAllReduce(algorithm, reduce.getReduction(), ranks);
    return {countingLess(half, {least.rounds / 2, least.latencies - 1}),
            countingLess(half, {least.rounds - least.rounds / 2, 1})};
  }
  if (isa<cs::ReduceScatterOp, cs::AllGatherOp>(op))
    return {half};
  if (isa<cs::PairExchangeOp>(op))
    return {message(link, {(bytes + 1) / 2, 1})};
  if (isa<cs::AllToAllOp>(op)) // half of it, but for the rank's own part
    return {message(link, {bytes / 2 / ranks * (ranks - 1), ranks - 1})};
  // Reduce and broadcast: a tree, whose root sends or gets all of it every round.
  int64_t rounds = llvm::Log2_64_Ceil(ranks);
  return {message(link, {bytes * rounds, rounds})};
}

int64_t StepCosts::tailOf(cs::AllReduceOp op) const {
  if (!takesPart(op) || ranksOf(op) < 2 || isNccls(op))
    return 0;
  return halfOfAllReduce(algorithm, ranksOf(op), bytesOf(op.getValue())).tail;
}

/// Compute takes `slowdown_percent` longer while the node communicates: of a step in
/// which links are busy with bytes for L, it loses L s / (1 + s), but not more than s of
/// itself. Which ops lose it depends on the schedule; all get their part.
void StepCosts::slowDown(schedule::Problem &problem) const {
  auto percent =
      static_cast<int64_t>(cs::ClusterOp(cluster).getSlowdownPercent());
  if (percent == 0)
    return;
  std::vector<double> busy(problem.links.size());
  for (const schedule::Communication &communication : problem.communications)
    for (const Stage &stage : communication.stages)
      busy[stage.link] += static_cast<double>(stage.bytes) * 1e9 /
                          static_cast<double>(problem.links[stage.link].bytesPerSecond);
  std::vector<double> compute(problem.streams);
  for (const schedule::Op &op : problem.ops)
    compute[op.stream] += static_cast<double>(op.duration);
  double longest = busy.empty() ? 0 : *llvm::max_element(busy);
  double slowdown = static_cast<double>(percent) / 100;
  for (schedule::Op &op : problem.ops) {
    if (op.duration == op.shared) // copies in line
      continue;
    double lost = std::min(slowdown, longest / compute[op.stream] * slowdown /
                                         (1 + slowdown));
    op.shared = static_cast<Time>(static_cast<double>(op.duration) * lost);
    op.duration += op.shared;
    // Less compute loses less.
    op.avoidable = std::min(op.duration, op.avoidable + static_cast<Time>(std::ceil(static_cast<double>(op.avoidable) * lost)));
  }
}
