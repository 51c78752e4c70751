/*
 * Accumulation into PSUM.
 *
 * The file no longer says which matmul begins and which ends an accumulation (klr-format.md 9.6): several ncMatMul
 * statements write one PSUM region. *Choice*, made here and nowhere else: within a block, matmuls into the same region
 * form a group as long as nothing in between reads or otherwise writes any byte of the region. The first carries bit 0
 * (begin: overwrite), the last bit 1 (end), the ones between neither (descriptors.md 7.7). A group never crosses a
 * block, because what runs in between is not known.
 *
 * Regions are compared exactly: same location, dtype, offset and pattern is the same region; otherwise they overlap
 * when they share a partition row and a byte column. A pattern whose free pairs leave their row, or whose start is
 * dynamic, counts as the whole location.
 */
#include <string.h>

#include "codegen/context.h"

enum { ACCUMULATE_BEGIN = 1, ACCUMULATE_END = 2 };

/* Bytes a partition has in PSUM, and one bit for each (descriptors.md 1.2). */
enum { PSUM_PARTITION_BYTES = 0x4000, COLUMN_WORDS = PSUM_PARTITION_BYTES / 64 };

/* Open groups of one location at a time. More could not be told apart in reasonable time, and PSUM has eight banks. */
enum { OPEN_GROUPS_MAX = 1024 };

struct group {
    struct group *next; /* open groups of the location */
    struct bir_instruction *last;
    const struct bir_physical_ap *region;
    uint64_t *columns; /* COLUMN_WORDS words, made when first needed */
};

/* Open groups of one location. */
struct group_list {
    struct group *groups;
    uint32_t count;
};

struct accumulator {
    struct codegen *cg;
    struct bir_map lists; /* location -> struct group_list */
    struct bir_map flags; /* matmul -> flag + 1, as a pointer */
    /* For each flag the members of the last matmul that got it, without and with it. */
    const struct bir_props *before[(ACCUMULATE_BEGIN | ACCUMULATE_END) + 1],
        *after[(ACCUMULATE_BEGIN | ACCUMULATE_END) + 1];
};

/* The PSUM operand behind an argument, or NULL. */
static const struct bir_physical_ap *psum_operand(const struct bir_argument *arg)
{
    if (arg->kind != BIR_ARG_PHYSICAL_AP || bir_argument_memory(arg) != BIR_MEMORY_PSUM)
        return NULL;
    return (const struct bir_physical_ap *)arg;
}

static bool same_region(const struct bir_physical_ap *a, const struct bir_physical_ap *b)
{
    bool dynamic = bir_argument_dynamic(&a->base) || bir_argument_dynamic(&b->base);
    return a->pattern == b->pattern && a->offset_elems == b->offset_elems && a->base.dtype == b->base.dtype && !dynamic;
}

/* Rows and bytes of a region; whole set when it cannot be told. */
struct extent {
    bool whole;
    int64_t row_first, row_last;   /* of the location */
    int64_t byte_first, byte_last; /* in a row */
};

static struct extent extent_of(const struct bir_physical_ap *ap)
{
    const struct bir_location *location = (const struct bir_location *)ap->base.location;
    struct extent e = { .whole = true };
    int64_t elem = bir_dtype_bytes(ap->base.dtype), pitch = location->dims->items[1] / elem;
    if (pitch <= 0 || bir_argument_dynamic(&ap->base) || (ap->base.flags & BIR_ARGF_WHOLE_LOCATION))
        return e;
    int64_t row_low = ap->offset_elems / pitch, row_high = row_low, low = ap->offset_elems % pitch, high = low;
    for (uint32_t k = 0; k < ap->pattern->rank; k++) {
        int64_t step = ap->pattern->pairs[k].step_elems, span = step * (ap->pattern->pairs[k].num - 1);
        if (ap->pattern->pairs[k].num <= 0)
            return e;
        if (k == 0 && step % pitch == 0)
            *(step < 0 ? &row_low : &row_high) += span / pitch;
        else
            *(step < 0 ? &low : &high) += span;
    }
    if (low < 0 || high >= pitch || high * elem >= PSUM_PARTITION_BYTES)
        return e;
    return (struct extent){ false, row_low, row_high, low * elem, high * elem + elem - 1 };
}

/* bits |= bits moved by `by` positions, up or down. */
static void spread_once(uint64_t *bits, int64_t by)
{
    uint64_t moved[COLUMN_WORDS] = { 0 };
    int64_t distance = by < 0 ? -by : by;
    int words = distance < PSUM_PARTITION_BYTES ? (int)(distance / 64) : COLUMN_WORDS, rest = (int)(distance % 64);
    for (int w = 0; w + words < COLUMN_WORDS; w++) {
        int from = by < 0 ? w + words : w, to = by < 0 ? w : w + words, carry = by < 0 ? to - 1 : to + 1;
        moved[to] |= by < 0 ? bits[from] >> rest : bits[from] << rest;
        if (rest && carry >= 0 && carry < COLUMN_WORDS)
            moved[carry] |= by < 0 ? bits[from] << (64 - rest) : bits[from] >> (64 - rest);
    }
    for (int w = 0; w < COLUMN_WORDS; w++)
        bits[w] |= moved[w];
}

/* bits becomes the union of its copies moved by 0, step, ..., (num - 1) * step, by doubling. */
static void spread(uint64_t *bits, int64_t step, int64_t num)
{
    for (int64_t have = 1; have < num && have * (step < 0 ? -step : step) < PSUM_PARTITION_BYTES;) {
        int64_t more = num - have < have ? num - have : have;
        spread_once(bits, step * more);
        have += more;
    }
}

/* Marks the bytes of a row that the region touches; its extent is known to lie inside the row and inside PSUM. */
static void mark_columns(uint64_t *columns, const struct bir_physical_ap *ap)
{
    const struct bir_location *location = (const struct bir_location *)ap->base.location;
    int64_t elem = bir_dtype_bytes(ap->base.dtype), pitch = location->dims->items[1] / elem;
    int64_t start = ap->offset_elems % pitch * elem;
    columns[start / 64] |= UINT64_C(1) << (start % 64);
    spread(columns, 1, elem);
    for (uint32_t k = 0; k < ap->pattern->rank; k++) {
        const struct bir_pair *pair = &ap->pattern->pairs[k];
        if ((k > 0 || pair->step_elems % pitch) && pair->step_elems != 0)
            spread(columns, pair->step_elems * elem, pair->num);
    }
}

/* Do the group's region and the other one, of the same location, share a byte? */
static enum bir_status overlaps(struct accumulator *acc, struct group *group, const struct bir_physical_ap *other,
                                bool *answer)
{
    struct extent a = extent_of(group->region), b = extent_of(other);
    *answer = true;
    if (a.whole || b.whole || same_region(group->region, other))
        return BIR_OK;
    if (a.row_last < b.row_first || b.row_last < a.row_first || a.byte_last < b.byte_first ||
        b.byte_last < a.byte_first) {
        *answer = false;
        return BIR_OK;
    }
    if (!group->columns) {
        group->columns = bir_arena_alloc_array(&acc->cg->scratch, BIR_MEM_OTHER, COLUMN_WORDS, sizeof(uint64_t));
        if (!group->columns)
            return codegen_nomem(acc->cg);
        mark_columns(group->columns, group->region);
    }
    uint64_t columns[COLUMN_WORDS] = { 0 }, shared = 0;
    mark_columns(columns, other);
    for (int w = 0; w < COLUMN_WORDS; w++)
        shared |= columns[w] & group->columns[w];
    *answer = shared != 0;
    return BIR_OK;
}

static struct group_list *list_of(struct accumulator *acc, const struct bir_storage *location)
{
    struct group_list *list = bir_map_get(&acc->lists, location);
    if (list)
        return list;
    list = BIR_NEW(&acc->cg->scratch, BIR_MEM_OTHER, struct group_list);
    return list && bir_map_put(&acc->lists, &acc->cg->scratch, location, list) ? list : NULL;
}

static bool set_flag(struct accumulator *acc, const struct bir_instruction *matmul, uintptr_t flag)
{
    return bir_map_put(&acc->flags, &acc->cg->scratch, matmul, (void *)(flag + 1));
}

static uintptr_t get_flag(const struct accumulator *acc, const struct bir_instruction *matmul)
{
    void *stored = bir_map_get(&acc->flags, matmul);
    return stored ? (uintptr_t)stored - 1 : 0;
}

/* Ends every open group that shares a byte with `access`. */
static enum bir_status close_groups(struct accumulator *acc, const struct bir_physical_ap *access,
                                    const struct group *keep)
{
    struct group_list *list = bir_map_get(&acc->lists, access->base.location);
    for (struct group **link = list ? &list->groups : NULL; link && *link;) {
        bool overlap = true;
        BIR_TRY(overlaps(acc, *link, access, &overlap));
        if (overlap && *link != keep) {
            *link = (*link)->next;
            list->count--;
        } else {
            link = &(*link)->next;
        }
    }
    return BIR_OK;
}

static enum bir_status matmul_write(struct accumulator *acc, struct bir_instruction *matmul,
                                    const struct bir_physical_ap *out)
{
    struct group_list *list = list_of(acc, out->base.location);
    if (!list)
        return codegen_nomem(acc->cg);
    struct group *group = list->groups;
    while (group && !same_region(group->region, out))
        group = group->next;
    BIR_TRY(close_groups(acc, out, group));
    bool stored;
    if (group) {
        stored = set_flag(acc, group->last, get_flag(acc, group->last) & ~(uintptr_t)ACCUMULATE_END) &&
                 set_flag(acc, matmul, ACCUMULATE_END);
        group->last = matmul;
    } else {
        group = BIR_NEW(&acc->cg->scratch, BIR_MEM_OTHER, struct group);
        if (!group)
            return codegen_nomem(acc->cg);
        if (list->count == OPEN_GROUPS_MAX)
            return bir_fail(acc->cg->diags, "klr-accumulation", (int64_t)matmul->source_offset, "read results earlier",
                            "more than %d accumulations into '%.80s' are open", OPEN_GROUPS_MAX,
                            out->base.location->name->text);
        *group = (struct group){ .next = list->groups, .last = matmul, .region = out };
        list->groups = group;
        list->count++;
        stored = set_flag(acc, matmul, ACCUMULATE_BEGIN | ACCUMULATE_END);
    }
    return stored ? BIR_OK : codegen_nomem(acc->cg);
}

static bool is_matmul(const struct bir_instruction *inst)
{
    return inst->opcode == BIR_OP_MATMULT || inst->opcode == BIR_OP_MATMULT_MX;
}

static enum bir_status visit(struct accumulator *acc, struct bir_instruction *inst)
{
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            const struct bir_physical_ap *access = psum_operand(arg);
            if (!access)
                continue;
            if (role == BIR_ROLE_OUT && is_matmul(inst))
                BIR_TRY(matmul_write(acc, inst, access));
            else
                BIR_TRY(close_groups(acc, access, NULL));
        }
    }
    return BIR_OK;
}

enum bir_status codegen_accumulate(struct codegen *cg, struct bir_block *block)
{
    struct accumulator acc = { .cg = cg };
    const struct bir_str *key = bir_intern_cstr(&cg->module->strings, "accumulation_flag");
    bool any = false;
    if (!key)
        return codegen_nomem(cg);
    BIR_EACH_INSTRUCTION (inst, block) {
        any = any || is_matmul(inst);
        if (any)
            BIR_TRY(visit(&acc, inst));
    }
    for (struct bir_instruction *inst = any ? block->first : NULL; inst; inst = inst->next) {
        uintptr_t flag = is_matmul(inst) ? get_flag(&acc, inst) : 0;
        if (flag == 0)
            continue; /* 0 is what the operator's row says */
        if (acc.before[flag] != inst->props) {
            struct bir_prop value = { .key = key, .type = BIR_VALUE_INT, .u.i = (int64_t)flag };
            acc.before[flag] = inst->props;
            acc.after[flag] = bir_props_with(cg->module, inst->props, "accumulation_flag", &value);
        }
        inst->props = acc.after[flag];
        if (!inst->props)
            return codegen_nomem(cg);
    }
    return BIR_OK;
}
