// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/CostFiles.h"

#include <algorithm>
#include <utility>

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "plan/profile.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace commsched;

InFlightDiagnostic commsched::emitFileError(MLIRContext *context, StringRef file) {
  return emitError(UnknownLoc::get(context)) << "'" << file << "': ";
}

/// `read` returns the empty string, or why the file's text is wrong.
static LogicalResult readFile(MLIRContext *context, StringRef name,
                              llvm::function_ref<std::string(std::string_view)> read) {
  auto buffer = llvm::MemoryBuffer::getFile(name, /*IsText=*/true);
  if (!buffer)
    return emitError(UnknownLoc::get(context))
           << "cannot read '" << name << "': " << buffer.getError().message();
  StringRef text = (*buffer)->getBuffer();
  std::string error = read({text.data(), text.size()});
  if (error.empty())
    return success();
  return emitFileError(context, name) << error;
}

static MeasuredProcess merge(const plan::ProfiledProcess &process, StringRef file) {
  MeasuredProcess merged{process.role, process.index, process.Name(), file.str(), {}};
  for (const plan::ProfiledFragment &each : process.fragments) {
    if (each.copy)
      continue;
    // 0 would say that it is not measured.
    MeasuredProcess::Fragment fragment{std::max<int64_t>(1, each.median_ns), 0, each.least_ns};
    if (each.quiet_ns)
      fragment.quiet = std::max<int64_t>(1, *each.quiet_ns);
    // Several functions of a server may repeat what they all need.
    const MeasuredProcess::Key key{process.of_server() ? "" : each.function, each.label, each.device};
    MeasuredProcess::Fragment &known = merged.fragments.try_emplace(key, fragment).first->second;
    known.least = std::min(known.least, fragment.least);
    known.median = std::max(known.median, fragment.median);
    known.quiet = std::max(known.quiet, fragment.quiet);
  }
  return merged;
}

FailureOr<std::vector<MeasuredProcess>>
commsched::readProfiles(MLIRContext *context, ArrayRef<std::string> files, StringRef module) {
  std::vector<MeasuredProcess> processes;
  plan::Profile first;
  for (const std::string &file : files) {
    plan::Profile profile;
    if (failed(readFile(context, file, [&](std::string_view text) { return plan::ReadProfile(text, &profile); })))
      return failure();
    if (&file == files.begin())
      first = profile;
    for (auto [what, known, own] : {std::tuple("module", &first.module, &profile.module),
                                    std::tuple("plan", &first.plan, &profile.plan)})
      if (*known != *own)
        return emitFileError(context, file) << what << " must match that of the other files, \"" << *known
                                            << "\", got: \"" << *own << "\"";
    for (const plan::ProfiledProcess &process : profile.processes) {
      for (const MeasuredProcess &other : processes)
        if (other.name == process.Name())
          return emitFileError(context, file) << other.name << " is in '" << other.file << "' already";
      processes.push_back(merge(process, file));
    }
  }
  if (std::string error = plan::CheckProfile(first, module); !error.empty())
    return emitFileError(context, files.front()) << error;
  return processes;
}

FailureOr<plan::Calibration> commsched::readCalibrations(MLIRContext *context, ArrayRef<std::string> files) {
  plan::Calibration all;
  for (const std::string &file : files)
    if (failed(readFile(context, file, [&](std::string_view text) -> std::string {
          plan::Calibration calibration;
          if (std::string error = plan::ReadCalibration(text, &calibration); !error.empty())
            return error;
          for (std::string &doubt : calibration.doubts)
            doubt = "'" + file + "': " + doubt;
          if (&file != files.begin())
            return all.Add(calibration);
          all = std::move(calibration);
          return "";
        })))
      return failure();
  return all;
}

FailureOr<plan::NcclTestsLog> commsched::readNcclTests(MLIRContext *context, StringRef name) {
  plan::NcclTestsLog log;
  if (failed(readFile(context, name, [&](std::string_view text) { return plan::ParseNcclTestsLog(text, &log); })))
    return failure();
  return log;
}
