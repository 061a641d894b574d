// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs trials in child processes, so that a crash, or a loop without an end, costs
// one program.

#ifndef COMMSCHED_TESTS_DIFFERENTIAL_CHILDREN_H
#define COMMSCHED_TESTS_DIFFERENTIAL_CHILDREN_H

#include "tests/differential/trial.h"

#include <functional>
#include <vector>

namespace commsched::differential {

struct Job {
  std::string text;
  Mode mode;
  uint64_t seed = 0; // of values
};

struct Done {
  uint64_t index = 0;
  Report report;
  bool crashed = false; // ended by a signal, or took too long: `report.message` says so
};

class Children {
public:
  // `trial` is used by children only, but prepared here, before they are forked.
  Children(Trial &trial, int jobs) : trial(trial), jobs(jobs) {}

  // Runs jobs first .. last-1 (of `job`, which is called in the children), several at
  // a time; calls `done` here for each, in any order, until it returns false.
  void run(uint64_t first, uint64_t last, const std::function<Job(uint64_t)> &job,
           const std::function<bool(const Done &)> &done);
  // One job.
  Done run(const Job &job);

private:
  struct Child;
  Child start(uint64_t from, uint64_t to, const std::function<Job(uint64_t)> &job);
  // Reads what it has written; false once it has ended.
  bool read(Child &child, std::vector<Done> &results);

  Trial &trial;
  int jobs;
};

} // namespace commsched::differential

#endif // COMMSCHED_TESTS_DIFFERENTIAL_CHILDREN_H
