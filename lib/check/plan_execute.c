/*
 * Executing a plan: which points, in which order.
 *
 * Sample. The points of a loop nest are lanes: lane l of the first round has corner l of the domain (bit k of l: first
 * or last value of the loop at depth k) or, past the corners, a seeded point. One execution of the code thus covers
 * sixteen points. Every loop's body is executed a second time with fresh points, because only behind a back edge does
 * it show that a register which must survive an iteration was given away; inside that second round the inner loops run
 * once, so a nest of depth d costs d + 1 executions of its innermost body, not 2^d. A loop whose body is one loop and
 * nothing else leaves the second round to that one: both back edges lead to the same code with the same registers.
 *
 * Full. Outer loops run value by value; the innermost loop takes sixteen values at a time and at least two rounds when
 * it has two iterations. A nest of more than BIR_VALIDATION_FULL_POINTS points is sampled FULL_SAMPLES times instead.
 */
#include <inttypes.h>

#include "base/random.h"
#include "check/plan.h"

#define LANES           BIR_MACHINE_LANES
#define MAX_CORNER_BITS 6
#define FULL_SAMPLES    256
#define POLL_EVERY      64

struct execution {
    struct bir_plan *plan;
    bool every_point;
    uint64_t first_corner; /* of lane 0 */
    bool corners;          /* the current round takes corners */
};

static enum bir_status run_items(struct execution *x, uint32_t first, uint32_t end, bool once);

/* Value number k of the axis. k is below the trip count, so the value lies between lb and ub. */
static int64_t axis_value(const struct bir_plan_loop *loop, uint64_t k)
{
    return (int64_t)((uint64_t)loop->axis->lb + k * (uint64_t)loop->axis->stride);
}

static void set_lane(struct bir_plan *plan, const struct bir_plan_loop *loop, unsigned lane, uint64_t k)
{
    int64_t value = axis_value(loop, k);
    plan->axis[loop->level][lane] = value;
    for (uint32_t i = 0; i < loop->n_slots; i++)
        plan->machine.values[plan->slots.items[loop->first_slot + i]][lane] = (int32_t)(uint32_t)(uint64_t)value;
}

static enum bir_status poll(struct bir_plan *plan)
{
    return plan->polls++ % POLL_EVERY == 0 && bir_cancelled(plan->options->cancel) ? BIR_CANCELLED : BIR_OK;
}

/* The latch adds the stride to the counter, so the counter must survive the whole body, whether or not code behind
 * reads it. */
static enum bir_status check_counters(struct bir_plan *plan, const struct bir_plan_loop *loop)
{
    for (uint32_t i = 0; i < loop->n_slots; i++) {
        uint32_t slot = plan->slots.items[loop->first_slot + i];
        const int32_t *value = plan->machine.values[slot];
        bool file = plan->machine.names == BIR_MACHINE_PHYSICAL && slot < BIR_MACHINE_FILE_SIZE * PELICAN_ENGINES;
        for (unsigned l = 0; l < LANES; l++) {
            int64_t expected = plan->axis[loop->level][l];
            if (value[l] == (int32_t)(uint32_t)(uint64_t)expected)
                continue;
            bir_diag_add(plan->diags, BIR_ERROR, "check-counter", BIR_NO_OFFSET,
                         "loop over %s: its counter on %s (register id %d) is %" PRId64
                         " at the start of the body and %" PRId32 " at the end; another register took its place",
                         loop->name, file ? bir_engine_name((uint8_t)(slot / BIR_MACHINE_FILE_SIZE)) : "its engine",
                         file ? (int)(slot % BIR_MACHINE_FILE_SIZE) : -1, expected, value[l]);
            return BIR_INTERNAL;
        }
    }
    return BIR_OK;
}

/* One iteration (of every lane) of the loop's body. */
static enum bir_status run_body(struct execution *x, const struct bir_plan_loop *loop, uint32_t item, bool once)
{
    BIR_TRY(run_items(x, item + 1, x->plan->items.items[item].end, once));
    return check_counters(x->plan, loop);
}

/* --- sample --- */

static void sample_lanes(struct execution *x, const struct bir_plan_loop *loop)
{
    uint64_t trip = (uint64_t)loop->trip, corner_count = UINT64_C(1) << MAX_CORNER_BITS;
    unsigned bit = loop->level % MAX_CORNER_BITS;
    if (x->plan->max_depth < MAX_CORNER_BITS)
        corner_count = UINT64_C(1) << x->plan->max_depth;
    for (unsigned l = 0; l < LANES; l++) {
        uint64_t corner = x->first_corner + l, k;
        if (x->corners && corner < corner_count)
            k = corner >> bit & 1 ? trip - 1 : 0;
        else
            k = bir_random_below(&x->plan->random, trip);
        set_lane(x->plan, loop, l, k);
    }
}

/* The item of the loop that alone is the body of the loop at `item`, or `item` itself. */
static uint32_t only_loop_in(const struct bir_plan *plan, uint32_t item)
{
    const struct bir_plan_item *outer = &plan->items.items[item], *inner = outer + 1;
    bool alone = item + 1 < outer->end && inner->type == BIR_PLAN_LOOP && inner->end == outer->end;
    return alone && !plan->loops.items[inner->first].guard ? item + 1 : item;
}

static bool has_second_round(const struct bir_plan *plan, uint32_t item)
{
    for (uint32_t inner; (inner = only_loop_in(plan, item)) != item; item = inner) {
        if (plan->loops.items[plan->items.items[inner].first].trip > 1)
            return false;
    }
    return true;
}

static enum bir_status sample_loop(struct execution *x, uint32_t item, bool once)
{
    const struct bir_plan_loop *loop = &x->plan->loops.items[x->plan->items.items[item].first];
    unsigned rounds = once || loop->trip == 1 || !has_second_round(x->plan, item) ? 1 : 2;
    unsigned active = x->plan->active;
    bool corners = x->corners;
    for (unsigned round = 0; round < rounds; round++) {
        BIR_TRY(poll(x->plan));
        x->corners = corners && round == 0;
        if (loop->axis) {
            sample_lanes(x, loop);
            x->plan->active = LANES;
        }
        BIR_TRY(run_body(x, loop, item, once || round > 0));
    }
    x->corners = corners;
    x->plan->active = active;
    return BIR_OK;
}

/* --- full --- */

/* An outer loop: every lane has the same value. */
static enum bir_status full_outer(struct execution *x, const struct bir_plan_loop *loop, uint32_t item)
{
    for (uint64_t k = 0; k < (uint64_t)loop->trip; k++) {
        BIR_TRY(poll(x->plan));
        for (unsigned l = 0; loop->axis && l < LANES; l++)
            set_lane(x->plan, loop, l, k);
        BIR_TRY(run_body(x, loop, item, false));
    }
    return BIR_OK;
}

/* An innermost loop: sixteen values a round, the lanes past the last one repeat it. A single round is repeated, without
 * counting its points again. */
static enum bir_status full_inner(struct execution *x, const struct bir_plan_loop *loop, uint32_t item)
{
    uint64_t trip = (uint64_t)loop->trip;
    struct bir_validation_stats counted;
    for (uint64_t k = 0; k < trip; k += LANES) {
        BIR_TRY(poll(x->plan));
        unsigned rounds = trip > 1 && trip <= LANES ? 2 : 1;
        for (unsigned round = 0; round < rounds; round++) {
            for (unsigned l = 0; l < LANES; l++)
                set_lane(x->plan, loop, l, k + l < trip ? k + l : trip - 1);
            x->plan->active = trip - k < LANES ? (unsigned)(trip - k) : LANES;
            BIR_TRY(run_body(x, loop, item, false));
            if (round == 0)
                counted = *x->plan->stats;
        }
        *x->plan->stats = counted;
    }
    return BIR_OK;
}

static enum bir_status full_loop(struct execution *x, uint32_t item)
{
    const struct bir_plan_loop *loop = &x->plan->loops.items[x->plan->items.items[item].first];
    unsigned active = x->plan->active;
    BIR_TRY(loop->axis && !loop->has_inner ? full_inner(x, loop, item) : full_outer(x, loop, item));
    x->plan->active = active;
    return BIR_OK;
}

/* --- items --- */

struct saved {
    int32_t low[LANES], high[LANES];
};

static void keep_lanes(int32_t *values, const int32_t *old, uint16_t off)
{
    for (unsigned l = 0; l < LANES; l++)
        values[l] = off >> l & 1 ? old[l] : values[l];
}

/* One operation, which writes nothing in the lanes that are off. */
static bool run_masked(struct bir_machine *m, uint32_t op, uint16_t off, struct bir_machine_fault *fault)
{
    const struct bir_machine_op *o = &m->ops.items[op];
    bool wide = o->flags & BIR_MACHINE_WIDE;
    struct saved saved;
    memcpy(saved.low, m->values[o->out], sizeof saved.low);
    if (wide)
        memcpy(saved.high, m->values[o->out_high], sizeof saved.high);
    if (!bir_machine_run(m, op, op + 1, fault))
        return false;
    keep_lanes(m->values[o->out], saved.low, off);
    if (wide)
        keep_lanes(m->values[o->out_high], saved.high, off);
    return true;
}

static bool run_ops(struct bir_plan *plan, const struct bir_plan_item *item, struct bir_machine_fault *fault)
{
    struct bir_machine *m = &plan->machine;
    struct bir_lanes lanes = bir_guard_lanes(plan, item->guard, plan->lanes);
    uint16_t masked = item->masked ? lanes.off : plan->lanes.off;
    bool done = true;
    m->lanes_off = lanes.off | lanes.loose;
    if (masked == 0)
        return bir_machine_run(m, item->first, item->end, fault);
    for (uint32_t i = item->first; i < item->end && done; i++)
        done = run_masked(m, i, masked, fault);
    return done;
}

static enum bir_status run_loop(struct execution *x, uint32_t item, bool once)
{
    struct bir_plan *plan = x->plan;
    const struct bir_plan_loop *loop = &plan->loops.items[plan->items.items[item].first];
    struct bir_lanes outer = plan->lanes;
    plan->lanes = bir_guard_lanes(plan, loop->guard, outer);
    if (plan->lanes.off != UINT16_MAX)
        BIR_TRY(x->every_point ? full_loop(x, item) : sample_loop(x, item, once));
    plan->lanes = outer;
    return BIR_OK;
}

static enum bir_status run_items(struct execution *x, uint32_t first, uint32_t end, bool once)
{
    struct bir_plan *plan = x->plan;
    for (uint32_t i = first; i < end; i++) {
        const struct bir_plan_item *item = &plan->items.items[i];
        struct bir_machine_fault fault;
        switch (item->type) {
        case BIR_PLAN_OPS:
            if (!run_ops(plan, item, &fault))
                return bir_plan_trapped(plan, i, &fault);
            break;
        case BIR_PLAN_SITE: BIR_TRY(bir_plan_compare(plan, &plan->sites.items[item->first])); break;
        case BIR_PLAN_LOOP:
            BIR_TRY(run_loop(x, i, once));
            i = item->end - 1;
            break;
        }
    }
    return BIR_OK;
}

enum bir_status bir_plan_execute(struct bir_plan *plan)
{
    bool full = plan->options->mode == BIR_VALIDATION_FULL;
    struct execution x = { .plan = plan, .every_point = full && plan->max_points <= BIR_VALIDATION_FULL_POINTS };
    uint64_t passes = 1;
    if (!x.every_point) {
        unsigned bits = plan->max_depth < MAX_CORNER_BITS ? plan->max_depth : MAX_CORNER_BITS;
        uint64_t corners = UINT64_C(1) << bits;
        passes = full ? FULL_SAMPLES : (corners + LANES - 1) / LANES;
    }
    for (uint64_t pass = 0; pass < passes; pass++) {
        x.corners = true;
        x.first_corner = pass * LANES;
        plan->active = 1;
        plan->lanes = (struct bir_lanes){ .off = 0 };
        BIR_TRY(run_items(&x, 0, plan->items.count, false));
    }
    return BIR_OK;
}
