// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/fake_product.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/runtime/cuda/fake_numbers.h"

namespace commsched::runtime::cuda {

ops::Element ProductElement(int type) {
  switch (type) {
    case 0: return ops::Element::kF32;
    case 1: return ops::Element::kF64;
    case 2: return ops::Element::kF16;
    default: return ops::Element::kBF16;
  }
}

namespace {

// Products of a tile of outputs at a time, each output's terms added up in their order: the bits are
// those of a loop over terms for each output.
constexpr uint64_t kTileColumns = 4;
template <typename Sum>
constexpr uint64_t kTileRows = 64 / sizeof(Sum);

// Adds the terms from `begin` to before `end` to nothing: `left` has kTileRows of each term, `right`
// kTileColumns. Without FMA, whose products are not rounded.
template <typename Sum>
[[gnu::target("avx2")]] void SumTile(const Sum *left, const Sum *right, uint64_t begin, uint64_t end,
                                     Sum *sums) {
  typedef Sum Vector __attribute__((vector_size(32)));
  constexpr uint64_t kLanes = 32 / sizeof(Sum);
  Vector low[kTileColumns] = {}, high[kTileColumns] = {};
  for (uint64_t p = begin; p < end; ++p) {
    Vector l, h;
    std::memcpy(&l, left + p * kTileRows<Sum>, sizeof(l));
    std::memcpy(&h, left + p * kTileRows<Sum> + kLanes, sizeof(h));
    const Sum *r = right + p * kTileColumns;
#pragma GCC unroll 4
    for (uint64_t column = 0; column < kTileColumns; ++column) {
      low[column] += l * r[column];
      high[column] += h * r[column];
    }
  }
#pragma GCC unroll 4
  for (uint64_t column = 0; column < kTileColumns; ++column) {
    std::memcpy(sums + column * kTileRows<Sum>, &low[column], sizeof(Vector));
    std::memcpy(sums + column * kTileRows<Sum> + kLanes, &high[column], sizeof(Vector));
  }
}

// A matrix of `lines`, each of `k` terms, as panels of kWidth lines, by term; zeros behind the last.
template <uint64_t kWidth, typename Sum, typename ReadTerm>
std::vector<Sum> Pack(uint64_t lines, uint64_t k, const ReadTerm &read) {
  std::vector<Sum> panels((lines + kWidth - 1) / kWidth * kWidth * k);
  for (uint64_t line = 0; line < lines; ++line)
    for (uint64_t p = 0; p < k; ++p)
      panels[(line / kWidth * k + p) * kWidth + line % kWidth] = read(line, p);
  return panels;
}

template <typename Sum>
void Compute(const Product &problem, double alpha, double beta, const std::byte *a,
             const std::byte *b, const std::byte *c, std::byte *d, Sum *workspace, uint64_t parts,
             bool rounds) {
  constexpr uint64_t kRows = kTileRows<Sum>, kColumns = kTileColumns;
  const bool ta = problem.operation.transposed[0] == 1, tb = problem.operation.transposed[1] == 1;
  const ops::Element of_a = ProductElement(problem.a.type), of_b = ProductElement(problem.b.type),
                     of_c = ProductElement(problem.c.type), of_d = ProductElement(problem.d.type);
  const size_t a_bytes = ops::ElementBytes(of_a), b_bytes = ops::ElementBytes(of_b), d_bytes = ops::ElementBytes(of_d);
  const uint64_t m = problem.m(), n = problem.n(), k = problem.k();
  const auto rounded = [&](Sum sum) {
    std::byte bytes[8];
    WriteNumber(of_d, double(sum), bytes);
    return Sum(ReadNumber(of_d, bytes));
  };
  std::vector<Sum> tile(parts * kRows * kColumns);
  for (int32_t i = 0; i < problem.d.batch; ++i) {
    const std::vector<Sum> left = Pack<kRows, Sum>(m, k, [&](uint64_t row, uint64_t p) {
      const uint64_t at = ta ? problem.a.At(i, p, row) : problem.a.At(i, row, p);
      return Sum(ReadNumber(of_a, a + at * a_bytes));
    });
    const std::vector<Sum> right = Pack<kColumns, Sum>(n, k, [&](uint64_t column, uint64_t p) {
      const uint64_t at = tb ? problem.b.At(i, column, p) : problem.b.At(i, p, column);
      return Sum(ReadNumber(of_b, b + at * b_bytes));
    });
    // Of one output, from the sums of its parts.
    const auto store = [&](uint64_t row, uint64_t column, const Sum *first) {
      Sum sum = 0;
      for (uint64_t part = 0; part < parts; ++part) {
        const Sum own = first[part * kRows * kColumns];
        Sum *kept = workspace + ((uint64_t(i) * n + column) * m + row) * parts + part;
        if (parts > 1) *kept = rounds ? rounded(own) : own;
        sum += parts > 1 ? *kept : rounds ? rounded(own)
                                          : own;
      }
      const uint64_t at = problem.d.At(i, row, column) * d_bytes;
      sum *= Sum(alpha);
      if (beta != 0) sum += Sum(beta) * Sum(ReadNumber(of_c, c + at));
      WriteNumber(of_d, double(sum), d + at);
    };
    for (uint64_t column = 0; column < n; column += kColumns) {
      for (uint64_t row = 0; row < m; row += kRows) {
        for (uint64_t part = 0; part < parts; ++part)
          SumTile(left.data() + row * k, right.data() + column * k, k * part / parts,
                  k * (part + 1) / parts, tile.data() + part * kRows * kColumns);
        for (uint64_t c0 = 0; c0 < std::min(kColumns, n - column); ++c0)
          for (uint64_t r0 = 0; r0 < std::min(kRows, m - row); ++r0)
            store(row + r0, column + c0, tile.data() + c0 * kRows + r0);
      }
    }
  }
}

}  // namespace

void ComputeProduct(const Product &product, double alpha, double beta, const std::byte *a,
                    const std::byte *b, const std::byte *c, std::byte *d, void *workspace,
                    uint64_t parts, bool rounds) {
  if (product.f64())
    Compute(product, alpha, beta, a, b, c, d, static_cast<double *>(workspace), parts, rounds);
  else
    Compute(product, alpha, beta, a, b, c, d, static_cast<float *>(workspace), parts, rounds);
}

}  // namespace commsched::runtime::cuda
