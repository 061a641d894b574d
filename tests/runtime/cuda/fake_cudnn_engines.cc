// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/runtime/cuda/fake_cudnn_state.h"

namespace commsched::runtime::cuda::fake_cudnn {
namespace {

enum Engine {
  kFast,
  kTensorFloat,
  kFourByFour,
  kHalfSums,
  kUnheardOf,
  kGreedy,
  kUnmakeable,
  kParts,
  kPlain
};

uint64_t Hash(const Convolution &convolution) {
  uint64_t hash = 1469598103934665603u;
  for (const ConvolutionTensor *tensor : {&convolution.x, &convolution.w, &convolution.y})
    for (int64_t size : tensor->dims) hash = (hash ^ uint64_t(size)) * 1099511628211u;
  return hash;
}

int Supported(const Convolution &convolution) {
  const auto dense = [&](bool channels_last) {
    return convolution.x.Dense(channels_last) && convolution.w.Dense(channels_last) && convolution.y.Dense(channels_last);
  };
  if (!dense(true) && !dense(false)) return kWrongLayout;
  return convolution.low == convolution.high ? kOk : kWrongPadding;
}

}  // namespace

std::vector<int> NotesOf(int engine, ops::Element element) {
  switch (engine) {
    case kFast: return {4, 9};
    case kTensorFloat: return {0, 1};
    case kFourByFour: return {5, 6};
    case kHalfSums: return {2};
    case kUnheardOf: return {11};
    case kParts: return element == ops::Element::kF32 ? std::vector<int>{9} : std::vector<int>{0, 9};
    default: return {};
  }
}

uint64_t PartsOf(int engine, const Convolution &convolution) {
  return engine == kParts ? uint64_t(2 + convolution.x.dims[0] % 3) : 1;
}

ConvolutionFlaws FlawsOf(int engine, uint64_t run) {
  return {.inputs_as_bf16 = engine == kTensorFloat,
          .sums_as_bf16 = engine == kHalfSums,
          .factor = engine == kFast                                 ? 1 + 1e-3 * double(run % 3)
                    : engine == kFourByFour || engine == kUnheardOf ? 1 - 1e-2
                                                                    : 1};
}

int FinalizeHeuristics(State *state) {
  const Shared graph = Part(*state, 201);
  if (graph == nullptr || graph->type != kGraph || !Has(*state, 200, kOfHeuristics, 1))
    return kBadParam;
  const Convolution problem = ConvolutionOf(*graph);
  const bool fallback = Values<int>(*state, 200)[0] == 2;
  state->graph = graph;
  if (fallback) {
    state->proposed = {kFast, kPlain};
    return kOk;
  }
  if (Supported(problem) == kWrongLayout) return kNotSupported;
  const uint64_t hash = Hash(problem);
  state->proposed = {kFast, kTensorFloat, kFourByFour, kHalfSums, kUnheardOf, kGreedy, kUnmakeable};
  std::rotate(state->proposed.begin(), state->proposed.begin() + ptrdiff_t(hash % 7), state->proposed.end());
  if (hash / 7 % 4 != 0) state->proposed.push_back(kParts);
  return kOk;
}
int FinalizePlan(State *state) {
  const Shared config = Part(*state, 401);
  if (config == nullptr || config->type != kConfig || !Has(*state, 400, kOfHandle, 1)) return kBadParam;
  state->engine = config->engine;
  state->graph = config->graph;
  const Convolution problem = ConvolutionOf(*state->graph);
  if (const int supported = Supported(problem); supported != kOk) return supported;
  if (state->engine == kUnmakeable) return kNotSupported;
  if (state->engine == kGreedy) state->workspace = uint64_t{1} << 40;
  if (state->engine == kParts)
    state->workspace = problem.Elements() * PartsOf(kParts, problem) * (problem.f64 ? 8 : 4);
  return kOk;
}

}  // namespace commsched::runtime::cuda::fake_cudnn
