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
#include "passes/support/LeastTime.h"

namespace commsched {
#define GEN_PASS_DEF_READCOSTS
#include "passes/schedule/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

namespace {

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

  LogicalResult readCalibrations(ArrayRef<std::string> files, bool knowsNccl);
  LogicalResult readNccl(StringRef file);
  LogicalResult readFragments(ArrayRef<std::string> files);

private:
  /// Of a rank the name of its function, of a server the function's name.
  using Key = std::tuple<std::string, std::string, int64_t>;

  InFlightDiagnostic error(StringRef file) { return emitFileError(module.getContext(), file); }
  /// The only one.
  FailureOr<cs::ClusterOp> findCluster();
  void setLinks(cs::ClusterOp cluster, const plan::CalibratedLink &measured, ArrayRef<int64_t> slowdowns);
  void setCopies(cs::ClusterOp cluster, const plan::CalibratedCopies &copies);
  /// Of as many ranks as the cluster has nodes.
  void setNccl(cs::ClusterOp cluster, const plan::NcclTimes &times);
  LogicalResult findFragments();
  Key keyOf(const MeasuredProcess &process, const MeasuredProcess::Key &measured);
  bool isOfCudaDevices();
  /// Why a fragment may be unknown, as more of the error.
  StringRef ofOtherLinks();
  LogicalResult checkKnown(const MeasuredProcess &process);
  LogicalResult checkAlike(const MeasuredProcess &first,
                           const MeasuredProcess &other);

  ModuleOp module;
  /// A calibration says how much longer compute takes while something is communicated: on top of quiet times.
  bool knowsSlowdown = false;
  std::map<Key, cs::FragmentOp> fragments;
  std::vector<cs::FragmentOp> order;      // of the program
  std::map<int64_t, std::string> servers; // their functions
};

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

std::string kindOf(cs::ClusterOp cluster) {
  return cs::stringifyDeviceKind(cluster.getDevice().getKind()).str();
}

LogicalResult CostReader::readNccl(StringRef file) {
  FailureOr<plan::NcclTestsLog> log = readNcclTests(module.getContext(), file);
  if (failed(log))
    return failure();
  FailureOr<cs::ClusterOp> cluster = findCluster();
  if (failed(cluster))
    return failure();
  if (std::string why = plan::CheckNcclRanks(kindOf(*cluster), static_cast<int64_t>(cluster->getNodes()), log->ranks);
      !why.empty())
    return error(file) << why;
  setNccl(*cluster, log->times);
  return success();
}

void CostReader::setNccl(cs::ClusterOp cluster, const plan::NcclTimes &times) {
  auto ranks = static_cast<int64_t>(cluster.getNodes());
  SmallVector<int64_t> bytes, ns;
  const plan::NcclTimes whole = times.Whole();
  for (const plan::NcclPoint &point : whole.points()) {
    bytes.push_back(static_cast<int64_t>(point.bytes));
    ns.push_back(static_cast<int64_t>(point.ns));
  }
  MLIRContext *context = module.getContext();
  std::optional<cs::NcclCostsAttr> old = cluster.getNccl();
  cluster.setNcclAttr(cs::NcclCostsAttr::get(
      context, old ? old->getMachineRanks() : 1, ranks,
      DenseI64ArrayAttr::get(context, bytes), DenseI64ArrayAttr::get(context, ns)));
  remarkOn(cluster, "nccl", /*missed=*/false, [&](auto &os) {
    plan::NcclTimes::Line line = times.LineBelow();
    os << "all-reduces of " << ranks << " ranks, " << bytes.size() << " sizes: at least "
       << std::llround(line.ns) << " ns and "
       << std::llround(line.ns_per_byte > 0 ? 8000 / line.ns_per_byte : 0)
       << " mbit/s of the buffer";
  });
}

LogicalResult CostReader::readCalibrations(ArrayRef<std::string> files, bool knowsNccl) {
  FailureOr<plan::Calibration> calibration = commsched::readCalibrations(module.getContext(), files);
  if (failed(calibration))
    return failure();
  FailureOr<cs::ClusterOp> cluster = findCluster();
  if (failed(cluster))
    return failure();
  StringRef name = module.getName().value_or("");
  if (std::string why = plan::CheckCalibration(*calibration, {name.data(), name.size()}, kindOf(*cluster),
                                               static_cast<int64_t>(cluster->getNodes()), knowsNccl);
      !why.empty())
    return error(files.front()) << why;
  // What processors of the host lose says nothing of a CUDA device.
  if (cluster->getDevice().getKind() == cs::DeviceKind::cuda)
    calibration->slowdown_percents.clear();
  knowsSlowdown = !calibration->slowdown_percents.empty();
  const DictionaryAttr before = (*cluster)->getAttrDictionary();
  if (auto link = plan::CalibratedLink::Of(*calibration))
    setLinks(*cluster, *link, calibration->slowdown_percents);
  if (auto copies = plan::CopiesOf(*calibration))
    setCopies(*cluster, *copies);
  if (calibration->nccl_ranks != 0)
    setNccl(*cluster, plan::NcclTimes(calibration->nccl));
  // A pipeline may read a file twice: that is said once.
  if (std::string doubt = calibration->Doubt(); !doubt.empty() && (*cluster)->getAttrDictionary() != before)
    emitWarning(UnknownLoc::get(module.getContext())) << doubt;
  return success();
}

void CostReader::setCopies(cs::ClusterOp cluster, const plan::CalibratedCopies &copies) {
  cs::DeviceAttr device = cluster.getDevice();
  cluster.setDeviceAttr(cs::DeviceAttr::get(module.getContext(), device.getKind(), device.getGflops(),
                                            device.getGbPerS(), copies.mb_per_s, copies.latency_ns));
  remarkOn(cluster, "copies", /*missed=*/false, [&](auto &os) {
    os << "copies between device and host: " << copies.mb_per_s << " MB/s, " << copies.latency_ns << " ns latency";
  });
}

void CostReader::setLinks(cs::ClusterOp cluster, const plan::CalibratedLink &measured, ArrayRef<int64_t> slowdowns) {
  plan::CalibratedLink::Costs costs = measured.WithWork();
  auto link = cs::LinkAttr::get(module.getContext(), measured.mbit_per_s(), costs.latency_ns, costs.overhead_ns);
  cluster.setInterAttr(link);
  // What a message costs at the link with others around it, and from node to node alone; nothing is left of another link.
  auto least = [&](int64_t ns, int64_t of) {
    return ns < of ? IntegerAttr::get(IntegerType::get(module.getContext(), 64), ns) : IntegerAttr();
  };
  cluster.setLeastOverheadNsAttr(least(measured.least_overhead_ns, costs.overhead_ns));
  cluster.setLeastLatencyNsAttr(least(measured.latency_ns, costs.latency_ns));
  int64_t slowdown = 0;
  if (!slowdowns.empty()) {
    slowdown = plan::MedianOf(slowdowns.vec());
    cluster.setSlowdownPercent(slowdown);
  }
  remarkOn(cluster, "link", /*missed=*/false, [&](auto &os) {
    os << (measured.of_servers ? "links to servers" : "links between ranks") << ", median of "
       << measured.links << ": " << measured.mbit_per_s() << " mbit/s, " << link.getLatencyNs()
       << " ns latency, " << link.getOverheadNs()
       << " ns overhead; compute takes " << slowdown
       << " percent longer meanwhile";
  });
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

bool CostReader::isOfCudaDevices() {
  return llvm::any_of(module.getOps<cs::ClusterOp>(), [](cs::ClusterOp cluster) {
    return cluster.getDevice().getKind() == cs::DeviceKind::cuda;
  });
}

StringRef CostReader::ofOtherLinks() {
  bool several = llvm::any_of(module.getOps<cs::ClusterOp>(), [](cs::ClusterOp cluster) { return cluster.getDevices() > 1; });
  return several ? ", whose fragments depend on what links cost: profile a plan that was made with the same calibration" : "";
}

LogicalResult CostReader::checkKnown(const MeasuredProcess &process) {
  if (process.role == "server" && !servers.count(process.index))
    return error(process.file) << "the module has no " << process.name;
  for (const auto &[measured, cost] : process.fragments) {
    Key key = keyOf(process, measured);
    if (fragments.count(key))
      continue;
    // What --merge-fragments has made of all: its time says nothing of one of them, and there is nothing to schedule.
    if (isOfCudaDevices() && std::get<1>(key) == std::get<0>(key))
      continue;
    return error(process.file)
           << process.name << ": the module has no fragment \""
           << std::get<1>(key) << "\" on device " << std::get<2>(key) << " in @"
           << std::get<0>(key) << ofOtherLinks();
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
               << lacks.name << " has no fragment \"" << std::get<1>(key)
               << "\", which " << side->name << " in '" << side->file
               << "' has";
  }
  return success();
}

LogicalResult CostReader::readFragments(ArrayRef<std::string> files) {
  FailureOr<std::vector<MeasuredProcess>> processes =
      readProfiles(module.getContext(), files, module.getName().value_or(""));
  if (failed(processes) || failed(findFragments()))
    return failure();
  const MeasuredProcess *first = nullptr;
  std::map<Key, std::vector<int64_t>> costs;
  std::map<Key, int64_t> least; // of all ranks
  for (const MeasuredProcess &process : *processes) {
    if (failed(checkKnown(process)))
      return failure();
    if (process.role != "server") {
      if (first && failed(checkAlike(*first, process)))
        return failure();
      first = first ? first : &process;
    }
    std::map<Key, std::pair<int64_t, int64_t>> own; // and the least; parts of a block together
    for (const auto &[measured, cost] : process.fragments) {
      auto &[sum, leastOwn] = own[keyOf(process, measured)];
      for (auto [to, ns] : {std::pair(&sum, knowsSlowdown && cost.quiet ? cost.quiet : cost.median), std::pair(&leastOwn, cost.least)})
        if (llvm::AddOverflow(*to, ns, *to))
          *to = std::numeric_limits<int64_t>::max();
    }
    for (const auto &[key, ns] : own) {
      costs[key].push_back(ns.first);
      int64_t &known = least.try_emplace(key, ns.second).first->second;
      known = std::min(known, ns.second);
    }
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
    int64_t ns = plan::MedianOf(measured->second);
    cs::CostAttr old = fragment.getCostAttr();
    fragment.setCostAttr(cs::CostAttr::get(context, old ? old.getFlops() : 0,
                                           old ? old.getBytes() : 0, ns));
    setLeastNs(fragment, least.at(measured->first), ns);
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
    if (!calibrations.empty() && failed(reader.readCalibrations(calibrations, !ncclTests.empty())))
      return signalPassFailure();
    if (!profiles.empty() &&
        failed(reader.readFragments(profiles)))
      return signalPassFailure();
  }
};

} // namespace
