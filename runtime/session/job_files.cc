// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/job_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/files.h"
#include "runtime/data/sealed_file.h"

namespace commsched::runtime {
namespace {

namespace fs = std::filesystem;

constexpr char kTrainerFormat[] = "commsched-trainer-checkpoint-1";
constexpr absl::string_view kEnding = ".checkpoint";
// Servers are at most one cut apart, so one of these is of all.
constexpr size_t kKept = 4;

bool ReadNumber(absl::string_view text, uint64_t *number) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos &&
         absl::SimpleAtoi(text, number);
}

}  // namespace

absl::StatusOr<JobFiles> JobFiles::Of(const PlanImage &image, std::string folder) {
  auto trainer = image.ForRank(0);
  if (!trainer.ok()) return trainer.status();
  std::vector<int> holding;
  const std::vector<ServerProgram> &servers = image.servers().servers;
  for (size_t k = 0; k < servers.size(); ++k)
    if (!servers[k].blocks.empty()) holding.push_back(int(k));
  return JobFiles(std::move(folder), std::move(holding),
                  OwnValues(image, **trainer).empty() ? 0 : image.nodes());
}

std::string JobFiles::ServerPath(int server) const {
  return absl::StrCat(folder_, "/server.", server, kEnding);
}

std::string JobFiles::ServerPath(int server, uint64_t step) const {
  return absl::StrCat(folder_, "/server.", server, ".step", step, kEnding);
}

std::string JobFiles::RankPath(int rank, uint64_t step) const {
  return absl::StrCat(folder_, "/rank.", rank, ".step", step, kEnding);
}

std::vector<JobFiles::File> JobFiles::List() const {
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end;
       it.increment(error)) {
    File file;
    file.name = it->path().filename().string();
    absl::string_view rest = file.name;
    if (!absl::ConsumeSuffix(&rest, kEnding)) continue;
    file.of_server = absl::ConsumePrefix(&rest, "server.");
    if (!file.of_server && !absl::ConsumePrefix(&rest, "rank.")) continue;
    uint64_t index = 0, step = 0;
    const size_t dot = rest.find(".step");
    if (!ReadNumber(rest.substr(0, dot), &index) || index > 1 << 20) continue;
    file.index = int(index);
    if (dot != rest.npos) {
      if (!ReadNumber(rest.substr(dot + 5), &step)) continue;
      file.step = step;
    } else if (!file.of_server) {
      continue;
    }
    files.push_back(std::move(file));
  }
  return files;
}

bool JobFiles::any() const { return !List().empty(); }

bool JobFiles::any_of_server(int server) const {
  for (const File &file : List())
    if (file.of_server && file.index == server) return true;
  return false;
}

absl::Status JobFiles::CheckPlan(const PlanImage &image) const {
  const std::string digest = absl::StrCat(image.digest());
  for (const File &file : List()) {
    const auto read = ReadSafetensors(absl::StrCat(folder_, "/", file.name));
    if (!read.ok()) continue;
    auto plan = read->metadata.find("plan");
    if (plan == read->metadata.end() || plan->second == digest) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        read->path, ": is of another plan: digest must match ", digest, ", got: ", plan->second));
  }
  return absl::OkStatus();
}

std::optional<uint64_t> JobFiles::NewestWhole() const {
  std::map<uint64_t, std::set<std::pair<bool, int>>> have;
  for (const File &file : List())
    if (file.step && (file.of_server ? std::count(servers_.begin(), servers_.end(),
                                                  file.index) != 0
                                     : file.index < ranks_))
      have[*file.step].insert({file.of_server, file.index});
  std::optional<uint64_t> newest;
  for (const auto &[step, processes] : have)
    if (processes.size() == servers_.size() + size_t(ranks_)) newest = step;
  return newest;
}

JobFiles::Newest JobFiles::NewestOfServer(int server) const {
  std::optional<uint64_t> step;
  for (const File &file : List()) {
    if (!file.of_server || file.index != server) continue;
    if (!file.step) return {ServerPath(server)};
    step = std::max(step.value_or(0), *file.step);
  }
  return step ? Newest{ServerPath(server, *step), true} : Newest{ServerPath(server)};
}

absl::Status JobFiles::KeepCut(int server, uint64_t step) const {
  const std::string from = ServerPath(server), to = ServerPath(server, step);
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (!error) return absl::OkStatus();
  // It is there already, or of a file system that has no such names.
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = MappedFile::Open(from);
  if (!file.ok()) return file.status();
  return WriteFileAtomically(to, {(*file)->bytes()});
}

void JobFiles::RemoveOld(bool of_server, int index) const {
  std::optional<uint64_t> oldest = NewestWhole();
  std::vector<File> own;
  for (File &file : List())
    if (file.of_server == of_server && file.index == index && file.step)
      own.push_back(std::move(file));
  std::sort(own.begin(), own.end(),
            [](const File &a, const File &b) { return *a.step < *b.step; });
  if (!oldest && own.size() > kKept) {
    std::set<std::pair<bool, int>> seen;
    for (const File &file : List()) seen.insert({file.of_server, file.index});
    if (seen.size() == 1) oldest = own[own.size() - kKept].step;
  }
  std::error_code error;
  for (const File &file : own)
    if (oldest && *file.step < *oldest) fs::remove(fs::path(folder_) / file.name, error);
}

void JobFiles::RemoveOldOfServer(int server) const { RemoveOld(true, server); }
void JobFiles::RemoveOldOfRank(int rank) const { RemoveOld(false, rank); }

void JobFiles::RemoveUnlessOf(std::optional<uint64_t> step, const File &file) const {
  std::error_code error;
  if (!step || file.step != step) fs::remove(fs::path(folder_) / file.name, error);
}

void JobFiles::Begin(std::optional<uint64_t> step) const {
  for (const File &file : List()) RemoveUnlessOf(step, file);
}

void JobFiles::BeginOfServer(int server, std::optional<uint64_t> step) const {
  for (const File &file : List())
    if (file.of_server && file.index == server) RemoveUnlessOf(step, file);
}

void JobFiles::BeginOfRank(int rank, uint64_t step) const {
  for (const File &file : List())
    if (!file.of_server && file.index == rank) RemoveUnlessOf(step, file);
}

std::vector<uint32_t> OwnValues(const PlanImage &image, const Program &trainer) {
  std::set<uint32_t> used;
  for (const FunctionProgram &function : trainer.functions) {
    if (function.name == "init") continue;
    used.insert(function.read_slots.begin(), function.read_slots.end());
    used.insert(function.written_slots.begin(), function.written_slots.end());
  }
  std::vector<uint32_t> own;
  for (uint32_t v = 0; v < image.values().size(); ++v) {
    const ValueInfo &value = image.values()[v];
    if (value.is_param && IsHandedOut(image.servers(), value)) continue;
    // Parameters are saved at the end, whether a trainer reads them or not.
    if (!value.trainer.empty() &&
        (value.is_param || std::any_of(value.trainer.begin(), value.trainer.end(),
                                       [&](uint32_t slot) { return used.count(slot) != 0; })))
      own.push_back(v);
  }
  return own;
}

absl::Status SaveOwnValues(Session *session, const JobFiles &files, uint64_t step) {
  const Program &program = session->program();
  const std::vector<uint32_t> own = OwnValues(session->image(), program);
  if (own.empty()) return absl::OkStatus();
  std::vector<std::vector<std::byte>> bytes;
  std::vector<TensorToWrite> tensors;
  bytes.reserve(own.size());
  for (uint32_t v : own) {
    const ValueInfo &info = session->values()[v];
    std::vector<std::byte> &value = bytes.emplace_back(info.type.bytes);
    if (absl::Status s = session->GetValue(v, absl::MakeSpan(value)); !s.ok()) return s;
    tensors.push_back({info.name, info.type, value});
  }
  absl::Status written =
      WriteSealed(files.RankPath(program.rank, step), tensors,
                  {{"format", kTrainerFormat},
                   {"plan", absl::StrCat(session->digest())},
                   {"step", absl::StrCat(step)},
                   {"rank", absl::StrCat(program.rank)}});
  if (written.ok()) files.RemoveOldOfRank(program.rank);
  return written;
}

absl::Status LoadOwnValues(Session *session, const JobFiles &files, uint64_t step) {
  const Program &program = session->program();
  const std::vector<uint32_t> own = OwnValues(session->image(), program);
  if (own.empty()) return absl::OkStatus();
  auto file = ReadSealed(files.RankPath(program.rank, step),
                         {{"format", kTrainerFormat},
                          {"plan", absl::StrCat(session->digest())},
                          {"step", absl::StrCat(step)},
                          {"rank", absl::StrCat(program.rank)}});
  if (!file.ok()) return file.status();
  for (uint32_t v : own) {
    auto tensor = file->Find(session->values()[v].name, session->values()[v].type);
    if (!tensor.ok()) return tensor.status();
    if (absl::Status s = session->SetValue(v, (*tensor)->data); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace commsched::runtime
