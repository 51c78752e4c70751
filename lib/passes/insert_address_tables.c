/*
 * Address tables for the sets that symbolic operands name (lowering.md 1.9 and correction 10).
 *
 * Entry b is the engine byte address of block b, the placement whose tensor_id is b:
 *   SBUF   base_partition * 0x40000 + addr
 *   PSUM   0x2000000 + base_partition * 0x8000 + |bank| * 0x800 + addr
 * A set with one placement and no tensor_id has one block, 0. The blocks 0..n-1 must each be placed exactly once, in
 * one memory; anything else is an error, because a table with a hole would send an engine to a wrong address.
 */
#include "passes/address_table.h"

struct insertion {
    struct bir_module *module;
    const struct bir_pass_context *context;
    struct bir_diags *diags;
    struct bir_dram_space dram;
    struct bir_map done;    /* sets looked at, good or bad */
    enum bir_status status; /* BIR_INVALID once a set was refused */
};

static const char *set_name(const struct bir_set *set)
{
    return set->base.name->text;
}

static enum bir_status refuse(struct insertion *in, const struct bir_location *location, const char *code,
                              const char *hint, const char *what, int64_t value, int64_t limit)
{
    return bir_fail(in->diags, code, bir_pass_place(location->base.source_offset), hint,
                    "location %s has %s %lld, beyond %lld", location->base.name->text, what, (long long)value,
                    (long long)limit);
}

/* For messages about what exceeds a small limit anyway. */
static int64_t saturated(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* The engine byte address of a placement. */
static enum bir_status entry_of(struct insertion *in, const struct bir_location *location, int64_t *entry)
{
    int64_t base = location->base_partition;
    int64_t stride = bir_partition_stride_bytes((enum bir_memory_type)location->type);
    if (!location->allocated)
        return bir_fail(in->diags, "lower-not-allocated", bir_pass_place(location->base.source_offset),
                        "run allocate_memory first", "location %s has no address", location->base.name->text);
    if (base >= BIR_PARTITIONS)
        return refuse(in, location, "lower-table-address", "use partitions 0 to 127", "base partition", base,
                      BIR_PARTITIONS - 1);
    if (location->type == BIR_MEMORY_SB) {
        if (location->addr_bytes >= (uint64_t)stride)
            return refuse(in, location, "lower-table-address", "addr is the byte offset inside a partition", "addr",
                          saturated(location->addr_bytes), stride - 1);
        *entry = base * stride + (int64_t)location->addr_bytes;
        return BIR_OK;
    }
    int64_t bank = location->bank < 0 ? -(int64_t)location->bank : location->bank;
    if (bank >= BIR_PSUM_BANKS)
        return refuse(in, location, "lower-table-address", "PSUM has banks 0 to 7", "bank", bank, BIR_PSUM_BANKS - 1);
    if (location->addr_bytes >= (uint64_t)((BIR_PSUM_BANKS - bank) * BIR_PSUM_BANK_BYTES))
        return refuse(in, location, "lower-table-address", "addr is the byte offset inside the bank", "addr",
                      saturated(location->addr_bytes), BIR_PSUM_BANK_BYTES - 1);
    *entry = BIR_PSUM_WINDOW_BYTES + base * stride + bank * BIR_PSUM_BANK_BYTES + (int64_t)location->addr_bytes;
    return BIR_OK;
}

/* Block number of the i-th placement, or -1 when it has none. */
static int64_t block_number(const struct bir_set *set, uint32_t i)
{
    int32_t id = set->locations.items[i]->tensor_id;
    return id < 0 && set->locations.count == 1 ? 0 : id;
}

/* Fills entries[0..blocks-1], every one exactly once. */
static enum bir_status fill_entries(struct insertion *in, const struct bir_set *set, int64_t *entries, bool *seen)
{
    int64_t blocks = set->n_blocks;
    for (uint32_t i = 0; i < set->locations.count; i++) {
        const struct bir_location *location = set->locations.items[i];
        int64_t b = block_number(set, i);
        int64_t place = bir_pass_place(location->base.source_offset);
        if (b < 0 || b >= blocks)
            return bir_fail(in->diags, "lower-table-block", place, "number the placements from 0 by tensor_id",
                            "location %s is block %lld of set %s, which has %lld", location->base.name->text,
                            (long long)b, set_name(set), (long long)blocks);
        if (seen[b])
            return bir_fail(in->diags, "lower-table-block", place, "give each placement its own tensor_id",
                            "block %lld of set %s has two placements", (long long)b, set_name(set));
        if (location->type != set->locations.items[0]->type)
            return bir_fail(in->diags, "lower-table-memory", place, "place all blocks in one memory",
                            "location %s is in another memory than the first block of set %s",
                            location->base.name->text, set_name(set));
        BIR_TRY(entry_of(in, location, &entries[b]));
        seen[b] = true;
    }
    return BIR_OK;
}

static enum bir_status make_entries(struct insertion *in, const struct bir_set *set, const struct bir_ints **out)
{
    struct bir_arena *scratch = in->context->scratch;
    int64_t blocks = set->n_blocks;
    if (blocks != (int64_t)set->locations.count)
        return bir_fail(in->diags, "lower-table-block", bir_pass_place(set->base.source_offset),
                        "give the set one placement for each tensor_id", "set %s has %lld blocks, but %u are placed",
                        set_name(set), (long long)blocks, set->locations.count);
    int64_t *entries = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, set->locations.count, sizeof *entries);
    bool *seen = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, set->locations.count, sizeof *seen);
    if (!entries || !seen)
        return bir_arena_failure(scratch);
    BIR_TRY(fill_entries(in, set, entries, seen));
    *out = bir_ints_get(in->module, entries, set->locations.count);
    return *out ? BIR_OK : bir_arena_failure(&in->module->arena);
}

static enum bir_status new_table(struct insertion *in, struct bir_set *set, const struct bir_ints *entries)
{
    struct bir_module *module = in->module;
    struct bir_stem stem = bir_set_stem(set);
    int64_t shape[] = { 1, entries->count };
    const struct bir_str *name = bir_intern_printf(&module->strings, "%s-addr-table", set_name(set));
    const struct bir_str *location_name = bir_intern_printf(&module->strings, "%.*s-addr-table", stem.len, stem.text);
    const struct bir_str *class = bir_intern_cstr(&module->strings, "Tensor");
    const struct bir_ints *tensor_shape = bir_ints_get(module, shape, 2);
    if (!name || !location_name || !class || !tensor_shape)
        return bir_arena_failure(&module->arena);
    if (bir_function_find_set(set->base.function, name) ||
        bir_function_find_location(set->base.function, location_name))
        return bir_fail(in->diags, "lower-table-name", bir_pass_place(set->base.source_offset), "rename it",
                        "the names of set %s's address table are taken: %s, %s", set_name(set), name->text,
                        location_name->text);
    struct bir_set *table = bir_set_new(set->base.function, name);
    if (!table)
        return bir_arena_failure(&module->arena);
    table->kind = BIR_TENSOR_CONST;
    table->base.dtype = BIR_DTYPE_INT32;
    table->tensor_class = class;
    table->tensor_shape = tensor_shape;
    table->n_blocks = 1;
    table->table_entries = entries;
    if (!bir_dram_location_new(&in->dram, table, location_name, BIR_ADDRESS_ENTRY_BYTES * (int64_t)entries->count))
        return in->dram.full ? bir_fail(in->diags, "lower-table-dram", bir_pass_place(set->base.source_offset), NULL,
                                        "no DRAM address is left for the address table of set %s", set_name(set))
                             : bir_arena_failure(&module->arena);
    set->addr_table = table;
    in->context->stats->address_tables++;
    return BIR_OK;
}

static enum bir_status insert_table(struct insertion *in, struct bir_set *set)
{
    const struct bir_ints *entries = NULL;
    BIR_TRY(make_entries(in, set, &entries));
    struct bir_set *table = bir_set_addr_table(set);
    if (!table)
        return new_table(in, set, entries);
    table->table_entries = entries; /* of a dump: the placements may have changed since */
    return BIR_OK;
}

static enum bir_status visit_operand(struct insertion *in, const struct bir_argument *arg)
{
    if (arg->kind != BIR_ARG_SYMBOLIC_AP || !arg->location || arg->location->tag != BIR_STORAGE_SET)
        return BIR_OK; /* lower_ap says what is wrong with the others */
    struct bir_set *set = (struct bir_set *)arg->location;
    if (bir_map_get(&in->done, set) || bir_partition_stride_bytes(bir_set_memory(set)) == 0)
        return BIR_OK;
    if (!bir_map_put(&in->done, in->context->scratch, set, set))
        return bir_arena_failure(in->context->scratch);
    enum bir_status status = insert_table(in, set);
    if (status == BIR_INVALID) { /* report the other sets too */
        in->status = status;
        return BIR_OK;
    }
    return status;
}

static enum bir_status visit_function(struct insertion *in, struct bir_function *function)
{
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(in->context, inst, n++));
        for (int role = 0; role < BIR_ROLE_COUNT; role++) {
            BIR_EACH_ARGUMENT (arg, inst, role)
                BIR_TRY(visit_operand(in, arg));
        }
    }
    return BIR_OK;
}

/*
 * Entry: every placement of a set that a symbolic operand names has an address (allocate_memory).
 * Exit: each such set in SBUF or PSUM has addr_table, with the entries of the present addresses.
 * Invalidates: nothing. Addresses must not change afterwards; when they did, run it again.
 */
enum bir_status bir_pass_insert_address_tables(struct bir_module *module, const struct bir_pass_context *context,
                                               struct bir_diags *diags)
{
    struct insertion in = { .module = module, .context = context, .diags = diags };
    bir_dram_space_init(&in.dram, module);
    BIR_EACH_CODE_FUNCTION(f, module)
    BIR_TRY(visit_function(&in, f));
    return in.status;
}
