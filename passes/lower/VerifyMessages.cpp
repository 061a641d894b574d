// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The order of collectives on all ranks, and the two ends of every message.

#include "passes/lower/AffineEval.h"
#include "passes/lower/DistributedModel.h"
#include "passes/support/Module.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

/// The collectives of `rank` that `other` is a member of as well.
static SmallVector<const Communication *>
sharedCollectives(const Role &role, int64_t rank, int64_t other) {
  SmallVector<const Communication *> list;
  for (const Communication &communication : role.of(rank).communications)
    if (communication.kind == Communication::Kind::collective &&
        communication.members.has(rank) && communication.members.has(other))
      list.push_back(&communication);
  return list;
}

/// Compares the collectives that `rank` shares with `other`.
static LogicalResult compareRanks(const Role &role, int64_t other, int64_t rank) {
  SmallVector<const Communication *> first = sharedCollectives(role, other, rank);
  SmallVector<const Communication *> own = sharedCollectives(role, rank, other);
  auto noteOther = [&](InFlightDiagnostic &&diagnostic, Location loc) {
    diagnostic.attachNote(loc) << "rank " << other << " is here";
    return failure();
  };
  // An op that both have, but not of the same members.
  auto compareAgreed = [&](const Communication &a, const Communication &b) {
    if (a.agrees(b))
      return success();
    return noteOther(b.op->emitOpError()
                         << "\"" << b.key << "\" of rank " << rank << " must match "
                         << a.describe() << " of rank " << other
                         << ", got: " << b.describe(),
                     a.op->getLoc());
  };
  const FunctionModel &there = role.of(other), &here = role.of(rank);
  for (size_t i = 0; i < std::max(first.size(), own.size()); ++i) {
    if (i < first.size())
      if (auto it = here.collectives.find(first[i]->key); it != here.collectives.end())
        if (failed(compareAgreed(*first[i], here.communications[it->second])))
          return failure();
    if (i < own.size())
      if (auto it = there.collectives.find(own[i]->key); it != there.collectives.end())
        if (failed(compareAgreed(there.communications[it->second], *own[i])))
          return failure();
    if (i < first.size() && i < own.size() && first[i]->key != own[i]->key)
      return noteOther(own[i]->op->emitOpError()
                           << "rank " << rank << " issues \"" << own[i]->key
                           << "\" where rank " << other << " issues \""
                           << first[i]->key << "\"",
                       first[i]->op->getLoc());
  }
  if (own.size() > first.size()) {
    const Communication &extra = *own[first.size()];
    return noteOther(extra.op->emitOpError() << "rank " << rank << " issues \""
                                             << extra.key << "\", which rank "
                                             << other << " does not",
                     there.function->getLoc());
  }
  if (own.size() < first.size()) {
    const Communication &missing = *first[own.size()];
    return noteOther(here.function->emitOpError()
                         << "rank " << rank << " does not issue \"" << missing.key
                         << "\", which rank " << other << " does",
                     missing.op->getLoc());
  }
  return success();
}

LogicalResult commsched::verifyOrder(const DistributedModel &model) {
  LogicalResult result = success();
  for (const Role &role : model.roles) {
    auto ranks = static_cast<int64_t>(role.functions.size());
    bool anyGroup = llvm::any_of(role.functions, [](const FunctionModel &function) {
      return llvm::any_of(function.communications, [](const Communication &communication) {
        return communication.kind == Communication::Kind::collective &&
               !communication.members.areAll();
      });
    });
    // Where all are members of all, who agrees with rank 0 agrees with everybody.
    for (int64_t rank = 1; rank < ranks; ++rank)
      for (int64_t other = 0; other < (anyGroup ? rank : 1); ++other)
        if (failed(compareRanks(role, other, rank))) {
          result = failure();
          break; // one error for a rank
        }
  }
  return result;
}

namespace {

/// Where one end of a message says that the other is.
struct End {
  bool active;
  int64_t peer;
  const Role *role;
};

/// About this many ends of messages of a function are checked.
constexpr int64_t kMostEnds = int64_t(1) << 20;

class MessageVerifier {
public:
  explicit MessageVerifier(const DistributedModel &model) : model(model) {}

  LogicalResult run(int64_t &count, bool &sampled) {
    for (const Role &role : model.roles) {
      // Of very many ranks of one function, every stride-th.
      int64_t ends = role.of(0).sends.size() + role.of(0).recvs.size();
      int64_t stride =
          role.isUniform() ? 1 + role.ranks * ends / kMostEnds : 1;
      if (ends == 0 && role.isUniform())
        continue;
      int64_t ranks = role.ranks;
      if (model.isSymmetric(role))
        ranks = stride = 1;
      sampled |= stride > 1;
      for (int64_t rank = 0; rank < ranks; rank += stride)
        for (const Communication &communication :
             role.of(rank).communications) {
          if (communication.kind != Communication::Kind::send &&
              communication.kind != Communication::Kind::recv)
            continue;
          FailureOr<End> end = endOf(role, rank, communication);
          if (failed(end))
            return failure();
          // The other end of a message with a server: see verifyServers().
          if (!end->active || end->role->server)
            continue;
          if (failed(verifyOther(role, rank, communication, *end)))
            return failure();
          count += communication.kind == Communication::Kind::send;
        }
    }
    return success();
  }

private:
  FailureOr<End> endOf(const Role &role, int64_t rank,
                       const Communication &communication) {
    AffineMap peerMap;
    std::optional<IntegerSet> when;
    std::optional<StringRef> other;
    Operation *op = communication.inner;
    if (auto send = dyn_cast<SendOp>(op)) {
      peerMap = send.getPeer();
      when = send.getWhen();
      other = send.getRole();
    } else {
      auto recv = cast<RecvOp>(op);
      peerMap = recv.getPeer();
      when = recv.getWhen();
      other = recv.getRole();
    }
    std::optional<bool> active =
        when ? contains(*when, rank, 0) : std::optional<bool>(true);
    std::optional<int64_t> peer =
        evaluate(peerMap.getResult(0), rank, 0);
    if (active && !*active)
      return End{false, 0, nullptr};
    if (!active || !peer)
      return op->emitOpError()
             << "peer of rank " << rank << " has no value: a division by zero "
             << "or an overflow";
    const Role *peerRole = &role;
    std::optional<int64_t> named;
    if (other) {
      func::FuncOp function = model.functions.lookup(*other);
      std::optional<StringRef> name = function ? getRole(function)
                                               : std::optional<StringRef>();
      auto it = name ? model.byName.find(*name) : model.byName.end();
      if (it == model.byName.end())
        return op->emitOpError()
               << "role @" << *other << " is not a function that communicates";
      peerRole = &model.roles[it->second];
      named = getRank(function);
    }
    if (*peer < 0 || *peer >= peerRole->ranks)
      return op->emitOpError()
             << "peer of rank " << rank << " must be a rank of @"
             << peerRole->name << ", 0 to " << peerRole->ranks - 1
             << ", got: " << *peer;
    if (named && *named != *peer)
      return op->emitOpError() << "peer of rank " << rank << " must match @"
                               << *other << ", got: " << *peer;
    if (peerRole == &role && *peer == rank)
      return op->emitOpError()
             << "peer of rank " << rank << " must be another rank, got: itself";
    return End{true, *peer, peerRole};
  }

  LogicalResult verifyOther(const Role &role, int64_t rank,
                            const Communication &communication,
                            const End &end) {
    bool sends = communication.kind == Communication::Kind::send;
    const FunctionModel &function = end.role->of(end.peer);
    const auto &map = sends ? function.recvs : function.sends;
    auto name = [&](const Role &role, int64_t rank) {
      return ("rank " + Twine(rank) + " of @" + role.name).str();
    };
    Operation *op = communication.inner;
    auto it = map.find(communication.key);
    if (it == map.end()) {
      InFlightDiagnostic diagnostic =
          op->emitOpError() << name(role, rank) << (sends ? " sends \"" : " receives \"")
                            << communication.key << "\" "
                            << (sends ? "to " : "from ")
                            << name(*end.role, end.peer) << ", which does not "
                            << (sends ? "receive it" : "send it");
      diagnostic.attachNote(function.function->getLoc())
          << "the peer's function is here";
      return diagnostic;
    }
    const Communication &other = function.communications[it->second];
    FailureOr<End> back = endOf(*end.role, end.peer, other);
    if (failed(back))
      return failure();
    if (!back->active || back->peer != rank || back->role != &role) {
      InFlightDiagnostic diagnostic =
          op->emitOpError() << name(role, rank) << (sends ? " sends \"" : " receives \"")
                            << communication.key << "\" "
                            << (sends ? "to " : "from ")
                            << name(*end.role, end.peer) << ", which ";
      if (!back->active)
        diagnostic << "does not " << (sends ? "receive it" : "send it");
      else
        diagnostic << (sends ? "receives it from " : "sends it to ")
                   << name(*back->role, back->peer);
      diagnostic.attachNote(other.inner->getLoc()) << "the other end is here";
      return diagnostic;
    }
    auto tensor = [](Operation *op) {
      Type type = isa<SendOp>(op) ? op->getOperand(0).getType()
                                  : op->getResult(0).getType();
      return cast<PlacedType>(type).getTensor();
    };
    if (tensor(op) != tensor(other.inner)) {
      InFlightDiagnostic diagnostic =
          op->emitOpError() << "type of \"" << communication.key
                            << "\" must match " << tensor(other.inner)
                            << " of " << name(*end.role, end.peer)
                            << ", got: " << tensor(op);
      diagnostic.attachNote(other.inner->getLoc()) << "the other end is here";
      return diagnostic;
    }
    return success();
  }

  const DistributedModel &model;
};

} // namespace

LogicalResult commsched::verifyMessages(const DistributedModel &model,
                                        int64_t &count, bool &sampled) {
  count = 0;
  sampled = false;
  return MessageVerifier(model).run(count, sampled);
}
