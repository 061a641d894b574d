// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: split-file %s %t
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=4" %t/sgd.mlir | FileCheck %t/sgd.mlir
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=4 sync-mode=async" %t/sgd.mlir \
// RUN:   | FileCheck %t/sgd.mlir --check-prefix=ASYNC
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=4 sync-mode=half-async merge=3" %t/sgd.mlir \
// RUN:   | FileCheck %t/sgd.mlir --check-prefix=HALF
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 slice=false reduction=sum" %t/sgd.mlir \
// RUN:   | FileCheck %t/sgd.mlir --check-prefix=WHOLE
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=4" %t/adam.mlir | FileCheck %t/adam.mlir
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=2 min-block-elements=4" %t/twice.mlir | FileCheck %t/twice.mlir
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=1" %t/chunks.mlir | FileCheck %t/chunks.mlir
// RUN: cs-opt --insert-dist-comm="mode=parameter-server servers=1" %t/mask.mlir | FileCheck %t/mask.mlir

//--- sgd.mlir

// The trainer has no table. Ids are made first, and rows are read in a fragment of
// their own.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[IDS:[a-z0-9]+]]: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"})
// CHECK-SAME: -> (!cs.placed<tensor<f32>, device 0> {cs.metric = "loss"})
// CHECK: %[[HASH:.*]] = cs.fragment "compute.0" on 0 (%[[IDS]])
// CHECK: %[[E:.*]] = cs.fetch_rows "w" %[[HASH]] from [@server.0, @server.1] rows [0, 4, 8]
// CHECK-NEXT: %[[C:.*]]:2 = cs.fragment "compute.1" on 0 (%[[E]])
// CHECK: cs.send_rows "w" %[[HASH]], %[[C]]#{{.*}} to [@server.0, @server.1] rows [0, 4, 8]
// CHECK-NOT: cs.recv "w

// CHECK-LABEL: func.func @server.0
// CHECK-SAME: (%[[W:[a-z0-9]+]]: !cs.placed<tensor<4x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 4>})
// CHECK: %[[N:.*]] = cs.update_rows "w.block0" by mean from @step rows (%[[W]]) chunk 4 : (!cs.placed<tensor<4x2xf32>, device 0>) {
// CHECK-NEXT: ^bb0(%[[G:.*]]: tensor<4x2xf32>, %[[R:.*]]: tensor<4x2xf32>):
// CHECK: %[[S:.*]] = arith.mulf %[[G]], %{{.*}} : tensor<4x2xf32>
// CHECK: %[[NEW:.*]] = arith.subf %[[R]], %[[S]]
// CHECK: cs.return %[[NEW]]
// CHECK: cs.publish "w.block0.new" %[[N]] to @step
// CHECK: return %[[N]]
// CHECK-LABEL: func.func @server.1
// CHECK-SAME: {cs.param = "w", cs.rows = array<i64: 4, 8>}
// CHECK: cs.update_rows "w.block1" by mean

// ASYNC: cs.update_rows "w.block0" each from @step
// HALF: cs.servers = #cs.servers<count = 2, sync_mode = half_async, merge = 3>
// HALF: cs.update_rows "w.block0" each from @step
// WHOLE: cs.fetch_rows "w" %{{.*}} from [@server.0] rows [0, 8]
// WHOLE: cs.update_rows "w" by sum from @step {{.*}} chunk 8
// WHOLE: cs.publish "w.new"

func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<8x2xf32> {cs.updates = "w"}, tensor<f32> {cs.metric = "loss"}) attributes {cs.step} {
  %rate = arith.constant dense<0.5> : tensor<8x2xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %one = arith.constant dense<1> : tensor<4xi32>
  %hash = arith.addi %ids, %one : tensor<4xi32>
  %e = cs.lookup %w, %hash : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %loss = linalg.reduce ins(%e : tensor<4x2xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
  %de = arith.addf %e, %e : tensor<4x2xf32>
  %g = cs.segment_sum %hash, %de : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %s = arith.mulf %g1, %rate : tensor<8x2xf32>
  %n = arith.subf %w, %s : tensor<8x2xf32>
  return %n, %loss : tensor<8x2xf32>, tensor<f32>
}

//--- adam.mlir

// The gradient of the lookup is the rows themselves. The state is cut like the
// table, the schedule runs once on each server, weight decay goes along.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[IDS:[a-z0-9]+]]: !cs.placed<tensor<4xi64>, device 0> {cs.batch = "ids"}) attributes
// CHECK-NEXT: %[[E:.*]] = cs.fetch_rows "w" %[[IDS]]
// CHECK-NEXT: cs.send_rows "w" %[[IDS]], %[[E]]
// CHECK-NEXT: return

// CHECK-LABEL: func.func @server.1
// CHECK-SAME: (%[[W:[a-z0-9]+]]: {{[^)]*}}{cs.param = "w", cs.rows = array<i64: 4, 8>}, %[[M:[a-z0-9]+]]: {{[^)]*}}{cs.rows = array<i64: 4, 8>, cs.state = "m"}, %[[V:[a-z0-9]+]]: {{[^)]*}}{cs.rows = array<i64: 4, 8>, cs.state = "v"}, %[[T:[a-z0-9]+]]: {{[^)]*}}{cs.state = "t"})
// CHECK: %[[SCHEDULE:.*]]:2 = cs.fragment "schedule" on 0 (%[[T]])
// CHECK: %[[N:.*]]:3 = cs.update_rows "w.block1" by mean from @step rows (%[[W]], %[[M]], %[[V]]) with (%[[SCHEDULE]]#0) chunk 4
// CHECK-SAME: , (!cs.placed<tensor<f32>, device 0>) {
// CHECK-NEXT: ^bb0(%[[G:.*]]: tensor<4x2xf32>, %[[WR:.*]]: tensor<4x2xf32>, %[[MR:.*]]: tensor<4x2xf32>, %[[VR:.*]]: tensor<4x2xf32>, %{{.*}}: tensor<f32>):
// CHECK-NOT: extract_slice
// CHECK: cs.return
// CHECK: cs.publish "w.block1.new" %[[N]]#0 to @step
// CHECK: return %[[N]]#0, %[[N]]#1, %[[N]]#2, %[[SCHEDULE]]#1

func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %m: tensor<8x2xf32> {cs.state = "m"},
                %v: tensor<8x2xf32> {cs.state = "v"}, %t: tensor<f32> {cs.state = "t"}, %ids: tensor<4xi64> {cs.batch = "ids"})
    -> (tensor<8x2xf32> {cs.updates = "w"}, tensor<8x2xf32> {cs.updates = "m"}, tensor<8x2xf32> {cs.updates = "v"},
        tensor<f32> {cs.updates = "t"}) attributes {cs.step} {
  %one = arith.constant dense<1.0> : tensor<f32>
  %b1 = arith.constant dense<0.9> : tensor<8x2xf32>
  %decay = arith.constant dense<0.01> : tensor<8x2xf32>
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi64>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %t1 = arith.addf %t, %one : tensor<f32>
  %root = math.sqrt %t1 : tensor<f32>
  %empty = tensor.empty() : tensor<8x2xf32>
  %rate = linalg.broadcast ins(%root : tensor<f32>) outs(%empty : tensor<8x2xf32>) dimensions = [0, 1]
  %wd = arith.mulf %w, %decay : tensor<8x2xf32>
  %g2 = arith.addf %g1, %wd : tensor<8x2xf32>
  %m0 = arith.mulf %m, %b1 : tensor<8x2xf32>
  %m1 = arith.addf %m0, %g2 : tensor<8x2xf32>
  %gg = arith.mulf %g2, %g2 : tensor<8x2xf32>
  %v1 = arith.addf %v, %gg : tensor<8x2xf32>
  %d = math.sqrt %v1 : tensor<8x2xf32>
  %q = arith.divf %m1, %d : tensor<8x2xf32>
  %s = arith.mulf %q, %rate : tensor<8x2xf32>
  %n = arith.subf %w, %s : tensor<8x2xf32>
  return %n, %m1, %v1, %t1 : tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<f32>
}

//--- twice.mlir

// Two lookups are one fetch, of ids of one type, each once; the sum of their
// gradients is one send. The second table, of rank 1, is read once for two lookups
// of the same ids.
// CHECK-LABEL: func.func @step
// CHECK: %[[IDS:.*]] = cs.fragment "compute.0"
// CHECK: arith.extsi %{{.*}} : tensor<4xi32> to tensor<4xi64>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0] [4] [1] : tensor<4xi64> into tensor<7xi64>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[4] [3] [1] : tensor<3xi64> into tensor<7xi64>
// CHECK: cs.fetch_rows "w" %[[IDS]] from [@server.0, @server.1] rows [0, 4, 8] : (!cs.placed<tensor<7xi64>, device 0>) -> !cs.placed<tensor<7x2xf32>, device 0>
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [4, 2] [1, 1]
// CHECK: tensor.extract_slice %{{.*}}[4, 0] [3, 2] [1, 1]
// CHECK: cs.send_rows "w" %{{.*}}, %{{.*}} to {{.*}} : !cs.placed<tensor<7xi64>, device 0>, !cs.placed<tensor<7x2xf32>, device 0>
// CHECK-NOT: cs.fetch_rows "w"
// CHECK-NOT: cs.send_rows "w"

func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %u: tensor<9xf32> {cs.param = "u", cs.row_sparse},
                %a: tensor<4xi32> {cs.batch = "a"}, %b: tensor<3xi64> {cs.batch = "b"})
    -> (tensor<8x2xf32> {cs.updates = "w"}, tensor<9xf32> {cs.updates = "u"}) attributes {cs.step} {
  %e = cs.lookup %w, %a : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %f = cs.lookup %w, %b : (tensor<8x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  %x = cs.lookup %u, %b : (tensor<9xf32>, tensor<3xi64>) -> tensor<3xf32>
  %y = cs.lookup %u, %b : (tensor<9xf32>, tensor<3xi64>) -> tensor<3xf32>
  %e2 = arith.mulf %e, %e : tensor<4x2xf32>
  %f2 = arith.mulf %f, %f : tensor<3x2xf32>
  %xy = arith.mulf %x, %y : tensor<3xf32>
  %g = cs.segment_sum %a, %e2 : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %h = cs.segment_sum %b, %f2 : (tensor<3xi64>, tensor<3x2xf32>) -> tensor<8x2xf32>
  %empty = tensor.empty() : tensor<8x2xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%g, %h : tensor<8x2xf32>, tensor<8x2xf32>) outs(%empty : tensor<8x2xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %r = arith.addf %p, %q : f32
    linalg.yield %r : f32
  } -> tensor<8x2xf32>
  %k = cs.segment_sum %b, %xy : (tensor<3xi64>, tensor<3xf32>) -> tensor<9xf32>
  %g1 = cs.gradient %sum of "w" : tensor<8x2xf32>
  %k1 = cs.gradient %k of "u" : tensor<9xf32>
  %n = arith.subf %w, %g1 : tensor<8x2xf32>
  %l = arith.subf %u, %k1 : tensor<9xf32>
  return %n, %l : tensor<8x2xf32>, tensor<9xf32>
}

//--- chunks.mlir

// 64 KiB of rows at a time; one row that is larger.
// CHECK-DAG: cs.update_rows "many" by mean from @step {{.*}} chunk 1024
// CHECK-DAG: cs.update_rows "wide" by mean from @step {{.*}} chunk 1 :

func.func @step(%w: tensor<50000x16xf32> {cs.param = "many", cs.row_sparse}, %u: tensor<4x40000xf32> {cs.param = "wide", cs.row_sparse},
                %a: tensor<4xi32> {cs.batch = "a"})
    -> (tensor<50000x16xf32> {cs.updates = "many"}, tensor<4x40000xf32> {cs.updates = "wide"}) attributes {cs.step} {
  %e = cs.lookup %w, %a : (tensor<50000x16xf32>, tensor<4xi32>) -> tensor<4x16xf32>
  %x = cs.lookup %u, %a : (tensor<4x40000xf32>, tensor<4xi32>) -> tensor<4x40000xf32>
  %g = cs.segment_sum %a, %e : (tensor<4xi32>, tensor<4x16xf32>) -> tensor<50000x16xf32>
  %h = cs.segment_sum %a, %x : (tensor<4xi32>, tensor<4x40000xf32>) -> tensor<4x40000xf32>
  %g1 = cs.gradient %g of "many" : tensor<50000x16xf32>
  %h1 = cs.gradient %h of "wide" : tensor<4x40000xf32>
  %n = arith.subf %w, %g1 : tensor<50000x16xf32>
  %l = arith.subf %u, %h1 : tensor<4x40000xf32>
  return %n, %l : tensor<50000x16xf32>, tensor<4x40000xf32>
}

//--- mask.mlir

// A norm of each row is row by row; a constant with the table's rows goes with them,
// and stays as it is.
// CHECK: %[[N:.*]]:2 = cs.update_rows "w" by mean from @step rows (%{{.*}}, %{{.*}}) chunk 8
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<8x2xf32>, %{{.*}}: tensor<8x2xf32>, %[[MASK:.*]]: tensor<8x2xf32>):
// CHECK: cs.return %{{.*}}, %[[MASK]]
// CHECK: return %[[N]]#0 :

func.func @step(%w: tensor<8x2xf32> {cs.param = "w", cs.row_sparse}, %mask: tensor<8x2xf32> {cs.state = "mask"},
                %ids: tensor<4xi32> {cs.batch = "ids"})
    -> (tensor<8x2xf32> {cs.updates = "w"}) attributes {cs.step} {
  %e = cs.lookup %w, %ids : (tensor<8x2xf32>, tensor<4xi32>) -> tensor<4x2xf32>
  %g = cs.segment_sum %ids, %e : (tensor<4xi32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %g1 = cs.gradient %g of "w" : tensor<8x2xf32>
  %masked = arith.mulf %g1, %mask : tensor<8x2xf32>
  %zero = arith.constant 0.0 : f32
  %n0 = tensor.empty() : tensor<8xf32>
  %n1 = linalg.fill ins(%zero : f32) outs(%n0 : tensor<8xf32>) -> tensor<8xf32>
  %norm = linalg.reduce ins(%masked : tensor<8x2xf32>) outs(%n1 : tensor<8xf32>) dimensions = [1]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
  %b0 = tensor.empty() : tensor<8x2xf32>
  %norms = linalg.broadcast ins(%norm : tensor<8xf32>) outs(%b0 : tensor<8x2xf32>) dimensions = [1]
  %s = arith.divf %masked, %norms : tensor<8x2xf32>
  %n = arith.subf %w, %s : tensor<8x2xf32>
  return %n : tensor<8x2xf32>
}
