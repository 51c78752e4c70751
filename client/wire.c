/*
 * The connection of a handle. Calls are sent in order, as far as the socket takes them; replies are read whenever there
 * are some. When the connection breaks, every call that has not been repeated yet is sent again on a new one, from its
 * first byte; the others fail.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "client/internal.h"

/* Of a daemon's reply: what our own parser needs for the deepest one, with room for what a minor version may add. */
#define REPLY_DEPTH    64
#define REPLY_ID_BYTES 256

void wire_disconnect(roost *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    proto_frame_reader_deinit(&client->reader);
    client->notices.len = 0;
}

static enum roost_status lost(roost *client)
{
    return client_fail(client, ROOST_UNREACHABLE, "the daemon at %s closed the connection",
                       client->path.address.sun_path);
}

static enum roost_status garbled(roost *client)
{
    return client_fail(client, ROOST_PROTOCOL, "what answers at %s does not speak the protocol",
                       client->path.address.sun_path);
}

static bool parse(const struct proto_frame *frame, struct proto_message *message)
{
    struct proto_fault fault;
    return proto_message_parse(frame->json, frame->json_len, REPLY_DEPTH, REPLY_ID_BYTES, message, &fault);
}

/* One recv into the reader. *n is 0 when nothing is there. */
static enum roost_status read_some(roost *client, size_t *n, bool *more)
{
    char *space;
    size_t room;
    *n = 0;
    *more = false;
    if (!proto_frame_reader_space(&client->reader, &space, &room))
        return client_nomem(client);
    ssize_t got = recv(client->fd, space, room, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) {
        *more = errno == EINTR;
        return ROOST_OK;
    }
    if (got <= 0)
        return lost(client);
    proto_frame_reader_commit(&client->reader, (size_t)got);
    *n = (size_t)got;
    *more = (size_t)got == room;
    return ROOST_OK;
}

/* Sends the parts from `sent` on; more of them when the socket takes no more. */
static enum roost_status send_some(roost *client, const struct bir_buf *head, const void *payload, size_t payload_len,
                                   size_t *sent)
{
    while (*sent < head->len + payload_len) {
        size_t of_head = *sent < head->len ? head->len - *sent : 0;
        size_t of_payload = *sent > head->len ? *sent - head->len : 0;
        struct iovec parts[2] = { { .iov_base = head->data + (head->len - of_head), .iov_len = of_head } };
        if (payload_len)
            parts[1] = (struct iovec){ .iov_base = (char *)(uintptr_t)payload + of_payload,
                                       .iov_len = payload_len - of_payload };
        struct msghdr message = { .msg_iov = of_head ? parts : parts + 1,
                                  .msg_iovlen = of_head && payload_len ? 2 : 1 };
        ssize_t n = sendmsg(client->fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return ROOST_OK;
        if (n < 0)
            return lost(client);
        *sent += (size_t)n;
    }
    return ROOST_OK;
}

/* Notices go between two calls, never into one. */
static enum roost_status transmit(roost *client)
{
    for (;;) {
        enum roost_status status = ROOST_OK;
        if (client->notices.len && !(client->sending && client->sending->sent)) {
            size_t sent = 0;
            status = send_some(client, &client->notices, NULL, 0, &sent);
            memmove(client->notices.data, client->notices.data + sent, client->notices.len - sent);
            client->notices.len -= sent;
            if (status != ROOST_OK || client->notices.len)
                return status;
        }
        struct call *call = client->sending;
        if (!call)
            return ROOST_OK;
        status = send_some(client, &call->frame, call->payload, call->payload_len, &call->sent);
        if (status != ROOST_OK || !call_sent(call))
            return status;
        client->sending = call->next;
    }
}

/* An error without id is about the connection as a whole. */
static enum roost_status handle_frame(roost *client, const struct proto_frame *frame)
{
    struct proto_message message;
    if (!parse(frame, &message))
        return garbled(client);
    enum roost_status status = ROOST_OK;
    if (message.kind == PROTO_ERROR && message.id.kind == PROTO_ID_NULL)
        status = client_fail(client, client_status_of(message.code), "%s", message.error_message);
    else if (message.kind == PROTO_RESULT || message.kind == PROTO_ERROR)
        call_handle_reply(client, frame, &message);
    proto_message_deinit(&message);
    return status;
}

static enum roost_status receive(roost *client)
{
    bool more = true;
    while (more) {
        size_t n;
        enum roost_status status = read_some(client, &n, &more);
        if (status != ROOST_OK)
            return status;
        struct proto_frame frame;
        enum proto_frame_status framed;
        while ((framed = proto_frame_reader_next(&client->reader, &frame)) == PROTO_FRAME_READY) {
            status = handle_frame(client, &frame);
            if (status != ROOST_OK)
                return status;
        }
        if (framed != PROTO_FRAME_MORE)
            return garbled(client);
    }
    return ROOST_OK;
}

static bool put_hello(const roost *client, struct bir_buf *frame)
{
    const struct proto_id id = { .kind = PROTO_ID_INTEGER, .number = 0 };
    struct bir_buf params;
    bir_buf_init(&params, 0);
    bir_buf_printf(&params, "{\"protocol\":{\"major\":%d,\"minor\":%d},\"client\":", PROTO_VERSION_MAJOR,
                   PROTO_VERSION_MINOR);
    proto_put_string(&params, client->client_name, strlen(client->client_name));
    bir_buf_put(&params, "}", 2);
    size_t start = proto_frame_begin(frame);
    if (params.status == BIR_OK)
        proto_put_request(frame, &id, "hello", params.data);
    bool built = params.status == BIR_OK && proto_frame_end(frame, start, 0);
    bir_buf_deinit(&params);
    return built;
}

static enum roost_status send_hello(roost *client)
{
    struct bir_buf frame;
    size_t sent = 0;
    bir_buf_init(&frame, 0);
    enum roost_status status = put_hello(client, &frame) ? ROOST_OK : client_nomem(client);
    /* Some two hundred bytes: the buffer of a new connection takes them at once. */
    if (status == ROOST_OK)
        status = send_some(client, &frame, NULL, 0, &sent);
    bir_buf_deinit(&frame);
    return status;
}

static enum roost_status take_hello(roost *client, const struct proto_frame *frame)
{
    struct proto_message message;
    if (!parse(frame, &message))
        return garbled(client);
    enum roost_status status = ROOST_OK;
    if (message.kind == PROTO_ERROR) {
        status = client_fail(client, client_status_of(message.code), "%s", message.error_message);
    } else if (message.kind != PROTO_RESULT) {
        status = garbled(client);
    } else {
        free(client->hello);
        status = client_dump_json(message.result, &client->hello) ? ROOST_OK : client_nomem(client);
    }
    proto_message_deinit(&message);
    return status;
}

static enum roost_status await_hello(roost *client, uint64_t deadline)
{
    for (;;) {
        struct proto_frame frame;
        enum proto_frame_status framed = proto_frame_reader_next(&client->reader, &frame);
        if (framed == PROTO_FRAME_READY)
            return take_hello(client, &frame);
        if (framed != PROTO_FRAME_MORE)
            return garbled(client);
        uint64_t now = client_now_ms();
        struct pollfd poller = { .fd = client->fd, .events = POLLIN };
        if (now >= deadline || poll(&poller, 1, client_wait_ms(deadline - now)) == 0)
            return client_fail(client, ROOST_TIMEOUT, "the daemon at %s does not answer",
                               client->path.address.sun_path);
        size_t n;
        bool more;
        enum roost_status status = read_some(client, &n, &more);
        if (status != ROOST_OK)
            return status;
    }
}

static enum roost_status connect_once(roost *client, uint64_t deadline)
{
    enum roost_status status =
        client_connect(&client->options, &client->path, deadline, &client->fd, client->error, sizeof client->error);
    if (status != ROOST_OK)
        return status;
    proto_frame_reader_init(&client->reader, PROTO_REPLY_JSON_BYTES, UINT32_MAX, NULL);
    status = send_hello(client);
    /* A daemon that refuses us says why before it closes; that is worth more than "closed". */
    enum roost_status answer = await_hello(client, deadline);
    if (status == ROOST_OK || answer != ROOST_UNREACHABLE)
        status = answer;
    if (status != ROOST_OK)
        wire_disconnect(client);
    return status;
}

static bool worth_a_retry(enum roost_status status)
{
    return status == ROOST_UNREACHABLE || status == ROOST_SHUTTING_DOWN;
}

void wire_notice_end(roost *client)
{
    char byte;
    if (client->fd >= 0 && !client->calls && recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        wire_disconnect(client);
}

enum roost_status wire_ensure_connected(roost *client, uint64_t deadline)
{
    if (client->fd >= 0)
        return ROOST_OK;
    if (!roost_socket_path(client))
        return ROOST_USAGE;
    enum roost_status status = connect_once(client, deadline);
    /* The daemon may have begun to drain between connect and hello. */
    return worth_a_retry(status) ? connect_once(client, deadline) : status;
}

/* Finishes the open calls with this status; those that may be repeated are kept instead, as unsent. */
static void fail_calls(roost *client, enum roost_status status, bool repeat)
{
    struct call *next;
    for (struct call *call = client->calls; call; call = next) {
        next = call->next;
        if (call->cancelled)
            call_finish(client, call, ROOST_CANCELLED, NULL, roost_strerror(ROOST_CANCELLED));
        else if (!repeat || call->repeated)
            call_finish(client, call, status, NULL, client->error);
        call->repeated = true;
        call->sent = 0;
    }
    client->sending = client->calls;
}

/* The connection is of no use any more. */
static enum roost_status recover(roost *client, enum roost_status status)
{
    wire_disconnect(client);
    fail_calls(client, status, worth_a_retry(status));
    if (!client->calls)
        return status;
    status = wire_ensure_connected(client, client->calls->deadline);
    if (status != ROOST_OK)
        fail_calls(client, status, false);
    return status;
}

enum roost_status wire_exchange(roost *client)
{
    enum roost_status status = transmit(client);
    if (status == ROOST_OK || status == ROOST_UNREACHABLE) {
        /* Even when writing fails there may be a reply that says why. */
        enum roost_status received = receive(client);
        status = received != ROOST_OK ? received : status;
    }
    return status == ROOST_OK ? ROOST_OK : recover(client, status);
}

void wire_expire(roost *client)
{
    uint64_t now = client_now_ms();
    bool cut = false;
    struct call *next;
    for (struct call *call = client->calls; call; call = next) {
        next = call->next;
        if (call->deadline > now)
            continue;
        cut = cut || (call->sent > 0 && !call_sent(call));
        if (client->fd >= 0 && call->sent > 0)
            call_put_cancel(client, call->id);
        call_finish(client, call, ROOST_TIMEOUT, NULL, "the daemon did not answer in time");
    }
    if (cut) /* half a request is on the wire: the stream cannot go on */
        (void)recover(client, lost(client));
}
