// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of a job on the devices of one FakeMachine, each a DeviceExecutor, with messages and
// parameter servers in process, and NCCL.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_DEVICE_JOB_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_DEVICE_JOB_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/cuda/device_executor.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/servers/in_process_parameter_client.h"
#include "tests/runtime/cuda/fake_machine.h"
#include "tests/runtime/cuda/fake_probe.h"

namespace commsched::runtime::cuda {

struct DeviceJobOptions {
  uint64_t seed = 0;
  FakeMachine::Kernels kernels = {};
  // Of each rank; may be empty: what is found in `libraries`.
  std::function<std::unique_ptr<LibraryKernels>(FakeMachine &)> library = {};
  Libraries libraries = Libraries::OfSystem();
  absl::Duration deadline = absl::Seconds(60);
  // Called with each rank's probe, before the executors are made.
  std::function<void(int rank, FakeProbe &)> prepare = {};
  // What else is different for a rank.
  std::function<void(int rank, DeviceExecutorOptions &)> change = {};
  // Instead of transports in process; for each rank, made at the same time.
  std::function<std::unique_ptr<Transport>(int rank, std::shared_ptr<PeerFailureRelay>)> transport = {};
};

class DeviceJob {
 public:
  // `status` says whether it has begun.
  DeviceJob(std::shared_ptr<const PlanImage> image, const DeviceJobOptions &options);
  ~DeviceJob();

  absl::Status status;
  int ranks() const { return int(executors_.size()); }
  DeviceExecutor &rank(int r) { return *executors_[size_t(r)]; }
  FakeMachine &machine() { return machine_; }
  ParameterServer &server(int k) { return *servers_[size_t(k)]; }
  int servers() const { return int(servers_.size()); }
  // Before the first step. Values of servers are set before that.
  absl::Status JoinServers();
  // Runs it for all ranks at once; the first error.
  absl::Status ForAll(const std::function<absl::Status(int rank)> &run);
  // The rank's process is gone, as far as others can see.
  void Lose(int r);

  // Ends all ranks; the findings of the machine, and how much is left.
  struct End {
    std::vector<std::string> findings;
    size_t left = 0;
  };
  End Finish();

 private:
  absl::Status MakeServers(const std::shared_ptr<const PlanImage> &image, const DeviceJobOptions &options);

  FakeMachine machine_;
  std::vector<std::unique_ptr<FakeProbe>> probes_;
  ParameterServers servers_;  // outlive the executors, whose clients use them
  std::vector<std::unique_ptr<DeviceExecutor>> executors_;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_DEVICE_JOB_H
