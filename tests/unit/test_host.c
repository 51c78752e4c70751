/* What a process may use: the least limit of its control groups, and the processors it is bound to. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/host.h"
#include "unit.h"

static char root[] = "/tmp/roost-host-XXXXXX";

static void write_limit(const char *group, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s%s", root, group);
    if (group[0])
        ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s%s/memory.max", root, group);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(the_least_limit_on_the_way_to_the_root_counts)
{
    static const struct {
        const char *group;
        uint64_t limit;
    } rows[] = {
        { "/free", UINT64_MAX },    { "/slice", 4096000 },     { "/slice/unit", 1048576 },
        { "/slice/wide", 4096000 }, { "/slice/odd", 4096000 }, { "/slice/unit/missing", 1048576 },
        { "/no/such", UINT64_MAX }, { "", UINT64_MAX },
    };
    ck_assert_ptr_nonnull(mkdtemp(root));
    write_limit("/free", "max\n");
    write_limit("/slice", "4096000\n");
    write_limit("/slice/unit", "1048576\n");
    write_limit("/slice/wide", "8000000000\n");
    write_limit("/slice/odd", "\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(host_group_limit(root, rows[i].group) == rows[i].limit, "%s: %llu", rows[i].group,
                      (unsigned long long)host_group_limit(root, rows[i].group));
    write_limit("", "65536\n"); /* a container sees its own group as the root */
    ck_assert_uint_eq(host_group_limit(root, ""), 65536);
    ck_assert_uint_eq(host_group_limit(root, "/slice/unit"), 65536);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(a_bound_process_counts_its_own_processors)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    ck_assert_uint_eq(host_processors(), (uint64_t)CPU_COUNT(&all));
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_uint_eq(host_processors(), 1);
}
END_TEST

START_TEST(memory_is_at_most_that_of_the_machine)
{
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    ck_assert_uint_gt(host_memory_bytes(), 0);
    ck_assert_uint_le(host_memory_bytes(), machine);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        the_least_limit_on_the_way_to_the_root_counts,
        a_bound_process_counts_its_own_processors,
        memory_is_at_most_that_of_the_machine,
    };
    return UNIT_RUN("host", tests);
}
