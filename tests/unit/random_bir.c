/*
 * Modules, functions, storages, blocks and instruction headers of random BIR-JSON (bir-json.md sections 3 to 7, 11,
 * 12).
 *
 * A function's storages are made before its blocks, so that operands can name them; names that may be defined later
 * (dependencies, branch targets, callees) are text nodes filled in when everything they may name exists.
 */
#include "random_bir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_bir_gen.h"

#define TEXT(g, text) tree_text((g)->arena, (text))

static void resolve(struct gen *g, struct gen_references *references, const struct gen_names *names)
{
    for (uint32_t i = 0; i < references->count; i++) {
        const struct gen_reference *r = &references->items[i];
        const char *name = gen_pick(g, names->items, names->count);
        while (r->not_this && names->count > 1 && strcmp(name, r->not_this) == 0)
            name = gen_pick(g, names->items, names->count);
        r->text->text = name;
        r->text->len = strlen(name);
    }
    references->count = 0;
}

/* --- storages --- */

static void memory_type(struct gen *g, struct tree *location, const char *name)
{
    static const char *const names[] = { "Unallocated", "Input", "Output", "DRAM", "SB", "PSUM", "RNGSTATE", "REG" };
    struct tree *type = TEXT(g, name);
    for (unsigned i = 0; !g->tidy && i < 8 && gen_chance(g, 2); i++)
        if (strcmp(names[i], name) == 0) { /* some releases write the number */
            type = tree_int(g->arena, 1 << i);
            type->canonical = TEXT(g, name);
        }
    gen_put(g, location, "type", type);
}

static const struct gen_location *dram_location(struct gen *g)
{
    for (uint32_t i = 0; i < g->n_locations; i++)
        if (strcmp(g->locations[i].memory, "DRAM") == 0 && gen_chance(g, 2))
            return &g->locations[i];
    return NULL;
}

static struct tree *alias(struct gen *g, const struct gen_location *target)
{
    static const char *const kinds[] = { "1", "3", "true", "1.0" };
    const char *kind = GEN_PICK(g, kinds);
    struct tree *edge = gen_array(g), *list = gen_array(g);
    if (gen_chance(g, 2))
        tree_add(g->arena, edge, TEXT(g, target->set));
    tree_add(g->arena, edge, TEXT(g, target->name));
    tree_add(g->arena, edge, tree_scalar(g->arena, kind, kind));
    tree_add(g->arena, list, edge);
    return list;
}

static void location_links(struct gen *g, struct tree *location, const char *memory, bool is_pointer)
{
    const struct gen_location *target = dram_location(g);
    if (strcmp(memory, "DRAM") == 0 && target && gen_chance(g, 3))
        gen_put(g, location, "alias", alias(g, target));
    else if (strcmp(memory, "DRAM") == 0 && gen_chance(g, 8))
        tree_put(g->arena, location, TREE_IN, "alias", gen_array(g));
    if (strcmp(memory, "PSUM") == 0)
        gen_put_drop(g, location, "pack_id_hint", "-1", tree_int(g->arena, gen_below(g, 9)));
    if (is_pointer && g->n_locations > 0)
        gen_put_maybe(g, location, "pointer_ref_memloc", TEXT(g, g->locations[gen_below(g, g->n_locations)].name));
}

static void location_rest(struct gen *g, struct tree *location)
{
    static const char *const ids[] = { "memLocSetId", "var_id", "table_entry_id" };
    static const char *const flags[] = { "location_alt", "written_by_another_core", "is_shared_post_dram_alloc",
                                         "runtime_reserved", "user_allocated" };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        gen_put_drop(g, location, ids[i], "-1", tree_int(g->arena, gen_below(g, 1000)));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        gen_put_drop(g, location, flags[i], "false", tree_bool(g->arena, gen_chance(g, 2)));
    gen_put_drop(g, location, "origin", "Internal", gen_enum_member(g, "NamedObjectOrigin"));
    if (gen_chance(g, 4)) {
        gen_put_maybe(g, location, "remote_local_target", gen_json(g, 2));
        gen_put_maybe(g, location, "alloced_func", g->tidy ? TEXT(g, g->function) : gen_text(g));
        gen_put_maybe(g, location, "remote_writer_func", g->tidy ? TEXT(g, g->function) : gen_text(g));
        gen_put_maybe(g, location, "optin_passes", gen_json(g, 1));
        struct tree *metadata = gen_object(g);
        gen_unknown(g, metadata);
        gen_put_maybe(g, location, "device_print_metadata", metadata);
    }
}

static struct tree *location(struct gen *g, const char *set, const char *memory, bool is_pointer)
{
    struct tree *location = gen_object(g);
    const char *name = gen_new_name(g, "m");
    if (gen_chance(g, 2)) /* Skind need not be there */
        gen_put(g, location, "Skind", TEXT(g, "memory_location"));
    else
        tree_put(g->arena, location, TREE_OUT, "Skind", TEXT(g, "memory_location"));
    gen_put(g, location, "name", TEXT(g, name));
    memory_type(g, location, memory);
    gen_put(g, location, "dims", gen_ints(g, 1, 3, false));
    gen_put_always(g, location, "addr", "0", tree_int(g->arena, gen_int(g, false)));
    gen_put_maybe(g, location, "base", tree_int(g->arena, 32 * (int64_t)gen_below(g, 4)));
    gen_put_maybe(g, location, "bank", tree_int(g->arena, (int64_t)gen_below(g, 15) - 7));
    gen_put_maybe(g, location, "allocated", tree_bool(g->arena, gen_chance(g, 2)));
    gen_put_maybe(g, location, "pinned", tree_bool(g->arena, gen_chance(g, 2)));
    gen_put(g, location, "tensor_id", tree_int(g->arena, gen_below(g, 8)));
    location_links(g, location, memory, is_pointer);
    location_rest(g, location);
    gen_unknown(g, location);
    if (g->n_locations < GEN_NAMES)
        g->locations[g->n_locations++] = (struct gen_location){ name, set, memory };
    return location;
}

static struct tree *debug_of(struct gen *g, const char *const keys[3])
{
    struct tree *debug = gen_object(g);
    for (int i = 0; i < 3 && keys[i]; i++)
        gen_put_maybe(g, debug, keys[i], gen_json(g, 1));
    gen_unknown(g, debug);
    return debug;
}

static void set_rest(struct gen *g, struct tree *set)
{
    static const char *const flags[] = { "no_spill", "do_not_spill", "virtual", "volatile", "do_not_rotate" };
    static const char *const debug_keys[3] = { "tensor_name", "shape" };
    gen_put_maybe(g, set, "dtype", gen_enum(g, "Dtype"));
    gen_put_maybe(g, set, "tensor_shape", gen_ints(g, 0, 4, false));
    gen_put_maybe(g, set, "partition_dim", tree_int(g->arena, gen_below(g, 4)));
    gen_put_maybe(g, set, "addr_space", gen_enum(g, "MemoryAddressSpace"));
    gen_put_maybe(g, set, "tensor_class", gen_enum(g, "TensorClass"));
    gen_put_maybe(g, set, "tensorId2MemLocSize", tree_int(g->arena, gen_below(g, 9)));
    gen_put_drop(g, set, "file", "", gen_text(g));
    gen_put_drop(g, set, "origin", "Internal", gen_enum_member(g, "NamedObjectOrigin"));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        gen_put_drop(g, set, flags[i], "false", tree_bool(g->arena, gen_chance(g, 2)));
    gen_put_maybe(g, set, "debug", debug_of(g, debug_keys));
    if (gen_chance(g, 4))
        gen_put(g, set, "optin_passes", gen_json(g, 1));
    gen_unknown(g, set);
}

static struct tree *location_set(struct gen *g)
{
    static const char *const memories[] = { "DRAM", "DRAM", "SB", "SB", "PSUM", "Input", "Output", "REG" };
    const char *name = gen_new_name(g, "s"), *memory = GEN_PICK(g, memories);
    struct tree *set = gen_object(g), *kind = gen_enum(g, "TensorKind"), *locations = gen_array(g);
    tree_put(g->arena, set, gen_chance(g, 2) ? TREE_BOTH : TREE_OUT, "Skind", TEXT(g, "memory_location_set"));
    gen_put(g, set, "name", TEXT(g, name));
    gen_put(g, set, "kind", kind);
    for (uint32_t n = 1 + gen_below(g, 2); n > 0; n--)
        tree_add(g->arena, locations, location(g, name, memory, strcmp(kind->text, "Pointer") == 0));
    gen_put(g, set, "memorylocations", locations);
    set_rest(g, set);
    gen_name_add(&g->sets, name);
    return set;
}

static struct tree *register_entry(struct gen *g)
{
    struct tree *entry = gen_object(g);
    const char *name = gen_new_name(g, "r");
    bool wide = gen_chance(g, 4);
    tree_put(g->arena, entry, gen_chance(g, 2) ? TREE_BOTH : TREE_OUT, "Skind", TEXT(g, "register"));
    gen_put(g, entry, "name", TEXT(g, name));
    gen_put_maybe(g, entry, "dtype", gen_enum(g, "Dtype"));
    gen_put_drop(g, entry, "engine", "Unassigned", gen_enum(g, "EngineType"));
    gen_put_drop(g, entry, "origin", "Internal", gen_enum_member(g, "NamedObjectOrigin"));
    gen_put_drop(g, entry, "physical_id", "-1", tree_int(g->arena, gen_below(g, 32)));
    if (wide)
        gen_put(g, entry, "num_physical_regs", tree_int(g->arena, 2));
    else if (gen_chance(g, 4))
        tree_put(g->arena, entry, TREE_IN, "num_physical_regs", tree_int(g->arena, 1));
    gen_unknown(g, entry);
    gen_name_add(wide ? &g->wide_registers : &g->registers, name);
    return entry;
}

/* A storage of a kind that does not exist yet. */
static struct tree *future_entry(struct gen *g)
{
    struct tree *entry = gen_object(g);
    gen_put(g, entry, "Skind", TEXT(g, "register_file"));
    gen_put_maybe(g, entry, "name", TEXT(g, gen_new_name(g, "future")));
    gen_unknown(g, entry);
    return entry;
}

static struct tree *allocations(struct gen *g)
{
    struct tree *array = gen_array(g);
    for (uint32_t n = gen_below(g, 3); n > 0; n--)
        tree_add(g->arena, array, location_set(g));
    for (uint32_t n = gen_below(g, 4); n > 0; n--)
        tree_add(g->arena, array, register_entry(g));
    if (!g->tidy && gen_chance(g, 8))
        tree_add(g->arena, array, future_entry(g));
    return array;
}

/* --- small records --- */

static struct tree *edge_kind(struct gen *g, bool *is_flow)
{
    static const char *const names[] = { "Invalid", "Ordered", "Anti", "Output", "Flow" };
    uint32_t kind = gen_below(g, 8);
    *is_flow = kind == 4;
    struct tree *number = tree_int(g->arena, kind);
    if (kind > 4)
        return number;
    number->canonical = TEXT(g, names[kind]);
    return gen_chance(g, 2) ? number : number->canonical;
}

static struct tree *predicates(struct gen *g)
{
    struct tree *array = gen_array(g);
    for (uint32_t n = gen_below(g, 3); n > 0; n--) {
        struct tree *predicate = gen_object(g);
        gen_put(g, predicate, "expr", gen_expr(g));
        gen_put(g, predicate, "ge", tree_bool(g->arena, gen_chance(g, 2)));
        gen_unknown(g, predicate);
        tree_add(g->arena, array, gen_chance(g, 8) ? gen_text(g) : predicate);
    }
    return array;
}

static struct tree *expressions(struct gen *g)
{
    struct tree *array = gen_array(g);
    for (uint32_t n = gen_below(g, 3); n > 0; n--)
        tree_add(g->arena, array, gen_expr(g));
    return array;
}

static struct tree *edge(struct gen *g, const char *key, const char *name)
{
    bool loop_carried = key[0] == 'l', is_flow;
    struct tree *target = gen_refer(g, &g->instruction_references, loop_carried ? NULL : name);
    if (key[0] != 'u' && gen_chance(g, 3))
        return target;
    struct tree *array = gen_array(g);
    tree_add(g->arena, array, target);
    tree_add(g->arena, array, edge_kind(g, &is_flow));
    if (key[0] == 'u') {
        tree_add(g->arena, array, expressions(g));
        tree_add(g->arena, array, predicates(g));
    } else if (loop_carried && gen_chance(g, 2)) {
        tree_add(g->arena, array, gen_ints(g, 1, 1, false));
    }
    if (gen_chance(g, 12))
        tree_add(g->arena, array, gen_json(g, 2));
    return array;
}

static void edges(struct gen *g, struct tree *inst, const char *key, const char *name)
{
    if (!gen_chance(g, 4) || g->in_queue || g->instruction_references.count > 2 * GEN_NAMES)
        return;
    struct tree *array = gen_array(g);
    for (uint32_t n = gen_below(g, 3); n > 0; n--)
        tree_add(g->arena, array, edge(g, key, name));
    tree_put(g->arena, inst, array->count > 0 ? TREE_BOTH : TREE_IN, key, array);
}

/* Lenient reading takes any name. */
static struct tree *wait_register(struct gen *g)
{
    bool is_known = g->registers.count > 0 && (g->tidy || gen_chance(g, 2));
    return is_known ? TEXT(g, gen_pick(g, g->registers.items, g->registers.count)) : gen_text(g);
}

static struct tree *sync_records(struct gen *g, const char *value_key)
{
    struct tree *array = gen_array(g);
    for (uint32_t n = gen_below(g, 3); n > 0; n--) {
        struct tree *record = gen_object(g);
        if (value_key[0] == 'w') {
            gen_put_maybe(g, record, "from", gen_text(g));
            gen_put_maybe(g, record, "wait_mode", TEXT(g, "sem-ge-imm"));
            if (!g->tidy || g->registers.count > 0)
                gen_put_maybe(g, record, "wait_reg", wait_register(g));
        } else {
            gen_put_maybe(g, record, "update_mode", TEXT(g, "sem-inc"));
            gen_put_maybe(g, record, "target_core", tree_int(g->arena, gen_below(g, 8)));
        }
        gen_put_maybe(g, record, "type", TEXT(g, "semaphore"));
        gen_put(g, record, "id", tree_int(g->arena, gen_below(g, 256)));
        gen_put_maybe(g, record, value_key, tree_int(g->arena, gen_int(g, true)));
        gen_unknown(g, record);
        tree_add(g->arena, array, record);
    }
    return array;
}

static struct tree *sync_info(struct gen *g)
{
    struct tree *sync = gen_object(g);
    gen_put_maybe(g, sync, "on_wait", sync_records(g, "wait_value"));
    gen_put_maybe(g, sync, "on_update", sync_records(g, "update_value"));
    gen_unknown(g, sync);
    return sync;
}

/* --- blocks --- */

static struct tree *blocks(struct gen *g, uint32_t depth, uint32_t max);

static struct tree *loop_axis(struct gen *g, const char *name)
{
    struct tree *axis = gen_object(g);
    gen_put(g, axis, "name", TEXT(g, name));
    gen_put_always(g, axis, "lb", "0", tree_int(g->arena, gen_int(g, true)));
    gen_put_always(g, axis, "ub", "0", tree_int(g->arena, gen_int(g, true)));
    gen_put_always(g, axis, "stride", "0", tree_int(g->arena, gen_int(g, true)));
    gen_unknown(g, axis);
    return axis;
}

/* Bounds inside the axis; in the input they may stand beside it. */
static struct tree *dynamic_axis(struct gen *g, struct tree *inst, const char *name)
{
    static const char *const bounds[] = { "lb", "ub", "stride" };
    struct tree *axis = gen_object(g);
    gen_put(g, axis, "name", TEXT(g, name));
    for (int i = 0; i < 3; i++) {
        if (gen_chance(g, 5))
            continue;
        bool outside = gen_chance(g, 4);
        struct tree *bound = gen_expr(g);
        tree_put(g->arena, axis, outside ? TREE_OUT : TREE_BOTH, bounds[i], bound);
        if (outside)
            tree_put(g->arena, inst, TREE_IN, bounds[i], bound);
    }
    gen_unknown(g, axis);
    return axis;
}

static void region(struct gen *g, struct tree *inst, const char *op, uint32_t depth)
{
    bool is_loop = strcmp(op, "Loop") == 0, is_dynamic = strcmp(op, "DynamicForLoop") == 0;
    const char *axis = tree_printf(g->arena, "i%u", g->next_number++);
    if (is_loop)
        gen_put(g, inst, "LoopAxis", loop_axis(g, axis));
    if (is_dynamic)
        gen_put(g, inst, "DynamicForLoopAxis", dynamic_axis(g, inst, axis));
    if (is_loop || is_dynamic)
        gen_name_add(&g->axes, axis);
    gen_put(g, inst, "blocks", blocks(g, depth + 1, 2));
    if (is_loop || is_dynamic)
        g->axes.count--;
    if (is_loop && gen_chance(g, 2)) { /* left out when empty */
        struct tree *registers = gen_array(g);
        for (uint32_t i = 0; i < g->registers.count && i < 2; i++)
            tree_add(g->arena, registers, TEXT(g, g->registers.items[i]));
        tree_put(g->arena, inst, registers->count ? TREE_BOTH : TREE_IN, "registers", registers);
    }
}

/* Enclosing loops, or (lenient) loops that are gone. */
static void loopnest(struct gen *g, struct tree *inst)
{
    struct tree *array = gen_array(g);
    for (uint32_t i = 0; i < g->axes.count; i++)
        tree_add(g->arena, array, TEXT(g, g->axes.items[i]));
    if (!g->tidy && gen_chance(g, 6))
        tree_add(g->arena, array, TEXT(g, "gone"));
    tree_put(g->arena, inst, array->count > 0 ? TREE_BOTH : TREE_IN, "loopnest", array);
}

static void header_lists(struct gen *g, struct tree *inst)
{
    struct tree *order = expressions(g), *list = predicates(g);
    if (gen_chance(g, 6))
        tree_put(g->arena, inst, order->count > 0 ? TREE_BOTH : TREE_IN, "order", order);
    if (gen_chance(g, 6))
        tree_put(g->arena, inst, list->count > 0 ? TREE_BOTH : TREE_IN, "predicates", list);
    if (gen_chance(g, 4))
        loopnest(g, inst);
}

static struct tree *engine(struct gen *g)
{
    static const char *const aliases[] = { "Scalar", "Vector", "Tensor", "GPSIMD", "SyncDMA", "Sync", "All" };
    static const char *const names[] = { "Activation", "DVE", "PE", "Pool", "DMA", "SP", "ALL" };
    if (g->tidy || !gen_chance(g, 6))
        return gen_enum(g, "EngineType");
    uint32_t i = gen_below(g, 7);
    struct tree *text = TEXT(g, aliases[i]);
    text->canonical = TEXT(g, names[i]);
    return text;
}

static void header(struct gen *g, struct tree *inst, const char *name)
{
    static const char *const debug_keys[3] = { "op_name", "filename", "lineno" };
    gen_put_always(g, inst, "origin", "Internal", gen_enum_member(g, "NamedObjectOrigin"));
    gen_put_always(g, inst, "engine", "Unassigned", engine(g));
    gen_put_always(g, inst, "engine_id", "0", tree_int(g->arena, (int64_t)gen_below(g, UINT32_MAX)));
    gen_put_always(g, inst, "scheduled_start", "0", tree_int(g->arena, gen_int(g, true)));
    gen_put_always(g, inst, "scheduled_end", "0", tree_int(g->arena, gen_int(g, true)));
    gen_put_maybe(g, inst, "optin_passes", gen_chance(g, 2) ? gen_array(g) : gen_json(g, 1));
    edges(g, inst, "dependencies", name);
    edges(g, inst, "loop_carried_dependencies", name);
    edges(g, inst, "unroll_dependencies", name);
    if (gen_chance(g, 3))
        gen_put(g, inst, "sync_info", sync_info(g));
    if (gen_chance(g, 4))
        gen_put(g, inst, "debug", debug_of(g, debug_keys));
    header_lists(g, inst);
}

static bool is_abstract(const char *op)
{
    static const char *const names[] = { "Generic", "MatmultBase", "DMA", "Collective", "DMADescriptor", "Terminator" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(op, names[i]) == 0)
            return true;
    return false;
}

static bool is_region(const char *op)
{
    return strcmp(op, "Loop") == 0 || strcmp(op, "DynamicForLoop") == 0 || strcmp(op, "DoWhile") == 0 ||
           strcmp(op, "DMABlock") == 0;
}

static const char *pick_op(struct gen *g, uint32_t depth)
{
    const char *op = g->op;
    g->op = NULL;
    if (!op && gen_chance(g, 6))
        op = gen_chance(g, 2) ? "Loop" : "DynamicForLoop"; /* so that there is something to nest in */
    bool fits = op && (depth < 4 || !is_region(op)) && !(g->tidy && is_abstract(op)) &&
                (strcmp(op, "DMATrigger") != 0 || g->queues.count > 0);
    while (!fits) {
        op = g->tables->ops[gen_below(g, g->tables->n_opcodes)].name;
        fits = (depth < 4 || !is_region(op)) && !(g->tidy && is_abstract(op)) &&
               (strcmp(op, "DMATrigger") != 0 || g->queues.count > 0);
    }
    return op;
}

static void count_op(struct gen *g, const char *op)
{
    for (uint32_t i = 0; i < g->tables->n_opcodes; i++)
        g->tables->ops[i].count += strcmp(g->tables->ops[i].name, op) == 0;
}

/* An op of a later release: everything it has is kept. */
static void future_op(struct gen *g, struct tree *inst)
{
    gen_put(g, inst, "opcode", TEXT(g, "FutureOp"));
    gen_put_maybe(g, inst, "blocks", gen_json(g, 2));
    gen_put_maybe(g, inst, "registers", gen_json(g, 1));
    gen_put_maybe(g, inst, "mask", gen_json(g, 2));
    gen_put_maybe(g, inst, "op", gen_json(g, 1));
}

static void known_op(struct gen *g, struct tree *inst, const char *op, const char *name, uint32_t depth)
{
    gen_put(g, inst, "opcode", TEXT(g, op));
    count_op(g, op);
    gen_op_keys(g, inst, op, name);
    if (strcmp(op, "DMATrigger") == 0 && !tree_find(inst, "queue")) /* one needs a queue or blocks */
        gen_put(g, inst, "queue", TEXT(g, gen_pick(g, g->queues.items, g->queues.count)));
    if (strcmp(op, "DMATrigger") == 0 && tree_find(inst, "sync_info"))
        gen_put_maybe(g, inst, "dma_trigger_debug_update_semaphore_id", tree_int(g->arena, gen_below(g, 256)));
    if (g->tidy && strcmp(op, "GetGlobalRankId") == 0 && !tree_find(inst, "world_size"))
        gen_put(g, inst, "world_size", tree_int(g->arena, 2));
    if (is_region(op))
        region(g, inst, op, depth);
}

static struct tree *instruction(struct gen *g, uint32_t depth)
{
    struct tree *inst = gen_object(g);
    const char *op = pick_op(g, depth);
    bool is_twin = !g->tidy && !g->in_queue && g->instructions.count > 1 && gen_chance(g, 30);
    const char *name = is_twin ? gen_pick(g, g->instructions.items, g->instructions.count) : gen_new_name(g, "I-");
    bool is_future = !g->tidy && gen_chance(g, 30);
    if (is_future || strcmp(op, "Loop") != 0 || !gen_chance(g, 6)) /* a draft loop has no name */
        gen_put(g, inst, "name", TEXT(g, name));
    else
        name = NULL;
    if (name && !is_twin && !g->in_queue)
        gen_name_add(&g->instructions, name);
    gen_operands(g, inst);
    header(g, inst, name);
    if (is_future)
        future_op(g, inst);
    else
        known_op(g, inst, op, name, depth);
    gen_unknown(g, inst);
    return inst;
}

static struct tree *block_arguments(struct gen *g)
{
    struct tree *array = gen_array(g), *argument = gen_object(g), *values = gen_array(g), *value = gen_object(g);
    struct tree *name = gen_text(g);
    gen_put(g, value, "value", gen_chance(g, 2) ? name : gen_refer(g, &g->instruction_references, NULL));
    gen_put(g, value, "block", gen_refer(g, &g->block_references, NULL));
    tree_add(g->arena, values, value);
    gen_put(g, argument, "name", name);
    gen_put(g, argument, "incoming_values", values);
    tree_add(g->arena, array, argument);
    return array;
}

static struct tree *block(struct gen *g, uint32_t depth, const char *name)
{
    struct tree *block = gen_object(g), *instructions = gen_array(g);
    for (uint32_t n = gen_below(g, 5); n > 0 && g->budget > 0; n--) {
        g->budget--;
        tree_add(g->arena, instructions, instruction(g, depth));
    }
    tree_put(g->arena, block, instructions->count > 0 || gen_chance(g, 2) ? TREE_BOTH : TREE_OUT, "instructions",
             instructions);
    if (!g->in_queue || gen_chance(g, 2))
        gen_put(g, block, "name", TEXT(g, name));
    gen_put_drop(g, block, "origin", "Internal", gen_enum_member(g, "NamedObjectOrigin"));
    if (!g->in_queue && gen_chance(g, 10))
        gen_put(g, block, "arguments", block_arguments(g));
    gen_unknown(g, block);
    return block;
}

/* `main` comes first in the canonical form. Not in documents of version 1, whose elements are compared by place. */
static void move_main(struct gen *g, struct tree *array, uint32_t main_index)
{
    if (main_index == 0 || main_index >= array->count)
        return;
    struct tree *moved = gen_array(g);
    for (int pass = 0; pass < 2; pass++) {
        uint32_t i = 0;
        for (struct tree_member *m = array->first; m; m = m->next, i++)
            if ((i == main_index) == (pass == 0))
                tree_add(g->arena, moved, m->value);
    }
    array->canonical = moved;
}

static uint32_t pick_main(struct gen *g)
{
    return g->bir->version == 2 && !g->in_queue && gen_chance(g, 4) ? gen_below(g, 3) : UINT32_MAX;
}

static struct tree *blocks(struct gen *g, uint32_t depth, uint32_t max)
{
    struct tree *array = gen_array(g);
    uint32_t count = 1 + gen_below(g, max), main_index = pick_main(g);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = i == main_index ? "main" : gen_new_name(g, "Block");
        if (!g->in_queue)
            gen_name_add(&g->blocks, name);
        tree_add(g->arena, array, block(g, depth, name));
    }
    move_main(g, array, main_index);
    return array;
}

/* --- functions, queues, module --- */

static struct tree *function_attributes(struct gen *g)
{
    static const char *const names[] = { "no_spill", "need_dce", "need_unroll", "ready_for_codegen" };
    if (gen_chance(g, 2)) {
        struct tree *array = gen_array(g);
        for (uint32_t n = gen_below(g, 3); n > 0; n--)
            tree_add(g->arena, array, TEXT(g, GEN_PICK(g, names)));
        return array;
    }
    struct tree *object = gen_object(g);
    gen_put_maybe(g, object, "need_dce", tree_bool(g->arena, true));
    gen_put_maybe(g, object, "no_spill", gen_json(g, 1));
    gen_unknown(g, object);
    return object;
}

static void forget_function(struct gen *g)
{
    g->sets.count = g->registers.count = g->wide_registers.count = g->instructions.count = g->blocks.count = 0;
    g->n_locations = 0;
}

static struct tree *function(struct gen *g, const char *name)
{
    struct tree *function = gen_object(g);
    forget_function(g);
    g->function = name;
    gen_put(g, function, "name", TEXT(g, name));
    gen_put_drop(g, function, "origin", "Internal", gen_enum_member(g, "NamedObjectOrigin"));
    gen_put_maybe(g, function, "attributes", function_attributes(g));
    struct tree *storages = allocations(g);
    tree_put(g->arena, function, storages->count > 0 || gen_chance(g, 2) ? TREE_BOTH : TREE_OUT, "allocations",
             storages);
    gen_put(g, function, "blocks", blocks(g, 0, 3));
    if (g->instructions.count < 2) { /* references need two */
        struct tree *two = gen_array(g);
        for (int i = 0; i < 2; i++)
            tree_add(g->arena, two, instruction(g, 4));
        struct tree *last = gen_object(g);
        const char *block_name = gen_new_name(g, "Block");
        gen_put(g, last, "name", TEXT(g, block_name));
        gen_put(g, last, "instructions", two);
        struct tree *array = tree_find(function, "blocks")->value;
        tree_add(g->arena, array, last);
        if (array->canonical)
            tree_add(g->arena, array->canonical, last);
    }
    resolve(g, &g->instruction_references, &g->instructions);
    resolve(g, &g->block_references, &g->blocks);
    if (gen_chance(g, 8))
        gen_put(g, function, "optin_passes", gen_json(g, 1));
    gen_unknown(g, function);
    return function;
}

static struct tree *functions(struct gen *g, uint32_t count, const char *prefix)
{
    struct tree *array = gen_array(g);
    uint32_t main_index = pick_main(g);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = i == main_index ? "main" : gen_new_name(g, prefix);
        gen_name_add(&g->functions, name);
        tree_add(g->arena, array, function(g, name));
    }
    move_main(g, array, main_index);
    return array;
}

static struct tree *dma_block(struct gen *g, const char *name)
{
    struct tree *inst = gen_object(g);
    gen_put(g, inst, "name", TEXT(g, name));
    gen_put(g, inst, "opcode", TEXT(g, "DMABlock"));
    gen_operands(g, inst);
    header(g, inst, name);
    gen_op_keys(g, inst, "DMABlock", name);
    region(g, inst, "DMABlock", 3);
    gen_unknown(g, inst);
    return inst;
}

static struct tree *queue(struct gen *g, const char *name, bool last)
{
    struct tree *queue = gen_object(g), *array = gen_array(g), *block = gen_object(g), *instructions = gen_array(g);
    gen_put(g, queue, "name", TEXT(g, name));
    for (uint32_t i = 0; last && i < g->dma_blocks.count; i++)
        tree_add(g->arena, instructions, dma_block(g, g->dma_blocks.items[i]));
    gen_put(g, block, "instructions", instructions);
    gen_put_maybe(g, block, "name", TEXT(g, gen_new_name(g, "QBlock")));
    gen_unknown(g, block);
    tree_add(g->arena, array, block);
    if (last || gen_chance(g, 2))
        gen_put(g, queue, "blocks", array);
    gen_put_maybe(g, queue, "num_dma_engines", gen_json(g, 1));
    gen_put_maybe(g, queue, "attributes", gen_json(g, 2));
    gen_put_maybe(g, queue, "semaphore_groups", gen_json(g, 2));
    gen_unknown(g, queue);
    return queue;
}

/* The queues' names and their DMA blocks' are known before the functions are made; the rest is made afterwards. */
static void queues(struct gen *g, struct tree *module)
{
    struct tree *array = gen_array(g);
    g->in_queue = true;
    for (uint32_t i = 0; i < g->queues.count; i++)
        tree_add(g->arena, array, queue(g, g->queues.items[i], i + 1 == g->queues.count));
    g->in_queue = false;
    if (array->count > 0)
        gen_put(g, module, "queues", array);
    else if (gen_chance(g, 2))
        tree_put(g->arena, module, TREE_IN, "queues", array);
}

static struct tree *module_attributes(struct gen *g)
{
    static const char *const names[] = { "neuron_core_id", "previous_pass",    "neff_feature_DGE",    "loops_on_chip",
                                         "replica_groups", "src_target_pairs", "pass_sequence_number" };
    struct tree *object = gen_object(g);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (gen_chance(g, 3))
            gen_put(g, object, names[i], gen_json(g, 2));
    gen_unknown(g, object);
    return object;
}

static void module_head(struct gen *g, struct tree *module)
{
    static const char *const arches[] = { "inferentia", "sunda", "gen3", "core_v4", "core_v5" };
    struct tree *version = tree_int(g->arena, g->bir->version), *attributes = module_attributes(g);
    version->canonical = tree_int(g->arena, 2);
    gen_put(g, module, "version", version);
    gen_put(g, module, "arch", TEXT(g, !g->tidy && gen_chance(g, 12) ? "gen9" : GEN_PICK(g, arches)));
    bool old_key = gen_chance(g, 8), has_revision = gen_chance(g, 2);
    struct tree *revision = has_revision ? gen_enum(g, "ArchRevision") : TEXT(g, "v1");
    tree_put(g->arena, module, TREE_OUT, "revision", revision);
    if (has_revision)
        tree_put(g->arena, module, TREE_IN, old_key ? "archRev" : "revision", revision);
    if (gen_chance(g, 2))
        tree_put(g->arena, module, attributes->count > 0 ? TREE_BOTH : TREE_IN, "attributes", attributes);
    gen_put_maybe(g, module, "artifact_path", gen_text(g));
    if (gen_chance(g, 4)) {
        struct tree *info = gen_object(g);
        gen_put_maybe(g, info, "eng_dma", gen_json(g, 2));
        gen_unknown(g, info);
        gen_put(g, module, "artifact_info", info);
    }
    gen_put_maybe(g, module, "call_to_physical_memlocs", gen_json(g, 3));
}

static void nki_functions(struct gen *g, struct tree *module)
{
    struct tree *object = gen_object(g), *empty = gen_object(g);
    switch (gen_below(g, 4)) {
    case 0: gen_put(g, object, "functions", functions(g, 1 + gen_below(g, 2), "nki")); break;
    case 1:
        gen_put(g, object, "functions", gen_array(g));
        object->canonical = empty;
        break;
    case 2: break;
    default: return;
    }
    gen_put(g, module, "nki_functions", object);
}

static void make(struct gen *g)
{
    struct tree *module = gen_object(g);
    for (uint32_t n = gen_below(g, 3); n > 0; n--)
        gen_name_add(&g->queues, gen_new_name(g, "q"));
    for (uint32_t n = g->queues.count > 0 ? gen_below(g, 3) : 0; n > 0; n--)
        gen_name_add(&g->dma_blocks, gen_new_name(g, "D-"));
    module_head(g, module);
    uint32_t count = gen_chance(g, 20) ? 0 : 1 + gen_below(g, 2);
    gen_put(g, module, "functions", functions(g, count, "f"));
    struct gen after_functions = *g; /* what a queue may refer to */
    nki_functions(g, module);
    g->sets = after_functions.sets;
    g->registers = after_functions.registers;
    g->wide_registers = after_functions.wide_registers;
    g->n_locations = after_functions.n_locations;
    memcpy(g->locations, after_functions.locations, sizeof g->locations);
    g->function = after_functions.function;
    queues(g, module);
    if (g->functions.count > 0)
        resolve(g, &g->function_references, &g->functions);
    gen_unknown(g, module);
    g->bir->document = module;
    if (gen_chance(g, 8)) {
        struct tree *wrapper = gen_object(g);
        gen_put(g, wrapper, "module", module);
        wrapper->canonical = module;
        g->bir->document = wrapper;
    }
}

void random_bir_make(struct random_bir *bir, struct random_bir_tables *tables, const struct random_bir_options *options)
{
    struct gen g = { .arena = &bir->arena,
                     .bir = bir,
                     .tables = tables,
                     .random = options->seed,
                     .op = options->op,
                     .budget = options->size };
    memset(bir, 0, sizeof *bir);
    bir_arena_init(&bir->arena, 0);
    bir->version = gen_chance(&g, 4) ? 1 : 2;
    bir->strict = g.tidy = gen_chance(&g, 6) && !(options->op && is_abstract(options->op));
    bir->huge = gen_chance(&g, 8);
    make(&g);
}

void random_bir_free(struct random_bir *bir)
{
    bir_arena_deinit(&bir->arena);
}
