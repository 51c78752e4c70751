/*
 * Briggs colouring: simplify with optimistic push, then select.
 *
 * A node is trivially colourable when its weighted degree, the sum of (w + w_n - 1) over the neighbours that are left,
 * is below colours - w + 1: each neighbour can spoil at most that many of the bases. Trivial nodes go first, lowest
 * number first; when none is left, the node with the least cost per degree is pushed in the hope that its neighbours
 * leave room. Select gives each node, in the opposite order, the lowest base that its coloured neighbours leave.
 *
 * Both choices are binary heaps, so the whole is O((nodes + edges) log nodes); the nodes that are trivial from the
 * start, which is nearly all of them, come in order and need none. Degrees only fall, so the cost per degree of a node
 * only rises: a stale entry of the second heap is put back with its present key.
 */
#include "passes/colour_graph.h"

struct entry {
    double key;
    uint32_t node;
};

struct heap {
    struct entry *items;
    uint32_t count;
};

struct solver {
    const struct bir_colour_graph *graph;
    unsigned colours;
    uint64_t *degree;
    bool *removed;
    uint32_t *stack; /* in order of removal */
    uint32_t n_stack;
    uint32_t *ready; /* trivial from the start, ascending */
    uint32_t n_ready, next_ready;
    struct heap trivial, candidates; /* trivial: since */
};

static bool before(struct entry a, struct entry b)
{
    return a.key < b.key || (a.key == b.key && a.node < b.node);
}

static void heap_push(struct heap *heap, struct entry entry)
{
    uint32_t i = heap->count++;
    for (; i > 0 && before(entry, heap->items[(i - 1) / 2]); i = (i - 1) / 2)
        heap->items[i] = heap->items[(i - 1) / 2];
    heap->items[i] = entry;
}

static struct entry heap_pop(struct heap *heap)
{
    struct entry top = heap->items[0];
    struct entry last = heap->items[--heap->count];
    uint32_t i = 0;
    for (uint32_t child = 1; child < heap->count; child = 2 * i + 1) {
        if (child + 1 < heap->count && before(heap->items[child + 1], heap->items[child]))
            child++;
        if (!before(heap->items[child], last))
            break;
        heap->items[i] = heap->items[child];
        i = child;
    }
    heap->items[i] = last;
    return top;
}

static unsigned blocked_by(const struct solver *s, uint32_t node, uint32_t neighbour)
{
    return (unsigned)s->graph->width[node] + s->graph->width[neighbour] - 1u;
}

bool bir_colour_graph_is_easy(const struct bir_colour_graph *graph, uint32_t node, unsigned colours)
{
    uint64_t degree = graph->neighbours.first[node + 1] - graph->neighbours.first[node];
    return degree * 3 + 2 <= colours; /* 3: of two pairs, the most that one neighbour can spoil */
}

static bool is_trivial(const struct solver *s, uint32_t node)
{
    return s->degree[node] + s->graph->width[node] < s->colours + 1u;
}

static double spill_key(const struct solver *s, uint32_t node)
{
    if (s->graph->cost[node] == BIR_COST_INFINITE)
        return 1e300;
    return (double)s->graph->cost[node] / (double)s->degree[node];
}

static void remove_node(struct solver *s, uint32_t node)
{
    const struct bir_lists *lists = &s->graph->neighbours;
    s->removed[node] = true;
    s->stack[s->n_stack++] = node;
    for (uint32_t i = lists->first[node]; i < lists->first[node + 1]; i++) {
        uint32_t other = lists->items[i];
        if (s->removed[other])
            continue;
        bool was = is_trivial(s, other);
        s->degree[other] -= blocked_by(s, other, node);
        if (!was && is_trivial(s, other))
            heap_push(&s->trivial, (struct entry){ 0, other });
    }
}

/* The cheapest node left, of a heap that may hold outdated entries. */
static uint32_t pop_candidate(struct solver *s)
{
    for (;;) {
        struct entry top = heap_pop(&s->candidates);
        if (s->removed[top.node])
            continue;
        double key = spill_key(s, top.node);
        if (key <= top.key)
            return top.node;
        heap_push(&s->candidates, (struct entry){ key, top.node });
    }
}

static void simplify(struct solver *s)
{
    uint32_t n = s->graph->n;
    for (uint32_t node = 0; node < n; node++) {
        const struct bir_lists *lists = &s->graph->neighbours;
        for (uint32_t i = lists->first[node]; i < lists->first[node + 1]; i++)
            s->degree[node] += blocked_by(s, node, lists->items[i]);
        if (is_trivial(s, node))
            s->ready[s->n_ready++] = node;
        else
            heap_push(&s->candidates, (struct entry){ spill_key(s, node), node });
    }
    while (s->n_stack < n) {
        bool ready = s->next_ready < s->n_ready;
        if (ready && (s->trivial.count == 0 || s->ready[s->next_ready] < s->trivial.items[0].node))
            remove_node(s, s->ready[s->next_ready++]);
        else if (s->trivial.count > 0)
            remove_node(s, heap_pop(&s->trivial).node);
        else
            remove_node(s, pop_candidate(s));
    }
}

static uint64_t slots(unsigned width, unsigned base)
{
    return ((UINT64_C(1) << width) - 1) << base;
}

static uint8_t lowest_base(const struct solver *s, uint32_t node, const uint8_t *base)
{
    const struct bir_lists *lists = &s->graph->neighbours;
    unsigned width = s->graph->width[node];
    uint64_t taken = 0;
    for (uint32_t i = lists->first[node]; i < lists->first[node + 1]; i++) {
        uint32_t other = lists->items[i];
        if (base[other] != BIR_NO_COLOUR)
            taken |= slots(s->graph->width[other], base[other]);
    }
    for (unsigned b = 0; b + width <= s->colours; b++) {
        if (!(taken & slots(width, b)))
            return (uint8_t)b;
    }
    return BIR_NO_COLOUR;
}

static bool allocate(struct solver *s, struct bir_arena *scratch)
{
    size_t n = s->graph->n;
    s->degree = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *s->degree);
    s->removed = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *s->removed);
    s->stack = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *s->stack);
    s->ready = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *s->ready);
    s->trivial.items = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *s->trivial.items);
    s->candidates.items = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *s->candidates.items);
    return s->degree && s->removed && s->stack && s->ready && s->trivial.items && s->candidates.items;
}

enum bir_status bir_colour_graph_solve(const struct bir_colour_graph *graph, unsigned colours,
                                       struct bir_arena *scratch, uint8_t *base, uint32_t *failed)
{
    struct solver s = { .graph = graph, .colours = colours };
    if (!allocate(&s, scratch))
        return bir_arena_failure(scratch);
    memset(base, BIR_NO_COLOUR, graph->n);
    simplify(&s);
    *failed = 0;
    while (s.n_stack > 0) {
        uint32_t node = s.stack[--s.n_stack];
        base[node] = lowest_base(&s, node, base);
        *failed += base[node] == BIR_NO_COLOUR;
    }
    return BIR_OK;
}

bool bir_colour_graph_check(const struct bir_colour_graph *graph, unsigned colours, const uint8_t *base)
{
    for (uint32_t node = 0; node < graph->n; node++) {
        if (base[node] == BIR_NO_COLOUR)
            continue;
        if (base[node] + (unsigned)graph->width[node] > colours)
            return false;
        for (uint32_t i = graph->neighbours.first[node]; i < graph->neighbours.first[node + 1]; i++) {
            uint32_t other = graph->neighbours.items[i];
            if (base[other] != BIR_NO_COLOUR &&
                (slots(graph->width[node], base[node]) & slots(graph->width[other], base[other])))
                return false;
        }
    }
    return true;
}
