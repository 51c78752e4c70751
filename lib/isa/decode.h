/*
 * Bytes back to fields: a descriptor of a named slot, or 64-byte instruction words.
 *
 * Decoding never fails on contents: whatever is illegal is listed as a problem beside the fields. JSON is one object
 * with the field names of descriptors.md; an address is {"word","mode"} plus where it leads ("space", "partition",
 * "bank", "byte" or "register"); a dtype tag or ALU byte has its name in a second member "<field>_name". Several words
 * give {"words":[...]}.
 */
#ifndef BIR_ISA_DECODE_H
#define BIR_ISA_DECODE_H

#include "base/buf.h"
#include "base/diag.h"
#include "isa/layout.h"
#include "isa/validate.h"

#define ISA_MAX_PROBLEMS 24u

struct isa_decoded_field {
    const struct isa_word_field *field;
    uint64_t value;                   /* ISA_FIELD_VALUE and _CONST */
    struct isa_descriptor descriptor; /* ISA_FIELD_SLOT */
};

#define ISA_MAX_FIELDS 32u

/* One instruction word. */
struct isa_decoded_word {
    const struct isa_word_layout *layout; /* NULL: only the header is known */
    const char *name;                     /* of the opcode byte, "?" when unknown */
    struct isa_decoded_field fields[ISA_MAX_FIELDS];
    uint32_t n_fields;
    struct isa_problem problems[ISA_MAX_PROBLEMS];
    uint32_t n_problems;
};
void isa_decode_word(const uint8_t bytes[64], enum isa_generation generation, struct isa_decoded_word *out);

struct isa_decoded_descriptor {
    enum isa_slot slot; /* asked for; descriptor.slot is the variant found */
    struct isa_descriptor descriptor;
    struct isa_problem problems[ISA_MAX_PROBLEMS];
    uint32_t n_problems;
    bool canonical; /* static form: spare slots are (1, 1) */
};
/* tag: wire tag of the operand's dtype, 0 when not known (then alignment and PSUM write rules are left out). False when
 * len is not the slot's size. */
bool isa_decode_slot(enum isa_slot slot, enum isa_generation generation, uint8_t tag, const uint8_t *bytes, size_t len,
                     struct isa_decoded_descriptor *out);

struct isa_decode_options {
    enum bir_arch arch; /* BIR_ARCH_NONE: gen3 */
    enum isa_slot slot; /* ISA_SLOT_NONE: instruction words */
    bool json;
    uint32_t indent; /* JSON */
};

/* Decodes and prints, appended to out. With slot NONE, bytes that start with "RISA" are a file of encode --format bin,
 * whose own architecture counts: {"arch","records":[...]}, one record a function or instruction. BIR_INVALID with a
 * diagnostic when the length fits no slot or word, or the architecture has no decoder. */
enum bir_status isa_decode(const uint8_t *bytes, size_t len, const struct isa_decode_options *options,
                           struct bir_diags *diags, struct bir_buf *out) BIR_MUST_CHECK;

/* Hex text to bytes: white space, ':' and a leading "0x" are skipped. BIR_INVALID with a diagnostic (offset in the
 * text) when it holds anything else, an odd number of digits, or more than capacity bytes. */
enum bir_status isa_parse_hex(const char *text, size_t len, uint8_t *bytes, size_t capacity, size_t *n,
                              struct bir_diags *diags) BIR_MUST_CHECK;

#endif
