// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sending half of Link.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/link.h"
#include "grpc/tags.h"

namespace commsched::transport {
namespace {

// Payloads up to this size are copied into the packet: cheaper than a slice.
constexpr size_t kCopyBytes = 4 << 10;
constexpr size_t kMaxFrames = 256;  // in a packet
constexpr size_t kMaxEarlyGrants = 1 << 20;
constexpr size_t kSmallPacket = 64 << 10;
constexpr int kMisfits = 3;  // in a row
// A large packet takes longer than this below 3 Gbit/s, a small one less above 10.
constexpr std::chrono::microseconds kSlowPacket{3000}, kFastPacket{50};
// Where a large one takes less than this (above 1.5 Gbit/s), the small one has twice
// as many bytes: packets cost processor time, and an urgent message waits for two.
// Not more: with packets of 256 KiB links of 1 Gbit/s lose a quarter of their rate.
constexpr std::chrono::microseconds kVerySlowPacket{5900};

}  // namespace

using runtime::MutexLock;

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

void Link::Release(Outgoing *outgoing, std::vector<Outgoing *> &released) {
  if (outgoing->holds.fetch_sub(1, std::memory_order_acq_rel) == 1)
    released.push_back(outgoing);
}

void Link::Send(MessageTag tag, int32_t priority,
                absl::Span<const std::byte> bytes, Done done) {
  callbacks_->Begin();
  absl::Status failure;
  std::string wrong;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok()) {
      failure = failure_;
    } else if (sends_.contains(tag)) {
      failure = absl::InvalidArgumentError(
          absl::StrCat(Describe(tag), " is being sent already"));
    } else {
      auto *outgoing =
          new Outgoing{this, tag, priority, bytes, std::move(done)};
      sends_.emplace(tag, outgoing);
      auto grant = early_grants_.find(tag);
      if (grant != early_grants_.end()) {
        if (grant->second != bytes.size())
          wrong = WrongSize(tag, grant->second, bytes.size());
        outgoing->granted = true;
        early_grants_.erase(grant);
        ready_.emplace(std::make_pair(priority, tag), outgoing);
      } else if (bytes.size() <= their_eager_ && !SendEagerly(outgoing)) {
        without_room_.insert(tag);
      }
    }
  }
  if (!wrong.empty())
    FailProtocol(absl::StatusCode::kInvalidArgument, wrong);
  if (failure.ok()) return Pump();
  Report();
  callbacks_->Run([done = std::move(done), failure]() mutable {
    done(std::move(failure));
  });
}

bool Link::SendEagerly(Outgoing *outgoing) {
  const size_t size = outgoing->bytes.size();
  if (eager_cost_ + size + kMessageCost > their_unexpected_) return false;
  eager_cost_ += size + kMessageCost;
  eager_without_grant_.emplace(outgoing->tag, size);
  outgoing->granted = true;
  ready_.emplace(std::make_pair(outgoing->priority, outgoing->tag), outgoing);
  return true;
}

void Link::TakeGrant(const Grant &grant) {
  const MessageTag tag = FromWire(grant.tag());
  std::string wrong;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok()) return;
    auto eager = eager_without_grant_.find(tag);
    auto send = sends_.find(tag);
    if (eager != eager_without_grant_.end()) {
      if (eager->second != grant.total())
        wrong = WrongSize(tag, grant.total(), eager->second);
      eager_cost_ -= eager->second + kMessageCost;
      eager_without_grant_.erase(eager);
      while (!without_room_.empty() &&
             SendEagerly(sends_.at(*without_room_.begin())))
        without_room_.erase(without_room_.begin());
    } else if (send != sends_.end()) {
      Outgoing *outgoing = send->second;
      if (outgoing->granted) {
        wrong = absl::StrCat("got a second grant for ", Describe(tag));
      } else if (outgoing->bytes.size() != grant.total()) {
        wrong = WrongSize(tag, grant.total(), outgoing->bytes.size());
      } else {
        outgoing->granted = true;
        without_room_.erase(tag);
        ready_.emplace(std::make_pair(outgoing->priority, tag), outgoing);
      }
    } else if (early_grants_.size() >= kMaxEarlyGrants) {
      wrong = "got too many grants for messages that are not sent";
    } else {
      early_grants_[tag] = grant.total();
    }
  }
  if (!wrong.empty())
    return FailProtocol(absl::StatusCode::kInvalidArgument, wrong);
  Pump();
}

grpc::ByteBuffer Link::NextPacket() {
  PacketWriter writer;
  if (!control_.empty() || !ready_.empty()) ReleaseGrants();
  while (!control_.empty() && writer.frames() < kMaxFrames) {
    const Header &header = control_.front();
    last_written_ |= header.has_goodbye() || header.has_abort();
    writer.Add(header);
    control_.pop_front();
  }
  Header header;
  Data *data = header.mutable_data();
  while (!ready_.empty() && writer.frames() < kMaxFrames &&
         writer.bytes() < packet_bytes_) {
    Outgoing *outgoing = ready_.begin()->second;
    const size_t left = outgoing->bytes.size() - outgoing->written;
    const size_t size = std::min(left, packet_bytes_);
    ToWire(outgoing->tag, data->mutable_tag());
    data->set_offset(outgoing->written);
    data->set_total(outgoing->bytes.size());
    absl::Span<const std::byte> part =
        outgoing->bytes.subspan(outgoing->written, size);
    if (size <= kCopyBytes) {
      if (size == 0) {
        writer.Add(header);
      } else {
        writer.AddCopy(header, part);
      }
    } else {
      outgoing->holds.fetch_add(1, std::memory_order_relaxed);
      // gRPC does not write to slices that it did not make.
      writer.AddSlice(header,
                      grpc::Slice(const_cast<std::byte *>(part.data()), size,
                                  &Link::ReleaseSlice, outgoing));
    }
    outgoing->written += size;
    if (size < left) continue;
    ready_.erase(ready_.begin());
    sends_.erase(outgoing->tag);
    in_last_packet_.push_back(outgoing);
  }
  packet_full_ = writer.bytes() >= packet_bytes_;
  packet_begin_ = runtime::Clock::now();
  return writer.Finish();
}

void Link::AdaptPacket() {
  if (!packet_full_) return;
  const auto took = runtime::Clock::now() - packet_begin_;
  const bool small = packet_bytes_ < settings_.chunk_bytes;
  // A few say little: the processor was busy, or buffers were empty.
  if (small ? took < kFastPacket : took > kSlowPacket) {
    // The longest says most of a link: buffers take some of the others.
    longest_misfit_ = std::max(longest_misfit_, took);
    if (++misfits_ < kMisfits) return;
    packet_bytes_ =
        small ? settings_.chunk_bytes
              : std::min(settings_.chunk_bytes,
                         longest_misfit_ > kVerySlowPacket ? kSmallPacket : 2 * kSmallPacket);
  }
  misfits_ = 0;
  longest_misfit_ = {};
}

}  // namespace commsched::transport
