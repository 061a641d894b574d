// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/families.h"

#include <algorithm>

namespace commsched::differential {

static std::string join(const std::vector<std::string> &list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i)
    text += (i ? ", " : "") + list[i];
  return text;
}

// Of a type that is there, so that carried values often have equal types.
static std::vector<Value> pickCarried(Body &body, int64_t count) {
  std::vector<Value> carried;
  for (int64_t i = 0; i < count; ++i) {
    Value value;
    bool same = i && body.rng.oneIn(2);
    if (body.find(
            [&](const Value &v) {
              return v.count() <= 1024 &&
                     (!same || (v.element == carried[0].element && v.shape == carried[0].shape));
            },
            value))
      carried.push_back(value);
  }
  return carried;
}

// A value of the type for the next round: computed, or one that is carried already.
static Value nextOf(Body &body, const Value &value) {
  Random &rng = body.rng;
  Value other;
  auto same = [&](const Value &v) { return v.element == value.element && v.shape == value.shape; };
  if (!body.find(same, other))
    return value;
  if (rng.oneIn(4))
    return other; // perhaps another carried one
  Value result = combine(body, value, other);
  if (result.isFloat())
    result = body.op("math.tanh " + result.name + " : " + result.type(), result.element, result.shape, {result}, 1);
  return result;
}

// `value` changed in place, as an accumulator is; and what it was, read behind that.
static Value writtenThenRead(Body &body, const Value &value) {
  Value by;
  if (value.element == "i1" || !body.find([&](const Value &v) { return v.element == value.element && v.shape == value.shape; }, by))
    return value;
  std::string map = mapOf(value.rank(), iota(value.rank()));
  Value written =
      body.generic({{by, map}}, {{value, map}}, std::string(value.shape.size(), 'p'),
                   [&](auto &ins, auto &outs) {
                     std::string name = value.isFloat() ? "arith.maximumf " : "arith.addi ";
                     return std::vector<Value>{body.scalar(
                         name + ins[0].name + ", " + outs[0].name + " : " + value.element,
                         value.element, {ins[0], outs[0]}, std::max(value.size, by.size))};
                   })[0];
  if (body.rng.oneIn(2))
    body.keep(combine(body, value, body.rng.oneIn(2) ? value : by));
  return written;
}

// Results of an op with regions, of the types of `values`.
static void results(Body &body, const std::string &base, const std::vector<Value> &values,
                    const Origin &touched) {
  for (size_t i = 0; i < values.size(); ++i) {
    Value result = values[i];
    result.name = values.size() > 1 ? base + "#" + std::to_string(i) : base;
    result.of = touched;
    result.size = std::max(result.size, 4.0);
    body.keep(result);
  }
}

static Origin joined(Origin touched, const std::vector<Value> &values) {
  for (const Value &value : values)
    touched |= value.origin();
  return touched;
}

static std::string arity(const std::vector<Value> &values) {
  return values.size() > 1 ? ":" + std::to_string(values.size()) : "";
}

static void yield(Body &body, const std::string &name, const std::vector<Value> &values) {
  std::vector<std::string> names, types;
  for (const Value &value : values) {
    names.push_back(value.name);
    types.push_back(value.type());
  }
  body.line(name + join(names) + " : " + join(types));
}

void forLoop(Body &body) {
  Random &rng = body.rng;
  std::vector<Value> carried = pickCarried(body, rng.between(1, 3));
  if (carried.empty())
    return;
  int64_t rounds = rng.between(0, 4);
  std::string low = body.index(0), high = body.index(rounds * 2), step = body.index(2),
              base = body.fresh(), at = body.fresh();
  std::vector<std::string> inits, types;
  std::vector<Value> arguments;
  for (const Value &value : carried) {
    Value argument = value;
    argument.name = body.fresh();
    arguments.push_back(argument);
    inits.push_back(argument.name + " = " + value.name);
    types.push_back(value.type());
  }
  body.line(base + arity(carried) + " = scf.for " + at + " = " + low + " to " + high + " step " + step + " iter_args(" +
            join(inits) + ") -> (" + join(types) + ") {");
  std::vector<Value> next;
  auto touched = body.region([&] {
    for (const Value &argument : arguments)
      body.keep(argument);
    for (int64_t i = rng.below(3); i > 0; --i)
      anyFamily(body);
    size_t inPlace = rng.oneIn(3) ? size_t(rng.below(int64_t(arguments.size()))) : arguments.size();
    Value written;
    if (inPlace < arguments.size())
      written = writtenThenRead(body, arguments[inPlace]);
    for (const Value &argument : arguments) {
      if (next.size() == inPlace)
        next.push_back(written);
      else
        next.push_back(rng.oneIn(4) ? rng.pick(arguments) : nextOf(body, argument));
    }
    for (size_t i = 0; i < next.size(); ++i)
      if (next[i].type() != arguments[i].type())
        next[i] = arguments[i];
    if (next.size() == 2 && next[0].type() == next[1].type() && rng.oneIn(3))
      next = {arguments[1], arguments[0]}; // swapped
    yield(body, "scf.yield ", next);
  });
  body.line("}");
  results(body, base, carried, joined(joined(touched, carried), next));
}

// Elements or rows are written one by one.
void insertLoop(Body &body) {
  Random &rng = body.rng;
  Value into, from;
  if (!body.find(
          [](const Value &v) {
            return v.rank() > 0 && v.rank() < 3 && v.count() <= 1024 && v.size <= 32;
          },
          into) ||
      !body.find(
          [&](const Value &v) {
            return v.element == into.element && v.rank() == into.rank() &&
                   v.shape.back() == into.shape.back() && v.count() <= 4096;
          },
          from))
    return;
  int64_t rounds = std::min({into.shape[0], from.shape[0], int64_t(9)});
  std::string low = body.index(0), high = body.index(rounds), step = body.index(1),
              base = body.fresh(), at = body.fresh(), carried = body.fresh();
  // Of the other end, for one in two.
  std::string last = body.index(rounds - 1);
  body.line(base + " = scf.for " + at + " = " + low + " to " + high + " step " + step + " iter_args(" + carried + " = " +
            into.name + ") -> (" + into.type() + ") {");
  Value argument = into;
  argument.name = carried;
  auto touched = body.region([&] {
    std::string place = at;
    if (rng.oneIn(2))
      place = body.scalar("arith.subi " + last + ", " + at + " : index", "index", {}, 0).name;
    // What is read may be what is written.
    bool reads = from.type() == into.type() && rng.oneIn(3);
    Value source = reads ? argument : from;
    Value result;
    if (into.rank() == 1 && rng.oneIn(2)) {
      Value element = body.scalar("tensor.extract " + source.name + "[" + at + "] : " + source.type(), into.element, {source}, source.size);
      Value changed = into.element == "i1" ? element : tree(body, {element}, into.element, 1);
      result = body.op("tensor.insert " + changed.name + " into " + carried + "[" + place + "] : " + into.type(), into.element, into.shape, {changed, into}, into.size);
    } else {
      Shape row{1};
      std::string sizes = "[1]", strides = "[1]", rest;
      if (into.rank() == 2) {
        row = {1, into.shape[1]};
        sizes = "[1, " + std::to_string(into.shape[1]) + "]";
        strides = "[1, 1]";
        rest = ", 0";
      }
      auto sliceOf = [&](const Value &of, const std::string &index) {
        return body.op("tensor.extract_slice " + of.name + "[" + index + rest + "] " + sizes + " " + strides + " : " + of.type() + " to " +
                           typeOf(of.element, row),
                       of.element, row, {of}, of.size);
      };
      Value changed =
          combine(body, sliceOf(source, at), sliceOf(argument, rng.oneIn(2) ? place : at));
      if (changed.isFloat())
        changed = body.op("math.tanh " + changed.name + " : " + changed.type(), changed.element, row, {changed}, 1);
      result = body.op("tensor.insert_slice " + changed.name + " into " + carried + "[" + place + rest + "] " + sizes + " " + strides +
                           " : " + changed.type() + " into " + into.type(),
                       into.element, into.shape, {changed, into}, into.size);
    }
    yield(body, "scf.yield ", {result});
  });
  body.line("}");
  results(body, base, {into}, joined(touched, {into, from}));
}

// An i1 of what is there.
static Value condition(Body &body) {
  Random &rng = body.rng;
  Value a;
  if (body.find([](const Value &v) { return v.element == "i32" && v.count() > 0; }, a) || body.findFloat(a)) {
    std::string indices;
    for (int64_t d = 0; d < a.rank(); ++d)
      indices += (d ? ", " : "") + body.index(rng.below(a.shape[size_t(d)]));
    Value number = body.scalar("tensor.extract " + a.name + "[" + indices + "] : " + a.type(), a.element, {a}, a.size);
    std::string with = body.number(a.element, a.isFloat() ? 0.25 : 3);
    return body.scalar(std::string(a.isFloat() ? "arith.cmpf ogt, " : "arith.cmpi slt, ") + number.name + ", " + with + " : " + a.element, "i1", {number}, 1);
  }
  Value result;
  result.name = body.number("i1", 1);
  result.element = "i1";
  result.tensor = false;
  return result;
}

void conditional(Body &body) {
  Random &rng = body.rng;
  std::vector<Value> made = pickCarried(body, rng.between(1, 2));
  if (made.empty())
    return;
  Value chosen = condition(body);
  std::string base = body.fresh();
  std::vector<std::string> types;
  for (const Value &value : made)
    types.push_back(value.type());
  body.line(base + arity(made) + " = scf.if " + chosen.name + " -> (" + join(types) + ") {");
  std::vector<Value> seen;
  auto branch = [&] {
    return body.region([&] {
      for (int64_t i = rng.below(3); i > 0; --i)
        anyFamily(body);
      std::vector<Value> yields;
      for (const Value &value : made)
        yields.push_back(rng.oneIn(3) ? value : nextOf(body, value));
      seen.insert(seen.end(), yields.begin(), yields.end());
      yield(body, "scf.yield ", yields);
    });
  };
  auto touched = joined(branch(), {chosen});
  body.line("} else {");
  auto other = branch();
  body.line("}");
  touched |= other;
  results(body, base, made, joined(joined(touched, made), seen));
}

// Counts up to a number that is only known at run time.
void whileLoop(Body &body) {
  Random &rng = body.rng;
  std::vector<Value> carried = pickCarried(body, rng.between(1, 2));
  if (carried.empty())
    return;
  Value counter, end;
  counter.name = body.number("i32", 0);
  counter.element = "i32";
  counter.tensor = false;
  Value number;
  if (body.find([](const Value &v) { return v.element == "i32" && v.rank() == 1; }, number)) {
    std::string at = body.index(rng.below(number.shape[0]));
    Value some = body.scalar("tensor.extract " + number.name + "[" + at + "] : " + number.type(), "i32", {number}, 0);
    end = body.scalar("arith.andi " + some.name + ", " + body.number("i32", 3) + " : i32", "i32", {some}, 0);
  } else {
    end = counter;
    end.name = body.number("i32", double(rng.between(0, 4)));
  }
  std::vector<Value> values = carried;
  values.insert(values.begin(), counter);
  std::string base = body.fresh();
  std::vector<std::string> inits, types, after;
  std::vector<Value> first, second;
  for (const Value &value : values) {
    Value a = value, b = value;
    a.name = body.fresh();
    b.name = body.fresh();
    first.push_back(a);
    second.push_back(b);
    inits.push_back(a.name + " = " + value.name);
    types.push_back(value.type());
    after.push_back(b.name + ": " + value.type());
  }
  body.line(base + arity(values) + " = scf.while (" + join(inits) + ") : (" + join(types) + ") -> (" + join(types) + ") {");
  body.region([&] {
    Value more = body.scalar("arith.cmpi slt, " + first[0].name + ", " + end.name + " : i32", "i1", {}, 1);
    yield(body, "scf.condition(" + more.name + ") ", first);
  });
  body.line("} do {");
  body.line("^bb0(" + join(after) + "):");
  std::vector<Value> next;
  auto touched = body.region([&] {
    for (size_t i = 1; i < second.size(); ++i)
      body.keep(second[i]);
    std::string one = body.number("i32", 1);
    next.push_back(body.scalar("arith.addi " + second[0].name + ", " + one + " : i32", "i32", {}, 0));
    if (rng.oneIn(2))
      anyFamily(body);
    for (size_t i = 1; i < second.size(); ++i)
      next.push_back(nextOf(body, second[i]));
    if (next.size() == 3 && next[1].type() == next[2].type() && rng.oneIn(3))
      std::swap(next[1], next[2]);
    yield(body, "scf.yield ", next);
  });
  body.line("}");
  touched = joined(joined(joined(touched, carried), next), {end});
  for (size_t i = 0; i < carried.size(); ++i) {
    Value result = carried[i];
    result.name = base + "#" + std::to_string(i + 1);
    result.of = touched;
    result.size = std::max(result.size, 4.0);
    body.keep(result);
  }
}

} // namespace commsched::differential
