// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_TOOLS_CS_RUN_OPTIONS_H
#define COMMSCHED_TOOLS_CS_RUN_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/simulator/simulator.h"

namespace commsched::run {

constexpr int kSpawnAll = -1;

struct Options {
  std::vector<std::string> given;  // names of options
  std::string plan;
  std::string batch, init, resume;
  // Of one process of a job with parameter servers that begins again as a whole.
  std::string resume_job;
  std::string eval, eval_batch;
  uint64_t eval_every = 0;
  std::optional<uint64_t> steps, epochs;
  std::vector<std::string> calls;
  std::string checkpoint, save_params;
  uint64_t checkpoint_every = 0;
  std::string trace, metrics_json, profile, calibrate;
  std::string page;                 // --report
  std::string predicted, measured;  // traces
  uint64_t report_steps = 4;        // 0: all
  uint64_t metrics_every = 0;       // 0: about twenty lines
  std::string transport;            // "in-process", "grpc" or "mpi"
  int world = 0;                    // processes of the job, by its launcher
  int spawn = 0;                    // processes; kSpawnAll: as many as the plan has
  std::string role;                 // "", "trainer" or "server"
  int rank = -1;
  std::vector<std::string> peers;
  int index = -1;                    // of a server
  std::string listen;                // its address
  std::vector<std::string> servers;  // addresses
  std::string tls_ca, tls_cert, tls_key, tls_server_name, token_file;
  bool insecure = false;  // no token
  bool listen_any = false;
  int membership = -1;     // epoch of it; -1: 0, or what the launcher says
  std::string congestion;  // control of TCP connections; empty: the system's
  bool no_shared_memory = false;
  absl::Duration deadline = absl::Seconds(30);
  bool shuffle = false;
  uint64_t seed = 0;
  bool arena_info = false;
  bool emulate = false;
  bool stop_on_nan = false;
  std::string replan;                            // command
  uint64_t replan_every = 0, replan_window = 0;  // 0: not given
  double replan_when_off = 0;                    // percent
  absl::Duration replan_deadline;
  std::string replan_folder;
  std::vector<std::string> tune;  // plans
  uint64_t tune_steps = 0;        // 0: not given
  bool simulate = false;
  runtime::SimulationOptions simulation;
  std::string read_profile, read_calibration, read_nccl_tests;
  std::string check_against, check_json;
  bool help = false, version = false;
  int local_rank = -1;  // among those of this host, by the launcher; -1: not said
  // Of a rank that --spawn has started; not for users.
  bool spawned = false;       // the parent handles signals and prints errors
  int report = -1;            // file for the error
  std::string token;          // of the job
  int stop_file = -1;         // of runtime::SharedStop
  uint64_t trace_origin = 0;  // of the trace's times, on the steady clock; in ns

  bool is_server() const { return role == "server"; }
  // A trainer whose parameter servers are elsewhere.
  bool has_servers() const { return !servers.empty(); }
};

// Of a plan for CUDA devices: the ordinal of the device of the lowest rank here. A rank has the device of its number
// among those of its host; all that were spawned are on one.
int CudaDeviceOf(const Options &options);

absl::StatusOr<Options> ParseOptions(const std::vector<std::string> &arguments);
// `arguments` without --spawn and its value.
std::vector<std::string> WithoutSpawn(const std::vector<std::string> &arguments);
// What --help prints (help.cc).
const char *HelpText();

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_OPTIONS_H
