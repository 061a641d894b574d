// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a link sends and what it waits for: pushes and pulls.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc/servers/parameter_protocol.h"
#include "grpc/servers/server_link.h"
#include "plan/packets.h"
#include "runtime/base/status_util.h"

namespace commsched::transport {

using runtime::MutexLock;

// The caller's own memory. Its end may come with locks of gRPC held.
class ServerLink::Lent {
 public:
  Lent(ServerLink *link, Done done) : link_(link), done_(std::move(done)) {}
  ~Lent() {
    link_->callbacks_->RunLater(
        [done = std::move(done_), failure = std::move(failure)]() mutable {
          done(std::move(failure));
        });
  }
  absl::Status failure;  // before the link lets go

 private:
  ServerLink *const link_;
  Done done_;
};

void ServerLink::Put(const Message &message) {
  parameter::Header header;
  parameter::Data *data = nullptr;
  switch (message.kind) {
    case Message::kPush:
      data = header.mutable_push();
      break;
    case Message::kPull:
      header.mutable_pull()->set_version(message.step);
      header.mutable_pull()->set_block(message.block);
      header.mutable_pull()->set_priority(OfPull(message.block));
      return stream_->PutWithPush(std::move(header), message.block, message.step - 1);
    case Message::kPullRows:
      data = header.mutable_pull_rows();
      data->set_request(message.request);
      data->set_priority(OfPull(message.block));
      break;
    case Message::kFinish:
      header.mutable_finish()->set_steps(message.step);
      return stream_->PutBehind(std::move(header));
  }
  data->set_step(message.step);
  data->set_block(message.block);
  stream_->PutData(std::move(header),
                   message.kind == Message::kPush ? message.payload
                                                  : row_pulls_.at(message.request)->ids,
                   message.kind == Message::kPush ? order_.OfPush(size_t(settings_.server), message.block)
                                                  : OfPull(message.block));
}

bool ServerLink::IsCopied(size_t bytes) const {
  return machine_.keeps_checkpoints() || bytes <= plan::kCopiedPush;
}

void ServerLink::Push(uint32_t block, uint64_t step,
                      absl::Span<const std::byte> bytes, Done done) {
  callbacks_->Begin();
  bool copy = false, reuse = false;
  absl::Status failure;
  {
    MutexLock lock(&mu_);
    copy = IsCopied(bytes.size());
    size_t &last = push_bytes_[block];
    reuse = std::exchange(last, bytes.size()) == bytes.size();
    failure = failure_;
  }
  if (!failure.ok()) return RunDone(std::move(done), std::move(failure));
  runtime::SharedBytes payload;
  std::shared_ptr<Lent> lent;
  if (copy) {
    std::shared_ptr<std::byte[]> kept;
    if (reuse)
      kept = pool_.Take(bytes.size());
    else
      kept.reset(new std::byte[bytes.size()]);
    if (!bytes.empty()) std::memcpy(kept.get(), bytes.data(), bytes.size());
    payload = {absl::MakeConstSpan(kept.get(), bytes.size()), kept};
  } else {
    lent = std::make_shared<Lent>(this, std::move(done));
    payload = {bytes, lent};
  }
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    failure = failure_;
    if (failure.ok()) {
      auto message = machine_.Push(block, step, payload);
      failure = message.status();
      if (failure.ok()) bytes_sent_ += bytes.size();
      if (failure.ok() && message->has_value()) {
        Put(**message);
        stream = stream_;
      }
    }
    if (lent != nullptr && !failure.ok()) lent->failure = failure;
  }
  if (stream != nullptr) stream->Flush();
  if (copy) RunDone(std::move(done), std::move(failure));
}

void ServerLink::Pull(uint32_t block, uint64_t version,
                      absl::Span<std::byte> buffer, Done done) {
  callbacks_->Begin();
  absl::Status failure;
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    failure = failure_;
    absl::StatusOr<std::optional<Message>> message = std::nullopt;
    if (failure.ok()) {
      message = machine_.Pull(block, version);
      failure = message.status();
    }
    if (failure.ok()) {
      auto pull = std::make_shared<Pending>();
      pull->buffer = buffer;
      pull->done = std::move(done);
      pulls_.emplace(Key{version, block}, std::move(pull));
      if (message->has_value()) {
        Put(**message);
        stream = stream_;
      }
    }
  }
  if (stream != nullptr) stream->Flush();
  if (!failure.ok()) RunDone(std::move(done), std::move(failure));
}

void ServerLink::PullRows(uint32_t block, uint64_t version,
                          absl::Span<const int64_t> ids,
                          absl::Span<std::byte> buffer, Done done) {
  callbacks_->Begin();
  auto kept = std::make_shared<std::vector<int64_t>>(ids.begin(), ids.end());
  auto pull = std::make_shared<RowPull>();
  pull->key = {version, block};
  pull->ids = {absl::MakeConstSpan(
                   reinterpret_cast<const std::byte *>(kept->data()),
                   kept->size() * sizeof(int64_t)),
               kept};
  pull->buffer = buffer;
  absl::Status failure;
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    failure = failure_;
    if (failure.ok()) {
      pull->done = std::move(done);
      bytes_sent_ += pull->ids.bytes.size();
      const auto [request, message] = machine_.PullRows(block, version);
      row_pulls_.emplace(request, std::move(pull));
      if (message.has_value()) {
        Put(*message);
        stream = stream_;
      }
    }
  }
  if (stream != nullptr) stream->Flush();
  if (!failure.ok()) RunDone(std::move(done), std::move(failure));
}

absl::Status ServerLink::CheckPart(const Pending &pull,
                                   const parameter::Data &data, size_t size) {
  if (data.total() != pull.buffer.size())
    return absl::InvalidArgumentError(absl::StrFormat(
        "size of block %d must match the pull's %d bytes, got: %d",
        data.block(), pull.buffer.size(), data.total()));
  if (data.offset() != pull.got || size > pull.buffer.size() - pull.got ||
      (size == 0 && data.total() > 0))
    return absl::DataLossError(absl::StrFormat(
        "part of block %d must be the next, at %d of %d, got: %d and %d bytes",
        data.block(), pull.got, data.total(), data.offset(), size));
  return absl::OkStatus();
}

// Without the lock, but `busy`. Returns how far the buffer is filled.
size_t ServerLink::CopyPart(const Pending &pull, PacketReader &reader) {
  size_t at = pull.got;
  reader.ReadPayload([&](absl::Span<const std::byte> piece) {
    if (piece.empty()) return;
    std::memcpy(pull.buffer.data() + at, piece.data(), piece.size());
    at += piece.size();
  });
  return at;
}

absl::Status ServerLink::OnValue(const parameter::Data &data,
                                 PacketReader &reader) {
  std::shared_ptr<Pending> pull;
  const Key key{data.step(), data.block()};
  {
    MutexLock lock(&mu_);
    auto found = pulls_.find(key);
    // Given up, or not asked for.
    if (found == pulls_.end()) {
      if (!failure_.ok()) return absl::OkStatus();
      return absl::DataLossError(
          absl::StrFormat("got version %d of block %d without a pull",
                          data.step(), data.block()));
    }
    pull = found->second;
    if (absl::Status status = CheckPart(*pull, data, reader.payload_bytes());
        !status.ok())
      return status;
    pull->busy = true;
  }
  const size_t at = CopyPart(*pull, reader);
  absl::Status status;
  {
    MutexLock lock(&mu_);
    if (!TakePart(*pull, at, status)) return absl::OkStatus();
    if (status.ok()) {
      pulls_.erase(key);
      machine_.Pulled(data.block(), data.step());
    }
  }
  RunDone(std::move(pull->done), std::move(status));
  return absl::OkStatus();
}

absl::Status ServerLink::OnRows(const parameter::Data &data,
                                PacketReader &reader) {
  std::shared_ptr<RowPull> pull;
  {
    MutexLock lock(&mu_);
    auto found = row_pulls_.find(data.request());
    if (found == row_pulls_.end() ||
        found->second->key != Key{data.step(), data.block()}) {
      if (!failure_.ok()) return absl::OkStatus();
      return absl::DataLossError(absl::StrFormat(
          "got rows of version %d of block %d without a pull", data.step(),
          data.block()));
    }
    pull = found->second;
    if (absl::Status status = CheckPart(*pull, data, reader.payload_bytes());
        !status.ok())
      return status;
    pull->busy = true;
  }
  const size_t at = CopyPart(*pull, reader);
  absl::Status status;
  {
    MutexLock lock(&mu_);
    if (!TakePart(*pull, at, status)) return absl::OkStatus();
    if (status.ok()) {
      row_pulls_.erase(data.request());
      machine_.PulledRows(data.request());
    }
  }
  RunDone(std::move(pull->done), std::move(status));
  return absl::OkStatus();
}

// Whether the pull has ended.
bool ServerLink::TakePart(Pending &pull, size_t at, absl::Status &status) {
  pull.busy = false;
  pull.got = at;
  status = pull.failure;
  if (!status.ok()) return true;
  if (at < pull.buffer.size()) return false;
  bytes_received_ += at;
  return true;
}

void ServerLink::Fail(const absl::Status &why) {
  std::vector<std::shared_ptr<Pending>> ended;
  std::vector<runtime::SharedBytes> pushes;
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok()) return;
    stream = stream_;
    failure_ = runtime::Unshared(why);
    for (auto &[key, pull] : pulls_) {
      if (pull->busy)
        pull->failure = runtime::Unshared(why);
      else
        ended.push_back(std::move(pull));
    }
    for (auto &[request, pull] : row_pulls_) {
      if (pull->busy)
        pull->failure = runtime::Unshared(why);
      else
        ended.push_back(std::move(pull));
    }
    pulls_.clear();
    row_pulls_.clear();
    pushes = machine_.Clear();
    for (runtime::SharedBytes &payload : pushes)
      if (!IsCopied(payload.bytes.size()))
        const_cast<Lent *>(static_cast<const Lent *>(payload.owner.get()))
            ->failure = runtime::Unshared(why);
  }
  pushes.clear();
  if (stream != nullptr) stream->ForgetData();
  for (auto &pull : ended)
    RunDone(std::move(pull->done), runtime::Unshared(why));
}

}  // namespace commsched::transport
