/*
 * The unordered pairs of accesses that have bytes in common.
 *
 * Space by space, the borders of all footprints cut rows and bytes into leaves of two segment trees; a footprint is a
 * few canonical nodes of each. Two intervals meet iff a canonical node of one is an ancestor of (or equal to) a
 * canonical node of the other. So a footprint is entered under "cover" at its canonical nodes and under "any" at these
 * and their ancestors, and asks "any" at its canonical nodes and "cover" above them; in two dimensions, at pairs of
 * nodes. All footprints are known beforehand, so only places that somebody asks are kept: disjoint tiles end with one
 * place each. Which places a footprint enters and asks is worked out once.
 *
 * Then the accesses come by, in order of position. A place keeps, for each chain, the reads and the writes that came
 * by, newest first. On a chain whatever precedes an access precedes everything behind it, so the accesses of the chain
 * that are NOT ordered before the one that asks are exactly the newest ones, down to the index in its clock: the walk
 * stops at the first one that is ordered, and every access that it passes is a pair. Neither time nor memory depends on
 * how often memory is used again in good order. Where there is no order every pair is met; hazard_add_pair counts them,
 * and when they are too many to be of use (is_spent, doubts_spent) nobody asks any more.
 *
 * A footprint of many runs is entered with its bounds; pairs with it are then decided by hazard_footprints_meet, and
 * remembered. Such a footprint has lists of its own in a place (while they are few), so that patterns which interleave
 * without meeting are passed over as a whole.
 */
#include <stdlib.h>
#include <string.h>

#include "check/hazard_internal.h"

#define COVER_RUNS    4u /* runs that are entered one by one */
#define MEMORY_SLOTS  16384u
#define BOUNDED_HEADS 32u /* of a place, for one footprint each */

struct interval { /* [first, end) */
    int64_t first, end;
};

struct cover { /* what a footprint is entered as */
    struct interval rows;
    struct interval bytes[COVER_RUNS];
    uint32_t n_bytes;
    bool exact;
};

/* One dimension of one space. */
struct tree {
    int64_t *borders; /* sorted, without duplicates */
    uint32_t n_borders;
    uint32_t size;    /* leaves, a power of two; the root is node 1 */
    uint8_t *flags;   /* by node */
    uint32_t *stamps; /* by node: footprint + 1 that was here last */
};

enum { NODE_CANONICAL = 1, NODE_BELOW = 2 /* something below is canonical */ };

struct head {
    uint32_t chain;
    uint32_t footprint; /* of all entries, when it is entered with bounds; HAZARD_NONE: any */
    uint32_t newest;    /* entry */
    uint32_t next;      /* head of the same place */
    bool write;
    bool exact; /* the footprints of all entries */
};

struct entry {
    uint32_t access;
    uint32_t index; /* on the chain */
    uint32_t older;
};

struct slice {
    uint32_t first, count;
};

struct place_slot {
    uint64_t key; /* 0 = free */
    uint32_t place;
};

struct sweep {
    struct hazard_analysis *h;
    struct cover *covers;        /* by footprint */
    struct slice *enters, *asks; /* by footprint, in places */
    BIR_VEC(uint32_t) places;    /* the lists behind the slices */
    struct place_slot *slots;    /* of the space being built */
    uint32_t slots_capacity, slots_count;
    uint32_t n_places;          /* all spaces */
    BIR_VEC(uint32_t) row_keys; /* node * 2 + kind, of the footprint being placed */
    BIR_VEC(uint32_t) byte_keys;
    uint32_t *first_heads; /* by place */
    BIR_VEC(struct head) heads;
    BIR_VEC(struct entry) entries;
    struct {
        uint64_t pair;
        enum hazard_truth truth;
    } * remembered;
};

enum { KIND_ANY, KIND_COVER };

/* --- covers --- */

static struct cover cover_of(const struct hazard_footprint *f)
{
    struct cover c = { .rows = { f->rows.start, hazard_set_last(&f->rows) + 1 } };
    struct hazard_run runs[COVER_RUNS];
    int64_t first = f->bytes.start, last = hazard_set_last(&f->bytes);
    uint32_t n = hazard_set_runs(&f->bytes, first, last, runs, COVER_RUNS);
    c.exact = f->rows.n_dims == 0 && n <= COVER_RUNS;
    c.n_bytes = n <= COVER_RUNS ? n : 1;
    c.bytes[0] = (struct interval){ first, last + 1 };
    for (uint32_t i = 0; n <= COVER_RUNS && i < n; i++)
        c.bytes[i] = (struct interval){ runs[i].first, runs[i].last + 1 };
    return c;
}

enum hazard_truth hazard_footprints_meet(const struct hazard_footprint *a, const struct hazard_footprint *b)
{
    if (a->space != b->space)
        return HAZARD_NO;
    int rows = hazard_set_meet(&a->rows, &b->rows);
    if (rows == 0)
        return HAZARD_NO;
    int bytes = hazard_set_meet(&a->bytes, &b->bytes);
    if (bytes == 0)
        return HAZARD_NO;
    return rows > 0 && bytes > 0 ? HAZARD_YES : HAZARD_MAYBE;
}

static enum hazard_truth meet(struct sweep *s, uint32_t a, uint32_t b)
{
    if (s->covers[a].exact && s->covers[b].exact)
        return HAZARD_YES; /* they met at a place */
    uint64_t pair = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    uint64_t slot = (pair * UINT64_C(0x9E3779B97F4A7C15)) >> 32 & (MEMORY_SLOTS - 1);
    if (s->remembered[slot].pair == pair + 1)
        return s->remembered[slot].truth;
    s->remembered[slot].pair = pair + 1;
    s->remembered[slot].truth = hazard_footprints_meet(&s->h->footprints.items[a], &s->h->footprints.items[b]);
    return s->remembered[slot].truth;
}

/* --- trees --- */

static int compare_borders(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static enum bir_status tree_finish(struct sweep *s, struct tree *t)
{
    struct bir_arena *scratch = &s->h->scratch;
    qsort(t->borders, t->n_borders, sizeof(*t->borders), compare_borders);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_borders; i++)
        if (n == 0 || t->borders[n - 1] != t->borders[i])
            t->borders[n++] = t->borders[i];
    t->n_borders = n;
    t->size = 1;
    while (t->size < n)
        t->size *= 2;
    t->flags = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, 2 * (size_t)t->size, sizeof(*t->flags));
    t->stamps = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, 2 * (size_t)t->size, sizeof(*t->stamps));
    return t->flags && t->stamps ? BIR_OK : hazard_memory(s->h);
}

static uint32_t tree_leaf(const struct tree *t, int64_t border)
{
    uint32_t from = 0, end = t->n_borders;
    while (from < end) {
        uint32_t middle = from + (end - from) / 2;
        if (t->borders[middle] < border)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

struct canonical {
    uint32_t left, right;
};

static struct canonical canonical_begin(const struct tree *t, struct interval i)
{
    return (struct canonical){ tree_leaf(t, i.first) + t->size, tree_leaf(t, i.end) + t->size };
}

/* The next canonical node of the interval, or 0. */
static uint32_t canonical_next(struct canonical *c)
{
    while (c->left < c->right) {
        if (c->left & 1)
            return c->left++;
        if (c->right & 1)
            return --c->right;
        c->left /= 2;
        c->right /= 2;
    }
    return 0;
}

static void tree_mark(struct tree *t, struct interval i)
{
    struct canonical c = canonical_begin(t, i);
    for (uint32_t node; (node = canonical_next(&c));)
        t->flags[node] |= NODE_CANONICAL;
}

static void tree_mark_below(struct tree *t)
{
    for (uint32_t node = 2 * t->size - 1; node > 1; node--)
        if (t->flags[node])
            t->flags[node / 2] |= NODE_BELOW;
}

/* --- places --- */

static bool push_key(struct sweep *s, bool rows, uint32_t node, uint32_t kind)
{
    return rows ? bir_vec_push(&s->h->scratch, &s->row_keys, 2 * node + kind)
                : bir_vec_push(&s->h->scratch, &s->byte_keys, 2 * node + kind);
}

/* Where an interval is entered. stamp: new for every footprint, so that nodes that were already passed are not passed
 * twice. */
static bool collect_enters(struct sweep *s, struct tree *t, bool rows, struct interval i, uint32_t stamp)
{
    struct canonical c = canonical_begin(t, i);
    for (uint32_t node; (node = canonical_next(&c));) {
        if ((t->flags[node] & NODE_BELOW) && !push_key(s, rows, node, KIND_COVER))
            return false;
        for (; node > 0 && t->stamps[node] != stamp; node /= 2) {
            t->stamps[node] = stamp;
            if ((t->flags[node] & NODE_CANONICAL) && !push_key(s, rows, node, KIND_ANY))
                return false;
        }
    }
    return true;
}

static bool collect_asks(struct sweep *s, struct tree *t, bool rows, struct interval i, uint32_t stamp)
{
    struct canonical c = canonical_begin(t, i);
    for (uint32_t node; (node = canonical_next(&c));) {
        if (!push_key(s, rows, node, KIND_ANY))
            return false;
        for (node /= 2; node > 0 && t->stamps[node] != stamp; node /= 2) {
            t->stamps[node] = stamp;
            if ((t->flags[node] & NODE_CANONICAL) && !push_key(s, rows, node, KIND_COVER))
                return false;
        }
    }
    return true;
}

static struct place_slot *find_slot(struct place_slot *slots, uint32_t capacity, uint64_t key)
{
    for (uint64_t i = (key * UINT64_C(0x9E3779B97F4A7C15)) >> 32;; i++) {
        struct place_slot *slot = &slots[i & (capacity - 1)];
        if (slot->key == key || slot->key == 0)
            return slot;
    }
}

static enum bir_status grow_slots(struct sweep *s)
{
    if (2 * s->slots_count < s->slots_capacity)
        return BIR_OK;
    uint32_t capacity;
    if (__builtin_mul_overflow(s->slots_capacity, 2u, &capacity))
        return bir_fail_limit(s->h->diags, "hazard-limit", BIR_NO_OFFSET, NULL, "too many places in one memory");
    capacity = capacity ? capacity : 256;
    struct place_slot *slots = bir_arena_alloc_array(&s->h->scratch, BIR_MEM_TABLES, capacity, sizeof(*slots));
    if (!slots)
        return hazard_memory(s->h);
    for (uint32_t i = 0; i < s->slots_capacity; i++)
        if (s->slots[i].key)
            *find_slot(slots, capacity, s->slots[i].key) = s->slots[i];
    s->slots = slots;
    s->slots_capacity = capacity;
    return BIR_OK;
}

/* The places at all pairs of the collected keys; made when missing, or left out. */
static enum bir_status collect_places(struct sweep *s, bool make, struct slice *slice)
{
    *slice = (struct slice){ .first = s->places.count };
    for (uint32_t r = 0; r < s->row_keys.count; r++) {
        for (uint32_t b = 0; b < s->byte_keys.count; b++) {
            uint64_t key =
                (uint64_t)s->row_keys.items[r] << 32 | s->byte_keys.items[b]; /* nodes count from 1: never 0 */
            if (make)
                BIR_TRY(grow_slots(s));
            else if (s->slots_capacity == 0)
                continue;
            struct place_slot *slot = find_slot(s->slots, s->slots_capacity, key);
            if (!slot->key && !make)
                continue;
            if (!slot->key) {
                *slot = (struct place_slot){ .key = key, .place = s->n_places++ };
                s->slots_count++;
            }
            if (!bir_vec_push(&s->h->scratch, &s->places, slot->place))
                return hazard_memory(s->h);
        }
    }
    slice->count = s->places.count - slice->first;
    return BIR_OK;
}

typedef bool collect_fn(struct sweep *s, struct tree *t, bool rows, struct interval i, uint32_t stamp);

static enum bir_status place_footprint(struct sweep *s, struct tree *rows, struct tree *bytes, uint32_t f, bool enter)
{
    const struct cover *c = &s->covers[f];
    collect_fn *collect = enter ? collect_enters : collect_asks;
    uint32_t stamp = 2 * f + 1 + (enter ? 0 : 1);
    s->row_keys.count = s->byte_keys.count = 0;
    bool collected = collect(s, rows, true, c->rows, stamp);
    for (uint32_t i = 0; collected && i < c->n_bytes; i++)
        collected = collect(s, bytes, false, c->bytes[i], stamp);
    if (!collected)
        return hazard_memory(s->h);
    if ((f & HAZARD_POLL_MASK) == 0 && bir_cancelled(s->h->options->cancel))
        return BIR_CANCELLED;
    return collect_places(s, enter, enter ? &s->enters[f] : &s->asks[f]);
}

/* Trees and places of one space, whose footprints are listed. */
static enum bir_status place_space(struct sweep *s, const uint32_t *list, uint32_t count)
{
    struct bir_arena *scratch = &s->h->scratch;
    struct tree rows = { 0 }, bytes = { 0 };
    rows.borders = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, 2 * (size_t)count, sizeof(int64_t));
    bytes.borders = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, 2 * COVER_RUNS * (size_t)count, sizeof(int64_t));
    if (!rows.borders || !bytes.borders)
        return hazard_memory(s->h);
    for (uint32_t i = 0; i < count; i++) {
        const struct cover *c = &s->covers[list[i]];
        rows.borders[rows.n_borders++] = c->rows.first;
        rows.borders[rows.n_borders++] = c->rows.end;
        for (uint32_t k = 0; k < c->n_bytes; k++) {
            bytes.borders[bytes.n_borders++] = c->bytes[k].first;
            bytes.borders[bytes.n_borders++] = c->bytes[k].end;
        }
    }
    BIR_TRY(tree_finish(s, &rows));
    BIR_TRY(tree_finish(s, &bytes));
    for (uint32_t i = 0; i < count; i++) {
        tree_mark(&rows, s->covers[list[i]].rows);
        for (uint32_t k = 0; k < s->covers[list[i]].n_bytes; k++)
            tree_mark(&bytes, s->covers[list[i]].bytes[k]);
    }
    tree_mark_below(&rows);
    tree_mark_below(&bytes);
    s->slots = NULL;
    s->slots_capacity = s->slots_count = 0;
    for (uint32_t i = 0; i < count; i++)
        BIR_TRY(place_footprint(s, &rows, &bytes, list[i], true));
    for (uint32_t i = 0; i < count; i++)
        BIR_TRY(place_footprint(s, &rows, &bytes, list[i], false));
    return BIR_OK;
}

static enum bir_status place_all(struct sweep *s)
{
    struct hazard_analysis *h = s->h;
    uint32_t n = h->footprints.count;
    uint32_t *order = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, n, sizeof(*order));
    uint32_t *starts = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, (size_t)h->n_spaces + 1, sizeof(*starts));
    if (!order || !starts)
        return hazard_memory(h);
    for (uint32_t f = 0; f < n; f++) {
        s->covers[f] = cover_of(&h->footprints.items[f]);
        starts[h->footprints.items[f].space + 1]++;
    }
    for (uint32_t space = 0; space < h->n_spaces; space++)
        starts[space + 1] += starts[space];
    for (uint32_t f = 0; f < n; f++) /* each start moves to the end of its space */
        order[starts[h->footprints.items[f].space]++] = f;
    for (uint32_t space = 0, from = 0; space < h->n_spaces; from = starts[space++])
        if (starts[space] > from)
            BIR_TRY(place_space(s, order + from, starts[space] - from));
    return BIR_OK;
}

/* --- pairs --- */

static const char *const engine_suffixes[] = { "Activation", "PE", "DVE", "SP", "Pool" };

/* Length of the name without a final -<Engine><digits>. */
static uint32_t stem_length(const struct bir_str *name)
{
    uint32_t end = name->len;
    while (end > 0 && name->text[end - 1] >= '0' && name->text[end - 1] <= '9')
        end--;
    if (end == name->len)
        return name->len;
    for (size_t i = 0; i < sizeof engine_suffixes / sizeof *engine_suffixes; i++) {
        uint32_t len = (uint32_t)strlen(engine_suffixes[i]);
        if (end > len && name->text[end - len - 1] == '-' &&
            memcmp(name->text + end - len, engine_suffixes[i], len) == 0)
            return end - len - 1;
    }
    return name->len;
}

/* Every engine saves its copy of one register: the same value (hazards.md section 6). */
static bool are_save_copies(const struct hazard_analysis *h, const struct hazard_access *a,
                            const struct hazard_access *b)
{
    const struct bir_instruction *x = h->execs.items[a->exec].inst, *y = h->execs.items[b->exec].inst;
    bool are_saves = a->write && b->write && x->opcode == BIR_OP_TENSOR_SAVE && y->opcode == BIR_OP_TENSOR_SAVE;
    if (!are_saves || h->footprints.items[a->footprint].location != h->footprints.items[b->footprint].location ||
        !hazard_rule(h, HAZARD_RULE_SAVE_COPIES) || !x->name || !y->name)
        return false;
    uint32_t stem = stem_length(x->name);
    bool has_suffix = stem < x->name->len || stem_length(y->name) < y->name->len;
    return has_suffix && stem == stem_length(y->name) && memcmp(x->name->text, y->name->text, stem) == 0;
}

/* In the two copies of a loop body: does the pair add something to those within a copy? (4.2) */
static bool across_copies(const struct hazard_analysis *h, const struct hazard_access *a, const struct hazard_access *b,
                          bool *carried)
{
    uint32_t x = h->execs.items[a->exec].place, y = h->execs.items[b->exec].place;
    const struct hazard_place *first = &h->places.items[x], *second = &h->places.items[y];
    *carried = false;
    if (y != x + 1 || first->iteration != 1 || second->iteration != 2)
        return true;
    *carried = b->exec - second->first <= a->exec - first->first;
    if (!hazard_rule(h, HAZARD_RULE_CARRIED))
        *carried = true;
    return *carried;
}

static enum bir_status look_at_pair(struct sweep *s, const struct hazard_access *a, const struct hazard_access *b)
{
    struct hazard_analysis *h = s->h;
    bool carried;
    if (a->exec == b->exec || !across_copies(h, a, b, &carried) || are_save_copies(h, a, b))
        return BIR_OK;
    enum hazard_truth truth = meet(s, a->footprint, b->footprint);
    if (truth == HAZARD_NO)
        return BIR_OK;
    bool exact =
        truth == HAZARD_YES && h->footprints.items[a->footprint].exact && h->footprints.items[b->footprint].exact;
    return hazard_add_pair(h, a, b, carried, exact);
}

static enum bir_status ask_place(struct sweep *s, uint32_t place, const struct hazard_access *access)
{
    struct hazard_analysis *h = s->h;
    for (uint32_t i = s->first_heads[place]; i != HAZARD_NONE; i = s->heads.items[i].next) {
        const struct head head = s->heads.items[i];
        if ((!head.write && !access->write) || (!head.exact && h->doubts_spent))
            continue;
        if (head.footprint != HAZARD_NONE && meet(s, head.footprint, access->footprint) == HAZARD_NO)
            continue;
        uint32_t known = head.chain == HAZARD_NONE ? 0 : hazard_clock(h, hazard_start_node(access->exec), head.chain);
        for (uint32_t e = head.newest; e != HAZARD_NONE && s->entries.items[e].index > known;
             e = s->entries.items[e].older) {
            if (h->is_spent || (!head.exact && h->doubts_spent))
                break;
            BIR_TRY(look_at_pair(s, &h->accesses.items[s->entries.items[e].access], access));
        }
    }
    return BIR_OK;
}

/* The head that an access belongs to, or HAZARD_NONE. *footprint: what a new head is for. */
static uint32_t find_head(const struct sweep *s, uint32_t place, const struct hazard_access *access, uint32_t chain,
                          uint32_t *footprint)
{
    uint32_t n_bounded = 0, mixed = HAZARD_NONE;
    bool exact = s->h->footprints.items[access->footprint].exact;
    *footprint = s->covers[access->footprint].exact ? HAZARD_NONE : access->footprint;
    for (uint32_t i = s->first_heads[place]; i != HAZARD_NONE; i = s->heads.items[i].next) {
        const struct head *head = &s->heads.items[i];
        n_bounded += head->footprint != HAZARD_NONE;
        if (head->chain != chain || head->write != access->write || head->exact != exact)
            continue;
        if (head->footprint == *footprint)
            return i;
        if (head->footprint == HAZARD_NONE)
            mixed = i;
    }
    if (n_bounded < BOUNDED_HEADS)
        return HAZARD_NONE;
    *footprint = HAZARD_NONE;
    return mixed;
}

static enum bir_status enter_place(struct sweep *s, uint32_t place, uint32_t number)
{
    struct bir_arena *scratch = &s->h->scratch;
    const struct hazard_access *access = &s->h->accesses.items[number];
    const struct hazard_exec *e = &s->h->execs.items[access->exec];
    uint32_t footprint, i = find_head(s, place, access, e->end_chain, &footprint);
    if (i == HAZARD_NONE) {
        struct head head = { .chain = e->end_chain,
                             .footprint = footprint,
                             .newest = HAZARD_NONE,
                             .next = s->first_heads[place],
                             .write = access->write,
                             .exact = s->h->footprints.items[access->footprint].exact };
        if (!bir_vec_push(scratch, &s->heads, head))
            return hazard_memory(s->h);
        i = s->first_heads[place] = s->heads.count - 1;
    }
    struct entry entry = { .access = number,
                           .index = e->end_chain == HAZARD_NONE ? 1 : e->end_index,
                           .older = s->heads.items[i].newest };
    if (!bir_vec_push(scratch, &s->entries, entry))
        return hazard_memory(s->h);
    s->heads.items[i].newest = s->entries.count - 1;
    return BIR_OK;
}

static bool runs_in_pieces(uint16_t opcode)
{
    return opcode == BIR_OP_GATHER || opcode == BIR_OP_NONZERO_WITH_COUNT || opcode == BIR_OP_RANGE_SELECT;
}

/* Output on own input: a pair of the instruction with itself, when it reads its input again (section 6). */
static enum bir_status look_at_pieces(struct sweep *s, uint32_t from, uint32_t end)
{
    struct hazard_analysis *h = s->h;
    const struct hazard_access *accesses = h->accesses.items;
    if (!runs_in_pieces(h->execs.items[accesses[from].exec].inst->opcode) || !hazard_rule(h, HAZARD_RULE_PIECES))
        return BIR_OK;
    for (uint32_t r = from; r < end; r++) {
        for (uint32_t w = from; w < end; w++) {
            if (accesses[r].write || !accesses[w].write)
                continue;
            const struct hazard_footprint *a = &h->footprints.items[accesses[r].footprint];
            const struct hazard_footprint *b = &h->footprints.items[accesses[w].footprint];
            enum hazard_truth truth = hazard_footprints_meet(a, b);
            if (truth != HAZARD_NO)
                BIR_TRY(
                    hazard_add_pair(h, &accesses[r], &accesses[w], false, truth == HAZARD_YES && a->exact && b->exact));
        }
    }
    return BIR_OK;
}

/* Whether pairs of the access are still asked for. */
static bool is_looked_for(const struct hazard_analysis *h, const struct hazard_access *access)
{
    return !h->is_spent && (!h->doubts_spent || h->footprints.items[access->footprint].exact);
}

static enum bir_status pass_by(struct sweep *s)
{
    struct hazard_analysis *h = s->h;
    uint32_t n = h->accesses.count;
    for (uint32_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && h->accesses.items[end].exec == h->accesses.items[i].exec; end++)
            ;
        if (bir_cancelled(h->options->cancel))
            return BIR_CANCELLED;
        BIR_TRY(look_at_pieces(s, i, end));
        for (uint32_t a = i; a < end; a++) {
            struct slice asks = s->asks[h->accesses.items[a].footprint];
            for (uint32_t k = 0; k < asks.count && is_looked_for(h, &h->accesses.items[a]); k++)
                BIR_TRY(ask_place(s, s->places.items[asks.first + k], &h->accesses.items[a]));
        }
        for (uint32_t a = i; a < end; a++) {
            if (!is_looked_for(h, &h->accesses.items[a]))
                continue;
            struct slice enters = s->enters[h->accesses.items[a].footprint];
            for (uint32_t k = 0; k < enters.count; k++)
                BIR_TRY(enter_place(s, s->places.items[enters.first + k], a));
        }
    }
    return BIR_OK;
}

enum bir_status hazard_sweep(struct hazard_analysis *h)
{
    struct sweep s = { .h = h };
    struct bir_arena *scratch = &h->scratch;
    uint32_t n = h->footprints.count;
    s.covers = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof(*s.covers));
    s.enters = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof(*s.enters));
    s.asks = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof(*s.asks));
    s.remembered = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, MEMORY_SLOTS, sizeof(*s.remembered));
    if (!s.covers || !s.enters || !s.asks || !s.remembered)
        return hazard_memory(h);
    BIR_TRY(place_all(&s));
    s.first_heads = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, s.n_places, sizeof(*s.first_heads));
    if (!s.first_heads)
        return hazard_memory(h);
    memset(s.first_heads, 0xFF, s.n_places * sizeof(*s.first_heads)); /* HAZARD_NONE */
    return pass_by(&s);
}
