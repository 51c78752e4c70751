/*
 * Recording of operands, and the arithmetic of lowering.md 8.7 that they stand for.
 *
 * Expressions are flattened once into constant and terms by loop level, with a proof that their sums stay below 2^62
 * over the whole domain, so that points are evaluated by plain multiplications. What does not flatten (mod, floor
 * division) or cannot be proved is evaluated by lib/pelican at every point instead.
 */
#include "check/operand.h"

#include "check/address.h"

#define MAX_FLATTEN_DEPTH 32
#define MAX_TERMS         64
/* A table of more blocks than this is no table of any chip's memory; it bounds the memory that one hostile number can
 * take. */
#define MAX_BLOCKS (INT64_C(1) << 24)
/* lowering.md 8.5 m and correction 8: operand 1 of a Matmult is the moving one. */
#define MATMULT_MOVING_POSITION 1

/* --- expressions --- */

struct flattening {
    const struct bir_nest *nest;
    int64_t c;
    struct bir_operand_term terms[MAX_TERMS];
    uint32_t n;
};

static const struct bir_nest *nest_of_axis(const struct bir_nest *nest, const struct pelican_axis *axis)
{
    while (nest && nest->axis != axis)
        nest = nest->parent;
    return nest;
}

static bool add_term(struct flattening *f, const struct pelican_axis *axis, int64_t coef)
{
    const struct bir_nest *nest = nest_of_axis(f->nest, axis);
    if (!nest)
        return false;
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->terms[i].level == nest->depth - 1)
            return !__builtin_add_overflow(f->terms[i].coef, coef, &f->terms[i].coef);
    }
    if (f->n == MAX_TERMS)
        return false;
    f->terms[f->n++] = (struct bir_operand_term){ .level = nest->depth - 1, .coef = coef };
    return true;
}

static bool flatten(struct flattening *f, const struct pelican_expr *e, int64_t scale, unsigned depth)
{
    int64_t value;
    if (depth > MAX_FLATTEN_DEPTH)
        return false;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_AFFINE_IV: return add_term(f, e->u.axis, scale);
    case PELICAN_MULT:
        return !__builtin_mul_overflow(e->u.mult.scale, scale, &value) &&
               flatten(f, e->u.mult.operand, value, depth + 1);
    case PELICAN_SUM:
        for (uint32_t i = 0; i < e->u.sum.n_terms; i++) {
            if (!flatten(f, e->u.sum.terms[i], scale, depth + 1))
                return false;
        }
        return true;
    case PELICAN_AFFINE:
        if (__builtin_mul_overflow(e->u.affine.c, scale, &value) || __builtin_add_overflow(f->c, value, &f->c))
            return false;
        for (uint32_t i = 0; i < e->u.affine.n_terms; i++) {
            const struct pelican_term *term = &e->u.affine.terms[i];
            if (__builtin_mul_overflow(term->coef, scale, &value) || !flatten(f, term->index, value, depth + 1))
                return false;
        }
        return true;
    default: return false;
    }
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

/* True when no partial sum reaches 2^62 at any point of the domain. */
static bool sums_are_exact(const struct flattening *f)
{
    uint64_t sum = magnitude(f->c), limit = UINT64_C(1) << 62;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct bir_nest *nest = f->nest;
        while (nest->depth - 1 != f->terms[i].level)
            nest = nest->parent;
        uint64_t lb = magnitude(nest->axis->lb), ub = magnitude(nest->axis->ub), product;
        if (__builtin_mul_overflow(magnitude(f->terms[i].coef), lb > ub ? lb : ub, &product) ||
            __builtin_add_overflow(sum, product, &sum) || sum >= limit)
            return false;
    }
    return sum < limit;
}

/* Outermost first, without zero coefficients: the order in which lowerAffineExpr walks the axes (lowering.md 8.4). */
static void tidy_terms(struct flattening *f)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        struct bir_operand_term term = f->terms[i];
        uint32_t at = kept;
        if (term.coef == 0)
            continue;
        for (; at > 0 && f->terms[at - 1].level > term.level; at--)
            f->terms[at] = f->terms[at - 1];
        f->terms[at] = term;
        kept++;
    }
    f->n = kept;
}

static enum bir_status describe_affine(struct bir_operand_context *context, const struct pelican_expr *e,
                                       const struct bir_nest *nest, struct bir_operand_affine *affine)
{
    struct flattening f = { .nest = nest };
    *affine = (struct bir_operand_affine){ .expr = e, .flat = e == NULL };
    if (!e || !flatten(&f, e, 1, 0) || !sums_are_exact(&f))
        return BIR_OK;
    tidy_terms(&f);
    struct bir_operand_term *terms = bir_arena_alloc_array(context->arena, BIR_MEM_OTHER, f.n, sizeof(*terms));
    if (!terms)
        return bir_arena_failure(context->arena);
    memcpy(terms, f.terms, f.n * sizeof(*terms));
    affine->c = f.c;
    affine->terms = terms;
    affine->n_terms = f.n;
    affine->flat = true;
    return BIR_OK;
}

/* --- blocks --- */

static int64_t block_number(const struct bir_set *set, uint32_t i)
{
    int32_t id = set->locations.items[i]->tensor_id;
    return id >= 0 ? id : (int64_t)i;
}

static enum bir_status describe_blocks(struct bir_operand_context *context, const struct bir_set *set,
                                       const struct bir_operand_blocks **out)
{
    struct bir_operand_blocks *blocks = bir_map_get(&context->blocks, set);
    if (blocks) {
        *out = blocks;
        return BIR_OK;
    }
    int64_t count = 0;
    for (uint32_t i = 0; i < set->locations.count; i++)
        count = block_number(set, i) >= count ? block_number(set, i) + 1 : count;
    if (count > set->n_blocks && set->n_blocks > 0)
        count = set->n_blocks;
    if (count > MAX_BLOCKS)
        count = MAX_BLOCKS;
    blocks = BIR_NEW(context->arena, BIR_MEM_OTHER, struct bir_operand_blocks);
    int64_t *entry = bir_arena_alloc_array(context->arena, BIR_MEM_OTHER, (size_t)count, sizeof(*entry));
    if (!blocks || !entry || !bir_map_put(&context->blocks, context->arena, set, blocks))
        return bir_arena_failure(context->arena);
    memset(entry, 0xFF, (size_t)count * sizeof(*entry));
    for (uint32_t i = set->locations.count; i-- > 0;) {
        if (block_number(set, i) < count)
            entry[block_number(set, i)] = bir_check_location_entry(set->locations.items[i]);
    }
    *blocks = (struct bir_operand_blocks){ .count = count, .entry = entry };
    *out = blocks;
    return BIR_OK;
}

/* --- operands --- */

/* Elements per partition: product of num over the pairs after the first; -1 when that is no size of anything on a chip.
 */
static int64_t row_elems(const struct bir_pattern *pattern)
{
    int64_t n = 1;
    for (uint32_t i = 1; i < pattern->rank; i++) {
        if (__builtin_mul_overflow(n, pattern->pairs[i].num, &n) || n < 0 || n > INT32_MAX)
            return -1;
    }
    return n;
}

static enum bir_status describe_symbolic(struct bir_operand_context *context, const struct bir_symbolic_ap *ap,
                                         struct bir_operand *operand, bool *recorded)
{
    operand->stride_bytes = bir_check_partition_stride_bytes(bir_set_memory(operand->set));
    operand->elem_bytes = bir_check_dtype_bytes(operand->dtype);
    if (operand->stride_bytes == 0 || operand->elem_bytes == 0 || ap->n_addrs == 0 || ap->n_addrs > 2 ||
        operand->pattern->rank == 0 || operand->pattern->pairs[0].step_elems <= 0)
        return BIR_OK;
    operand->step_elems = operand->pattern->pairs[0].step_elems;
    int64_t row = row_elems(operand->pattern);
    if (row < 0)
        return BIR_OK;
    if (operand->inst->opcode == BIR_OP_MATMULT && operand->role == BIR_ROLE_IN &&
        operand->position == MATMULT_MOVING_POSITION)
        operand->bias_bytes = operand->elem_bytes * (row - 1);
    BIR_TRY(describe_affine(context, ap->addrs[0], operand->nest, &operand->tile));
    BIR_TRY(describe_affine(context, ap->n_addrs == 2 ? ap->addrs[1] : NULL, operand->nest, &operand->block));
    BIR_TRY(describe_blocks(context, operand->set, &operand->blocks));
    *recorded = true;
    return BIR_OK;
}

/* The element a scalar index operand holds; false when it is no scalar or not there. */
static bool describe_index(const struct bir_instruction *inst, int64_t arg_id, struct bir_operand_index *index)
{
    /* arg_id is the 1-based position in indirection_ins (correction 12). */
    if (arg_id < 1 || arg_id > UINT32_MAX)
        return false;
    struct bir_argument *arg = bir_instruction_argument(inst, BIR_ROLE_INDIRECTION, (uint32_t)(arg_id - 1));
    if (!arg || arg->kind != BIR_ARG_PHYSICAL_AP || !arg->location)
        return false;
    const struct bir_physical_ap *ap = (const struct bir_physical_ap *)arg;
    for (uint32_t i = 0; i < ap->pattern->rank; i++) {
        if (ap->pattern->pairs[i].num != 1)
            return false;
    }
    *index = (struct bir_operand_index){ .arg_id = arg_id,
                                         .location = (const struct bir_location *)arg->location,
                                         .offset_elems = ap->offset_elems,
                                         .dtype = arg->dtype };
    return true;
}

/* Collects the IndirectArg leaves below e. False: one of them is no scalar, or the expression is too deep. */
static bool collect_indices(const struct bir_operand *operand, const struct pelican_expr *e,
                            struct bir_operand_index *indices, uint32_t *n, unsigned depth)
{
    if (!e->has_runtime)
        return true;
    if (depth > MAX_FLATTEN_DEPTH)
        return false;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_INDIRECT_ARG:
        for (uint32_t i = 0; i < *n; i++) {
            if (indices[i].arg_id == e->u.arg_id)
                return true;
        }
        return *n < MAX_TERMS && describe_index(operand->inst, e->u.arg_id, &indices[(*n)++]);
    case PELICAN_MULT: return collect_indices(operand, e->u.mult.operand, indices, n, depth + 1);
    case PELICAN_SUM:
        for (uint32_t i = 0; i < e->u.sum.n_terms; i++) {
            if (!collect_indices(operand, e->u.sum.terms[i], indices, n, depth + 1))
                return false;
        }
        return true;
    case PELICAN_AFFINE:
        for (uint32_t i = 0; i < e->u.affine.n_terms; i++) {
            if (!collect_indices(operand, e->u.affine.terms[i].index, indices, n, depth + 1))
                return false;
        }
        return true;
    default: return e->kind == PELICAN_RUNTIME_VALUE;
    }
}

static enum bir_status describe_dynamic(struct bir_operand_context *context, const struct bir_dynamic_info *dynamic,
                                        struct bir_operand *operand, bool *recorded)
{
    struct bir_operand_index indices[MAX_TERMS];
    for (uint32_t i = 0; i < dynamic->n_terms; i++) {
        if (!collect_indices(operand, dynamic->terms[i].expr, indices, &operand->n_indices, 0))
            return BIR_OK; /* a gather, or an operand that the pass refuses */
    }
    struct bir_operand_index *kept =
        bir_arena_alloc_array(context->arena, BIR_MEM_OTHER, operand->n_indices, sizeof(*kept));
    if (!kept)
        return bir_arena_failure(context->arena);
    memcpy(kept, indices, operand->n_indices * sizeof(*kept));
    operand->kind = BIR_OPERAND_DYNAMIC;
    operand->indices = kept;
    operand->dynamic = dynamic;
    if (dynamic->actual)
        operand->pattern = dynamic->actual;
    *recorded = true;
    return BIR_OK;
}

static bool offset_is_wide(const struct bir_physical_ap *ap, const struct bir_location *location)
{
    int64_t offset_bytes;
    if (location->type != BIR_MEMORY_DRAM)
        return false;
    return __builtin_mul_overflow(ap->offset_elems, bir_check_dtype_bytes(ap->base.dtype), &offset_bytes) ||
           offset_bytes > UINT32_MAX;
}

enum bir_status bir_operand_describe(struct bir_operand_context *context, struct bir_argument *arg, uint32_t position,
                                     const struct bir_nest *nest, struct bir_operand *operand, bool *recorded)
{
    *recorded = false;
    if (!arg->location || (arg->kind != BIR_ARG_SYMBOLIC_AP && arg->kind != BIR_ARG_PHYSICAL_AP))
        return BIR_OK;
    const struct bir_physical_ap *physical = (const struct bir_physical_ap *)arg;
    const struct bir_dynamic_info *dynamic = NULL;
    if (arg->kind == BIR_ARG_PHYSICAL_AP) {
        dynamic = bir_argument_dynamic(arg);
        if (!dynamic && !offset_is_wide(physical, (const struct bir_location *)arg->location))
            return BIR_OK;
    }
    *operand = (struct bir_operand){ .inst = bir_argument_parent(arg),
                                     .nest = nest,
                                     .kind = BIR_OPERAND_SYMBOLIC,
                                     .role = arg->role,
                                     .dtype = arg->dtype,
                                     .position = position,
                                     .set = bir_argument_set(arg),
                                     .pattern = bir_argument_pattern(arg) };
    if (!operand->set || !operand->pattern)
        return BIR_OK;
    if (arg->kind == BIR_ARG_PHYSICAL_AP)
        operand->location = (const struct bir_location *)arg->location;
    if (arg->kind == BIR_ARG_SYMBOLIC_AP)
        return describe_symbolic(context, (const struct bir_symbolic_ap *)arg, operand, recorded);
    if (dynamic)
        return describe_dynamic(context, dynamic, operand, recorded);
    operand->kind = BIR_OPERAND_WIDE;
    operand->offset_elems = physical->offset_elems;
    *recorded = true;
    return BIR_OK;
}

/* Bytes of a location; saturates. */
static uint64_t location_bytes(const struct bir_location *location)
{
    uint64_t bytes = 1;
    for (uint32_t i = 0; location->dims && i < location->dims->count; i++) {
        if (__builtin_mul_overflow(bytes, magnitude(location->dims->items[i]), &bytes))
            return UINT64_MAX;
    }
    return bytes;
}

uint64_t bir_operand_index_bound(const struct bir_operand *operand)
{
    uint64_t bound = INT32_MAX;
    if (operand->kind != BIR_OPERAND_DYNAMIC)
        return bound;
    if (operand->dynamic->indirect_dim_max_index > 0 && operand->dynamic->indirect_dim_max_index < INT32_MAX)
        bound = (uint64_t)operand->dynamic->indirect_dim_max_index;
    if (location_bytes(operand->location) > INT32_MAX)
        return bound; /* offsets have 64 bits */
    for (uint32_t i = 0; i < operand->dynamic->n_terms; i++) {
        uint64_t coef = magnitude(operand->dynamic->terms[i].coef);
        uint64_t fit = coef == 0 ? bound : (UINT64_C(1) << 30) / coef;
        bound = fit < bound ? fit : bound;
    }
    return bound > 0 ? bound : 1;
}
