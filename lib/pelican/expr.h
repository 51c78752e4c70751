/*
 * Affine expressions over loop induction variables, runtime registers, indirection operands and ranks.
 *
 * Nodes are immutable and hash-consed: within one context two structurally equal expressions are the same pointer, so
 * equality is ==, a shared subtree costs nothing, and caches are keyed by pointer. Kinds carry the vendor's ordinals
 * (lowering.md 1.16). Everything lives in the context's arena.
 *
 * Arithmetic is 64-bit signed and checked: an operation that would overflow gives NULL (construction) or "not evaluable".
 * Modulo is Euclidean and floor division rounds to minus infinity, so d * floordiv(v, d) + mod(v, d) = v (lowering.md 6.2).
 */
#ifndef BIR_PELICAN_EXPR_H
#define BIR_PELICAN_EXPR_H

#include "base/arena.h"
#include "base/ref_table.h"
#include "base/str.h"

struct bir_register;    /* of lib/bir; only its identity matters here */
struct bir_instruction; /* the same */

enum pelican_kind {
    PELICAN_CC_GET_RANK = 2,
    PELICAN_INDIRECT_ARG = 3,
    PELICAN_AFFINE_IV = 6,
    PELICAN_RUNTIME_VALUE = 7,
    PELICAN_SHARD_ID = 13,
    PELICAN_AFFINE = 17,
    PELICAN_SUM = 18,
    PELICAN_MULT = 23,
    PELICAN_FLOOR_DIV = 25,
    PELICAN_MODULO = 26,
    PELICAN_CC_DIV = 27,
};

/* Index family: the kinds 6..13, the only ones allowed as the index of an affine term (lowering.md 1.16). */
static inline bool pelican_kind_is_index(enum pelican_kind kind)
{
    return (unsigned)kind - 6u <= 7u;
}

/* A loop axis: identity of an induction variable. Values run lb, lb + stride, ... while below ub (above, stride < 0). */
#define PELICAN_ENGINES 8 /* EngineType ordinals 0..7 */
struct pelican_axis {
    const struct bir_str *name;
    int64_t lb, ub, stride;
    struct bir_instruction *loop; /* owner, or NULL in tests */
    /* Induction register by engine, NULL until assigned (pelican_axis_set_register). */
    struct bir_register *const *registers;
    uint32_t id; /* creation order in the context: the stable order of axes */
};

struct pelican_term {
    const struct pelican_expr *index; /* index family */
    int64_t coef;
};

/* A node takes only as much memory as its kind needs: copy one by its members, not as a whole. */
struct pelican_expr {
    uint8_t kind; /* enum pelican_kind */
    bool has_runtime; /* a RUNTIME_VALUE, INDIRECT_ARG or CC_GET_RANK is below */
    bool has_extra;   /* pelican_extra_of gives something */
    uint32_t id; /* creation order, for stable sorting */
    union {
        struct {
            int64_t iteration_id, channel_id;
        } rank;
        int64_t arg_id;
        struct pelican_axis *axis;
        struct bir_register *reg;
        int64_t shard_count;
        struct { /* c + sum coef * index, terms in first-seen order, equal indices merged */
            int64_t c;
            const struct pelican_term *terms;
            uint32_t n_terms;
        } affine;
        struct {
            const struct pelican_expr *const *terms;
            uint32_t n_terms;
        } sum;
        struct {
            const struct pelican_expr *operand;
            int64_t scale;
        } mult;
        struct { /* FLOOR_DIV, MODULO, CC_DIV */
            const struct pelican_expr *numer;
            int64_t denom; /* > 0 */
            uint64_t replica_groups_id; /* CC_DIV only */
        } div;
    } u;
};

/* What a document says of a node beyond what it means: further members of its object, and of the term whose index it is.
 * Whoever reads and writes documents knows what these point to; here they are compared by address only. */
struct pelican_extra {
    const void *node, *term; /* or NULL */
};

struct pelican_context {
    struct bir_arena *arena;
    struct bir_ref_table nodes;      /* every node without extra */
    struct bir_ref_table extras;     /* every node with extra */
    struct bir_ref_table term_lists; /* of nodes: for each list of terms the affine node that had it first */
    uint32_t next_axis_id, next_expr_id;
    bool overflow; /* the last constructor that gave NULL did so for an arithmetic overflow, not for memory */
};

void pelican_context_init(struct pelican_context *ctx, struct bir_arena *arena);

/* A new axis, not shared even when the name is. NULL on allocation failure. */
struct pelican_axis *pelican_axis_new(struct pelican_context *ctx, const struct bir_str *name, int64_t lb, int64_t ub,
                                      int64_t stride) BIR_MUST_CHECK;
/* False on allocation failure. */
bool pelican_axis_set_register(struct pelican_context *ctx, struct pelican_axis *axis, unsigned engine,
                               struct bir_register *reg) BIR_MUST_CHECK;
/* Trip count by bir-json.md 9.3 (both stride signs); 0 for stride 0. Saturates at INT64_MAX. */
int64_t pelican_axis_trip_count(const struct pelican_axis *axis);

/* Constructors: they intern and merge equal indices, and simplify nothing else (zero coefficients are kept, so that reading and
 * writing a document is the identity). NULL on allocation failure, or with ctx->overflow set. Preconditions
 * (denom > 0, arg_id >= 0, index kinds of terms) are the caller's to check; they are asserted. */
const struct pelican_expr *pelican_constant(struct pelican_context *ctx, int64_t c);
const struct pelican_expr *pelican_affine(struct pelican_context *ctx, int64_t c, const struct pelican_term *terms,
                                          uint32_t n_terms);
const struct pelican_expr *pelican_affine_iv(struct pelican_context *ctx, struct pelican_axis *axis);
const struct pelican_expr *pelican_runtime_value(struct pelican_context *ctx, struct bir_register *reg);
const struct pelican_expr *pelican_indirect_arg(struct pelican_context *ctx, int64_t arg_id);
const struct pelican_expr *pelican_shard_id(struct pelican_context *ctx, int64_t shard_count);
const struct pelican_expr *pelican_cc_get_rank(struct pelican_context *ctx, int64_t iteration_id, int64_t channel_id);
const struct pelican_expr *pelican_sum(struct pelican_context *ctx, const struct pelican_expr *const *terms, uint32_t n_terms);
const struct pelican_expr *pelican_mult(struct pelican_context *ctx, const struct pelican_expr *operand, int64_t scale);
const struct pelican_expr *pelican_floor_div(struct pelican_context *ctx, const struct pelican_expr *numer, int64_t denom);
const struct pelican_expr *pelican_modulo(struct pelican_context *ctx, const struct pelican_expr *numer, int64_t denom);
const struct pelican_expr *pelican_cc_div(struct pelican_context *ctx, const struct pelican_expr *numer, int64_t denom,
                                          uint64_t replica_groups_id);

/* A node that means what e means and has this extra, in place of that of e. It is another node than e, so terms whose
 * indices differ in it are not merged. NULL on allocation failure. */
const struct pelican_expr *pelican_with_extra(struct pelican_context *ctx, const struct pelican_expr *e,
                                              struct pelican_extra extra) BIR_MUST_CHECK;
struct pelican_extra pelican_find_extra(const struct pelican_expr *e);

static inline struct pelican_extra pelican_extra_of(const struct pelican_expr *e)
{
    return e->has_extra ? pelican_find_extra(e) : (struct pelican_extra){ NULL, NULL };
}

static inline bool pelican_is_constant(const struct pelican_expr *e)
{
    return e->kind == PELICAN_AFFINE && e->u.affine.n_terms == 0;
}

#endif
