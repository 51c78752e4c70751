/*
 * Proof of the invariants of module.h.
 *
 * One walk over all instructions checks lists, kinds and tags and counts the registered operands. A second one over all
 * storages checks the use lists link by link and counts their members. A doubly linked list that is consistent has each
 * member once, so equal counts mean that every registered operand is on exactly its storage's list.
 */
#include "bir/module.h"

struct check {
    const char *problem;
    uint64_t registered; /* operands with ACTIVE */
    uint64_t listed;     /* members of use lists */
};

static bool fail(struct check *c, const char *problem)
{
    c->problem = problem;
    return false;
}

static bool check_binding(struct check *c, const struct bir_argument *arg, const struct bir_argument_class *class)
{
    if (!arg->location)
        return !(arg->flags & BIR_ARGF_ACTIVE) || fail(c, "an operand without location is registered");
    if (arg->location->tag != class->location_tag)
        return fail(c, "an operand is bound to a storage of the wrong class");
    if (!(arg->flags & BIR_ARGF_ACTIVE))
        return fail(c, "an operand with a location is on no use list");
    if (!!(arg->flags & BIR_ARGF_OUTPUT) != (arg->role == BIR_ROLE_OUT))
        return fail(c, "an operand's role and its use list disagree");
    c->registered++;
    return true;
}

static bool check_argument(struct check *c, const struct bir_instruction *inst, const struct bir_argument *arg,
                           enum bir_role role)
{
    const struct bir_argument_class *class = bir_argument_class_of((enum bir_argument_kind)arg->kind);
    if (!class)
        return fail(c, "an operand has a kind without class");
    if (bir_argument_parent(arg) != inst || arg->role != role)
        return fail(c, "an operand does not know its instruction or list");
    if (class->is_immediate && role != BIR_ROLE_IN)
        return fail(c, "an immediate is outside ins");
    return check_binding(c, arg, class);
}

/* The links of the ring, and that every operand of it is found by its list. */
static bool check_ring(struct check *c, const struct bir_instruction *inst)
{
    uint64_t in_ring = 0, in_lists = 0;
    const struct bir_argument *first = inst->operands ? bir_ref_at(inst, inst->operands) : NULL;
    for (const struct bir_argument *arg = first; arg;) {
        const struct bir_argument *next = bir_ref_at(arg, arg->next);
        if (!next || next->prev != bir_ref_of(arg))
            return fail(c, "a role list is broken");
        in_ring++;
        arg = next == first ? NULL : next;
    }
    for (enum bir_role role = BIR_ROLE_IN; role < BIR_ROLE_COUNT; role++)
        in_lists += bir_instruction_argument_count(inst, role);
    return in_ring == in_lists || fail(c, "the operands of an instruction are out of order");
}

static bool check_instruction(struct check *c, const struct bir_instruction *inst)
{
    const struct bir_block *block = inst->block;
    const struct bir_instruction *prev = bir_instruction_prev(inst);
    if (!block || *(prev ? &prev->next : &block->first) != inst ||
        (inst->next ? bir_instruction_prev(inst->next) : block->last) != inst)
        return fail(c, "an instruction list is broken");
    if (!check_ring(c, inst))
        return false;
    for (enum bir_role role = BIR_ROLE_IN; role < BIR_ROLE_COUNT; role++)
        BIR_EACH_ARGUMENT (arg, inst, role)
            if (!check_argument(c, inst, arg, role))
                return false;
    return true;
}

static bool check_region(struct check *c, const struct bir_region *region)
{
    struct bir_walk walk;
    bir_walk_init(&walk, (struct bir_region *)(uintptr_t)region);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));)
        if (!check_instruction(c, inst))
            return false;
    return true;
}

static bool check_use_list(struct check *c, const struct bir_storage *storage, const struct bir_argument *head,
                           bool is_writers)
{
    const struct bir_argument *prev = NULL;
    for (const struct bir_argument *arg = head; arg; prev = arg, arg = bir_argument_next_use(arg)) {
        if (arg->prev_use != bir_ref_of(prev))
            return fail(c, "a use list is broken");
        if (arg->location != storage || !(arg->flags & BIR_ARGF_ACTIVE) ||
            !!(arg->flags & BIR_ARGF_OUTPUT) != is_writers)
            return fail(c, "an operand is on a use list that is not its own");
        c->listed++;
    }
    return true;
}

static bool check_storage(struct check *c, const struct bir_storage *storage)
{
    if (!check_use_list(c, storage, storage->readers, false) || !check_use_list(c, storage, storage->writers, true))
        return false;
    if (storage->tag != BIR_STORAGE_SET)
        return true;
    const struct bir_set *set = (const struct bir_set *)storage;
    for (uint32_t i = 0; i < set->locations.count; i++)
        if (!check_storage(c, &set->locations.items[i]->base))
            return false;
    return true;
}

static bool check_functions(struct check *c, const struct bir_function *first)
{
    for (const struct bir_function *f = first; f; f = f->next) {
        if (!check_region(c, &f->body))
            return false;
        for (uint32_t i = 0; i < f->storages.count; i++)
            if (!check_storage(c, f->storages.items[i]))
                return false;
    }
    return true;
}

bool bir_module_check_uses(const struct bir_module *module, const char **problem)
{
    struct check c = { 0 };
    bool sound = check_functions(&c, module->functions) && check_functions(&c, module->nki_functions);
    for (const struct bir_queue *queue = module->queues; sound && queue; queue = queue->next)
        sound = check_region(&c, &queue->body);
    if (sound && c.registered != c.listed)
        sound = fail(&c, "use lists and operands disagree in number");
    *problem = c.problem;
    return sound;
}
