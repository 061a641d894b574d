// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ranks do to values together, with bounds: sums in any order, means, largest
// and smallest elements.

#ifndef COMMSCHED_REFERENCE_COMBINE_H
#define COMMSCHED_REFERENCE_COMBINE_H

#include "reference/Array.h"

namespace commsched::reference {

enum class Combiner {
  sum,
  mean,
  max,
  min
};

/// Combines arrays of one type, of which there is at least one, element by element.
/// The bound is that of any order of the sum, rounded to the element type after each
/// addition, and for a mean of any way to divide by their number (also of a factor
/// of 1/n, or parts divided before they are added).
ArrayPtr combine(llvm::ArrayRef<ArrayPtr> arrays, Combiner combiner);

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_COMBINE_H
