/*
 * Storages (bir-json.md section 5). A key whose value is the default is written when the input had it, or when the
 * object is new; the flags of the objects say which.
 */
#include "bir/write.h"

static void write_dtype(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_storage *storage)
{
    if ((storage->flags & BIR_STORAGEF_DTYPE_ABSENT) || storage->dtype == BIR_ENUM_UNKNOWN)
        return;
    WRITE_FIELD(w, props, "dtype");
    write_name(w, bir_dtype_name(storage->dtype));
}

/* Location keys in byte order: up to dims, and behind. */
static void write_location_place(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_location *l)
{
    WRITE_FIELD(w, props, "Skind");
    WRITE_NAME(w, "memory_location");
    WRITE_FIELD(w, props, "addr");
    bir_json_put_u64(w, l->addr_bytes);
    if (l->allocated || (l->present & BIR_LOCF_ALLOCATED)) {
        WRITE_FIELD(w, props, "allocated");
        bir_json_put_bool(w, l->allocated);
    }
    if (l->bank || (l->present & BIR_LOCF_BANK)) {
        WRITE_FIELD(w, props, "bank");
        bir_json_put_i64(w, l->bank);
    }
    if (l->base_partition || (l->present & BIR_LOCF_BASE)) {
        WRITE_FIELD(w, props, "base");
        bir_json_put_u64(w, l->base_partition);
    }
    if (l->dims) {
        WRITE_FIELD(w, props, "dims");
        write_ints(w, l->dims);
    }
}

static void write_location(struct bir_json_writer *w, const struct bir_location *l)
{
    struct prop_cursor props = write_cursor(l->base.props);
    bir_json_put_object_begin(w);
    write_location_place(w, &props, l);
    WRITE_FIELD(w, &props, "name");
    write_str(w, l->base.name);
    write_origin(w, &props, l->base.origin);
    if (l->pinned || (l->present & BIR_LOCF_PINNED)) {
        WRITE_FIELD(w, &props, "pinned");
        bir_json_put_bool(w, l->pinned);
    }
    if (l->pointer_target) {
        WRITE_FIELD(w, &props, "pointer_ref_memloc");
        write_str(w, l->pointer_target->base.name);
    }
    if (l->tensor_id >= 0) {
        WRITE_FIELD(w, &props, "tensor_id");
        bir_json_put_i64(w, l->tensor_id);
    }
    if (l->type != BIR_MEMORY_NONE) {
        WRITE_FIELD(w, &props, "type");
        write_name(w, bir_enum_name(BIR_ENUM_MEMORY_TYPE, l->type));
    }
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

static void write_set_head(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_set *set)
{
    WRITE_FIELD(w, props, "Skind");
    WRITE_NAME(w, "memory_location_set");
    if (set->addr_space != BIR_ENUM_UNKNOWN && !(set->base.flags & BIR_STORAGEF_ADDR_SPACE_ABSENT)) {
        WRITE_FIELD(w, props, "addr_space");
        write_name(w, bir_enum_name(BIR_ENUM_ADDRESS_SPACE, set->addr_space));
    }
    if (set->table_entries) {
        WRITE_FIELD(w, props, "addr_table");
        write_ints(w, set->table_entries);
    }
    write_dtype(w, props, &set->base);
    if (set->kind != BIR_ENUM_UNKNOWN) {
        WRITE_FIELD(w, props, "kind");
        write_name(w, bir_enum_name(BIR_ENUM_TENSOR_KIND, set->kind));
    }
    WRITE_FIELD(w, props, "memorylocations");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < set->locations.count; i++)
        write_location(w, set->locations.items[i]);
    bir_json_put_array_end(w);
}

static void write_set(struct bir_json_writer *w, const struct bir_set *set)
{
    struct prop_cursor props = write_cursor(set->base.props);
    bir_json_put_object_begin(w);
    write_set_head(w, &props, set);
    WRITE_FIELD(w, &props, "name");
    write_str(w, set->base.name);
    write_origin(w, &props, set->base.origin);
    if (set->partition_dim || !(set->base.flags & BIR_STORAGEF_PARTITION_DIM_ABSENT)) {
        WRITE_FIELD(w, &props, "partition_dim");
        bir_json_put_i64(w, set->partition_dim);
    }
    if (!(set->base.flags & BIR_STORAGEF_N_BLOCKS_ABSENT) || set->n_blocks != (int64_t)set->locations.count) {
        WRITE_FIELD(w, &props, "tensorId2MemLocSize");
        bir_json_put_i64(w, set->n_blocks);
    }
    if (set->tensor_class) {
        WRITE_FIELD(w, &props, "tensor_class");
        write_str(w, set->tensor_class);
    }
    if (set->tensor_shape) {
        WRITE_FIELD(w, &props, "tensor_shape");
        write_ints(w, set->tensor_shape);
    }
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

static void write_register(struct bir_json_writer *w, const struct bir_register *reg)
{
    struct prop_cursor props = write_cursor(reg->base.props);
    bir_json_put_object_begin(w);
    if (!bir_props_find(reg->base.props, "Skind")) { /* an entry of a foreign kind has its own */
        WRITE_FIELD(w, &props, "Skind");
        WRITE_NAME(w, "register");
    }
    write_dtype(w, &props, &reg->base);
    if (reg->engine != BIR_ENGINE_UNASSIGNED && reg->engine != BIR_ENUM_UNKNOWN) {
        WRITE_FIELD(w, &props, "engine");
        write_name(w, bir_engine_name(reg->engine));
    }
    if (reg->base.name) {
        WRITE_FIELD(w, &props, "name");
        write_str(w, reg->base.name);
    }
    if (reg->num_physical != 1) {
        WRITE_FIELD(w, &props, "num_physical_regs");
        bir_json_put_u64(w, reg->num_physical);
    }
    write_origin(w, &props, reg->base.origin);
    if (reg->physical_id >= 0) {
        WRITE_FIELD(w, &props, "physical_id");
        bir_json_put_i64(w, reg->physical_id);
    }
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

void write_storage(struct bir_json_writer *w, const struct bir_storage *storage)
{
    if (storage->tag == BIR_STORAGE_SET)
        write_set(w, (const struct bir_set *)storage);
    else
        write_register(w, (const struct bir_register *)storage);
}
