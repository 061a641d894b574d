// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/plan_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::cuda {
namespace {

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
    absl::StatusOr<PlanOrder> order = OrderInstructions(function_);
    if (!order.ok()) return order.status();
    order_ = *std::move(order);
    MakeLanes();
    places_.emplace(program_, function_, slots_, compute_lanes_);
    result_.bytes = places_->bytes();
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
    uint32_t devices = 1;
    for (const BufferInfo &buffer : function_.buffers) devices = std::max(devices, buffer.device + 1);
    for (const InstructionProgram &i : function_.instructions)
      devices = std::max(devices, i.runs_on.device + 1);
    if (devices > 1)
      return Unimplemented(absl::StrCat(
          "each CUDA device must be a rank: a cluster of nodes = ", uint64_t(program_.nodes) * devices,
          " devices = 1 nccl = <machine_ranks = ", devices, ">, got: nodes = ", program_.nodes,
          " devices = ", devices));
    for (const BufferInfo &buffer : function_.buffers) {
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
      switch (instruction.kind) {
        case InstructionProgram::kLaunch:
        case InstructionProgram::kCopy:
        case InstructionProgram::kPush:
        case InstructionProgram::kPull:
        case InstructionProgram::kPushRows:
        case InstructionProgram::kPullRows: break;
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
      }
    }
    return absl::OkStatus();
  }

  uint32_t AddLane(std::string name, LaneKind kind, PlanLane of) {
    result_.graph.lanes.push_back({std::move(name), kind});
    result_.lanes.push_back(of);
    return uint32_t(result_.graph.lanes.size()) - 1;
  }

  // Streams that something is on; compute streams come first, and there is the first one.
  void MakeLanes() {
    const auto add = [&](PlanLane of, const char *name, LaneKind kind, bool used) {
      used = used || std::find(order_.lanes.begin(), order_.lanes.end(), of) != order_.lanes.end();
      if (used) lanes_[of] = AddLane(name, kind, of);
    };
    add(PlanLane::kCompute, "compute", LaneKind::kCompute, true);
    add(PlanLane::kDeferredFirst, "deferred first", LaneKind::kCompute, false);
    add(PlanLane::kDeferred, "deferred", LaneKind::kCompute, false);
    compute_lanes_ = lanes_.size();
    add(PlanLane::kToHost, "to_host", LaneKind::kToHost, false);
    add(PlanLane::kToHostAgain, "to_host again", LaneKind::kToHost, false);
    add(PlanLane::kToDeviceFirst, "to_device first", LaneKind::kToDevice, false);
    add(PlanLane::kToDevice, "to_device", LaneKind::kToDevice, false);
    add(PlanLane::kBatches, "batches", LaneKind::kToDevice, !function_.batches.empty());
    add(PlanLane::kMetrics, "metrics", LaneKind::kToHost, !function_.outputs.empty());
    add(PlanLane::kNccl, "nccl", LaneKind::kNccl, false);
    end_ = AddLane("calls", LaneKind::kHost, PlanLane::kHost);
    for (const BatchArgument &batch : function_.batches)
      batch_lanes_.push_back(AddLane(absl::StrCat("batch ", batch.name), LaneKind::kHost, PlanLane::kHost));
  }
  uint32_t LaneOf(uint32_t instruction) const { return lanes_.at(order_.lanes[instruction]); }

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
    for (uint32_t i : order_.order) {
      const InstructionProgram &instruction = function_.instructions[i];
      uint32_t op = 0;
      switch (instruction.kind) {
        case InstructionProgram::kLaunch: op = AddLaunch(instruction, LaneOf(i), call); break;
        case InstructionProgram::kCopy: op = AddPlanCopy(instruction, LaneOf(i), call); break;
        case InstructionProgram::kCommunicate:
          op = instruction.communicate.nccl ? AddCollective(instruction, LaneOf(i), call)
                                            : AddMessage(instruction, call);
          break;
        default: op = AddServerMessage(instruction, call);
      }
      result_.work[op].instruction = i;
      op_of_[call][i] = op;
      for (uint32_t output : instruction.outputs) AddMetric(output, call);
    }
    AddEnd(call, first);
  }

  void AddBatch(uint32_t b, uint32_t call) {
    const BatchArgument &batch = function_.batches[b];
    const DevicePlace host = places_->OfHostBatch(b, call);
    const uint32_t op =
        Add(absl::StrCat("fill ", batch.name), batch_lanes_[b], DeviceOp::kFillBatch, call);
    DeviceOp &work = result_.work[op];
    work.batch = b;
    work.bytes = batch.type.bytes;
    work.places = {host};
    Use(&result_.graph.ops[op].writes, host, work.bytes);
    AddCopy(absl::StrCat("batch ", batch.name), lanes_.at(PlanLane::kBatches), call, host,
            {kBatchMemory, host.offset}, batch.type.bytes);
  }

  void AddMetric(uint32_t output, uint32_t call) {
    const uint32_t buffer = function_.outputs[output].buffer;
    AddCopy(absl::StrCat("metric ", function_.outputs[output].metric), lanes_.at(PlanLane::kMetrics), call,
            places_->OfBuffer(buffer, call), places_->OfMetric(output, call), BytesOf(buffer));
  }

  uint32_t AddLaunch(const InstructionProgram &instruction, uint32_t lane, uint32_t call) {
    const uint32_t op = Add(instruction.name, lane, DeviceOp::kLaunch, call);
    const plan::CudaFragment &fragment = program_.cuda->fragments[instruction.launch.fragment];
    for (size_t i = 0; i < instruction.launch.operands.size(); ++i) {
      const uint32_t buffer = instruction.launch.operands[i];
      const DevicePlace place = places_->OfBuffer(buffer, call);
      result_.work[op].places.push_back(place);
      Op &ranges = result_.graph.ops[op];
      Use(i < fragment.inputs ? &ranges.reads : &ranges.writes, place, BytesOf(buffer));
    }
    const DevicePlace scratch = places_->OfScratch(lane);
    result_.work[op].places.push_back(scratch);
    Use(&result_.graph.ops[op].writes, scratch, fragment.scratch_bytes);
    return op;
  }

  uint32_t AddPlanCopy(const InstructionProgram &instruction, uint32_t lane, uint32_t call) {
    return AddCopy(instruction.name, lane, call, places_->OfBuffer(instruction.source, call),
                   places_->OfBuffer(instruction.target, call), BytesOf(instruction.target));
  }

  uint32_t AddCollective(const InstructionProgram &instruction, uint32_t lane, uint32_t call) {
    const CommunicateProgram &c = instruction.communicate;
    const uint32_t op = Add(instruction.name, lane, DeviceOp::kCollective, call);
    const uint32_t from = c.input >= 0 ? uint32_t(c.input) : c.buffer;
    const uint32_t to = c.output >= 0 ? uint32_t(c.output) : c.buffer;
    DeviceOp &work = result_.work[op];
    work.places = {places_->OfBuffer(from, call), places_->OfBuffer(to, call)};
    work.bytes = BytesOf(from);
    Use(&result_.graph.ops[op].reads, work.places[0], BytesOf(from));
    Use(&result_.graph.ops[op].writes, work.places[1], BytesOf(to));
    return op;
  }

  // Each message has a lane of its own.
  uint32_t MessageLane(const char *kind, const std::string &key) {
    auto [lane, fresh] = message_lanes_.emplace(std::pair(std::string(kind), key), 0);
    if (fresh) lane->second = AddLane(absl::StrCat(kind, " ", key), LaneKind::kHost, PlanLane::kHost);
    return lane->second;
  }

  // To or from parameter servers.
  uint32_t AddServerMessage(const InstructionProgram &instruction, uint32_t call) {
    const bool pushes = instruction.pushes();
    std::string key = instruction.rows.key;
    if (instruction.of_block()) {
      const ServerMessageProgram &m = instruction.message;
      const BlockProgram &block = program_.servers.servers[m.server].blocks[m.block];
      key = pushes ? block.key : block.pull_key;
    }
    const uint32_t op = Add(instruction.name, MessageLane(pushes ? "push" : "pull", key), DeviceOp::kMessage, call);
    const uint32_t moved =
        instruction.of_rows() ? instruction.rows.values : instruction.message.buffer;
    std::vector<DevicePlace> places = {places_->OfBuffer(moved, call)};
    Op &ranges = result_.graph.ops[op];
    Use(pushes ? &ranges.reads : &ranges.writes, places[0], BytesOf(moved));
    if (instruction.of_rows()) {
      places.push_back(places_->OfBuffer(instruction.rows.ids, call));
      Use(&ranges.reads, places[1], BytesOf(instruction.rows.ids));
    }
    result_.work[op].places = std::move(places);
    return op;
  }

  uint32_t AddMessage(const InstructionProgram &instruction, uint32_t call) {
    const CommunicateProgram &c = instruction.communicate;
    const uint32_t op =
        Add(instruction.name, MessageLane("message", c.key), DeviceOp::kMessage, call);
    const DevicePlace buffer = places_->OfBuffer(c.buffer, call);
    std::vector<DevicePlace> places = {buffer, buffer, buffer};
    Op &ranges = result_.graph.ops[op];
    // What it sends is what it has combined: it reads and writes all of it.
    Use(&ranges.writes, buffer, BytesOf(c.buffer));
    if (c.input >= 0) {
      places[1] = places_->OfBuffer(uint32_t(c.input), call);
      Use(&ranges.reads, places[1], BytesOf(uint32_t(c.input)));
    }
    if (c.output >= 0) {
      places[2] = places_->OfBuffer(uint32_t(c.output), call);
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
      result_.work[end].places.push_back(places_->OfMetric(output, call));
      Use(&result_.graph.ops[end].reads, places_->OfMetric(output, call),
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

  const Program &program_;
  const FunctionProgram &function_;
  const SlotPlaces &slots_;
  PlanGraph result_;
  PlanOrder order_;
  std::optional<FunctionPlaces> places_;
  std::map<PlanLane, uint32_t> lanes_;  // but for the host's
  size_t compute_lanes_ = 0;            // the first ones
  uint32_t end_ = 0;
  std::vector<uint32_t> batch_lanes_;
  std::map<std::pair<std::string, std::string>, uint32_t> message_lanes_;  // by kind and key
  std::array<std::vector<uint32_t>, 2> op_of_;                             // instructions of a call
};

}  // namespace

absl::StatusOr<PlanGraph> MakePlanGraph(const Program &program, const FunctionProgram &function,
                                        const SlotPlaces &slots) {
  return GraphMaker(program, function, slots).Make();
}

}  // namespace commsched::runtime::cuda
