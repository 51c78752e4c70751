/*
 * Dependency edges.
 *
 * An instruction lists its predecessors, those of all lists in one array behind a head, which doubles. Between two
 * instructions at most one edge exists per list; a second one merges into it by precedence, which is the ordinal order
 * of the kinds (enums.md section 7, lowering.md 12.1).
 */
#include <assert.h>

#include "bir/instruction.h"

bool bir_instruction_reserve_edges(struct bir_module *module, struct bir_instruction *inst, uint32_t more)
{
    struct bir_edges *edges = bir_instruction_edges(inst);
    uint32_t count = edges ? edges->count : 0, capacity = edges ? edges->capacity : 0;
    if (more <= capacity - count)
        return true;
    uint32_t grown;
    size_t bytes;
    if (__builtin_add_overflow(count, more, &grown) ||
        __builtin_mul_overflow((size_t)grown, sizeof(struct bir_edge), &bytes)) {
        module->arena.failure = BIR_LIMIT;
        return false;
    }
    size_t old_bytes = edges ? sizeof(*edges) + capacity * sizeof(struct bir_edge) : 0;
    edges = bir_arena_grow(&module->arena, BIR_MEM_INSTRUCTIONS, edges, old_bytes, sizeof(*edges) + bytes);
    if (!edges)
        return false;
    edges->capacity = grown;
    inst->edges = bir_ref_of(edges);
    return true;
}

bool bir_instruction_push_edge(struct bir_module *module, struct bir_instruction *inst, struct bir_edge edge)
{
    const struct bir_edges *old = bir_instruction_edges(inst);
    bool is_full = !old || old->count == old->capacity;
    if (is_full && !bir_instruction_reserve_edges(module, inst, old && old->count ? old->count : 1))
        return false;
    struct bir_edges *edges = bir_instruction_edges(inst);
    edges->items[edges->count++] = edge;
    return true;
}

uint32_t bir_instruction_edge_count(const struct bir_instruction *inst, enum bir_edge_list list)
{
    uint32_t count = 0;
    BIR_EACH_EDGE (edge, inst)
        count += edge->list == list;
    return count;
}

const struct bir_str *bir_edge_extra(const struct bir_edges *edges, const struct bir_edge *edge)
{
    return edge->extra ? bir_ref_at(edges, edge->extra) : NULL;
}

static struct bir_edge *find_edge(const struct bir_instruction *inst, enum bir_edge_list list,
                                  const struct bir_instruction *target)
{
    BIR_EACH_EDGE (edge, inst)
        if (edge->list == list && edge->target == target)
            return edge;
    return NULL;
}

bool bir_instruction_add_dependency(struct bir_module *module, struct bir_instruction *later,
                                    struct bir_instruction *earlier, enum bir_edge_kind kind, bool loop_carried)
{
    assert(later != earlier || loop_carried);
    enum bir_edge_list list = loop_carried ? BIR_EDGES_LOOP_CARRIED : BIR_EDGES_NORMAL;
    struct bir_edge *edge = find_edge(later, list, earlier);
    if (!edge) {
        struct bir_edge fresh = { .target = earlier, .list = (uint8_t)list, .kind = (uint8_t)kind };
        return bir_instruction_push_edge(module, later, fresh);
    }
    if ((uint8_t)kind > edge->kind) {
        edge->kind = (uint8_t)kind;
        edge->bare = false;
    }
    return true;
}
