// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Level-2 functions as plan functions.

#ifndef COMMSCHED_PASSES_PLAN_PLANBUILDER_H
#define COMMSCHED_PASSES_PLAN_PLANBUILDER_H

#include "passes/plan/ExportPlan.h"
#include "passes/plan/PlanDependences.h"

#include "ir/CsGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace commsched::planexport {

/// What all functions of a plan share.
struct PlanContext {
  plan::Plan &plan;
  FragmentCompiler &compiler;
  cs::ClusterOp cluster;
  /// Of a cluster with CUDA devices, for all but servers; null: the host runs everything.
  DeviceCompiler *device = nullptr;
  bool initOnServers = false;                 // which run the init function on the host
  std::map<std::string, unsigned> slots = {}; // by slotKey()
  std::map<std::string, unsigned> locations = {};
  /// (server, key) -> block, of what trainers push and pull.
  std::map<std::pair<unsigned, std::string>, unsigned> pushes = {}, pulls = {};
  /// Of pushes of a part of a gradient, by server and key: what they are.
  std::map<std::pair<unsigned, std::string>, mlir::RankedTensorType> lists = {};
  bool communicates = false;
  bool costOnly = false;
  bool usesDevices = false;  // other devices than 0, copy engines
  bool betweenRanks = false; // messages outside of exchanges
  bool usesServers = false;  // pushes, pulls, parts of buffers
  bool usesRows = false;     // of tables
  bool usesLists = false;    // pushes of lists
  bool usesFused = false;    // blocks that share messages
  double checkSeconds = 0;   // of checks of memory
  mlir::SymbolTableCollection symbols = {};
  bool usesWorkerIndex = false;
  bool usesParts = false; // of messages, released one by one
  bool usesExclusive = false;
  bool usesNccl = false;
  std::map<std::string, unsigned> groups = {}; // by name
  /// (function, instruction) -> index in the compiler, of every Run.
  std::vector<std::array<unsigned, 3>> runs = {};
  /// The same of every Launch, in the device's; and of their code for the host.
  std::vector<std::array<unsigned, 3>> launches = {}, onHost = {};

  /// The functions that some of the nodes run each, with cs.count; empty if all run one.
  struct Role {
    mlir::func::FuncOp function;
    int64_t first, count; // ranks
  };
  std::vector<Role> roles = {};
  /// One end of a message between ranks.
  struct End {
    unsigned function, instruction;
    mlir::Operation *message;
    mlir::func::FuncOp own, peer; // whose ends they are
  };
  std::vector<End> ends = {};

  unsigned location(mlir::Location loc);
  /// Those that run `function`: of a role, or all.
  Role roleOf(mlir::func::FuncOp function) const;
  /// Index of the group that `op`, a collective, is of; nothing if it is of all nodes.
  llvm::FailureOr<std::optional<unsigned>> group(mlir::Operation *op);
  /// The same of all ranks of a role.
  std::optional<unsigned> group(const Role &role);
  /// Sets Communicate.other_end.
  mlir::LogicalResult joinEnds();

private:
  unsigned addGroup(llvm::StringRef name, llvm::ArrayRef<int64_t> ranks);
};

/// Adds `function` to the plan. The scratch and symbols of its fragments are
/// not known yet: see PlanContext::runs.
mlir::LogicalResult buildFunction(mlir::func::FuncOp function, PlanContext &context);

/// Finds the functions that some of the nodes run each, in the order of ranks.
mlir::LogicalResult findRoles(llvm::ArrayRef<mlir::func::FuncOp> functions,
                              PlanContext &context);

plan::TensorType toPlan(mlir::RankedTensorType type);

/// The name alone on device 0.
std::string slotKey(llvm::StringRef name, unsigned device);

plan::AffineExpr toPlan(mlir::AffineExpr expr);

/// The phases of the exchanges in a start.
mlir::LogicalResult buildPhase(cs::ExchangeOp exchange, plan::Phase &phase);
/// Those of `set` that do not always hold.
void addConditions(mlir::IntegerSet set, plan::Side &side);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_PLANBUILDER_H
