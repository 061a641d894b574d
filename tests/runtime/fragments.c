/* Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Fragments for hand-built plans. Sizes come in as a tensor, because one
 * object serves plans of all sizes. */
#include <xmmintrin.h>

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

/* At most some ten seconds, so that a test fails rather than hangs. */
#define SPINS 200000000L

static void wait_for(struct CsFragmentContext *c, const int *flag) {
  for (long i = 0; __atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0; ++i) {
    if (i == SPINS) {
      c->call_kernel(c, 1000, 0);
      return;
    }
    __builtin_ia32_pause();
  }
}

/* other: i32[] -> mine: i32[] = 1. Ends when both have begun: `other` is what
 * another meet writes. */
void meet(struct CsFragmentContext *c, void **p) {
  __atomic_store_n((int *)p[1], 1, __ATOMIC_RELEASE);
  wait_for(c, p[0]);
}

/* a: i32[], b: i32[] -> i32[] = 1, once a and b are not zero. */
void await_both(struct CsFragmentContext *c, void **p) {
  wait_for(c, p[0]);
  wait_for(c, p[1]);
  *(int *)p[2] = 1;
}

/* id: i32[], log: i32[n] -> log with id behind the log[0] entries. */
void note(struct CsFragmentContext *c, void **p) {
  int *log = p[2];
  log[++log[0]] = *(int *)p[0];
}

/* count: i32[] -> count + 1, rate f32[] = 1 / (2 + count) */
void schedule(struct CsFragmentContext *c, void **p) {
  int count = *(int *)p[0];
  *(int *)p[1] = count + 1;
  *(float *)p[2] = 1.0f / (float)(2 + count);
}

/* n: i32[], g: f32[n], w: f32[n], m: f32[n], rate: f32[] -> w', m' with
 * m' = m / 2 + g, w' = w - rate m' */
void momentum(struct CsFragmentContext *c, void **p) {
  int n = *(int *)p[0];
  const float *g = p[1], *w = p[2], *m = p[3];
  float rate = *(float *)p[4], *w1 = p[5], *m1 = p[6];
  for (int i = 0; i < n; ++i) {
    m1[i] = m[i] * 0.5f + g[i];
    w1[i] = w[i] - rate * m1[i];
  }
}

/* n: i32[], g: f32[n], w: f32[n], m: f32[n], v: f32[n], rate: f32[] -> w', m', v':
 * m' = 0.75 m + 0.25 g, v' = 0.5 v + 0.5 g g, w' = w - rate m' / (sqrt(v') + 1/8) */
void adam(struct CsFragmentContext *c, void **p) {
  int n = *(int *)p[0];
  const float *g = p[1], *w = p[2], *m = p[3], *v = p[4];
  float rate = *(float *)p[5], *w1 = p[6], *m1 = p[7], *v1 = p[8];
  for (int i = 0; i < n; ++i) {
    m1[i] = 0.75f * m[i] + 0.25f * g[i];
    v1[i] = 0.5f * v[i] + 0.5f * (g[i] * g[i]);
    float root = _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(v1[i])));
    w1[i] = w[i] - rate * m1[i] / (root + 0.125f);
  }
}

/* n: i32[], g: f32[n], w: f32[n] -> w - g / 4 */
void descend(struct CsFragmentContext *c, void **p) {
  int n = *(int *)p[0];
  const float *g = p[1], *w = p[2];
  float *w1 = p[3];
  for (int i = 0; i < n; ++i) w1[i] = w[i] - g[i] * 0.25f;
}
