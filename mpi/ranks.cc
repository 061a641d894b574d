// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks over MPI: connecting, control messages, failures, the end, and who polls.
#include "mpi/ranks.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/backoff.h"
#include "runtime/run_flat.h"
#include "runtime/shared_memory.h"
#include "runtime/status_util.h"

namespace commsched::transport::mpi {

using runtime::Backoff;
using runtime::Clock;
using runtime::MutexLock;

namespace {

constexpr size_t kSlots = 16;
constexpr size_t kMaxEager = size_t{1} << 20;
constexpr auto kGrace = std::chrono::seconds(1);
// How long parts under way count as found when nothing of them is seen.
constexpr int64_t kMovingNs = 300'000;
// How long the own thread stays away after another has polled.
constexpr int64_t kOthersPollNs = 3'000'000;
// Its longest pause while a message is under way, and while none is.
constexpr auto kBusyPause = std::chrono::microseconds(100);
constexpr auto kIdlePause = std::chrono::milliseconds(1);

int64_t NowNs() { return Clock::now().time_since_epoch().count(); }

// A hash of this host's name.
uint64_t OwnHost() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char *c = name; *c != 0; ++c)
    hash = (hash ^ uint64_t(*c)) * 1099511628211u;
  return hash;
}

Clock::time_point After(absl::Duration duration) {
  duration = std::clamp(duration, absl::ZeroDuration(), absl::Hours(24 * 365));
  return Clock::now() + absl::ToChronoNanoseconds(duration);
}

MpiOptions Clamped(MpiOptions options) {
  options.eager_bytes = std::min(options.eager_bytes, kMaxEager);
  options.part_bytes =
      std::clamp<size_t>(options.part_bytes, size_t{4} << 10, size_t{1} << 30) /
      64 * 64;
  options.window = std::max(1, options.window);
  return options;
}

}  // namespace

MpiRanks::MpiRanks(Communicators over, int connection,
                   runtime::TransportOptions options, MpiOptions mpi)
    : over_(over),
      note_tag_(1 + connection % kConnections),
      options_(std::move(options)),
      mpi_(Clamped(mpi)),
      mu_(MpiMutex()) {}

MpiRanks::~MpiRanks() { Close(absl::ZeroDuration()); }

absl::Status MpiRanks::Named(int peer, absl::StatusCode code,
                             absl::string_view what) const {
  return absl::Status(code, absl::StrCat("peer ", peer, ": ", what));
}

void MpiRanks::Check(int code, const char *call) {
  if (code != MPI_SUCCESS && mpi_error_.ok()) mpi_error_ = FromMpi(code, call);
}

// --- Connecting -------------------------------------------------------------

absl::Status MpiRanks::Connect() {
  const Clock::time_point deadline = After(options_.connect_deadline);
  int size = 0, rank = 0;
  {
    MutexLock lock(&mu_);
    MPI_Comm_size(over_.notes, &size);
    MPI_Comm_rank(over_.notes, &rank);
    if (options_.nodes < 1)
      return absl::InvalidArgumentError(absl::StrCat(
          "number of nodes must be positive, got: ", options_.nodes));
    if (options_.rank < 0 || options_.rank >= options_.nodes)
      return absl::InvalidArgumentError(absl::StrCat(
          "rank must be in [0, ", options_.nodes, "), got: ", options_.rank));
    if (options_.rank != rank)
      return absl::InvalidArgumentError(
          absl::StrCat("rank must match the one in the MPI job, ", rank,
                       ", got: ", options_.rank));
    peers_.resize(size_t(size));
    slots_.resize(kSlots);
    for (Slot &slot : slots_) {
      slot.bytes.resize(sizeof(Header) +
                        std::max(mpi_.eager_bytes, kMaxAbortText));
      Check(MPI_Irecv(slot.bytes.data(), int(slot.bytes.size()), MPI_BYTE,
                      MPI_ANY_SOURCE, note_tag_, over_.notes, &slot.request),
            "MPI_Irecv");
    }
    SayHello();
  }
  absl::Status error;
  PollUntil(deadline, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !connect_error_.ok() || !mpi_error_.ok() ||
           std::all_of(peers_.begin(), peers_.end(),
                       [&](const Peer &p) { return p.hello || &p == &peers_[size_t(rank)]; });
  });
  MutexLock lock(&mu_);
  error = !mpi_error_.ok() ? mpi_error_ : connect_error_;
  if (error.ok() && size != options_.nodes)
    error = absl::FailedPreconditionError(
        absl::StrCat("number of nodes must match the ", size,
                     " processes of the MPI job, got: ", options_.nodes));
  if (error.ok()) error = Late();
  if (error.ok()) {
    connecting_ = false;
    polled_at_ = NowNs();
    thread_ = std::thread([this] { Loop(); });
    return absl::OkStatus();
  }
  Actions none;
  for (size_t peer = 0; peer < peers_.size(); ++peer)
    if (int(peer) != options_.rank)
      FailPeer(int(peer), absl::CancelledError("not connected"),
               absl::AbortedError(error.message()), /*quiet=*/true, &none);
  return error;
}

void MpiRanks::SayHello() {
  HelloBody hello;
  hello.nodes = options_.nodes;
  hello.plan_digest = options_.plan_digest;
  hello.unexpected_bytes = options_.unexpected_bytes;
  hello.eager_bytes = mpi_.eager_bytes;
  hello.part_bytes = mpi_.part_bytes;
  hello.host = OwnHost();
  hello.process = int32_t(getpid());
  runtime::ShareMemory();
  probe_ = runtime::AllocateShared(runtime::kLeastShared);
  if (probe_ != nullptr) {
    hello.number = uint64_t(NowNs()) * 2654435761u + uint64_t(getpid());
    std::memcpy(probe_, &hello.number, sizeof(hello.number));
    hello.file = runtime::PlaceOf(probe_, 1)->file;
  }
  for (size_t peer = 0; peer < peers_.size(); ++peer)
    if (int(peer) != options_.rank)
      Tell(int(peer), Header{.kind = kHello},
           {reinterpret_cast<const std::byte *>(&hello), sizeof(hello)});
}

absl::Status MpiRanks::CheckHello(int from) {
  Peer &peer = peers_[size_t(from)];
  const HelloBody &theirs = peer.theirs;
  auto differs = [&](absl::string_view what, auto own, auto other) {
    return Named(from, absl::StatusCode::kFailedPrecondition,
                 absl::StrCat(what, " must match ", own, ", got: ", other));
  };
  if (theirs.magic != kMagic)
    return differs("protocol", absl::Hex(kMagic), absl::Hex(theirs.magic));
  if (theirs.nodes != options_.nodes)
    return differs("number of nodes", options_.nodes, theirs.nodes);
  if (theirs.plan_digest != options_.plan_digest)
    return differs("runs another plan: digest",
                   absl::Hex(options_.plan_digest, absl::kZeroPad16),
                   absl::Hex(theirs.plan_digest, absl::kZeroPad16));
  if (theirs.part_bytes == 0 || theirs.part_bytes > (size_t{1} << 30) ||
      theirs.part_bytes % 64 != 0)
    return differs("size of parts", mpi_.part_bytes, theirs.part_bytes);
  peer.eager = std::min<size_t>(mpi_.eager_bytes, theirs.eager_bytes);
  peer.room = theirs.unexpected_bytes;
  staging_bytes_ = std::max<size_t>(staging_bytes_, theirs.part_bytes);
  if (theirs.file >= 0 && theirs.host == OwnHost())
    if (const std::byte *probe =
            runtime::MapOf(theirs.process, theirs.file, runtime::kLeastShared)) {
      peer.maps = std::memcmp(probe, &theirs.number, sizeof(theirs.number)) == 0;
      runtime::Unmap(probe, runtime::kLeastShared);
    }
  peer.hello = true;
  return absl::OkStatus();
}

absl::Status MpiRanks::Late() {
  std::vector<int> missing;
  for (int peer = 0; peer < int(peers_.size()); ++peer)
    if (peer != options_.rank && !peers_[size_t(peer)].hello)
      missing.push_back(peer);
  if (missing.empty()) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat(
      missing.size() == 1 ? "peer " : "peers ", absl::StrJoin(missing, ", "),
      " did not join within ", absl::FormatDuration(options_.connect_deadline)));
}

// --- Control messages -------------------------------------------------------

void MpiRanks::Tell(int to, Header header, absl::Span<const std::byte> payload) {
  Note note;
  if (!spare_notes_.empty()) {
    note.bytes = std::move(spare_notes_.back());
    spare_notes_.pop_back();
  }
  header.payload = uint32_t(payload.size());
  note.bytes.resize(sizeof(header) + payload.size());
  std::memcpy(note.bytes.data(), &header, sizeof(header));
  if (!payload.empty())
    std::memcpy(note.bytes.data() + sizeof(header), payload.data(),
                payload.size());
  Check(MPI_Isend(note.bytes.data(), int(note.bytes.size()), MPI_BYTE, to,
                  note_tag_, over_.notes, &note.request),
        "MPI_Isend");
  int done = 0;
  Check(MPI_Request_get_status(note.request, &done, MPI_STATUS_IGNORE),
        "MPI_Request_get_status");
  if (done) {
    MPI_Wait(&note.request, MPI_STATUS_IGNORE);
    spare_notes_.push_back(std::move(note.bytes));
  } else {
    notes_.push_back(std::move(note));
  }
}

void MpiRanks::TakeNotes(Actions *actions) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot &slot = slots_[next_slot_];
    int here = 0;
    MPI_Status status;
    if (slot.request == MPI_REQUEST_NULL) return;
    Check(MPI_Test(&slot.request, &here, &status), "MPI_Test");
    if (!here) return;
    next_slot_ = (next_slot_ + 1) % slots_.size();
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    const int from = status.MPI_SOURCE;
    Header header;
    if (size_t(size) >= sizeof(header))
      std::memcpy(&header, slot.bytes.data(), sizeof(header));
    if (size_t(size) != sizeof(header) + header.payload)
      FailProtocol(from, absl::StatusCode::kDataLoss,
                   "got a control message of a wrong size", actions);
    else
      TakeNote(from, header,
               absl::MakeConstSpan(slot.bytes).subspan(sizeof(header),
                                                       header.payload),
               actions);
    Check(MPI_Irecv(slot.bytes.data(), int(slot.bytes.size()), MPI_BYTE,
                    MPI_ANY_SOURCE, note_tag_, over_.notes, &slot.request),
          "MPI_Irecv");
  }
}

void MpiRanks::TakeNote(int from, const Header &header,
                        absl::Span<const std::byte> payload, Actions *actions) {
  Peer &peer = peers_[size_t(from)];
  if (header.kind == kHello) {
    if (peer.hello || payload.size() != sizeof(HelloBody))
      return FailProtocol(from, absl::StatusCode::kDataLoss,
                          "got a wrong greeting", actions);
    std::memcpy(&peer.theirs, payload.data(), sizeof(HelloBody));
    if (absl::Status status = CheckHello(from);
        !status.ok() && connect_error_.ok())
      connect_error_ = std::move(status);
    return;
  }
  if (header.kind == kGoodbye) {
    peer.goodbye_held = true;
    peer.goodbye_parts = header.bytes;
    return TakeGoodbye(from, actions);
  }
  if (header.kind == kAbort) {
    auto code = static_cast<absl::StatusCode>(header.id);
    // Other codes have a meaning of their own on this side.
    if (code != absl::StatusCode::kInvalidArgument &&
        code != absl::StatusCode::kDataLoss)
      code = absl::StatusCode::kAborted;
    const absl::string_view text(reinterpret_cast<const char *>(payload.data()),
                                 payload.size());
    FailPeer(from,
             Named(from, code,
                   absl::StrCat(code == absl::StatusCode::kAborted ? "aborted: "
                                                                   : "",
                                text)),
             absl::OkStatus(), /*quiet=*/false, actions);
    peer.goodbye_taken = true;
    return SayGoodbye(from);
  }
  if (!peer.failure.ok()) return;
  switch (header.kind) {
    case kEager:
      return TakeEager(from, header, payload, actions);
    case kAnnounce:
      return TakeAnnounce(from, header, actions);
    case kGrant:
      return TakeGrant(from, header, actions);
    case kPlace: {
      PlaceBody body;
      if (payload.size() != sizeof(body)) break;
      std::memcpy(&body, payload.data(), sizeof(body));
      return TakePlace(from, header, body, actions);
    }
    case kTaken:
      return TakeTaken(from, header, actions);
    case kCredit:
      peer.room += header.bytes;
      return;
    default:
      break;
  }
  FailProtocol(from, absl::StatusCode::kDataLoss,
               "got a control message of an unknown kind", actions);
}

// --- Failures ---------------------------------------------------------------

void MpiRanks::Later(Action action, Actions *actions) {
  ++callbacks_;
  actions->push_back(std::move(action));
}

void MpiRanks::Finish(Done done, absl::Status status, Actions *actions) {
  Later([done = std::move(done), own = runtime::Unshared(status)]() mutable {
    done(std::move(own));
  }, actions);
}

void MpiRanks::RunAll(Actions actions) {
  for (Action &action : actions)
    runtime::RunFlat([this, action = std::move(action)]() mutable {
      action();
      action = nullptr;
      MutexLock lock(&mu_);
      --callbacks_;
      if (closing_) changed_.SignalAll();
    });
}

// What MPI works on ends when MPI is done with it; the rest ends here.
void MpiRanks::FailPeer(int of, absl::Status why, absl::Status tell, bool quiet,
                        Actions *actions) {
  Peer &peer = peers_[size_t(of)];
  if (!peer.failure.ok()) return;
  peer.failure = why;
  peer.report_wanted = !quiet;
  for (auto &[tag, out] : peer.sends)
    Finish(std::move(out->done), why, actions);
  peer.sends.clear();
  for (auto &[order, out] : peer.ready) {
    out->failure = why;
    if (out->given == out->ended) Finish(std::move(out->done), why, actions);
  }
  peer.ready.clear();
  // A peer that still reads there does no harm.
  for (auto &[id, out] : peer.placed) Finish(std::move(out->done), why, actions);
  peer.placed.clear();
  for (auto &[tag, in] : peer.receives) {
    in->failure = why;
    granted_.erase({of, in->id});
    if (in->begun == in->ended) EndReceive(*in, actions);
  }
  peer.receives.clear();
  peer.announced.clear();
  peer.early_grants.clear();
  if (!tell.ok() && !peer.goodbye_sent) {
    peer.goodbye_sent = true;
    const absl::string_view text = tell.message().substr(0, kMaxAbortText);
    Tell(of, Header{.kind = kAbort, .id = uint32_t(tell.code())},
         {reinterpret_cast<const std::byte *>(text.data()), text.size()});
  }
  Report(of, actions);
}

void MpiRanks::FailProtocol(int peer, absl::StatusCode code,
                            const std::string &what, Actions *actions) {
  FailPeer(peer, Named(peer, code, what), absl::Status(code, what),
           /*quiet=*/false, actions);
}

void MpiRanks::Report(int of, Actions *actions) {
  Peer &peer = peers_[size_t(of)];
  if (!peer.report_wanted) return;
  if (connecting_) {
    if (connect_error_.ok()) connect_error_ = peer.failure;
    return;
  }
  peer.report_wanted = false;
  if (!options_.on_peer_failure || closing_) return;
  Later([this, of, why = runtime::Unshared(peer.failure)] {
    options_.on_peer_failure(of, why);
  }, actions);
}

void MpiRanks::Abort(const absl::Status &why) {
  Actions actions;
  {
    MutexLock lock(&mu_);
    for (size_t peer = 0; peer < peers_.size(); ++peer)
      if (int(peer) != options_.rank)
        FailPeer(int(peer), absl::CancelledError("this rank has aborted"),
                 absl::AbortedError(why.message()), /*quiet=*/true, &actions);
  }
  RunAll(std::move(actions));
}

void MpiRanks::SayGoodbye(int to) {
  Peer &peer = peers_[size_t(to)];
  if (peer.goodbye_sent) return;
  peer.goodbye_sent = true;
  Tell(to, Header{.kind = kGoodbye, .bytes = peer.parts_sent});
}

// As soon as all that was sent before it has come.
void MpiRanks::TakeGoodbye(int from, Actions *actions) {
  Peer &peer = peers_[size_t(from)];
  if (peer.goodbye_taken) return;
  if (peer.failure.ok() && peer.parts_received < peer.goodbye_parts) return;
  peer.goodbye_held = false;
  peer.goodbye_taken = true;
  if (peer.failure.ok()) {
    const bool wanted =
        !peer.sends.empty() || !peer.ready.empty() || !peer.placed.empty() ||
        !peer.receives.empty();
    FailPeer(from,
             Named(from, absl::StatusCode::kFailedPrecondition,
                   "has finished, but something is still wanted of it"),
             absl::OkStatus(), /*quiet=*/true, actions);
    peer.report_wanted = true;
    if (wanted || connecting_) Report(from, actions);
  }
  SayGoodbye(from);
}

// --- Polling ----------------------------------------------------------------

bool MpiRanks::SendsDone() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer &peer) {
    return peer.sends.empty() && peer.ready.empty() && peer.placed.empty() &&
           peer.under_way == 0;
  });
}

bool MpiRanks::Idle() const {
  return requests_.empty() && granted_.empty() &&
         std::all_of(peers_.begin(), peers_.end(), [](const Peer &peer) {
           return peer.sends.empty() && peer.ready.empty() &&
                  peer.placed.empty() && peer.receives.empty();
         });
}

bool MpiRanks::Progress(Actions *actions) {
  const size_t slot = next_slot_;
  TakeNotes(actions);
  bool any = slot != next_slot_;
  any |= TakeParts();
  any |= TestParts(actions);
  any |= PassParts(actions);
  for (auto note = notes_.begin(); note != notes_.end();) {
    int done = 0;
    Check(MPI_Test(&note->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (!done) break;
    spare_notes_.push_back(std::move(note->bytes));
    note = notes_.erase(note);
  }
  if (!mpi_error_.ok())
    for (size_t peer = 0; peer < peers_.size(); ++peer)
      if (int(peer) != options_.rank && peers_[peer].failure.ok())
        FailPeer(int(peer),
                 Named(int(peer), absl::StatusCode::kUnavailable,
                       mpi_error_.message()),
                 absl::OkStatus(), /*quiet=*/false, actions);
  return any;
}

bool MpiRanks::PollOnce() {
  Actions actions;
  bool any = false;
  {
    MutexLock lock(&mu_);
    if (polling_ || closed_ || peers_.empty()) return false;
    polling_ = true;
    any = Progress(&actions);
    // MPI does not say that it has moved a part on.
    if (any)
      moved_at_ = NowNs();
    else if (!requests_.empty() || !granted_.empty())
      any = NowNs() - moved_at_ < kMovingNs;
    polling_ = false;
    if (closing_) changed_.SignalAll();
  }
  RunAll(std::move(actions));
  return any;
}

bool MpiRanks::Poll() {
  polled_at_.store(NowNs(), std::memory_order_relaxed);
  return PollOnce();
}

void MpiRanks::PollUntil(Clock::time_point deadline,
                         absl::FunctionRef<bool()> condition) {
  Backoff backoff(kBusyPause);
  while (true) {
    const bool any = PollOnce();
    {
      MutexLock lock(&mu_);
      if (condition() || Clock::now() >= deadline) return;
    }
    backoff.Rest(any);
  }
}

void MpiRanks::Loop() {
  prctl(PR_SET_TIMERSLACK, 1);
  Backoff busy(kBusyPause);
  MutexLock lock(&mu_);
  while (!stop_) {
    if (NowNs() - polled_at_.load(std::memory_order_relaxed) < kOthersPollNs) {
      changed_.WaitUntil(&mu_, Clock::now() + kIdlePause);
      continue;
    }
    const bool idle = Idle();
    mu_.Unlock();
    const bool any = PollOnce();
    mu_.Lock();
    if (stop_) break;
    if (idle && !any) {
      changed_.WaitUntil(&mu_, Clock::now() + kIdlePause);
    } else {
      mu_.Unlock();
      busy.Rest(any);
      mu_.Lock();
    }
  }
}

// --- The end ----------------------------------------------------------------

void MpiRanks::StopNotes() {
  for (Slot &slot : slots_) {
    if (slot.request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&slot.request);
    MPI_Wait(&slot.request, MPI_STATUS_IGNORE);
  }
  // What a peer that is gone has not taken stays with MPI.
  static auto *left = new std::list<Note>;
  for (auto note = notes_.begin(); note != notes_.end();) {
    int done = 0;
    MPI_Test(&note->request, &done, MPI_STATUS_IGNORE);
    auto next = std::next(note);
    if (!done) left->splice(left->end(), notes_, note);
    note = next;
  }
  notes_.clear();
}

void MpiRanks::Close(absl::Duration flush) {
  const Clock::time_point deadline = After(flush);
  {
    MutexLock lock(&mu_);
    if (closed_ || closing_) return;
    closing_ = true;
    if (peers_.empty()) {
      closed_ = true;
      return;
    }
  }
  PollUntil(deadline, [&] { return SendsDone(); });
  Actions actions;
  {
    MutexLock lock(&mu_);
    for (size_t peer = 0; peer < peers_.size(); ++peer) {
      if (int(peer) == options_.rank) continue;
      FailPeer(int(peer), absl::CancelledError("the transport is closed"),
               absl::OkStatus(), /*quiet=*/true, &actions);
      SayGoodbye(int(peer));
    }
  }
  RunAll(std::move(actions));
  // Peers answer at once; one that has gone without a word does not.
  PollUntil(std::max(deadline, Clock::now() + kGrace), [&] {
    return notes_.empty() &&
           std::all_of(peers_.begin(), peers_.end(), [&](const Peer &peer) {
             return peer.goodbye_taken || !peer.hello;
           });
  });
  // Parts that no one takes any more stay with MPI, which does not touch their
  // memory unless they are taken.
  PollUntil(Clock::now() + kGrace, [&] { return requests_.empty(); });
  {
    MutexLock lock(&mu_);
    stop_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
  actions.clear();
  {
    MutexLock lock(&mu_);
    closed_ = true;
    while (polling_) changed_.Wait(&mu_);
    for (Part &part : parts_) {
      if (part.out != nullptr && part.out->done)
        Finish(std::move(part.out->done),
               absl::CancelledError("the transport is closed"), &actions);
      if (part.in != nullptr && part.in->done) {
        part.in->failure = absl::CancelledError("the transport is closed");
        EndReceive(*part.in, &actions);
      }
    }
    StopNotes();
    for (Peer &peer : peers_)
      for (auto &[number, block] : peer.blocks)
        if (block.first != nullptr) runtime::Unmap(block.first, block.second);
    if (probe_ != nullptr) runtime::FreeShared(probe_);
    probe_ = nullptr;
  }
  RunAll(std::move(actions));
  MutexLock lock(&mu_);
  while (callbacks_ > 0) changed_.Wait(&mu_);
}

absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectMpiOver(
    Communicators over, int connection, runtime::TransportOptions options,
    MpiOptions mpi) {
  auto transport =
      std::make_unique<MpiRanks>(over, connection, std::move(options), mpi);
  if (absl::Status status = transport->Connect(); !status.ok()) {
    transport->Close(absl::ZeroDuration());
    return status;
  }
  return transport;
}

}  // namespace commsched::transport::mpi

namespace commsched::transport {

absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectMpi(
    runtime::TransportOptions options, MpiOptions mpi) {
  static int connections = 0;
  absl::StatusOr<MpiWorld> world = BeginMpi();
  if (!world.ok()) return world.status();
  int connection;
  {
    runtime::MutexLock lock(&MpiMutex());
    connection = connections++;
  }
  return mpi::ConnectMpiOver(mpi::World(), connection, std::move(options), mpi);
}

}  // namespace commsched::transport
