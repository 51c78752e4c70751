/*
 * The decoder: recursive descent over the schema's tables, one function a kind of value. Every reading function takes
 * the slot to fill, or NULL to check the bytes and build nothing; both ways move r->pos behind the value.
 *
 * Skipping serves two ends. A TensorName is skipped first, to learn how many bytes it has, and built only when the
 * table of tensors does not have these bytes. And klr_path_at skips everything but the nodes and names of blocks and
 * statements.
 *
 * r->steps is the way from the file to the value being read, for messages and paths. Leaving a value only lowers
 * steps.count, so the steps of the value that began last (r->reached of them) stay readable until the next one begins.
 * As values follow each other without gaps, the value that contains an offset is the one that began last when the next
 * begins behind the offset.
 *
 * Recursion: only Access can contain itself, and r->nesting bounds that; the rest of the schema is less than 20 deep.
 * Memory follows what has been read, never what is announced: list elements gather on r->values and are copied to a
 * list of the right size at its end.
 */
#include "klr/reader.h"

#include "base/json_reader.h"

enum {
    HEADER_TAG16_BYTES = 3, /* d9 and 16 bits */
    OPTION_TAG = 255,
    PROOF = 0x80, /* in the dialect that writes them */
};

static enum bir_status read_value(struct klr_reader *r, enum klr_type base, uint8_t wraps, union klr_slot *slot);

static void head_at(const struct klr_reader *r, size_t pos, struct klr_head *head)
{
    klr_head_read(r->bytes + pos, r->len - pos, head);
}

/* --- steps --- */

/* The value that contains the target began last: keeps the steps to it. */
static enum bir_status locate(struct klr_reader *r)
{
    r->found = bir_arena_alloc_array(&r->scratch, BIR_MEM_OTHER, r->reached, sizeof(*r->found));
    if (!r->found)
        return klr_fault_memory(r, &r->scratch);
    if (r->reached > 0)
        memcpy(r->found, r->steps.items, r->reached * sizeof(*r->found));
    r->found_count = r->reached;
    r->located = true;
    return BIR_OK;
}

static inline enum bir_status step_in(struct klr_reader *r, struct klr_step step)
{
    if (r->locating && !r->located && r->pos > r->target)
        BIR_TRY(locate(r));
    if (r->steps.count < r->steps.capacity)
        r->steps.items[r->steps.count++] = step;
    else if (!bir_vec_push(&r->scratch, &r->steps, step))
        return klr_fault_memory(r, &r->scratch);
    r->reached = r->steps.count;
    return BIR_OK;
}

static inline void step_out(struct klr_reader *r)
{
    r->steps.count--;
}

/* --- primitives --- */

static enum bir_status read_nat(struct klr_reader *r, union klr_slot *slot)
{
    struct klr_head head;
    char digits[KLR_NEGATIVE_BYTES];
    head_at(r, r->pos, &head);
    if (head.kind == KLR_HEAD_NEGINT)
        return klr_fault(r, "klr-int-range", r->pos, "the file is damaged", "a Nat is at least 0, found %s",
                         klr_negative_words(head.value, digits));
    if (head.kind != KLR_HEAD_UINT)
        return klr_fault_head(r, KLR_TYPE_Nat, 0, &head);
    r->pos += head.size;
    if (slot)
        slot->nat = head.value;
    return BIR_OK;
}

/* Int and Int32: an integer whose magnitude (value, or -1 - number) is at most max. */
static enum bir_status read_integer(struct klr_reader *r, enum klr_type type, uint64_t max, union klr_slot *slot)
{
    struct klr_head head;
    char digits[KLR_NEGATIVE_BYTES];
    head_at(r, r->pos, &head);
    bool negative = head.kind == KLR_HEAD_NEGINT;
    if (!negative && head.kind != KLR_HEAD_UINT)
        return klr_fault_head(r, type, 0, &head);
    if (head.value > max && negative)
        return klr_fault(r, "klr-int-range", r->pos, NULL, "%s is at least %lld, found %s", klr_types[type].name,
                         -1 - (long long)max, klr_negative_words(head.value, digits));
    if (head.value > max)
        return klr_fault(r, "klr-int-range", r->pos, NULL, "%s is at most %llu, found %llu", klr_types[type].name,
                         (unsigned long long)max, (unsigned long long)head.value);
    r->pos += head.size;
    if (slot)
        slot->integer = negative ? -1 - (int64_t)head.value : (int64_t)head.value;
    return BIR_OK;
}

static enum bir_status read_float32(struct klr_reader *r, union klr_slot *slot)
{
    struct klr_head head;
    head_at(r, r->pos, &head);
    if (head.kind != KLR_HEAD_FLOAT32)
        return klr_fault_head(r, KLR_TYPE_Float32, 0, &head);
    r->pos += head.size;
    if (slot)
        slot->float_bits = (uint32_t)head.value;
    return BIR_OK;
}

static enum bir_status read_bool(struct klr_reader *r, union klr_slot *slot)
{
    struct klr_head head;
    head_at(r, r->pos, &head);
    if (head.kind != KLR_HEAD_BOOL)
        return klr_fault_head(r, KLR_TYPE_Bool, 0, &head);
    r->pos += head.size;
    if (slot)
        slot->boolean = head.value != 0;
    return BIR_OK;
}

static enum bir_status read_string(struct klr_reader *r, union klr_slot *slot)
{
    struct klr_head head;
    head_at(r, r->pos, &head);
    if ((head.kind == KLR_HEAD_TEXT || head.cut_text) && head.value > r->limits.max_string_bytes)
        return klr_fault_limit(r, "klr-string-limit", r->pos, "the length is wrong, or the limit has to be raised",
                               "a String of %llu bytes is announced, the limit is %llu", (unsigned long long)head.value,
                               (unsigned long long)r->limits.max_string_bytes);
    if (head.kind != KLR_HEAD_TEXT)
        return klr_fault_head(r, KLR_TYPE_String, 0, &head);
    size_t bad;
    if (!bir_utf8_valid(head.text, (size_t)head.value, &bad))
        return klr_fault(r, "klr-not-utf8", r->pos + head.size + bad, "the file is damaged",
                         "byte 0x%02x at position %zu of a String of %llu bytes begins no UTF-8 character",
                         (uint8_t)head.text[bad], bad, (unsigned long long)head.value);
    r->pos += head.size + (size_t)head.value;
    if (!slot)
        return BIR_OK;
    slot->string = bir_intern(r->strings, head.text, (size_t)head.value);
    return slot->string ? BIR_OK : klr_fault_memory(r, r->strings->arena);
}

/* A proof field: nothing in one dialect, an empty list in the other. The first one of a file is TensorName's, which is
 * followed by a Bool, so that it tells which (klr-format.md 3). Slice and AccessBasic end with theirs and cannot tell.
 */
static enum bir_status read_proof(struct klr_reader *r)
{
    bool before_bool = r->steps.items[r->steps.count - 1].type == KLR_TYPE_TensorName;
    bool written = r->pos < r->len && r->bytes[r->pos] == PROOF;
    if (r->dialect == KLR_DIALECT_UNDECIDED)
        r->dialect = written ? KLR_DIALECT_CPP : KLR_DIALECT_LEAN;
    if (r->dialect == KLR_DIALECT_LEAN && !(before_bool && written))
        return BIR_OK;
    if (r->dialect == KLR_DIALECT_CPP && written) {
        r->pos++;
        return BIR_OK;
    }
    struct klr_head head;
    head_at(r, r->pos, &head);
    if (head.kind == KLR_HEAD_CUT)
        return klr_fault_head(r, KLR_TYPE_Prop, 0, &head);
    return klr_fault(r, "klr-mixed-dialect", r->pos, "a writer leaves proofs out everywhere or nowhere",
                     "the first tensor of the file has %s for its proofs, here is byte 0x%02x",
                     r->dialect == KLR_DIALECT_LEAN ? "no bytes" : "0x80", r->bytes[r->pos]);
}

/* --- structures, sums, enumerations --- */

/* The four bytes that begin a typed value: d9, type tag, constructor, 80 + field count (at most 23). */
enum { TAG16 = 0xd9, SHAPE_BYTES = 4, LIST_HEAD = 0x80 };

static inline const uint8_t *shape_at(const struct klr_reader *r, uint32_t tag)
{
    const uint8_t *bytes = r->bytes + r->pos;
    return r->len - r->pos >= SHAPE_BYTES && bytes[0] == TAG16 && bytes[1] == tag ? bytes : NULL;
}

/* Names what is wrong with the type tag, constructor or count at r->pos. */
static enum bir_status fault_shape(struct klr_reader *r, enum klr_type type)
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

/* Type tag, constructor and field count, all of which must be as the schema has them. They are compared as bytes,
 * because half of a file's heads are these; only a mismatch is worth decoding. Stays at the first byte then, so that
 * faults name the place where the value begins. */
static enum bir_status read_shape(struct klr_reader *r, enum klr_type type, const struct klr_arm **arm)
{
    const uint8_t *shape = shape_at(r, klr_types[type].tag);
    *arm = shape ? klr_arm_find(type, shape[2]) : NULL;
    if (!*arm || shape[3] != LIST_HEAD + (*arm)->count)
        return fault_shape(r, type);
    r->pos += SHAPE_BYTES;
    return BIR_OK;
}

static enum bir_status read_fields(struct klr_reader *r, enum klr_type type, const struct klr_arm *arm,
                                   union klr_slot *slots)
{
    const struct klr_field *fields = klr_arm_fields(arm);
    for (uint32_t i = 0; i < arm->count; i++) {
        const struct klr_field *field = &fields[i];
        BIR_TRY(step_in(r, (struct klr_step){ .type = (uint8_t)type, .ctor = arm->ctor, .field = (uint8_t)i }));
        /* When locating, only names are kept: slots is not NULL for blocks and statements alone. */
        bool kept = slots && (!r->locating || field->base == KLR_TYPE_String);
        BIR_TRY(read_value(r, (enum klr_type)field->base, field->wraps, kept ? slots : NULL));
        step_out(r);
        if (slots && field->base != KLR_TYPE_Prop)
            slots++;
    }
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

static struct klr_node *node_new(struct klr_reader *r, enum klr_type type, const struct klr_arm *arm, size_t offset)
{
    struct klr_node *node =
        bir_arena_alloc(r->arena, BIR_MEM_OTHER, sizeof(*node) + klr_arm_slots(arm) * sizeof(union klr_slot));
    if (!node)
        return NULL;
    node->type = (uint8_t)type;
    node->ctor = arm->ctor;
    node->offset_high = (uint16_t)((uint64_t)offset >> 32);
    node->offset_low = (uint32_t)offset;
    if (r->steps.count > 0 && r->steps.items[r->steps.count - 1].is_position)
        r->steps.items[r->steps.count - 1].element = node;
    return node;
}

/* Types for which semantics.c has a rule. */
static bool has_rules(enum klr_type type)
{
    return type == KLR_TYPE_TensorName || type == KLR_TYPE_AccessBasic || type == KLR_TYPE_Slice;
}

/* A structure or an arm of a sum. */
static enum bir_status read_node(struct klr_reader *r, enum klr_type type, union klr_slot *slot)
{
    size_t start = r->pos;
    const struct klr_arm *arm;
    if (type == KLR_TYPE_Access)
        BIR_TRY(enter_access(r));
    if (type == KLR_TYPE_Stmt)
        BIR_TRY(count_statement(r));
    BIR_TRY(read_shape(r, type, &arm));
    struct klr_node *node = NULL;
    if (slot || (r->locating && (type == KLR_TYPE_Block || type == KLR_TYPE_Stmt))) {
        node = node_new(r, type, arm, start);
        if (!node)
            return klr_fault_memory(r, r->arena);
    }
    BIR_TRY(read_fields(r, type, arm, node ? node->fields : NULL));
    if (type == KLR_TYPE_Access)
        r->nesting--;
    if (r->located && type == KLR_TYPE_Stmt)
        return BIR_CANCELLED;
    if (!slot)
        return BIR_OK;
    slot->node = node;
    if (has_rules(type) && !bir_vec_push(&r->scratch, &r->rules, node))
        return klr_fault_memory(r, &r->scratch);
    return BIR_OK;
}

/* A TensorName, the same node for the same bytes. */
static enum bir_status read_tensor(struct klr_reader *r, union klr_slot *slot)
{
    size_t start = r->pos;
    uint64_t hash;
    BIR_TRY(read_node(r, KLR_TYPE_TensorName, NULL));
    slot->node = klr_tensor_find(r, start, &hash);
    if (slot->node)
        return BIR_OK;
    r->pos = start;
    BIR_TRY(read_node(r, KLR_TYPE_TensorName, slot));
    return klr_tensor_add(r, start, hash, slot->node);
}

static enum bir_status read_enum(struct klr_reader *r, enum klr_type type, union klr_slot *slot)
{
    const struct klr_arm *arm;
    BIR_TRY(read_shape(r, type, &arm));
    if (slot)
        slot->enumerator = arm->ctor;
    return BIR_OK;
}

/* --- wrapped values --- */

static enum bir_status read_list(struct klr_reader *r, enum klr_type base, uint8_t wraps, union klr_slot *slot)
{
    struct klr_head head;
    head_at(r, r->pos, &head);
    if (head.kind != KLR_HEAD_LIST)
        return klr_fault_head(r, base, wraps, &head);
    if (head.value > r->len - r->pos - head.size)
        return klr_fault(r, "klr-truncated", r->pos, "the file is cut short, or the length is wrong",
                         "a list of %llu elements is announced, %zu bytes are left", (unsigned long long)head.value,
                         r->len - r->pos - head.size);
    r->pos += head.size;
    uint32_t first = r->values.count;
    for (uint64_t i = 0; i < head.value; i++) {
        union klr_slot element = { 0 };
        BIR_TRY(step_in(r, (struct klr_step){ .position = i, .is_position = true }));
        BIR_TRY(read_value(r, base, KLR_WRAP_INNER(wraps), slot ? &element : NULL));
        step_out(r);
        if (slot && !bir_vec_push(&r->scratch, &r->values, element))
            return klr_fault_memory(r, &r->scratch);
    }
    if (!slot)
        return BIR_OK;
    size_t bytes = (size_t)head.value * sizeof(union klr_slot);
    struct klr_list *list = bir_arena_alloc(r->arena, BIR_MEM_OTHER, sizeof(*list) + bytes);
    if (!list)
        return klr_fault_memory(r, r->arena);
    list->count = head.value;
    if (bytes > 0)
        memcpy(list->items, r->values.items + first, bytes);
    r->values.count = first;
    slot->list = list;
    return BIR_OK;
}

/* True for values whose slot is a pointer that is never NULL, so that NULL can stand for none. */
static bool slot_is_pointer(enum klr_type base, uint8_t wraps)
{
    uint8_t kind = klr_types[base].kind;
    return wraps != 0 || base == KLR_TYPE_String || kind == KLR_KIND_STRUCTURE || kind == KLR_KIND_SUM;
}

static enum bir_status read_boxed(struct klr_reader *r, enum klr_type base, union klr_slot *slot)
{
    union klr_slot *box = bir_arena_alloc(r->arena, BIR_MEM_OTHER, sizeof(*box));
    if (!box)
        return klr_fault_memory(r, r->arena);
    slot->boxed = box;
    return read_value(r, base, 0, box);
}

static enum bir_status fault_option(struct klr_reader *r, enum klr_type base, uint8_t wraps)
{
    struct klr_head tag, count;
    head_at(r, r->pos, &tag);
    if (tag.kind != KLR_HEAD_TAG || tag.size != HEADER_TAG16_BYTES || tag.value >> 8 != OPTION_TAG)
        return klr_fault_head(r, base, wraps, &tag);
    uint32_t ctor = tag.value & 0xff;
    if (ctor > 1)
        return klr_fault(r, "klr-unknown-constructor", r->pos, "the file is damaged",
                         "Option (tag 255) has constructors 0 (none) and 1 (some), found %u", ctor);
    head_at(r, r->pos + tag.size, &count);
    return klr_fault(r, count.kind == KLR_HEAD_CUT ? "klr-truncated" : "klr-field-count", r->pos, "the file is damaged",
                     "expected Option (tag 255) constructor %u with %u field%s (byte 0x%02x), found byte 0x%02x", ctor,
                     ctor, ctor == 1 ? "" : "s", LIST_HEAD + ctor, count.first);
}

static enum bir_status read_option(struct klr_reader *r, enum klr_type base, uint8_t wraps, union klr_slot *slot)
{
    const uint8_t *shape = shape_at(r, OPTION_TAG);
    if (!shape || shape[2] > 1 || shape[3] != LIST_HEAD + shape[2])
        return fault_option(r, base, wraps);
    r->pos += SHAPE_BYTES;
    if (shape[2] == 0)
        return BIR_OK;
    if (slot && !slot_is_pointer(base, KLR_WRAP_INNER(wraps)))
        return read_boxed(r, base, slot);
    return read_value(r, base, KLR_WRAP_INNER(wraps), slot);
}

static enum bir_status read_plain(struct klr_reader *r, enum klr_type base, union klr_slot *slot)
{
    switch (base) {
    case KLR_TYPE_Nat: return read_nat(r, slot);
    case KLR_TYPE_Int: return read_integer(r, base, INT64_MAX, slot);
    case KLR_TYPE_Int32: return read_integer(r, base, INT32_MAX, slot);
    case KLR_TYPE_Float32: return read_float32(r, slot);
    case KLR_TYPE_Bool: return read_bool(r, slot);
    case KLR_TYPE_String: return read_string(r, slot);
    case KLR_TYPE_Prop: return read_proof(r);
    case KLR_TYPE_TensorName: return slot ? read_tensor(r, slot) : read_node(r, base, NULL);
    default: return klr_types[base].kind == KLR_KIND_ENUM ? read_enum(r, base, slot) : read_node(r, base, slot);
    }
}

static enum bir_status read_value(struct klr_reader *r, enum klr_type base, uint8_t wraps, union klr_slot *slot)
{
    switch (KLR_WRAP_OUTER(wraps)) {
    case KLR_WRAP_OPTION: return read_option(r, base, wraps, slot);
    case KLR_WRAP_LIST: return read_list(r, base, wraps, slot);
    case KLR_WRAP_NONE: break;
    }
    return read_plain(r, base, slot);
}

/* --- the file --- */

static enum bir_status read_version(struct klr_reader *r, struct klr_file *file)
{
    static const uint64_t known[3] = { 0, 0, 12 };
    union klr_slot header = { 0 };
    size_t start = r->pos;
    BIR_TRY(read_plain(r, KLR_TYPE_KLRFile, r->locating ? NULL : &header));
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
    BIR_TRY(read_plain(r, KLR_TYPE_KLRMetaData, r->locating ? NULL : &metadata));
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
    BIR_TRY(read_fields(r, KLR_TYPE_Contents, arm, r->locating ? NULL : &payload));
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
