// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/Predict.h"

#include "ir/CsSparseOps.h"
#include "passes/lower/ExchangeAlgorithms.h"
#include "passes/sparse/Regions.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;

namespace {

struct Model {
  Model(const ExchangeSize &size, cs::ClusterOp cluster, int64_t exchanges)
      : size(size), cluster(cluster), nodes(cluster.getNodes()),
        devices(cluster.getDevices()) {
    cs::LinkAttr whole = this->cluster.getInter();
    link = cs::LinkAttr::get(whole.getContext(), whole.getMbitPerS(),
                             whole.getLatencyNs() / exchanges, whole.getOverheadNs());
  }

  double bytes() const { return static_cast<double>(size.elements * size.elementBytes); }
  /// Of a list of the whole tensor's, and of one of each shard's.
  double listBytes() const { return rowBytes(size.selected, /*counted=*/false); }
  double shardBytes() const {
    double bytes = 0;
    for (int64_t selected : size.shards)
      bytes += rowBytes(selected, /*counted=*/false);
    return bytes;
  }
  double rowBytes(int64_t entries, bool counted) const {
    return static_cast<double>(
        cs::kWordBytes * cs::CoordinatesAttr::wordsOfRow(entries, size.valueBytes, counted));
  }

  /// The fastest of the algorithms that --expand-collectives has.
  double collective(CollectiveKind kind, double bytes) const {
    double best = 0;
    bool any = false;
    for (ExchangeAlgorithm algorithm :
         {ExchangeAlgorithm::ring, ExchangeAlgorithm::halvingDoubling,
          ExchangeAlgorithm::recursiveDoubling}) {
      if (!isApplicable(algorithm, kind, nodes))
        continue;
      double time =
          predictNanoseconds(kind, algorithm, nodes, static_cast<int64_t>(bytes), link);
      best = any ? std::min(best, time) : time;
      any = true;
    }
    return nodes > 1 ? best : 0;
  }
  /// Copies inside the node that one device takes, one after the other.
  double copies(int64_t count, double bytes) const {
    cs::LinkAttr link = cluster.getIntra();
    return static_cast<double>(count) *
           (static_cast<double>(link.getLatencyNs() + link.getOverheadNs()) +
            8000.0 * bytes / static_cast<double>(link.getMbitPerS()));
  }
  double memory(double bytes) const {
    return bytes / static_cast<double>(cluster.getDevice().getGbPerS());
  }
  /// Gradient and residual are read, the new residual is written; half of that
  /// again for what does not take one pass.
  double select(double part) const { return memory(4 * bytes() * part); }
  /// Zeros, and the lists, read and written at scattered places.
  double scatter(double part, double lists) const {
    return memory(bytes() * part + 2 * lists * part);
  }

  const ExchangeSize &size;
  mutable cs::ClusterOp cluster; // a handle
  int64_t nodes, devices;
  cs::LinkAttr link; // between nodes, with this exchange's share of its latency
};

} // namespace

double sparse::bytesSent(Method method, const ExchangeSize &size, cs::ClusterOp cluster) {
  Model model(size, cluster, /*exchanges=*/1);
  auto nodes = static_cast<double>(model.nodes), devices = static_cast<double>(model.devices);
  switch (method) {
  case Method::dense:
  case Method::automatic:
    return 2 * (nodes - 1) / nodes * model.bytes();
  case Method::allGather:
    return (nodes - 1) * devices * model.listBytes();
  case Method::hiTopK:
    return (nodes - 1) * model.shardBytes();
  case Method::gTopK:
    return std::log2(nodes) * model.shardBytes();
  case Method::okTopK: {
    int64_t bytes = 0;
    for (int64_t selected : size.shards)
      bytes += Regions(selected, model.nodes).bytesSent(size.valueBytes);
    return static_cast<double>(bytes);
  }
  }
  llvm_unreachable("no such method");
}

double sparse::predictExchange(Method method, const ExchangeSize &size,
                               cs::ClusterOp cluster, int64_t exchanges) {
  Model model(size, cluster, exchanges);
  auto nodes = static_cast<double>(model.nodes), devices = static_cast<double>(model.devices);
  double part = 1.0 / static_cast<double>(size.shards.size());
  // The node's gradient, whole at its owner or a shard on each device, and back.
  auto combine = [&] {
    if (model.devices == 1)
      return 0.0;
    return model.copies(model.devices - 1, model.bytes() * part) +
           model.memory((devices + 1) * model.bytes() * part);
  };
  double join =
      model.copies(static_cast<int64_t>(size.shards.size()) - 1, model.bytes() * part);
  switch (method) {
  case Method::dense:
  case Method::automatic:
    return (model.devices > 1 ? model.copies(model.devices - 1, model.bytes()) +
                                    model.memory((devices + 1) * model.bytes())
                              : 0) +
           model.collective(CollectiveKind::allReduce, model.bytes());
  case Method::allGather:
    return model.select(1) + model.copies(model.devices - 1, model.listBytes()) +
           model.collective(CollectiveKind::allGather, nodes * devices * model.listBytes()) +
           model.scatter(1, nodes * devices * model.listBytes());
  case Method::hiTopK:
    // The shards' messages share the link; their rounds overlap.
    return combine() + model.select(part) +
           model.collective(CollectiveKind::allGather, nodes * model.shardBytes()) +
           model.scatter(part, nodes * model.shardBytes()) + join;
  case Method::gTopK: {
    double rounds = std::log2(nodes);
    double round =
        static_cast<double>(model.link.getLatencyNs() + model.link.getOverheadNs()) +
        8000.0 * model.shardBytes() / static_cast<double>(model.link.getMbitPerS());
    // Merging sorts two lists; what was not sent is looked up among the result.
    double merge = model.memory(8 * model.shardBytes() * part);
    return combine() + model.select(part) + rounds * (round + merge) +
           model.scatter(part, model.shardBytes()) +
           model.memory(2 * model.bytes() * part) + join;
  }
  case Method::okTopK: {
    double sent = 0, result = 0;
    for (int64_t selected : size.shards) {
      Regions regions(selected, model.nodes);
      sent += nodes * model.rowBytes(regions.capacity, /*counted=*/true);
      result += nodes * model.rowBytes(regions.kept, /*counted=*/true);
    }
    double split = model.nodes == 1
                       ? 0
                       : predictNanoseconds(CollectiveKind::allToAll, ExchangeAlgorithm::pairwise,
                                            model.nodes, static_cast<int64_t>(sent),
                                            model.link);
    // As of gtopk; and all is written once more to be sent.
    double merge = model.memory((8 + 6) * sent * part);
    return combine() + model.select(part) + split + merge +
           model.collective(CollectiveKind::allGather, result) +
           model.scatter(part, model.shardBytes()) +
           model.memory(2 * model.bytes() * part) + join;
  }
  }
  llvm_unreachable("no such method");
}
