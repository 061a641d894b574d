// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a link sends and what it waits for: pushes and pulls.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc/parameter_protocol.h"
#include "grpc/server_link.h"
#include "runtime/status_util.h"

namespace commsched::transport {

using runtime::MutexLock;

namespace {

// Pushes up to this size are copied, so that they are done at once: nobody waits
// until the server has taken them before the new value is asked for.
constexpr size_t kSmallPush = size_t{512} << 10;

}  // namespace

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

void ServerLink::LetGo(uint32_t block, uint64_t next) {
  if (next <= safe_[block]) return;
  // Few steps are kept, many blocks: look the block up in each step.
  for (auto at = pushes_.begin(); at != pushes_.end() && at->first.first < next;) {
    auto found = pushes_.find({at->first.first, block});
    const uint64_t step = at->first.first;
    if (found != pushes_.end()) pushes_.erase(found);
    at = pushes_.lower_bound({step + 1, 0});
  }
  safe_[block] = next;
}

void ServerLink::PutPush(const Key &key, const runtime::SharedBytes &payload) {
  parameter::Header header;
  header.mutable_push()->set_step(key.first);
  header.mutable_push()->set_block(key.second);
  stream_->PutData(std::move(header), payload, PriorityOf(key.second));
}

void ServerLink::PutPull(const Key &key) {
  parameter::Header header;
  header.mutable_pull()->set_version(key.first);
  header.mutable_pull()->set_block(key.second);
  stream_->Put(std::move(header));
}

void ServerLink::PutRowPull(uint64_t request, const RowPull &pull) {
  parameter::Header header;
  header.mutable_pull_rows()->set_step(pull.key.first);
  header.mutable_pull_rows()->set_block(pull.key.second);
  header.mutable_pull_rows()->set_request(request);
  stream_->PutData(std::move(header), pull.ids, PriorityOf(pull.key.second));
}

bool ServerLink::IsCopied(size_t bytes) const {
  return keeps_checkpoints_ || bytes <= kSmallPush;
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
      if (pushes_.contains({step, block}) ||
          (block < safe_.size() && step < safe_[block])) {
        failure = absl::InvalidArgumentError(absl::StrFormat(
            "block %d of step %d has been pushed already", block, step));
      } else {
        bytes_sent_ += bytes.size();
        pushes_.emplace(Key{step, block}, payload);
        if (joined_) {
          PutPush({step, block}, payload);
          stream = stream_;
        }
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
    const Key key{version, block};
    if (failure.ok() && pulls_.contains(key))
      failure = absl::InvalidArgumentError(absl::StrFormat(
          "version %d of block %d is being pulled already", version, block));
    if (failure.ok()) {
      auto pull = std::make_shared<Pending>();
      pull->buffer = buffer;
      pull->done = std::move(done);
      pulls_.emplace(key, std::move(pull));
      if (joined_) {
        PutPull(key);
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
      const uint64_t request = next_request_++;
      if (joined_) {
        PutRowPull(request, *pull);
        stream = stream_;
      }
      row_pulls_.emplace(request, std::move(pull));
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
    if (status.ok()) pulls_.erase(key);
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
    if (status.ok()) row_pulls_.erase(data.request());
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
  absl::btree_map<Key, runtime::SharedBytes> pushes;
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
    pushes.swap(pushes_);
    for (auto &[key, payload] : pushes)
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
