// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a trainer has with one server: the machine of runtime/core/trainer_link.h with
// gRPC's streams and the caller's memory.
//
// Lifetime: until closed() and Callbacks::idle().
// Threading: all methods may be called from any thread.
#ifndef COMMSCHED_GRPC_SERVERS_SERVER_LINK_H
#define COMMSCHED_GRPC_SERVERS_SERVER_LINK_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "grpc/base/buffer_pool.h"
#include "grpc/base/callbacks.h"
#include "grpc/servers/frame_stream.h"
#include "grpc/servers/parameter_client.h"
#include "runtime/base/sync.h"
#include "runtime/core/trainer_link.h"

namespace commsched::transport {

class ServerLink {
 public:
  using Done = runtime::ParameterClient::Done;

  struct Settings {
    int server;
    std::string address;
    size_t chunk_bytes;
    absl::Duration deadline;  // for coming (back)
    std::string token;
    Sharing *sharing;
    parameter::Join join;
    runtime::ServerOrder order;  // at first
    // Called once, by any thread, without a lock: this server is lost for good,
    // or has ended the job.
    std::function<void(const absl::Status &)> on_failure;
  };

  using MakeChannel = std::function<std::shared_ptr<grpc::Channel>()>;
  ServerLink(Settings settings, MakeChannel make,
             grpc::CompletionQueue *queue, Callbacks *callbacks,
             Monitor *monitor);

  // "server 1 (host:port)"
  const std::string &label() const { return label_; }

  // Dials if that is due, and looks at the deadline. Returns when to come again.
  runtime::Clock::time_point Tick();

  void Push(uint32_t block, uint64_t step, absl::Span<const std::byte> bytes,
            Done done);
  void Pull(uint32_t block, uint64_t version, absl::Span<std::byte> buffer,
            Done done);
  void PullRows(uint32_t block, uint64_t version,
                absl::Span<const int64_t> ids, absl::Span<std::byte> buffer,
                Done done);
  void SetOrder(const runtime::ServerOrder &order);
  void Finish(uint64_t steps);

  // Everything that waits, and everything later, fails with `why`. The
  // connection stays.
  void Fail(const absl::Status &why);
  // The last thing that is said, then the connection ends.
  void Leave(parameter::Header last);
  void Drop();
  void DropChannel();

  bool welcomed() const;  // ever
  bool has_blocks() const;
  bool finished() const;
  runtime::Clock::time_point heard() const;  // when something came last
  bool closed() const;                       // no connection, nor will there be one
  uint64_t first_step() const;
  bool keeps_checkpoints() const;
  uint64_t bytes_sent() const { return bytes_sent_; }
  uint64_t bytes_received() const { return bytes_received_; }

 private:
  class Connection;

  // Bytes of a push; its end lets the caller know, if he lent the memory.
  class Lent;
  struct Pending {
    absl::Span<std::byte> buffer;
    size_t got = 0;
    bool busy = false;     // a thread writes to the buffer
    absl::Status failure;  // set while busy
    Done done;
  };
  using Key = std::pair<uint64_t, uint32_t>;  // step or version, block
  using Message = runtime::core::TrainerLink::Message;
  struct RowPull : Pending {
    Key key;
    runtime::SharedBytes ids;
  };

  // From the connection.
  void OnConnected();
  absl::Status OnFrame(const parameter::Header &header, PacketReader &reader);
  absl::Status OnWelcome(const parameter::Welcome &welcome);
  absl::Status OnValue(const parameter::Data &data, PacketReader &reader);
  absl::Status OnRows(const parameter::Data &data, PacketReader &reader);
  int32_t OfPull(uint32_t block) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return order_.OfPull(size_t(settings_.server), block);
  }
  // A part of what a pull waits for.
  absl::Status CheckPart(const Pending &pull, const parameter::Data &data,
                         size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t CopyPart(const Pending &pull, PacketReader &reader);
  bool TakePart(Pending &pull, size_t at, absl::Status &status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnBadFrame(const absl::Status &why);
  void OnGone(absl::Status status);

  void Broken(absl::Status why);  // for good
  // Whether a push of so many bytes is kept as a copy, else the caller's memory.
  bool IsCopied(size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Into the queue of the present stream, which is to be flushed then.
  void Put(const Message &message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Named(absl::StatusCode code, absl::string_view what) const;
  void RunDone(Done done, absl::Status status);

  const Settings settings_;
  const std::string label_;
  grpc::CompletionQueue *const queue_;
  Callbacks *const callbacks_;
  Monitor *const monitor_;
  BufferPool pool_{2};
  std::atomic<uint64_t> bytes_sent_{0}, bytes_received_{0};

  mutable runtime::Mutex mu_;
  const MakeChannel make_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<FrameStream> stream_ ABSL_GUARDED_BY(mu_);
  runtime::core::TrainerLink machine_ ABSL_GUARDED_BY(mu_);
  runtime::ServerOrder order_ ABSL_GUARDED_BY(mu_);
  bool leaving_ ABSL_GUARDED_BY(mu_) = false;  // by the trainer's will
  bool broken_ ABSL_GUARDED_BY(mu_) = false;   // by the server
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  absl::Status last_error_ ABSL_GUARDED_BY(mu_);
  runtime::Clock::time_point heard_ ABSL_GUARDED_BY(mu_);
  // Of the present stream, or the last one.
  runtime::Clock::time_point dialled_at_ ABSL_GUARDED_BY(mu_);
  bool patient_ ABSL_GUARDED_BY(mu_) = true;  // the next one will not be
  bool connected_ ABSL_GUARDED_BY(mu_) = false;
  bool patience_over_ ABSL_GUARDED_BY(mu_) = false;  // it is being dropped
  absl::btree_map<Key, std::shared_ptr<Pending>> pulls_ ABSL_GUARDED_BY(mu_);
  // By the number of the request.
  absl::btree_map<uint64_t, std::shared_ptr<RowPull>> row_pulls_
      ABSL_GUARDED_BY(mu_);
  // By block: the size of the last push. Memory of one size is used again.
  absl::btree_map<uint32_t, size_t> push_bytes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_SERVERS_SERVER_LINK_H
