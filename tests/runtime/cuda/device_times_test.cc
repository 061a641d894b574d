// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces and profiles of drawn plans on a machine whose time is known: each op on the device has one span in each
// step, which is when the machine has run it; what the plan orders is in order; the profile is what the machine has
// taken. And that events in the wrong place are found so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/device_job.h"
#include "tests/runtime/cuda/drawn_plan.h"

namespace commsched::runtime::cuda {
namespace {

using R = DriverResult;

// ---- faults: what a driver does that is called in the wrong place ----------------------------------

enum class Fault {
  kNone,
  kBefore,       // the event behind a copy is recorded before it
  kWrongStream,  // an event is recorded on another stream, now and then
  kMissing,      // a step is not recorded
  kOff           // nothing is asked for
};
// Of the run; the driver's functions have no argument for it.
struct FaultyDriver {
  std::mutex mu;
  Fault fault = Fault::kNone;
  std::set<Event> timing;
  std::vector<Stream> streams;  // of timing events
  uint64_t records = 0;
};
FaultyDriver faulty;

struct Copy {
  DevicePtr to = 0, from = 0;
  size_t bytes = 0;
  Stream stream = nullptr;
};
thread_local std::vector<Copy> delayed;
// Whether the last timing event of this thread was one before an op.
thread_local bool inside = false;
// That of the events from which the others count: it is made when they are first needed.
thread_local Stream reference = nullptr;

R FaultyStreamCreate(Stream *stream, unsigned flags, int priority) {
  const R result = kFakeDriver.StreamCreateWithPriority(stream, flags, priority);
  reference = *stream;
  return result;
}

R FaultyEventCreate(Event *event, unsigned flags) {
  const R result = kFakeDriver.EventCreate(event, flags);
  std::lock_guard<std::mutex> lock(faulty.mu);
  if (flags == kEventDefault) faulty.timing.insert(*event);
  return result;
}
R FaultyMemcpyAsync(DevicePtr to, DevicePtr from, size_t bytes, Stream stream) {
  if (faulty.fault != Fault::kBefore || !inside) return kFakeDriver.MemcpyAsync(to, from, bytes, stream);
  delayed.push_back({to, from, bytes, stream});
  return R::kSuccess;
}
R FaultyEventRecord(Event event, Stream stream) {
  Stream on = stream;
  {
    std::lock_guard<std::mutex> lock(faulty.mu);
    if (faulty.timing.count(event) != 0 && stream != reference) {
      inside = !inside;
      if (inside) FakeMachine::LookAtClock();
      if (std::find(faulty.streams.begin(), faulty.streams.end(), stream) == faulty.streams.end())
        faulty.streams.push_back(stream);
      if (faulty.fault == Fault::kWrongStream && ++faulty.records % 7 == 0) {
        for (Stream other : faulty.streams)
          if (other != stream) on = other;
      }
    }
  }
  const R result = kFakeDriver.EventRecord(event, on);
  for (const Copy &copy : std::exchange(delayed, {}))
    kFakeDriver.MemcpyAsync(copy.to, copy.from, copy.bytes, copy.stream);
  return result;
}

// ---- a run ---------------------------------------------------------------------------------------

struct TimedRun {
  absl::Status status;
  DeviceJob::End end;
  std::vector<TraceSpan> spans;
  std::vector<std::string> profiles;  // of each rank; empty: none
  std::vector<FakeRun> runs;
  std::vector<int> functions;  // of each call
};

TimedRun RunTimed(const DrawnPlan &plan, uint64_t seed, Fault fault) {
  TimedRun result;
  std::mt19937_64 random(seed);
  auto image = PlanImage::Load(plan.bytes);
  if (!image.ok()) {
    result.status = image.status();
    return result;
  }
  DriverApi driver = kFakeDriver;
  {
    std::lock_guard<std::mutex> lock(faulty.mu);
    faulty.fault = fault;
    faulty.timing.clear();
    faulty.streams.clear();
    faulty.records = 0;
    driver.StreamCreateWithPriority = FaultyStreamCreate;
    driver.EventCreate = FaultyEventCreate;
    driver.EventRecord = FaultyEventRecord;
    driver.MemcpyAsync = FaultyMemcpyAsync;
  }
  TraceRecorder trace{Clock::time_point()};
  trace.Enable(fault != Fault::kOff);
  std::vector<std::unique_ptr<ProfileRecorder>> profiles;
  for (int r = 0; r < plan.ranks(); ++r) profiles.push_back(std::make_unique<ProfileRecorder>());
  DeviceJobOptions options;
  options.seed = random();
  options.kernels = [&plan](const std::string &, const std::string &name) -> const FakeKernel * {
    const auto at = plan.fakes.find(name);
    return at == plan.fakes.end() ? nullptr : &at->second;
  };
  options.change = [&](int r, DeviceExecutorOptions &of) {
    of.driver = &driver;
    of.trace = &trace;
    // A profile times all calls.
    if (fault != Fault::kMissing && fault != Fault::kOff) of.profile = profiles[size_t(r)].get();
  };
  DeviceJob job(*image, options);
  result.status = job.status;
  if (!result.status.ok()) return result;
  job.machine().KeepTimes();
  auto zeros = std::make_shared<std::vector<std::byte>>(1000);
  const uint64_t missing = 2 + random() % 5;
  for (uint64_t call = 0; call < 9 && result.status.ok(); ++call) {
    const int function = plan.proto.functions_size() > 1 && random() % 5 == 0 ? 1 : 0;
    result.functions.push_back(function);
    if (fault == Fault::kMissing && (call == missing || call == missing + 1)) {
      result.status.Update(job.ForAll([&](int r) { return job.rank(r).Drain(); }));
      trace.Enable(call != missing);
    }
    result.status.Update(job.ForAll([&](int r) {
      BatchRows rows;
      rows.data.assign(BatchesOf(plan.proto.functions(function)).size(), zeros->data());
      rows.owner = zeros;
      return job.rank(r).Enqueue(function, std::move(rows)).status();
    }));
  }
  result.status.Update(job.ForAll([&](int r) { return job.rank(r).Drain(); }));
  result.runs = job.machine().Runs();
  result.end = job.Finish();
  result.spans = trace.spans();
  for (const auto &profile : profiles) result.profiles.push_back(profile->ToJson().value_or(""));
  return result;
}

// ---- what is wrong with it -----------------------------------------------------------------------

// Of an op on the device, by rank, step, name, and which of this name.
using Key = std::tuple<int, uint64_t, std::string, int>;
struct Interval {
  int64_t begin = 0, end = 0;  // ns
  int64_t units = 0;           // that the machine has needed
};

// What ops on the device of a call are called: of instructions, then of batches and metrics.
std::vector<std::string> NamesOf(const plan::Function &function) {
  std::vector<std::string> names;
  for (const plan::Instruction &i : function.instructions()) {
    if (!i.has_communicate() || i.communicate().has_nccl()) names.push_back(i.name());
  }
  for (const auto &[name, bytes] : BatchesOf(function)) names.push_back("batch " + name);
  for (const plan::Output &output : function.outputs()) names.push_back("metric " + output.metric());
  return names;
}

// When the machine has run them.
std::map<Key, Interval> Known(const TimedRun &run, int ranks) {
  std::map<Key, Interval> known;
  std::map<uint32_t, Interval *> open;  // of each stream
  for (const FakeRun &each : run.runs) {
    Interval *&last = open[each.stream];
    if (!absl::StartsWith(each.name, "rank ")) {
      // A further launch of the same fragment, or a copy of slots.
      if (last != nullptr) last->end = FakeNsOf(each.end), last->units += each.end - each.begin;
      continue;
    }
    // rank 1: "w" of step 7
    const size_t quote = each.name.find('"'), end = each.name.rfind("\" of step ");
    const int rank = std::atoi(each.name.c_str() + 5);
    const uint64_t step = std::strtoull(each.name.c_str() + end + 10, nullptr, 10);
    const std::string name = each.name.substr(quote + 1, end - quote - 1);
    int which = 0;
    while (known.count({rank, step, name, which}) != 0) ++which;
    last = &known[{rank, step, name, which}];
    *last = {FakeNsOf(each.begin), FakeNsOf(each.end), each.end - each.begin};
  }
  return known;
}

std::string Text(const Key &key) {
  return absl::StrCat("rank ", std::get<0>(key), " step ", std::get<1>(key), " \"", std::get<2>(key), "\" ",
                      std::get<3>(key));
}

class Checker {
 public:
  Checker(const DrawnPlan &plan, const TimedRun &run) : plan_(plan), run_(run) {}

  std::vector<std::string> Problems() {
    if (!run_.status.ok()) problems_.push_back(std::string(run_.status.message()));
    known_ = Known(run_, plan_.ranks());
    TakeSpans();
    CheckOnce();
    CheckTimes();
    for (int r = 0; r < plan_.ranks(); ++r) {
      CheckOrder(r);
      if (!run_.profiles[size_t(r)].empty()) CheckProfile(r);
    }
    return problems_;
  }

 private:
  // Less than a unit of the machine, more than numbers are rounded by.
  static constexpr int64_t kRounded = 100;
  void Find(std::string what) {
    if (problems_.size() < 5) problems_.push_back(std::move(what));
  }
  const plan::Function &FunctionOf(uint64_t step) const { return plan_.proto.functions(run_.functions[step]); }

  void TakeSpans() {
    for (const TraceSpan &span : run_.spans) {
      if (span.track == TraceSpan::kSend || span.track == TraceSpan::kReceive) continue;
      int which = 0;
      while (spans_.count({span.rank, span.step, span.name, which}) != 0) ++which;
      spans_[{span.rank, span.step, span.name, which}] = {span.begin.time_since_epoch().count(),
                                                          span.end.time_since_epoch().count()};
      tracks_[{span.rank, int(span.track)}].push_back({span.begin.time_since_epoch().count(),
                                                       span.end.time_since_epoch().count()});
    }
  }

  // Each instruction on the device, each batch and metric is there once in each step, and nothing else.
  void CheckOnce() {
    std::set<Key> wanted;
    for (uint64_t step = 0; step < run_.functions.size(); ++step) {
      for (int r = 0; r < plan_.ranks(); ++r) {
        for (const std::string &name : NamesOf(FunctionOf(step))) {
          int which = 0;
          while (!wanted.insert({r, step, name, which}).second) ++which;
        }
      }
    }
    for (const Key &key : wanted)
      if (spans_.count(key) == 0) Find(absl::StrCat(Text(key), " has no span"));
    for (const auto &[key, span] : spans_)
      if (wanted.count(key) == 0) Find(absl::StrCat(Text(key), " is a span of nothing"));
    // Rows of a viewer.
    for (auto &[track, spans] : tracks_) {
      std::sort(spans.begin(), spans.end());
      for (size_t i = 1; i < spans.size(); ++i)
        if (spans[i].first < spans[i - 1].second - 1)
          Find(absl::StrCat("spans of rank ", track.first, ", track ", track.second, " overlap"));
    }
  }

  // They are when the machine has run them, by a clock of each rank.
  void CheckTimes() {
    std::map<int, int64_t> offsets;
    for (const auto &[key, span] : spans_) {
      const auto at = known_.find(key);
      if (at == known_.end()) {
        Find(absl::StrCat(Text(key), " has not run"));
        continue;
      }
      const int64_t offset = offsets.emplace(std::get<0>(key), span.begin - at->second.begin).first->second;
      if (std::abs(span.begin - at->second.begin - offset) > kRounded ||
          std::abs(span.end - at->second.end - offset) > kRounded)
        Find(absl::StrCat(Text(key), " is said to be at ", span.begin - offset, " to ", span.end - offset,
                          ", was at ", at->second.begin, " to ", at->second.end));
    }
  }

  // What the plan orders, also through messages, which are on the host.
  void CheckOrder(int r) {
    std::vector<int64_t> before;  // the ends of the call before, of the same function
    for (uint64_t step = 0; step < run_.functions.size(); ++step) {
      const plan::Function &f = FunctionOf(step);
      const bool follows = step > 0 && run_.functions[step - 1] == run_.functions[step];
      std::vector<int64_t> ends(size_t(f.instructions_size()), INT64_MIN);
      std::map<std::string, int> count;
      // Dependences within a call are on earlier instructions.
      for (int i = 0; i < f.instructions_size(); ++i) {
        const plan::Instruction &instruction = f.instructions(i);
        int64_t from = INT64_MIN;
        for (const plan::Dependence &d : instruction.dependences()) {
          if (d.distance() == 0) from = std::max(from, ends[d.instruction()]);
          if (d.distance() == 1 && follows) from = std::max(from, before[d.instruction()]);
        }
        const bool on_host = instruction.has_communicate() && !instruction.communicate().has_nccl();
        ends[size_t(i)] = from;
        if (on_host) continue;
        const Key key{r, step, instruction.name(), count[instruction.name()]++};
        const auto span = spans_.find(key);
        if (span == spans_.end()) continue;
        if (span->second.begin + 1 < from) Find(absl::StrCat(Text(key), " begins before what it depends on ends"));
        ends[size_t(i)] = std::max(from, span->second.end);
      }
      before = std::move(ends);
    }
  }

  // Fragments and copies of steps, without the first ones.
  void CheckProfile(int r) {
    const plan::Function &f = plan_.proto.functions(0);
    std::vector<uint64_t> steps;
    for (uint64_t step = 0; step < run_.functions.size(); ++step)
      if (run_.functions[step] == 0) steps.push_back(step);
    if (steps.size() <= ProfileRecorder::kWarmUp) return;
    steps.erase(steps.begin(), steps.begin() + ProfileRecorder::kWarmUp);
    std::map<std::string, int> count;
    size_t at = 0;
    for (const plan::Instruction &instruction : f.instructions()) {
      const int which = count[instruction.name()]++;
      if (instruction.has_communicate()) continue;
      std::vector<int64_t> all, quiet;
      for (uint64_t step : steps) {
        const Interval &interval = known_[{r, step, instruction.name(), which}];
        all.push_back(FakeNsOf(interval.units));
        if (!Communicates(r, interval)) quiet.push_back(all.back());
      }
      std::string wanted = absl::StrCat("{\"label\":\"", instruction.name(), "\",\"device\":0,\"kind\":\"",
                                        instruction.has_launch() ? "run" : "copy", "\",\"count\":", all.size(),
                                        ",\"median_ns\":", MedianOf(all), ",\"min_ns\":",
                                        *std::min_element(all.begin(), all.end()), ",\"max_ns\":",
                                        *std::max_element(all.begin(), all.end()), ",\"quiet_count\":");
      // When messages are under way is the host's, which is in no hurry here.
      if (!plan_.messages) {
        absl::StrAppend(&wanted, quiet.size());
        if (!quiet.empty()) absl::StrAppend(&wanted, ",\"quiet_median_ns\":", MedianOf(quiet));
        wanted += "}";
      }
      at = run_.profiles[size_t(r)].find(wanted, at);
      if (at == std::string::npos) {
        Find(absl::StrCat("rank ", r, "'s profile has no ", wanted));
        return;
      }
      at += wanted.size();
    }
    if (run_.profiles[size_t(r)].find("{\"label\"", at) != std::string::npos)
      Find(absl::StrCat("rank ", r, "'s profile has more than the plan"));
  }
  static int64_t MedianOf(std::vector<int64_t> values) {
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 2];
  }
  bool Communicates(int r, const Interval &interval) const {
    for (const auto &[key, other] : known_) {
      if (std::get<0>(key) != r || !absl::StartsWith(std::get<2>(key), "nccl ")) continue;
      if (other.begin < interval.end && interval.begin < other.end) return true;
    }
    return false;
  }

  const DrawnPlan &plan_;
  const TimedRun &run_;
  std::map<Key, Interval> known_, spans_;
  std::map<std::pair<int, int>, std::vector<std::pair<int64_t, int64_t>>> tracks_;
  std::vector<std::string> problems_;
};

TEST(DeviceTimesTest, AreThoseOfTheMachine) {
  const Cases cases = casesOf(60);
  int deferred = 0, collectives = 0, messages = 0;
  for (uint32_t seed = cases.first; seed < cases.end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawPlan(random);
    const TimedRun run = RunTimed(plan, random(), Fault::kNone);
    ASSERT_TRUE(run.status.ok()) << run.status;
    EXPECT_THAT(run.end.findings, ::testing::IsEmpty());
    EXPECT_EQ(run.end.left, 0u);
    EXPECT_THAT(Checker(plan, run).Problems(), ::testing::IsEmpty());
    for (const TraceSpan &span : run.spans) {
      deferred += span.track == TraceSpan::kDeferred;
      collectives += span.track == TraceSpan::kNccl;
      messages += span.track == TraceSpan::kSend;
    }
  }
  EXPECT_GT(std::min({deferred, collectives, messages}), 0);
}

// A trace that may begin and has not costs nothing: no event with a time is even made.
TEST(DeviceTimesTest, NothingIsRecordedThatNobodyAsksFor) {
  for (uint32_t seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawPlan(random);
    const TimedRun run = RunTimed(plan, random(), Fault::kOff);
    ASSERT_TRUE(run.status.ok()) << run.status;
    EXPECT_THAT(run.spans, ::testing::IsEmpty());
    EXPECT_THAT(faulty.timing, ::testing::IsEmpty());
  }
}

// The same driver as above, but for the fault.
TEST(DeviceTimesTest, EventsInTheWrongPlaceAreFound) {
  const Cases cases = casesOf(25);
  for (uint32_t seed = cases.first; seed < cases.end && !::testing::Test::HasFailure(); ++seed) {
    for (Fault fault : {Fault::kBefore, Fault::kWrongStream, Fault::kMissing}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " fault " << int(fault));
      std::mt19937_64 random(seed);
      DrawnPlan plan = DrawPlan(random);
      const auto copies = [](const DrawnPlan &of) {
        const auto &all = of.proto.functions(0).instructions();
        return std::any_of(all.begin(), all.end(), [](const plan::Instruction &i) { return i.has_copy(); });
      };
      while (!copies(plan)) plan = DrawPlan(random);
      const TimedRun run = RunTimed(plan, random(), fault);
      EXPECT_THAT(Checker(plan, run).Problems(), ::testing::Not(::testing::IsEmpty()));
      EXPECT_EQ(run.end.left, 0u);
    }
  }
}

}  // namespace
}  // namespace commsched::runtime::cuda
