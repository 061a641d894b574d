// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/server_link.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc/parameter_protocol.h"
#include "runtime/status_util.h"

namespace commsched::transport {

using runtime::Clock;
using runtime::MutexLock;

namespace {

constexpr auto kRedial = std::chrono::milliseconds(100);
// gRPC drives the connecting of a channel only while a call waits for it, so
// calls that fail at once never see a server that comes later. A call that waits
// does not learn why. So one of each in turn.
constexpr auto kPatience = std::chrono::seconds(3);

// A call that ended with one of these would end the same way again.
bool IsRefusal(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

}  // namespace

class ServerLink::Connection final : public FrameStream {
 public:
  Connection(ServerLink *link, size_t chunk_bytes)
      : FrameStream(chunk_bytes), link_(link) {}

 private:
  void OnConnected() override { link_->OnConnected(this); }
  absl::Status OnFrame(const parameter::Header &header,
                       PacketReader &reader) override {
    return link_->OnFrame(header, reader);
  }
  void OnBadFrame(const absl::Status &why) override { link_->OnBadFrame(why); }
  void OnGone(absl::Status status) override {
    link_->OnGone(std::move(status));
  }

  ServerLink *const link_;
};

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

ServerLink::ServerLink(Settings settings,
                       std::shared_ptr<grpc::Channel> channel,
                       grpc::CompletionQueue *queue, Callbacks *callbacks,
                       Monitor *monitor)
    : settings_(std::move(settings)),
      label_(absl::StrFormat("server %d (%s)", settings_.server,
                             settings_.address)),
      queue_(queue),
      callbacks_(callbacks),
      monitor_(monitor),
      channel_(std::move(channel)),
      away_since_(Clock::now()),
      next_dial_(away_since_) {}

absl::Status ServerLink::Named(absl::StatusCode code,
                               absl::string_view what) const {
  return absl::Status(code, absl::StrCat(label_, ": ", what));
}

void ServerLink::RunDone(Done done, absl::Status status) {
  callbacks_->Run(
      [done = std::move(done), status = std::move(status)]() mutable {
        done(std::move(status));
      });
}

Clock::time_point ServerLink::Tick() {
  const auto deadline = absl::ToChronoNanoseconds(settings_.deadline);
  const Clock::time_point now = Clock::now();
  absl::Status late;
  std::shared_ptr<FrameStream> hanging;
  {
    MutexLock lock(&mu_);
    if (joined_ || leaving_ || broken_) return Clock::time_point::max();
    if (now - away_since_ >= deadline) {
      const std::string waited = absl::FormatDuration(settings_.deadline);
      const std::string last =
          last_error_.ok()
              ? ""
              : absl::StrCat("; last error: ", last_error_.message());
      late = welcomed_
                 ? Named(absl::StatusCode::kUnavailable,
                         absl::StrCat("is lost, and did not come back within ",
                                      waited, last))
                 : Named(absl::StatusCode::kDeadlineExceeded,
                         absl::StrCat("did not accept trainer ",
                                      settings_.join.trainer(), " within ",
                                      waited, last));
      hanging = stream_;
    } else if (stream_ == nullptr && now >= next_dial_) {
      patient_ = !patient_;
      connected_ = false;
      dialled_at_ = now;
      stream_ = std::make_shared<Connection>(this, settings_.chunk_bytes);
      stream_->DialServer(channel_, queue_, patient_);
    } else if (stream_ != nullptr && patient_ && !connected_ &&
               now - dialled_at_ >= kPatience) {
      hanging = stream_;
      patience_over_ = connected_ = true;  // once
    }
    if (late.ok() && hanging == nullptr) {
      Clock::time_point next = away_since_ + deadline;
      if (stream_ == nullptr)
        next = std::min(next, next_dial_);
      else if (patient_ && !connected_)
        next = std::min(next, dialled_at_ + kPatience);
      return next;
    }
  }
  if (hanging != nullptr) hanging->Drop();
  if (late.ok()) return Clock::time_point::max();  // OnGone notifies
  Broken(std::move(late));
  return Clock::time_point::max();
}

void ServerLink::OnConnected(Connection *connection) {
  {
    MutexLock lock(&mu_);
    connected_ = true;
  }
  parameter::Header header;
  *header.mutable_join() = settings_.join;
  connection->Put(std::move(header));
}

void ServerLink::OnGone(absl::Status status) {
  std::shared_ptr<FrameStream> last;
  absl::Status refusal;
  {
    MutexLock lock(&mu_);
    last = std::move(stream_);
    stream_ = nullptr;
    if (joined_) away_since_ = Clock::now();
    joined_ = false;
    next_dial_ = Clock::now() + kRedial;
    if (status.ok())
      status = absl::UnavailableError("the server ended the connection");
    status = absl::Status(status.code(), Printable(status.message()));
    if (!leaving_ && !broken_ && IsRefusal(status.code()))
      refusal = Named(
          status.code(),
          status.code() == absl::StatusCode::kUnimplemented
              ? absl::StrCat("is no parameter server: ", status.message())
              : absl::StrFormat("refused trainer %d: %s",
                                settings_.join.trainer(), status.message()));
    if (!std::exchange(patience_over_, false)) last_error_ = std::move(status);
  }
  if (!refusal.ok()) Broken(std::move(refusal));
  monitor_->Notify();
}

void ServerLink::OnBadFrame(const absl::Status &why) {
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
  }
  Broken(Named(why.code(), absl::StrCat("broke the protocol: ", why.message())));
  if (stream != nullptr) stream->Drop();
}

void ServerLink::Broken(absl::Status why) {
  {
    MutexLock lock(&mu_);
    if (broken_ || leaving_) return;
    broken_ = true;
  }
  settings_.on_failure(why);
  monitor_->Notify();
}

absl::Status ServerLink::OnFrame(const parameter::Header &header,
                                 PacketReader &reader) {
  if (header.has_abort()) {
    const int code = static_cast<int>(header.abort().code());
    Broken(Named(code > 0 && code <= 16 ? static_cast<absl::StatusCode>(code)
                                        : absl::StatusCode::kUnknown,
                 Printable(header.abort().message())));
    return absl::OkStatus();
  }
  bool joined = false;
  {
    MutexLock lock(&mu_);
    joined = joined_;
  }
  if (header.has_welcome() == joined)
    return absl::DataLossError(joined ? "got a second welcome"
                                      : "first frame must be a welcome");
  switch (header.kind_case()) {
    case parameter::Header::kWelcome:
      return OnWelcome(header.welcome());
    case parameter::Header::kValue:
      return OnValue(header.value(), reader);
    case parameter::Header::kTaken: {
      MutexLock lock(&mu_);
      if (header.taken().block() >= safe_.size())
        return absl::DataLossError("got an answer for a block that is not");
      if (!keeps_checkpoints_)
        LetGo(header.taken().block(), header.taken().step() + 1);
      return absl::OkStatus();
    }
    case parameter::Header::kSafe: {
      MutexLock lock(&mu_);
      if (static_cast<size_t>(header.safe().next_size()) != safe_.size())
        return absl::DataLossError(
            absl::StrFormat("number of blocks must match %d, got: %d",
                            safe_.size(), header.safe().next_size()));
      for (size_t block = 0; block < safe_.size(); ++block)
        LetGo(block, header.safe().next(block));
      return absl::OkStatus();
    }
    case parameter::Header::kFinished: {
      {
        MutexLock lock(&mu_);
        finished_ = true;
      }
      monitor_->Notify();
      return absl::OkStatus();
    }
    default:
      return absl::DataLossError("got a frame that no server sends");
  }
}

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

absl::Status ServerLink::OnWelcome(const parameter::Welcome &welcome) {
  if (welcome.protocol_version() != kParameterProtocol)
    return absl::FailedPreconditionError(
        absl::StrFormat("protocol version must match %d, got: %d",
                        kParameterProtocol, welcome.protocol_version()));
  if (static_cast<uint32_t>(welcome.taken_size()) != welcome.blocks())
    return absl::DataLossError("got a malformed welcome");
  std::string lost;
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
    if (!welcomed_) {
      first_step_ = welcome.steps();
      safe_.assign(welcome.blocks(), 0);
      keeps_checkpoints_ = welcome.keeps_checkpoints();
    } else if (welcome.blocks() != safe_.size() ||
               welcome.keeps_checkpoints() != keeps_checkpoints_) {
      return absl::FailedPreconditionError(
          "came back with other blocks or another use of checkpoints");
    }
    for (uint32_t block = 0; block < welcome.blocks(); ++block) {
      if (welcomed_ && welcome.taken(block) < safe_[block]) {
        lost = absl::StrFormat(
            "came back without updates that it had %s: of block %d it has "
            "those of trainer %d before step %d, and must have those before %d",
            keeps_checkpoints_ ? "said to be safe"
                               : "taken, for it keeps no checkpoints",
            block, settings_.join.trainer(), welcome.taken(block),
            safe_[block]);
        break;
      }
      if (!keeps_checkpoints_) LetGo(block, welcome.taken(block));
    }
    if (lost.empty()) {
      joined_ = welcomed_ = true;
      for (const auto &[key, payload] : pushes_)
        if (key.second >= safe_.size() || key.first >= welcome.taken(key.second))
          PutPush(key, payload);
      for (auto &[key, pull] : pulls_) {
        pull->got = 0;
        PutPull(key);
      }
      if (finish_.has_value() && !finished_) PutFinish();
    }
  }
  if (!lost.empty()) return absl::DataLossError(lost);
  stream->Flush();
  monitor_->Notify();
  return absl::OkStatus();
}

void ServerLink::PutPush(const Key &key, const runtime::SharedBytes &payload) {
  parameter::Header header;
  header.mutable_push()->set_step(key.first);
  header.mutable_push()->set_block(key.second);
  const auto &priorities = settings_.block_priorities;
  stream_->PutData(std::move(header), payload,
                   key.second < priorities.size() ? priorities[key.second] : 0);
}

void ServerLink::PutPull(const Key &key) {
  parameter::Header header;
  header.mutable_pull()->set_version(key.first);
  header.mutable_pull()->set_block(key.second);
  stream_->Put(std::move(header));
}

void ServerLink::PutFinish() {
  parameter::Header header;
  header.mutable_finish()->set_steps(*finish_);
  stream_->PutBehind(std::move(header));
}

void ServerLink::Push(uint32_t block, uint64_t step,
                      absl::Span<const std::byte> bytes, Done done) {
  callbacks_->Begin();
  bool copy = false;
  absl::Status failure;
  {
    MutexLock lock(&mu_);
    copy = keeps_checkpoints_;
    failure = failure_;
  }
  if (!failure.ok()) return RunDone(std::move(done), std::move(failure));
  runtime::SharedBytes payload;
  std::shared_ptr<Lent> lent;
  if (copy) {
    std::shared_ptr<std::byte[]> kept = pool_.Take(bytes.size());
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

absl::Status ServerLink::OnValue(const parameter::Data &data,
                                 PacketReader &reader) {
  std::shared_ptr<Pending> pull;
  const Key key{data.step(), data.block()};
  const size_t size = reader.payload_bytes();
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
    if (data.total() != pull->buffer.size())
      return absl::InvalidArgumentError(absl::StrFormat(
          "size of block %d must match the pull's %d bytes, got: %d",
          data.block(), pull->buffer.size(), data.total()));
    if (data.offset() != pull->got || size > pull->buffer.size() - pull->got ||
        (size == 0 && data.total() > 0))
      return absl::DataLossError(absl::StrFormat(
          "part of block %d must be the next, at %d of %d, got: %d and %d bytes",
          data.block(), pull->got, data.total(), data.offset(), size));
    pull->busy = true;
  }
  size_t at = pull->got;
  reader.ReadPayload([&](absl::Span<const std::byte> piece) {
    if (piece.empty()) return;
    std::memcpy(pull->buffer.data() + at, piece.data(), piece.size());
    at += piece.size();
  });
  absl::Status status;
  {
    MutexLock lock(&mu_);
    pull->busy = false;
    pull->got = at;
    status = pull->failure;
    if (status.ok()) {
      if (at < pull->buffer.size()) return absl::OkStatus();
      bytes_received_ += at;
      pulls_.erase(key);
    }
  }
  RunDone(std::move(pull->done), std::move(status));
  return absl::OkStatus();
}

void ServerLink::Finish(uint64_t steps) {
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok() || finish_.has_value()) return;
    finish_ = steps;
    if (joined_) {
      PutFinish();
      stream = stream_;
    }
  }
  if (stream != nullptr) stream->Flush();
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
    pulls_.clear();
    pushes.swap(pushes_);
    if (!keeps_checkpoints_)
      for (auto &[key, payload] : pushes)
        const_cast<Lent *>(static_cast<const Lent *>(payload.owner.get()))
            ->failure = runtime::Unshared(why);
  }
  pushes.clear();
  if (stream != nullptr) stream->ForgetData();
  for (auto &pull : ended)
    RunDone(std::move(pull->done), runtime::Unshared(why));
}

void ServerLink::Leave(parameter::Header last) {
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    if (leaving_) return;
    leaving_ = true;
    stream = stream_;
    if (stream != nullptr && joined_) stream->Put(std::move(last));
  }
  if (stream != nullptr) stream->End();
}

void ServerLink::Drop() {
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    leaving_ = true;
    stream = stream_;
  }
  if (stream != nullptr) stream->Drop();
}

void ServerLink::DropChannel() {
  std::shared_ptr<grpc::Channel> last;
  MutexLock lock(&mu_);
  last = std::move(channel_);
}

bool ServerLink::welcomed() const {
  MutexLock lock(&mu_);
  return welcomed_;
}

bool ServerLink::finished() const {
  MutexLock lock(&mu_);
  return finished_;
}

bool ServerLink::closed() const {
  MutexLock lock(&mu_);
  return stream_ == nullptr && (leaving_ || broken_);
}

uint64_t ServerLink::first_step() const {
  MutexLock lock(&mu_);
  return first_step_;
}

}  // namespace commsched::transport
