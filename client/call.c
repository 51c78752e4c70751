/*
 * Calls: what is open, in the order of submission.
 *
 * A call with digest and bytes goes out without the bytes; the answer not-found sends it once more, with them. A
 * finished call leaves the list at once and waits for its callback on another one, so that callbacks, which may submit
 * and cancel, never meet a list that somebody walks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"

/* The daemon answers `deadline` at the time; a daemon that does not is given this much longer. */
#define GRACE_MS 2000u
/* The largest deadline that any daemon takes by default; see max_deadline_ms of hello. */
#define LARGEST_DEADLINE_MS 3600000u

void call_free(struct call *call)
{
    roost_reply_clear(&call->reply);
    bir_buf_deinit(&call->frame);
    free(call->method);
    free(call->params);
    free(call->format);
    free(call);
}

static struct call **list_end(struct call **list)
{
    while (*list)
        list = &(*list)->next;
    return list;
}

void call_append(roost *client, struct call *call)
{
    call->next = NULL;
    *list_end(&client->calls) = call;
    if (!client->sending)
        client->sending = call;
}

static void call_unlink(roost *client, struct call *call)
{
    struct call **link = &client->calls;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
    if (client->sending == call)
        client->sending = call->next;
    call->next = NULL;
}

struct call *call_find(const roost *client, int64_t id)
{
    struct call *call = client->calls;
    while (call && call->id != id)
        call = call->next;
    return call;
}

bool call_sent(const struct call *call)
{
    return call->sent == call->frame.len + call->payload_len;
}

void call_finish(roost *client, struct call *call, enum roost_status status, struct roost_reply *reply,
                 const char *text)
{
    call_unlink(client, call);
    if (reply)
        call->reply = *reply;
    if (status != ROOST_OK && !call->reply.error)
        (void)client_copy_text(&call->reply.error, text);
    call->status = status;
    *list_end(&client->finished) = call;
}

void call_deliver(roost *client)
{
    while (client->finished) {
        struct call *call = client->finished;
        struct roost_reply reply = call->reply;
        client->finished = call->next;
        memset(&call->reply, 0, sizeof call->reply);
        call->done(call->user, call->status, &reply);
        call_free(call);
    }
}

static bool put_member(struct bir_buf *buf, const char *name, const char *text)
{
    bir_buf_printf(buf, "\"%s\":", name);
    proto_put_string(buf, text, strlen(text));
    return buf->status == BIR_OK;
}

/* Writes the frame of a call: with the digest alone, or with the bytes. */
static bool build_frame(struct call *call, const char *digest, bool with_bytes)
{
    const struct proto_id id = { .kind = PROTO_ID_INTEGER, .number = call->id };
    struct bir_buf params;
    bir_buf_init(&params, 0);
    if (!call->service) {
        bir_buf_puts(&params, "{\"module\":{");
        if (digest)
            put_member(&params, "digest", digest);
        if (call->format) {
            bir_buf_puts(&params, digest ? "," : "");
            put_member(&params, "format", call->format);
        }
        bir_buf_printf(&params, "}%s}", call->params);
        bir_buf_putc(&params, '\0');
    }
    call->payload = with_bytes ? call->module : NULL;
    call->payload_len = with_bytes ? call->module_len : 0;
    call->sent = 0;
    bir_buf_deinit(&call->frame);
    bir_buf_init(&call->frame, 0);
    size_t start = proto_frame_begin(&call->frame);
    if (params.status == BIR_OK)
        proto_put_request(&call->frame, &id, call->method, call->service ? NULL : params.data);
    bool built = params.status == BIR_OK && proto_frame_end(&call->frame, start, (uint32_t)call->payload_len);
    bir_buf_deinit(&params);
    return built;
}

static unsigned request_timeout(const roost *client, const struct roost_request *request)
{
    return request->timeout_ms ? request->timeout_ms : client->options.timeout_ms;
}

static enum roost_status check_request(roost *client, const struct roost_request *request)
{
    if (request->size != sizeof *request)
        return client_fail(client, ROOST_USAGE, "the request is of another version of libroost");
    if (!request->method || (!request->module && !request->digest))
        return client_fail(client, ROOST_USAGE, "the request has no method, or neither module nor digest");
    if (request->module_len > UINT32_MAX)
        return client_fail(client, ROOST_TOO_LARGE, "the module has %zu bytes, a frame carries at most %lu",
                           request->module_len, (unsigned long)UINT32_MAX);
    json_t *options = request->options ? json_loads(request->options, 0, NULL) : NULL;
    bool wrong = request->options && !json_is_object(options);
    json_decref(options);
    return wrong ? client_fail(client, ROOST_USAGE, "options is not the text of a JSON object") : ROOST_OK;
}

static bool put_params(const roost *client, const struct roost_request *request, char **out)
{
    struct bir_buf buf;
    size_t len;
    unsigned timeout_ms = request_timeout(client, request);
    bir_buf_init(&buf, 0);
    if (request->options)
        bir_buf_printf(&buf, ",\"options\":%s", request->options);
    bir_buf_printf(&buf, ",\"deadline_ms\":%u", timeout_ms < LARGEST_DEADLINE_MS ? timeout_ms : LARGEST_DEADLINE_MS);
    *out = bir_buf_steal(&buf, &len);
    bir_buf_deinit(&buf);
    return *out != NULL;
}

enum roost_status call_new(roost *client, const struct roost_request *request, struct call **out)
{
    enum roost_status status = check_request(client, request);
    if (status != ROOST_OK)
        return status;
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return client_nomem(client);
    call->id = client->next_id++;
    call->module = request->module;
    call->module_len = request->module ? request->module_len : 0;
    call->deadline = client_now_ms() + request_timeout(client, request) + GRACE_MS;
    if (!client_copy_text(&call->method, request->method) || !client_copy_text(&call->format, request->format) ||
        !put_params(client, request, &call->params) || !build_frame(call, request->digest, !request->digest)) {
        call_free(call);
        return client_nomem(client);
    }
    *out = call;
    return ROOST_OK;
}

enum roost_status call_new_service(roost *client, const char *method, struct call **out)
{
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return client_nomem(client);
    call->id = client->next_id++;
    call->service = true;
    call->deadline = client_now_ms() + client->options.timeout_ms;
    if (!client_copy_text(&call->method, method) || !build_frame(call, NULL, false)) {
        call_free(call);
        return client_nomem(client);
    }
    *out = call;
    return ROOST_OK;
}

void call_put_cancel(roost *client, int64_t id)
{
    const struct proto_id nobody = { .kind = PROTO_ID_NONE };
    char params[48];
    snprintf(params, sizeof params, "{\"id\":%lld}", (long long)id);
    size_t start = proto_frame_begin(&client->notices);
    proto_put_request(&client->notices, &nobody, "cancel", params);
    if (!proto_frame_end(&client->notices, start, 0))
        client->notices.len = 0; /* no memory: the daemon works in vain, until its deadline */
}

static enum roost_status take_payload(roost *client, const struct proto_frame *frame, size_t dumps_len,
                                      struct roost_reply *reply)
{
    size_t charge;
    if (frame->loss != PROTO_PAYLOAD_KEPT)
        return ROOST_NOMEM;
    if (dumps_len > frame->payload_len)
        return ROOST_PROTOCOL;
    char *bytes = proto_frame_reader_take_payload(&client->reader, &charge);
    if (!bytes)
        return ROOST_OK;
    reply->output_len = frame->payload_len - dumps_len;
    reply->dumps_len = dumps_len;
    reply->output = bytes;
    reply->dumps = dumps_len ? bytes + reply->output_len : NULL;
    return ROOST_OK;
}

static enum roost_status read_result(roost *client, const struct proto_frame *frame, const json_t *result,
                                     struct roost_reply *reply)
{
    const char *digest = json_string_value(json_object_get(result, "digest"));
    const char *cache = json_string_value(json_object_get(result, "cache"));
    const json_t *valid = json_object_get(result, "valid");
    json_int_t dumps = json_integer_value(json_object_get(result, "dump_bytes"));
    const json_t *judged = json_object_get(result, "verdict");
    const char *verdict = judged ? json_string_value(judged) : "";
    if (!digest || strlen(digest) >= sizeof reply->digest || !cache || strlen(cache) >= sizeof reply->cache ||
        !verdict || strlen(verdict) >= sizeof reply->verdict || dumps < 0)
        return ROOST_PROTOCOL;
    strcpy(reply->verdict, verdict);
    strcpy(reply->digest, digest);
    strcpy(reply->cache, cache);
    reply->valid = !valid || json_is_true(valid);
    if (!client_dump_json(json_object_get(result, "diagnostics"), &reply->diagnostics) ||
        !client_dump_json(json_object_get(result, "stats"), &reply->stats))
        return ROOST_NOMEM;
    return take_payload(client, frame, (size_t)dumps, reply);
}

static enum roost_status read_error(const struct proto_message *message, struct roost_reply *reply)
{
    if (!client_dump_json(json_object_get(message->error_data, "diagnostics"), &reply->diagnostics) ||
        !client_copy_text(&reply->error, message->error_message))
        return ROOST_NOMEM;
    return client_status_of(message->code);
}

/* The daemon does not know the digest: once more, with the bytes. */
static bool send_bytes_instead(roost *client, struct call *call, enum roost_status status)
{
    if (status != ROOST_NOT_FOUND || !call->module || call->payload || call->cancelled)
        return false;
    call_unlink(client, call);
    call_append(client, call);
    if (!build_frame(call, NULL, true))
        call_finish(client, call, ROOST_NOMEM, NULL, "out of memory");
    return true;
}

void call_handle_reply(roost *client, const struct proto_frame *frame, const struct proto_message *message)
{
    struct call *call = message->id.kind == PROTO_ID_INTEGER ? call_find(client, message->id.number) : NULL;
    if (!call)
        return; /* answered after we gave up on it */
    struct roost_reply reply = { 0 };
    enum roost_status status;
    if (message->kind == PROTO_ERROR)
        status = read_error(message, &reply);
    else if (call->service)
        status = client_dump_json(message->result, &reply.stats) ? ROOST_OK : ROOST_NOMEM;
    else
        status = read_result(client, frame, message->result, &reply);
    if (send_bytes_instead(client, call, status)) {
        roost_reply_clear(&reply);
        return;
    }
    call_finish(client, call, status, &reply, roost_strerror(status));
}
