/*
 * The reader by itself, on the files of tests/vectors/json (y_ must be accepted, n_ refused), and against jansson on
 * random texts. jansson refuses some texts that are valid JSON: integers beyond 64 bits signed, numbers beyond a
 * double, \u0000 in keys, depth above 2048. Its error code tells, and only those codes are exempt from the comparison.
 * The other way round, it overlooks NUL bytes between some tokens, so texts with one are exempt and left to the
 * vectors.
 */
#include "base/json_reader.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "alloc_fail.h"
#include "random_json.h"
#include "unit.h"

#define MAX_DEPTH 64

struct fixture {
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_json_reader r;
};

static void start(struct fixture *f, const char *text, size_t len)
{
    bir_arena_init(&f->arena, 0);
    bir_diags_init(&f->diags, &f->arena, 10);
    bir_json_reader_init(&f->r, text, len, MAX_DEPTH, &f->arena, &f->diags);
}

static void start_text(struct fixture *f, const char *text)
{
    start(f, text, strlen(text));
}

static void finish(struct fixture *f)
{
    bir_arena_deinit(&f->arena);
}

/* Reads any value through the pull interface, as a caller would. */
static enum bir_status pull_value(struct bir_json_reader *r)
{
    struct bir_slice slice;
    struct bir_number number;
    bool truth;
    switch (bir_json_peek(r)) {
    case BIR_JSON_OBJECT:
        BIR_TRY(bir_json_object_begin(r));
        while (bir_json_object_next(r, &slice))
            BIR_TRY(pull_value(r));
        return r->status;
    case BIR_JSON_ARRAY:
        BIR_TRY(bir_json_array_begin(r));
        while (bir_json_array_next(r))
            BIR_TRY(pull_value(r));
        return r->status;
    case BIR_JSON_STRING: return bir_json_string(r, &slice);
    case BIR_JSON_NUMBER: return bir_json_number(r, &number);
    case BIR_JSON_TRUE:
    case BIR_JSON_FALSE: return bir_json_bool(r, &truth);
    case BIR_JSON_NULL: return bir_json_skip(r, NULL);
    default: return bir_json_mismatch(r, "a value");
    }
}

static bool accepted(const char *text, size_t len, bool by_skipping)
{
    struct fixture f;
    start(&f, text, len);
    enum bir_status status = by_skipping ? bir_json_skip(&f.r, NULL) : pull_value(&f.r);
    if (status == BIR_OK)
        status = bir_json_end(&f.r);
    bool has_error = f.diags.errors > 0;
    bool offset_inside = !f.diags.first || (f.diags.first->offset >= 0 && (size_t)f.diags.first->offset <= len);
    bool readable = !f.diags.first || bir_utf8_valid(f.diags.first->message, strlen(f.diags.first->message), NULL);
    finish(&f);
    ck_assert_int_eq(has_error, status != BIR_OK);
    ck_assert(offset_inside && readable);
    return status == BIR_OK;
}

/* Vector files */

START_TEST(vector_files_are_accepted_or_refused)
{
    const char *directory = ROOST_VECTORS "/json";
    DIR *dir = opendir(directory);
    ck_assert_ptr_nonnull(dir);
    int yes = 0, no = 0;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        bool expected = strncmp(entry->d_name, "y_", 2) == 0;
        if (!expected && strncmp(entry->d_name, "n_", 2) != 0)
            continue;
        char path[1024];
        snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        size_t len;
        char *text = unit_read_file(path, &len);
        if (accepted(text, len, true) != expected)
            ck_abort_msg("%s: skipping gives the wrong answer", path);
        if (accepted(text, len, false) != expected)
            ck_abort_msg("%s: reading gives the wrong answer", path);
        free(text);
        yes += expected;
        no += !expected;
    }
    closedir(dir);
    ck_assert_int_ge(yes, 20);
    ck_assert_int_ge(no, 40);
}
END_TEST

/* The interface */

START_TEST(members_and_items_come_in_order)
{
    struct fixture f;
    start_text(
        &f, " { \"a\" : [ 1 , -2, 18446744073709551615, 0.5 ] ,\n\"b\\u00e4\" :{}, \"c\":[], \"d\":true,\"e\":null } ");
    struct bir_slice key, raw;
    struct bir_number n;
    bool truth = false;
    ck_assert_int_eq(bir_json_peek(&f.r), BIR_JSON_OBJECT);
    ck_assert_int_eq(bir_json_object_begin(&f.r), BIR_OK);
    ck_assert(bir_json_object_next(&f.r, &key));
    ck_assert(key.len == 1 && key.text[0] == 'a');
    ck_assert_uint_eq(f.r.value_start, 3);
    ck_assert_uint_eq(bir_json_value_offset(&f.r), 9);
    ck_assert_int_eq(bir_json_array_begin(&f.r), BIR_OK);
    ck_assert(bir_json_array_next(&f.r));
    ck_assert_int_eq(bir_json_number(&f.r, &n), BIR_OK);
    ck_assert(n.kind == BIR_NUMBER_I64 && n.i64 == 1 && n.f64 == 1.0);
    ck_assert(bir_json_array_next(&f.r));
    ck_assert_int_eq(bir_json_number(&f.r, &n), BIR_OK);
    ck_assert(n.kind == BIR_NUMBER_I64 && n.i64 == -2);
    ck_assert(bir_json_array_next(&f.r));
    ck_assert_int_eq(bir_json_number(&f.r, &n), BIR_OK);
    ck_assert(n.kind == BIR_NUMBER_U64 && n.u64 == UINT64_MAX && n.f64 == 0x1p64);
    ck_assert(bir_json_array_next(&f.r));
    ck_assert_int_eq(bir_json_number(&f.r, &n), BIR_OK);
    ck_assert(n.kind == BIR_NUMBER_DOUBLE && n.f64 == 0.5);
    ck_assert(!bir_json_array_next(&f.r));
    ck_assert(bir_json_object_next(&f.r, &key));
    ck_assert(key.len == 3 && memcmp(key.text, "b\xc3\xa4", 3) == 0);
    ck_assert_int_eq(bir_json_object_begin(&f.r), BIR_OK);
    ck_assert(!bir_json_object_next(&f.r, &key));
    ck_assert(bir_json_object_next(&f.r, &key));
    ck_assert_int_eq(bir_json_skip(&f.r, &raw), BIR_OK);
    ck_assert(raw.len == 2 && memcmp(raw.text, "[]", 2) == 0);
    ck_assert(bir_json_object_next(&f.r, &key));
    ck_assert_int_eq(bir_json_bool(&f.r, &truth), BIR_OK);
    ck_assert(truth);
    ck_assert(bir_json_object_next(&f.r, &key));
    ck_assert_int_eq(bir_json_skip(&f.r, &raw), BIR_OK);
    ck_assert(!bir_json_object_next(&f.r, &key));
    ck_assert_int_eq(f.r.status, BIR_OK);
    ck_assert_int_eq(bir_json_end(&f.r), BIR_OK);
    ck_assert_uint_eq(f.r.depth, 0);
    finish(&f);
}
END_TEST

/* Takes the first key of `from` and expects it as the first, then as the second key of `text`, where it is at the given
 * offset, -1 when it is not to be found. Behind it text must hold enough that a look at whole words stays inside. */
static void expect_key(const char *from, const char *text, int at, bool second)
{
    struct fixture f, g;
    struct bir_slice key, found = { NULL, 0 };
    struct bir_json_spelled spelled;
    int64_t value;
    start_text(&f, from);
    start_text(&g, text);
    ck_assert_int_eq(bir_json_object_begin(&f.r), BIR_OK);
    ck_assert(bir_json_object_next(&f.r, &key));
    bir_json_spelled_last(&f.r, key, &spelled);
    ck_assert_int_eq(bir_json_object_begin(&g.r), BIR_OK);
    if (second) {
        ck_assert(bir_json_object_next(&g.r, &found));
        ck_assert_int_eq(bir_json_i64(&g.r, &value), BIR_OK);
    }
    struct bir_json_reader before = g.r;
    bool is = bir_json_object_next_is(&g.r, &spelled, &found);
    if (is != (at >= 0))
        ck_abort_msg("%s in %s: %d", from, text, is);
    if (is) {
        ck_assert_ptr_eq(found.text, text + at + 1);
        ck_assert_uint_eq(g.r.value_start, (size_t)at);
        ck_assert(found.len == key.len && memcmp(found.text, key.text, key.len) == 0);
        ck_assert_int_eq(bir_json_i64(&g.r, &value), BIR_OK);
        ck_assert_int_eq(value, 7);
    } else {
        ck_assert_mem_eq(&before, &g.r, sizeof before);
        ck_assert(bir_json_object_next(&g.r, &found) || g.r.status != BIR_OK || text[g.r.pos - 1] == '}');
    }
    finish(&f);
    finish(&g);
}

#define TAIL ",\"behind it there is more text than words\":1}"

START_TEST(expected_keys_are_taken_where_they_stand)
{
    expect_key("{\"ab\":1}", "{\"ab\":7" TAIL, 1, false);
    expect_key("{\"ab\":1}", "{\"x\":1,\"ab\":7" TAIL, 7, true);
    expect_key("{\"abcdefghijklmnopqrstu\":1}", "{\"x\":1,\"abcdefghijklmnopqrstu\":7" TAIL, 7, true);
    expect_key("{\"abcdefghijklmnopqrstu\":1}", "{\"x\":1,\"abcdefghijklmnopqrstv\":7" TAIL, -1, true);
    expect_key("{\"abcdefghijklmnopqrstuv\":1}", "{\"abcdefghijklmnopqrstuv\":7" TAIL, -1, false); /* too long */
    expect_key("{\"\":1}", "{\"\":7" TAIL, 1, false);
    expect_key("{\"ab\":1}", "{\"abc\":7" TAIL, -1, false);
    expect_key("{\"abc\":1}", "{\"ab\":7" TAIL, -1, false);
    expect_key("{\"ab\":1}", "{\"ab\":7}", -1, false); /* too near the end of the text */
    expect_key("{\"ab\" :1}", "{\"ab\" :7" TAIL, -1, false);
    expect_key("{\"a\\u0062\":1}", "{\"a\\u0062\":7" TAIL, -1, false);
    expect_key("{\"ab\":1}", "{ \"ab\":7" TAIL, -1, false);
    expect_key("{\"ab\":1}", "{,\"ab\":7" TAIL, -1, false);
    expect_key("{\"ab\":1}", "{\"x\":1 \"ab\":7" TAIL, -1, true);
    expect_key("{\"ab\":1}", "{\"x\":1}\"ab\":7" TAIL, -1, true);
}
END_TEST

START_TEST(unescaped_strings_are_borrowed_from_the_text)
{
    static const char text[] = "[\"plain\", \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u20ac\\ud83d\\ude00\"]";
    struct fixture f;
    start_text(&f, text);
    struct bir_slice s;
    ck_assert_int_eq(bir_json_array_begin(&f.r), BIR_OK);
    ck_assert(bir_json_array_next(&f.r));
    ck_assert_int_eq(bir_json_string(&f.r, &s), BIR_OK);
    ck_assert_ptr_eq(s.text, text + 2);
    ck_assert_uint_eq(s.len, 5);
    ck_assert(bir_json_array_next(&f.r));
    ck_assert_int_eq(bir_json_string(&f.r, &s), BIR_OK);
    static const char expected[] = "\"\\/\b\f\n\r\t\0\xe2\x82\xac\xf0\x9f\x98\x80";
    ck_assert_uint_eq(s.len, sizeof(expected) - 1);
    ck_assert_int_eq(memcmp(s.text, expected, s.len), 0);
    finish(&f);
}
END_TEST

/* Each byte at each place of a string long enough for the eight-byte steps. */
START_TEST(every_byte_of_a_string_is_looked_at)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        for (size_t at = 1; at <= 20; at++) {
            char text[22];
            memset(text, 'x', sizeof(text));
            text[0] = text[21] = '"';
            text[at] = (char)byte;
            bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
            ck_assert_msg(accepted(text, sizeof(text), true) == plain, "byte %02x at %zu", byte, at);
        }
    }
}
END_TEST

struct failure {
    const char *text;
    const char *code;
    int64_t offset;
    const char *part; /* of the message */
};

static void check_failure(const struct failure *c, enum bir_status (*read)(struct bir_json_reader *))
{
    struct fixture f;
    start_text(&f, c->text);
    ck_assert_msg(read(&f.r) == BIR_INVALID, "%s", c->text);
    ck_assert_int_eq(f.r.status, BIR_INVALID);
    ck_assert_uint_eq(f.diags.count, 1);
    ck_assert_str_eq(f.diags.first->code, c->code);
    ck_assert_msg(f.diags.first->offset == c->offset, "%s: offset %d", c->text, (int)f.diags.first->offset);
    ck_assert_msg(strstr(f.diags.first->message, c->part), "%s: %s", c->text, f.diags.first->message);
    struct bir_slice s = { NULL, 77 };
    ck_assert_int_eq(bir_json_string(&f.r, &s), BIR_INVALID);
    ck_assert_int_eq(bir_json_skip(&f.r, &s), BIR_INVALID);
    ck_assert_int_eq(bir_json_object_begin(&f.r), BIR_INVALID);
    ck_assert(!bir_json_array_next(&f.r) && !bir_json_object_next(&f.r, &s));
    ck_assert_int_eq(bir_json_peek(&f.r), BIR_JSON_GARBAGE);
    ck_assert_int_eq(bir_json_mismatch(&f.r, "x"), BIR_INVALID);
    ck_assert_uint_eq(s.len, 77);
    ck_assert_uint_eq(f.diags.count, 1); /* one cause, one diagnostic */
    finish(&f);
}

static enum bir_status read_any(struct bir_json_reader *r)
{
    enum bir_status status = pull_value(r);
    return status == BIR_OK ? bir_json_end(r) : status;
}

START_TEST(syntax_errors_name_place_and_cause)
{
    static const struct failure cases[] = {
        { "", "json-syntax", 0, "end of the text" },       { "  ?", "json-syntax", 2, "starts no value" },
        { "[1,]", "json-syntax", 3, "after ','" },         { "[1 2]", "json-syntax", 3, "expected ',' or ']'" },
        { "[1", "json-syntax", 2, "array is not closed" }, { "{\"a\":1", "json-syntax", 6, "object is not closed" },
        { "{\"a\" 1}", "json-syntax", 5, "':'" },          { "{a:1}", "json-syntax", 1, "expected a key" },
        { "\"ab", "json-syntax", 3, "not closed" },        { "\"a\tb\"", "json-syntax", 2, "control character" },
        { "\"a\\xb\"", "json-syntax", 2, "escape" },       { "\"\\ud800\"", "json-syntax", 1, "surrogate" },
        { "\"a\xff\"", "json-utf8", 2, "UTF-8" },          { "[01]", "json-syntax", 1, "leading zero" },
        { "[1.]", "json-syntax", 3, "decimal point" },     { "[1e+]", "json-syntax", 4, "exponent" },
        { "[-]", "json-syntax", 2, "no digits" },          { "[tru]", "json-syntax", 1, "not a JSON value" },
        { "1 x", "json-syntax", 2, "end of the text" },    { "1e400", "json-range", 0, "1e400" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_failure(&cases[i], read_any);
}
END_TEST

static enum bir_status read_small(struct bir_json_reader *r)
{
    int64_t value = 77;
    enum bir_status status = bir_json_i64_in(r, "num_elem", -5, 1000, &value);
    ck_assert_int_eq(value, 77);
    return status;
}

START_TEST(integers_are_checked_against_their_range)
{
    static const struct failure cases[] = {
        { " 1001", "json-range", 1, "num_elem is 1001, outside the range -5 to 1000" },
        { "-6", "json-range", 0, "num_elem is -6" },
        { "9223372036854775808", "json-range", 0, "9223372036854775808" },
        { "99999999999999999999", "json-type", 0, "99999999999999999999" },
        { "1.0", "json-type", 0, "num_elem must be an integer" },
        { "1e2", "json-type", 0, "1e2" },
        { "\"1\"", "json-type", 0, "expected an integer, found a string" },
        { "[1]", "json-type", 0, "an array" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_failure(&cases[i], read_small);
    static const struct {
        const char *text;
        int64_t value;
    } good[] = { { "-0", 0 }, { "0", 0 }, { "9223372036854775807", INT64_MAX }, { "-9223372036854775808", INT64_MIN } };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct fixture f;
        int64_t value = 77;
        start_text(&f, good[i].text);
        ck_assert_int_eq(bir_json_i64(&f.r, &value), BIR_OK);
        ck_assert_int_eq(value, good[i].value);
        ck_assert_int_eq(bir_json_end(&f.r), BIR_OK);
        finish(&f);
    }
}
END_TEST

START_TEST(number_kinds)
{
    static const struct {
        const char *text;
        enum bir_number_kind kind;
        double f64;
    } cases[] = {
        { "-0", BIR_NUMBER_I64, 0.0 },
        { "-0.0", BIR_NUMBER_DOUBLE, -0.0 },
        { "0e5", BIR_NUMBER_DOUBLE, 0.0 },
        { "9223372036854775807", BIR_NUMBER_I64, 0x1p63 },
        { "-9223372036854775808", BIR_NUMBER_I64, -0x1p63 },
        { "9223372036854775808", BIR_NUMBER_U64, 0x1p63 },
        { "10000000000000000000", BIR_NUMBER_U64, 1e19 },
        { "-9223372036854775809", BIR_NUMBER_DOUBLE, -0x1p63 },
        { "18446744073709551616", BIR_NUMBER_DOUBLE, 0x1p64 },
        { "100000000000000000000000", BIR_NUMBER_DOUBLE, 1e23 },
        { "1.0", BIR_NUMBER_DOUBLE, 1.0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        struct bir_number n;
        start_text(&f, cases[i].text);
        ck_assert_int_eq(bir_json_number(&f.r, &n), BIR_OK);
        ck_assert_msg(n.kind == cases[i].kind, "%s", cases[i].text);
        ck_assert_msg(n.f64 == cases[i].f64 && signbit(n.f64) == signbit(cases[i].f64), "%s", cases[i].text);
        finish(&f);
    }
}
END_TEST

START_TEST(depth_is_bounded_when_read_and_when_skipped)
{
    for (uint32_t depth = MAX_DEPTH - 1; depth <= MAX_DEPTH + 1; depth++) {
        char text[2 * (MAX_DEPTH + 1)];
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        ck_assert_int_eq(accepted(text, 2 * depth, true), depth <= MAX_DEPTH);
        ck_assert_int_eq(accepted(text, 2 * depth, false), depth <= MAX_DEPTH);
    }
    struct fixture f;
    char open[MAX_DEPTH + 1];
    memset(open, '[', sizeof(open));
    start(&f, open, sizeof(open));
    ck_assert_int_eq(bir_json_array_begin(&f.r), BIR_OK);
    ck_assert(bir_json_array_next(&f.r));
    ck_assert_int_eq(bir_json_skip(&f.r, NULL), BIR_LIMIT); /* the open array counts */
    ck_assert_str_eq(f.diags.first->code, "json-depth");
    ck_assert_int_eq(f.diags.first->offset, MAX_DEPTH);
    ck_assert_ptr_nonnull(strstr(f.diags.first->message, "64"));
    finish(&f);
}
END_TEST

START_TEST(hostile_depth_costs_nothing)
{
    size_t len = 4 << 20;
    char *text = malloc(len);
    ck_assert_ptr_nonnull(text);
    memset(text, '[', len);
    struct fixture f;
    start(&f, text, len);
    bir_json_reader_init(&f.r, text, len, UINT32_MAX, &f.arena, &f.diags);
    ck_assert_int_eq(bir_json_skip(&f.r, NULL), BIR_LIMIT);
    ck_assert_int_eq(f.diags.first->offset, 4096);
    finish(&f);
    free(text);
}
END_TEST

START_TEST(diagnostics_are_optional)
{
    struct bir_arena arena;
    struct bir_json_reader r;
    int64_t value;
    bir_arena_init(&arena, 0);
    static const char *const texts[] = { "x", "[[", "1.5", "\"\\q\"", "99999999999999999999", "1e999" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        bir_json_reader_init(&r, texts[i], strlen(texts[i]), 1, &arena, NULL);
        ck_assert_int_ne(read_any(&r) == BIR_OK && bir_json_i64(&r, &value) == BIR_OK, 1);
        bir_json_reader_init(&r, texts[i], strlen(texts[i]), 1, &arena, NULL);
        ck_assert_int_ne(bir_json_i64_in(&r, "x", 0, 1, &value), BIR_OK);
    }
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(strings_that_do_not_fit_the_scratch_arena)
{
    struct fixture f;
    char text[3000];
    memset(text, 'x', sizeof(text));
    text[0] = text[2999] = '"';
    text[1] = '\\';
    text[2] = 'n';
    start(&f, text, sizeof(text));
    struct bir_arena small;
    bir_arena_init(&small, 1000);
    f.r.scratch = &small;
    struct bir_slice s;
    ck_assert_int_eq(bir_json_string(&f.r, &s), BIR_LIMIT);
    ck_assert_uint_eq(f.diags.errors, 1);
    bir_arena_deinit(&small);
    f.r.status = BIR_OK;
    bir_arena_init(&small, 0);
    alloc_fail_at(1);
    enum bir_status status = bir_json_string(&f.r, &s);
    alloc_fail_at(0);
    ck_assert_int_eq(status, BIR_NOMEM);
    ck_assert_uint_eq(f.diags.errors, 1);
    bir_arena_deinit(&small);
    finish(&f);
}
END_TEST

START_TEST(utf8_validity)
{
    static const struct {
        const char *text;
        size_t len, bad;
    } cases[] = {
        { "plain ascii of some length", 26, SIZE_MAX },
        { "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 25,
          SIZE_MAX },
        { "12345678\x80", 9, 8 },
        { "\xc0\x80", 2, 0 },
        { "\xc1\xbf", 2, 0 },
        { "\xe0\x9f\xbf", 3, 0 },
        { "\xed\xa0\x80", 3, 0 },
        { "\xf0\x8f\xbf\xbf", 4, 0 },
        { "\xf4\x90\x80\x80", 4, 0 },
        { "\xf5\x80\x80\x80", 4, 0 },
        { "a\xe2\x82", 3, 1 },
        { "a\xe2\x82z", 4, 1 },
        { "\xff", 1, 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t bad = SIZE_MAX;
        ck_assert_int_eq(bir_utf8_valid(cases[i].text, cases[i].len, &bad), cases[i].bad == SIZE_MAX);
        ck_assert_uint_eq(bad, cases[i].bad);
        ck_assert_int_eq(bir_utf8_valid(cases[i].text, cases[i].len, NULL), cases[i].bad == SIZE_MAX);
    }
}
END_TEST

/* Against jansson */

static void compare_value(struct bir_json_reader *r, const json_t *expected);

static size_t count_members(struct bir_json_reader r) /* a copy of the reader looks ahead */
{
    struct bir_slice key;
    size_t count = 0;
    ck_assert_int_eq(bir_json_object_begin(&r), BIR_OK);
    while (bir_json_object_next(&r, &key)) {
        ck_assert_int_eq(bir_json_skip(&r, NULL), BIR_OK);
        count++;
    }
    return count;
}

static void compare_object(struct bir_json_reader *r, const json_t *expected)
{
    /* A mutation can make two keys equal; jansson then keeps one of them. */
    if (count_members(*r) != json_object_size(expected)) {
        ck_assert_int_eq(bir_json_skip(r, NULL), BIR_OK);
        return;
    }
    struct bir_slice key;
    ck_assert_int_eq(bir_json_object_begin(r), BIR_OK);
    while (bir_json_object_next(r, &key)) {
        char name[4096];
        memcpy(name, key.text, key.len);
        name[key.len] = '\0';
        const json_t *member = json_object_get(expected, name);
        ck_assert_ptr_nonnull(member);
        compare_value(r, member);
    }
    ck_assert_int_eq(r->status, BIR_OK);
}

static void compare_number(struct bir_json_reader *r, const json_t *expected)
{
    struct bir_number n;
    ck_assert_int_eq(bir_json_number(r, &n), BIR_OK);
    if (json_is_integer(expected)) {
        ck_assert(n.kind == BIR_NUMBER_I64 && n.i64 == json_integer_value(expected));
    } else {
        double value = json_real_value(expected);
        ck_assert_int_eq(n.kind, BIR_NUMBER_DOUBLE);
        if (memcmp(&value, &n.f64, sizeof(value)) != 0)
            ck_abort_msg("%.17g read as %.17g", value, n.f64);
    }
}

static void compare_value(struct bir_json_reader *r, const json_t *expected)
{
    struct bir_slice s;
    bool truth;
    switch (json_typeof(expected)) {
    case JSON_OBJECT: compare_object(r, expected); break;
    case JSON_ARRAY:
        ck_assert_int_eq(bir_json_array_begin(r), BIR_OK);
        for (size_t i = 0; i < json_array_size(expected); i++) {
            ck_assert(bir_json_array_next(r));
            compare_value(r, json_array_get(expected, i));
        }
        ck_assert(!bir_json_array_next(r));
        ck_assert_int_eq(r->status, BIR_OK);
        break;
    case JSON_STRING:
        ck_assert_int_eq(bir_json_string(r, &s), BIR_OK);
        ck_assert_uint_eq(s.len, json_string_length(expected));
        ck_assert_int_eq(memcmp(s.text, json_string_value(expected), s.len), 0);
        break;
    case JSON_INTEGER:
    case JSON_REAL: compare_number(r, expected); break;
    case JSON_TRUE:
    case JSON_FALSE:
        ck_assert_int_eq(bir_json_bool(r, &truth), BIR_OK);
        ck_assert_int_eq(truth, json_is_true(expected));
        break;
    case JSON_NULL:
        ck_assert_int_eq(bir_json_peek(r), BIR_JSON_NULL);
        ck_assert_int_eq(bir_json_skip(r, NULL), BIR_OK);
        break;
    }
}

static bool exempt(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
           code == json_error_stack_overflow;
}

/* 1 when both accept, 0 when both refuse, -1 when the text is exempt. */
static int compare_with_jansson(const char *text, size_t len)
{
    if (memchr(text, 0, len))
        return -1;
    json_error_t error;
    json_t *expected = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!expected && exempt(&error))
        return -1;
    if (accepted(text, len, true) != (expected != NULL))
        ck_abort_msg("skip: jansson says %s: %.*s", expected ? "yes" : error.text, (int)len, text);
    if (accepted(text, len, false) != (expected != NULL))
        ck_abort_msg("pull: jansson says %s: %.*s", expected ? "yes" : error.text, (int)len, text);
    if (!expected)
        return 0;
    struct fixture f;
    start(&f, text, len);
    compare_value(&f.r, expected);
    ck_assert_int_eq(bir_json_end(&f.r), BIR_OK);
    finish(&f);
    json_decref(expected);
    return 1;
}

START_TEST(random_texts_read_as_jansson_reads_them)
{
    int outcomes[3] = { 0 };
    for (uint64_t seed = 0; seed < 20000; seed++) {
        struct random_json t = { .random = seed, .unusual = true };
        random_json_value(&t, 4);
        for (uint64_t mutations = seed % 4; mutations > 0; mutations--)
            random_json_mutate(&t);
        char *exact = malloc(t.len > 0 ? t.len : 1); /* so that a sanitizer sees a byte too many */
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, t.bytes, t.len);
        outcomes[compare_with_jansson(exact, t.len) + 1]++;
        free(exact);
    }
    ck_assert_int_gt(outcomes[2], 5000); /* accepted */
    ck_assert_int_gt(outcomes[1], 5000); /* refused */
    ck_assert_int_lt(outcomes[0], 1000); /* exempt */
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        vector_files_are_accepted_or_refused,
        members_and_items_come_in_order,
        expected_keys_are_taken_where_they_stand,
        unescaped_strings_are_borrowed_from_the_text,
        every_byte_of_a_string_is_looked_at,
        syntax_errors_name_place_and_cause,
        integers_are_checked_against_their_range,
        number_kinds,
        depth_is_bounded_when_read_and_when_skipped,
        hostile_depth_costs_nothing,
        diagnostics_are_optional,
        strings_that_do_not_fit_the_scratch_arena,
        utf8_validity,
        random_texts_read_as_jansson_reads_them,
    };
    return UNIT_RUN("json_reader", tests);
}
