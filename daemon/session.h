/*
 * One connection: frames in, replies out, and the requests that are open in between.
 */
#ifndef DAEMON_SESSION_H
#define DAEMON_SESSION_H

#include "daemon/blob.h"
#include "daemon/scheduler.h"
#include "daemon/server.h"
#include "proto/message.h"

enum session_state {
    SESSION_GREETING, /* hello has not come yet */
    SESSION_READY,
    SESSION_ENDING, /* nothing more is read; closes when what is queued has been written */
    SESSION_CLOSED, /* waits for libuv to let go */
};

struct session {
    struct server *server;
    struct session *next; /* of server->sessions */
    struct session **link;
    enum session_state state;
    bool paused; /* not reading: the peer does not take its replies */
    uv_pipe_t pipe;
    uint64_t accepted_ms; /* by the clock of the loop */
    uid_t uid;
    pid_t pid;
    struct proto_frame_reader reader;
    struct bir_hasher hasher; /* of the payload that is arriving */
    size_t hashed_bytes;
    struct open_request *open;
    uint64_t open_count;
};

/* A request that waits for a job. */
struct open_request {
    struct ticket ticket;    /* first: the scheduler hands it back */
    struct session *session; /* NULL once the connection is gone */
    struct open_request *next;
    struct open_request **link;
    struct proto_id id;
    char id_text[]; /* of a textual id */
};

/* Takes a connection from the listening pipe. */
void session_accept(struct server *server);

/* Ends the connection once everything queued is written. */
void session_end(struct session *session);
/* Closes at once; open requests are cancelled. Idempotent. */
void session_close(struct session *session);

/* Ends the connection when hello is overdue. */
void session_expect_greeting(struct session *session);

/* Nothing open and nothing unsent. */
bool session_quiet(const struct session *session);

void session_reply_result(struct session *session, const struct proto_id *id, const char *result);
/* members: further members of error.data, or NULL */
void session_reply_error(struct session *session, const struct proto_id *id, int code, const char *members,
                         const char *fmt, ...) BIR_PRINTF(5, 6);
/* cache: "l1", "miss" or "merged" */
void session_reply_answer(struct session *session, const struct proto_id *id, const char *cache, struct blob *answer);

/* The open request with this id, or NULL. */
struct open_request *session_find_open(const struct session *session, const struct proto_id *id);
/* Makes an open request, not yet known to the scheduler; NULL when there is no memory. */
struct open_request *session_open_request(struct session *session, const struct proto_id *id, uint64_t deadline_ms);
/* Undoes session_open_request when the scheduler did not take the ticket. */
void session_drop_request(struct open_request *request);

#endif
