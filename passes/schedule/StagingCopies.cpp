// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/StagingCopies.h"

#include "passes/schedule/StepCosts.h"
#include "passes/support/Module.h"

using namespace mlir;
using namespace commsched;

StepProblem::HostEngine commsched::hostEngineOf(cs::ClusterOp cluster) {
  cs::DeviceAttr device = cluster.getDevice();
  schedule::Link link;
  link.bytesPerSecond = device.getCopyMbPerS() ? device.getCopyMbPerS() * 1'000'000
                                               : device.getGbPerS() * 1'000'000'000;
  link.creditUntilSent = true;
  return {link, device.getCopyLatencyNs()};
}

schedule::Stage StagingStages::stage(schedule::Problem &problem, unsigned device, bool toHost,
                                     int64_t bytes) {
  auto [engine, isNew] =
      engines.try_emplace({device, toHost}, static_cast<unsigned>(problem.links.size()));
  if (isNew) {
    problem.links.push_back(costs.link);
    problem.links.back().name =
        "device " + std::to_string(device) + (toHost ? " to host" : " from host");
  }
  return {engine->second, bytes, costs.latency, 0};
}

void StagingStages::addTo(schedule::Problem &problem, StepProblem::Part &part,
                          schedule::Communication &communication) {
  auto deviceOf = [](Value value) { return cast<cs::PlacedType>(value.getType()).getDevice(); };
  Operation *last = part.pull ? part.pull : part.op;
  if (part.op->getNumOperands() != 0) {
    int64_t bytes = 0;
    for (Value operand : part.op->getOperands())
      bytes += StepCosts::bytesOf(operand);
    communication.stages.insert(
        communication.stages.begin(),
        stage(problem, deviceOf(part.op->getOperand(0)), /*toHost=*/true, bytes));
    ++part.firstStage;
    ++part.lastStage;
  }
  if (last->getNumResults() != 0) {
    Value result = last->getResult(0);
    communication.stages.push_back(
        stage(problem, deviceOf(result), /*toHost=*/false, StepCosts::bytesOf(result)));
  }
  communication.tail = 0; // a copy is of all of a message
}

schedule::Problem commsched::withCopiesOf(const StepProblem &step,
                                          const schedule::Schedule &schedule) {
  schedule::Problem problem = step.problem;
  for (const StepProblem::Part &part : step.parts)
    for (std::optional<unsigned> op : {part.copyBefore, part.copyBehind})
      if (op)
        problem.ops[*op].duration = problem.ops[*op].shared = 0;
  for (const schedule::Message &message : schedule.messages) {
    std::optional<unsigned> before, behind;
    int64_t bytes = 0;
    for (const schedule::Piece &piece : message.pieces) {
      const StepProblem::Part &part = step.parts[piece.communication];
      bytes += piece.end - piece.begin;
      if (part.copyBefore)
        before = std::max(before.value_or(0), *part.copyBefore);
      if (part.copyBehind)
        behind = std::min(behind.value_or(UINT_MAX), *part.copyBehind);
    }
    for (std::optional<unsigned> op : {before, behind})
      if (op)
        problem.ops[*op].shared = problem.ops[*op].duration += step.hostEngine->timeOf(bytes);
  }
  return problem;
}
