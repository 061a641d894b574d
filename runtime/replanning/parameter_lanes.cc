// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/parameter_lanes.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace commsched::runtime {

class ParameterLanes::LaneImpl final : public Lane {
 public:
  LaneImpl(std::shared_ptr<ParameterLanes> lanes, ServerOrder order)
      : lanes_(std::move(lanes)), client_(lanes_->client_.get()), order_(std::move(order)) {}
  ~LaneImpl() override { Close(); }

  const char *name() const override { return client_->name(); }
  uint64_t first_step() const override { return client_->first_step(); }
  uint64_t bytes_sent() const override { return client_->bytes_sent(); }
  uint64_t bytes_received() const override { return client_->bytes_received(); }

  void SetLive(bool live) override {
    live_ = live;
    if (live) client_->SetOrder(order_);
  }

  void Push(int server, uint32_t block, uint64_t step, absl::Span<const std::byte> bytes,
            Done done) override {
    client_->Push(server, block, step, bytes, Counted(std::move(done)));
  }
  void Pull(int server, uint32_t block, uint64_t version, absl::Span<std::byte> buffer,
            Done done) override {
    client_->Pull(server, block, version, buffer, Counted(std::move(done)));
  }
  void PullRows(int server, uint32_t block, uint64_t version, absl::Span<const int64_t> ids,
                absl::Span<std::byte> buffer, Done done) override {
    client_->PullRows(server, block, version, ids, buffer, Counted(std::move(done)));
  }
  absl::Status Finish(uint64_t steps) override { return client_->Finish(steps); }
  void Abort(const absl::Status &why) override {
    if (live_) client_->Abort(why);
  }
  void Close() override {
    if (live_) client_->Close();
    // An idle lane has nothing under way, but a callback may not have returned.
    while (pending_->load(std::memory_order_acquire) != 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  Done Counted(Done done) {
    pending_->fetch_add(1, std::memory_order_relaxed);
    return [pending = pending_, done = std::move(done)](absl::Status status) mutable {
      done(std::move(status));
      done = nullptr;
      pending->fetch_sub(1, std::memory_order_release);
    };
  }

  const std::shared_ptr<ParameterLanes> lanes_;
  ParameterClient *const client_;
  const ServerOrder order_;
  std::atomic<bool> live_{false};
  const std::shared_ptr<std::atomic<int64_t>> pending_ = std::make_shared<std::atomic<int64_t>>(0);
};

std::unique_ptr<ParameterLanes::Lane> ParameterLanes::Open(ServerOrder order) {
  return std::make_unique<LaneImpl>(shared_from_this(), std::move(order));
}

}  // namespace commsched::runtime
