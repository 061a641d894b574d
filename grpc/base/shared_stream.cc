// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/shared_stream.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "runtime/base/sync.h"

namespace commsched::transport {
namespace {

using runtime::Mutex;
using runtime::MutexLock;
using Writer = runtime::LaneWriter<PartHeader>;
using Reader = runtime::LaneReader<PartHeader>;

// Packets that are passed on before others have their turn.
constexpr int kTurn = 8;
// Of a packet: as of gRPC's.
constexpr size_t kMaxPacket = size_t{12} << 20;

// What comes in: gives places back in order, though they may be let go of in any. Slices
// keep it, and with it the memory.
class Incoming : public std::enable_shared_from_this<Incoming> {
 public:
  explicit Incoming(std::shared_ptr<SharedWire> wire)
      : wire_(std::move(wire)), reader_(wire_->shape(), wire_->own(), wire_->theirs()) {}

  // The first three in the thread that reads.
  bool Peek(Reader::Message *message) {
    MutexLock lock(&mu_);
    return reader_.Peek(message);
  }
  void WantMessage() {
    MutexLock lock(&mu_);
    reader_.WantMessage();
  }
  // Passes the message; its place is given back with the slice.
  grpc::Slice Take(const Reader::Message &message) {
    auto *hold = new Hold;
    {
      MutexLock lock(&mu_);
      reader_.Pass();
      held_.push_back(true);
      hold->number = passed_++;
      hold->bytes = message.payload.size();
    }
    hold->of = shared_from_this();
    // gRPC does not write to slices that it did not make.
    return grpc::Slice(const_cast<std::byte *>(message.payload.data()), message.payload.size(),
                       &Incoming::LetGo, hold);
  }
  void Skip(const Reader::Message &message) {
    uint64_t number;
    {
      MutexLock lock(&mu_);
      reader_.Pass();
      held_.push_back(true);
      number = passed_++;
    }
    Give(number, message.payload.size());
  }

 private:
  struct Hold {
    std::shared_ptr<Incoming> of;
    uint64_t number;
    size_t bytes;
  };
  static void LetGo(void *pointer) {
    std::unique_ptr<Hold> hold(static_cast<Hold *>(pointer));
    hold->of->Give(hold->number, hold->bytes);
  }
  // Who waits for room is woken when half of all is free again, or nothing is left: not for
  // each packet.
  void Give(uint64_t number, size_t bytes) {
    bool wakes = false;
    {
      MutexLock lock(&mu_);
      held_[size_t(number - given_)] = false;
      while (!held_.empty() && !held_.front()) {
        held_.pop_front();
        ++given_;
        reader_.Give(std::memory_order_seq_cst);
      }
      free_bytes_ += bytes;
      Reader::Message next;
      if (free_bytes_ >= wire_->shape().largest() || !reader_.Peek(&next)) {
        free_bytes_ = 0;
        wakes = reader_.WakesWriter();
      }
    }
    if (wakes) wire_->WakePeer();
  }

  const std::shared_ptr<SharedWire> wire_;
  Mutex mu_;
  Reader reader_ ABSL_GUARDED_BY(mu_);
  // Of the messages that were passed and not given back.
  std::deque<bool> held_ ABSL_GUARDED_BY(mu_);
  uint64_t passed_ ABSL_GUARDED_BY(mu_) = 0, given_ ABSL_GUARDED_BY(mu_) = 0;
  size_t free_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // since the writer was looked after
};

class SharedStream final : public Stream,
                           public StreamHandler,
                           public SharedLoop::Source,
                           public std::enable_shared_from_this<SharedStream> {
 public:
  SharedStream(std::shared_ptr<Stream> below, std::shared_ptr<SharedWire> wire,
               SharedLoop *loop)
      : below_(std::move(below)),
        wire_(std::move(wire)),
        loop_(loop),
        incoming_(std::make_shared<Incoming>(wire_)),
        writer_(wire_->shape(), wire_->own(), wire_->theirs()) {}

  bool Begin() {
    if (!loop_->Add(this).ok()) return false;
    self_ = shared_from_this();
    below_->set_handler(this);
    below_->Read();  // sees the end
    Wake();          // what has come already
    return true;
  }

  // --- Stream
  void set_handler(StreamHandler *handler) override {
    MutexLock lock(&mu_);
    handler_ = handler;
  }

  void Read() override {
    {
      MutexLock lock(&mu_);
      if (closed_) return;
      read_wanted_ = true;
    }
    if (!loop_->here()) Wake();
  }

  bool Write(grpc::ByteBuffer &&packet) override {
    std::vector<grpc::Slice> slices;
    if (!packet.Dump(&slices).ok()) return false;
    packet.Clear();
    {
      MutexLock lock(&mu_);
      if (ended_ || lost_) return false;
      writing_ = true;
      slices_ = std::move(slices);
      left_ = 0;
      for (const grpc::Slice &slice : slices_) left_ += slice.size();
      slice_ = offset_ = 0;
      if (copying_) return true;  // by whom OnWritten is being called
    }
    Copy();
    return true;
  }

  void End(absl::Status status) override {
    {
      MutexLock lock(&mu_);
      ended_ = true;
    }
    below_->End(std::move(status));
  }

  void Cancel() override { below_->Cancel(); }
  std::string peer() override { return below_->peer(); }
  bool copies() const override { return true; }
  // Two of them, with headers, fit in one piece.
  size_t packet_bytes() const override {
    return (wire_->shape().payload / 4 - (wire_->shape().payload / 128)) / 64 * 64;
  }

  // --- StreamHandler, of the stream below
  void OnRead(grpc::ByteBuffer) override {
    Break(absl::DataLossError("got a packet beside those in shared memory"));
    below_->Read();
  }
  void OnWritten(bool) override {}
  void OnClosed(absl::Status status) override {
    {
      MutexLock lock(&mu_);
      lost_ = true;
      if (status_.ok()) status_ = std::move(status);
    }
    Wake();
  }

  // --- Source
  int wakes() const override { return wire_->wakes_me(); }
  void Arm() override { incoming_->WantMessage(); }
  bool Work() override {
    bool any = Copy();
    for (int i = 0; i < kTurn && Deliver(); ++i) any = true;
    if (!any && Close()) return false;
    return any;
  }

 private:
  // The loop's thread works on this stream.
  void Wake() {
    const uint64_t one = 1;
    (void)!write(wire_->wakes_me(), &one, sizeof(one));
  }

  void Break(absl::Status why) {
    {
      MutexLock lock(&mu_);
      broken_ = true;
      if (status_.ok()) status_ = std::move(why);
    }
    below_->Cancel();
  }

  // Copies what is being written as far as there is room, packet after packet. False if
  // nothing was done.
  bool Copy() {
    {
      MutexLock lock(&mu_);
      if (copying_) again_ = true;
      if (copying_ || !writing_) return false;
      copying_ = true;
    }
    bool any = false;
    while (true) {
      const bool whole = CopyPacket(&any);
      std::vector<grpc::Slice> copied;
      StreamHandler *handler = nullptr;
      bool lost = false;
      {
        MutexLock lock(&mu_);
        if (whole) {
          copied.swap(slices_);
          writing_ = false;
          handler = handler_;
        } else if (std::exchange(again_, false)) {
          continue;
        } else {
          copying_ = false;
          lost = lost_;
        }
      }
      if (whole) {
        copied.clear();
        handler->OnWritten(true);
        MutexLock lock(&mu_);
        if (writing_) continue;
        copying_ = again_ = false;
        lost = lost_;
      }
      if (lost) Wake();  // it has waited for this thread
      return any;
    }
  }

  // Only for the thread that copies. True if all of the packet is there.
  bool CopyPacket(bool *any) {
    const size_t largest = wire_->shape().largest();
    while (left_ > 0) {
      const size_t size = std::min(left_, largest);
      std::byte *place = writer_.Reserve(size);
      if (place == nullptr) {
        writer_.WantRoom();
        place = writer_.Reserve(size);
        if (place == nullptr) return false;
      }
      for (size_t done = 0; done < size;) {
        const grpc::Slice &slice = slices_[slice_];
        const size_t part = std::min(size - done, slice.size() - offset_);
        std::memcpy(place + done, slice.begin() + offset_, part);
        done += part;
        offset_ += part;
        if (offset_ == slice.size()) {
          ++slice_;
          offset_ = 0;
        }
      }
      left_ -= size;
      writer_.Commit({.payload = uint32_t(size), .more = left_ > 0}, std::memory_order_seq_cst);
      if (writer_.WakesReader()) wire_->WakePeer();
      *any = true;
    }
    return true;
  }

  // Passes the next packet on. False if nothing was done.
  bool Deliver() {
    StreamHandler *handler;
    {
      MutexLock lock(&mu_);
      if (!read_wanted_ || broken_) return false;
      handler = handler_;
    }
    Reader::Message message;
    if (!incoming_->Peek(&message)) return false;
    const PartHeader &header = message.header;
    if (!message.sound || header.payload == 0 || header.more > 1 ||
        header.payload > kMaxPacket - std::min(kMaxPacket, parts_.size())) {
      Break(absl::DataLossError("the shared memory is damaged"));
      return false;
    }
    grpc::Slice slice;
    if (header.more == 0 && parts_.empty()) {
      slice = incoming_->Take(message);
    } else {
      parts_.append(reinterpret_cast<const char *>(message.payload.data()),
                    message.payload.size());
      incoming_->Skip(message);
      if (header.more != 0) return true;
      slice = grpc::Slice(parts_);
      parts_ = std::string();
    }
    grpc::ByteBuffer packet(&slice, 1);
    slice = grpc::Slice();
    {
      MutexLock lock(&mu_);
      read_wanted_ = false;
    }
    handler->OnRead(std::move(packet));
    return true;
  }

  // If the stream below has ended and nothing of the peer's is left: the last thing that
  // happens. True if this is closed.
  bool Close() {
    StreamHandler *handler;
    absl::Status status;
    std::vector<grpc::Slice> dropped;
    bool unwritten;
    {
      MutexLock lock(&mu_);
      if (!lost_ || copying_ || !read_wanted_ || closed_) return closed_;
      closed_ = true;
      dropped.swap(slices_);
      unwritten = std::exchange(writing_, false);
      handler = handler_;
      status = status_;
    }
    dropped.clear();
    if (unwritten) handler->OnWritten(false);
    loop_->Remove(this);
    std::shared_ptr<SharedStream> last = std::move(self_);
    handler->OnClosed(std::move(status));
    return true;
  }

  const std::shared_ptr<Stream> below_;
  const std::shared_ptr<SharedWire> wire_;
  SharedLoop *const loop_;
  const std::shared_ptr<Incoming> incoming_;
  std::shared_ptr<SharedStream> self_;  // until it is closed
  std::string parts_;                   // of a long packet; the loop's thread's

  Mutex mu_;
  StreamHandler *handler_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool read_wanted_ ABSL_GUARDED_BY(mu_) = false;
  // From Write to OnWritten; and while a thread copies, or calls OnWritten.
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool copying_ ABSL_GUARDED_BY(mu_) = false;
  bool again_ ABSL_GUARDED_BY(mu_) = false;  // there may be room
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool lost_ ABSL_GUARDED_BY(mu_) = false;    // the stream below has ended
  bool broken_ ABSL_GUARDED_BY(mu_) = false;  // what the peer wrote is no packet
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);

  // Of the thread that copies, or writes while none does.
  Writer writer_;
  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0, offset_ = 0, left_ = 0;
};

}  // namespace

std::shared_ptr<Stream> ShareStream(std::shared_ptr<Stream> below,
                                    std::shared_ptr<SharedWire> wire, SharedLoop *loop) {
  auto stream = std::make_shared<SharedStream>(std::move(below), std::move(wire), loop);
  return stream->Begin() ? stream : nullptr;
}

}  // namespace commsched::transport
