// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region of ops on scalars (the body of a linalg.generic, of a tensor.pad, one op on
// elements of tensors), compiled once to a list of instructions over registers.

#ifndef COMMSCHED_REFERENCE_PAYLOAD_H
#define COMMSCHED_REFERENCE_PAYLOAD_H

#include "reference/Interpreter.h"
#include "reference/Scalar.h"

namespace commsched::reference {

class Payload {
public:
  /// Of a block that ends in a terminator whose operands are the results. The
  /// arguments from `firstSum` on that are only added to, and yielded at the place of
  /// `firstSum` onwards, are sums: their register is between beginSum() and endSum().
  /// Null after an error at an op that is not known.
  static std::unique_ptr<Payload> compile(mlir::Block &block, unsigned firstSum);
  /// Of one op.
  static std::unique_ptr<Payload> compile(mlir::Operation *op);

  /// Looks up the values that are used from outside, and sets the constants.
  void bind(const Interpreter &interpreter);
  void run(const int64_t *indices) {
    machine.indices = indices;
    for (const Instruction &instruction : instructions)
      instruction.run(instruction, machine);
  }
  /// After a run, or many: an error at the first op that failed.
  llvm::LogicalResult check();
  /// Releases what bind() has looked up.
  void release();

  Scalar &argument(unsigned i) { return machine.registers[i]; }
  const Scalar &result(unsigned i) const { return machine.registers[results[i]]; }
  bool isUsed(unsigned argument) const { return used[argument]; }
  /// Of a sum: how many terms are added in each run; else 0.
  unsigned termsOfSum(unsigned argument) const { return sums[argument]; }
  /// An element of an array that was never written was read by `op`.
  void failUnwritten(mlir::Operation *op);

private:
  llvm::LogicalResult add(mlir::Operation &op);
  unsigned registerOf(mlir::Value value);
  void findSums(mlir::Block &block, unsigned firstSum);

  std::vector<Instruction> instructions;
  Machine machine;
  unsigned registers = 0;
  llvm::DenseMap<mlir::Value, unsigned> registerOfValue;
  llvm::SmallVector<unsigned> results;
  std::vector<bool> used;
  std::vector<unsigned> sums;
  /// Ops on the way of a sum.
  llvm::DenseMap<mlir::Operation *, mlir::Value> sumOps;
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> scalarsOfOutside, tensorsOfOutside;
  std::vector<std::pair<unsigned, Scalar>> constants;
};

/// Reads element `i`; a float's or an integer's.
inline void load(Scalar &to, const Array &from, int64_t i) {
  if (from.values.empty())
    to.integer = from.ints[i];
  else
    to.value = from.values[i];
  to.bound = from.bounds[i];
}
inline void storeElement(Array &to, int64_t i, const Scalar &from) {
  if (to.values.empty())
    to.ints[i] = from.integer;
  else
    to.values[i] = from.value;
  to.bounds[i] = from.bound;
}

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_PAYLOAD_H
