// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/onednn/widened.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/base/halves.h"

namespace commsched::ops {
namespace {

// How an operand is converted: dimensions in the order of its memory, outermost
// first, merged where they are one run. The copy is dense in the same order, so
// that rows are rows in both; what repeats is there once.
struct Walk {
  struct Dim {
    int64_t size, narrow, wide;  // strides in elements
  };
  std::vector<Dim> dims;  // the innermost, whose `wide` is 1, is a row
  Element element = Element::kF32;
  size_t at = 0;  // of the copy, in scratch

  // f(narrow offset, wide offset) for every row.
  template <typename F>
  void ForEachRow(F f) const {
    std::vector<int64_t> index(dims.size() - 1, 0);
    int64_t narrow = 0, wide = 0;
    while (true) {
      f(narrow, wide);
      size_t d = index.size();
      for (; d > 0; --d) {
        const Dim &dim = dims[d - 1];
        narrow += dim.narrow;
        wide += dim.wide;
        if (++index[d - 1] < dim.size) break;
        narrow -= dim.narrow * dim.size;
        wide -= dim.wide * dim.size;
        index[d - 1] = 0;
      }
      if (d == 0) return;
    }
  }
  void Widen(const uint16_t *from, float *to) const {
    const Dim &row = dims.back();
    ForEachRow([&](int64_t narrow, int64_t wide) {
      if (row.narrow == 1)
        return WidenRow(element, from + narrow, to + wide, size_t(row.size));
      for (int64_t i = 0; i < row.size; ++i)
        WidenRow(element, from + narrow + i * row.narrow, to + wide + i, 1);
    });
  }
  void Narrow(const float *from, uint16_t *to) const {
    const Dim &row = dims.back();
    ForEachRow([&](int64_t narrow, int64_t wide) {
      if (row.narrow == 1)
        return NarrowRow(element, from + wide, to + narrow, size_t(row.size));
      for (int64_t i = 0; i < row.size; ++i)
        NarrowRow(element, from + wide + i, to + narrow + i * row.narrow, 1);
    });
  }
};

// Makes `wide` the copy of `narrow`; returns its elements.
int64_t Lay(const KernelOperand &narrow, KernelOperand *wide, Walk *walk) {
  std::vector<size_t> order(narrow.dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return narrow.strides[a] > narrow.strides[b];
  });
  wide->element = Element::kF32;
  int64_t elements = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    if (narrow.dims[d] == 1) {
      wide->strides[d] = elements;
    } else if (narrow.strides[d] != 0) {
      wide->strides[d] = elements;
      elements *= narrow.dims[d];
    }
  }
  walk->element = narrow.element;
  for (size_t d : order) {
    if (narrow.dims[d] == 1 || narrow.strides[d] == 0) continue;
    Walk::Dim dim{narrow.dims[d], narrow.strides[d], wide->strides[d]};
    if (!walk->dims.empty() &&
        walk->dims.back().narrow == dim.narrow * dim.size) {
      dim.size *= walk->dims.back().size;
      walk->dims.back() = dim;
    } else {
      walk->dims.push_back(dim);
    }
  }
  if (walk->dims.empty()) walk->dims.push_back({1, 1, 1});
  return elements;
}

class WidenedKernel : public KernelInstance {
 public:
  WidenedKernel(std::unique_ptr<KernelInstance> inner, std::vector<Walk> walks, bool accumulate,
                size_t copies)
      : inner_(std::move(inner)),
        walks_(std::move(walks)),
        accumulate_(accumulate),
        copies_(copies) {}
  size_t scratch_bytes() const override {
    return copies_ + inner_->scratch_bytes();
  }
  absl::Status Run(void *const *operands, void *scratch) override {
    auto *base = static_cast<std::byte *>(scratch);
    std::vector<void *> wide(walks_.size());
    for (size_t i = 0; i < walks_.size(); ++i) {
      const Walk &walk = walks_[i];
      if (!IsHalf(walk.element)) {
        wide[i] = operands[i];
        continue;
      }
      wide[i] = base + walk.at;
      if (i + 1 < walks_.size() || accumulate_)
        walk.Widen(static_cast<const uint16_t *>(operands[i]),
                   static_cast<float *>(wide[i]));
    }
    absl::Status status = inner_->Run(wide.data(), base + copies_);
    if (status.ok() && IsHalf(walks_.back().element))
      walks_.back().Narrow(static_cast<const float *>(wide.back()),
                           static_cast<uint16_t *>(operands[walks_.size() - 1]));
    return status;
  }
  std::string implementation() const override {
    return absl::StrCat("widened:", inner_->implementation());
  }

 private:
  const std::unique_ptr<KernelInstance> inner_;
  const std::vector<Walk> walks_;
  const bool accumulate_;
  const size_t copies_;  // bytes in scratch in front of inner_'s
};

}  // namespace

bool CanWiden(const KernelDesc &desc) {
  bool half = false;
  for (const KernelOperand &operand : desc.operands) {
    half = half || IsHalf(operand.element);
    if (!IsHalf(operand.element) && operand.element != Element::kF32)
      return false;
  }
  return half;
}

absl::StatusOr<std::unique_ptr<KernelInstance>> MakeWidened(
    const KernelDesc &desc,
    absl::StatusOr<std::unique_ptr<KernelInstance>> (*make)(
        const KernelDesc &)) {
  KernelDesc wide = desc;
  std::vector<Walk> walks(desc.operands.size());
  size_t copies = 0;
  for (size_t i = 0; i < walks.size(); ++i) {
    if (!IsHalf(desc.operands[i].element)) continue;
    const int64_t elements =
        Lay(desc.operands[i], &wide.operands[i], &walks[i]);
    walks[i].at = copies;
    copies += (size_t(elements) * sizeof(float) + 63) / 64 * 64;
  }
  auto inner = make(wide);
  if (!inner.ok()) return inner.status();
  return std::make_unique<WidenedKernel>(*std::move(inner), std::move(walks),
                                         desc.accumulate, copies);
}

}  // namespace commsched::ops
