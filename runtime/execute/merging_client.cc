// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/merging_client.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/base/element.h"
#include "runtime/base/memory.h"
#include "runtime/base/shared_bytes.h"
#include "runtime/base/status_util.h"
#include "runtime/base/sync.h"
#include "runtime/core/merged_block.h"
#include "runtime/program/rows_message.h"

namespace commsched::runtime {
namespace {

class MergingClient : public ParameterClient {
 public:
  MergingClient(std::unique_ptr<ParameterClient> inner,
                const ServersProgram &servers)
      : merge_(servers.merge), inner_(std::move(inner)) {
    for (const ServerProgram &server : servers.servers) {
      blocks_.emplace_back();
      for (const BlockProgram &program : server.blocks) {
        blocks_.back().push_back(std::make_unique<Block>(merge_, inner_->first_step()));
        blocks_.back().back()->element = program.gradient.element;
        blocks_.back().back()->rows = program.rows.gradient;
      }
    }
  }
  ~MergingClient() override { Close(); }

  const char *name() const override { return inner_->name(); }
  uint64_t first_step() const override { return inner_->first_step(); }
  bool keeps_checkpoints() const override { return inner_->keeps_checkpoints(); }
  uint64_t bytes_sent() const override { return inner_->bytes_sent(); }
  uint64_t bytes_received() const override { return inner_->bytes_received(); }
  void SetOrder(const ServerOrder &order) override { inner_->SetOrder(order); }
  void Abort(const absl::Status &why) override { inner_->Abort(why); }
  void Close() override { inner_->Close(); }

  void Push(int server, uint32_t block, uint64_t step,
            absl::Span<const std::byte> bytes, Done done) override {
    Block &b = *blocks_[size_t(server)][block];
    SharedBytes sum;
    absl::Status status;
    {
      MutexLock lock(&b.mu);
      status = Add(&b, bytes);
      if (status.ok() && b.machine.Add(step)) sum = Take(&b);
    }
    if (sum.owner == nullptr) return done(std::move(status));
    inner_->Push(server, block, step, sum.bytes,
                 [owner = sum.owner, done = std::move(done)](absl::Status s) mutable {
                   done(std::move(s));
                 });
  }

  void Pull(int server, uint32_t block, uint64_t version,
            absl::Span<std::byte> buffer, Done done) override {
    if (version == kFinal)
      return inner_->Pull(server, block, version, buffer, std::move(done));
    Block &b = *blocks_[size_t(server)][block];
    core::MergedBlock::Pull pull;
    uint64_t wanted = 0;
    {
      MutexLock lock(&b.mu);
      pull = b.machine.Ask(version);
      wanted = b.machine.VersionFor(version);
      if (pull == core::MergedBlock::Pull::kLater) {
        b.waiting.push_back({version, buffer, std::move(done)});
        return;
      }
      if (pull == core::MergedBlock::Pull::kHere && !buffer.empty())
        std::memcpy(buffer.data(), b.value.data(), buffer.size());
    }
    if (pull == core::MergedBlock::Pull::kHere) return done(absl::OkStatus());
    inner_->Pull(server, block, wanted, buffer,
                 [this, &b, server, block, version, buffer,
                  done = std::move(done)](absl::Status s) mutable {
                   std::deque<Waiting> waiting;
                   {
                     MutexLock lock(&b.mu);
                     if (s.ok()) b.value.assign(buffer.begin(), buffer.end());
                     b.machine.Fetched(version, s.ok());
                     waiting.swap(b.waiting);
                   }
                   done(Unshared(s));
                   for (Waiting &w : waiting) {
                     if (s.ok())
                       Pull(server, block, w.version, w.buffer, std::move(w.done));
                     else
                       w.done(Unshared(s));
                   }
                 });
  }

  // Nothing is kept of rows: other ones are wanted every time.
  void PullRows(int server, uint32_t block, uint64_t version,
                absl::Span<const int64_t> ids, absl::Span<std::byte> buffer,
                Done done) override {
    Block &b = *blocks_[size_t(server)][block];
    uint64_t wanted = 0;
    {
      MutexLock lock(&b.mu);
      wanted = b.machine.VersionFor(version);
    }
    inner_->PullRows(server, block, wanted, ids, buffer, std::move(done));
  }

  absl::Status Finish(uint64_t steps) override {
    Mutex mu;
    CondVar changed;
    int open = 0;
    absl::Status first;
    for (size_t k = 0; k < blocks_.size(); ++k)
      for (size_t i = 0; i < blocks_[k].size(); ++i) {
        Block &b = *blocks_[k][i];
        SharedBytes sum;
        {
          MutexLock lock(&b.mu);
          sum = Take(&b);
        }
        if (sum.owner == nullptr) continue;
        {
          MutexLock lock(&mu);
          ++open;
        }
        inner_->Push(int(k), uint32_t(i), steps - 1, sum.bytes,
                     [&, owner = sum.owner](absl::Status s) {
                       MutexLock lock(&mu);
                       if (first.ok()) first = std::move(s);
                       --open;
                       changed.SignalAll();
                     });
      }
    {
      MutexLock lock(&mu);
      while (open != 0) changed.Wait(&mu);
      if (!first.ok()) return first;
    }
    return inner_->Finish(steps);
  }

 private:
  struct Waiting {
    uint64_t version;
    absl::Span<std::byte> buffer;
    Done done;
  };
  struct Block {
    Block(uint64_t merge, uint64_t first_step) : machine(merge, first_step) {}
    ops::Element element;
    RowLayout rows;  // of a block of rows; else without bytes
    Mutex mu;
    core::MergedBlock machine ABSL_GUARDED_BY(mu);
    std::shared_ptr<RowsMessage> row_sum ABSL_GUARDED_BY(mu);
    std::shared_ptr<Memory> sum ABSL_GUARDED_BY(mu);
    size_t bytes ABSL_GUARDED_BY(mu) = 0;
    std::vector<std::byte> value ABSL_GUARDED_BY(mu);  // of the last time
    std::deque<Waiting> waiting ABSL_GUARDED_BY(mu);
  };

  absl::Status Add(Block *b, absl::Span<const std::byte> bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(b->mu) {
    if (b->rows.row_bytes != 0) return AddRows(b, bytes);
    if (b->sum == nullptr) {
      absl::StatusOr<Memory> memory = Memory::Allocate(bytes.size());
      if (!memory.ok()) return memory.status();
      b->sum = std::make_shared<Memory>(*std::move(memory));
      b->bytes = bytes.size();
    }
    if (bytes.empty()) return absl::OkStatus();
    if (b->machine.count() == 0)
      std::memcpy(b->sum->data(), bytes.data(), bytes.size());
    else
      ops::CombineElements(b->element, ops::Combine::kSum, 0, b->sum->data(),
                           bytes.data(),
                           bytes.size() / ops::ElementBytes(b->element));
    return absl::OkStatus();
  }

  absl::Status AddRows(Block *b, absl::Span<const std::byte> bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(b->mu) {
    std::vector<RowsView> views;
    if (b->machine.count() != 0) views.push_back(*ReadRows(*b->row_sum, b->rows));
    absl::StatusOr<RowsView> view = ReadRows(bytes, b->rows);
    if (!view.ok()) return view.status();
    views.push_back(*view);
    b->row_sum =
        std::make_shared<RowsMessage>(MergeRows(views, b->rows, /*scale=*/0));
    return absl::OkStatus();
  }

  // The mean of what has been added; without owner if nothing has.
  SharedBytes Take(Block *b) ABSL_EXCLUSIVE_LOCKS_REQUIRED(b->mu) {
    const uint64_t count = b->machine.Take();
    const double scale = 1.0 / double(count);
    if (count == 0) return {};
    if (b->rows.row_bytes != 0) {
      std::shared_ptr<RowsMessage> sum = std::move(b->row_sum);
      if (count > 1)
        *sum = MergeRows({*ReadRows(*sum, b->rows)}, b->rows, scale);
      return {absl::MakeConstSpan(*sum), sum};
    }
    if (count > 1)
      ops::ScaleElements(b->element, scale, b->sum->data(),
                         b->bytes / ops::ElementBytes(b->element));
    std::shared_ptr<Memory> sum = std::move(b->sum);
    return {absl::MakeConstSpan(sum->data(), b->bytes), sum};
  }

  const uint64_t merge_;
  std::vector<std::vector<std::unique_ptr<Block>>> blocks_;
  const std::unique_ptr<ParameterClient> inner_;
};

}  // namespace

std::unique_ptr<ParameterClient> MergeGradients(
    std::unique_ptr<ParameterClient> client, const ServersProgram &servers) {
  if (servers.mode != ServersProgram::kHalfAsync || servers.merge <= 1)
    return client;
  return std::make_unique<MergingClient>(std::move(client), servers);
}

}  // namespace commsched::runtime
