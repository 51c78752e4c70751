/*
 * The decoder: recursive descent over the schema's tables, one function a kind of value. Every reading function takes
 * the slot to fill, or NULL to check the bytes and build nothing; both ways move r->pos behind the value. klr_path_at
 * is what skips: everything but the nodes and names of blocks and statements.
 *
 * r->steps is the way from the file to the value being read, for messages and paths. The members of a value share one
 * step, which moves on from member to member. Leaving a value only lowers steps.count, so the steps of the value that
 * began last (r->reached of them) stay readable until the next one begins. As values follow each other without gaps,
 * the value that contains an offset is the one that began last when the next begins behind the offset.
 *
 * Speed: read_built knows the heads that nearly all values have (quick.h). Whatever else stands there, sound or not,
 * goes to the function of its kind, which has libcbor look and words the fault. Most TensorNames have occurred before:
 * they are recognised by their bytes and not read at all (tensors.c).
 *
 * Recursion: only Access can contain itself, and r->nesting bounds that; the rest of the schema is less than 20 deep.
 * Memory follows what has been read, never what is announced: the elements of a long list gather on r->values and are
 * copied to a list of the right size at its end; a short one is made at once.
 */
#include "klr/primitive.h"
#include "klr/quick.h"

#include "base/cancel.h"

enum {
    HEADER_TAG16_BYTES = 3, /* d9 and 16 bits */
    SHORT_LIST = 32,
    POLL_VALUES = 1024,
};

static enum bir_status read_value(struct klr_reader *r, const struct klr_form *form, union klr_slot *slot);

static void head_at(const struct klr_reader *r, size_t pos, struct klr_head *head)
{
    klr_head_read(r->bytes + pos, r->len - pos, head);
}

/* --- steps --- */

/* Another value begins: if it is behind the target, the value that contains that is the one that began last. */
static enum bir_status locate(struct klr_reader *r)
{
    if (!r->locating || r->located || r->pos <= r->target)
        return BIR_OK;
    r->found = bir_arena_alloc_array(&r->scratch, BIR_MEM_OTHER, r->reached, sizeof(*r->found));
    if (!r->found)
        return klr_fault_memory(r, &r->scratch);
    if (r->reached > 0)
        memcpy(r->found, r->steps.items, r->reached * sizeof(*r->found));
    r->found_count = r->reached;
    r->located = true;
    return BIR_OK;
}

/* A step for the members of a value. It is not on any yet. */
static KLR_HOT enum bir_status step_in(struct klr_reader *r, enum klr_type type, uint8_t ctor, bool is_position)
{
    if (r->steps.count == r->steps.capacity &&
        !bir_vec_reserve_one(&r->scratch, (void **)&r->steps.items, r->steps.count, &r->steps.capacity,
                             sizeof(*r->steps.items)))
        return klr_fault_memory(r, &r->scratch);
    struct klr_step *step = &r->steps.items[r->steps.count++];
    step->type = (uint8_t)type;
    step->ctor = ctor;
    step->is_position = is_position;
    return BIR_OK;
}

static KLR_HOT struct klr_step *step_last(struct klr_reader *r)
{
    return &r->steps.items[r->steps.count - 1];
}

static KLR_HOT void step_out(struct klr_reader *r)
{
    r->steps.count--;
}

/* Looks at the cancel token once in POLL_VALUES values. */
static KLR_HOT enum bir_status count_values(struct klr_reader *r, uint32_t values)
{
    r->unpolled += values;
    if (r->unpolled < POLL_VALUES)
        return BIR_OK;
    r->unpolled = 0;
    return bir_cancelled(r->limits.cancel) ? BIR_CANCELLED : BIR_OK;
}

/* --- structures, sums, enumerations --- */

/* Names what is wrong with the type tag, constructor or count at r->pos. */
static KLR_COLD enum bir_status fault_shape(struct klr_reader *r, enum klr_type type)
{
    struct klr_head tag, count;
    head_at(r, r->pos, &tag);
    if (tag.kind != KLR_HEAD_TAG || tag.size != HEADER_TAG16_BYTES || tag.value >> 8 != klr_types[type].tag)
        return klr_fault_tag(r, type, &tag);
    const struct klr_arm *arm = klr_arm_find(type, tag.value & 0xff);
    if (!arm)
        return klr_fault_ctor(r, type, tag.value & 0xff);
    head_at(r, r->pos + tag.size, &count);
    return klr_fault_count(r, type, arm, &count);
}

static KLR_HOT enum bir_status read_shape(struct klr_reader *r, enum klr_type type, const struct klr_arm **arm)
{
    *arm = klr_quick_shape(r, type);
    return *arm ? BIR_OK : fault_shape(r, type);
}

static KLR_APART enum bir_status read_node(struct klr_reader *r, enum klr_type type, union klr_slot *slot);
static KLR_APART enum bir_status read_access(struct klr_reader *r, union klr_slot *slot);
static KLR_APART enum bir_status read_tensor(struct klr_reader *r, union klr_slot *slot);
static KLR_APART enum bir_status read_option(struct klr_reader *r, const struct klr_form *form, union klr_slot *slot);
static KLR_APART enum bir_status read_list(struct klr_reader *r, const struct klr_form *form, union klr_slot *slot);

/* To a field; not at all for elements, whose field is NULL. */
static KLR_HOT void step_to(struct klr_reader *r, const struct klr_field *field)
{
    if (field)
        step_last(r)->field = field;
}

/* read_value for a value that is built. Most are numbers in short heads, which are in every type's range, truth values,
 * enumerations, and options that are none, whose slot is NULL already. Before anything else goes on to a function that
 * may find a fault, the step moves on to `field`. */
static KLR_HOT enum bir_status read_built(struct klr_reader *r, const struct klr_form *form, union klr_slot *slot,
                                          const struct klr_field *field)
{
    switch ((enum klr_way)form->way) {
    case KLR_WAY_NAT:
        if (klr_quick_nat(r, slot))
            return BIR_OK;
        break;
    case KLR_WAY_INT:
        if (klr_quick_int(r, slot))
            return BIR_OK;
        break;
    case KLR_WAY_BOOL:
        if (klr_quick_bool(r, slot))
            return BIR_OK;
        break;
    case KLR_WAY_ENUM:
        if (klr_quick_enum(r, (enum klr_type)form->base, slot))
            return BIR_OK;
        break;
    case KLR_WAY_OPTION:
        if (klr_quick_option(r, 0))
            return BIR_OK;
        step_to(r, field);
        return read_option(r, form, slot);
    case KLR_WAY_NODE: step_to(r, field); return read_node(r, (enum klr_type)form->base, slot);
    case KLR_WAY_ACCESS: step_to(r, field); return read_access(r, slot);
    case KLR_WAY_TENSOR: step_to(r, field); return read_tensor(r, slot);
    case KLR_WAY_LIST: step_to(r, field); return read_list(r, form, slot);
    case KLR_WAY_STRING: step_to(r, field); return klr_read_string(r, slot);
    default: break;
    }
    step_to(r, field);
    return read_value(r, form, slot);
}

/* Those of a value that is built. */
static KLR_HOT enum bir_status read_fields(struct klr_reader *r, enum klr_type type, const struct klr_arm *arm,
                                           union klr_slot *slots)
{
    const struct klr_field *field = klr_arm_fields(arm), *end = field + arm->count;
    if (field == end)
        return BIR_OK;
    BIR_TRY(count_values(r, arm->count));
    BIR_TRY(step_in(r, type, arm->ctor, false));
    for (; field < end; field++)
        BIR_TRY(read_built(r, &field->form, &slots[field->slot], field));
    step_out(r);
    return BIR_OK;
}

/* Those of a value that is skipped; slots is not NULL for blocks and statements, of which the names are kept. */
static enum bir_status skip_fields(struct klr_reader *r, enum klr_type type, const struct klr_arm *arm,
                                   union klr_slot *slots)
{
    const struct klr_field *fields = klr_arm_fields(arm);
    if (arm->count == 0)
        return BIR_OK;
    BIR_TRY(count_values(r, arm->count));
    BIR_TRY(locate(r));
    BIR_TRY(step_in(r, type, arm->ctor, false));
    for (uint32_t i = 0;;) {
        bool kept = slots && fields[i].form.base == KLR_TYPE_String;
        step_last(r)->field = &fields[i];
        r->reached = r->steps.count;
        BIR_TRY(read_value(r, &fields[i].form, kept ? &slots[fields[i].slot] : NULL));
        if (++i == arm->count)
            break;
        BIR_TRY(locate(r));
    }
    step_out(r);
    return BIR_OK;
}

static enum bir_status count_statement(struct klr_reader *r)
{
    if (r->statements++ < r->limits.max_statements)
        return BIR_OK;
    return klr_fault_limit(r, "klr-statement-limit", r->pos, "split the kernel, or raise the limit",
                           "more than %llu statements", (unsigned long long)r->limits.max_statements);
}

static enum bir_status enter_access(struct klr_reader *r)
{
    if (r->nesting++ < r->limits.max_nesting)
        return BIR_OK;
    return klr_fault_limit(r, "klr-nesting", r->pos,
                           "compute inner offsets into tensors of their own, or raise the limit",
                           "Access values nest more than %u deep, the limit for vectorOffset and scalarOffset",
                           r->limits.max_nesting);
}

static KLR_HOT void node_init(struct klr_node *node, enum klr_type type, const struct klr_arm *arm, size_t offset)
{
    node->type = (uint8_t)type;
    node->ctor = arm->ctor;
    node->offset_high = (uint16_t)((uint64_t)offset >> 32);
    node->offset_low = (uint32_t)offset;
}

static KLR_HOT struct klr_node *node_new(struct klr_reader *r, enum klr_type type, const struct klr_arm *arm,
                                         size_t offset)
{
    size_t bytes = sizeof(struct klr_node) + klr_arm_slots(arm) * sizeof(union klr_slot);
    struct klr_node *node = bir_arena_alloc(r->arena, BIR_MEM_OTHER, bytes);
    if (node)
        node_init(node, type, arm, offset);
    return node;
}

static KLR_COLD enum bir_status skip_node(struct klr_reader *r, enum klr_type type)
{
    size_t start = r->pos;
    const struct klr_arm *arm;
    struct klr_node *node = NULL;
    BIR_TRY(read_shape(r, type, &arm));
    if (r->locating && (type == KLR_TYPE_Block || type == KLR_TYPE_Stmt)) {
        node = node_new(r, type, arm, start);
        if (!node)
            return klr_fault_memory(r, r->arena);
        if (step_last(r)->is_position)
            step_last(r)->element = node;
    }
    BIR_TRY(skip_fields(r, type, arm, node ? node->fields : NULL));
    return r->located && type == KLR_TYPE_Stmt ? BIR_CANCELLED : BIR_OK;
}

/* A structure or an arm of a sum. */
static KLR_APART enum bir_status read_node(struct klr_reader *r, enum klr_type type, union klr_slot *slot)
{
    size_t start = r->pos;
    const struct klr_arm *arm;
    if (!slot)
        return skip_node(r, type);
    BIR_TRY(read_shape(r, type, &arm));
    struct klr_node *node = node_new(r, type, arm, start);
    if (!node)
        return klr_fault_memory(r, r->arena);
    slot->node = node;
    return read_fields(r, type, arm, node->fields);
}

static KLR_APART enum bir_status read_access(struct klr_reader *r, union klr_slot *slot)
{
    BIR_TRY(enter_access(r));
    BIR_TRY(read_node(r, KLR_TYPE_Access, slot));
    r->nesting--;
    return BIR_OK;
}

static KLR_APART enum bir_status read_statement(struct klr_reader *r, union klr_slot *slot)
{
    BIR_TRY(count_statement(r));
    return read_node(r, KLR_TYPE_Stmt, slot);
}

static enum bir_status add_rule(struct klr_reader *r, const struct klr_node *node)
{
    return bir_vec_push(&r->scratch, &r->rules, node) ? BIR_OK : klr_fault_memory(r, &r->scratch);
}

/* A node for which semantics.c has a rule. */
static KLR_APART enum bir_status read_ruled(struct klr_reader *r, enum klr_type type, union klr_slot *slot)
{
    BIR_TRY(read_node(r, type, slot));
    return slot ? add_rule(r, slot->node) : BIR_OK;
}

/* A TensorName, the same node for the same bytes. What has been built for nothing, when the hints had forgotten the
 * tensor, is no more than any other value of these bytes would take. */
static KLR_APART enum bir_status read_tensor(struct klr_reader *r, union klr_slot *slot)
{
    if (!slot)
        return skip_node(r, KLR_TYPE_TensorName);
    size_t start = r->pos;
    struct klr_tensor_hashes hashes;
    slot->node = klr_tensor_recognise(r, &hashes);
    if (slot->node)
        return BIR_OK;
    BIR_TRY(read_node(r, KLR_TYPE_TensorName, slot));
    const struct klr_node *known = klr_tensor_find(r, start, &hashes);
    if (known) {
        slot->node = known;
        return BIR_OK;
    }
    BIR_TRY(add_rule(r, slot->node));
    return klr_tensor_add(r, start, &hashes, slot->node);
}

static KLR_COLD enum bir_status read_enum(struct klr_reader *r, enum klr_type type, union klr_slot *slot)
{
    const struct klr_arm *arm;
    BIR_TRY(read_shape(r, type, &arm));
    if (slot)
        slot->enumerator = arm->ctor;
    return BIR_OK;
}

/* --- wrapped values --- */

static KLR_COLD enum bir_status read_any_list_head(struct klr_reader *r, const struct klr_form *form, uint64_t *count)
{
    struct klr_head head;
    head_at(r, r->pos, &head);
    if (head.kind != KLR_HEAD_LIST)
        return klr_fault_head(r, (enum klr_type)form->base, form->wraps, &head);
    if (head.value > r->len - r->pos - head.size)
        return klr_fault(r, "klr-truncated", r->pos, "the file is cut short, or the length is wrong",
                         "a list of %llu elements is announced, %zu bytes are left", (unsigned long long)head.value,
                         r->len - r->pos - head.size);
    r->pos += head.size;
    *count = head.value;
    return BIR_OK;
}

/* At least a byte of the file is there for each element. */
static inline enum bir_status read_list_head(struct klr_reader *r, const struct klr_form *form, uint64_t *count)
{
    size_t left = r->len - r->pos;
    uint32_t size = klr_head_quick(r->bytes + r->pos, left, KLR_MAJOR_LIST, count);
    if (size == 0 || *count > left - size)
        return read_any_list_head(r, form, count);
    r->pos += size;
    return BIR_OK;
}

static struct klr_list *list_new(struct klr_reader *r, uint64_t count)
{
    struct klr_list *list =
        bir_arena_alloc(r->arena, BIR_MEM_OTHER, sizeof(*list) + (size_t)count * sizeof(list->items[0]));
    if (list)
        list->count = count;
    return list;
}

/* The elements of a list that is built. */
static enum bir_status read_elements(struct klr_reader *r, const struct klr_form *form, uint64_t count,
                                     union klr_slot *items)
{
    for (uint64_t i = 0; i < count; i++) {
        BIR_TRY(count_values(r, 1));
        BIR_TRY(read_built(r, form, &items[i], NULL));
    }
    return BIR_OK;
}

/* The elements of a list of APPairs: a quarter of all nodes of a large kernel, and so simple that one block holds the
 * list's and the three numbers of each are known to be next. */
static enum bir_status read_pairs(struct klr_reader *r, uint64_t count, union klr_slot *items)
{
    enum { SLOTS = KLR_APPair_offset + 1, NODE_BYTES = sizeof(struct klr_node) + SLOTS * sizeof(union klr_slot) };
    static_assert(KLR_APPair_step == 0 && KLR_APPair_num == 1 && KLR_APPair_offset == 2, "Int, Nat, Nat");
    char *block = bir_arena_alloc_array(r->arena, BIR_MEM_OTHER, (size_t)count, NODE_BYTES);
    if (!block)
        return klr_fault_memory(r, r->arena);
    BIR_TRY(count_values(r, (uint32_t)count * (1 + SLOTS)));
    for (uint64_t i = 0; i < count; i++, block += NODE_BYTES) {
        struct klr_node *node = (struct klr_node *)(void *)block;
        size_t start = r->pos;
        const struct klr_arm *arm = klr_quick_shape(r, KLR_TYPE_APPair);
        if (arm && klr_quick_int(r, &node->fields[KLR_APPair_step]) &&
            klr_quick_nat(r, &node->fields[KLR_APPair_num]) && klr_quick_nat(r, &node->fields[KLR_APPair_offset])) {
            node_init(node, KLR_TYPE_APPair, arm, start);
            items[i].node = node;
        } else {
            r->pos = start;
            BIR_TRY(read_node(r, KLR_TYPE_APPair, &items[i]));
        }
    }
    return BIR_OK;
}

/* Positions are looked at in paths alone, so only skipping steps on them. */
static KLR_COLD enum bir_status skip_elements(struct klr_reader *r, const struct klr_form *form, uint64_t count)
{
    if (count == 0)
        return BIR_OK;
    BIR_TRY(locate(r));
    BIR_TRY(step_in(r, (enum klr_type)0, 0, true));
    for (uint64_t i = 0;;) {
        BIR_TRY(count_values(r, 1));
        step_last(r)->position = i;
        step_last(r)->element = NULL;
        r->reached = r->steps.count;
        BIR_TRY(read_value(r, form, NULL));
        if (++i == count)
            break;
        BIR_TRY(locate(r));
    }
    step_out(r);
    return BIR_OK;
}

static KLR_COLD enum bir_status read_long_list(struct klr_reader *r, const struct klr_form *form, uint64_t count,
                                               union klr_slot *slot)
{
    uint32_t first = r->values.count;
    for (uint64_t i = 0; i < count; i++) {
        union klr_slot element = { 0 };
        BIR_TRY(read_elements(r, form, 1, &element));
        if (!bir_vec_push(&r->scratch, &r->values, element))
            return klr_fault_memory(r, &r->scratch);
    }
    struct klr_list *list = list_new(r, count);
    if (!list)
        return klr_fault_memory(r, r->arena);
    memcpy(list->items, r->values.items + first, (size_t)count * sizeof(list->items[0]));
    r->values.count = first;
    slot->list = list;
    return BIR_OK;
}

static KLR_APART enum bir_status read_list(struct klr_reader *r, const struct klr_form *form, union klr_slot *slot)
{
    uint64_t count;
    BIR_TRY(read_list_head(r, form, &count));
    struct klr_form inner = klr_form_inner(*form);
    if (!slot)
        return skip_elements(r, &inner, count);
    if (count > SHORT_LIST)
        return read_long_list(r, &inner, count, slot);
    struct klr_list *list = list_new(r, count);
    if (!list)
        return klr_fault_memory(r, r->arena);
    slot->list = list;
    if (inner.way == KLR_WAY_NODE && inner.base == KLR_TYPE_APPair)
        return read_pairs(r, count, list->items);
    return read_elements(r, &inner, count, list->items);
}

static enum bir_status read_boxed(struct klr_reader *r, const struct klr_form *form, union klr_slot *slot)
{
    union klr_slot *box = bir_arena_alloc(r->arena, BIR_MEM_OTHER, sizeof(*box));
    if (!box)
        return klr_fault_memory(r, r->arena);
    slot->boxed = box;
    return read_built(r, form, box, NULL);
}

static KLR_COLD enum bir_status fault_option(struct klr_reader *r, const struct klr_form *form)
{
    struct klr_head tag, count;
    head_at(r, r->pos, &tag);
    if (tag.kind != KLR_HEAD_TAG || tag.size != HEADER_TAG16_BYTES || tag.value >> 8 != KLR_OPTION_TAG)
        return klr_fault_head(r, (enum klr_type)form->base, form->wraps, &tag);
    uint32_t ctor = tag.value & 0xff;
    if (ctor > 1)
        return klr_fault(r, "klr-unknown-constructor", r->pos, "the file is damaged",
                         "Option (tag 255) has constructors 0 (none) and 1 (some), found %u", ctor);
    head_at(r, r->pos + tag.size, &count);
    return klr_fault(r, count.kind == KLR_HEAD_CUT ? "klr-truncated" : "klr-field-count", r->pos, "the file is damaged",
                     "expected Option (tag 255) constructor %u with %u field%s (byte 0x%02x), found byte 0x%02x", ctor,
                     ctor, ctor == 1 ? "" : "s", KLR_LIST_HEAD + ctor, count.first);
}

static KLR_APART enum bir_status read_option(struct klr_reader *r, const struct klr_form *form, union klr_slot *slot)
{
    if (!klr_quick_option(r, 1))
        return klr_quick_option(r, 0) ? BIR_OK : fault_option(r, form);
    struct klr_form inner = klr_form_inner(*form);
    return slot && inner.way >= KLR_WAY_FIRST_BOXED ? read_boxed(r, &inner, slot) : read_value(r, &inner, slot);
}

static enum bir_status read_value(struct klr_reader *r, const struct klr_form *form, union klr_slot *slot)
{
    enum klr_type base = (enum klr_type)form->base;
    switch ((enum klr_way)form->way) {
    case KLR_WAY_NODE: return read_node(r, base, slot);
    case KLR_WAY_ACCESS: return read_access(r, slot);
    case KLR_WAY_STATEMENT: return read_statement(r, slot);
    case KLR_WAY_RULED: return read_ruled(r, base, slot);
    case KLR_WAY_TENSOR: return read_tensor(r, slot);
    case KLR_WAY_ENUM: return read_enum(r, base, slot);
    case KLR_WAY_OPTION: return read_option(r, form, slot);
    case KLR_WAY_LIST: return read_list(r, form, slot);
    case KLR_WAY_NAT: return klr_read_nat(r, slot);
    case KLR_WAY_INT: return klr_read_integer(r, base, base == KLR_TYPE_Int32 ? INT32_MAX : INT64_MAX, slot);
    case KLR_WAY_FLOAT: return klr_read_float32(r, slot);
    case KLR_WAY_BOOL: return klr_read_bool(r, slot);
    case KLR_WAY_STRING: return klr_read_string(r, slot);
    case KLR_WAY_PROOF: break;
    }
    return klr_read_proof(r);
}

/* --- the file --- */

static enum bir_status read_version(struct klr_reader *r, struct klr_file *file)
{
    static const uint64_t known[3] = { 0, 0, 12 };
    union klr_slot header = { 0 };
    size_t start = r->pos;
    BIR_TRY(read_node(r, KLR_TYPE_KLRFile, r->locating ? NULL : &header));
    if (r->locating)
        return BIR_OK;
    for (uint32_t i = 0; i < 3; i++)
        file->version[i] = header.node->fields[i].nat;
    if (memcmp(file->version, known, sizeof(known)) != 0)
        bir_diag_add(
            r->diags, BIR_WARNING, "klr-version", (int64_t)start,
            "the file has format version %llu.%llu.%llu, this reader knows %llu.%llu.%llu and reads it as such",
            (unsigned long long)file->version[0], (unsigned long long)file->version[1],
            (unsigned long long)file->version[2], (unsigned long long)known[0], (unsigned long long)known[1],
            (unsigned long long)known[2]);
    return BIR_OK;
}

static enum bir_status read_metadata(struct klr_reader *r, struct klr_file *file)
{
    union klr_slot metadata = { 0 };
    BIR_TRY(read_node(r, KLR_TYPE_KLRMetaData, r->locating ? NULL : &metadata));
    if (!r->locating)
        file->metadata = klr_string_at(metadata.node, KLR_KLRMetaData_format);
    return BIR_OK;
}

static enum bir_status read_contents(struct klr_reader *r, struct klr_file *file)
{
    size_t start = r->pos;
    const struct klr_arm *arm;
    BIR_TRY(read_shape(r, KLR_TYPE_Contents, &arm));
    enum klr_content content = (enum klr_content)arm->ctor;
    if (content != KLR_CONTENT_KERNEL && content != KLR_CONTENT_LNC)
        return klr_fault(r, "klr-content-kind", start, "trace the kernel and give the .klr file that this writes",
                         "the file holds content kind %u (%s), only 2 (kernel) and 3 (lnc) can be lowered", arm->ctor,
                         arm->name);
    union klr_slot payload = { 0 };
    BIR_TRY(r->locating ? skip_fields(r, KLR_TYPE_Contents, arm, NULL)
                        : read_fields(r, KLR_TYPE_Contents, arm, &payload));
    file->content = content;
    file->kernel = payload.node;
    return BIR_OK;
}

enum bir_status klr_decode(struct klr_reader *r, struct klr_file *file)
{
    if (r->len == 0)
        return klr_fault(r, "klr-truncated", 0, NULL, "the file is empty");
    if (!klr_is_klr(r->bytes, r->len))
        return klr_fault(r, "klr-not-klr", 0, "a .klr file begins with the bytes d9 d9 f7",
                         "the file is no .klr file: it begins with byte 0x%02x", r->bytes[0]);
    BIR_TRY(read_version(r, file));
    BIR_TRY(read_metadata(r, file));
    BIR_TRY(read_contents(r, file));
    file->dialect = r->dialect;
    file->statements = r->statements;
    file->tensors = r->tensor_count;
    if (r->pos == r->len)
        return BIR_OK;
    return klr_fault(r, "klr-trailing-bytes", r->pos, "the file is damaged, or two files were joined",
                     "the kernel ends at byte %zu, %zu bytes follow", r->pos, r->len - r->pos);
}
