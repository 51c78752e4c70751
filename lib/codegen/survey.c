/*
 * A look at all tensors and views before any is placed: how long are the rows of each on-chip address?
 *
 * The location of an address gets the longest of its tensors' rows for pitch, rounded up to the largest of their
 * elements, even when the address reserves more (freeSize). So where all tensors of an address have rows of one length,
 * which is the rule, access patterns carry over verbatim; patterns of views with shorter rows are moved to the pitch
 * (access.c).
 *
 * Tensors are reached through the operands: the schema says which fields hold TensorRef and Operand. Equal TensorNames
 * are one node, so each is looked at once.
 */
#include "codegen/context.h"
#include "codegen/maps.h"

enum { WRAP_PLAIN, WRAP_OPTION, WRAP_LIST, WRAP_LIST_LIST, WRAP_OPTION_LIST, WRAP_OPTION_LIST_LIST };

struct ref_field {
    uint8_t type, base, wrap;
    int8_t slot;
};

/* Every field of every structure, in the schema's order: those of one type stand together. */
static const struct ref_field ref_fields[] = {
#define KLR_FIELD(type, field, wrap, base) { KLR_TYPE_##type, KLR_TYPE_##base, WRAP_##wrap, KLR_##type##_##field },
#include "klr/schema.def"
};
enum { REF_FIELDS = sizeof ref_fields / sizeof *ref_fields };

struct surveyor {
    struct codegen *cg;
    struct bir_map seen;            /* TensorName nodes */
    uint16_t first[KLR_TYPE_COUNT]; /* index + 1 of a type's first field, 0 = none */
};

/* Bytes of a row of the tensor; 0 beyond 63 bits or for an unknown dtype, which is reported when the tensor is used.
 */
static int64_t row_bytes(const struct klr_node *tensor)
{
    const struct klr_list *free_dims = klr_list_at(klr_node_at(tensor, KLR_TensorName_shape), KLR_Shape_freeDims);
    int64_t bytes = klr_dtype_bytes(klr_enum_at(tensor, KLR_TensorName_dtype));
    for (uint64_t i = 0; i < free_dims->count; i++)
        if (free_dims->items[i].nat > INT64_MAX ||
            __builtin_mul_overflow(bytes, (int64_t)free_dims->items[i].nat, &bytes))
            return 0;
    return bytes <= INT64_MAX / 2 ? bytes : 0;
}

static enum bir_status see_tensor(struct surveyor *s, const struct klr_node *tensor)
{
    const struct klr_node *address = klr_node_at(tensor, KLR_TensorName_address);
    if (bir_map_get(&s->seen, tensor))
        return BIR_OK;
    const struct bir_str *name = codegen_text(s->cg, klr_string_at(address, KLR_Address_name));
    if (!name || !bir_map_put(&s->seen, &s->cg->scratch, tensor, s))
        return codegen_nomem(s->cg);
    struct codegen_pitch *pitch = bir_map_get(&s->cg->pitches, name);
    if (!pitch) {
        pitch = BIR_NEW(&s->cg->scratch, BIR_MEM_OTHER, struct codegen_pitch);
        if (!pitch || !bir_map_put(&s->cg->pitches, &s->cg->scratch, name, pitch))
            return codegen_nomem(s->cg);
        pitch->tensor = tensor;
    }
    int64_t bytes = row_bytes(tensor), elem = klr_dtype_bytes(klr_enum_at(tensor, KLR_TensorName_dtype));
    pitch->row_bytes = bytes > pitch->row_bytes ? bytes : pitch->row_bytes;
    pitch->elem_bytes = elem > pitch->elem_bytes ? elem : pitch->elem_bytes;
    return BIR_OK;
}

/* Offsets nest; the reader bounds how deep (KLR_NESTING_MAX). Vector offsets are followed in place. */
static enum bir_status see_access(struct surveyor *s, const struct klr_node *access)
{
    while (access) {
        BIR_TRY(see_tensor(s, codegen_access_tensor(access)));
        if (access->ctor != KLR_Access_birPattern)
            break;
        const struct klr_node *pattern = klr_node_at(access, KLR_Access_birPattern_access);
        const struct klr_node *scalar = klr_node_at(pattern, KLR_BirAccessPattern_scalarOffset);
        if (scalar && scalar->ctor == KLR_ScalarOffset_acc)
            BIR_TRY(see_access(s, klr_node_at(scalar, KLR_ScalarOffset_acc_a)));
        access = klr_node_at(pattern, KLR_BirAccessPattern_vectorOffset);
    }
    return BIR_OK;
}

static enum bir_status see_value(struct surveyor *s, uint8_t base, const struct klr_node *value)
{
    if (value && base == KLR_TYPE_Operand)
        value = value->ctor == KLR_Operand_tile ? klr_node_at(value, KLR_Operand_tile_t) : NULL;
    if (!value || value->ctor == KLR_TensorRef_register)
        return BIR_OK;
    if (value->ctor != KLR_TensorRef_abstract)
        return codegen_view_survey(s->cg, value);
    return see_access(s, klr_node_at(value, KLR_TensorRef_abstract_access));
}

static enum bir_status see_statement(struct surveyor *s, const struct klr_node *statement)
{
    const struct klr_node *op = klr_node_at(klr_node_at(statement, KLR_Stmt_oper_op), KLR_Operator_op);
    for (uint32_t i = s->first[op->type]; i && i <= REF_FIELDS && ref_fields[i - 1].type == op->type; i++) {
        const struct ref_field *field = &ref_fields[i - 1];
        enum klr_slot_index slot = (enum klr_slot_index)field->slot;
        if (field->base != KLR_TYPE_TensorRef && field->base != KLR_TYPE_Operand)
            continue;
        if (field->wrap == WRAP_PLAIN || field->wrap == WRAP_OPTION) {
            BIR_TRY(see_value(s, field->base, klr_node_at(op, slot)));
            continue;
        }
        const struct klr_list *list = klr_list_at(op, slot);
        for (uint64_t k = 0; list && k < list->count; k++)
            BIR_TRY(see_value(s, field->base, list->items[k].node));
    }
    return BIR_OK;
}

static enum bir_status see_blocks(struct surveyor *s, const struct klr_list *blocks)
{
    uint64_t statements = 0;
    for (uint64_t b = 0; b < blocks->count; b++) {
        const struct klr_list *body = klr_list_at(blocks->items[b].node, KLR_Block_body);
        for (uint64_t i = 0; i < body->count; i++) {
            if (statements++ % 1024 == 0 && bir_cancelled(s->cg->options->cancel))
                return BIR_CANCELLED;
            BIR_TRY(see_statement(s, body->items[i].node));
        }
    }
    return BIR_OK;
}

static enum bir_status see_declared(struct surveyor *s, const struct klr_list *tensors)
{
    for (uint64_t i = 0; i < tensors->count; i++)
        BIR_TRY(see_tensor(s, tensors->items[i].node));
    return BIR_OK;
}

enum bir_status codegen_survey(struct codegen *cg, const struct klr_list *bodies, const struct klr_list *blocks)
{
    struct surveyor s = { .cg = cg };
    for (uint32_t i = REF_FIELDS; i-- > 0;)
        s.first[ref_fields[i].type] = (uint16_t)(i + 1);
    BIR_TRY(see_declared(&s, cg->inputs));
    BIR_TRY(see_declared(&s, cg->outputs));
    BIR_TRY(see_declared(&s, cg->shared_buffers));
    for (uint64_t core = 0; bodies && core < bodies->count; core++)
        BIR_TRY(see_blocks(&s, bodies->items[core].list));
    return blocks ? see_blocks(&s, blocks) : BIR_OK;
}
