/*
 * A function written out as executions, in order of position: block by block, a loop body twice, the DMABlocks of a
 * trigger right behind it.
 *
 * Chains are what orders nodes without a wait: the starts on one engine, the completions in one queue, the barriers. A
 * node that no engine or queue orders gets a chain of its own when it has an update that a wait could see; without one
 * nothing can follow from its completion, and it is on no chain.
 *
 * Invariants: indices on a chain count from 1 and ascend with position. Order before a start is at most one execution
 * of the engine (or the barrier since), for a barrier the last one of every engine since the barrier before, for a
 * DMABlock its trigger. Positions in a loop body's second copy are those of the first plus a constant.
 */
#include "base/json_reader.h"
#include "check/hazard_internal.h"

/* What is only needed while writing out. */
struct writer {
    struct hazard_analysis *h;
    struct bir_map engines;                   /* spelling of an unknown engine -> chain + 1 */
    struct bir_map queues;                    /* queue name -> chain + 1 */
    struct bir_map blocks;                    /* block name -> anything: seen so far */
    struct bir_map dma_blocks;                /* name -> first DMABlock of any queue */
    struct bir_map queue_blocks;              /* queue name -> struct queue_blocks */
    uint32_t engine_chains[BIR_ENGINE_COUNT]; /* HAZARD_NONE: not yet */
    uint32_t barrier;                         /* last one, or HAZARD_NONE */
    BIR_VEC(uint32_t) engine_list;            /* chains of engines */
    uint32_t place;
    uint32_t index;
};

struct queue_blocks {
    const struct bir_queue *queue;
    struct bir_map by_name;
};

/* A DMABlock and the queue that it runs in. */
struct dma_block {
    struct bir_instruction *inst;
    const struct bir_queue *queue;
};

static enum bir_status new_chain(struct hazard_analysis *h, enum hazard_chain_kind kind, const char *name,
                                 uint32_t *chain)
{
    struct hazard_chain c = { .kind = kind, .name = name, .last = HAZARD_NONE };
    if (!bir_vec_push(&h->scratch, &h->chains, c))
        return hazard_memory(h);
    *chain = h->chains.count - 1;
    return BIR_OK;
}

static enum bir_status mapped_chain(struct hazard_analysis *h, struct bir_map *map, const struct bir_str *key,
                                    enum hazard_chain_kind kind, uint32_t *chain)
{
    uintptr_t known = (uintptr_t)bir_map_get(map, key);
    if (known) {
        *chain = (uint32_t)(known - 1);
        return BIR_OK;
    }
    BIR_TRY(new_chain(h, kind, key->text, chain));
    return bir_map_put(map, &h->scratch, key, (void *)((uintptr_t)*chain + 1)) ? BIR_OK : hazard_memory(h);
}

static uint32_t take_index(struct hazard_analysis *h, uint32_t chain, uint32_t exec)
{
    h->chains.items[chain].last = exec;
    return ++h->chains.items[chain].count;
}

/* Does the issuing engine go on at once? (hazards.md 1.3, choice: all forms that move memory through a queue by
 * themselves.) */
static bool is_transfer(uint16_t opcode)
{
    switch (opcode) {
    case BIR_OP_DMA_COPY:
    case BIR_OP_LOAD:
    case BIR_OP_SAVE:
    case BIR_OP_INDIRECT_LOAD:
    case BIR_OP_INDIRECT_SAVE:
    case BIR_OP_INDIRECT_SAVE_ACCUMULATE:
    case BIR_OP_GENERIC_INDIRECT_LOAD:
    case BIR_OP_GENERIC_INDIRECT_SAVE: return true;
    default: return false;
    }
}

static const struct bir_str *text_prop(const struct bir_instruction *inst, const char *key)
{
    const struct bir_prop *prop = bir_props_find(inst->props, key);
    return prop && prop->type == BIR_VALUE_TEXT ? prop->u.s : NULL;
}

static enum bir_status number_name(struct hazard_analysis *h, const struct bir_str *name, uint32_t *number)
{
    if (!name) {
        *number = HAZARD_NONE;
        return BIR_OK;
    }
    uintptr_t known = (uintptr_t)bir_map_get(&h->name_numbers, name);
    if (!known) {
        if (!bir_vec_push(&h->scratch, &h->names, name))
            return hazard_memory(h);
        known = h->names.count;
        if (!bir_map_put(&h->name_numbers, &h->scratch, name, (void *)known))
            return hazard_memory(h);
    }
    *number = (uint32_t)(known - 1);
    return BIR_OK;
}

/* --- chains --- */

static enum bir_status add_pred(struct hazard_analysis *h, uint32_t exec)
{
    return bir_vec_push(&h->scratch, &h->preds, exec) ? BIR_OK : hazard_memory(h);
}

static enum bir_status engine_chain(struct writer *w, const struct bir_instruction *inst, uint32_t *chain)
{
    struct hazard_analysis *h = w->h;
    uint32_t before = h->chains.count;
    const struct bir_instruction_texts *texts = inst->rare ? inst->rare->texts : NULL;
    *chain = HAZARD_NONE;
    if (inst->engine < BIR_ENGINE_COUNT) {
        uint32_t *slot = &w->engine_chains[inst->engine];
        if (*slot == HAZARD_NONE)
            BIR_TRY(new_chain(h, HAZARD_CHAIN_ENGINE, bir_engine_name(inst->engine), slot));
        *chain = *slot;
    } else if (texts && texts->engine) { /* an engine that no table knows is still an engine */
        BIR_TRY(mapped_chain(h, &w->engines, texts->engine, HAZARD_CHAIN_ENGINE, chain));
    }
    if (h->chains.count > before && inst->engine != BIR_ENGINE_ALL &&
        !bir_vec_push(&h->scratch, &w->engine_list, *chain))
        return hazard_memory(h);
    return BIR_OK;
}

/* A barrier follows the last instruction of every engine (2.2). */
static enum bir_status order_barrier(struct writer *w)
{
    struct hazard_analysis *h = w->h;
    if (w->barrier != HAZARD_NONE)
        BIR_TRY(add_pred(h, w->barrier));
    for (uint32_t i = 0; i < w->engine_list.count; i++) {
        uint32_t last = h->chains.items[w->engine_list.items[i]].last;
        if (last != HAZARD_NONE && (w->barrier == HAZARD_NONE || last > w->barrier))
            BIR_TRY(add_pred(h, last));
    }
    return BIR_OK;
}

static enum bir_status order_start(struct writer *w, struct hazard_exec *e, uint32_t exec)
{
    struct hazard_analysis *h = w->h;
    const struct bir_instruction *inst = e->inst;
    e->start_chain = HAZARD_NONE;
    if (e->trigger != HAZARD_NONE)
        return add_pred(h, e->trigger);
    if (inst->engine == BIR_ENGINE_UNASSIGNED && hazard_rule(h, HAZARD_RULE_UNASSIGNED))
        return BIR_OK;
    uint32_t chain;
    BIR_TRY(engine_chain(w, inst, &chain));
    if (chain == HAZARD_NONE)
        return BIR_OK;
    bool is_barrier = inst->engine == BIR_ENGINE_ALL && hazard_rule(h, HAZARD_RULE_BARRIER);
    if (is_barrier) {
        BIR_TRY(order_barrier(w));
        w->barrier = exec;
    } else {
        uint32_t last = hazard_rule(h, HAZARD_RULE_PROGRAM_ORDER) ? h->chains.items[chain].last : HAZARD_NONE;
        if (w->barrier != HAZARD_NONE && (last == HAZARD_NONE || last < w->barrier))
            last = w->barrier;
        if (last != HAZARD_NONE)
            BIR_TRY(add_pred(h, last));
        if (!hazard_rule(h, HAZARD_RULE_PROGRAM_ORDER))
            return BIR_OK;
    }
    e->start_chain = chain;
    e->start_index = take_index(h, chain, exec);
    return BIR_OK;
}

static enum bir_status order_completion(struct writer *w, struct hazard_exec *e, uint32_t exec,
                                        const struct bir_str *queue)
{
    struct hazard_analysis *h = w->h;
    e->end_chain = e->start_chain;
    e->end_index = e->start_index;
    e->queue_prev = HAZARD_NONE;
    bool is_queued = e->async && queue && hazard_rule(h, HAZARD_RULE_QUEUE);
    if (is_queued) {
        BIR_TRY(mapped_chain(h, &w->queues, queue, HAZARD_CHAIN_QUEUE, &e->end_chain));
        e->queue_prev = h->chains.items[e->end_chain].last;
    } else if (e->async) {
        e->end_chain = HAZARD_NONE;
    }
    if (e->end_chain == HAZARD_NONE && hazard_sync_updates(e->inst))
        BIR_TRY(new_chain(h, HAZARD_CHAIN_SINGLE, hazard_name(e->inst), &e->end_chain));
    if (e->end_chain == HAZARD_NONE || (!e->async && e->end_chain == e->start_chain))
        return BIR_OK;
    e->end_index = take_index(h, e->end_chain, exec);
    if (!e->async) {
        e->start_chain = e->end_chain;
        e->start_index = e->end_index;
    }
    return BIR_OK;
}

/* --- executions --- */

static enum bir_status add_exec(struct writer *w, const struct bir_instruction *inst, uint32_t trigger, bool async,
                                const struct bir_str *queue)
{
    struct hazard_analysis *h = w->h;
    uint32_t exec = h->execs.count;
    struct hazard_exec e = {
        .inst = inst,
        .place = w->place,
        .index = w->index,
        .trigger = trigger,
        .first_pred = h->preds.count,
        .first_wait = h->waiters.count,
        .async = async && hazard_rule(h, HAZARD_RULE_COMPLETION),
    };
    if ((exec & HAZARD_POLL_MASK) == 0 && bir_cancelled(h->options->cancel))
        return BIR_CANCELLED;
    BIR_TRY(number_name(h, inst->name, &e.name));
    BIR_TRY(order_start(w, &e, exec));
    BIR_TRY(order_completion(w, &e, exec, queue));
    if (!bir_vec_push(&h->scratch, &h->execs, e))
        return hazard_memory(h);
    return hazard_sync_read(h, exec);
}

static enum bir_status start_block(struct writer *w, const struct bir_instruction *trigger, uint32_t trigger_exec,
                                   struct bir_slice name)
{
    const struct bir_str *key = bir_intern_find(&w->h->module->strings, name.text, name.len);
    const struct bir_str *queue = text_prop(trigger, "queue");
    const struct queue_blocks *own = queue ? bir_map_get(&w->queue_blocks, queue) : NULL;
    const struct dma_block *block = own && key ? bir_map_get(&own->by_name, key) : NULL;
    if (!block && key)
        block = bir_map_get(&w->dma_blocks, key);
    if (!block)
        return hazard_reason(w->h, trigger->source_offset, "%s triggers DMABlock %.*s, which no queue has",
                             hazard_name(trigger), name.len > 200 ? 200 : (int)name.len, name.text);
    return add_exec(w, block->inst, trigger_exec, true, block->queue->name);
}

/* DMATrigger.dma_blocks: block names, kept as JSON text. */
static enum bir_status start_blocks(struct writer *w, const struct bir_instruction *trigger, uint32_t trigger_exec)
{
    const struct bir_prop *list = bir_props_find(trigger->props, "dma_blocks");
    if (!list || !hazard_rule(w->h, HAZARD_RULE_BLOCKS))
        return BIR_OK;
    struct bir_json_reader r;
    struct bir_slice name;
    bool is_list = list->type == BIR_VALUE_JSON;
    bir_json_reader_init(&r, is_list ? list->u.s->text : "", is_list ? list->u.s->len : 0, 4, &w->h->scratch, NULL);
    enum bir_status status = bir_json_array_begin(&r);
    while (status == BIR_OK && bir_json_array_next(&r)) {
        status = bir_json_string(&r, &name);
        if (status == BIR_OK)
            BIR_TRY(start_block(w, trigger, trigger_exec, name));
    }
    if (r.status == BIR_OK)
        return BIR_OK;
    if (r.status != BIR_INVALID)
        return hazard_memory(w->h);
    return hazard_reason(w->h, trigger->source_offset, "dma_blocks of %s is not a list of names", hazard_name(trigger));
}

static enum bir_status add_instruction(struct writer *w, const struct bir_instruction *inst)
{
    uint32_t exec = w->h->execs.count;
    BIR_TRY(add_exec(w, inst, HAZARD_NONE, is_transfer(inst->opcode), text_prop(inst, "queue")));
    if (inst->opcode == BIR_OP_DMA_TRIGGER)
        BIR_TRY(start_blocks(w, inst, exec));
    w->index++;
    if (inst->opcode == BIR_OP_CALL)
        return hazard_reason(w->h, inst->source_offset, "%s calls a function, whose accesses are not followed",
                             hazard_name(inst));
    return BIR_OK;
}

/* An instruction and, should it own blocks, what is in them (once: such loops are gone after lower_sync). */
static enum bir_status add_nest(struct writer *w, struct bir_instruction *inst)
{
    BIR_TRY(add_instruction(w, inst));
    struct bir_region *region = bir_instruction_region(inst);
    if (!region)
        return BIR_OK;
    BIR_TRY(hazard_reason(w->h, inst->source_offset, "%s %s is a structured loop: not modelled, lower it first",
                          bir_opcode_name(inst->opcode), hazard_name(inst)));
    struct bir_walk walk;
    bir_walk_init(&walk, region);
    for (struct bir_instruction *inner; (inner = bir_walk_next(&walk));)
        BIR_TRY(add_instruction(w, inner));
    return BIR_OK;
}

/* --- blocks --- */

/* Looks at one branch target of a block: the block itself (a loop body) or an earlier one. */
static enum bir_status look_at_target(struct writer *w, const struct bir_block *block,
                                      const struct bir_instruction *inst, const char *key, bool *is_body)
{
    const struct bir_str *target = text_prop(inst, key);
    if (!target)
        return BIR_OK;
    if (target == block->name) {
        *is_body = true;
        return BIR_OK;
    }
    if (!bir_map_get(&w->blocks, target) || !hazard_rule(w->h, HAZARD_RULE_BACK_BRANCH))
        return BIR_OK;
    return hazard_reason(w->h, inst->source_offset,
                         "%s branches from block %s back to %s: a loop of several blocks is not modelled",
                         hazard_name(inst), block->name ? block->name->text : "", target->text);
}

static enum bir_status find_branches(struct writer *w, const struct bir_block *block, bool *is_body)
{
    *is_body = false;
    for (const struct bir_instruction *inst = block->first; inst; inst = inst->next) {
        if (inst->opcode == BIR_OP_COMPARE_AND_BRANCH) {
            BIR_TRY(look_at_target(w, block, inst, "on_true", is_body));
            BIR_TRY(look_at_target(w, block, inst, "on_false", is_body));
        } else if (inst->opcode == BIR_OP_UNCONDITIONAL_BRANCH) {
            BIR_TRY(look_at_target(w, block, inst, "target", is_body));
        }
    }
    *is_body = *is_body && hazard_rule(w->h, HAZARD_RULE_TWICE);
    return BIR_OK;
}

static enum bir_status add_copy(struct writer *w, struct bir_block *block, uint32_t iteration)
{
    struct hazard_analysis *h = w->h;
    struct hazard_place place = { .block = block, .first = h->execs.count, .iteration = iteration };
    w->place = h->places.count;
    w->index = 0;
    if (!bir_vec_push(&h->scratch, &h->places, place))
        return hazard_memory(h);
    BIR_EACH_INSTRUCTION (inst, block) {
        BIR_TRY(add_nest(w, inst));
    }
    h->places.items[w->place].end = h->execs.count;
    return BIR_OK;
}

static enum bir_status add_block(struct writer *w, struct bir_block *block)
{
    bool is_body;
    BIR_TRY(find_branches(w, block, &is_body));
    BIR_TRY(add_copy(w, block, is_body ? 1 : 0));
    if (is_body)
        BIR_TRY(add_copy(w, block, 2));
    if (block->name && !bir_map_put(&w->blocks, &w->h->scratch, block->name, block))
        return hazard_memory(w->h);
    return BIR_OK;
}

/* --- queues --- */

static enum bir_status enter_dma_block(struct writer *w, struct queue_blocks *q, struct bir_instruction *inst)
{
    struct bir_arena *scratch = &w->h->scratch;
    if (!inst->name || bir_map_get(&q->by_name, inst->name))
        return BIR_OK; /* references land on the first of a name */
    struct dma_block *block = BIR_NEW(scratch, BIR_MEM_TABLES, struct dma_block);
    if (!block)
        return hazard_memory(w->h);
    *block = (struct dma_block){ .inst = inst, .queue = q->queue };
    if (!bir_map_put(&q->by_name, scratch, inst->name, block))
        return hazard_memory(w->h);
    if (!bir_map_get(&w->dma_blocks, inst->name) && !bir_map_put(&w->dma_blocks, scratch, inst->name, block))
        return hazard_memory(w->h);
    return BIR_OK;
}

static enum bir_status enter_queues(struct writer *w)
{
    struct bir_arena *scratch = &w->h->scratch;
    for (struct bir_queue *queue = w->h->module->queues; queue; queue = queue->next) {
        struct queue_blocks *q = BIR_NEW(scratch, BIR_MEM_TABLES, struct queue_blocks);
        if (!q)
            return hazard_memory(w->h);
        q->queue = queue;
        BIR_EACH_BLOCK (block, &queue->body)
            BIR_EACH_INSTRUCTION (inst, block) {
                if (inst->opcode == BIR_OP_DMA_BLOCK)
                    BIR_TRY(enter_dma_block(w, q, inst));
            }
        if (queue->name && !bir_map_get(&w->queue_blocks, queue->name) &&
            !bir_map_put(&w->queue_blocks, scratch, queue->name, q))
            return hazard_memory(w->h);
    }
    return BIR_OK;
}

enum bir_status hazard_program_build(struct hazard_analysis *h)
{
    struct writer w = { .h = h, .barrier = HAZARD_NONE };
    for (size_t i = 0; i < BIR_ENGINE_COUNT; i++)
        w.engine_chains[i] = HAZARD_NONE;
    BIR_TRY(enter_queues(&w));
    BIR_EACH_BLOCK (block, &h->function->body) {
        BIR_TRY(add_block(&w, block));
    }
    h->n_execs = h->execs.count;
    struct hazard_exec sentinel = { .first_pred = h->preds.count, .first_wait = h->waiters.count };
    return bir_vec_push(&h->scratch, &h->execs, sentinel) ? BIR_OK : hazard_memory(h);
}
