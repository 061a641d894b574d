// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bound_check_driver INSTANCES GAPS: the bound against exhaustive search on so many
// tiny problems, then the solver against all schedules of so many tiny problems
// with costs per message. One line of JSON.

#include "passes/schedule/solver/Bound.h"
#include "passes/schedule/solver/Solve.h"
#include "tests/passes/schedule/Exhaustive.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/RandomProblem.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

using namespace commsched::schedule;

namespace {

/// Every way to put the bytes of all tensors into messages, in every order of
/// urgency, with every credit, is tried.
class AllSchedules {
 public:
  explicit AllSchedules(const Problem &problem) : problem(problem) {
    for (unsigned i = 0; i < problem.communications.size(); ++i)
      for (int64_t byte = 0; byte < problem.communications[i].bytes; ++byte)
        bytes.push_back({i, byte, byte + 1});
    schedule.order = programOrder(problem);
  }

  double best() {
    assign(0);
    return period;
  }

 private:
  void assign(size_t index) {
    if (index == bytes.size()) {
      if (!verify(problem, prioritised()))
        tryUrgencies();
      return;
    }
    unsigned kind = problem.communications[bytes[index].communication].kind;
    for (size_t i = 0; i < schedule.messages.size(); ++i) {
      Message &message = schedule.messages[i];
      if (problem.communications[message.pieces[0].communication].kind != kind)
        continue;
      message.pieces.push_back(bytes[index]);
      assign(index + 1);
      schedule.messages[i].pieces.pop_back();
    }
    schedule.messages.push_back({{bytes[index]}, {}});
    assign(index + 1);
    schedule.messages.pop_back();
  }

  const Schedule &prioritised() {
    schedule.credit.assign(problem.links.size(), 0);
    for (Message &message : schedule.messages)
      message.priorities.assign(
          problem.communications[message.pieces[0].communication].stages.size(), 0);
    return schedule;
  }

  void tryUrgencies() {
    std::vector<int64_t> urgencies(schedule.messages.size());
    std::iota(urgencies.begin(), urgencies.end(), 0);
    int64_t ops = static_cast<int64_t>(problem.ops.size());
    do {
      // Urgencies within a step, and apart so much that those of the next one
      // or two overtake.
      for (int64_t range : {ops, 2 * ops, 3 * ops}) {
        for (size_t i = 0; i < urgencies.size(); ++i)
          for (int64_t &priority : schedule.messages[i].priorities)
            priority = urgencies[i] * range / static_cast<int64_t>(urgencies.size());
        tryCredits();
      }
    } while (std::next_permutation(urgencies.begin(), urgencies.end()));
  }

  void tryCredits() {
    for (size_t bound = 0; bound <= bytes.size(); ++bound) {
      int64_t credit = static_cast<int64_t>(bound);
      std::fill(schedule.credit.begin(), schedule.credit.end(), credit);
      Evaluation evaluation = evaluate(problem, schedule);
      if (evaluation.settled)
        period = std::min(period, evaluation.period);
    }
  }

  const Problem &problem;
  std::vector<Piece> bytes;
  Schedule schedule;
  double period = INFINITY;
};

/// Whether the cases of which everything is known come out.
bool unitCases() {
  Problem three = layers(2, 2, {3, 6, 3}, 2), delay = layers(1, 1, {2, 2, 2});
  return evaluate(three, sliced(three, 6, true)).period == 26 &&
         evaluate(three, sliced(three, 1, false)).period == 18 &&
         evaluate(delay, sliced(delay, 2, true)).period == 6 + 4 &&
         evaluate(delay, sliced(delay, 1, false)).period == 6 + 2 &&
         boundOfOrder(delay, programOrder(delay)).period == 6 + 2;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bound_check_driver INSTANCES GAPS\n");
    return 2;
  }
  const long instances = std::atol(argv[1]), gaps = std::atol(argv[2]);
  long compared = 0, mismatches = unitCases() ? 0 : 1;
  for (uint64_t seed = 0; compared < instances; ++seed) {
    Problem problem = randomProblem(seed, {.maxCommunications = 3, .maxOps = 5});
    ExhaustiveResult best = shortSearch(problem);
    if (!best.finished)
      continue;
    ++compared;
    if (std::abs(boundOfOrder(problem, programOrder(problem)).period - periodOf(best)) > 1e-9)
      ++mismatches;
  }
  double sum = 0, worst = 0, reached = 0;
  long tried = 0, ahead = 0;
  for (uint64_t seed = 0; tried < gaps; ++seed) {
    Problem problem = randomProblem(seed, {.links = 1 + unsigned(seed % 4 == 3),
                                           .maxLatency = 2,
                                           .maxOverhead = 1 + Time(seed % 3),
                                           .maxBytes = 3,
                                           .maxCommunications = 3});
    int64_t bytes = 0;
    for (const Communication &communication : problem.communications)
      bytes += communication.bytes;
    if (bytes > 5)
      continue;
    ++tried;
    SolverOptions options;
    options.reorder = false;
    Solution solution = solve(problem, options);
    double best = AllSchedules(problem).best();
    double gap = solution.evaluation.period / best - 1;
    if (solution.bound.period > std::min(best, solution.evaluation.period) + 1e-9)
      ++mismatches;
    reached += solution.bound.period / std::min(best, solution.evaluation.period);
    if (std::getenv("COMMSCHED_VERBOSE") && gap > 0.01)
      std::fprintf(stderr, "seed %llu: solver %.3f, best %.3f, bound %.3f\n",
                   static_cast<unsigned long long>(seed), solution.evaluation.period,
                   best, solution.bound.period);
    sum += gap;
    ahead += gap < -1e-9;
    worst = std::max(worst, gap);
  }
  std::printf(
      "{\"instances\": %ld, \"mismatches\": %ld, \"gap_instances\": %ld, "
      "\"mean_gap\": %.6f, \"worst_gap\": %.6f, \"solver_ahead\": %ld, "
      "\"bound_over_best\": %.6f}\n",
      compared, mismatches, tried,
      tried ? sum / static_cast<double>(tried) : 0, worst, ahead,
      tried ? reached / static_cast<double>(tried) : 0);
  return mismatches ? 1 : 0;
}
