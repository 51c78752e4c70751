/*
 * Opcode tables, expanded from ops.def.
 *
 * Rows stand in the order of ops.def: the ordinals 0..109 first, then the opcodes of early 2025 from
 * BIR_OP_LEGACY_FIRST on, so an ordinal finds its row by arithmetic. Names are found by binary search through a
 * permutation sorted by length, then bytes (proved by test_enums.c).
 */
#include "bir/ops.h"

#include <string.h>

struct opcode_row {
    const char *name;
    uint8_t len;
    uint8_t flags;
    uint16_t opcode;
};

/* clang-format off */
static const struct opcode_row rows[] = {
#define BIR_OPCODE_ROW(ordinal, NAME, wire, flags) { wire, sizeof wire - 1, flags, ordinal },
    BIR_OPCODES(BIR_OPCODE_ROW)
#undef BIR_OPCODE_ROW
};

static const uint8_t order[] = {
    18, 88, 100, 84, 82, 17, 61, 19, 105, 12, 20, 60, 22, 83, 16, 97, 92, 10, 81, 51, 34, 32, 108, 65, 0, 8, 110, 53,
    107, 89, 54, 95, 55, 4, 37, 80, 47, 67, 96, 21, 23, 75, 76, 77, 38, 36, 111, 87, 57, 103, 33, 1, 2, 7, 63, 41, 73,
    3, 58, 26, 43, 45, 118, 90, 99, 98, 74, 59, 27, 28, 31, 68, 9, 56, 39, 50, 49, 52, 106, 13, 93, 6, 11, 112, 114,
    40, 29, 15, 35, 78, 70, 104, 94, 48, 69, 64, 30, 102, 86, 117, 42, 44, 113, 85, 79, 14, 25, 24, 116, 115, 72, 71,
    66, 46, 91, 62, 109, 101, 5, 119,
};
/* clang-format on */

#define ROW_COUNT (sizeof rows / sizeof *rows)
_Static_assert(sizeof order == ROW_COUNT, "one place in the sorted order for each opcode");
_Static_assert(ROW_COUNT <= UINT8_MAX, "row numbers fit the order table");

int bir_opcode_index(uint16_t opcode)
{
    size_t row = opcode;
    if (opcode >= BIR_OP_LEGACY_FIRST)
        row = (size_t)opcode - BIR_OP_LEGACY_FIRST + BIR_OP_COUNT;
    else if (opcode >= BIR_OP_COUNT)
        return -1;
    return row < ROW_COUNT ? (int)row : -1;
}

size_t bir_opcode_count(void)
{
    return ROW_COUNT;
}

uint16_t bir_opcode_at(size_t i)
{
    return i < ROW_COUNT ? rows[i].opcode : (uint16_t)BIR_OP_UNKNOWN;
}

const char *bir_opcode_name(uint16_t opcode)
{
    int row = bir_opcode_index(opcode);
    return row < 0 ? "?" : rows[row].name;
}

unsigned bir_opcode_flags(uint16_t opcode)
{
    int row = bir_opcode_index(opcode);
    return row < 0 ? 0 : rows[row].flags;
}

uint16_t bir_opcode_from_name(const char *name, size_t len)
{
    size_t low = 0, high = ROW_COUNT;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct opcode_row *row = &rows[order[mid]];
        int c = len != row->len ? (len < row->len ? -1 : 1) : memcmp(name, row->name, len);
        if (c == 0)
            return row->opcode;
        if (c < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return BIR_OP_UNKNOWN;
}
