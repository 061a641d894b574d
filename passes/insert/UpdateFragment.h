// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body of one fragment of a parameter server, made by copying level-0 ops:
// as they are, or for a block of rows.

#ifndef COMMSCHED_PASSES_INSERT_UPDATEFRAGMENT_H
#define COMMSCHED_PASSES_INSERT_UPDATEFRAGMENT_H

#include <map>
#include <memory>
#include <vector>

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include "ir/Cs.h"
#include "passes/insert/UpdateAnalysis.h"

namespace commsched {

/// Rows [begin, end) of dimension 0, or all if `end` is 0.
struct Rows {
  int64_t begin = 0, end = 0;
  bool isAll() const { return end == 0; }
  auto operator<=>(const Rows &) const = default;
};

/// A level-0 value, or some rows of it.
struct PartOfValue {
  mlir::Value value;
  Rows rows;
};

class UpdateFragment {
public:
  /// Of unit `unit`, for the rows of its parameter; or, with kNone, of what is
  /// run once per step.
  UpdateFragment(const UpdateAnalysis &analysis, int unit, Rows rows);

  /// Fills the body so that it makes the values of `roots`, once. They are
  /// results of ops; of what is run once per step, arguments, too.
  mlir::LogicalResult build(llvm::ArrayRef<mlir::Value> roots);

  /// What the body needs: results of cs.gradient, arguments of the step, and,
  /// as a whole, values that are made once per step.
  llvm::ArrayRef<PartOfValue> getInputs() const { return inputs; }
  /// Where a value that is there as a whole only was cut to the rows.
  std::optional<mlir::Location> getCut() const { return cut; }
  /// The body, instead of create(): arguments as inputs, and a cs.return.
  std::unique_ptr<mlir::Block> takeBody() { return std::move(body); }
  /// Makes the op, once. `operands` are the placed inputs; the results are the
  /// roots, in their order.
  cs::FragmentOp create(mlir::OpBuilder &outside, llvm::StringRef label,
                        mlir::ValueRange operands);

private:
  enum Mode : unsigned char {
    Whole = 1,
    ByRows = 2
  };
  bool isCopied(int op) const;
  llvm::LogicalResult demand(mlir::Value value, bool wantRows,
                             mlir::Operation *user);
  mlir::Value get(mlir::Value value, bool wantRows);
  void copy(int number, bool isByRows);
  mlir::Value addInput(mlir::Value value, bool wantRows);
  mlir::Value cutRows(mlir::Value from);

  const UpdateAnalysis &analysis;
  const DataFlowGraph &graph;
  int unit;
  Rows rows;
  std::unique_ptr<mlir::Block> body;
  mlir::OpBuilder builder;
  std::map<int, unsigned char, std::greater<int>> needed; // Modes, by op
  llvm::DenseMap<mlir::Value, mlir::Value> whole, byRows;
  std::vector<PartOfValue> inputs;
  std::vector<mlir::Operation *> copies;
  std::optional<mlir::Location> cut;
  std::vector<mlir::Type> results;
};

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_UPDATEFRAGMENT_H
