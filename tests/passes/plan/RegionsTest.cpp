// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions and contents against sets and maps of single bytes.

#include "passes/plan/Regions.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

using namespace commsched::planexport;

namespace {

using Random = std::mt19937;

int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

std::set<int64_t> bytesOf(const Box &box) {
  std::set<int64_t> bytes{box.offset};
  for (auto [size, stride] : box.dims) {
    std::set<int64_t> more;
    for (int64_t byte : bytes)
      for (int64_t i = 0; i < size; ++i)
        more.insert(byte + i * stride);
    bytes = std::move(more);
  }
  return bytes;
}

/// A random slice of a dense tensor, and its bytes element by element.
struct Slice {
  View view;
  std::vector<int64_t> elements; // first bytes, row-major
};

Slice sliceOf(const View &whole, llvm::ArrayRef<int64_t> begins, llvm::ArrayRef<int64_t> sizes,
              llvm::ArrayRef<int64_t> steps) {
  Slice slice;
  slice.view.elementBytes = whole.elementBytes;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
  slice.elements = {0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    slice.view.sizes.push_back(sizes[d]);
    int64_t stride = whole.strides[d] * steps[d];
    slice.view.strides.push_back(stride);
    strides.push_back(stride / whole.elementBytes);
    offset += begins[d] * whole.strides[d];
    std::vector<int64_t> next;
    for (int64_t at : slice.elements)
      for (int64_t i = 0; i < sizes[d]; ++i)
        next.push_back(at + i * stride);
    slice.elements = std::move(next);
  }
  for (int64_t &at : slice.elements)
    at += offset;
  slice.view.region = {makeBox(offset, sizes, strides, whole.elementBytes), 0, {}};
  return slice;
}

TEST(Regions, RelationsAreThoseOfTheSetsOfBytes) {
  Random random(7);
  unsigned undecided = 0;
  constexpr unsigned kCases = 20000;
  for (unsigned n = 0; n < kCases; ++n) {
    auto box = [&] {
      llvm::SmallVector<int64_t> sizes, strides;
      int64_t stride = 1;
      unsigned rank = pick(random, 0, 3);
      for (unsigned d = 0; d < rank; ++d) {
        sizes.push_back(pick(random, 1, 4));
        strides.push_back(stride * pick(random, 1, 2));
        stride = strides.back() * pick(random, sizes.back(), 5);
      }
      return makeBox(pick(random, 0, 40) * 2, sizes, strides, pick(random, 0, 1) ? 2 : 1);
    };
    Box a = box(), b = box();
    std::set<int64_t> x = bytesOf(a), y = bytesOf(b);
    ASSERT_EQ(a.volume(), static_cast<int64_t>(x.size()));
    std::set<int64_t> both;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::inserter(both, both.end()));
    switch (relate(a, b)) {
    case Relation::Disjoint:
      ASSERT_TRUE(both.empty());
      break;
    case Relation::Equal:
      ASSERT_EQ(x, y);
      break;
    case Relation::Contains:
      ASSERT_EQ(both, y);
      break;
    case Relation::Inside:
      ASSERT_EQ(both, x);
      break;
    case Relation::Overlap:
      undecided += both.empty() || both == x || both == y;
      break;
    }
  }
  EXPECT_LT(undecided, kCases / 10);
}

// A tensor of parts side by side, into which a slice with steps is written that lies
// over several of them.
TEST(Regions, WhatASliceWithStepsLeavesIsKnownExactly) {
  Random random(13);
  for (unsigned n = 0; n < 2000; ++n) {
    llvm::SmallVector<int64_t> shape{pick(random, 1, 4), pick(random, 1, 5),
                                     2 * pick(random, 1, 8)};
    View whole = denseView(shape, 4);
    Content content(whole.region.box, {Source::Input, false, 0, 0});
    std::map<int64_t, unsigned> truth;
    auto write = [&](const Box &box, unsigned number) {
      content.write({box, 0, {}}, {Source::Structured, false, 0, number});
      for (int64_t byte : bytesOf(box))
        truth[byte] = number;
    };
    int64_t cut = pick(random, 1, shape[2] - 1), row = shape[2], plane = row * shape[1];
    write(makeBox(0, {shape[0], shape[1], cut}, {plane, row, 1}, 4), 1);
    write(makeBox(4 * cut, {shape[0], shape[1], row - cut}, {plane, row, 1}, 4), 2);
    int64_t begin[3], size[3];
    for (int d : {0, 1, 2}) {
      int64_t step = d == 2 ? 2 : 1;
      begin[d] = pick(random, 0, shape[d] - 1);
      size[d] = pick(random, 1, (shape[d] - begin[d] + step - 1) / step);
    }
    write(makeBox(4 * (begin[0] * plane + begin[1] * row + begin[2]), {size[0], size[1], size[2]},
                  {plane, row, 2}, 4),
          3);
    std::set<unsigned> wanted, got;
    for (auto [byte, number] : truth)
      wanted.insert(number);
    for (const Source &source : content.read(whole.region).sources)
      got.insert(source.kind == Source::Input ? 0 : source.number);
    ASSERT_EQ(got, wanted) << "case " << n;
    // Within a larger tensor it is known as well, and so are its parts.
    View larger = denseView({shape[0] + 1, shape[1] + 2, row}, 4), at = larger;
    at.sizes.assign({shape[0], shape[1], row});
    int64_t begins = larger.strides[0] + larger.strides[1];
    at.region = {
        makeBox(begins, {shape[0], shape[1], row}, {larger.strides[0] / 4, row, 1}, 4), 0, {}};
    Content around(larger.region.box, {Source::Input, false, 0, 7});
    around.copy(content, whole, at);
    for (int64_t i = 0; i < shape[0]; ++i)
      for (int64_t j = 0; j < shape[1]; ++j) {
        wanted.clear(), got.clear();
        for (int64_t k = 0; k < 4 * row; ++k)
          wanted.insert(truth[4 * (i * plane + j * row) + k]);
        Box line = makeBox(begins + i * larger.strides[0] + j * larger.strides[1], {row}, {1}, 4);
        for (const Source &source : around.read({line, 0, {}}).sources)
          got.insert(source.kind == Source::Input ? source.number + 100 : source.number);
        ASSERT_EQ(got, wanted) << "case " << n << " row " << i << ", " << j;
      }
  }
}

TEST(Regions, BlocksAtAnUnknownPlaceAreKnownToThemselvesOnly) {
  View whole = denseView({8, 8}, 4);
  Box block = makeBox(0, {2, 8}, {8, 1}, 4);
  MemoryRegion here{whole.region.box, 1, block}, there{whole.region.box, 2, block};
  EXPECT_EQ(relate(here, here), Relation::Equal);
  EXPECT_EQ(relate(here, there), Relation::Overlap);
  EXPECT_EQ(relate(whole.region, here), Relation::Contains);
  EXPECT_EQ(relate(here, whole.region), Relation::Inside);
}

// Random writes and copies, some of slices with steps: no writer of a byte is missed. None
// is named that is none, unless that is said, which is seldom.
TEST(Regions, ContentsNameTheWritersOfEveryByte) {
  Random random(11);
  unsigned exact = 0, reads = 0, vague = 0;
  for (unsigned n = 0; n < 1200; ++n) {
    bool stepped = n % 3 == 0;
    llvm::SmallVector<int64_t> shape{pick(random, 1, 4), pick(random, 1, 4), pick(random, 1, 4)};
    View whole = denseView(shape, 4);
    constexpr unsigned kBuffers = 2;
    Content content[kBuffers];
    std::map<int64_t, Source> truth[kBuffers];
    for (unsigned b = 0; b < kBuffers; ++b) {
      Source input{Source::Input, false, 0, b};
      content[b] = Content(whole.region.box, input);
      for (int64_t byte = 0; byte < whole.region.volume(); ++byte)
        truth[b][byte] = input;
    }
    for (unsigned step = 1; step < 25; ++step) {
      llvm::SmallVector<int64_t> sizes, begins, others;
      llvm::SmallVector<int64_t> steps, otherSteps;
      for (int64_t size : shape) {
        steps.push_back(stepped ? pick(random, 1, 3) : 1);
        otherSteps.push_back(stepped ? pick(random, 1, 3) : 1);
        int64_t most = (size - 1) / std::max(steps.back(), otherSteps.back()) + 1;
        sizes.push_back(pick(random, 1, most));
        auto begin = [&](int64_t step) {
          return pick(random, 0, size - 1 - (sizes.back() - 1) * step);
        };
        begins.push_back(begin(steps.back()));
        others.push_back(begin(otherSteps.back()));
      }
      Slice at = sliceOf(whole, begins, sizes, steps),
            from = sliceOf(whole, others, sizes, otherSteps);
      unsigned b = pick(random, 0, kBuffers - 1);
      switch (pick(random, 0, 2)) {
      case 0: {
        Source source{Source::Structured, false, 0, step};
        content[b].write(at.view.region, source);
        for (int64_t element : at.elements)
          for (int64_t i = 0; i < 4; ++i)
            truth[b][element + i] = source;
        break;
      }
      case 1: {
        unsigned other = 1 - b;
        content[b].copy(content[other], from.view, at.view);
        for (size_t e = 0; e < at.elements.size(); ++e)
          for (int64_t i = 0; i < 4; ++i)
            truth[b][at.elements[e] + i] = truth[other][from.elements[e] + i];
        break;
      }
      default: {
        std::set<Source> wanted;
        for (int64_t element : at.elements)
          wanted.insert(truth[b][element]);
        Writers got = content[b].read(at.view.region);
        for (const Source &source : wanted)
          ASSERT_TRUE(llvm::is_contained(got.sources, source)) << "case " << n << " step " << step;
        ASSERT_TRUE(got.vague || got.sources.size() == wanted.size()) << "case " << n << " step " << step;
        ++reads;
        exact += got.sources.size() == wanted.size();
        vague += got.vague;
      }
      }
    }
  }
  EXPECT_GT(exact, reads * 90 / 100) << reads;
  EXPECT_LT(vague, reads / 4) << reads;
}

} // namespace
