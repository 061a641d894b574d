// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What rank 0 does for a new plan, besides what all ranks do.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "runtime/replanning/replacement.h"
#include "runtime/replanning/replanner.h"

namespace commsched::runtime {
namespace {

// Of an answer that a rank gives as soon as it is asked.
constexpr absl::Duration kAnswer = absl::Seconds(10);

absl::Status OfRank(int rank, absl::StatusCode code, absl::string_view what) {
  return absl::Status(code, absl::StrCat("rank ", rank, ": ", what));
}

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

}  // namespace

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
      ControlMessage forget;
      forget.kind = ControlMessage::kForget;
      forget.attempt = attempt;
      forget.payload = std::string(status.message());
      ToAll(forget);
      Drop();
    }
    // A plan that turned out to be the same one is none that failed.
    const bool same = status.code() == absl::StatusCode::kAlreadyExists;
    failures = status.ok() || same ? 0 : failures + 1;
    const bool switched = status.ok() && AwaitSwitch();
    if (stopped_) return;
    if (switched) continue;
    {
      MutexLock lock(&mu_);
      clock_.Restart();
    }
    event.kind = same ? ReplanEvent::kUnchanged : ReplanEvent::kGivenUp;
    event.text = absl::StrCat(
        "going on with the old plan: ", status.message(),
        failures == settings_.options.most_failures
            ? absl::StrCat("; this was attempt ", failures,
                           " in a row, there will be no more")
            : "");
    Tell(event);
  }
}

absl::Status Replanner::Attempt(uint64_t attempt) {
  absl::StatusOr<Measurements> measured = Collect(attempt);
  if (!measured.ok()) return measured.status();
  const Clock::time_point begin = Clock::now();
  absl::StatusOr<std::string> plan = settings_.options.plan(*measured, stopped_);
  if (!plan.ok()) return plan.status();
  const Clock::duration planned = Clock::now() - begin;
  // What is wrong with it is found here before others are bothered.
  absl::StatusOr<std::shared_ptr<const PlanImage>> image = PlanImage::Load(*plan);
  if (!image.ok())
    return absl::Status(image.status().code(),
                        absl::StrCat("the new plan: ", image.status().message()));
  const std::shared_ptr<const PlanImage> now = Running();
  const uint64_t digest = (*image)->digest();
  if (digest == now->digest())
    return absl::AlreadyExistsError("the new plan is the same one");
  if (absl::Status s = CheckReplacement(*now, **image); !s.ok()) return s;
  image->reset();
  if (absl::Status s = Distribute(attempt, *plan, digest); !s.ok()) return s;
  absl::StatusOr<uint64_t> call = Agree(attempt);
  if (!call.ok()) return call.status();
  // From here on there is no way back: all ranks will run the new plan.
  ControlMessage decision;
  decision.kind = ControlMessage::kSwitch;
  decision.attempt = attempt;
  decision.value = *call;
  ToAll(decision);
  ReplanEvent event;
  event.kind = ReplanEvent::kDecided;
  event.attempt = attempt;
  event.call = *call;
  event.digest = digest;
  event.planned = absl::FromChrono(planned);
  event.text = absl::StrFormat("plan %016x, made in %.2f s, begins with call %d", digest,
                               absl::ToDoubleSeconds(event.planned), *call);
  Tell(std::move(event));
  Decide(*call);
  return absl::OkStatus();
}

absl::StatusOr<ControlMessage> Replanner::From(int peer, uint32_t kind,
                                               uint64_t attempt,
                                               Clock::time_point deadline) {
  while (true) {
    absl::StatusOr<ControlMessage> message = control_->Receive(peer, deadline);
    if (!message.ok()) return message.status();
    // Answers to attempts that were given up may still come.
    if (message->attempt < attempt) continue;
    if (message->attempt == attempt && message->kind == kind) return message;
    return OfRank(peer, absl::StatusCode::kDataLoss,
                  absl::StrCat("answer must be of kind ", kind, ", got: ",
                               message->kind));
  }
}

void Replanner::ToAll(const ControlMessage &message) {
  for (int peer : others_) control_->Send(peer, message);
}

absl::StatusOr<Measurements> Replanner::Collect(uint64_t attempt) {
  ControlMessage question;
  question.kind = ControlMessage::kMeasure;
  question.attempt = attempt;
  ToAll(question);
  Measurements measured;
  measured.attempt = attempt;
  absl::StatusOr<std::string> own = Profile();
  if (!own.ok()) return own.status();
  std::vector<std::string> profiles = {*std::move(own)};
  std::vector<LinkObserver::Link> links = Links();
  const Clock::time_point deadline = After(kAnswer);
  for (int peer : others_) {
    auto profile = From(peer, ControlMessage::kMeasured, attempt, deadline);
    if (!profile.ok()) return profile.status();
    auto seen = From(peer, ControlMessage::kLinks, attempt, deadline);
    if (!seen.ok()) return seen.status();
    if (profile->value != 0)
      return OfRank(peer, absl::StatusCode::kFailedPrecondition, profile->payload);
    profiles.push_back(std::move(profile->payload));
    for (const LinkObserver::Link &link : ReadLinks(seen->payload))
      links.push_back(link);
  }
  absl::StatusOr<std::string> merged = MergeProfileTexts(profiles);
  if (!merged.ok()) return merged.status();
  measured.profile = *std::move(merged);
  MutexLock lock(&mu_);
  const Rank &first = settings_.ranks.front();
  measured.calibration = CalibrationJson(
      running_->image->plan().module_name(),
      first.lanes != nullptr ? running_->lanes.front()->name() : "none",
      running_->image->nodes(), links);
  return measured;
}

absl::Status Replanner::Distribute(uint64_t attempt, const std::string &plan,
                                   uint64_t digest) {
  ControlMessage message;
  message.kind = ControlMessage::kPrepare;
  message.attempt = attempt;
  message.value = digest;
  message.payload = plan;
  const Clock::time_point deadline = After(settings_.options.prepare_deadline);
  ToAll(message);
  message.payload.clear();
  if (absl::Status s = PrepareHere(attempt, plan, digest); !s.ok())
    return OfRank(0, s.code(), s.message());
  for (int peer : others_) {
    auto answer = From(peer, ControlMessage::kPrepared, attempt, deadline);
    if (!answer.ok()) return answer.status();
    if (!answer->payload.empty())
      return OfRank(peer, absl::StatusCode::kFailedPrecondition, answer->payload);
    if (answer->value != digest)
      return OfRank(peer, absl::StatusCode::kDataLoss,
                    absl::StrFormat("digest of the plan must match %016x, got: %016x",
                                    digest, answer->value));
  }
  return absl::OkStatus();
}

// No rank has made, or will make before it hears of it, the call that is the last
// that any of them waits before.
absl::StatusOr<uint64_t> Replanner::Agree(uint64_t attempt) {
  ControlMessage question;
  question.kind = ControlMessage::kHold;
  question.attempt = attempt;
  ToAll(question);
  uint64_t call = Hold();
  const Clock::time_point deadline =
      After(std::min(kAnswer, settings_.deadline / 2));
  for (int peer : others_) {
    auto answer = From(peer, ControlMessage::kHolding, attempt, deadline);
    if (!answer.ok()) return answer.status();
    call = std::max(call, answer->value);
  }
  return call;
}

}  // namespace commsched::runtime
