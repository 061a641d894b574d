// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of which it is defined who adds what to what, and in what precision: those of
// the network and of sparse gradients. Numbers that are exact give a sum that is.

#ifndef COMMSCHED_REFERENCE_INORDER_H
#define COMMSCHED_REFERENCE_INORDER_H

#include "ir/Cs.h"
#include "reference/Array.h"
#include "reference/Scalar.h"

#include <optional>

namespace commsched::reference {

/// Combines elements of one type: f64 in f64, other floats in f32, each rounded to the
/// element type when stored; integers wrap around.
class InOrder {
public:
  InOrder(mlir::Type elementType, cs::Combine how, std::optional<double> scale = {});

  /// Element `i` of `own` becomes what element `j` of `received` makes of it; then,
  /// with `scaled`, times the scale.
  void apply(Array &own, int64_t i, const Array &received, int64_t j,
             bool scaled = false) const;

private:
  void applyFloat(Array &own, int64_t i, const Array &received, int64_t j,
                  bool scaled) const;
  void applyInt(Array &own, int64_t i, const Array &received, int64_t j) const;
  double compute(double value) const;

  cs::Combine how;
  std::optional<double> scale;
  const FloatFormat *format; // null: integers
  unsigned width;
  bool inDouble = false;
};

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_INORDER_H
