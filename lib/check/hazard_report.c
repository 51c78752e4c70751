/*
 * Entries of the report, each once. An entry is what the JSON form says of it: names, kind, location, carried.
 * Executions that give an entry again are counted. Once a list is full the analysis goes on, but says that the list is
 * cut; and once many times as many pairs have been met as a list holds, it looks for no more.
 */
#include <stdlib.h>
#include <string.h>

#include "check/hazard_internal.h"

#define RUNS_LISTED  1024u /* of each footprint, to find the bytes in common */
#define KIND_INEXACT 3
#define KIND_WAIT    4

struct hazard_entry {
    const void *a, *b, *c; /* interned names */
    uint32_t number;       /* pair + 1; 0 = free slot */
    uint16_t kind;
    int64_t id;
    bool carried;
};

/* --- entries --- */

static uint64_t entry_hash(const struct hazard_entry *e)
{
    uint64_t x = (uint64_t)(uintptr_t)e->a >> 3;
    x = (x * UINT64_C(0x9E3779B97F4A7C15)) ^ (uint64_t)(uintptr_t)e->b;
    x = (x * UINT64_C(0x9E3779B97F4A7C15)) ^ (uint64_t)(uintptr_t)e->c ^ (uint64_t)e->id << 8 ^ (uint64_t)e->kind << 1 ^
        e->carried;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    return x ^ (x >> 32);
}

static struct hazard_entry *find_entry(struct hazard_entry *entries, uint32_t capacity, const struct hazard_entry *key)
{
    for (uint64_t i = entry_hash(key);; i++) {
        struct hazard_entry *e = &entries[i & (capacity - 1)];
        bool same = e->a == key->a && e->b == key->b && e->c == key->c && e->kind == key->kind && e->id == key->id &&
                    e->carried == key->carried;
        if (e->number == 0 || same)
            return e;
    }
}

static enum bir_status grow_entries(struct hazard_analysis *h)
{
    if (2 * h->entries_count < h->entries_capacity)
        return BIR_OK;
    uint32_t capacity = h->entries_capacity ? 2 * h->entries_capacity : 64; /* bounded by max_entries */
    struct hazard_entry *entries = bir_arena_alloc_array(&h->lasting, BIR_MEM_TABLES, capacity, sizeof(*entries));
    if (!entries)
        return hazard_memory(h);
    for (uint32_t i = 0; i < h->entries_capacity; i++)
        if (h->entries[i].number)
            *find_entry(entries, capacity, &h->entries[i]) = h->entries[i];
    h->entries = entries;
    h->entries_capacity = capacity;
    return BIR_OK;
}

/* The number of an entry seen before, or 0: then it is entered with `number`, unless full. */
static enum bir_status enter_once(struct hazard_analysis *h, const struct hazard_entry *key, uint32_t number,
                                  uint32_t *seen)
{
    BIR_TRY(grow_entries(h));
    struct hazard_entry *e = find_entry(h->entries, h->entries_capacity, key);
    *seen = e->number;
    if (e->number || number == 0)
        return BIR_OK;
    *e = *key;
    e->number = number;
    h->entries_count++;
    return BIR_OK;
}

static enum bir_status cut(struct hazard_analysis *h, const char *what)
{
    if (h->is_cut)
        return BIR_OK;
    BIR_TRY(hazard_reason(h, BIR_NO_SOURCE, "more than %u %s: the list is cut", h->max_entries, what));
    h->is_cut = true;
    return BIR_OK;
}

/* --- overlap --- */

static int compare_runs(const void *a, const void *b)
{
    const struct hazard_run *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Sorted runs without overlap; how many. */
static uint32_t merge_runs(struct hazard_run *runs, uint32_t n)
{
    qsort(runs, n, sizeof(*runs), compare_runs);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (kept > 0 && runs[i].first <= runs[kept - 1].last + 1)
            runs[kept - 1].last = runs[i].last > runs[kept - 1].last ? runs[i].last : runs[kept - 1].last;
        else
            runs[kept++] = runs[i];
    }
    return kept;
}

struct common {
    struct bir_hazard_range *ranges;
    uint32_t n;
    bool more, partial;
};

static void add_common(struct common *c, int64_t first, int64_t last)
{
    if (c->n > 0 && c->ranges[c->n - 1].last + 1 == first)
        c->ranges[c->n - 1].last = last;
    else if (c->n < BIR_HAZARD_RANGES)
        c->ranges[c->n++] = (struct bir_hazard_range){ first, last };
    else
        c->more = true;
}

static void find_common(const struct hazard_set *a, const struct hazard_set *b, struct common *c)
{
    struct hazard_run x[RUNS_LISTED], y[RUNS_LISTED];
    int64_t first = a->start > b->start ? a->start : b->start;
    int64_t last_a = hazard_set_last(a), last_b = hazard_set_last(b), last = last_a < last_b ? last_a : last_b;
    uint32_t n = hazard_set_runs(a, first, last, x, RUNS_LISTED), m = hazard_set_runs(b, first, last, y, RUNS_LISTED);
    if (n > RUNS_LISTED || m > RUNS_LISTED) {
        c->partial = true;
        add_common(c, first, last);
        return;
    }
    n = merge_runs(x, n);
    m = merge_runs(y, m);
    for (uint32_t i = 0, j = 0; i < n && j < m && !c->more;) {
        int64_t from = x[i].first > y[j].first ? x[i].first : y[j].first;
        int64_t to = x[i].last < y[j].last ? x[i].last : y[j].last;
        if (from <= to)
            add_common(c, from, to);
        if (x[i].last < y[j].last)
            i++;
        else
            j++;
    }
}

static void find_overlap(const struct hazard_footprint *a, const struct hazard_footprint *b,
                         struct bir_hazard_overlap *o)
{
    static const char *const memories[] = { "SB", "PSUM", "DRAM" };
    o->memory = memories[a->space < HAZARD_SPACE_ARENA ? a->space : HAZARD_SPACE_ARENA];
    o->has_partitions = a->space < HAZARD_SPACE_ARENA;
    struct common rows = { .ranges = o->partitions }, bytes = { .ranges = o->bytes };
    if (o->has_partitions)
        find_common(&a->rows, &b->rows, &rows);
    find_common(&a->bytes, &b->bytes, &bytes);
    o->n_partitions = rows.n;
    o->n_bytes = bytes.n;
    o->more_partitions = rows.more;
    o->more_bytes = bytes.more;
    o->partial = rows.partial || bytes.partial;
}

/* --- pairs --- */

void hazard_place_of(const struct hazard_analysis *h, uint32_t exec, struct bir_hazard_place *place)
{
    const struct hazard_exec *e = &h->execs.items[exec];
    const struct hazard_place *p = &h->places.items[e->place];
    *place = (struct bir_hazard_place){
        .inst = e->inst,
        .function = h->function,
        .block = p->block,
        .start = e->trigger == HAZARD_NONE ? NULL : h->execs.items[e->trigger].inst,
        .index = e->index,
        .iteration = p->iteration,
        .position = exec,
    };
}

static enum bir_status new_pair(struct hazard_analysis *h, const struct hazard_access *earlier,
                                const struct hazard_access *later, const struct hazard_entry *key)
{
    const struct hazard_footprint *a = &h->footprints.items[earlier->footprint],
                                  *b = &h->footprints.items[later->footprint];
    struct bir_hazard_pair pair = { .kind = (enum bir_hazard_kind)key->kind,
                                    .carried = key->carried,
                                    .count = 1,
                                    .location = a->location,
                                    .other = b->location };
    hazard_place_of(h, earlier->exec, &pair.earlier);
    hazard_place_of(h, later->exec, &pair.later);
    find_overlap(a, b, &pair.overlap);
    BIR_TRY(hazard_advise(h, &pair));
    h->verdict = BIR_HAZARD_FINDINGS;
    return bir_vec_push(h->arena, &h->pairs, pair) ? BIR_OK : hazard_memory(h);
}

static enum bir_status inexact_pair(struct hazard_analysis *h, const struct hazard_access *earlier,
                                    const struct hazard_access *later)
{
    const struct hazard_footprint *a = &h->footprints.items[earlier->footprint],
                                  *b = &h->footprints.items[later->footprint];
    const struct bir_instruction *x = h->execs.items[earlier->exec].inst, *y = h->execs.items[later->exec].inst;
    bool is_runtime = !a->exact || !b->exact;
    return hazard_reason(h, x->source_offset, "%s and %s are not ordered and %s in %s", hazard_name(x), hazard_name(y),
                         is_runtime ? "may meet, at an address that is only known at run time,"
                                    : "may meet (their patterns are too irregular to decide)",
                         a->location->base.name ? a->location->base.name->text : "?");
}

/* Counts the pair; what is spent is a reason for doubt, because the pairs that come after it are not told. */
static enum bir_status spend(struct hazard_analysis *h, bool is_doubtful)
{
    uint64_t most = (uint64_t)h->max_entries * HAZARD_PAIRS_PER_ENTRY;
    uint64_t *met = is_doubtful ? &h->n_doubtful : &h->n_met;
    bool *is_spent = is_doubtful ? &h->doubts_spent : &h->is_spent;
    if (++*met <= most || *is_spent)
        return BIR_OK;
    *is_spent = true;
    return hazard_reason(h, BIR_NO_SOURCE, "more than %llu pairs of executions meet%s: the rest is not looked at",
                         (unsigned long long)most, is_doubtful ? " at addresses only known at run time" : "");
}

enum bir_status hazard_add_pair(struct hazard_analysis *h, const struct hazard_access *earlier,
                                const struct hazard_access *later, bool carried, bool exact)
{
    BIR_TRY(spend(h, !h->footprints.items[earlier->footprint].exact || !h->footprints.items[later->footprint].exact));
    enum bir_hazard_kind kind = !earlier->write ? BIR_HAZARD_WAR : later->write ? BIR_HAZARD_WAW : BIR_HAZARD_RAW;
    const struct bir_location *location = h->footprints.items[earlier->footprint].location;
    struct hazard_entry key = {
        .a = h->execs.items[earlier->exec].inst->name,
        .b = h->execs.items[later->exec].inst->name,
        .c = location->base.name,
        .kind = exact ? (uint16_t)kind : KIND_INEXACT,
        .carried = carried && exact,
    };
    uint32_t seen;
    bool is_full = exact ? h->pairs.count >= h->max_entries : h->reasons_cut;
    BIR_TRY(enter_once(h, &key, is_full ? 0 : exact ? h->pairs.count + 1 : 1, &seen));
    if (seen && exact)
        h->pairs.items[seen - 1].count++;
    if (seen)
        return BIR_OK;
    if (is_full)
        return exact ? cut(h, "pairs") : BIR_OK;
    return exact ? new_pair(h, earlier, later, &key) : inexact_pair(h, earlier, later);
}

/* --- waits --- */

static const char *wait_text(struct hazard_analysis *h, const struct hazard_waiter *w, enum bir_hazard_problem problem)
{
    const struct hazard_epoch *epoch = &h->epochs[w->epoch];
    const char *from = w->wait->from ? w->wait->from->text : "(none)";
    long long value = (long long)w->wait->value, id = (long long)w->wait->semaphore;
    int64_t needed;
    if (problem == BIR_HAZARD_NEVER)
        return bir_arena_printf(
            h->arena, "semaphore %lld gets to %lld at most since its last reset, never to %lld: the engine hangs%s", id,
            (long long)epoch->own, value,
            epoch->total >= w->wait->value ? " unless updates from before the reset land behind it" : "");
    if (problem == BIR_HAZARD_NO_UPDATE)
        return w->named == HAZARD_NONE
                   ? bir_arena_printf(h->arena, "nothing by the name of %s runs where this wait could mean it", from)
                   : bir_arena_printf(h->arena, "%s does not update semaphore %lld", from, id);
    if (hazard_semaphore_value(h, w->update, epoch, &needed))
        return bir_arena_printf(h->arena, "semaphore %lld can show %lld before %s has finished; %lld would prove it",
                                id, value, from, (long long)needed);
    return bir_arena_printf(h->arena, "semaphore %lld has been reset since %s updated it: %lld proves nothing about it",
                            id, from, value);
}

static enum bir_status add_wait(struct hazard_analysis *h, const struct hazard_waiter *w,
                                enum bir_hazard_problem problem)
{
    struct hazard_entry key = {
        .a = h->execs.items[w->exec].inst->name,
        .b = w->wait->from,
        .c = (const void *)(uintptr_t)(problem + 1), /* a number, which no name has as its address */
        .kind = KIND_WAIT,
        .id = w->wait->semaphore,
    };
    uint32_t seen;
    bool is_full = h->waits_found.count >= h->max_entries;
    BIR_TRY(enter_once(h, &key, is_full ? 0 : 1, &seen));
    if (seen)
        return BIR_OK;
    if (is_full)
        return cut(h, "wrong waits");
    struct bir_hazard_wait wait = {
        .from = w->wait->from, .semaphore = w->wait->semaphore, .value = w->wait->value, .problem = problem
    };
    hazard_place_of(h, w->exec, &wait.place);
    wait.text = wait_text(h, w, problem);
    h->verdict = BIR_HAZARD_FINDINGS;
    return wait.text && bir_vec_push(h->arena, &h->waits_found, wait) ? BIR_OK : hazard_memory(h);
}

enum bir_status hazard_add_waits(struct hazard_analysis *h)
{
    for (uint32_t i = 0; i < h->waiters.count && hazard_rule(h, HAZARD_RULE_WRONG_WAITS); i++) {
        enum bir_hazard_problem problem;
        if (hazard_semaphore_problem(h, &h->waiters.items[i], &problem))
            BIR_TRY(add_wait(h, &h->waiters.items[i], problem));
    }
    return BIR_OK;
}

/* --- order --- */

static int compare_pairs(const void *a, const void *b)
{
    const struct bir_hazard_pair *x = a, *y = b;
    if (x->earlier.position != y->earlier.position)
        return x->earlier.position < y->earlier.position ? -1 : 1;
    if (x->later.position != y->later.position)
        return x->later.position < y->later.position ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->location != y->location ? bir_str_compare(x->location->base.name, y->location->base.name) : 0;
}

/* The pairs of the function just analysed; those of the functions before it stay in front. */
void hazard_report_sort(struct hazard_analysis *h)
{
    uint32_t from = h->sorted_pairs, n = h->pairs.count - from;
    if (n > 0)
        qsort(h->pairs.items + from, n, sizeof(*h->pairs.items), compare_pairs);
    h->sorted_pairs = h->pairs.count;
}
