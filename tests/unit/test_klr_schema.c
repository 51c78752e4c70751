#include "klr/schema.h"

#include <stdbool.h>

#include "klr_tsv.h"

enum { FIRST_CTOR = 1000 }; /* of a structure, whose constants do not name it */

/* "Option<List<Nat>>" of a field. */
static void field_type_text(const struct klr_field *field, char *text, size_t size)
{
    char ends[8] = "";
    text[0] = '\0';
    for (uint8_t wraps = field->form.wraps; wraps; wraps = KLR_WRAP_INNER(wraps)) {
        strncat(text, KLR_WRAP_OUTER(wraps) == KLR_WRAP_OPTION ? "Option<" : "List<", size - strlen(text) - 1);
        strcat(ends, ">");
    }
    strncat(text, klr_types[field->form.base].name, size - strlen(text) - 1);
    strncat(text, ends, size - strlen(text) - 1);
}

static const char *kind_text(uint8_t kind)
{
    static const char *const texts[] = { "primitive", "structure", "sum", "enum" };
    return texts[kind];
}

static void check_row(const struct tsv_row *row, enum klr_type type, const struct klr_arm *arm, uint32_t field_no)
{
    ck_assert_str_eq(row->type, klr_types[type].name);
    ck_assert_int_eq(row->tag, klr_types[type].tag);
    ck_assert_str_eq(row->kind, kind_text(klr_types[type].kind));
    ck_assert_int_eq(row->ctor, arm->ctor);
    ck_assert_str_eq(row->ctor_name, arm->name);
    ck_assert_int_eq(row->count, arm->count);
    if (arm->count == 0) {
        ck_assert_ptr_null(row->field);
        return;
    }
    char text[64];
    const struct klr_field *field = &klr_arm_fields(arm)[field_no];
    field_type_text(field, text, sizeof(text));
    ck_assert_str_eq(row->field, field->name);
    ck_assert_str_eq(row->field_type, text);
}

START_TEST(table_equals_tsv_row_for_row)
{
    static struct tsv tsv;
    tsv_load(&tsv);
    size_t row = 0;
    uint32_t types = 0;
    for (uint32_t type = KLR_TYPE_FIRST_NODE; type < KLR_TYPE_COUNT; type++, types++) {
        const struct klr_arm *first = &klr_arms[klr_types[type].arms];
        for (uint32_t a = 0; a < klr_types[type].arm_count; a++) {
            const struct klr_arm *arm = klr_arm_find((enum klr_type)type, first->ctor + a);
            ck_assert_ptr_eq(arm, first + a);
            for (uint32_t f = 0; f < (arm->count ? arm->count : 1u); f++) {
                ck_assert_uint_lt(row, tsv.count);
                check_row(&tsv.rows[row++], (enum klr_type)type, arm, f);
            }
        }
        ck_assert_ptr_null(klr_arm_find((enum klr_type)type, first->ctor + klr_types[type].arm_count));
    }
    ck_assert_uint_eq(types, 116);
    ck_assert_uint_eq(row, tsv.count);
    free(tsv.text);
}
END_TEST

/* What a constant of klr.h stands for, by its own spelling. */
struct constant {
    enum klr_type type;
    uint32_t ctor;
    int slot; /* -1: the constructor */
    const char *name;
};

static const struct constant constants[] = {
#define KLR_STRUCTURE(type, tag, ctor, count) { KLR_TYPE_##type, ctor, -1, "mk" },
#define KLR_FIELD(type, field, wrap, base)    { KLR_TYPE_##type, FIRST_CTOR, KLR_##type##_##field, #field },
#define KLR_ARM(type, arm, ctor, count)       { KLR_TYPE_##type, KLR_##type##_##arm, -1, #arm },
#define KLR_ARM_FIELD(type, arm, field, wrap, base)                                                                    \
    { KLR_TYPE_##type, KLR_##type##_##arm, KLR_##type##_##arm##_##field, #field },
#include "klr/schema.def"
};

START_TEST(constants_name_what_they_say)
{
    size_t fields = 0;
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
        const struct constant *c = &constants[i];
        uint32_t ctor = c->ctor == FIRST_CTOR ? klr_arms[klr_types[c->type].arms].ctor : c->ctor;
        fields += c->slot >= 0;
        ck_assert_str_eq(c->name,
                         c->slot < 0 ? klr_ctor_name(c->type, ctor) : klr_field_name(c->type, ctor, (uint32_t)c->slot));
    }
    ck_assert_uint_eq(fields, 531 - 4); /* klr-format.md, head, without the four proofs of section 3 */
    ck_assert_int_eq(KLR_TensorName_addressRotation, 5);
    ck_assert_int_eq(KLR_Operator_activate2_op, KLR_Operator_op);
    ck_assert_str_eq(klr_type_name(KLR_TYPE_BirAccessPattern), "BirAccessPattern");
}
END_TEST

START_TEST(names_of_nothing_are_null)
{
    ck_assert_ptr_null(klr_type_name(KLR_TYPE_COUNT));
    ck_assert_ptr_null(klr_ctor_name(KLR_TYPE_Operator, 76));
    ck_assert_ptr_null(klr_ctor_name(KLR_TYPE_Nat, 0));
    ck_assert_ptr_null(klr_field_name(KLR_TYPE_Pos, 0, 5));
    ck_assert_ptr_null(klr_field_name(KLR_TYPE_Slice, 0, 3)); /* the proof has no slot */
    ck_assert_uint_eq(klr_field_count(KLR_TYPE_Slice, 0), 3);
    ck_assert_uint_eq(klr_field_count(KLR_TYPE_Slice, 1), 0);
    ck_assert_ptr_null(klr_content_name((enum klr_content)5));
    ck_assert_uint_eq(klr_dtype_bytes(20), 0);
}
END_TEST

START_TEST(dtype_sizes)
{
    /* klr-format.md 9.2, in wire order */
    static const uint32_t bytes[20] = { 2, 1, 1, 1, 2, 4, 4, 1, 2, 8, 4, 1, 2, 4, 8, 1, 1, 4, 4, 2 };
    for (uint32_t dtype = 0; dtype < 20; dtype++)
        ck_assert_uint_eq(klr_dtype_bytes(dtype), bytes[dtype]);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        table_equals_tsv_row_for_row,
        constants_name_what_they_say,
        names_of_nothing_are_null,
        dtype_sizes,
    };
    return UNIT_RUN("klr_schema", tests);
}
