/* Colouring of a graph whose nodes take one or two neighbouring colours (lowering.md 11, items 5 and 6). */
#ifndef BIR_PASSES_COLOUR_GRAPH_H
#define BIR_PASSES_COLOUR_GRAPH_H

#include "passes/liveness.h"

#define BIR_COLOURS_MAX   64
#define BIR_NO_COLOUR     UINT8_MAX
#define BIR_COST_INFINITE UINT64_MAX /* the last to be given up */

struct bir_colour_graph {
    uint32_t n;
    const uint8_t *width;        /* 1 or 2 */
    const uint64_t *cost;        /* of giving the node up */
    struct bir_lists neighbours; /* symmetric, no self, no duplicates */
};

/* True when the node is sure of a colour, whatever its neighbours take: then its `cost` is not looked at. */
bool bir_colour_graph_is_easy(const struct bir_colour_graph *graph, uint32_t node, unsigned colours);

/* Gives each node a base colour in 0 .. colours - width, or BIR_NO_COLOUR; *failed is the number of those.
 * Deterministic. When every node of width 1 and the graph is an interval graph that needs no more than `colours`, none
 * fails. */
enum bir_status bir_colour_graph_solve(const struct bir_colour_graph *graph, unsigned colours,
                                       struct bir_arena *scratch, uint8_t *base, uint32_t *failed) BIR_MUST_CHECK;

/* True when no two neighbours overlap and every base is in range; uncoloured nodes do not count. */
bool bir_colour_graph_check(const struct bir_colour_graph *graph, unsigned colours, const uint8_t *base);

#endif
