// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter servers of a plan, checked. Part of Program.
#ifndef COMMSCHED_RUNTIME_PROGRAM_SERVER_PROGRAM_H
#define COMMSCHED_RUNTIME_PROGRAM_SERVER_PROGRAM_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/program/rows_message.h"
#include "runtime/program/tensor_info.h"

namespace commsched::runtime {

// Of a block of a table of which trainers push and pull single rows: what its
// function, which updates `chunk` rows at a time, has to do with slots.
struct RowBlockProgram {
  struct Slot {
    uint32_t slot = 0;
    size_t row_bytes = 0;
    std::string name;
    // Indices in FunctionProgram::batches and ::row_outputs of the function; -1:
    // it does not read or write the rows of this slot.
    int batch = -1, output = -1;
  };
  uint32_t chunk = 0;      // 0: no such block
  int64_t begin = 0;       // first row of the block in the table
  RowLayout gradient;      // of pushes
  size_t value_bytes = 0;  // of a row that is pulled
  std::vector<Slot> slots;
  int gradient_batch = -1;
};

// One part of a parameter, and what updates it.
struct BlockProgram {
  bool of_rows() const { return rows.chunk != 0; }

  std::string key;  // of pushes
  std::string pull_key;
  TensorInfo gradient;  // what is pushed; of rows: of a chunk
  TensorInfo value;     // what is pulled
  uint32_t slot = 0;    // that holds the value
  bool mean = false;    // of the trainers' messages; else the sum
  // Blocks that the function updates at once, when it has the messages of all:
  // this one, and more in synchronous mode only. In the order of its batches.
  std::vector<uint32_t> together;
  // What is only handed back: neither waits for the schedule nor holds it up.
  bool apart = false;
  int function = -1;  // index in Program::functions of the server; else -1
  RowBlockProgram rows;
};

struct ServerProgram {
  std::string role;  // "server.0"
  std::vector<BlockProgram> blocks;
  int schedule = -1;  // as BlockProgram::function; -1: none
  bool has_schedule = false;
};

// How the messages of a trainer's step go to servers, and theirs to it.
struct ServerOrder {
  // By server and block, of what it pushes and of what it pulls: the smaller, the earlier.
  // 0 of those that are not in it.
  std::vector<std::vector<int32_t>> priorities;
  // Bytes of pushes on the way to a server that it has not taken yet, at most, so
  // that an urgent one overtakes those behind; 0: as many as there are.
  size_t credit_bytes = 0;

  int32_t PriorityOf(size_t server, uint32_t block) const {
    if (server >= priorities.size() || block >= priorities[server].size()) return 0;
    return priorities[server][block];
  }
};

struct ServersProgram {
  // plan.proto's ParameterServers.Mode says what they mean.
  enum Mode {
    kSync,
    kAsync,
    kHalfAsync
  };
  Mode mode = kSync;
  uint32_t merge = 1;
  bool mean = false;
  std::vector<ServerProgram> servers;  // none: the plan has no servers
  ServerOrder order;                   // of the trainers' step
};

// Push and Pull.
struct ServerMessageProgram {
  uint32_t server = 0, block = 0, buffer = 0;
};

// PushRows and PullRows.
struct RowsMessageProgram {
  struct Part {
    uint32_t server = 0, block = 0;
  };
  std::string key;
  std::vector<Part> parts;
  std::vector<int64_t> begins;  // by part: its first row
  RowLayout table;              // of the values
  ops::Element id_element = ops::Element::kI32;
  size_t count = 0;              // of ids
  uint32_t ids = 0, values = 0;  // buffers
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_PROGRAM_SERVER_PROGRAM_H
