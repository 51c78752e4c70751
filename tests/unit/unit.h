/* What every Check program of this directory shares: running its tests, and reading files of tests/vectors. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* main() of a test program: runs the tests of the list as one suite, each within so many seconds. */
static inline int unit_run_within(double seconds, const char *noun, const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(noun);
    TCase *cases = tcase_create(noun);
    tcase_set_timeout(cases, seconds);
    for (size_t i = 0; i < count; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static inline int unit_run(const char *noun, const TTest *const *tests, size_t count)
{
    return unit_run_within(60, noun, tests, count);
}

#define UNIT_RUN(noun, tests) unit_run((noun), (tests), sizeof(tests) / sizeof((tests)[0]))

/* The whole file, NUL-terminated beyond *len; the test fails when it cannot be read. The caller frees. */
static inline char *unit_read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "cannot open %s", path);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    ck_assert_int_ge(size, 0);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    ck_assert_ptr_nonnull(text);
    *len = fread(text, 1, (size_t)size, file);
    ck_assert_uint_eq(*len, (size_t)size);
    text[*len] = '\0';
    fclose(file);
    return text;
}

#endif
