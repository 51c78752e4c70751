/*
 * The options of the command line: rows of our own, followed by the compiler's table. An option may stand before or
 * after the command, so the line is first split into options and words, and the options applied once the command is
 * known.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "proto/message.h"

enum kind { KIND_TEXT, KIND_CHOICE, KIND_SECONDS, KIND_FLAG, KIND_SET };

struct row {
    const char *name;
    char letter;
    enum kind kind;
    size_t offset;        /* in struct cli */
    int value;            /* of KIND_SET: what the field becomes */
    const char *argument; /* the choices of a choice */
    const char *default_text;
    unsigned methods; /* bit set of 1 << enum bir_method; 0: an option of every command */
    bool takes_file;
    const char *help;
};

#define AT(field) offsetof(struct cli, field)
#define M(method) (1u << BIR_METHOD_##method)
#define EVERY     0u
#define COMPILING ((1u << BIR_METHOD_COUNT) - 1)
#define STATS     (1u << BIR_METHOD_COUNT) /* of the command stats */

static const struct row rows[] = {
    { "socket", 0, KIND_TEXT, AT(socket), 0, "PATH", NULL, EVERY, true,
      "socket of the daemon, instead of the default place (see roost sock)" },
    { "daemon", 0, KIND_CHOICE, AT(daemon), 0, "auto|require|never|start", "auto", EVERY, false,
      "auto: use a daemon if one answers, else compile in process; require: fail without one; never: compile in "
      "process; "
      "start: start one when none answers" },
    { "no-daemon", 0, KIND_SET, AT(daemon), CLI_DAEMON_NEVER, NULL, NULL, EVERY, false, "the same as --daemon=never" },
    { "format", 0, KIND_CHOICE, AT(format), 0, "|text|json|bin", NULL, EVERY, false,
      "layout of results and diagnostics (default: text); of the result of encode: json (default), text or bin; "
      "inspect "
      "knows bin, too" },
    { "timeout", 0, KIND_SECONDS, AT(timeout_ms), 0, "SECONDS", NULL, EVERY, false,
      "give up after this long; decimals are allowed (default: 600; of ping, stats and version: 5)" },
    { "color", 0, KIND_CHOICE, AT(color), 0, "auto|always|never", "auto", EVERY, false,
      "colour of diagnostics; auto: on a terminal, unless NO_COLOR is set" },
    { "output", 'o', KIND_TEXT, AT(output), 0, "FILE", NULL, COMPILING, true,
      "write the result there instead of standard output; a file is replaced as a whole or not at all" },
    { "to", 0, KIND_CHOICE, AT(to), 0, "bir-json", "bir-json", M(CONVERT), false, "format that convert writes" },
    { "word", 0, KIND_FLAG, AT(word), 0, NULL, NULL, M(DECODE), false,
      "the bytes are instruction words, as without --slot" },
    { "verbose", 'v', KIND_FLAG, AT(verbose), 0, NULL, NULL, EVERY, false,
      "say on standard error who did the work, and how long it took" },
    { "time-passes", 0, KIND_FLAG, AT(time_passes), 0, NULL, NULL, M(LOWER) | M(ENCODE) | M(EXPLAIN), false,
      "compile in process, and print on standard error how long each stage took" },
    { "prometheus", 0, KIND_FLAG, AT(prometheus), 0, NULL, NULL, STATS, false,
      "print the counters as a Prometheus server reads them" },
    { "help", 'h', KIND_FLAG, AT(help), 0, NULL, NULL, EVERY, false, "print help; after a command, its own" },
    { "version", 'V', KIND_FLAG, AT(version), 0, NULL, NULL, EVERY, false, "the same as the command version" },
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])
/* The longest name of an option, and its NUL. */
#define NAME_BYTES sizeof(((struct cli_option_view *)0)->name)
/* More options than there are. */
#define MOST_NAMES 64
/* More options than this on one line are a mistake. */
#define MOST_OPTIONS 256

/* An option as found on the line: one of the two tables. */
struct found {
    const struct row *row;
    const struct bir_option *compile;
    const char *value;
    const char *spelled;
};

static bool same_name(const char *table, const char *name, size_t len)
{
    size_t at = 0;
    while (at < len && table[at] && (table[at] == name[at] || (table[at] == '_' && name[at] == '-')))
        at++;
    return at == len && !table[at];
}

/* Options of the compiler that the command line shows in another way; shown NULL: by --format, or as an argument. */
static const struct spelling {
    const char *name;
    const char *shown;
    const char *argument;
} spellings[] = {
    { "encode_format", NULL, NULL }, { "report", NULL, NULL },           { "target", NULL, NULL },
    { "binary", NULL, NULL },        { "image", "image", "KIND" },       { "explain_pair", "explain", "EARLIER,LATER" },
    { "slot", "slot", "SLOT" },      { "passes", "passes", "PASS,..." }, { "print_after", "print_after", "PASS" },
};

static const struct spelling *find_spelling(const struct bir_option *option)
{
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        if (strcmp(spellings[i].name, option->name) == 0)
            return &spellings[i];
    return NULL;
}

/* NULL when there is no option of this kind on the command line. */
static const char *spelling(const struct bir_option *option)
{
    const struct spelling *found = find_spelling(option);
    return found ? found->shown : option->name;
}

/* What help shows for the value; NULL for a flag. */
static const char *argument_of(const struct bir_option *option)
{
    static const char *const arguments[] = { NULL, "N", NULL, "TEXT" };
    const struct spelling *found = find_spelling(option);
    return found ? found->argument : option->choices ? option->choices : arguments[option->type];
}

static bool find(const char *name, size_t len, struct found *found)
{
    size_t count;
    const struct bir_option *table = bir_option_table(&count);
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (same_name(rows[i].name, name, len) || (len == 1 && rows[i].letter == name[0])) {
            found->row = &rows[i];
            return true;
        }
    for (size_t i = 0; i < count; i++)
        if (spelling(&table[i]) && same_name(spelling(&table[i]), name, len)) {
            found->compile = &table[i];
            return true;
        }
    return false;
}

static bool is_flag(const struct found *found)
{
    return found->row ? found->row->kind == KIND_FLAG || found->row->kind == KIND_SET
                      : found->compile->type == BIR_OPTION_BOOL;
}

/* Position of text among the choices, -1 when it is none. */
static int choice_index(const char *choices, const char *text)
{
    size_t len = strlen(text);
    int index = 0;
    for (const char *at = choices; at; index++) {
        if (len > 0 && strncmp(at, text, len) == 0 && (at[len] == '|' || at[len] == '\0'))
            return index;
        at = strchr(at, '|');
        at = at ? at + 1 : NULL;
    }
    return -1;
}

static const char *shown_choices(const char *choices)
{
    return choices[0] == '|' ? choices + 1 : choices;
}

static enum cli_exit set_seconds(const struct row *row, uint32_t *field, const char *value)
{
    char *end;
    errno = 0;
    double seconds = strtod(value, &end);
    if (errno || end == value || *end || !(seconds >= 0.001) || seconds > 86400)
        return cli_fail(CLI_USAGE, "--%s is \"%s\", which is not a number of seconds from 0.001 to 86400", row->name,
                        value);
    *field = (uint32_t)(seconds * 1000);
    return CLI_DONE;
}

static bool row_is_of(const struct row *row, const struct cli_command *command)
{
    if (row->methods == STATS)
        return command->run == cli_run_stats;
    return !row->methods || (command->method != BIR_METHOD_COUNT && row->methods & 1u << command->method);
}

static enum cli_exit apply_row(struct cli *cli, const struct found *found)
{
    const struct row *row = found->row;
    void *field = (char *)cli + row->offset;
    if (!row_is_of(row, cli->command))
        return cli_fail(CLI_USAGE, "%s is not an option of %s", found->spelled, cli->command->name);
    switch (row->kind) {
    case KIND_FLAG: *(bool *)field = true; return CLI_DONE;
    case KIND_SET: *(int *)field = row->value; return CLI_DONE;
    case KIND_TEXT: *(const char **)field = found->value; return CLI_DONE;
    case KIND_SECONDS: return set_seconds(row, field, found->value);
    case KIND_CHOICE: break;
    }
    int index = choice_index(row->argument, found->value);
    if (index < 0)
        return cli_fail(CLI_USAGE, "--%s is \"%s\", which is not one of %s", row->name, found->value,
                        shown_choices(row->argument));
    if (field == (void *)&cli->to)
        cli->to = found->value;
    else
        *(int *)field = index;
    return CLI_DONE;
}

static void put_json_option(struct cli *cli, const struct bir_option *option, const char *value)
{
    struct bir_buf *json = &cli->options_json;
    bir_buf_printf(json, "%s\"%s\":", json->len > 1 ? "," : "", option->name);
    if (option->type == BIR_OPTION_INT) { /* JSON has no leading zeros */
        bir_buf_put_u64(json, strtoul(value, NULL, 10));
        return;
    }
    if (option->type == BIR_OPTION_BOOL) {
        bir_buf_puts(json, value);
        return;
    }
    proto_put_string(json, value, strlen(value));
}

/* The name as it is written on the command line; in messages a value that comes as an argument needs one, too. */
static const char *shown_name(const struct bir_option *option, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%s", spelling(option) ? spelling(option) : option->name);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = '-';
    return name;
}

/* The compiler checks the value; only what it has accepted goes to the daemon. */
static enum cli_exit set_compile(struct cli *cli, const struct bir_option *option, const char *value)
{
    char name[NAME_BYTES];
    if (cli->command->method == BIR_METHOD_COUNT || !(option->methods & 1u << cli->command->method))
        return cli_fail(CLI_USAGE, "--%s is not an option of %s", shown_name(option, name), cli->command->name);
    const char *problem = bir_compile_option_set(&cli->options, cli->command->method, option->name, value);
    if (problem && option->choices)
        return cli_fail(CLI_USAGE, "--%s is \"%s\", which is not one of %s", shown_name(option, name), value,
                        option->choices);
    if (problem) {
        char *advice = bir_compile_option_advice(option->name, value);
        (void)cli_fail(CLI_USAGE, "--%s=%s: %s", shown_name(option, name), value, advice ? advice : problem);
        free(advice);
        return CLI_USAGE;
    }
    put_json_option(cli, option, value);
    return CLI_DONE;
}

static enum cli_exit apply(struct cli *cli, const struct found *found)
{
    if (found->row)
        return apply_row(cli, found);
    if (strcmp(found->compile->name, "indent") == 0)
        cli->indent_given = true;
    return set_compile(cli, found->compile, is_flag(found) ? "true" : found->value);
}

static const struct bir_option *compile_option(const char *name)
{
    size_t count;
    const struct bir_option *table = bir_option_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static bool method_has(const struct cli *cli, const char *option)
{
    return cli->command->method != BIR_METHOD_COUNT && compile_option(option)->methods & 1u << cli->command->method;
}

/* --format goes to whichever option of the compiler says it for this method. */
static enum cli_exit settle_format(struct cli *cli, bool terminal)
{
    static const char *const names[] = { NULL, "text", "json", "bin" };
    static const char *const options[] = { "encode_format", "report" };
    bool bin = cli->format == CLI_FORMAT_BIN;
    if (bin && !method_has(cli, "encode_format") && !method_has(cli, "binary"))
        return cli_fail(CLI_USAGE, "--format=bin is for encode and inspect");
    if (bin && terminal)
        return cli_fail(CLI_USAGE, "bin is not for a terminal; give a file with -o");
    if (bin && method_has(cli, "binary"))
        return set_compile(cli, compile_option("binary"), "true");
    for (size_t i = 0; i < 2 && names[cli->format]; i++) {
        enum cli_exit status = CLI_DONE;
        if (method_has(cli, options[i]))
            status = set_compile(cli, compile_option(options[i]), names[cli->format]);
        if (status != CLI_DONE)
            return status;
    }
    return CLI_DONE;
}

/* JSON is indented for people; several reports are a line each. */
static enum cli_exit settle_indent(struct cli *cli, bool terminal)
{
    bool json = method_has(cli, "report") ? cli->format == CLI_FORMAT_JSON
                                          : cli->format == CLI_FORMAT_JSON || !method_has(cli, "encode_format") ||
                                                cli->format == CLI_FORMAT_UNSET;
    cli->several = cli->command->method == BIR_METHOD_HAZARDS && cli_names_several(cli);
    if (cli->several && cli->indent_given)
        return cli_fail(CLI_USAGE, "--indent is for one file; the reports of several are a line each");
    if (terminal && json && !cli->indent_given && !cli->several && method_has(cli, "indent"))
        return set_compile(cli, compile_option("indent"), "2");
    return CLI_DONE;
}

/* What follows from several options together. */
static enum cli_exit settle(struct cli *cli)
{
    bool terminal = cli_to_stdout(cli) && isatty(STDOUT_FILENO);
    if (cli->prometheus && cli->format != CLI_FORMAT_UNSET)
        return cli_fail(CLI_USAGE, "--prometheus and --format exclude each other");
    if (cli->word && cli->options.slot)
        return cli_fail(CLI_USAGE, "--word and --slot exclude each other");
    if (cli->time_passes && (cli->daemon == CLI_DAEMON_REQUIRE || cli->daemon == CLI_DAEMON_START))
        return cli_fail(CLI_USAGE, "--time-passes works in process, without a daemon");
    if (cli->time_passes)
        cli->daemon = CLI_DAEMON_NEVER;
    if (cli->options.image && cli->word_count > 1)
        return cli_fail(CLI_USAGE, "images have no instructions: \"%s\" is one argument too many", cli->words[1]);
    enum cli_exit status = settle_format(cli, terminal);
    if (status == CLI_DONE)
        status = settle_indent(cli, terminal);
    if (status == CLI_DONE && method_has(cli, "target") && cli->word_count > 1)
        status = set_compile(cli, compile_option("target"), cli->words[1]);
    return status;
}

static enum cli_exit unknown_option(const char *word)
{
    struct cli_option_view view;
    char names[MOST_NAMES][NAME_BYTES + 2];
    struct bir_near near;
    bir_near_init(&near, word, strcspn(word, "="));
    for (size_t i = 0; i < MOST_NAMES && word[1] == '-' && cli_option_at(NULL, i, &view); i++) {
        snprintf(names[i], sizeof names[i], "--%s", view.name);
        bir_near_offer(&near, names[i], strlen(names[i]));
    }
    return cli_fail_near(&near, "unknown option \"%s\"", word);
}

/* One option at argv[*at]; *at moves on when its value is the next word. */
static enum cli_exit split_option(int argc, char **argv, int *at, struct found *found)
{
    const char *word = argv[*at];
    bool wide = word[1] == '-';
    const char *name = word + (wide ? 2 : 1);
    size_t len = wide ? strcspn(name, "=") : 1;
    const char *value = name[len] == '=' ? name + len + 1 : !wide && name[len] ? name + len : NULL;
    *found = (struct found){ .spelled = word };
    if (!find(name, len, found) || (wide && len == 1) || (!wide && !found->row))
        return unknown_option(word);
    if (is_flag(found) && value)
        return cli_fail(CLI_USAGE, "option \"%.*s\" takes no value", (int)(name + len - word), word);
    if (!is_flag(found) && !value) {
        if (*at + 1 >= argc)
            return cli_fail(CLI_USAGE, "option \"%s\" needs a value", word);
        value = argv[++*at];
    }
    found->value = value;
    return CLI_DONE;
}

/* The arguments gather at the start of argv, behind the read position. */
static enum cli_exit take_word(struct cli *cli, char *word)
{
    if (!cli->command) {
        cli->command = cli_find_command(word);
        return cli->command ? CLI_DONE : cli_unknown_command(word);
    }
    size_t most = cli->command->most_words;
    if (most == 0)
        return cli_fail(CLI_USAGE, "%s takes no argument, but \"%s\" follows", cli->command->name, word);
    if (cli->word_count >= most)
        return cli_fail(CLI_USAGE, "%s takes %zu argument%s, but \"%s\" and \"%s\" follow", cli->command->name, most,
                        most > 1 ? "s" : "", cli->words[cli->word_count - 1], word);
    cli->words[cli->word_count++] = word;
    return CLI_DONE;
}

enum cli_exit cli_parse(struct cli *cli, int argc, char **argv)
{
    static struct found found[MOST_OPTIONS];
    size_t count = 0;
    bool options_end = false;
    enum cli_exit status = CLI_DONE;
    cli->words = argv;
    for (int at = 1; at < argc && status == CLI_DONE; at++) {
        char *word = argv[at];
        if (!options_end && strcmp(word, "--") == 0)
            options_end = true;
        else if (options_end || word[0] != '-' || !word[1])
            status = take_word(cli, word);
        else if (count == MOST_OPTIONS)
            status = cli_fail(CLI_USAGE, "more than %d options", MOST_OPTIONS);
        else
            status = split_option(argc, argv, &at, &found[count++]);
    }
    for (size_t i = 0; i < count && status == CLI_DONE; i++)
        if (found[i].row && found[i].row->kind == KIND_FLAG)
            *(bool *)((char *)cli + found[i].row->offset) = true;
    if (status != CLI_DONE || cli->help)
        return status;
    if (!cli->command && cli->version)
        cli->command = cli_find_command("version");
    if (!cli->command)
        return cli_fail(CLI_USAGE, "a command is missing; see roost --help");
    bir_compile_options_init(&cli->options);
    bir_buf_putc(&cli->options_json, '{');
    for (size_t i = 0; i < count && status == CLI_DONE; i++)
        status = apply(cli, &found[i]);
    if (status == CLI_DONE)
        status = settle(cli);
    bir_buf_put(&cli->options_json, "}", 2);
    return status;
}

static bool view_row(const struct cli_command *command, const struct row *row, struct cli_option_view *view)
{
    if (command && !row_is_of(row, command))
        return false;
    bool flag = row->kind == KIND_FLAG || row->kind == KIND_SET;
    *view = (struct cli_option_view){ .letter = row->letter,
                                      .takes_value = !flag,
                                      .takes_file = row->takes_file,
                                      .choices = row->kind == KIND_CHOICE ? shown_choices(row->argument) : NULL,
                                      .argument = row->argument ? shown_choices(row->argument) : NULL,
                                      .default_text = row->default_text,
                                      .help = row->help };
    snprintf(view->name, sizeof view->name, "%s", row->name);
    return true;
}

static bool view_compile(const struct cli_command *command, const struct bir_option *option,
                         struct cli_option_view *view)
{
    if (!spelling(option) ||
        (command && (command->method == BIR_METHOD_COUNT || !(option->methods & 1u << command->method))))
        return false;
    bool indent = strcmp(option->name, "indent") == 0;
    *view = (struct cli_option_view){ .takes_value = option->type != BIR_OPTION_BOOL,
                                      .choices = option->choices,
                                      .argument = argument_of(option),
                                      .default_text = indent                            ? "2 on a terminal, else 0"
                                                      : option->type == BIR_OPTION_BOOL ? NULL
                                                                                        : option->default_text,
                                      .help = option->help };
    (void)shown_name(option, view->name);
    return true;
}

bool cli_option_at(const struct cli_command *command, size_t i, struct cli_option_view *view)
{
    size_t count;
    const struct bir_option *table = bir_option_table(&count);
    for (size_t at = 0; at < ROW_COUNT; at++)
        if (view_row(command, &rows[at], view) && i-- == 0)
            return true;
    for (size_t at = 0; at < count; at++)
        if (view_compile(command, &table[at], view) && i-- == 0)
            return true;
    return false;
}

static void put_option(const struct cli_option_view *view, struct bir_buf *out)
{
    bir_buf_puts(out, "  ");
    if (view->letter)
        bir_buf_printf(out, "-%c, ", view->letter);
    bir_buf_printf(out, "--%s", view->name);
    if (view->argument)
        bir_buf_printf(out, "=%s", view->argument);
    bir_buf_printf(out, "\n        %s", view->help);
    if (view->default_text && view->default_text[0])
        bir_buf_printf(out, " (default: %s)", view->default_text);
    bir_buf_putc(out, '\n');
}

void cli_put_help(const struct cli_command *command, struct bir_buf *out)
{
    size_t count;
    struct cli_option_view view;
    const struct cli_command *table = cli_commands(&count);
    if (command) {
        bir_buf_printf(out, "usage: roost %s [OPTIONS]%s%s\n\n%s\n\nOptions:\n", command->name,
                       command->arguments ? " " : "", command->arguments ? command->arguments : "", command->summary);
    } else {
        bir_buf_puts(out, "usage: roost COMMAND [OPTIONS] [FILE|-]\n\nCommands:\n");
        for (size_t i = 0; i < count; i++)
            bir_buf_printf(out, "  %-10s %s\n", table[i].name, table[i].summary);
        bir_buf_puts(out,
                     "\nFILE is .klr or BIR-JSON, told apart by its content. Options, before or after the command; "
                     "roost COMMAND --help lists those of one command:\n");
    }
    for (size_t i = 0; cli_option_at(command, i, &view); i++)
        put_option(&view, out);
    bir_buf_puts(out, "\nExit status: 0 done, 1 the input has errors, 2 usage, 3 a daemon is needed and unreachable,\n"
                      "4 deadline or cancelled, 5 internal error. hazards: 1 findings, 6 undecided.\n");
}

void cli_put_man(struct bir_buf *out)
{
    size_t count;
    struct cli_option_view view;
    const struct cli_command *table = cli_commands(&count);
    bir_buf_puts(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < count; i++)
        bir_buf_printf(out, ".TP\n.BR %s%s%s%s\n%s.\n", table[i].name, table[i].arguments ? " \" " : "",
                       table[i].arguments ? table[i].arguments : "", table[i].arguments ? "\"" : "", table[i].summary);
    bir_buf_puts(out, ".SH OPTIONS\n");
    for (size_t i = 0; cli_option_at(NULL, i, &view); i++) {
        bir_buf_puts(out, ".TP\n");
        if (view.letter)
            bir_buf_printf(out, ".BR -%c \", \" ", view.letter);
        else
            bir_buf_puts(out, ".BR ");
        bir_buf_printf(out, "--%s", view.name);
        if (view.argument)
            bir_buf_printf(out, " =\\fI%s\\fR", view.argument);
        bir_buf_printf(out, "\n%s", view.help);
        if (view.default_text && view.default_text[0])
            bir_buf_printf(out, " (default: %s)", view.default_text);
        bir_buf_puts(out, ".\n");
    }
}
