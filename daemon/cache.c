/*
 * One hash table for both kinds, chained, and one list in order of use. The keys are BLAKE2b digests, so their own
 * bytes are the hash. The budget counts the blob, the entry and its share of the table; a blob that is still being sent
 * when it is evicted lives on until its last reference goes.
 */
#include "daemon/cache.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BUCKETS 1024u
/* What an entry costs besides its blob: itself, two bucket pointers at the smallest load, and the allocator's overhead.
 */
#define ENTRY_OVERHEAD_BYTES (sizeof(struct cache_entry) + 2 * sizeof(void *) + 64)

struct cache_entry {
    struct bir_digest key;
    enum cache_kind kind;
    struct blob *blob;
    uint64_t trusted_ms; /* until then the last check counts */
    struct cache_entry *chain;
    struct cache_entry *newer;
    struct cache_entry *older;
};

void cache_init(struct cache *cache, uint64_t budget_bytes)
{
    *cache = (struct cache){ .budget_bytes = budget_bytes };
}

static size_t hash(const struct bir_digest *key)
{
    size_t value;
    memcpy(&value, key->bytes, sizeof value);
    return value;
}

/* The link that points at the entry, or at NULL at the end of its chain. */
static struct cache_entry **find(const struct cache *cache, enum cache_kind kind, const struct bir_digest *key)
{
    struct cache_entry **link = &cache->buckets[hash(key) & (cache->bucket_count - 1)];
    while (*link && ((*link)->kind != kind || memcmp(&(*link)->key, key, sizeof *key) != 0))
        link = &(*link)->chain;
    return link;
}

static void list_remove(struct cache *cache, struct cache_entry *entry)
{
    *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void list_push(struct cache *cache, struct cache_entry *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
}

static uint64_t entry_bytes(const struct blob *blob)
{
    return blob_bytes(blob) + ENTRY_OVERHEAD_BYTES;
}

static void remove_at(struct cache *cache, struct cache_entry **link)
{
    struct cache_entry *entry = *link;
    struct cache_counters *counters = &cache->counters[entry->kind];
    *link = entry->chain;
    list_remove(cache, entry);
    cache->used_bytes -= entry_bytes(entry->blob);
    cache->entry_count--;
    counters->entries--;
    counters->bytes -= entry_bytes(entry->blob);
    blob_unref(entry->blob);
    free(entry);
}

void cache_deinit(struct cache *cache)
{
    while (cache->oldest)
        remove_at(cache, find(cache, cache->oldest->kind, &cache->oldest->key));
    free(cache->buckets);
    cache->buckets = NULL;
    cache->bucket_count = 0;
}

static bool is_intact(struct cache_entry *entry, uint64_t now_ms)
{
    if (now_ms < entry->trusted_ms)
        return true;
    entry->trusted_ms = now_ms + CACHE_TRUST_MS;
    return blob_intact(entry->blob);
}

struct blob *cache_get(struct cache *cache, enum cache_kind kind, const struct bir_digest *key, uint64_t now_ms)
{
    struct cache_counters *counters = &cache->counters[kind];
    struct cache_entry **link = cache->buckets ? find(cache, kind, key) : NULL;
    if (!link || !*link) {
        counters->misses++;
        return NULL;
    }
    struct cache_entry *entry = *link;
    if (!is_intact(entry, now_ms)) {
        counters->corrupt++;
        counters->misses++;
        remove_at(cache, link);
        return NULL;
    }
    counters->hits++;
    if (entry != cache->newest) {
        list_remove(cache, entry);
        list_push(cache, entry);
    }
    return entry->blob;
}

/* Doubles the table when it has as many entries as buckets; a failure leaves longer chains. */
static bool grow(struct cache *cache)
{
    if (cache->buckets && cache->entry_count < cache->bucket_count)
        return true;
    size_t count = cache->buckets ? cache->bucket_count * 2 : FIRST_BUCKETS;
    struct cache_entry **buckets = calloc(count, sizeof(struct cache_entry *));
    if (!buckets)
        return cache->buckets != NULL;
    for (struct cache_entry *entry = cache->newest; entry; entry = entry->older) {
        struct cache_entry **bucket = &buckets[hash(&entry->key) & (count - 1)];
        entry->chain = *bucket;
        *bucket = entry;
    }
    free(cache->buckets);
    cache->buckets = buckets;
    cache->bucket_count = count;
    return true;
}

static void evict(struct cache *cache, uint64_t needed)
{
    while (cache->oldest && cache->budget_bytes - cache->used_bytes < needed) {
        cache->counters[cache->oldest->kind].evicted++;
        remove_at(cache, find(cache, cache->oldest->kind, &cache->oldest->key));
    }
}

void cache_put(struct cache *cache, enum cache_kind kind, const struct bir_digest *key, struct blob *blob)
{
    uint64_t needed = entry_bytes(blob);
    if (needed > cache->budget_bytes || !grow(cache) || *find(cache, kind, key))
        return;
    struct cache_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return;
    evict(cache, needed);
    struct cache_entry **bucket = &cache->buckets[hash(key) & (cache->bucket_count - 1)];
    *entry = (struct cache_entry){ .key = *key, .kind = kind, .blob = blob_ref(blob), .chain = *bucket };
    *bucket = entry;
    list_push(cache, entry);
    cache->used_bytes += needed;
    cache->entry_count++;
    cache->counters[kind].stored++;
    cache->counters[kind].entries++;
    cache->counters[kind].bytes += needed;
}

bool cache_drop(struct cache *cache, enum cache_kind kind, const struct bir_digest *key)
{
    struct cache_entry **link = cache->buckets ? find(cache, kind, key) : NULL;
    if (!link || !*link)
        return false;
    remove_at(cache, link);
    return true;
}
