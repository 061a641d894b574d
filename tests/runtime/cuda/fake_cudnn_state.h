// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptors of the fake cuDNN. Of its own sources only.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CUDNN_STATE_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CUDNN_STATE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "runtime/cuda/library_apis.h"
#include "tests/runtime/cuda/fake_convolution.h"

namespace commsched::runtime::cuda::fake_cudnn {

// Numbers are those of NVIDIA's header, written once more: the runtime's own are what is checked.
enum Status {
  kOk = 0,
  kBadParam = 2000,
  kNotFinalized = 2004,
  kWrongShape = 2008,
  kWrongType = 2010,
  kNotSupported = 3000,
  kWrongLayout = 3004,
  kWrongPadding = 3011,
  kFailed = 5000
};
enum Type {
  kConvolutionPart = 1,
  kEngine = 2,
  kConfig = 3,
  kHeuristics = 4,
  kPlan = 5,
  kForward = 10,
  kBackwardFilter = 11,
  kBackwardData = 12,
  kGraph = 15,
  kPack = 16,
  kTensor = 17
};
enum AttributeType {
  kOfHandle = 0,
  kOfDataType = 1,
  kOfInt64 = 3,
  kOfFloat = 4,
  kOfDouble = 5,
  kOfPointer = 6,
  kOfMode = 7,
  kOfHeuristics = 8,
  kOfNote = 11,
  kOfDescriptor = 15
};
struct State {
  int type = 0;
  bool finalized = false;
  struct Value {
    int type = 0;
    std::vector<std::byte> bytes;
    std::vector<std::shared_ptr<State>> parts;
  };
  std::map<int, Value> values;
  int engine = -1;               // of an engine, a configuration, a plan
  std::shared_ptr<State> graph;  // of those
  std::vector<int> proposed;     // of heuristics
  uint64_t workspace = 0;        // of a plan
};
using Shared = std::shared_ptr<State>;
inline Shared &Of(CudnnDescriptor descriptor) { return *static_cast<Shared *>(descriptor); }

// Of the type of an attribute.
size_t SizeOf(int type);
template <typename T>
std::vector<T> Values(const State &state, int name) {
  const auto at = state.values.find(name);
  if (at == state.values.end()) return {};
  std::vector<T> values(at->second.bytes.size() / sizeof(T));
  std::memcpy(values.data(), at->second.bytes.data(), values.size() * sizeof(T));
  return values;
}
// The only descriptor that the attribute `name` has; null if there is none, or several.
Shared Part(const State &state, int name);
bool Has(const State &state, int name, int type, size_t count);

// The convolution of a finalized graph of operations.
Convolution ConvolutionOf(const State &graph);

// fake_cudnn_descriptors.cc: makes a descriptor final, or says as a Status what is wrong in it.
int FinalizeState(State *state);

// fake_cudnn_engines.cc: what heuristics propose for a graph, and what a plan can be made of.
int FinalizeHeuristics(State *state);
int FinalizePlan(State *state);
std::vector<int> NotesOf(int engine, ops::Element element);
// How many parts an engine's sums have, and how its results are wrong in run `run`.
uint64_t PartsOf(int engine, const Convolution &convolution);
ConvolutionFlaws FlawsOf(int engine, uint64_t run);

}  // namespace commsched::runtime::cuda::fake_cudnn

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CUDNN_STATE_H
