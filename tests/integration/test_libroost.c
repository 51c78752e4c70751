/*
 * libroost against a running daemon, which it starts itself: the program is named by ROOSTD. The module is the sample
 * that ROOST_MODULE names.
 */
#define _GNU_SOURCE
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "client/roost.h"

static char directory[64];
static char path[96];
static char *module;
static size_t module_len;

static void read_module(void)
{
    FILE *file = fopen(getenv("ROOST_MODULE"), "rb");
    ck_assert_ptr_nonnull(file);
    module = malloc(1 << 20);
    ck_assert_ptr_nonnull(module);
    module_len = fread(module, 1, 1 << 20, file);
    ck_assert_uint_gt(module_len, 100);
    fclose(file);
}

static roost *client_of(const char *socket, int start, unsigned timeout_ms)
{
    struct roost_options options = { .size = sizeof options,
                                     .socket = socket,
                                     .start = start,
                                     .daemon = getenv("ROOSTD"),
                                     .timeout_ms = timeout_ms,
                                     .idle_timeout_s = 60 };
    roost *client = roost_new(&options);
    ck_assert_ptr_nonnull(client);
    return client;
}

static void setup(void)
{
    strcpy(directory, "/tmp/roost-lib-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/sock", directory);
    read_module();
}

static void teardown(void)
{
    char command[128];
    roost *client = client_of(path, 0, 20000);
    enum roost_status status = roost_shutdown(client);
    ck_assert_msg(status == ROOST_OK || status == ROOST_UNREACHABLE, "%s", roost_error(client));
    roost_free(client);
    free(module);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    ck_assert_int_eq(system(command), 0);
}

static struct roost_request request_of(const char *method)
{
    return (struct roost_request){
        .size = sizeof(struct roost_request), .method = method, .module = module, .module_len = module_len
    };
}

static long long counter(roost *client, const char *group, const char *name)
{
    char *text;
    ck_assert_int_eq(roost_stats(client, &text), ROOST_OK);
    json_t *stats = json_loads(text, 0, NULL);
    long long value = json_integer_value(json_object_get(json_object_get(stats, group), name));
    json_decref(stats);
    free(text);
    return value;
}

static int daemon_pid(roost *client)
{
    const char *text;
    ck_assert_msg(roost_hello(client, &text) == ROOST_OK, "%s", roost_error(client));
    json_t *hello = json_loads(text, 0, NULL);
    int pid = (int)json_integer_value(json_object_get(hello, "pid"));
    json_decref(hello);
    ck_assert_int_gt(pid, 1);
    return pid;
}

START_TEST(compiles)
{
    roost *client = client_of(path, 1, 30000);
    struct roost_request request = request_of("convert");
    struct roost_reply first;
    struct roost_reply again;
    ck_assert_msg(roost_compile(client, &request, &first) == ROOST_OK, "%s", roost_error(client));
    ck_assert_str_eq(roost_error(client), "");
    ck_assert_str_eq(first.cache, "miss");
    ck_assert_uint_eq(strlen(first.digest), 64);
    ck_assert_uint_gt(first.output_len, 0);
    ck_assert_str_eq(first.diagnostics, "[]");
    request.digest = first.digest;
    request.module = NULL;
    request.module_len = 0;
    ck_assert_int_eq(roost_compile(client, &request, &again), ROOST_OK);
    ck_assert_str_eq(again.cache, "l1");
    ck_assert_uint_eq(again.output_len, first.output_len);
    ck_assert_mem_eq(again.output, first.output, first.output_len);
    roost_reply_clear(&first);
    roost_reply_clear(&first);
    roost_reply_clear(&again);
    request = request_of("check");
    ck_assert_int_eq(roost_compile(client, &request, &first), ROOST_OK);
    ck_assert_int_eq(first.valid, 1);
    ck_assert_ptr_null(first.output);
    roost_reply_clear(&first);
    roost_free(client);
}
END_TEST

/* loop_sb is symbolic: its accesses cannot be placed. */
START_TEST(verdict)
{
    roost *client = client_of(path, 1, 30000);
    struct roost_request request = request_of("hazards");
    struct roost_reply reply;
    for (int i = 0; i < 2; i++) {
        ck_assert_msg(roost_compile(client, &request, &reply) == ROOST_OK, "%s", roost_error(client));
        ck_assert_str_eq(reply.cache, i ? "l1" : "miss");
        ck_assert_str_eq(reply.verdict, "undecided");
        roost_reply_clear(&reply);
    }
    request = request_of("check");
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_OK);
    ck_assert_str_eq(reply.verdict, "");
    roost_reply_clear(&reply);
    roost_free(client);
}
END_TEST

/* With both, the bytes travel only when they are needed. */
START_TEST(digest_first)
{
    static const char unknown[] = "0000000000000000000000000000000000000000000000000000000000000000";
    roost *client = client_of(path, 1, 30000);
    struct roost_request request = request_of("convert");
    struct roost_reply reply;
    request.digest = unknown;
    ck_assert_msg(roost_compile(client, &request, &reply) == ROOST_OK, "%s", roost_error(client));
    ck_assert_str_eq(reply.cache, "miss");
    char digest[65];
    strcpy(digest, reply.digest);
    roost_reply_clear(&reply);
    long long received = counter(client, "bytes", "received");
    request.digest = digest;
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_OK);
    roost_reply_clear(&reply);
    ck_assert_int_lt(counter(client, "bytes", "received") - received, (long long)module_len);
    request.module = NULL;
    request.digest = unknown;
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_NOT_FOUND);
    ck_assert_ptr_nonnull(reply.error);
    ck_assert_str_eq(reply.error, roost_error(client));
    roost_reply_clear(&reply);
    roost_free(client);
}
END_TEST

START_TEST(failures_are_told)
{
    roost *client = client_of(path, 1, 30000);
    struct roost_reply reply;
    struct roost_request request = request_of("lower");
    request.module = "nonsense";
    request.module_len = 8;
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_BAD_MODULE);
    ck_assert_ptr_nonnull(strstr(reply.diagnostics, "\"error\""));
    ck_assert_uint_gt(strlen(roost_error(client)), 0);
    roost_reply_clear(&reply);
    request = request_of("no-such-method");
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_REFUSED);
    ck_assert_ptr_nonnull(strstr(reply.error, "no-such-method"));
    roost_reply_clear(&reply);
    request = request_of("lower");
    request.options = "{\"nonsense\":true}";
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_REFUSED);
    roost_reply_clear(&reply);
    request.options = "{\"indent\":";
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_USAGE);
    roost_reply_clear(&reply);
    request = request_of(NULL);
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_USAGE);
    roost_reply_clear(&reply);
    request = request_of("lower");
    request.size = 3;
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_USAGE);
    roost_reply_clear(&reply);
    ck_assert_int_eq(roost_ping(client), ROOST_OK);
    roost_free(client);
    struct roost_options options = { .size = 1 };
    ck_assert_ptr_null(roost_new(&options));
    roost_free(NULL);
}
END_TEST

START_TEST(nobody_there)
{
    roost *client = client_of(path, 0, 5000);
    ck_assert_int_eq(roost_ping(client), ROOST_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(roost_error(client), path));
    ck_assert_int_eq(roost_shutdown(client), ROOST_UNREACHABLE);
    ck_assert_int_eq(roost_fd(client), -1);
    ck_assert_int_eq(roost_next_timeout(client), -1);
    roost_free(client);
    char longer[200];
    memset(longer, 'x', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    client = client_of(longer, 1, 5000);
    ck_assert_int_eq(roost_connect(client), ROOST_USAGE);
    ck_assert_ptr_nonnull(strstr(roost_error(client), "199 bytes"));
    ck_assert_ptr_null(roost_socket_path(client));
    roost_free(client);
    struct roost_options options = {
        .size = sizeof options, .socket = path, .start = 1, .daemon = "/no/such/program", .timeout_ms = 5000
    };
    client = roost_new(&options);
    ck_assert_int_eq(roost_connect(client), ROOST_UNREACHABLE);
    ck_assert_ptr_nonnull(strstr(roost_error(client), "not found"));
    roost_free(client);
}
END_TEST

/* Any number of processes start at once; one daemon comes of it. */
START_TEST(one_daemon_of_many_starters)
{
    enum { STARTERS = 16 };
    int pipes[2];
    ck_assert_int_eq(pipe(pipes), 0);
    pid_t children[STARTERS];
    for (int i = 0; i < STARTERS; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0) {
            roost *client = client_of(path, 1, 30000);
            int pid = daemon_pid(client);
            ssize_t n = write(pipes[1], &pid, sizeof pid);
            roost_free(client);
            free(module);
            _exit(n == (ssize_t)sizeof pid ? 0 : 1);
        }
    }
    int first = 0;
    for (int i = 0; i < STARTERS; i++) {
        int status;
        int pid;
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
        ck_assert_int_eq(read(pipes[0], &pid, sizeof pid), sizeof pid);
        ck_assert(first == 0 || pid == first);
        first = pid;
    }
    close(pipes[0]);
    close(pipes[1]);
}
END_TEST

/* The daemon goes, the next call finds another; an open request is repeated. */
START_TEST(reconnects)
{
    roost *client = client_of(path, 1, 30000);
    struct roost_request request = request_of("convert");
    struct roost_reply reply;
    for (int round = 0; round < 3; round++) {
        int pid = daemon_pid(client);
        ck_assert_msg(roost_compile(client, &request, &reply) == ROOST_OK, "%s", roost_error(client));
        ck_assert_str_eq(reply.cache, "miss");
        roost_reply_clear(&reply);
        ck_assert_int_eq(kill(pid, round == 1 ? SIGTERM : SIGKILL), 0);
        while (kill(pid, 0) == 0)
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    ck_assert_int_eq(roost_ping(client), ROOST_OK);
    roost_free(client);
}
END_TEST

struct tally {
    int done;
    int ok;
    int cancelled;
    int other;
};

static void count(void *user, enum roost_status status, struct roost_reply *reply)
{
    struct tally *tally = user;
    tally->done++;
    tally->ok += status == ROOST_OK;
    tally->cancelled += status == ROOST_CANCELLED;
    tally->other += status != ROOST_OK && status != ROOST_CANCELLED;
    if (status == ROOST_OK)
        ck_assert_uint_gt(reply->output_len, 0);
    else
        ck_assert_ptr_nonnull(reply->error);
    roost_reply_clear(reply);
}

static void dispatch_all(roost *client, const struct tally *tally, int wanted)
{
    while (tally->done < wanted) {
        struct pollfd poller = { .fd = roost_fd(client), .events = POLLIN };
        if (roost_wants_write(client))
            poller.events |= POLLOUT;
        ck_assert_int_ne(roost_next_timeout(client), -1);
        ck_assert_int_ge(poll(&poller, 1, roost_next_timeout(client)), 0);
        roost_dispatch(client, 0);
    }
}

/* Many at a time, in a loop of the caller's, with more bytes than the socket takes at once. */
START_TEST(asynchronous)
{
    enum { REQUESTS = 200 };
    roost *client = client_of(path, 1, 60000);
    struct tally tally = { 0 };
    struct roost_request request = request_of("convert");
    char *padded = malloc(module_len + REQUESTS);
    ck_assert_ptr_nonnull(padded);
    memcpy(padded, module, module_len);
    memset(padded + module_len, ' ', REQUESTS);
    request.module = padded;
    for (int i = 0; i < REQUESTS; i++) {
        request.module_len = module_len + (size_t)i;
        ck_assert_msg(roost_submit(client, &request, count, &tally, NULL) == ROOST_OK, "%s", roost_error(client));
    }
    ck_assert_int_ge((int)roost_open_requests(client), REQUESTS - tally.done);
    dispatch_all(client, &tally, REQUESTS);
    ck_assert_int_eq(tally.ok, REQUESTS);
    ck_assert_uint_eq(roost_open_requests(client), 0);
    ck_assert_int_eq(roost_dispatch(client, 0), ROOST_OK);
    free(padded);
    roost_free(client);
}
END_TEST

/* A daemon that holds every compile: cancel, time out, and close with open requests. */
static pid_t start_holding_daemon(void)
{
    char option[128];
    int ready[2];
    char byte;
    snprintf(option, sizeof option, "--socket=%s", path);
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ready[1], 9);
        execl(getenv("ROOSTD"), "roostd", option, "--debug-hold-ms=30000", "--ready-fd=9", "--log-level=error", NULL);
        _exit(127);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

START_TEST(cancel_and_timeout)
{
    pid_t pid = start_holding_daemon();
    roost *client = client_of(path, 0, 20000);
    roost *witness = client_of(path, 0, 20000);
    struct tally tally = { 0 };
    struct roost_request request = request_of("convert");
    long long id;
    ck_assert_int_eq(roost_submit(client, &request, count, &tally, &id), ROOST_OK);
    while (counter(witness, "requests", "open") == 0)
        roost_dispatch(client, 10);
    ck_assert_int_eq(roost_cancel(client, id), ROOST_OK);
    ck_assert_int_eq(roost_cancel(client, id), ROOST_OK);
    dispatch_all(client, &tally, 1);
    ck_assert_int_eq(tally.cancelled, 1);
    ck_assert_int_eq(roost_cancel(client, id), ROOST_NOT_FOUND);

    struct roost_reply reply;
    request.timeout_ms = 200;
    ck_assert_int_eq(roost_compile(client, &request, &reply), ROOST_DEADLINE);
    ck_assert_ptr_nonnull(strstr(reply.error, "200"));
    roost_reply_clear(&reply);

    request.timeout_ms = 0;
    ck_assert_int_eq(roost_submit(client, &request, count, &tally, NULL), ROOST_OK);
    while (counter(witness, "requests", "open") == 0)
        roost_dispatch(client, 10);
    roost_free(client);
    while (counter(witness, "requests", "open") > 0)
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    ck_assert_int_eq(tally.done, 1);
    ck_assert_int_eq(roost_shutdown(witness), ROOST_OK);
    roost_free(witness);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

/* Something that listens and never answers, answers nonsense, or refuses. */
static void serve(int listening, const char *answer, size_t len)
{
    int fd = accept(listening, NULL, NULL);
    char buffer[4096];
    if (recv(fd, buffer, sizeof buffer, 0) < 0)
        _exit(1);
    if (answer && send(fd, answer, len, MSG_NOSIGNAL) < 0)
        _exit(1);
    if (!answer)
        sleep(30);
    close(fd);
}

static const struct {
    const char *answer;
    size_t len;
    enum roost_status status;
    const char *text;
} impostors[] = {
    { NULL, 0, ROOST_TIMEOUT, "does not answer" },
    { "HTTP/1.1 400 Bad Request\r\n", 26, ROOST_PROTOCOL, "does not speak" },
    { "\0\0\0\2\0\0\0\0{}", 10, ROOST_PROTOCOL, "does not speak" },
    { "\0\0\0\2\0\0\0\0[]", 10, ROOST_PROTOCOL, "does not speak" },
    { "", 0, ROOST_UNREACHABLE, "closed" },
    { "\0\0\0\x5a\0\0\0\0{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32001,\"message\":\"full\",\"data\":{"
      "\"name\":\"\"}}}   ",
      98, ROOST_BUSY, "full" },
};

START_TEST(impostor)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, path);
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listening, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listening, 5), 0);
    pid_t pid = fork();
    if (pid == 0) {
        for (;;)
            serve(listening, impostors[_i].answer, impostors[_i].len);
    }
    close(listening);
    roost *client = client_of(path, 1, 700);
    enum roost_status status = roost_ping(client);
    ck_assert_msg(status == impostors[_i].status, "%d: %s", (int)status, roost_error(client));
    ck_assert_msg(strstr(roost_error(client), impostors[_i].text) != NULL, "%s", roost_error(client));
    roost_free(client);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    unlink(path);
}
END_TEST

START_TEST(statuses_have_words)
{
    for (int status = ROOST_OK; status <= ROOST_INTERNAL; status++)
        ck_assert_str_ne(roost_strerror((enum roost_status)status), "unknown status");
    ck_assert_str_eq(roost_strerror((enum roost_status)99), "unknown status");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("libroost");
    TCase *tcase = tcase_create("libroost");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, compiles);
    tcase_add_test(tcase, verdict);
    tcase_add_test(tcase, digest_first);
    tcase_add_test(tcase, failures_are_told);
    tcase_add_test(tcase, nobody_there);
    tcase_add_test(tcase, one_daemon_of_many_starters);
    tcase_add_test(tcase, reconnects);
    tcase_add_test(tcase, asynchronous);
    tcase_add_test(tcase, cancel_and_timeout);
    tcase_add_loop_test(tcase, impostor, 0, sizeof impostors / sizeof impostors[0]);
    tcase_add_test(tcase, statuses_have_words);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
