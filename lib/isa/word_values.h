/* Values of one word on their way into a layout. Private to the word encoders. */
#ifndef BIR_ISA_WORD_VALUES_H
#define BIR_ISA_WORD_VALUES_H

#include "isa/layout.h"
#include "isa/words.h"

struct isa_word_values {
    uint64_t value[ISA_VALUES];
    const struct isa_operand *operand[ISA_VAL_DST + 1]; /* SRC0, SRC1, DST */
};

/* An instruction on its way to words. A failing step sets words->reason and gives false. */
struct isa_word_builder {
    const struct isa_operands *operands;
    const struct bir_instruction *inst;
    enum isa_generation generation;
    struct isa_words *words;
    struct isa_word_values values;
    bool is_unreadable; /* a property of the instruction has a value that nothing here can read: no word comes of it */
};

bool isa_word_fail(struct isa_word_builder *b, const char *reason);
/* Names a field that stays zero. */
void isa_word_unknown(struct isa_word_builder *b, const char *field);
/* Appends the word of an opcode byte from the values so far. */
bool isa_word_emit(struct isa_word_builder *b, uint8_t opcode);

/* The i-th encoded operand of a list, or NULL when absent, without bytes or beyond what words refer to. */
const struct isa_operand *isa_word_operand(const struct isa_word_builder *b, enum bir_role role, uint32_t i);
/* The argument itself, whatever its kind; NULL when absent. */
const struct bir_argument *isa_word_argument(const struct isa_word_builder *b, enum bir_role role, uint32_t i);
/* SRC0 = ins[0], DST = outs[0], their tags, channels of the destination. False when one has no descriptor. */
bool isa_word_source_and_destination(struct isa_word_builder *b);
/* ALU op of a property; def when the property is absent. */
bool isa_word_alu(struct isa_word_builder *b, const char *key, enum isa_value value);
/* Whether an ALU op works on bits (choice: not, and, or, xor and the four shifts). */
bool isa_alu_is_bitwise(int alu_op);
/* A property of the instruction, def (or false) when it is absent. One that is there and cannot be read - an expression
 * that is no constant, a name of another release, a number beyond 64 bits - makes the builder fail in the end. */
int64_t isa_word_int(struct isa_word_builder *b, const char *key, int64_t def);
bool isa_word_bool(struct isa_word_builder *b, const char *key);
int isa_word_enum(struct isa_word_builder *b, const char *key, enum bir_enum_id id, int def);
void isa_word_unreadable(struct isa_word_builder *b, const char *key, const struct bir_prop *prop);
/* Its float32 bits. */
uint32_t isa_word_float_bits(struct isa_word_builder *b, const char *key, double def);

/* One function a family; each emits its words or fails with a reason. */
bool isa_words_registers(struct isa_word_builder *b); /* RegisterMove, RegisterAlu, TensorLoad/Save, branches */
bool isa_words_tensor(struct isa_word_builder *b); /* TensorTensor, copies, scalars, Activation, Memset, IndirectCopy */
bool isa_words_matrix(struct isa_word_builder *b); /* Matmult, MatmultMx, QuantizeMx */
bool isa_words_dma(struct isa_word_builder *b);    /* DMA direct 2D */

#endif
