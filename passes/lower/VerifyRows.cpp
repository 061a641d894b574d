// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rows of tables (docs/row-sparse.md): what trainers fetch and send of a block,
// and the server's update of it.

#include "ir/CsServerFunctions.h"
#include "passes/lower/DistributedModel.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

namespace {

/// What cs.fetch_rows and cs.send_rows have in common.
struct RowMessage {
  Operation *op;
  StringRef key;
  ArrayAttr servers;
  ArrayRef<int64_t> offsets;
  RankedTensorType rows;

  explicit RowMessage(Operation *op) : op(op) {
    auto read = [&](auto message, PlacedType type) {
      key = message.getKey();
      servers = message.getServers();
      offsets = message.getOffsets();
      rows = type.getTensor();
    };
    if (auto fetch = dyn_cast<FetchRowsOp>(op))
      read(fetch, fetch.getResult().getType());
    else
      read(cast<SendRowsOp>(op), cast<SendRowsOp>(op).getValues().getType());
  }

  bool sends() const { return isa<SendRowsOp>(op); }
  size_t blocks() const { return servers.size(); }
  StringRef server(size_t block) const {
    return cast<FlatSymbolRefAttr>(servers[block]).getValue();
  }
  /// What the server holds of a block.
  RankedTensorType blockType(size_t block) const {
    SmallVector<int64_t> shape(rows.getShape());
    shape[0] = offsets[block + 1] - offsets[block];
    return RankedTensorType::get(shape, rows.getElementType());
  }
};

class RowVerifier {
public:
  explicit RowVerifier(const DistributedModel &model) : model(model) {}

  LogicalResult run(int64_t &count) {
    for (auto [index, role] : llvm::enumerate(model.roles))
      for (const FunctionModel &function : role.functions) {
        if (function.fetches.empty() && function.rowSends.empty() &&
            function.updates.empty())
          continue;
        if (!model.servers)
          return function.function->emitOpError()
                 << "has rows of tables, but no function has '"
                 << CsDialect::kServersAttr << "'";
        if (failed(role.server ? verifyServer(role, function)
                               : verifyTrainer(role, function)))
          return failure();
        if (!role.server && &function == &role.functions.front())
          count += function.fetches.size() + function.rowSends.size();
      }
    return success();
  }

private:
  using Kind = Communication::Kind;

  const Role &trainers() const { return model.roles[*model.trainers]; }

  LogicalResult verifyTrainer(const Role &role, const FunctionModel &function) {
    for (const Communication &communication : function.communications) {
      if (communication.kind != Kind::fetchRows &&
          communication.kind != Kind::sendRows)
        continue;
      RowMessage message(communication.inner);
      if (&role != &trainers())
        return message.op->emitOpError()
               << "must be in the program of the trainers, @" << trainers().name;
      for (size_t block = 0; block < message.blocks(); ++block)
        if (failed(verifyBlock(message, block)))
          return failure();
      if (!message.sends())
        continue;
      auto fetch = function.fetches.find(communication.key);
      if (fetch != function.fetches.end() &&
          failed(verifyPair(function.communications[fetch->second],
                            communication)))
        return failure();
    }
    return success();
  }

  /// The server of a block has its update.
  LogicalResult verifyBlock(const RowMessage &message, size_t block) {
    std::string key = getBlockKey(message.key, block, message.blocks());
    auto complain = [&] {
      InFlightDiagnostic diagnostic = message.op->emitOpError();
      diagnostic << "rows " << message.offsets[block] << " to "
                 << message.offsets[block + 1] - 1 << " of \"" << message.key
                 << "\" must be those of \"" << key << "\" on @"
                 << message.server(block) << ", which ";
      return diagnostic;
    };
    const Role *server = model.find(message.server(block));
    if (!server || !server->server)
      return complain() << "is no parameter server";
    const FunctionModel &function = server->of(0);
    auto it = function.updates.find(key);
    if (it == function.updates.end()) {
      InFlightDiagnostic diagnostic = complain();
      diagnostic << "does not update it";
      diagnostic.attachNote(function.function->getLoc())
          << "the server's function is here";
      return diagnostic;
    }
    auto update =
        cast<UpdateRowsOp>(function.communications[it->second].inner);
    auto own = cast<PlacedType>(update.getRows()[0].getType()).getTensor();
    if (own != message.blockType(block)) {
      InFlightDiagnostic diagnostic = complain();
      diagnostic << "has " << own << " there, got: " << message.blockType(block);
      diagnostic.attachNote(update.getLoc()) << "the other end is here";
      return diagnostic;
    }
    return success();
  }

  /// Both of one table, in one program: the blocks are the same, and rows are
  /// sent when those of the step are there.
  LogicalResult verifyPair(const Communication &fetch,
                           const Communication &send) {
    RowMessage first(fetch.inner), second(send.inner);
    auto complain = [&](const Twine &what) -> LogicalResult {
      InFlightDiagnostic diagnostic = second.op->emitOpError(what);
      diagnostic.attachNote(first.op->getLoc()) << "the cs.fetch_rows is here";
      return diagnostic;
    };
    if (first.servers != second.servers || first.offsets != second.offsets)
      return complain("must have the blocks of the cs.fetch_rows of \"" +
                      second.key + "\"");
    auto isBehind = [&] {
      if (!fetch.isStart())
        return fetch.op->isBeforeInBlock(send.op);
      auto future = cast<StartOp>(fetch.op).getFuture();
      if (auto start = dyn_cast<StartOp>(send.op))
        if (llvm::is_contained(start.getAfter(), future))
          return true;
      return llvm::any_of(future.getUsers(), [&](Operation *user) {
        return isa<AwaitOp>(user) && user->isBeforeInBlock(send.op);
      });
    };
    if (!isBehind())
      return complain("must wait for the cs.fetch_rows of \"" + second.key +
                      "\", which gets what the steps before have left");
    return success();
  }

  /// All trainers send the rows of each block of a server.
  LogicalResult verifyServer(const Role &server, const FunctionModel &function) {
    for (const Communication &communication : function.communications) {
      auto update = dyn_cast_or_null<UpdateRowsOp>(communication.inner);
      if (!update)
        continue;
      if (model.find(update.getRole()) != &trainers())
        return update.emitOpError()
               << "must name the trainers, @" << trainers().name << ", got: @"
               << update.getRole();
      SyncMode mode = model.servers.getSyncMode();
      if ((mode == SyncMode::sync) != update.getReduction().has_value())
        return update.emitOpError()
               << "must "
               << (mode == SyncMode::sync ? "combine what all trainers send"
                                          : "take each message by itself")
               << " in mode " << stringifySyncMode(mode);
      for (auto [rank, trainer] : llvm::enumerate(trainers().functions))
        if (!isSent(trainer, server, update.getKey())) {
          InFlightDiagnostic diagnostic = update.emitOpError()
                                          << "@" << server.name << " updates \""
                                          << update.getKey() << "\", which rank "
                                          << rank << " of @" << trainers().name
                                          << " does not send";
          diagnostic.attachNote(trainer.function->getLoc())
              << "the trainer is here";
          return diagnostic;
        }
    }
    return success();
  }

  bool isSent(const FunctionModel &trainer, const Role &server, StringRef key) {
    for (const Communication &communication : trainer.communications) {
      if (communication.kind != Kind::sendRows)
        continue;
      RowMessage message(communication.inner);
      for (size_t block = 0; block < message.blocks(); ++block)
        if (message.server(block) == server.name &&
            getBlockKey(message.key, block, message.blocks()) == key)
          return true;
    }
    return false;
  }

  const DistributedModel &model;
};

} // namespace

LogicalResult commsched::verifyRowMessages(const DistributedModel &model,
                                           int64_t &count) {
  return RowVerifier(model).run(count);
}
