/* The order of the places, the limit of an address, and the directory in /tmp, all inside a directory of the test. */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/socket_path.h"

static char root[64];
static char system_path[96];
static char error[512];

static void setup(void)
{
    strcpy(root, "/tmp/roost-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(system_path, sizeof system_path, "%s/system", root);
    error[0] = '\0';
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    ck_assert_int_eq(system(command), 0);
}

static struct proto_socket_places places(void)
{
    return (struct proto_socket_places){ .run_user = root, .system_path = system_path, .tmp = root, .uid = geteuid() };
}

static void expect(const struct proto_socket_places *p, enum proto_socket_origin origin, const char *path)
{
    struct proto_socket_path out;
    ck_assert_msg(proto_socket_path_resolve(p, &out, error, sizeof error), "%s", error);
    ck_assert_str_eq(out.address.sun_path, path);
    ck_assert_int_eq(out.origin, origin);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 4), 0);
    return fd;
}

START_TEST(order)
{
    char path[200];
    struct proto_socket_places p = places();
    snprintf(path, sizeof path, "%s/roost-%u/sock", root, (unsigned)geteuid());
    expect(&p, PROTO_SOCKET_TMP, path);

    int fd = listen_at(system_path);
    expect(&p, PROTO_SOCKET_SYSTEM, system_path);
    close(fd); /* the file stays, nobody answers */
    expect(&p, PROTO_SOCKET_TMP, path);

    snprintf(path, sizeof path, "%s/%u", root, (unsigned)geteuid());
    ck_assert_int_eq(mkdir(path, 0700), 0);
    strcat(path, "/roost/sock");
    expect(&p, PROTO_SOCKET_RUN_USER, path);

    p.runtime_dir = "relative"; /* not a directory of the base directory specification: ignored */
    expect(&p, PROTO_SOCKET_RUN_USER, path);
    p.runtime_dir = "/somewhere";
    expect(&p, PROTO_SOCKET_RUNTIME_DIR, "/somewhere/roost/sock");
    p.environment = "";
    expect(&p, PROTO_SOCKET_RUNTIME_DIR, "/somewhere/roost/sock");
    p.environment = "/env/sock";
    expect(&p, PROTO_SOCKET_ENVIRONMENT, "/env/sock");
    p.explicit_path = "here";
    expect(&p, PROTO_SOCKET_EXPLICIT, "here");
}
END_TEST

START_TEST(too_long)
{
    char path[300];
    struct proto_socket_places p = places();
    struct proto_socket_path out;
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[107] = '\0';
    p.explicit_path = path;
    expect(&p, PROTO_SOCKET_EXPLICIT, path);
    path[107] = 'a';
    path[108] = '\0';
    ck_assert(!proto_socket_path_resolve(&p, &out, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "108 bytes"));
    ck_assert_ptr_nonnull(strstr(error, "is 107"));
    path[108] = 'a';
    path[298] = '\0';
    p.explicit_path = NULL;
    p.runtime_dir = path;
    ck_assert(!proto_socket_path_resolve(&p, &out, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "XDG_RUNTIME_DIR"));
    p.runtime_dir = NULL;
    p.explicit_path = "";
    ck_assert(!proto_socket_path_resolve(&p, &out, error, sizeof error));
}
END_TEST

START_TEST(unsafe_tmp)
{
    char dir[128];
    struct proto_socket_places p = places();
    struct proto_socket_path out;
    snprintf(dir, sizeof dir, "%s/roost-%u", root, (unsigned)geteuid());
    ck_assert(proto_socket_path_resolve(&p, &out, error, sizeof error));
    ck_assert_msg(proto_socket_path_prepare(&p, &out, error, sizeof error), "%s", error);
    struct stat st;
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert(proto_socket_path_prepare(&p, &out, error, sizeof error));

    ck_assert_int_eq(chmod(dir, 0770), 0);
    ck_assert(!proto_socket_path_resolve(&p, &out, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "0770"));
    ck_assert(!proto_socket_path_prepare(&p, &out, error, sizeof error));
    ck_assert_int_eq(rmdir(dir), 0);

    ck_assert_int_eq(symlink(root, dir), 0);
    ck_assert(!proto_socket_path_resolve(&p, &out, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "not a directory"));
    ck_assert_int_eq(unlink(dir), 0);

    ck_assert_int_eq(mkdir(dir, 0700), 0);
    snprintf(dir, sizeof dir, "%s/roost-%u", root, (unsigned)geteuid() + 1);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    p.uid = geteuid() + 1;
    ck_assert(!proto_socket_path_resolve(&p, &out, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "belongs to user"));
}
END_TEST

START_TEST(real_places)
{
    ck_assert_int_eq(setenv("ROOST_SOCKET", "/a/b", 1), 0);
    struct proto_socket_places p;
    proto_socket_places_init(&p, NULL);
    expect(&p, PROTO_SOCKET_ENVIRONMENT, "/a/b");
    ck_assert_str_eq(proto_socket_origin_name(PROTO_SOCKET_ENVIRONMENT), "ROOST_SOCKET");
    ck_assert_str_eq(p.tmp, "/tmp");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("socket_path");
    TCase *tcase = tcase_create("socket_path");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, order);
    tcase_add_test(tcase, too_long);
    tcase_add_test(tcase, unsafe_tmp);
    tcase_add_test(tcase, real_places);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
