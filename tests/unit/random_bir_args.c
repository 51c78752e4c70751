/* Operands of random BIR-JSON (bir-json.md sections 8 and 10). */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_bir_gen.h"

const char *const random_bir_kinds[8] = { "physical_ap", "symbolic_ap",        "symbolic_pwap", "register_ap",
                                          "imm_value",   "symbolic_imm_value", "imm_array",     "register_access" };

enum { PHYSICAL, SYMBOLIC, PWAP, REGISTER_AP, IMM, SYMBOLIC_IMM, ARRAY, REGISTER };

/* Literals */

static const char *const immediate_dtypes[] = { "uint8",  "int8",  "uint16", "int16", "bfloat16", "float16",
                                                "uint32", "int32", "uint64", "int64", "float32" };

static uint64_t bits_of(const char *dtype)
{
    const char *digits = dtype + strcspn(dtype, "0123456789");
    return (uint64_t)atoi(digits);
}

/* A float32: written with the digits of its value as a double, read from any number that rounds to it. */
static struct tree *float32_literal(struct gen *g)
{
    static const char *const special[] = { "inf", "-inf", "nan" };
    if (gen_chance(g, 10))
        return tree_text(g->arena, GEN_PICK(g, special));
    float value = (float)((double)(int64_t)bir_random_next(&g->random) / (1 + gen_below(g, 1000)));
    if (gen_chance(g, 2))
        value = (float)(1 + gen_below(g, 1000)) / 8.0F;
    if (gen_chance(g, 8))
        value = gen_chance(g, 2) ? FLT_MAX : FLT_MIN / 2; /* the greatest, and a subnormal one */
    char canonical[64], near[48];
    tree_format_double((double)value, canonical);
    snprintf(near, sizeof near, "%.9g", (double)value); /* nine digits always read back as the float */
    if (!strpbrk(near, ".e"))
        snprintf(near + strlen(near), 4, ".0");
    return tree_scalar(g->arena, canonical, gen_chance(g, 2) ? near : canonical);
}

static struct tree *literal(struct gen *g, const char *dtype)
{
    if (strcmp(dtype, "float32") == 0)
        return float32_literal(g);
    uint64_t bits = bits_of(dtype), value = bir_random_next(&g->random);
    bool is_signed = strncmp(dtype, "int", 3) == 0;
    if (bits == 64 && !is_signed && !g->bir->huge)
        bits = 63;
    if (bits < 64)
        value &= (UINT64_C(1) << bits) - 1;
    if (gen_chance(g, 8))
        value = is_signed ? UINT64_C(1) << (bits - 1) : bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    if (!is_signed) {
        const char *text = tree_printf(g->arena, "%llu", (unsigned long long)value);
        return tree_scalar(g->arena, text, text);
    }
    return tree_int(g->arena, bits == 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits));
}

static void immediate(struct gen *g, struct tree *arg)
{
    const char *dtype = GEN_PICK(g, immediate_dtypes);
    gen_put(g, arg, "dtype", tree_text(g->arena, dtype));
    gen_put(g, arg, "value", literal(g, dtype));
}

static void immediate_array(struct gen *g, struct tree *arg)
{
    const char *dtype = GEN_PICK(g, immediate_dtypes);
    struct tree *array = gen_array(g);
    for (uint32_t n = gen_below(g, 4); n > 0; n--)
        tree_add(g->arena, array, literal(g, dtype));
    gen_put(g, arg, "dtype", tree_text(g->arena, dtype));
    gen_put(g, arg, "value_array", array);
}

static void symbolic_immediate(struct gen *g, struct tree *arg)
{
    gen_put(g, arg, "dtype", tree_text(g->arena, GEN_PICK(g, immediate_dtypes)));
    gen_put_maybe(g, arg, "expr", gen_expr(g));
    if (gen_chance(g, 2))
        return;
    struct tree *array = gen_array(g);
    for (uint32_t n = gen_below(g, 3); n > 0; n--) {
        struct tree *value = gen_object(g);
        gen_put(g, value, "value", gen_json(g, 0));
        tree_add(g->arena, array, value);
    }
    gen_put(g, arg, "value_list", array);
}

/* Access patterns */

static void access_head(struct gen *g, struct tree *arg)
{
    gen_put(g, arg, "ap", gen_pairs(g, 1, 5));
    gen_put(g, arg, "dtype", gen_enum(g, "Dtype"));
    if (gen_chance(g, 3)) { /* an empty shape is left out */
        struct tree *shape = gen_ints(g, 0, 3, false);
        tree_put(g->arena, arg, shape->count ? TREE_BOTH : TREE_IN, "access_shape", shape);
    }
}

static struct tree *term(struct gen *g, const char *key, struct tree *expr, struct tree *coef)
{
    struct tree *object = gen_object(g);
    gen_put(g, object, key, expr);
    gen_put(g, object, "coef", coef);
    return object;
}

/* offset_expr: [{aff_expr, coef}], in the input also aff_expr: [{offset_expr, coef}] and a single object. */
static void offset_terms(struct gen *g, struct tree *info)
{
    bool swapped = !g->tidy && gen_chance(g, 3);
    struct tree *canonical = gen_array(g), *input = gen_array(g);
    for (uint32_t n = gen_below(g, 3); n > 0; n--) {
        struct tree *expr = gen_expr_v2(g, 2), *coef = tree_int(g->arena, gen_int(g, true));
        struct tree *one = term(g, "aff_expr", expr, coef);
        tree_add(g->arena, canonical, one);
        if (!swapped)
            gen_unknown(g, one);
        tree_add(g->arena, input, swapped ? term(g, "offset_expr", expr, coef) : one);
    }
    if (input->count == 1 && gen_chance(g, 2))
        input = input->first->value;
    tree_put(g->arena, info, TREE_OUT, "offset_expr", canonical);
    tree_put(g->arena, info, TREE_IN, swapped ? "aff_expr" : "offset_expr", input);
}

static struct tree *dynamic_info(struct gen *g)
{
    struct tree *info = gen_object(g);
    gen_put(g, info, "actual_ap", gen_pairs(g, 1, 5));
    gen_put_always(g, info, "c", "0", tree_int(g->arena, gen_int(g, true)));
    gen_put_always(g, info, "indirect_dim", "W", gen_enum_member(g, "IndirectDim"));
    gen_put_maybe(g, info, "indirect_dim_max_index", tree_int(g->arena, 1 + (int64_t)gen_below(g, 4096)));
    if (!gen_chance(g, 8))
        offset_terms(g, info);
    else
        tree_put(g->arena, info, TREE_OUT, "offset_expr", gen_array(g));
    gen_unknown(g, info);
    return info;
}

static void physical(struct gen *g, struct tree *arg)
{
    const struct gen_location *location = &g->locations[gen_below(g, g->n_locations)];
    access_head(g, arg);
    gen_put(g, arg, "offset", tree_int(g->arena, gen_int(g, false)));
    gen_put(g, arg, "memref", tree_text(g->arena, location->name));
    gen_put_maybe(g, arg, "memsetref", tree_text(g->arena, location->set));
    if (gen_chance(g, 3))
        gen_put(g, arg, "dynamic_ap_info", dynamic_info(g));
    if (gen_chance(g, 12)) /* the function itself */
        gen_put(g, arg, "memref_owner_func", tree_text(g->arena, g->function));
}

/* On a location of a function that this document does not have (lenient). */
static void foreign(struct gen *g, struct tree *arg)
{
    access_head(g, arg);
    gen_put(g, arg, "offset", tree_int(g->arena, gen_int(g, false)));
    gen_put(g, arg, "memref", tree_text(g->arena, "elsewhere"));
    gen_put_maybe(g, arg, "memsetref", tree_text(g->arena, "elsewhere_set"));
    gen_put(g, arg, "memref_owner_func", tree_text(g->arena, "another document's"));
}

static void symbolic(struct gen *g, struct tree *arg)
{
    access_head(g, arg);
    gen_put(g, arg, "memsetref", tree_text(g->arena, gen_pick(g, g->sets.items, g->sets.count)));
    struct tree *addrs = gen_array(g);
    for (uint32_t n = gen_below(g, 4); n > 0; n--)
        tree_add(g->arena, addrs, gen_expr(g));
    tree_put(g->arena, arg, addrs->count ? TREE_BOTH : TREE_IN, "addrs", addrs);
    gen_put_drop(g, arg, "tensor_indirect_arg_id", "-1", tree_int(g->arena, gen_below(g, 100)));
    gen_put_drop(g, arg, "num_tensor_indirect_indices", "0", tree_int(g->arena, gen_below(g, 100)));
}

static void register_ap(struct gen *g, struct tree *arg)
{
    const struct gen_names *names = &g->registers;
    access_head(g, arg);
    gen_put(g, arg, "memsetref", tree_text(g->arena, gen_pick(g, g->sets.items, g->sets.count)));
    if (g->tidy || gen_chance(g, 2))
        gen_put(g, arg, "regref", tree_text(g->arena, gen_pick(g, names->items, names->count)));
    gen_put_maybe(g, arg, "reg_ap_offset", tree_text(g->arena, gen_pick(g, names->items, names->count)));
    gen_put_maybe(g, arg, "reg_sub_tensor_id", tree_text(g->arena, gen_pick(g, names->items, names->count)));
    gen_put_drop(g, arg, "const_ap_offset", "0", tree_int(g->arena, gen_int(g, true)));
    gen_put_drop(g, arg, "const_sub_tensor_id", "-1", tree_int(g->arena, gen_below(g, 100)));
    gen_put_drop(g, arg, "is_regloc_offset", "false", tree_bool(g->arena, gen_chance(g, 2)));
}

static void register_access(struct gen *g, struct tree *arg)
{
    const struct gen_names *names = gen_chance(g, 2) && g->wide_registers.count ? &g->wide_registers : &g->registers;
    gen_put(g, arg, "dtype", gen_enum(g, "Dtype"));
    gen_put(g, arg, "regref", tree_text(g->arena, gen_pick(g, names->items, names->count)));
}

/* Any kind that has what it refers to; in outs and indirection_ins no immediates, because those move to ins. */
static uint32_t pick_kind(struct gen *g, int role)
{
    for (;;) {
        uint32_t kind = gen_below(g, 8);
        bool is_immediate = kind == IMM || kind == SYMBOLIC_IMM || kind == ARRAY;
        bool needs_register = kind == REGISTER || kind == REGISTER_AP;
        bool possible = is_immediate
                            ? role == 0
                            : (kind == REGISTER || g->n_locations > 0) && (!needs_register || g->registers.count > 0);
        if (possible)
            return kind;
        if (role > 0 && g->n_locations == 0 && g->registers.count == 0)
            return UINT32_MAX;
    }
}

static struct tree *operand(struct gen *g, uint32_t kind)
{
    struct tree *arg = gen_object(g), *spelling = tree_text(g->arena, random_bir_kinds[kind]);
    if (kind == PWAP)
        spelling->canonical = tree_text(g->arena, "symbolic_ap");
    gen_put(g, arg, "kind", spelling);
    switch (kind) {
    case PHYSICAL:
        if (!g->tidy && gen_chance(g, 30))
            foreign(g, arg);
        else
            physical(g, arg);
        break;
    case SYMBOLIC:
    case PWAP: symbolic(g, arg); break;
    case REGISTER_AP: register_ap(g, arg); break;
    case IMM: immediate(g, arg); break;
    case SYMBOLIC_IMM: symbolic_immediate(g, arg); break;
    case ARRAY: immediate_array(g, arg); break;
    default: register_access(g, arg); break;
    }
    gen_unknown(g, arg);
    static const char *const foreign_keys[] = { "reg_ap_offset", "memref", "regref" }; /* of other kinds */
    const char *key = GEN_PICK(g, foreign_keys);
    if (!g->tidy && (kind == IMM || kind == ARRAY) && gen_chance(g, 8))
        gen_put(g, arg, key, tree_text(g->arena, "foreign"));
    return arg;
}

static struct tree *operands(struct gen *g, int role, uint32_t count)
{
    struct tree *array = gen_array(g);
    for (; count > 0; count--) {
        uint32_t kind = pick_kind(g, role);
        if (kind == UINT32_MAX)
            break;
        g->tables->operands[kind][role]++;
        tree_add(g->arena, array, operand(g, kind));
    }
    return array;
}

/* Immediates stand in ins even when the input has them elsewhere. Without other operands their order is plain. */
static void misplaced_immediate(struct gen *g, struct tree *inst)
{
    uint32_t kind = gen_chance(g, 2) ? IMM : ARRAY;
    int role = gen_chance(g, 2) ? 1 : 2;
    struct tree *array = gen_array(g);
    tree_add(g->arena, array, operand(g, kind));
    g->tables->operands[kind][role]++;
    tree_put(g->arena, inst, TREE_IN, role == 1 ? "indirection_ins" : "outs", array);
    tree_put(g->arena, inst, TREE_OUT, "ins", array);
    tree_put(g->arena, inst, TREE_OUT, "outs", gen_array(g));
}

void gen_operands(struct gen *g, struct tree *inst)
{
    g->n_indirection = 0;
    if (!g->tidy && gen_chance(g, 20)) {
        misplaced_immediate(g, inst);
        return;
    }
    bool has_names = g->n_locations > 0 || g->registers.count > 0;
    g->n_indirection = has_names && gen_chance(g, 4) ? 1 + gen_below(g, 2) : 0;
    struct tree *ins = operands(g, 0, gen_below(g, 4)), *outs = operands(g, 2, gen_below(g, 3));
    struct tree *indirection = operands(g, 1, g->n_indirection);
    tree_put(g->arena, inst, ins->count > 0 || gen_chance(g, 2) ? TREE_BOTH : TREE_OUT, "ins", ins);
    tree_put(g->arena, inst, outs->count > 0 || gen_chance(g, 2) ? TREE_BOTH : TREE_OUT, "outs", outs);
    if (indirection->count > 0)
        gen_put(g, inst, "indirection_ins", indirection);
    else if (gen_chance(g, 8))
        tree_put(g->arena, inst, TREE_IN, "indirection_ins", indirection);
}
