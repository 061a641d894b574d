// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Combine.h"

#include "reference/Scalar.h"

using namespace mlir;
using namespace commsched::reference;

static Scalar elementOf(const Array &array, int64_t i) {
  Scalar scalar;
  if (array.isFloat())
    scalar.value = array.values[i];
  else
    scalar.integer = array.ints[i];
  scalar.bound = array.bounds[i];
  return scalar;
}

/// The sum of element `e` of floats, divided by `count`.
static Scalar sumFloats(ArrayRef<ArrayPtr> arrays, int64_t e, const FloatFormat &format,
                        double count) {
  Machine machine;
  machine.registers.resize(2);
  Instruction add;
  add.operands = {0, 1};
  add.result = 0;
  machine.registers[0] = elementOf(*arrays[0], e);
  beginSum(machine.registers[0]);
  machine.registers[0].integer &= ~kNoFirstTerm;
  for (const ArrayPtr &array : arrays.drop_front()) {
    machine.registers[1] = elementOf(*array, e);
    runAccumulate(add, machine);
  }
  Scalar sum = machine.registers[0];
  double magnitude = sum.magnitude;
  endSum(sum, format, static_cast<double>(arrays.size() - 1));
  if (count == 1)
    return sum;
  // A factor that is rounded, a product that is, and parts that are rounded when they
  // are divided first. A power of two changes nothing.
  double spread = sum.bound / count;
  int exponent;
  if (std::frexp(count, &exponent) != 0.5 && std::isfinite(sum.value))
    spread += 3 * format.unit * (magnitude / count);
  Scalar mean;
  double quotient = sum.value / count;
  store(mean, format, quotient,
        std::fabs(std::fma(quotient, count, -sum.value)) / count, spread);
  if (!std::isfinite(sum.value))
    mean.bound = sum.bound;
  return mean;
}

ArrayPtr commsched::reference::combine(ArrayRef<ArrayPtr> arrays, Combiner combiner) {
  if (arrays.size() == 1)
    return arrays[0];
  const Array &first = *arrays[0];
  ArrayPtr result = makeZeros(first.elementType, first.shape);
  const FloatFormat *format = formatOf(first.elementType);
  unsigned width = widthOf(first.elementType);
  double count = combiner == Combiner::mean ? static_cast<double>(arrays.size()) : 1;
  for (int64_t e = 0; e < first.size(); ++e) {
    Scalar all = elementOf(first, e);
    if (combiner == Combiner::max || combiner == Combiner::min) {
      bool max = combiner == Combiner::max;
      for (const ArrayPtr &array : arrays.drop_front()) {
        Scalar next = elementOf(*array, e);
        double bound = std::max(all.bound, next.bound);
        bool takes = format ? (max ? next.value > all.value : next.value < all.value) ||
                                  std::isnan(next.value)
                            : (max ? next.integer > all.integer : next.integer < all.integer);
        if (takes)
          all = next;
        all.bound = bounded(bound);
      }
    } else if (format) {
      all = sumFloats(arrays, e, *format, count);
    } else {
      for (const ArrayPtr &array : arrays.drop_front()) {
        Scalar next = elementOf(*array, e);
        storeInt(all, width, static_cast<__int128>(all.integer) + next.integer,
                 all.bound + next.bound);
      }
      if (count != 1)
        all.integer /= static_cast<int64_t>(count);
    }
    if (format)
      result->values[e] = all.value;
    else
      result->ints[e] = all.integer;
    result->bounds[e] = all.bound;
  }
  return result;
}
