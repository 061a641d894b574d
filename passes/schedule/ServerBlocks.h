// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of parameter servers that can be sent, updated and handed out in parts of rows, or
// several of a server in one message, with the same results.

#ifndef COMMSCHED_PASSES_SCHEDULE_SERVERBLOCKS_H
#define COMMSCHED_PASSES_SCHEDULE_SERVERBLOCKS_H

#include "ir/CsServerFunctions.h"
#include "passes/schedule/StepCommunications.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace commsched {

/// One message up and one down, and what the server does in between: `update` reads what
/// is collected, and nothing else does.
struct ServerBlock {
  cs::SendOp send;
  cs::RecvOp recv;
  cs::CollectOp collect;
  cs::FragmentOp update;
  cs::PublishOp publish;
  /// Whether it may be cut between rows; what follows is of such blocks.
  bool divisible = false;
  /// By input of `update`: whether a part of the block has only its rows. Those are the
  /// block's own: `collect`, and arguments of the function that nothing else reads.
  llvm::SmallVector<bool> isCut;
  /// Arguments and results of the function that are the block's: of `isCut`, and what
  /// `update` makes a new value for.
  llvm::SmallVector<unsigned> arguments, results;
  int64_t rows = 0, rowBytes = 0;
  /// Bytes that a cut keeps together, where its server would have too many parts: whole
  /// rows, and no small part.
  int64_t coarseUnit = 0;

  int64_t bytes() const { return rows * rowBytes; }
  /// Of one server, combined alike, and of one type and place.
  bool sharesMessagesWith(const ServerBlock &other) const;
};

class ServerBlocks {
public:
  /// Each is a function of the server's program; about so many may be.
  static constexpr int64_t kPartsOfServer = 1024;

  /// `cuts`: whether it is looked at which may be cut; else none may.
  explicit ServerBlocks(const StepCommunications &step, bool cuts = true);

  /// The block of a cs.send; null if it must be a message of its own, whole.
  const ServerBlock *of(mlir::Operation *send) const {
    return bySend.lookup(send);
  }

  /// By their messages, in program order.
  llvm::ArrayRef<std::unique_ptr<ServerBlock>> all() const { return blocks; }
  /// Bytes that a block's server gets in a step.
  int64_t loadOf(const ServerBlock &block) const {
    return loads.lookup(cs::FragmentOp(block.update)->getParentOp());
  }

private:
  /// What a server's function carries from step to step.
  struct Carried {
    explicit Carried(mlir::func::FuncOp server);
    llvm::SmallVector<std::optional<unsigned>> resultOf;   // by argument
    llvm::SmallVector<std::optional<unsigned>> argumentOf; // by result
  };
  std::unique_ptr<ServerBlock> find(cs::SendOp send, const StepCommunications &step);
  void findRows(ServerBlock &block);
  bool findCut(ServerBlock &block, const Carried &carried) const;
  bool hasRows(const ServerBlock &block) const;

  std::vector<std::unique_ptr<ServerBlock>> blocks;
  llvm::DenseMap<mlir::Operation *, const ServerBlock *> bySend;
  llvm::DenseMap<mlir::Operation *, int64_t> loads; // by function
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Carried>> servers;
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_SERVERBLOCKS_H
