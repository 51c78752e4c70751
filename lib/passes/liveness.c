/*
 * Liveness by variable. There is no bit set of registers per block: a lowered module has as many registers as
 * instructions, nearly all of them live for a dozen instructions inside one segment. Instead each register is followed
 * backwards from the segments that read it before writing it, over the predecessors, until the segments that write it.
 * The cost is the length of the live ranges, counted in segments.
 *
 * Control flow is taken generously, which can only lengthen live ranges: a block falls through to the next whatever
 * ends it (each engine has branches of its own), a Loop may be skipped, a body may be repeated.
 */
#include "passes/liveness.h"

#define PAIRS_MAX (UINT32_C(1) << 26) /* entries of live_out: half a gigabyte */

struct pair {
    uint32_t key, item;
};
typedef BIR_VEC(struct pair) pair_vec;

struct builder {
    struct bir_liveness *live;
    struct bir_arena *scratch;
    struct bir_diags *diags;
    struct bir_map blocks;                      /* block name -> its first segment + 1 */
    struct bir_map exits;                       /* region op -> the segment behind it */
    BIR_VEC(struct bir_instruction *) branches; /* terminators with targets */
    BIR_VEC(uint32_t) branch_segments;          /* the segment of each */
    pair_vec edges;                             /* predecessor of key is item */
    pair_vec exposed, defined;                  /* node -> segment */
    BIR_VEC(uint32_t) stamp_use, stamp_def;     /* by node: last segment + 1 seen */
};

static enum bir_status out_of_memory(const struct builder *b)
{
    return bir_arena_failure(b->scratch);
}

/* --- events --- */

static enum bir_status stamp_room(struct builder *b)
{
    while (b->stamp_use.count < b->live->nodes.count) {
        if (!bir_vec_push(b->scratch, &b->stamp_use, 0) || !bir_vec_push(b->scratch, &b->stamp_def, 0))
            return out_of_memory(b);
    }
    return BIR_OK;
}

/* Of an access of one physical register in so many loops. */
static uint64_t weight(uint32_t depth)
{
    uint64_t w = 1;
    for (uint32_t i = 0; i < depth && w < UINT32_MAX; i++)
        w *= 10;
    return w;
}

static enum bir_status record_use(struct builder *b, uint32_t segment, uint32_t node)
{
    struct pair event = { node, segment };
    if (b->stamp_def.items[node] == segment + 1 || b->stamp_use.items[node] == segment + 1)
        return BIR_OK;
    b->stamp_use.items[node] = segment + 1;
    return bir_vec_push(b->scratch, &b->exposed, event) ? BIR_OK : out_of_memory(b);
}

static enum bir_status record_def(struct builder *b, uint32_t segment, uint32_t node)
{
    struct pair event = { node, segment };
    if (b->stamp_def.items[node] == segment + 1)
        return BIR_OK;
    b->stamp_def.items[node] = segment + 1;
    return bir_vec_push(b->scratch, &b->defined, event) ? BIR_OK : out_of_memory(b);
}

/* One step: inst, or the artificial segment (inst NULL). Uses come before defs: an instruction reads its operands
 * first. */
static enum bir_status record_step(struct builder *b, uint32_t segment, uint64_t weight_each,
                                   struct bir_instruction *inst)
{
    struct bir_liveness *live = b->live;
    uint32_t first = live->accesses.count;
    BIR_TRY(bir_liveness_add_accesses(live, &live->segments.items[segment], inst, &live->accesses));
    if (inst && inst->opcode == BIR_OP_REGISTER_MOVE && live->accesses.count == first + 2) {
        struct bir_copy copy = { live->steps.count - 1, inst };
        if (!bir_vec_push(b->scratch, &live->copies, copy))
            return out_of_memory(b);
    }
    if (!bir_vec_push(b->scratch, &live->steps, live->accesses.count))
        return out_of_memory(b);
    if (b->stamp_use.count < live->nodes.count)
        BIR_TRY(stamp_room(b));
    for (uint32_t i = first; i < live->accesses.count; i++) {
        const struct bir_access *access = &live->accesses.items[i];
        struct bir_node *node = &live->nodes.items[access->node];
        node->defs += access->def;
        node->uses += access->use;
        node->cost += weight_each * node->reg->num_physical * ((unsigned)access->def + (unsigned)access->use);
        if (access->use)
            BIR_TRY(record_use(b, segment, access->node));
    }
    for (uint32_t i = first; i < live->accesses.count; i++) {
        if (live->accesses.items[i].def)
            BIR_TRY(record_def(b, segment, live->accesses.items[i].node));
    }
    return BIR_OK;
}

/* --- segments --- */

static enum bir_status new_segment(struct builder *b, enum bir_segment_kind kind, struct bir_instruction *owner,
                                   uint32_t depth, uint32_t *id)
{
    struct bir_segment segment = { .kind = kind, .owner = owner, .depth = depth };
    segment.first_step = b->live->steps.count - 1;
    *id = b->live->segments.count;
    if (!bir_vec_push(b->scratch, &b->live->segments, segment))
        return out_of_memory(b);
    return kind == BIR_SEGMENT_CODE ? BIR_OK : record_step(b, *id, weight(depth), NULL);
}

static enum bir_status add_edge(struct builder *b, uint32_t from, uint32_t to)
{
    struct pair edge = { to, from };
    return bir_vec_push(b->scratch, &b->edges, edge) ? BIR_OK : out_of_memory(b);
}

static enum bir_status note_branch(struct builder *b, struct bir_instruction *inst, uint32_t segment)
{
    if (!(bir_opcode_flags(inst->opcode) & BIR_OPF_TERMINATOR))
        return BIR_OK;
    return bir_vec_push(b->scratch, &b->branches, inst) && bir_vec_push(b->scratch, &b->branch_segments, segment)
               ? BIR_OK
               : out_of_memory(b);
}

static enum bir_status cut_region(struct builder *b, const struct bir_region *region, uint32_t depth, uint32_t *at);

/* A region op: *at is the segment before it, and becomes the one after it. */
static enum bir_status cut_region_op(struct builder *b, struct bir_instruction *inst, uint32_t depth, uint32_t *at)
{
    uint32_t enter, latch, after;
    BIR_TRY(new_segment(b, BIR_SEGMENT_ENTER, inst, depth, &enter));
    BIR_TRY(add_edge(b, *at, enter));
    uint32_t body = enter;
    BIR_TRY(cut_region(b, &inst->rare->loop->region, depth + 1, &body));
    BIR_TRY(new_segment(b, BIR_SEGMENT_LATCH, inst, depth + 1, &latch));
    BIR_TRY(add_edge(b, body, latch));
    if (enter + 1 < latch)
        BIR_TRY(add_edge(b, latch, enter + 1)); /* the body's first segment follows enter */
    BIR_TRY(new_segment(b, BIR_SEGMENT_CODE, NULL, depth, &after));
    BIR_TRY(add_edge(b, latch, after));
    BIR_TRY(add_edge(b, enter, after));
    *at = after;
    return bir_map_put(&b->exits, b->scratch, inst, (void *)(uintptr_t)after) ? BIR_OK : out_of_memory(b);
}

static enum bir_status cut_block(struct builder *b, struct bir_block *block, uint32_t depth, uint32_t *at)
{
    uint64_t n = 0, weight_each = weight(depth);
    BIR_EACH_INSTRUCTION (inst, block) {
        BIR_TRY(bir_pass_poll(b->live->context, n++));
        if (bir_instruction_region(inst)) {
            BIR_TRY(cut_region_op(b, inst, depth, at));
            continue;
        }
        struct bir_segment *segment = &b->live->segments.items[*at];
        segment->first = segment->count++ ? segment->first : inst;
        segment->last = inst;
        BIR_TRY(record_step(b, *at, weight_each, inst));
        BIR_TRY(note_branch(b, inst, *at));
    }
    return BIR_OK;
}

static enum bir_status cut_region(struct builder *b, const struct bir_region *region, uint32_t depth, uint32_t *at)
{
    for (struct bir_block *block = region->first; block; block = block->next) {
        uint32_t segment;
        BIR_TRY(new_segment(b, BIR_SEGMENT_CODE, NULL, depth, &segment));
        if (segment > 0)
            BIR_TRY(add_edge(b, *at, segment));
        *at = segment;
        if (block->name && !bir_map_get(&b->blocks, block->name) &&
            !bir_map_put(&b->blocks, b->scratch, block->name, (void *)((uintptr_t)segment + 1)))
            return out_of_memory(b);
        BIR_TRY(cut_block(b, block, depth, at));
    }
    return BIR_OK;
}

/* Break goes behind the region around it. */
static enum bir_status link_break(struct builder *b, const struct bir_instruction *inst, uint32_t from)
{
    const struct bir_instruction *owner = inst->block->region->owner;
    uintptr_t after = owner ? (uintptr_t)bir_map_get(&b->exits, owner) : 0;
    return after ? add_edge(b, from, (uint32_t)after) : BIR_OK;
}

static enum bir_status link_branches(struct builder *b)
{
    static const char *const keys[] = { "on_true", "on_false", "target" };
    for (uint32_t i = 0; i < b->branches.count; i++) {
        const struct bir_instruction *inst = b->branches.items[i];
        uint32_t from = b->branch_segments.items[i];
        if (inst->opcode == BIR_OP_BREAK)
            BIR_TRY(link_break(b, inst, from));
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            const struct bir_prop *prop = bir_props_find(inst->props, keys[k]);
            uintptr_t to = prop && prop->type == BIR_VALUE_TEXT ? (uintptr_t)bir_map_get(&b->blocks, prop->u.s) : 0;
            if (to)
                BIR_TRY(add_edge(b, from, (uint32_t)(to - 1)));
        }
    }
    return BIR_OK;
}

/* --- flow --- */

/* Pairs to lists by key, in the order of the pairs. */
static enum bir_status sort_pairs(struct bir_arena *scratch, const pair_vec *pairs, uint32_t keys,
                                  struct bir_lists *lists)
{
    lists->first = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, (size_t)keys + 2, sizeof *lists->first);
    lists->items = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, pairs->count, sizeof *lists->items);
    if (!lists->first || !lists->items)
        return bir_arena_failure(scratch);
    uint32_t *cursor = lists->first + 1; /* shifted by one, so that filling leaves the starts behind */
    for (uint32_t i = 0; i < pairs->count; i++)
        cursor[pairs->items[i].key + 1]++;
    for (uint32_t k = 1; k <= keys; k++)
        cursor[k] += cursor[k - 1];
    for (uint32_t i = 0; i < pairs->count; i++)
        lists->items[cursor[pairs->items[i].key]++] = pairs->items[i].item;
    return BIR_OK;
}

struct flow {
    struct builder *b;
    struct bir_lists predecessors, exposed, defined;
    uint32_t *in, *out, *kill; /* by segment: last node + 1 marked */
    BIR_VEC(uint32_t) work;
    pair_vec live_out;
};

static enum bir_status mark_in(struct flow *f, uint32_t node, uint32_t segment)
{
    if (f->in[segment] == node + 1)
        return BIR_OK;
    f->in[segment] = node + 1;
    return bir_vec_push(f->b->scratch, &f->work, segment) ? BIR_OK : out_of_memory(f->b);
}

static enum bir_status mark_out(struct flow *f, uint32_t node, uint32_t segment)
{
    struct pair pair = { segment, node };
    if (f->out[segment] == node + 1)
        return BIR_OK;
    f->out[segment] = node + 1;
    if (f->live_out.count == PAIRS_MAX)
        return bir_fail_limit(f->b->diags, "colour-too-large", BIR_NO_OFFSET, "split the function",
                              "function %s has more than %u register lives across blocks",
                              f->b->live->function->name->text, PAIRS_MAX);
    if (!bir_vec_push(f->b->scratch, &f->live_out, pair))
        return out_of_memory(f->b);
    return f->kill[segment] == node + 1 ? BIR_OK : mark_in(f, node, segment);
}

/* Everywhere the node is live out, from its exposed reads backwards. */
static enum bir_status follow(struct flow *f, uint32_t node)
{
    for (uint32_t i = f->defined.first[node]; i < f->defined.first[node + 1]; i++)
        f->kill[f->defined.items[i]] = node + 1;
    for (uint32_t i = f->exposed.first[node]; i < f->exposed.first[node + 1]; i++)
        BIR_TRY(mark_in(f, node, f->exposed.items[i]));
    while (f->work.count > 0) {
        uint32_t segment = f->work.items[--f->work.count];
        for (uint32_t i = f->predecessors.first[segment]; i < f->predecessors.first[segment + 1]; i++)
            BIR_TRY(mark_out(f, node, f->predecessors.items[i]));
    }
    f->b->live->nodes.items[node].at_entry = f->in[0] == node + 1;
    return BIR_OK;
}

static enum bir_status solve(struct builder *b)
{
    struct bir_liveness *live = b->live;
    struct flow f = { .b = b };
    uint32_t segments = live->segments.count;
    BIR_TRY(sort_pairs(b->scratch, &b->edges, segments, &f.predecessors));
    BIR_TRY(sort_pairs(b->scratch, &b->exposed, live->nodes.count, &f.exposed));
    BIR_TRY(sort_pairs(b->scratch, &b->defined, live->nodes.count, &f.defined));
    f.in = bir_arena_alloc_array(b->scratch, BIR_MEM_TABLES, segments, sizeof *f.in);
    f.out = bir_arena_alloc_array(b->scratch, BIR_MEM_TABLES, segments, sizeof *f.out);
    f.kill = bir_arena_alloc_array(b->scratch, BIR_MEM_TABLES, segments, sizeof *f.kill);
    if (!f.in || !f.out || !f.kill)
        return out_of_memory(b);
    for (uint32_t node = 0; node < live->nodes.count; node++) {
        BIR_TRY(bir_pass_poll(live->context, node));
        BIR_TRY(follow(&f, node));
    }
    return sort_pairs(b->scratch, &f.live_out, segments, &live->live_out);
}

static enum bir_status check_engines(const struct bir_liveness *live, struct bir_diags *diags)
{
    for (uint32_t i = 0; i < live->nodes.count; i++) {
        const struct bir_register *reg = live->nodes.items[i].reg;
        if (!bir_engine_is_concrete(reg->engine))
            return bir_fail(diags, "colour-engine", bir_pass_place(reg->base.source_offset),
                            "run split_engines, or give the register an engine",
                            "register %s is on %s; only a single engine has registers", reg->base.name->text,
                            bir_engine_name(reg->engine));
    }
    return BIR_OK;
}

void bir_liveness_reset(struct bir_function *function)
{
    for (uint32_t i = 0; i < function->storages.count; i++) {
        if (function->storages.items[i]->tag == BIR_STORAGE_REGISTER)
            ((struct bir_register *)function->storages.items[i])->scratch = 0;
    }
}

enum bir_status bir_liveness_build(struct bir_function *function, const struct bir_pass_context *context,
                                   struct bir_diags *diags, struct bir_liveness *live)
{
    *live = (struct bir_liveness){ .function = function, .context = context };
    struct builder b = { .live = live, .scratch = context->scratch, .diags = diags };
    bir_liveness_reset(function);
    uint32_t at = 0;
    if (!bir_vec_push(b.scratch, &live->steps, 0))
        return out_of_memory(&b);
    BIR_TRY(cut_region(&b, &function->body, 0, &at));
    BIR_TRY(link_branches(&b));
    BIR_TRY(check_engines(live, diags));
    return solve(&b);
}
