// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/servers/server_link.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc/base/process.h"
#include "grpc/servers/parameter_protocol.h"
#include "runtime/base/status_util.h"
#include "runtime/core/trainers.h"

namespace commsched::transport {

using runtime::Clock;
using runtime::MutexLock;

namespace {

// gRPC drives the connecting of a channel only while a call waits for it, so
// calls that fail at once never see a server that comes later. A call that waits
// does not learn why. So one of each in turn.
constexpr auto kServerPatience = std::chrono::seconds(3);
// The first call of such a pair takes another channel.
constexpr auto kRemake = std::chrono::seconds(1);

// A call that ended with one of these would end the same way again.
bool IsRefusal(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDataLoss:
    case runtime::core::Trainers::kOtherRun:
      return true;
    default:
      return false;
  }
}

}  // namespace

class ServerLink::Connection final : public FrameStream {
 public:
  explicit Connection(ServerLink *link)
      : FrameStream(link->settings_.chunk_bytes, int(std::max(link->settings_.join.trainers(), link->settings_.join.servers()))), link_(link) {}

 private:
  void OnConnected() override { link_->OnConnected(); }
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

ServerLink::ServerLink(Settings settings,
                       MakeChannel make,
                       grpc::CompletionQueue *queue, Callbacks *callbacks,
                       Monitor *monitor)
    : settings_(std::move(settings)),
      label_(absl::StrFormat("server %d (%s)", settings_.server,
                             settings_.address)),
      queue_(queue),
      callbacks_(callbacks),
      monitor_(monitor),
      make_(std::move(make)),
      channel_(make_()),
      machine_(settings_.join.trainer(),
               absl::ToInt64Nanoseconds(std::min(settings_.deadline, absl::Hours(24 * 365))),
               runtime::ToTime(Clock::now())),
      order_(settings_.order) {}

void ServerLink::SetOrder(const runtime::ServerOrder &order) {
  MutexLock lock(&mu_);
  order_ = order;
}

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
  using Due = runtime::core::TrainerLink::Due;
  const Clock::time_point now = Clock::now();
  absl::Status late;
  std::shared_ptr<FrameStream> hanging;
  {
    MutexLock lock(&mu_);
    runtime::Time again = 0;
    const Due due = machine_.Tick(runtime::ToTime(now), &again);
    if (due == Due::kLate) {
      const std::string waited = absl::FormatDuration(settings_.deadline);
      const std::string last =
          last_error_.ok()
              ? ""
              : absl::StrCat("; last error: ", last_error_.message());
      late = machine_.welcomed()
                 ? Named(absl::StatusCode::kUnavailable,
                         absl::StrCat("is lost, and did not come back within ",
                                      waited, last))
                 : Named(absl::StatusCode::kDeadlineExceeded,
                         absl::StrCat("did not accept trainer ",
                                      settings_.join.trainer(), " within ",
                                      waited, last));
      hanging = stream_;
    } else if (due == Due::kDial) {
      patient_ = !patient_;
      connected_ = false;
      if (TimeWasSetBack() && now - dialled_at_ >= kRemake) channel_ = make_();
      dialled_at_ = now;
      stream_ = std::make_shared<Connection>(this);
      parameter::Header first;
      *first.mutable_join() = settings_.join;
      stream_->DialServer(channel_, queue_, patient_, settings_.token, first,
                          settings_.sharing);
    } else if (machine_.trying() && !machine_.joined() && patient_ && !connected_ &&
               now - dialled_at_ >= kServerPatience) {
      hanging = stream_;
      patience_over_ = connected_ = true;  // once
    }
    if (late.ok() && hanging == nullptr) {
      Clock::time_point next = runtime::FromTime(again);
      if (machine_.trying() && !machine_.joined() && patient_ && !connected_)
        next = std::min(next, dialled_at_ + kServerPatience);
      return next;
    }
  }
  if (hanging != nullptr) hanging->Drop();
  if (late.ok()) return Clock::time_point::max();  // OnGone notifies
  Broken(std::move(late));
  return Clock::time_point::max();
}

void ServerLink::OnConnected() {
  MutexLock lock(&mu_);
  connected_ = true;
}

void ServerLink::OnGone(absl::Status status) {
  std::shared_ptr<FrameStream> last;
  absl::Status refusal;
  {
    MutexLock lock(&mu_);
    last = std::move(stream_);
    stream_ = nullptr;
    machine_.Gone(runtime::ToTime(Clock::now()));
    if (status.ok())
      status = absl::UnavailableError("the server ended the connection");
    status = absl::Status(status.code(), Printable(status.message()));
    if (!leaving_ && !broken_ && IsRefusal(status.code()))
      refusal = Named(
          status.code(),
          status.code() == absl::StatusCode::kUnimplemented
              ? absl::StrCat("is no parameter server: ", status.message())
          : status.code() == absl::StatusCode::kPermissionDenied
              ? absl::StrCat("is refused: ", status.message())
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
    machine_.Leave();
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
    joined = machine_.joined();
    heard_ = Clock::now();
  }
  if (header.has_welcome() == joined)
    return absl::DataLossError(joined ? "got a second welcome"
                                      : "first frame must be a welcome");
  switch (header.kind_case()) {
    case parameter::Header::kWelcome:
      return OnWelcome(header.welcome());
    case parameter::Header::kValue:
      return OnValue(header.value(), reader);
    case parameter::Header::kRows:
      return OnRows(header.rows(), reader);
    case parameter::Header::kTaken: {
      const auto [block, step] =
          std::pair(header.taken().block(), header.taken().step());
      MutexLock lock(&mu_);
      return machine_.Taken(block, step);
    }
    case parameter::Header::kSafe: {
      MutexLock lock(&mu_);
      return machine_.Safe({header.safe().next().begin(), header.safe().next().end()});
    }
    case parameter::Header::kFinished: {
      {
        MutexLock lock(&mu_);
        machine_.Finished();
      }
      monitor_->Notify();
      return absl::OkStatus();
    }
    default:
      return absl::DataLossError("got a frame that no server sends");
  }
}

absl::Status ServerLink::OnWelcome(const parameter::Welcome &welcome) {
  if (welcome.protocol_version() != kParameterProtocol)
    return absl::FailedPreconditionError(
        absl::StrFormat("protocol version must match %d, got: %d",
                        kParameterProtocol, welcome.protocol_version()));
  if (static_cast<uint32_t>(welcome.taken_size()) != welcome.blocks())
    return absl::DataLossError("got a malformed welcome");
  runtime::core::TrainerLink::Welcome said;
  said.steps = welcome.steps();
  said.taken.assign(welcome.taken().begin(), welcome.taken().end());
  said.keeps_checkpoints = welcome.keeps_checkpoints();
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
    absl::StatusOr<std::vector<Message>> send = machine_.Join(said);
    if (!send.ok()) return send.status();
    // Answers begin at their beginning.
    for (auto &[key, pull] : pulls_) pull->got = 0;
    for (auto &[request, pull] : row_pulls_) pull->got = 0;
    for (const Message &message : *send) Put(message);
  }
  stream->Flush();
  monitor_->Notify();
  return absl::OkStatus();
}

void ServerLink::Finish(uint64_t steps) {
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok() || machine_.finishing()) return;
    if (auto message = machine_.Finish(steps)) {
      Put(*message);
      stream = stream_;
    }
  }
  if (stream != nullptr) stream->Flush();
}

void ServerLink::Leave(parameter::Header last) {
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    if (leaving_) return;
    leaving_ = true;
    machine_.Leave();
    stream = stream_;
    // Behind the join also where that is not answered yet: the server may have taken it.
    if (stream != nullptr) stream->Put(std::move(last));
  }
  if (stream != nullptr) stream->End();
}

void ServerLink::Drop() {
  std::shared_ptr<FrameStream> stream;
  {
    MutexLock lock(&mu_);
    leaving_ = true;
    machine_.Leave();
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
  return machine_.welcomed();
}

bool ServerLink::has_blocks() const {
  MutexLock lock(&mu_);
  return machine_.blocks() != 0;
}

bool ServerLink::finished() const {
  MutexLock lock(&mu_);
  return machine_.finished();
}

Clock::time_point ServerLink::heard() const {
  MutexLock lock(&mu_);
  return heard_;
}

bool ServerLink::closed() const {
  MutexLock lock(&mu_);
  return stream_ == nullptr && (leaving_ || broken_);
}

uint64_t ServerLink::first_step() const {
  MutexLock lock(&mu_);
  return machine_.first_step();
}

bool ServerLink::keeps_checkpoints() const {
  MutexLock lock(&mu_);
  return machine_.keeps_checkpoints();
}

}  // namespace commsched::transport
