/* The schema of schema.def as tables, for the decoder, its messages and its tests. Private to lib/klr. */
#ifndef KLR_SCHEMA_H
#define KLR_SCHEMA_H

#include "klr/klr.h"

/* What wraps a field's base type, outermost in the low bits, two bits a level. */
enum klr_wrap { KLR_WRAP_NONE = 0, KLR_WRAP_OPTION = 1, KLR_WRAP_LIST = 2 };
#define KLR_WRAP_INNER(wraps) ((uint8_t)((wraps) >> 2))
#define KLR_WRAP_OUTER(wraps) ((enum klr_wrap)((wraps)&3))

enum klr_kind { KLR_KIND_PRIMITIVE, KLR_KIND_STRUCTURE, KLR_KIND_SUM, KLR_KIND_ENUM };

/* How a value is read; its wraps and base say it at length. First those whose slot is a pointer that is never NULL, so
 * that NULL can stand for none; an Option of the others is a box. */
enum klr_way {
    KLR_WAY_NODE, /* a structure or sum, if none of the next */
    KLR_WAY_ACCESS,
    KLR_WAY_STATEMENT,
    KLR_WAY_RULED, /* semantics.c has a rule for it */
    KLR_WAY_TENSOR,
    KLR_WAY_STRING,
    KLR_WAY_LIST,
    KLR_WAY_OPTION, /* is in no other Option */
    KLR_WAY_NAT,
    KLR_WAY_INT, /* Int and Int32 */
    KLR_WAY_FLOAT,
    KLR_WAY_BOOL,
    KLR_WAY_ENUM,
    KLR_WAY_PROOF,
    KLR_WAY_FIRST_BOXED = KLR_WAY_NAT,
};

/* Type of a field or of what is inside it. */
struct klr_form {
    uint8_t base; /* enum klr_type; KLR_TYPE_Prop for a proof */
    uint8_t wraps;
    uint8_t way; /* enum klr_way */
};

struct klr_field {
    const char *name;
    struct klr_form form;
    uint8_t slot; /* in its node; 0 for a proof, which has none */
};

struct klr_arm {
    const char *name;
    union {
        uint8_t wire[4]; /* how it begins: a head with a 16-bit CBOR tag, one of a list */
        struct {
            uint8_t tag16, tag, ctor, list_head;
        };
    };
    uint16_t fields; /* index of the first in klr_fields */
    uint8_t count;   /* announced fields, proofs included */
    uint8_t slots;   /* slots of all arms before it, modulo 256 */
};

struct klr_type_info {
    const char *name;
    uint8_t tag; /* 0 for primitives, which have none on the wire */
    uint8_t kind;
    uint8_t arm_count;
    uint8_t way;   /* enum klr_way of a value that nothing wraps */
    uint16_t arms; /* index of the first in klr_arms; their wire numbers are consecutive */
};

extern const struct klr_type_info klr_types[KLR_TYPE_COUNT];
extern const struct klr_arm klr_arms[]; /* one more at the end, for its `slots` */
extern const struct klr_field klr_fields[];

/* NULL when the type has no such constructor; primitives have none. */
static inline const struct klr_arm *klr_arm_at(const struct klr_type_info *info, uint32_t ctor)
{
    const struct klr_arm *first = &klr_arms[info->arms];
    uint32_t index = ctor - first->ctor;
    return index < info->arm_count ? first + index : NULL;
}

/* The same for a type that may be none. */
const struct klr_arm *klr_arm_find(enum klr_type type, uint32_t ctor);

/* The type with this tag that is no file header; KLR_TYPE_COUNT when there is none. */
enum klr_type klr_type_of_tag(uint32_t tag);

static inline const struct klr_field *klr_arm_fields(const struct klr_arm *arm)
{
    return &klr_fields[arm->fields];
}

/* What an Option holds, or an element of a list. */
static inline struct klr_form klr_form_inner(struct klr_form form)
{
    uint8_t wraps = KLR_WRAP_INNER(form.wraps);
    enum klr_wrap outer = KLR_WRAP_OUTER(wraps);
    uint8_t way = outer == KLR_WRAP_NONE   ? klr_types[form.base].way
                  : outer == KLR_WRAP_LIST ? KLR_WAY_LIST
                                           : KLR_WAY_OPTION;
    return (struct klr_form){ form.base, wraps, way };
}

/* Slots of a node of this arm: its fields without the proofs. */
static inline uint32_t klr_arm_slots(const struct klr_arm *arm)
{
    return (uint8_t)(arm[1].slots - arm[0].slots);
}

#endif
