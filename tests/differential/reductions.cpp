// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/families.h"

#include <algorithm>
#include <cmath>

namespace commsched::differential {

static std::string combiner(const Value &value, const std::string &how) {
  if (value.isFloat())
    return how == "sum" ? "arith.addf" : how == "max" ? "arith.maximumf"
                                                      : "arith.minimumf";
  return how == "sum" ? "arith.addi" : how == "max" ? "arith.maxsi"
                                                    : "arith.minsi";
}

// Over all dimensions but `kept`.
Value reduceTo(Body &body, const Value &value, const std::vector<int64_t> &kept,
               const std::string &how) {
  Random &rng = body.rng;
  if (value.element == "i1")
    return reduceTo(body, body.castTo(value, "i32"), kept, how);
  std::vector<int64_t> dropped;
  Shape shape;
  std::string kinds;
  for (int64_t d = 0; d < value.rank(); ++d) {
    bool keeps = std::find(kept.begin(), kept.end(), d) != kept.end();
    kinds += keeps ? 'p' : 'r';
    if (!keeps)
      dropped.push_back(d);
  }
  for (int64_t d : kept)
    shape.push_back(value.shape[size_t(d)]);
  double size = value.size;
  Value init;
  if (how == "sum") {
    init = body.accumulator(value.element, shape);
    size = value.size *
               std::sqrt(double(value.count()) / double(std::max<int64_t>(1, elements(shape)))) *
               2 +
           init.size;
  } else {
    double far = value.isFloat() ? 1e4 : 100;
    init = body.fill(value.element, shape, how == "max" ? -far : far);
  }
  std::string name = combiner(value, how);
  Value result;
  if (rng.oneIn(2) && std::is_sorted(kept.begin(), kept.end())) {
    result = body.op("linalg.reduce { " + name + " } ins(" + value.name + " : " + value.type() + ") outs(" + init.name +
                         " : " + init.type() + ") dimensions = " + listOf(dropped),
                     value.element, shape, {value, init}, size);
  } else {
    result =
        body.generic({{value, mapOf(value.rank(), iota(value.rank()))}},
                     {{init, mapOf(value.rank(), kept)}}, kinds, [&](auto &ins, auto &outs) {
                       return std::vector<Value>{body.scalar(
                           name + " " + ins[0].name + ", " + outs[0].name + " : " + value.element,
                           value.element, {ins[0], outs[0]}, size)};
                     })[0];
  }
  return result;
}

Value broadcastTo(Body &body, const Value &value, const Shape &shape,
                  const std::vector<int64_t> &dims) {
  // dims[i] of the result is dimension i of the value.
  int64_t rank = int64_t(shape.size());
  Value init = body.empty(value.element, shape);
  if (body.rng.oneIn(2) && std::is_sorted(dims.begin(), dims.end())) {
    std::vector<int64_t> added;
    for (int64_t d = 0; d < rank; ++d)
      if (std::find(dims.begin(), dims.end(), d) == dims.end())
        added.push_back(d);
    return body.op("linalg.broadcast ins(" + value.name + " : " + value.type() + ") outs(" + init.name + " : " +
                       init.type() + ") dimensions = " + listOf(added),
                   value.element, shape, {value}, value.size);
  }
  return body.generic({{value, mapOf(rank, dims)}}, {{init, mapOf(rank, iota(rank))}},
                      std::string(size_t(rank), 'p'), [](auto &ins, auto &) { return ins; })[0];
}

Value toScalar(Body &body, const Value &value) {
  if (value.rank() == 0)
    return value;
  Value sum = reduceTo(body, value, {}, "sum");
  if (!sum.isFloat())
    return sum;
  Value factor = body.splat(sum.element, {}, 1 / std::max(1.0, sum.size));
  return body.op("arith.mulf " + sum.name + ", " + factor.name + " : " + sum.type(), sum.element, {}, {sum, factor}, 1);
}

void reduction(Body &body) {
  Random &rng = body.rng;
  Value value;
  if (!body.find([](const Value &v) { return v.rank() > 0 && v.count() <= kMostElements; }, value))
    return;
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < value.rank(); ++d)
    if (rng.oneIn(2))
      kept.push_back(d);
  if (int64_t(kept.size()) == value.rank())
    kept.pop_back();
  if (kept.size() > 1 && rng.oneIn(4))
    std::swap(kept[0], kept[1]);
  body.keep(body.moderate(reduceTo(body, value, kept, rng.pick({"sum", "sum", "max", "min"}))));
}

// The largest and where it is: two results of one op.
void argmax(Body &body) {
  Value value;
  if (!body.find(
          [](const Value &v) {
            return v.rank() > 0 && v.rank() < 4 && v.isFloat() && v.count() <= kMostElements;
          },
          value))
    return;
  int64_t rank = value.rank(), over = body.rng.below(rank);
  std::vector<int64_t> kept;
  Shape shape;
  std::string kinds;
  for (int64_t d = 0; d < rank; ++d) {
    kinds += d == over ? 'r' : 'p';
    if (d != over) {
      kept.push_back(d);
      shape.push_back(value.shape[size_t(d)]);
    }
  }
  Value largest = body.fill(value.element, shape, -1e4), where = body.fill("i32", shape, 0);
  const std::string &t = value.element;
  auto results = body.generic(
      {{value, mapOf(rank, iota(rank))}},
      {{largest, mapOf(rank, kept)}, {where, mapOf(rank, kept)}}, kinds,
      [&](auto &ins, auto &outs) {
        Value at = body.scalar("linalg.index " + std::to_string(over) + " : index", "index", {}, 0);
        Value number = body.scalar("arith.index_cast " + at.name + " : index to i32", "i32", {}, 0);
        Value larger = body.scalar("arith.cmpf ogt, " + ins[0].name + ", " + outs[0].name + " : " + t, "i1", {}, 0);
        Value a = body.scalar("arith.select " + larger.name + ", " + ins[0].name + ", " + outs[0].name + " : " + t, t, {}, value.size);
        Value b = body.scalar("arith.select " + larger.name + ", " + number.name + ", " + outs[1].name + " : i32", "i32", {}, 0);
        return std::vector<Value>{a, b};
      });
  for (const Value &result : results)
    body.keep(result);
}

// Softmax or its logarithm along one dimension.
void softmax(Body &body) {
  Random &rng = body.rng;
  Value x;
  if (!body.find(
          [](const Value &v) {
            return v.rank() > 0 && v.rank() < 4 && v.isFloat() && v.count() <= kMostElements &&
                   v.size <= 64;
          },
          x))
    return;
  int64_t rank = x.rank(), over = rng.oneIn(2) ? rank - 1 : rng.below(rank);
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < rank; ++d)
    if (d != over)
      kept.push_back(d);
  const std::string t = x.type();
  Value max = reduceTo(body, x, kept, "max");
  Value wide = broadcastTo(body, max, x.shape, kept);
  Value less = body.op("arith.subf " + x.name + ", " + wide.name + " : " + t, x.element, x.shape, {x, wide}, x.size);
  Value e = body.op("math.exp " + less.name + " : " + t, x.element, x.shape, {less}, 1);
  Shape shape = max.shape;
  Value init = body.fill(x.element, shape, 0);
  std::string kinds;
  for (int64_t d = 0; d < rank; ++d)
    kinds += d == over ? 'r' : 'p';
  Value sum =
      body.generic({{e, mapOf(rank, iota(rank))}}, {{init, mapOf(rank, kept)}}, kinds,
                   [&](auto &ins, auto &outs) {
                     return std::vector<Value>{body.scalar(
                         "arith.addf " + ins[0].name + ", " + outs[0].name + " : " + x.element,
                         x.element, ins, double(x.shape[size_t(over)]))};
                   })[0];
  if (rng.oneIn(3)) { // the logarithm of the sum, and the largest
    Value log = body.op("math.log " + sum.name + " : " + sum.type(), x.element, shape, {sum}, 4);
    body.keep(body.op("arith.addf " + log.name + ", " + max.name + " : " + sum.type(), x.element, shape, {log, max}, x.size + 4));
    if (rng.oneIn(2))
      return;
  }
  Value sums = broadcastTo(body, sum, x.shape, kept);
  body.keep(body.op("arith.divf " + e.name + ", " + sums.name + " : " + t, x.element, x.shape, {e, sums}, 1));
}

} // namespace commsched::differential
