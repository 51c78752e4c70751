/*
 * Build tool: writes what repeats the tables of the command line - the man page's sections and the completions - so
 * that they cannot differ from it.
 *
 * usage: roost-generate bash|zsh|fish
 *        roost-generate man TEMPLATE      (the line @GENERATED@ becomes the sections)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

static void put_spaced(struct bir_buf *out, const char *choices)
{
    for (const char *c = choices; *c; c++)
        bir_buf_putc(out, *c == '|' ? ' ' : *c);
}

static void put_command_names(struct bir_buf *out)
{
    size_t count;
    const struct cli_command *commands = cli_commands(&count);
    for (size_t i = 0; i < count; i++)
        bir_buf_printf(out, "%s%s", i ? " " : "", commands[i].name);
}

/* The argument is the name of a command, not a file. */
static bool takes_command(const struct cli_command *command)
{
    return strcmp(command->name, "help") == 0;
}

static void put_option_names(struct bir_buf *out, const struct cli_command *command)
{
    struct cli_option_view view;
    for (size_t i = 0; cli_option_at(command, i, &view); i++)
        bir_buf_printf(out, "%s--%s%s", i ? " " : "", view.name, view.takes_value ? "=" : "");
}

static void put_bash(struct bir_buf *out)
{
    size_t count;
    const struct cli_command *commands = cli_commands(&count);
    struct cli_option_view view;
    bir_buf_puts(out, "# bash completion for roost; generated from its option table.\n"
                      "_roost()\n{\n"
                      "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word\n"
                      "    if [ \"$cur\" = \"=\" ]; then cur=; fi\n"
                      "    if [ \"$prev\" = \"=\" ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
                      "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                      "        case \" ");
    put_command_names(out);
    bir_buf_puts(out, " \" in *\" $word \"*) command=$word; break ;; esac\n    done\n    case $prev in\n");
    for (size_t i = 0; cli_option_at(NULL, i, &view); i++) {
        if (view.choices) {
            bir_buf_printf(out, "    --%s) COMPREPLY=($(compgen -W \"", view.name);
            put_spaced(out, view.choices);
            bir_buf_puts(out, "\" -- \"$cur\")); return ;;\n");
        } else if (view.takes_value) {
            bir_buf_printf(out, "    --%s) COMPREPLY=(%s); return ;;\n", view.name,
                           view.takes_file ? "$(compgen -f -- \"$cur\")" : "");
        }
    }
    bir_buf_puts(out, "    esac\n    if [[ $cur == -* ]]; then\n        case $command in\n");
    for (size_t i = 0; i < count; i++) {
        bir_buf_printf(out, "        %s) COMPREPLY=($(compgen -W \"", commands[i].name);
        put_option_names(out, &commands[i]);
        bir_buf_puts(out, "\" -- \"$cur\")) ;;\n");
    }
    bir_buf_puts(out, "        *) COMPREPLY=($(compgen -W \"");
    put_option_names(out, NULL);
    bir_buf_puts(out,
                 "\" -- \"$cur\")) ;;\n        esac\n"
                 "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
                 "    elif [ -z \"$command\" ] || [ \"$command\" = help ]; then\n        COMPREPLY=($(compgen -W \"");
    put_command_names(out);
    bir_buf_puts(out, "\" -- \"$cur\"))\n    else\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n}\n"
                      "complete -F _roost roost\n");
}

/* Inside '...[...]' of _arguments. */
static void put_zsh_text(struct bir_buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            bir_buf_puts(out, "'\\''");
        else
            bir_buf_printf(out, "%s%c", strchr("[]:\\", *c) ? "\\" : "", *c);
    }
}

static void put_zsh_options(struct bir_buf *out, const struct cli_command *command)
{
    struct cli_option_view view;
    for (size_t i = 0; cli_option_at(command, i, &view); i++) {
        bir_buf_printf(out, "        '--%s%s[", view.name, view.takes_value ? "=" : "");
        put_zsh_text(out, view.help);
        bir_buf_puts(out, "]");
        if (view.choices) {
            bir_buf_puts(out, ":value:(");
            put_spaced(out, view.choices);
            bir_buf_puts(out, ")");
        } else if (view.takes_value) {
            bir_buf_puts(out, view.takes_file ? ":file:_files" : ":value: ");
        }
        bir_buf_puts(out, "' \\\n");
    }
}

static void put_zsh(struct bir_buf *out)
{
    size_t count;
    const struct cli_command *commands = cli_commands(&count);
    bir_buf_puts(out, "#compdef roost\n# zsh completion for roost; generated from its option table.\n\n"
                      "local -a commands\ncommands=(\n");
    for (size_t i = 0; i < count; i++) {
        bir_buf_printf(out, "    '%s:", commands[i].name);
        put_zsh_text(out, commands[i].summary);
        bir_buf_puts(out, "'\n");
    }
    bir_buf_puts(out, ")\n\nlocal command=${words[(r)(");
    for (size_t i = 0; i < count; i++)
        bir_buf_printf(out, "%s%s", i ? "|" : "", commands[i].name);
    bir_buf_puts(out, ")]}\ncase $command in\n");
    for (size_t i = 0; i < count; i++) {
        bir_buf_printf(out, "    %s)\n        _arguments \\\n", commands[i].name);
        put_zsh_options(out, &commands[i]);
        bir_buf_printf(out, "        '*:%s'\n        ;;\n",
                       takes_command(&commands[i]) ? "command:{_describe command commands}"
                       : commands[i].arguments     ? "file:_files"
                                                   : "file: ");
    }
    bir_buf_puts(out, "    *)\n        _arguments \\\n");
    put_zsh_options(out, NULL);
    bir_buf_puts(out, "        '*:command:{_describe command commands}'\n        ;;\nesac\n");
}

static void put_fish_text(struct bir_buf *out, const char *text)
{
    for (const char *c = text; *c; c++)
        bir_buf_printf(out, "%s%c", *c == '\'' || *c == '\\' ? "\\" : "", *c);
}

static void put_fish_option(struct bir_buf *out, const char *condition, const struct cli_option_view *view)
{
    bir_buf_printf(out, "complete -c roost%s -l %s", condition, view->name);
    if (view->letter)
        bir_buf_printf(out, " -s %c", view->letter);
    if (view->takes_value)
        bir_buf_puts(out, view->takes_file ? " -r -F" : " -x");
    if (view->choices) {
        bir_buf_puts(out, " -a '");
        put_spaced(out, view->choices);
        bir_buf_puts(out, "'");
    }
    bir_buf_puts(out, " -d '");
    put_fish_text(out, view->help);
    bir_buf_puts(out, "'\n");
}

static void put_fish(struct bir_buf *out)
{
    size_t count;
    const struct cli_command *commands = cli_commands(&count);
    struct cli_option_view view;
    char condition[96];
    bir_buf_puts(out, "# fish completion for roost; generated from its option table.\n");
    for (size_t i = 0; i < count; i++) {
        bir_buf_printf(out, "complete -c roost -n __fish_use_subcommand -f -a %s -d '", commands[i].name);
        put_fish_text(out, commands[i].summary);
        bir_buf_puts(out, "'\n");
        snprintf(condition, sizeof condition, " -n '__fish_seen_subcommand_from %s'", commands[i].name);
        for (size_t at = 0; cli_option_at(&commands[i], at, &view); at++)
            put_fish_option(out, condition, &view);
        if (takes_command(&commands[i])) {
            bir_buf_printf(out, "complete -c roost%s -f -a '", condition);
            put_command_names(out);
            bir_buf_puts(out, "'\n");
        } else if (!commands[i].arguments) {
            bir_buf_printf(out, "complete -c roost%s -f\n", condition);
        }
    }
    for (size_t at = 0; cli_option_at(NULL, at, &view); at++)
        put_fish_option(out, " -n __fish_use_subcommand", &view);
}

static bool put_man_page(struct bir_buf *out, const char *path)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        if (strcmp(line, "@GENERATED@\n") == 0)
            cli_put_man(out);
        else
            bir_buf_puts(out, line);
    }
    return fclose(file) == 0;
}

int main(int argc, char **argv)
{
    struct bir_buf out;
    bir_buf_init(&out, 0);
    bool good = argc >= 2;
    if (good && strcmp(argv[1], "bash") == 0)
        put_bash(&out);
    else if (good && strcmp(argv[1], "zsh") == 0)
        put_zsh(&out);
    else if (good && strcmp(argv[1], "fish") == 0)
        put_fish(&out);
    else
        good = argc == 3 && strcmp(argv[1], "man") == 0 && put_man_page(&out, argv[2]);
    good = good && out.status == BIR_OK && fwrite(out.data, 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    bir_buf_deinit(&out);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
