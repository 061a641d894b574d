// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/values.h"

#include "ir/Cs.h"
#include "tests/differential/random.h"

#include <cmath>

using namespace mlir;
using namespace commsched::reference;

namespace commsched::differential {

static ArrayPtr make(RankedTensorType type, uint64_t seed) {
  Random rng(seed);
  ArrayPtr array = makeZeros(type);
  // Numbers of the type, with fewer digits than it has.
  int digits = 1;
  if (auto element = dyn_cast<FloatType>(type.getElementType()))
    digits = static_cast<int>(std::min(40u, element.getFPMantissaWidth() - 2));
  for (int64_t i = 0; i < array->size(); ++i)
    if (array->isFloat())
      array->values[i] =
          std::floor((2 * rng.unit() - 1) * std::ldexp(1, digits)) / std::ldexp(1, digits);
    else
      array->ints[i] = type.getElementType().isInteger(1) ? rng.below(2) : rng.below(8);
  return array;
}

Inputs inputsOf(func::FuncOp step, int64_t workers, int steps, uint64_t seed) {
  Inputs inputs;
  inputs.batches.resize(size_t(steps));
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(step.getArgumentTypes()[i]);
    auto named = [&](StringRef attribute) {
      return step.getArgAttrOfType<StringAttr>(i, attribute);
    };
    if (StringAttr batch = named(cs::CsDialect::kBatchAttr)) {
      SmallVector<int64_t> shape(type.getShape());
      shape[0] *= workers;
      auto global = RankedTensorType::get(shape, type.getElementType());
      for (int s = 0; s < steps; ++s)
        inputs.batches[size_t(s)][batch.str()] =
            make(global, mix(mix(seed, batch.getValue()), uint64_t(s) + 1));
      continue;
    }
    StringAttr name = named(cs::CsDialect::kParamAttr);
    if (!name)
      name = named(cs::CsDialect::kStateAttr);
    inputs.slots[name.str()] = make(type, mix(seed, name.getValue()));
  }
  return inputs;
}

} // namespace commsched::differential
