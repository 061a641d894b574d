// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn sequences of elementwise nests have the bits of the host, whichever of their launches have become one;
// and so have reductions that begin with a number.

#include "passes/cuda/MergeLaunches.h"
#include "tests/cases.h"
#include "tests/cuda/Fragments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iostream>

using namespace mlir;
using namespace commsched;
using namespace commsched::cudatest;

namespace {

// The pointer behind parts and descriptors of memory.
Value baseOf(Value at) {
  while (Operation *def = at.getDefiningOp()) {
    if (auto part = dyn_cast<LLVM::GEPOp>(def)) {
      at = part.getBase();
      continue;
    }
    auto field = dyn_cast<LLVM::ExtractValueOp>(def);
    if (!field)
      break;
    auto made = field.getContainer().getDefiningOp<LLVM::InsertValueOp>();
    while (made && made.getPosition() != field.getPosition())
      made = made.getContainer().getDefiningOp<LLVM::InsertValueOp>();
    if (!made)
      break;
    at = made.getValue();
  }
  return at;
}

// Into which parameters a kernel writes.
llvm::DenseSet<unsigned> writtenBy(LLVM::LLVMFuncOp kernel) {
  llvm::DenseSet<unsigned> written;
  kernel.walk([&](LLVM::StoreOp store) {
    Value at = baseOf(store.getAddr());
    EXPECT_TRUE(isa<BlockArgument>(at));
    if (auto argument = dyn_cast<BlockArgument>(at))
      written.insert(argument.getArgNumber());
  });
  return written;
}

// Of launches: a parameter that is said to be nobody else's, and is not.
std::string aliasOf(ModuleOp kernels, const cudaexport::CompiledCuda &compiled) {
  SymbolTable symbols(kernels);
  for (const plan::CudaFragment &fragment : compiled.module.fragments)
    for (const auto &step : fragment.steps) {
      const auto *launch = std::get_if<plan::CudaLaunch>(&step);
      if (!launch)
        continue;
      auto kernel = symbols.lookup<LLVM::LLVMFuncOp>(launch->kernel);
      llvm::DenseSet<unsigned> written = writtenBy(kernel);
      for (unsigned i = 0; i < launch->arguments.size(); ++i)
        for (unsigned j = 0; j < launch->arguments.size(); ++j)
          if (i != j && launch->arguments[i] == launch->arguments[j] && (written.contains(i) || written.contains(j)) &&
              kernel.getArgAttr(i, "llvm.noalias"))
            return absl::StrCat("parameters ", i, " and ", j, " of ", launch->kernel, " are the same memory");
    }
  return "";
}

struct Sequence {
  size_t launches = 0, merged = 0, shared = 0; // of several nests; with memory that is several parameters
  std::string finding;
};

Sequence runSequence(const std::string &program, uint64_t seed, const Fragments::Change &change = {}) {
  Sequence result;
  Context context;
  OwningOpRef<ModuleOp> module = context.parse(program);
  if (!module) {
    result.finding = context.error;
    return result;
  }
  std::string alias;
  Fragments fragments(context, *module, [&](ModuleOp kernels, cudaexport::CompiledCuda &compiled) {
    if (change)
      change(kernels, compiled);
    alias = aliasOf(kernels, compiled);
    for (auto kernel : kernels.getOps<LLVM::LLVMFuncOp>())
      for (unsigned i = 0; i < kernel.getNumArguments() && kernel.getName().contains("_and_"); ++i)
        if (!kernel.getArgAttr(i, "llvm.noalias")) {
          ++result.shared;
          break;
        }
  });
  result.finding = fragments.refusal.empty() ? alias : fragments.refusal;
  if (!result.finding.empty())
    return result;
  for (const auto &step : fragments.cuda().module.fragments[0].steps)
    if (const auto *launch = std::get_if<plan::CudaLaunch>(&step)) {
      ++result.launches;
      result.merged += absl::StrContains(launch->kernel, "_and_");
    }
  std::mt19937_64 random(seed);
  Buffers inputs;
  for (Type type : fragments.inputs(0)) {
    inputs.push_back(randomTensor(type, random));
  }
  result.finding = findingOf(fragments, 0, inputs, seed);
  return result;
}

// Values of one shape, or flat, each of a few earlier ones: element by element, transposed, of other elements, by rows.
std::string drawSequence(std::mt19937_64 &random) {
  auto below = [&](uint64_t count) { return int64_t(random() % count); };
  int64_t size = std::array<int64_t, 6>{1, 2, 5, 16, 17, 23}[below(6)];
  struct Value {
    std::string name, element;
    bool flat;
  };
  const std::array<const char *, 7> elements{"f32", "f32", "f64", "f16", "i8", "i32", "i64"};
  auto typeOf = [&](const Value &v) {
    return v.flat ? absl::StrCat("tensor<", size * size, "x", v.element, ">")
                  : absl::StrCat("tensor<", size, "x", size, "x", v.element, ">");
  };
  std::vector<Value> values;
  std::string text;
  std::vector<std::string> parameters{absl::StrCat("%row: tensor<", size, "xf32>")};
  for (int i = 0; i < 3; ++i) {
    values.push_back({absl::StrCat("%in", i), i == 2 ? "i32" : "f32", false});
    parameters.push_back(values.back().name + ": " + typeOf(values.back()));
  }
  int64_t steps = 3 + below(7);
  std::vector<Value> results;
  for (int64_t step = 0; step < steps; ++step) {
    Value made{absl::StrCat("%v", step), elements[below(elements.size())], below(5) == 0};
    bool isFloat = made.element[0] == 'f';
    std::string rank = made.flat ? "(i)" : "(i, j)", body, last;
    std::vector<std::string> maps, names, types, arguments;
    for (int64_t input = 0, inputs = 1 + below(3); input < inputs; ++input) {
      // The last ones more often.
      Value &from = values[below(2) ? values.size() - 1 - below(std::min<size_t>(3, values.size())) : below(values.size())];
      if (from.flat != made.flat) {
        Value other{absl::StrCat(from.name, "_", step, "_", input), from.element, made.flat};
        absl::StrAppend(&text, "  ", other.name, made.flat ? " = tensor.collapse_shape " : " = tensor.expand_shape ", from.name, " [[0, 1]]",
                        made.flat ? "" : absl::StrCat(" output_shape [", size, ", ", size, "]"), " : ", typeOf(from), " into ", typeOf(other), "\n");
        from = other;
      }
      std::string element = from.element, value = absl::StrCat("%a", input);
      if (below(6) == 0) {
        // Another element's value, which is looked up.
        std::string n = absl::StrCat(input);
        absl::StrAppend(&body, "    %x", n, " = linalg.index 0 : index\n    %o", n, " = arith.constant 1 : index\n    %y", n, " = arith.addi %x",
                        n, ", %o", n, " : index\n    %s", n, " = arith.constant ", made.flat ? size * size : size, " : index\n    %z", n,
                        " = arith.remui %y", n, ", %s", n, " : index\n",
                        made.flat ? "" : "    %w" + n + " = linalg.index 1 : index\n", "    %g", n, " = tensor.extract ", from.name, "[%z", n,
                        made.flat ? "" : ", %w" + n, "] : ", typeOf(from), "\n");
        value = "%g" + n;
      } else {
        maps.push_back(absl::StrCat("affine_map<", rank, " -> ", made.flat ? "(i)" : below(4) == 0 ? "(j, i)"
                                                                                                   : "(i, j)",
                                    ">"));
        names.push_back(from.name);
        types.push_back(typeOf(from));
        arguments.push_back(value + ": " + element);
      }
      // As f32.
      std::string as = absl::StrCat("%f", input);
      const char *cast = element == "f64" ? "truncf" : element == "f16" ? "extf"
                                                   : element[0] == 'i'  ? "sitofp"
                                                                        : nullptr;
      if (cast)
        absl::StrAppend(&body, "    ", as, " = arith.", cast, " ", value, " : ", element, " to f32\n");
      else
        as = value;
      // Not cheap, so that it is not computed again by whoever needs it.
      absl::StrAppend(&body, "    %c", input, " = arith.constant 1.5 : f32\n    %m", input, " = arith.mulf ", as, ", ", as, " : f32\n    %p", input,
                      " = arith.addf %m", input, ", %c", input, " : f32\n    %d", input, " = arith.divf ", as, ", %p", input, " : f32\n");
      std::string term = absl::StrCat("%d", input);
      if (!last.empty()) {
        absl::StrAppend(&body, "    %t", input, " = arith.mulf ", last, ", %c", input, " : f32\n    %u", input, " = arith.subf %t", input, ", ", term,
                        " : f32\n");
        term = absl::StrCat("%u", input);
      }
      last = term;
    }
    if (!made.flat && below(4) == 0) {
      maps.push_back("affine_map<(i, j) -> (j)>");
      names.push_back("%row");
      types.push_back(absl::StrCat("tensor<", size, "xf32>"));
      arguments.push_back("%r: f32");
      absl::StrAppend(&body, "    %q = arith.addf ", last, ", %r : f32\n");
      last = "%q";
    }
    if (!isFloat)
      absl::StrAppend(&body, "    %k = arith.constant 20.0 : f32\n    %l = arith.mulf ", last, ", %k : f32\n    %e = arith.fptosi %l : f32 to ",
                      made.element, "\n");
    else if (made.element != "f32")
      absl::StrAppend(&body, "    %e = arith.", made.element == "f64" ? "extf " : "truncf ", last, " : f32 to ", made.element, "\n");
    std::string type = typeOf(made), yielded = made.element == "f32" ? last : "%e";
    // What is written may lie transposed.
    maps.push_back(absl::StrCat("affine_map<", rank, " -> ", made.flat ? "(i)" : below(6) == 0 ? "(j, i)"
                                                                                               : "(i, j)",
                                ">"));
    std::vector<std::string> parallel(made.flat ? 1 : 2, "\"parallel\"");
    absl::StrAppend(&text, "  %empty", step, " = tensor.empty() : ", type, "\n  ", made.name, " = linalg.generic {indexing_maps = [", absl::StrJoin(maps, ", "),
                    "], iterator_types = [", absl::StrJoin(parallel, ", "), "]}",
                    names.empty() ? "" : absl::StrCat(" ins(", absl::StrJoin(names, ", "), " : ", absl::StrJoin(types, ", "), ")"), " outs(%empty", step, " : ",
                    type, ") {\n  ^bb0(", absl::StrJoin(arguments, ", "), arguments.empty() ? "" : ", ", "%out: ", made.element, "):\n", body,
                    "    linalg.yield ", yielded, " : ", made.element, "\n  } -> ", type, "\n");
    values.push_back(made);
    if (below(3) == 0 || step + 1 == steps)
      results.push_back(made);
  }
  std::vector<std::string> names, types;
  for (const Value &value : results) {
    names.push_back(value.name);
    types.push_back(typeOf(value));
  }
  return absl::StrCat("func.func @f(", absl::StrJoin(parameters, ", "), ") -> (", absl::StrJoin(types, ", "), ") {\n", text, "  return ",
                      absl::StrJoin(names, ", "), " : ", absl::StrJoin(types, ", "), "\n}\n");
}

TEST(MergedLaunches, HaveTheBitsOfTheHost) {
  size_t launches = 0, merged = 0, shared = 0;
  Cases cases = casesOf(150);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    std::string program = drawSequence(random);
    Sequence found = runSequence(program, seed);
    EXPECT_EQ(found.finding, "") << "seed " << seed << "\n"
                                 << program;
    launches += found.launches;
    merged += found.merged;
    shared += found.shared;
  }
  std::cout << launches << " launches, " << merged << " of several nests, " << shared
            << " with memory that is several parameters\n";
  EXPECT_GT(merged, cases.count() / 4);
}

// Three values of %x, each needed twice; `map` is how the second reads the first.
std::string chainOf(const std::string &map) {
  std::string generic = R"(linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins()";
  std::string body = R"( : tensor<20x20xf32>) outs(%e : tensor<20x20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.exp %a : f32
    linalg.yield %m : f32
  } -> tensor<20x20xf32>
)";
  std::string second = generic;
  second.replace(second.find("(i, j)>,"), 6, map);
  return "func.func @f(%x: tensor<20x20xf32>) -> (tensor<20x20xf32>, tensor<20x20xf32>, tensor<20x20xf32>) {\n"
         "  %e = tensor.empty() : tensor<20x20xf32>\n  %p = " +
         generic + "%x" + body + "  %q = " + second + "%p" + body + "  %r = " + generic + "%q" + body +
         "  return %p, %q, %r : tensor<20x20xf32>, tensor<20x20xf32>, tensor<20x20xf32>\n}\n";
}

TEST(MergedLaunches, AreThoseThatNeedTheirOwnElementsOnly) {
  Sequence own = runSequence(chainOf("(i, j)"), 1), transposed = runSequence(chainOf("(j, i)"), 1);
  EXPECT_EQ(own.finding, "");
  EXPECT_EQ(own.launches, 1u);
  EXPECT_EQ(transposed.finding, "");
  EXPECT_EQ(transposed.launches, 2u);
}

// One of another size in between is beside them, or behind both if it needs the first, or beside the first if the second needs it.
std::string passingOf(bool reads, bool isRead) {
  std::string program = R"(
#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#v = affine_map<(i) -> (i)>
func.func @f(%x: tensor<20x20xf32>, %y: tensor<20xf32>, %z: tensor<20x20xf32>) -> (tensor<20x20xf32>, tensor<20xf32>, tensor<20x20xf32>) {
  %e = tensor.empty() : tensor<20x20xf32>
  %f = tensor.empty() : tensor<20xf32>
  %p = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<20x20xf32>) outs(%e : tensor<20x20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.exp %a : f32
    linalg.yield %m : f32
  } -> tensor<20x20xf32>
  %s = tensor.extract_slice %p[0, 0] [20, 1] [1, 1] : tensor<20x20xf32> to tensor<20xf32>
  %q = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel"]} ins(FIRST : tensor<20xf32>) outs(%f : tensor<20xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = math.exp %a : f32
    linalg.yield %m : f32
  } -> tensor<20xf32>
  %t = linalg.generic {indexing_maps = [#m, #r, #m], iterator_types = ["parallel", "parallel"]} ins(%z, SECOND : tensor<20x20xf32>, tensor<20xf32>)
      outs(%e : tensor<20x20xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = math.exp %a : f32
    %n = arith.addf %m, %b : f32
    linalg.yield %n : f32
  } -> tensor<20x20xf32>
  return %p, %q, %t : tensor<20x20xf32>, tensor<20xf32>, tensor<20x20xf32>
})";
  program.replace(program.find("FIRST"), 5, reads ? "%s" : "%y");
  return program.replace(program.find("SECOND"), 6, isRead ? "%q" : "%y");
}

TEST(MergedLaunches, PassThoseThatHaveNothingToDoWithThem) {
  for (bool reads : {false, true})
    for (bool isRead : {false, true}) {
      Sequence found = runSequence(passingOf(reads, isRead), 1);
      EXPECT_EQ(found.finding, "");
      EXPECT_EQ(found.launches, 1u + reads + isRead) << reads << isRead;
    }
}

// As many launches as there are updates of parameters of several sizes, most of which have nothing to do with each other.
std::string drawUpdates(std::mt19937_64 &random) {
  auto below = [&](uint64_t count) { return int64_t(random() % count); };
  std::vector<std::string> parameters, names, types;
  std::vector<int64_t> sizes;
  std::string text;
  for (int64_t i = 0, count = 2 + below(24); i < count; ++i) {
    // Of 300, two blocks.
    sizes.push_back(std::array<int64_t, 5>{1, 7, 256, 300, 513}[below(5)]);
    std::string type = absl::StrCat("tensor<", sizes.back(), "xf32>");
    parameters.push_back(absl::StrCat("%p", i, ": ", type));
    // What an earlier one has made, if it is of this size.
    std::string other = absl::StrCat("%p", i);
    for (int64_t j = i - 1; j >= 0 && below(3) == 0; --j)
      if (sizes[j] == sizes[i])
        other = absl::StrCat("%r", j);
    absl::StrAppend(&text, "  %e", i, " = tensor.empty() : ", type, "\n  %r", i,
                    " = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = "
                    "[\"parallel\"]} ins(%p",
                    i, ", ", other, " : ", type, ", ", type, ") outs(%e", i, " : ", type,
                    ") {\n  ^bb0(%a: f32, %b: f32, %o: f32):\n    %m = math.exp %a : f32\n    %c = arith.constant ", 1 + below(3),
                    ".5 : f32\n    %n = arith.mulf %b, %c : f32\n    %s = arith.addf %m, %n : f32\n    linalg.yield %s : f32\n  } -> ", type, "\n");
    names.push_back(absl::StrCat("%r", i));
    types.push_back(type);
  }
  return absl::StrCat("func.func @f(", absl::StrJoin(parameters, ", "), ") -> (", absl::StrJoin(types, ", "), ") {\n", text, "  return ",
                      absl::StrJoin(names, ", "), " : ", absl::StrJoin(types, ", "), "\n}\n");
}

TEST(MergedLaunches, OfUpdatesHaveTheBitsOfTheHost) {
  size_t launches = 0;
  Cases cases = casesOf(60);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937_64 random(seed);
    std::string program = drawUpdates(random);
    Sequence found = runSequence(program, seed);
    EXPECT_EQ(found.finding, "") << "seed " << seed << "\n"
                                 << program;
    launches += found.launches;
  }
  std::cout << launches << " launches\n";
  EXPECT_LT(launches, 4 * cases.count());
}

// Blocks that do what those of another part should.
TEST(MergedLaunchesFaults, ABlockOfAnotherPartIsFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &compiled) {
    auto &launch = std::get<plan::CudaLaunch>(compiled.module.fragments[0].steps[0]);
    ASSERT_TRUE(absl::StrContains(launch.kernel, "_beside_"));
    size_t changed = 0;
    kernels.lookupSymbol<LLVM::LLVMFuncOp>(launch.kernel).walk([&](LLVM::ICmpOp op) {
      auto by = op.getRhs().getDefiningOp<LLVM::ConstantOp>();
      // Of the first part: two blocks.
      if (changed || !by || cast<IntegerAttr>(by.getValue()).getInt() != 2)
        return;
      OpBuilder builder(op);
      op.getRhsMutable().assign(LLVM::ConstantOp::create(builder, op.getLoc(), builder.getI32IntegerAttr(1)));
      ++changed;
    });
    EXPECT_EQ(changed, 1u);
  };
  EXPECT_NE(runSequence(passingOf(false, false), 1, change).finding, "");
}

// The same nests with the same parameters are another kernel where other ones of these are the same memory.
TEST(MergedLaunches, AreToldApartByWhatIsTheSameMemory) {
  Context context;
  OwningOpRef<ModuleOp> module = context.parse(R"(
func.func @a(%x: memref<4xf32>, %y: memref<4xf32>) { return }
func.func @b(%z: memref<2x2xf32>) { return })");
  ASSERT_TRUE(module) << context.error;
  llvm::StringMap<cudaexport::NestKernels> nests;
  auto add = [&](const char *name, size_t parameters) {
    cudaexport::NestKernels &nest = nests[name];
    nest.shape.form = cudaexport::NestShape::Form::Elementwise;
    nest.shape.outputs = 4;
    nest.accesses.resize(parameters);
    for (auto &access : nest.accesses)
      access.bytes = 16;
    return &nest;
  };
  add("a", 2);
  add("b", 1)->accesses[0].written = true;
  cudaexport::LaunchMerger merger(*module, nests);
  using Base = plan::CudaAddress::Base;
  for (uint64_t shared = 0; shared < 2; ++shared) {
    plan::CudaLaunch first, second;
    first.kernel = "a";
    second.kernel = "b";
    first.arguments = {{Base::kScratch, 0, 0}, {Base::kScratch, 0, 64}};
    second.arguments = {{Base::kScratch, 0, 64 * shared}};
    plan::CudaFragment fragment;
    fragment.steps = {first, second};
    merger.run(fragment);
    ASSERT_EQ(fragment.steps.size(), 1u);
    const auto &merged = std::get<plan::CudaLaunch>(fragment.steps[0]);
    auto kernel = module->lookupSymbol<func::FuncOp>(merged.kernel);
    for (unsigned i = 0; i < 3; ++i)
      EXPECT_EQ(bool(kernel.getArgAttr(i, "llvm.noalias")), i == 1 - shared) << merged.kernel << " " << i;
  }
  EXPECT_EQ(merger.kernels().size(), 2u);
}

// Both launches as one kernel, whatever they read.
void mergeAnyway(ModuleOp kernels, cudaexport::CompiledCuda &compiled) {
  auto &steps = compiled.module.fragments[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  OpBuilder builder = OpBuilder::atBlockEnd(kernels.getBody());
  SymbolTable symbols(kernels);
  plan::CudaLaunch both = std::get<plan::CudaLaunch>(steps[0]);
  both.arguments.clear();
  SmallVector<Type> types;
  for (const auto &step : steps) {
    const auto &launch = std::get<plan::CudaLaunch>(step);
    both.arguments.insert(both.arguments.end(), launch.arguments.begin(), launch.arguments.end());
    types.append(launch.arguments.size(), LLVM::LLVMPointerType::get(kernels.getContext()));
  }
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(kernels.getContext()), types);
  auto made = LLVM::LLVMFuncOp::create(builder, kernels.getLoc(), "both", type);
  Block *block = made.addEntryBlock(builder);
  builder.setInsertionPointToStart(block);
  unsigned first = 0;
  for (const auto &step : steps) {
    const auto &launch = std::get<plan::CudaLaunch>(step);
    auto own = ValueRange(block->getArguments()).slice(first, launch.arguments.size());
    LLVM::CallOp::create(builder, kernels.getLoc(), symbols.lookup<LLVM::LLVMFuncOp>(launch.kernel), own);
    first += launch.arguments.size();
  }
  LLVM::ReturnOp::create(builder, kernels.getLoc(), ValueRange());
  both.kernel = "both";
  steps = {both};
}

TEST(MergedLaunchesFaults, AMergeOfWhatReadsOtherElementsIsFound) {
  EXPECT_NE(runSequence(chainOf("(j, i)"), 1, mergeAnyway).finding, "");
}

// One parameter for the same memory in each of two nests, neither of which is said to be another's.
TEST(MergedLaunchesFaults, AnAliasThatIsDeniedIsFound) {
  auto change = [](ModuleOp kernels, cudaexport::CompiledCuda &compiled) {
    auto &launch = std::get<plan::CudaLaunch>(compiled.module.fragments[0].steps[0]);
    auto kernel = kernels.lookupSymbol<LLVM::LLVMFuncOp>(launch.kernel);
    llvm::DenseSet<unsigned> written = writtenBy(kernel);
    for (unsigned i = 0; i < launch.arguments.size(); ++i)
      if (!written.contains(i))
        launch.arguments[i] = launch.arguments[*written.begin()];
    EXPECT_TRUE(kernel.getArgAttr(0, "llvm.noalias"));
  };
  EXPECT_TRUE(absl::StrContains(runSequence(chainOf("(i, j)"), 1, change).finding, "are the same memory"));
}

TEST(MergedLaunchesFaults, ALaunchOfAnotherNestInItsPlaceIsFound) {
  auto change = [](ModuleOp, cudaexport::CompiledCuda &compiled) {
    auto &launch = std::get<plan::CudaLaunch>(compiled.module.fragments[0].steps[0]);
    std::swap(launch.arguments.front(), launch.arguments.back());
  };
  EXPECT_NE(runSequence(chainOf("(i, j)"), 1, change).finding, "");
}

} // namespace
