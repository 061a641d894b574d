// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter server of whole numbers, so that what the service does to it can
// be checked exactly. Synchronous. A block is words of 64 bits; the update of a
// step is value = 3 * value + sum over the trainers, modulo 2^64: an update that
// is lost, applied twice, or in another order gives another value. In a block of
// rows this is the update of the rows that some trainer has pushed in the step.
#ifndef COMMSCHED_TESTS_GRPC_FAKE_PARAMETER_SERVER_H
#define COMMSCHED_TESTS_GRPC_FAKE_PARAMETER_SERVER_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/sync.h"
#include "runtime/program/rows_message.h"
#include "runtime/servers/parameter_server.h"

namespace commsched::transport {

class FakeParameterServer final : public runtime::ParameterServer {
 public:
  using Words = std::vector<uint64_t>;

  // `block_rows` as in ParameterServiceOptions.
  FakeParameterServer(int trainers, std::vector<size_t> block_bytes,
                      std::vector<runtime::RowLayout> block_rows = {});

  // Called between the sum and the update of (block, step).
  std::function<void(uint32_t block, uint64_t step)> before_update;
  std::function<void()> before_save;
  std::function<void()> before_join;

  absl::Status SetWhole(const std::string &,
                        absl::Span<const std::byte>) override {
    return absl::OkStatus();
  }
  absl::Status GetSlot(uint32_t slot, absl::Span<std::byte> value) override;
  absl::StatusOr<uint64_t> Join(int trainer) override;
  runtime::ParameterServer::Taken taken(int trainer) override;
  void Push(int trainer, uint32_t block, uint64_t step,
            runtime::SharedBytes payload, PushDone done) override;
  void Pull(int trainer, uint32_t block, uint64_t version,
            PullDone done) override;
  void PullRows(int trainer, uint32_t block, uint64_t version,
                std::vector<int64_t> ids, PullDone done) override;
  absl::Status Finish(int trainer, uint64_t steps) override;
  void Lost(int trainer, const absl::Status &why) override;
  void Cancel(const absl::Status &why) override;
  absl::Status Wait() override;
  // A cut is over once it has been saved.
  uint64_t cut_every = 3;
  absl::Status Save(const std::string &path, bool wait = false) override;
  uint64_t cut() override;
  absl::Status Restore(const std::string &path, bool whole_job = false) override;

  // Pushes that came again.
  uint64_t repeated();

 private:
  struct Waiting {
    uint64_t version;
    PullDone done;
    bool all;
    std::vector<int64_t> ids;  // else
  };
  struct Block {
    Words value;
    uint64_t steps = 0;                             // applied
    std::map<std::pair<uint64_t, int>, Words> got;  // by step and trainer
    std::vector<uint64_t> next;                     // by trainer
    runtime::RowLayout rows;
    std::vector<Waiting> waiting;
  };
  struct Answer {
    PullDone done;
    absl::StatusOr<runtime::SharedBytes> value;
  };
  void PullAny(uint32_t block, Waiting pull);
  Answer Value(const Block &block, Waiting pull);
  void Apply(uint32_t block, std::vector<Answer> &answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Over() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static Answer Value(const Block &block, PullDone done);
  // The fields of a saved file, in one order for both directions.
  template <typename F>
  void Fields(F &&field) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const int trainers_;
  runtime::Mutex mu_;
  runtime::CondVar changed_;
  std::vector<Block> blocks_ ABSL_GUARDED_BY(mu_);
  std::vector<uint64_t> end_ ABSL_GUARDED_BY(mu_);  // by trainer, from Finish
  uint64_t repeated_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t cuts_ ABSL_GUARDED_BY(mu_) = 0;  // that are over
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

// What trainer `trainer` pushes of a step, and what the block then is when the
// trainers' numbers of steps are `ends`.
FakeParameterServer::Words Gradient(int trainer, uint32_t block, uint64_t step,
                                    size_t words);
FakeParameterServer::Words Expected(uint32_t block, size_t words,
                                    uint64_t steps,
                                    const std::vector<uint64_t> &ends);

// The same of a block of `rows` rows of kRowWords words; what is pushed is a
// message of rows.
inline constexpr size_t kRowWords = 2;
FakeParameterServer::Words RowsGradient(int trainer, uint64_t step, size_t rows);
FakeParameterServer::Words ExpectedRows(size_t rows, uint64_t steps,
                                        const std::vector<uint64_t> &ends);

}  // namespace commsched::transport

#endif  // COMMSCHED_TESTS_GRPC_FAKE_PARAMETER_SERVER_H
