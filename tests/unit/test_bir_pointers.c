/*
 * What `check` says about each document of tests/vectors/bir/bad: the code and pointer of its .expect file, and a
 * pointer that an independent reader (jansson) can follow in the input to a value of which the message speaks.
 */
#include <jansson.h>

#include "bir_vectors.h"
#include "compile.h"

/* The value at an RFC 6901 pointer, or NULL. */
static json_t *follow(json_t *value, const char *pointer)
{
    while (value && *pointer == '/') {
        char step[512];
        size_t len = 0;
        for (pointer++; *pointer && *pointer != '/' && len + 1 < sizeof step; pointer++) {
            bool escaped = pointer[0] == '~' && (pointer[1] == '0' || pointer[1] == '1');
            step[len++] = !escaped ? *pointer : *++pointer == '0' ? '~' : '/';
        }
        step[len] = '\0';
        value = json_is_array(value) ? json_array_get(value, strtoul(step, NULL, 10)) : json_object_get(value, step);
    }
    return value;
}

/* Text between the n-th pair of quotes of the message, or "". */
static void quoted(const char *message, char out[128])
{
    const char *start = strchr(message, '"'), *end = start ? strchr(start + 1, '"') : NULL;
    snprintf(out, 128, "%.*s", end ? (int)(end - start - 1) : 0, end ? start + 1 : "");
}

static bool is_of_type(json_t *value, const char *found)
{
    static const struct {
        const char *name;
        json_type type;
    } types[] = {
        { "an object", JSON_OBJECT },      { "an array", JSON_ARRAY },
        { "a string", JSON_STRING },       { "true", JSON_TRUE },
        { "false", JSON_FALSE },           { "null", JSON_NULL },
        { "another string", JSON_STRING },
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, found) == 0)
            return json_typeof(value) == types[i].type;
    return json_is_number(value); /* "a number", or its digits */
}

/* A message that quotes a name stands at that name; of MemoryType, flags may be given as numbers. */
static bool is_named(const struct bir_diag *d, json_t *value)
{
    char name[128];
    quoted(d->message, name);
    if (json_is_integer(value))
        return strtoll(d->message, NULL, 10) == json_integer_value(value);
    return json_is_string(value) && (!name[0] || strncmp(json_string_value(value), name, strlen(name)) == 0);
}

static bool is_without_key(const struct bir_diag *d, json_t *value)
{
    char key[128];
    const char *start = strrchr(d->message, '"'); /* the last quoted word is the key */
    while (start > d->message && *--start != '"')
        ;
    snprintf(key, sizeof key, "%.*s", (int)strcspn(start + 1, "\""), start + 1);
    return json_is_object(value) && !json_object_get(value, key);
}

/* Is the value at the pointer the one that the message speaks of? By code, where the code says what that must be. */
static bool is_offending(const struct bir_diag *d, json_t *value)
{
    static const char *const names[] = { "bir-unknown-name", "bir-unknown-enum", "bir-unknown-opcode", "bir-axis-scope",
                                         "bir-immediate-dtype" };
    const char *found = strstr(d->message, ", found ");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(d->code, names[i]) == 0)
            return is_named(d, value);
    if (strcmp(d->code, "bir-duplicate-name") == 0) {
        char name[128];
        quoted(d->message, name);
        return json_is_object(value) && strcmp(json_string_value(json_object_get(value, "name")), name) == 0;
    }
    if (strcmp(d->code, "json-type") == 0 && found)
        return is_of_type(value, found + strlen(", found "));
    if (strcmp(d->code, "json-range") == 0 || strcmp(d->code, "bir-range") == 0)
        return json_is_number(value) || json_is_object(value);
    return strcmp(d->code, "bir-missing-key") != 0 || is_without_key(d, value);
}

static int followed; /* pointers into documents that jansson reads */

static void check_bad(const char *name, const char *text, size_t len)
{
    struct bir_expectation e = bir_expectation_of(name);
    struct bir_compile_request request = { .method = BIR_METHOD_CHECK, .input = text, .input_len = len };
    struct bir_compile_limits limits;
    struct bir_compile_result result;
    bir_compile_options_init(&request.options);
    bir_compile_limits_init(&limits);
    request.options.format = BIR_INPUT_BIR_JSON;
    request.options.strict = e.strict;
    if (e.depth)
        limits.json_depth = e.depth;
    enum bir_status status = bir_compile(&request, &limits, NULL, &result);
    ck_assert_msg(status == BIR_INVALID || status == BIR_LIMIT, "%s: status %d", name, (int)status);
    const struct bir_diag *d = result.diags.first;
    while (d && d->severity != BIR_ERROR)
        d = d->next;
    ck_assert_msg(d != NULL, "%s: no error", name);
    ck_assert_msg(strcmp(d->code, e.code) == 0, "%s: code %s", name, d->code);
    ck_assert_msg(d->pointer != NULL, "%s: no pointer", name);
    if (e.has_pointer)
        ck_assert_msg(strcmp(d->pointer, e.pointer) == 0, "%s: pointer %s", name, d->pointer);
    json_t *document = json_loadb(text, len, JSON_ALLOW_NUL, NULL); /* NULL: not JSON, or beyond jansson's integers */
    if (document) {
        json_t *value = follow(document, d->pointer);
        ck_assert_msg(value != NULL, "%s: pointer %s leads nowhere", name, d->pointer);
        ck_assert_msg(is_offending(d, value), "%s: %s at %s", name, d->message, d->pointer);
        followed++;
    }
    json_decref(document);
    bir_compile_result_deinit(&result);
}

START_TEST(pointers_lead_to_the_offending_values)
{
    followed = 0;
    ck_assert_int_ge(bir_each_vector("bir/bad", ".json", check_bad), 200);
    ck_assert_int_ge(followed, 200);
}
END_TEST

/* Every failure that the fact sheet lists has documents. */
START_TEST(failures_have_documents)
{
    size_t len;
    int rows = 0;
    char *text = unit_read_file(ROOST_VECTORS "/bir/failures.tsv", &len), *lines = NULL;
    for (char *line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
        char *names = strchr(line, '\t'), *save = NULL;
        if (*line == '#')
            continue;
        ck_assert_msg(names != NULL, "%s: no document", line);
        for (char *name = strtok_r(names + 1, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
            char file[256];
            snprintf(file, sizeof file, "%s.json", name);
            struct bir_expectation e = bir_expectation_of(file); /* fails when there is none */
            ck_assert_msg(e.code[0] != '\0', "%s: no code", name);
        }
        rows++;
    }
    ck_assert_int_ge(rows, 22);
    free(text);
}
END_TEST

/* Lines and columns of very many diagnostics in no order; counting from the start for each would take minutes. */
START_TEST(places_in_text)
{
    enum { LINE = 80, COUNT = 100000, STEP = 30011 /* prime to COUNT */ };
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_buf text, out;
    bir_arena_init(&arena, 0);
    bir_diags_init(&diags, &arena, 2 * COUNT);
    bir_buf_init(&text, 0);
    bir_buf_init(&out, 0);
    for (int i = 0; i < COUNT; i++)
        bir_buf_printf(&text, "%-*d\n", LINE - 1, i);
    text.data[0] = '{';
    for (int64_t i = 0; i < COUNT; i++) {
        int64_t line = i * STEP % COUNT;
        bir_diag_add(&diags, BIR_NOTE, "x", line * LINE + line % LINE, "m");
    }
    bir_diag_add(&diags, BIR_NOTE, "x", BIR_NO_OFFSET, "m");
    bir_diag_add(&diags, BIR_NOTE, "x", INT64_MAX, "m"); /* beyond the text: its end */
    bir_diags_write_text(&diags, "f", text.data, text.len, false, &out);
    ck_assert_int_eq(out.status, BIR_OK);
    bir_buf_putc(&out, '\0');
    const char *at = out.data;
    char expected[64];
    for (int64_t i = 0; i < COUNT; i++, at += strlen(expected)) {
        int line = (int)(i * STEP % COUNT);
        snprintf(expected, sizeof expected, "f:%d:%d: note: m [x]\n", line + 1, line % LINE + 1);
        ck_assert_msg(strncmp(at, expected, strlen(expected)) == 0, "%.40s instead of %s", at, expected);
    }
    snprintf(expected, sizeof expected, "f: note: m [x]\nf:%d:1: note: m [x]\n", COUNT + 1);
    ck_assert_str_eq(at, expected);
    bir_buf_deinit(&out);
    bir_buf_deinit(&text);
    bir_arena_deinit(&arena);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { pointers_lead_to_the_offending_values, failures_have_documents, places_in_text };
    return UNIT_RUN("bir_pointers", tests);
}
