/*
 * Runtime offsets as register code: S := c + sum coef * value(expr), with common subexpressions computed once per
 * consuming instruction (lowering.md 9.3).
 *
 * For each term that is not constant: the value of its expression into a register, T := value * coef, S := S + T; S is
 * zeroed before the first product. All constants are added in one last step, when their sum is not 0. The result is the
 * complete element offset.
 *
 * Width (choice): 64 bits when the location is in DRAM and 2^31 bytes or more, or when a value comes in 64 bits;
 * else 32. A 32-bit value that enters a 64-bit sum is widened: a pair is zeroed, then its low half written.
 *
 * Expressions are equal when their nodes are the same pointer, so the table of values needs no structural comparison.
 */
#include "passes/expand_offset.h"

#include "passes/address_table.h"
#include "pelican/simplify.h"

#define DEPTH_MAX  512
#define WIDE_BYTES (UINT64_C(1) << 31)

static const char *inst_name(const struct bir_argument *arg)
{
    return bir_argument_parent(arg)->name ? bir_argument_parent(arg)->name->text : "?";
}

static enum bir_status refuse(struct bir_expander *x, const struct bir_argument *arg, const char *code,
                              const char *hint, const char *text)
{
    return bir_fail(x->diags, code, bir_pass_place(arg->source_offset), hint, "runtime offset of %s: %s",
                    inst_name(arg), text);
}

struct bir_physical_ap *bir_index_operand(const struct bir_instruction *inst, int64_t arg_id)
{
    if (arg_id < 1 || arg_id > UINT32_MAX)
        return NULL;
    struct bir_argument *arg = bir_instruction_argument(inst, BIR_ROLE_INDIRECTION, (uint32_t)(arg_id - 1));
    if (!arg || arg->kind != BIR_ARG_PHYSICAL_AP || !arg->location)
        return NULL;
    return (struct bir_physical_ap *)arg;
}

bool bir_offset_is_wide(const struct bir_argument *arg)
{
    const struct bir_location *location = (const struct bir_location *)arg->location;
    int64_t bytes;
    if (arg->kind != BIR_ARG_PHYSICAL_AP || !location || location->type != BIR_MEMORY_DRAM || bir_argument_dynamic(arg))
        return false;
    return __builtin_mul_overflow(((const struct bir_physical_ap *)arg)->offset_elems,
                                  (int64_t)bir_dtype_bytes(arg->dtype), &bytes) ||
           bytes > (int64_t)UINT32_MAX;
}

int64_t bir_pattern_elems(const struct bir_pattern *pattern)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < pattern->rank; i++) {
        if (__builtin_mul_overflow(n, pattern->pairs[i].num, &n))
            return INT64_MAX;
    }
    return n;
}

/* --- checks --- */

/* A subtree without runtime values, folded. False when it is not constant. */
static bool constant_value(struct bir_expander *x, const struct pelican_expr *e, int64_t *value)
{
    if (e->has_runtime)
        return false;
    const struct pelican_expr *s = pelican_is_constant(e) ? e : pelican_simplify(&x->emitter->module->expressions, e);
    if (!s || !pelican_is_constant(s))
        return false;
    *value = s->u.affine.c;
    return true;
}

static enum bir_status check_register(struct bir_expander *x, const struct bir_argument *arg, struct bir_register *reg,
                                      bool *wide)
{
    if (!reg)
        return refuse(x, arg, "expand-no-register", "name a register",
                      "each dynamic-offset term should have a register");
    if (reg->engine == BIR_ENGINE_UNASSIGNED) /* written without engine: it is where its only reader is */
        reg->engine = bir_argument_parent(arg)->engine;
    if (reg->engine != bir_argument_parent(arg)->engine)
        return bir_fail(
            x->diags, "expand-engine", bir_pass_place(arg->source_offset), "run split_engines first",
            "runtime offset of %s: RegDynIndex->getEngine() == I.getEngine() does not hold: register %s is on %s, "
            "the instruction on %s",
            inst_name(arg), reg->base.name->text, bir_engine_name(reg->engine),
            bir_engine_name(bir_argument_parent(arg)->engine));
    *wide = *wide || reg->num_physical == 2;
    return BIR_OK;
}

static enum bir_status check_index(struct bir_expander *x, const struct bir_argument *arg, int64_t arg_id, bool *wide)
{
    const struct bir_physical_ap *index = bir_index_operand(bir_argument_parent(arg), arg_id);
    if (!index)
        return bir_fail(x->diags, "expand-no-index", bir_pass_place(arg->source_offset),
                        "arg_id is the 1-based position in indirection_ins",
                        "runtime offset of %s: there is no indirection operand %lld", inst_name(arg),
                        (long long)arg_id);
    if (bir_pattern_elems(index->pattern) != 1)
        return refuse(x, arg, "expand-index-count", "a scalar offset is read from one element",
                      "Scalar dynamic offset must have 1 element");
    if (bir_argument_dynamic(&index->base) || bir_offset_is_wide(&index->base))
        return refuse(x, arg, "expand-index-dynamic", "load the index into a register first",
                      "the index operand has a runtime or 64-bit offset itself");
    uint32_t bytes = bir_dtype_bytes(index->base.dtype);
    if (bytes != 4 && bytes != 8)
        return refuse(x, arg, "expand-index-dtype", "use an int32, uint32 or int64 index",
                      "an index element must have as many bytes as a register, 4 or 8 (EBIR011)");
    *wide = *wide || bytes == 8;
    return BIR_OK;
}

static enum bir_status check_expr(struct bir_expander *x, const struct bir_argument *arg, const struct pelican_expr *e,
                                  bool *wide, uint32_t depth)
{
    int64_t value;
    if (constant_value(x, e, &value))
        return BIR_OK;
    if (depth > DEPTH_MAX)
        return refuse(x, arg, "expand-too-deep", "simplify the expression", "the expression is nested too deeply");
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_RUNTIME_VALUE: return check_register(x, arg, e->u.reg, wide);
    case PELICAN_INDIRECT_ARG: return check_index(x, arg, e->u.arg_id, wide);
    case PELICAN_AFFINE:
        return refuse(x, arg, "expand-affine-terms", "write the terms of the offset one by one",
                      "Backend after Unroll pass can only have AffineExpr with empty terms");
    case PELICAN_SUM:
        for (uint32_t i = 0; i < e->u.sum.n_terms; i++)
            BIR_TRY(check_expr(x, arg, e->u.sum.terms[i], wide, depth + 1));
        return BIR_OK;
    case PELICAN_MULT: return check_expr(x, arg, e->u.mult.operand, wide, depth + 1);
    default:
        return refuse(x, arg, "expand-unsupported", "compute the value into a register first",
                      "DynamicAPInfo lowering for specific AffineOp not implemented");
    }
}

static bool is_large(const struct bir_argument *arg)
{
    const struct bir_location *location = (const struct bir_location *)arg->location;
    uint64_t bytes;
    if (location->type != BIR_MEMORY_DRAM || !location->dims)
        return false;
    return !bir_location_bytes(location, &bytes) || bytes >= WIDE_BYTES;
}

static bool fits(int64_t v, bool wide)
{
    return wide || (v >= INT32_MIN && v <= INT32_MAX);
}

/* Immediates of sub-products must fit too. */
static bool scales_fit(const struct pelican_expr *e, bool wide)
{
    if (e->kind == PELICAN_MULT)
        return fits(e->u.mult.scale, wide) && scales_fit(e->u.mult.operand, wide);
    for (uint32_t i = 0; e->kind == PELICAN_SUM && i < e->u.sum.n_terms; i++) {
        if (!scales_fit(e->u.sum.terms[i], wide))
            return false;
    }
    return e->kind != PELICAN_AFFINE || fits(e->u.affine.c, wide);
}

enum bir_status bir_expander_check(struct bir_expander *x, struct bir_expansion *expansion)
{
    const struct bir_argument *arg = expansion->operand;
    const struct bir_dynamic_info *info = expansion->info;
    int64_t sum = info->c_elems;
    expansion->wide = is_large(arg);
    for (uint32_t i = 0; i < info->n_terms; i++) {
        int64_t value;
        if (info->terms[i].coef <= 0)
            return refuse(x, arg, "expand-coef", "write a positive coef", "DynamicAPInfo coefficient must be positive");
        if (!constant_value(x, info->terms[i].expr, &value))
            BIR_TRY(check_expr(x, arg, info->terms[i].expr, &expansion->wide, 0));
        else if (__builtin_mul_overflow(value, info->terms[i].coef, &value) || __builtin_add_overflow(sum, value, &sum))
            return refuse(x, arg, "expand-overflow", "use smaller constants", "the static part does not fit 64 bits");
    }
    for (uint32_t i = 0; i < info->n_terms; i++) {
        if (!fits(info->terms[i].coef, expansion->wide) || !scales_fit(info->terms[i].expr, expansion->wide))
            return refuse(x, arg, "expand-overflow", "the location is below 2 GiB, so offsets have 32 bits",
                          "a coefficient does not fit int32");
    }
    if (!fits(sum, expansion->wide))
        return refuse(x, arg, "expand-overflow", "the location is below 2 GiB, so offsets have 32 bits",
                      "the static part does not fit int32");
    expansion->static_elems = sum;
    return BIR_OK;
}

/* --- emission --- */

void bir_expander_reset(struct bir_expander *x)
{
    x->values[0] = x->values[1] = (struct bir_map){ 0 };
}

static struct bir_register *mint(struct bir_expander *x, const char *suffix, bool wide)
{
    return bir_emit_mint(x->emitter, suffix, x->emitter->next, wide ? 2 : 1);
}

static void remember(struct bir_expander *x, const struct pelican_expr *e, bool wide, struct bir_register *reg)
{
    if (reg && !bir_map_put(&x->values[wide], x->context->scratch, e, reg))
        x->emitter->failed = true;
}

/* A leaf in the width it comes in: a register as it is, an index element loaded once. */
static struct bir_register *leaf_register(struct bir_expander *x, const struct pelican_expr *e)
{
    if (e->kind == PELICAN_RUNTIME_VALUE)
        return e->u.reg;
    for (int w = 0; w < 2; w++) {
        struct bir_register *known = bir_map_get(&x->values[w], e);
        if (known)
            return known;
    }
    struct bir_physical_ap *index = bir_index_operand(x->emitter->position, e->u.arg_id);
    bool wide = bir_dtype_bytes(index->base.dtype) == 8;
    struct bir_register *reg = mint(x, "-dynamic-index-reg-", wide);
    if (!reg)
        return NULL;
    bir_emitter_suffix(x->emitter, "-reg-load-");
    bir_emit_tensor_load(x->emitter, reg, NULL, (struct bir_location *)index->base.location, index->offset_elems,
                         (enum bir_dtype)index->base.dtype);
    remember(x, e, wide, reg);
    return reg;
}

/* The value of e, which `narrow` holds in 32 bits, in a pair. */
static struct bir_register *widen(struct bir_expander *x, const struct pelican_expr *e, struct bir_register *narrow)
{
    struct bir_register *known = bir_map_get(&x->values[1], e);
    if (known || !narrow || narrow->num_physical == 2)
        return known ? known : narrow;
    struct bir_register *pair = mint(x, "-dynamic-index-reg-", true);
    if (!pair)
        return NULL;
    bir_emitter_suffix(x->emitter, "-reg-init-");
    bir_emit_move_imm(x->emitter, pair, 0);
    bir_emit_move_low(x->emitter, pair, narrow);
    remember(x, e, true, pair);
    return pair;
}

static struct bir_register *value_of(struct bir_expander *x, const struct pelican_expr *e, bool wide);

/* X := sum of the constants; X := X + operand for the others. */
static struct bir_register *sum_of(struct bir_expander *x, const struct pelican_expr *e, bool wide)
{
    struct bir_register **values =
        bir_arena_alloc_array(x->context->scratch, BIR_MEM_TABLES, e->u.sum.n_terms, sizeof *values);
    int64_t constant = 0, value;
    if (!values) {
        x->emitter->failed = true;
        return NULL;
    }
    for (uint32_t i = 0; i < e->u.sum.n_terms; i++) {
        if (constant_value(x, e->u.sum.terms[i], &value))
            constant = (int64_t)((uint64_t)constant + (uint64_t)value);
        else if (!(values[i] = value_of(x, e->u.sum.terms[i], wide)))
            return NULL;
    }
    struct bir_register *sum = mint(x, "-reg-add-out-", wide);
    if (!sum)
        return NULL;
    bir_emitter_suffix(x->emitter, "-reg-init-");
    bir_emit_move_imm(x->emitter, sum, constant);
    bir_emitter_suffix(x->emitter, "-reg-add-");
    for (uint32_t i = 0; i < e->u.sum.n_terms; i++) {
        if (values[i])
            bir_emit_alu_reg_reg(x->emitter, BIR_ALU_ADD, sum, sum, values[i]);
    }
    return sum;
}

static struct bir_register *product_of(struct bir_expander *x, struct bir_register *value, int64_t factor, bool wide)
{
    struct bir_register *product = value ? mint(x, "-reg-mult-out-", wide) : NULL;
    if (!product)
        return NULL;
    bir_emitter_suffix(x->emitter, "-reg-mul-");
    bir_emit_alu_reg_imm(x->emitter, BIR_ALU_MULT, product, value, factor);
    return product;
}

/* The value of a checked expression that is not constant, in the width asked for. Depth is bounded by the check. */
static struct bir_register *value_of(struct bir_expander *x, const struct pelican_expr *e, bool wide)
{
    if (e->kind == PELICAN_RUNTIME_VALUE || e->kind == PELICAN_INDIRECT_ARG) {
        struct bir_register *leaf = leaf_register(x, e);
        return wide ? widen(x, e, leaf) : leaf;
    }
    struct bir_register *reg = bir_map_get(&x->values[wide], e);
    if (reg)
        return reg;
    if (e->kind == PELICAN_SUM)
        reg = sum_of(x, e, wide);
    else
        reg = product_of(x, value_of(x, e->u.mult.operand, wide), e->u.mult.scale, wide);
    remember(x, e, wide, reg);
    return reg;
}

static bool is_leaf(const struct pelican_expr *e)
{
    return e->kind == PELICAN_RUNTIME_VALUE || e->kind == PELICAN_INDIRECT_ARG;
}

static struct bir_register *new_sum(struct bir_expander *x, bool wide, int64_t start)
{
    struct bir_register *sum = mint(x, "-dynamic-offset-reg-", wide);
    if (!sum)
        return NULL;
    bir_emitter_suffix(x->emitter, "-reg-init-");
    bir_emit_move_imm(x->emitter, sum, start);
    return sum;
}

/* S := S + coef * value, with S zeroed before the first product. A leaf is loaded before, but widened behind that. */
static struct bir_register *add_term(struct bir_expander *x, const struct bir_dynamic_term *term, bool wide,
                                     struct bir_register *sum)
{
    const struct pelican_expr *e = term->expr;
    struct bir_register *value = is_leaf(e) ? leaf_register(x, e) : value_of(x, e, wide);
    if (value && !sum)
        sum = new_sum(x, wide, 0);
    if (!value || !sum)
        return NULL;
    struct bir_register *product = product_of(x, wide ? widen(x, e, value) : value, term->coef, wide);
    if (!product)
        return NULL;
    bir_emitter_suffix(x->emitter, "-reg-add-");
    bir_emit_alu_reg_reg(x->emitter, BIR_ALU_ADD, sum, sum, product);
    return sum;
}

struct bir_register *bir_expander_emit(struct bir_expander *x, const struct bir_expansion *expansion)
{
    const struct bir_dynamic_info *info = expansion->info;
    struct bir_register *sum = NULL;
    int64_t constant;
    for (uint32_t i = 0; info && i < info->n_terms; i++) {
        if (constant_value(x, info->terms[i].expr, &constant))
            continue;
        sum = add_term(x, &info->terms[i], expansion->wide, sum);
        if (!sum)
            return NULL;
    }
    if (!sum) {
        sum = new_sum(x, expansion->wide, expansion->static_elems);
    } else if (expansion->static_elems != 0) {
        bir_emitter_suffix(x->emitter, "-reg-add-");
        bir_emit_alu_reg_imm(x->emitter, BIR_ALU_ADD, sum, sum, expansion->static_elems);
    }
    return x->emitter->failed ? NULL : sum;
}
