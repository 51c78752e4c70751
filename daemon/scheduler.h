/*
 * Compiles on the worker pool, one for all requests with the same cache key.
 *
 * A ticket is one open request. It is finished exactly once, with a call of its `done` on the loop thread; after that
 * the scheduler does not touch it again.
 */
#ifndef DAEMON_SCHEDULER_H
#define DAEMON_SCHEDULER_H

#include <jansson.h>
#include <uv.h>

#include "compile.h"
#include "daemon/blob.h"
#include "daemon/cache.h"
#include "daemon/metrics.h"

struct job;
struct ticket;

enum ticket_outcome {
    TICKET_ANSWER_MISS,   /* compiled for this request */
    TICKET_ANSWER_MERGED, /* compiled for an earlier one with the same key */
    TICKET_CANCELLED,
    TICKET_DEADLINE,
    TICKET_SHUTTING_DOWN,
    TICKET_FAILED, /* no memory for the answer */
};

/* answer is borrowed, and NULL for the outcomes that have none. */
typedef void ticket_done(struct ticket *ticket, enum ticket_outcome outcome, struct blob *answer);

struct ticket {
    struct job *job; /* NULL before and after */
    struct ticket *next;
    struct ticket *previous; /* among the job's */
    bool leader;             /* the job was made for it */
    uint64_t deadline_ms;
    uv_timer_t timer;
    ticket_done *done;
    void (*closed)(struct ticket *ticket); /* called last, when the ticket may be freed */
};

#define SCHEDULER_BUCKETS 4096

struct scheduler {
    uv_loop_t *loop;
    struct cache *cache;
    struct metrics *metrics;
    struct bir_compile_limits limits;
    uint64_t queued_jobs_limit;
    uint64_t hold_ms; /* testing aid: a worker waits this long before it compiles */
    uint64_t reply_json_limit;
    uint64_t active; /* jobs not yet reaped, abandoned ones included */
    struct job *buckets[SCHEDULER_BUCKETS];
    struct job *jobs;                          /* all, for the drain */
    void (*idle)(struct scheduler *scheduler); /* after the last job */
    void *owner;
};

/* What to compile. key is the cache key; params owns the texts that options borrows. */
struct scheduler_request {
    struct bir_digest key;
    enum bir_method method;
    struct bir_compile_options options;
    json_t *params;
    struct blob *source;
};

enum scheduler_status { SCHEDULER_OK, SCHEDULER_BUSY, SCHEDULER_NOMEM };

/* Joins the running job with this key; false when there is none. The ticket's done, closed and deadline_ms are set. */
bool scheduler_join(struct scheduler *scheduler, const struct bir_digest *key, struct ticket *ticket) BIR_MUST_CHECK;

/* Starts a job. Takes its own references to params and source. Everything but OK leaves the ticket unused: done and
 * closed will not be called. */
enum scheduler_status scheduler_start(struct scheduler *scheduler, const struct scheduler_request *request,
                                      struct ticket *ticket) BIR_MUST_CHECK;

/* Finishes the ticket with this outcome; the job goes on as long as another ticket waits for it. */
void scheduler_cancel(struct scheduler *scheduler, struct ticket *ticket, enum ticket_outcome outcome);

/* Finishes every ticket with this outcome. */
void scheduler_cancel_all(struct scheduler *scheduler, enum ticket_outcome outcome);

#endif
