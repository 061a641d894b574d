// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-distributed --split-input-file --verify-diagnostics %s

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{rows 5 to 7 of "w" must be those of "w.block1" on @server.1, which does not update it}}
  %e = cs.fetch_rows "w" %ids from [@server.0, @server.1] rows [0, 5, 8] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  cs.send_rows "w" %ids, %v to [@server.0, @server.1] rows [0, 5, 8] : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  return
}

func.func @server.0(%w: !cs.placed<tensor<5x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 5>}) -> (!cs.placed<tensor<5x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 0, 5>})
    attributes {cs.server = 0 : i64} {
  %n = cs.update_rows "w.block0" by mean from @step rows (%w) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  cs.publish "w.block0.new" %n to @step : !cs.placed<tensor<5x2xf32>, device 0>
  return %n : !cs.placed<tensor<5x2xf32>, device 0>
}

// expected-note@+1 {{the server's function is here}}
func.func @server.1(%w: !cs.placed<tensor<3x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 5, 8>}) -> (!cs.placed<tensor<3x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 5, 8>})
    attributes {cs.server = 1 : i64} {
  %n = cs.update_rows "w.block2" by mean from @step rows (%w) chunk 3 : (!cs.placed<tensor<3x2xf32>, device 0>) {
  ^bb0(%g: tensor<3x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<3x2xf32>
  }
  cs.publish "w.block2.new" %n to @step : !cs.placed<tensor<3x2xf32>, device 0>
  return %n : !cs.placed<tensor<3x2xf32>, device 0>
}

// -----

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{rows 0 to 3 of "w" must be those of "w.block0" on @server.0, which has 'tensor<5x2xf32>' there, got: 'tensor<4x2xf32>'}}
  %e = cs.fetch_rows "w" %ids from [@server.0, @server.1] rows [0, 4, 7] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  cs.send_rows "w" %ids, %v to [@server.0, @server.1] rows [0, 5, 8] : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  return
}

func.func @server.0(%w: !cs.placed<tensor<5x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 5>}) -> (!cs.placed<tensor<5x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 0, 5>})
    attributes {cs.server = 0 : i64} {
  // expected-note@+1 {{the other end is here}}
  %n = cs.update_rows "w.block0" by mean from @step rows (%w) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  cs.publish "w.block0.new" %n to @step : !cs.placed<tensor<5x2xf32>, device 0>
  return %n : !cs.placed<tensor<5x2xf32>, device 0>
}

func.func @server.1(%w: !cs.placed<tensor<3x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 5, 8>}) -> (!cs.placed<tensor<3x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 5, 8>})
    attributes {cs.server = 1 : i64} {
  %n = cs.update_rows "w.block1" by mean from @step rows (%w) chunk 3 : (!cs.placed<tensor<3x2xf32>, device 0>) {
  ^bb0(%g: tensor<3x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<3x2xf32>
  }
  cs.publish "w.block1.new" %n to @step : !cs.placed<tensor<3x2xf32>, device 0>
  return %n : !cs.placed<tensor<3x2xf32>, device 0>
}

// -----

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{rows 5 to 7 of "w" must be those of "w.block1" on @step, which is no parameter server}}
  %e = cs.fetch_rows "w" %ids from [@server.0, @step] rows [0, 5, 8] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  cs.send_rows "w" %ids, %v to [@server.0, @server.1] rows [0, 5, 8] : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  return
}

func.func @server.0(%w: !cs.placed<tensor<5x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 5>}) -> (!cs.placed<tensor<5x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 0, 5>})
    attributes {cs.server = 0 : i64} {
  %n = cs.update_rows "w.block0" by mean from @step rows (%w) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  cs.publish "w.block0.new" %n to @step : !cs.placed<tensor<5x2xf32>, device 0>
  return %n : !cs.placed<tensor<5x2xf32>, device 0>
}

func.func @server.1(%w: !cs.placed<tensor<3x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 5, 8>}) -> (!cs.placed<tensor<3x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 5, 8>})
    attributes {cs.server = 1 : i64} {
  %n = cs.update_rows "w.block1" by mean from @step rows (%w) chunk 3 : (!cs.placed<tensor<3x2xf32>, device 0>) {
  ^bb0(%g: tensor<3x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<3x2xf32>
  }
  cs.publish "w.block1.new" %n to @step : !cs.placed<tensor<3x2xf32>, device 0>
  return %n : !cs.placed<tensor<3x2xf32>, device 0>
}

// -----

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = async, merge = 1>} {
  %e = cs.fetch_rows "w" %ids from [@server.0, @server.1] rows [0, 5, 8] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  cs.send_rows "w" %ids, %v to [@server.0, @server.1] rows [0, 5, 8] : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  return
}

func.func @server.0(%w: !cs.placed<tensor<5x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 5>}) -> (!cs.placed<tensor<5x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 0, 5>})
    attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{must take each message by itself in mode async}}
  %n = cs.update_rows "w.block0" by mean from @step rows (%w) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  cs.publish "w.block0.new" %n to @step : !cs.placed<tensor<5x2xf32>, device 0>
  return %n : !cs.placed<tensor<5x2xf32>, device 0>
}

func.func @server.1(%w: !cs.placed<tensor<3x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 5, 8>}) -> (!cs.placed<tensor<3x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 5, 8>})
    attributes {cs.server = 1 : i64} {
  %n = cs.update_rows "w.block1" each from @step rows (%w) chunk 3 : (!cs.placed<tensor<3x2xf32>, device 0>) {
  ^bb0(%g: tensor<3x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<3x2xf32>
  }
  cs.publish "w.block1.new" %n to @step : !cs.placed<tensor<3x2xf32>, device 0>
  return %n : !cs.placed<tensor<3x2xf32>, device 0>
}

// -----

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  %e = cs.fetch_rows "w" %ids from [@server.0, @server.1] rows [0, 5, 8] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  cs.send_rows "w" %ids, %v to [@server.0, @server.1] rows [0, 5, 8] : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  return
}

func.func @server.0(%w: !cs.placed<tensor<5x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 5>}) -> (!cs.placed<tensor<5x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 0, 5>})
    attributes {cs.server = 0 : i64} {
  %n = cs.update_rows "w.block0" by mean from @step rows (%w) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  cs.publish "w.block0.new" %n to @step : !cs.placed<tensor<5x2xf32>, device 0>
  return %n : !cs.placed<tensor<5x2xf32>, device 0>
}

func.func @server.1(%w: !cs.placed<tensor<3x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 5, 8>}) -> (!cs.placed<tensor<3x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 5, 8>})
    attributes {cs.server = 1 : i64} {
  // expected-error@+1 {{must combine what all trainers send in mode sync}}
  %n = cs.update_rows "w.block1" each from @step rows (%w) chunk 3 : (!cs.placed<tensor<3x2xf32>, device 0>) {
  ^bb0(%g: tensor<3x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<3x2xf32>
  }
  cs.publish "w.block1.new" %n to @step : !cs.placed<tensor<3x2xf32>, device 0>
  return %n : !cs.placed<tensor<3x2xf32>, device 0>
}

// -----

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// expected-note@+1 {{the trainer is here}}
func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  %e = cs.fetch_rows "w" %ids from [@server.0, @server.1] rows [0, 5, 8] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  // nothing
  return
}

func.func @server.0(%w: !cs.placed<tensor<5x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 5>}) -> (!cs.placed<tensor<5x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 0, 5>})
    attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{@server.0 updates "w.block0", which rank 0 of @step does not send}}
  %n = cs.update_rows "w.block0" by mean from @step rows (%w) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  cs.publish "w.block0.new" %n to @step : !cs.placed<tensor<5x2xf32>, device 0>
  return %n : !cs.placed<tensor<5x2xf32>, device 0>
}

func.func @server.1(%w: !cs.placed<tensor<3x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 5, 8>}) -> (!cs.placed<tensor<3x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 5, 8>})
    attributes {cs.server = 1 : i64} {
  %n = cs.update_rows "w.block1" by mean from @step rows (%w) chunk 3 : (!cs.placed<tensor<3x2xf32>, device 0>) {
  ^bb0(%g: tensor<3x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<3x2xf32>
  }
  cs.publish "w.block1.new" %n to @step : !cs.placed<tensor<3x2xf32>, device 0>
  return %n : !cs.placed<tensor<3x2xf32>, device 0>
}

// -----

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  // expected-error@+1 {{must wait for the cs.fetch_rows of "w", which gets what the steps before have left}}
  cs.send_rows "w" %ids, %v to [@server.0, @server.1] rows [0, 5, 8] : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  // expected-note@+1 {{the cs.fetch_rows is here}}
  %e = cs.fetch_rows "w" %ids from [@server.0, @server.1] rows [0, 5, 8] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  return
}

func.func @server.0(%w: !cs.placed<tensor<5x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 5>}) -> (!cs.placed<tensor<5x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 0, 5>})
    attributes {cs.server = 0 : i64} {
  %n = cs.update_rows "w.block0" by mean from @step rows (%w) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  cs.publish "w.block0.new" %n to @step : !cs.placed<tensor<5x2xf32>, device 0>
  return %n : !cs.placed<tensor<5x2xf32>, device 0>
}

func.func @server.1(%w: !cs.placed<tensor<3x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 5, 8>}) -> (!cs.placed<tensor<3x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 5, 8>})
    attributes {cs.server = 1 : i64} {
  %n = cs.update_rows "w.block1" by mean from @step rows (%w) chunk 3 : (!cs.placed<tensor<3x2xf32>, device 0>) {
  ^bb0(%g: tensor<3x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<3x2xf32>
  }
  cs.publish "w.block1.new" %n to @step : !cs.placed<tensor<3x2xf32>, device 0>
  return %n : !cs.placed<tensor<3x2xf32>, device 0>
}

// -----

cs.cluster @c nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%ids: !cs.placed<tensor<4xi32>, device 0> {cs.batch = "ids"}, %v: !cs.placed<tensor<4x2xf32>, device 0> {cs.batch = "v"})
    attributes {cs.step, cs.servers = #cs.servers<count = 2, sync_mode = sync, merge = 1>} {
  %e = cs.fetch_rows "w" %ids from [@server.0, @server.1] rows [0, 5, 8] : (!cs.placed<tensor<4xi32>, device 0>) -> !cs.placed<tensor<4x2xf32>, device 0>
  cs.send_rows "w" %ids, %v to [@server.0, @server.1] rows [0, 5, 8] : !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4x2xf32>, device 0>
  return
}

func.func @server.0(%w: !cs.placed<tensor<5x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 0, 5>}) -> (!cs.placed<tensor<5x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 0, 5>})
    attributes {cs.server = 0 : i64} {
  // expected-error@+1 {{must name the trainers, @step, got: @server.1}}
  %n = cs.update_rows "w.block0" by mean from @server.1 rows (%w) chunk 5 : (!cs.placed<tensor<5x2xf32>, device 0>) {
  ^bb0(%g: tensor<5x2xf32>, %r: tensor<5x2xf32>):
    cs.return %g : tensor<5x2xf32>
  }
  cs.publish "w.block0.new" %n to @server.1 : !cs.placed<tensor<5x2xf32>, device 0>
  return %n : !cs.placed<tensor<5x2xf32>, device 0>
}

func.func @server.1(%w: !cs.placed<tensor<3x2xf32>, device 0> {cs.param = "w", cs.rows = array<i64: 5, 8>}) -> (!cs.placed<tensor<3x2xf32>, device 0> {cs.updates = "w", cs.rows = array<i64: 5, 8>})
    attributes {cs.server = 1 : i64} {
  %n = cs.update_rows "w.block1" by mean from @step rows (%w) chunk 3 : (!cs.placed<tensor<3x2xf32>, device 0>) {
  ^bb0(%g: tensor<3x2xf32>, %r: tensor<3x2xf32>):
    cs.return %g : tensor<3x2xf32>
  }
  cs.publish "w.block1.new" %n to @step : !cs.placed<tensor<3x2xf32>, device 0>
  return %n : !cs.placed<tensor<3x2xf32>, device 0>
}
