// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that `cs-run --profile` and `cs-run --calibrate` write: docs/costs.md.
// What is wrong with one is reported, with its name.

#ifndef COMMSCHED_PASSES_SCHEDULE_COSTFILES_H
#define COMMSCHED_PASSES_SCHEDULE_COSTFILES_H

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "plan/nccl_tests_log.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace commsched {

/// What one process has measured.
struct MeasuredProcess {
  std::string role; ///< "worker", "trainer" or "server"
  int64_t index = 0;
  std::string file;

  /// "rank 2", "server 0"
  std::string getName() const;

  struct Fragment {
    int64_t median = 0; ///< ns
    int64_t quiet = 0;  ///< while nothing was communicated; 0: too seldom
  };
  /// By function, label and device. Of a server, whose functions are parts of one,
  /// the function is empty.
  using Key = std::tuple<std::string, std::string, int64_t>;
  std::map<Key, Fragment> fragments;
};

struct ProfileFile {
  std::string module, plan;
  std::vector<MeasuredProcess> processes;
};

/// Appends what the file has to `processes`. All files must be of one plan, and
/// every process in one of them only.
llvm::LogicalResult readProfile(mlir::MLIRContext *context, llvm::StringRef file,
                                ProfileFile &profile);

struct CalibrationFile {
  struct Link {
    bool fromServer = false;
    int64_t latency = 0, overhead = 0, bitsPerSecond = 0;
  };
  std::string module;
  std::vector<Link> links;
  /// Of ranks: a round of a collective, each further message where the link is busy; in ns.
  std::vector<int64_t> rounds, messages;
  std::vector<int64_t> slowdowns; ///< percent, of ranks
};

/// Appends what the file has.
llvm::LogicalResult readCalibration(mlir::MLIRContext *context, llvm::StringRef file,
                                    CalibrationFile &calibration);

/// Output of all_reduce_perf of nccl-tests.
llvm::FailureOr<plan::NcclTestsLog> readNcclTests(mlir::MLIRContext *context,
                                                  llvm::StringRef file);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_COSTFILES_H
