// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/calibration.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "plan/json_file.h"
#include "plan/link_doubt.h"

namespace commsched::plan {
namespace {

using Object = JsonFile::Object;

constexpr int64_t kMostPercent = 1'000'000;
// That a cs.cluster takes.
constexpr int64_t kMostSlowdown = 100'000;

// A million of bits or bytes, to the nearest one, and at least one.
int64_t Millions(int64_t of) { return std::max<int64_t>(1, (of + 500'000) / 1'000'000); }

template <typename T>
int64_t MedianOf(const std::vector<T> &all, int64_t T::*field) {
  std::vector<int64_t> values;
  for (const T &each : all) values.push_back(each.*field);
  return plan::MedianOf(std::move(values));
}

void Note(const std::string &where, const std::string &doubt, Calibration *out) {
  if (!doubt.empty()) out->doubts.push_back(where + ": " + doubt);
}

// "rank 3", "server 0"; of which the number says nothing.
bool IsOf(std::string_view from, std::string_view role) {
  if (from.size() <= role.size() || from.substr(0, role.size()) != role) return false;
  from.remove_prefix(role.size());
  return from.find_first_not_of("0123456789") == from.npos;
}

void ReadLinks(JsonFile *file, Calibration *out) {
  file->Each(file->root(), "links", "file", [&](const Object &entry) {
    const std::string from = file->Text(entry, "from", "link"), where = "link from " + from;
    Calibration::Link link;
    link.of_server = IsOf(from, "server ");
    if (!link.of_server && !IsOf(from, "rank "))
      file->Fail("link: \"from\" must be a rank or a server, as \"rank 0\", got: " + from);
    link.latency_ns = file->Number(entry, "latency_ns", where, 0, kMostFileNs);
    link.overhead_ns = file->Number(entry, "overhead_ns", where, 0, kMostFileNs);
    link.bits_per_s = file->Number(entry, "bits_per_s", where, 1, kMostFileCount);
    if (JsonFile::Has(entry, "processor_ns")) link.processor_ns = file->Number(entry, "processor_ns", where, 0, kMostFileNs);
    out->links.push_back(link);
    if (!file->ok()) return;
    Note(where, DoubtRate("bits_per_s", double(link.bits_per_s), "bit/s", 1), out);
    Note(where, DoubtTime("latency_ns", link.latency_ns), out);
    Note(where, DoubtTime("overhead_ns", link.overhead_ns), out);
    Note(where, DoubtTime("processor_ns", link.processor_ns), out);
  });
}

void ReadExchanges(JsonFile *file, Calibration *out) {
  file->Each(file->root(), "exchanges", "file", [&](const Object &entry) {
    const auto ns = [&](const char *field) { return file->Number(entry, field, "exchange", 0, kMostFileNs); };
    Calibration::Exchange exchange;
    exchange.round_ns = ns("round_ns");
    exchange.message_ns = ns("message_ns");
    exchange.busy_message_ns = JsonFile::Has(entry, "busy_message_ns") ? ns("busy_message_ns") : exchange.message_ns;
    out->exchanges.push_back(exchange);
  });
}

// Of NCCL's times; 0 of those that have none.
std::string AgreeOnRanks(Calibration *calibration, int64_t ranks) {
  if (calibration->nccl_ranks != 0 && ranks != 0 && calibration->nccl_ranks != ranks)
    return "nccl: ranks must match those of other entries, " + std::to_string(calibration->nccl_ranks) +
           ", got: " + std::to_string(ranks);
  if (ranks != 0) calibration->nccl_ranks = ranks;
  return "";
}

// What a calibration of a plan for CUDA devices has besides: both lists.
void ReadDevices(JsonFile *file, Calibration *out) {
  if (!JsonFile::Has(file->root(), "copies") && !JsonFile::Has(file->root(), "nccl")) return;
  file->Each(file->root(), "copies", "file", [&](const Object &entry) {
    const std::string direction = file->Text(entry, "direction", "copy");
    Calibration::Copy copy;
    copy.to_host = direction == "to_host";
    if (!copy.to_host && direction != "to_device")
      file->Fail("copy: \"direction\" must be to_host or to_device, got: " + direction);
    copy.bytes_per_s = file->Number(entry, "both_bytes_per_s", "copy", 1, kMostFileCount);
    copy.latency_ns = file->Number(entry, "latency_ns", "copy", 0, kMostFileNs);
    out->copies.push_back(copy);
    if (!file->ok()) return;
    Note("copy " + direction, DoubtRate("both_bytes_per_s", double(copy.bytes_per_s), "bytes/s", 8), out);
    Note("copy " + direction, DoubtTime("latency_ns", copy.latency_ns), out);
  });
  file->Each(file->root(), "nccl", "file", [&](const Object &entry) {
    const int64_t ranks = file->Number(entry, "ranks", "nccl", 2, kMostFileCount);
    const int64_t bytes = file->Number(entry, "bytes", "nccl", 1, kMostFileCount);
    const int64_t ns = file->Number(entry, "ns", "nccl", 0, kMostFileNs);
    if (std::string error = AgreeOnRanks(out, ranks); !error.empty()) file->Fail(std::move(error));
    out->nccl.push_back({uint64_t(bytes), double(ns)});
  });
}

}  // namespace

int64_t MedianOf(std::vector<int64_t> values) {
  auto middle = values.begin() + std::ptrdiff_t((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string Calibration::Doubt() const {
  if (doubts.size() < 2) return doubts.empty() ? "" : doubts.front();
  return doubts.front() + "; and " + std::to_string(doubts.size() - 1) + " more such numbers";
}

std::string Calibration::Add(const Calibration &other) {
  if (other.module != module)
    return "module must match that of the other files, \"" + module + "\", got: \"" + other.module + "\"";
  if (std::string error = AgreeOnRanks(this, other.nccl_ranks); !error.empty()) return error;
  const auto append = [](auto *to, const auto &from) { to->insert(to->end(), from.begin(), from.end()); };
  append(&links, other.links);
  append(&exchanges, other.exchanges);
  append(&slowdown_percents, other.slowdown_percents);
  append(&copies, other.copies);
  append(&nccl, other.nccl);
  append(&doubts, other.doubts);
  return "";
}

std::string ReadCalibration(std::string_view text, Calibration *calibration) {
  JsonFile file(text, "commsched calibration");
  *calibration = {};
  calibration->module = file.Text(file.root(), "module", "file");
  ReadLinks(&file, calibration);
  ReadDevices(&file, calibration);
  if (calibration->links.empty() && !calibration->of_devices()) file.Fail("has no link");
  ReadExchanges(&file, calibration);
  file.Each(file.root(), "compute", "file", [&](const Object &entry) {
    calibration->slowdown_percents.push_back(
        std::min(kMostSlowdown, file.Number(entry, "slowdown_percent", "compute", 0, kMostPercent)));
  });
  return file.error();
}

std::string CheckNcclRanks(std::string_view device_kind, int64_t nodes, int64_t ranks) {
  if (device_kind != "cuda")
    return "is of NCCL: devices of the cluster must be of kind cuda, got: " + std::string(device_kind);
  if (ranks != nodes)
    return "ranks must match the nodes of the cluster, " + std::to_string(nodes) + ", got: " + std::to_string(ranks);
  return "";
}

std::string CheckCalibration(const Calibration &calibration, std::string_view module, std::string_view device_kind,
                             int64_t nodes, bool has_nccl_tests) {
  if (std::string error = CheckModule(calibration.module, module); !error.empty()) return error;
  if (calibration.of_devices() && device_kind != "cuda")
    return "is of CUDA devices: devices of the cluster must be of kind cuda, got: " + std::string(device_kind);
  if (calibration.nccl_ranks == 0) return "";
  if (has_nccl_tests) return "has what NCCL takes, and so has nccl-tests: one of them must go";
  return CheckNcclRanks(device_kind, nodes, calibration.nccl_ranks);
}

std::optional<CalibratedLink> CalibratedLink::Of(const Calibration &calibration) {
  std::vector<Calibration::Link> of_servers, of_ranks;
  for (const Calibration::Link &link : calibration.links) (link.of_server ? of_servers : of_ranks).push_back(link);
  // A node sends to servers, if there are any.
  const std::vector<Calibration::Link> &links = of_servers.empty() ? of_ranks : of_servers;
  if (links.empty()) return std::nullopt;
  CalibratedLink link;
  link.of_servers = !of_servers.empty();
  link.links = links.size();
  link.bits_per_s = MedianOf(links, &Calibration::Link::bits_per_s);
  link.latency_ns = MedianOf(links, &Calibration::Link::latency_ns);
  link.overhead_ns = link.least_overhead_ns = MedianOf(links, &Calibration::Link::overhead_ns);
  if (link.of_servers) link.processor_ns_ = MedianOf(links, &Calibration::Link::processor_ns);
  const std::vector<Calibration::Exchange> &exchanges = calibration.exchanges;
  if (exchanges.empty()) return link;
  // Rounds go over links between ranks.
  if (!link.of_servers) {
    link.round_ns_ = MedianOf(exchanges, &Calibration::Exchange::round_ns);
    // A round is over when the slowest rank is; of some nothing can be seen beside what the link takes.
    for (const Calibration::Exchange &exchange : exchanges)
      link.busy_message_ns_ = std::max(link.busy_message_ns_, exchange.busy_message_ns);
    link.least_overhead_ns = std::min(link.overhead_ns, MedianOf(exchanges, &Calibration::Exchange::busy_message_ns));
  }
  if (!of_ranks.empty())
    link.engine_ns_ = std::max<int64_t>(0, MedianOf(exchanges, &Calibration::Exchange::message_ns) -
                                               MedianOf(of_ranks, &Calibration::Link::overhead_ns));
  return link;
}

int64_t CalibratedLink::mbit_per_s() const { return Millions(bits_per_s); }

CalibratedLink::Costs CalibratedLink::With(int64_t overhead, int64_t engine) const {
  return {std::max(latency_ns, round_ns_ - overhead - engine), overhead, engine};
}

CalibratedLink::Costs CalibratedLink::WithWork() const { return With(std::max({overhead_ns, busy_message_ns_, processor_ns_}), 0); }
CalibratedLink::Costs CalibratedLink::BesideWork() const { return With(overhead_ns, engine_ns_); }

std::optional<CalibratedCopies> CopiesOf(const Calibration &calibration) {
  if (calibration.copies.empty()) return std::nullopt;
  int64_t rate = std::numeric_limits<int64_t>::max();
  for (const bool to_host : {true, false}) {
    std::vector<int64_t> rates;
    for (const Calibration::Copy &copy : calibration.copies)
      if (copy.to_host == to_host) rates.push_back(copy.bytes_per_s);
    if (!rates.empty()) rate = std::min(rate, plan::MedianOf(std::move(rates)));
  }
  return CalibratedCopies{Millions(rate), MedianOf(calibration.copies, &Calibration::Copy::latency_ns)};
}

}  // namespace commsched::plan
