/* Small modules for the tests of allocate_memory: a function with one block to begin with, tensors, instructions. */
#ifndef TESTS_ALLOCATE_WORLD_H
#define TESTS_ALLOCATE_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "passes/pass.h"
#include "unit.h"

struct world {
    struct bir_module *module;
    struct bir_function *function;
    struct bir_block *block;
    struct bir_arena scratch, diag_arena;
    struct bir_diags diags;
    struct bir_pass_stats stats;
    struct bir_pass_options options;
    uint32_t made;
};

/* No Check assertion in what the test of failing allocations runs (alloc_fail.h). */
static inline void require(const void *object)
{
    if (!object)
        abort();
}

static inline const struct bir_str *name_of(struct world *w, const char *prefix, uint32_t n)
{
    const struct bir_str *name = bir_intern_printf(&w->module->strings, "%s%u", prefix, n);
    require(name);
    return name;
}

static inline void world_open(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->module = bir_module_new(0);
    w->module->arch = BIR_ARCH_GEN3;
    w->function = bir_function_new(w->module, name_of(w, "f", 0), false);
    w->block = bir_block_new(w->module, &w->function->body, name_of(w, "b", 0));
    bir_arena_init(&w->scratch, 0);
    bir_arena_init(&w->diag_arena, 0);
    bir_diags_init(&w->diags, &w->diag_arena, 100);
}

static inline void world_close(struct world *w)
{
    bir_module_free(w->module);
    bir_arena_deinit(&w->scratch);
    bir_arena_deinit(&w->diag_arena);
}

static inline struct bir_location *tensor(struct world *w, enum bir_memory_type type, int64_t rows, int64_t bytes)
{
    uint32_t n = w->made++;
    struct bir_set *set = bir_set_new(w->function, name_of(w, "s", n));
    struct bir_location *location = bir_location_new(set, name_of(w, "t", n));
    require(location);
    set->kind = BIR_TENSOR_INTERNAL;
    set->base.dtype = BIR_DTYPE_UINT8;
    location->type = (uint8_t)type;
    location->tensor_id = 0;
    location->dims = bir_ints_get(w->module, (const int64_t[]){ rows, bytes }, 2);
    return location;
}

static inline struct bir_location *fixed(struct bir_location *location, uint32_t base, int32_t bank, uint64_t addr)
{
    location->allocated = true;
    location->base_partition = base;
    location->bank = bank;
    location->addr_bytes = addr;
    return location;
}

static inline struct bir_instruction *in_block(struct world *w, struct bir_block *block, enum bir_opcode opcode)
{
    struct bir_instruction *inst = bir_instruction_new(w->module, opcode, BIR_ENGINE_DVE, name_of(w, "i", w->made++));
    require(inst);
    bir_block_append(block, inst);
    return inst;
}

static inline void operand(struct world *w, struct bir_instruction *inst, enum bir_role role,
                           struct bir_location *location)
{
    const struct bir_pair pair = { 1, 1 };
    const struct bir_pattern *pattern = bir_pattern_get(w->module, &pair, 1);
    require(bir_add_physical_ap(w->module, inst, role, location, pattern, 0, BIR_DTYPE_UINT8));
}

/* An instruction at the end of the block that writes `out` and reads `in`; either may be NULL. */
static inline struct bir_instruction *use(struct world *w, struct bir_location *out, struct bir_location *in)
{
    struct bir_instruction *inst = in_block(w, w->block, BIR_OP_TENSOR_COPY);
    if (in)
        operand(w, inst, BIR_ROLE_IN, in);
    if (out)
        operand(w, inst, BIR_ROLE_OUT, out);
    return inst;
}

static inline enum bir_status allocate(struct world *w)
{
    struct bir_pass_context context = { .options = w->options, .stats = &w->stats, .scratch = &w->scratch };
    return bir_pass_allocate_memory(w->module, &context, &w->diags);
}

static inline uint64_t start_byte(const struct bir_location *location)
{
    uint64_t bank = (uint64_t)(location->bank < 0 ? -location->bank : location->bank);
    return location->addr_bytes + (location->type == BIR_MEMORY_PSUM ? bank * 2048 : 0);
}

static inline bool share_a_byte(const struct bir_location *a, const struct bir_location *b)
{
    uint64_t rows_a = (uint64_t)a->dims->items[0], rows_b = (uint64_t)b->dims->items[0];
    uint64_t bytes_a = (uint64_t)a->dims->items[1], bytes_b = (uint64_t)b->dims->items[1];
    bool rows = a->base_partition < b->base_partition + rows_b && b->base_partition < a->base_partition + rows_a;
    bool bytes = start_byte(a) < start_byte(b) + bytes_b && start_byte(b) < start_byte(a) + bytes_a;
    return a->type == b->type && rows && bytes;
}

static inline void text_key(struct world *w, struct bir_instruction *inst, const char *key,
                            const struct bir_block *target)
{
    struct bir_prop prop = { .key = bir_intern_cstr(&w->module->strings, key),
                             .type = BIR_VALUE_TEXT,
                             .u.s = target->name };
    inst->props = bir_props_with(w->module, inst->props, key, &prop);
    ck_assert_ptr_nonnull(inst->props);
}

#endif
