// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who has written what an operation reads: the same question of a function on
// tensors, where it is plain, and on buffers, where memory is used again.

#ifndef COMMSCHED_PASSES_PLAN_MEMORYTRACE_H
#define COMMSCHED_PASSES_PLAN_MEMORYTRACE_H

#include "passes/plan/Regions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <map>

namespace commsched::planexport {

/// One read: operand `operand` of the structured op of this number, or the n-th
/// load of the function.
struct ReadKey {
  enum Kind : uint8_t {
    Structured,
    Load,
    Result
  } kind;
  unsigned number, operand;
  auto operator<=>(const ReadKey &other) const = default;
};

/// Runs a fragment's function symbolically: loops until nothing new is found,
/// both sides of conditions.
class MemoryTrace {
public:
  struct Read {
    Writers writers;
    mlir::Operation *op;
  };

  /// Reports what it does not understand, and writes that no order of the
  /// operation's own reads allows.
  explicit MemoryTrace(mlir::func::FuncOp function) : function(function) {}
  llvm::LogicalResult run();

  const std::map<ReadKey, Read> &reads() const { return found; }
  /// Arguments of the function that it writes, counted from the last, which is
  /// 1, and an op that does.
  const std::map<unsigned, mlir::Operation *> &writtenArguments() const {
    return writtenArgs;
  }

private:
  struct Pointer {
    unsigned root;
    View view;
  };
  struct Root {
    Content content;
    int argument = -1;
    llvm::SmallVector<Pointer, 2> either; // of a choice: what it may be
  };
  using Contents = llvm::SmallVector<Content, 4>;

  llvm::LogicalResult block(mlir::Block &block);
  llvm::LogicalResult visit(mlir::Operation *op);
  llvm::LogicalResult structured(mlir::Operation *op);
  llvm::LogicalResult loop(mlir::LoopLikeOpInterface op);
  llvm::LogicalResult whileLoop(mlir::Operation *op);
  llvm::LogicalResult branches(mlir::Operation *op);
  llvm::LogicalResult unknown(mlir::Operation *op);

  llvm::LogicalResult number();
  Content &content(mlir::Value tensor);
  void set(mlir::Value tensor, Content value);
  unsigned newRoot(const View &view, Source source);
  llvm::FailureOr<Pointer> pointer(mlir::Operation *op, mlir::Value memref);
  View slice(const View &parent, llvm::ArrayRef<mlir::OpFoldResult> offsets,
             llvm::ArrayRef<mlir::OpFoldResult> strides, llvm::ArrayRef<int64_t> sizes,
             llvm::ArrayRef<int64_t> shape);
  Writers readAll(mlir::Operation *op, mlir::Value value);
  void record(ReadKey key, mlir::Operation *op, Writers writers);
  void write(mlir::Operation *op, const Pointer &to, Source source, bool weak);
  void mergeRoots(const std::vector<Root> &other);
  Content behind(const Pointer &pointer);
  void choose(mlir::Value result, llvm::ArrayRef<Pointer> pointers,
              llvm::ArrayRef<Content> contents);

  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, Content> tensors;
  llvm::DenseMap<mlir::Value, Pointer> memrefs;
  std::vector<Root> roots;
  std::map<std::vector<const void *>, unsigned> places;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  std::map<ReadKey, Read> found;
  std::map<unsigned, mlir::Operation *> writtenArgs;
};

/// Gives structured ops, and reads and writes of single elements, numbers that stay
/// with them: as attributes; behind keepMemoryOrder, to be called just before
/// bufferization, the latter by their order.
void numberMemory(mlir::func::FuncOp function);
void forgetMemoryNumbers(mlir::func::FuncOp function);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_MEMORYTRACE_H
