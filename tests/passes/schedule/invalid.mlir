// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --schedule-comm --split-input-file --verify-diagnostics %s

!t = !cs.placed<tensor<4xf32>, device 0>
func.func @scheduled(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{must not be there yet: the module is scheduled}}
  %f = cs.start "a" (%x) : (!t) -> !cs.future<!t> {
  ^bb0(%y: !t):
    %r = cs.all_reduce "a" sum %y : !t
    cs.return %r : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}

// -----

func.func @level0(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"}) attributes {cs.step} {
  // expected-error @below {{must have been replaced: run --insert-dist-comm first}}
  %g = cs.gradient %x of "w" : tensor<4xf32>
  return
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
func.func @send(%x: !t {cs.batch = "x"}) {
  // expected-error @below {{cannot be scheduled: must be a collective, or a message to or from a parameter server}}
  cs.send "a" %x to affine_map<(r) -> (r)> : !t
  return
}

// -----

// expected-error @below {{must have one block}}
func.func @blocks(%x: !cs.placed<tensor<4xf32>, device 0>) {
  cf.br ^bb1
^bb1:
  return
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
func.func @early(%a: !t {cs.param = "a"}) -> (!t {cs.updates = "a"})
    attributes {cs.step, cs.servers = #cs.servers<count = 1, sync_mode = sync, merge = 1>} {
  // expected-error @below {{'cs.recv' op must come after the cs.send "a" whose update it receives}}
  %r = cs.recv "a.new" from affine_map<(r) -> (0)> of @server.0 : !t
  // expected-note @below {{which is here}}
  cs.send "a" %a to affine_map<(r) -> (0)> of @server.0 : !t
  return %r : !t
}
func.func @server.0(%w: !t {cs.param = "a"}) -> (!t {cs.updates = "a"}) attributes {cs.server = 0 : i64} {
  %g = cs.collect "a" by mean from @early : !t
  cs.publish "a.new" %g to @early : !t
  return %g : !t
}

// -----

!t = !cs.placed<tensor<4xf32>, device 0>
func.func @keeps(%a: !t {cs.param = "a"}, %b: !t {cs.param = "b"}) {
  // expected-error @below {{'cs.start' op of a send must give back what it sends}}
  %f = cs.start "a" (%a, %b) : (!t, !t) -> !cs.future<!t> {
  ^bb0(%x: !t, %y: !t):
    cs.send "a" %x to affine_map<(r) -> (0)> of @server.0 : !t
    cs.return %y : !t
  }
  %r = cs.await %f : !cs.future<!t>
  return
}
