// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sending and receiving: matching, and what goes when.
#include <cstring>
#include <optional>
#include <utility>

#include "mpi/ranks.h"
#include "runtime/base/run_flat.h"
#include "runtime/base/shared_memory.h"

namespace commsched::transport::mpi {

using runtime::MutexLock;
using runtime::core::Control;

namespace {

// MPI tag for the parts of the next message; never 0. One sequence for all
// connections: what is left of an earlier one is nobody's.
int NextId() ABSL_EXCLUSIVE_LOCKS_REQUIRED(MpiMutex()) {
  static int last = 0;
  static int largest = [] {
    int *value = nullptr, given = 0;
    Mpi().Comm_get_attr(Mpi().world, MPI_TAG_UB, &value, &given);
    return given ? *value : 32767;  // what the standard promises
  }();
  last = last == largest ? 1 : last + 1;
  return last;
}

}  // namespace

// --- Sending ----------------------------------------------------------------

void MpiRanks::Send(int to, MessageTag tag, int32_t priority,
                    absl::Span<const std::byte> bytes, Done done) {
  if (!options_.IsPartner(to)) return done(runtime::NoPartner(to));
  Actions actions;
  bool gone = false;
  {
    MutexLock lock(&mu_);
    Peer &peer = peers_[to];
    if (peer.end.failure().ok() && peer.matcher->SendWhole(tag, bytes.size())) {
      Header header{.kind = kEager, .bytes = bytes.size()};
      header.set_tag(tag);
      Tell(to, header, bytes);
      bytes_sent_ += bytes.size();
      ++callbacks_;
      gone = true;
    } else if (!peer.end.failure().ok()) {
      if (peer.end.WantedAfter()) Report(to, &actions);
      Finish(std::move(done), peer.end.failure(), &actions);
    } else {
      auto outgoing = std::make_shared<Outgoing>(
          Outgoing{to, tag, priority, bytes, std::move(done)});
      auto going = peer.matcher->Send(tag, bytes.size(), outgoing, &controls_);
      TellControls(to);
      if (absl::IsAlreadyExists(going.status())) {
        Finish(std::move(outgoing->done),
               absl::InvalidArgumentError(going.status().message()), &actions);
      } else if (!going.ok()) {
        FailProtocol(to, going.status(), &actions);
        Finish(std::move(outgoing->done), peer.end.failure(), &actions);
      } else if (!going->has_value()) {
      } else if ((*going)->granted) {
        MakeReady(outgoing, int((*going)->note >> 1), ((*going)->note & 1) != 0);
      }
    }
  }
  if (gone && !runtime::RunsFlat()) {
    runtime::RunFlat([&done] { done(absl::OkStatus()); });
    --callbacks_;
    return;
  }
  if (gone) actions.push_back({std::move(done), absl::OkStatus(), nullptr});
  RunAll(std::move(actions));
}

void MpiRanks::TellControls(int to) {
  Peer &peer = peers_[to];
  for (const Control &control : controls_) {
    if (control.kind == Control::kGrant) {
      Grant(*peer.matcher->Posted(control.tag));
      continue;
    }
    Header header{.kind = control.kind == Control::kAnnounce ? kAnnounce : kCredit,
                  .bytes = control.bytes};
    header.set_tag(control.tag);
    Tell(to, header);
  }
  controls_.clear();
}

void MpiRanks::TakeGrant(int from, const Header &header, Actions *actions) {
  // It says with its payload, which is empty or one byte, whether the receiver maps
  // the sender's memory.
  const bool share = header.payload == 1;
  auto going = peers_[from].matcher->TakeGrant(
      {Control::kGrant, header.tag(), header.bytes,
       uint64_t{header.id} << 1 | uint64_t{share}});
  if (!going.ok()) return FailProtocol(from, going.status(), actions);
  if (going->has_value()) MakeReady((*going)->item, int(header.id), share);
}

void MpiRanks::TakeCredit(int from, const Header &header, Actions *actions) {
  if (absl::Status s = peers_[from].matcher->TakeCredit(header.bytes); !s.ok())
    FailProtocol(from, s, actions);
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
      peer.matcher->Sent(outgoing->tag);
      return;
    }
  }
  outgoing->parts = PartsOf(outgoing->bytes.size(), mpi_.part_bytes);
  peer.parts.Push({outgoing->priority, outgoing->tag.step}, outgoing->tag, outgoing->bytes.size(), outgoing);
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
  if (!options_.IsPartner(incoming->peer))
    return incoming->done(runtime::NoPartner(incoming->peer));
  Actions actions;
  std::optional<std::vector<std::byte>> message;  // all of it
  const int from = incoming->peer;
  {
    MutexLock lock(&mu_);
    Peer &peer = peers_[from];
    if (peer.end.failure().ok()) {
      auto here = peer.matcher->Receive(incoming->tag, incoming->bytes, incoming, &controls_);
      TellControls(from);
      if (here.ok()) {
        message = std::move(here->kept);
      } else if (absl::IsAlreadyExists(here.status())) {
        incoming->failure = absl::InvalidArgumentError(here.status().message());
      } else {
        FailProtocol(from, here.status(), &actions);
        incoming->failure = peer.end.failure();
      }
    } else {
      if (peer.matcher) {
        auto left = peer.matcher->TakeLeft(incoming->tag, incoming->bytes);
        if (left.ok()) message = *std::move(left);
      }
      if (!message) {
        if (peer.end.WantedAfter()) Report(from, &actions);
        incoming->failure = peer.end.failure();
      }
    }
    if (message)
      ++callbacks_;  // its sink
    else if (!incoming->failure.ok())
      EndReceive(*incoming, &actions);
  }
  if (message) {
    if (incoming->buffer != nullptr && !message->empty())
      std::memcpy(incoming->buffer, message->data(), message->size());
    else if (!message->empty())
      incoming->sink(0, *message);
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

void MpiRanks::TakeEager(int from, const Header &header,
                         absl::Span<const std::byte> payload,
                         Actions *actions) {
  Peer &peer = peers_[from];
  auto place =
      peer.matcher->Take(header.tag(), header.bytes, 0, payload.size(), &controls_);
  if (place.ok() && header.bytes != payload.size())
    place = absl::DataLossError("got a part of a short message");
  if (!place.ok()) {
    controls_.clear();
    return FailProtocol(from, place.status(), actions);
  }
  if (place->kept != nullptr) {
    place->kept->assign(payload.begin(), payload.end());
    return;
  }
  const std::shared_ptr<Incoming> incoming = peer.matcher->End(header.tag());
  TellControls(from);
  Deliver(*incoming, payload, actions);
}

void MpiRanks::Deliver(Incoming &incoming, absl::Span<const std::byte> payload,
                       Actions *actions) {
  if (incoming.buffer != nullptr) {
    if (!payload.empty())
      std::memcpy(incoming.buffer, payload.data(), payload.size());
  } else if (!payload.empty()) {
    // The payload stays: only the thread that polls touches it.
    mu_.Unlock();
    incoming.sink(0, payload);
    mu_.Lock();
  }
  EndReceive(incoming, actions);
}

void MpiRanks::TakeAnnounce(int from, const Header &header, Actions *actions) {
  absl::Status s =
      peers_[from].matcher->TakeAnnounce(header.tag(), header.bytes, &controls_);
  if (!s.ok()) return FailProtocol(from, s, actions);
  TellControls(from);
}

}  // namespace commsched::transport::mpi
