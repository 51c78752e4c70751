/*
 * color_registers: a physical register number for every register that code names (lowering.md 11; the vendor's
 * coloring_allocator_reg). The name of the pass is the vendor's spelling; ours says colour.
 *
 * One round is: liveness, interference, coalescing, colouring, all per function; engines are separate because their
 * registers never interfere. When a round leaves registers without colour they are spilled to memory and the next round
 * starts over.
 */
#include "passes/coalesce.h"
#include "passes/colour_graph.h"
#include "passes/interference.h"
#include "passes/spill.h"

/* MaxRegNumPerEngine, all generations: 64 architectural, 62 and 63 reserved for call and return (C). */
#define REGISTERS_PER_ENGINE 62
/* Choice (lowering.md 11 item 8). */
#define ROUNDS_MAX 16

struct colouring {
    struct bir_liveness live;
    struct bir_interference interference;
    uint32_t *representative; /* by node */
    uint32_t *number;         /* by node that stands for a class: its number in graph */
    struct bir_colour_graph graph;
    uint64_t *cost; /* by number */
    uint8_t *base;  /* by number */
    uint32_t failed;
    unsigned colours;
};

/* --- the class graph --- */

struct class_arrays {
    uint8_t *width;
    uint32_t *seen;
};

static bool allocate_graph(struct colouring *c, struct bir_arena *scratch, struct class_arrays *a)
{
    uint32_t n = c->live.nodes.count;
    size_t edges = c->interference.neighbours.first[n];
    a->width = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *a->width);
    a->seen = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *a->seen);
    c->number = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *c->number);
    c->cost = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *c->cost);
    c->base = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *c->base);
    c->graph.neighbours.first = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, (size_t)n + 1, sizeof(uint32_t));
    c->graph.neighbours.items = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, edges, sizeof(uint32_t));
    c->graph.width = a->width;
    c->graph.cost = c->cost;
    return a->width && c->cost && a->seen && c->number && c->base && c->graph.neighbours.first &&
           c->graph.neighbours.items;
}

static uint64_t add_cost(uint64_t a, uint64_t b)
{
    return a > BIR_COST_INFINITE - b ? BIR_COST_INFINITE : a + b;
}

/* Appends the classes that neighbour the class, each once. */
static void list_neighbours(struct colouring *c, struct class_arrays *a, uint32_t node, uint32_t class, uint32_t *fill)
{
    const struct bir_lists *from = &c->interference.neighbours;
    for (uint32_t i = from->first[node]; i < from->first[node + 1]; i++) {
        uint32_t other = c->number[c->representative[from->items[i]]];
        if (other == class || a->seen[other] == class + 1)
            continue;
        a->seen[other] = class + 1;
        c->graph.neighbours.items[(*fill)++] = other;
    }
}

/* Chains of the nodes of each class: the head by class, the next by node; UINT32_MAX ends. */
static bool chain_members(struct colouring *c, struct bir_arena *scratch, uint32_t **head, uint32_t **next)
{
    uint32_t n = c->live.nodes.count;
    *head = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof **head);
    *next = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof **next);
    if (!*head || !*next)
        return false;
    memset(*head, 0xFF, n * sizeof **head);
    for (uint32_t node = n; node-- > 0;) {
        uint32_t class = c->number[c->representative[node]];
        (*next)[node] = (*head)[class];
        (*head)[class] = node;
    }
    return true;
}

/* When nothing was merged the classes are the nodes. */
static enum bir_status take_graph(struct colouring *c, struct bir_arena *scratch)
{
    uint32_t n = c->live.nodes.count;
    uint8_t *width = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *width);
    c->cost = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *c->cost);
    c->base = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *c->base);
    if (!width || !c->cost || !c->base)
        return bir_arena_failure(scratch);
    for (uint32_t node = 0; node < n; node++)
        width[node] = c->live.nodes.items[node].reg->num_physical;
    c->number = c->representative;
    c->graph = (struct bir_colour_graph){ n, width, c->cost, c->interference.neighbours };
    return BIR_OK;
}

static enum bir_status build_graph(struct colouring *c, struct bir_arena *scratch)
{
    struct class_arrays a;
    uint32_t *head, *next, fill = 0;
    if (!allocate_graph(c, scratch, &a))
        return bir_arena_failure(scratch);
    for (uint32_t node = 0; node < c->live.nodes.count; node++) {
        if (c->representative[node] == node) {
            c->number[node] = c->graph.n;
            a.width[c->graph.n++] = c->live.nodes.items[node].reg->num_physical;
        }
    }
    if (!chain_members(c, scratch, &head, &next))
        return bir_arena_failure(scratch);
    for (uint32_t class = 0; class < c->graph.n; class ++) {
        c->graph.neighbours.first[class] = fill;
        for (uint32_t node = head[class]; node != UINT32_MAX; node = next[node])
            list_neighbours(c, &a, node, class, &fill);
    }
    c->graph.neighbours.first[c->graph.n] = fill;
    return BIR_OK;
}

/* What it would cost to spill each class. Nobody asks of one that finds a colour whatever the others take, which is
 * the rule. */
static void set_costs(struct colouring *c, const struct bir_spiller *spiller)
{
    for (uint32_t i = 0; i < c->live.nodes.count; i++) {
        struct bir_node *node = &c->live.nodes.items[i];
        uint32_t class = c->number[c->representative[i]];
        uint64_t *cost = &c->cost[class];
        if (bir_colour_graph_is_easy(&c->graph, class, c->colours))
            continue;
        if (!bir_spiller_may_spill(spiller, node))
            node->cost = BIR_COST_INFINITE;
        *cost = add_cost(*cost, node->cost);
    }
}

/* --- rounds --- */

static enum bir_status colour_round(struct bir_function *function, const struct bir_pass_context *context,
                                    const struct bir_spiller *spiller, struct bir_diags *diags, struct colouring *c)
{
    uint64_t merged;
    BIR_TRY(bir_liveness_build(function, context, diags, &c->live));
    BIR_TRY(bir_interference_build(&c->live, diags, &c->interference));
    BIR_TRY(bir_coalesce(&c->live, &c->interference, c->colours, &c->representative, &merged));
    BIR_TRY(merged > 0 ? build_graph(c, context->scratch) : take_graph(c, context->scratch));
    set_costs(c, spiller);
    BIR_TRY(bir_colour_graph_solve(&c->graph, c->colours, context->scratch, c->base, &c->failed));
    if (c->failed > 0)
        return BIR_OK;
    if (!bir_colour_graph_check(&c->graph, c->colours, c->base))
        return BIR_INTERNAL; /* bad Register ID during select */
    context->stats->coalesced_moves += merged;
    return BIR_OK;
}

static void store_colours(const struct colouring *c, struct bir_pass_stats *stats)
{
    for (uint32_t i = 0; i < c->live.nodes.count; i++) {
        struct bir_register *reg = c->live.nodes.items[i].reg;
        unsigned base = c->base[c->number[c->representative[i]]];
        reg->physical_id = (int16_t)base;
        stats->coloured_registers++;
        if (base + reg->num_physical > stats->peak_physical_registers)
            stats->peak_physical_registers = base + reg->num_physical;
    }
    uint64_t percent = stats->peak_physical_registers * 100 / c->colours;
    if (percent > stats->register_utilisation_percent)
        stats->register_utilisation_percent = percent;
}

/* Text "a, b, c" of the registers live at the peak of the engine. */
static enum bir_status peak_names(struct colouring *c, enum bir_engine engine, const char **names)
{
    struct bir_arena *scratch = c->live.context->scratch;
    bir_node_vec nodes = { 0 };
    size_t size = 1;
    BIR_TRY(bir_interference_at_peak(&c->live, &c->interference, engine, &nodes));
    for (uint32_t i = 0; i < nodes.count; i++)
        size += c->live.nodes.items[nodes.items[i]].reg->base.name->len + 2u;
    char *text = bir_arena_alloc(scratch, BIR_MEM_STRINGS, size);
    if (!text)
        return bir_arena_failure(scratch);
    char *at = text;
    for (uint32_t i = 0; i < nodes.count; i++) {
        const struct bir_str *name = c->live.nodes.items[nodes.items[i]].reg->base.name;
        if (i > 0) {
            memcpy(at, ", ", 2);
            at += 2;
        }
        memcpy(at, name->text, name->len);
        at += name->len;
    }
    *names = text;
    return BIR_OK;
}

static uint32_t first_failed(const struct colouring *c)
{
    uint32_t i = 0;
    while (c->base[c->number[c->representative[i]]] != BIR_NO_COLOUR)
        i++;
    return i;
}

static enum bir_status refuse(struct colouring *c, struct bir_diags *diags)
{
    const struct bir_register *reg = c->live.nodes.items[first_failed(c)].reg;
    const struct bir_pressure_peak *peak = &c->interference.peaks[reg->engine];
    const struct bir_instruction *inst = bir_interference_peak_instruction(&c->live, peak);
    const char *names;
    BIR_TRY(peak_names(c, (enum bir_engine)reg->engine, &names));
    int64_t place = bir_pass_place(inst ? inst->source_offset : reg->base.source_offset);
    return bir_fail(
        diags, "colour-pressure", place, "keep fewer values in registers at that place",
        "cannot allocate registers since spilling candidates are not enough: engine %s has %u registers, %u are live "
        "at once%s%s: %s",
        bir_engine_name(reg->engine), c->colours, peak->width, inst ? " behind " : "",
        inst && inst->name ? inst->name->text : "", names);
}

/* Spills what has no colour and may be spilled. The list outlives the round's tables. */
static enum bir_status spill_failed(struct colouring *c, struct bir_spiller *spiller, struct bir_diags *diags,
                                    bool *progress)
{
    BIR_VEC(struct bir_register *) regs = { 0 };
    uint64_t score = 0; /* lowering.md 11 item 7: sum of the spilled costs, lower is better */
    for (uint32_t i = 0; i < c->live.nodes.count; i++) {
        if (c->base[c->number[c->representative[i]]] != BIR_NO_COLOUR ||
            c->live.nodes.items[i].cost == BIR_COST_INFINITE)
            continue;
        if (!bir_vec_push(c->live.context->scratch, &regs, c->live.nodes.items[i].reg))
            return bir_arena_failure(c->live.context->scratch);
        score = add_cost(score, c->live.nodes.items[i].cost);
    }
    *progress = regs.count > 0;
    c->live.context->stats->spill_score = add_cost(c->live.context->stats->spill_score, score);
    return *progress ? bir_spiller_spill(spiller, c->live.function, regs.items, regs.count, diags) : BIR_OK;
}

/* One round; *again when registers were spilled and the next is to be tried. */
static enum bir_status colour_or_spill(struct colouring *c, struct bir_function *function,
                                       const struct bir_pass_context *context, struct bir_spiller *spiller,
                                       unsigned round, struct bir_diags *diags, bool *again)
{
    BIR_TRY(colour_round(function, context, spiller, diags, c));
    *again = false;
    if (c->failed == 0) {
        store_colours(c, context->stats);
        return BIR_OK;
    }
    if (round == 0) { /* now that spilling is needed, learn what cannot be spilled */
        *again = true;
        return bir_spiller_exempt(spiller, function);
    }
    if (round <= ROUNDS_MAX)
        BIR_TRY(spill_failed(c, spiller, diags, again));
    return *again ? BIR_OK : refuse(c, diags);
}

static enum bir_status colour_function(struct bir_function *function, const struct bir_pass_context *context,
                                       struct bir_spiller *spiller, struct bir_diags *diags)
{
    unsigned colours = context->options.registers_per_engine;
    enum bir_status status = BIR_OK;
    bool again = true;
    if (colours == 0 || colours > REGISTERS_PER_ENGINE)
        colours = REGISTERS_PER_ENGINE;
    for (unsigned round = 0; again && status == BIR_OK; round++) {
        struct colouring c = { .colours = colours };
        struct bir_pass_context local = *context; /* a round's tables are freed at its end */
        struct bir_arena scratch;
        bir_arena_init_scratch(&scratch, context->scratch->limit_bytes);
        local.scratch = &scratch;
        status = colour_or_spill(&c, function, &local, spiller, round, diags, &again);
        bir_arena_deinit(&scratch);
    }
    return status;
}

/*
 * Entry: every register that code names is on one of the engines 1..6.
 * Exit: each of them has physical_id in 0..61 (a 2-wide one in 0..60), and no two that are live at once overlap.
 * Spilled registers live in DRAM locations `<register>-spill`. Invalidates: nothing. Later passes must not add register
 * code.
 */
enum bir_status bir_pass_color_registers(struct bir_module *module, const struct bir_pass_context *context,
                                         struct bir_diags *diags)
{
    struct bir_spiller spiller;
    bir_spiller_init(&spiller, module, context);
    BIR_EACH_CODE_FUNCTION(f, module)
    BIR_TRY(colour_function(f, context, &spiller, diags));
    return BIR_OK;
}
