#include "passes/free_name.h"

#include "unit.h"

struct names {
    struct bir_arena arena;
    struct bir_strtab strings;
    struct bir_map taken;
    struct bir_free_names free;
};

static void setup(struct names *n)
{
    *n = (struct names){ .taken = { 0 } };
    bir_arena_init(&n->arena, 0);
    bir_strtab_init(&n->strings, &n->arena);
}

/* Asks for a name and takes it. */
static const char *take(struct names *n, const char *base)
{
    const struct bir_str *name =
        bir_free_name(&n->free, &n->strings, &n->arena, &n->taken, bir_intern_cstr(&n->strings, base));
    ck_assert_ptr_nonnull(name);
    ck_assert_ptr_null(bir_map_get(&n->taken, name));
    ck_assert(bir_map_put(&n->taken, &n->arena, name, n));
    return name->text;
}

START_TEST(numbers_start_at_two)
{
    struct names n;
    setup(&n);
    ck_assert_str_eq(take(&n, "x"), "x");
    ck_assert_str_eq(take(&n, "x"), "x-2");
    ck_assert_str_eq(take(&n, "y"), "y");
    ck_assert_str_eq(take(&n, "x-3"), "x-3");
    ck_assert_str_eq(take(&n, "x"), "x-4"); /* over the one that is there */
    ck_assert_str_eq(take(&n, "x-2"), "x-2-2");
    ck_assert_str_eq(take(&n, "x"), "x-5");
    ck_assert_ptr_null(bir_free_name(&n.free, &n.strings, &n.arena, &n.taken, NULL));
    bir_arena_deinit(&n.arena);
}
END_TEST

/* A search from the start for each would take hours. */
START_TEST(many_of_one_base_take_linear_time)
{
    struct names n;
    char last[32];
    setup(&n);
    for (int i = 1; i <= 200000; i++)
        snprintf(last, sizeof last, "%s", take(&n, "same"));
    ck_assert_str_eq(last, "same-200000");
    bir_arena_deinit(&n.arena);
}
END_TEST

START_TEST(memory_that_is_out_gives_null)
{
    struct names n;
    setup(&n);
    n.arena.limit_bytes = 16384;
    const struct bir_str *base = bir_intern_cstr(&n.strings, "base");
    const struct bir_str *name = base;
    ck_assert_ptr_nonnull(base);
    for (int i = 0; name && i < 10000; i++) {
        name = bir_free_name(&n.free, &n.strings, &n.arena, &n.taken, base);
        if (name && !bir_map_put(&n.taken, &n.arena, name, &n))
            name = NULL;
    }
    ck_assert_ptr_null(name);
    ck_assert_int_eq(bir_arena_failure(&n.arena), BIR_LIMIT);
    bir_arena_deinit(&n.arena);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { numbers_start_at_two, many_of_one_base_take_linear_time,
                                   memory_that_is_out_gives_null };
    return UNIT_RUN("free_name", tests);
}
