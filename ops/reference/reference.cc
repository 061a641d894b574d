// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/reference/reference.h"

#include <array>
#include <cstring>
#include <utility>

#include "ops/base/convolution_shape.h"

namespace commsched::ops {
namespace {

// Reads and writes one operand through its strides. V is the type that sums
// are kept in.
template <typename V>
class View {
 public:
  View(const KernelOperand &operand, void *base)
      : operand_(operand), base_(static_cast<std::byte *>(base)) {}

  V Load(int64_t offset) const {
    const std::byte *p = At(offset);
    switch (operand_.element) {
      case Element::kF64:
        return V(Read<double>(p));
      case Element::kF32:
        return V(Read<float>(p));
      case Element::kF16:
        return V(HalfToFloat(Read<uint16_t>(p)));
      case Element::kBF16:
        return V(BFloat16ToFloat(Read<uint16_t>(p)));
      case Element::kI64:
        return V(Read<int64_t>(p));
      case Element::kI32:
        return V(Read<int32_t>(p));
      default:
        return V(Read<int8_t>(p));
    }
  }
  void Store(int64_t offset, V value) const {
    std::byte *p = At(offset);
    switch (operand_.element) {
      case Element::kF64:
        return Write(p, double(value));
      case Element::kF32:
        return Write(p, float(value));
      case Element::kF16:
        return Write(p, FloatToHalf(float(value)));
      case Element::kBF16:
        return Write(p, FloatToBFloat16(float(value)));
      case Element::kI64:
        return Write(p, int64_t(value));
      case Element::kI32:
        return Write(p, int32_t(value));
      default:
        return Write(p, int8_t(value));
    }
  }
  int64_t stride(size_t d) const { return operand_.strides[d]; }
  int64_t dim(size_t d) const { return operand_.dims[d]; }

 private:
  std::byte *At(int64_t offset) const {
    return base_ + offset * int64_t(ElementBytes(operand_.element));
  }
  template <typename T>
  static T Read(const std::byte *p) {
    T v;
    std::memcpy(&v, p, sizeof(T));
    return v;
  }
  template <typename T>
  static void Write(std::byte *p, T v) {
    std::memcpy(p, &v, sizeof(T));
  }
  const KernelOperand &operand_;
  std::byte *base_;
};

template <typename V>
void Matmul(const KernelDesc &desc, void *const *operands) {
  View<V> a(desc.operands[0], operands[0]), b(desc.operands[1], operands[1]),
      c(desc.operands[2], operands[2]);
  size_t rank = desc.operands[2].dims.size(), batch = rank - 2;
  int64_t m = c.dim(batch), n = c.dim(batch + 1), k = a.dim(batch + 1);
  std::vector<int64_t> at(batch, 0);
  while (true) {
    int64_t a0 = 0, b0 = 0, c0 = 0;
    for (size_t d = 0; d < batch; ++d) {
      a0 += at[d] * a.stride(d);
      b0 += at[d] * b.stride(d);
      c0 += at[d] * c.stride(d);
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        int64_t to = c0 + i * c.stride(batch) + j * c.stride(batch + 1);
        V sum = desc.accumulate ? c.Load(to) : V(0);
        for (int64_t l = 0; l < k; ++l)
          sum += a.Load(a0 + i * a.stride(batch) + l * a.stride(batch + 1)) *
                 b.Load(b0 + l * b.stride(batch) + j * b.stride(batch + 1));
        c.Store(to, sum);
      }
    size_t d = batch;
    while (d > 0 && ++at[d - 1] == c.dim(d - 1)) at[--d] = 0;
    if (d == 0) return;
  }
}

// Positions of one convolution, padded to three spatial dimensions.
struct Geometry {
  explicit Geometry(const ConvolutionShape &shape) {
    for (int d = 0; d < shape.spatial; ++d) {
      stride[d] = shape.strides[d];
      dilation[d] = shape.dilations[d];
      low[d] = shape.pad_low[d];
    }
  }
  std::array<int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1}, low{0, 0, 0};
};

std::array<int64_t, 3> Spatial(const std::vector<int64_t> &values, int64_t pad) {
  std::array<int64_t, 3> out{pad, pad, pad};
  for (size_t d = 2; d < values.size(); ++d) out[d - 2] = values[d];
  return out;
}

// Calls f(source offset, weights offset, destination offset) for every product
// that takes part in the convolution.
template <typename F>
void ForEachProduct(const KernelDesc &desc, const ConvolutionShape &shape,
                    F f) {
  const KernelOperand &s = desc.operands[shape.source];
  const KernelOperand &w = desc.operands[shape.weights];
  const KernelOperand &t = desc.operands[shape.destination];
  Geometry g(shape);
  auto in = Spatial(s.dims, 1), kernel = Spatial(w.dims, 1),
       out = Spatial(t.dims, 1);
  auto ss = Spatial(s.strides, 0), ws = Spatial(w.strides, 0),
       ts = Spatial(t.strides, 0);
  int64_t outputs = w.dims[0] / shape.groups, inputs = w.dims[1];
  std::array<int64_t, 3> o, x;
  for (int64_t n = 0; n < s.dims[0]; ++n)
    for (int64_t oc = 0; oc < w.dims[0]; ++oc)
      for (int64_t ic = 0; ic < inputs; ++ic)
        for (o[0] = 0; o[0] < out[0]; ++o[0])
          for (o[1] = 0; o[1] < out[1]; ++o[1])
            for (o[2] = 0; o[2] < out[2]; ++o[2])
              for (x[0] = 0; x[0] < kernel[0]; ++x[0])
                for (x[1] = 0; x[1] < kernel[1]; ++x[1])
                  for (x[2] = 0; x[2] < kernel[2]; ++x[2]) {
                    int64_t source =
                        n * s.strides[0] +
                        (oc / outputs * inputs + ic) * s.strides[1];
                    int64_t weights = oc * w.strides[0] + ic * w.strides[1];
                    int64_t target = n * t.strides[0] + oc * t.strides[1];
                    bool inside = true;
                    for (int d = 0; d < 3; ++d) {
                      int64_t at = o[d] * g.stride[d] + x[d] * g.dilation[d] -
                                   g.low[d];
                      inside = inside && at >= 0 && at < in[d];
                      source += at * ss[d];
                      weights += x[d] * ws[d];
                      target += o[d] * ts[d];
                    }
                    if (inside) f(source, weights, target);
                  }
}

template <typename V>
void Convolution(const KernelDesc &desc, const ConvolutionShape &shape,
                 void *const *operands) {
  // Sums are kept in V, densely, and stored once.
  const KernelOperand &result = desc.operands[2];
  int64_t extent = 1;
  for (size_t d = 0; d < result.dims.size(); ++d)
    extent += (result.dims[d] - 1) * result.strides[d];
  std::vector<V> sums(static_cast<size_t>(extent), V(0));
  View<V> first(desc.operands[0], operands[0]),
      second(desc.operands[1], operands[1]), out(result, operands[2]);
  ForEachProduct(desc, shape, [&](int64_t s, int64_t w, int64_t t) {
    switch (shape.kind) {
      case ConvolutionShape::kForward:
        sums[t] += first.Load(s) * second.Load(w);
        break;
      case ConvolutionShape::kBackwardData:
        sums[s] += first.Load(t) * second.Load(w);
        break;
      case ConvolutionShape::kBackwardWeights:
        sums[w] += first.Load(s) * second.Load(t);
        break;
    }
  });
  std::vector<int64_t> at(result.dims.size(), 0);
  while (true) {
    int64_t offset = 0;
    for (size_t d = 0; d < at.size(); ++d) offset += at[d] * result.strides[d];
    out.Store(offset, desc.accumulate ? out.Load(offset) + sums[offset]
                                      : sums[offset]);
    size_t d = at.size();
    while (d > 0 && ++at[d - 1] == result.dims[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

class ReferenceKernel : public KernelInstance {
 public:
  using Function = void (*)(const KernelDesc &, const ConvolutionShape &,
                            void *const *);
  ReferenceKernel(const KernelDesc &desc, ConvolutionShape shape, Function run)
      : desc_(desc), shape_(std::move(shape)), run_(run) {}
  absl::Status Run(void *const *operands, void *) override {
    run_(desc_, shape_, operands);
    return absl::OkStatus();
  }
  std::string implementation() const override { return "loops"; }

 private:
  const KernelDesc desc_;
  const ConvolutionShape shape_;
  const Function run_;
};

// The type that sums of this kernel are kept in.
template <template <typename> class Family>
ReferenceKernel::Function Select(const KernelDesc &desc) {
  Element element = desc.operands[2].element;
  if (element == Element::kF64) return &Family<double>::Run;
  if (IsFloat(element)) return &Family<float>::Run;
  return &Family<int64_t>::Run;
}

template <typename V>
struct MatmulFamily {
  static void Run(const KernelDesc &desc, const ConvolutionShape &,
                  void *const *operands) {
    Matmul<V>(desc, operands);
  }
};
template <typename V>
struct ConvolutionFamily {
  static void Run(const KernelDesc &desc, const ConvolutionShape &shape,
                  void *const *operands) {
    Convolution<V>(desc, shape, operands);
  }
};

}  // namespace

std::unique_ptr<KernelInstance> MakeReferenceMatmul(const KernelDesc &desc) {
  return std::make_unique<ReferenceKernel>(desc, ConvolutionShape(),
                                           Select<MatmulFamily>(desc));
}

std::unique_ptr<KernelInstance> MakeReferenceConvolution(
    const KernelDesc &desc) {
  return std::make_unique<ReferenceKernel>(desc, *ParseConvolution(desc),
                                           Select<ConvolutionFamily>(desc));
}

}  // namespace commsched::ops
