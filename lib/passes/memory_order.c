/*
 * Dependencies from footprints.
 *
 * The bytes of every address space are cut at all ends of all rectangles into cells (their number is bounded: a space
 * with too many is cut at locations only, by widening its rectangles). A cell keeps the writes that are still visible
 * and the reads since, each with its partitions. In program order a read   depends (Flow) on every visible write it
 * overlaps, and joins the reads; a write  depends on the reads it overlaps (Anti) and the visible writes (Output),
 * hides them where it covers their partitions, and becomes visible. So partial writes are all found, and nothing behind
 * the nearest write is. An instruction that reads and writes is a reader first.
 *
 * Loops. The code of a body is gone through a second time, from the state that its first iteration leaves: what it then
 * finds behind itself in the same body was done by the iteration before, and makes a loop-carried edge. Earlier ones
 * need none: the edge of the same iteration orders them, since an instruction follows itself. Inner bodies are gone
 * through once in that second round, so a nest of depth d costs d + 1 rounds of its innermost body.
 *
 * choice: the sheet's analyser records such an edge only between different memory sets (lowering.md 12.4); here it is
 * recorded for all, because engines that share a buffer of one set need it as much.
 *
 * Edges of one instruction are collected with a mark on the earlier instruction, by program index, so that merging is
 * constant time.
 */
#include "passes/memory_order.h"

#define CELLS_MAX (UINT32_C(1) << 16) /* of one space */
#define NONE      UINT32_MAX

struct touch { /* of a cell; a singly linked list */
    struct bir_instruction *inst;
    uint32_t partition, partition_end;
    uint32_t next;
};

struct cell {
    uint32_t writes, reads; /* heads */
};

struct space {
    uint64_t *cuts; /* sorted, n_cells + 1 of them; cell i is cuts[i] .. cuts[i + 1] - 1 */
    uint32_t n_cells;
    struct cell *cells;
    bool coarse; /* rectangles were widened to whole rows of the space */
};

/* All rectangles of one instruction lie together, reads before writes. */
struct member {
    struct bir_instruction *inst;
    uint32_t first, writes, end; /* of order->rectangles */
};

/* A loop that may be repeated. */
struct span {
    const struct bir_instruction *owner;
    uint32_t first, end;             /* members of its body */
    uint32_t begin_index, end_index; /* program indices of its body: above begin, up to end */
};

struct order {
    const struct bir_pass_context *context;
    struct bir_arena *scratch;
    struct bir_module *module;
    struct bir_function *function;
    struct bir_memory_order_kinds kinds;
    struct bir_spaces spaces;
    bir_rectangle_vec rectangles;
    BIR_VEC(struct member) members;
    BIR_VEC(struct span) spans; /* outer ones first */
    const struct span *carry;   /* the loop whose second round this is, or NULL */
    struct space *by_space;
    BIR_VEC(struct touch) touches;
    uint32_t free_touch;
    uint32_t *mark; /* by program index: position + 1 among the edges of the instruction at hand */
    struct bir_instruction *later;
};

static enum bir_status out_of_memory(const struct order *o)
{
    return bir_pass_out_of_memory(o->context, o->module);
}

/* --- collection --- */

static bool collect_instruction(struct order *o, struct bir_instruction *inst)
{
    struct member member = { .inst = inst, .first = o->rectangles.count };
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        if (role == BIR_ROLE_OUT)
            member.writes = o->rectangles.count;
        else if (inst->opcode == BIR_OP_READ_VAR_ADDR)
            continue; /* it reads an address, not the memory (lowering.md 12.3) */
        BIR_EACH_ARGUMENT (arg, inst, role) {
            if (!bir_footprint_add(&o->spaces, arg, &o->rectangles))
                return false;
        }
    }
    member.end = o->rectangles.count;
    return member.first == member.end || bir_vec_push(o->scratch, &o->members, member);
}

/* Is there a second iteration? Of loops that registers steer it is assumed. */
static bool repeats(const struct bir_instruction *inst)
{
    const struct bir_loop *loop = inst->rare->loop;
    return inst->opcode != BIR_OP_DMA_BLOCK && (!loop->axis || pelican_axis_trip_count(loop->axis) > 1);
}

typedef BIR_VEC(uint32_t) index_vec;

/* Leaves the loops that are open but not around the next instruction, NULL at the end. */
static void close_spans(struct order *o, index_vec *open, const struct bir_instruction *next, uint32_t index)
{
    const struct bir_instruction *owner = next ? next->block->region->owner : NULL;
    for (; open->count > 0; open->count--) {
        struct span *span = &o->spans.items[open->items[open->count - 1]];
        if (span->owner == owner)
            return;
        span->end = o->members.count;
        span->end_index = index;
    }
}

static bool open_span(struct order *o, index_vec *open, const struct bir_instruction *inst)
{
    struct span span = { .owner = inst, .first = o->members.count, .begin_index = inst->index };
    return bir_vec_push(o->scratch, &o->spans, span) && bir_vec_push(o->scratch, open, o->spans.count - 1);
}

static enum bir_status collect(struct order *o, struct bir_function *function)
{
    struct bir_walk walk;
    index_vec open = { 0 };
    uint32_t last = 0;
    uint64_t n = 0;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(o->context, inst, n++));
        close_spans(o, &open, inst, last);
        last = inst->index;
        bool done = bir_instruction_region(inst) ? open_span(o, &open, inst) : collect_instruction(o, inst);
        if (!done)
            return out_of_memory(o);
    }
    close_spans(o, &open, NULL, last);
    return BIR_OK;
}

/* --- cells --- */

#define DIGIT_BITS   8u
#define DIGIT_VALUES (1u << DIGIT_BITS)

/* Sorts by the digits from the lowest to the highest that any number has; `other` is as long. */
static void sort_numbers(uint64_t *numbers, uint64_t *other, uint32_t count)
{
    uint64_t any = 0;
    uint64_t *from = numbers, *to = other;
    for (uint32_t i = 0; i < count; i++)
        any |= numbers[i];
    for (uint32_t shift = 0; shift < 64 && any >> shift != 0; shift += DIGIT_BITS) {
        uint32_t place[DIGIT_VALUES] = { 0 }, next = 0;
        for (uint32_t i = 0; i < count; i++)
            place[from[i] >> shift & (DIGIT_VALUES - 1)]++;
        for (uint32_t d = 0; d < DIGIT_VALUES; d++) {
            uint32_t here = place[d];
            place[d] = next;
            next += here;
        }
        for (uint32_t i = 0; i < count; i++)
            to[place[from[i] >> shift & (DIGIT_VALUES - 1)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != numbers)
        memcpy(numbers, from, count * sizeof *numbers);
}

static void unique_cuts(struct space *space, uint64_t *room, uint32_t *count)
{
    uint32_t n = 0;
    sort_numbers(space->cuts, room, *count);
    for (uint32_t i = 0; i < *count; i++) {
        if (n == 0 || space->cuts[n - 1] != space->cuts[i])
            space->cuts[n++] = space->cuts[i];
    }
    *count = n;
}

/* Too many cells: keep every k-th cut, so that a rectangle touches the cells around it. */
static void thin_cuts(struct space *space, uint32_t *count)
{
    uint32_t k = *count / CELLS_MAX + 1, n = 0;
    uint64_t last = space->cuts[*count - 1];
    for (uint32_t i = 0; i < *count; i += k)
        space->cuts[n++] = space->cuts[i];
    if (space->cuts[n - 1] != last)
        space->cuts[n++] = last;
    space->coarse = true;
    *count = n;
}

static enum bir_status cut_spaces(struct order *o)
{
    uint32_t *count = bir_arena_alloc_array(o->scratch, BIR_MEM_TABLES, o->spaces.count, sizeof *count);
    o->by_space = bir_arena_alloc_array(o->scratch, BIR_MEM_TABLES, o->spaces.count, sizeof *o->by_space);
    if (!count || !o->by_space)
        return out_of_memory(o);
    for (uint32_t i = 0; i < o->rectangles.count; i++)
        count[o->rectangles.items[i].space] += 2;
    uint32_t most = 0;
    for (uint32_t s = 0; s < o->spaces.count; s++) {
        o->by_space[s].cuts = bir_arena_alloc_array(o->scratch, BIR_MEM_TABLES, count[s], sizeof(uint64_t));
        if (!o->by_space[s].cuts)
            return out_of_memory(o);
        most = count[s] > most ? count[s] : most;
        count[s] = 0;
    }
    uint64_t *room = bir_arena_alloc_array(o->scratch, BIR_MEM_TABLES, most, sizeof *room);
    if (!room)
        return out_of_memory(o);
    for (uint32_t i = 0; i < o->rectangles.count; i++) {
        const struct bir_rectangle *r = &o->rectangles.items[i];
        o->by_space[r->space].cuts[count[r->space]++] = r->byte;
        o->by_space[r->space].cuts[count[r->space]++] = r->byte_end;
    }
    for (uint32_t s = 0; s < o->spaces.count; s++) {
        struct space *space = &o->by_space[s];
        if (count[s] == 0)
            continue;
        unique_cuts(space, room, &count[s]);
        if (count[s] > CELLS_MAX)
            thin_cuts(space, &count[s]);
        space->n_cells = count[s] - 1;
        space->cells = bir_arena_alloc_array(o->scratch, BIR_MEM_TABLES, space->n_cells, sizeof *space->cells);
        if (!space->cells)
            return out_of_memory(o);
        memset(space->cells, 0xFF, space->n_cells * sizeof *space->cells); /* NONE */
    }
    return BIR_OK;
}

/* The cell that contains a byte. */
static uint32_t cell_of(const struct space *space, uint64_t byte)
{
    uint32_t low = 0, high = space->n_cells;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (space->cuts[middle] <= byte)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* --- edges --- */

static enum bir_edge_list list_of(const struct order *o)
{
    return o->carry ? BIR_EDGES_LOOP_CARRIED : BIR_EDGES_NORMAL;
}

/* Was it done by the iteration before? */
static bool is_carried(const struct order *o, const struct bir_instruction *earlier)
{
    return earlier->index > o->later->index && earlier->index > o->carry->begin_index &&
           earlier->index <= o->carry->end_index;
}

/* Sets the mark of every earlier instruction that `later` has an edge to: position + 1, or 0 to clear. Others than the
 * function's have no index. */
static void mark_edges(struct order *o, bool set)
{
    const struct bir_edges *edges = bir_instruction_edges(o->later);
    for (uint32_t i = 0; edges && i < edges->count; i++) {
        const struct bir_edge *edge = &edges->items[i];
        if (edge->list == list_of(o) && bir_instruction_function(edge->target) == o->function)
            o->mark[edge->target->index] = set ? i + 1 : 0;
    }
}

/* As bir_instruction_add_dependency, without its search. */
static bool add_edge(struct order *o, struct bir_instruction *earlier, enum bir_edge_kind kind)
{
    struct bir_instruction *later = o->later;
    uint32_t at = o->mark[earlier->index];
    if (earlier == later || (o->carry && !is_carried(o, earlier)))
        return true;
    struct bir_edges *edges = bir_instruction_edges(later);
    if (at > 0 && edges->items[at - 1].target == earlier) {
        struct bir_edge *edge = &edges->items[at - 1];
        if ((uint8_t)kind > edge->kind) {
            edge->kind = (uint8_t)kind;
            edge->bare = false;
        }
        return true;
    }
    struct bir_edge fresh = { .target = earlier, .list = (uint8_t)list_of(o), .kind = (uint8_t)kind };
    if (!bir_instruction_push_edge(o->module, later, fresh))
        return false;
    o->mark[earlier->index] = bir_instruction_edges(later)->count;
    o->context->stats->dependency_edges++;
    return true;
}

/* --- touches --- */

static bool push_touch(struct order *o, uint32_t *head, struct touch touch)
{
    uint32_t at = o->free_touch;
    touch.next = *head;
    if (at != NONE) {
        o->free_touch = o->touches.items[at].next;
        o->touches.items[at] = touch;
    } else {
        at = o->touches.count;
        if (!bir_vec_push(o->scratch, &o->touches, touch))
            return false;
    }
    *head = at;
    return true;
}

static bool overlaps(const struct touch *t, const struct bir_rectangle *r)
{
    return t->partition < r->partition_end && r->partition < t->partition_end;
}

static bool edges_to(struct order *o, uint32_t head, const struct bir_rectangle *r, enum bir_edge_kind kind)
{
    for (uint32_t i = head; i != NONE; i = o->touches.items[i].next) {
        if (overlaps(&o->touches.items[i], r) && !add_edge(o, o->touches.items[i].inst, kind))
            return false;
    }
    return true;
}

/* Cuts the partitions of r out of every touch of a list. Links are indices, because the touches may move. */
static bool hide(struct order *o, uint32_t *head, const struct bir_rectangle *r)
{
    uint32_t previous = NONE;
    for (uint32_t at = *head, next; at != NONE; at = next) {
        struct touch *t = &o->touches.items[at];
        bool below = t->partition<r->partition, above = t->partition_end> r->partition_end;
        next = t->next;
        if (overlaps(t, r) && !below && !above) {
            *(previous == NONE ? head : &o->touches.items[previous].next) = next;
            t->next = o->free_touch;
            o->free_touch = at;
            continue;
        }
        previous = at;
        if (!overlaps(t, r))
            continue;
        struct touch rest = *t;
        rest.partition = r->partition_end;
        if (below)
            t->partition_end = r->partition;
        else
            *t = rest;
        if (below && above && !push_touch(o, head, rest))
            return false;
    }
    return true;
}

static bool read_cell(struct order *o, struct cell *cell, const struct bir_rectangle *r)
{
    struct touch touch = { .inst = o->later, .partition = r->partition, .partition_end = r->partition_end };
    if (o->kinds.flow && !edges_to(o, cell->writes, r, BIR_EDGE_FLOW))
        return false;
    const struct touch *newest = cell->reads == NONE ? NULL : &o->touches.items[cell->reads];
    if (!o->kinds.anti_output || (newest && newest->inst == touch.inst && newest->partition == touch.partition &&
                                  newest->partition_end == touch.partition_end))
        return true;
    return push_touch(o, &cell->reads, touch);
}

static bool write_cell(struct order *o, const struct space *space, struct cell *cell, uint32_t i,
                       const struct bir_rectangle *r)
{
    struct touch touch = { .inst = o->later, .partition = r->partition, .partition_end = r->partition_end };
    bool covers = r->byte <= space->cuts[i] && space->cuts[i + 1] <= r->byte_end;
    if (o->kinds.anti_output &&
        (!edges_to(o, cell->reads, r, BIR_EDGE_ANTI) || !edges_to(o, cell->writes, r, BIR_EDGE_OUTPUT)))
        return false;
    if (covers && (!hide(o, &cell->reads, r) || !hide(o, &cell->writes, r)))
        return false;
    return push_touch(o, &cell->writes, touch);
}

static bool apply(struct order *o, const struct bir_rectangle *r, bool write)
{
    struct space *space = &o->by_space[r->space];
    for (uint32_t i = cell_of(space, r->byte); i < space->n_cells && space->cuts[i] < r->byte_end; i++) {
        if (write ? !write_cell(o, space, &space->cells[i], i, r) : !read_cell(o, &space->cells[i], r))
            return false;
    }
    return true;
}

static enum bir_status visit(struct order *o, uint32_t m)
{
    const struct member *member = &o->members.items[m];
    BIR_TRY(bir_pass_poll(o->context, m));
    o->later = member->inst;
    mark_edges(o, true);
    for (uint32_t i = member->first; i < member->end; i++) {
        if (!apply(o, &o->rectangles.items[i], i >= member->writes))
            return out_of_memory(o);
    }
    mark_edges(o, false);
    return BIR_OK;
}

/* Members first to end, loops in them from *next on; *next becomes the one behind. Nesting is bounded by the reader. */
static enum bir_status sweep(struct order *o, uint32_t first, uint32_t end, uint32_t *next)
{
    for (uint32_t m = first; m < end;) {
        if (*next >= o->spans.count || o->spans.items[*next].first != m) {
            BIR_TRY(visit(o, m++));
            continue;
        }
        const struct span *span = &o->spans.items[*next];
        uint32_t inner = *next + 1;
        BIR_TRY(sweep(o, span->first, span->end, &inner));
        if (!o->carry && repeats(span->owner)) {
            o->carry = span;
            inner = *next + 1;
            BIR_TRY(sweep(o, span->first, span->end, &inner));
            o->carry = NULL;
        }
        *next = inner;
        m = span->end;
    }
    return BIR_OK;
}

enum bir_status bir_memory_order(struct bir_function *function, const struct bir_pass_context *context,
                                 struct bir_memory_order_kinds kinds)
{
    struct order o = { .context = context, .function = function, .kinds = kinds };
    o.scratch = context->scratch;
    o.module = function->module;
    uint32_t n = bir_function_number(function);
    o.free_touch = NONE;
    o.mark = bir_arena_alloc_array(o.scratch, BIR_MEM_TABLES, (size_t)n + 1, sizeof *o.mark);
    if (!o.mark || !bir_spaces_init(&o.spaces, function, o.scratch))
        return bir_arena_failure(o.scratch);
    BIR_TRY(collect(&o, function));
    BIR_TRY(cut_spaces(&o));
    uint32_t next = 0;
    return sweep(&o, 0, o.members.count, &next);
}
