// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --verify-distributed needs to know of a module: which function each rank
// of each role runs, and what communications it issues and awaits, in order.

#ifndef COMMSCHED_PASSES_LOWER_DISTRIBUTEDMODEL_H
#define COMMSCHED_PASSES_LOWER_DISTRIBUTEDMODEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/lower/Communication.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <vector>

namespace commsched {

/// An entry of the function's order: a communication begins, or is waited for.
struct Event {
  bool isWait;
  unsigned communication;
  mlir::Operation *op;
};

struct FunctionModel {
  mlir::Operation *function;                           // a func.func
  std::vector<Communication> communications;           // in issue order
  std::vector<Event> events;                           // in program order
  llvm::StringMap<unsigned> sends, recvs, collectives; // by key
  llvm::StringMap<unsigned> collects, publishes;       // by key, of a server
  llvm::StringMap<unsigned> copies;                    // by key; between memories of the node
  /// By key, of tables: a trainer's messages, and a server's blocks.
  llvm::StringMap<unsigned> fetches, rowSends, updates;
  llvm::DenseMap<mlir::Operation *, unsigned> starts; // by cs.start
};

/// The ranks that run one program.
struct Role {
  llvm::StringRef name;
  int64_t ranks;
  /// One model for all ranks, or one per rank.
  std::vector<FunctionModel> functions;

  bool isUniform() const { return uniform; }
  const FunctionModel &of(int64_t rank) const {
    return functions[uniform ? 0 : rank];
  }
  bool uniform = true;
  /// The index of the parameter server that runs it.
  std::optional<int64_t> server;
  /// By key, the number of each collective that some rank issues.
  llvm::StringMap<unsigned> collectives;
};

struct DistributedModel {
  std::vector<Role> roles;          // in order of appearance
  llvm::StringMap<unsigned> byName; // of a role
  unsigned futures = 0;             // awaited exactly once
  bool hasMessages = false;         // any send or recv
  /// The role of the trainers, and what it says of its parameter servers.
  std::optional<unsigned> trainers;
  cs::ServersAttr servers;

  llvm::StringMap<mlir::func::FuncOp> functions; // of the module, by name

  /// The role that messages call `name`: that of the function of this name, or,
  /// if there is one function per rank, what it was made from.
  const Role *find(llvm::StringRef name) const;

  /// True if a rank of `role` may be exchanged for any other: all run one
  /// function, take part in all of it, and send messages to parameter servers
  /// only. Then what is proved of rank 0 holds for each.
  bool isSymmetric(const Role &role) const;
};

/// Collects the model and checks what concerns one function alone: awaits,
/// keys, and what must fit the number of ranks. Errors are reported.
llvm::FailureOr<DistributedModel> buildModel(mlir::ModuleOp module);

/// The collectives of NCCL have numbers 0, 1, 2, ... on each lane, and are of all nodes. That
/// ranks agree in them is of the order below.
llvm::LogicalResult verifyNccl(const DistributedModel &model);

/// Any two ranks of a role issue the collectives that they share in the same order.
llvm::LogicalResult verifyOrder(const DistributedModel &model);

/// Every send has its recv, and the reverse. `count`: pairs checked; `sampled`:
/// there are more.
llvm::LogicalResult verifyMessages(const DistributedModel &model,
                                   int64_t &count, bool &sampled);

/// Every parameter server has one function, and every row of a parameter is on
/// one server. Finds the trainers.
llvm::LogicalResult verifyServers(DistributedModel &model);

/// What trainers send to parameter servers is collected there, and what servers
/// publish is received. After the above, and verifyMessages(). `count`: messages
/// of one trainer checked.
llvm::LogicalResult verifyServerMessages(const DistributedModel &model,
                                         int64_t &count);

/// The same of rows of tables. Every block has one cs.update_rows, of its key,
/// rows and type; a trainer sends no rows before it has those of the step.
/// After verifyServers(). `count`: messages of one trainer, added to.
llvm::LogicalResult verifyRowMessages(const DistributedModel &model,
                                      int64_t &count);

struct ExchangeCounts {
  int64_t sequences = 0; // communications made of exchanges
  int64_t distinct = 0;  // different ones among them
  int64_t proved = 0;    // proved to compute their collective
  int64_t sampled = 0;   // not all (rank, round) checked
};

/// Exchanges of all ranks match, and compute what they were expanded from.
llvm::LogicalResult verifyExchanges(const DistributedModel &model,
                                    ExchangeCounts &counts);

enum class WaitProof {
  byConstruction,
  byGraph,
  tooLarge
};

/// Nobody waits in a circle.
llvm::LogicalResult verifyWaits(const DistributedModel &model,
                                WaitProof &proof);

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_DISTRIBUTEDMODEL_H
