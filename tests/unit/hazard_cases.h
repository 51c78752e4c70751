/* Reading the vectors of tests/vectors/hazards, and comparing a report with what is expected. */
#ifndef TESTS_HAZARD_CASES_H
#define TESTS_HAZARD_CASES_H

#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "bir/json.h"
#include "check/hazard_internal.h"
#include "unit.h"

#define HAZARD_CASES_MAX 400

/* NAME.json and NAME.expect.json: the report of hazards.md section 7; each text of "undecided" is a part of one reason.
 */
struct hazard_case {
    char name[128];
    struct bir_module *module;
    json_t *expected;
};

static inline struct bir_module *hazard_read_module(const char *text, size_t len)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_module *module = NULL;
    const struct bir_read_options options = { .unknown_operands = true }; /* as the hazards method reads */
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 10);
    enum bir_status status = bir_module_read_json(text, len, &options, &diags, &module);
    ck_assert_msg(status == BIR_OK, "%s", diags.first ? diags.first->message : "cannot read");
    bir_arena_deinit(&arena);
    return module;
}

static inline size_t hazard_cases_load(struct hazard_case *cases)
{
    static const char directory[] = ROOST_VECTORS "/hazards";
    static const char suffix[] = ".expect.json";
    size_t n = 0;
    DIR *dir = opendir(directory);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t len = strlen(entry->d_name), stem = len - (sizeof suffix - 1);
        if (len < sizeof suffix || strcmp(entry->d_name + stem, suffix) != 0)
            continue;
        ck_assert_uint_lt(n, HAZARD_CASES_MAX);
        struct hazard_case *c = &cases[n++];
        char path[1024];
        ck_assert_uint_lt(stem, sizeof c->name);
        memcpy(c->name, entry->d_name, stem);
        c->name[stem] = '\0';
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        json_error_t error;
        c->expected = json_load_file(path, 0, &error);
        ck_assert_msg(c->expected != NULL, "%s: %s", path, error.text);
        snprintf(path, sizeof path, "%s/%s.json", directory, c->name);
        size_t text_len;
        char *text = unit_read_file(path, &text_len);
        c->module = hazard_read_module(text, text_len);
        free(text);
    }
    closedir(dir);
    return n;
}

static inline void hazard_cases_free(struct hazard_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bir_module_free(cases[i].module);
        json_decref(cases[i].expected);
    }
}

/* The same objects in any order? */
static inline bool hazard_same_entries(const json_t *a, const json_t *b)
{
    size_t n = json_array_size(a), i, k;
    if (n != json_array_size(b))
        return false;
    bool *taken = calloc(n + 1, sizeof *taken);
    ck_assert_ptr_nonnull(taken);
    bool same = true;
    for (i = 0; same && i < n; i++) {
        for (k = 0; k < n && (taken[k] || !json_equal(json_array_get(a, i), json_array_get(b, k))); k++)
            ;
        same = k < n;
        taken[k] = true;
    }
    free(taken);
    return same;
}

static inline bool hazard_same_reasons(const json_t *expected, const json_t *actual)
{
    size_t n = json_array_size(expected), i, k;
    if (n != json_array_size(actual))
        return false;
    for (i = 0; i < n; i++) {
        const char *part = json_string_value(json_array_get(expected, i));
        for (k = 0; k < n && !strstr(json_string_value(json_array_get(actual, k)), part); k++)
            ;
        if (k == n)
            return false;
    }
    return true;
}

static inline bool hazard_same_report(const json_t *expected, const json_t *actual)
{
    return json_equal(json_object_get(expected, "verdict"), json_object_get(actual, "verdict")) &&
           hazard_same_entries(json_object_get(expected, "pairs"), json_object_get(actual, "pairs")) &&
           hazard_same_entries(json_object_get(expected, "waits"), json_object_get(actual, "waits")) &&
           hazard_same_reasons(json_object_get(expected, "undecided"), json_object_get(actual, "undecided"));
}

/* The report as a document; the analysis without the rules of the bit set. */
static inline json_t *hazard_report_json(const struct bir_module *module, uint64_t disabled)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_hazard_report *report = NULL;
    const struct bir_hazard_options options = { 0 };
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 1000);
    ck_assert_int_eq(hazards_analyse_without(module, &options, disabled, &arena, &diags, &report), BIR_OK);
    ck_assert_uint_eq(diags.errors, 0);
    struct bir_buf buf;
    bir_buf_init(&buf, 0);
    bir_hazards_write_json(report, 0, &buf);
    ck_assert_int_eq(buf.status, BIR_OK);
    json_error_t error;
    json_t *doc = json_loadb(buf.data, buf.len, 0, &error);
    ck_assert_msg(doc != NULL, "%s", error.text);
    bir_buf_deinit(&buf);
    bir_arena_deinit(&arena);
    return doc;
}

#endif
