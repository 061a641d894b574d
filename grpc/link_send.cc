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
#include "runtime/packets.h"

namespace commsched::transport {
namespace {

constexpr size_t kMaxEarlyGrants = 1 << 20;
// Over so many bytes of full packets, one behind the other, buffers and moments
// without a processor do not hide the rate of a link.
constexpr size_t kRunBytes = 4 * runtime::kLargePacket;
// Above 10 Gbit/s; what is between that and kSlowPacket leaves packets as they are.
constexpr std::chrono::microseconds kFastPacket{800};

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
      } else if (!SendEagerly(outgoing)) {
        if (waiting_.empty()) SayWaiting(true);
        waiting_.insert(tag);
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
  if (size > their_eager_ || eager_cost_ + size + kMessageCost > their_unexpected_)
    return false;
  eager_cost_ += size + kMessageCost;
  eager_without_grant_.emplace(outgoing->tag, size);
  outgoing->granted = true;
  ready_.emplace(std::make_pair(outgoing->priority, outgoing->tag), outgoing);
  return true;
}

void Link::SayWaiting(bool waits) {
  Header header;
  header.mutable_waiting()->set_waits(waits);
  control_.push_back(std::move(header));
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
    } else if (send != sends_.end()) {
      Outgoing *outgoing = send->second;
      if (outgoing->granted) {
        wrong = absl::StrCat("got a second grant for ", Describe(tag));
      } else if (outgoing->bytes.size() != grant.total()) {
        wrong = WrongSize(tag, grant.total(), outgoing->bytes.size());
      } else {
        outgoing->granted = true;
        if (waiting_.erase(tag) != 0 && waiting_.empty()) SayWaiting(false);
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
  while (!control_.empty() && writer.frames() < runtime::kPacketFrames) {
    const Header &header = control_.front();
    last_written_ |= header.has_goodbye() || header.has_abort();
    writer.Add(header);
    control_.pop_front();
  }
  Header header;
  Data *data = header.mutable_data();
  while (!ready_.empty() && writer.frames() < runtime::kPacketFrames &&
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
  packet_size_ = writer.bytes();
  packet_full_ = packet_size_ >= packet_bytes_;
  packet_begin_ = runtime::Clock::now();
  return writer.Finish();
}

void Link::AdaptPacket() {
  if (packet_full_) {
    run_bytes_ += packet_size_;
    run_time_ += runtime::Clock::now() - packet_begin_;
    if (run_bytes_ < kRunBytes) return;
    const std::chrono::nanoseconds took(
        int64_t(double(run_time_.count()) * double(runtime::kLargePacket) / double(run_bytes_)));
    if (const size_t size = runtime::PacketBytes(took); size < runtime::kLargePacket)
      packet_bytes_ = std::min(settings_.chunk_bytes, size);
    else if (took < kFastPacket)
      packet_bytes_ = settings_.chunk_bytes;
  }
  run_bytes_ = 0;
  run_time_ = {};
}

}  // namespace commsched::transport
