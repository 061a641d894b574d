// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/batch_source.h"

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
  for (const BatchArgument &argument : function.batches) {
    auto it = tensors_.find(argument.name);
    if (it == tensors_.end())
      return absl::InvalidArgumentError(
          absl::StrCat("function @", function.name, " needs batch \"",
                       argument.name, "\", which is not set"));
    size_t local = argument.type.bytes;
    if (it->second.data.size() != local * size_t(nodes))
      return absl::InvalidArgumentError(absl::StrCat(
          "batch \"", argument.name, "\" must match ", nodes, " x ",
          ToString(argument.type), " = ", local * size_t(nodes),
          " bytes, got: ", it->second.data.size(), " bytes"));
    rows.data.push_back(it->second.data.data() + local * size_t(rank));
    owners->push_back(it->second.owner);
  }
  rows.owner = std::move(owners);
  return rows;
}

}  // namespace commsched::runtime
