// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ranks keep of a gradient from step to step, each its own: arguments of the
// function, whose next values it returns.

#ifndef COMMSCHED_PASSES_SPARSE_RANKSTATES_H
#define COMMSCHED_PASSES_SPARSE_RANKSTATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/sparse/Selection.h"

namespace commsched::sparse {

class RankStates {
public:
  /// `key`: what the names of the states begin with, the parameter's.
  RankStates(mlir::func::FuncOp func, mlir::Location loc, std::string key)
      : func(func), loc(loc), key(std::move(key)) {}

  /// An argument. An error if the function has one of this name.
  llvm::FailureOr<mlir::Value> add(const llvm::Twine &suffix, cs::PlacedType type);
  /// What the rules want of a tensor that is selected from, or corrected only.
  llvm::FailureOr<Kept> keep(const SelectionRules &rules, const llvm::Twine &suffix,
                             cs::PlacedType type);
  llvm::FailureOr<Moments> keepMoments(const CorrectionRules &rules,
                                       const llvm::Twine &suffix, cs::PlacedType type);
  /// The next values of as many states as have been made last.
  void setNext(mlir::ValueRange values);
  /// Returns the next values, behind what the function returns.
  void addResults();

private:
  struct State {
    std::string name;
    mlir::Value next;
  };
  mlir::func::FuncOp func;
  mlir::Location loc;
  std::string key;
  llvm::SmallVector<State> states;
};

/// Whether `fragment` reads the moments that a run before has given the gradient of `key`.
bool readsMoments(cs::FragmentOp fragment, llvm::StringRef key);
/// Of any gradient.
bool readsMoments(cs::FragmentOp fragment);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_RANKSTATES_H
