/* Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The calling convention between the runtime and the compiled fragments of a
 * plan. Fragments are position-independent and import nothing but libm and
 * memcpy/memset/memmove of the C library; everything else is reached through
 * the context, so that a plan loads into any process, Python included.
 */
#ifndef COMMSCHED_PLAN_FRAGMENT_ABI_H
#define COMMSCHED_PLAN_FRAGMENT_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One per compute stream; not shared between threads. Layout is part of the
 * plan's schema: fields are only appended. */
struct CsFragmentContext {
  /* Runs kernel `index` of Plan.kernels on `operands`, in the order of
   * Kernel.operands: addresses of the first element of each. */
  void (*call_kernel)(struct CsFragmentContext *context, int32_t index,
                      void **operands);
  /* Function.scratch_bytes bytes, 64-byte aligned; content undefined. */
  void *scratch;
  /* For the runtime. */
  void *user;
};

/* A fragment: `buffers` are the addresses of Run.inputs, then Run.outputs.
 * Inputs are not written. Outputs do not overlap inputs or each other. */
typedef void (*CsFragmentFn)(struct CsFragmentContext *context, void **buffers);

#ifdef __cplusplus
}
#endif

#endif /* COMMSCHED_PLAN_FRAGMENT_ABI_H */
