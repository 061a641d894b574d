// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The receiving half of Link.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "grpc/ranks/link.h"
#include "grpc/ranks/tags.h"

namespace commsched::transport {

using runtime::MutexLock;

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
  std::optional<LinkEnd::Outcome> breach;
  Ended ended;
  std::optional<std::vector<std::byte>> message;
  bool whole = false;
  {
    MutexLock lock(&mu_);
    if (end_.failure().ok()) {
      auto here = matcher_.Receive(tag, receive->bytes, receive, &controls_);
      if (here.ok()) {
        message = std::move(here->kept);
        whole = here->whole;
        // The first parts with the lock, so that the next ones come behind them.
        if (message && !whole) receive->Take(*message);
      } else if (absl::IsAlreadyExists(here.status())) {
        failure = absl::InvalidArgumentError(here.status().message());
      } else {
        // At once: of what comes next of the message nothing is known any more.
        breach = end_.Breach(here.status());
      }
      QueueControls();
    } else {
      auto left = matcher_.TakeLeft(tag, receive->bytes);
      if (left.ok()) message = *std::move(left);
      whole = message.has_value();
      failure = !left.ok() ? left.status() : whole ? absl::OkStatus()
                                                   : TooLate(ended);
    }
  }
  if (breach.has_value()) {
    End([&](LinkEnd &) { return *std::move(breach); });
    failure = this->failure();
  }
  if (!failure.ok()) {
    Run({}, std::move(ended));
    EndReceive(*receive, std::move(failure));
  } else if (whole) {
    if (!message->empty()) receive->Take(*message);
    EndReceive(*receive, absl::OkStatus());
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

void Link::TakeData(const Data &data, PacketReader &reader) {
  const MessageTag tag = FromWire(data.tag());
  std::shared_ptr<Receive> receive;
  bool last = false, pump = false;
  absl::Status breach;
  {
    MutexLock lock(&mu_);
    if (!end_.failure().ok()) return;
    auto place = matcher_.Take(tag, data.total(), data.offset(), reader.payload_bytes(),
                               &controls_);
    breach = place.status();
    if (place.ok() && place->receive != nullptr) {
      receive = *place->receive;
      receive->busy = true;
      last = place->last;
    } else if (place.ok()) {
      std::vector<std::byte> &kept = *place->kept;
      if (kept.empty()) kept.reserve(data.total());
      reader.ReadPayload([&](absl::Span<const std::byte> piece) {
        kept.insert(kept.end(), piece.begin(), piece.end());
      });
    }
    pump = !controls_.empty();
    QueueControls();
  }
  if (!breach.ok()) return FailProtocol(breach);
  if (pump) Pump();
  if (receive == nullptr) return;

  // Only this thread takes bytes now; the receive stays until it is not busy.
  reader.ReadPayload(
      [&](absl::Span<const std::byte> piece) { receive->Take(piece); });
  absl::Status status;
  {
    MutexLock lock(&mu_);
    receive->busy = false;
    status = receive->failure;
    if (status.ok()) {
      if (!last) return;
      matcher_.End(tag);
    }
  }
  EndReceive(*receive, std::move(status));
}

}  // namespace commsched::transport
