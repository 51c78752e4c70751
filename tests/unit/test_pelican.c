/* Expression algebra: every rule keeps the value at every point, ranges hold, normal forms are canonical (lowering.md
 * 6). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc_fail.h"
#include "base/random.h"
#include "pelican/arith.h"
#include "pelican/evaluate.h"
#include "pelican/simplify.h"

enum { AXES = 4 };

struct world {
    struct bir_arena arena;
    struct bir_strtab strings;
    struct pelican_context ctx;
    struct pelican_axis *axes[AXES];
    const struct pelican_expr *ivs[AXES];
    int64_t point[AXES];
    int64_t reg_value;
    uint64_t seed;
};

static char register_token; /* registers matter by identity only */

static void world_init(struct world *w, uint64_t seed)
{
    static const int64_t bounds[AXES][3] = { { 0, 4, 1 }, { -4, 9, 3 }, { 16, 0, -5 }, { 0, 512, 128 } };
    memset(w, 0, sizeof *w);
    bir_arena_init(&w->arena, 0);
    bir_strtab_init(&w->strings, &w->arena);
    pelican_context_init(&w->ctx, &w->arena);
    w->seed = seed;
    for (int i = 0; i < AXES; i++) {
        w->axes[i] =
            pelican_axis_new(&w->ctx, bir_intern_cstr(&w->strings, "ijkl"), bounds[i][0], bounds[i][1], bounds[i][2]);
        w->ivs[i] = w->axes[i] ? pelican_affine_iv(&w->ctx, w->axes[i]) : NULL;
    }
}

static void world_deinit(struct world *w)
{
    bir_arena_deinit(&w->arena);
}

static int64_t pick(struct world *w, int64_t lo, int64_t hi)
{
    return lo + (int64_t)bir_random_below(&w->seed, (uint64_t)(hi - lo) + 1);
}

static bool leaf_value(void *user, const struct pelican_expr *leaf, int64_t *value)
{
    struct world *w = user;
    switch ((enum pelican_kind)leaf->kind) {
    case PELICAN_AFFINE_IV:
        for (int i = 0; i < AXES; i++) {
            if (w->axes[i] == leaf->u.axis) {
                *value = w->point[i];
                return true;
            }
        }
        return false;
    case PELICAN_RUNTIME_VALUE: *value = w->reg_value; return true;
    case PELICAN_SHARD_ID: *value = w->reg_value & 1; return true;
    default: return false;
    }
}

/* Moves to the next point of the whole domain; false after the last. */
static bool next_point(struct world *w)
{
    for (int i = AXES - 1; i >= 0; i--) {
        w->point[i] += w->axes[i]->stride;
        bool inside = w->axes[i]->stride > 0 ? w->point[i] < w->axes[i]->ub : w->point[i] > w->axes[i]->ub;
        if (inside)
            return true;
        w->point[i] = w->axes[i]->lb;
    }
    return false;
}

static void first_point(struct world *w)
{
    for (int i = 0; i < AXES; i++)
        w->point[i] = w->axes[i]->lb;
    w->reg_value = pick(w, -100, 100);
}

/* before and after agree at every point, and both ranges hold every value. */
static void check_same(struct world *w, const struct pelican_expr *before, const struct pelican_expr *after)
{
    struct pelican_range rb = pelican_range_of(before);
    struct pelican_range ra = pelican_range_of(after);
    first_point(w);
    do {
        int64_t x, y;
        w->reg_value = pick(w, -100, 100);
        bool same = pelican_evaluate(before, leaf_value, w, &x) && pelican_evaluate(after, leaf_value, w, &y) && x == y;
        bool inside =
            same && (!rb.known || (rb.inf <= x && x <= rb.sup)) && (!ra.known || (ra.inf <= x && x <= ra.sup));
        if (!inside) /* an assertion a point would cost more than the point */
            ck_abort_msg("%s at (%d, %d, %d, %d)", same ? "outside its range" : "value changed", (int)w->point[0],
                         (int)w->point[1], (int)w->point[2], (int)w->point[3]);
    } while (next_point(w));
}

static const struct pelican_expr *simplified(struct world *w, const struct pelican_expr *e)
{
    const struct pelican_expr *s = pelican_simplify(&w->ctx, e);
    ck_assert_ptr_nonnull(s);
    ck_assert_ptr_eq(pelican_simplify(&w->ctx, s), s);
    check_same(w, e, s);
    return s;
}

static const struct pelican_expr *affine(struct world *w, int64_t c, int64_t i, int64_t j, int64_t k, int64_t l)
{
    struct pelican_term terms[AXES] = { { w->ivs[0], i }, { w->ivs[1], j }, { w->ivs[2], k }, { w->ivs[3], l } };
    return pelican_affine(&w->ctx, c, terms, AXES);
}

static const struct pelican_expr *random_affine(struct world *w)
{
    return affine(w, pick(w, -40, 40), pick(w, -8, 8), pick(w, -8, 8), pick(w, -8, 8), pick(w, -2, 2));
}

static const struct pelican_expr *sum2(struct world *w, const struct pelican_expr *a, const struct pelican_expr *b)
{
    const struct pelican_expr *terms[] = { a, b };
    return pelican_sum(&w->ctx, terms, 2);
}

/* A numerator that no rule can fold against small divisors: its range is wide and its coefficients are odd. */
static const struct pelican_expr *stubborn(struct world *w)
{
    return affine(w, 1, 17, 1, 1, 1);
}

/* --- one property test a rule --- */

static void rule_index(struct world *w)
{
    const struct pelican_expr *e = simplified(w, w->ivs[pick(w, 0, AXES - 1)]);
    ck_assert_int_eq(e->kind, PELICAN_AFFINE);
    ck_assert_uint_eq(e->u.affine.n_terms, 1);
}

static void rule_affine(struct world *w)
{
    struct pelican_term terms[] = { { w->ivs[3], 5 }, { w->ivs[1], 0 }, { w->ivs[0], pick(w, 1, 9) } };
    const struct pelican_expr *e = simplified(w, pelican_affine(&w->ctx, 3, terms, 3));
    ck_assert_uint_eq(e->u.affine.n_terms, 2);
    ck_assert_ptr_eq(e->u.affine.terms[0].index, w->ivs[0]);
    ck_assert_ptr_eq(e->u.affine.terms[1].index, w->ivs[3]);
}

static void rule_sum(struct world *w)
{
    const struct pelican_expr *a = random_affine(w), *b = random_affine(w);
    const struct pelican_expr *m = pelican_modulo(&w->ctx, stubborn(w), 7);
    ck_assert_int_eq(simplified(w, sum2(w, a, sum2(w, b, a)))->kind, PELICAN_AFFINE);
    /* commutative and associative, so canonical */
    ck_assert_ptr_eq(simplified(w, sum2(w, sum2(w, m, a), b)), simplified(w, sum2(w, b, sum2(w, a, m))));
    /* equal operands collect */
    ck_assert_ptr_eq(simplified(w, sum2(w, m, m)), simplified(w, pelican_mult(&w->ctx, m, 2)));
    ck_assert_int_eq(simplified(w, sum2(w, m, pelican_mult(&w->ctx, m, -1)))->kind, PELICAN_AFFINE);
}

static void rule_mult(struct world *w)
{
    const struct pelican_expr *m = pelican_modulo(&w->ctx, stubborn(w), 7);
    int64_t k = pick(w, -9, 9);
    ck_assert_int_eq(simplified(w, pelican_mult(&w->ctx, random_affine(w), k))->kind, PELICAN_AFFINE);
    ck_assert_ptr_eq(simplified(w, pelican_mult(&w->ctx, m, 1)), simplified(w, m));
    ck_assert_ptr_eq(simplified(w, pelican_mult(&w->ctx, m, 0)), pelican_constant(&w->ctx, 0));
    ck_assert_ptr_eq(simplified(w, pelican_mult(&w->ctx, pelican_mult(&w->ctx, m, 3), k)),
                     simplified(w, pelican_mult(&w->ctx, m, 3 * k)));
    ck_assert_ptr_eq(simplified(w, pelican_mult(&w->ctx, sum2(w, m, w->ivs[0]), 3)),
                     simplified(w, sum2(w, pelican_mult(&w->ctx, m, 3), affine(w, 0, 3, 0, 0, 0))));
}

static void rule_by_one(struct world *w)
{
    const struct pelican_expr *a = random_affine(w);
    ck_assert_ptr_eq(simplified(w, pelican_floor_div(&w->ctx, a, 1)), simplified(w, a));
    ck_assert_ptr_eq(simplified(w, pelican_modulo(&w->ctx, a, 1)), pelican_constant(&w->ctx, 0));
}

static void rule_range(struct world *w)
{
    int64_t d = pick(w, 512, 600), q = pick(w, -5, 5);
    const struct pelican_expr *x = affine(w, q * d, 1, 0, 0, 1); /* 0..387 above q * d */
    const struct pelican_expr *m = pelican_modulo(&w->ctx, stubborn(w), d);
    ck_assert_ptr_eq(simplified(w, pelican_floor_div(&w->ctx, x, d)), pelican_constant(&w->ctx, q));
    ck_assert_ptr_eq(simplified(w, pelican_modulo(&w->ctx, x, d)), simplified(w, affine(w, 0, 1, 0, 0, 1)));
    ck_assert_ptr_eq(simplified(w, pelican_floor_div(&w->ctx, m, d)), pelican_constant(&w->ctx, 0));
    ck_assert_ptr_eq(simplified(w, pelican_modulo(&w->ctx, m, d + 3)), simplified(w, m));
}

static void rule_div_extract(struct world *w)
{
    int64_t d = pick(w, 2, 40);
    const struct pelican_expr *all = affine(w, pick(w, -99, 99), 3 * d, -d, 0, 2 * d);
    ck_assert_int_eq(simplified(w, pelican_floor_div(&w->ctx, all, d))->kind, PELICAN_AFFINE);
    /* (512 k + i) floordiv 512 with 0 <= i < 4 */
    const struct pelican_expr *part = simplified(w, pelican_floor_div(&w->ctx, affine(w, 0, 1, 0, 512, 0), 512));
    ck_assert_ptr_eq(part, simplified(w, w->ivs[2]));
    /* the opaque part keeps its division */
    const struct pelican_expr *kept = simplified(w, pelican_floor_div(&w->ctx, affine(w, 5, 7, 1, d, 0), d));
    ck_assert(kept->kind == PELICAN_SUM || kept->kind == PELICAN_AFFINE);
}

static void rule_div_of_div(struct world *w)
{
    const struct pelican_expr *inner = pelican_floor_div(&w->ctx, stubborn(w), 3);
    ck_assert_ptr_eq(simplified(w, pelican_floor_div(&w->ctx, inner, 5)),
                     simplified(w, pelican_floor_div(&w->ctx, stubborn(w), 15)));
}

static void rule_mod_reduce(struct world *w)
{
    int64_t n = pick(w, 2, 9);
    const struct pelican_expr *m = pelican_modulo(&w->ctx, stubborn(w), 6 * n);
    ck_assert_ptr_eq(simplified(w, pelican_modulo(&w->ctx, m, n)),
                     simplified(w, pelican_modulo(&w->ctx, stubborn(w), n)));
    const struct pelican_expr *r = random_affine(w);
    ck_assert_ptr_eq(simplified(w, pelican_modulo(&w->ctx, sum2(w, m, r), n)),
                     simplified(w, pelican_modulo(&w->ctx, sum2(w, stubborn(w), r), n)));
    ck_assert_ptr_eq(simplified(w, pelican_modulo(&w->ctx, affine(w, n, 2 * n, -n, n, 0), n)),
                     pelican_constant(&w->ctx, 0));
    ck_assert_int_eq(simplified(w, pelican_modulo(&w->ctx, stubborn(w), 5))->kind, PELICAN_MODULO);
}

static const struct {
    const char *name;
    void (*run)(struct world *w);
} rules[] = {
    { "index", rule_index },
    { "affine", rule_affine },
    { "sum", rule_sum },
    { "mult", rule_mult },
    { "by one", rule_by_one },
    { "range", rule_range },
    { "extract", rule_div_extract },
    { "division of division", rule_div_of_div },
    { "reduce", rule_mod_reduce },
};

START_TEST(rule_keeps_values)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct world w;
        world_init(&w, seed);
        rules[_i].run(&w);
        world_deinit(&w);
    }
}
END_TEST

/* --- random expressions --- */

static const struct pelican_expr *random_expr(struct world *w, int depth)
{
    if (depth == 0)
        return pick(w, 0, 5) ? random_affine(w) : w->ivs[pick(w, 0, AXES - 1)];
    const struct pelican_expr *a = random_expr(w, depth - 1);
    switch (pick(w, 0, 4)) {
    case 0: return sum2(w, a, random_expr(w, depth - 1));
    case 1: return pelican_mult(&w->ctx, a, pick(w, -4, 4));
    case 2: return pelican_floor_div(&w->ctx, a, pick(w, 1, 24));
    case 3: return pelican_modulo(&w->ctx, a, pick(w, 1, 24));
    default: {
        struct pelican_term t = { pelican_runtime_value(&w->ctx, (struct bir_register *)(void *)&register_token), 3 };
        return pick(w, 0, 3) ? sum2(w, a, a) : sum2(w, a, pelican_affine(&w->ctx, 1, &t, 1));
    }
    }
}

START_TEST(random_expressions_keep_values)
{
    struct world w;
    world_init(&w, (uint64_t)_i);
    unsigned affine_results = 0;
    for (int n = 0; n < 120; n++)
        affine_results += simplified(&w, random_expr(&w, (int)pick(&w, 1, 5)))->kind == PELICAN_AFFINE;
    ck_assert_uint_gt(affine_results, 0);
    world_deinit(&w);
}
END_TEST

/* --- the rest --- */

START_TEST(equal_content_is_one_node)
{
    struct world w;
    world_init(&w, 7);
    struct pelican_term twice[] = { { w.ivs[0], 2 }, { w.ivs[1], 1 }, { w.ivs[0], 3 } };
    struct pelican_term once[] = { { w.ivs[0], 5 }, { w.ivs[1], 1 } };
    ck_assert_ptr_eq(pelican_affine(&w.ctx, 4, twice, 3), pelican_affine(&w.ctx, 4, once, 2));
    ck_assert_ptr_ne(pelican_affine(&w.ctx, 5, once, 2), pelican_affine(&w.ctx, 4, once, 2));
    ck_assert_ptr_eq(pelican_indirect_arg(&w.ctx, 1), pelican_indirect_arg(&w.ctx, 1));
    ck_assert_ptr_ne(pelican_indirect_arg(&w.ctx, 1), pelican_indirect_arg(&w.ctx, 2));
    ck_assert_ptr_eq(pelican_cc_get_rank(&w.ctx, 1, 2), pelican_cc_get_rank(&w.ctx, 1, 2));
    ck_assert_ptr_ne(pelican_cc_div(&w.ctx, w.ivs[0], 2, 1), pelican_cc_div(&w.ctx, w.ivs[0], 2, 0));
    ck_assert_ptr_ne(pelican_floor_div(&w.ctx, w.ivs[0], 2), pelican_modulo(&w.ctx, w.ivs[0], 2));
    /* zero coefficients are kept until simplification */
    struct pelican_term zero = { w.ivs[0], 0 };
    ck_assert_uint_eq(pelican_affine(&w.ctx, 0, &zero, 1)->u.affine.n_terms, 1);
    ck_assert(pelican_indirect_arg(&w.ctx, 1)->has_runtime);
    ck_assert(!sum2(&w, w.ivs[0], w.ivs[1])->has_runtime);
    ck_assert(sum2(&w, w.ivs[0], pelican_indirect_arg(&w.ctx, 1))->has_runtime);
    world_deinit(&w);
}
END_TEST

/* A list wider than the merging stack: 1,000 terms over two indices. */
/* Equal extra, equal node; the meaning, and what is computed from it, stay. */
START_TEST(extra_is_part_of_a_node)
{
    struct world w;
    world_init(&w, 3);
    struct pelican_extra first = { &w, NULL }, second = { &w, &w.seed };
    const struct pelican_expr *one = pelican_with_extra(&w.ctx, w.ivs[0], first);
    ck_assert_ptr_nonnull(one);
    ck_assert_ptr_ne(one, w.ivs[0]);
    ck_assert_ptr_eq(pelican_with_extra(&w.ctx, w.ivs[0], first), one);
    ck_assert_ptr_eq(pelican_extra_of(one).node, &w);
    ck_assert_ptr_null(pelican_extra_of(one).term);
    ck_assert_ptr_null(pelican_extra_of(w.ivs[0]).node);
    const struct pelican_expr *two = pelican_with_extra(&w.ctx, one, second);
    ck_assert_ptr_ne(two, one);
    ck_assert_ptr_eq(pelican_extra_of(two).term, &w.seed);
    ck_assert_ptr_eq(pelican_with_extra(&w.ctx, two, (struct pelican_extra){ NULL, NULL }), w.ivs[0]);
    struct pelican_term terms[] = { { one, 2 }, { w.ivs[0], 3 }, { one, 5 } };
    const struct pelican_expr *affine = pelican_affine(&w.ctx, 1, terms, 3), *simple;
    ck_assert_uint_eq(affine->u.affine.n_terms, 2);
    ck_assert_int_eq(affine->u.affine.terms[0].coef, 7);
    for (int i = 0; i < 1000; i++) { /* the set grows */
        struct pelican_extra extra = { (const char *)&w + i, &w };
        ck_assert_ptr_eq(pelican_with_extra(&w.ctx, affine, extra), pelican_with_extra(&w.ctx, affine, extra));
    }
    const struct pelican_expr *node = pelican_with_extra(&w.ctx, affine, second);
    simple = pelican_simplify(&w.ctx, pelican_modulo(&w.ctx, node, 7));
    ck_assert_ptr_nonnull(simple);
    check_same(&w, pelican_modulo(&w.ctx, node, 7), simple);
    world_deinit(&w);
}
END_TEST

START_TEST(wide_affine_merges)
{
    struct world w;
    world_init(&w, 3);
    struct pelican_term terms[1000];
    for (int i = 0; i < 1000; i++)
        terms[i] = (struct pelican_term){ w.ivs[i & 1], 1 };
    const struct pelican_expr *e = pelican_affine(&w.ctx, 0, terms, 1000);
    ck_assert_uint_eq(e->u.affine.n_terms, 2);
    ck_assert_int_eq(e->u.affine.terms[0].coef, 500);
    ck_assert_int_eq(e->u.affine.terms[1].coef, 500);
    terms[0].coef = INT64_MAX;
    ck_assert_ptr_null(pelican_affine(&w.ctx, 0, terms, 1000));
    ck_assert(w.ctx.overflow);
    world_deinit(&w);
}
END_TEST

START_TEST(overflow_is_reported)
{
    struct world w;
    world_init(&w, 3);
    int64_t v;
    struct pelican_term twice[] = { { w.ivs[0], INT64_MAX }, { w.ivs[0], 1 } };
    ck_assert_ptr_null(pelican_affine(&w.ctx, 0, twice, 2));
    ck_assert(w.ctx.overflow);
    const struct pelican_expr *big = pelican_constant(&w.ctx, INT64_MAX);
    ck_assert(!w.ctx.overflow);
    const struct pelican_expr *sum = sum2(&w, big, pelican_constant(&w.ctx, 1));
    ck_assert_ptr_null(pelican_simplify(&w.ctx, sum));
    ck_assert(w.ctx.overflow);
    ck_assert(!pelican_evaluate(sum, leaf_value, &w, &v));
    ck_assert(!pelican_range_of(sum).known);
    ck_assert_ptr_null(pelican_simplify(&w.ctx, pelican_mult(&w.ctx, big, 2)));
    ck_assert(w.ctx.overflow);
    ck_assert(!pelican_evaluate(pelican_mult(&w.ctx, big, 2), leaf_value, &w, &v));
    /* the edge of the range is no overflow */
    ck_assert_ptr_nonnull(pelican_simplify(&w.ctx, sum2(&w, big, pelican_constant(&w.ctx, 0))));
    ck_assert(!w.ctx.overflow);
    world_deinit(&w);
}
END_TEST

START_TEST(not_evaluable)
{
    struct world w;
    world_init(&w, 3);
    int64_t v = 99;
    first_point(&w);
    w.point[0] = 4; /* the axis ends at 3 */
    ck_assert(!pelican_evaluate(affine(&w, 0, 1, 0, 0, 0), leaf_value, &w, &v));
    w.point[0] = -1;
    ck_assert(!pelican_evaluate(w.ivs[0], leaf_value, &w, &v));
    ck_assert(!pelican_evaluate(pelican_indirect_arg(&w.ctx, 1), leaf_value, &w, &v));
    ck_assert(!pelican_evaluate(pelican_cc_div(&w.ctx, pelican_constant(&w.ctx, 4), 2, 0), leaf_value, &w, &v));
    ck_assert(!pelican_evaluate(w.ivs[1], NULL, NULL, &v));
    ck_assert_int_eq(v, 99);
    world_deinit(&w);
}
END_TEST

/* s(0) = stubborn mod 7, s(k+1) = s(k) + (s(k) floordiv 3): a tree of 2^50 leaves, a DAG of 101 nodes. */
START_TEST(shared_subtrees_cost_once)
{
    struct world w;
    world_init(&w, 3);
    int64_t v;
    const struct pelican_expr *e = pelican_modulo(&w.ctx, stubborn(&w), 7);
    for (int i = 0; i < 50; i++)
        e = sum2(&w, e, pelican_floor_div(&w.ctx, e, 3));
    first_point(&w);
    ck_assert(pelican_evaluate(e, leaf_value, &w, &v));
    struct pelican_range r = pelican_range_of(e);
    ck_assert(r.known && r.inf <= v && v <= r.sup);
    ck_assert(pelican_is_legal_delinearised(sum2(&w, w.ivs[0], w.ivs[0]), true, true));
    uint32_t before = w.ctx.nodes.count;
    const struct pelican_expr *s = pelican_simplify(&w.ctx, e);
    ck_assert_ptr_nonnull(s);
    ck_assert_uint_lt(w.ctx.nodes.count - before, 20000);
    int64_t u;
    ck_assert(pelican_evaluate(s, leaf_value, &w, &u));
    ck_assert_int_eq(u, v);
    world_deinit(&w);
}
END_TEST

START_TEST(trip_counts)
{
    struct world w;
    world_init(&w, 3);
    for (int64_t lb = -6; lb <= 6; lb++) {
        for (int64_t ub = -6; ub <= 6; ub++) {
            for (int64_t stride = -4; stride <= 4; stride++) {
                struct pelican_axis a = { .lb = lb, .ub = ub, .stride = stride };
                int64_t n = 0;
                for (int64_t i = lb; stride > 0 ? i < ub : stride < 0 && i > ub; i += stride)
                    n++;
                if (pelican_axis_trip_count(&a) != n)
                    ck_abort_msg("trip count of %d..%d step %d", (int)lb, (int)ub, (int)stride);
            }
        }
    }
    struct pelican_axis widest = { .lb = INT64_MIN, .ub = INT64_MAX, .stride = 1 };
    ck_assert_int_eq(pelican_axis_trip_count(&widest), INT64_MAX);
    widest.stride = INT64_MIN;
    ck_assert_int_eq(pelican_axis_trip_count(&widest), 0);
    world_deinit(&w);
}
END_TEST

START_TEST(division_identity)
{
    for (int64_t v = -50; v <= 50; v++) {
        for (int64_t d = 1; d <= 12; d++) {
            int64_t q = pelican_floor_div_i64(v, d), r = pelican_mod_i64(v, d);
            ck_assert_int_eq(d * q + r, v);
            ck_assert(r >= 0 && r < d);
        }
    }
}
END_TEST

START_TEST(ranges_of_leaves)
{
    struct world w;
    world_init(&w, 3);
    struct pelican_range r = pelican_range_of(w.ivs[1]); /* -4, -1, 2, 5, 8 */
    ck_assert(r.known && r.inf == -4 && r.sup == 8);
    r = pelican_range_of(w.ivs[2]); /* 16, 11, 6, 1 */
    ck_assert(r.known && r.inf == 1 && r.sup == 16);
    struct pelican_axis *empty = pelican_axis_new(&w.ctx, NULL, 3, 3, 1);
    ck_assert(!pelican_range_of(pelican_affine_iv(&w.ctx, empty)).known);
    const struct pelican_expr *reg = pelican_runtime_value(&w.ctx, (struct bir_register *)(void *)&register_token);
    ck_assert(!pelican_range_of(reg).known);
    r = pelican_range_of(pelican_modulo(&w.ctx, reg, 9));
    ck_assert(r.known && r.inf == 0 && r.sup == 8);
    r = pelican_range_of(pelican_shard_id(&w.ctx, 4));
    ck_assert(r.known && r.inf == 0 && r.sup == 3);
    world_deinit(&w);
}
END_TEST

START_TEST(delinearised_legality)
{
    struct world w;
    world_init(&w, 3);
    struct pelican_context *c = &w.ctx;
    const struct pelican_expr *i = w.ivs[0]; /* four values */
    ck_assert(pelican_is_legal_delinearised(i, true, true));
    ck_assert(pelican_is_legal_delinearised(pelican_constant(c, 5), true, true));
    ck_assert(pelican_is_legal_delinearised(affine(&w, 5, 1, 0, 0, 0), false, true));
    ck_assert(!pelican_is_legal_delinearised(affine(&w, 5, 1, 0, 0, 0), true, true));
    ck_assert(pelican_is_legal_delinearised(affine(&w, 0, 1, 0, 0, 0), true, true));
    ck_assert(pelican_is_legal_delinearised(pelican_floor_div(c, i, 3), true, false));
    ck_assert(!pelican_is_legal_delinearised(pelican_floor_div(c, i, 3), true, true));
    ck_assert(pelican_is_legal_delinearised(pelican_modulo(c, i, 2), true, true));
    struct pelican_term two = { i, 2 };
    ck_assert(pelican_is_legal_delinearised(pelican_modulo(c, pelican_affine(c, 0, &two, 1), 8), false, false));
    ck_assert(!pelican_is_legal_delinearised(pelican_modulo(c, pelican_affine(c, 0, &two, 1), 6), false, false));
    ck_assert(!pelican_is_legal_delinearised(pelican_modulo(c, affine(&w, 0, 1, 1, 0, 0), 2), false, false));
    ck_assert(!pelican_is_legal_delinearised(pelican_indirect_arg(c, 1), false, false));
    ck_assert(!pelican_is_legal_delinearised(pelican_cc_get_rank(c, 0, 0), false, false));
    ck_assert(pelican_is_legal_delinearised(pelican_mult(c, pelican_modulo(c, i, 2), 7), true, true));
    ck_assert(!pelican_is_legal_delinearised(sum2(&w, i, pelican_indirect_arg(c, 1)), true, true));
    world_deinit(&w);
}
END_TEST

/* Builds, simplifies and measures one expression; false when an allocation failed on the way. */
static bool exercise(struct world *w, bool *overflow)
{
    const struct pelican_expr *e = w->ivs[0];
    for (int i = 0; i < 30 && e; i++) {
        const struct pelican_expr *terms[] = { e, w->ivs[i % AXES] };
        e = w->ivs[i % AXES] ? pelican_sum(&w->ctx, terms, 2) : NULL;
        e = e ? pelican_modulo(&w->ctx, e, 1000 - i) : NULL;
        e = e ? pelican_mult(&w->ctx, e, 3) : NULL;
    }
    e = e ? pelican_simplify(&w->ctx, e) : NULL;
    if (!e) {
        *overflow = w->ctx.overflow;
        return false;
    }
    return pelican_range_of(e).known;
}

START_TEST(allocation_failures)
{
    for (long n = 1;; n++) {
        long live = alloc_live();
        struct world w;
        alloc_fail_at(n);
        world_init(&w, 5);
        bool overflow = false;
        bool ok = exercise(&w, &overflow);
        world_deinit(&w);
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        live -= alloc_live(); /* before Check allocates */
        ck_assert_int_eq(live, 0);
        ck_assert(ok || fired);
        ck_assert(!overflow);
        if (!fired)
            break;
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("pelican");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, rule_keeps_values, 0, (int)(sizeof rules / sizeof rules[0]));
    tcase_add_loop_test(tc, random_expressions_keep_values, 1, 9);
    tcase_add_test(tc, equal_content_is_one_node);
    tcase_add_test(tc, extra_is_part_of_a_node);
    tcase_add_test(tc, wide_affine_merges);
    tcase_add_test(tc, overflow_is_reported);
    tcase_add_test(tc, not_evaluable);
    tcase_add_test(tc, shared_subtrees_cost_once);
    tcase_add_test(tc, trip_counts);
    tcase_add_test(tc, division_identity);
    tcase_add_test(tc, ranges_of_leaves);
    tcase_add_test(tc, delinearised_legality);
    tcase_add_test(tc, allocation_failures);
    Suite *suite = suite_create("pelican");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
