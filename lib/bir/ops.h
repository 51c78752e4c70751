/*
 * The opcodes of BIR as data: ordinal, wire name, properties, and the op-specific keys (enums.md section 4, bir-json.md 13).
 *
 * BIR_OPCODES lists every InstructionType of build 2.24 in ordinal order: X(ordinal, NAME, "WireName", flags). Opcodes of early 2025 that 2.24
 * dropped follow with ordinals from BIR_OP_LEGACY_FIRST.
 */
#ifndef BIR_BIR_OPS_H
#define BIR_BIR_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bir_op_flag {
    BIR_OPF_ABSTRACT = 1 << 0,   /* never a leaf in a document */
    BIR_OPF_REGION = 1 << 1,     /* owns blocks: Loop, DynamicForLoop, DoWhile, DMABlock */
    BIR_OPF_TERMINATOR = 1 << 2, /* ends a block */
    BIR_OPF_DMA = 1 << 3,        /* moves memory through queues */
    BIR_OPF_REGISTER = 1 << 4,   /* RegisterAlu, RegisterMove, TensorLoad, TensorSave: register code */
    BIR_OPF_COLLECTIVE = 1 << 5,
    BIR_OPF_LEGACY = 1 << 6,
};

#include "bir/ops.def" /* defines BIR_OPCODES(X) */

enum bir_opcode {
#define BIR_OPCODE_ENUM(ordinal, NAME, wire, flags) BIR_OP_##NAME = (ordinal),
    BIR_OPCODES(BIR_OPCODE_ENUM)
#undef BIR_OPCODE_ENUM
    BIR_OP_UNKNOWN = 0xFFFF /* lenient: the text is in rare->texts->opcode */
};

const char *bir_opcode_name(uint16_t opcode); /* "?" for BIR_OP_UNKNOWN */
uint16_t bir_opcode_from_name(const char *name, size_t len); /* BIR_OP_UNKNOWN when none */
unsigned bir_opcode_flags(uint16_t opcode);

/* Dense row number of an opcode, for tables indexed by opcode; -1 when it has none. */
int bir_opcode_index(uint16_t opcode);
/* How many rows, and the opcode of the i-th. */
size_t bir_opcode_count(void);
uint16_t bir_opcode_at(size_t i);

#endif
