/* Settings of roostd, from one table that also writes --help and the man page. */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "compile.h"
#include "proto/limits.h"

struct roostd_options {
    const char *socket; /* NULL: the default place */
    const char *peers;  /* "user" or "any" */
    const char *log_level;
    uint64_t threads;
    uint64_t cache_bytes;
    uint64_t idle_timeout_s; /* 0: never */
    uint64_t drain_timeout_ms;
    uint64_t ready_fd; /* 0: none */
    uint64_t debug_hold_ms;
    bool help;
    bool version;
    struct proto_limits limits;
    struct bir_compile_limits compile;
};

/* Defaults of this machine (threads and cache follow its processors and memory). */
void roostd_options_init(struct roostd_options *options);

/* Reads argv. False with a message in error: what, which value, which values are right. */
bool roostd_options_parse(struct roostd_options *options, int argc, char **argv, char *error, size_t error_size);

/* The text of --help. */
void roostd_options_help(struct bir_buf *out);
/* The options section of the man page. */
void roostd_options_man(struct bir_buf *out);

/* The limits as members of a JSON object: "name":number,... */
void roostd_options_put_limits(const struct roostd_options *options, struct bir_buf *out);

#endif
