// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-run: executes a plan.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "grpc/grpc_transport.h"
#include "runtime/session.h"
#include "runtime/trace.h"
#include "tools/cs-run/child_report.h"
#include "tools/cs-run/options.h"
#include "tools/cs-run/report.h"
#include "tools/cs-run/spawn.h"
#include "tools/cs-run/train.h"

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
  auto connect = [&](runtime::TransportOptions transport) {
    transport.peers = options.peers;
    transport::GrpcOptions grpc;
    grpc.listen_any = options.listen_any;
    // So that it is the transport that finds a peer that hangs: it knows which.
    grpc.keepalive = std::max(options.deadline / 3, absl::Seconds(1));
    return transport::ConnectGrpc(std::move(transport), grpc);
  };
  return runtime::Session::OneRank(std::move(image), options.rank, connect,
                                   session);
}

absl::Status CheckNodes(int plan, size_t got) {
  if (got == size_t(plan)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "plan is made for a cluster of ", plan, " nodes, got: ", got));
}

std::string TracePath(const Options &options) {
  if (options.rank <= 0 || options.spawned) return options.trace;
  absl::string_view stem = options.trace;
  if (absl::EndsWith(stem, ".json")) stem.remove_suffix(5);
  return absl::StrCat(stem, ".rank", options.rank, ".json");
}

absl::Status RunHere(const Options &options,
                     std::shared_ptr<const runtime::PlanImage> image) {
  std::atomic<bool> stop{false};
  std::atomic<runtime::Session *> running{nullptr};
  // The parent decides what a signal from the terminal means.
  std::vector<int> signals = {SIGTERM};
  if (!options.spawned) signals.push_back(SIGINT);
  std::optional<SignalWatcher> watcher;
  watcher.emplace(signals, [&](int s) {
    // The threads of one process stop after the same step. Ranks elsewhere
    // cannot agree on one any more: that ends with an error everywhere.
    if (stop.exchange(true)) _exit(128 + s);
    runtime::Session *session = running;
    if (options.rank >= 0 && session != nullptr)
      session->Cancel(absl::AbortedError(absl::StrCat("ended by signal ", s)));
    else if (session == nullptr)
      _exit(128 + s);
  });
  runtime::TraceRecorder trace(
      options.trace_origin == 0
          ? runtime::Clock::now()
          : runtime::Clock::time_point(
                std::chrono::nanoseconds(options.trace_origin)));
  runtime::SessionOptions session_options;
  session_options.deadline = options.deadline;
  session_options.emulate = options.emulate;
  if (!options.trace.empty()) session_options.trace = &trace;
  auto session = Open(options, std::move(image), session_options);
  if (!session.ok()) return session.status();
  running = session->get();
  absl::Status status = Train(options, session->get(), &stop);
  // Before the peers can see that this rank is gone.
  if (!status.ok() && options.spawned) WriteReport(options.report, status);
  // A trace of what went wrong is worth as much as one of what did not.
  if (!options.trace.empty()) {
    absl::Status written = trace.Write(TracePath(options));
    if (status.ok()) status = written;
    if (written.ok() && options.rank <= 0 && !options.spawned)
      std::printf("trace: %s\n", options.trace.c_str());
  }
  watcher.reset();
  running = nullptr;
  if (status.ok() && stop) return absl::CancelledError("interrupted");
  return status;
}

int Main(const std::vector<std::string> &arguments) {
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
  absl::Status nodes;
  if (options->spawn > 0)
    nodes = CheckNodes((*image)->nodes(), size_t(options->spawn));
  else if (!options->peers.empty())
    nodes = CheckNodes((*image)->nodes(), options->peers.size());
  if (!nodes.ok()) return fail(nodes);
  if (options->arena_info || options->spawn > 0) {
    // Once here rather than once per rank.
    auto program = (*image)->ForRank(0);
    if (!program.ok()) return fail(program.status());
    if (options->arena_info) {
      std::fputs(ArenaInfo(**program).c_str(), stdout);
      return 0;
    }
  }
  if (options->spawn > 0) {
    std::vector<std::string> rest;
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i] == "--spawn")
        ++i;
      else if (!absl::StartsWith(arguments[i], "--spawn="))
        rest.push_back(arguments[i]);
    }
    image = absl::CancelledError("");  // unloads the plan's code
    return Spawn(*options, rest);
  }
  absl::Status status = RunHere(*options, *std::move(image));
  return status.ok() ? 0 : fail(status);
}

}  // namespace
}  // namespace commsched::run

int main(int argc, char **argv) {
  return commsched::run::Main(std::vector<std::string>(argv + 1, argv + argc));
}
