/*
 * Byte sets against element-by-element expansion: the set arithmetic alone, and whole operands through the analysis,
 * many to a module, so that the sweep is compared with all pairs.
 */
#include <string.h>

#include "base/random.h"
#include "check/hazard_internal.h"
#include "unit.h"

static int64_t between(uint64_t *random, int64_t low, int64_t high)
{
    return low + (int64_t)bir_random_below(random, (uint64_t)(high - low + 1));
}

/* --- set arithmetic --- */

enum { SPAN = 1 << 14, MIDDLE = SPAN / 2, MAX_DIMS = 4 };

struct sample {
    struct hazard_set set;
    struct hazard_dim dims[HAZARD_DIMS];
    bool members[SPAN];
};

static void expand(struct sample *s, uint32_t k, int64_t base)
{
    if (k < s->set.n_dims) {
        for (int64_t i = 0; i < s->dims[k].num; i++)
            expand(s, k + 1, base + i * s->dims[k].step);
        return;
    }
    for (int64_t r = 0; r < s->set.run; r++) {
        if (base + r + MIDDLE < 0 ||
            base + r + MIDDLE >= SPAN) /* an assertion each would take longer than all the rest */
            ck_abort_msg("a member outside the sample");
        s->members[base + r + MIDDLE] = true;
    }
}

static void random_sample(struct sample *s, uint64_t *random)
{
    memset(s, 0, sizeof *s);
    s->set.start = between(random, -300, 300);
    s->set.run = between(random, 1, bir_random_below(random, 2) ? 4 : 40);
    s->set.n_dims = (uint32_t)bir_random_below(random, MAX_DIMS + 1);
    s->set.dims = s->dims;
    for (uint32_t k = 0; k < s->set.n_dims; k++) {
        static const int64_t steps[] = { 1, 2, 4, 8, 16, 64, 256 };
        int64_t step = bir_random_below(random, 2) ? steps[bir_random_below(random, 7)] : between(random, 0, 300);
        s->dims[k].num = between(random, 1, step > 64 ? 5 : 12);
        s->dims[k].step = bir_random_below(random, 3) ? step : -step;
    }
    expand(s, 0, s->set.start);
}

static void check_form(const struct hazard_set *set)
{
    for (uint32_t k = 0; k < set->n_dims; k++) {
        ck_assert_int_gt(set->dims[k].step, set->run);
        ck_assert_int_ge(set->dims[k].num, 2);
        ck_assert(k == 0 || set->dims[k].step < set->dims[k - 1].step);
    }
}

static void check_runs(const struct sample *s, uint64_t *random)
{
    static struct hazard_run runs[65536];
    bool members[SPAN] = { false };
    int64_t first = between(random, -1000, 1000), last = first + between(random, 0, 1000);
    uint32_t n = hazard_set_runs(&s->set, first, last, runs, 65536);
    ck_assert_uint_le(n, 65536);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert(runs[i].first <= last && runs[i].last >= first);
        for (int64_t x = runs[i].first; x <= runs[i].last; x++)
            members[x + MIDDLE] = true;
    }
    ck_assert_int_eq(memcmp(&members[first + MIDDLE], &s->members[first + MIDDLE], (size_t)(last - first + 1)), 0);
}

START_TEST(sets_are_their_members)
{
    static struct sample a, b;
    uint64_t random = 11;
    int rounds = getenv("ROOST_TEST_ALL") ? 100000 : 10000, met = 0;
    for (int round = 0; round < rounds; round++) {
        random_sample(&a, &random);
        random_sample(&b, &random);
        ck_assert(hazard_set_normalise(&a.set) && hazard_set_normalise(&b.set));
        check_form(&a.set);
        check_form(&b.set);
        struct sample again = { .set = a.set };
        memcpy(again.dims, a.dims, sizeof a.dims);
        expand(&again, 0, a.set.start);
        ck_assert_int_eq(memcmp(again.members, a.members, sizeof a.members), 0);
        int64_t last = SPAN - 1;
        while (!a.members[last])
            last--;
        ck_assert_int_eq(hazard_set_last(&a.set), last - MIDDLE);
        bool meet = false;
        for (int i = 0; i < SPAN && !meet; i++)
            meet = a.members[i] && b.members[i];
        ck_assert_int_eq(hazard_set_meet(&a.set, &b.set), meet);
        ck_assert_int_eq(hazard_set_meet(&b.set, &a.set), meet);
        met += meet;
        check_runs(&a, &random);
    }
    printf("%d pairs of sets, %d meet\n", rounds, met);
    ck_assert(met > rounds / 10 && met < rounds * 9 / 10);
}
END_TEST

/* Progressions far too long to list; two at a time the answer is a congruence, worked out here by stepping through one
 * period. */
START_TEST(long_progressions_meet_by_congruence)
{
    uint64_t random = 5;
    for (int round = 0; round < 3000; round++) {
        int64_t s = between(&random, 5, 400), t = between(&random, 5, 400), run = between(&random, 1, 4),
                shift = between(&random, 0, 1000);
        struct hazard_dim x[HAZARD_DIMS] = { { s, INT64_C(1) << 40 } }, y[HAZARD_DIMS] = { { t, INT64_C(1) << 40 } };
        struct hazard_set a = { .run = run, .n_dims = 1, .dims = x };
        struct hazard_set b = { .start = (INT64_C(1) << 35) + shift, .run = run, .n_dims = 1, .dims = y };
        ck_assert(hazard_set_normalise(&a) && hazard_set_normalise(&b));
        bool meet = false; /* some member of b within run of a multiple of s: the residues of b repeat after s steps */
        for (int64_t j = 0; j < s && !meet; j++) {
            int64_t residue = (b.start + j * t) % s;
            meet = residue < run || residue > s - run;
        }
        ck_assert_int_eq(hazard_set_meet(&a, &b), meet);
    }
}
END_TEST

START_TEST(members_beyond_64_bits_are_refused)
{
    struct hazard_dim dims[HAZARD_DIMS] = { { INT64_MAX / 2, 4 } };
    struct hazard_set set = { .run = 1, .n_dims = 1, .dims = dims };
    ck_assert(!hazard_set_normalise(&set));
    dims[0] = (struct hazard_dim){ INT64_MIN, 2 };
    set.n_dims = 1;
    ck_assert(!hazard_set_normalise(&set));
    set = (struct hazard_set){ .start = INT64_MAX - 3, .run = 4, .dims = dims };
    ck_assert(!hazard_set_normalise(&set));
    set = (struct hazard_set){ .start = INT64_MAX - 4, .run = 4, .dims = dims };
    ck_assert(hazard_set_normalise(&set));
}
END_TEST

/* What no bound decides within its budget is left open rather than guessed: a knapsack of steps of similar size. */
START_TEST(knapsacks_are_left_open)
{
    struct hazard_dim x[HAZARD_DIMS], y[HAZARD_DIMS];
    struct hazard_set a = { .run = 1, .n_dims = 6, .dims = x },
                      b = { .start = INT64_C(3000000000001), .run = 1, .n_dims = 6, .dims = y };
    for (int k = 0; k < 6; k++) {
        x[k] = (struct hazard_dim){ 2 * (1000000007 + 9973 * k), 3001 };
        y[k] = (struct hazard_dim){ 2 * (1000000931 + 8971 * k), 3001 };
    }
    b.start += 1;
    ck_assert(hazard_set_normalise(&a) && hazard_set_normalise(&b));
    ck_assert_int_ne(hazard_set_meet(&a, &b), 0);
    b.start -= 1; /* odd: the gcd of all steps decides */
    ck_assert_int_eq(hazard_set_meet(&a, &b), 0);
}
END_TEST

/* --- operands --- */

enum { LOCATIONS = 8, OPERATIONS = 24, ROWS = 200, ROW_BYTES = 4096, ROW_ZERO = 40, BYTE_ZERO = 1024, SPACES = 6 };

struct tile {
    struct bir_location *location;
    int space; /* 0 SB, 1 PSUM, 2 arena, 3 and more: tensors of their own */
    int64_t pitch_bytes;
};

struct footprint {
    uint8_t bytes[ROWS * ROW_BYTES / 8];
    int space;
    bool write;
    const struct bir_location *location;
};

struct world {
    struct bir_module *module;
    struct bir_function *function;
    struct bir_block *block;
    struct tile tiles[LOCATIONS];
    struct footprint footprints[OPERATIONS];
};

static const struct bir_str *name_of(struct world *w, const char *format, int number)
{
    char text[32];
    snprintf(text, sizeof text, format, number);
    const struct bir_str *name = bir_intern_cstr(&w->module->strings, text);
    ck_assert_ptr_nonnull(name);
    return name;
}

static void add_tile(struct world *w, int number, uint64_t *random)
{
    struct tile *t = &w->tiles[number];
    struct bir_set *set = bir_set_new(w->function, name_of(w, "s%d", number));
    ck_assert_ptr_nonnull(set);
    t->location = bir_location_new(set, name_of(w, "t%d", number));
    ck_assert_ptr_nonnull(t->location);
    t->space = (int)bir_random_below(random, 4);
    t->pitch_bytes = 8 * between(random, 2, 12);
    set->base.dtype = BIR_DTYPE_FLOAT32;
    set->kind = BIR_TENSOR_INTERNAL;
    struct bir_location *location = t->location;
    location->type = BIR_MEMORY_DRAM;
    location->addr_bytes = (uint64_t)between(random, 0, 100);
    if (t->space < 2) {
        location->type = t->space == 0 ? BIR_MEMORY_SB : BIR_MEMORY_PSUM;
        location->base_partition = (uint32_t)(8 * bir_random_below(random, 3));
        location->bank = t->space == 1 && bir_random_below(random, 3) == 0 ? -1 : 0;
        location->addr_bytes += location->bank == 0 && t->space == 1 ? 2048 * bir_random_below(random, 2) : 0;
    } else if (t->space == 3) {
        set->kind = BIR_TENSOR_EXTERNAL_OUTPUT;
        t->space = 3 + number; /* one each */
    }
    const int64_t dims[2] = { 64, t->pitch_bytes };
    location->dims = bir_ints_get(w->module, dims, 2);
    ck_assert_ptr_nonnull(location->dims);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

static void mark(struct footprint *f, int64_t row, int64_t byte, int64_t size)
{
    for (int64_t i = byte; i < byte + size; i++) {
        int64_t bit = (row + ROW_ZERO) * ROW_BYTES + i + BYTE_ZERO;
        if (row + ROW_ZERO < 0 || row + ROW_ZERO >= ROWS || i + BYTE_ZERO < 0 || i + BYTE_ZERO >= ROW_BYTES)
            ck_abort_msg("an element outside the sample");
        f->bytes[bit / 8] |= (uint8_t)(1 << (bit % 8));
    }
}

/* hazards.md 5.2 to 5.4, element by element. */
static void expand_operand(struct footprint *f, const struct tile *t, const struct bir_physical_ap *ap)
{
    const struct bir_pattern *p = ap->pattern;
    int64_t size = bir_dtype_bytes(ap->base.dtype), pitch = t->pitch_bytes / size, index[4] = { 0 };
    int64_t start = (int64_t)t->location->addr_bytes + 2048 * (int64_t)abs(t->location->bank);
    for (;;) {
        int64_t outer = ap->offset_elems + index[0] * p->pairs[0].step_elems, inner = 0;
        for (uint32_t k = 1; k < p->rank; k++)
            inner += index[k] * p->pairs[k].step_elems;
        if (t->space < 2) {
            int64_t row = floor_div(outer, pitch), column = outer - row * pitch;
            mark(f, t->location->base_partition + row, start + (column + inner) * size, size);
        } else {
            mark(f, 0, start + (outer + inner) * size, size);
        }
        uint32_t k = 0;
        for (; k < p->rank && ++index[k] == p->pairs[k].num; k++)
            index[k] = 0;
        if (k == p->rank)
            return;
    }
}

static void add_operation(struct world *w, int number, uint64_t *random)
{
    static const enum bir_dtype dtypes[] = { BIR_DTYPE_FLOAT32, BIR_DTYPE_BFLOAT16, BIR_DTYPE_UINT8, BIR_DTYPE_INT64 };
    const struct tile *t = &w->tiles[bir_random_below(random, LOCATIONS)];
    enum bir_dtype dtype = dtypes[bir_random_below(random, 4)];
    int64_t pitch = t->pitch_bytes / bir_dtype_bytes((uint8_t)dtype);
    struct bir_pair pairs[4];
    uint32_t rank = 1 + (uint32_t)bir_random_below(random, 4);
    pairs[0].num = between(random, 1, 8);
    pairs[0].step_elems =
        bir_random_below(random, 3) ? pitch * between(random, -2, 3) : between(random, -pitch, 2 * pitch);
    for (uint32_t k = 1; k < rank; k++) {
        pairs[k].num = between(random, 1, 4);
        pairs[k].step_elems = between(random, -4, 6);
    }
    if (t->space >= 2)
        pairs[0].step_elems = between(random, -12, 12);
    const struct bir_pattern *pattern = bir_pattern_get(w->module, pairs, rank);
    struct bir_instruction *inst =
        bir_instruction_new(w->module, BIR_OP_TENSOR_COPY, BIR_ENGINE_UNASSIGNED, name_of(w, "i%d", number));
    ck_assert(pattern && inst);
    bir_block_append(w->block, inst);
    struct footprint *f = &w->footprints[number];
    memset(f, 0, sizeof *f);
    f->space = t->space;
    f->location = t->location;
    f->write = bir_random_below(random, 2);
    struct bir_physical_ap *ap = bir_add_physical_ap(w->module, inst, f->write ? BIR_ROLE_OUT : BIR_ROLE_IN,
                                                     t->location, pattern, between(random, 0, 4 * pitch), dtype);
    ck_assert_ptr_nonnull(ap);
    expand_operand(f, t, ap);
}

static bool share_bytes(const struct footprint *a, const struct footprint *b)
{
    if (a->space != b->space)
        return false;
    for (size_t i = 0; i < sizeof a->bytes; i++)
        if (a->bytes[i] & b->bytes[i])
            return true;
    return false;
}

static bool reports(const struct bir_hazard_report *report, int earlier, int later)
{
    for (uint32_t i = 0; i < report->n_pairs; i++)
        if (atoi(report->pairs[i].earlier.inst->name->text + 1) == earlier &&
            atoi(report->pairs[i].later.inst->name->text + 1) == later)
            return true;
    return false;
}

static bool has_byte(const struct footprint *f, int64_t row, int64_t byte)
{
    int64_t bit = (row + ROW_ZERO) * ROW_BYTES + byte + BYTE_ZERO;
    return f->bytes[bit / 8] >> (bit % 8) & 1;
}

/* The first bytes that the text would name are in both, in the first partition that it names or, for irregular
 * operands, in some. */
static void check_overlap(const struct world *w, const struct bir_hazard_pair *pair)
{
    const struct bir_hazard_overlap *o = &pair->overlap;
    const struct footprint *a = &w->footprints[atoi(pair->earlier.inst->name->text + 1)];
    const struct footprint *b = &w->footprints[atoi(pair->later.inst->name->text + 1)];
    int64_t row = o->has_partitions ? o->partitions[0].first : 0;
    ck_assert(o->n_bytes > 0 && !o->partial && (!o->has_partitions || o->n_partitions > 0));
    for (uint32_t i = 0; i < o->n_bytes; i++)
        for (int64_t x = o->bytes[i].first; x <= o->bytes[i].last; x++)
            if (!has_byte(a, row, x) || !has_byte(b, row, x))
                ck_abort_msg("partition %lld, byte %lld is not in common", (long long)row, (long long)x);
}

static uint32_t check_world(uint64_t *random)
{
    static struct world w;
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_hazard_report *report = NULL;
    const struct bir_hazard_options options = { 0 };
    memset(&w, 0, sizeof w);
    w.module = bir_module_new(0);
    ck_assert_ptr_nonnull(w.module);
    w.function = bir_function_new(w.module, name_of(&w, "f%d", 0), false);
    w.block = bir_block_new(w.module, &w.function->body, name_of(&w, "B%d", 0));
    for (int i = 0; i < LOCATIONS; i++)
        add_tile(&w, i, random);
    for (int i = 0; i < OPERATIONS; i++)
        add_operation(&w, i, random);
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    ck_assert_int_eq(bir_hazards_analyse(w.module, &options, &arena, &diags, &report), BIR_OK);
    uint32_t expected = 0;
    for (int b = 0; b < OPERATIONS; b++)
        for (int a = 0; a < b; a++) {
            const struct footprint *x = &w.footprints[a], *y = &w.footprints[b];
            bool conflict = (x->write || y->write) && share_bytes(x, y);
            ck_assert_msg(reports(report, a, b) == conflict, "i%d (%s), i%d (%s): %s", a, x->location->base.name->text,
                          b, y->location->base.name->text, conflict ? "missing" : "not a pair");
            expected += conflict;
        }
    ck_assert_uint_eq(report->n_pairs, expected);
    ck_assert_uint_eq(report->n_undecided, 0);
    for (uint32_t i = 0; i < report->n_pairs; i++)
        check_overlap(&w, &report->pairs[i]);
    bir_arena_deinit(&arena);
    bir_module_free(w.module);
    return expected;
}

START_TEST(operands_meet_where_their_elements_do)
{
    uint64_t random = 77;
    int rounds = getenv("ROOST_TEST_ALL") ? 3000 : 300;
    uint64_t pairs = 0;
    for (int round = 0; round < rounds; round++)
        pairs += check_world(&random);
    printf("%d modules of %d unordered operands, %llu pairs\n", rounds, OPERATIONS, (unsigned long long)pairs);
    ck_assert_uint_gt(pairs, (uint64_t)rounds);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        sets_are_their_members,  long_progressions_meet_by_congruence,  members_beyond_64_bits_are_refused,
        knapsacks_are_left_open, operands_meet_where_their_elements_do,
    };
    return UNIT_RUN("hazard_bytes", tests);
}
