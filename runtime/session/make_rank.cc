// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/make_rank.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/execute/executor.h"
#include "runtime/execute/memory_needs.h"
#include "runtime/loading/plan_cuda.h"

namespace commsched::runtime {
namespace {

absl::Status CheckEmulation(const plan::Plan &plan) {
  if (plan.cluster().device_gb_per_s() != 0 || plan.cluster().device_copy_mb_per_s() != 0)
    return absl::OkStatus();
  for (const plan::Function &f : plan.functions())
    for (const plan::Instruction &i : f.instructions())
      if (i.has_copy() && i.copy().direction() != plan::CopyBuffer::LOCAL &&
          !i.copy().between_devices())
        return absl::InvalidArgumentError(absl::StrCat(
            "function @", f.name(), ": copy \"", i.name(),
            "\" cannot be emulated: the cluster's device has no gb_per_s"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CudaMachine>> CheckRun(const PlanImage &image,
                                                            const SessionOptions &options,
                                                            int ranks) {
  const plan::Plan &plan = image.plan();
  if (options.emulate) {
    if (absl::Status s = CheckEmulation(plan); !s.ok()) return s;
    return nullptr;
  }
  if ((plan.required_features() >> plan::FEATURE_COST_ONLY) & 1)
    return absl::FailedPreconditionError(
        "plan has fragments that have only a cost: it can only be emulated "
        "(cs-run --emulate)");
  // Code in a plan is for this machine's processor, whatever the cluster says.
  if (IsCudaPlan(plan)) return OpenCudaMachine(image, options, ranks);
  const std::string &kind = plan.cluster().device_kind();
  if (!kind.empty() && kind != "cpu")
    return absl::FailedPreconditionError(absl::StrCat(
        "devices of the plan's cluster must be of kind cpu to run it, got: ", kind,
        " (cs-run --emulate and --simulate take the costs of any)"));
  return nullptr;
}

absl::StatusOr<std::unique_ptr<RankExecutor>> MakeRank(const PlanImage &image, RankParts parts,
                                                       const SessionOptions &options) {
  absl::StatusOr<std::shared_ptr<const Program>> program = image.ForRank(parts.rank);
  if (!program.ok()) return program.status();
  // What is emulated is not all touched; a device is asked by its executor.
  absl::Status fits;
  if (!options.emulate && parts.cuda == nullptr) fits = CheckMemory({HostMemoryNeedsOf(**program)}, AvailableMemory());
  std::unique_ptr<Transport> transport;
  auto failures = std::make_shared<PeerFailureRelay>();
  if (parts.connect) {
    TransportOptions connection;
    connection.rank = parts.rank;
    connection.nodes = image.nodes();
    connection.plan_digest = image.digest() ^ options.run_digest;
    connection.partners = PartnersOf(**program);
    if (parts.cuda != nullptr) AddCudaPartners(*parts.cuda, &connection);
    connection.connect_deadline = options.deadline;
    connection.on_peer_failure = [failures](int peer, const absl::Status &why) {
      failures->Report(peer, why);
    };
    auto connected = parts.connect(std::move(connection));
    if (!connected.ok()) return fits.ok() ? connected.status() : fits;
    transport = *std::move(connected);
    // A rank that did not come would be waited for: it comes to say why it does not take part.
    if (!fits.ok()) transport->Abort(fits);
  }
  std::unique_ptr<ParameterClient> servers;
  if (parts.connect_servers && !image.servers().servers.empty()) {
    auto connected = parts.connect_servers(parts.rank);
    if (!connected.ok()) {
      if (transport != nullptr) transport->Abort(connected.status());
      return fits.ok() ? connected.status() : fits;
    }
    servers = *std::move(connected);
    if (!fits.ok()) servers->Abort(fits);
  }
  if (!fits.ok()) return fits;
  if (parts.cuda != nullptr)
    return MakeCudaRank(*parts.cuda, *std::move(program), std::move(parts), std::move(transport),
                        std::move(servers), std::move(failures), options);
  ExecutorOptions executor;
  executor.trace = options.trace;
  executor.deadline = options.deadline;
  executor.emulate = options.emulate;
  executor.profile = options.profile;
  executor.completed = std::move(parts.completed);
  executor.number = parts.number;
  if (parts.number == 0) executor.on_completed = options.on_completed;
  executor.transport = std::move(transport);
  if (executor.transport != nullptr) executor.failures = std::move(failures);
  executor.servers = std::move(servers);
  return Executor::Create(*std::move(program), std::move(executor));
}

}  // namespace commsched::runtime
