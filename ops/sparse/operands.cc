// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/operands.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace commsched::ops::sparse {
namespace {

bool IsValue(Element element) {
  return element == Element::kF32 || element == Element::kF16 ||
         element == Element::kBF16;
}

}  // namespace

int64_t Elements(const KernelOperand &operand) {
  int64_t elements = 1;
  for (int64_t dim : operand.dims) elements *= dim;
  return elements;
}
int64_t Rows(const KernelOperand &operand) { return operand.dims[0]; }
int64_t Width(const KernelOperand &operand) {
  return operand.dims.size() == 2 ? operand.dims[1] : 1;
}

absl::Status CheckOperands(const KernelDesc &desc,
                           const std::vector<Is> &operands,
                           std::initializer_list<const char *> attributes) {
  if (desc.operands.size() != operands.size())
    return absl::InvalidArgumentError(absl::StrCat(
        "needs ", operands.size(), " operands, got: ", desc.operands.size()));
  Element value{}, index{};
  size_t i = 0;
  for (Is is : operands) {
    const KernelOperand &operand = desc.operands[i];
    const std::string name = absl::StrCat("operand ", i++);
    if (operand.dims.empty() || operand.dims.size() > 2 ||
        operand.strides.size() != operand.dims.size())
      return absl::InvalidArgumentError(absl::StrCat(
          name, " must have 1 or 2 dimensions, got: ", operand.dims.size()));
    int64_t dense = 1;
    for (size_t d = operand.dims.size(); d-- > 0; dense *= operand.dims[d])
      if (operand.dims[d] > 1 && operand.strides[d] != dense)
        return absl::InvalidArgumentError(
            absl::StrCat(name, " must be dense, got strides: [",
                         absl::StrJoin(operand.strides, ","), "]"));
    const Element element = operand.element;
    const char *wanted = nullptr;
    switch (is) {
      case Is::kValue:
        if (!IsValue(element)) wanted = "f32, f16 or bf16";
        if (value == Element{}) value = element;
        if (element != value) wanted = ElementName(value);
        break;
      case Is::kIndex:
        if (element != Element::kI32 && element != Element::kI64)
          wanted = "i32 or i64";
        if (index == Element{}) index = element;
        if (element != index) wanted = ElementName(index);
        break;
      case Is::kCount:
        if (element != Element::kI64) wanted = "i64";
        break;
      case Is::kScale:
      case Is::kState:
        if (element != Element::kF32) wanted = "f32";
        break;
      case Is::kNumber:
        if (element != Element::kI32) wanted = "i32";
        break;
      case Is::kWords:
        if (!IsValue(element) && element != Element::kI8)
          wanted = "f32, f16, bf16 or i8";
        break;
      case Is::kCode:
        if (element != Element::kF16 && element != Element::kBF16 &&
            element != Element::kI8)
          wanted = "f16, bf16 or i8";
        break;
    }
    if (wanted != nullptr)
      return absl::InvalidArgumentError(absl::StrCat(
          name, " must be of type ", wanted, ", got: ", ElementName(element)));
  }
  for (const auto &[name, values] : desc.attributes) {
    bool known = false;
    for (const char *attribute : attributes) known = known || name == attribute;
    if (!known)
      return absl::InvalidArgumentError(
          absl::StrCat("unknown attribute \"", name, "\""));
    if (values.size() != 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute \"", name, "\" must have 1 value, got: ", values.size()));
  }
  return absl::OkStatus();
}

absl::Status CheckSame(const KernelDesc &desc, size_t a, size_t b) {
  if (desc.operands[a].dims == desc.operands[b].dims) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "operands ", a, " and ", b, " must have the same dimensions, got: [",
      absl::StrJoin(desc.operands[a].dims, ","), "] and [",
      absl::StrJoin(desc.operands[b].dims, ","), "]"));
}
absl::Status CheckLength(const KernelDesc &desc, size_t operand,
                         int64_t length) {
  if (desc.operands[operand].dims == std::vector<int64_t>{length})
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "operand ", operand, " must have the dimensions [", length, "], got: [",
      absl::StrJoin(desc.operands[operand].dims, ","), "]"));
}
absl::Status CheckList(const KernelDesc &desc, size_t indices, size_t values) {
  if (absl::Status s = CheckLength(desc, indices, Rows(desc.operands[indices]));
      !s.ok())
    return s;
  if (Rows(desc.operands[indices]) == Rows(desc.operands[values]))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("operand ", values, " must have as many rows as operand ",
                   indices, " has indices, ", Rows(desc.operands[indices]),
                   ", got: ", Rows(desc.operands[values])));
}

int64_t Attribute(const KernelDesc &desc, const char *name, int64_t otherwise) {
  auto it = desc.attributes.find(name);
  return it == desc.attributes.end() ? otherwise : it->second[0];
}

}  // namespace commsched::ops::sparse
