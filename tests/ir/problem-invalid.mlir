// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// expected-error @below {{must have a cs.problem.compute}}
cs.problem @empty {
}

// -----

// expected-error @below {{must have 1 to 4096 streams, got: 0}}
cs.problem @streams streams 0 {
  %a = cs.problem.compute "a" ns 1
}

// -----

// expected-error @below {{memory limit must not be negative, got: -1}}
cs.problem @limit memory_limit -1 {
  %a = cs.problem.compute "a" ns 1
}

// -----

cs.problem @foreign {
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{'builtin.unrealized_conversion_cast' op is not part of a scheduling problem}}
  %x = builtin.unrealized_conversion_cast to none
}

// -----

// expected-error @below {{'cs.problem.compute' op expects parent op 'cs.problem'}}
%a = cs.problem.compute "a" ns 1

// -----

cs.problem @link {
  // expected-error @below {{bytes per second must be positive, got: 0}}
  %l = cs.problem.link "l" bytes_per_second 0
  %a = cs.problem.compute "a" ns 1
}

// -----

cs.problem @packets {
  // expected-error @below {{cs.packet_bytes must be an i64 of 0 to 1099511627776, got: 64 : i32}}
  %l = cs.problem.link "l" bytes_per_second 1 {cs.packet_bytes = 64 : i32}
  %a = cs.problem.compute "a" ns 1
}

// -----

cs.problem @packets {
  // expected-error @below {{cs.ahead_bytes must be an i64 of 0 to 1099511627776, got: -1 : i64}}
  %l = cs.problem.link "l" bytes_per_second 1 {cs.packet_bytes = 64, cs.ahead_bytes = -1}
  %a = cs.problem.compute "a" ns 1
}

// -----

cs.problem @packets {
  // expected-error @below {{cs.peers must be an i64 of 1 to 30, got: 0 : i64}}
  %l = cs.problem.link "l" bytes_per_second 1 {cs.peers = 0}
  %a = cs.problem.compute "a" ns 1
}

// -----

cs.problem @packets {
  // expected-error @below {{cs.rounds must be an i64 of 1 to 1024, got: 1025 : i64}}
  %l = cs.problem.link "l" bytes_per_second 1 {cs.rounds = 1025}
  %a = cs.problem.compute "a" ns 1
}

// -----

cs.problem @packets {
  // expected-error @below {{cs.once_bytes must be an i64 of 0 to 1099511627776, got: -1 : i64}}
  %l = cs.problem.link "l" bytes_per_second 1 {cs.once_bytes = -1}
  %a = cs.problem.compute "a" ns 1
}

// -----

cs.problem @time {
  // expected-error @below {{time must not be negative, got: -1}}
  %a = cs.problem.compute "a" ns -1
}

// -----

cs.problem @memory {
  // expected-error @below {{extra bytes must not be negative, got: -2}}
  %a = cs.problem.compute "a" ns 1 extra_bytes -2
}

// -----

cs.problem @stream streams 2 {
  // expected-error @below {{stream must be from 0 to 1, got: 2}}
  %a = cs.problem.compute "a" ns 1 stream 2
}

// -----

cs.problem @order {
  // expected-error @below {{must come after "b", which it waits for}}
  %a = cs.problem.compute "a" ns 1 after (%b)
  %b = cs.problem.compute "b" ns 1
}

// -----

cs.problem @wrong_input {
  %l = cs.problem.link "l" bytes_per_second 1
  // expected-error @below {{input 0 must be a cs.problem.compute, got: cs.problem.link}}
  %a = cs.problem.compute "a" ns 1 after (%l)
}

// -----

cs.problem @bytes {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{bytes must be positive, got: 0}}
  %w = cs.problem.communication "w" bytes 0 from (%a) through (%l)
}

// -----

cs.problem @no_producer {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{must come from a cs.problem.compute}}
  %w = cs.problem.communication "w" bytes 1 from () through (%l)
}

// -----

cs.problem @no_link {
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{must go through a cs.problem.link}}
  %w = cs.problem.communication "w" bytes 1 from (%a) through ()
}

// -----

cs.problem @swapped {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{producer 0 must be a cs.problem.compute, got: cs.problem.link}}
  %w = cs.problem.communication "w" bytes 1 from (%l) through (%a)
}

// -----

cs.problem @not_a_link {
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{link 0 must be a cs.problem.link, got: cs.problem.compute}}
  %w = cs.problem.communication "w" bytes 1 from (%a) through (%a)
}

// -----

cs.problem @costs {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{latency of link 1 must not be negative, got: -5}}
  %w = cs.problem.communication "w" bytes 1 from (%a) through (%l, %l latency_ns -5)
}

// -----

cs.problem @updates {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{update of link 0 must not be negative, got: -6}}
  %x = cs.problem.communication "x" bytes 1 from (%a) through (%l update_ns -6)
}

// -----

cs.problem @early {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  %b = cs.problem.compute "b" ns 1
  // expected-error @below {{goes to "a" in the same step, which must come after "b"}}
  %w = cs.problem.communication "w" bytes 1 from (%b) to (next %a, %a) through (%l)
}

// -----

cs.problem @kinds {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-note @below {{which is here}}
  %v = cs.problem.communication "v" bytes 1 from (%a) through (%l overhead_ns 3)
  %other = cs.problem.communication "other" bytes 1 from (%a) through (%l) kind 1
  // expected-error @below {{must match links, overheads, latencies, connection and whether there is a tail of "v", which is of the same kind}}
  %w = cs.problem.communication "w" bytes 1 from (%a) through (%l bytes 7 overhead_ns 4)
}

// -----

cs.problem @avoidable {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{avoidable latency of link 0 must be at most 2, got: 3}}
  %v = cs.problem.communication "v" bytes 1 from (%a) through (%l overhead_ns 2 avoidable 2 latency_ns 2 avoidable 3)
}

// -----

cs.problem @avoidable_bytes {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{cs.avoidable_bytes must be an array<i64> of 0 to the bytes of each of 1 links, got: array<i64: 2>}}
  %v = cs.problem.communication "v" bytes 1 from (%a) through (%l) {cs.avoidable_bytes = array<i64: 2>}
}

// -----

cs.problem @avoidable_update {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{cs.avoidable_update_ns must be an array<i64> of 0 to the update of each of 1 links, got: array<i64: 8>}}
  %v = cs.problem.communication "v" bytes 1 from (%a) through (%l update_ns 7) {cs.avoidable_update_ns = array<i64: 8>}
}

// -----

cs.problem @avoidable_compute {
  // expected-error @below {{cs.avoidable_ns must be an i64 of 0 to 7, got: 8 : i64}}
  %a = cs.problem.compute "a" ns 7 {cs.avoidable_ns = 8 : i64}
}

// -----

cs.problem @shared {
  // expected-error @below {{shared_ns must be 0 to 3, got: 4}}
  %a = cs.problem.compute "a" ns 3 shared_ns 4
}

// -----

cs.problem @kind {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{kind must be from 0 to 4294967295, got: -1}}
  %v = cs.problem.communication "v" bytes 1 from (%a) through (%l) kind -1
}

// -----

cs.problem @generic {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{must say of 1 consumers whether they are of the next step, got: 0}}
  %v = "cs.problem.communication"(%a, %a, %l) <{label = "v", bytes = 1 : i64, next_step = array<i1>,
    stage_bytes = array<i64: 1>, overhead_ns = array<i64: 0>, latency_ns = array<i64: 0>,
    avoidable_overhead_ns = array<i64: 0>, avoidable_latency_ns = array<i64: 0>, update_ns = array<i64: 0>,
    operandSegmentSizes = array<i32: 1, 1, 1>}> : (none, none, none) -> none
}

// -----

cs.problem @generic_stages {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{must have overhead for 1 links, got: 2}}
  %v = "cs.problem.communication"(%a, %l) <{label = "v", bytes = 1 : i64, next_step = array<i1>,
    stage_bytes = array<i64: 1>, overhead_ns = array<i64: 0, 0>, latency_ns = array<i64: 0>,
    avoidable_overhead_ns = array<i64: 0>, avoidable_latency_ns = array<i64: 0>, update_ns = array<i64: 0>,
    operandSegmentSizes = array<i32: 1, 0, 1>}> : (none, none) -> none
}

// -----

cs.problem @time_of_solution {
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{period must be finite and not negative, got: -1.000000e+00}}
  cs.solution "s" period_ns -1 {
  }
}

// -----

cs.problem @foreign_part {
  %a = cs.problem.compute "a" ns 1
  cs.solution "s" {
    // expected-error @below {{'builtin.unrealized_conversion_cast' op is not part of a solution}}
    %x = builtin.unrealized_conversion_cast to none
  }
}

// -----

cs.problem @two_orders {
  %a = cs.problem.compute "a" ns 1
  cs.solution "s" {
    cs.solution.order stream 0 (%a)
    // expected-error @below {{stream 0 has an order already}}
    cs.solution.order stream 0 (%a)
  }
}

// -----

cs.problem @stream_of_order {
  %a = cs.problem.compute "a" ns 1
  cs.solution "s" {
    // expected-error @below {{stream must be from 0 to 0, got: 1}}
    cs.solution.order stream 1 (%a)
  }
}

// -----

cs.problem @two_credits {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  cs.solution "s" {
    cs.solution.credit %l bytes 1
    // expected-error @below {{the link has a credit already}}
    cs.solution.credit %l bytes 1
  }
}

// -----

cs.problem @credit {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  cs.solution "s" {
    // expected-error @below {{bytes must not be negative, got: -1}}
    cs.solution.credit %l bytes -1
  }
}

// -----

cs.problem @piece {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  cs.solution "s" {
    // expected-error @below {{piece 0 must be a cs.problem.communication, got: cs.problem.compute}}
    cs.solution.message (%a[0, 1]) priorities [1]
  }
}

// -----

cs.problem @ranges {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  %w = cs.problem.communication "w" bytes 1 from (%a) through (%l)
  cs.solution "s" {
    // expected-error @below {{must have begin and end for 1 pieces, got: 1 numbers}}
    "cs.solution.message"(%w) <{ranges = array<i64: 0>, priorities = array<i64: 0>}> : (none) -> ()
  }
}

// -----

cs.problem {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{tail must be 0 to 2 bytes, those of the last link, got: 3}}
  %w = cs.problem.communication "w" bytes 4 from (%a) through (%l bytes 2) tail 3
}

// -----

cs.problem {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-note @below {{which is here}}
  %v = cs.problem.communication "v" bytes 4 from (%a) through (%l) tail 3
  // expected-error @below {{must match links, overheads, latencies, connection and whether there is a tail of "v", which is of the same kind}}
  %w = cs.problem.communication "w" bytes 4 from (%a) through (%l)
}

// -----

cs.problem {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-note @below {{which is here}}
  %v = cs.problem.communication "v" bytes 4 from (%a) through (%l) connection 1
  // expected-error @below {{must match links, overheads, latencies, connection and whether there is a tail of "v", which is of the same kind}}
  %w = cs.problem.communication "w" bytes 4 from (%a) through (%l) connection 2
}

// -----

cs.problem {
  %l = cs.problem.link "l" bytes_per_second 1
  %a = cs.problem.compute "a" ns 1
  // expected-error @below {{connection must be from 0 to 4294967295, got: -1}}
  %v = cs.problem.communication "v" bytes 1 from (%a) through (%l) connection -1
}
