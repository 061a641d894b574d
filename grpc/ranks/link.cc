// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/ranks/link.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/base/wire.h"
#include "grpc/ranks/tags.h"

namespace commsched::transport {
namespace {

using runtime::MutexLock;
using runtime::core::Control;

constexpr size_t kInbox = 2;  // packets read ahead

}  // namespace

Link::Link(Settings settings, Callbacks *callbacks, Monitor *monitor)
    : settings_(std::move(settings)),
      label_(absl::StrCat("peer ", settings_.peer, " (", settings_.address,
                          ")")),
      callbacks_(callbacks),
      monitor_(monitor),
      end_(label_),
      matcher_({settings_.eager_bytes, settings_.unexpected_bytes}),
      packet_size_(settings_.chunk_bytes) {}

bool Link::open() const {
  MutexLock lock(&mu_);
  return opened_;
}

bool Link::closed() const {
  MutexLock lock(&mu_);
  return stream_ == nullptr;
}

bool Link::sends_done() const {
  MutexLock lock(&mu_);
  return matcher_.sends() == 0 && in_last_packet_.empty();
}

bool Link::Open(std::shared_ptr<Stream> stream, const Hello &theirs,
                grpc::ByteBuffer *reply) {
  bool dropped = false;
  {
    MutexLock lock(&mu_);
    if (opened_) return false;
    opened_ = true;
    dropped = dropped_;
    stream_ = stream;
    copies_ = stream->copies();
    packet_size_ =
        runtime::core::PacketSize(std::min(settings_.chunk_bytes, stream->packet_bytes()));
    std::vector<Matcher::Going> going;
    matcher_.Open({theirs.eager_bytes(), theirs.unexpected_bytes()}, &going, &controls_);
    for (const Matcher::Going &g : going) Go(g);
    QueueControls();
    stream->set_handler(this);
    writing_ = reply != nullptr;
  }
  if (reply != nullptr && !stream->Write(std::move(*reply))) OnWritten(false);
  stream->Read();
  if (dropped) stream->Cancel();
  monitor_->Notify();
  Pump();
  return true;
}

// --- Completions ------------------------------------------------------------

void Link::Run(std::vector<Outgoing *> released, Ended ended) {
  for (auto &[done, status] : ended)
    callbacks_->Run([done = std::move(done), status]() mutable {
      done(std::move(status));
    });
  for (Outgoing *outgoing : released)
    callbacks_->Run([outgoing] { Complete(outgoing); });
}

// Sends of which all bytes are in a packet are not failed: they are done when
// gRPC has let go of the packet, whatever becomes of the peer.
void Link::FailPending(std::vector<Outgoing *> &released, Ended &ended) {
  std::vector<Outgoing *> sends = packets_.Clear();
  std::vector<std::shared_ptr<Receive>> receives;
  matcher_.Clear(end_.keeps(), &sends, &receives);
  for (Outgoing *outgoing : sends) {
    outgoing->failure = end_.failure();
    Release(outgoing, released);
  }
  for (const std::shared_ptr<Receive> &receive : receives)
    if (receive->busy)
      receive->failure = end_.failure();  // the thread that takes bytes ends it
    else
      ended.emplace_back(std::move(receive->done), end_.failure());
}

void Link::End(absl::FunctionRef<LinkEnd::Outcome(LinkEnd &)> event) {
  std::vector<Outgoing *> released;
  Ended ended;
  {
    MutexLock lock(&mu_);
    const LinkEnd::Outcome outcome = event(end_);
    if (outcome.report) Report(ended);
    if (outcome.fails) FailPending(released, ended);
    if (outcome.say == LinkEnd::Outcome::kGoodbye) {
      control_.emplace_back().mutable_goodbye();
    } else if (outcome.say == LinkEnd::Outcome::kAbort) {
      control_.clear();
      transport::Abort *abort = control_.emplace_back().mutable_abort();
      abort->set_code(static_cast<uint32_t>(outcome.why.code()));
      abort->set_message(std::string(outcome.why.message()));
    }
  }
  Run(std::move(released), std::move(ended));
  Pump();
  monitor_->Notify();
}

// Before what fails: who hears of that asks why.
void Link::Report(Ended &ended) {
  if (!settings_.on_failure) return;
  callbacks_->Begin();
  ended.emplace_back(settings_.on_failure, end_.failure());
}

absl::Status Link::TooLate(Ended &ended) {
  if (end_.WantedAfter()) Report(ended);
  return end_.failure();
}

void Link::FailProtocol(const absl::Status &what) {
  End([&](LinkEnd &end) { return end.Breach(what); });
}

absl::Status Link::failure() const {
  MutexLock lock(&mu_);
  return end_.failure();
}

void Link::Abort(const absl::Status &why) {
  End([&](LinkEnd &end) { return end.Abort(why); });
}

void Link::SayGoodbye() {
  End([](LinkEnd &end) { return end.Close(); });
}

void Link::Drop() {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    dropped_ = true;
    stream = stream_;
  }
  if (stream != nullptr) stream->Cancel();
}

// --- The stream -------------------------------------------------------------

void Link::Pump() {
  grpc::ByteBuffer packet;
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    if (stream_ == nullptr || writing_ || last_written_) return;
    packet = NextPacket();
    if (packet.Length() == 0) return;
    writing_ = true;
    stream = stream_;
  }
  if (!stream->Write(std::move(packet))) OnWritten(false);
}

void Link::OnWritten(bool ok) {
  std::vector<Outgoing *> released;
  std::shared_ptr<Stream> end;
  {
    MutexLock lock(&mu_);
    for (Outgoing *outgoing : in_last_packet_) {
      if (!ok)
        outgoing->failure =
            end_.failure().ok() ? end_.Named(absl::StatusCode::kUnavailable,
                                             runtime::core::kConnectionLost)
                                : end_.failure();
      Release(outgoing, released);
    }
    in_last_packet_.clear();
    writing_ = false;
    packet_size_.Written(packet_bytes_, runtime::ToTime(packet_begin_),
                         runtime::ToTime(runtime::Clock::now()));
    if (!ok) last_written_ = true;  // nor will anything be
    // Not after an abort: the peer drops the stream when it has read that. If this
    // side ended it, and then the process, what the peer has not read might be lost.
    if (ok && last_written_ && end_.keeps()) end = stream_;
  }
  if (end != nullptr) end->End();
  Run(std::move(released), {});
  if (ok) Pump();
  monitor_->Notify();
}

void Link::OnRead(grpc::ByteBuffer packet) {
  std::shared_ptr<Stream> stream;
  bool drain = false;
  {
    MutexLock lock(&mu_);
    inbox_.push_back(std::move(packet));
    drain = !draining_;
    draining_ = true;
    // Reads ahead while the packet is taken, but not without limit.
    read_waits_ = inbox_.size() >= kInbox;
    if (!read_waits_) stream = stream_;
  }
  if (stream != nullptr) stream->Read();
  if (drain) Drain();
}

void Link::Drain() {
  while (true) {
    grpc::ByteBuffer packet;
    std::shared_ptr<Stream> stream;
    {
      MutexLock lock(&mu_);
      if (inbox_.empty()) {
        draining_ = false;
        break;
      }
      packet.Swap(&inbox_.front());
      inbox_.pop_front();
      if (read_waits_) stream = stream_;
      read_waits_ = false;
    }
    if (stream != nullptr) stream->Read();
    TakePacket(packet);
  }
  monitor_->Notify();
}

void Link::TakePacket(const grpc::ByteBuffer &packet) {
  PacketReader reader(packet);
  Header header;
  while (true) {
    absl::StatusOr<bool> more = reader.Next(&header);
    absl::Status bad = more.status();
    if (more.ok()) {
      if (!*more) return;
      switch (header.kind_case()) {
        case Header::kData:
          TakeData(header.data(), reader);
          continue;
        case Header::kGrant:
          TakeControl({Control::kGrant, FromWire(header.grant().tag()),
                       header.grant().total()});
          continue;
        case Header::kAnnounce:
          TakeControl({Control::kAnnounce, FromWire(header.announce().tag()),
                       header.announce().total()});
          continue;
        case Header::kCredit:
          TakeControl({Control::kCredit, {}, header.credit().bytes()});
          continue;
        case Header::kAbort:
          End([&](LinkEnd &end) {
            return end.TakeAbort(header.abort().code(), Printable(header.abort().message()));
          });
          Drop();
          continue;
        case Header::kGoodbye:
          TakeGoodbye();
          continue;
        default:
          bad = absl::DataLossError("frame of an unknown kind");
      }
    }
    FailProtocol(bad);
    return;
  }
}

void Link::TakeGoodbye() {
  End([this](LinkEnd &end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return end.TakeGoodbye(/*pending=*/!matcher_.idle());
  });
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    if (last_written_ && !writing_) stream = stream_;
  }
  if (stream != nullptr) stream->End();
}

void Link::OnClosed(absl::Status status) {
  std::shared_ptr<Stream> stream;  // outlives the lock
  {
    MutexLock lock(&mu_);
    last_written_ = true;
    stream = std::move(stream_);
    stream_ = nullptr;
  }
  End([&](LinkEnd &end) {
    return end.Lost(status.ok() ? "" : Printable(status.message()));
  });
}

}  // namespace commsched::transport
