// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A step scheduled by its costs: three layers, whose gradients have 4 KiB, 4 MiB and
// 4 KiB. On 2 nodes with 1 Gbit/s all of them take 35 ms, of which compute hides some.

// RUN: %cs-opt --schedule-comm=policy=fifo %s | FileCheck %s --check-prefixes=CHECK,FIFO
// RUN: %cs-opt --schedule-comm=policy=priority %s | FileCheck %s --check-prefix=PRIORITY
// RUN: %cs-opt --schedule-comm=policy=fixed-buckets %s | FileCheck %s --check-prefix=BUCKETS
// RUN: %cs-opt --schedule-comm="policy=fixed-buckets bucket-bytes=1 first-bucket-bytes=1" %s | FileCheck %s --check-prefix=EACH --implicit-check-not=cs.start
// RUN: %cs-opt --schedule-comm="policy=fixed-buckets first-bucket-bytes=100000000" %s | FileCheck %s --check-prefix=WHOLE --implicit-check-not=cs.start
// RUN: not cs-opt --schedule-comm="policy=fixed-buckets bucket-bytes=0" %s 2>&1 | FileCheck %s --check-prefix=BYTES
// RUN: not cs-opt --schedule-comm="policy=fifo bucket-bytes=1000" %s 2>&1 | FileCheck %s --check-prefix=OTHER
// EACH: cs.start "c"
// EACH: cs.start "b"
// EACH: cs.start "a"
// WHOLE: cs.start "c+2"
// BYTES: error: schedule-comm: bucket-bytes must be positive, got: 0
// OTHER: error: schedule-comm: bucket-bytes and first-bucket-bytes must go with the policy fixed-buckets, got: fifo
// RUN: %cs-opt --schedule-comm=policy=p3 %s | FileCheck %s --check-prefix=P3
// RUN: %cs-opt --schedule-comm=policy=dear %s | FileCheck %s --check-prefix=DEAR
// RUN: %cs-opt --schedule-comm=policy=wfbp %s | FileCheck %s --check-prefix=WFBP
// RUN: not cs-opt --schedule-comm=effort=-1 %s 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not cs-opt --schedule-comm="policy=p3 effort=1" %s 2>&1 | FileCheck %s --check-prefix=SEARCH
// RUN: not cs-opt --schedule-comm="policy=p3 reorder=true" %s 2>&1 | FileCheck %s --check-prefix=REORDER
// RUN: not cs-opt --schedule-comm=memory-limit=1 %s 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not cs-opt --schedule-comm="policy=priority message-bytes=1" %s 2>&1 | FileCheck %s --check-prefix=CUTS
// RUN: not cs-opt --schedule-comm="policy=priority parts=true" %s 2>&1 | FileCheck %s --check-prefix=CUTS
// RUN: not cs-opt --schedule-comm=cut-as=fifo %s 2>&1 | FileCheck %s --check-prefix=BLOCKS
// RUN: not cs-opt --schedule-comm=policy=best %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: %cs-opt --schedule-comm --expand-collectives --verify-distributed %s -o /dev/null
// RUN: %cs-opt --schedule-comm=policy=p3 --expand-collectives --verify-distributed %s -o /dev/null
// RUN: %cs-opt --schedule-comm=size-limit=5 --remarks-filter=schedule-comm %s 2>&1 | FileCheck %s --check-prefix=LIMIT

// Staging memory that is smaller than what would be fused, and than a tensor.
// RUN: %cs-opt --schedule-comm="policy=fixed-buckets message-bytes=4000000" %s | FileCheck %s --check-prefix=SMALL
// RUN: %cs-opt --schedule-comm="policy=fixed-buckets message-bytes=4000000" --expand-collectives --verify-distributed %s -o /dev/null

// The rate decides how tensors are sent, and remarks say why. A slow link: the large
// tensor must not hold up the small ones behind it. Between two nodes they overtake it.
// RUN: sed 's/nodes = 2/nodes = 3/' %s > %t.three.mlir
// RUN: %cs-opt --schedule-comm --remarks-filter=schedule-comm %t.three.mlir -o %t.slow.mlir 2>&1 | FileCheck %s --check-prefix=SLOW
// RUN: %cs-opt --schedule-comm --remarks-filter=schedule-comm %s -o %t.two.mlir 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: sed 's/mbit_per_s = 1000,/mbit_per_s = 100000,/' %s > %t.fast.mlir
// RUN: %cs-opt --schedule-comm --remarks-filter=schedule-comm %t.fast.mlir -o %t.fast.out.mlir 2>&1 | FileCheck %s --check-prefix=FAST
// RUN: %cs-opt --schedule-comm %t.three.mlir -o %t.again.mlir
// RUN: cmp %t.slow.mlir %t.again.mlir
// RUN: FileCheck %s --check-prefix=SOLVER < %t.slow.mlir

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000, overhead_ns = 30000>

!s = !cs.placed<tensor<1024xf32>, device 0>
!l = !cs.placed<tensor<1024x1024xf32>, device 0>

// SLOW: Remark=""step": solver{{.*}}: {{[0-9]+}} ns per step, 1.0{{[0-9]+}} of the bound of {{[0-9]+}} ns
// SLOW-SAME: others: fifo {{[0-9]+}} wfbp
// SLOW: Remark=""step": the bound assumes this order of fragments but for deferred ones, 1000 mbit/s, of a message no less than 30000 ns of its link beside the bytes and 50000 ns on the way, fragments that take what is said of them alone, measured ones no less than the least that was measured"
// TWO: Remark=""step": solver{{.*}}: {{[0-9]+}} ns per step, 1.00{{[0-9]+}} of the bound of
// TWO: Remark=""b": 2 pieces (4194304 bytes take 33554432 ns, and a message 60000 ns more
// SLOW: Remark=""b": {{[0-9]+}} pieces{{.*}} (4194304 bytes take 44739248 ns, and a message 120000 ns more, on "inter" of 1000 Mbit/s; what is more urgent waits for {{[0-9]+}} ns at most): priority {{.*}}: first needed by "forward.b" of the next step, through "b"; compute waits {{[0-9]+}} ns per step for it
// SLOW: Remark=""a": {{.*}}(4096 bytes take {{43[0-9]+}} ns, and a message 120000 ns more
// FAST: Remark=""step": solver{{.*}}: {{[0-9]+}} ns per step, 1.0{{[0-9]+}} of the bound
// FAST: Remark=""c": {{(alone|whole)}}
// FAST: Remark=""b": {{(alone|whole)}}
// FAST-SAME: (4194304 bytes take 33554{{[0-9]}} ns, and a message 60000 ns more, on "inter" of 100000 Mbit/s)
// FAST: Remark=""a": {{(alone|whole)}}{{.*}}(4096 bytes take 328 ns

// LIMIT: Remark=""step": priorities only: the step has more than 5 ops"
// LIMIT: Remark=""c": priority 2: first needed by "forward.c"
// NEGATIVE: effort must not be negative, got: -1
// SEARCH: effort must go with the policy solver, got: p3
// REORDER: reorder must go with the policy solver, got: p3
// MEMORY: memory-limit must go with reorder
// CUTS: message-bytes and parts must go with a policy that cuts or fuses, got: priority
// BLOCKS: cut-as must go with parameter servers
// UNKNOWN: error: schedule-comm: policy must be priority, solver, fifo, {{.*}}latency-hiding, got: best

// A message of each tensor, and no order but that in which they are made.
// CHECK: func.func @step(
// FIFO-SAME: cs.schedule = #cs.schedule<policy = "fifo", period_ns = {{[0-9]+}}, bound_ns = {{[0-9]+}}, any_order_bound_ns = {{[0-9]+}}>
// FIFO: cs.start "c" (%
// FIFO: cs.start "b" (%
// FIFO: cs.start "a" (%
// FIFO: cs.await
// FIFO-NEXT: cs.fragment "update.c"
// FIFO-SAME: deferred

// PRIORITY-NOT: cs.schedule
// PRIORITY: cs.start "c" priority 2
// PRIORITY: cs.start "b" priority 1
// PRIORITY: cs.start "a" (%

// Buckets of 1 MiB first, then 25: "c" and "b" together are the first.
// BUCKETS: cs.fragment "backward.b"
// BUCKETS-NEXT: %[[M:.*]] = cs.pack %backward_c#0[0, 1024], %backward_b#0[0, 1048576] :
// BUCKETS: %[[F:.*]] = cs.start "c+1" (%[[M]])
// BUCKETS: cs.all_reduce "c+1" mean
// BUCKETS: cs.start "a" (%
// BUCKETS: %[[V:.*]] = cs.await %[[F]]
// BUCKETS-NEXT: %[[CV:.*]] = cs.unpack %[[V]][0, 1024] :
// BUCKETS-SAME: -> !cs.placed<tensor<1024xf32>, device 0>
// BUCKETS-NEXT: cs.fragment "update.c" on 0 (%{{.*}}, %[[CV]])
// BUCKETS-NEXT: %[[BV:.*]] = cs.unpack %[[V]][1024, 1049600] :
// BUCKETS-SAME: -> !cs.placed<tensor<1024x1024xf32>, device 0>

// SMALL: cs.start "c" (%
// SMALL: cs.pack %backward_b#0[0, 1000000] :
// SMALL: cs.pack %backward_b#0[1000000, 1048576] :
// SMALL: cs.start "a"

// Slices of 50,000 parameters, cut at cache lines; one of them on the way.
// P3: credit = 1>
// P3: cs.pack %[[G:.*]][0, 50000] :
// P3: cs.start "b.part0" priority 1
// P3: cs.pack %[[G]][50000, 100000] :
// P3: cs.start "b.part1" priority 1
// P3: cs.pack %[[G]][1000000, 1048576] :
// P3: cs.start "b.part20" priority 1
// P3: cs.start "a" (%
// P3: cs.unpack %{{.*}}[0, 50000], %{{.*}}[0, 50000], {{.*}}[0, 48576] :

// Reduced when they are there, gathered when they are needed.
// DEAR: cs.start "c+2" gather_priority 1 (%

// The step ends when everything has arrived.
// WFBP: policy = "wfbp"
// WFBP: cs.await
// WFBP-NEXT: cs.fragment "update.c"
// WFBP-NOT: deferred

// SOLVER: policy = "solver"
// SOLVER: cs.pack
// SOLVER: cs.start "b.part{{.*}}" priority
// SOLVER: cs.unpack
func.func @step(%a: !s {cs.param = "a"}, %b: !l {cs.param = "b"}, %c: !s {cs.param = "c"},
                %x: !s {cs.batch = "x"})
    -> (!s {cs.updates = "a"}, !l {cs.updates = "b"}, !s {cs.updates = "c"})
    attributes {cs.step} {
  %ha = cs.fragment "forward.a" on 0 (%a, %x) cost <flops = 0, bytes = 0, ns = 1000000> : (!s, !s) -> !s
  %hb = cs.fragment "forward.b" on 0 (%b, %ha) cost <flops = 0, bytes = 0, ns = 10000000> : (!l, !s) -> !s
  %hc = cs.fragment "forward.c" on 0 (%c, %hb) cost <flops = 0, bytes = 0, ns = 10000000> : (!s, !s) -> !s
  %gc, %dc = cs.fragment "backward.c" on 0 (%c, %hc) cost <flops = 0, bytes = 0, ns = 10000000> : (!s, !s) -> (!s, !s)
  %rc = cs.all_reduce "c" mean %gc : !s
  %gb, %db = cs.fragment "backward.b" on 0 (%b, %dc, %hb) cost <flops = 0, bytes = 0, ns = 10000000> : (!l, !s, !s) -> (!l, !s)
  %rb = cs.all_reduce "b" mean %gb : !l
  %ga = cs.fragment "backward.a" on 0 (%ha, %db) cost <flops = 0, bytes = 0, ns = 1000000> : (!s, !s) -> !s
  %ra = cs.all_reduce "a" mean %ga : !s
  %c1 = cs.fragment "update.c" on 0 (%c, %rc) deferred cost <flops = 0, bytes = 0, ns = 1000> : (!s, !s) -> !s
  %b1 = cs.fragment "update.b" on 0 (%b, %rb) deferred cost <flops = 0, bytes = 0, ns = 200000> : (!l, !l) -> !l
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 0, bytes = 0, ns = 1000> : (!s, !s) -> !s
  return %a1, %b1, %c1 : !s, !l, !s
}
