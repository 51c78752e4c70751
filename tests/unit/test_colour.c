/*
 * Register colouring: graphs against brute force, programs by execution before and after (lowering.md 11).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc_fail.h"
#include "base/random.h"
#include "passes/colour_graph.h"
#include "passes/pass.h"

/* --- graphs --- */

enum { NODES_MAX = 12 };

struct random_graph {
    uint32_t n;
    unsigned colours;
    bool edge[NODES_MAX][NODES_MAX];
    uint8_t width[NODES_MAX];
    uint64_t cost[NODES_MAX];
    uint32_t first[NODES_MAX + 1], items[NODES_MAX * NODES_MAX];
};

static void graph_lists(struct random_graph *g)
{
    uint32_t fill = 0;
    for (uint32_t a = 0; a < g->n; a++) {
        g->first[a] = fill;
        for (uint32_t b = 0; b < g->n; b++) {
            if (g->edge[a][b])
                g->items[fill++] = b;
        }
    }
    g->first[g->n] = fill;
}

static void graph_random(struct random_graph *g, uint64_t *seed)
{
    memset(g, 0, sizeof *g);
    g->n = 1 + (uint32_t)bir_random_below(seed, NODES_MAX);
    g->colours = 2 + (unsigned)bir_random_below(seed, 5);
    uint64_t density = 1 + bir_random_below(seed, 9);
    for (uint32_t a = 0; a < g->n; a++) {
        g->width[a] = (uint8_t)(1 + (bir_random_below(seed, 3) == 0));
        g->cost[a] = bir_random_below(seed, 50);
        for (uint32_t b = 0; b < a; b++)
            g->edge[a][b] = g->edge[b][a] = bir_random_below(seed, 10) < density;
    }
    graph_lists(g);
}

/* Intervals on a line of which at most `colours` meet at a point; width 1. */
static void graph_interval(struct random_graph *g, uint64_t *seed)
{
    uint32_t start[NODES_MAX], end[NODES_MAX];
    memset(g, 0, sizeof *g);
    g->n = NODES_MAX;
    for (uint32_t a = 0; a < g->n; a++) {
        g->width[a] = 1;
        start[a] = (uint32_t)bir_random_below(seed, 30);
        end[a] = start[a] + 1 + (uint32_t)bir_random_below(seed, 12);
        for (uint32_t b = 0; b < a; b++)
            g->edge[a][b] = g->edge[b][a] = start[a] < end[b] && start[b] < end[a];
    }
    for (uint32_t at = 0; at < 50; at++) {
        unsigned depth = 0;
        for (uint32_t a = 0; a < g->n; a++)
            depth += start[a] <= at && at < end[a];
        g->colours = depth > g->colours ? depth : g->colours;
    }
    graph_lists(g);
}

static bool fits(const struct random_graph *g, const uint8_t *base, uint32_t node, unsigned b)
{
    for (uint32_t other = 0; other < g->n; other++) {
        if (g->edge[node][other] && base[other] != BIR_NO_COLOUR && b < base[other] + (unsigned)g->width[other] &&
            base[other] < b + g->width[node])
            return false;
    }
    return b + g->width[node] <= g->colours;
}

static bool brute_force(const struct random_graph *g, uint8_t *base, uint32_t node)
{
    if (node == g->n)
        return true;
    for (unsigned b = 0; b < g->colours; b++) {
        if (fits(g, base, node, b)) {
            base[node] = (uint8_t)b;
            if (brute_force(g, base, node + 1))
                return true;
            base[node] = BIR_NO_COLOUR;
        }
    }
    return false;
}

static uint32_t solve(const struct random_graph *g, uint8_t *base)
{
    struct bir_arena scratch;
    uint32_t failed = 0;
    struct bir_colour_graph graph = { g->n, g->width, g->cost, { (uint32_t *)g->first, (uint32_t *)g->items } };
    bir_arena_init(&scratch, 0);
    ck_assert_int_eq(bir_colour_graph_solve(&graph, g->colours, &scratch, base, &failed), BIR_OK);
    ck_assert(bir_colour_graph_check(&graph, g->colours, base));
    bir_arena_deinit(&scratch);
    uint32_t without = 0;
    for (uint32_t node = 0; node < g->n; node++) {
        uint8_t b = base[node];
        without += b == BIR_NO_COLOUR;
        base[node] = BIR_NO_COLOUR;
        if (b != BIR_NO_COLOUR && !fits(g, base, node, b))
            ck_abort_msg("node %u overlaps a neighbour", node);
        base[node] = b;
    }
    ck_assert_uint_eq(without, failed);
    return failed;
}

START_TEST(graphs_against_brute_force)
{
    uint64_t seed = (uint64_t)_i;
    unsigned solvable = 0, missed = 0;
    for (int round = 0; round < 400; round++) {
        struct random_graph g;
        uint8_t base[NODES_MAX], brute[NODES_MAX];
        graph_random(&g, &seed);
        memset(brute, BIR_NO_COLOUR, sizeof brute);
        bool possible = brute_force(&g, brute, 0);
        uint32_t failed = solve(&g, base);
        ck_assert(possible || failed > 0);
        solvable += possible;
        missed += possible && failed > 0;
    }
    ck_assert_uint_gt(solvable, 50);
    ck_assert_uint_lt(missed * 20, solvable); /* a heuristic, but a good one: below 5% */
}
END_TEST

START_TEST(interval_graphs_never_fail)
{
    uint64_t seed = 77;
    for (int round = 0; round < 300; round++) {
        struct random_graph g;
        uint8_t base[NODES_MAX];
        graph_interval(&g, &seed);
        ck_assert_uint_eq(solve(&g, base), 0);
    }
}
END_TEST

START_TEST(overlap_is_detected)
{
    struct random_graph g = { .n = 2, .colours = 4, .width = { 2, 1 } };
    g.edge[0][1] = g.edge[1][0] = true;
    graph_lists(&g);
    struct bir_colour_graph graph = { g.n, g.width, g.cost, { g.first, g.items } };
    ck_assert(!bir_colour_graph_check(&graph, 4, (uint8_t[]){ 1, 2 }));
    ck_assert(bir_colour_graph_check(&graph, 4, (uint8_t[]){ 1, 3 }));
    ck_assert(!bir_colour_graph_check(&graph, 4, (uint8_t[]){ 3, 0 }));
}
END_TEST

/* --- programs --- */

/* A module with one function whose code is register moves and adds on two engines, some in loops. */
struct program {
    struct bir_module *module;
    struct bir_function *function;
    struct bir_register *regs[40];
    uint32_t n_regs;
    uint32_t n_inst;
    uint64_t seed;
};

static uint64_t below(struct program *p, uint64_t bound)
{
    return bir_random_below(&p->seed, bound);
}

static const struct bir_str *name_of(struct program *p, const char *prefix, uint32_t n)
{
    return bir_intern_printf(&p->module->strings, "%s%u", prefix, n);
}

static struct bir_register *any_register(struct program *p, unsigned width, uint8_t engine)
{
    for (;;) {
        struct bir_register *reg = p->regs[below(p, p->n_regs)];
        if (reg->num_physical == width && reg->engine == engine)
            return reg;
    }
}

static void set_op(struct program *p, struct bir_instruction *inst, bool wide)
{
    struct bir_prop op = { .type = BIR_VALUE_TEXT, .u.s = bir_intern_cstr(&p->module->strings, "add") };
    struct bir_prop yes = { .type = BIR_VALUE_BOOL, .u.b = true };
    inst->props = bir_props_with(p->module, inst->props, "op", &op);
    if (wide)
        inst->props = bir_props_with(p->module, inst->props, "is_64bit", &yes);
}

static void append_random(struct program *p, struct bir_block *block)
{
    uint8_t engine = below(p, 4) ? BIR_ENGINE_ACTIVATION : BIR_ENGINE_DVE;
    unsigned width = below(p, 4) ? 1 : 2;
    uint64_t kind = below(p, 8);
    enum bir_opcode opcode = kind < 3 ? BIR_OP_REGISTER_MOVE : BIR_OP_REGISTER_ALU;
    struct bir_instruction *inst =
        bir_instruction_new(p->module, opcode, (enum bir_engine)engine, name_of(p, "I", p->n_inst++));
    enum bir_dtype dtype = width == 2 ? BIR_DTYPE_INT64 : BIR_DTYPE_INT32;
    if (kind < 2) {
        ck_assert_ptr_nonnull(bir_add_imm_int(p->module, inst, dtype, (int64_t)below(p, 1000)));
    } else {
        ck_assert_ptr_nonnull(
            bir_add_register_access(p->module, inst, BIR_ROLE_IN, any_register(p, width, engine), dtype));
    }
    if (opcode == BIR_OP_REGISTER_ALU) {
        set_op(p, inst, width == 2);
        ck_assert_ptr_nonnull(
            bir_add_register_access(p->module, inst, BIR_ROLE_IN, any_register(p, width, engine), dtype));
    }
    ck_assert_ptr_nonnull(
        bir_add_register_access(p->module, inst, BIR_ROLE_OUT, any_register(p, width, engine), dtype));
    bir_block_append(block, inst);
}

static struct bir_block *append_loop(struct program *p, struct bir_block *block, uint32_t n)
{
    struct bir_instruction *loop =
        bir_instruction_new(p->module, BIR_OP_LOOP, BIR_ENGINE_UNASSIGNED, name_of(p, "L", n));
    struct bir_loop *record = bir_instruction_need_loop(p->module, loop);
    record->axis = pelican_axis_new(&p->module->expressions, name_of(p, "x", n), 0, (int64_t)below(p, 3), 1);
    record->axis->loop = loop;
    bir_block_append(block, loop);
    return bir_block_new(p->module, &record->region, name_of(p, "B", n));
}

/* Every register is written first, so that no read is of garbage. */
static void append_initialisation(struct program *p, struct bir_block *block)
{
    for (uint32_t i = 0; i < p->n_regs; i++) {
        struct bir_register *reg = p->regs[i];
        enum bir_dtype dtype = reg->num_physical == 2 ? BIR_DTYPE_INT64 : BIR_DTYPE_INT32;
        struct bir_instruction *inst =
            bir_instruction_new(p->module, BIR_OP_REGISTER_MOVE, (enum bir_engine)reg->engine, name_of(p, "S", i));
        ck_assert_ptr_nonnull(bir_add_imm_int(p->module, inst, dtype, 100 + i));
        ck_assert_ptr_nonnull(bir_add_register_access(p->module, inst, BIR_ROLE_OUT, reg, dtype));
        bir_block_append(block, inst);
    }
}

static void program_random(struct program *p, uint64_t seed, uint32_t n_regs, uint32_t length)
{
    *p = (struct program){ .module = bir_module_new(0), .n_regs = n_regs, .seed = seed };
    struct bir_strtab *strings = &p->module->strings;
    p->function = bir_function_new(p->module, bir_intern_cstr(strings, "f"), false);
    struct bir_block *block = bir_block_new(p->module, &p->function->body, bir_intern_cstr(strings, "main"));
    for (uint32_t i = 0; i < n_regs; i++)
        p->regs[i] = bir_function_add_register(p->function, name_of(p, "r", i),
                                               i % 2 ? BIR_ENGINE_ACTIVATION : BIR_ENGINE_DVE, i % 6 < 4 ? 1 : 2);
    append_initialisation(p, block);
    struct bir_block *stack[4] = { block };
    uint32_t depth = 0, loops = 0;
    for (uint32_t i = 0; i < length; i++) {
        uint64_t what = below(p, 20);
        if (what == 0 && depth < 3) {
            stack[depth + 1] = append_loop(p, stack[depth], loops++);
            depth++;
        } else if (what == 1 && depth > 0) {
            depth--;
        } else {
            append_random(p, stack[depth]);
        }
    }
}

/* --- execution --- */

struct machine {
    bool physical;
    uint64_t file[BIR_ENGINE_COUNT][BIR_COLOURS_MAX]; /* 32-bit slots */
    struct bir_map virtual_values;                    /* register -> cell */
    struct bir_map memory;                            /* location -> cell */
    struct bir_arena arena;
    BIR_VEC(uint64_t) trace; /* every value that an instruction of the original program reads */
};

static uint64_t *cell(struct machine *m, struct bir_map *map, const void *key)
{
    uint64_t *value = bir_map_get(map, key);
    if (!value) {
        value = BIR_NEW(&m->arena, BIR_MEM_OTHER, uint64_t);
        ck_assert(value && bir_map_put(map, &m->arena, key, value));
    }
    return value;
}

static uint64_t read_register(struct machine *m, const struct bir_register *reg)
{
    if (!m->physical)
        return *cell(m, &m->virtual_values, reg);
    const uint64_t *file = m->file[reg->engine];
    return reg->num_physical == 2 ? file[reg->physical_id] | file[reg->physical_id + 1] << 32 : file[reg->physical_id];
}

static void write_register(struct machine *m, const struct bir_register *reg, uint64_t value)
{
    if (reg->num_physical == 1)
        value = (uint32_t)value;
    if (!m->physical) {
        *cell(m, &m->virtual_values, reg) = value;
        return;
    }
    m->file[reg->engine][reg->physical_id] = (uint32_t)value;
    if (reg->num_physical == 2)
        m->file[reg->engine][reg->physical_id + 1] = value >> 32;
}

static uint64_t read_operand(struct machine *m, const struct bir_argument *arg)
{
    switch (arg->kind) {
    case BIR_ARG_IMM_VALUE: return ((const struct bir_imm_value *)arg)->bits;
    case BIR_ARG_PHYSICAL_AP: return *cell(m, &m->memory, arg->location);
    default: return read_register(m, (const struct bir_register *)arg->location);
    }
}

static void run_region(struct machine *m, const struct bir_region *region);

static void run_instruction(struct machine *m, const struct bir_instruction *inst)
{
    if (inst->opcode == BIR_OP_LOOP) {
        const struct bir_loop *loop = inst->rare->loop;
        for (int64_t i = 0; i < pelican_axis_trip_count(loop->axis); i++)
            run_region(m, &loop->region);
        return;
    }
    bool original = inst->opcode == BIR_OP_REGISTER_MOVE || inst->opcode == BIR_OP_REGISTER_ALU;
    uint64_t sum = 0;
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_IN) {
        uint64_t value = read_operand(m, arg);
        sum += value;
        if (original)
            ck_assert(bir_vec_push(&m->arena, &m->trace, value));
    }
    BIR_EACH_ARGUMENT (arg, inst, BIR_ROLE_OUT) {
        if (arg->kind == BIR_ARG_PHYSICAL_AP)
            *cell(m, &m->memory, arg->location) = sum;
        else
            write_register(m, (const struct bir_register *)arg->location, sum);
    }
}

static void run_region(struct machine *m, const struct bir_region *region)
{
    BIR_EACH_BLOCK (block, region) {
        BIR_EACH_INSTRUCTION (inst, block)
            run_instruction(m, inst);
    }
}

static enum bir_status colour(struct program *p, unsigned registers, struct bir_pass_stats *stats,
                              struct bir_diags *diags, struct bir_arena *scratch)
{
    struct bir_pass_context context = { .stats = stats, .scratch = scratch };
    context.options.registers_per_engine = registers;
    return bir_pass_color_registers(p->module, &context, diags);
}

/* Runs, colours, runs again; the values that every original instruction reads must be the same. */
static void check_program(struct program *p, unsigned registers, struct bir_pass_stats *stats)
{
    struct machine before = { 0 }, after = { .physical = true };
    struct bir_arena scratch;
    struct bir_diags diags;
    const char *problem;
    bir_arena_init(&scratch, 0);
    bir_arena_init(&before.arena, 0);
    bir_arena_init(&after.arena, 0);
    bir_diags_init(&diags, &scratch, 10);
    run_region(&before, &p->function->body);
    ck_assert_int_eq(colour(p, registers, stats, &diags, &scratch), BIR_OK);
    ck_assert_uint_le(stats->peak_physical_registers, registers);
    if (!bir_module_check_uses(p->module, &problem))
        ck_abort_msg("%s", problem);
    run_region(&after, &p->function->body);
    ck_assert_uint_eq(before.trace.count, after.trace.count);
    for (uint32_t i = 0; i < before.trace.count; i++) {
        if (before.trace.items[i] != after.trace.items[i])
            ck_abort_msg("read %u differs", i);
    }
    bir_arena_deinit(&before.arena);
    bir_arena_deinit(&after.arena);
    bir_arena_deinit(&scratch);
}

START_TEST(programs_keep_their_meaning)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct bir_pass_stats stats = { 0 };
        struct program p;
        program_random(&p, seed + 1000 * (uint64_t)_i, 12 + (uint32_t)(seed % 20), 120);
        check_program(&p, 62, &stats);
        ck_assert_uint_eq(stats.spilled_registers, 0);
        ck_assert_uint_eq(stats.spill_score, 0);
        bir_module_free(p.module);
    }
}
END_TEST

START_TEST(spilled_programs_keep_their_meaning)
{
    uint64_t spilled = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct bir_pass_stats stats = { 0 };
        struct program p;
        program_random(&p, seed + 1000 * (uint64_t)_i, 12 + (uint32_t)(seed % 20), 120);
        check_program(&p, 9, &stats);
        spilled += stats.spilled_registers;
        /* A register costs at least its definition (lowering.md 11 item 7). */
        ck_assert_uint_ge(stats.spill_score, stats.spilled_registers);
        ck_assert_uint_eq(stats.register_utilisation_percent, stats.peak_physical_registers * 100 / 9);
        bir_module_free(p.module);
    }
    ck_assert_uint_gt(spilled, 40);
}
END_TEST

/* r1 := r0 with r0 dead afterwards: one physical register, though r1 is written later while nothing else is live. */
START_TEST(copies_coalesce)
{
    struct bir_pass_stats stats = { 0 };
    struct program p = { .module = bir_module_new(0), .seed = 1 };
    p.function = bir_function_new(p.module, bir_intern_cstr(&p.module->strings, "f"), false);
    struct bir_block *block = bir_block_new(p.module, &p.function->body, bir_intern_cstr(&p.module->strings, "main"));
    for (uint32_t i = 0; i < 2; i++)
        p.regs[i] = bir_function_add_register(p.function, name_of(&p, "r", i), BIR_ENGINE_DVE, 1);
    p.n_regs = 1;
    append_initialisation(&p, block);
    for (uint32_t i = 0; i < 2; i++) { /* r1 := r0, then r1 := r1 + r1 */
        struct bir_instruction *inst = bir_instruction_new(p.module, i ? BIR_OP_REGISTER_ALU : BIR_OP_REGISTER_MOVE,
                                                           BIR_ENGINE_DVE, name_of(&p, "I", i));
        if (i)
            set_op(&p, inst, false);
        for (uint32_t k = 0; k <= i; k++)
            ck_assert_ptr_nonnull(bir_add_register_access(p.module, inst, BIR_ROLE_IN, p.regs[i], BIR_DTYPE_INT32));
        ck_assert_ptr_nonnull(bir_add_register_access(p.module, inst, BIR_ROLE_OUT, p.regs[1], BIR_DTYPE_INT32));
        bir_block_append(block, inst);
    }
    check_program(&p, 62, &stats);
    ck_assert_uint_eq(stats.coalesced_moves, 1);
    ck_assert_int_eq(p.regs[0]->physical_id, p.regs[1]->physical_id);
    bir_module_free(p.module);
}
END_TEST

/* One instruction reads more registers than the file has: no spilling helps, and the message names them. */
START_TEST(pressure_is_an_error_with_names)
{
    struct program p = { .module = bir_module_new(0), .seed = 1 };
    struct bir_pass_stats stats = { 0 };
    struct bir_arena scratch;
    struct bir_diags diags;
    bir_arena_init(&scratch, 0);
    bir_diags_init(&diags, &scratch, 10);
    p.function = bir_function_new(p.module, bir_intern_cstr(&p.module->strings, "f"), false);
    struct bir_block *block = bir_block_new(p.module, &p.function->body, bir_intern_cstr(&p.module->strings, "main"));
    for (p.n_regs = 0; p.n_regs < 5; p.n_regs++)
        p.regs[p.n_regs] = bir_function_add_register(p.function, name_of(&p, "r", p.n_regs), BIR_ENGINE_DVE, 1);
    append_initialisation(&p, block);
    struct bir_instruction *inst =
        bir_instruction_new(p.module, BIR_OP_NOOP, BIR_ENGINE_DVE, bir_intern_cstr(&p.module->strings, "reader"));
    for (uint32_t i = 0; i < p.n_regs; i++)
        ck_assert_ptr_nonnull(bir_add_register_access(p.module, inst, BIR_ROLE_IN, p.regs[i], BIR_DTYPE_INT32));
    bir_block_append(block, inst);
    ck_assert_int_eq(colour(&p, 4, &stats, &diags, &scratch), BIR_INVALID);
    ck_assert_uint_eq(diags.errors, 1);
    ck_assert_str_eq(diags.first->code, "colour-pressure");
    ck_assert_ptr_nonnull(strstr(diags.first->message, "r0"));
    ck_assert_ptr_nonnull(strstr(diags.first->message, "r4"));
    bir_arena_deinit(&scratch);
    bir_module_free(p.module);
}
END_TEST

/* Registers that nothing writes hold values from outside: none may share, and none can be spilled. */
START_TEST(inputs_do_not_share)
{
    struct program p = { .module = bir_module_new(0), .seed = 1 };
    struct bir_pass_stats stats = { 0 };
    struct bir_arena scratch;
    struct bir_diags diags;
    bir_arena_init(&scratch, 0);
    bir_diags_init(&diags, &scratch, 10);
    p.function = bir_function_new(p.module, bir_intern_cstr(&p.module->strings, "f"), false);
    struct bir_block *block = bir_block_new(p.module, &p.function->body, bir_intern_cstr(&p.module->strings, "main"));
    for (p.n_regs = 0; p.n_regs < 4; p.n_regs++) { /* each is read by an instruction of its own */
        struct bir_instruction *inst =
            bir_instruction_new(p.module, BIR_OP_NOOP, BIR_ENGINE_DVE, name_of(&p, "I", p.n_regs));
        p.regs[p.n_regs] = bir_function_add_register(p.function, name_of(&p, "r", p.n_regs), BIR_ENGINE_DVE, 1);
        ck_assert_ptr_nonnull(bir_add_register_access(p.module, inst, BIR_ROLE_IN, p.regs[p.n_regs], BIR_DTYPE_INT32));
        bir_block_append(block, inst);
    }
    ck_assert_int_eq(colour(&p, 3, &stats, &diags, &scratch), BIR_INVALID);
    ck_assert_uint_eq(stats.spilled_registers, 0);
    ck_assert_int_eq(colour(&p, 4, &stats, &diags, &scratch), BIR_OK);
    unsigned used = 0;
    for (uint32_t i = 0; i < 4; i++)
        used |= 1u << p.regs[i]->physical_id;
    ck_assert_uint_eq(used, 15);
    bir_arena_deinit(&scratch);
    bir_module_free(p.module);
}
END_TEST

START_TEST(register_on_all_is_refused)
{
    struct program p;
    struct bir_pass_stats stats = { 0 };
    struct bir_arena scratch;
    struct bir_diags diags;
    bir_arena_init(&scratch, 0);
    bir_diags_init(&diags, &scratch, 10);
    program_random(&p, 5, 12, 20);
    p.regs[3]->engine = BIR_ENGINE_ALL;
    ck_assert_int_eq(colour(&p, 0, &stats, &diags, &scratch), BIR_INVALID);
    ck_assert_str_eq(diags.first->code, "colour-engine");
    bir_arena_deinit(&scratch);
    bir_module_free(p.module);
}
END_TEST

static enum bir_status colour_with_failures(bool *fired, long n)
{
    struct program p;
    struct bir_pass_stats stats = { 0 };
    struct bir_arena scratch;
    struct bir_diags diags;
    program_random(&p, 3, 16, 60);
    bir_arena_init(&scratch, 0);
    bir_diags_init(&diags, &scratch, 10);
    alloc_fail_at(n);
    enum bir_status status = colour(&p, 7, &stats, &diags, &scratch);
    *fired = alloc_fail_fired();
    alloc_fail_at(0);
    bir_arena_deinit(&scratch);
    bir_module_free(p.module);
    return status;
}

START_TEST(allocation_failures)
{
    bool fired = true;
    for (long n = 1; fired; n++) {
        enum bir_status status = colour_with_failures(&fired, n);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("colour");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, graphs_against_brute_force, 1, 5);
    tcase_add_test(tc, interval_graphs_never_fail);
    tcase_add_test(tc, overlap_is_detected);
    tcase_add_loop_test(tc, programs_keep_their_meaning, 0, 3);
    tcase_add_loop_test(tc, spilled_programs_keep_their_meaning, 0, 3);
    tcase_add_test(tc, copies_coalesce);
    tcase_add_test(tc, pressure_is_an_error_with_names);
    tcase_add_test(tc, inputs_do_not_share);
    tcase_add_test(tc, register_on_all_is_refused);
    tcase_add_test(tc, allocation_failures);
    Suite *suite = suite_create("colour");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
