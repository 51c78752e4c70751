#include "client/cli/diagnostics.h"

#include <string.h>
#include <unistd.h>

#include <jansson.h>

static const char *keep(struct bir_arena *arena, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? bir_arena_strndup(arena, text, strlen(text)) : NULL;
}

static enum bir_severity severity_of(const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "severity"));
    for (int severity = BIR_ERROR; name && severity < BIR_NOTE; severity++)
        if (strcmp(name, bir_severity_name((enum bir_severity)severity)) == 0)
            return (enum bir_severity)severity;
    return BIR_NOTE;
}

bool diagnostics_read(const char *json, struct bir_diags *diags)
{
    json_t *array = json_loads(json, 0, NULL);
    bool good = json_is_array(array);
    size_t index;
    json_t *object;
    json_array_foreach(array, index, object)
    {
        const json_t *offset = json_object_get(object, "offset");
        const char *code = keep(diags->arena, object, "code");
        const char *message = json_string_value(json_object_get(object, "message"));
        struct bir_diag *diag = bir_diag_add(diags, severity_of(object), code ? code : "unknown",
                                             json_is_integer(offset) ? json_integer_value(offset) : BIR_NO_OFFSET, "%s",
                                             message ? message : "");
        diag->vendor = keep(diags->arena, object, "vendor");
        diag->pointer = keep(diags->arena, object, "pointer");
        diag->hint = keep(diags->arena, object, "hint");
    }
    json_decref(array);
    return good && !diags->failed;
}

enum cli_exit diagnostics_print(const struct cli *cli, const struct bir_diags *diags, const char *name,
                                const void *input, size_t input_len)
{
    bool check = cli->command->method == BIR_METHOD_CHECK;
    int fd = check ? STDOUT_FILENO : STDERR_FILENO;
    bool json = cli->format == CLI_FORMAT_JSON;
    if (diags->count == 0 && !(check && json))
        return CLI_DONE;
    struct bir_buf text;
    bir_buf_init(&text, 0);
    if (json) {
        bir_diags_write_json(diags, &text);
        bir_buf_putc(&text, '\n');
    } else {
        bir_diags_write_text(diags, name, input, input_len, cli_colour(cli, fd), &text);
    }
    enum cli_exit status = text.status == BIR_OK
                               ? cli_write(fd, check ? "standard output" : "standard error", text.data, text.len)
                               : cli_fail(CLI_INTERNAL, "out of memory");
    bir_buf_deinit(&text);
    return status;
}
