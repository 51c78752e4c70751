/*
 * The linker's --wrap option turns calls of malloc into __wrap_malloc and leaves the genuine one reachable as
 * __real_malloc, which under AddressSanitizer is its interceptor: so leak and overflow checks stay active.
 *
 * countdown is positive while a failure lies ahead, counts one down for each allocation, and fires when it reaches
 * zero; with `sticky` every allocation from then on is refused.
 */
#include "alloc_fail.h"

#include <errno.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **block, size_t alignment, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size);
void __wrap_free(void *block);

static long countdown;
static bool sticky;
static bool fired;
static long count;
static long live;

void alloc_fail_at(long n)
{
    countdown = n < 0 ? -n : n;
    sticky = n < 0;
    fired = false;
}

bool alloc_fail_fired(void)
{
    return fired;
}

long alloc_count(void)
{
    return count;
}

long alloc_live(void)
{
    return live;
}

static bool refused(void)
{
    count++;
    bool refuse = sticky && fired;
    if (countdown > 0 && --countdown == 0)
        refuse = fired = true;
    if (refuse)
        errno = ENOMEM;
    return refuse;
}

static void *counted(void *block)
{
    if (block)
        live++;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (refused())
        return NULL;
    if (!old)
        return counted(__real_malloc(size));
    void *block = __real_realloc(old, size);
    if (!block && size == 0)
        live--;
    return block;
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
    if (refused())
        return ENOMEM;
    int error = __real_posix_memalign(block, alignment, size);
    if (error == 0)
        counted(*block);
    return error;
}

void __wrap_free(void *block)
{
    if (block)
        live--;
    __real_free(block);
}
