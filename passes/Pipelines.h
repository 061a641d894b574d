// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines put the passes in order, under short names.

#ifndef COMMSCHED_PASSES_PIPELINES_H
#define COMMSCHED_PASSES_PIPELINES_H

#include <string>

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "passes/insert/Passes.h"
#include "passes/support/PipelineOption.h"

namespace commsched {

/// How communication is scheduled (docs/schedule-comm.md); and for nodes of several
/// devices, and devices with memory of their own (docs/devices.md).
template <typename Derived>
struct DevicePipelineOptions : mlir::PassPipelineOptions<Derived> {
  typename mlir::PassPipelineOptions<Derived>::template Option<std::string> schedule{
      *this, "schedule",
      described("policy of --schedule-comm: solver, priority, fifo, ...", "solver")};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> bucketBytes{
      *this, "bucket-bytes",
      described("with schedule=fixed-buckets: bytes at which a bucket is closed", 25 << 20)};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> firstBucketBytes{
      *this, "first-bucket-bytes",
      described("with schedule=fixed-buckets: those of the first bucket", 1 << 20)};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> effort{
      *this, "effort",
      described("of schedule=solver: thousands of messages that it simulates; 0: by the "
                "size of the step",
                0)};
  typename mlir::PassPipelineOptions<Derived>::template Option<bool> reorder{
      *this, "reorder",
      described("whether schedule=solver may change the order of fragments", false)};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> memoryLimit{
      *this, "memory-limit",
      described("with reorder: bytes that results of fragments may hold at once more than "
                "in the order of the program",
                0)};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> messageBytes{
      *this, "message-bytes",
      described("most bytes of a message that cuts or fuses tensors; 0: any", 0)};
  typename mlir::PassPipelineOptions<Derived>::template ListOption<std::string> profile{
      *this, "profile",
      llvm::cl::desc("files of cs-run --profile: see --read-costs")};
  typename mlir::PassPipelineOptions<Derived>::template ListOption<std::string>
      calibration{*this, "calibration",
                  llvm::cl::desc("files of cs-run --calibrate: see --read-costs")};
  typename mlir::PassPipelineOptions<Derived>::template Option<std::string> ncclTests{
      *this, "nccl-tests",
      described("output of all_reduce_perf of nccl-tests: see --read-costs", "")};
  typename mlir::PassPipelineOptions<Derived>::template Option<bool> assignDevices{
      *this, "assign-devices",
      described("give every gradient an owner of its own among the "
                "devices of a node, instead of device 0",
                true)};
  typename mlir::PassPipelineOptions<Derived>::template Option<std::string> copies{
      *this, "copies",
      described("copies between devices and host: none (one memory; those "
                "between devices overlap), overlap, in-line, or auto: overlap where devices of kind cuda "
                "have code to run, else none",
                "auto")};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t>
      stagingBytes{*this, "staging-bytes",
                   described("most bytes of staging memory in use at once "
                             "on a node; 0: no bound",
                             0)};
};

/// Which part of gradients travels (docs/sparse.md).
template <typename Derived>
struct SparsePipelineOptions : DevicePipelineOptions<Derived> {
  typename mlir::PassPipelineOptions<Derived>::template Option<double> density{
      *this, "density",
      described("part of the elements of a gradient that travel: see "
                "--lower-sparse-comm; 1: all of them",
                1.0)};
  typename mlir::PassPipelineOptions<Derived>::template Option<std::string> sparseMethod{
      *this, "sparse-method",
      described("how: auto, dense, allgather, hitopk, gtopk or oktopk; with parameter "
                "servers auto or dense",
                "auto")};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> minElements{
      *this, "min-elements",
      described("gradients of fewer elements stay dense", 16384)};
  typename mlir::PassPipelineOptions<Derived>::template ListOption<std::string> sparseRules{
      *this, "sparse-rules",
      llvm::cl::desc("PATTERN=DENSITY[:METHOD], for parameters by name")};
  typename mlir::PassPipelineOptions<Derived>::template Option<bool> feedback{
      *this, "feedback",
      described("keep what is not sent for the next step", true)};
  typename mlir::PassPipelineOptions<Derived>::template Option<double> momentum{
      *this, "momentum-correction",
      described("select from sums of velocities of this momentum", 0.0)};
  typename mlir::PassPipelineOptions<Derived>::template Option<bool> mask{
      *this, "mask",
      described("with it, clear the velocity of elements that are sent", true)};
  typename mlir::PassPipelineOptions<Derived>::template Option<double> secondMoment{
      *this, "second-moment",
      described("select from what Adam with this decay of squares would add", 0.0)};
  typename mlir::PassPipelineOptions<Derived>::template Option<double> epsilon{
      *this, "epsilon",
      described("with it, what is added to the root of the mean of squares", 1e-8)};
  typename mlir::PassPipelineOptions<Derived>::template Option<std::string> squares{
      *this, "squares",
      described("with both moments, whose squares: mean (of all ranks) or own", "mean")};
  typename mlir::PassPipelineOptions<Derived>::template Option<double> clip{
      *this, "clip",
      described("bound of the norm of each gradient, times the root of the "
                "ranks; 0: none",
                0.0)};
  typename mlir::PassPipelineOptions<Derived>::template Option<std::string> select{
      *this, "select",
      described("how elements are selected: exact, histogram, sampled or "
                "mstopk",
                "exact")};
  typename mlir::PassPipelineOptions<Derived>::template Option<std::string> values{
      *this, "values",
      described("what selected values travel as: same, f16, bf16 or int8", "same")};
  typename mlir::PassPipelineOptions<Derived>::template Option<double> unsentRate{
      *this, "unsent-rate",
      described("compute gradients at each parameter less so much of the rank's own residual", 0.0)};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> msTopKSamples{
      *this, "mstopk-samples",
      described("of mstopk: reads that look for a threshold", 30)};
  typename mlir::PassPipelineOptions<Derived>::template Option<bool> msTopKEarlyStop{
      *this, "mstopk-early-stop",
      described("of mstopk: no more reads once a threshold leaves exactly k", true)};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> msTopKSeed{
      *this, "mstopk-seed",
      described("of mstopk: what each step's draws begin with", 0)};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> sparseFuseBytes{
      *this, "sparse-fuse-bytes",
      described("most bytes of a message of several selections; 0: none; -1: by "
                "the link",
                -1)};
  typename mlir::PassPipelineOptions<Derived>::template Option<int64_t> exactEvery{
      *this, "exact-every",
      described("select so in one of so many steps, and by its threshold in "
                "the others",
                1)};
};

struct AllReducePipelineOptions
    : SparsePipelineOptions<AllReducePipelineOptions> {
  Option<std::string> reduction{
      *this, "reduction",
      described("how gradients of workers combine: mean or sum", "mean")};
  Option<std::string> cluster{
      *this, "cluster",
      described("file with one cs.cluster op to use instead of the module's", "")};
  Option<std::string> algorithm{
      *this, "algorithm",
      described("collective algorithm: auto, ring or halving-doubling", "auto")};
  Option<bool> spreadSums{
      *this, "spread-sums",
      described("share norms that every node would compute among the nodes, "
                "where it pays: see --spread-sums",
                false)};
  Option<bool> parts{
      *this, "parts",
      described("read what shares a message as soon as it is there: see --schedule-comm",
                false)};
  Option<bool> exclusive{
      *this, "exclusive",
      described("with schedule=solver: urgent all-reduces may go alone: see --schedule-comm",
                true)};
  Option<bool> nccl{
      *this, "nccl",
      described("all-reduces by NCCL, in device memory: see --lower-to-nccl", false)};
  Option<bool> hierarchical{
      *this, "hierarchical",
      described("all-reduce large gradients by all devices of a node, a shard on "
                "each: see --replicate-devices",
                true)};
  Option<bool> combine{
      *this, "combine",
      described("fewer or smaller collectives with the same results: see "
                "--combine-collectives",
                true)};
  ListOption<std::string> scheduleCalibration{
      *this, "schedule-calibration",
      llvm::cl::desc("such files for the schedule alone, of a plan that takes another's place in a run: "
                     "what is computed and reduced stays as calibration= and the cluster make it")};
};

struct ParameterServerPipelineOptions
    : SparsePipelineOptions<ParameterServerPipelineOptions> {
  Option<int64_t> servers{*this, "servers",
                          described("number of parameter servers", 1)};
  Option<int64_t> minBlockElements{
      *this, "min-block-elements",
      described("least elements of a parameter for each block that it is "
                "cut into",
                InsertDistCommOptions().minBlockElements)};
  Option<int64_t> maxBlockElements{
      *this, "max-block-elements",
      described("most elements of a block of several rows; 0: no bound", 0)};
  Option<bool> slice{
      *this, "slice",
      described("cut parameters into blocks, for several servers", true)};
  Option<std::string> cutAs{
      *this, "cut-as",
      described("policy whose schedule says how blocks are cut and fused; empty: that of schedule",
                "")};
  Option<bool> fuseBlocks{
      *this, "fuse-blocks",
      described("send small blocks of one server in one message, where that pays", true)};
  Option<std::string> syncMode{
      *this, "sync-mode",
      described("when servers apply gradients: sync, async or half-async", "sync")};
  Option<int64_t> merge{
      *this, "merge",
      described("half-async: steps whose gradients a trainer merges "
                "before it sends",
                1)};
  Option<std::string> placement{
      *this, "placement",
      described("how blocks get to servers: balanced, round-robin or hash", "balanced")};
  Option<std::string> reduction{
      *this, "reduction",
      described("how gradients of trainers combine: mean or sum", "mean")};
  Option<std::string> cluster{
      *this, "cluster",
      described("file with one cs.cluster op to use instead of the module's", "")};
  Option<bool> byBlock{
      *this, "by-block",
      described("combine, own and copy the blocks of a gradient one by one "
                "on a node of several devices",
                false)};
};

/// From level 0 to a verified level 2: --cse, --insert-dist-comm,
/// --replicate-devices, --assign-devices, --lower-sparse-comm, --combine-collectives, --read-costs
/// (if there are files),
/// --schedule-comm,
/// --expand-collectives, --overlap-rpc-memcpy (if asked for),
/// --verify-distributed.
void buildAllReducePipeline(mlir::OpPassManager &manager,
                            const AllReducePipelineOptions &options);

/// The same with --insert-dist-comm=mode=parameter-server, without --combine-collectives.
void buildParameterServerPipeline(
    mlir::OpPassManager &manager,
    const ParameterServerPipelineOptions &options);

} // namespace commsched

#endif // COMMSCHED_PASSES_PIPELINES_H
