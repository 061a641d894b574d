// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/replanner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status_util.h"
#include "runtime/execute/memory_needs.h"
#include "runtime/replanning/replacement.h"

namespace commsched::runtime {
namespace {

// A rank says how far it goes without hearing more: so far that it hears in time,
// but not much farther, since the others wait as long with the new plan.
constexpr uint64_t kAheadAtFirst = 4, kMostAhead = 1000;

// A step that takes as long is queued in time when the one before it is all that is under way.
constexpr int64_t kLongStepNs = 200'000'000;

std::string HexOf(uint64_t digest) { return absl::StrFormat("%016x", digest); }

}  // namespace

void Generation::SetLive(bool live) {
  for (TransportLanes::Lane *lane : lanes)
    if (lane != nullptr) lane->SetLive(live);
  for (ParameterLanes::Lane *lane : server_lanes)
    if (lane != nullptr) lane->SetLive(live);
}

Replanner::Replanner(Settings settings)
    : settings_(std::move(settings)),
      leads_(settings_.ranks.front().rank == 0),
      clock_(settings_.options.every, settings_.options.when_off_percent,
             settings_.options.window, settings_.options.least),
      trying_(settings_.options.keeps_replaced) {
  const Rank &first = settings_.ranks.front();
  if (first.lanes != nullptr && settings_.ranks.size() == 1)
    control_ = std::make_unique<ControlChannel>(first.lanes);
}

Replanner::~Replanner() {
  Stop();
  if (thread_.joinable()) thread_.join();
  if (reaper_.joinable()) reaper_.join();
  MutexLock lock(&mu_);
  prepared_.reset();
  replaced_.reset();
}

void Replanner::Stop() {
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    changed_.SignalAll();
  }
  if (control_ != nullptr) control_->Stop();
}

absl::StatusOr<Generation> Replanner::Make(uint32_t number,
                                           std::shared_ptr<const PlanImage> image) {
  Generation made;
  made.number = number;
  made.image = std::move(image);
  const bool measures = settings_.options.measures_costs;
  if (measures) made.profile = std::make_unique<ProfileRecorder>(settings_.options.window);
  std::vector<std::shared_ptr<const Program>> programs;
  std::vector<HostMemoryNeeds> needs;
  for (const Rank &rank : settings_.ranks) {
    absl::StatusOr<std::shared_ptr<const Program>> program = made.image->ForRank(rank.rank);
    if (!program.ok()) return program.status();
    needs.push_back(HostMemoryNeedsOf(**program));
    programs.push_back(*std::move(program));
  }
  if (!settings_.emulate)  // what is emulated is not all touched
    if (absl::Status s = CheckMemory(needs, AvailableMemory()); !s.ok()) return s;
  for (const Rank &rank : settings_.ranks) {
    if (measures)
      made.links.push_back(std::make_unique<LinkObserver>(
          rank.rank, made.image->nodes(), settings_.options.window));
    ExecutorOptions options;
    options.trace = settings_.trace;
    options.deadline = settings_.deadline;
    options.emulate = settings_.emulate;
    options.profile = made.profile.get();
    options.links = measures ? made.links.back().get() : nullptr;
    options.completed = settings_.completed;
    options.number = made.lanes.size();
    if (options.number == 0) options.on_completed = settings_.on_completed;
    made.lanes.push_back(nullptr);
    if (rank.lanes != nullptr) {
      options.failures = std::make_shared<PeerFailureRelay>();
      auto lane = rank.lanes->Open(number, options.failures);
      made.lanes.back() = lane.get();
      options.transport = std::move(lane);
    }
    made.server_lanes.push_back(nullptr);
    if (rank.servers != nullptr) {
      auto lane = rank.servers->Open(made.image->servers().order);
      made.server_lanes.back() = lane.get();
      options.servers = std::move(lane);
    }
    absl::StatusOr<std::unique_ptr<Executor>> executor =
        Executor::Create(std::move(programs[made.executors.size()]), std::move(options));
    if (!executor.ok()) return executor.status();
    made.executors.push_back(*std::move(executor));
  }
  return made;
}

void Replanner::Start(const Generation *generation) {
  {
    MutexLock lock(&mu_);
    running_ = generation;
  }
  const int nodes = generation->image->nodes();
  if (control_ != nullptr)
    for (int r = leads_ ? 1 : 0; r < (leads_ ? nodes : 1); ++r) others_.push_back(r);
  std::set<int> answering(others_.begin(), others_.end());
  answering.insert(0);
  leader_ = core::PlanChangeLeader(std::move(answering));
  thread_ = std::thread([this] { Run(); });
}

void Replanner::Tell(ReplanEvent event) {
  MutexLock lock(&tell_mu_);
  if (settings_.options.on_event) settings_.options.on_event(event);
}

// ---- the thread that calls ------------------------------------------------

uint64_t Replanner::MostUnderWay() const {
  MutexLock lock(&mu_);
  return trying_ && KnownStepNs() >= kLongStepNs ? 1 : 0;
}

absl::StatusOr<std::unique_ptr<Generation>> Replanner::Before(
    uint64_t call, bool is_step, absl::Span<const int64_t> step_ns,
    const std::function<absl::Status()> &check) {
  const Clock::time_point begin = Clock::now();
  const Clock::time_point deadline = After(settings_.deadline);
  MutexLock lock(&mu_);
  while (change_.At(call) == core::PlanChange::Turn::kWait && !stopped_) {
    changed_.WaitUntil(&mu_, std::min(deadline, After(absl::Milliseconds(50))));
    mu_.Unlock();
    absl::Status status = check();
    mu_.Lock();
    if (!status.ok()) return status;
    if (Clock::now() > deadline && change_.At(call) == core::PlanChange::Turn::kWait)
      return absl::DeadlineExceededError(absl::StrCat(
          "rank 0 has not said within ", absl::FormatDuration(settings_.deadline),
          " with which call the new plan begins"));
  }
  held_ = absl::FromChrono(Clock::now() - begin);
  const core::PlanChange::Turn turn = change_.Next(call);
  steps_ += step_ns.size();
  if (turn == core::PlanChange::Turn::kNew) {
    for (int64_t ns : step_ns) clock_.Completed(ns);
    return std::move(prepared_);
  }
  if (turn == core::PlanChange::Turn::kMissed)
    return absl::InternalError(
        absl::StrCat("the new plan was to begin before call ", call));
  std::optional<int64_t> last;
  for (int64_t ns : step_ns) {
    if (last) clock_.Completed(last);
    last = ns;
  }
  if (!is_step) {
    clock_.Completed(last);
    return nullptr;
  }
  std::optional<std::string> why = clock_.Step(last);
  if (leads_ && why) {
    wanted_ = true;
    why_ = *std::move(why);
    changed_.SignalAll();
  }
  return nullptr;
}

void Replanner::Switched(const Generation *now, std::unique_ptr<Generation> old, uint64_t call,
                         absl::Span<const int64_t> step_ns, absl::Duration drained,
                         absl::Duration moved) {
  if (reaper_.joinable()) reaper_.join();
  ReplanEvent event;
  {
    MutexLock lock(&mu_);
    running_ = now;
    steps_ += step_ns.size();
    for (int64_t ns : step_ns) clock_.Completed(ns);
    before_ = {old->image->digest(), clock_.step_ns(), clock_.error_ns()};
    clock_.Restart();
    if (settings_.options.keeps_replaced) replaced_ = std::move(old);
    event.attempt = attempt_;
    event.held = held_;
    changed_.SignalAll();
  }
  // Nothing is under way in it; its threads, memory and code go.
  if (old != nullptr) reaper_ = std::thread([old = std::move(old)]() mutable { old.reset(); });
  event.kind = ReplanEvent::kSwitched;
  event.call = call;
  event.digest = now->image->digest();
  event.drained = drained;
  event.moved = moved;
  event.text = absl::StrFormat(
      "plan %s runs from call %d on: waited %.1f ms to hear of it, %.1f ms for the "
      "calls before, moved values in %.1f ms",
      HexOf(event.digest), call, absl::ToDoubleMilliseconds(event.held),
      absl::ToDoubleMilliseconds(drained), absl::ToDoubleMilliseconds(moved));
  const uint64_t attempt = event.attempt;
  Tell(std::move(event));
  MutexLock lock(&mu_);
  told_ = attempt;
  changed_.SignalAll();
}

// ---- what both kinds of ranks do ----------------------------------------

void Replanner::Run() { leads_ ? Lead() : Follow(); }

bool Replanner::Keeps(uint64_t digest) const {
  MutexLock lock(&mu_);
  return replaced_ != nullptr && replaced_->image->digest() == digest;
}

absl::Status Replanner::PrepareHere(uint64_t attempt, const std::string &plan,
                                    uint64_t digest) {
  if (plan.empty()) {
    MutexLock lock(&mu_);
    if (replaced_ == nullptr || replaced_->image->digest() != digest)
      return absl::FailedPreconditionError(absl::StrCat("there is no plan ", HexOf(digest), " that was replaced"));
    prepared_ = std::move(replaced_);
    return absl::OkStatus();
  }
  DropReplaced();  // two at most have memory
  // The same number on all ranks: that of the attempt.
  if (attempt >= TransportLanes::kControl)
    return absl::ResourceExhaustedError("the run has had too many plans");
  absl::StatusOr<std::shared_ptr<const PlanImage>> image = PlanImage::Load(plan);
  if (!image.ok()) return image.status();
  if ((*image)->digest() != digest)
    return absl::DataLossError(absl::StrCat("digest of the plan must match ",
                                            HexOf(digest), ", got: ",
                                            HexOf((*image)->digest())));
  if (absl::Status s = CheckReplacement(*Running(), **image); !s.ok()) return s;
  absl::StatusOr<Generation> made = Make(uint32_t(attempt), *std::move(image));
  if (!made.ok()) return made.status();
  if (!settings_.emulate)
    for (auto &executor : made->executors) executor->TouchMemory();
  MutexLock lock(&mu_);
  prepared_ = std::make_unique<Generation>(*std::move(made));
  return absl::OkStatus();
}

void Replanner::Drop() {
  std::unique_ptr<Generation> dropped;  // without the lock
  MutexLock lock(&mu_);
  if (!change_.Forget()) return;
  dropped = std::move(prepared_);
  changed_.SignalAll();
}

void Replanner::NoFurtherPlanHere() {
  DropReplaced();
  MutexLock lock(&mu_);
  trying_ = false;
}

void Replanner::DropReplaced() {
  std::unique_ptr<Generation> dropped;  // without the lock
  MutexLock lock(&mu_);
  dropped = std::move(replaced_);
}

std::shared_ptr<const PlanImage> Replanner::Running() const {
  MutexLock lock(&mu_);
  return running_->image;
}

int64_t Replanner::KnownStepNs() const {
  const int64_t now = clock_.step_ns();
  return now != 0 ? now : before_.step_ns;
}

uint64_t Replanner::Hold(uint64_t ahead_ns) {
  MutexLock lock(&mu_);
  const uint64_t step = uint64_t(KnownStepNs());
  // None for less than a quarter of a step: the next call is hardly made within it, and waits for little then.
  return change_.Hold(step == 0 ? kAheadAtFirst : std::min((ahead_ns + step * 3 / 4) / step, kMostAhead));
}

bool Replanner::AwaitSwitch() {
  MutexLock lock(&mu_);
  while (change_.decided() && !stopped_) changed_.Wait(&mu_);
  return !change_.decided();
}

absl::StatusOr<std::string> Replanner::Profile() const {
  MutexLock lock(&mu_);
  if (running_->profile == nullptr) return std::string();
  return running_->profile->ToJson();
}

std::string Replanner::StepTimes() const {
  MutexLock lock(&mu_);
  return absl::StrCat("step ", clock_.step_ns(), " ", clock_.error_ns(), "\nbefore ", before_.step_ns, " ",
                      before_.error_ns, "\n");
}

std::vector<LinkObserver::Link> Replanner::Links() const {
  MutexLock lock(&mu_);
  std::vector<LinkObserver::Link> links;
  for (const auto &observer : running_->links)
    for (const LinkObserver::Link &link : observer->Links()) links.push_back(link);
  return links;
}

// ---- ranks that follow ----------------------------------------------------

void Replanner::Follow() {
  while (!stopped_) {
    absl::StatusOr<ControlChannel::Received> received =
        control_->Receive(others_, Clock::time_point::max());
    // The run is over, or its transport will say what is wrong.
    if (!received.ok()) return;
    Answer(received->message);
  }
}

void Replanner::Answer(const ControlMessage &message) {
  ControlMessage answer;
  answer.attempt = message.attempt;
  switch (message.kind) {
    case ControlMessage::kMeasure: {
      absl::StatusOr<std::string> profile = Profile();
      answer.kind = ControlMessage::kMeasured;
      answer.refused = !profile.ok();
      if (!profile.ok()) {
        answer.payload = std::string(profile.status().message());
        break;
      }
      for (const LinkObserver::Link &link : Links())
        absl::StrAppend(&answer.payload, link.from, " ", link.to, " ",
                        link.bits_per_second, " ", link.fixed_ns, "\n");
      answer.payload += StepTimes();
      answer.value = answer.payload.size();
      absl::StrAppend(&answer.payload, *profile);
      break;
    }
    case ControlMessage::kPrepare: {
      if (!AwaitSwitch()) return;
      Drop();
      absl::Status status = PrepareHere(message.attempt, message.payload, message.value);
      answer.kind = ControlMessage::kPrepared;
      answer.value = message.value;
      answer.refused = !status.ok();
      answer.payload = std::string(status.message());
      MutexLock lock(&mu_);
      attempt_ = message.attempt;
      break;
    }
    case ControlMessage::kHold: {
      answer.kind = ControlMessage::kHolding;
      answer.value = Hold(message.value);
      break;
    }
    case ControlMessage::kSwitch: {
      MutexLock lock(&mu_);
      change_.Switch(message.value);
      return changed_.SignalAll();
    }
    case ControlMessage::kForget: {
      Drop();
      MutexLock lock(&mu_);
      return clock_.Restart();  // as that of rank 0: what runs is looked at afresh
    }
    case ControlMessage::kKept:
      return NoFurtherPlanHere();
    default:
      return;
  }
  control_->Send(0, std::move(answer));
}

}  // namespace commsched::runtime
