/* Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Fragments for hand-built plans. Sizes come in as a tensor, because one
 * object serves plans of all sizes. */
#include "plan/fragment_abi.h"

/* n: i32[], a: f32[n], b: f32[n] -> a + b */
void add(struct CsFragmentContext *c, void **p) {
  int n = *(int *)p[0];
  const float *a = p[1], *b = p[2];
  float *out = p[3];
  for (int i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

/* n: i32[], a: f32[n] -> 2 a */
void twice(struct CsFragmentContext *c, void **p) {
  int n = *(int *)p[0];
  const float *a = p[1];
  float *out = p[2];
  for (int i = 0; i < n; ++i) out[i] = 2 * a[i];
}

/* n: i32[], a: f32[n] -> sum f32[] */
void sum(struct CsFragmentContext *c, void **p) {
  int n = *(int *)p[0];
  const float *a = p[1];
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[i];
  *(float *)p[2] = s;
}

/* a: f32[2,3], b: f32[3,2] -> f32[2,2], through kernel 0 */
void product(struct CsFragmentContext *c, void **p) {
  c->call_kernel(c, 0, p);
}

/* Calls a kernel that no plan has. */
void bad_kernel(struct CsFragmentContext *c, void **p) {
  c->call_kernel(c, 1000, p);
}

/* n: i32[], a: f32[n] -> f32[]. Fails as bad_kernel does if a[0] < 0. */
void picky(struct CsFragmentContext *c, void **p) {
  if (*(float *)p[1] < 0) c->call_kernel(c, 1000, p);
  *(float *)p[2] = 0;
}
