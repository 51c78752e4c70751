/*
 * From an operand of the module to the bytes of its descriptor (descriptors.md 1.3, 1.4 and sections 2 to 4).
 */
#ifndef BIR_ISA_OPERAND_H
#define BIR_ISA_OPERAND_H

#include "isa/validate.h"

enum isa_outcome {
    ISA_ENCODED,
    ISA_NO_BYTES, /* nothing on the chip to describe: reason says why */
    ISA_REFUSED,  /* a rule was broken: the problem says which */
};

struct isa_operand {
    const struct bir_argument *argument;
    uint32_t position;
    enum isa_outcome outcome;
    enum isa_slot slot;  /* of the instruction; descriptor.slot is the variant inside it */
    unsigned slot_flags; /* enum isa_slot_flag */
    const char *reason;  /* ISA_NO_BYTES */
    const char *warning; /* encoded, but worth saying; or NULL */
    uint8_t size_bytes;
    uint8_t tag; /* wire tag of the dtype */
    uint8_t bytes[ISA_MAX_DESCRIPTOR_BYTES];
    struct isa_descriptor descriptor;
    uint32_t partitions; /* num_active_channels, 0 when the operand has no pattern */
    enum isa_space space;
    bool is_register;
    uint32_t register_id;
    uint32_t partition, byte; /* of the first element, within the partition; immediate addresses only */
    uint64_t elems;           /* per partition */
};

/* Encodes the position-th operand of its list. Fills out in every case; problem only when refused. */
enum isa_outcome isa_operand_encode(const struct bir_argument *argument, uint32_t position,
                                    enum isa_generation generation, struct isa_operand *out,
                                    struct isa_problem *problem);

/* Start of an access in its memory, units of descriptors.md 1.3. */
struct isa_start {
    enum isa_space space;
    uint32_t partition;
    uint32_t byte; /* within the partition; a PSUM bank is bank * 2048 */
};
/* Where a physical access in SBUF or PSUM starts. False with a problem when it has no address or leaves the memory. */
bool isa_operand_start(const struct bir_physical_ap *access, enum isa_generation generation, struct isa_start *start,
                       struct isa_problem *problem);

#endif
