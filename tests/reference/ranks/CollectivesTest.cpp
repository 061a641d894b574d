// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One collective, of every element type: what it is defined to be, and the exchanges
// that it becomes.

#include "tests/reference/ranks/RanksFixture.h"

#include "reference/Scalar.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;
using namespace commsched::reference::training;

namespace {

constexpr int64_t kPart = 3;

class Collectives : public Ranks {
protected:
  /// Every rank has a value "v" of its own, and gets what `op` makes of it.
  OwningOpRef<ModuleOp> parse(const std::string &element, int64_t ranks, bool gathers,
                              bool scatters, const std::string &op) {
    auto type = [&](int64_t size) {
      return llvm::formatv("!cs.placed<tensor<{0}x{1}>, device 0>", size, element).str();
    };
    std::string from = type(gathers ? kPart : 2 * kPart * ranks);
    std::string to = type(gathers ? kPart * ranks : scatters ? 2 * kPart
                                                             : 2 * kPart * ranks);
    std::string text =
        llvm::formatv(R"(
cs.cluster @test nodes = {0} devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%v: {1} {{cs.state = "v", cs.per_rank})
    -> ({1} {{cs.updates = "v"}, {2} {{cs.metric = "first"}) attributes {{cs.step} {{
  %f = cs.start "k" (%v) : ({1}) -> !cs.future<{2}> {{
  ^bb0(%x: {1}):
    %r = {3} : {1}{4}
    cs.return %r : {2}
  }
  %r = cs.await %f : !cs.future<{2}>
  {5}
})",
                      ranks, from, to, op, gathers || scatters ? " -> " + to : "",
                      from == to ? "return %r, %r : " + from + ", " + to
                                 : "return %v, %r : " + from + ", " + to)
            .str();
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(bool(module)) << text;
    return module;
  }

  NamedArrays values(const std::string &element, int64_t ranks, int64_t size, bool rough) {
    NamedArrays slots;
    Type type = parseType(element, &context);
    for (int64_t r = 0; r < ranks; ++r) {
      ArrayPtr array = makeZeros(type, size);
      for (int64_t i = 0; i < size; ++i) {
        double value = rough ? std::sin(double(r) * 12.9898 + double(i) * 78.233)
                             : double((r * 37 + i * 11) % 101 - 50);
        if (array->isFloat())
          array->values[i] = formatOf(type)->round(value);
        else
          array->ints[i] = (r * 37 + i * 11) % 11 - 5;
      }
      slots["v.rank" + std::to_string(r)] = array;
    }
    return slots;
  }
};

struct Kind {
  std::string op;
  bool gathers = false, scatters = false, floatsOnly = false;
};

TEST_F(Collectives, ExchangesComeToThem) {
  const Kind kinds[] = {
      {"cs.all_reduce \"k\" sum %x"},
      {"cs.all_reduce \"k\" mean %x", false, false, true},
      {"cs.all_reduce \"k\" max %x"},
      {"cs.reduce \"k\" mean %x to 1", false, false, true},
      {"cs.reduce \"k\" min %x to 0"},
      {"cs.broadcast \"k\" %x from 1"},
      {"cs.reduce_scatter \"k\" sum %x", false, true},
      {"cs.all_gather \"k\" %x", true},
      {"cs.all_to_all \"k\" %x"},
  };
  for (const char *element : {"f64", "f32", "f16", "bf16", "i64", "i32", "i8"})
    for (const Kind &kind : kinds)
      for (int64_t ranks : {2, 3, 4, 5})
        for (const char *algorithm : {"ring", "halving-doubling", "recursive-doubling"}) {
          if (kind.floatsOnly && element[0] == 'i')
            continue;
          SCOPED_TRACE(llvm::formatv("{0} of {1} on {2}, {3}", kind.op, element, ranks,
                                     algorithm)
                           .str());
          auto module = parse(element, ranks, kind.gathers, kind.scatters, kind.op);
          ASSERT_TRUE(bool(module));
          auto size = kind.gathers ? kPart : 2 * kPart * ranks;
          NamedArrays slots = values(element, ranks, size, /*rough=*/true);
          auto wanted = runRankSteps(*module, slots, NamedArrays());
          ASSERT_TRUE(succeeded(wanted));
          // Trees and pairs have no other algorithm, which is an error.
          bool hasChoice = llvm::none_of(llvm::ArrayRef<llvm::StringRef>{"cs.reduce \"", "cs.broadcast", "cs.all_to_all"},
                                         [&](llvm::StringRef name) { return llvm::StringRef(kind.op).starts_with(name); });
          ASSERT_TRUE(lower(*module, std::string("expand-collectives{algorithm=") + (hasChoice ? algorithm : "auto") + "}"));
          auto found = runRankSteps(*module, slots, NamedArrays());
          ASSERT_TRUE(succeeded(found));
          double unknown = expectWithin(*found, *wanted);
          // On the other ranks a reduce to one says nothing.
          if (kind.op.find("cs.reduce \"") == std::string::npos) {
            EXPECT_EQ(unknown, 0);
          }
          // Exchanges of numbers that are known have results that are.
          if (element[1] == '3' || element[1] == '6') {
            for (auto &[name, array] : found->back().slots)
              for (double bound : array->bounds)
                EXPECT_EQ(bound, 0) << name;
          }
        }
}

TEST_F(Collectives, AreWhatTheyAreDefinedToBe) {
  constexpr int64_t kRanks = 3, kSize = 2 * kPart * kRanks;
  NamedArrays slots = values("f32", kRanks, kSize, /*rough=*/false);
  auto at = [&](int64_t rank, int64_t i) {
    return slots["v.rank" + std::to_string(rank)]->values[i];
  };
  auto check = [&](const std::string &op, auto wanted) {
    SCOPED_TRACE(op);
    auto module = parse("f32", kRanks, false, false, op);
    ASSERT_TRUE(bool(module));
    auto found = runRankSteps(*module, slots, NamedArrays());
    ASSERT_TRUE(succeeded(found));
    for (int64_t r = 0; r < kRanks; ++r)
      for (int64_t i = 0; i < kSize; ++i)
        EXPECT_EQ(found->back().slots["v.rank" + std::to_string(r)]->values[i], wanted(r, i))
            << "element " << i << " of rank " << r;
  };
  check("cs.all_reduce \"k\" sum %x",
        [&](int64_t, int64_t i) { return at(0, i) + at(1, i) + at(2, i); });
  check("cs.all_reduce \"k\" max %x",
        [&](int64_t, int64_t i) { return std::max({at(0, i), at(1, i), at(2, i)}); });
  check("cs.broadcast \"k\" %x from 2", [&](int64_t, int64_t i) { return at(2, i); });
  check("cs.all_to_all \"k\" %x", [&](int64_t r, int64_t i) {
    int64_t half = kSize / 2, sender = (i - half) / kPart;
    return i < half || sender == r ? at(r, i) : at(sender, r * kPart + (i - half) % kPart);
  });
}

TEST_F(Collectives, PairsGiveEachOtherAHalf) {
  constexpr int64_t kRanks = 4, kSize = 2 * kPart * kRanks;
  for (int64_t distance : {1, 2}) {
    auto module = parse("f32", kRanks, false, false,
                        "cs.pair_exchange \"k\" %x distance " + std::to_string(distance));
    ASSERT_TRUE(bool(module));
    NamedArrays slots = values("f32", kRanks, kSize, /*rough=*/false);
    auto found = runRankSteps(*module, slots, NamedArrays());
    ASSERT_TRUE(succeeded(found));
    for (int64_t r = 0; r < kRanks; ++r)
      for (int64_t i = 0; i < kSize; ++i) {
        int64_t low = std::min(r, r ^ distance), high = std::max(r, r ^ distance);
        EXPECT_EQ(found->back().slots["v.rank" + std::to_string(r)]->values[i],
                  slots["v.rank" + std::to_string(i < kSize / 2 ? low : high)]->values[i]);
      }
  }
}

} // namespace
