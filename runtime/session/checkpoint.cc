// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/files.h"
#include "runtime/data/sealed_file.h"
#include "runtime/session/rank_state.h"

namespace commsched::runtime {
namespace {

constexpr char kFormat[] = "commsched-checkpoint-2";
constexpr char kUnsealed[] = "commsched-checkpoint-1";  // without checksum

namespace fs = std::filesystem;

// The number that the metadata of a checkpoint has under `name`.
std::optional<uint64_t> NumberIn(const TensorFile &file, const char *name) {
  uint64_t number = 0;
  auto it = file.metadata.find(name);
  if (it == file.metadata.end() || !absl::SimpleAtoi(it->second, &number)) return std::nullopt;
  return number;
}

std::string JobOf(const TensorFile &file) {
  auto job = file.metadata.find("job");
  return job == file.metadata.end() ? "" : job->second;
}

// Whether a rank has written what belongs to a checkpoint; what cannot be read is said where it is loaded.
bool HasWritten(const std::string &path, const std::string &job) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  auto file = ReadSafetensors(path);
  return !file.ok() || IsOfJob(*file, job);
}

// Whether all that belongs to the checkpoint in `file`, which was saved as `path`, is there. What another job has left
// under these names does not.
bool IsWhole(const std::string &file, const std::string &path) {
  auto checkpoint = ReadSafetensors(file);
  if (!checkpoint.ok()) return false;
  const auto step = NumberIn(*checkpoint, "step"), ranks = NumberIn(*checkpoint, "ranks");
  for (uint64_t rank = 0; step && ranks && rank < *ranks; ++rank)
    if (!HasWritten(RankStatePath(path, *step, int(rank)), JobOf(*checkpoint))) return false;
  return step.has_value();
}

std::string KeptPath(const std::string &path, uint64_t step) {
  return absl::StrCat(path, ".step", step);
}

// Checkpoints that were `path` before, by their steps.
std::map<uint64_t, fs::path> KeptOf(const std::string &path) {
  const fs::path whole(path);
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  std::map<uint64_t, fs::path> kept;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    absl::string_view rest = name;
    uint64_t step = 0;
    if (absl::ConsumePrefix(&rest, whole.filename().string() + ".step") &&
        absl::SimpleAtoi(rest, &step))
      kept[step] = it->path();
  }
  return kept;
}

// Gives the checkpoint of step `before` its other name. A job that has gone on from that name
// finds a later one at `path`, which not all ranks have written.
absl::Status KeepBefore(const std::string &path, uint64_t before) {
  const std::string kept = KeptPath(path, before);
  auto checkpoint = ReadSafetensors(path);
  if (!checkpoint.ok()) return absl::OkStatus();  // gone: there is nothing to keep
  if (NumberIn(*checkpoint, "step") != before) return absl::OkStatus();
  std::error_code error;
  fs::remove(kept, error);
  fs::create_hard_link(path, kept, error);
  if (!error) return absl::OkStatus();
  // Of a file system that has no such names.
  auto file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  return WriteFileAtomically(kept, {(*file)->bytes()});
}

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

absl::Status SaveCheckpoint(Session *session, const std::string &path, uint64_t steps_done,
                            std::optional<uint64_t> before) {
  std::map<std::string, std::string> metadata = {{"format", kFormat},
                                                 {"step", absl::StrCat(steps_done)}};
  // First what belongs to it: the checkpoint names the step of these files.
  if (absl::Status s = SaveRankState(session, path, steps_done); !s.ok()) return s;
  const bool own = HasRankState(*session);
  // What other processes write may come later.
  if (int(session->local_ranks()) == session->image().nodes()) before = std::nullopt;
  if (own) {
    metadata["ranks"] = absl::StrCat(session->image().nodes());
    metadata["job"] = absl::StrCat(session->job());
  }
  if (own && before && *before != steps_done)
    if (absl::Status s = KeepBefore(path, *before); !s.ok()) return s;
  if (absl::Status s = Save(session, path, false, metadata); !s.ok()) return s;
  if (!own) return absl::OkStatus();
  std::error_code error;
  for (const auto &[step, file] : KeptOf(path))
    if (step != before) fs::remove(file, error);
  RemoveOldRankState(session, path, steps_done, before);
  return absl::OkStatus();
}

absl::Status SaveOwnState(Session *session, const std::string &path, uint64_t steps_done,
                          std::optional<uint64_t> before) {
  if (!HasRankState(*session)) return absl::OkStatus();
  if (absl::Status s = SaveRankState(session, path, steps_done); !s.ok()) return s;
  RemoveOldRankState(session, path, steps_done, before);
  return absl::OkStatus();
}

std::string SavedName(const std::string &file) {
  auto checkpoint = ReadSafetensors(file);
  const auto step = checkpoint.ok() && checkpoint->metadata.contains("ranks") ? NumberIn(*checkpoint, "step") : std::nullopt;
  absl::string_view name = file;
  std::error_code error;
  if (!step || fs::exists(RankStatePath(file, *step, 0), error) || !absl::ConsumeSuffix(&name, KeptPath("", *step)))
    return file;
  return std::string(name);
}

std::string WholeCheckpoint(const std::string &path) {
  if (IsWhole(path, path) || IsWhole(path, SavedName(path))) return path;
  const auto kept = KeptOf(path);
  for (auto it = kept.rbegin(); it != kept.rend(); ++it)
    if (IsWhole(it->second.string(), path)) return it->second.string();
  return path;  // the error will say what is missing
}

std::optional<uint64_t> JobOfCheckpoint(const std::string &file) {
  auto checkpoint = ReadSafetensors(file);
  return checkpoint.ok() ? NumberIn(*checkpoint, "job") : std::nullopt;
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

absl::StatusOr<uint64_t> LoadCheckpoint(Session *session, const std::string &path) {
  absl::StatusOr<TensorFile> file = ReadSafetensors(WholeCheckpoint(path));
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
        absl::StrCat(file->path, ": is no checkpoint: metadata must have format \"",
                     kFormat, "\" and a step"));
  if (absl::Status s = SetSlots(session, *file, true); !s.ok()) return s;
  // Without it, of a plan without such state: that begins at zero.
  if (auto ranks = file->metadata.find("ranks"); ranks != file->metadata.end()) {
    int saved = 0;
    if (!absl::SimpleAtoi(ranks->second, &saved) || saved < 1)
      return absl::InvalidArgumentError(
          absl::StrCat(file->path, ": ranks must be a positive number, got: ", ranks->second));
    absl::Status own =
        LoadRankState(session, SavedName(file->path), steps_done, saved, /*complete=*/true, JobOf(*file));
    if (absl::IsNotFound(own))
      return absl::NotFoundError(absl::StrCat(path,
                                              ": not all ranks have written what belongs to it, "
                                              "and there is no whole one before it: ",
                                              own.message()));
    if (!own.ok()) return own;
  }
  return steps_done;
}

}  // namespace commsched::runtime
