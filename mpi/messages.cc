// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of the MPI transport: short ones whole, long ones in parts.
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

// Parts that are received and not passed on yet, of all peers.
constexpr int kMaxStaging = 4;

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

// Of memory of another process, between two of which others may have the lock.
constexpr size_t kPlacedPiece = size_t{256} << 10;

size_t PartsOf(size_t bytes, size_t part) {
  return std::max<size_t>(1, (bytes + part - 1) / part);
}

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

// The most urgent first, as far as the window goes.
void MpiRanks::GiveParts(int to) {
  Peer &peer = peers_[to];
  while (peer.under_way < mpi_.window && !peer.ready.empty()) {
    std::shared_ptr<Outgoing> outgoing = peer.ready.begin()->second;
    Part part;
    part.out = outgoing;
    part.number = outgoing->given++;
    const size_t begin = part.number * mpi_.part_bytes;
    const size_t size = std::min(mpi_.part_bytes, outgoing->bytes.size() - begin);
    MPI_Request request = MPI_REQUEST_NULL;
    Check(MPI_Isend(outgoing->bytes.data() + begin, int(size), MPI_BYTE, to,
                    outgoing->id, over_.parts, &request),
          "MPI_Isend");
    ++peer.parts_sent;
    ++peer.under_way;
    if (outgoing->given == outgoing->parts) peer.ready.erase(peer.ready.begin());
    requests_.push_back(request);
    parts_.push_back(std::move(part));
  }
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

void MpiRanks::TakePlace(int from, const Header &header, const PlaceBody &body,
                         Actions *actions) {
  Peer &peer = peers_[from];
  auto it = granted_.find({from, int(header.id)});
  if (it == granted_.end() || it->second->bytes != header.bytes ||
      body.block_bytes < header.bytes || body.offset > body.block_bytes - header.bytes)
    return FailProtocol(from, absl::StatusCode::kDataLoss,
                        "got a place that does not fit the grant", actions);
  auto &[block, size] = peer.blocks[body.block];
  if (block == nullptr) {
    block = runtime::MapOf(peer.theirs.process, body.file, body.block_bytes);
    size = body.block_bytes;
    if (block == nullptr)
      return FailProtocol(from, absl::StatusCode::kDataLoss,
                          "its memory cannot be mapped any more", actions);
  }
  const std::shared_ptr<Incoming> incoming = it->second;
  granted_.erase(it);
  incoming->place = block + body.offset;
  incoming->parts = incoming->begun = PartsOf(incoming->bytes, kPlacedPiece);
  to_pass_.push_back(incoming);
}

// Without the lock while bytes are copied or a sink runs.
void MpiRanks::PassPlaced(const std::shared_ptr<Incoming> &incoming,
                          Actions *actions) {
  Incoming &in = *incoming;
  while (in.ended < in.parts) {
    const size_t begin = in.ended * kPlacedPiece;
    const size_t size = std::min(kPlacedPiece, in.bytes - begin);
    if (in.failure.ok()) {
      in.passing = true;
      mu_.Unlock();
      if (in.buffer != nullptr)
        std::memcpy(in.buffer + begin, in.place + begin, size);
      else
        in.sink(begin, absl::MakeConstSpan(in.place + begin, size));
      mu_.Lock();
      in.passing = false;
    }
    ++in.ended;
  }
  Peer &peer = peers_[in.peer];
  if (in.failure.ok()) {
    peer.receives.erase(in.tag);
    Tell(in.peer, Header{.kind = kTaken, .id = uint32_t(in.id)});
  }
  EndReceive(in, actions);
}

void MpiRanks::TakeTaken(int from, const Header &header, Actions *actions) {
  Peer &peer = peers_[from];
  auto it = peer.placed.find(int(header.id));
  if (it == peer.placed.end())
    return FailProtocol(from, absl::StatusCode::kDataLoss,
                        "has taken a message that was not placed", actions);
  const std::shared_ptr<Outgoing> outgoing = std::move(it->second);
  peer.placed.erase(it);
  bytes_sent_ += outgoing->bytes.size();
  Finish(std::move(outgoing->done), absl::OkStatus(), actions);
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

// --- Parts ------------------------------------------------------------------

std::unique_ptr<std::byte[]> MpiRanks::Staging() {
  ++staging_used_;
  if (staging_.empty())
    return std::unique_ptr<std::byte[]>(new std::byte[staging_bytes_]);
  std::unique_ptr<std::byte[]> staging = std::move(staging_.back());
  staging_.pop_back();
  return staging;
}

// Looks for parts that have come, and has them received.
bool MpiRanks::TakeParts() {
  bool any = false;
  while (!granted_.empty() && staging_used_ < kMaxStaging) {
    int here = 0;
    MPI_Message message;
    MPI_Status status;
    Check(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, over_.parts, &here, &message,
                      &status),
          "MPI_Improbe");
    if (!here || !mpi_error_.ok()) break;
    any = true;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    auto it = granted_.find({status.MPI_SOURCE, status.MPI_TAG});
    Part part;
    std::byte *target = nullptr;
    size_t expected = 0;
    if (it != granted_.end()) {
      part.in = it->second;
      part.number = part.in->begun++;
      const size_t begin = part.number * part.in->part_bytes;
      expected = std::min(part.in->part_bytes, part.in->bytes - begin);
      if (part.in->begun == part.in->parts) granted_.erase(it);
      if (part.in->buffer != nullptr) target = part.in->buffer + begin;
    }
    if (part.in == nullptr || size_t(size) != expected) {
      // Of a message that is not wanted any more.
      ++peers_[size_t(status.MPI_SOURCE)].parts_received;
      part.in = nullptr;
      part.staging.reset(new std::byte[size_t(size) + 1]);
      target = part.staging.get();
    } else if (part.in->buffer == nullptr) {
      part.staging = Staging();
      target = part.staging.get();
    }
    MPI_Request request = MPI_REQUEST_NULL;
    Check(MPI_Imrecv(target, size, MPI_BYTE, &message, &request), "MPI_Imrecv");
    requests_.push_back(request);
    parts_.push_back(std::move(part));
  }
  return any;
}

bool MpiRanks::TestParts(Actions *actions) {
  if (requests_.empty()) return false;
  int count = 0;
  finished_.resize(requests_.size());
  Check(MPI_Testsome(int(requests_.size()), requests_.data(), &count,
                     finished_.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
  if (count <= 0 || count == MPI_UNDEFINED) return false;
  std::vector<Part> ended;
  for (int i = 0; i < count; ++i)
    ended.push_back(std::move(parts_[size_t(finished_[size_t(i)])]));
  size_t kept = 0;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    if (kept != i) {
      requests_[kept] = requests_[i];
      parts_[kept] = std::move(parts_[i]);
    }
    ++kept;
  }
  requests_.resize(kept);
  parts_.resize(kept);
  for (Part &part : ended) EndPart(std::move(part), actions);
  return true;
}

void MpiRanks::EndPart(Part part, Actions *actions) {
  if (part.out != nullptr) {
    Outgoing &out = *part.out;
    Peer &peer = peers_[out.peer];
    --peer.under_way;
    ++out.ended;
    if (out.ended == out.given && (out.given == out.parts || !out.failure.ok())) {
      if (out.failure.ok()) bytes_sent_ += out.bytes.size();
      Finish(std::move(out.done), out.failure, actions);
    }
    return GiveParts(out.peer);
  }
  if (part.in == nullptr) return;
  Peer &peer = peers_[part.in->peer];
  ++peer.parts_received;
  Incoming &in = *part.in;
  if (part.staging != nullptr) {
    in.to_pass.emplace(part.number, std::move(part.staging));
    to_pass_.push_back(part.in);
  } else {
    ++in.ended;
    const bool whole = in.ended == in.parts;
    if (whole && in.failure.ok()) peer.receives.erase(in.tag);
    if (whole || (!in.failure.ok() && in.ended == in.begun))
      EndReceive(in, actions);
  }
  if (peer.goodbye_held) TakeGoodbye(in.peer, actions);
}

// Without the lock while a sink runs.
bool MpiRanks::PassParts(Actions *actions) {
  const bool any = !to_pass_.empty();
  while (!to_pass_.empty()) {
    std::shared_ptr<Incoming> in = std::move(to_pass_.front());
    to_pass_.pop_front();
    if (in->place != nullptr) {
      PassPlaced(in, actions);
      continue;
    }
    // In order; one that came early is passed with the one before it.
    while (!in->to_pass.empty() && in->to_pass.begin()->first == in->ended) {
      std::unique_ptr<std::byte[]> staging =
          std::move(in->to_pass.begin()->second);
      in->to_pass.erase(in->to_pass.begin());
      const size_t begin = in->ended * in->part_bytes;
      const size_t size = std::min(in->part_bytes, in->bytes - begin);
      if (in->failure.ok() && size != 0) {
        in->passing = true;
        mu_.Unlock();
        in->sink(begin, absl::MakeConstSpan(staging.get(), size));
        mu_.Lock();
        in->passing = false;
      }
      staging_.push_back(std::move(staging));
      --staging_used_;
      ++in->ended;
      Peer &peer = peers_[in->peer];
      const bool whole = in->ended == in->parts;
      if (whole && in->failure.ok()) peer.receives.erase(in->tag);
      if (whole || (!in->failure.ok() && in->ended == in->begun))
        EndReceive(*in, actions);
      if (peer.goodbye_held) TakeGoodbye(in->peer, actions);
    }
  }
  return any;
}

}  // namespace commsched::transport::mpi
