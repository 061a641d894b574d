// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/DistributedModel.h"

#include "ir/CsServerFunctions.h"
#include "passes/support/Module.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

namespace {

class FunctionReader {
public:
  FunctionReader(func::FuncOp function, int64_t ranks)
      : function(function), ranks(ranks),
        symbols(function->getParentOfType<ModuleOp>()) {
    model.function = function;
  }

  LogicalResult read(unsigned &futures) {
    if (!function.getBody().hasOneBlock())
      return function.emitOpError(
          "must have one block: branches may differ between ranks");
    Block &body = function.getBody().front();
    if (failed(verifyNesting(&body)))
      return failure();
    bool onServer = getServerIndex(function).has_value();
    for (Operation &op : body) {
      if (onServer && isa<CommunicationOpInterface, StartOp, AwaitOp>(op) &&
          !isa<CollectOp, PublishOp, UpdateRowsOp>(op))
        return op.emitOpError("must not be in the function of a server, which "
                              "only collects and publishes");
      LogicalResult done =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case([&](StartOp start) { return readStart(start, futures); })
              .Case([&](AwaitOp await) { return readAwait(await); })
              .Case<CollectOp, PublishOp, UpdateRowsOp>([&](auto message) {
                return add(message, message, message.getKey());
              })
              .Case([&](CommunicationOpInterface) {
                return readOutside(&op);
              })
              .Default(success());
      if (failed(done))
        return failure();
    }
    return success();
  }

  FunctionModel model;

private:
  /// Communications elsewhere than at the top of the function might happen on
  /// some ranks only, or several times.
  LogicalResult verifyNesting(Block *body) {
    WalkResult walked = function.walk([&](Operation *op) {
      if (auto call = dyn_cast<func::CallOp>(op)) {
        auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        if (callee && isDistributed(callee)) {
          call.emitOpError() << "calls @" << call.getCallee()
                             << ", which communicates; inline it first";
          return WalkResult::interrupt();
        }
      }
      if (!isa<CommunicationOpInterface, StartOp, AwaitOp>(op))
        return WalkResult::advance();
      Operation *parent = op->getParentOp();
      if (op->getBlock() == body ||
          (isa<StartOp>(parent) && parent->getBlock() == body))
        return WalkResult::advance();
      op->emitOpError("must be at the top of its function: in a region it may "
                      "not happen exactly once on every rank");
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

  LogicalResult readStart(StartOp start, unsigned &futures) {
    for (Value future : start.getAfter())
      if (failed(verifyFuture(start, future)))
        return failure();
    AwaitOp await;
    for (Operation *user : start.getFuture().getUsers()) {
      if (isa<StartOp>(user))
        continue;
      auto other = dyn_cast<AwaitOp>(user);
      if (!other)
        return user->emitOpError("must not use a future");
      if (await) {
        // Users come last first.
        if (await->isBeforeInBlock(other))
          std::swap(await, other);
        InFlightDiagnostic diagnostic = await.emitOpError()
                                        << "awaits \"" << start.getKey()
                                        << "\" a second time";
        diagnostic.attachNote(other.getLoc()) << "the first time is here";
        return diagnostic;
      }
      await = other;
    }
    if (!await)
      return start.emitOpError()
             << "\"" << start.getKey() << "\" is never awaited";
    ++futures;

    Operation *inner = nullptr;
    for (Operation &op : start.getBody().front())
      if (isa<CommunicationOpInterface, CopyOp>(op))
        inner = &op;
    if (inner) {
      if (failed(verifyRanks(inner)))
        return failure();
    } else if (failed(verifyChain(start))) {
      return failure();
    }
    return add(start, inner, start.getKey());
  }

  LogicalResult readAwait(AwaitOp await) {
    if (failed(verifyFuture(await, await.getFuture())))
      return failure();
    auto start = await.getFuture().getDefiningOp<StartOp>();
    model.events.push_back({true, model.starts.lookup(start), await});
    return success();
  }

  LogicalResult readOutside(Operation *op) {
    if (failed(verifyRanks(op)))
      return failure();
    auto communication = cast<CommunicationOpInterface>(op);
    if (failed(add(op, op, communication.getCommunicationKey())))
      return failure();
    // Without cs.start, a communication is waited for where it is; sends are
    // buffered.
    if (!isa<SendOp, SendRowsOp>(op))
      model.events.push_back(
          {true, unsigned(model.communications.size()) - 1, op});
    return success();
  }

  LogicalResult verifyFuture(Operation *op, Value future) {
    if (future.getDefiningOp<StartOp>())
      return success();
    return op->emitOpError("uses a future that no cs.start of this function "
                           "makes");
  }

  LogicalResult add(Operation *op, Operation *inner, StringRef key) {
    using Kind = Communication::Kind;
    Kind kind =
        inner ? llvm::TypeSwitch<Operation *, Kind>(inner)
                    .Case([](SendOp) { return Kind::send; })
                    .Case([](RecvOp) { return Kind::recv; })
                    .Case([](CollectOp) { return Kind::collect; })
                    .Case([](PublishOp) { return Kind::publish; })
                    .Case([](CopyOp) { return Kind::copy; })
                    .Case([](FetchRowsOp) { return Kind::fetchRows; })
                    .Case([](SendRowsOp) { return Kind::sendRows; })
                    .Case([](UpdateRowsOp) { return Kind::updateRows; })
                    .Default(Kind::collective)
              : Kind::collective;
    unsigned index = model.communications.size();
    // A send and a recv of one key may be the two ends of a message; rows of a
    // table are sent and fetched under its name.
    auto taken = [&](const llvm::StringMap<unsigned> &map) -> LogicalResult {
      auto it = map.find(key);
      if (it == map.end())
        return success();
      InFlightDiagnostic diagnostic =
          op->emitOpError() << "uses the key \"" << key
                            << "\", which must be unique in the function";
      diagnostic.attachNote(model.communications[it->second].op->getLoc())
          << "the other use is here";
      return diagnostic;
    };
    std::pair<Kind, llvm::StringMap<unsigned> *> maps[] = {{Kind::collective, &model.collectives},
                                                           {Kind::collect, &model.collects},
                                                           {Kind::publish, &model.publishes},
                                                           {Kind::copy, &model.copies},
                                                           {Kind::updateRows, &model.updates},
                                                           {Kind::send, &model.sends},
                                                           {Kind::recv, &model.recvs},
                                                           {Kind::sendRows, &model.rowSends},
                                                           {Kind::fetchRows, &model.fetches}};
    auto otherEnd = [](Kind kind) {
      return kind == Kind::send        ? Kind::recv
             : kind == Kind::recv      ? Kind::send
             : kind == Kind::sendRows  ? Kind::fetchRows
             : kind == Kind::fetchRows ? Kind::sendRows
                                       : Kind::collective;
    };
    llvm::StringMap<unsigned> *own = nullptr;
    for (auto [other, map] : maps) {
      if (other == kind)
        own = map;
      bool mayShare = other != Kind::collective && other == otherEnd(kind);
      if (!mayShare && failed(taken(*map)))
        return failure();
    }
    auto &map = *own;
    map[key] = index;
    Members members;
    if (kind == Kind::collective) {
      // Those of a chain of exchanges are all of one group.
      FailureOr<Members> found =
          membersOf(inner ? inner : &cast<StartOp>(op).getBody().front().front());
      if (failed(found))
        return failure();
      members = *found;
    }
    model.communications.push_back({op, inner, kind, key, members});
    model.events.push_back({false, index, op});
    if (isa<StartOp>(op))
      model.starts[op] = index;
    return success();
  }

  /// Exchanges work on each other's results, between an unshard at most at the
  /// beginning and a shard at most at the end.
  LogicalResult verifyChain(StartOp start) {
    Block &body = start.getBody().front();
    Operation *previous = nullptr;
    for (Operation &op : body) {
      Value value = op.getOperand(0);
      if (previous ? value != previous->getResult(0)
                   : !isa<BlockArgument>(value))
        return op.emitOpError(
            "must work on the result of the operation before it");
      if (isa<ReturnOp>(op))
        break;
      if (isa<UnshardOp>(op) && previous)
        return op.emitOpError("must come first");
      if (isa<ShardOp>(op) && !isa<ReturnOp>(op.getNextNode()))
        return op.emitOpError("must come last");
      if (previous && getGroupName(previous) != getGroupName(&op))
        return op.emitOpError("must be in the same group as the operation before it");
      if (failed(verifyRanks(&op)))
        return failure();
      previous = &op;
    }
    return success();
  }

  FailureOr<Members> membersOf(Operation *op) {
    FlatSymbolRefAttr name = getGroupName(op);
    auto known = groups.find(name);
    if (known != groups.end())
      return known->second;
    FailureOr<Members> members = Members::of(op, ranks);
    if (succeeded(members))
      groups[name] = *members;
    return members;
  }

  LogicalResult verifyRanks(Operation *op) {
    FailureOr<Members> members = membersOf(op);
    if (failed(members))
      return failure();
    if (isa<ReduceOp, BroadcastOp>(op)) {
      int64_t root = op->getAttrOfType<IntegerAttr>("root").getInt();
      if (!members->has(root) && !members->areAll())
        return op->emitOpError() << "root must be in " << getGroupName(op)
                                 << ", got: " << root;
      if (!members->has(root))
        return op->emitOpError() << "root must be below the number of ranks, "
                                 << ranks << ", got: " << root;
    }
    if (!isa<ReduceScatterOp, AllGatherOp, ShardOp, UnshardOp>(op))
      return success();
    auto rows = [](Type type) {
      return cast<PlacedType>(type).getTensor().getDimSize(0);
    };
    int64_t whole = rows(op->getOperand(0).getType());
    int64_t part = rows(op->getResult(0).getType());
    if (isa<AllGatherOp, UnshardOp>(op))
      std::swap(whole, part);
    int64_t count = members->size();
    if (whole % count != 0 || whole / count != part)
      return op->emitOpError()
             << "dimension 0 of the whole must be " << count
             << " (ranks) times the part's, got: " << whole << " and " << part;
    return success();
  }

  func::FuncOp function;
  int64_t ranks;
  llvm::DenseMap<Attribute, Members> groups; // by name
  SymbolTable symbols;
};

} // namespace

static void numberCollectives(Role &role) {
  for (const FunctionModel &function : role.functions)
    for (const Communication &communication : function.communications)
      if (communication.kind == Communication::Kind::collective)
        role.collectives.try_emplace(communication.key, role.collectives.size());
}

FailureOr<DistributedModel> commsched::buildModel(ModuleOp module) {
  DistributedModel model;
  // Functions of single ranks, until all of a role are known.
  std::vector<llvm::MapVector<int64_t, FunctionModel>> single;
  ClusterOp cluster;
  for (auto function : module.getOps<func::FuncOp>()) {
    model.functions.try_emplace(function.getName(), function);
    if (!isDistributed(function))
      continue;
    if (!cluster) {
      FailureOr<ClusterOp> found = findCluster(module);
      if (failed(found))
        return failure();
      cluster = *found;
    }
    std::optional<StringRef> name = getRole(function);
    std::optional<int64_t> rank = getRank(function);
    if (!name)
      return function.emitOpError()
             << "with cs.rank = " << *rank << " must have a name that ends in "
             << getRankName("", *rank);
    int64_t ranks = getRankCount(function, cluster);
    if (rank && *rank >= ranks)
      return function.emitOpError() << "cs.rank must be below the number of "
                                       "ranks, "
                                    << ranks << ", got: " << *rank;
    FunctionReader reader(function, ranks);
    if (failed(reader.read(model.futures)))
      return failure();
    model.hasMessages |=
        !reader.model.sends.empty() || !reader.model.recvs.empty();

    auto [it, isNew] = model.byName.try_emplace(*name, model.roles.size());
    if (isNew) {
      model.roles.push_back(
          {*name, ranks, {}, !rank, getServerIndex(function)});
      single.emplace_back();
    }
    Role &role = model.roles[it->second];
    if (!isNew && (role.uniform || !rank))
      return function.emitOpError()
             << "belongs to @" << *name
             << ", which has a function for all ranks and one for a single one";
    if (role.ranks != ranks)
      return function.emitOpError() << "must have as many ranks as others of @"
                                    << *name << ", " << role.ranks
                                    << ", got: " << ranks;
    if (!rank)
      role.functions.push_back(std::move(reader.model));
    else
      single[it->second].insert({*rank, std::move(reader.model)});
  }
  for (auto [role, functions] : llvm::zip(model.roles, single)) {
    if (role.uniform) {
      numberCollectives(role);
      continue;
    }
    for (int64_t rank = 0; rank < role.ranks; ++rank) {
      auto it = functions.find(rank);
      if (it == functions.end())
        return functions.front().second.function->emitOpError()
               << "has no counterpart for rank " << rank << ": @"
               << getRankName(role.name, rank) << " is missing";
      role.functions.push_back(std::move(it->second));
    }
    numberCollectives(role);
  }
  return model;
}

bool DistributedModel::isSymmetric(const Role &role) const {
  if (!role.isUniform())
    return false;
  return llvm::all_of(role.of(0).communications, [&](const Communication &communication) {
    if (communication.kind == Communication::Kind::collective)
      return communication.members.areAll();
    Operation *op = communication.inner;
    if (op && op->hasAttr("when"))
      return false;
    auto toServer = [&](auto message) {
      const Role *peer = message.getRole() ? find(*message.getRole()) : nullptr;
      return peer && peer->server && message.getPeer().isSingleConstant();
    };
    if (auto send = dyn_cast_or_null<SendOp>(op))
      return toServer(send);
    if (auto recv = dyn_cast_or_null<RecvOp>(op))
      return toServer(recv);
    return true;
  });
}

const Role *DistributedModel::find(StringRef name) const {
  if (func::FuncOp function = functions.lookup(name))
    name = getRole(function).value_or(name);
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &roles[it->second];
}
