/* Tables of ops and enumerations (the .tsv files of tests/vectors/bir), and the members they make of an instruction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_bir_gen.h"

#define MAX_KEYS  400
#define MAX_OPS   140
#define MAX_ENUMS 60

/* --- tables --- */

static void *table_alloc(struct random_bir_tables *t, size_t size)
{
    void *memory = bir_arena_alloc(&t->arena, BIR_MEM_OTHER, size);
    if (!memory)
        abort();
    return memory;
}

/* Calls fn with up to five tab-separated fields (absent ones "") of each line that is no comment; stops at a line that
 * begins with `end`, if that is not NULL. */
static void each_row(struct random_bir_tables *t, const char *name, const char *end,
                     void (*fn)(struct random_bir_tables *t, const char *fields[5]))
{
    char path[1024];
    snprintf(path, sizeof path, "%s/bir/%s", ROOST_VECTORS, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        abort();
    }
    char line[1024];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (end && strncmp(line, end, strlen(end)) == 0)
            break;
        if (line[0] == '#' || line[0] == '\0')
            continue;
        const char *fields[5] = { "", "", "", "", "" };
        const char *rest = line;
        for (int i = 0; i < 5 && *rest; i++) {
            size_t len = strcspn(rest, "\t");
            fields[i] = tree_printf(&t->arena, "%.*s", (int)len, rest);
            rest += len + (rest[len] == '\t');
        }
        fn(t, fields);
    }
    fclose(file);
}

static struct random_bir_op *find_op(const struct random_bir_tables *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_ops; i++)
        if (strcmp(t->ops[i].name, name) == 0)
            return &t->ops[i];
    return NULL;
}

static struct random_bir_op *need_op(struct random_bir_tables *t, const char *name)
{
    struct random_bir_op *op = find_op(t, name);
    if (op)
        return op;
    if (t->n_ops == MAX_OPS)
        abort();
    t->ops[t->n_ops] = (struct random_bir_op){ .name = name };
    return &t->ops[t->n_ops++];
}

static void enum_row(struct random_bir_tables *t, const char *fields[5])
{
    struct random_bir_enum *e = t->enums;
    while (e < t->enums + t->n_enums && strcmp(e->title, fields[0]) != 0)
        e++;
    if (e == t->enums + t->n_enums) {
        if (t->n_enums++ == MAX_ENUMS)
            abort();
        *e = (struct random_bir_enum){ .title = fields[0], .names = table_alloc(t, 160 * sizeof(char *)) };
    }
    e->names[e->count++] = fields[2];
    if (strcmp(e->title, "InstructionType") == 0)
        need_op(t, fields[2]);
}

static const struct random_bir_key *find_key(const struct random_bir_tables *t, const char *op, const char *key)
{
    for (const struct random_bir_op *o = find_op(t, op); o; o = o->base ? find_op(t, o->base) : NULL)
        for (uint32_t i = 0; i < t->n_keys; i++)
            if (strcmp(t->keys[i].op, o->name) == 0 && strcmp(t->keys[i].key, key) == 0)
                return &t->keys[i];
    return NULL;
}

static void add_key(struct random_bir_tables *t, struct random_bir_key key)
{
    if (t->n_keys == MAX_KEYS)
        abort();
    size_t len = strlen(key.type);
    if (key.type[len - 1] == '~') {
        key.affine = true;
        key.type = tree_printf(&t->arena, "%.*s", (int)len - 1, key.type);
    }
    t->keys[t->n_keys++] = key;
}

static void current_row(struct random_bir_tables *t, const char *fields[5])
{
    if (strcmp(fields[1], "=") == 0) {
        need_op(t, fields[0])->base = fields[2];
        need_op(t, fields[2]);
        return;
    }
    bool required = strcmp(fields[3], "req") == 0, none = strcmp(fields[3], "-") == 0;
    add_key(t, (struct random_bir_key){
                   .op = fields[0],
                   .key = fields[1],
                   .type = fields[2],
                   .fallback = required || none ? NULL : fields[3],
                   .gate = required                           ? RANDOM_BIR_REQUIRED
                           : strcmp(fields[4], "always") == 0 ? RANDOM_BIR_ALWAYS
                           : strcmp(fields[4], "drop") == 0   ? RANDOM_BIR_DROP
                                                              : RANDOM_BIR_KEPT,
               });
}

static const char *early_type(const char *type)
{
    static const char *const map[][2] = {
        { "Float", "float" },
        { "Bool", "bool" },
        { "Int", "int" },
        { "Nat", "uint" },
        { "String", "text" },
        { "List Nat", "ints" },
        { "List Float", "floats" },
        { "List ShapeVector", "int_lists" },
        { "List (List Nat)", "int_lists" },
        { "List APPair", "pairs" },
        { "List QuasiAffineExpr", "exprs" },
        { "QuasiAffineExpr", "expr" },
        { "QuasiAffineExpr \xc3\x97 QuasiAffineExpr", "ints:2~" },
        { "AluOp", "AluOpType" },
    };
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (strcmp(map[i][0], type) == 0)
            return map[i][1];
    return type;
}

/* A key of early 2025 that build 2.24 does not have (or whose op it does not have). */
static void early_row(struct random_bir_tables *t, const char *fields[5])
{
    const char *fallback = fields[4];
    if (strcmp(fields[2], "-") == 0 || find_key(t, fields[0], fields[2]))
        return;
    bool required = fallback[0] == '\0', none = strcmp(fallback, "none") == 0 || fallback[0] == '(';
    if (fallback[0] == '.')
        fallback++;
    if (strcmp(fallback, "False") == 0)
        fallback = "false";
    if (strcmp(fallback, "0") == 0 && strcmp(fields[3], "Float") == 0)
        fallback = "0.0";
    add_key(t, (struct random_bir_key){
                   .op = fields[0],
                   .key = fields[2],
                   .type = early_type(fields[3]),
                   .fallback = required || none ? NULL : fallback,
                   .gate = required ? RANDOM_BIR_REQUIRED : RANDOM_BIR_KEPT,
                   .early = true,
               });
}

void random_bir_tables_load(struct random_bir_tables *t)
{
    memset(t, 0, sizeof *t);
    bir_arena_init(&t->arena, 0);
    t->keys = table_alloc(t, MAX_KEYS * sizeof(*t->keys));
    t->ops = table_alloc(t, MAX_OPS * sizeof(*t->ops));
    t->enums = table_alloc(t, MAX_ENUMS * sizeof(*t->enums));
    each_row(t, "enums.tsv", NULL, enum_row);
    t->n_opcodes = t->n_ops;
    each_row(t, "ops_2_24.tsv", NULL, current_row);
    each_row(t, "bir-ops.tsv", "# 2.", early_row);
}

void random_bir_tables_free(struct random_bir_tables *t)
{
    bir_arena_deinit(&t->arena);
}

/* --- values by type --- */

/* Integers a lenient reader takes from a number that is written as a real one. */
static struct tree *integer(struct gen *g, bool is_signed)
{
    int64_t value = gen_int(g, is_signed);
    struct tree *tree = tree_int(g->arena, value);
    if (!g->tidy && value > -1000000 && value < 1000000 && gen_chance(g, 10))
        tree->spelling = tree_printf(g->arena, "%s.0", tree->text);
    return tree;
}

/* Numbers that a real field takes from an integer. */
static struct tree *real(struct gen *g)
{
    if (gen_chance(g, 30))
        return tree_text(g->arena, gen_chance(g, 2) ? "inf" : gen_chance(g, 2) ? "-inf" : "nan");
    if (!gen_chance(g, 4))
        return tree_double(g->arena, gen_double(g), &g->random);
    uint32_t value = gen_below(g, 100000);
    return tree_scalar(g->arena, tree_printf(g->arena, "%u.0", value), tree_printf(g->arena, "%u", value));
}

static struct tree *list(struct gen *g, struct tree *(*element)(struct gen *g), uint32_t min, uint32_t max)
{
    struct tree *array = gen_array(g);
    for (uint32_t n = min + gen_below(g, max - min + 1); n > 0; n--)
        tree_add(g->arena, array, element(g));
    return array;
}

static struct tree *unsigned_list(struct gen *g)
{
    return gen_ints(g, 0, 3, false);
}

static struct tree *text_pair(struct gen *g)
{
    return list(g, gen_text, 2, 2);
}

static struct tree *plain_int(struct gen *g)
{
    return tree_int(g->arena, gen_int(g, true));
}

static struct tree *int_or_expr(struct gen *g)
{
    return gen_chance(g, 3) ? gen_expr(g) : plain_int(g);
}

static struct tree *dim(struct gen *g)
{
    return gen_chance(g, 2) ? gen_enum_member(g, "IndirectDim") : tree_int(g->arena, gen_below(g, 4));
}

static struct tree *dma_block(struct gen *g)
{
    return tree_text(g->arena, gen_pick(g, g->dma_blocks.items, g->dma_blocks.count));
}

/* [step, num], in the input also {"step", "num"}. */
static struct tree *pattern(struct gen *g)
{
    struct tree *pairs = gen_pairs(g, 0, 4);
    for (struct tree_member *m = pairs->first; m && !g->tidy; m = m->next)
        if (gen_chance(g, 6)) {
            struct tree *object = gen_object(g);
            gen_put(g, object, "step", m->value->first->value);
            gen_put(g, object, "num", m->value->first->next->value);
            object->canonical = m->value;
            m->value = object;
        }
    return pairs;
}

static struct tree *list_value(struct gen *g, const struct random_bir_key *key)
{
    const char *colon = strchr(key->type, ':');
    uint32_t fixed = colon ? (uint32_t)atoi(colon + 1) : 0, min = fixed ? fixed : 0, max = fixed ? fixed : 5;
    if (strncmp(key->type, "ints", 4) == 0)
        return list(g, key->affine ? int_or_expr : plain_int, min, max);
    if (strcmp(key->type, "int_lists") == 0)
        return list(g, unsigned_list, min, max);
    if (strcmp(key->type, "floats") == 0)
        return list(g, real, min, max);
    if (strcmp(key->type, "texts") == 0)
        return list(g, gen_text, min, max);
    if (strcmp(key->type, "text_pairs") == 0)
        return list(g, text_pair, min, max);
    if (strcmp(key->type, "exprs") == 0)
        return list(g, gen_expr, min, max);
    if (strcmp(key->type, "dims") == 0)
        return list(g, dim, min, max);
    if (strcmp(key->type, "pairs") == 0)
        return pattern(g);
    return NULL;
}

static struct tree *reference(struct gen *g, const char *type, const char *name)
{
    if (strcmp(type, "queue") == 0)
        return tree_text(g->arena, gen_pick(g, g->queues.items, g->queues.count));
    if (strcmp(type, "block") == 0)
        return gen_refer(g, &g->block_references, NULL);
    if (strcmp(type, "function") == 0)
        return gen_refer(g, &g->function_references, NULL);
    if (strcmp(type, "instruction") == 0)
        return gen_refer(g, &g->instruction_references, name);
    return strcmp(type, "dma_blocks") == 0 ? list(g, dma_block, 0, g->dma_blocks.count ? 2 : 0) : NULL;
}

static struct tree *scalar_value(struct gen *g, const char *type)
{
    if (strcmp(type, "bool") == 0)
        return tree_bool(g->arena, gen_chance(g, 2));
    if (strcmp(type, "int") == 0 || strcmp(type, "uint") == 0)
        return integer(g, type[0] == 'i');
    if (strcmp(type, "float") == 0)
        return real(g);
    if (strcmp(type, "text") == 0)
        return gen_text(g);
    if (strcmp(type, "any") == 0)
        return gen_json(g, 3);
    if (strcmp(type, "expr") == 0)
        return gen_expr(g);
    return NULL;
}

static struct tree *value_of(struct gen *g, const struct random_bir_key *key, const char *name)
{
    struct tree *value = reference(g, key->type, name);
    value = value ? value : list_value(g, key);
    value = value ? value : scalar_value(g, key->type);
    return value ? value : gen_enum(g, key->type);
}

static bool is_list(const char *type)
{
    return strncmp(type, "ints", 4) == 0 || strcmp(type, "exprs") == 0;
}

/* Can the key occur here? References need something to refer to. */
static bool is_possible(const struct gen *g, const struct random_bir_key *key)
{
    bool local = strcmp(key->type, "block") == 0 || strcmp(key->type, "instruction") == 0;
    if ((local && g->in_queue) || (strcmp(key->type, "function") == 0 && g->functions.count == 0))
        return false;
    return strcmp(key->type, "queue") != 0 || g->queues.count > 0;
}

static void put_key(struct gen *g, struct tree *inst, struct random_bir_key *key, const char *name)
{
    if (!is_possible(g, key))
        return;
    if (key->affine && !is_list(key->type) && gen_chance(g, 5)) {
        gen_put(g, inst, key->key, gen_expr(g));
        key->expressions++;
        return;
    }
    struct tree *value = value_of(g, key, name);
    while (key->early && key->fallback && gen_is_default(value, key->fallback))
        value = value_of(g, key, name);
    int met = gen_put_gated(g, inst, key, value);
    uint32_t *counts[] = { &key->absent, &key->defaults, &key->values };
    ++*counts[met];
}

void gen_op_keys(struct gen *g, struct tree *inst, const char *op, const char *name)
{
    for (struct random_bir_op *o = find_op(g->tables, op); o; o = o->base ? find_op(g->tables, o->base) : NULL)
        for (uint32_t i = 0; i < g->tables->n_keys; i++)
            if (strcmp(g->tables->keys[i].op, o->name) == 0)
                put_key(g, inst, &g->tables->keys[i], name);
}
