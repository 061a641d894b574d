// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/rank_state.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ops/base/element.h"
#include "runtime/data/sealed_file.h"
#include "runtime/data/tensor_file.h"
#include "runtime/session/own_states.h"

namespace commsched::runtime {
namespace {

namespace fs = std::filesystem;

constexpr char kRankStateFormat[] = "commsched-rank-state-2";
constexpr char kUnsealedRankState[] = "commsched-rank-state-1";  // without checksum

std::vector<uint32_t> SlotsOf(const Program &program) {
  std::vector<uint32_t> slots;
  for (uint32_t s = 0; s < program.slots.size(); ++s)
    if (program.slots[s].per_rank && program.slots[s].held && !program.slots[s].repeated)
      slots.push_back(s);
  return slots;
}

// `job`: empty if any will do.
absl::StatusOr<TensorFile> Read(const std::string &path, uint64_t step, int rank, int ranks,
                                const std::string &job) {
  absl::StatusOr<TensorFile> file = ReadSafetensors(path);
  if (!file.ok()) return file.status();
  const bool unsealed = file->metadata["format"] == kUnsealedRankState;
  if (absl::Status s = CheckMetadata(*file, {{"format", unsealed ? kUnsealedRankState : kRankStateFormat}});
      !s.ok())
    return s;
  if (!unsealed)
    if (absl::Status s = CheckSeal(*file); !s.ok()) return s;
  if (absl::Status s = CheckMetadata(*file, {{"step", absl::StrCat(step)},
                                             {"rank", absl::StrCat(rank)},
                                             {"ranks", absl::StrCat(ranks)}});
      !s.ok())
    return s;
  if (!IsOfJob(*file, job))
    return absl::InvalidArgumentError(absl::StrCat(path, ": is of another job"));
  return file;
}

// The files of a rank, by their steps.
std::map<uint64_t, fs::path> FilesOf(const std::string &path, int rank) {
  const fs::path whole(path);
  const std::string prefix = whole.filename().string() + ".step";
  const std::string suffix = absl::StrCat(".rank", rank);
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  std::map<uint64_t, fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    absl::string_view rest = name;
    uint64_t of = 0;
    if (absl::ConsumePrefix(&rest, prefix) && absl::ConsumeSuffix(&rest, suffix) &&
        absl::SimpleAtoi(rest, &of))
      files[of] = it->path();
  }
  return files;
}

// What is not sent yet of gradients of which this plan sends everything goes on into later files, for a plan that has a
// place for it again: as ranks have saved it, or all have the mean.
void KeepUnsent(const TensorFile &file, const OwnStates &states, UnplacedStates *kept) {
  for (const auto &[name, tensor] : file.tensors)
    if (states.IsUnsentOfOthers(name)) (*kept)[name] = {tensor.type, {tensor.data.begin(), tensor.data.end()}};
}

// `sums`: of the files so far.
absl::Status AddUnsent(const TensorFile &file, const OwnStates &states, UnplacedStates *kept,
                       std::map<std::string, std::vector<double>> *sums) {
  for (const auto &[name, tensor] : file.tensors) {
    if (!states.IsUnsentOfOthers(name) || !ops::IsFloat(tensor.type.element)) continue;
    const std::vector<double> values = ElementsOf(tensor);
    auto [sum, is_first] = sums->try_emplace(name, values.size());
    if (is_first) (*kept)[name] = {tensor.type, std::vector<std::byte>(tensor.data.size())};
    if (absl::StatusOr<const StoredTensor *> same = file.Find(name, (*kept)[name].type); !same.ok()) return same.status();
    for (size_t e = 0; e < values.size(); ++e) sum->second[e] += values[e];
  }
  return absl::OkStatus();
}

// Sets slots of the ranks here to the mean of what all ranks have saved, of whose files one at a time is read. `unplaced`, if given:
// what is not sent yet of other gradients, the same.
absl::Status SetToMeans(Session *session, const std::string &path, uint64_t step, int saved_ranks, const std::string &job,
                        const std::vector<uint32_t> &slots, bool complete, UnplacedStates *unplaced) {
  const Program &program = session->program();
  const OwnStates states(program);
  std::map<std::string, std::vector<double>> unsent;
  std::vector<std::vector<double>> sums;
  std::vector<bool> missing(slots.size());
  for (uint32_t s : slots) sums.emplace_back(size_t(program.slots[s].type.elements));
  for (int rank = 0; rank < saved_ranks; ++rank) {
    auto file = Read(RankStatePath(path, step, rank), step, rank, saved_ranks, job);
    if (!file.ok()) return file.status();
    if (unplaced != nullptr)
      if (absl::Status s = AddUnsent(*file, states, unplaced, &unsent); !s.ok()) return s;
    for (size_t i = 0; i < slots.size(); ++i) {
      // Integers have no mean, and may say something of the number of ranks: they begin at zero.
      if (!ops::IsFloat(program.slots[slots[i]].type.element)) continue;
      auto own = states.ValueIn(*file, program.slots[slots[i]], complete);
      if (!own.ok()) return own.status();
      missing[i] = missing[i] || !own->has_value();
      for (size_t e = 0; e < sums[i].size() && !missing[i]; ++e) sums[i][e] += (**own)[e];
    }
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (missing[i]) continue;
    const TensorInfo &type = program.slots[slots[i]].type;
    std::vector<std::byte> value(type.bytes);
    for (double &element : sums[i]) element /= saved_ranks;
    if (ops::IsFloat(type.element)) StoreElements(type.element, sums[i], value.data());
    for (size_t r = 0; r < session->local_ranks(); ++r)
      if (absl::Status s = session->executor(r).SetSlot(slots[i], value); !s.ok()) return s;
  }
  for (auto &[name, sum] : unsent) {
    for (double &element : sum) element /= saved_ranks;
    UnplacedState &state = (*unplaced)[name];
    StoreElements(state.type.element, sum, state.value.data());
  }
  return absl::OkStatus();
}

// What a rank has saved, for itself.
absl::Status LoadOwn(RankExecutor &executor, const TensorFile &file, const std::vector<uint32_t> &slots,
                     const OwnStates &states, bool complete) {
  for (uint32_t s : slots) {
    const SlotInfo &slot = executor.program().slots[s];
    absl::Status set;
    if (states.IsAsSaved(file, slot)) {
      auto tensor = file.Find(slot.name, slot.type);
      if (!tensor.ok()) return tensor.status();
      set = executor.SetSlot(s, (*tensor)->data);
    } else {
      auto own = states.ValueIn(file, slot, complete);
      if (!own.ok()) return own.status();
      if (!own->has_value()) continue;
      std::vector<std::byte> value(slot.type.bytes);
      StoreElements(slot.type.element, **own, value.data());
      set = executor.SetSlot(s, value);
    }
    if (!set.ok()) return set;
  }
  return absl::OkStatus();
}

}  // namespace

bool IsOfJob(const TensorFile &file, const std::string &job) {
  auto own = file.metadata.find("job");
  return job.empty() || own == file.metadata.end() || own->second == job;
}

bool HasRankState(const Session &session) {
  for (size_t r = 0; r < session.local_ranks(); ++r)
    if (!SlotsOf(session.executor(r).program()).empty()) return true;
  return false;
}

std::string RankStatePath(const std::string &path, uint64_t step, int rank) {
  return absl::StrCat(path, ".step", step, ".rank", rank);
}

absl::Status SaveRankState(Session *session, const std::string &path, uint64_t step) {
  if (!HasRankState(*session)) return absl::OkStatus();
  for (size_t r = 0; r < session->local_ranks(); ++r) {
    RankExecutor &executor = session->executor(r);
    const std::vector<uint32_t> slots = SlotsOf(executor.program());
    std::vector<std::vector<std::byte>> values;
    std::vector<TensorToWrite> tensors;
    values.reserve(slots.size());
    for (uint32_t s : slots) {
      const SlotInfo &slot = executor.program().slots[s];
      std::vector<std::byte> &value = values.emplace_back(slot.type.bytes);
      if (absl::Status status = executor.GetSlot(s, absl::MakeSpan(value)); !status.ok())
        return status;
      tensors.push_back({slot.name, slot.type, value});
    }
    if (!session->unplaced_states().empty())
      for (const auto &[name, state] : session->unplaced_states()[r]) tensors.push_back({name, state.type, state.value});
    int rank = executor.program().rank;
    if (absl::Status s = WriteSealed(
            RankStatePath(path, step, rank), tensors,
            {{"format", kRankStateFormat},
             {"job", absl::StrCat(session->job())},
             {"step", absl::StrCat(step)},
             {"rank", absl::StrCat(rank)},
             {"ranks", absl::StrCat(executor.program().nodes)}});
        !s.ok())
      return s;
  }
  return absl::OkStatus();
}

void RemoveOldRankState(Session *session, const std::string &path, uint64_t step,
                        std::optional<uint64_t> before) {
  for (size_t r = 0; r < session->local_ranks(); ++r) {
    const auto files = FilesOf(path, session->executor(r).program().rank);
    uint64_t kept = before.value_or(0);
    if (!before)
      for (const auto &[of, file] : files)
        if (of < step) kept = of;
    std::error_code error;
    for (const auto &[of, file] : files)
      if (of != step && of != kept && (before || of < step)) fs::remove(file, error);
  }
}

void RemoveLaterRankState(Session *session, const std::string &path, uint64_t step) {
  std::error_code error;
  for (size_t r = 0; r < session->local_ranks(); ++r)
    for (const auto &[of, file] : FilesOf(path, session->executor(r).program().rank))
      if (of > step) fs::remove(file, error);
}

absl::Status LoadRankState(Session *session, const std::string &path, uint64_t step,
                           int saved_ranks, bool complete, const std::string &job) {
  if (!HasRankState(*session)) return absl::OkStatus();
  const Program &program = session->program();
  const bool as_many = saved_ranks == program.nodes;
  std::error_code error;
  // Processes may have the file of their own rank only.
  if (!complete && !fs::exists(RankStatePath(path, step, as_many ? program.rank : 0), error)) return absl::OkStatus();
  std::vector<uint32_t> of_all = SlotsOf(program);
  session->unplaced_states().assign(session->local_ranks(), {});
  for (size_t r = 0; r < session->local_ranks() && as_many; ++r) {
    RankExecutor &executor = session->executor(r);
    const int rank = executor.program().rank;
    auto file = Read(RankStatePath(path, step, rank), step, rank, saved_ranks, job);
    if (!file.ok()) return file.status();
    const OwnStates states(executor.program());
    KeepUnsent(*file, states, &session->unplaced_states()[r]);
    std::vector<uint32_t> own;
    of_all.clear();
    for (uint32_t s : SlotsOf(executor.program()))
      (states.IsMeanOfAll(*file, executor.program().slots[s]) ? of_all : own).push_back(s);
    if (absl::Status s = LoadOwn(executor, *file, own, states, complete); !s.ok()) return s;
  }
  if (of_all.empty()) return absl::OkStatus();
  UnplacedStates means;
  if (absl::Status s = SetToMeans(session, path, step, saved_ranks, job, of_all, complete, as_many ? nullptr : &means); !s.ok()) return s;
  if (!as_many) session->unplaced_states().assign(session->local_ranks(), means);
  return absl::OkStatus();
}

}  // namespace commsched::runtime
