/*
 * Memory straight from the system, for what is large. A module of a hundred thousand instructions touches tens of
 * megabytes, and a page fault for each 4 KiB of them would cost as much as the compiling: regions are aligned so that
 * the system can back them with huge pages, and it is asked to.
 */
#ifndef BIR_BASE_PAGES_H
#define BIR_BASE_PAGES_H

#include <stddef.h>

#include "base/status.h"

/* Size and alignment of a huge page on the machines that we run on; elsewhere only an alignment. */
#define BIR_HUGE_BYTES ((size_t)2 << 20)

/* Zeroed memory of `bytes`, aligned to BIR_HUGE_BYTES, or NULL. */
void *bir_pages_map(size_t bytes) BIR_MUST_CHECK;
void bir_pages_unmap(void *region, size_t bytes);

/* Unmaps what a mapped region of `bytes` has behind its first `keep`, in whole pages. Returns what it has now. */
size_t bir_pages_unmap_tail(void *region, size_t bytes, size_t keep);

/* Asks for huge pages under a block from elsewhere. Small blocks are left alone. */
void bir_pages_advise_huge(void *block, size_t bytes);

#endif
