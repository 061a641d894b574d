// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control messages between ranks.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mpi/ranks.h"

namespace commsched::transport::mpi {

using runtime::MutexLock;

namespace {

// At the rings, in one look.
constexpr int kPeeks = 16;

}  // namespace

void MpiRanks::Tell(int to, Header header, absl::Span<const std::byte> payload) {
  header.payload = uint32_t(payload.size());
  if (rings_ != nullptr && rings_->joined(to)) {
    Peer &peer = peers_[size_t(to)];
    if (!peer.backlog.empty() || !rings_->Write(to, header, payload))
      peer.backlog.emplace_back(
          header, std::vector<std::byte>(payload.begin(), payload.end()));
    return;
  }
  Note note;
  if (!spare_notes_.empty()) {
    note.bytes = std::move(spare_notes_.back());
    spare_notes_.pop_back();
  }
  note.bytes.resize(sizeof(header) + payload.size());
  std::memcpy(note.bytes.data(), &header, sizeof(header));
  if (!payload.empty())
    std::memcpy(note.bytes.data() + sizeof(header), payload.data(),
                payload.size());
  Check(Mpi().Isend(note.bytes.data(), int(note.bytes.size()), Mpi().byte, to,
                    note_tag_, over_.notes, &note.request),
        "MPI_Isend");
  int done = 0;
  Check(Mpi().Request_get_status(note.request, &done, MPI_STATUS_IGNORE),
        "MPI_Request_get_status");
  if (done) {
    Mpi().Wait(&note.request, MPI_STATUS_IGNORE);
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
    if (slot.request == Mpi().no_request) return;
    Check(Mpi().Test(&slot.request, &here, &status), "MPI_Test");
    if (!here) return;
    next_slot_ = (next_slot_ + 1) % slots_.size();
    int size = 0;
    Mpi().Get_count(&status, Mpi().byte, &size);
    const int from = status.MPI_SOURCE;
    Header header;
    if (size_t(size) >= sizeof(header))
      std::memcpy(&header, slot.bytes.data(), sizeof(header));
    if (size_t(size) != sizeof(header) + header.payload)
      FailProtocol(from, absl::DataLossError("got a control message of a wrong size"),
                   actions);
    else
      TakeNote(from, header,
               absl::MakeConstSpan(slot.bytes).subspan(sizeof(header), header.payload),
               actions);
    Check(Mpi().Irecv(slot.bytes.data(), int(slot.bytes.size()), Mpi().byte,
                      MPI_ANY_SOURCE, note_tag_, over_.notes, &slot.request),
          "MPI_Irecv");
  }
}

// All else that a look does takes longer.
void MpiRanks::Peek(absl::FunctionRef<bool()> here) const {
  for (int i = 0; i < kPeeks && !crowded_ && !here(); ++i) continue;
}

bool MpiRanks::TakeNow(int from, MessageTag tag, size_t bytes,
                       absl::FunctionRef<void(absl::Span<const std::byte>)> sink) {
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  bool yield = false;
  {
    MutexLock lock(&mu_);
    if (polling_ || rings_ == nullptr || !rings_->joined(from)) return false;
    Peek([&] { return rings_->Any(from); });
    Peer &peer = peers_[size_t(from)];
    Rings::Message message;
    if (rings_->Read(from, &message) && message.sound && message.header.kind == kEager &&
        message.header.tag() == tag && message.header.bytes == bytes &&
        message.payload.size() == bytes && peer.end.failure().ok() &&
        peer.matcher->TakeUnposted(tag, bytes, &controls_)) {
      TellControls(from);
      if (bytes != 0) sink(message.payload);
      rings_->Take(from);
      bytes_received_ += bytes;
      return true;
    }
    yield = crowded_ && ++vain_takes_ % kTakesUntilYield == 0;
  }
  if (yield) sched_yield();  // as in a look at all that there is
  return false;
}

// What has come through rings. A short message that nobody receives yet stays
// there, to be combined from there, unless there is something behind it.
bool MpiRanks::TakeRings(Actions *actions) {
  Peek([&] {
    return std::any_of(ringed_.begin(), ringed_.end(),
                       [&](int from) { return rings_->Any(from); });
  });
  bool any = false;
  for (const int from : ringed_) {
    Peer &peer = peers_[size_t(from)];
    Rings::Message message;
    for (size_t i = 0; i < slots_.size() && rings_->Read(from, &message); ++i) {
      if (!message.sound) {
        FailProtocol(from, absl::DataLossError("got a control message of a wrong size"),
                     actions);
      } else {
        const bool eager = message.header.kind == kEager && peer.end.failure().ok();
        std::optional<std::shared_ptr<Incoming>> incoming;
        if (eager && message.header.bytes == message.payload.size())
          incoming = peer.matcher->TakePosted(message.header.tag(), message.header.bytes,
                                              &controls_);
        if (incoming) {
          TellControls(from);
          Deliver(**incoming, message.payload, actions);
        } else if (eager && peer.matcher->Posted(message.header.tag()) == nullptr &&
                   !rings_->More(from)) {
          break;
        } else {
          TakeNote(from, message.header, message.payload, actions);
        }
      }
      rings_->Take(from);
      any = true;
    }
    if (!peer.backlog.empty()) FlushBacklog(from);
  }
  return any;
}

void MpiRanks::FlushBacklog(int to) {
  auto &backlog = peers_[size_t(to)].backlog;
  while (!backlog.empty() &&
         rings_->Write(to, backlog.front().first, backlog.front().second))
    backlog.pop_front();
}

void MpiRanks::TakeNote(int from, const Header &header,
                        absl::Span<const std::byte> payload, Actions *actions) {
  Peer &peer = peers_[size_t(from)];
  if (header.kind == kHello) {
    if (peer.hello || payload.size() != sizeof(HelloBody))
      return FailProtocol(from, absl::DataLossError("got a wrong greeting"), actions);
    std::memcpy(&peer.theirs, payload.data(), sizeof(HelloBody));
    if (absl::Status status = CheckHello(from);
        !status.ok() && connect_error_.ok())
      connect_error_ = std::move(status);
    return;
  }
  if (header.kind == kWelcome) return TakeWelcome(from, header.id != 0);
  if (header.kind == kGoodbye) {
    peer.goodbye_held = true;
    peer.goodbye_parts = header.bytes;
    return TakeGoodbye(from, actions);
  }
  if (header.kind == kAbort)
    return End(from,
               peer.end.TakeAbort(header.id,
                                  {reinterpret_cast<const char *>(payload.data()),
                                   payload.size()}),
               actions);
  if (!peer.end.failure().ok()) return;
  if (!peer.matcher)
    return FailProtocol(from, absl::DataLossError("got a message before its greeting"),
                        actions);
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
      return TakeCredit(from, header, actions);
    default:
      break;
  }
  FailProtocol(from, absl::DataLossError("got a control message of an unknown kind"),
               actions);
}

}  // namespace commsched::transport::mpi
