// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_IR_CSDIALECT_TD
#define COMMSCHED_IR_CSDIALECT_TD

include "mlir/IR/OpBase.td"

def Cs_Dialect : Dialect {
  let name = "cs";
  let cppNamespace = "::commsched::cs";
  let summary = "training steps as multi-device graphs with communication";
  let description = [{
    A training step for one device, step by step turned into what every process
    of a cluster executes: level 0 is a program in upstream dialects with `cs`
    attributes, level 1 a graph of compute fragments and communications over
    placed values, level 2 the same graph with time in it. See `docs/levels.md`.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerTypes();
    void registerAttributes();
    // Names of the discardable attributes of functions (see docs/levels.md).
    static constexpr ::llvm::StringLiteral kStepAttr = "cs.step";
    static constexpr ::llvm::StringLiteral kGlobalBatchAttr = "cs.global_batch";
    static constexpr ::llvm::StringLiteral kParamAttr = "cs.param";
    // Beside cs.param: a table with row-sparse gradients (docs/row-sparse.md).
    static constexpr ::llvm::StringLiteral kRowSparseAttr = "cs.row_sparse";
    static constexpr ::llvm::StringLiteral kStateAttr = "cs.state";
    static constexpr ::llvm::StringLiteral kBatchAttr = "cs.batch";
    // The index of the worker whose part of the batch the function computes: see
    // cs.worker_index.
    static constexpr ::llvm::StringLiteral kWorkerIndexAttr = "cs.worker_index";
    static constexpr ::llvm::StringLiteral kUpdatesAttr = "cs.updates";
    static constexpr ::llvm::StringLiteral kMetricAttr = "cs.metric";
    // Rank that a function made by --specialize-ranks belongs to (i64).
    static constexpr ::llvm::StringLiteral kRankAttr = "cs.rank";
    // How many nodes run a function, where not all do (i64).
    static constexpr ::llvm::StringLiteral kCountAttr = "cs.count";
    // Parameter servers (see docs/parameter-server.md): of the step, its servers
    // (ServersAttr); of a server's function, its index (i64); of an argument or
    // result, the rows of dimension 0 that it holds (array<i64: begin, end>).
    static constexpr ::llvm::StringLiteral kServersAttr = "cs.servers";
    static constexpr ::llvm::StringLiteral kServerAttr = "cs.server";
    static constexpr ::llvm::StringLiteral kRowsAttr = "cs.rows";
    // Of a fragment without a body that acts row by row: by input, whether only the rows
    // of it are needed that are wanted of the results (array<i1>).
    static constexpr ::llvm::StringLiteral kByRowsAttr = "cs.by_rows";
    // Of the step at level 2: how its communication was scheduled (ScheduleAttr).
    static constexpr ::llvm::StringLiteral kScheduleAttr = "cs.schedule";
    // Of the step of levels 1 and 2, where gradients are sums over the workers (ReductionAttr).
    static constexpr ::llvm::StringLiteral kGradientReductionAttr = "cs.gradient_reduction";
    // Of the step of levels 1 and 2, where --replicate-devices has put it on all devices of a node: how
    // many these are (i64).
    static constexpr ::llvm::StringLiteral kDevicesAttr = "cs.devices";
    // Of a cs.start at level 2: NCCL makes the collective (NcclAttr).
    static constexpr ::llvm::StringLiteral kNcclAttr = "cs.nccl";
  }];
}

#endif // COMMSCHED_IR_CSDIALECT_TD
