// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/data/batch_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace commsched::runtime {

void GlobalBatch::Set(const std::string &name,
                      absl::Span<const std::byte> data,
                      std::shared_ptr<const void> owner) {
  tensors_[name] = {data, std::move(owner)};
}

absl::StatusOr<BatchRows> GlobalBatch::Rows(const FunctionProgram &function,
                                            int rank, int nodes) {
  BatchRows rows;
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  const size_t devices = function.batch_devices,
               workers = size_t(nodes) * devices;
  for (const BatchArgument &argument : function.batches) {
    auto it = tensors_.find(argument.name);
    if (it == tensors_.end())
      return absl::InvalidArgumentError(
          absl::StrCat("function @", function.name, " needs batch \"",
                       argument.name, "\", which is not set"));
    size_t local = argument.type.bytes;
    if (it->second.data.size() != local * workers)
      return absl::InvalidArgumentError(absl::StrCat(
          "batch \"", argument.name, "\" must match ", workers, " x ",
          ToString(argument.type), " = ", local * workers,
          " bytes, got: ", it->second.data.size(), " bytes"));
    rows.data.push_back(it->second.data.data() +
                        local * (size_t(rank) * devices + argument.device));
    owners->push_back(it->second.owner);
  }
  rows.owner = std::move(owners);
  return rows;
}

absl::StatusOr<BatchRows> ZeroBatch::Rows(const FunctionProgram &function, int,
                                          int) {
  size_t bytes = 1;
  for (const BatchArgument &argument : function.batches)
    bytes = std::max(bytes, argument.type.bytes);
  if (zeros_ == nullptr || zeros_->size() < bytes) {
    absl::StatusOr<Memory> memory = Memory::Allocate(bytes);
    if (!memory.ok()) return memory.status();
    zeros_ = std::make_shared<Memory>(*std::move(memory));
  }
  BatchRows rows;
  rows.data.assign(function.batches.size(), zeros_->data());
  rows.owner = zeros_;
  return rows;
}

}  // namespace commsched::runtime
