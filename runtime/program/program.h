// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan as one rank executes it: checked, every index resolved, every
// expression in the rank evaluated. Immutable, free of protobuf, shared
// between threads.
#ifndef COMMSCHED_RUNTIME_PROGRAM_PROGRAM_H
#define COMMSCHED_RUNTIME_PROGRAM_PROGRAM_H

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ops/base/element.h"
#include "ops/base/kernel.h"
#include "plan/cuda_launch.h"
#include "runtime/program/part_ends.h"
#include "runtime/program/server_program.h"
#include "runtime/program/tensor_info.h"

namespace commsched::runtime {

struct SlotInfo {
  std::string name;
  bool is_param = true;
  TensorInfo type;
  bool written = false;  // by some function: kept in two copies
  uint32_t device = 0;
  // Slots of one name, on several devices, have one value. This is one of them
  // that is not the first: no file has it.
  bool repeated = false;
  bool held = true;       // by this role: else it has no memory
  bool internal = false;  // of no interest outside
  bool per_rank = false;  // each rank has a value of its own; zero to begin with
};

struct BatchArgument {
  std::string name;
  TensorInfo type;      // of one worker
  uint32_t device = 0;  // that gets it
};

struct BufferInfo {
  enum Kind {
    kArena,
    kSlotCurrent,
    kSlotNext,
    kBatch,
    kWorkerIndex
  };
  Kind kind = kArena;
  TensorInfo type;
  size_t offset = 0;    // in the arena; of a part of another buffer: in that
  uint32_t slot = 0;    // index in Program::slots
  uint32_t batch = 0;   // index in FunctionProgram::batches
  uint32_t device = 0;  // kWorkerIndex: whose; of a CUDA plan, in whose memory, of all kinds
  bool host = false;    // of a CUDA plan: in pinned memory, `offset` is in the host's arena
  std::string name;
};

// What this rank does in one round of an exchange. Byte ranges of the buffer;
// a peer of -1 means nothing to send or to receive. Where the buffer is in parts, the
// ranges are those that there would be if it had the first chunk of each part in front, and so
// on: what overlaps is as it is in the parts.
struct Round {
  int send_peer = -1;
  int recv_peer = -1;
  size_t send_begin = 0, send_bytes = 0;
  size_t recv_begin = 0, recv_bytes = 0;
  // The same in chunks of the phase.
  uint32_t send_chunk = 0, send_chunks = 0;
  uint32_t recv_chunk = 0, recv_chunks = 0;
};

// First element of part `c` of `chunks` of a tensor of `n` elements.
int64_t PartBegin(int64_t n, int64_t chunks, int64_t c);
// The sum of that over tensors of so many elements.
int64_t ChunkBegin(absl::Span<const int64_t> parts, int64_t chunks, int64_t c);

// Slice `slice` of `slices` of what a round moves; elements have `unit` bytes.
Round SliceOf(const Round &round, size_t unit, uint32_t slice, uint32_t slices);

// A part of what an instruction makes, which can be waited for.
struct PartWait {
  uint32_t instruction = 0, part = 0;
  auto operator<=>(const PartWait &) const = default;
};

struct PhaseProgram {
  ops::Combine combine = ops::Combine::kReplace;
  double scale = 0;  // of what is received in the last round; 0: none
  std::vector<Round> rounds;
  int32_t priority = 0;  // of what it sends
  uint32_t chunks = 1;   // that a tensor, or each part of the buffer, is cut into
};

// A collective of all ranks by NCCL, on device memory. `lane`: which communicator; `number`: when
// that takes it, 0, 1, 2, ... within a step, the same on all ranks.
struct NcclProgram {
  enum Kind {
    kAllReduce,
    kReduceScatter,
    kAllGather
  };
  enum Reduction {
    kSum,
    kMean,
    kMax,
    kMin
  };
  Kind kind = kAllReduce;
  Reduction reduction = kSum;  // not of kAllGather
  uint32_t lane = 0, number = 0;
  // For emulation: what it takes by the plan's cluster; and how ranks find out that all of them
  // have come to it, by a byte in each round (`send_begin` and `recv_begin` are places among two).
  int64_t nanoseconds = 0;
  PhaseProgram meeting;
};

// Each rank sends to the one that is 1, 2, 4, ... behind it, what it sends in a round after what it
// gets in those before: in the last one it knows of all (the dissemination barrier of Hensgen,
// Finkel and Manber, 1988).
PhaseProgram MeetingOf(int rank, int ranks);

struct CommunicateProgram {
  std::string key;
  std::string source_op;
  uint32_t key_id = 0;  // unique in the plan
  uint32_t buffer = 0;
  ops::Element element = ops::Element::kF32;
  std::vector<PhaseProgram> phases;
  // Instead of phases. All reduced are `input_bytes` at `input`, or in place if it is -1, into
  // `buffer`; the part of a kReduceScatter goes to `output`, that of a kAllGather comes from
  // `input`, each of 1 / nodes of the buffer.
  std::optional<NcclProgram> nccl;
  // What each message is cut into: slices go through the rounds independently of
  // each other, so that the link has one of them while another is on its way.
  uint32_t slices = 1;
  // Nanoseconds for which less urgent messages wait for one of its own (plan/exclusive.h); 0: they do not.
  int64_t exclusive = 0;
  uint32_t chunks = 1;  // parts of the tensor of which rounds move one, with slices
  // Copy from `input` into the buffer first, and from the buffer to `output`
  // last; -1: no copy.
  int64_t input = -1, output = -1;
  size_t input_at = 0, input_bytes = 0;
  bool input_is_all = false;  // of the buffer
  size_t output_at = 0, output_bytes = 0;
  // Of the buffer, from its front, each cut into the chunks that rounds move; what waits for
  // each of them, in this step and in the next one. None: the buffer is cut, and all wait for
  // all of it.
  struct Part {
    size_t bytes = 0;
    std::vector<uint32_t> wakes_same, wakes_next;
  };
  std::vector<Part> parts;
  // Of its messages, the least urgent.
  int32_t last_priority() const {
    int32_t last = INT32_MIN;
    for (const PhaseProgram &phase : phases) last = std::max(last, phase.priority);
    return last;
  }
  uint32_t first_part = 0;  // its number among those of the function
  // By slice: when its share of each part is there, in that order.
  std::vector<std::vector<PartEnd<size_t>>> part_ends;
};

struct Fragment;  // runtime/loading/code_object.h
class CodeLibrary;

struct RunProgram {
  const Fragment *fragment = nullptr;  // of Program::code
  std::vector<uint32_t> operands;      // inputs, then outputs
  uint64_t flops = 0, bytes = 0;
};

// A fragment on a CUDA device.
struct LaunchProgram {
  uint32_t fragment = 0;           // of Program::cuda
  std::vector<uint32_t> operands;  // inputs, then outputs
  uint64_t flops = 0, bytes = 0;
};

// Bytes of a part of a buffer.
struct Segment {
  uint32_t part = 0;
  size_t begin = 0, bytes = 0;  // `begin`: in the buffer
};
// What a message of these chunks has of a communication with parts, in the order in which
// it is sent: of each part, what there is of these chunks; of that, the slice's share.
std::vector<Segment> SegmentsOf(const CommunicateProgram &c, uint32_t chunks, uint32_t chunk,
                                uint32_t count, uint32_t slice);

// When the slice's share of each part is there, by the phases and parts of the communication.
std::vector<PartEnd<size_t>> PartEndsOf(const CommunicateProgram &c, uint32_t slice);

// What runs one instruction at a time. A compute stream runs fragments; the
// others are copy engines.
struct StreamInfo {
  enum Kind {
    kCompute,
    kToHost,
    kToDevice
  };
  Kind kind = kCompute;
  uint32_t device = 0;
};

struct DeviceLane {
  uint32_t stream = 0;  // the copy engine, or the compute stream of deferred ones: in Program::streams
  std::vector<uint32_t> instructions;
};

struct InstructionProgram {
  enum Kind {
    kRun,
    kCommunicate,
    kCopy,
    kDelay,
    kPush,
    kPull,
    kPushRows,
    kPullRows,
    kLaunch
  };
  Kind kind = kRun;
  std::string name;
  std::string location;  // may be empty
  bool deferred = false;
  // Of what a stream runs, not of communications.
  bool on_stream() const {
    return kind == kRun || kind == kLaunch || kind == kCopy || kind == kDelay;
  }
  // Of what talks to parameter servers.
  bool of_server() const { return of_block() || of_rows(); }
  bool of_block() const { return kind == kPush || kind == kPull; }
  bool of_rows() const { return kind == kPushRows || kind == kPullRows; }
  bool pushes() const { return kind == kPush || kind == kPushRows; }
  StreamInfo runs_on;
  uint32_t stream = 0;  // the same as an index in Program::streams
  int32_t priority = 0;
  // Dependences, without duplicates.
  std::vector<uint32_t> waits_same;  // of this step
  std::vector<uint32_t> waits_last;  // of the previous step
  std::vector<uint32_t> wakes_same;  // the inverse
  std::vector<uint32_t> wakes_next;
  // The same, for parts of what is communicated; CommunicateProgram::Part has the inverse.
  std::vector<PartWait> part_waits_same, part_waits_last;
  std::vector<uint32_t> outputs;  // FunctionProgram::outputs complete with it
  std::vector<uint32_t> writes;   // FunctionProgram::written_slots: which of them
  RunProgram run;                 // kRun; and kLaunch, where there is code for the host as well
  LaunchProgram launch;
  CommunicateProgram communicate;
  ServerMessageProgram message;     // kPush, kPull
  RowsMessageProgram rows;          // kPushRows, kPullRows
  uint32_t source = 0, target = 0;  // kCopy
  bool of_host = false;             // kCopy: between a device and its host
  // kDelay, and kCopy and kLaunch in emulation (0: it takes no time).
  uint64_t nanoseconds = 0;
};

struct OutputInfo {
  std::string metric;
  uint32_t buffer = 0;
};

struct FunctionProgram {
  std::string name;
  bool is_step = false;
  bool sums_gradients = false;  // of the workers, where otherwise their mean is taken
  size_t arena_bytes = 0;
  size_t host_arena_bytes = 0;  // of a CUDA plan
  size_t scratch_bytes = 0;
  uint64_t global_batch = 0;
  size_t credit_bytes = 0;  // 0: no limit
  // Of all devices.
  std::vector<BatchArgument> batches;
  // Devices of a node that have parts of the batch, or indices, of their own.
  uint32_t batch_devices = 1;
  bool reads_index = false;  // of the worker
  std::vector<BufferInfo> buffers;
  std::vector<InstructionProgram> instructions;
  uint32_t parts = 0;     // of all communications
  bool has_code = false;  // not only costs
  // What runs in order, by Program::streams; nothing for copy engines.
  std::vector<std::vector<uint32_t>> in_order;
  // Of a function that one CUDA device runs, else empty: the device's streams of what is not in `in_order`, first in,
  // first out, and when an instruction is enqueued (plan_order.h).
  std::vector<DeviceLane> lanes;
  std::vector<uint32_t> turns;  // by instruction
  std::vector<OutputInfo> outputs;
  // Of a function that updates rows of a table: buffers, in the plan's order.
  std::vector<uint32_t> row_outputs;
  std::vector<uint32_t> initial_outputs;  // read a value that nothing writes
  std::vector<uint32_t> written_slots;
  std::vector<uint32_t> read_slots;  // SLOT_CURRENT
};

// Where the host's arena begins if it is behind that of the devices.
inline size_t HostArenaBegin(const FunctionProgram &function) {
  return (function.arena_bytes + 255) / 256 * 256;
}

struct Program {
  int rank = 0;
  int nodes = 1;
  // Which part of a batch it gets, and of how many: its rank of all, or of those of its
  // role, where ranks run different steps.
  int worker = 0, workers = 1;
  int role = -1;        // index in PlanRoles::workers; -1: all ranks run one step
  uint64_t digest = 0;  // of the plan's bytes
  std::string module_name;
  std::vector<SlotInfo> slots;  // all of the plan
  std::vector<FunctionProgram> functions;
  std::vector<ops::KernelDesc> kernels;
  // Of a plan for CUDA devices, else null. Then trainers and workers have no kRun: their fragments
  // are kLaunch. Functions of servers are as in other plans.
  std::shared_ptr<const plan::CudaModule> cuda;
  ServersProgram servers;
  int server = -1;  // whose program this is; -1: a trainer's or worker's
  // What some instruction runs on, the compute streams first; 0 is that of
  // device 0.
  std::vector<StreamInfo> streams;
  std::shared_ptr<const CodeLibrary> code;  // mapped for the first executor
};

// The ranks that it sends messages to or gets them from.
std::set<int> PartnersOf(const FunctionProgram &function);
std::set<int> PartnersOf(const Program &program);

// Numbers the streams that the instructions run on, and orders what is on those of a CUDA device.
void AssignStreams(Program *program);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_PROGRAM_PROGRAM_H
