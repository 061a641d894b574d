// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/servers/frame_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/base/admission.h"
#include "grpc/servers/parameter_protocol.h"

namespace commsched::transport {
namespace {

using runtime::Clock;
using runtime::MutexLock;
using runtime::core::PacketSize;

constexpr char kAttachMethod[] =
    "/commsched.parameter.ParameterService/Attach";
constexpr size_t kMaxHeader = 1 << 20;

void DropOwner(void *owner) {
  delete static_cast<std::shared_ptr<const void> *>(owner);
}

}  // namespace

void FrameStream::DialServer(std::shared_ptr<grpc::Channel> channel,
                             grpc::CompletionQueue *queue, bool patient,
                             const std::string &token,
                             const parameter::Header &first, Sharing *sharing) {
  PacketWriter writer;
  writer.Add(first);
  const grpc::ByteBuffer packet = writer.Finish();
  MutexLock lock(&mu_);  // OnOpen waits until stream_ is set
  self_ = shared_from_this();
  stream_ = DialWithProof(std::move(channel), queue, this, token, packet,
                          kAttachMethod, patient, sharing);
}

void FrameStream::TakeAccepted(std::shared_ptr<Stream> stream,
                               grpc::ByteBuffer first) {
  {
    MutexLock lock(&mu_);
    self_ = shared_from_this();
    stream_ = stream;
    packet_size_ = PacketSize(std::min(chunk_bytes_, stream->packet_bytes()), slow_packet_);
    open_ = true;
  }
  stream->set_handler(this);
  if (first.Valid()) return OnRead(std::move(first));  // and goes on reading
  stream->Read();
}

void FrameStream::OnOpen(std::shared_ptr<Stream> stream) {
  {
    MutexLock lock(&mu_);
    open_ = true;
    stream_ = stream;
    packet_size_ = PacketSize(std::min(chunk_bytes_, stream->packet_bytes()), slow_packet_);
  }
  OnConnected();
  Flush();
  stream->Read();
}

void FrameStream::Put(parameter::Header control) {
  MutexLock lock(&mu_);
  if (!dead_ && !ending_) control_.push_back(std::move(control));
}

void FrameStream::PutBehind(parameter::Header control) {
  MutexLock lock(&mu_);
  if (!dead_ && !ending_) behind_.push_back(std::move(control));
}

void FrameStream::PutWithPush(parameter::Header control, uint32_t block, uint64_t step) {
  MutexLock lock(&mu_);
  if (dead_ || ending_) return;
  if (auto push = pushes_.find({block, step}); push != pushes_.end())
    push->second->with.push_back(std::move(control));
  else
    control_.push_back(std::move(control));
}

void FrameStream::PutData(parameter::Header data, runtime::SharedBytes payload,
                          int32_t priority) {
  const uint64_t step = DataOf(data)->step();
  const uint32_t block = DataOf(data)->block();
  const bool whole = data.has_push();
  const size_t bytes = payload.bytes.size();
  auto outgoing = std::make_shared<Outgoing>(Outgoing{std::move(data), std::move(payload), {}});
  MutexLock lock(&mu_);
  if (dead_ || ending_) return;
  if (whole) pushes_[{block, step}] = outgoing.get();
  data_.Push({priority, step}, {block, next_data_++}, bytes, std::move(outgoing), whole);
}

void FrameStream::End(absl::Status status) {
  {
    MutexLock lock(&mu_);
    if (ending_) return;
    ending_ = true;
    end_status_ = std::move(status);
  }
  Flush();
}

void FrameStream::ForgetData() {
  Dropped dropped;
  MutexLock lock(&mu_);
  dropped = TakeData();
}

FrameStream::Dropped FrameStream::TakeData() {
  behind_.clear();
  pushes_.clear();
  return data_.Clear();
}

void FrameStream::Drop() {
  Dropped dropped;
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    dead_ = true;
    control_.clear();
    dropped = TakeData();
    stream = stream_;
  }
  if (stream != nullptr) stream->Cancel();
}

std::string FrameStream::peer() {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
  }
  return stream == nullptr ? "" : stream->peer();
}

void FrameStream::Flush() {
  grpc::ByteBuffer packet;
  std::shared_ptr<Stream> stream;
  absl::Status end;
  bool write = false;
  {
    MutexLock lock(&mu_);
    if (!open_ || writing_ || dead_ || stream_ == nullptr) return;
    stream = stream_;
    if (!control_.empty() || !data_.empty() || !behind_.empty()) {
      packet = NextPacket();
      writing_ = write = true;
      written_from_ = Clock::now();
    } else if (ending_) {
      dead_ = true;
      end = end_status_;
    } else {
      return;
    }
  }
  if (!write) return stream->End(std::move(end));
  if (stream->Write(std::move(packet))) return;
  Dropped dropped;
  MutexLock lock(&mu_);
  writing_ = false;
  dead_ = true;
  dropped = TakeData();
}

void FrameStream::OnWritten(bool ok) {
  Dropped dropped;
  {
    MutexLock lock(&mu_);
    writing_ = false;
    packet_size_.Written(packet_bytes_, runtime::ToTime(written_from_),
                         runtime::ToTime(Clock::now()));
    if (!ok) {
      dead_ = true;
      dropped = TakeData();
    }
  }
  Flush();
}

grpc::ByteBuffer FrameStream::NextPacket() {
  PacketWriter writer;
  const size_t most = packet_size_.bytes();
  const auto add = [&](std::deque<parameter::Header> *headers) {
    for (; !headers->empty() && writer.frames() < plan::kPacketFrames && writer.bytes() < most;
         headers->pop_front())
      writer.Add(headers->front());
  };
  add(&control_);
  // They wait for a short packet, so that what is cut into whole packets stays in them.
  const bool before = writer.frames() > 0 && !plan::IsShortServerPacket(int64_t(most));
  data_.Take(
      writer.bytes() < most ? most : 0, plan::kPacketFrames - writer.frames(),
      [&](const std::shared_ptr<Outgoing> &next, size_t offset, size_t size, bool last) {
        const runtime::SharedBytes &payload = next->payload;
        parameter::Data *data = DataOf(next->header);
        data->set_offset(offset);
        data->set_total(payload.bytes.size());
        const auto part = payload.bytes.subspan(offset, size);
        if (size == 0) {
          writer.Add(next->header);
        } else if (size <= kCopyBytes) {
          writer.AddCopy(next->header, part);
        } else {
          // gRPC does not write to slices that it did not make.
          writer.AddSlice(
              next->header,
              grpc::Slice(const_cast<std::byte *>(part.data()), size, &DropOwner,
                          new std::shared_ptr<const void>(payload.owner)));
        }
        if (!last || !next->header.has_push()) return;
        for (const parameter::Header &control : next->with) writer.Add(control);
        pushes_.erase({data->block(), data->step()});
      },
      size_t(plan::EnoughOfServerPacket(int64_t(most))), before);
  if (data_.empty()) add(&behind_);
  packet_bytes_ = writer.bytes();
  return writer.Finish();
}

absl::Status FrameStream::TakePacket(const grpc::ByteBuffer &packet) {
  PacketReader reader(packet, kMaxHeader);
  parameter::Header header;
  while (true) {
    absl::StatusOr<bool> more = reader.Next(&header);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    if (reader.payload_bytes() > 0 && DataOf(header) == nullptr)
      return absl::DataLossError("got a payload in a frame that has none");
    if (absl::Status status = OnFrame(header, reader); !status.ok())
      return status;
  }
}

void FrameStream::OnRead(grpc::ByteBuffer packet) {
  if (!discarding_) {
    if (absl::Status status = TakePacket(packet); !status.ok()) {
      discarding_ = true;
      OnBadFrame(status);
    }
  }
  packet.Clear();
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
  }
  // Goes on even if nothing more is wanted: only so the end is seen.
  if (stream != nullptr) stream->Read();
}

void FrameStream::OnClosed(absl::Status status) {
  Dropped dropped;
  std::shared_ptr<FrameStream> self;
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    dead_ = true;
    control_.clear();
    dropped = TakeData();
    stream = std::move(stream_);
    stream_ = nullptr;
    self = std::move(self_);
  }
  OnGone(std::move(status));
}

}  // namespace commsched::transport
