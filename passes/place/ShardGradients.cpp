// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/ShardGradients.h"

#include "ir/CsSparseOps.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

#include "passes/place/CombineDevices.h"
#include "passes/place/Devices.h"
#include "passes/support/LinkCosts.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::place;

/// A shard costs copies and messages of its own, and the network waits for those of the
/// first: more than these gain little.
static constexpr int64_t kMostOfDevice = 16;

int64_t place::shardsOfDevice(cs::AllReduceOp op, cs::ClusterOp cluster) {
  cs::PlacedType placed = placedType(op.getValue());
  RankedTensorType type = placed.getTensor();
  auto devices = static_cast<int64_t>(cluster.getDevices());
  if (op.getGroup() || op->hasAttr(cs::kDensityAttr) || op->hasAttr(cs::kSparseMethodAttr) ||
      type.getRank() == 0 || type.getDimSize(0) < devices)
    return 0;
  cs::LinkAttr inside = cluster.getIntra(), between = cluster.getInter();
  auto nodes = static_cast<int64_t>(cluster.getNodes());
  double latency = static_cast<double>(inside.getLatencyNs());
  double perByte = 8000.0 / static_cast<double>(inside.getMbitPerS());
  double bytes = static_cast<double>(bytesOf(placed));
  double shard = bytes / static_cast<double>(type.getDimSize(0)) *
                 static_cast<double>(llvm::divideCeil(type.getDimSize(0), devices));
  double n = static_cast<double>(devices);
  // To one owner the copies follow each other, and from it they go at once. Of shards,
  // each device gets one after the other, both times.
  double whole = n * (latency + bytes * perByte);
  double parts = 2 * (n - 1) * (latency + shard * perByte);
  // All engines together are busy for further latencies, and each shard is a message: those
  // of several devices share none.
  double busy = 2 * (n - 1) * (1 - 1 / n) * latency;
  int64_t rounds = nodes > 1 ? llvm::isPowerOf2_64(nodes) ? llvm::Log2_64(nodes) : nodes - 1 : 0;
  double message = 2 * static_cast<double>(rounds * (overheadOf(between) + between.getLatencyNs()));
  if (whole <= parts + busy + (n - 1) * message)
    return 0;
  // n shards of each device make the wait for the first an n-th, and cost n times the latency of
  // copies and what messages occupy the link for: their own latency passes while others are sent.
  double wait = (n - 1) * shard * perByte;
  double occupied = 2 * static_cast<double>(rounds * overheadOf(between));
  auto best = static_cast<int64_t>(std::sqrt(wait / (2 * (n - 1) * latency + n * occupied + 1)));
  // Rounds that are shorter than their latency would need many of them at once to fill the link.
  double round = shard / static_cast<double>(nodes) * 8000.0 / static_cast<double>(between.getMbitPerS());
  best = std::min(best, static_cast<int64_t>(round / static_cast<double>(between.getLatencyNs() + 1)));
  return std::clamp<int64_t>(best, 1, std::min(kMostOfDevice, type.getDimSize(0) / devices));
}

GradientSharder::GradientSharder(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    if (StringAttr name = carriedName(func, argument.getArgNumber()))
      keys.insert(name.getValue());
  for (Operation &op : func.front())
    if (auto communication = dyn_cast<cs::CommunicationOpInterface>(op))
      keys.insert(communication.getCommunicationKey());
}

std::string GradientSharder::unique(std::string key) {
  while (!keys.insert(key).second)
    key += "'";
  return key;
}

SmallVector<Value> GradientSharder::shard(cs::AllReduceOp op, ValueRange values,
                                          int64_t ofDevice) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  cs::PlacedType whole = placedType(op.getValue());
  auto devices = static_cast<unsigned>(values.size());
  SmallVector<RankedTensorType> types;
  int64_t rows = whole.getTensor().getDimSize(0), count = devices * ofDevice;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<int64_t> shape(whole.getTensor().getShape());
    shape[0] = rows * (i + 1) / count - rows * i / count;
    types.push_back(RankedTensorType::get(shape, whole.getTensor().getElementType(),
                                          whole.getTensor().getEncoding()));
  }
  auto on = [&](RankedTensorType type, unsigned device) {
    return cs::PlacedType::get(op.getContext(), type, device, whole.getMemory());
  };
  SmallVector<cs::SplitOp> splits;
  for (auto [device, value] : llvm::enumerate(values)) {
    SmallVector<Type> own;
    for (RankedTensorType type : types)
      own.push_back(on(type, device));
    splits.push_back(cs::SplitOp::create(builder, loc, own, value));
  }
  auto made = op.getValue().getDefiningOp<cs::FragmentOp>();
  SmallVector<Value> reduced;
  for (auto [i, type] : llvm::enumerate(types)) {
    auto owner = static_cast<unsigned>(i) % devices;
    SmallVector<Value> parts;
    for (auto [device, split] : llvm::enumerate(splits)) {
      Value part = split.getBlocks()[i];
      if (device != owner)
        part = cs::CopyOp::create(builder, loc, on(type, owner), part);
      parts.push_back(part);
    }
    std::string key = unique((op.getKey() + ".shard" + Twine(i)).str());
    Value sum =
        combine(builder, loc, "sum." + key, op.getReduction(), parts, !made || made.hasBody());
    reduced.push_back(cs::AllReduceOp::create(builder, loc, sum.getType(), key,
                                              op.getReduction(), sum, FlatSymbolRefAttr()));
  }
  CopyMaker copies;
  SmallVector<Value> joined;
  for (unsigned device = 0; device < devices; ++device) {
    SmallVector<Value> parts;
    for (Value part : reduced)
      parts.push_back(copies.get(part, device));
    joined.push_back(cs::ConcatOp::create(builder, loc, onDevice(whole, device), parts));
  }
  return joined;
}
