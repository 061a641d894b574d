// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-solution --split-input-file --verify-diagnostics %s

// Bounds may be lower than what is proved, and nothing needs to be recorded.
cs.problem @good {
  %net = cs.problem.link "net" bytes_per_second 1000000000
  %a = cs.problem.compute "a" ns 3
  %b = cs.problem.compute "b" ns 2 after (%a)
  %w = cs.problem.communication "w" bytes 4 from (%b) to (next %a) through (%net overhead_ns 1)
  cs.solution "whole" period_ns 10 bound_ns 10 any_order_bound_ns 9 {
    cs.solution.message (%w[0, 4]) priorities [2]
  }
  cs.solution "halves" period_ns 11 {
    cs.solution.credit %net bytes 0
    cs.solution.message (%w[2, 4]) priorities [2]
    cs.solution.message (%w[0, 2]) priorities [3]
  }
  cs.solution "nothing recorded" {
    cs.solution.message (%w[0, 4]) priorities [2]
  }
}

// -----

cs.problem @missing {
  %net = cs.problem.link "net" bytes_per_second 1000000000
  %a = cs.problem.compute "a" ns 3
  %w = cs.problem.communication "w" bytes 4 from (%a) to (next %a) through (%net)
  // expected-error @below {{is not a schedule of the problem: bytes from 3 of communication 0 must be sent exactly once}}
  cs.solution "s" {
    cs.solution.message (%w[0, 3]) priorities [2]
  }
  // Every solution is looked at.
  // expected-error @below {{is not a schedule of the problem: message 0 must have 1 priorities, got: 2}}
  cs.solution "t" {
    cs.solution.message (%w[0, 4]) priorities [2, 3]
  }
}

// -----

cs.problem @order {
  %a = cs.problem.compute "a" ns 3
  %b = cs.problem.compute "b" ns 3 after (%a)
  // expected-error @below {{is not a schedule of the problem: op 0 waits for itself}}
  cs.solution "s" {
    cs.solution.order stream 0 (%b, %a)
  }
}

// -----

cs.problem @memory memory_limit 0 {
  %a = cs.problem.compute "a" ns 1 extra_bytes 8
  %b = cs.problem.compute "b" ns 1 after (%a)
  %c = cs.problem.compute "c" ns 1 extra_bytes 8
  %d = cs.problem.compute "d" ns 1 after (%c)
  // expected-error @below {{is not a schedule of the problem: the order must hold at most 8 bytes, got: 16}}
  cs.solution "s" {
    cs.solution.order stream 0 (%a, %c, %b, %d)
  }
}

// -----

cs.problem @period {
  %net = cs.problem.link "net" bytes_per_second 1000000000
  %a = cs.problem.compute "a" ns 3
  %w = cs.problem.communication "w" bytes 4 from (%a) to (next %a) through (%net)
  // expected-error @below {{period_ns must match that of the schedule, 7, got: 6.5}}
  cs.solution "s" period_ns 6.5 {
    cs.solution.message (%w[0, 4]) priorities [2]
  }
}

// -----

cs.problem @bound {
  %net = cs.problem.link "net" bytes_per_second 1000000000
  %a = cs.problem.compute "a" ns 3
  %w = cs.problem.communication "w" bytes 4 from (%a) to (next %a) through (%net)
  // expected-error @below {{bound_ns must be at most 7, which is proved, got: 8}}
  cs.solution "s" period_ns 7 bound_ns 8 {
    cs.solution.message (%w[0, 4]) priorities [2]
  }
}

// -----

cs.problem @any_order_bound {
  %net = cs.problem.link "net" bytes_per_second 1000000000
  %a = cs.problem.compute "a" ns 3
  %w = cs.problem.communication "w" bytes 4 from (%a) to (next %a) through (%net)
  // expected-error @below {{any_order_bound_ns must be at most 7, which is proved, got: 7.5}}
  cs.solution "s" any_order_bound_ns 7.5 {
    cs.solution.message (%w[0, 4]) priorities [2]
  }
}

// -----

// expected-error @below {{op 1 ('b'): the step takes too long to be counted in nanoseconds}}
cs.problem @long {
  %a = cs.problem.compute "a" ns 1
  %b = cs.problem.compute "b" ns 9223372036854775807
}
