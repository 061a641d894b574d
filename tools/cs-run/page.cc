// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/page.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "report/Document.h"
#include "runtime/base/files.h"

namespace commsched::run {
namespace {

absl::string_view FileName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

absl::Status ReadTimeline(const std::string &path, const char *name,
                          report::Document *document) {
  auto file = runtime::MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const absl::string_view bytes = (*file)->bytes();
  std::string wrong = report::readTrace({bytes.data(), bytes.size()}, *document, name);
  if (!wrong.empty())
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", wrong));
  if (document->timelines.back().steps.size() < 2)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has no step: no compute was recorded"));
  return absl::OkStatus();
}

bool Has(const report::Document &document, report::Period::Kind kind) {
  for (const report::Period &period : document.periods)
    if (period.kind == kind) return true;
  return false;
}

}  // namespace

Page::Page(const Options &options, const runtime::PlanImage &image)
    : steps_(options.report_steps), servers_(int(image.servers().servers.size())) {
  SayPlan(options.plan, image.plan());
}

std::string Page::AtEnd(const runtime::PlanImage &image) {
  plan::Plan said;
  said.set_module_name(image.plan().module_name());
  *said.mutable_cluster() = image.plan().cluster();
  for (const plan::Function &function : image.plan().functions()) {
    if (!function.is_step()) continue;
    plan::Function &step = *said.add_functions();
    step.set_is_step(true);
    *step.mutable_schedule() = function.schedule();
  }
  return absl::StrCat(image.digest(), " ", said.SerializeAsString());
}

absl::Status Page::Ended(const Options &options, const std::string &at_end) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(at_end, absl::MaxSplits(' ', 1));
  uint64_t digest = 0;
  plan::Plan said;
  if (!absl::SimpleAtoi(parts.first, &digest) || !said.ParseFromString(std::string(parts.second)))
    return absl::InternalError("it is not known with what plan the run has ended");
  std::vector<std::string> files = options.tune;
  files.insert(files.begin(), options.plan);
  const auto is_it = [&](const std::string &path) {
    auto known = runtime::PlanImage::LoadFile(path);
    return known.ok() && (*known)->digest() == digest;
  };
  const auto file = std::find_if(files.begin(), files.end(), is_it);
  document_.facts.clear();
  SayPlan(file != files.end() ? *file : absl::StrCat(options.plan, ", replaced in the run"), said);
  return absl::OkStatus();
}

void Page::SayPlan(const std::string &file, const plan::Plan &plan) {
  document_.title = std::string(FileName(file));
  auto &facts = document_.facts;
  facts.emplace_back("plan", file);
  if (!plan.module_name().empty()) facts.emplace_back("program", plan.module_name());
  facts.emplace_back("nodes", absl::StrCat(plan.cluster().nodes()));
  if (servers_ != 0) facts.emplace_back("parameter servers", absl::StrCat(servers_));
  facts.emplace_back("devices of a node", absl::StrCat(plan.cluster().devices()));
  facts.emplace_back(
      "link between nodes, in the plan",
      absl::StrFormat("%.4g Gbit/s, %.4g us", plan.cluster().inter_mbit_per_s() / 1e3,
                      plan.cluster().inter_latency_ns() / 1e3));
  for (const plan::Function &function : plan.functions()) {
    if (!function.is_step()) continue;
    policy_ = function.schedule().policy();
    period_ns_ = function.schedule().period_ns();
    bound_ns_ = function.schedule().bound_ns();
    if (const std::string &assumes = function.schedule().bound_assumes(); !assumes.empty())
      facts.emplace_back("the bound assumes", assumes);
  }
}

absl::Status Page::Simulate(const runtime::PlanImage &image,
                            runtime::SimulationOptions simulation) {
  simulation.trace = nullptr;
  auto now = runtime::Simulate(image, simulation);
  if (!now.ok()) return now.status();
  document_.periods.push_back(
      {"simulated", report::Period::ours, now->step_ns, ""});
  const int workers = simulation.workers != 0 ? simulation.workers : now->workers;
  const auto what_if = [&](const char *name, auto change) -> absl::Status {
    runtime::SimulationOptions changed = simulation;
    change(&changed);
    auto result = runtime::Simulate(image, changed);
    // Not every plan can be run by another number of workers.
    if (absl::IsUnimplemented(result.status()) ||
        absl::IsInvalidArgument(result.status()))
      return absl::OkStatus();
    if (result.ok()) document_.whatIfs.push_back({name, result->step_ns, 0, 0});
    return result.status();
  };
  absl::Status status = what_if("twice the bandwidth", [](auto *o) { o->bandwidth *= 2; });
  if (status.ok())
    status = what_if("twice the workers", [&](auto *o) { o->workers = 2 * workers; });
  if (status.ok()) status = what_if("half the latency", [](auto *o) { o->latency /= 2; });
  if (status.ok())
    status = what_if("compute twice as fast", [](auto *o) { o->compute *= 2; });
  return status;
}

absl::Status Page::ReadTraces(const std::string &predicted, const std::string &measured,
                              report::Document *document) const {
  if (!predicted.empty()) {
    if (absl::Status s = ReadTimeline(predicted, "predicted", document); !s.ok())
      return s;
    if (!Has(*document, report::Period::ours))
      document->periods.push_back({"predicted", report::Period::ours,
                                   report::medianStep(document->timelines.back()), ""});
    document->facts.emplace_back("prediction", predicted);
  }
  size_t shown = steps_;
  if (!measured.empty()) {
    if (absl::Status s = ReadTimeline(measured, "measured", document); !s.ok()) return s;
    report::Timeline &timeline = document->timelines.back();
    const size_t all = timeline.steps.size() - 1;
    document->periods.push_back({"measured", report::Period::measured,
                                 report::medianStep(timeline),
                                 absl::StrCat("median of ", all, " steps")});
    report::keepTypicalSteps(timeline, steps_);
    shown = timeline.steps.size() - 1;
    if (timeline.source.empty())
      timeline.source =
          absl::StrCat(shown, " of ", all, " steps, from ", FileName(measured));
    document->facts.emplace_back("trace, for ui.perfetto.dev", measured);
  }
  if (!predicted.empty()) {
    report::keepLastSteps(document->timelines.front(), shown);
    if (!measured.empty()) report::repeatSteps(document->timelines.front(), shown);
  }
  for (report::Timeline &timeline : document->timelines)
    report::explainWaits(timeline, document->strings);
  return absl::OkStatus();
}

absl::Status Page::Write(const std::string &predicted, const std::string &measured,
                         const std::string &path) const {
  report::Document document = document_;
  if (absl::Status s = ReadTraces(predicted, measured, &document); !s.ok()) return s;
  // What the plan says of itself, unless the prediction does.
  if (!Has(document, report::Period::ours) && period_ns_ != 0)
    document.periods.push_back({absl::StrCat("this schedule (", policy_, ")"),
                                report::Period::ours, double(period_ns_),
                                "predicted when it was made"});
  // It is of the compiler's costs, which are not the simulator's.
  if (bound_ns_ != 0 && !document_.periods.empty())
    document.facts.emplace_back("bound, by the compiler's costs",
                                absl::StrFormat("%.4g ms", double(bound_ns_) / 1e6));
  else if (!Has(document, report::Period::bound) && bound_ns_ != 0)
    document.periods.push_back(
        {"bound", report::Period::bound, double(bound_ns_), ""});
  const std::string html = report::toHtml(document);
  if (absl::Status s = runtime::WriteFileAtomically(path, {html}); !s.ok()) return s;
  std::printf("report: %s\n", path.c_str());
  return absl::OkStatus();
}

}  // namespace commsched::run
