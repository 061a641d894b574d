// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/simulator/simulation.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::simulator {
namespace {

// Beyond so many, links are shared by local shares.
constexpr size_t kMaxMinRanks = 64;

bool Same(double a, double b) { return std::abs(a - b) <= 2 + 1e-6 * std::abs(a); }

// Until times repeat: where one step in several is pushed, some of those.
uint64_t MostSteps(const Model &model) {
  constexpr uint64_t kMost = 4096;
  return std::max(SimulationOptions::kMaxSteps, std::min(kMost, 4 * uint64_t(model.program->servers.merge)));
}

}  // namespace

Simulation::Simulation(const Model &model, const SimulationOptions &options,
                       const std::vector<uint32_t> *order)
    : model_(model),
      options_(options),
      order_(order),
      network_({double(options.chunk_bytes), double(options.socket_bytes),
                double(options.queue_ns),
                model.classes.size() + model.server.size() > kMaxMinRanks},
               &events_, this),
      calls_(options.steps != 0 ? options.steps : MostSteps(model)) {
  const double burst = double(options.burst_bytes);
  // What a rank keeps for others is not counted.
  const core::MessageLimits limits{options.eager_bytes, ~size_t{0} / 2};
  ranks_.reserve(model.classes.size());
  for (uint32_t i = 0; i < model.classes.size(); ++i) {
    Rank &rank = ranks_.emplace_back(model.program->streams, limits);
    std::vector<core::Matcher<uint32_t, uint32_t, std::monostate>::Going> none;
    rank.matcher.Open(limits, &none, &controls_);
    rank.index = i;
    rank.rank = model.classes[i].rank;
    rank.waits_its_turn.resize(kInFlight * model.communications.size());
    rank.up = network_.AddResource(model.classes[i].up, burst);
    rank.down = network_.AddResource(model.classes[i].down, burst);
    for (uint32_t s = 0; s < model.program->streams.size(); ++s) {
      Stream stream;
      stream.rank = i;
      stream.index = s;
      rank.streams.push_back(uint32_t(streams_.size()));
      streams_.push_back(std::move(stream));
    }
  }
  int trainers = 0;
  for (const RankClass &ranks : model.classes) {
    first_trainer_.push_back(trainers);
    trainers += model.program->servers.mode == ServersProgram::kSync ? 1 : ranks.ranks;
  }
  for (size_t k = 0; k < model.server.size(); ++k) {
    Server server;
    server.up = network_.AddResource(model.server_links[k].up, burst);
    server.down = network_.AddResource(model.server_links[k].down, burst);
    const ServersProgram &servers = model.server[k].program->servers;
    core::Server::Options of;
    of.trainers = trainers;
    of.max_ahead = ~uint64_t{0};
    server.machine =
        std::make_unique<core::Server>(servers.mode, &servers.servers[k], of);
    if (servers.mode == ServersProgram::kHalfAsync && servers.merge > 1)
      server.merged.assign(ranks_.size() * servers.servers[k].blocks.size(),
                           {core::MergedBlock(servers.merge, 0), {}});
    servers_.push_back(std::move(server));
  }
  communications_.resize(ranks_.size() * kInFlight * model.slices.size());
  for (size_t slot = 0; slot < communications_.size(); ++slot) {
    const size_t i = slot % model.slices.size();
    Communication &c = communications_[slot];
    c.rank = uint32_t(slot / (kInFlight * model.slices.size()));
    c.index = model.slices[i];
    c.slice = uint32_t(i) - model.communications[c.index].first_slice;
  }
  for (std::vector<uint32_t> &met : nccl_met_) met.resize(model.nccl.size());
  moves_.resize(ranks_.size() * model.shapes.size());
  part_ends_.resize(ranks_.size() * model.slices.size());
}

void Simulation::Handle(const Event &event) {
  switch (event.kind) {
    case Event::kInstruction:
      return EndInstruction(&streams_[event.a]);
    case Event::kChannel:
      return network_.HandleChannel(event.a, event.b, now_);
    case Event::kDelivery:
      return Deliver(event.a);
    case Event::kProgress:
      return TakeProgress(network_.TakeProgress(event.a));
    case Event::kRound:
      return Move(event.a, event.b != 0);
    case Event::kPatience: {
      Link &link = links_[event.a];
      link.timer = false;
      if (!link.dirty && !link.queue.empty()) {
        link.dirty = true;
        dirty_links_.push_back(event.a);
      }
      return;
    }
    case Event::kHold:
      ranks_[event.a].looks_again = -1;
      return HoldBack(&ranks_[event.a]);
    case Event::kServer:
      return EndServerJob(int(event.a));
    case Event::kNccl:
      return EndNccl(event.a);
    case Event::kMerged: {
      const ServerMessage of = pending_[event.a];
      free_pending_.push_back(event.a);
      return Complete(&ranks_[of.rank], of.call, of.instruction);
    }
  }
}

// Everything that has ended at this time is counted: now what is ready begins.
void Simulation::Settle() {
  std::vector<uint32_t> &dirty = settling_;
  for (;;) {
    bool any = false;
    dirty.swap(dirty_ranks_);
    for (uint32_t r : dirty) ranks_[r].dirty = false;
    for (uint32_t r : dirty) StartStreams(&ranks_[r]);
    any |= !dirty.empty();
    dirty.clear();
    dirty.swap(dirty_links_);
    for (uint32_t l : dirty) links_[l].dirty = false;
    for (uint32_t l : dirty) Pump(l);
    any |= !dirty.empty();
    dirty.clear();
    any |= network_.Settle(now_);
    if (!any) return;
  }
}

// The times of the last steps repeat, with a period of a few steps.
bool Simulation::Steady() {
  if (options_.steps != 0) return false;
  const size_t n = in_flight_done_;
  const auto step = [&](size_t i) { return double(ends_[i] - ends_[i - 1]); };
  // What is merged is pushed once in so many steps, and the others are alike.
  const size_t merge = std::max<size_t>(1, model_.program->servers.merge), most = std::max<size_t>(4, merge);
  for (size_t p = merge; p <= most; p += merge) {
    const size_t need = std::max<size_t>(2, p) + p;
    if (n < need + 1) return false;
    bool same = true;
    for (size_t i = n - need + p; i < n && same; ++i) same = Same(step(i), step(i - p));
    if (same) {
      period_ = p;
      return true;
    }
  }
  return false;
}

absl::StatusOr<SimulationResult> Simulation::Run() {
  const auto begin = std::chrono::steady_clock::now();
  for (Rank &rank : ranks_) Admit(&rank);
  Settle();
  size_t checked = 0;
  while (status_.ok() && in_flight_done_ < calls_) {
    if (events_.empty()) return Stuck();
    now_ = events_.next_time();
    while (!events_.empty() && events_.next_time() == now_) {
      const Event event = events_.Pop();
      ++events_handled_;
      Handle(event);
    }
    Settle();
    if (in_flight_done_ > checked) {
      checked = in_flight_done_;
      if (Steady()) break;
    }
    if (now_ > Time{1} << 60)
      return absl::OutOfRangeError("the steps take more than 36 years");
  }
  if (!status_.ok()) return status_;
  SimulationResult result = Result();
  result.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

absl::Status Simulation::Stuck() {
  constexpr absl::string_view kNothing = "nothing is under way";
  std::string what(kNothing);
  for (size_t slot = 0; slot < communications_.size(); ++slot) {
    const Communication &c = communications_[slot];
    if (!c.active) continue;
    const int rank = RankOf(slot)->rank;
    const std::string &key = model_.communications[CommunicationOf(slot)].key;
    what = c.exchange.receiving()
               ? absl::StrCat("rank ", rank, " waits for rank ",
                              RoundAt(slot, c.exchange.recv()).recv_peer, " in \"", key, "\"")
               : absl::StrCat("rank ", RoundAt(slot, c.exchange.send()).send_peer,
                              " does not take \"", key, "\" of rank ", rank);
    break;
  }
  if (!model_.nccl.empty() && what == kNothing) {
    const std::string &next =
        model_.communications[model_.nccl[nccl_begun_ % model_.nccl.size()]].key;
    what = absl::StrCat("\"", next, "\", the next one of NCCL, does not begin");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the step does not end: ", what));
}

void Simulation::Trace(int rank, TraceSpan::Track track, int peer,
                       const std::string &name, const char *category, uint64_t call,
                       double bytes, Time begin, Time end) {
  TraceSpan span;
  span.rank = rank;
  span.track = track;
  span.peer = peer;
  span.name = name;
  span.category = category;
  span.step = call;
  span.bytes = uint64_t(std::llround(bytes));
  span.begin = Clock::time_point(std::chrono::nanoseconds(begin));
  span.end = Clock::time_point(std::chrono::nanoseconds(end));
  options_.trace->Add(std::move(span));
}

SimulationResult Simulation::Result() {
  SimulationResult result;
  const size_t n = in_flight_done_;
  result.workers = model_.workers;
  result.servers = model_.servers;
  result.steps = n;
  result.ends_ns.assign(ends_.begin(), ends_.begin() + long(n));
  result.first_step_ns = double(ends_[0]);
  result.total_ns = double(ends_[n - 1]);
  // Steps from + 1 .. to count: of a run none waits for what the last one leaves, so that it is shorter than any bound of the others.
  size_t from = 0;
  const size_t to = options_.steps >= 3 ? n - 2 : n - 1;
  if (options_.steps == 0) {
    const size_t half = n - 1 - (n - 1) / 2, merge = std::max<size_t>(1, model_.program->servers.merge);
    const size_t whole = half < merge ? half : half - half % merge;
    from = n - 1 - (period_ != 0 ? period_ : whole);
    result.steady = period_ != 0;
  }
  const double count = double(to - from);
  result.step_ns = n == 1 ? double(ends_[0]) : double(ends_[to] - ends_[from]) / count;
  size_t link = 0;
  const auto use = [&](uint32_t resource) {
    LinkUse of;
    of.mbit_per_s = network_.resource_rate(resource) * 8000;
    const double bytes = network_.resource_bytes(resource);
    of.bytes_per_step =
        n == 1 ? bytes : (bytes - first_bytes_[link]) / double(ranks_[0].retired - 1);
    ++link;
    of.utilization =
        of.bytes_per_step / (network_.resource_rate(resource) * result.step_ns);
    return of;
  };
  for (const Rank &rank : ranks_) {
    RankResult of;
    of.rank = rank.rank;
    of.ranks = model_.classes[rank.index].ranks;
    const auto &last = rank.sums[to], first = n == 1 ? std::pair{0.0, 0.0} : rank.sums[from];
    of.compute_ns = (last.first - first.first) / std::max(1.0, count);
    of.exposed_ns = (last.second - first.second) / std::max(1.0, count);
    of.up = use(rank.up);
    of.down = use(rank.down);
    if (result.ranks.empty() || of.compute_ns > result.compute_ns) {
      result.compute_ns = of.compute_ns;
      result.exposed_ns = of.exposed_ns;
    }
    result.ranks.push_back(of);
  }
  for (size_t k = 0; k < servers_.size(); ++k) {
    RankResult of;
    of.rank = model_.workers + int(k);
    of.server = true;
    of.compute_ns = servers_[k].busy_ns / double(n);
    of.up = use(servers_[k].up);
    of.down = use(servers_[k].down);
    result.ranks.push_back(of);
  }
  result.events = events_handled_;
  result.messages = messages_;
  result.plan_period_ns = model_.period_ns;
  result.plan_bound_ns = model_.bound_ns;
  result.plan_any_order_bound_ns = model_.any_order_bound_ns;
  result.plan_bound_assumes = model_.bound_assumes;
  result.warnings = model_.warnings;
  return result;
}

}  // namespace commsched::runtime::simulator
