/*
 * Explains by encoding: the operand is encoded as always, and the steps are told from the same inputs and from the
 * result, so an explanation cannot drift from the bytes.
 */
#include "isa/explain.h"

#include <inttypes.h>

#include "isa/decode.h"
#include "isa/describe.h"
#include "isa/writer.h"

static void explain_access(struct bir_buf *out, const struct bir_argument *argument)
{
    const struct bir_pattern *pattern = bir_argument_pattern(argument);
    const struct bir_argument_class *class = bir_argument_class_of((enum bir_argument_kind)argument->kind);
    bir_buf_printf(out, "access: %s of type %s (%" PRIu32 " bytes an element)", class ? class->wire : "?",
                   bir_dtype_name(argument->dtype), bir_dtype_bytes(argument->dtype));
    if (argument->location)
        bir_buf_printf(out, " on %s", argument->location->name->text);
    if (argument->kind == BIR_ARG_PHYSICAL_AP)
        bir_buf_printf(out, ", offset %" PRId64 " elements", ((const struct bir_physical_ap *)argument)->offset_elems);
    for (uint32_t i = 0; pattern && i < pattern->rank; i++)
        bir_buf_printf(out, "%s[%" PRId64 ",%" PRId64 "]", i ? "" : ", pattern ", pattern->pairs[i].step_elems,
                       pattern->pairs[i].num);
    bir_buf_putc(out, '\n');
}

static void explain_location(struct bir_buf *out, const struct bir_location *location)
{
    bir_buf_printf(out, "location: %s in %s, base partition %" PRIu32 ", addr 0x%" PRIx64, location->base.name->text,
                   location->type == BIR_MEMORY_SB ? "SBUF" : "PSUM", location->base_partition, location->addr_bytes);
    if (location->type == BIR_MEMORY_PSUM)
        bir_buf_printf(out, ", bank %d (0x800 bytes a bank)", location->bank);
    if (location->dims && location->dims->count >= 2)
        bir_buf_printf(out, ", %" PRId64 " partitions of %" PRId64 " bytes", location->dims->items[0],
                       location->dims->items[1]);
    bir_buf_putc(out, '\n');
}

/* partition and byte of the first element, and the linear address. */
static void explain_place(struct bir_buf *out, const struct bir_physical_ap *access, const struct isa_operand *operand)
{
    const struct bir_location *location = (const struct bir_location *)access->base.location;
    uint32_t rows = operand->partition - location->base_partition;
    bool psum = operand->space == ISA_SPACE_PSUM;
    uint32_t stride = psum ? ISA_PSUM_STRIDE_BYTES : ISA_SBUF_STRIDE_BYTES;
    uint32_t address = isa_partition_base(operand->space, operand->partition) + operand->byte;
    bir_buf_printf(out,
                   "place: partition %" PRIu32 " + %" PRIu32 " rows of the offset = %" PRIu32 ", byte 0x%" PRIx32
                   " of the partition\n",
                   location->base_partition, rows, operand->partition, operand->byte);
    bir_buf_printf(out, "address: %s%" PRIu32 " * 0x%" PRIx32 " + 0x%" PRIx32 " = 0x%" PRIx32 "\n",
                   psum ? "0x2000000 + " : "", operand->partition, stride, operand->byte, address);
}

static void explain_register(struct bir_buf *out, const struct bir_register_ap *access)
{
    if (!access->address)
        return;
    bir_buf_printf(out, "address: register %s", access->address->base.name->text);
    if (access->address->physical_id >= 0)
        bir_buf_printf(out, ", physical id %d; the word is 0x80000000 + id, the register holds the whole address",
                       access->address->physical_id);
    bir_buf_putc(out, '\n');
    if (access->offset || access->sub_tensor)
        bir_buf_puts(
            out,
            "note: reg_ap_offset and reg_sub_tensor_id have no bits in the word; the address register includes them\n");
}

static void explain_slot(struct bir_buf *out, const struct isa_operand *operand, enum isa_generation generation)
{
    const struct isa_slot_info *info = isa_slot_info_of(operand->slot);
    if (operand->slot == ISA_SLOT_NONE)
        return;
    const struct bir_instruction *inst = bir_argument_parent(operand->argument);
    bir_buf_printf(out, "slot: %s (%u bytes) by %s %s[%" PRIu32 "] on %s%s; may be in %s%s%s\n", info->name,
                   info->size_bytes, isa_instruction_opcode(inst),
                   isa_role_name((enum bir_role)operand->argument->role), operand->position,
                   isa_generation_name(generation),
                   operand->slot_flags & ISA_SLOTF_CHOICE ? ", chosen by the op's family" : "",
                   operand->slot_flags & ISA_SLOTF_SBUF ? "SBUF" : "",
                   (operand->slot_flags & ISA_SLOTF_SBUF) && (operand->slot_flags & ISA_SLOTF_PSUM) ? " or " : "",
                   operand->slot_flags & ISA_SLOTF_PSUM ? "PSUM" : "");
}

static void explain_bytes(struct bir_buf *out, const struct isa_operand *operand)
{
    bir_buf_printf(out, "partitions: %" PRIu32 ", in the instruction's num_active_channels and not in the descriptor\n",
                   operand->partitions);
    bir_buf_puts(out, "descriptor: ");
    isa_describe_descriptor(out, &operand->descriptor);
    bir_buf_printf(out, "\nbytes: %s ", isa_slot_info_of(operand->descriptor.slot)->name);
    bir_buf_put_hex(out, operand->bytes, operand->size_bytes);
    bir_buf_putc(out, '\n');
    if (isa_slot_info_of(operand->descriptor.slot)->form != ISA_FORM_STATIC)
        return;
    unsigned rank = isa_slot_info_of(operand->descriptor.slot)->rank;
    bir_buf_puts(out, "fields: address @0");
    for (unsigned i = 0; i < rank; i++)
        bir_buf_printf(out, ", step %u @%u", i, 4 + 2 * i);
    for (unsigned i = 0; i < rank; i++)
        bir_buf_printf(out, ", count %u @%u", i, 4 + 2 * rank + 2 * i);
    bir_buf_puts(
        out, "; slot 0 is the innermost dimension, dimensions of one element are dropped, spare slots are (1, 1)\n");
}

void isa_explain_operand(struct bir_buf *out, const struct bir_argument *argument, uint32_t position,
                         enum isa_generation generation)
{
    struct isa_operand operand;
    struct isa_problem problem;
    enum isa_outcome outcome = isa_operand_encode(argument, position, generation, &operand, &problem);
    explain_access(out, argument);
    const struct bir_storage *storage = argument->location;
    bool on_chip = storage && storage->tag == BIR_STORAGE_LOCATION &&
                   (((const struct bir_location *)storage)->type == BIR_MEMORY_SB ||
                    ((const struct bir_location *)storage)->type == BIR_MEMORY_PSUM);
    if (on_chip)
        explain_location(out, (const struct bir_location *)storage);
    if (argument->kind == BIR_ARG_PHYSICAL_AP && outcome == ISA_ENCODED)
        explain_place(out, (const struct bir_physical_ap *)argument, &operand);
    else if (argument->kind == BIR_ARG_REGISTER_AP)
        explain_register(out, (const struct bir_register_ap *)argument);
    explain_slot(out, &operand, generation);
    if (outcome == ISA_ENCODED) {
        explain_bytes(out, &operand);
    } else if (outcome == ISA_NO_BYTES) {
        bir_buf_printf(out, "no bytes: %s\n", operand.reason);
    } else {
        const struct isa_rule_info *info = isa_rule_info_of(problem.rule);
        bir_buf_printf(out, "refused: %s [%s]\n", problem.message, info->code);
        if (info->hint)
            bir_buf_printf(out, "hint: %s\n", info->hint);
    }
}

static void explain_words(struct bir_buf *out, const struct isa_operands *operands, enum isa_generation generation)
{
    struct isa_words words;
    struct isa_decoded_word decoded;
    isa_words_build(operands, generation, &words);
    if (words.count == 0)
        bir_buf_printf(out, "word: none, %s\n", words.reason);
    for (uint32_t i = 0; i < words.count; i++) {
        const uint8_t *bytes = words.bytes + (size_t)i * ISA_WORD_BYTES;
        isa_decode_word(bytes, generation, &decoded);
        bir_buf_printf(out, "word %" PRIu32 ": %s\n", i + 1, decoded.name);
        for (uint32_t f = 0; f < decoded.n_fields; f++) {
            const struct isa_word_field *field = decoded.fields[f].field;
            unsigned width = field->kind == ISA_FIELD_SLOT
                                 ? isa_slot_info_of((enum isa_slot)field->slot[generation])->size_bytes
                                 : field->width;
            bir_buf_printf(out, "  @%-2u %-22s ", field->offset, field->name);
            bir_buf_put_hex(out, bytes + field->offset, width);
            if (field->kind == ISA_FIELD_SLOT) {
                bir_buf_puts(out, "  ");
                isa_describe_descriptor(out, &decoded.fields[f].descriptor);
            }
            bir_buf_putc(out, '\n');
        }
    }
    for (uint32_t i = 0; i < words.n_unknown; i++)
        bir_buf_printf(out, "zero because no source says: %s\n", words.unknown[i]);
}

void isa_explain_instruction(struct bir_buf *out, const struct bir_instruction *inst, enum isa_generation generation)
{
    struct isa_operands operands = { .inst = inst };
    struct isa_problem problem;
    bool sound = true;
    bir_buf_printf(out, "%s %s on %s (%s)\n", isa_instruction_opcode(inst), inst->name ? inst->name->text : "(no name)",
                   isa_instruction_engine(inst), isa_generation_name(generation));
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        uint32_t position = 0;
        BIR_EACH_ARGUMENT (argument, inst, role) {
            bir_buf_printf(out, "\n%s[%" PRIu32 "]\n", isa_role_name((enum bir_role)role), position);
            isa_explain_operand(out, argument, position, generation);
            struct isa_operand spare,
                *operand = position < ISA_WORD_OPERANDS ? &operands.items[role][position] : &spare;
            sound = isa_operand_encode(argument, position, generation, operand, &problem) != ISA_REFUSED && sound;
            position++;
        }
        operands.count[role] = position;
    }
    bir_buf_putc(out, '\n');
    if (sound)
        explain_words(out, &operands, generation);
    else
        bir_buf_puts(out, "word: none, an operand was refused\n");
}
