/*
 * The command line: its tables, and what a command gets.
 *
 * cli_options (options.c) and cli_commands (commands.c) are the source of the parser, of --help, of the man page's
 * sections and of the completions.
 */
#ifndef CLIENT_CLI_CLI_H
#define CLIENT_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/near.h"
#include "client/roost.h"
#include "compile.h"

enum cli_exit {
    CLI_DONE = 0,
    CLI_INPUT = 1,       /* the input has errors, or hazards has found some */
    CLI_USAGE = 2,       /* wrong command line, or a file that cannot be read or written */
    CLI_UNREACHABLE = 3, /* a daemon is needed and none answers */
    CLI_TIME = 4,        /* deadline passed, or cancelled */
    CLI_INTERNAL = 5,
    CLI_UNDECIDED = 6, /* hazards can neither find a race nor exclude one */
};

enum cli_daemon { CLI_DAEMON_AUTO, CLI_DAEMON_REQUIRE, CLI_DAEMON_NEVER, CLI_DAEMON_START };
enum cli_format { CLI_FORMAT_UNSET, CLI_FORMAT_TEXT, CLI_FORMAT_JSON, CLI_FORMAT_BIN };
enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

struct cli;

struct cli_command {
    const char *name;
    const char *summary;
    enum cli_exit (*run)(struct cli *cli);
    enum bir_method method; /* BIR_METHOD_COUNT: it compiles nothing */
    const char *arguments;  /* as help shows them; NULL: none */
    size_t most_words;      /* how many arguments it takes at most */
};

const struct cli_command *cli_commands(size_t *count);
const struct cli_command *cli_find_command(const char *name);
/* Fails, and names the commands that may be meant. */
enum cli_exit cli_unknown_command(const char *name);

/* The command line, parsed. */
struct cli {
    const struct cli_command *command;
    char **words; /* arguments of the command */
    size_t word_count;
    const char *socket;
    const char *output;
    const char *to;
    int daemon;
    int format;
    int color;
    uint32_t timeout_ms; /* 0: the default */
    bool word;           /* decode: --word */
    bool verbose;
    bool time_passes;
    bool prometheus;
    bool help;
    bool version;
    bool indent_given;
    bool several;                       /* hazards of more than one file: what is printed names the file */
    struct bir_compile_options options; /* for compiling in process */
    struct bir_buf options_json;        /* the same for the daemon: members of an object */
};

/* The program; gives its exit status. */
int cli_main(int argc, char **argv);

/* Prints "roost: error: ..." and gives the exit status. */
enum cli_exit cli_fail(enum cli_exit status, const char *fmt, ...) BIR_PRINTF(2, 3);
/* The same for a word of the command line that is not known: adds what may be meant, or where to look. CLI_USAGE. */
enum cli_exit cli_fail_near(const struct bir_near *near, const char *fmt, ...) BIR_PRINTF(2, 3);
/* With --verbose: "roost: ..." on standard error. */
void cli_verbose(const struct cli *cli, const char *fmt, ...) BIR_PRINTF(2, 3);
/* Writes everything or fails with a message that names the place. */
enum cli_exit cli_write(int fd, const char *name, const void *bytes, size_t len);
bool cli_to_stdout(const struct cli *cli);
/* Writes a result to where --output says; on a terminal it ends its line. */
enum cli_exit cli_write_result(const struct cli *cli, const void *bytes, size_t len);
bool cli_colour(const struct cli *cli, int fd);

/* A handle with the command line's settings; NULL when memory is short. start: only commands that compile may start
 * one. */
roost *cli_client(const struct cli *cli, bool start);

/* Help of one command, or of the program when command is NULL. */
enum cli_exit cli_print_help(const struct cli_command *command);

/* options.c */
enum cli_exit cli_parse(struct cli *cli, int argc, char **argv);
void cli_put_help(const struct cli_command *command, struct bir_buf *out);
/* The man page's commands and options. */
void cli_put_man(struct bir_buf *out);

/* One option of the command line, for completions and man page. */
struct cli_option_view {
    char name[32]; /* with dashes, without the leading ones */
    char letter;
    bool takes_value;
    bool takes_file;
    const char *choices;      /* "a|b|c", or NULL */
    const char *argument;     /* shown in help; NULL for a flag */
    const char *default_text; /* or NULL */
    const char *help;
};
/* The i-th option that `command` takes (NULL: any command); false behind the last. */
bool cli_option_at(const struct cli_command *command, size_t i, struct cli_option_view *view);

/* compile.c */
enum cli_exit cli_run_compile(struct cli *cli);

/* hazards.c */
enum cli_exit cli_run_hazards(struct cli *cli);
/* Whether the command line names more than one file, or a directory. */
bool cli_names_several(const struct cli *cli);

/* service.c */
enum cli_exit cli_run_stats(struct cli *cli);
enum cli_exit cli_run_ping(struct cli *cli);
enum cli_exit cli_run_version(struct cli *cli);
enum cli_exit cli_run_sock(struct cli *cli);
enum cli_exit cli_run_stop(struct cli *cli);

#endif
