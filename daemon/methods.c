/*
 * What a frame asks for. The methods are those of the compiler, by its own names, and a table of services; everything
 * that can be refused before a method runs - no hello yet, a payload that was lost, a daemon that is draining, an id
 * that is in use - is refused in one place.
 *
 * A compile request ends in one of four ways: its answer is in the cache; a job with the same key is running and it
 * joins; a new job starts; or there is nothing to compile from, and the client is told to send the bytes. A request
 * without payload that succeeds in being understood is remembered by its text, and the next one skips all of this.
 */
#include "daemon/methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "daemon/log.h"

struct call {
    struct session *session;
    struct server *server;
    const struct proto_frame *frame;
    const struct bir_digest *payload_digest;
    const struct proto_message *message;
    enum bir_method method; /* BIR_METHOD_COUNT: of the service */
};

typedef void handler(const struct call *call);

enum method_flags {
    METHOD_BEFORE_HELLO = 1,
    METHOD_NOTIFICATION = 2,
    METHOD_WHILE_DRAINING = 4,
    METHOD_OWNER = 8, /* only the daemon's user and root */
};

struct method {
    const char *name;
    handler *handle;
    unsigned flags;
};

static void refuse(const struct call *call, int code, const char *text)
{
    session_reply_error(call->session, &call->message->id, code, NULL, "%s", text);
}

static bool protocol_number(const json_t *params, const char *name, json_int_t *out)
{
    const json_t *number = json_object_get(json_object_get(params, "protocol"), name);
    *out = json_integer_value(number);
    return json_is_integer(number) && *out >= 0;
}

static void refuse_version(const struct call *call, json_int_t major, json_int_t minor)
{
    const json_t *build = json_object_get(call->message->params, "build_id");
    const char *theirs = json_is_string(build) && json_string_length(build) <= 128 ? json_string_value(build) : "";
    struct bir_buf members;
    bir_buf_init(&members, 0);
    bir_buf_printf(&members, "\"server\":{\"protocol\":{\"major\":%d,\"minor\":%d},\"build_id\":\"%s\"},",
                   PROTO_VERSION_MAJOR, PROTO_VERSION_MINOR, bir_build_id());
    bir_buf_printf(&members, "\"client\":{\"protocol\":{\"major\":%lld,\"minor\":%lld},\"build_id\":", (long long)major,
                   (long long)minor);
    proto_put_string(&members, theirs, strlen(theirs));
    bir_buf_puts(&members, "}");
    bir_buf_putc(&members, '\0');
    session_reply_error(call->session, &call->message->id, PROTO_ERROR_VERSION,
                        members.status == BIR_OK ? members.data : NULL,
                        "the client speaks protocol %lld.%lld (build %s), this daemon %d.%d (build %s); "
                        "restart the daemon or use the client of its version",
                        (long long)major, (long long)minor, theirs[0] ? theirs : "unknown", PROTO_VERSION_MAJOR,
                        PROTO_VERSION_MINOR, bir_build_id());
    bir_buf_deinit(&members);
}

static void handle_hello(const struct call *call)
{
    json_int_t major;
    json_int_t minor;
    if (!protocol_number(call->message->params, "major", &major) ||
        !protocol_number(call->message->params, "minor", &minor)) {
        refuse(call, PROTO_ERROR_PARAMS, "params.protocol is not {\"major\":N,\"minor\":N}");
        return;
    }
    if (major != PROTO_VERSION_MAJOR) {
        refuse_version(call, major, minor);
        return;
    }
    if (call->session->state == SESSION_GREETING)
        call->session->state = SESSION_READY;
    session_reply_result(call->session, &call->message->id, call->server->hello.data);
}

static void handle_ping(const struct call *call)
{
    session_reply_result(call->session, &call->message->id, "{}");
}

static void handle_stats(const struct call *call)
{
    struct bir_buf json;
    bir_buf_init(&json, 0);
    metrics_put_json(&call->server->metrics, uv_now(&call->server->loop), &call->server->cache,
                     call->server->held.used_bytes, &json);
    bir_buf_putc(&json, '\0');
    if (json.status == BIR_OK)
        session_reply_result(call->session, &call->message->id, json.data);
    else
        refuse(call, PROTO_ERROR_INTERNAL, "out of memory");
    bir_buf_deinit(&json);
}

static void handle_shutdown(const struct call *call)
{
    char reason[64];
    session_reply_result(call->session, &call->message->id, "{\"draining\":true}");
    snprintf(reason, sizeof reason, "shutdown was asked for by pid %d", (int)call->session->pid);
    server_drain(call->server, reason);
}

/* Whatever cannot be cancelled (any more) is none of the client's worries. */
static void handle_cancel(const struct call *call)
{
    const json_t *value = json_object_get(call->message->params, "id");
    struct proto_id id = { .kind = PROTO_ID_NONE };
    if (json_is_integer(value))
        id = (struct proto_id){ .kind = PROTO_ID_INTEGER, .number = json_integer_value(value) };
    else if (json_is_string(value))
        id = (struct proto_id){ .kind = PROTO_ID_STRING,
                                .text = json_string_value(value),
                                .len = json_string_length(value) };
    struct open_request *request = session_find_open(call->session, &id);
    if (request && request->ticket.job)
        scheduler_cancel(&call->server->scheduler, &request->ticket, TICKET_CANCELLED);
}

/* A request is always answered, even one that should have been none. */
static void refuse_request(const struct call *call)
{
    session_reply_error(call->session, &call->message->id, PROTO_ERROR_REQUEST, NULL,
                        "%s is a notification: send it without an id of its own", call->message->method);
}

static const struct bir_option *find_option(const char *name)
{
    size_t count;
    const struct bir_option *table = bir_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

/* The text form of an option's value, or NULL when the JSON type does not fit the option. */
static const char *option_text(const struct bir_option *option, const json_t *value, char *scratch, size_t size)
{
    switch (option->type) {
    case BIR_OPTION_BOOL: return json_is_boolean(value) ? (json_is_true(value) ? "true" : "false") : NULL;
    case BIR_OPTION_INT:
        snprintf(scratch, size, "%lld", (long long)json_integer_value(value));
        return json_is_integer(value) ? scratch : NULL;
    case BIR_OPTION_CHOICE:
    case BIR_OPTION_TEXT: return json_string_value(value);
    }
    return NULL;
}

static void refuse_option(const struct call *call, const char *name, const char *text, const char *problem)
{
    char *advice = text ? bir_compile_option_advice(name, text) : NULL;
    session_reply_error(call->session, &call->message->id, PROTO_ERROR_PARAMS, NULL, "option \"%.64s\": %s", name,
                        advice ? advice : problem);
    free(advice);
}

static bool set_option(const struct call *call, struct bir_compile_options *options, const char *name,
                       const json_t *value)
{
    static const char *const types[] = { "a boolean", "an integer", "a string", "a string" };
    char scratch[32];
    const struct bir_option *option = find_option(name);
    const char *text = option ? option_text(option, value, scratch, sizeof scratch) : NULL;
    const char *problem = !option ? "unknown option" : NULL;
    if (option && text)
        problem = bir_compile_option_set(options, call->method, name, text);
    if (option && !text)
        session_reply_error(call->session, &call->message->id, PROTO_ERROR_PARAMS, NULL, "option \"%s\" takes %s", name,
                            types[option->type]);
    else if (problem && option && option->choices && option->methods & 1u << call->method)
        session_reply_error(call->session, &call->message->id, PROTO_ERROR_PARAMS, NULL,
                            "option \"%s\": \"%.64s\" is not one of %s", name, text, option->choices);
    else if (problem)
        refuse_option(call, name, text, problem);
    return text && !problem;
}

static bool read_options(const struct call *call, const json_t *module, struct bir_compile_options *options)
{
    bir_compile_options_init(options);
    const json_t *format = json_object_get(module, "format");
    if (format && !set_option(call, options, "input_format", format))
        return false;
    json_t *members = json_object_get(call->message->params, "options");
    if (members && !json_is_object(members)) {
        refuse(call, PROTO_ERROR_PARAMS, "params.options is not an object");
        return false;
    }
    const char *name;
    json_t *value;
    json_object_foreach(members, name, value) if (!set_option(call, options, name, value)) return false;
    return true;
}

static bool read_deadline(const struct call *call, uint64_t *deadline_ms)
{
    const struct proto_limits *limits = &call->server->options->limits;
    const json_t *value = json_object_get(call->message->params, "deadline_ms");
    uint64_t wanted = limits->deadline_ms;
    if (value && (!json_is_integer(value) || json_integer_value(value) < 1)) {
        refuse(call, PROTO_ERROR_PARAMS, "deadline_ms is not a positive integer");
        return false;
    }
    if (value)
        wanted = (uint64_t)json_integer_value(value);
    *deadline_ms = wanted < limits->max_deadline_ms ? wanted : limits->max_deadline_ms;
    return true;
}

/* The digest of the module: of the payload when there is one, or as params say. */
static bool read_module(const struct call *call, const json_t *module, struct bir_digest *digest)
{
    if (!json_is_object(module)) {
        refuse(call, PROTO_ERROR_PARAMS, "params.module is not an object with \"digest\", or \"format\" and a payload");
        return false;
    }
    const json_t *hex = json_object_get(module, "digest");
    struct bir_digest named;
    if (hex && !(json_is_string(hex) && bir_digest_from_hex(&named, json_string_value(hex), json_string_length(hex)))) {
        refuse(call, PROTO_ERROR_PARAMS, "module.digest is not 64 lower-case hexadecimal digits");
        return false;
    }
    if (call->payload_digest)
        *digest = *call->payload_digest;
    else if (hex)
        *digest = named;
    else
        bir_digest_bytes("", 0, digest);
    if (hex && memcmp(digest, &named, sizeof named) != 0) {
        refuse(call, PROTO_ERROR_PARAMS, "module.digest is not the digest of the payload");
        return false;
    }
    return true;
}

static void remember(const struct call *call, const struct bir_digest *key)
{
    int64_t id;
    size_t prefix = proto_request_prefix(call->frame->json, call->frame->json_len, &id);
    if (prefix && call->frame->payload_len == 0)
        memo_put(&call->server->memo, call->frame->json + prefix, call->frame->json_len - prefix, key,
                 (unsigned)call->method);
}

/* The bytes to compile from, as a reference of the caller's; NULL after an error reply. */
static struct blob *find_source(const struct call *call, const json_t *module, const struct bir_digest *digest)
{
    if (call->payload_digest || !json_object_get(module, "digest")) {
        size_t charge;
        char *bytes = proto_frame_reader_take_payload(&call->session->reader, &charge);
        struct blob *source = blob_new(bytes, bytes ? call->frame->payload_len : 0, NULL, 0, digest);
        if (!source) {
            proto_budget_release(&call->server->held, charge);
            refuse(call, PROTO_ERROR_INTERNAL, "out of memory");
            return NULL;
        }
        source->budget = &call->server->held;
        source->charge = charge;
        return source;
    }
    struct blob *source = cache_get(&call->server->cache, CACHE_SOURCE, digest, uv_now(&call->server->loop));
    if (source)
        return blob_ref(source);
    refuse(call, PROTO_ERROR_NOT_FOUND, "the daemon does not have this module; send its bytes as the payload");
    return NULL;
}

static void start_job(const struct call *call, const struct scheduler_request *request, struct open_request *open)
{
    enum scheduler_status status = scheduler_start(&call->server->scheduler, request, &open->ticket);
    if (status == SCHEDULER_OK)
        return;
    session_drop_request(open);
    if (status == SCHEDULER_BUSY)
        session_reply_error(call->session, &call->message->id, PROTO_ERROR_BUSY, NULL,
                            "%llu compiles are waiting or running; try again later",
                            (unsigned long long)call->server->options->limits.queued_jobs);
    else
        refuse(call, PROTO_ERROR_INTERNAL, "out of memory");
}

/* Joins the job of this key or starts it. */
static void run_job(const struct call *call, struct scheduler_request *request, const json_t *module,
                    const struct bir_digest *digest, uint64_t deadline_ms)
{
    if (call->session->open_count >= call->server->options->limits.in_flight) {
        session_reply_error(call->session, &call->message->id, PROTO_ERROR_BUSY, NULL,
                            "the connection has %llu open requests, which is its limit",
                            (unsigned long long)call->session->open_count);
        return;
    }
    struct open_request *open = session_open_request(call->session, &call->message->id, deadline_ms);
    if (!open) {
        refuse(call, PROTO_ERROR_INTERNAL, "out of memory");
        return;
    }
    if (scheduler_join(&call->server->scheduler, &request->key, &open->ticket))
        return;
    request->source = find_source(call, module, digest);
    if (!request->source) {
        session_drop_request(open);
        return;
    }
    start_job(call, request, open);
    blob_unref(request->source);
}

static void handle_compile(const struct call *call)
{
    const json_t *module = json_object_get(call->message->params, "module");
    struct scheduler_request request = { .method = call->method, .params = call->message->params };
    struct bir_digest digest;
    uint64_t deadline_ms;
    if (!read_module(call, module, &digest) || !read_options(call, module, &request.options) ||
        !read_deadline(call, &deadline_ms))
        return;
    bir_compile_key(&digest, call->method, &request.options, &request.key);
    remember(call, &request.key);
    struct blob *answer = cache_get(&call->server->cache, CACHE_ANSWER, &request.key, uv_now(&call->server->loop));
    if (answer) {
        call->server->metrics.answers_l1++;
        session_reply_answer(call->session, &call->message->id, "l1", answer);
        return;
    }
    run_job(call, &request, module, &digest, deadline_ms);
}

static const struct method services[] = {
    { .name = "hello", .handle = handle_hello, .flags = METHOD_BEFORE_HELLO },
    { .name = "ping", .handle = handle_ping, .flags = METHOD_WHILE_DRAINING },
    { .name = "stats", .handle = handle_stats, .flags = METHOD_WHILE_DRAINING },
    { .name = "cancel", .handle = handle_cancel, .flags = METHOD_NOTIFICATION | METHOD_WHILE_DRAINING },
    { .name = "shutdown", .handle = handle_shutdown, .flags = METHOD_WHILE_DRAINING | METHOD_OWNER },
};
/* Every method of the compiler; the name is bir_method_name's. */
static const struct method compiler = { .handle = handle_compile };

#define SERVICE_COUNT (sizeof services / sizeof services[0])

void methods_put_names(struct bir_buf *out)
{
    for (size_t i = 0; i < SERVICE_COUNT; i++)
        bir_buf_printf(out, "%s\"%s\"", i ? "," : "[", services[i].name);
    for (int i = 0; i < BIR_METHOD_COUNT; i++)
        bir_buf_printf(out, ",\"%s\"", bir_method_name((enum bir_method)i));
    bir_buf_putc(out, ']');
}

/* NULL when there is no such method; *compile is BIR_METHOD_COUNT for a service. */
static const struct method *find_method(const char *name, enum bir_method *compile)
{
    *compile = bir_method_from_name(name, strlen(name));
    if (*compile != BIR_METHOD_COUNT)
        return &compiler;
    for (size_t i = 0; i < SERVICE_COUNT; i++)
        if (strcmp(services[i].name, name) == 0)
            return &services[i];
    return NULL;
}

static void refuse_lost_payload(const struct call *call)
{
    const struct proto_frame *frame = call->frame;
    if (frame->loss == PROTO_PAYLOAD_SIZE)
        session_reply_error(call->session, &call->message->id, PROTO_ERROR_TOO_LARGE, NULL,
                            "the payload has %lu bytes, the limit is %llu", (unsigned long)frame->payload_len,
                            (unsigned long long)call->session->reader.payload_limit);
    else
        session_reply_error(call->session, &call->message->id, PROTO_ERROR_BUSY, NULL,
                            "there is no room for a payload of %lu bytes now; the payloads under way may have %llu "
                            "bytes together",
                            (unsigned long)frame->payload_len, (unsigned long long)call->server->held.limit_bytes);
}

/* True when the request may go to its handler. */
static bool allowed(const struct call *call, const struct method *method)
{
    const struct session *session = call->session;
    if (session->state == SESSION_GREETING && !(method && method->flags & METHOD_BEFORE_HELLO)) {
        refuse(call, PROTO_ERROR_REQUEST, "the first request of a connection is hello");
        session_end(call->session);
    } else if (!method) {
        session_reply_error(call->session, &call->message->id, PROTO_ERROR_METHOD, NULL, "there is no method \"%.64s\"",
                            call->message->method);
    } else if (call->server->state != SERVER_RUNNING && !(method->flags & METHOD_WHILE_DRAINING)) {
        refuse(call, PROTO_ERROR_SHUTTING_DOWN, "the daemon is shutting down");
    } else if (method->flags & METHOD_OWNER && session->uid != geteuid() && session->uid != 0) {
        refuse(call, PROTO_ERROR_REQUEST, "only the user of the daemon may ask for this");
    } else if (session_find_open(session, &call->message->id)) {
        refuse(call, PROTO_ERROR_REQUEST, "a request with this id is open on the connection");
    } else if (call->frame->loss != PROTO_PAYLOAD_KEPT) {
        refuse_lost_payload(call);
    } else {
        return true;
    }
    return false;
}

static void count_request(struct metrics *metrics, enum bir_method compile)
{
    metrics->requests_total++;
    if (compile != BIR_METHOD_COUNT)
        metrics->requests_of[compile]++;
}

static void handle_message(struct call *call)
{
    const struct proto_message *message = call->message;
    if (message->kind != PROTO_REQUEST && message->kind != PROTO_NOTIFICATION) {
        refuse(call, PROTO_ERROR_REQUEST, "the daemon takes requests and no replies");
        return;
    }
    const struct method *method = find_method(message->method, &call->method);
    if (message->kind == PROTO_NOTIFICATION) {
        /* JSON-RPC: a notification is never answered, an unknown one neither. */
        if (method && method->flags & METHOD_NOTIFICATION && call->session->state == SESSION_READY)
            method->handle(call);
        return;
    }
    count_request(&call->server->metrics, call->method);
    if (!allowed(call, method))
        return;
    if (method->flags & METHOD_NOTIFICATION)
        refuse_request(call);
    else
        method->handle(call);
}

/* Answers a request that was understood before and whose answer is in the cache. */
static bool answer_repeated(struct session *session, const struct proto_frame *frame)
{
    struct server *server = session->server;
    struct proto_id id = { .kind = PROTO_ID_INTEGER };
    if (frame->payload_len > 0 || session->state != SESSION_READY || server->state != SERVER_RUNNING)
        return false;
    size_t prefix = proto_request_prefix(frame->json, frame->json_len, &id.number);
    const struct memo_slot *slot =
        prefix ? memo_find(&server->memo, frame->json + prefix, frame->json_len - prefix) : NULL;
    if (!slot || session_find_open(session, &id))
        return false;
    struct blob *answer = cache_get(&server->cache, CACHE_ANSWER, &slot->key, uv_now(&server->loop));
    if (!answer)
        return false;
    count_request(&server->metrics, (enum bir_method)slot->method);
    server->metrics.answers_l1++;
    session_reply_answer(session, &id, "l1", answer);
    return true;
}

void methods_handle(struct session *session, const struct proto_frame *frame, const struct bir_digest *payload_digest)
{
    if (answer_repeated(session, frame))
        return;
    const struct proto_limits *limits = &session->server->options->limits;
    struct proto_message message;
    struct proto_fault fault;
    if (!proto_message_parse(frame->json, frame->json_len, limits->json_depth, limits->id_bytes, &message, &fault)) {
        session->server->metrics.requests_total++;
        session_reply_error(session, &fault.id, fault.code, NULL, "%s", fault.text);
        if (fault.code == PROTO_ERROR_PARSE) {
            session->server->metrics.connections_broken++;
            log_line(LOG_LEVEL_WARNING, "connection of pid %d (uid %u) closed: %s", (int)session->pid,
                     (unsigned)session->uid, fault.text);
            session_end(session);
        }
        return;
    }
    struct call call = { .session = session,
                         .server = session->server,
                         .frame = frame,
                         .payload_digest = payload_digest,
                         .message = &message };
    handle_message(&call);
    proto_message_deinit(&message);
}
