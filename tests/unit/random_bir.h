/*
 * Random BIR-JSON documents from a seed: every op, key, operand kind, storage and record of bir-json.md, with defaults
 * present and absent, unknown keys everywhere, every spelling that a reader must accept, and the canonical form that
 * must come out. What ops there are, their keys, types, defaults and gates comes from tests/vectors/bir/ops_2_24.tsv
 * (bir-json.md section 13), bir-ops.tsv (early 2025) and enums.tsv, not from lib/bir.
 */
#ifndef TESTS_RANDOM_BIR_H
#define TESTS_RANDOM_BIR_H

#include "random_tree.h"

#define RANDOM_BIR_UNKNOWN "zz" /* every unknown key begins so */

/* One key of one op, and how often it has been met in which way. */
struct random_bir_key {
    const char *op, *key, *type;
    const char *fallback; /* canonical text (names without quotes), NULL = none */
    enum { RANDOM_BIR_REQUIRED, RANDOM_BIR_ALWAYS, RANDOM_BIR_KEPT, RANDOM_BIR_DROP } gate;
    bool affine; /* an expression may stand for the scalar */
    bool early;  /* of bir-ops.tsv only: when to drop a default is not documented, so it is never written */
    uint32_t absent, defaults, values, expressions;
};

struct random_bir_op {
    const char *name, *base;
    uint32_t count; /* instructions */
};

struct random_bir_enum {
    const char *title;
    const char **names;
    uint32_t count;
};

struct random_bir_tables {
    struct bir_arena arena;
    struct random_bir_key *keys;
    struct random_bir_op *ops; /* the 120 opcodes, then the bases that are none */
    struct random_bir_enum *enums;
    uint32_t n_keys, n_ops, n_opcodes, n_enums;
    /* operands met: [kind by random_bir_kinds][role] */
    uint32_t operands[8][3];
};

extern const char *const random_bir_kinds[8];

struct random_bir_options {
    uint64_t seed;
    uint32_t size;  /* instructions, about */
    const char *op; /* occurs at least once; NULL = any */
};

struct random_bir {
    struct bir_arena arena;
    struct tree *document;
    uint32_t version;
    bool strict; /* fit for strict reading */
    bool huge;   /* has integers beyond 64 bits, which jansson refuses */
};

void random_bir_tables_load(struct random_bir_tables *tables);
void random_bir_tables_free(struct random_bir_tables *tables);

void random_bir_make(struct random_bir *bir, struct random_bir_tables *tables,
                     const struct random_bir_options *options);
void random_bir_free(struct random_bir *bir);

#endif
