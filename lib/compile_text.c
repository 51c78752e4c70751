/*
 * Diagnostics as JSON for programs and as text for people.
 */
#include "compile.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/json_writer.h"

static void put_optional(struct bir_json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    bir_json_put_key(w, key);
    bir_json_put_cstr(w, text);
}

void bir_diags_write_json(const struct bir_diags *diags, struct bir_buf *out)
{
    struct bir_json_writer w;
    bir_json_writer_init(&w, out, 0);
    bir_json_put_array_begin(&w);
    for (const struct bir_diag *d = diags->first; d; d = d->next) {
        bir_json_put_object_begin(&w);
        put_optional(&w, "severity", bir_severity_name(d->severity));
        put_optional(&w, "code", d->code);
        put_optional(&w, "pointer", d->pointer);
        if (d->offset != BIR_NO_OFFSET) {
            bir_json_put_key(&w, "offset");
            bir_json_put_i64(&w, d->offset);
        }
        put_optional(&w, "message", d->message);
        put_optional(&w, "hint", d->hint);
        put_optional(&w, "vendor", d->vendor);
        bir_json_put_object_end(&w);
    }
    bir_json_put_array_end(&w);
}

static const char *severity_colour(enum bir_severity severity)
{
    static const char *const colours[] = { "\033[1;31m", "\033[1;35m", "\033[1;36m" };
    return colours[severity];
}

/* FILE:LINE:COL: for text, FILE:@OFFSET: for .klr bytes (which hold no lines). */
static void put_place(const struct bir_diag *d, const char *file, const void *input, size_t input_len, bool is_text,
                      struct bir_buf *out)
{
    bir_buf_puts(out, file);
    bir_buf_putc(out, ':');
    if (d->offset != BIR_NO_OFFSET && is_text) {
        uint32_t line, column;
        bir_text_line_column(input, input_len, (size_t)d->offset, &line, &column);
        bir_buf_printf(out, "%u:%u:", line, column);
    } else if (d->offset != BIR_NO_OFFSET) {
        bir_buf_printf(out, "@%lld:", (long long)d->offset);
    }
    bir_buf_putc(out, ' ');
}

/* Names come from the input: a line feed would end the line, an escape sequence would reach the terminal. */
static void put_shown(struct bir_buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            bir_buf_printf(out, "\\x%02x", (unsigned)*c);
        else
            bir_buf_putc(out, *c);
    }
}

static void put_diag(const struct bir_diag *d, bool colour, struct bir_buf *out)
{
    if (colour)
        bir_buf_puts(out, severity_colour(d->severity));
    bir_buf_printf(out, "%s: ", bir_severity_name(d->severity));
    if (colour)
        bir_buf_puts(out, "\033[0m");
    put_shown(out, d->message ? d->message : "");
    bir_buf_printf(out, " [%s]", d->code);
    if (d->vendor)
        bir_buf_printf(out, " [%s]", d->vendor);
    if (d->pointer) {
        bir_buf_puts(out, " (at ");
        put_shown(out, *d->pointer ? d->pointer : "the top");
        bir_buf_putc(out, ')');
    }
    bir_buf_putc(out, '\n');
    if (d->hint)
        bir_buf_printf(out, "    hint: %s\n", d->hint);
}

void bir_diags_write_text(const struct bir_diags *diags, const char *file, const void *input, size_t input_len,
                          bool colour, struct bir_buf *out)
{
    bool is_text = bir_input_detect(input, input_len) != BIR_INPUT_KLR;
    for (const struct bir_diag *d = diags->first; d; d = d->next) {
        put_place(d, file, input, input_len, is_text, out);
        put_diag(d, colour, out);
    }
    if (diags->dropped)
        bir_buf_printf(out, "%s: note: %u more diagnostics not shown\n", file, diags->dropped);
}
