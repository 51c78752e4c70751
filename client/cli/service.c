/* Commands about the daemon. None of them starts one, and only stop ends one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "client/cli/cli.h"
#include "proto/limits.h"
#include "proto/socket_path.h"

static enum cli_exit write_text(const struct bir_buf *text)
{
    return text->status == BIR_OK ? cli_write(STDOUT_FILENO, "standard output", text->data, text->len)
                                  : cli_fail(CLI_INTERNAL, "out of memory");
}

static enum cli_exit exit_of(roost *client, enum roost_status status)
{
    switch (status) {
    case ROOST_OK: return CLI_DONE;
    case ROOST_USAGE: return cli_fail(CLI_USAGE, "%s", roost_error(client));
    case ROOST_TIMEOUT:
    case ROOST_DEADLINE: return cli_fail(CLI_TIME, "%s", roost_error(client));
    case ROOST_NOMEM:
    case ROOST_INTERNAL: return cli_fail(CLI_INTERNAL, "%s", roost_error(client));
    default: return cli_fail(CLI_UNREACHABLE, "%s", roost_error(client));
    }
}

/* Runs with a client, or refuses when the command line forbids one. */
static enum cli_exit with_client(struct cli *cli, enum cli_exit (*run)(struct cli *cli, roost *client))
{
    if (cli->daemon == CLI_DAEMON_NEVER)
        return cli_fail(CLI_USAGE, "%s is about the daemon, and --daemon=never forbids one", cli->command->name);
    roost *client = cli_client(cli, false);
    if (!client)
        return cli_fail(CLI_INTERNAL, "out of memory");
    enum cli_exit status = run(cli, client);
    roost_free(client);
    return status;
}

/* One line a number: the names of the objects around it, joined by dots. */
static void put_flat(struct bir_buf *out, const char *prefix, json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        char path[256];
        snprintf(path, sizeof path, "%s%s%s", prefix, prefix[0] ? "." : "", name);
        if (json_is_object(value))
            put_flat(out, path, value);
        else if (json_is_integer(value))
            bir_buf_printf(out, "%-32s %lld\n", path, (long long)json_integer_value(value));
        else if (json_is_string(value))
            bir_buf_printf(out, "%-32s %s\n", path, json_string_value(value));
    }
}

/* What goes up and down, by the last member of the path; everything else only goes up, and its name ends with _total.
 */
static bool is_gauge(const char *member)
{
    static const char *const gauges[] = {
        "open",       "active",     "entries",        "bytes",     "budget_bytes",
        "used_bytes", "held_bytes", "resident_bytes", "uptime_ms", "compile_us_longest"
    };
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++)
        if (strcmp(gauges[i], member) == 0)
            return true;
    return false;
}

/* One sample a number, in the text format of Prometheus: the names of the objects around it, joined by underscores. */
static void put_samples(struct bir_buf *out, const char *prefix, json_t *object)
{
    static const char total[] = "_total";
    const char *member;
    json_t *value;
    json_object_foreach(object, member, value)
    {
        char name[256];
        bool gauge = is_gauge(member);
        snprintf(name, sizeof name, "%s_%s", prefix, member);
        size_t len = strlen(name);
        bool has_total = len >= sizeof total && strcmp(name + len - (sizeof total - 1), total) == 0;
        if (json_is_object(value))
            put_samples(out, name, value);
        else if (json_is_integer(value))
            bir_buf_printf(out, "# TYPE %s%s %s\n%s%s %lld\n", name, gauge || has_total ? "" : total,
                           gauge ? "gauge" : "counter", name, gauge || has_total ? "" : total,
                           (long long)json_integer_value(value));
    }
}

static enum cli_exit print_object(const struct cli *cli, const char *json)
{
    struct bir_buf text;
    bir_buf_init(&text, 0);
    json_t *object = json_loads(json, 0, NULL);
    if (cli->prometheus)
        put_samples(&text, "roost", object);
    else if (cli->format == CLI_FORMAT_JSON)
        bir_buf_printf(&text, "%s\n", json);
    else
        put_flat(&text, "", object);
    json_decref(object);
    enum cli_exit status = write_text(&text);
    bir_buf_deinit(&text);
    return status;
}

static enum cli_exit stats(struct cli *cli, roost *client)
{
    char *json = NULL;
    enum cli_exit status = exit_of(client, roost_stats(client, &json));
    if (status == CLI_DONE)
        status = print_object(cli, json);
    free(json);
    return status;
}

enum cli_exit cli_run_stats(struct cli *cli)
{
    return with_client(cli, stats);
}

static enum cli_exit ping(struct cli *cli, roost *client)
{
    struct timespec before;
    struct timespec after;
    enum cli_exit status = exit_of(client, roost_connect(client));
    clock_gettime(CLOCK_MONOTONIC, &before);
    if (status == CLI_DONE)
        status = exit_of(client, roost_ping(client));
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (status != CLI_DONE)
        return status;
    long long us = (after.tv_sec - before.tv_sec) * 1000000LL + (after.tv_nsec - before.tv_nsec) / 1000;
    struct bir_buf text;
    bir_buf_init(&text, 0);
    if (cli->format == CLI_FORMAT_JSON)
        bir_buf_printf(&text, "{\"round_trip_us\":%lld}\n", us);
    else
        bir_buf_printf(&text, "the daemon at %s answers in %lld us\n", roost_socket_path(client), us);
    status = write_text(&text);
    bir_buf_deinit(&text);
    return status;
}

enum cli_exit cli_run_ping(struct cli *cli)
{
    return with_client(cli, ping);
}

/* The members of the daemon's hello that say what it is. */
static void put_daemon(struct bir_buf *out, bool json, const char *hello)
{
    json_t *object = json_loads(hello, 0, NULL);
    const char *version = json_string_value(json_object_get(object, "version"));
    const char *build = json_string_value(json_object_get(object, "build_id"));
    const json_t *protocol = json_object_get(object, "protocol");
    bir_buf_printf(out,
                   json ? ",\"daemon\":{\"version\":\"%s\",\"build_id\":\"%s\",\"protocol\":\"%lld.%lld\"}"
                        : "roostd %s, build %s, protocol %lld.%lld\n",
                   version ? version : "unknown", build ? build : "unknown",
                   (long long)json_integer_value(json_object_get(protocol, "major")),
                   (long long)json_integer_value(json_object_get(protocol, "minor")));
    json_decref(object);
}

enum cli_exit cli_run_version(struct cli *cli)
{
    bool json = cli->format == CLI_FORMAT_JSON;
    struct bir_buf text;
    bir_buf_init(&text, 0);
    bir_buf_printf(&text,
                   json ? "{\"version\":\"%s\",\"build_id\":\"%s\",\"protocol\":\"%d.%d\""
                        : "roost %s, build %s, protocol %d.%d\n",
                   bir_version(), bir_build_id(), PROTO_VERSION_MAJOR, PROTO_VERSION_MINOR);
    enum cli_exit status = CLI_DONE;
    if (cli->daemon != CLI_DAEMON_NEVER) {
        roost *client = cli_client(cli, false);
        const char *hello;
        enum roost_status reached = client ? roost_hello(client, &hello) : ROOST_NOMEM;
        if (reached == ROOST_OK)
            put_daemon(&text, json, hello);
        else if (client && cli->daemon != CLI_DAEMON_AUTO)
            status = exit_of(client, reached);
        else if (client)
            cli_verbose(cli, "%s", roost_error(client));
        roost_free(client);
    }
    if (json)
        bir_buf_puts(&text, "}\n");
    enum cli_exit written = write_text(&text);
    bir_buf_deinit(&text);
    return status == CLI_DONE ? written : status;
}

enum cli_exit cli_run_sock(struct cli *cli)
{
    struct proto_socket_places places;
    struct proto_socket_path path;
    char error[512];
    proto_socket_places_init(&places, cli->socket);
    if (!proto_socket_path_resolve(&places, &path, error, sizeof error))
        return cli_fail(CLI_USAGE, "%s", error);
    cli_verbose(cli, "from %s", proto_socket_origin_name(path.origin));
    struct bir_buf text;
    bir_buf_init(&text, 0);
    bir_buf_printf(&text, "%s\n", path.address.sun_path);
    enum cli_exit status = write_text(&text);
    bir_buf_deinit(&text);
    return status;
}

static enum cli_exit stop(struct cli *cli, roost *client)
{
    enum roost_status status = roost_shutdown(client);
    if (status != ROOST_UNREACHABLE || cli->daemon == CLI_DAEMON_REQUIRE)
        return exit_of(client, status);
    cli_verbose(cli, "no daemon was running");
    return CLI_DONE;
}

enum cli_exit cli_run_stop(struct cli *cli)
{
    return with_client(cli, stop);
}
