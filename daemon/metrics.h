/* What happened since the start, for `stats`. The loop thread owns it. */
#ifndef DAEMON_METRICS_H
#define DAEMON_METRICS_H

#include "base/buf.h"
#include "compile.h"
#include "daemon/cache.h"

/* X(group, counter): the members of the JSON object; those of one group stand together. */
#define METRICS_COUNTERS(X)                                                                                            \
    X(connections, accepted)                                                                                           \
    X(connections, refused)                                                                                            \
    X(connections, broken)                                                                                             \
    X(connections, open)                                                                                               \
    X(requests, total)                                                                                                 \
    X(requests, failed)                                                                                                \
    X(requests, open)                                                                                                  \
    X(answers, l1)                                                                                                     \
    X(answers, miss)                                                                                                   \
    X(answers, merged)                                                                                                 \
    X(jobs, compiles)                                                                                                  \
    X(jobs, failed)                                                                                                    \
    X(jobs, cancelled)                                                                                                 \
    X(jobs, active)                                                                                                    \
    X(jobs, compile_us_total)                                                                                          \
    X(jobs, compile_us_longest)                                                                                        \
    X(bytes, received)                                                                                                 \
    X(bytes, sent)

struct metrics {
    uint64_t started_ms; /* clock of the loop */
#define METRICS_FIELD(group, counter) uint64_t group##_##counter;
    METRICS_COUNTERS(METRICS_FIELD)
#undef METRICS_FIELD
    uint64_t requests_of[BIR_METHOD_COUNT]; /* in the group requests, by the method's name */
};

/* The JSON object: uptime, the counters by group, the cache, the bytes held for requests and the resident set. */
void metrics_put_json(const struct metrics *metrics, uint64_t now_ms, const struct cache *cache, uint64_t held_bytes,
                      struct bir_buf *out);

/* Resident bytes of this process, 0 when the system does not say. */
uint64_t metrics_resident_bytes(void);

#endif
