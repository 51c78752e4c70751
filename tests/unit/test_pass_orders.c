/*
 * Properties of whole pipelines, on every sample and on random modules: lower_ap and expand_inst_late give the same
 * program in either order, up to names; and what stands between two passes can be written, read again and lowered on to
 * the same bytes.
 */
#include "pass_text.h"

#include <inttypes.h>

#include "generate_module.h"
#include "lower_checked.h"

#define FRONT       "split_engines,build_flow_deps,build_anti_deps,assign_loop_registers,insert_address_tables"
#define RANDOM_MANY 300
#define RANDOM_FEW  60

static const char *const areas[] = { "lower", "expand", "split", "branch", "branched", "integration" };

struct totals {
    unsigned modules, refused;
    uint64_t instructions, points;
};

/* A module's text, tried by `check`. */
typedef void check_fn(const char *name, const char *text, size_t len, struct totals *totals);

static void each_sample(const char *area, check_fn *check, struct totals *totals)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", ROOST_VECTORS, area);
    DIR *dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        size_t len = strlen(entry->d_name);
        if (len <= 5 || strcmp(entry->d_name + len - 5, ".json"))
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", ROOST_VECTORS, area, entry->d_name);
        char *text = pass_text_read_file(path, &len);
        check(path, text, len, totals);
        free(text);
    }
    closedir(dir);
}

static void each_random(uint64_t n, check_fn *check, struct totals *totals)
{
    struct generate_options options;
    generate_options_init(&options);
    for (uint64_t seed = 1; seed <= n; seed++) {
        char name[32];
        struct bir_buf text;
        options.predicates = seed % 2 == 0;
        options.mixed = true;
        bir_buf_init(&text, 0);
        snprintf(name, sizeof name, "seed %" PRIu64, seed);
        ck_assert(generate_module(seed, &options, &text, NULL));
        check(name, text.data, text.len, totals);
        bir_buf_deinit(&text);
    }
}

/* --- either order --- */

/* Names of one text by those of the other. Tokens are runs of other characters than blanks and punctuation. */
struct renaming {
    struct bir_arena arena;
    struct bir_strtab left, right;
    struct bir_map to_right, to_left;
};

static bool is_name(char c)
{
    return c && !strchr(" ,:[]()\n", c);
}

static size_t name_length(const char *at)
{
    size_t n = 0;
    while (is_name(at[n]))
        n++;
    return n;
}

static bool names_agree(struct renaming *r, const char *a, size_t a_len, const char *b, size_t b_len)
{
    const struct bir_str *left = bir_intern(&r->left, a, a_len), *right = bir_intern(&r->right, b, b_len);
    ck_assert(left && right);
    const struct bir_str *known = bir_map_get(&r->to_right, left), *back = bir_map_get(&r->to_left, right);
    if (known || back)
        return known == right && back == left;
    return bir_map_put(&r->to_right, &r->arena, left, (void *)(uintptr_t)right) &&
           bir_map_put(&r->to_left, &r->arena, right, (void *)(uintptr_t)left);
}

/* True when one text is the other with names exchanged one to one; else *at is where they part. */
static bool same_but_names(const char *a, const char *b, const char **at)
{
    struct renaming r = { .to_right = { 0 } };
    bool same = true;
    bir_arena_init(&r.arena, 0);
    bir_strtab_init(&r.left, &r.arena);
    bir_strtab_init(&r.right, &r.arena);
    while (same && *a) {
        size_t left = name_length(a), right = name_length(b);
        *at = a;
        if (left > 0 && right > 0)
            same = names_agree(&r, a, left, b, right);
        else
            same = left == right && *a == *b && (left = right = 1);
        a += left;
        b += right;
    }
    same = same && *a == *b;
    bir_arena_deinit(&r.arena);
    return same;
}

/* The program as text; NULL when it was refused. */
static char *lowered(const char *text, size_t len, const char *passes, struct lower_checked *l, const char *name)
{
    struct bir_buf out;
    lower_checked_run(l, text, len, passes, 0, BIR_VALIDATION_SAMPLE, 5);
    ck_assert_msg(l->status == BIR_OK || l->status == BIR_INVALID, "%s with %s: %s", name, passes,
                  lower_checked_error(l));
    if (l->status != BIR_OK)
        return NULL;
    bir_buf_init(&out, 0);
    pass_text_module(&out, l->module);
    bir_buf_putc(&out, '\0');
    return out.data;
}

static void check_orders(const char *name, const char *text, size_t len, struct totals *totals)
{
    struct lower_checked first, second;
    const char *at = NULL;
    char *a = lowered(text, len, FRONT ",lower_ap,expand_inst_late,color_registers", &first, name);
    char *b = lowered(text, len, FRONT ",expand_inst_late,lower_ap,color_registers", &second, name);
    ck_assert_msg((a == NULL) == (b == NULL), "%s is refused in one order only", name);
    totals->refused += a == NULL;
    totals->modules += a != NULL;
    if (a && !same_but_names(a, b, &at))
        ck_abort_msg("%s: the orders differ at %.120s", name, at);
    totals->instructions += first.stats.emitted_instructions;
    totals->points += first.physical.points + second.physical.points;
    free(a);
    free(b);
    lower_checked_deinit(&first);
    lower_checked_deinit(&second);
}

START_TEST(orders_agree_on_samples)
{
    struct totals totals = { 0 };
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++)
        each_sample(areas[i], check_orders, &totals);
    printf("either order: %u samples (%u refused), %" PRIu64 " emitted instructions, %" PRIu64 " points\n",
           totals.modules, totals.refused, totals.instructions, totals.points);
    ck_assert_uint_gt(totals.modules, 60);
    ck_assert_uint_gt(totals.points, 1000);
}
END_TEST

START_TEST(orders_agree_on_random_modules)
{
    struct totals totals = { 0 };
    each_random(RANDOM_MANY, check_orders, &totals);
    printf("either order: %u random modules, %" PRIu64 " emitted instructions, %" PRIu64 " points\n", totals.modules,
           totals.instructions, totals.points);
    ck_assert_uint_eq(totals.modules, RANDOM_MANY);
}
END_TEST

/* --- continuing from a dump --- */

static enum bir_status lower_text(const char *text, size_t len, const char *const *passes, size_t n,
                                  struct bir_buf *out)
{
    char list[1024] = "";
    struct pass_text_run run;
    struct bir_write_options options = { .indent = 0 };
    for (size_t i = 0; i < n; i++) {
        strcat(list, i ? "," : "");
        strcat(list, passes[i]);
    }
    bir_buf_init(out, 0);
    pass_text_run_init(&run, text, len, list);
    enum bir_status status = run.status;
    if (status == BIR_OK)
        status = bir_module_write_json(run.module, &options, out);
    pass_text_run_deinit(&run);
    return status;
}

/* The default pipeline but for the front end, and lower_branch. */
static size_t pipeline(const char **passes)
{
    size_t n = 0;
    for (size_t i = 0; i < bir_pass_count; i++) {
        if (bir_passes[i].run && bir_passes[i].in_default_pipeline)
            passes[n++] = bir_passes[i].name;
    }
    passes[n++] = "lower_branch";
    return n;
}

static void check_dumps(const char *name, const char *text, size_t len, struct totals *totals)
{
    const char *passes[32];
    size_t n = pipeline(passes);
    struct bir_buf whole;
    if (lower_text(text, len, passes, n, &whole) != BIR_OK) {
        totals->refused++;
        bir_buf_deinit(&whole);
        return;
    }
    for (size_t k = 1; k <= n; k++) {
        struct bir_buf dump, rest;
        ck_assert_int_eq(lower_text(text, len, passes, k, &dump), BIR_OK);
        ck_assert_msg(lower_text(dump.data, dump.len, passes + k, n - k, &rest) == BIR_OK,
                      "%s: the dump after %s cannot be lowered on", name, passes[k - 1]);
        if (rest.len != whole.len || memcmp(rest.data, whole.data, rest.len) != 0) {
            size_t at = 0;
            while (at < rest.len && rest.data[at] == whole.data[at])
                at++;
            at = at > 60 ? at - 60 : 0;
            ck_abort_msg("%s: lowered on from the dump after %s: %.200s\nnot %.200s", name, passes[k - 1],
                         rest.data + at, whole.data + at);
        }
        bir_buf_deinit(&dump);
        bir_buf_deinit(&rest);
    }
    totals->modules++;
    bir_buf_deinit(&whole);
}

START_TEST(dumps_are_lowered_on)
{
    struct totals totals = { 0 };
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++)
        each_sample(areas[i], check_dumps, &totals);
    each_random(RANDOM_FEW, check_dumps, &totals);
    printf("dumps after every pass: %u modules lowered on to the same bytes, %u refused\n", totals.modules,
           totals.refused);
    ck_assert_uint_gt(totals.modules, 60 + RANDOM_FEW);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("pass_orders");
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, orders_agree_on_samples);
    tcase_add_test(tc, orders_agree_on_random_modules);
    tcase_add_test(tc, dumps_are_lowered_on);
    Suite *suite = suite_create("pass_orders");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
