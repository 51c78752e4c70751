#include "base/arena.h"

#include "base/random.h"

#include <string.h>

#include "alloc_fail.h"
#include "unit.h"

static bool all_zero(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

START_TEST(blocks_are_zeroed_aligned_and_apart)
{
    struct bir_arena arena;
    bir_arena_init(&arena, 0);
    char *previous = NULL;
    size_t previous_size = 0;
    for (size_t size = 0; size < 3000; size += 7) {
        char *block = bir_arena_alloc(&arena, BIR_MEM_OTHER, size);
        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % 8, 0);
        ck_assert(all_zero(block, size));
        memset(block, 0xA5, size);
        if (previous_size > 0)
            ck_assert_int_eq(previous[previous_size - 1], (char)0xA5);
        previous = block;
        previous_size = size;
    }
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(reserved_bytes_stay_below_limit)
{
    struct bir_arena arena;
    bir_arena_init(&arena, 10000);
    size_t blocks = 0;
    while (bir_arena_alloc(&arena, BIR_MEM_TABLES, 100))
        blocks++;
    ck_assert_int_eq(arena.failure, BIR_LIMIT);
    ck_assert_int_eq(bir_arena_failure(&arena), BIR_LIMIT);
    ck_assert_uint_le(arena.reserved_bytes, 10000);
    ck_assert_uint_ge(blocks, 85); /* 104 to 112 bytes each, of which chunk headers and remainders cost little */
    ck_assert_uint_le(arena.used_bytes[BIR_MEM_TABLES], 10000);
    ck_assert_uint_eq(bir_arena_used(&arena), arena.used_bytes[BIR_MEM_TABLES]);
    bir_arena_deinit(&arena);
    ck_assert_uint_eq(arena.limit_bytes, 10000);
    ck_assert_ptr_nonnull(bir_arena_alloc(&arena, BIR_MEM_OTHER, 5000));
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(huge_sizes_are_limits)
{
    struct bir_arena arena;
    bir_arena_init(&arena, 0);
    ck_assert_ptr_null(bir_arena_alloc(&arena, BIR_MEM_OTHER, SIZE_MAX));
    ck_assert_int_eq(arena.failure, BIR_LIMIT);
    arena.failure = BIR_OK;
    ck_assert_ptr_null(bir_arena_alloc_array(&arena, BIR_MEM_OTHER, SIZE_MAX / 2, 3));
    ck_assert_int_eq(arena.failure, BIR_LIMIT);
    ck_assert_ptr_null(bir_arena_strndup(&arena, "x", SIZE_MAX));
    ck_assert_uint_eq(arena.reserved_bytes, 0);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(newest_block_grows_in_place)
{
    struct bir_arena arena;
    bir_arena_init(&arena, 0);
    char *block = bir_arena_grow(&arena, BIR_MEM_OTHER, NULL, 0, 16);
    ck_assert_ptr_nonnull(block);
    memcpy(block, "0123456789abcdef", 16);
    char *grown = bir_arena_grow(&arena, BIR_MEM_OTHER, block, 16, 400);
    ck_assert_ptr_eq(grown, block);
    ck_assert(all_zero(grown + 16, 384));
    size_t used = bir_arena_used(&arena);
    ck_assert_ptr_nonnull(bir_arena_alloc(&arena, BIR_MEM_OTHER, 8));
    char *moved = bir_arena_grow(&arena, BIR_MEM_OTHER, grown, 400, 900);
    ck_assert_ptr_ne(moved, grown);
    ck_assert_int_eq(memcmp(moved, "0123456789abcdef", 16), 0);
    ck_assert(all_zero(moved + 16, 884));
    ck_assert_uint_ge(bir_arena_used(&arena), used + 908);
    ck_assert_ptr_eq(bir_arena_grow(&arena, BIR_MEM_OTHER, moved, 900, 10), moved);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(large_block_leaves_the_chunk_in_use)
{
    struct bir_arena arena;
    bir_arena_init(&arena, 0);
    char *a = bir_arena_alloc(&arena, BIR_MEM_OTHER, 8);
    char *large = bir_arena_alloc(&arena, BIR_MEM_OTHER, 3 << 20);
    char *b = bir_arena_alloc(&arena, BIR_MEM_OTHER, 8);
    ck_assert(a && large && b);
    ck_assert(all_zero(large, 3 << 20));
    ck_assert_int_le(b - a, 32);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(text_of_any_length_is_printed)
{
    struct bir_arena arena;
    bir_arena_init(&arena, 0);
    for (int width = 0; width < 600; width += 37) {
        char *text = bir_arena_printf(&arena, "<%*d>", width, 7);
        ck_assert_uint_eq(strlen(text), width > 1 ? (size_t)width + 2 : 3);
        ck_assert_int_eq(text[strlen(text) - 2], '7');
    }
    ck_assert_str_eq(bir_arena_strndup(&arena, "abcdef", 3), "abc");
    ck_assert_str_eq(bir_arena_strndup(&arena, NULL, 0), "");
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(references_lead_to_their_blocks)
{
    enum { BLOCKS = 5000 };
    struct bir_arena arena;
    bir_arena_init(&arena, 0);
    static char *blocks[BLOCKS];
    static bir_ref refs[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        bool is_packed = i % 3 == 0;
        size_t size = i % 97 == 0 ? 20000 : 1 + i % 200;
        blocks[i] = is_packed ? bir_arena_alloc_packed(&arena, BIR_MEM_STRINGS, size)
                              : bir_arena_alloc(&arena, BIR_MEM_OTHER, size);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert(all_zero(blocks[i], size));
        ck_assert_uint_eq((uintptr_t)blocks[i] % (is_packed ? 4 : 8), 0);
        memset(blocks[i], 0xA5, size);
        refs[i] = bir_ref_of(blocks[i]);
        ck_assert_uint_ne(refs[i], 0);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        ck_assert_ptr_eq(bir_arena_at(&arena, refs[i]), blocks[i]);
        ck_assert_ptr_eq(bir_ref_at(blocks[(i * 31) % BLOCKS], refs[i]), blocks[i]);
    }
    ck_assert_uint_eq(bir_ref_of(NULL), 0);
    ck_assert_ptr_null(bir_arena_at(&arena, 0));
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(large_blocks_are_given_back)
{
    struct bir_arena arena;
    bir_arena_init(&arena, 3 << 20);
    char *kept = bir_arena_alloc(&arena, BIR_MEM_OTHER, 100000);
    ck_assert_ptr_nonnull(kept);
    char *small = bir_arena_alloc(&arena, BIR_MEM_OTHER, 64);
    size_t reserved = arena.reserved_bytes, used = bir_arena_used(&arena);
    for (int i = 0; i < 100; i++) { /* far more than the limit, if it stayed */
        void *block = bir_arena_alloc(&arena, BIR_MEM_TABLES, 1 << 20);
        ck_assert_ptr_nonnull(block);
        bir_arena_release(&arena, BIR_MEM_TABLES, block, 1 << 20);
    }
    bir_arena_release(&arena, BIR_MEM_OTHER, small, 64); /* stays */
    bir_arena_release(&arena, BIR_MEM_OTHER, NULL, 0);
    ck_assert_uint_eq(arena.reserved_bytes, reserved);
    ck_assert_uint_eq(bir_arena_used(&arena), used);
    ck_assert_ptr_eq(bir_arena_at(&arena, bir_ref_of(kept)), kept);
    ck_assert_ptr_eq(bir_arena_at(&arena, bir_ref_of(small)), small);
    bir_arena_deinit(&arena);
}
END_TEST

enum { MANY = 40000 };

static size_t size_of_block(uint64_t *random, int i)
{
    if (i % 1000 == 999) /* a chunk of its own, or pages of a scratch arena's */
        return 1 + bir_random_below(random, (size_t)3 << 20);
    return 1 + bir_random_below(random, i % 50 == 49 ? 40000 : 300);
}

/* Zeroed, aligned, apart, and found by their references, at sizes where memory comes in huge pages. */
static void check_many_blocks(struct bir_arena *arena)
{
    static char *blocks[MANY];
    uint64_t random = 5;
    for (int i = 0; i < MANY; i++) {
        size_t size = size_of_block(&random, i);
        blocks[i] = bir_arena_alloc(arena, BIR_MEM_OTHER, size);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 8, 0);
        for (size_t k = 0; k < size; k++)
            if (blocks[i][k] != 0)
                ck_abort_msg("block %d is not zero at %zu", i, k);
        memset(blocks[i], 'a' + i % 26, size);
    }
    random = 5;
    for (int i = 0; i < MANY; i++) {
        size_t size = size_of_block(&random, i);
        ck_assert_int_eq(blocks[i][0], 'a' + i % 26);
        ck_assert_int_eq(blocks[i][size - 1], 'a' + i % 26);
        ck_assert_ptr_eq(bir_arena_at(arena, bir_ref_of(blocks[i])), blocks[i]);
    }
}

START_TEST(large_arenas_keep_the_promises)
{
    struct bir_arena arena;
    for (int round = 0; round < 2; round++) {
        (round ? bir_arena_init_scratch : bir_arena_init)(&arena, 0);
        check_many_blocks(&arena);
        bir_arena_deinit(&arena);
        ck_assert_int_eq(arena.is_scratch, round);
        bir_arena_deinit(&arena);
    }
}
END_TEST

START_TEST(large_arenas_stay_below_limit)
{
    for (int round = 0; round < 2; round++) {
        struct bir_arena arena;
        uint64_t random = 9;
        size_t used = 0;
        (round ? bir_arena_init_scratch : bir_arena_init)(&arena, 9999999);
        for (;;) {
            size_t size = 1 + bir_random_below(&random, 30000);
            if (!bir_arena_alloc(&arena, BIR_MEM_OTHER, size))
                break;
            used += size;
        }
        ck_assert_int_eq(arena.failure, BIR_LIMIT);
        ck_assert_uint_le(arena.reserved_bytes, 9999999);
        ck_assert_uint_ge(used, 5000000); /* at most half is lost between blocks and at the ends of chunks */
        bir_arena_deinit(&arena);
    }
}
END_TEST

START_TEST(trimmed_arenas_hold_what_they_use)
{
    struct bir_arena arena;
    bir_arena_init(&arena, 0);
    bir_arena_trim(&arena);
    static char *blocks[60000];
    for (int i = 0; i < 60000; i++) {
        blocks[i] = bir_arena_alloc(&arena, BIR_MEM_OTHER, 96);
        ck_assert_ptr_nonnull(blocks[i]);
        memset(blocks[i], i % 100, 96);
        if (i % 25000 == 24999)
            bir_arena_trim(&arena);
    }
    size_t before = arena.reserved_bytes;
    bir_arena_trim(&arena);
    ck_assert_uint_le(arena.reserved_bytes, before);
    ck_assert_uint_le(arena.reserved_bytes, bir_arena_used(&arena) + bir_arena_used(&arena) / 32 + 65536);
    for (int i = 0; i < 60000; i++)
        ck_assert_int_eq(blocks[i][95], i % 100);
    bir_arena_deinit(&arena);
}
END_TEST

static enum bir_status fill(struct bir_arena *arena)
{
    for (size_t size = 1; size < 200000; size *= 3) {
        if (!bir_arena_alloc(arena, BIR_MEM_OTHER, size) || !bir_arena_printf(arena, "%zu", size))
            return bir_arena_failure(arena);
    }
    return BIR_OK;
}

START_TEST(every_failed_allocation_is_survived)
{
    enum bir_status status = BIR_NOMEM;
    for (long n = 1; status != BIR_OK; n++) {
        ck_assert_int_lt(n, 1000);
        struct bir_arena arena;
        bir_arena_init(&arena, 0);
        long live = alloc_live();
        alloc_fail_at(n);
        status = fill(&arena);
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        bir_arena_deinit(&arena);
        long left = alloc_live();
        ck_assert_int_eq(left, live);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        blocks_are_zeroed_aligned_and_apart, reserved_bytes_stay_below_limit,     huge_sizes_are_limits,
        newest_block_grows_in_place,         large_block_leaves_the_chunk_in_use, text_of_any_length_is_printed,
        references_lead_to_their_blocks,     large_blocks_are_given_back,         every_failed_allocation_is_survived,
        large_arenas_keep_the_promises,      large_arenas_stay_below_limit,       trimmed_arenas_hold_what_they_use,
    };
    return UNIT_RUN("arena", tests);
}
