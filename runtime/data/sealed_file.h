// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// safetensors files of which a bit that has changed is noticed: their metadata has
// a checksum over all of it and over name, type, shape and bytes of every tensor.
#ifndef COMMSCHED_RUNTIME_DATA_SEALED_FILE_H
#define COMMSCHED_RUNTIME_DATA_SEALED_FILE_H

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/tensor_file.h"

namespace commsched::runtime {

using Metadata = std::map<std::string, std::string>;

// As WriteSafetensors, with the checksum.
absl::Status WriteSealed(const std::string &path,
                         const std::vector<TensorToWrite> &tensors,
                         const Metadata &metadata);
// kDataLoss if the file has no checksum, or another one.
absl::Status CheckSeal(const TensorFile &file);
// A file whose checksum is right and whose metadata has these entries.
absl::StatusOr<TensorFile> ReadSealed(const std::string &path, const Metadata &wanted);
// Whether the metadata has these entries: the first that it has not is named.
absl::Status CheckMetadata(const TensorFile &file, const Metadata &wanted);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_DATA_SEALED_FILE_H
