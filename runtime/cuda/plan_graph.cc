// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/plan_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::cuda {
namespace {

// Of a metric in pinned memory.
constexpr uint64_t kMetricBytes = 8;

uint64_t Aligned(uint64_t bytes) {
  return (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
}

bool Overlap(const std::vector<Range> &a, const std::vector<Range> &b) {
  for (const Range &x : a) {
    for (const Range &y : b) {
      if (x.memory == y.memory && x.begin < y.begin + y.bytes && y.begin < x.begin + x.bytes)
        return true;
    }
  }
  return false;
}

// Whether their memory orders them.
bool Conflict(const Op &a, const Op &b) {
  return Overlap(a.writes, b.writes) || Overlap(a.writes, b.reads) || Overlap(a.reads, b.writes);
}

class GraphMaker {
 public:
  GraphMaker(const Program &program, const FunctionProgram &function, const SlotPlaces &slots)
      : program_(program), function_(function), slots_(slots) {}

  absl::StatusOr<PlanGraph> Make() {
    if (absl::Status status = Check(); !status.ok()) return status;
    if (absl::Status status = Order(); !status.ok()) return status;
    MakeLanes();
    PlaceMemory();
    for (uint32_t call = 0; call < 2; ++call) {
      if (call == 1) result_.second_call = uint32_t(result_.graph.ops.size());
      AddCall(call);
    }
    AddDependences();
    return std::move(result_);
  }

 private:
  absl::Status Unimplemented(const std::string &what) const {
    return absl::UnimplementedError(absl::StrCat("function @", function_.name, ": ", what));
  }

  absl::Status Check() const {
    if (program_.cuda == nullptr)
      return absl::InvalidArgumentError("the plan is not for CUDA devices");
    for (const BufferInfo &buffer : function_.buffers) {
      if (buffer.device != 0)
        return Unimplemented("several CUDA devices of a node cannot be run yet");
      if ((buffer.kind == BufferInfo::kSlotCurrent || buffer.kind == BufferInfo::kSlotNext) &&
          !slots_.slots[buffer.slot].held)
        return absl::InvalidArgumentError(
            absl::StrCat("function @", function_.name, " uses slot \"",
                         program_.slots[buffer.slot].name, "\", which its role does not hold"));
    }
    for (const InstructionProgram &instruction : function_.instructions) {
      const auto cannot = [&](const char *what) {
        return Unimplemented(absl::StrCat("\"", instruction.name, "\": ", what));
      };
      if (instruction.runs_on.device != 0)
        return cannot("several CUDA devices of a node cannot be run yet");
      switch (instruction.kind) {
        case InstructionProgram::kLaunch:
        case InstructionProgram::kCopy: break;
        case InstructionProgram::kCommunicate: {
          const CommunicateProgram &c = instruction.communicate;
          if (c.nccl && c.nccl->lane != 0)
            return cannot("a second communicator of NCCL cannot be run yet");
          if (c.source_op == "send" || c.source_op == "recv")
            return cannot("messages between single ranks cannot be run on CUDA devices yet");
          break;
        }
        case InstructionProgram::kDelay:
          return cannot("a fragment without code cannot be run");
        case InstructionProgram::kRun:
          return cannot("code for the host cannot be run on a CUDA device");
        default: return cannot("messages to servers cannot be run on CUDA devices yet");
      }
    }
    return absl::OkStatus();
  }

  // That of the plan, but for collectives, whose numbers count.
  absl::Status Order() {
    const auto count = uint32_t(function_.instructions.size());
    std::vector<std::vector<uint32_t>> next(count);
    std::vector<uint32_t> waits(count, 0);
    const auto edge = [&](uint32_t from, uint32_t to) {
      next[from].push_back(to);
      ++waits[to];
    };
    std::map<uint32_t, uint32_t> collectives;  // by number
    for (uint32_t i = 0; i < count; ++i) {
      const InstructionProgram &instruction = function_.instructions[i];
      for (uint32_t on : instruction.waits_same) edge(on, i);
      for (const PartWait &on : instruction.part_waits_same) edge(on.instruction, i);
      if (instruction.kind == InstructionProgram::kCommunicate && instruction.communicate.nccl)
        collectives.emplace(instruction.communicate.nccl->number, i);
    }
    for (const std::vector<uint32_t> &stream : function_.in_order) {
      for (size_t i = 1; i < stream.size(); ++i) edge(stream[i - 1], stream[i]);
    }
    for (auto at = collectives.begin(); at != collectives.end(); ++at) {
      if (auto after = std::next(at); after != collectives.end()) edge(at->second, after->second);
    }
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t i = 0; i < count; ++i) {
      if (waits[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const uint32_t i = ready.top();
      ready.pop();
      order_.push_back(i);
      for (uint32_t to : next[i]) {
        if (--waits[to] == 0) ready.push(to);
      }
    }
    if (order_.size() == count) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("function @", function_.name,
                     ": the numbers of its collectives must go with its dependences"));
  }

  uint32_t AddLane(std::string name, LaneKind kind) {
    result_.graph.lanes.push_back({std::move(name), kind});
    return uint32_t(result_.graph.lanes.size()) - 1;
  }

  void MakeLanes() {
    compute_ = AddLane("compute", LaneKind::kCompute);
    to_host_ = AddLane("to_host", LaneKind::kToHost);
    to_device_ = AddLane("to_device", LaneKind::kToDevice);
    const auto any = [&](auto &&is) {
      return std::any_of(function_.instructions.begin(), function_.instructions.end(), is);
    };
    if (any([](const InstructionProgram &i) { return IsDeferred(i); }))
      deferred_ = AddLane("deferred", LaneKind::kCompute);
    if (any([](const InstructionProgram &i) { return i.communicate.nccl.has_value(); }))
      nccl_ = AddLane("nccl", LaneKind::kNccl);
    end_ = AddLane("calls", LaneKind::kHost);
    for (const BatchArgument &batch : function_.batches)
      batch_lanes_.push_back(AddLane(absl::StrCat("batch ", batch.name), LaneKind::kHost));
  }
  static bool IsDeferred(const InstructionProgram &i) {
    return i.deferred && i.on_stream() && i.runs_on.kind == StreamInfo::kCompute;
  }

  void PlaceMemory() {
    auto &bytes = result_.bytes;
    bytes[kArenaMemory] = function_.arena_bytes;
    bytes[kHostArenaMemory] = function_.host_arena_bytes;
    bytes[kIndexMemory] = function_.reads_index ? sizeof(int32_t) : 0;
    for (const BatchArgument &batch : function_.batches) {
      batches_.push_back(batch_bytes_);
      batch_bytes_ += Aligned(batch.type.bytes);
    }
    bytes[kBatchMemory] = bytes[kHostBatchMemory] = 2 * batch_bytes_;
    bytes[kHostMetricMemory] = 2 * function_.outputs.size() * kMetricBytes;
    for (const InstructionProgram &i : function_.instructions) {
      if (i.kind != InstructionProgram::kLaunch) continue;
      scratch_bytes_ =
          std::max(scratch_bytes_, program_.cuda->fragments[i.launch.fragment].scratch_bytes);
    }
    scratch_bytes_ = Aligned(scratch_bytes_);
    bytes[kScratchMemory] = (deferred_ == kNoLane ? 1 : 2) * scratch_bytes_;
  }

  DevicePlace PlaceOf(uint32_t buffer, uint32_t call) const {
    const BufferInfo &info = function_.buffers[buffer];
    switch (info.kind) {
      case BufferInfo::kArena:
        return {info.host ? kHostArenaMemory : kArenaMemory, info.offset};
      case BufferInfo::kSlotCurrent:
      case BufferInfo::kSlotNext: {
        const std::vector<uint32_t> &written = function_.written_slots;
        const bool changes = std::find(written.begin(), written.end(), info.slot) != written.end();
        const uint32_t current = changes ? call : 0;
        const bool next = info.kind == BufferInfo::kSlotNext;
        return {kSlotMemory,
                slots_.slots[info.slot].copies[next ? 1 - current : current] + info.offset};
      }
      case BufferInfo::kBatch:
        return {kBatchMemory, call * batch_bytes_ + batches_[info.batch] + info.offset};
      case BufferInfo::kWorkerIndex: return {kIndexMemory, info.offset};
    }
    return {};
  }
  uint64_t BytesOf(uint32_t buffer) const { return function_.buffers[buffer].type.bytes; }

  static void Use(std::vector<Range> *ranges, const DevicePlace &place, uint64_t bytes) {
    if (bytes != 0) ranges->push_back({place.memory, place.offset, bytes});
  }
  uint32_t Add(std::string name, uint32_t lane, DeviceOp::Kind kind, uint32_t call) {
    result_.graph.ops.push_back({std::move(name), lane, {}, {}, {}});
    DeviceOp work;
    work.kind = kind;
    work.call = call;
    result_.work.push_back(std::move(work));
    return uint32_t(result_.graph.ops.size()) - 1;
  }
  uint32_t AddCopy(std::string name, uint32_t lane, uint32_t call, const DevicePlace &from,
                   const DevicePlace &to, uint64_t bytes) {
    const uint32_t op = Add(std::move(name), lane, DeviceOp::kCopy, call);
    result_.work[op].places = {from, to};
    result_.work[op].bytes = bytes;
    Use(&result_.graph.ops[op].reads, from, bytes);
    Use(&result_.graph.ops[op].writes, to, bytes);
    return op;
  }

  void AddCall(uint32_t call) {
    const auto first = uint32_t(result_.graph.ops.size());
    for (uint32_t b = 0; b < function_.batches.size(); ++b) AddBatch(b, call);
    for (uint32_t output : function_.initial_outputs) AddMetric(output, call);
    op_of_[call].resize(function_.instructions.size());
    for (uint32_t i : order_) {
      const InstructionProgram &instruction = function_.instructions[i];
      uint32_t op = 0;
      switch (instruction.kind) {
        case InstructionProgram::kLaunch: op = AddLaunch(instruction, call); break;
        case InstructionProgram::kCopy: op = AddPlanCopy(instruction, call); break;
        default:
          op = instruction.communicate.nccl ? AddCollective(instruction, call)
                                            : AddMessage(instruction, call);
      }
      result_.work[op].instruction = i;
      op_of_[call][i] = op;
      for (uint32_t output : instruction.outputs) AddMetric(output, call);
    }
    AddEnd(call, first);
  }

  void AddBatch(uint32_t b, uint32_t call) {
    const BatchArgument &batch = function_.batches[b];
    const DevicePlace host = {kHostBatchMemory, call * batch_bytes_ + batches_[b]};
    const uint32_t op =
        Add(absl::StrCat("fill ", batch.name), batch_lanes_[b], DeviceOp::kFillBatch, call);
    DeviceOp &work = result_.work[op];
    work.batch = b;
    work.bytes = batch.type.bytes;
    work.places = {host};
    Use(&result_.graph.ops[op].writes, host, work.bytes);
    AddCopy(absl::StrCat("batch ", batch.name), to_device_, call, host,
            {kBatchMemory, host.offset}, batch.type.bytes);
  }

  DevicePlace MetricPlace(uint32_t output, uint32_t call) const {
    return {kHostMetricMemory, (call * function_.outputs.size() + output) * kMetricBytes};
  }
  void AddMetric(uint32_t output, uint32_t call) {
    const uint32_t buffer = function_.outputs[output].buffer;
    AddCopy(absl::StrCat("metric ", function_.outputs[output].metric), to_host_, call,
            PlaceOf(buffer, call), MetricPlace(output, call), BytesOf(buffer));
  }

  uint32_t AddLaunch(const InstructionProgram &instruction, uint32_t call) {
    const bool deferred = IsDeferred(instruction);
    const uint32_t op = Add(instruction.name, deferred ? deferred_ : compute_, DeviceOp::kLaunch, call);
    const plan::CudaFragment &fragment = program_.cuda->fragments[instruction.launch.fragment];
    for (size_t i = 0; i < instruction.launch.operands.size(); ++i) {
      const uint32_t buffer = instruction.launch.operands[i];
      const DevicePlace place = PlaceOf(buffer, call);
      result_.work[op].places.push_back(place);
      Op &ranges = result_.graph.ops[op];
      Use(i < fragment.inputs ? &ranges.reads : &ranges.writes, place, BytesOf(buffer));
    }
    const DevicePlace scratch = {kScratchMemory, deferred ? scratch_bytes_ : 0};
    result_.work[op].places.push_back(scratch);
    Use(&result_.graph.ops[op].writes, scratch, fragment.scratch_bytes);
    return op;
  }

  uint32_t AddPlanCopy(const InstructionProgram &instruction, uint32_t call) {
    uint32_t lane = IsDeferred(instruction) ? deferred_ : compute_;
    if (instruction.runs_on.kind == StreamInfo::kToHost) lane = to_host_;
    if (instruction.runs_on.kind == StreamInfo::kToDevice) lane = to_device_;
    return AddCopy(instruction.name, lane, call, PlaceOf(instruction.source, call),
                   PlaceOf(instruction.target, call), BytesOf(instruction.target));
  }

  uint32_t AddCollective(const InstructionProgram &instruction, uint32_t call) {
    const CommunicateProgram &c = instruction.communicate;
    const uint32_t op = Add(instruction.name, nccl_, DeviceOp::kCollective, call);
    const uint32_t from = c.input >= 0 ? uint32_t(c.input) : c.buffer;
    const uint32_t to = c.output >= 0 ? uint32_t(c.output) : c.buffer;
    DeviceOp &work = result_.work[op];
    work.places = {PlaceOf(from, call), PlaceOf(to, call)};
    work.bytes = BytesOf(from);
    Use(&result_.graph.ops[op].reads, work.places[0], BytesOf(from));
    Use(&result_.graph.ops[op].writes, work.places[1], BytesOf(to));
    return op;
  }

  uint32_t AddMessage(const InstructionProgram &instruction, uint32_t call) {
    const CommunicateProgram &c = instruction.communicate;
    auto [lane, fresh] = message_lanes_.emplace(c.key_id, 0);
    if (fresh) lane->second = AddLane(absl::StrCat("message ", c.key), LaneKind::kHost);
    const uint32_t op = Add(instruction.name, lane->second, DeviceOp::kMessage, call);
    const DevicePlace buffer = PlaceOf(c.buffer, call);
    std::vector<DevicePlace> places = {buffer, buffer, buffer};
    Op &ranges = result_.graph.ops[op];
    // What it sends is what it has combined: it reads and writes all of it.
    Use(&ranges.writes, buffer, BytesOf(c.buffer));
    if (c.input >= 0) {
      places[1] = PlaceOf(uint32_t(c.input), call);
      Use(&ranges.reads, places[1], BytesOf(uint32_t(c.input)));
    }
    if (c.output >= 0) {
      places[2] = PlaceOf(uint32_t(c.output), call);
      Use(&ranges.writes, places[2], BytesOf(uint32_t(c.output)));
    }
    result_.work[op].places = std::move(places);
    return op;
  }

  void AddEnd(uint32_t call, uint32_t first) {
    const uint32_t end = Add("end of call", end_, DeviceOp::kEndOfCall, call);
    std::map<uint32_t, uint32_t> last;  // of each lane
    for (uint32_t op = first; op < end; ++op) last[result_.graph.ops[op].lane] = op;
    for (const auto &[lane, op] : last) result_.graph.ops[end].after.push_back({op, false});
    for (uint32_t output = 0; output < function_.outputs.size(); ++output) {
      result_.work[end].places.push_back(MetricPlace(output, call));
      Use(&result_.graph.ops[end].reads, MetricPlace(output, call),
          BytesOf(function_.outputs[output].buffer));
    }
  }

  void AddDependences() {
    for (uint32_t call = 0; call < 2; ++call) {
      for (uint32_t i = 0; i < function_.instructions.size(); ++i) {
        const InstructionProgram &instruction = function_.instructions[i];
        const auto on = [&](uint32_t other, bool last) {
          const uint32_t op = op_of_[call][i], before = op_of_[last ? 1 - call : call][other];
          const Op &first = result_.graph.ops[before];
          Op &second = result_.graph.ops[op];
          if (first.lane == second.lane || Conflict(first, second)) return;
          second.after.push_back({before, last && call == 0});
        };
        for (uint32_t other : instruction.waits_same) on(other, false);
        for (uint32_t other : instruction.waits_last) on(other, true);
        for (const PartWait &part : instruction.part_waits_same) on(part.instruction, false);
        for (const PartWait &part : instruction.part_waits_last) on(part.instruction, true);
      }
    }
  }

  static constexpr uint32_t kNoLane = UINT32_MAX;

  const Program &program_;
  const FunctionProgram &function_;
  const SlotPlaces &slots_;
  PlanGraph result_;
  std::vector<uint32_t> order_;  // of instructions
  uint32_t compute_ = 0, deferred_ = kNoLane, to_host_ = 0, to_device_ = 0, nccl_ = 0, end_ = 0;
  std::vector<uint32_t> batch_lanes_;
  std::map<uint32_t, uint32_t> message_lanes_;  // by key
  std::vector<uint64_t> batches_;               // of one call
  uint64_t batch_bytes_ = 0, scratch_bytes_ = 0;
  std::array<std::vector<uint32_t>, 2> op_of_;  // instructions of a call
};

}  // namespace

SlotPlaces PlaceSlots(const Program &program) {
  SlotPlaces places;
  for (const SlotInfo &slot : program.slots) {
    SlotPlaces::Of &of = places.slots.emplace_back();
    of.held = slot.held;
    if (!slot.held) continue;
    for (uint64_t &copy : of.copies) {
      if (&copy == &of.copies[1] && !slot.written) {
        copy = of.copies[0];
        continue;
      }
      copy = places.bytes;
      places.bytes += Aligned(slot.type.bytes);
    }
  }
  return places;
}

absl::StatusOr<PlanGraph> MakePlanGraph(const Program &program, const FunctionProgram &function,
                                        const SlotPlaces &slots) {
  return GraphMaker(program, function, slots).Make();
}

}  // namespace commsched::runtime::cuda
