/* Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A whole cluster as threads of this process, or one rank of a job of many, from C (and
 * Python's ctypes): the shared library commsched_c exports these symbols only.
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
  uint64_t window;         /* steps that measurements are of; 0: 20, of fewer where `every` is less */
  double deadline_seconds; /* of the command; 0: 600 */
  const char *folder;      /* where files are kept; NULL: nowhere */
  /* Not NULL: instead, plans of the same program (files, with newlines between; of rank 0) are tried, for `window` steps
   * each (0: 5 to 40, as many as tell), and the fastest is kept. The plan that the session begins with comes first. Then there is
   * no command, `every` or percent. */
  const char *tune;
} cs_session_replanning;
CS_API cs_session *cs_session_create_replanning(
    const void *plan, size_t plan_bytes, const cs_session_replanning *replanning);
/* What has become of it so far: a JSON list of objects. Valid until the next
 * call of this function. */
CS_API const char *cs_session_replans(cs_session *session);

/* One rank of a job whose other ranks are other processes (launch/): from joining it to
 * leaving it. Used by one thread at a time, except cs_job_abort. All ranks call the
 * functions that say so, and begin their sessions, in the same order; where they do not,
 * all of them get an error that says what differs. */
typedef struct cs_job cs_job;

/* What is NULL, 0 or, of numbers of which 0 means something, -1 is looked up in the
 * environment, where launchers put it (docs/transports.md), or has its default.
 * `struct_size` is sizeof(cs_job_options) of who calls: fields are added at the end. */
typedef struct cs_job_options {
  size_t struct_size;
  const char *transport; /* "grpc" or "mpi"; docs/transports.md says which is the default */
  int rank, size;        /* -1 and 0: of the environment, or the only one of one */
  const char *peers;     /* "host:port" or "unix:path" of all ranks, with commas */
  const char *master;    /* host of rank 0, where ranks learn the others' addresses */
  int port;
  int membership;                                            /* -1: what the launcher says, or 0 */
  const char *token, *token_file;                            /* of the job's secret: itself, or a file of it */
  const char *tls_ca, *tls_cert, *tls_key, *tls_server_name; /* PEM files, a name */
  int insecure;                                              /* no token: loopback addresses and socket files only */
  int listen_any;
  double deadline_seconds; /* of joining, and of a step without progress; 0: 30 */
} cs_job_options;

/* Waits until all ranks have joined. NULL is options of which none is given. */
CS_API cs_job *cs_job_join(const cs_job_options *options);
CS_API int cs_job_rank(const cs_job *job);
CS_API int cs_job_size(const cs_job *job);
CS_API int cs_job_local_rank(const cs_job *job);        /* on its host; -1: not known */
CS_API const char *cs_job_transport(const cs_job *job); /* "none": there is one rank */
/* Tells all ranks in one line why this one gives up: their calls on the job fail with it. From
 * any thread. */
CS_API int cs_job_abort(cs_job *job, const char *why);
/* In good order; after all sessions are destroyed. NULL is allowed. */
CS_API void cs_job_leave(cs_job *job);

/* All ranks: the bytes of rank 0, which stay until the next call of this function on the
 * job. `what` is said in errors. NULL is an error. */
CS_API const void *cs_job_broadcast(cs_job *job, const char *what, const void *data,
                                    size_t bytes, size_t *all_bytes);
/* All ranks: on rank 0 the bytes of all, one behind the other, which stay until the next call
 * of this function, and their sizes, as many as ranks; on others zeros. */
CS_API const void *cs_job_gather(cs_job *job, const char *what, const void *data,
                                 size_t bytes, uint64_t *sizes);

/* All ranks: measures the links between them, how much slower compute is while they are busy, and, for a plan
 * for CUDA devices, these, in some seconds for each link. The plan is that of rank 0; what others give is not looked at.
 * On rank 0 the file of `cs-run --calibrate PLAN` (docs/costs.md), valid until the next call of this function
 * on the job; on others an empty text. */
CS_API const char *cs_job_calibrate(cs_job *job, const void *plan, size_t plan_bytes);

/* All ranks: in `part` a job of the first `count` of them, which is left before this one; NULL on
 * the others, which may have parameter servers (cs_servers_create). Not by MPI. */
CS_API int cs_job_first(cs_job *job, int count, cs_job **part);

/* All ranks: a session of this rank. The plan is that of rank 0, which sends it to the
 * others with its digest; what they give is not looked at. Batches of such a session are this
 * rank's rows; values, of which all ranks have the same, and rank state are set and read
 * here, and SetSlot is to be called on all ranks alike. */
typedef struct cs_rank_options {
  size_t struct_size;
  cs_job *job; /* outlives the session */
  const void *plan;
  size_t plan_bytes;
  const cs_session_replanning *replanning; /* or NULL; on all ranks alike */
  int profile;                             /* measure fragments, for cs_session_profile */
  /* NULL: parameter servers are within the ranks of `job`. Else of the job of which `job` is the
   * first part: they are in its other ranks, which call cs_servers_create meanwhile. */
  cs_job *servers;
} cs_rank_options;
CS_API cs_session *cs_session_create_rank(const cs_rank_options *options);

/* The file of `cs-run --profile` of such a session, of this process alone, after all calls; valid
 * until the next call of this function on it. Replanning sessions have none. */
CS_API const char *cs_session_profile(cs_session *session);

/* Parameter servers in a process without a trainer. */
typedef struct cs_servers cs_servers;
/* In the ranks of `job` from `first` on, while the others call cs_session_create_rank with it as
 * `servers`: gets their plan, and begins those of its servers that are here. */
CS_API cs_servers *cs_servers_create(cs_job *job, int first);
/* As cs_session_set_slot and cs_session_get_server_value, before the first step and after
 * cs_servers_finish. */
CS_API int cs_servers_set_value(cs_servers *servers, const char *name, const void *data, size_t bytes);
CS_API int cs_servers_get_value(cs_servers *servers, const char *name, void *data, size_t bytes,
                                size_t *here);
/* Waits until all trainers have finished, and everything is applied. */
CS_API int cs_servers_finish(cs_servers *servers);
/* From any thread: ends them with this error, of which the trainers hear. */
CS_API int cs_servers_cancel(cs_servers *servers, const char *why);
/* NULL is allowed. */
CS_API void cs_servers_destroy(cs_servers *servers);

/* Of such a session: whether there is to be one step more, which is called next then; asked
 * before each step, on all ranks, or on none. No (*begin is 0) if a rank has been asked to
 * stop: all stop after the same step. */
CS_API int cs_session_begin_step(cs_session *session, int *begin);
/* Asks for that, for a reason that is not 0, such as the number of a signal. */
CS_API int cs_session_request_stop(cs_session *session, int reason);
/* Why the ranks stop; 0: they do not, or that is not known here yet. */
CS_API int cs_session_stop_reason(cs_session *session, int *reason);
/* Ends the steps of all ranks with this error. From any thread. */
CS_API int cs_session_cancel(cs_session *session, const char *why);

/* Collectives without a plan, for frameworks whose compute is their own: all ranks of a job
 * create such a group together, and post to it whenever they like. A key names a collective: the
 * n-th post under it meets the n-th under it on the other ranks, in whichever order each rank
 * posts. The first error ends the group: posts that are not done fail with it, and so does all
 * that follows, on all ranks. It names the key and the peer. Of a group, all functions may be
 * called by several threads at once, except cs_posts_destroy. */
typedef struct cs_posts cs_posts;

enum cs_post_kind {
  CS_ALL_REDUCE,     /* `output` of `count`, from `input` if that is not NULL */
  CS_REDUCE_SCATTER, /* `input` of `count` for each rank, `output` of `count` */
  CS_ALL_GATHER,     /* `input` of `count`, `output` of `count` from each rank */
  CS_BROADCAST,      /* `output` of `count`, from that of rank `peer` */
  CS_ALL_TO_ALL,     /* `input` of send_counts, `output` of receive_counts */
  CS_SEND,           /* `input` of `count`, to rank `peer` */
  CS_RECEIVE,        /* `output` of `count`, from rank `peer` */
  CS_BARRIER
};
enum cs_post_element { /* as in plan.proto */
  CS_F64 = 1,
  CS_F32,
  CS_F16,
  CS_BF16,
  CS_I64,
  CS_I32,
  CS_I8 /* also of bytes that are only moved, and sums of unsigned ones */
};
enum cs_post_combine {
  CS_SUM = 1,
  CS_MAX,
  CS_MIN,
  CS_MEAN /* of floating-point elements: the sum over the number of ranks */
};
typedef struct cs_post_options {
  size_t struct_size;
  const char *key; /* not empty; the same on all ranks */
  int kind, element;
  int combine;  /* of CS_ALL_REDUCE and CS_REDUCE_SCATTER */
  int priority; /* smaller: more urgent */
  int peer;
  /* Dense; stays as it is, and output nobody else's, until it is done; after an error, until
   * cs_posts_destroy. */
  const void *input;
  void *output;
  uint64_t count;                               /* elements */
  const uint64_t *send_counts, *receive_counts; /* of CS_ALL_TO_ALL: elements, by rank */
} cs_post_options;

/* All ranks. The job outlives the group. `deadline_seconds`: without progress of what is
 * posted; 0: that of the job. */
CS_API cs_posts *cs_posts_create(cs_job *job, double deadline_seconds);
/* Begins, and does not wait. `number` is for cs_posts_wait. */
CS_API int cs_posts_post(cs_posts *posts, const cs_post_options *options, uint64_t *number);
/* Waits until it is done, upon which the number is forgotten, or for `seconds`: then it
 * returns 2, and is to be called again. */
CS_API int cs_posts_wait(cs_posts *posts, uint64_t number, double seconds);
/* The same of `count` numbers, 1 or more: waits until one is done, the first of them if several
 * are. Its index is put into `which`, and its number is forgotten. */
CS_API int cs_posts_wait_any(cs_posts *posts, const uint64_t *numbers, size_t count, double seconds,
                             size_t *which);
/* Ends all on all ranks with this error. */
CS_API int cs_posts_cancel(cs_posts *posts, const char *why);
/* Bytes of messages that this rank has sent. */
CS_API uint64_t cs_posts_bytes_sent(const cs_posts *posts);
/* What is not done is dropped, which is an error of the other ranks. NULL is allowed. */
CS_API void cs_posts_destroy(cs_posts *posts);

/* Drops calls that have not completed. NULL is allowed. */
CS_API void cs_session_destroy(cs_session *session);

/* Value of a parameter or state: dense, row-major, exactly as large as its
 * type. Set on all ranks, read from rank 0, after all earlier calls; after an error,
 * after the last call that all ranks have completed. */
CS_API int cs_session_set_slot(cs_session *session, const char *name,
                               const void *data, size_t bytes);
CS_API int cs_session_get_slot(cs_session *session, const char *name,
                               void *data, size_t bytes);
/* Of one rank of a job, whose plan has parameter servers: those are within the ranks, server k
 * in rank k and so on around. What the servers here have of a value; the bytes that others have
 * stay as they are. `here`: how many bytes were written. After cs_session_finish, which all ranks
 * call, the servers of all ranks together have what the steps have made. */
CS_API int cs_session_get_server_value(cs_session *session, const char *name, void *data,
                                       size_t bytes, size_t *here);

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
 * of them, in order. Those of the last 65536 calls are there, also after an error.
 * Of one rank of a job, rank 0 has them, and tells the others: there, it returns 2 if they
 * have not come within a fifth of a second, and is to be called again. */
CS_API int cs_session_metrics(cs_session *session, uint64_t call_index,
                              double *values);

/* Writes a trace of all calls from now on to `path` when the session is
 * destroyed. NULL writes what there is now. */
CS_API int cs_session_set_trace(cs_session *session, const char *path);

/* Predicts what a run of the plan takes: the JSON that cs-run --simulate
 * --metrics-json writes (docs/simulator.md), valid until the next call on this
 * thread. `options`: lines of a name, a blank and a value, or NULL: what_if,
 * straggler, jitter and link as for cs-run, steps, latency_ns, overhead_ns, engine_ns,
 * burst_bytes, queue_ns, every_rank and in_order (0 or 1), and paths: profile, calibration,
 * nccl_tests, trace. */
CS_API const char *cs_simulate(const void *plan, size_t plan_bytes,
                               const char *options);

/* Of the last call on this thread; valid until the next one. */
CS_API const char *cs_last_error(void);

#ifdef __cplusplus
}
#endif

#endif /* COMMSCHED_RUNTIME_C_API_C_API_H */
