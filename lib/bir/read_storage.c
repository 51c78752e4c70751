/*
 * Allocations: sets with their locations, and registers (bir-json.md section 5).
 *
 * Skind says what an entry is; without it an entry with memorylocations is a set, any other a register (choice). An
 * entry of a foreign Skind is kept as a register object whose Skind is a property, so that it is written back. The
 * objects are made before their name is known and entered into the function's maps at the end.
 */
#include <inttypes.h>

#include "bir/read.h"

/* Keys that are known but have no field (bir-json.md 5.1, 5.2): they stay properties, unless they say what their
 * absence says. */
enum plain_type {
    PLAIN_ANY,
    PLAIN_OBJECT,
    PLAIN_NAME,
    PLAIN_FUNCTION, /* a name; strict reading insists that the document has the function */
    PLAIN_FILE,     /* a name, "" is left out */
    PLAIN_FLAG,     /* false is left out */
    PLAIN_ID,       /* an integer, -1 is left out */
};

struct plain_key {
    const char *name;
    enum plain_type type;
};

static const struct plain_key location_keys[] = {
    { "alloced_func", PLAIN_FUNCTION },
    { "device_print_metadata", PLAIN_OBJECT },
    { "is_shared_post_dram_alloc", PLAIN_FLAG },
    { "location_alt", PLAIN_FLAG },
    { "memLocSetId", PLAIN_ID },
    { "optin_passes", PLAIN_ANY },
    { "pack_id_hint", PLAIN_ID },
    { "remote_local_target", PLAIN_ANY },
    { "remote_writer_func", PLAIN_FUNCTION },
    { "runtime_reserved", PLAIN_FLAG },
    { "table_entry_id", PLAIN_ID },
    { "user_allocated", PLAIN_FLAG },
    { "var_id", PLAIN_ID },
    { "written_by_another_core", PLAIN_FLAG },
    { NULL, PLAIN_ANY },
};
static const struct plain_key entry_keys[] = {
    { "debug", PLAIN_OBJECT }, { "do_not_rotate", PLAIN_FLAG }, { "do_not_spill", PLAIN_FLAG },
    { "file", PLAIN_FILE },    { "no_spill", PLAIN_FLAG },      { "optin_passes", PLAIN_ANY },
    { "virtual", PLAIN_FLAG }, { "volatile", PLAIN_FLAG },      { NULL, PLAIN_ANY },
};

static enum bir_status check_plain(struct read_context *ctx, enum plain_type type)
{
    enum bir_json_type found = bir_json_peek(&ctx->json);
    switch (type) {
    case PLAIN_ANY: return BIR_OK;
    case PLAIN_OBJECT: return found == BIR_JSON_OBJECT ? BIR_OK : bir_json_mismatch(&ctx->json, "an object");
    case PLAIN_NAME:
    case PLAIN_FUNCTION:
    case PLAIN_FILE: return found == BIR_JSON_STRING ? BIR_OK : bir_json_mismatch(&ctx->json, "a string");
    case PLAIN_FLAG:
        return found == BIR_JSON_TRUE || found == BIR_JSON_FALSE ? BIR_OK
                                                                 : bir_json_mismatch(&ctx->json, "true or false");
    case PLAIN_ID: return found == BIR_JSON_NUMBER ? BIR_OK : bir_json_mismatch(&ctx->json, "an integer");
    }
    return BIR_INTERNAL;
}

static bool is_left_out(enum plain_type type, const struct bir_prop *prop)
{
    switch (type) {
    case PLAIN_FILE: return prop->u.s->len == 0;
    case PLAIN_FLAG: return !prop->u.b;
    case PLAIN_ID: return prop->u.i == -1;
    default: return false;
    }
}

/* A member that has a row in the table, or (lenient) none. */
static enum bir_status read_plain(struct read_context *ctx, struct bir_slice key, const char *record,
                                  const struct plain_key *row)
{
    while (row->name && (strlen(row->name) != key.len || memcmp(row->name, key.text, key.len) != 0))
        row++;
    if (!row->name)
        return read_other(ctx, key, record);
    BIR_TRY(check_plain(ctx, row->type));
    size_t offset = bir_json_value_offset(&ctx->json);
    BIR_TRY(read_other(ctx, key, NULL));
    const struct bir_prop *prop = &ctx->pending.items[ctx->pending.count - 1].prop;
    if (row->type == PLAIN_ID && prop->type != BIR_VALUE_INT)
        return read_fail(ctx, "json-type", NULL, offset, NULL, "key \"%s\" must be an integer", row->name);
    if (row->type == PLAIN_FUNCTION && ctx->strict)
        BIR_TRY(read_check_name(ctx, CHECK_FUNCTION, prop->u.s, (uint32_t)offset));
    if (is_left_out(row->type, prop))
        ctx->pending.count--;
    return BIR_OK;
}

/* What an entry of allocations may say, whichever kind it turns out to be. */
struct entry {
    struct key_set seen;
    struct key_set early; /* seen before Skind */
    struct bir_set *set;  /* made when memorylocations comes */
    struct bir_slice skind;
    const struct bir_str *name, *tensor_class;
    const struct bir_ints *tensor_shape, *table;
    int64_t partition_dim, n_blocks, num_physical, physical_id;
    uint32_t skind_offset, object_offset, n_blocks_offset;
    uint8_t kind, dtype, addr_space, engine, origin;
};

/* Names and places of an object's storage part. */
static enum bir_status enter(struct read_context *ctx, struct bir_map *map, struct bir_storage *storage,
                             const struct bir_str *name, uint32_t offset, const char *what)
{
    storage->name = name;
    storage->source_offset = offset;
    if (!name)
        return BIR_OK;
    if (!bir_map_get(map, name))
        return bir_map_put(map, &ctx->module->arena, name, storage) ? BIR_OK : read_fail_memory(ctx);
    if (!ctx->strict)
        return BIR_OK; /* references land on the first (bir-json.md section 14) */
    return read_fail(ctx, "bir-duplicate-name", NULL, offset, "rename one of them", "two %s are named \"%.60s\"", what,
                     name->text);
}

/* Locations */

static enum bir_status read_memory_type(struct read_context *ctx, struct bir_slice key, uint8_t *type)
{
    if (bir_json_peek(&ctx->json) == BIR_JSON_NUMBER) { /* some releases write the flag's value */
        int64_t value;
        size_t offset = bir_json_value_offset(&ctx->json);
        BIR_TRY(bir_json_i64_in(&ctx->json, "type", 1, 128, &value));
        if ((value & (value - 1)) != 0)
            return read_fail(ctx, "bir-unknown-enum", "BIR024", offset, "write its name",
                             "%" PRId64 " is no member of MemoryType", value);
        *type = (uint8_t)value;
        return BIR_OK;
    }
    BIR_TRY(read_enum_field(ctx, BIR_ENUM_MEMORY_TYPE, key, type));
    if (*type == BIR_ENUM_UNKNOWN)
        *type = BIR_MEMORY_NONE;
    return BIR_OK;
}

static enum bir_status defer_location(struct read_context *ctx, struct bir_location *location, bool is_alias)
{
    struct location_fixup fixup = { .location = location, .is_alias = is_alias, .mark = read_mark_here(ctx) };
    return bir_vec_push(ctx->scratch, &ctx->locations, fixup) ? BIR_OK : read_fail_memory(ctx);
}

static enum bir_status read_presence_bool(struct read_context *ctx, struct bir_location *location, bool *value,
                                          uint8_t bit)
{
    location->present |= bit;
    return bir_json_bool(&ctx->json, value);
}

static enum bir_status read_small(struct read_context *ctx, const char *what, int64_t min, int64_t max, int64_t *value)
{
    return bir_json_i64_in(&ctx->json, what, min, max, value);
}

struct location_fields {
    struct key_set seen;
    const struct bir_str *name;
    uint32_t object_offset, pack_offset, alias_offset;
    bool has_pack_id, has_alias;
};

/* The list stays a property; an empty one says nothing. */
static enum bir_status read_alias(struct read_context *ctx, struct bir_location *location, struct location_fields *f,
                                  struct bir_slice text)
{
    f->alias_offset = read_offset(ctx);
    if (bir_json_peek(&ctx->json) != BIR_JSON_ARRAY)
        return bir_json_mismatch(&ctx->json, "an array of aliases");
    BIR_TRY(defer_location(ctx, location, true));
    BIR_TRY(read_other(ctx, text, NULL));
    f->has_alias = !read_is_empty(ctx->pending.items[ctx->pending.count - 1].prop.u.s);
    if (!f->has_alias)
        ctx->pending.count--;
    return BIR_OK;
}

static enum bir_status read_location_field(struct read_context *ctx, struct bir_location *location,
                                           struct location_fields *f, enum read_key key, struct bir_slice text)
{
    int64_t value = 0;
    enum bir_status status;
    switch (key) {
    case READ_SKIND: return bir_json_skip(&ctx->json, NULL);
    case READ_NAME: return read_text(ctx, &f->name);
    case READ_TYPE: return read_memory_type(ctx, text, &location->type);
    case READ_DIMS: return read_ints(ctx, &location->dims);
    case READ_ORIGIN: return read_origin(ctx, &location->base.origin);
    case READ_ALLOCATED: return read_presence_bool(ctx, location, &location->allocated, BIR_LOCF_ALLOCATED);
    case READ_PINNED: return read_presence_bool(ctx, location, &location->pinned, BIR_LOCF_PINNED);
    case READ_ADDR:
        status = read_small(ctx, "addr", 0, INT64_MAX, &value);
        location->addr_bytes = (uint64_t)value;
        return status;
    case READ_BASE:
        status = read_small(ctx, "base", 0, UINT32_MAX, &value);
        location->base_partition = (uint32_t)value;
        location->present |= BIR_LOCF_BASE;
        return status;
    case READ_BANK:
        status = read_small(ctx, "bank", -INT32_MAX, INT32_MAX, &value);
        location->bank = (int32_t)value;
        location->present |= BIR_LOCF_BANK;
        return status;
    case READ_TENSOR_ID:
        status = read_small(ctx, "tensor_id", -1, INT32_MAX, &value);
        location->tensor_id = (int32_t)value;
        return status;
    case READ_POINTER_REF: BIR_TRY(defer_location(ctx, location, false)); return bir_json_skip(&ctx->json, NULL);
    case READ_ALIAS: return read_alias(ctx, location, f, text);
    case READ_PACK_ID_HINT:
        f->pack_offset = read_offset(ctx);
        value = ctx->pending.count;
        BIR_TRY(read_plain(ctx, text, "a memory location", location_keys));
        f->has_pack_id = ctx->pending.count > value;
        return BIR_OK;
    default: return read_plain(ctx, text, "a memory location", location_keys);
    }
}

static enum bir_status check_location(struct read_context *ctx, const struct bir_location *location,
                                      const struct location_fields *f)
{
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a memory location", READ_NAME));
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a memory location", READ_TYPE));
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a memory location", READ_DIMS));
    if (f->has_pack_id && location->type != BIR_MEMORY_PSUM)
        return read_fail(ctx, "bir-location", NULL, f->pack_offset, "remove it",
                         "pack_id_hint on a location outside PSUM");
    if (f->has_alias && location->type != BIR_MEMORY_DRAM)
        return read_fail(ctx, "bir-location", NULL, f->alias_offset, "only DRAM locations can alias",
                         "alias on a location outside DRAM");
    return BIR_OK;
}

static enum bir_status read_location(struct read_context *ctx, struct bir_set *set)
{
    struct bir_location *location = bir_location_new(set, NULL);
    if (!location)
        return read_fail_memory(ctx);
    location->present = 0;
    struct location_fields f = { .object_offset = read_offset(ctx) };
    uint32_t base = ctx->pending.count;
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &f.seen, &text, &key))
        BIR_TRY(read_location_field(ctx, location, &f, key, text));
    BIR_TRY(ctx->json.status);
    BIR_TRY(check_location(ctx, location, &f));
    BIR_TRY(enter(ctx, &ctx->function->locations, &location->base, f.name, f.object_offset, "memory locations"));
    return read_take_props(ctx, base, &location->base.props);
}

static enum bir_status read_locations(struct read_context *ctx, struct entry *e)
{
    e->set = bir_set_new(ctx->function, NULL);
    if (!e->set)
        return read_fail_memory(ctx);
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(read_location(ctx, e->set));
    return ctx->json.status;
}

/* Sets and registers */

/* A key that has a field in the other kind of entry. */
static bool is_foreign_key(bool is_set, enum read_key key)
{
    switch (key) {
    case READ_ENGINE:
    case READ_NUM_PHYSICAL:
    case READ_PHYSICAL_ID: return is_set;
    case READ_KIND:
    case READ_ADDR_SPACE:
    case READ_TENSOR_CLASS:
    case READ_TENSOR_SHAPE:
    case READ_PARTITION_DIM:
    case READ_N_BLOCKS:
    case READ_ADDR_TABLE: return !is_set;
    default: return false;
    }
}

static enum bir_status read_entry_field(struct read_context *ctx, struct entry *e, enum read_key key,
                                        struct bir_slice text)
{
    if (e->skind.text && is_foreign_key(read_slice_is(e->skind, "memory_location_set"), key))
        return read_other(ctx, text, "this kind of storage");
    if (!e->skind.text && key < READ_OTHER)
        e->early.words[key >> 6] |= UINT64_C(1) << (key & 63);
    switch (key) {
    case READ_SKIND: e->skind_offset = read_offset(ctx); return bir_json_string(&ctx->json, &e->skind);
    case READ_NAME: return read_text(ctx, &e->name);
    case READ_KIND: return read_enum_field(ctx, BIR_ENUM_TENSOR_KIND, text, &e->kind);
    case READ_DTYPE: return read_enum_field(ctx, BIR_ENUM_DTYPE, text, &e->dtype);
    case READ_ADDR_SPACE: return read_enum_field(ctx, BIR_ENUM_ADDRESS_SPACE, text, &e->addr_space);
    case READ_ENGINE: return read_enum_field(ctx, BIR_ENUM_ENGINE, text, &e->engine);
    case READ_TENSOR_CLASS: return read_text(ctx, &e->tensor_class); /* an open set: any name (enums.md section 8) */
    case READ_TENSOR_SHAPE: return read_ints(ctx, &e->tensor_shape);
    case READ_ADDR_TABLE: return read_ints(ctx, &e->table);
    case READ_ORIGIN: return read_origin(ctx, &e->origin);
    case READ_PARTITION_DIM: return read_small(ctx, "partition_dim", INT32_MIN, INT32_MAX, &e->partition_dim);
    case READ_N_BLOCKS:
        e->n_blocks_offset = read_offset(ctx);
        return read_small(ctx, "tensorId2MemLocSize", 0, INT64_MAX, &e->n_blocks);
    case READ_NUM_PHYSICAL: return read_small(ctx, "num_physical_regs", 1, 2, &e->num_physical);
    case READ_PHYSICAL_ID: return read_small(ctx, "physical_id", -1, INT16_MAX, &e->physical_id);
    case READ_MEMORYLOCATIONS: return read_locations(ctx, e);
    default: return read_plain(ctx, text, "a storage", entry_keys);
    }
}

static uint8_t absent_unless(const struct entry *e, enum read_key key, uint8_t flag)
{
    return key_set_has(&e->seen, key) ? 0 : flag;
}

/* Every location of a block tensor has its number (loader assertion, bir-json.md 5.1). */
static enum bir_status check_tensor_ids(struct read_context *ctx, const struct entry *e)
{
    for (uint32_t i = 0; e->n_blocks > 1 && i < e->set->locations.count; i++) {
        const struct bir_location *location = e->set->locations.items[i];
        if (location->tensor_id < 0)
            return read_fail(ctx, "bir-location", NULL, location->base.source_offset,
                             "give it a tensor_id of at least 0",
                             "a location of a set with %" PRId64 " blocks has no tensor_id", e->n_blocks);
    }
    return BIR_OK;
}

static enum bir_status finish_set(struct read_context *ctx, struct entry *e, const struct bir_props *props)
{
    struct bir_set *set = e->set;
    BIR_TRY(read_require(ctx, &e->seen, e->object_offset, "a memory location set", READ_NAME));
    BIR_TRY(read_require(ctx, &e->seen, e->object_offset, "a memory location set", READ_KIND));
    BIR_TRY(read_require(ctx, &e->seen, e->object_offset, "a memory location set", READ_MEMORYLOCATIONS));
    set->base.origin = e->origin;
    set->base.dtype = e->dtype;
    set->base.props = props;
    set->base.flags = absent_unless(e, READ_DTYPE, BIR_STORAGEF_DTYPE_ABSENT) |
                      absent_unless(e, READ_ADDR_SPACE, BIR_STORAGEF_ADDR_SPACE_ABSENT) |
                      absent_unless(e, READ_PARTITION_DIM, BIR_STORAGEF_PARTITION_DIM_ABSENT) |
                      absent_unless(e, READ_N_BLOCKS, BIR_STORAGEF_N_BLOCKS_ABSENT);
    set->kind = e->kind;
    set->addr_space = e->addr_space;
    set->partition_dim = (int32_t)e->partition_dim;
    set->tensor_class = e->tensor_class;
    set->tensor_shape = e->tensor_shape;
    set->table_entries = e->table;
    set->n_blocks = key_set_has(&e->seen, READ_N_BLOCKS) ? e->n_blocks : (int64_t)set->locations.count;
    BIR_TRY(check_tensor_ids(ctx, e));
    return enter(ctx, &ctx->function->sets, &set->base, e->name, e->object_offset, "memory location sets");
}

static enum bir_status finish_register(struct read_context *ctx, struct entry *e, const struct bir_props *props,
                                       bool is_foreign)
{
    if (!is_foreign)
        BIR_TRY(read_require(ctx, &e->seen, e->object_offset, "a register", READ_NAME));
    struct bir_register *reg = bir_register_new(ctx->function, NULL);
    if (!reg)
        return read_fail_memory(ctx);
    reg->base.origin = e->origin;
    reg->base.dtype = e->dtype;
    reg->base.props = props;
    reg->base.flags = absent_unless(e, READ_DTYPE, BIR_STORAGEF_DTYPE_ABSENT);
    reg->engine = e->engine;
    reg->num_physical = (uint8_t)e->num_physical;
    reg->physical_id = (int16_t)e->physical_id;
    return enter(ctx, &ctx->function->registers, &reg->base, e->name, e->object_offset, "registers");
}

/* A key of the other kind that came before Skind went into a field that this kind does not write. */
static enum bir_status refuse_early(struct read_context *ctx, const struct entry *e, bool is_set)
{
    for (enum read_key key = 0; key < READ_OTHER; key++)
        if (key_set_has(&e->early, key) && is_foreign_key(is_set, key))
            return read_fail(ctx, "bir-unknown-key", NULL, e->object_offset, "make Skind the first key",
                             "a storage has keys of another kind of storage before its Skind, or no Skind");
    return BIR_OK;
}

static enum bir_status finish_entry(struct read_context *ctx, struct entry *e, uint32_t base)
{
    static const struct bir_slice skind_key = { "Skind", 5 };
    bool has_skind = key_set_has(&e->seen, READ_SKIND);
    bool is_set = has_skind ? read_slice_is(e->skind, "memory_location_set") : e->set != NULL;
    bool is_foreign = has_skind && !is_set && !read_slice_is(e->skind, "register");
    if (is_foreign && (ctx->strict || e->set))
        return read_fail(ctx, "bir-unknown-kind", NULL, e->skind_offset, "memory_location_set or register",
                         "unknown storage kind \"%.*s\"", e->skind.len > 60 ? 60 : (int)e->skind.len, e->skind.text);
    if (is_foreign) {
        struct bir_prop prop = { .type = BIR_VALUE_TEXT };
        prop.u.s = bir_intern(&ctx->module->strings, e->skind.text, e->skind.len);
        if (!prop.u.s)
            return read_fail_memory(ctx);
        BIR_TRY(read_push_pending(ctx, skind_key, &prop));
    }
    BIR_TRY(refuse_early(ctx, e, is_set));
    if (!is_set && e->set)
        return read_fail(ctx, "bir-unknown-key", NULL, e->skind_offset, "make it a memory_location_set",
                         "a register has no key \"memorylocations\"");
    const struct bir_props *props;
    BIR_TRY(read_take_props(ctx, base, &props));
    if (!is_set)
        return finish_register(ctx, e, props, is_foreign);
    BIR_TRY(read_require(ctx, &e->seen, e->object_offset, "a memory location set", READ_MEMORYLOCATIONS));
    return finish_set(ctx, e, props);
}

static enum bir_status read_entry(struct read_context *ctx)
{
    struct entry e = { .object_offset = read_offset(ctx), .num_physical = 1, .physical_id = -1 };
    uint32_t base = ctx->pending.count;
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &e.seen, &text, &key))
        BIR_TRY(read_entry_field(ctx, &e, key, text));
    BIR_TRY(ctx->json.status);
    return finish_entry(ctx, &e, base);
}

enum bir_status read_allocations(struct read_context *ctx)
{
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(read_entry(ctx));
    return ctx->json.status;
}
