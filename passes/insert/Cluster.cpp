// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/ReadText.h"
#include "passes/insert/Program.h"
#include "passes/insert/Remarks.h"
#include "plan/limits.h"
#include "plan/link_doubt.h"

#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace commsched;

namespace {

/// Samples of one worker: dimension 0 of the batch arguments, which must agree.
/// 0 without any.
FailureOr<int64_t> localBatch(const ProgramFunction &function) {
  int64_t samples = 0;
  unsigned first = 0;
  for (auto [i, role] : llvm::enumerate(function.arguments)) {
    if (role.kind != ArgumentRole::Batch)
      continue;
    int64_t own = cast<RankedTensorType>(function.func.getArgumentTypes()[i])
                      .getDimSize(0);
    if (own == 0)
      return function.func.emitOpError() << "argument " << i << ": batch "
                                         << role.name << " has no samples";
    if (samples && own != samples)
      return function.func.emitOpError()
             << "argument " << i << ": batch " << role.name
             << " must match the " << samples << " samples of argument "
             << first << ", got: " << own;
    samples = own;
    first = i;
  }
  return samples;
}

LogicalResult checkBatch(cs::ClusterOp cluster,
                         const ProgramFunction &function) {
  auto attr = function.func->getAttrOfType<IntegerAttr>(
      cs::CsDialect::kGlobalBatchAttr);
  if (!attr)
    return success();
  FailureOr<int64_t> local = localBatch(function);
  if (failed(local))
    return failure();
  int64_t global = attr.getInt();
  // Every device is a worker with samples of its own.
  auto workers = static_cast<int64_t>(cluster.getNodes()) *
                 static_cast<int64_t>(cluster.getDevices());
  if (*local == 0)
    return function.func.emitOpError(
        "has cs.global_batch, but no argument with cs.batch");
  if (global % workers != 0)
    return function.func.emitOpError()
           << "global batch of " << global << " samples is not divisible by "
           << workers << " workers";
  if (workers != global / *local || global % *local != 0)
    return function.func.emitOpError()
           << "global batch must match workers x local batch " << workers
           << " x " << *local << " = "
           << static_cast<uint64_t>(workers) * static_cast<uint64_t>(*local)
           << ", got: " << global;
  return success();
}

/// The only cluster of `module`, null if there is none.
FailureOr<cs::ClusterOp> onlyCluster(ModuleOp module) {
  cs::ClusterOp cluster;
  for (auto op : module.getOps<cs::ClusterOp>()) {
    if (cluster) {
      InFlightDiagnostic diag =
          op.emitOpError("must be the only cluster of the module");
      diag.attachNote(cluster.getLoc()) << "the other one is here";
      return diag;
    }
    cluster = op;
  }
  return cluster;
}

LogicalResult replaceByFile(ModuleOp module, StringRef file) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!buffer)
    return emitError(UnknownLoc::get(module.getContext()))
           << "cannot read the cluster file '" << file
           << "': " << buffer.getError().message();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  if (!checkNesting(sources, module.getContext()))
    return failure();
  SourceMgrDiagnosticHandler handler(sources, module.getContext());
  OwningOpRef<ModuleOp> parsed =
      parseSourceFile<ModuleOp>(sources, ParserConfig(module.getContext()));
  if (!parsed)
    return failure();
  FailureOr<cs::ClusterOp> cluster = onlyCluster(*parsed);
  if (failed(cluster))
    return failure();
  if (!*cluster)
    return emitError(parsed->getLoc())
           << "the cluster file '" << file << "' has no cs.cluster";
  for (auto old : llvm::make_early_inc_range(module.getOps<cs::ClusterOp>()))
    old.erase();
  (*cluster)->remove();
  // Renames it if its name is taken.
  SymbolTable(module).insert(*cluster, module.getBody()->begin());
  remarkOn(*cluster, "cluster", [&](auto &os) {
    os << "cluster @" << cluster->getSymName() << " of " << cluster->getNodes()
       << " nodes is from '" << file << "'";
  });
  return success();
}

/// What the verifier takes, but no link has.
void warnOfLinks(cs::ClusterOp cluster) {
  for (auto [name, link] : {std::pair("intra", cluster.getIntra()), std::pair("inter", cluster.getInter())})
    for (const std::string &doubt : {plan::DoubtRate("mbit_per_s", static_cast<double>(link.getMbitPerS()), "Mbit/s", 1e6),
                                     plan::DoubtTime("latency_ns", link.getLatencyNs()),
                                     plan::DoubtTime("overhead_ns", link.getOverheadNs())})
      if (!doubt.empty())
        emitWarning(cluster.getLoc()) << "cluster @" << cluster.getSymName() << ": " << name << ": " << doubt;
}

/// A small office of today: 40 gflop/s a node, 1 Gbit/s between them.
LogicalResult addDefault(ModuleOp module, const Program &program) {
  int64_t nodes = 2;
  for (const ProgramFunction &function : program.functions) {
    auto global = function.func->getAttrOfType<IntegerAttr>(
        cs::CsDialect::kGlobalBatchAttr);
    if (!function.isStep || !global)
      continue;
    FailureOr<int64_t> local = localBatch(function);
    if (failed(local))
      return failure();
    // What does not divide is reported against this cluster, like any other.
    if (*local > 0)
      nodes = std::clamp<int64_t>(global.getInt() / *local, 1, kMaxNodes);
  }
  MLIRContext *context = module.getContext();
  OpBuilder builder(context);
  auto cluster = cs::ClusterOp::create(
      builder, module.getLoc(), "default", nodes, /*devices=*/1,
      cs::DeviceAttr::get(context, cs::DeviceKind::cpu, /*gflops=*/40,
                          /*gb_per_s=*/20, /*copy_mb_per_s=*/0, /*copy_latency_ns=*/0),
      cs::LinkAttr::get(context, /*mbit_per_s=*/80000, /*latency_ns=*/5000,
                        /*overhead_ns=*/0),
      cs::LinkAttr::get(context, /*mbit_per_s=*/1000, /*latency_ns=*/50000,
                        /*overhead_ns=*/0),
      /*slowdown_percent=*/0, /*least_overhead_ns=*/IntegerAttr(),
      /*least_latency_ns=*/IntegerAttr(), /*nccl=*/cs::NcclCostsAttr());
  SymbolTable(module).insert(cluster, module.getBody()->begin());
  remarkOn(cluster, "cluster", [&](auto &os) {
    os << "no cs.cluster given: assuming @" << cluster.getSymName() << " of "
       << nodes << " nodes with 1 cpu of 40 gflop/s each, linked at 1000 "
       << "mbit/s with 50000 ns latency";
  });
  return success();
}

} // namespace

LogicalResult commsched::settleCluster(ModuleOp module, StringRef file,
                                       const Program &program) {
  if (!file.empty() && failed(replaceByFile(module, file)))
    return failure();
  FailureOr<cs::ClusterOp> cluster = onlyCluster(module);
  if (failed(cluster))
    return failure();
  if (!*cluster) {
    if (program.functions.empty())
      return success();
    if (failed(addDefault(module, program)))
      return failure();
    cluster = onlyCluster(module);
  }
  warnOfLinks(*cluster);
  if (cluster->getDevices() > 1)
    remarkOn(*cluster, "cluster", [&](auto &os) {
      os << "nodes have " << cluster->getDevices()
         << " devices: on device 0 until --replicate-devices";
    });
  for (const ProgramFunction &function : program.functions)
    if (failed(checkBatch(*cluster, function)))
      return failure();
  return success();
}
