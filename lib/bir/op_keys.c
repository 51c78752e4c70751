/*
 * Look-up in the table of op keys. The rows are one sorted array; a key is found by binary search on (opcode, key),
 * first among the op's own rows, then among its base's. Readers and writers look a key up once per distinct property
 * list, not once per instruction.
 */
#include "bir/op_keys.h"

#include <string.h>

#include "base/json_writer.h"
#include "bir/op_keys.def"

#define F_AFFINE      BIR_OPKEYF_AFFINE
#define F_REQUIRED    BIR_OPKEYF_REQUIRED
#define F_STRICT      BIR_OPKEYF_STRICT
#define F_ALWAYS      BIR_OPKEYF_ALWAYS
#define F_KEPT        BIR_OPKEYF_KEPT
#define BIR_ENUM_NONE BIR_ENUM_COUNT
/* Elements of lists stand in the column of enumerations. */
#define BIR_ENUM_FLOATS    BIR_ELEMENTS_FLOATS
#define BIR_ENUM_INTS      BIR_ELEMENTS_INTS
#define BIR_ENUM_INT_LISTS BIR_ELEMENTS_INT_LISTS
#define BIR_ENUM_TEXTS     BIR_ELEMENTS_TEXTS
#define BIR_ENUM_PAIRS     BIR_ELEMENTS_PAIRS

static const struct bir_op_key rows[] = {
#define ROW(op, name, value_type, values, bits, absent)                                                                \
    { .opcode = BIR_OP_##op,                                                                                           \
      .type = BIR_OPKEY_##value_type,                                                                                  \
      .enum_id = BIR_ENUM_##values,                                                                                    \
      .flags = (bits),                                                                                                 \
      .key_len = sizeof(name) - 1,                                                                                     \
      .key = (name),                                                                                                   \
      .fallback = (absent) },
    BIR_OP_KEYS(ROW)
#undef ROW
};

#define ROW_COUNT (sizeof rows / sizeof *rows)

uint16_t bir_op_key_base(uint16_t opcode)
{
    if (opcode == BIR_OP_MATMULT || opcode == BIR_OP_MATMULT_SPARSE || opcode == BIR_OP_MATMULT_MX)
        return BIR_OP_MATMULT_BASE;
    if (opcode >= BIR_OP_DMA_DESCRIPTOR_COPY && opcode <= BIR_OP_DMA_DESCRIPTOR_REPLICATE)
        return BIR_OP_DMA_DESCRIPTOR;
    if (opcode == BIR_OP_DMA || opcode == BIR_OP_COLLECTIVE)
        return BIR_OP_UNKNOWN;
    unsigned flags = bir_opcode_flags(opcode);
    return flags & BIR_OPF_DMA ? BIR_OP_DMA : flags & BIR_OPF_COLLECTIVE ? BIR_OP_COLLECTIVE : BIR_OP_UNKNOWN;
}

static int compare(const struct bir_op_key *row, uint16_t opcode, const char *key, size_t len)
{
    if (row->opcode != opcode)
        return row->opcode < opcode ? -1 : 1;
    int c = memcmp(row->key, key, row->key_len < len ? row->key_len : len);
    return c != 0 ? c : (row->key_len > len) - (row->key_len < len);
}

/* First row that is not below (opcode, key). */
static size_t lower_bound(uint16_t opcode, const char *key, size_t len)
{
    size_t low = 0, high = ROW_COUNT;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare(&rows[mid], opcode, key, len) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct bir_op_key *bir_op_key_find(uint16_t opcode, const char *key, size_t len)
{
    for (uint16_t op = opcode; op != BIR_OP_UNKNOWN; op = bir_op_key_base(op)) {
        size_t i = lower_bound(op, key, len);
        if (i < ROW_COUNT && compare(&rows[i], op, key, len) == 0)
            return &rows[i];
    }
    return NULL;
}

size_t bir_op_key_rows(uint16_t opcode, const struct bir_op_key **first)
{
    size_t start = lower_bound(opcode, "", 0), i = start;
    while (i < ROW_COUNT && rows[i].opcode == opcode)
        i++;
    *first = &rows[start < ROW_COUNT ? start : 0];
    return i - start;
}

/* Is text, white space aside, the fallback? Fallbacks of lists hold no strings, so white space has no meaning. */
static bool is_same_list(const struct bir_str *text, const char *fallback)
{
    for (uint32_t i = 0; i < text->len; i++) {
        char c = text->text[i];
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
            continue;
        if (c != *fallback++)
            return false;
    }
    return *fallback == '\0';
}

bool bir_op_key_is_default(const struct bir_op_key *row, const struct bir_prop *prop)
{
    if (!row->fallback)
        return false;
    double number = bir_parse_double(row->fallback, strlen(row->fallback));
    switch (prop->type) {
    case BIR_VALUE_BOOL: return row->type == BIR_OPKEY_BOOL && prop->u.b == (row->fallback[0] == 't');
    case BIR_VALUE_INT:
        return (row->type == BIR_OPKEY_INT || row->type == BIR_OPKEY_UINT) && (double)prop->u.i == number;
    case BIR_VALUE_FLOAT: return row->type == BIR_OPKEY_FLOAT && prop->u.f == number;
    case BIR_VALUE_TEXT:
        return (row->type == BIR_OPKEY_ENUM || row->type == BIR_OPKEY_TEXT) && bir_str_is(prop->u.s, row->fallback);
    case BIR_VALUE_JSON: return row->type == BIR_OPKEY_LIST && is_same_list(prop->u.s, row->fallback);
    case BIR_VALUE_EXPR: return false;
    }
    return false;
}

size_t bir_op_key_count(void)
{
    return ROW_COUNT;
}

const struct bir_op_key *bir_op_key_at(size_t i)
{
    return i < ROW_COUNT ? &rows[i] : NULL;
}

const char *bir_op_key_expected(const struct bir_op_key *row)
{
    static const char *const expected[] = {
        [BIR_OPKEY_BOOL] = "true or false",
        [BIR_OPKEY_INT] = "an integer",
        [BIR_OPKEY_UINT] = "an integer of at least 0",
        [BIR_OPKEY_FLOAT] = "a number",
        [BIR_OPKEY_ENUM] = "a name as string",
        [BIR_OPKEY_TEXT] = "a string",
        [BIR_OPKEY_LIST] = "an array",
        [BIR_OPKEY_EXPR] = "an expression object",
        [BIR_OPKEY_ANY] = "a value",
    };
    return expected[row->type];
}
