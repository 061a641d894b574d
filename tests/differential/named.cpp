// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named ops of linalg and constructors of tensors: each has a definition of its own
// upstream, which the compiler takes over and the reference reads.

#include "tests/differential/families.h"

#include <algorithm>
#include <cmath>

namespace commsched::differential {

// `linalg.name {attributes} ins(...) outs(init)`.
static Value linalgOp(Body &body, const std::string &name, const std::vector<Value> &ins,
                      const Value &init, double size) {
  std::string names, types;
  std::vector<Value> uses = ins;
  for (const Value &in : ins) {
    names += (names.empty() ? "" : ", ") + in.name;
    types += (types.empty() ? "" : ", ") + in.type();
  }
  uses.push_back(init);
  return body.op("linalg." + name + " ins(" + names + " : " + types + ") outs(" + init.name + " : " + init.type() + ") -> " +
                     init.type(),
                 init.element, init.shape, uses, size);
}

static Value positiveTensor(Body &body, const Value &v, double least) {
  Value square = linalgOp(body, "square", {v}, body.empty(v.element, v.shape), v.size * v.size);
  Value constant = body.splat(v.element, v.shape, least);
  return linalgOp(body, "add", {square, constant}, body.empty(v.element, v.shape), square.size + least);
}

// Element by element.
void namedElementwise(Body &body) {
  Random &rng = body.rng;
  Value a;
  if (!body.findFloat(a))
    return;
  a = body.moderate(a);
  auto empty = [&] { return body.empty(a.element, a.shape); };
  Value result;
  switch (rng.below(8)) {
  case 0:
    result = linalgOp(body, rng.pick({"tanh", "erf"}), {a}, empty(), 1);
    break;
  case 1:
    result = linalgOp(body, rng.pick({"abs", "negf"}), {a}, empty(), a.size);
    break;
  case 2:
    result = linalgOp(body, rng.pick({"ceil", "floor", "round"}), {a}, empty(), a.size + 1);
    break;
  case 3:
    result = linalgOp(body, rng.pick({"log", "sqrt", "rsqrt", "reciprocal"}), {positiveTensor(body, a, 0.5)}, empty(), 4);
    break;
  case 4: {
    Value b = makeOfType(body, a.element, a.shape);
    const char *name = rng.pick({"add", "sub", "mul", "max", "min"});
    result = linalgOp(body, name, {a, b}, empty(), std::max(a.size + b.size, a.size * b.size));
    break;
  }
  case 5: {
    Value b = positiveTensor(body, body.moderate(makeOfType(body, a.element, a.shape)), 0.5);
    result = rng.oneIn(2) ? linalgOp(body, "div", {a, b}, empty(), 2 * a.size)
                          : linalgOp(body, "powf", {positiveTensor(body, linalgOp(body, "tanh", {a}, empty(), 1), 0.25), linalgOp(body, "tanh", {b}, empty(), 1)},
                                     empty(), 4);
    break;
  }
  case 6: { // with a body of its own
    Value b = makeOfType(body, a.element, a.shape);
    std::string op = rng.pick({"arith.addf", "arith.mulf", "arith.maximumf", "arith.subf"});
    Value init = empty();
    result = body.op("linalg.map { " + op + " } ins(" + a.name + ", " + b.name + " : " + a.type() + ", " + b.type() + ") outs(" +
                         init.name + " : " + init.type() + ")",
                     a.element, a.shape, {a, b}, std::max(a.size + b.size, a.size * b.size));
    break;
  }
  default: {
    Value which;
    Value b = makeOfType(body, a.element, a.shape);
    if (!body.find([&](const Value &v) { return v.element == "i1" && v.shape == a.shape; }, which))
      result = linalgOp(body, "copy", {a}, empty(), a.size);
    else
      result = linalgOp(body, "select", {which, a, b}, empty(), std::max(a.size, b.size));
  }
  }
  body.keep(body.moderate(result));
}

void namedSoftmax(Body &body) {
  Value a;
  if (!body.findFloat(a, 1))
    return;
  a = body.moderate(a);
  Value init = body.empty(a.element, a.shape);
  body.keep(body.op("linalg.softmax dimension(" + std::to_string(body.rng.below(a.rank())) + ") ins(" + a.name + " : " + a.type() +
                        ") outs(" + init.name + " : " + init.type() + ") -> " + init.type(),
                    a.element, a.shape, {a}, 1));
}

// Windows over one or two dimensions, with strides and dilations.
void windows(Body &body) {
  Random &rng = body.rng;
  int64_t dims = rng.oneIn(3) ? 1 : 2;
  Shape image, kernel, out, strides, dilations;
  for (int64_t d = 0; d < dims; ++d) {
    out.push_back(rng.between(1, 4));
    kernel.push_back(rng.between(1, 3));
    strides.push_back(rng.pick({1, 1, 2, 3}));
    dilations.push_back(rng.pick({1, 1, 1, 2}));
    image.push_back((out.back() - 1) * strides.back() + (kernel.back() - 1) * dilations.back() + 1);
  }
  int64_t n = rng.between(1, 3), channels = rng.pick({1, 2, 3, 8}),
          filters = rng.pick({1, 2, 4, 8});
  bool last = rng.oneIn(2); // channels are
  auto shape = [&](const Shape &middle, int64_t many) {
    Shape result{n};
    if (!last)
      result.push_back(many);
    result.insert(result.end(), middle.begin(), middle.end());
    if (last)
      result.push_back(many);
    return result;
  };
  std::string attributes = " {dilations = dense<" + listOf(dilations) + "> : tensor<" + std::to_string(dims) + "xi64>, strides = dense<" +
                           listOf(strides) + "> : tensor<" + std::to_string(dims) + "xi64>}";
  Value x = body.moderate(makeOfType(body, "f32", shape(image, channels)));
  double count = double(elements(kernel));
  Value result;
  switch (rng.below(3)) {
  case 0: { // pooling: a tensor says how large the window is
    std::string layout = dims == 1 ? (last ? "nwc" : "ncw") : last ? "nhwc"
                                                                   : "nchw";
    std::string kind = last ? rng.pick({"sum", "max", "min"}) : rng.pick({"sum", "max"});
    Value window = body.empty("f32", kernel);
    Value init = kind == "sum" ? body.accumulator("f32", shape(out, channels))
                               : body.fill("f32", shape(out, channels), kind == "max" ? -1e4 : 1e4);
    result = linalgOp(body, "pooling_" + layout + "_" + kind + attributes, {x, window}, init, kind == "sum" ? x.size * count + init.size : x.size);
    break;
  }
  case 1: { // each channel by itself
    if (dims == 1 && !last)
      last = true, x = body.moderate(makeOfType(body, "f32", shape(image, channels)));
    Shape filter = kernel;
    filter.insert(last ? filter.end() : filter.begin(), channels);
    Value f = body.moderate(makeOfType(body, "f32", filter)), init = body.accumulator("f32", shape(out, channels));
    std::string name = dims == 1 ? "depthwise_conv_1d_nwc_wc" : last ? "depthwise_conv_2d_nhwc_hwc"
                                                                     : "depthwise_conv_2d_nchw_chw";
    result = linalgOp(body, name + attributes, {x, f}, init, x.size * f.size * count + init.size);
    break;
  }
  default: {
    Shape filter = kernel;
    if (last)
      filter.insert(filter.end(), {channels, filters});
    else
      filter.insert(filter.begin(), {filters, channels});
    Value f = body.moderate(makeOfType(body, "f32", filter)), init = body.accumulator("f32", shape(out, filters));
    std::string name = dims == 1 ? (last ? "conv_1d_nwc_wcf" : "conv_1d_ncw_fcw") : last ? "conv_2d_nhwc_hwcf"
                                                                                         : "conv_2d_nchw_fchw";
    result = linalgOp(body, name + attributes, {x, f}, init,
                      x.size * f.size * std::sqrt(count * double(channels)) * 2 + init.size);
  }
  }
  body.keep(body.moderate(result));
}

// A tensor of numbers that are there, or of one of them.
void fromNumbers(Body &body) {
  Random &rng = body.rng;
  Value from;
  if (!body.find([](const Value &v) { return v.rank() > 0 && v.count() <= 512; }, from))
    return;
  auto element = [&] {
    std::string indices;
    for (int64_t d = 0; d < from.rank(); ++d)
      indices += (d ? ", " : "") + body.index(rng.below(from.shape[size_t(d)]));
    return body.scalar("tensor.extract " + from.name + "[" + indices + "] : " + from.type(), from.element, {from}, from.size);
  };
  if (rng.oneIn(2)) {
    Shape shape = from.shape;
    std::reverse(shape.begin(), shape.end());
    Value number = element();
    body.keep(body.op("tensor.splat " + number.name + " : " + typeOf(from.element, shape), from.element, shape, {number}, from.size));
    return;
  }
  int64_t count = rng.between(1, 4);
  std::vector<Value> numbers;
  std::string names;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(element());
    names += (i ? ", " : "") + numbers.back().name;
  }
  Shape shape = count == 4 && rng.oneIn(2) ? Shape{2, 2} : Shape{count};
  body.keep(body.op("tensor.from_elements " + names + " : " + typeOf(from.element, shape), from.element, shape, numbers, from.size));
}

} // namespace commsched::differential
