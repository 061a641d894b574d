// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/plan_loader.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plan/plan_file.h"
#include "runtime/exchange.h"
#include "runtime/files.h"

namespace commsched::runtime {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 46;
// Up to this size of cluster it is checked that sends meet their receives.
constexpr int kMaxCheckedNodes = 64;
// Of all phases of a function, so that a small plan cannot take all memory.
constexpr uint64_t kMaxTotalRounds = uint64_t{1} << 22;

absl::Status Bad(const std::string &where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(where, ": ", what));
}

absl::StatusOr<TensorInfo> ConvertType(const plan::TensorType &type,
                                       const std::string &where) {
  if (type.element() < plan::F64 || type.element() > plan::I1)
    return Bad(where, absl::StrCat("unknown element type ", int(type.element())));
  TensorInfo info;
  info.element = ops::Element(type.element());
  uint64_t elements = 1;
  for (int64_t dim : type.shape()) {
    if (dim < 0 || __builtin_mul_overflow(elements, uint64_t(dim), &elements) ||
        elements > kMaxBytes)
      return Bad(where, "the shape is too large or negative");
    info.shape.push_back(dim);
  }
  info.elements = int64_t(elements);
  info.bytes = elements * ops::ElementBytes(info.element);
  if (info.bytes > kMaxBytes) return Bad(where, "the shape is too large");
  return info;
}

// Builds one FunctionProgram. The steps are run in order by Build.
class FunctionBuilder {
 public:
  FunctionBuilder(const plan::Plan &plan, const plan::Function &function,
                  int rank, uint32_t first_key, const CodeLibrary *code,
                  Program *program)
      : plan_(plan), in_(function), rank_(rank), nodes_(program->nodes),
        next_key_(first_key), code_(code), program_(program) {}

  absl::StatusOr<FunctionProgram> Build() {
    out_.name = in_.name();
    out_.is_step = in_.is_step();
    where_ = absl::StrCat("function @", in_.name());
    if (in_.arena_bytes() > kMaxBytes || in_.scratch_bytes() > kMaxBytes)
      return Bad(where_, "its arena is too large");
    out_.arena_bytes = in_.arena_bytes();
    out_.scratch_bytes = in_.scratch_bytes();
    out_.global_batch = in_.global_batch();
    for (int i = 0; i < in_.buffers_size(); ++i)
      if (absl::Status s = AddBuffer(i); !s.ok()) return s;
    writer_.assign(in_.buffers_size(), -1);
    for (int i = 0; i < in_.instructions_size(); ++i)
      if (absl::Status s = AddInstruction(i); !s.ok()) return s;
    if (absl::Status s = Finish(); !s.ok()) return s;
    return std::move(out_);
  }
  uint32_t next_key() const { return next_key_; }

 private:
  absl::Status AddBuffer(int index);
  absl::Status AddInstruction(int index);
  absl::Status AddRun(const plan::Run &run, InstructionProgram *out);
  absl::Status AddCommunicate(const plan::Communicate &comm,
                              InstructionProgram *out);
  absl::Status AddCopy(const plan::CopyBuffer &copy, InstructionProgram *out);
  absl::Status AddDelay(const plan::Delay &delay, InstructionProgram *out);
  absl::Status Finish();
  absl::Status CheckRead(uint32_t buffer);
  absl::Status Write(uint32_t buffer);

  const plan::Plan &plan_;
  const plan::Function &in_;
  const int rank_, nodes_;
  uint32_t next_key_;
  const CodeLibrary *code_;
  Program *program_;
  FunctionProgram out_;
  std::string where_;
  int current_ = 0;
  uint64_t total_rounds_ = 0;
  std::vector<int64_t> writer_;  // last instruction that writes a buffer
};

absl::Status FunctionBuilder::AddBuffer(int index) {
  const plan::Buffer &b = in_.buffers(index);
  std::string where = absl::StrCat(
      where_, ": buffer ", index, b.name().empty() ? "" : " \"", b.name(),
      b.name().empty() ? "" : "\"");
  absl::StatusOr<TensorInfo> type = ConvertType(b.type(), where);
  if (!type.ok()) return type.status();
  BufferInfo info;
  info.type = *std::move(type);
  info.name = b.name();
  switch (b.kind()) {
    case plan::Buffer::ARENA:
      info.kind = BufferInfo::kArena;
      info.offset = b.offset();
      if (b.offset() > out_.arena_bytes ||
          info.type.bytes > out_.arena_bytes - b.offset())
        return Bad(where, "lies outside of the arena");
      if (b.offset() % ops::ElementBytes(info.type.element) != 0)
        return Bad(where, "is not aligned to its elements");
      break;
    case plan::Buffer::SLOT_CURRENT:
    case plan::Buffer::SLOT_NEXT: {
      if (b.slot() >= program_->slots.size())
        return Bad(where, absl::StrCat("there is no slot ", b.slot()));
      SlotInfo &slot = program_->slots[b.slot()];
      if (!(slot.type == info.type))
        return Bad(where, absl::StrCat("type must match slot \"", slot.name,
                                       "\" ", ToString(slot.type),
                                       ", got: ", ToString(info.type)));
      info.slot = b.slot();
      bool next = b.kind() == plan::Buffer::SLOT_NEXT;
      info.kind = next ? BufferInfo::kSlotNext : BufferInfo::kSlotCurrent;
      std::vector<uint32_t> &list = next ? out_.written_slots : out_.read_slots;
      if (std::find(list.begin(), list.end(), b.slot()) == list.end())
        list.push_back(b.slot());
      if (next) slot.written = true;
      break;
    }
    case plan::Buffer::BATCH: {
      info.kind = BufferInfo::kBatch;
      if (b.batch().empty()) return Bad(where, "a batch needs a name");
      if (info.type.shape.empty())
        return Bad(where, "a batch needs a dimension that counts samples");
      auto known = std::find_if(
          out_.batches.begin(), out_.batches.end(),
          [&](const BatchArgument &a) { return a.name == b.batch(); });
      info.batch = uint32_t(known - out_.batches.begin());
      if (known == out_.batches.end())
        out_.batches.push_back({b.batch(), info.type});
      else if (!(known->type == info.type))
        return Bad(where, absl::StrCat("batch \"", b.batch(), "\" has two types"));
      break;
    }
    default:
      return Bad(where, "unknown kind");
  }
  out_.buffers.push_back(std::move(info));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::CheckRead(uint32_t buffer) {
  if (buffer >= out_.buffers.size())
    return Bad(where_, absl::StrCat("there is no buffer ", buffer));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::Write(uint32_t buffer) {
  if (absl::Status s = CheckRead(buffer); !s.ok()) return s;
  BufferInfo::Kind kind = out_.buffers[buffer].kind;
  if (kind == BufferInfo::kBatch || kind == BufferInfo::kSlotCurrent)
    return Bad(where_, absl::StrCat("writes buffer ", buffer,
                                    ", which may only be read"));
  writer_[buffer] = current_;
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddRun(const plan::Run &run,
                                     InstructionProgram *out) {
  out->kind = InstructionProgram::kRun;
  if (run.object() >= code_->size())
    return Bad(where_, absl::StrCat("there is no code object ", run.object()));
  absl::StatusOr<CsFragmentFn> fn = code_->Find(run.object(), run.symbol());
  if (!fn.ok()) return Bad(where_, fn.status().message());
  out->run.function = *fn;
  out->run.flops = run.flops();
  out->run.bytes = run.bytes();
  for (uint32_t b : run.inputs()) {
    if (absl::Status s = CheckRead(b); !s.ok()) return s;
    out->run.operands.push_back(b);
  }
  for (uint32_t b : run.outputs()) {
    if (absl::Status s = Write(b); !s.ok()) return s;
    out->run.operands.push_back(b);
  }
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddCopy(const plan::CopyBuffer &copy,
                                      InstructionProgram *out) {
  out->kind = InstructionProgram::kCopy;
  if (absl::Status s = CheckRead(copy.source()); !s.ok()) return s;
  if (absl::Status s = Write(copy.target()); !s.ok()) return s;
  if (out_.buffers[copy.source()].type.bytes !=
      out_.buffers[copy.target()].type.bytes)
    return Bad(where_, "copies between buffers of different size");
  out->source = copy.source();
  out->target = copy.target();
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddDelay(const plan::Delay &delay,
                                       InstructionProgram *out) {
  out->kind = InstructionProgram::kDelay;
  if (delay.nanoseconds() > uint64_t{3600} * 1000000000)
    return Bad(where_, "a delay must be at most an hour");
  out->nanoseconds = delay.nanoseconds();
  for (uint32_t b : delay.inputs())
    if (absl::Status s = CheckRead(b); !s.ok()) return s;
  for (uint32_t b : delay.outputs())
    if (absl::Status s = Write(b); !s.ok()) return s;
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddCommunicate(const plan::Communicate &comm,
                                             InstructionProgram *out) {
  out->kind = InstructionProgram::kCommunicate;
  CommunicateProgram &c = out->communicate;
  c.key = comm.key();
  c.source_op = comm.source_op().empty() ? "exchange" : comm.source_op();
  c.key_id = next_key_++;
  c.buffer = comm.buffer();
  if (absl::Status s = Write(comm.buffer()); !s.ok()) return s;
  const TensorInfo &type = out_.buffers[c.buffer].type;
  c.element = type.element;
  size_t unit = ops::ElementBytes(type.element);
  size_t part_at = size_t(PartBegin(type.elements, nodes_, rank_)) * unit;
  size_t part_bytes =
      size_t(PartBegin(type.elements, nodes_, rank_ + 1)) * unit - part_at;
  if (comm.has_input()) {
    if (absl::Status s = CheckRead(comm.input()); !s.ok()) return s;
    const TensorInfo &input = out_.buffers[comm.input()].type;
    c.input = comm.input();
    c.input_at = comm.input_is_shard() ? part_at : 0;
    c.input_bytes = comm.input_is_shard() ? part_bytes : type.bytes;
    if (input.element != type.element ||
        (comm.input_is_shard() ? input.bytes < part_bytes
                               : input.bytes != type.bytes))
      return Bad(where_, absl::StrCat("input must match ", ToString(type),
                                      ", got: ", ToString(input)));
  }
  if (comm.has_output()) {
    if (absl::Status s = Write(comm.output()); !s.ok()) return s;
    const TensorInfo &output = out_.buffers[comm.output()].type;
    c.output = comm.output();
    c.output_at = part_at;
    c.output_bytes = part_bytes;
    if (output.element != type.element || output.bytes < part_bytes)
      return Bad(where_, absl::StrCat("output must hold part ", rank_, " of ",
                                      ToString(type), ", got: ", ToString(output)));
  }
  for (int i = 0; i < comm.phases_size(); ++i) {
    const plan::Phase &phase = comm.phases(i);
    if ((total_rounds_ += phase.rounds()) > kMaxTotalRounds)
      return Bad(where_, "the function has too many rounds");
    absl::StatusOr<std::vector<Round>> rounds =
        EvaluatePhase(phase, type, rank_, nodes_);
    if (!rounds.ok())
      return Bad(where_, absl::StrCat("phase ", i, ": ", rounds.status().message()));
    if (rank_ == 0 && nodes_ <= kMaxCheckedNodes)
      if (absl::Status s = CheckPhaseMatches(phase, type, nodes_); !s.ok())
        return Bad(where_, absl::StrCat("phase ", i, ": ", s.message()));
    c.phases.push_back({ops::Combine(phase.combine()), phase.scale(),
                        *std::move(rounds)});
  }
  return absl::OkStatus();
}

absl::Status FunctionBuilder::AddInstruction(int index) {
  const plan::Instruction &in = in_.instructions(index);
  current_ = index;
  where_ = absl::StrCat("function @", in_.name(), ": instruction ", index, " \"",
                        in.name(), "\"");
  InstructionProgram out;
  out.name = in.name();
  if (in.location() < uint32_t(plan_.locations_size()))
    out.location = plan_.locations(int(in.location()));
  else if (in.location() != 0)
    return Bad(where_, absl::StrCat("there is no location ", in.location()));
  if (!out.location.empty()) absl::StrAppend(&where_, " (", out.location, ")");
  out.deferred = in.deferred();
  out.priority = in.priority();
  if (in.device() >= std::max(1u, plan_.cluster().devices()))
    return Bad(where_, absl::StrCat("there is no device ", in.device()));
  std::set<uint32_t> same, last;
  for (const plan::Dependence &d : in.dependences()) {
    if (d.distance() > 1)
      return Bad(where_, absl::StrCat("distance of a dependence must be 0 or 1, got: ",
                                      d.distance()));
    if (d.distance() == 0 && d.instruction() >= uint32_t(index))
      return Bad(where_, absl::StrCat("depends on instruction ", d.instruction(),
                                      ", which does not come before it"));
    if (d.instruction() >= uint32_t(in_.instructions_size()))
      return Bad(where_, absl::StrCat("there is no instruction ", d.instruction()));
    (d.distance() == 0 ? same : last).insert(d.instruction());
  }
  out.waits_same.assign(same.begin(), same.end());
  out.waits_last.assign(last.begin(), last.end());
  absl::Status status;
  switch (in.kind_case()) {
    case plan::Instruction::kRun:
      status = AddRun(in.run(), &out);
      break;
    case plan::Instruction::kCommunicate:
      status = AddCommunicate(in.communicate(), &out);
      break;
    case plan::Instruction::kCopy:
      status = AddCopy(in.copy(), &out);
      break;
    case plan::Instruction::kDelay:
      status = AddDelay(in.delay(), &out);
      break;
    default:
      status = Bad(where_, "does nothing that this build knows");
  }
  if (!status.ok()) return status;
  if (out.kind != InstructionProgram::kCommunicate && !out.deferred)
    out_.stream.push_back(uint32_t(index));
  out_.instructions.push_back(std::move(out));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::Finish() {
  where_ = absl::StrCat("function @", in_.name());
  for (uint32_t i = 0; i < out_.instructions.size(); ++i) {
    for (uint32_t d : out_.instructions[i].waits_same)
      out_.instructions[d].wakes_same.push_back(i);
    for (uint32_t d : out_.instructions[i].waits_last)
      out_.instructions[d].wakes_next.push_back(i);
  }
  for (const plan::Output &o : in_.outputs()) {
    if (absl::Status s = CheckRead(o.buffer()); !s.ok()) return s;
    const TensorInfo &type = out_.buffers[o.buffer()].type;
    if (type.elements != 1)
      return Bad(where_, absl::StrCat("metric \"", o.metric(),
                                      "\" must have one element, got: ",
                                      ToString(type)));
    uint32_t index = uint32_t(out_.outputs.size());
    out_.outputs.push_back({o.metric(), o.buffer()});
    int64_t writer = writer_[o.buffer()];
    if (writer >= 0)
      out_.instructions[writer].outputs.push_back(index);
    else if (out_.buffers[o.buffer()].kind == BufferInfo::kBatch ||
             out_.buffers[o.buffer()].kind == BufferInfo::kSlotCurrent)
      out_.initial_outputs.push_back(index);
    else
      return Bad(where_, absl::StrCat("nothing writes metric \"", o.metric(), "\""));
  }
  for (uint32_t slot : out_.written_slots) {
    bool written = false;
    for (size_t b = 0; b < out_.buffers.size(); ++b)
      written |= out_.buffers[b].kind == BufferInfo::kSlotNext &&
                 out_.buffers[b].slot == slot && writer_[b] >= 0;
    if (!written)
      return Bad(where_, absl::StrCat("nothing writes the next value of \"",
                                      program_->slots[slot].name, "\""));
  }
  for (const BatchArgument &batch : out_.batches)
    if (out_.global_batch != 0 &&
        uint64_t(batch.type.shape[0]) * uint64_t(nodes_) != out_.global_batch)
      return Bad(where_, absl::StrCat("batch \"", batch.name, "\" of ",
                                      batch.type.shape[0], " samples on ", nodes_,
                                      " nodes must match the global batch ",
                                      out_.global_batch));
  return absl::OkStatus();
}

absl::StatusOr<ops::KernelDesc> ConvertKernel(const plan::Kernel &in, int index) {
  std::string where = absl::StrCat("kernel ", index, " \"", in.kind(), "\"");
  ops::KernelDesc desc;
  desc.kind = in.kind();
  desc.accumulate = in.accumulate();
  for (const plan::KernelTensor &t : in.operands()) {
    if (t.element() < plan::F64 || t.element() > plan::I1)
      return Bad(where, "unknown element type");
    if (t.dims_size() != t.strides_size() || t.dims_size() > 12)
      return Bad(where, "needs a stride for each dimension");
    ops::KernelOperand operand;
    operand.element = ops::Element(t.element());
    int64_t extent = 1, elements = 1;
    for (int d = 0; d < t.dims_size(); ++d) {
      int64_t reach = 0;
      if (t.dims(d) < 1 || t.strides(d) < 0 ||
          __builtin_mul_overflow(t.dims(d) - 1, t.strides(d), &reach) ||
          __builtin_add_overflow(extent, reach, &extent) ||
          __builtin_mul_overflow(elements, t.dims(d), &elements) ||
          extent > int64_t(kMaxBytes) || elements > int64_t(kMaxBytes))
        return Bad(where, "sizes must be positive and not too large");
    }
    operand.dims.assign(t.dims().begin(), t.dims().end());
    operand.strides.assign(t.strides().begin(), t.strides().end());
    desc.operands.push_back(std::move(operand));
  }
  for (const auto &[name, list] : in.attributes())
    desc.attributes[name].assign(list.values().begin(), list.values().end());
  if (absl::Status s = ops::CheckKernel(desc); !s.ok())
    return Bad(where, s.message());
  return desc;
}

uint64_t Fnv1a(absl::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : bytes) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

}  // namespace

bool operator==(const TensorInfo &a, const TensorInfo &b) {
  return a.element == b.element && a.shape == b.shape;
}

std::string ToString(const TensorInfo &type) {
  return absl::StrCat(ops::ElementName(type.element), "[",
                      absl::StrJoin(type.shape, ","), "]");
}

absl::StatusOr<std::shared_ptr<const PlanImage>> PlanImage::Load(
    absl::string_view bytes) {
  auto image = std::make_shared<PlanImage>();
  // What it would print is in the error as well.
  google::protobuf::LogSilencer silence;
  std::string error = plan::Deserialize({bytes.data(), bytes.size()}, &image->plan_);
  if (!error.empty()) return absl::InvalidArgumentError(error);
  const plan::Plan &plan = image->plan_;
  image->digest_ = Fnv1a(bytes);
  if (plan.cluster().nodes() == 0 || plan.cluster().nodes() > kMaxNodes)
    return absl::InvalidArgumentError(
        absl::StrCat("number of nodes must be 1 to ", kMaxNodes,
                     ", got: ", plan.cluster().nodes()));
  if (plan.cluster().devices() > 64)
    return absl::InvalidArgumentError("a node must have at most 64 devices");
  if (plan.roles_size() > 1)
    return absl::UnimplementedError(absl::StrCat(
        "a plan must have one role, got: ", plan.roles_size()));
  if (plan.roles_size() == 1 && plan.roles(0).count() != plan.cluster().nodes())
    return absl::InvalidArgumentError(absl::StrCat(
        "role \"", plan.roles(0).name(), "\" must match the cluster's ",
        plan.cluster().nodes(), " nodes, got: ", plan.roles(0).count()));
  if (absl::Status s = CheckProcessor(plan.required_features()); !s.ok())
    return s;
  image->code_ = std::make_shared<CodeLibrary>();
  for (int i = 0; i < plan.objects_size(); ++i)
    if (absl::Status s =
            image->code_->Load(plan.objects(i).target(), plan.objects(i).elf());
        !s.ok())
      return absl::Status(s.code(), absl::StrCat("object ", i, ": ", s.message()));
  return image;
}

absl::StatusOr<std::shared_ptr<const PlanImage>> PlanImage::LoadFile(
    const std::string &path) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::Open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::shared_ptr<const PlanImage>> image =
      Load((*file)->bytes());
  if (!image.ok())
    return absl::Status(image.status().code(),
                        absl::StrCat(path, ": ", image.status().message()));
  return image;
}

absl::StatusOr<std::shared_ptr<const Program>> PlanImage::ForRank(
    int rank) const {
  auto program = std::make_shared<Program>();
  program->rank = rank;
  program->nodes = nodes();
  program->digest = digest_;
  program->module_name = plan_.module_name();
  program->code = code_;
  if (rank < 0 || rank >= nodes())
    return absl::InvalidArgumentError(absl::StrCat(
        "rank must be in 0..", nodes() - 1, ", got: ", rank));
  std::set<std::string> names;
  for (int i = 0; i < plan_.slots_size(); ++i) {
    const plan::Slot &slot = plan_.slots(i);
    std::string where = absl::StrCat("slot ", i, " \"", slot.name(), "\"");
    absl::StatusOr<TensorInfo> type = ConvertType(slot.type(), where);
    if (!type.ok()) return type.status();
    if (slot.name().empty() || !names.insert(slot.name()).second)
      return Bad(where, "name must be unique and not empty");
    program->slots.push_back(
        {slot.name(), slot.kind() == plan::Slot::PARAM, *std::move(type), false});
  }
  for (int i = 0; i < plan_.kernels_size(); ++i) {
    absl::StatusOr<ops::KernelDesc> desc = ConvertKernel(plan_.kernels(i), i);
    if (!desc.ok()) return desc.status();
    program->kernels.push_back(*std::move(desc));
  }
  uint32_t key = 0;
  names.clear();
  for (const plan::Function &f : plan_.functions()) {
    if (!names.insert(f.name()).second)
      return absl::InvalidArgumentError(
          absl::StrCat("function @", f.name(), " is there twice"));
    FunctionBuilder builder(plan_, f, rank, key, code_.get(), program.get());
    absl::StatusOr<FunctionProgram> function = builder.Build();
    if (!function.ok()) return function.status();
    key = builder.next_key();
    program->functions.push_back(*std::move(function));
  }
  return program;
}

absl::StatusOr<int> FindFunction(const Program &program, const char *name) {
  for (size_t i = 0; i < program.functions.size(); ++i)
    if (name == nullptr ? program.functions[i].is_step
                        : program.functions[i].name == name)
      return int(i);
  if (name == nullptr)
    return absl::NotFoundError("plan has no training step");
  std::vector<std::string> names;
  for (const FunctionProgram &f : program.functions) names.push_back("@" + f.name);
  return absl::NotFoundError(absl::StrCat("plan has no function @", name,
                                          ", only ", absl::StrJoin(names, ", ")));
}

}  // namespace commsched::runtime
