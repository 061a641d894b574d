// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function of level 1 communicates, which messages depend on each other
// through parameter servers, and which compute needs each of them first.

#ifndef COMMSCHED_PASSES_SCHEDULE_STEPCOMMUNICATIONS_H
#define COMMSCHED_PASSES_SCHEDULE_STEPCOMMUNICATIONS_H

#include "ir/CsGroups.h"
#include "ir/CsServerFunctions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace commsched {

/// When a value is needed: in this step or the next (then by which carried
/// argument), and where in the order of compute.
struct Need {
  enum When {
    ThisStep,
    NextStep,
    Report
  } when = Report;
  unsigned place = 0; // of the fragment in its block
  cs::FragmentOp fragment;
  llvm::StringRef carried;
  bool operator<(const Need &other) const {
    return std::pair(when, place) < std::pair(other.when, other.place);
  }
};

class StepCommunications {
public:
  using Operations = llvm::SmallVector<mlir::Operation *, 1>;

  /// `func` has one block.
  explicit StepCommunications(mlir::func::FuncOp func) : func(func) {}

  /// An error at what is scheduled already, or cannot be. Moves each cs.concat to
  /// its first use: joining blocks is no use of them yet.
  mlir::LogicalResult analyze();

  /// In program order.
  llvm::ArrayRef<mlir::Operation *> all() const { return communications; }
  /// Whose a collective of a cs.group is; null for one of all nodes.
  const cs::Members *groupOf(mlir::Operation *op) const {
    auto known = groups.find(op);
    return known == groups.end() ? nullptr : &known->second;
  }
  /// Of an op of the block, before anything is moved or added.
  unsigned placeOf(mlir::Operation *op) const { return places.lookup(op); }
  /// The first use of the results in the block; its terminator without any.
  mlir::Operation *firstUserOf(mlir::Operation *op) const;
  /// Of a communication, or a deferred fragment: its results.
  Need needOf(mlir::Operation *op) const { return opNeeds.lookup(op); }
  /// The sends whose update a recv from a server receives, and the reverse.
  Operations sendsOf(mlir::Operation *recv) const { return sends.lookup(recv); }
  Operations recvsOf(mlir::Operation *send) const { return recvs.lookup(send); }
  /// The server that a message is sent to, or comes from; null if none.
  mlir::FunctionOpInterface serverOf(mlir::Operation *message) const {
    return serverOfMessage.lookup(message);
  }
  /// What a server publishes for it; null if nothing.
  cs::PublishOp publishOf(cs::RecvOp recv) const { return publishes.lookup(recv); }
  /// What fetches rows of the table that a cs.send_rows sends to, if anything.
  mlir::Operation *fetchOf(mlir::Operation *sendRows) const {
    return fetches.lookup(sendRows);
  }
  /// The carried argument that a result of the function updates, on the same
  /// device; null if there is none.
  mlir::Value updatedBy(unsigned result) const;
  /// The first fragment that reads an argument and is not deferred, if any.
  cs::FragmentOp readerOf(mlir::Value argument) const {
    return readers.lookup(argument);
  }

  mlir::func::FuncOp function() const { return func; }

private:
  mlir::LogicalResult check();
  mlir::LogicalResult findUpdates(cs::RecvOp recv);
  mlir::LogicalResult findFetch(cs::SendRowsOp send);
  void sinkConcats();
  void findReaders();
  void findNeeds();

  mlir::func::FuncOp func;
  llvm::SmallVector<mlir::Operation *> communications;
  llvm::DenseMap<mlir::Operation *, cs::Members> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> places;
  llvm::DenseMap<mlir::Value, Need> needs;
  llvm::DenseMap<mlir::Operation *, Need> opNeeds;
  llvm::DenseMap<mlir::Operation *, Operations> sends, recvs;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> fetches;
  llvm::DenseMap<mlir::Operation *, mlir::FunctionOpInterface> serverOfMessage;
  llvm::DenseMap<mlir::Operation *, cs::PublishOp> publishes; // by cs.recv
  llvm::DenseMap<mlir::Value, cs::FragmentOp> readers;
  // Carried arguments of a name: one on each device that has it.
  struct Carried {
    mlir::Value first;
    llvm::SmallDenseMap<unsigned, mlir::Value, 1> byDevice;
  };
  llvm::StringMap<Carried> carried;
  llvm::StringMap<llvm::SmallVector<cs::FetchRowsOp, 1>> fetchesByKey;
  // Of each server: what it publishes, by key.
  struct Server {
    explicit Server(mlir::FunctionOpInterface function)
        : dependences(function) {}
    cs::ServerDependences dependences;
    llvm::StringMap<cs::PublishOp> publishes;
  };
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Server>> servers;
  llvm::DenseMap<mlir::Operation *, llvm::StringMap<cs::SendOp>> sendsTo; // by server and key
};

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_STEPCOMMUNICATIONS_H
