// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-run: executes a plan.
#include <malloc.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/ranks/grpc_transport.h"
#ifdef COMMSCHED_HAVE_MPI
#include "mpi/mpi_transport.h"
#endif
#include "plan/plan_file.h"
#include "plan/version.h"
#include "runtime/base/sync.h"
#include "runtime/core/greeting.h"
#include "runtime/core/trainers.h"
#include "runtime/cuda/memory_needs.h"
#include "runtime/execute/memory_needs.h"
#include "runtime/loading/plan_cuda.h"
#include "runtime/measure/profile.h"
#include "runtime/measure/trace.h"
#include "runtime/session/connected_stop.h"
#include "runtime/session/session.h"
#include "tools/cs-run/calibrate.h"
#include "tools/cs-run/check_reference.h"
#include "tools/cs-run/child_report.h"
#include "tools/cs-run/job_checkpoints.h"
#include "tools/cs-run/launch.h"
#include "tools/cs-run/options.h"
#include "tools/cs-run/outputs.h"
#include "tools/cs-run/page.h"
#include "tools/cs-run/process.h"
#include "tools/cs-run/replan.h"
#include "tools/cs-run/report.h"
#include "tools/cs-run/run_digest.h"
#include "tools/cs-run/security.h"
#include "tools/cs-run/serve.h"
#include "tools/cs-run/signals.h"
#include "tools/cs-run/simulate.h"
#include "tools/cs-run/spawn.h"
#include "tools/cs-run/train.h"
#include "tools/cs-run/watchdog.h"
#include "tools/cs-run/ways.h"
#include "tools/support/EndWithStarter.h"

namespace commsched::run {
namespace {

absl::StatusOr<std::unique_ptr<runtime::Session>> Open(
    const Options &options, const absl::Status &files, std::shared_ptr<const runtime::PlanImage> image,
    runtime::SessionOptions session, runtime::ConnectedStop *stop) {
  if (options.rank < 0)
    return runtime::Session::InProcess(std::move(image), session);
  auto plain = [&](runtime::TransportOptions transport)
      -> absl::StatusOr<std::unique_ptr<runtime::Transport>> {
#ifdef COMMSCHED_HAVE_MPI
    if (options.transport == "mpi")
      return transport::ConnectMpi(std::move(transport));
#endif
    transport.peers = options.peers;
    auto grpc = GrpcOptionsOf(options);
    if (!grpc.ok()) return grpc.status();
    return transport::ConnectGrpc(std::move(transport), *std::move(grpc));
  };
  auto connect = [&](runtime::TransportOptions transport)
      -> absl::StatusOr<std::unique_ptr<runtime::Transport>> {
    transport.epoch = uint64_t(std::max(0, options.membership));
    if (stop == nullptr) return plain(std::move(transport));
    runtime::ConnectedStop::Prepare(&transport);
    auto connected = plain(std::move(transport));
    if (connected.ok()) stop->Attach(connected->get());
    return connected;
  };
  // What is wrong with files here is no reason to let the others wait: this rank comes, whatever they have, and says why.
  absl::StatusOr<uint64_t> digest = files.ok() ? RunDigest(options, *image) : files;
  if (!options.spawned)
    session.run_digest = digest.value_or(image->digest() ^ runtime::core::Greeting::kAnyPlan);
  const auto servers = ServersConnector(
      options, *image, digest.ok() ? session.run_digest : runtime::core::Trainers::kAnyRun);
  auto opened = runtime::Session::OneRank(std::move(image), options.rank, connect,
                                          session, servers);
  if (!opened.ok()) return digest.ok() ? WithWhatMustMatch(opened.status()) : digest.status();
  if (digest.ok()) return opened;
  (*opened)->Cancel(digest.status());
  if (stop != nullptr) stop->Detach();
  return digest.status();
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
  if (absl::Status s = CheckNumber(options, image); !s.ok()) return s;
  if (absl::Status s = CheckReplan(options, image); !s.ok()) return s;
  if (absl::Status s = CheckServers(options, image); !s.ok()) return s;
  return CheckPlanUses(options, image);
}

// Whether what it is to write can be written.
absl::Status CheckFiles(const Options &options, const runtime::PlanImage &image) {
  const bool folder = !image.servers().servers.empty() &&
                      (options.spawn != 0 || options.is_server() || options.has_servers());
  if (folder && !options.spawned)
    if (absl::Status s = CheckJobCheckpoints(options, image); !s.ok()) return s;
  return CheckOutputs(options, folder);
}

// Of what --spawn starts, once: each process sees only what is free before the others have theirs.
absl::Status CheckMemoryOfAll(const Options &options, const runtime::PlanImage &image) {
  const bool counts = !options.emulate && options.calibrate.empty() && !runtime::IsCudaPlan(image.plan());
  return runtime::CheckMemory(image, counts ? runtime::AvailableMemory() : std::numeric_limits<uint64_t>::max());
}

absl::Status PrintArenaInfo(const Options &options, const runtime::PlanImage &image) {
  if (absl::Status s = CheckNumber(options, image); !s.ok()) return s;
  auto program = options.is_server() ? image.ForServer(options.index)
                                     : image.ForRank(std::max(0, options.rank));
  if (!program.ok()) return program.status();
  auto info = ArenaInfo(**program);
  if (info.ok()) std::fputs(info->c_str(), stdout);
  return info.status();
}

absl::Status RunTrainers(const Options &options, const absl::Status &files,
                         std::shared_ptr<const runtime::PlanImage> image,
                         runtime::TraceRecorder *trace,
                         runtime::ProfileRecorder *profile, Running *running,
                         int *stopped, std::string *at_end) {
  runtime::SessionOptions session_options;
  session_options.deadline = options.deadline;
  session_options.emulate = options.emulate;
  session_options.cuda_device = CudaDeviceOf(options);
  session_options.trace = trace;
  session_options.profile = profile;
  auto kept = std::make_shared<std::atomic<bool>>(false);
  if (Replans(options)) {
    auto replan = ReplanOptionsOf(options, kept);
    if (!replan.ok()) return replan.status();
    session_options.replan = *std::move(replan);
    session_options.replan->one_host = options.spawned;
  }
  if (runtime::IsCudaPlan(image->plan()) && !options.emulate && options.rank <= 0) {
    // Before it runs: what it takes.
    auto program = image->ForRank(0);
    if (!program.ok()) return program.status();
    auto needs = runtime::cuda::MemoryNeedsOf(**program);
    if (!needs.ok()) return needs.status();
    std::fputs(runtime::cuda::MemoryNeedsText(*needs).c_str(), stdout);
    std::fflush(stdout);
  }
  std::optional<Watchdog> watchdog;  // ends after the session
  std::unique_ptr<runtime::StopPoint> stop;
  runtime::ConnectedStop *connected = nullptr;
  if (options.stop_file >= 0) {
    auto shared = runtime::SharedStop::Open(options.stop_file);
    if (shared == nullptr) return absl::InvalidArgumentError("--stop-file is not for users");
    session_options.run_digest = shared->job();
    stop = std::move(shared);
  } else if (options.rank < 0) {
    stop = std::make_unique<runtime::LocalStop>();
    session_options.run_digest = runtime::NewJobNumber();
  } else {
    auto made = std::make_unique<runtime::ConnectedStop>();
    connected = made.get();
    stop = std::move(made);
  }
  auto session = Open(options, files, std::move(image), session_options, connected);
  if (!session.ok()) return session.status();
  // A rank whose parent ends it has lost the others.
  running->Set([&session = **session, stop = stop.get()](int signal) {
    if (signal == kEndSignal)
      session.Cancel(absl::AbortedError(EndedBy(SIGTERM)));
    else
      stop->Request(signal);
  });
  absl::Status status = Train(options, session->get(), stop.get(), [&] {
    if (options.spawned) WriteNeedsNobody(options.report);
    SignLaunch(options);
  });
  if (status.ok() && !*kept) WarnOfNoneKept(options);
  if (status.ok() && Replans(options)) *at_end = Page::AtEnd((*session)->image());
  // Before the peers can see that this rank is gone.
  if (!status.ok() && options.spawned) WriteReport(options.report, status);
  running->Finish();
  if (connected != nullptr) connected->Detach();
  // The parent knows, and says so.
  if (!options.spawned) *stopped = stop->reason();
  if (!status.ok())
    watchdog.emplace(options, status, 2 * Keepalive(options) + kClosing);
  return status;
}

// `files`: why it cannot take part. `stopped` becomes the signal that has ended it, `at_end`, where the plan may change,
// what Page::Ended() takes.
absl::Status RunHere(const Options &options, const absl::Status &files,
                     std::shared_ptr<const runtime::PlanImage> image, Signals *signals,
                     int *stopped, std::string *at_end) {
  Running &running = signals->running();
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
          ? Serve(options, files, std::move(image), trace, profile,
                  [&](std::function<void(const absl::Status &)> end) {
                    running.Set([end = std::move(end), spawned = options.spawned](int s) {
                      // Servers end when trainers have finished.
                      if (spawned && s != kEndSignal) return;
                      if (end) end(absl::AbortedError(EndedBy(spawned ? SIGTERM : s)));
                    });
                  })
          : RunTrainers(options, files, std::move(image), trace, profile, &running, stopped, at_end);
  running.Finish();
  if (!status.ok() && options.spawned) WriteReport(options.report, status);
  // A trace of what went wrong is worth as much as one of what did not; not of what never began.
  if (trace != nullptr && (status.ok() || !trace->empty())) {
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
  if (*stopped == 0 && !options.spawned) *stopped = signals->received();
  // Behind all that may go wrong: it takes the place of an error.
  if (status.ok() && options.spawned && options.rank == 0 && !at_end->empty()) WriteResult(options.report, *at_end);
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
  if (options.ok() && options->spawned) SetReportFile(options->report);
  auto fail = [&](const absl::Status &status) {
    Say(status);
    return 1;
  };
  if (!options.ok()) return fail(options.status()), 2;
  if (options->help) {
    std::fputs(HelpText(), stdout);
    return 0;
  }
  if (options->version) {
    std::printf("cs-run %s (CommSched, plans of schema %u)\n", kVersion,
                plan::kSchemaVersion);
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
  if (options->arena_info) {
    absl::Status status = PrintArenaInfo(*options, **image);
    return status.ok() ? 0 : fail(status);
  }
  if (!options->check_against.empty()) {
    if (absl::Status s = CheckPlanUses(*options, **image); !s.ok()) return fail(s);
    absl::Status status = CheckAgainst(*options, *std::move(image));
    return status.ok() ? 0 : fail(status);
  }
  // Training is not only for whoever reads what it prints, and goes on without: CheckStdout says it.
  signal(SIGPIPE, SIG_IGN);
  // The parent decides what a signal from the terminal means.
  std::optional<Signals> signals;
  if (options->spawn == 0) signals.emplace(options->spawned);
  if (absl::Status s = ApplyLaunch(**image, getenv, &*options); !s.ok())
    return EndLaunch(*options, fail(s), false);
  if (absl::Status s = CheckSecurityUsed(*options); !s.ok())
    return EndLaunch(*options, fail(s), false);
  if (absl::Status s = CheckNodes(*options, **image); !s.ok())
    return EndLaunch(*options, fail(s), false);
  absl::Status files = CheckFiles(*options, **image);
  // Who is waited for by processes that are started by hand comes all the same, to say it.
  if (!files.ok() && !(options->is_server() || options->rank >= 0))
    return EndLaunch(*options, fail(files), false);
  if (options->spawn != 0)
    if (absl::Status s = CheckMemoryOfAll(*options, **image); !s.ok()) return fail(s);
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
    const bool connected = runtime::RanksCommunicate(**image) || !options->tune.empty();
    if (servers == 0) image = absl::CancelledError("");  // the memory is not needed here
    if (servers != 0)
      if (absl::Status s = PrepareJobCheckpoints(**image, &*options); !s.ok()) return fail(s);
    std::string at_end;
    int ended = Spawn(*options, WithoutSpawn(arguments), trainers, servers, connected, &at_end);
    if (servers != 0) TidyJobCheckpoints(*options, **image);
    if (ended == 0 && page) {
      absl::Status written = at_end.empty() ? absl::OkStatus() : page->Ended(*options, at_end);
      if (written.ok()) written = page->Write(options->predicted, options->trace, options->page);
      if (!written.ok()) return fail(written);
    }
    return ended;
  }
  int stopped = 0;
  std::string at_end;
  absl::Status status = RunHere(*options, files, *std::move(image), &*signals, &stopped, &at_end);
  if (status.ok() && stopped == 0 && page && !at_end.empty()) status = page->Ended(*options, at_end);
  if (status.ok() && stopped == 0 && page)
    status = page->Write(options->predicted, OwnPath(*options, options->trace),
                         OwnPath(*options, options->page));
  const bool good = status.ok();
  int ended = good ? 0 : fail(status);
  if (good && stopped != 0) std::fprintf(stderr, "cs-run: %s\n", EndedBy(stopped).c_str());
  if (stopped != 0) ended = 128 + stopped;
  return EndLaunch(*options, ended, good);
}

// What could not be printed is an error where all else went well: else there is one already.
int CheckStdout(int status) {
  const bool flushed = std::fflush(stdout) == 0;
  if ((flushed && !std::ferror(stdout)) || status != 0) return status;
  Say(absl::UnavailableError(absl::StrCat("cannot write to stdout", flushed ? "" : ": ",
                                          flushed ? "" : std::strerror(errno))));
  return 1;
}

}  // namespace
}  // namespace commsched::run

int main(int argc, char **argv) {
  commsched::endWithStarter();
  // Who has started this may ignore it: nobody would hear then of children that end, nor how.
  signal(SIGCHLD, SIG_DFL);
  commsched::run::PrepareProcess();
  return commsched::run::CheckStdout(
      commsched::run::Main(std::vector<std::string>(argv + 1, argv + argc)));
}
