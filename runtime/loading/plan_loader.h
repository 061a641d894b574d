// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the bytes of a plan to the programs of its ranks. Everything that the
// executor relies on is checked here: a damaged or hostile plan gives an
// error that names the instruction, never undefined behaviour (its machine
// code, though, is trusted once it is run).
#ifndef COMMSCHED_RUNTIME_LOADING_PLAN_LOADER_H
#define COMMSCHED_RUNTIME_LOADING_PLAN_LOADER_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plan/cuda_launch.h"
#include "plan/plan.pb.h"
#include "runtime/loading/code_object.h"
#include "runtime/loading/plan_roles.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

// A plan in this process: parsed, its code checked, but not mapped before an
// executor is made (CodeLibrary::Map): what needs no code maps none. Shared by the
// ranks that run in it. Thread-safe.
class PlanImage {
 public:
  static absl::StatusOr<std::shared_ptr<const PlanImage>> Load(
      absl::string_view bytes);
  static absl::StatusOr<std::shared_ptr<const PlanImage>> LoadFile(
      const std::string &path);

  // What tells plans apart: of the bytes that Load takes.
  static uint64_t DigestOf(absl::string_view bytes);

  int nodes() const { return int(plan_.cluster().nodes()); }
  uint64_t digest() const { return digest_; }
  const plan::Plan &plan() const { return plan_; }

  // Parameters and state by their names in files.
  const std::vector<ValueInfo> &values() const { return roles_.values; }
  // Of ranks that run different steps; empty if all run one.
  const std::vector<WorkerRole> &workers() const { return roles_.workers; }
  // Parameter servers; `servers` is empty if the plan has none.
  const ServersProgram &servers() const { return roles_.program; }

  // The program of rank `rank` (0 <= rank < nodes()): with parameter servers, of
  // that trainer.
  absl::StatusOr<std::shared_ptr<const Program>> ForRank(int rank) const;
  // The program of parameter server `server`, whose rank, for traces, comes
  // after those of the trainers.
  absl::StatusOr<std::shared_ptr<const Program>> ForServer(int server) const;

 private:
  // Of role `role` (-1: all).
  absl::Status Build(int role, Program *program) const;

  plan::Plan plan_;
  PlanRoles roles_;
  std::map<std::string, uint32_t> keys_;  // of messages between ranks, numbered
  uint64_t digest_ = 0;
  std::shared_ptr<CodeLibrary> code_;
  std::shared_ptr<const plan::CudaModule> cuda_;  // null: the plan is for CPUs
};

// Index of a function by name; nullptr for the training step.
absl::StatusOr<int> FindFunction(const Program &program, const char *name);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_PLAN_LOADER_H
