// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers with bounds, and the ops on them. A Scalar is an element of an Array while
// it is computed with; an Instruction is one op of a compiled region.

#ifndef COMMSCHED_REFERENCE_SCALAR_H
#define COMMSCHED_REFERENCE_SCALAR_H

#include "reference/Array.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

namespace commsched::reference {

/// A binary floating-point format.
struct FloatFormat {
  int precision;   // bits of the significand, with the hidden one
  int minExponent; // the least power of two that is normal
  double unit;     // half a unit in the last place of 1
  double smallest; // positive number
  double largest;  // finite number
  double wideUnit; // of the format it may be computed in; 0: of this only

  /// To nearest, ties to even; overflow gives infinity.
  double round(double value) const;
};
/// Null if `type` is not f64, f32, f16 or bf16.
const FloatFormat *formatOf(mlir::Type type);

/// Bits of an integer type or of index; 0 for other types.
unsigned widthOf(mlir::Type type);
/// `value` modulo 2^width: sign-extended; 0 or 1 if it is of one bit.
int64_t wrap(int64_t value, unsigned width);

/// An element: `value` of a float, or `integer`. While a reduction adds up, `value` is
/// not rounded, `bound` is the sum of the bounds of the terms, `magnitude` the sum of
/// their magnitudes, and `integer` what SumFlags say.
struct Scalar {
  double value = 0;
  int64_t integer = 0;
  double bound = 0;
  double magnitude = 0;
};
enum SumFlags : int64_t {
  kInexactTerm = 1,
  kInfiniteTerm = 2,
  kNoFirstTerm = 4
};

struct Machine;

struct Instruction {
  void (*run)(const Instruction &, Machine &) = nullptr;
  unsigned result = 0; // register; several results follow each other
  llvm::SmallVector<unsigned, 4> operands;
  const FloatFormat *format = nullptr; // of the result
  const FloatFormat *from = nullptr;   // of operand 0
  unsigned width = 0, fromWidth = 0;   // likewise, of integers
  int64_t immediate = 0;
  double (*function)(double) = nullptr;
  mlir::Operation *op = nullptr;
};

/// What instructions work on.
struct Machine {
  std::vector<Scalar> registers;
  /// Of the loops around the region.
  const int64_t *indices = nullptr;
  std::vector<ArrayPtr> captures;
  /// The first failure.
  mlir::Operation *failed = nullptr;
  const char *why = nullptr;

  const Scalar &in(const Instruction &i, unsigned operand) const {
    return registers[i.operands[operand]];
  }
  Scalar &out(const Instruction &i, unsigned result = 0) {
    return registers[i.result + result];
  }
  void fail(mlir::Operation *op, const char *text) {
    if (!failed) {
      failed = op;
      why = text;
    }
  }
};

/// Bounds: anything but a number, or more than any number, is kUndetermined.
inline double bounded(double bound) {
  return bound <= std::numeric_limits<double>::max() ? bound : kUndetermined;
}
/// Stores `value`, rounded: `value` is at most `off` from the exact result, which moves
/// by at most `spread` within the bounds of the operands. `sure`: it is always rounded,
/// unless the format may be computed in a wider one.
void store(Scalar &out, const FloatFormat &format, double value, double off, double spread,
           bool sure = false);
/// Stores an integer, wrapped.
void storeInt(Scalar &out, unsigned width, __int128 value, double bound);
/// One of two, and it is not known which: `chosen`, with a bound that holds both.
Scalar hull(const Scalar &chosen, const Scalar &other, bool isFloat);

/// acc + term, or acc - term if immediate is 1, as a step of a reduction.
void runAccumulate(const Instruction &i, Machine &m);
/// The Scalar as a whole.
void runCopy(const Instruction &i, Machine &m);
/// Makes an accumulator of its initial value, and a number of an accumulator after
/// `terms` terms.
void beginSum(Scalar &sum);
void endSum(Scalar &sum, const FloatFormat &format, double terms);

/// Chooses `run` for an op on scalars, or on elements of tensors: registers, formats
/// and widths are set. Returns false if it cannot be computed.
using ScalarBuilder = bool (*)(mlir::Operation *op, Instruction &instruction);
/// Null if there is none for ops of this name.
ScalarBuilder scalarBuilder(llvm::StringRef opName);
/// For the files that define them: what sets nothing but how to run and a number.
template <void (*run)(const Instruction &, Machine &), int64_t immediate = 0>
bool build(mlir::Operation *, Instruction &instruction) {
  instruction.run = run;
  instruction.immediate = immediate;
  return true;
}
using ScalarBuilders = llvm::StringMap<ScalarBuilder>;
void addFloatBuilders(ScalarBuilders &builders);
void addIntegerBuilders(ScalarBuilders &builders);
void addMathBuilders(ScalarBuilders &builders);

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_SCALAR_H
