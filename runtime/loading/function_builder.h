// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a function of a plan to the program of one rank. Used by the plan loader
// only.
#ifndef COMMSCHED_RUNTIME_LOADING_FUNCTION_BUILDER_H
#define COMMSCHED_RUNTIME_LOADING_FUNCTION_BUILDER_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plan/plan.pb.h"
#include "runtime/loading/code_object.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

// Checks one function and resolves its indices: first the buffers, then the
// instructions and their dependences, then what is known of the whole. The
// first error ends it and names the buffer or the instruction.
//
// Owns nothing: what is passed in outlives the builder, and the fragments of
// `code`, which the result refers to, outlive the result. Not thread-safe.
class FunctionBuilder {
 public:
  // `keys`: numbers of those of Communicate instructions. Marks in program->slots
  // what the function writes.
  FunctionBuilder(const plan::Plan &plan, const plan::Function &function, int rank,
                  const std::map<std::string, uint32_t> &keys, const CodeLibrary *code,
                  Program *program)
      : plan_(plan),
        in_(function),
        rank_(rank),
        devices_(std::max(1u, plan.cluster().devices())),
        keys_(keys),
        code_(code),
        program_(program) {}

  // To be called once.
  absl::StatusOr<FunctionProgram> Build();

 private:
  // function_builder.cc
  absl::Status AddBuffer(int index);
  // What the current instruction does with a buffer.
  absl::Status CheckRead(uint32_t buffer);
  absl::Status Write(uint32_t buffer);
  absl::Status Finish();
  // The last instruction that writes memory of `buffer`, -1 if none does.
  int64_t LastWriter(uint32_t buffer) const;

  // function_instructions.cc
  absl::Status AddInstruction(int index);
  absl::Status AddRun(const plan::Run &run, InstructionProgram *out);
  // The code of a fragment; and what it reads and writes.
  absl::StatusOr<const Fragment *> FindCode(uint32_t object, const std::string &symbol);
  template <typename Message>
  absl::Status AddOperands(const Message &message, std::vector<uint32_t> *operands) {
    for (uint32_t b : message.inputs()) {
      if (absl::Status s = CheckRead(b); !s.ok()) return s;
      operands->push_back(b);
    }
    for (uint32_t b : message.outputs()) {
      if (absl::Status s = Write(b); !s.ok()) return s;
      operands->push_back(b);
    }
    return absl::OkStatus();
  }
  absl::Status AddCommunicate(const plan::Communicate &comm,
                              InstructionProgram *out);
  absl::Status AddCopy(const plan::CopyBuffer &copy, InstructionProgram *out);
  absl::Status AddDelay(const plan::Delay &delay, InstructionProgram *out);
  absl::Status AddPush(const plan::Push &push, InstructionProgram *out);
  absl::Status AddPull(const plan::Pull &pull, InstructionProgram *out);
  // Checks what a message to or from a server names.
  absl::StatusOr<const BlockProgram *> FindBlock(uint32_t server, uint32_t block,
                                                 const std::string &key, bool push);
  absl::Status CheckPushes();
  // Messages between ranks outside of exchanges.
  absl::Status CheckEnds();
  absl::Status CheckEnd(int index);

  // function_parts.cc
  absl::Status AddParts(const plan::Communicate &comm, CommunicateProgram *c);
  absl::Status AddExclusive(const plan::Communicate &comm, CommunicateProgram *c);
  absl::Status AddPartEnds(CommunicateProgram *c);  // by its phases
  absl::Status AddPartWait(const plan::Dependence &d, InstructionProgram *out);

  // function_cuda.cc
  absl::Status AddLaunch(const plan::Launch &launch, InstructionProgram *out);
  absl::Status AddNccl(const plan::Communicate &comm, CommunicateProgram *c);
  // Of a CUDA plan: whether `buffer` is in the memory that the instruction works on.
  absl::Status CheckOnDevice(uint32_t buffer, const InstructionProgram &out);
  absl::Status CheckOnHost(uint32_t buffer);
  absl::Status CheckMemories(const InstructionProgram &out, const plan::Instruction &in);
  absl::Status CheckNcclOrder();

  // function_rows.cc
  absl::Status AddPushRows(const plan::PushRows &push, InstructionProgram *out);
  absl::Status AddPullRows(const plan::PullRows &pull, InstructionProgram *out);
  // What both have in common.
  template <typename Message>
  absl::Status AddRows(const Message &message, bool push,
                       InstructionProgram *out);
  // Whether this is the function of a block of rows of the server.
  bool UpdatesRows() const;
  absl::Status AddRowOutputs();

  const plan::Plan &plan_;
  const plan::Function &in_;
  const int rank_;
  const uint32_t devices_;
  const std::map<std::string, uint32_t> &keys_;
  std::map<std::pair<std::string, bool>, int> used_keys_;  // to send, and which instruction
  const CodeLibrary *code_;
  Program *program_;
  FunctionProgram out_;
  std::string where_;  // begins the errors
  int current_ = 0;    // instruction
  uint64_t total_rounds_ = 0;
  bool on_cuda_ = false;                            // devices have memories of their own
  std::vector<int64_t> writer_;                     // last instruction that writes a buffer
  std::set<std::pair<int, uint32_t>> slot_writes_;  // instructions, slots
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_FUNCTION_BUILDER_H
