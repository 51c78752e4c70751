/*
 * Construction of affine expressions by hash-consing.
 *
 * A context keeps one open-addressed set of every node it made. A constructor fills a candidate on its stack (terms and
 * operand lists are borrowed from the caller), looks it up by content, and copies it into the arena only when it is
 * new. Children are compared by pointer, because they come from the same set; so a lookup costs the node's own width,
 * never the size of the tree below it.
 *
 * The addresses of an unrolled or tiled access differ in their constants alone: so affine nodes share lists of terms. A
 * second set holds, for each list, the first node with it.
 *
 * A node with extra lies inside a record that also names the node without; the records have a set of their own. Its
 * members are those of the other, so it serves wherever the other does.
 *
 * The hash of a runtime value depends on an address, so hashes differ from run to run. Nothing may be ordered by hash:
 * the stable order of nodes is their id, that of axes is pelican_axis.id.
 */
#include "pelican/expr.h"

#include <assert.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/map.h"

enum {
    TERMS_ON_STACK = 16, /* affine nodes up to this width are merged without touching the arena */
};

void pelican_context_init(struct pelican_context *ctx, struct bir_arena *arena)
{
    *ctx = (struct pelican_context){ .arena = arena };
}

/* Most axes have none: they share this list. */
static struct bir_register *const no_registers[PELICAN_ENGINES];

struct pelican_axis *pelican_axis_new(struct pelican_context *ctx, const struct bir_str *name, int64_t lb, int64_t ub,
                                      int64_t stride)
{
    struct pelican_axis *axis = BIR_NEW(ctx->arena, BIR_MEM_EXPRESSIONS, struct pelican_axis);
    if (!axis)
        return NULL;
    axis->name = name;
    axis->lb = lb;
    axis->ub = ub;
    axis->stride = stride;
    axis->registers = no_registers;
    axis->id = ctx->next_axis_id++;
    return axis;
}

bool pelican_axis_set_register(struct pelican_context *ctx, struct pelican_axis *axis, unsigned engine,
                               struct bir_register *reg)
{
    assert(engine < PELICAN_ENGINES);
    if (axis->registers == no_registers) {
        struct bir_register *const *own =
            bir_arena_alloc_array(ctx->arena, BIR_MEM_EXPRESSIONS, PELICAN_ENGINES, sizeof(*own));
        if (!own)
            return false;
        axis->registers = own;
    }
    memcpy((void *)(uintptr_t)&axis->registers[engine], &reg, sizeof(reg)); /* its own list, const to others only */
    return true;
}

int64_t pelican_axis_trip_count(const struct pelican_axis *axis)
{
    uint64_t distance; /* of the last possible value from lb */
    uint64_t pace;
    if (axis->stride > 0 && axis->lb < axis->ub) {
        distance = (uint64_t)axis->ub - (uint64_t)axis->lb - 1;
        pace = (uint64_t)axis->stride;
    } else if (axis->stride < 0 && axis->lb > axis->ub) {
        distance = (uint64_t)axis->lb - (uint64_t)axis->ub - 1;
        pace = 0 - (uint64_t)axis->stride;
    } else {
        return 0;
    }
    uint64_t steps = distance / pace;
    return steps >= (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)(steps + 1);
}

/* --- the set --- */

static uint64_t mix(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t words[2] = { a, b };
    return XXH3_64bits_withSeed(words, sizeof words, seed);
}

static uint32_t fold(uint64_t h)
{
    return (uint32_t)(h ^ (h >> 32));
}

static uint64_t hash_terms(uint64_t h, const struct pelican_expr *e)
{
    for (uint32_t i = 0; i < e->u.affine.n_terms; i++)
        h = mix(h, e->u.affine.terms[i].index->id, (uint64_t)e->u.affine.terms[i].coef);
    return h;
}

static uint64_t hash_sum(uint64_t h, const struct pelican_expr *e)
{
    h = mix(h, e->u.sum.n_terms, 0);
    for (uint32_t i = 0; i < e->u.sum.n_terms; i++)
        h = mix(h, e->u.sum.terms[i]->id, i);
    return h;
}

static uint32_t node_hash(const struct pelican_expr *e)
{
    uint64_t h = e->kind;
    switch ((enum pelican_kind)e->kind) {
    case PELICAN_CC_GET_RANK: return fold(mix(h, (uint64_t)e->u.rank.iteration_id, (uint64_t)e->u.rank.channel_id));
    case PELICAN_INDIRECT_ARG: return fold(mix(h, (uint64_t)e->u.arg_id, 0));
    case PELICAN_AFFINE_IV: return fold(mix(h, e->u.axis->id, 0));
    case PELICAN_RUNTIME_VALUE: return fold(mix(h, (uint64_t)(uintptr_t)e->u.reg, 0));
    case PELICAN_SHARD_ID: return fold(mix(h, (uint64_t)e->u.shard_count, 0));
    case PELICAN_AFFINE: return fold(mix(hash_terms(h, e), (uint64_t)e->u.affine.c, e->u.affine.n_terms));
    case PELICAN_SUM: return fold(hash_sum(h, e));
    case PELICAN_MULT: return fold(mix(h, e->u.mult.operand->id, (uint64_t)e->u.mult.scale));
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV:
        return fold(mix(mix(h, e->u.div.numer->id, (uint64_t)e->u.div.denom), e->u.div.replica_groups_id, 0));
    }
    assert(false && "unknown expression kind");
    return 0;
}

static bool terms_equal(const struct pelican_expr *a, const struct pelican_expr *b)
{
    if (a->u.affine.n_terms != b->u.affine.n_terms)
        return false;
    for (uint32_t i = 0; i < a->u.affine.n_terms; i++) {
        const struct pelican_term *s = &a->u.affine.terms[i];
        const struct pelican_term *t = &b->u.affine.terms[i];
        if (s->index != t->index || s->coef != t->coef)
            return false;
    }
    return true;
}

static bool sum_equal(const struct pelican_expr *a, const struct pelican_expr *b)
{
    if (a->u.sum.n_terms != b->u.sum.n_terms)
        return false;
    for (uint32_t i = 0; i < a->u.sum.n_terms; i++) {
        if (a->u.sum.terms[i] != b->u.sum.terms[i])
            return false;
    }
    return true;
}

static bool node_equal(const struct pelican_expr *a, const struct pelican_expr *b)
{
    if (a->kind != b->kind)
        return false;
    switch ((enum pelican_kind)a->kind) {
    case PELICAN_CC_GET_RANK:
        return a->u.rank.iteration_id == b->u.rank.iteration_id && a->u.rank.channel_id == b->u.rank.channel_id;
    case PELICAN_INDIRECT_ARG: return a->u.arg_id == b->u.arg_id;
    case PELICAN_AFFINE_IV: return a->u.axis == b->u.axis;
    case PELICAN_RUNTIME_VALUE: return a->u.reg == b->u.reg;
    case PELICAN_SHARD_ID: return a->u.shard_count == b->u.shard_count;
    case PELICAN_AFFINE: return a->u.affine.c == b->u.affine.c && terms_equal(a, b);
    case PELICAN_SUM: return sum_equal(a, b);
    case PELICAN_MULT: return a->u.mult.operand == b->u.mult.operand && a->u.mult.scale == b->u.mult.scale;
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV:
        return a->u.div.numer == b->u.div.numer && a->u.div.denom == b->u.div.denom &&
               a->u.div.replica_groups_id == b->u.div.replica_groups_id;
    }
    return false;
}

/* The slot that holds an equal node, or the free one where it belongs. The set has room. */
static bir_ref *find_node(const struct pelican_context *ctx, const struct pelican_expr *e)
{
    uint32_t i = bir_ref_table_first(&ctx->nodes, node_hash(e));
    while (ctx->nodes.slots[i] && !node_equal(bir_arena_at(ctx->arena, ctx->nodes.slots[i]), e))
        i = bir_ref_table_next(&ctx->nodes, i);
    return &ctx->nodes.slots[i];
}

/* The slot of a node with equal terms. */
static bir_ref *find_terms(const struct pelican_context *ctx, const struct pelican_expr *e)
{
    uint32_t i = bir_ref_table_first(&ctx->term_lists, fold(hash_terms(0, e)));
    while (ctx->term_lists.slots[i] && !terms_equal(bir_arena_at(ctx->arena, ctx->term_lists.slots[i]), e))
        i = bir_ref_table_next(&ctx->term_lists, i);
    return &ctx->term_lists.slots[i];
}

static uint32_t hash_node_of(const void *user, bir_ref object)
{
    const struct pelican_context *ctx = user;
    return node_hash(bir_arena_at(ctx->arena, object));
}

static uint32_t hash_terms_of(const void *user, bir_ref object)
{
    const struct pelican_context *ctx = user;
    return fold(hash_terms(0, bir_arena_at(ctx->arena, object)));
}

/* A copy of a borrowed list, or NULL. */
static void *copy_list(struct pelican_context *ctx, const void *items, uint32_t count, size_t item_bytes)
{
    void *copy = bir_arena_alloc_array(ctx->arena, BIR_MEM_EXPRESSIONS, count, item_bytes);
    if (copy)
        memcpy(copy, items, count * item_bytes);
    return copy;
}

/* Exchanges the borrowed terms of a new node for those of an earlier node, or for its own. */
static bool own_terms(struct pelican_context *ctx, struct pelican_expr *e)
{
    if (!bir_ref_table_reserve(&ctx->term_lists, ctx->arena, hash_terms_of, ctx))
        return false;
    bir_ref *slot = find_terms(ctx, e);
    if (*slot) {
        const struct pelican_expr *first = bir_arena_at(ctx->arena, *slot);
        e->u.affine.terms = first->u.affine.terms;
        return true;
    }
    e->u.affine.terms = copy_list(ctx, e->u.affine.terms, e->u.affine.n_terms, sizeof(*e->u.affine.terms));
    if (!e->u.affine.terms)
        return false;
    *slot = bir_ref_of(e);
    ctx->term_lists.count++;
    return true;
}

static bool own_lists(struct pelican_context *ctx, struct pelican_expr *e)
{
    if (e->kind == PELICAN_AFFINE && e->u.affine.n_terms > 0)
        return own_terms(ctx, e);
    if (e->kind == PELICAN_SUM && e->u.sum.n_terms > 0) {
        e->u.sum.terms = copy_list(ctx, e->u.sum.terms, e->u.sum.n_terms, sizeof(*e->u.sum.terms));
        return e->u.sum.terms != NULL;
    }
    return true;
}

static size_t node_bytes(enum pelican_kind kind)
{
    switch (kind) {
#define PELICAN_NODE_BYTES(member) (offsetof(struct pelican_expr, u) + sizeof(((struct pelican_expr *)NULL)->u.member))
    case PELICAN_INDIRECT_ARG: return PELICAN_NODE_BYTES(arg_id);
    case PELICAN_AFFINE_IV: return PELICAN_NODE_BYTES(axis);
    case PELICAN_RUNTIME_VALUE: return PELICAN_NODE_BYTES(reg);
    case PELICAN_SHARD_ID: return PELICAN_NODE_BYTES(shard_count);
    case PELICAN_CC_GET_RANK: return PELICAN_NODE_BYTES(rank);
    case PELICAN_SUM: return PELICAN_NODE_BYTES(sum);
    case PELICAN_MULT: return PELICAN_NODE_BYTES(mult);
    default: return sizeof(struct pelican_expr);
#undef PELICAN_NODE_BYTES
    }
}

static const struct pelican_expr *intern(struct pelican_context *ctx, const struct pelican_expr *candidate)
{
    ctx->overflow = false;
    if (!bir_ref_table_reserve(&ctx->nodes, ctx->arena, hash_node_of, ctx))
        return NULL;
    bir_ref *slot = find_node(ctx, candidate);
    if (*slot)
        return bir_arena_at(ctx->arena, *slot);
    size_t bytes = node_bytes((enum pelican_kind)candidate->kind);
    struct pelican_expr *e = bir_arena_alloc(ctx->arena, BIR_MEM_EXPRESSIONS, bytes);
    if (!e)
        return NULL;
    memcpy(e, candidate, bytes);
    if (!own_lists(ctx, e))
        return NULL;
    e->id = ctx->next_expr_id++;
    *slot = bir_ref_of(e);
    ctx->nodes.count++;
    return e;
}

/* --- constructors --- */

const struct pelican_expr *pelican_constant(struct pelican_context *ctx, int64_t c)
{
    return pelican_affine(ctx, c, NULL, 0);
}

/* Adds one term to the merged list of *n terms; false on overflow. Linear: for short lists. */
static bool merge_term(struct pelican_term *merged, uint32_t *n, const struct pelican_term *term)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (merged[i].index == term->index)
            return !__builtin_add_overflow(merged[i].coef, term->coef, &merged[i].coef);
    }
    merged[(*n)++] = *term;
    return true;
}

/* The same by hash, for lists of any length: seen maps an index to its merged term. */
static bool merge_term_hashed(struct pelican_context *ctx, struct bir_map *seen, struct pelican_term *merged,
                              uint32_t *n, const struct pelican_term *term)
{
    struct pelican_term *first = bir_map_get(seen, term->index);
    if (first) {
        ctx->overflow = __builtin_add_overflow(first->coef, term->coef, &first->coef);
        return !ctx->overflow;
    }
    merged[*n] = *term;
    return bir_map_put(seen, ctx->arena, term->index, &merged[(*n)++]);
}

static const struct pelican_expr *intern_affine(struct pelican_context *ctx, int64_t c,
                                                const struct pelican_term *terms, uint32_t n_terms)
{
    struct pelican_expr e = { .kind = PELICAN_AFFINE };
    e.u.affine.c = c;
    e.u.affine.terms = terms;
    e.u.affine.n_terms = n_terms;
    for (uint32_t i = 0; i < n_terms; i++)
        e.has_runtime = e.has_runtime || terms[i].index->has_runtime;
    return intern(ctx, &e);
}

static const struct pelican_expr *wide_affine(struct pelican_context *ctx, int64_t c, const struct pelican_term *terms,
                                              uint32_t n_terms)
{
    struct bir_map seen = { 0 };
    struct pelican_term *merged = bir_arena_alloc_array(ctx->arena, BIR_MEM_EXPRESSIONS, n_terms, sizeof *merged);
    if (!merged)
        return NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_terms; i++) {
        if (!merge_term_hashed(ctx, &seen, merged, &n, &terms[i]))
            return NULL;
    }
    return intern_affine(ctx, c, merged, n);
}

const struct pelican_expr *pelican_affine(struct pelican_context *ctx, int64_t c, const struct pelican_term *terms,
                                          uint32_t n_terms)
{
    ctx->overflow = false;
    for (uint32_t i = 0; i < n_terms; i++)
        assert(pelican_kind_is_index((enum pelican_kind)terms[i].index->kind));
    if (n_terms > TERMS_ON_STACK)
        return wide_affine(ctx, c, terms, n_terms);
    struct pelican_term merged[TERMS_ON_STACK];
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_terms; i++) {
        if (!merge_term(merged, &n, &terms[i])) {
            ctx->overflow = true;
            return NULL;
        }
    }
    return intern_affine(ctx, c, merged, n);
}

const struct pelican_expr *pelican_affine_iv(struct pelican_context *ctx, struct pelican_axis *axis)
{
    struct pelican_expr e = { .kind = PELICAN_AFFINE_IV, .u.axis = axis };
    return intern(ctx, &e);
}

const struct pelican_expr *pelican_runtime_value(struct pelican_context *ctx, struct bir_register *reg)
{
    struct pelican_expr e = { .kind = PELICAN_RUNTIME_VALUE, .has_runtime = true, .u.reg = reg };
    return intern(ctx, &e);
}

const struct pelican_expr *pelican_indirect_arg(struct pelican_context *ctx, int64_t arg_id)
{
    assert(arg_id >= 0 && "Invalid arg_id for IndirectArgExpr!");
    struct pelican_expr e = { .kind = PELICAN_INDIRECT_ARG, .has_runtime = true, .u.arg_id = arg_id };
    return intern(ctx, &e);
}

const struct pelican_expr *pelican_shard_id(struct pelican_context *ctx, int64_t shard_count)
{
    struct pelican_expr e = { .kind = PELICAN_SHARD_ID, .u.shard_count = shard_count };
    return intern(ctx, &e);
}

const struct pelican_expr *pelican_cc_get_rank(struct pelican_context *ctx, int64_t iteration_id, int64_t channel_id)
{
    assert(iteration_id >= 0 && channel_id >= 0);
    struct pelican_expr e = { .kind = PELICAN_CC_GET_RANK, .has_runtime = true };
    e.u.rank.iteration_id = iteration_id;
    e.u.rank.channel_id = channel_id;
    return intern(ctx, &e);
}

const struct pelican_expr *pelican_sum(struct pelican_context *ctx, const struct pelican_expr *const *terms,
                                       uint32_t n_terms)
{
    struct pelican_expr e = { .kind = PELICAN_SUM };
    e.u.sum.terms = n_terms ? terms : NULL;
    e.u.sum.n_terms = n_terms;
    for (uint32_t i = 0; i < n_terms; i++)
        e.has_runtime = e.has_runtime || terms[i]->has_runtime;
    return intern(ctx, &e);
}

const struct pelican_expr *pelican_mult(struct pelican_context *ctx, const struct pelican_expr *operand, int64_t scale)
{
    struct pelican_expr e = { .kind = PELICAN_MULT, .has_runtime = operand->has_runtime };
    e.u.mult.operand = operand;
    e.u.mult.scale = scale;
    return intern(ctx, &e);
}

static const struct pelican_expr *division(struct pelican_context *ctx, enum pelican_kind kind,
                                           const struct pelican_expr *numer, int64_t denom, uint64_t replica_groups_id)
{
    assert(denom > 0 && "Unsupported denom for DivLikeExpr!");
    struct pelican_expr e = { .kind = (uint8_t)kind, .has_runtime = numer->has_runtime };
    e.u.div.numer = numer;
    e.u.div.denom = denom;
    e.u.div.replica_groups_id = replica_groups_id;
    return intern(ctx, &e);
}

const struct pelican_expr *pelican_floor_div(struct pelican_context *ctx, const struct pelican_expr *numer,
                                             int64_t denom)
{
    return division(ctx, PELICAN_FLOOR_DIV, numer, denom, 0);
}

const struct pelican_expr *pelican_modulo(struct pelican_context *ctx, const struct pelican_expr *numer, int64_t denom)
{
    return division(ctx, PELICAN_MODULO, numer, denom, 0);
}

const struct pelican_expr *pelican_cc_div(struct pelican_context *ctx, const struct pelican_expr *numer, int64_t denom,
                                          uint64_t replica_groups_id)
{
    return division(ctx, PELICAN_CC_DIV, numer, denom, replica_groups_id);
}

/* --- extra --- */

struct record {
    struct pelican_extra extra;
    const struct pelican_expr *plain;
    struct pelican_expr node; /* as long as its kind needs */
};

static const struct record *record_of(const struct pelican_expr *e)
{
    return (const struct record *)(const void *)((const char *)e - offsetof(struct record, node));
}

struct pelican_extra pelican_find_extra(const struct pelican_expr *e)
{
    return record_of(e)->extra;
}

static uint32_t hash_record(const struct pelican_expr *plain, struct pelican_extra extra)
{
    return fold(mix(plain->id, (uint64_t)(uintptr_t)extra.node, (uint64_t)(uintptr_t)extra.term));
}

static uint32_t hash_record_of(const void *user, bir_ref object)
{
    const struct pelican_context *ctx = user;
    const struct record *record = bir_arena_at(ctx->arena, object);
    return hash_record(record->plain, record->extra);
}

const struct pelican_expr *pelican_with_extra(struct pelican_context *ctx, const struct pelican_expr *e,
                                              struct pelican_extra extra)
{
    const struct pelican_expr *plain = e->has_extra ? record_of(e)->plain : e;
    ctx->overflow = false;
    if (!extra.node && !extra.term)
        return plain;
    if (!bir_ref_table_reserve(&ctx->extras, ctx->arena, hash_record_of, ctx))
        return NULL;
    uint32_t i = bir_ref_table_first(&ctx->extras, hash_record(plain, extra));
    for (; ctx->extras.slots[i]; i = bir_ref_table_next(&ctx->extras, i)) {
        const struct record *found = bir_arena_at(ctx->arena, ctx->extras.slots[i]);
        if (found->plain == plain && found->extra.node == extra.node && found->extra.term == extra.term)
            return &found->node;
    }
    size_t bytes = node_bytes((enum pelican_kind)plain->kind);
    struct record *record = bir_arena_alloc(ctx->arena, BIR_MEM_EXPRESSIONS, offsetof(struct record, node) + bytes);
    if (!record)
        return NULL;
    record->extra = extra;
    record->plain = plain;
    memcpy(&record->node, plain, bytes);
    record->node.has_extra = true;
    record->node.id = ctx->next_expr_id++;
    ctx->extras.slots[i] = bir_ref_of(record);
    ctx->extras.count++;
    return &record->node;
}
