// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm="mode=parameter-server servers=2" %s | FileCheck %s

// Without a step there is nothing to serve, and no cluster.
// CHECK: module
// CHECK-NOT: cs.cluster
module {
}
