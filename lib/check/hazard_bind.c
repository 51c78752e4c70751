/*
 * What the `from` of a wait means (hazards.md 3.4): which executions of that name, and of these the first whose count
 * reaches the value, else the last. Names repeat, so neither step may walk over all executions of a name: the
 * executions are sorted by name, the updates by name and semaphore under a tree of maxima of their counts, and every
 * step is a bisection.
 */
#include <stdlib.h>

#include "check/hazard_internal.h"

/* --- sorted names --- */

static enum bir_status sort_execs(struct hazard_analysis *h)
{
    uint32_t n = h->names.count;
    h->name_first = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, (size_t)n + 2, sizeof(uint32_t));
    h->name_execs = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, h->n_execs, sizeof(uint32_t));
    if (!h->name_first || !h->name_execs)
        return hazard_memory(h);
    uint32_t *slot = h->name_first + 1; /* counting sort: slot[name + 1] first counts, then is the next place of name */
    for (uint32_t i = 0; i < h->n_execs; i++)
        if (h->execs.items[i].name != HAZARD_NONE)
            slot[h->execs.items[i].name]++;
    uint32_t sum = 0;
    for (uint32_t name = 0; name < n; name++) {
        uint32_t count = slot[name];
        slot[name] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < h->n_execs; i++)
        if (h->execs.items[i].name != HAZARD_NONE)
            h->name_execs[slot[h->execs.items[i].name]++] = i;
    h->name_first[0] = 0; /* each slot has moved to the end of its name: the start of the next */
    return BIR_OK;
}

struct named_update {
    uint32_t update, name, exec;
    uint8_t semaphore;
};

static int compare_named(const void *a, const void *b)
{
    const struct named_update *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->semaphore != y->semaphore)
        return x->semaphore < y->semaphore ? -1 : 1;
    return x->update < y->update ? -1 : x->update > y->update;
}

static int compare_named_position(const void *a, const void *b)
{
    const struct named_update *x = a, *y = b;
    if (x->name != y->name || x->semaphore != y->semaphore || x->exec == y->exec)
        return compare_named(a, b);
    return x->exec < y->exec ? -1 : 1;
}

static enum bir_status sort_updates(struct hazard_analysis *h)
{
    uint32_t n = h->n_updates;
    struct named_update *sorted = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, n, sizeof(*sorted));
    h->by_name = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, n, sizeof(uint32_t));
    h->reach_size = 1;
    while (h->reach_size < n)
        h->reach_size *= 2;
    h->reach = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, 2 * (size_t)h->reach_size, sizeof(int64_t));
    if (!sorted || !h->by_name || !h->reach)
        return hazard_memory(h);
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = (struct named_update){ i, h->updates[i].name, h->updates[i].exec, h->updates[i].semaphore };
    if (n > 0)
        qsort(sorted, n, sizeof(*sorted), compare_named_position);
    for (uint32_t i = 0; i < n; i++) {
        h->by_name[i] = sorted[i].update;
        h->reach[h->reach_size + i] = h->updates[sorted[i].update].count;
    }
    for (uint32_t i = h->reach_size - 1; i > 0; i--)
        h->reach[i] = h->reach[2 * i] > h->reach[2 * i + 1] ? h->reach[2 * i] : h->reach[2 * i + 1];
    return BIR_OK;
}

/* First of the updates sorted by name that does not come before (name, semaphore, exec). */
static uint32_t lower_named(const struct hazard_analysis *h, uint32_t name, uint8_t semaphore, uint32_t exec)
{
    uint32_t from = 0, end = h->n_updates;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        const struct hazard_update *u = &h->updates[h->by_name[middle]];
        bool before = u->name != name             ? u->name < name
                      : u->semaphore != semaphore ? u->semaphore < semaphore
                                                  : u->exec < exec;
        if (before)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* First place in [from, end) whose count is at least value, or HAZARD_NONE: right along the leaves, by the largest
 * subtrees that start there, and down into the first one that holds such a count. */
static uint32_t first_reaching(const struct hazard_analysis *h, uint32_t from, uint32_t end, int64_t value)
{
    uint32_t node = from + h->reach_size, width = 1, at = from;
    while (at < end) {
        if (h->reach[node] >= value) {
            if (width == 1)
                return at;
            node *= 2;
            width /= 2;
            continue;
        }
        at += width;
        node++;
        if ((node & (node - 1)) == 0)
            break; /* past the last leaf */
        for (; (node & 1) == 0; node /= 2)
            width *= 2;
    }
    return HAZARD_NONE;
}

/* --- candidates --- */

struct candidates { /* in name_execs */
    uint32_t from, end;
};

static uint32_t lower_exec(const struct hazard_analysis *h, struct candidates range, uint32_t exec)
{
    while (range.from < range.end) {
        uint32_t middle = range.from + (range.end - range.from) / 2;
        if (h->name_execs[middle] < exec)
            range.from = middle + 1;
        else
            range.end = middle;
    }
    return range.from;
}

/* Does the name occur in no earlier block, nor earlier in the waiter's body, but later in it? (4.4; asked of the first
 * copy) */
static bool means_previous(const struct hazard_analysis *h, const struct hazard_waiter *w, struct candidates all)
{
    const struct hazard_place *place = &h->places.items[h->execs.items[w->exec].place];
    if (place->iteration == 0 || !hazard_rule(h, HAZARD_RULE_PREVIOUS))
        return false;
    const struct hazard_place *first = place->iteration == 2 ? place - 1 : place;
    uint32_t exec = w->exec - place->first + first->first;
    return lower_exec(h, all, exec) == all.from && all.from < lower_exec(h, all, first->end);
}

static struct candidates find_candidates(const struct hazard_analysis *h, const struct hazard_waiter *w,
                                         struct candidates all)
{
    const struct hazard_place *place = &h->places.items[h->execs.items[w->exec].place];
    uint32_t end = lower_exec(h, all, w->exec);
    if (!hazard_rule(h, HAZARD_RULE_OWN_BLOCK))
        return (struct candidates){ all.from, end };
    if (end > all.from) { /* own block, else the nearest earlier one */
        const struct hazard_place *nearest = &h->places.items[h->execs.items[h->name_execs[end - 1]].place];
        return (struct candidates){ lower_exec(h, all, nearest->first), end };
    }
    if (place->iteration != 0)
        return (struct candidates){ end, end };
    return (struct candidates){ lower_exec(h, all, w->exec + 1), all.end };
}

static uint32_t update_of(const struct hazard_analysis *h, uint32_t name, uint8_t semaphore, uint32_t exec)
{
    uint32_t end = lower_named(h, name, semaphore, exec + 1);
    if (end == 0)
        return HAZARD_NONE;
    const struct hazard_update *u = &h->updates[h->by_name[end - 1]];
    return u->name == name && u->semaphore == semaphore && u->exec == exec ? h->by_name[end - 1] : HAZARD_NONE;
}

static enum bir_status bind_waiter(struct hazard_analysis *h, struct hazard_waiter *w)
{
    const struct bir_instruction *inst = h->execs.items[w->exec].inst;
    uintptr_t number = w->wait->from ? (uintptr_t)bir_map_get(&h->name_numbers, w->wait->from) : 0;
    if (number == 0)
        return BIR_OK; /* no name, or a name that nothing has */
    uint32_t name = (uint32_t)(number - 1);
    uint8_t semaphore = (uint8_t)w->wait->semaphore;
    struct candidates all = { h->name_first[name], h->name_first[name + 1] };
    w->previous = means_previous(h, w, all);
    if (w->previous)
        return hazard_reason(h, inst->source_offset,
                             "%s waits in a loop body for %s of the previous iteration: not modelled",
                             hazard_name(inst), w->wait->from->text);
    struct candidates c = find_candidates(h, w, all);
    if (c.from == c.end)
        return BIR_OK;
    uint32_t from = lower_named(h, name, semaphore, h->name_execs[c.from]);
    uint32_t end = lower_named(h, name, semaphore, h->name_execs[c.end - 1] + 1);
    uint32_t found =
        hazard_rule(h, HAZARD_RULE_FIRST_REACHING) ? first_reaching(h, from, end, w->wait->value) : HAZARD_NONE;
    if (found != HAZARD_NONE) {
        w->update = h->by_name[found];
        w->named = h->updates[w->update].exec;
        return BIR_OK;
    }
    w->named = h->name_execs[c.end - 1];
    w->update = update_of(h, name, semaphore, w->named);
    return BIR_OK;
}

enum bir_status hazard_bind(struct hazard_analysis *h)
{
    BIR_TRY(sort_execs(h));
    BIR_TRY(sort_updates(h));
    for (uint32_t i = 0; i < h->waiters.count; i++)
        BIR_TRY(bind_waiter(h, &h->waiters.items[i]));
    return BIR_OK;
}
