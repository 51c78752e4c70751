/*
 * Comparing a lowered operand with what it was (lowering.md 8.7), in all lanes at once.
 *
 * Symbolic operands are compared three ways: the address register with
 *     entry[b] + (t / step) * partition stride + (t mod step) * element bytes (+ bias of a moving operand),
 * the offset register with t and the sub tensor register with b, all in exact 64-bit arithmetic. Dynamic operands: the
 * offset register with c + sum coef * value, modulo the register's width. Lanes that are no points of their own repeat
 * a point, so all of them must agree.
 */
#include "check/address.h"
#include "check/counterexample.h"
#include "pelican/evaluate.h"

#define LANES BIR_MACHINE_LANES

struct leaf_context {
    struct bir_plan *plan;
    const struct bir_operand *operand;
    unsigned lane;
    bool unknown;
    bool negative; /* a 32-bit leaf was below 0 */
};

static const struct bir_nest *nest_of_axis(const struct bir_nest *nest, const struct pelican_axis *axis)
{
    while (nest && nest->axis != axis)
        nest = nest->parent;
    return nest;
}

/* Value of an index element: the cell that a load of it reads. Made when the site was, so it is only looked up here. */
static bool index_value(struct leaf_context *x, int64_t arg_id, int64_t *value)
{
    for (uint32_t i = 0; i < x->operand->n_indices; i++) {
        const struct bir_operand_index *index = &x->operand->indices[i];
        uint32_t cell;
        if (index->arg_id != arg_id)
            continue;
        if (bir_machine_cell(&x->plan->machine, index->location, index->offset_elems, index->dtype, &cell) != BIR_OK)
            return false;
        *value = bir_plan_register_value(x->plan, cell, bir_check_dtype_bytes(index->dtype) == 8, x->lane);
        return true;
    }
    return false;
}

bool bir_plan_leaf(const struct bir_plan *plan, const struct bir_nest *nest, const struct pelican_expr *leaf,
                   unsigned lane, int64_t *value)
{
    uint32_t watch;
    switch ((enum pelican_kind)leaf->kind) {
    case PELICAN_AFFINE_IV:
        nest = nest_of_axis(nest, leaf->u.axis);
        if (nest)
            *value = plan->axis[nest->depth - 1][lane];
        return nest != NULL;
    case PELICAN_RUNTIME_VALUE:
        watch = (uint32_t)(uintptr_t)bir_map_get(&plan->watch_slots, leaf->u.reg);
        if (watch)
            *value = bir_plan_register_value(plan, watch - 1, leaf->u.reg->num_physical == 2, lane);
        return watch != 0;
    default: return false;
    }
}

static bool leaf_value(void *user, const struct pelican_expr *leaf, int64_t *value)
{
    struct leaf_context *x = user;
    bool known = leaf->kind == PELICAN_INDIRECT_ARG ? index_value(x, leaf->u.arg_id, value)
                                                    : bir_plan_leaf(x->plan, x->operand->nest, leaf, x->lane, value);
    x->unknown |= !known;
    if (known && leaf->kind == PELICAN_RUNTIME_VALUE)
        x->negative |= leaf->u.reg->num_physical != 2 && *value < 0;
    return known;
}

int64_t bir_plan_register_value(const struct bir_plan *plan, uint32_t slot, bool wide, unsigned lane)
{
    int64_t low = plan->machine.values[slot][lane];
    if (!wide)
        return low;
    return (int64_t)((uint64_t)(uint32_t)low | (uint64_t)(uint32_t)plan->machine.values[slot + 1][lane] << 32);
}

/* --- symbolic --- */

static void sum_terms(const struct bir_plan *plan, const struct bir_operand_affine *affine, int64_t out[LANES])
{
    for (unsigned l = 0; l < LANES; l++)
        out[l] = affine->c;
    for (uint32_t i = 0; i < affine->n_terms; i++) {
        const int64_t *axis = plan->axis[affine->terms[i].level];
        int64_t coef = affine->terms[i].coef;
        for (unsigned l = 0; l < LANES; l++)
            out[l] += coef * axis[l];
    }
}

/* The expression in every lane; false, and *lane, when it has no value in one that is not in skip. Lanes that are no
 * points of their own repeat the last one that is. */
static bool evaluate(struct bir_plan *plan, const struct bir_operand *operand, const struct bir_operand_affine *affine,
                     uint16_t skip, int64_t out[LANES], unsigned *lane)
{
    if (affine->flat) {
        sum_terms(plan, affine, out);
        return true;
    }
    for (unsigned l = 0; l < LANES; l++) {
        struct leaf_context x = { .plan = plan, .operand = operand, .lane = l };
        if (l >= plan->active) {
            out[l] = out[plan->active - 1];
        } else if (!pelican_evaluate(affine->expr, leaf_value, &x, &out[l])) {
            *lane = l;
            out[l] = -1; /* outside every set */
            if (!(skip >> l & 1))
                return false;
        }
    }
    return true;
}

bool bir_point_expected(const struct bir_operand *operand, struct bir_point *point)
{
    const struct bir_operand_blocks *blocks = operand->blocks;
    point->address = 0;
    if (point->tile < 0 || point->tile > INT32_MAX || point->block < 0 || point->block >= blocks->count ||
        blocks->entry[point->block] < 0)
        return false;
    int64_t row, column;
    if (operand->step_elems <= INT32_MAX) { /* 32-bit division is several times faster */
        row = (uint32_t)point->tile / (uint32_t)operand->step_elems;
        column = (uint32_t)point->tile % (uint32_t)operand->step_elems;
    } else {
        row = 0;
        column = point->tile;
    }
    point->entry = blocks->entry[point->block];
    point->part_bytes = row * operand->stride_bytes;
    point->free_bytes = column * operand->elem_bytes;
    point->address = point->entry + point->part_bytes + point->free_bytes + operand->bias_bytes;
    return point->address <= INT32_MAX;
}

bool bir_plan_point(struct bir_plan *plan, const struct bir_plan_site *site, unsigned lane, struct bir_point *point)
{
    int64_t tile[LANES], block[LANES];
    unsigned bad;
    if (!evaluate(plan, site->operand, &site->operand->tile, 0, tile, &bad) ||
        !evaluate(plan, site->operand, &site->operand->block, 0, block, &bad))
        return false;
    point->tile = tile[lane];
    point->block = block[lane];
    return bir_point_expected(site->operand, point);
}

/* Where the operand is at the points of every lane but those in *off. A loose lane outside the set is put into *off. */
static enum bir_status symbolic_points(struct bir_plan *plan, const struct bir_plan_site *site, uint16_t loose,
                                       uint16_t *off, struct bir_point points[LANES])
{
    const struct bir_operand *operand = site->operand;
    uint16_t skip = (uint16_t)(*off | loose);
    int64_t tile[LANES], block[LANES];
    unsigned lane = 0;
    if (!evaluate(plan, operand, &operand->tile, skip, tile, &lane) ||
        !evaluate(plan, operand, &operand->block, skip, block, &lane))
        return bir_report_no_value(plan, site, lane);
    for (unsigned l = 0; l < LANES; l++) {
        points[l].tile = tile[l];
        points[l].block = block[l];
        if (bir_point_expected(operand, &points[l]))
            continue;
        if (!(skip >> l & 1))
            return bir_report_domain(plan, site, l, &points[l]);
        *off |= (uint16_t)(1u << l);
    }
    return BIR_OK;
}

/* Lanes that are points of their own and not off. */
static unsigned points_in(const struct bir_plan *plan, uint16_t off)
{
    return (unsigned)__builtin_popcount(((1u << plan->active) - 1) & ~(unsigned)off);
}

static enum bir_status compare_symbolic(struct bir_plan *plan, const struct bir_plan_site *site)
{
    static const int32_t zero[LANES];
    struct bir_point points[LANES];
    struct bir_lanes lanes = bir_guard_lanes(plan, site->operand->guard, plan->lanes);
    if (points_in(plan, lanes.off) == 0)
        return BIR_OK;
    BIR_TRY(symbolic_points(plan, site, lanes.loose, &lanes.off, points));
    struct bir_machine *m = &plan->machine;
    const int32_t *address = m->values[site->address];
    const int32_t *offset = site->offset == BIR_PLAN_NO_SLOT ? zero : m->values[site->offset];
    const int32_t *sub = site->sub_tensor == BIR_PLAN_NO_SLOT ? zero : m->values[site->sub_tensor];
    int64_t const_offset = site->ap->const_offset_elems;
    int64_t const_sub = site->sub_tensor == BIR_PLAN_NO_SLOT ? site->ap->const_sub_tensor_id : 0;
    int64_t wrong = 0;
    for (unsigned l = 0; l < LANES; l++)
        wrong |= ((address[l] ^ points[l].address) | ((offset[l] + const_offset) ^ points[l].tile) |
                  ((sub[l] + const_sub) ^ points[l].block)) &
                 ((int64_t)(lanes.off >> l & 1) - 1);
    if (wrong == 0 && m->note.trap == BIR_TRAP_NONE) {
        plan->stats->points += points_in(plan, lanes.off);
        return BIR_OK;
    }
    unsigned lane = wrong == 0 ? m->note.lane : 0;
    for (unsigned l = 0; wrong != 0 && l < LANES; l++) {
        if (lanes.off >> l & 1)
            continue;
        if (address[l] != points[l].address || offset[l] + const_offset != points[l].tile ||
            sub[l] + const_sub != points[l].block) {
            lane = l;
            break;
        }
    }
    return bir_report_symbolic(plan, site, lane, &points[lane], wrong == 0 ? &m->note : NULL);
}

/* --- dynamic --- */

enum offset_state { OFFSET_KNOWN, OFFSET_OPEN, OFFSET_UNKNOWN };

/* The element offset, modulo 2^64. OPEN: nothing is promised in this lane, because a value is beyond 64 bits or a
 * negative 32-bit index enters a 64-bit sum, whose code extends it by zeros (lowering.md 9.3). UNKNOWN: the expression
 * has no value. */
static enum offset_state dynamic_offset(struct bir_plan *plan, const struct bir_operand *operand, unsigned lane,
                                        bool wide, uint64_t *offset)
{
    struct leaf_context x = { .plan = plan, .operand = operand, .lane = lane };
    if (operand->kind == BIR_OPERAND_WIDE) {
        *offset = (uint64_t)operand->offset_elems;
        return OFFSET_KNOWN;
    }
    *offset = (uint64_t)operand->dynamic->c_elems;
    for (uint32_t i = 0; i < operand->dynamic->n_terms; i++) {
        int64_t value;
        if (!pelican_evaluate(operand->dynamic->terms[i].expr, leaf_value, &x, &value))
            return x.unknown ? OFFSET_UNKNOWN : OFFSET_OPEN;
        *offset += (uint64_t)operand->dynamic->terms[i].coef * (uint64_t)value;
    }
    return wide && x.negative ? OFFSET_OPEN : OFFSET_KNOWN;
}

static enum bir_status compare_dynamic(struct bir_plan *plan, const struct bir_plan_site *site)
{
    bool wide = site->ap->address->num_physical == 2;
    uint64_t mask = wide ? UINT64_MAX : UINT32_MAX;
    struct bir_lanes lanes = bir_guard_lanes(plan, site->operand->guard, plan->lanes);
    for (unsigned l = 0; l < LANES; l++) {
        if (lanes.off >> l & 1)
            continue;
        uint64_t expected = 0;
        enum offset_state state = dynamic_offset(plan, site->operand, l, wide, &expected);
        if (state == OFFSET_UNKNOWN)
            return bir_report_no_value(plan, site, l);
        uint64_t computed = (uint64_t)bir_plan_register_value(plan, site->address, wide, l);
        computed += (uint64_t)site->ap->const_offset_elems;
        if (state == OFFSET_KNOWN && (computed & mask) != (expected & mask))
            return bir_report_dynamic(plan, site, l, (int64_t)expected, (int64_t)computed);
    }
    plan->stats->points += points_in(plan, lanes.off);
    plan->machine.note = (struct bir_machine_fault){ .trap = BIR_TRAP_NONE };
    return BIR_OK;
}

bool bir_plan_agrees(struct bir_plan *plan, const struct bir_plan_site *site)
{
    struct bir_point point = { .tile = 0 };
    bool wide = site->ap->address->num_physical == 2;
    uint64_t expected = 0;
    if (site->operand->kind == BIR_OPERAND_SYMBOLIC)
        return bir_plan_point(plan, site, 0, &point) && plan->machine.values[site->address][0] == point.address;
    return dynamic_offset(plan, site->operand, 0, wide, &expected) != OFFSET_UNKNOWN;
}

enum bir_status bir_plan_compare(struct bir_plan *plan, const struct bir_plan_site *site)
{
    return site->operand->kind == BIR_OPERAND_SYMBOLIC ? compare_symbolic(plan, site) : compare_dynamic(plan, site);
}

enum bir_status bir_plan_trapped(struct bir_plan *plan, uint32_t item, const struct bir_machine_fault *fault)
{
    const struct bir_plan_site *owner = NULL;
    for (uint32_t i = item + 1; i < plan->items.count && plan->items.items[i].type == BIR_PLAN_SITE; i++) {
        const struct bir_plan_site *site = &plan->sites.items[plan->items.items[i].first];
        struct bir_point points[LANES];
        struct bir_lanes lanes = bir_guard_lanes(plan, site->operand->guard, plan->lanes);
        if (site->operand->kind == BIR_OPERAND_SYMBOLIC)
            BIR_TRY(symbolic_points(plan, site, lanes.loose, &lanes.off, points));
        if (!owner || bir_site_owns(plan, site, fault->op))
            owner = site;
    }
    return bir_report_trap(plan, owner, fault);
}
