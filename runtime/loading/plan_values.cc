// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/plan_values.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime {

absl::Status BadPlan(const std::string &where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::StatusOr<TensorInfo> ConvertType(const plan::TensorType &type,
                                       const std::string &where) {
  if (type.element() < plan::F64 || type.element() > plan::I1)
    return BadPlan(where,
                   absl::StrCat("unknown element type ", int(type.element())));
  TensorInfo info;
  info.element = ops::Element(type.element());
  uint64_t elements = 1;
  for (int64_t dim : type.shape()) {
    if (dim < 0 || __builtin_mul_overflow(elements, uint64_t(dim), &elements) ||
        elements > kMaxPlanBytes)
      return BadPlan(where, "the shape is too large or negative");
    info.shape.push_back(dim);
  }
  info.elements = int64_t(elements);
  info.bytes = elements * ops::ElementBytes(info.element);
  if (info.bytes > kMaxPlanBytes)
    return BadPlan(where, "the shape is too large");
  return info;
}

absl::StatusOr<ops::KernelDesc> ConvertKernel(const plan::Kernel &in,
                                              int index) {
  std::string where = absl::StrCat("kernel ", index, " \"", in.kind(), "\"");
  ops::KernelDesc desc;
  desc.kind = in.kind();
  desc.accumulate = in.accumulate();
  for (const plan::KernelTensor &t : in.operands()) {
    if (t.element() < plan::F64 || t.element() > plan::I1)
      return BadPlan(where, "unknown element type");
    if (t.dims_size() != t.strides_size() || t.dims_size() > 12)
      return BadPlan(where, "needs a stride for each dimension");
    ops::KernelOperand operand;
    operand.element = ops::Element(t.element());
    int64_t extent = 1, elements = 1;
    for (int d = 0; d < t.dims_size(); ++d) {
      int64_t reach = 0;
      if (t.dims(d) < 1 || t.strides(d) < 0 ||
          __builtin_mul_overflow(t.dims(d) - 1, t.strides(d), &reach) ||
          __builtin_add_overflow(extent, reach, &extent) ||
          __builtin_mul_overflow(elements, t.dims(d), &elements) ||
          extent > int64_t(kMaxPlanBytes) || elements > int64_t(kMaxPlanBytes))
        return BadPlan(where, "sizes must be positive and not too large");
    }
    operand.dims.assign(t.dims().begin(), t.dims().end());
    operand.strides.assign(t.strides().begin(), t.strides().end());
    desc.operands.push_back(std::move(operand));
  }
  for (const auto &[name, list] : in.attributes())
    desc.attributes[name].assign(list.values().begin(), list.values().end());
  if (absl::Status s = ops::CheckKernel(desc); !s.ok())
    return BadPlan(where, s.message());
  return desc;
}

}  // namespace commsched::runtime
