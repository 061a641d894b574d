// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>

#include "tests/ops/cuda_machine.h"
// What the kernels use comes first.
#include "tests/ops/cuda_emulation.h"

#include "ops/sparse/cuda/ms_top_k_kernels.cuh"
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
    const size_t bytes = LayOut(arrays, options.method, nullptr).bytes;
    auto *scratch = static_cast<std::byte *>(Allocate(bytes));
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
  int Repaired() override { return repaired_; }

 private:
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
