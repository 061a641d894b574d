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

#include "ops/sparse/list_message.h"
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

// One part of a parameter, and what updates it; or parts of several, which share messages.
struct BlockProgram {
  // Something that holds a part of the value.
  struct Slot {
    uint32_t slot = 0;
    size_t begin = 0;  // in the value
  };

  bool of_rows() const { return rows.chunk != 0; }
  // Trainers push lists of elements, not all of the gradient.
  bool of_lists() const { return lists.entries != 0; }
  const TensorInfo &pushed() const { return of_lists() ? message : gradient; }
  // Null if the slot holds nothing of the value.
  const Slot *Find(uint32_t slot) const {
    for (const Slot &own : slots)
      if (own.slot == slot) return &own;
    return nullptr;
  }

  std::string key;  // of pushes
  std::string pull_key;
  TensorInfo gradient;  // what is combined, and pushed if not as lists; of rows: of a chunk
  ops::sparse::ListMessageType lists;
  TensorInfo message;  // of lists: what is pushed
  TensorInfo value;    // what is pulled
  // That hold the value, one behind the other: one, or several that share messages.
  std::vector<Slot> slots;
  bool mean = false;  // of the trainers' messages; else the sum
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
  // By server and block, of what is pushed and of what is pulled: the smaller, the earlier.
  std::vector<std::vector<int32_t>> pushes, pulls;

  int32_t OfPush(size_t server, uint32_t block) const { return Of(pushes, server, block); }
  int32_t OfPull(size_t server, uint32_t block) const { return Of(pulls, server, block); }
  // 0 of those that are not there.
  static int32_t Of(const std::vector<std::vector<int32_t>> &of, size_t server, uint32_t block) {
    return server < of.size() && block < of[server].size() ? of[server][block] : 0;
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
