/* Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A whole cluster as threads of this process, from C (and Python's ctypes):
 * the shared library commsched_c exports these symbols only.
 *
 * Functions that return int return 0 on success. On an error they return 1, or
 * NULL, and cs_last_error() says why. A session is used by one thread at a
 * time. NULL in the place of one is an error, except for cs_session_destroy.
 *
 * The first error of a call ends the session: what sets values or calls functions
 * returns it from then on. But values, rank state and metrics of what all ranks have
 * completed can still be read.
 *
 * A session has threads, which a forked process does not have: there, all functions
 * on it are errors, except cs_session_destroy, which does nothing; and a process that
 * was forked while there was a session has none of its own, because its copies of
 * locks may be locked for ever. */
#ifndef COMMSCHED_RUNTIME_C_API_C_API_H
#define COMMSCHED_RUNTIME_C_API_C_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CS_API __attribute__((visibility("default")))

typedef struct cs_session cs_session;

/* Loads the bytes of a plan file and starts its ranks. */
CS_API cs_session *cs_session_create(const void *plan, size_t plan_bytes);

/* The same, and a command that makes new plans during the run, as
 * docs/replanning.md describes it: for /bin/sh, with {profile}, {calibration} and
 * {plan}. */
typedef struct cs_session_replanning {
  const char *command;
  uint64_t every;          /* steps; 0: not for that */
  double when_off_percent; /* change of a step's time; 0: not for that */
  uint64_t window;         /* steps that measurements are of; 0: 20 */
  double deadline_seconds; /* of the command; 0: 600 */
  const char *folder;      /* where files are kept; NULL: nowhere */
} cs_session_replanning;
CS_API cs_session *cs_session_create_replanning(
    const void *plan, size_t plan_bytes, const cs_session_replanning *replanning);
/* What has become of it so far: a JSON list of objects. Valid until the next
 * call of this function. */
CS_API const char *cs_session_replans(cs_session *session);

/* Drops calls that have not completed. NULL is allowed. */
CS_API void cs_session_destroy(cs_session *session);

/* Value of a parameter or state: dense, row-major, exactly as large as its
 * type. Set on all ranks, read from rank 0, after all earlier calls; after an error,
 * after the last call that all ranks have completed. */
CS_API int cs_session_set_slot(cs_session *session, const char *name,
                               const void *data, size_t bytes);
CS_API int cs_session_get_slot(cs_session *session, const char *name,
                               void *data, size_t bytes);

/* Steps behind these values that this session has called. */
CS_API int cs_session_steps(cs_session *session, uint64_t *steps);

/* What each rank has of its own (residuals of sparse gradients), in files of which
 * `path` is the beginning of the names; nothing if the plan has none. Loading, of as
 * many ranks as had saved it, gives each rank its own, of another number the mean to
 * all; what the files do not have stays. */
CS_API int cs_session_save_rank_state(cs_session *session, const char *path);
CS_API int cs_session_load_rank_state(cs_session *session, const char *path,
                                      int saved_ranks);

/* The global batch of a batch argument, for the next call; copied. */
CS_API int cs_session_set_batch(cs_session *session, const char *name,
                                const void *data, size_t bytes);

/* Queues a call of a function, or of the training step if `function` is NULL.
 * Calls are numbered from 0. May return before the call is done; waits only
 * while several calls are queued. Uses up the batches that have been set. `number`,
 * if it is not NULL, is set with the call: who is interrupted after it (by a signal
 * that leaves by an exception) finds the number there, and otherwise what he had
 * put there. */
CS_API int cs_session_call(cs_session *session, const char *function,
                           uint64_t *number);
/* Waits for all calls. */
CS_API int cs_session_wait(cs_session *session);
/* The same, and the steps that have been called are all: parameter servers apply
 * what trainers have merged for later pushes. No step may be called after it. */
CS_API int cs_session_finish(cs_session *session);

/* Metrics of the function called last; the name is valid until the session is
 * destroyed (with re-planning, until the next call of a function), NULL if there
 * is no such metric. */
CS_API int cs_session_metric_count(cs_session *session);
CS_API const char *cs_session_metric_name(cs_session *session, int index);
/* Waits until all ranks have completed call `call_index` and stores its metrics, all
 * of them, in order. Those of the last 65536 calls are there, also after an error. */
CS_API int cs_session_metrics(cs_session *session, uint64_t call_index,
                              double *values);

/* Writes a trace of all calls from now on to `path` when the session is
 * destroyed. NULL writes what there is now. */
CS_API int cs_session_set_trace(cs_session *session, const char *path);

/* Predicts what a run of the plan takes: the JSON that cs-run --simulate
 * --metrics-json writes (docs/simulator.md), valid until the next call on this
 * thread. `options`: lines of a name, a blank and a value, or NULL: what_if,
 * straggler and link as for cs-run, steps, latency_ns, overhead_ns, engine_ns,
 * burst_bytes, queue_ns, every_rank (0 or 1), and paths: profile, calibration, trace. */
CS_API const char *cs_simulate(const void *plan, size_t plan_bytes,
                               const char *options);

/* Of the last call on this thread; valid until the next one. */
CS_API const char *cs_last_error(void);

#ifdef __cplusplus
}
#endif

#endif /* COMMSCHED_RUNTIME_C_API_C_API_H */
