// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sending and receiving: matching, and what goes when.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mpi/ranks.h"
#include "runtime/shared_memory.h"

namespace commsched::transport::mpi {

using runtime::MutexLock;

namespace {

std::string Describe(const MessageTag &tag) {
  return absl::StrFormat("message (step %d, key %d, phase %d, round %d)",
                         tag.step, tag.key, tag.phase, tag.round);
}

std::string WrongSize(const MessageTag &tag, size_t receive, size_t message) {
  return absl::StrFormat(
      "size of %s must match the receive's %d bytes, got: %d", Describe(tag),
      receive, message);
}

// A grant says with its payload, which is empty or one byte, whether the receiver
// maps the sender's memory.
bool Shares(const Header &grant) { return grant.payload == 1; }

// MPI tag for the parts of the next message; never 0. One sequence for all
// connections: what is left of an earlier one is nobody's.
int NextId() ABSL_EXCLUSIVE_LOCKS_REQUIRED(MpiMutex()) {
  static int last = 0;
  static int largest = [] {
    int *value = nullptr, given = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &given);
    return given ? *value : 32767;  // what the standard promises
  }();
  last = last == largest ? 1 : last + 1;
  return last;
}

}  // namespace

// --- Sending ----------------------------------------------------------------

void MpiRanks::Send(int to, MessageTag tag, int32_t priority,
                    absl::Span<const std::byte> bytes, Done done) {
  Actions actions;
  {
    MutexLock lock(&mu_);
    Peer &peer = peers_[to];
    auto early = peer.early_grants.find(tag);
    const size_t cost = bytes.size() + kMessageCost;
    if (!peer.failure.ok()) {
      Report(to, &actions);
      Finish(std::move(done), peer.failure, &actions);
    } else if (peer.sends.contains(tag)) {
      Finish(std::move(done),
             absl::InvalidArgumentError(
                 absl::StrCat(Describe(tag), " is being sent already")),
             &actions);
    } else if (early == peer.early_grants.end() && bytes.size() <= peer.eager &&
               cost <= peer.room) {
      peer.room -= cost;
      Header header{.kind = kEager, .bytes = bytes.size()};
      header.set_tag(tag);
      Tell(to, header, bytes);
      bytes_sent_ += bytes.size();
      Finish(std::move(done), absl::OkStatus(), &actions);
    } else {
      auto outgoing = std::make_shared<Outgoing>(
          Outgoing{to, tag, priority, next_number_++, bytes, std::move(done)});
      peer.sends.emplace(tag, outgoing);
      if (early == peer.early_grants.end()) {
        Header header{.kind = kAnnounce, .bytes = bytes.size()};
        header.set_tag(tag);
        Tell(to, header);
      } else {
        const Header grant = early->second;
        peer.early_grants.erase(early);
        if (grant.bytes == bytes.size())
          MakeReady(outgoing, int(grant.id), Shares(grant));
        else
          FailProtocol(to, absl::StatusCode::kInvalidArgument,
                       WrongSize(tag, grant.bytes, bytes.size()), &actions);
      }
    }
  }
  RunAll(std::move(actions));
}

void MpiRanks::TakeGrant(int from, const Header &header, Actions *actions) {
  Peer &peer = peers_[from];
  auto it = peer.sends.find(header.tag());
  if (it == peer.sends.end()) {
    peer.early_grants[header.tag()] = header;
    return;
  }
  const std::shared_ptr<Outgoing> outgoing = it->second;
  if (outgoing->bytes.size() != header.bytes)
    return FailProtocol(
        from, absl::StatusCode::kInvalidArgument,
        WrongSize(header.tag(), header.bytes, outgoing->bytes.size()), actions);
  MakeReady(outgoing, int(header.id), Shares(header));
}

void MpiRanks::MakeReady(const std::shared_ptr<Outgoing> &outgoing, int id,
                         bool share) {
  Peer &peer = peers_[outgoing->peer];
  outgoing->id = id;
  if (share && !outgoing->bytes.empty()) {
    if (auto place = runtime::PlaceOf(outgoing->bytes.data(), outgoing->bytes.size())) {
      const PlaceBody body = {place->block, place->block_bytes, place->offset,
                              place->file, 0};
      Header header{.kind = kPlace, .id = uint32_t(id), .bytes = outgoing->bytes.size()};
      Tell(outgoing->peer, header,
           {reinterpret_cast<const std::byte *>(&body), sizeof(body)});
      peer.placed.emplace(id, outgoing);
      peer.sends.erase(outgoing->tag);
      return;
    }
  }
  outgoing->parts = PartsOf(outgoing->bytes.size(), mpi_.part_bytes);
  peer.sends.erase(outgoing->tag);
  peer.ready.emplace(std::pair(outgoing->priority, outgoing->number), outgoing);
  GiveParts(outgoing->peer);
}

// --- Receiving --------------------------------------------------------------

void MpiRanks::Recv(int peer, MessageTag tag, absl::Span<std::byte> buffer,
                    Done done) {
  static std::byte nothing;
  auto incoming = std::make_shared<Incoming>();
  incoming->peer = peer;
  incoming->tag = tag;
  incoming->bytes = buffer.size();
  incoming->buffer = buffer.empty() ? &nothing : buffer.data();
  incoming->done = std::move(done);
  Receive(std::move(incoming));
}

void MpiRanks::RecvStream(int peer, MessageTag tag, size_t bytes, size_t,
                          Sink sink, Done done) {
  // Parts are multiples of any unit.
  auto incoming = std::make_shared<Incoming>();
  incoming->peer = peer;
  incoming->tag = tag;
  incoming->bytes = bytes;
  incoming->sink = std::move(sink);
  incoming->done = std::move(done);
  Receive(std::move(incoming));
}

void MpiRanks::Receive(std::shared_ptr<Incoming> incoming) {
  Actions actions;
  std::vector<std::byte> message;
  bool here = false;
  const int from = incoming->peer;
  {
    MutexLock lock(&mu_);
    Peer &peer = peers_[from];
    auto kept = peer.unexpected.find(incoming->tag);
    if (kept != peer.unexpected.end() &&
        (peer.failure.ok() || peer.goodbye_taken)) {
      message = std::move(kept->second);
      peer.unexpected.erase(kept);
      if (peer.failure.ok()) ReturnRoom(from, message.size() + kMessageCost);
      here = message.size() == incoming->bytes;
      if (!here) {
        const std::string what =
            WrongSize(incoming->tag, incoming->bytes, message.size());
        incoming->failure =
            Named(from, absl::StatusCode::kInvalidArgument, what);
        FailProtocol(from, absl::StatusCode::kInvalidArgument, what, &actions);
        EndReceive(*incoming, &actions);
      } else {
        ++callbacks_;  // its sink
      }
    } else if (!peer.failure.ok()) {
      Report(from, &actions);
      incoming->failure = peer.failure;
      EndReceive(*incoming, &actions);
    } else if (!peer.receives.emplace(incoming->tag, incoming).second) {
      incoming->failure = absl::InvalidArgumentError(
          absl::StrCat(Describe(incoming->tag), " is being received already"));
      EndReceive(*incoming, &actions);
    } else {
      auto announced = peer.announced.find(incoming->tag);
      const bool known = announced != peer.announced.end();
      const size_t size = known ? announced->second : incoming->bytes;
      if (known) peer.announced.erase(announced);
      if (size != incoming->bytes)
        FailProtocol(from, absl::StatusCode::kInvalidArgument,
                     WrongSize(incoming->tag, incoming->bytes, size), &actions);
      else if (known || incoming->bytes > peer.eager)
        Grant(incoming);
    }
  }
  if (here) {
    if (incoming->buffer != nullptr && !message.empty())
      std::memcpy(incoming->buffer, message.data(), message.size());
    else if (!message.empty())
      incoming->sink(0, message);
    MutexLock lock(&mu_);
    EndReceive(*incoming, &actions);
    --callbacks_;
  }
  RunAll(std::move(actions));
}

void MpiRanks::EndReceive(Incoming &incoming, Actions *actions) {
  if (incoming.failure.ok()) bytes_received_ += incoming.bytes;
  incoming.sink = nullptr;  // what it refers to may go with `done`
  Finish(std::move(incoming.done), incoming.failure, actions);
}

void MpiRanks::Grant(const std::shared_ptr<Incoming> &incoming) {
  const Peer &peer = peers_[incoming->peer];
  incoming->id = NextId();
  incoming->part_bytes = peer.theirs.part_bytes;
  incoming->parts = PartsOf(incoming->bytes, incoming->part_bytes);
  granted_.emplace(std::pair(incoming->peer, incoming->id), incoming);
  Header header{.kind = kGrant,
                .id = uint32_t(incoming->id),
                .bytes = incoming->bytes};
  header.set_tag(incoming->tag);
  static constexpr std::byte kYes{1};
  Tell(incoming->peer, header, {&kYes, size_t(peer.maps)});
}

void MpiRanks::ReturnRoom(int to, size_t bytes) {
  Peer &peer = peers_[to];
  peer.to_return += bytes;
  if (peer.to_return * 2 < options_.unexpected_bytes) return;
  Tell(to, Header{.kind = kCredit, .bytes = peer.to_return});
  peer.to_return = 0;
}

void MpiRanks::TakeEager(int from, const Header &header,
                         absl::Span<const std::byte> payload,
                         Actions *actions) {
  Peer &peer = peers_[from];
  auto it = peer.receives.find(header.tag());
  if (it == peer.receives.end()) {
    peer.unexpected.emplace(
        header.tag(), std::vector<std::byte>(payload.begin(), payload.end()));
    return;
  }
  std::shared_ptr<Incoming> incoming = it->second;
  if (incoming->bytes != payload.size())
    return FailProtocol(
        from, absl::StatusCode::kInvalidArgument,
        WrongSize(header.tag(), incoming->bytes, payload.size()), actions);
  peer.receives.erase(it);
  ReturnRoom(from, payload.size() + kMessageCost);
  if (incoming->buffer != nullptr) {
    if (!payload.empty())
      std::memcpy(incoming->buffer, payload.data(), payload.size());
  } else if (!payload.empty()) {
    // The payload stays: only the thread that polls touches it.
    mu_.Unlock();
    incoming->sink(0, payload);
    mu_.Lock();
  }
  EndReceive(*incoming, actions);
}

void MpiRanks::TakeAnnounce(int from, const Header &header, Actions *actions) {
  Peer &peer = peers_[from];
  auto it = peer.receives.find(header.tag());
  if (it == peer.receives.end()) {
    peer.announced[header.tag()] = header.bytes;
  } else if (it->second->bytes != header.bytes) {
    FailProtocol(from, absl::StatusCode::kInvalidArgument,
                 WrongSize(header.tag(), it->second->bytes, header.bytes),
                 actions);
  } else if (it->second->id == 0) {
    Grant(it->second);
  }
}

}  // namespace commsched::transport::mpi
