// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-translate --mlir-to-plan --split-input-file --verify-diagnostics %s

cs.cluster @c nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!i = !cs.placed<tensor<4xi32>, device 0>
!v = !cs.placed<tensor<4x2xf32>, device 0>
!w = !cs.placed<tensor<8x2xf32>, device 0>
func.func @step(%i: !i {cs.batch = "i"}, %v: !v {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  %s = cs.start "u" (%i, %v) : (!i, !v) -> !cs.future<!v> {
  ^bb0(%j: !i, %x: !v):
    // expected-error@+1 {{"u" is not updated by @server.0; run --verify-distributed}}
    cs.send_rows "u" %j, %x to [@server.0] rows [0, 8] : !i, !v
    cs.return %x : !v
  }
  %d = cs.await %s : !cs.future<!v>
  return
}
func.func @server.0(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.server = 0 : i64} {
  %n = cs.update_rows "w" by mean from @step rows (%w) chunk 8 : (!w) {
  ^bb0(%g: tensor<8x2xf32>, %r: tensor<8x2xf32>):
    cs.return %g : tensor<8x2xf32>
  }
  cs.publish "w.new" %n to @step : !w
  return %n : !w
}

// -----

// What reads new rows cannot run with them.
cs.cluster @c nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8x2xf32>, device 0>
func.func @step() attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return
}
func.func @server.0(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.server = 0 : i64} {
  %n = cs.update_rows "w" by mean from @step rows (%w) chunk 8 : (!w) {
  ^bb0(%g: tensor<8x2xf32>, %r: tensor<8x2xf32>):
    cs.return %g : tensor<8x2xf32>
  }
  // expected-error@+1 {{needs what the rows of "w" become, and nothing but a cs.publish of the table can: they are updated by themselves}}
  %f = cs.fragment "more" on 0 (%n) cost <flops = 1, bytes = 1, ns = 0> : (!w) -> !w
  cs.publish "w.new" %f to @step : !w
  return %n : !w
}

// -----

cs.cluster @c nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8x2xf32>, device 0>
func.func @step() attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return
}
func.func @server.0(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{has no cs.publish that depends on it}}
  %n = cs.update_rows "w" by mean from @step rows (%w) chunk 8 : (!w) {
  ^bb0(%g: tensor<8x2xf32>, %r: tensor<8x2xf32>):
    cs.return %g : tensor<8x2xf32>
  }
  return %n : !w
}

// -----

cs.cluster @c nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8x2xf32>, device 0>
func.func @step() attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return
}
func.func @server.0(%w: !w {cs.param = "w"}, %m: !w {cs.state = "m"}) -> (!w {cs.updates = "m"}, !w {cs.updates = "w"})
    attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{makes new rows of another slot than "server.0/m", which the function updates with them}}
  %n:2 = cs.update_rows "w" by mean from @step rows (%w, %m) chunk 8 : (!w, !w) {
  ^bb0(%g: tensor<8x2xf32>, %r: tensor<8x2xf32>, %s: tensor<8x2xf32>):
    cs.return %g, %g : tensor<8x2xf32>, tensor<8x2xf32>
  }
  cs.publish "w.new" %n#0 to @step : !w
  return %n#0, %n#1 : !w, !w
}

// -----

cs.cluster @c nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8x2xf32>, device 0>
func.func @step() attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return
}
func.func @server.0(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "w"}) attributes {cs.server = 0 : i64} {
  %f = cs.fragment "schedule" on 0 (%w) cost <flops = 1, bytes = 1, ns = 0> : (!w) -> !w
  // expected-error@+1 {{must update rows of the function's arguments}}
  %n = cs.update_rows "w" by mean from @step rows (%f) chunk 8 : (!w) {
  ^bb0(%g: tensor<8x2xf32>, %r: tensor<8x2xf32>):
    cs.return %g : tensor<8x2xf32>
  }
  cs.publish "w.new" %n to @step : !w
  return %n : !w
}

// -----

cs.cluster @c nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!w = !cs.placed<tensor<8x2xf32>, device 0>
func.func @step() attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  return
}
func.func @server.0(%w: !w {cs.param = "w"}, %m: !w {cs.state = "m"}) -> (!w {cs.updates = "w"}, !w {cs.updates = "m"})
    attributes {cs.server = 0 : i64} {
  %f = cs.fragment "schedule" on 0 (%m) cost <flops = 1, bytes = 1, ns = 0> : (!w) -> !w
  // expected-error@+1 {{updates rows of "server.0/m", which is also updated as a whole}}
  %n:2 = cs.update_rows "w" by mean from @step rows (%w, %m) chunk 8 : (!w, !w) {
  ^bb0(%g: tensor<8x2xf32>, %r: tensor<8x2xf32>, %s: tensor<8x2xf32>):
    cs.return %g, %g : tensor<8x2xf32>, tensor<8x2xf32>
  }
  cs.publish "w.new" %n#0 to @step : !w
  return %n#0, %f : !w, !w
}
