// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor of the reference interpreter: what was computed, and how far from it
// anything else that the program allows may be.

#ifndef COMMSCHED_REFERENCE_ARRAY_H
#define COMMSCHED_REFERENCE_ARRAY_H

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace commsched::reference {

/// "Anything": the element was decided by a comparison that may go the other way,
/// or is not defined (an overflowing conversion, say). Not to be compared.
inline constexpr double kUndetermined = std::numeric_limits<double>::infinity();
/// "Nothing": the element was never written (tensor.empty). It can be moved; to
/// compute with it is an error.
inline constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();

inline bool isUndetermined(double bound) { return bound == kUndetermined; }
inline bool isUnwritten(double bound) { return std::isnan(bound); }

/// A dense tensor in row-major order, or with an empty shape a scalar. Elements are
/// of a floating-point type (f64, f32, f16, bf16), a signless integer of at most 64
/// bits, or index.
///
/// `bounds` has one number for each element: any evaluation that the program allows
/// (docs/interpreter.md) gives a number within `value - bound` .. `value + bound`.
/// 0: this number and no other; where the value is NaN or infinite, the same class.
/// Otherwise kUndetermined or kUnwritten. Bounds of integers are like those of
/// floats; that of an i1 is 0 or 1.
struct Array {
  mlir::Type elementType;
  llvm::SmallVector<int64_t, 4> shape;
  /// Of floats: each is a number of the element type. Else empty.
  std::vector<double> values;
  /// Of integers: sign-extended from their width; an i1 is 0 or 1. Else empty.
  std::vector<int64_t> ints;
  std::vector<double> bounds;

  bool isFloat() const { return llvm::isa<mlir::FloatType>(elementType); }
  int64_t size() const { return static_cast<int64_t>(bounds.size()); }
  bool hasUnwritten() const;
  /// Element `i` as a double, whatever the type.
  double at(int64_t i) const {
    return isFloat() ? values[i] : static_cast<double>(ints[i]);
  }
  /// Copies element `from` of `other`, of the same element type, with its bound.
  void setFrom(int64_t i, const Array &other, int64_t from) {
    if (isFloat())
      values[i] = other.values[from];
    else
      ints[i] = other.ints[from];
    bounds[i] = other.bounds[from];
  }
  mlir::RankedTensorType type() const {
    return mlir::RankedTensorType::get(shape, elementType);
  }
};

/// Arrays are shared, and are written only by who holds the only reference.
using ArrayPtr = std::shared_ptr<Array>;
/// One value of a program on each of the workers, in the order of ranks.
using PerWorker = llvm::SmallVector<ArrayPtr, 2>;

/// Whether Array holds elements of this type.
bool isSupported(mlir::Type elementType);
/// Of a ranked tensor of static shape or a scalar; all elements 0 and exact.
/// `type` is supported.
ArrayPtr makeZeros(mlir::Type type);
ArrayPtr makeZeros(mlir::Type elementType, llvm::ArrayRef<int64_t> shape);
/// As makeZeros, but all elements are kUnwritten.
ArrayPtr makeUnwritten(mlir::Type type);
/// One element, exact; `value` is rounded or wrapped to the type.
ArrayPtr makeFloat(mlir::Type type, double value);
ArrayPtr makeInt(mlir::Type type, int64_t value);
/// The constant `value` (a number or dense elements); null if it is another attribute.
ArrayPtr makeConstant(mlir::Attribute value, mlir::Type type);
/// `array`, if nobody else holds it; else a copy of it.
ArrayPtr owned(ArrayPtr array);

/// Elements as they lie in memory and in files: little-endian, an i1 is a byte. They
/// are exact. Null if `bytes` has not the size of `type`.
ArrayPtr fromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes);
std::vector<char> toBytes(const Array &array);
/// Bytes of an element in memory.
int64_t elementBytes(mlir::Type elementType);

/// What compare() has found.
struct Difference {
  /// Element of the largest difference, counted in bounds; -1 if none was compared.
  int64_t element = -1;
  double found = 0, wanted = 0, bound = 0;
  /// The largest |found - wanted| of all compared elements, and the largest bound.
  double largest = 0, largestBound = 0;
  /// Elements: outside their bound, and not compared because the bound is
  /// kUndetermined, or not below the magnitude of the value and above `tiny`.
  int64_t outside = 0, undetermined = 0, total = 0;
};
/// Compares the values of `found`, of the same type, with `wanted` and its bounds.
/// The bound of an element says nothing where it is as large as the tensor's largest
/// magnitude; such elements count as undetermined unless they are outside.
Difference compare(const Array &found, const Array &wanted);

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_ARRAY_H
