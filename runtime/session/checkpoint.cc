// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/checkpoint.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/data/sealed_file.h"
#include "runtime/session/rank_state.h"

namespace commsched::runtime {
namespace {

constexpr char kFormat[] = "commsched-checkpoint-2";
constexpr char kUnsealed[] = "commsched-checkpoint-1";  // without checksum

absl::Status Save(Session *session, const std::string &path, bool params_only,
                  const std::map<std::string, std::string> &metadata) {
  const std::vector<ValueInfo> &slots = session->values();
  std::vector<std::vector<std::byte>> values;
  std::vector<TensorToWrite> tensors;
  values.reserve(slots.size());
  for (uint32_t i = 0; i < slots.size(); ++i) {
    if ((params_only && !slots[i].is_param) || slots[i].per_rank) continue;
    if (params_only && !session->HasValue(i)) continue;
    std::vector<std::byte> &value = values.emplace_back(slots[i].type.bytes);
    if (absl::Status s = session->GetValue(i, absl::MakeSpan(value)); !s.ok())
      return s;
    tensors.push_back({slots[i].name, slots[i].type, value});
  }
  return params_only ? WriteSafetensors(path, tensors, metadata)
                     : WriteSealed(path, tensors, metadata);
}

}  // namespace

absl::Status SaveCheckpoint(Session *session, const std::string &path,
                            uint64_t steps_done) {
  std::map<std::string, std::string> metadata = {{"format", kFormat},
                                                 {"step", absl::StrCat(steps_done)}};
  // First what belongs to it: the checkpoint names the step of these files.
  if (absl::Status s = SaveRankState(session, path, steps_done); !s.ok()) return s;
  if (HasRankState(*session)) metadata["ranks"] = absl::StrCat(session->image().nodes());
  if (absl::Status s = Save(session, path, false, metadata); !s.ok()) return s;
  if (HasRankState(*session)) RemoveOldRankState(session, path, steps_done);
  return absl::OkStatus();
}

absl::Status SaveOwnState(Session *session, const std::string &path,
                          uint64_t steps_done) {
  if (!HasRankState(*session)) return absl::OkStatus();
  if (absl::Status s = SaveRankState(session, path, steps_done); !s.ok()) return s;
  RemoveOldRankState(session, path, steps_done);
  return absl::OkStatus();
}

absl::Status SaveParameters(Session *session, const std::string &path) {
  return Save(session, path, true, {});
}

absl::Status SetSlots(Session *session, const TensorFile &file,
                      bool complete) {
  const std::vector<ValueInfo> &slots = session->values();
  for (const auto &[name, tensor] : file.tensors)
    if (std::none_of(slots.begin(), slots.end(),
                     [&name = name](const ValueInfo &s) { return s.name == name; }))
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": tensor \"", name,
                       "\" is no parameter or state of the plan"));
  // All are checked before the first is set.
  std::vector<const StoredTensor *> found(slots.size(), nullptr);
  for (size_t i = 0; i < slots.size(); ++i) {
    if ((!complete || slots[i].per_rank) && file.tensors.count(slots[i].name) == 0)
      continue;
    auto tensor = file.Find(slots[i].name, slots[i].type);
    if (!tensor.ok()) return tensor.status();
    found[i] = *tensor;
  }
  for (uint32_t i = 0; i < slots.size(); ++i)
    if (found[i] != nullptr)
      if (absl::Status s = session->SetValue(i, found[i]->data); !s.ok()) return s;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> LoadCheckpoint(Session *session,
                                        const std::string &path) {
  absl::StatusOr<TensorFile> file = ReadSafetensors(path);
  if (!file.ok()) return file.status();
  auto format = file->metadata.find("format");
  auto step = file->metadata.find("step");
  uint64_t steps_done = 0;
  const bool known = format != file->metadata.end() &&
                     (format->second == kFormat || format->second == kUnsealed);
  if (known && format->second == kFormat)
    if (absl::Status s = CheckSeal(*file); !s.ok()) return s;
  if (!known || step == file->metadata.end() ||
      !absl::SimpleAtoi(step->second, &steps_done))
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is no checkpoint: metadata must have format \"",
                     kFormat, "\" and a step"));
  if (absl::Status s = SetSlots(session, *file, true); !s.ok()) return s;
  // Without it, of a plan without such state: that begins at zero.
  if (auto ranks = file->metadata.find("ranks"); ranks != file->metadata.end()) {
    int saved = 0;
    if (!absl::SimpleAtoi(ranks->second, &saved) || saved < 1)
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ranks must be a positive number, got: ", ranks->second));
    if (absl::Status s = LoadRankState(session, path, steps_done, saved); !s.ok()) return s;
  }
  return steps_done;
}

}  // namespace commsched::runtime
