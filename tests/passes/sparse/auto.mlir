// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The method that takes the least time by links and memory, per gradient. By hand, of
// a slow link: dense 2 (m - 1) / m of 4 MiB, allgather (m - 1) D times 8 bytes of the
// selected, hitopk without D, gtopk log2 m times, oktopk about 2.25 (m - 1) / m times.

// RUN: cs-opt --replicate-devices --assign-devices --lower-sparse-comm="density=0.01" --remarks-filter=lower-sparse-comm %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: sed 's/nodes = 16/nodes = 2/' %s | cs-opt --replicate-devices --assign-devices --lower-sparse-comm="density=0.01" --remarks-filter=lower-sparse-comm -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWO
// A link as fast as memory: selection does not pay.
// RUN: sed 's/mbit_per_s = 100,/mbit_per_s = 800000,/' %s | cs-opt --replicate-devices --assign-devices --lower-sparse-comm="density=0.01" --remarks-filter=lower-sparse-comm -o /dev/null 2>&1 | FileCheck %s --check-prefix=FAST
// Half of all elements, with their indices, of 16 nodes: more bytes than all of them.
// RUN: cs-opt --replicate-devices --assign-devices --lower-sparse-comm="density=0.5" %s | FileCheck %s --check-prefix=DENSE

cs.cluster @lab nodes = 16 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 100, latency_ns = 50000>

// 10486 of 1048576 elements are selected, 83888 bytes; of 16 nodes 15 lists of them are
// sent, or 4; of the 5243 of each shard, 410 to each of 15 owners of regions, and 328
// from the own region, with a count each: 15 * (738 * 8 + 8) bytes.
// MANY: gradient "w": oktopk, 10486 of 1048576 elements, 177360 bytes sent by a node; predicted dense {{[0-9]+}} ns, allgather {{[0-9]+}} ns, hitopk {{[0-9]+}} ns, gtopk {{[0-9]+}} ns, oktopk {{[0-9]+}} ns
// MANY-NOT: "b"
// TWO: gradient "w": hitopk, 10486 of 1048576 elements, 83888 bytes sent by a node;
// FAST: gradient "w": dense, 10486 of 1048576 elements, 7864320 bytes sent by a node;
// DENSE: cs.all_reduce "w"
!t = !cs.placed<tensor<1024x1024xf32>, device 0>
func.func @step(%w: !t {cs.param = "w"}, %x: !t {cs.batch = "x"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %g = cs.fragment "backward" on 0 (%w, %x) : (!t, !t) -> !t {
  ^bb0(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>):
    %0 = arith.mulf %a, %b : tensor<1024x1024xf32>
    cs.return %0 : tensor<1024x1024xf32>
  }
  %r = cs.all_reduce "w" mean %g : !t
  %n = cs.fragment "update.w" on 0 (%w, %r) deferred : (!t, !t) -> !t {
  ^bb0(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>):
    %0 = arith.subf %a, %b : tensor<1024x1024xf32>
    cs.return %0 : tensor<1024x1024xf32>
  }
  return %n : !t
}
