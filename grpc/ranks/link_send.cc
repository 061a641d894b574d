// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sending half of Link.
#include <utility>

#include "grpc/ranks/link.h"
#include "grpc/ranks/tags.h"

namespace commsched::transport {
using runtime::MutexLock;
using runtime::core::Control;

void Link::Complete(Outgoing *outgoing) {
  if (outgoing->failure.ok())
    outgoing->link->bytes_sent_ += outgoing->bytes.size();
  Done done = std::move(outgoing->done);
  done(std::move(outgoing->failure));
  delete outgoing;
}

// gRPC has let go of a slice. Its locks may be held here.
void Link::ReleaseSlice(void *pointer) {
  auto *outgoing = static_cast<Outgoing *>(pointer);
  if (outgoing->holds.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  outgoing->link->callbacks_->RunLater([outgoing] { Complete(outgoing); });
}

// A stream that copies has. No lock is held here.
void Link::ReleaseCopied(void *pointer) {
  auto *outgoing = static_cast<Outgoing *>(pointer);
  if (outgoing->holds.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  outgoing->link->callbacks_->Run([outgoing] { Complete(outgoing); });
}

void Link::Release(Outgoing *outgoing, std::vector<Outgoing *> &released) {
  if (outgoing->holds.fetch_sub(1, std::memory_order_acq_rel) == 1)
    released.push_back(outgoing);
}

void Link::Send(MessageTag tag, int32_t priority,
                absl::Span<const std::byte> bytes, Done done) {
  callbacks_->Begin();
  auto *outgoing = new Outgoing{this, tag, priority, bytes, std::move(done)};
  absl::Status failure, breach;
  Ended ended;
  {
    MutexLock lock(&mu_);
    failure = TooLate(ended);
    if (failure.ok()) {
      auto going = matcher_.Send(tag, bytes.size(), outgoing, &controls_);
      if (absl::IsAlreadyExists(going.status()))
        failure = absl::InvalidArgumentError(going.status().message());
      else if (!going.ok())
        breach = going.status();
      else if (going->has_value())
        Go(**going);
      QueueControls();
    }
  }
  if (!breach.ok()) {
    FailProtocol(breach);
    failure = this->failure();
  }
  if (failure.ok()) return Pump();
  outgoing->failure = failure;
  std::vector<Outgoing *> released;
  Release(outgoing, released);
  Run(std::move(released), std::move(ended));
}

void Link::Hold(const std::optional<plan::Urgency> &least) {
  {
    MutexLock lock(&mu_);
    packets_.Hold(least);
  }
  Pump();
}

void Link::Go(const Matcher::Going &going) {
  packets_.Push({going.item->priority, going.tag.step}, going.tag, going.item->bytes.size(), going.item);
}

void Link::QueueControls() {
  for (const Control &control : controls_) {
    if (!end_.failure().ok()) break;
    Header &header = control_.emplace_back();
    switch (control.kind) {
      case Control::kAnnounce:
        ToWire(control.tag, header.mutable_announce()->mutable_tag());
        header.mutable_announce()->set_total(control.bytes);
        break;
      case Control::kGrant:
        ToWire(control.tag, header.mutable_grant()->mutable_tag());
        header.mutable_grant()->set_total(control.bytes);
        break;
      case Control::kCredit:
        header.mutable_credit()->set_bytes(control.bytes);
    }
  }
  controls_.clear();
}

void Link::TakeControl(const Control &control) {
  absl::Status breach;
  {
    MutexLock lock(&mu_);
    if (!end_.failure().ok()) return;
    switch (control.kind) {
      case Control::kAnnounce:
        breach = matcher_.TakeAnnounce(control.tag, control.bytes, &controls_);
        QueueControls();
        break;
      case Control::kGrant: {
        auto going = matcher_.TakeGrant(control);
        breach = going.status();
        if (going.ok() && going->has_value()) Go(**going);
        break;
      }
      case Control::kCredit:
        breach = matcher_.TakeCredit(control.bytes);
    }
  }
  if (!breach.ok()) return FailProtocol(breach);
  Pump();
}

grpc::ByteBuffer Link::NextPacket() {
  PacketWriter writer;
  while (!control_.empty() && writer.frames() < plan::kPacketFrames) {
    const Header &header = control_.front();
    last_written_ |= header.has_goodbye() || header.has_abort();
    writer.Add(header);
    control_.pop_front();
  }
  Header header;
  Data *data = header.mutable_data();
  packets_.Take(
      packet_size_.bytes(), plan::kPacketFrames - writer.frames(),
      [&](Outgoing *outgoing, size_t offset, size_t size, bool last) {
        ToWire(outgoing->tag, data->mutable_tag());
        data->set_offset(offset);
        data->set_total(outgoing->bytes.size());
        const absl::Span<const std::byte> part = outgoing->bytes.subspan(offset, size);
        if (size == 0) {
          writer.Add(header);
        } else if (size <= kCopyBytes) {
          writer.AddCopy(header, part);
        } else {
          outgoing->holds.fetch_add(1, std::memory_order_relaxed);
          // gRPC does not write to slices that it did not make.
          writer.AddSlice(header,
                          grpc::Slice(const_cast<std::byte *>(part.data()), size,
                                      copies_ ? &Link::ReleaseCopied : &Link::ReleaseSlice,
                                      outgoing));
        }
        if (!last) return;
        matcher_.Sent(outgoing->tag);
        in_last_packet_.push_back(outgoing);
      },
      size_t(plan::EnoughOfPacket(packet_size_.bytes())));
  packet_bytes_ = writer.bytes();
  packet_begin_ = runtime::Clock::now();
  return writer.Finish();
}

}  // namespace commsched::transport
