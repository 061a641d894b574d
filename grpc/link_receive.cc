// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The receiving half of Link.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/link.h"
#include "grpc/tags.h"

namespace commsched::transport {

using runtime::MutexLock;

namespace {

constexpr size_t kMostHeld = 64;  // grants

std::string WrongPart(const MessageTag &tag, size_t offset, size_t size,
                      size_t next, size_t total) {
  return absl::StrCat("got bytes ", offset, " to ", offset + size, " of ",
                      Describe(tag), " where byte ", next, " of ", total,
                      " is next");
}

}  // namespace

void Receive::Take(absl::Span<const std::byte> piece) {
  if (!sink) {
    std::memcpy(buffer.data() + passed_, piece.data(), piece.size());
    passed_ += piece.size();
    return;
  }
  if (carried_ > 0) {
    const size_t size = std::min(unit - carried_, piece.size());
    std::memcpy(carry_.data() + carried_, piece.data(), size);
    carried_ += size;
    piece.remove_prefix(size);
    if (carried_ < unit) return;
    sink(passed_, absl::MakeConstSpan(carry_.data(), unit));
    passed_ += unit;
    carried_ = 0;
  }
  const size_t whole = piece.size() / unit * unit;
  if (whole > 0) sink(passed_, piece.first(whole));
  passed_ += whole;
  carried_ = piece.size() - whole;
  if (carried_ > 0)
    std::memcpy(carry_.data(), piece.data() + whole, carried_);
}

void Link::Recv(MessageTag tag, std::unique_ptr<Receive> unique) {
  callbacks_->Begin();
  std::shared_ptr<Receive> receive = std::move(unique);
  absl::Status failure;
  std::vector<std::byte> message;
  size_t total = 0;
  bool here = false;  // all of it
  {
    MutexLock lock(&mu_);
    auto it = unexpected_.find(tag);
    if (it != unexpected_.end() && (failure_.ok() || got_goodbye_)) {
      total = it->second.total;
      message = std::move(it->second.bytes);
      unexpected_.erase(it);
      unexpected_cost_ -= total + kMessageCost;
      here = message.size() == total || total != receive->bytes;
    }
    if (here) {
    } else if (!failure_.ok()) {
      failure = failure_;
    } else if (!receives_.emplace(tag, receive).second) {
      failure = absl::InvalidArgumentError(
          absl::StrCat(Describe(tag), " is being received already"));
    } else if (!message.empty()) {
      // The first parts; with the lock, so that the next ones come behind them.
      receive->Take(message);
      receive->taken = message.size();
    }
    if (failure.ok() && failure_.ok()) QueueGrant(tag, receive->bytes);
  }
  if (!failure.ok()) {
    Report();
    EndReceive(*receive, std::move(failure));
  } else if (here && total != receive->bytes) {
    std::string what = WrongSize(tag, receive->bytes, total);
    FailProtocol(absl::StatusCode::kInvalidArgument, what);
    EndReceive(*receive, Named(absl::StatusCode::kInvalidArgument, what));
  } else if (here) {
    if (!message.empty()) receive->Take(message);
    EndReceive(*receive, absl::OkStatus());
  }
  Pump();
}

void Link::QueueGrant(const MessageTag &tag, size_t total) {
  Header header;
  ToWire(tag, header.mutable_grant()->mutable_tag());
  header.mutable_grant()->set_total(total);
  // What is too long to go before its grant should find it there.
  if (peer_waits_ || total > settings_.eager_bytes) {
    control_.push_back(std::move(header));
    return;
  }
  held_grants_.push_back(std::move(header));
  held_cost_ += total + kMessageCost;
  ReleaseGrantsIfDue();
}

// A packet for each grant costs both sides as much as a short message, and the peer
// says when it waits for one. Before the room gets short, it is given back.
void Link::ReleaseGrantsIfDue() {
  if (unexpected_cost_ + held_cost_ > settings_.unexpected_bytes / 4 ||
      held_grants_.size() >= kMostHeld)
    ReleaseGrants();
}

void Link::ReleaseGrants() {
  if (!last_queued_)
    std::move(held_grants_.begin(), held_grants_.end(), std::back_inserter(control_));
  held_grants_.clear();
  held_cost_ = 0;
}

void Link::TakeWaiting(const Waiting &waiting) {
  {
    MutexLock lock(&mu_);
    peer_waits_ = waiting.waits();
    if (peer_waits_) ReleaseGrants();
  }
  Pump();
}

void Link::EndReceive(Receive &receive, absl::Status status) {
  if (status.ok()) bytes_received_ += receive.bytes;
  receive.sink = nullptr;  // what it refers to may go with `done`
  callbacks_->Run(
      [done = std::move(receive.done), status = std::move(status)]() mutable {
        done(std::move(status));
      });
}

std::string Link::TakeUnexpected(const MessageTag &tag, const Data &data,
                                 PacketReader &reader) {
  const size_t size = reader.payload_bytes(), total = data.total();
  auto known = unexpected_.find(tag);
  if (known == unexpected_.end()) {
    if (data.offset() != 0)
      return absl::StrCat("got a part of ", Describe(tag),
                          ", of which the first one is missing");
    if (total > settings_.eager_bytes ||
        unexpected_cost_ + total + kMessageCost > settings_.unexpected_bytes)
      return absl::StrCat("got ", Describe(tag), " of ", total,
                          " bytes, which exceeds what may be sent before "
                          "the receive is posted");
    known = unexpected_.emplace(tag, Unexpected{{}, total}).first;
    known->second.bytes.reserve(total);
    unexpected_cost_ += total + kMessageCost;
  } else if (known->second.bytes.size() == known->second.total) {
    return absl::StrCat("got ", Describe(tag), " twice");
  }
  std::vector<std::byte> &bytes = known->second.bytes;
  if (total != known->second.total)
    return WrongSize(tag, known->second.total, total);
  if (data.offset() != bytes.size() || size > total - bytes.size())
    return WrongPart(tag, data.offset(), size, bytes.size(), total);
  reader.ReadPayload([&](absl::Span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return "";
}

void Link::TakeData(const Data &data, PacketReader &reader) {
  const MessageTag tag = FromWire(data.tag());
  const size_t size = reader.payload_bytes();
  std::shared_ptr<Receive> receive;
  std::string wrong;
  bool pump = false;
  absl::StatusCode code = absl::StatusCode::kDataLoss;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok()) return;
    auto it = receives_.find(tag);
    if (it == receives_.end()) {
      wrong = TakeUnexpected(tag, data, reader);
      ReleaseGrantsIfDue();
      pump = !control_.empty();
    } else if (data.total() != it->second->bytes) {
      wrong = WrongSize(tag, it->second->bytes, data.total());
      code = absl::StatusCode::kInvalidArgument;
    } else if (data.offset() != it->second->taken ||
               size > data.total() - data.offset()) {
      wrong = WrongPart(tag, data.offset(), size, it->second->taken, data.total());
    } else {
      receive = it->second;
      receive->busy = true;
    }
  }
  if (!wrong.empty()) return FailProtocol(code, wrong);
  if (pump) Pump();
  if (receive == nullptr) return;

  // Only this thread takes bytes now; the receive stays until it is not busy.
  reader.ReadPayload(
      [&](absl::Span<const std::byte> piece) { receive->Take(piece); });
  absl::Status status;
  {
    MutexLock lock(&mu_);
    receive->busy = false;
    receive->taken += size;
    status = receive->failure;
    if (status.ok()) {
      if (receive->taken < receive->bytes) return;
      receives_.erase(tag);
    }
  }
  EndReceive(*receive, std::move(status));
}

}  // namespace commsched::transport
