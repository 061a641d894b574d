// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures how long the fragments and copies of a step take. docs/costs.md has
// the file that it writes, which `--read-costs` of the compiler reads.
#ifndef COMMSCHED_RUNTIME_MEASURE_PROFILE_H
#define COMMSCHED_RUNTIME_MEASURE_PROFILE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/sync.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

// Of one process, or of all ranks and servers of one. Thread-safe.
class ProfileRecorder {
 public:
  // How often an instruction runs before it is measured: caches fill, memory is
  // touched for the first time.
  static constexpr uint64_t kWarmUp = 3;
  // Medians are those of so many measurements, the last ones.
  static constexpr size_t kKept = 512;
  explicit ProfileRecorder(size_t kept = kKept) : kept_(kept) {}

  // Of what a stream runs. `communicating`: a message was under way meanwhile.
  // Counts for the training step, and for what servers run in every step;
  // everything else is left out.
  void Add(const Program &program, int function, uint32_t instruction,
           int64_t nanoseconds, bool communicating);

  // Whether nothing has run that would be measured.
  bool empty() const;
  // The text of the file. kFailedPrecondition if nothing was measured.
  absl::StatusOr<std::string> ToJson() const;
  // Writes it: to a temporary file beside `path`, then renamed.
  absl::Status Write(const std::string &path) const;

 private:
  // A ring of the last measurements.
  struct Samples {
    uint64_t count = 0;
    std::vector<int64_t> kept;
    void Add(int64_t value, size_t most);
    int64_t Median() const;  // of an even number, the lower of the middle two
  };
  struct Entry {
    uint64_t runs = 0;
    Samples all, quiet;  // quiet: without communication meanwhile
    int64_t least = 0, most = 0;
  };
  struct Process {
    std::string role;
    int index = 0;
    struct Function {
      std::string name;
      std::vector<InstructionProgram::Kind> kinds;
      std::vector<std::string> labels;
      std::vector<uint32_t> devices;
      std::vector<Entry> entries;
    };
    std::map<int, Function> functions;
  };

  static Process::Function Describe(const FunctionProgram &function);
  static std::string ToJson(const Process &process);

  const size_t kept_;
  mutable Mutex mu_;
  std::string module_ ABSL_GUARDED_BY(mu_);
  uint64_t digest_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int, Process> processes_ ABSL_GUARDED_BY(mu_);  // by Program::rank
};

// Makes one text of those of several processes of one plan.
absl::StatusOr<std::string> MergeProfileTexts(const std::vector<std::string> &texts);

// Makes one file of those of several processes of one plan, and removes them.
absl::Status MergeProfiles(const std::vector<std::string> &files,
                           const std::string &path);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_MEASURE_PROFILE_H
