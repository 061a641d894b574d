// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far the processors are from each other, for bench/all_reduce.py: prints the
// nanoseconds that a line of the cache takes from one thread to another, the
// least of several tries, on the first two processors that there are.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { kTries = 5, kPasses = 2000 };

static _Alignas(128) atomic_long turn;

static cpu_set_t all;

static void RunOn(int which) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &all) && which-- == 0) CPU_SET(processor, &one);
  if (CPU_COUNT(&one) != 0) pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

static void Pass(long number) {
  long looks = 0;
  while (atomic_load_explicit(&turn, memory_order_acquire) != number)
    if (++looks % 100000 == 0) sched_yield();
  atomic_store_explicit(&turn, number + 1, memory_order_release);
}

static void *Other(void *unused) {
  RunOn(1);
  for (long i = 0; i < (long)kTries * kPasses; ++i) Pass(2 * i + 1);
  return unused;
}

int main(void) {
  pthread_t other;
  double best = 0;
  if (sched_getaffinity(0, sizeof(all), &all) != 0) return 1;
  RunOn(0);
  if (pthread_create(&other, NULL, Other, NULL) != 0) return 1;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < kPasses; ++i) Pass(2 * ((long)attempt * kPasses + i));
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
    const double one = ns / (2 * kPasses);
    if (attempt == 0 || one < best) best = one;
  }
  pthread_join(other, NULL);
  printf("%.0f\n", best);
  return 0;
}
