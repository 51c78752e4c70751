/* Which names are offered for a misspelt one, and in which order. */
#include <string.h>

#include "base/near.h"
#include "unit.h"

static const struct {
    const char *wanted;
    const char *offers[6];
    const char *text;
} cases[] = {
    { "lowwer", { "lower", "encode", "convert" }, "lower" },
    { "lwoer", { "lower", "encode" }, "lower" },         /* exchanged: one mistake */
    { "chekc", { "check", "cheek" }, "check or cheek" }, /* nearest first, whatever the order */
    { "chekc", { "cheek", "check" }, "check or cheek" },
    { "I-12", { "I-13", "I-14", "I-15", "I-16" }, "I-13, I-14 or I-15" }, /* equal ones: the first offered */
    { "I-12", { "I-13", "I-13", "I-2", "I-1" }, "I-13, I-2 or I-1" },     /* each once */
    { "ab", { "a", "abcd", "ba", "xy" }, "a or ba" },                     /* two bytes may have one mistake */
    { "", { "a", "ab" }, "a" },
    { "encode", { "decode", "explain", "help" }, "decode" },
    { "stop", { "sock", "help", "lower" }, "" },
    { "sameasit", { "sameasit" }, "sameasit" },
};

START_TEST(offers)
{
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct bir_near near;
        struct bir_buf text;
        bir_near_init(&near, cases[k].wanted, strlen(cases[k].wanted));
        for (size_t i = 0; i < 6 && cases[k].offers[i]; i++)
            bir_near_offer(&near, cases[k].offers[i], strlen(cases[k].offers[i]));
        bir_buf_init(&text, 0);
        bir_near_write(&near, "", &text);
        bir_buf_putc(&text, '\0');
        ck_assert_str_eq(text.data, cases[k].text);
        bir_buf_deinit(&text);
    }
}
END_TEST

START_TEST(long_names_are_far)
{
    char one[5000], other[5000];
    memset(one, 'x', sizeof one);
    memset(other, 'x', sizeof other);
    struct bir_near near;
    bir_near_init(&near, one, sizeof one);
    bir_near_offer(&near, other, sizeof other);
    bir_near_offer(&near, other, 96);
    ck_assert_uint_eq(near.count, 0);
    bir_near_init(&near, one, 96);
    bir_near_offer(&near, other, 96);
    bir_near_offer(&near, other, 97);
    ck_assert_uint_eq(near.count, 1);
}
END_TEST

START_TEST(hints)
{
    struct bir_arena arena;
    struct bir_near near;
    bir_arena_init(&arena, 0);
    bir_near_init(&near, "act1", 4);
    ck_assert_str_eq(bir_near_hint(&near, &arena, "look again"), "look again");
    bir_near_offer(&near, "act0", 4);
    bir_near_offer(&near, "act12", 5);
    ck_assert_str_eq(bir_near_hint(&near, &arena, "look again"), "did you mean act0 or act12?");
    bir_arena_deinit(&arena);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { offers, long_names_are_far, hints };
    return UNIT_RUN("near", tests);
}
