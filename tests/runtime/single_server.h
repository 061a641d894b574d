// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One parameter server of server_plan.h by itself, whose pushes and pulls are
// made by the test, and the same in plain loops.
#ifndef COMMSCHED_TESTS_RUNTIME_SINGLE_SERVER_H
#define COMMSCHED_TESTS_RUNTIME_SINGLE_SERVER_H

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <future>
#include <memory>
#include <vector>

#include "runtime/base/status_util.h"
#include "runtime/servers/parameter_server.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched::testing::single_server {

using runtime::ParameterServer;
using runtime::ParameterServerOptions;
using runtime::PlanImage;
using runtime::SharedBytes;
using Floats = std::vector<float>;

// Block 1 of server 1 of the plan is "b": b' = b - g / 4. Its block 0 is the
// last two rows of "w".
inline constexpr uint32_t kW = 0, kB = 1;
inline constexpr int kRest = 2 * testing::kColumns;

inline SharedBytes Payload(Floats values) {
  auto owned = std::make_shared<Floats>(std::move(values));
  return {BytesOf(*owned), owned};
}

// A gradient that depends on trainer, step and block.
inline Floats Gradient(int trainer, int step, int size) {
  Floats g;
  for (int i = 0; i < size; ++i)
    g.push_back(1.0f / float(3 * i + 7 * trainer + 11 * step + 3));
  return g;
}

// One server, and what it must hold.
class Server {
 public:
  explicit Server(ServerPlanOptions plan = {}, absl::Duration deadline = absl::Seconds(30),
                  int index = 1, uint64_t cut_every = 0)
      : trainers_(plan.trainers) {
    auto image = PlanImage::Load(testing::ServerPlan(plan).Bytes());
    EXPECT_TRUE(image.ok()) << image.status();
    ParameterServerOptions options;
    options.server = index;
    options.trainers = plan.trainers;
    options.deadline = deadline;
    options.cut_every = cut_every;
    options.on_cut = [this](const std::string &, uint64_t step) {
      cuts_.push_back(step);
      return absl::OkStatus();
    };
    options.on_failure = [this](const absl::Status &) { ++failures_; };
    auto made = ParameterServer::Create(*image, options);
    EXPECT_TRUE(made.ok()) << made.status();
    server_ = *std::move(made);
    for (const auto &value : (*image)->values()) {
      if (value.name.substr(0, 2) != "n.") continue;
      std::vector<int> n = {value.name == "n.w"   ? testing::kWeights
                            : value.name == "n.3" ? 3 * testing::kColumns
                            : value.name == "n.2" ? kRest
                                                  : testing::kBias};
      EXPECT_TRUE(server_->SetWhole(value.name, BytesOf(n)).ok());
    }
  }
  ~Server() { server_.reset(); }
  ParameterServer *operator->() { return server_.get(); }

  void Start() {
    EXPECT_TRUE(server_->SetWhole("w", BytesOf(Floats(testing::kWeights, 1.0f))).ok());
    EXPECT_TRUE(server_->SetWhole("b", BytesOf(Floats(testing::kBias, 2.0f))).ok());
    Join();
  }
  void Join() {
    for (int t = 0; t < trainers_; ++t) EXPECT_TRUE(server_->Join(t).ok());
  }
  absl::Status Push(int trainer, uint32_t block, int step) {
    return Push(trainer, block, step,
                Gradient(trainer, step, block == kB ? testing::kBias : kRest));
  }
  absl::Status Push(int trainer, uint32_t block, int step, Floats values) {
    auto done = std::make_shared<std::promise<absl::Status>>();
    server_->Push(trainer, block, uint64_t(step), Payload(std::move(values)),
                  [done](absl::Status s) { done->set_value(std::move(s)); });
    return done->get_future().get();
  }
  // All trainers push all blocks of a step.
  void PushAll(int step) {
    for (int t = 0; t < trainers_; ++t)
      for (uint32_t b : {kW, kB}) EXPECT_TRUE(Push(t, b, step).ok());
  }
  absl::StatusOr<Floats> Pull(int trainer, uint32_t block, int version) {
    auto done = std::make_shared<std::promise<absl::StatusOr<Floats>>>();
    server_->Pull(trainer, block, uint64_t(version), [done](absl::StatusOr<SharedBytes> v) {
      if (!v.ok()) return done->set_value(runtime::Unshared(v.status()));
      Floats values(v->bytes.size() / sizeof(float));
      std::memcpy(values.data(), v->bytes.data(), v->bytes.size());
      done->set_value(values);
    });
    return done->get_future().get();
  }
  int failures() const { return failures_; }
  // By the thread that saves.
  const std::vector<uint64_t> &cuts() const { return cuts_; }

 private:
  int trainers_;
  std::atomic<int> failures_{0};
  std::vector<uint64_t> cuts_;
  std::unique_ptr<ParameterServer> server_;
};

// The same in plain loops.
struct Reference {
  Floats w = Floats(kRest, 1.0f), m = Floats(kRest, 0.0f), b = Floats(testing::kBias, 2.0f);
  int count = 0;

  static Floats Mean(const std::vector<Floats> &gradients) {
    Floats sum = gradients[0];
    for (size_t t = 1; t < gradients.size(); ++t)
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradients[t][i];
    if (gradients.size() > 1)
      for (float &v : sum) v *= float(1.0 / double(gradients.size()));
    return sum;
  }
  void UpdateW(const Floats &g, float rate) {
    for (size_t i = 0; i < w.size(); ++i) {
      m[i] = m[i] * 0.5f + g[i];
      w[i] = w[i] - rate * m[i];
    }
  }
  void UpdateB(const Floats &g) {
    for (size_t i = 0; i < b.size(); ++i) b[i] = b[i] - g[i] * 0.25f;
  }
  float Rate() { return 1.0f / float(2 + count++); }
  // A synchronous step of these trainers.
  void Step(int step, const std::vector<int> &trainers) {
    std::vector<Floats> gw, gb;
    for (int t : trainers) {
      gw.push_back(Gradient(t, step, kRest));
      gb.push_back(Gradient(t, step, testing::kBias));
    }
    UpdateW(Mean(gw), Rate());
    UpdateB(Mean(gb));
  }
};

}  // namespace commsched::testing::single_server

#endif  // COMMSCHED_TESTS_RUNTIME_SINGLE_SERVER_H
