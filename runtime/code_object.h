// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads the plan's ELF shared objects from memory, once for all ranks of a
// process.
#ifndef COMMSCHED_RUNTIME_CODE_OBJECT_H
#define COMMSCHED_RUNTIME_CODE_OBJECT_H

#include <memory>
#include <string>
#include "absl/strings/string_view.h"
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plan/fragment_abi.h"

namespace commsched::runtime {

class CodeLibrary {
 public:
  CodeLibrary() = default;
  ~CodeLibrary();  // unloads everything
  CodeLibrary(const CodeLibrary &) = delete;
  CodeLibrary &operator=(const CodeLibrary &) = delete;

  // Appends an object. Refuses what is not a complete x86-64 shared object of
  // this machine, or has symbols that cannot be resolved.
  absl::Status Load(absl::string_view target, absl::string_view elf);
  size_t size() const { return handles_.size(); }
  // The fragment `symbol` of object `object` (< size()).
  absl::StatusOr<CsFragmentFn> Find(size_t object,
                                    const std::string &symbol) const;

 private:
  std::vector<void *> handles_;
  std::vector<int> descriptors_;
};

// Whether this processor has what the plan's feature bits name.
absl::Status CheckProcessor(uint64_t required_features);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_CODE_OBJECT_H
