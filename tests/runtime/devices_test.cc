// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of several devices: their streams and copy engines, their parts of the
// batch, and their slots. What runs at once is shown by fragments that end only
// if it does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/data/dataset.h"
#include "runtime/session/checkpoint.h"
#include "tests/runtime/test_util.h"
#include "tests/runtime/trace_spans.h"

namespace commsched {
namespace {

using plan::CopyBuffer;
using testing::BytesOf;
using ::testing::ElementsAre;
using testing::FunctionBuilder;
using ::testing::HasSubstr;
using testing::MutableBytesOf;
using testing::Open;
using testing::PlanBuilder;
using testing::Span;
using testing::SpansOf;

PlanBuilder Devices(int nodes, uint32_t devices) {
  PlanBuilder plan(nodes);
  plan.proto().mutable_cluster()->set_devices(devices);
  plan.proto().mutable_cluster()->set_device_gb_per_s(10);
  return plan;
}

// The instruction, moved to a device.
uint32_t On(FunctionBuilder &f, uint32_t device, uint32_t instruction) {
  f.proto()->mutable_instructions(int(instruction))->set_device(device);
  return instruction;
}

uint32_t Engine(FunctionBuilder &f, CopyBuffer::Direction direction,
                uint32_t instruction) {
  f.proto()->mutable_instructions(int(instruction))->mutable_copy()->set_direction(direction);
  return instruction;
}

uint32_t Named(FunctionBuilder &f, const std::string &name, uint32_t instruction) {
  f.proto()->mutable_instructions(int(instruction))->set_name(name);
  return instruction;
}

void SetScalar(runtime::Session *session, uint32_t slot, int value) {
  std::vector<int> v = {value};
  ASSERT_TRUE(session->SetSlot(slot, BytesOf(v)).ok());
}

TEST(DevicesTest, StreamsOfDevicesRunAtOnce) {
  PlanBuilder plan = Devices(1, 3);
  auto f = plan.Function("step");
  uint32_t a = f.Arena(plan::I32, {}), b = f.Arena(plan::I32, {}),
           c = f.Arena(plan::I32, {}), d = f.Arena(plan::I32, {});
  f.Run("meet", {b}, {a});
  On(f, 2, f.Run("meet", {a}, {b}));
  // Again between devices 1 and 2, the second of which has to get there first.
  On(f, 1, f.Run("meet", {d}, {c}));
  On(f, 2, f.Run("meet", {c}, {d}));
  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->Call(0, nullptr).ok());
  EXPECT_TRUE(session->Drain().ok()) << session->Drain();
}

TEST(DevicesTest, AStreamRunsInOrderEvenWhereNothingElseOrdersIt) {
  constexpr int kCount = 8;
  PlanBuilder plan = Devices(1, 2);
  std::vector<uint32_t> ids;
  for (int i = 0; i < kCount; ++i)
    ids.push_back(plan.Slot(absl::StrCat("id", i), plan::I32, {}));
  uint32_t log = plan.Slot("log", plan::I32, {kCount + 1});
  auto f = plan.Function("step");
  uint32_t out = f.Slot(true, log, plan::I32, {kCount + 1});
  uint32_t in = f.Slot(false, log, plan::I32, {kCount + 1});
  // Holds up the head of the other stream, behind which all others are ready.
  uint32_t late = f.Delay(20'000'000);
  On(f, 1, f.Copy(in, out, {{late}}));
  for (int i = 0; i < kCount; ++i)
    On(f, 1, f.Run("note", {f.Slot(false, ids[size_t(i)], plan::I32, {}), in}, {out}));
  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < kCount; ++i) SetScalar(session.get(), uint32_t(i), 10 * i);
  ASSERT_TRUE(session->Call(0, nullptr).ok());
  std::vector<int> got(kCount + 1);
  ASSERT_TRUE(session->GetSlot(log, MutableBytesOf(got)).ok());
  EXPECT_THAT(got, ElementsAre(kCount, 0, 10, 20, 30, 40, 50, 60, 70));
}

TEST(DevicesTest, CopiesRunWhileTheirDeviceComputes) {
  PlanBuilder plan = Devices(1, 2);
  uint32_t one = plan.Slot("one", plan::I32, {}), done = plan.Slot("done", plan::I32, {});
  auto f = plan.Function("step");
  uint32_t source = f.Slot(false, one, plan::I32, {});
  uint32_t host = f.Arena(plan::I32, {}), device = f.Arena(plan::I32, {});
  // In front of the copies that it needs.
  On(f, 1, f.Run("await_both", {host, device}, {f.Slot(true, done, plan::I32, {})}));
  On(f, 1, Engine(f, CopyBuffer::TO_HOST, f.Copy(source, host)));
  On(f, 1, Engine(f, CopyBuffer::TO_DEVICE, f.Copy(source, device)));
  runtime::TraceRecorder trace;
  auto session = Open(plan, {absl::Seconds(30), &trace});
  ASSERT_NE(session, nullptr);
  SetScalar(session.get(), one, 1);
  ASSERT_TRUE(session->Call(0, nullptr).ok());
  std::vector<int> got(1);
  ASSERT_TRUE(session->GetSlot(done, MutableBytesOf(got)).ok()) << session->Drain();
  EXPECT_EQ(got[0], 1);
  std::map<std::string, std::vector<std::string>> tracks;
  for (const Span &span : SpansOf(trace)) tracks[span.track].push_back(span.category);
  EXPECT_THAT(tracks["copy to host (device 1)"], ElementsAre("copy"));
  EXPECT_THAT(tracks["copy to device (device 1)"], ElementsAre("copy"));
  EXPECT_THAT(tracks["compute (device 1)"], ::testing::Contains("compute"));
}

TEST(DevicesTest, AnEngineTakesTheMostUrgentOfWhatIsReady) {
  PlanBuilder plan = Devices(1, 1);
  auto f = plan.Function("step");
  uint32_t a = f.Arena(plan::F32, {4}), b = f.Arena(plan::F32, {4});
  uint32_t begun = f.Delay(0);
  for (auto [name, priority] : {std::pair{"c5", 5}, {"c1", 1}, {"d5", 5}, {"c3", 3}}) {
    uint32_t copy =
        Named(f, name, Engine(f, CopyBuffer::TO_HOST, f.Copy(a, b, {{begun}}, true)));
    f.proto()->mutable_instructions(int(copy))->set_priority(priority);
  }
  runtime::TraceRecorder trace;
  auto session = Open(plan, {absl::Seconds(30), &trace});
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->Call(0, nullptr).ok());
  ASSERT_TRUE(session->Drain().ok());
  std::vector<std::string> order;
  for (const Span &span : SpansOf(trace))
    if (span.category == "copy") order.push_back(span.name);
  EXPECT_THAT(order, ElementsAre("c1", "c3", "c5", "d5"));
}

TEST(DevicesTest, ACopyInLineIsPartOfTheComputeStream) {
  PlanBuilder plan = Devices(1, 2);
  auto f = plan.Function("step");
  uint32_t a = f.Arena(plan::F32, {4});
  for (bool in_line : {true, false}) {
    uint32_t b = f.Arena(plan::F32, {4});
    uint32_t copy = On(f, 1, Engine(f, CopyBuffer::TO_DEVICE, f.Copy(a, b)));
    Named(f, in_line ? "in line" : "beside", copy);
    f.proto()->mutable_instructions(int(copy))->mutable_copy()->set_in_line(in_line);
  }
  runtime::TraceRecorder trace;
  auto session = Open(plan, {absl::Seconds(30), &trace});
  ASSERT_NE(session, nullptr);
  ASSERT_TRUE(session->Call(0, nullptr).ok());
  ASSERT_TRUE(session->Drain().ok());
  std::map<std::string, std::string> tracks;
  for (const Span &span : SpansOf(trace)) tracks[span.name] = span.track;
  EXPECT_EQ(tracks["in line"], "compute (device 1)");
  EXPECT_EQ(tracks["beside"], "copy to device (device 1)");
}

TEST(DevicesTest, AnErrorOnOneDeviceEndsTheOthers) {
  PlanBuilder plan = Devices(2, 3);
  uint32_t c = plan.Slot("c", plan::F32, {1});
  auto f = plan.Function("step");
  uint32_t next = f.Slot(true, c, plan::F32, {1});
  // An hour, of which nothing is left once the other device has failed; on
  // device 0 of both ranks.
  f.Delay(uint64_t{3600} * 1'000'000'000);
  uint32_t begun = On(f, 2, f.Delay(0));
  On(f, 1, f.Run("bad_kernel", {}, {next}, {{begun}}));
  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  absl::StatusOr<uint64_t> call = session->Call(0, nullptr);
  absl::Status status = call.ok() ? session->Drain() : call.status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("fragment \"bad_kernel\" (test.mlir:1:1): calls kernel 1000"));
}

// Rank r, device d sums rows n (r D + d) .. of every batch.
TEST(DevicesTest, EveryDeviceGetsItsOwnRows) {
  constexpr int kNodes = 2, kDevices = 3, kLocal = 2, kWidth = 16;
  PlanBuilder plan = Devices(kNodes, kDevices);
  uint32_t n = plan.Slot("n", plan::I32, {});
  auto f = plan.Function("step");
  uint32_t count = f.Slot(false, n, plan::I32, {});
  for (uint32_t d = 0; d < kDevices; ++d) {
    uint32_t x = f.Batch("x", plan::F32, {kLocal, kWidth});
    f.proto()->mutable_buffers(int(x))->set_device(d);
    uint32_t total = f.Arena(plan::F32, {});
    On(f, d, f.Run("sum", {count, x}, {total}, {{d, 1}}));
    f.Output(absl::StrCat("total", d), total);
  }
  f.proto()->set_global_batch(kNodes * kDevices * kLocal);
  // One that works on device 0 alone has a part for each node only.
  auto eval = plan.Function("eval");
  uint32_t total = eval.Arena(plan::F32, {});
  eval.Run("sum", {eval.Slot(false, n, plan::I32, {}), eval.Batch("x", plan::F32, {kLocal, kWidth})},
           {total});
  eval.Output("total", total);
  eval.proto()->set_global_batch(kNodes * kLocal);

  constexpr int kSamples = 3 * kNodes * kDevices * kLocal;
  std::vector<float> x;
  for (int i = 0; i < kSamples; ++i)
    for (int j = 0; j < kWidth; ++j) x.push_back(float(i * i));
  testing::TemporaryFolder folder;
  runtime::TensorInfo type = {
      ops::Element::kF32, {kSamples, kWidth}, kSamples * kWidth, x.size() * sizeof(float)};
  ASSERT_TRUE(runtime::WriteSafetensors(folder / "x", {{"x", type, BytesOf(x)}}, {}).ok());

  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  SetScalar(session.get(), n, kLocal * kWidth);
  const auto &functions = session->program().functions;
  for (bool shuffle : {false, true}) {
    auto data = runtime::Dataset::Open(folder / "x", functions[0], kNodes, {shuffle, 7});
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ((*data)->global_batch(), uint64_t(kNodes * kDevices * kLocal));
    double sum = 0;
    for (uint64_t step = 0; step < 3; ++step) {
      (*data)->Seek(step);
      auto call = session->Call(0, data->get());
      ASSERT_TRUE(call.ok()) << call.status();
      for (int r = 0; r < kNodes; ++r) {
        auto totals = session->executor(size_t(r)).Metrics(*call);
        ASSERT_TRUE(totals.ok()) << totals.status();
        for (int d = 0; d < kDevices; ++d) {
          sum += (*totals)[size_t(d)];
          int first = (int(step) * kNodes * kDevices + r * kDevices + d) * kLocal;
          if (!shuffle) {
            EXPECT_EQ((*totals)[size_t(d)],
                      kWidth * (first * first + (first + 1) * (first + 1)))
                << "step " << step << " rank " << r << " device " << d;
          }
        }
      }
    }
    // Every sample exactly once.
    double all = 0;
    for (float v : x) all += v;
    EXPECT_EQ(sum, all);
  }
  // In place, from memory.
  runtime::GlobalBatch batch;
  batch.Set("x", BytesOf(x).subspan(0, kNodes * kDevices * kLocal * kWidth * sizeof(float)), nullptr);
  auto call = session->Call(0, &batch);
  ASSERT_TRUE(call.ok()) << call.status();
  auto totals = session->executor(1).Metrics(*call);
  ASSERT_TRUE(totals.ok());
  EXPECT_THAT(*totals, ElementsAre(kWidth * (36 + 49), kWidth * (64 + 81), kWidth * (100 + 121)));
  EXPECT_THAT(std::string(session->Call(1, &batch).status().message()),
              HasSubstr("must match 2 x f32[2,16]"));
  auto data = runtime::Dataset::Open(folder / "x", functions[1], kNodes, {});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ((*data)->global_batch(), uint64_t(kNodes * kLocal));
}

// The copies of a parameter on the devices of a node are set together, and
// files have it once.
TEST(DevicesTest, SlotsOfOneNameHaveOneValue) {
  PlanBuilder plan = Devices(2, 2);
  plan.Slot("w", plan::I32, {});
  uint32_t other = plan.Slot("w", plan::I32, {});
  plan.proto().mutable_slots(int(other))->set_device(1);
  auto f = plan.Function("step");
  uint32_t log[2];
  for (uint32_t d : {0u, 1u}) {
    log[d] = f.Arena(plan::I32, {});
    On(f, d, f.Copy(f.Slot(false, d, plan::I32, {}), log[d]));
    f.Output(absl::StrCat("w", d), log[d]);
  }
  auto session = Open(plan);
  ASSERT_NE(session, nullptr);
  auto values = [&] {
    auto call = session->Call(0, nullptr);
    return call.ok() ? session->executor(1).Metrics(*call) : call.status();
  };
  SetScalar(session.get(), 0, 11);
  EXPECT_THAT(*values(), ElementsAre(11, 11));
  testing::TemporaryFolder folder;
  ASSERT_TRUE(runtime::SaveCheckpoint(session.get(), folder / "c", 3).ok());
  auto file = runtime::ReadSafetensors(folder / "c");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->tensors.size(), 1u);
  SetScalar(session.get(), 0, 5);
  EXPECT_THAT(*values(), ElementsAre(5, 5));
  auto done = runtime::LoadCheckpoint(session.get(), folder / "c");
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(*done, 3u);
  EXPECT_THAT(*values(), ElementsAre(11, 11));
}

TEST(DevicesTest, WhatAPlanSaysOfDevicesIsChecked) {
  auto error = [](auto change) {
    PlanBuilder plan = Devices(1, 2);
    plan.Slot("w", plan::F32, {4});
    plan.Slot("w", plan::F32, {4});
    plan.proto().mutable_slots(1)->set_device(1);
    auto f = plan.Function("step");
    uint32_t x = f.Batch("x", plan::F32, {2});
    Engine(f, CopyBuffer::TO_HOST, f.Copy(x, f.Arena(plan::F32, {2})));
    change(plan.proto(), f);
    auto image = runtime::PlanImage::Load(plan.Bytes());
    if (!image.ok()) return std::string(image.status().message());
    auto program = (*image)->ForRank(0);
    return std::string(program.status().message());
  };
  auto f = [](auto &p) { return p.mutable_functions(0); };
  EXPECT_EQ(error([](auto &, auto &) {}), "");
  EXPECT_THAT(error([&](auto &p, auto &) { f(p)->mutable_buffers(0)->set_device(2); }),
              HasSubstr("buffer 0: there is no device 2"));
  EXPECT_THAT(error([&](auto &p, auto &) { f(p)->mutable_instructions(0)->set_device(2); }),
              HasSubstr("there is no device 2"));
  EXPECT_THAT(error([](auto &p, auto &) { p.mutable_slots(1)->set_device(2); }),
              HasSubstr("slot 1 \"w\": there is no device 2"));
  EXPECT_THAT(error([](auto &p, auto &) { p.mutable_slots(1)->set_device(0); }),
              HasSubstr("name must be unique on its device"));
  EXPECT_THAT(error([](auto &p, auto &) { p.mutable_slots(1)->mutable_type()->set_shape(0, 5); }),
              ::testing::AllOf(HasSubstr("slot"), HasSubstr("must match"), HasSubstr("f32[4]"),
                               HasSubstr("f32[5]")));
  EXPECT_THAT(error([&](auto &p, auto &) {
                f(p)->mutable_instructions(0)->mutable_copy()->set_direction(
                    CopyBuffer::Direction(7));
              }),
              HasSubstr("unknown direction"));
  EXPECT_THAT(error([&](auto &p, auto &b) {
                b.proto()->mutable_buffers(int(b.Batch("x", plan::F32, {2})))->set_device(1);
                f(p)->set_global_batch(2);
              }),
              HasSubstr("on 1 nodes of 2 devices must match the global batch 2"));
}

}  // namespace
}  // namespace commsched
