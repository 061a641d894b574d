// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Pipelines.h"

#include <mutex>
#include <set>

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include "passes/Passes.h"
#include "passes/combine/Passes.h"
#include "passes/problem/Passes.h"
#include "passes/sparse/Passes.h"
#include "passes/spread/Passes.h"
#include "passes/support/CheckedPass.h"

namespace commsched {
#define GEN_PASS_REGISTRATION
#include "passes/insert/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/place/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/sparse/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/spread/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/combine/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/lower/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/problem/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

StringRef commsched::keepText(const std::string &text) {
  static std::mutex mutex;
  static std::set<std::string> texts;
  std::lock_guard<std::mutex> lock(mutex);
  return *texts.insert(text).first;
}

/// Behind --insert-dist-comm: devices.
template <typename Options>
static void addDevices(OpPassManager &manager, const Options &options, bool hierarchical) {
  bool byBlock = false;
  if constexpr (requires { options.byBlock; })
    byBlock = options.byBlock;
  manager.addPass(createReplicateDevices({.byBlock = byBlock, .hierarchical = hierarchical}));
  if (options.assignDevices)
    manager.addPass(createAssignDevices());
}

/// What messages cost, where that is measured.
template <typename Options>
static void addLinks(OpPassManager &manager, const Options &options) {
  if (options.calibration.empty())
    return;
  ReadCostsOptions links;
  llvm::append_range(links.calibration, options.calibration);
  manager.addPass(createReadCosts(links));
}

/// Of what comes into being before: measured costs.
template <typename Options>
static void addCosts(OpPassManager &manager, const Options &options) {
  ReadCostsOptions costs;
  llvm::append_range(costs.profile, options.profile);
  llvm::append_range(costs.calibration, options.calibration);
  if constexpr (requires { options.scheduleCalibration; })
    if (!options.scheduleCalibration.empty()) {
      addLinks(manager, options); // for what the others do not say
      costs.calibration.assign(options.scheduleCalibration.begin(), options.scheduleCalibration.end());
    }
  costs.ncclTests = options.ncclTests;
  if (!costs.profile.empty() || !costs.calibration.empty() || !costs.ncclTests.empty())
    manager.addPass(createReadCosts(costs));
}

template <typename Options>
static void addSparse(OpPassManager &manager, const Options &options) {
  // Gradients may ask for it themselves.
  LowerSparseCommOptions sparse{.density = options.density.getValue(),
                                .method = options.sparseMethod,
                                .minElements = options.minElements,
                                .rules = {},
                                .feedback = options.feedback,
                                .momentum = options.momentum.getValue(),
                                .mask = options.mask,
                                .secondMoment = options.secondMoment.getValue(),
                                .epsilon = options.epsilon.getValue(),
                                .squares = options.squares,
                                .clip = options.clip.getValue(),
                                .select = options.select,
                                .values = options.values,
                                .unsentRate = options.unsentRate.getValue(),
                                .samples = options.msTopKSamples,
                                .earlyStop = options.msTopKEarlyStop,
                                .seed = options.msTopKSeed,
                                .exactEvery = options.exactEvery,
                                .fuseBytes = options.sparseFuseBytes};
  llvm::append_range(sparse.rules, options.sparseRules);
  manager.addPass(createLowerSparseComm(sparse));
}

template <typename Options>
static void addSchedule(OpPassManager &manager, const Options &options) {
  // A message is copied through staging memory as a whole.
  int64_t messageBytes = options.messageBytes;
  bool isBounded = (options.copies == "overlap" || options.copies == "auto") && options.stagingBytes != 0;
  if (isBounded && options.schedule != "priority" &&
      (messageBytes == 0 || options.stagingBytes < messageBytes))
    messageBytes = options.stagingBytes;
  bool cutBlocks = true, fuseBlocks = true;
  std::string cutAs;
  if constexpr (requires { options.slice; }) {
    cutBlocks = options.slice;
    fuseBlocks = options.fuseBlocks;
    cutAs = options.cutAs;
  }
  bool parts = false, exclusive = true;
  bool nccl = false; // which has an order
  std::string algorithm = "auto";
  if constexpr (requires { options.algorithm; })
    algorithm = options.algorithm;
  if constexpr (requires { options.nccl; })
    nccl = options.nccl;
  if constexpr (requires { options.parts; })
    parts = options.parts;
  if constexpr (requires { options.exclusive; })
    exclusive = options.exclusive;
  manager.addPass(createScheduleComm(
      {.policy = options.schedule,
       .algorithm = nccl ? "nccl" : algorithm,
       .effort = options.effort,
       .reorder = options.reorder,
       .memoryLimit = options.memoryLimit,
       .messageBytes = messageBytes,
       .cutBlocks = cutBlocks,
       .fuseBlocks = fuseBlocks,
       .turns = (isBounded || nccl) && options.schedule != "priority",
       .cutAs = cutAs,
       .parts = parts,
       .exclusive = exclusive,
       .copies = options.schedule == "priority" ? std::string("none") : options.copies.getValue(),
       .bucketBytes = options.bucketBytes,
       .firstBucketBytes = options.firstBucketBytes}));
}

/// Behind --schedule-comm.
template <typename Options>
static void addCopies(OpPassManager &manager, const Options &options) {
  manager.addPass(createOverlapRpcMemcpy(
      {.mode = options.copies, .stagingBytes = options.stagingBytes}));
}

void commsched::buildAllReducePipeline(
    OpPassManager &manager, const AllReducePipelineOptions &options) {
  manager.addPass(createCSEPass());
  manager.addPass(createInsertDistComm({.mode = "all-reduce",
                                        .reduction = options.reduction,
                                        .cluster = options.cluster}));
  // What makes gradients sparse, or corrects them, takes them whole.
  bool dense = options.density == 1.0 && options.sparseRules.empty() &&
               options.momentum == 0.0 && options.secondMoment == 0.0 && options.clip == 0.0;
  bool hierarchical = options.hierarchical && dense;
  if (hierarchical) // what a message costs decides
    addLinks(manager, options);
  addDevices(manager, options, hierarchical);
  addSparse(manager, options);
  if (options.spreadSums)
    manager.addPass(createSpreadSums());
  if (options.combine)
    manager.addPass(createCombineCollectives());
  addCosts(manager, options);
  addSchedule(manager, options);
  if (options.nccl)
    manager.addPass(createLowerToNccl());
  manager.addPass(createExpandCollectives({.algorithm = options.algorithm}));
  addCopies(manager, options);
  manager.addPass(createMergeFragments());
  manager.addPass(createVerifyDistributed());
}

void commsched::buildParameterServerPipeline(
    OpPassManager &manager, const ParameterServerPipelineOptions &options) {
  manager.addPass(createCSEPass());
  manager.addPass(
      createInsertDistComm({.mode = "parameter-server",
                            .reduction = options.reduction,
                            .cluster = options.cluster,
                            .servers = options.servers,
                            .minBlockElements = options.minBlockElements,
                            .maxBlockElements = options.maxBlockElements,
                            .slice = options.slice,
                            .syncMode = options.syncMode,
                            .merge = options.merge,
                            .placement = options.placement}));
  addDevices(manager, options, /*hierarchical=*/false);
  addSparse(manager, options);
  addCosts(manager, options);
  addSchedule(manager, options);
  manager.addPass(createExpandCollectives());
  addCopies(manager, options);
  manager.addPass(createVerifyDistributed());
}

void commsched::registerPasses() {
  registerCommSched_insertPasses();
  registerCommSched_placePasses();
  registerCommSched_sparsePasses();
  registerCommSched_spreadPasses();
  registerCommSched_combinePasses();
  registerCommSched_schedulePasses();
  registerCommSched_lowerPasses();
  registerCommSched_problemPasses();
}

void commsched::registerPipelines() {
  registerCheckedPipeline("cs-all-reduce-pipeline", "level 0 to level 2: data-parallel training by all-reduce",
                          buildAllReducePipeline);
  registerCheckedPipeline("cs-parameter-server-pipeline",
                          "level 0 to level 2: data-parallel training with parameter servers",
                          buildParameterServerPipeline);
}
