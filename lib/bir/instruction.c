/*
 * Instructions and their place in a block.
 *
 * A block is a doubly linked list with a count; an instruction is in at most one. Insertion enters the name into the
 * function's map unless an earlier instruction holds it, unlinking takes it out again. The region of a nested op
 * learns its function and depth when its owner is linked.
 *
 * What few instructions have sits in `rare`; a clone copies it deeply as far as it is mutable (lists, sync records)
 * and shares what is immutable (strings, property lists, expressions, shared `rare` records).
 */
#include "bir/instruction.h"

#include <assert.h>

/* optin_passes of a new instruction is the empty list (choice of bir-json.md section 7) */
static const struct bir_props *default_props(struct bir_module *module)
{
    if (module->new_props)
        return module->new_props;
    struct bir_prop prop = { .key = bir_intern_cstr(&module->strings, "optin_passes"), .type = BIR_VALUE_JSON };
    prop.u.s = bir_intern_cstr(&module->strings, "[]");
    module->new_props = prop.key && prop.u.s ? bir_props_get(module, &prop, 1) : NULL;
    return module->new_props;
}

struct bir_instruction *bir_instruction_new(struct bir_module *module, enum bir_opcode opcode, enum bir_engine engine,
                                            const struct bir_str *name)
{
    struct bir_instruction *inst = BIR_NEW(&module->arena, BIR_MEM_INSTRUCTIONS, struct bir_instruction);
    const struct bir_props *props = default_props(module);
    if (!inst || !props)
        return NULL;
    inst->name = name;
    inst->opcode = (uint16_t)opcode;
    inst->engine = (uint8_t)engine;
    inst->source_offset = BIR_NO_SOURCE;
    inst->props = props;
    module->n_instructions++;
    return inst;
}

/* Links */

static void adopt_region(struct bir_instruction *inst)
{
    struct bir_region *region = bir_instruction_region(inst);
    if (!region)
        return;
    region->function = inst->block->region->function;
    region->depth = inst->block->region->depth + 1;
}

static void link_between(struct bir_block *block, struct bir_instruction *prev, struct bir_instruction *inst,
                         struct bir_instruction *next)
{
    assert(!inst->block);
    inst->block = block;
    inst->prev = bir_ref_of(prev);
    inst->next = next;
    *(prev ? &prev->next : &block->first) = inst;
    if (next)
        next->prev = bir_ref_of(inst);
    else
        block->last = inst;
    block->count++;
    adopt_region(inst);
}

/* A name that the map has no room for is merely not found later: the arena's failure is set and the caller's next
 * allocation reports it. */
static void enter_name(struct bir_instruction *inst)
{
    struct bir_function *function = bir_instruction_function(inst);
    if (!function || !inst->name || bir_map_get(&function->instructions, inst->name))
        return;
    bool entered = bir_map_put(&function->instructions, &function->module->arena, inst->name, inst);
    (void)entered;
}

void bir_block_link(struct bir_block *block, struct bir_instruction *inst)
{
    link_between(block, block->last, inst, NULL);
}

void bir_block_append(struct bir_block *block, struct bir_instruction *inst)
{
    bir_block_link(block, inst);
    enter_name(inst);
}

void bir_instruction_insert_before(struct bir_instruction *position, struct bir_instruction *inst)
{
    link_between(position->block, bir_instruction_prev(position), inst, position);
    enter_name(inst);
}

void bir_instruction_insert_new_before(struct bir_instruction *position, struct bir_instruction *inst)
{
    struct bir_function *function = bir_instruction_function(position);
    link_between(position->block, bir_instruction_prev(position), inst, position);
    bool entered = !function || bir_map_put_new(&function->instructions, &function->module->arena, inst->name, inst);
    (void)entered; /* as in enter_name */
}

void bir_instruction_insert_after(struct bir_instruction *position, struct bir_instruction *inst)
{
    link_between(position->block, position, inst, position->next);
    enter_name(inst);
}

void bir_instruction_unlink(struct bir_instruction *inst)
{
    struct bir_block *block = inst->block;
    struct bir_function *function = bir_instruction_function(inst);
    if (function && inst->name && bir_map_get(&function->instructions, inst->name) == inst)
        bir_map_remove(&function->instructions, inst->name);
    struct bir_instruction *prev = bir_instruction_prev(inst);
    *(prev ? &prev->next : &block->first) = inst->next;
    if (inst->next)
        inst->next->prev = inst->prev;
    else
        block->last = prev;
    block->count--;
    inst->prev = 0;
    inst->next = NULL;
    inst->block = NULL;
}

void bir_instruction_drop_uses(struct bir_instruction *inst)
{
    for (enum bir_role role = BIR_ROLE_IN; role < BIR_ROLE_COUNT; role++)
        BIR_EACH_ARGUMENT (arg, inst, role)
            bir_argument_set_location(arg, NULL, role == BIR_ROLE_OUT, false);
}

/* Parts */

struct bir_instruction_rare *bir_instruction_need_rare(struct bir_module *module, struct bir_instruction *inst)
{
    if (!inst->rare || inst->rare->shared) {
        struct bir_instruction_rare *own = BIR_NEW(&module->arena, BIR_MEM_INSTRUCTIONS, struct bir_instruction_rare);
        if (!own)
            return NULL;
        if (inst->rare)
            *own = *inst->rare;
        own->shared = false;
        inst->rare = own;
    }
    return (struct bir_instruction_rare *)(uintptr_t)inst->rare; /* its own: const to readers only */
}

bool bir_instruction_set_engine_id(struct bir_module *module, struct bir_instruction *inst, uint32_t engine_id)
{
    if (engine_id == bir_instruction_engine_id(inst))
        return true;
    struct bir_instruction_rare *rare = bir_instruction_need_rare(module, inst);
    if (rare)
        rare->engine_id = engine_id;
    return rare != NULL;
}

/* Bounds of the loops that are not dynamic. */
static const struct pelican_expr *const no_bounds[BIR_LOOP_BOUNDS];

struct bir_loop *bir_instruction_need_loop(struct bir_module *module, struct bir_instruction *inst)
{
    struct bir_instruction_rare *rare = bir_instruction_need_rare(module, inst);
    if (!rare || rare->loop)
        return rare ? rare->loop : NULL;
    rare->loop = BIR_NEW(&module->arena, BIR_MEM_INSTRUCTIONS, struct bir_loop);
    if (!rare->loop)
        return NULL;
    rare->loop->region.owner = inst;
    rare->loop->dynamic_bounds = no_bounds;
    if (inst->block)
        adopt_region(inst);
    return rare->loop;
}

struct bir_region *bir_instruction_region(const struct bir_instruction *inst)
{
    return inst->rare && inst->rare->loop ? &inst->rare->loop->region : NULL;
}

struct bir_function *bir_instruction_function(const struct bir_instruction *inst)
{
    return inst->block ? inst->block->region->function : NULL;
}

/* Names of a function */

static void *next_instruction(void *user, void *previous)
{
    struct bir_function *function = user;
    struct bir_walk walk = { .root = &function->body, .current = previous };
    return bir_walk_next(&walk);
}

void bir_function_forget_names(struct bir_function *function)
{
    bir_map_forget(&function->instructions, next_instruction, function);
}

bool bir_function_has_unique_names(struct bir_function *function)
{
    struct bir_walk walk;
    uint32_t count = 0;
    bir_walk_init(&walk, &function->body);
    for (const struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk), count++) {
        if (!inst->name)
            return false;
    }
    return bir_map_count(&function->instructions) == count;
}

/* Clone */

/* A copy of count items of size bytes; *copy is NULL for none. */
static bool copy_items(struct bir_arena *arena, const void *items, uint32_t count, size_t size, void **copy)
{
    *copy = NULL;
    if (count == 0)
        return true;
    *copy = bir_arena_alloc_array(arena, BIR_MEM_INSTRUCTIONS, count, size);
    if (*copy)
        memcpy(*copy, items, count * size);
    return *copy != NULL;
}

static bool clone_edges(struct bir_module *module, const struct bir_instruction *from, struct bir_instruction *to)
{
    const struct bir_edges *edges = bir_instruction_edges(from);
    if (edges && !bir_instruction_reserve_edges(module, to, edges->count))
        return false;
    BIR_EACH_EDGE (edge, from)
        if (!bir_instruction_push_edge(module, to, *edge))
            return false;
    return true;
}

static bool clone_sync(struct bir_module *module, const struct bir_sync *from, struct bir_sync **to)
{
    struct bir_sync *sync = BIR_NEW(&module->arena, BIR_MEM_INSTRUCTIONS, struct bir_sync);
    void *waits, *updates;
    if (!sync || !copy_items(&module->arena, from->waits.items, from->waits.count, sizeof(struct bir_wait), &waits) ||
        !copy_items(&module->arena, from->updates.items, from->updates.count, sizeof(struct bir_update), &updates))
        return false;
    *sync = *from;
    sync->waits.items = waits;
    sync->waits.capacity = from->waits.count;
    sync->updates.items = updates;
    sync->updates.capacity = from->updates.count;
    *to = sync;
    return true;
}

static bool clone_rare(struct bir_module *module, const struct bir_instruction *from, struct bir_instruction *to)
{
    if (!from->rare || from->rare->shared) {
        to->rare = from->rare;
        return true;
    }
    struct bir_instruction_rare *rare = bir_instruction_need_rare(module, to);
    if (!rare)
        return false;
    *rare = *from->rare;
    rare->loop = NULL;
    if (rare->texts) {
        rare->texts = BIR_NEW(&module->arena, BIR_MEM_INSTRUCTIONS, struct bir_instruction_texts);
        if (!rare->texts)
            return false;
        *rare->texts = *from->rare->texts;
    }
    return !rare->sync || clone_sync(module, from->rare->sync, &rare->sync);
}

/* The copy of one operand at the end of the same list of `to`, registered like the original. */
static bool clone_argument(struct bir_module *module, const struct bir_argument *from, struct bir_instruction *to)
{
    size_t size = bir_argument_bytes(from);
    struct bir_argument *arg = bir_arena_alloc(&module->arena, BIR_MEM_ARGUMENTS, size);
    if (!arg)
        return false;
    memcpy(arg, from, size);
    arg->parent = bir_ref_of(to);
    arg->next_use = arg->prev_use = 0;
    arg->location = NULL;
    arg->flags &= (uint8_t)~BIR_ARGF_ACTIVE;
    bir_argument_link(arg, (enum bir_role)from->role);
    if (from->location)
        bir_argument_set_location(arg, from->location, from->flags & BIR_ARGF_OUTPUT, from->flags & BIR_ARGF_ACTIVE);
    const struct bir_argument_rare *source = bir_argument_rare_of(from);
    if (!source || source->shared)
        return true;
    arg->rare = 0;
    struct bir_argument_rare *rare = bir_argument_need_rare(module, arg);
    if (rare)
        *rare = *source;
    return rare != NULL;
}

static bool clone_arguments(struct bir_module *module, const struct bir_instruction *from, struct bir_instruction *to)
{
    for (enum bir_role role = BIR_ROLE_IN; role < BIR_ROLE_COUNT; role++)
        BIR_EACH_ARGUMENT (arg, from, role)
            if (!clone_argument(module, arg, to))
                return false;
    return true;
}

struct bir_instruction *bir_instruction_clone(struct bir_module *module, const struct bir_instruction *inst,
                                              const struct bir_str *name)
{
    struct bir_instruction *copy =
        bir_instruction_new(module, (enum bir_opcode)inst->opcode, BIR_ENGINE_UNASSIGNED, name);
    if (!copy)
        return NULL;
    copy->engine = inst->engine;
    copy->origin = inst->origin;
    copy->source_offset = inst->source_offset;
    copy->props = inst->props;
    if (clone_edges(module, inst, copy) && clone_rare(module, inst, copy) && clone_arguments(module, inst, copy))
        return copy;
    bir_instruction_drop_uses(copy);
    return NULL;
}
