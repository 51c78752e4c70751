/*
 * Conservative coalescing. Two classes of equal width that do not interfere are merged when the result has few
 * significant neighbours (Briggs' test, with widths), so that merging never makes a colourable graph uncolourable.
 *
 * Classes are circular lists of nodes with union-find on top; the neighbours of a class are those of its members. The
 * degree of a class is the sum over its members, which is at least the true one: the test only gets stricter. Classes
 * with very many neighbours are left alone, because walking them for every copy would make the pass quadratic.
 */
#include "passes/coalesce.h"

#define DEGREE_MAX 4096

struct coalescer {
    const struct bir_liveness *live;
    const struct bir_lists *neighbours;
    unsigned colours;
    uint32_t *parent, *next, *stamp;
    uint64_t *degree; /* of the class, weighted */
    uint32_t tests;
};

static unsigned width(const struct coalescer *c, uint32_t node)
{
    return c->live->nodes.items[node].reg->num_physical;
}

static uint32_t find(struct coalescer *c, uint32_t node)
{
    while (c->parent[node] != node) {
        c->parent[node] = c->parent[c->parent[node]];
        node = c->parent[node];
    }
    return node;
}

static bool interfere(struct coalescer *c, uint32_t a, uint32_t b)
{
    uint32_t node = a;
    do {
        for (uint32_t i = c->neighbours->first[node]; i < c->neighbours->first[node + 1]; i++) {
            if (find(c, c->neighbours->items[i]) == b)
                return true;
        }
        node = c->next[node];
    } while (node != a);
    return false;
}

/* Adds the weights of the significant neighbours of a class that this test has not met. */
static uint64_t significant(struct coalescer *c, uint32_t class)
{
    uint64_t sum = 0;
    uint32_t node = class;
    do {
        for (uint32_t i = c->neighbours->first[node]; i < c->neighbours->first[node + 1]; i++) {
            uint32_t other = find(c, c->neighbours->items[i]);
            if (c->stamp[other] == c->tests)
                continue;
            c->stamp[other] = c->tests;
            if (c->degree[other] + width(c, other) >= c->colours + 1u)
                sum += width(c, class) + width(c, other) - 1u;
        }
        node = c->next[node];
    } while (node != class);
    return sum;
}

static bool may_merge(struct coalescer *c, uint32_t a, uint32_t b)
{
    if (a == b || c->degree[a] > DEGREE_MAX || c->degree[b] > DEGREE_MAX || interfere(c, a, b))
        return false;
    c->tests++;
    return significant(c, a) + significant(c, b) + width(c, a) < c->colours + 1u;
}

/* The lower number stands for the class. */
static void merge(struct coalescer *c, uint32_t a, uint32_t b)
{
    uint32_t keep = a < b ? a : b, gone = a < b ? b : a;
    uint32_t next = c->next[keep];
    c->parent[gone] = keep;
    c->next[keep] = c->next[gone];
    c->next[gone] = next;
    c->degree[keep] += c->degree[gone];
}

/* any: is there anything to merge? */
static bool init(struct coalescer *c, struct bir_arena *scratch, bool any)
{
    uint32_t n = c->live->nodes.count;
    c->parent = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *c->parent);
    for (uint32_t node = 0; c->parent && node < n; node++)
        c->parent[node] = node;
    if (c->parent && !any)
        return true;
    c->next = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *c->next);
    c->stamp = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *c->stamp);
    c->degree = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, n, sizeof *c->degree);
    if (!c->parent || !c->next || !c->stamp || !c->degree)
        return false;
    for (uint32_t node = 0; node < n; node++) {
        c->next[node] = node;
        for (uint32_t i = c->neighbours->first[node]; i < c->neighbours->first[node + 1]; i++)
            c->degree[node] += width(c, node) + width(c, c->neighbours->items[i]) - 1u;
    }
    return true;
}

enum bir_status bir_coalesce(const struct bir_liveness *live, const struct bir_interference *interference,
                             unsigned colours, uint32_t **representative, uint64_t *merged)
{
    struct coalescer c = { .live = live, .neighbours = &interference->neighbours, .colours = colours };
    *merged = 0;
    if (!init(&c, live->context->scratch, interference->moves.count > 0))
        return bir_arena_failure(live->context->scratch);
    for (uint32_t i = 0; i < interference->moves.count; i++) {
        uint32_t a = find(&c, interference->moves.items[i].dst);
        uint32_t b = find(&c, interference->moves.items[i].src);
        BIR_TRY(bir_pass_poll(live->context, i));
        if (may_merge(&c, a, b))
            merge(&c, a, b);
        *merged += find(&c, a) == find(&c, b);
    }
    for (uint32_t node = 0; node < live->nodes.count; node++)
        c.parent[node] = find(&c, node);
    *representative = c.parent;
    return BIR_OK;
}
