// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/passes/insert/RandomUpdates.h"

#include <random>
#include <vector>

namespace commsched::testing {
namespace {

/// Values of one parameter: of its shape, of its rows; and of the run.
struct Pools {
  std::string full, row; // types
  std::vector<std::string> fulls, rows;
};

class Writer {
public:
  Writer(unsigned seed, bool tables) : random(seed), tables(tables) {}
  std::string write();

private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random() % n); }
  const std::string &pick(const std::vector<std::string> &values) {
    // Mostly recent values, so that there are chains.
    size_t n = values.size();
    return values[below(2) ? below(n) : n - 1 - below(std::min<size_t>(n, 3))];
  }
  std::string emit(const std::string &text) {
    std::string name = "%v" + std::to_string(number++);
    body += "  " + name + " = " + text + "\n";
    return name;
  }
  std::string binary(const std::string &a, const std::string &b,
                     const std::string &type) {
    const char *names[] = {"addf", "subf", "mulf"};
    return emit(std::string("arith.") + names[below(3)] + " " + a + ", " + b +
                " : " + type);
  }
  std::string tame(const std::string &value, const std::string &type) {
    return emit("math.tanh " + value + " : " + type);
  }
  std::string empty(const std::string &type) {
    return emit("tensor.empty() : " + type);
  }
  std::string zeros(const std::string &type) {
    std::string zero = emit("arith.constant 0.0 : f32");
    std::string init = empty(type);
    return emit("linalg.fill ins(" + zero + " : f32) outs(" + init + " : " +
                type + ") -> " + type);
  }
  std::string reduce(const std::string &value, const std::string &from,
                     const std::string &to, const std::string &dimensions) {
    std::string init = zeros(to);
    return emit("linalg.reduce ins(" + value + " : " + from + ") outs(" + init +
                " : " + to + ") dimensions = [" + dimensions +
                "] (%p: f32, %q: f32) { %s = arith.addf %p, %q : f32 "
                "linalg.yield %s : f32 }");
  }
  void argument(const std::string &name, const std::string &type,
                const std::string &kind) {
    arguments += (arguments.empty() ? "" : ", ") + ("%" + name) + ": " + type +
                 " {cs." + kind + " = \"" + name + "\"" +
                 (tables && kind == "param" ? ", cs.row_sparse" : "") + "}";
  }
  void result(const std::string &value, const std::string &type,
              const std::string &attribute) {
    results += (results.empty() ? "" : ", ") + type + " {" + attribute + "}";
    returned += (returned.empty() ? "" : ", ") + value;
    types += (types.empty() ? "" : ", ") + type;
  }
  void grow(Pools &pools);
  void growScalars();
  std::string constant(const Pools &pools);

  static constexpr const char *kScalar = "tensor<f32>";
  std::mt19937 random;
  bool tables;
  std::string body, arguments, results, returned, types;
  unsigned number = 0;
  int64_t columns = 0, rowCount = 0;
  std::vector<std::string> scalars;
};

std::string Writer::constant(const Pools &pools) {
  std::string values;
  for (int64_t i = 0; i < rowCount; ++i)
    values += (i ? ", 0." : "0.") + std::to_string(1 + below(9));
  return emit("arith.constant dense<[" + values + "]> : " + pools.row);
}

void Writer::growScalars() {
  switch (below(3)) {
  case 0:
    scalars.push_back(binary(pick(scalars), pick(scalars), kScalar));
    return;
  case 1:
    scalars.push_back(tame(pick(scalars), kScalar));
    return;
  default:
    scalars.push_back(emit("arith.constant dense<0.5> : tensor<f32>"));
  }
}

/// One more value of any kind.
void Writer::grow(Pools &pools) {
  unsigned kind = below(42);
  if (kind < 12) {
    pools.fulls.push_back(
        binary(pick(pools.fulls), pick(pools.fulls), pools.full));
  } else if (kind < 16) {
    pools.fulls.push_back(tame(pick(pools.fulls), pools.full));
  } else if (kind < 20) {
    pools.rows.push_back(binary(pick(pools.rows), pick(pools.rows), pools.row));
  } else if (kind < 23) {
    std::string init = empty(pools.full);
    pools.fulls.push_back(emit(
        "linalg.broadcast ins(" + pick(pools.rows) + " : " + pools.row +
        ") outs(" + init + " : " + pools.full + ") dimensions = [1]"));
  } else if (kind < 26) {
    pools.rows.push_back(reduce(pick(pools.fulls), pools.full, pools.row, "1"));
  } else if (kind < 30) {
    std::string element =
        emit("tensor.extract " + pick(scalars) + "[] : tensor<f32>");
    pools.fulls.push_back(
        emit("tensor.splat " + element + " : " + pools.full));
  } else if (kind < 33) {
    pools.rows.push_back(constant(pools));
  } else if (kind < 35) {
    std::string longer = "tensor<" + std::to_string(rowCount) + "x1xf32>";
    std::string wide = emit("tensor.expand_shape " + pick(pools.rows) +
                            " [[0, 1]] output_shape [" +
                            std::to_string(rowCount) + ", 1] : " + pools.row +
                            " into " + longer);
    std::string tamed = tame(wide, longer);
    pools.rows.push_back(emit("tensor.collapse_shape " + tamed +
                              " [[0, 1]] : " + longer + " into " + pools.row));
  } else if (kind < 38) {
    growScalars();
  } else if (kind == 38 || kind >= 40) {
    // A norm over all rows.
    scalars.push_back(
        tame(reduce(pick(pools.fulls), pools.full, kScalar, "0, 1"), kScalar));
  } else if (kind == 39 && below(2)) {
    // Rows are counted.
    std::string init = empty(pools.row);
    pools.rows.push_back(emit(
        "linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], "
        "iterator_types = [\"parallel\"]} outs(" +
        init + " : " + pools.row +
        ") { ^bb0(%o: f32): %i = linalg.index 0 : index %j = arith.index_cast "
        "%i : index to i32 %k = arith.sitofp %j : i32 to f32 linalg.yield %k : "
        "f32 } -> " +
        pools.row));
  }
}

std::string Writer::write() {
  unsigned params = 1 + below(3);
  argument("count", kScalar, "state");
  argument("rate", kScalar, "state");
  scalars = {"%count", "%rate"};
  std::vector<std::string> gradients;
  std::vector<Pools> all;
  rowCount = 2 + below(6);
  columns = 1 + below(4);
  std::string rows = std::to_string(rowCount), cols = std::to_string(columns);
  std::string full = "tensor<" + rows + "x" + cols + "xf32>";
  std::string part = full, ids;
  if (tables) {
    std::string read = std::to_string(1 + below(5));
    part = "tensor<" + read + "x" + cols + "xf32>";
    ids = "tensor<" + read + "xi32>";
  }
  for (unsigned i = 0; i < params; ++i) {
    std::string n = std::to_string(i);
    Pools &pools = all.emplace_back();
    pools.full = full;
    pools.row = "tensor<" + rows + "xf32>";
    pools.fulls = {"%w" + n, "%m" + n, "%mask" + n};
    pools.rows = {"%r" + n};
    argument("w" + n, full, "param");
    argument("m" + n, full, "state");
    argument("mask" + n, full, "state");
    argument("r" + n, pools.row, "state");
    argument("x" + n, part, "batch");
    std::string w = "%w" + n;
    if (tables) {
      argument("ids" + n, ids, "batch");
      w = emit("cs.lookup " + w + ", %ids" + n + " : (" + full + ", " + ids +
               ") -> " + part);
    }
    std::string g = emit("arith.mulf " + w + ", %x" + n + " : " + part);
    // Trainers read what goes on by itself, too.
    if (below(3) == 0) {
      std::string k = emit("tensor.extract %count[] : tensor<f32>");
      g = emit("arith.addf " + g + ", " +
               emit("tensor.splat " + k + " : " + part) + " : " + part);
    }
    g = tame(g, part);
    if (tables)
      g = emit("cs.segment_sum %ids" + n + ", " + g + " : (" + ids + ", " +
               part + ") -> " + full);
    gradients.push_back(
        emit("cs.gradient " + g + " of \"w" + n + "\" : " + full));
  }
  std::string metric = tame(below(2) || tables ? "%x0" : "%w0", part);
  // Some values that depend on no gradient.
  for (unsigned i = 0, n = below(6); i < n; ++i)
    growScalars();
  std::string count = tame(pick(scalars), kScalar);
  for (unsigned i = 0; i < params; ++i) {
    Pools &pools = all[i];
    std::string n = std::to_string(i);
    // Values of one parameter seldom serve another.
    size_t shared = scalars.size();
    pools.fulls.push_back(gradients[i]);
    if (!tables && i > 0 && below(3) == 0)
      pools.fulls.push_back(binary(gradients[i - 1], gradients[i], full));
    for (unsigned j = 0, steps = 2 + below(12); j < steps; ++j)
      grow(pools);
    std::string step = binary(pick(pools.fulls), gradients[i], full);
    std::string w = tame(binary("%w" + n, step, full), full);
    result(w, full, "cs.updates = \"w" + n + "\"");
    result(tame(pick(pools.fulls), full), full, "cs.updates = \"m" + n + "\"");
    if (below(2))
      result(tame(pick(pools.rows), pools.row), pools.row,
             "cs.updates = \"r" + n + "\"");
    if (below(2))
      scalars.resize(shared);
  }
  result(count, kScalar, "cs.updates = \"count\"");
  result(metric, part, "cs.metric = \"seen\"");
  return "func.func @step(" + arguments + ") -> (" + results +
         ") attributes {cs.step} {\n" + body + "  return " + returned + " : " +
         types + "\n}\n";
}

} // namespace

std::string randomUpdates(unsigned seed, bool tables) {
  return Writer(seed, tables).write();
}

} // namespace commsched::testing
