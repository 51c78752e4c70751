/*
 * A singly linked list in the order of discovery. Counting never fails: `count` and `errors` include what was dropped
 * for the limit or lost to an allocation failure, so a caller that only looks at `errors` is right in every case.
 */
#include "base/diag.h"

#include <string.h>

#include "base/json_reader.h"

static const char *const severity_names[] = { [BIR_ERROR] = "error", [BIR_WARNING] = "warning", [BIR_NOTE] = "note" };

void bir_diags_init(struct bir_diags *diags, struct bir_arena *arena, uint32_t limit)
{
    *diags = (struct bir_diags){ .arena = arena, .limit = limit };
    diags->tail = &diags->first;
}

static struct bir_diag *fill(struct bir_diag *diag, enum bir_severity severity, const char *code, int64_t offset,
                             const char *message)
{
    *diag = (struct bir_diag){ .severity = severity, .code = code, .offset = offset, .message = message };
    return diag;
}

/* Names in messages are cut to a length that may fall inside a character: what is left of it becomes question marks,
 * because a message is UTF-8 wherever it goes. */
static void mend(char *text)
{
    size_t len = strlen(text), from = 0, bad;
    while (!bir_utf8_valid(text + from, len - from, &bad)) {
        from += bad;
        text[from++] = '?';
    }
}

static struct bir_diag *add(struct bir_diags *diags, enum bir_severity severity, const char *code, int64_t offset,
                            const char *fmt, va_list args)
{
    if (diags->count < UINT32_MAX)
        diags->count++;
    if (severity == BIR_ERROR && diags->errors < UINT32_MAX)
        diags->errors++;
    if (diags->count > diags->limit) {
        if (diags->dropped < UINT32_MAX)
            diags->dropped++;
        return fill(&diags->scratch, severity, code, offset, "");
    }
    struct bir_diag *diag = BIR_NEW(diags->arena, BIR_MEM_OTHER, struct bir_diag);
    char *message = diag ? bir_arena_vprintf(diags->arena, fmt, args) : NULL;
    if (!message) {
        diags->failed = true;
        return fill(&diags->scratch, severity, code, offset, "");
    }
    mend(message);
    *diags->tail = fill(diag, severity, code, offset, message);
    diags->tail = &diag->next;
    return diag;
}

struct bir_diag *bir_diag_add(struct bir_diags *diags, enum bir_severity severity, const char *code, int64_t offset,
                              const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    struct bir_diag *diag = add(diags, severity, code, offset, fmt, args);
    va_end(args);
    return diag;
}

enum bir_status bir_fail(struct bir_diags *diags, const char *code, int64_t offset, const char *hint, const char *fmt,
                         ...)
{
    va_list args;
    va_start(args, fmt);
    add(diags, BIR_ERROR, code, offset, fmt, args)->hint = hint;
    va_end(args);
    return BIR_INVALID;
}

enum bir_status bir_fail_member(struct bir_diags *diags, const char *code, int64_t offset, const char *suffix,
                                const char *hint, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    struct bir_diag *diag = add(diags, BIR_ERROR, code, offset, fmt, args);
    va_end(args);
    diag->hint = hint;
    diag->suffix = suffix;
    return BIR_INVALID;
}

enum bir_status bir_fail_limit(struct bir_diags *diags, const char *code, int64_t offset, const char *hint,
                               const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add(diags, BIR_ERROR, code, offset, fmt, args)->hint = hint;
    va_end(args);
    return BIR_LIMIT;
}

const char *bir_severity_name(enum bir_severity severity)
{
    return severity_names[severity];
}
