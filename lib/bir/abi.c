/*
 * The layout tables of abi.h as data, and the two ways to ask for one: by wire spelling and by ordinal.
 *
 * symbolic_pwap is a second spelling of the class behind symbolic_ap, so it has no row; RegisterSet has an ordinal but
 * no object, because its constructor asserts (lowering.md 1.1).
 */
#include "bir/abi.h"

#include "bir/module.h"

#define ROW(layout, row_offset, row_size, member, type) { #member, row_offset, row_size, type },
#define ROWS(ID, name, size, base, class, ordinal, alone)                                                              \
    static const struct bir_abi_row rows_##name[] = { BIR_ABI_ROWS_##name(ROW){ NULL, 0, 0, BIR_ABI_GAP } };
BIR_ABI_LAYOUTS(ROWS)

#define LAYOUT(ID, name, size, base, class, ordinal, alone)                                                            \
    { BIR_ABI_##ID, #name,          class,                                                                             \
      size,         BIR_ABI_##base, ordinal,                                                                           \
      alone,        rows_##name,    sizeof rows_##name / sizeof *rows_##name - 1 },
static const struct bir_abi_layout layouts[] = { BIR_ABI_LAYOUTS(LAYOUT) };

static const char no_set[] = "RegisterSet cannot be constructed";
static const char no_ordinal[] = "Unhandled argument kind";
static const char no_name[] = "Unsupported argument kind";

const struct bir_abi_layout *bir_abi_layout_of(enum bir_abi_layout_id id)
{
    return (unsigned)id < BIR_ABI_LAYOUT_COUNT ? &layouts[id] : NULL;
}

static const struct bir_abi_layout *refuse(const char **problem, const char *text)
{
    if (problem)
        *problem = text;
    return NULL;
}

const struct bir_abi_layout *bir_abi_layout_by_ordinal(int64_t ordinal, const char **problem)
{
    if (ordinal == BIR_ARG_REGISTER_SET)
        return refuse(problem, no_set);
    for (size_t i = 0; ordinal > 0 && i < BIR_ABI_LAYOUT_COUNT; i++)
        if (layouts[i].ordinal == ordinal)
            return &layouts[i];
    return refuse(problem, no_ordinal);
}

/* -1: no decimal number of at most nine digits. */
static int64_t parse_ordinal(const char *text, size_t len)
{
    int64_t value = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

const struct bir_abi_layout *bir_abi_layout_by_name(const char *name, size_t len, const char **problem)
{
    int64_t ordinal = len > 0 && len < 10 ? parse_ordinal(name, len) : -1;
    if (ordinal >= 0)
        return bir_abi_layout_by_ordinal(ordinal, problem);
    if (len == strlen("register_set") && memcmp(name, "register_set", len) == 0)
        return refuse(problem, no_set);
    const struct bir_argument_class *class = bir_argument_class_by_wire(name, len);
    if (class)
        return bir_abi_layout_by_ordinal((int64_t) class->kind, problem);
    for (size_t i = 0; i < BIR_ABI_LAYOUT_COUNT; i++)
        if (layouts[i].stands_alone && strlen(layouts[i].name) == len && memcmp(layouts[i].name, name, len) == 0)
            return &layouts[i];
    return refuse(problem, no_name);
}

bool bir_abi_layout_is_argument(const struct bir_abi_layout *layout)
{
    while (layout && layout->id != BIR_ABI_ARGUMENT)
        layout = bir_abi_layout_of(layout->base);
    return layout != NULL;
}
