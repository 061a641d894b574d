// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/runtime/cuda/fake_cudnn_state.h"

namespace commsched::runtime::cuda::fake_cudnn {

size_t SizeOf(int type) {
  switch (type) {
    case kOfHandle:
    case kOfInt64:
    case kOfDouble:
    case kOfPointer:
    case kOfDescriptor: return 8;
    default: return 4;
  }
}
Shared Part(const State &state, int name) {
  const auto at = state.values.find(name);
  return at == state.values.end() || at->second.parts.size() != 1 ? nullptr : at->second.parts[0];
}
bool Has(const State &state, int name, int type, size_t count) {
  const auto at = state.values.find(name);
  return at != state.values.end() && at->second.type == type &&
         at->second.bytes.size() == count * SizeOf(type);
}

namespace {

ConvolutionTensor TensorOf(const State &state) {
  ConvolutionTensor tensor;
  tensor.dims = Values<int64_t>(state, 902);
  tensor.strides = Values<int64_t>(state, 903);
  tensor.id = Values<int64_t>(state, 906)[0];
  tensor.alignment = Values<int64_t>(state, 900)[0];
  switch (Values<int>(state, 901)[0]) {
    case 1: tensor.element = ops::Element::kF64; break;
    case 2: tensor.element = ops::Element::kF16; break;
    case 9: tensor.element = ops::Element::kBF16; break;
    default: break;
  }
  return tensor;
}
// Alpha, beta, the convolution, and the tensors of weights, source and destination.
struct Names {
  int alpha, beta, convolution, w, x, y;
};
Names NamesOf(int kind) {
  return kind == kForward        ? Names{700, 701, 702, 703, 704, 705}
         : kind == kBackwardData ? Names{706, 707, 708, 709, 710, 711}
                                 : Names{712, 713, 714, 715, 716, 717};
}
}  // namespace

Convolution ConvolutionOf(const State &graph) {
  const State &operation = *Part(graph, 801);
  const Names names = NamesOf(operation.type);
  const State &convolution = *Part(operation, names.convolution);
  Convolution result;
  result.kind = operation.type == kForward        ? ConvolutionKind::kForward
                : operation.type == kBackwardData ? ConvolutionKind::kBackwardData
                                                  : ConvolutionKind::kBackwardFilter;
  result.x = TensorOf(*Part(operation, names.x));
  result.w = TensorOf(*Part(operation, names.w));
  result.y = TensorOf(*Part(operation, names.y));
  result.strides = Values<int64_t>(convolution, 103);
  result.dilations = Values<int64_t>(convolution, 102);
  result.low = Values<int64_t>(convolution, 105);
  result.high = Values<int64_t>(convolution, 104);
  result.flips = Values<int>(convolution, 101)[0] == 0;
  result.f64 = Values<int>(convolution, 100)[0] == 1;
  const auto factor = [&](int name) {
    return operation.values.at(name).type == kOfDouble ? Values<double>(operation, name)[0]
                                                       : double(Values<float>(operation, name)[0]);
  };
  result.alpha = factor(names.alpha);
  result.beta = factor(names.beta);
  return result;
}

namespace {

int FinalizeTensor(const State &state) {
  const size_t rank = Values<int64_t>(state, 902).size();
  if (!Has(state, 901, kOfDataType, 1) || !Has(state, 902, kOfInt64, rank) ||
      !Has(state, 903, kOfInt64, rank) || !Has(state, 906, kOfInt64, 1) || !Has(state, 900, kOfInt64, 1) ||
      rank < 4 || rank > 5)
    return kBadParam;
  const ConvolutionTensor tensor = TensorOf(state);
  if (tensor.alignment < 1 || (tensor.alignment & (tensor.alignment - 1)) != 0) return kBadParam;
  for (size_t d = 0; d < rank; ++d)
    if (tensor.dims[d] < 1 || tensor.strides[d] < 1) return kBadParam;
  return kOk;
}
int FinalizeConvolution(const State &state) {
  if (!Has(state, 106, kOfInt64, 1) || !Has(state, 100, kOfDataType, 1) || !Has(state, 101, kOfMode, 1))
    return kBadParam;
  const auto spatial = size_t(Values<int64_t>(state, 106)[0]);
  for (int name : {102, 103, 104, 105}) {
    if (!Has(state, name, kOfInt64, spatial)) return kBadParam;
    for (int64_t value : Values<int64_t>(state, name))
      if (value < (name < 104 ? 1 : 0)) return kBadParam;
  }
  return kOk;
}
int FinalizeOperation(const State &state) {
  const Names names = NamesOf(state.type);
  for (int name : {names.convolution, names.x, names.w, names.y}) {
    const Shared part = Part(state, name);
    if (part == nullptr || part->type != (name == names.convolution ? kConvolutionPart : kTensor))
      return kBadParam;
  }
  const bool f64 = Values<int>(*Part(state, names.convolution), 100)[0] == 1;
  for (int name : {names.alpha, names.beta})
    if (!Has(state, name, f64 ? kOfDouble : kOfFloat, 1)) return kWrongType;
  State graph;
  graph.values[801].parts = {std::make_shared<State>(state)};
  const Convolution p = ConvolutionOf(graph);
  const size_t rank = p.x.dims.size();
  if (p.w.dims.size() != rank || p.y.dims.size() != rank || p.strides.size() + 2 != rank)
    return kWrongShape;
  if (p.x.dims[0] != p.y.dims[0] || p.y.dims[1] != p.w.dims[0] || p.x.dims[1] % p.w.dims[1] != 0 ||
      p.w.dims[0] % (p.x.dims[1] / p.w.dims[1]) != 0)
    return kWrongShape;
  for (size_t d = 0; d + 2 < rank; ++d) {
    const int64_t room =
        p.x.dims[d + 2] + p.low[d] + p.high[d] - ((p.w.dims[d + 2] - 1) * p.dilations[d] + 1);
    if (room < 0 || p.y.dims[d + 2] != room / p.strides[d] + 1) return kWrongShape;
  }
  return kOk;
}

int FinalizePack(const State &state) {
  const size_t count = Values<int64_t>(state, 1000).size();
  return Has(state, 1001, kOfPointer, count) && Has(state, 1003, kOfPointer, 1) && count == 3 ? kOk
                                                                                              : kBadParam;
}

}  // namespace

int FinalizeState(State *state) {
  if (state->finalized) return kBadParam;
  int status = kBadParam;
  switch (state->type) {
    case kTensor: status = FinalizeTensor(*state); break;
    case kConvolutionPart: status = FinalizeConvolution(*state); break;
    case kForward:
    case kBackwardData:
    case kBackwardFilter: status = FinalizeOperation(*state); break;
    case kGraph:
      status = Part(*state, 801) != nullptr && Has(*state, 800, kOfHandle, 1) ? kOk : kBadParam;
      break;
    case kHeuristics: status = FinalizeHeuristics(state); break;
    case kPlan: status = FinalizePlan(state); break;
    case kPack: status = FinalizePack(*state); break;
    default: break;  // configurations and engines are only asked for
  }
  state->finalized = status == kOk;
  return status;
}

}  // namespace commsched::runtime::cuda::fake_cudnn
