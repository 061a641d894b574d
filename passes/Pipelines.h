// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines put the passes in order, under short names.

#ifndef COMMSCHED_PASSES_PIPELINES_H
#define COMMSCHED_PASSES_PIPELINES_H

#include <string>

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace commsched {

/// How communication is scheduled (docs/schedule-comm.md); and for nodes of several
/// devices, and devices with memory of their own (docs/devices.md).
template <typename Derived>
struct DevicePipelineOptions : mlir::PassPipelineOptions<Derived> {
  typename mlir::PassPipelineOptions<Derived>::template Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("policy of --schedule-comm: solver, priority, fifo, ..."),
      llvm::cl::init("solver")};
  typename mlir::PassPipelineOptions<Derived>::template ListOption<std::string> profile{
      *this, "profile",
      llvm::cl::desc("files of cs-run --profile: see --read-costs")};
  typename mlir::PassPipelineOptions<Derived>::template ListOption<std::string>
      calibration{*this, "calibration",
                  llvm::cl::desc("files of cs-run --calibrate: see --read-costs")};
  typename mlir::PassPipelineOptions<Derived>::template Option<bool> assignDevices{
      *this, "assign-devices",
      llvm::cl::desc("give every gradient an owner of its own among the "
                     "devices of a node, instead of device 0"),
      llvm::cl::init(true)};
  typename mlir::PassPipelineOptions<Derived>::template Option<bool> byBlock{
      *this, "by-block",
      llvm::cl::desc("combine, own and copy the blocks of a gradient one by one "
                     "on a node of several devices"),
      llvm::cl::init(false)};
  typename mlir::PassPipelineOptions<Derived>::template Option<std::string> copies{
      *this, "copies",
      llvm::cl::desc("copies between devices and host: none (one memory), "
                     "overlap or in-line"),
      llvm::cl::init("none")};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t>
      stagingBytes{*this, "staging-bytes",
                   llvm::cl::desc("most bytes of staging memory in use at once "
                                  "on a node; 0: no bound"),
                   llvm::cl::init(0)};
};

struct AllReducePipelineOptions
    : DevicePipelineOptions<AllReducePipelineOptions> {
  Option<std::string> reduction{
      *this, "reduction",
      llvm::cl::desc("how gradients of workers combine: mean or sum"),
      llvm::cl::init("mean")};
  Option<std::string> cluster{
      *this, "cluster",
      llvm::cl::desc(
          "file with one cs.cluster op to use instead of the module's"),
      llvm::cl::init("")};
  Option<std::string> algorithm{
      *this, "algorithm",
      llvm::cl::desc("collective algorithm: auto, ring or halving-doubling"),
      llvm::cl::init("auto")};
  Option<bool> spreadSums{
      *this, "spread-sums",
      llvm::cl::desc("share norms that every node would compute among the nodes, "
                     "where it pays: see --spread-sums"),
      llvm::cl::init(false)};
  Option<double> density{
      *this, "density",
      llvm::cl::desc("part of the elements of a gradient that travel: see "
                     "--lower-sparse-comm; 1: all of them"),
      llvm::cl::init(1.0)};
  Option<std::string> sparseMethod{
      *this, "sparse-method",
      llvm::cl::desc("how: auto, dense, allgather, hitopk, gtopk or oktopk"),
      llvm::cl::init("auto")};
  Option<int64_t> minElements{
      *this, "min-elements",
      llvm::cl::desc("gradients of fewer elements stay dense"),
      llvm::cl::init(16384)};
  ListOption<std::string> sparseRules{
      *this, "sparse-rules",
      llvm::cl::desc("PATTERN=DENSITY[:METHOD], for parameters by name")};
  Option<bool> feedback{
      *this, "feedback",
      llvm::cl::desc("keep what is not sent for the next step"),
      llvm::cl::init(true)};
  Option<double> momentum{
      *this, "momentum-correction",
      llvm::cl::desc("select from sums of velocities of this momentum"),
      llvm::cl::init(0.0)};
  Option<bool> mask{
      *this, "mask",
      llvm::cl::desc("with it, clear the velocity of elements that are sent"),
      llvm::cl::init(true)};
  Option<double> secondMoment{
      *this, "second-moment",
      llvm::cl::desc("select from what Adam with this decay of squares would add"),
      llvm::cl::init(0.0)};
  Option<double> epsilon{
      *this, "epsilon",
      llvm::cl::desc("with it, what is added to the root of the mean of squares"),
      llvm::cl::init(1e-8)};
  Option<double> clip{
      *this, "clip",
      llvm::cl::desc("bound of the norm of each gradient, times the root of the "
                     "ranks; 0: none"),
      llvm::cl::init(0.0)};
  Option<std::string> select{
      *this, "select",
      llvm::cl::desc("how elements are selected: exact, histogram, sampled or "
                     "mstopk"),
      llvm::cl::init("exact")};
  Option<int64_t> sparseFuseBytes{
      *this, "sparse-fuse-bytes",
      llvm::cl::desc("most bytes of a message of several selections; 0: none; -1: by "
                     "the link"),
      llvm::cl::init(-1)};
  Option<int64_t> exactEvery{
      *this, "exact-every",
      llvm::cl::desc("select so in one of so many steps, and by its threshold in "
                     "the others"),
      llvm::cl::init(1)};
};

struct ParameterServerPipelineOptions
    : DevicePipelineOptions<ParameterServerPipelineOptions> {
  Option<int64_t> servers{*this, "servers",
                          llvm::cl::desc("number of parameter servers"),
                          llvm::cl::init(1)};
  Option<int64_t> minBlockElements{
      *this, "min-block-elements",
      llvm::cl::desc("least elements of a parameter for each block that it is "
                     "cut into"),
      llvm::cl::init(8192)};
  Option<int64_t> maxBlockElements{
      *this, "max-block-elements",
      llvm::cl::desc("most elements of a block of several rows; 0: no bound"),
      llvm::cl::init(0)};
  Option<bool> slice{
      *this, "slice",
      llvm::cl::desc("cut parameters into blocks, for several servers"),
      llvm::cl::init(true)};
  Option<std::string> syncMode{
      *this, "sync-mode",
      llvm::cl::desc(
          "when servers apply gradients: sync, async or half-async"),
      llvm::cl::init("sync")};
  Option<int64_t> merge{
      *this, "merge",
      llvm::cl::desc("half-async: steps whose gradients a trainer merges "
                     "before it sends"),
      llvm::cl::init(1)};
  Option<std::string> placement{
      *this, "placement",
      llvm::cl::desc(
          "how blocks get to servers: balanced, round-robin or hash"),
      llvm::cl::init("balanced")};
  Option<std::string> reduction{
      *this, "reduction",
      llvm::cl::desc("how gradients of trainers combine: mean or sum"),
      llvm::cl::init("mean")};
  Option<std::string> cluster{
      *this, "cluster",
      llvm::cl::desc(
          "file with one cs.cluster op to use instead of the module's"),
      llvm::cl::init("")};
  Option<std::string> algorithm{
      *this, "algorithm",
      llvm::cl::desc("algorithm of the collectives between trainers: auto, "
                     "ring or halving-doubling"),
      llvm::cl::init("auto")};
};

/// From level 0 to a verified level 2: --cse, --insert-dist-comm,
/// --replicate-devices, --assign-devices, --lower-sparse-comm, --read-costs (if there are files),
/// --schedule-comm,
/// --expand-collectives, --overlap-rpc-memcpy (if asked for),
/// --verify-distributed.
void buildAllReducePipeline(mlir::OpPassManager &manager,
                            const AllReducePipelineOptions &options);

/// The same with --insert-dist-comm=mode=parameter-server.
void buildParameterServerPipeline(
    mlir::OpPassManager &manager,
    const ParameterServerPipelineOptions &options);

} // namespace commsched

#endif // COMMSCHED_PASSES_PIPELINES_H
