/* The schema of schema.def as tables, for the decoder, its messages and its tests. Private to lib/klr. */
#ifndef KLR_SCHEMA_H
#define KLR_SCHEMA_H

#include "klr/klr.h"

/* What wraps a field's base type, outermost in the low bits, two bits a level. */
enum klr_wrap { KLR_WRAP_NONE = 0, KLR_WRAP_OPTION = 1, KLR_WRAP_LIST = 2 };
#define KLR_WRAP_INNER(wraps) ((uint8_t)((wraps) >> 2))
#define KLR_WRAP_OUTER(wraps) ((enum klr_wrap)((wraps)&3))

enum klr_kind { KLR_KIND_PRIMITIVE, KLR_KIND_STRUCTURE, KLR_KIND_SUM, KLR_KIND_ENUM };

struct klr_field {
    const char *name;
    uint8_t base; /* enum klr_type; KLR_TYPE_Prop for a proof */
    uint8_t wraps;
};

struct klr_arm {
    const char *name;
    uint8_t ctor;    /* wire number */
    uint8_t count;   /* announced fields, proofs included */
    uint16_t fields; /* index of the first in klr_fields */
};

struct klr_type_info {
    const char *name;
    uint8_t tag; /* 0 for primitives, which have none on the wire */
    uint8_t kind;
    uint8_t arm_count;
    uint16_t arms; /* index of the first in klr_arms; their wire numbers are consecutive */
};

extern const struct klr_type_info klr_types[KLR_TYPE_COUNT];
extern const struct klr_arm klr_arms[];
extern const struct klr_field klr_fields[];

/* NULL when the type has no such constructor. */
const struct klr_arm *klr_arm_find(enum klr_type type, uint32_t ctor);

/* The type with this tag that is no file header; KLR_TYPE_COUNT when there is none. */
enum klr_type klr_type_of_tag(uint32_t tag);

static inline const struct klr_field *klr_arm_fields(const struct klr_arm *arm)
{
    return &klr_fields[arm->fields];
}

/* Slots of a node of this arm: its fields without the proofs. */
uint32_t klr_arm_slots(const struct klr_arm *arm);

#endif
