// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/data/sealed_file.h"

#include <zlib.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime {
namespace {

constexpr char kChecksum[] = "checksum";

class Checksum {
 public:
  void Add(absl::Span<const std::byte> bytes) {
    const uint64_t size = bytes.size();
    crc_ = crc32_z(crc_, reinterpret_cast<const Bytef *>(&size), sizeof(size));
    // Of no bytes data() may be null, for which zlib begins anew.
    if (!bytes.empty())
      crc_ = crc32_z(crc_, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size());
  }
  void Add(const std::string &text) {
    Add({reinterpret_cast<const std::byte *>(text.data()), text.size()});
  }
  void Add(const Metadata &metadata) {
    for (const auto &[key, value] : metadata) {
      if (key == kChecksum) continue;
      Add(key);
      Add(value);
    }
  }
  void Add(const std::string &name, const TensorInfo &type,
           absl::Span<const std::byte> data) {
    Add(name);
    Add(ToString(type));
    Add(data);
  }
  std::string text() const { return absl::StrCat(uint64_t(crc_)); }

 private:
  uLong crc_ = crc32(0, nullptr, 0);
};

}  // namespace

absl::Status WriteSealed(const std::string &path,
                         const std::vector<TensorToWrite> &tensors,
                         const Metadata &metadata) {
  // In the order of the names, as they are read.
  std::map<std::string, const TensorToWrite *> sorted;
  for (const TensorToWrite &tensor : tensors) sorted[tensor.name] = &tensor;
  Checksum checksum;
  checksum.Add(metadata);
  for (const auto &[name, tensor] : sorted)
    checksum.Add(name, tensor->type, tensor->data);
  Metadata sealed = metadata;
  sealed[kChecksum] = checksum.text();
  return WriteSafetensors(path, tensors, sealed);
}

absl::Status CheckSeal(const TensorFile &file) {
  auto found = file.metadata.find(kChecksum);
  if (found == file.metadata.end())
    return absl::DataLossError(absl::StrCat(file.path, ": is damaged: has no checksum"));
  Checksum checksum;
  checksum.Add(file.metadata);
  for (const auto &[name, tensor] : file.tensors)
    checksum.Add(name, tensor.type, tensor.data);
  if (checksum.text() == found->second) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(file.path, ": is damaged: checksum does not match"));
}

absl::Status CheckMetadata(const TensorFile &file, const Metadata &wanted) {
  for (const auto &[key, value] : wanted) {
    auto have = file.metadata.find(key);
    const std::string got = have == file.metadata.end() ? "nothing" : have->second;
    if (got != value)
      return absl::InvalidArgumentError(absl::StrCat(
          file.path, ": ", key, " must match ", value, ", got: ", got));
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorFile> ReadSealed(const std::string &path, const Metadata &wanted) {
  absl::StatusOr<TensorFile> file = ReadSafetensors(path);
  if (!file.ok()) return file.status();
  // What it is first: of another kind of file, the checksum says nothing.
  if (auto format = wanted.find("format"); format != wanted.end())
    if (absl::Status s = CheckMetadata(*file, {*format}); !s.ok()) return s;
  if (absl::Status s = CheckSeal(*file); !s.ok()) return s;
  if (absl::Status s = CheckMetadata(*file, wanted); !s.ok()) return s;
  return file;
}

}  // namespace commsched::runtime
