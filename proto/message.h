/*
 * The JSON of a frame: JSON-RPC 2.0 requests, notifications, results and errors, without batches.
 *
 * Parsing uses jansson; writing goes straight into a buffer, because a reply is mostly text that exists already.
 */
#ifndef PROTO_MESSAGE_H
#define PROTO_MESSAGE_H

#include <jansson.h>

#include "base/buf.h"
#include "proto/limits.h"

/* X(constant, number, name): JSON-RPC's own errors, then ours. The name travels in error.data.name. */
#define PROTO_ERRORS(X)                                                                                                \
    X(PROTO_ERROR_PARSE, -32700, "parse")                                                                              \
    X(PROTO_ERROR_REQUEST, -32600, "invalid-request")                                                                  \
    X(PROTO_ERROR_METHOD, -32601, "unknown-method")                                                                    \
    X(PROTO_ERROR_PARAMS, -32602, "invalid-params")                                                                    \
    X(PROTO_ERROR_VERSION, -32000, "version")                                                                          \
    X(PROTO_ERROR_BUSY, -32001, "busy")                                                                                \
    X(PROTO_ERROR_CANCELLED, -32002, "cancelled")                                                                      \
    X(PROTO_ERROR_DEADLINE, -32003, "deadline")                                                                        \
    X(PROTO_ERROR_TOO_LARGE, -32004, "too-large")                                                                      \
    X(PROTO_ERROR_NOT_FOUND, -32005, "not-found")                                                                      \
    X(PROTO_ERROR_BAD_MODULE, -32006, "bad-module")                                                                    \
    X(PROTO_ERROR_LIMIT, -32007, "limit")                                                                              \
    X(PROTO_ERROR_SHUTTING_DOWN, -32008, "shutting-down")                                                              \
    X(PROTO_ERROR_INTERNAL, -32009, "internal")

enum proto_error {
#define PROTO_ERROR_ENUM(constant, number, name) constant = number,
    PROTO_ERRORS(PROTO_ERROR_ENUM)
#undef PROTO_ERROR_ENUM
};

/* "unknown" for a number that is not in the table. */
const char *proto_error_name(int code);

enum proto_id_kind { PROTO_ID_NONE, PROTO_ID_NULL, PROTO_ID_INTEGER, PROTO_ID_STRING };

struct proto_id {
    enum proto_id_kind kind;
    int64_t number;
    const char *text; /* borrowed; not NUL-terminated when it comes from elsewhere than a message */
    size_t len;
};

bool proto_id_equal(const struct proto_id *a, const struct proto_id *b);

enum proto_message_kind { PROTO_REQUEST, PROTO_NOTIFICATION, PROTO_RESULT, PROTO_ERROR };

struct proto_message {
    enum proto_message_kind kind;
    struct proto_id id;
    const char *method;        /* request, notification */
    json_t *params;            /* an object, or NULL when absent */
    const json_t *result;      /* result: an object */
    int code;                  /* error */
    const char *error_message; /* error */
    const json_t *error_data;  /* error: an object, or NULL */
    json_t *root;              /* owns everything above */
};

/* What is wrong with a message, and what to answer. */
struct proto_fault {
    int code;
    struct proto_id id; /* PROTO_ID_NULL when it could not be read */
    char id_text[256];  /* holds id.text */
    char text[256];
};

/* Reads one message. False with *fault filled when it is not one; nothing to free then. json_depth bounds the nesting
 * before jansson sees the text, id_bytes the text of an id. */
bool proto_message_parse(const char *text, size_t len, uint64_t json_depth, uint64_t id_bytes,
                         struct proto_message *message, struct proto_fault *fault) BIR_MUST_CHECK;
void proto_message_deinit(struct proto_message *message); /* accepts a zeroed one */

/* A start of a request that need not be parsed to find its id: {"jsonrpc":"2.0","id":N, with N of at most 15 digits, as
 * proto_put_request writes it, with or without white space. Gives the length of that start and N; 0 for any other text.
 */
size_t proto_request_prefix(const char *text, size_t len, int64_t *id);

/* Quoted and escaped. Messages are cut to their buffers and names come from the outside: what is no UTF-8 in the text
 * becomes U+FFFD. */
void proto_put_string(struct bir_buf *buf, const char *text, size_t len);
void proto_put_id(struct bir_buf *buf, const struct proto_id *id);

/* A request, or a notification when id->kind is PROTO_ID_NONE. params is the text of a JSON object, or NULL. */
void proto_put_request(struct bir_buf *buf, const struct proto_id *id, const char *method, const char *params);
/* result is the text of a JSON object. */
void proto_put_result(struct bir_buf *buf, const struct proto_id *id, const char *result);
/* {"jsonrpc":"2.0","id":ID, : what every reply starts with; the caller goes on with "result": or "error":. */
void proto_put_reply_begin(struct bir_buf *buf, const struct proto_id *id);
/* {"code":..,"message":..,"data":{"name":..,MEMBERS}}; members is the text of further members of data ("\"a\":1") or
 * NULL. */
void proto_put_error_object(struct bir_buf *buf, int code, const char *message, const char *members);
void proto_put_error(struct bir_buf *buf, const struct proto_id *id, int code, const char *message,
                     const char *members);

#endif
