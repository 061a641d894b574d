// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Collectives of NCCL: their costs, measured or by the model, and the scheduling problem with them.

// RUN: split-file %s %t
// RUN: %cs-opt --read-costs="nccl-tests=%t/two.log" %t/step.mlir | FileCheck %s --check-prefix=READ
// RUN: cs-opt --read-costs="nccl-tests=%t/two.log" %t/step.mlir --remarks-filter=read-costs -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %cs-opt --read-costs="nccl-tests=%t/two.log" --extract-problem="algorithm=nccl" %t/step.mlir | FileCheck %s --check-prefix=PROBLEM
// RUN: %cs-opt --extract-problem="algorithm=nccl" %t/step.mlir | FileCheck %s --check-prefix=MODEL
// The pipelines hand the file on.
// RUN: cs-opt --schedule-comm="algorithm=nccl policy=wfbp" %t/step.mlir | FileCheck %s --check-prefix=SCHEDULE

// The times in place; those that fall with the size become their mean.
// READ: cs.cluster @lab
// READ-SAME: nccl = <machine_ranks = 2, ranks = 2, bytes = [8, 1024, 1048576], ns = [12000, 12000, 112000]>

// 100000 ns / 1048576 bytes, as the mean slope; what is below it at 1 KiB, too.
// REMARK: all-reduces of 2 ranks, 3 sizes: at least 11902 ns and 83886 mbit/s of the buffer

// An all-reduce is one message, one at a time. Each has the mean of what both take beside their bytes, 12000 - 3.05 and
// 12000 - 97.66 ns, as overhead, of which bounds count 11902.
// PROBLEM: cs.problem.link "nccl" {{.*}}10485760000
// PROBLEM-NOT: "inter"
// PROBLEM: cs.problem.communication "a" bytes 32 {{.*}} through (%nccl overhead_ns 11950 avoidable 48)
// PROBLEM: cs.problem.communication "b" bytes 1024 {{.*}} through (%nccl overhead_ns 11950 avoidable 48)

// MODEL: cs.problem.link "nccl"
// MODEL-NOT: "inter"
// MODEL: cs.problem.communication "a" bytes 32 {{.*}} through (%nccl overhead_ns 7802 avoidable 2)

// SCHEDULE: cs.schedule = #cs.schedule<policy = "wfbp"
// SCHEDULE: cs.start "a

// A calibration has them, too; one of the two counts.
// RUN: %cs-opt --read-costs="calibration=%t/calibration.json" %t/step.mlir | FileCheck %s --check-prefix=CALIBRATED
// CALIBRATED: nccl = <machine_ranks = 2, ranks = 2, bytes = [1024], ns = [5000]>
// RUN: not cs-opt --read-costs="calibration=%t/calibration.json nccl-tests=%t/two.log" %t/step.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: '{{.*}}calibration.json': has what NCCL takes, and so has nccl-tests: one of them must go

// RUN: sed 's/12.50  *0.00/0.00 0.00/' %t/two.log > %t/bad.log
// RUN: not cs-opt --read-costs="nccl-tests=%t/bad.log" %t/step.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: error: '{{.*}}bad.log': line 6: time in place must be microseconds above 0, got: '0.00'
// RUN: not cs-opt --read-costs="nccl-tests=%t/none.log" %t/step.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: cannot read '{{.*}}none.log'
// RUN: sed 's/nodes = 2/nodes = 4/' %t/step.mlir > %t/four.mlir
// RUN: not cs-opt --read-costs="nccl-tests=%t/two.log" %t/four.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: error: '{{.*}}two.log': ranks must match the nodes of the cluster, 4, got: 2
// RUN: sed 's/kind = cuda/kind = cpu/; s/ nccl = .*//' %t/step.mlir > %t/cpu.mlir
// RUN: not cs-opt --read-costs="nccl-tests=%t/two.log" %t/cpu.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: '{{.*}}two.log': is of NCCL: devices of the cluster must be of kind cuda, got: cpu
// RUN: not cs-opt --schedule-comm="algorithm=nccl" %t/cpu.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not cs-opt --extract-problem="algorithm=nccl" %t/cpu.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: 'cs.cluster' op must have devices of kind cuda for algorithm=nccl, got: cpu
// RUN: not cs-opt --schedule-comm="algorithm=nccl parts=true" %t/step.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: {{.*}}parts must go without algorithm=nccl

//--- calibration.json
{"format":"commsched calibration","version":1,"module":"","transport":"none","ranks":2,"servers":0,
"links":[],"exchanges":[],"compute":[],"copies":[],
"nccl":[{"ranks":2,"bytes":1024,"ns":5000}]}
//--- two.log
# nThread 1 nGpus 2 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
# Using devices
#  Rank  0 Group  0 Pid   4000 on       node device  0 [0000:07:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   4000 on       node device  1 [0000:0b:00] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
           8             2     float     sum      -1    13.00    0.00    0.00      0    12.50    0.00    0.00      0
        1024           256     float     sum      -1    12.90    0.08    0.08      0    11.50    0.09    0.09      0
     1048576        262144     float     sum      -1   111.00    9.45    9.45      0   112.00    9.36    9.36      0
# Out of bounds values : 0 OK

//--- step.mlir
cs.cluster @lab nodes = 2 devices = 1 device = <kind = cuda, gflops = 40000, gb_per_s = 2000> intra = <mbit_per_s = 2000000, latency_ns = 1000> inter = <mbit_per_s = 100000, latency_ns = 2000> nccl = <machine_ranks = 2>
func.func @step(%a: !cs.placed<tensor<8xf32>, device 0> {cs.param = "a"},
                %b: !cs.placed<tensor<256xf32>, device 0> {cs.param = "b"})
    -> (!cs.placed<tensor<8xf32>, device 0> {cs.updates = "a"},
        !cs.placed<tensor<256xf32>, device 0> {cs.updates = "b"}) attributes {cs.step} {
  %g, %h = cs.fragment "compute" on 0 (%a, %b) cost <flops = 7, bytes = 9, ns = 100>
      : (!cs.placed<tensor<8xf32>, device 0>, !cs.placed<tensor<256xf32>, device 0>)
      -> (!cs.placed<tensor<8xf32>, device 0>, !cs.placed<tensor<256xf32>, device 0>) {
  ^bb0(%x: tensor<8xf32>, %y: tensor<256xf32>):
    cs.return %x, %y : tensor<8xf32>, tensor<256xf32>
  }
  %ra = cs.all_reduce "a" mean %g : !cs.placed<tensor<8xf32>, device 0>
  %rb = cs.all_reduce "b" mean %h : !cs.placed<tensor<256xf32>, device 0>
  return %ra, %rb : !cs.placed<tensor<8xf32>, device 0>, !cs.placed<tensor<256xf32>, device 0>
}
