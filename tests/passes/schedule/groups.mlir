// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tensors of one group share messages, and are cut; those of different groups are not
// put together. What a message takes follows from the size of its group, for the rank
// that communicates most: rank 1, which is no member of @others.

// RUN: cs-opt --schedule-comm=policy=fixed-buckets --remarks-filter=schedule-comm %s 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: cs-opt --schedule-comm --expand-collectives --verify-distributed %s -o %t

cs.cluster @lab nodes = 8 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
cs.group @pair ranks [0, 1]
cs.group @four ranks [1, 2, 3, 4]
cs.group @others ranks [5, 6, 7]
!t = !cs.placed<tensor<1024xf32>, device 0>

// Of 4096 bytes, 2 of 2 parts of half of it, and 2 of 3 of 4 quarters.
// REMARK-DAG: "a": whole in "a+1" (4096 bytes take 32768 ns, and a message 40000 ns more
// REMARK-DAG: "c": alone (4096 bytes take 49152 ns, and a message 80000 ns more
// REMARK-DAG: "d": alone (4096 bytes take 0 ns, and a message 0 ns more

// CHECK-LABEL: func.func @step
// CHECK-DAG:  cs.all_reduce "{{.*}}+1" sum %{{.*}} in @pair : !cs.placed<tensor<2048xf32>
// CHECK-DAG:  cs.all_reduce "c" sum %{{.*}} in @four : !cs.placed<tensor<1024xf32>
// CHECK-DAG:  cs.all_reduce "d" sum %{{.*}} in @others : !cs.placed<tensor<1024xf32>
// CHECK-NOT:  cs.all_reduce
func.func @step(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %v:4 = cs.fragment "backward" on 0 (%w) cost <flops = 0, bytes = 0, ns = 100000> : (!t) -> (!t, !t, !t, !t)
  %a = cs.all_reduce "a" sum %v#0 in @pair : !t
  %b = cs.all_reduce "b" sum %v#1 in @pair : !t
  %c = cs.all_reduce "c" sum %v#2 in @four : !t
  %d = cs.all_reduce "d" sum %v#3 in @others : !t
  %n = cs.fragment "update" on 0 (%w, %a, %b, %c, %d) cost <flops = 0, bytes = 0, ns = 1000> : (!t, !t, !t, !t, !t) -> !t
  return %n : !t
}
