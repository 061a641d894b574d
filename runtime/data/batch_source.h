// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the batch arguments of a call come from. The global batch is split by
// rows: with n local samples and D devices a node, device d of rank r gets rows
// n (r D + d) .. n (r D + d) + n - 1.
#ifndef COMMSCHED_RUNTIME_DATA_BATCH_SOURCE_H
#define COMMSCHED_RUNTIME_DATA_BATCH_SOURCE_H

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/memory.h"
#include "runtime/data/batch_rows.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // The rows of rank `rank` of `nodes`, of all its devices, for one call of
  // `function`.
  virtual absl::StatusOr<BatchRows> Rows(const FunctionProgram &function,
                                         int rank, int nodes) = 0;
};

// Zeros, for emulation: the costs do not depend on the values.
class ZeroBatch : public BatchSource {
 public:
  absl::StatusOr<BatchRows> Rows(const FunctionProgram &function, int rank,
                                 int nodes) override;

 private:
  std::shared_ptr<Memory> zeros_;  // of the largest argument
};

// One global batch, tensor by tensor, in memory. Ranks read it in place.
class GlobalBatch : public BatchSource {
 public:
  // `data` holds the rows of all ranks and is kept alive by `owner`.
  void Set(const std::string &name, absl::Span<const std::byte> data,
           std::shared_ptr<const void> owner);
  void Clear() { tensors_.clear(); }
  absl::StatusOr<BatchRows> Rows(const FunctionProgram &function, int rank,
                                 int nodes) override;

 private:
  struct Tensor {
    absl::Span<const std::byte> data;
    std::shared_ptr<const void> owner;
  };
  std::map<std::string, Tensor> tensors_;
};

// The same of one rank alone: `data` holds its rows, whoever it is.
class OwnBatch : public GlobalBatch {
 public:
  absl::StatusOr<BatchRows> Rows(const FunctionProgram &function, int, int) override {
    return GlobalBatch::Rows(function, 0, 1);
  }
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_DATA_BATCH_SOURCE_H
