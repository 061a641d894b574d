// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients that trainers send to parameter servers, and lists in their place.

#ifndef COMMSCHED_PASSES_SPARSE_SERVERLISTS_H
#define COMMSCHED_PASSES_SPARSE_SERVERLISTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/sparse/ForwardUses.h"
#include "passes/sparse/Selection.h"

namespace commsched::sparse {

/// A parameter's gradient as it goes to servers: one message, or one for each of the
/// blocks that it is cut into.
struct SentGradient {
  std::string param;
  mlir::Value value; // all of it
  mlir::Operation *split = nullptr;
  llvm::SmallVector<cs::SendOp> sends; // in the order of the rows
  cs::Reduction reduction;             // what servers combine it by; mean if they do not
  cs::SendOp apart;                    // null, or of a block that is not cut from one value: then `value` is that of the first

  mlir::RankedTensorType type() const;
  mlir::Operation *first() const;
  /// Whether what makes it really computes.
  bool hasBody() const;
};

/// Those of `func`, a trainer's step, in the order of its parameters. Tables of which only
/// rows are sent are none.
llvm::SmallVector<SentGradient> findSentGradients(mlir::func::FuncOp func);

struct ListOptions {
  double density;
  SelectionRules rules;
  mlir::Type values; // what they travel as
  int64_t ranks;     // trainers, of all devices
};

/// The bytes of all lists of a step, and of the gradient.
std::pair<int64_t, int64_t> bytesToServers(const SentGradient &gradient,
                                           const ListOptions &options);

/// Each trainer selects from every block, and sends the list; the residual is state of the
/// step, of the whole parameter, as with all-reduce. With an unsent rate puts the parameter
/// less its residual in the place of `forward`. An error if the name of a state is taken.
mlir::LogicalResult sendLists(mlir::func::FuncOp func, const SentGradient &gradient,
                              const ListOptions &options, const ForwardUses &forward);

/// Of a gradient that is sent whole: trainers keep its velocities, whose mean is the
/// velocity of the mean.
mlir::LogicalResult sendVelocity(mlir::func::FuncOp func, const SentGradient &gradient,
                                 const SelectionRules &rules);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_SERVERLISTS_H
