// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/servers/frame_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/base/admission.h"
#include "grpc/servers/parameter_protocol.h"
#include "runtime/core/packet_queue.h"

namespace commsched::transport {
namespace {

using runtime::Clock;
using runtime::MutexLock;
using runtime::core::PacketSize;

constexpr char kAttachMethod[] =
    "/commsched.parameter.ParameterService/Attach";
constexpr size_t kMaxHeader = 1 << 20;
constexpr uint64_t kBehindAll = std::numeric_limits<uint64_t>::max();

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
    packet_size_ = PacketSize(std::min(chunk_bytes_, stream->packet_bytes()));
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
    packet_size_ = PacketSize(std::min(chunk_bytes_, stream->packet_bytes()));
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
  if (!dead_ && !ending_)
    data_.emplace(std::tuple(kBehindAll, 0, 0u, next_data_++),
                  Outgoing{std::move(control), {}});
}

void FrameStream::PutData(parameter::Header data, runtime::SharedBytes payload,
                          int32_t priority) {
  const uint64_t step = DataOf(data)->step();
  const uint32_t block = DataOf(data)->block();
  MutexLock lock(&mu_);
  if (!dead_ && !ending_)
    data_.emplace(std::tuple(step, priority, block, next_data_++),
                  Outgoing{std::move(data), std::move(payload)});
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
  Queue dropped;
  MutexLock lock(&mu_);
  TakeData(&dropped);
}

void FrameStream::TakeData(Queue *taken) {
  begun_.clear();
  taken->swap(data_);
}

void FrameStream::Drop() {
  Queue dropped;
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    dead_ = true;
    control_.clear();
    TakeData(&dropped);
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
    if (!control_.empty() || NextData() != data_.end()) {
      packet = NextPacket();
      writing_ = write = true;
      written_from_ = Clock::now();
    } else if (ending_ && data_.empty()) {
      dead_ = true;
      end = end_status_;
    } else {
      return;
    }
  }
  if (!write) return stream->End(std::move(end));
  if (stream->Write(std::move(packet))) return;
  Queue dropped;
  MutexLock lock(&mu_);
  writing_ = false;
  dead_ = true;
  TakeData(&dropped);
}

void FrameStream::OnWritten(bool ok) {
  Queue dropped;
  {
    MutexLock lock(&mu_);
    writing_ = false;
    packet_size_.Written(packet_bytes_, runtime::ToTime(written_from_),
                         runtime::ToTime(Clock::now()));
    if (!ok) {
      dead_ = true;
      TakeData(&dropped);
    }
  }
  Flush();
}

// What is sent next, or the end: the first of the queue, or the rest of a push that has been begun
// and is not overtaken by it.
FrameStream::Queue::iterator FrameStream::NextData() {
  const auto rest = [](const Outgoing &outgoing) {
    return outgoing.payload.bytes.size() - outgoing.written;
  };
  const auto first = data_.begin();
  if (first == data_.end() || begun_.empty()) return first;
  return runtime::core::OvertakesWhole(rest(first->second), rest(begun_.back()->second)) ? first : begun_.back();
}

grpc::ByteBuffer FrameStream::NextPacket() {
  PacketWriter writer;
  const size_t most = packet_size_.bytes();
  while (!control_.empty() && writer.frames() < runtime::core::kPacketFrames &&
         writer.bytes() < most) {
    writer.Add(control_.front());
    control_.pop_front();
  }
  while (writer.frames() < runtime::core::kPacketFrames && writer.bytes() < most) {
    const auto first = NextData();
    if (first == data_.end()) break;
    Outgoing &next = first->second;
    parameter::Data *data = DataOf(next.header);
    if (data == nullptr) {
      writer.Add(next.header);
      data_.erase(first);
      continue;
    }
    const size_t total = next.payload.bytes.size();
    const size_t size = std::min(total - next.written, most);
    data->set_offset(next.written);
    data->set_total(total);
    auto part = next.payload.bytes.subspan(next.written, size);
    if (size == 0) {
      writer.Add(next.header);
    } else if (size <= kCopyBytes) {
      writer.AddCopy(next.header, part);
    } else {
      // gRPC does not write to slices that it did not make.
      writer.AddSlice(
          next.header,
          grpc::Slice(const_cast<std::byte *>(part.data()), size, &DropOwner,
                      new std::shared_ptr<const void>(next.payload.owner)));
    }
    if (next.header.has_push() && next.written == 0 && size < total) begun_.push_back(first);
    next.written += size;
    if (next.written < total) continue;
    if (!begun_.empty() && begun_.back() == first) begun_.pop_back();
    data_.erase(first);
  }
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
  Queue dropped;
  std::shared_ptr<FrameStream> self;
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    dead_ = true;
    control_.clear();
    TakeData(&dropped);
    stream = std::move(stream_);
    stream_ = nullptr;
    self = std::move(self_);
  }
  OnGone(std::move(status));
}

}  // namespace commsched::transport
