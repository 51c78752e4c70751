/*
 * The decoder walks the encoder's layout tables. A word without a layout still has its header; a byte that no field
 * covers has to be zero. Rules are applied with what the word itself says about types and channels.
 */
#include "isa/decode.h"

#include <inttypes.h>
#include <string.h>

#include "isa/words.h"

enum { HEADER_BYTES = 12, INST_WORD_DWORDS = 0x10, INST_WORD_SATURATE = 0x11 };
/* Stands for a type that is not known: any alignment, any memory. */
enum { TAG_ANY = 0x03, TAG_ANY_MX = 0x10, TAG_FLOAT32 = 0x0A };

struct problem_list {
    struct isa_problem *items;
    uint32_t *count;
};

static void note(struct problem_list list, const struct isa_problem *problem)
{
    if (*list.count < ISA_MAX_PROBLEMS)
        list.items[(*list.count)++] = *problem;
}

/* --- descriptors --- */

static bool is_mx(enum isa_slot slot)
{
    enum isa_form form = (enum isa_form)isa_slot_info_of(slot)->form;
    return form == ISA_FORM_MX || form == ISA_FORM_MX_INDIRECT;
}

static void check_descriptor(const struct isa_descriptor *descriptor, struct isa_check check, struct problem_list list)
{
    struct isa_problem problem;
    if (check.tag == 0)
        check.tag = is_mx(descriptor->slot) ? TAG_ANY_MX : TAG_ANY;
    if (!isa_check_descriptor(descriptor, &check, &problem))
        note(list, &problem);
}

/* Slots above the outermost dimension of more than one element hold (1, 1) in what an encoder writes. */
static bool is_canonical(const struct isa_descriptor *descriptor)
{
    if (isa_slot_info_of(descriptor->slot)->form != ISA_FORM_STATIC)
        return true;
    const struct isa_static *fixed = &descriptor->u.fixed;
    for (uint32_t i = fixed->rank; i-- > 0 && fixed->count[i] == 1;)
        if (fixed->step_elems[i] != 1)
            return false;
    return true;
}

bool isa_decode_slot(enum isa_slot slot, enum isa_generation generation, uint8_t tag, const uint8_t *bytes, size_t len,
                     struct isa_decoded_descriptor *out)
{
    memset(out, 0, sizeof *out);
    out->slot = slot;
    if (!isa_descriptor_decode(slot, generation, bytes, len, &out->descriptor))
        return false;
    struct isa_check check = { .generation = generation, .tag = tag, .psum_ok = true, .sbuf_ok = true };
    check_descriptor(&out->descriptor, check, (struct problem_list){ out->problems, &out->n_problems });
    out->canonical = is_canonical(&out->descriptor);
    return true;
}

/* --- words --- */

static const struct isa_decoded_field *find_value(const struct isa_decoded_word *word, enum isa_value value)
{
    for (uint32_t i = 0; i < word->n_fields; i++)
        if (word->fields[i].field->kind == ISA_FIELD_VALUE && word->fields[i].field->ref == value)
            return &word->fields[i];
    return NULL;
}

static uint64_t value_or(const struct isa_decoded_word *word, enum isa_value value, uint64_t def)
{
    const struct isa_decoded_field *field = find_value(word, value);
    return field ? field->value : def;
}

static unsigned field_width(const struct isa_word_field *field, enum isa_generation generation)
{
    return field->kind == ISA_FIELD_SLOT ? isa_slot_info_of((enum isa_slot)field->slot[generation])->size_bytes
                                         : field->width;
}

static void read_fields(const struct isa_word_field *field, const uint8_t *bytes, enum isa_generation generation,
                        bool covered[ISA_WORD_BYTES], struct isa_decoded_word *out)
{
    for (; field->kind != ISA_FIELD_END && out->n_fields < ISA_MAX_FIELDS; field++) {
        struct isa_decoded_field *to = &out->fields[out->n_fields++];
        unsigned width = field_width(field, generation);
        to->field = field;
        memset(covered + field->offset, 1, width * sizeof covered[0]);
        if (field->kind != ISA_FIELD_SLOT)
            to->value = isa_load_le(bytes + field->offset, width);
        else
            (void)isa_descriptor_decode((enum isa_slot)field->slot[generation], generation, bytes + field->offset,
                                        width, &to->descriptor);
    }
}

static void check_header(const uint8_t *bytes, const struct isa_decoded_word *word, struct problem_list list)
{
    struct isa_problem problem;
    bool may_saturate = bytes[0] == ISA_OP_QUANTIZE_MX;
    if (!word->layout) {
        isa_refuse(&problem, ISA_V19, "malformed header: no layout is known for opcode 0x%02x (%s) on this generation",
                   bytes[0], word->name);
        note(list, &problem);
    }
    if (bytes[1] != INST_WORD_DWORDS && !(may_saturate && bytes[1] == INST_WORD_SATURATE)) {
        isa_refuse(&problem, ISA_V19, "malformed header: inst_word_len is 0x%02x, it must be 0x%02x", bytes[1],
                   INST_WORD_DWORDS);
        note(list, &problem);
    }
    if (bytes[2] || bytes[3]) {
        isa_refuse(&problem, ISA_V19, "malformed header: debug bytes are 0x%02x 0x%02x, they must be 0", bytes[2],
                   bytes[3]);
        note(list, &problem);
    }
}

static void check_reserved(const uint8_t *bytes, const bool covered[ISA_WORD_BYTES], struct problem_list list)
{
    struct isa_problem problem;
    for (unsigned i = 0; i < ISA_WORD_BYTES; i++) {
        if (covered[i] || bytes[i] == 0)
            continue;
        isa_refuse(&problem, ISA_V19, "reserved byte @%u is 0x%02x, it must be 0", i, bytes[i]);
        note(list, &problem);
    }
}

static void check_constants(const struct isa_decoded_word *word, struct problem_list list)
{
    struct isa_problem problem;
    for (uint32_t i = 0; i < word->n_fields; i++) {
        const struct isa_word_field *field = word->fields[i].field;
        if (field->kind != ISA_FIELD_CONST || field->offset < HEADER_BYTES || word->fields[i].value == field->ref)
            continue;
        isa_refuse(&problem, ISA_V19, "%s @%u is %" PRIu64 ", it must be %u", field->name, field->offset,
                   word->fields[i].value, field->ref);
        note(list, &problem);
    }
}

/* Wire tag of the type behind a descriptor of the word; 0 when the word does not say. */
static uint8_t tag_of(const struct isa_decoded_word *word, enum isa_value slot)
{
    const struct isa_decoded_field *pair = find_value(word, ISA_VAL_TAGS);
    if (slot == ISA_VAL_DST)
        return (uint8_t)value_or(word, ISA_VAL_OUT_TAG, 0);
    if (!pair)
        return (uint8_t)value_or(word, ISA_VAL_IN_TAG, 0);
    return (uint8_t)(slot == ISA_VAL_SRC0 ? pair->value & 15 : pair->value >> 4);
}

static bool is_matrix_opcode(uint8_t opcode)
{
    return opcode == ISA_OP_LOAD_STATIONARY || opcode == ISA_OP_MATMULT || opcode == ISA_OP_LD_WEIGHT_MX ||
           opcode == ISA_OP_MATMULT_MX;
}

static void check_slots(const struct isa_decoded_word *word, uint8_t opcode, enum isa_generation generation,
                        struct problem_list list)
{
    bool matrix = is_matrix_opcode(opcode);
    for (uint32_t i = 0; i < word->n_fields; i++) {
        const struct isa_word_field *field = word->fields[i].field;
        if (field->kind != ISA_FIELD_SLOT)
            continue;
        bool dst = field->ref == ISA_VAL_DST;
        struct isa_check check = { .generation = generation,
                                   .tag = tag_of(word, (enum isa_value)field->ref),
                                   .write = dst };
        check.psum_ok = !matrix || dst;
        check.sbuf_ok = !matrix || !dst;
        check.matmul_dst = matrix && dst;
        if (check.tag == 0 && check.matmul_dst)
            check.tag = TAG_FLOAT32; /* v2 has no out tag */
        check.partitions = (uint32_t)value_or(word,
                                              matrix && !dst ? ISA_VAL_ROWS
                                              : matrix       ? ISA_VAL_COLS
                                                             : ISA_VAL_CHANNELS,
                                              0);
        check_descriptor(&word->fields[i].descriptor, check, list);
    }
}

static void check_types(const struct isa_decoded_word *word, enum isa_generation generation, struct problem_list list)
{
    struct isa_problem problem;
    for (uint32_t i = 0; i < word->n_fields; i++) {
        const struct isa_word_field *field = word->fields[i].field;
        bool is_tag = field->kind == ISA_FIELD_VALUE && (field->ref == ISA_VAL_IN_TAG || field->ref == ISA_VAL_OUT_TAG);
        if (!is_tag || isa_tag_alignment((uint8_t)word->fields[i].value, generation) != 0)
            continue;
        isa_refuse(&problem, ISA_V20, "%s 0x%02x is no dtype tag of %s", field->name, (unsigned)word->fields[i].value,
                   isa_generation_name(generation));
        note(list, &problem);
    }
    const struct isa_decoded_field *channels = find_value(word, ISA_VAL_CHANNELS);
    if (channels && !isa_check_channels((int64_t)channels->value, &problem))
        note(list, &problem);
}

void isa_decode_word(const uint8_t bytes[64], enum isa_generation generation, struct isa_decoded_word *out)
{
    bool covered[ISA_WORD_BYTES] = { false };
    struct problem_list list = { out->problems, &out->n_problems };
    out->n_fields = out->n_problems = 0;
    out->layout = isa_layout_of(bytes[0], generation);
    out->name = out->layout ? out->layout->name : isa_opcode_byte_name(bytes[0]);
    read_fields(isa_header_fields, bytes, generation, covered, out);
    check_header(bytes, out, list);
    if (!out->layout)
        return;
    read_fields(out->layout->fields, bytes, generation, covered, out);
    check_constants(out, list);
    check_reserved(bytes, covered, list);
    check_types(out, generation, list);
    check_slots(out, bytes[0], generation, list);
}

/* --- hex --- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ':';
}

enum bir_status isa_parse_hex(const char *text, size_t len, uint8_t *bytes, size_t capacity, size_t *n,
                              struct bir_diags *diags)
{
    size_t at = 0, count = 0;
    int high = -1;
    while (at < len && is_separator(text[at]))
        at++;
    if (len - at >= 2 && text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X'))
        at += 2;
    for (; at < len; at++) {
        int digit = hex_digit(text[at]);
        if (digit < 0 && is_separator(text[at]))
            continue;
        if (digit < 0)
            return bir_fail(diags, "isa-hex", (int64_t)at,
                            "give hexadecimal digits; spaces and colons may stand between bytes",
                            "byte 0x%02x is no hexadecimal digit", (unsigned char)text[at]);
        if (high < 0) {
            high = digit;
            continue;
        }
        if (count == capacity)
            return bir_fail_limit(diags, "isa-hex", (int64_t)at, NULL, "more than %zu bytes", capacity);
        bytes[count++] = (uint8_t)(high << 4 | digit);
        high = -1;
    }
    if (high >= 0)
        return bir_fail(diags, "isa-hex", (int64_t)len, "every byte takes two digits",
                        "odd number of hexadecimal digits");
    *n = count;
    return BIR_OK;
}
