// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds the graph of what waits for what on all ranks, as if every await
// blocked its rank: then no execution that does less waiting can hang. To wait for a
// part of a message is less: it is there when all of it is, at the latest.
//
// Nodes: the events of every rank, and for every collective of a role its
// completion. Waits: an event waits for the one before it on its rank; a
// collective completes when all its members have begun it; a recv when its peer has
// begun the send; a send when its peer has begun the recv; an await, or a
// beginning with `after`, waits for a completion.
//
// A parameter server takes what is sent at once, so that a send to it does not
// wait. It runs its blocks in any order: a publish waits for the collects that
// it depends on, a collect for the sends of all trainers, a recv for the
// publish; in the asynchronous modes a recv waits for its own trainer's sends.
// A fetch of rows waits for sends of the step before.
//
// A communicator of NCCL takes collectives by their numbers: one completes only when that of the
// number before on its lane has. Their kernels run on one stream.
//
// Of ranks that may be exchanged for each other one stands for all: forgetting
// which rank an event is of makes a circle of any circle, and a circle of these
// events is one of each rank's own, as every wait is there for every rank.

#include "ir/CsServerFunctions.h"
#include "passes/lower/AffineEval.h"
#include "passes/lower/DistributedModel.h"
#include "passes/lower/WaitGraph.h"
#include "passes/support/Module.h"

#include <map>

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

namespace {

/// Beyond this many nodes the graph is not built.
constexpr int64_t kMostNodes = int64_t(1) << 22;

class WaitVerifier {
public:
  explicit WaitVerifier(const DistributedModel &model) : model(model) {}

  LogicalResult run(WaitProof &proof) {
    // One function for all ranks and no messages: what an await waits for was
    // begun before it on all ranks, in the same order.
    proof = WaitProof::byConstruction;
    if (!model.hasMessages && !hasNccl() &&
        llvm::all_of(model.roles,
                     [](const Role &role) { return role.isUniform(); }))
      return success();
    proof = WaitProof::tooLarge;
    if (!layOut())
      return success();
    proof = WaitProof::byGraph;
    WaitGraph graph(static_cast<WaitGraph::Node>(nodeCount));
    for (auto [index, role] : llvm::enumerate(model.roles))
      for (int64_t rank = 0; rank < ranks[index]; ++rank)
        addRank(graph, index, rank);
    for (unsigned role = 0; role < model.roles.size(); ++role)
      addLanes(graph, role);
    std::vector<WaitGraph::Node> cycle = graph.findCycle();
    if (cycle.empty())
      return success();
    return report(cycle);
  }

private:
  bool hasNccl() const {
    return llvm::any_of(model.roles, [](const Role &role) {
      return llvm::any_of(role.of(0).communications,
                          [](const Communication &communication) { return communication.nccl(); });
    });
  }

  /// Ranks agree in the numbers: verifyOrder() and verifyNccl() hold.
  void addLanes(WaitGraph &graph, unsigned role) {
    std::map<std::pair<int64_t, int64_t>, int64_t> numbered; // lane and number
    for (const Communication &communication : model.roles[role].of(0).communications)
      if (NcclAttr nccl = communication.nccl()) {
        int64_t node = completionOf(role, communication);
        numbered[{nccl.getLane(), nccl.getNumber()}] = node;
        inLanes[node] = &communication;
      }
    for (auto [place, node] : numbered)
      if (place.second > 0)
        graph.addWait(node, numbered.at({place.first, place.second - 1}));
  }

  /// Numbers the nodes; false if there are too many.
  bool layOut() {
    for (const Role &role : model.roles) {
      std::vector<int64_t> &begin = rankBegin.emplace_back();
      ranks.push_back(model.isSymmetric(role) ? 1 : role.ranks);
      for (int64_t rank = 0; rank < ranks.back(); ++rank) {
        begin.push_back(nodeCount);
        nodeCount += static_cast<int64_t>(role.of(rank).events.size());
        if (nodeCount > kMostNodes)
          return false;
      }
      completion.push_back(nodeCount);
      nodeCount += static_cast<int64_t>(role.collectives.size());
    }
    return nodeCount <= kMostNodes;
  }

  /// The event in which `rank` begins a communication.
  int64_t beginning(unsigned role, int64_t rank, unsigned communication) {
    const FunctionModel &function = model.roles[role].of(rank);
    auto [it, isNew] = beginnings.try_emplace(&function);
    if (isNew) {
      it->second.resize(function.communications.size());
      for (auto [i, event] : llvm::enumerate(function.events))
        if (!event.isWait)
          it->second[event.communication] = i;
    }
    return rankBegin[role][rank] + it->second[communication];
  }

  int64_t completionOf(unsigned role, const Communication &collective) {
    return completion[role] + model.roles[role].collectives.lookup(collective.key);
  }

  /// Lets `node` of `rank` wait for the completion of one of its
  /// communications.
  void waitFor(WaitGraph &graph, int64_t node, unsigned role, int64_t rank,
               unsigned index) {
    const FunctionModel &function = model.roles[role].of(rank);
    const Communication &communication = function.communications[index];
    if (communication.kind == Communication::Kind::collective) {
      if (communication.members.has(rank))
        graph.addWait(node, completionOf(role, communication));
      return;
    }
    graph.addWait(node, beginning(role, rank, index));
    if (communication.kind == Communication::Kind::copy)
      return; // waits for nobody
    // A fetch of rows waits for what was sent in the steps before, and servers
    // take what is sent at once.
    if (communication.kind == Communication::Kind::fetchRows ||
        communication.kind == Communication::Kind::sendRows)
      return;
    auto [peerRole, peer] = peerOf(role, rank, communication);
    if (peer < 0)
      return; // takes no part
    const FunctionModel &other = model.roles[peerRole].of(peer);
    bool sends = communication.kind == Communication::Kind::send;
    if (model.roles[peerRole].server) {
      if (!sends)
        waitForServer(graph, node, role, rank, peerRole,
                      other.publishes.lookup(communication.key));
      return;
    }
    unsigned end =
        (sends ? other.recvs : other.sends).lookup(communication.key);
    graph.addWait(node, beginning(peerRole, peer, end));
  }

  /// Lets `node`, a trainer's, wait for what server `server` publishes.
  void waitForServer(WaitGraph &graph, int64_t node, unsigned role,
                     int64_t rank, unsigned server, unsigned publish) {
    if (model.servers.getSyncMode() == SyncMode::sync) {
      graph.addWait(node, beginning(server, 0, publish));
      return;
    }
    const FunctionModel &function = model.roles[role].of(rank);
    for (unsigned collect : collectsOf(server, publish))
      graph.addWait(
          node, beginning(role, rank,
                          function.sends.lookup(model.roles[server]
                                                    .of(0)
                                                    .communications[collect]
                                                    .key)));
  }

  /// The collects that a publish of a server depends on.
  std::vector<unsigned> collectsOf(unsigned server, unsigned publish) {
    const FunctionModel &function = model.roles[server].of(0);
    auto it = dependences.find(server);
    if (it == dependences.end())
      it = dependences
               .try_emplace(server, ServerDependences(cast<FunctionOpInterface>(
                                        function.function)))
               .first;
    std::vector<unsigned> collects;
    for (CollectOp collect :
         it->second.of(function.communications[publish].op))
      collects.push_back(function.collects.lookup(collect.getKey()));
    return collects;
  }

  void addServer(WaitGraph &graph, unsigned server) {
    const FunctionModel &function = model.roles[server].of(0);
    unsigned trainers = *model.trainers;
    for (unsigned i = 0; i < function.communications.size(); ++i) {
      const Communication &communication = function.communications[i];
      int64_t node = beginning(server, 0, i);
      if (communication.kind == Communication::Kind::publish) {
        for (unsigned collect : collectsOf(server, i))
          graph.addWait(node, beginning(server, 0, collect));
        continue;
      }
      // Nobody waits for an update of rows in the same step.
      if (model.servers.getSyncMode() != SyncMode::sync ||
          communication.kind == Communication::Kind::updateRows)
        continue;
      const Role &role = model.roles[trainers];
      for (int64_t rank = 0; rank < ranks[trainers]; ++rank)
        graph.addWait(node, beginning(trainers, rank,
                                      role.of(rank).sends.lookup(
                                          communication.key)));
    }
  }

  /// Role and rank of the peer; rank -1 if `rank` does not take part.
  /// verifyMessages() holds, so that it exists.
  std::pair<unsigned, int64_t> peerOf(unsigned role, int64_t rank,
                                      const Communication &communication) {
    auto resolve = [&](auto op) -> std::pair<unsigned, int64_t> {
      if (op.getWhen() && !*contains(*op.getWhen(), rank, 0))
        return {role, -1};
      unsigned peerRole = role;
      if (op.getRole())
        peerRole = model.byName.lookup(*getRole(model.functions.lookup(*op.getRole())));
      return {peerRole, *evaluate(op.getPeer().getResult(0), rank, 0)};
    };
    if (auto send = dyn_cast<SendOp>(communication.inner))
      return resolve(send);
    return resolve(cast<RecvOp>(communication.inner));
  }

  void addRank(WaitGraph &graph, unsigned role, int64_t rank) {
    if (model.roles[role].server)
      return addServer(graph, role);
    const FunctionModel &function = model.roles[role].of(rank);
    for (auto [i, event] : llvm::enumerate(function.events)) {
      int64_t node = rankBegin[role][rank] + int64_t(i);
      if (i > 0)
        graph.addWait(node, node - 1);
      const Communication &communication =
          function.communications[event.communication];
      if (event.isWait) {
        waitFor(graph, node, role, rank, event.communication);
        continue;
      }
      if (communication.kind == Communication::Kind::collective &&
          communication.members.has(rank))
        graph.addWait(completionOf(role, communication), node);
      if (auto start = dyn_cast<StartOp>(event.op))
        for (Value future : start.getAfter())
          waitFor(graph, node, role, rank,
                  function.starts.lookup(future.getDefiningOp()));
    }
  }

  /// An event of the graph as (role, rank, event); nothing for completions.
  struct Place {
    unsigned role;
    int64_t rank;
    const Event *event;
  };
  std::optional<Place> placeOf(int64_t node) const {
    for (unsigned role = 0; role < model.roles.size(); ++role) {
      if (node >= completion[role])
        continue;
      const std::vector<int64_t> &begin = rankBegin[role];
      // The last completion block before this role ends where begin[0] is.
      if (node < begin.front())
        return std::nullopt;
      int64_t rank =
          std::upper_bound(begin.begin(), begin.end(), node) - begin.begin() -
          1;
      return Place{role, rank,
                   &model.roles[role].of(rank).events[node - begin[rank]]};
    }
    return std::nullopt;
  }

  const Communication &communicationOf(const Place &place) const {
    return model.roles[place.role]
        .of(place.rank)
        .communications[place.event->communication];
  }

  static bool isWaiting(const std::optional<Place> &place) {
    return place && (place->event->isWait || hasAfter(*place));
  }

  LogicalResult report(const std::vector<WaitGraph::Node> &cycle) {
    std::optional<InFlightDiagnostic> diagnostic;
    unsigned notes = 0;
    // From the first wait on, so that it is the error.
    size_t begin = 0;
    while (!isWaiting(placeOf(cycle[begin])))
      ++begin;
    bool collected = false; // the node before is a server's collect
    const Communication *awaitedTurn = nullptr, *lastTurn = nullptr;
    for (size_t i = 0; i < cycle.size(); ++i) {
      const WaitGraph::Node node = cycle[(begin + i) % cycle.size()];
      std::optional<Place> place = placeOf(node);
      // From the one that is awaited through the numbers before it to one that has not begun.
      const Communication *turn = inLanes.lookup(node);
      if (turn && !awaitedTurn)
        awaitedTurn = turn;
      if (const Communication *last = std::exchange(lastTurn, turn); last && !turn) {
        const Communication *first = std::exchange(awaitedTurn, nullptr);
        if (first != last && diagnostic && ++notes <= 8)
          diagnostic->attachNote(last->op->getLoc())
              << "which NCCL takes as number " << first->nccl().getNumber() << ", behind \""
              << last->key << "\", number " << last->nccl().getNumber() << ", which begins here";
      }
      bool awaitsSend = std::exchange(
          collected, place && model.roles[place->role].server &&
                         communicationOf(*place).kind ==
                             Communication::Kind::collect);
      if (place && awaitsSend && diagnostic && ++notes <= 8)
        diagnostic->attachNote(place->event->op->getLoc())
            << "which needs \"" << communicationOf(*place).key
            << "\", sent here by rank " << place->rank << " of @"
            << model.roles[place->role].name;
      if (!isWaiting(place))
        continue;
      const Role &role = model.roles[place->role];
      const Communication &communication = communicationOf(*place);
      std::string who = ("rank " + Twine(place->rank) + " of @" + role.name +
                         " waits here for \"" + awaited(*place, communication) +
                         "\"")
                            .str();
      if (!diagnostic) {
        diagnostic.emplace(place->event->op->emitOpError()
                           << "communications wait for each other in a circle: "
                           << who);
      } else if (++notes <= 8) {
        diagnostic->attachNote(place->event->op->getLoc())
            << "while " << who;
      }
    }
    return failure();
  }

  static bool hasAfter(const Place &place) {
    auto start = dyn_cast<StartOp>(place.event->op);
    return start && !start.getAfter().empty();
  }

  /// What a place of a cycle waits for.
  static std::string awaited(const Place &place,
                             const Communication &communication) {
    if (place.event->isWait)
      return communication.key.str();
    auto start = cast<StartOp>(place.event->op);
    return start.getAfter()
        .front()
        .getDefiningOp<StartOp>()
        .getKey()
        .str();
  }

  const DistributedModel &model;
  int64_t nodeCount = 0;
  std::vector<int64_t> ranks;                  // of each role, that are looked at
  std::vector<std::vector<int64_t>> rankBegin; // [role][rank]
  std::vector<int64_t> completion;             // [role]
  llvm::DenseMap<const FunctionModel *, std::vector<int64_t>> beginnings;
  std::map<unsigned, ServerDependences> dependences;      // by role
  llvm::DenseMap<int64_t, const Communication *> inLanes; // by completion
};

} // namespace

LogicalResult commsched::verifyWaits(const DistributedModel &model,
                                     WaitProof &proof) {
  return WaitVerifier(model).run(proof);
}
