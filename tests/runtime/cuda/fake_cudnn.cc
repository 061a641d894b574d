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

#include "tests/runtime/cuda/fake_cublaslt.h"
#include "tests/runtime/cuda/fake_cudnn_state.h"
#include "tests/runtime/cuda/fake_impl.h"
#include "tests/runtime/cuda/fake_library.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {
namespace fake_cudnn {
namespace {

std::atomic<size_t> live{0};
std::atomic<uint64_t> runs{0};

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
int Finalize(CudnnDescriptor descriptor) { return FinalizeState(Of(descriptor).get()); }
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
    const std::vector<int> notes = NotesOf(state.engine, ConvolutionOf(*state.graph).x.element);
    status = give(kOfNote, int64_t(notes.size()));
    if (status == kOk && most != 0) std::copy_n(notes.begin(), *count, static_cast<int *>(values));
  } else if (state.type == kPlan && name == 402) {
    status = give(kOfInt64, 1);
    if (status == kOk && most != 0) *static_cast<int64_t *>(values) = int64_t(state.workspace);
  }
  return status;
}

Bytes RangeOf(const ConvolutionTensor &tensor, const void *begin) {
  const uint64_t at = reinterpret_cast<uintptr_t>(begin);
  return {at, at + uint64_t(tensor.Reach()) * ops::ElementBytes(tensor.element)};
}

int Execute(CudnnHandle handle, CudnnDescriptor plan_descriptor, CudnnDescriptor pack_descriptor) {
  const State &plan = *Of(plan_descriptor), &pack = *Of(pack_descriptor);
  if (handle == nullptr || plan.type != kPlan || pack.type != kPack) return kBadParam;
  if (!plan.finalized || !pack.finalized) return kNotFinalized;
  const Convolution problem = ConvolutionOf(*plan.graph);
  const auto pointers = Values<std::byte *>(pack, 1001);
  const auto ids = Values<int64_t>(pack, 1000);
  const auto pointer = [&](const ConvolutionTensor &tensor) -> std::byte * {
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
  work.body = [=, flaws = FlawsOf(plan.engine, runs++), parts = PartsOf(plan.engine, problem)] {
    ComputeConvolution(problem, flaws, x, w, y, workspace, parts);
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
