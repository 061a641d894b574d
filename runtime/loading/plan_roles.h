// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The roles of a plan, and the values that it keeps from step to step as files name
// them. Used by the plan loader.
#ifndef COMMSCHED_RUNTIME_LOADING_PLAN_ROLES_H
#define COMMSCHED_RUNTIME_LOADING_PLAN_ROLES_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plan/plan.pb.h"
#include "runtime/program/server_program.h"
#include "runtime/program/tensor_info.h"

namespace commsched::runtime {

// A parameter or state under its name in files. Trainers hold it whole, servers
// hold rows of it.
struct ValueInfo {
  struct Part {
    int server = 0;
    uint32_t slot = 0;            // index in the plan
    size_t begin = 0, bytes = 0;  // of the whole
  };
  std::string name;
  bool is_param = true;
  TensorInfo type;                // of the whole
  std::vector<uint32_t> trainer;  // slots of the trainers, all devices
  std::vector<Part> parts;        // of the servers; may be copies of each other
  bool on_servers = false;        // the parts make up the whole
  // Trainers push and pull single rows. A trainer's slot for the whole, if there
  // is one, is of functions that are no step.
  bool of_rows = false;
  // State of which each rank has its own (rank_state.h); set, it is equal on all here.
  bool per_rank = false;
  // Whose value counts where ranks run different steps: that of the role whose step
  // writes it (the first of several), else of the first that holds it. Index in
  // PlanRoles::workers; -1: all ranks have the same.
  int role = -1;
};

// Whether blocks of the servers have all of `value`, so that trainers can pull it. What only an update
// reads is on servers too, and not handed out.
bool IsHandedOut(const ServersProgram &servers, const ValueInfo &value);

// Ranks that run a step of their own.
struct WorkerRole {
  int role = 0;              // index in Plan.roles
  int first = 0, count = 0;  // ranks
};

struct PlanRoles {
  int trainer = -1;                 // index in Plan.roles; -1: all of the plan is theirs
  std::vector<WorkerRole> workers;  // by rank; empty if all ranks run one step
  std::vector<int> servers;         // by server
  ServersProgram program;           // functions are not resolved
  std::vector<ValueInfo> values;    // in the order of the plan's slots
};

// What a process of this role holds: the slots of the role and those that its
// functions name. Ascending.
std::vector<uint32_t> SlotsOfRole(const plan::Plan &plan, int role);

// In the order of the plan; -1: all.
std::vector<uint32_t> FunctionsOfRole(const plan::Plan &plan, int role);

// Checks everything about roles and servers that does not need the functions'
// code. Errors name the role, server, block or slot.
absl::StatusOr<PlanRoles> ReadRoles(const plan::Plan &plan);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_PLAN_ROLES_H
