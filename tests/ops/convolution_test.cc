// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/onednn/convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ops/kernel_tester.h"

namespace commsched {
namespace {

using ops::Element;
using testing::Permuted;

// How the three tensors lie in memory, outermost dimension first.
enum Layout {
  kChannelsFirst,
  kChannelsLast
};

struct Case {
  const char *name;
  int64_t samples, inputs, outputs;
  std::vector<int64_t> size, kernel, strides, dilations, low, high;
  int64_t groups = 1;
};

std::ostream &operator<<(std::ostream &out, const Case &c) { return out << c.name; }

ops::KernelDesc Make(const Case &c, const std::string &kind, Layout layout,
                     Element element, bool accumulate) {
  std::vector<int64_t> s = {c.samples, c.inputs}, w = {c.outputs, c.inputs / c.groups},
                       t = {c.samples, c.outputs};
  std::vector<int> data_order = {0}, weight_order;
  for (size_t d = 0; d < c.size.size(); ++d) {
    s.push_back(c.size[d]);
    w.push_back(c.kernel[d]);
    t.push_back((c.size[d] + c.low[d] + c.high[d] - (c.kernel[d] - 1) * c.dilations[d] - 1) /
                    c.strides[d] +
                1);
    data_order.push_back(int(d) + 2);
    weight_order.push_back(int(d) + 2);
  }
  data_order.push_back(1);
  weight_order.push_back(1);
  weight_order.push_back(0);  // spatial, input, output
  if (layout == kChannelsFirst) {
    for (size_t d = 0; d < data_order.size(); ++d) data_order[d] = int(d);
    weight_order = data_order;
  }
  auto source = Permuted(element, s, data_order), weights = Permuted(element, w, weight_order),
       destination = Permuted(element, t, data_order);
  ops::KernelDesc desc;
  desc.kind = "convolution_" + kind;
  desc.accumulate = accumulate;
  desc.attributes = {
      {"strides", c.strides},
      {"dilations", c.dilations},
      {"pad_low", c.low},
      {"pad_high", c.high},
      {"groups", {c.groups}},
  };
  if (kind == "forward")
    desc.operands = {source, weights, destination};
  else if (kind == "backward_data")
    desc.operands = {destination, weights, source};
  else
    desc.operands = {source, destination, weights};
  return desc;
}

class ConvolutionTest
    : public ::testing::TestWithParam<std::tuple<Case, const char *, Layout, bool>> {};

TEST_P(ConvolutionTest, GivesWhatLoopsGive) {
  auto [c, kind, layout, accumulate] = GetParam();
  testing::Comparison result =
      testing::Compare(Make(c, kind, layout, Element::kF32, accumulate));
  EXPECT_TRUE(result.error <= 1e-5) << result.error << " " << result.implementation;
  EXPECT_FALSE(result.damaged);
  EXPECT_NE(result.implementation, "loops");
}

std::vector<Case> Cases() {
  return {
      {"same3x3", 2, 16, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {"image", 90, 1, 16, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {"image_padded", 16, 1, 16, {10, 10}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
      {"odd", 3, 5, 7, {9, 6}, {3, 2}, {1, 1}, {1, 1}, {0, 1}, {2, 0}},
      {"strided", 2, 3, 8, {11, 11}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
      {"left_over", 2, 4, 4, {10, 10}, {3, 3}, {2, 3}, {1, 1}, {0, 0}, {0, 0}},
      {"dilated", 2, 4, 6, {12, 12}, {3, 3}, {1, 1}, {2, 3}, {2, 1}, {1, 2}},
      {"pointwise", 2, 8, 16, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
      {"line", 2, 6, 10, {20}, {5}, {1}, {1}, {2}, {2}},
      {"volume", 2, 3, 4, {5, 6, 4}, {2, 3, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 0}, {0, 1, 1}},
      {"groups", 2, 8, 12, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 4},
      {"depthwise", 2, 16, 16, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 16},
  };
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvolutionTest,
    ::testing::Combine(::testing::ValuesIn(Cases()),
                       ::testing::Values("forward", "backward_data", "backward_weights"),
                       ::testing::Values(kChannelsFirst, kChannelsLast), ::testing::Bool()),
    [](const auto &info) {
      return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param) +
             (std::get<2>(info.param) == kChannelsLast ? "_last" : "_first") +
             (std::get<3>(info.param) ? "_accumulate" : "");
    });

TEST(ConvolutionTypesTest, HalvesAndDouble) {
  for (const Case &c : Cases())
    for (const char *kind : {"forward", "backward_data", "backward_weights"})
      for (bool accumulate : {false, true}) {
        for (auto [element, rounding] : {std::pair{Element::kBF16, 8e-3}, {Element::kF16, 1e-3}}) {
          testing::Comparison result =
              testing::Compare(Make(c, kind, kChannelsLast, element, accumulate));
          EXPECT_TRUE(result.error <= rounding)
              << c.name << " " << kind << " " << result.error << " " << result.implementation;
          EXPECT_NE(result.implementation, "loops") << c.name << " " << kind;
          EXPECT_FALSE(result.damaged);
        }
      }
  for (const char *kind : {"forward", "backward_data", "backward_weights"}) {
    testing::Comparison result =
        testing::Compare(Make(Cases()[0], kind, kChannelsLast, Element::kF64, false));
    EXPECT_TRUE(result.error <= 1e-12) << kind << " " << result.error;
  }
}

// The weights of a transposed convolution: input and output channels swapped
// in memory.
TEST(ConvolutionLayoutTest, SwappedWeights) {
  ops::KernelDesc desc = Make(Cases()[0], "forward", kChannelsLast, Element::kF32, false);
  desc.operands[1] = Permuted(Element::kF32, desc.operands[1].dims, {2, 3, 0, 1});
  testing::Comparison result = testing::Compare(desc);
  EXPECT_TRUE(result.error <= 1e-5) << result.error << " " << result.implementation;
}

TEST(ConvolutionCheckTest, RefusesSizesThatDoNotFit) {
  ops::KernelDesc desc = Make(Cases()[0], "forward", kChannelsLast, Element::kF32, false);
  desc.operands[2].dims[3] = 9;
  EXPECT_THAT(std::string(ops::CheckKernel(desc).message()),
              ::testing::HasSubstr("spatial size of the destination must match 8, got: 9"));
  desc = Make(Cases()[0], "forward", kChannelsLast, Element::kF32, false);
  desc.attributes["strides"] = {0, 1};
  EXPECT_THAT(std::string(ops::CheckKernel(desc).message()), ::testing::HasSubstr("`strides`"));
  desc.attributes["strides"] = {1};
  EXPECT_THAT(std::string(ops::CheckKernel(desc).message()),
              ::testing::HasSubstr("must have 2 values, got: 1"));
}

}  // namespace
}  // namespace commsched
