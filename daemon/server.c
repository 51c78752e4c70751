/*
 * Life of the daemon. RUNNING until a signal, `shutdown` or the idle timeout; DRAINING while open requests
 * finish; STOPPED when the handles close, after which the loop has nothing left and returns.
 *
 * A drain closes the listening socket first, so that a client which comes too late is refused at once and may start a
 * daemon of its own; connections without open requests are closed, the others when their last reply is written. When
 * the drain timeout passes, what is left is answered with shutting-down and closed.
 */
#include "daemon/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/methods.h"
#include "daemon/notify.h"
#include "daemon/session.h"

#define LISTEN_BACKLOG   512
#define STATUS_PERIOD_MS 5000

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* What asks the daemon to stop; SIGHUP comes when the terminal of a daemon in the foreground is closed. */
static const int stop_signals[SERVER_STOP_SIGNALS] = { SIGTERM, SIGINT, SIGHUP };

/* Everything but the sessions; the loop ends when they are gone. The signals stay caught to the end. */
static void stop(struct server *server)
{
    server->state = SERVER_STOPPED;
    close_handle((uv_handle_t *)&server->pipe);
    for (int i = 0; i < SERVER_STOP_SIGNALS; i++)
        uv_unref((uv_handle_t *)&server->signals[i]);
    close_handle((uv_handle_t *)&server->idle_timer);
    close_handle((uv_handle_t *)&server->drain_timer);
    close_handle((uv_handle_t *)&server->watchdog_timer);
    close_handle((uv_handle_t *)&server->status_timer);
    close_handle((uv_handle_t *)&server->greeting_timer);
}

static void end_quiet_sessions(struct server *server)
{
    struct session *next;
    for (struct session *session = server->sessions; session; session = next) {
        next = session->next;
        if (session_quiet(session))
            session_end(session);
    }
}

static void idle_passed(uv_timer_t *timer)
{
    server_drain(uv_handle_get_data((uv_handle_t *)timer), "idle");
}

void server_consider(struct server *server)
{
    bool busy = server->session_count > 0 || server->scheduler.active > 0;
    if (server->state == SERVER_DRAINING && !busy)
        stop(server);
    if (server->state != SERVER_RUNNING || server->options->idle_timeout_s == 0)
        return;
    if (busy)
        uv_timer_stop(&server->idle_timer);
    else if (!uv_is_active((uv_handle_t *)&server->idle_timer))
        uv_timer_start(&server->idle_timer, idle_passed, server->options->idle_timeout_s * 1000, 0);
}

static void scheduler_idle(struct scheduler *scheduler)
{
    server_consider(scheduler->owner);
}

static void drain_passed(uv_timer_t *timer)
{
    struct server *server = uv_handle_get_data((uv_handle_t *)timer);
    scheduler_cancel_all(&server->scheduler, TICKET_SHUTTING_DOWN);
    struct session *next;
    for (struct session *session = server->sessions; session; session = next) {
        next = session->next;
        session_close(session);
    }
    server_consider(server);
}

void server_drain(struct server *server, const char *reason)
{
    if (server->state != SERVER_RUNNING)
        return;
    server->state = SERVER_DRAINING;
    log_line(LOG_LEVEL_INFO, "stopping: %s; %llu compiles are under way", reason,
             (unsigned long long)server->scheduler.active);
    notify_send("STOPPING=1\nSTATUS=Draining: %s", reason);
    close_handle((uv_handle_t *)&server->pipe);
    listener_release(&server->listener);
    uv_timer_start(&server->drain_timer, drain_passed, server->options->drain_timeout_ms, 0);
    end_quiet_sessions(server);
    server_consider(server);
}

/* Who asks twice does not want to wait for the work under way. */
static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = uv_handle_get_data((uv_handle_t *)handle);
    if (server->state == SERVER_RUNNING) {
        server_drain(server, number == SIGTERM ? "SIGTERM" : number == SIGINT ? "SIGINT" : "SIGHUP");
    } else if (server->state == SERVER_DRAINING) {
        log_line(LOG_LEVEL_INFO, "asked again to stop: %llu compiles are given up",
                 (unsigned long long)server->scheduler.active);
        drain_passed(&server->drain_timer);
    }
}

static void on_connection(uv_stream_t *stream, int status)
{
    if (status == 0)
        session_accept(uv_handle_get_data((uv_handle_t *)stream));
    else
        log_line(LOG_LEVEL_WARNING, "cannot accept a connection: %s", uv_strerror(status));
}

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    notify_send("WATCHDOG=1");
}

static void on_status(uv_timer_t *timer)
{
    const struct server *server = uv_handle_get_data((uv_handle_t *)timer);
    if (server->state == SERVER_RUNNING)
        notify_send("STATUS=%llu connections, %llu compiles under way, %llu answers, %llu MiB cached",
                    (unsigned long long)server->session_count, (unsigned long long)server->scheduler.active,
                    (unsigned long long)(server->metrics.answers_l1 + server->metrics.answers_miss +
                                         server->metrics.answers_merged),
                    (unsigned long long)(server->cache.used_bytes >> 20));
}

/* Who connects and says nothing would hold a place, and the idle timeout up, for ever. */
static void on_greeting(uv_timer_t *timer)
{
    struct server *server = uv_handle_get_data((uv_handle_t *)timer);
    struct session *next;
    for (struct session *session = server->sessions; session; session = next) {
        next = session->next;
        session_expect_greeting(session);
    }
}

static void add_timer(struct server *server, uv_timer_t *timer)
{
    uv_timer_init(&server->loop, timer);
    uv_handle_set_data((uv_handle_t *)timer, server);
}

/* Timers that beat without end must not keep a drained loop alive. */
static void start_beats(struct server *server)
{
    uint64_t greeting_ms = server->options->limits.greeting_ms / 2 + 1;
    uv_timer_start(&server->greeting_timer, on_greeting, greeting_ms, greeting_ms);
    const char *watchdog_us = getenv("WATCHDOG_USEC");
    const char *watchdog_pid = getenv("WATCHDOG_PID");
    uint64_t period_ms = watchdog_us ? strtoull(watchdog_us, NULL, 10) / 2000 : 0;
    if (period_ms > 0 && (!watchdog_pid || strtol(watchdog_pid, NULL, 10) == (long)getpid()))
        uv_timer_start(&server->watchdog_timer, on_watchdog, 0, period_ms);
    if (getenv("NOTIFY_SOCKET"))
        uv_timer_start(&server->status_timer, on_status, STATUS_PERIOD_MS, STATUS_PERIOD_MS);
}

/* nohup, and a shell that starts us in the background, ignore a signal on our behalf. */
static bool is_ignored(int number)
{
    struct sigaction action;
    return number != SIGTERM && sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void add_signals(struct server *server)
{
    for (int i = 0; i < SERVER_STOP_SIGNALS; i++) {
        uv_signal_init(&server->loop, &server->signals[i]);
        uv_handle_set_data((uv_handle_t *)&server->signals[i], server);
        if (!is_ignored(stop_signals[i]))
            uv_signal_start(&server->signals[i], on_signal, stop_signals[i]);
    }
}

/* Closing the handles gives the signals back their default action; one that comes after must not turn an orderly end
 * into a kill. */
static void remove_signals(struct server *server)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (int i = 0; i < SERVER_STOP_SIGNALS; i++)
        sigaddset(&signals, stop_signals[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    for (int i = 0; i < SERVER_STOP_SIGNALS; i++) {
        close_handle((uv_handle_t *)&server->signals[i]);
        signal(stop_signals[i], SIG_IGN);
    }
    uv_run(&server->loop, UV_RUN_DEFAULT);
}

static bool start_listening(struct server *server)
{
    uv_pipe_init(&server->loop, &server->pipe, 0);
    uv_handle_set_data((uv_handle_t *)&server->pipe, server);
    int status = uv_pipe_open(&server->pipe, server->listener.fd);
    if (status == 0)
        status = uv_listen((uv_stream_t *)&server->pipe, LISTEN_BACKLOG, on_connection);
    if (status != 0)
        log_line(LOG_LEVEL_ERROR, "cannot listen at %s: %s", server->listener.path, uv_strerror(status));
    return status == 0;
}

static bool make_hello(struct server *server)
{
    struct bir_buf *hello = &server->hello;
    bir_buf_init(hello, 0);
    bir_buf_printf(hello, "{\"protocol\":{\"major\":%d,\"minor\":%d},\"server\":\"roostd\",\"version\":\"%s\",",
                   PROTO_VERSION_MAJOR, PROTO_VERSION_MINOR, bir_version());
    bir_buf_printf(hello, "\"build_id\":\"%s\",\"output_revision\":%d,\"pid\":%d,\"capabilities\":", bir_build_id(),
                   BIR_OUTPUT_REVISION, (int)getpid());
    methods_put_names(hello);
    bir_buf_puts(hello, ",\"limits\":{");
    roostd_options_put_limits(server->options, hello);
    bir_buf_puts(hello, "}}");
    bir_buf_putc(hello, '\0');
    return hello->status == BIR_OK;
}

static void init_parts(struct server *server, const struct roostd_options *options, const struct listener *listener)
{
    server->options = options;
    server->listener = *listener;
    server->held.limit_bytes = options->limits.held_bytes;
    server->metrics.started_ms = uv_now(&server->loop);
    cache_init(&server->cache, options->cache_bytes);
    server->scheduler.loop = &server->loop;
    server->scheduler.cache = &server->cache;
    server->scheduler.metrics = &server->metrics;
    server->scheduler.limits = options->compile;
    server->scheduler.queued_jobs_limit = options->limits.queued_jobs;
    server->scheduler.hold_ms = options->debug_hold_ms;
    server->scheduler.reply_json_limit = PROTO_REPLY_JSON_BYTES - 4096; /* the head comes on top */
    server->scheduler.idle = scheduler_idle;
    server->scheduler.owner = server;
}

static void announce(const struct server *server)
{
    static const char ready[] = "ready\n";
    log_line(LOG_LEVEL_INFO, "version %s, build %s, listening at %s", bir_version(), bir_build_id(),
             server->listener.path);
    notify_send("READY=1\nSTATUS=Listening at %s", server->listener.path);
    if (server->options->ready_fd == 0)
        return;
    if (write((int)server->options->ready_fd, ready, sizeof ready - 1) < 0)
        log_line(LOG_LEVEL_WARNING, "nobody waits at descriptor %d any more", (int)server->options->ready_fd);
    close((int)server->options->ready_fd);
}

int server_run(const struct roostd_options *options, struct listener *listener)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server || uv_loop_init(&server->loop) != 0) {
        log_line(LOG_LEVEL_ERROR, "out of memory");
        free(server);
        return EXIT_FAILURE;
    }
    init_parts(server, options, listener);
    add_timer(server, &server->idle_timer);
    add_timer(server, &server->drain_timer);
    add_timer(server, &server->watchdog_timer);
    add_timer(server, &server->status_timer);
    add_timer(server, &server->greeting_timer);
    add_signals(server);
    int result = EXIT_FAILURE;
    if (make_hello(server) && start_listening(server)) {
        result = EXIT_SUCCESS;
        announce(server);
        start_beats(server);
        server_consider(server);
    } else {
        stop(server);
    }
    uv_run(&server->loop, UV_RUN_DEFAULT);
    remove_signals(server);
    listener_release(&server->listener);
    if (uv_loop_close(&server->loop) != 0) {
        log_line(LOG_LEVEL_ERROR, "a handle was left open at the end");
        result = EXIT_FAILURE;
    }
    cache_deinit(&server->cache);
    memo_deinit(&server->memo);
    bir_buf_deinit(&server->hello);
    if (result == EXIT_SUCCESS)
        log_line(LOG_LEVEL_INFO, "stopped");
    free(server);
    return result;
}
