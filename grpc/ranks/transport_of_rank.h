// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transport of one rank: how it comes to its peers is in connect.cc, the rest of its life in grpc_transport.cc.
#ifndef COMMSCHED_GRPC_RANKS_TRANSPORT_OF_RANK_H
#define COMMSCHED_GRPC_RANKS_TRANSPORT_OF_RANK_H

#include <grpcpp/server.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "grpc/base/admission.h"
#include "grpc/base/callbacks.h"
#include "grpc/base/stream.h"
#include "grpc/ranks/grpc_transport.h"
#include "grpc/ranks/handshake.h"
#include "grpc/ranks/link.h"
#include "runtime/base/sync.h"

namespace commsched::transport {

class GrpcTransport final : public runtime::Transport, public Greeter {
 public:
  GrpcTransport(runtime::TransportOptions options, GrpcOptions grpc)
      : options_(std::move(options)), grpc_(std::move(grpc)) {
    for (int peer = 0; peer < options_.nodes; ++peer) {
      links_.push_back(
          !options_.IsPartner(peer)
              ? nullptr
              : std::make_unique<Link>(
                    Link::Settings{
                        peer, options_.peers[peer],
                        grpc_.chunk_bytes, grpc_.eager_bytes,
                        options_.unexpected_bytes,
                        [this, peer](const absl::Status &why) {
                          PeerFailed(peer, why);
                        }},
                    &callbacks_, &monitor_));
    }
  }

  ~GrpcTransport() override { Close(absl::ZeroDuration()); }

  absl::Status Connect();

  int rank() const override { return options_.rank; }
  int nodes() const override { return options_.nodes; }
  const char *name() const override { return "grpc"; }
  bool overtakes() const override { return true; }

  void Send(int peer, MessageTag tag, int32_t priority,
            absl::Span<const std::byte> bytes, Done done) override {
    if (links_[peer] == nullptr) return done(runtime::NoPartner(peer));
    links_[peer]->Send(tag, priority, bytes, std::move(done));
    Begun();
  }

  void Hold(const std::optional<plan::Urgency> &least) override {
    ForLinks([&](Link &link) { link.Hold(least); });
    Begun();
  }

  void Recv(int peer, MessageTag tag, absl::Span<std::byte> buffer,
            Done done) override {
    if (links_[peer] == nullptr) return done(runtime::NoPartner(peer));
    auto receive = std::make_unique<Receive>();
    receive->bytes = buffer.size();
    receive->buffer = buffer;
    receive->done = std::move(done);
    links_[peer]->Recv(tag, std::move(receive));
    Begun();
  }

  void RecvStream(int peer, MessageTag tag, size_t bytes, size_t unit,
                  Sink sink, Done done) override {
    if (links_[peer] == nullptr) return done(runtime::NoPartner(peer));
    auto receive = std::make_unique<Receive>();
    receive->bytes = bytes;
    receive->sink = std::move(sink);
    receive->unit = unit;
    receive->done = std::move(done);
    links_[peer]->Recv(tag, std::move(receive));
    Begun();
  }

  void Abort(const absl::Status &why) override {
    ForLinks([&](Link &link) { link.Abort(why); });
    Begun();
  }

  void Close(absl::Duration flush) override;

  uint64_t bytes_sent() const override {
    uint64_t sum = 0;
    for (const auto &link : links_) sum += link ? link->bytes_sent() : 0;
    return sum;
  }
  uint64_t bytes_received() const override {
    uint64_t sum = 0;
    for (const auto &link : links_) sum += link ? link->bytes_received() : 0;
    return sum;
  }

 private:
  // For proving the token.
  static constexpr auto kPatience = std::chrono::seconds(10);

  template <typename F>
  void ForLinks(F use) const {
    for (const auto &link : links_)
      if (link != nullptr) use(*link);
  }

  template <typename F>
  bool AllLinks(F holds) const {
    return std::all_of(links_.begin(), links_.end(), [&](const auto &link) {
      return link == nullptr || holds(*link);
    });
  }

  // A thread that rests goes on.
  void Begun() {
    if (grpc_.seldom) monitor_.Notify();
  }
  // Nothing is under way, and nobody joins or leaves.
  bool Resting() const {
    if (!callbacks_.idle()) return false;
    runtime::MutexLock lock(&mu_);
    return !connecting_ && !closing_;
  }
  void Drive();
  absl::Status Listen();
  void AcceptNext();
  void PeerFailed(int peer, const absl::Status &why);
  absl::Status Late() const;
  void Linger();

  // Greeter
  Hello OwnHello(int to) const override;
  Link *link(int peer) const override { return links_[peer].get(); }
  const std::string &token() const override { return grpc_.security.token; }
  Sharing *sharing() override { return &sharing_; }
  void RefusedStranger(absl::string_view peer, absl::string_view why) override {
    gate_.Log(peer, why);
  }
  void Refused(int peer, const absl::Status &why, bool over) override;
  void Changed() override { monitor_.Notify(); }

  const runtime::TransportOptions options_;
  const GrpcOptions grpc_;
  Sharing sharing_{.enabled = grpc_.shared_memory, .payload = grpc_.shared_bytes};
  Monitor monitor_;
  Callbacks callbacks_{&monitor_};
  std::vector<std::unique_ptr<Link>> links_;          // by rank; only of partners
  std::map<int, std::unique_ptr<Dialler>> diallers_;  // of lower ranks
  Gate gate_{grpc_.security.token, kPatience, grpc_.log, &sharing_};
  RawService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;

  mutable runtime::Mutex mu_;
  bool connecting_ ABSL_GUARDED_BY(mu_) = true;
  absl::Status connect_error_ ABSL_GUARDED_BY(mu_);
  bool refused_ ABSL_GUARDED_BY(mu_) = false;   // a peer, which is to hear why
  std::set<int> knowing_ ABSL_GUARDED_BY(mu_);  // peers that were refused, or have refused this rank
  bool over_ ABSL_GUARDED_BY(mu_) = false;      // there is a later membership
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_RANKS_TRANSPORT_OF_RANK_H
