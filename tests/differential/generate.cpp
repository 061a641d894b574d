// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/generate.h"

#include "tests/differential/families.h"

#include <algorithm>
#include <iterator>

namespace commsched::differential {

namespace {

struct Family {
  void (*add)(Body &);
  int weight;
};
constexpr Family kFamilies[] = {
    {product, 14},
    {layer, 8},
    {elementwise, 14},
    {onTensors, 8},
    {reduction, 8},
    {softmax, 4},
    {argmax, 2},
    {transpose, 5},
    {broadcast, 3},
    {reshape, 5},
    {slice, 6},
    {insertSlice, 5},
    {pad, 2},
    {concat, 4},
    {gather, 3},
    {rows, 2},
    {casts, 3},
    {convolution, 4},
    {forLoop, 3},
    {insertLoop, 4},
    {conditional, 2},
    {whileLoop, 1},
    {workerIndex, 2},
    {namedElementwise, 5},
    {namedSoftmax, 1},
    {windows, 3},
    {fromNumbers, 2},
};
// Loops in loops are few, so that programs stay small.
int nested = 0;

struct Argument {
  Value value;
  std::string kind, name;
};
struct Result {
  Value value;
  std::string kind, name;
};

class Writer {
public:
  Writer(uint64_t seed, bool servers) : body(seed), rng(body.rng), servers(servers) {}
  std::string run();

private:
  void makeArguments();
  void makeGradients();
  void makeUpdates();
  Value updated(const Argument &param, const Value &gradient);
  void makeMetrics();

  Body body;
  Random &rng;
  bool servers, statesRead = true;
  std::vector<Argument> arguments;
  std::vector<Result> results;
  std::vector<Value> gradients; // by parameter
  std::vector<int64_t> dims;
  std::string element;
};

} // namespace

void anyFamily(Body &body) {
  if (nested >= 2)
    return elementwise(body);
  auto weight = [&](size_t family) {
    return kFamilies[family].weight * (body.favoured >> family & 1 ? 12 : 1);
  };
  int64_t sum = 0;
  for (size_t i = 0; i < std::size(kFamilies); ++i)
    sum += weight(i);
  int64_t at = body.rng.below(sum);
  ++nested;
  for (size_t i = 0; i < std::size(kFamilies); ++i)
    if ((at -= weight(i)) < 0) {
      kFamilies[i].add(body);
      break;
    }
  --nested;
}

// Programs of a few families meet combinations that those of all families seldom have
// (Groce et al., Swarm testing, ISSTA 2012).
static uint32_t favouredFamilies(Random &rng) {
  static_assert(std::size(kFamilies) <= 32);
  uint32_t favoured = 0;
  if (rng.oneIn(3))
    for (int64_t i = rng.between(1, 4); i > 0; --i)
      favoured |= uint32_t(1) << rng.below(int64_t(std::size(kFamilies)));
  return favoured;
}

// Reduces, broadcasts or reshapes something.
static Value bent(Body &body, const std::string &element, const Shape &shape) {
  Random &rng = body.rng;
  Value value;
  int64_t count = elements(shape);
  // The same elements in another shape.
  if (rng.oneIn(2) && shape.size() > 0 &&
      body.find(
          [&](const Value &v) {
            return v.element == element && v.count() == count && v.rank() > 0;
          },
          value)) {
    std::vector<int64_t> all = iota(value.rank());
    Value flat = value;
    if (value.rank() > 1)
      flat = body.op("tensor.collapse_shape " + value.name + " [" + listOf(all) + "] : " + value.type() + " into " +
                         typeOf(element, {count}),
                     element, {count}, {value}, value.size);
    if (shape.size() == 1)
      return flat;
    return body.op("tensor.expand_shape " + flat.name + " [" + listOf(iota(int64_t(shape.size()))) + "] output_shape " +
                       listOf(shape) + " : " + flat.type() + " into " + typeOf(element, shape),
                   element, shape, {flat}, flat.size);
  }
  // Dimensions of another value, of which the others are reduced.
  if (!body.findFloat(value))
    return body.constant(element, shape);
  value = body.castTo(body.moderate(value), element);
  std::vector<int64_t> kept, dims;
  for (size_t d = 0; d < shape.size(); ++d)
    for (int64_t i = 0; i < value.rank(); ++i)
      if (value.shape[size_t(i)] == shape[d] &&
          std::find(kept.begin(), kept.end(), i) == kept.end()) {
        kept.push_back(i);
        dims.push_back(int64_t(d));
        break;
      }
  if (int64_t(kept.size()) < value.rank())
    value = body.moderate(reduceTo(body, value, kept, rng.pick({"sum", "sum", "max"})));
  else if (!std::is_sorted(kept.begin(), kept.end())) {
    Value init = body.empty(element, {});
    init.shape.clear();
    for (int64_t i : kept)
      init.shape.push_back(value.shape[size_t(i)]);
    init = body.empty(element, init.shape);
    value = body.op("linalg.transpose ins(" + value.name + " : " + value.type() + ") outs(" + init.name + " : " + init.type() +
                        ") permutation = " + listOf(kept),
                    element, init.shape, {value}, value.size);
  }
  if (value.shape == shape)
    return value;
  Value wide = broadcastTo(body, value, shape, dims);
  // Elements that differ.
  Value with;
  if (body.find([&](const Value &v) { return v.element == element && v.shape == shape; }, with))
    wide = body.op("arith.mulf " + wide.name + ", " + with.name + " : " + wide.type(), element, shape, {wide, with}, wide.size * with.size);
  return body.moderate(wide);
}

Value makeOfType(Body &body, const std::string &element, const Shape &shape) {
  Random &rng = body.rng;
  Value value, other;
  auto same = [&](const Value &v) { return v.element == element && v.shape == shape; };
  if (!rng.oneIn(4) && productOfType(body, element, shape, value))
    return body.moderate(value);
  if (rng.oneIn(2) && body.find(same, value) && body.find(same, other))
    return body.moderate(rng.oneIn(3) ? value : combine(body, value, other));
  return bent(body, element, shape);
}

void Writer::makeArguments() {
  // Few, so that shapes coincide.
  for (int64_t i = rng.pick({1, 1, 2, 2, 3}); i > 0; --i)
    dims.push_back(rng.between(1, 9));
  if (rng.oneIn(4))
    dims.push_back(rng.pick({16, 17, 32, 33, 64, 70}));
  element = rng.oneIn(12) ? rng.pick({"f64", "f64", "f16", "bf16"}) : "f32";
  auto dim = [&] { return rng.pick(dims); };
  auto shapeOf = [&](int64_t rank) {
    Shape shape;
    for (int64_t i = 0; i < rank; ++i)
      shape.push_back(dim());
    return shape;
  };
  bool isRead = statesRead = rng.oneIn(3);
  auto add = [&](const std::string &kind, const std::string &name, const std::string &type,
                 const Shape &shape) {
    Value value{"%" + name, type, shape, type[0] == 'i' ? 7.0 : 1.0};
    value.of.batch = kind == "batch";
    arguments.push_back({value, kind, name});
    // What servers keep, trainers do not have.
    if (kind != "state" || !servers || isRead)
      body.keep(value);
  };
  std::vector<Shape> shapes;
  for (int64_t i = rng.between(1, 2); i > 0; --i)
    shapes.push_back(shapeOf(rng.pick({2, 2, 2, 1, 3, 0})));
  for (int64_t i = 0, n = rng.between(1, 5); i < n; ++i)
    add("param", "p" + std::to_string(i), rng.oneIn(20) ? "f64" : element, rng.pick(shapes));
  for (int64_t i = 0, n = rng.below(3); i < n; ++i)
    add("state", "s" + std::to_string(i), rng.oneIn(4) ? rng.pick({"i32", "i64", "i1"}) : element,
        rng.oneIn(3) ? shapeOf(rng.below(3)) : rng.pick(shapes));
  int64_t samples = dim();
  for (int64_t i = 0, n = rng.between(1, 3); i < n; ++i) {
    Shape shape = shapeOf(rng.pick({1, 1, 1, 2, 0}));
    shape.insert(shape.begin(), samples);
    while (elements(shape) > kMostElements)
      shape.pop_back();
    std::string type = i && rng.oneIn(3) ? rng.pick({"i32", "i64", "i1", "i8"}) : element;
    add("batch", "x" + std::to_string(i), type, shape);
  }
}

// The gradients are what is computed, to the type of the parameters. Between them other
// ops, so that gradients are made by different fragments.
void Writer::makeGradients() {
  std::vector<Value> raw, weights, ofNet;
  Value x;
  for (const Argument &argument : arguments)
    if (argument.kind == "param" && argument.value.rank() == 2 && argument.value.shape[0] == argument.value.shape[1] &&
        (weights.empty() || weights[0].type() == argument.value.type()))
      weights.push_back(argument.value);
  if (!weights.empty() && rng.oneIn(2) &&
      body.find(
          [&](const Value &v) {
            return v.element == weights[0].element && v.rank() == 2 && v.of.batch &&
                   v.shape[1] == weights[0].shape[0] && v.size <= 4;
          },
          x))
    ofNet = network(body, weights, x);
  for (const Argument &argument : arguments) {
    if (argument.kind != "param")
      continue;
    if (rng.oneIn(3))
      anyFamily(body);
    Value gradient;
    for (size_t i = 0; i < ofNet.size(); ++i)
      if (weights[i].name == argument.value.name && !ofNet[i].name.empty())
        gradient = ofNet[i];
    bool isMade = !gradient.name.empty();
    if (!isMade && rng.oneIn(12) && !raw.empty() && raw.back().type() == argument.value.type())
      gradient = raw.back(); // one value for two
    else if (!isMade)
      gradient = makeOfType(body, argument.value.element, argument.value.shape);
    raw.push_back(gradient);
    if (rng.oneIn(2))
      body.keep(gradient);
  }
  size_t next = 0;
  for (const Argument &argument : arguments) {
    if (argument.kind != "param")
      continue;
    Value value = raw[next++];
    value = body.op("cs.gradient " + value.name + " of \"" + argument.name + "\" : " + value.type(), value.element,
                    value.shape, {value}, value.size);
    value.of.batch = false;
    value.of.gradient = true;
    gradients.push_back(value);
  }
}

Value Writer::updated(const Argument &param, const Value &gradient) {
  const Value &p = param.value;
  const std::string type = p.type();
  auto binary = [&](const std::string &name, const Value &a, const Value &b) {
    return body.op(name + " " + a.name + ", " + b.name + " : " + type, p.element, p.shape, {a, b}, std::max(a.size, b.size));
  };
  auto scaled = [&](const Value &a, double by) { return binary("arith.mulf", a, body.splat(p.element, p.shape, by)); };
  int64_t way = rng.below(16);
  if (way == 0 && !(servers && results.empty()))
    return p; // unchanged
  if (way == 1)
    return servers ? binary("arith.addf", p, gradient) : body.constant(p.element, p.shape);
  if (way == 2)
    return gradient;
  if (way == 3 && !servers)
    return makeOfType(body, p.element, p.shape);
  if (way <= 5) { // any function of both, element by element
    std::string map = mapOf(p.rank(), iota(p.rank()));
    return body.generic({{p, map}, {gradient, map}}, {{body.empty(p.element, p.shape), map}},
                        std::string(size_t(p.rank()), 'p'), [&](auto &ins, auto &) {
                          Value last = tree(body, ins, p.element, 3);
                          std::string tanh = body.scalar("math.tanh " + last.name + " : " + p.element, p.element, {last}, 1).name;
                          last.name = tanh;
                          return std::vector<Value>{last};
                        })[0];
  }
  // With momentum, where a state fits that nothing updates yet.
  for (const Argument &state : arguments) {
    if (state.kind != "state" || state.value.type() != type || way <= 9 || (servers && statesRead))
      continue;
    bool taken = std::any_of(results.begin(), results.end(),
                             [&](const Result &r) { return r.name == state.name; });
    if (taken)
      continue;
    Value m = binary("arith.addf", scaled(state.value, 0.5), gradient);
    results.push_back({m, "updates", state.name});
    return binary("arith.subf", p, scaled(m, 0.25));
  }
  return binary("arith.subf", p, scaled(gradient, double(rng.between(1, 8)) / 16));
}

void Writer::makeUpdates() {
  // What may be used: no batch.
  std::vector<Value> all = body.pool;
  std::vector<Value> equal;
  for (const Value &value : all)
    if (!value.of.batch && !servers)
      equal.push_back(value);
  body.pool = equal;
  for (const Value &gradient : gradients)
    if (!servers || gradients.size() == 1)
      body.keep(gradient);
  if (!servers && rng.oneIn(4))
    anyFamily(body);
  size_t next = 0;
  for (const Argument &argument : arguments)
    if (argument.kind == "param")
      if (Value gradient = gradients[next++]; !rng.oneIn(20) || (servers && results.empty())) {
        Value value = updated(argument, gradient);
        results.push_back({value, "updates", argument.name});
        // One value as the new value of two.
        if (!servers && rng.oneIn(10) && results.size() > 1 &&
            results[results.size() - 2].value.type() == value.type())
          results.back().value = results[results.size() - 2].value;
      }
  for (const Argument &argument : arguments) {
    if (argument.kind != "state" ||
        std::any_of(results.begin(), results.end(),
                    [&](const Result &r) { return r.name == argument.name; }))
      continue;
    const Value &s = argument.value;
    if (s.isInteger() && rng.oneIn(2)) {
      Value one = body.splat(s.element, s.shape, 1);
      results.push_back({body.op("arith.addi " + s.name + ", " + one.name + " : " + s.type(), s.element, s.shape, {s, one}, s.size), "updates", argument.name});
    } else if (s.isFloat() && !rng.oneIn(3)) {
      // A running average over the batch, or of what is equal everywhere.
      body.pool = servers || rng.oneIn(2) ? all : body.pool;
      if (body.pool.empty())
        body.pool = all;
      Value of = makeOfType(body, s.element, s.shape);
      body.pool = equal.empty() ? all : equal;
      Value sum = body.op("arith.addf " + s.name + ", " + of.name + " : " + s.type(), s.element, s.shape, {s, of}, of.size + 1);
      Value half = body.splat(s.element, s.shape, 0.5);
      results.push_back({body.op("arith.mulf " + sum.name + ", " + half.name + " : " + s.type(), s.element, s.shape, {sum}, of.size), "updates", argument.name});
    }
  }
  body.pool = all;
  if (!servers)
    for (const Value &gradient : gradients)
      if (rng.oneIn(3))
        body.keep(gradient);
}

void Writer::makeMetrics() {
  for (int64_t i = 0, n = rng.between(0, 3); i < n; ++i) {
    Value value;
    if (!body.find([&](const Value &v) { return v.isFloat() && v.count() <= kMostElements; },
                   value))
      return;
    value = toScalar(body, body.moderate(value));
    results.push_back({value, "metric", "m" + std::to_string(i)});
  }
}

std::string Writer::run() {
  makeArguments();
  body.favoured = favouredFamilies(rng);
  // Half of them are short: more of them, and of their modes, can be tried.
  for (int64_t i = rng.oneIn(2) ? rng.between(2, 12) : rng.between(1, 3); i > 0; --i)
    anyFamily(body);
  makeGradients();
  makeUpdates();
  makeMetrics();
  if (results.size() > 1 && rng.oneIn(3))
    std::swap(results.front(), results.back());

  std::string list, types, names;
  for (const Argument &argument : arguments)
    list += (list.empty() ? "" : ",\n    ") + argument.value.name + ": " + argument.value.type() + " {cs." + argument.kind +
            " = \"" + argument.name + "\"}";
  std::string made;
  for (const Result &result : results) {
    made += (made.empty() ? "" : ", ") + result.value.type() + " {cs." + result.kind + " = \"" + result.name + "\"}";
    names += (names.empty() ? "" : ", ") + result.value.name;
    types += (types.empty() ? "" : ", ") + result.value.type();
  }
  return "func.func @step(" + list + ")\n    -> (" + made + ") attributes {cs.step} {\n" + body.text + "  return" +
         (names.empty() ? "" : " " + names + " : " + types) + "\n}\n";
}

std::string generate(uint64_t seed, bool servers) {
  nested = 0;
  return Writer(seed, servers).run();
}

} // namespace commsched::differential
