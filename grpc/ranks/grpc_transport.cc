// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/ranks/grpc_transport.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "grpc/base/address.h"
#include "grpc/base/admission.h"
#include "grpc/base/callbacks.h"
#include "grpc/base/congestion.h"
#include "grpc/base/handover.h"
#include "grpc/base/options.h"
#include "grpc/base/process.h"
#include "grpc/base/stream.h"
#include "grpc/ranks/handshake.h"
#include "grpc/ranks/link.h"
#include "runtime/base/sync.h"

namespace commsched::transport {
namespace {

using runtime::Clock;
using runtime::Mutex;
using runtime::MutexLock;
using runtime::TransportOptions;

constexpr auto kRedial = std::chrono::milliseconds(100);
// What precedes the cause in gRPC's texts, and here.
constexpr char kLastError[] = "last error: ";
// For proving the token.
constexpr auto kPatience = std::chrono::seconds(10);
// For a peer to read why it is refused, before the connection ends with the process:
// nobody says when it has.
constexpr auto kRefusalGrace = std::chrono::milliseconds(300);
// Between two looks at a network that is seldom used; and how long a thread waits for it that
// may be the last one in which something was done.
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr auto kSettling = std::chrono::milliseconds(100);

class GrpcTransport final : public runtime::Transport, public Greeter {
 public:
  GrpcTransport(TransportOptions options, GrpcOptions grpc)
      : options_(std::move(options)), grpc_(std::move(grpc)) {
    for (int peer = 0; peer < options_.nodes; ++peer) {
      links_.push_back(
          !options_.IsPartner(peer)
              ? nullptr
              : std::make_unique<Link>(
                    Link::Settings{
                        peer, options_.peers[peer],
                        grpc_.chunk_bytes, grpc_.eager_bytes,
                        options_.unexpected_bytes,
                        [this, peer](const absl::Status &why) {
                          PeerFailed(peer, why);
                        }},
                    &callbacks_, &monitor_));
    }
  }

  ~GrpcTransport() override { Close(absl::ZeroDuration()); }

  absl::Status Connect();

  int rank() const override { return options_.rank; }
  int nodes() const override { return options_.nodes; }
  const char *name() const override { return "grpc"; }
  bool overtakes() const override { return true; }

  void Send(int peer, MessageTag tag, int32_t priority,
            absl::Span<const std::byte> bytes, Done done) override {
    if (links_[peer] == nullptr) return done(runtime::NoPartner(peer));
    links_[peer]->Send(tag, priority, bytes, std::move(done));
    Begun();
  }

  void Recv(int peer, MessageTag tag, absl::Span<std::byte> buffer,
            Done done) override {
    if (links_[peer] == nullptr) return done(runtime::NoPartner(peer));
    auto receive = std::make_unique<Receive>();
    receive->bytes = buffer.size();
    receive->buffer = buffer;
    receive->done = std::move(done);
    links_[peer]->Recv(tag, std::move(receive));
    Begun();
  }

  void RecvStream(int peer, MessageTag tag, size_t bytes, size_t unit,
                  Sink sink, Done done) override {
    if (links_[peer] == nullptr) return done(runtime::NoPartner(peer));
    auto receive = std::make_unique<Receive>();
    receive->bytes = bytes;
    receive->sink = std::move(sink);
    receive->unit = unit;
    receive->done = std::move(done);
    links_[peer]->Recv(tag, std::move(receive));
    Begun();
  }

  void Abort(const absl::Status &why) override {
    ForLinks([&](Link &link) { link.Abort(why); });
    Begun();
  }

  void Close(absl::Duration flush) override;

  uint64_t bytes_sent() const override {
    uint64_t sum = 0;
    for (const auto &link : links_) sum += link ? link->bytes_sent() : 0;
    return sum;
  }
  uint64_t bytes_received() const override {
    uint64_t sum = 0;
    for (const auto &link : links_) sum += link ? link->bytes_received() : 0;
    return sum;
  }

 private:
  template <typename F>
  void ForLinks(F use) const {
    for (const auto &link : links_)
      if (link != nullptr) use(*link);
  }

  template <typename F>
  bool AllLinks(F holds) const {
    return std::all_of(links_.begin(), links_.end(), [&](const auto &link) {
      return link == nullptr || holds(*link);
    });
  }

  // A thread that rests goes on.
  void Begun() {
    if (grpc_.seldom) monitor_.Notify();
  }
  // Nothing is under way, and nobody joins or leaves.
  bool Resting() const {
    if (!callbacks_.idle()) return false;
    MutexLock lock(&mu_);
    return !connecting_ && !closing_;
  }
  void Drive();
  absl::Status Listen();
  void AcceptNext();
  void PeerFailed(int peer, const absl::Status &why);
  absl::Status Late() const;

  // Greeter
  Hello OwnHello(int to) const override;
  Link *link(int peer) const override { return links_[peer].get(); }
  const std::string &token() const override { return grpc_.security.token; }
  Sharing *sharing() override { return &sharing_; }
  void RefusedStranger(absl::string_view peer, absl::string_view why) override {
    gate_.Log(peer, why);
  }
  void Refused(const absl::Status &why) override;
  void Changed() override { monitor_.Notify(); }

  const TransportOptions options_;
  const GrpcOptions grpc_;
  Sharing sharing_{.enabled = grpc_.shared_memory, .payload = grpc_.shared_bytes};
  Monitor monitor_;
  Callbacks callbacks_{&monitor_};
  std::vector<std::unique_ptr<Link>> links_;          // by rank; only of partners
  std::map<int, std::unique_ptr<Dialler>> diallers_;  // of lower ranks
  Gate gate_{grpc_.security.token, kPatience, grpc_.log, &sharing_};
  RawService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;

  mutable Mutex mu_;
  bool connecting_ ABSL_GUARDED_BY(mu_) = true;
  absl::Status connect_error_ ABSL_GUARDED_BY(mu_);
  bool refused_ ABSL_GUARDED_BY(mu_) = false;  // a peer, which is to hear why
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

Hello GrpcTransport::OwnHello(int to) const {
  Hello hello;
  hello.set_protocol_version(kProtocolVersion);
  hello.set_plan_digest(options_.plan_digest);
  hello.set_epoch(options_.epoch);
  hello.set_nodes(options_.nodes);
  hello.set_rank(options_.rank);
  hello.set_to_rank(to);
  hello.set_unexpected_bytes(options_.unexpected_bytes);
  hello.set_eager_bytes(grpc_.eager_bytes);
  return hello;
}

void GrpcTransport::Refused(const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    if (connecting_ && connect_error_.ok()) connect_error_ = why;
    refused_ = true;
  }
  monitor_.Notify();
}

void GrpcTransport::PeerFailed(int peer, const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    if (closed_) return;
    if (connecting_) {
      if (connect_error_.ok()) connect_error_ = why;
      return;
    }
  }
  if (options_.on_peer_failure) options_.on_peer_failure(peer, why);
}

void GrpcTransport::AcceptNext() {
  Accept(&service_, queue_.get(), [this](std::shared_ptr<Stream> stream) {
    if (stream == nullptr) return;  // the server shuts down
    AcceptNext();
    gate_.Take(std::move(stream), [this](std::shared_ptr<Stream> admitted,
                                         grpc::ByteBuffer first) {
      Greet(std::move(admitted), first, this);
    });
  });
}

absl::Status GrpcTransport::Listen() {
  absl::StatusOr<std::string> address = ServerAddress(
      options_.peers[options_.rank], "a rank", grpc_.security, grpc_.listen_any);
  if (!address.ok()) return address.status();
  auto credentials = ServerCredentials(grpc_.security);
  if (!credentials.ok()) return credentials.status();
  grpc::ServerBuilder builder;
  for (const auto &[name, value] : ChannelArguments(grpc_))
    builder.AddChannelArgument(name, value);
  SetCongestion(grpc_.congestion_control, &builder);
  int port = 0;
  builder.AddListeningPort(*address, *credentials, &port);
  builder.RegisterService(&service_);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  const bool named = address->rfind("unix:", 0) == 0;
  if (server_ == nullptr || (port == 0 && !named)) {
    if (server_ == nullptr) {
      queue_->Shutdown();
      void *event;
      bool ok;
      while (queue_->Next(&event, &ok)) {
      }
      queue_ = nullptr;
    }
    return absl::UnavailableError(
        absl::StrCat("rank ", options_.rank, " cannot listen on ", *address));
  }
  for (int i = 0; i < std::max(1, grpc_.threads); ++i)
    threads_.emplace_back([this] { Drive(); });
  AcceptNext();
  return absl::OkStatus();
}

void GrpcTransport::Drive() {
  auto until = std::chrono::system_clock::time_point::max();
  bool nothing = grpc_.seldom;
  while (true) {
    if (nothing) {
      const bool rests = !monitor_.Wait(Clock::now() + kLook, [this] { return !Resting(); });
      until = std::chrono::system_clock::now() + (rests ? Clock::duration::zero() : kSettling);
    }
    void *event;
    bool ok;
    const auto next = queue_->AsyncNext(&event, &ok, until);
    if (next == grpc::CompletionQueue::SHUTDOWN) return;
    nothing = next == grpc::CompletionQueue::TIMEOUT;
    if (nothing) continue;
    TakeOver();
    static_cast<Event *>(event)->Happened(ok);
    HandOver();
  }
}

absl::Status GrpcTransport::Late() const {
  std::vector<std::string> missing;
  std::string last;
  for (int peer = 0; peer < options_.nodes; ++peer) {
    if (links_[peer] == nullptr || links_[peer]->open()) continue;
    missing.push_back(absl::StrCat(peer, " (", options_.peers[peer], ")"));
    if (peer < options_.rank && last.empty())
      last = std::string(diallers_.at(peer)->last_error().message());
    // gRPC says first that it has tried all addresses.
    if (const size_t at = last.rfind(kLastError); at != std::string::npos)
      last.erase(0, at + sizeof(kLastError) - 1);
  }
  return absl::DeadlineExceededError(absl::StrCat(
      missing.size() == 1 ? "peer " : "peers ", absl::StrJoin(missing, ", "),
      " did not join within ", absl::FormatDuration(options_.connect_deadline),
      last.empty() ? "" : absl::StrCat("; ", kLastError), last, gate_.RefusedText()));
}

absl::Status GrpcTransport::Connect() {
  const Clock::time_point deadline = runtime::After(options_.connect_deadline);
  if (absl::Status status = Listen(); !status.ok()) return status;

  grpc::ChannelArguments arguments;
  for (const auto &[name, value] : ChannelArguments(grpc_))
    arguments.SetInt(name, value);
  SetCongestion(grpc_.congestion_control, &arguments);
  auto credentials = ChannelCredentials(grpc_.security);
  if (!credentials.ok()) return credentials.status();
  if (!grpc_.security.server_name.empty())
    arguments.SetSslTargetNameOverride(grpc_.security.server_name);
  for (int peer = 0; peer < options_.rank; ++peer)
    if (links_[peer] != nullptr)
      diallers_[peer] = std::make_unique<Dialler>(
          peer,
          grpc::CreateCustomChannel(options_.peers[peer], *credentials, arguments),
          queue_.get(), this);

  absl::Status error;
  while (true) {
    gate_.CheckTimes();
    for (auto &[peer, dialler] : diallers_) dialler->DialIfIdle();
    auto over = [&] {
      MutexLock lock(&mu_);
      error = connect_error_;
      return !error.ok() || AllLinks([](Link &link) { return link.open(); });
    };
    if (monitor_.Wait(std::min(deadline, Clock::now() + kRedial), over)) break;
    if (Clock::now() >= deadline) {
      error = Late();
      break;
    }
  }
  if (!error.ok()) {
    Abort(error);
    return error;
  }
  gate_.Shut();  // all are here: nobody else is expected
  MutexLock lock(&mu_);
  connecting_ = false;
  return connect_error_;
}

void GrpcTransport::Close(absl::Duration flush) {
  const Clock::time_point deadline = runtime::After(flush);
  {
    MutexLock lock(&mu_);
    if (closed_) return;
    closing_ = true;
  }
  Begun();
  if (queue_ != nullptr) {
    monitor_.Wait(deadline, [&] {
      return AllLinks([](Link &link) { return link.sends_done(); });
    });
    ForLinks([](Link &link) { link.SayGoodbye(); });
    auto closed = [&] {
      return AllLinks([](Link &link) { return link.closed(); });
    };
    // All that is left is an exchange of two packets with each peer.
    monitor_.Wait(std::max(deadline, Clock::now() + kGoodbyeGrace), closed);
    bool refused = false;
    {
      MutexLock lock(&mu_);
      closed_ = true;
      refused = refused_;
    }
    for (auto &[peer, dialler] : diallers_) dialler->Stop();
    ForLinks([](Link &link) { link.Drop(); });
    if (refused) std::this_thread::sleep_for(kRefusalGrace);
    server_->Shutdown(std::chrono::system_clock::now());
    gate_.Close();
    monitor_.Wait(Clock::time_point::max(), [&] {
      return closed() && std::all_of(diallers_.begin(), diallers_.end(),
                                     [](auto &d) { return d.second->idle(); });
    });
    for (auto &[peer, dialler] : diallers_) dialler->DropChannel();
    // Memory that gRPC still refers to is in writes to peers that do not read:
    // these end with the connections, at the latest after the keepalive time.
    monitor_.Wait(Clock::time_point::max(), [&] { return callbacks_.idle(); });
    sharing_.loop.Stop();
    queue_->Shutdown();
    for (std::thread &thread : threads_) thread.join();
    server_ = nullptr;
    queue_ = nullptr;
  }
  MutexLock lock(&mu_);
  closed_ = true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<runtime::Transport>> ConnectGrpc(
    TransportOptions options, GrpcOptions grpc) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  for (const std::string &peer : options.peers)
    if (absl::Status status = CheckDialled(peer, "a rank", grpc.security);
        !status.ok())
      return status;
  if (absl::Status status = CheckCongestion(grpc.congestion_control); !status.ok())
    return status;
  InitialiseGrpc();
  auto transport =
      std::make_unique<GrpcTransport>(std::move(options), Clamped(grpc));
  if (absl::Status status = transport->Connect(); !status.ok()) {
    transport->Close(absl::ZeroDuration());
    return status;
  }
  return transport;
}

}  // namespace commsched::transport
