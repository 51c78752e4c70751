/*
 * Names of storages, and names that only have to exist.
 *
 * An operand names storages of its function. One in a queue has no function and may name those of any: for these the
 * storages of all functions are entered into maps when the first one asks, and of several of a name the first counts.
 * Where several sets of a function have a location of the same name, an operand or alias says which set it means; a
 * large set then gets a map of its locations.
 */
#include "bir/read.h"

#define SEARCHED_LOCATIONS 16u /* sets up to this size are searched from end to end */

static bool put_first(struct read_context *ctx, struct bir_map *map, struct bir_storage *storage)
{
    return !storage->name || bir_map_get(map, storage->name) || bir_map_put(map, ctx->scratch, storage->name, storage);
}

static bool collect_storages(struct read_context *ctx, const struct bir_function *function)
{
    struct storage_names *names = &ctx->storages;
    for (uint32_t i = 0; i < function->storages.count; i++) {
        struct bir_storage *storage = function->storages.items[i];
        bool is_set = storage->tag == BIR_STORAGE_SET;
        if (!put_first(ctx, is_set ? &names->sets : &names->registers, storage))
            return false;
        const struct bir_set *set = (const struct bir_set *)storage;
        for (uint32_t j = 0; is_set && j < set->locations.count; j++)
            if (!put_first(ctx, &names->locations, &set->locations.items[j]->base))
                return false;
    }
    return true;
}

static enum bir_status find_anywhere(struct read_context *ctx, enum bir_storage_tag tag, const struct bir_str *name,
                                     struct bir_storage **out)
{
    struct storage_names *names = &ctx->storages;
    if (!names->filled)
        BIR_EACH_FUNCTION (function, ctx->module)
            if (!collect_storages(ctx, function))
                return read_fail_memory(ctx);
    names->filled = true;
    *out = bir_map_get(tag == BIR_STORAGE_SET        ? &names->sets
                       : tag == BIR_STORAGE_LOCATION ? &names->locations
                                                     : &names->registers,
                       name);
    return BIR_OK;
}

enum bir_status read_find_storage(struct read_context *ctx, enum bir_storage_tag tag, const struct bir_str *name,
                                  struct bir_storage **out)
{
    const struct bir_function *function = ctx->function;
    if (!function)
        return find_anywhere(ctx, tag, name, out);
    *out = bir_map_get(tag == BIR_STORAGE_SET        ? &function->sets
                       : tag == BIR_STORAGE_LOCATION ? &function->locations
                                                     : &function->registers,
                       name);
    return BIR_OK;
}

enum bir_status read_find_register(struct read_context *ctx, const struct bir_str *name, size_t offset,
                                   struct bir_register **out)
{
    struct bir_storage *storage;
    BIR_TRY(read_find_storage(ctx, BIR_STORAGE_REGISTER, name, &storage));
    *out = (struct bir_register *)storage;
    return *out ? BIR_OK : read_fail_name(ctx, "BIR017", offset, "register", name);
}

/* Locations of a set */

static const struct bir_map *locations_of(struct read_context *ctx, const struct bir_set *set)
{
    struct bir_map *map = bir_map_get(&ctx->set_locations, set);
    if (map)
        return map;
    map = BIR_NEW(ctx->scratch, BIR_MEM_TABLES, struct bir_map);
    if (!map || !bir_map_put(&ctx->set_locations, ctx->scratch, set, map))
        return NULL;
    for (uint32_t i = 0; i < set->locations.count; i++)
        if (!put_first(ctx, map, &set->locations.items[i]->base))
            return NULL;
    return map;
}

enum bir_status read_search_set(struct read_context *ctx, const struct bir_set *set, const struct bir_str *name,
                                struct bir_location **out)
{
    *out = NULL;
    if (set->locations.count > SEARCHED_LOCATIONS) {
        const struct bir_map *map = locations_of(ctx, set);
        if (!map)
            return read_fail_memory(ctx);
        *out = bir_map_get(map, name);
    } else {
        for (uint32_t i = set->locations.count; i-- > 0;)
            if (set->locations.items[i]->base.name == name)
                *out = set->locations.items[i];
    }
    return BIR_OK;
}

enum bir_status read_find_in_set(struct read_context *ctx, const struct bir_set *set, const struct bir_str *name,
                                 size_t offset, struct bir_location **out)
{
    BIR_TRY(read_search_set(ctx, set, name, out));
    if (*out)
        return BIR_OK;
    return read_fail(ctx, "bir-unknown-name", "BIR014", offset, "name the set that holds the location",
                     "location \"%.60s\" is not in set \"%.60s\"", name->text, set->base.name->text);
}

/* Names that only have to exist */

enum bir_status read_check_name(struct read_context *ctx, enum name_check_kind kind, const struct bir_str *name,
                                uint32_t offset)
{
    struct name_check check = { .kind = kind, .name = name, .function = ctx->function, .offset = offset };
    if (kind == CHECK_QUEUE) { /* one check for all instructions of a queue */
        if (bir_map_get(&ctx->checked_queues, name))
            return BIR_OK;
        if (!bir_map_put(&ctx->checked_queues, ctx->scratch, name, ctx))
            return read_fail_memory(ctx);
    }
    return bir_vec_push(ctx->scratch, &ctx->checks, check) ? BIR_OK : read_fail_memory(ctx);
}

enum bir_status read_enter_once(struct read_context *ctx, struct bir_map *names, const struct bir_str *name,
                                uint32_t offset, const char *what)
{
    if (!ctx->strict || !name)
        return BIR_OK;
    if (bir_map_get(names, name))
        return read_fail(ctx, "bir-duplicate-name", NULL, offset, "rename one of them", "two %s are named \"%.60s\"",
                         what, name->text);
    return bir_map_put(names, ctx->scratch, name, ctx) ? BIR_OK : read_fail_memory(ctx);
}
