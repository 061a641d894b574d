// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/calibration/rank_costs.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/json.h"
#include "runtime/calibration/peer_links.h"

namespace commsched::calibration {

absl::Status MeasureRanks(runtime::Transport *transport, PeerExchanges *exchanges,
                          absl::Duration deadline, Costs *out) {
  out->transport = transport->name();
  auto links = MeasurePeerLinks(transport, deadline);
  if (!links.ok()) return links.status();
  for (const PeerLink &link : *links)
    out->links.push_back(
        {absl::StrCat("rank ", link.from), absl::StrCat("rank ", link.to), link.cost});
  auto costs = MeasurePeerExchanges(transport, *links, exchanges, deadline);
  if (!costs.ok()) return costs.status();
  out->exchanges = *std::move(costs);
  auto compute = MeasurePeerSlowdown(transport, *links, deadline);
  if (!compute.ok()) return compute.status();
  out->compute = *std::move(compute);
  return absl::OkStatus();
}

std::string ToJson(const Costs &costs, const std::string &module, int ranks, size_t servers) {
  std::vector<std::string> links, exchanges, compute;
  for (const Link &link : costs.links)
    links.push_back(absl::StrCat(
        " {\"from\":\"", link.from, "\",\"to\":\"", link.to, "\",\"latency_ns\":",
        link.cost.latency_ns, ",\"overhead_ns\":", link.cost.overhead_ns,
        ",\"bits_per_s\":", link.cost.bits_per_second,
        ",\"round_trip_ns\":", link.cost.round_trip_ns,
        link.cost.processor_ns ? absl::StrCat(",\"processor_ns\":", *link.cost.processor_ns) : "", "}"));
  for (size_t rank = 0; rank < costs.exchanges.size(); ++rank)
    exchanges.push_back(absl::StrCat(" {\"rank\":", rank, ",\"round_ns\":", costs.exchanges[rank].round_ns,
                                     ",\"message_ns\":", costs.exchanges[rank].message_ns,
                                     ",\"busy_message_ns\":", costs.exchanges[rank].busy_message_ns, "}"));
  for (size_t rank = 0; rank < costs.compute.size(); ++rank)
    compute.push_back(absl::StrCat(
        " {\"rank\":", rank, ",\"quiet_ns\":", costs.compute[rank].quiet_ns,
        ",\"communicating_ns\":", costs.compute[rank].communicating_ns,
        ",\"slowdown_percent\":", costs.compute[rank].percent(), "}"));
  std::vector<std::string> copies, all_reduces;
  for (const DeviceCopy &copy : costs.copies)
    copies.push_back(absl::StrCat(
        " {\"rank\":", copy.rank, ",\"direction\":\"", copy.to_host ? "to_host" : "to_device",
        "\",\"latency_ns\":", copy.latency_ns, ",\"bytes_per_s\":", copy.bytes_per_second,
        ",\"both_bytes_per_s\":", copy.both_bytes_per_second, "}"));
  for (const AllReduce &all_reduce : costs.all_reduces)
    all_reduces.push_back(absl::StrCat(" {\"ranks\":", ranks, ",\"bytes\":", all_reduce.bytes,
                                       ",\"ns\":", all_reduce.ns, "}"));
  // Files without devices are as they were before there were any.
  const std::string devices =
      copies.empty() ? ""
                     : absl::StrCat(",\n\"copies\":[\n", absl::StrJoin(copies, ",\n"), "\n],\n\"nccl\":[\n",
                                    absl::StrJoin(all_reduces, ",\n"), "\n]");
  return absl::StrCat(
      "{\"format\":\"commsched calibration\",\"version\":1,\"module\":", runtime::JsonQuote(module),
      ",\"transport\":\"", costs.transport, "\",\"ranks\":", ranks, ",\"servers\":", servers,
      ",\n\"links\":[\n", absl::StrJoin(links, ",\n"), "\n],\n\"exchanges\":[\n",
      absl::StrJoin(exchanges, ",\n"), "\n],\n\"compute\":[\n", absl::StrJoin(compute, ",\n"), "\n]", devices, "}\n");
}

}  // namespace commsched::calibration
