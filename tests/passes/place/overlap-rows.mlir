// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --schedule-comm --overlap-rpc-memcpy=mode=overlap --verify-distributed %s | FileCheck %s
// RUN: cs-opt --schedule-comm --overlap-rpc-memcpy=mode=in-line --verify-distributed %s | FileCheck %s --check-prefix=IN-LINE
// RUN: not cs-opt --schedule-comm --overlap-rpc-memcpy="mode=overlap staging-bytes=4096" %s 2>&1 | FileCheck %s --check-prefix=BOUND

// Of rows of a table that are sent, the indices are copied to the host as well; of those that are
// fetched, the indices are copied to the host, and the rows to the device.

!ids = !cs.placed<tensor<12xi32>, device 0>
!rows = !cs.placed<tensor<12x4xf32>, device 0>
!table = !cs.placed<tensor<50x4xf32>, device 0>

cs.cluster @node nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[IDS:[^:]*]]: !cs.placed<tensor<12xi32>, device 0>
// CHECK-DAG: %[[F:.*]] = cs.start "table.to_host{{(.2)?}}" (%[[IDS]]) : ({{.*}}) -> !cs.future<!cs.placed<tensor<12xi32>, device 0 host>>
// CHECK: cs.fetch_rows "table" {{.*}} : (!cs.placed<tensor<12xi32>, device 0 host>) -> !cs.placed<tensor<12x4xf32>, device 0 host>
// CHECK: cs.start "table.to_device"
// CHECK: %[[G:.*]] = cs.fragment "f"
// CHECK: cs.start "table.to_host.{{[23]}}" {{.*}}(%[[G]]) : ({{.*}}) -> !cs.future<!cs.placed<tensor<12x4xf32>, device 0 host>>
// CHECK: cs.send_rows "table" {{.*}} : !cs.placed<tensor<12xi32>, device 0 host>, !cs.placed<tensor<12x4xf32>, device 0 host>

// IN-LINE: cs.fetch_rows "table" {{.*}} : (!cs.placed<tensor<12xi32>, device 0 host>) -> !cs.placed<tensor<12x4xf32>, device 0 host>
// IN-LINE: cs.send_rows "table" {{.*}} : !cs.placed<tensor<12xi32>, device 0 host>, !cs.placed<tensor<12x4xf32>, device 0 host>

// BOUND: error: 'cs.start' op sends rows of a table, which staging memory with a bound has no place for
func.func @step(%ids: !ids {cs.batch = "ids"}, %y: !rows {cs.batch = "y"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %v = cs.fetch_rows "table" %ids from [@server.0] rows [0, 50] : (!ids) -> !rows
  %g = cs.fragment "f" on 0 (%v, %y) cost <flops = 1, bytes = 1, ns = 0> : (!rows, !rows) -> !rows
  cs.send_rows "table" %ids, %g to [@server.0] rows [0, 50] : !ids, !rows
  return
}

func.func @server.0(%t: !table {cs.param = "table"}) -> (!table {cs.updates = "table"}) attributes {cs.server = 0 : i64} {
  %n = cs.update_rows "table" by mean from @step rows (%t) chunk 50 : (!table) {
  ^bb0(%g: tensor<50x4xf32>, %old: tensor<50x4xf32>):
    %new = arith.subf %old, %g : tensor<50x4xf32>
    cs.return %new : tensor<50x4xf32>
  }
  cs.publish "table.new" %n to @step : !table
  return %n : !table
}
