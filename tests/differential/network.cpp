// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nets of dense layers with their gradients, as a front end writes them: a fill and an
// empty tensor for each op, weights that are used several times, two towers.

#include "tests/differential/families.h"

#include <algorithm>

namespace commsched::differential {

namespace {

class Network {
public:
  Network(Body &body, const std::vector<Value> &weights)
      : body(body), weights(weights), gradients(weights.size()) {}

  std::vector<Value> run(Value x);

private:
  struct Layer {
    size_t weight;
    Value input, output;
    bool tanh;
  };

  // Of two matrices, the first or the second transposed by its map.
  Value multiply(const Value &a, const Value &b, bool flipA, bool flipB) {
    Shape shape{a.shape[flipA ? 1 : 0], b.shape[flipB ? 0 : 1]};
    Value init = fresh(shape, true);
    std::vector<int64_t> first{0, 2}, second{2, 1};
    if (flipA)
      std::swap(first[0], first[1]);
    if (flipB)
      std::swap(second[0], second[1]);
    return body.generic({{a, mapOf(3, first)}, {b, mapOf(3, second)}}, {{init, mapOf(3, std::vector<int64_t>{0, 1})}}, "ppr",
                        [&](auto &ins, auto &outs) {
                          Value p = number("arith.mulf", ins[0], ins[1]);
                          Value s = number("arith.addf", outs[0], p);
                          s.size = 2;
                          return std::vector<Value>{s};
                        })[0];
  }
  Value number(const std::string &name, const Value &a, const Value &b) {
    return body.scalar(name + " " + a.name + ", " + b.name + " : " + a.element, a.element, {a, b}, 1);
  }
  Value fresh(const Shape &shape, bool zero) {
    Value empty = body.op("tensor.empty() : " + typeOf(element(), shape), element(), shape, {}, 0);
    if (!zero)
      return empty;
    std::string from = body.number(element(), 0);
    return body.op("linalg.fill ins(" + from + " : " + element() + ") outs(" + empty.name + " : " + empty.type() + ") -> " +
                       empty.type(),
                   element(), shape, {}, 0);
  }
  Value each(const std::vector<Value> &of, const std::function<Value(std::vector<Value> &)> &make) {
    std::string map = mapOf(of[0].rank(), iota(of[0].rank()));
    std::vector<Operand> ins;
    for (const Value &value : of)
      ins.push_back({value, map});
    return body.generic(ins, {{fresh(of[0].shape, false), map}},
                        std::string(of[0].shape.size(), 'p'),
                        [&](auto &inner, auto &) { return std::vector<Value>{make(inner)}; })[0];
  }
  Value add(const Value &a, const Value &b) {
    return each({a, b}, [&](auto &v) { return number("arith.addf", v[0], v[1]); });
  }
  Value forward(Value h, std::vector<Layer> &layers);
  void backward(Value dh, const std::vector<Layer> &layers);
  // Of the logarithm of the sum of exponentials of each row; and its mean.
  Value lossGradient(const Value &s);
  const std::string &element() const { return weights[0].element; }

  Body &body;
  const std::vector<Value> &weights;
  std::vector<Value> gradients; // no name: none yet
};

Value Network::forward(Value h, std::vector<Layer> &layers) {
  for (int64_t i = body.rng.between(1, 3); i > 0; --i) {
    size_t w = size_t(body.rng.below(int64_t(weights.size())));
    Layer layer{w, h, multiply(h, weights[w], false, false), body.rng.oneIn(2)};
    if (layer.tanh)
      layer.output = each({layer.output}, [&](auto &v) {
        return body.scalar("math.tanh " + v[0].name + " : " + element(), element(), v, 1);
      });
    h = layer.output;
    layers.push_back(layer);
    if (body.rng.oneIn(3))
      body.keep(h);
  }
  return h;
}

void Network::backward(Value dh, const std::vector<Layer> &layers) {
  for (size_t i = layers.size(); i-- > 0;) {
    const Layer &layer = layers[i];
    if (layer.tanh)
      dh = each({dh, layer.output}, [&](auto &v) {
        Value square = number("arith.mulf", v[1], v[1]);
        std::string one = body.number(element(), 1);
        Value slope = body.scalar("arith.subf " + one + ", " + square.name + " : " + element(), element(), {square}, 1);
        return number("arith.mulf", v[0], slope);
      });
    Value dw = multiply(layer.input, dh, true, false);
    Value &sum = gradients[layer.weight];
    sum = sum.name.empty() ? dw : add(sum, dw);
    if (i > 0)
      dh = multiply(dh, weights[layer.weight], false, true);
  }
}

Value Network::lossGradient(const Value &s) {
  auto reduce = [&](const Value &of, double from, const std::string &name) {
    Value empty = fresh({of.shape[0]}, false);
    std::string init = body.number(element(), from);
    Value filled = body.op("linalg.fill ins(" + init + " : " + element() + ") outs(" + empty.name + " : " + empty.type() + ") -> " + empty.type(),
                           element(), empty.shape, {}, 0);
    return body.generic({{of, mapOf(2, std::vector<int64_t>{0, 1})}},
                        {{filled, mapOf(2, std::vector<int64_t>{0})}}, "pr",
                        [&](auto &ins, auto &outs) {
                          return std::vector<Value>{number(name, outs[0], ins[0])};
                        })[0];
  };
  auto rowwise = [&](const Value &a, const Value &row,
                     const std::function<Value(std::vector<Value> &)> &make) {
    return body.generic({{a, mapOf(2, iota(2))}, {row, mapOf(2, std::vector<int64_t>{0})}}, {{fresh(a.shape, false), mapOf(2, iota(2))}}, "pp",
                        [&](auto &ins, auto &) { return std::vector<Value>{make(ins)}; })[0];
  };
  Value e = rowwise(s, reduce(s, -1e4, "arith.maximumf"), [&](auto &v) {
    Value less = number("arith.subf", v[0], v[1]);
    return body.scalar("math.exp " + less.name + " : " + element(), element(), {less}, 1);
  });
  Value sum = reduce(e, 0, "arith.addf");
  body.keep(sum);
  return rowwise(e, sum, [&](auto &v) { return number("arith.divf", v[0], v[1]); });
}

std::vector<Value> Network::run(Value x) {
  std::vector<Layer> one, two;
  Value u = forward(x, one);
  if (body.rng.oneIn(3)) {
    backward(lossGradient(u), one);
  } else {
    Value other = x, y;
    if (body.find(
            [&](const Value &v) {
              return v.element == x.element && v.rank() == 2 && v.shape[1] == x.shape[1] &&
                     v.of.batch;
            },
            y))
      other = y;
    Value v = forward(other, two);
    Value d = lossGradient(multiply(u, v, false, true));
    backward(multiply(d, v, false, false), one);
    backward(multiply(d, u, true, false), two);
  }
  return gradients;
}

} // namespace

std::vector<Value> network(Body &body, const std::vector<Value> &weights, const Value &x) {
  return Network(body, weights).run(x);
}

} // namespace commsched::differential
