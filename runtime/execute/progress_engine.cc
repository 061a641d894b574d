// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/progress_engine.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"

namespace commsched::runtime {
namespace {

// Of a transport that does not wake anyone, between two looks.
constexpr Clock::duration kLongestPause = std::chrono::microseconds(100);
// How long it only yields where nothing computes. If one of several ranks pauses, the
// others wait for it, and pause too: then all are as slow as their pauses.
constexpr Clock::duration kIdleYielding = std::chrono::milliseconds(1);
constexpr size_t kSpareStaging = 8;
constexpr size_t kSpare = 64;
// Looks at such a transport between two looks at the clock, which cost as much as one.
constexpr unsigned kLooksBetweenTimes = 16;
// In how many looks it asks for short messages before their receives are posted; and of how
// many one is for all else then.
constexpr unsigned kLooksForShort = 32, kLooksForAll = 8;
// How often it yields while it looks, which costs as much as a short message does; and after
// how many looks in vain it does so first: what it waits for may be the work of another rank
// that the system has put on this processor, though there are others.
constexpr Clock::duration kBetweenYields = std::chrono::microseconds(20);
constexpr unsigned kLooksUntilYield = 64;

// The engine whose thread this is.
thread_local const ProgressEngine *own_engine = nullptr;

}  // namespace

ProgressEngine::ProgressEngine(int rank, Transport *transport,
                               ParameterClient *servers,
                               const ServersProgram *servers_of, Host *host,
                               TraceRecorder *trace, absl::Duration deadline,
                               LinkObserver *links)
    : rank_(rank),
      transport_(transport),
      servers_(servers),
      servers_of_(servers_of),
      host_(host),
      trace_(trace),
      observer_(links),
      deadline_(absl::ToChronoNanoseconds(
          std::min(deadline, absl::Hours(24 * 365)))),
      patience_(Time(std::chrono::nanoseconds(deadline_).count() / 30)),
      takes_now_(transport_ != nullptr ? transport_->takes_now() : 0),
      stall_(deadline_),
      backoff_(kLongestPause) {
  bool of_rows = false;
  if (servers_ != nullptr && servers_of_ != nullptr)
    for (const ServerProgram &server : servers_of_->servers)
      for (const BlockProgram &block : server.blocks) of_rows |= block.of_rows();
  if (of_rows) rows_ = std::make_unique<RowExchange>(servers_);
  thread_ = std::thread([this] { Loop(); });
}

ProgressEngine::~ProgressEngine() {
  {
    MutexLock lock(&mu_);
    stop_ = pushed_ = true;
  }
  changed_.SignalAll();
  thread_.join();
  rows_.reset();
}

void ProgressEngine::Push(Event event) {
  if (Timed()) event.at = Clock::now();
  if (own_engine == this) {
    own_events_.push_back(std::move(event));
    return;
  }
  {
    MutexLock lock(&mu_);
    events_.push_back(std::move(event));
    pushed_ = true;
  }
  changed_.Signal();
}

void ProgressEngine::Ended(Event::Kind kind, Active *active, absl::Status status) {
  Event event(kind);
  event.active = active;
  event.status = std::move(status);
  // The engine's own thread, in a call of the transport: no hand-over to itself.
  if (own_engine == this && !in_exchange_ && !failed_ && event.status.ok()) {
    if (Timed()) event.at = Clock::now();
    HandleExchange(event);
    moved_ = true;
    return;
  }
  Push(std::move(event));
}

void ProgressEngine::Start(const Request &request) {
  ++communications_;
  Event event(Event::kStart);
  event.request = request;
  Push(std::move(event));
}

void ProgressEngine::PeerFailed(int peer, const absl::Status &why) {
  Event event(Event::kPeerFailed);
  event.peer = peer;
  event.status = Unshared(why);
  Push(std::move(event));
}

void ProgressEngine::Loop() {
  // Pauses are shorter than the 50 us by which timers are late otherwise.
  prctl(PR_SET_TIMERSLACK, 1);
  own_engine = this;
  std::vector<Event> batch;
  const bool polls = transport_ != nullptr && transport_->polls();
  while (true) {
    batch.clear();
    batch.swap(own_events_);
    Clock::time_point until;  // to when it pauses
    bool due = false;
    // Who looks again and again needs no lock. What servers have is told.
    const bool looks = polls && !active_.empty();
    if (batch.empty() && looks && !failed_) {
      due = PollTransport(&until);
      batch.swap(own_events_);
    }
    if (pushed_ || (batch.empty() && !due && !moved_)) {
      MutexLock lock(&mu_);
      while (batch.empty() && events_.empty() && !stop_) {
        if (Oldest() == nullptr || failed_)
          changed_.Wait(&mu_);
        else if (changed_.WaitUntil(&mu_, looks ? until : WakeUp()) || looks)
          break;
      }
      if (stop_ && batch.empty() && events_.empty()) return;
      std::move(events_.begin(), events_.end(), std::back_inserter(batch));
      events_.clear();
      pushed_ = stop_;
    }
    if (failed_) {
      moved_ = false;
      continue;
    }
    const Clock::time_point now = Clock::now();
    if (const Clock::time_point ended = FromTime(message_ended_); ended > stall_.looked()) stall_.Progress(ended);
    if (batch.empty() && !moved_)
      CheckStall(now);
    else
      stall_.Progress(now);
    for (Event &event : batch) {
      Handle(event);
      if (failed_) break;
    }
    if (!failed_) HoldBack(ToTime(now));
    if (!failed_) Pump(ToTime(now));
  }
}

// Looks until something has come, or there is time for a pause, until `*until`. True if it is
// time to do something without an event.
bool ProgressEngine::PollTransport(Clock::time_point *until) {
  unsigned looks = 0;
  bool yielded = false;
  while (true) {
    ++looks;
    if (!waiting_.empty()) {
      if (TakeWaiting())
        backoff_.Found();
      else if (polls_ - waiting_since_ >= kLooksForShort)
        PostWaiting();
    }
    if (waiting_.empty() || polls_ % kLooksForAll == 0)
      if (!moved_ && transport_->Poll()) backoff_.Found();
    if (moved_ || Pushed()) {
      ++polls_;
      return false;
    }
    if (++polls_ % kLooksBetweenTimes != 0) continue;
    const Clock::time_point now = Clock::now();
    const Clock::duration pause =
        backoff_.Next(now, host_->Computing() ? Backoff::kYielding : kIdleYielding);
    const bool yield =
        now - yielded_ >= kBetweenYields || (!yielded && looks >= kLooksUntilYield);
    yielded |= yield;
    const bool pauses = pause != Clock::duration::zero();
    if (yield) yielded_ = now;
    bool due = false;
    if (yield || pauses) {
      MutexLock lock(&mu_);
      due = now >= WakeUp();
    }
    if (yield) sched_yield();
    *until = now + pause;
    if (due || pauses) return due;
  }
}

void ProgressEngine::Handle(Event &event) {
  switch (event.kind) {
    case Event::kStart:
      return Begin(event.request);
    case Event::kPeerFailed: {
      std::string what;
      for (const auto &[sequence, active] : active_) {
        if (active->of_server()) continue;
        const core::Exchange &exchange = active->exchange;
        if ((exchange.receiving() &&
             RoundAt(*active, exchange.recv()).recv_peer == event.peer) ||
            (exchange.sending() &&
             RoundAt(*active, exchange.send()).send_peer == event.peer)) {
          what = absl::StrCat(Describe(*active), ": ");
          break;
        }
      }
      return Fail(absl::Status(event.status.code(),
                               absl::StrCat(what, event.status.message())));
    }
    case Event::kPart: {
      // The slice may have ended meanwhile, with all its parts.
      auto it = active_.find(event.sequence);
      if (it != active_.end()) Release(it->second.get(), event.met);
      return;
    }
    case Event::kSent:
    case Event::kReceived:
      break;
  }
  Active *active = event.active;
  if (active->of_server()) return HandleServer(event);
  HandleExchange(event);
}

void ProgressEngine::Begin(const Request &request) {
  if (request.instruction->kind == InstructionProgram::kCommunicate) return BeginExchange(request);
  BeginServer(request);
}

ProgressEngine::Active *ProgressEngine::NewActive() {
  const uint64_t sequence = next_sequence_++;
  if (spare_.empty()) {
    active_.emplace_hint(active_.end(), sequence, std::make_unique<Active>());
  } else {
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = sequence;
    active_.insert(active_.end(), std::move(node));
  }
  Active *active = active_.rbegin()->second.get();
  active->sequence = sequence;
  return active;
}

void ProgressEngine::Forget(Active *active) {
  for (Memory *memory : {&active->staging, &active->outgoing})
    if (memory->size() != 0 && spare_staging_.size() < kSpareStaging)
      spare_staging_.push_back(std::move(*memory));
  auto node = active_.extract(active->sequence);
  if (spare_.size() < kSpare) {
    *node.mapped() = Active();
    spare_.push_back(std::move(node));
  }
}

const ProgressEngine::Active *ProgressEngine::Oldest() const {
  if (messages_.empty()) return active_.empty() ? nullptr : active_.begin()->second.get();
  if (active_.empty() || messages_.begin()->first < active_.begin()->first) return messages_.begin()->second.get();
  return active_.begin()->second.get();
}

// When there is something to do without an event.
Clock::time_point ProgressEngine::WakeUp() const {
  const Active *oldest = Oldest();
  Clock::time_point next = oldest == nullptr ? Clock::time_point::max() : stall_.NextLook(DeadlineOf(*oldest));
  for (const auto &[peer, link] : links_)
    if (!link.empty()) next = std::min(next, FromTime(link.patient_until()));
  if (least_) next = std::min(next, FromTime(hold_ends_));
  return next;
}

void ProgressEngine::Pump(Time now) {
  do {
    moved_ = false;
    for (auto &[peer, link] : links_) {
      Active *active;
      while (!link.empty() &&
             link.Next(link.front()->request.credit, now, patience_, &active))
        Hand(peer, active);
    }
    PostUnposted();
  } while (moved_ && !failed_);
}

void ProgressEngine::Hand(int peer, Active *active) {
  const core::Place &at = active->exchange.send();
  const Round round = RoundAt(*active, at);
  if (Timed()) active->send_begin = Clock::now();
  const bool parts = !active->request.instruction->communicate.parts.empty();
  if (parts && !active->gathered && !Gather(active, at)) return;
  active->gathered = false;
  const std::byte *from =
      parts ? active->outgoing.data() : active->request.buffer + round.send_begin;
  transport_->Send(peer, Tag(*active, at), PhaseAt(*active, at).priority,
                   absl::MakeConstSpan(from, round.send_bytes),
                   [this, active](absl::Status status) {
                     Ended(Event::kSent, active, std::move(status));
                   });
}

void ProgressEngine::Fail(const absl::Status &why) {
  failed_ = true;
  if (std::exchange(least_, std::nullopt)) transport_->Hold(std::nullopt);
  host_->CommunicationFailed(why);
}

void ProgressEngine::CheckStall(Clock::time_point now) {
  absl::Status late;
  {
    MutexLock lock(&mu_);
    const Active *oldest = Oldest();
    if (oldest == nullptr || stall_.Idle(now) < DeadlineOf(*oldest)) return;
    if (!host_->Computing())
      late = absl::DeadlineExceededError(absl::StrCat("no progress within ", absl::FormatDuration(absl::FromChrono(DeadlineOf(*oldest))),
                                                      ": ", Describe(*oldest), ": ", DescribeMissing(*oldest)));
  }
  if (late.ok())
    stall_.Progress(now);
  else
    Fail(late);
}

std::string ProgressEngine::Describe(const Active &active) const {
  if (active.of_server()) return DescribeServer(active);
  const InstructionProgram &instruction = *active.request.instruction;
  const CommunicateProgram &c = instruction.communicate;
  return absl::StrCat(
      c.source_op, " \"", c.key, "\"",
      instruction.location.empty() ? "" : absl::StrCat(" (", instruction.location, ")"),
      " of call ", active.request.call);
}

std::string ProgressEngine::DescribeMissing(const Active &active) const {
  if (active.of_server()) return "still waiting for the server";
  const core::Exchange &exchange = active.exchange;
  const core::Place &at = exchange.receiving() ? exchange.recv() : exchange.send();
  const std::string where =
      absl::StrCat(" (phase ", at.phase, ", round ", at.round, ")");
  if (exchange.receiving())
    return absl::StrCat("still waiting for the message from peer ",
                        RoundAt(active, at).recv_peer, where);
  return absl::StrCat("peer ", RoundAt(active, at).send_peer,
                      " has not taken the message", where);
}

void ProgressEngine::Trace(const Active &active, TraceSpan::Track track,
                           int peer, uint64_t bytes, Clock::time_point begin,
                           Clock::time_point end) {
  if (trace_ == nullptr || !trace_->enabled()) return;
  if (begin == Clock::time_point() || end == Clock::time_point()) return;
  trace_->Add({rank_, track, peer, active.request.instruction->communicate.key,
               "message", active.request.call, bytes, begin, end});
}

}  // namespace commsched::runtime
