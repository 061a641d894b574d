// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes what one thread does.

#ifndef COMMSCHED_PASSES_CUDA_KERNELBODY_H
#define COMMSCHED_PASSES_CUDA_KERNELBODY_H

#include "passes/cuda/Stages.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace commsched::cudaexport {

/// The code of one kernel, in front of `op`, which whoever makes it erases.
class KernelBody {
public:
  KernelBody(mlir::linalg::GenericOp op, const NestShape &shape);
  virtual ~KernelBody() = default;

  void elementwise();
  /// `partials`: where each output's partial results go; none if there is one chunk.
  void reduction(mlir::ValueRange partials);
  /// The second kernel of a reduction in chunks.
  void finish(mlir::ValueRange partials);

  /// Of shared memory, by what has been written.
  unsigned sharedBytes() const { return shared; }

protected:
  using Values = llvm::SmallVector<mlir::Value>;

  // Arguments are made one after the other, so that the order of ops is the same whatever
  // compiles this. Counters are i32, or i64 in large nests.
  mlir::Value count(int64_t value);
  mlir::Value word(int64_t value); // i32
  mlir::Value asIndex(mlir::Value counter);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t b);
  mlir::Value over(mlir::Value a, int64_t b);
  mlir::Value modulo(mlir::Value a, int64_t b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value ask(llvm::StringRef function); // cs_thread, cs_block as a counter

  /// Runs `then` where `condition` holds; everywhere if it is null.
  void where(mlir::Value condition, llvm::function_ref<void()> then);
  /// What `then` gives where `condition` holds, `otherwise` elsewhere.
  Values choose(mlir::Value condition, llvm::function_ref<Values()> then, mlir::ValueRange otherwise);
  /// for (i = from; i < to; i += step) carried = each(i, carried)
  Values loop(mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange carried,
              llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> each);

  /// The indices of `loops` at a place in their order.
  void locate(mlir::Value flat, llvm::ArrayRef<unsigned> loops, Values &indices);
  Values indicesOf(mlir::OpOperand &operand, mlir::ValueRange indices);
  virtual mlir::Value load(mlir::OpOperand &operand, mlir::ValueRange indices);
  Values loadOutputs(mlir::ValueRange indices, bool all);
  virtual void storeOutputs(mlir::ValueRange values, mlir::ValueRange indices);
  /// What the body yields, of the inputs at `indices` and these values of the outputs.
  Values evaluate(mlir::ValueRange indices, mlir::ValueRange outputs);
  Values combine(mlir::ValueRange a, mlir::ValueRange b);
  Values identities();

  mlir::Value call(const llvm::Twine &function, mlir::ValueRange operands, mlir::Type result);
  /// A value as an integer of 32 or 64 bits, at least `bits`, and back.
  mlir::Value toBits(mlir::Value value, unsigned bits = 0);
  mlir::Value fromBits(mlir::Value bits, mlir::Type type);
  unsigned bitsOf(mlir::Type type) const;
  mlir::Value toWord(mlir::Value counter);
  void storeShared(mlir::ValueRange values, mlir::Value slot, unsigned stride);
  Values loadShared(mlir::Value slot, unsigned stride);
  void barrier();
  /// Of a warp's first `lanes` lanes, the result in the first.
  Values combineLanes(Values values, unsigned lanes);
  Values exchangeRows(Values values, mlir::Value thread);
  Values combineColumns(Values values, mlir::Value lane, mlir::Value column);
  unsigned sharedBits() const;

  mlir::linalg::GenericOp op;
  const NestShape &shape;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Type counter;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<mlir::Operation *> combiners;
  unsigned shared = 0;
};

} // namespace commsched::cudaexport

#endif // COMMSCHED_PASSES_CUDA_KERNELBODY_H
