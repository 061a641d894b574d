// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/servers/parameter_service.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc/base/address.h"
#include "grpc/base/handover.h"
#include "grpc/base/open_files.h"
#include "grpc/base/process.h"
#include "grpc/base/sockets.h"
#include "grpc/servers/parameter_connection.h"
#include "grpc/servers/parameter_hub.h"
#include "grpc/servers/parameter_protocol.h"
#include "grpc/servers/parameter_service.grpc.pb.h"
#include "plan/plan.pb.h"

namespace commsched::transport {
namespace {

using runtime::Mutex;
using runtime::MutexLock;

using RawParameterService = parameter::ParameterService::WithRawMethod_Attach<
    parameter::ParameterService::Service>;

// Once per process, before its first server: both hold for all that follow.
void EnableHealthAndReflection() {
  static const bool done = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  (void)done;
}

class Service final : public ParameterService {
 public:
  Service(runtime::ParameterServer *server, ParameterServiceOptions options)
      : server_(server),
        options_(std::move(options)),
        hub_(std::make_shared<ParameterHub>(server, options_)) {}

  ~Service() override {
    if (grpc_ == nullptr) return;
    Stop(absl::CancelledError(
        absl::StrFormat("server %d shuts down", options_.server)));
    {
      MutexLock lock(&mu_);
      stopped_ = true;
      changed_.SignalAll();
    }
    grpc_->Shutdown(std::chrono::system_clock::now());
    {
      MutexLock lock(&mu_);
      while (accepting_) changed_.Wait(&mu_);
    }
    hub_->gate().Close();
    hub_->Shutdown();
    hub_->sharing().loop.Stop();
    queue_->Shutdown();
    for (std::thread &thread : threads_) thread.join();
  }

  absl::Status Listen();

  absl::Status Wait() override { return hub_->WaitUntilOver(); }
  void WaitUntilTold() override { hub_->WaitUntilTold(); }

  void Stop(const absl::Status &why) override {
    {
      MutexLock lock(&mu_);
      if (server_over_) return;
    }
    server_->Cancel(why);
  }

  uint64_t bytes_sent() const override { return hub_->bytes_sent(); }
  uint64_t bytes_received() const override { return hub_->bytes_received(); }
  uint64_t checkpoints() const override { return hub_->checkpoints(); }

 private:
  void AcceptNext();
  void QueueLoop();
  void TickLoop();

  runtime::ParameterServer *const server_;
  const ParameterServiceOptions options_;
  const std::shared_ptr<ParameterHub> hub_;
  RawParameterService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> grpc_;
  std::vector<std::thread> threads_;

  Mutex mu_;
  runtime::CondVar changed_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  bool accepting_ ABSL_GUARDED_BY(mu_) = true;
  bool server_over_ ABSL_GUARDED_BY(mu_) = false;
};

void Service::AcceptNext() {
  Accept(
      [this](auto *context, auto *call, void *tag) {
        service_.RequestAttach(context, call, queue_.get(), queue_.get(), tag);
      },
      [this](std::shared_ptr<Stream> stream) {
        if (stream == nullptr) {  // the server shuts down
          MutexLock lock(&mu_);
          accepting_ = false;
          changed_.SignalAll();
          return;
        }
        AcceptNext();
        hub_->gate().Take(std::move(stream), [hub = hub_](std::shared_ptr<Stream> admitted,
                                                          grpc::ByteBuffer first) {
          std::make_shared<ParameterConnection>(hub)->Begin(std::move(admitted),
                                                            std::move(first));
        });
      });
}

void Service::QueueLoop() {
  void *event;
  bool ok;
  while (queue_->Next(&event, &ok)) {
    TakeOver();
    static_cast<Event *>(event)->Happened(ok);
    HandOver();
  }
}

void Service::TickLoop() {
  while (true) {
    {
      MutexLock lock(&mu_);
      if (!stopped_) changed_.WaitUntil(&mu_, runtime::Clock::now() + ParameterHub::kTick);
      if (stopped_) return;
    }
    hub_->gate().CheckTimes();
    hub_->CheckTimes();
  }
}

absl::Status Service::Listen() {
  absl::StatusOr<std::string> address =
      ServerAddress(options_.address, "a parameter server", options_.security);
  if (!address.ok()) return address.status();
  const std::string who = absl::StrCat("server ", options_.server);
  if (IsListenedOn(*address)) return CannotListen(who, *address);
  auto credentials = ServerCredentials(options_.security);
  if (!credentials.ok()) return credentials.status();
  EnableHealthAndReflection();
  grpc::ServerBuilder builder;
  for (const auto &[name, value] : ParameterChannelArguments(options_.keepalive))
    builder.AddChannelArgument(name, value);
  PrepareSockets({}, &builder);
  int port = 0;
  builder.AddListeningPort(*address, *credentials, &port);
  builder.RegisterService(&service_);
  queue_ = builder.AddCompletionQueue();
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr || (port == 0 && !absl::StartsWith(*address, "unix:"))) {
    if (grpc_ != nullptr) grpc_->Shutdown();
    grpc_ = nullptr;
    queue_->Shutdown();
    QueueLoop();
    return CannotListen(who, *address);
  }
  if (auto *health = grpc_->GetHealthCheckService())
    health->SetServingStatus(
        parameter::ParameterService::service_full_name(), true);
  for (int i = 0; i < std::max(1, options_.threads); ++i)
    threads_.emplace_back([this] { QueueLoop(); });
  threads_.emplace_back([this] { TickLoop(); });
  threads_.emplace_back([this] { hub_->SaveLoop(); });
  threads_.emplace_back([this] {
    absl::Status status = server_->Wait();
    {
      MutexLock lock(&mu_);
      server_over_ = true;
    }
    hub_->Ended(status);
  });
  AcceptNext();
  return absl::OkStatus();
}

absl::Status CheckOptions(const ParameterServiceOptions &options) {
  const auto bad = [](auto... words) {
    return absl::InvalidArgumentError(absl::StrCat(words...));
  };
  if (options.trainers < 1)
    return bad("number of trainers must be positive, got: ", options.trainers);
  if (options.server < 0 || options.server >= options.servers)
    return bad("index of the server must be in [0, ", options.servers,
               "), got: ", options.server);
  if (options.checkpoint_steps > 0 && options.checkpoint.empty())
    return bad("a checkpoint every ", options.checkpoint_steps,
               " steps needs the name of a file");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ParameterService>> ParameterService::Start(
    runtime::ParameterServer *server, ParameterServiceOptions options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  if (absl::Status status = CheckOpenFiles(size_t(options.trainers), &options.shared_memory); !status.ok())
    return status;
  InitialiseGrpc();
  options.chunk_bytes = ClampedChunk(options.chunk_bytes);
  auto service = std::make_unique<Service>(server, std::move(options));
  if (absl::Status status = service->Listen(); !status.ok()) return status;
  return service;
}

}  // namespace commsched::transport
