// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a plan on a virtual clock: the executors and progress engines of all
// ranks, and the network between them, as docs/simulator.md describes. Nothing is
// computed and nothing is sent; the same plan and options give the same result,
// bit for bit.
//
// Ranks that are alike in everything that takes time are simulated once, as a
// class: what that costs does not grow with their number.
#ifndef COMMSCHED_RUNTIME_SIMULATOR_SIMULATOR_H
#define COMMSCHED_RUNTIME_SIMULATOR_SIMULATOR_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "plan/packets.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/measure/trace.h"

namespace commsched::runtime {

// What a link carries of payload.
struct LinkRate {
  double up_mbit_per_s = 0, down_mbit_per_s = 0;
};

struct SimulationOptions {
  // Calls of the step. 0: until the time of a step does not change any more, at
  // most kMaxSteps.
  uint64_t steps = 0;
  static constexpr uint64_t kMaxSteps = 64;

  // What if: multiples of what the plan, or the calibration, says. Compute that
  // is twice as fast is 2.
  double bandwidth = 1, latency = 1, compute = 1;
  int workers = 0;  // 0: as many as the plan has
  // Of all collectives that have a choice: "ring", "halving-doubling",
  // "recursive-doubling", "auto" (the fastest, as --expand-collectives reckons) or
  // "" (as in the plan).
  std::string algorithm;
  std::map<int, double> stragglers;  // by rank: its compute takes so many times as long
  std::map<int, LinkRate> links;     // by rank; servers come behind the trainers

  // Texts of files of cs-run --profile and --calibrate; empty: none. They count
  // for what the plan does not say: how long code runs; and for all links, copies and collectives of NCCL, if the calibration has them.
  std::string profile, calibration;
  // Output of all_reduce_perf of nccl-tests, as many ranks as workers, in the place of what the
  // plan says of NCCL.
  std::string nccl_tests;
  // Of a link, instead of what the plan or the calibration says.
  std::optional<int64_t> latency_ns, overhead_ns;
  // What the progress engine of a rank needs for a message, one after the other.
  std::optional<int64_t> engine_ns;

  // Of the transport: GrpcOptions.
  uint64_t eager_bytes = plan::kEagerBytes;
  uint64_t chunk_bytes = 0;  // of a packet; 0: as it chooses, by the rate of the link
  // What the socket takes before it is on the wire: cannot be overtaken any more.
  uint64_t socket_bytes = plan::kSocketBytes;
  // What a link lets through at once after a pause (a token bucket).
  uint64_t burst_bytes = 0;
  // What stands in the queue of a link that is busy, in time: TCP fills queues, and
  // what is in them cannot be overtaken any more either.
  int64_t queue_ns = 0;

  // What is on a compute stream takes between 1 - jitter and 1 + jitter times as long, drawn for
  // each rank, call and instruction; below 1. Above 0, every rank is simulated for itself.
  double jitter = 0;
  uint64_t jitter_seed = 0;
  // A rank's collectives go one at a time, in one order that is fixed before the run and is the
  // same on all ranks, as NCCL's on a stream: the order in which they begin without jitter where
  // they overtake each other, or that in which they end, whichever gives the shorter step. Plans
  // with parameter servers are refused.
  bool in_order = false;

  // Every rank for itself, if alike or not. Without: where that is not exact,
  // parts of tensors in a class have their mean size.
  bool every_rank = false;
  // Gets a span of everything that happens, of all simulated ranks; may be null.
  TraceRecorder *trace = nullptr;
};

// A direction of a rank's link.
struct LinkUse {
  double mbit_per_s = 0;
  double bytes_per_step = 0;
  double utilization = 0;  // of its time
};

struct RankResult {
  int rank = 0;   // the first of the class
  int ranks = 1;  // in the class
  bool server = false;
  double compute_ns = 0;  // per step, of the busiest compute stream
  double exposed_ns = 0;  // per step: that stream stands still
  LinkUse up, down;
};

struct SimulationResult {
  int workers = 0, servers = 0;
  std::vector<RankResult> ranks;  // by class, ascending
  uint64_t steps = 0;             // that were run
  bool steady = true;             // false: the last half of the steps is averaged
  double step_ns = 0;             // in the long run; with --steps: their mean, but the first and, of three or more, the last
  double first_step_ns = 0;
  double total_ns = 0;                    // until the last step is complete everywhere
  std::vector<double> ends_ns;            // by step: when it is complete everywhere
  double compute_ns = 0, exposed_ns = 0;  // of the rank that computes longest
  uint64_t events = 0, messages = 0;      // that were simulated
  double seconds = 0;                     // that this took
  // What the plan says of itself; 0: nothing.
  uint64_t plan_period_ns = 0, plan_bound_ns = 0, plan_any_order_bound_ns = 0;
  std::string plan_bound_assumes;  // of costs, for people
  // One line each: what was taken, though it is hardly meant. Begins with "calibration ", if it is of that.
  std::vector<std::string> warnings;
};

// Errors name the option, rank or instruction: kInvalidArgument for options that
// make no sense, kUnimplemented for plans that cannot be simulated (so), and
// kFailedPrecondition if the ranks wait for each other for ever.
absl::StatusOr<SimulationResult> Simulate(const PlanImage &image,
                                          const SimulationOptions &options);

// "bandwidth=2,latency=0.5,workers=16,compute=2", also algorithm=ring. The error
// names the word.
absl::Status ParseWhatIf(absl::string_view text, SimulationOptions *options);
// "3=1.5": the compute of rank 3 takes 1.5 times as long.
absl::Status ParseStraggler(absl::string_view text, SimulationOptions *options);
// "0.1" or "0.1/7": jitter, and a seed for it.
absl::Status ParseJitter(absl::string_view text, SimulationOptions *options);
// "3=500" or "3=500/250": Mbit/s that rank 3 sends and receives at most.
absl::Status ParseLink(absl::string_view text, SimulationOptions *options);

std::string SimulationText(const SimulationResult &result);
std::string SimulationJson(const SimulationResult &result);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SIMULATOR_SIMULATOR_H
