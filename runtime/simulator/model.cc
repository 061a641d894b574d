// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/simulator/model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "plan/cluster_nccl.h"
#include "runtime/loading/exchange.h"

namespace commsched::runtime::simulator {
namespace {

constexpr int kMaxWorkers = 1 << 16;
// Of what finding the classes looks at.
constexpr int64_t kMaxSteps = int64_t{1} << 26;
// Above, all of a message is there at once.
constexpr int kMaxRanksWithParts = 64;
// As in a run; sums of times stay what a Time holds.
constexpr Time kLongest = Time{3600} * 1'000'000'000;

const plan::Function *StepOf(const plan::Plan &plan) {
  for (const plan::Function &f : plan.functions())
    if (f.is_step()) return &f;
  return nullptr;
}

// Whether --expand-collectives has a choice of algorithms for it.
bool HasAlgorithms(const plan::Communicate &communicate) {
  const std::string &kind = communicate.source_op();
  return kind == "all_reduce" || kind == "reduce_scatter" || kind == "all_gather";
}

// The communication of the step, for so many workers as the model has.
absl::Status AddCommunications(const PlanImage &image, const plan::Cluster &cluster,
                               const SimulationOptions &options, Model *model) {
  const plan::Function &f = *StepOf(image.plan());
  std::map<std::pair<int64_t, std::string>, uint32_t> shapes;  // by group and phase
  model->communication.assign(size_t(f.instructions_size()), -1);
  std::optional<plan::NcclCosts> nccl;
  bool chosen = false;  // options.algorithm, for something
  for (int i = 0; i < f.instructions_size(); ++i) {
    const plan::Instruction &in = f.instructions(i);
    if (in.kind_case() != plan::Instruction::kCommunicate) continue;
    const plan::Communicate &c = in.communicate();
    const TensorInfo &type = model->step->buffers[c.buffer()].type;
    ModelCommunication out;
    out.instruction = uint32_t(i);
    out.key = c.key();
    out.key_id = c.has_other_end() ? std::min(uint32_t(i), c.other_end()) : uint32_t(i);
    out.elements = type.elements;
    out.element_bytes = double(ops::ElementBytes(type.element));
    if (c.has_nccl()) {
      if (!nccl) {
        auto costs = ReadNcclCosts(cluster, model->workers, options);
        if (!costs.ok()) return costs.status();
        nccl = *std::move(costs);
      }
      out.nccl = int(c.nccl().number());
      out.nccl_ns = Time(std::llround(nccl->Ns(plan::CallOf(c.nccl().kind()), type.bytes)));
      // Numbers are 0, 1, 2, ...: the loader has seen to that.
      model->nccl.resize(std::max(model->nccl.size(), size_t(out.nccl) + 1));
      model->nccl[size_t(out.nccl)] = uint32_t(model->communications.size());
    }
    std::vector<plan::Phase> phases(c.phases().begin(), c.phases().end());
    absl::StatusOr<RankGroup> group = RankGroup::Of(c, image.plan());
    if (!group.ok()) return group.status();
    const bool others = model->workers != image.nodes();
    if ((others || !options.algorithm.empty()) && out.nccl < 0) {
      if (others && !group->all())
        return absl::UnimplementedError(
            absl::StrCat("\"", c.key(),
                         "\" is of a group of ranks: such a plan cannot be "
                         "simulated on another number of workers"));
      const int planned = group->size();
      if (others) group = RankGroup(model->workers);
      auto made = Regenerate(c, planned, group->size(), options.algorithm,
                             double(type.bytes),
                             double(model->link.latency), double(model->link.overhead),
                             8000 / model->link.mbit_per_s);
      if (made.ok()) {
        phases = *std::move(made);
        chosen |= HasAlgorithms(c);
      } else if (others) {
        return made.status();
      }
    }
    plan::Communicate exchange;
    for (const plan::Phase &phase : phases) *exchange.add_phases() = phase;
    out.exclusive = Time(c.exclusive_ns());
    for (const plan::Phase &phase : phases)
      out.last_priority = std::max(out.last_priority, phase.has_priority() ? phase.priority() : in.priority());
    out.slices = out.nccl < 0 ? SlicesOf(exchange, type) : 1;
    out.first_slice = uint32_t(model->slices.size());
    for (uint64_t bytes : c.part_bytes())
      out.parts.push_back(int64_t(bytes / ops::ElementBytes(type.element)));
    if (out.parts.empty()) out.parts = {out.elements};
    model->slices.insert(model->slices.end(), out.slices,
                         uint32_t(model->communications.size()));
    for (plan::Phase &phase : phases) {
      ModelPhase part;
      part.priority = phase.has_priority() ? phase.priority() : in.priority();
      phase.clear_priority();
      phase.clear_scale();
      phase.clear_combine();
      auto [it, is_new] =
          shapes.try_emplace({c.has_group() ? int64_t(c.group()) : -1,
                              phase.SerializeAsString()},
                             uint32_t(model->shapes.size()));
      part.shape = it->second;
      if (is_new) {
        auto shape = ExchangeShape::Parse(phase, *group);
        if (!shape.ok())
          return absl::InvalidArgumentError(
              absl::StrCat("\"", c.key(), "\": ", shape.status().message()));
        model->shapes.push_back(*std::move(shape));
      }
      out.phases.push_back(part);
    }
    model->communication[size_t(i)] = int(model->communications.size());
    model->communications.push_back(std::move(out));
  }
  if (!options.algorithm.empty() && !chosen)
    return absl::InvalidArgumentError(absl::StrCat(
        "algorithm must go with a plan that has all-reduces between ranks, got: ",
        options.algorithm));
  return absl::OkStatus();
}

RankClass Links(const SimulationOptions &options, const LinkCosts &link, int rank) {
  RankClass of;
  of.rank = rank;
  double up = link.mbit_per_s, down = link.mbit_per_s;
  if (auto it = options.links.find(rank); it != options.links.end()) {
    up = it->second.up_mbit_per_s * options.bandwidth;
    down = it->second.down_mbit_per_s * options.bandwidth;
  }
  of.up = up / 8000;
  of.down = down / 8000;
  return of;
}

absl::Status CheckTimes(const LinkCosts &link) {
  for (auto [name, ns] : {std::pair("latency of a link", link.latency), std::pair("overhead of a link", link.overhead),
                          std::pair("time of a rank for a round", link.engine)})
    if (ns > kLongest)
      return absl::InvalidArgumentError(absl::StrCat(name, " must be at most an hour, got: ", ns, " ns"));
  return absl::OkStatus();
}

absl::Status AddClasses(const SimulationOptions &options, Model *model) {
  const int n = model->workers;
  std::vector<RankClass> ranks;
  std::map<std::tuple<double, double, double>, int> numbers;
  std::vector<int> colours;
  for (int r = 0; r < n; ++r) {
    RankClass of = Links(options, model->link, r);
    if (auto it = options.stragglers.find(r); it != options.stragglers.end())
      of.compute = it->second;
    of.compute /= options.compute;
    colours.push_back(
        numbers.try_emplace({of.compute, of.up, of.down}, int(numbers.size()))
            .first->second);
    ranks.push_back(of);
  }
  // Where a part lies in what comes last, and so when it is there, differs from rank to rank.
  const bool parts = n <= kMaxRanksWithParts &&
                     std::any_of(model->communications.begin(), model->communications.end(),
                                 [](const auto &c) { return c.parts.size() > 1; });
  int64_t steps = 0;
  for (const ExchangeShape &shape : model->shapes)
    steps += shape.fixed() ? 1 : shape.rounds();
  if (options.every_rank || parts || steps * n > kMaxSteps) {
    model->class_of.resize(size_t(n));
    for (int r = 0; r < n; ++r) model->class_of[size_t(r)] = r;
  } else {
    auto classes = ClassesOfRanks(model->shapes, colours);
    if (!classes.ok()) return classes.status();
    model->class_of = *std::move(classes);
  }
  for (int r = 0; r < n; ++r) {
    const size_t c = size_t(model->class_of[size_t(r)]);
    if (c == model->classes.size())
      model->classes.push_back(ranks[size_t(r)]);
    else
      ++model->classes[c].ranks;
  }
  model->mean_sizes = int(model->classes.size()) < n;
  return absl::OkStatus();
}

absl::Status AddServers(const PlanImage &image, const SimulationOptions &options,
                        const MeasuredCosts &measured, Model *model) {
  const ServersProgram &servers = image.servers();
  model->servers = int(servers.servers.size());
  if (model->servers == 0) return absl::OkStatus();
  for (int k = 0; k < model->servers; ++k) {
    ModelServer server;
    auto program = image.ForServer(k);
    if (!program.ok()) return program.status();
    server.program = *std::move(program);
    const ServerProgram &own = server.program->servers.servers[size_t(k)];
    const auto cost = [&](int function) -> absl::StatusOr<Time> {
      auto costs = InstructionCosts(server.program->functions[size_t(function)],
                                    image.plan().cluster(), measured, k);
      if (!costs.ok()) return costs.status();
      Time sum = 0;
      for (Time t : *costs) sum += t;
      return sum;
    };
    if (own.has_schedule) {
      auto t = cost(own.schedule);
      if (!t.ok()) return t.status();
      server.schedule_ns = *t;
    }
    for (const BlockProgram &block : own.blocks) {
      if (block.of_rows())
        return absl::UnimplementedError(absl::StrCat(
            "block \"", block.key, "\" of server ", k,
            " takes single rows: plans with them cannot be simulated"));
      server.push_bytes.push_back(double(block.pushed().bytes));
      server.pull_bytes.push_back(double(block.value.bytes));
      auto t = cost(block.function);
      if (!t.ok()) return t.status();
      server.update_ns.push_back(*t);
    }
    server.push_priority = servers.order.pushes[size_t(k)];
    server.pull_priority = servers.order.pulls[size_t(k)];
    model->server.push_back(std::move(server));
    RankClass links = Links(options, model->link, model->workers + k);
    model->server_links.push_back(links);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Model> MakeModel(const PlanImage &image,
                                const SimulationOptions &options) {
  Model model;
  const plan::Function *step = StepOf(image.plan());
  if (step == nullptr)
    return absl::InvalidArgumentError("plan has no training step to simulate");
  if (!image.workers().empty())
    return absl::UnimplementedError(
        "ranks of the plan run different steps: it cannot be simulated");
  model.workers = options.workers == 0 ? image.nodes() : options.workers;
  if (model.workers < 1 || model.workers > kMaxWorkers)
    return absl::InvalidArgumentError(absl::StrCat(
        "number of workers must be 1 to ", kMaxWorkers, ", got: ", model.workers));
  const int ends = model.workers + int(image.servers().servers.size());
  for (const auto &[rank, factor] : options.stragglers)
    if (rank < 0 || rank >= model.workers)
      return absl::InvalidArgumentError(absl::StrCat(
          "straggler must be a rank below ", model.workers, ", got: ", rank));
  for (const auto &[rank, rate] : options.links)
    if (rank < 0 || rank >= ends)
      return absl::InvalidArgumentError(absl::StrCat(
          "link must be of a rank below ", ends, ", got: ", rank));
  absl::StatusOr<plan::Calibration> calibration = CalibrationOf(image.plan(), model.workers, options);
  if (!calibration.ok()) return calibration.status();
  model.warnings = DoubtsOf(*calibration, options);
  model.link = LinkCostsOf(image.plan().cluster(), *calibration, options);
  if (absl::Status s = CheckTimes(model.link); !s.ok()) return s;
  absl::StatusOr<MeasuredCosts> measured = ReadProfile(image.plan(), options);
  if (!measured.ok()) return measured.status();
  auto program = image.ForRank(0);
  if (!program.ok()) return program.status();
  model.program = *std::move(program);
  for (const FunctionProgram &f : model.program->functions)
    if (f.is_step) model.step = &f;
  if (model.step == nullptr)
    return absl::InvalidArgumentError("plan has no training step to simulate");
  for (const InstructionProgram &i : model.step->instructions)
    if (i.of_rows())
      return absl::UnimplementedError(absl::StrCat(
          "instruction \"", i.name,
          "\" moves single rows of a table: plans with "
          "them cannot be simulated"));
  const plan::Cluster cluster = ClusterOf(image.plan().cluster(), *calibration);
  auto costs = InstructionCosts(*model.step, cluster, *measured, -1);
  if (!costs.ok()) return costs.status();
  model.duration = *std::move(costs);
  if (absl::Status s = AddCommunications(image, cluster, options, &model); !s.ok()) return s;
  const bool sends = !image.servers().servers.empty() ||
                     std::any_of(model.communications.begin(), model.communications.end(),
                                 [](const ModelCommunication &c) { return c.nccl < 0; });
  if (sends && !(model.link.mbit_per_s > 0))
    return absl::InvalidArgumentError(
        "the plan's cluster says no rate of its links: give a calibration");
  if (absl::Status s = AddClasses(options, &model); !s.ok()) return s;
  if (absl::Status s = AddServers(image, options, *measured, &model); !s.ok()) return s;
  model.period_ns = step->schedule().period_ns();
  model.bound_ns = step->schedule().bound_ns();
  model.any_order_bound_ns = step->schedule().any_order_bound_ns();
  model.bound_assumes = step->schedule().bound_assumes();
  return model;
}

}  // namespace commsched::runtime::simulator
