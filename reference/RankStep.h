// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step of all ranks of levels 1 and 2, servers included. A rank goes on until it
// needs what others have not sent or joined yet; then the next one does. Values are
// those of the program whatever that order is, for no value changes once it is there.

#ifndef COMMSCHED_REFERENCE_RANKSTEP_H
#define COMMSCHED_REFERENCE_RANKSTEP_H

#include "reference/Servers.h"

namespace commsched::reference {

/// Which of the ranks that run its function a rank is: they are numbered apart from
/// others where only some run it.
struct Place {
  int64_t first; // rank
  int64_t index, count;
};
/// `functions`: of each rank.
llvm::SmallVector<Place> placesOf(llvm::ArrayRef<mlir::func::FuncOp> functions);

class RankStep {
public:
  /// `functions`: of each rank. `devices`: of a node.
  RankStep(Interpreter &interpreter, llvm::ArrayRef<mlir::func::FuncOp> functions,
           int64_t devices);
  /// One for each argument of the rank's function, in the order of ranks.
  void addRank(llvm::ArrayRef<ArrayPtr> arguments);
  void addServer(mlir::func::FuncOp function, llvm::ArrayRef<ArrayPtr> arguments);

  /// Runs all to the end. Fails with an error at an op, also where ranks wait for each
  /// other for ever, or a message has no receiver.
  llvm::LogicalResult run();
  /// After that, the results of the functions.
  llvm::ArrayRef<ArrayPtr> resultsOfRank(int64_t rank) const { return ranks[rank].results; }
  llvm::ArrayRef<ArrayPtr> resultsOfServer(int64_t server) const {
    return serverResults[server];
  }

private:
  /// A communication of one rank: an op, or those in a cs.start.
  struct Communication {
    mlir::Operation *at = nullptr; // the op, or the start
    std::string key;
    llvm::SmallVector<mlir::Operation *, 2> ops;
    llvm::DenseMap<mlir::Value, ArrayPtr> values;
    bool done = false;
  };
  using CommunicationPtr = std::shared_ptr<Communication>;
  struct Rank {
    int64_t rank = 0;
    mlir::Operation *next = nullptr; // null: at the end
    llvm::DenseMap<mlir::Value, ArrayPtr> values;
    llvm::DenseMap<mlir::Value, CommunicationPtr> futures;
    CommunicationPtr begun; // `next`, if it is a communication that waits
    llvm::SmallVector<ArrayPtr> results;
  };

  /// Goes on as far as it can; whether that was anything.
  llvm::FailureOr<bool> advance(Rank &rank);
  /// Evaluates `rank.next`; false: it has to wait.
  llvm::FailureOr<bool> step(Rank &rank);
  llvm::LogicalResult begin(Rank &rank, const CommunicationPtr &communication);
  /// Begins a collective, or exchanges, of which `op` is one.
  llvm::LogicalResult join(Rank &rank, const CommunicationPtr &communication,
                           mlir::Operation *op);
  llvm::FailureOr<bool> finish(Rank &rank, Communication &communication);
  /// What ranks do together: all, or those of a group.
  struct Joint {
    llvm::SmallVector<int64_t> members;         // among the ranks that run the function
    llvm::SmallVector<CommunicationPtr> joined; // by member, null: not yet
  };
  llvm::LogicalResult runTogether(const Joint &joint);
  llvm::LogicalResult send(Rank &rank, mlir::Operation *op,
                           const Communication &communication);
  llvm::FailureOr<bool> receive(Rank &rank, mlir::Operation *op,
                                Communication &communication);
  llvm::LogicalResult fetch(mlir::Operation *op, Communication &communication);
  llvm::LogicalResult fragment(Rank &rank, mlir::Operation *op,
                               llvm::ArrayRef<ArrayPtr> operands);

  /// The rank that `peer` maps `rank` to, among those that run `role`; nothing if that is
  /// a server's.
  std::optional<int64_t> peerOf(const Rank &rank, mlir::AffineMap peer,
                                std::optional<llvm::StringRef> role);

  Interpreter &interpreter;
  llvm::SmallVector<mlir::func::FuncOp> functions;
  llvm::SmallVector<Place> places; // of each rank
  int64_t devices;
  llvm::SmallVector<Rank> ranks;
  llvm::SmallVector<std::pair<std::string, std::unique_ptr<ServerStep>>> servers;
  llvm::SmallVector<llvm::SmallVector<ArrayPtr>> serverResults;
  std::map<std::pair<int64_t, std::string>, Joint> joints; // by function's first rank, key
  Messages messages;
};

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_RANKSTEP_H
