/*
 * Text for people. An access is written as its place, its free dimensions outermost first, their steps, its type; a
 * descriptor as its address and its slots X, Y, Z, W innermost first, as the hardware sees them.
 */
#include "isa/describe.h"

#include <inttypes.h>

void isa_describe_address(struct bir_buf *buf, uint32_t word)
{
    struct isa_addr4 addr;
    isa_addr4_decode(word, &addr);
    if (addr.is_register)
        bir_buf_printf(buf, "register %" PRIu32, addr.register_id);
    else if (addr.place.space == ISA_SPACE_SBUF)
        bir_buf_printf(buf, "SBUF partition %" PRIu32 " byte 0x%" PRIx32, addr.place.partition, addr.place.byte);
    else if (addr.place.space == ISA_SPACE_PSUM)
        bir_buf_printf(buf, "PSUM partition %" PRIu32 " bank %" PRIu32 " byte 0x%" PRIx32, addr.place.partition,
                       addr.place.bank, addr.place.byte);
    else
        bir_buf_printf(buf, "0x%" PRIx32 " in no memory", addr.address);
    if (addr.marker != ISA_MARKER_IMMEDIATE && addr.marker != ISA_MARKER_REGISTER)
        bir_buf_printf(buf, " (%s)", isa_marker_name(addr.marker));
}

static void describe_static(struct bir_buf *buf, const struct isa_static *fixed)
{
    static const char names[ISA_MAX_RANK] = { 'X', 'Y', 'Z', 'W' };
    isa_describe_address(buf, fixed->addr);
    for (uint32_t i = 0; i < fixed->rank; i++)
        bir_buf_printf(buf, "%s%c %u step %d", i ? ", " : "; ", names[i], fixed->count[i], fixed->step_elems[i]);
}

static void describe_part(struct bir_buf *buf, const char *name, uint32_t word)
{
    bir_buf_puts(buf, name);
    isa_describe_address(buf, word);
}

void isa_describe_descriptor(struct bir_buf *buf, const struct isa_descriptor *descriptor)
{
    const struct isa_mx *mx = &descriptor->u.mx;
    const struct isa_mx_indirect *gather = &descriptor->u.mx_indirect;
    const struct isa_indirect *indirect = &descriptor->u.indirect;
    switch (isa_slot_info_of(descriptor->slot)->form) {
    case ISA_FORM_ADDR4: isa_describe_address(buf, descriptor->u.addr4); break;
    case ISA_FORM_STATIC: describe_static(buf, &descriptor->u.fixed); break;
    case ISA_FORM_INDIRECT:
        describe_part(buf, "index ", indirect->index_addr & ~ISA_ADDR4_INDIRECT);
        describe_part(buf, ", data ", indirect->data_addr);
        bir_buf_printf(buf, ", %u indices", indirect->num_elem);
        break;
    case ISA_FORM_MX:
        describe_part(buf, "data ", mx->start_addr);
        describe_part(buf, ", scale ", mx->scale_addr);
        bir_buf_printf(buf, " + %u partitions, %u elements step %d", mx->scale_pidx, mx->num_elem, mx->step_elem);
        break;
    case ISA_FORM_MX_INDIRECT:
        describe_part(buf, "index ", gather->index_addr & ~ISA_ADDR4_INDIRECT);
        describe_part(buf, ", data ", gather->data_addr);
        describe_part(buf, ", scale ", gather->scale_addr);
        bir_buf_printf(buf, " + %u partitions, %u indices", gather->scale_pidx, gather->num_elem);
        break;
    case ISA_FORM_ADDR8:
        bir_buf_printf(buf, "variable %" PRIu32 " offset 0x%" PRIx32 " mode 0x%02x", descriptor->u.addr8.variable,
                       descriptor->u.addr8.offset_bytes, descriptor->u.addr8.mode);
        break;
    default: bir_buf_puts(buf, "nothing"); break;
    }
}

static const char *short_dtype(uint8_t dtype)
{
    static const char *const names[BIR_DTYPE_COUNT] = { "u8",       "i8",     "f4x4", "f8e3",       "f8e4",
                                                        "f8e4m3fn", "f8e8m0", "f8e5", "f8e4m3fnx4", "f8e5m2x4",
                                                        "u16",      "i16",    "bf16", "f16",        "u32",
                                                        "i32",      "f32",    "f32r", "u64",        "i64" };
    return dtype < BIR_DTYPE_COUNT ? names[dtype] : "?";
}

/* "4x8x64 step 512,64,1": the pairs from `first` on that hold more than one element, or all when there is none. */
static void describe_dims(struct bir_buf *buf, const struct bir_pattern *pattern, uint32_t first)
{
    uint32_t shown = 0;
    for (uint32_t i = first; i < pattern->rank; i++)
        if (pattern->pairs[i].num != 1)
            bir_buf_printf(buf, "%s%" PRId64, shown++ ? "x" : " ", pattern->pairs[i].num);
    if (!shown) {
        bir_buf_puts(buf, " 1");
        return;
    }
    bir_buf_puts(buf, " step ");
    shown = 0;
    for (uint32_t i = first; i < pattern->rank; i++)
        if (pattern->pairs[i].num != 1)
            bir_buf_printf(buf, "%s%" PRId64, shown++ ? "," : "", pattern->pairs[i].step_elems);
}

static void describe_immediate(struct bir_buf *buf, const struct bir_argument *argument)
{
    if (argument->kind == BIR_ARG_IMM_VALUE)
        bir_buf_printf(buf, "imm 0x%" PRIx64, ((const struct bir_imm_value *)argument)->bits);
    else if (argument->kind == BIR_ARG_IMM_ARRAY)
        bir_buf_printf(buf, "imm array of %" PRIu32, ((const struct bir_imm_array *)argument)->count);
    else
        bir_buf_puts(buf, "imm expression");
}

static void describe_register(struct bir_buf *buf, const struct bir_argument *argument)
{
    if (!argument->location || argument->location->tag != BIR_STORAGE_REGISTER) {
        bir_buf_puts(buf, "reg ?");
        return;
    }
    const struct bir_register *reg = (const struct bir_register *)argument->location;
    bir_buf_printf(buf, "reg %s", reg->base.name->text);
    if (reg->physical_id >= 0)
        bir_buf_printf(buf, " (r%d)", reg->physical_id);
}

static void describe_place(struct bir_buf *buf, const struct isa_operand *operand)
{
    if (operand->is_register) {
        bir_buf_printf(buf, "%s[r%" PRIu32 "+%" PRIu32 "]", operand->space == ISA_SPACE_PSUM ? "psum" : "sb",
                       operand->register_id, operand->partitions);
        return;
    }
    if (operand->space == ISA_SPACE_PSUM)
        bir_buf_printf(buf, "psum[p%" PRIu32 "+%" PRIu32 ", bank %" PRIu32 " 0x%" PRIx32 "]", operand->partition,
                       operand->partitions, operand->byte / ISA_PSUM_BANK_BYTES, operand->byte % ISA_PSUM_BANK_BYTES);
    else
        bir_buf_printf(buf, "sb[p%" PRIu32 "+%" PRIu32 ", 0x%" PRIx32 "]", operand->partition, operand->partitions,
                       operand->byte);
}

void isa_describe_operand(struct bir_buf *buf, const struct isa_operand *operand)
{
    const struct bir_argument *argument = operand->argument;
    const struct bir_pattern *pattern = bir_argument_pattern(argument);
    uint32_t first = 1;
    if (argument->kind == BIR_ARG_REGISTER_ACCESS) {
        describe_register(buf, argument);
    } else if (!pattern) {
        describe_immediate(buf, argument);
    } else if (operand->outcome == ISA_ENCODED && operand->slot != ISA_SLOT_ADDR8) {
        describe_place(buf, operand);
    } else {
        const char *name = argument->location ? argument->location->name->text : "?";
        bir_buf_printf(buf, "%s", name);
        if (argument->kind == BIR_ARG_PHYSICAL_AP)
            bir_buf_printf(buf, "+%" PRId64, ((const struct bir_physical_ap *)argument)->offset_elems);
        first = 0;
    }
    if (pattern)
        describe_dims(buf, pattern, first);
    bir_buf_printf(buf, " %s", short_dtype(argument->dtype));
}
