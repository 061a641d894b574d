// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulator and the threads of a run do the same things in the same order: a random
// plan is simulated, and run with real executors whose code and messages end when, and in
// the order in which, they ended in the simulation. Between two of them the test waits
// until all threads sleep, so that no timing is left: on every stream and every link the
// same things must begin in the same order.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ops/registry.h"
#include "runtime/base/sync.h"
#include "runtime/execute/executor.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/measure/profile.h"
#include "runtime/simulator/simulator.h"
#include "tests/runtime/plan_builder.h"

namespace commsched::runtime {
namespace {

// --- Threads --------------------------------------------------------------------

// How often the other threads of this process have gone to sleep or been stopped; nothing
// if one of them runs.
std::optional<uint64_t> Switches() {
  uint64_t sum = 0;
  const std::string self = std::to_string(syscall(SYS_gettid));
  DIR *folder = opendir("/proc/self/task");
  bool sleep = folder != nullptr;
  while (const dirent *entry = sleep ? readdir(folder) : nullptr) {
    if (entry->d_name[0] == '.' || self == entry->d_name) continue;
    std::ifstream file(absl::StrCat("/proc/self/task/", entry->d_name, "/status"));
    std::string line;
    while (std::getline(file, line)) {
      uint64_t count = 0;
      if (absl::StartsWith(line, "State:")) sleep &= absl::StrContains(line, "S (");
      if (absl::StrContains(line, "ctxt_switches:") &&
          absl::SimpleAtoi(line.substr(line.find('\t') + 1), &count))
        sum += count;
    }
  }
  closedir(folder);
  return sleep ? std::optional(sum) : std::nullopt;
}

// Who wakes up another thread does so before it sleeps: if all slept twice, and none was
// awake between, nothing happens any more.
void AwaitSleep() {
  for (std::optional<uint64_t> last;;) {
    const std::optional<uint64_t> now = Switches();
    if (now && last == now) return;
    last = now;
    usleep(50);
  }
}

// --- What begins ------------------------------------------------------------------

// A stream or a link of a rank.
struct Lane {
  int rank = 0;
  TraceSpan::Track track = TraceSpan::kCompute;
  int peer = 0;
  auto operator<=>(const Lane &) const = default;
};
// An instruction or a message on it: those of one name and call are alike.
using What = std::pair<std::string, uint64_t>;

class Threads {
 public:
  static Threads &Get() {
    static auto *threads = new Threads;
    return *threads;
  }
  void Clear() {
    MutexLock lock(&mu_);
    begun_.clear();
    ends_.clear();
    over_ = false;
  }
  void Begin(const Lane &lane, const What &what, Transport::Done end) {
    {
      MutexLock lock(&mu_);
      begun_[lane].push_back(what);
      if (!over_) {
        ends_[{lane, what}].push_back(std::move(end));
        return;
      }
    }
    end(absl::CancelledError("over"));
  }
  // Ends the first of these that has not ended; false if there is none.
  bool End(const Lane &lane, const What &what) {
    Transport::Done end;
    {
      MutexLock lock(&mu_);
      auto it = ends_.find({lane, what});
      if (it == ends_.end() || it->second.empty()) return false;
      end = std::move(it->second.front());
      it->second.erase(it->second.begin());
    }
    end(absl::OkStatus());
    return true;
  }
  std::map<Lane, std::vector<What>> begun() {
    MutexLock lock(&mu_);
    return begun_;
  }
  // Lets everything end, and what begins later.
  void EndAll() {
    std::vector<Transport::Done> all;
    {
      MutexLock lock(&mu_);
      over_ = true;
      for (auto &[what, ends] : ends_)
        for (Transport::Done &end : ends) all.push_back(std::move(end));
      ends_.clear();
    }
    for (Transport::Done &end : all) end(absl::CancelledError("over"));
  }

 private:
  Mutex mu_;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  std::map<Lane, std::vector<What>> begun_ ABSL_GUARDED_BY(mu_);
  std::map<std::pair<Lane, What>, std::vector<Transport::Done>> ends_ ABSL_GUARDED_BY(mu_);
};

// A fragment's kernel, which ends when it is told to. Its operand says which it is: the
// rank, the instruction and, counted here, the call.
class Gate : public ops::KernelInstance {
 public:
  absl::Status Run(void *const *operands, void *) override {
    const auto *id = static_cast<const int32_t *>(operands[0]);
    Mutex mu;
    CondVar changed;
    bool over = false;
    Threads::Get().Begin({id[0], TraceSpan::kCompute, 0},
                         {absl::StrCat("i", id[1]), calls_[id[1]]++}, [&](absl::Status) {
                           MutexLock lock(&mu);
                           over = true;
                           changed.SignalAll();
                         });
    MutexLock lock(&mu);
    while (!over) changed.Wait(&mu);
    return absl::OkStatus();
  }
  std::string implementation() const override { return "gate"; }

 private:
  std::map<int32_t, uint64_t> calls_;
};

// Of one rank: what is sent and received ends when it is told to.
class GatedTransport : public Transport {
 public:
  GatedTransport(int rank, int nodes, std::vector<std::string> keys)
      : rank_(rank), nodes_(nodes), keys_(std::move(keys)) {}
  int rank() const override { return rank_; }
  int nodes() const override { return nodes_; }
  const char *name() const override { return "gated"; }
  void Send(int peer, MessageTag tag, int32_t, absl::Span<const std::byte>, Done done) override {
    Threads::Get().Begin({rank_, TraceSpan::kSend, peer}, {keys_[tag.key], tag.step},
                         std::move(done));
  }
  void Recv(int peer, MessageTag tag, absl::Span<std::byte>, Done done) override {
    Threads::Get().Begin({rank_, TraceSpan::kReceive, peer}, {keys_[tag.key], tag.step},
                         std::move(done));
  }
  void RecvStream(int peer, MessageTag tag, size_t, size_t, Sink, Done done) override {
    Recv(peer, tag, {}, std::move(done));
  }
  void Abort(const absl::Status &) override {}
  void Close(absl::Duration) override {}
  uint64_t bytes_sent() const override { return 0; }
  uint64_t bytes_received() const override { return 0; }

 private:
  const int rank_, nodes_;
  const std::vector<std::string> keys_;
};

// --- Plans ------------------------------------------------------------------------

struct Case {
  std::string plan;
  std::vector<std::string> keys;
  int nodes = 2, instructions = 0;
  uint64_t steps = 2;
};

Case RandomCase(std::mt19937_64 &random) {
  Case c;
  c.nodes = 2 + int(random() % 3);
  c.steps = 2 + random() % 3;
  const int parameters = 1 + int(random() % 8);
  c.instructions = 2 * parameters;
  testing::PlanBuilder plan(c.nodes);
  auto f = plan.Function("step");
  const uint32_t ids = f.Batch("ids", plan::I32, {2 * c.instructions});
  auto gate = [&](int number, std::vector<testing::FunctionBuilder::Wait> waits, bool deferred) {
    const uint32_t id = f.Part(ids, uint64_t(8 * number), plan::I32, {2});
    const uint32_t out = f.Arena(plan::F32, {1});
    const uint32_t index = f.Run("product", {id, id}, {out}, std::move(waits), deferred);
    f.proto()->mutable_instructions(int(index))->set_name(absl::StrCat("i", number));
    return index;
  };
  // Gradients, their sums, and updates; the next call's gradients wait for these.
  const uint32_t first_update = uint32_t(2 * parameters);
  std::vector<uint32_t> gradients, sums;
  for (int p = 0; p < parameters; ++p)
    gradients.push_back(gate(p, {{first_update + uint32_t(p), 1}}, false));
  for (int p = 0; p < parameters; ++p) {
    const bool doubling = (c.nodes & (c.nodes - 1)) == 0 && random() % 2 == 0;
    auto phases = doubling ? testing::DoublingAllReduce(c.nodes, plan::SUM)
                           : testing::RingAllReduce(c.nodes, plan::SUM, 0);
    for (plan::Phase &phase : phases) phase.set_priority(int32_t(random() % 3));
    c.keys.push_back(absl::StrCat("k", p));
    const uint32_t buffer = f.Arena(plan::F32, {1000 + int64_t(random() % 100000)});
    sums.push_back(f.Communicate(c.keys.back(), buffer, phases, {{gradients[size_t(p)]}}));
  }
  for (int p = 0; p < parameters; ++p)
    gate(parameters + p, {{sums[size_t(p)]}}, random() % 2 == 0);
  // Messages are of 400 KB at most.
  if (random() % 2 == 0) f.proto()->set_credit_bytes(1 + random() % 200000);
  plan::Kernel *kernel = plan.proto().add_kernels();
  kernel->set_kind("test_gate");
  c.plan = plan.Bytes();
  return c;
}

struct End {
  Lane lane;
  What what;
};

class Order {
 public:
  explicit Order(uint64_t seed) : random_(seed), case_(RandomCase(random_)) {}

  // False if nothing can be said: two things of one rank end at once.
  bool Check() {
    auto image = PlanImage::Load(case_.plan);
    EXPECT_TRUE(image.ok()) << image.status();
    if (!image.ok()) return false;
    image_ = *image;
    const bool distinct = Simulate();
    if (distinct) Run();
    return distinct;
  }

 private:
  bool Simulate() {
    ProfileRecorder profile;
    for (int r = 0; r < case_.nodes; ++r) {
      const auto program = *image_->ForRank(r);
      for (uint32_t i = 0; i < program->functions[0].instructions.size(); ++i) {
        if (!program->functions[0].instructions[i].on_stream()) continue;
        const int64_t ns = 1000 + int64_t(random_() % 2000000);
        for (uint64_t n = 0; n <= ProfileRecorder::kWarmUp; ++n)
          profile.Add(*program, 0, i, ns, false);
      }
    }
    TraceRecorder trace{Clock::time_point()};
    SimulationOptions options;
    options.steps = case_.steps;
    options.every_rank = true;
    options.profile = *profile.ToJson();
    options.calibration = absl::StrCat(
        R"({"format": "commsched calibration", "version": 1, "module": "test", "exchanges": [], "compute": [], )",
        R"("links": [{"from": "rank 0", "to": "rank 1", )",
        R"("bits_per_s": )", 100000000 + random_() % 1000000000, R"(, "latency_ns": )",
        random_() % 100000, R"(, "overhead_ns": )", random_() % 20000, "}]}");
    options.engine_ns = 0;
    options.trace = &trace;
    for (int r = 0; r < case_.nodes; ++r)
      options.stragglers[r] = 1 + double(random_() % 1000) / 1000;
    auto result = runtime::Simulate(*image_, options);
    EXPECT_TRUE(result.ok()) << result.status();
    // In the order in which they end.
    std::vector<TraceSpan> spans = trace.spans();
    std::erase_if(spans, [](const TraceSpan &span) {
      return std::strcmp(span.category, "exposed wait") == 0;
    });
    std::set<std::pair<Clock::time_point, int>> times;
    bool distinct = result.ok();
    for (const TraceSpan &span : spans) {
      ends_.push_back({{span.rank, span.track, span.peer}, {span.name, span.step}});
      // What was there already when it was wanted ends with what wanted it.
      if (span.begin != span.end) distinct &= times.emplace(span.end, span.rank).second;
    }
    std::stable_sort(spans.begin(), spans.end(), [](const TraceSpan &a, const TraceSpan &b) {
      return a.begin < b.begin;
    });
    for (const TraceSpan &span : spans)
      expected_[{span.rank, span.track, span.peer}].push_back(
          {span.begin, {span.name, span.step}});
    return distinct;
  }

  void Run() {
    Threads::Get().Clear();
    std::vector<std::vector<int32_t>> ids;
    std::vector<std::unique_ptr<Executor>> executors;
    for (int r = 0; r < case_.nodes; ++r) {
      ids.emplace_back();
      for (int i = 0; i < case_.instructions; ++i) ids.back().insert(ids.back().end(), {r, i});
      ExecutorOptions options;
      const auto program = *image_->ForRank(r);
      std::vector<std::string> keys(case_.keys.size());
      for (const InstructionProgram &i : program->functions[0].instructions)
        if (i.kind == InstructionProgram::kCommunicate)
          keys[i.communicate.key_id] = i.communicate.key;
      options.transport = std::make_unique<GatedTransport>(r, case_.nodes, keys);
      options.deadline = absl::Hours(1000);
      auto executor = Executor::Create(program, std::move(options));
      ASSERT_TRUE(executor.ok()) << executor.status();
      executors.push_back(*std::move(executor));
    }
    for (int r = 0; r < case_.nodes; ++r)
      for (uint64_t s = 0; s < case_.steps; ++s) {
        BatchRows rows;
        rows.data = {reinterpret_cast<const std::byte *>(ids[size_t(r)].data())};
        EXPECT_TRUE(executors[size_t(r)]->Enqueue(0, std::move(rows)).ok());
      }
    for (const End &end : ends_) {
      AwaitSleep();
      if (Threads::Get().End(end.lane, end.what)) continue;
      ADD_FAILURE() << Text(end.lane) << ": " << end.what.first << " of call " << end.what.second
                    << " ends in the simulation, and has not begun in the run";
      break;
    }
    AwaitSleep();
    Compare();
    Threads::Get().EndAll();
    executors.clear();
  }

  static std::string Text(const Lane &lane) {
    return absl::StrCat("rank ", lane.rank, ", track ", int(lane.track), ", peer ", lane.peer);
  }

  void Compare() {
    std::map<Lane, std::vector<What>> begun = Threads::Get().begun();
    EXPECT_EQ(begun.size(), expected_.size());
    for (auto &[lane, expected] : expected_) {
      std::vector<What> &got = begun[lane];
      ASSERT_EQ(got.size(), expected.size()) << Text(lane);
      for (size_t i = 0; i < got.size();) {
        // What begins at one time in the simulation may begin in any order.
        size_t end = i;
        while (end < got.size() && expected[end].first == expected[i].first) ++end;
        std::multiset<What> want, have(got.begin() + long(i), got.begin() + long(end));
        for (size_t k = i; k < end; ++k) want.insert(expected[k].second);
        ASSERT_EQ(have, want) << Text(lane) << ", number " << i;
        i = end;
      }
    }
  }

  std::mt19937_64 random_;
  const Case case_;
  std::shared_ptr<const PlanImage> image_;
  std::map<Lane, std::vector<std::pair<Clock::time_point, What>>> expected_;
  std::vector<End> ends_;
};

TEST(SimulatorOrderTest, ARunDoesTheSameInTheSameOrder) {
  ops::RegisterKernel("test_gate",
                      {[](const ops::KernelDesc &) { return absl::OkStatus(); },
                       [](const ops::KernelDesc &)
                           -> absl::StatusOr<std::unique_ptr<ops::KernelInstance>> {
                         return std::make_unique<Gate>();
                       }});
  int checked = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    checked += Order(seed).Check();
    if (HasFailure()) return;
  }
  EXPECT_GT(checked, 60);
}

}  // namespace
}  // namespace commsched::runtime
