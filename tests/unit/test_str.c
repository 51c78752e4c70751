/* Interned strings, the pointer map and the vector. */
#include "base/str.h"

#include <stdio.h>

#include "base/map.h"
#include "base/random.h"
#include "base/vec.h"
#include "unit.h"

static struct bir_arena arena;

static void setup(void)
{
    bir_arena_init(&arena, 0);
}

START_TEST(equal_bytes_give_one_string)
{
    setup();
    struct bir_strtab table;
    bir_strtab_init(&table, &arena);
    ck_assert_ptr_null(bir_intern_find(&table, "a", 1));
    const struct bir_str *first[5000];
    for (int i = 0; i < 5000; i++) {
        first[i] = bir_intern_printf(&table, "name-%d", i);
        ck_assert_ptr_nonnull(first[i]);
    }
    ck_assert_uint_eq(table.table.count, 5000);
    for (int i = 0; i < 5000; i++) {
        char text[32];
        int len = snprintf(text, sizeof(text), "name-%d", i);
        ck_assert_ptr_eq(bir_intern(&table, text, (size_t)len), first[i]);
        ck_assert_ptr_eq(bir_intern_find(&table, text, (size_t)len), first[i]);
        ck_assert_str_eq(first[i]->text, text);
        ck_assert_uint_eq(first[i]->len, (size_t)len);
    }
    ck_assert_ptr_null(bir_intern_find(&table, "name-5000", 9));
    ck_assert_uint_eq(table.table.count, 5000);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(bytes_may_be_anything)
{
    setup();
    struct bir_strtab table;
    bir_strtab_init(&table, &arena);
    const struct bir_str *empty = bir_intern(&table, NULL, 0);
    const struct bir_str *nul = bir_intern(&table, "a\0b", 3);
    ck_assert_ptr_eq(bir_intern_cstr(&table, ""), empty);
    ck_assert_ptr_ne(bir_intern_cstr(&table, "a"), nul);
    ck_assert_uint_eq(nul->len, 3);
    ck_assert_int_eq(nul->text[3], '\0');
    ck_assert(bir_str_is(bir_intern_cstr(&table, "abc"), "abc"));
    ck_assert(!bir_str_is(nul, "a"));
    ck_assert(!bir_str_is(NULL, ""));
    ck_assert_ptr_null(bir_intern(&table, "x", (size_t)UINT32_MAX));
    ck_assert_int_eq(arena.failure, BIR_LIMIT);
    const struct bir_str *wide = bir_intern_printf(&table, "%0400d", 1);
    ck_assert_uint_eq(wide->len, 400);
    bir_arena_deinit(&arena);
}
END_TEST

static bool ends_in(const struct bir_str *s, void *digit)
{
    return s->text[s->len - 1] == *(char *)digit;
}

START_TEST(new_strings_are_found_later)
{
    setup();
    struct bir_strtab table;
    bir_strtab_init(&table, &arena);
    static const struct bir_str *made[5000];
    const struct bir_str *before = bir_intern_cstr(&table, "name");
    char three = '3';
    ck_assert(!bir_strtab_any(&table, ends_in, &three));
    ck_assert(bir_strtab_expect_new(&table, 2000));
    for (int i = 0; i < 5000; i++) {
        char text[32];
        made[i] = bir_intern_new(&table, text, (size_t)snprintf(text, sizeof(text), "name-%d", i));
        ck_assert_ptr_nonnull(made[i]);
        if (i == 3)
            ck_assert(bir_strtab_any(&table, ends_in, &three));
    }
    ck_assert_ptr_eq(bir_intern_cstr(&table, "name"), before);
    for (int i = 0; i < 5000; i++) {
        ck_assert_ptr_eq(bir_intern_printf(&table, "name-%d", i), made[i]);
        ck_assert_ptr_eq(bir_intern_find(&table, made[i]->text, made[i]->len), made[i]);
    }
    ck_assert_ptr_null(bir_intern_new(&table, "x", (size_t)UINT32_MAX));
    ck_assert_uint_eq(table.table.count, 5001);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(new_strings_are_found_without_memory)
{
    setup();
    struct bir_strtab table;
    bir_strtab_init(&table, &arena);
    const struct bir_str *first = bir_intern_new(&table, "first", 5), *second = bir_intern_new(&table, "second", 6);
    arena.limit_bytes = arena.reserved_bytes;
    while (bir_arena_alloc(&arena, BIR_MEM_OTHER, 8))
        continue;
    ck_assert_ptr_eq(bir_intern_find(&table, "first", 5), first);
    ck_assert_ptr_eq(bir_intern_find(&table, "second", 6), second);
    ck_assert_ptr_null(bir_intern_find(&table, "third", 5));
    ck_assert_ptr_null(bir_intern_cstr(&table, "second"));
    arena.limit_bytes = 0;
    ck_assert_ptr_eq(bir_intern_cstr(&table, "second"), second);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(strings_compare_by_bytes_then_length)
{
    setup();
    struct bir_strtab table;
    bir_strtab_init(&table, &arena);
    static const char *const ordered[] = { "", "A", "B", "a", "a-", "aa", "ab", "b", "\x7f", "\xc3\xa4" };
    size_t count = sizeof(ordered) / sizeof(ordered[0]);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = bir_str_compare(bir_intern_cstr(&table, ordered[i]), bir_intern_cstr(&table, ordered[j]));
            ck_assert_int_eq((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(table_of_a_full_arena_stays_usable)
{
    bir_arena_init(&arena, 6000);
    struct bir_strtab table;
    bir_strtab_init(&table, &arena);
    const struct bir_str *first = bir_intern_cstr(&table, "first");
    uint32_t made = 1;
    while (bir_intern_printf(&table, "another name %u", made))
        made++;
    ck_assert_int_eq(arena.failure, BIR_LIMIT);
    ck_assert_uint_eq(table.table.count, made);
    ck_assert_ptr_eq(bir_intern_find(&table, "first", 5), first);
    bir_arena_deinit(&arena);
}
END_TEST

/* Random puts, removals and look-ups against an array that is indexed by key. */
START_TEST(map_agrees_with_an_array)
{
    enum { KEYS = 300, STEPS = 60000 };
    setup();
    static char keys[KEYS * 8];
    static char values[KEYS];
    void *expected[KEYS] = { NULL };
    struct bir_map map = { 0 };
    uint64_t random = 42;
    ck_assert_ptr_null(bir_map_get(&map, keys));
    bir_map_remove(&map, keys);
    for (int step = 0; step < STEPS; step++) {
        size_t k = bir_random_below(&random, KEYS);
        if (bir_random_below(&random, 2) == 0) {
            bir_map_remove(&map, &keys[k * 8]);
            expected[k] = NULL;
        } else {
            expected[k] = &values[bir_random_below(&random, KEYS)];
            ck_assert(bir_map_put(&map, &arena, &keys[k * 8], expected[k]));
        }
        size_t probe = bir_random_below(&random, KEYS);
        if (bir_map_get(&map, &keys[probe * 8]) != expected[probe])
            ck_abort_msg("step %d: key %zu has the wrong value", step, probe);
    }
    bir_arena_deinit(&arena);
}
END_TEST

struct named {
    const char *name;
    size_t position;
};

enum { NAMED_COUNT = 300 };

static struct named *named[NAMED_COUNT];
static bool is_member[NAMED_COUNT];

static void *next_named(void *user, void *previous)
{
    (*(size_t *)user)++;
    for (size_t i = previous ? ((struct named *)previous)->position + 1 : 0; i < NAMED_COUNT; i++)
        if (is_member[i])
            return named[i];
    return NULL;
}

static void make_named(const char *keys)
{
    for (size_t i = 0; i < NAMED_COUNT; i++) {
        named[i] = BIR_NEW(&arena, BIR_MEM_OTHER, struct named);
        ck_assert_ptr_nonnull(named[i]);
        *named[i] = (struct named){ .name = &keys[i * 4], .position = i };
    }
}

START_TEST(map_of_named_objects_agrees_with_an_array)
{
    setup();
    static char keys[NAMED_COUNT * 4];
    make_named(keys);
    struct bir_map map;
    bir_map_init_named(&map, &arena);
    uint64_t random = 7;
    size_t steps = 0;
    ck_assert_ptr_null(bir_map_get(&map, keys));
    bir_map_remove(&map, keys);
    for (int step = 0; step < 60000; step++) {
        size_t k = bir_random_below(&random, NAMED_COUNT);
        if (bir_random_below(&random, 2) == 0) {
            bir_map_remove(&map, named[k]->name);
            is_member[k] = false;
        } else {
            ck_assert(bir_map_put(&map, &arena, named[k]->name, named[k]));
            is_member[k] = true;
        }
        if (step % 1000 == 999)
            bir_map_forget(&map, next_named, &steps);
        size_t probe = bir_random_below(&random, NAMED_COUNT);
        if (bir_map_get(&map, named[probe]->name) != (is_member[probe] ? named[probe] : NULL))
            ck_abort_msg("step %d: name %zu has the wrong object", step, probe);
    }
    ck_assert_uint_ge(steps, 60); /* it did forget, and went over the objects */
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(map_that_cannot_recall_still_knows)
{
    static char keys[NAMED_COUNT * 4];
    bir_arena_init(&arena, 0);
    make_named(keys);
    struct bir_map map;
    size_t steps = 0;
    for (size_t i = 0; i < NAMED_COUNT; i++)
        is_member[i] = i % 2 == 0;
    bir_map_init_named(&map, &arena);
    bir_map_forget(&map, next_named, &steps);
    arena.limit_bytes = arena.reserved_bytes; /* fill what is left */
    while (bir_arena_alloc(&arena, BIR_MEM_OTHER, 8))
        continue;
    for (size_t i = 0; i < NAMED_COUNT; i++)
        ck_assert_ptr_eq(bir_map_get(&map, named[i]->name), is_member[i] ? named[i] : NULL);
    ck_assert(!bir_map_put(&map, &arena, named[1]->name, named[1]));
    arena.limit_bytes = 0;
    ck_assert(bir_map_put(&map, &arena, named[1]->name, named[1]));
    ck_assert_ptr_eq(bir_map_get(&map, named[1]->name), named[1]);
    ck_assert_ptr_eq(bir_map_get(&map, named[298]->name), named[298]);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(new_objects_are_found_in_maps)
{
    static char keys[NAMED_COUNT * 4];
    for (int forgets = 0; forgets < 2; forgets++) {
        setup();
        make_named(keys);
        struct bir_map map;
        size_t steps = 0;
        memset(is_member, 0, sizeof(is_member));
        bir_map_init_named(&map, &arena);
        ck_assert(bir_map_expect(&map, &arena, NAMED_COUNT / 2));
        if (forgets)
            bir_map_forget(&map, next_named, &steps);
        for (size_t i = 0; i < NAMED_COUNT; i += 2) {
            is_member[i] = true;
            ck_assert(bir_map_put_new(&map, &arena, named[i]->name, named[i]));
        }
        ck_assert_uint_eq(steps, 0);
        ck_assert_uint_eq(bir_map_count(&map), NAMED_COUNT / 2);
        for (size_t i = 0; i < NAMED_COUNT; i++)
            ck_assert_ptr_eq(bir_map_get(&map, named[i]->name), is_member[i] ? named[i] : NULL);
        bir_arena_deinit(&arena);
    }
}
END_TEST

START_TEST(map_of_passing_keys_stays_small)
{
    enum { KEYS = 100000, LIVE = 50 };
    setup();
    static char keys[KEYS];
    struct bir_map map = { 0 };
    for (size_t i = 0; i < KEYS; i++) {
        ck_assert(bir_map_put(&map, &arena, &keys[i], &keys[i]));
        if (i >= LIVE)
            bir_map_remove(&map, &keys[i - LIVE]);
    }
    ck_assert_uint_le(map.capacity, 512);
    ck_assert_ptr_eq(bir_map_get(&map, &keys[KEYS - 1]), &keys[KEYS - 1]);
    ck_assert_ptr_null(bir_map_get(&map, &keys[0]));
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(map_is_unchanged_when_it_cannot_grow)
{
    bir_arena_init(&arena, 4200);
    static char keys[10000];
    struct bir_map map = { 0 };
    size_t count = 0;
    while (bir_map_put(&map, &arena, &keys[count], &keys[count]))
        count++;
    ck_assert_uint_gt(count, 8);
    ck_assert_int_eq(bir_arena_failure(&arena), BIR_LIMIT);
    for (size_t i = 0; i < count; i++)
        ck_assert_ptr_eq(bir_map_get(&map, &keys[i]), &keys[i]);
    ck_assert_ptr_null(bir_map_get(&map, &keys[count]));
    ck_assert(bir_map_put(&map, &arena, &keys[0], &keys[1])); /* replacing needs no room */
    ck_assert_ptr_eq(bir_map_get(&map, &keys[0]), &keys[1]);
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(vector_keeps_what_was_pushed)
{
    setup();
    struct pair {
        uint32_t a, b;
    };
    BIR_VEC(struct pair) pairs = { 0 };
    BIR_VEC(char) bytes = { 0 };
    for (uint32_t i = 0; i < 20000; i++) {
        ck_assert(bir_vec_push(&arena, &pairs, (struct pair){ i, ~i }));
        ck_assert(bir_vec_push(&arena, &bytes, (char)i));
    }
    ck_assert_uint_eq(pairs.count, 20000);
    for (uint32_t i = 0; i < 20000; i++) {
        ck_assert(pairs.items[i].a == i && pairs.items[i].b == ~i);
        ck_assert(bytes.items[i] == (char)i);
    }
    bir_arena_deinit(&arena);
}
END_TEST

START_TEST(vector_refuses_to_overflow)
{
    setup();
    void *items = NULL;
    uint32_t capacity = UINT32_C(1) << 31;
    ck_assert(!bir_vec_reserve_one(&arena, &items, capacity, &capacity, 1));
    ck_assert_int_eq(arena.failure, BIR_LIMIT);
    ck_assert_uint_eq(capacity, UINT32_C(1) << 31);
    bir_arena_deinit(&arena);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        equal_bytes_give_one_string,
        bytes_may_be_anything,
        new_strings_are_found_later,
        new_strings_are_found_without_memory,
        new_objects_are_found_in_maps,
        strings_compare_by_bytes_then_length,
        table_of_a_full_arena_stays_usable,
        map_agrees_with_an_array,
        map_of_named_objects_agrees_with_an_array,
        map_that_cannot_recall_still_knows,
        map_of_passing_keys_stays_small,
        map_is_unchanged_when_it_cannot_grow,
        vector_keeps_what_was_pushed,
        vector_refuses_to_overflow,
    };
    return UNIT_RUN("str", tests);
}
