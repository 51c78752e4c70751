/*
 * Modules, functions, blocks and storages.
 *
 * Containers append: functions, queues and blocks are singly or doubly linked lists with a tail pointer, storages a
 * vector in allocations order. The maps of a function hold the first object of each name, which is where references
 * land when a container has duplicates (bir-json.md section 14); later ones stay reachable through their list only.
 *
 * New objects carry what a new module writes (bir-json.md sections 4, 5, 7); the reader overrides it with what it saw.
 */
#include "bir/module.h"

#include <assert.h>
#include <stdlib.h>

#include "bir/cons.h"

struct bir_module *bir_module_new(size_t arena_limit_bytes)
{
    struct bir_module *module = calloc(1, sizeof(*module));
    if (!module)
        return NULL;
    bir_arena_init(&module->arena, arena_limit_bytes);
    bir_strtab_init(&module->strings, &module->arena);
    pelican_context_init(&module->expressions, &module->arena);
    module->arch = BIR_ARCH_GEN3; /* the default of bir-ops.tsv, record BIR */
    module->cons = bir_cons_new(&module->arena);
    if (!module->cons) {
        bir_module_free(module);
        return NULL;
    }
    return module;
}

void bir_module_free(struct bir_module *module)
{
    if (!module)
        return;
    bir_arena_deinit(&module->arena);
    free(module);
}

static void append_function(struct bir_function **first, struct bir_function **last, struct bir_function *function)
{
    if (*last)
        (*last)->next = function;
    else
        *first = function;
    *last = function;
}

struct bir_function *bir_function_new(struct bir_module *module, const struct bir_str *name, bool is_nki)
{
    struct bir_function *function = BIR_NEW(&module->arena, BIR_MEM_OTHER, struct bir_function);
    const struct bir_str *no_attributes = bir_intern_cstr(&module->strings, "[]");
    if (!function || !no_attributes)
        return NULL;
    function->name = name;
    function->module = module;
    function->source_offset = BIR_NO_SOURCE;
    function->is_nki = is_nki;
    function->attributes = no_attributes;
    function->body.function = function;
    bir_map_init_named(&function->instructions, &module->arena);
    bir_map_init_named(&function->sets, &module->arena);
    bir_map_init_named(&function->locations, &module->arena);
    bir_map_init_named(&function->registers, &module->arena);
    if (is_nki) {
        append_function(&module->nki_functions, &module->nki_functions_last, function);
        module->nki_functions_present = true;
    } else {
        append_function(&module->functions, &module->functions_last, function);
    }
    return function;
}

struct bir_block *bir_block_new(struct bir_module *module, struct bir_region *region, const struct bir_str *name)
{
    struct bir_block *block = BIR_NEW(&module->arena, BIR_MEM_OTHER, struct bir_block);
    if (!block)
        return NULL;
    block->name = name;
    block->region = region;
    block->source_offset = BIR_NO_SOURCE;
    block->prev = region->last;
    if (region->last)
        region->last->next = block;
    else
        region->first = block;
    region->last = block;
    return block;
}

static void init_storage(struct bir_storage *storage, enum bir_storage_tag tag, struct bir_function *function,
                         const struct bir_str *name)
{
    storage->tag = (uint8_t)tag;
    storage->source_offset = BIR_NO_SOURCE;
    storage->name = name;
    storage->function = function;
}

/* Enters a name that is not there yet; NULL names stay out. */
static bool enter_first(struct bir_map *map, struct bir_arena *arena, const struct bir_str *name, void *object)
{
    if (!name || bir_map_get(map, name))
        return true;
    return bir_map_put(map, arena, name, object);
}

struct bir_set *bir_set_new(struct bir_function *function, const struct bir_str *name)
{
    struct bir_arena *arena = &function->module->arena;
    struct bir_set *set = BIR_NEW(arena, BIR_MEM_STORAGES, struct bir_set);
    if (!set)
        return NULL;
    init_storage(&set->base, BIR_STORAGE_SET, function, name);
    if (!bir_vec_push(arena, &function->storages, &set->base) || !enter_first(&function->sets, arena, name, set))
        return NULL;
    return set;
}

struct bir_location *bir_location_new(struct bir_set *set, const struct bir_str *name)
{
    struct bir_function *function = set->base.function;
    struct bir_arena *arena = &function->module->arena;
    struct bir_location *location = BIR_NEW(arena, BIR_MEM_STORAGES, struct bir_location);
    if (!location)
        return NULL;
    init_storage(&location->base, BIR_STORAGE_LOCATION, function, name);
    location->set = set;
    location->tensor_id = -1;
    location->present = BIR_LOCF_ALLOCATED | BIR_LOCF_PINNED | BIR_LOCF_BANK | BIR_LOCF_BASE;
    if (!bir_vec_push(arena, &set->locations, location) || !enter_first(&function->locations, arena, name, location))
        return NULL;
    set->n_blocks = set->locations.count;
    return location;
}

/* Not in the map yet. */
static struct bir_register *make_register(struct bir_function *function, const struct bir_str *name)
{
    struct bir_arena *arena = &function->module->arena;
    struct bir_register *reg = BIR_NEW(arena, BIR_MEM_STORAGES, struct bir_register);
    if (!reg)
        return NULL;
    init_storage(&reg->base, BIR_STORAGE_REGISTER, function, name);
    reg->num_physical = 1;
    reg->physical_id = -1;
    return bir_vec_push(arena, &function->storages, &reg->base) ? reg : NULL;
}

struct bir_register *bir_register_new(struct bir_function *function, const struct bir_str *name)
{
    struct bir_register *reg = make_register(function, name);
    return reg && enter_first(&function->registers, &function->module->arena, name, reg) ? reg : NULL;
}

static void set_up_register(struct bir_register *reg, enum bir_engine engine, unsigned num_physical)
{
    assert(num_physical == 1 || num_physical == 2);
    reg->engine = (uint8_t)engine;
    reg->num_physical = (uint8_t)num_physical;
    reg->base.dtype = num_physical == 2 ? BIR_DTYPE_INT64 : BIR_DTYPE_INT32;
    reg->base.flags &= (uint8_t)~BIR_STORAGEF_DTYPE_ABSENT;
}

struct bir_register *bir_function_add_register(struct bir_function *function, const struct bir_str *name,
                                               enum bir_engine engine, unsigned num_physical)
{
    struct bir_register *reg = bir_function_find_register(function, name);
    if (!reg)
        reg = bir_register_new(function, name);
    if (reg)
        set_up_register(reg, engine, num_physical);
    return reg;
}

struct bir_register *bir_function_new_register(struct bir_function *function, const struct bir_str *name,
                                               enum bir_engine engine, unsigned num_physical)
{
    struct bir_register *reg = make_register(function, name);
    if (!reg || !bir_map_put_new(&function->registers, &function->module->arena, name, reg))
        return NULL;
    set_up_register(reg, engine, num_physical);
    return reg;
}

struct bir_set *bir_function_find_set(const struct bir_function *function, const struct bir_str *name)
{
    return bir_map_get(&function->sets, name);
}

struct bir_location *bir_function_find_location(const struct bir_function *function, const struct bir_str *name)
{
    return bir_map_get(&function->locations, name);
}

struct bir_register *bir_function_find_register(const struct bir_function *function, const struct bir_str *name)
{
    return bir_map_get(&function->registers, name);
}

struct bir_queue *bir_queue_new(struct bir_module *module, const struct bir_str *name)
{
    struct bir_queue *queue = BIR_NEW(&module->arena, BIR_MEM_OTHER, struct bir_queue);
    if (!queue)
        return NULL;
    queue->name = name;
    queue->source_offset = BIR_NO_SOURCE;
    queue->blocks_present = true;
    if (module->queues_last)
        module->queues_last->next = queue;
    else
        module->queues = queue;
    module->queues_last = queue;
    return queue;
}
