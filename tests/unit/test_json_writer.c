/* Layout by hand-written expectations, and re-layout of random texts against jansson's encoder. */
#include "base/json_writer.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "alloc_fail.h"
#include "base/json_reader.h"
#include "random_json.h"
#include "unit.h"

static void put_sample(struct bir_json_writer *w)
{
    bir_json_put_object_begin(w);
    bir_json_put_key(w, "a");
    bir_json_put_array_begin(w);
    bir_json_put_i64(w, -1);
    bir_json_put_u64(w, UINT64_MAX);
    bir_json_put_array_begin(w);
    bir_json_put_array_end(w);
    bir_json_put_object_begin(w);
    bir_json_put_object_end(w);
    bir_json_put_array_end(w);
    bir_json_put_key_n(w, "b\n", 2);
    bir_json_put_double(w, 2.0);
    bir_json_put_key(w, "c");
    bir_json_put_object_begin(w);
    bir_json_put_key(w, "d");
    bir_json_put_bool(w, true);
    bir_json_put_key(w, "e");
    bir_json_put_bool(w, false);
    bir_json_put_key(w, "f");
    bir_json_put_null(w);
    bir_json_put_object_end(w);
    bir_json_put_key(w, "g");
    bir_json_put_cstr(w, "x");
    bir_json_put_object_end(w);
}

static const char sample_compact[] = "{\"a\":[-1,18446744073709551615,[],{}],\"b\\n\":2.0,"
                                     "\"c\":{\"d\":true,\"e\":false,\"f\":null},\"g\":\"x\"}";
static const char sample_indented[] = "{\n"
                                      "  \"a\": [\n"
                                      "    -1,\n"
                                      "    18446744073709551615,\n"
                                      "    [],\n"
                                      "    {}\n"
                                      "  ],\n"
                                      "  \"b\\n\": 2.0,\n"
                                      "  \"c\": {\n"
                                      "    \"d\": true,\n"
                                      "    \"e\": false,\n"
                                      "    \"f\": null\n"
                                      "  },\n"
                                      "  \"g\": \"x\"\n"
                                      "}";

static void check_text(struct bir_buf *buf, const char *expected)
{
    size_t len = 0;
    ck_assert_int_eq(buf->status, BIR_OK);
    char *text = bir_buf_steal(buf, &len);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(len, strlen(expected));
    free(text);
}

START_TEST(layout_compact_and_indented)
{
    struct bir_buf buf;
    struct bir_json_writer w;
    bir_buf_init(&buf, 0);
    bir_json_writer_init(&w, &buf, 0);
    put_sample(&w);
    check_text(&buf, sample_compact);
    bir_json_writer_init(&w, &buf, 2);
    put_sample(&w);
    check_text(&buf, sample_indented);
}
END_TEST

START_TEST(strings_escape_what_they_must)
{
    struct bir_buf buf;
    struct bir_json_writer w;
    bir_buf_init(&buf, 0);
    bir_json_writer_init(&w, &buf, 0);
    static const char text[] = "\"\\/\b\f\n\r\t\0\x01\x1f\x7f\xc3\xa4 plain";
    bir_json_put_string(&w, text, sizeof(text) - 1);
    check_text(&buf, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u0001\\u001f\x7f\xc3\xa4 plain\"");
    bir_json_writer_init(&w, &buf, 0);
    bir_json_put_string(&w, NULL, 0);
    check_text(&buf, "\"\"");
}
END_TEST

START_TEST(non_finite_numbers_are_strings)
{
    struct bir_buf buf;
    struct bir_json_writer w;
    bir_buf_init(&buf, 0);
    bir_json_writer_init(&w, &buf, 0);
    bir_json_put_array_begin(&w);
    bir_json_put_double(&w, INFINITY);
    bir_json_put_double(&w, -INFINITY);
    bir_json_put_double(&w, NAN);
    bir_json_put_double(&w, -0.0);
    bir_json_put_array_end(&w);
    check_text(&buf, "[\"inf\",\"-inf\",\"nan\",-0.0]");
}
END_TEST

struct raw_case {
    const char *text;
    const char *kept;   /* compact, order kept */
    const char *canonical; /* compact, sorted, spelled as the writer does */
};

START_TEST(raw_values_keep_their_spelling_or_become_canonical)
{
    static const struct raw_case cases[] = {
        { "1.50E+01", "1.50E+01", "15.0" },
        { " \"\\u0041\\/\" ", "\"\\u0041\\/\"", "\"A/\"" },
        { "[1.0, -0, -0.0, 1e400, 100e-2, 18446744073709551616, 0.1]",
          "[1.0,-0,-0.0,1e400,100e-2,18446744073709551616,0.1]",
          "[1.0,0,-0.0,1e400,1.0,18446744073709551616,0.1]" },
        { "[\"\\u0000\\u001F\\u00e9\\ud83d\\ude00\\\"\\\\\\n\"]",
          "[\"\\u0000\\u001F\\u00e9\\ud83d\\ude00\\\"\\\\\\n\"]",
          "[\"\\u0000\\u001f\xc3\xa9\xf0\x9f\x98\x80\\\"\\\\\\n\"]" },
        { "[ ]", "[]", "[]" },
        { "{ }", "{}", "{}" },
        { "[ { } , [ 1 , true ] ]", "[{},[1,true]]", "[{},[1,true]]" },
        { "{\"b\":{\"z\":1,\"y\":[{\"d\":0,\"c\":0}]},\"a\":null}",
          "{\"b\":{\"z\":1,\"y\":[{\"d\":0,\"c\":0}]},\"a\":null}",
          "{\"a\":null,\"b\":{\"y\":[{\"c\":0,\"d\":0}],\"z\":1}}" },
        /* "\u0062" is b; upper case before lower case, a prefix before its extension */
        { "{\"c\":1,\"\\u0062\":2,\"a\":3,\"B\":4,\"\":5,\"ab\":6}",
          "{\"c\":1,\"\\u0062\":2,\"a\":3,\"B\":4,\"\":5,\"ab\":6}",
          "{\"\":5,\"B\":4,\"a\":3,\"ab\":6,\"b\":2,\"c\":1}" },
        /* bytes above 0x7f sort last; U+00E4 spelled both ways stays in order */
        { "{\"\xc3\xa4\":1,\"\\u00e4\":2,\"z\":3,\"\\u00e3\":4}",
          "{\"\xc3\xa4\":1,\"\\u00e4\":2,\"z\":3,\"\\u00e3\":4}",
          "{\"z\":3,\"\xc3\xa3\":4,\"\xc3\xa4\":1,\"\xc3\xa4\":2}" },
        { "{\"a\":1,\"a\":2,\"A\":3,\"a\":0}", "{\"a\":1,\"a\":2,\"A\":3,\"a\":0}",
          "{\"A\":3,\"a\":1,\"a\":2,\"a\":0}" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bir_buf buf;
        struct bir_json_writer w;
        bir_buf_init(&buf, 0);
        bir_json_writer_init(&w, &buf, 0);
        bir_json_put_raw(&w, cases[i].text, strlen(cases[i].text), false);
        check_text(&buf, cases[i].kept);
        bir_json_writer_init(&w, &buf, 0);
        bir_json_put_raw(&w, cases[i].text, strlen(cases[i].text), true);
        check_text(&buf, cases[i].canonical);
    }
}
END_TEST

START_TEST(raw_values_fit_into_their_surroundings)
{
    for (int sort = 0; sort < 2; sort++) {
        struct bir_buf buf;
        struct bir_json_writer w;
        bir_buf_init(&buf, 0);
        bir_json_writer_init(&w, &buf, 2);
        static const char raw[] = "{\"x\":[1,[]]}";
        bir_json_put_array_begin(&w);
        bir_json_put_raw(&w, raw, strlen(raw), sort);
        bir_json_put_raw(&w, "7", 1, sort);
        bir_json_put_object_begin(&w);
        bir_json_put_key(&w, "k");
        bir_json_put_raw(&w, raw, strlen(raw), sort);
        bir_json_put_object_end(&w);
        bir_json_put_array_end(&w);
        check_text(&buf,
                   "[\n  {\n    \"x\": [\n      1,\n      []\n    ]\n  },\n  7,\n  {\n    \"k\": {\n      \"x\": [\n"
                   "        1,\n        []\n      ]\n    }\n  }\n]");
    }
}
END_TEST

START_TEST(broken_raw_text_is_an_internal_error)
{
    static const char *const texts[] = { "", "[", "{\"a\":", "[1", "]", "}", "[\"x]", "@", "{\"a\":nul}" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (int sort = 0; sort < 2; sort++) {
            struct bir_buf buf;
            struct bir_json_writer w;
            bir_buf_init(&buf, 0);
            bir_json_writer_init(&w, &buf, 0);
            bir_json_put_raw(&w, texts[i], strlen(texts[i]), sort);
            ck_assert_msg(buf.status == BIR_INTERNAL, "%s", texts[i]);
            bir_buf_deinit(&buf);
        }
    }
}
END_TEST

START_TEST(depth_is_bounded)
{
    enum { DEEP = BIR_JSON_WRITER_MAX_DEPTH };
    static char text[2 * (DEEP + 1)];
    for (size_t depth = DEEP; depth <= DEEP + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        for (int sort = 0; sort < 2; sort++) {
            struct bir_buf buf;
            struct bir_json_writer w;
            bir_buf_init(&buf, 0);
            bir_json_writer_init(&w, &buf, 0);
            bir_json_put_raw(&w, text, 2 * depth, sort);
            ck_assert_int_eq(buf.status, depth <= DEEP ? BIR_OK : BIR_LIMIT);
            ck_assert(depth > DEEP || (buf.len == 2 * depth && memcmp(buf.data, text, buf.len) == 0));
            bir_buf_deinit(&buf);
        }
    }
}
END_TEST

/* jansson writes the same layout; spellings it would change are not generated. */
START_TEST(random_texts_are_laid_out_as_by_jansson)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct random_json t = { .random = seed };
        random_json_value(&t, 5);
        json_error_t error;
        json_t *value = json_loadb(t.bytes, t.len, JSON_DECODE_ANY, &error);
        if (!value)
            continue; /* cut at the generator's size */
        for (unsigned indent = 0; indent < 4; indent++) {
            for (int sort = 0; sort < 2; sort++) {
                size_t flags = JSON_ENCODE_ANY | JSON_INDENT(indent) | (sort ? JSON_SORT_KEYS : 0);
                char *expected = json_dumps(value, indent > 0 ? flags : flags | JSON_COMPACT);
                struct bir_buf buf;
                struct bir_json_writer w;
                bir_buf_init(&buf, 0);
                bir_json_writer_init(&w, &buf, indent);
                bir_json_put_raw(&w, t.bytes, t.len, sort);
                check_text(&buf, expected);
                free(expected);
            }
        }
        json_decref(value);
    }
}
END_TEST

START_TEST(wide_objects_are_sorted_in_linear_steps)
{
    enum { MEMBERS = 200000 };
    struct bir_buf in, out;
    struct bir_json_writer w;
    bir_buf_init(&in, 0);
    bir_buf_init(&out, 0);
    bir_buf_putc(&in, '{');
    for (uint32_t i = 0; i < MEMBERS; i++)
        bir_buf_printf(&in, "%s\"%06u\":[{}]", i > 0 ? "," : "", (uint32_t)(i * UINT64_C(77771) % MEMBERS));
    bir_buf_putc(&in, '}');
    bir_json_writer_init(&w, &out, 0);
    bir_json_put_raw(&w, in.data, in.len, true);
    ck_assert_int_eq(out.status, BIR_OK);
    ck_assert_uint_eq(out.len, in.len);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        char key[16];
        snprintf(key, sizeof(key), "\"%06u\":[{}]", i);
        if (memcmp(out.data + 1 + i * 14, key, 13) != 0)
            ck_abort_msg("member %u is out of order", i);
    }
    bir_buf_deinit(&in);
    bir_buf_deinit(&out);
}
END_TEST

START_TEST(every_failed_allocation_is_survived)
{
    static const char raw[] = "{\"b\":[1,2,3,{\"z\":0,\"y\":0}],\"a\":{\"q\":[],\"p\":[[[[[[[[[[[[]]]]]]]]]]]]}}";
    bool fired = true;
    for (long n = 1; fired; n++) {
        ck_assert_int_lt(n, 1000);
        struct bir_buf buf;
        struct bir_json_writer w;
        bir_buf_init(&buf, 0);
        bir_json_writer_init(&w, &buf, 2);
        long live = alloc_live();
        alloc_fail_at(n);
        bir_json_put_array_begin(&w);
        put_sample(&w);
        bir_json_put_raw(&w, raw, strlen(raw), true);
        bir_json_put_raw(&w, raw, strlen(raw), false);
        bir_json_put_array_end(&w);
        fired = alloc_fail_fired();
        alloc_fail_at(0);
        enum bir_status status = buf.status;
        bir_buf_deinit(&buf);
        long left = alloc_live();
        ck_assert_int_eq(left, live);
        ck_assert_int_eq(status, fired ? BIR_NOMEM : BIR_OK);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        layout_compact_and_indented,
        strings_escape_what_they_must,
        non_finite_numbers_are_strings,
        raw_values_keep_their_spelling_or_become_canonical,
        raw_values_fit_into_their_surroundings,
        broken_raw_text_is_an_internal_error,
        depth_is_bounded,
        random_texts_are_laid_out_as_by_jansson,
        wide_objects_are_sorted_in_linear_steps,
        every_failed_allocation_is_survived,
    };
    return UNIT_RUN("json_writer", tests);
}
