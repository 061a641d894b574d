// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Of 16 bits two values are a word, and of an odd number the last is half empty: 3 of
// all elements are 5 words, 1 of the first shard 2, and 2 of the second 3. The bytes that
// the remark counts are those of the messages.

// RUN: cs-opt --insert-dist-comm --replicate-devices --assign-devices --lower-sparse-comm="density=0.2 min-elements=1 method=allgather" --remarks-filter=lower-sparse-comm %s -o %t 2>&1 | FileCheck %s --check-prefix=FLATBYTES
// RUN: FileCheck %s --check-prefix=FLAT < %t
// RUN: cs-opt --insert-dist-comm --replicate-devices --assign-devices --lower-sparse-comm="density=0.2 min-elements=1 method=hitopk" --remarks-filter=lower-sparse-comm %s -o %t 2>&1 | FileCheck %s --check-prefix=SHARDBYTES
// RUN: FileCheck %s --check-prefix=SHARDS < %t
// RUN: cs-opt --insert-dist-comm --replicate-devices --assign-devices --lower-sparse-comm="density=0.2 min-elements=1 method=gtopk" --remarks-filter=lower-sparse-comm %s -o %t 2>&1 | FileCheck %s --check-prefix=PAIRBYTES
// RUN: FileCheck %s --check-prefix=PAIRS < %t
// RUN: cs-opt --insert-dist-comm --replicate-devices --assign-devices --lower-sparse-comm="density=0.2 min-elements=1 method=oktopk" --remarks-filter=lower-sparse-comm %s -o %t 2>&1 | FileCheck %s --check-prefix=REGIONBYTES
// RUN: FileCheck %s --check-prefix=REGIONS < %t

// FLATBYTES: 3 of 15 elements, 40 bytes sent by a node
// FLAT: cs.all_gather "w" {{.*}}tensor<2x5xi32, #cs.coordinates<tensor<5x3xf16>>>{{.*}} -> {{.*}}tensor<4x5xi32, #cs.coordinates<tensor<5x3xf16>>>

// SHARDBYTES: 3 of 15 elements, 20 bytes sent by a node
// SHARDS: cs.all_gather "w.shard0" {{.*}}tensor<1x2xi32, #cs.coordinates<tensor<2x3xf16>>>
// SHARDS: cs.all_gather "w.shard1" {{.*}}tensor<1x3xi32, #cs.coordinates<tensor<3x3xf16>>>

// A half of each message is the other node's.
// PAIRBYTES: 3 of 15 elements, 20 bytes sent by a node
// PAIRS: cs.pair_exchange "w.shard0.round0" {{.*}}tensor<2x2xi32, #cs.coordinates<tensor<2x3xf16>>>
// PAIRS: cs.pair_exchange "w.shard1.round0" {{.*}}tensor<2x3xi32, #cs.coordinates<tensor<3x3xf16>>>

// One row of the four of each all_to_all, and one of each all_gather.
// REGIONBYTES: 3 of 15 elements, 52 bytes sent by a node
// REGIONS: cs.all_to_all "w.shard0.split" {{.*}}tensor<4x3xi32, #cs.coordinates<tensor<2x3xf16>, counted>>
// REGIONS: cs.all_gather "w.shard0" {{.*}}tensor<1x3xi32, #cs.coordinates<tensor<2x3xf16>, counted>>
// REGIONS: cs.all_to_all "w.shard1.split" {{.*}}tensor<4x4xi32, #cs.coordinates<tensor<3x3xf16>, counted>>
// REGIONS: cs.all_gather "w.shard1" {{.*}}tensor<1x3xi32, #cs.coordinates<tensor<3x3xf16>, counted>>

cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: tensor<5x3xf16> {cs.param = "w"}, %x: tensor<5x3xf16> {cs.batch = "x"})
    -> (tensor<5x3xf16> {cs.updates = "w"}) attributes {cs.step} {
  %g = arith.mulf %w, %x : tensor<5x3xf16>
  %g1 = cs.gradient %g of "w" : tensor<5x3xf16>
  %n = arith.subf %w, %g1 : tensor<5x3xf16>
  return %n : tensor<5x3xf16>
}
