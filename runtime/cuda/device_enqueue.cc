// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call of a function puts on the device's streams.
#include "runtime/cuda/device_executor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/base/element.h"
#include "runtime/base/status_util.h"
#include "runtime/cuda/memory_needs.h"

namespace commsched::runtime::cuda {
namespace {

NcclType TypeOf(ops::Element element, bool *known) {
  *known = true;
  switch (element) {
    case ops::Element::kF64: return NcclType::kFloat64;
    case ops::Element::kF32: return NcclType::kFloat32;
    case ops::Element::kF16: return NcclType::kFloat16;
    case ops::Element::kBF16: return NcclType::kBfloat16;
    case ops::Element::kI64: return NcclType::kInt64;
    case ops::Element::kI32: return NcclType::kInt32;
    default: *known = false; return NcclType::kFloat32;
  }
}

NcclReduction ReductionOf(NcclProgram::Reduction reduction) {
  switch (reduction) {
    case NcclProgram::kMean: return NcclReduction::kMean;
    case NcclProgram::kMax: return NcclReduction::kMax;
    case NcclProgram::kMin: return NcclReduction::kMin;
    default: return NcclReduction::kSum;
  }
}

}  // namespace

bool DeviceExecutor::EnqueuePortion() {
  const OfFunction &function = *entering_->function;
  if (absl::Status s = window_->Look(); !s.ok()) {
    Fail(Named(absl::StrCat("step ", entering_->number), s));
    return true;
  }
  // What is more than there ever is room for goes when nothing of what is before it can be waited
  // for, neither on the device nor on the host.
  const bool alone = window_->under_way() == 0 && function.lanes->Idle();
  uint32_t commands = 0, upto = entering_->next;
  for (; upto < entering_->end && commands < kCommandsTogether; ++upto) {
    // NCCL may wait for the device when it connects, so for all that streams wait for: what is before its
    // call has been enqueued when it is made, and host ops go on meanwhile.
    if (upto != entering_->next && function.graph.work[upto].kind == DeviceOp::kCollective) break;
    const uint32_t more =
        (entering_->timed ? function.timed_commands : function.commands)[upto];
    const bool fits = window_->under_way() + commands + more <= kMostCommands;
    if (!fits && !(alone && upto == entering_->next)) break;
    commands += more;
  }
  if (upto == entering_->next) return false;
  entering_->upto = upto;
  const auto enqueue = [this, commands](const Admission &portion, NcclLane::Caller *caller) {
    absl::Status status = EnqueueCall(portion, caller);
    if (!status.ok() || commands == 0) return status;
    std::vector<Stream> streams;
    for (uint32_t op = portion.next; op < portion.upto; ++op) {
      const uint32_t lane = portion.function->graph.graph.ops[op].lane;
      if (portion.function->commands[op] != 0) streams.push_back(portion.function->issuer->stream(lane));
    }
    std::sort(streams.begin(), streams.end());
    streams.erase(std::unique(streams.begin(), streams.end()), streams.end());
    return Named(absl::StrCat("step ", portion.number), window_->Enqueued(commands, streams));
  };
  Admission portion = *entering_;
  // Before the first portion only.
  entering_->moves.clear();
  entering_->before = nullptr;
  entering_->fence = false;
  if (nccl_ != nullptr) {
    {
      MutexLock lock(&mu_);
      enqueuing_ = true;
    }
    absl::Status posted = nccl_->Post([this, portion, enqueue](NcclLane::Caller &caller) {
      absl::Status status = enqueue(portion, &caller);
      // Otherwise ops of the portion are not on the device, and their events are those of earlier rounds.
      if (!status.ok()) return status;
      MutexLock lock(&mu_);
      enqueued_ = true;
      work_.SignalAll();
      return status;
    });
    if (!posted.ok()) Fail(posted);
    return true;
  }
  if (absl::Status s = enqueue(portion, nullptr); !s.ok()) {
    Fail(s);
    return true;
  }
  entering_->function->lanes->Enqueued(entering_->next = upto);
  return true;
}

absl::Status DeviceExecutor::EnqueueCall(const Admission &admission, NcclLane::Caller *caller) {
  OfFunction &function = *admission.function;
  if (admission.before != nullptr) {
    if (absl::Status s = ServiceAfter(admission.before); !s.ok()) return Named("", s);
  }
  for (const Admission::Move &move : admission.moves) {
    if (absl::Status s = Check(driver_.MemcpyAsync(move.to, move.from, move.bytes, service_),
                               "cuMemcpyAsync");
        !s.ok())
      return Named("", s);
  }
  if (admission.fence) {
    if (absl::Status s = ServiceFence(function); !s.ok()) return Named("", s);
  }
  return Named(absl::StrCat("step ", admission.number),
               function.issuer->Enqueue(admission.upto, [&](const OpOfRound &op, Stream stream) {
                 if (!admission.timed) return EnqueueOp(admission, op, stream, caller);
                 // Between what the op waits for and the event for which others wait.
                 absl::Status status = times_->Before(admission.number, op.op, stream);
                 if (status.ok()) status = EnqueueOp(admission, op, stream, caller);
                 if (status.ok()) status = times_->Behind(admission.number, stream);
                 return Named(NameOf(function, op.op, admission.number), status);
               }));
}

absl::Status DeviceExecutor::EnqueueOp(const Admission &admission, const OpOfRound &op,
                                       Stream stream, NcclLane::Caller *caller) {
  const OfFunction &function = *admission.function;
  const DeviceOp &work = function.graph.work[op.op];
  const auto announce = [&] {
    if (options_.probe != nullptr)
      options_.probe->Enqueues(NameOf(function, op.op, admission.number));
  };
  absl::Status status;
  if (work.kind == DeviceOp::kCollective) {
    announce();
    return EnqueueCollective(admission, op.op, stream, caller);
  }
  if (work.kind == DeviceOp::kCopy) {
    if (work.bytes == 0) return absl::OkStatus();
    announce();
    status = Check(driver_.MemcpyAsync(At(function, work.places[1]), At(function, work.places[0]),
                                       work.bytes, stream),
                   "cuMemcpyAsync");
    return Named(NameOf(function, op.op, admission.number), status);
  }
  // Calls that are timed go without graphs, within which there are no times.
  if (!admission.timed && function.in_graph[op.op]) return absl::OkStatus();
  announce();
  const auto graph = admission.timed ? function.graphs.end() : function.graphs.find(op.op);
  if (graph != function.graphs.end())
    status = graph->second->Launch(stream);
  else
    status = EnqueueSteps(function, op.op, stream);
  if (!status.ok()) return Named(NameOf(function, op.op, admission.number), status);
  return absl::OkStatus();
}

absl::Status DeviceExecutor::EnqueueSteps(const OfFunction &function, uint32_t op, Stream stream) {
  absl::Status status;
  for (const Step &step : function.steps[op]) {
    if (const auto *kernel = std::get_if<KernelStep>(&step)) {
      std::vector<void *> parameters;
      for (const DevicePtr &argument : kernel->arguments)
        parameters.push_back(const_cast<DevicePtr *>(&argument));
      const auto &[grid_x, grid_y, grid_z] = kernel->grid;
      const auto &[block_x, block_y, block_z] = kernel->block;
      status = Check(driver_.LaunchKernel(kernel->function, grid_x, grid_y, grid_z, block_x,
                                          block_y, block_z, kernel->shared_bytes, stream,
                                          parameters.data(), nullptr),
                     "cuLaunchKernel");
    } else {
      const auto &call = std::get<LibraryStep>(step);
      status = options_.library->Enqueue(call.kernel, call.operands, stream,
                                         ComputeStreamOf(function.graph, op));
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status DeviceExecutor::EnqueueCollective(const Admission &admission, uint32_t op,
                                               Stream stream, NcclLane::Caller *caller) {
  const OfFunction &function = *admission.function;
  const DeviceOp &work = function.graph.work[op];
  const FunctionProgram &program = program_->functions[size_t(&function - functions_.data())];
  const CommunicateProgram &c = program.instructions[work.instruction].communicate;
  bool known = false;
  Collective call;
  call.name = {c.key, admission.number};
  call.type = TypeOf(c.element, &known);
  if (!known)
    return Named(NameOf(function, op, admission.number),
                 absl::UnimplementedError(
                     absl::StrCat("NCCL has no collective of ", ops::ElementName(c.element))));
  call.kind = c.nccl->kind == NcclProgram::kAllReduce       ? Collective::Kind::kAllReduce
              : c.nccl->kind == NcclProgram::kReduceScatter ? Collective::Kind::kReduceScatter
                                                            : Collective::Kind::kAllGather;
  call.reduction = ReductionOf(c.nccl->reduction);
  call.from = reinterpret_cast<const void *>(At(function, work.places[0]));
  call.to = reinterpret_cast<void *>(At(function, work.places[1]));
  call.count = work.bytes / ops::ElementBytes(c.element);
  // That of a rank's part.
  if (call.kind == Collective::Kind::kReduceScatter) call.count /= size_t(program_->nodes);
  return caller->Call(call, stream);
}

}  // namespace commsched::runtime::cuda
