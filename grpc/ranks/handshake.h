// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How two ranks greet each other: the first packet of each side of a stream, once
// both have proved the job's token.
#ifndef COMMSCHED_GRPC_RANKS_HANDSHAKE_H
#define COMMSCHED_GRPC_RANKS_HANDSHAKE_H

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "grpc/base/admission.h"
#include "grpc/base/stream.h"
#include "grpc/ranks/link.h"
#include "runtime/base/sync.h"

namespace commsched::transport {

inline constexpr uint32_t kProtocolVersion = 7;

// What the handshakes of a rank share. Threading: as for Stream.
class Greeter {
 public:
  virtual ~Greeter() = default;
  virtual Hello OwnHello(int to) const = 0;
  virtual Link *link(int peer) const = 0;  // null: it is no partner
  virtual const std::string &token() const = 0;
  virtual Sharing *sharing() = 0;
  // For the log.
  virtual void RefusedStranger(absl::string_view peer, absl::string_view why) = 0;
  // A rank of this job, as it seems, does not fit; or refuses this rank. `over`: the job is, as there is a later membership.
  virtual void Refused(int peer, const absl::Status &why, bool over = false) = 0;
  // A dialler has become idle.
  virtual void Changed() = 0;
};

// Accepting side, for who has come through the gate with `packet`, its Hello:
// hands `stream` to its link, or refuses it. Outlived by the greeter.
void Greet(std::shared_ptr<Stream> stream, const grpc::ByteBuffer &packet,
           Greeter *greeter);

// Dialling side, for one peer. Must outlive its streams: until idle().
// Threading: as for Stream; DialIfIdle, Stop and DropChannel from one thread.
class Dialler final : public StreamHandler {
 public:
  using MakeChannel = std::function<std::shared_ptr<grpc::Channel>()>;
  Dialler(int peer, MakeChannel make, grpc::CompletionQueue *queue, Greeter *greeter);

  // Calls the peer unless that is under way or has succeeded.
  void DialIfIdle();
  void Stop();
  bool idle() const;
  void DropChannel() { channel_ = nullptr; }
  absl::Status last_error() const;

  void OnOpen(std::shared_ptr<Stream> stream) override;
  void OnRead(grpc::ByteBuffer packet) override;
  void OnWritten(bool) override {}
  void OnClosed(absl::Status status) override;

 private:
  const int peer_;
  const MakeChannel make_;
  std::shared_ptr<grpc::Channel> channel_;
  runtime::Clock::time_point made_ = runtime::Clock::now();  // channel_
  grpc::CompletionQueue *const queue_;
  Greeter *const greeter_;

  mutable runtime::Mutex mu_;
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status last_error_ ABSL_GUARDED_BY(mu_);
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_RANKS_HANDSHAKE_H
