/* State of one decoding run, and the faults it can end with. Private to lib/klr. */
#ifndef KLR_READER_H
#define KLR_READER_H

#include "base/vec.h"
#include "klr/head.h"
#include "klr/schema.h"

/* One step from a value to a value inside it: a field of a node, or an element of a list. */
struct klr_step {
    uint8_t type, ctor; /* of a field: whose */
    bool is_position;
    union {
        const struct klr_field *field;
        const struct klr_node *element; /* of a position: its node, once the head has been read and if it is kept */
    };
    uint64_t position;
};

/* Of a tensor's bytes, and of its name alone. */
struct klr_tensor_hashes {
    uint32_t bytes, name;
};

struct klr_tensor_entry {
    const struct klr_node *node; /* NULL = free */
    size_t start, len;           /* its bytes */
    struct klr_tensor_hashes hashes;
};

/* Recent Strings are told apart by their length, modulo this. */
enum { KLR_RECENT = 16 };

struct klr_reader {
    const uint8_t *bytes;
    size_t len;
    size_t pos;
    struct klr_limits limits;
    struct bir_strtab *strings;
    struct bir_arena *arena;
    struct bir_diags *diags;
    struct bir_arena scratch;
    BIR_VEC(struct klr_step) steps;         /* from the file down to the value being read */
    uint32_t reached;                       /* steps of the value that began last; those above steps.count are stale */
    BIR_VEC(union klr_slot) values;         /* elements of the lists being read */
    BIR_VEC(const struct klr_node *) rules; /* nodes with rules of meaning, each once */
    struct klr_tensor_entry *tensors;       /* open addressing, power of two, at most half full */
    uint32_t *tensor_hints;                 /* places in tensors plus 1, by the hash of the name; 0 = free */
    uint32_t tensor_capacity, tensor_count; /* the capacity is of tensors */
    const struct bir_str *recent[KLR_RECENT];
    enum klr_dialect dialect;
    uint32_t nesting;
    uint64_t statements;
    uint32_t unpolled; /* values since the cancel token was looked at */
    /* Looking for the value at an offset: nothing is built but the nodes and names of blocks and statements. */
    bool locating, located;
    size_t target;
    struct klr_step *found; /* steps to the value, when located */
    uint32_t found_count;
};

void klr_reader_init(struct klr_reader *r, const void *bytes, size_t len, const struct klr_limits *limits,
                     struct bir_strtab *strings, struct bir_arena *arena, struct bir_diags *diags);
void klr_reader_deinit(struct klr_reader *r);

/* Decodes the whole file. When locating, returns BIR_CANCELLED as soon as what was looked for is known, and file is not
 * written. */
enum bir_status klr_decode(struct klr_reader *r, struct klr_file *file) BIR_MUST_CHECK;

/* The tensor whose bytes stand at r->pos, when it is among the last ones with its name: moves behind it. Else NULL, not
 * moved. Writes hashes->name. */
const struct klr_node *klr_tensor_recognise(struct klr_reader *r, struct klr_tensor_hashes *hashes);
/* The tensor that was written with the bytes [start, r->pos) before, or NULL. Writes hashes->bytes. */
const struct klr_node *klr_tensor_find(const struct klr_reader *r, size_t start, struct klr_tensor_hashes *hashes);
/* Remembers it; the bytes are not in the table yet. */
enum bir_status klr_tensor_add(struct klr_reader *r, size_t start, const struct klr_tensor_hashes *hashes,
                               const struct klr_node *node) BIR_MUST_CHECK;

/* Error at an offset, with the trail of expected types behind the message. hint may be NULL; else it
 * is static or in the arena of the diagnostics. */
enum bir_status klr_fault(struct klr_reader *r, const char *code, size_t offset, const char *hint, const char *fmt, ...)
    BIR_PRINTF(5, 6);
/* The same for a limit. */
enum bir_status klr_fault_limit(struct klr_reader *r, const char *code, size_t offset, const char *hint,
                                const char *fmt, ...) BIR_PRINTF(5, 6);
/* An allocation from one of the reader's arenas failed. */
enum bir_status klr_fault_memory(struct klr_reader *r, const struct bir_arena *arena);

/* The head at r->pos is none of those that start a value of this type (wraps as in klr_field). */
enum bir_status klr_fault_head(struct klr_reader *r, enum klr_type type, uint8_t wraps, const struct klr_head *head);
/* -1 - value in decimal; digits may be used for it. */
enum { KLR_NEGATIVE_BYTES = 24 };
const char *klr_negative_words(uint64_t value, char digits[KLR_NEGATIVE_BYTES]);

/* The value at r->pos has another type tag, a constructor that the type does not have, or a foreign field count (head:
 * that of the count). */
enum bir_status klr_fault_tag(struct klr_reader *r, enum klr_type type, const struct klr_head *head);
enum bir_status klr_fault_ctor(struct klr_reader *r, enum klr_type type, uint32_t ctor);
enum bir_status klr_fault_count(struct klr_reader *r, enum klr_type type, const struct klr_arm *arm,
                                const struct klr_head *head);

#endif
