// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-opt --interpret as a child process, and the files between.
#ifndef COMMSCHED_TOOLS_CS_RUN_INTERPRET_STEPS_H
#define COMMSCHED_TOOLS_CS_RUN_INTERPRET_STEPS_H

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/data/tensor_file.h"

namespace commsched::run {

// A folder that is removed with what is in it.
class Folder {
 public:
  static absl::StatusOr<std::unique_ptr<Folder>> Make();
  ~Folder();
  std::string File(const std::string &name);

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
  std::vector<std::string> files_;
};

struct InterpretationFiles {
  std::string values, batches;  // read; docs/interpreter.md
  std::string output, errors;   // written
};

// Has cs-opt, beside this program or on the PATH, interpret `steps` steps of `module`;
// `sums`: of the workers' gradients, in place of means; `each`: from values of the file before
// each step. Returns the output. An error has
// what cs-opt wrote to stderr.
absl::StatusOr<runtime::TensorFile> InterpretSteps(const std::string &module,
                                                   uint64_t steps, size_t workers,
                                                   bool sums, bool each,
                                                   const InterpretationFiles &files);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_INTERPRET_STEPS_H
