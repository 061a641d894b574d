// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn sequences of ops on the rows of a matrix have the bits of the host, whichever of them have become one kernel. Of numbers
// whose sums are exact, with sums of rows; of any numbers with maxima and minima of rows, which have one value in every order.

#include "passes/cuda/Rows.h"
#include "tests/cases.h"
#include "tests/cuda/Fragments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <gtest/gtest.h>

#include <array>
#include <iostream>

using namespace mlir;
using namespace commsched;
using namespace commsched::cudatest;

namespace {

using Form = cudaexport::NestShape::Form;

struct Found {
  size_t launches = 0, ofRows = 0;
  std::string finding;
};

Found runRows(const std::string &program, uint64_t seed, const Fragments::Change &change = {}) {
  Found result;
  Context context;
  OwningOpRef<ModuleOp> module = context.parse(program);
  if (!module) {
    result.finding = context.error;
    return result;
  }
  Fragments fragments(context, *module, change);
  result.finding = fragments.refusal;
  if (!result.finding.empty())
    return result;
  for (const auto &step : fragments.cuda().module.fragments[0].steps)
    if (const auto *launch = std::get_if<plan::CudaLaunch>(&step)) {
      ++result.launches;
      auto shape = fragments.cuda().shapes.find(launch->kernel);
      result.ofRows += shape != fragments.cuda().shapes.end() && shape->second.form == Form::Rows;
    }
  std::mt19937_64 random(seed);
  Buffers inputs;
  for (Type type : fragments.inputs(0))
    inputs.push_back(randomTensor(type, random));
  result.finding = findingOf(fragments, 0, inputs, seed);
  return result;
}

// Values of a x b rows of c columns, of these rows, or of columns, each of a few earlier ones.
class Drawn {
public:
  explicit Drawn(std::mt19937_64 &random) : random(random) {
    a = std::array<int64_t, 6>{1, 2, 3, 5, 8, 16}[below(6)];
    b = below(3) == 0 ? a : std::array<int64_t, 5>{1, 2, 4, 7, 8}[below(5)];
    if (a * b == 1)
      b = 2;
    c = std::array<int64_t, 9>{16, 31, 32, 33, 64, 96, 100, 128, 1024}[below(below(8) ? 8 : 9)];
    exact = below(2);
    element = below(5) == 0 ? "f64" : "f32";
  }

  std::string program() {
    values = {{"%x", Kind::Elements}, {"%y", Kind::Elements}, {"%r", Kind::Rows}, {"%v", Kind::Columns}};
    std::vector<std::string> parameters;
    for (const Value &value : values)
      parameters.push_back(absl::StrCat(value.name, ": ", typeOf(value.kind)));
    if (exact)
      for (Value &value : values) // whole numbers
        value = make(value.kind, {value}, {0});
    int64_t steps = 4 + below(9);
    for (int64_t i = 0; i < steps; ++i)
      step();
    std::vector<std::string> names, types;
    for (size_t i = 4; i < values.size(); ++i)
      if (values[i].there && (below(3) == 0 || i + 1 == values.size())) {
        names.push_back(values[i].name);
        types.push_back(typeOf(values[i].kind));
      }
    return absl::StrCat("func.func @f(", absl::StrJoin(parameters, ", "), ") -> (", absl::StrJoin(types, ", "), ") {\n", text, "  return ",
                        absl::StrJoin(names, ", "), " : ", absl::StrJoin(types, ", "), "\n}\n");
  }

private:
  enum class Kind {
    Elements,
    Rows,
    Columns
  };
  struct Value {
    std::string name;
    Kind kind;
    bool there = true; // not in the memory of another one
  };

  int64_t below(uint64_t count) { return int64_t(random() % count); }

  std::string typeOf(Kind kind) const {
    return kind == Kind::Elements ? absl::StrCat("tensor<", a, "x", b, "x", c, "x", element, ">")
           : kind == Kind::Rows   ? absl::StrCat("tensor<", a, "x", b, "x", element, ">")
                                  : absl::StrCat("tensor<", c, "x", element, ">");
  }
  std::string mapOf(Kind kind, bool swapped) const {
    const char *rows = swapped ? "(j, i" : "(i, j";
    return kind == Kind::Columns ? "affine_map<(i, j, k) -> (k)>"
                                 : absl::StrCat("affine_map<(i, j, k) -> ", rows, kind == Kind::Rows ? ")>" : ", k)>");
  }

  Value *any(bool notOfColumns) {
    while (true) {
      Value &value = values[below(2) ? values.size() - 1 - below(std::min<size_t>(4, values.size())) : below(values.size())];
      if (value.there && !(notOfColumns && value.kind != Kind::Rows))
        return &value;
    }
  }

  void step() {
    if (below(3) == 0) {
      Value *of = any(false);
      if (of->kind == Kind::Elements)
        values.push_back(reduce(*of));
      return;
    }
    Kind kind = below(4) == 0 ? Kind::Rows : Kind::Elements;
    std::vector<Value> inputs;
    std::vector<bool> swapped;
    for (int64_t i = 0, count = 1 + below(3); i < count; ++i) {
      inputs.push_back(*any(kind == Kind::Rows));
      swapped.push_back(a == b && below(5) == 0);
    }
    values.push_back(make(kind, inputs, swapped));
  }

  // In memory that is new, or, if it has been one of many, in that of an input.
  Value make(Kind kind, const std::vector<Value> &inputs, const std::vector<bool> &swapped) {
    std::string n = absl::StrCat(count++), type = typeOf(kind), body, last;
    std::vector<std::string> maps, names, types, arguments;
    for (size_t i = 0; i < inputs.size(); ++i) {
      maps.push_back(mapOf(inputs[i].kind, swapped[i]));
      names.push_back(inputs[i].name);
      types.push_back(typeOf(inputs[i].kind));
      arguments.push_back(absl::StrCat("%a", i, ": ", element));
      std::string term = absl::StrCat("%a", i), p = absl::StrCat("%p", i), q = absl::StrCat("%q", i);
      if (!exact) {
        absl::StrAppend(&body, "    ", p, " = arith.divf ", term, ", %three : ", element, "\n    ", q, " = arith.mulf ", p, ", ", term, " : ", element, "\n");
        term = q;
      }
      if (!last.empty()) {
        const char *op = std::array<const char *, 3>{"addf", "subf", "mulf"}[below(3)];
        absl::StrAppend(&body, "    %s", i, " = arith.", op, " ", last, ", ", term, " : ", element, "\n");
        term = absl::StrCat("%s", i);
      }
      last = term;
    }
    std::string init = absl::StrCat("%e", n);
    auto *old = below(4) == 0 && kind != Kind::Columns ? any(kind == Kind::Rows) : nullptr;
    if (old && old->kind == kind && old->name[1] == 'w' && llvm::none_of(inputs, [&](const Value &v) { return v.name == old->name; })) {
      init = old->name;
      old->there = false;
      absl::StrAppend(&body, "    %t = arith.subf ", last, ", %o : ", element, "\n");
      last = "%t";
    } else {
      absl::StrAppend(&text, "  ", init, " = tensor.empty() : ", type, "\n");
    }
    absl::StrAppend(&text, "  %w", n, " = linalg.generic {indexing_maps = [", absl::StrJoin(maps, ", "), ", ", mapOf(kind, false),
                    "], iterator_types = [\"parallel\", \"parallel\"", kind == Kind::Rows ? "" : ", \"parallel\"", "]} ins(", absl::StrJoin(names, ", "),
                    " : ", absl::StrJoin(types, ", "), ") outs(", init, " : ", type, ") {\n  ^bb0(", absl::StrJoin(arguments, ", "), ", %o: ",
                    element, "):\n    %three = arith.constant 3.0 : ", element, "\n", body, bounded(last), "    linalg.yield %z : ", element,
                    "\n  } -> ", type, "\n");
    // Maps of two loops only.
    if (kind == Kind::Rows) {
      size_t at = text.rfind("  %w" + n);
      for (size_t from; (from = text.find("(i, j, k) ->", at)) != std::string::npos;)
        text.replace(from, 12, "(i, j) ->");
    }
    if (kind == Kind::Columns) {
      size_t at = text.rfind("  %w" + n);
      for (size_t from; (from = text.find("(i, j, k) ->", at)) != std::string::npos;)
        text.replace(from, 12, "(k) ->");
      text.replace(text.find("[\"parallel\", \"parallel\", \"parallel\"]", at), 36, "[\"parallel\"]");
    }
    return {"%w" + n, kind};
  }

  // Whole numbers of at most eight, so that sums are exact; not cheap, so that it is not computed again by whoever needs it.
  std::string bounded(const std::string &value) const {
    if (!exact)
      return absl::StrCat("    %c1 = arith.constant 1.5 : ", element, "\n    %z0 = arith.divf ", value, ", %c1 : ", element,
                          "\n    %z = arith.mulf %z0, %c1 : ", element, "\n");
    return absl::StrCat("    %c2 = arith.constant 2.0 : ", element, "\n    %c8 = arith.constant 8.0 : ", element, "\n    %m8 = arith.constant -8.0 : ",
                        element, "\n    %d0 = arith.divf ", value, ", %c2 : ", element, "\n    %d1 = arith.mulf %d0, %c2 : ", element,
                        "\n    %z0 = arith.minimumf %d1, %c8 : ", element, "\n    %z1 = arith.maximumf %z0, %m8 : ", element,
                        "\n    %z2 = arith.fptosi %z1 : ", element, " to i32\n    %z = arith.sitofp %z2 : i32 to ", element, "\n");
  }

  Value reduce(const Value &of) {
    std::string n = absl::StrCat(count++), type = typeOf(Kind::Rows);
    const char *op = exact ? std::array<const char *, 2>{"addf", "maximumf"}[below(2)] : std::array<const char *, 2>{"minimumf", "maximumf"}[below(2)];
    absl::StrAppend(&text, "  %n", n, " = arith.constant ", op[0] == 'a' ? "0.5" : op[1] == 'i' ? "7.0"
                                                                                                : "-3.0",
                    " : ", element, "\n  %e", n, " = tensor.empty() : ", type, "\n  %i", n, " = linalg.fill ins(%n", n, " : ", element, ") outs(%e", n,
                    " : ", type, ") -> ", type, "\n  %w", n, " = linalg.generic {indexing_maps = [", mapOf(Kind::Elements, a == b && below(6) == 0),
                    ", affine_map<(i, j, k) -> (i, j)>], iterator_types = [\"parallel\", \"parallel\", \"reduction\"]} ins(", of.name, " : ",
                    typeOf(Kind::Elements), ") outs(%i", n, " : ", type, ") {\n  ^bb0(%a: ", element, ", %o: ", element, "):\n    %z = arith.", op,
                    " %o, %a : ", element, "\n    linalg.yield %z : ", element, "\n  } -> ", type, "\n");
    if (!exact)
      return {"%w" + n, Kind::Rows};
    return make(Kind::Rows, {{"%w" + n, Kind::Rows}}, {false});
  }

  std::mt19937_64 &random;
  int64_t a, b, c;
  bool exact;
  std::string element, text;
  std::vector<Value> values;
  int64_t count = 0;
};

TEST(Rows, HaveTheBitsOfTheHost) {
  size_t launches = 0, ofRows = 0;
  Cases cases = casesOf(150);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    std::string program = Drawn(random).program();
    Found found = runRows(program, seed);
    EXPECT_EQ(found.finding, "") << "seed " << seed << "\n"
                                 << program;
    launches += found.launches;
    ofRows += found.ofRows;
  }
  std::cout << launches << " launches, " << ofRows << " of rows\n";
  EXPECT_GT(ofRows, cases.count() / 3);
}

// Softmax of rows, whose second value is returned, too.
std::string softmaxOf(int64_t rows, int64_t columns, const std::string &map = "(i, k)") {
  std::string matrix = absl::StrCat("tensor<", rows, "x", columns, "xf32>"), vector = absl::StrCat("tensor<", rows, "xf32>");
  std::string reduction = absl::StrCat(
      "linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>], iterator_types = [\"parallel\", \"reduction\"]}");
  std::string body = absl::StrCat(" {\n  ^bb0(%a: f32, %o: f32):\n    %c = arith.OP %o, %a : f32\n    linalg.yield %c : f32\n  } -> ", vector, "\n");
  auto reduce = [&](const char *name, const char *of, const char *init, const char *op) {
    std::string own = body;
    own.replace(own.find("OP"), 2, op);
    return absl::StrCat("  ", name, " = ", reduction, " ins(", of, " : ", matrix, ") outs(", init, " : ", vector, ")", own);
  };
  std::string two = absl::StrCat("linalg.generic {indexing_maps = [affine_map<(i, k) -> ", map, ">, affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i, k)>], "
                                                                                                "iterator_types = [\"parallel\", \"parallel\"]} ins(");
  return absl::StrCat("func.func @f(%x: ", matrix, ") -> (", matrix, ", ", vector, ") {\n  %z = arith.constant 0.0 : f32\n  %l = arith.constant -1.0e30 : f32\n  %ev = tensor.empty() : ",
                      vector, "\n  %em = tensor.empty() : ", matrix, "\n  %i0 = linalg.fill ins(%l : f32) outs(%ev : ", vector, ") -> ", vector,
                      "\n  %i1 = linalg.fill ins(%z : f32) outs(%ev : ", vector, ") -> ", vector, "\n", reduce("%max", "%x", "%i0", "maximumf"),
                      "  %e = ", two, "%x, %max : ", matrix, ", ", vector, ") outs(%em : ", matrix,
                      ") {\n  ^bb0(%a: f32, %m: f32, %o: f32):\n    %d = arith.subf %a, %m : f32\n    %v = math.exp %d : f32\n    linalg.yield %v : f32\n  } -> ",
                      matrix, "\n", reduce("%sum", "%e", "%i1", "addf"), "  %y = ", two, "%e, %sum : ", matrix, ", ", vector, ") outs(%em : ", matrix,
                      ") {\n  ^bb0(%a: f32, %m: f32, %o: f32):\n    %v = arith.divf %a, %m : f32\n    linalg.yield %v : f32\n  } -> ", matrix,
                      "\n  return %y, %sum : ", matrix, ", ", vector, "\n}\n");
}

// What is in no memory but registers: nothing of the exponentials is written.
TEST(Rows, ASoftmaxIsOneLaunch) {
  Context context;
  OwningOpRef<ModuleOp> module = context.parse(softmaxOf(48, 70));
  ASSERT_TRUE(module) << context.error;
  Fragments fragments(context, *module);
  ASSERT_EQ(fragments.refusal, "");
  const plan::CudaFragment &fragment = fragments.cuda().module.fragments[0];
  ASSERT_EQ(fragment.steps.size(), 1u);
  EXPECT_EQ(fragment.scratch_bytes, 0u);
  std::mt19937_64 random(1);
  Buffers inputs{randomTensor(fragments.inputs(0)[0], random)};
  EXPECT_EQ(findingOf(fragments, 0, inputs, 1, 1e-6), "");
}

// The second op of a row reads what threads of another one have written.
TEST(Rows, AreThoseThatNeedTheirOwnRowOnly) {
  Found found = runRows(softmaxOf(64, 64, "(k, i)"), 1);
  EXPECT_EQ(found.launches, 2u);
  EXPECT_EQ(found.ofRows, 1u);
}

const std::string &planted() {
  static const std::string program = [] {
    std::mt19937_64 random(0);
    std::string drawn;
    // One kernel of rows with a sum, a maximum, and more behind these.
    for (uint32_t seed = 0;; ++seed) {
      random.seed(seed);
      drawn = Drawn(random).program();
      if (absl::StrContains(drawn, "addf %o") && absl::StrContains(drawn, "maximumf %o") && runRows(drawn, 1).ofRows == 1)
        return drawn;
    }
  }();
  return program;
}

LLVM::LLVMFuncOp kernelOfRows(ModuleOp kernels, const cudaexport::CompiledCuda &compiled) {
  for (const auto &[symbol, shape] : compiled.shapes)
    if (shape.form == Form::Rows)
      return kernels.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  return {};
}

TEST(RowFaults, NothingIsFoundWhereNothingIsWrong) { EXPECT_EQ(runRows(planted(), 1).finding, ""); }

TEST(RowFaults, ASumThatOnlyItsFirstLaneKnowsIsFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &compiled) {
    SmallVector<LLVM::CallOp> calls;
    kernelOfRows(kernels, compiled).walk([&](LLVM::CallOp call) {
      if (call.getCallee() && call.getCallee()->starts_with(cudaexport::kFirst))
        calls.push_back(call);
    });
    EXPECT_FALSE(calls.empty());
    for (LLVM::CallOp call : calls) {
      call.getResult().replaceAllUsesWith(call.getOperand(0));
      call.erase();
    }
  };
  EXPECT_NE(runRows(softmaxOf(48, 70), 1, change).finding, "");
}

TEST(RowFaults, ARowOfAnotherWarpIsFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &compiled) {
    size_t changed = 0;
    kernelOfRows(kernels, compiled).walk([&](LLVM::UDivOp op) {
      auto by = op.getRhs().getDefiningOp<LLVM::ConstantOp>();
      if (changed || !by || cast<IntegerAttr>(by.getValue()).getInt() != 32)
        return;
      OpBuilder builder(op);
      op.getResult().replaceAllUsesWith(LLVM::ConstantOp::create(builder, op.getLoc(), builder.getI32IntegerAttr(0)).getResult());
      ++changed;
    });
    EXPECT_EQ(changed, 1u);
  };
  EXPECT_NE(runRows(softmaxOf(48, 70), 1, change).finding, "");
}

TEST(RowFaults, AColumnBehindTheLastThatIsAddedIsFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &compiled) {
    size_t changed = 0;
    kernelOfRows(kernels, compiled).walk([&](LLVM::ICmpOp op) {
      auto by = op.getRhs().getDefiningOp<LLVM::ConstantOp>();
      if (!by || cast<IntegerAttr>(by.getValue()).getInt() != 70)
        return;
      OpBuilder builder(op);
      op.getRhsMutable().assign(LLVM::ConstantOp::create(builder, op.getLoc(), builder.getI32IntegerAttr(71)));
      ++changed;
    });
    EXPECT_GT(changed, 0u);
  };
  EXPECT_NE(runRows(softmaxOf(48, 70), 1, change).finding, "");
}

} // namespace
