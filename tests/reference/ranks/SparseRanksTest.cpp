// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse exchanges, interpreted: level 1 and level 2 agree, what is not sent is kept,
// and selections are those of a few lines here.

#include "tests/reference/ranks/RanksFixture.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;
using namespace commsched::reference::training;

namespace {

/// 1 / the rate of the program, which is a power of two.
constexpr double kPerRate = 64;
constexpr double kDensity = 0.1;

class SparseRanks : public Ranks {
protected:
  static std::string lowerTo(const std::string &options, const std::string &more = "") {
    return kInsert + ",replicate-devices,assign-devices,lower-sparse-comm{density=0.1 "
                     "min-elements=1 " +
           options + "}" + more;
  }

  void checkLevels(const std::string &options, int64_t nodes, int64_t devices = 1) {
    SCOPED_TRACE(options + " on " + std::to_string(nodes) + " x " + std::to_string(devices));
    Data data;
    ASSERT_FALSE(level0(kSparse, nodes * devices, data).empty());
    auto wanted = lowered(kSparse, nodes, devices, lowerTo(options + " fuse-bytes=0"), data);
    ASSERT_EQ(wanted.size(), 3u);
    // The exchanges of gtopk are trees, which have no other algorithm.
    const std::string ring = options.find("gtopk") == std::string::npos ? "{algorithm=ring}" : "";
    for (const std::string &pipeline :
         {lowerTo(options + " fuse-bytes=100000"),
          lowerTo(options + " fuse-bytes=0", ",schedule-comm"),
          lowerTo(options + " fuse-bytes=0", ",schedule-comm,expand-collectives" + ring),
          lowerTo(options, ",schedule-comm,expand-collectives,overlap-rpc-memcpy")}) {
      SCOPED_TRACE(pipeline);
      EXPECT_LT(expectWithin(lowered(kSparse, nodes, devices, pipeline, data), wanted), 0.02);
    }
  }
};

TEST_F(SparseRanks, LevelsAgree) {
  for (const char *method : {"allgather", "hitopk", "gtopk", "oktopk"})
    for (const char *more : {"", " exact-every=3", " feedback=false"}) {
      checkLevels(std::string("method=") + method + more, 2);
      checkLevels(std::string("method=") + method + more, 4);
    }
  for (const char *method : {"allgather", "hitopk", "oktopk"}) {
    checkLevels(std::string("method=") + method, 3);
    checkLevels(std::string("method=") + method, 2, 2);
  }
  checkLevels("method=allgather momentum=0.9", 2);
  checkLevels("method=oktopk momentum=0.9", 2);
  checkLevels("method=hitopk clip=0.5", 2);
  checkLevels("method=allgather select=histogram", 2);
  checkLevels("method=hitopk select=mstopk", 2, 2);
  checkLevels("method=oktopk select=mstopk mstopk-samples=3", 2);
  checkLevels("method=hitopk values=int8", 3);
  checkLevels("method=hitopk values=f16", 2, 2);
  checkLevels("method=hitopk unsent-rate=0.015625", 2);
}

TEST_F(SparseRanks, WhatIsNotSentIsKept) {
  for (const char *method :
       {"allgather", "gtopk", "oktopk", "hitopk select=mstopk mstopk-samples=2",
        "allgather values=int8", "hitopk values=bf16", "hitopk values=f16 select=mstopk"})
    for (int64_t ranks : {2, 4}) {
      // Of gtopk on more ranks, what a first round drops and another pair brings is lost.
      if (std::string(method) == "gtopk" && ranks > 2)
        continue;
      SCOPED_TRACE(method + std::string(" on ") + std::to_string(ranks));
      Data data;
      auto dense = level0(kSparse, ranks, data);
      auto sparse =
          lowered(kSparse, ranks, 1, lowerTo(std::string("method=") + method), data);
      ASSERT_FALSE(dense.empty() || sparse.empty());
      for (const std::string name : {"w", "b"}) {
        const Array &before = *data.slots[name], &all = *dense[0].slots[name],
                    &some = *sparse[0].slots[name];
        int64_t changed = 0;
        for (int64_t i = 0; i < before.size(); ++i) {
          double kept = 0;
          for (int64_t r = 0; r < ranks; ++r)
            kept += sparse[0].slots.at(name + ".residual.rank" + std::to_string(r))->values[i];
          double missing = static_cast<double>(ranks) * kPerRate * (some.values[i] - all.values[i]);
          EXPECT_NEAR(kept, missing, 1e-3) << name << " " << i;
          changed += some.values[i] != before.values[i];
        }
        auto k = std::max<int64_t>(1, std::llround(kDensity * static_cast<double>(before.size())));
        EXPECT_GT(changed, 0);
        EXPECT_LE(changed, ranks * k);
        if (std::string(method) == "gtopk") {
          EXPECT_LE(changed, k);
        }
      }
    }
}

/// Flat indices of the k largest magnitudes, of equal ones the lowest.
std::vector<int64_t> largest(const std::vector<double> &values, int64_t k) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::abs(values[a]) > std::abs(values[b]);
  });
  order.resize(k);
  return order;
}

TEST_F(SparseRanks, SelectsTheLargestOfEachRank) {
  constexpr int64_t kRanks = 2;
  for (int64_t every : {1, 2}) {
    Data data;
    ASSERT_FALSE(level0(kSparse, kRanks, data).empty());
    auto found = lowered(kSparse, kRanks, 1,
                         lowerTo("method=allgather exact-every=" + std::to_string(every)), data);
    ASSERT_EQ(found.size(), 3u);
    // Gradients of a rank: what a worker alone would change.
    OwningOpRef<ModuleOp> module = parseFor(context, kSparse.path, 1);
    func::FuncOp step = *findStep(*module);
    NamedArrays slots = data.slots;
    std::vector<double> threshold(kRanks);
    const int64_t size = slots["w"]->size(), k = std::llround(kDensity * static_cast<double>(size));
    std::vector<std::vector<double>> residual(kRanks, std::vector<double>(size));
    for (size_t s = 0; s < found.size(); ++s) {
      std::vector<double> sum(size);
      for (int64_t r = 0; r < kRanks; ++r) {
        NamedArrays part;
        for (auto &[name, whole] : data.batches[s]) {
          SmallVector<int64_t> shape(whole->shape.begin(), whole->shape.end());
          shape[0] /= kRanks;
          part[name] = makeZeros(whole->elementType, shape);
          for (int64_t i = 0; i < part[name]->size(); ++i)
            part[name]->setFrom(i, *whole, r * part[name]->size() + i);
        }
        Interpreter interpreter;
        auto alone = runStep(interpreter, step, slots, part, 1);
        ASSERT_TRUE(succeeded(alone));
        for (int64_t i = 0; i < size; ++i)
          residual[r][i] +=
              kPerRate * (slots["w"]->values[i] - alone->slots["w"]->values[i]);
        std::vector<int64_t> chosen = largest(residual[r], k);
        bool exact = static_cast<int64_t>(s) % every == 0;
        if (exact)
          threshold[r] = std::abs(residual[r][chosen.back()]);
        for (int64_t i : chosen) {
          if (!exact && std::abs(residual[r][i]) < threshold[r])
            continue;
          sum[i] += residual[r][i];
          residual[r][i] = 0;
        }
      }
      for (int64_t i = 0; i < size; ++i) {
        double wanted = slots["w"]->values[i] - sum[i] / kRanks / kPerRate;
        EXPECT_NEAR(found[s].slots["w"]->values[i], wanted, 1e-5) << "step " << s << ", " << i;
        for (int64_t r = 0; r < kRanks; ++r)
          EXPECT_NEAR(found[s].slots["w.residual.rank" + std::to_string(r)]->values[i],
                      residual[r][i], 1e-3);
      }
      for (auto &[name, value] : slots)
        value = found[s].slots[name];
    }
  }
}

} // namespace
