/*
 * Operands: class table, role lists, use lists.
 *
 * All operands of an instruction are in one ring, ordered by the rank of their role: indirections, ins, outs, as the
 * wire has them in canonical form, so that reading appends. inst->operands is the first and moves when that one is
 * removed. The last of the ring is one step back, and from there the ends of each list are found by passing over the
 * operands of higher rank, which are few. Removal, insertion at a place and replacement do not search.
 *
 * A use list hangs on the storage, newest first, with prev_use 0 at the head: an operand leaves it in O(1) because it
 * knows from its flags (ACTIVE, OUTPUT) which list of which storage it is on.
 *
 * Dynamic info is shared between clones: passes that change it replace the pointer.
 */
#include <assert.h>

#include "bir/immediate.h"
#include "bir/instruction.h"

static const struct bir_argument_class classes[] = {
    { BIR_ARG_PHYSICAL_AP, "physical_ap", sizeof(struct bir_physical_ap), BIR_STORAGE_LOCATION, false, true },
    { BIR_ARG_SYMBOLIC_AP, "symbolic_ap", sizeof(struct bir_symbolic_ap), BIR_STORAGE_SET, false, true },
    { BIR_ARG_REGISTER_AP, "register_ap", sizeof(struct bir_register_ap), BIR_STORAGE_SET, false, true },
    { BIR_ARG_IMM_VALUE, "imm_value", sizeof(struct bir_imm_value), 0, true, false },
    { BIR_ARG_SYMBOLIC_IMM_VALUE, "symbolic_imm_value", sizeof(struct bir_symbolic_imm_value), 0, true, false },
    { BIR_ARG_IMM_ARRAY, "imm_array", sizeof(struct bir_imm_array), 0, true, false },
    { BIR_ARG_REGISTER_ACCESS, "register_access", sizeof(struct bir_register_access), BIR_STORAGE_REGISTER, false,
      false },
};

const struct bir_argument_class *bir_argument_class_of(enum bir_argument_kind kind)
{
    static const int8_t row_of_kind[] = { -1, 0, 1, 2, -1, -1, 3, 4, 5, -1, -1, 6 };
    if ((unsigned)kind >= sizeof row_of_kind || row_of_kind[kind] < 0)
        return NULL;
    return &classes[row_of_kind[kind]];
}

const struct bir_argument_class *bir_argument_class_by_wire(const char *wire, size_t len)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i].wire) == len && memcmp(classes[i].wire, wire, len) == 0)
            return &classes[i];
    if (len == strlen("symbolic_pwap") && memcmp(wire, "symbolic_pwap", len) == 0)
        return bir_argument_class_of(BIR_ARG_SYMBOLIC_AP);
    return NULL;
}

const char *bir_role_name(enum bir_role role)
{
    static const char *const names[BIR_ROLE_COUNT] = { "ins", "indirection_ins", "outs" };
    return names[role];
}

/* Role lists */

static unsigned rank_of(enum bir_role role)
{
    static const uint8_t ranks[BIR_ROLE_COUNT] = {
        [BIR_ROLE_INDIRECTION] = 0,
        [BIR_ROLE_IN] = 1,
        [BIR_ROLE_OUT] = 2,
    };
    return ranks[role];
}

static struct bir_argument *ring_next(const struct bir_argument *arg)
{
    return bir_ref_at(arg, arg->next);
}

static struct bir_argument *ring_prev(const struct bir_argument *arg)
{
    return bir_ref_at(arg, arg->prev);
}

/* The last operand of the ring that is not of a higher rank than role, or NULL. */
static struct bir_argument *last_up_to(const struct bir_instruction *inst, enum bir_role role)
{
    if (!inst->operands)
        return NULL;
    struct bir_argument *first = bir_ref_at(inst, inst->operands);
    struct bir_argument *arg = ring_prev(first);
    while (rank_of((enum bir_role)arg->role) > rank_of(role)) {
        if (arg == first)
            return NULL;
        arg = ring_prev(arg);
    }
    return arg;
}

struct bir_argument *bir_instruction_last(const struct bir_instruction *inst, enum bir_role role)
{
    struct bir_argument *last = last_up_to(inst, role);
    return last && last->role == role ? last : NULL;
}

struct bir_argument *bir_instruction_first(const struct bir_instruction *inst, enum bir_role role)
{
    if (!inst->operands)
        return NULL;
    struct bir_argument *first = bir_ref_at(inst, inst->operands);
    if (first->role == role)
        return first; /* nothing of a lower rank is in front */
    if (rank_of(role) < rank_of((enum bir_role)first->role))
        return NULL;
    struct bir_argument *arg = bir_instruction_last(inst, role);
    while (arg && ring_prev(arg)->role == role)
        arg = ring_prev(arg);
    return arg;
}

static void link_behind(struct bir_argument *position, struct bir_argument *arg)
{
    bir_ref self = bir_ref_of(arg);
    arg->prev = bir_ref_of(position);
    arg->next = position->next;
    ring_next(position)->prev = self;
    position->next = self;
}

static void link_last(struct bir_instruction *inst, struct bir_argument *arg, enum bir_role role)
{
    struct bir_argument *position = last_up_to(inst, role);
    arg->role = (uint8_t)role;
    if (position) {
        link_behind(position, arg);
        return;
    }
    if (inst->operands)
        link_behind(ring_prev(bir_ref_at(inst, inst->operands)), arg);
    else
        arg->next = arg->prev = bir_ref_of(arg);
    inst->operands = bir_ref_of(arg);
}

void bir_argument_link(struct bir_argument *arg, enum bir_role role)
{
    link_last(bir_argument_parent(arg), arg, role);
}

static void link_before(struct bir_argument *position, struct bir_argument *arg)
{
    arg->role = position->role;
    link_behind(ring_prev(position), arg);
    struct bir_instruction *inst = bir_argument_parent(arg);
    if (inst->operands == bir_ref_of(position))
        inst->operands = bir_ref_of(arg);
}

static void unlink_argument(struct bir_argument *arg)
{
    bir_ref self = bir_ref_of(arg);
    struct bir_instruction *inst = bir_argument_parent(arg);
    if (inst->operands == self)
        inst->operands = arg->next == self ? 0 : arg->next;
    ring_prev(arg)->next = arg->next;
    ring_next(arg)->prev = arg->prev;
    arg->next = arg->prev = 0;
}

/* n_addrs: address expressions of a symbolic_ap, else 0. */
static size_t operand_bytes(enum bir_argument_kind kind, uint32_t n_addrs)
{
    const struct bir_argument_class *class = bir_argument_class_of(kind);
    assert(class && (n_addrs == 0 || kind == BIR_ARG_SYMBOLIC_AP));
    return class->size_bytes + n_addrs * sizeof(const struct pelican_expr *);
}

static struct bir_argument *make(struct bir_module *module, struct bir_instruction *inst, enum bir_argument_kind kind,
                                 enum bir_dtype dtype, uint32_t n_addrs)
{
    size_t bytes = operand_bytes(kind, n_addrs);
    struct bir_argument *arg = bir_arena_alloc(&module->arena, BIR_MEM_ARGUMENTS, bytes);
    if (!arg)
        return NULL;
    arg->kind = (uint8_t)kind;
    arg->dtype = (uint8_t)dtype;
    arg->source_offset = BIR_NO_SOURCE;
    arg->parent = bir_ref_of(inst);
    if (kind == BIR_ARG_SYMBOLIC_AP) {
        ((struct bir_symbolic_ap *)arg)->tensor_indirect_arg_id = -1;
        ((struct bir_symbolic_ap *)arg)->n_addrs = n_addrs;
    }
    if (kind == BIR_ARG_REGISTER_AP)
        ((struct bir_register_ap *)arg)->const_sub_tensor_id = -1;
    return arg;
}

size_t bir_argument_bytes(const struct bir_argument *arg)
{
    bool is_symbolic = arg->kind == BIR_ARG_SYMBOLIC_AP;
    return operand_bytes((enum bir_argument_kind)arg->kind,
                         is_symbolic ? ((const struct bir_symbolic_ap *)arg)->n_addrs : 0);
}

static bool is_immediate(enum bir_argument_kind kind)
{
    return bir_argument_class_of(kind)->is_immediate;
}

struct bir_argument *bir_argument_new_last(struct bir_module *module, struct bir_instruction *inst,
                                           enum bir_argument_kind kind, enum bir_role role, uint32_t n_addrs)
{
    assert(inst);
    struct bir_argument *arg = make(module, inst, kind, BIR_DTYPE_UINT8, n_addrs);
    if (arg)
        link_last(inst, arg, is_immediate(kind) ? BIR_ROLE_IN : role);
    return arg;
}

struct bir_argument *bir_argument_new_behind(struct bir_module *module, struct bir_argument *position,
                                             enum bir_argument_kind kind, uint32_t n_addrs)
{
    struct bir_argument *arg = make(module, bir_argument_parent(position), kind, BIR_DTYPE_UINT8, n_addrs);
    if (!arg)
        return NULL;
    arg->role = position->role;
    link_behind(position, arg);
    return arg;
}

struct bir_argument *bir_argument_new(struct bir_module *module, struct bir_instruction *inst,
                                      enum bir_argument_kind kind, enum bir_role role, enum bir_dtype dtype)
{
    struct bir_argument *arg = bir_argument_new_last(module, inst, kind, role, 0);
    if (arg)
        arg->dtype = (uint8_t)dtype;
    return arg;
}

struct bir_symbolic_ap *bir_symbolic_ap_new(struct bir_module *module, struct bir_instruction *inst, enum bir_role role,
                                            enum bir_dtype dtype, const struct pelican_expr *const *addrs,
                                            uint32_t n_addrs)
{
    struct bir_argument *arg = bir_argument_new_last(module, inst, BIR_ARG_SYMBOLIC_AP, role, n_addrs);
    if (!arg)
        return NULL;
    struct bir_symbolic_ap *ap = (struct bir_symbolic_ap *)arg;
    arg->dtype = (uint8_t)dtype;
    if (n_addrs > 0)
        memcpy(ap->addrs, addrs, n_addrs * sizeof(*addrs));
    return ap;
}

struct bir_argument *bir_argument_new_before(struct bir_module *module, struct bir_argument *position,
                                             enum bir_argument_kind kind, enum bir_dtype dtype)
{
    struct bir_argument *arg = make(module, bir_argument_parent(position), kind, dtype, 0);
    if (!arg)
        return NULL;
    if (is_immediate(kind) && position->role != BIR_ROLE_IN)
        bir_argument_link(arg, BIR_ROLE_IN);
    else
        link_before(position, arg);
    return arg;
}

/* Use lists */

static struct bir_argument **use_head(struct bir_argument *arg)
{
    return arg->flags & BIR_ARGF_OUTPUT ? &arg->location->writers : &arg->location->readers;
}

static void deregister(struct bir_argument *arg)
{
    if (!(arg->flags & BIR_ARGF_ACTIVE))
        return;
    struct bir_argument *next = bir_argument_next_use(arg);
    if (arg->prev_use)
        ((struct bir_argument *)bir_ref_at(arg, arg->prev_use))->next_use = arg->next_use;
    else
        *use_head(arg) = next;
    if (next)
        next->prev_use = arg->prev_use;
    arg->next_use = arg->prev_use = 0;
    arg->flags &= (uint8_t)~BIR_ARGF_ACTIVE;
}

void bir_argument_set_location(struct bir_argument *arg, struct bir_storage *location, bool is_output, bool active)
{
    deregister(arg);
    arg->location = location;
    arg->flags = (uint8_t)((arg->flags & ~BIR_ARGF_OUTPUT) | (is_output ? BIR_ARGF_OUTPUT : 0));
    if (!location || !active)
        return;
    struct bir_argument **head = use_head(arg);
    arg->next_use = bir_ref_of(*head);
    if (*head)
        (*head)->prev_use = bir_ref_of(arg);
    *head = arg;
    arg->flags |= BIR_ARGF_ACTIVE;
}

void bir_argument_remove(struct bir_argument *arg)
{
    deregister(arg);
    arg->location = NULL;
    unlink_argument(arg);
}

void bir_argument_replace(struct bir_argument *old, struct bir_argument *with)
{
    assert(old != with && old->parent == with->parent);
    assert(old->role == BIR_ROLE_IN || !is_immediate((enum bir_argument_kind)with->kind));
    unlink_argument(with);
    link_before(old, with);
    bir_argument_remove(old);
    bool is_output = with->role == BIR_ROLE_OUT;
    if (with->location && is_output != !!(with->flags & BIR_ARGF_OUTPUT))
        bir_argument_set_location(with, with->location, is_output, with->flags & BIR_ARGF_ACTIVE);
}

struct bir_argument_rare *bir_argument_need_rare(struct bir_module *module, struct bir_argument *arg)
{
    const struct bir_argument_rare *rare = bir_argument_rare_of(arg);
    if (!rare || rare->shared) {
        struct bir_argument_rare *own = BIR_NEW(&module->arena, BIR_MEM_ARGUMENTS, struct bir_argument_rare);
        if (!own)
            return NULL;
        if (rare)
            *own = *rare;
        own->shared = false;
        arg->rare = bir_ref_of(own);
    }
    return bir_ref_at(arg, arg->rare); /* its own: const to readers only */
}

/* Queries */

struct bir_argument *bir_instruction_argument(const struct bir_instruction *inst, enum bir_role role, uint32_t i)
{
    struct bir_argument *arg = bir_instruction_first(inst, role);
    for (; arg && i > 0; i--)
        arg = bir_argument_next(arg);
    return arg;
}

uint32_t bir_instruction_argument_count(const struct bir_instruction *inst, enum bir_role role)
{
    uint32_t count = 0;
    BIR_EACH_ARGUMENT (arg, inst, role)
        count++;
    return count;
}

uint32_t bir_argument_position(const struct bir_argument *arg)
{
    uint32_t position = 0;
    for (const struct bir_argument *a = arg; (a = bir_argument_prev(a));)
        position++;
    return position;
}

const struct bir_pattern *bir_argument_pattern(const struct bir_argument *arg)
{
    switch (arg->kind) {
    case BIR_ARG_PHYSICAL_AP: return ((const struct bir_physical_ap *)arg)->pattern;
    case BIR_ARG_SYMBOLIC_AP: return ((const struct bir_symbolic_ap *)arg)->pattern;
    case BIR_ARG_REGISTER_AP: return ((const struct bir_register_ap *)arg)->pattern;
    default: return NULL;
    }
}

struct bir_set *bir_argument_set(const struct bir_argument *arg)
{
    if (!arg->location)
        return NULL;
    switch (arg->location->tag) {
    case BIR_STORAGE_LOCATION: return ((struct bir_location *)arg->location)->set;
    case BIR_STORAGE_SET: return (struct bir_set *)arg->location;
    default: return NULL;
    }
}

enum bir_memory_type bir_set_memory(const struct bir_set *set)
{
    return set->locations.count > 0 ? (enum bir_memory_type)set->locations.items[0]->type : BIR_MEMORY_NONE;
}

enum bir_memory_type bir_argument_memory(const struct bir_argument *arg)
{
    if (arg->location && arg->location->tag == BIR_STORAGE_LOCATION)
        return (enum bir_memory_type)((const struct bir_location *)arg->location)->type;
    const struct bir_set *set = bir_argument_set(arg);
    return set ? bir_set_memory(set) : BIR_MEMORY_NONE;
}

int64_t bir_pattern_elems_per_partition(const struct bir_pattern *pattern)
{
    int64_t elems = 1;
    for (uint32_t i = 1; i < pattern->rank; i++)
        if (__builtin_mul_overflow(elems, pattern->pairs[i].num, &elems))
            return -1;
    return elems;
}

/* Builders */

struct bir_physical_ap *bir_add_physical_ap(struct bir_module *module, struct bir_instruction *inst, enum bir_role role,
                                            struct bir_location *location, const struct bir_pattern *pattern,
                                            int64_t offset_elems, enum bir_dtype dtype)
{
    struct bir_argument *arg = bir_argument_new(module, inst, BIR_ARG_PHYSICAL_AP, role, dtype);
    if (!arg)
        return NULL;
    struct bir_physical_ap *ap = (struct bir_physical_ap *)arg;
    ap->pattern = pattern;
    ap->offset_elems = offset_elems;
    bir_argument_set_location(arg, &location->base, role == BIR_ROLE_OUT, true);
    return ap;
}

struct bir_imm_value *bir_add_imm_int(struct bir_module *module, struct bir_instruction *inst, enum bir_dtype dtype,
                                      int64_t value)
{
    struct bir_argument *arg = bir_argument_new(module, inst, BIR_ARG_IMM_VALUE, BIR_ROLE_IN, dtype);
    if (!arg)
        return NULL;
    struct bir_imm_value *imm = (struct bir_imm_value *)arg;
    imm->bits = bir_immediate_bits(arg->dtype, value);
    return imm;
}

struct bir_register_access *bir_add_register_access(struct bir_module *module, struct bir_instruction *inst,
                                                    enum bir_role role, struct bir_register *reg, enum bir_dtype dtype)
{
    struct bir_argument *arg = bir_argument_new(module, inst, BIR_ARG_REGISTER_ACCESS, role, dtype);
    if (!arg)
        return NULL;
    bir_argument_set_location(arg, &reg->base, role == BIR_ROLE_OUT, true);
    return (struct bir_register_access *)arg;
}
