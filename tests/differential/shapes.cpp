// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/families.h"

#include <algorithm>

namespace commsched::differential {

static bool findShaped(Body &body, Value &value, int64_t leastRank = 1) {
  return body.find(
      [&](const Value &v) {
        return v.rank() >= leastRank && v.rank() < 5 && v.count() <= kMostElements;
      },
      value);
}

void transpose(Body &body) {
  Value a;
  if (!findShaped(body, a, 2))
    return;
  std::vector<int64_t> order = iota(a.rank());
  for (int64_t d = a.rank() - 1; d > 0; --d)
    std::swap(order[size_t(d)], order[size_t(body.rng.below(d + 1))]);
  Shape shape;
  for (int64_t d : order)
    shape.push_back(a.shape[size_t(d)]);
  Value init = body.empty(a.element, shape);
  body.keep(body.op("linalg.transpose ins(" + a.name + " : " + a.type() + ") outs(" + init.name + " : " + init.type() +
                        ") permutation = " + listOf(order),
                    a.element, shape, {a}, a.size));
}

void broadcast(Body &body) {
  Random &rng = body.rng;
  Value a;
  if (!body.find([](const Value &v) { return v.rank() < 3 && v.count() <= 512; }, a))
    return;
  Shape shape = a.shape;
  std::vector<int64_t> dims = iota(a.rank());
  int64_t at = rng.below(a.rank() + 1);
  shape.insert(shape.begin() + at, rng.between(1, 9));
  for (int64_t &d : dims)
    d += d >= at;
  body.keep(broadcastTo(body, a, shape, dims));
}

// Joins neighbouring dimensions, or splits one.
void reshape(Body &body) {
  Random &rng = body.rng;
  Value a;
  if (!findShaped(body, a))
    return;
  auto groups = [](const std::vector<std::vector<int64_t>> &lists) {
    std::string text = "[";
    for (size_t i = 0; i < lists.size(); ++i)
      text += (i ? ", " : "") + listOf(lists[i]);
    return text + "]";
  };
  int64_t rank = a.rank();
  std::vector<std::vector<int64_t>> lists;
  if (rank >= 2 && rng.oneIn(2)) {
    int64_t at = rng.below(rank - 1);
    Shape shape;
    for (int64_t d = 0; d < rank; ++d)
      if (d == at + 1) {
        shape.back() *= a.shape[size_t(d)];
        lists.back().push_back(d);
      } else {
        shape.push_back(a.shape[size_t(d)]);
        lists.push_back({d});
      }
    body.keep(body.op("tensor.collapse_shape " + a.name + " " + groups(lists) + " : " + a.type() + " into " +
                          typeOf(a.element, shape),
                      a.element, shape, {a}, a.size));
    return;
  }
  if (rank >= 4)
    return;
  int64_t at = rng.below(rank), dim = a.shape[size_t(at)];
  std::vector<int64_t> factors;
  for (int64_t f = 1; f <= dim; ++f)
    if (dim % f == 0)
      factors.push_back(f);
  int64_t factor = rng.pick(factors);
  Shape shape;
  for (int64_t d = 0; d < rank; ++d) {
    lists.push_back({int64_t(shape.size())});
    if (d == at) {
      shape.push_back(factor);
      lists.back().push_back(int64_t(shape.size()));
      shape.push_back(dim / factor);
    } else {
      shape.push_back(a.shape[size_t(d)]);
    }
  }
  body.keep(body.op("tensor.expand_shape " + a.name + " " + groups(lists) + " output_shape " + listOf(shape) + " : " +
                        a.type() + " into " + typeOf(a.element, shape),
                    a.element, shape, {a}, a.size));
}

// Offsets, sizes and strides within a shape.
static void window(Random &rng, const Shape &shape, Shape &sizes, std::string &text) {
  std::vector<int64_t> offsets, strides;
  sizes.clear();
  for (int64_t dim : shape) {
    int64_t offset = rng.oneIn(2) ? 0 : rng.below(dim);
    int64_t stride = rng.oneIn(4) ? 2 : 1;
    int64_t most = (dim - offset - 1) / stride + 1;
    int64_t size = rng.oneIn(2) ? most : rng.between(1, most);
    offsets.push_back(offset);
    sizes.push_back(size);
    strides.push_back(stride);
  }
  text = listOf(offsets) + " " + listOf(sizes) + " " + listOf(strides);
}

void slice(Body &body) {
  Random &rng = body.rng;
  Value a;
  if (!findShaped(body, a))
    return;
  Shape sizes;
  std::string where;
  window(rng, a.shape, sizes, where);
  Shape shape;
  for (int64_t size : sizes) // dimensions of one element may go
    if (size != 1 || rng.oneIn(2))
      shape.push_back(size);
  body.keep(body.op("tensor.extract_slice " + a.name + where + " : " + a.type() + " to " + typeOf(a.element, shape),
                    a.element, shape, {a}, a.size));
}

// A part of one value is replaced by a slice of another one.
void insertSlice(Body &body) {
  Random &rng = body.rng;
  Value into, from;
  if (!findShaped(body, into))
    return;
  Shape sizes;
  std::string where;
  window(rng, into.shape, sizes, where);
  if (!body.find([&](const Value &v) { return v.element == into.element && v.shape == sizes; },
                 from)) {
    if (!body.find([&](const Value &v) {
          if (v.element != into.element || v.rank() != into.rank())
            return false;
          for (size_t d = 0; d < sizes.size(); ++d)
            if (v.shape[d] < sizes[d])
              return false;
          return true;
        },
                   from))
      return;
    std::vector<int64_t> offsets, strides(sizes.size(), 1);
    for (size_t d = 0; d < sizes.size(); ++d)
      offsets.push_back(rng.between(0, from.shape[d] - sizes[d]));
    from = body.op("tensor.extract_slice " + from.name + listOf(offsets) + " " + listOf(sizes) + " " + listOf(strides) +
                       " : " + from.type() + " to " + typeOf(from.element, sizes),
                   from.element, sizes, {from}, from.size);
  }
  body.keep(body.op("tensor.insert_slice " + from.name + " into " + into.name + where + " : " + from.type() + " into " +
                        into.type(),
                    into.element, into.shape, {from, into}, std::max(from.size, into.size)));
}

Value paddedBy(Body &body, const Value &value, const Shape &low, const Shape &high, double with) {
  Shape shape;
  std::string arguments;
  for (size_t d = 0; d < low.size(); ++d) {
    shape.push_back(value.shape[d] + low[d] + high[d]);
    arguments += (d ? ", " : "") + body.fresh() + ": index";
  }
  std::string number = body.number(value.element, with);
  return body.op("tensor.pad " + value.name + " low" + listOf(low) + " high" + listOf(high) + " {\n  ^bb0(" + arguments +
                     "):\n    tensor.yield " + number + " : " + value.element + "\n  } : " + value.type() + " to " +
                     typeOf(value.element, shape),
                 value.element, shape, {value}, std::max(1.0, value.size));
}

void pad(Body &body) {
  Random &rng = body.rng;
  Value a;
  if (!body.find([](const Value &v) { return v.rank() > 0 && v.rank() < 4 && v.count() <= 1000; },
                 a))
    return;
  Shape low, high;
  for (int64_t d = 0; d < a.rank(); ++d) {
    low.push_back(rng.oneIn(2) ? 0 : rng.between(0, 2));
    high.push_back(rng.oneIn(2) ? 0 : rng.between(0, 2));
  }
  body.keep(paddedBy(body, a, low, high, rng.oneIn(3) ? 1 : 0));
}

void concat(Body &body) {
  Random &rng = body.rng;
  Value a;
  if (!body.find([](const Value &v) { return v.rank() > 0 && v.count() <= 2000; }, a))
    return;
  size_t along = size_t(rng.below(a.rank()));
  std::vector<Value> parts{a};
  for (int64_t i = rng.between(1, 2); i > 0; --i) {
    Value b;
    body.find([&](const Value &v) {
      if (v.element != a.element || v.rank() != a.rank())
        return false;
      for (size_t d = 0; d < a.shape.size(); ++d)
        if (d != along && v.shape[d] != a.shape[d])
          return false;
      return v.count() <= 2000;
    },
              b);
    parts.push_back(b);
  }
  Shape shape = a.shape;
  shape[along] = 0;
  std::string names, types;
  double size = 0;
  for (const Value &part : parts) {
    shape[along] += part.shape[along];
    names += (names.empty() ? "" : ", ") + part.name;
    types += (types.empty() ? "" : ", ") + part.type();
    size = std::max(size, part.size);
  }
  body.keep(body.op("tensor.concat dim(" + std::to_string(along) + ") " + names + " : (" + types + ") -> " +
                        typeOf(a.element, shape),
                    a.element, shape, parts, size));
}

// The number of a row of `count`, of any integer.
static Value rowNumber(Body &body, const Value &number, int64_t count) {
  std::string most = body.number(number.element, double(count));
  Value row = body.scalar("arith.remui " + number.name + ", " + most + " : " + number.element, number.element, {number}, 0);
  return body.scalar("arith.index_cast " + row.name + " : " + number.element + " to index", "index", {row}, 0);
}

// Elements of one value at numbers that another one has.
void gather(Body &body) {
  Random &rng = body.rng;
  Value from, at;
  if (!body.find([](const Value &v) { return v.rank() > 0 && v.rank() < 4; }, from) ||
      !body.find([](const Value &v) { return v.rank() > 0 && v.rank() < 3 && (v.element == "i32" || v.element == "i64") && v.count() <= 300; }, at))
    return;
  // Loops: those of the numbers, then the other dimensions of the value.
  int64_t over = rng.below(from.rank()), loops = at.rank() + from.rank() - 1;
  Shape shape = at.shape;
  for (int64_t d = 0; d < from.rank(); ++d)
    if (d != over)
      shape.push_back(from.shape[size_t(d)]);
  if (elements(shape) > kMostElements)
    return;
  Value init = body.empty(from.element, shape);
  auto results = body.generic({{at, mapOf(loops, iota(at.rank()))}},
                              {{init, mapOf(loops, iota(loops))}}, std::string(size_t(loops), 'p'),
                              [&](auto &ins, auto &) {
                                Value row = rowNumber(body, ins[0], from.shape[size_t(over)]);
                                std::string indices;
                                int64_t next = at.rank();
                                for (int64_t d = 0; d < from.rank(); ++d) {
                                  std::string index = row.name;
                                  if (d != over)
                                    index = body.scalar("linalg.index " + std::to_string(next++) + " : index", "index", {}, 0).name;
                                  indices += (d ? ", " : "") + index;
                                }
                                return std::vector<Value>{
                                    body.scalar("tensor.extract " + from.name + "[" + indices +
                                                    "] : " + from.type(),
                                                from.element, {from}, from.size)};
                              });
  body.keep(results[0]);
}

// cs.lookup, or the sum of rows that is its gradient.
void rows(Body &body) {
  bool sums = body.rng.oneIn(2);
  Value ids, value;
  // Whose row is added where a rounding decides, no bound can say.
  if (!body.find([&](const Value &v) {
        return v.rank() == 1 && (v.element == "i32" || v.element == "i64") && !(sums && v.of.rounded);
      },
                 ids))
    return;
  if (!sums) {
    if (!body.find([](const Value &v) { return v.rank() == 2 && v.isFloat() && v.count() <= 2000; },
                   value))
      return;
    Shape shape{ids.shape[0], value.shape[1]};
    body.keep(body.op("cs.lookup " + value.name + ", " + ids.name + " : (" + value.type() + ", " + ids.type() + ") -> " +
                          typeOf(value.element, shape),
                      value.element, shape, {value, ids}, value.size));
    return;
  }
  if (!body.find(
          [&](const Value &v) {
            return v.rank() == 2 && v.isFloat() && v.shape[0] == ids.shape[0];
          },
          value))
    return;
  Shape shape{body.rng.between(2, 9), value.shape[1]};
  body.keep(body.moderate(
      body.op("cs.segment_sum " + ids.name + ", " + value.name + " : (" + ids.type() + ", " +
                  value.type() + ") -> " + typeOf(value.element, shape),
              value.element, shape, {value, ids}, value.size * double(ids.shape[0]))));
}

} // namespace commsched::differential
