/* Op-specific keys as data: type, default, and what reader and writers do with them (bir-json.md section 13). */
#ifndef BIR_BIR_OP_KEYS_H
#define BIR_BIR_OP_KEYS_H

#include "bir/module.h"

enum bir_op_key_type {
    BIR_OPKEY_BOOL,
    BIR_OPKEY_INT,
    BIR_OPKEY_UINT,
    BIR_OPKEY_FLOAT,
    BIR_OPKEY_ENUM,
    BIR_OPKEY_TEXT,
    BIR_OPKEY_LIST, /* an array */
    BIR_OPKEY_EXPR, /* an expression object */
    BIR_OPKEY_ANY,  /* shape not known, kept verbatim */
};

/* What the elements of a list are: checked, and spelled in one way when written. */
enum bir_op_key_elements {
    BIR_ELEMENTS_ANY = BIR_ENUM_COUNT,
    BIR_ELEMENTS_FLOATS,
    BIR_ELEMENTS_INTS,
    BIR_ELEMENTS_INT_LISTS,
    BIR_ELEMENTS_TEXTS,
    BIR_ELEMENTS_PAIRS, /* [step, num], or {step, num} (bir-json.md section 2, choice) */
};

enum {
    BIR_OPKEYF_AFFINE =
        1 << 0, /* MaybeAffine: an expression object may stand for the scalar (for an element of a list) */
    BIR_OPKEYF_REQUIRED = 1 << 1, /* missing is an error; never skipped */
    BIR_OPKEYF_STRICT = 1 << 2,   /* missing is an error in strict mode only (sources differ) */
    BIR_OPKEYF_ALWAYS = 1 << 3,   /* never skipped, written with its default when absent */
    BIR_OPKEYF_KEPT = 1 << 4,     /* never skipped when present (defaults differ between sources) */
};

struct bir_op_key {
    uint16_t opcode;
    uint8_t type;    /* enum bir_op_key_type */
    uint8_t enum_id; /* of BIR_OPKEY_ENUM; of BIR_OPKEY_LIST one of enum bir_op_key_elements; else BIR_ENUM_COUNT */
    uint8_t flags;
    uint8_t key_len;
    const char *key;
    const char *fallback; /* default as text, or NULL */
};

/* The row of a key of an op, its base's rows included, or NULL. */
const struct bir_op_key *bir_op_key_find(uint16_t opcode, const char *key, size_t len);

/* The rows of exactly this opcode (no base): how many, and the first of them. */
size_t bir_op_key_rows(uint16_t opcode, const struct bir_op_key **first);

/* The abstract op whose keys this one has as well, or BIR_OP_UNKNOWN. */
uint16_t bir_op_key_base(uint16_t opcode);

/* Does the property hold the key's default, so that a canonical writer may leave it out? */
bool bir_op_key_is_default(const struct bir_op_key *row, const struct bir_prop *prop);

/* Every row, for tests and documents. */
size_t bir_op_key_count(void);
const struct bir_op_key *bir_op_key_at(size_t i);

/* "an integer", "a name of AluOpType", ... for messages. */
const char *bir_op_key_expected(const struct bir_op_key *row);

#endif
