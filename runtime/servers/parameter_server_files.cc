// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values in and out of a parameter server, and its checkpoints: a safetensors
// file with the slots ("slot/NAME"), what has been pushed and not applied
// ("ready/I", "sum/BLOCK", of blocks of rows "part/BLOCK/I" in its place,
// "push/BLOCK/TRAINER/STEP"), and in the metadata the counts and a checksum over
// everything.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/status_util.h"
#include "runtime/data/nan_check.h"
#include "runtime/data/sealed_file.h"
#include "runtime/data/tensor_file.h"
#include "runtime/servers/parameter_server_impl.h"

namespace commsched::runtime {
namespace {

constexpr char kFormat[] = "commsched-server-checkpoint-2";

SharedBytes CopyOf(absl::Span<const std::byte> bytes) {
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return {absl::MakeConstSpan(*copy), copy};
}

TensorInfo Bytes(size_t size) {
  TensorInfo type;
  type.element = ops::Element::kI8;
  type.shape = {int64_t(size)};
  type.elements = int64_t(size);
  type.bytes = size;
  return type;
}

}  // namespace

// What a file holds, with the bytes by the names of its tensors.
struct ParameterServerImpl::Snapshot {
  // Words of the lines; see TakeSnapshot.
  std::string counts;
  std::map<std::string, std::pair<TensorInfo, SharedBytes>> tensors;
};

absl::StatusOr<SharedBytes> ParameterServerImpl::ShareValue(const BlockProgram &block) {
  if (block.slots.size() == 1) return executor_->ShareSlot(block.slots[0].slot);
  auto all = std::make_shared<std::vector<std::byte>>();
  all->reserve(block.value.bytes);
  for (const BlockProgram::Slot &slot : block.slots) {
    absl::StatusOr<SharedBytes> value = executor_->ShareSlot(slot.slot);
    if (!value.ok()) return value.status();
    all->insert(all->end(), value->bytes.begin(), value->bytes.end());
  }
  return SharedBytes{absl::MakeConstSpan(*all), all};
}

absl::Status ParameterServerImpl::ShareCurrent(uint32_t index) {
  Block &block = blocks_[index];
  if (block.program->of_rows()) return absl::OkStatus();
  absl::StatusOr<SharedBytes> value = ShareValue(*block.program);
  if (!value.ok()) return Named(value.status());
  block.current = *std::move(value);
  block.previous = {};
  machine_->ForgetBefore(index);
  return absl::OkStatus();
}

absl::Status ParameterServerImpl::SetWhole(const std::string &name,
                                           absl::Span<const std::byte> whole) {
  const std::vector<ValueInfo> &values = image_->values();
  auto value = std::find_if(values.begin(), values.end(),
                            [&](const ValueInfo &v) { return v.name == name; });
  if (value == values.end())
    return absl::NotFoundError(
        absl::StrCat("plan has no parameter or state \"", name, "\""));
  if (whole.size() != value->type.bytes)
    return absl::InvalidArgumentError(absl::StrCat(
        "value of \"", name, "\" must match ", ToString(value->type), " of ",
        value->type.bytes, " bytes, got: ", whole.size(), " bytes"));
  MutexLock lock(&mu_);
  // What is about to end ends.
  Await([this] { return !machine_->Busy() && !machine_->paused() && !Reading(); });
  if (!status_.ok()) return Unshared(status_);
  if (!machine_->Idle())
    return Named(absl::FailedPreconditionError(absl::StrCat(
        "\"", name, "\" cannot be set in the middle of a step")));
  for (const ValueInfo::Part &part : value->parts) {
    if (part.server != options_.server) continue;
    std::optional<uint32_t> block;
    for (uint32_t b = 0; b < blocks_.size(); ++b)
      if (blocks_[b].program->Find(part.slot) != nullptr) block = b;
    if (block) blocks_[*block].current = blocks_[*block].previous = {};
    if (absl::Status s =
            executor_->SetSlot(part.slot, whole.subspan(part.begin, part.bytes));
        !s.ok())
      return Named(s);
    if (block)
      if (absl::Status s = ShareCurrent(*block); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status ParameterServerImpl::GetSlot(uint32_t slot,
                                          absl::Span<std::byte> value) {
  if (slot >= program_->slots.size())
    return Named(absl::NotFoundError(absl::StrCat("there is no slot ", slot)));
  {
    MutexLock lock(&mu_);
    waiters_.Await(&mu_, [this] { return status_.ok() ? !machine_->Busy() : ended_; });
    if (const int block = BlockOfRows(slot); block >= 0) {
      machine_->BeginRead(uint32_t(block));
      mu_.Unlock();
      absl::Status status = Named(ReadSlot(slot, value));
      mu_.Lock();
      machine_->EndRead(uint32_t(block));
      waiters_.Changed();
      return status;
    }
  }
  return Named(ReadSlot(slot, value));
}

// If an update has failed, what the ones before it have made.
absl::Status ParameterServerImpl::ReadSlot(uint32_t slot,
                                           absl::Span<std::byte> value) {
  absl::Status status = executor_->GetSlot(slot, value);
  if (status.ok() || executor_->status().ok()) return status;
  if (absl::Status s = executor_->GoBack(executor_->completed()); !s.ok()) return s;
  return executor_->GetSlot(slot, value);
}

absl::Status ParameterServerImpl::TakeSnapshot(Tables tables, Snapshot *out) {
  auto line = [&](auto &&...words) {
    absl::StrAppend(&out->counts, words..., "\n");
  };
  auto bytes = [&](const std::string &name, SharedBytes value) {
    TensorInfo type = Bytes(value.bytes.size());
    out->tensors[name] = {type, std::move(value)};
  };
  for (uint32_t i = 0; i < program_->slots.size(); ++i) {
    if (!program_->slots[i].held) continue;
    absl::StatusOr<SharedBytes> value = SharedBytes();
    if (auto table = tables.find(i); table != tables.end())
      value = std::move(table->second);
    else
      value = executor_->ShareSlot(i);
    if (!value.ok()) return Named(value.status());
    out->tensors[absl::StrCat("slot/", program_->slots[i].name)] = {
        program_->slots[i].type, *std::move(value)};
  }
  const Machine::State state = machine_->state();
  line("schedules ", state.schedules);
  if (state.cut != Machine::kNever) line("cut ", state.cut);
  for (size_t t = 0; t < state.finish.size(); ++t)
    if (state.finish[t] != Machine::kNever) line("finish ", t, " ", state.finish[t]);
  for (size_t i = 0; i < state.ready.size(); ++i) {
    const Machine::Work &work = state.ready[i];
    line("ready ", i, " ", work.block, " ", work.step, " ", work.trainer);
    bytes(absl::StrCat("ready/", i), CopyOf(work.gradient.bytes));
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Block &values = blocks_[b];
    const Machine::BlockState &block = state.blocks[b];
    line("block ", b, " ", block.updates, " ", block.combining, " ", block.added,
         " ", block.parts, " ", int(values.scaled));
    for (size_t i = 0; i < values.row_parts.size(); ++i)
      bytes(absl::StrCat("part/", b, "/", i), values.row_parts[i]);
    if (block.parts != 0 && !values.program->of_rows())
      bytes(absl::StrCat("sum/", b),
            CopyOf({values.sum->data(), values.program->gradient.bytes}));
    for (size_t t = 0; t < block.taken.size(); ++t) {
      line("trainer ", b, " ", t, " ", block.taken[t], " ", block.applied[t]);
      for (const Machine::Arrived &arrived : block.arrived[t])
        bytes(absl::StrCat("push/", b, "/", t, "/", arrived.step), arrived.payload);
    }
  }
  return absl::OkStatus();
}

// What arrives meanwhile is kept.
absl::Status ParameterServerImpl::Pause(bool wait) {
  // Whoever is late is named by those who wait for him.
  Await([&] { return !machine_->paused() && machine_->MayPause(wait); });
  if (!status_.ok()) return Unshared(status_);
  machine_->Pause();
  if (!Await([this] { return machine_->Still(); }, After(options_.deadline)))
    return Named(absl::DeadlineExceededError(
        absl::StrCat("cannot save: no common step within ",
                     absl::FormatDuration(options_.deadline), ": ",
                     machine_->Missing())));
  return Unshared(status_);
}

absl::Status ParameterServerImpl::Save(const std::string &path, bool wait) {
  bool again = true;
  while (again) {
    Snapshot snapshot;
    std::optional<uint64_t> step;  // of the job
    {
      MutexLock lock(&mu_);
      absl::Status status = Pause(wait);
      if (status.ok()) {
        step = machine_->PassCut();
        again = machine_->WantsAnother();
        status = TakeSnapshot(CopyTables(), &snapshot);
      }
      machine_->Resume();
      for (uint32_t b = 0; b < blocks_.size() && status_.ok(); ++b) Combine(b);
      work_.SignalAll();
      waiters_.Changed();
      if (!status.ok()) return status;
    }
    std::vector<TensorToWrite> tensors;
    for (const auto &[name, tensor] : snapshot.tensors)
      tensors.push_back({name, tensor.first, tensor.second.bytes});
    absl::Status written = WriteSealed(
        path, tensors,
        {{"format", kFormat},
         {"plan", absl::StrCat(image_->digest())},
         {"server", absl::StrCat(options_.server)},
         {"counts", snapshot.counts}});
    // The job goes on from the last one that is good.
    if (written.ok() && step && options_.on_cut &&
        std::none_of(snapshot.tensors.begin(), snapshot.tensors.end(), [](const auto &t) {
          return FirstNan(t.second.first.element, t.second.second.bytes).has_value();
        }))
      written = options_.on_cut(path, *step);
    if (!written.ok()) return Named(written);
  }
  return absl::OkStatus();
}

absl::Status ParameterServerImpl::Restore(const std::string &path,
                                          bool whole_job) {
  absl::StatusOr<TensorFile> file = ReadSafetensors(path);
  if (!file.ok()) return Named(file.status());
  auto bad = [&](const std::string &what) {
    return Named(absl::InvalidArgumentError(absl::StrCat(path, ": ", what)));
  };
  auto metadata = [&](const char *name) {
    auto it = file->metadata.find(name);
    return it == file->metadata.end() ? std::string() : it->second;
  };
  if (metadata("format") != kFormat)
    return bad("is no checkpoint of a parameter server");
  if (absl::Status s = CheckSeal(*file); !s.ok()) return Named(s);
  if (std::string plan = metadata("plan"); plan != absl::StrCat(image_->digest()))
    return bad(absl::StrCat("is of another plan: digest must match ",
                            image_->digest(), ", got: ", plan));
  if (metadata("server") != absl::StrCat(options_.server))
    return bad(absl::StrCat("is of server ", metadata("server")));
  Snapshot snapshot;
  snapshot.counts = metadata("counts");
  for (const auto &[name, tensor] : file->tensors)
    snapshot.tensors[name] = {tensor.type, {tensor.data, tensor.owner}};
  MutexLock lock(&mu_);
  if (!status_.ok()) return Unshared(status_);
  bool untouched = machine_->Idle();
  for (int t = 0; t < options_.trainers; ++t) untouched &= !machine_->joined(t);
  if (!untouched)
    return Named(absl::FailedPreconditionError("trainers have joined already"));
  if (absl::Status s = Apply(snapshot, whole_job); !s.ok())
    return bad(std::string(s.message()));
  for (uint32_t b = 0; b < blocks_.size(); ++b) Combine(b);
  work_.SignalAll();
  return absl::OkStatus();
}

absl::Status ParameterServerImpl::Apply(const Snapshot &snapshot, bool whole_job) {
  const absl::Status wrong = absl::InvalidArgumentError("its counts are wrong");
  // What has been pushed to `block`, or is made of that.
  auto tensor = [&](const std::string &name, const Block &block,
                    bool pushed = false) -> absl::StatusOr<SharedBytes> {
    const BlockProgram &program = *block.program;
    const TensorInfo &type = pushed ? program.pushed() : program.gradient;
    auto it = snapshot.tensors.find(name);
    if (it == snapshot.tensors.end() ||
        (!program.of_rows() &&
         it->second.second.bytes.size() != type.bytes))
      return absl::InvalidArgumentError(
          absl::StrCat("tensor \"", name, "\" is missing or of another size"));
    if (program.of_rows())
      if (auto rows = ReadRows(it->second.second.bytes, program.rows.gradient);
          !rows.ok())
        return absl::InvalidArgumentError(
            absl::StrCat("tensor \"", name, "\": ", rows.status().message()));
    return CopyOf(it->second.second.bytes);
  };
  const size_t n = size_t(options_.trainers);
  Machine::State state = machine_->state();
  state.cut = Machine::kNever;
  state.ready.clear();
  for (absl::string_view text :
       absl::StrSplit(snapshot.counts, '\n', absl::SkipEmpty())) {
    std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
    std::vector<int64_t> v(words.size());
    for (size_t i = 1; i < words.size(); ++i)
      if (!absl::SimpleAtoi(words[i], &v[i])) return wrong;
    auto is = [&](const char *name, size_t count) {
      return words[0] == name && words.size() == count + 1;
    };
    auto below = [&](size_t i, size_t limit) {
      return v[i] >= 0 && uint64_t(v[i]) < limit;
    };
    if (is("schedules", 1)) {
      state.schedules = uint64_t(v[1]);
    } else if (is("cut", 1) && v[1] > 0) {
      state.cut = uint64_t(v[1]);
    } else if (is("finish", 2) && below(1, n)) {
      state.finish[size_t(v[1])] = uint64_t(v[2]);
    } else if (is("ready", 4) && below(2, blocks_.size()) && v[4] >= -1 &&
               v[4] < int64_t(n)) {
      auto value =
          tensor(absl::StrCat("ready/", v[1]), blocks_[size_t(v[2])]);
      if (!value.ok()) return value.status();
      state.ready.push_back({int(v[2]), uint64_t(v[3]), int(v[4]), *std::move(value)});
    } else if (is("block", 6) && below(1, blocks_.size()) && below(4, n + 1) &&
               below(5, n + 1)) {
      Block &block = blocks_[size_t(v[1])];
      Machine::BlockState &counts = state.blocks[size_t(v[1])];
      counts.updates = uint64_t(v[2]);
      counts.combining = uint64_t(v[3]);
      counts.added = int(v[4]);
      counts.parts = int(v[5]);
      block.scaled = v[6] != 0;
      if (block.program->of_rows())
        for (int i = 0; i < counts.parts; ++i) {
          auto part = tensor(absl::StrCat("part/", v[1], "/", i), block);
          if (!part.ok()) return part.status();
          block.row_parts.push_back(*std::move(part));
        }
      if (counts.parts == 0 || block.program->of_rows()) continue;
      const size_t bytes = block.program->gradient.bytes;
      auto value = tensor(absl::StrCat("sum/", v[1]), block);
      if (!value.ok()) return value.status();
      auto memory = Buffer(&block);
      if (!memory.ok()) return memory.status();
      block.sum = *std::move(memory);
      if (bytes != 0) std::memcpy(block.sum->data(), value->bytes.data(), bytes);
    } else if (is("trainer", 4) && below(1, blocks_.size()) && below(2, n)) {
      Machine::BlockState &counts = state.blocks[size_t(v[1])];
      counts.taken[size_t(v[2])] = uint64_t(v[3]);
      counts.applied[size_t(v[2])] = uint64_t(v[4]);
    } else {
      return wrong;
    }
  }
  for (size_t b = 0; b < blocks_.size() && sync(); ++b)
    for (size_t t = 0; t < n; ++t) {
      // Those that are in the sum have been pushed and are no tensors any more.
      Machine::BlockState &counts = state.blocks[b];
      uint64_t step = counts.combining + (int(t) < counts.added ? 1 : 0);
      for (; step < counts.taken[t]; ++step) {
        auto value = tensor(absl::StrCat("push/", b, "/", t, "/", step), blocks_[b],
                            /*pushed=*/true);
        if (!value.ok()) return value.status();
        counts.arrived[t].push_back({step, *std::move(value)});
      }
    }
  if (absl::Status s = machine_->SetState(std::move(state), whole_job); !s.ok()) return s;
  if (whole_job)
    for (Block &block : blocks_) {
      block.scaled = false;
      block.sum = nullptr;
      block.row_parts.clear();
    }
  for (Block &block : blocks_) block.current = block.previous = {};
  for (uint32_t i = 0; i < program_->slots.size(); ++i) {
    const SlotInfo &slot = program_->slots[i];
    if (!slot.held) continue;
    auto it = snapshot.tensors.find(absl::StrCat("slot/", slot.name));
    if (it == snapshot.tensors.end() || !(it->second.first == slot.type))
      return absl::InvalidArgumentError(
          absl::StrCat("slot \"", slot.name, "\" is missing"));
    if (absl::Status s = executor_->SetSlot(i, it->second.second.bytes); !s.ok())
      return s;
  }
  for (uint32_t b = 0; b < blocks_.size(); ++b)
    if (absl::Status s = ShareCurrent(b); !s.ok()) return s;
  return absl::OkStatus();
}

}  // namespace commsched::runtime
