// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/nccl_lane.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"
#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {
namespace {

// Between two looks at what is under way.
constexpr absl::Duration kLook = absl::Microseconds(100);
// So often NCCL is asked at once whether it is done with a call: that takes some ten microseconds.
constexpr int kAskedAtOnce = 100;
// By then an abort has told NCCL's kernels to end.
constexpr absl::Duration kAbort = absl::Milliseconds(10);

bool Begun(NcclResult result) {
  return result == NcclResult::kSuccess || result == NcclResult::kInProgress;
}

// Before it is asked again.
void Pause(int asked) {
  if (asked == 0) return;
  if (asked < kAskedAtOnce)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(kLook));
}

}  // namespace

absl::StatusOr<std::unique_ptr<NcclLane>> NcclLane::Create(NcclLaneOptions options) {
  std::unique_ptr<NcclLane> lane(new NcclLane(std::move(options)));
  lane->thread_ = std::thread([raw = lane.get()] { raw->Run(); });
  MutexLock lock(&lane->mu_);
  while (!lane->connected_ && !lane->ended_) lane->changed_.Wait(&lane->mu_);
  if (!lane->status_.ok()) return Unshared(lane->status_);
  return lane;
}

NcclLane::NcclLane(NcclLaneOptions options)
    : options_(std::move(options)),
      watch_(options_.rank, options_.ranks, absl::ToInt64Nanoseconds(options_.deadline)) {}

NcclLane::~NcclLane() {
  {
    MutexLock lock(&mu_);
    closing_ = true;
    changed_.SignalAll();
  }
  thread_.join();
}

absl::Status NcclLane::Post(Work work) {
  MutexLock lock(&mu_);
  if (!status_.ok()) return Unshared(status_);
  work_.push_back(std::move(work));
  idle_ = false;
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status NcclLane::Drain() {
  MutexLock lock(&mu_);
  while (!ended_ && !idle_) changed_.Wait(&mu_);
  return Unshared(status_);
}

void NcclLane::Fail(const absl::Status &why) {
  MutexLock lock(&mu_);
  if (failed_.ok()) failed_ = Unshared(why);
  changed_.SignalAll();
}

absl::Status NcclLane::status() {
  MutexLock lock(&mu_);
  return Unshared(status_);
}

Time NcclLane::Now() const { return options_.now ? options_.now() : ToTime(Clock::now()); }

bool NcclLane::Stopped() {
  MutexLock lock(&mu_);
  return closing_;
}

absl::Status NcclLane::Stop() {
  MutexLock lock(&mu_);
  return Unshared(failed_);
}

std::string NcclLane::TextOf(NcclResult result) const {
  const char *text = options_.nccl->GetErrorString(result);
  const char *last = options_.nccl->GetLastError(comm_);
  return absl::StrCat(text == nullptr ? "" : text, last != nullptr && *last ? ", " : "",
                      last == nullptr ? "" : last);
}

absl::Status NcclLane::CheckDriver(DriverResult result, const char *what) const {
  return ToStatus(*options_.driver, result, what);
}

NcclResult NcclLane::Ask() const {
  NcclResult says = NcclResult::kSuccess;
  const NcclResult asked = options_.nccl->CommGetAsyncError(comm_, &says);
  return asked == NcclResult::kSuccess ? says : asked;
}

absl::Status NcclLane::Settle(NcclResult result, const char *what) {
  const Time deadline = Now() + absl::ToInt64Nanoseconds(options_.deadline);
  bool settled = !Begun(result);
  for (int asked = 0; !settled; ++asked) {
    if (absl::Status status = Stop(); !status.ok()) return status;
    if (Now() >= deadline)
      return watch_.Error(
          absl::StatusCode::kDeadlineExceeded,
          absl::StrCat(what, " takes longer than ", absl::FormatDuration(options_.deadline)));
    Pause(asked);
    result = Ask();
    settled = result != NcclResult::kInProgress;
  }
  if (result == NcclResult::kSuccess) return absl::OkStatus();
  return watch_.Check(result, absl::StrCat(what, ": ", TextOf(result)), Now());
}

absl::Status NcclLane::Connect() {
  const NcclApi &nccl = *options_.nccl;
  if (absl::Status status =
          CheckDriver(options_.driver->ContextSetCurrent(options_.context), "cuCtxSetCurrent");
      !status.ok())
    return status;
  NcclConfig config;
  config.blocking = 0;
  const NcclResult begun =
      nccl.CommInitRankConfig(&comm_, options_.ranks, options_.id, options_.rank, &config);
  if (absl::Status status = Settle(begun, "connecting"); !status.ok()) return status;
  // NCCL writes them later than the call returns. Null: there is nothing to gain by a window here.
  windows_.resize(options_.windows.size(), nullptr);
  for (size_t i = 0; i < windows_.size(); ++i) {
    const NcclLaneOptions::Window &window = options_.windows[i];
    const NcclResult result = nccl.CommWindowRegister(comm_, window.begin, window.bytes,
                                                      &windows_[i], kNcclWindowSymmetric);
    if (absl::Status status = Settle(result, "registering memory"); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status NcclLane::TakeEvents(Open *call) {
  if (!free_.empty()) {
    call->inputs = free_.back().inputs;
    call->end = free_.back().end;
    free_.pop_back();
    return absl::OkStatus();
  }
  const DriverApi &driver = *options_.driver;
  for (Event *event : {&call->inputs, &call->end}) {
    const DriverResult made = driver.EventCreate(event, kEventDisableTiming);
    absl::Status status = CheckDriver(made, "cuEventCreate");
    if (status.ok()) continue;
    if (event == &call->end) driver.EventDestroy(call->inputs);
    return status;
  }
  return absl::OkStatus();
}

absl::Status NcclLane::Enqueue(const Collective &c, Stream stream, NcclResult *result) {
  const NcclApi &nccl = *options_.nccl;
  switch (c.kind) {
    case Collective::Kind::kAllReduce:
      *result = nccl.AllReduce(c.from, c.to, c.count, c.type, c.reduction, comm_, stream);
      return absl::OkStatus();
    case Collective::Kind::kReduceScatter:
      *result = nccl.ReduceScatter(c.from, c.to, c.count, c.type, c.reduction, comm_, stream);
      return absl::OkStatus();
    case Collective::Kind::kAllGather:
      *result = nccl.AllGather(c.from, c.to, c.count, c.type, comm_, stream);
      return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("no such collective: ", int(c.kind)));
}

absl::Status NcclLane::Call(const Collective &collective, Stream stream) {
  Open call;
  if (absl::Status status = TakeEvents(&call); !status.ok()) return status;
  // From here on its events are destroyed with the others.
  open_.push_back(call);
  watch_.Called(collective.name, Now());
  const DriverApi &driver = *options_.driver;
  absl::Status recorded = CheckDriver(driver.EventRecord(call.inputs, stream), "cuEventRecord");
  if (!recorded.ok()) return recorded;
  NcclResult result = NcclResult::kSuccess;
  if (absl::Status status = Enqueue(collective, stream, &result); !status.ok()) return status;
  if (!Begun(result)) {
    // What is wrong with the call itself is the communicator's error from then on; otherwise it is
    // perhaps one before it.
    const bool itself =
        result == NcclResult::kInvalidArgument || result == NcclResult::kInvalidUsage;
    if (absl::Status status = itself ? absl::OkStatus() : Poll(); !status.ok()) return status;
    return watch_.Refused(result, TextOf(result));
  }
  int asked = 0;
  do {
    Pause(asked++);
    if (absl::Status status = Look(&result); !status.ok()) return status;
  } while (result == NcclResult::kInProgress);
  watch_.Accepted();
  // Only now: before it is taken, the collective is not on the stream.
  recorded = CheckDriver(driver.EventRecord(call.end, stream), "cuEventRecord");
  open_.back().called = true;
  return recorded;
}

absl::StatusOr<bool> NcclLane::HasEnded(Event event) const {
  const DriverResult result = options_.driver->EventQuery(event);
  if (result == DriverResult::kNotReady) return false;
  absl::Status status = CheckDriver(result, "cuEventQuery");
  if (!status.ok()) return watch_.Error(status.code(), status.message());
  return true;
}

absl::Status NcclLane::Note() {
  while (!open_.empty()) {
    Open &first = open_.front();
    if (!first.ready) {
      absl::StatusOr<bool> ready = HasEnded(first.inputs);
      if (!ready.ok()) return ready.status();
      if (!*ready) break;
      first.ready = true;
      watch_.Ready(1, Now());
    }
    if (!first.called) break;
    absl::StatusOr<bool> ended = HasEnded(first.end);
    if (!ended.ok()) return ended.status();
    if (!*ended) break;
    watch_.Ended(1, Now());
    free_.push_back(first);
    open_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status NcclLane::Look(NcclResult *says) {
  if (absl::Status status = Stop(); !status.ok()) return status;
  // What has ended comes first: an error is at what has not.
  if (absl::Status status = Note(); !status.ok()) return status;
  *says = Ask();
  if (Begun(*says)) return watch_.Check(*says, "", Now());
  // More may have ended since; what the driver says of it now may come of the same error.
  const std::string text = TextOf(*says);
  Note().IgnoreError();
  return watch_.Check(*says, text, Now());
}

absl::Status NcclLane::Poll() {
  NcclResult says = NcclResult::kSuccess;
  return Look(&says);
}

absl::Status NcclLane::Finish() {
  const Time deadline = Now() + absl::ToInt64Nanoseconds(options_.deadline);
  while (!open_.empty()) {
    if (absl::Status status = Poll(); !status.ok()) return status;
    if (Now() >= deadline)
      return watch_.Error(absl::StatusCode::kDeadlineExceeded,
                          "has not ended when the lane was closed");
    if (!open_.empty()) std::this_thread::sleep_for(absl::ToChronoNanoseconds(kLook));
  }
  for (NcclWindow window : windows_) {
    if (window == nullptr) continue;
    const NcclResult result = options_.nccl->CommWindowDeregister(comm_, window);
    if (absl::Status status = Settle(result, "forgetting memory"); !status.ok()) return status;
  }
  return Settle(options_.nccl->CommFinalize(comm_), "finalizing");
}

// ncclCommAbort tells kernels to end, and then synchronizes a stream that stands behind them all. What
// waits for the host before one of them would never let it end.
void NcclLane::Abort() {
  Mutex mu;
  CondVar changed;
  bool aborted = false;
  std::thread other;
  if (options_.let_go)
    other = std::thread([&] {
      MutexLock lock(&mu);
      while (true) {
        for (const Clock::time_point begun = After(kAbort); !aborted && Clock::now() < begun;)
          changed.WaitUntil(&mu, begun);
        if (aborted) return;
        options_.let_go();
      }
    });
  options_.nccl->CommAbort(comm_);
  {
    MutexLock lock(&mu);
    aborted = true;
    changed.SignalAll();
  }
  if (other.joinable()) other.join();
}

void NcclLane::End(const absl::Status &why) {
  {
    // Before an abort lets go of what is on the device, which ends with wrong values then.
    MutexLock lock(&mu_);
    if (status_.ok()) status_ = why.ok() ? absl::CancelledError("the lane is closed") : Unshared(why);
    changed_.SignalAll();
  }
  if (comm_ != nullptr) {
    if (why.ok())
      options_.nccl->CommDestroy(comm_);
    else
      Abort();
  }
  free_.insert(free_.end(), open_.begin(), open_.end());
  open_.clear();
  for (const Open &call : free_) {
    options_.driver->EventDestroy(call.inputs);
    options_.driver->EventDestroy(call.end);
  }
  free_.clear();
  std::deque<Work> dropped;
  MutexLock lock(&mu_);
  dropped.swap(work_);
  ended_ = true;
  changed_.SignalAll();
}

void NcclLane::Run() {
  absl::Status status = Connect();
  if (status.ok()) {
    MutexLock lock(&mu_);
    connected_ = true;
    changed_.SignalAll();
  }
  Caller caller(*this);
  while (status.ok() && !Stopped()) {
    Work work;
    {
      MutexLock lock(&mu_);
      if (!work_.empty()) {
        work = std::move(work_.front());
        work_.pop_front();
      } else if (open_.empty() && !idle_) {
        idle_ = true;
        changed_.SignalAll();
      }
      if (!work && !closing_ && failed_.ok())
        changed_.WaitUntil(&mu_, After(open_.empty() ? absl::Milliseconds(10) : kLook));
    }
    if (work) status = std::move(work)(caller);
    if (status.ok()) status = Poll();
  }
  if (status.ok()) status = Finish();
  End(status);
}

}  // namespace commsched::runtime::cuda
