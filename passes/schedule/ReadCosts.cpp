// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Passes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "ir/CsServerFunctions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "passes/schedule/CostFiles.h"

namespace commsched {
#define GEN_PASS_DEF_READCOSTS
#include "passes/schedule/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

namespace {

/// Of an even number, the lower of the middle two. Not of none.
int64_t medianOf(std::vector<int64_t> values) {
  auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Write>
void remarkOn(Operation *op, StringRef name, bool missed, Write write) {
  if (!op->getContext()->getRemarkEngine())
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  write(os);
  auto func = op->getParentOfType<func::FuncOp>();
  auto options = remark::RemarkOpts::name(name)
                     .category("read-costs")
                     .function(func ? func.getName() : StringRef());
  auto argument = remark::detail::Remark::Arg("Remark", text);
  if (missed)
    remark::missed(op->getLoc(), options) << argument;
  else
    remark::passed(op->getLoc(), options) << argument;
}

class CostReader {
public:
  explicit CostReader(ModuleOp module) : module(module) {}

  LogicalResult readLinks(ArrayRef<std::string> files);
  LogicalResult readNccl(StringRef file);
  LogicalResult readFragments(ArrayRef<std::string> files, bool quiet);

private:
  /// Of a rank the name of its function, of a server the function's name.
  using Key = std::tuple<std::string, std::string, int64_t>;

  InFlightDiagnostic error(StringRef file) {
    return emitError(UnknownLoc::get(module.getContext())) << "'" << file << "': ";
  }
  LogicalResult checkModule(StringRef file, StringRef name);
  /// The only one.
  FailureOr<cs::ClusterOp> findCluster();
  LogicalResult findFragments();
  Key keyOf(const MeasuredProcess &process, const MeasuredProcess::Key &measured);
  LogicalResult checkKnown(const MeasuredProcess &process);
  LogicalResult checkAlike(const MeasuredProcess &first,
                           const MeasuredProcess &other);

  ModuleOp module;
  std::map<Key, cs::FragmentOp> fragments;
  std::vector<cs::FragmentOp> order;      // of the program
  std::map<int64_t, std::string> servers; // their functions
};

LogicalResult CostReader::checkModule(StringRef file, StringRef name) {
  StringRef own = module.getName().value_or("");
  if (name == own)
    return success();
  return error(file) << "is of another program: module must match \"" << own
                     << "\", got: \"" << name << "\"";
}

FailureOr<cs::ClusterOp> CostReader::findCluster() {
  cs::ClusterOp cluster;
  for (auto op : module.getOps<cs::ClusterOp>()) {
    if (cluster)
      return op.emitOpError("must be the only cluster of the module");
    cluster = op;
  }
  if (!cluster)
    return module.emitError("has no cs.cluster to take the costs of links: run "
                            "--insert-dist-comm first");
  return cluster;
}

LogicalResult CostReader::readNccl(StringRef file) {
  FailureOr<plan::NcclTestsLog> log = readNcclTests(module.getContext(), file);
  if (failed(log))
    return failure();
  FailureOr<cs::ClusterOp> cluster = findCluster();
  if (failed(cluster))
    return failure();
  if (cluster->getDevice().getKind() != cs::DeviceKind::cuda)
    return error(file) << "is of NCCL: devices of the cluster must be of kind cuda, got: "
                       << cs::stringifyDeviceKind(cluster->getDevice().getKind());
  auto nodes = static_cast<int64_t>(cluster->getNodes());
  if (log->ranks != nodes)
    return error(file) << "ranks must match the nodes of the cluster, " << nodes
                       << ", got: " << log->ranks;
  SmallVector<int64_t> bytes, ns;
  for (const plan::NcclPoint &point : log->times.points()) {
    bytes.push_back(static_cast<int64_t>(point.bytes));
    ns.push_back(std::llround(point.ns));
  }
  MLIRContext *context = module.getContext();
  std::optional<cs::NcclCostsAttr> old = cluster->getNccl();
  cluster->setNcclAttr(cs::NcclCostsAttr::get(
      context, old ? old->getMachineRanks() : 1, log->ranks,
      DenseI64ArrayAttr::get(context, bytes), DenseI64ArrayAttr::get(context, ns)));
  remarkOn(*cluster, "nccl", /*missed=*/false, [&](auto &os) {
    plan::NcclTimes::Line line = log->times.LineBelow();
    os << "all-reduces of " << log->ranks << " ranks, " << bytes.size() << " sizes: at least "
       << std::llround(line.ns) << " ns and "
       << std::llround(line.ns_per_byte > 0 ? 8000 / line.ns_per_byte : 0)
       << " mbit/s of the buffer";
  });
  return success();
}

LogicalResult CostReader::readLinks(ArrayRef<std::string> files) {
  CalibrationFile calibration;
  for (const std::string &file : files)
    if (failed(readCalibration(module.getContext(), file, calibration)))
      return failure();
  if (failed(checkModule(files.front(), calibration.module)))
    return failure();
  FailureOr<cs::ClusterOp> found = findCluster();
  if (failed(found))
    return failure();
  cs::ClusterOp cluster = *found;
  // A node sends to servers, if there are any.
  bool ofServers = llvm::any_of(
      calibration.links, [](const auto &link) { return link.fromServer; });
  std::vector<int64_t> latencies, overheads, rates;
  for (const CalibrationFile::Link &link : calibration.links) {
    if (link.fromServer != ofServers)
      continue;
    latencies.push_back(link.latency);
    overheads.push_back(link.overhead);
    rates.push_back(link.bitsPerSecond);
  }
  int64_t rate = std::max<int64_t>(1, (medianOf(rates) + 500'000) / 1'000'000);
  int64_t latency = medianOf(latencies), overhead = medianOf(overheads);
  int64_t leastLatency = latency, leastOverhead = overhead;
  // What the runtime does for a message counts too, where it is known: it occupies the link for what a
  // further one costs there while the link is busy. What it costs alone, in a round, is latency.
  if (!ofServers && !calibration.rounds.empty()) {
    leastOverhead = std::min(overhead, medianOf(calibration.messages));
    overhead = std::max(overhead, medianOf(calibration.messages));
    latency = std::max(latency, medianOf(calibration.rounds) - overhead);
  }
  auto link = cs::LinkAttr::get(module.getContext(), rate, latency, overhead);
  cluster.setInterAttr(link);
  // What a message costs at the link with others around it, and from node to node alone.
  if (leastOverhead < overhead)
    cluster.setLeastOverheadNs(leastOverhead);
  if (leastLatency < latency)
    cluster.setLeastLatencyNs(leastLatency);
  int64_t slowdown = 0;
  if (!calibration.slowdowns.empty()) {
    slowdown = medianOf(calibration.slowdowns);
    cluster.setSlowdownPercent(slowdown);
  }
  remarkOn(cluster, "link", /*missed=*/false, [&](auto &os) {
    os << (ofServers ? "links to servers" : "links between ranks") << ", median of "
       << rates.size() << ": " << rate << " mbit/s, " << link.getLatencyNs()
       << " ns latency, " << link.getOverheadNs()
       << " ns overhead; compute takes " << slowdown
       << " percent longer meanwhile";
  });
  return success();
}

LogicalResult CostReader::findFragments() {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (auto server = cs::getServerIndex(func))
      servers[*server] = func.getName().str();
    if (func.isExternal())
      continue;
    for (auto fragment : func.front().getOps<cs::FragmentOp>()) {
      Key key{func.getName().str(), fragment.getLabel().str(),
              static_cast<int64_t>(fragment.getDevice())};
      auto [known, isNew] = fragments.try_emplace(key, fragment);
      if (!isNew) {
        InFlightDiagnostic diagnostic =
            fragment.emitOpError()
            << "has the label of another one: costs cannot be told apart";
        diagnostic.attachNote(known->second.getLoc()) << "which is here";
        return diagnostic;
      }
      order.push_back(fragment);
    }
  }
  return success();
}

CostReader::Key CostReader::keyOf(const MeasuredProcess &process,
                                  const MeasuredProcess::Key &measured) {
  const auto &[function, label, device] = measured;
  if (process.role != "server")
    return measured;
  auto server = servers.find(process.index);
  Key key{server == servers.end() ? "" : server->second, label, device};
  // --schedule-comm may have cut the block into parts, each with an update of its own.
  auto [block, part] = StringRef(label).rtrim('\'').rsplit(".part");
  unsigned number;
  if (Key whole{std::get<0>(key), block.str(), device};
      !fragments.count(key) && !part.getAsInteger(10, number) && fragments.count(whole))
    return whole;
  return key;
}

LogicalResult CostReader::checkKnown(const MeasuredProcess &process) {
  if (process.role == "server" && !servers.count(process.index))
    return error(process.file) << "the module has no " << process.getName();
  for (const auto &[measured, cost] : process.fragments) {
    Key key = keyOf(process, measured);
    if (fragments.count(key))
      continue;
    return error(process.file)
           << process.getName() << ": the module has no fragment \""
           << std::get<1>(key) << "\" on device " << std::get<2>(key) << " in @"
           << std::get<0>(key);
  }
  return success();
}

/// All ranks run the same function.
LogicalResult CostReader::checkAlike(const MeasuredProcess &first,
                                     const MeasuredProcess &other) {
  for (const auto *side : {&first, &other}) {
    const MeasuredProcess &lacks = side == &first ? other : first;
    for (const auto &[key, cost] : side->fragments)
      if (!lacks.fragments.count(key))
        return error(lacks.file)
               << lacks.getName() << " has no fragment \"" << std::get<1>(key)
               << "\", which " << side->getName() << " in '" << side->file
               << "' has";
  }
  return success();
}

LogicalResult CostReader::readFragments(ArrayRef<std::string> files, bool quiet) {
  ProfileFile profile;
  for (const std::string &file : files)
    if (failed(readProfile(module.getContext(), file, profile)))
      return failure();
  if (failed(checkModule(files.front(), profile.module)) || failed(findFragments()))
    return failure();
  const MeasuredProcess *first = nullptr;
  std::map<Key, std::vector<int64_t>> costs;
  for (const MeasuredProcess &process : profile.processes) {
    if (failed(checkKnown(process)))
      return failure();
    if (process.role != "server") {
      if (first && failed(checkAlike(*first, process)))
        return failure();
      first = first ? first : &process;
    }
    std::map<Key, int64_t> own; // parts of a block together
    for (const auto &[measured, cost] : process.fragments) {
      int64_t &sum = own[keyOf(process, measured)];
      if (llvm::AddOverflow(sum, quiet && cost.quiet ? cost.quiet : cost.median, sum))
        sum = std::numeric_limits<int64_t>::max();
    }
    for (const auto &[key, ns] : own)
      costs[key].push_back(ns);
  }
  MLIRContext *context = module.getContext();
  for (cs::FragmentOp fragment : order) {
    auto func = fragment->getParentOfType<func::FuncOp>();
    auto measured =
        costs.find({func.getName().str(), fragment.getLabel().str(),
                    static_cast<int64_t>(fragment.getDevice())});
    if (measured == costs.end()) {
      // Other functions do not run in every step.
      if (func->hasAttr(cs::CsDialect::kStepAttr) || cs::getServerIndex(func))
        remarkOn(fragment, "unmeasured", /*missed=*/true, [&](auto &os) {
          os << "\"" << fragment.getLabel() << "\" has not been measured";
        });
      continue;
    }
    int64_t ns = medianOf(measured->second);
    cs::CostAttr old = fragment.getCostAttr();
    fragment.setCostAttr(cs::CostAttr::get(context, old ? old.getFlops() : 0,
                                           old ? old.getBytes() : 0, ns));
    remarkOn(fragment, "measured", /*missed=*/false, [&](auto &os) {
      os << "\"" << fragment.getLabel() << "\": " << ns << " ns, median of "
         << measured->second.size();
    });
  }
  return success();
}

struct ReadCosts : commsched::impl::ReadCostsBase<ReadCosts> {
  using ReadCostsBase::ReadCostsBase;

  void runOnOperation() override {
    SmallVector<std::string> profiles(profile.begin(), profile.end());
    SmallVector<std::string> calibrations(calibration.begin(), calibration.end());
    CostReader reader(getOperation());
    if (!ncclTests.empty() && failed(reader.readNccl(ncclTests)))
      return signalPassFailure();
    if (!calibrations.empty() && failed(reader.readLinks(calibrations)))
      return signalPassFailure();
    if (!profiles.empty() &&
        failed(reader.readFragments(profiles, /*quiet=*/!calibrations.empty())))
      return signalPassFailure();
  }
};

} // namespace
