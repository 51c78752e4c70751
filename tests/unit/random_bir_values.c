/*
 * Values of random BIR-JSON: numbers, texts, any JSON, expressions in both versions, members with and without their
 * default.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_bir_gen.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

bool gen_chance(struct gen *g, uint32_t one_in)
{
    return bir_random_below(&g->random, one_in) == 0;
}

uint32_t gen_below(struct gen *g, uint32_t bound)
{
    return (uint32_t)bir_random_below(&g->random, bound);
}

const char *gen_pick(struct gen *g, const char *const *items, uint32_t count)
{
    return items[gen_below(g, count)];
}

void gen_name_add(struct gen_names *names, const char *name)
{
    if (names->count < GEN_NAMES)
        names->items[names->count++] = name;
}

const char *gen_new_name(struct gen *g, const char *prefix)
{
    static const char *const odd[] = { " ",  "\"",  "\\", "/", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                       "\n", "\x01" };
    const char *tail = gen_chance(g, 8) ? GEN_PICK(g, odd) : "";
    return tree_printf(g->arena, "%s%u%s", prefix, g->next_number++, tail);
}

int64_t gen_int(struct gen *g, bool is_signed)
{
    static const int64_t special[] = {
        0, 1, 2, 127, 128, 255, 65536, INT32_MAX, INT64_C(1) << 53, INT64_MAX, INT64_MAX - 1
    };
    int64_t value = special[gen_below(g, COUNT(special))];
    if (gen_chance(g, 2))
        value = (int64_t)(bir_random_next(&g->random) >> (1 + gen_below(g, 63)));
    if (!is_signed || gen_chance(g, 2))
        return value;
    return gen_chance(g, 50) ? INT64_MIN : -value;
}

double gen_double(struct gen *g)
{
    static const double special[] = { 0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      0.1,
                                      0.5,
                                      1e15,
                                      1e16,
                                      123456789012345.0,
                                      1e-4,
                                      1e-5,
                                      5e-324,
                                      1.7976931348623157e308,
                                      2.2250738585072014e-308,
                                      3.0,
                                      1e22,
                                      9007199254740993.0 };
    if (gen_chance(g, 2))
        return special[gen_below(g, COUNT(special))];
    if (gen_chance(g, 2)) {
        double fraction = (double)(int64_t)bir_random_next(&g->random) / 1048576.0;
        return fraction / (double)(1 + gen_below(g, 1000));
    }
    for (;;) { /* any finite double */
        uint64_t bits = bir_random_next(&g->random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (value - value == 0)
            return value;
    }
}

struct tree *gen_text(struct gen *g)
{
    static const char *const pieces[] = { "a",
                                          "Kernel_7",
                                          " ",
                                          "\n",
                                          "\t",
                                          "\"",
                                          "\\",
                                          "/",
                                          "\x01\x1f",
                                          "\x7f",
                                          "\xc3\xa9",
                                          "\xe2\x82\xac",
                                          "\xf0\x9f\x98\x80",
                                          "{\"x\": 1}",
                                          "0123456789abcdef",
                                          "\xed\x9f\xbf" };
    char text[128] = "";
    size_t len = 0;
    for (uint32_t n = gen_below(g, 5); n > 0; n--) {
        const char *piece = GEN_PICK(g, pieces);
        memcpy(text + len, piece, strlen(piece));
        len += strlen(piece);
    }
    if (gen_chance(g, 30))
        text[len++] = '\0';
    return tree_text_n(g->arena, text, len);
}

struct tree *gen_object(struct gen *g)
{
    return tree_new(g->arena, TREE_OBJECT);
}

struct tree *gen_array(struct gen *g)
{
    return tree_new(g->arena, TREE_ARRAY);
}

void gen_put(struct gen *g, struct tree *object, const char *key, struct tree *value)
{
    tree_put(g->arena, object, TREE_BOTH, key, value);
}

static struct tree *gen_number(struct gen *g)
{
    static const char *const huge[] = { "9223372036854775808", "18446744073709551615", "-9223372036854775809",
                                        "123456789012345678901234567890" };
    if (g->bir->huge && gen_chance(g, 4)) {
        const char *text = GEN_PICK(g, huge);
        return tree_scalar(g->arena, text, text);
    }
    if (gen_chance(g, 20))
        return tree_scalar(g->arena, "0", "-0");
    return gen_chance(g, 2) ? tree_int(g->arena, gen_int(g, true)) : tree_double(g->arena, gen_double(g), &g->random);
}

struct tree *gen_json(struct gen *g, int depth)
{
    struct tree *tree;
    switch (gen_below(g, depth > 0 ? 7 : 4)) {
    case 0: return gen_text(g);
    case 1: return tree_bool(g->arena, gen_chance(g, 2));
    case 2: return tree_scalar(g->arena, "null", "null");
    case 3: return gen_number(g);
    case 4:
        tree = gen_array(g);
        for (uint32_t n = gen_below(g, 4); n > 0; n--)
            tree_add(g->arena, tree, gen_json(g, depth - 1));
        return tree;
    default:
        tree = gen_object(g);
        for (uint32_t n = gen_below(g, 4); n > 0; n--)
            gen_put(g, tree, gen_new_name(g, gen_chance(g, 2) ? "k" : "Q"), gen_json(g, depth - 1));
        return tree;
    }
}

void gen_unknown(struct gen *g, struct tree *object)
{
    for (uint32_t n = g->tidy || !gen_chance(g, 4) ? 0 : 1 + gen_below(g, 2); n > 0; n--)
        gen_put(g, object, gen_new_name(g, RANDOM_BIR_UNKNOWN), gen_json(g, 2));
    /* Keys that mean something elsewhere. */
    static const char *const foreign[] = { "n_terms", "numer", "denom", "op_param", "AxisLabel", "coeff" };
    if (!g->tidy && gen_chance(g, 16))
        gen_put(g, object, GEN_PICK(g, foreign), gen_json(g, 1));
}

struct tree *gen_ints(struct gen *g, uint32_t min, uint32_t max, bool is_signed)
{
    struct tree *array = gen_array(g);
    for (uint32_t n = min + gen_below(g, max - min + 1); n > 0; n--)
        tree_add(g->arena, array, tree_int(g->arena, gen_int(g, is_signed)));
    return array;
}

struct tree *gen_pairs(struct gen *g, uint32_t min, uint32_t max)
{
    struct tree *array = gen_array(g);
    uint32_t count = min + gen_below(g, max - min + 1);
    for (uint32_t i = 0; i < count; i++) {
        struct tree *pair = gen_array(g);
        tree_add(g->arena, pair, tree_int(g->arena, gen_int(g, i > 0)));
        tree_add(g->arena, pair, tree_int(g->arena, gen_int(g, false)));
        tree_add(g->arena, array, pair);
    }
    return array;
}

struct tree *gen_enum_member(struct gen *g, const char *title)
{
    for (uint32_t i = 0; i < g->tables->n_enums; i++) {
        const struct random_bir_enum *e = &g->tables->enums[i];
        if (strcmp(e->title, title) == 0)
            return tree_text(g->arena, gen_pick(g, e->names, e->count));
    }
    fprintf(stderr, "no enumeration is called %s\n", title);
    abort();
}

struct tree *gen_enum(struct gen *g, const char *title)
{
    static const char *const unknown[] = { "FutureName", "future name", "", "\xc3\xa9" };
    return !g->tidy && gen_chance(g, 12) ? tree_text(g->arena, GEN_PICK(g, unknown)) : gen_enum_member(g, title);
}

struct tree *gen_refer(struct gen *g, struct gen_references *references, const char *not_this)
{
    struct tree *text = tree_text(g->arena, "");
    if (references->count < COUNT(references->items))
        references->items[references->count++] = (struct gen_reference){ text, not_this };
    else
        abort();
    return text;
}

/* Defaults */

bool gen_is_default(const struct tree *value, const char *fallback)
{
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    tree_print_canonical(value, 0, &buf);
    size_t len = strlen(fallback), quotes = value->type == TREE_TEXT ? 2 : 0;
    bool same = buf.len == len + quotes && memcmp(buf.data + quotes / 2, fallback, len) == 0;
    bool zero = strcmp(fallback, "0.0") == 0 && buf.len == 4 && memcmp(buf.data, "-0.0", 4) == 0; /* equal in value */
    bir_buf_deinit(&buf);
    return same || zero;
}

static struct tree *default_value(struct gen *g, const struct tree *like, const char *fallback)
{
    if (fallback[0] == '[') { /* of integers */
        struct tree *array = gen_array(g);
        for (const char *p = fallback + 1; *p != ']'; p += strcspn(p, ",]"), p += *p == ',')
            tree_add(g->arena, array, tree_int(g->arena, atoll(p)));
        return array;
    }
    bool is_name = like->type == TREE_TEXT && !strchr("-0123456789", fallback[0] ? fallback[0] : 'x');
    return is_name ? tree_text(g->arena, fallback) : tree_scalar(g->arena, fallback, fallback);
}

/* An enumeration's default stands where the value might be an expression or any scalar, so `like` tells the type. */
int gen_put_gated(struct gen *g, struct tree *object, const struct random_bir_key *key, struct tree *value)
{
    bool is_value = !key->fallback || !gen_is_default(value, key->fallback);
    bool may_default = key->fallback && !key->early;
    uint32_t choice = gen_below(g, 4);
    if (key->gate == RANDOM_BIR_REQUIRED || (key->early && key->fallback))
        choice = 3;
    if (choice == 0) {
        if (key->gate == RANDOM_BIR_ALWAYS)
            tree_put(g->arena, object, TREE_OUT, key->key, default_value(g, value, key->fallback));
        return 0;
    }
    bool use_default = may_default && (choice == 1 || !is_value);
    if (use_default && choice == 1 && is_value)
        value = default_value(g, value, key->fallback);
    tree_put(g->arena, object, use_default && key->gate == RANDOM_BIR_DROP ? TREE_IN : TREE_BOTH, key->key, value);
    return use_default ? 1 : 2;
}

void gen_put_drop(struct gen *g, struct tree *object, const char *key, const char *fallback, struct tree *value)
{
    struct random_bir_key row = { .key = key, .fallback = fallback, .gate = RANDOM_BIR_DROP };
    gen_put_gated(g, object, &row, value);
}

void gen_put_always(struct gen *g, struct tree *object, const char *key, const char *fallback, struct tree *value)
{
    struct random_bir_key row = { .key = key, .fallback = fallback, .gate = RANDOM_BIR_ALWAYS };
    gen_put_gated(g, object, &row, value);
}

void gen_put_maybe(struct gen *g, struct tree *object, const char *key, struct tree *value)
{
    if (gen_chance(g, 2))
        gen_put(g, object, key, value);
}

/* Expressions. Coefficients stay small enough that merged ones and evaluated ones fit 64 bits. */

static struct tree *coefficient(struct gen *g)
{
    return tree_int(g->arena, (int64_t)(bir_random_next(&g->random) % 20001) - 10000);
}

static struct tree *divisor(struct gen *g)
{
    return tree_int(g->arena, 1 + (int64_t)gen_below(g, gen_chance(g, 2) ? 16 : 100000));
}

static struct tree *kind_of(struct gen *g, const char *kind)
{
    struct tree *object = gen_object(g);
    gen_put(g, object, "kind", tree_text(g->arena, kind));
    return object;
}

static struct tree *shard(struct gen *g)
{
    struct tree *object = kind_of(g, "ShardIDKind");
    gen_put(g, object, "ub", tree_int(g->arena, 1 + gen_below(g, 8)));
    return object;
}

static struct tree *axis_value(struct gen *g, const char *name)
{
    struct tree *object = kind_of(g, "AffIVKind");
    gen_put(g, object, "axis", tree_text(g->arena, name));
    return object;
}

static struct tree *register_value(struct gen *g, const char *name)
{
    struct tree *object = kind_of(g, "IntRuntimeValueKind");
    gen_put(g, object, "regref", tree_text(g->arena, name));
    return object;
}

/* Index number i of those in scope: axes, registers, a shard id; NULL beyond. */
static struct tree *index_value(struct gen *g, uint32_t i)
{
    if (i < g->axes.count)
        return axis_value(g, g->axes.items[i]);
    i -= g->axes.count;
    if (i < g->registers.count)
        return register_value(g, g->registers.items[i]);
    return i == g->registers.count ? shard(g) : NULL;
}

/* An unknown key, or one that other kinds of expression have, in both objects (the second may be NULL). */
static void unknown_of_expr(struct gen *g, struct tree *object, struct tree *canonical)
{
    static const char *const foreign[] = { "iteration_id", "channel_id" };
    if (g->tidy || !gen_chance(g, 12))
        return;
    bool is_foreign = gen_chance(g, 4) && !tree_find(object, foreign[0]);
    const char *key = is_foreign ? GEN_PICK(g, foreign) : gen_new_name(g, RANDOM_BIR_UNKNOWN);
    struct tree *value = is_foreign ? tree_int(g->arena, gen_below(g, 9)) : gen_json(g, 2);
    gen_put(g, object, key, value);
    if (canonical)
        gen_put(g, canonical, key, value);
}

static struct tree *term_v2(struct gen *g, struct tree *coeff, struct tree *index)
{
    struct tree *term = gen_object(g);
    gen_put(g, term, "coeff", coeff);
    gen_put(g, term, "idx", index);
    return term;
}

/* An affine expression. Sometimes an index occurs twice in the input: the canonical form has the sum, at the first
 * place. */
static struct tree *affine_v2(struct gen *g)
{
    struct tree *expr = kind_of(g, "AffExprKind"), *terms = gen_array(g);
    gen_put(g, expr, "c", coefficient(g));
    gen_put(g, expr, "terms", terms);
    uint32_t skip = 1 + gen_below(g, 4);
    for (uint32_t i = gen_below(g, skip + 1); i <= g->axes.count + g->registers.count; i += skip)
        tree_add(g->arena, terms, term_v2(g, coefficient(g), index_value(g, i)));
    for (struct tree_member *m = terms->first; m && m->next; m = m->next) { /* the last one may be repeated below */
        unknown_of_expr(g, tree_find(m->value, "idx")->value, NULL);
        unknown_of_expr(g, m->value, NULL);
    }
    if (terms->count == 0 || !gen_chance(g, 8))
        return expr;
    struct tree *repeated = gen_array(g);
    struct tree_member *m = terms->first;
    for (; m->next; m = m->next)
        tree_add(g->arena, repeated, m->value);
    int64_t sum = atoll(tree_find(m->value, "coeff")->value->text), part = (int64_t)gen_below(g, 1000) - 500;
    struct tree *index = tree_find(m->value, "idx")->value;
    tree_add(g->arena, repeated, term_v2(g, tree_int(g->arena, sum - part), index));
    tree_add(g->arena, repeated, term_v2(g, tree_int(g->arena, part), index));
    repeated->canonical = terms;
    tree_find(expr, "terms")->value = repeated;
    return expr;
}

static struct tree *sum_v2(struct gen *g, int depth)
{
    struct tree *expr = kind_of(g, "SumKind"), *terms = gen_array(g);
    for (uint32_t n = 1 + gen_below(g, 3); n > 0; n--)
        tree_add(g->arena, terms, gen_expr_v2(g, depth - 1));
    gen_put(g, expr, "n_terms", tree_int(g->arena, terms->count));
    gen_put(g, expr, "terms", terms);
    return expr;
}

static struct tree *division_v2(struct gen *g, const char *kind, int depth)
{
    struct tree *expr = kind_of(g, kind);
    gen_put(g, expr, "numer", gen_expr_v2(g, depth - 1));
    gen_put(g, expr, "denom", divisor(g));
    if (strcmp(kind, "CCDivKind") == 0)
        gen_put(g, expr, "replica_groups_id", tree_int(g->arena, gen_below(g, 8)));
    if (strcmp(kind, "CCModKind") == 0) {
        struct tree *text = tree_text(g->arena, "CCModKind");
        text->canonical = tree_text(g->arena, "ModuloKind");
        tree_find(expr, "kind")->value = text;
    }
    return expr;
}

static struct tree *other_v2(struct gen *g, int depth)
{
    static const char *const divisions[] = { "FloorDivKind", "ModuloKind", "CCDivKind", "CCModKind" };
    struct tree *expr;
    switch (gen_below(g, 8)) {
    case 0: return sum_v2(g, depth);
    case 1:
        expr = kind_of(g, "MultKind");
        gen_put(g, expr, "scale", coefficient(g));
        gen_put(g, expr, "var", gen_expr_v2(g, depth - 1));
        return expr;
    case 2:
        expr = kind_of(g, "CCGetRankKind");
        gen_put(g, expr, "iteration_id", tree_int(g->arena, gen_below(g, 9)));
        gen_put(g, expr, "channel_id", tree_int(g->arena, gen_below(g, 9)));
        return expr;
    case 3:
        expr = kind_of(g, "IndirectArgId");
        gen_put(g, expr, "arg_id", tree_int(g->arena, gen_below(g, g->n_indirection + 1)));
        return expr;
    default: return division_v2(g, GEN_PICK(g, divisions), depth);
    }
}

struct tree *gen_expr_v2(struct gen *g, int depth)
{
    uint32_t in_scope = g->axes.count + g->registers.count + 1;
    struct tree *expr;
    if (depth <= 0 || gen_chance(g, 3))
        expr = affine_v2(g);
    else
        expr = gen_chance(g, 3) ? index_value(g, gen_below(g, in_scope)) : other_v2(g, depth);
    unknown_of_expr(g, expr, NULL);
    return expr;
}

/* Version 1: both spellings are built side by side. */
static struct tree *affine_v1(struct gen *g, struct tree **v1_terms, struct tree **v1_c)
{
    struct tree *expr = kind_of(g, "AffExprKind"), *terms = gen_array(g);
    *v1_c = coefficient(g);
    *v1_terms = gen_array(g);
    gen_put(g, expr, "c", *v1_c);
    gen_put(g, expr, "terms", terms);
    for (uint32_t i = 0; i < g->axes.count; i++) {
        if (gen_chance(g, 3))
            continue;
        struct tree *coeff = coefficient(g), *term = gen_object(g);
        struct tree *same = term_v2(g, coeff, axis_value(g, g->axes.items[i]));
        tree_add(g->arena, terms, same);
        gen_put(g, term, "AxisLabel", tree_text(g->arena, g->axes.items[i]));
        gen_put(g, term, "coef", coeff);
        unknown_of_expr(g, term, same);
        tree_add(g->arena, *v1_terms, term);
    }
    return expr;
}

static struct tree *indirect_v1(struct gen *g)
{
    struct tree *expr = gen_object(g), *v2 = kind_of(g, "IndirectArgId");
    struct tree *id = tree_int(g->arena, gen_below(g, g->n_indirection + 1));
    gen_put(g, v2, "arg_id", id);
    gen_put(g, expr, "op", tree_text(g->arena, "IndirectArgId"));
    gen_put(g, expr, "op_param", id);
    if (gen_chance(g, 2)) {
        gen_put(g, expr, "terms", gen_array(g));
        gen_put(g, expr, "c", tree_int(g->arena, 0));
    }
    expr->canonical = v2;
    return expr;
}

static struct tree *plain_expr_v1(struct gen *g)
{
    static const char *const ops[] = { "Div", "Mod", "CCGetRank" }, *const kinds[] = { "FloorDivKind", "ModuloKind",
                                                                                       "CCDivKind" };
    if (gen_chance(g, 8))
        return shard(g);
    if (gen_chance(g, 8))
        return indirect_v1(g);
    struct tree *expr = gen_object(g), *terms, *c;
    struct tree *v2 = affine_v1(g, &terms, &c);
    gen_put(g, expr, "terms", terms);
    gen_put(g, expr, "c", c);
    expr->canonical = v2;
    uint32_t op = gen_below(g, 4);
    if (op == 3)
        return expr;
    struct tree *denom = divisor(g), *outer = kind_of(g, kinds[op]);
    gen_put(g, expr, "op", tree_text(g->arena, ops[op]));
    gen_put(g, expr, "op_param", denom);
    gen_put(g, outer, "numer", v2);
    gen_put(g, outer, "denom", denom);
    if (op == 2)
        gen_put(g, outer, "replica_groups_id", tree_int(g->arena, 0));
    expr->canonical = outer;
    return expr;
}

static struct tree *gen_expr_v1(struct gen *g)
{
    struct tree *expr = plain_expr_v1(g);
    unknown_of_expr(g, expr, expr->canonical);
    return expr;
}

struct tree *gen_expr(struct gen *g)
{
    return g->bir->version == 1 ? gen_expr_v1(g) : gen_expr_v2(g, 3);
}
