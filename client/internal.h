/*
 * The inside of a handle, shared by the files of libroost.
 *
 * client.c is the interface, call.c turns requests into frames and replies into results, wire.c moves bytes, connect.c
 * finds and starts the daemon.
 */
#ifndef CLIENT_INTERNAL_H
#define CLIENT_INTERNAL_H

#include <stdbool.h>

#include "client/connect.h"
#include "client/roost.h"
#include "proto/frame.h"
#include "proto/message.h"

struct call {
    struct call *next;
    int64_t id;
    struct bir_buf frame; /* header and JSON */
    const void *payload;
    size_t payload_len; /* that travels with the frame */
    size_t sent;        /* of frame and payload */
    bool repeated;
    bool cancelled;
    bool service;       /* a call without module: the reply's text is the whole result */
    const void *module; /* to fall back to when the daemon does not know the digest */
    size_t module_len;
    char *method;
    char *format;
    char *params; /* members behind "module", as text */
    uint64_t deadline;
    roost_done *done;
    void *user;
    enum roost_status status; /* once it is finished */
    struct roost_reply reply;
};

struct roost {
    struct roost_options options; /* the texts are copies */
    char *socket;
    char *daemon;
    char *client_name;
    struct proto_socket_path path;
    bool path_known;
    int fd;
    struct proto_frame_reader reader;
    struct call *calls;     /* open, oldest first */
    struct call *sending;   /* first call with unsent bytes */
    struct call *finished;  /* waiting for their callback */
    struct bir_buf notices; /* notifications to be sent between two calls */
    int64_t next_id;
    char *hello;
    char error[1024];
};

/* Sets the handle's error text; gives status. */
enum roost_status client_fail(roost *client, enum roost_status status, const char *fmt, ...) BIR_PRINTF(3, 4);
enum roost_status client_nomem(roost *client);
/* Status of an error of the protocol. */
enum roost_status client_status_of(int code);
/* False when there is no memory; a NULL text is copied as NULL. */
bool client_copy_text(char **copy, const char *text);
/* False when there is no memory; a missing value gives NULL. */
bool client_dump_json(const json_t *value, char **out);

/* call.c */
enum roost_status call_new(roost *client, const struct roost_request *request, struct call **out);
/* A call of a method without module. */
enum roost_status call_new_service(roost *client, const char *method, struct call **out);
void call_free(struct call *call);
void call_append(roost *client, struct call *call);
struct call *call_find(const roost *client, int64_t id);
bool call_sent(const struct call *call);
/* Takes the call off the list; its callback runs with the next call_deliver. Takes reply (may be NULL). */
void call_finish(roost *client, struct call *call, enum roost_status status, struct roost_reply *reply,
                 const char *text);
/* Runs the callbacks of finished calls. */
void call_deliver(roost *client);
/* Handles a reply that belongs to a call. */
void call_handle_reply(roost *client, const struct proto_frame *frame, const struct proto_message *message);
/* Queues the notification that cancels a call whose frame has been sent. */
void call_put_cancel(roost *client, int64_t id);

/* wire.c */
void wire_disconnect(roost *client);
/* Disconnects when the daemon has closed an idle connection. */
void wire_notice_end(roost *client);
enum roost_status wire_ensure_connected(roost *client, uint64_t deadline);
/* Writes what the socket takes and reads what is there. A broken connection is replaced once for each call. */
enum roost_status wire_exchange(roost *client);
/* Finishes the calls whose time is over. */
void wire_expire(roost *client);

#endif
