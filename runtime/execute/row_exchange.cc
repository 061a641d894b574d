// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/row_exchange.h"

#include <memory>
#include <utility>

#include "runtime/base/status_util.h"
#include "runtime/program/rows_message.h"

namespace commsched::runtime {

// The messages of one instruction, until the last one is through.
struct RowExchange::Group {
  std::vector<RowsMessage> messages;  // of a push
  RowRequest request;                 // of a pull
  std::vector<std::byte> answers;
  std::vector<uint64_t> bytes;  // by part
  Done done;

  Mutex mu;
  size_t open ABSL_GUARDED_BY(mu) = 0;
  absl::Status status ABSL_GUARDED_BY(mu);

  // Whether this was the last one.
  bool Ended(const absl::Status &s) {
    MutexLock lock(&mu);
    if (status.ok()) status = Unshared(s);
    return --open == 0;
  }
  absl::Status result() {
    MutexLock lock(&mu);
    return Unshared(status);
  }
};

RowExchange::RowExchange(ParameterClient *client) : client_(client) {
  thread_ = std::thread([this] { Run(); });
}

RowExchange::~RowExchange() {
  {
    MutexLock lock(&mu_);
    stop_ = true;
  }
  work_.Signal();
  thread_.join();
}

void RowExchange::Post(absl::AnyInvocable<void()> work) {
  {
    MutexLock lock(&mu_);
    queue_.push_back(std::move(work));
  }
  work_.Signal();
}

void RowExchange::Run() {
  while (true) {
    absl::AnyInvocable<void()> work;
    {
      MutexLock lock(&mu_);
      while (!stop_ && queue_.empty()) work_.Wait(&mu_);
      if (stop_) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

void RowExchange::Push(const RowsMessageProgram *message, uint64_t step,
                       const std::byte *ids, const std::byte *values,
                       Done done) {
  auto group = std::make_shared<Group>();
  group->done = std::move(done);
  Post([this, message, step, ids, values, group] {
    group->messages = SplitRows({message->id_element, ids, message->count},
                                values, message->begins, message->table);
    for (const RowsMessage &m : group->messages) group->bytes.push_back(m.size());
    {
      MutexLock lock(&group->mu);
      group->open = message->parts.size();
    }
    for (size_t p = 0; p < message->parts.size(); ++p)
      client_->Push(int(message->parts[p].server), message->parts[p].block, step,
                    group->messages[p], [group](absl::Status s) {
                      if (group->Ended(s))
                        group->done(group->result(), group->bytes);
                    });
  });
}

void RowExchange::Pull(const RowsMessageProgram *message, uint64_t version,
                       const std::byte *ids, std::byte *values, Done done) {
  auto group = std::make_shared<Group>();
  group->done = std::move(done);
  Post([this, message, version, ids, values, group] {
    const size_t row = message->table.row_bytes;
    group->request = RequestRows({message->id_element, ids, message->count},
                                 message->begins, message->table.rows);
    const RowRequest &request = group->request;
    group->answers.resize(request.count * row);
    size_t parts = 0;
    for (const auto &of_part : request.ids) {
      group->bytes.push_back(of_part.size() * row);
      parts += of_part.empty() ? 0 : 1;
    }
    if (parts == 0) return group->done(absl::OkStatus(), group->bytes);
    {
      MutexLock lock(&group->mu);
      group->open = parts;
    }
    // The last answer may come on a thread of the network.
    auto ended = [this, group, row, values](absl::Status s) {
      if (!group->Ended(s)) return;
      Post([group, row, values] {
        absl::Status status = group->result();
        if (status.ok())
          SpreadRows(group->request, group->answers.data(), row, values);
        group->done(std::move(status), group->bytes);
      });
    };
    std::byte *at = group->answers.data();
    for (size_t p = 0; p < request.ids.size(); ++p) {
      const std::vector<int64_t> &of_part = request.ids[p];
      if (of_part.empty()) continue;
      client_->PullRows(int(message->parts[p].server), message->parts[p].block,
                        version, of_part, {at, of_part.size() * row}, ended);
      at += of_part.size() * row;
    }
  });
}

}  // namespace commsched::runtime
