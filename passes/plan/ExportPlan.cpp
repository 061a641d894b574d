// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/ExportPlan.h"

#include "ir/Cs.h"
#include "ir/ReadText.h"
#include "ir/Register.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "plan/plan_file.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::planexport;

namespace {
enum class Stage {
  none,
  fuse,
  bufferize,
  nests,
  loops,
  llvm,
  llvmIr,
  llvmOpt
};

/// Of tools that write plans only: made with their translations.
struct PlanOptions {
  llvm::cl::OptionCategory category{"plans"};
  llvm::cl::opt<std::string> targetCpu{
      "target-cpu", llvm::cl::cat(category), llvm::cl::init("x86-64-v3"),
      llvm::cl::desc("processor level of the compiled fragments: "
                     "x86-64-v3 (default) or x86-64-v4")};
  llvm::cl::opt<bool> summary{
      "plan-summary", llvm::cl::cat(category),
      llvm::cl::desc("print memory, code and kernels of the plan to stderr")};
  llvm::cl::opt<std::string> linker{
      "linker", llvm::cl::cat(category),
      llvm::cl::desc("path of ld.lld (default: COMMSCHED_LLD, else beside this program, "
                     "else as found at configuration, else in the path)")};
  llvm::cl::opt<Stage> printStage{
      "print-stage", llvm::cl::cat(category), llvm::cl::Hidden, llvm::cl::init(Stage::none),
      llvm::cl::desc("print the fragments after a stage"),
      llvm::cl::values(clEnumValN(Stage::fuse, "fuse", ""), clEnumValN(Stage::bufferize, "bufferize", ""),
                       clEnumValN(Stage::nests, "nests", ""), clEnumValN(Stage::loops, "loops", ""),
                       clEnumValN(Stage::llvm, "llvm", ""), clEnumValN(Stage::llvmIr, "llvm-ir", ""),
                       clEnumValN(Stage::llvmOpt, "llvm-opt", ""))};
};
} // namespace

static PlanOptions &planOptions() {
  static PlanOptions options;
  return options;
}

namespace {
struct DeviceOptions {
  MakeDeviceCompiler make;
  std::function<std::string()> given = [] { return std::string(); };
};
} // namespace

static DeviceOptions &deviceOptions() {
  static DeviceOptions options;
  return options;
}

void planexport::setDeviceCompiler(MakeDeviceCompiler make, std::function<std::string()> given) {
  deviceOptions() = {std::move(make), std::move(given)};
}

std::string planexport::stageToPrint() {
  constexpr const char *kNames[] = {"", "fuse", "bufferize", "nests", "loops", "llvm", "llvm-ir", "llvm-opt"};
  return kNames[static_cast<size_t>(planOptions().printStage.getValue())];
}

static LogicalResult writePlan(ModuleOp module, raw_ostream &os) {
  const PlanOptions &given = planOptions();
  const std::string &targetCpu = given.targetCpu;
  CodeOptions options;
  options.targetCpu = targetCpu;
  options.linker = given.linker;
  options.printStage = stageToPrint();
  options.deviceCompiler = deviceOptions().make;
  bool isCuda = llvm::any_of(module.getOps<cs::ClusterOp>(), [](cs::ClusterOp cluster) {
    return cluster.getDevice().getKind() == cs::DeviceKind::cuda;
  });
  if (std::string option = deviceOptions().given(); !option.empty() && !isCuda)
    return emitError(UnknownLoc::get(module.getContext()))
           << option << " must go with a cluster of kind cuda, of which this is none";
  if (targetCpu != "x86-64-v3" && targetCpu != "x86-64-v4")
    return emitError(module.getLoc(), "target-cpu must be x86-64-v3 or x86-64-v4, got: ")
           << targetCpu;
  plan::Plan plan;
  PlanStatistics statistics;
  if (failed(exportPlan(module, options, plan, statistics)))
    return failure();
  os << plan::Serialize(plan);
  if (given.summary)
    llvm::errs() << "arena bytes: " << statistics.arenaBytes
                 << "\nscratch bytes: " << statistics.scratchBytes
                 << "\nfragments: " << statistics.fragments
                 << "\ncompiled fragments: " << statistics.functions
                 << "\nloop nests: " << statistics.nests
                 << "\nkernels: " << statistics.kernels
                 << "\ncode bytes: " << statistics.codeBytes
                 << "\nchecks of memory: "
                 << llvm::format("%.1f ms", statistics.checkSeconds * 1e3) << "\n"
                 << describeRoles(plan);
  return success();
}

OwningOpRef<ModuleOp> planexport::readToLower(const std::shared_ptr<llvm::SourceMgr> &sources,
                                              MLIRContext *context) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  return readModule(sources, context);
}

static LogicalResult readPlan(llvm::SourceMgr &sources, MLIRContext *context,
                              plan::Plan &plan) {
  const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(sources.getMainFileID());
  std::string error = plan::Deserialize(
      std::string_view(buffer->getBufferStart(), buffer->getBufferSize()), &plan);
  if (error.empty())
    return success();
  return emitError(FileLineColLoc::get(context, buffer->getBufferIdentifier(), 0, 0))
         << error;
}

void commsched::registerPlanTranslations() {
  (void)planOptions();
  static TranslateRegistration toPlan(
      "mlir-to-plan", "translate a level-2 module to a plan",
      [](const std::shared_ptr<llvm::SourceMgr> &sources, raw_ostream &os,
         MLIRContext *context) -> LogicalResult {
        OwningOpRef<ModuleOp> module = readToLower(sources, context);
        return module ? writePlan(*module, os) : failure();
      });
  static TranslateRegistration toText(
      "plan-to-text", "print a plan as text, without its machine code",
      [](const std::shared_ptr<llvm::SourceMgr> &sources, raw_ostream &os,
         MLIRContext *context) -> LogicalResult {
        plan::Plan plan;
        if (failed(readPlan(*sources, context, plan)))
          return failure();
        os << printPlan(std::move(plan));
        return success();
      });
  static TranslateRegistration toObject(
      "plan-to-object", "write the shared object with a plan's fragments",
      [](const std::shared_ptr<llvm::SourceMgr> &sources, raw_ostream &os,
         MLIRContext *context) -> LogicalResult {
        plan::Plan plan;
        if (failed(readPlan(*sources, context, plan)))
          return failure();
        if (plan.objects_size() != 1)
          return emitError(UnknownLoc::get(context))
                 << "plan must have one object, got: " << plan.objects_size();
        os << plan.objects(0).elf();
        return success();
      });
}
