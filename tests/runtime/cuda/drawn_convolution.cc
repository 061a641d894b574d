// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/drawn_convolution.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace commsched::runtime::cuda {
namespace {

using Numbers = std::vector<int64_t>;

// By role, whatever the order of the operands is.
constexpr size_t kSource = 0, kWeights = 1, kDestination = 2;
std::array<size_t, 3> OperandsOf(const std::string &kind) {
  if (kind == "convolution_forward") return {0, 1, 2};
  if (kind == "convolution_backward_data") return {2, 1, 0};
  return {0, 2, 1};
}

}  // namespace

ops::KernelDesc DrawConvolution(std::mt19937_64 &random, ConvolutionOddity oddity) {
  using ops::Element;
  const auto draw = [&](uint64_t below) { return int64_t(random() % below); };
  ops::KernelDesc kernel;
  constexpr const char *kKinds[] = {"convolution_forward", "convolution_backward_data",
                                    "convolution_backward_weights"};
  kernel.kind = kKinds[draw(3)];
  kernel.accumulate = draw(3) == 0;
  constexpr std::pair<Element, Element> kTypes[] = {
      {Element::kF32, Element::kF32}, {Element::kF64, Element::kF64}, {Element::kF16, Element::kF16}, {Element::kF16, Element::kF32}, {Element::kBF16, Element::kBF16}, {Element::kBF16, Element::kF32}};
  const auto [input, output] = kTypes[draw(2) == 0 ? 0 : draw(6)];
  const size_t spatial = size_t(1 + draw(3));
  const int64_t groups = draw(3) == 0 ? 1 + draw(3) : 1, channels = 1 + draw(3), features = 1 + draw(3);
  Numbers dims[3];
  dims[kSource] = {1 + draw(3), groups * channels};
  dims[kWeights] = {groups * features, channels};
  dims[kDestination] = {dims[kSource][0], groups * features};
  Numbers strides, dilations, low, high;
  const auto most = int64_t(spatial == 3 ? 4 : 6);
  for (size_t d = 0; d < spatial; ++d) {
    // A window that fits.
    while (true) {
      const int64_t size = 1 + draw(uint64_t(most)), window = 1 + draw(3), stride = 1 + draw(3),
                    dilation = 1 + draw(2), pad = draw(3);
      const int64_t more = oddity == ConvolutionOddity::kPadding && d == 0 ? 1 + draw(2) : 0;
      const int64_t room = size + 2 * pad + more - ((window - 1) * dilation + 1);
      if (room < 0) continue;
      strides.push_back(stride);
      dilations.push_back(dilation);
      low.push_back(pad);
      high.push_back(pad + more);
      dims[kSource].push_back(size);
      dims[kWeights].push_back(window);
      dims[kDestination].push_back(room / stride + 1);
      break;
    }
  }
  const auto put = [&](const char *name, const Numbers &values, int64_t absent) {
    if (draw(2) == 0 || std::any_of(values.begin(), values.end(), [&](int64_t v) { return v != absent; }))
      kernel.attributes[name] = values;
  };
  put("strides", strides, 1);
  put("dilations", dilations, 1);
  put("pad_low", low, 0);
  put("pad_high", high, 0);
  put("groups", {groups}, 1);

  const std::array<size_t, 3> operands = OperandsOf(kernel.kind);
  kernel.operands.resize(3);
  const bool last = draw(2) == 0;
  for (size_t role = 0; role < 3; ++role) {
    ops::KernelOperand &operand = kernel.operands[operands[role]];
    operand.element = operands[role] == 2 ? output : input;
    operand.dims = dims[role];
    const size_t rank = operand.dims.size();
    std::vector<size_t> order;  // from the innermost
    if (last) order.push_back(1);
    for (size_t d = rank; d-- > 2;) order.push_back(d);
    if (!last) order.push_back(1);
    order.push_back(0);
    operand.strides.assign(rank, 1);
    int64_t stride = 1;
    for (size_t d : order) {
      operand.strides[d] = stride;
      stride *= operand.dims[d];
      if (operand.dims[d] == 1 && draw(2) == 0) operand.strides[d] = draw(20);
    }
  }
  if (oddity == ConvolutionOddity::kGaps) {
    std::vector<size_t> some;  // of several elements
    for (size_t i = 0; i < 3; ++i)
      if (std::any_of(kernel.operands[i].dims.begin(), kernel.operands[i].dims.end(),
                      [](int64_t size) { return size > 1; }))
        some.push_back(i);
    if (some.empty()) return DrawConvolution(random, oddity);
    for (int64_t &stride : kernel.operands[some[size_t(draw(some.size()))]].strides) stride *= 2;
  }
  return kernel;
}

std::string CheckConvolutionOutput(const ops::KernelDesc &kernel, const std::vector<DrawnOperand> &before,
                                   const std::vector<std::byte> &after) {
  const std::array<size_t, 3> operands = OperandsOf(kernel.kind);
  const auto dims = [&](size_t role) -> const Numbers & { return kernel.operands[operands[role]].dims; };
  const size_t rank = dims(kSource).size();
  const auto attribute = [&](const char *name, int64_t absent) {
    const auto at = kernel.attributes.find(name);
    return at == kernel.attributes.end() ? Numbers(rank - 2, absent) : at->second;
  };
  const Numbers strides = attribute("strides", 1), dilations = attribute("dilations", 1), low = attribute("pad_low", 0);
  const int64_t groups = attribute("groups", 1)[0];
  // Which elements meet: every pair of a source's and a destination's element, and the weight between them, if
  // there is one.
  using Triple = std::array<Numbers, 3>;
  std::vector<std::pair<Numbers, Triple>> met;  // by the output's element
  const auto all = [](const Numbers &sizes, const auto &visit) {
    int64_t count = 1;
    for (int64_t size : sizes) count *= size;
    for (int64_t i = 0; i < count; ++i) {
      Numbers index(sizes.size());
      int64_t rest = i;
      for (size_t d = 0; d < sizes.size(); ++d) {
        index[d] = rest % sizes[d];
        rest /= sizes[d];
      }
      visit(index);
    }
  };
  const size_t written = operands[kSource] == 2 ? kSource : operands[kWeights] == 2 ? kWeights
                                                                                    : kDestination;
  all(dims(kSource), [&](const Numbers &source) {
    all(dims(kDestination), [&](const Numbers &destination) {
      if (source[0] != destination[0]) return;
      Numbers weight(rank);
      const int64_t group = source[1] / (dims(kSource)[1] / groups);
      if (group != destination[1] / (dims(kDestination)[1] / groups)) return;
      weight[0] = destination[1];
      weight[1] = source[1] % (dims(kSource)[1] / groups);
      for (size_t d = 2; d < rank; ++d) {
        // source = destination stride - low + weight dilation
        const int64_t behind = source[d] + low[d - 2] - destination[d] * strides[d - 2];
        if (behind < 0 || behind % dilations[d - 2] != 0) return;
        weight[d] = behind / dilations[d - 2];
        if (weight[d] >= dims(kWeights)[d]) return;
      }
      const Triple triple = {source, weight, destination};
      met.emplace_back(triple[written], triple);
    });
  });
  std::sort(met.begin(), met.end());
  return CheckSums(kernel, before, after, [&](const Numbers &element, const AddTerm &add) {
    for (auto at = std::lower_bound(met.begin(), met.end(), element,
                                    [](const auto &one, const Numbers &other) { return one.first < other; });
         at != met.end() && at->first == element; ++at) {
      const Numbers *factors[3] = {};
      for (size_t role = 0; role < 3; ++role) factors[operands[role]] = &at->second[role];
      add(*factors[0], *factors[1]);
    }
  });
}

}  // namespace commsched::runtime::cuda
