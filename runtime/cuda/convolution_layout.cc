// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/convolution_layout.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "runtime/cuda/matmul_layout.h"

namespace commsched::runtime::cuda {
namespace {

using Numbers = std::vector<int64_t>;

// From the outermost dimension to the innermost.
Numbers StridesOf(const ConvolutionTensor &tensor, bool channels_last) {
  const size_t rank = tensor.dims.size();
  std::vector<size_t> order = {0};
  if (!channels_last) order.push_back(1);
  for (size_t d = 2; d < rank; ++d) order.push_back(d);
  if (channels_last) order.push_back(1);
  Numbers strides(rank);
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[order[i]] = stride;
    stride *= tensor.dims[order[i]];
  }
  return strides;
}
bool LiesSo(const ConvolutionTensor &tensor, bool channels_last) {
  const Numbers strides = StridesOf(tensor, channels_last);
  for (size_t d = 0; d < strides.size(); ++d)
    if (tensor.dims[d] != 1 && tensor.strides[d] != strides[d]) return false;
  return true;
}

// One that is in no dense order: what lies within is stepped over.
void StepOver(ConvolutionTensor *tensor) {
  for (size_t d = 0; d < tensor->dims.size(); ++d) {
    if (tensor->dims[d] != 1) continue;
    tensor->strides[d] = 1;
    for (size_t e = 0; e < tensor->dims.size(); ++e)
      if (tensor->dims[e] != 1)
        tensor->strides[d] = std::max(tensor->strides[d], tensor->dims[e] * tensor->strides[e]);
  }
}

}  // namespace

absl::StatusOr<ConvolutionLayout> LayoutOfConvolution(const ops::KernelDesc &kernel) {
  using ops::Element;
  const auto refuse = [](const char *what) { return absl::UnimplementedError(what); };
  absl::StatusOr<ops::ConvolutionShape> shape = ops::ParseConvolution(kernel);
  if (!shape.ok()) return shape.status();
  const Element input = kernel.operands[0].element, output = kernel.operands[2].element;
  const bool half = input == Element::kF16 || input == Element::kBF16;
  if (input != kernel.operands[1].element ||
      !(half || input == Element::kF32 || input == Element::kF64) ||
      !(output == input || (half && output == Element::kF32)))
    return refuse("element types must be f64, f32, f16 or bf16, the same of all, or f32 of the output");
  for (const ops::KernelOperand &operand : kernel.operands) {
    for (size_t d = 0; d < operand.dims.size(); ++d) {
      if (operand.dims[d] > std::numeric_limits<int32_t>::max())
        return refuse("sizes must be less than 2^31");
      if (operand.dims[d] > 1 && operand.strides[d] == 0)
        return refuse("operands must not repeat elements");
    }
  }
  if (Overlaps(kernel.operands[2])) return refuse("elements of the output must not overlap");

  ConvolutionLayout result;
  result.kind = shape->kind;
  result.accumulate = kernel.accumulate;
  result.strides = shape->strides;
  result.dilations = shape->dilations;
  result.pad_low = shape->pad_low;
  result.pad_high = shape->pad_high;
  const bool line = shape->spatial == 1;
  if (line) {
    for (Numbers *ones : {&result.strides, &result.dilations}) ones->insert(ones->begin(), 1);
    for (Numbers *zeros : {&result.pad_low, &result.pad_high}) zeros->insert(zeros->begin(), 0);
  }
  ConvolutionTensor *const tensors[] = {&result.source, &result.weights, &result.destination};
  const size_t operands[] = {shape->source, shape->weights, shape->destination};
  for (size_t i = 0; i < 3; ++i) {
    const ops::KernelOperand &operand = kernel.operands[operands[i]];
    *tensors[i] = {operands[i], operand.element, operand.dims, operand.strides};
    if (!line) continue;
    tensors[i]->dims.insert(tensors[i]->dims.begin() + 2, 1);
    tensors[i]->strides.insert(tensors[i]->strides.begin() + 2, 1);
  }
  for (bool channels_last : {true, false}) {
    if (!std::all_of(std::begin(tensors), std::end(tensors),
                     [&](const ConvolutionTensor *each) { return LiesSo(*each, channels_last); }))
      continue;
    for (ConvolutionTensor *tensor : tensors) tensor->strides = StridesOf(*tensor, channels_last);
    return result;
  }
  for (ConvolutionTensor *tensor : tensors) StepOver(tensor);
  return result;
}

}  // namespace commsched::runtime::cuda
