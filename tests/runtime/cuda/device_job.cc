// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/device_job.h"

#include <mutex>
#include <thread>
#include <utility>

#include "runtime/transport/in_process_hub.h"
#include "runtime/transport/in_process_transport.h"

namespace commsched::runtime::cuda {

DeviceJob::DeviceJob(std::shared_ptr<const PlanImage> image, const DeviceJobOptions &options)
    : machine_(options.seed, image->nodes()) {
  machine_.SetKernels(options.kernels);
  const int ranks = image->nodes();
  executors_.resize(size_t(ranks));
  auto hub = std::make_shared<InProcessHub>(ranks);
  NcclUniqueId id;
  FakeMachine::nccl().GetUniqueId(&id);
  for (int r = 0; r < ranks; ++r) {
    probes_.push_back(std::make_unique<FakeProbe>(machine_, r));
    if (options.prepare) options.prepare(r, *probes_.back());
  }
  if (status = MakeServers(image, options); !status.ok()) return;
  status = ForAll([&](int r) -> absl::Status {
    absl::StatusOr<std::shared_ptr<const Program>> program = image->ForRank(r);
    if (!program.ok()) return program.status();
    DeviceExecutorOptions own;
    own.driver = &FakeMachine::driver();
    own.device = r;
    own.nccl = &FakeMachine::nccl();
    own.id = id;
    own.deadline = options.deadline;
    own.now = [this] { return machine_.Now(); };
    own.probe = probes_[size_t(r)].get();
    if (options.library) own.library = options.library(machine_);
    own.libraries = options.libraries;
    own.failures = std::make_shared<PeerFailureRelay>();
    if (options.transport) {
      own.transport = options.transport(r, own.failures);
    } else {
      TransportOptions transport;
      transport.rank = r;
      transport.nodes = ranks;
      transport.plan_digest = image->digest();
      transport.on_peer_failure = [relay = own.failures](int peer, const absl::Status &why) {
        relay->Report(peer, why);
      };
      absl::StatusOr<std::unique_ptr<Transport>> made = ConnectInProcess(hub, transport);
      if (!made.ok()) return made.status();
      own.transport = *std::move(made);
    }
    if (!servers_.empty()) own.servers = MakeInProcessParameterClient(&servers_, r);
    if (options.change) options.change(r, own);
    absl::StatusOr<std::unique_ptr<DeviceExecutor>> executor =
        DeviceExecutor::Create(*program, std::move(own));
    if (!executor.ok()) return executor.status();
    executors_[size_t(r)] = *std::move(executor);
    return absl::OkStatus();
  });
}

absl::Status DeviceJob::MakeServers(const std::shared_ptr<const PlanImage> &image,
                                    const DeviceJobOptions &options) {
  for (int k = 0; k < int(image->servers().servers.size()); ++k) {
    ParameterServerOptions server;
    server.server = k;
    server.trainers = image->nodes();
    server.deadline = options.deadline;
    absl::StatusOr<std::unique_ptr<ParameterServer>> made =
        ParameterServer::Create(image, std::move(server));
    if (!made.ok()) return made.status();
    servers_.push_back(*std::move(made));
  }
  return absl::OkStatus();
}

absl::Status DeviceJob::JoinServers() {
  return servers_.empty() ? absl::OkStatus() : JoinParameterServers(servers_, ranks());
}

DeviceJob::~DeviceJob() = default;

absl::Status DeviceJob::ForAll(const std::function<absl::Status(int rank)> &run) {
  std::mutex mu;
  absl::Status first;
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks(); ++r) {
    threads.emplace_back([&, r] {
      absl::Status status = run(r);
      std::lock_guard<std::mutex> lock(mu);
      first.Update(status);
    });
  }
  for (std::thread &thread : threads) thread.join();
  return first;
}

void DeviceJob::Lose(int r) { executors_[size_t(r)].reset(); }

DeviceJob::End DeviceJob::Finish() {
  ForAll([&](int r) {
    executors_[size_t(r)].reset();
    return absl::OkStatus();
  }).IgnoreError();
  return {machine_.TakeFindings(), machine_.live()};
}

}  // namespace commsched::runtime::cuda
