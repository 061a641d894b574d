// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/servers/parameter_client.h"

#include <grpcpp/create_channel.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc/base/address.h"
#include "grpc/base/callbacks.h"
#include "grpc/base/handover.h"
#include "grpc/base/open_files.h"
#include "grpc/base/process.h"
#include "grpc/base/sockets.h"
#include "grpc/servers/parameter_protocol.h"
#include "grpc/servers/server_link.h"
#include "runtime/base/status_util.h"
#include "runtime/base/sync.h"
#include "runtime/core/trainers.h"

namespace commsched::transport {
namespace {

using runtime::Clock;
using runtime::Mutex;
using runtime::MutexLock;

class Client final : public runtime::ParameterClient {
 public:
  explicit Client(ParameterClientOptions options)
      : options_(std::move(options)) {}
  ~Client() override { Close(); }

  absl::Status Connect();

  const char *name() const override { return "grpc"; }
  uint64_t first_step() const override { return First().first_step(); }
  bool keeps_checkpoints() const override { return First().keeps_checkpoints(); }

  void Push(int server, uint32_t block, uint64_t step,
            absl::Span<const std::byte> bytes, Done done) override {
    links_[server]->Push(block, step, bytes, std::move(done));
  }
  void Pull(int server, uint32_t block, uint64_t version,
            absl::Span<std::byte> buffer, Done done) override {
    links_[server]->Pull(block, version, buffer, std::move(done));
  }
  void PullRows(int server, uint32_t block, uint64_t version,
                absl::Span<const int64_t> ids, absl::Span<std::byte> buffer,
                Done done) override {
    links_[server]->PullRows(block, version, ids, buffer, std::move(done));
  }

  void SetOrder(const runtime::ServerOrder &order) override {
    for (auto &link : links_) link->SetOrder(order);
  }
  absl::Status Finish(uint64_t steps) override;
  void Abort(const absl::Status &why) override;
  void Close() override;

  uint64_t bytes_sent() const override {
    uint64_t sum = 0;
    for (const auto &link : links_) sum += link->bytes_sent();
    return sum;
  }
  uint64_t bytes_received() const override {
    uint64_t sum = 0;
    for (const auto &link : links_) sum += link->bytes_received();
    return sum;
  }

 private:
  void Failed(const absl::Status &why);
  absl::Status failure() const {
    MutexLock lock(&mu_);
    return runtime::Unshared(failure_);
  }
  template <typename F>
  bool AllLinks(F holds) const {
    return std::all_of(links_.begin(), links_.end(), holds);
  }
  void TickLoop();
  // The first server that holds something: others do not know of steps.
  const ServerLink &First() const {
    for (const auto &link : links_)
      if (link->has_blocks()) return *link;
    return *links_[0];
  }
  absl::Status CheckSteps() const;

  const ParameterClientOptions options_;
  Sharing sharing_{.enabled = options_.shared_memory && SharesMemory()};
  Monitor monitor_;
  Callbacks callbacks_{&monitor_};
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<ServerLink>> links_;  // by server
  std::vector<std::thread> threads_;
  std::thread ticker_;

  mutable Mutex mu_;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool connecting_ ABSL_GUARDED_BY(mu_) = true;
  bool aborted_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
};

// A server is lost, or has ended the job. The first error is the one that
// everything fails with.
void Client::Failed(const absl::Status &why) {
  bool report = false;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok() || aborted_ || closing_) return;
    failure_ = runtime::Unshared(why);
    report = !connecting_;
  }
  for (auto &link : links_) link->Fail(why);
  if (report && options_.on_failure) options_.on_failure(why);
  monitor_.Notify();
}

void Client::TickLoop() {
  bool stop = false;
  while (!stop) {
    const auto tick = [&] {
      Clock::time_point next = Clock::time_point::max();
      for (auto &link : links_) next = std::min(next, link->Tick());
      return next;
    };
    const Clock::time_point next = tick();
    // Again after any change: one that came before the wait counts too.
    monitor_.Wait(next, [&] {
      {
        MutexLock lock(&mu_);
        stop = closing_;
      }
      return stop || tick() < next;
    });
  }
}

absl::Status Client::CheckSteps() const {
  const ServerLink &first = First();
  for (const auto &link : links_)
    if (link->has_blocks() && link->first_step() != first.first_step())
      return absl::FailedPreconditionError(absl::StrFormat(
          "steps behind %s must match the %d of %s, got: %d; the job can only "
          "go on from checkpoints of one step",
          link->label(), first.first_step(), first.label(),
          link->first_step()));
  return absl::OkStatus();
}

absl::Status Client::Connect() {
  auto credentials = ChannelCredentials(options_.security);
  if (!credentials.ok()) return credentials.status();
  grpc::ChannelArguments arguments;
  for (const auto &[name, value] : ParameterChannelArguments(options_.keepalive))
    arguments.SetInt(name, value);
  if (!options_.security.server_name.empty())
    arguments.SetSslTargetNameOverride(options_.security.server_name);
  PrepareSockets({}, &arguments);

  parameter::Join join;
  join.set_protocol_version(kParameterProtocol);
  join.set_plan_digest(options_.plan_digest);
  join.set_run_digest(options_.gives_up.ok() ? options_.run_digest : runtime::core::Trainers::kAnyRun);
  join.set_trainers(options_.trainers);
  join.set_trainer(options_.trainer);
  join.set_servers(options_.servers.size());
  join.set_session(options_.session == 0 ? NewSession() : options_.session);
  for (size_t server = 0; server < options_.servers.size(); ++server) {
    join.set_server(server);
    const std::string &address = options_.servers[server];
    links_.push_back(std::make_unique<ServerLink>(
        ServerLink::Settings{static_cast<int>(server), address,
                             ClampedChunk(options_.chunk_bytes),
                             options_.deadline, options_.security.token, &sharing_, join,
                             options_.order,
                             [this](const absl::Status &why) { Failed(why); }},
        [address, credentials = *credentials, arguments] {
          return grpc::CreateCustomChannel(address, credentials, arguments);
        },
        &queue_,
        &callbacks_, &monitor_));
  }
  for (int i = 0; i < std::max(1, options_.threads); ++i)
    threads_.emplace_back([this] {
      void *event;
      bool ok;
      while (queue_.Next(&event, &ok)) {
        TakeOver();
        static_cast<Event *>(event)->Happened(ok);
        HandOver();
      }
    });
  ticker_ = std::thread([this] { TickLoop(); });
  // The links watch the deadline.
  const bool gives_up = !options_.gives_up.ok();
  monitor_.Wait(Clock::time_point::max(), [&] {
    return (!gives_up && !failure().ok()) ||
           AllLinks([&](const auto &link) { return link->welcomed() || (gives_up && link->closed()); });
  });
  if (failure().ok() && !gives_up)
    if (absl::Status status = CheckSteps(); !status.ok()) Failed(status);
  if (!failure().ok())
    monitor_.Wait(Clock::now() + kLinger,
                  [&] { return AllLinks([](const auto &link) { return link->welcomed() || link->closed(); }); });
  MutexLock lock(&mu_);
  connecting_ = false;
  if (gives_up) failure_ = options_.gives_up;
  return runtime::Unshared(failure_);
}

absl::Status Client::Finish(uint64_t steps) {
  for (auto &link : links_) link->Finish(steps);
  const auto all = [&] {
    return AllLinks([](const auto &link) { return link->finished(); });
  };
  const auto ended = [&] {
    MutexLock lock(&mu_);
    return !failure_.ok() || closing_ || all();
  };
  bool over = false;
  Clock::time_point until = runtime::After(options_.deadline);
  while (!(over = monitor_.Wait(until, ended))) {
    // A server that saves says so as long as that takes.
    Clock::time_point heard = Clock::time_point::max();
    for (const auto &link : links_)
      if (!link->finished()) heard = std::min(heard, link->heard());
    if (Clock::now() - heard >= absl::ToChronoNanoseconds(options_.deadline)) break;
    until = heard + absl::ToChronoNanoseconds(options_.deadline);
  }
  if (absl::Status status = failure(); !status.ok()) return status;
  if (all()) {
    MutexLock lock(&mu_);
    finished_ = true;
    return absl::OkStatus();
  }
  if (over) return absl::CancelledError("closed while finishing");
  std::string missing;
  for (const auto &link : links_)
    if (!link->finished())
      absl::StrAppend(&missing, missing.empty() ? "" : ", ", link->label());
  absl::Status late = absl::DeadlineExceededError(absl::StrFormat(
      "%s did not confirm within %s that trainer %d has finished", missing,
      absl::FormatDuration(options_.deadline), options_.trainer));
  Failed(late);
  return failure();
}

void Client::Abort(const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    if (aborted_ || closing_) return;
    aborted_ = true;
    if (failure_.ok())
      failure_ = absl::CancelledError("this trainer has given up");
  }
  for (auto &link : links_)
    link->Fail(absl::CancelledError("this trainer has given up"));
  for (auto &link : links_) link->Leave(AbortHeader(why));
  monitor_.Notify();
}

void Client::Close() {
  bool finished = false;
  absl::Status why;
  {
    MutexLock lock(&mu_);
    if (closing_) return;
    closing_ = true;
    finished = finished_;
    why = runtime::Unshared(failure_);
  }
  monitor_.Notify();
  if (ticker_.joinable()) ticker_.join();
  const absl::Status closed = absl::CancelledError("closed on this side");
  for (auto &link : links_) link->Fail(closed);
  parameter::Header last;
  if (finished || why.ok())
    last.mutable_goodbye();
  else
    last = AbortHeader(why);
  for (auto &link : links_) link->Leave(last);
  auto all_closed = [&] {
    return AllLinks([](const auto &link) { return link->closed(); });
  };
  monitor_.Wait(Clock::now() + kGoodbyeGrace, all_closed);
  for (auto &link : links_) link->Drop();
  monitor_.Wait(Clock::time_point::max(), all_closed);
  for (auto &link : links_) link->DropChannel();
  // Memory that gRPC still refers to is in writes to servers that do not read:
  // these end with the connections, at the latest after the keepalive time.
  monitor_.Wait(Clock::time_point::max(), [&] { return callbacks_.idle(); });
  sharing_.loop.Stop();
  queue_.Shutdown();
  for (std::thread &thread : threads_) thread.join();
  if (threads_.empty()) {
    void *event;
    bool ok;
    while (queue_.Next(&event, &ok)) {
    }
  }
}

}  // namespace

uint64_t NewSession() {
  std::random_device random;
  return (uint64_t{random()} << 32 | random()) | 1;  // never 0
}

absl::StatusOr<std::unique_ptr<runtime::ParameterClient>>
ConnectParameterServers(ParameterClientOptions options) {
  if (options.servers.empty())
    return absl::InvalidArgumentError("there must be a parameter server");
  if (options.trainer < 0 || options.trainer >= options.trainers)
    return absl::InvalidArgumentError(
        absl::StrCat("rank of a trainer must be in [0, ", options.trainers,
                     "), got: ", options.trainer));
  for (const std::string &address : options.servers)
    if (absl::Status status =
            CheckDialled(address, "a parameter server", options.security);
        !status.ok())
      return status;
  options.deadline = std::min(options.deadline, absl::Hours(24 * 365));
  if (absl::Status status = CheckOpenFiles(options.servers.size(), &options.shared_memory); !status.ok())
    return status;
  InitialiseGrpc();
  auto client = std::make_unique<Client>(std::move(options));
  if (absl::Status status = client->Connect(); !status.ok()) {
    client->Close();
    return status;
  }
  return client;
}

}  // namespace commsched::transport
