// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Both ends of the messages between trainers and parameter servers. Between
// other roles a message has one sender; a server hears all trainers.

#include "passes/lower/AffineEval.h"
#include "passes/lower/DistributedModel.h"
#include "passes/support/Module.h"

#include <map>
#include <vector>

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

static LogicalResult findTrainers(DistributedModel &model) {
  Operation *first = nullptr;
  for (auto [index, role] : llvm::enumerate(model.roles)) {
    for (const FunctionModel &function : role.functions) {
      auto servers = function.function->getAttrOfType<ServersAttr>(
          CsDialect::kServersAttr);
      if (!servers)
        continue;
      if (!first) {
        first = function.function;
        model.trainers = index;
        model.servers = servers;
        continue;
      }
      if (model.trainers == index && servers == model.servers)
        continue;
      InFlightDiagnostic diagnostic = function.function->emitOpError();
      if (model.trainers != index)
        diagnostic << "is the second program with parameter servers";
      else
        diagnostic << "'" << CsDialect::kServersAttr << "' must match "
                   << model.servers << " of rank 0, got: " << servers;
      diagnostic.attachNote(first->getLoc()) << "the first is here";
      return diagnostic;
    }
  }
  for (const Role &role : model.roles)
    if (role.server && !model.servers)
      return role.of(0).function->emitOpError()
             << "is a parameter server's, but no function has '"
             << CsDialect::kServersAttr << "'";
  return success();
}

/// One function for each of the servers.
static LogicalResult verifyIndices(const DistributedModel &model) {
  if (!model.servers)
    return success();
  std::map<int64_t, Operation *> byIndex;
  int64_t count = model.servers.getCount();
  for (const Role &role : model.roles) {
    if (!role.server)
      continue;
    Operation *function = role.of(0).function;
    if (*role.server >= count)
      return function->emitOpError()
             << "'" << CsDialect::kServerAttr
             << "' must be below the number of servers, " << count
             << ", got: " << *role.server;
    auto [it, isNew] = byIndex.try_emplace(*role.server, function);
    if (!isNew) {
      InFlightDiagnostic diagnostic = function->emitOpError()
                                      << "is the second function of server "
                                      << *role.server;
      diagnostic.attachNote(it->second->getLoc()) << "the first is here";
      return diagnostic;
    }
  }
  for (int64_t index = 0; index < count; ++index)
    if (!byIndex.count(index))
      return model.roles[*model.trainers].functions.front().function->emitOpError()
             << "has " << count << " parameter servers, but no function has '"
             << CsDialect::kServerAttr << "' = " << index;
  return success();
}

/// Each row of a parameter, and of a state that is cut into rows, is on one
/// server.
static LogicalResult verifyRows(const DistributedModel &model) {
  struct Part {
    int64_t begin, end;
    int64_t server;
    Operation *function;
  };
  std::map<std::string, std::vector<Part>> parts; // by name
  auto rowsOf = [](Type type) -> int64_t {
    auto placed = dyn_cast<PlacedType>(type);
    if (!placed || placed.getTensor().getRank() == 0)
      return 1;
    return placed.getTensor().getDimSize(0);
  };
  auto nameOf = [](func::FuncOp function, unsigned i, StringRef attr) {
    return function.getArgAttrOfType<StringAttr>(i, attr);
  };
  for (const Role &role : model.roles) {
    if (!role.server)
      continue;
    auto function = cast<func::FuncOp>(role.of(0).function);
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
      auto rows = function.getArgAttrOfType<DenseI64ArrayAttr>(
          i, CsDialect::kRowsAttr);
      StringAttr name = nameOf(function, i, CsDialect::kParamAttr);
      if (!name && rows)
        name = nameOf(function, i, CsDialect::kStateAttr);
      if (name)
        parts[name.str()].push_back({rows ? rows[0] : 0,
                                     rows ? rows[1] : rowsOf(type),
                                     *role.server, function});
    }
  }
  for (auto &[name, list] : parts) {
    llvm::stable_sort(list, [](const Part &a, const Part &b) {
      return std::pair(a.begin, a.server) < std::pair(b.begin, b.server);
    });
    int64_t next = 0;
    const Part *before = nullptr;
    for (const Part &part : list) {
      if (part.begin < next) {
        InFlightDiagnostic diagnostic =
            part.function->emitOpError()
            << "holds row " << part.begin << " of \"" << name
            << "\", which is server " << before->server << "'s";
        diagnostic.attachNote(before->function->getLoc()) << "which is here";
        return diagnostic;
      }
      if (part.begin > next)
        return part.function->emitOpError()
               << "holds \"" << name << "\" from row " << part.begin
               << " on, but no server holds row " << next;
      next = part.end;
      before = &part;
    }
    auto trainer = cast<func::FuncOp>(
        model.roles[*model.trainers].functions.front().function);
    for (auto [i, type] : llvm::enumerate(trainer.getArgumentTypes())) {
      StringAttr own = nameOf(trainer, i, CsDialect::kParamAttr);
      if (own && own.getValue() == name && rowsOf(type) != next)
        return trainer.emitOpError()
               << "has " << rowsOf(type) << " rows of \"" << name
               << "\", but servers hold " << next;
    }
  }
  return success();
}

namespace {

class ServerVerifier {
public:
  explicit ServerVerifier(const DistributedModel &model) : model(model) {}

  LogicalResult run(int64_t &count) {
    count = 0;
    for (const Role &role : model.roles)
      if (!role.server)
        for (int64_t rank : ranksOf(role))
          for (const Communication &communication :
               role.of(rank).communications)
            if (failed(verifyMessage(role, rank, communication, count)))
              return failure();
    if (model.trainers)
      trainerRanks = ranksOf(trainers());
    for (const Role &role : model.roles)
      if (role.server)
        for (const Communication &communication : role.of(0).communications)
          if (failed(verifyServersEnd(role, communication)))
            return failure();
    return success();
  }

private:
  using Kind = Communication::Kind;

  /// The ranks that are to be looked at: if all run one function, one stands
  /// for all but for `when`.
  static std::vector<int64_t> ranksOf(const Role &role) {
    bool same = role.isUniform();
    if (same)
      for (const Communication &communication : role.of(0).communications)
        if (communication.inner && communication.inner->hasAttr("when"))
          same = false;
    std::vector<int64_t> ranks(same ? 1 : role.ranks);
    for (size_t i = 0; i < ranks.size(); ++i)
      ranks[i] = static_cast<int64_t>(i);
    return ranks;
  }

  const Role &trainers() const { return model.roles[*model.trainers]; }

  static std::string nameOf(const Role &role, int64_t rank) {
    return ("rank " + Twine(rank) + " of @" + role.name).str();
  }

  static bool takesPart(Operation *message, int64_t rank) {
    auto when = message->getAttrOfType<IntegerSetAttr>("when");
    return !when || contains(when.getValue(), rank, 0).value_or(false);
  }

  static Type tensorOf(Operation *message) {
    Value value = message->getNumResults() ? message->getResult(0)
                                           : message->getOperand(0);
    return cast<PlacedType>(value.getType()).getTensor();
  }

  static StringRef roleNameOf(Operation *message) {
    auto role = message->getAttrOfType<FlatSymbolRefAttr>("role");
    return role ? role.getValue() : StringRef();
  }

  /// A trainer's end: the server that it names has the other.
  LogicalResult verifyMessage(const Role &role, int64_t rank,
                              const Communication &communication,
                              int64_t &count) {
    bool sends = communication.kind == Kind::send;
    if (!sends && communication.kind != Kind::recv)
      return success();
    Operation *op = communication.inner;
    StringRef name = roleNameOf(op);
    const Role *server = name.empty() ? nullptr : model.find(name);
    if (!server || !server->server || !takesPart(op, rank))
      return success();
    count += rank == 0;
    const FunctionModel &function = server->of(0);
    const auto &map = sends ? function.collects : function.publishes;
    auto complain = [&]() {
      InFlightDiagnostic diagnostic = op->emitOpError();
      diagnostic << nameOf(role, rank) << (sends ? " sends \"" : " receives \"")
                 << communication.key << "\" " << (sends ? "to @" : "from @")
                 << server->name << ", which ";
      return diagnostic;
    };
    auto it = map.find(communication.key);
    if (it == map.end()) {
      InFlightDiagnostic diagnostic = complain();
      diagnostic << "does not " << (sends ? "collect it" : "publish it");
      diagnostic.attachNote(function.function->getLoc())
          << "the server's function is here";
      return diagnostic;
    }
    Operation *other = function.communications[it->second].inner;
    if (model.find(roleNameOf(other)) != &role) {
      InFlightDiagnostic diagnostic = complain();
      diagnostic << (sends ? "collects it from @" : "publishes it to @")
                 << roleNameOf(other);
      diagnostic.attachNote(other->getLoc()) << "the other end is here";
      return diagnostic;
    }
    // A list of elements is added into what the server collects.
    CoordinatesAttr lists = sends ? CoordinatesAttr::of(tensorOf(op)) : nullptr;
    if (lists && cast<CollectOp>(other).getReduction()) {
      auto message = cast<RankedTensorType>(tensorOf(op));
      if (lists.getDense() == tensorOf(other) && message.getDimSize(0) == 1 &&
          !lists.getCounted())
        return success();
      InFlightDiagnostic diagnostic =
          op->emitOpError() << "\"" << communication.key << "\" must be one list, without a "
                            << "count, of " << tensorOf(other) << " of @" << server->name
                            << ", got: " << message;
      diagnostic.attachNote(other->getLoc()) << "the other end is here";
      return diagnostic;
    }
    if (tensorOf(op) != tensorOf(other)) {
      InFlightDiagnostic diagnostic =
          op->emitOpError() << "type of \"" << communication.key
                            << "\" must match " << tensorOf(other) << " of @"
                            << server->name << ", got: " << tensorOf(op);
      diagnostic.attachNote(other->getLoc()) << "the other end is here";
      return diagnostic;
    }
    return success();
  }

  /// A server's end: all trainers have the other.
  LogicalResult verifyServersEnd(const Role &server,
                                 const Communication &communication) {
    Operation *op = communication.inner;
    // Rows of tables: see verifyRowMessages().
    if (communication.kind == Kind::updateRows)
      return success();
    if (auto publish = dyn_cast<PublishOp>(op))
      if (publish.getValue().getDefiningOp<UpdateRowsOp>())
        return success();
    bool collects = communication.kind == Kind::collect;
    StringRef name = roleNameOf(op);
    if (model.find(name) != &trainers())
      return op->emitOpError()
             << "must name the trainers, @" << trainers().name << ", got: @"
             << name;
    if (auto collect = dyn_cast<CollectOp>(op);
        collect && failed(verifyMode(collect)))
      return failure();
    for (int64_t rank : trainerRanks) {
      const FunctionModel &function = trainers().of(rank);
      const auto &map = collects ? function.sends : function.recvs;
      auto it = map.find(communication.key);
      Operation *other = it == map.end()
                             ? nullptr
                             : function.communications[it->second].inner;
      if (other && takesPart(other, rank) && !roleNameOf(other).empty() &&
          model.find(roleNameOf(other)) == &server)
        continue;
      InFlightDiagnostic diagnostic = op->emitOpError();
      diagnostic << "@" << server.name
                 << (collects ? " collects \"" : " publishes \"")
                 << communication.key << "\" " << (collects ? "from " : "to ")
                 << nameOf(trainers(), rank) << ", which ";
      if (!other || !takesPart(other, rank))
        diagnostic << "does not " << (collects ? "send it" : "receive it");
      else
        diagnostic << (collects ? "sends it to @" : "receives it from @")
                   << (roleNameOf(other).empty() ? trainers().name
                                                 : roleNameOf(other));
      diagnostic.attachNote(other ? other->getLoc()
                                  : function.function->getLoc())
          << (other ? "the other end is here" : "the trainer is here");
      return diagnostic;
    }
    return success();
  }

  LogicalResult verifyMode(CollectOp collect) {
    SyncMode mode = model.servers.getSyncMode();
    bool sync = mode == SyncMode::sync;
    if (sync != collect.getReduction().has_value())
      return collect.emitOpError()
             << "must " << (sync ? "combine what all trainers send" : "take each message by itself")
             << " in mode " << stringifySyncMode(mode) << ", got: "
             << (sync ? StringRef("each")
                      : stringifyReduction(*collect.getReduction()));
    return success();
  }

  const DistributedModel &model;
  std::vector<int64_t> trainerRanks; // to be looked at
};

} // namespace

LogicalResult commsched::verifyServers(DistributedModel &model) {
  if (failed(findTrainers(model)))
    return failure();
  if (failed(verifyIndices(model)))
    return failure();
  return model.servers ? verifyRows(model) : success();
}

LogicalResult commsched::verifyServerMessages(const DistributedModel &model,
                                              int64_t &count) {
  return ServerVerifier(model).run(count);
}
