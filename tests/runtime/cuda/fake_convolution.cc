// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/fake_convolution.h"

#include <algorithm>
#include <type_traits>

#include "tests/runtime/cuda/fake_numbers.h"

namespace commsched::runtime::cuda {

bool ConvolutionTensor::Dense(bool channels_last) const {
  int64_t expected = 1;
  const auto dense = [&](size_t d) {
    const bool well = dims[d] == 1 || strides[d] == expected;
    expected *= dims[d];
    return well;
  };
  if (channels_last && !dense(1)) return false;
  for (size_t d = dims.size(); d-- > 2;)
    if (!dense(d)) return false;
  return (channels_last || dense(1)) && dense(0);
}

namespace {

using Numbers = std::vector<int64_t>;

// To the next index within `dims`, the last dimension first; false behind the last one.
bool Next(Numbers *index, const Numbers &dims) {
  for (size_t d = dims.size(); d-- > 0;) {
    if (++(*index)[d] < dims[d]) return true;
    (*index)[d] = 0;
  }
  return false;
}

// Visits where each element is, those next to each other in the last dimension of `order` one behind the other.
template <typename Visit>
void ForEach(const ConvolutionTensor &tensor, const Numbers &order, const Visit &visit) {
  Numbers dims, index(order.size(), 0);
  for (int64_t d : order) dims.push_back(tensor.dims[size_t(d)]);
  const int64_t bytes = int64_t(ops::ElementBytes(tensor.element)), inner = tensor.strides[size_t(order.back())] * bytes;
  const int64_t count = dims.back();
  dims.back() = 1;
  do {
    int64_t at = 0;
    for (size_t d = 0; d < order.size(); ++d) at += index[d] * tensor.strides[size_t(order[d])];
    at *= bytes;
    for (int64_t i = 0; i < count; ++i) visit(at + i * inner);
  } while (Next(&index, dims));
}

double AsBF16(double value) {
  std::byte rounded[2];
  WriteNumber(ops::Element::kBF16, value, rounded);
  return ReadNumber(ops::Element::kBF16, rounded);
}

template <typename Sum>
std::vector<Sum> Read(const ConvolutionTensor &tensor, const Numbers &order, const std::byte *memory, bool as_bf16) {
  std::vector<Sum> values;
  uint64_t count = 1;
  for (int64_t size : tensor.dims) count *= uint64_t(size);
  values.reserve(count);
  ForEach(tensor, order, [&](int64_t at) {
    const double value = ReadNumber(tensor.element, memory + at);
    values.push_back(Sum(as_bf16 ? AsBF16(value) : value));
  });
  return values;
}

// Three numbers of a place in space each: of an element of x, of the window, of y, that meet.
struct Meeting {
  int64_t x, w, y;
};
std::vector<Meeting> Meetings(const Convolution &c) {
  const Numbers in(c.x.dims.begin() + 2, c.x.dims.end()), window(c.w.dims.begin() + 2, c.w.dims.end()),
      out(c.y.dims.begin() + 2, c.y.dims.end());
  std::vector<Meeting> meetings;
  Numbers of_y(out.size(), 0), of_w(out.size(), 0);
  do {
    do {
      Meeting meeting = {0, 0, 0};
      bool inside = true;
      for (size_t d = 0; d < out.size(); ++d) {
        const int64_t of_x = of_y[d] * c.strides[d] + of_w[d] * c.dilations[d] - c.low[d];
        inside &= of_x >= 0 && of_x < in[d];
        meeting.x = meeting.x * in[d] + of_x;
        meeting.w = meeting.w * window[d] + (c.flips ? window[d] - 1 - of_w[d] : of_w[d]);
        meeting.y = meeting.y * out[d] + of_y[d];
      }
      if (inside) meetings.push_back(meeting);
    } while (Next(&of_w, window));
  } while (Next(&of_y, out));
  return meetings;
}

// to[j] += from[i] * matrix[i, j]. Without FMA, whose products are not rounded.
template <typename Sum>
[[gnu::target("avx2")]] void AddProduct(const Sum *__restrict from, int64_t rows, const Sum *__restrict matrix,
                                        int64_t leading, int64_t columns, Sum *__restrict to) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) to[j] += from[i] * matrix[i * leading + j];
}
// matrix[i, j] += left[i] * right[j].
template <typename Sum>
[[gnu::target("avx2")]] void AddOuterProduct(const Sum *__restrict left, int64_t rows, const Sum *__restrict right,
                                             int64_t columns, Sum *__restrict matrix, int64_t leading) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) matrix[i * leading + j] += left[i] * right[j];
}

// Operands are read once, with channels last, of weights the channels that end up in the output. So what meets at two
// places is, in each group, the product of a vector and a matrix, or of two vectors, in memory without gaps.
template <typename Sum>
void Compute(const Convolution &c, const ConvolutionFlaws &flaws, std::byte *x, std::byte *w, std::byte *y,
             Sum *sums, uint64_t parts) {
  const bool forward = c.kind == ConvolutionKind::kForward, data = c.kind == ConvolutionKind::kBackwardData;
  Numbers order = {0}, order_of_w;
  for (int64_t d = 2; d < int64_t(c.x.dims.size()); ++d) order.push_back(d), order_of_w.push_back(d);
  order.push_back(1);
  order_of_w.insert(order_of_w.end(), {data ? 0 : 1, data ? 1 : 0});
  std::vector<Sum> of_x, of_w, of_y;
  if (!data) of_x = Read<Sum>(c.x, order, x, flaws.inputs_as_bf16);
  if (forward || data) of_w = Read<Sum>(c.w, order_of_w, w, flaws.inputs_as_bf16);
  if (!forward) of_y = Read<Sum>(c.y, order, y, flaws.inputs_as_bf16);

  const uint64_t elements = c.Elements();
  std::fill_n(sums, elements * parts, Sum(0));
  const int64_t inputs = c.x.dims[1], outputs = c.y.dims[1], groups = inputs / c.w.dims[1];
  const int64_t own_inputs = inputs / groups, own_outputs = outputs / groups;
  const auto space = [](const ConvolutionTensor &tensor) {
    int64_t count = 1;
    for (size_t d = 2; d < tensor.dims.size(); ++d) count *= tensor.dims[d];
    return count;
  };
  const int64_t space_x = space(c.x), space_y = space(c.y);
  const std::vector<Meeting> meetings = Meetings(c);
  uint64_t part = 0;
  for (int64_t n = 0; n < c.x.dims[0]; ++n) {
    for (const Meeting &meeting : meetings) {
      Sum *own = sums + part++ % parts * elements;
      for (int64_t g = 0; g < groups; ++g) {
        const int64_t at_x = (n * space_x + meeting.x) * inputs + g * own_inputs;
        const int64_t at_y = (n * space_y + meeting.y) * outputs + g * own_outputs;
        const int64_t at_w = meeting.w * own_inputs * outputs + g * own_outputs * (data ? own_inputs : 1);
        if (forward)
          AddProduct(of_x.data() + at_x, own_inputs, of_w.data() + at_w, outputs, own_outputs, own + at_y);
        else if (data)
          AddProduct(of_y.data() + at_y, own_outputs, of_w.data() + at_w, own_inputs, own_inputs, own + at_x);
        else
          AddOuterProduct(of_x.data() + at_x, own_inputs, of_y.data() + at_y, own_outputs, own + at_w, outputs);
      }
    }
  }

  const ConvolutionTensor &output = c.Output();
  std::byte *memory = forward ? y : data ? x
                                         : w;
  uint64_t element = 0;
  ForEach(output, forward || data ? order : order_of_w, [&](int64_t place) {
    Sum sum = 0;
    for (uint64_t i = 0; i < parts; ++i) sum += sums[i * elements + element];
    ++element;
    sum *= Sum(flaws.factor);
    if (flaws.sums_as_bf16) sum = Sum(AsBF16(double(sum)));
    std::byte *at = memory + place;
    sum *= Sum(c.alpha);
    if (c.beta != 0) sum += Sum(c.beta) * Sum(ReadNumber(output.element, at));
    WriteNumber(output.element, double(sum), at);
  });
}

}  // namespace

void ComputeConvolution(const Convolution &convolution, const ConvolutionFlaws &flaws, std::byte *x, std::byte *w,
                        std::byte *y, void *workspace, uint64_t parts) {
  const auto compute = [&](auto *sums) {
    using Sum = std::remove_pointer_t<decltype(sums)>;
    std::vector<Sum> own(parts > 1 ? 0 : convolution.Elements());
    Compute<Sum>(convolution, flaws, x, w, y, parts > 1 ? sums : own.data(), parts);
  };
  if (convolution.f64)
    compute(static_cast<double *>(workspace));
  else
    compute(static_cast<float *>(workspace));
}

}  // namespace commsched::runtime::cuda
