// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA device that is simulated, or emulated, copies in the order of the real one's streams: drawn plans on the machine
// without a device, in the simulator, and by core::Calls, which emulation runs by as well, with whatever ends when.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "plan/plan_file.h"
#include "runtime/core/calls.h"
#include "runtime/measure/profile.h"
#include "runtime/simulator/simulator.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/device_job.h"
#include "tests/runtime/cuda/drawn_plan.h"

namespace commsched::runtime::cuda::device_order_test {
namespace {

constexpr uint64_t kSteps = 6;

// A copy, or a deferred fragment, by its step and its number in the plan.
using What = std::pair<uint64_t, uint32_t>;
using Sequence = std::vector<What>;

// Whose order is on a stream of its own: what the compute stream does in the plan's order is not looked at.
bool Looks(const InstructionProgram &instruction) {
  return instruction.on_stream() && (instruction.runs_on.kind != StreamInfo::kCompute || instruction.deferred);
}

// Instructions have their numbers as names, and priorities at random, so that what is urgent is not what comes first.
DrawnPlan Draw(std::mt19937_64 &random) {
  for (;;) {
    DrawnPlan plan = DrawPlan(random);
    plan::Function &step = *plan.proto.mutable_functions(0);
    int looked_at = 0;
    for (int i = 0; i < step.instructions_size(); ++i) {
      plan::Instruction &instruction = *step.mutable_instructions(i);
      instruction.set_name(absl::StrCat(i));
      looked_at += instruction.has_copy() || instruction.deferred();
      if (!instruction.has_communicate()) instruction.set_priority(int32_t(random() % 5));
    }
    if (looked_at < 3 || !step.is_step()) continue;
    plan.proto.set_module_name("test");
    plan.bytes = plan::Serialize(plan.proto);
    return plan;
  }
}

// ---- the device ----------------------------------------------------------------------------------

// By rank, what has run on each of its streams, in order.
std::vector<std::vector<Sequence>> OnStreams(const DrawnPlan &plan, const std::shared_ptr<const PlanImage> &image,
                                             uint64_t seed) {
  std::vector<std::vector<Sequence>> streams(size_t(plan.ranks()));
  DeviceJobOptions options;
  options.seed = seed;
  options.kernels = [&plan](const std::string &, const std::string &name) -> const FakeKernel * {
    const auto at = plan.fakes.find(name);
    return at == plan.fakes.end() ? nullptr : &at->second;
  };
  // With times, nothing is launched as a graph: each op has its name.
  TraceRecorder trace{Clock::time_point()};
  options.change = [&](int, DeviceExecutorOptions &of) { of.trace = &trace; };
  DeviceJob job(image, options);
  EXPECT_TRUE(job.status.ok()) << job.status;
  if (!job.status.ok()) return streams;
  job.machine().KeepTimes();
  auto zeros = std::make_shared<std::vector<std::byte>>(1000);
  absl::Status status;
  for (uint64_t step = 0; step < kSteps && status.ok(); ++step)
    status = job.ForAll([&](int r) {
      BatchRows rows;
      rows.data.assign(BatchesOf(plan.proto.functions(0)).size(), zeros->data());
      rows.owner = zeros;
      return job.rank(r).Enqueue(0, std::move(rows)).status();
    });
  status.Update(job.ForAll([&](int r) { return job.rank(r).Drain(); }));
  EXPECT_TRUE(status.ok()) << status;
  std::map<std::pair<int, uint32_t>, Sequence> found;
  const auto program = *image->ForRank(0);
  const FunctionProgram &function = program->functions[0];
  for (const FakeRun &run : job.machine().Runs()) {
    // rank 1: "7" of step 3
    if (!absl::StartsWith(run.name, "rank ")) continue;
    const size_t quote = run.name.find('"'), end = run.name.rfind("\" of step ");
    const std::string name = run.name.substr(quote + 1, end - quote - 1);
    if (name.find_first_not_of("0123456789") != name.npos) continue;  // a batch or a metric
    const auto instruction = uint32_t(std::stoul(name));
    if (Looks(function.instructions[instruction]))
      found[{std::stoi(run.name.substr(5)), run.stream}].push_back({std::stoull(run.name.substr(end + 10)), instruction});
  }
  job.Finish();
  for (auto &[stream, sequence] : found) streams[size_t(stream.first)].push_back(std::move(sequence));
  return streams;
}

// A plan, and on which streams its copies are.
struct Drawn {
  explicit Drawn(uint32_t seed) : random(seed), plan(Draw(random)) {
    auto loaded = PlanImage::Load(plan.bytes);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    image = *std::move(loaded);
    streams = OnStreams(plan, image, random());
  }

  std::mt19937_64 random;
  DrawnPlan plan;
  std::shared_ptr<const PlanImage> image;
  std::vector<std::vector<Sequence>> streams;
};

// What is in another order than on these streams; empty: nothing.
std::string Differs(const std::vector<Sequence> &streams, const Sequence &other) {
  size_t looked_at = 0;
  for (const Sequence &stream : streams) {
    const std::set<What> members(stream.begin(), stream.end());
    Sequence same;
    for (const What &what : other)
      if (members.contains(what)) same.push_back(what);
    looked_at += same.size();
    if (same == stream) continue;
    const auto [a, b] = std::mismatch(same.begin(), same.end(), stream.begin(), stream.end());
    return absl::StrCat("instruction ", b == stream.end() ? -1 : int(b->second), " of step ",
                        b == stream.end() ? -1 : int(b->first), " should be next, got: ",
                        a == same.end() ? -1 : int(a->second), " of step ", a == same.end() ? -1 : int(a->first));
  }
  return looked_at == other.size() ? "" : "there is more than on the streams";
}

// ---- the simulator -------------------------------------------------------------------------------

std::string Measured(const PlanImage &image, std::mt19937_64 &random) {
  ProfileRecorder profile;
  const auto program = *image.ForRank(0);
  for (uint32_t i = 0; i < program->functions[0].instructions.size(); ++i) {
    if (!program->functions[0].instructions[i].on_stream()) continue;
    const int64_t ns = 1 + int64_t(random() % 100'000);
    for (uint64_t n = 0; n <= ProfileRecorder::kWarmUp; ++n) profile.Add(*program, 0, i, ns, false);
  }
  return profile.ToJson().value_or("");
}

TEST(DeviceOrder, TheSimulatorsIsThatOfTheStreams) {
  size_t simulated = 0, compared = 0;
  for (Cases cases = casesOf(60); cases.first < cases.end && !::testing::Test::HasFailure(); ++cases.first) {
    SCOPED_TRACE(cases.first);
    auto [random, plan, image, streams] = Drawn(cases.first);
    TraceRecorder trace{Clock::time_point()};
    SimulationOptions options;
    options.steps = kSteps;
    options.every_rank = true;
    options.trace = &trace;
    options.profile = Measured(*image, random);
    options.calibration = absl::StrCat(
        R"({"format":"commsched calibration","version":1,"module":"test","exchanges":[],"compute":[],"copies":[],)",
        R"("links":[{"from":"rank 0","latency_ns":)", random() % 50'000, R"(,"overhead_ns":100,"bits_per_s":)",
        1'000'000 + random() % 1'000'000'000, R"(}],"nccl":[)");
    if (plan.ranks() > 1)
      absl::StrAppend(&options.calibration, R"({"ranks":)", plan.ranks(), R"(,"bytes":64,"ns":)", random() % 90'000, "}");
    options.calibration += "]}";
    for (int r = 0; r < plan.ranks(); ++r) options.stragglers[r] = 1 + double(random() % 1000) / 500;
    auto result = runtime::Simulate(*image, options);
    if (absl::IsUnimplemented(result.status())) continue;
    ASSERT_TRUE(result.ok()) << result.status();
    ++simulated;
    std::vector<TraceSpan> spans = trace.spans();
    std::stable_sort(spans.begin(), spans.end(),
                     [](const TraceSpan &a, const TraceSpan &b) { return a.begin < b.begin; });
    const auto program = *image->ForRank(0);
    const FunctionProgram &function = program->functions[0];
    std::vector<Sequence> order(size_t(plan.ranks()));
    for (const TraceSpan &span : spans) {
      if (span.name.find_first_not_of("0123456789") != span.name.npos) continue;
      const auto instruction = uint32_t(std::stoul(span.name));
      if (Looks(function.instructions[instruction])) order[size_t(span.rank)].push_back({span.step, instruction});
    }
    for (int r = 0; r < plan.ranks(); ++r) {
      EXPECT_EQ(Differs(streams[size_t(r)], order[size_t(r)]), "") << "rank " << r;
      compared += order[size_t(r)].size();
    }
  }
  const size_t enough = casesOf(60).count() < 60 ? casesOf(60).count() / 4 : 20;
  EXPECT_GT(simulated, enough);
  EXPECT_GT(compared, enough * kSteps);
}

// ---- core::Calls ---------------------------------------------------------------------------------

// The order in which copies begin where what is under way ends in any order.
Sequence ByCalls(const Program &program, const FunctionProgram &function, std::mt19937_64 &random) {
  core::Calls calls(program.streams);
  core::Calls::Actions actions;
  std::vector<std::unique_ptr<core::Call>> made;
  std::vector<std::pair<core::Call *, uint32_t>> under_way;
  std::vector<bool> busy(program.streams.size(), false);
  Sequence order;
  const auto act = [&] {
    under_way.insert(under_way.end(), actions.begin.begin(), actions.begin.end());
    actions.clear();
  };
  const auto admit = [&] {
    while (calls.Retire() != nullptr) {
    }
    while (made.size() < kSteps && calls.MayBegin(function)) {
      core::Call &call = *made.emplace_back(std::make_unique<core::Call>());
      call.program = &function;
      call.number = made.size() - 1;
      calls.Begin(&call, 0, &actions);
      act();
    }
  };
  for (admit(); !calls.empty();) {
    for (uint32_t s = 0; s < busy.size(); ++s) {
      core::Call *call = nullptr;
      uint32_t index = 0;
      if (busy[s] || !calls.Next(s, &call, &index)) continue;
      busy[s] = true;
      under_way.emplace_back(call, index);
      if (Looks(function.instructions[index])) order.push_back({call->number, index});
    }
    if (under_way.empty()) {
      ADD_FAILURE() << "nothing is under way, and nothing can begin";
      break;
    }
    std::swap(under_way[random() % under_way.size()], under_way.back());
    const auto [call, index] = under_way.back();
    under_way.pop_back();
    if (function.instructions[index].on_stream()) busy[function.instructions[index].stream] = false;
    const bool retires = calls.Complete(call, index, 0, &actions);
    act();
    if (retires) admit();
  }
  return order;
}

TEST(DeviceOrder, ThatOfEmulationIsThatOfTheStreams) {
  size_t most_urgent_first = 0, of_plan = 0, cases_run = 0;
  for (Cases cases = casesOf(100); cases.first < cases.end && !::testing::Test::HasFailure(); ++cases.first) {
    SCOPED_TRACE(cases.first);
    auto [random, plan, image, streams] = Drawn(cases.first);
    for (int r = 0; r < plan.ranks(); ++r) {
      const auto program = *image->ForRank(r);
      const FunctionProgram &function = program->functions[0];
      for (int run = 0; run < 3; ++run)
        EXPECT_EQ(Differs(streams[size_t(r)], ByCalls(*program, function, random)), "") << "rank " << r;
      ++cases_run;
      // Engines that take the most urgent copy that is ready, and streams in the plan's own order.
      FunctionProgram other = function;
      other.lanes.clear();
      other.turns.clear();
      most_urgent_first += !Differs(streams[size_t(r)], ByCalls(*program, other, random)).empty();
      other = function;
      for (DeviceLane &lane : other.lanes) std::sort(lane.instructions.begin(), lane.instructions.end());
      const bool same = std::equal(function.lanes.begin(), function.lanes.end(), other.lanes.begin(),
                                   [](const DeviceLane &a, const DeviceLane &b) { return a.instructions == b.instructions; });
      of_plan += !same;
    }
  }
  EXPECT_GT(most_urgent_first, cases_run / (casesOf(100).count() < 100 ? 8 : 4));
  EXPECT_GT(of_plan, 0u);
}

}  // namespace
}  // namespace commsched::runtime::cuda::device_order_test
