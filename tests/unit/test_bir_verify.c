/*
 * The verifier against tests/vectors/bir/verify: the .expect file of a document lists its findings, one a line
 * (severity, code, vendor's code or -, pointer); the line "strict" asks for strict mode.
 */
#include "bir_vectors.h"

#include "base/json_reader.h"
#include "bir/verifier.h"

static bool take_strict(char **lines)
{
    if (strncmp(*lines, "strict\n", 7) != 0)
        return false;
    *lines += 7;
    return true;
}

static void check_findings(const char *name, const char *text, size_t len)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/bir/verify/%.*s.expect", ROOST_VECTORS, (int)(strlen(name) - strlen(".json")),
             name);
    size_t expected_len;
    char *file = unit_read_file(path, &expected_len), *expected = file;
    bool strict = take_strict(&expected);
    struct bir_read read;
    struct bir_module *module = bir_read_expect(&read, text, len, name);
    enum bir_status status = bir_module_verify(module, strict, &read.diags);
    struct bir_buf got;
    bir_buf_init(&got, 0);
    bir_buf_puts(&got, "");
    for (const struct bir_diag *d = read.diags.first; d; d = d->next)
        bir_buf_printf(&got, "%s %s %s %s\n", bir_severity_name(d->severity), d->code, d->vendor ? d->vendor : "-",
                       bir_json_pointer_at(text, len, (size_t)d->offset, &read.arena));
    bir_buf_putc(&got, '\0');
    ck_assert_msg(strcmp(got.data, expected) == 0, "%s:\nexpected\n%sgot\n%s(%s)", name, expected, got.data,
                  read.diags.first ? read.diags.first->message : "");
    ck_assert_int_eq(status, read.diags.errors > 0 ? BIR_INVALID : BIR_OK);
    bir_buf_deinit(&got);
    bir_read_done(&read);
    free(file);
}

START_TEST(findings)
{
    ck_assert_int_ge(bir_each_vector("bir/verify", ".json", check_findings), 50);
}
END_TEST

/* Any document that reads can be verified. */
static void check_survives(const char *name, const char *text, size_t len)
{
    struct bir_read read;
    struct bir_module *module = bir_read_expect(&read, text, len, name);
    for (int strict = 0; strict < 2; strict++) {
        enum bir_status status = bir_module_verify(module, strict, &read.diags);
        ck_assert(status == BIR_OK || status == BIR_INVALID);
    }
    bir_read_done(&read);
}

START_TEST(survives)
{
    ck_assert_int_ge(bir_each_vector("bir/good", ".json", check_survives), 15);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { findings, survives };
    return UNIT_RUN("bir_verify", tests);
}
