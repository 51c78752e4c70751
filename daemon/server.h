/*
 * The daemon: one loop, its listening socket, its connections, and how all of it ends.
 */
#ifndef DAEMON_SERVER_H
#define DAEMON_SERVER_H

#include <uv.h>

#include "daemon/cache.h"
#include "daemon/listen.h"
#include "daemon/memo.h"
#include "daemon/metrics.h"
#include "daemon/options.h"
#include "daemon/scheduler.h"

enum server_state {
    SERVER_RUNNING,
    SERVER_DRAINING, /* accepts nothing; open requests go on until they are done or the drain timeout passes */
    SERVER_STOPPED,  /* handles are closing */
};

struct session;

/* SIGTERM, SIGINT, SIGHUP */
#define SERVER_STOP_SIGNALS 3

struct server {
    uv_loop_t loop;
    const struct roostd_options *options;
    enum server_state state;
    struct listener listener;
    uv_pipe_t pipe;
    uv_signal_t signals[SERVER_STOP_SIGNALS];
    uv_timer_t idle_timer;
    uv_timer_t drain_timer;
    uv_timer_t watchdog_timer;
    uv_timer_t status_timer;
    uv_timer_t greeting_timer;
    struct session *sessions;
    uint64_t session_count;
    uv_pipe_t refused;        /* takes the connections for which there is no memory, to close them */
    bool refusing;            /* refused is in use */
    bool connection_left;     /* a connection could not even be refused: libuv offers no other before it is taken */
    struct proto_budget held; /* payloads of requests under way */
    struct cache cache;
    struct memo memo;
    struct metrics metrics;
    struct scheduler scheduler;
    struct bir_buf hello; /* result of hello, made once */
};

/* Runs the daemon until it is asked to stop; the exit status of the process. The listener is open. */
int server_run(const struct roostd_options *options, struct listener *listener);

/* Begins the orderly end; reason goes to the log. Idempotent. */
void server_drain(struct server *server, const char *reason);

/* A session has come, gone, or run out of work: the idle timer and the drain look again. */
void server_consider(struct server *server);

#endif
