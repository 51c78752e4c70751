/*
 * Single flight. Jobs stand in a hash table by cache key from their start until their result is there. The first ticket
 * of a job leads; later ones with the same key are added to it and finished together with it. A ticket that goes away -
 * cancelled, past its deadline, disconnected - takes nothing from the others; when the last one goes, the job leaves
 * the table (nobody may join work that is being stopped), its token is set, and it is reaped when the worker returns.
 *
 * The worker does everything whose cost grows with the module: it compiles, writes the diagnostics, and seals the
 * answer with its checksum. What is left to the loop is constant work for each ticket.
 *
 * A failed answer is shared with all tickets of the job and not cached, with one exception: `check` answers with its
 * diagnostics, so that "the module has errors" is a result like any other.
 */
#include "daemon/scheduler.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/message.h"

struct job {
    uv_work_t work;
    struct scheduler *scheduler;
    struct bir_digest key;
    struct job *chain; /* of its bucket; valid while joinable */
    struct job *next;  /* of all */
    struct job **link; /* that points here */
    bool joinable;     /* in the table */
    struct ticket *tickets;
    struct bir_cancel cancel;
    enum bir_method method;
    struct bir_compile_options options;
    json_t *params;
    struct blob *source;
    struct blob *answer; /* from the worker; NULL when memory ran out or it was cancelled */
    bool cacheable;
    uint64_t compile_us;
};

static struct job **bucket_of(struct scheduler *scheduler, const struct bir_digest *key)
{
    uint32_t hash;
    memcpy(&hash, key->bytes, sizeof hash);
    return &scheduler->buckets[hash % SCHEDULER_BUCKETS];
}

static struct job **find(struct scheduler *scheduler, const struct bir_digest *key)
{
    struct job **link = bucket_of(scheduler, key);
    while (*link && memcmp(&(*link)->key, key, sizeof *key) != 0)
        link = &(*link)->chain;
    return link;
}

static void table_remove(struct job *job)
{
    if (!job->joinable)
        return;
    *find(job->scheduler, &job->key) = job->chain;
    job->joinable = false;
}

static void job_free(struct job *job)
{
    *job->link = job->next;
    if (job->next)
        job->next->link = job->link;
    json_decref(job->params);
    blob_unref(job->source);
    blob_unref(job->answer);
    free(job);
}

/* Waits in short steps, so that a cancelled job ends. */
static void hold(const struct job *job, struct bir_cancel *cancel)
{
    const struct timespec step = { .tv_nsec = 1000000 };
    for (uint64_t ms = 0; ms < job->scheduler->hold_ms && !bir_cancelled(cancel); ms++)
        nanosleep(&step, NULL);
}

static int error_of(enum bir_status status)
{
    switch (status) {
    case BIR_INVALID: return PROTO_ERROR_BAD_MODULE;
    case BIR_LIMIT: return PROTO_ERROR_LIMIT;
    case BIR_CANCELLED: return PROTO_ERROR_CANCELLED;
    case BIR_OK:
    case BIR_NOMEM:
    case BIR_INTERNAL: break;
    }
    return PROTO_ERROR_INTERNAL;
}

/* The first error says what is wrong; the whole list follows in data.diagnostics. */
static const char *message_of(const struct bir_compile_result *result)
{
    for (const struct bir_diag *diag = result->diags.first; diag; diag = diag->next)
        if (diag->severity == BIR_ERROR)
            return diag->message;
    return result->status == BIR_NOMEM ? "out of memory" : "the compile failed without a diagnostic";
}

static void put_error(const struct bir_compile_result *result, struct bir_buf *text)
{
    struct bir_buf members;
    bir_buf_init(&members, 0);
    bir_buf_puts(&members, "\"diagnostics\":");
    bir_diags_write_json(&result->diags, &members);
    bir_buf_putc(&members, '\0');
    if (members.status != BIR_OK)
        text->status = members.status;
    else
        proto_put_error_object(text, error_of(result->status), message_of(result), members.data);
    bir_buf_deinit(&members);
    bir_buf_putc(text, '}');
}

static void put_result(const struct job *job, const struct bir_compile_result *result, struct bir_buf *text)
{
    if (job->method == BIR_METHOD_CHECK)
        bir_buf_printf(text, ",\"valid\":%s", result->status == BIR_OK ? "true" : "false");
    if (bir_verdict_name(result->verdict))
        bir_buf_printf(text, ",\"verdict\":\"%s\"", bir_verdict_name(result->verdict));
    if (result->dumps.len)
        bir_buf_printf(text, ",\"dump_bytes\":%zu", result->dumps.len);
    bir_buf_puts(text, ",\"diagnostics\":");
    bir_diags_write_json(&result->diags, text);
    bir_buf_puts(text, ",\"stats\":");
    if (result->stats_json.len)
        bir_buf_put(text, result->stats_json.data, result->stats_json.len);
    else
        bir_buf_puts(text, "{}");
    bir_buf_puts(text, "}}");
}

/* Output, then dumps. */
static char *steal_payload(struct bir_compile_result *result, size_t *len)
{
    *len = 0;
    if (result->dumps.len)
        bir_buf_put(&result->output, result->dumps.data, result->dumps.len);
    if (result->output.status != BIR_OK || result->output.len == 0)
        return NULL;
    return bir_buf_steal(&result->output, len);
}

static struct blob *make_answer(const struct job *job, struct bir_compile_result *result, bool success)
{
    struct bir_buf text;
    bir_buf_init(&text, job->scheduler->reply_json_limit);
    if (success)
        put_result(job, result, &text);
    else
        put_error(result, &text);
    bool expects_payload = success && result->output.len + result->dumps.len > 0;
    size_t data_len = 0;
    char *data = success ? steal_payload(result, &data_len) : NULL;
    size_t text_len;
    char *bytes = bir_buf_steal(&text, &text_len);
    bir_buf_deinit(&text);
    if (!bytes || (expects_payload && !data) || data_len > UINT32_MAX) {
        free(bytes);
        free(data);
        return NULL;
    }
    struct blob *answer = blob_new(data, data_len, bytes, text_len, &job->source->module);
    if (answer)
        answer->error = !success;
    return answer;
}

static uint64_t monotonic_us(void)
{
    return uv_hrtime() / 1000;
}

static void job_work(uv_work_t *work)
{
    struct job *job = work->data;
    hold(job, &job->cancel);
    uint64_t started = monotonic_us();
    const struct bir_compile_request request = {
        .method = job->method, .input = job->source->data, .input_len = job->source->data_len, .options = job->options
    };
    struct bir_compile_result result;
    enum bir_status status = bir_compile(&request, &job->scheduler->limits, &job->cancel, &result);
    bool success = status == BIR_OK || (status == BIR_INVALID && job->method == BIR_METHOD_CHECK);
    if (status != BIR_CANCELLED)
        job->answer = make_answer(job, &result, success);
    job->cacheable = success && job->answer;
    bir_compile_result_deinit(&result);
    job->compile_us = monotonic_us() - started;
}

static void timer_closed(uv_handle_t *handle)
{
    struct ticket *ticket = uv_handle_get_data(handle);
    ticket->closed(ticket);
}

static void finish(struct ticket *ticket, enum ticket_outcome outcome, struct blob *answer)
{
    struct job *job = ticket->job;
    *(ticket->previous ? &ticket->previous->next : &job->tickets) = ticket->next;
    if (ticket->next)
        ticket->next->previous = ticket->previous;
    ticket->job = NULL;
    ticket->next = ticket->previous = NULL;
    ticket->done(ticket, outcome, answer);
    uv_close((uv_handle_t *)&ticket->timer, timer_closed);
}

static void job_done(uv_work_t *work, int status)
{
    struct job *job = work->data;
    struct scheduler *scheduler = job->scheduler;
    table_remove(job);
    blob_uncharge(job->source);
    if (status == 0) {
        struct metrics *metrics = scheduler->metrics;
        metrics->jobs_compiles++;
        metrics->jobs_failed += job->answer ? job->answer->error : !bir_cancelled(&job->cancel);
        metrics->jobs_compile_us_total += job->compile_us;
        if (job->compile_us > metrics->jobs_compile_us_longest)
            metrics->jobs_compile_us_longest = job->compile_us;
    }
    if (job->cacheable) {
        cache_put(scheduler->cache, CACHE_ANSWER, &job->key, job->answer);
        cache_put(scheduler->cache, CACHE_SOURCE, &job->source->module, job->source);
    }
    while (job->tickets) {
        bool leader = job->tickets->leader;
        if (job->answer)
            finish(job->tickets, leader ? TICKET_ANSWER_MISS : TICKET_ANSWER_MERGED, job->answer);
        else
            finish(job->tickets, TICKET_FAILED, NULL);
    }
    job_free(job);
    scheduler->metrics->jobs_active = --scheduler->active;
    if (scheduler->active == 0)
        scheduler->idle(scheduler);
}

static void deadline_passed(uv_timer_t *timer)
{
    struct ticket *ticket = uv_handle_get_data((uv_handle_t *)timer);
    scheduler_cancel(ticket->job->scheduler, ticket, TICKET_DEADLINE);
}

static void attach(struct job *job, struct ticket *ticket, bool leader)
{
    ticket->job = job;
    ticket->leader = leader;
    ticket->previous = NULL;
    ticket->next = job->tickets;
    if (ticket->next)
        ticket->next->previous = ticket;
    job->tickets = ticket;
    uv_timer_init(job->scheduler->loop, &ticket->timer);
    uv_handle_set_data((uv_handle_t *)&ticket->timer, ticket);
    uv_timer_start(&ticket->timer, deadline_passed, ticket->deadline_ms, 0);
}

bool scheduler_join(struct scheduler *scheduler, const struct bir_digest *key, struct ticket *ticket)
{
    struct job *job = *find(scheduler, key);
    if (!job)
        return false;
    attach(job, ticket, false);
    return true;
}

enum scheduler_status scheduler_start(struct scheduler *scheduler, const struct scheduler_request *request,
                                      struct ticket *ticket)
{
    if (scheduler->active >= scheduler->queued_jobs_limit)
        return SCHEDULER_BUSY;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return SCHEDULER_NOMEM;
    *job = (struct job){ .scheduler = scheduler,
                         .key = request->key,
                         .chain = *bucket_of(scheduler, &request->key),
                         .next = scheduler->jobs,
                         .link = &scheduler->jobs,
                         .joinable = true,
                         .method = request->method,
                         .options = request->options,
                         .params = json_incref(request->params),
                         .source = blob_ref(request->source) };
    job->work.data = job;
    if (uv_queue_work(scheduler->loop, &job->work, job_work, job_done) != 0) {
        json_decref(job->params);
        blob_unref(job->source);
        free(job);
        return SCHEDULER_NOMEM;
    }
    if (job->next)
        job->next->link = &job->next;
    scheduler->jobs = job;
    *bucket_of(scheduler, &request->key) = job;
    scheduler->metrics->jobs_active = ++scheduler->active;
    attach(job, ticket, true);
    return SCHEDULER_OK;
}

void scheduler_cancel(struct scheduler *scheduler, struct ticket *ticket, enum ticket_outcome outcome)
{
    struct job *job = ticket->job;
    finish(ticket, outcome, NULL);
    if (job->tickets)
        return;
    table_remove(job);
    bir_cancel_set(&job->cancel);
    scheduler->metrics->jobs_cancelled++;
    uv_cancel((uv_req_t *)&job->work);
}

void scheduler_cancel_all(struct scheduler *scheduler, enum ticket_outcome outcome)
{
    for (struct job *job = scheduler->jobs; job; job = job->next)
        while (job->tickets)
            scheduler_cancel(scheduler, job->tickets, outcome);
}
