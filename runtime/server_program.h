// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter servers of a plan, checked. Part of Program.
#ifndef COMMSCHED_RUNTIME_SERVER_PROGRAM_H
#define COMMSCHED_RUNTIME_SERVER_PROGRAM_H

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor_info.h"

namespace commsched::runtime {

// One part of a parameter, and what updates it.
struct BlockProgram {
  std::string key;       // of pushes
  std::string pull_key;
  TensorInfo gradient;   // what is pushed
  TensorInfo value;      // what is pulled
  uint32_t slot = 0;     // that holds the value
  int function = -1;     // index in Program::functions of the server; else -1
};

struct ServerProgram {
  std::string role;  // "server.0"
  std::vector<BlockProgram> blocks;
  int schedule = -1;  // as BlockProgram::function; -1: none
  bool has_schedule = false;
};

struct ServersProgram {
  // plan.proto's ParameterServers.Mode says what they mean.
  enum Mode { kSync, kAsync, kHalfAsync };
  Mode mode = kSync;
  uint32_t merge = 1;
  bool mean = false;
  std::vector<ServerProgram> servers;  // none: the plan has no servers
};

// Push and Pull.
struct ServerMessageProgram {
  uint32_t server = 0, block = 0, buffer = 0;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SERVER_PROGRAM_H
