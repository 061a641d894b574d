// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of plans for CUDA devices: launches, which memory buffers must be in, collectives by NCCL and
// their order.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "plan/cluster_nccl.h"
#include "runtime/loading/function_builder.h"
#include "runtime/loading/plan_cuda.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {
namespace {

// Bytes from the first element of an operand to behind its last.
uint64_t ReachOf(const plan::KernelTensor &operand) {
  uint64_t last = 0;
  for (int d = 0; d < operand.dims_size(); ++d)
    last += uint64_t(operand.dims(d) - 1) * uint64_t(operand.strides(d));
  return (last + 1) * ops::ElementBytes(ops::Element(operand.element()));
}

}  // namespace

absl::Status FunctionBuilder::AddLaunch(const plan::Launch &launch, InstructionProgram *out) {
  out->kind = InstructionProgram::kLaunch;
  if (!on_cuda_) return BadPlan(where_, "is a launch, and its function runs on the host");
  const plan::CudaModule &cuda = *program_->cuda;
  if (launch.fragment() >= cuda.fragments.size())
    return BadPlan(where_, absl::StrCat("there is no CUDA fragment ", launch.fragment()));
  const plan::CudaFragment &fragment = cuda.fragments[launch.fragment()];
  if (uint32_t(launch.inputs_size()) != fragment.inputs ||
      uint32_t(launch.outputs_size()) != fragment.outputs)
    return BadPlan(where_, absl::StrCat("inputs and outputs must match the ", fragment.inputs, " and ",
                                        fragment.outputs, " of CUDA fragment ", launch.fragment(), ", got: ",
                                        launch.inputs_size(), " and ", launch.outputs_size()));
  if (fragment.scratch_bytes > out_.scratch_bytes)
    return BadPlan(where_, absl::StrCat("scratch of the function must be at least ", fragment.scratch_bytes,
                                        " bytes, got: ", out_.scratch_bytes));
  out->launch.fragment = launch.fragment();
  out->launch.flops = launch.flops();
  out->launch.bytes = launch.bytes();
  if (absl::Status s = AddOperands(launch, &out->launch.operands); !s.ok()) return s;
  // `reach`: bytes that are used there.
  const auto check = [&](const plan::CudaAddress &address, uint64_t reach) -> absl::Status {
    uint64_t bytes = fragment.scratch_bytes;
    if (address.base != plan::CudaAddress::Base::kScratch) {
      const bool output = address.base == plan::CudaAddress::Base::kOutput;
      bytes = out_.buffers[out->launch.operands[(output ? fragment.inputs : 0) + address.index]].type.bytes;
    }
    // Of a buffer without bytes its place is named, which nothing is read from.
    if (address.offset <= bytes && (reach <= bytes - address.offset || (bytes == 0 && reach <= 1)))
      return absl::OkStatus();
    return BadPlan(where_, absl::StrCat("CUDA fragment ", launch.fragment(), " uses ", reach, " bytes at ",
                                        address.offset, " of a buffer of ", bytes));
  };
  for (const auto &step : fragment.steps) {
    if (const auto *kernel = std::get_if<plan::CudaLaunch>(&step)) {
      for (const plan::CudaAddress &address : kernel->arguments)
        if (absl::Status s = check(address, 1); !s.ok()) return s;
      continue;
    }
    const auto &call = std::get<plan::CudaLibraryCall>(step);
    for (size_t i = 0; i < call.operands.size(); ++i)
      if (absl::Status s = check(call.operands[i], ReachOf(plan_.kernels(int(call.kernel)).operands(int(i))));
          !s.ok())
        return s;
  }
  // What emulation takes for it.
  double ns = 0;
  if (double gflops = double(plan_.cluster().device_gflops()); gflops != 0)
    ns = double(launch.flops()) / gflops;
  if (double rate = double(plan_.cluster().device_gb_per_s()); rate != 0)
    ns = std::max(ns, double(launch.bytes()) / rate);
  constexpr double kHour = 3600e9;
  out->nanoseconds = uint64_t(std::ceil(std::min(ns, kHour)));
  if (!launch.has_host()) return absl::OkStatus();
  absl::StatusOr<const Fragment *> code = FindCode(launch.host().object(), launch.host().symbol());
  if (!code.ok()) return code.status();
  out->run.fragment = *code;
  out->run.operands = out->launch.operands;
  return absl::OkStatus();
}

absl::Status FunctionBuilder::CheckOnDevice(uint32_t buffer, const InstructionProgram &out) {
  const BufferInfo &info = out_.buffers[buffer];
  if (info.host)
    return BadPlan(where_, absl::StrCat("buffer ", buffer, " must be in the memory of device ",
                                        out.runs_on.device, ", is in that of the host"));
  if (info.device != out.runs_on.device)
    return BadPlan(where_, absl::StrCat("buffer ", buffer, " must be in the memory of device ",
                                        out.runs_on.device, ", got: ", info.device));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::CheckOnHost(uint32_t buffer) {
  if (out_.buffers[buffer].host) return absl::OkStatus();
  return BadPlan(where_, absl::StrCat("buffer ", buffer, " must be in the memory of the host, is in that of device ",
                                      out_.buffers[buffer].device));
}

absl::Status FunctionBuilder::CheckMemories(const InstructionProgram &out, const plan::Instruction &in) {
  const auto all = [](const auto &buffers, auto check) {
    for (uint32_t buffer : buffers)
      if (absl::Status s = check(buffer); !s.ok()) return s;
    return absl::OkStatus();
  };
  const auto on_device = [&](uint32_t buffer) { return CheckOnDevice(buffer, out); };
  const auto on_host = [&](uint32_t buffer) { return CheckOnHost(buffer); };
  switch (in.kind_case()) {
    case plan::Instruction::kLaunch:
      return all(out.launch.operands, on_device);
    case plan::Instruction::kDelay:
      if (absl::Status s = all(in.delay().inputs(), on_device); !s.ok()) return s;
      return all(in.delay().outputs(), on_device);
    case plan::Instruction::kCopy: {
      const plan::CopyBuffer &copy = in.copy();
      const bool to_host = copy.direction() == plan::CopyBuffer::TO_HOST;
      const bool from_host = copy.direction() == plan::CopyBuffer::TO_DEVICE && !copy.between_devices();
      if (absl::Status s = to_host ? on_host(copy.target()) : on_device(copy.target()); !s.ok()) return s;
      if (from_host) return on_host(copy.source());
      if (!copy.between_devices()) return on_device(copy.source());
      if (out_.buffers[copy.source()].host)
        return BadPlan(where_, absl::StrCat("buffer ", copy.source(), " must be in the memory of a device"));
      return absl::OkStatus();
    }
    case plan::Instruction::kCommunicate: {
      const CommunicateProgram &c = out.communicate;
      std::vector<uint32_t> buffers = {c.buffer};
      for (int64_t more : {c.input, c.output})
        if (more >= 0) buffers.push_back(uint32_t(more));
      return c.nccl.has_value() ? all(buffers, on_device) : all(buffers, on_host);
    }
    case plan::Instruction::kPush:
    case plan::Instruction::kPull:
      return on_host(out.message.buffer);
    case plan::Instruction::kPushRows:
    case plan::Instruction::kPullRows:
      return all(std::vector<uint32_t>{out.rows.ids, out.rows.values}, on_host);
    default:
      return absl::OkStatus();
  }
}

absl::Status FunctionBuilder::AddNccl(const plan::Communicate &comm, CommunicateProgram *c) {
  if (((plan_.required_features() >> plan::FEATURE_NCCL) & 1) == 0)
    return BadPlan(where_, "a collective by NCCL needs FEATURE_NCCL");
  if (!on_cuda_) return BadPlan(where_, "a collective by NCCL needs a CUDA device");
  if (comm.phases_size() > 0 || comm.part_bytes_size() > 0)
    return BadPlan(where_, "a collective by NCCL has no phases and no parts");
  if (comm.has_group() || comm.has_peer_group() || comm.has_other_end() || program_->role >= 0)
    return BadPlan(where_, "a collective by NCCL must be of all ranks");
  const plan::Nccl &in = comm.nccl();
  if (in.kind() < plan::Nccl::ALL_REDUCE || in.kind() > plan::Nccl::ALL_GATHER ||
      in.reduction() < plan::Nccl::SUM || in.reduction() > plan::Nccl::MIN)
    return BadPlan(where_, "unknown collective of NCCL");
  NcclProgram &nccl = c->nccl.emplace();
  nccl.kind = NcclProgram::Kind(in.kind());
  nccl.reduction = NcclProgram::Reduction(in.reduction());
  nccl.lane = in.lane();
  nccl.number = in.number();
  if (in.lane() != 0) return BadPlan(where_, absl::StrCat("lane of NCCL must be 0, got: ", in.lane()));
  const bool scatters = nccl.kind == NcclProgram::kReduceScatter;
  const bool gathers = nccl.kind == NcclProgram::kAllGather;
  if (comm.has_output() != scatters || comm.input_is_shard() != gathers || (gathers && !comm.has_input()))
    return BadPlan(where_, absl::StrCat("buffers do not match ", plan::Nccl::Kind_Name(in.kind())));
  const TensorInfo &type = out_.buffers[c->buffer].type;
  if ((scatters || gathers) && type.elements % program_->nodes != 0)
    return BadPlan(where_, absl::StrCat("elements must be divided by the ", program_->nodes, " ranks, got: ",
                                        type.elements));
  const bool narrow = type.element == ops::Element::kI8 || type.element == ops::Element::kI1;
  const bool whole = type.element == ops::Element::kI32 || type.element == ops::Element::kI64;
  if (narrow) return BadPlan(where_, absl::StrCat("NCCL is given no elements of one byte, got: ", ToString(type)));
  if (whole && nccl.reduction == NcclProgram::kMean && !gathers)
    return BadPlan(where_, absl::StrCat("NCCL makes no mean of integers, got: ", ToString(type)));
  c->input_is_all = c->input_bytes == type.bytes;
  nccl.meeting = MeetingOf(rank_, int(program_->nodes));
  nccl.nanoseconds = std::llround(
      plan::NcclCostsOf(plan_.cluster()).Ns(plan::CallOf(in.kind()), type.bytes));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::CheckNcclOrder() {
  std::map<uint32_t, uint32_t> taken;  // numbers, and which instruction
  for (uint32_t i = 0; i < out_.instructions.size(); ++i) {
    const std::optional<NcclProgram> &nccl = out_.instructions[i].communicate.nccl;
    if (!nccl.has_value()) continue;
    auto [other, fresh] = taken.try_emplace(nccl->number, i);
    if (!fresh)
      return BadPlan(where_, absl::StrCat("instructions ", other->second, " and ", i, " both have number ",
                                          nccl->number, " of NCCL"));
  }
  uint32_t expected = 0;
  for (const auto &[number, instruction] : taken)
    if (number != expected++)
      return BadPlan(where_, absl::StrCat("numbers of NCCL must be 0 to ", taken.size() - 1, ", got: ", number,
                                          " of instruction ", instruction));
  return absl::OkStatus();
}

}  // namespace commsched::runtime
