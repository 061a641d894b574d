// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which part of a training step parameter servers run.
//
// The servers run what depends on a gradient: the updates. An update unit is
// what must run together on one server: the updates of one parameter and of its
// state; or of several parameters, if an op joins their gradients, or an update
// reads what another one writes. A unit owns the parameters and the state that
// it updates.
//
// An update also needs values that depend on no gradient and on nothing that a
// unit owns: constants, and the learning-rate schedule, made of state that
// depends on nothing but itself. Such state is replicated: the trainers keep a
// copy if they read it, and so does each server.
//
// The trainers run all else. They keep every parameter, and the state that they
// read or that the servers have no use for.

#ifndef COMMSCHED_PASSES_INSERT_UPDATEANALYSIS_H
#define COMMSCHED_PASSES_INSERT_UPDATEANALYSIS_H

#include "mlir/IR/Location.h"

#include "passes/insert/DependenceAnalysis.h"

namespace commsched {

struct UpdateUnit {
  /// Numbers of gradients, by the order of their parameters.
  std::vector<int> gradients;
  /// By gradient: the argument that is its parameter.
  std::vector<unsigned> parameters;
  /// Arguments that it owns, parameters first, then state, each in order.
  std::vector<unsigned> owned;
  /// Op numbers, in program order.
  std::vector<int> ops;
  /// What joins several gradients, null if there is one.
  mlir::Operation *joinedAt = nullptr;
};

class UpdateAnalysis {
public:
  /// Refuses, with a diagnostic at the op, what trainers and servers cannot do
  /// apart. Linear in the ops, but for chains of state that reads state.
  /// `analysis` must outlive the result.
  static llvm::FailureOr<UpdateAnalysis>
  run(const DependenceAnalysis &analysis);

  const DependenceAnalysis &getDependences() const { return *analysis; }
  /// By the order of their first parameters.
  llvm::ArrayRef<UpdateUnit> getUnits() const { return units; }
  static constexpr int kNone = -1;
  /// The unit that op `ref` belongs to, or that owns argument `ref`.
  int unitOf(Ref ref) const;
  /// The result that updates an argument, kNone if it is constant.
  int resultOf(unsigned argument) const { return resultOfArgument[argument]; }
  /// What the function returns for it.
  Ref returned(int result) const { return returnedRefs[result]; }

  /// State that only servers have.
  bool isOnServersOnly(unsigned argument) const {
    return !keptByTrainers[argument];
  }
  /// An argument that changes once per step: updates get its value at the
  /// beginning of the step from the schedule.
  bool isFromSchedule(Ref argument) const {
    return unitOf(argument) == kNone &&
           resultOf(DataFlowGraph::argumentOf(argument)) != kNone;
  }
  /// Carried values that the servers have a copy of, without owning them.
  bool isReplicated(unsigned argument) const {
    return neededByServers[argument] && unitOf(-1 - int(argument)) == kNone;
  }
  /// A value without unit: repeated where a server needs it, rather than
  /// computed once per step. True of constants, and of elementwise ops whose
  /// result is no scalar.
  bool isRepeated(int op) const { return repeated[op]; }
  /// Gradients that update nothing, by number.
  llvm::ArrayRef<int> getUnusedGradients() const { return unused; }

private:
  explicit UpdateAnalysis(const DependenceAnalysis &analysis);
  void readResults();
  llvm::LogicalResult checkTrainers();
  /// Marks what `ref` needs in `ops` and `arguments`. Stops at gradients.
  void need(Ref ref, std::vector<bool> &ops, std::vector<bool> &arguments);
  llvm::LogicalResult findServerSide();
  void joinUnits();
  llvm::LogicalResult makeUnits();
  llvm::LogicalResult findTrainerSide();
  void findRepeated();
  bool dependsOnGradient(Ref ref) const {
    return !DataFlowGraph::isArgument(ref) && dependent[ref];
  }
  int find(int unit);
  int join(int a, int b, mlir::Operation *at);
  mlir::Location locOf(Ref ref) const;
  llvm::StringRef nameOf(unsigned argument) const;

  const DependenceAnalysis *analysis;
  const DataFlowGraph *graph;
  std::vector<Ref> returnedRefs;                     // by result
  std::vector<int> resultOfArgument;                 // by argument
  std::vector<bool> dependent, serverOps;            // by op
  std::vector<bool> neededByServers, keptByTrainers; // by argument
  std::vector<bool> repeated;                        // by op
  // Union-find over gradients, then numbers of units.
  std::vector<int> parents;
  std::vector<mlir::Operation *> joinedAt;
  std::vector<int> opUnits, owners;
  std::vector<UpdateUnit> units;
  std::vector<int> unused;
};

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_UPDATEANALYSIS_H
