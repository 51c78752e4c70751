/*
 * Vectors in tests/vectors/number: one case a line, '#' starts a comment.
 *   parse.txt   TEXT BITS   BITS is the double nearest to TEXT, computed with Python's exact fractions
 *   format.txt  BITS TEXT   shortest digits from Python's repr, laid out by the rules of json_writer.h
 */
#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/random.h"
#include "unit.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static int each_case(const char *file, void (*check)(const char *first, const char *second))
{
    char path[1024];
    size_t len;
    int count = 0;
    snprintf(path, sizeof(path), "%s/number/%s", ROOST_VECTORS, file);
    char *text = unit_read_file(path, &len);
    char *rest = text;
    for (char *line; (line = strtok_r(rest, "\n", &rest));) {
        char *fields;
        char *first = strtok_r(line, " ", &fields);
        if (!first || first[0] == '#')
            continue;
        char *second = strtok_r(NULL, " ", &fields);
        ck_assert_msg(second != NULL, "%s: line without two fields: %s", path, line);
        check(first, second);
        count++;
    }
    free(text);
    return count;
}

static void check_parse(const char *text, const char *bits)
{
    uint64_t read = bits_of(bir_parse_double(text, strlen(text)));
    if (read != strtoull(bits, NULL, 16))
        ck_abort_msg("%s: %016llx, expected %s", text, (unsigned long long)read, bits);
}

static void check_format(const char *bits, const char *expected)
{
    char text[32];
    size_t len = bir_format_double(from_bits(strtoull(bits, NULL, 16)), text);
    ck_assert_str_eq(text, expected);
    ck_assert_uint_eq(len, strlen(expected));
}

START_TEST(vectors_parse)
{
    ck_assert_int_ge(each_case("parse.txt", check_parse), 100);
}
END_TEST

START_TEST(vectors_format)
{
    ck_assert_int_ge(each_case("format.txt", check_format), 100);
}
END_TEST

/* Neither direction may depend on the locale; whichever of these exists has a decimal comma. */
START_TEST(locale_does_not_matter)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        each_case("parse.txt", check_parse);
        each_case("format.txt", check_format);
    }
}
END_TEST

START_TEST(random_doubles_survive)
{
    uint64_t random = 7;
    for (int i = 0; i < 60000; i++) {
        double value = from_bits(bir_random_next(&random));
        if (i % 3 == 0)
            value = (double)(float)(value * 0x1p-900); /* a float, often subnormal or 0 */
        if (i % 3 == 1)
            value = (double)bir_random_below(&random, 1000000) / 1000;
        if (!isfinite(value))
            continue;
        char text[32];
        size_t len = bir_format_double(value, text);
        ck_assert_uint_le(len, 31);
        ck_assert_uint_eq(strlen(text), len);
        ck_assert_msg(bits_of(strtod(text, NULL)) == bits_of(value), "%s", text);
        ck_assert_msg(bits_of(bir_parse_double(text, len)) == bits_of(value), "%s", text);
    }
}
END_TEST

START_TEST(random_decimals_parse_as_by_strtod)
{
    uint64_t random = 11;
    for (int i = 0; i < 60000; i++) {
        char text[80];
        uint64_t a = bir_random_next(&random) >> bir_random_below(&random, 64);
        uint64_t b = bir_random_next(&random) >> bir_random_below(&random, 64);
        int exponent = (int)bir_random_below(&random, 700) - 350;
        int len =
            i % 2 ? snprintf(text, sizeof(text), "%llu.%llue%d", (unsigned long long)a, (unsigned long long)b, exponent)
                  : snprintf(text, sizeof(text), "-%llu%020llue%d", (unsigned long long)a + 1, (unsigned long long)b,
                             exponent / 20);
        double read = bir_parse_double(text, (size_t)len);
        ck_assert_msg(bits_of(read) == bits_of(strtod(text, NULL)), "%s", text);
    }
}
END_TEST

START_TEST(long_numbers_are_exact)
{
    /* 2^53 + 1 lies midway between two doubles; one digit 2000 places behind the point decides. */
    char text[2100];
    int len = snprintf(text, sizeof(text), "9007199254740993.%02000d", 0);
    ck_assert(bir_parse_double(text, (size_t)len) == 9007199254740992.0);
    text[len - 1] = '1';
    ck_assert(bir_parse_double(text, (size_t)len) == 9007199254740994.0);
    len = snprintf(text, sizeof(text), "0.%02000d1e2001", 0);
    ck_assert(bir_parse_double(text, (size_t)len) == 1.0);
    len = snprintf(text, sizeof(text), "1%02000de-2000", 0);
    ck_assert(bir_parse_double(text, (size_t)len) == 1.0);
    len = snprintf(text, sizeof(text), "3%02000d", 0);
    ck_assert(isinf(bir_parse_double(text, (size_t)len)));
}
END_TEST

START_TEST(exponents_saturate)
{
    static const char huge[] = "1e99999999999999999999", tiny[] = "-1e-99999999999999999999";
    ck_assert(isinf(bir_parse_double(huge, strlen(huge))));
    double zero = bir_parse_double(tiny, strlen(tiny));
    ck_assert(zero == 0.0 && signbit(zero));
    static const char still_zero[] = "0e99999999999999999999";
    ck_assert(bir_parse_double(still_zero, strlen(still_zero)) == 0.0);
}
END_TEST

START_TEST(what_is_no_json_number_is_nan)
{
    static const char *const texts[] = { "", "-", "01", "1.", ".5", "1e", "+1", "1x", "inf", "nan", "0x1", " 1" };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        ck_assert_msg(isnan(bir_parse_double(texts[i], strlen(texts[i]))), "%s", texts[i]);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        vectors_parse,
        vectors_format,
        locale_does_not_matter,
        random_doubles_survive,
        random_decimals_parse_as_by_strtod,
        long_numbers_are_exact,
        exponents_saturate,
        what_is_no_json_number_is_nan,
    };
    return UNIT_RUN("number", tests);
}
