/* A module with one block, built through the API of bir/module.h, and builders of its parts. */
#ifndef TESTS_ISA_MODULE_H
#define TESTS_ISA_MODULE_H

#include "bir/module.h"
#include "isa_tsv.h"

static struct bir_module *module;
static struct bir_function *function;
static struct bir_block *block;
static struct bir_arena diag_arena;
static struct bir_diags diags;
static struct bir_buf out;

static inline const struct bir_str *name_of(const char *text)
{
    const struct bir_str *name = bir_intern_cstr(&module->strings, text);
    ck_assert_ptr_nonnull(name);
    return name;
}

static inline void setup(enum bir_arch arch)
{
    module = bir_module_new(0);
    ck_assert_ptr_nonnull(module);
    module->arch = arch;
    function = bir_function_new(module, name_of("f"), false);
    ck_assert_ptr_nonnull(function);
    block = bir_block_new(module, &function->body, name_of("b"));
    ck_assert_ptr_nonnull(block);
    bir_arena_init(&diag_arena, 0);
    bir_diags_init(&diags, &diag_arena, 100);
    bir_buf_init(&out, 0);
}

static inline void teardown(void)
{
    bir_buf_deinit(&out);
    bir_arena_deinit(&diag_arena);
    bir_module_free(module);
}

static inline struct bir_location *new_location(const char *name, enum bir_memory_type type, int64_t partitions,
                                                int64_t row_bytes)
{
    char set_name[64];
    snprintf(set_name, sizeof set_name, "%s_set", name);
    struct bir_set *set = bir_set_new(function, name_of(set_name));
    ck_assert_ptr_nonnull(set);
    struct bir_location *location = bir_location_new(set, name_of(name));
    ck_assert_ptr_nonnull(location);
    int64_t dims[2] = { partitions, row_bytes };
    location->type = (uint8_t)type;
    location->allocated = true;
    location->dims = bir_ints_get(module, dims, 2);
    ck_assert_ptr_nonnull(location->dims);
    return location;
}

static inline struct bir_instruction *new_instruction(enum bir_opcode opcode, enum bir_engine engine, const char *name)
{
    struct bir_instruction *inst = bir_instruction_new(module, opcode, engine, name_of(name));
    ck_assert_ptr_nonnull(inst);
    bir_block_append(block, inst);
    return inst;
}

static inline const struct bir_pattern *pattern(const struct bir_pair *pairs, uint32_t rank)
{
    const struct bir_pattern *p = bir_pattern_get(module, pairs, rank);
    ck_assert_ptr_nonnull(p);
    return p;
}
#define PATTERN(...)                                                                                                   \
    pattern((struct bir_pair[]){ __VA_ARGS__ }, sizeof((struct bir_pair[]){ __VA_ARGS__ }) / sizeof(struct bir_pair))

static inline struct bir_argument *add(struct bir_instruction *inst, enum bir_role role, struct bir_location *location,
                                       const struct bir_pattern *p, int64_t offset, enum bir_dtype dtype)
{
    struct bir_physical_ap *ap = bir_add_physical_ap(module, inst, role, location, p, offset, dtype);
    ck_assert_ptr_nonnull(ap);
    return &ap->base;
}

static inline struct bir_register *new_register(const char *name, int id)
{
    struct bir_register *reg = bir_function_add_register(function, name_of(name), BIR_ENGINE_DVE, 1);
    ck_assert_ptr_nonnull(reg);
    reg->physical_id = (int16_t)id;
    return reg;
}

static inline struct bir_register_ap *add_register_ap(struct bir_instruction *inst, enum bir_role role,
                                                      struct bir_location *location, const struct bir_pattern *p,
                                                      struct bir_register *reg, enum bir_dtype dtype)
{
    struct bir_register_ap *ap =
        (struct bir_register_ap *)bir_argument_new(module, inst, BIR_ARG_REGISTER_AP, role, dtype);
    ck_assert_ptr_nonnull(ap);
    bir_argument_set_location(&ap->base, &location->set->base, role == BIR_ROLE_OUT, true);
    ap->pattern = p;
    ap->address = reg;
    return ap;
}

#endif
