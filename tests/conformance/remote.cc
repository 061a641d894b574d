// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests' side of remote.h.
#include "tests/conformance/remote.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/base/run_flat.h"
#include "tests/conformance/remote_frames.h"

namespace commsched::conformance {

using runtime::CondVar;
using runtime::MessageTag;
using runtime::Mutex;
using runtime::MutexLock;
using runtime::Transport;

// One worker: sends commands, and hands out what it answers.
class RemoteWorker {
 public:
  struct Operation {
    absl::Span<std::byte> buffer;
    Transport::Sink sink;
    Transport::Done done;
    std::function<void(uint64_t, uint64_t)> counters;
  };

  explicit RemoteWorker(int fd)
      : socket(fd), thread_([this] { Read(); }) {}
  ~RemoteWorker() {
    socket.Shutdown();
    thread_.join();
  }

  uint64_t Begin(Operation operation) {
    MutexLock lock(&mu_);
    operations_.emplace(++last_, std::move(operation));
    return last_;
  }

  // Sends a command and waits for the answer.
  absl::Status Ask(Frame::Head head, const absl::Status &status = absl::OkStatus()) {
    absl::Status answer;
    bool here = false;
    Mutex mu;
    CondVar changed;
    Operation operation;
    operation.done = [&](absl::Status got) {
      MutexLock lock(&mu);
      answer = std::move(got);
      here = true;
      changed.SignalAll();
    };
    head.operation = Begin(std::move(operation));
    socket.Write(head, status);
    MutexLock lock(&mu);
    while (!here) changed.Wait(&mu);
    return answer;
  }

  void OnFailure(uint64_t transport,
                 std::function<void(int, const absl::Status &)> callback) {
    MutexLock lock(&mu_);
    if (callback)
      failures_[transport] = std::move(callback);
    else
      failures_.erase(transport);
  }

  FrameSocket socket;

 private:
  void Read() {
    Frame frame;
    while (socket.Read(&frame)) Handle(frame);
    // A worker that is gone fails the test instead of keeping it waiting.
    MutexLock lock(&mu_);
    for (auto &[id, operation] : operations_)
      operation.done(absl::UnknownError("the worker has ended"));
    operations_.clear();
  }

  void Handle(Frame &frame) {
    Operation operation;
    std::function<void(int, const absl::Status &)> failed;
    {
      MutexLock lock(&mu_);
      if (frame.head.command == Command::kFailure) {
        auto it = failures_.find(frame.head.transport);
        if (it != failures_.end()) failed = it->second;
      } else if (frame.head.command == Command::kPiece) {
        auto it = operations_.find(frame.head.operation);
        if (it != operations_.end())
          it->second.sink(size_t(frame.head.a), frame.bytes);
        return;
      } else {
        auto it = operations_.find(frame.head.operation);
        if (it == operations_.end()) return;
        operation = std::move(it->second);
        operations_.erase(it);
      }
    }
    if (failed) return failed(int(frame.head.a), frame.status());
    if (!operation.done) return;
    if (operation.counters)
      operation.counters(uint64_t(frame.head.c), uint64_t(frame.head.d));
    std::copy_n(frame.bytes.begin(),
                std::min(frame.bytes.size(), operation.buffer.size()),
                operation.buffer.begin());
    runtime::RunFlat([done = std::move(operation.done),
                      status = frame.status()]() mutable { done(status); });
  }

  Mutex mu_;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Operation> operations_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, std::function<void(int, const absl::Status &)>> failures_
      ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

namespace {

class RemoteTransport final : public Transport {
 public:
  RemoteTransport(std::shared_ptr<RemoteWorker> worker, uint64_t id, int rank,
                  int nodes)
      : worker_(std::move(worker)), id_(id), rank_(rank), nodes_(nodes) {}
  ~RemoteTransport() override {
    worker_->Ask({.command = Command::kDestroy, .transport = id_}).IgnoreError();
    worker_->OnFailure(id_, nullptr);
  }

  int rank() const override { return rank_; }
  int nodes() const override { return nodes_; }
  const char *name() const override { return "remote"; }

  void Send(int peer, MessageTag tag, int32_t priority,
            absl::Span<const std::byte> bytes, Done done) override {
    const uint64_t id = Begin({}, nullptr, std::move(done));
    worker_->socket.Write({.command = Command::kSend,
                           .transport = id_,
                           .operation = id,
                           .a = peer,
                           .b = priority,
                           .tag = tag},
                          absl::OkStatus(), bytes);
  }
  void Recv(int peer, MessageTag tag, absl::Span<std::byte> buffer,
            Done done) override {
    const uint64_t id = Begin(buffer, nullptr, std::move(done));
    worker_->socket.Write({.command = Command::kRecv,
                           .transport = id_,
                           .operation = id,
                           .a = peer,
                           .b = int64_t(buffer.size()),
                           .tag = tag});
  }
  void RecvStream(int peer, MessageTag tag, size_t bytes, size_t unit,
                  Sink sink, Done done) override {
    const uint64_t id = Begin({}, std::move(sink), std::move(done));
    worker_->socket.Write({.command = Command::kStream,
                           .transport = id_,
                           .operation = id,
                           .a = peer,
                           .b = int64_t(bytes),
                           .c = int64_t(unit),
                           .tag = tag});
  }
  void Hold(const std::optional<plan::Urgency> &least) override {
    worker_->socket.Write({.command = Command::kHold,
                           .transport = id_,
                           .a = least.has_value(),
                           .b = least ? least->priority : 0,
                           .c = least ? int64_t(least->call) : 0});
  }
  void Abort(const absl::Status &why) override {
    worker_->socket.Write({.command = Command::kAbort, .transport = id_}, why);
  }
  void Close(absl::Duration flush) override {
    worker_
        ->Ask({.command = Command::kClose,
               .transport = id_,
               .d = absl::ToInt64Nanoseconds(flush)})
        .IgnoreError();
    worker_->OnFailure(id_, nullptr);
  }
  uint64_t bytes_sent() const override { return sent_; }
  uint64_t bytes_received() const override { return received_; }

 private:
  uint64_t Begin(absl::Span<std::byte> buffer, Sink sink, Done done) {
    RemoteWorker::Operation operation;
    operation.buffer = buffer;
    operation.sink = std::move(sink);
    operation.done = std::move(done);
    operation.counters = [this](uint64_t sent, uint64_t received) {
      sent_ = std::max<uint64_t>(sent_, sent);
      received_ = std::max<uint64_t>(received_, received);
    };
    return worker_->Begin(std::move(operation));
  }

  const std::shared_ptr<RemoteWorker> worker_;
  const uint64_t id_;
  const int rank_, nodes_;
  std::atomic<uint64_t> sent_{0}, received_{0};
};

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteWorkers>> RemoteWorkers::Start(
    int count, const std::function<void(const std::string &path)> &start) {
  auto workers = std::unique_ptr<RemoteWorkers>(new RemoteWorkers);
  workers->folder_ = "/tmp/commsched-workers.XXXXXX";
  if (mkdtemp(workers->folder_.data()) == nullptr)
    return absl::UnavailableError("no folder for the workers' socket");
  const std::string path = workers->folder_ + "/socket";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 ||
      listen(listener, count) != 0)
    return absl::UnavailableError("the workers' socket cannot be made");
  start(path);
  workers->workers_.resize(size_t(count));
  absl::Status status;
  for (int i = 0; i < count && status.ok(); ++i) {
    pollfd waiting = {listener, POLLIN, 0};
    Frame frame;
    if (poll(&waiting, 1, 120'000) != 1) {
      status = absl::DeadlineExceededError("a worker does not come");
      break;
    }
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    // The first frame before anyone else reads.
    Frame::Head head;
    if (recv(fd, &head, sizeof(head), MSG_WAITALL) != sizeof(head)) {
      status = absl::UnavailableError("a worker has ended");
      break;
    }
    workers->workers_[size_t(head.a)] = std::make_shared<RemoteWorker>(fd);
  }
  close(listener);
  unlink(path.c_str());
  if (!status.ok()) return status;
  return workers;
}

RemoteWorkers::~RemoteWorkers() {
  workers_.clear();
  rmdir(folder_.c_str());
}

absl::Status RemoteWorkers::NewCluster(int nodes) {
  // In all at once: they make it together.
  std::vector<absl::Status> statuses(workers_.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < workers_.size(); ++i)
    threads.emplace_back([&, i] {
      statuses[i] = workers_[i]->Ask({.command = Command::kCluster, .a = nodes});
    });
  for (std::thread &thread : threads) thread.join();
  for (const absl::Status &status : statuses)
    if (!status.ok()) return status;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Transport>> RemoteWorkers::Connect(
    runtime::TransportOptions options) {
  static std::atomic<uint64_t> last{0};
  const uint64_t id = ++last;
  const size_t of = size_t(std::clamp(options.rank, 0, int(workers_.size()) - 1));
  std::shared_ptr<RemoteWorker> worker = workers_[of];
  worker->OnFailure(id, options.on_peer_failure);
  uint64_t partners = ~uint64_t{0};
  if (options.partners) {
    partners = 0;
    for (const int peer : *options.partners) partners |= uint64_t{1} << peer;
  }
  absl::Status status =
      worker->Ask({.command = Command::kConnect,
                   .transport = id,
                   .a = options.rank,
                   .b = options.nodes,
                   .c = int64_t(options.unexpected_bytes),
                   .d = absl::ToInt64Nanoseconds(options.connect_deadline),
                   .digest = options.plan_digest,
                   .epoch = options.epoch,
                   .partners = partners});
  if (!status.ok()) {
    worker->OnFailure(id, nullptr);
    return status;
  }
  return std::make_unique<RemoteTransport>(std::move(worker), id, options.rank,
                                           options.nodes);
}

}  // namespace commsched::conformance
