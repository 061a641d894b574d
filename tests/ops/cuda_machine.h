// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs the CUDA kernels of sparse gradients: a device, or the emulation of
// tests/ops/cuda_emulation.h. The same tests are linked with either.
#ifndef COMMSCHED_TESTS_OPS_CUDA_MACHINE_H
#define COMMSCHED_TESTS_OPS_CUDA_MACHINE_H

#include <cstddef>
#include <memory>
#include <vector>

#include "ops/sparse/cuda/lists_tables.h"
#include "ops/sparse/cuda/top_k_cuda.h"

namespace commsched::testing {

class CudaMachine {
 public:
  virtual ~CudaMachine() = default;

  // Memory of the machine, filled with 0xa5, freed with it.
  virtual void *Allocate(size_t bytes) = 0;
  virtual void Write(void *to, const void *from, size_t bytes) = 0;
  virtual void Read(void *to, const void *from, size_t bytes) = 0;
  // Whether a kernel wrote right before or behind what was allocated, if the
  // machine can say.
  virtual bool Damaged() = 0;

  // The kernels; on a device as a captured graph.
  virtual std::vector<ops::sparse::NonFinite> TopK(
      ops::Element element, ops::Element index, const std::vector<ops::sparse::cuda::Array> &arrays,
      const ops::sparse::cuda::TopKOptions &options) = 0;
  // In how many arrays of the last TopK the candidates were too few; -1 if the
  // machine cannot say.
  virtual int Repaired() = 0;

  virtual absl::Status Lists(const ops::sparse::ListType &type,
                             const std::vector<ops::sparse::cuda::List> &lists) = 0;
  virtual absl::Status TopKLists(const ops::sparse::ListType &type,
                                 const std::vector<ops::sparse::cuda::TopKList> &lists) = 0;

  virtual ops::sparse::NonFinite Quantize(ops::Element from, ops::Element to, const void *values,
                                          int64_t count, int64_t block, void *quantized,
                                          float *scales) = 0;
  virtual void Dequantize(ops::Element from, ops::Element to, const void *quantized, int64_t count,
                          int64_t block, const float *scales, void *values) = 0;

  // A copy of `bytes` bytes.
  void *Copy(const void *from, size_t bytes) {
    void *to = Allocate(bytes);
    Write(to, from, bytes);
    return to;
  }
};

// Null if there is no device.
std::unique_ptr<CudaMachine> MakeCudaMachine();

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_OPS_CUDA_MACHINE_H
