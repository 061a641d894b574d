// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/handshake.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc/wire.h"

namespace commsched::transport {
namespace {

using runtime::MutexLock;

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

// What in `theirs` does not fit `own`; empty if nothing.
std::string Difference(const Hello &own, const Hello &theirs) {
  if (own.protocol_version() != theirs.protocol_version())
    return absl::StrFormat("protocol version must match %d, got: %d",
                           own.protocol_version(), theirs.protocol_version());
  if (own.nodes() != theirs.nodes())
    return absl::StrFormat("number of nodes must match %d, got: %d",
                           own.nodes(), theirs.nodes());
  if (own.plan_digest() != theirs.plan_digest())
    return absl::StrFormat("plan digest must match %016x, got: %016x",
                           own.plan_digest(), theirs.plan_digest());
  return "";
}

// Accepting side; deletes itself when its stream has a link or has ended.
class Host final : public StreamHandler {
 public:
  Host(std::shared_ptr<Stream> stream, Greeter *greeter)
      : stream_(std::move(stream)), greeter_(greeter) {}

  void OnRead(grpc::ByteBuffer packet) override {
    absl::StatusOr<Hello> theirs = HelloOf(packet);
    if (!theirs.ok()) return Refuse(theirs.status().message());
    const Hello own = greeter_->OwnHello(theirs->rank());
    const int rank = static_cast<int>(own.rank());
    const int peer = static_cast<int>(theirs->rank());
    std::string why = Difference(own, *theirs);
    if (why.empty() && theirs->to_rank() != own.rank())
      why = absl::StrFormat("rank at this address must match %d, got: %d", rank,
                            theirs->to_rank());
    // Only higher ranks dial.
    if (why.empty() &&
        (theirs->rank() >= own.nodes() || theirs->rank() <= own.rank()))
      why = absl::StrFormat("rank that dials must be in [%d, %d), got: %d",
                            rank + 1, own.nodes(), theirs->rank());
    if (!why.empty()) {
      Refuse(why);
      greeter_->Refused(absl::FailedPreconditionError(absl::StrCat(
          "peer ", theirs->rank(), " (",
          theirs->rank() < own.nodes() && peer != rank
              ? greeter_->link(peer)->address()
              : stream_->peer(),
          ") is refused: ", why)));
      return;
    }
    grpc::ByteBuffer reply = PacketOf(own);
    if (!greeter_->link(peer)->Open(stream_, *theirs, &reply))
      return Refuse(absl::StrFormat("rank %d has joined already", peer));
    delete this;
  }

  void OnWritten(bool) override {}
  void OnClosed(absl::Status) override { delete this; }

 private:
  void Refuse(absl::string_view why) {
    stream_->End(absl::FailedPreconditionError(why));
    stream_->Read();  // sees the end
  }

  std::shared_ptr<Stream> stream_;
  Greeter *const greeter_;
};

}  // namespace

void Greet(std::shared_ptr<Stream> stream, Greeter *greeter) {
  auto *host = new Host(stream, greeter);
  stream->set_handler(host);
  stream->Read();
}

Dialler::Dialler(int peer, std::shared_ptr<grpc::Channel> channel,
                 grpc::CompletionQueue *queue, Greeter *greeter)
    : peer_(peer),
      channel_(std::move(channel)),
      queue_(queue),
      greeter_(greeter) {}

void Dialler::DialIfIdle() {
  MutexLock lock(&mu_);
  if (stopped_ || done_ || stream_ != nullptr) return;
  stream_ = Dial(channel_, queue_, this);
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

void Dialler::OnOpen() {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
  }
  stream->Write(PacketOf(greeter_->OwnHello(peer_)));
}

// Only then, so that no write is under way when the link takes over.
void Dialler::OnWritten(bool) {
  std::shared_ptr<Stream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
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
    why = Difference(own, *theirs);
    if (why.empty() && static_cast<int>(theirs->rank()) != peer_)
      why = absl::StrFormat("rank at this address must match %d, got: %d",
                            peer_, theirs->rank());
  }
  if (!why.empty()) {
    greeter_->Refused(absl::FailedPreconditionError(
        absl::StrCat(greeter_->link(peer_)->label(), " is refused: ", why)));
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
  if (status.code() == absl::StatusCode::kFailedPrecondition)
    greeter_->Refused(absl::FailedPreconditionError(
        absl::StrCat(greeter_->link(peer_)->label(), " refuses this rank: ",
                     Printable(status.message()))));
  {
    MutexLock lock(&mu_);
    last_error_ = std::move(status);
    stream_ = nullptr;
  }
  greeter_->Changed();
}

}  // namespace commsched::transport
