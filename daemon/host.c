/*
 * The limit of a control group holds for the groups inside it, so the least one on the way to the root counts. Version
 * 2 is read here; version 1 is what libuv knows.
 */
#include "daemon/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uv.h>

static uint64_t read_limit(const char *path)
{
    char text[32] = "";
    FILE *file = fopen(path, "re");
    if (!file)
        return UINT64_MAX;
    char *end = text;
    unsigned long long limit = fgets(text, sizeof text, file) ? strtoull(text, &end, 10) : 0;
    fclose(file);
    return end == text ? UINT64_MAX : limit; /* "max" is no number */
}

uint64_t host_group_limit(const char *root, const char *group)
{
    char path[4096];
    uint64_t least = UINT64_MAX;
    for (size_t len = strlen(group);; len--) {
        if (len == 0 || group[len] == '/' || group[len] == '\0') {
            int written = snprintf(path, sizeof path, "%s%.*s/memory.max", root, (int)len, group);
            uint64_t limit = written > 0 && (size_t)written < sizeof path ? read_limit(path) : UINT64_MAX;
            least = limit < least ? limit : least;
        }
        if (len == 0)
            return least;
    }
}

/* Of the unified hierarchy: the line "0::PATH". */
static uint64_t own_group_limit(void)
{
    char line[4096];
    uint64_t limit = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        limit = host_group_limit("/sys/fs/cgroup", strcmp(line, "0::/") == 0 ? "" : line + 3);
    }
    if (file)
        fclose(file);
    return limit;
}

uint64_t host_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t memory = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
    uint64_t limits[2] = { uv_get_constrained_memory(), own_group_limit() };
    for (int i = 0; i < 2; i++)
        if (limits[i] > 0 && limits[i] < memory)
            memory = limits[i];
    return memory;
}

uint64_t host_processors(void)
{
    unsigned count = uv_available_parallelism();
    return count ? count : 1;
}
