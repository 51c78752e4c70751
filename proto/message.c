/*
 * A message is parsed in one go by jansson, after a scan that bounds its nesting: jansson recurses once a level, and
 * the scan makes the bound ours. Duplicate members are refused, so that nobody can hide a second id or method behind
 * the first.
 *
 * The members are checked by kind: a message with `method` is a request (with id) or a notification (without), one with
 * `result` or `error` a reply. Unknown members are ignored, for minor versions to come.
 */
#include "proto/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/utf8.h"

/* Integers of this many digits fit everywhere, in JavaScript's numbers too. */
#define PREFIX_ID_DIGITS 15

static const struct {
    int code;
    const char *name;
} error_rows[] = {
#define PROTO_ERROR_ROW(constant, number, text) { number, text },
    PROTO_ERRORS(PROTO_ERROR_ROW)
#undef PROTO_ERROR_ROW
};

const char *proto_error_name(int code)
{
    for (size_t i = 0; i < sizeof error_rows / sizeof error_rows[0]; i++)
        if (error_rows[i].code == code)
            return error_rows[i].name;
    return "unknown";
}

bool proto_id_equal(const struct proto_id *a, const struct proto_id *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == PROTO_ID_STRING)
        return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
    return a->kind != PROTO_ID_INTEGER || a->number == b->number;
}

/* Brackets outside of strings; the text need not be valid. */
static uint64_t nesting(const char *text, size_t len, uint64_t enough)
{
    uint64_t depth = 0;
    uint64_t deepest = 0;
    bool quoted = false;
    for (size_t i = 0; i < len && deepest <= enough; i++) {
        char c = text[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '{' || c == '['))
            deepest = ++depth > deepest ? depth : deepest;
        else if (!quoted && (c == '}' || c == ']') && depth > 0)
            depth--;
    }
    return deepest;
}

static bool fail(struct proto_fault *fault, int code, const char *fmt, ...) BIR_PRINTF(3, 4);

static bool fail(struct proto_fault *fault, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(fault->text, sizeof fault->text, fmt, args);
    va_end(args);
    fault->code = code;
    return false;
}

/* The fault outlives the message, so it keeps a copy of a textual id that is short enough, and null otherwise. */
static void fault_keep_id(struct proto_fault *fault, const struct proto_id *id)
{
    if (id->kind != PROTO_ID_INTEGER && (id->kind != PROTO_ID_STRING || id->len > sizeof fault->id_text))
        return;
    fault->id = *id;
    if (id->kind == PROTO_ID_STRING) {
        memcpy(fault->id_text, id->text, id->len);
        fault->id.text = fault->id_text;
    }
}

static bool parse_id(const json_t *value, uint64_t id_bytes, struct proto_id *id, struct proto_fault *fault)
{
    *id = (struct proto_id){ .kind = PROTO_ID_NONE };
    if (!value)
        return true;
    if (json_is_integer(value)) {
        *id = (struct proto_id){ .kind = PROTO_ID_INTEGER, .number = json_integer_value(value) };
    } else if (json_is_string(value)) {
        size_t len = json_string_length(value);
        if (len > id_bytes)
            return fail(fault, PROTO_ERROR_REQUEST, "the id has %zu bytes, the limit is %llu", len,
                        (unsigned long long)id_bytes);
        *id = (struct proto_id){ .kind = PROTO_ID_STRING, .text = json_string_value(value), .len = len };
    } else if (json_is_null(value)) {
        id->kind = PROTO_ID_NULL;
    } else {
        return fail(fault, PROTO_ERROR_REQUEST, "the id is neither an integer nor a string");
    }
    fault_keep_id(fault, id);
    return true;
}

static bool parse_call(struct proto_message *message, struct proto_fault *fault)
{
    message->params = json_object_get(message->root, "params");
    if (message->params && !json_is_object(message->params))
        return fail(fault, PROTO_ERROR_PARAMS, "params is not an object");
    if (message->id.kind == PROTO_ID_NULL)
        return fail(fault, PROTO_ERROR_REQUEST, "the id of a request must not be null");
    message->kind = message->id.kind == PROTO_ID_NONE ? PROTO_NOTIFICATION : PROTO_REQUEST;
    return true;
}

static bool parse_error(const json_t *error, struct proto_message *message, struct proto_fault *fault)
{
    const json_t *code = json_object_get(error, "code");
    const json_t *text = json_object_get(error, "message");
    if (!json_is_integer(code) || !json_is_string(text) || json_integer_value(code) < INT32_MIN ||
        json_integer_value(code) > INT32_MAX)
        return fail(fault, PROTO_ERROR_REQUEST, "error is not an object with code and message");
    message->kind = PROTO_ERROR;
    message->code = (int)json_integer_value(code);
    message->error_message = json_string_value(text);
    const json_t *data = json_object_get(error, "data");
    message->error_data = json_is_object(data) ? data : NULL;
    return true;
}

static bool parse_members(struct proto_message *message, uint64_t id_bytes, struct proto_fault *fault)
{
    const json_t *root = message->root;
    if (!json_is_object(root))
        return fail(fault, PROTO_ERROR_REQUEST, "the message is not an object (there are no batches)");
    if (!parse_id(json_object_get(root, "id"), id_bytes, &message->id, fault))
        return false;
    const char *version = json_string_value(json_object_get(root, "jsonrpc"));
    if (!version || strcmp(version, "2.0") != 0)
        return fail(fault, PROTO_ERROR_REQUEST, "member jsonrpc is not \"2.0\"");
    const json_t *method = json_object_get(root, "method");
    if (method) {
        message->method = json_string_value(method);
        if (!message->method)
            return fail(fault, PROTO_ERROR_REQUEST, "method is not a string");
        return parse_call(message, fault);
    }
    message->result = json_object_get(root, "result");
    const json_t *error = json_object_get(root, "error");
    if (message->id.kind == PROTO_ID_NONE || !message->result == !error)
        return fail(fault, PROTO_ERROR_REQUEST,
                    "the message has neither a method, nor an id with a result or an error");
    if (error)
        return parse_error(error, message, fault);
    if (!json_is_object(message->result))
        return fail(fault, PROTO_ERROR_REQUEST, "result is not an object");
    message->kind = PROTO_RESULT;
    return true;
}

bool proto_message_parse(const char *text, size_t len, uint64_t json_depth, uint64_t id_bytes,
                         struct proto_message *message, struct proto_fault *fault)
{
    *message = (struct proto_message){ .kind = PROTO_REQUEST };
    fault->id = (struct proto_id){ .kind = PROTO_ID_NULL };
    if (nesting(text, len, json_depth) > json_depth)
        return fail(fault, PROTO_ERROR_PARSE, "the JSON is nested more than %llu levels deep",
                    (unsigned long long)json_depth);
    json_error_t error;
    message->root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    if (!message->root)
        return fail(fault, PROTO_ERROR_PARSE, "the JSON is not valid at byte %d: %.150s", error.position, error.text);
    if (parse_members(message, id_bytes, fault))
        return true;
    proto_message_deinit(message);
    return false;
}

void proto_message_deinit(struct proto_message *message)
{
    json_decref(message->root);
    *message = (struct proto_message){ .kind = PROTO_REQUEST };
}

static size_t skip_space(const char *text, size_t len, size_t at)
{
    while (at < len && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
        at++;
    return at;
}

/* Position behind the token, white space before it skipped; 0 when it is not there. */
static size_t expect(const char *text, size_t len, size_t at, const char *token, size_t token_len)
{
    at = skip_space(text, len, at);
    return len - at >= token_len && memcmp(text + at, token, token_len) == 0 ? at + token_len : 0;
}

size_t proto_request_prefix(const char *text, size_t len, int64_t *id)
{
    static const char *const tokens[] = { "{", "\"jsonrpc\"", ":", "\"2.0\"", ",", "\"id\"", ":" };
    size_t at = 0;
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        at = expect(text, len, at, tokens[i], strlen(tokens[i]));
        if (!at)
            return 0;
    }
    size_t start = at = skip_space(text, len, at);
    int64_t value = 0;
    while (at < len && at - start < PREFIX_ID_DIGITS && text[at] >= '0' && text[at] <= '9')
        value = value * 10 + (text[at++] - '0');
    if (at == start || (text[start] == '0' && at - start > 1))
        return 0;
    at = expect(text, len, at, ",", 1);
    if (at)
        *id = value;
    return at;
}

static void put_valid(struct bir_buf *buf, const char *text, size_t len)
{
    struct bir_json_writer writer;
    bir_json_writer_init(&writer, buf, 0);
    bir_json_put_string(&writer, text, len);
}

/* Every byte that is part of no character becomes U+FFFD. */
static void put_mended(struct bir_buf *buf, const char *text, size_t len)
{
    struct bir_buf mended;
    bir_buf_init(&mended, 0);
    for (size_t n; len > 0; text += n, len -= n) {
        n = bir_utf8_sequence(text, len);
        if (n) {
            bir_buf_put(&mended, text, n);
        } else {
            bir_buf_puts(&mended, "\xEF\xBF\xBD");
            n = 1;
        }
    }
    if (mended.status == BIR_OK)
        put_valid(buf, mended.data, mended.len);
    else if (buf->status == BIR_OK)
        buf->status = mended.status;
    bir_buf_deinit(&mended);
}

void proto_put_string(struct bir_buf *buf, const char *text, size_t len)
{
    size_t bad;
    if (bir_utf8_valid(text, len, &bad))
        put_valid(buf, text, len);
    else
        put_mended(buf, text, len);
}

void proto_put_id(struct bir_buf *buf, const struct proto_id *id)
{
    if (id->kind == PROTO_ID_INTEGER)
        bir_buf_put_i64(buf, id->number);
    else if (id->kind == PROTO_ID_STRING)
        proto_put_string(buf, id->text, id->len);
    else
        bir_buf_puts(buf, "null");
}

void proto_put_request(struct bir_buf *buf, const struct proto_id *id, const char *method, const char *params)
{
    bir_buf_puts(buf, "{\"jsonrpc\":\"2.0\",");
    if (id->kind != PROTO_ID_NONE) {
        bir_buf_puts(buf, "\"id\":");
        proto_put_id(buf, id);
        bir_buf_putc(buf, ',');
    }
    bir_buf_puts(buf, "\"method\":");
    proto_put_string(buf, method, strlen(method));
    if (params) {
        bir_buf_puts(buf, ",\"params\":");
        bir_buf_puts(buf, params);
    }
    bir_buf_putc(buf, '}');
}

void proto_put_reply_begin(struct bir_buf *buf, const struct proto_id *id)
{
    bir_buf_puts(buf, "{\"jsonrpc\":\"2.0\",\"id\":");
    proto_put_id(buf, id);
    bir_buf_putc(buf, ',');
}

void proto_put_result(struct bir_buf *buf, const struct proto_id *id, const char *result)
{
    proto_put_reply_begin(buf, id);
    bir_buf_puts(buf, "\"result\":");
    bir_buf_puts(buf, result);
    bir_buf_putc(buf, '}');
}

void proto_put_error_object(struct bir_buf *buf, int code, const char *message, const char *members)
{
    bir_buf_puts(buf, "{\"code\":");
    bir_buf_put_i64(buf, code);
    bir_buf_puts(buf, ",\"message\":");
    proto_put_string(buf, message, strlen(message));
    bir_buf_printf(buf, ",\"data\":{\"name\":\"%s\"", proto_error_name(code));
    if (members) {
        bir_buf_putc(buf, ',');
        bir_buf_puts(buf, members);
    }
    bir_buf_puts(buf, "}}");
}

void proto_put_error(struct bir_buf *buf, const struct proto_id *id, int code, const char *message, const char *members)
{
    proto_put_reply_begin(buf, id);
    bir_buf_puts(buf, "\"error\":");
    proto_put_error_object(buf, code, message, members);
    bir_buf_putc(buf, '}');
}
