/* Vectors of tests/vectors/bir and what the tests of the BIR-JSON reader and writer do with them. */
#ifndef TESTS_BIR_VECTORS_H
#define TESTS_BIR_VECTORS_H

#include <dirent.h>
#include <stdbool.h>
#include <string.h>

#include "bir/json.h"
#include "unit.h"

/* One document read: free with bir_read_done. */
struct bir_read {
    struct bir_arena arena; /* of the diagnostics */
    struct bir_diags diags;
    struct bir_module *module;
    enum bir_status status;
};

static inline void bir_read_text(struct bir_read *read, const char *text, size_t len,
                                 const struct bir_read_options *options)
{
    bir_arena_init(&read->arena, 0);
    bir_diags_init(&read->diags, &read->arena, 20);
    read->module = NULL;
    read->status = bir_module_read_json(text, len, options, &read->diags, &read->module);
}

static inline void bir_read_done(struct bir_read *read)
{
    bir_module_free(read->module);
    bir_arena_deinit(&read->arena);
}

/* The test fails unless the text reads without error; `what` names it. */
static inline struct bir_module *bir_read_expect(struct bir_read *read, const char *text, size_t len, const char *what)
{
    bir_read_text(read, text, len, NULL);
    const struct bir_diag *d = read->diags.first;
    ck_assert_msg(read->status == BIR_OK, "%s: status %d, %s at %ld", what, (int)read->status, d ? d->message : "-",
                  d ? (long)d->offset : -1L);
    const char *problem = "";
    ck_assert_msg(bir_module_check_uses(read->module, &problem), "%s: %s", what, problem);
    return read->module;
}

/* Canonical text of a module; the caller frees. */
static inline char *bir_written(const struct bir_module *module, uint32_t indent, size_t *len)
{
    struct bir_buf buf;
    struct bir_write_options options = { .indent = indent };
    bir_buf_init(&buf, 0);
    ck_assert_int_eq(bir_module_write_json(module, &options, &buf), BIR_OK);
    char *text = bir_buf_steal(&buf, len);
    ck_assert_ptr_nonnull(text);
    return text;
}

/* The test fails unless both texts are equal but for a line feed at the end of `expected`. */
static inline void bir_expect_text(const char *what, const char *expected, size_t expected_len, const char *got,
                                   size_t len)
{
    if (expected_len > 0 && expected[expected_len - 1] == '\n')
        expected_len--;
    size_t same = 0;
    while (same < len && same < expected_len && got[same] == expected[same])
        same++;
    size_t from = same > 40 ? same - 40 : 0;
    ck_assert_msg(same == len && same == expected_len,
                  "%s differs at byte %zu:\nexpected ...%.120s\ngot      ...%.120s", what, same, expected + from,
                  got + from);
}

/* Calls fn for each file of the directory (below tests/vectors) whose name ends so, and gives how many there were. */
static inline int bir_each_vector(const char *directory, const char *suffix,
                                  void (*fn)(const char *name, const char *text, size_t len))
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", ROOST_VECTORS, directory);
    DIR *dir = opendir(path);
    ck_assert_msg(dir != NULL, "cannot open %s", path);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t name_len = strlen(entry->d_name), suffix_len = strlen(suffix);
        if (name_len <= suffix_len || strcmp(entry->d_name + name_len - suffix_len, suffix) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/%s", ROOST_VECTORS, directory, entry->d_name);
        size_t len;
        char *text = unit_read_file(path, &len);
        fn(entry->d_name, text, len);
        free(text);
        count++;
    }
    closedir(dir);
    return count;
}

/* What the .expect file beside a document of bir/bad says. */
struct bir_expectation {
    char code[64], pointer[256], message[128], vendor[32];
    bool has_pointer, strict;
    unsigned depth;
};

static inline void bir_expectation_take(struct bir_expectation *e, char *line)
{
    char *value = strchr(line, ':');
    ck_assert_ptr_nonnull(value);
    *value++ = '\0';
    value += strspn(value, " ");
    if (strcmp(line, "code") == 0)
        snprintf(e->code, sizeof e->code, "%s", value);
    else if (strcmp(line, "pointer") == 0)
        e->has_pointer = snprintf(e->pointer, sizeof e->pointer, "%s", value) >= 0;
    else if (strcmp(line, "message") == 0)
        snprintf(e->message, sizeof e->message, "%s", value);
    else if (strcmp(line, "vendor") == 0)
        snprintf(e->vendor, sizeof e->vendor, "%s", value);
    else if (strcmp(line, "strict") == 0)
        e->strict = strcmp(value, "yes") == 0;
    else if (strcmp(line, "depth") == 0)
        e->depth = (unsigned)strtoul(value, NULL, 10);
    else
        ck_abort_msg("unknown expectation %s", line);
}

static inline struct bir_expectation bir_expectation_of(const char *name)
{
    struct bir_expectation e = { .strict = false };
    char path[1024];
    snprintf(path, sizeof path, "%s/bir/bad/%.*s.expect", ROOST_VECTORS, (int)(strlen(name) - strlen(".json")), name);
    size_t len;
    char *text = unit_read_file(path, &len);
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        bir_expectation_take(&e, line);
    free(text);
    return e;
}

#endif
