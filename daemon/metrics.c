#include "daemon/metrics.h"

#include <string.h>

#include <uv.h>

#include "base/json_writer.h"

struct row {
    const char *group;
    const char *counter;
    uint64_t value;
};

static void put_member(struct bir_json_writer *writer, const char *key, uint64_t value)
{
    bir_json_put_key(writer, key);
    bir_json_put_u64(writer, value);
}

static void put_rows(struct bir_json_writer *writer, const struct row *rows, size_t count,
                     const struct metrics *metrics)
{
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || strcmp(rows[i].group, rows[i - 1].group) != 0;
        if (first && i > 0)
            bir_json_put_object_end(writer);
        if (first) {
            bir_json_put_key(writer, rows[i].group);
            bir_json_put_object_begin(writer);
        }
        for (int method = 0; first && strcmp(rows[i].group, "requests") == 0 && method < BIR_METHOD_COUNT; method++)
            put_member(writer, bir_method_name((enum bir_method)method), metrics->requests_of[method]);
        put_member(writer, rows[i].counter, rows[i].value);
    }
    bir_json_put_object_end(writer);
}

static void put_cache(struct bir_json_writer *writer, const struct cache *cache)
{
    static const char *const kinds[CACHE_KIND_COUNT] = { "sources", "answers" };
    bir_json_put_key(writer, "l1");
    bir_json_put_object_begin(writer);
    put_member(writer, "budget_bytes", cache->budget_bytes);
    put_member(writer, "used_bytes", cache->used_bytes);
    for (int kind = 0; kind < CACHE_KIND_COUNT; kind++) {
        const struct cache_counters *counters = &cache->counters[kind];
        bir_json_put_key(writer, kinds[kind]);
        bir_json_put_object_begin(writer);
        put_member(writer, "entries", counters->entries);
        put_member(writer, "bytes", counters->bytes);
        put_member(writer, "hits", counters->hits);
        put_member(writer, "misses", counters->misses);
        put_member(writer, "stored", counters->stored);
        put_member(writer, "evicted", counters->evicted);
        put_member(writer, "corrupt", counters->corrupt);
        bir_json_put_object_end(writer);
    }
    bir_json_put_object_end(writer);
}

uint64_t metrics_resident_bytes(void)
{
    size_t bytes = 0;
    return uv_resident_set_memory(&bytes) == 0 ? bytes : 0;
}

void metrics_put_json(const struct metrics *metrics, uint64_t now_ms, const struct cache *cache, uint64_t held_bytes,
                      struct bir_buf *out)
{
    const struct row rows[] = {
#define METRICS_ROW(group, counter) { #group, #counter, metrics->group##_##counter },
        METRICS_COUNTERS(METRICS_ROW)
#undef METRICS_ROW
    };
    struct bir_json_writer writer;
    bir_json_writer_init(&writer, out, 0);
    bir_json_put_object_begin(&writer);
    put_member(&writer, "uptime_ms", now_ms - metrics->started_ms);
    put_rows(&writer, rows, sizeof rows / sizeof rows[0], metrics);
    bir_json_put_key(&writer, "cache");
    bir_json_put_object_begin(&writer);
    put_cache(&writer, cache);
    bir_json_put_object_end(&writer);
    bir_json_put_key(&writer, "memory");
    bir_json_put_object_begin(&writer);
    put_member(&writer, "held_bytes", held_bytes);
    put_member(&writer, "resident_bytes", metrics_resident_bytes());
    bir_json_put_object_end(&writer);
    bir_json_put_object_end(&writer);
}
