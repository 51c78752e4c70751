/*
 * Dependency passes against a byte-by-byte model of memory: random static accesses must give exactly the model's edges,
 * in straight code and in loops, whose iterations the model executes one by one; symbolic ones must order every two
 * iterations that touch a byte (lowering.md 12).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc_fail.h"
#include "base/random.h"
#include "passes/pass.h"

enum { INSTRUCTIONS = 40, LOCATIONS = 7, ROWS = 8, ROW_BYTES = 96, SPACE_BYTES = 1 << 13 };

struct world {
    struct bir_module *module;
    struct bir_function *function;
    struct bir_location *locations[LOCATIONS];
    struct bir_instruction *insts[INSTRUCTIONS];
    uint64_t seed;
};

static uint64_t below(struct world *w, uint64_t bound)
{
    return bir_random_below(&w->seed, bound);
}

/* Overlapping placements: two in SBUF, two in PSUM, two in the DRAM arena, one external. */
static const struct {
    uint8_t type;
    uint8_t kind;
    uint64_t addr;
    uint32_t base;
    int32_t bank;
} placements[LOCATIONS] = {
    { BIR_MEMORY_SB, BIR_TENSOR_INTERNAL, 0, 0, 0 },         { BIR_MEMORY_SB, BIR_TENSOR_INTERNAL, 48, 4, 0 },
    { BIR_MEMORY_PSUM, BIR_TENSOR_INTERNAL, 0, 0, 1 },       { BIR_MEMORY_PSUM, BIR_TENSOR_INTERNAL, 32, 2, -1 },
    { BIR_MEMORY_DRAM, BIR_TENSOR_INTERNAL, 0, 0, 0 },       { BIR_MEMORY_DRAM, BIR_TENSOR_INTERNAL, 500, 0, 0 },
    { BIR_MEMORY_DRAM, BIR_TENSOR_EXTERNAL_INPUT, 0, 0, 0 },
};

static void add_locations(struct world *w)
{
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        struct bir_strtab *strings = &w->module->strings;
        struct bir_set *set = bir_set_new(w->function, bir_intern_printf(strings, "s%u", i));
        struct bir_location *location = bir_location_new(set, bir_intern_printf(strings, "l%u", i));
        int64_t dims[] = { ROWS, ROW_BYTES };
        set->kind = placements[i].kind;
        set->base.dtype = BIR_DTYPE_UINT8;
        location->type = placements[i].type;
        location->allocated = true;
        location->addr_bytes = placements[i].addr;
        location->base_partition = placements[i].base;
        location->bank = placements[i].bank;
        location->dims = bir_ints_get(w->module, dims, 2);
        w->locations[i] = location;
    }
}

/* A random access inside the location: rows, then up to two dimensions of columns, steps of either sign or zero. */
static void add_access(struct world *w, struct bir_instruction *inst, enum bir_role role)
{
    uint32_t which = (uint32_t)below(w, LOCATIONS);
    enum bir_dtype dtype = below(w, 2) ? BIR_DTYPE_UINT8 : BIR_DTYPE_UINT16;
    int64_t size = dtype == BIR_DTYPE_UINT8 ? 1 : 2, row = ROW_BYTES / size;
    int64_t first_row = (int64_t)below(w, ROWS), stride = 1 + (int64_t)below(w, 2);
    int64_t rows = 1 + (int64_t)below(w, (uint64_t)((ROWS - first_row - 1) / stride + 1));
    if (placements[which].type == BIR_MEMORY_DRAM && rows > 4)
        rows = 4; /* beyond 64 runs a footprint is the interval around them */
    struct bir_pair pairs[3] = { { stride * row, rows }, { 0, 1 }, { 1, 1 } };
    int64_t low = 0, high = 0;
    for (int i = 1; i < 3; i++) {
        pairs[i].num = 1 + (int64_t)below(w, 4);
        pairs[i].step_elems = (int64_t)below(w, 9) - 3;
        int64_t span = (pairs[i].num - 1) * pairs[i].step_elems;
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
    }
    int64_t column = -low + (int64_t)below(w, (uint64_t)(row - (high - low)));
    const struct bir_pattern *pattern = bir_pattern_get(w->module, pairs, 1 + (uint32_t)below(w, 3));
    ck_assert_ptr_nonnull(
        bir_add_physical_ap(w->module, inst, role, w->locations[which], pattern, first_row * row + column, dtype));
}

static void world_init(struct world *w, uint64_t seed)
{
    *w = (struct world){ .module = bir_module_new(0), .seed = seed };
    w->function = bir_function_new(w->module, bir_intern_cstr(&w->module->strings, "f"), false);
    struct bir_block *block = bir_block_new(w->module, &w->function->body, bir_intern_cstr(&w->module->strings, "b"));
    add_locations(w);
    for (uint32_t i = 0; i < INSTRUCTIONS; i++) {
        w->insts[i] = bir_instruction_new(w->module, BIR_OP_TENSOR_TENSOR, BIR_ENGINE_DVE,
                                          bir_intern_printf(&w->module->strings, "i%u", i));
        for (uint64_t n = below(w, 3); n > 0; n--)
            add_access(w, w->insts[i], BIR_ROLE_IN);
        for (uint64_t n = below(w, 3); n > 0; n--)
            add_access(w, w->insts[i], BIR_ROLE_OUT);
        bir_block_append(block, w->insts[i]);
    }
}

/* --- the model --- */

struct memory {                       /* by byte of each space */
    uint8_t writer[4][SPACE_BYTES];   /* instruction + 1 */
    uint64_t readers[4][SPACE_BYTES]; /* bit set of instructions since the write */
    /* [later][earlier]; when the earlier one stands behind the later one it is an iteration before */
    uint8_t kinds[INSTRUCTIONS][INSTRUCTIONS];
};

static void raise_kind(struct memory *m, int later, int earlier, enum bir_edge_kind kind)
{
    if (later != earlier && m->kinds[later][earlier] < (uint8_t)kind)
        m->kinds[later][earlier] = (uint8_t)kind;
}

/* Space and byte of an element; partitions lie 256 bytes apart in the model. */
static int element_place(const struct world *w, const struct bir_physical_ap *ap, int64_t offset, int64_t *byte)
{
    const struct bir_location *location = (const struct bir_location *)ap->base.location;
    int64_t size = bir_dtype_bytes(ap->base.dtype), row = ROW_BYTES / size;
    int64_t bank = location->bank < 0 ? -location->bank : location->bank;
    if (location->type == BIR_MEMORY_DRAM) {
        *byte = offset * size + (location == w->locations[6] ? 0 : (int64_t)location->addr_bytes);
        return location == w->locations[6] ? 3 : 2;
    }
    *byte =
        ((int64_t)location->base_partition + offset / row) * 256 + (int64_t)location->addr_bytes + offset % row * size;
    ck_assert_int_eq(bank, location->type == BIR_MEMORY_PSUM);
    return location->type == BIR_MEMORY_PSUM;
}

static void touch(struct memory *m, int inst, int space, int64_t byte, bool write, bool commit)
{
    if (!write) {
        if (m->writer[space][byte])
            raise_kind(m, inst, m->writer[space][byte] - 1, BIR_EDGE_FLOW);
        m->readers[space][byte] |= UINT64_C(1) << inst;
        return;
    }
    if (commit) {
        m->writer[space][byte] = (uint8_t)(inst + 1);
        m->readers[space][byte] = 0;
        return;
    }
    for (int r = 0; r < INSTRUCTIONS; r++) {
        if (m->readers[space][byte] >> r & 1)
            raise_kind(m, inst, r, BIR_EDGE_ANTI);
    }
    if (m->writer[space][byte])
        raise_kind(m, inst, m->writer[space][byte] - 1, BIR_EDGE_OUTPUT);
}

static void touch_operand(struct memory *m, const struct world *w, int inst, const struct bir_argument *arg, bool write,
                          bool commit)
{
    const struct bir_physical_ap *ap = (const struct bir_physical_ap *)arg;
    int64_t size = bir_dtype_bytes(arg->dtype), count = 1;
    for (uint32_t k = 0; k < ap->pattern->rank; k++)
        count *= ap->pattern->pairs[k].num;
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = ap->offset_elems, rest = i, byte;
        for (uint32_t k = 0; k < ap->pattern->rank; k++) {
            offset += rest % ap->pattern->pairs[k].num * ap->pattern->pairs[k].step_elems;
            rest /= ap->pattern->pairs[k].num;
        }
        int space = element_place(w, ap, offset, &byte);
        for (int64_t b = 0; b < size; b++)
            touch(m, inst, space, byte + b, write, commit);
    }
}

static void execute(struct memory *m, const struct world *w, int from, int to)
{
    for (int i = from; i < to; i++) {
        BIR_EACH_ARGUMENT (arg, w->insts[i], BIR_ROLE_IN)
            touch_operand(m, w, i, arg, false, false);
        BIR_EACH_ARGUMENT (arg, w->insts[i], BIR_ROLE_OUT)
            touch_operand(m, w, i, arg, true, false);
        BIR_EACH_ARGUMENT (arg, w->insts[i], BIR_ROLE_OUT)
            touch_operand(m, w, i, arg, true, true);
    }
}

static void run_model(struct memory *m, const struct world *w)
{
    memset(m, 0, sizeof *m);
    execute(m, w, 0, INSTRUCTIONS);
}

/* --- loops --- */

/* Instructions 8..27 are in a loop, 14..21 of them in an inner one, 30..36 in a third. */
enum { OUTER = 8, INNER = 14, INNER_END = 22, OUTER_END = 28, THIRD = 30, THIRD_END = 37 };

static struct bir_block *loop_new(struct world *w, struct bir_block *block, const char *name, int64_t trip)
{
    struct bir_strtab *strings = &w->module->strings;
    struct bir_instruction *inst =
        bir_instruction_new(w->module, BIR_OP_LOOP, BIR_ENGINE_UNASSIGNED, bir_intern_cstr(strings, name));
    struct bir_loop *loop = bir_instruction_need_loop(w->module, inst);
    ck_assert_ptr_nonnull(loop);
    loop->axis = pelican_axis_new(&w->module->expressions, inst->name, 0, trip, 1);
    loop->axis->loop = inst;
    bir_block_append(block, inst);
    return bir_block_new(w->module, &loop->region, bir_intern_printf(strings, "%s_body", name));
}

static void move(struct world *w, struct bir_block *block, int from, int to)
{
    for (int i = from; i < to; i++) {
        bir_instruction_unlink(w->insts[i]);
        bir_block_append(block, w->insts[i]);
    }
}

/* The instructions of the world, in loops of `trip` iterations. */
static void put_in_loops(struct world *w, int64_t trip)
{
    struct bir_block *top = w->insts[0]->block;
    struct bir_block *main = bir_block_new(w->module, &w->function->body, bir_intern_cstr(&w->module->strings, "m"));
    move(w, main, 0, OUTER);
    struct bir_block *outer = loop_new(w, main, "outer", trip);
    move(w, outer, OUTER, INNER);
    move(w, loop_new(w, outer, "inner", trip), INNER, INNER_END);
    move(w, outer, INNER_END, OUTER_END);
    move(w, main, OUTER_END, THIRD);
    move(w, loop_new(w, main, "third", trip), THIRD, THIRD_END);
    move(w, main, THIRD_END, INSTRUCTIONS);
    ck_assert_ptr_null(top->first);
}

static void run_loops(struct memory *m, const struct world *w, int trip)
{
    memset(m, 0, sizeof *m);
    execute(m, w, 0, OUTER);
    for (int i = 0; i < trip; i++) {
        execute(m, w, OUTER, INNER);
        for (int j = 0; j < trip; j++)
            execute(m, w, INNER, INNER_END);
        execute(m, w, INNER_END, OUTER_END);
    }
    execute(m, w, OUTER_END, THIRD);
    for (int i = 0; i < trip; i++)
        execute(m, w, THIRD, THIRD_END);
    execute(m, w, THIRD_END, INSTRUCTIONS);
}

/* --- comparison --- */

static enum bir_status run_passes(struct world *w, bool flow, bool anti)
{
    struct bir_arena scratch;
    struct bir_diags diags;
    struct bir_pass_stats stats = { 0 };
    bir_arena_init(&scratch, 0);
    bir_diags_init(&diags, &scratch, 10);
    struct bir_pass_context context = { .stats = &stats, .scratch = &scratch };
    enum bir_status status = flow ? bir_pass_build_flow_deps(w->module, &context, &diags) : BIR_OK;
    if (status == BIR_OK && anti)
        status = bir_pass_build_anti_deps(w->module, &context, &diags);
    bir_arena_deinit(&scratch);
    return status;
}

static int edge_kind_in(const struct world *w, int later, int earlier, enum bir_edge_list list)
{
    int kind = 0, found = 0;
    BIR_EACH_EDGE (edge, w->insts[later]) {
        if (edge->list == list && edge->target == w->insts[earlier]) {
            kind = edge->kind;
            found++;
        }
    }
    ck_assert_int_le(found, 1);
    return kind;
}

static int edge_kind(const struct world *w, int later, int earlier)
{
    return edge_kind_in(w, later, earlier, BIR_EDGES_NORMAL);
}

static struct memory model; /* large */

START_TEST(static_accesses_give_the_edges_of_the_model)
{
    unsigned edges = 0;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct world w;
        world_init(&w, seed * 31 + (uint64_t)_i);
        ck_assert_int_eq(run_passes(&w, true, true), BIR_OK);
        run_model(&model, &w);
        for (int later = 0; later < INSTRUCTIONS; later++) {
            for (int earlier = 0; earlier < INSTRUCTIONS; earlier++) {
                int got = edge_kind(&w, later, earlier);
                edges += got != 0;
                if (got != model.kinds[later][earlier])
                    ck_abort_msg("seed %d: i%d -> i%d is %d, not %d", (int)seed, later, earlier, got,
                                 model.kinds[later][earlier]);
            }
        }
        bir_module_free(w.module);
    }
    ck_assert_uint_gt(edges, 250);
}
END_TEST

/* Two iterations show every edge; three give the same. Loops of one iteration have none. */
START_TEST(loops_give_the_edges_of_their_iterations)
{
    unsigned carried = 0;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct world w;
        int trip = (int)(seed % 3) + 1;
        world_init(&w, seed * 31 + (uint64_t)_i);
        put_in_loops(&w, trip);
        ck_assert_int_eq(run_passes(&w, true, true), BIR_OK);
        run_loops(&model, &w, trip);
        for (int later = 0; later < INSTRUCTIONS; later++) {
            for (int earlier = 0; earlier < INSTRUCTIONS; earlier++) {
                int normal = edge_kind(&w, later, earlier);
                int behind = edge_kind_in(&w, later, earlier, BIR_EDGES_LOOP_CARRIED);
                int expected = model.kinds[later][earlier];
                carried += behind != 0;
                if (normal != (earlier < later ? expected : 0) || behind != (earlier > later ? expected : 0))
                    ck_abort_msg("seed %d, %d iterations: i%d -> i%d is %d, carried %d, not %d", (int)seed, trip, later,
                                 earlier, normal, behind, expected);
            }
        }
        bir_module_free(w.module);
    }
    ck_assert_uint_gt(carried, 50);
}
END_TEST

/* --- symbolic operands --- */

enum { TILES = 6, BLOCKS = 3, TRIP = 3, SYMBOLIC = 12, TILE = 16 };

/* A tile and a block, affine in the axes i and j: which bytes of which block at (i, j). */
struct place {
    int64_t tile[3], block[3]; /* constant, coefficients of i and j */
    bool write;
};

static const struct pelican_expr *affine(struct world *w, const int64_t *e, struct pelican_axis *const *axes)
{
    struct pelican_context *p = &w->module->expressions;
    struct pelican_term terms[2];
    for (int k = 0; k < 2; k++)
        terms[k] = (struct pelican_term){ pelican_affine_iv(p, axes[k]), e[k + 1] };
    return pelican_affine(p, e[0], terms, 2);
}

static void random_affine(struct world *w, int64_t *e, int64_t limit)
{
    e[1] = (int64_t)below(w, 2);
    e[2] = limit > 2 * e[1] * (TRIP - 1) ? (int64_t)below(w, 2) : 0;
    e[0] = (int64_t)below(w, (uint64_t)(limit - (e[1] + e[2]) * (TRIP - 1) + 1));
}

struct symbolic_world {
    struct world w;
    struct place places[SYMBOLIC];
    struct bir_instruction *insts[SYMBOLIC];
};

/* Instructions 0..2 and 9..11 in the loop over i, 3..8 in the one over j in it: one operand each, on one set. */
static void symbolic_init(struct symbolic_world *s, uint64_t seed)
{
    struct world *w = &s->w;
    *w = (struct world){ .module = bir_module_new(0), .seed = seed };
    struct bir_strtab *strings = &w->module->strings;
    w->function = bir_function_new(w->module, bir_intern_cstr(strings, "f"), false);
    struct bir_block *main = bir_block_new(w->module, &w->function->body, bir_intern_cstr(strings, "b"));
    struct bir_set *set = bir_set_new(w->function, bir_intern_cstr(strings, "s"));
    set->base.dtype = BIR_DTYPE_UINT8;
    for (int b = 0; b < BLOCKS; b++) {
        int64_t dims[] = { 4, TILES * TILE };
        struct bir_location *location = bir_location_new(set, bir_intern_printf(strings, "l%d", b));
        location->type = BIR_MEMORY_SB;
        location->allocated = true;
        location->tensor_id = b;
        location->addr_bytes = (uint64_t)b * TILES * TILE;
        location->dims = bir_ints_get(w->module, dims, 2);
    }
    struct bir_block *outer = loop_new(w, main, "i", TRIP), *body = loop_new(w, outer, "j", TRIP);
    struct pelican_axis *axes[] = { outer->region->owner->rare->loop->axis, body->region->owner->rare->loop->axis };
    struct bir_pair pairs[] = { { TILES * TILE, 4 }, { 1, TILE } };
    for (int n = 0; n < SYMBOLIC; n++) {
        struct place *place = &s->places[n];
        bool inner = n >= 3 && n < 9;
        random_affine(w, place->tile, TILES - 1);
        random_affine(w, place->block, BLOCKS - 1);
        if (!inner)
            place->tile[2] = place->block[2] = 0;
        place->write = below(w, 2);
        s->insts[n] =
            bir_instruction_new(w->module, BIR_OP_TENSOR_COPY, BIR_ENGINE_DVE, bir_intern_printf(strings, "i%d", n));
        int64_t elems[] = { place->tile[0] * TILE, place->tile[1] * TILE, place->tile[2] * TILE };
        const struct pelican_expr *addrs[] = { affine(w, elems, axes), affine(w, place->block, axes) };
        struct bir_symbolic_ap *ap =
            bir_symbolic_ap_new(w->module, s->insts[n], place->write ? BIR_ROLE_OUT : BIR_ROLE_IN, BIR_DTYPE_UINT8,
                                addrs, 2);
        ck_assert_ptr_nonnull(ap);
        ap->pattern = bir_pattern_get(w->module, pairs, 2);
        bir_argument_set_location(&ap->base, &set->base, place->write, true);
        bir_block_append(inner ? body : outer, s->insts[n]);
    }
}

static int64_t at(const int64_t *e, int i, int j)
{
    return e[0] + e[1] * i + e[2] * j;
}

/* reach[a][b]: a is ordered behind b, in the same iteration or a later one. */
static void close_edges(const struct symbolic_world *s, bool reach[SYMBOLIC][SYMBOLIC])
{
    memset(reach, 0, sizeof(bool[SYMBOLIC][SYMBOLIC]));
    for (int a = 0; a < SYMBOLIC; a++) {
        BIR_EACH_EDGE (edge, s->insts[a]) {
            for (int b = 0; b < SYMBOLIC; b++)
                reach[a][b] |= edge->target == s->insts[b];
        }
    }
    for (int k = 0; k < SYMBOLIC; k++)
        for (int a = 0; a < SYMBOLIC; a++)
            for (int b = 0; b < SYMBOLIC; b++)
                reach[a][b] |= reach[a][k] && reach[k][b];
}

/* Every pair of executions, the earlier one first; the same instruction follows itself. */
START_TEST(symbolic_accesses_are_ordered_in_every_iteration)
{
    unsigned conflicts = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct symbolic_world s;
        bool reach[SYMBOLIC][SYMBOLIC];
        int sequence[3][400], count = 0;
        symbolic_init(&s, seed);
        ck_assert_int_eq(run_passes(&s.w, true, true), BIR_OK);
        close_edges(&s, reach);
        for (int i = 0; i < TRIP; i++) {
            for (int j = 0; j < TRIP + 2; j++) { /* 0..2, then the inner body, then 9..11 */
                int from = j == 0 ? 0 : j <= TRIP ? 3 : 9, to = j == 0 ? 3 : j <= TRIP ? 9 : SYMBOLIC;
                for (int n = from; n < to; n++, count++) {
                    sequence[0][count] = n;
                    sequence[1][count] = (int)at(s.places[n].tile, i, j >= 1 && j <= TRIP ? j - 1 : 0);
                    sequence[2][count] = (int)at(s.places[n].block, i, j >= 1 && j <= TRIP ? j - 1 : 0);
                }
            }
        }
        for (int e = 0; e < count; e++) {
            for (int l = e + 1; l < count; l++) {
                int a = sequence[0][e], b = sequence[0][l];
                if (a == b || sequence[1][e] != sequence[1][l] || sequence[2][e] != sequence[2][l] ||
                    (!s.places[a].write && !s.places[b].write))
                    continue;
                conflicts++;
                if (!reach[b][a])
                    ck_abort_msg("seed %d: i%d does not wait for i%d", (int)seed, b, a);
            }
        }
        bir_module_free(s.w.module);
    }
    ck_assert_uint_gt(conflicts, 10000);
}
END_TEST

/* Each pass alone records its own kinds; an Ordered edge is raised in place, and running a pass again changes nothing.
 */
START_TEST(kinds_and_merging)
{
    struct world w;
    world_init(&w, 4);
    run_model(&model, &w);
    int later = 0, earlier = 0;
    for (int i = 0; i < INSTRUCTIONS * INSTRUCTIONS && model.kinds[later][earlier] != BIR_EDGE_FLOW; i++) {
        later = i / INSTRUCTIONS;
        earlier = i % INSTRUCTIONS;
    }
    ck_assert_int_eq(model.kinds[later][earlier], BIR_EDGE_FLOW);
    ck_assert(bir_instruction_add_dependency(w.module, w.insts[later], w.insts[earlier], BIR_EDGE_ORDERED, false));
    ck_assert_int_eq(run_passes(&w, false, true), BIR_OK);
    ck_assert_int_ne(edge_kind(&w, later, earlier), BIR_EDGE_FLOW);
    ck_assert_int_eq(run_passes(&w, true, false), BIR_OK);
    ck_assert_int_eq(edge_kind(&w, later, earlier), BIR_EDGE_FLOW);
    uint32_t count = bir_instruction_edge_count(w.insts[later], BIR_EDGES_NORMAL);
    ck_assert_int_eq(run_passes(&w, true, true), BIR_OK);
    ck_assert_uint_eq(bir_instruction_edge_count(w.insts[later], BIR_EDGES_NORMAL), count);
    bir_module_free(w.module);
}
END_TEST

static struct bir_instruction *copy(struct world *w, struct bir_block *block, const char *name)
{
    struct bir_instruction *inst =
        bir_instruction_new(w->module, BIR_OP_DMA_COPY, BIR_ENGINE_SP, bir_intern_cstr(&w->module->strings, name));
    bir_block_append(block, inst);
    return inst;
}

static void access_row(struct world *w, struct bir_instruction *inst, enum bir_role role, struct bir_location *location)
{
    struct bir_pair pairs[] = { { ROW_BYTES, 1 }, { 1, 4 } };
    ck_assert_ptr_nonnull(
        bir_add_physical_ap(w->module, inst, role, location, bir_pattern_get(w->module, pairs, 2), 0, BIR_DTYPE_UINT8));
}

/* A runtime offset may touch any byte of its location; aliased tensors share their bytes. */
START_TEST(dynamic_and_aliased_accesses_cover_the_location)
{
    struct world w;
    world_init(&w, 9);
    struct bir_block *block = bir_block_new(w.module, &w.function->body, bir_intern_cstr(&w.module->strings, "b2"));
    struct bir_set *set = bir_set_new(w.function, bir_intern_cstr(&w.module->strings, "ext"));
    struct bir_location *a = bir_location_new(set, bir_intern_cstr(&w.module->strings, "a"));
    struct bir_location *b = bir_location_new(set, bir_intern_cstr(&w.module->strings, "b"));
    set->kind = BIR_TENSOR_EXTERNAL_OUTPUT;
    a->type = b->type = BIR_MEMORY_DRAM;
    a->dims = b->dims = w.locations[0]->dims;
    struct bir_instruction *write = copy(&w, block, "write"), *read = copy(&w, block, "read");
    struct bir_instruction *dynamic = copy(&w, block, "dynamic");
    access_row(&w, write, BIR_ROLE_OUT, a);
    access_row(&w, read, BIR_ROLE_IN, b);
    access_row(&w, dynamic, BIR_ROLE_IN, a);
    struct bir_argument *arg = bir_instruction_first(dynamic, BIR_ROLE_IN);
    ((struct bir_physical_ap *)arg)->offset_elems = 3 * ROW_BYTES;
    ck_assert_int_eq(run_passes(&w, true, false), BIR_OK);
    ck_assert_ptr_null(bir_instruction_edges(read));
    ck_assert_ptr_null(bir_instruction_edges(dynamic));
    struct bir_prop alias = { .type = BIR_VALUE_JSON };
    alias.u.s = bir_intern_cstr(&w.module->strings, "[[\"ext\", \"b\", 3]]");
    a->base.props = bir_props_with(w.module, a->base.props, "alias", &alias);
    alias.u.s = bir_intern_cstr(&w.module->strings, "[[\"ext\", \"a\", 3]]");
    b->base.props = bir_props_with(w.module, b->base.props, "alias", &alias);
    struct bir_argument_rare *rare = bir_argument_need_rare(w.module, arg);
    ck_assert_ptr_nonnull(rare);
    rare->dynamic = BIR_NEW(&w.module->arena, BIR_MEM_ARGUMENTS, struct bir_dynamic_info);
    rare->dynamic->actual = bir_argument_pattern(arg);
    ck_assert_int_eq(run_passes(&w, true, false), BIR_OK);
    ck_assert(bir_instruction_edges(read) && bir_instruction_edges(read)->items[0].target == write);
    ck_assert(bir_instruction_edges(dynamic) && bir_instruction_edges(dynamic)->items[0].target == write);
    bir_module_free(w.module);
}
END_TEST

START_TEST(allocation_failures)
{
    bool fired = true;
    for (long n = 1; fired; n++) {
        struct world w;
        world_init(&w, 12);
        alloc_fail_at(n);
        enum bir_status status = run_passes(&w, true, true);
        fired = alloc_fail_fired();
        alloc_fail_at(0);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
        bir_module_free(w.module);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("deps");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, static_accesses_give_the_edges_of_the_model, 0, 4);
    tcase_add_loop_test(tc, loops_give_the_edges_of_their_iterations, 0, 4);
    tcase_add_test(tc, symbolic_accesses_are_ordered_in_every_iteration);
    tcase_add_test(tc, kinds_and_merging);
    tcase_add_test(tc, dynamic_and_aliased_accesses_cover_the_location);
    tcase_add_test(tc, allocation_failures);
    Suite *suite = suite_create("deps");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
