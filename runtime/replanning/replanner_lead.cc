// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What rank 0 does for a new plan, besides what all ranks do.
#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "runtime/execute/memory_needs.h"
#include "runtime/replanning/replacement.h"
#include "runtime/replanning/replanner.h"

namespace commsched::runtime {
namespace {

// Of an answer that a rank gives as soon as it is asked.
constexpr absl::Duration kAnswer = absl::Seconds(10);
// That ranks go on for while they are asked how far they go, and told; less where an answer has been seen to come sooner.
constexpr int64_t kAheadNs = 50'000'000, kLeastAheadNs = 2'000'000, kAnswers = 4;

std::vector<LinkObserver::Link> ReadLinks(const std::string &text) {
  std::vector<LinkObserver::Link> links;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    LinkObserver::Link link;
    if (words.size() == 4 && absl::SimpleAtoi(words[0], &link.from) &&
        absl::SimpleAtoi(words[1], &link.to) &&
        absl::SimpleAtoi(words[2], &link.bits_per_second) &&
        absl::SimpleAtoi(words[3], &link.fixed_ns))
      links.push_back(link);
  }
  return links;
}

// The longest step of all counts.
void ReadStepTimes(const std::string &text, Measurements *measured) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    int64_t ns = 0, error = 0;
    if (words.size() != 3 || !absl::SimpleAtoi(words[1], &ns) || !absl::SimpleAtoi(words[2], &error)) continue;
    if (words[0] == "step" && ns > measured->step_ns) {
      measured->step_ns = ns;
      measured->step_error_ns = error;
    } else if (words[0] == "before" && ns > measured->before_ns) {
      measured->before_ns = ns;
      measured->before_error_ns = error;
    }
  }
}

}  // namespace

bool Replanner::ToldThatKept(uint64_t attempt) {
  if (!settings_.options.kept) return false;
  ReplanEvent event;
  event.digest = Running()->digest();
  uint64_t steps;
  {
    MutexLock lock(&mu_);
    steps = steps_;
  }
  std::optional<std::string> text = settings_.options.kept(event.digest, steps);
  if (!text) return false;
  NoFurtherPlan();
  event.kind = ReplanEvent::kKept;
  event.attempt = attempt;
  event.text = *std::move(text);
  Tell(std::move(event));
  return true;
}

void Replanner::Lead() {
  int failures = 0;
  for (uint64_t attempt = 1; failures < settings_.options.most_failures; ++attempt) {
    ReplanEvent event;
    {
      MutexLock lock(&mu_);
      while (!wanted_ && !stopped_) changed_.Wait(&mu_);
      if (stopped_) return;
      wanted_ = false;
      attempt_ = event.attempt = attempt;
      event.text = absl::StrCat("making a new plan: ", why_);
    }
    Tell(event);
    absl::Status status = Attempt(attempt);
    if (!status.ok()) {
      ToAll(leader_.Forget(), std::string(status.message()));
      Drop();
    }
    // A plan that turned out to be the same one is none that failed.
    const bool same = status.code() == absl::StatusCode::kAlreadyExists;
    failures = status.ok() || same ? 0 : failures + 1;
    const bool switched = status.ok() && AwaitSwitch();
    if (stopped_ || over_) return;  // a run that is over has no use for a plan
    if (switched) {
      // It is decided when the caller takes the plan; then it changes, and says so.
      {
        MutexLock lock(&mu_);
        while (told_ != attempt && !stopped_) changed_.Wait(&mu_);
      }
      if (stopped_ || ToldThatKept(attempt)) return;
      continue;
    }
    {
      MutexLock lock(&mu_);
      clock_.Restart();
    }
    const std::string name = same || !settings_.options.name ? "" : settings_.options.name();
    event.kind = same ? ReplanEvent::kUnchanged : ReplanEvent::kGivenUp;
    event.text = absl::StrCat(
        "going on with the old plan: ", name.empty() ? "" : name + ": ", status.message(),
        failures == settings_.options.most_failures
            ? absl::StrCat("; this was attempt ", failures,
                           " in a row, there will be no more")
            : "");
    Tell(event);
    if (ToldThatKept(attempt)) return;
  }
  NoFurtherPlan();
}

void Replanner::NoFurtherPlan() {
  ToAll({ControlMessage::kKept});
  NoFurtherPlanHere();
}

// What is wrong with it is found here before others are bothered.
absl::Status Replanner::CheckNew(const std::string &plan) const {
  absl::StatusOr<std::shared_ptr<const PlanImage>> image = PlanImage::Load(plan);
  if (!image.ok())
    return absl::Status(image.status().code(),
                        absl::StrCat("the new plan: ", image.status().message()));
  const std::shared_ptr<const PlanImage> now = Running();
  if ((*image)->digest() == now->digest())
    return absl::AlreadyExistsError("the new plan is the same one");
  if (absl::Status s = CheckReplacement(*now, **image); !s.ok()) return s;
  return settings_.options.one_host && !settings_.emulate ? CheckMemoryOfHost(**image) : absl::OkStatus();
}

// Each rank sees what is free before the others have taken theirs.
absl::Status Replanner::CheckMemoryOfHost(const PlanImage &next) const {
  auto needs = HostMemoryNeedsOf(next);
  if (!needs.ok()) return needs.status();
  uint64_t available = AvailableMemory();
  MutexLock lock(&mu_);
  if (replaced_ != nullptr) {  // goes before the next one is prepared
    auto freed = HostMemoryNeedsOf(*replaced_->image);
    if (!freed.ok()) return freed.status();
    for (const HostMemoryNeeds &rank : *freed) available += rank.all();
  }
  return CheckMemory(*needs, available);
}

absl::Status Replanner::Attempt(uint64_t attempt) {
  absl::StatusOr<Measurements> measured = Collect(attempt);
  if (!measured.ok()) return measured.status();
  const Clock::time_point begin = Clock::now();
  absl::StatusOr<std::string> plan = settings_.options.plan(*measured, stopped_);
  if (!plan.ok()) return plan.status();
  const Clock::duration planned = Clock::now() - begin;
  const uint64_t digest = PlanImage::DigestOf(*plan);
  if (Keeps(digest)) {
    plan->clear();
  } else if (absl::Status s = CheckNew(*plan); !s.ok()) {
    return s;
  }
  const Clock::time_point asked = Clock::now();
  if (absl::Status s = Distribute(attempt, *plan, digest); !s.ok()) return s;
  const int64_t ahead_ns = std::clamp(kAnswers * std::chrono::nanoseconds(Clock::now() - asked).count(), kLeastAheadNs, kAheadNs);
  if (absl::Status s = Agree(attempt, uint64_t(ahead_ns)); !s.ok()) return s;
  // From here on there is no way back: all ranks will run the new plan.
  const core::PlanMessage decision = leader_.Switch();
  ToAll(decision);
  ReplanEvent event;
  event.kind = ReplanEvent::kDecided;
  event.attempt = attempt;
  event.call = decision.value;
  event.digest = digest;
  event.planned = absl::FromChrono(planned);
  event.text = absl::StrFormat("plan %016x, made in %.2f s, begins with call %d", digest,
                               absl::ToDoubleSeconds(event.planned), event.call);
  Tell(std::move(event));
  MutexLock lock(&mu_);
  change_.Switch(decision.value);
  changed_.SignalAll();
  return absl::OkStatus();
}

void Replanner::ToAll(core::PlanMessage message, const std::string &payload) {
  for (int peer : others_) control_->Send(peer, {message, payload});
}

absl::StatusOr<std::map<int, ControlMessage>> Replanner::Answers(
    Clock::time_point deadline) {
  std::map<int, ControlMessage> answers;
  while (leader_.asks()) {
    auto received = control_->Receive(others_, deadline);
    if (absl::IsDeadlineExceeded(received.status())) return leader_.Late();
    if (!received.ok()) {
      over_ = absl::IsFailedPrecondition(received.status());  // a goodbye
      return received.status();
    }
    ControlMessage &message = received->message;
    if (absl::Status s = leader_.Take(received->peer, message, message.payload); !s.ok())
      return s;
    answers[received->peer] = std::move(message);
  }
  return answers;
}

absl::StatusOr<Measurements> Replanner::Collect(uint64_t attempt) {
  ToAll(leader_.Measure(attempt));
  Measurements measured;
  measured.attempt = attempt;
  absl::StatusOr<std::string> own = Profile();
  if (!own.ok()) return own.status();
  std::vector<std::string> profiles = {*std::move(own)};
  ReadStepTimes(StepTimes(), &measured);
  std::vector<LinkObserver::Link> links = Links();
  if (absl::Status s = leader_.Take(0, {ControlMessage::kMeasured, attempt}); !s.ok())
    return s;
  auto answers = Answers(After(kAnswer));
  if (!answers.ok()) return answers.status();
  for (auto &[peer, answer] : *answers) {
    if (answer.value > answer.payload.size())
      return absl::DataLossError(
          absl::StrCat("rank ", peer, " sends no measurements"));
    for (const LinkObserver::Link &link : ReadLinks(answer.payload.substr(0, answer.value)))
      links.push_back(link);
    ReadStepTimes(answer.payload.substr(0, answer.value), &measured);
    profiles.push_back(answer.payload.substr(answer.value));
  }
  if (settings_.options.measures_costs) {
    absl::StatusOr<std::string> merged = MergeProfileTexts(profiles);
    if (!merged.ok()) return merged.status();
    measured.profile = *std::move(merged);
  }
  MutexLock lock(&mu_);
  measured.running = running_->image->digest();
  measured.steps = steps_;
  measured.before = before_.digest;
  if (!settings_.options.measures_costs) return measured;
  const Rank &first = settings_.ranks.front();
  measured.calibration = CalibrationJson(
      running_->image->plan().module_name(),
      first.lanes != nullptr ? running_->lanes.front()->name() : "none",
      running_->image->nodes(), links);
  return measured;
}

absl::Status Replanner::Distribute(uint64_t attempt, const std::string &plan,
                                   uint64_t digest) {
  const Clock::time_point deadline = After(settings_.options.prepare_deadline);
  ToAll(leader_.Prepare(digest), plan);
  const absl::Status here = PrepareHere(attempt, plan, digest);
  if (absl::Status s = leader_.Take(
          0, {ControlMessage::kPrepared, attempt, digest, /*refused=*/!here.ok()},
          here.message());
      !s.ok())
    return s;
  return Answers(deadline).status();
}

absl::Status Replanner::Agree(uint64_t attempt, uint64_t ahead_ns) {
  ToAll(leader_.Hold(ahead_ns));
  if (absl::Status s = leader_.Take(0, {ControlMessage::kHolding, attempt, Hold(ahead_ns)});
      !s.ok())
    return s;
  return Answers(After(std::min(kAnswer, settings_.deadline / 2))).status();
}

}  // namespace commsched::runtime
