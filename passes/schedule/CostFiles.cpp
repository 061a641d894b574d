// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/CostFiles.h"

#include <algorithm>
#include <optional>

#include "ir/ReadText.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace commsched;

namespace {

constexpr int64_t kVersion = 1;
/// Fewer quiet measurements say little.
constexpr int64_t kEnoughQuiet = 3;
constexpr int64_t kMostTime = int64_t(3600) * 1'000'000'000;
constexpr int64_t kMostCount = int64_t(1) << 50;

/// Reads fields, and reports the first that is wrong.
class File {
public:
  File(MLIRContext *context, StringRef name) : context(context), name(name) {}

  InFlightDiagnostic error() const {
    return emitError(UnknownLoc::get(context)) << "'" << name << "': ";
  }

  /// The object that the file holds, of this format.
  FailureOr<llvm::json::Object> open(StringRef format) {
    auto buffer = llvm::MemoryBuffer::getFile(name, /*IsText=*/true);
    if (!buffer)
      return emitError(UnknownLoc::get(context))
             << "cannot read '" << name << "': " << buffer.getError().message();
    llvm::Expected<llvm::json::Value> value =
        parseJson((*buffer)->getBuffer());
    if (!value) {
      std::string why = llvm::toString(value.takeError());
      return error() << "is no JSON: " << why;
    }
    llvm::json::Object *object = value->getAsObject();
    if (!object || object->getString("format") != format)
      return error() << "must be of format \"" << format << "\"";
    auto version = number(*object, "version", "file", 0, kMostCount);
    if (failed(version))
      return failure();
    if (*version != kVersion)
      return error() << "version must be " << kVersion << ", got: " << *version;
    return std::move(*object);
  }

  FailureOr<int64_t> number(const llvm::json::Object &object, StringRef field,
                            const llvm::Twine &where, int64_t least, int64_t most) {
    std::optional<int64_t> value = object.getInteger(field);
    if (value && *value >= least && *value <= most)
      return *value;
    return error() << where.str() << ": \"" << field << "\" must be a whole number of "
                   << least << " to " << most;
  }

  FailureOr<std::string> text(const llvm::json::Object &object, StringRef field,
                              const llvm::Twine &where) {
    if (auto value = object.getString(field))
      return value->str();
    return error() << where.str() << ": \"" << field << "\" must be a text";
  }

  /// Calls `read` for the objects in a list.
  LogicalResult each(const llvm::json::Object &object, StringRef field,
                     const llvm::Twine &where,
                     llvm::function_ref<LogicalResult(const llvm::json::Object &)> read) {
    const llvm::json::Array *list = object.getArray(field);
    if (!list)
      return error() << where.str() << ": \"" << field << "\" must be a list";
    for (const llvm::json::Value &value : *list) {
      const llvm::json::Object *entry = value.getAsObject();
      if (!entry)
        return error() << where.str() << ": \"" << field
                       << "\" must be a list of objects";
      if (failed(read(*entry)))
        return failure();
    }
    return success();
  }

  /// What all files must agree on.
  LogicalResult agree(std::string &known, const std::string &value, StringRef what,
                      bool isFirst) {
    if (isFirst)
      known = value;
    if (known == value)
      return success();
    return error() << what << " must match that of the other files, \"" << known
                   << "\", got: \"" << value << "\"";
  }

  LogicalResult readFragment(const llvm::json::Object &entry, const std::string &function,
                             MeasuredProcess &process);

private:
  MLIRContext *context;
  StringRef name;
};

LogicalResult File::readFragment(const llvm::json::Object &entry,
                                 const std::string &function,
                                 MeasuredProcess &process) {
  std::string where = process.getName();
  FailureOr<std::string> label = text(entry, "label", where);
  if (failed(label))
    return failure();
  where += ": \"" + *label + "\"";
  FailureOr<std::string> kind = text(entry, "kind", where);
  if (failed(kind))
    return failure();
  if (*kind == "copy") // no fragment
    return success();
  if (*kind != "run" && *kind != "delay")
    return error() << where << ": \"kind\" must be run, delay or copy, got: " << *kind;
  auto device = number(entry, "device", where, 0, 1 << 16);
  auto count = failed(device) ? device : number(entry, "count", where, 1, kMostCount);
  auto median = failed(count) ? count : number(entry, "median_ns", where, 0, kMostTime);
  auto quiets =
      failed(median) ? median : number(entry, "quiet_count", where, 0, kMostCount);
  if (failed(quiets))
    return failure();
  MeasuredProcess::Fragment fragment;
  // 0 would say that it is not measured.
  fragment.median = std::max<int64_t>(1, *median);
  if (*quiets >= kEnoughQuiet) {
    auto quiet = number(entry, "quiet_median_ns", where, 0, kMostTime);
    if (failed(quiet))
      return failure();
    fragment.quiet = std::max<int64_t>(1, *quiet);
  }
  auto [known, isNew] =
      process.fragments.try_emplace({function, *label, *device}, fragment);
  if (isNew)
    return success();
  // Several functions of a server may repeat what they all need.
  if (process.role != "server")
    return error() << where << " is there twice";
  known->second.median = std::max(known->second.median, fragment.median);
  known->second.quiet = std::max(known->second.quiet, fragment.quiet);
  return success();
}

} // namespace

std::string MeasuredProcess::getName() const {
  return (role == "server" ? "server " : "rank ") + std::to_string(index);
}

LogicalResult commsched::readProfile(MLIRContext *context, StringRef name,
                                     ProfileFile &profile) {
  File file(context, name);
  FailureOr<llvm::json::Object> root = file.open("commsched profile");
  if (failed(root))
    return failure();
  bool isFirst = profile.processes.empty();
  FailureOr<std::string> module = file.text(*root, "module", "file");
  FailureOr<std::string> plan =
      failed(module) ? module : file.text(*root, "plan", "file");
  if (failed(plan) || failed(file.agree(profile.module, *module, "module", isFirst)) ||
      failed(file.agree(profile.plan, *plan, "plan", isFirst)))
    return failure();
  return file.each(*root, "processes", "file", [&](const llvm::json::Object &entry) -> LogicalResult {
    MeasuredProcess process;
    process.file = name.str();
    FailureOr<std::string> role = file.text(entry, "role", "process");
    if (failed(role))
      return failure();
    process.role = *role;
    if (*role != "worker" && *role != "trainer" && *role != "server")
      return file.error() << "role must be worker, trainer or server, got: " << *role;
    auto index = file.number(entry, "index", "process", 0, 1 << 16);
    if (failed(index))
      return failure();
    process.index = *index;
    for (const MeasuredProcess &other : profile.processes)
      if (other.getName() == process.getName())
        return file.error() << process.getName() << " is in '" << other.file
                            << "' already";
    LogicalResult read = file.each(
        entry, "functions", process.getName(), [&](const llvm::json::Object &function) {
          FailureOr<std::string> own = file.text(function, "name", process.getName());
          if (failed(own))
            return LogicalResult(failure());
          std::string key = process.role == "server" ? "" : *own;
          return file.each(function, "fragments", process.getName() + ": @" + *own,
                           [&](const llvm::json::Object &fragment) {
                             return file.readFragment(fragment, key, process);
                           });
        });
    if (succeeded(read))
      profile.processes.push_back(std::move(process));
    return read;
  });
}

LogicalResult commsched::readCalibration(MLIRContext *context, StringRef name,
                                         CalibrationFile &calibration) {
  File file(context, name);
  FailureOr<llvm::json::Object> root = file.open("commsched calibration");
  if (failed(root))
    return failure();
  FailureOr<std::string> module = file.text(*root, "module", "file");
  if (failed(module) || failed(file.agree(calibration.module, *module, "module",
                                          calibration.links.empty())))
    return failure();
  LogicalResult read =
      file.each(*root, "links", "file", [&](const llvm::json::Object &entry) {
        CalibrationFile::Link link;
        FailureOr<std::string> from = file.text(entry, "from", "link");
        if (failed(from))
          return LogicalResult(failure());
        link.fromServer = StringRef(*from).starts_with("server ");
        std::string where = "link from " + *from;
        auto latency = file.number(entry, "latency_ns", where, 0, kMostTime);
        auto overhead = failed(latency)
                            ? latency
                            : file.number(entry, "overhead_ns", where, 0, kMostTime);
        auto rate = failed(overhead)
                        ? overhead
                        : file.number(entry, "bits_per_s", where, 1, kMostCount);
        if (failed(rate))
          return LogicalResult(failure());
        link.latency = *latency;
        link.overhead = *overhead;
        link.bitsPerSecond = *rate;
        calibration.links.push_back(link);
        return success();
      });
  if (failed(read))
    return failure();
  if (calibration.links.empty())
    return file.error() << "has no link";
  read = file.each(*root, "exchanges", "file", [&](const llvm::json::Object &entry) {
    auto round = file.number(entry, "round_ns", "exchange", 0, kMostTime);
    auto message = failed(round)
                       ? round
                       : file.number(entry, "message_ns", "exchange", 0, kMostTime);
    if (failed(message))
      return LogicalResult(failure());
    // Files of before have one number for both.
    auto busy = entry.get("busy_message_ns")
                    ? file.number(entry, "busy_message_ns", "exchange", 0, kMostTime)
                    : message;
    if (failed(busy))
      return LogicalResult(failure());
    calibration.rounds.push_back(*round);
    calibration.messages.push_back(*busy);
    return LogicalResult(success());
  });
  if (failed(read))
    return failure();
  return file.each(*root, "compute", "file", [&](const llvm::json::Object &entry) {
    auto percent = file.number(entry, "slowdown_percent", "compute", 0, 1'000'000);
    if (failed(percent))
      return LogicalResult(failure());
    // What a cs.cluster takes.
    calibration.slowdowns.push_back(std::min<int64_t>(*percent, 100'000));
    return success();
  });
}

FailureOr<plan::NcclTestsLog> commsched::readNcclTests(MLIRContext *context, StringRef name) {
  auto buffer = llvm::MemoryBuffer::getFile(name, /*IsText=*/true);
  if (!buffer)
    return emitError(UnknownLoc::get(context))
           << "cannot read '" << name << "': " << buffer.getError().message();
  plan::NcclTestsLog log;
  StringRef text = (*buffer)->getBuffer();
  if (std::string error = plan::ParseNcclTestsLog({text.data(), text.size()}, &log);
      !error.empty())
    return emitError(UnknownLoc::get(context)) << "'" << name << "': " << error;
  for (const plan::NcclPoint &point : log.times.points())
    if (point.bytes > static_cast<uint64_t>(kMostCount) ||
        point.ns > static_cast<double>(kMostTime))
      return emitError(UnknownLoc::get(context))
             << "'" << name << "': a size must be at most " << kMostCount
             << " bytes and an hour, got: " << point.bytes << " bytes";
  return log;
}
