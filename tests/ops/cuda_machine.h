// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA kernels of sparse gradients, run by the library on a device, or on the
// emulation of tests/ops/cuda_emulation.h: the same tests are linked with either.
#ifndef COMMSCHED_TESTS_OPS_CUDA_MACHINE_H
#define COMMSCHED_TESTS_OPS_CUDA_MACHINE_H

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/sparse/cuda/lists_cuda.h"
#include "ops/sparse/cuda/top_k_cuda.h"

namespace commsched::testing {

// Of the emulation, what is wrong with the kernels since the last call; a device
// cannot say (compute-sanitizer can).
std::vector<std::string> TakeFindings();
// Fills new memory, so that nothing relies on zeros. A cudaError_t.
int FillMemory(void *p, size_t bytes);

class CudaMachine {
 public:
  CudaMachine();
  CudaMachine(const CudaMachine &) = delete;
  ~CudaMachine();

  // Memory of the machine, with anything in it, freed with it.
  void *Allocate(size_t bytes);
  void Write(void *to, const void *from, size_t bytes);
  void Read(void *to, const void *from, size_t bytes);
  // A copy of `bytes` bytes.
  void *Copy(const void *from, size_t bytes) {
    void *to = Allocate(bytes);
    Write(to, from, bytes);
    return to;
  }

  // The kernels, as a captured graph that runs twice; the second run is to find
  // the same input, so `again` is called between the two.
  std::vector<ops::sparse::NonFinite> TopK(
      ops::Element element, ops::Element index, const std::vector<ops::sparse::cuda::Array> &arrays,
      const ops::sparse::cuda::TopKOptions &options, const std::function<void()> &again = nullptr);
  // In how many arrays of the last TopK the candidates were too few.
  int Repaired() const { return repaired_; }

  absl::Status Lists(const ops::sparse::ListType &type,
                     const std::vector<ops::sparse::cuda::List> &lists);
  absl::Status TopKLists(const ops::sparse::ListType &type,
                         const std::vector<ops::sparse::cuda::TopKList> &lists);

  ops::sparse::NonFinite Quantize(ops::Element from, ops::Element to, const void *values,
                                  int64_t count, int64_t block, void *quantized, float *scales);
  void Dequantize(ops::Element from, ops::Element to, const void *quantized, int64_t count,
                  int64_t block, const float *scales, void *values);

 private:
  template <class Batch, class List>
  absl::Status RunLists(const ops::sparse::ListType &type, const std::vector<List> &lists);
  void RunGraph(const std::function<absl::Status()> &work,
                const std::function<void()> &again = nullptr);

  struct Streams;
  const std::unique_ptr<Streams> streams_;
  std::vector<void *> memory_;
  int repaired_ = 0;
};

// Null if there is no device.
std::unique_ptr<CudaMachine> MakeCudaMachine();

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_OPS_CUDA_MACHINE_H
