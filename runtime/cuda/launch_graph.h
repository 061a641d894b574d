// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that always follow each other on a stream, with the same arguments, as one call of the
// driver: a CUDA graph, recorded once. Launching them one by one takes a host several microseconds
// each, which is more than small kernels take.
//
// Owned by one thread at a time, which has the device's context current.
#ifndef COMMSCHED_RUNTIME_CUDA_LAUNCH_GRAPH_H
#define COMMSCHED_RUNTIME_CUDA_LAUNCH_GRAPH_H

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/driver_api.h"

namespace commsched::runtime::cuda {

class LaunchGraph {
 public:
  // What `enqueue` puts on `stream`: kernels, and copies within the device. Nothing of it runs. An
  // error of the driver may only mean that something of it cannot be recorded; one of `enqueue` is
  // handed on. `driver` outlives the graph.
  static absl::StatusOr<std::unique_ptr<LaunchGraph>> Record(
      const DriverApi &driver, Stream stream, absl::FunctionRef<absl::Status()> enqueue);
  // What was launched must have ended.
  ~LaunchGraph();
  LaunchGraph(const LaunchGraph &) = delete;

  absl::Status Launch(Stream stream);

 private:
  LaunchGraph(const DriverApi &driver, GraphExec executable)
      : driver_(driver), executable_(executable) {}

  const DriverApi &driver_;
  const GraphExec executable_;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_LAUNCH_GRAPH_H
