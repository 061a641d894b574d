// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/link.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/tags.h"
#include "grpc/wire.h"

namespace commsched::transport {
namespace {

using runtime::MutexLock;
using runtime::core::Control;

constexpr size_t kInbox = 2;             // packets read ahead
constexpr char kLost[] = "connection lost";

}  // namespace

Link::Link(Settings settings, Callbacks *callbacks, Monitor *monitor)
    : settings_(std::move(settings)),
      label_(absl::StrCat("peer ", settings_.peer, " (", settings_.address,
                          ")")),
      callbacks_(callbacks),
      monitor_(monitor),
      matcher_({settings_.eager_bytes, settings_.unexpected_bytes}),
      packet_size_(settings_.chunk_bytes) {}

absl::Status Link::Named(absl::StatusCode code, absl::string_view what) const {
  return absl::Status(code, absl::StrCat(label_, ": ", what));
}

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
    std::vector<Matcher::Going> going;
    matcher_.Open({theirs.eager_bytes(), theirs.unexpected_bytes()}, &going, &controls_);
    for (const Matcher::Going &g : going) Go(g);
    QueueControls();
    stream->set_handler(this);
    writing_ = reply != nullptr;
  }
  if (reply != nullptr && !stream->Write(*reply)) OnWritten(false);
  stream->Read();
  if (dropped) stream->Cancel();
  monitor_->Notify();
  Pump();
  return true;
}

// --- Completions ------------------------------------------------------------

void Link::Run(std::vector<Outgoing *> released, Ended ended) {
  for (Outgoing *outgoing : released)
    callbacks_->Run([outgoing] { Complete(outgoing); });
  for (auto &[done, status] : ended)
    callbacks_->Run([done = std::move(done), status]() mutable {
      done(std::move(status));
    });
}

void Link::FailLocked(absl::Status why, bool quiet,
                      std::vector<Outgoing *> &released, Ended &ended) {
  if (!failure_.ok()) return;
  failure_ = std::move(why);
  report_wanted_ = !quiet;
  std::vector<Outgoing *> sends = packets_.Clear();
  std::vector<std::shared_ptr<Receive>> receives;
  matcher_.Clear(/*keep=*/got_goodbye_, &sends, &receives);
  for (Outgoing *outgoing : sends) {
    outgoing->failure = failure_;
    Release(outgoing, released);
  }
  for (const std::shared_ptr<Receive> &receive : receives)
    if (receive->busy)
      receive->failure = failure_;  // the thread that takes bytes ends it
    else
      ended.emplace_back(std::move(receive->done), failure_);
}

// Sends of which all bytes are in a packet are not failed: they are done when
// gRPC has let go of the packet, whatever becomes of the peer.
void Link::Fail(absl::Status why, absl::Status tell, bool quiet) {
  std::vector<Outgoing *> released;
  Ended ended;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok()) return;
    FailLocked(std::move(why), quiet, released, ended);
    if (!tell.ok() && !last_queued_) {
      control_.clear();
      Header header;
      header.mutable_abort()->set_code(static_cast<uint32_t>(tell.code()));
      header.mutable_abort()->set_message(
          std::string(tell.message().substr(0, runtime::kMaxAbortText)));
      control_.push_back(std::move(header));
      last_queued_ = true;
    }
  }
  Report();
  Run(std::move(released), std::move(ended));
  Pump();
  monitor_->Notify();
}

void Link::Report() {
  absl::Status failure;
  {
    MutexLock lock(&mu_);
    if (failure_.ok() || !report_wanted_ || !settings_.on_failure) return;
    report_wanted_ = false;
    failure = failure_;
    callbacks_->Begin();
  }
  callbacks_->Run([this, failure] { settings_.on_failure(failure); });
}

void Link::Abort(const absl::Status &why) {
  Fail(absl::CancelledError("this rank has aborted"),
       absl::AbortedError(why.message()), /*quiet=*/true);
}

void Link::SayGoodbye() {
  std::vector<Outgoing *> released;
  Ended ended;
  {
    MutexLock lock(&mu_);
    FailLocked(absl::CancelledError("the transport is closed"), /*quiet=*/true,
               released, ended);
    report_wanted_ = false;
    QueueGoodbye();
  }
  Run(std::move(released), std::move(ended));
  Pump();
}

void Link::QueueGoodbye() {
  if (!opened_ || last_queued_) return;
  Header header;
  header.mutable_goodbye();
  control_.push_back(std::move(header));
  last_queued_ = true;
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
  if (!stream->Write(packet)) OnWritten(false);
}

void Link::OnWritten(bool ok) {
  std::vector<Outgoing *> released;
  std::shared_ptr<Stream> end;
  {
    MutexLock lock(&mu_);
    for (Outgoing *outgoing : in_last_packet_) {
      if (!ok)
        outgoing->failure =
            failure_.ok() ? Named(absl::StatusCode::kUnavailable, kLost)
                          : failure_;
      Release(outgoing, released);
    }
    in_last_packet_.clear();
    writing_ = false;
    packet_size_.Written(packet_bytes_,
                         (runtime::Clock::now() - packet_begin_) /
                             std::chrono::nanoseconds(1));
    if (!ok) last_queued_ = last_written_ = true;  // no more writing
    // Not after an abort: the peer drops the stream when it has read that. If this
    // side ended it, and then the process, what the peer has not read might be lost.
    if (ok && last_written_ && got_goodbye_) end = stream_;
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
          TakeAbort(header.abort());
          continue;
        case Header::kGoodbye:
          TakeGoodbye();
          continue;
        default:
          bad = absl::DataLossError("frame of an unknown kind");
      }
    }
    FailProtocol(bad.code(), bad.message());
    return;
  }
}

void Link::FailProtocol(absl::StatusCode code, absl::string_view what) {
  Fail(Named(code, what), absl::Status(code, what), /*quiet=*/false);
}

void Link::TakeAbort(const transport::Abort &abort) {
  auto code = static_cast<absl::StatusCode>(abort.code());
  // Other codes have a meaning of their own on this side.
  if (code != absl::StatusCode::kInvalidArgument &&
      code != absl::StatusCode::kDataLoss)
    code = absl::StatusCode::kAborted;
  Fail(Named(code, absl::StrCat(
                       code == absl::StatusCode::kAborted ? "aborted: " : "",
                       Printable(abort.message()))),
       absl::OkStatus(), /*quiet=*/false);
  Drop();
}

void Link::TakeGoodbye() {
  std::vector<Outgoing *> released;
  Ended ended;
  std::shared_ptr<Stream> end;
  {
    MutexLock lock(&mu_);
    if (got_goodbye_) return;
    got_goodbye_ = true;
    FailLocked(Named(absl::StatusCode::kFailedPrecondition,
                     "has finished, but something is still wanted of it"),
               /*quiet=*/false, released, ended);
    QueueGoodbye();
    if (last_written_ && !writing_) end = stream_;
  }
  if (end != nullptr) end->End();
  if (!released.empty() || !ended.empty()) Report();
  Run(std::move(released), std::move(ended));
  Pump();
  monitor_->Notify();
}

void Link::OnClosed(absl::Status status) {
  bool lost = false;
  std::shared_ptr<Stream> stream;  // outlives the lock
  {
    MutexLock lock(&mu_);
    lost = failure_.ok() && !got_goodbye_;
    last_queued_ = last_written_ = true;
    stream = std::move(stream_);
    stream_ = nullptr;
  }
  if (lost) {
    std::string what = kLost;
    if (!status.ok() && !status.message().empty())
      absl::StrAppend(&what, ": ", Printable(status.message()));
    Fail(Named(absl::StatusCode::kUnavailable, what), absl::OkStatus(),
         /*quiet=*/false);
  }
  monitor_->Notify();
}

}  // namespace commsched::transport
