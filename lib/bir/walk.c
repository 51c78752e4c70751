/*
 * Walking: instructions in program order, and the registers of one operand.
 *
 * The instruction walk keeps only the current instruction and climbs through region->owner, so nesting costs no stack.
 * The register walk recurses into expressions, whose depth the readers bound (read.h); has_runtime prunes subtrees
 * without registers.
 */
#include "bir/module.h"

void bir_walk_init(struct bir_walk *walk, struct bir_region *root)
{
    walk->root = root;
    walk->current = NULL;
}

static struct bir_instruction *first_from(const struct bir_block *block)
{
    while (block && !block->first)
        block = block->next;
    return block ? block->first : NULL;
}

struct bir_instruction *bir_walk_next(struct bir_walk *walk)
{
    if (!walk->root)
        return NULL;
    struct bir_instruction *at = walk->current;
    struct bir_instruction *next;
    if (!at) {
        next = first_from(walk->root->first);
    } else {
        const struct bir_region *region = bir_instruction_region(at);
        next = region ? first_from(region->first) : NULL;
        while (!next && at) {
            next = at->next ? at->next : first_from(at->block->next);
            at = at->block->region == walk->root ? NULL : at->block->region->owner;
        }
    }
    walk->current = next;
    if (!next)
        walk->root = NULL;
    return next;
}

uint32_t bir_function_number(struct bir_function *function)
{
    uint32_t count = 0;
    struct bir_walk walk;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));)
        inst->index = count++;
    return count;
}

/* Registers */

static bool each_in_expr(const struct pelican_expr *e, bir_register_fn *fn, void *user)
{
    if (!e || !e->has_runtime)
        return true;
    switch (e->kind) {
    case PELICAN_RUNTIME_VALUE: return fn(user, e->u.reg, NULL);
    case PELICAN_AFFINE:
        for (uint32_t i = 0; i < e->u.affine.n_terms; i++)
            if (!each_in_expr(e->u.affine.terms[i].index, fn, user))
                return false;
        return true;
    case PELICAN_SUM:
        for (uint32_t i = 0; i < e->u.sum.n_terms; i++)
            if (!each_in_expr(e->u.sum.terms[i], fn, user))
                return false;
        return true;
    case PELICAN_MULT: return each_in_expr(e->u.mult.operand, fn, user);
    case PELICAN_FLOOR_DIV:
    case PELICAN_MODULO:
    case PELICAN_CC_DIV: return each_in_expr(e->u.div.numer, fn, user);
    default: return true;
    }
}

static bool each_in_dynamic(const struct bir_dynamic_info *dynamic, bir_register_fn *fn, void *user)
{
    for (uint32_t i = 0; dynamic && i < dynamic->n_terms; i++)
        if (!each_in_expr(dynamic->terms[i].expr, fn, user))
            return false;
    return true;
}

/* register_access: a replaced register is rebound, so that the use lists stay exact. */
static bool each_in_access(struct bir_argument *arg, bir_register_fn *fn, void *user)
{
    if (!arg->location)
        return true;
    struct bir_register *reg = (struct bir_register *)arg->location;
    bool more = fn(user, reg, &reg);
    if (&reg->base != arg->location)
        bir_argument_set_location(arg, &reg->base, arg->flags & BIR_ARGF_OUTPUT, arg->flags & BIR_ARGF_ACTIVE);
    return more;
}

static bool each_in_register_ap(struct bir_register_ap *ap, bir_register_fn *fn, void *user)
{
    return (!ap->address || fn(user, ap->address, &ap->address)) &&
           (!ap->offset || fn(user, ap->offset, &ap->offset)) &&
           (!ap->sub_tensor || fn(user, ap->sub_tensor, &ap->sub_tensor));
}

bool bir_argument_each_register(struct bir_argument *arg, bir_register_fn *fn, void *user)
{
    switch (arg->kind) {
    case BIR_ARG_REGISTER_ACCESS: return each_in_access(arg, fn, user);
    case BIR_ARG_REGISTER_AP: return each_in_register_ap((struct bir_register_ap *)arg, fn, user);
    case BIR_ARG_PHYSICAL_AP: return each_in_dynamic(bir_argument_dynamic(arg), fn, user);
    case BIR_ARG_SYMBOLIC_IMM_VALUE: return each_in_expr(((struct bir_symbolic_imm_value *)arg)->expr, fn, user);
    case BIR_ARG_SYMBOLIC_AP: {
        const struct bir_symbolic_ap *ap = (const struct bir_symbolic_ap *)arg;
        for (uint32_t i = 0; i < ap->n_addrs; i++)
            if (!each_in_expr(ap->addrs[i], fn, user))
                return false;
        return true;
    }
    default: return true;
    }
}
