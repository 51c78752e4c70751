/*
 * Every number that bounds the service, in one table: default, smallest and largest setting, and what it bounds.
 *
 * The table gives struct proto_limits, the options of roostd, the `limits` member of the reply to hello and the man
 * page. The numbers are choices: large enough for the dumps of real compiles (hundreds of megabytes), small enough that
 * one connection cannot exhaust a machine.
 */
#ifndef PROTO_LIMITS_H
#define PROTO_LIMITS_H

#include <stdint.h>

#define PROTO_VERSION_MAJOR 1
#define PROTO_VERSION_MINOR 0

#define PROTO_FRAME_HEADER_BYTES 8

/* A reply's JSON carries up to `diagnostics` diagnostics; what a client accepts at most. */
#define PROTO_REPLY_JSON_BYTES (64u << 20)

#define PROTO_KIB(n) (UINT64_C(n) << 10)
#define PROTO_MIB(n) (UINT64_C(n) << 20)

/* X(name, default, smallest, largest, what it bounds) */
#define PROTO_LIMITS(X)                                                                                                \
    X(request_json_bytes, PROTO_KIB(256), 1024, PROTO_MIB(16), "JSON text of one request")                             \
    X(payload_bytes, PROTO_MIB(1024), 0, UINT32_MAX, "payload of one request")                                         \
    X(json_depth, 32, 4, 1024, "nesting of a request's JSON")                                                          \
    X(id_bytes, 128, 16, 256, "text of a request id")                                                                  \
    X(in_flight, 256, 1, 65536, "open requests of one connection")                                                     \
    X(connections, 1024, 1, 65536, "open connections")                                                                 \
    X(greeting_ms, 30000, 1, 86400000, "time from connecting to hello")                                                \
    X(queued_jobs, 4096, 1, 1048576, "compiles waiting or running")                                                    \
    X(held_bytes, PROTO_MIB(2048), 0, UINT64_MAX >> 1, "request payloads held at once, all connections together")      \
    X(output_queue_bytes, PROTO_MIB(1), 4096, UINT32_MAX, "unsent reply bytes above which a connection is not read")   \
    X(deadline_ms, 600000, 1, 86400000, "time for a request that names no deadline")                                   \
    X(max_deadline_ms, 3600000, 1, 86400000, "longest deadline; a request that names a longer one gets this")

struct proto_limits {
#define PROTO_LIMIT_FIELD(name, value, smallest, largest, help) uint64_t name;
    PROTO_LIMITS(PROTO_LIMIT_FIELD)
#undef PROTO_LIMIT_FIELD
};

static inline void proto_limits_init(struct proto_limits *limits)
{
#define PROTO_LIMIT_DEFAULT(name, value, smallest, largest, help) limits->name = (value);
    PROTO_LIMITS(PROTO_LIMIT_DEFAULT)
#undef PROTO_LIMIT_DEFAULT
}

#endif
