/*
 * Names, geometry and places of address tables; the pass that fills them is insert_address_tables.c, their reader
 * lower_ap.c.
 *
 * Tables and pointers get DRAM addresses in a region of their own behind every DRAM location of the module, 64-byte
 * aligned, in creation order. So the addresses are the same on every machine, and nothing an allocator gave out is
 * touched.
 */
#include "passes/address_table.h"

#define ALIGN_BYTES UINT64_C(64)

int64_t bir_partition_stride_bytes(enum bir_memory_type memory)
{
    switch (memory) {
    case BIR_MEMORY_SB: return BIR_SB_PARTITION_STRIDE_BYTES;
    case BIR_MEMORY_PSUM: return BIR_PSUM_PARTITION_STRIDE_BYTES;
    default: return 0;
    }
}

struct bir_stem bir_set_stem(const struct bir_set *set)
{
    const struct bir_str *name = set->base.name;
    uint32_t len = name->len;
    if (len > 4 && memcmp(name->text + len - 4, "_set", 4) == 0)
        len -= 4;
    return (struct bir_stem){ name->text, len > INT32_MAX ? INT32_MAX : (int)len };
}

static void space_reserve(struct bir_dram_space *space, uint64_t start, uint64_t size)
{
    uint64_t end;
    if (__builtin_add_overflow(start, size, &end) || __builtin_add_overflow(end, ALIGN_BYTES - 1, &end)) {
        space->full = true;
        return;
    }
    end &= ~(ALIGN_BYTES - 1);
    if (end > space->next_bytes)
        space->next_bytes = end;
}

bool bir_location_bytes(const struct bir_location *location, uint64_t *bytes)
{
    *bytes = 1;
    for (uint32_t i = 0; location->dims && i < location->dims->count; i++) {
        if (location->dims->items[i] < 0 || __builtin_mul_overflow(*bytes, (uint64_t)location->dims->items[i], bytes))
            return false;
    }
    return location->dims != NULL;
}

void bir_dram_space_init(struct bir_dram_space *space, const struct bir_module *module)
{
    *space = (struct bir_dram_space){ 0 };
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        for (uint32_t i = 0; i < f->storages.count; i++) {
            if (f->storages.items[i]->tag != BIR_STORAGE_SET)
                continue;
            const struct bir_set *set = (const struct bir_set *)f->storages.items[i];
            for (uint32_t k = 0; k < set->locations.count; k++) {
                const struct bir_location *location = set->locations.items[k];
                uint64_t size;
                if (location->type == BIR_MEMORY_DRAM && location->allocated && bir_location_bytes(location, &size))
                    space_reserve(space, location->addr_bytes, size);
            }
        }
    }
}

struct bir_location *bir_dram_location_new(struct bir_dram_space *space, struct bir_set *set,
                                           const struct bir_str *name, int64_t size_bytes)
{
    struct bir_module *module = set->base.function->module;
    int64_t dims[] = { 1, size_bytes };
    const struct bir_ints *shape = bir_ints_get(module, dims, 2);
    uint64_t start = space->next_bytes;
    space_reserve(space, start, (uint64_t)size_bytes);
    if (space->full || !shape)
        return NULL;
    struct bir_location *location = bir_location_new(set, name);
    if (!location)
        return NULL;
    location->type = BIR_MEMORY_DRAM;
    location->allocated = true;
    location->tensor_id = 0;
    location->addr_bytes = start;
    location->dims = shape;
    return location;
}

struct bir_set *bir_set_addr_table(struct bir_set *set)
{
    if (set->addr_table)
        return set->addr_table;
    struct bir_function *function = set->base.function;
    const struct bir_str *name = bir_intern_printf(&function->module->strings, "%s-addr-table", set->base.name->text);
    struct bir_set *table = name ? bir_function_find_set(function, name) : NULL;
    if (table && table->table_entries && table->locations.count == 1)
        set->addr_table = table;
    return set->addr_table;
}
