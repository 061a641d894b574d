// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/reference/ranks/Training.h"

#include "ir/Cs.h"
#include "passes/Passes.h"
#include "reference/Scalar.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <fstream>
#include <random>
#include <sstream>

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

OwningOpRef<ModuleOp> training::parseFor(MLIRContext &context, const std::string &path,
                                         int64_t nodes, int64_t devices) {
  std::ifstream file(std::string(COMMSCHED_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  std::string cluster =
      llvm::formatv("cs.cluster @test nodes = {0} devices = {1} device = <kind = cpu, "
                    "gflops = 40, gb_per_s = 20> intra = <mbit_per_s = 80000, latency_ns = "
                    "5000> inter = <mbit_per_s = 1000, latency_ns = 50000>\n",
                    nodes, devices)
          .str();
  auto module = parseSourceString<ModuleOp>(cluster + text.str(), &context);
  EXPECT_TRUE(bool(module)) << path;
  if (module) {
    // The file may have a cluster of its own.
    auto clusters = llvm::to_vector(module->getOps<cs::ClusterOp>());
    for (cs::ClusterOp other : llvm::drop_begin(clusters))
      other.erase();
  }
  if (module)
    for (auto function : module->getOps<func::FuncOp>())
      function->removeAttr(cs::CsDialect::kGlobalBatchAttr);
  return module;
}

bool training::lower(ModuleOp module, const std::string &pipeline) {
  PassManager manager(module.getContext());
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (failed(parsePassPipeline(pipeline, manager, stream))) {
    ADD_FAILURE() << pipeline << ": " << errors;
    return false;
  }
  return succeeded(manager.run(module));
}

static void fill(Array &array, std::mt19937 &random, double low, double high,
                 int64_t below) {
  for (int64_t i = 0; i < array.size(); ++i) {
    double part = static_cast<double>(random() % 20000) / 20000;
    if (array.isFloat())
      array.values[i] = formatOf(array.elementType)->round(low + (high - low) * part);
    else
      array.ints[i] = static_cast<int64_t>(part * static_cast<double>(below));
  }
}

training::Data training::makeData(func::FuncOp step, int64_t workers, int64_t steps,
                                  const Ranges &ranges, unsigned seed) {
  std::mt19937 random(seed);
  Data data;
  data.batches.resize(steps);
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto placed = dyn_cast<cs::PlacedType>(step.getArgumentTypes()[i]);
    auto type = placed ? placed.getTensor()
                       : cast<RankedTensorType>(step.getArgumentTypes()[i]);
    auto nameOf = [&](StringRef attribute) {
      auto name = step.getArgAttrOfType<StringAttr>(i, attribute);
      return name ? name.str() : std::string();
    };
    if (std::string name = nameOf(cs::CsDialect::kBatchAttr); !name.empty()) {
      SmallVector<int64_t> shape(type.getShape());
      shape[0] *= workers;
      for (NamedArrays &batch : data.batches) {
        ArrayPtr array = makeZeros(type.getElementType(), shape);
        auto range = ranges.find(name);
        fill(*array, random, -1, 1, range == ranges.end() ? 1 : range->second);
        batch[name] = array;
      }
      continue;
    }
    ArrayPtr array = makeZeros(type.getElementType(), type.getShape());
    std::string name = nameOf(cs::CsDialect::kParamAttr);
    double width = 1 / std::sqrt(std::max<double>(1, type.getRank() ? type.getDimSize(0) : 1));
    if (!name.empty())
      fill(*array, random, -width, width, 1);
    else
      fill(*array, random, 0, 0.1, 1);
    data.slots[name.empty() ? nameOf(cs::CsDialect::kStateAttr) : name] = array;
  }
  return data;
}

double training::expectWithin(const std::vector<StepResult> &found,
                              const std::vector<StepResult> &wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  int64_t unknown = 0, total = 0;
  auto check = [&](const NamedArrays &here, const NamedArrays &there, size_t step) {
    for (auto &[name, array] : there) {
      auto own = here.find(name);
      if (own == here.end()) {
        ADD_FAILURE() << name << " is not there after step " << step;
        continue;
      }
      Difference difference = compare(*own->second, *array);
      EXPECT_EQ(difference.outside, 0)
          << name << " after step " << step << ": element " << difference.element << " is "
          << difference.found << ", must be " << difference.wanted << " within "
          << difference.bound;
      unknown += difference.undetermined;
      total += difference.total;
    }
  };
  for (size_t step = 0; step < std::min(found.size(), wanted.size()); ++step) {
    check(found[step].slots, wanted[step].slots, step);
    check(found[step].metrics, wanted[step].metrics, step);
  }
  return total == 0 ? 1 : static_cast<double>(unknown) / static_cast<double>(total);
}

void training::expectEqual(const std::vector<StepResult> &found,
                           const std::vector<StepResult> &wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  auto check = [&](const NamedArrays &here, const NamedArrays &there) {
    for (auto &[name, array] : there) {
      ASSERT_TRUE(here.count(name)) << name;
      const Array &own = *here.at(name);
      ASSERT_EQ(own.size(), array->size()) << name;
      EXPECT_EQ(toBytes(own), toBytes(*array)) << name;
    }
  };
  for (size_t step = 0; step < found.size(); ++step) {
    check(found[step].slots, wanted[step].slots);
    check(found[step].metrics, wanted[step].metrics);
  }
}

int64_t training::countOutside(const StepResult &found, const StepResult &wanted) {
  int64_t outside = 0;
  for (auto &[name, array] : wanted.slots)
    if (found.slots.count(name))
      outside += compare(*found.slots.at(name), *array).outside;
  return outside;
}
