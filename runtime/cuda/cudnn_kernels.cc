// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/cudnn_kernels.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace commsched::runtime::cuda {
namespace {

// No engine asks for more.
constexpr uint32_t kMostTensorAlignment = 16;

int DataTypeOf(ops::Element element) {
  switch (element) {
    case ops::Element::kF64: return kCudnnF64;
    case ops::Element::kF16: return kCudnnF16;
    case ops::Element::kBF16: return kCudnnBf16;
    default: return kCudnnF32;
  }
}

// Returns from the function where a call fails.
#define COMMSCHED_CUDNN_RETURN(call) \
  if (absl::Status s = (call); !s.ok()) return s

}  // namespace

absl::Status CudnnKernels::Check(int status, const char *what) const {
  if (status == kCudnnSuccess) return absl::OkStatus();
  const char *name = api_.GetErrorString(status);
  return absl::InternalError(absl::StrCat(what, ": ", name == nullptr ? "" : name, " (", status, ")"));
}

CudnnKernels::~CudnnKernels() {
  for (auto &[index, convolution] : convolutions_) {
    for (const auto &[addresses, pack] : convolution.packs) api_.DescriptorDestroy(pack);
    DestroyAll(&convolution.parts);
  }
  if (handle_ != nullptr) api_.Destroy(handle_);
}

void CudnnKernels::DestroyAll(Descriptors *descriptors) {
  for (; !descriptors->empty(); descriptors->pop_back())
    api_.DescriptorDestroy(descriptors->back());
}

absl::Status CudnnKernels::Create(int type, Descriptors *owner, CudnnDescriptor *made) {
  COMMSCHED_CUDNN_RETURN(Check(api_.DescriptorCreate(type, made), "cudnnBackendCreateDescriptor"));
  owner->push_back(*made);
  return absl::OkStatus();
}

absl::Status CudnnKernels::Finalize(CudnnDescriptor descriptor, const char *what) {
  return Check(api_.DescriptorFinalize(descriptor), what);
}

template <typename T>
absl::Status CudnnKernels::Set(CudnnDescriptor descriptor, int attribute, int type,
                               absl::Span<const T> values) {
  return Check(api_.DescriptorSet(descriptor, attribute, type, int64_t(values.size()), values.data()),
               "cudnnBackendSetAttribute");
}

absl::Status CudnnKernels::Count(CudnnDescriptor descriptor, int attribute, int type,
                                 int64_t *count) {
  return Check(api_.DescriptorGet(descriptor, attribute, type, 0, count, nullptr),
               "cudnnBackendGetAttribute");
}

absl::Status CudnnKernels::Make(uint32_t index, const LibraryKernel &kernel,
                                uint64_t workspace_bytes) {
  absl::StatusOr<ConvolutionLayout> layout = LayoutOfConvolution(kernel.description);
  if (!layout.ok()) return layout.status();
  if (handle_ == nullptr) COMMSCHED_CUDNN_RETURN(Check(api_.Create(&handle_), "cudnnCreate"));
  Convolution &convolution = convolutions_[index];
  CudnnDescriptor graph = nullptr;
  COMMSCHED_CUDNN_RETURN(MakeGraph(*layout, kernel.alignments, &convolution.parts, &graph));
  Rejected rejected;
  for (int mode : {kCudnnHeuristicsA, kCudnnHeuristicsFallback}) {
    COMMSCHED_CUDNN_RETURN(Choose(graph, mode, layout->source.element, workspace_bytes, &convolution, &rejected));
    if (convolution.plan != nullptr) return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("cuDNN has no engine for it: ", rejected.ToString(api_)));
}

std::string CudnnKernels::Rejected::ToString(const CudnnApi &api) const {
  std::vector<std::string> reasons;
  const auto add = [&](int count, absl::string_view what) {
    if (count != 0) reasons.push_back(absl::StrCat(count, " ", what));
  };
  add(nondeterministic, "not deterministic");
  add(inexact, "of less precision");
  add(large, "with too large a workspace");
  const char *name = failed == 0 ? nullptr : api.GetErrorString(status);
  add(failed, name == nullptr ? "refused" : absl::StrCat("refused by ", name));
  return absl::StrCat(proposed, " proposed", reasons.empty() ? "" : ", ", absl::StrJoin(reasons, ", "));
}

absl::Status CudnnKernels::MakeTensor(const ConvolutionTensor &tensor, uint32_t alignment,
                                      Descriptors *parts, CudnnDescriptor *made) {
  COMMSCHED_CUDNN_RETURN(Create(kCudnnTensor, parts, made));
  COMMSCHED_CUDNN_RETURN(Set(*made, kTensorType, kCudnnDataTypeType, DataTypeOf(tensor.element)));
  COMMSCHED_CUDNN_RETURN(Set(*made, kTensorDims, kCudnnInt64Type, absl::MakeConstSpan(tensor.dims)));
  COMMSCHED_CUDNN_RETURN(
      Set(*made, kTensorStrides, kCudnnInt64Type, absl::MakeConstSpan(tensor.strides)));
  COMMSCHED_CUDNN_RETURN(Set(*made, kTensorId, kCudnnInt64Type, int64_t(tensor.operand)));
  COMMSCHED_CUDNN_RETURN(Set(*made, kTensorAlignment, kCudnnInt64Type,
                             int64_t(std::min(alignment, kMostTensorAlignment))));
  return Finalize(*made, "tensor");
}

absl::Status CudnnKernels::MakeGraph(const ConvolutionLayout &layout,
                                     const std::vector<uint32_t> &alignments, Descriptors *parts,
                                     CudnnDescriptor *graph) {
  using Kind = ops::ConvolutionShape::Kind;
  CudnnDescriptor source = nullptr, weights = nullptr, destination = nullptr, convolution = nullptr,
                  operation = nullptr;
  for (const auto &[tensor, made] : {std::pair(&layout.source, &source),
                                     std::pair(&layout.weights, &weights),
                                     std::pair(&layout.destination, &destination)})
    COMMSCHED_CUDNN_RETURN(MakeTensor(*tensor, alignments[tensor->operand], parts, made));

  const bool f64 = layout.source.element == ops::Element::kF64;
  COMMSCHED_CUDNN_RETURN(Create(kCudnnConvolution, parts, &convolution));
  COMMSCHED_CUDNN_RETURN(Set(convolution, kConvolutionComputeType, kCudnnDataTypeType,
                             f64 ? kCudnnF64 : kCudnnF32));
  COMMSCHED_CUDNN_RETURN(Set(convolution, kConvolutionMode, kCudnnModeType, kCudnnCrossCorrelation));
  COMMSCHED_CUDNN_RETURN(Set(convolution, kConvolutionSpatial, kCudnnInt64Type,
                             int64_t(layout.strides.size())));
  for (const auto &[attribute, values] : {std::pair(kConvolutionStrides, &layout.strides),
                                          std::pair(kConvolutionDilations, &layout.dilations),
                                          std::pair(kConvolutionPadLow, &layout.pad_low),
                                          std::pair(kConvolutionPadHigh, &layout.pad_high)})
    COMMSCHED_CUDNN_RETURN(
        Set(convolution, attribute, kCudnnInt64Type, absl::MakeConstSpan(*values)));
  COMMSCHED_CUDNN_RETURN(Finalize(convolution, "convolution"));

  const CudnnOperationAttributes &names = layout.kind == Kind::kForward        ? kForwardAttributes
                                          : layout.kind == Kind::kBackwardData ? kBackwardDataAttributes
                                                                               : kBackwardFilterAttributes;
  COMMSCHED_CUDNN_RETURN(Create(layout.kind == Kind::kForward        ? kCudnnForward
                                : layout.kind == Kind::kBackwardData ? kCudnnBackwardData
                                                                     : kCudnnBackwardFilter,
                                parts, &operation));
  for (const auto &[attribute, part] : {std::pair(names.convolution, convolution),
                                        std::pair(names.source, source),
                                        std::pair(names.weights, weights),
                                        std::pair(names.destination, destination)})
    COMMSCHED_CUDNN_RETURN(Set(operation, attribute, kCudnnDescriptorType, part));
  const double beta = layout.accumulate ? 1 : 0;
  for (const auto &[attribute, value] : {std::pair(names.alpha, 1.0), std::pair(names.beta, beta)})
    COMMSCHED_CUDNN_RETURN(f64 ? Set(operation, attribute, kCudnnDoubleType, value)
                               : Set(operation, attribute, kCudnnFloatType, float(value)));
  COMMSCHED_CUDNN_RETURN(Finalize(operation, "operation"));

  COMMSCHED_CUDNN_RETURN(Create(kCudnnGraph, parts, graph));
  COMMSCHED_CUDNN_RETURN(Set(*graph, kGraphHandle, kCudnnHandleType, handle_));
  COMMSCHED_CUDNN_RETURN(Set(*graph, kGraphOperations, kCudnnDescriptorType, operation));
  return Finalize(*graph, "graph");
}

absl::Status CudnnKernels::Choose(CudnnDescriptor graph, int mode, ops::Element element,
                                  uint64_t workspace_bytes, Convolution *convolution,
                                  Rejected *rejected) {
  Descriptors own;
  const auto choose = [&]() -> absl::Status {
    CudnnDescriptor heuristics = nullptr;
    COMMSCHED_CUDNN_RETURN(Create(kCudnnHeuristics, &own, &heuristics));
    COMMSCHED_CUDNN_RETURN(Set(heuristics, kHeuristicsGraph, kCudnnDescriptorType, graph));
    COMMSCHED_CUDNN_RETURN(Set(heuristics, kHeuristicsMode, kCudnnHeuristicsModeType, mode));
    int64_t count = 0;
    // That it has nothing to propose is no error: there is another mode.
    if (int status = api_.DescriptorFinalize(heuristics); status != kCudnnSuccess) {
      ++rejected->failed;
      rejected->status = status;
      return absl::OkStatus();
    }
    COMMSCHED_CUDNN_RETURN(Count(heuristics, kHeuristicsResults, kCudnnDescriptorType, &count));
    std::vector<CudnnDescriptor> configs(size_t(std::max<int64_t>(count, 0)));
    for (CudnnDescriptor &config : configs)
      COMMSCHED_CUDNN_RETURN(Create(kCudnnEngineConfig, &own, &config));
    if (configs.empty()) return absl::OkStatus();
    COMMSCHED_CUDNN_RETURN(Check(api_.DescriptorGet(heuristics, kHeuristicsResults, kCudnnDescriptorType,
                                                    count, &count, configs.data()),
                                 "cudnnBackendGetAttribute"));
    configs.resize(size_t(std::clamp<int64_t>(count, 0, int64_t(configs.size()))));
    for (CudnnDescriptor config : configs) {
      COMMSCHED_CUDNN_RETURN(Try(config, element, workspace_bytes, convolution, rejected));
      if (convolution->plan != nullptr) return absl::OkStatus();
    }
    return absl::OkStatus();
  };
  absl::Status status = choose();
  if (convolution->plan == nullptr) {
    DestroyAll(&own);
    return status;
  }
  // The plan, which is the last of the parts, goes before what it is made of.
  convolution->parts.insert(convolution->parts.end() - 1, own.begin(), own.end());
  return status;
}

absl::Status CudnnKernels::Try(CudnnDescriptor config, ops::Element element, uint64_t workspace_bytes,
                               Convolution *convolution, Rejected *rejected) {
  Descriptors own;
  CudnnDescriptor plan = nullptr;
  const auto tried = [&]() -> absl::Status {
    ++rejected->proposed;
    CudnnDescriptor engine = nullptr;
    COMMSCHED_CUDNN_RETURN(Create(kCudnnEngine, &own, &engine));
    int64_t count = 0;
    COMMSCHED_CUDNN_RETURN(
        Check(api_.DescriptorGet(config, kConfigEngine, kCudnnDescriptorType, 1, &count, &engine),
              "cudnnBackendGetAttribute"));
    COMMSCHED_CUDNN_RETURN(Count(engine, kEngineNotes, kCudnnNoteType, &count));
    std::vector<int> notes(size_t(std::max<int64_t>(count, 0)));
    if (!notes.empty())
      COMMSCHED_CUDNN_RETURN(Check(api_.DescriptorGet(engine, kEngineNotes, kCudnnNoteType, count,
                                                      &count, notes.data()),
                                   "cudnnBackendGetAttribute"));
    if (std::find(notes.begin(), notes.end(), kNoteNondeterministic) != notes.end()) {
      ++rejected->nondeterministic;
      return absl::OkStatus();
    }
    // Products of f32 are not those of tensor cores, which would be of TF32.
    const bool tensor_cores = element != ops::Element::kF32;
    if (!std::all_of(notes.begin(), notes.end(), [&](int note) {
          return note == kNoteStrictNan || (note == kNoteTensorCore && tensor_cores);
        })) {
      ++rejected->inexact;
      return absl::OkStatus();
    }
    COMMSCHED_CUDNN_RETURN(Create(kCudnnPlan, &own, &plan));
    COMMSCHED_CUDNN_RETURN(Set(plan, kPlanHandle, kCudnnHandleType, handle_));
    COMMSCHED_CUDNN_RETURN(Set(plan, kPlanConfig, kCudnnDescriptorType, config));
    if (int status = api_.DescriptorFinalize(plan); status != kCudnnSuccess) {
      ++rejected->failed;
      rejected->status = status;
      return absl::OkStatus();
    }
    int64_t bytes = 0;
    COMMSCHED_CUDNN_RETURN(
        Check(api_.DescriptorGet(plan, kPlanWorkspaceBytes, kCudnnInt64Type, 1, &count, &bytes),
              "cudnnBackendGetAttribute"));
    if (bytes < 0 || uint64_t(bytes) > workspace_bytes) {
      ++rejected->large;
      return absl::OkStatus();
    }
    convolution->plan = plan;
    return absl::OkStatus();
  };
  absl::Status status = tried();
  if (convolution->plan == nullptr)
    DestroyAll(&own);
  else
    convolution->parts.insert(convolution->parts.end(), own.begin(), own.end());
  return status;
}

absl::Status CudnnKernels::MakePack(absl::Span<const DevicePtr> operands, DevicePtr workspace,
                                    CudnnDescriptor *pack) {
  std::vector<int64_t> ids;
  std::vector<void *> pointers;
  for (size_t i = 0; i < operands.size(); ++i) {
    ids.push_back(int64_t(i));
    pointers.push_back(reinterpret_cast<void *>(operands[i]));
  }
  COMMSCHED_CUDNN_RETURN(
      Check(api_.DescriptorCreate(kCudnnVariantPack, pack), "cudnnBackendCreateDescriptor"));
  COMMSCHED_CUDNN_RETURN(
      Set(*pack, kPackPointers, kCudnnPointerType, absl::MakeConstSpan(pointers)));
  COMMSCHED_CUDNN_RETURN(Set(*pack, kPackIds, kCudnnInt64Type, absl::MakeConstSpan(ids)));
  COMMSCHED_CUDNN_RETURN(
      Set(*pack, kPackWorkspace, kCudnnPointerType, reinterpret_cast<void *>(workspace)));
  return Finalize(*pack, "variant pack");
}

absl::Status CudnnKernels::Enqueue(uint32_t index, absl::Span<const DevicePtr> operands,
                                   DevicePtr workspace, Stream stream, bool) {
  Convolution &convolution = convolutions_.at(index);
  std::vector<DevicePtr> addresses(operands.begin(), operands.end());
  addresses.push_back(workspace);
  CudnnDescriptor &pack = convolution.packs[std::move(addresses)];
  if (pack == nullptr) {
    if (absl::Status s = MakePack(operands, workspace, &pack); !s.ok()) {
      if (pack != nullptr) api_.DescriptorDestroy(std::exchange(pack, nullptr));
      return s;
    }
  }
  COMMSCHED_CUDNN_RETURN(Check(api_.SetStream(handle_, stream), "cudnnSetStream"));
  return Check(api_.Execute(handle_, convolution.plan, pack), "cudnnBackendExecute");
}

#undef COMMSCHED_CUDNN_RETURN

}  // namespace commsched::runtime::cuda
