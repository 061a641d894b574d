// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/plan_tuner.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "runtime/base/files.h"
#include "runtime/core/plan_trials.h"

namespace commsched::runtime {
namespace {

struct Candidate {
  std::string name, path;
  uint64_t digest = 0;
};

std::string NameOf(absl::string_view path) {
  if (size_t slash = path.rfind('/'); slash != path.npos) path.remove_prefix(slash + 1);
  absl::ConsumeSuffix(&path, ".plan");
  return std::string(path);
}

absl::StatusOr<std::string> Read(const std::string &path) {
  absl::StatusOr<std::string> bytes = ReadWhole(path);
  if (bytes.ok()) return bytes;
  return absl::Status(bytes.status().code(), absl::StrCat("cannot read plan '", path, "': ", bytes.status().message()));
}

// Called by the thread of rank 0 that leads.
class Tuner {
 public:
  explicit Tuner(std::vector<Candidate> plans) : plans_(std::move(plans)), trials_(plans_.size()) {}

  absl::StatusOr<std::string> Plan(const Measurements &measured) {
    const size_t running = IndexOf(measured.running);
    if (running == plans_.size())
      return absl::FailedPreconditionError("the plan that runs is none of those to try");
    if (began_ == Clock::time_point()) {
      began_ = Clock::now();
      first_steps_ = measured.steps;
    }
    if (asked_for_ && *asked_for_ != running) trials_.Refused(*asked_for_, running);
    asked_for_.reset();
    // The last turn has gone on until the plan changed.
    if (const size_t before = IndexOf(measured.before); before != plans_.size() && measured.before_ns > 0)
      trials_.MeasuredLonger(before, measured.before_ns, measured.before_error_ns);
    if (measured.step_ns > 0)
      trials_.Measured(running, measured.step_ns, measured.step_error_ns);
    next_ = trials_.Next();
    const size_t plan = next_.value_or(trials_.Kept());
    if (plan == running)
      return absl::AlreadyExistsError(absl::StrCat(plans_[plan].name, next_ ? " is tried once more" : " is kept"));
    asked_for_ = plan;
    return Read(plans_[plan].path);
  }

  // Of the plan that was asked for last, if it is not tried again.
  std::string Name() const { return asked_for_ ? plans_[*asked_for_].name : ""; }

  std::optional<std::string> Kept(uint64_t digest, uint64_t steps) {
    if (began_ == Clock::time_point() || next_ || IndexOf(digest) != trials_.Kept()) return std::nullopt;
    const int64_t kept_ns = trials_.StepNs(trials_.Kept());
    // Until the first trial was over there was no change.
    const int64_t took = std::chrono::nanoseconds(Clock::now() - began_).count();
    const double lost = double(took) - double(steps - first_steps_) * double(kept_ns) +
                        double(first_steps_) * double(trials_.StepNs(0) - kept_ns);
    std::string text = "ms of a step:";
    for (size_t plan = 0; plan < plans_.size(); ++plan)
      absl::StrAppend(&text, plan == 0 ? " " : ", ", plans_[plan].name, " ",
                      trials_.refused(plan) ? "refused" : absl::StrFormat("%.4g", double(trials_.StepNs(plan)) / 1e6));
    return absl::StrFormat("%s; %s is kept after %d steps, in which trials cost %.3g s", text,
                           plans_[trials_.Kept()].name, steps, std::max(0.0, lost) / 1e9);
  }

 private:
  size_t IndexOf(uint64_t digest) const {
    for (size_t plan = 0; plan < plans_.size(); ++plan)
      if (plans_[plan].digest == digest) return plan;
    return plans_.size();
  }

  std::vector<Candidate> plans_;
  core::PlanTrials trials_;
  std::optional<size_t> asked_for_, next_;
  Clock::time_point began_;
  uint64_t first_steps_ = 0;
};

}  // namespace

absl::StatusOr<ReplanOptions> TunePlans(const PlanTunerOptions &options) {
  std::vector<Candidate> plans;
  for (const std::string &path : options.plans) {
    absl::StatusOr<std::string> bytes = Read(path);
    if (!bytes.ok()) return bytes.status();
    auto image = PlanImage::Load(*bytes);
    if (!image.ok())
      return absl::Status(image.status().code(),
                          absl::StrCat("'", path, "': ", image.status().message()));
    bool is_new = true;
    for (const Candidate &other : plans) is_new &= other.digest != (*image)->digest();
    if (is_new) plans.push_back({NameOf(path), path, (*image)->digest()});
  }
  auto tuner = std::make_shared<Tuner>(std::move(plans));
  ReplanOptions replan;
  replan.plan = [tuner](const Measurements &measured, const std::atomic<bool> &) {
    return tuner->Plan(measured);
  };
  replan.name = [tuner] { return tuner->Name(); };
  replan.kept = [tuner](uint64_t running, uint64_t steps) { return tuner->Kept(running, steps); };
  replan.most_failures += int(options.plans.size());  // any may be refused
  replan.every = 1;                                   // as soon as the window is full
  replan.measures_costs = false;
  replan.keeps_replaced = true;
  replan.window = options.steps != 0 ? options.steps : PlanTunerOptions::kMostSteps;
  replan.least = options.steps != 0 ? 0 : PlanTunerOptions::kLeastSteps;
  return replan;
}

}  // namespace commsched::runtime
