/*
 * A session reads into its frame reader, hands complete frames to methods.c, and writes replies. Replies come from
 * there, or later from the scheduler through an open request.
 *
 * Writing tries the socket first, with the parts of the reply as they are: a small head made on the stack, the JSON
 * text and the payload of a shared blob. What the socket does not take is queued with a reference to the blob, so a
 * payload is never copied. When the queue passes its limit, reading stops until the peer has taken it: a client that
 * does not read can make us hold its open requests and one queue, and no more.
 *
 * A protocol violation answers with an error without id and closes; a failed request answers and goes on.
 */
#include "daemon/session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/log.h"
#include "daemon/methods.h"

/* The head of a reply without its id has some 130 bytes; an id of 256, the most that the limit allows, has six for each
 * when it is escaped, and two quotes. */
#define HEAD_BYTES 256
#define ID_BYTES   (6 * 256 + 2)

struct output {
    uv_write_t write;
    struct session *session;
    struct blob *blob;
    char *head;
};

static void output_free(struct output *output)
{
    blob_unref(output->blob);
    free(output->head);
    free(output);
}

static void session_process(struct session *session);

static uint64_t unsent(const struct session *session)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&session->pipe);
}

bool session_quiet(const struct session *session)
{
    return session->open_count == 0 && unsent(session) == 0;
}

/* A connection that is to end, by itself or with the daemon, ends when it has nothing more to say. */
static void settle(struct session *session)
{
    bool ending = session->state == SESSION_ENDING || session->server->state != SERVER_RUNNING;
    if (ending && session_quiet(session))
        session_close(session);
}

static void written(uv_write_t *write, int status)
{
    struct output *output = write->data;
    struct session *session = output->session;
    output_free(output);
    if (session->state == SESSION_CLOSED)
        return;
    if (status < 0) {
        session_close(session);
        return;
    }
    settle(session);
    if (session->paused && unsent(session) <= session->server->options->limits.output_queue_bytes / 2)
        session_process(session);
    server_consider(session->server);
}

/* Queues what is left of the parts. head is copied. */
static void queue_rest(struct session *session, const uv_buf_t *head, const uv_buf_t *rest, unsigned rest_count,
                       struct blob *blob)
{
    struct output *output = calloc(1, sizeof *output);
    uv_buf_t parts[3] = { 0 };
    unsigned count = 0;
    if (output) {
        output->session = session;
        output->write.data = output;
        output->blob = blob ? blob_ref(blob) : NULL;
        output->head = head->len ? malloc(head->len) : NULL;
    }
    if (!output || (head->len && !output->head)) {
        if (output)
            output_free(output);
        session_close(session);
        return;
    }
    if (head->len) {
        memcpy(output->head, head->base, head->len);
        parts[count++] = uv_buf_init(output->head, (unsigned)head->len);
    }
    for (unsigned i = 0; i < rest_count; i++)
        if (rest[i].len)
            parts[count++] = rest[i];
    if (uv_write(&output->write, (uv_stream_t *)&session->pipe, parts, count, written) != 0) {
        output_free(output);
        session_close(session);
    }
}

/* parts[0] is the head; the others lie in the blob. */
static void send_parts(struct session *session, uv_buf_t parts[3], struct blob *blob)
{
    if (session->state == SESSION_CLOSED)
        return;
    size_t total = parts[0].len + parts[1].len + parts[2].len;
    session->server->metrics.bytes_sent += total;
    size_t sent = 0;
    if (unsent(session) == 0) {
        unsigned count = parts[2].len ? 3 : parts[1].len ? 2 : 1;
        int n = uv_try_write((uv_stream_t *)&session->pipe, parts, count);
        if (n < 0 && n != UV_EAGAIN) {
            session_close(session);
            return;
        }
        sent = n > 0 ? (size_t)n : 0;
    }
    if (sent == total)
        return;
    for (unsigned i = 0; i < 3 && sent > 0; i++) {
        size_t done = sent < parts[i].len ? sent : parts[i].len;
        if (done == 0)
            continue;
        parts[i].base += done;
        parts[i].len -= done;
        sent -= done;
    }
    queue_rest(session, &parts[0], &parts[1], 2, blob);
}

/* Sends a frame whose JSON is all in json, which starts with 8 bytes for the header. */
static void send_json(struct session *session, struct bir_buf *json)
{
    if (!proto_frame_end(json, 0, 0)) {
        session_close(session);
        return;
    }
    uv_buf_t parts[3] = { { .base = json->data, .len = json->len } };
    send_parts(session, parts, NULL);
}

void session_reply_result(struct session *session, const struct proto_id *id, const char *result)
{
    struct bir_buf json;
    bir_buf_init(&json, 0);
    proto_frame_begin(&json);
    proto_put_result(&json, id, result);
    send_json(session, &json);
    bir_buf_deinit(&json);
}

void session_reply_error(struct session *session, const struct proto_id *id, int code, const char *members,
                         const char *fmt, ...)
{
    char message[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    struct bir_buf json;
    bir_buf_init(&json, 0);
    proto_frame_begin(&json);
    proto_put_error(&json, id, code, message, members);
    session->server->metrics.requests_failed++;
    send_json(session, &json);
    bir_buf_deinit(&json);
}

static char *append(char *at, const char *text, size_t len)
{
    memcpy(at, text, len);
    return at + len;
}

#define APPEND_LITERAL(at, literal) append(at, literal, sizeof(literal) - 1)

/* 20 characters at most. */
static char *append_number(char *at, int64_t number)
{
    char digits[20];
    size_t first = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        digits[--first] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *at++ = '-';
    return append(at, digits + first, sizeof digits - first);
}

/* At most ID_BYTES; NULL when there is no memory. The usual id is a number, which needs no allocation. */
static char *append_id(char *at, const struct proto_id *id)
{
    if (id->kind == PROTO_ID_INTEGER)
        return append_number(at, id->number);
    struct bir_buf escaped;
    bir_buf_init(&escaped, 0);
    proto_put_id(&escaped, id);
    at = escaped.status == BIR_OK ? append(at, escaped.data, escaped.len) : NULL;
    bir_buf_deinit(&escaped);
    return at;
}

/* Length of the head, 0 when there is no memory. */
static size_t put_head(char *head, const struct proto_id *id, const char *cache, const struct blob *answer)
{
    char *at = append_id(APPEND_LITERAL(head, "{\"jsonrpc\":\"2.0\",\"id\":"), id);
    if (!at)
        return 0;
    if (answer->error) {
        at = APPEND_LITERAL(at, ",\"error\":");
    } else {
        at = APPEND_LITERAL(at, ",\"result\":{\"digest\":\"");
        at = append(at, answer->module_hex, BIR_DIGEST_HEX_CHARS);
        at = APPEND_LITERAL(at, "\",\"cache\":\"");
        at = append(at, cache, strlen(cache));
        *at++ = '"';
    }
    return (size_t)(at - head);
}

void session_reply_answer(struct session *session, const struct proto_id *id, const char *cache, struct blob *answer)
{
    char head[PROTO_FRAME_HEADER_BYTES + HEAD_BYTES + ID_BYTES];
    size_t head_len = put_head(head + PROTO_FRAME_HEADER_BYTES, id, cache, answer);
    if (head_len == 0 || answer->text_len > UINT32_MAX - head_len) {
        session_close(session);
        return;
    }
    session->server->metrics.requests_failed += answer->error;
    proto_frame_header_put((unsigned char *)head, (uint32_t)(head_len + answer->text_len), (uint32_t)answer->data_len);
    uv_buf_t parts[3] = { { .base = head, .len = head_len + PROTO_FRAME_HEADER_BYTES },
                          { .base = answer->text, .len = answer->text_len },
                          { .base = answer->data, .len = answer->data_len } };
    send_parts(session, parts, answer);
}

struct open_request *session_find_open(const struct session *session, const struct proto_id *id)
{
    for (struct open_request *request = session->open; request; request = request->next)
        if (proto_id_equal(&request->id, id))
            return request;
    return NULL;
}

static void unlink_request(struct open_request *request)
{
    struct session *session = request->session;
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    request->session = NULL;
    session->open_count--;
    session->server->metrics.requests_open--;
}

static void request_closed(struct ticket *ticket)
{
    free(ticket);
}

/* The scheduler is done with it. */
static void request_done(struct ticket *ticket, enum ticket_outcome outcome, struct blob *answer)
{
    struct open_request *request = (struct open_request *)ticket;
    struct session *session = request->session;
    if (!session)
        return;
    struct metrics *metrics = &session->server->metrics;
    const struct proto_id *id = &request->id;
    switch (outcome) {
    case TICKET_ANSWER_MISS:
        metrics->answers_miss++;
        session_reply_answer(session, id, "miss", answer);
        break;
    case TICKET_ANSWER_MERGED:
        metrics->answers_merged++;
        session_reply_answer(session, id, "merged", answer);
        break;
    case TICKET_CANCELLED:
        session_reply_error(session, id, PROTO_ERROR_CANCELLED, NULL, "the request was cancelled");
        break;
    case TICKET_DEADLINE:
        session_reply_error(session, id, PROTO_ERROR_DEADLINE, NULL, "the deadline of %llu ms has passed",
                            (unsigned long long)ticket->deadline_ms);
        break;
    case TICKET_SHUTTING_DOWN:
        session_reply_error(session, id, PROTO_ERROR_SHUTTING_DOWN, NULL, "the daemon is shutting down");
        break;
    case TICKET_FAILED:
        session_reply_error(session, id, PROTO_ERROR_INTERNAL, NULL, "there is no memory for the answer");
        break;
    }
    if (request->session) /* sending may have closed the session, and cut the tie */
        unlink_request(request);
    settle(session);
    server_consider(session->server);
}

struct open_request *session_open_request(struct session *session, const struct proto_id *id, uint64_t deadline_ms)
{
    size_t text_len = id->kind == PROTO_ID_STRING ? id->len : 0;
    struct open_request *request = calloc(1, sizeof *request + text_len);
    if (!request)
        return NULL;
    request->ticket = (struct ticket){ .deadline_ms = deadline_ms, .done = request_done, .closed = request_closed };
    request->id = *id;
    if (text_len) {
        memcpy(request->id_text, id->text, text_len);
        request->id.text = request->id_text;
    }
    request->session = session;
    request->next = session->open;
    request->link = &session->open;
    if (request->next)
        request->next->link = &request->next;
    session->open = request;
    session->open_count++;
    session->server->metrics.requests_open++;
    return request;
}

void session_drop_request(struct open_request *request)
{
    unlink_request(request);
    free(request);
}

static void session_closed(uv_handle_t *handle)
{
    struct session *session = uv_handle_get_data(handle);
    struct server *server = session->server;
    *session->link = session->next;
    if (session->next)
        session->next->link = session->link;
    server->session_count--;
    server->metrics.connections_open--;
    proto_frame_reader_deinit(&session->reader);
    free(session);
    server_consider(server);
}

void session_close(struct session *session)
{
    if (session->state == SESSION_CLOSED)
        return;
    session->state = SESSION_CLOSED;
    while (session->open) {
        struct open_request *request = session->open;
        unlink_request(request);
        if (request->ticket.job)
            scheduler_cancel(&session->server->scheduler, &request->ticket, TICKET_CANCELLED);
    }
    uv_close((uv_handle_t *)&session->pipe, session_closed);
}

void session_end(struct session *session)
{
    if (session->state == SESSION_CLOSED)
        return;
    session->state = SESSION_ENDING;
    uv_read_stop((uv_stream_t *)&session->pipe);
    if (session_quiet(session))
        session_close(session);
}

static void violation(struct session *session, int code, const char *text)
{
    const struct proto_id nobody = { .kind = PROTO_ID_NULL };
    session->server->metrics.connections_broken++;
    log_line(LOG_LEVEL_WARNING, "connection of pid %d (uid %u) closed: %s", (int)session->pid, (unsigned)session->uid,
             text);
    session_reply_error(session, &nobody, code, NULL, "%s", text);
    session_end(session);
}

void session_expect_greeting(struct session *session)
{
    char text[96];
    uint64_t limit_ms = session->server->options->limits.greeting_ms;
    if (session->state != SESSION_GREETING || uv_now(&session->server->loop) - session->accepted_ms < limit_ms)
        return;
    snprintf(text, sizeof text, "no hello came within %llu ms", (unsigned long long)limit_ms);
    violation(session, PROTO_ERROR_REQUEST, text);
}

static void framing_failed(struct session *session, enum proto_frame_status status)
{
    char text[160];
    if (status == PROTO_FRAME_JSON_EMPTY) {
        violation(session, PROTO_ERROR_REQUEST, "a frame announces no JSON; the stream cannot be followed");
        return;
    }
    snprintf(text, sizeof text, "a frame announces %lu bytes of JSON, the limit is %llu",
             (unsigned long)session->reader.json_len, (unsigned long long)session->reader.json_limit);
    violation(session, PROTO_ERROR_TOO_LARGE, text);
}

/* The digest keeps pace with the payload, so that a large one never holds up the loop. */
static void hash_payload(struct session *session)
{
    const char *bytes;
    size_t len;
    proto_frame_reader_payload(&session->reader, &bytes, &len);
    if (len > 0 && session->hashed_bytes == 0)
        bir_hasher_init(&session->hasher);
    if (len > session->hashed_bytes)
        bir_hasher_update(&session->hasher, bytes + session->hashed_bytes, len - session->hashed_bytes);
    session->hashed_bytes = len;
}

static void handle_frame(struct session *session, const struct proto_frame *frame)
{
    struct bir_digest digest = { 0 };
    if (frame->payload)
        bir_hasher_finish(&session->hasher, &digest);
    session->hashed_bytes = 0;
    methods_handle(session, frame, frame->payload ? &digest : NULL);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct session *session = uv_handle_get_data(handle);
    char *space = NULL;
    size_t room = 0;
    if (!proto_frame_reader_space(&session->reader, &space, &room))
        room = 0;
    *buf = uv_buf_init(space, room > UINT32_MAX ? UINT32_MAX : (unsigned)room);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    (void)buf;
    struct session *session = uv_handle_get_data((uv_handle_t *)stream);
    if (n < 0) {
        if (n == UV_EOF && !proto_frame_reader_at_boundary(&session->reader))
            session->server->metrics.connections_broken++;
        session_close(session);
        return;
    }
    proto_frame_reader_commit(&session->reader, (size_t)n);
    session->server->metrics.bytes_received += (uint64_t)n;
    session_process(session);
}

static bool accepts_frames(const struct session *session)
{
    return session->state == SESSION_GREETING || session->state == SESSION_READY;
}

static void set_paused(struct session *session, bool paused)
{
    if (session->paused == paused || !accepts_frames(session))
        return;
    session->paused = paused;
    if (paused)
        uv_read_stop((uv_stream_t *)&session->pipe);
    else if (uv_read_start((uv_stream_t *)&session->pipe, on_alloc, on_read) != 0)
        session_close(session);
}

/* Handles the frames that are complete, as long as the peer takes the replies. */
static void session_process(struct session *session)
{
    uint64_t limit = session->server->options->limits.output_queue_bytes;
    while (accepts_frames(session) && unsent(session) <= limit) {
        struct proto_frame frame;
        enum proto_frame_status status = proto_frame_reader_next(&session->reader, &frame);
        hash_payload(session);
        if (status == PROTO_FRAME_MORE)
            break;
        if (status == PROTO_FRAME_READY)
            handle_frame(session, &frame);
        else
            framing_failed(session, status);
    }
    set_paused(session, unsent(session) > limit);
    settle(session);
}

static bool peer_allowed(const struct session *session)
{
    return session->uid == geteuid() || session->uid == 0 || strcmp(session->server->options->peers, "any") == 0;
}

static bool peer_identify(struct session *session)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)&session->pipe, &fd) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
        return false;
    session->uid = peer.uid;
    session->pid = peer.pid;
    return true;
}

/* Refuses with a reason that the client can show. */
static bool admit(struct session *session)
{
    const struct proto_id nobody = { .kind = PROTO_ID_NULL };
    struct server *server = session->server;
    if (!peer_identify(session) || !peer_allowed(session)) {
        log_line(LOG_LEVEL_WARNING, "refused pid %d of uid %u: the daemon serves uid %u", (int)session->pid,
                 (unsigned)session->uid, (unsigned)geteuid());
        session_reply_error(session, &nobody, PROTO_ERROR_REQUEST, NULL, "this daemon serves user %u, not user %u",
                            (unsigned)geteuid(), (unsigned)session->uid);
        return false;
    }
    if (server->session_count > server->options->limits.connections) {
        log_line(LOG_LEVEL_WARNING, "refused pid %d: %llu connections are open", (int)session->pid,
                 (unsigned long long)server->options->limits.connections);
        session_reply_error(session, &nobody, PROTO_ERROR_BUSY, NULL, "all %llu connections are taken",
                            (unsigned long long)server->options->limits.connections);
        return false;
    }
    return true;
}

static void refused_closed(uv_handle_t *handle)
{
    struct server *server = uv_handle_get_data(handle);
    server->refusing = false;
    if (server->connection_left && server->state == SERVER_RUNNING)
        session_accept(server);
}

/* Takes a connection away without a session. libuv listens no further while one waits to be accepted. */
static void refuse_without_memory(struct server *server)
{
    server->connection_left = server->refusing;
    if (server->refusing)
        return;
    log_line(LOG_LEVEL_WARNING, "no memory for a connection");
    server->refusing = true;
    server->metrics.connections_refused++;
    uv_pipe_init(&server->loop, &server->refused, 0);
    uv_handle_set_data((uv_handle_t *)&server->refused, server);
    (void)uv_accept((uv_stream_t *)&server->pipe, (uv_stream_t *)&server->refused);
    uv_close((uv_handle_t *)&server->refused, refused_closed);
}

void session_accept(struct server *server)
{
    server->connection_left = false;
    struct session *session = calloc(1, sizeof *session);
    if (!session) {
        refuse_without_memory(server);
        return;
    }
    session->server = server;
    session->accepted_ms = uv_now(&server->loop);
    uv_pipe_init(&server->loop, &session->pipe, 0);
    uv_handle_set_data((uv_handle_t *)&session->pipe, session);
    proto_frame_reader_init(&session->reader, server->options->limits.request_json_bytes,
                            server->options->limits.payload_bytes, &server->held);
    session->next = server->sessions;
    session->link = &server->sessions;
    if (session->next)
        session->next->link = &session->next;
    server->sessions = session;
    server->session_count++;
    server->metrics.connections_open++;
    if (uv_accept((uv_stream_t *)&server->pipe, (uv_stream_t *)&session->pipe) != 0) {
        session_close(session);
        return;
    }
    if (!admit(session)) {
        server->metrics.connections_refused++;
        session_end(session);
        return;
    }
    server->metrics.connections_accepted++;
    if (uv_read_start((uv_stream_t *)&session->pipe, on_alloc, on_read) != 0)
        session_close(session);
    server_consider(server);
}
