/*
 * Router: which descriptor type an operand of an instruction has, and what it may name (descriptors.md section 4).
 *
 * The slot type is a fact of (opcode, list, position, generation), never of the pattern's rank.
 */
#ifndef BIR_ISA_SLOTS_H
#define BIR_ISA_SLOTS_H

#include "bir/module.h"
#include "isa/descriptor.h"

enum isa_slot_flag {
    ISA_SLOTF_SBUF = 1 << 0,         /* may be in SBUF */
    ISA_SLOTF_PSUM = 1 << 1,         /* may be in PSUM */
    ISA_SLOTF_MATMUL_DST = 1 << 2,   /* rule V06 */
    ISA_SLOTF_KEEP_UNITS = 1 << 3,   /* the op names slots by a sub-dimension selector: no compaction */
    ISA_SLOTF_CHOICE = 1 << 4,       /* no documented row: chosen by the op's family */
    ISA_SLOTF_FLOAT32R_IN = 1 << 5,  /* reads float32r (rule V20) */
    ISA_SLOTF_INT64 = 1 << 6,        /* takes 64-bit integers (rule V20) */
    ISA_SLOTF_SCALE = 1 << 7,        /* MX scale: its address travels in another operand's descriptor */
    ISA_SLOTF_INDEX = 1 << 8,        /* index vector of a gather: likewise */
    ISA_SLOTF_UNSUPPORTED = 1 << 9,  /* the generation has no known layout for this operand; see reason */
    ISA_SLOTF_NO_QUADRANT = 1 << 10, /* any start partition (index and scale operands, register loads) */
    ISA_SLOTF_DRAM = 1 << 11,        /* may be in DRAM: register loads and saves, which then have no on-chip bytes */
};

struct isa_route {
    enum isa_slot slot; /* NONE: this operand has no on-chip bytes; reason says why */
    unsigned flags;     /* enum isa_slot_flag */
    const char *reason;
};

/* The route of the position-th operand of a list of inst. */
struct isa_route isa_route_operand(const struct bir_instruction *inst, enum bir_role role, uint32_t position,
                                   enum isa_generation generation);

/* Positions that Matmult's operands have (choice: lowering.md correction 8; bir-json.md 13.1 has them the other way
 * round). */
enum { ISA_MATMULT_STATIONARY = 0, ISA_MATMULT_MOVING = 1 };
/* Positions of CopyPredicated's inputs (choice: the order of the kernel operator's fields; the word has the predicate
 * first). */
enum { ISA_COPY_PREDICATED_DATA = 0, ISA_COPY_PREDICATED_PREDICATE = 1 };
/* Positions of the scales of MatmultMx and QuantizeMx (choice: bir-json.md 13.1 says only that scales are added). */
enum { ISA_MATMULT_MX_STATIONARY_SCALE = 2, ISA_MATMULT_MX_MOVING_SCALE = 3, ISA_QUANTIZE_MX_SCALE = 1 };

/* The scale operand that belongs to an MX data operand at this place, or -1. Same list as the data. */
int isa_mx_scale_position(uint16_t opcode, enum bir_role role, uint32_t position);

/* Value of a boolean property, false when absent or not a boolean. */
bool isa_prop_bool(const struct bir_instruction *inst, const char *key);
/* The value of a boolean, an integer, or an expression that is constant; false for any other. */
bool isa_prop_number(const struct bir_prop *prop, int64_t *value);
/* An integer property; def when absent. */
int64_t isa_prop_int(const struct bir_instruction *inst, const char *key, int64_t def);
/* The enum value of a text property; def when absent or unknown. */
int isa_prop_enum(const struct bir_instruction *inst, const char *key, enum bir_enum_id id, int def);

#endif
