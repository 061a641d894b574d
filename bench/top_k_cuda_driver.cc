// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// top_k_cuda_driver SIZE DENSITY ROUNDS: selects from float32 on the device by each
// method, as captured graphs, with cub::DeviceTopK where it is, and copies the same
// array, in turn. Prints one line of JSON: median microseconds. Status 77 without a
// device. Up to 2^26 elements the answers are compared with the CPU's.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "bench/top_k_cub.h"
#include "ops/sparse/cuda/top_k_cuda.h"
#include "ops/sparse/top_k.h"

namespace {

using commsched::ops::Element;
namespace sparse = commsched::ops::sparse;
namespace cuda = sparse::cuda;

void Check(int error, const char *what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "top_k_cuda_driver: %s: %s\n", what, cudaGetErrorString(cudaError_t(error)));
  std::exit(1);
}
void Check(const absl::Status &status) {
  if (status.ok()) return;
  std::fprintf(stderr, "top_k_cuda_driver: %s\n", status.ToString().c_str());
  std::exit(1);
}

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) { Check(cudaMalloc(&data_, bytes), "memory"); }
  DeviceMemory(const DeviceMemory &) = delete;
  ~DeviceMemory() { cudaFree(data_); }
  void *data() { return data_; }
  void Fill(const void *from, size_t bytes) {
    Check(cudaMemcpy(data_, from, bytes, cudaMemcpyHostToDevice), "copy");
  }
  template <typename T>
  std::vector<T> Get(size_t count) {
    std::vector<T> result(count);
    Check(cudaMemcpy(result.data(), data_, count * sizeof(T), cudaMemcpyDeviceToHost), "copy");
    return result;
  }

 private:
  void *data_ = nullptr;
};

// Close to normal: the sum of four uniform numbers.
float Number(uint64_t i) {
  uint64_t z = (i + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  float sum = 0;
  for (int j = 0; j < 4; ++j) sum += float((z >> (16 * j)) & 0xffff) / 65536 - 0.5f;
  // So that few are equal.
  return sum * 1.7320508f * (1 + float(z % 1021) * 1e-5f);
}

double Microseconds(cudaStream_t stream, const std::function<void()> &work) {
  cudaEvent_t begin, end;
  Check(cudaEventCreate(&begin), "event");
  Check(cudaEventCreate(&end), "event");
  Check(cudaEventRecord(begin, stream), "event");
  work();
  Check(cudaEventRecord(end, stream), "event");
  Check(cudaEventSynchronize(end), "event");
  float milliseconds = 0;
  Check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 1e3 * double(milliseconds);
}

double Median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + long(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// What the CPU selects from x, or residual + x.
void Compare(const char *what, sparse::TopKMethod method, const std::vector<float> &x,
             const std::vector<float> *residual, int64_t k, const std::vector<float> &values,
             const std::vector<int32_t> &indices, const std::vector<float> *kept) {
  sparse::TopKProblem problem;
  problem.size = int64_t(x.size());
  problem.k = k;
  problem.method = method;
  std::vector<float> wanted(static_cast<size_t>(k)), rest(residual ? x.size() : 0);
  std::vector<int32_t> places(static_cast<size_t>(k));
  std::vector<std::byte> scratch(TopKScratchBytes(problem) + 64);
  sparse::TopKBuffers buffers;
  buffers.input = x.data();
  if (residual != nullptr) {
    buffers.residual = residual->data();
    buffers.new_residual = rest.data();
  }
  buffers.values = wanted.data();
  buffers.indices = places.data();
  buffers.scratch = scratch.data() + 64 - uintptr_t(scratch.data()) % 64;
  Check(TopK(problem, buffers));
  if (wanted != values || places != indices || (kept != nullptr && *kept != rest)) {
    std::fprintf(stderr, "top_k_cuda_driver: %s: the answer is not the CPU's\n", what);
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char **argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "top_k_cuda_driver: no CUDA device\n");
    return 77;
  }
  if (argc != 4) {
    std::fprintf(stderr, "usage: top_k_cuda_driver SIZE DENSITY ROUNDS\n");
    return 2;
  }
  const int64_t size = std::atoll(argv[1]);
  const int64_t k = int64_t(double(size) * std::atof(argv[2]));
  const int rounds = std::atoi(argv[3]);
  const size_t bytes = size_t(size) * sizeof(float);
  std::vector<float> x(static_cast<size_t>(size)), r(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = Number(i), r[i] = Number(i + x.size());

  DeviceMemory input(bytes), residual(bytes), values(size_t(k) * 4 + 4), indices(size_t(k) * 4 + 4);
  input.Fill(x.data(), bytes);
  residual.Fill(r.data(), bytes);
  cuda::Array plain;
  plain.x = input.data();
  plain.values = values.data();
  plain.indices = indices.data();
  plain.size = size;
  plain.k = k;
  cudaStream_t stream;
  Check(cudaStreamCreate(&stream), "stream");
  struct Work {
    const char *name;
    sparse::TopKMethod method;
    bool feedback;
    cudaGraphExec_t graph = nullptr;
    std::unique_ptr<DeviceMemory> scratch = nullptr;
    std::vector<double> times = {};
  };
  // Of exact selection the threshold comes from a sample; with a histogram not.
  Work works[] = {{"exact", sparse::TopKMethod::kExact, false},
                  {"histogram", sparse::TopKMethod::kHistogram, false},
                  {"mstopk", sparse::TopKMethod::kMsTopK, false},
                  {"fused", sparse::TopKMethod::kExact, true}};
  const bool check = size <= int64_t{1} << 26;
  for (Work &work : works) {
    cuda::Array array = plain;
    if (work.feedback) array.residual = array.sum = residual.data();
    work.scratch =
        std::make_unique<DeviceMemory>(cuda::TopKBatch::ScratchBytes({array}, work.method));
    auto batch = cuda::TopKBatch::Make(Element::kF32, Element::kI32, {array}, work.scratch->data(),
                                       {work.method});
    Check(batch.status());
    cudaGraph_t graph;
    Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
    Check(batch->Run(stream));
    Check(cudaStreamEndCapture(stream, &graph), "capture");
    Check(cudaGraphInstantiate(&work.graph, graph, 0), "graph");
    cudaGraphDestroy(graph);
    Check(cudaGraphLaunch(work.graph, stream), "launch");
    Check(cudaStreamSynchronize(stream), "selection");
    if (!check) continue;
    const std::vector<float> kept =
        work.feedback ? residual.Get<float>(x.size()) : std::vector<float>();
    Compare(work.name, work.method, x, work.feedback ? &r : nullptr, k,
            values.Get<float>(size_t(k)), indices.Get<int32_t>(size_t(k)),
            work.feedback ? &kept : nullptr);
  }
  const auto *elements = static_cast<const float *>(input.data());
  size_t cub_bytes = 0;
  const bool has_cub =
      commsched::bench::CubTopK(nullptr, &cub_bytes, elements, size, k, nullptr, nullptr, stream) ==
      cudaSuccess;
  DeviceMemory cub_scratch(cub_bytes + 1);
  std::vector<double> copies, cubs;
  for (int i = 0; i < rounds; ++i) {
    copies.push_back(Microseconds(stream, [&] {
      Check(cudaMemcpyAsync(residual.data(), input.data(), bytes, cudaMemcpyDeviceToDevice, stream),
            "copy");
    }));
    for (Work &work : works)
      work.times.push_back(
          Microseconds(stream, [&] { Check(cudaGraphLaunch(work.graph, stream), "launch"); }));
    if (has_cub)
      cubs.push_back(Microseconds(stream, [&] {
        Check(commsched::bench::CubTopK(cub_scratch.data(), &cub_bytes, elements, size, k,
                                        static_cast<float *>(values.data()),
                                        static_cast<int32_t *>(indices.data()), stream),
              "cub::DeviceTopK");
      }));
  }
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0), "device");
  std::printf("{\"device\": \"%s\", \"size\": %lld, \"k\": %lld, \"copy_us\": %.2f",
              properties.name, static_cast<long long>(size), static_cast<long long>(k),
              Median(copies));
  for (const Work &work : works) std::printf(", \"%s_us\": %.2f", work.name, Median(work.times));
  if (has_cub) std::printf(", \"cub_us\": %.2f", Median(cubs));
  std::printf(", \"checked\": %s}\n", check ? "true" : "false");
  return 0;
}
