// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace commsched::runtime {

bool operator==(const TensorInfo &a, const TensorInfo &b) {
  return a.element == b.element && a.shape == b.shape;
}

std::string ToString(const TensorInfo &type) {
  return absl::StrCat(ops::ElementName(type.element), "[",
                      absl::StrJoin(type.shape, ","), "]");
}

}  // namespace commsched::runtime
