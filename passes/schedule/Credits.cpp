// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Credits.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commsched;

/// By link, how many servers it carries messages to: in a run each has a credit of its own.
static std::vector<int64_t> serversOf(const StepProblem &step) {
  std::vector<llvm::SmallDenseSet<Attribute>> servers(step.problem.links.size());
  for (auto [part, communication] : llvm::zip_equal(step.parts, step.problem.communications))
    if (auto send = dyn_cast<cs::SendOp>(part.op))
      for (unsigned i = part.firstStage; i <= part.lastStage; ++i)
        servers[communication.stages[i].link].insert(send.getRoleAttr());
  std::vector<int64_t> counts;
  for (const llvm::SmallDenseSet<Attribute> &roles : servers)
    counts.push_back(std::max<int64_t>(1, roles.size()));
  return counts;
}

/// How many times the recorded credit is on the wire of a link of a communication.
static int64_t shareOf(const StepProblem &step, const StepProblem::Part &part, int64_t servers) {
  return isa<cs::AllReduceOp>(part.op) ? step.rounds : part.copies * servers;
}

int64_t commsched::creditOf(const StepProblem &step, const schedule::Schedule &schedule) {
  std::vector<int64_t> servers = serversOf(step);
  int64_t least = schedule::kNoLimit;
  for (auto [part, communication] :
       llvm::zip_equal(step.parts, step.problem.communications)) {
    unsigned link = communication.stages[part.firstStage].link;
    int64_t credit = schedule.credit[link];
    if (credit == schedule::kNoLimit)
      continue;
    int64_t share = shareOf(step, part, servers[link]);
    // Rounded up: what just fits must still fit.
    least = std::min(least, std::max<int64_t>(1, credit / share + (credit % share != 0)));
  }
  return least == schedule::kNoLimit ? 0 : least;
}

void commsched::setCredit(const StepProblem &step, int64_t recorded,
                          schedule::Schedule &schedule) {
  std::vector<int64_t> servers = serversOf(step);
  schedule.credit.assign(step.problem.links.size(), schedule::kNoLimit);
  for (auto [part, communication] :
       llvm::zip_equal(step.parts, step.problem.communications))
    for (auto [i, stage] : llvm::enumerate(communication.stages)) {
      int64_t &credit = schedule.credit[stage.link];
      if (i < part.firstStage || i > part.lastStage)
        credit = 1; // a copy engine takes the most urgent copy when it is done with one
      else if (recorded && llvm::MulOverflow(recorded, shareOf(step, part, servers[stage.link]), credit))
        credit = schedule::kNoLimit;
    }
}
