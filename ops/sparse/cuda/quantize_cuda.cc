// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/cuda/quantize_cuda.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "ops/sparse/cuda/cuda_status.h"
#include "ops/sparse/cuda/enqueue.h"

namespace commsched::ops::sparse::cuda {
namespace {

bool IsSparseFloat(Element element) {
  return element == Element::kF32 || element == Element::kF16 ||
         element == Element::kBF16;
}

absl::Status CheckArguments(Element values, Element quantized, int64_t count,
                            int64_t block) {
  if (!IsSparseFloat(values))
    return absl::InvalidArgumentError(absl::StrCat(
        "values must be f32, f16 or bf16, got: ", ElementName(values)));
  if (quantized != Element::kI8 && !IsSparseFloat(quantized))
    return absl::InvalidArgumentError(
        absl::StrCat("quantized values must be f16, bf16 or i8, got: ",
                     ElementName(quantized)));
  if (count < 0 || count > int64_t{1} << 40)
    return absl::InvalidArgumentError(
        absl::StrCat("count must be 0 to 2^40, got: ", count));
  if (block < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("block must be 1 or more, got: ", block));
  return absl::OkStatus();
}

}  // namespace

absl::Status QuantizeOn(void *stream, Element from, Element to,
                        const void *values, int64_t count, int64_t block,
                        void *quantized, float *scales, QuantizeState *state) {
  absl::Status s = CheckArguments(from, to, count, block);
  const auto clear = [&](void *p, size_t bytes) {
    if (s.ok())
      s = FromCuda(
          cudaMemsetAsync(p, 0, bytes, static_cast<cudaStream_t>(stream)),
          "clearing of the state");
  };
  clear(state, sizeof(QuantizeState));
  if (s.ok() && count == 0) return s;
  if (to == Element::kI8 && s.ok())
    clear(scales, size_t((count + block - 1) / block) * sizeof(float));
  if (!s.ok()) return s;
  return FromCuda(EnqueueQuantize(int(from), int(to), values, count, block,
                                  quantized, scales, state, stream),
                  "quantization");
}

absl::StatusOr<NonFinite> WaitForQuantize(void *stream,
                                          const QuantizeState *state) {
  QuantizeState found{};
  absl::Status s = FromCuda(
      cudaMemcpyAsync(&found, state, sizeof(found), cudaMemcpyDeviceToHost,
                      static_cast<cudaStream_t>(stream)),
      "copy of the state");
  if (s.ok())
    s = FromCuda(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)),
                 "quantization");
  if (!s.ok()) return s;
  if (found.non_finite == 0) return NonFinite{};
  return NonFinite{int64_t(found.non_finite), int64_t(~found.first_inverted)};
}

absl::Status DequantizeOn(void *stream, Element from, Element to,
                          const void *quantized, int64_t count, int64_t block,
                          const float *scales, void *values) {
  absl::Status s = CheckArguments(to, from, count, block);
  if (!s.ok() || count == 0) return s;
  return FromCuda(EnqueueDequantize(int(from), int(to), quantized, count, block,
                                    scales, values, stream),
                  "dequantization");
}

}  // namespace commsched::ops::sparse::cuda
