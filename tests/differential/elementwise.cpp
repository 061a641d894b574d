// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/families.h"

#include <algorithm>
#include <cmath>

namespace commsched::differential {

static Value unary(Body &body, const std::string &name, const Value &a, double size) {
  return body.scalar(name + " " + a.name + " : " + a.element, a.element, {a}, size);
}

static Value binary(Body &body, const std::string &name, const Value &a, const Value &b,
                    double size) {
  return body.scalar(name + " " + a.name + ", " + b.name + " : " + a.element, a.element, {a, b}, size);
}

static Value number(Body &body, const std::string &element, double value) {
  Value v;
  v.name = body.number(element, value);
  v.element = element;
  v.tensor = false;
  v.size = std::fabs(value);
  return v;
}

static Value select(Body &body, const Value &condition, const Value &a, const Value &b) {
  return body.scalar("arith.select " + condition.name + ", " + a.name + ", " + b.name + " : " + a.element,
                     a.element, {condition, a, b}, std::max(a.size, b.size));
}

static Value positive(Body &body, const Value &v, double least) {
  Value square = binary(body, "arith.mulf", v, v, v.size * v.size);
  return binary(body, "arith.addf", square, number(body, v.element, least), square.size + least);
}

// Functions that few programs have.
static Value rareFloatOp(Body &body, const Value &a, const Value &b) {
  Random &rng = body.rng;
  auto below1 = [&](const Value &v) {
    return binary(body, "arith.mulf", unary(body, "math.tanh", v, 1), number(body, v.element, 0.875), 1);
  };
  switch (rng.below(14)) {
  case 0: {
    Value small = a.size <= 4 ? a : unary(body, "math.tanh", a, 1);
    return unary(body, rng.pick({"math.sinh", "math.cosh", "math.exp2"}), small, std::exp(small.size));
  }
  case 1:
    return unary(body, rng.pick({"math.asinh", "math.atan", "math.cbrt"}), a, std::max(1.0, a.size));
  case 2:
    return unary(body, rng.pick({"math.asin", "math.acos", "math.atanh", "math.tan"}), below1(a), 3);
  case 3:
    return unary(body, "math.acosh", positive(body, a, 1.25), 4);
  case 4:
    return unary(body, rng.pick({"math.log2", "math.log10"}), positive(body, a, 0.5), 8);
  case 5:
    return unary(body, "math.erfc", a, 2);
  case 6:
    return unary(body, "math.round", a, a.size + 1);
  case 7:
    return binary(body, "math.powf", positive(body, below1(a), 0.25), below1(b), 4);
  case 8: {
    bool inverse = rng.oneIn(3);
    Value base = inverse ? positive(body, a, 0.5) : a;
    int64_t power = inverse ? rng.between(-3, -1) : rng.between(0, 3);
    return body.scalar("math.fpowi " + base.name + ", " + number(body, "i32", double(power)).name + " : " + a.element + ", i32",
                       a.element, {base}, inverse ? 8 : a.size * a.size * a.size);
  }
  case 9:
    return binary(body, "math.atan2", a, b, 3.2);
  case 10:
    return binary(body, "arith.remf", a, positive(body, b, 0.5), a.size);
  case 11: {
    Value low = number(body, a.element, -double(rng.between(0, 3)) / 2),
          high = number(body, a.element, double(rng.between(1, 3)) / 2);
    return body.scalar("math.clampf " + a.name + " to [" + low.name + ", " + high.name + "] : " + a.element, a.element,
                       {a, low, high}, 2);
  }
  case 12: {
    Value is = body.scalar("math." + std::string(rng.pick({"isnan", "isinf", "isfinite", "isnormal"})) + " " + a.name + " : " +
                               a.element,
                           "i1", {a}, 1);
    return select(body, is, a, b);
  }
  default: {
    Value whole = body.scalar("arith.fptoui " + positive(body, unary(body, "math.tanh", a, 1), 0.25).name + " : " + a.element + " to i32",
                              "i32", {a}, 1);
    return body.scalar("arith.uitofp " + whole.name + " : i32 to " + a.element, a.element, {whole}, 2);
  }
  }
}

Value floatOp(Body &body, const std::vector<Value> &of) {
  Random &rng = body.rng;
  Value a = rng.pick(of), b = rng.pick(of);
  if (a.size > 16)
    return unary(body, "math.tanh", a, 1);
  switch (rng.below(26)) {
  case 0:
  case 1:
    return binary(body, "arith.addf", a, b, a.size + b.size);
  case 2:
    return binary(body, "arith.subf", a, b, a.size + b.size);
  case 3:
  case 4:
  case 5:
    return binary(body, "arith.mulf", a, b, a.size * b.size);
  case 6:
    return binary(body, rng.pick({"arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"}), a,
                  b, std::max(a.size, b.size));
  case 7:
    return unary(body, rng.pick({"arith.negf", "math.absf"}), a, a.size);
  case 8:
    return unary(body, "math.tanh", a, 1);
  case 9:
    return a.size <= 4 ? unary(body, "math.exp", a, std::exp(a.size)) : unary(body, "math.tanh", a, 1);
  case 10:
    return a.size <= 4 ? unary(body, "math.expm1", a, std::exp(a.size)) : unary(body, "math.erf", a, 1);
  case 11:
    return unary(body, "math.log", positive(body, a, 0.5), 6);
  case 12:
    return unary(body, "math.log1p", positive(body, a, 0.1), 6);
  case 13:
    return unary(body, "math.sqrt", positive(body, a, 0.25), a.size + 1);
  case 14:
    return unary(body, "math.rsqrt", positive(body, a, 0.5), 1.5);
  case 15:
    return unary(body, "math.erf", a, 1);
  case 16:
    return unary(body, rng.pick({"math.sin", "math.cos"}), a, 1);
  case 17:
    return binary(body, "arith.divf", a, positive(body, b, 0.5), 2 * a.size);
  case 18: {
    Value compared = body.scalar("arith.cmpf " + std::string(rng.pick({"ogt", "olt", "oge", "une", "ult"})) +
                                     ", " + a.name + ", " + b.name + " : " + a.element,
                                 "i1", {a, b}, 1);
    return select(body, compared, rng.pick(of),
                  number(body, a.element, rng.pick({0.0, 1.0, -0.5})));
  }
  case 19: {
    Value c = rng.pick(of);
    return body.scalar("math.fma " + a.name + ", " + b.name + ", " + c.name + " : " + a.element, a.element,
                       {a, b, c}, a.size * b.size + c.size);
  }
  case 20:
    return unary(body, rng.pick({"math.floor", "math.ceil", "math.roundeven", "math.trunc"}), a, a.size + 1);
  case 21:
    return binary(body, "math.copysign", a, b, a.size);
  case 22: { // the logistic function
    Value e = unary(body, "math.exp", unary(body, "arith.negf", unary(body, "math.tanh", a, 1), 1), 3);
    Value one = number(body, a.element, 1);
    return binary(body, "arith.divf", one, binary(body, "arith.addf", e, one, 4), 1);
  }
  case 23:
  case 24:
    return rareFloatOp(body, a, b);
  default:
    return binary(body, "arith.mulf", a, number(body, a.element, double(rng.between(-8, 8)) / 4), 2 * a.size);
  }
}

// The upper half of a product, or a sum that wraps.
static Value extendedOp(Body &body, const Value &a, const Value &b) {
  std::string op = body.rng.pick({"arith.mulsi_extended", "arith.mului_extended", "arith.addui_extended"});
  std::string name = body.fresh();
  bool sum = op == "arith.addui_extended";
  body.line(name + ":2 = " + op + " " + a.name + ", " + b.name + " : " + a.element + (sum ? ", i1" : ""));
  Value result = a;
  result.name = name + (sum || body.rng.oneIn(3) ? "#0" : "#1");
  result.of |= b.of;
  return result;
}

Value integerOp(Body &body, const std::vector<Value> &of) {
  Random &rng = body.rng;
  Value a = rng.pick(of), b = rng.pick(of);
  switch (rng.below(12)) {
  case 10:
    return rng.oneIn(3) ? binary(body, "math.ipowi", a, number(body, a.element, rng.between(0, 3)), 0)
                        : unary(body, rng.pick({"math.ctpop", "math.ctlz", "math.cttz", "math.absi"}), a, 0);
  case 11:
    return extendedOp(body, a, b);
  case 0:
  case 1:
    return binary(body, "arith.addi", a, b, 0);
  case 2:
    return binary(body, "arith.subi", a, b, 0);
  case 3:
    return binary(body, "arith.muli", a, b, 0);
  case 4:
    return binary(body, rng.pick({"arith.andi", "arith.ori", "arith.xori"}), a, b, 0);
  case 5:
    return binary(body, rng.pick({"arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"}), a, b, 0);
  case 6:
    return binary(body, rng.pick({"arith.divsi", "arith.remsi", "arith.divui", "arith.remui", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui"}),
                  a, number(body, a.element, rng.between(1, 7)), 0);
  case 7:
    return binary(body, rng.pick({"arith.shli", "arith.shrsi", "arith.shrui"}), a,
                  number(body, a.element, rng.between(0, 6)), 0);
  case 8: {
    Value compared = body.scalar("arith.cmpi " + std::string(rng.pick({"eq", "ne", "slt", "sge", "ult"})) + ", " +
                                     a.name + ", " + b.name + " : " + a.element,
                                 "i1", {a, b}, 1);
    return select(body, compared, rng.pick(of), b);
  }
  default:
    return binary(body, "arith.addi", a, number(body, a.element, rng.between(-3, 9)), 0);
  }
}

Value tree(Body &body, std::vector<Value> leaves, const std::string &element, int ops) {
  Random &rng = body.rng;
  for (Value &leaf : leaves)
    leaf = body.castTo(leaf, element);
  Value last = rng.pick(leaves);
  bool isFloat = last.isFloat();
  if (element == "i1")
    return binary(body, rng.pick({"arith.andi", "arith.ori", "arith.xori"}), last, rng.pick(leaves), 1);
  for (int i = 0; i < ops; ++i) {
    last = isFloat ? floatOp(body, leaves) : integerOp(body, leaves);
    if (isFloat && last.size > 16)
      last = unary(body, "math.tanh", last, 1);
    leaves.push_back(last);
  }
  return last;
}

// One to three inputs with permuted or fewer dimensions, one or several results.
void elementwise(Body &body) {
  Random &rng = body.rng;
  Value first;
  if (!body.find([](const Value &v) { return v.count() <= kMostElements; }, first))
    return;
  int64_t rank = first.rank();
  std::vector<Operand> ins{{first, mapOf(rank, iota(rank))}};
  for (int64_t i = rng.below(3); i > 0; --i) {
    // Dimensions of another value, each as one of the first that is as large.
    Value other;
    if (!body.find([&](const Value &v) { return v.rank() <= rank; }, other))
      break;
    std::vector<int64_t> dims, free = iota(rank);
    for (int64_t dim : other.shape) {
      std::vector<int64_t> same;
      for (int64_t d : free)
        if (first.shape[size_t(d)] == dim)
          same.push_back(d);
      if (same.empty())
        break;
      int64_t d = rng.pick(same);
      dims.push_back(d);
      free.erase(std::find(free.begin(), free.end(), d));
    }
    if (int64_t(dims.size()) == other.rank())
      ins.push_back({other, mapOf(rank, dims)});
  }
  // Results: in the order of the first's dimensions, or permuted.
  std::vector<Operand> outs;
  std::vector<bool> reads;
  for (int64_t i = 1 + rng.oneIn(5) + rng.oneIn(9); i > 0; --i) {
    std::vector<int64_t> order = iota(rank);
    if (rng.oneIn(5))
      for (int64_t d = rank - 1; d > 0; --d)
        std::swap(order[size_t(d)], order[size_t(rng.below(d + 1))]);
    Shape shape;
    for (int64_t d : order)
      shape.push_back(first.shape[size_t(d)]);
    std::string element = rng.oneIn(6) ? rng.pick(ins).value.element : first.element;
    bool read = rng.oneIn(6);
    outs.push_back(
        {read ? body.accumulator(element, shape) : body.empty(element, shape), mapOf(rank, order)});
    reads.push_back(read);
  }
  auto results =
      body.generic(ins, outs, std::string(size_t(rank), 'p'), [&](auto &inner, auto &outer) {
        std::vector<Value> leaves = inner, yields;
        if (rank > 0 && rng.oneIn(10)) { // where it is
          Value at = body.scalar("linalg.index " + std::to_string(rng.below(rank)) + " : index",
                                 "index", {}, 0);
          leaves.push_back(
              body.scalar("arith.index_cast " + at.name + " : index to i32", "i32", {at}, 0));
        }
        for (size_t i = 0; i < outer.size(); ++i) {
          std::vector<Value> read = leaves;
          if (reads[i])
            read.push_back(outer[i]);
          yields.push_back(tree(body, read, outer[i].element, int(rng.between(1, 4))));
        }
        return yields;
      });
  for (const Value &result : results)
    body.keep(result);
}

Value combine(Body &body, const Value &a, const Value &b) {
  Random &rng = body.rng;
  std::string name = a.isFloat()         ? rng.pick({"arith.addf", "arith.mulf", "arith.subf", "arith.maximumf"})
                     : a.element == "i1" ? rng.pick({"arith.andi", "arith.xori"})
                                         : rng.pick({"arith.addi", "arith.muli", "arith.maxsi"});
  double size = name == "arith.mulf" ? a.size * b.size : a.size + b.size;
  return body.op(name + " " + a.name + ", " + b.name + " : " + a.type(), a.element, a.shape, {a, b}, size);
}

// arith and math on whole tensors, and the named ops of linalg.
void onTensors(Body &body) {
  Random &rng = body.rng;
  Value a, b, result;
  if (!body.find([](const Value &v) { return v.count() <= kMostElements; }, a) ||
      !body.find([&](const Value &v) { return v.element == a.element && v.shape == a.shape; }, b))
    return;
  std::string type = a.type();
  if (a.isFloat() && rng.oneIn(3)) {
    Value small = body.moderate(a);
    result = body.op(std::string(rng.pick({"math.tanh", "math.erf", "math.sin", "math.absf", "math.atan", "math.asinh", "math.cosh"})) + " " + small.name +
                         " : " + type,
                     a.element, a.shape, {small}, std::max(1.0, small.size));
  } else if (a.isFloat() && rng.oneIn(4)) {
    std::string name = rng.pick({"linalg.add", "linalg.sub", "linalg.mul", "linalg.max"});
    Value init = body.empty(a.element, a.shape);
    result = body.op(name + " ins(" + a.name + ", " + b.name + " : " + type + ", " + type + ") outs(" + init.name +
                         " : " + type + ") -> " + type,
                     a.element, a.shape, {a, b, init}, a.size * b.size + a.size + b.size);
  } else if (a.isFloat() && rng.oneIn(4)) {
    Value compared = body.op("arith.cmpf ogt, " + a.name + ", " + b.name + " : " + type, "i1", a.shape, {a, b}, 1);
    Value zero = body.splat(a.element, a.shape, 0);
    result = body.op("arith.select " + compared.name + ", " + a.name + ", " + zero.name + " : " +
                         typeOf("i1", a.shape) + ", " + type,
                     a.element, a.shape, {compared, a, zero}, a.size);
    body.keep(compared);
  } else {
    result = combine(body, a, b);
  }
  body.keep(body.moderate(result));
}

void casts(Body &body) {
  Random &rng = body.rng;
  Value a;
  if (!body.find([](const Value &v) { return v.count() <= kMostElements && v.size < 100; }, a))
    return;
  std::string to = rng.pick({"f32", "f32", "f64", "f16", "i32", "i64"});
  if (rng.oneIn(30))
    to = "bf16";
  if (to != a.element)
    body.keep(body.castTo(a, to));
}

void workerIndex(Body &body) {
  Value index = body.op("cs.worker_index : tensor<i32>", "i32", {}, {}, 8);
  index.of.batch = true;
  body.keep(index);
  // Numbers are used more often.
  if (!body.rng.oneIn(3))
    body.keep(body.castTo(index, "f32"));
}

} // namespace commsched::differential
