/*
 * Diagnostics as JSON for programs and as text for people.
 *
 * Lines are counted once, from the first place to the last: the places are sorted for it, and printed in the order of
 * discovery.
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

struct place {
    const struct bir_diag *diag;
    uint32_t line, column;
};

static int by_offset(const void *a, const void *b)
{
    int64_t x = (*(struct place *const *)a)->diag->offset, y = (*(struct place *const *)b)->diag->offset;
    return (x > y) - (x < y);
}

/* Counts on from `at`, whose line and column are known, to the place; at is moved there. */
static void count_on(const char *text, size_t len, struct place *place, size_t *at, uint32_t *line, uint32_t *column)
{
    size_t offset = place->diag->offset < 0 ? 0 : (size_t)place->diag->offset;
    offset = offset < len ? offset : len;
    uint32_t lines, columns;
    bir_text_line_column(text + *at, len - *at, offset - *at, &lines, &columns);
    *column = lines > 1 ? columns : columns - 1 < UINT32_MAX - *column ? *column + columns - 1 : UINT32_MAX;
    *line = lines - 1 < UINT32_MAX - *line ? *line + lines - 1 : UINT32_MAX;
    *at = offset;
    place->line = *line;
    place->column = *column;
}

/* A place for each diagnostic, in the same order; NULL when memory is short. */
static struct place *find_places(const struct bir_diags *diags, const char *text, size_t len)
{
    size_t count = 0, n = 0;
    for (const struct bir_diag *d = diags->first; d; d = d->next)
        count++;
    struct place *places = bir_arena_alloc_array(diags->arena, BIR_MEM_OTHER, count, sizeof(*places));
    struct place **sorted = bir_arena_alloc_array(diags->arena, BIR_MEM_OTHER, count, sizeof(*sorted));
    if (!places || !sorted)
        return NULL;
    for (const struct bir_diag *d = diags->first; d; d = d->next, n++) {
        places[n].diag = d;
        sorted[n] = &places[n];
    }
    qsort(sorted, count, sizeof(*sorted), by_offset);
    size_t at = 0;
    uint32_t line = 1, column = 1;
    for (size_t i = 0; i < count; i++)
        if (sorted[i]->diag->offset != BIR_NO_OFFSET)
            count_on(text, len, sorted[i], &at, &line, &column);
    return places;
}

/* FILE:LINE:COL: for text, FILE:@OFFSET: for .klr bytes (which hold no lines) and where lines are not known. */
static void put_place(const struct bir_diag *d, const char *file, const struct place *place, struct bir_buf *out)
{
    bir_buf_puts(out, file);
    bir_buf_putc(out, ':');
    if (d->offset != BIR_NO_OFFSET && place)
        bir_buf_printf(out, "%u:%u:", place->line, place->column);
    else if (d->offset != BIR_NO_OFFSET)
        bir_buf_printf(out, "@%lld:", (long long)d->offset);
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
    const struct place *place = is_text && diags->first ? find_places(diags, input ? input : "", input_len) : NULL;
    for (const struct bir_diag *d = diags->first; d; d = d->next) {
        put_place(d, file, place, out);
        put_diag(d, colour, out);
        if (place)
            place++;
    }
    if (diags->dropped)
        bir_buf_printf(out, "%s: note: %u more diagnostics not shown\n", file, diags->dropped);
}
