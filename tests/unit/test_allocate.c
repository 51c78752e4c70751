/*
 * allocate_memory: no two locations alive together share a byte (by brute force over made-up and sample modules),
 * limits, banks, quadrants, places that the input gives, loops and branches, DRAM numbers, error text, failing
 * allocations.
 */
#include "alloc_fail.h"
#include "allocate_world.h"
#include "base/random.h"
#include "codegen_text.h"

/* Whether an instruction between the first and the last touch of one (both included) touches the other, or the ranges
 * cross: found by walking the program, not from use lists. `always` widens every range to the whole program. */
struct span {
    int64_t first, last;
};

static struct span span_of(const struct bir_function *function, const struct bir_location *location)
{
    struct span span = { -1, -1 };
    struct bir_walk walk;
    int64_t index = 0;
    bir_walk_init(&walk, (struct bir_region *)(uintptr_t)&function->body);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk)); index++)
        for (int role = 0; role < BIR_ROLE_COUNT; role++) {
            BIR_EACH_ARGUMENT (arg, inst, role) {
                if (arg->location != &location->base && arg->location != &location->set->base)
                    continue;
                span.first = span.first < 0 ? index : span.first;
                span.last = index;
            }
        }
    return span;
}

/* Every on-chip location has a legal place, and none shares a byte with one alive at the same time. Returns how many
 * there are. */
static uint32_t check_places(const struct bir_function *function, bool skip_input_pairs, const bool *was_fixed)
{
    struct bir_location *all[2048];
    struct span spans[2048];
    uint32_t count = 0;
    for (uint32_t i = 0; i < function->storages.count; i++) {
        struct bir_set *set = (struct bir_set *)function->storages.items[i];
        if (set->base.tag != BIR_STORAGE_SET)
            continue;
        for (uint32_t k = 0; k < set->locations.count; k++) {
            struct bir_location *location = set->locations.items[k];
            if (location->type != BIR_MEMORY_SB && location->type != BIR_MEMORY_PSUM)
                continue;
            ck_assert_uint_lt(count, 2048);
            spans[count] = span_of(function, location);
            all[count++] = location;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t limit = all[i]->type == BIR_MEMORY_PSUM ? 16384 : 229376; /* gen3: 224 KiB */
        ck_assert(all[i]->allocated);
        if (!was_fixed || !was_fixed[i]) {
            ck_assert_uint_le(start_byte(all[i]) + (uint64_t)all[i]->dims->items[1], limit);
            ck_assert_uint_eq(start_byte(all[i]) % 32, 0);
            ck_assert_uint_eq(all[i]->base_partition % 32, 0);
            ck_assert_uint_le(all[i]->base_partition + (uint64_t)all[i]->dims->items[0], 128);
            if (all[i]->type == BIR_MEMORY_PSUM && all[i]->dims->items[1] <= 2048)
                ck_assert_uint_le(start_byte(all[i]) % 2048 + (uint64_t)all[i]->dims->items[1], 2048);
            if (all[i]->type == BIR_MEMORY_PSUM && all[i]->dims->items[1] > 2048)
                ck_assert_uint_eq(start_byte(all[i]) % 2048, 0);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (spans[i].first < 0 || spans[j].first < 0 || spans[i].first > spans[j].last ||
                spans[j].first > spans[i].last)
                continue;
            if (skip_input_pairs && was_fixed && was_fixed[i] && was_fixed[j])
                continue;
            ck_assert_msg(!share_a_byte(all[i], all[j]), "%s and %s", all[i]->base.name->text, all[j]->base.name->text);
        }
    }
    return count;
}

START_TEST(samples_fit_without_overlap)
{
    static const struct {
        const char *name;
        bool branches;
    } samples[] = { { "tensor_add", false },   { "tensor_add_lnc2", false }, { "matmul_tiled", false },
                    { "rmsnorm", false },      { "softmax", false },         { "transpose2d", false },
                    { "gather", false },       { "edges", false },           { "flash_attention_2k", false },
                    { "dynamic_offset", true } };
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        struct codegen_case c;
        struct world w = { 0 };
        char path[96];
        snprintf(path, sizeof path, "klr/%s.klr", samples[s].name);
        ck_assert_int_eq(codegen_case_open(&c, path), BIR_OK);
        if (strcmp(samples[s].name, "transpose2d") == 0)
            codegen_case_drop(&c, "inst.4"); /* walks partitions downwards, refused */
        ck_assert_int_eq(codegen_case_convert(&c, NULL), BIR_OK);
        bir_arena_init(&w.scratch, 0);
        struct bir_pass_context context = { .stats = &w.stats, .scratch = &w.scratch };
        enum bir_status status = bir_pass_allocate_memory(c.module, &context, &c.diags);
        ck_assert_msg(status == BIR_OK, "%s: %s", samples[s].name, c.diags.first ? c.diags.first->message : "");
        for (struct bir_function *function = c.module->functions; function; function = function->next)
            ck_assert_uint_ge(check_places(function, false, NULL), 1);
        bir_arena_deinit(&w.scratch);
        codegen_case_close(&c);
    }
}
END_TEST

/* Random tensors and uses; every third module has places given by the input. Twice the same answer, with both
 * strategies. */
START_TEST(random_modules_do_not_overlap)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t bytes_made = 0;
        int64_t places[2][96][3];
        for (int round = 0; round < 2; round++) {
            uint64_t random = seed;
            struct world w;
            struct bir_location *locations[96];
            bool was_fixed[96] = { false };
            world_open(&w);
            w.options.allocate = seed % 2 ? "first-fit" : "best-fit";
            uint32_t count = 8 + (uint32_t)bir_random_below(&random, 88);
            for (uint32_t i = 0; i < count; i++) {
                bool psum = bir_random_below(&random, 8) == 0;
                int64_t rows = 1 + (int64_t)bir_random_below(&random, 128);
                int64_t bytes = 1 + (int64_t)bir_random_below(&random, psum ? 2048 : 9000);
                locations[i] = tensor(&w, psum ? BIR_MEMORY_PSUM : BIR_MEMORY_SB, rows, bytes);
                bytes_made += (uint64_t)bytes;
                if (seed % 3 == 0 && bir_random_below(&random, 5) == 0) {
                    was_fixed[i] = true;
                    fixed(locations[i], 0, 0, psum ? 0 : 16 * bir_random_below(&random, 8000));
                }
            }
            /* Each is touched twice, not far apart, so that PSUM's eight banks suffice. */
            for (uint32_t i = 0; i < count; i++) {
                use(&w, locations[i], i >= 3 ? locations[i - 3] : NULL);
                if (bir_random_below(&random, 4) == 0)
                    in_block(&w, w.block, BIR_OP_NOOP);
            }
            enum bir_status status = allocate(&w);
            ck_assert_msg(status == BIR_OK, "seed %llu: %s", (unsigned long long)seed,
                          w.diags.first ? w.diags.first->message : "");
            ck_assert_uint_eq(check_places(w.function, true, was_fixed), count);
            for (uint32_t i = 0; i < count; i++) {
                int64_t place[3] = { locations[i]->base_partition, locations[i]->bank,
                                     (int64_t)locations[i]->addr_bytes };
                memcpy(places[round][i], place, sizeof place);
                if (round == 1)
                    ck_assert_mem_eq(places[0][i], places[1][i], sizeof place);
            }
            world_close(&w);
        }
        ck_assert_uint_gt(bytes_made, 0);
    }
}
END_TEST

/* --- capacity --- */

/* Fourteen tensors of 16 KiB fill gen3's 224 KiB exactly; sunda has room for 12, core_v4 for 16. */
static void fill(struct world *w, enum bir_arch arch, uint32_t count, int64_t bytes)
{
    struct bir_location *all[64];
    world_open(w);
    w->module->arch = arch;
    for (uint32_t i = 0; i < count; i++)
        use(w, all[i] = tensor(w, BIR_MEMORY_SB, 128, bytes), NULL);
    for (uint32_t i = 0; i < count; i++)
        use(w, NULL, all[i]);
}

START_TEST(capacity_by_generation)
{
    static const struct {
        enum bir_arch arch;
        uint32_t fits;
    } cases[] = { { BIR_ARCH_SUNDA, 12 }, { BIR_ARCH_GEN3, 14 }, { BIR_ARCH_CORE_V4, 16 }, { BIR_ARCH_NONE, 12 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        fill(&w, cases[i].arch, cases[i].fits, 16384);
        ck_assert_int_eq(allocate(&w), BIR_OK);
        ck_assert_uint_eq(w.stats.allocated_locations, cases[i].fits);
        world_close(&w);
        fill(&w, cases[i].arch, cases[i].fits + 1, 16384);
        ck_assert_int_eq(allocate(&w), BIR_INVALID);
        ck_assert_str_eq(w.diags.first->code, "alloc-does-not-fit");
        world_close(&w);
    }
}
END_TEST

START_TEST(error_names_the_live_tensors_and_the_missing_bytes)
{
    struct world w;
    world_open(&w);
    struct bir_location *big = tensor(&w, BIR_MEMORY_SB, 128, 200000), *small = tensor(&w, BIR_MEMORY_SB, 128, 20000);
    struct bir_location *dead = tensor(&w, BIR_MEMORY_SB, 128, 1000), *last = tensor(&w, BIR_MEMORY_SB, 128, 10000);
    use(&w, dead, NULL);
    use(&w, big, NULL);
    use(&w, small, NULL);
    const struct bir_instruction *peak = use(&w, last, NULL);
    use(&w, big, small);
    ck_assert_int_eq(allocate(&w), BIR_INVALID);
    const char *text = w.diags.first->message;
    char at[64];
    snprintf(at, sizeof at, "at instruction '%s'", peak->name->text);
    ck_assert_ptr_nonnull(strstr(text, at));
    ck_assert_ptr_nonnull(strstr(text, "location 't3' (128 partitions of 10000 bytes)"));
    /* Rounded up to 32: 200000, 20000 and 10016; 230016 - 229376. */
    ck_assert_ptr_nonnull(strstr(text, " 640 bytes a partition are missing"));
    ck_assert_ptr_nonnull(strstr(text, "alive are t0 (200000), t1 (20000)"));
    ck_assert_ptr_null(strstr(text, "t2"));
    world_close(&w);
}
END_TEST

START_TEST(a_tensor_beyond_the_memory_is_named)
{
    static const struct {
        enum bir_memory_type type;
        int64_t rows, bytes;
        const char *part;
    } cases[] = { { BIR_MEMORY_SB, 129, 4, "needs 129 partitions of 4 bytes, SBUF has 128 of 229376" },
                  { BIR_MEMORY_SB, 1, 229377, "needs 1 partitions of 229377 bytes" },
                  { BIR_MEMORY_PSUM, 128, 16385, "PSUM has 128 of 16384" },
                  { BIR_MEMORY_SB, INT64_MAX, INT64_MAX, "needs 9223372036854775807 partitions" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        world_open(&w);
        use(&w, tensor(&w, cases[i].type, cases[i].rows, cases[i].bytes), NULL);
        ck_assert_int_eq(allocate(&w), BIR_INVALID);
        ck_assert_msg(strstr(w.diags.first->message, cases[i].part) != NULL, "%s", w.diags.first->message);
        world_close(&w);
    }
}
END_TEST

START_TEST(dead_memory_is_used_again)
{
    struct world w;
    struct bir_location *all[100];
    world_open(&w);
    for (int i = 0; i < 100; i++) {
        all[i] = tensor(&w, BIR_MEMORY_SB, 128, 65536);
        use(&w, all[i], i ? all[i - 1] : NULL);
    }
    ck_assert_int_eq(allocate(&w), BIR_OK);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(all[i]->addr_bytes, i % 2 ? 65536 : 0);
    world_close(&w);
}
END_TEST

/* Holes of 96 and 64 bytes: first fit takes the lower, best fit the tighter. */
START_TEST(best_fit_takes_the_tightest_hole)
{
    for (int best = 0; best < 2; best++) {
        struct world w;
        struct bir_location *t[6];
        static const int64_t bytes[] = { 96, 32, 64, 32 };
        world_open(&w);
        w.options.allocate = best ? "best-fit" : "first-fit";
        for (int i = 0; i < 4; i++)
            use(&w, t[i] = tensor(&w, BIR_MEMORY_SB, 128, bytes[i]), NULL);
        use(&w, NULL, t[0]);
        use(&w, NULL, t[2]);
        use(&w, t[4] = tensor(&w, BIR_MEMORY_SB, 128, 64), NULL);
        use(&w, t[1], t[3]);
        use(&w, NULL, t[4]);
        ck_assert_int_eq(allocate(&w), BIR_OK);
        ck_assert_uint_eq(t[4]->addr_bytes, best ? 128 : 0);
        world_close(&w);
    }
}
END_TEST

/* --- PSUM --- */

START_TEST(psum_banks)
{
    struct world w;
    struct bir_location *t[9];
    world_open(&w);
    /* one bank, then 3 banks for 5000 bytes, then four of one bank: eight in all */
    static const int64_t bytes[] = { 2048, 5000, 4, 2048, 100, 2000 };
    static const int32_t banks[] = { 0, 1, 4, 5, 6, 7 };
    for (int i = 0; i < 6; i++)
        use(&w, t[i] = tensor(&w, BIR_MEMORY_PSUM, 128, bytes[i]), NULL);
    /* no empty bank is left: it shares bank 4 behind the 4 bytes */
    use(&w, t[6] = tensor(&w, BIR_MEMORY_PSUM, 128, 2000), NULL);
    for (int i = 0; i < 7; i++)
        use(&w, NULL, t[i]);
    ck_assert_int_eq(allocate(&w), BIR_OK);
    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(t[i]->bank, banks[i]);
        ck_assert_uint_eq(t[i]->addr_bytes, 0);
    }
    ck_assert_int_eq(t[6]->bank, 4);
    ck_assert_uint_eq(t[6]->addr_bytes, 32);
    check_places(w.function, false, NULL);
    world_close(&w);
}
END_TEST

START_TEST(psum_overflow_is_an_error)
{
    struct world w;
    struct bir_location *t[9];
    world_open(&w);
    for (int i = 0; i < 9; i++)
        use(&w, t[i] = tensor(&w, BIR_MEMORY_PSUM, 128, 2048), NULL);
    for (int i = 0; i < 9; i++)
        use(&w, NULL, t[i]);
    ck_assert_int_eq(allocate(&w), BIR_INVALID);
    ck_assert_ptr_nonnull(strstr(w.diags.first->message, "PSUM"));
    ck_assert_ptr_nonnull(strstr(w.diags.first->message, "2048 bytes a partition are missing"));
    world_close(&w);
}
END_TEST

/* --- quadrants --- */

START_TEST(small_tensors_move_to_other_quadrants)
{
    struct world w;
    world_open(&w);
    struct bir_location *all[4], *bound[2];
    /* Each takes all bytes of its partitions. DMA operands may lie anywhere: 32 partitions at 0, 32, 64, 96. */
    for (int i = 0; i < 4; i++)
        operand(&w, in_block(&w, w.block, BIR_OP_DMA_COPY), BIR_ROLE_OUT,
                all[i] = tensor(&w, BIR_MEMORY_SB, 32, 229376));
    for (int i = 0; i < 4; i++)
        operand(&w, in_block(&w, w.block, BIR_OP_DMA_COPY), BIR_ROLE_IN, all[i]);
    ck_assert_int_eq(allocate(&w), BIR_OK);
    for (int i = 0; i < 4; i++)
        ck_assert_uint_eq(all[i]->base_partition, (uint32_t)i * 32);
    world_close(&w);
    /* 64 partitions start at 0 or 64 only; 33 and more than 64 never above 64. */
    world_open(&w);
    for (int i = 0; i < 2; i++)
        operand(&w, in_block(&w, w.block, BIR_OP_DMA_COPY), BIR_ROLE_OUT,
                all[i] = tensor(&w, BIR_MEMORY_SB, 64, 229376));
    for (int i = 0; i < 2; i++)
        operand(&w, in_block(&w, w.block, BIR_OP_DMA_COPY), BIR_ROLE_IN, all[i]);
    ck_assert_int_eq(allocate(&w), BIR_OK);
    ck_assert_uint_eq(all[1]->base_partition, 64);
    world_close(&w);
    /* Two operands of one engine instruction stay in the same quadrant, so the second has no room. */
    world_open(&w);
    for (int i = 0; i < 2; i++)
        operand(&w, in_block(&w, w.block, BIR_OP_DMA_COPY), BIR_ROLE_OUT,
                bound[i] = tensor(&w, BIR_MEMORY_SB, 32, 229376));
    use(&w, bound[0], bound[1]);
    ck_assert_int_eq(allocate(&w), BIR_INVALID);
    world_close(&w);
}
END_TEST

/* --- places of the input --- */

START_TEST(given_places_stay_free)
{
    struct world w;
    world_open(&w);
    /* fixed enters after `early` and before its end; `late` comes when it has gone */
    struct bir_location *early = tensor(&w, BIR_MEMORY_SB, 128, 64);
    struct bir_location *given = fixed(tensor(&w, BIR_MEMORY_SB, 128, 64), 0, 0, 33);
    struct bir_location *late = tensor(&w, BIR_MEMORY_SB, 128, 64);
    use(&w, early, NULL);
    use(&w, given, NULL);
    use(&w, early, given);
    use(&w, late, NULL);
    ck_assert_int_eq(allocate(&w), BIR_OK);
    ck_assert_uint_eq(given->addr_bytes, 33);
    ck_assert_uint_eq(early->addr_bytes, 128); /* bytes 33..96 touch granules 1 to 3; 0 alone is too small */
    ck_assert_uint_eq(late->addr_bytes, 0);
    ck_assert_uint_eq(w.stats.allocated_locations, 2);
    world_close(&w);
}
END_TEST

START_TEST(an_address_without_the_word_allocated_counts)
{
    struct world w;
    world_open(&w);
    struct bir_location *given = tensor(&w, BIR_MEMORY_SB, 128, 64);
    given->present &= (uint8_t)~BIR_LOCF_ALLOCATED;
    given->addr_bytes = 4096;
    use(&w, given, NULL);
    ck_assert_int_eq(allocate(&w), BIR_OK);
    ck_assert_uint_eq(given->addr_bytes, 4096);
    ck_assert_uint_eq(w.stats.allocated_locations, 0);
    world_close(&w);
}
END_TEST

START_TEST(untouched_locations_cost_nothing)
{
    struct world w;
    world_open(&w);
    struct bir_location *unused[3];
    for (int i = 0; i < 3; i++)
        unused[i] = tensor(&w, BIR_MEMORY_SB, 128, 229376);
    use(&w, tensor(&w, BIR_MEMORY_SB, 128, 229376), NULL);
    ck_assert_int_eq(allocate(&w), BIR_OK);
    for (int i = 0; i < 3; i++)
        ck_assert(unused[i]->allocated);
    world_close(&w);
}
END_TEST

/* --- loops, branches --- */

/* x comes from before the loop and is read at the start of its body; y is written behind that. In the text x is dead by
 * then, in the second iteration it is not. */
START_TEST(backward_branch_keeps_values_alive)
{
    for (int looping = 0; looping < 2; looping++) {
        struct world w;
        world_open(&w);
        struct bir_location *x = tensor(&w, BIR_MEMORY_SB, 128, 64), *y = tensor(&w, BIR_MEMORY_SB, 128, 64);
        struct bir_location *after = tensor(&w, BIR_MEMORY_SB, 128, 64);
        struct bir_block *body = bir_block_new(w.module, &w.function->body, name_of(&w, "body", 0));
        struct bir_block *exit_block = bir_block_new(w.module, &w.function->body, name_of(&w, "exit", 0));
        use(&w, x, NULL);
        operand(&w, in_block(&w, body, BIR_OP_TENSOR_COPY), BIR_ROLE_IN, x);
        operand(&w, in_block(&w, body, BIR_OP_TENSOR_COPY), BIR_ROLE_OUT, y);
        operand(&w, in_block(&w, body, BIR_OP_TENSOR_COPY), BIR_ROLE_IN, y);
        struct bir_instruction *branch = in_block(&w, body, BIR_OP_COMPARE_AND_BRANCH);
        text_key(&w, branch, "on_true", looping ? body : exit_block);
        text_key(&w, branch, "on_false", exit_block);
        operand(&w, in_block(&w, exit_block, BIR_OP_TENSOR_COPY), BIR_ROLE_OUT, after);
        ck_assert_int_eq(allocate(&w), BIR_OK);
        ck_assert_int_eq(share_a_byte(x, y), !looping);
        ck_assert_uint_eq(after->addr_bytes, 0);
        world_close(&w);
    }
}
END_TEST

START_TEST(loop_body_is_one_moment)
{
    struct world w;
    world_open(&w);
    struct bir_location *before = tensor(&w, BIR_MEMORY_SB, 128, 64), *a = tensor(&w, BIR_MEMORY_SB, 128, 64);
    struct bir_location *b = tensor(&w, BIR_MEMORY_SB, 128, 64), *after = tensor(&w, BIR_MEMORY_SB, 128, 64);
    use(&w, before, NULL);
    struct bir_instruction *loop = in_block(&w, w.block, BIR_OP_LOOP);
    struct bir_loop *region = bir_instruction_need_loop(w.module, loop);
    ck_assert_ptr_nonnull(region);
    struct bir_block *body = bir_block_new(w.module, &region->region, name_of(&w, "loop", 0));
    operand(&w, in_block(&w, body, BIR_OP_TENSOR_COPY), BIR_ROLE_OUT, a);
    operand(&w, in_block(&w, body, BIR_OP_TENSOR_COPY), BIR_ROLE_IN, before);
    operand(&w, in_block(&w, body, BIR_OP_TENSOR_COPY), BIR_ROLE_OUT, b);
    use(&w, after, NULL);
    ck_assert_int_eq(allocate(&w), BIR_OK);
    ck_assert(!share_a_byte(a, b) && !share_a_byte(a, before) && !share_a_byte(b, before));
    ck_assert_uint_eq(after->addr_bytes, 0);
    world_close(&w);
}
END_TEST

/* A symbolic operand names a set: all blocks of it are alive. */
START_TEST(sets_keep_their_blocks_alive)
{
    struct world w;
    world_open(&w);
    struct bir_location *first = tensor(&w, BIR_MEMORY_SB, 128, 64);
    struct bir_location *second = bir_location_new(first->set, name_of(&w, "block", 1));
    second->type = BIR_MEMORY_SB;
    second->dims = first->dims;
    struct bir_location *other = tensor(&w, BIR_MEMORY_SB, 128, 64);
    for (int i = 0; i < 2; i++) {
        struct bir_instruction *inst = in_block(&w, w.block, BIR_OP_TENSOR_COPY);
        struct bir_argument *arg = bir_argument_new(w.module, inst, BIR_ARG_SYMBOLIC_AP, BIR_ROLE_IN, BIR_DTYPE_UINT8);
        ((struct bir_symbolic_ap *)arg)->pattern = bir_pattern_get(w.module, &(const struct bir_pair){ 1, 1 }, 1);
        bir_argument_set_location(arg, &first->set->base, false, true);
        if (i == 0)
            use(&w, other, NULL);
    }
    ck_assert_int_eq(allocate(&w), BIR_OK);
    ck_assert(!share_a_byte(first, second) && !share_a_byte(first, other) && !share_a_byte(second, other));
    world_close(&w);
}
END_TEST

/* --- DRAM --- */

START_TEST(dram_gets_numbers)
{
    struct world w;
    world_open(&w);
    struct bir_location *input = tensor(&w, BIR_MEMORY_DRAM, 10, 10), *one = tensor(&w, BIR_MEMORY_DRAM, 10, 10);
    struct bir_location *two = tensor(&w, BIR_MEMORY_DRAM, 1, 1), *shared = tensor(&w, BIR_MEMORY_DRAM, 3, 3);
    struct bir_location *given = fixed(tensor(&w, BIR_MEMORY_DRAM, 1, 100), 0, 0, 1000);
    input->set->kind = BIR_TENSOR_EXTERNAL_INPUT;
    shared->set->addr_space = 1;
    ck_assert_int_eq(allocate(&w), BIR_OK);
    static const uint64_t addresses[] = { 0, 1152, 1280, 0 }; /* behind 1000 + 100, by 64 */
    struct bir_location *all[] = { input, one, two, shared };
    for (int i = 0; i < 4; i++) {
        ck_assert(all[i]->allocated);
        ck_assert_uint_eq(all[i]->addr_bytes, addresses[i]);
        ck_assert_int_eq(bir_props_find(all[i]->base.props, "table_entry_id")->u.i, i);
    }
    ck_assert_uint_eq(given->addr_bytes, 1000);
    ck_assert_ptr_null(bir_props_find(given->base.props, "table_entry_id"));
    world_close(&w);
}
END_TEST

/* --- size, faults --- */

/* 100,000 locations, each alive for four instructions: quick, because a search looks at a bounded map. */
START_TEST(many_locations)
{
    enum { COUNT = 100000 };
    struct world w;
    struct bir_location **all = calloc(COUNT, sizeof *all);
    world_open(&w);
    for (int i = 0; i < COUNT; i++)
        use(&w, all[i] = tensor(&w, BIR_MEMORY_SB, 128, 4096 + 32 * (i % 7)), i >= 3 ? all[i - 3] : NULL);
    ck_assert_int_eq(allocate(&w), BIR_OK);
    for (int i = 3; i < COUNT; i++)
        for (int k = 1; k <= 3; k++)
            if (i - k + 3 < COUNT && share_a_byte(all[i], all[i - k]))
                ck_abort_msg("%d and %d", i, i - k);
    free(all);
    world_close(&w);
}
END_TEST

START_TEST(failing_allocations)
{
    bool fired = true;
    for (long n = 1; fired; n++) {
        struct world w;
        struct bir_location *t[20];
        long live = alloc_live();
        world_open(&w);
        for (int i = 0; i < 20; i++)
            use(&w, t[i] = tensor(&w, i % 3 ? BIR_MEMORY_SB : BIR_MEMORY_PSUM, 128, 512), i ? t[i - 1] : NULL);
        tensor(&w, BIR_MEMORY_DRAM, 4, 4);
        alloc_fail_at(n);
        enum bir_status status = allocate(&w);
        fired = alloc_fail_fired();
        alloc_fail_at(0);
        world_close(&w);
        ck_assert_int_eq(alloc_live(), live);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
    }
}
END_TEST

START_TEST(cancel_stops)
{
    struct bir_cancel cancel = { true };
    struct world w;
    world_open(&w);
    use(&w, tensor(&w, BIR_MEMORY_SB, 128, 512), NULL);
    struct bir_pass_context context = { .stats = &w.stats, .scratch = &w.scratch, .cancel = &cancel };
    ck_assert_int_eq(bir_pass_allocate_memory(w.module, &context, &w.diags), BIR_CANCELLED);
    world_close(&w);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        samples_fit_without_overlap,
        random_modules_do_not_overlap,
        capacity_by_generation,
        error_names_the_live_tensors_and_the_missing_bytes,
        a_tensor_beyond_the_memory_is_named,
        dead_memory_is_used_again,
        best_fit_takes_the_tightest_hole,
        psum_banks,
        psum_overflow_is_an_error,
        small_tensors_move_to_other_quadrants,
        given_places_stay_free,
        an_address_without_the_word_allocated_counts,
        untouched_locations_cost_nothing,
        backward_branch_keeps_values_alive,
        loop_body_is_one_moment,
        sets_keep_their_blocks_alive,
        dram_gets_numbers,
        many_locations,
        failing_allocations,
        cancel_stops,
    };
    return UNIT_RUN("allocate", tests);
}
