/*
 * Interned strings. Two strings of one table are equal exactly when their pointers are equal.
 */
#ifndef BIR_BASE_STR_H
#define BIR_BASE_STR_H

#include <string.h>

#include "base/arena.h"
#include "base/ref_table.h"

struct bir_str {
    uint32_t len; /* bytes, without the terminating NUL; the text may contain NULs */
    char text[];
};

struct bir_strtab {
    struct bir_arena *arena;
    struct bir_ref_table table;
    bir_ref *pending; /* strings that are not in the table yet */
    uint32_t pending_count, pending_capacity;
    uint64_t seed; /* of the hash; differs from run to run, decides no output */
};

void bir_strtab_init(struct bir_strtab *table, struct bir_arena *arena);

/* The one bir_str with these bytes, made when missing. NULL on allocation failure or len > UINT32_MAX - 16. */
const struct bir_str *bir_intern(struct bir_strtab *table, const char *text, size_t len) BIR_MUST_CHECK;
const struct bir_str *bir_intern_cstr(struct bir_strtab *table, const char *text) BIR_MUST_CHECK;

/* The same for bytes that no string of the table has, as the caller knows: they are not looked for, and entered when
 * the table is asked next. */
const struct bir_str *bir_intern_new(struct bir_strtab *table, const char *text, size_t len) BIR_MUST_CHECK;
/* Room for so many more of these at once; false on failure. */
bool bir_strtab_expect_new(struct bir_strtab *table, uint32_t more) BIR_MUST_CHECK;
/* Does any string fulfil the condition? */
bool bir_strtab_any(const struct bir_strtab *table, bool (*holds)(const struct bir_str *s, void *user), void *user);

/* printf into the table. */
const struct bir_str *bir_intern_printf(struct bir_strtab *table, const char *fmt, ...) BIR_PRINTF(2, 3) BIR_MUST_CHECK;

/* Like bir_intern without making one: NULL when absent. */
const struct bir_str *bir_intern_find(const struct bir_strtab *table, const char *text, size_t len);

/* Byte order (memcmp, then length): the order of keys in canonical JSON. */
int bir_str_compare(const struct bir_str *a, const struct bir_str *b);

/* By identity, so different for the same text in different tables and runs. */
static inline uint32_t bir_str_hash(const struct bir_str *s)
{
    return bir_ref_hash_pointer(s);
}

static inline bool bir_str_is(const struct bir_str *s, const char *text)
{
    return s && s->len == strlen(text) && memcmp(s->text, text, s->len) == 0;
}

#endif
