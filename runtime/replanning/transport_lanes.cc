// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/transport_lanes.h"

#include <atomic>

#include "runtime/base/status_util.h"
#include "runtime/replanning/pending_calls.h"

namespace commsched::runtime {

class TransportLanes::LaneImpl final : public Lane {
 public:
  LaneImpl(std::shared_ptr<TransportLanes> lanes, uint32_t generation,
           std::shared_ptr<PeerFailureRelay> failures)
      : lanes_(std::move(lanes)),
        transport_(lanes_->transport_.get()),
        offset_(generation << kKeyBits),
        failures_(std::move(failures)) {}
  ~LaneImpl() override { Close(absl::Seconds(5)); }

  int rank() const override { return transport_->rank(); }
  int nodes() const override { return transport_->nodes(); }
  const char *name() const override { return transport_->name(); }
  uint64_t bytes_sent() const override { return transport_->bytes_sent(); }
  uint64_t bytes_received() const override {
    return transport_->bytes_received();
  }
  bool overtakes() const override { return transport_->overtakes(); }
  bool polls() const override { return transport_->polls(); }
  bool Poll() override { return transport_->Poll(); }
  size_t takes_now() const override { return transport_->takes_now(); }
  bool TakeNow(int peer, MessageTag tag, size_t bytes,
               absl::FunctionRef<void(absl::Span<const std::byte>)> sink) override {
    return transport_->TakeNow(peer, InLane(tag), bytes, sink);
  }
  void SetLive(bool live) override { live_ = live; }

  void Send(int peer, MessageTag tag, int32_t priority,
            absl::Span<const std::byte> bytes, Done done) override {
    transport_->Send(peer, InLane(tag), priority, bytes, pending_.Counted(std::move(done)));
  }
  void Hold(const std::optional<plan::Urgency> &least) override { transport_->Hold(least); }
  void Recv(int peer, MessageTag tag, absl::Span<std::byte> buffer,
            Done done) override {
    transport_->Recv(peer, InLane(tag), buffer, pending_.Counted(std::move(done)));
  }
  void RecvStream(int peer, MessageTag tag, size_t bytes, size_t unit, Sink sink,
                  Done done) override {
    transport_->RecvStream(peer, InLane(tag), bytes, unit, std::move(sink),
                           pending_.Counted(std::move(done)));
  }
  void Abort(const absl::Status &why) override {
    if (live_) transport_->Abort(why);
  }
  void Close(absl::Duration flush) override {
    if (live_) transport_->Close(flush);
    // An idle lane has nothing under way, but a callback may not have returned.
    pending_.Wait();
  }

 private:
  MessageTag InLane(MessageTag tag) const {
    tag.key += offset_;
    return tag;
  }
  const std::shared_ptr<TransportLanes> lanes_;
  Transport *const transport_;
  const uint32_t offset_;
  const std::shared_ptr<PeerFailureRelay> failures_;  // until the lane is gone
  std::atomic<bool> live_{false};
  PendingCalls pending_;
};

TransportLanes::~TransportLanes() { transport_.reset(); }

std::function<void(int, const absl::Status &)> TransportLanes::FailureHandler() {
  return [this](int peer, const absl::Status &why) { Report(peer, why); };
}

void TransportLanes::Attach(std::unique_ptr<Transport> transport) {
  transport_ = std::move(transport);
}

void TransportLanes::Report(int peer, const absl::Status &why) {
  if (why.code() == absl::StatusCode::kFailedPrecondition) return;
  std::vector<std::shared_ptr<PeerFailureRelay>> relays;
  {
    MutexLock lock(&mu_);
    failed_.emplace_back(peer, Unshared(why));
    for (const auto &weak : relays_)
      if (auto relay = weak.lock()) relays.push_back(std::move(relay));
  }
  for (const auto &relay : relays) relay->Report(peer, why);
}

std::unique_ptr<TransportLanes::Lane> TransportLanes::Open(
    uint32_t generation, std::shared_ptr<PeerFailureRelay> failures) {
  std::vector<std::pair<int, absl::Status>> failed;
  {
    MutexLock lock(&mu_);
    size_t kept = 0;
    for (auto &weak : relays_)
      if (!weak.expired()) relays_[kept++] = std::move(weak);
    relays_.resize(kept);
    relays_.push_back(failures);
    for (const auto &[peer, why] : failed_) failed.emplace_back(peer, Unshared(why));
  }
  for (const auto &[peer, why] : failed) failures->Report(peer, why);
  return std::make_unique<LaneImpl>(shared_from_this(), generation,
                                    std::move(failures));
}

void TransportLanes::SendControl(int peer, uint64_t number, uint32_t part,
                                 int32_t priority,
                                 absl::Span<const std::byte> bytes,
                                 Transport::Done done) {
  transport_->Send(peer, {number, kControl << kKeyBits, part, 0}, priority, bytes,
                   std::move(done));
}

void TransportLanes::RecvControl(int peer, uint64_t number, uint32_t part,
                                 absl::Span<std::byte> buffer,
                                 Transport::Done done) {
  transport_->Recv(peer, {number, kControl << kKeyBits, part, 0}, buffer,
                   std::move(done));
}

}  // namespace commsched::runtime
