// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named tensors in files: safetensors (read and write) and NumPy's .npz (read;
// stored or deflated, .npy versions 1 to 3, C order). All errors name the file,
// and the tensor where there is one; damaged files never crash the reader.
#ifndef COMMSCHED_RUNTIME_DATA_TENSOR_FILE_H
#define COMMSCHED_RUNTIME_DATA_TENSOR_FILE_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

struct StoredTensor {
  TensorInfo type;
  // Row-major and dense, aligned to one byte only; kept alive by `owner`.
  absl::Span<const std::byte> data;
  std::shared_ptr<const void> owner;
};

struct TensorFile {
  std::string path;
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;  // safetensors only

  // The tensor `name`, which must have this type.
  absl::StatusOr<const StoredTensor *> Find(const std::string &name,
                                            const TensorInfo &type) const;
};

absl::StatusOr<TensorFile> ReadSafetensors(const std::string &path);
absl::StatusOr<TensorFile> ReadNpz(const std::string &path);
// One of the two, by the content of the file.
absl::StatusOr<TensorFile> ReadTensorFile(const std::string &path);

struct TensorToWrite {
  std::string name;
  TensorInfo type;
  absl::Span<const std::byte> data;
};
// Replaces `path` as a whole or not at all.
absl::Status WriteSafetensors(const std::string &path,
                              const std::vector<TensorToWrite> &tensors,
                              const std::map<std::string, std::string> &metadata);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_DATA_TENSOR_FILE_H
