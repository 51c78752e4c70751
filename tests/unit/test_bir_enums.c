/* Enumerations, opcodes and op keys against the fact sheets' tables (tests/vectors/bir/{enums,dtypes,op_keys}.tsv). */
#include <string.h>

#include "bir/enums.h"
#include "bir/op_keys.h"
#include "unit.h"

/* Calls fn with the fields of each line of a table that is no comment; gives how many. */
static int each_row(const char *name, void (*fn)(char *fields[3]))
{
    char path[1024];
    snprintf(path, sizeof path, "%s/bir/%s", ROOST_VECTORS, name);
    size_t len;
    char *text = unit_read_file(path, &len), *save = NULL;
    int count = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *fields[3], *inner = NULL;
        if (line[0] == '#')
            continue;
        for (int i = 0; i < 3; i++)
            fields[i] = strtok_r(i == 0 ? line : NULL, "\t", &inner);
        ck_assert_ptr_nonnull(fields[2]);
        fn(fields);
        count++;
    }
    free(text);
    return count;
}

static enum bir_enum_id id_of(const char *title)
{
    int id = 0;
    while (id < BIR_ENUM_COUNT && strcmp(bir_enum_title((enum bir_enum_id)id), title) != 0)
        id++;
    ck_assert_msg(id < BIR_ENUM_COUNT, "no enumeration is called %s", title);
    return (enum bir_enum_id)id;
}

static void check_member(char *fields[3])
{
    enum bir_enum_id id = id_of(fields[0]);
    const char *name = fields[2];
    int value = bir_enum_value(id, name, strlen(name));
    ck_assert_msg(value >= 0, "%s has no %s", fields[0], name);
    if (fields[1][0] != '-')
        ck_assert_msg(value == atoi(fields[1]), "%s %s is %d", fields[0], name, value);
    ck_assert_str_eq(bir_enum_name(id, value), name);
    char changed[64];
    snprintf(changed, sizeof changed, "%s_", name);
    ck_assert_int_eq(bir_enum_value(id, changed, strlen(changed)), -1);
    changed[0] ^= 0x20;
    ck_assert_int_eq(bir_enum_value(id, changed, strlen(name)), -1);
}

START_TEST(members)
{
    int listed = each_row("enums.tsv", check_member), known = 0;
    for (int id = 0; id < BIR_ENUM_COUNT; id++) {
        size_t count = bir_enum_member_count((enum bir_enum_id)id);
        ck_assert_uint_gt(count, 0);
        known += (int)count;
        for (size_t i = 0; i < count; i++) {
            int value = bir_enum_member((enum bir_enum_id)id, i);
            const char *name = bir_enum_name((enum bir_enum_id)id, value);
            ck_assert_ptr_nonnull(name);
            ck_assert_int_eq(bir_enum_value((enum bir_enum_id)id, name, strlen(name)), value);
        }
        ck_assert_ptr_null(bir_enum_name((enum bir_enum_id)id, -1));
        ck_assert_ptr_null(bir_enum_name((enum bir_enum_id)id, 250));
        ck_assert_int_eq(bir_enum_value((enum bir_enum_id)id, "", 0), -1);
    }
    ck_assert_int_eq(known, listed);
}
END_TEST

static void check_dtype(char *fields[3])
{
    uint8_t dtype = (uint8_t)bir_enum_value(BIR_ENUM_DTYPE, fields[0], strlen(fields[0]));
    ck_assert_uint_eq(bir_dtype_bytes(dtype), (unsigned)atoi(fields[1]));
    ck_assert_msg(bir_dtype_is_immediate(dtype) == (fields[2][0] == 'y'), "%s", fields[0]);
    ck_assert_str_eq(bir_dtype_name(dtype), fields[0]);
}

START_TEST(dtypes)
{
    ck_assert_int_eq(each_row("dtypes.tsv", check_dtype), BIR_DTYPE_COUNT);
    ck_assert_uint_eq(bir_dtype_bytes(BIR_ENUM_UNKNOWN), 0);
    ck_assert(!bir_dtype_is_immediate(BIR_ENUM_UNKNOWN));
    ck_assert_str_eq(bir_dtype_name(BIR_ENUM_UNKNOWN), "?");
    ck_assert_str_eq(bir_engine_name(BIR_ENUM_UNKNOWN), "?");
}
END_TEST

START_TEST(arches)
{
    static const struct {
        const char *name;
        enum bir_arch arch;
    } cases[] = {
        { "inferentia", BIR_ARCH_INFERENTIA },
        { "tonga", BIR_ARCH_INFERENTIA },
        { "inf1", BIR_ARCH_INFERENTIA },
        { "sunda", BIR_ARCH_SUNDA },
        { "trn1", BIR_ARCH_SUNDA },
        { "inf2", BIR_ARCH_SUNDA },
        { "trainium", BIR_ARCH_SUNDA },
        { "gen3", BIR_ARCH_GEN3 },
        { "cayman", BIR_ARCH_GEN3 },
        { "trn2", BIR_ARCH_GEN3 },
        { "core_v4", BIR_ARCH_CORE_V4 },
        { "trn3", BIR_ARCH_CORE_V4 },
        { "core_v5", BIR_ARCH_CORE_V5 },
        { "gen4", BIR_ARCH_NONE },
        { "", BIR_ARCH_NONE },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(bir_arch_from_name(cases[i].name, strlen(cases[i].name)) == cases[i].arch, "%s", cases[i].name);
    ck_assert_str_eq(bir_arch_name(BIR_ARCH_GEN3), "gen3");
    ck_assert_str_eq(bir_arch_name(BIR_ARCH_NONE), "?");
}
END_TEST

START_TEST(opcodes)
{
    ck_assert_uint_eq(bir_opcode_count(), 120);
    for (size_t i = 0; i < bir_opcode_count(); i++) {
        uint16_t opcode = bir_opcode_at(i);
        const char *name = bir_opcode_name(opcode);
        ck_assert_int_eq(bir_opcode_index(opcode), (int)i);
        ck_assert_uint_eq(bir_opcode_from_name(name, strlen(name)), opcode);
    }
    ck_assert_int_eq(bir_opcode_index(BIR_OP_COUNT), -1);
    ck_assert_int_eq(bir_opcode_index(BIR_OP_UNKNOWN), -1);
    ck_assert_uint_eq(bir_opcode_at(bir_opcode_count()), BIR_OP_UNKNOWN);
    ck_assert_str_eq(bir_opcode_name(BIR_OP_UNKNOWN), "?");
    ck_assert_uint_eq(bir_opcode_flags(BIR_OP_UNKNOWN), 0);
    ck_assert_uint_eq(bir_opcode_from_name("tensorCopy", 10), BIR_OP_UNKNOWN);
    ck_assert_uint_eq(bir_opcode_flags(BIR_OP_BRANCH_HINT) & BIR_OPF_TERMINATOR, 0);
    ck_assert_uint_ne(bir_opcode_flags(BIR_OP_DO_WHILE) & BIR_OPF_REGION, 0);
}
END_TEST

/* Does a row admit the kind of value that the vendor's definition names? */
static bool admits(const struct bir_op_key *row, const char *kind)
{
    switch ((enum bir_op_key_type)row->type) {
    case BIR_OPKEY_BOOL: return strcmp(kind, "bool") == 0;
    case BIR_OPKEY_INT: /* cc_channel is an expression there, an expression or integer here */
        return strcmp(kind, "integer") == 0 || ((row->flags & BIR_OPKEYF_AFFINE) && strcmp(kind, "expression") == 0);
    case BIR_OPKEY_UINT: return strcmp(kind, "integer") == 0;
    case BIR_OPKEY_FLOAT: return strcmp(kind, "number") == 0;
    case BIR_OPKEY_ENUM: return strcmp(kind, "name") == 0;
    case BIR_OPKEY_TEXT: return strcmp(kind, "text") == 0;
    case BIR_OPKEY_LIST: return strcmp(kind, "list") == 0;
    case BIR_OPKEY_EXPR: return strcmp(kind, "expression") == 0;
    case BIR_OPKEY_ANY: return true;
    }
    return false;
}

static void check_op_key(char *fields[3])
{
    uint16_t opcode = bir_opcode_from_name(fields[0], strlen(fields[0]));
    ck_assert_msg(opcode != BIR_OP_UNKNOWN, "no opcode %s", fields[0]);
    const struct bir_op_key *row = bir_op_key_find(opcode, fields[1], strlen(fields[1]));
    ck_assert_msg(row != NULL, "%s has no key %s", fields[0], fields[1]);
    ck_assert_msg(admits(row, fields[2]), "%s %s is not %s", fields[0], fields[1], fields[2]);
}

START_TEST(op_keys)
{
    ck_assert_int_ge(each_row("op_keys.tsv", check_op_key), 150);
    for (size_t i = 0; i < bir_op_key_count(); i++) {
        const struct bir_op_key *row = bir_op_key_at(i), *before = i > 0 ? bir_op_key_at(i - 1) : NULL;
        if (before && before->opcode == row->opcode)
            ck_assert_msg(strcmp(before->key, row->key) < 0, "%s: %s", bir_opcode_name(row->opcode), row->key);
        else if (before)
            ck_assert_uint_lt(before->opcode, row->opcode);
        ck_assert_ptr_eq(bir_op_key_find(row->opcode, row->key, strlen(row->key)), row);
        ck_assert((row->type == BIR_OPKEY_ENUM) == (row->enum_id < BIR_ENUM_COUNT));
        ck_assert(row->type == BIR_OPKEY_LIST || row->enum_id <= BIR_ENUM_COUNT);
        if (row->type == BIR_OPKEY_ENUM && row->fallback)
            ck_assert_int_ge(bir_enum_value((enum bir_enum_id)row->enum_id, row->fallback, strlen(row->fallback)), 0);
        if (row->flags & BIR_OPKEYF_ALWAYS)
            ck_assert_ptr_nonnull(row->fallback);
    }
    ck_assert_ptr_null(bir_op_key_at(bir_op_key_count()));
    ck_assert_ptr_null(bir_op_key_find(BIR_OP_UNKNOWN, "op", 2));
}
END_TEST

/* Derived ops have their base's keys and not other bases'. */
START_TEST(inherited_keys)
{
    ck_assert_ptr_nonnull(bir_op_key_find(BIR_OP_MATMULT_MX, "tile_size", 9));
    ck_assert_ptr_nonnull(bir_op_key_find(BIR_OP_DMA_TRIGGER, "queue", 5));
    ck_assert_ptr_nonnull(bir_op_key_find(BIR_OP_COLLECTIVE_RECV, "queue", 5));
    ck_assert_ptr_nonnull(bir_op_key_find(BIR_OP_DMA_DESCRIPTOR_CCE, "num_tiling_dimensions", 21));
    ck_assert_ptr_null(bir_op_key_find(BIR_OP_DMA_DESCRIPTOR_CCE, "queue", 5));
    ck_assert_ptr_null(bir_op_key_find(BIR_OP_TENSOR_LOAD, "queue", 5));
    ck_assert_ptr_null(bir_op_key_find(BIR_OP_ABSTRACT_COPY, "dge_type", 8));
    for (size_t i = 0; i < bir_opcode_count(); i++) {
        const struct bir_op_key *row;
        size_t always = 0; /* write_plan.c has room for 32 */
        for (uint16_t op = bir_opcode_at(i); op != BIR_OP_UNKNOWN; op = bir_op_key_base(op))
            for (size_t n = bir_op_key_rows(op, &row); n > 0; n--, row++)
                always += !!(row->flags & BIR_OPKEYF_ALWAYS);
        ck_assert_uint_le(always, 32);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { members, dtypes, arches, opcodes, op_keys, inherited_keys };
    return UNIT_RUN("bir_enums", tests);
}
