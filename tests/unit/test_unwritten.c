/*
 * Registers that an offset reads before the module writes them: tests/vectors/unwritten/NAME.json. Names that begin
 * with refuse_ are the module's fault; the others lower and validate, as loops and as branches.
 */
#include <dirent.h>
#include <string.h>

#include "lower_checked.h"
#include "unit.h"

#define DIRECTORY ROOST_VECTORS "/unwritten"

static const char *const pipelines[] = {
    NULL, "split_engines,assign_loop_registers,insert_address_tables,lower_ap,expand_inst_late,lower_branch"
};

static void check_refused(const struct lower_checked *l, const char *name)
{
    ck_assert_msg(l->status == BIR_INVALID, "%s: status %d, %s", name, (int)l->status, lower_checked_error(l));
    ck_assert_str_eq(l->diags.first->code, "check-register-unwritten");
    ck_assert_ptr_nonnull(strstr(l->diags.first->message, "instruction d: its offset reads register r_off before"));
    ck_assert_ptr_nonnull(l->diags.first->hint);
    ck_assert_int_ne(l->diags.first->offset, BIR_NO_OFFSET);
}

static void check_file(const char *name)
{
    char path[1024];
    size_t len;
    snprintf(path, sizeof path, DIRECTORY "/%s", name);
    char *text = unit_read_file(path, &len);
    for (size_t i = 0; i < sizeof pipelines / sizeof pipelines[0]; i++) {
        struct lower_checked l;
        lower_checked_run(&l, text, len, pipelines[i], 0, BIR_VALIDATION_FULL, 11);
        if (strncmp(name, "refuse_", 7) == 0) {
            check_refused(&l, name);
        } else {
            ck_assert_msg(l.status == BIR_OK, "%s, pipeline %zu: %s", name, i, lower_checked_error(&l));
            ck_assert_uint_ge((i == 0 ? l.physical : l.branched).operands, 1);
        }
        lower_checked_deinit(&l);
    }
    free(text);
}

START_TEST(vectors)
{
    DIR *directory = opendir(DIRECTORY);
    int n = 0;
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        check_file(entry->d_name);
        n++;
    }
    closedir(directory);
    ck_assert_int_ge(n, 8);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { vectors };
    return UNIT_RUN("unwritten", tests);
}
