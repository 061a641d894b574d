// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/device_calibration.h"

#include <algorithm>
#include <utility>

#include "runtime/cuda/device_costs.h"
#include "runtime/loading/plan_cuda.h"
#include "runtime/session/nccl_id.h"

namespace commsched::calibration {

absl::StatusOr<Devices> OpenDevices(const runtime::PlanImage &image, const runtime::SessionOptions &options,
                                    int ranks) {
  Devices devices;
  if (!runtime::IsCudaPlan(image.plan())) return devices;
  auto machine = runtime::OpenCudaMachine(image, options, ranks);
  if (!machine.ok()) return machine.status();
  devices.machine = *std::move(machine);
  auto program = image.ForRank(0);
  if (!program.ok()) return program.status();
  for (const runtime::FunctionProgram &function : (*program)->functions)
    for (const runtime::InstructionProgram &i : function.instructions)
      if (i.communicate.nccl)
        devices.largest = std::max<uint64_t>(devices.largest, function.buffers[i.communicate.buffer].type.bytes);
  return devices;
}

absl::Status MeasureDevice(const Devices &devices, runtime::Transport *transport, const runtime::PlanImage &image,
                           int rank, size_t number, absl::Duration deadline, Costs *out) {
  if (devices.machine == nullptr) return absl::OkStatus();
  const runtime::CudaMachine &machine = *devices.machine;
  runtime::cuda::DeviceCostsOptions measure;
  measure.driver = &machine.driver;
  measure.device = machine.first_device + int(number);
  measure.rank = rank;
  measure.ranks = image.nodes();
  measure.largest = devices.largest;
  measure.deadline = deadline;
  if (machine.nccl) {
    absl::StatusOr<runtime::cuda::NcclUniqueId> id =
        machine.id ? *machine.id : runtime::ShareNcclId(*machine.nccl, transport, deadline);
    if (!id.ok()) return id.status();
    measure.nccl = &*machine.nccl;
    measure.id = *id;
  }
  auto costs = runtime::cuda::MeasureDevice(measure);
  if (!costs.ok()) return costs.status();
  for (const auto &copy : costs->copies)
    out->copies.push_back({rank, copy.to_host, copy.latency_ns, copy.bytes_per_second, copy.both_bytes_per_second});
  for (const auto &all_reduce : costs->all_reduces) out->all_reduces.push_back({all_reduce.bytes, all_reduce.ns});
  out->compute.clear();
  return absl::OkStatus();
}

}  // namespace commsched::calibration
