// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/trial.h"

#include "ir/Cs.h"
#include "ir/Register.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/plan/ExportPlan.h"
#include "plan/plan_file.h"
#include "runtime/c_api/c_api.h"
#include "tests/differential/by_hand.h"
#include "tests/differential/meaning.h"
#include "tests/differential/values.h"

#include <chrono>
#include <cmath>

using namespace mlir;

namespace commsched::differential {

const char *nameOf(Outcome outcome) {
  constexpr const char *kNames[kOutcomes] = {"equal", "wrong", "refused", "failed", "invalid"};
  return kNames[int(outcome)];
}

/// Whether a step ends with such an error, by definition: there is nothing to select
/// from numbers that are not finite.
static bool endsSteps(StringRef error) {
  return error.contains("not finite") || error.contains("NaN or infinite");
}

struct Trial::Impl {
  DialectRegistry registry;
  std::unique_ptr<MLIRContext> context;
  std::string error;     // the first since it was cleared
  unsigned errors = 0;   // since then
  bool internal = false; // a fault of the compiler is among them

  Impl();
  OwningOpRef<ModuleOp> parse(const std::string &text) {
    ParserConfig config(context.get());
    return parseSourceString<ModuleOp>(text, config);
  }
  std::string takeError(const char *otherwise) {
    std::string taken = error.empty() ? otherwise : error;
    error.clear();
    errors = 0;
    return taken;
  }
  Report refuse(const char *otherwise, Report report);
  Report run(const std::string &text, const Mode &mode, uint64_t seed);
};

Trial::Impl::Impl() {
  static bool registered = [] {
    registerTransformsPasses();
    registerPasses();
    registerPipelines();
    registerRoundTrip();
    return true;
  }();
  (void)registered;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerDialects(registry);
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    ++errors;
    std::string text = diagnostic.str();
    bool says = StringRef(text).contains("internal error");
    if (error.empty() || (says && !internal))
      error = text;
    internal |= says;
    return success();
  });
}

Trial::Trial() : impl(std::make_unique<Impl>()) {}
Trial::~Trial() = default;

namespace {

// A run of a plan: slots and metrics after each step.
class Session {
public:
  explicit Session(const std::string &plan) : session(cs_session_create(plan.data(), plan.size())) {}
  ~Session() { cs_session_destroy(session); }

  bool begin(const Inputs &inputs) {
    if (!session)
      return false;
    for (const auto &[name, array] : inputs.slots) {
      std::vector<char> bytes = reference::toBytes(*array);
      if (cs_session_set_slot(session, name.c_str(), bytes.data(), bytes.size()))
        return false;
    }
    return true;
  }
  bool step(const reference::NamedArrays &batch) {
    for (const auto &[name, array] : batch) {
      std::vector<char> bytes = reference::toBytes(*array);
      if (cs_session_set_batch(session, name.c_str(), bytes.data(), bytes.size()))
        return false;
    }
    return !cs_session_call(session, nullptr, nullptr) && !cs_session_wait(session);
  }
  // Of the type of `like`; null if there is none.
  reference::ArrayPtr slot(const std::string &name, const reference::Array &like) {
    std::vector<char> data(
        static_cast<size_t>(like.size() * reference::elementBytes(like.elementType)));
    if (cs_session_get_slot(session, name.c_str(), data.data(), data.size()))
      return nullptr;
    return reference::fromBytes(like.type(), data);
  }
  bool metrics(uint64_t call, std::map<std::string, double> &result) {
    int count = cs_session_metric_count(session);
    std::vector<double> values(static_cast<size_t>(count));
    if (cs_session_metrics(session, call, values.data()))
      return false;
    for (int i = 0; i < count; ++i)
      result[cs_session_metric_name(session, i)] = values[size_t(i)];
    return true;
  }

private:
  cs_session *session;
};

// Into `report`: what of a tensor is outside.
void add(const reference::Difference &difference, const std::string &what, int step,
         Report &report) {
  report.elements += uint64_t(difference.total);
  report.undetermined += uint64_t(difference.undetermined);
  if (!difference.outside || report.outcome == Outcome::wrong)
    return;
  char text[300];
  std::snprintf(
      text, sizeof(text),
      "%s after step %d: %lld of %lld elements, element %lld is %.9g and must match %.9g within %.3g",
      what.c_str(), step + 1, (long long)difference.outside, (long long)difference.total,
      (long long)difference.element, difference.found, difference.wanted, difference.bound);
  report.outcome = Outcome::wrong;
  report.message = text;
}

// Compares what a step has made; false on an error of the session.
bool compare(Session &session, const reference::StepResult &wanted, int step, Report &report) {
  for (const auto &[name, array] : wanted.slots) {
    reference::ArrayPtr found = session.slot(name, *array);
    if (!found)
      return false;
    add(reference::compare(*found, *array), name, step, report);
  }
  std::map<std::string, double> metrics;
  if (!session.metrics(uint64_t(step), metrics))
    return false;
  for (const auto &[name, array] : wanted.metrics) {
    if (array->size() != 1 || !metrics.count(name))
      continue;
    reference::ArrayPtr found = reference::makeFloat(array->elementType, metrics[name]);
    add(reference::compare(*found, *array), "metric " + name, step, report);
  }
  return true;
}

// What --verify-distributed rejects at the end of a pipeline, the passes have made: a
// fault of theirs, however the step was written.
class Verdict : public PassInstrumentation {
public:
  Verdict(bool &rejected, bool isPipeline) : rejected(rejected), isPipeline(isPipeline) {}
  void runAfterPassFailed(Pass *failed, Operation *) override {
    rejected |= isPipeline && failed->getArgument() == "verify-distributed";
  }

private:
  bool &rejected;
  bool isPipeline; // of ours: by hand, passes may be in a wrong order
};

// Keeps what a pass has made.
class Keep : public PassInstrumentation {
public:
  Keep(StringRef pass, OwningOpRef<ModuleOp> &module) : pass(pass), module(module) {}
  void runAfterPass(Pass *ended, Operation *op) override {
    if (ended->getArgument() == pass)
      module = cast<ModuleOp>(op).clone();
  }

private:
  StringRef pass;
  OwningOpRef<ModuleOp> &module;
};

// Whether the step is one of placed values: of another nothing has been selected.
bool isOfLevel1(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function->hasAttr(cs::CsDialect::kStepAttr) && llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<cs::PlacedType>);
  });
}

Report fail(Outcome outcome, const std::string &message, Report report) {
  report.outcome = outcome;
  report.message = message.substr(0, message.find('\n'));
  return report;
}

} // namespace

// With one diagnostic it is a refusal; without one, with several, or if it says so, a fault
// of the compiler.
Report Trial::Impl::refuse(const char *otherwise, Report report) {
  Outcome outcome = errors != 1 || internal ? Outcome::failed : Outcome::refused;
  if (errors > 1)
    error = "refused with " + std::to_string(errors) + " errors: " + error;
  return fail(outcome, takeError(otherwise), report);
}

Report Trial::Impl::run(const std::string &text, const Mode &mode, uint64_t seed) {
  Report report;
  error.clear();
  errors = 0;
  internal = false;
  OwningOpRef<ModuleOp> module = parse(mode.cluster() + text);
  if (!module)
    return fail(Outcome::invalid, takeError("does not parse"), report);
  OwningOpRef<ModuleOp> meant = module->clone();
  FailureOr<func::FuncOp> step = reference::findStep(*meant);
  if (failed(step))
    return fail(Outcome::invalid, takeError("has no step"), report);
  Inputs inputs = inputsOf(*step, mode.workers(), kSteps, seed);
  Meaning meaning(std::move(meant), *step, mode);

  double begin = now();
  OwningOpRef<ModuleOp> lowered = module->clone(), selected;
  PassManager pipeline(context.get(), "builtin.module");
  pipeline.addInstrumentation(std::make_unique<Verdict>(internal, StringRef(mode.pipeline).starts_with("cs-")));
  if (mode.sparse())
    pipeline.addInstrumentation(std::make_unique<Keep>("lower-sparse-comm", selected));
  if (failed(parsePassPipeline(mode.pipeline, pipeline)))
    return fail(Outcome::invalid, "no such pipeline: " + mode.pipeline, report);
  pipeline.enableVerifier(true);
  if (failed(pipeline.run(*lowered)))
    return refuse("the pipeline fails without an error", report);
  report.lowering = now() - begin;

  if (selected && isOfLevel1(*selected))
    meaning.setSelected(std::move(selected));
  const int64_t devices = batchParts(*lowered);
  auto partsOf = [&](const reference::NamedArrays &batch) {
    reference::NamedArrays parts;
    for (const auto &[name, array] : batch)
      parts[name] = firstPart(*array, devices, mode.devices);
    return parts;
  };

  begin = now();
  auto wanted = meaning.step(0, inputs.slots, inputs.batches);
  report.reference = now() - begin;
  std::string ended = failed(wanted) ? takeError("fails without an error") : "";
  if (failed(wanted) && !endsSteps(ended))
    return fail(Outcome::invalid, "reference: " + ended, report);

  begin = now();
  plan::Plan plan;
  planexport::PlanStatistics statistics;
  if (failed(planexport::exportPlan(*lowered, {}, plan, statistics)))
    return refuse("the plan fails without an error", report);
  std::string bytes = plan::Serialize(plan);
  report.code = now() - begin;

  Session session(bytes);
  if (!session.begin(inputs))
    return fail(Outcome::failed, std::string("run: ") + cs_last_error(), report);
  for (int s = 0; s < kSteps; ++s) {
    // Later steps begin with what the plan has made, so that bounds do not add up.
    reference::NamedArrays slots;
    if (s > 0) {
      begin = now();
      for (const auto &[name, array] : wanted->slots)
        if (!(slots[name] = session.slot(name, *array)))
          return fail(Outcome::failed, std::string("run: ") + cs_last_error(), report);
      wanted = meaning.step(size_t(s), slots, inputs.batches);
      report.reference += now() - begin;
      if (failed(wanted) && !endsSteps(ended = takeError("fails without an error")))
        return fail(Outcome::invalid, "reference: " + ended, report);
    }
    begin = now();
    if (failed(wanted)) {
      if (session.step(partsOf(inputs.batches[size_t(s)])))
        return fail(Outcome::wrong, "step " + std::to_string(s) + " ends with: " + ended, report);
      if (!endsSteps(cs_last_error()))
        return fail(Outcome::failed, std::string("run: ") + cs_last_error(), report);
      return report;
    }
    if (!session.step(partsOf(inputs.batches[size_t(s)])) || !compare(session, *wanted, s, report))
      return fail(Outcome::failed, std::string("run: ") + cs_last_error(), report);
    report.run += now() - begin;
  }
  return report;
}

Report Trial::run(const std::string &text, const Mode &mode, uint64_t seed) {
  return impl->run(text, mode, seed);
}

} // namespace commsched::differential
