// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/grpc/parameter_test_util.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"
#include "runtime/base/sync.h"

namespace commsched::transport {
namespace {

// Waits for several completions; the first error counts.
class Group {
 public:
  runtime::ParameterClient::Done Add() {
    runtime::MutexLock lock(&state_->mu);
    ++state_->open;
    return [state = state_](absl::Status status) {
      runtime::MutexLock lock(&state->mu);
      if (state->first.ok()) state->first = runtime::Unshared(status);
      --state->open;
      state->changed.SignalAll();
    };
  }
  absl::Status Wait() {
    runtime::MutexLock lock(&state_->mu);
    while (state_->open > 0) state_->changed.Wait(&state_->mu);
    return runtime::Unshared(state_->first);
  }

 private:
  struct State {
    runtime::Mutex mu;
    runtime::CondVar changed;
    int open ABSL_GUARDED_BY(mu) = 0;
    absl::Status first ABSL_GUARDED_BY(mu);
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

using Words = FakeParameterServer::Words;

constexpr uint32_t kTable = 4;  // block of TestBlocks

}  // namespace

std::vector<size_t> TestBlocks() { return {24'000, 4'000, 0, 8, 64'000}; }

std::vector<runtime::RowLayout> TestRows() {
  const runtime::RowLayout rows = {ops::Element::kI64, kRowWords * 8, 4'000};
  return {{}, {}, {}, {}, rows};
}

ParameterServiceOptions ServiceOptions(const std::vector<std::string> &servers,
                                       int server, int trainers) {
  ParameterServiceOptions options;
  options.server = server;
  options.servers = static_cast<int>(servers.size());
  options.trainers = trainers;
  options.plan_digest = kTestDigest;
  options.block_bytes = TestBlocks();
  options.block_rows = TestRows();
  options.address = servers[server];
  options.chunk_bytes = 8192;
  options.security.token = kTestToken;
  return options;
}

ParameterClientOptions ClientOptions(const std::vector<std::string> &servers,
                                     int trainer, int trainers) {
  ParameterClientOptions options;
  options.trainer = trainer;
  options.trainers = trainers;
  options.plan_digest = kTestDigest;
  options.servers = servers;
  options.chunk_bytes = 8192;
  options.security.token = kTestToken;
  return options;
}

absl::Status Train(runtime::ParameterClient &client, int servers, int trainer,
                   const std::vector<uint64_t> &ends,
                   const std::function<void(uint64_t)> &each) {
  const std::vector<size_t> blocks = TestBlocks();
  std::vector<std::vector<Words>> values(servers);
  for (auto &of_server : values)
    for (size_t bytes : blocks) of_server.emplace_back(bytes / 8);
  const auto pull = [&](uint64_t version) -> absl::Status {
    Group group;
    for (int server = 0; server < servers; ++server)
      for (uint32_t block = 0; block < blocks.size(); ++block) {
        Words &to = values[server][block];
        client.Pull(server, block, version,
                    absl::MakeSpan(reinterpret_cast<std::byte *>(to.data()),
                                   to.size() * 8),
                    group.Add());
      }
    if (absl::Status status = group.Wait(); !status.ok()) return status;
    for (int server = 0; server < servers; ++server)
      for (uint32_t block = 0; block < blocks.size(); ++block)
        if (values[server][block] !=
            (block == kTable
                 ? ExpectedRows(blocks[block] / 8 / kRowWords, version, ends)
                 : Expected(block, blocks[block] / 8, version, ends)))
          return absl::InternalError(
              absl::StrCat("version ", version, " of block ", block,
                           " of server ", server, " is wrong"));
    return absl::OkStatus();
  };
  const auto pull_rows = [&](uint64_t version) -> absl::Status {
    const Words table =
        ExpectedRows(blocks[kTable] / 8 / kRowWords, version, ends);
    std::vector<int64_t> ids;
    for (size_t id = version % 3; id < table.size() / kRowWords; id += 3)
      ids.push_back(id);
    Group group;
    std::vector<Words> rows(servers, Words(ids.size() * kRowWords));
    for (int server = 0; server < servers; ++server)
      client.PullRows(server, kTable, version, ids,
                      absl::MakeSpan(
                          reinterpret_cast<std::byte *>(rows[server].data()),
                          rows[server].size() * 8),
                      group.Add());
    if (absl::Status status = group.Wait(); !status.ok()) return status;
    for (const Words &own : rows)
      for (size_t i = 0; i < own.size(); ++i)
        if (own[i] != table[ids[i / kRowWords] * kRowWords + i % kRowWords])
          return absl::InternalError(absl::StrCat(
              "row ", ids[i / kRowWords], " of version ", version, " is wrong"));
    return absl::OkStatus();
  };
  for (uint64_t step = client.first_step(); step < ends[trainer]; ++step) {
    if (each) each(step);
    if (absl::Status status = pull_rows(step); !status.ok()) return status;
    Group group;
    std::vector<Words> gradients;
    for (uint32_t block = 0; block < blocks.size(); ++block)
      gradients.push_back(
          block == kTable
              ? RowsGradient(trainer, step, blocks[block] / 8 / kRowWords)
              : Gradient(trainer, block, step, blocks[block] / 8));
    for (int server = 0; server < servers; ++server)
      for (uint32_t block = 0; block < blocks.size(); ++block) {
        const Words &from = gradients[block];
        client.Push(server, block, step,
                    absl::MakeConstSpan(
                        reinterpret_cast<const std::byte *>(from.data()),
                        from.size() * 8),
                    group.Add());
      }
    absl::Status status = pull(step + 1);
    if (absl::Status pushed = group.Wait(); status.ok()) status = pushed;
    if (!status.ok()) return status;
  }
  if (absl::Status status = client.Finish(ends[trainer]); !status.ok())
    return status;
  return ends[trainer] == *std::max_element(ends.begin(), ends.end())
             ? pull(ends[trainer])
             : absl::OkStatus();
}

}  // namespace commsched::transport
