/*
 * A vector clock for every node: for each chain, the last node of it that is known to precede (hazards.md section 2).
 *
 * Nodes are the start of every execution and the completion of every asynchronous one. They are visited depth first
 * along the edges that lead to them, and a strongly connected component is emitted as soon as it is complete, after
 * everything it depends on (Tarjan's algorithm, with a stack of our own). When a node is emitted its clock is final:
 * the maximum over its predecessors. Most nodes learn nothing that their predecessor did not know, and share its row; a
 * row is made where a wait, a barrier or a completion joins two histories. So memory is rows times chains, not nodes
 * squared.
 *
 * A reset decides with its clock which updates are late in the epochs that it starts, before anything behind it is
 * emitted; if a wait had already been emitted with another sum (only possible when nothing orders the reset before it),
 * everything is done once more. Sums only grow, so this ends.
 *
 * Invariant: the clock of a node is max(row[chain], own index on its own chain); a row may lag behind on the own chain.
 */
#include <string.h>

#include "check/hazard_internal.h"

struct frame {
    struct hazard_edges edges;
};

struct search {
    struct hazard_analysis *h;
    struct bir_arena rows;
    uint32_t *index; /* of discovery, from 1; 0 = not yet */
    uint32_t *low;
    uint32_t next_index;
    uint32_t *emitted; /* bit set */
    BIR_VEC(struct frame) frames;
    BIR_VEC(uint32_t) component;
    uint32_t n_chains;
    bool cyclic;
};

/* --- edges --- */

/* The next edge by the waits of a start node, or HAZARD_NONE. */
static uint32_t next_wait_edge(const struct hazard_analysis *h, struct hazard_edges *edges, uint32_t exec,
                               uint32_t n_order)
{
    const struct hazard_exec *e = &h->execs.items[exec];
    uint32_t n_waits = hazard_rule(h, HAZARD_RULE_WAIT) ? e[1].first_wait - e->first_wait : 0;
    while (edges->step - n_order < n_waits) {
        uint32_t at = e->first_wait + (edges->step - n_order);
        const struct hazard_waiter *w = &h->waiters.items[at];
        const struct hazard_epoch *epoch = &h->epochs[w->epoch];
        uint32_t proved = HAZARD_NONE;
        if (edges->span < epoch->n_spans) {
            proved = hazard_semaphore_proved(h, w, &epoch->spans[edges->span++]);
        } else {
            edges->span = 0;
            edges->step++;
            proved = hazard_semaphore_keeps_named(h, w) ? w->update : HAZARD_NONE;
        }
        if (proved != HAZARD_NONE) {
            edges->kind = HAZARD_EDGE_WAIT;
            edges->waiter = at;
            return hazard_end_node(h, h->updates[proved].exec);
        }
    }
    return HAZARD_NONE;
}

uint32_t hazard_edges_next(const struct hazard_analysis *h, struct hazard_edges *edges)
{
    uint32_t exec = edges->node / 2;
    const struct hazard_exec *e = &h->execs.items[exec];
    if (edges->node & 1) {
        edges->kind = edges->step == 0 ? HAZARD_EDGE_ISSUE : HAZARD_EDGE_QUEUE;
        if (edges->step++ == 0)
            return hazard_start_node(exec);
        return edges->step == 2 && e->queue_prev != HAZARD_NONE ? hazard_end_node(h, e->queue_prev) : HAZARD_NONE;
    }
    uint32_t n_order = e[1].first_pred - e->first_pred;
    if (edges->step >= n_order)
        return next_wait_edge(h, edges, exec, n_order);
    edges->kind = e->trigger != HAZARD_NONE ? HAZARD_EDGE_ISSUE : HAZARD_EDGE_PROGRAM;
    return hazard_start_node(h->preds.items[e->first_pred + edges->step++]);
}

/* --- clocks --- */

static void place_on_chain(const struct hazard_analysis *h, uint32_t node, uint32_t *chain, uint32_t *index)
{
    const struct hazard_exec *e = &h->execs.items[node / 2];
    *chain = node & 1 ? e->end_chain : e->start_chain;
    *index = node & 1 ? e->end_index : e->start_index;
}

uint32_t hazard_clock(const struct hazard_analysis *h, uint32_t node, uint32_t chain)
{
    uint32_t own, index, known = h->clocks[node][chain];
    place_on_chain(h, node, &own, &index);
    return own == chain && index > known ? index : known;
}

bool hazard_reaches(const struct hazard_analysis *h, uint32_t exec, uint32_t node)
{
    const struct hazard_exec *e = &h->execs.items[exec];
    return e->end_chain != HAZARD_NONE && hazard_clock(h, node, e->end_chain) >= e->end_index;
}

/* A clock in the making: a row that is shared until something new comes in. */
struct clock {
    uint32_t *row;
    bool own;
};

static enum bir_status own_row(struct search *s, struct clock *clock)
{
    if (clock->own)
        return BIR_OK;
    uint32_t *row = bir_arena_alloc_array(&s->rows, BIR_MEM_TABLES, s->n_chains, sizeof(*row));
    if (!row) {
        s->h->scratch.failure = bir_arena_failure(&s->rows);
        return hazard_memory(s->h);
    }
    if (clock->row)
        memcpy(row, clock->row, s->n_chains * sizeof(*row));
    clock->row = row;
    clock->own = true;
    return BIR_OK;
}

/* Takes in what an emitted node knows, and the node itself. own_chain: that of the node being emitted, or HAZARD_NONE.
 */
static enum bir_status absorb(struct search *s, struct clock *clock, uint32_t node, uint32_t own_chain)
{
    uint32_t chain, index;
    uint32_t *row = s->h->clocks[node];
    place_on_chain(s->h, node, &chain, &index);
    bool on_own = chain != HAZARD_NONE && chain == own_chain; /* the index on the own chain is implied */
    if (!clock->row) {
        clock->row = row;
    } else if (clock->row != row && !(chain != HAZARD_NONE && clock->row[chain] >= index)) {
        BIR_TRY(own_row(s, clock));
        for (uint32_t c = 0; c < s->n_chains; c++)
            if (row[c] > clock->row[c])
                clock->row[c] = row[c];
    }
    if (chain == HAZARD_NONE || on_own || clock->row[chain] >= index)
        return BIR_OK;
    BIR_TRY(own_row(s, clock));
    clock->row[chain] = index;
    return BIR_OK;
}

static bool is_emitted(const struct search *s, uint32_t node)
{
    return s->emitted[node / 32] >> (node % 32) & 1;
}

static enum bir_status absorb_edges(struct search *s, struct clock *clock, uint32_t node, uint32_t own_chain)
{
    struct hazard_edges edges = { .node = node };
    for (uint32_t from; (from = hazard_edges_next(s->h, &edges)) != HAZARD_NONE;)
        if (is_emitted(s, from))
            BIR_TRY(absorb(s, clock, from, own_chain));
    return BIR_OK;
}

static void note_waits(struct hazard_analysis *h, uint32_t exec)
{
    const struct hazard_exec *e = &h->execs.items[exec];
    for (uint32_t i = e->first_wait; i < e[1].first_wait; i++) {
        struct hazard_epoch *epoch = &h->epochs[h->waiters.items[i].epoch];
        epoch->used = true;
        epoch->used_total = epoch->total;
    }
}

/* The members of a component of several nodes precede one another: they share a clock that knows them all. */
static enum bir_status join_component(struct search *s, const uint32_t *nodes, uint32_t count, struct clock *clock)
{
    s->cyclic = true;
    for (uint32_t i = 0; i < count; i++)
        BIR_TRY(absorb_edges(s, clock, nodes[i], HAZARD_NONE));
    BIR_TRY(own_row(s, clock));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t chain, index;
        place_on_chain(s->h, nodes[i], &chain, &index);
        if (chain != HAZARD_NONE && clock->row[chain] < index)
            clock->row[chain] = index;
    }
    return BIR_OK;
}

static enum bir_status emit(struct search *s, const uint32_t *nodes, uint32_t count)
{
    struct hazard_analysis *h = s->h;
    struct clock clock = { 0 };
    if (count > 1) {
        BIR_TRY(join_component(s, nodes, count, &clock));
    } else {
        uint32_t chain, index;
        place_on_chain(h, nodes[0], &chain, &index);
        BIR_TRY(absorb_edges(s, &clock, nodes[0], chain));
    }
    if (!clock.row)
        BIR_TRY(own_row(s, &clock));
    for (uint32_t i = 0; i < count; i++) {
        h->clocks[nodes[i]] = clock.row;
        s->emitted[nodes[i] / 32] |= UINT32_C(1) << (nodes[i] % 32);
        if (!(nodes[i] & 1))
            note_waits(h, nodes[i] / 2);
    }
    for (uint32_t i = 0; i < count; i++)
        if (!(nodes[i] & 1) && h->execs.items[nodes[i] / 2].resets)
            BIR_TRY(hazard_semaphore_reset(h, nodes[i] / 2));
    return BIR_OK;
}

/* --- search --- */

static enum bir_status enter(struct search *s, uint32_t node)
{
    struct frame frame = { .edges = { .node = node } };
    s->index[node] = s->low[node] = ++s->next_index;
    if ((s->next_index & HAZARD_POLL_MASK) == 0 && bir_cancelled(s->h->options->cancel))
        return BIR_CANCELLED;
    if (!bir_vec_push(&s->h->scratch, &s->frames, frame) || !bir_vec_push(&s->h->scratch, &s->component, node))
        return hazard_memory(s->h);
    return BIR_OK;
}

static enum bir_status leave(struct search *s, uint32_t node)
{
    s->frames.count--;
    if (s->frames.count > 0) {
        uint32_t above = s->frames.items[s->frames.count - 1].edges.node;
        if (s->low[node] < s->low[above])
            s->low[above] = s->low[node];
    }
    if (s->low[node] != s->index[node])
        return BIR_OK;
    uint32_t first = s->component.count;
    while (s->component.items[--first] != node)
        ;
    BIR_TRY(emit(s, s->component.items + first, s->component.count - first));
    s->component.count = first;
    return BIR_OK;
}

static enum bir_status visit(struct search *s, uint32_t root)
{
    if (s->index[root] == 0)
        BIR_TRY(enter(s, root));
    while (s->frames.count > 0) {
        struct hazard_edges *edges = &s->frames.items[s->frames.count - 1].edges;
        uint32_t node = edges->node, from = hazard_edges_next(s->h, edges);
        if (from == HAZARD_NONE) {
            BIR_TRY(leave(s, node));
        } else if (s->index[from] == 0) {
            BIR_TRY(enter(s, from));
        } else if (!is_emitted(s, from)) {
            s->cyclic = s->cyclic || from == node;
            if (s->index[from] < s->low[node])
                s->low[node] = s->index[from];
        }
    }
    return BIR_OK;
}

static enum bir_status run_pass(struct search *s)
{
    struct hazard_analysis *h = s->h;
    size_t n_nodes = 2 * (size_t)h->n_execs;
    memset(s->index, 0, n_nodes * sizeof(*s->index));
    memset(s->emitted, 0, (n_nodes / 32 + 1) * sizeof(*s->emitted));
    s->next_index = 0;
    s->cyclic = false;
    bir_arena_deinit(&s->rows);
    for (uint32_t exec = 0; exec < h->n_execs; exec++) {
        BIR_TRY(visit(s, hazard_start_node(exec)));
        if (h->execs.items[exec].async)
            BIR_TRY(visit(s, hazard_end_node(h, exec)));
    }
    return BIR_OK;
}

/* Has a wait been used with a sum that is no longer that of its epoch? Or, in a cycle, has any sum changed? */
static bool is_stale(struct hazard_analysis *h, bool cyclic, int64_t *sum_before)
{
    bool stale = false;
    uint64_t sum = 0;
    for (uint32_t e = 0; e < h->semaphore_epochs[HAZARD_SEMAPHORES]; e++) {
        struct hazard_epoch *epoch = &h->epochs[e];
        stale = stale || (epoch->used && epoch->used_total != epoch->total);
        epoch->used = false;
        sum += (uint64_t)epoch->total;
    }
    bool changed = (int64_t)sum != *sum_before;
    *sum_before = (int64_t)sum;
    return stale || (cyclic && changed);
}

static enum bir_status order_nodes(struct search *s)
{
    struct hazard_analysis *h = s->h;
    int64_t sum = 0;
    is_stale(h, false, &sum);
    for (uint32_t pass = 0; pass < HAZARD_MAX_PASSES; pass++) {
        BIR_TRY(run_pass(s));
        if (is_stale(h, s->cyclic, &sum))
            continue;
        if (!s->cyclic || !hazard_rule(h, HAZARD_RULE_CYCLE))
            return BIR_OK;
        h->edges_unknown = true;
        return hazard_reason(h, h->function->source_offset,
                             "function %s: waits, queues and engines wait for one another in a cycle",
                             h->function->name ? h->function->name->text : "");
    }
    h->edges_unknown = true;
    return hazard_reason(h, h->function->source_offset,
                         "function %s: which updates are in flight across resets is not settled after %u rounds",
                         h->function->name ? h->function->name->text : "", HAZARD_MAX_PASSES);
}

enum bir_status hazard_order_build(struct hazard_analysis *h)
{
    size_t n_nodes = 2 * (size_t)h->n_execs;
    struct search s = { .h = h, .n_chains = h->chains.count };
    h->clocks = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, n_nodes, sizeof(*h->clocks));
    s.index = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, n_nodes, sizeof(*s.index));
    s.low = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, n_nodes, sizeof(*s.low));
    s.emitted = bir_arena_alloc_array(&h->scratch, BIR_MEM_TABLES, n_nodes / 32 + 1, sizeof(*s.emitted));
    if (!h->clocks || !s.index || !s.low || !s.emitted)
        return hazard_memory(h);
    bir_arena_init(&h->clock_rows, h->scratch.limit_bytes);
    s.rows = h->clock_rows;
    enum bir_status status = order_nodes(&s);
    h->clock_rows = s.rows; /* freed with the function */
    return status;
}
