/*
 * One row an option. Limits of the protocol come from PROTO_LIMITS, limits of the compiler from COMPILE_LIMITS; both
 * are rows like the others and, being limits, members of the reply to hello.
 */
#include "daemon/options.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/host.h"
#include "proto/failure.h"

enum kind { KIND_TEXT, KIND_CHOICE, KIND_NUMBER, KIND_FLAG };

enum section { SECTION_SERVICE, SECTION_LIMIT, SECTION_TESTING };

struct row {
    const char *name; /* with underscores; the command line writes dashes */
    enum kind kind;
    enum section section;
    size_t offset;
    size_t size; /* of the number */
    uint64_t smallest;
    uint64_t largest;
    const char *argument; /* of --help; the choices of a choice */
    const char *help;
};

#define AT(field)  offsetof(struct roostd_options, field), sizeof(((struct roostd_options *)0)->field)
#define MEMORY_MAX (UINT64_MAX >> 1)

/* X(name, smallest, largest, what it bounds): fields of bir_compile_limits */
#define COMPILE_LIMITS(X)                                                                                              \
    X(input_bytes, 1, UINT32_MAX, "module accepted by the compiler")                                                   \
    X(output_bytes, 1, UINT32_MAX, "result of one compile")                                                            \
    X(arena_bytes, 65536, MEMORY_MAX, "memory of one compile, for the module and again for its scratch data")          \
    X(json_depth, 8, 4096, "nesting of BIR-JSON")                                                                      \
    X(klr_depth, 8, 4096, "nesting of .klr")                                                                           \
    X(instructions, 1, MEMORY_MAX, "instructions of one module")                                                       \
    X(diagnostics, 1, 1000000, "diagnostics of one answer")

static const struct row rows[] = {
    { "socket", KIND_TEXT, SECTION_SERVICE, AT(socket), 0, 0, "PATH", "listen here instead of the default place" },
    { "peers", KIND_CHOICE, SECTION_SERVICE, AT(peers), 0, 0, "user|any",
      "who may connect: the daemon's user and root, or whoever the mode of the socket lets in" },
    { "threads", KIND_NUMBER, SECTION_SERVICE, AT(threads), 1, 1024, "N", "worker threads" },
    { "cache_bytes", KIND_NUMBER, SECTION_SERVICE, AT(cache_bytes), 0, MEMORY_MAX, "BYTES",
      "memory for sources and answers (L1)" },
    { "idle_timeout", KIND_NUMBER, SECTION_SERVICE, AT(idle_timeout_s), 0, 31536000, "SECONDS",
      "exit after this long without a connection and without work; 0 is never" },
    { "drain_timeout_ms", KIND_NUMBER, SECTION_SERVICE, AT(drain_timeout_ms), 0, 86400000, "MS",
      "how long running work may go on once the daemon is asked to stop" },
    { "log_level", KIND_CHOICE, SECTION_SERVICE, AT(log_level), 0, 0, "error|warning|info|debug",
      "lines below it are left out" },
    { "ready_fd", KIND_NUMBER, SECTION_SERVICE, AT(ready_fd), 3, 1048576, "FD",
      "write \"ready\" or \"error: ...\" there once it is decided, and close it" },
    { "help", KIND_FLAG, SECTION_SERVICE, AT(help), 0, 0, NULL, "print this text" },
    { "version", KIND_FLAG, SECTION_SERVICE, AT(version), 0, 0, NULL, "print version, build id and features" },
#define LIMIT_ROW(name, value, smallest, largest, help)                                                                \
    { #name, KIND_NUMBER, SECTION_LIMIT, AT(limits.name), smallest, largest, "N", help },
    PROTO_LIMITS(LIMIT_ROW)
#undef LIMIT_ROW
#define LIMIT_ROW(name, smallest, largest, help)                                                                       \
    { "module_" #name, KIND_NUMBER, SECTION_LIMIT, AT(compile.name), smallest, largest, "N", help },
        COMPILE_LIMITS(LIMIT_ROW)
#undef LIMIT_ROW
            { "debug_hold_ms", KIND_NUMBER, SECTION_TESTING, AT(debug_hold_ms), 0, 3600000, "MS",
              "wait this long on the worker before each compile, so that a test can catch requests under way" },
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

/* choice: a quarter of the machine's memory, and not more than 2 GiB */
#define CACHE_SHARE      4
#define CACHE_MOST_BYTES PROTO_MIB(2048)

void roostd_options_init(struct roostd_options *options)
{
    *options = (struct roostd_options){ .peers = "user", .log_level = "info", .drain_timeout_ms = 10000 };
    proto_limits_init(&options->limits);
    bir_compile_limits_init(&options->compile);
    uint64_t share = host_memory_bytes() / CACHE_SHARE, processors = host_processors();
    options->cache_bytes = share > CACHE_MOST_BYTES ? CACHE_MOST_BYTES : share;
    options->threads = processors > 1024 ? 1024 : processors;
}

static uint64_t read_number(const struct roostd_options *options, const struct row *row)
{
    const char *field = (const char *)options + row->offset;
    uint32_t narrow;
    uint64_t wide;
    if (row->size == sizeof narrow) {
        memcpy(&narrow, field, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, field, sizeof wide);
    return wide;
}

static void write_number(struct roostd_options *options, const struct row *row, uint64_t value)
{
    char *field = (char *)options + row->offset;
    uint32_t narrow = (uint32_t)value;
    if (row->size == sizeof narrow)
        memcpy(field, &narrow, sizeof narrow);
    else
        memcpy(field, &value, sizeof value);
}

/* Digits with an optional K, M or G. */
static bool parse_number(const char *text, uint64_t *value)
{
    static const char suffixes[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || end == text || !isdigit((unsigned char)text[0]))
        return false;
    const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    if (*end && (!suffix || end[1]))
        return false;
    unsigned shift = suffix ? 10u * (unsigned)(suffix - suffixes + 1) : 0;
    *value = (uint64_t)number << shift;
    return *value >> shift == number;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t len = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (len > 0 && strncmp(at, text, len) == 0 && (at[len] == '|' || at[len] == '\0'))
            return true;
    return false;
}

/* The longest name of a row, and its NUL. */
#define NAME_BYTES 48

/* The name as it is written on the command line. */
static const char *spelled(const struct row *row, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s", row->name);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = '-';
    return name;
}

static bool set(struct roostd_options *options, const struct row *row, const char *value, char *error,
                size_t error_size)
{
    char name[NAME_BYTES];
    uint64_t number;
    char *field = (char *)options + row->offset;
    switch (row->kind) {
    case KIND_FLAG: memcpy(field, &(bool){ true }, sizeof(bool)); return true;
    case KIND_CHOICE:
        if (!is_choice(row->argument, value))
            return proto_fail(error, error_size, "--%s is \"%s\", which is not one of %s", spelled(row, name), value,
                              row->argument);
        memcpy(field, &value, sizeof value);
        return true;
    case KIND_TEXT: memcpy(field, &value, sizeof value); return true;
    case KIND_NUMBER: break;
    }
    if (!parse_number(value, &number) || number < row->smallest || number > row->largest)
        return proto_fail(error, error_size,
                          "--%s is \"%s\", which is not a number from %llu to %llu (K, M, G may follow)",
                          spelled(row, name), value, (unsigned long long)row->smallest,
                          (unsigned long long)row->largest);
    write_number(options, row, number);
    return true;
}

/* Compares with dashes and underscores alike. */
static const struct row *find(const char *name, size_t len)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        size_t at = 0;
        while (at < len && rows[i].name[at] &&
               (rows[i].name[at] == name[at] || (rows[i].name[at] == '_' && name[at] == '-')))
            at++;
        if (at == len && !rows[i].name[at])
            return &rows[i];
    }
    return NULL;
}

bool roostd_options_parse(struct roostd_options *options, int argc, char **argv, char *error, size_t error_size)
{
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (strncmp(argument, "--", 2) != 0)
            return proto_fail(error, error_size, "unexpected argument \"%s\"; see roostd --help", argument);
        size_t len = strcspn(argument + 2, "=");
        const char *value = argument[2 + len] ? argument + 3 + len : NULL;
        const struct row *row = find(argument + 2, len);
        if (!row)
            return proto_fail(error, error_size, "unknown option \"%s\"; see roostd --help", argument);
        if (row->kind == KIND_FLAG && value)
            return proto_fail(error, error_size, "%.*s takes no value", (int)(len + 2), argument);
        if (row->kind != KIND_FLAG && !value && !(value = argv[++i]))
            return proto_fail(error, error_size, "%s needs a value", argument);
        if (!set(options, row, value, error, error_size))
            return false;
    }
    return true;
}

static void put_flag(const struct row *row, struct bir_buf *out)
{
    char name[NAME_BYTES];
    bir_buf_printf(out, "--%s", spelled(row, name));
}

/* The numbers that depend on the machine are described, not printed. */
static void put_default(const struct roostd_options *options, const struct row *row, struct bir_buf *out)
{
    const char *text;
    const char *field = (const char *)options + row->offset;
    if (row->offset == offsetof(struct roostd_options, threads)) {
        bir_buf_puts(out, " (default: one a processor that the daemon may use)");
    } else if (row->offset == offsetof(struct roostd_options, cache_bytes)) {
        bir_buf_puts(out,
                     " (default: a quarter of the memory that the machine and its control group allow, at most 2G)");
    } else if (row->kind == KIND_NUMBER && row->smallest <= read_number(options, row)) {
        bir_buf_printf(out, " (default: %llu)", (unsigned long long)read_number(options, row));
    } else if (row->kind == KIND_CHOICE) {
        memcpy(&text, field, sizeof text);
        bir_buf_printf(out, " (default: %s)", text);
    }
}

void roostd_options_help(struct bir_buf *out)
{
    static const char *const titles[] = { "Options:", "Limits, told to every client in the reply to hello:",
                                          "For tests:" };
    struct roostd_options defaults;
    roostd_options_init(&defaults);
    bir_buf_puts(out, "usage: roostd [OPTIONS]\n\nAnswers lower, encode, convert and check requests for Trainium "
                      "kernels on a Unix socket.\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (i == 0 || rows[i].section != rows[i - 1].section)
            bir_buf_printf(out, "\n%s\n", titles[rows[i].section]);
        bir_buf_puts(out, "  ");
        put_flag(&rows[i], out);
        if (rows[i].argument)
            bir_buf_printf(out, "=%s", rows[i].argument);
        bir_buf_printf(out, "\n        %s", rows[i].help);
        put_default(&defaults, &rows[i], out);
        bir_buf_putc(out, '\n');
    }
}

void roostd_options_man(struct bir_buf *out)
{
    struct roostd_options defaults;
    roostd_options_init(&defaults);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        bir_buf_puts(out, ".TP\n.B ");
        put_flag(&rows[i], out);
        if (rows[i].argument)
            bir_buf_printf(out, "=\\fI%s\\fR", rows[i].argument);
        bir_buf_printf(out, "\n%s", rows[i].help);
        put_default(&defaults, &rows[i], out);
        bir_buf_puts(out, ".\n");
    }
}

void roostd_options_put_limits(const struct roostd_options *options, struct bir_buf *out)
{
    const char *separator = "";
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].section != SECTION_LIMIT)
            continue;
        bir_buf_printf(out, "%s\"%s\":%llu", separator, rows[i].name,
                       (unsigned long long)read_number(options, &rows[i]));
        separator = ",";
    }
}
