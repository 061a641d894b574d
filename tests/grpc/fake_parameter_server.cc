// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/grpc/fake_parameter_server.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "runtime/base/files.h"
#include "runtime/base/status_util.h"

namespace commsched::transport {

using runtime::MutexLock;
using runtime::Unshared;
using Words = FakeParameterServer::Words;

Words Gradient(int trainer, uint32_t block, uint64_t step, size_t words) {
  Words gradient(words);
  for (size_t i = 0; i < words; ++i)
    gradient[i] = (trainer + 1) * 1000003 + block * 10007 + step * 101 + i;
  return gradient;
}

Words Expected(uint32_t block, size_t words, uint64_t steps,
               const std::vector<uint64_t> &ends) {
  Words value(words, 1);
  for (uint64_t step = 0; step < steps; ++step) {
    for (uint64_t &word : value) word *= 3;
    for (size_t trainer = 0; trainer < ends.size(); ++trainer) {
      if (step >= ends[trainer]) continue;
      const Words gradient = Gradient(trainer, block, step, words);
      for (size_t i = 0; i < words; ++i) value[i] += gradient[i];
    }
  }
  return value;
}

namespace {

// By id, of a message of rows.
std::map<uint64_t, Words> RowsOf(const Words &message) {
  std::map<uint64_t, Words> rows;
  for (uint64_t i = 0; i < message[0]; ++i) {
    auto at = message.begin() + 1 + message[0] + i * kRowWords;
    rows[message[1 + i]] = Words(at, at + kRowWords);
  }
  return rows;
}

void UpdateRows(const std::vector<Words> &messages, Words &value) {
  std::map<uint64_t, Words> sums;
  for (const Words &message : messages)
    for (const auto &[id, row] : RowsOf(message)) {
      Words &sum = sums[id];
      sum.resize(kRowWords);
      for (size_t i = 0; i < kRowWords; ++i) sum[i] += row[i];
    }
  for (const auto &[id, sum] : sums)
    for (size_t i = 0; i < kRowWords; ++i) {
      uint64_t &word = value[id * kRowWords + i];
      word = 3 * word + sum[i];
    }
}

}  // namespace

Words RowsGradient(int trainer, uint64_t step, size_t rows) {
  Words ids, values;
  for (uint64_t id = 0; id < rows && step % 4 != 3; ++id) {
    if ((7 * id + trainer + step) % 5 != 0) continue;
    ids.push_back(id);
    for (size_t i = 0; i < kRowWords; ++i)
      values.push_back((trainer + 1) * 1000003 + id * 10007 + step * 101 + i);
  }
  Words message = {ids.size()};
  message.insert(message.end(), ids.begin(), ids.end());
  message.insert(message.end(), values.begin(), values.end());
  return message;
}

Words ExpectedRows(size_t rows, uint64_t steps,
                   const std::vector<uint64_t> &ends) {
  Words value(rows * kRowWords, 1);
  for (uint64_t step = 0; step < steps; ++step) {
    std::vector<Words> messages;
    for (size_t trainer = 0; trainer < ends.size(); ++trainer)
      if (step < ends[trainer])
        messages.push_back(RowsGradient(trainer, step, rows));
    UpdateRows(messages, value);
  }
  return value;
}

FakeParameterServer::FakeParameterServer(
    int trainers, std::vector<size_t> block_bytes,
    std::vector<runtime::RowLayout> block_rows)
    : trainers_(trainers), end_(trainers, UINT64_MAX) {
  for (size_t bytes : block_bytes) {
    Block &block = blocks_.emplace_back();
    block.value.assign(bytes / 8, 1);
    block.next.assign(trainers, 0);
    if (blocks_.size() <= block_rows.size())
      block.rows = block_rows[blocks_.size() - 1];
  }
}

absl::Status FakeParameterServer::GetSlot(uint32_t slot,
                                          absl::Span<std::byte> value) {
  MutexLock lock(&mu_);
  if (!value.empty())
    std::memcpy(value.data(), blocks_[slot].value.data(), value.size());
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> FakeParameterServer::Join(int) {
  if (before_join) before_join();
  MutexLock lock(&mu_);
  if (!failure_.ok()) return Unshared(failure_);
  uint64_t steps = UINT64_MAX;
  for (const Block &block : blocks_) steps = std::min(steps, block.steps);
  return steps;
}

runtime::ParameterServer::Taken FakeParameterServer::taken(int trainer) {
  MutexLock lock(&mu_);
  runtime::ParameterServer::Taken taken;
  for (const Block &block : blocks_) taken.next.push_back(block.next[trainer]);
  taken.finished = end_[trainer] != UINT64_MAX;
  return taken;
}

FakeParameterServer::Answer FakeParameterServer::Value(const Block &block,
                                                       Waiting pull) {
  auto copy = std::make_shared<Words>(block.value);
  if (!pull.all) {
    copy->resize(pull.ids.size() * kRowWords);
    for (size_t i = 0; i < copy->size(); ++i)
      (*copy)[i] = block.value[pull.ids[i / kRowWords] * kRowWords + i % kRowWords];
  }
  return {std::move(pull.done),
          runtime::SharedBytes{absl::MakeConstSpan(
                                   reinterpret_cast<std::byte *>(copy->data()),
                                   copy->size() * 8),
                               copy}};
}

void FakeParameterServer::Apply(uint32_t index, std::vector<Answer> &answers) {
  Block &block = blocks_[index];
  while (true) {
    bool all = true, any = false;
    for (int trainer = 0; trainer < trainers_; ++trainer) {
      if (block.steps >= end_[trainer]) continue;
      any = true;
      all &= block.got.contains({block.steps, trainer});
    }
    if (!all || !any) break;
    Words sum(block.value.size());
    std::vector<Words> messages;
    for (int trainer = 0; trainer < trainers_; ++trainer) {
      auto at = block.got.find({block.steps, trainer});
      if (at == block.got.end()) continue;
      if (block.rows.rows > 0)
        messages.push_back(at->second);
      else
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += at->second[i];
      block.got.erase(at);
    }
    if (before_update) before_update(index, block.steps);
    UpdateRows(messages, block.value);
    for (size_t i = 0; i < sum.size() && block.rows.rows == 0; ++i)
      block.value[i] = 3 * block.value[i] + sum[i];
    ++block.steps;
  }
  auto ready = std::partition(
      block.waiting.begin(), block.waiting.end(),
      [&](const auto &pull) { return pull.version > block.steps; });
  for (auto at = ready; at != block.waiting.end(); ++at)
    answers.push_back(Value(block, std::move(*at)));
  block.waiting.erase(ready, block.waiting.end());
  changed_.SignalAll();
}

void FakeParameterServer::Push(int trainer, uint32_t index, uint64_t step,
                               runtime::SharedBytes payload, PushDone done) {
  std::vector<Answer> answers;
  absl::Status status;
  {
    MutexLock lock(&mu_);
    Block &block = blocks_[index];
    status = Unshared(failure_);
    if (status.ok() && step < block.next[trainer]) {
      ++repeated_;
    } else if (auto rows = runtime::ReadRows(payload.bytes, block.rows);
               status.ok() && block.rows.rows > 0 && !rows.ok()) {
      status = rows.status();
    } else if (status.ok()) {
      Words words(payload.bytes.size() / 8);
      if (!words.empty())
        std::memcpy(words.data(), payload.bytes.data(), payload.bytes.size());
      block.got.emplace(std::make_pair(step, trainer), std::move(words));
      block.next[trainer] = step + 1;
      Apply(index, answers);
    }
  }
  done(status);
  for (Answer &answer : answers) answer.done(std::move(answer.value));
}

void FakeParameterServer::Pull(int, uint32_t index, uint64_t version,
                               PullDone done) {
  PullAny(index, {version, std::move(done), true, {}});
}

void FakeParameterServer::PullRows(int, uint32_t index, uint64_t version,
                                   std::vector<int64_t> ids, PullDone done) {
  PullAny(index, {version, std::move(done), false, std::move(ids)});
}

void FakeParameterServer::PullAny(uint32_t index, Waiting pull) {
  std::vector<Answer> answers;
  {
    MutexLock lock(&mu_);
    Block &block = blocks_[index];
    const absl::Status ids = runtime::CheckIds(
        reinterpret_cast<const std::byte *>(pull.ids.data()), pull.ids.size(),
        block.rows.rows);
    if (!failure_.ok()) {
      answers.push_back({std::move(pull.done), Unshared(failure_)});
    } else if (!pull.all && !ids.ok()) {
      answers.push_back({std::move(pull.done), ids});
    } else if (!pull.all && block.steps > pull.version) {
      answers.push_back({std::move(pull.done),
                         absl::OutOfRangeError("version is no longer there")});
    } else if (block.steps >= pull.version) {
      answers.push_back(Value(block, std::move(pull)));
    } else {
      block.waiting.push_back(std::move(pull));
    }
  }
  for (Answer &answer : answers) answer.done(std::move(answer.value));
}

absl::Status FakeParameterServer::Finish(int trainer, uint64_t steps) {
  std::vector<Answer> answers;
  absl::Status status;
  {
    MutexLock lock(&mu_);
    status = Unshared(failure_);
    end_[trainer] = steps;
    for (uint32_t block = 0; block < blocks_.size(); ++block)
      Apply(block, answers);
  }
  for (Answer &answer : answers) answer.done(std::move(answer.value));
  return status;
}

void FakeParameterServer::Lost(int trainer, const absl::Status &why) {
  const bool aborted = why.code() == absl::StatusCode::kAborted;
  Cancel(absl::Status(why.code(),
                      absl::StrCat("trainer ", trainer,
                                   aborted ? " gave up: " : " is lost: ",
                                   why.message())));
}

void FakeParameterServer::Cancel(const absl::Status &why) {
  std::vector<Answer> answers;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok()) return;
    failure_ = Unshared(why);
    for (Block &block : blocks_) {
      for (Waiting &pull : block.waiting)
        answers.push_back({std::move(pull.done), Unshared(why)});
      block.waiting.clear();
    }
    changed_.SignalAll();
  }
  for (Answer &answer : answers) answer.done(std::move(answer.value));
}

bool FakeParameterServer::Over() {
  if (!failure_.ok()) return true;
  const uint64_t last = *std::max_element(end_.begin(), end_.end());
  return std::all_of(blocks_.begin(), blocks_.end(),
                     [&](const Block &block) { return block.steps >= last; });
}

absl::Status FakeParameterServer::Wait() {
  MutexLock lock(&mu_);
  while (!Over()) changed_.Wait(&mu_);
  return Unshared(failure_);
}

uint64_t FakeParameterServer::repeated() {
  MutexLock lock(&mu_);
  return repeated_;
}

template <typename F>
void FakeParameterServer::Fields(F &&field) {
  for (uint64_t &end : end_) field(end);
  for (Block &block : blocks_) {
    for (uint64_t &word : block.value) field(word);
    field(block.steps);
    for (uint64_t &next : block.next) field(next);
    uint64_t count = block.got.size();
    field(count);
    std::vector<std::pair<std::pair<uint64_t, int>, Words>> got(
        block.got.begin(), block.got.end());
    got.resize(count);
    for (auto &[key, words] : got) {
      uint64_t trainer = key.second;
      field(key.first);
      field(trainer);
      key.second = static_cast<int>(trainer);
      uint64_t size = words.size();
      field(size);
      words.resize(size);
      for (uint64_t &word : words) field(word);
    }
    block.got = {got.begin(), got.end()};
  }
}

uint64_t FakeParameterServer::cut() {
  MutexLock lock(&mu_);
  return (cuts_ + 1) * cut_every;
}

absl::Status FakeParameterServer::Save(const std::string &path, bool wait) {
  if (before_save) before_save();
  std::string bytes;
  {
    MutexLock lock(&mu_);
    cuts_ += wait;
    Fields([&](uint64_t &word) {
      bytes.append(reinterpret_cast<const char *>(&word), 8);
    });
  }
  return runtime::WriteFileAtomically(path, {bytes});
}

absl::Status FakeParameterServer::Restore(const std::string &path, bool) {
  std::ifstream file(path, std::ios::binary);
  MutexLock lock(&mu_);
  Fields([&](uint64_t &word) {
    if (!file.read(reinterpret_cast<char *>(&word), 8)) word = 0;
  });
  return file ? absl::OkStatus()
              : absl::DataLossError(absl::StrCat("'", path, "' is cut"));
}

}  // namespace commsched::transport
