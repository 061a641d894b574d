// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Cs.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace commsched::cs;

#include "ir/CsEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/CsAttributes.cpp.inc"

void CsDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/CsAttributes.cpp.inc"
      >();
}

/// A run refuses what takes longer, and sums of nanoseconds stay far from what an i64 holds.
static constexpr int64_t kHour = int64_t{3600} * 1000 * 1000 * 1000;
/// Far beyond any link, and its bytes a second are a number that an i64 holds.
static constexpr int64_t kMostMbitPerS = int64_t{10} * 1000 * 1000 * 1000 * 1000;

LogicalResult DeviceAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 DeviceKind, int64_t gflops, int64_t gbPerS,
                                 int64_t copyMbPerS, int64_t copyLatencyNs) {
  if (gflops <= 0)
    return emitError() << "gflops of a device must be positive, got: "
                       << gflops;
  if (gbPerS <= 0)
    return emitError() << "gb_per_s of a device must be positive, got: "
                       << gbPerS;
  if (copyMbPerS < 0)
    return emitError() << "copy_mb_per_s of a device must be positive, got: "
                       << copyMbPerS;
  if (copyLatencyNs < 0)
    return emitError() << "copy_latency_ns of a device must not be negative, got: "
                       << copyLatencyNs;
  if (copyLatencyNs > kHour)
    return emitError() << "copy_latency_ns of a device must be at most an hour, got: "
                       << copyLatencyNs;
  return success();
}

LogicalResult LinkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t mbitPerS, int64_t latencyNs,
                               int64_t overheadNs) {
  if (mbitPerS <= 0)
    return emitError() << "mbit_per_s of a link must be positive, got: "
                       << mbitPerS;
  if (mbitPerS > kMostMbitPerS)
    return emitError() << "mbit_per_s of a link must be at most " << kMostMbitPerS << ", got: "
                       << mbitPerS;
  if (latencyNs < 0)
    return emitError() << "latency_ns of a link must not be negative, got: "
                       << latencyNs;
  if (overheadNs < 0)
    return emitError() << "overhead_ns of a link must not be negative, got: "
                       << overheadNs;
  if (latencyNs > kHour)
    return emitError() << "latency_ns of a link must be at most an hour, got: "
                       << latencyNs;
  if (overheadNs > kHour)
    return emitError() << "overhead_ns of a link must be at most an hour, got: "
                       << overheadNs;
  return success();
}

LogicalResult NcclCostsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                    int64_t machineRanks, int64_t ranks, DenseI64ArrayAttr bytes,
                                    DenseI64ArrayAttr ns) {
  if (machineRanks <= 0)
    return emitError() << "machine_ranks of nccl must be positive, got: " << machineRanks;
  if (!bytes && !ns && ranks == 0)
    return success();
  if (!bytes || !ns || bytes.empty() || bytes.size() != ns.size())
    return emitError() << "bytes and ns of nccl must be as many, at least one, got: "
                       << (bytes ? bytes.size() : 0) << " and " << (ns ? ns.size() : 0);
  if (ranks < 2)
    return emitError() << "ranks of measured nccl must be at least 2, got: " << ranks;
  for (auto [name, values, least] :
       {std::tuple<StringRef, DenseI64ArrayAttr, int64_t>("bytes", bytes, 1), {"ns", ns, 0}})
    for (int64_t before = 0; int64_t value : values.asArrayRef()) {
      if (value < before + least)
        return emitError() << name << " of nccl must "
                           << (least ? "be positive and ascend" : "not fall")
                           << ", got: " << value << " after " << before;
      before = value;
    }
  return success();
}

LogicalResult
ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                     StringRef policy, int64_t periodNs, int64_t boundNs,
                     int64_t anyOrderBoundNs, int64_t credit) {
  if (policy.empty())
    return emitError() << "schedule needs a policy";
  for (auto [name, value] : {std::pair<StringRef, int64_t>("period_ns", periodNs),
                             {"bound_ns", boundNs},
                             {"any_order_bound_ns", anyOrderBoundNs},
                             {"credit", credit}})
    if (value < 0)
      return emitError() << name << " of a schedule must not be negative, got: "
                         << value;
  return success();
}

LogicalResult NcclAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t lane,
                               int64_t number) {
  if (lane < 0 || number < 0)
    return emitError() << "lane and number of NCCL must not be negative, got: " << lane << " and "
                       << number;
  return success();
}

LogicalResult CostAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t flops, int64_t bytes, int64_t ns) {
  if (flops < 0 || bytes < 0 || ns < 0)
    return emitError() << "cost must not be negative, got: flops = " << flops
                       << ", bytes = " << bytes << ", ns = " << ns;
  return success();
}

int64_t CostAttr::nanosecondsOn(DeviceAttr device) const {
  // 1e9 operations or bytes per second are one per nanosecond.
  return getNs() != 0 ? getNs()
                      : std::max(getFlops() / device.getGflops(),
                                 getBytes() / device.getGbPerS());
}

LogicalResult
ServersAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t count,
                    SyncMode mode, int64_t merge) {
  if (count < 1)
    return emitError() << "number of servers must be positive, got: " << count;
  if (merge < 1)
    return emitError() << "merge must be positive, got: " << merge;
  if (merge > std::numeric_limits<uint32_t>::max()) // what a plan counts to
    return emitError() << "merge must be at most " << std::numeric_limits<uint32_t>::max() << ", got: "
                       << merge;
  if (merge > 1 && mode != SyncMode::half_async)
    return emitError() << "merge must be 1 but in half_async mode, got: "
                       << merge;
  return success();
}

/// The set of all (rank, round).
static IntegerSet allRanksAndRounds(MLIRContext *context) {
  return IntegerSet::get(2, 0, {getAffineConstantExpr(0, context)}, {true});
}

Attribute SideAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  AffineMapAttr parts, peer;
  IntegerSet when = allRanksAndRounds(parser.getContext());
  if (parser.parseLess() || parser.parseKeyword("parts") ||
      parser.parseAttribute(parts) || parser.parseKeyword("to") ||
      parser.parseAttribute(peer))
    return {};
  if (succeeded(parser.parseOptionalKeyword("when"))) {
    // One map per constraint: an affine_set has '>=' in it, which the generic
    // form of a dialect attribute cannot hold.
    SmallVector<AffineExpr> constraints;
    SmallVector<bool> equalities;
    auto parseConstraint = [&](bool equality) -> ParseResult {
      AffineMapAttr map;
      if (parser.parseAttribute(map))
        return failure();
      if (map.getValue().getNumDims() != 2 ||
          map.getValue().getNumSymbols() != 0 ||
          map.getValue().getNumResults() != 1)
        return parser.emitError(loc, "constraint must map (rank, round) to one "
                                     "value, got: ")
               << map;
      constraints.push_back(map.getValue().getResult(0));
      equalities.push_back(equality);
      return success();
    };
    while (true) {
      bool zero = succeeded(parser.parseOptionalKeyword("zero"));
      if (!zero && failed(parser.parseOptionalKeyword("nonnegative")))
        break;
      if (parseConstraint(zero))
        return {};
    }
    if (constraints.empty()) {
      parser.emitError(loc, "expected 'zero' or 'nonnegative' after 'when'");
      return {};
    }
    when = IntegerSet::get(2, 0, constraints, equalities);
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<SideAttr>(loc, parser.getContext(),
                                     parts.getValue(), peer.getValue(), when);
}

void SideAttr::print(AsmPrinter &printer) const {
  printer << "<parts " << AffineMapAttr::get(getParts()) << " to "
          << AffineMapAttr::get(getPeer());
  if (getWhen() != allRanksAndRounds(getContext())) {
    printer << " when";
    for (auto [index, expr] : llvm::enumerate(getWhen().getConstraints()))
      printer << (getWhen().isEq(index) ? " zero " : " nonnegative ")
              << AffineMapAttr::get(AffineMap::get(2, 0, expr));
  }
  printer << ">";
}

LogicalResult SideAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               AffineMap parts, AffineMap peer,
                               IntegerSet when) {
  if (parts.getNumDims() != 2 || parts.getNumSymbols() != 0 ||
      parts.getNumResults() != 2)
    return emitError() << "parts must map (rank, round) to (begin, count), "
                          "got: "
                       << AffineMapAttr::get(parts);
  if (peer.getNumDims() != 2 || peer.getNumSymbols() != 0 ||
      peer.getNumResults() != 1)
    return emitError() << "peer must map (rank, round) to a rank, got: "
                       << AffineMapAttr::get(peer);
  if (when.getNumDims() != 2 || when.getNumSymbols() != 0)
    return emitError() << "when must be a set of (rank, round), got: "
                       << IntegerSetAttr::get(when);
  // Division and remainder by zero or by a rank would have no value.
  auto divides = [](AffineExpr root) {
    bool bad = false;
    root.walk([&](AffineExpr expr) {
      if (expr.getKind() != AffineExprKind::Mod &&
          expr.getKind() != AffineExprKind::FloorDiv &&
          expr.getKind() != AffineExprKind::CeilDiv)
        return;
      auto by = dyn_cast<AffineConstantExpr>(
          cast<AffineBinaryOpExpr>(expr).getRHS());
      bad |= !by || by.getValue() <= 0;
    });
    return bad;
  };
  bool bad = llvm::any_of(parts.getResults(), divides) ||
             llvm::any_of(peer.getResults(), divides) ||
             llvm::any_of(when.getConstraints(), divides);
  if (bad)
    return emitError() << "divisors must be positive constants";
  return success();
}
