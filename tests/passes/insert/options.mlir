// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: not cs-opt --insert-dist-comm=mode=parameter-server %s 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not cs-opt --insert-dist-comm=reduction=max %s 2>&1 | FileCheck %s --check-prefix=REDUCTION
// MODE: error: insert-dist-comm: mode must be all-reduce, got: parameter-server
// REDUCTION: error: insert-dist-comm: reduction must be mean or sum, got: max
module {}
