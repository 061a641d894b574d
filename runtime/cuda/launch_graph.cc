// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/launch_graph.h"

#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {

absl::StatusOr<std::unique_ptr<LaunchGraph>> LaunchGraph::Record(
    const DriverApi &driver, Stream stream, absl::FunctionRef<absl::Status()> enqueue) {
  absl::Status status = ToStatus(
      driver, driver.StreamBeginCapture(stream, kCaptureThreadLocal), "cuStreamBeginCapture");
  if (!status.ok()) return status;
  status = enqueue();
  Graph graph = nullptr;
  status.Update(ToStatus(driver, driver.StreamEndCapture(stream, &graph), "cuStreamEndCapture"));
  GraphExec executable = nullptr;
  if (status.ok())
    status = ToStatus(driver, driver.GraphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
  if (graph != nullptr) driver.GraphDestroy(graph);
  if (!status.ok()) return status;
  std::unique_ptr<LaunchGraph> made(new LaunchGraph(driver, executable));
  // Else the first launch would see to it, when streams may be waiting for the host.
  status = ToStatus(driver, driver.GraphUpload(executable, stream), "cuGraphUpload");
  if (!status.ok()) return status;
  return made;
}

LaunchGraph::~LaunchGraph() { driver_.GraphExecDestroy(executable_); }

absl::Status LaunchGraph::Launch(Stream stream) {
  return ToStatus(driver_, driver_.GraphLaunch(executable_, stream), "cuGraphLaunch");
}

}  // namespace commsched::runtime::cuda
