/*
 * L1: sources and answers in memory, least recently used first out, under one byte budget.
 *
 * A hit is checked against the checksum, unless one was in the last CACHE_TRUST_MS; an entry that fails is dropped,
 * counted, and a miss. An answer in heavy demand is thus checked a hundred times a second and not with each of its
 * twenty thousand replies, a fifth of whose cost it would be at 64 KiB; any other answer is checked right before it
 * goes out.
 */
#ifndef DAEMON_CACHE_H
#define DAEMON_CACHE_H

#include "daemon/blob.h"

/* A choice: the longest time between the check of an entry and its use. */
#define CACHE_TRUST_MS 10

enum cache_kind { CACHE_SOURCE, CACHE_ANSWER, CACHE_KIND_COUNT };

struct cache_counters {
    uint64_t hits;
    uint64_t misses;
    uint64_t stored;
    uint64_t evicted;
    uint64_t corrupt;
    uint64_t entries; /* now */
    uint64_t bytes;   /* now */
};

struct cache_entry;

struct cache {
    uint64_t budget_bytes;
    uint64_t used_bytes;
    struct cache_entry **buckets; /* chained; power of two */
    size_t bucket_count;
    size_t entry_count;
    struct cache_entry *newest; /* most recently used */
    struct cache_entry *oldest;
    struct cache_counters counters[CACHE_KIND_COUNT];
};

/* budget_bytes 0 stores nothing. Allocates nothing. */
void cache_init(struct cache *cache, uint64_t budget_bytes);
void cache_deinit(struct cache *cache);

/* Borrowed until the next call that is not cache_get; NULL when absent or damaged. Counts, and marks the entry as used.
 * now_ms: any clock that does not go back. */
struct blob *cache_get(struct cache *cache, enum cache_kind kind, const struct bir_digest *key, uint64_t now_ms);

/* Keeps a reference, evicting others to make room. An entry that cannot be kept (too large, no memory) is not an error:
 * it will be a miss. A second put of a key keeps the first blob. */
void cache_put(struct cache *cache, enum cache_kind kind, const struct bir_digest *key, struct blob *blob);

/* False when there was none. */
bool cache_drop(struct cache *cache, enum cache_kind kind, const struct bir_digest *key);

#endif
