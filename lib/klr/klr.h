/*
 * Reader of .klr files: bytes in, a read-only tree of compact generic nodes out (klr-format.md).
 *
 * A node is one structure or sum value; its slots are its fields in wire order, without the proof fields, which have no
 * value. Constants name everything, spelt as on the wire:
 *
 *     KLR_TYPE_TensorTensor        type of a node
 *     KLR_Operator_tensorTensor    arm of a sum, value of an enumeration (wire number)
 *     KLR_TensorTensor_dst         slot of a structure's field
 *     KLR_Operand_tile_t           slot of an arm's field; KLR_Operator_op is the same slot for every operator
 *
 * so a statement is walked like this:
 *
 *     const struct klr_node *op = klr_node_at(stmt, KLR_Stmt_oper_op);       (op->ctor == KLR_Operator_tensorTensor)
 *     const struct klr_node *add = klr_node_at(op, KLR_Operator_op);         (add->type == KLR_TYPE_TensorTensor)
 *     uint32_t alu = klr_enum_at(add, KLR_TensorTensor_op);                  (alu == KLR_AluOp_add)
 *     if (klr_option_enum(add, KLR_TensorTensor_dtype, &dtype)) ...
 */
#ifndef KLR_KLR_H
#define KLR_KLR_H

#include <assert.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/str.h"

/* Primitive types first, then the 116 types of the schema in tag order. */
enum klr_type {
    KLR_TYPE_Nat,          /* slot.nat, 64 bits */
    KLR_TYPE_Int,          /* slot.integer, 64 bits */
    KLR_TYPE_Int32,        /* slot.integer, within 32 bits */
    KLR_TYPE_Float32,      /* slot.float_bits, slot.float32 */
    KLR_TYPE_Bool,         /* slot.boolean */
    KLR_TYPE_String,       /* slot.string */
    KLR_TYPE_Prop,         /* never in a slot */
    KLR_TYPE_PythonKernel, /* named by the schema, refused by the reader */
    KLR_TYPE_NkiKernel,    /* likewise */
    KLR_TYPE_FIRST_NODE,
    KLR_TYPE_BEFORE_NODES = KLR_TYPE_FIRST_NODE - 1,
#define KLR_STRUCTURE(type, tag, ctor, count) KLR_TYPE_##type,
#define KLR_SUM(type, tag, arms)              KLR_TYPE_##type,
#define KLR_ENUM(type, tag, arms)             KLR_TYPE_##type,
#include "klr/schema.def"
    KLR_TYPE_COUNT
};

/* Arms of sums and values of enumerations: KLR_<type>_<arm> = wire number. */
enum klr_ctor {
#define KLR_ARM(type, arm, ctor, count) KLR_##type##_##arm = (ctor),
#include "klr/schema.def"
};

/* Slots: KLR_<structure>_<field> and KLR_<sum>_<arm>_<field>, counted from 0 within a structure or arm. */
enum klr_slot_index {
    KLR_Operator_op = 0,
#define KLR_STRUCTURE(type, tag, ctor, count)       KLR_BEFORE_##type = -1,
#define KLR_FIELD(type, field, wrap, base)          KLR_##type##_##field,
#define KLR_ARM(type, arm, ctor, count)             KLR_BEFORE_##type##_##arm = -1,
#define KLR_ARM_FIELD(type, arm, field, wrap, base) KLR_##type##_##arm##_##field,
#include "klr/schema.def"
};

struct klr_node;
struct klr_list;

/* A value. What a field holds follows from its type; an Option holds NULL for none, else what its value holds when that
 * is a pointer (string, node, list), and `boxed`, a pointer to the value's slot, when it is not (numbers, Bool, enum).
 */
union klr_slot {
    uint64_t nat;
    int64_t integer;
    float float32;
    uint32_t float_bits;
    uint32_t enumerator; /* wire number of an enumeration's value */
    bool boolean;
    const struct bir_str *string;
    const struct klr_node *node;
    const struct klr_list *list;
    const union klr_slot *boxed;
};
static_assert(sizeof(union klr_slot) == 8, "slots are eight bytes");

struct klr_node {
    uint8_t type; /* enum klr_type */
    uint8_t ctor; /* wire number; 0 for structures */
    uint16_t offset_high;
    uint32_t offset_low;
    union klr_slot fields[];
};

struct klr_list {
    uint64_t count;
    union klr_slot items[];
};

enum klr_content { KLR_CONTENT_PYTHON, KLR_CONTENT_NKI, KLR_CONTENT_KERNEL, KLR_CONTENT_LNC, KLR_CONTENT_HLO };

/* The two ways to write proof fields (klr-format.md 3). Undecided: the file has no tensor. */
enum klr_dialect { KLR_DIALECT_UNDECIDED, KLR_DIALECT_LEAN /* no bytes */, KLR_DIALECT_CPP /* 0x80 each */ };

struct klr_file {
    uint64_t version[3];            /* major, minor, patch: 0.0.12 so far */
    const struct bir_str *metadata; /* "NKI" so far */
    enum klr_content content;       /* KLR_CONTENT_KERNEL or KLR_CONTENT_LNC */
    enum klr_dialect dialect;
    const struct klr_node *kernel; /* of KLR_TYPE_Kernel or KLR_TYPE_LncKernel, as content says */
    uint64_t statements;
    uint64_t tensors; /* distinct TensorNames */
};

struct bir_cancel;

struct klr_limits {
    uint32_t max_nesting;      /* Access values inside one another; at most KLR_NESTING_MAX */
    uint64_t max_string_bytes; /* of one string */
    uint64_t max_statements;   /* of the whole file */
    struct bir_cancel *cancel; /* looked at every 1,024 values; NULL = never */
};

/* Above this the C stack would be at stake, so larger settings are cut to it. */
#define KLR_NESTING_MAX 1024u
/* Files from the tracer nest to depth 1 (klr-format.md 4). */
#define KLR_NESTING_DEFAULT      256u
#define KLR_STRING_BYTES_DEFAULT (UINT64_C(16) << 20)
#define KLR_STATEMENTS_DEFAULT   (UINT64_C(1) << 24)
#define KLR_LIMITS_DEFAULT                                                                                             \
    ((struct klr_limits){ KLR_NESTING_DEFAULT, KLR_STRING_BYTES_DEFAULT, KLR_STATEMENTS_DEFAULT, NULL })

/*
 * Reads a whole file. The nodes go to arena, the strings to strings; both may be the same module's. limits may be NULL
 * for the defaults. TensorNames with equal bytes are one node, which carries the offset of the first. On failure *out
 * is untouched and diags says where and why: encoding faults stop at the first, faults of meaning (sizes that do not
 * fit, slice steps of 0) are all listed. A foreign version number is a warning. Returns BIR_CANCELLED, without a
 * diagnostic, when limits->cancel is found set. Memory stays below 3 times the file's size plus a constant for files of
 * the tracer.
 */
enum bir_status klr_read(const void *bytes, size_t len, const struct klr_limits *limits, struct bir_strtab *strings,
                         struct bir_arena *arena, struct bir_diags *diags, struct klr_file *out) BIR_MUST_CHECK;

/* True when the bytes begin like a .klr file (self-described CBOR d9 d9 f7), as much of that as is there. JSON never
 * does. */
bool klr_is_klr(const void *bytes, size_t len);

/*
 * Path of the innermost value that contains the byte at offset: member names and list positions, with the labels of
 * blocks and the names of statements in place of positions, "/bodies/0/main.1/inst.12/dst/access/pattern/1". Members
 * that add nothing are left out: Block.body, Stmt.op, Operator's payload, Access's "access". "" is the whole file.
 * Works on broken files: whatever can be read up to the offset counts, and behind it only the rest of the statement,
 * for its name. NULL on allocation failure. Names are escaped as in JSON pointers (~0, ~1).
 */
const char *klr_path_at(const void *bytes, size_t len, size_t offset, struct bir_arena *arena);

/* Names from the schema; NULL for what it does not have. */
const char *klr_type_name(enum klr_type type);
const char *klr_ctor_name(enum klr_type type, uint32_t ctor); /* arm or enumeration value; "mk" for structures */
const char *klr_field_name(enum klr_type type, uint32_t ctor, uint32_t slot);
uint32_t klr_field_count(enum klr_type type, uint32_t ctor); /* slots, so without proofs */
const char *klr_content_name(enum klr_content content);

/* Bytes of one element (klr-format.md 9.2); 0 for a number that is no Dtype. */
uint32_t klr_dtype_bytes(uint32_t dtype);

static inline uint64_t klr_offset(const struct klr_node *node)
{
    return (uint64_t)node->offset_high << 32 | node->offset_low;
}

static inline uint64_t klr_nat_at(const struct klr_node *node, enum klr_slot_index slot)
{
    return node->fields[slot].nat;
}

/* Int and Int32 fields. */
static inline int64_t klr_int_at(const struct klr_node *node, enum klr_slot_index slot)
{
    return node->fields[slot].integer;
}

static inline float klr_float_at(const struct klr_node *node, enum klr_slot_index slot)
{
    return node->fields[slot].float32;
}

static inline uint32_t klr_float_bits_at(const struct klr_node *node, enum klr_slot_index slot)
{
    return node->fields[slot].float_bits;
}

static inline bool klr_bool_at(const struct klr_node *node, enum klr_slot_index slot)
{
    return node->fields[slot].boolean;
}

static inline uint32_t klr_enum_at(const struct klr_node *node, enum klr_slot_index slot)
{
    return node->fields[slot].enumerator;
}

/* Also for Option String: NULL is none. */
static inline const struct bir_str *klr_string_at(const struct klr_node *node, enum klr_slot_index slot)
{
    return node->fields[slot].string;
}

/* Also for Option: NULL is none. */
static inline const struct klr_node *klr_node_at(const struct klr_node *node, enum klr_slot_index slot)
{
    return node->fields[slot].node;
}

/* Also for Option: NULL is none. */
static inline const struct klr_list *klr_list_at(const struct klr_node *node, enum klr_slot_index slot)
{
    return node->fields[slot].list;
}

/* Options of numbers, Bool and enumerations: true and the value when there is one. */
static inline bool klr_option_nat(const struct klr_node *node, enum klr_slot_index slot, uint64_t *value)
{
    const union klr_slot *boxed = node->fields[slot].boxed;
    if (boxed)
        *value = boxed->nat;
    return boxed != NULL;
}

static inline bool klr_option_int(const struct klr_node *node, enum klr_slot_index slot, int64_t *value)
{
    const union klr_slot *boxed = node->fields[slot].boxed;
    if (boxed)
        *value = boxed->integer;
    return boxed != NULL;
}

static inline bool klr_option_enum(const struct klr_node *node, enum klr_slot_index slot, uint32_t *value)
{
    const union klr_slot *boxed = node->fields[slot].boxed;
    if (boxed)
        *value = boxed->enumerator;
    return boxed != NULL;
}

#endif
