// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/servers/in_process_parameter_client.h"

#include <atomic>
#include <cstring>
#include <map>
#include <utility>

#include "runtime/base/sync.h"

namespace commsched::runtime {
namespace {

// Pulls that have begun. Outlives the client: a server may answer later.
struct Pending {
  struct Entry {
    absl::Span<std::byte> buffer;
    ParameterClient::Done done;
  };
  Mutex mu;
  CondVar changed;
  bool closed ABSL_GUARDED_BY(mu) = false;
  uint64_t next ABSL_GUARDED_BY(mu) = 0;
  std::map<uint64_t, Entry> entries ABSL_GUARDED_BY(mu);
  int active ABSL_GUARDED_BY(mu) = 0;  // callbacks that run
  std::atomic<uint64_t> sent{0}, received{0};

  void Answer(uint64_t id, const absl::StatusOr<SharedBytes> &value)
      ABSL_LOCKS_EXCLUDED(mu) {
    Entry entry;
    {
      MutexLock lock(&mu);
      auto it = entries.find(id);
      if (it == entries.end()) return;
      entry = std::move(it->second);
      entries.erase(it);
      ++active;
    }
    absl::Status status = value.status();
    if (status.ok() && value->bytes.size() != entry.buffer.size())
      status = absl::InternalError("the value has another size");
    if (status.ok() && !entry.buffer.empty())
      std::memcpy(entry.buffer.data(), value->bytes.data(), entry.buffer.size());
    if (status.ok()) received += entry.buffer.size();
    entry.done(std::move(status));
    MutexLock lock(&mu);
    if (--active == 0) changed.SignalAll();
  }

  // Fails everything that waits.
  void CancelAll(const char *why) ABSL_LOCKS_EXCLUDED(mu) {
    std::map<uint64_t, Entry> cancelled;
    {
      MutexLock lock(&mu);
      closed = true;
      cancelled.swap(entries);
    }
    for (auto &[id, entry] : cancelled) entry.done(absl::CancelledError(why));
  }
};

class InProcessParameterClient : public ParameterClient {
 public:
  InProcessParameterClient(const ParameterServers *servers, int trainer)
      : servers_(servers), trainer_(trainer) {}
  ~InProcessParameterClient() override { Close(); }

  const char *name() const override { return "in-process"; }
  // The servers are as old as the job.
  uint64_t first_step() const override { return 0; }
  bool keeps_checkpoints() const override { return false; }

  void Push(int server, uint32_t block, uint64_t step,
            absl::Span<const std::byte> bytes, Done done) override {
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    pending_->sent += bytes.size();
    (*servers_)[size_t(server)]->Push(trainer_, block, step,
                                      {absl::MakeConstSpan(*copy), copy},
                                      std::move(done));
  }

  void Pull(int server, uint32_t block, uint64_t version,
            absl::Span<std::byte> buffer, Done done) override {
    const uint64_t id = Begin(buffer, &done);
    if (id == kClosed) return done(absl::CancelledError("the client is closed"));
    (*servers_)[size_t(server)]->Pull(
        trainer_, block, version,
        [pending = pending_, id](absl::StatusOr<SharedBytes> value) {
          pending->Answer(id, value);
        });
  }

  void PullRows(int server, uint32_t block, uint64_t version,
                absl::Span<const int64_t> ids, absl::Span<std::byte> buffer,
                Done done) override {
    const uint64_t id = Begin(buffer, &done);
    if (id == kClosed) return done(absl::CancelledError("the client is closed"));
    pending_->sent += ids.size() * sizeof(int64_t);
    (*servers_)[size_t(server)]->PullRows(
        trainer_, block, version, {ids.begin(), ids.end()},
        [pending = pending_, id](absl::StatusOr<SharedBytes> value) {
          pending->Answer(id, value);
        });
  }

  absl::Status Finish(uint64_t steps) override {
    for (const auto &server : *servers_)
      if (absl::Status s = server->Finish(trainer_, steps); !s.ok()) return s;
    return absl::OkStatus();
  }

  void Abort(const absl::Status &why) override {
    pending_->CancelAll("this trainer has given up");
    for (const auto &server : *servers_)
      server->Lost(trainer_, absl::AbortedError(why.message()));
  }

  void Close() override {
    pending_->CancelAll("the client is closed");
    MutexLock lock(&pending_->mu);
    while (pending_->active != 0) pending_->changed.Wait(&pending_->mu);
  }

  uint64_t bytes_sent() const override { return pending_->sent; }
  uint64_t bytes_received() const override { return pending_->received; }

 private:
  static constexpr uint64_t kClosed = ~uint64_t{0};

  // Of a pull, whose `done` is kept if the client is not closed.
  uint64_t Begin(absl::Span<std::byte> buffer, Done *done) {
    MutexLock lock(&pending_->mu);
    if (pending_->closed) return kClosed;
    pending_->entries[pending_->next] = {buffer, std::move(*done)};
    return pending_->next++;
  }

  const ParameterServers *const servers_;
  const int trainer_;
  const std::shared_ptr<Pending> pending_ = std::make_shared<Pending>();
};

}  // namespace

std::unique_ptr<ParameterClient> MakeInProcessParameterClient(
    const ParameterServers *servers, int trainer) {
  return std::make_unique<InProcessParameterClient>(servers, trainer);
}

absl::Status JoinParameterServers(const ParameterServers &servers, int trainers) {
  for (const auto &server : servers)
    for (int t = 0; t < trainers; ++t)
      if (auto joined = server->Join(t); !joined.ok()) return joined.status();
  return absl::OkStatus();
}

}  // namespace commsched::runtime
