/* Random operands of every kind on a small module, for the tests of object images. */
#ifndef TESTS_ABI_RANDOM_H
#define TESTS_ABI_RANDOM_H

#include "base/random.h"
#include "bir/module.h"

#define ABI_SPELLINGS 8
static const char *const abi_spellings[ABI_SPELLINGS] = { "physical_ap", "symbolic_ap",    "symbolic_pwap",
                                                          "register_ap", "imm_value",      "symbolic_imm_value",
                                                          "imm_array",   "register_access" };

struct abi_fixture {
    struct bir_module *module;
    struct bir_block *block;
    struct bir_set *set;
    struct bir_location *location;
    struct bir_register *registers[3];
    struct pelican_axis *axes[4];
    struct bir_instruction *inst;
    uint64_t seed;
};

/* False when memory ran out; the module is to be freed either way. */
static inline bool abi_fixture_make(struct abi_fixture *f, uint64_t seed)
{
    *f = (struct abi_fixture){ .module = bir_module_new(0), .seed = seed };
    if (!f->module)
        return false;
    struct bir_strtab *strings = &f->module->strings;
    struct bir_function *function = bir_function_new(f->module, bir_intern_cstr(strings, "f"), false);
    if (!function)
        return false;
    f->block = bir_block_new(f->module, &function->body, bir_intern_cstr(strings, "Block1"));
    f->set = bir_set_new(function, bir_intern_cstr(strings, "a_set"));
    f->location = f->set ? bir_location_new(f->set, bir_intern_cstr(strings, "a")) : NULL;
    for (unsigned i = 0; i < 3; i++)
        f->registers[i] = bir_function_add_register(function, bir_intern_printf(strings, "r%u", i), BIR_ENGINE_SP, 1);
    for (unsigned i = 0; i < 4; i++)
        f->axes[i] = pelican_axis_new(&f->module->expressions, bir_intern_printf(strings, "i%u", i), 0, 8, 1);
    f->inst = bir_instruction_new(f->module, BIR_OP_TENSOR_COPY, BIR_ENGINE_DVE, bir_intern_cstr(strings, "copy"));
    bool made = f->block && f->location && f->inst && f->axes[3] && f->registers[2];
    if (made)
        bir_block_append(f->block, f->inst);
    return made;
}

static inline uint64_t abi_below(struct abi_fixture *f, uint64_t bound)
{
    return bir_random_below(&f->seed, bound);
}

static inline int64_t abi_number(struct abi_fixture *f)
{
    uint64_t bits = bir_random_next(&f->seed);
    return (int64_t)(abi_below(f, 4) == 0 ? bits : bits % 1000) - (int64_t)abi_below(f, 500);
}

static inline const struct bir_pattern *abi_pattern(struct abi_fixture *f)
{
    struct bir_pair pairs[BIR_PATTERN_MAX_RANK];
    uint32_t rank = (uint32_t)abi_below(f, abi_below(f, 4) ? 5 : BIR_PATTERN_MAX_RANK) + 1;
    for (uint32_t i = 0; i < rank; i++)
        pairs[i] = (struct bir_pair){ abi_number(f), (int64_t)abi_below(f, 512) };
    return bir_pattern_get(f->module, pairs, rank);
}

/* A sum over up to four axes and a register, sometimes behind a modulo. */
static inline const struct pelican_expr *abi_expr(struct abi_fixture *f)
{
    struct pelican_context *ctx = &f->module->expressions;
    struct pelican_term terms[5];
    uint32_t n = 0;
    for (unsigned i = 0; i < 4; i++)
        if (abi_below(f, 2))
            terms[n++] =
                (struct pelican_term){ pelican_affine_iv(ctx, f->axes[3 - i]), (int64_t)abi_below(f, 99) - 50 };
    if (abi_below(f, 3) == 0)
        terms[n++] = (struct pelican_term){ pelican_runtime_value(ctx, f->registers[abi_below(f, 3)]), 7 };
    for (uint32_t i = 0; i < n; i++)
        if (!terms[i].index)
            return NULL;
    const struct pelican_expr *e = pelican_affine(ctx, (int64_t)abi_below(f, 4096) - 100, terms, n);
    return e && abi_below(f, 3) == 0 ? pelican_modulo(ctx, e, (int64_t)abi_below(f, 9) + 1) : e;
}

static inline bool abi_dynamic(struct abi_fixture *f, struct bir_argument_rare *rare)
{
    struct bir_arena *arena = &f->module->arena;
    struct bir_dynamic_info *info = BIR_NEW(arena, BIR_MEM_ARGUMENTS, struct bir_dynamic_info);
    uint32_t n = (uint32_t)abi_below(f, 4);
    struct bir_dynamic_term *terms = bir_arena_alloc_array(arena, BIR_MEM_ARGUMENTS, n, sizeof *terms);
    if (!info || !terms)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        terms[i] = (struct bir_dynamic_term){ .expr = abi_expr(f), .coef = abi_number(f) };
        if (!terms[i].expr)
            return false;
    }
    *info = (struct bir_dynamic_info){ .actual = abi_pattern(f),
                                       .terms = terms,
                                       .n_terms = n,
                                       .indirect_dim = (uint8_t)abi_below(f, 4),
                                       .c_elems = abi_number(f),
                                       .indirect_dim_max_index = (int64_t)abi_below(f, 1 << 20) };
    rare->dynamic = info;
    return info->actual != NULL;
}

static inline bool abi_fill_access(struct abi_fixture *f, struct bir_argument *arg)
{
    int64_t shape[6];
    uint32_t n = (uint32_t)abi_below(f, 7);
    if (abi_below(f, 2) == 0)
        return true;
    for (uint32_t i = 0; i < n; i++)
        shape[i] = (int64_t)abi_below(f, 2048);
    struct bir_argument_rare *rare = bir_argument_need_rare(f->module, arg);
    if (!rare || !(rare->access_shape = bir_ints_get(f->module, shape, n)))
        return false;
    return arg->kind != BIR_ARG_PHYSICAL_AP || abi_dynamic(f, rare);
}

static inline struct bir_argument *abi_symbolic(struct abi_fixture *f, enum bir_role role, enum bir_dtype dtype)
{
    const struct pelican_expr *addrs[3];
    uint32_t n = (uint32_t)abi_below(f, 4);
    for (uint32_t i = 0; i < n; i++)
        if (!(addrs[i] = abi_expr(f)))
            return NULL;
    struct bir_symbolic_ap *ap = bir_symbolic_ap_new(f->module, f->inst, role, dtype, addrs, n);
    return ap ? &ap->base : NULL;
}

static inline bool abi_fill_symbolic(struct abi_fixture *f, struct bir_symbolic_ap *ap)
{
    struct bir_argument_rare *rare = bir_argument_need_rare(f->module, &ap->base);
    if (!rare)
        return false;
    ap->pattern = abi_pattern(f);
    ap->tensor_indirect_arg_id = (int32_t)abi_below(f, 5) - 1;
    rare->num_tensor_indirect_indices = (int32_t)abi_below(f, 5);
    return ap->pattern != NULL;
}

static inline bool abi_fill_register_ap(struct abi_fixture *f, struct bir_register_ap *ap)
{
    ap->pattern = abi_pattern(f);
    ap->address = f->registers[0];
    ap->offset = abi_below(f, 2) ? f->registers[1] : NULL;
    ap->sub_tensor = abi_below(f, 2) ? f->registers[2] : NULL;
    ap->const_offset_elems = abi_number(f);
    ap->const_sub_tensor_id = (int32_t)abi_below(f, 9) - 1;
    ap->address_is_offset = abi_below(f, 2);
    return ap->pattern != NULL;
}

static inline bool abi_fill_array(struct abi_fixture *f, struct bir_imm_array *array)
{
    uint32_t n = (uint32_t)abi_below(f, 20);
    uint64_t *bits = bir_arena_alloc_array(&f->module->arena, BIR_MEM_ARGUMENTS, n, sizeof *bits);
    for (uint32_t i = 0; bits && i < n; i++)
        bits[i] = (uint64_t)abi_number(f);
    array->bits = bits;
    array->count = n;
    return bits != NULL;
}

static inline bool abi_fill(struct abi_fixture *f, struct bir_argument *arg)
{
    switch ((enum bir_argument_kind)arg->kind) {
    case BIR_ARG_PHYSICAL_AP: {
        struct bir_physical_ap *ap = (struct bir_physical_ap *)arg;
        ap->pattern = abi_pattern(f);
        ap->offset_elems = (int64_t)abi_below(f, 100000);
        return ap->pattern && abi_fill_access(f, arg);
    }
    case BIR_ARG_SYMBOLIC_AP: return abi_fill_symbolic(f, (struct bir_symbolic_ap *)arg) && abi_fill_access(f, arg);
    case BIR_ARG_REGISTER_AP: return abi_fill_register_ap(f, (struct bir_register_ap *)arg) && abi_fill_access(f, arg);
    case BIR_ARG_IMM_VALUE: ((struct bir_imm_value *)arg)->bits = (uint64_t)abi_number(f); return true;
    case BIR_ARG_SYMBOLIC_IMM_VALUE:
        ((struct bir_symbolic_imm_value *)arg)->expr = abi_expr(f);
        return ((struct bir_symbolic_imm_value *)arg)->expr != NULL;
    case BIR_ARG_IMM_ARRAY: return abi_fill_array(f, (struct bir_imm_array *)arg);
    case BIR_ARG_REGISTER_ACCESS:
    case BIR_ARG_REGISTER_SET: break;
    }
    return true;
}

/* A further operand of the instruction with that spelling, filled at random; NULL when memory ran out. */
static inline struct bir_argument *abi_add(struct abi_fixture *f, const char *spelling)
{
    const struct bir_argument_class *class = bir_argument_class_by_wire(spelling, strlen(spelling));
    static const enum bir_dtype immediates[] = { BIR_DTYPE_UINT8, BIR_DTYPE_INT16,   BIR_DTYPE_BFLOAT16,
                                                 BIR_DTYPE_INT32, BIR_DTYPE_FLOAT32, BIR_DTYPE_UINT64 };
    enum bir_dtype dtype =
        class->is_immediate ? immediates[abi_below(f, 6)] : (enum bir_dtype)abi_below(f, BIR_DTYPE_COUNT);
    enum bir_role role = (enum bir_role)abi_below(f, BIR_ROLE_COUNT);
    struct bir_argument *arg = class->kind == BIR_ARG_SYMBOLIC_AP
                                   ? abi_symbolic(f, role, dtype)
                                   : bir_argument_new(f->module, f->inst, class->kind, role, dtype);
    if (!arg)
        return NULL;
    struct bir_storage *location = class->location_tag == BIR_STORAGE_SET        ? &f->set->base
                                   : class->location_tag == BIR_STORAGE_REGISTER ? &f->registers[0]->base
                                                                                 : &f->location->base;
    if (class->location_tag)
        bir_argument_set_location(arg, location, arg->role == BIR_ROLE_OUT, true);
    if (strcmp(spelling, "symbolic_pwap") == 0)
        arg->flags |= BIR_ARGF_PWAP;
    return abi_fill(f, arg) ? arg : NULL;
}

#endif
