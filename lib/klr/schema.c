/*
 * Expansion of schema.def: three flat arrays (types, arms, fields), each row of one array naming the first row that
 * belongs to it in the next. The indexes of the first rows come from enums that count the same macros; a MARK
 * takes the number of the row that follows it.
 */
#include "klr/schema.h"

/* The second enumerator steps the counter back. */
#define MARK(name) name, BEFORE_##name = name - 1,

enum arm_row {
#define KLR_STRUCTURE(type, tag, ctor, count) ARMS_##type,
#define KLR_SUM(type, tag, arms)              MARK(ARMS_##type)
#define KLR_ENUM(type, tag, arms)             MARK(ARMS_##type)
#define KLR_ARM(type, arm, ctor, count)       ARM_##type##_##arm,
#include "klr/schema.def"
};

enum field_row {
#define KLR_STRUCTURE(type, tag, ctor, count)       MARK(FIELDS_##type)
#define KLR_ARM(type, arm, ctor, count)             MARK(FIELDS_##type##_##arm)
#define KLR_FIELD(type, field, wrap, base)          FIELD_##type##_##field,
#define KLR_PROOF(type, field)                      FIELD_##type##_##field,
#define KLR_ARM_FIELD(type, arm, field, wrap, base) FIELD_##type##_##arm##_##field,
#include "klr/schema.def"
    FIELD_ROWS
};

/* Fields without the proofs. */
enum slot_row {
#define KLR_STRUCTURE(type, tag, ctor, count)       MARK(SLOTS_##type)
#define KLR_ARM(type, arm, ctor, count)             MARK(SLOTS_##type##_##arm)
#define KLR_FIELD(type, field, wrap, base)          SLOT_##type##_##field,
#define KLR_ARM_FIELD(type, arm, field, wrap, base) SLOT_##type##_##arm##_##field,
#include "klr/schema.def"
    SLOT_ROWS
};

enum {
    PLAIN = KLR_WRAP_NONE,
    OPTION = KLR_WRAP_OPTION,
    LIST = KLR_WRAP_LIST,
    LIST_LIST = LIST | LIST << 2,
    OPTION_LIST = OPTION | LIST << 2,
    OPTION_LIST_LIST = OPTION | LIST << 2 | LIST << 4,
};

#define NODE_WAY(type)                                                                                                 \
    ((type) == KLR_TYPE_Access                                    ? KLR_WAY_ACCESS                                     \
     : (type) == KLR_TYPE_Stmt                                    ? KLR_WAY_STATEMENT                                  \
     : (type) == KLR_TYPE_TensorName                              ? KLR_WAY_TENSOR                                     \
     : (type) == KLR_TYPE_AccessBasic || (type) == KLR_TYPE_Slice ? KLR_WAY_RULED                                      \
                                                                  : KLR_WAY_NODE)

enum type_way {
    WAY_Nat = KLR_WAY_NAT,
    WAY_Int = KLR_WAY_INT,
    WAY_Int32 = KLR_WAY_INT,
    WAY_Float32 = KLR_WAY_FLOAT,
    WAY_Bool = KLR_WAY_BOOL,
    WAY_String = KLR_WAY_STRING,
    WAY_Prop = KLR_WAY_PROOF,
    WAY_PythonKernel = KLR_WAY_NODE,
    WAY_NkiKernel = KLR_WAY_NODE,
#define KLR_STRUCTURE(type, tag, ctor, count) WAY_##type = NODE_WAY(KLR_TYPE_##type),
#define KLR_SUM(type, tag, arms)              WAY_##type = NODE_WAY(KLR_TYPE_##type),
#define KLR_ENUM(type, tag, arms)             WAY_##type = KLR_WAY_ENUM,
#include "klr/schema.def"
};

/* A klr_form. */
#define FORM(wrap, base)                                                                                               \
    {                                                                                                                  \
        KLR_TYPE_##base, wrap,                                                                                         \
            KLR_WRAP_OUTER(wrap) == KLR_WRAP_OPTION ? KLR_WAY_OPTION                                                   \
            : KLR_WRAP_OUTER(wrap) == KLR_WRAP_LIST ? KLR_WAY_LIST                                                     \
                                                    : WAY_##base                                                       \
    }

const struct klr_type_info klr_types[KLR_TYPE_COUNT] = {
    [KLR_TYPE_Nat] = { .name = "Nat", .way = WAY_Nat },
    [KLR_TYPE_Int] = { .name = "Int", .way = WAY_Int },
    [KLR_TYPE_Int32] = { .name = "Int32", .way = WAY_Int32 },
    [KLR_TYPE_Float32] = { .name = "Float32", .way = WAY_Float32 },
    [KLR_TYPE_Bool] = { .name = "Bool", .way = WAY_Bool },
    [KLR_TYPE_String] = { .name = "String", .way = WAY_String },
    [KLR_TYPE_Prop] = { .name = "Prop", .way = WAY_Prop },
    [KLR_TYPE_PythonKernel] = { .name = "Python.Kernel", .way = WAY_PythonKernel },
    [KLR_TYPE_NkiKernel] = { .name = "KLR.NKI.Kernel", .way = WAY_NkiKernel },
#define KLR_STRUCTURE(type, tag, ctor, count)                                                                          \
    [KLR_TYPE_##type] = { #type, tag, KLR_KIND_STRUCTURE, 1, WAY_##type, ARMS_##type },
#define KLR_SUM(type, tag, arms)  [KLR_TYPE_##type] = { #type, tag, KLR_KIND_SUM, arms, WAY_##type, ARMS_##type },
#define KLR_ENUM(type, tag, arms) [KLR_TYPE_##type] = { #type, tag, KLR_KIND_ENUM, arms, WAY_##type, ARMS_##type },
#include "klr/schema.def"
};

/* KLR_ARM does not name the tag. */
enum type_tag {
#define KLR_STRUCTURE(type, tag, ctor, count) TAG_##type = (tag),
#define KLR_SUM(type, tag, arms)              TAG_##type = (tag),
#define KLR_ENUM(type, tag, arms)             TAG_##type = (tag),
#include "klr/schema.def"
};

#define ARM(name, type, ctor, count, fields, slots)                                                                    \
    {                                                                                                                  \
        name, { { 0xd9, TAG_##type, ctor, 0x80 + (count) } }, fields, count, (slots) % 256                             \
    }

const struct klr_arm klr_arms[] = {
#define KLR_STRUCTURE(type, tag, ctor, count) ARM("mk", type, ctor, count, FIELDS_##type, SLOTS_##type),
#define KLR_ARM(type, arm, ctor, count)       ARM(#arm, type, ctor, count, FIELDS_##type##_##arm, SLOTS_##type##_##arm),
#include "klr/schema.def"
    { NULL, { { 0 } }, FIELD_ROWS, 0, SLOT_ROWS % 256 },
};

const struct klr_field klr_fields[] = {
#define KLR_FIELD(type, field, wrap, base)          { #field, FORM(wrap, base), KLR_##type##_##field },
#define KLR_PROOF(type, field)                      { #field, FORM(PLAIN, Prop), 0 },
#define KLR_ARM_FIELD(type, arm, field, wrap, base) { #field, FORM(wrap, base), KLR_##type##_##arm##_##field },
#include "klr/schema.def"
};

static_assert(KLR_TYPE_COUNT <= UINT8_MAX, "types fit the byte of a node");
static_assert(sizeof(klr_fields) / sizeof(klr_fields[0]) <= UINT16_MAX, "field rows fit their index");

const struct klr_arm *klr_arm_find(enum klr_type type, uint32_t ctor)
{
    return (uint32_t)type < KLR_TYPE_COUNT ? klr_arm_at(&klr_types[type], ctor) : NULL;
}

enum klr_type klr_type_of_tag(uint32_t tag)
{
    for (uint32_t type = KLR_TYPE_FIRST_NODE; type < KLR_TYPE_COUNT; type++) {
        if (klr_types[type].tag == tag && type != KLR_TYPE_KLRFile)
            return (enum klr_type)type;
    }
    return KLR_TYPE_COUNT;
}

const char *klr_type_name(enum klr_type type)
{
    return (uint32_t)type < KLR_TYPE_COUNT ? klr_types[type].name : NULL;
}

const char *klr_ctor_name(enum klr_type type, uint32_t ctor)
{
    const struct klr_arm *arm = klr_arm_find(type, ctor);
    return arm ? arm->name : NULL;
}

uint32_t klr_field_count(enum klr_type type, uint32_t ctor)
{
    const struct klr_arm *arm = klr_arm_find(type, ctor);
    return arm ? klr_arm_slots(arm) : 0;
}

const char *klr_field_name(enum klr_type type, uint32_t ctor, uint32_t slot)
{
    const struct klr_arm *arm = klr_arm_find(type, ctor);
    for (uint32_t i = 0; arm && i < arm->count; i++) {
        const struct klr_field *field = &klr_arm_fields(arm)[i];
        if (field->form.base != KLR_TYPE_Prop && slot-- == 0)
            return field->name;
    }
    return NULL;
}

const char *klr_content_name(enum klr_content content)
{
    return klr_ctor_name(KLR_TYPE_Contents, (uint32_t)content);
}

uint32_t klr_dtype_bytes(uint32_t dtype)
{
    static const uint8_t element_bytes[] = {
        [KLR_Dtype_bfloat16] = 2,
        [KLR_Dtype_float8e3] = 1,
        [KLR_Dtype_float8e4] = 1,
        [KLR_Dtype_float8e5] = 1,
        [KLR_Dtype_float16] = 2,
        [KLR_Dtype_float32] = 4,
        [KLR_Dtype_float32r] = 4,
        [KLR_Dtype_int8] = 1,
        [KLR_Dtype_int16] = 2,
        [KLR_Dtype_int64] = 8,
        [KLR_Dtype_int32] = 4,
        [KLR_Dtype_uint8] = 1,
        [KLR_Dtype_uint16] = 2,
        [KLR_Dtype_uint32] = 4,
        [KLR_Dtype_uint64] = 8,
        [KLR_Dtype_float8_e4m3] = 1,
        [KLR_Dtype_float8_e4m3fn] = 1,
        [KLR_Dtype_float8_e5m2_x4] = 4,
        [KLR_Dtype_float8_e4m3fn_x4] = 4,
        [KLR_Dtype_float4_e2m1fn_x4] = 2,
    };
    return dtype < sizeof(element_bytes) ? element_bytes[dtype] : 0;
}
