/*
 * Declared order: the kernel's edges and its no-reorder blocks, as Ordered edges (lowering.md 4.7).
 *
 * Nothing is analysed here: an edge only says that its target waits for its source, is weaker than every kind the later
 * passes prove, and is upgraded in place by them (MAX-merge of bir_instruction_add_dependency).
 *
 * Names are keys within one body, and one list of edges serves all bodies: an edge is drawn in every function that has
 * both ends. One that no function can draw is an error that names the missing end; so is one whose end two statements
 * share.
 */
#include "codegen/context.h"

/* One edge in one function. *drawn is set when both ends are there. */
static enum bir_status draw(struct codegen *cg, struct bir_function *function, const struct bir_str *from,
                            const struct bir_str *to, const struct klr_node *place, bool *drawn)
{
    struct bir_instruction *earlier = bir_map_get(&function->instructions, from);
    struct bir_instruction *later = bir_map_get(&function->instructions, to);
    if (!earlier || !later)
        return BIR_OK;
    *drawn = true;
    if (earlier == later)
        return codegen_fail(cg, "klr-self-edge", place, "remove the edge",
                            "edge '%.80s' -> '%.80s' makes a statement wait for itself", from->text, to->text);
    return bir_instruction_add_dependency(cg->module, later, earlier, BIR_EDGE_ORDERED, false) ? BIR_OK
                                                                                               : codegen_nomem(cg);
}

static bool name_is_known(const struct codegen *cg, const struct bir_str *name)
{
    BIR_EACH_FUNCTION (function, cg->module) {
        if (bir_map_get(&function->instructions, name))
            return true;
    }
    return false;
}

static enum bir_status dangling(struct codegen *cg, const struct bir_str *from, const struct bir_str *to,
                                const struct klr_node *place)
{
    const struct bir_str *missing = !name_is_known(cg, from) ? from : !name_is_known(cg, to) ? to : NULL;
    if (missing)
        return codegen_fail(cg, "klr-dangling-edge", place, "name statements of the kernel",
                            "edge '%.80s' -> '%.80s': %.80s is not found, unable to complete dependency edge insertion",
                            from->text, to->text, missing->text);
    return codegen_fail(cg, "klr-dangling-edge", place, "synchronise cores with a core barrier",
                        "edge '%.80s' -> '%.80s': no core has both statements", from->text, to->text);
}

static enum bir_status one_target(struct codegen *cg, const struct bir_str *from, const struct bir_str *to,
                                  const struct klr_node *place)
{
    bool drawn = false;
    const struct bir_str *twice = bir_map_get(&cg->duplicates, from) ? from
                                  : bir_map_get(&cg->duplicates, to) ? to
                                                                     : NULL;
    if (twice)
        return codegen_fail(cg, "klr-duplicate-name", place, "give every statement of a core its own name",
                            "edge '%.80s' -> '%.80s': two statements are called '%.80s'", from->text, to->text,
                            twice->text);
    BIR_EACH_FUNCTION (function, cg->module) {
        BIR_TRY(draw(cg, function, from, to, place, &drawn));
    }
    return drawn ? BIR_OK : dangling(cg, from, to, place);
}

static enum bir_status one_edge(struct codegen *cg, const struct klr_node *edge)
{
    const struct klr_list *targets = klr_list_at(edge, KLR_Edges_toEdges);
    const struct bir_str *from = codegen_text(cg, klr_string_at(edge, KLR_Edges_fromEdge));
    enum bir_status result = BIR_OK;
    if (!from)
        return codegen_nomem(cg);
    if (targets->count == 0 && !name_is_known(cg, from))
        return dangling(cg, from, from, edge);
    for (uint64_t i = 0; i < targets->count; i++) {
        const struct bir_str *to = codegen_text(cg, targets->items[i].string);
        enum bir_status status = to ? one_target(cg, from, to, edge) : codegen_nomem(cg);
        if (status == BIR_INVALID)
            result = BIR_INVALID;
        else if (status != BIR_OK)
            return status;
    }
    return result;
}

enum bir_status codegen_edges(struct codegen *cg)
{
    enum bir_status result = BIR_OK;
    for (uint64_t i = 0; cg->edges && i < cg->edges->count; i++) {
        enum bir_status status = one_edge(cg, cg->edges->items[i].node);
        if (i % 1024 == 0 && bir_cancelled(cg->options->cancel))
            return BIR_CANCELLED;
        if (status == BIR_INVALID)
            result = BIR_INVALID;
        else if (status != BIR_OK)
            return status;
    }
    return result;
}

/* The order of a no-reorder block holds engine by engine (klr-format.md 9.6): each instruction waits for its engine's
 * last one. */
enum bir_status codegen_keep_order(struct codegen *cg, struct bir_block *block)
{
    struct bir_instruction *last[BIR_ENGINE_COUNT] = { NULL };
    BIR_EACH_INSTRUCTION (inst, block) {
        struct bir_instruction *earlier = last[inst->engine];
        if (earlier && !bir_instruction_add_dependency(cg->module, inst, earlier, BIR_EDGE_ORDERED, false))
            return codegen_nomem(cg);
        last[inst->engine] = inst;
    }
    return BIR_OK;
}
