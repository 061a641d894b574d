// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>

#include "tests/ops/cuda_machine.h"
// What the kernels use comes first.
#include "tests/ops/cuda_emulation.h"

#include "ops/sparse/cuda/lists_kernels.cuh"
#include "ops/sparse/cuda/ms_top_k_kernels.cuh"
#include "ops/sparse/cuda/quantize_kernels.cuh"
#include "ops/sparse/cuda/top_k_kernels.cuh"

namespace commsched::testing {
namespace {

using ops::Element;
namespace sparse = ops::sparse;

constexpr size_t kMargin = 64;
constexpr std::byte kFill{0xa5};

struct EmulatedLaunch {
  template <typename Kernel, typename... Arguments>
  void operator()(Kernel kernel, unsigned blocks, unsigned threads, Arguments... arguments) const {
    cuda::Launch(blocks, threads, [&] { kernel(arguments...); });
  }
};

template <typename Function>
void WithType(Element element, Element index, Function function) {
  const auto with_index = [&](auto f) {
    if (index == Element::kI32)
      function(f, int32_t{});
    else
      function(f, int64_t{});
  };
  if (element == Element::kF16)
    with_index(sparse::cuda::DeviceF16{});
  else if (element == Element::kBF16)
    with_index(sparse::cuda::DeviceBF16{});
  else
    with_index(sparse::cuda::DeviceF32{});
}

class Emulated : public CudaMachine {
 public:
  void *Allocate(size_t bytes) override {
    blocks_.push_back({std::make_unique<std::byte[]>(bytes + 3 * kMargin), bytes});
    std::fill_n(blocks_.back().memory.get(), bytes + 3 * kMargin, kFill);
    return Begin(blocks_.back());
  }
  void Write(void *to, const void *from, size_t bytes) override { std::memcpy(to, from, bytes); }
  void Read(void *to, const void *from, size_t bytes) override { std::memcpy(to, from, bytes); }
  bool Damaged() override {
    return std::any_of(blocks_.begin(), blocks_.end(), [](const Memory &m) {
      const auto changed = [](std::byte b) { return b != kFill; };
      std::byte *begin = Begin(m);
      return std::any_of(m.memory.get(), begin, changed) ||
             std::any_of(begin + m.bytes, m.memory.get() + m.bytes + 3 * kMargin, changed);
    });
  }

  std::vector<sparse::NonFinite> TopK(Element element, Element index,
                                      const std::vector<sparse::cuda::Array> &arrays,
                                      const sparse::cuda::TopKOptions &options) override {
    return RunTopK(
        element, index, arrays, options,
        static_cast<std::byte *>(Allocate(LayOut(arrays, options.method, nullptr).bytes)));
  }
  int Repaired() override { return repaired_; }

  absl::Status Lists(const sparse::ListType &type,
                     const std::vector<sparse::cuda::List> &lists) override {
    return RunLists(type, lists,
                    static_cast<std::byte *>(
                        Allocate(LayOutLists(type.width, lists, nullptr).bytes)));
  }
  absl::Status TopKLists(const sparse::ListType &type,
                         const std::vector<sparse::cuda::TopKList> &lists) override {
    auto *scratch = static_cast<std::byte *>(Allocate(LayOutTopKLists(type, lists, nullptr).bytes));
    const sparse::cuda::TopKListTables tables = LayOutTopKLists(type, lists, scratch);
    const absl::Status s = RunLists(type, tables.lists, scratch + tables.lists_at);
    const auto found = RunTopK(type.element, Element::kI32, tables.arrays, {},
                               scratch + tables.arrays_at);
    WithType(type.element, type.index, [&](auto f, auto i) {
      EmulatedLaunch()(sparse::cuda::PickKernel<decltype(f), decltype(i)>,
                       unsigned(lists.size()) * sparse::cuda::kPickBlocks,
                       sparse::cuda::kListThreads, tables.picks.data());
    });
    for (const sparse::NonFinite &n : found)
      if (s.ok() && n.count != 0) return absl::InvalidArgumentError("not finite");
    return s;
  }

  sparse::NonFinite Quantize(Element from, Element to, const void *values, int64_t count,
                             int64_t block, void *quantized, float *scales) override {
    sparse::cuda::QuantizeState state{};
    if (count == 0) return {};
    WithType(from, Element::kI32, [&](auto f, auto) {
      if (to == Element::kI8) {
        std::memset(scales, 0, size_t((count + block - 1) / block) * sizeof(float));
        sparse::cuda::EnqueueEncodeIntegers<decltype(f)>(values, count, block, quantized, scales,
                                                         &state, EmulatedLaunch());
      } else {
        WithType(to, Element::kI32, [&](auto t, auto) {
          sparse::cuda::EnqueueEncodeFloats<decltype(f), decltype(t)>(values, count, quantized,
                                                                      &state, EmulatedLaunch());
        });
      }
    });
    if (state.non_finite == 0) return {};
    return {int64_t(state.non_finite), int64_t(~state.first_inverted)};
  }
  void Dequantize(Element from, Element to, const void *quantized, int64_t count, int64_t block,
                  const float *scales, void *values) override {
    const unsigned blocks = sparse::cuda::QuantizeBlocks(count);
    WithType(to, Element::kI32, [&](auto t, auto) {
      if (from == Element::kI8)
        EmulatedLaunch()(sparse::cuda::DecodeIntegersKernel<decltype(t)>, blocks,
                         sparse::cuda::kQuantizeThreads, static_cast<const int8_t *>(quantized),
                         count, block, scales, values);
      else
        WithType(from, Element::kI32, [&](auto f, auto) {
          EmulatedLaunch()(sparse::cuda::DecodeFloatsKernel<decltype(f), decltype(t)>, blocks,
                           sparse::cuda::kQuantizeThreads, quantized, count, values);
        });
    });
  }

 private:
  std::vector<sparse::NonFinite> RunTopK(Element element, Element index,
                                         const std::vector<sparse::cuda::Array> &arrays,
                                         const sparse::cuda::TopKOptions &options,
                                         std::byte *scratch) {
    const sparse::cuda::Tables tables = LayOut(arrays, options.method, scratch);
    auto *states = reinterpret_cast<sparse::cuda::State *>(scratch + tables.states_at);
    std::memset(static_cast<void *>(states), 0, arrays.size() * sizeof(*states));
    const auto items = uint32_t(arrays.size()), groups = uint32_t(tables.group_item.size());
    WithType(element, index, [&](auto f, auto i) {
      using F = decltype(f);
      using I = decltype(i);
      if (options.method == sparse::TopKMethod::kMsTopK)
        sparse::cuda::EnqueueMsTopK<F, I>(tables.items.data(), states, tables.group_item.data(),
                                          groups, options.steps, options.seed, options.stop_early,
                                          EmulatedLaunch());
      else
        sparse::cuda::EnqueueExact<F, I>(tables.items.data(), states, tables.group_item.data(),
                                         items, groups, EmulatedLaunch());
    });
    std::vector<sparse::NonFinite> result(arrays.size());
    repaired_ = 0;
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (states[i].non_finite != 0)
        result[i] = {int64_t(states[i].non_finite), int64_t(~states[i].first_inverted)};
      else
        repaired_ += tables.items[i].sample_rank != 0 && states[i].candidates < arrays[i].k;
    }
    return result;
  }
  absl::Status RunLists(const sparse::ListType &type,
                        const std::vector<sparse::cuda::List> &lists, std::byte *scratch) {
    const sparse::cuda::ListTables tables = LayOutLists(type.width, lists, scratch);
    auto *states = reinterpret_cast<sparse::cuda::ListState *>(scratch + tables.states_at);
    std::memset(states, 0, lists.size() * sizeof(*states));
    WithType(type.element, type.index, [&](auto f, auto i) {
      sparse::cuda::EnqueueLists<decltype(f), decltype(i)>(
          tables.items.data(), states, tables.group_item.data(),
          uint32_t(tables.group_item.size()), tables.merges, EmulatedLaunch());
    });
    for (size_t i = 0; i < lists.size(); ++i) {
      if (states[i].outside_inverted != 0) return absl::OutOfRangeError("index");
      if (states[i].unordered_inverted != 0) return absl::InvalidArgumentError("order");
    }
    return absl::OkStatus();
  }

  struct Memory {
    std::unique_ptr<std::byte[]> memory;
    size_t bytes;
  };
  static std::byte *Begin(const Memory &m) {
    std::byte *begin = m.memory.get() + kMargin;
    return begin + (64 - uintptr_t(begin) % 64) % 64;
  }

  std::vector<Memory> blocks_;
  int repaired_ = 0;
};

}  // namespace

std::unique_ptr<CudaMachine> MakeCudaMachine() { return std::make_unique<Emulated>(); }

}  // namespace commsched::testing
