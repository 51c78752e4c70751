/*
 * Live ranges in program order.
 *
 * Order of execution is taken to be the order of the text. Two things break that, and both are treated alike: the body
 * of a region instruction (Loop and its kin) and the stretch from the target of a backward branch to the branch. Such
 * stretches are collected at the function's top level, merged where they overlap, and a use inside one counts for the
 * whole of it. That is more than needed for values that live within one iteration, and never less.
 *
 * One pass over the operands, one binary search each: near-linear.
 */
#include "passes/location_ranges.h"

#include <stdlib.h>

struct stretch {
    uint32_t first, last;
};

struct finder {
    const struct bir_pass_context *context;
    struct bir_function *function;
    struct location_ranges *out;
    BIR_VEC(struct stretch) stretches; /* sorted and disjoint once merged */
};

/* --------------------------------------------------------------------------------------------------------------
 * stretches */

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
        for (struct bir_instruction *inst = block->last; inst; inst = inst->prev) {
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

/* -------------------------------------------------------------------------------------------------------------------
 * uses */

static struct location_range *range_of(struct finder *finder, const struct bir_storage *storage)
{
    struct location_range *range = bir_map_get(&finder->out->of, storage);
    if (range)
        return range;
    range = BIR_NEW(finder->context->scratch, BIR_MEM_OTHER, struct location_range);
    if (!range)
        return NULL;
    *range = (struct location_range){ .first = UINT32_MAX };
    return bir_map_put(&finder->out->of, finder->context->scratch, storage, range) ? range : NULL;
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

static bool visit(struct finder *finder, const struct bir_instruction *inst, struct stretch moment)
{
    bool bound = binds_operands(inst);
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            if (!is_on_chip(arg))
                continue;
            struct location_range *range = range_of(finder, arg->location);
            if (!range)
                return false;
            range->first = moment.first < range->first ? moment.first : range->first;
            range->last = moment.last > range->last ? moment.last : range->last;
            range->bound = range->bound || bound;
        }
    }
    return true;
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
    return visit_queues(&finder) ? BIR_OK : bir_arena_failure(context->scratch);
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
