/*
 * JSON values with two spellings: how an input document writes them, and how the canonical form must.
 *
 * A generator builds one tree; the two printers make two texts of it. They differ in members that only one of them has
 * (defaults that the canonical form drops or adds), in order, in white space, in the spelling of scalars, and where a
 * whole value is another one (`canonical` of a node). The printers know nothing of lib/bir.
 */
#ifndef TESTS_RANDOM_TREE_H
#define TESTS_RANDOM_TREE_H

#include "base/arena.h"
#include "base/buf.h"

enum tree_type { TREE_SCALAR, TREE_TEXT, TREE_ARRAY, TREE_OBJECT };

enum { TREE_IN = 1, TREE_OUT = 2, TREE_BOTH = 3 };

struct tree_member {
    struct tree_member *next;
    struct tree *value;
    const char *key; /* of objects: its bytes, unescaped */
    unsigned where;
};

struct tree {
    enum tree_type type;
    const char *text;       /* TREE_SCALAR: canonical spelling. TREE_TEXT: bytes, unescaped */
    size_t len;             /* of text */
    const char *spelling;   /* TREE_SCALAR: of the input */
    struct tree *canonical; /* the value the canonical form has instead, or NULL */
    struct tree_member *first, **tail;
    uint32_t count;
};

/* Memory for trees: aborts when there is none. */
struct tree *tree_new(struct bir_arena *arena, enum tree_type type);
struct tree *tree_scalar(struct bir_arena *arena, const char *canonical, const char *spelling);
struct tree *tree_text(struct bir_arena *arena, const char *text);
struct tree *tree_text_n(struct bir_arena *arena, const char *text, size_t len);
struct tree *tree_int(struct bir_arena *arena, int64_t value);
/* Finite; the input spells it as it likes. random chooses how. */
struct tree *tree_double(struct bir_arena *arena, double value, uint64_t *random);
struct tree *tree_bool(struct bir_arena *arena, bool value);
const char *tree_printf(struct bir_arena *arena, const char *fmt, ...) BIR_PRINTF(2, 3);

void tree_put(struct bir_arena *arena, struct tree *object, unsigned where, const char *key, struct tree *value);
void tree_add(struct bir_arena *arena, struct tree *array, struct tree *value);
/* The member of an object, or NULL. */
struct tree_member *tree_find(const struct tree *object, const char *key);

/* Canonical layout: keys by their bytes, indent 0 = compact. */
void tree_print_canonical(const struct tree *tree, uint32_t indent, struct bir_buf *out);

/* As an input: order seeds the order of keys and the spelling of strings, space the white space (0 = none). The same
 * order gives the same tokens whatever space is. */
struct tree_style {
    uint64_t order, space;
    bool sorted; /* keys stay in canonical order */
};
void tree_print_input(const struct tree *tree, struct tree_style style, struct bir_buf *out);

/* Shortest digits that read back as the value, laid out as base/json_writer.h documents. Finite values only. */
void tree_format_double(double value, char out[64]);

#endif
