// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One connection between a trainer and a parameter server: frames of
// parameter_service.proto in and out, payloads cut into parts of bounded size.
//
// A FrameStream keeps itself alive from Dial or Accept until OnGone. Derived
// classes are called by completion-queue threads, without a lock, one call at a
// time, OnGone last.
//
// Threading: all public methods may be called from any thread.
#ifndef COMMSCHED_GRPC_SERVERS_FRAME_STREAM_H
#define COMMSCHED_GRPC_SERVERS_FRAME_STREAM_H

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "grpc/base/shared_stream.h"
#include "grpc/base/stream.h"
#include "grpc/base/wire.h"
#include "grpc/servers/parameter_service.pb.h"
#include "plan/packet_queue.h"
#include "runtime/base/sync.h"
#include "runtime/base/time.h"
#include "runtime/core/packet_size.h"
#include "runtime/servers/parameter_server.h"

namespace commsched::transport {

class FrameStream : public StreamHandler,
                    public std::enable_shared_from_this<FrameStream> {
 public:
  // `chunk_bytes`: largest packet, roughly; on slow links they are smaller (core::PacketSize), and where many such connections share
  // one: the larger number of trainers and servers.
  FrameStream(size_t chunk_bytes, int sharing)
      : chunk_bytes_(chunk_bytes), slow_packet_(plan::SlowServerPacket(sharing)), packet_size_(chunk_bytes, slow_packet_) {}

  // `patient`: waits until the server is there, else fails where it is not.
  // Both sides prove `token` first; `first` goes with the proof. `sharing` as in DialWithProof.
  void DialServer(std::shared_ptr<grpc::Channel> channel,
                  grpc::CompletionQueue *queue, bool patient,
                  const std::string &token, const parameter::Header &first,
                  Sharing *sharing = nullptr);
  // `first` has come already, if it is a packet.
  void TakeAccepted(std::shared_ptr<Stream> stream, grpc::ByteBuffer first = {});

  // Put a frame in the queue; Put overtakes the data in it, PutBehind does not.
  // Flush sends: to be called afterwards, without a lock that a destructor of
  // payloads would need.
  void Put(parameter::Header control);
  void PutBehind(parameter::Header control);
  // With the last part of the push of that block and step, right behind it: a message less. As Put, if that has gone.
  void PutWithPush(parameter::Header control, uint32_t block, uint64_t step);
  // `data` is one of those with a payload, with block, step and request. It goes in the order of a
  // plan::PacketQueue, of which a push is a whole: by urgency (plan/urgency.h), then that of a
  // smaller block, part by part: a large block does not hold up what is more urgent, and all
  // trainers send in one order, so that servers soon have what they need of all. Data of one block
  // and step goes in the order of coming. One packet at a time is handed over, so that never more
  // than one is under way that a step's credit (Function.credit_bytes) would count.
  void PutData(parameter::Header data, runtime::SharedBytes payload,
               int32_t priority = 0);
  void Flush();

  // What is in the queue is sent, then nothing more: the trainer's side waits
  // for the end of the call, the server's side ends it with `status`.
  void End(absl::Status status = absl::OkStatus());
  // Forgets the data in the queue.
  void ForgetData();
  // Forgets the queue and drops the connection.
  void Drop();

  std::string peer();

 protected:
  virtual void OnConnected() {}
  // An error: nothing more is read, and OnBadFrame follows.
  virtual absl::Status OnFrame(const parameter::Header &header,
                               PacketReader &reader) = 0;
  virtual void OnBadFrame(const absl::Status &why) = 0;
  // On the server's side always OK.
  virtual void OnGone(absl::Status status) = 0;

 private:
  struct Outgoing {
    parameter::Header header;
    runtime::SharedBytes payload;
    std::vector<parameter::Header> with;  // behind its last part
  };
  using Order = std::pair<uint32_t, uint64_t>;  // block, coming
  using Queue = plan::PacketQueue<Order, std::shared_ptr<Outgoing>, size_t>;
  using Dropped = std::vector<std::shared_ptr<Outgoing>>;

  void OnOpen(std::shared_ptr<Stream> stream) final;
  void OnRead(grpc::ByteBuffer packet) final;
  void OnWritten(bool ok) final;
  void OnClosed(absl::Status status) final;
  absl::Status TakePacket(const grpc::ByteBuffer &packet);
  grpc::ByteBuffer NextPacket() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets what waits; what is returned is let go of without the lock.
  Dropped TakeData() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  bool discarding_ = false;  // for the reading thread

  runtime::Mutex mu_;
  std::shared_ptr<FrameStream> self_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mu_);
  const size_t chunk_bytes_;
  const runtime::Time slow_packet_;
  runtime::core::PacketSize packet_size_ ABSL_GUARDED_BY(mu_);
  // Of the packet that is written or was last.
  size_t packet_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  runtime::Clock::time_point written_from_ ABSL_GUARDED_BY(mu_);
  bool open_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool dead_ ABSL_GUARDED_BY(mu_) = false;  // nothing can be written any more
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mu_);
  std::deque<parameter::Header> control_ ABSL_GUARDED_BY(mu_);
  Queue data_ ABSL_GUARDED_BY(mu_);
  // Pushes in data_, by block and step.
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, Outgoing *> pushes_ ABSL_GUARDED_BY(mu_);
  std::deque<parameter::Header> behind_ ABSL_GUARDED_BY(mu_);  // all data
  uint64_t next_data_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_SERVERS_FRAME_STREAM_H
