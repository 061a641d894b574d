// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// schedule_driver [--solve-only]: solves the scheduling problems on the standard
// input, and prints a line of JSON for each: the periods of the solver and of every
// baseline, and the bounds, in nanoseconds. A problem is lines of
//   problem NAME
//   link NAME BYTES_PER_SECOND
//   op DURATION [AFTER...]
//   comm BYTES KIND PRODUCER CONSUMER [LINK BYTES OVERHEAD LATENCY]...
//   end
// with one stream, and consumers in the next step.

#include "passes/schedule/solver/Solve.h"
#include "passes/schedule/solver/baselines/Baselines.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>

using namespace commsched::schedule;

namespace {

void readLine(const std::string &line, Problem &problem) {
  std::istringstream in(line);
  std::string what;
  in >> what;
  if (what == "problem") {
    in >> problem.name;
  } else if (what == "link") {
    Link link;
    in >> link.name >> link.bytesPerSecond;
    problem.links.push_back(link);
  } else if (what == "op") {
    Op op;
    in >> op.duration;
    for (unsigned before; in >> before;)
      op.after.push_back(before);
    problem.ops.push_back(op);
  } else if (what == "comm") {
    Communication communication;
    unsigned producer = 0, consumer = 0;
    in >> communication.bytes >> communication.kind >> producer >> consumer;
    communication.producers = {producer};
    communication.consumers = {{consumer, 1}};
    for (Stage stage;
         in >> stage.link >> stage.bytes >> stage.overhead >> stage.latency;)
      communication.stages.push_back(stage);
    problem.communications.push_back(communication);
  }
}

void solveAndPrint(const Problem &problem, bool solveOnly) {
  auto begin = std::chrono::steady_clock::now();
  Solution solution = solve(problem);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf(
      "{\"name\": \"%s\", \"seconds\": %.3f, \"schedule\": \"%s\", "
      "\"period\": %.3f, \"settled\": %s, \"bound\": %.3f, "
      "\"any_order_bound\": %.3f, \"why\": \"%s\", \"messages\": %zu, "
      "\"reordered\": %s, \"evaluations\": %u, \"baselines\": {",
      problem.name.c_str(), seconds.count(), solution.schedule.name.c_str(),
      solution.evaluation.period,
      solution.evaluation.settled ? "true" : "false", solution.bound.period,
      solution.anyOrderBound.period, solution.bound.why.c_str(),
      solution.schedule.messages.size(),
      solution.schedule.order == programOrder(problem) ? "false" : "true",
      solution.evaluations);
  const char *separator = "";
  auto print = [&](const std::string &name, double period) {
    std::printf("%s\"%s\": %.3f", separator, name.c_str(), period);
    separator = ", ";
  };
  for (const auto &[name, period] : solution.baselines)
    print(name, period);
  if (!solveOnly) {
    // Those that the solver leaves out for their size.
    View view(problem, programOrder(problem));
    for (const Baseline &baseline : baselines()) {
      bool known = false;
      for (const auto &[name, period] : solution.baselines)
        known |= name == baseline.name;
      if (!known)
        print(baseline.name, evaluate(problem, baseline.make(view)).period);
    }
  }
  std::printf("}}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  bool solveOnly = argc == 2 && !std::strcmp(argv[1], "--solve-only");
  if (argc > 1 && !solveOnly) {
    std::fprintf(stderr, "usage: schedule_driver [--solve-only] < PROBLEMS\n");
    return 2;
  }
  Problem problem;
  for (std::string line; std::getline(std::cin, line);) {
    if (line != "end") {
      readLine(line, problem);
      continue;
    }
    if (auto error = check(problem)) {
      std::fprintf(stderr, "%s: %s\n", problem.name.c_str(), error->c_str());
      return 1;
    }
    solveAndPrint(problem, solveOnly);
    problem = {};
  }
  return 0;
}
