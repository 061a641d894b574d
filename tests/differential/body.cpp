// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/body.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace commsched::differential {

int64_t elements(const Shape &shape) {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

std::string typeOf(const std::string &element, const Shape &shape) {
  std::string type = "tensor<";
  for (int64_t dim : shape)
    type += std::to_string(dim) + "x";
  return type + element + ">";
}

std::string Value::type() const { return tensor ? typeOf(element, shape) : element; }

std::string mapOf(int64_t dims, const std::vector<std::string> &results) {
  std::string map = "affine_map<(";
  for (int64_t i = 0; i < dims; ++i)
    map += (i ? ", d" : "d") + std::to_string(i);
  map += ") -> (";
  for (size_t i = 0; i < results.size(); ++i)
    map += (i ? ", " : "") + results[i];
  return map + ")>";
}

std::string mapOf(int64_t dims, const std::vector<int64_t> &results) {
  std::vector<std::string> names;
  for (int64_t result : results)
    names.push_back("d" + std::to_string(result));
  return mapOf(dims, names);
}

std::vector<int64_t> iota(int64_t n) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < n; ++i)
    numbers.push_back(i);
  return numbers;
}

std::string listOf(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + "]";
}

static std::string literal(const std::string &element, double value) {
  if (element == "i1")
    return value != 0 ? "true" : "false";
  if (element[0] == 'i')
    return std::to_string(int64_t(value));
  char text[40];
  std::snprintf(text, sizeof(text), "%.6e", value);
  return text;
}

void Body::line(const std::string &rhs) {
  text += std::string(size_t(depth) * 2, ' ') + rhs + "\n";
}

Value Body::op(const std::string &rhs, const std::string &element, const Shape &shape,
               const std::vector<Value> &uses, double size) {
  Value value{fresh(), element, shape, size};
  for (const Value &use : uses)
    value.of |= use.origin();
  touched |= value.origin();
  line(value.name + " = " + rhs);
  return value;
}

Value Body::scalar(const std::string &rhs, const std::string &element,
                   const std::vector<Value> &uses, double size) {
  Value value = op(rhs, element, {}, uses, size);
  value.tensor = false;
  return value;
}

Value Body::keep(Value value) {
  pool.push_back(value);
  return value;
}

std::string Body::number(const std::string &element, double value) {
  std::string name = fresh();
  line(name + " = arith.constant " + literal(element, value) +
       (element == "i1" ? "" : " : " + element));
  return name;
}

std::string Body::index(int64_t value) {
  std::string name = fresh();
  line(name + " = arith.constant " + std::to_string(value) + " : index");
  return name;
}

Value Body::splat(const std::string &element, const Shape &shape, double value) {
  return op("arith.constant dense<" + literal(element, value) + "> : " + typeOf(element, shape),
            element, shape, {}, std::fabs(value));
}

Value Body::constant(const std::string &element, const Shape &shape) {
  bool isFloat = element.find('f') != std::string::npos;
  auto one = [&] { return isFloat ? double(rng.between(-8, 8)) / 8 : double(rng.between(0, 5)); };
  if (shape.size() != 1 || shape[0] > 12)
    return splat(element, shape, element == "i1" ? rng.below(2) : one());
  std::string list;
  for (int64_t i = 0; i < shape[0]; ++i)
    list += (i ? ", " : "") + literal(element, element == "i1" ? rng.below(2) : one());
  return op("arith.constant dense<[" + list + "]> : " + typeOf(element, shape), element, shape,
            {}, isFloat ? 1 : 5);
}

Value Body::empty(const std::string &element, const Shape &shape) {
  std::string type = typeOf(element, shape);
  auto known = empties.find(type);
  if (known != empties.end() && rng.oneIn(2))
    return known->second;
  Value value = op("tensor.empty() : " + type, element, shape, {}, 0);
  empties[type] = value;
  return value;
}

Value Body::fill(const std::string &element, const Shape &shape, double value) {
  std::string type = typeOf(element, shape);
  std::string key = type + literal(element, value);
  auto known = fills.find(key);
  if (known != fills.end() && rng.oneIn(2))
    return known->second;
  Value init = empty(element, shape);
  std::string from = number(element, value);
  Value filled = op("linalg.fill ins(" + from + " : " + element + ") outs(" + init.name + " : " +
                        type + ") -> " + type,
                    element, shape, {}, std::fabs(value));
  fills[key] = filled;
  return filled;
}

Value Body::accumulator(const std::string &element, const Shape &shape) {
  Value earlier;
  if (rng.oneIn(5) && find([&](const Value &v) { return v.element == element && v.shape == shape; },
                           earlier))
    return earlier;
  bool isFloat = element.find('f') != std::string::npos;
  return fill(element, shape, rng.oneIn(8) ? (isFloat ? 0.5 : 3) : 0);
}

std::vector<Value> Body::generic(const std::vector<Operand> &ins, const std::vector<Operand> &outs,
                                 const std::string &iterators, const Inner &inner) {
  std::string maps, kinds, inList, inTypes, outList, outTypes;
  auto list = [&](const std::vector<Operand> &operands, std::string &names, std::string &types) {
    for (const Operand &operand : operands) {
      maps += (maps.empty() ? "" : ", ") + operand.map;
      names += (names.empty() ? "" : ", ") + operand.value.name;
      types += (types.empty() ? "" : ", ") + operand.value.type();
    }
  };
  list(ins, inList, inTypes);
  list(outs, outList, outTypes);
  for (char kind : iterators)
    kinds += std::string(kinds.empty() ? "" : ", ") + (kind == 'p' ? "\"parallel\"" : "\"reduction\"");

  std::string base = fresh();
  line(base + (outs.size() > 1 ? ":" + std::to_string(outs.size()) : "") +
       " = linalg.generic {indexing_maps = [" + maps + "], iterator_types = [" + kinds + "]}" +
       (ins.empty() ? "" : " ins(" + inList + " : " + inTypes + ")") + " outs(" + outList + " : " +
       outTypes + ") {");
  std::vector<Value> inScalars, outScalars;
  std::string arguments;
  auto enter = [&](const std::vector<Operand> &operands, std::vector<Value> &scalars) {
    for (const Operand &operand : operands) {
      Value scalar = operand.value;
      scalar.tensor = false;
      scalar.shape.clear();
      scalar.name = fresh();
      arguments += (arguments.empty() ? "" : ", ") + scalar.name + ": " + scalar.element;
      scalars.push_back(scalar);
    }
  };
  enter(ins, inScalars);
  enter(outs, outScalars);
  line("^bb0(" + arguments + "):");
  Origin before = touched;
  touched = {};
  ++depth;
  std::vector<Value> yields = inner(inScalars, outScalars);
  std::string names, types;
  for (const Value &yield : yields) {
    names += (names.empty() ? "" : ", ") + yield.name;
    types += (types.empty() ? "" : ", ") + yield.element;
    touched |= yield.origin();
  }
  line("linalg.yield " + names + " : " + types);
  --depth;
  for (const std::vector<Operand> &operands : {ins, outs})
    for (const Operand &operand : operands)
      touched |= operand.value.origin();
  line("} -> " + (outs.size() > 1 ? "(" + outTypes + ")" : outTypes));
  std::vector<Value> results;
  for (size_t i = 0; i < outs.size(); ++i) {
    Value result = outs[i].value;
    result.name = outs.size() > 1 ? base + "#" + std::to_string(i) : base;
    result.size = yields[i].size;
    result.of = touched;
    results.push_back(result);
  }
  touched |= before;
  return results;
}

bool Body::find(const std::function<bool(const Value &)> &fits, Value &value) {
  std::vector<size_t> found;
  for (size_t i = 0; i < pool.size(); ++i)
    if (fits(pool[i]))
      found.push_back(i);
  if (found.empty())
    return false;
  // What nothing has used is wanted more: so less of a program is dead.
  if (rng.oneIn(2)) {
    std::vector<size_t> left;
    for (size_t i : found)
      if (!taken.count(pool[i].name))
        left.push_back(i);
    if (!left.empty())
      found = left;
  }
  // Late values are wanted more: so programs become deep.
  size_t at = size_t(rng.below(int64_t(found.size())));
  if (rng.oneIn(2))
    at = std::max(at, size_t(rng.below(int64_t(found.size()))));
  value = pool[found[at]];
  taken.insert(value.name);
  return true;
}

bool Body::findFloat(Value &value, int64_t leastRank, int64_t mostElements) {
  return find(
      [&](const Value &v) {
        return v.isFloat() && v.rank() >= leastRank && v.count() <= mostElements;
      },
      value);
}

Value Body::moderate(Value value) {
  if (!value.isFloat() || value.size <= 8)
    return value;
  if (rng.oneIn(2) && value.size < 1e3)
    return op("math.tanh " + value.name + " : " + value.type(), value.element, value.shape, {value}, 1);
  Value factor = splat(value.element, value.shape, 1 / value.size);
  return op("arith.mulf " + value.name + ", " + factor.name + " : " + value.type(), value.element,
            value.shape, {value}, 1);
}

Value Body::castTo(const Value &value, const std::string &element) {
  if (value.element == element)
    return value;
  static const std::map<std::string, int> widths = {
      {"f64", 64},
      {"f32", 32},
      {"f16", 16},
      {"bf16", 16},
      {"i64", 64},
      {"i32", 32},
      {"i8", 8},
      {"i1", 1},
  };
  bool toFloat = element.find('f') != std::string::npos;
  Value from = value;
  // Between the two of 16 bits there is no cast.
  if (value.isFloat() && toFloat && widths.at(value.element) == widths.at(element))
    from = castTo(value, "f32");
  // Moderate numbers of integers that may have wrapped.
  if (from.isInteger() && toFloat) {
    std::string mask =
        value.tensor ? splat(from.element, from.shape, 7).name : number(from.element, 7);
    from = op("arith.andi " + from.name + ", " + mask + " : " + from.type(), from.element,
              from.shape, {from}, 7);
    from.tensor = value.tensor;
  }
  int before = widths.at(from.element), after = widths.at(element);
  std::string name;
  if (from.isFloat() && toFloat)
    name = before < after ? "arith.extf" : "arith.truncf";
  else if (from.isFloat())
    name = "arith.fptosi";
  else if (toFloat)
    name = from.element == "i1" ? "arith.uitofp" : "arith.sitofp";
  else
    name = before > after ? "arith.trunci" : from.element == "i1" ? "arith.extui"
                                                                  : "arith.extsi";
  Value result;
  result.tensor = value.tensor;
  std::string to = value.tensor ? typeOf(element, value.shape) : element;
  result = op(name + " " + from.name + " : " + from.type() + " to " + to, element, value.shape,
              {from}, value.element == "i1" ? 1 : value.size);
  result.tensor = value.tensor;
  return result;
}

Origin Body::region(const std::function<void()> &write) {
  Origin before = touched;
  touched = {};
  auto fillsBefore = fills, emptiesBefore = empties;
  size_t poolBefore = pool.size();
  ++depth;
  write();
  --depth;
  pool.resize(poolBefore);
  fills = fillsBefore;
  empties = emptiesBefore;
  Origin inside = touched;
  touched |= before;
  return inside;
}

} // namespace commsched::differential
