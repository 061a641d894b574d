// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-run: executes a plan.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "grpc/grpc_transport.h"
#ifdef COMMSCHED_HAVE_MPI
#include "mpi/mpi_transport.h"
#endif
#include "runtime/profile.h"
#include "runtime/session.h"
#include "runtime/sync.h"
#include "runtime/trace.h"
#include "tools/cs-run/calibrate.h"
#include "tools/cs-run/check_reference.h"
#include "tools/cs-run/child_report.h"
#include "tools/cs-run/job_folder.h"
#include "tools/cs-run/launch.h"
#include "tools/cs-run/options.h"
#include "tools/cs-run/page.h"
#include "tools/cs-run/replan.h"
#include "tools/cs-run/report.h"
#include "tools/cs-run/serve.h"
#include "tools/cs-run/simulate.h"
#include "tools/cs-run/spawn.h"
#include "tools/cs-run/train.h"
#include "tools/cs-run/watchdog.h"

namespace commsched::run {
namespace {

// Turns signals into calls of `on_signal`. Made before any other thread, so
// that all have the signals blocked.
class SignalWatcher {
 public:
  SignalWatcher(const std::vector<int> &signals, std::function<void(int)> on_signal)
      : on_signal_(std::move(on_signal)) {
    sigemptyset(&signals_);
    for (int s : signals) sigaddset(&signals_, s);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this] {
      while (!done_) {
        timespec wait = {0, 50'000'000};
        int s = sigtimedwait(&signals_, nullptr, &wait);
        if (s > 0) on_signal_(s);
      }
    });
  }
  ~SignalWatcher() {
    done_ = true;
    thread_.join();
  }

 private:
  sigset_t signals_;
  std::function<void(int)> on_signal_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<runtime::Session>> Open(
    const Options &options, std::shared_ptr<const runtime::PlanImage> image,
    runtime::SessionOptions session) {
  if (options.rank < 0)
    return runtime::Session::InProcess(std::move(image), session);
  auto connect = [&](runtime::TransportOptions transport)
      -> absl::StatusOr<std::unique_ptr<runtime::Transport>> {
#ifdef COMMSCHED_HAVE_MPI
    if (options.transport == "mpi")
      return transport::ConnectMpi(std::move(transport));
#endif
    transport.peers = options.peers;
    transport::GrpcOptions grpc;
    grpc.listen_any = options.listen_any;
    grpc.congestion_control = options.congestion;
    // So that it is the transport that finds a peer that hangs: it knows which.
    grpc.keepalive = Keepalive(options);
    return transport::ConnectGrpc(std::move(transport), grpc);
  };
  const auto servers = ServersConnector(options, *image);
  return runtime::Session::OneRank(std::move(image), options.rank, connect,
                                   session, servers);
}

// Whether the options fit to the number of processes that the plan is made for.
absl::Status CheckNodes(const Options &options, const runtime::PlanImage &image) {
  const size_t nodes = size_t(image.nodes()),
               servers = image.servers().servers.size();
  if (options.spawn > 0 && size_t(options.spawn) != nodes + servers)
    return absl::InvalidArgumentError(absl::StrCat(
        "plan is made for a cluster of ", nodes,
        servers == 0 ? " nodes"
                     : absl::StrCat(" trainers and ", servers, " servers, ",
                                    nodes + servers, " processes"),
        ", got: ", options.spawn));
  const size_t peers =
      std::max<size_t>({1, options.peers.size(), size_t(options.world)});
  const bool alone =
      options.peers.empty() && servers > 0 && !runtime::RanksCommunicate(image);
  if (options.rank >= 0 && !alone && peers != nodes)
    return absl::InvalidArgumentError(absl::StrCat(
        "plan is made for a cluster of ", nodes, " nodes, got: ", peers));
  if (options.rank >= 0 && size_t(options.rank) >= nodes)
    return absl::InvalidArgumentError(
        absl::StrCat("--rank must be below the number of trainers ", nodes,
                     ", got: ", options.rank));
  if (absl::Status s = CheckReplan(options, image); !s.ok()) return s;
  if (absl::Status s = CheckServers(options, image); !s.ok()) return s;
  if (!options.spawned && (options.spawn != 0 || options.is_server() || options.has_servers()))
    return CheckJobFolder(options, image);
  return absl::OkStatus();
}

// Of this process's own file.
std::string OwnPath(const Options &options, const std::string &path) {
  if ((options.rank <= 0 && !options.is_server()) || options.spawned) return path;
  absl::string_view stem = path, ending = ".json";
  for (absl::string_view known : {".json", ".html"})
    if (absl::ConsumeSuffix(&stem, known)) ending = known;
  if (options.is_server())
    return absl::StrCat(stem, ".server", options.index, ending);
  return absl::StrCat(stem, ".rank", options.rank, ending);
}

// What a signal ends. Thread-safe.
class Running {
 public:
  void Set(std::function<void(const absl::Status &)> end) {
    runtime::MutexLock lock(&mu_);
    end_ = std::move(end);
  }
  // It ends by itself, and has a trace to write: a signal that comes now must
  // not keep it from that.
  void Finish() {
    runtime::MutexLock lock(&mu_);
    end_ = nullptr;
    finished_ = true;
  }
  // False: there is nothing to end yet.
  bool End(const absl::Status &why) {
    runtime::MutexLock lock(&mu_);
    if (end_) end_(why);
    return finished_ || bool(end_);
  }

 private:
  runtime::Mutex mu_;
  std::function<void(const absl::Status &)> end_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

// Beyond the time after which a peer is given up, for connections to close.
constexpr absl::Duration kClosing = absl::Seconds(10);

absl::Status RunTrainers(const Options &options,
                         std::shared_ptr<const runtime::PlanImage> image,
                         runtime::TraceRecorder *trace,
                         runtime::ProfileRecorder *profile, Running *running,
                         const std::atomic<bool> *stop) {
  runtime::SessionOptions session_options;
  session_options.deadline = options.deadline;
  session_options.emulate = options.emulate;
  session_options.trace = trace;
  session_options.profile = profile;
  if (!options.replan.empty()) session_options.replan = ReplanOptionsOf(options);
  std::optional<Watchdog> watchdog;  // ends after the session
  auto session = Open(options, std::move(image), session_options);
  if (!session.ok()) return session.status();
  // The threads of one process stop after the same step. Ranks elsewhere cannot
  // agree on one any more: that ends with an error everywhere.
  running->Set([&options, &session = **session](const absl::Status &why) {
    if (options.rank >= 0) session.Cancel(why);
  });
  absl::Status status = Train(options, session->get(), stop);
  // Before the peers can see that this rank is gone.
  if (!status.ok() && options.spawned) WriteReport(options.report, status);
  running->Finish();
  if (!status.ok())
    watchdog.emplace(options, status, 2 * Keepalive(options) + kClosing);
  return status;
}

absl::Status RunHere(const Options &options,
                     std::shared_ptr<const runtime::PlanImage> image) {
  std::atomic<bool> stop{false};
  Running running;
  // The parent decides what a signal from the terminal means.
  std::vector<int> signals = {SIGTERM};
  if (!options.spawned) signals.push_back(SIGINT);
  std::optional<SignalWatcher> watcher;
  watcher.emplace(signals, [&](int s) {
    if (stop.exchange(true) ||
        !running.End(absl::AbortedError(absl::StrCat("ended by signal ", s))))
      _exit(128 + s);
  });
  runtime::TraceRecorder recorder(
      options.trace_origin == 0
          ? runtime::Clock::now()
          : runtime::Clock::time_point(
                std::chrono::nanoseconds(options.trace_origin)));
  runtime::TraceRecorder *trace = options.trace.empty() ? nullptr : &recorder;
  runtime::ProfileRecorder measured;
  runtime::ProfileRecorder *profile = options.profile.empty() ? nullptr : &measured;
  absl::Status status =
      !options.calibrate.empty() ? Calibrate(options, std::move(image))
      : options.is_server()
          ? Serve(options, std::move(image), trace, profile,
                  [&](auto end) { running.Set(std::move(end)); })
          : RunTrainers(options, std::move(image), trace, profile, &running, &stop);
  running.Finish();
  if (!status.ok() && options.spawned) WriteReport(options.report, status);
  // A trace of what went wrong is worth as much as one of what did not.
  if (trace != nullptr) {
    const std::string path = OwnPath(options, options.trace);
    absl::Status written = trace->Write(path);
    if (status.ok()) status = written;
    if (written.ok() && options.rank <= 0 && !options.spawned)
      std::printf("trace: %s\n", path.c_str());
  }
  // Steps of a run that failed are not like others.
  if (profile != nullptr && status.ok() && !(options.is_server() && profile->empty())) {
    const std::string path = OwnPath(options, options.profile);
    status = profile->Write(path);
    if (status.ok() && options.rank <= 0 && !options.spawned)
      std::printf("profile: %s\n", path.c_str());
    if (!status.ok() && options.spawned) WriteReport(options.report, status);
  }
  watcher.reset();
  if (status.ok() && stop) return absl::CancelledError("interrupted");
  return status;
}

// gRPC allocates what it receives and frees it soon after. glibc would give the
// memory back to the system each time, and the system clear it each time. Blocks,
// which are larger and kept, stay out of the heap.
void KeepFreedMemory() {
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
}

int Main(const std::vector<std::string> &arguments) {
  KeepFreedMemory();
  absl::StatusOr<Options> options = ParseOptions(arguments);
  auto fail = [&](const absl::Status &status) {
    if (!options.ok() || !options->spawned || !WriteReport(options->report, status))
      std::fprintf(stderr, "cs-run: %s\n", std::string(status.message()).c_str());
    return status.code() == absl::StatusCode::kCancelled ? 130 : 1;
  };
  if (!options.ok()) return fail(options.status()), 2;
  if (options->help) {
    std::fputs(HelpText(), stdout);
    return 0;
  }
  auto image = runtime::PlanImage::LoadFile(options->plan);
  if (!image.ok()) return fail(image.status());
  if (options->simulate) {
    absl::Status status = RunSimulation(*options, **image);
    if (status.ok() && !options->page.empty()) {
      Page simulated(*options, **image);
      auto simulation = SimulationOf(*options);
      status = simulation.status();
      if (status.ok()) status = simulated.Simulate(**image, *std::move(simulation));
      if (status.ok())
        status = simulated.Write(options->trace, options->measured, options->page);
    }
    return status.ok() ? 0 : fail(status);
  }
  if (!options->check_against.empty()) {
    absl::Status status = CheckAgainst(*options, *std::move(image));
    return status.ok() ? 0 : fail(status);
  }
  if (absl::Status s = ApplyLaunch(**image, getenv, &*options); !s.ok())
    return EndLaunch(*options, fail(s));
  if (absl::Status s = CheckNodes(*options, **image); !s.ok())
    return EndLaunch(*options, fail(s));
  if (options->arena_info || options->spawn != 0) {
    // Once here rather than once per rank.
    auto program = options->is_server() ? (*image)->ForServer(options->index)
                                        : (*image)->ForRank(0);
    if (!program.ok()) return fail(program.status());
    if (options->arena_info) {
      std::fputs(ArenaInfo(**program).c_str(), stdout);
      return 0;
    }
  }
  std::optional<Page> page;
  if (!options->page.empty()) page.emplace(*options, **image);
  if (page && !options->measured.empty()) {
    absl::Status written =
        page->Write(options->predicted, options->measured, options->page);
    return written.ok() ? 0 : fail(written);
  }
  if (options->spawn != 0) {
    const int trainers = (*image)->nodes();
    const int servers = int((*image)->servers().servers.size());
    const bool connected = runtime::RanksCommunicate(**image);
    if (servers == 0) image = absl::CancelledError("");  // unloads the plan's code
    if (servers != 0)
      if (absl::Status s = PrepareJobFolder(**image, &*options); !s.ok()) return fail(s);
    int ended = Spawn(*options, WithoutSpawn(arguments), trainers, servers, connected);
    if (servers != 0) TidyJobFolder(*options, **image);
    if (ended == 0 && page)
      if (absl::Status s = page->Write(options->predicted, options->trace, options->page);
          !s.ok())
        return fail(s);
    return ended;
  }
  absl::Status status = RunHere(*options, *std::move(image));
  if (status.ok() && page)
    status = page->Write(options->predicted, OwnPath(*options, options->trace),
                         OwnPath(*options, options->page));
  return EndLaunch(*options, status.ok() ? 0 : fail(status));
}

}  // namespace
}  // namespace commsched::run

int main(int argc, char **argv) {
  return commsched::run::Main(std::vector<std::string>(argv + 1, argv + argc));
}
