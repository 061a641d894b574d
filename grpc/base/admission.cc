// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/admission.h"

#include <grpcpp/support/slice.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpc/base/admission.pb.h"
#include "grpc/base/wire.h"

namespace commsched::transport {
namespace {

using runtime::Clock;
using runtime::MutexLock;

// Of a message of admission.proto, and more than the first packet of a protocol.
constexpr size_t kMaxBytes = kMaxHeaderBytes + 256;
// Lines for the log; later, one for every doubling.
constexpr uint64_t kLogged = 8;

constexpr char kNoProof[] = "it did not prove that it has the token of this job";

grpc::ByteBuffer BufferOf(const std::string &bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string BytesOf(const grpc::ByteBuffer &buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (buffer.Valid() && buffer.Dump(&slices).ok())
    for (const grpc::Slice &slice : slices)
      bytes.append(reinterpret_cast<const char *>(slice.begin()), slice.size());
  return bytes;
}

bool Parse(const grpc::ByteBuffer &packet, Admission *message) {
  return packet.Valid() && packet.Length() <= kMaxBytes &&
         message->ParseFromString(BytesOf(packet));
}

bool IsGreeting(const Admission &message) {
  return message.version() == kAdmissionVersion &&
         message.nonce().size() == kNonceBytes && message.proof().empty() &&
         message.first().empty();
}

Admission Greeting(const std::string &nonce) {
  Admission message;
  message.set_version(kAdmissionVersion);
  message.set_nonce(nonce);
  return message;
}

// The dialling side until the stream is its handler's.
class Prover final : public StreamHandler {
 public:
  Prover(StreamHandler *handler, std::string token, std::string first, Sharing *sharing)
      : handler_(handler),
        token_(std::move(token)),
        first_(std::move(first)),
        sharing_(sharing) {}

  std::shared_ptr<Stream> Dial(std::shared_ptr<grpc::Channel> channel,
                               grpc::CompletionQueue *queue, const char *method,
                               bool patient) {
    return transport::Dial(std::move(channel), queue, this, method, patient);
  }

  void OnOpen(std::shared_ptr<Stream> stream) override {
    kept_ = std::move(stream);
    kept_->Write(BufferOf(Greeting(nonce_).SerializeAsString()));
  }

  void OnWritten(bool ok) override {
    if (!ok || !proved_ || wire_ != nullptr) return kept_->Read();
    HandOver(kept_);
  }

  void OnRead(grpc::ByteBuffer packet) override {
    Admission message, own;
    const bool parsed = Parse(packet, &message);
    if (proved_) {
      if (!parsed) return Refuse();
      auto shared = message.shares() ? ShareStream(kept_, std::move(wire_), &sharing_->loop)
                                     : kept_;
      if (shared == nullptr) return Drop();
      return HandOver(std::move(shared));
    }
    if (theirs_.empty()) {
      if (!parsed || !IsGreeting(message)) return Refuse();
      theirs_ = message.nonce();
      own.set_proof(Proof(token_, "dials", nonce_, theirs_));
    } else {
      if (!parsed ||
          !ProofsEqual(message.proof(), Proof(token_, "accepts", nonce_, theirs_)))
        return Refuse();
      own.set_proof(Proof(token_, "first", nonce_, theirs_, first_));
      own.set_first(first_);
      if (message.has_offer()) TakeOffer(message.offer());
      own.set_shares(wire_ != nullptr);
      proved_ = true;
    }
    if (!kept_->Write(BufferOf(own.SerializeAsString()))) kept_->Read();
  }

  void OnClosed(absl::Status status) override {
    // The stranger's own words, if it is one, are of no interest.
    if (refused_)
      status = absl::PermissionDeniedError("it does not have the job token");
    else if (status.code() == absl::StatusCode::kUnauthenticated)
      // Before it has said its nonce it refuses everybody.
      status = absl::UnauthenticatedError(theirs_.empty() ? "it expects nobody any more"
                                                          : "the job token does not match");
    else if (status.code() == absl::StatusCode::kFailedPrecondition)
      status = absl::UnauthenticatedError(
          "it is of another version of CommSched, or none of it");
    handler_->OnClosed(std::move(status));
    delete this;
  }

 private:
  void HandOver(std::shared_ptr<Stream> stream) {
    stream->set_handler(handler_);
    handler_->OnOpen(std::move(stream));
    delete this;
  }
  void TakeOffer(const Offer &offer) {
    const std::string host = sharing_ == nullptr ? "" : HostName();
    if (host.empty() || host != offer.host()) return;
    // What cannot be shared goes over the stream.
    if (auto wire = JoinSharedWire(offer.socket(), offer.key(), sharing_->payload); wire.ok())
      wire_ = *std::move(wire);
  }
  void Refuse() {
    refused_ = true;
    Drop();
  }
  void Drop() {
    kept_->Cancel();
    kept_->Read();  // sees the end
  }

  StreamHandler *const handler_;
  const std::string token_, first_, nonce_ = NewNonce();
  std::string theirs_;
  bool proved_ = false, refused_ = false;
  Sharing *const sharing_;
  std::shared_ptr<SharedWire> wire_;  // if the other side has taken it
  std::shared_ptr<Stream> kept_;      // since it is open
};

}  // namespace

std::string NewNonce() {
  std::string nonce(kNonceBytes, 0);
  // Of so few bytes there are always all; without them nothing would be safe.
  if (getrandom(nonce.data(), nonce.size(), 0) != ssize_t(nonce.size())) std::abort();
  return nonce;
}

std::string Proof(absl::string_view token, absl::string_view line,
                  absl::string_view dial_nonce, absl::string_view accept_nonce,
                  absl::string_view first) {
  const std::string text = absl::StrCat("commsched admission ", kAdmissionVersion, " ",
                                        line, dial_nonce, accept_nonce, first);
  unsigned char proof[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (HMAC(EVP_sha256(), token.data(), int(token.size()),
           reinterpret_cast<const unsigned char *>(text.data()), text.size(), proof,
           &size) == nullptr)
    std::abort();
  return std::string(reinterpret_cast<const char *>(proof), size);
}

bool ProofsEqual(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::shared_ptr<Stream> DialWithProof(std::shared_ptr<grpc::Channel> channel,
                                      grpc::CompletionQueue *queue,
                                      StreamHandler *handler,
                                      const std::string &token,
                                      const grpc::ByteBuffer &first,
                                      const char *method, bool patient,
                                      Sharing *sharing) {
  if (sharing != nullptr && !sharing->enabled) sharing = nullptr;
  auto *prover = new Prover(handler, token, BytesOf(first), sharing);
  return prover->Dial(std::move(channel), queue, method, patient);
}

// Somebody who waits to be let in; deletes itself when the stream is another's, or
// has ended. One event at a time is under way, but for Drop.
class Gate::Visitor final : public StreamHandler {
 public:
  Visitor(Gate *gate, std::shared_ptr<Stream> stream, Admitted admitted)
      : gate_(gate), stream_(std::move(stream)), admitted_(std::move(admitted)) {}

  Clock::time_point since() const { return since_; }
  std::shared_ptr<Stream> stream() const { return stream_; }

  void OnRead(grpc::ByteBuffer packet) override {
    Admission message;
    const bool parsed = Parse(packet, &message);
    if (theirs_.empty()) {
      if (!parsed || !IsGreeting(message))
        return Refuse("what it said is not of this version of CommSched");
      theirs_ = message.nonce();
      stream_->Write(BufferOf(Greeting(nonce_).SerializeAsString()));
      return;
    }
    auto proves = [&](absl::string_view line) {
      return parsed &&
             ProofsEqual(message.proof(), Proof(gate_->token(), line, theirs_, nonce_,
                                                message.first()));
    };
    if (proved_) {
      if (answered_) return Refuse("it spoke where it was to wait");
      if (!proves("first")) return Refuse(kNoProof);
      first_ = message.first();
      if (!message.shares() || offer_ == nullptr) return Pass(stream_);
      Admission own;
      if (auto wire = offer_->Take(); wire.ok()) wire_ = *std::move(wire);
      own.set_shares(wire_ != nullptr);
      answered_ = true;
      if (!stream_->Write(BufferOf(own.SerializeAsString()))) stream_->Read();
      return;
    }
    if (!proves("dials")) return Refuse(kNoProof);
    proved_ = true;
    Admission own;
    own.set_proof(Proof(gate_->token(), "accepts", theirs_, nonce_));
    const std::string host = gate_->sharing() == nullptr ? "" : HostName();
    if (!host.empty() && (offer_ = SharedOffer::Make()) != nullptr) {
      own.mutable_offer()->set_host(host);
      own.mutable_offer()->set_socket(offer_->socket());
      own.mutable_offer()->set_key(offer_->key());
    }
    if (!stream_->Write(BufferOf(own.SerializeAsString()))) stream_->Read();
  }

  void OnWritten(bool ok) override {
    if (!ok || !answered_) return stream_->Read();
    if (wire_ == nullptr) return Pass(stream_);
    auto shared = ShareStream(stream_, std::move(wire_), &gate_->sharing()->loop);
    if (shared != nullptr) return Pass(std::move(shared));
    stream_->End(absl::UnavailableError("shared memory"));
    stream_->Read();
  }

  void OnClosed(absl::Status) override {
    gate_->Gone(this);
    delete this;
  }

 private:
  void Pass(std::shared_ptr<Stream> stream) {
    if (!gate_->LetIn(this)) {  // it is being dropped
      stream->set_handler(this);
      return stream->Read();
    }
    admitted_(std::move(stream), BufferOf(first_));
    gate_->Gone(this);
    delete this;
  }
  void Refuse(absl::string_view why) {
    gate_->Log(stream_->peer(), why);
    stream_->End(absl::UnauthenticatedError("refused"));
    stream_->Read();  // sees the end
  }

  Gate *const gate_;
  std::shared_ptr<Stream> stream_;
  const Admitted admitted_;
  const Clock::time_point since_ = Clock::now();
  const std::string nonce_ = NewNonce();
  std::string theirs_, first_;
  bool proved_ = false, answered_ = false;
  std::unique_ptr<SharedOffer> offer_;
  std::shared_ptr<SharedWire> wire_;  // that the other side has passed
};

Gate::Gate(std::string token, std::chrono::nanoseconds patience,
           std::function<void(const std::string &)> log, Sharing *sharing)
    : token_(std::move(token)),
      patience_(patience),
      log_(std::move(log)),
      sharing_(sharing != nullptr && sharing->enabled ? sharing : nullptr) {}

void Gate::Take(std::shared_ptr<Stream> stream, Admitted admitted) {
  auto *visitor = new Visitor(this, stream, std::move(admitted));
  stream->set_handler(visitor);
  bool shut = false;
  {
    MutexLock lock(&mu_);
    visitors_[visitor] = true;
    shut = shut_;
  }
  if (shut) stream->End(absl::UnauthenticatedError("refused"));
  stream->Read();
}

bool Gate::LetIn(Visitor *visitor) {
  MutexLock lock(&mu_);
  if (!shut_) visitors_[visitor] = false;
  return !shut_;
}

void Gate::Gone(Visitor *visitor) {
  MutexLock lock(&mu_);
  visitors_.erase(visitor);
  changed_.SignalAll();
}

std::vector<std::shared_ptr<Stream>> Gate::Waiting(Clock::time_point since) const {
  std::vector<std::shared_ptr<Stream>> streams;
  for (const auto &[visitor, waits] : visitors_)
    if (waits && visitor->since() <= since) streams.push_back(visitor->stream());
  return streams;
}

void Gate::CheckTimes() {
  std::vector<std::shared_ptr<Stream>> slow;
  {
    MutexLock lock(&mu_);
    slow = Waiting(Clock::now() - patience_);
  }
  for (const auto &stream : slow) stream->Cancel();
}

void Gate::Shut() {
  std::vector<std::shared_ptr<Stream>> waiting;
  {
    MutexLock lock(&mu_);
    shut_ = true;
    waiting = Waiting(Clock::time_point::max());
  }
  for (const auto &stream : waiting) stream->Cancel();
}

void Gate::Close() {
  Shut();
  MutexLock lock(&mu_);
  while (!visitors_.empty()) changed_.Wait(&mu_);
}

void Gate::Log(absl::string_view peer, absl::string_view why) {
  std::string line = absl::StrCat("refused a connection of ", Printable(peer), ": ", why);
  bool tell = false;
  {
    MutexLock lock(&mu_);
    ++refused_;
    tell = refused_ <= kLogged || (refused_ & (refused_ - 1)) == 0;
    if (refused_ > kLogged)
      absl::StrAppend(&line, " (", refused_, " so far)");
    last_ = absl::StrCat(Printable(peer), ": ", why);
  }
  if (tell && log_) log_(line);
}

std::string Gate::RefusedText() const {
  MutexLock lock(&mu_);
  if (refused_ == 0) return "";
  return absl::StrCat("; ", refused_,
                      refused_ == 1 ? " connection was refused, of "
                                    : " connections were refused, the last of ",
                      last_);
}

}  // namespace commsched::transport
