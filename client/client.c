/*
 * The interface of libroost. The blocking functions are calls like the others, whose callback stores the reply, with a
 * loop around the dispatcher: there is one path through the protocol.
 */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "client/internal.h"

#define DEFAULT_TIMEOUT_MS     600000u
#define DEFAULT_IDLE_TIMEOUT_S 1800u

const char *roost_strerror(enum roost_status status)
{
    static const char *const texts[] = {
        [ROOST_OK] = "done",
        [ROOST_USAGE] = "wrong argument",
        [ROOST_NOMEM] = "out of memory",
        [ROOST_UNREACHABLE] = "no daemon answers",
        [ROOST_TIMEOUT] = "timed out",
        [ROOST_PROTOCOL] = "the answer is not understood",
        [ROOST_VERSION] = "the daemon speaks another version of the protocol",
        [ROOST_BUSY] = "the daemon is busy",
        [ROOST_CANCELLED] = "cancelled",
        [ROOST_DEADLINE] = "the deadline has passed",
        [ROOST_TOO_LARGE] = "the request is too large",
        [ROOST_NOT_FOUND] = "not found",
        [ROOST_BAD_MODULE] = "the module has errors",
        [ROOST_LIMIT] = "a limit of the compiler was reached",
        [ROOST_SHUTTING_DOWN] = "the daemon is shutting down",
        [ROOST_REFUSED] = "the daemon refuses the request",
        [ROOST_INTERNAL] = "internal error of the daemon",
    };
    return (unsigned)status < sizeof texts / sizeof texts[0] ? texts[status] : "unknown status";
}

enum roost_status client_status_of(int code)
{
    switch (code) {
    case PROTO_ERROR_VERSION: return ROOST_VERSION;
    case PROTO_ERROR_BUSY: return ROOST_BUSY;
    case PROTO_ERROR_CANCELLED: return ROOST_CANCELLED;
    case PROTO_ERROR_DEADLINE: return ROOST_DEADLINE;
    case PROTO_ERROR_TOO_LARGE: return ROOST_TOO_LARGE;
    case PROTO_ERROR_NOT_FOUND: return ROOST_NOT_FOUND;
    case PROTO_ERROR_BAD_MODULE: return ROOST_BAD_MODULE;
    case PROTO_ERROR_LIMIT: return ROOST_LIMIT;
    case PROTO_ERROR_SHUTTING_DOWN: return ROOST_SHUTTING_DOWN;
    case PROTO_ERROR_INTERNAL: return ROOST_INTERNAL;
    default: return ROOST_REFUSED;
    }
}

enum roost_status client_fail(roost *client, enum roost_status status, const char *fmt, ...)
{
    char text[sizeof client->error]; /* the arguments may lie in the old one */
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    memcpy(client->error, text, sizeof text);
    return status;
}

enum roost_status client_nomem(roost *client)
{
    return client_fail(client, ROOST_NOMEM, "out of memory");
}

bool client_copy_text(char **copy, const char *text)
{
    *copy = text ? strdup(text) : NULL;
    return !text || *copy;
}

bool client_dump_json(const json_t *value, char **out)
{
    *out = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    return !value || *out;
}

roost *roost_new(const struct roost_options *options)
{
    static const struct roost_options defaults = { .size = sizeof defaults };
    if (!options)
        options = &defaults;
    if (options->size != sizeof *options)
        return NULL;
    roost *client = calloc(1, sizeof *client);
    if (!client)
        return NULL;
    client->options = *options;
    client->fd = -1;
    bir_buf_init(&client->notices, 0);
    client->next_id = 1;
    if (!client_copy_text(&client->socket, options->socket) || !client_copy_text(&client->daemon, options->daemon) ||
        !client_copy_text(&client->client_name, options->client ? options->client : "libroost")) {
        roost_free(client);
        return NULL;
    }
    client->options.socket = client->socket;
    client->options.daemon = client->daemon;
    client->options.client = client->client_name;
    if (!client->options.timeout_ms)
        client->options.timeout_ms = DEFAULT_TIMEOUT_MS;
    if (!client->options.idle_timeout_s)
        client->options.idle_timeout_s = DEFAULT_IDLE_TIMEOUT_S;
    return client;
}

static void free_calls(struct call *call)
{
    while (call) {
        struct call *next = call->next;
        call_free(call);
        call = next;
    }
}

void roost_free(roost *client)
{
    if (!client)
        return;
    wire_disconnect(client);
    free_calls(client->calls);
    free_calls(client->finished);
    bir_buf_deinit(&client->notices);
    free(client->socket);
    free(client->daemon);
    free(client->client_name);
    free(client->hello);
    free(client);
}

const char *roost_error(const roost *client)
{
    return client->error;
}

/* The dumps lie in the block of the output. */
void roost_reply_clear(struct roost_reply *reply)
{
    free(reply->output);
    free(reply->diagnostics);
    free(reply->stats);
    free(reply->error);
    memset(reply, 0, sizeof *reply);
}

const char *roost_socket_path(roost *client)
{
    struct proto_socket_places places;
    client->error[0] = '\0';
    proto_socket_places_init(&places, client->socket);
    if (!client->path_known)
        client->path_known = proto_socket_path_resolve(&places, &client->path, client->error, sizeof client->error);
    return client->path_known ? client->path.address.sun_path : NULL;
}

enum roost_status roost_connect(roost *client)
{
    client->error[0] = '\0';
    wire_notice_end(client);
    return wire_ensure_connected(client, client_now_ms() + client->options.timeout_ms);
}

enum roost_status roost_hello(roost *client, const char **json)
{
    enum roost_status status = roost_connect(client);
    *json = status == ROOST_OK ? client->hello : NULL;
    return status;
}

/* Sends the call; takes it in success and failure. */
static enum roost_status submit(roost *client, struct call *call, roost_done *done, void *user)
{
    enum roost_status status = wire_ensure_connected(client, call->deadline);
    if (status != ROOST_OK) {
        call_free(call);
        return status;
    }
    call->done = done;
    call->user = user;
    call_append(client, call);
    return ROOST_OK;
}

enum roost_status roost_submit(roost *client, const struct roost_request *request, roost_done *done, void *user,
                               long long *id)
{
    struct call *call;
    client->error[0] = '\0';
    enum roost_status status = call_new(client, request, &call);
    if (status != ROOST_OK)
        return status;
    if (id)
        *id = call->id;
    status = submit(client, call, done, user);
    /* Start sending now; what becomes of it is told to the callback, by the next dispatch. */
    if (status == ROOST_OK)
        (void)wire_exchange(client);
    return status;
}

int roost_fd(const roost *client)
{
    return client->fd;
}

int roost_wants_write(const roost *client)
{
    return client->sending || client->notices.len > 0;
}

int roost_next_timeout(const roost *client)
{
    uint64_t now = client_now_ms();
    uint64_t nearest = UINT64_MAX;
    for (const struct call *call = client->calls; call; call = call->next)
        nearest = call->deadline < nearest ? call->deadline : nearest;
    if (client->finished)
        return 0;
    if (nearest == UINT64_MAX)
        return -1;
    return nearest > now ? client_wait_ms(nearest - now) : 0;
}

size_t roost_open_requests(const roost *client)
{
    size_t count = 0;
    for (const struct call *call = client->calls; call; call = call->next)
        count++;
    for (const struct call *call = client->finished; call; call = call->next)
        count++;
    return count;
}

enum roost_status roost_dispatch(roost *client, int wait_ms)
{
    client->error[0] = '\0';
    int timeout = roost_next_timeout(client);
    if (timeout < 0 || (wait_ms >= 0 && wait_ms < timeout))
        timeout = wait_ms;
    enum roost_status status = ROOST_OK;
    if (client->fd >= 0) {
        struct pollfd poller = { .fd = client->fd, .events = POLLIN };
        if (roost_wants_write(client))
            poller.events |= POLLOUT;
        if (timeout == 0 || poll(&poller, 1, timeout) != 0)
            status = wire_exchange(client);
    }
    wire_expire(client);
    call_deliver(client);
    return status;
}

enum roost_status roost_cancel(roost *client, long long id)
{
    client->error[0] = '\0';
    struct call *call = call_find(client, id);
    if (!call)
        return client_fail(client, ROOST_NOT_FOUND, "no request %lld is open", id);
    if (call->sent == 0)
        call_finish(client, call, ROOST_CANCELLED, NULL, roost_strerror(ROOST_CANCELLED));
    else if (!call->cancelled)
        call_put_cancel(client, id);
    call->cancelled = true;
    return ROOST_OK;
}

struct outcome {
    bool done;
    enum roost_status status;
    struct roost_reply *reply;
};

static void store(void *user, enum roost_status status, struct roost_reply *reply)
{
    struct outcome *outcome = user;
    outcome->done = true;
    outcome->status = status;
    *outcome->reply = *reply;
}

/* Runs one call to its end; reply is filled. */
static enum roost_status perform(roost *client, struct call *call, struct roost_reply *reply)
{
    struct outcome outcome = { .reply = reply };
    enum roost_status status = submit(client, call, store, &outcome);
    if (status != ROOST_OK)
        return status;
    status = wire_exchange(client);
    call_deliver(client);
    while (!outcome.done)
        (void)roost_dispatch(client, -1);
    client->error[0] = '\0';
    return outcome.status == ROOST_OK ? ROOST_OK
                                      : client_fail(client, outcome.status, "%s",
                                                    reply->error ? reply->error : roost_strerror(outcome.status));
}

enum roost_status roost_compile(roost *client, const struct roost_request *request, struct roost_reply *reply)
{
    struct call *call;
    memset(reply, 0, sizeof *reply);
    client->error[0] = '\0';
    enum roost_status status = call_new(client, request, &call);
    if (status == ROOST_OK)
        status = perform(client, call, reply);
    if (status != ROOST_OK && !reply->error)
        (void)client_copy_text(&reply->error, client->error);
    return status;
}

/* A method without module; *json (may be NULL) receives the result's text. */
static enum roost_status ask(roost *client, const char *method, char **json)
{
    struct call *call;
    struct roost_reply reply = { 0 };
    client->error[0] = '\0';
    enum roost_status status = call_new_service(client, method, &call);
    if (status == ROOST_OK)
        status = perform(client, call, &reply);
    if (json) {
        *json = reply.stats;
        reply.stats = NULL;
    }
    roost_reply_clear(&reply);
    return status;
}

enum roost_status roost_ping(roost *client)
{
    return ask(client, "ping", NULL);
}

enum roost_status roost_stats(roost *client, char **json)
{
    return ask(client, "stats", json);
}

/* Process id in the daemon's hello, 0 when it says none. */
static pid_t daemon_pid(const roost *client)
{
    json_t *hello = client->hello ? json_loads(client->hello, 0, NULL) : NULL;
    json_int_t pid = json_integer_value(json_object_get(hello, "pid"));
    json_decref(hello);
    return pid > 0 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

enum roost_status roost_shutdown(roost *client)
{
    uint64_t deadline = client_now_ms() + client->options.timeout_ms;
    int start = client->options.start;
    client->options.start = 0;
    enum roost_status status = roost_connect(client);
    int process = status == ROOST_OK && daemon_pid(client) ? pidfd_open(daemon_pid(client), 0) : -1;
    if (status == ROOST_OK)
        status = ask(client, "shutdown", NULL);
    client->options.start = start;
    uint64_t now = client_now_ms();
    if (status == ROOST_OK) {
        /* The daemon drains while we wait: our connection must not be what it waits for. */
        wire_disconnect(client);
        struct pollfd poller = { .fd = process, .events = POLLIN };
        if (process >= 0 && poll(&poller, 1, now < deadline ? client_wait_ms(deadline - now) : 0) == 0)
            status = client_fail(client, ROOST_TIMEOUT, "the daemon has not ended yet");
    }
    if (process >= 0)
        close(process);
    return status;
}
