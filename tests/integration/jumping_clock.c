// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Preloaded into a process: CLOCK_REALTIME is ahead by as many seconds as the file
// COMMSCHED_TEST_CLOCK says at the moment, so that a test can set it while the process runs. What
// waits until a time of that clock waits in short pieces, as it would wake up when the clock is set.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
  kPiece = 20000000,
  kLook = 5,
  kSteady = 2
}; // ns; ms; glibc's bit of a condition variable whose deadlines are of CLOCK_MONOTONIC, as Python's are

static long (*of_libc)(long, ...);

__attribute__((constructor)) static void find(void) { of_libc = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"); }

static int read_clock(clockid_t clock, struct timespec *time) {
  if (of_libc == NULL)
    find();
  return (int)of_libc(SYS_clock_gettime, clock, time);
}

static int64_t ahead(void) {
  static _Atomic int64_t seconds, looked = -kLook;
  struct timespec now;
  read_clock(CLOCK_MONOTONIC, &now);
  const int64_t ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
  if (ms - looked < kLook)
    return seconds;
  looked = ms;
  const char *path = getenv("COMMSCHED_TEST_CLOCK");
  char text[32] = {0};
  const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (read(file, text, sizeof(text) - 1) > 0)
      seconds = atoll(text);
    close(file);
  }
  return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  const int result = read_clock(clock, time), error = errno;
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    time->tv_sec += ahead();
  errno = error;
  return result;
}

int gettimeofday(struct timeval *time, void *zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != NULL)
    *to = now.tv_sec;
  return now.tv_sec;
}

// Whether anything is left until `deadline`; of it, the end of the next piece, by the system's own clock.
static int next_piece(const struct timespec *deadline, struct timespec *end) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t left = (deadline->tv_sec - now.tv_sec) * 1000000000LL + deadline->tv_nsec - now.tv_nsec;
  if (left <= 0)
    return 0;
  if (left > kPiece)
    left = kPiece;
  read_clock(CLOCK_REALTIME, end);
  end->tv_nsec += left;
  end->tv_sec += end->tv_nsec / 1000000000;
  end->tv_nsec %= 1000000000;
  return 1;
}

// Wakes up without cause after a piece, as condition variables may.
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline) {
  static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (next == NULL)
    next = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (condition->__data.__wrefs & kSteady)
    return next(condition, mutex, deadline);
  struct timespec end;
  if (!next_piece(deadline, &end))
    return ETIMEDOUT;
  const int result = next(condition, mutex, &end);
  return result == ETIMEDOUT && next_piece(deadline, &end) ? 0 : result;
}

int sem_timedwait(sem_t *semaphore, const struct timespec *deadline) {
  static int (*next)(sem_t *, const struct timespec *);
  if (next == NULL)
    next = dlsym(RTLD_NEXT, "sem_timedwait");
  struct timespec end;
  while (next_piece(deadline, &end)) {
    const int result = next(semaphore, &end);
    if (result == 0 || errno != ETIMEDOUT)
      return result;
  }
  errno = ETIMEDOUT;
  return -1;
}

// Abseil's locks, and through them gRPC's.
long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(list, long);
  va_end(list);
  if (of_libc == NULL)
    find();
  struct timespec end;
  const struct timespec *deadline = (const struct timespec *)a[3];
  if (number != SYS_futex || (a[1] & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET || !(a[1] & FUTEX_CLOCK_REALTIME) || deadline == NULL)
    return of_libc(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (!next_piece(deadline, &end)) {
    errno = ETIMEDOUT;
    return -1;
  }
  const long result = of_libc(number, a[0], a[1], a[2], &end, a[4], a[5]);
  if (result == -1 && errno == ETIMEDOUT && next_piece(deadline, &end))
    errno = EINTR;
  return result;
}
