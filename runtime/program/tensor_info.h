// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_PROGRAM_TENSOR_INFO_H
#define COMMSCHED_RUNTIME_PROGRAM_TENSOR_INFO_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ops/base/element.h"

namespace commsched::runtime {

struct TensorInfo {
  ops::Element element = ops::Element::kF32;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  size_t bytes = 0;
};
bool operator==(const TensorInfo &a, const TensorInfo &b);
std::string ToString(const TensorInfo &type);  // "f32[784,10]"

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_PROGRAM_TENSOR_INFO_H
