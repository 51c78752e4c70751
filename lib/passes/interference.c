/*
 * One backward scan of every segment with the set of live registers of each engine, adding an edge from each written
 * register to every live one. Engines have separate files, so registers of different engines never meet.
 *
 * Edges are collected as pairs and sorted into lists at the end; there is no matrix. To keep the pairs few, a register
 * that one instruction reads and writes adds none: what is live beside it was live beside it before, and met it at an
 * earlier write. That holds unless a copy was exempted at that write, so functions with register-to-register moves do
 * without it.
 */
#include "passes/interference.h"

#include <stdlib.h>

#define PAIRS_MAX (UINT32_C(1) << 27) /* a gigabyte of pairs */

struct pair {
    uint32_t a, b;
};

/* Sparse set: members in any order, position + 1 by node. */
struct live_set {
    bir_node_vec members;
    uint32_t width;
};

struct scan {
    struct bir_liveness *live;
    struct bir_diags *diags;
    struct bir_interference *out;
    struct live_set sets[BIR_ENGINE_COUNT];
    uint32_t *position;
    uint32_t *read_at; /* by node: the step that read it last */
    uint32_t steps;
    bool has_moves;
    BIR_VEC(struct pair) pairs;
};

/* The accesses of one step. */
struct step {
    const struct bir_access *first, *end;
};

static struct step step_of(const struct bir_liveness *live, uint32_t number)
{
    const uint32_t *from = &live->steps.items[number];
    if (!live->accesses.items)
        return (struct step){ NULL, NULL };
    return (struct step){ live->accesses.items + from[0], live->accesses.items + from[1] };
}

static struct bir_register *reg_of(const struct scan *s, uint32_t node)
{
    return s->live->nodes.items[node].reg;
}

static enum bir_status out_of_memory(const struct scan *s)
{
    return bir_arena_failure(s->live->context->scratch);
}

/* --- live sets --- */

static inline enum bir_status set_add(struct scan *s, uint32_t node)
{
    if (s->position[node])
        return BIR_OK;
    struct live_set *set = &s->sets[reg_of(s, node)->engine];
    if (!bir_vec_push(s->live->context->scratch, &set->members, node))
        return out_of_memory(s);
    s->position[node] = set->members.count;
    set->width += reg_of(s, node)->num_physical;
    return BIR_OK;
}

static inline void set_remove(struct scan *s, uint32_t node)
{
    uint32_t at = s->position[node];
    if (!at)
        return;
    struct live_set *set = &s->sets[reg_of(s, node)->engine];
    uint32_t moved = set->members.items[--set->members.count];
    set->members.items[at - 1] = moved;
    s->position[moved] = at;
    s->position[node] = 0;
    set->width -= reg_of(s, node)->num_physical;
}

static void sets_clear(struct scan *s)
{
    for (unsigned e = 0; e < BIR_ENGINE_COUNT; e++) {
        for (uint32_t i = 0; i < s->sets[e].members.count; i++)
            s->position[s->sets[e].members.items[i]] = 0;
        s->sets[e].members.count = 0;
        s->sets[e].width = 0;
    }
}

static enum bir_status load_live_out(struct scan *s, uint32_t segment)
{
    const struct bir_lists *out = &s->live->live_out;
    sets_clear(s);
    for (uint32_t i = out->first[segment]; i < out->first[segment + 1]; i++)
        BIR_TRY(set_add(s, out->items[i]));
    return BIR_OK;
}

static inline void note_peak(struct scan *s, unsigned engine, uint32_t segment, uint32_t behind, bool at_write)
{
    struct bir_pressure_peak *peak = &s->out->peaks[engine];
    if (s->sets[engine].width > peak->width)
        *peak = (struct bir_pressure_peak){ s->sets[engine].width, segment, behind, at_write };
}

/* --- moves --- */

/* Is it a copy of one register to another of the same engine and width? */
static bool is_move(const struct bir_instruction *inst, struct bir_register **dst, struct bir_register **src)
{
    const struct bir_argument *in = bir_instruction_argument(inst, BIR_ROLE_IN, 0);
    const struct bir_argument *out = bir_instruction_argument(inst, BIR_ROLE_OUT, 0);
    if (!in || !out || in->kind != BIR_ARG_REGISTER_ACCESS || out->kind != BIR_ARG_REGISTER_ACCESS || !in->location ||
        !out->location || bir_instruction_argument_count(inst, BIR_ROLE_IN) != 1 ||
        bir_instruction_argument_count(inst, BIR_ROLE_OUT) != 1)
        return false;
    *src = (struct bir_register *)in->location;
    *dst = (struct bir_register *)out->location;
    return *dst != *src && (*dst)->engine == (*src)->engine && (*dst)->num_physical == (*src)->num_physical &&
           !(inst->rare && inst->rare->texts && inst->rare->texts->predicates);
}

static enum bir_status collect_moves(struct scan *s)
{
    for (uint32_t i = 0; i < s->live->copies.count; i++) {
        const struct bir_copy *copy = &s->live->copies.items[i];
        struct bir_register *dst, *src;
        if (!is_move(copy->inst, &dst, &src))
            continue;
        struct bir_move move = { copy->step, dst->scratch - 1, src->scratch - 1 };
        if (!bir_vec_push(s->live->context->scratch, &s->out->moves, move))
            return out_of_memory(s);
    }
    s->has_moves = s->out->moves.count > 0;
    return BIR_OK;
}

static int compare_steps(const void *key, const void *item)
{
    uint32_t step = *(const uint32_t *)key, other = ((const struct bir_move *)item)->step;
    return (step > other) - (step < other);
}

/* The node that the step copies, UINT32_MAX when it is no move. */
static uint32_t copied_by(const struct scan *s, uint32_t number)
{
    if (!s->has_moves)
        return UINT32_MAX;
    const struct bir_move *move =
        bsearch(&number, s->out->moves.items, s->out->moves.count, sizeof *move, compare_steps);
    return move ? move->src : UINT32_MAX;
}

/* --- edges --- */

static enum bir_status add_pairs(struct scan *s, uint32_t node, uint32_t except)
{
    const struct live_set *set = &s->sets[reg_of(s, node)->engine];
    for (uint32_t i = 0; i < set->members.count; i++) {
        struct pair pair = { node, set->members.items[i] };
        if (pair.b == node || pair.b == except)
            continue;
        if (s->pairs.count == PAIRS_MAX)
            return bir_fail_limit(s->diags, "colour-too-large", BIR_NO_OFFSET, "split the function",
                                  "function %s has more than %u interferences of registers",
                                  s->live->function->name->text, PAIRS_MAX);
        if (!bir_vec_push(s->live->context->scratch, &s->pairs, pair))
            return out_of_memory(s);
    }
    return BIR_OK;
}

/* Edges of what a step writes. Its writes are in the sets. */
static enum bir_status add_step_pairs(struct scan *s, struct step step, uint32_t defs, uint32_t number)
{
    uint32_t except = copied_by(s, number);
    for (const struct bir_access *a = step.first; a != step.end; a++) {
        bool redefined = s->read_at[a->node] == s->steps;
        if (a->def && (defs > 1 || s->has_moves || !redefined))
            BIR_TRY(add_pairs(s, a->node, except));
    }
    return BIR_OK;
}

/* One step backwards over an instruction (or an artificial segment), which is the at-th of the segment. */
static enum bir_status step_back(struct scan *s, uint32_t segment, uint32_t at, bool with_edges)
{
    uint32_t number = s->live->segments.items[segment].first_step + at;
    struct step step = step_of(s->live, number);
    uint32_t defs = 0;
    s->steps++;
    for (const struct bir_access *a = step.first; a != step.end; a++) {
        if (a->use)
            s->read_at[a->node] = s->steps;
        if (!a->def)
            continue;
        BIR_TRY(set_add(s, a->node)); /* a dead write occupies its register too */
        defs++;
        note_peak(s, reg_of(s, a->node)->engine, segment, at + 1, true);
    }
    if (with_edges && defs > 0)
        BIR_TRY(add_step_pairs(s, step, defs, number));
    for (const struct bir_access *a = step.first; defs > 0 && a != step.end; a++) {
        if (a->def)
            set_remove(s, a->node);
    }
    for (const struct bir_access *a = step.first; a != step.end; a++) {
        if (a->use)
            BIR_TRY(set_add(s, a->node));
    }
    for (const struct bir_access *a = step.first; a != step.end; a++) {
        if (a->use) /* nothing else can have become live in front of it */
            note_peak(s, reg_of(s, a->node)->engine, segment, at, false);
    }
    return BIR_OK;
}

static uint32_t steps_of(const struct bir_segment *segment)
{
    return segment->kind == BIR_SEGMENT_CODE ? segment->count : 1;
}

/* Backwards over a segment, down to the place behind its first `until` steps. */
static enum bir_status scan_segment(struct scan *s, uint32_t id, uint32_t until, bool with_edges)
{
    uint32_t count = steps_of(&s->live->segments.items[id]);
    BIR_TRY(load_live_out(s, id));
    for (unsigned e = 0; e < BIR_ENGINE_COUNT; e++)
        note_peak(s, e, id, count, false);
    for (uint32_t at = count; at-- > until;) {
        BIR_TRY(bir_pass_poll(s->live->context, at));
        BIR_TRY(step_back(s, id, at, with_edges));
    }
    return BIR_OK;
}

/* --- lists --- */

/* Pairs to symmetric lists, by counting; then duplicates out, in place. */
static enum bir_status build_lists(struct scan *s)
{
    struct bir_arena *scratch = s->live->context->scratch;
    uint32_t n = s->live->nodes.count;
    uint32_t *first = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, (size_t)n + 2, sizeof *first);
    uint32_t *items = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, (size_t)s->pairs.count * 2, sizeof *items);
    uint32_t *seen = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *seen);
    if (!first || !items || !seen)
        return out_of_memory(s);
    uint32_t *cursor = first + 1;
    for (uint32_t i = 0; i < s->pairs.count; i++) {
        cursor[s->pairs.items[i].a + 1]++;
        cursor[s->pairs.items[i].b + 1]++;
    }
    for (uint32_t k = 1; k <= n; k++)
        cursor[k] += cursor[k - 1];
    for (uint32_t i = 0; i < s->pairs.count; i++) {
        items[cursor[s->pairs.items[i].a]++] = s->pairs.items[i].b;
        items[cursor[s->pairs.items[i].b]++] = s->pairs.items[i].a;
    }
    uint32_t kept = 0;
    for (uint32_t node = 0; node < n; node++) {
        uint32_t begin = first[node], end = first[node + 1];
        first[node] = kept;
        for (uint32_t i = begin; i < end; i++) {
            if (seen[items[i]] != node + 1) {
                seen[items[i]] = node + 1;
                items[kept++] = items[i];
            }
        }
    }
    first[n] = kept;
    s->out->neighbours = (struct bir_lists){ first, items };
    return BIR_OK;
}

static enum bir_status scan_init(struct scan *s, struct bir_liveness *live, struct bir_diags *diags,
                                 struct bir_interference *out)
{
    *s = (struct scan){ .live = live, .diags = diags, .out = out };
    s->position = bir_arena_alloc_array(live->context->scratch, BIR_MEM_TABLES, live->nodes.count, sizeof *s->position);
    s->read_at = bir_arena_alloc_array(live->context->scratch, BIR_MEM_TABLES, live->nodes.count, sizeof *s->read_at);
    return s->position && s->read_at ? BIR_OK : out_of_memory(s);
}

/* What is live at the entry has a value from outside; these registers meet there. The sets are those before segment 0.
 */
static enum bir_status add_entry_pairs(struct scan *s)
{
    for (unsigned e = 0; e < BIR_ENGINE_COUNT; e++) {
        for (uint32_t i = 0; i < s->sets[e].members.count; i++)
            BIR_TRY(add_pairs(s, s->sets[e].members.items[i], UINT32_MAX));
    }
    return BIR_OK;
}

enum bir_status bir_interference_build(struct bir_liveness *live, struct bir_diags *diags, struct bir_interference *out)
{
    struct scan s;
    *out = (struct bir_interference){ 0 };
    BIR_TRY(scan_init(&s, live, diags, out));
    BIR_TRY(collect_moves(&s));
    for (uint32_t i = 0; i < live->segments.count; i++) {
        BIR_TRY(bir_pass_poll(live->context, 0));
        BIR_TRY(scan_segment(&s, i, 0, true));
        if (i == 0)
            BIR_TRY(add_entry_pairs(&s));
    }
    return build_lists(&s);
}

struct bir_instruction *bir_interference_peak_instruction(const struct bir_liveness *live,
                                                          const struct bir_pressure_peak *peak)
{
    const struct bir_segment *segment = &live->segments.items[peak->segment];
    if (segment->kind != BIR_SEGMENT_CODE || (peak->behind == segment->count && !peak->at_write))
        return NULL;
    if (peak->behind == 0)
        return bir_instruction_prev(segment->first);
    struct bir_instruction *inst = segment->first;
    for (uint32_t i = 1; i < peak->behind; i++)
        inst = inst->next;
    return inst;
}

enum bir_status bir_interference_at_peak(struct bir_liveness *live, const struct bir_interference *interference,
                                         enum bir_engine engine, bir_node_vec *out)
{
    struct bir_pressure_peak peak = interference->peaks[engine];
    struct bir_interference again = { 0 };
    struct scan s;
    BIR_TRY(scan_init(&s, live, NULL, &again));
    BIR_TRY(scan_segment(&s, peak.segment, peak.behind, false));
    if (peak.at_write) { /* dead writes count at the peak */
        struct step step = step_of(live, live->segments.items[peak.segment].first_step + peak.behind - 1);
        for (const struct bir_access *a = step.first; a != step.end; a++) {
            if (a->def)
                BIR_TRY(set_add(&s, a->node));
        }
    }
    *out = s.sets[engine].members;
    return BIR_OK;
}
