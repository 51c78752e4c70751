/* What the walk of encode.c tells an output format; one implementation a format. Private to lib/isa. */
#ifndef BIR_ISA_WRITER_H
#define BIR_ISA_WRITER_H

#include "base/buf.h"
#include "base/json_writer.h"
#include "isa/encode.h"
#include "isa/operand.h"
#include "isa/words.h"

struct isa_totals {
    uint64_t instructions;
    uint64_t encoded; /* operands with bytes */
    uint64_t without; /* operands without */
    uint64_t refused;
    uint64_t words;
    uint64_t unknown_words[BIR_OP_LEGACY_FIRST]; /* instructions without a word, by opcode; the last row: any other */
};

struct isa_writer {
    struct bir_buf *buf;
    struct bir_json_writer json; /* JSON format */
    enum isa_generation generation;
    enum bir_arch arch;
    const struct isa_totals *totals;
    size_t record_at; /* binary format: start of the open instruction record */
};

struct isa_writer_class {
    void (*begin)(struct isa_writer *w, const struct bir_module *module);
    void (*function)(struct isa_writer *w, const struct bir_function *function);
    void (*instruction)(struct isa_writer *w, const struct bir_instruction *inst);
    /* message: why a refused operand was refused, else NULL. */
    void (*operand)(struct isa_writer *w, const struct isa_operand *operand, const char *message);
    void (*words)(struct isa_writer *w, const struct bir_instruction *inst, const struct isa_words *words);
    void (*instruction_end)(struct isa_writer *w);
    void (*function_end)(struct isa_writer *w);
    void (*end)(struct isa_writer *w);
};

extern const struct isa_writer_class isa_json_writer, isa_text_writer, isa_bin_writer;

/* Names as written in the input; "" and "?" when there is none. */
const char *isa_instruction_opcode(const struct bir_instruction *inst);
const char *isa_instruction_engine(const struct bir_instruction *inst);
const char *isa_role_name(enum bir_role role); /* "ins", "indirection_ins", "outs" */

#endif
