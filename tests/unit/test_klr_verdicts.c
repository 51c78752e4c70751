/*
 * Every .klr sample through the one entry point: convert, lower with full validation and the verifier between passes,
 * encode. The verdicts are in tests/vectors/klr/VERDICTS.tsv. A converted sample is also read back from its own
 * BIR-JSON in strict mode, must come out unchanged and pass the strict verifier.
 */
#include <string.h>

#include "compile.h"
#include "unit.h"

static enum bir_status run(enum bir_method method, bool strict, const void *input, size_t len,
                           struct bir_compile_result *result)
{
    struct bir_compile_request request = { .method = method, .input = input, .input_len = len };
    struct bir_compile_limits limits;
    bir_compile_limits_init(&limits);
    bir_compile_options_init(&request.options);
    request.options.check = BIR_CHECK_FULL;
    request.options.verify_each = true;
    request.options.strict = strict;
    return bir_compile(&request, &limits, NULL, result);
}

static const char *verdict_of(const struct bir_compile_result *result)
{
    for (const struct bir_diag *diag = result->diags.first; diag; diag = diag->next)
        if (diag->severity == BIR_ERROR)
            return diag->code;
    return result->status == BIR_OK ? "ok" : "no diagnostic";
}

static void check_method(const char *file, enum bir_method method, const char *bytes, size_t len, const char *expected)
{
    struct bir_compile_result result;
    enum bir_status status = run(method, false, bytes, len, &result);
    ck_assert_msg(strcmp(verdict_of(&result), expected) == 0, "%s %s: %s instead of %s (%s)", file,
                  bir_method_name(method), verdict_of(&result), expected,
                  result.diags.first ? result.diags.first->message : "");
    ck_assert_int_eq(status == BIR_OK, strcmp(expected, "ok") == 0);
    bir_compile_result_deinit(&result);
}

/* What convert writes is read back strictly and comes out unchanged, and the strict verifier has no error in it. */
static void check_round_trip(const char *file, const char *bytes, size_t len)
{
    struct bir_compile_result first, second, check;
    ck_assert_int_eq(run(BIR_METHOD_CONVERT, false, bytes, len, &first), BIR_OK);
    enum bir_status status = run(BIR_METHOD_CONVERT, true, first.output.data, first.output.len, &second);
    ck_assert_msg(status == BIR_OK, "%s: %s", file, second.diags.first ? second.diags.first->message : "");
    ck_assert_uint_eq(first.output.len, second.output.len);
    ck_assert_mem_eq(first.output.data, second.output.data, first.output.len);
    status = run(BIR_METHOD_CHECK, true, first.output.data, first.output.len, &check);
    ck_assert_msg(status == BIR_OK, "%s: %s", file, check.diags.first ? check.diags.first->message : "");
    bir_compile_result_deinit(&check);
    bir_compile_result_deinit(&first);
    bir_compile_result_deinit(&second);
}

START_TEST(samples_have_their_verdicts)
{
    size_t len;
    char *text = unit_read_file(ROOST_VECTORS "/klr/VERDICTS.tsv", &len);
    uint32_t files = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        char file[64], convert[64], lower[64], encode[64], path[512];
        *end = '\0';
        if (line[0] == '#' ||
            sscanf(line, "%63[^\t]\t%63[^\t]\t%63[^\t]\t%63[^\t]\t", file, convert, lower, encode) != 4 ||
            strcmp(file, "file") == 0)
            continue;
        size_t bytes_len;
        snprintf(path, sizeof path, "%s/klr/%s", ROOST_VECTORS, file);
        char *bytes = unit_read_file(path, &bytes_len);
        check_method(file, BIR_METHOD_CONVERT, bytes, bytes_len, convert);
        check_method(file, BIR_METHOD_LOWER, bytes, bytes_len, lower);
        check_method(file, BIR_METHOD_ENCODE, bytes, bytes_len, encode);
        if (strcmp(convert, "ok") == 0)
            check_round_trip(file, bytes, bytes_len);
        free(bytes);
        files++;
    }
    ck_assert_uint_eq(files, 26);
    free(text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { samples_have_their_verdicts };
    return UNIT_RUN("klr_verdicts", tests);
}
