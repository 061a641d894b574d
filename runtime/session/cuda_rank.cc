// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/cuda_rank.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/cuda/device_executor.h"
#include "runtime/cuda/load.h"
#include "runtime/session/cuda_needs.h"
#include "runtime/session/make_rank.h"
#include "runtime/session/nccl_id.h"
#include "runtime/session/session.h"

namespace commsched::runtime {
namespace {

absl::Status OfPlan(const absl::Status &status) {
  return absl::Status(status.code(), absl::StrCat("plan is for CUDA devices: ", status.message()));
}

absl::Status Without(absl::string_view what) {
  return OfPlan(absl::UnimplementedError(what));
}

absl::Status CheckOptions(const SessionOptions &options) {
  if (options.replan) return Without("what runs on them is not planned again yet");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CudaMachine>> OpenCudaMachine(const PlanImage &image,
                                                                   const SessionOptions &options,
                                                                   int ranks) {
  if (absl::Status s = CheckOptions(options); !s.ok()) return s;
  const cuda::MachineNeeds needs = CudaNeedsOf(image.plan(), options.cuda_device, ranks);
  if (absl::Status s = cuda::CheckMachine(needs); !s.ok()) return OfPlan(s);
  auto machine = std::make_shared<CudaMachine>();
  if (const char *graphs = std::getenv("COMMSCHED_CUDA_GRAPHS"); graphs != nullptr) {
    const absl::string_view text = graphs;
    if (text != "0" && text != "1")
      return absl::InvalidArgumentError(
          absl::StrCat("COMMSCHED_CUDA_GRAPHS must be 0 or 1, got: ", text));
    machine->graphs = text == "1";
  }
  absl::StatusOr<cuda::DriverApi> driver = cuda::LoadDriver();
  if (!driver.ok()) return OfPlan(driver.status());
  machine->driver = *driver;
  machine->first_device = options.cuda_device;
  if (needs.nccl) {
    absl::StatusOr<cuda::NcclApi> nccl = cuda::LoadNccl();
    if (!nccl.ok()) return OfPlan(nccl.status());
    machine->nccl = *nccl;
    if (ranks == image.nodes()) {
      absl::StatusOr<cuda::NcclUniqueId> id = MakeNcclId(*nccl);
      if (!id.ok()) return OfPlan(id.status());
      machine->id = *id;
    }
  }
  return machine;
}

void AddCudaPartners(const CudaMachine &machine, TransportOptions *connection) {
  if (!machine.nccl || machine.id) return;
  connection->partners->merge(NcclIdPartners(connection->rank, connection->nodes));
}

absl::StatusOr<std::unique_ptr<RankExecutor>> MakeCudaRank(
    const CudaMachine &machine, std::shared_ptr<const Program> program, RankParts parts,
    std::unique_ptr<Transport> transport, std::unique_ptr<ParameterClient> servers,
    std::shared_ptr<PeerFailureRelay> failures, const SessionOptions &options) {
  cuda::DeviceExecutorOptions executor;
  executor.driver = &machine.driver;
  executor.device = machine.first_device + int(parts.number);
  if (machine.nccl) {
    executor.nccl = &*machine.nccl;
    absl::StatusOr<cuda::NcclUniqueId> id =
        machine.id             ? *machine.id
        : transport == nullptr ? absl::StatusOr<cuda::NcclUniqueId>(absl::FailedPreconditionError(
                                     "collectives of NCCL need connections to the other ranks"))
                               : ShareNcclId(*machine.nccl, transport.get(), options.deadline);
    if (!id.ok()) {
      if (transport != nullptr) transport->Abort(id.status());
      if (servers != nullptr) servers->Abort(id.status());
      return id.status();
    }
    executor.id = *id;
  }
  executor.graphs = machine.graphs;
  executor.trace = options.trace;
  executor.profile = options.profile;
  executor.transport = std::move(transport);
  executor.servers = std::move(servers);
  executor.failures = std::move(failures);
  executor.deadline = options.deadline;
  executor.completed = std::move(parts.completed);
  executor.number = parts.number;
  if (parts.number == 0) executor.on_completed = options.on_completed;
  return cuda::DeviceExecutor::Create(std::move(program), std::move(executor));
}

}  // namespace commsched::runtime
