// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which launches of a DeviceExecutor are one graph, and how many commands of the driver each op is.
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/cuda/device_executor.h"

namespace commsched::runtime::cuda {
namespace {

// Fewer are enqueued one by one.
constexpr size_t kFewestLaunchesOfGraph = 4;
constexpr uint32_t kCommandsOfGraph = 16;
// NcclLane's events, and what NCCL puts on streams for one.
constexpr uint32_t kCommandsOfCollective = 16;
// Events before and behind an op.
constexpr uint32_t kCommandsOfTimes = 2;

}  // namespace

void DeviceExecutor::RecordRow(OfFunction *function, uint32_t lane, std::vector<uint32_t> ops) {
  size_t launches = 0;
  for (uint32_t op : ops) launches += function->steps[op].size();
  if (launches < kFewestLaunchesOfGraph) return;
  const Stream stream = function->issuer->stream(lane);
  absl::StatusOr<std::unique_ptr<LaunchGraph>> made = LaunchGraph::Record(driver_, stream, [&] {
    absl::Status status;
    for (size_t i = 0; i < ops.size() && status.ok(); ++i)
      status = EnqueueSteps(*function, ops[i], stream);
    return status;
  });
  // What a library does need not be such that it can be recorded: it is enqueued each time, then.
  if (!made.ok()) return;
  for (size_t i = 1; i < ops.size(); ++i) function->in_graph[ops[i]] = true;
  function->graphs[ops.front()] = *std::move(made);
}

void DeviceExecutor::RecordGraphs() {
  for (OfFunction &function : functions_) {
    const StepGraph &graph = function.graph.graph;
    function.in_graph.assign(graph.ops.size(), false);
    if (!options_.graphs || options_.probe != nullptr) continue;
    for (uint32_t lane = 0; lane < graph.lanes.size(); ++lane) {
      if (graph.lanes[lane].kind != LaneKind::kCompute) continue;
      std::vector<uint32_t> row;
      for (uint32_t op = 0; op < graph.ops.size(); ++op) {
        if (graph.ops[op].lane != lane) continue;
        const DeviceOp &work = function.graph.work[op];
        const bool launches = work.kind == DeviceOp::kLaunch;
        // Those behind the first wait for it alone, and nobody waits for those before the last.
        const bool follows = !row.empty() && launches && function.plan.ops[op].waits.empty() &&
                             !function.plan.ops[row.back()].signals &&
                             function.graph.work[row.back()].call == work.call;
        if (!follows) RecordRow(&function, lane, std::exchange(row, {}));
        if (launches) row.push_back(op);
      }
      RecordRow(&function, lane, std::move(row));
    }
  }
}

void DeviceExecutor::CountCommands() {
  for (OfFunction &function : functions_) {
    const StepGraph &graph = function.graph.graph;
    function.commands.assign(graph.ops.size(), 0);
    function.timed_commands.assign(graph.ops.size(), 0);
    for (uint32_t op = 0; op < graph.ops.size(); ++op) {
      if (graph.lanes[graph.ops[op].lane].host()) continue;
      // And an event behind it.
      const uint32_t around = uint32_t(function.plan.ops[op].waits.size()) + 1;
      uint32_t count = around;
      for (const Step &step : function.steps[op]) {
        const auto *call = std::get_if<LibraryStep>(&step);
        count += call == nullptr ? 1 : options_.library->most_commands(call->kernel);
      }
      if (function.graph.work[op].kind == DeviceOp::kCopy) ++count;
      if (function.graph.work[op].kind == DeviceOp::kCollective) count += kCommandsOfCollective;
      function.timed_commands[op] = count + kCommandsOfTimes;
      function.commands[op] = count;
      if (function.in_graph[op] || function.graphs.count(op) != 0)
        function.commands[op] = around + (function.in_graph[op] ? 0 : kCommandsOfGraph);
    }
  }
}

}  // namespace commsched::runtime::cuda
