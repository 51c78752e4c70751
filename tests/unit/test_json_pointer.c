#include <string.h>

#include "base/json_reader.h"
#include "random_json.h"
#include "unit.h"

struct pointer_case {
    const char *text;
    size_t offset;
    const char *pointer;
};

START_TEST(offsets_name_the_innermost_value)
{
    static const struct pointer_case cases[] = {
        { "", 0, "" },
        { "7", 0, "" },
        { "7", 9, "" },
        { "{}", 0, "" },
        { "{}", 1, "" },
        { "{\"a\":1}", 0, "" },
        { "{\"a\":1}", 1, "/a" }, /* the key */
        { "{\"a\":1}", 3, "/a" },
        { "{\"a\":1}", 4, "/a" }, /* the colon */
        { "{\"a\":1}", 5, "/a" },
        { "{\"a\":1}", 6, "" }, /* the brace */
        { "{\"a\": 1 , \"b\":2}", 6, "/a" },
        { "{\"a\": 1 , \"b\":2}", 7, "" },
        { "{\"a\": 1 , \"b\":2}", 8, "" },
        { "{\"a\": 1 , \"b\":2}", 10, "/b" },
        { "[1,22,[3]]", 1, "/0" },
        { "[1,22,[3]]", 2, "" },
        { "[1,22,[3]]", 4, "/1" },
        { "[1,22,[3]]", 6, "/2" },
        { "[1,22,[3]]", 7, "/2/0" },
        { "[1,22,[3]]", 8, "/2" },
        { "[1,22,[3]]", 9, "" },
        { "{\"a\":{\"b\":[{},{\"c\":\"x,y]\"}]}}", 17, "/a/b/1/c" },
        { "{\"a\":{\"b\":[{},{\"c\":\"x,y]\"}]}}", 24, "/a/b/1/c" },
        { "{\"a\":{\"b\":[{},{\"c\":\"x,y]\"}]}}", 25, "/a/b/1" },
        { "{\"a/b~c\":1}", 9, "/a~1b~0c" },
        { "{\"\":1}", 4, "/" },
        { "{\"\\u0041\\n\\\"\":1}", 3, "/A\n\"" },
        { "{\"\\u0000\":1}", 3, "/\\u0000" }, /* what a C string cannot hold stays escaped */
        { "{\"\xff\xc3\xa4\":1}", 2, "/\xef\xbf\xbd\xc3\xa4" },
        { "{\"a\":\"\\\"}\",\"b\":3}", 15, "/b" },
        /* cut and broken texts */
        { "{\"a\":[1,{\"b\":", 13, "/a/1/b" },
        { "{\"a\":[1,{\"b\":\"xy", 17, "/a/1/b" },
        { "{\"a\":[1,2", 5, "/a" },
        { "{\"a\":[1,@", 8, "/a/1" },
        { "{\"a\":[1,?]]]}}}", 8, "/a/1" },
        { "{\"a\" 1}", 5, "/a" },
        { "]]}}[1,2]", 7, "/1" },
        { "{\"key", 3, "/key" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bir_arena arena;
        bir_arena_init(&arena, 0);
        const char *pointer = bir_json_pointer_at(cases[i].text, strlen(cases[i].text), cases[i].offset, &arena);
        ck_assert_msg(pointer && strcmp(pointer, cases[i].pointer) == 0, "%s at %zu: %s, expected %s", cases[i].text,
                      cases[i].offset, pointer, cases[i].pointer);
        bir_arena_deinit(&arena);
    }
}
END_TEST

/* A walk with the reader knows the pointer of every value it meets. `cut` spoils the text behind each value. */
struct walk {
    const char *text;
    size_t len;
    struct bir_arena *arena;
    char path[8192];
    size_t values;
};

static void check_offset(const struct walk *walk, size_t offset, const char *expected)
{
    const char *pointer = bir_json_pointer_at(walk->text, walk->len, offset, walk->arena);
    if (!pointer || strcmp(pointer, expected) != 0)
        ck_abort_msg("offset %zu of %.*s: %s, expected %s", offset, (int)walk->len, walk->text, pointer, expected);
}

static void check_place(struct walk *walk, size_t offset)
{
    walk->values++;
    check_offset(walk, offset, walk->path);
    char *broken = bir_arena_strndup(walk->arena, walk->text, walk->len);
    ck_assert_ptr_nonnull(broken);
    for (size_t i = offset + 1; i < walk->len; i++)
        broken[i] = "\"{[}]:,\\1x"[(i * 7 + offset) % 10];
    const char *pointer = bir_json_pointer_at(broken, walk->len, offset, walk->arena);
    ck_assert_str_eq(pointer, walk->path);
}

static void append_token(struct walk *walk, struct bir_slice key)
{
    size_t at = strlen(walk->path);
    walk->path[at++] = '/';
    for (size_t i = 0; i < key.len; i++) {
        bool special = key.text[i] == '~' || key.text[i] == '/';
        if (special)
            walk->path[at++] = '~';
        walk->path[at++] = special ? (key.text[i] == '~' ? '0' : '1') : key.text[i];
    }
    walk->path[at] = '\0';
}

static void walk_value(struct walk *walk, struct bir_json_reader *r)
{
    size_t path_len = strlen(walk->path);
    size_t start = bir_json_value_offset(r);
    struct bir_slice key;
    char index[16];
    check_place(walk, start);
    if (bir_json_peek(r) == BIR_JSON_OBJECT) {
        ck_assert_int_eq(bir_json_object_begin(r), BIR_OK);
        while (bir_json_object_next(r, &key)) {
            append_token(walk, key);
            check_offset(walk, r->value_start, walk->path); /* the key's own bytes */
            walk_value(walk, r);
            walk->path[path_len] = '\0';
        }
    } else if (bir_json_peek(r) == BIR_JSON_ARRAY) {
        ck_assert_int_eq(bir_json_array_begin(r), BIR_OK);
        for (unsigned i = 0; bir_json_array_next(r); i++) {
            int len = snprintf(index, sizeof(index), "%u", i);
            append_token(walk, (struct bir_slice){ .text = index, .len = (size_t)len });
            walk_value(walk, r);
            walk->path[path_len] = '\0';
        }
    } else {
        ck_assert_int_eq(bir_json_skip(r, NULL), BIR_OK);
    }
    ck_assert_int_eq(r->status, BIR_OK);
    check_offset(walk, r->pos - 1, walk->path); /* the last byte: of a scalar, or the closing one */
}

START_TEST(every_value_of_random_texts_is_found)
{
    static struct walk walk;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random_json t = { .random = seed, .unusual = seed % 2 };
        random_json_value(&t, 4);
        struct bir_arena arena;
        struct bir_json_reader r;
        bir_arena_init(&arena, 0);
        bir_json_reader_init(&r, t.bytes, t.len, 100, &arena, NULL);
        if (bir_json_skip(&r, NULL) == BIR_OK) { /* else cut at the generator's size */
            bir_json_reader_init(&r, t.bytes, t.len, 100, &arena, NULL);
            walk.text = t.bytes;
            walk.len = t.len;
            walk.arena = &arena;
            walk.path[0] = '\0';
            walk_value(&walk, &r);
        }
        bir_arena_deinit(&arena);
    }
    ck_assert_uint_gt(walk.values, 1000);
}
END_TEST

/* One locator for all offsets in order, some of them twice, gives what a scan for each gives. */
static void check_locator(const char *text, size_t len, size_t step)
{
    struct bir_arena arena;
    bir_arena_init(&arena, 0);
    struct bir_json_locator *locator = bir_json_locator_new(text, len, &arena);
    ck_assert_ptr_nonnull(locator);
    for (size_t i = 0; i / 2 * step <= len + 1; i++) {
        size_t offset = i / 2 * step;
        const char *expected = bir_json_pointer_at(text, len, offset, &arena);
        const char *pointer = bir_json_locator_pointer(locator, offset);
        if (!pointer || strcmp(pointer, expected) != 0)
            ck_abort_msg("offset %zu of %.*s: %s, expected %s", offset, (int)len, text, pointer, expected);
    }
    bir_arena_deinit(&arena);
}

START_TEST(a_locator_finds_ascending_offsets)
{
    static const char *const texts[] = {
        "",          "{\"a\":{\"b\":[{},{\"c\":\"x,y]\"}]}} ",           "{\"a\":[1,?]]]}}}",
        "]]}}[1,2]", " { \"\\u0041\" : [ [ ] , true ] , \"b\" : null }", "{\"a\":[1,{\"b\":\"xy",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        for (size_t step = 1; step < 4; step++)
            check_locator(texts[i], strlen(texts[i]), step);
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct random_json t = { .random = seed, .unusual = seed % 2 };
        random_json_value(&t, 3);
        check_locator(t.bytes, t.len < 600 ? t.len : 600, 1 + seed % 5);
    }
}
END_TEST

START_TEST(hostile_depth_is_survived)
{
    size_t len = 2 << 20;
    char *text = malloc(len);
    ck_assert_ptr_nonnull(text);
    memset(text, '[', len);
    struct bir_arena arena;
    bir_arena_init(&arena, 4 << 20);
    const char *pointer = bir_json_pointer_at(text, len, len - 1, &arena);
    ck_assert_ptr_nonnull(pointer);
    ck_assert_uint_eq(strlen(pointer), 2 * 4096); /* the 4096 outer levels are told apart */
    memset(text + len / 2, ']', len - len / 2);
    ck_assert_str_eq(bir_json_pointer_at(text, len, len - 1, &arena), "");
    ck_assert_str_eq(bir_json_pointer_at(text, len, len - 3, &arena), "/0/0");
    bir_arena_deinit(&arena);
    bir_arena_init(&arena, 1000);
    ck_assert_ptr_null(bir_json_pointer_at(text, len, len / 2, &arena));
    bir_arena_deinit(&arena);
    free(text);
}
END_TEST

START_TEST(lines_and_columns_count_from_one)
{
    static const char text[] = "ab\n\ncde\n";
    static const uint32_t expected[][2] = { { 1, 1 }, { 1, 2 }, { 1, 3 }, { 2, 1 }, { 3, 1 },
                                            { 3, 2 }, { 3, 3 }, { 3, 4 }, { 4, 1 }, { 4, 1 } };
    for (size_t offset = 0; offset < sizeof(expected) / sizeof(expected[0]); offset++) {
        uint32_t line = 0, column = 0;
        bir_text_line_column(text, strlen(text), offset, &line, &column);
        ck_assert_msg(line == expected[offset][0] && column == expected[offset][1], "offset %zu: %u:%u", offset, line,
                      column);
    }
    uint32_t line = 0, column = 0;
    bir_text_line_column("", 0, 5, &line, &column);
    ck_assert(line == 1 && column == 1);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { offsets_name_the_innermost_value, every_value_of_random_texts_is_found,
                                   a_locator_finds_ascending_offsets, hostile_depth_is_survived,
                                   lines_and_columns_count_from_one };
    return UNIT_RUN("json_pointer", tests);
}
