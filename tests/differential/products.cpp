// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/families.h"

#include <algorithm>
#include <cmath>

namespace commsched::differential {

namespace {

// Dimensions of a product: which loop each dimension of the operands is.
struct Contraction {
  std::vector<int64_t> a, b, c; // loops by dimension
  std::vector<int64_t> sizes;   // by loop
  std::string kinds;            // by loop

  int64_t operations() const { return elements(sizes); }
  Shape result() const {
    Shape shape;
    for (int64_t loop : c)
      shape.push_back(sizes[size_t(loop)]);
    return shape;
  }
};

} // namespace

// Pairs dimensions of equal size at random; nothing if they share none. Some sum over
// none: outer products, which add to their initial value.
static bool contract(Random &rng, const Value &a, const Value &b, Contraction &made) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < a.shape.size(); ++i)
    for (size_t j = 0; j < b.shape.size(); ++j)
      if (a.shape[i] == b.shape[j])
        pairs.push_back({i, j});
  bool outer = rng.oneIn(6);
  if (outer && rng.oneIn(2))
    pairs.clear();
  if (pairs.empty() && !outer)
    return false;
  for (size_t i = pairs.empty() ? 0 : pairs.size() - 1; i > 0; --i)
    std::swap(pairs[i], pairs[size_t(rng.below(int64_t(i) + 1))]);
  made = {std::vector<int64_t>(a.shape.size(), -1), std::vector<int64_t>(b.shape.size(), -1), {}, {}, ""};
  bool isFirst = true;
  for (auto [i, j] : pairs) {
    if (made.a[i] >= 0 || made.b[j] >= 0 || (!isFirst && rng.oneIn(2)))
      continue;
    bool sum = !outer && (isFirst || rng.oneIn(3));
    isFirst = false;
    int64_t loop = int64_t(made.sizes.size());
    made.a[i] = made.b[j] = loop;
    made.sizes.push_back(a.shape[i]);
    made.kinds += sum ? 'r' : 'p';
    if (!sum)
      made.c.push_back(loop);
  }
  auto rest = [&](const Value &v, std::vector<int64_t> &loops) {
    for (size_t i = 0; i < loops.size(); ++i)
      if (loops[i] < 0) {
        loops[i] = int64_t(made.sizes.size());
        made.sizes.push_back(v.shape[i]);
        made.kinds += 'p';
        made.c.push_back(loops[i]);
      }
  };
  rest(a, made.a);
  rest(b, made.b);
  return made.operations() <= 40000 && elements(made.result()) <= kMostElements &&
         made.c.size() <= 4;
}

static Value contraction(Body &body, const Value &a, const Value &b, const Contraction &how,
                         const std::string &element) {
  int64_t loops = int64_t(how.sizes.size());
  int64_t summed = how.operations() / std::max<int64_t>(1, elements(how.result()));
  Value init = body.accumulator(element, how.result());
  auto results = body.generic(
      {{a, mapOf(loops, how.a)}, {b, mapOf(loops, how.b)}}, {{init, mapOf(loops, how.c)}},
      how.kinds, [&](auto &ins, auto &outs) {
        Value x = body.castTo(ins[0], element), y = body.castTo(ins[1], element);
        bool isFloat = x.isFloat();
        Value p = body.scalar((isFloat ? "arith.mulf " : "arith.muli ") + x.name + ", " + y.name + " : " + element,
                              element, {x, y}, 0);
        Value s = body.scalar((isFloat ? "arith.addf " : "arith.addi ") + outs[0].name + ", " + p.name + " : " + element,
                              element, {outs[0], p}, 0);
        s.size = x.size * y.size * std::sqrt(double(summed)) * 2 + init.size;
        return std::vector<Value>{s};
      });
  return results[0];
}

// The named op for two matrices, if dimensions are where it wants them.
static bool named(Body &body, const Value &a, const Value &b, Value &result) {
  if (a.element != b.element)
    return false;
  std::string name;
  Shape shape;
  bool flipA = false, flipB = false;
  if (a.rank() == 2 && b.rank() == 2) {
    std::vector<std::pair<bool, bool>> ways;
    for (bool first : {false, true})
      for (bool second : {false, true})
        if (a.shape[first ? 0 : 1] == b.shape[second ? 1 : 0])
          ways.push_back({first, second});
    if (ways.empty())
      return false;
    std::tie(flipA, flipB) = body.rng.pick(ways);
    name = "linalg.matmul";
    shape = {a.shape[flipA ? 1 : 0], b.shape[flipB ? 0 : 1]};
  } else if (a.rank() == 3 && b.rank() == 3 && a.shape[0] == b.shape[0] &&
             a.shape[2] == b.shape[1]) {
    name = "linalg.batch_matmul";
    shape = {a.shape[0], a.shape[1], b.shape[2]};
  } else if (a.rank() == 2 && b.rank() == 1 && a.shape[1] == b.shape[0]) {
    name = "linalg.matvec";
    shape = {a.shape[0]};
  } else if (a.rank() == 1 && b.rank() == 2 && a.shape[0] == b.shape[0]) {
    name = "linalg.vecmat";
    shape = {b.shape[1]};
  } else if (a.rank() == 1 && b.rank() == 1 && a.shape == b.shape) {
    name = "linalg.dot";
  } else {
    return false;
  }
  int64_t summed = a.shape[flipA ? 0 : a.shape.size() - 1];
  if (elements(shape) * summed > 40000 || elements(shape) > kMostElements || a.element == "i1")
    return false;
  auto transposed = [&](const Value &v) {
    Value init = body.empty(v.element, {v.shape[1], v.shape[0]});
    return body.op("linalg.transpose ins(" + v.name + " : " + v.type() + ") outs(" + init.name + " : " + init.type() +
                       ") permutation = [1, 0]",
                   v.element, init.shape, {v}, v.size);
  };
  Value init = body.accumulator(a.element, shape), x = a, y = b;
  std::string maps;
  if ((flipA || flipB) && body.rng.oneIn(2)) {
    maps = " indexing_maps = [" + std::string(flipA ? "affine_map<(m, n, k) -> (k, m)>" : "affine_map<(m, n, k) -> (m, k)>") +
           ", " + (flipB ? "affine_map<(m, n, k) -> (n, k)>" : "affine_map<(m, n, k) -> (k, n)>") +
           ", affine_map<(m, n, k) -> (m, n)>]";
  } else {
    x = flipA ? transposed(a) : a;
    y = flipB ? transposed(b) : b;
  }
  result = body.op(
      name + maps + " ins(" + x.name + ", " + y.name + " : " + x.type() + ", " + y.type() +
          ") outs(" + init.name + " : " + init.type() + ") -> " + init.type(),
      a.element, shape, {x, y, init}, a.size * b.size * std::sqrt(double(summed)) * 2 + init.size);
  return true;
}

void product(Body &body) {
  Random &rng = body.rng;
  for (int i = 0; i < 4; ++i) {
    Value a, b, result;
    auto fits = [](const Value &v) { return v.rank() > 0 && v.rank() < 4 && v.element != "i1" && v.size <= 64; };
    if (!body.find(fits, a) || !body.find(fits, b))
      return;
    if (rng.oneIn(2) && named(body, a, b, result)) {
      body.keep(body.moderate(result));
      return;
    }
    Contraction how;
    if (!contract(rng, a, b, how))
      continue;
    std::string element = a.isFloat() == b.isFloat() ? a.element : a.isFloat() ? a.element
                                                                               : b.element;
    body.keep(body.moderate(contraction(body, a, b, how, element)));
    return;
  }
}

bool productOfType(Body &body, const std::string &element, const Shape &shape, Value &result) {
  for (int i = 0; i < 12; ++i) {
    Value a, b;
    auto fits = [&](const Value &v) {
      return v.element == element && v.rank() > 0 && v.rank() < 4 && v.size <= 64;
    };
    if (!body.find(fits, a) || !body.find(fits, b))
      return false;
    Contraction how;
    if (!contract(body.rng, a, b, how))
      continue;
    Shape made = how.result(), sorted = made, wanted = shape;
    std::sort(sorted.begin(), sorted.end());
    std::sort(wanted.begin(), wanted.end());
    if (sorted != wanted)
      continue;
    // Put the loops in the order of the shape.
    std::vector<int64_t> order, left = how.c;
    for (int64_t dim : shape) {
      auto at = std::find_if(left.begin(), left.end(),
                             [&](int64_t loop) { return how.sizes[size_t(loop)] == dim; });
      order.push_back(*at);
      left.erase(at);
    }
    how.c = order;
    result = contraction(body, a, b, how, element);
    return true;
  }
  return false;
}

// tanh(x w), where some w fits.
void layer(Body &body) {
  Value x, w, result;
  if (!body.find([](const Value &v) { return v.rank() == 2 && v.isFloat(); }, x) ||
      !body.find(
          [&](const Value &v) {
            return v.rank() == 2 && v.element == x.element && v.shape[0] == x.shape[1];
          },
          w) ||
      !named(body, x, w, result))
    return;
  body.keep(body.op("math.tanh " + result.name + " : " + result.type(), result.element, result.shape, {result}, 1));
}

// An image with zeroes around it.
static Value padded(Body &body, const Shape &shape) {
  Shape inner = shape, low(4, 0), high(4, 0);
  for (size_t d : {1, 2}) {
    low[d] = body.rng.between(0, std::min<int64_t>(2, shape[d] - 1));
    high[d] = body.rng.between(0, std::min<int64_t>(2, shape[d] - 1 - low[d]));
    inner[d] -= low[d] + high[d];
  }
  return paddedBy(body, makeOfType(body, "f32", inner), low, high, 0);
}

// The same of a value that is in memory, perhaps without the zeroes: its first
// dimension is that of the images, its last that of the channels.
static bool paddedValue(Body &body, Value &result) {
  Value value;
  if (!body.find([](const Value &v) { return v.element == "f32" && v.rank() == 3 && v.count() <= 1024; }, value))
    return false;
  Shape shape{value.shape[0], value.shape[1], 1, value.shape[2]};
  Value image = body.op("tensor.expand_shape " + value.name + " [[0], [1, 2], [3]] output_shape " + listOf(shape) + " : " + value.type() +
                            " into " + typeOf("f32", shape),
                        "f32", shape, {value}, value.size);
  Shape low(4, 0), high(4, 0);
  for (size_t d : {1, 2}) {
    low[d] = body.rng.between(0, 2);
    high[d] = body.rng.between(0, 2);
  }
  result = paddedBy(body, image, low, high, 0);
  return true;
}

// Of 2 dimensions, channels last, or written as a generic with any order of the
// dimensions; the image and the filter are reshaped from what there is, or constants.
void convolution(Body &body) {
  Random &rng = body.rng;
  Value image;
  if (!body.find([](const Value &v) { return v.element == "f32" && v.rank() >= 2 && v.count() <= 4096; }, image))
    return;
  int64_t height = rng.between(2, 5), width = rng.between(2, 5), channels = rng.pick({1, 2, 3, 8}),
          filters = rng.pick({1, 2, 4, 8}), kh = rng.between(1, 3), kw = rng.between(1, 3);
  if (rng.oneIn(2)) { // enough to be worth a kernel of the library
    channels = filters = 8;
    kh = kw = 3;
  }
  int64_t n = image.shape[0], sh = rng.pick({1, 1, 2}), sw = rng.pick({1, 1, 2});
  int64_t oh = height, ow = width;
  height = (oh - 1) * sh + kh;
  width = (ow - 1) * sw + kw;
  Value x;
  if (rng.oneIn(3) && paddedValue(body, x)) {
    n = x.shape[0], channels = x.shape[3], sh = sw = 1;
    kh = std::min(kh, x.shape[1]), kw = std::min(kw, x.shape[2]);
    oh = x.shape[1] - kh + 1, ow = x.shape[2] - kw + 1;
  } else {
    Shape shape{n, height, width, channels};
    x = rng.oneIn(2) ? padded(body, shape) : makeOfType(body, "f32", shape);
  }
  Value f = makeOfType(body, "f32", {kh, kw, channels, filters});
  double size = x.size * f.size * std::sqrt(double(kh * kw * channels)) * 2;
  if (x.of.batch == f.of.batch && n * oh * ow * filters * kh * kw * channels > 60000)
    return;
  Value result;
  if (rng.oneIn(2)) {
    Value init = body.accumulator("f32", {n, oh, ow, filters});
    result = body.op("linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, strides = dense<" +
                         listOf({sh, sw}) + "> : tensor<2xi64>} ins(" + x.name + ", " + f.name + " : " + x.type() +
                         ", " + f.type() + ") outs(" + init.name + " : " + init.type() + ") -> " + init.type(),
                     "f32", init.shape, {x, f, init}, size + init.size);
  } else {
    auto along = [](int64_t o, int64_t s, int64_t k) {
      return "d" + std::to_string(o) + " * " + std::to_string(s) + " + d" + std::to_string(k);
    };
    // Loops: n, oh, ow, filters, kh, kw, channels.
    bool first = rng.oneIn(2); // channels of the result
    Shape shape = first ? Shape{n, filters, oh, ow} : Shape{n, oh, ow, filters};
    Value init = body.accumulator("f32", shape);
    std::vector<int64_t> out =
        first ? std::vector<int64_t>{0, 3, 1, 2} : std::vector<int64_t>{0, 1, 2, 3};
    result = body.generic({{x, mapOf(7, std::vector<std::string>{"d0", along(1, sh, 4), along(2, sw, 5), "d6"})},
                           {f, mapOf(7, std::vector<int64_t>{4, 5, 6, 3})}},
                          {{init, mapOf(7, out)}}, "pppprrr", [&](auto &ins, auto &outs) {
                            Value p = body.scalar("arith.mulf " + ins[0].name + ", " + ins[1].name + " : f32", "f32", ins, 0);
                            Value s = body.scalar("arith.addf " + outs[0].name + ", " + p.name + " : f32", "f32", {p, outs[0]}, size);
                            return std::vector<Value>{s};
                          })[0];
  }
  body.keep(body.moderate(result));
}

} // namespace commsched::differential
