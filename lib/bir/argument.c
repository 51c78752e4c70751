/*
 * Operands: class table, role lists, use lists.
 *
 * A role list is circular, so its head knows its tail; heads[role] is the first operand and moves when that one is
 * removed. A use list hangs on the storage, newest first, with prev_use NULL at the head: an operand leaves it in O(1)
 * because it knows from its flags (ACTIVE, OUTPUT) which list of which storage it is on.
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

static void link_before(struct bir_argument *position, struct bir_argument *arg)
{
    arg->role = position->role;
    arg->next = position;
    arg->prev = position->prev;
    position->prev->next = arg;
    position->prev = arg;
}

void bir_argument_link(struct bir_argument *arg, enum bir_role role)
{
    struct bir_argument **head = &arg->parent->heads[role];
    arg->role = (uint8_t)role;
    if (*head) {
        link_before(*head, arg); /* before the head of a circle is its end */
    } else {
        *head = arg;
        arg->next = arg->prev = arg;
    }
}

static void unlink_argument(struct bir_argument *arg)
{
    struct bir_argument **head = &arg->parent->heads[arg->role];
    if (*head == arg)
        *head = arg->next == arg ? NULL : arg->next;
    arg->prev->next = arg->next;
    arg->next->prev = arg->prev;
    arg->next = arg->prev = NULL;
}

static struct bir_argument *make(struct bir_module *module, struct bir_instruction *inst, enum bir_argument_kind kind,
                                 enum bir_dtype dtype)
{
    const struct bir_argument_class *class = bir_argument_class_of(kind);
    assert(class && inst);
    struct bir_argument *arg = bir_arena_alloc(&module->arena, BIR_MEM_ARGUMENTS, class->size_bytes);
    if (!arg)
        return NULL;
    arg->kind = (uint8_t)kind;
    arg->dtype = (uint8_t)dtype;
    arg->source_offset = BIR_NO_SOURCE;
    arg->parent = inst;
    if (kind == BIR_ARG_SYMBOLIC_AP)
        ((struct bir_symbolic_ap *)arg)->tensor_indirect_arg_id = -1;
    if (kind == BIR_ARG_REGISTER_AP)
        ((struct bir_register_ap *)arg)->const_sub_tensor_id = -1;
    return arg;
}

static bool is_immediate(enum bir_argument_kind kind)
{
    return bir_argument_class_of(kind)->is_immediate;
}

struct bir_argument *bir_argument_new(struct bir_module *module, struct bir_instruction *inst,
                                      enum bir_argument_kind kind, enum bir_role role, enum bir_dtype dtype)
{
    struct bir_argument *arg = make(module, inst, kind, dtype);
    if (arg)
        bir_argument_link(arg, is_immediate(kind) ? BIR_ROLE_IN : role);
    return arg;
}

struct bir_argument *bir_argument_new_before(struct bir_module *module, struct bir_argument *position,
                                             enum bir_argument_kind kind, enum bir_dtype dtype)
{
    struct bir_argument *arg = make(module, position->parent, kind, dtype);
    if (!arg)
        return NULL;
    if (is_immediate(kind) && position->role != BIR_ROLE_IN) {
        bir_argument_link(arg, BIR_ROLE_IN);
        return arg;
    }
    link_before(position, arg);
    if (arg->parent->heads[arg->role] == position)
        arg->parent->heads[arg->role] = arg;
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
    *(arg->prev_use ? &arg->prev_use->next_use : use_head(arg)) = arg->next_use;
    if (arg->next_use)
        arg->next_use->prev_use = arg->prev_use;
    arg->next_use = arg->prev_use = NULL;
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
    arg->next_use = *head;
    if (*head)
        (*head)->prev_use = arg;
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
    if (with->parent->heads[with->role] == old)
        with->parent->heads[with->role] = with;
    bir_argument_remove(old);
    bool is_output = with->role == BIR_ROLE_OUT;
    if (with->location && is_output != !!(with->flags & BIR_ARGF_OUTPUT))
        bir_argument_set_location(with, with->location, is_output, with->flags & BIR_ARGF_ACTIVE);
}

struct bir_argument_rare *bir_argument_need_rare(struct bir_module *module, struct bir_argument *arg)
{
    if (!arg->rare)
        arg->rare = BIR_NEW(&module->arena, BIR_MEM_ARGUMENTS, struct bir_argument_rare);
    return arg->rare;
}

/* Queries */

struct bir_argument *bir_instruction_argument(const struct bir_instruction *inst, enum bir_role role, uint32_t i)
{
    struct bir_argument *head = inst->heads[role];
    struct bir_argument *arg = head;
    for (; arg && i > 0; i--)
        arg = arg->next == head ? NULL : arg->next;
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
    for (const struct bir_argument *a = arg->parent->heads[arg->role]; a != arg; a = a->next)
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
