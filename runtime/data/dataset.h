// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batches from a file of arrays whose dimension 0 counts samples. An epoch has
// floor(samples / global batch) batches; the rest of the samples is left out
// (with shuffling, other ones in every epoch). The order depends on the seed
// and the epoch only, so it is the same on every rank and after a resume.
#ifndef COMMSCHED_RUNTIME_DATA_DATASET_H
#define COMMSCHED_RUNTIME_DATA_DATASET_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/batch_source.h"
#include "runtime/data/tensor_file.h"

namespace commsched::runtime {

class Dataset : public BatchSource {
 public:
  struct Options {
    bool shuffle = false;
    uint64_t seed = 0;
  };
  // A function with batch arguments, and how many ranks share a batch.
  struct User {
    const FunctionProgram *function;
    int ranks;
  };
  // Reads the batch arguments of all `users`, which call it alike: the file must have
  // an array of that name for each, with at least one global batch of samples, equally
  // many in all.
  static absl::StatusOr<std::unique_ptr<Dataset>> Open(const std::string &path,
                                                       absl::Span<const User> users,
                                                       Options options);
  static absl::StatusOr<std::unique_ptr<Dataset>> Open(
      const std::string &path, const FunctionProgram &function, int nodes,
      Options options) {
    const User user{&function, nodes};
    return Open(path, absl::MakeConstSpan(&user, 1), options);
  }

  uint64_t samples() const { return samples_; }
  uint64_t global_batch() const { return global_batch_; }
  uint64_t batches_per_epoch() const { return samples_ / global_batch_; }

  // Where batch `index` has a NaN: `batch "x" has a nan in sample 17`, counted in the
  // file; empty: nowhere.
  std::string NanIn(uint64_t index);

  // The next Rows are those of batch `index`, counted over all epochs.
  void Seek(uint64_t index);
  absl::StatusOr<BatchRows> Rows(const FunctionProgram &function, int rank,
                                 int nodes) override;

 private:
  struct Array {
    std::string name;
    ops::Element element = ops::Element::kF32;
    const std::byte *data = nullptr;
    size_t row_bytes = 0;
    std::shared_ptr<const void> owner;
  };
  class Pool;

  Dataset() = default;
  absl::Status Add(const std::string &path, const TensorFile &file,
                   const BatchArgument &argument, const FunctionProgram &function,
                   uint64_t workers);

  Options options_;
  uint64_t samples_ = 0, global_batch_ = 1;
  std::vector<Array> arrays_;
  uint64_t index_ = 0;
  int64_t order_epoch_ = -1;
  std::vector<uint32_t> order_;  // of epoch order_epoch_, if shuffled
  std::shared_ptr<Pool> pool_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_DATA_DATASET_H
