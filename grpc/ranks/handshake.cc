// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/ranks/handshake.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc/base/process.h"
#include "grpc/base/wire.h"
#include "runtime/core/greeting.h"

namespace commsched::transport {
namespace {

using runtime::MutexLock;
using runtime::core::Verdict;

// Between two channels to one peer.
constexpr auto kRemake = std::chrono::seconds(1);

grpc::ByteBuffer PacketOf(const Hello &hello) {
  Header header;
  *header.mutable_hello() = hello;
  PacketWriter writer;
  writer.Add(header);
  return writer.Finish();
}

absl::StatusOr<Hello> HelloOf(const grpc::ByteBuffer &packet) {
  PacketReader reader(packet);
  Header header;
  absl::StatusOr<bool> more = reader.Next(&header);
  if (!more.ok()) return more.status();
  if (!*more || !header.has_hello())
    return absl::DataLossError("first frame must be a hello");
  return header.hello();
}

runtime::core::Greeting GreetingOf(const Hello &hello) {
  return {.protocol = hello.protocol_version(),
          .epoch = hello.epoch(),
          .nodes = hello.nodes(),
          .rank = hello.rank(),
          .to = hello.to_rank(),
          .plan_digest = hello.plan_digest()};
}

// What is left of a stream that is refused.
class Refusal final : public StreamHandler {
 public:
  void OnRead(grpc::ByteBuffer) override {}
  void OnWritten(bool) override {}
  void OnClosed(absl::Status) override { delete this; }
};

}  // namespace

void Greet(std::shared_ptr<Stream> stream, const grpc::ByteBuffer &packet,
           Greeter *greeter) {
  auto refuse = [&](absl::string_view why,
                    absl::StatusCode code = absl::StatusCode::kFailedPrecondition) {
    stream->set_handler(new Refusal);
    // Without a token it may be anybody, whom this would help.
    stream->End(absl::Status(
        code, greeter->token().empty() ? absl::string_view(kReasonInLog) : why));
    stream->Read();  // sees the end
  };
  absl::StatusOr<Hello> theirs = HelloOf(packet);
  if (!theirs.ok()) {
    greeter->RefusedStranger(stream->peer(), theirs.status().message());
    return refuse(theirs.status().message());
  }
  const Hello own = greeter->OwnHello(static_cast<int>(theirs->rank()));
  const int peer = static_cast<int>(theirs->rank());
  Link *const link = theirs->rank() < own.nodes() ? greeter->link(peer) : nullptr;
  const Verdict verdict = JudgeCaller(GreetingOf(own), GreetingOf(*theirs), link != nullptr);
  if (verdict.kind == Verdict::kEarlier) {
    greeter->RefusedStranger(stream->peer(), verdict.why);
    return refuse(verdict.why);
  }
  if (verdict.kind != Verdict::kWelcome) {
    refuse(verdict.why, verdict.kind == Verdict::kLater ? absl::StatusCode::kUnavailable
                                                        : absl::StatusCode::kFailedPrecondition);
    greeter->Refused(peer,
                     absl::FailedPreconditionError(absl::StrCat(
                         "peer ", theirs->rank(), " (",
                         link != nullptr ? link->address() : stream->peer(),
                         ") is refused: ", verdict.why)),
                     /*over=*/verdict.kind == Verdict::kLater);
    return;
  }
  grpc::ByteBuffer reply = PacketOf(own);
  if (link->Open(stream, *theirs, &reply)) return;
  const std::string why = absl::StrFormat("rank %d has joined already", peer);
  greeter->RefusedStranger(stream->peer(), why);
  refuse(why);
}

Dialler::Dialler(int peer, MakeChannel make, grpc::CompletionQueue *queue, Greeter *greeter)
    : peer_(peer), make_(std::move(make)), channel_(make_()), queue_(queue), greeter_(greeter) {}

void Dialler::DialIfIdle() {
  MutexLock lock(&mu_);
  if (stopped_ || done_ || stream_ != nullptr) return;
  if (TimeWasSetBack() && runtime::Clock::now() - made_ > kRemake) {
    channel_ = make_();
    made_ = runtime::Clock::now();
  }
  stream_ = DialWithProof(channel_, queue_, this, greeter_->token(),
                          PacketOf(greeter_->OwnHello(peer_)), kConnectMethod,
                          /*patient=*/false,  // so that its error says what is wrong
                          greeter_->sharing());
}

void Dialler::Stop() {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    stopped_ = true;
    stream = stream_;
  }
  if (stream != nullptr) stream->Cancel();
}

bool Dialler::idle() const {
  MutexLock lock(&mu_);
  return stream_ == nullptr;
}

absl::Status Dialler::last_error() const {
  MutexLock lock(&mu_);
  return last_error_;
}

// The Hello has been sent with the proof.
void Dialler::OnOpen(std::shared_ptr<Stream> stream) {
  {
    MutexLock lock(&mu_);
    stream_ = stream;
  }
  stream->Read();
}

void Dialler::OnRead(grpc::ByteBuffer packet) {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
  }
  const Hello own = greeter_->OwnHello(peer_);
  absl::StatusOr<Hello> theirs = HelloOf(packet);
  std::string why;
  if (!theirs.ok()) {
    why = std::string(theirs.status().message());
  } else {
    why = JudgeCalled(GreetingOf(own), GreetingOf(*theirs)).why;
  }
  if (!why.empty()) {
    greeter_->Refused(peer_, absl::FailedPreconditionError(absl::StrCat(
                                 greeter_->link(peer_)->label(), " is refused: ", why)));
    stream->Cancel();
    stream->Read();  // sees the end
    return;
  }
  {
    MutexLock lock(&mu_);
    done_ = true;
    stream_ = nullptr;
  }
  greeter_->link(peer_)->Open(std::move(stream), *theirs, nullptr);
}

void Dialler::OnClosed(absl::Status status) {
  const bool unknown = status.code() == absl::StatusCode::kPermissionDenied;
  if (unknown || status.code() == absl::StatusCode::kFailedPrecondition ||
      status.code() == absl::StatusCode::kUnauthenticated)
    greeter_->Refused(
        peer_, absl::Status(status.code(),
                            absl::StrCat(greeter_->link(peer_)->label(),
                                         unknown ? " is refused: " : " refuses this rank: ",
                                         Printable(status.message()))));
  {
    MutexLock lock(&mu_);
    last_error_ = std::move(status);
    stream_ = nullptr;
  }
  greeter_->Changed();
}

}  // namespace commsched::transport
