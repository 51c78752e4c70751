/*
 * The version number of the format has not moved through some forty incompatible changes, so an old file shows only in
 * type tags and field counts. Three signs, best first:
 *
 *  1. the type tag of Operator, which grows with every operator structure. It is looked for behind the fault too: a
 *     statement starts with the tag of Stmt, a small count, the tag of Operator, the count 1 and the tag of the
 * payload, which little else in a file looks like;
 *  2. the field count of a type that has had other ones;
 *  3. the tag of a type that has had other ones.
 *
 * A wrong guess costs nothing: it is worded as a likelihood and the file is refused either way.
 */
#include "klr/revision.h"

#define CURRENT "leanprover/KLR 7ccd18c of 2026-03-25"
#define ADVICE  "compile the kernel again with a front end of the current revision (" CURRENT ")"

/* Operator's tag changed on these days, to the tag; the next row's day ends it. */
struct operator_tag {
    uint8_t tag;
    const char *since;
};

static const struct operator_tag operator_tags[] = {
    { 187, "2025-07-25" }, { 189, "2025-08-18" }, { 195, "2025-10-03" }, { 201, "2025-10-07" }, { 202, "2025-10-22" },
    { 208, "2025-10-31" }, { 209, "2025-11-21" }, { 210, "2025-11-21" }, { 212, "2025-11-26" }, { 215, "2025-12-31" },
    { 216, "2026-01-07" }, { 217, "2026-01-22" }, { 218, "2026-01-29" },
};
enum { OPERATOR_TAGS = sizeof(operator_tags) / sizeof(operator_tags[0]), OPERATOR_TAG_MIN = 150 };

/* What a type looked like over a period. */
struct period {
    uint8_t type;   /* enum klr_type */
    uint8_t number; /* its field count or tag then */
    const char *text;
};

static const struct period count_periods[] = {
    { KLR_TYPE_TensorName, 5, "mid-July 2025, a side branch such as 0155c68 of 2025-07-15" },
    { KLR_TYPE_TensorName, 7,
      "before 2025-11-21 (7d7ff0e); with Operator tags below 187, about 2025-07-21 (side branches such as 0d78b62)" },
    { KLR_TYPE_Pos, 4, "2025-08-08 (c1a676a) to 2025-09-10 (b5fd6cf)" },
    { KLR_TYPE_Stmt, 1, "before 2025-07-25 (d472752)" },
    { KLR_TYPE_Stmt, 2, "2025-07-25 (d472752) to 2025-08-08 (c1a676a)" },
    { KLR_TYPE_Block, 2, "2025-10-03 (6cbf88a) to 2026-02-28 (90e162d)" },
    { KLR_TYPE_LncKernel, 5, "before 2025-09-19 (c7ccdc3)" },
    { KLR_TYPE_LncKernel, 6, "2025-09-19 (c7ccdc3) to 2025-12-17 (25933ae)" },
    { KLR_TYPE_Address, 5, "before 2025-08-15 (4cc0ddc)" },
    { KLR_TYPE_Address, 6, "2025-08-15 (4cc0ddc) to 2025-10-10 (b66718a)" },
    { KLR_TYPE_APPair, 2, "before 2025-10-24 (5e7eca3)" },
    { KLR_TYPE_AccessPattern, 5, "2025-08-10 (c11ee22) to 2025-10-24 (5e7eca3)" },
    { KLR_TYPE_BirAccessPattern, 3, "before 2025-09-30 (3bd8aa2)" },
    { KLR_TYPE_BirAccessPattern, 6, "2025-09-30 (3bd8aa2) to 2025-11-25 (b9f5972)" },
    { KLR_TYPE_DataPattern, 2, "before 2025-08-26 (b4aff2a)" },
    { KLR_TYPE_MatMul, 3, "before 2025-12-12 (dd15e1b)" },
    { KLR_TYPE_NcMatMul, 10, "2025-11-20 (945a8cc) to 2025-12-12 (dd15e1b)" },
    { KLR_TYPE_MatMulMX, 8, "2025-10-07 (7d46495) to 2025-12-12 (dd15e1b)" },
    { KLR_TYPE_NcDmaCopy, 5, "before 2025-10-31 (c4dadf5)" },
    { KLR_TYPE_NcDmaCopy, 7, "2025-10-31 (c4dadf5) to 2026-03-25 (c1c0c26)" },
    { KLR_TYPE_DmaTranspose, 5, "before 2025-12-03 (5cc9996)" },
    { KLR_TYPE_DmaTranspose, 6, "2025-12-03 (5cc9996) to 2026-03-25 (c1c0c26)" },
    { KLR_TYPE_CollectiveOp, 8, "2025-12-31 (d6586dd) to 2026-03-25 (c1c0c26)" },
    { KLR_TYPE_TensorScalarReduce, 8, "before 2026-03-25 (c1c0c26)" },
    { KLR_TYPE_Exponential, 5, "2026-01-22 (a037f23) to 2026-01-29 (95126a4)" },
};

static const struct period tag_periods[] = {
    { KLR_TYPE_LncKernel, 106, "2025-08-13 (1c79b88) until SharedConstantFile came" },
    { KLR_TYPE_LncKernel, 107, "from SharedConstantFile until 2025-09-19 (c7ccdc3)" },
    { KLR_TYPE_Stmt, 104, "before 2025-10-03 (6cbf88a)" },
    { KLR_TYPE_AccessBasic, 117, "before 2025-10-09 (294d8d4)" },
};

static const char *period_find(const struct period *periods, size_t count, enum klr_type type, uint64_t number)
{
    for (size_t i = 0; i < count; i++) {
        if (periods[i].type == type && periods[i].number == number)
            return periods[i].text;
    }
    return NULL;
}

/* The hint that Operator's tag gives, or NULL when it is the current one or none that ever was. detail may be NULL. */
static const char *operator_hint(struct bir_arena *arena, uint32_t tag, const char *detail)
{
    const char *since = NULL, *until = NULL;
    for (uint32_t i = 0; i + 1 < OPERATOR_TAGS; i++) {
        if (operator_tags[i].tag == tag) {
            since = operator_tags[i].since;
            until = operator_tags[i + 1].since;
        }
    }
    if (tag >= OPERATOR_TAG_MIN && tag < operator_tags[0].tag)
        until = operator_tags[0].since;
    if (!until)
        return NULL;
    return bir_arena_printf(arena, "likely an old file: Operator has type tag %u, so %s%s%s%s%s%s; " ADVICE, tag,
                            since ? "from " : "", since ? since : "", since ? " to " : "before ", until,
                            detail ? "; also " : "", detail ? detail : "");
}

/* The tag of Operator in the next statement, 0 when there is none. */
static uint32_t operator_tag_behind(struct klr_evidence rest)
{
    enum { TAG16 = 0xd9, STMT = 0x67, OLD_STMT = 0x68, SPAN_BYTES = 9 };
    const uint8_t *at = rest.bytes, *end = rest.bytes + rest.len;
    while (at < end && (at = memchr(at, TAG16, (size_t)(end - at)))) {
        if (end - at < SPAN_BYTES)
            return 0;
        bool statement = (at[1] == STMT || at[1] == OLD_STMT) && at[3] >= 0x81 && at[3] <= 0x83;
        if (statement && at[4] == TAG16 && at[5] >= OPERATOR_TAG_MIN && at[7] == 0x81 && at[8] == TAG16)
            return at[5];
        at++;
    }
    return 0;
}

const char *klr_revision_of_count(struct bir_arena *arena, struct klr_evidence rest, enum klr_type type, uint64_t count)
{
    const char *period = period_find(count_periods, sizeof(count_periods) / sizeof(*count_periods), type, count);
    const char *name = klr_types[type].name;
    const char *detail = NULL;
    if (period)
        detail = bir_arena_printf(arena, "%s with %llu fields means %s", name, (unsigned long long)count, period);
    const char *hint = operator_hint(arena, operator_tag_behind(rest), detail);
    if (hint)
        return hint;
    if (detail)
        return bir_arena_printf(arena, "likely an old file: %s; " ADVICE, detail);
    return bir_arena_printf(arena,
                            "no revision up to " CURRENT " has %s with %llu fields: the file is damaged or newer", name,
                            (unsigned long long)count);
}

const char *klr_revision_of_tag(struct bir_arena *arena, struct klr_evidence rest, enum klr_type type, uint32_t tag)
{
    const char *period = period_find(tag_periods, sizeof(tag_periods) / sizeof(*tag_periods), type, tag);
    const char *name = klr_types[type].name;
    const char *detail = period ? bir_arena_printf(arena, "%s with type tag %u means %s", name, tag, period) : NULL;
    const char *hint = operator_hint(arena, type == KLR_TYPE_Operator ? tag : operator_tag_behind(rest), detail);
    if (hint)
        return hint;
    if (detail)
        return bir_arena_printf(arena, "likely an old file: %s; " ADVICE, detail);
    return bir_arena_printf(arena,
                            "no revision up to " CURRENT " is known to have %s with type tag %u: the file is "
                            "damaged, or of another revision",
                            name, tag);
}
