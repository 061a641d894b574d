// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan's ELF shared objects, once for all ranks of a process: checked when
// the plan is read, and mapped when something is to be run.
#ifndef COMMSCHED_RUNTIME_LOADING_CODE_OBJECT_H
#define COMMSCHED_RUNTIME_LOADING_CODE_OBJECT_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "plan/fragment_abi.h"
#include "runtime/base/sync.h"

namespace commsched::runtime {

// A function of an object.
struct Fragment {
  CsFragmentFn function = nullptr;  // from CodeLibrary::Map on
};

// Threading: Add and Find by one thread, before others have it; Map by any.
class CodeLibrary {
 public:
  CodeLibrary() = default;
  ~CodeLibrary();  // unloads everything
  CodeLibrary(const CodeLibrary &) = delete;
  CodeLibrary &operator=(const CodeLibrary &) = delete;

  // Appends an object, of which nothing is mapped yet. Refuses what is not for
  // this machine, and what CheckCodeObject refuses.
  absl::Status Add(absl::string_view target, absl::string_view elf);
  size_t size() const { return objects_.size(); }
  // The fragment `symbol` of object `object` (< size()), which lives as long as
  // this.
  absl::StatusOr<const Fragment *> Find(size_t object,
                                        const std::string &symbol) const;
  // Maps all objects; once, and an error stays. Must precede the first call.
  absl::Status Map() const;

 private:
  struct Object {
    std::string elf;  // until it is mapped
    void *handle = nullptr;
    int descriptor = -1;
    std::map<std::string, Fragment> fragments;
  };
  static absl::Status MapObject(Object *object);
  absl::Status MapAll() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  mutable std::optional<absl::Status> mapped_ ABSL_GUARDED_BY(mu_);
  // Of those found above, Map alone changes the functions.
  mutable std::deque<Object> objects_;
};

// Whether this processor has what the plan's feature bits name.
absl::Status CheckProcessor(uint64_t required_features);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_CODE_OBJECT_H
