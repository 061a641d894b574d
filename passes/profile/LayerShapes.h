// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_PROFILE_LAYERSHAPES_H
#define COMMSCHED_PASSES_PROFILE_LAYERSHAPES_H

#include "llvm/ADT/StringRef.h"

#include "passes/profile/Profile.h"

namespace commsched::profile {

/// The parameters of a layer from its text as PyTorch prints modules:
/// "Linear(in_features=8, out_features=4, bias=True)". `bytes` is what they
/// hold together, a multiple of 4. Tensors whose shapes the text gives are taken
/// in its order as long as they fit; what is left is one more tensor, "rest", or
/// "parameters" if it is all. Names begin with `prefix` and a dot.
std::vector<Parameter> readParameters(llvm::StringRef text, int64_t bytes,
                                      llvm::StringRef prefix);

} // namespace commsched::profile

#endif // COMMSCHED_PASSES_PROFILE_LAYERSHAPES_H
