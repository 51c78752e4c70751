/*
 * Live ranges in program order.
 *
 * Order of execution is taken to be the order of the text. Two things break that, and both are treated alike: the body
 * of a region instruction (Loop and its kin) and the stretch from the target of a backward branch to the branch. Such
 * stretches are collected at the function's top level, merged where they overlap, and a use inside one counts for the
 * whole of it.
 *
 * The exception is a temporary: a location that only one block touches, by its locations' own names, and whose first
 * touch there certainly writes all of it without reading it. Each time the block runs it begins anew, and what it held
 * is dead when the block ends, so it lives from that first touch to the last. Nothing of one execution of a block
 * overlaps with the next: passes keep order within blocks and rely on fences between them (lowering.md 12.8).
 *
 * One pass over the operands, one binary search each: near-linear.
 */
#include "passes/location_ranges.h"

#include <stdlib.h>

struct stretch {
    uint32_t first, last;
};

/* What is known of a location so far. `range` is the answer, widened unless the location is a temporary. */
struct touched {
    struct location_range range; /* first: the map hands out its address */
    struct stretch plain;        /* first and last touch in the text */
    const struct bir_storage *storage;
    const struct bir_block *block;
    bool temporary;
};

struct finder {
    const struct bir_pass_context *context;
    struct bir_function *function;
    struct location_ranges *out;
    BIR_VEC(struct stretch) stretches; /* sorted and disjoint once merged */
    BIR_VEC(struct touched *) touched;
};

/* --- stretches --- */

static const struct bir_str *target_key(const struct bir_instruction *inst, const char *key)
{
    const struct bir_prop *prop = bir_props_find(inst->props, key);
    return prop && prop->type == BIR_VALUE_TEXT ? prop->u.s : NULL;
}

static bool add_stretch(struct finder *finder, uint32_t first, uint32_t last)
{
    return first > last || bir_vec_push(finder->context->scratch, &finder->stretches, (struct stretch){ first, last });
}

/* Index of the first instruction at or behind each top-level block, plus one, by block name. The body of a region ends
 * where the next top-level instruction begins. */
static bool block_starts(struct finder *finder, struct bir_map *starts)
{
    uint32_t next = finder->out->instructions;
    for (struct bir_block *block = finder->function->body.last; block; block = block->prev) {
        for (struct bir_instruction *inst = block->last; inst; inst = bir_instruction_prev(inst)) {
            if (bir_instruction_region(inst) && !add_stretch(finder, inst->index, next - 1))
                return false;
            next = inst->index;
        }
        if (block->name && !bir_map_put(starts, finder->context->scratch, block->name, (void *)((uintptr_t)next + 1)))
            return false;
    }
    return true;
}

static bool branch_stretches(struct finder *finder, const struct bir_map *starts)
{
    static const char *const keys[] = { "target", "on_true", "on_false" };
    BIR_EACH_BLOCK (block, &finder->function->body) {
        BIR_EACH_INSTRUCTION (inst, block) {
            if (!(bir_opcode_flags(inst->opcode) & BIR_OPF_TERMINATOR))
                continue;
            for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
                const struct bir_str *name = target_key(inst, keys[k]);
                uintptr_t start = name ? (uintptr_t)bir_map_get(starts, name) : 0;
                if (start && start - 1 <= inst->index && !add_stretch(finder, (uint32_t)start - 1, inst->index))
                    return false;
            }
        }
    }
    return true;
}

static int by_first(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->last < y->last ? -1 : x->last > y->last;
}

static void merge_stretches(struct finder *finder)
{
    struct stretch *items = finder->stretches.items;
    uint32_t kept = 0;
    if (finder->stretches.count == 0)
        return;
    qsort(items, finder->stretches.count, sizeof *items, by_first);
    for (uint32_t i = 1; i < finder->stretches.count; i++) {
        if (items[i].first > items[kept].last)
            items[++kept] = items[i];
        else if (items[i].last > items[kept].last)
            items[kept].last = items[i].last;
    }
    finder->stretches.count = kept + 1;
}

/* The stretch around an index, or the index alone. */
static struct stretch widen(const struct finder *finder, uint32_t index)
{
    uint32_t low = 0, high = finder->stretches.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct stretch *s = &finder->stretches.items[middle];
        if (index < s->first)
            high = middle;
        else if (index > s->last)
            low = middle + 1;
        else
            return *s;
    }
    return (struct stretch){ index, index };
}

/* --- uses --- */

static struct touched *touched_of(struct finder *finder, const struct bir_storage *storage)
{
    struct touched *touched = bir_map_get(&finder->out->of, storage);
    if (touched)
        return touched;
    touched = BIR_NEW(finder->context->scratch, BIR_MEM_OTHER, struct touched);
    if (!touched || !bir_vec_push(finder->context->scratch, &finder->touched, touched))
        return NULL;
    touched->storage = storage;
    touched->range.first = touched->plain.first = UINT32_MAX;
    return bir_map_put(&finder->out->of, finder->context->scratch, storage, touched) ? touched : NULL;
}

static bool is_on_chip(const struct bir_argument *arg)
{
    if (!arg->location || arg->location->tag == BIR_STORAGE_REGISTER)
        return false;
    enum bir_memory_type memory = bir_argument_memory(arg);
    return memory == BIR_MEMORY_SB || memory == BIR_MEMORY_PSUM;
}

/* Whether the instruction uses several on-chip locations and is no DMA: its operands must not move apart between
 * quadrants. */
static bool binds_operands(const struct bir_instruction *inst)
{
    const struct bir_storage *only = NULL;
    if (bir_opcode_flags(inst->opcode) & BIR_OPF_DMA)
        return false;
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            if (!is_on_chip(arg) || arg->location == only)
                continue;
            if (only)
                return true;
            only = arg->location;
        }
    }
    return false;
}

/* The pattern names every byte of its location: all rows, and in each the elements one after the other. */
static bool covers_location(const struct bir_physical_ap *ap)
{
    const struct bir_location *location = (const struct bir_location *)ap->base.location;
    const struct bir_ints *dims = location->dims;
    int64_t elem = bir_dtype_bytes(ap->base.dtype), run = 1;
    if (ap->base.location->tag != BIR_STORAGE_LOCATION || !dims || dims->count != 2 || elem <= 0 ||
        dims->items[1] % elem || ap->offset_elems != 0 || bir_argument_dynamic(&ap->base))
        return false;
    for (uint32_t k = ap->pattern->rank; k-- > 1;) {
        const struct bir_pair *pair = &ap->pattern->pairs[k];
        if (pair->num != 1 && (pair->step_elems != run || __builtin_mul_overflow(run, pair->num, &run)))
            return false;
    }
    const struct bir_pair *rows = &ap->pattern->pairs[0];
    return run == dims->items[1] / elem && rows->num == dims->items[0] && (rows->num == 1 || rows->step_elems == run);
}

static bool says(const struct bir_instruction *inst, const char *key, const char *text, bool when_absent)
{
    const struct bir_prop *prop = bir_props_find(inst->props, key);
    return prop ? prop->type == BIR_VALUE_TEXT && bir_str_is(prop->u.s, text) : when_absent;
}

/* The instruction, whenever it runs, runs unconditionally and writes every element its output names, whatever was there
 * before. Only opcodes that are known to do so. */
static bool overwrites(const struct bir_instruction *inst)
{
    if (inst->rare && inst->rare->texts && inst->rare->texts->predicates)
        return false;
    const struct bir_prop *prop;
    switch (inst->opcode) {
    case BIR_OP_MATMULT:
        prop = bir_props_find(inst->props, "accumulation_flag");
        return prop && prop->type == BIR_VALUE_INT && (prop->u.i & 1); /* begins (descriptors.md 7.7) */
    case BIR_OP_ACTIVATION:
    case BIR_OP_TENSOR_TENSOR: return says(inst, "acc", "Idle", true);
    case BIR_OP_DMA_COPY:
        /* Elements out of bounds are left out when that is no error. */
        prop = bir_props_find(inst->props, "oob_is_err");
        return says(inst, "mode", "Copy", false) && (!prop || (prop->type == BIR_VALUE_BOOL && prop->u.b));
    case BIR_OP_TENSOR_COPY:
    case BIR_OP_TENSOR_SCALAR:
    case BIR_OP_TENSOR_REDUCE:
    case BIR_OP_MEMSET:
    case BIR_OP_IOTA:
    case BIR_OP_RECIPROCAL: return true;
    default: return false;
    }
}

/* Whether the touch may be a temporary's first: the location is an output, written whole, and nothing else of the
 * instruction. */
static bool begins_anew(const struct bir_instruction *inst, const struct bir_argument *arg)
{
    if (arg->role != BIR_ROLE_OUT || arg->kind != BIR_ARG_PHYSICAL_AP || !overwrites(inst) ||
        !covers_location((const struct bir_physical_ap *)arg))
        return false;
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (other, inst, role) {
            if (other != arg && other->location == arg->location)
                return false;
        }
    }
    return true;
}

static bool visit(struct finder *finder, const struct bir_instruction *inst, struct stretch moment)
{
    bool bound = binds_operands(inst), in_loop = moment.first < moment.last;
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            if (!is_on_chip(arg))
                continue;
            struct touched *touched = touched_of(finder, arg->location);
            if (!touched)
                return false;
            struct location_range *range = &touched->range;
            if (range->first == UINT32_MAX) {
                touched->block = inst->block;
                touched->temporary = in_loop && begins_anew(inst, arg);
            }
            touched->temporary = touched->temporary && touched->block == inst->block;
            range->first = moment.first < range->first ? moment.first : range->first;
            range->last = moment.last > range->last ? moment.last : range->last;
            range->bound = range->bound || bound;
            touched->plain.first = inst->index < touched->plain.first ? inst->index : touched->plain.first;
            touched->plain.last = inst->index > touched->plain.last ? inst->index : touched->plain.last;
        }
    }
    return true;
}

static void narrow_temporaries(struct finder *finder)
{
    for (uint32_t i = 0; i < finder->touched.count; i++) {
        struct touched *touched = finder->touched.items[i];
        if (!touched->temporary)
            continue; /* a temporary is a location, not a set: covers_location */
        if (bir_map_get(&finder->out->of, &((const struct bir_location *)touched->storage)->set->base))
            continue; /* touched through its set, too */
        touched->range.first = touched->plain.first;
        touched->range.last = touched->plain.last;
    }
}

/* Queues run beside the program: their locations live all the time. */
static bool visit_queues(struct finder *finder)
{
    struct stretch always = { 0, finder->out->instructions ? finder->out->instructions - 1 : 0 };
    for (struct bir_queue *queue = finder->function->module->queues; queue; queue = queue->next) {
        struct bir_walk walk;
        bir_walk_init(&walk, &queue->body);
        for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));)
            if (!visit(finder, inst, always))
                return false;
    }
    return true;
}

enum bir_status location_ranges_find(struct bir_function *function, const struct bir_pass_context *context,
                                     struct location_ranges *out)
{
    struct finder finder = { .context = context, .function = function, .out = out };
    struct bir_map starts = { 0 };
    struct bir_walk walk;
    *out = (struct location_ranges){ .instructions = bir_function_number(function) };
    if (!block_starts(&finder, &starts) || !branch_stretches(&finder, &starts))
        return bir_arena_failure(context->scratch);
    merge_stretches(&finder);
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));) {
        BIR_TRY(bir_pass_poll(context, inst->index));
        if (!visit(&finder, inst, widen(&finder, inst->index)))
            return bir_arena_failure(context->scratch);
    }
    if (!visit_queues(&finder))
        return bir_arena_failure(context->scratch);
    narrow_temporaries(&finder);
    return BIR_OK;
}

struct location_range location_range_of(const struct location_ranges *ranges, const struct bir_location *location)
{
    const struct location_range *own = bir_map_get(&ranges->of, &location->base);
    const struct location_range *set = bir_map_get(&ranges->of, &location->set->base);
    struct location_range range = own ? *own : (struct location_range){ .first = UINT32_MAX };
    if (!set)
        return range;
    range.first = set->first < range.first ? set->first : range.first;
    range.last = set->last > range.last ? set->last : range.last;
    range.bound = range.bound || set->bound;
    return range;
}
