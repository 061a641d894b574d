// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cs-run --calibrate has measured (docs/costs.md), and what a cluster is by it. The compiler and the simulator
// read it alike.
#ifndef COMMSCHED_PLAN_CALIBRATION_H
#define COMMSCHED_PLAN_CALIBRATION_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/nccl_costs.h"

namespace commsched::plan {

// Of an even number, the lower of the middle two. Not of none.
int64_t MedianOf(std::vector<int64_t> values);

struct Calibration {
  struct Link {
    bool of_server = false;  // from a server to a rank
    int64_t latency_ns = 0, overhead_ns = 0, bits_per_s = 0;
    int64_t processor_ns = 0;  // of a message; 0 in files that do not have it
  };
  struct Exchange {  // of a rank with its neighbours
    int64_t round_ns = 0, message_ns = 0;
    int64_t busy_message_ns = 0;  // as message_ns in files that do not have it
  };
  struct Copy {
    bool to_host = false;
    int64_t latency_ns = 0, bytes_per_s = 0;  // beside the other direction
  };

  std::string module;
  std::vector<Link> links;
  std::vector<Exchange> exchanges;
  std::vector<int64_t> slowdown_percents;  // of ranks; at most what a cs.cluster takes
  std::vector<Copy> copies;
  // All-reduces of NCCL, by so many ranks; 0: none.
  int64_t nccl_ranks = 0;
  std::vector<NcclPoint> nccl;
  // Lines: numbers of links and copies that are taken, but as no link has them.
  std::vector<std::string> doubts;

  bool of_devices() const { return !copies.empty() || nccl_ranks != 0; }
  // All doubts in one line; the empty string if there are none.
  std::string Doubt() const;

  // What another file has besides. Returns the empty string, or one line that says why the two do not go together.
  std::string Add(const Calibration &other);
};

// Returns the empty string, or one line that says what is wrong with the file.
std::string ReadCalibration(std::string_view text, Calibration *calibration);

// Why it is not of a cluster of a program: the empty string, or one line. `module` is the program's name, `device_kind`
// that of the cluster's devices, and `has_nccl_tests` says that a log of nccl-tests is read as well.
std::string CheckCalibration(const Calibration &calibration, std::string_view module, std::string_view device_kind,
                             int64_t nodes, bool has_nccl_tests);
// The same of what NCCL takes, for so many ranks, whatever it was read from.
std::string CheckNcclRanks(std::string_view device_kind, int64_t nodes, int64_t ranks);

// Medians over the links from servers, if there are any, else over those between ranks.
class CalibratedLink {
 public:
  // Nothing if the calibration has no link: that of one rank on a device.
  static std::optional<CalibratedLink> Of(const Calibration &calibration);

  bool of_servers = false;
  size_t links = 0;  // that were measured
  int64_t bits_per_s = 0;
  int64_t latency_ns = 0, overhead_ns = 0;  // of the network alone
  int64_t least_overhead_ns = 0;            // that of a message among others, where that is less

  int64_t mbit_per_s() const;  // whole, and at least 1: as a cluster has it

  struct Costs {
    int64_t latency_ns = 0, overhead_ns = 0, engine_ns = 0;
  };
  // Where nothing but the link takes time for a message, as in a schedule: it occupies the link for what a further one
  // costs there while the link is busy, or the processes at its ends, which take one after the other. What it costs alone, in a round,
  // is latency.
  Costs WithWork() const;
  // Where ranks are at work on one message after the other, as in a simulation, for engine_ns each: what a further
  // message costs beyond the link.
  Costs BesideWork() const;

 private:
  Costs With(int64_t overhead_ns, int64_t engine_ns) const;

  // Of ranks, if the link is between them, else 0.
  int64_t round_ns_ = 0, busy_message_ns_ = 0;
  int64_t processor_ns_ = 0;  // of a trainer for a message, if the link is of servers
  int64_t engine_ns_ = 0;     // of ranks
};

// Copies between a device and its host: a cluster has one rate for both directions, that of the slower one.
struct CalibratedCopies {
  int64_t mb_per_s = 0, latency_ns = 0;
};
std::optional<CalibratedCopies> CopiesOf(const Calibration &calibration);

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_CALIBRATION_H
