// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product as the fake cuBLASLt is told it, and what it computes. Of its own sources only.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_PRODUCT_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_PRODUCT_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "ops/base/element.h"

namespace commsched::runtime::cuda {

// cublasStatus_t.
inline constexpr int kProductOk = 0, kProductInvalid = 7, kProductNotSupported = 15;

struct ProductOperation {
  int compute = 0, scale = 0;
  int32_t transposed[2] = {0, 0};
};
struct ProductLayout {
  int type = 0;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t order = 0, batch = 1;
  int64_t batch_stride = 0;

  // In elements.
  uint64_t At(int32_t of_batch, uint64_t row, uint64_t column) const {
    return uint64_t(of_batch) * uint64_t(batch_stride) +
           (order == 0 ? row + column * uint64_t(leading) : row * uint64_t(leading) + column);
  }
  bool operator==(const ProductLayout &) const = default;
};
// A product, by value: descriptors may be gone when it runs.
struct Product {
  ProductOperation operation;
  ProductLayout a, b, c, d;
  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const { return operation.transposed[0] ? a.rows : a.columns; }
  bool f64() const { return operation.compute == 70; }

  int Check() const {
    for (const ProductLayout *layout : {&a, &b, &c, &d}) {
      const uint64_t least = layout->order == 0 ? layout->rows : layout->columns;
      if (layout->rows == 0 || layout->columns == 0 || layout->leading < int64_t(least) ||
          layout->batch < 1 || layout->batch != d.batch || layout->order > 1)
        return kProductInvalid;
    }
    const bool ta = operation.transposed[0] == 1, tb = operation.transposed[1] == 1;
    if ((ta ? a.columns : a.rows) != m() || (tb ? b.rows : b.columns) != n() ||
        (tb ? b.columns : b.rows) != k() || !(c == d))
      return kProductInvalid;
    if (d.batch > 1 && d.batch_stride == 0) return kProductInvalid;
    if (a.type != b.type) return kProductNotSupported;
    if (f64()) return operation.scale == 1 && a.type == 1 && d.type == 1 ? kProductOk : kProductNotSupported;
    const bool halves = (a.type == 2 || a.type == 14) && (d.type == a.type || d.type == 0);
    return operation.compute == 68 && operation.scale == 0 && (halves || (a.type == 0 && d.type == 0))
               ? kProductOk
               : kProductNotSupported;
  }
  uint64_t Signature() const {
    uint64_t hash = 1469598103934665603u;
    const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
    mix(uint64_t(operation.transposed[0] * 2 + operation.transposed[1]));
    for (const ProductLayout *l : {&a, &b, &d}) {
      mix(uint64_t(l->type)), mix(l->rows), mix(l->columns), mix(uint64_t(l->leading));
      mix(uint64_t(l->order)), mix(uint64_t(l->batch)), mix(uint64_t(l->batch_stride));
    }
    return hash;
  }
};

// Of a cudaDataType.
ops::Element ProductElement(int type);

// With `parts` parts of each sum, in the workspace if there are several; `rounds`: each is rounded to
// the output's type.
void ComputeProduct(const Product &product, double alpha, double beta, const std::byte *a,
                    const std::byte *b, const std::byte *c, std::byte *d, void *workspace,
                    uint64_t parts, bool rounds);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_PRODUCT_H
