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

#include "plan/calibration.h"
#include "plan/nccl_tests_log.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class InFlightDiagnostic;
class MLIRContext;
} // namespace mlir

namespace commsched {

/// An error about a file.
mlir::InFlightDiagnostic emitFileError(mlir::MLIRContext *context, llvm::StringRef file);

/// What one process has measured.
struct MeasuredProcess {
  std::string role; ///< "worker", "trainer" or "server"
  int64_t index = 0;
  std::string name; ///< "rank 2", "server 0"
  std::string file;

  struct Fragment {
    int64_t median = 0; ///< ns
    int64_t quiet = 0;  ///< while nothing was communicated; 0: too seldom
    int64_t least = 0;  ///< of all
  };
  /// By function, label and device. Of a server, whose functions are parts of one,
  /// the function is empty.
  using Key = std::tuple<std::string, std::string, int64_t>;
  std::map<Key, Fragment> fragments;
};

/// All files must be of one plan of the module of this name, and every process in one of them only.
llvm::FailureOr<std::vector<MeasuredProcess>>
readProfiles(mlir::MLIRContext *context, llvm::ArrayRef<std::string> files, llvm::StringRef module);

/// What all files have together; they must be of one module. Doubts name the file.
llvm::FailureOr<plan::Calibration> readCalibrations(mlir::MLIRContext *context,
                                                    llvm::ArrayRef<std::string> files);

/// Output of all_reduce_perf of nccl-tests.
llvm::FailureOr<plan::NcclTestsLog> readNcclTests(mlir::MLIRContext *context,
                                                  llvm::StringRef file);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_COSTFILES_H
