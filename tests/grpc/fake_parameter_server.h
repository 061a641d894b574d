// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter server of whole numbers, so that what the service does to it can
// be checked exactly. Synchronous. A block is words of 64 bits; the update of a
// step is value = 3 * value + sum over the trainers, modulo 2^64: an update that
// is lost, applied twice, or in another order gives another value.
#ifndef COMMSCHED_TESTS_GRPC_FAKE_PARAMETER_SERVER_H
#define COMMSCHED_TESTS_GRPC_FAKE_PARAMETER_SERVER_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/parameter_server.h"
#include "runtime/sync.h"

namespace commsched::transport {

class FakeParameterServer final : public runtime::ParameterServer {
 public:
  using Words = std::vector<uint64_t>;

  FakeParameterServer(int trainers, std::vector<size_t> block_bytes);

  // Called between the sum and the update of (block, step).
  std::function<void(uint32_t block, uint64_t step)> before_update;

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
  void PullRows(int, uint32_t, uint64_t, std::vector<int64_t>,
                PullDone done) override {
    done(absl::UnimplementedError("it has no rows"));
  }
  absl::Status Finish(int trainer, uint64_t steps) override;
  void Lost(int trainer, const absl::Status &why) override;
  void Cancel(const absl::Status &why) override;
  absl::Status Wait() override;
  absl::Status Save(const std::string &path) override;
  absl::Status Restore(const std::string &path) override;

  // Pushes that came again.
  uint64_t repeated();

 private:
  struct Block {
    Words value;
    uint64_t steps = 0;                             // applied
    std::map<std::pair<uint64_t, int>, Words> got;  // by step and trainer
    std::vector<uint64_t> next;                     // by trainer
    std::vector<std::pair<uint64_t, PullDone>> waiting;
  };
  struct Answer {
    PullDone done;
    absl::StatusOr<runtime::SharedBytes> value;
  };
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
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

// What trainer `trainer` pushes of a step, and what the block then is when the
// trainers' numbers of steps are `ends`.
FakeParameterServer::Words Gradient(int trainer, uint32_t block, uint64_t step,
                                    size_t words);
FakeParameterServer::Words Expected(uint32_t block, size_t words,
                                    uint64_t steps,
                                    const std::vector<uint64_t> &ends);

}  // namespace commsched::transport

#endif  // COMMSCHED_TESTS_GRPC_FAKE_PARAMETER_SERVER_H
