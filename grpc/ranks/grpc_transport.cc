// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/ranks/grpc_transport.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "grpc/base/address.h"
#include "grpc/base/handover.h"
#include "grpc/base/open_files.h"
#include "grpc/base/options.h"
#include "grpc/base/process.h"
#include "grpc/base/sockets.h"
#include "grpc/ranks/transport_of_rank.h"

namespace commsched::transport {

using runtime::Clock;
using runtime::MutexLock;
using runtime::TransportOptions;

namespace {

// For a peer to read why it is refused, before the connection ends with the process:
// nobody says when it has.
constexpr auto kRefusalGrace = std::chrono::milliseconds(300);
// Between two looks at a network that is seldom used; and how long a thread waits for it that
// may be the last one in which something was done.
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr auto kSettling = std::chrono::milliseconds(100);

}  // namespace

void GrpcTransport::PeerFailed(int peer, const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    if (closed_) return;
    if (connecting_) {
      if (connect_error_.ok()) connect_error_ = why;
      return;
    }
  }
  if (options_.on_peer_failure) options_.on_peer_failure(peer, why);
}

void GrpcTransport::Drive() {
  // Not of the clock that says what time of day it is, which may be set.
  gpr_timespec until = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  bool nothing = grpc_.seldom;
  while (true) {
    if (nothing) {
      const bool rests = !monitor_.Wait(Clock::now() + kLook, [this] { return !Resting(); });
      until = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                           gpr_time_from_millis(rests ? 0 : kSettling.count(), GPR_TIMESPAN));
    }
    void *event;
    bool ok;
    const auto next = queue_->AsyncNext(&event, &ok, until);
    if (next == grpc::CompletionQueue::SHUTDOWN) return;
    nothing = next == grpc::CompletionQueue::TIMEOUT;
    if (nothing) continue;
    TakeOver();
    static_cast<Event *>(event)->Happened(ok);
    HandOver();
  }
}

void GrpcTransport::Close(absl::Duration flush) {
  const Clock::time_point deadline = runtime::After(flush);
  {
    MutexLock lock(&mu_);
    if (closed_) return;
    closing_ = true;
  }
  Hold(std::nullopt);
  if (queue_ != nullptr) {
    monitor_.Wait(deadline, [&] {
      return AllLinks([](Link &link) { return link.sends_done(); });
    });
    ForLinks([](Link &link) { link.SayGoodbye(); });
    auto closed = [&] {
      return AllLinks([](Link &link) { return link.closed(); });
    };
    // All that is left is an exchange of two packets with each peer.
    monitor_.Wait(std::max(deadline, Clock::now() + kGoodbyeGrace), closed);
    bool refused = false;
    {
      MutexLock lock(&mu_);
      closed_ = true;
      refused = refused_;
    }
    for (auto &[peer, dialler] : diallers_) dialler->Stop();
    ForLinks([](Link &link) { link.Drop(); });
    if (refused) std::this_thread::sleep_for(kRefusalGrace);
    server_->Shutdown(std::chrono::system_clock::now());
    gate_.Close();
    monitor_.Wait(Clock::time_point::max(), [&] {
      return closed() && std::all_of(diallers_.begin(), diallers_.end(),
                                     [](auto &d) { return d.second->idle(); });
    });
    for (auto &[peer, dialler] : diallers_) dialler->DropChannel();
    // Memory that gRPC still refers to is in writes to peers that do not read:
    // these end with the connections, at the latest after the keepalive time.
    monitor_.Wait(Clock::time_point::max(), [&] { return callbacks_.idle(); });
    sharing_.loop.Stop();
    queue_->Shutdown();
    for (std::thread &thread : threads_) thread.join();
    server_ = nullptr;
    queue_ = nullptr;
  }
  MutexLock lock(&mu_);
  closed_ = true;
}

absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectGrpc(
    TransportOptions options, GrpcOptions grpc) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  for (const std::string &peer : options.peers)
    if (absl::Status status = CheckDialled(peer, "a rank", grpc.security);
        !status.ok())
      return status;
  if (absl::Status status = CheckCongestion(grpc.congestion_control); !status.ok())
    return status;
  grpc = Clamped(std::move(grpc));
  size_t partners = 0;
  for (int peer = 0; peer < options.nodes; ++peer) partners += options.IsPartner(peer);
  if (absl::Status status = CheckOpenFiles(partners, &grpc.shared_memory); !status.ok()) return status;
  InitialiseGrpc();
  auto transport = std::make_unique<GrpcTransport>(std::move(options), std::move(grpc));
  if (absl::Status status = transport->Connect(); !status.ok()) {
    transport->Close(absl::ZeroDuration());
    return status;
  }
  return transport;
}

}  // namespace commsched::transport
