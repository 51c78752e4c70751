/*
 * A region is mapped larger than asked when the system does not align it by itself, and cut to size. Nothing here
 * depends on huge pages: where they are off, the same memory comes in small ones.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */

#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define ADVISED_BYTES (2 * BIR_HUGE_BYTES) /* blocks from elsewhere are not aligned */

static void advise(void *start, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(start, bytes, MADV_HUGEPAGE); /* small pages will do if it is refused */
#else
    (void)start;
    (void)bytes;
#endif
}

static void *map(size_t bytes)
{
    void *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return region == MAP_FAILED ? NULL : region;
}

/* How far behind the last multiple of BIR_HUGE_BYTES an address is. */
static size_t misalignment(const void *address)
{
    return (uintptr_t)address & (BIR_HUGE_BYTES - 1);
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_to_pages(size_t bytes)
{
    size_t page = page_bytes();
    return (bytes + page - 1) & ~(page - 1);
}

static void *map_and_cut(size_t bytes)
{
    char *region = map(bytes + BIR_HUGE_BYTES);
    if (!region)
        return NULL;
    size_t head = BIR_HUGE_BYTES - misalignment(region);
    if (head < BIR_HUGE_BYTES)
        (void)munmap(region, head);
    else
        head = 0;
    if (head < BIR_HUGE_BYTES)
        (void)munmap(region + head + bytes, BIR_HUGE_BYTES - head);
    return region + head;
}

void *bir_pages_map(size_t bytes)
{
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = round_to_pages(bytes);
    void *region = map(bytes);
    if (region && misalignment(region) != 0) {
        (void)munmap(region, bytes);
        region = map_and_cut(bytes);
    }
    if (region)
        advise(region, bytes);
    return region;
}

void bir_pages_unmap(void *region, size_t bytes)
{
    (void)munmap(region, round_to_pages(bytes));
}

size_t bir_pages_unmap_tail(void *region, size_t bytes, size_t keep)
{
    size_t kept = round_to_pages(keep), mapped = round_to_pages(bytes);
    if (kept >= mapped)
        return bytes;
    (void)munmap((char *)region + kept, mapped - kept);
    return kept;
}

void bir_pages_advise_huge(void *block, size_t bytes)
{
    if (bytes < ADVISED_BYTES)
        return;
    /* Whole mappings: one that is advised in part counts as several, and could not be moved to grow. */
    char *start = (char *)block - ((uintptr_t)block & (page_bytes() - 1));
    advise(start, round_to_pages((size_t)((char *)block - start) + bytes));
}
