/*
 * Validation rules V01..V20 of operand descriptors and words (descriptors.md section 5).
 *
 * A check gives true, or fills a problem: the rule, and a message with the value and the limit. Codes are stable.
 */
#ifndef BIR_ISA_VALIDATE_H
#define BIR_ISA_VALIDATE_H

#include "base/status.h"
#include "isa/descriptor.h"
#include "isa/slots.h"

enum isa_rule {
    ISA_RULE_NONE,
    ISA_V01,
    ISA_V02,
    ISA_V03,
    ISA_V04,
    ISA_V05,
    ISA_V06,
    ISA_V07,
    ISA_V08,
    ISA_V09,
    ISA_V10,
    ISA_V11,
    ISA_V12,
    ISA_V13,
    ISA_V14,
    ISA_V15,
    ISA_V16,
    ISA_V17,
    ISA_V18,
    ISA_V19,
    ISA_V20,
    /* Problems of a BIR operand that never became a descriptor. */
    ISA_RULE_KIND,            /* kind 2 or 0 reached the encoder */
    ISA_RULE_NOT_ALLOCATED,   /* register without physical id */
    ISA_RULE_OFFSET_REGISTER, /* an offset that ADDR4 has no bits for */
    ISA_RULE_UNEXPANDED,      /* a dynamic companion that the late expansion should have removed */
    ISA_RULE_NO_LOCATION,     /* no storage, or one without an address */
    ISA_RULE_PARTITION_STEP,  /* pattern's first pair does not walk consecutive partitions */
    ISA_RULE_UNSUPPORTED,     /* operand without a known layout on this generation */
    ISA_RULE_OPERANDS,        /* instruction-level: element counts, spaces of two sources */
    ISA_RULES
};

struct isa_rule_info {
    const char *code; /* "isa-v05-psum-write-type" */
    const char *hint;
};
const struct isa_rule_info *isa_rule_info_of(enum isa_rule rule);
/* The rule number as text, "V05", or "" for those without one. */
const char *isa_rule_name(enum isa_rule rule);

struct isa_problem {
    enum isa_rule rule;
    char message[224];
};
/* Fills problem and gives false. */
bool isa_refuse(struct isa_problem *problem, enum isa_rule rule, const char *fmt, ...) BIR_PRINTF(3, 4);

/* What the rules need to know about an operand. */
struct isa_check {
    enum isa_generation generation;
    uint8_t tag;        /* wire tag of the dtype */
    uint8_t elem_bytes; /* bytes of one element (container); 0: by the tag */
    bool write;
    bool psum_ok, sbuf_ok;
    bool matmul_dst;
    bool any_partition;  /* V13 does not apply */
    bool is_packed;      /* dtype of four lanes a container: num_elem counts lanes */
    uint32_t partitions; /* num_active_channels; 0 = not known, V13 and V14 are skipped */
};

/* Wire tag of a dtype, 0 when the generation has none (descriptors.md 1.5; choice: the matmul mapper's v3 errors for
 * packed types hold for every operand). */
uint8_t isa_dtype_tag(uint8_t dtype, enum isa_generation generation);
const char *isa_tag_name(uint8_t tag); /* "bfloat16", "fp8_exp4", ...; "?" when none */
uint32_t isa_tag_alignment(uint8_t tag, enum isa_generation generation); /* bytes, 0 = the tag has no class */
uint32_t isa_tag_bytes(uint8_t tag);                                     /* bytes per container by the tag, 0 = none */

/* One address word of `align` bytes: V01..V07, V11. indirect: bit 29 must be set; else it must be clear. */
bool isa_check_address(uint32_t word, const struct isa_check *check, struct isa_problem *problem);
/* Static form: the address, V08, and V12..V14 where they can be decided. */
bool isa_check_static(const struct isa_static *fixed, const struct isa_check *check, struct isa_problem *problem);
bool isa_check_indirect(const struct isa_indirect *indirect, const struct isa_check *check,
                        struct isa_problem *problem);
bool isa_check_mx(const struct isa_mx *mx, const struct isa_check *check, struct isa_problem *problem);
bool isa_check_mx_indirect(const struct isa_mx_indirect *mx, const struct isa_check *check,
                           struct isa_problem *problem);
/* Whichever form the descriptor has. */
bool isa_check_descriptor(const struct isa_descriptor *descriptor, const struct isa_check *check,
                          struct isa_problem *problem);

/* V13 and V14 on their own. */
bool isa_check_partitions(uint32_t start, uint32_t count, struct isa_problem *problem);
bool isa_check_channels(int64_t count, struct isa_problem *problem);
/* V09, V10 from a pack result. rank is the slot's. */
bool isa_check_pack(const struct isa_pack_result *pack, uint32_t rank, struct isa_problem *problem);
/* V12: bytes [start, end) the walk touches, relative to the partition's first byte. */
bool isa_check_walk(const struct isa_static *fixed, int64_t first_byte, uint32_t elem_bytes, enum isa_space space,
                    enum isa_generation generation, struct isa_problem *problem);
/* V18, V20: the dtype at this operand. */
bool isa_check_dtype(uint8_t dtype, unsigned slot_flags, bool write, enum isa_generation generation,
                     struct isa_problem *problem);

#endif
