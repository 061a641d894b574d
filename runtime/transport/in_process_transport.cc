// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/transport/in_process_transport.h"

#include <utility>

#include "runtime/transport/in_process_hub.h"

namespace commsched::runtime {
namespace {

class InProcessTransport : public Transport {
 public:
  InProcessTransport(std::shared_ptr<InProcessHub> hub, TransportOptions options)
      : hub_(std::move(hub)), options_(std::move(options)), rank_(options_.rank) {}
  ~InProcessTransport() override { Close(absl::ZeroDuration()); }

  int rank() const override { return rank_; }
  int nodes() const override { return hub_->nodes(); }
  const char *name() const override { return "in-process"; }

  void Send(int peer, MessageTag tag, int32_t,
            absl::Span<const std::byte> bytes, Done done) override {
    if (!options_.IsPartner(peer)) return done(NoPartner(peer));
    hub_->Send(rank_, peer, tag, bytes, std::move(done));
  }
  void Recv(int peer, MessageTag tag, absl::Span<std::byte> buffer,
            Done done) override {
    if (!options_.IsPartner(peer)) return done(NoPartner(peer));
    InProcessHub::PendingRecv recv;
    recv.buffer = buffer.data();
    recv.bytes = buffer.size();
    recv.done = std::move(done);
    hub_->Recv(rank_, peer, tag, std::move(recv));
  }
  void RecvStream(int peer, MessageTag tag, size_t bytes, size_t, Sink sink,
                  Done done) override {
    if (!options_.IsPartner(peer)) return done(NoPartner(peer));
    InProcessHub::PendingRecv recv;
    recv.bytes = bytes;
    recv.sink = std::move(sink);
    recv.done = std::move(done);
    hub_->Recv(rank_, peer, tag, std::move(recv));
  }
  void Abort(const absl::Status &why) override { hub_->Abort(rank_, why); }
  void Close(absl::Duration flush) override { hub_->Close(rank_, flush); }
  uint64_t bytes_sent() const override { return hub_->bytes_sent(rank_); }
  uint64_t bytes_received() const override {
    return hub_->bytes_received(rank_);
  }

 private:
  std::shared_ptr<InProcessHub> hub_;
  const TransportOptions options_;
  const int rank_;
};

}  // namespace

std::shared_ptr<InProcessHub> MakeInProcessHub(int nodes) {
  return std::make_shared<InProcessHub>(nodes);
}

absl::StatusOr<std::unique_ptr<Transport>> ConnectInProcess(
    std::shared_ptr<InProcessHub> hub, TransportOptions options) {
  if (absl::Status status = hub->Join(options); !status.ok()) return status;
  return std::make_unique<InProcessTransport>(std::move(hub), std::move(options));
}

}  // namespace commsched::runtime
