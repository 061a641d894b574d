// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_DATA_NAN_CHECK_H
#define COMMSCHED_RUNTIME_DATA_NAN_CHECK_H

#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "ops/base/element.h"

namespace commsched::runtime {

// The index of the first NaN of a dense tensor. Integers have none.
std::optional<size_t> FirstNan(ops::Element element, absl::Span<const std::byte> bytes);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_DATA_NAN_CHECK_H
