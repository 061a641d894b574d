// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --report: the page of a run, from its trace and, if given, a predicted one; or of
// a simulation.
#ifndef COMMSCHED_TOOLS_CS_RUN_PAGE_H
#define COMMSCHED_TOOLS_CS_RUN_PAGE_H

#include <string>

#include "absl/status/status.h"
#include "report/Document.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/simulator/simulator.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

class Page {
 public:
  // Takes what it says of the plan, which need not stay.
  Page(const Options &options, const runtime::PlanImage &image);

  // Of a run whose plan may change: what the page says of `image`, the plan that it has at its end. As text that Ended()
  // takes, in another process too.
  static std::string AtEnd(const runtime::PlanImage &image);
  absl::Status Ended(const Options &options, const std::string &at_end);

  // Adds what the simulator predicts for a step, as it is and if things were
  // different. `simulation`: as --simulate ran it.
  absl::Status Simulate(const runtime::PlanImage &image,
                        runtime::SimulationOptions simulation);

  // Of the traces in these files, one of which may be "", as page `path`.
  absl::Status Write(const std::string &predicted, const std::string &measured,
                     const std::string &path) const;

 private:
  void SayPlan(const std::string &file, const plan::Plan &plan);
  // The timelines of the document.
  absl::Status ReadTraces(const std::string &predicted, const std::string &measured,
                          report::Document *document) const;

  const uint64_t steps_;  // that are shown; 0: all
  const int servers_;
  report::Document document_;
  std::string policy_;
  uint64_t period_ns_ = 0, bound_ns_ = 0;  // that the plan knows; 0: not
};

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_PAGE_H
