/*
 * Failing allocations on demand, for tests whose row in meson.build asks for it (third element true).
 *
 * The linker redirects malloc, calloc, realloc, posix_memalign and free of everything linked statically into the test
 * (our libraries and the test itself) to this module; shared libraries and libc's own allocations (strdup, vasprintf)
 * are not seen. The usual loop:
 *
 *     for (long n = 1;; n++) {
 *         long live = alloc_live();
 *         alloc_fail_at(n);
 *         ... do the work, which may fail with BIR_NOMEM, and free everything ...
 *         bool fired = alloc_fail_fired();
 *         alloc_fail_at(0);
 *         ck_assert_int_eq(alloc_live(), live);
 *         if (!fired) break;
 *     }
 *
 * No ck_assert between alloc_fail_at(n) and alloc_fail_at(0), nor between two looks at alloc_live: Check allocates too,
 * and gives up when it cannot. Not thread-safe.
 */
#ifndef TESTS_ALLOC_FAIL_H
#define TESTS_ALLOC_FAIL_H

#include <stdbool.h>

/* The n-th allocation from now (1 = the next) gives NULL, the ones before and after it succeed. n < 0: the (-n)-th and
 * every later one fail. 0 switches off. */
void alloc_fail_at(long n);

/* Has an allocation been refused since the last alloc_fail_at? */
bool alloc_fail_fired(void);

/* Allocations asked for since the program started (a realloc counts as one). */
long alloc_count(void);

/* Blocks allocated and not yet freed. */
long alloc_live(void);

#endif
