// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the body of a random function as text: its values, and the ops that
// all families of ops are made of.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_BODY_H
#define COMMSCHED_TESTS_DIFFERENTIAL_BODY_H

#include "tests/differential/random.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace commsched::differential {

using Shape = std::vector<int64_t>;

int64_t elements(const Shape &shape);

// What a value has been made of.
struct Origin {
  bool batch = false;    // the batch, other than through a gradient
  bool gradient = false; // a gradient
  bool rounded = false;  // floating-point numbers

  Origin &operator|=(const Origin &other) {
    batch |= other.batch;
    gradient |= other.gradient;
    rounded |= other.rounded;
    return *this;
  }
};

// A tensor or, without `tensor`, a number inside of a generic.
struct Value {
  std::string name;
  std::string element; // "f32"
  Shape shape;
  double size = 1; // about how large its elements are
  Origin of{};
  bool tensor = true;

  bool isFloat() const { return element.find('f') != std::string::npos; }
  bool isInteger() const { return !isFloat() && element != "i1"; }
  // As of what is made of it.
  Origin origin() const {
    Origin result = of;
    result.rounded |= isFloat();
    return result;
  }
  int64_t rank() const { return int64_t(shape.size()); }
  int64_t count() const { return elements(shape); }
  std::string type() const;
};

std::string typeOf(const std::string &element, const Shape &shape);
// "(d0, d1) -> (d1)" of results, as an affine_map.
std::string mapOf(int64_t dims, const std::vector<std::string> &results);
std::string mapOf(int64_t dims, const std::vector<int64_t> &results);
std::vector<int64_t> iota(int64_t n);
std::string listOf(const std::vector<int64_t> &numbers);

// One operand of a generic.
struct Operand {
  Value value;
  std::string map;
};

class Body {
public:
  explicit Body(uint64_t seed) : rng(seed) {}

  Random rng;
  std::string text;
  std::vector<Value> pool; // what may be used
  uint32_t favoured = 0;   // families that the program has more of, a bit each

  // `name = rhs`, of values that it uses. Does not enter the pool.
  Value op(const std::string &rhs, const std::string &element, const Shape &shape,
           const std::vector<Value> &uses, double size);
  void line(const std::string &text);
  std::string fresh() { return "%v" + std::to_string(next++); }
  // Into the pool.
  Value keep(Value value);

  // A number: arith.constant at this place.
  std::string number(const std::string &element, double value);
  std::string index(int64_t value);
  // Tensors of constants: equal or different elements.
  Value constant(const std::string &element, const Shape &shape);
  Value splat(const std::string &element, const Shape &shape, double value);
  Value empty(const std::string &element, const Shape &shape);
  // Often one that is there already.
  Value fill(const std::string &element, const Shape &shape, double value);
  // To add to: a fill, or an earlier value.
  Value accumulator(const std::string &element, const Shape &shape);

  using Inner = std::function<std::vector<Value>(std::vector<Value> &ins,
                                                 std::vector<Value> &outs)>;
  // linalg.generic; `iterators` of 'p' and 'r', a letter each.
  std::vector<Value> generic(const std::vector<Operand> &ins, const std::vector<Operand> &outs,
                             const std::string &iterators, const Inner &inner);
  // One op in a body.
  Value scalar(const std::string &rhs, const std::string &element,
               const std::vector<Value> &uses, double size);

  // What may be used of this kind; false if there is nothing.
  bool find(const std::function<bool(const Value &)> &fits, Value &value);
  bool findFloat(Value &value, int64_t leastRank = 0, int64_t mostElements = 1 << 13);
  // Makes it smaller if it may be large.
  Value moderate(Value value);
  Value castTo(const Value &value, const std::string &element);

  // Runs `write` as the body of a region: what it makes is not seen behind it. Says
  // what it depends on.
  Origin region(const std::function<void()> &write);

private:
  int next = 0;
  int depth = 1;
  Origin touched;
  std::map<std::string, Value> fills, empties;
  std::set<std::string> taken; // values of the pool that find() has given
};

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_BODY_H
