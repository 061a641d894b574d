// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole files in and out.
#ifndef COMMSCHED_RUNTIME_BASE_FILES_H
#define COMMSCHED_RUNTIME_BASE_FILES_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace commsched::runtime {

// A file mapped into memory, read-only. Errors name the path.
class MappedFile {
 public:
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(
      const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  absl::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const char *data_ = nullptr;
  size_t size_ = 0;
};

// The path of the file of which a MappedFile has this address, or null. For handlers of
// signals, of SIGBUS above all: a page is gone with its part of the file.
const char *MappedFileAt(const void *address);

// The bytes of what can be read once, such as a pipe. Errors name the path.
absl::StatusOr<std::string> ReadWhole(const std::string &path);

// Writes the pieces one after the other to a temporary file beside `path`,
// flushes it to the disk and renames it: `path` is the old file or the whole
// new one, never a part. What is there and no file, such as /dev/null, is written to; of a
// symbolic link what it leads to is replaced.
// Before the first file of this process in a folder, what killed processes have left
// there is removed (RemoveUnfinished).
absl::Status WriteFileAtomically(const std::string &path,
                                 const std::vector<absl::string_view> &pieces);

// Whether the disk still answers who writes files in this process, for a thread that looks now and then. A call is
// answered soon by a disk that works, as files are written and flushed in pieces.
class DiskWatch {
 public:
  // In how many looks, one behind the other, a call has had no answer. Not for how long: this process may have been stopped.
  int Look();

 private:
  uint64_t answered_ = 0;
  int looks_ = 0;
};

// Whether that will be possible, as far as can be seen now. Leaves nothing behind.
absl::Status CheckWritable(const std::string &path);

// Removes the temporary files of WriteFileAtomically in `folder` of which no process
// holds the lock any more: those who wrote them are gone.
void RemoveUnfinished(const std::string &folder);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_FILES_H
