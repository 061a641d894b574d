// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/fake_cudnn.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/base/element.h"
#include "tests/runtime/cuda/fake_cublaslt.h"
#include "tests/runtime/cuda/fake_impl.h"
#include "tests/runtime/cuda/fake_library.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {
namespace fake_cudnn {
namespace {

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

std::atomic<size_t> live{0};
std::atomic<uint64_t> runs{0};

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
Shared &Of(CudnnDescriptor descriptor) { return *static_cast<Shared *>(descriptor); }

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
template <typename T>
std::vector<T> Values(const State &state, int name) {
  const auto at = state.values.find(name);
  if (at == state.values.end()) return {};
  std::vector<T> values(at->second.bytes.size() / sizeof(T));
  std::memcpy(values.data(), at->second.bytes.data(), values.size() * sizeof(T));
  return values;
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

using Numbers = std::vector<int64_t>;
struct Tensor {
  Numbers dims, strides;
  int64_t id = 0, alignment = 1;
  ops::Element element = ops::Element::kF32;

  int64_t At(const Numbers &index) const {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
    return at;
  }
  bool Dense(bool last) const {
    int64_t expected = 1;
    const auto dense = [&](size_t d) {
      const bool well = dims[d] == 1 || strides[d] == expected;
      expected *= dims[d];
      return well;
    };
    if (last && !dense(1)) return false;
    for (size_t d = dims.size(); d-- > 2;)
      if (!dense(d)) return false;
    return (last || dense(1)) && dense(0);
  }
};
// By value: descriptors may be gone when it runs.
struct Problem {
  int kind = 0;
  Tensor x, w, y;
  Numbers strides, dilations, low, high;
  bool flips = false, f64 = false;
  double alpha = 1, beta = 0;

  const Tensor &Output() const { return kind == kForward ? y : kind == kBackwardData ? x
                                                                                     : w; }
  int64_t Elements() const {
    int64_t count = 1;
    for (int64_t size : Output().dims) count *= size;
    return count;
  }
  uint64_t Parts() const { return uint64_t(2 + x.dims[0] % 3); }
  uint64_t Hash() const {
    uint64_t hash = 1469598103934665603u;
    for (const Tensor *tensor : {&x, &w, &y})
      for (int64_t size : tensor->dims) hash = (hash ^ uint64_t(size)) * 1099511628211u;
    return hash;
  }
  int Supported() const {
    if (!(x.Dense(true) && w.Dense(true) && y.Dense(true)) &&
        !(x.Dense(false) && w.Dense(false) && y.Dense(false)))
      return kWrongLayout;
    return low == high ? kOk : kWrongPadding;
  }
};

Tensor TensorOf(const State &state) {
  Tensor tensor;
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
Problem ProblemOf(const State &graph) {
  const State &operation = *Part(graph, 801);
  const Names names = NamesOf(operation.type);
  const State &convolution = *Part(operation, names.convolution);
  Problem problem;
  problem.kind = operation.type;
  problem.x = TensorOf(*Part(operation, names.x));
  problem.w = TensorOf(*Part(operation, names.w));
  problem.y = TensorOf(*Part(operation, names.y));
  problem.strides = Values<int64_t>(convolution, 103);
  problem.dilations = Values<int64_t>(convolution, 102);
  problem.low = Values<int64_t>(convolution, 105);
  problem.high = Values<int64_t>(convolution, 104);
  problem.flips = Values<int>(convolution, 101)[0] == 0;
  problem.f64 = Values<int>(convolution, 100)[0] == 1;
  const auto factor = [&](int name) {
    return operation.values.at(name).type == kOfDouble ? Values<double>(operation, name)[0]
                                                       : double(Values<float>(operation, name)[0]);
  };
  problem.alpha = factor(names.alpha);
  problem.beta = factor(names.beta);
  return problem;
}

int FinalizeTensor(const State &state) {
  const size_t rank = Values<int64_t>(state, 902).size();
  if (!Has(state, 901, kOfDataType, 1) || !Has(state, 902, kOfInt64, rank) ||
      !Has(state, 903, kOfInt64, rank) || !Has(state, 906, kOfInt64, 1) || !Has(state, 900, kOfInt64, 1) ||
      rank < 4 || rank > 5)
    return kBadParam;
  const Tensor tensor = TensorOf(state);
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
  const Problem p = ProblemOf(graph);
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

int FinalizeHeuristics(State *state) {
  const Shared graph = Part(*state, 201);
  if (graph == nullptr || graph->type != kGraph || !Has(*state, 200, kOfHeuristics, 1))
    return kBadParam;
  const Problem problem = ProblemOf(*graph);
  const bool fallback = Values<int>(*state, 200)[0] == 2;
  state->graph = graph;
  if (fallback) {
    state->proposed = {kFast, kPlain};
    return kOk;
  }
  if (problem.Supported() == kWrongLayout) return kNotSupported;
  const uint64_t hash = problem.Hash();
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
  const Problem problem = ProblemOf(*state->graph);
  if (const int supported = problem.Supported(); supported != kOk) return supported;
  if (state->engine == kUnmakeable) return kNotSupported;
  if (state->engine == kGreedy) state->workspace = uint64_t{1} << 40;
  if (state->engine == kParts)
    state->workspace = uint64_t(problem.Elements()) * problem.Parts() * (problem.f64 ? 8 : 4);
  return kOk;
}
int FinalizePack(const State &state) {
  const size_t count = Values<int64_t>(state, 1000).size();
  return Has(state, 1001, kOfPointer, count) && Has(state, 1003, kOfPointer, 1) && count == 3 ? kOk
                                                                                              : kBadParam;
}

size_t GetVersion() { return 91900; }
const char *GetErrorString(int status) {
  switch (status) {
    case kOk: return "CUDNN_STATUS_SUCCESS";
    case kNotFinalized: return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case kWrongShape: return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
    case kWrongType: return "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE";
    case kNotSupported: return "CUDNN_STATUS_NOT_SUPPORTED";
    case kWrongLayout: return "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT";
    case kWrongPadding: return "CUDNN_STATUS_NOT_SUPPORTED_PADDING";
    case kFailed: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "CUDNN_STATUS_BAD_PARAM";
  }
}
struct Handle {
  Stream stream = nullptr;
};
int Create(CudnnHandle *handle) {
  if (ThisThread().device < 0) return 1001;
  ++live;
  *handle = reinterpret_cast<CudnnHandle>(new Handle);
  return kOk;
}
int DestroyHandle(CudnnHandle handle) {
  --live;
  delete reinterpret_cast<Handle *>(handle);
  return kOk;
}
int SetStream(CudnnHandle handle, Stream stream) {
  reinterpret_cast<Handle *>(handle)->stream = stream;
  return kOk;
}
int DescriptorCreate(int type, CudnnDescriptor *made) {
  ++live;
  auto *shared = new Shared(std::make_shared<State>());
  (*shared)->type = type;
  *made = shared;
  return kOk;
}
int DescriptorDestroy(CudnnDescriptor descriptor) {
  if (descriptor == nullptr) return kBadParam;
  --live;
  delete static_cast<Shared *>(descriptor);
  return kOk;
}
int DescriptorSet(CudnnDescriptor descriptor, int name, int type, int64_t count, const void *values) {
  State &state = *Of(descriptor);
  if (state.finalized || count < 1 || values == nullptr) return kBadParam;
  State::Value value;
  value.type = type;
  value.bytes.resize(size_t(count) * SizeOf(type));
  std::memcpy(value.bytes.data(), values, value.bytes.size());
  if (type == kOfDescriptor) {
    for (int64_t i = 0; i < count; ++i) {
      const Shared part = Of(static_cast<const CudnnDescriptor *>(values)[i]);
      if (!part->finalized) return kNotFinalized;
      value.parts.push_back(part);
    }
  }
  state.values[name] = std::move(value);
  return kOk;
}
int Finalize(CudnnDescriptor descriptor) {
  State &state = *Of(descriptor);
  if (state.finalized) return kBadParam;
  int status = kBadParam;
  switch (state.type) {
    case kTensor: status = FinalizeTensor(state); break;
    case kConvolutionPart: status = FinalizeConvolution(state); break;
    case kForward:
    case kBackwardData:
    case kBackwardFilter: status = FinalizeOperation(state); break;
    case kGraph:
      status = Part(state, 801) != nullptr && Has(state, 800, kOfHandle, 1) ? kOk : kBadParam;
      break;
    case kHeuristics: status = FinalizeHeuristics(&state); break;
    case kPlan: status = FinalizePlan(&state); break;
    case kPack: status = FinalizePack(state); break;
    default: break;  // configurations and engines are only asked for
  }
  state.finalized = status == kOk;
  return status;
}
int DescriptorGet(CudnnDescriptor descriptor, int name, int type, int64_t most, int64_t *count,
                  void *values) {
  const State &state = *Of(descriptor);
  if (!state.finalized) return kNotFinalized;
  const auto give = [&](int wanted, int64_t have) {
    if (type != wanted) return int(kWrongType);
    *count = most == 0 ? have : std::min(have, most);
    return most != 0 && values == nullptr ? int(kBadParam) : int(kOk);
  };
  int status = kBadParam;
  if (state.type == kHeuristics && name == 202) {
    status = give(kOfDescriptor, int64_t(state.proposed.size()));
    for (int64_t i = 0; status == kOk && most != 0 && i < *count; ++i) {
      State &config = *Of(static_cast<CudnnDescriptor *>(values)[i]);
      if (config.type != kConfig) return kBadParam;
      config.finalized = true;
      config.engine = state.proposed[size_t(i)];
      config.graph = state.graph;
    }
  } else if (state.type == kConfig && name == 300) {
    status = give(kOfDescriptor, 1);
    if (status == kOk && most != 0) {
      State &engine = *Of(*static_cast<CudnnDescriptor *>(values));
      if (engine.type != kEngine) return kBadParam;
      engine.finalized = true;
      engine.engine = state.engine;
      engine.graph = state.graph;
    }
  } else if (state.type == kEngine && name == 1303) {
    const std::vector<int> notes = NotesOf(state.engine, ProblemOf(*state.graph).x.element);
    status = give(kOfNote, int64_t(notes.size()));
    if (status == kOk && most != 0) std::copy_n(notes.begin(), *count, static_cast<int *>(values));
  } else if (state.type == kPlan && name == 402) {
    status = give(kOfInt64, 1);
    if (status == kOk && most != 0) *static_cast<int64_t *>(values) = int64_t(state.workspace);
  }
  return status;
}

// All indices of `dims`, the last dimension first.
bool Next(Numbers *index, const Numbers &dims) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++(*index)[d] < dims[d]) return true;
    (*index)[d] = 0;
  }
  return false;
}

template <typename Sum>
void Compute(const Problem &p, int engine, std::byte *x, std::byte *w, std::byte *y, Sum *partial,
             uint64_t parts, uint64_t run) {
  const auto size = [](const Tensor &tensor) { return int64_t(ops::ElementBytes(tensor.element)); };
  const auto read = [&](const Tensor &tensor, const std::byte *memory, const Numbers &index) {
    const double value = ReadNumber(tensor.element, memory + tensor.At(index) * size(tensor));
    if (engine != kTensorFloat) return Sum(value);
    std::byte rounded[2];
    WriteNumber(ops::Element::kBF16, value, rounded);
    return Sum(ReadNumber(ops::Element::kBF16, rounded));
  };
  const Tensor &output = p.Output();
  std::fill_n(partial, uint64_t(p.Elements()) * parts, Sum(0));
  // Where an element's sums are, whatever its strides are.
  const auto place = [&](const Numbers &index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at = at * output.dims[d] + index[d];
    return uint64_t(at) * parts;
  };
  const int64_t groups = p.x.dims[1] / p.w.dims[1], of_group = p.w.dims[0] / groups;
  uint64_t part = 0;
  // Outside of the loops: each would be allocated again and again.
  Numbers at_y(p.y.dims.size(), 0), at_w, at_x, kernel, dims;
  do {
    at_w.assign(p.w.dims.size(), 0);
    at_w[0] = at_y[1];
    dims = p.w.dims;
    dims[0] = at_y[1] + 1;  // the output's channel only
    do {
      at_x = at_y;
      kernel = at_w;
      at_x[1] = at_y[1] / of_group * p.w.dims[1] + at_w[1];
      bool inside = true;
      for (size_t d = 2; d < at_x.size(); ++d) {
        at_x[d] = at_y[d] * p.strides[d - 2] + at_w[d] * p.dilations[d - 2] - p.low[d - 2];
        inside &= at_x[d] >= 0 && at_x[d] < p.x.dims[d];
        if (p.flips) kernel[d] = p.w.dims[d] - 1 - at_w[d];
      }
      if (!inside) continue;
      const uint64_t sum =
          p.kind == kForward        ? place(at_y)
          : p.kind == kBackwardData ? place(at_x)
                                    : place(kernel);
      const Sum product = p.kind == kForward        ? read(p.x, x, at_x) * read(p.w, w, kernel)
                          : p.kind == kBackwardData ? read(p.y, y, at_y) * read(p.w, w, kernel)
                                                    : read(p.x, x, at_x) * read(p.y, y, at_y);
      partial[sum + part++ % parts] += product;
    } while (Next(&at_w, dims) && at_w[0] == at_y[1]);
  } while (Next(&at_y, p.y.dims));

  std::byte *memory = p.kind == kForward ? y : p.kind == kBackwardData ? x
                                                                       : w;
  Numbers index(output.dims.size(), 0);
  do {
    Sum sum = 0;
    for (uint64_t i = 0; i < parts; ++i) sum += partial[place(index) + i];
    if (engine == kFast) sum *= Sum(1 + 1e-3 * double(run % 3));
    if (engine == kFourByFour || engine == kUnheardOf) sum *= Sum(1 - 1e-2);
    if (engine == kHalfSums) {
      std::byte rounded[2];
      WriteNumber(ops::Element::kBF16, double(sum), rounded);
      sum = Sum(ReadNumber(ops::Element::kBF16, rounded));
    }
    std::byte *at = memory + output.At(index) * size(output);
    sum *= Sum(p.alpha);
    if (p.beta != 0) sum += Sum(p.beta) * Sum(ReadNumber(output.element, at));
    WriteNumber(output.element, double(sum), at);
  } while (Next(&index, output.dims));
}

Bytes RangeOf(const Tensor &tensor, const void *begin) {
  Numbers last = tensor.dims;
  for (int64_t &index : last) --index;
  const uint64_t at = reinterpret_cast<uintptr_t>(begin);
  return {at, at + (uint64_t(tensor.At(last)) + 1) * ops::ElementBytes(tensor.element)};
}

int Execute(CudnnHandle handle, CudnnDescriptor plan_descriptor, CudnnDescriptor pack_descriptor) {
  const State &plan = *Of(plan_descriptor), &pack = *Of(pack_descriptor);
  if (handle == nullptr || plan.type != kPlan || pack.type != kPack) return kBadParam;
  if (!plan.finalized || !pack.finalized) return kNotFinalized;
  const Problem problem = ProblemOf(*plan.graph);
  const auto pointers = Values<std::byte *>(pack, 1001);
  const auto ids = Values<int64_t>(pack, 1000);
  const auto pointer = [&](const Tensor &tensor) -> std::byte * {
    const auto at = std::find(ids.begin(), ids.end(), tensor.id);
    return at == ids.end() ? nullptr : pointers[size_t(at - ids.begin())];
  };
  std::byte *x = pointer(problem.x), *w = pointer(problem.w), *y = pointer(problem.y);
  auto *workspace = Values<std::byte *>(pack, 1003)[0];
  if (x == nullptr || w == nullptr || y == nullptr || (plan.workspace != 0 && workspace == nullptr) ||
      reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return kBadParam;
  FakeWork work;
  work.name = "a convolution";
  for (const auto &[tensor, memory] : {std::pair(&problem.x, x), std::pair(&problem.w, w), std::pair(&problem.y, y)}) {
    CheckAlignment(memory, size_t(tensor->alignment), "a tensor of a convolution");
    const bool output = tensor == &problem.Output();
    if (!output || problem.beta != 0) work.reads.push_back(RangeOf(*tensor, memory));
    if (output) work.writes.push_back(RangeOf(*tensor, memory));
  }
  if (plan.workspace != 0) {
    const uint64_t at = reinterpret_cast<uintptr_t>(workspace);
    work.writes.push_back({at, at + plan.workspace});
  }
  const bool parts = plan.engine == kParts;
  work.body = [=, engine = plan.engine, run = runs++] {
    const auto compute = [&](auto *sums) {
      using Sum = std::remove_pointer_t<decltype(sums)>;
      std::vector<Sum> own(parts ? 0 : size_t(problem.Elements()));
      Compute<Sum>(problem, engine, x, w, y, parts ? sums : own.data(), parts ? problem.Parts() : 1, run);
    };
    if (problem.f64)
      compute(reinterpret_cast<double *>(workspace));
    else
      compute(reinterpret_cast<float *>(workspace));
  };
  return EnqueueLibraryWork(std::move(work), reinterpret_cast<Handle *>(handle)->stream) ? kOk : kFailed;
}

const CudnnApi kApi = {.GetVersion = GetVersion,
                       .GetErrorString = GetErrorString,
                       .Create = Create,
                       .Destroy = DestroyHandle,
                       .SetStream = SetStream,
                       .DescriptorCreate = DescriptorCreate,
                       .DescriptorDestroy = DescriptorDestroy,
                       .DescriptorSet = DescriptorSet,
                       .DescriptorGet = DescriptorGet,
                       .DescriptorFinalize = Finalize,
                       .Execute = Execute};

}  // namespace
}  // namespace fake_cudnn

const CudnnApi &FakeCudnn() { return fake_cudnn::kApi; }

size_t LiveOfFakeCudnn() { return fake_cudnn::live; }

Libraries LibrariesWithFakeCudnn() {
  static const std::map<std::string, void *> symbols = [] {
    std::map<std::string, void *> all;
    const CudnnApi &api = FakeCudnn();
#define COMMSCHED_TEST_SYMBOL(result, name, symbol, parameters) \
  all[#symbol] = reinterpret_cast<void *>(api.name);
    COMMSCHED_CUDA_CUDNN_FUNCTIONS(COMMSCHED_TEST_SYMBOL)
#undef COMMSCHED_TEST_SYMBOL
    return all;
  }();
  const Libraries others = LibrariesWithFakeCublasLt();
  return {.open = [others](const char *file, std::string *why) -> void * {
            if (std::string(file) == "libcudnn.so.9") return &fake_cudnn::live;
            return others.open(file, why);
          },
          .symbol = [others](void *library, const char *symbol) -> void * {
            const auto at = symbols.find(symbol);
            return at == symbols.end() ? others.symbol(library, symbol) : at->second;
          }};
}

}  // namespace commsched::runtime::cuda
