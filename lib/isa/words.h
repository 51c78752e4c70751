/*
 * 64-byte instruction words (descriptors.md section 7).
 */
#ifndef BIR_ISA_WORDS_H
#define BIR_ISA_WORDS_H

#include "isa/operand.h"

#define ISA_WORD_BYTES  64u
#define ISA_MAX_WORDS   4u
#define ISA_MAX_UNKNOWN 12u
/* Operands of a list that a word can refer to; further ones have no place in any layout. */
#define ISA_WORD_OPERANDS 8u

/* The encoded operands of one instruction. */
struct isa_operands {
    const struct bir_instruction *inst;
    uint32_t count[BIR_ROLE_COUNT]; /* in the lists; may exceed ISA_WORD_OPERANDS */
    struct isa_operand items[BIR_ROLE_COUNT][ISA_WORD_OPERANDS];
};

struct isa_words {
    uint32_t count;     /* words, 0 when none: reason says why */
    const char *reason; /* may be text */
    char text[128];
    bool needs_none; /* count is 0 because the instruction takes no word: a region, a branch that falls through */
    const char *unknown[ISA_MAX_UNKNOWN]; /* fields that no source determines: zero in the bytes */
    uint32_t n_unknown;
    uint8_t bytes[ISA_MAX_WORDS * ISA_WORD_BYTES];
};

void isa_words_build(const struct isa_operands *operands, enum isa_generation generation, struct isa_words *out);

/* Wire byte of an ALU op (descriptors.md 7.9), -1 when it has none on the generation. */
int isa_alu_byte(int alu_op, enum isa_generation generation);

#endif
