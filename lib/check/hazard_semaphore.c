/*
 * Semaphores: updates by semaphore and chain, epochs between resets, and what a wait proves (hazards.md section 3).
 *
 * The updates of one semaphore on one chain land in order, so they form a group, sorted by position, with running sums.
 * An epoch counts, of each group, one run of updates: those of its own (between its reset and the next one), preceded
 * by the late ones, which stand before the reset but are not ordered before it. A span is such a run. With T the sum
 * over all spans of the epoch and A what follows an update in its span, the update is proved by a wait for v iff T - A
 * <= v; since A falls along a span, what a wait proves is the front of each span, found by bisection, and the last
 * proved update stands for all of them.
 *
 * A late update is a member of the epoch it lands in: if it landed before the reset after all, it is complete anyway.
 *
 * Invariant: T only grows while updates turn out to be late, so proved updates only become fewer.
 */
#include <stdlib.h>

#include "check/hazard_internal.h"

static int compare_updates(const void *a, const void *b)
{
    const struct hazard_update *x = a, *y = b;
    if (x->semaphore != y->semaphore)
        return x->semaphore < y->semaphore ? -1 : 1;
    if (x->chain != y->chain)
        return x->chain < y->chain ? -1 : 1;
    if (x->exec != y->exec)
        return x->exec < y->exec ? -1 : 1;
    return x->count < y->count ? -1 : x->count > y->count; /* two updates of one instruction */
}

static int compare_resets(const void *a, const void *b)
{
    const struct hazard_reset *x = a, *y = b;
    if (x->semaphore != y->semaphore)
        return x->semaphore < y->semaphore ? -1 : 1;
    return x->exec < y->exec ? -1 : x->exec > y->exec;
}

/* Counts in order of position; and no sum of a semaphore may leave int64. */
static enum bir_status count_updates(struct hazard_analysis *h)
{
    int64_t counts[HAZARD_SEMAPHORES] = { 0 }, sums[HAZARD_SEMAPHORES] = { 0 };
    uint32_t r = 0;
    for (uint32_t i = 0; i < h->raw_updates.count; i++) {
        struct hazard_update *u = &h->raw_updates.items[i];
        for (; r < h->raw_resets.count && h->raw_resets.items[r].exec <= u->exec; r++)
            counts[h->raw_resets.items[r].semaphore] = 0;
        if (__builtin_add_overflow(sums[u->semaphore], u->value, &sums[u->semaphore])) {
            h->edges_unknown = true;
            return hazard_reason(h, h->execs.items[u->exec].inst->source_offset,
                                 "the updates of semaphore %u add up to more than 2^63", (unsigned)u->semaphore);
        }
        u->count = counts[u->semaphore] += u->value;
    }
    return BIR_OK;
}

static enum bir_status build_groups(struct hazard_analysis *h)
{
    h->updates = h->raw_updates.items;
    h->n_updates = h->raw_updates.count;
    if (h->n_updates > 0)
        qsort(h->updates, h->n_updates, sizeof(*h->updates), compare_updates);
    uint32_t semaphore = 0;
    for (uint32_t i = 0; i < h->n_updates; i++) {
        struct hazard_update *u = &h->updates[i];
        bool is_new = i == 0 || u[-1].semaphore != u->semaphore || u[-1].chain != u->chain;
        for (; semaphore <= u->semaphore; semaphore++)
            h->semaphore_groups[semaphore] = h->groups.count;
        struct hazard_group group = { .chain = u->chain, .first = i };
        if (is_new && !bir_vec_push(&h->scratch, &h->groups, group))
            return hazard_memory(h);
        u->after = u->value + (is_new ? 0 : u[-1].after);
        h->groups.items[h->groups.count - 1].end = i + 1;
    }
    for (; semaphore <= HAZARD_SEMAPHORES; semaphore++)
        h->semaphore_groups[semaphore] = h->groups.count;
    return BIR_OK;
}

/* --- epochs --- */

static enum bir_status cut_epochs(struct hazard_analysis *h)
{
    uint32_t n_resets = h->raw_resets.count, r = 0, n = 0;
    struct hazard_reset *resets = h->raw_resets.items;
    if (n_resets > 0)
        qsort(resets, n_resets, sizeof(*resets), compare_resets);
    h->epochs =
        bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, (size_t)n_resets + HAZARD_SEMAPHORES, sizeof(*h->epochs));
    if (!h->epochs)
        return hazard_memory(h);
    for (uint32_t s = 0; s < HAZARD_SEMAPHORES; s++) {
        h->semaphore_epochs[s] = n;
        h->epochs[n++] = (struct hazard_epoch){ .reset = HAZARD_NONE, .end = h->n_execs, .semaphore = (uint8_t)s };
        for (; r < n_resets && resets[r].semaphore == s; r++) {
            h->epochs[n - 1].end = resets[r].exec;
            h->epochs[n++] =
                (struct hazard_epoch){ .reset = resets[r].exec, .end = h->n_execs, .semaphore = (uint8_t)s };
        }
    }
    h->semaphore_epochs[HAZARD_SEMAPHORES] = n;
    return BIR_OK;
}

/* First position after `from` in a group at or after execution exec. */
static uint32_t lower_update(const struct hazard_analysis *h, uint32_t from, uint32_t end, uint32_t exec)
{
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (h->updates[middle].exec < exec)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

static int64_t before_update(const struct hazard_analysis *h, uint32_t update)
{
    return h->updates[update].after - h->updates[update].value;
}

static int64_t span_sum(const struct hazard_analysis *h, uint32_t from, uint32_t end)
{
    return from < end ? h->updates[end - 1].after - before_update(h, from) : 0;
}

struct hazard_epoch *hazard_semaphore_epoch(const struct hazard_analysis *h, uint8_t semaphore, uint32_t exec,
                                            bool is_update)
{
    /* the last epoch whose reset is before exec; an update of the resetting instruction itself counts in the new one */
    uint32_t low = h->semaphore_epochs[semaphore], high = h->semaphore_epochs[semaphore + 1];
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t reset = h->epochs[middle].reset;
        if (reset < exec || (is_update && reset == exec))
            low = middle;
        else
            high = middle;
    }
    return &h->epochs[low];
}

/* Calls for each run of a group's updates that lie in one epoch: counts spans, or fills them in. */
static void each_span(struct hazard_analysis *h, bool fill)
{
    for (uint32_t s = 0; s < HAZARD_SEMAPHORES; s++) {
        for (uint32_t g = h->semaphore_groups[s]; g < h->semaphore_groups[s + 1]; g++) {
            const struct hazard_group *group = &h->groups.items[g];
            for (uint32_t i = group->first, end; i < group->end; i = end) {
                struct hazard_epoch *epoch = hazard_semaphore_epoch(h, (uint8_t)s, h->updates[i].exec, true);
                end = lower_update(h, i, group->end, epoch->end);
                struct hazard_span span = { .group = g, .late = i, .begin = i, .end = end };
                if (fill) {
                    epoch->spans[epoch->n_spans] = span;
                    epoch->own += span_sum(h, i, end);
                }
                epoch->n_spans++;
            }
        }
    }
}

static enum bir_status build_spans(struct hazard_analysis *h)
{
    each_span(h, false);
    for (uint32_t e = 0; e < h->semaphore_epochs[HAZARD_SEMAPHORES]; e++) {
        struct hazard_epoch *epoch = &h->epochs[e];
        if (epoch->n_spans > 0)
            epoch->spans = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, epoch->n_spans, sizeof(*epoch->spans));
        if (epoch->n_spans > 0 && !epoch->spans)
            return hazard_memory(h);
        epoch->n_spans = 0;
    }
    each_span(h, true);
    for (uint32_t e = 0; e < h->semaphore_epochs[HAZARD_SEMAPHORES]; e++)
        h->epochs[e].total = h->epochs[e].own;
    return BIR_OK;
}

enum bir_status hazard_semaphore_build(struct hazard_analysis *h)
{
    BIR_TRY(count_updates(h));
    if (h->edges_unknown)
        return BIR_OK;
    BIR_TRY(build_groups(h));
    BIR_TRY(cut_epochs(h));
    BIR_TRY(build_spans(h));
    for (uint32_t i = 0; i < h->waiters.count; i++) {
        struct hazard_waiter *w = &h->waiters.items[i];
        w->epoch = (uint32_t)(hazard_semaphore_epoch(h, (uint8_t)w->wait->semaphore, w->exec, false) - h->epochs);
    }
    return hazard_bind(h);
}

/* --- late updates --- */

/* First update of a group whose completion is not ordered before the node of a reset. */
static uint32_t first_late(const struct hazard_analysis *h, const struct hazard_group *group, uint32_t reset)
{
    uint32_t clock = hazard_clock(h, hazard_start_node(reset), group->chain);
    uint32_t from = group->first, end = group->end;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (h->execs.items[h->updates[middle].exec].end_index <= clock)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* The run of a group's updates that counts in an epoch. */
static struct hazard_span span_of(const struct hazard_analysis *h, const struct hazard_epoch *epoch, uint32_t g)
{
    const struct hazard_group *group = &h->groups.items[g];
    uint32_t begin = lower_update(h, group->first, group->end, epoch->reset);
    uint32_t late = first_late(h, group, epoch->reset);
    uint32_t end = lower_update(h, begin, group->end, epoch->end);
    return (struct hazard_span){ .group = g, .late = late < begin ? late : begin, .begin = begin, .end = end };
}

static enum bir_status find_late(struct hazard_analysis *h, struct hazard_epoch *epoch)
{
    uint32_t first = h->semaphore_groups[epoch->semaphore], end = h->semaphore_groups[epoch->semaphore + 1], n = 0;
    int64_t total = 0;
    for (uint32_t g = first; g < end; g++) {
        struct hazard_span span = span_of(h, epoch, g);
        total += span_sum(h, span.late, span.end);
    }
    if (total == epoch->total)
        return BIR_OK;
    struct hazard_span *spans = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, end - first, sizeof(*spans));
    if (!spans)
        return hazard_memory(h);
    for (uint32_t g = first; g < end; g++) {
        struct hazard_span span = span_of(h, epoch, g);
        if (span.late < span.end)
            spans[n++] = span;
    }
    epoch->spans = spans;
    epoch->n_spans = n;
    epoch->total = total;
    return BIR_OK;
}

enum bir_status hazard_semaphore_reset(struct hazard_analysis *h, uint32_t exec)
{
    if (!hazard_rule(h, HAZARD_RULE_LATE))
        return BIR_OK;
    for (uint32_t s = 0; s < HAZARD_SEMAPHORES; s++) {
        if (h->semaphore_groups[s] == h->semaphore_groups[s + 1])
            continue;
        struct hazard_epoch *epoch = hazard_semaphore_epoch(h, (uint8_t)s, exec, true);
        if (epoch->reset == exec)
            BIR_TRY(find_late(h, epoch));
    }
    return BIR_OK;
}

/* --- proof --- */

/* Without 3.2, counts in program order decide; without 3.1, having started to land is enough. */
static bool proved_otherwise(const struct hazard_analysis *h, uint32_t update, int64_t value)
{
    const struct hazard_update *u = &h->updates[update];
    return hazard_rule(h, HAZARD_RULE_PARTS) ? u->count <= value : u->count - u->value < value;
}

uint32_t hazard_semaphore_proved(const struct hazard_analysis *h, const struct hazard_waiter *w,
                                 const struct hazard_span *span)
{
    int64_t need; /* what must follow an update in its span */
    if (__builtin_sub_overflow(h->epochs[w->epoch].total, w->wait->value, &need))
        return HAZARD_NONE; /* a value far below zero proves nothing */
    bool by_rule = hazard_rule(h, HAZARD_RULE_UPDATERS) && hazard_rule(h, HAZARD_RULE_PARTS);
    int64_t whole = h->updates[span->end - 1].after;
    uint32_t from = span->late, end = span->end;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        bool proved = by_rule ? whole - h->updates[middle].after >= need : proved_otherwise(h, middle, w->wait->value);
        if (proved)
            from = middle + 1;
        else
            end = middle;
    }
    return from > span->late ? from - 1 : HAZARD_NONE;
}

bool hazard_semaphore_value(const struct hazard_analysis *h, uint32_t update, const struct hazard_epoch *epoch,
                            int64_t *value)
{
    for (uint32_t i = 0; i < epoch->n_spans; i++) {
        const struct hazard_span *span = &epoch->spans[i];
        if (update < span->late || update >= span->end)
            continue;
        *value = epoch->total - (h->updates[span->end - 1].after - h->updates[update].after);
        return true;
    }
    return false;
}

static bool named_is_proved(const struct hazard_analysis *h, const struct hazard_waiter *w)
{
    const struct hazard_epoch *epoch = &h->epochs[w->epoch];
    for (uint32_t i = 0; i < epoch->n_spans; i++) {
        const struct hazard_span *span = &epoch->spans[i];
        if (w->update < span->late || w->update >= span->end)
            continue;
        uint32_t last = hazard_semaphore_proved(h, w, span);
        return last != HAZARD_NONE && w->update <= last;
    }
    return false;
}

bool hazard_semaphore_problem(const struct hazard_analysis *h, const struct hazard_waiter *w,
                              enum bir_hazard_problem *problem)
{
    const struct hazard_epoch *epoch = &h->epochs[w->epoch];
    if (w->previous)
        return false;
    *problem = BIR_HAZARD_NO_UPDATE;
    if (w->wait->from && w->update == HAZARD_NONE)
        return true;
    *problem = BIR_HAZARD_NEVER;
    if (epoch->total < w->wait->value)
        return true;
    *problem = BIR_HAZARD_EARLY;
    if (w->wait->from && !named_is_proved(h, w))
        return true;
    *problem = BIR_HAZARD_NEVER; /* only updates in flight across the reset can reach the value */
    return epoch->own < w->wait->value;
}

bool hazard_semaphore_keeps_named(const struct hazard_analysis *h, const struct hazard_waiter *w)
{
    return w->update != HAZARD_NONE && !w->previous && h->epochs[w->epoch].total < w->wait->value &&
           hazard_rule(h, HAZARD_RULE_NEVER_EDGE);
}
