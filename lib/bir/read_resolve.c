/*
 * Names that could not be resolved where they stand (bir-json.md section 14, pass 2).
 *
 * Inside a function's allocations: aliases and pointer targets, resolved when the allocations are complete. At the end
 * of the document: dependencies on later instructions, operands on locations of other functions, and the names that
 * only have to exist (queues, blocks, functions, DMA blocks, values that come into blocks).
 */
#include <inttypes.h>

#include "bir/read.h"

/* Locations */

/* The next value names a location, of the set unless that is NULL. */
static enum bir_status find_location(struct read_context *ctx, const struct bir_set *set, struct bir_location **out)
{
    const struct bir_str *name;
    uint32_t offset = read_offset(ctx);
    BIR_TRY(read_text(ctx, &name));
    if (set)
        return read_find_in_set(ctx, set, name, offset, out);
    *out = bir_function_find_location(ctx->function, name);
    return *out ? BIR_OK : read_fail_name(ctx, "BIR014", offset, "memory location", name);
}

static enum bir_status find_set(struct read_context *ctx, const struct bir_set **out)
{
    const struct bir_str *name;
    uint32_t offset = read_offset(ctx);
    BIR_TRY(read_text(ctx, &name));
    *out = bir_function_find_set(ctx->function, name);
    return *out ? BIR_OK : read_fail_name(ctx, "BIR016", offset, "memory location set", name);
}

static enum bir_status resolve_pointer(struct read_context *ctx, struct bir_location *location)
{
    uint32_t offset = read_offset(ctx);
    BIR_TRY(find_location(ctx, NULL, &location->pointer_target));
    if (location->set->kind == BIR_TENSOR_POINTER)
        return BIR_OK;
    return read_fail(ctx, "bir-location", NULL, offset, "make the set's kind Pointer",
                     "pointer_ref_memloc on a location whose set is not a Pointer");
}

/* One alias: [set, location, kind] or [location, kind], told apart by length. */
static enum bir_status resolve_alias(struct read_context *ctx)
{
    struct bir_json_reader *r = &ctx->json;
    uint32_t offset = read_offset(ctx), count = 0;
    struct read_mark names[2] = { { 0 } };
    BIR_TRY(bir_json_array_begin(r));
    for (; bir_json_array_next(r); count++) {
        if (bir_json_peek(r) == BIR_JSON_STRING && count < 2)
            names[count] = read_mark_here(ctx);
        BIR_TRY(bir_json_skip(r, NULL));
    }
    BIR_TRY(r->status);
    const struct read_mark *name = count == 3 ? &names[1] : &names[0];
    if ((count != 2 && count != 3) || name->depth == 0 || names[0].depth == 0)
        return read_fail(ctx, "bir-location", NULL, offset, "write [set, location, kind]", "malformed alias");
    const struct bir_set *set = NULL;
    struct bir_location *target;
    struct read_mark place = read_seek(ctx, names[0]);
    if (count == 3)
        BIR_TRY(find_set(ctx, &set));
    (void)read_seek(ctx, *name);
    BIR_TRY(find_location(ctx, set, &target));
    if (target->type != BIR_MEMORY_DRAM)
        return read_fail(ctx, "bir-location", NULL, name->pos, "only DRAM locations can alias",
                         "alias with a location outside DRAM");
    read_resume(ctx, place);
    return BIR_OK;
}

static enum bir_status resolve_aliases(struct read_context *ctx)
{
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(resolve_alias(ctx));
    return ctx->json.status;
}

/* The table of set X is the set X-addr-table (lowering.md, correction 10). */
static void link_address_tables(struct read_context *ctx, struct bir_function *function)
{
    static const char suffix[] = "-addr-table";
    const size_t suffix_len = sizeof suffix - 1;
    for (uint32_t i = 0; i < function->storages.count; i++) {
        struct bir_storage *storage = function->storages.items[i];
        const struct bir_str *name = storage->name;
        if (storage->tag != BIR_STORAGE_SET || !name || name->len <= suffix_len ||
            memcmp(name->text + name->len - suffix_len, suffix, suffix_len) != 0)
            continue;
        const struct bir_str *owner = bir_intern_find(&ctx->module->strings, name->text, name->len - suffix_len);
        struct bir_set *set = owner ? bir_function_find_set(function, owner) : NULL;
        if (set)
            set->addr_table = (struct bir_set *)storage;
    }
}

enum bir_status read_resolve_locations(struct read_context *ctx, struct bir_function *function)
{
    for (uint32_t i = 0; i < ctx->locations.count; i++) {
        const struct location_fixup *fixup = &ctx->locations.items[i];
        struct read_mark place = read_seek(ctx, fixup->mark);
        BIR_TRY(fixup->is_alias ? resolve_aliases(ctx) : resolve_pointer(ctx, fixup->location));
        read_resume(ctx, place);
    }
    ctx->locations.count = 0;
    link_address_tables(ctx, function);
    return BIR_OK;
}

/* Dependencies */

/* What the document defines, by name; of several objects of a name the first. Filled when first needed: most documents
 * refer only within a function. */
struct module_names {
    struct bir_map functions, instructions;
    bool filled;
};

static bool put_first(struct read_context *ctx, struct bir_map *map, const struct bir_str *name, void *object)
{
    return !name || bir_map_get(map, name) || bir_map_put(map, ctx->scratch, name, object);
}

static bool add_function(struct read_context *ctx, struct module_names *names, struct bir_function *function)
{
    if (!put_first(ctx, &names->functions, function->name, function))
        return false;
    struct bir_walk walk;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));)
        if (inst->name &&
            !put_first(ctx, &names->instructions, inst->name, bir_map_get(&function->instructions, inst->name)))
            return false;
    return true;
}

static enum bir_status fill_names(struct read_context *ctx, struct module_names *names)
{
    if (names->filled)
        return BIR_OK;
    names->filled = true;
    BIR_EACH_FUNCTION (function, ctx->module)
        if (!add_function(ctx, names, function))
            return read_fail_memory(ctx);
    for (struct bir_function *f = ctx->module->nki_functions; f; f = f->next)
        if (!add_function(ctx, names, f))
            return read_fail_memory(ctx);
    return BIR_OK;
}

/* In the function of the reference first, then in the queues, then anywhere; *out is NULL when there is none. */
static enum bir_status find_instruction(struct read_context *ctx, struct module_names *names,
                                        const struct bir_function *function, const struct bir_str *name,
                                        struct bir_instruction **out)
{
    *out = function ? bir_map_get(&function->instructions, name) : NULL;
    if (!*out)
        *out = bir_map_get(&ctx->queue_instructions, name);
    if (*out)
        return BIR_OK;
    BIR_TRY(fill_names(ctx, names));
    *out = bir_map_get(&names->instructions, name);
    return BIR_OK;
}

static enum bir_status resolve_edge(struct read_context *ctx, struct module_names *names,
                                    const struct edge_fixup *fixup)
{
    struct bir_edge *edge = &bir_instruction_edges(fixup->inst)->items[fixup->index];
    BIR_TRY(find_instruction(ctx, names, bir_instruction_function(fixup->inst), fixup->name, &edge->target));
    if (!edge->target)
        return read_fail_name(ctx, NULL, fixup->offset, "instruction", fixup->name);
    if (edge->target != fixup->inst || edge->list == BIR_EDGES_LOOP_CARRIED)
        return BIR_OK;
    return read_fail(ctx, "bir-edge", NULL, fixup->offset, "remove it", "instruction \"%.60s\" depends on itself",
                     fixup->name->text);
}

/* Operands of other functions */

static enum bir_status add_name(struct read_context *ctx, struct bir_argument_rare *rare, const char *key,
                                const struct bir_str *name)
{
    struct bir_prop prop = { .type = BIR_VALUE_TEXT, .u.s = name };
    rare->props = bir_props_with(ctx->module, rare->props, key, &prop);
    return rare->props ? BIR_OK : read_fail_memory(ctx);
}

/* The operand stays without location and keeps its names (lenient). */
static enum bir_status leave_unresolved(struct read_context *ctx, const struct owner_fixup *fixup)
{
    struct bir_argument *arg = &fixup->ap->base;
    struct bir_argument_rare *rare = bir_argument_need_rare(ctx->module, arg);
    if (!rare)
        return read_fail_memory(ctx);
    arg->flags |= BIR_ARGF_UNRESOLVED;
    BIR_TRY(add_name(ctx, rare, "memref", fixup->location));
    return fixup->set ? add_name(ctx, rare, "memsetref", fixup->set) : BIR_OK;
}

static enum bir_status has_location(struct read_context *ctx, const struct bir_function *owner,
                                    const struct owner_fixup *fixup, bool *known)
{
    const struct bir_set *set = fixup->set ? bir_function_find_set(owner, fixup->set) : NULL;
    struct bir_location *location = fixup->set ? NULL : bir_function_find_location(owner, fixup->location);
    if (set)
        BIR_TRY(read_search_set(ctx, set, fixup->location, &location));
    *known = location != NULL;
    return BIR_OK;
}

static enum bir_status resolve_owner(struct read_context *ctx, struct module_names *names,
                                     const struct owner_fixup *fixup)
{
    BIR_TRY(fill_names(ctx, names));
    /* The operand's own function, whose name may have come after its blocks, goes before others of that name. */
    struct bir_function *owner = bir_instruction_function(bir_argument_parent(&fixup->ap->base));
    if (!owner || owner->name != fixup->function)
        owner = bir_map_get(&names->functions, fixup->function);
    if (!owner && ctx->strict)
        return read_fail_name(ctx, "BIR036", fixup->function_offset, "function", fixup->function);
    bool known = true;
    if (owner && ctx->unknown_operands)
        BIR_TRY(has_location(ctx, owner, fixup, &known));
    if (!owner || !known)
        return leave_unresolved(ctx, fixup);
    const struct bir_set *set = fixup->set ? bir_function_find_set(owner, fixup->set) : NULL;
    if (fixup->set && !set)
        return read_fail_name(ctx, "BIR016", fixup->set_offset, "memory location set", fixup->set);
    struct bir_location *location = bir_function_find_location(owner, fixup->location);
    if (!location)
        return read_fail_name(ctx, "BIR014", fixup->location_offset, "memory location", fixup->location);
    if (set && location->set != set)
        BIR_TRY(read_find_in_set(ctx, set, fixup->location, fixup->location_offset, &location));
    struct bir_argument *arg = &fixup->ap->base;
    bir_argument_set_location(arg, &location->base, arg->role == BIR_ROLE_OUT, true);
    return BIR_OK;
}

/* Names that only have to exist */

static bool put_blocks(struct bir_map *map, struct bir_arena *arena, const struct bir_region *region)
{
    BIR_EACH_BLOCK (block, region)
        if (block->name && !bir_map_put(map, arena, block->name, block))
            return false;
    return true;
}

static bool collect_blocks(struct read_context *ctx, struct bir_function *function, struct bir_map *map)
{
    if (!put_blocks(map, ctx->scratch, &function->body))
        return false;
    struct bir_walk walk;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));) {
        const struct bir_region *region = bir_instruction_region(inst);
        if (region && !put_blocks(map, ctx->scratch, region))
            return false;
    }
    return true;
}

struct known_names {
    struct module_names *module;
    struct bir_map queues, blocks;
    const struct bir_function *blocks_of;
};

/* What a block argument may come from: a storage, the result of an instruction, another argument. */
static bool is_value(const struct read_context *ctx, const struct name_check *check)
{
    const struct bir_function *f = check->function;
    return bir_map_get(&f->registers, check->name) || bir_map_get(&f->locations, check->name) ||
           bir_map_get(&f->sets, check->name) || bir_map_get(&f->instructions, check->name) ||
           bir_map_get(&ctx->block_arguments, check->name);
}

static enum bir_status exists(struct read_context *ctx, struct known_names *known, const struct name_check *check,
                              bool *found)
{
    struct bir_instruction *inst;
    switch (check->kind) {
    case CHECK_QUEUE: *found = bir_map_get(&known->queues, check->name); return BIR_OK;
    case CHECK_FUNCTION:
        BIR_TRY(fill_names(ctx, known->module));
        *found = bir_map_get(&known->module->functions, check->name);
        return BIR_OK;
    case CHECK_INSTRUCTION:
        BIR_TRY(find_instruction(ctx, known->module, check->function, check->name, &inst));
        *found = inst;
        return BIR_OK;
    case CHECK_DMA_BLOCK: *found = bir_map_get(&ctx->queue_instructions, check->name); return BIR_OK;
    case CHECK_VALUE: *found = is_value(ctx, check); return BIR_OK;
    case CHECK_BLOCK: break;
    }
    if (known->blocks_of != check->function) {
        known->blocks = (struct bir_map){ 0 };
        known->blocks_of = check->function;
        if (check->function && !collect_blocks(ctx, check->function, &known->blocks))
            return read_fail_memory(ctx);
    }
    *found = bir_map_get(&known->blocks, check->name);
    return BIR_OK;
}

static enum bir_status resolve_checks(struct read_context *ctx, struct module_names *names)
{
    static const char *const what[] = {
        [CHECK_QUEUE] = "queue",
        [CHECK_BLOCK] = "basic block",
        [CHECK_FUNCTION] = "function",
        [CHECK_INSTRUCTION] = "instruction",
        [CHECK_DMA_BLOCK] = "DMABlock in a queue",
        [CHECK_VALUE] = "value of the function",
    };
    struct known_names known = { .module = names };
    for (struct bir_queue *queue = ctx->module->queues; queue; queue = queue->next)
        if (!bir_map_put(&known.queues, ctx->scratch, queue->name, queue))
            return read_fail_memory(ctx);
    for (uint32_t i = 0; i < ctx->checks.count; i++) {
        const struct name_check *check = &ctx->checks.items[i];
        bool found = false;
        BIR_TRY(exists(ctx, &known, check, &found));
        if (!found)
            return read_fail_name(ctx, NULL, check->offset, what[check->kind], check->name);
    }
    return BIR_OK;
}

enum bir_status read_resolve_module(struct read_context *ctx)
{
    struct module_names names = { .filled = false };
    for (uint32_t i = 0; i < ctx->owners.count; i++)
        BIR_TRY(resolve_owner(ctx, &names, &ctx->owners.items[i]));
    for (uint32_t i = 0; i < ctx->edges.count; i++)
        BIR_TRY(resolve_edge(ctx, &names, &ctx->edges.items[i]));
    return resolve_checks(ctx, &names);
}
