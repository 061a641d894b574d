// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not cs-opt --insert-dist-comm=mode=gossip %s 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not cs-opt --insert-dist-comm=reduction=max %s 2>&1 | FileCheck %s --check-prefix=REDUCTION
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server servers=0" %s 2>&1 | FileCheck %s --check-prefix=SERVERS
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server min-block-elements=0" %s 2>&1 | FileCheck %s --check-prefix=ELEMENTS
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server max-block-elements=8191" %s 2>&1 | FileCheck %s --check-prefix=MOST
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server sync-mode=lazy" %s 2>&1 | FileCheck %s --check-prefix=SYNC
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server sync-mode=async reduction=sum" %s 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server sync-mode=half-async merge=0" %s 2>&1 | FileCheck %s --check-prefix=MERGE
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server sync-mode=half-async merge=4294967297" %s 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server merge=2" %s 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server placement=random" %s 2>&1 | FileCheck %s --check-prefix=PLACEMENT
// RUN: not cs-opt --insert-dist-comm=servers=2 %s 2>&1 | FileCheck %s --check-prefix=NOSERVERS
// RUN: not cs-opt --insert-dist-comm="mode=parameter-server slice=false min-block-elements=1" %s 2>&1 | FileCheck %s --check-prefix=SLICE
// MODE: error: insert-dist-comm: mode must be all-reduce or parameter-server, got: gossip
// REDUCTION: error: insert-dist-comm: reduction must be mean or sum, got: max
// SERVERS: error: insert-dist-comm: servers must be 1 to 4096, got: 0
// ELEMENTS: error: insert-dist-comm: min-block-elements must be positive, got: 0
// MOST: error: insert-dist-comm: max-block-elements must be 0 or at least min-block-elements, 8192, got: 8191
// SYNC: error: insert-dist-comm: sync-mode must be sync, async or half-async, got: lazy
// SUM: error: insert-dist-comm: reduction must be mean with sync-mode=async, where no gradients of trainers combine, got: sum
// MERGE: error: insert-dist-comm: merge must be positive, got: 0
// MANY: error: insert-dist-comm: merge must be at most 4294967295, got: 4294967297
// ONE: error: insert-dist-comm: merge must be 1 but with sync-mode=half-async, got: 2
// PLACEMENT: error: insert-dist-comm: placement must be balanced, round-robin or hash, got: random
// NOSERVERS: error: insert-dist-comm: options of parameter servers must go with mode=parameter-server, got: all-reduce
// SLICE: error: insert-dist-comm: min-block-elements and max-block-elements must go with slice=true
module {}
