/*
 * Properties of reading and writing BIR-JSON on random documents (random_bir.h): 1,000 of them, with ROOST_TEST_ALL
 * 10,000. A document that fails is made again with fewer instructions, and the smallest that still fails is reported.
 */
#include <inttypes.h>
#include <jansson.h>

#include "bir_vectors.h"
#include "random_bir.h"
#include "base/random.h"

#define BATCH         1000
#define INSTRUCTIONS  8
#define JANSSON_FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL)

static struct random_bir_tables tables;

/* What a property of one document needs. */
struct sample {
    struct random_bir bir;
    struct bir_buf input, tokens;     /* as generated, and the same without white space */
    struct bir_buf compact, indented; /* canonical, by the test's printer */
    struct bir_module *module;        /* the input, NULL when it is refused; `edits` spoils it */
    struct bir_buf written;           /* module's canonical text */
    json_t *before, *after;           /* input and written as jansson reads them; NULL when bir.huge */
    uint64_t random;
    char problem[1024]; /* "" while all is well */
};

static void wrong(struct sample *s, const char *fmt, ...) BIR_PRINTF(2, 3);
static void wrong(struct sample *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    if (!s->problem[0])
        vsnprintf(s->problem, sizeof s->problem, fmt, args);
    va_end(args);
}

static void expect_same(struct sample *s, const char *what, const struct bir_buf *expected, const char *got, size_t len)
{
    size_t same = 0;
    while (same < len && same < expected->len && got[same] == expected->data[same])
        same++;
    if (same == len && same == expected->len)
        return;
    size_t from = same > 60 ? same - 60 : 0;
    wrong(s, "%s differs at byte %zu:\nexpected ...%.*s\ngot      ...%.*s", what, same,
          (int)(expected->len - from < 160 ? expected->len - from : 160), expected->data + from,
          (int)(len - from < 160 ? len - from : 160), got + from);
}

static struct bir_module *read_module(struct sample *s, const char *what, const char *text, size_t len, bool strict)
{
    struct bir_read_options options = { .strict = strict };
    struct bir_read read;
    bir_read_text(&read, text, len, &options);
    const struct bir_diag *d = read.diags.first;
    const char *problem = "";
    if (read.status != BIR_OK)
        wrong(s, "%s is refused: %s at %ld: %.120s", what, d ? d->message : "-", d ? (long)d->offset : -1L,
              d && d->offset >= 0 ? text + d->offset : "");
    else if (read.diags.count > 0)
        wrong(s, "%s has a diagnostic: %s", what, d->message);
    else if (!bir_module_check_uses(read.module, &problem))
        wrong(s, "%s: %s", what, problem);
    bir_arena_deinit(&read.arena);
    return read.module;
}

/* Canonical text of the document `text`. */
static void expect_converted(struct sample *s, const char *what, const struct bir_buf *text, uint32_t indent,
                             const struct bir_buf *expected)
{
    struct bir_module *module = read_module(s, what, text->data, text->len, false);
    if (!module)
        return;
    size_t len;
    char *written = bir_written(module, indent, &len);
    expect_same(s, what, expected, written, len);
    free(written);
    bir_module_free(module);
}

/* --- properties --- */

static void is_canonical(struct sample *s)
{
    expect_same(s, "the canonical form of the input", &s->compact, s->written.data, s->written.len);
    expect_converted(s, "the canonical form of the compact canonical form", &s->compact, 0, &s->compact);
    expect_converted(s, "the canonical form of the indented canonical form", &s->indented, 2, &s->indented);
    if (!s->bir.strict)
        return;
    bir_module_free(read_module(s, "the input, read strictly,", s->input.data, s->input.len, true));
    bir_module_free(read_module(s, "the canonical form, read strictly,", s->compact.data, s->compact.len, true));
}

static void is_faithful(struct sample *s)
{
    struct bir_write_options options = { .indent = (uint32_t)bir_random_below(&s->random, 4) };
    struct bir_buf plain, laid_out;
    bir_buf_init(&plain, 0);
    bir_buf_init(&laid_out, 0);
    if (bir_json_write_faithful(s->input.data, s->input.len, NULL, &plain) != BIR_OK ||
        bir_json_write_faithful(s->input.data, s->input.len, &options, &laid_out) != BIR_OK)
        wrong(s, "faithful writing fails");
    else
        expect_same(s, "the faithful form", &s->tokens, plain.data, plain.len);
    if (!s->bir.huge) {
        json_t *after = json_loadb(laid_out.data, laid_out.len, JANSSON_FLAGS, NULL);
        if (!after || !json_equal(s->before, after))
            wrong(s, "the faithful form is another value");
        json_decref(after);
    }
    bir_buf_deinit(&plain);
    bir_buf_deinit(&laid_out);
}

static uint32_t unknown_keys_met;

static uint32_t count_unknown(json_t *value)
{
    uint32_t count = 0;
    const char *key;
    json_t *member;
    size_t i;
    json_object_foreach(value, key, member) count += (strncmp(key, RANDOM_BIR_UNKNOWN, 2) == 0) + count_unknown(member);
    json_array_foreach(value, i, member) count += count_unknown(member);
    return count;
}

static void keeps_unknown_keys(struct sample *s)
{
    uint32_t before = count_unknown(s->before), after = count_unknown(s->after);
    if (after != before)
        wrong(s, "%" PRIu32 " of %" PRIu32 " unknown keys are left", after, before);
    unknown_keys_met += before;
}

/* --- version 1 means what version 2 says --- */

/* A value for each leaf, by what it is called. */
static int64_t leaf(uint64_t point, const char *name, int64_t number)
{
    uint64_t state = point ^ (uint64_t)number * 0x9E3779B9u;
    for (; *name; name++)
        state = state * 31 + (unsigned char)*name;
    return (int64_t)(bir_random_next(&state) % 2001) - 1000;
}

static int64_t member(json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *text_of(json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Rounds to minus infinity; the remainder is never negative. */
static int64_t divided(const char *op, int64_t numer, int64_t denom)
{
    int64_t rest = numer % denom;
    if (rest < 0)
        rest += denom;
    int64_t quotient = (numer - rest) / denom;
    switch (op[0]) {
    case 'D':
    case 'F': return quotient;
    case 'M': return rest;
    default: return 1000003 * quotient + denom; /* of a collective: any function that is none of the others */
    }
}

static int64_t value_v1(json_t *e, uint64_t point)
{
    if (strcmp(text_of(e, "kind"), "ShardIDKind") == 0)
        return leaf(point, "shard", member(e, "ub"));
    const char *op = text_of(e, "op");
    if (strcmp(op, "IndirectArgId") == 0)
        return leaf(point, "argument", member(e, "op_param"));
    int64_t value = member(e, "c");
    size_t i;
    json_t *term;
    json_array_foreach(json_object_get(e, "terms"), i, term) value +=
        member(term, "coef") * leaf(point, text_of(term, "AxisLabel"), 0);
    return *op ? divided(op, value, member(e, "op_param")) : value;
}

/* Of the kinds that version 1 can express. */
static bool value_v2(json_t *e, uint64_t point, int64_t *value)
{
    const char *kind = text_of(e, "kind");
    *value = member(e, "c");
    if (strcmp(kind, "AffExprKind") == 0) {
        size_t i;
        json_t *term;
        json_array_foreach(json_object_get(e, "terms"), i, term) *value +=
            member(term, "coeff") * leaf(point, text_of(json_object_get(term, "idx"), "axis"), 0);
        return true;
    }
    if (strcmp(kind, "ShardIDKind") == 0) {
        *value = leaf(point, "shard", member(e, "ub"));
        return true;
    }
    if (strcmp(kind, "IndirectArgId") == 0) {
        *value = leaf(point, "argument", member(e, "arg_id"));
        return true;
    }
    bool is_division = strcmp(kind, "FloorDivKind") == 0 || strcmp(kind, "ModuloKind") == 0 ||
                       (strcmp(kind, "CCDivKind") == 0 && member(e, "replica_groups_id") == 0);
    if (!is_division || !value_v2(json_object_get(e, "numer"), point, value))
        return false;
    *value = divided(kind, *value, member(e, "denom"));
    return true;
}

static bool is_v1(json_t *value)
{
    return json_is_object(value) && !json_object_get(value, "kind") &&
           ((json_object_get(value, "terms") && json_object_get(value, "c")) ||
            strcmp(text_of(value, "op"), "IndirectArgId") == 0);
}

static uint32_t compare_expressions(struct sample *s, json_t *v1, json_t *v2)
{
    uint32_t count = 0;
    if (is_v1(v1)) {
        for (int point = 0; point < 8; point++) {
            uint64_t seed = bir_random_next(&s->random);
            int64_t value;
            if (!value_v2(v2, seed, &value) || value != value_v1(v1, seed))
                wrong(s, "an expression of version 1 has another value in version 2");
        }
        return 1;
    }
    const char *key;
    json_t *child;
    size_t i;
    json_object_foreach(v1, key, child)
    {
        json_t *same = json_object_get(v2, key);
        json_t *inside = json_object_get(json_object_get(v2, "DynamicForLoopAxis"), key); /* bounds moved there */
        count += compare_expressions(s, child, same ? same : inside);
    }
    json_array_foreach(v1, i, child) count += compare_expressions(s, child, json_array_get(v2, i));
    return count;
}

static uint32_t expressions_compared;

static void keeps_meaning(struct sample *s)
{
    json_t *inner = json_object_get(s->before, "module");
    if (member(s->after, "version") != 2)
        wrong(s, "the canonical form is not of version 2");
    expressions_compared += compare_expressions(s, inner ? inner : s->before, s->after);
}

/* --- use lists under edits --- */

#define EDIT_INSTRUCTIONS 64

struct edits {
    struct bir_module *module;
    struct bir_function *function;
    struct bir_instruction *instructions[EDIT_INSTRUCTIONS];
    uint32_t count;
    uint64_t *random;
};

static uint32_t below(struct edits *e, size_t bound)
{
    return (uint32_t)bir_random_below(e->random, bound);
}

static void collect(struct edits *e)
{
    struct bir_walk walk;
    e->count = 0;
    bir_walk_init(&walk, &e->function->body);
    for (struct bir_instruction *i; (i = bir_walk_next(&walk));)
        if (e->count < EDIT_INSTRUCTIONS)
            e->instructions[e->count++] = i;
}

static struct bir_argument *any_argument(struct edits *e, struct bir_instruction *inst)
{
    enum bir_role role = (enum bir_role)below(e, BIR_ROLE_COUNT);
    uint32_t count = bir_instruction_argument_count(inst, role);
    return count ? bir_instruction_argument(inst, role, below(e, count)) : NULL;
}

/* A storage of the tag that a kind binds to, or NULL. */
static struct bir_storage *any_storage(struct edits *e, unsigned tag)
{
    for (int tries = 0; tries < 8 && e->function->storages.count > 0; tries++) {
        struct bir_storage *storage = e->function->storages.items[below(e, e->function->storages.count)];
        if (storage->tag == tag)
            return storage;
        const struct bir_set *set = (const struct bir_set *)storage;
        if (tag == BIR_STORAGE_LOCATION && storage->tag == BIR_STORAGE_SET && set->locations.count > 0)
            return &set->locations.items[below(e, set->locations.count)]->base;
    }
    return NULL;
}

static void bind(struct edits *e, struct bir_argument *arg)
{
    unsigned tag = bir_argument_class_of((enum bir_argument_kind)arg->kind)->location_tag;
    if (tag != 0)
        bir_argument_set_location(arg, below(e, 4) ? any_storage(e, tag) : NULL, arg->role == BIR_ROLE_OUT, true);
}

static struct bir_argument *new_argument(struct edits *e, struct bir_instruction *inst, struct bir_argument *position)
{
    static const enum bir_argument_kind kinds[] = { BIR_ARG_PHYSICAL_AP, BIR_ARG_SYMBOLIC_AP, BIR_ARG_REGISTER_AP,
                                                    BIR_ARG_IMM_VALUE, BIR_ARG_REGISTER_ACCESS };
    enum bir_argument_kind kind = kinds[below(e, 5)];
    if (position && position->role != BIR_ROLE_IN && kind == BIR_ARG_IMM_VALUE)
        kind = BIR_ARG_REGISTER_ACCESS;
    struct bir_argument *arg =
        position ? bir_argument_new_before(e->module, position, kind, BIR_DTYPE_INT32)
                 : bir_argument_new(e->module, inst, kind, (enum bir_role)below(e, BIR_ROLE_COUNT), BIR_DTYPE_INT32);
    bind(e, arg);
    return arg;
}

static void edit_operand(struct edits *e, struct bir_instruction *inst)
{
    struct bir_argument *arg = any_argument(e, inst);
    switch (below(e, 5)) {
    case 0: new_argument(e, inst, NULL); break;
    case 1: new_argument(e, inst, arg); break;
    case 2:
        if (arg)
            bir_argument_remove(arg);
        break;
    case 3:
        if (arg)
            bind(e, arg);
        break;
    default: {
        struct bir_argument *with = arg && below(e, 2) ? any_argument(e, inst) : NULL;
        if (arg && !with)
            with = new_argument(e, inst, arg);
        bool is_immediate = with && bir_argument_class_of((enum bir_argument_kind)with->kind)->is_immediate;
        if (with && with != arg && (!is_immediate || arg->role == BIR_ROLE_IN))
            bir_argument_replace(arg, with);
        break;
    }
    }
}

static void edit_instruction(struct edits *e, uint32_t at)
{
    struct bir_instruction *inst = e->instructions[at], *copy;
    if (inst->rare && inst->rare->loop)
        return;
    struct bir_instruction *position = e->instructions[below(e, e->count)];
    switch (below(e, 3)) {
    case 0:
        copy = bir_instruction_clone(e->module, inst, bir_intern(&e->module->strings, "copy", 4));
        ck_assert_ptr_nonnull(copy);
        if (below(e, 2))
            bir_instruction_insert_before(position, copy);
        else
            bir_instruction_insert_after(position, copy);
        break;
    case 1:
        if (e->count > 1) {
            bir_instruction_unlink(inst);
            bir_instruction_drop_uses(inst);
            e->instructions[at] = e->instructions[--e->count];
        }
        break;
    default:
        if (position != inst) {
            bir_instruction_unlink(inst);
            bir_instruction_insert_after(position, inst);
        }
        break;
    }
}

static void survives_edits(struct sample *s)
{
    struct edits e = { .module = s->module, .random = &s->random };
    const char *problem = "";
    BIR_EACH_FUNCTION (function, e.module) {
        e.function = function;
        collect(&e);
        for (int round = 0; round < 24 && e.count > 0 && !s->problem[0]; round++) {
            uint32_t at = below(&e, e.count);
            if (below(&e, 4))
                edit_operand(&e, e.instructions[at]);
            else
                edit_instruction(&e, at);
            if (round % 4 == 3 && !bir_module_check_uses(e.module, &problem))
                wrong(s, "after %d edits: %s", round + 1, problem);
        }
    }
}

/* --- running --- */

static const struct {
    const char *name;
    void (*check)(struct sample *s);
    uint32_t version;  /* of the documents it is about; 0 = any */
    bool without_huge; /* jansson must read them */
} properties[] = {
    { "canonical form", is_canonical, 0, false },    { "faithful form", is_faithful, 0, false },
    { "unknown keys", keeps_unknown_keys, 0, true }, { "meaning of version 1", keeps_meaning, 1, true },
    { "edits", survives_edits, 0, false },
};

static void make_sample(struct sample *s, uint64_t seed, uint32_t size)
{
    struct random_bir_options options = { .seed = seed * 0x9E3779B97F4A7C15u, .size = size };
    options.op = size > 0 ? tables.ops[seed % tables.n_opcodes].name : NULL;
    random_bir_make(&s->bir, &tables, &options);
    struct tree_style style = { .order = seed + 7, .space = 0, .sorted = seed % 16 == 15 };
    bir_buf_init(&s->input, 0);
    bir_buf_init(&s->tokens, 0);
    bir_buf_init(&s->compact, 0);
    bir_buf_init(&s->indented, 0);
    tree_print_input(s->bir.document, style, &s->tokens);
    style.space = seed + 1;
    tree_print_input(s->bir.document, style, &s->input);
    tree_print_canonical(s->bir.document, 0, &s->compact);
    tree_print_canonical(s->bir.document, 2, &s->indented);
    s->random = seed;
    s->problem[0] = '\0';
    s->before = s->after = NULL;
    bir_buf_init(&s->written, 0);
    s->module = read_module(s, "the input", s->input.data, s->input.len, false);
    if (s->module && bir_module_write_json(s->module, NULL, &s->written) != BIR_OK)
        wrong(s, "writing fails");
    if (s->problem[0] || s->bir.huge)
        return;
    json_error_t error = { 0 };
    s->before = json_loadb(s->input.data, s->input.len, JANSSON_FLAGS, &error);
    s->after = s->before ? json_loadb(s->written.data, s->written.len, JANSSON_FLAGS, &error) : NULL;
    if (!s->after)
        wrong(s, "jansson refuses the %s at byte %d: %s: ...%.80s", s->before ? "canonical form" : "input",
              error.position, error.text,
              (s->before ? s->written.data : s->input.data) + (error.position > 60 ? error.position - 60 : 0));
}

static void drop_sample(struct sample *s)
{
    bir_buf_deinit(&s->input);
    bir_buf_deinit(&s->tokens);
    bir_buf_deinit(&s->compact);
    bir_buf_deinit(&s->indented);
    bir_buf_deinit(&s->written);
    bir_module_free(s->module);
    json_decref(s->before);
    json_decref(s->after);
    random_bir_free(&s->bir);
}

/* False: the property does not hold, and s->problem says why. */
static bool holds(struct sample *s, size_t property)
{
    if (properties[property].version != 0 && properties[property].version != s->bir.version)
        return true;
    if (!s->problem[0] && (!properties[property].without_huge || !s->bir.huge))
        properties[property].check(s);
    return !s->problem[0];
}

static void report_smallest(uint64_t seed, size_t property)
{
    for (uint32_t size = 0;; size++) {
        struct sample s;
        make_sample(&s, seed, size);
        if (!holds(&s, property))
            ck_abort_msg("%s: seed %" PRIu64 ", size %" PRIu32 ": %s", properties[property].name, seed, size,
                         s.problem);
        drop_sample(&s);
        ck_assert_uint_lt(size, INSTRUCTIONS); /* else it did not fail the second time */
    }
}

/* Every op, every key in every way it can be met, and every operand kind in every list it may stand in. */
static void expect_everything_was_met(void)
{
    for (uint32_t i = 0; i < tables.n_opcodes; i++)
        ck_assert_msg(tables.ops[i].count > 0, "no %s was made", tables.ops[i].name);
    for (uint32_t i = 0; i < tables.n_keys; i++) {
        const struct random_bir_key *k = &tables.keys[i];
        bool is_list = strncmp(k->type, "ints", 4) == 0;
        ck_assert_msg(k->values > 0, "%s %s never had a value", k->op, k->key);
        if (k->fallback && !k->early)
            ck_assert_msg(k->absent > 0 && k->defaults > 0, "%s %s: default absent %u times, present %u times", k->op,
                          k->key, k->absent, k->defaults);
        if (k->affine && !is_list)
            ck_assert_msg(k->expressions > 0, "%s %s never was an expression", k->op, k->key);
    }
    for (int kind = 0; kind < 8; kind++) {
        bool is_immediate = strstr(random_bir_kinds[kind], "imm") != NULL;
        ck_assert_uint_gt(tables.operands[kind][0], 0);
        ck_assert_msg(tables.operands[kind][2] > 0 || is_immediate, "no %s in outs", random_bir_kinds[kind]);
    }
}

START_TEST(every_property_holds)
{
    random_bir_tables_load(&tables);
    ck_assert_uint_eq(tables.n_opcodes, 120);
    uint32_t of_version_1 = 0, strict = 0;
    expressions_compared = unknown_keys_met = 0;
    for (uint64_t i = 0; i < BATCH; i++) {
        uint64_t seed = (uint64_t)_i * BATCH + i;
        struct sample s;
        make_sample(&s, seed, INSTRUCTIONS);
        of_version_1 += s.bir.version == 1;
        strict += s.bir.strict;
        for (size_t property = 0; property < sizeof properties / sizeof *properties; property++)
            if (!holds(&s, property))
                report_smallest(seed, property);
        drop_sample(&s);
    }
    expect_everything_was_met();
    ck_assert_uint_gt(of_version_1, BATCH / 8);
    ck_assert_uint_gt(strict, BATCH / 20);
    ck_assert_uint_gt(expressions_compared, BATCH);
    ck_assert_uint_gt(unknown_keys_met, 5 * BATCH);
    random_bir_tables_free(&tables);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bir_random");
    TCase *tests = tcase_create("bir_random");
    tcase_set_timeout(tests, 240);
    tcase_add_loop_test(tests, every_property_holds, 0, getenv("ROOST_TEST_ALL") ? 10 : 1);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
