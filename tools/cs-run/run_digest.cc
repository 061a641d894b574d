// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/run_digest.h"

#include <zlib.h>

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "plan/fnv1a.h"
#include "runtime/core/trainers.h"
#include "runtime/data/tensor_file.h"
#include "runtime/session/checkpoint.h"

namespace commsched::run {
namespace {

// What is compared, as lines of text.
class Facts {
 public:
  template <typename... Words>
  void Add(const Words &...words) {
    absl::StrAppend(&text_, words..., "\n");
  }
  // With the values, or only what they are.
  absl::Status AddFile(absl::string_view what, const std::string &path, bool values) {
    if (path.empty()) return absl::OkStatus();
    auto file = runtime::ReadTensorFile(path);
    if (!file.ok()) return file.status();
    for (const auto &[name, tensor] : file->tensors)
      Add(what, " ", name, " ", ToString(tensor.type), " ",
          values ? crc32_z(0, reinterpret_cast<const Bytef *>(tensor.data.data()),
                           tensor.data.size())
                 : 0);
    if (auto step = file->metadata.find("step"); values && step != file->metadata.end())
      Add(what, " after ", step->second);
    return absl::OkStatus();
  }
  uint64_t digest() const { return fnv1a(text_); }

 private:
  std::string text_;
};

bool HasRankState(const runtime::PlanImage &image) {
  return std::any_of(image.values().begin(), image.values().end(),
                     [](const runtime::ValueInfo &value) { return value.per_rank; });
}

std::string ResumedFile(const Options &options) {
  return options.resume.empty() ? "" : runtime::WholeCheckpoint(options.resume);
}

}  // namespace

absl::StatusOr<uint64_t> RunDigest(const Options &options, const runtime::PlanImage &image) {
  if (options.rank < 0 || options.spawned || !options.calibrate.empty()) return 0;
  Facts facts;
  if (absl::Status s = facts.AddFile("batch", options.batch, false); !s.ok()) return s;
  if (options.shuffle) facts.Add("shuffle ", options.seed);
  if (options.has_servers()) return facts.digest();
  if (absl::Status s = facts.AddFile("init", options.init, true); !s.ok()) return s;
  if (absl::Status s = facts.AddFile("resume", ResumedFile(options), true); !s.ok()) return s;
  if (absl::Status s = facts.AddFile("eval", options.eval_batch, false); !s.ok()) return s;
  facts.Add("eval ", options.eval, " every ", options.eval_every);
  for (const std::string &name : options.calls) facts.Add("call ", name);
  if (options.steps) facts.Add("steps ", *options.steps);
  if (options.epochs) facts.Add("epochs ", *options.epochs);
  if (HasRankState(image))
    facts.Add("checkpoint ", !options.checkpoint.empty(), " every ", options.checkpoint_every);
  return facts.digest();
}

bool HasOtherData(const absl::Status &refused) {
  return refused.code() == runtime::core::Trainers::kOtherRun;
}

absl::Status WithWhatMustMatch(const absl::Status &status) {
  // Other things that do not fit have nothing to do with it.
  const bool other_plan =
      absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), "plan digest must match");
  if (!other_plan && !HasOtherData(status)) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(),
                   "; all ranks need the same plan, initial values, shapes "
                   "of the data, --shuffle and --seed, and number of steps and calls"));
}

}  // namespace commsched::run
