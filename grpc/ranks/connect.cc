// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a rank comes to its peers: it listens, dials those of lower rank, and waits for all.
#include <grpcpp/create_channel.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "grpc/base/address.h"
#include "grpc/base/options.h"
#include "grpc/base/sockets.h"
#include "grpc/ranks/transport_of_rank.h"

namespace commsched::transport {

using runtime::Clock;
using runtime::MutexLock;

namespace {

constexpr auto kRedial = std::chrono::milliseconds(100);
// How long a rank that cannot begin is there for those who come later.
constexpr auto kLinger = std::chrono::seconds(2);
// What precedes the cause in gRPC's texts, and here.
constexpr char kLastError[] = "last error: ";
}  // namespace

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

void GrpcTransport::Refused(int peer, const absl::Status &why, bool over) {
  {
    MutexLock lock(&mu_);
    if (connecting_ && connect_error_.ok()) connect_error_ = why;
    refused_ = true;
    knowing_.insert(peer);
    over_ |= over;
  }
  monitor_.Notify();
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
  const std::string who = absl::StrCat("rank ", options_.rank);
  if (IsListenedOn(*address)) return CannotListen(who, *address);
  auto credentials = ServerCredentials(grpc_.security);
  if (!credentials.ok()) return credentials.status();
  grpc::ServerBuilder builder;
  for (const auto &[name, value] : ChannelArguments(grpc_))
    builder.AddChannelArgument(name, value);
  PrepareSockets(grpc_.congestion_control, &builder);
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
    return CannotListen(who, *address);
  }
  for (int i = 0; i < std::max(1, grpc_.threads); ++i)
    threads_.emplace_back([this] { Drive(); });
  AcceptNext();
  return absl::OkStatus();
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

// Connections that are made now begin with the reason, and end: who comes later would wait for this rank.
void GrpcTransport::Linger() {
  auto know = [&] {
    MutexLock lock(&mu_);
    if (over_) return true;  // those who come are of another job
    for (int peer = 0; peer < options_.nodes; ++peer)
      if (links_[peer] != nullptr && !links_[peer]->open() && knowing_.count(peer) == 0) return false;
    return true;
  };
  const Clock::time_point end = Clock::now() + kLinger;
  while (!monitor_.Wait(std::min(end, Clock::now() + kRedial), know) && Clock::now() < end) {
    gate_.CheckTimes();
    for (auto &[peer, dialler] : diallers_) {
      {
        MutexLock lock(&mu_);
        if (knowing_.count(peer) != 0) continue;
      }
      dialler->DialIfIdle();
    }
  }
}

absl::Status GrpcTransport::Connect() {
  const Clock::time_point deadline = runtime::After(options_.connect_deadline);
  if (absl::Status status = Listen(); !status.ok()) return status;

  grpc::ChannelArguments arguments;
  for (const auto &[name, value] : ChannelArguments(grpc_))
    arguments.SetInt(name, value);
  PrepareSockets(grpc_.congestion_control, &arguments);
  auto credentials = ChannelCredentials(grpc_.security);
  if (!credentials.ok()) return credentials.status();
  if (!grpc_.security.server_name.empty())
    arguments.SetSslTargetNameOverride(grpc_.security.server_name);
  for (int peer = 0; peer < options_.rank; ++peer)
    if (links_[peer] != nullptr)
      diallers_[peer] = std::make_unique<Dialler>(
          peer,
          [address = options_.peers[peer], credentials = *credentials, arguments] {
            return grpc::CreateCustomChannel(address, credentials, arguments);
          },
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
    Linger();
    return error;
  }
  gate_.Shut();  // all are here: nobody else is expected
  MutexLock lock(&mu_);
  connecting_ = false;
  return connect_error_;
}

}  // namespace commsched::transport
