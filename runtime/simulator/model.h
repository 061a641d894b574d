// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan as the simulator sees it: what takes how long, who sends what to whom,
// and which ranks are alike.
#ifndef COMMSCHED_RUNTIME_SIMULATOR_MODEL_H
#define COMMSCHED_RUNTIME_SIMULATOR_MODEL_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/program/program.h"
#include "runtime/simulator/costs.h"
#include "runtime/simulator/event_queue.h"
#include "runtime/simulator/exchange_shape.h"
#include "runtime/simulator/simulator.h"

namespace commsched::runtime::simulator {

struct ModelPhase {
  uint32_t shape = 0;
  int32_t priority = 0;
};

struct ModelCommunication {
  uint32_t instruction = 0;
  std::string key;
  uint32_t key_id = 0;  // both ends of a message have one
  int64_t elements = 0;
  double element_bytes = 4;
  std::vector<ModelPhase> phases;
  // As CommunicateProgram says.
  Time exclusive = 0;
  int32_t last_priority = INT32_MIN;
  // What messages are cut into (CommunicateProgram::slices), and the number of the
  // first slice among those of all communications.
  uint32_t slices = 1, first_slice = 0;
  // Elements of each part of the buffer that is there before the rest; all of it is one, if
  // all waits for all.
  std::vector<int64_t> parts;
  // Of NCCL, without phases: its place among those of a step; -1: it is none.
  int nccl = -1;
  Time nccl_ns = 0;
};

struct ModelServer {
  std::shared_ptr<const Program> program;
  std::vector<double> push_bytes, pull_bytes;         // by block
  std::vector<int32_t> push_priority, pull_priority;  // by block
  std::vector<Time> update_ns;                        // by block: of its function, if it is the first of it
  Time schedule_ns = 0;
};

// Ranks that are alike.
struct RankClass {
  int rank = 0;  // the first one, which stands for all
  int ranks = 1;
  double compute = 1;       // a fragment takes so many times as long
  double up = 0, down = 0;  // bytes in a nanosecond
};

struct Model {
  int workers = 0, servers = 0;
  std::shared_ptr<const Program> program;  // of rank 0
  const FunctionProgram *step = nullptr;
  std::vector<Time> duration;      // by instruction, of what a stream runs
  std::vector<int> communication;  // by instruction; -1: none
  std::vector<ModelCommunication> communications;
  std::vector<uint32_t> slices;  // of which communication, by number of the slice
  std::vector<ExchangeShape> shapes;
  std::vector<uint32_t> nccl;  // communications, in the order in which NCCL takes them
  LinkCosts link;
  std::vector<RankClass> classes;
  std::vector<int> class_of;  // by rank
  // Classes of several ranks: parts have their mean size, and all of a message is there
  // at once.
  bool mean_sizes = false;
  std::vector<ModelServer> server;
  std::vector<RankClass> server_links;
  uint64_t period_ns = 0, bound_ns = 0, any_order_bound_ns = 0;
  std::string bound_assumes;
  std::vector<std::string> warnings;  // as SimulationResult has them
};

absl::StatusOr<Model> MakeModel(const PlanImage &image,
                                const SimulationOptions &options);

// The coarsest partition in which ranks of one class start with the same colour
// and, in every round of every shape, send as many parts to ranks of one class and
// receive as many from ranks of one class, where peers that are one rank for one of
// them are one rank for the other: by refinement until nothing changes. Such ranks
// do everything at the same time: by induction over the events, the messages of
// class A to class B in a round are a bijection between them, and links and queues
// see the same. Classes are numbered by their first ranks.
absl::StatusOr<std::vector<int>> ClassesOfRanks(
    const std::vector<ExchangeShape> &shapes, const std::vector<int> &colours);

}  // namespace commsched::runtime::simulator

#endif  // COMMSCHED_RUNTIME_SIMULATOR_MODEL_H
