// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/simulator/simulator.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "runtime/base/json.h"
#include "runtime/simulator/model.h"
#include "runtime/simulator/simulation.h"

namespace commsched::runtime {
namespace {

absl::StatusOr<double> Positive(absl::string_view text, absl::string_view what) {
  // What is multiplied with it stays a number of nanoseconds.
  constexpr double kMost = 1e9;
  double value;
  if (!absl::SimpleAtod(text, &value) || !(value > 0) || !(value <= kMost))
    return absl::InvalidArgumentError(absl::StrCat(
        what, " must be a number above 0 and at most ", kMost, ", got: ", text));
  return value;
}

absl::StatusOr<int> RankNumber(absl::string_view text) {
  int rank;
  if (!absl::SimpleAtoi(text, &rank) || rank < 0)
    return absl::InvalidArgumentError(
        absl::StrCat("must begin with a rank and =, got: ", text));
  return rank;
}

// In which the collectives of each step go, one at a time.
absl::StatusOr<std::vector<uint32_t>> OrderOf(const simulator::Model &model,
                                              const SimulationOptions &options) {
  if (!model.server.empty())
    return absl::UnimplementedError(
        "communication in one order is simulated for collectives only: the plan has parameter "
        "servers");
  SimulationOptions exact = options;
  exact.jitter = 0;
  exact.steps = 0;
  exact.trace = nullptr;
  simulator::Simulation overtaking(model, exact);
  absl::StatusOr<SimulationResult> result = overtaking.Run();
  if (!result.ok()) return result.status();
  std::vector<uint32_t> best;
  double best_ns = 0;
  for (const std::vector<uint32_t> *order : {&overtaking.began(), &overtaking.ended()}) {
    result = simulator::Simulation(model, exact, order).Run();
    if (!result.ok()) return result.status();
    if (!best.empty() && result->step_ns >= best_ns) continue;
    best = *order;
    best_ns = result->step_ns;
  }
  return best;
}

bool HasCollectives(const PlanImage &image) {
  for (const plan::Function &function : image.plan().functions())
    for (const plan::Instruction &instruction : function.instructions())
      if (instruction.has_communicate()) return true;
  return false;
}

}  // namespace

absl::StatusOr<SimulationResult> Simulate(const PlanImage &image,
                                          const SimulationOptions &options) {
  for (auto [name, value] : {std::pair{"bandwidth", options.bandwidth},
                             std::pair{"latency", options.latency},
                             std::pair{"compute", options.compute}})
    if (!std::isfinite(value) || value < 0 || (value == 0 && name[0] != 'l'))
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must be above 0, got: ", value));
  if (!(options.jitter >= 0 && options.jitter < 1))
    return absl::InvalidArgumentError(
        absl::StrCat("jitter must be at least 0 and below 1, got: ", options.jitter));
  if (options.engine_ns.value_or(0) != 0 && !HasCollectives(image))
    return absl::InvalidArgumentError("engine_ns is of collectives, of which the plan has none");
  SimulationOptions of = options;
  of.every_rank |= of.jitter > 0;
  absl::StatusOr<simulator::Model> model = simulator::MakeModel(image, of);
  if (!model.ok()) return model.status();
  if (!options.nccl_tests.empty() && model->nccl.empty())
    return absl::InvalidArgumentError("log of nccl-tests: is of collectives of NCCL, of which the plan has none");
  if (model->step->instructions.empty())
    return absl::InvalidArgumentError("the step of the plan has no instruction");
  if (!of.in_order) return simulator::Simulation(*model, of).Run();
  if (!model->nccl.empty())
    return absl::UnimplementedError(
        "collectives of NCCL have an order in the plan, no other one can be simulated");
  absl::StatusOr<std::vector<uint32_t>> order = OrderOf(*model, of);
  if (!order.ok()) return order.status();
  return simulator::Simulation(*model, of, &*order).Run();
}

absl::Status ParseJitter(absl::string_view text, SimulationOptions *options) {
  std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  double jitter;
  if (!absl::SimpleAtod(parts.first, &jitter) || !(jitter >= 0 && jitter < 1))
    return absl::InvalidArgumentError(
        absl::StrCat("jitter must be at least 0 and below 1, got: ", parts.first));
  if (parts.first.size() < text.size() &&
      !absl::SimpleAtoi(parts.second, &options->jitter_seed))
    return absl::InvalidArgumentError(
        absl::StrCat("the seed of jitter must be a number of at least 0, got: ", parts.second));
  options->jitter = jitter;
  return absl::OkStatus();
}

absl::Status ParseWhatIf(absl::string_view text, SimulationOptions *options) {
  for (absl::string_view word : absl::StrSplit(text, ',')) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(word, absl::MaxSplits('=', 1));
    auto [name, value] = parts;
    if (name == "workers") {
      if (!absl::SimpleAtoi(value, &options->workers) || options->workers < 1)
        return absl::InvalidArgumentError(
            absl::StrCat("workers must be a number of at least 1, got: ", value));
      continue;
    }
    if (name == "algorithm") {
      if (value != "ring" && value != "halving-doubling" &&
          value != "recursive-doubling" && value != "auto")
        return absl::InvalidArgumentError(
            absl::StrCat("algorithm must be ring, halving-doubling, "
                         "recursive-doubling or auto, got: ",
                         value));
      options->algorithm = std::string(value);
      continue;
    }
    double *target = name == "bandwidth" ? &options->bandwidth
                     : name == "latency" ? &options->latency
                     : name == "compute" ? &options->compute
                                         : nullptr;
    if (target == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(
          "must name bandwidth, latency, compute, workers or algorithm, got: ", word));
    absl::StatusOr<double> number = Positive(value, name);
    if (!number.ok()) return number.status();
    *target = *number;
  }
  return absl::OkStatus();
}

absl::Status ParseStraggler(absl::string_view text, SimulationOptions *options) {
  std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  absl::StatusOr<int> rank = RankNumber(parts.first);
  if (!rank.ok()) return rank.status();
  absl::StatusOr<double> factor = Positive(parts.second, "factor");
  if (!factor.ok()) return factor.status();
  options->stragglers[*rank] = *factor;
  return absl::OkStatus();
}

absl::Status ParseLink(absl::string_view text, SimulationOptions *options) {
  std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  absl::StatusOr<int> rank = RankNumber(parts.first);
  if (!rank.ok()) return rank.status();
  std::vector<absl::string_view> rates = absl::StrSplit(parts.second, '/');
  if (rates.size() > 2)
    return absl::InvalidArgumentError(absl::StrCat(
        "must have one rate, or two with / between, got: ", parts.second));
  absl::StatusOr<double> up = Positive(rates.front(), "Mbit/s");
  if (!up.ok()) return up.status();
  absl::StatusOr<double> down = Positive(rates.back(), "Mbit/s");
  if (!down.ok()) return down.status();
  options->links[*rank] = {*up, *down};
  return absl::OkStatus();
}

std::string SimulationText(const SimulationResult &r) {
  const auto ms = [](double ns) { return absl::StrFormat("%.3f ms", ns / 1e6); };
  std::string out = absl::StrCat(
      "simulated ", r.steps, " steps of ", r.workers, " workers",
      r.servers != 0 ? absl::StrCat(" and ", r.servers, " servers") : "", " (",
      r.ranks.size(), " kinds) in ", absl::StrFormat("%.3f s\n", r.seconds));
  absl::StrAppend(&out, "step:     ", ms(r.step_ns),
                  r.steady ? "" : " (average: it does not settle)", ", the first ",
                  ms(r.first_step_ns), "\n");
  absl::StrAppend(&out, "compute:  ", ms(r.compute_ns), "\nexposed:  ", ms(r.exposed_ns),
                  absl::StrFormat(" (%.1f %% of the step)\n",
                                  100 * r.exposed_ns / std::max(1.0, r.step_ns)));
  for (auto [name, bound] :
       {std::pair{"planned:  ", r.plan_period_ns}, std::pair{"bound:    ", r.plan_bound_ns}})
    if (bound != 0)
      absl::StrAppend(&out, name, ms(double(bound)),
                      absl::StrFormat(" for the cluster of the plan, the step takes %.3f of it\n",
                                      r.step_ns / double(bound)));
  // Such as compute that gets slower while links are busy, or other links than the plan's.
  if (r.step_ns < 0.9999 * double(r.plan_bound_ns) && !r.plan_bound_assumes.empty())
    absl::StrAppend(&out, "          it assumes ", r.plan_bound_assumes, ", of which not all is simulated here\n");
  constexpr size_t kMost = 16;
  for (size_t i = 0; i < std::min(kMost, r.ranks.size()); ++i) {
    const RankResult &rank = r.ranks[i];
    absl::StrAppend(&out, rank.server ? "server " : "rank ",
                    rank.server ? rank.rank - r.workers : rank.rank);
    if (rank.ranks > 1) absl::StrAppend(&out, " and ", rank.ranks - 1, " alike");
    const auto link = [](const LinkUse &use) {
      return absl::StrFormat("%.1f %% of %g Mbit/s, %.3f MB", 100 * use.utilization,
                             use.mbit_per_s, use.bytes_per_step / 1e6);
    };
    absl::StrAppend(&out, ": compute ", ms(rank.compute_ns), ", exposed ", ms(rank.exposed_ns),
                    ", sends ", link(rank.up), ", receives ", link(rank.down), "\n");
  }
  if (r.ranks.size() > kMost) absl::StrAppend(&out, "... ", r.ranks.size() - kMost, " more\n");
  return out;
}

std::string SimulationJson(const SimulationResult &r) {
  std::string out = absl::StrCat(
      "{\"format\":\"commsched simulation\",\"version\":1,\"workers\":", r.workers,
      ",\"servers\":", r.servers, ",\"steps\":", r.steps, ",\"steady\":",
      r.steady ? "true" : "false", ",\"step_ns\":", JsonNumber(r.step_ns),
      ",\"first_step_ns\":", JsonNumber(r.first_step_ns), ",\"total_ns\":",
      JsonNumber(r.total_ns), ",\"compute_ns\":", JsonNumber(r.compute_ns),
      ",\"exposed_ns\":", JsonNumber(r.exposed_ns));
  absl::StrAppend(&out, ",\"plan\":{\"period_ns\":", r.plan_period_ns, ",\"bound_ns\":",
                  r.plan_bound_ns, ",\"any_order_bound_ns\":", r.plan_any_order_bound_ns,
                  "},\"events\":", r.events, ",\"messages\":", r.messages, ",\"seconds\":",
                  JsonNumber(r.seconds), ",\"ends_ns\":[");
  for (size_t i = 0; i < r.ends_ns.size(); ++i)
    absl::StrAppend(&out, i == 0 ? "" : ",", JsonNumber(r.ends_ns[i]));
  out += "],\"warnings\":[";
  for (size_t i = 0; i < r.warnings.size(); ++i) absl::StrAppend(&out, i == 0 ? "" : ",", JsonQuote(r.warnings[i]));
  out += "],\n\"ranks\":[";
  const auto link = [&](const char *name, const LinkUse &use) {
    absl::StrAppend(&out, ",\"", name, "\":{\"mbit_per_s\":", JsonNumber(use.mbit_per_s),
                    ",\"bytes_per_step\":", JsonNumber(use.bytes_per_step),
                    ",\"utilization\":", JsonNumber(use.utilization), "}");
  };
  for (size_t i = 0; i < r.ranks.size(); ++i) {
    const RankResult &rank = r.ranks[i];
    absl::StrAppend(&out, i == 0 ? "\n" : ",\n", "{\"role\":\"",
                    rank.server ? "server" : r.servers != 0 ? "trainer"
                                                            : "worker",
                    "\",\"rank\":", rank.server ? rank.rank - r.workers : rank.rank,
                    ",\"ranks\":", rank.ranks, ",\"compute_ns\":", JsonNumber(rank.compute_ns),
                    ",\"exposed_ns\":", JsonNumber(rank.exposed_ns));
    link("send", rank.up);
    link("receive", rank.down);
    out += "}";
  }
  return out + "\n]}\n";
}

}  // namespace commsched::runtime
