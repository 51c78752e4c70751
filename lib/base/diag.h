/*
 * Diagnostics: what is wrong with an input, as data.
 *
 * A diagnostic names its place by byte offset in the source; the JSON pointer (or .klr path) and line:column are
 * found from the offset when the list is finished (bir_diags_locate of compile.h does it by scanning the source again),
 * so that no reader or pass carries a path around. A pass that has a better name for the place sets `pointer` itself.
 *
 * `code` is stable: lower-case words with dashes, area first ("json-syntax", "bir-unknown-name", "lower-not-affine").
 * The message states the value and the limit; the hint says what to do.
 */
#ifndef BIR_BASE_DIAG_H
#define BIR_BASE_DIAG_H

#include "base/arena.h"

enum bir_severity { BIR_ERROR, BIR_WARNING, BIR_NOTE };

#define BIR_NO_OFFSET INT64_C(-1)

struct bir_diag {
    struct bir_diag *next;
    enum bir_severity severity;
    const char *code;    /* static */
    const char *vendor;  /* vendor's code such as "BIR227", or NULL */
    const char *pointer; /* NULL until located; "" is the whole document */
    const char *suffix;  /* static, or NULL: the member of the value at offset that is meant, such as "/addrs/0";
                          * appended to the pointer where the source is BIR-JSON */
    int64_t offset;      /* byte offset in the source, or BIR_NO_OFFSET */
    const char *message;
    const char *hint; /* or NULL */
};

struct bir_diags {
    struct bir_arena *arena; /* owns every diagnostic */
    struct bir_diag *first, **tail;
    uint32_t count;
    uint32_t errors;
    uint32_t limit;   /* further diagnostics are counted, not kept */
    uint32_t dropped; /* how many were not kept */
    bool failed;      /* a diagnostic was lost to an allocation failure */
    struct bir_diag scratch; /* given to the caller in place of one that was not kept */
};

void bir_diags_init(struct bir_diags *diags, struct bir_arena *arena, uint32_t limit);

/* Appends; returns the diagnostic so that the caller may set vendor, pointer or hint, or a scratch one (never NULL)
 * when it was dropped. An error whose text cannot be allocated is still counted. */
struct bir_diag *bir_diag_add(struct bir_diags *diags, enum bir_severity severity, const char *code, int64_t offset,
                              const char *fmt, ...) BIR_PRINTF(5, 6);

/* Adds an error and gives BIR_INVALID, for `return bir_fail(...)`. hint may be NULL. */
enum bir_status bir_fail(struct bir_diags *diags, const char *code, int64_t offset, const char *hint, const char *fmt,
                         ...) BIR_PRINTF(5, 6);

/* The same about a member of the value at offset: suffix as in struct bir_diag. */
enum bir_status bir_fail_member(struct bir_diags *diags, const char *code, int64_t offset, const char *suffix,
                                const char *hint, const char *fmt, ...) BIR_PRINTF(6, 7);

/* The same for a limit: error plus BIR_LIMIT. */
enum bir_status bir_fail_limit(struct bir_diags *diags, const char *code, int64_t offset, const char *hint,
                               const char *fmt, ...) BIR_PRINTF(5, 6);

const char *bir_severity_name(enum bir_severity severity); /* "error", "warning", "note" */

#endif
