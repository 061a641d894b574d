// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/parameter_lanes.h"

#include <atomic>
#include <utility>

#include "runtime/replanning/pending_calls.h"

namespace commsched::runtime {

class ParameterLanes::LaneImpl final : public Lane {
 public:
  LaneImpl(std::shared_ptr<ParameterLanes> lanes, ServerOrder order)
      : lanes_(std::move(lanes)), client_(lanes_->client_.get()), order_(std::move(order)) {}
  ~LaneImpl() override { Close(); }

  const char *name() const override { return client_->name(); }
  uint64_t first_step() const override { return client_->first_step(); }
  bool keeps_checkpoints() const override { return client_->keeps_checkpoints(); }
  uint64_t bytes_sent() const override { return client_->bytes_sent(); }
  uint64_t bytes_received() const override { return client_->bytes_received(); }

  void SetLive(bool live) override {
    live_ = live;
    if (live) client_->SetOrder(order_);
  }

  void Push(int server, uint32_t block, uint64_t step, absl::Span<const std::byte> bytes,
            Done done) override {
    client_->Push(server, block, step, bytes, pending_.Counted(std::move(done)));
  }
  void Pull(int server, uint32_t block, uint64_t version, absl::Span<std::byte> buffer,
            Done done) override {
    client_->Pull(server, block, version, buffer, pending_.Counted(std::move(done)));
  }
  void PullRows(int server, uint32_t block, uint64_t version, absl::Span<const int64_t> ids,
                absl::Span<std::byte> buffer, Done done) override {
    client_->PullRows(server, block, version, ids, buffer, pending_.Counted(std::move(done)));
  }
  absl::Status Finish(uint64_t steps) override { return client_->Finish(steps); }
  void Abort(const absl::Status &why) override {
    if (live_) client_->Abort(why);
  }
  void Close() override {
    if (live_) client_->Close();
    // An idle lane has nothing under way, but a callback may not have returned.
    pending_.Wait();
  }

 private:
  const std::shared_ptr<ParameterLanes> lanes_;
  ParameterClient *const client_;
  const ServerOrder order_;
  std::atomic<bool> live_{false};
  PendingCalls pending_;
};

std::unique_ptr<ParameterLanes::Lane> ParameterLanes::Open(ServerOrder order) {
  return std::make_unique<LaneImpl>(shared_from_this(), std::move(order));
}

}  // namespace commsched::runtime
