/*
 * Dependency edges.
 *
 * An instruction lists its predecessors. Between two instructions at most one edge exists per list; a second one
 * merges into it by precedence, which is the ordinal order of the kinds (enums.md section 7, lowering.md 12.1).
 */
#include <assert.h>

#include "bir/module.h"

static struct bir_edge *find_edge(const struct bir_edges *edges, enum bir_edge_list list,
                                  const struct bir_instruction *target)
{
    for (uint32_t i = 0; i < edges->list[list].count; i++)
        if (edges->list[list].items[i].target == target)
            return &edges->list[list].items[i];
    return NULL;
}

bool bir_instruction_add_dependency(struct bir_module *module, struct bir_instruction *later,
                                    struct bir_instruction *earlier, enum bir_edge_kind kind, bool loop_carried)
{
    assert(later != earlier || loop_carried);
    if (!later->edges)
        later->edges = BIR_NEW(&module->arena, BIR_MEM_INSTRUCTIONS, struct bir_edges);
    if (!later->edges)
        return false;
    enum bir_edge_list list = loop_carried ? BIR_EDGES_LOOP_CARRIED : BIR_EDGES_NORMAL;
    struct bir_edge *edge = find_edge(later->edges, list, earlier);
    if (!edge) {
        struct bir_edge fresh = { .target = earlier, .name = earlier->name, .kind = (uint8_t)kind };
        return bir_vec_push(&module->arena, &later->edges->list[list], fresh);
    }
    if ((uint8_t)kind > edge->kind) {
        edge->kind = (uint8_t)kind;
        edge->bare = false;
    }
    return true;
}
