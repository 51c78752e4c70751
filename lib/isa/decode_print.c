/*
 * Decoded bytes as JSON or as a listing. One printer serves both: in JSON a member is a key and a value, in the listing
 * a line; an address or descriptor is an object or an indented group.
 */
#include "isa/decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "isa/describe.h"
#include "isa/words.h"
#include "isa/writer.h"

struct printer {
    bool json;
    struct bir_json_writer w;
    struct bir_buf *buf;
    unsigned depth; /* listing */
};

static void line_start(struct printer *p, const char *name)
{
    bir_buf_printf(p->buf, "%*s%-22s ", (int)(2 * p->depth), "", name);
}

static void put_text(struct printer *p, const char *name, const char *text)
{
    if (p->json) {
        bir_json_put_key(&p->w, name);
        bir_json_put_cstr(&p->w, text);
        return;
    }
    line_start(p, name);
    bir_buf_printf(p->buf, "%s\n", text);
}

static void put_int(struct printer *p, const char *name, int64_t value, const char *meaning)
{
    if (!p->json) {
        line_start(p, name);
        bir_buf_printf(p->buf, "%" PRId64, value);
        if (value > 9)
            bir_buf_printf(p->buf, " 0x%" PRIx64, (uint64_t)value);
        if (meaning)
            bir_buf_printf(p->buf, "  %s", meaning);
        bir_buf_putc(p->buf, '\n');
        return;
    }
    bir_json_put_key(&p->w, name);
    bir_json_put_i64(&p->w, value);
    if (!meaning)
        return;
    char key[48];
    snprintf(key, sizeof key, "%s_name", name);
    put_text(p, key, meaning);
}

static void put_bool(struct printer *p, const char *name, bool value)
{
    if (p->json) {
        bir_json_put_key(&p->w, name);
        bir_json_put_bool(&p->w, value);
    } else {
        put_text(p, name, value ? "yes" : "no");
    }
}

static void group_begin(struct printer *p, const char *name)
{
    if (p->json) {
        if (name)
            bir_json_put_key(&p->w, name);
        bir_json_put_object_begin(&p->w);
    } else if (name) {
        bir_buf_printf(p->buf, "%*s%s\n", (int)(2 * p->depth++), "", name);
    }
}

static void group_end(struct printer *p, const char *name)
{
    if (p->json)
        bir_json_put_object_end(&p->w);
    else if (name)
        p->depth--;
}

/* --- addresses and descriptors --- */

static void put_address(struct printer *p, const char *name, uint32_t word)
{
    char text[16];
    struct isa_addr4 addr;
    isa_addr4_decode(word, &addr);
    snprintf(text, sizeof text, "0x%08" PRIx32, word);
    group_begin(p, name);
    put_text(p, "word", text);
    put_text(p, "mode", isa_marker_name(addr.marker));
    if (addr.is_register) {
        put_int(p, "register", addr.register_id, NULL);
        if (addr.reserved)
            put_int(p, "reserved", addr.reserved, NULL);
    } else {
        put_text(p, "space", isa_space_name(addr.place.space));
        if (addr.place.space != ISA_SPACE_NONE) {
            put_int(p, "partition", addr.place.partition, NULL);
            if (addr.place.space == ISA_SPACE_PSUM)
                put_int(p, "bank", addr.place.bank, NULL);
            put_int(p, "byte", addr.place.byte, NULL);
        }
    }
    group_end(p, name);
}

static void put_static(struct printer *p, const struct isa_static *fixed)
{
    static const char *const steps[ISA_MAX_RANK] = { "step 0", "step 1", "step 2", "step 3" };
    static const char *const counts[ISA_MAX_RANK] = { "count 0", "count 1", "count 2", "count 3" };
    put_address(p, "addr", fixed->addr);
    if (!p->json) {
        for (uint32_t i = 0; i < fixed->rank; i++) {
            put_int(p, steps[i], fixed->step_elems[i], NULL);
            put_int(p, counts[i], fixed->count[i], NULL);
        }
        return;
    }
    bir_json_put_key(&p->w, "step");
    bir_json_put_array_begin(&p->w);
    for (uint32_t i = 0; i < fixed->rank; i++)
        bir_json_put_i64(&p->w, fixed->step_elems[i]);
    bir_json_put_array_end(&p->w);
    bir_json_put_key(&p->w, "count");
    bir_json_put_array_begin(&p->w);
    for (uint32_t i = 0; i < fixed->rank; i++)
        bir_json_put_i64(&p->w, fixed->count[i]);
    bir_json_put_array_end(&p->w);
}

static void put_descriptor(struct printer *p, const struct isa_descriptor *d)
{
    switch (isa_slot_info_of(d->slot)->form) {
    case ISA_FORM_ADDR4: put_address(p, "addr", d->u.addr4); break;
    case ISA_FORM_STATIC: put_static(p, &d->u.fixed); break;
    case ISA_FORM_INDIRECT:
        put_address(p, "index_addr", d->u.indirect.index_addr);
        put_address(p, "data_addr", d->u.indirect.data_addr);
        put_int(p, "num_elem", d->u.indirect.num_elem, NULL);
        put_int(p, "reserved", d->u.indirect.reserved, NULL);
        break;
    case ISA_FORM_MX:
        put_address(p, "start_addr", d->u.mx.start_addr);
        put_address(p, "scale_addr", d->u.mx.scale_addr);
        put_int(p, "num_elem", d->u.mx.num_elem, NULL);
        put_int(p, "step_elem", d->u.mx.step_elem, NULL);
        put_int(p, "scale_pidx", d->u.mx.scale_pidx, NULL);
        put_int(p, "reserved", d->u.mx.reserved, NULL);
        break;
    case ISA_FORM_MX_INDIRECT:
        put_address(p, "index_addr", d->u.mx_indirect.index_addr);
        put_address(p, "data_addr", d->u.mx_indirect.data_addr);
        put_address(p, "scale_addr", d->u.mx_indirect.scale_addr);
        put_int(p, "num_elem", d->u.mx_indirect.num_elem, NULL);
        put_int(p, "spare", d->u.mx_indirect.spare, NULL);
        put_int(p, "scale_pidx", d->u.mx_indirect.scale_pidx, NULL);
        break;
    default:
        put_int(p, "offset", d->u.addr8.offset_bytes, NULL);
        put_int(p, "variable", d->u.addr8.variable, NULL);
        put_int(p, "mode", d->u.addr8.mode, NULL);
        break;
    }
}

static void put_problems(struct printer *p, const struct isa_problem *problems, uint32_t n)
{
    if (!p->json) {
        for (uint32_t i = 0; i < n; i++)
            bir_buf_printf(p->buf, "%*s! %s [%s]\n", (int)(2 * p->depth), "", problems[i].message,
                           isa_rule_info_of(problems[i].rule)->code);
        return;
    }
    bir_json_put_key(&p->w, "problems");
    bir_json_put_array_begin(&p->w);
    for (uint32_t i = 0; i < n; i++) {
        bir_json_put_object_begin(&p->w);
        put_text(p, "rule", isa_rule_name(problems[i].rule));
        put_text(p, "code", isa_rule_info_of(problems[i].rule)->code);
        put_text(p, "message", problems[i].message);
        bir_json_put_object_end(&p->w);
    }
    bir_json_put_array_end(&p->w);
}

/* key: "arch" of a descriptor on its own, "list" of an operand in a container. */
static void print_descriptor(struct printer *p, const struct isa_decoded_descriptor *d, const char *key,
                             const char *text)
{
    group_begin(p, NULL);
    put_text(p, key, text);
    put_text(p, "slot", isa_slot_info_of(d->slot)->name);
    put_text(p, "form", isa_slot_info_of(d->descriptor.slot)->name);
    put_descriptor(p, &d->descriptor);
    if (isa_slot_info_of(d->descriptor.slot)->form == ISA_FORM_STATIC)
        put_bool(p, "canonical", d->canonical);
    if (!p->json) {
        line_start(p, "meaning");
        isa_describe_descriptor(p->buf, &d->descriptor);
        bir_buf_putc(p->buf, '\n');
    }
    put_problems(p, d->problems, d->n_problems);
    group_end(p, NULL);
}

/* --- words --- */

static const char *alu_name(uint64_t byte, enum isa_generation generation)
{
    for (int op = 0; op < BIR_ALU_COUNT; op++)
        if (isa_alu_byte(op, generation) == (int)byte)
            return bir_enum_name(BIR_ENUM_ALU_OP, op);
    return byte == 0x17 ? "absolute_difference" : byte == 0x1C ? "crc32" : "?";
}

static const char *wait_name(uint64_t mode)
{
    static const char *const names[] = { "none",        "semaphore ==", "semaphore <", "semaphore <=",
                                         "semaphore >", "semaphore >=", "event set",   "event set then clear" };
    uint64_t low = mode & 0x7F;
    if (low < sizeof names / sizeof names[0])
        return mode & 0x80 ? "compare with register" : names[low];
    return low == 14 ? "event clear" : low == 15 ? "event clear then set" : "?";
}

static const char *update_name(uint64_t mode)
{
    static const char *const names[10] = { "none", "set event", "clear event", "increment", "decrement",
                                           "add",  "?",         "subtract",    "?",         "write" };
    static const char *const later[10] = { "none",
                                           "set event on completion",
                                           "clear event on completion",
                                           "increment on completion",
                                           "decrement on completion",
                                           "add on completion",
                                           "?",
                                           "subtract on completion",
                                           "?",
                                           "write on completion" };
    uint64_t low = mode & 0x0F;
    return low > 9 || mode > 0x19 ? "?" : mode & 0x10 ? later[low] : names[low];
}

static const char *value_name(const struct isa_decoded_word *word, const struct isa_decoded_field *field,
                              enum isa_generation generation)
{
    switch (field->field->ref) {
    case ISA_VAL_OPCODE: return word->name;
    case ISA_VAL_WAIT_MODE: return wait_name(field->value);
    case ISA_VAL_UPDATE_MODE: return update_name(field->value);
    case ISA_VAL_IN_TAG:
    case ISA_VAL_OUT_TAG: return isa_tag_name((uint8_t)field->value);
    case ISA_VAL_OP0:
    case ISA_VAL_OP1: return alu_name(field->value, generation);
    default: return NULL;
    }
}

static void put_field(struct printer *p, const struct isa_decoded_word *word, const struct isa_decoded_field *field,
                      enum isa_generation generation)
{
    const char *name = field->field->name;
    if (field->field->kind == ISA_FIELD_SLOT) {
        group_begin(p, name);
        put_text(p, "slot", isa_slot_info_of(field->descriptor.slot)->name);
        put_descriptor(p, &field->descriptor);
        group_end(p, name);
    } else if (field->field->kind == ISA_FIELD_VALUE && field->field->ref == ISA_VAL_TAGS) {
        put_int(p, "in0_dtype", (int64_t)(field->value & 15), isa_tag_name(field->value & 15));
        put_int(p, "in1_dtype", (int64_t)(field->value >> 4), isa_tag_name((uint8_t)(field->value >> 4)));
    } else {
        bool named = field->field->kind == ISA_FIELD_VALUE;
        put_int(p, name, (int64_t)field->value, named ? value_name(word, field, generation) : NULL);
    }
}

static void print_word(struct printer *p, const struct isa_decoded_word *word, enum bir_arch arch,
                       enum isa_generation generation)
{
    group_begin(p, NULL);
    if (!p->json)
        bir_buf_printf(p->buf, "%s (opcode 0x%02" PRIx64 ", %s)\n", word->name, word->fields[0].value,
                       bir_arch_name(arch));
    else
        put_text(p, "arch", bir_arch_name(arch));
    p->depth++;
    for (uint32_t i = 0; i < word->n_fields; i++)
        put_field(p, word, &word->fields[i], generation);
    put_problems(p, word->problems, word->n_problems);
    p->depth--;
    group_end(p, NULL);
}

static void print_words(struct printer *p, const uint8_t *bytes, size_t len, enum bir_arch arch,
                        enum isa_generation generation)
{
    struct isa_decoded_word word;
    bool many = len > ISA_WORD_BYTES;
    if (many && p->json) {
        bir_json_put_object_begin(&p->w);
        bir_json_put_key(&p->w, "words");
        bir_json_put_array_begin(&p->w);
    }
    for (size_t at = 0; at < len && p->buf->status == BIR_OK; at += ISA_WORD_BYTES) {
        isa_decode_word(bytes + at, generation, &word);
        print_word(p, &word, arch, generation);
    }
    if (many && p->json) {
        bir_json_put_array_end(&p->w);
        bir_json_put_object_end(&p->w);
    }
}

/* --- the container of encode --format bin (encode_bin.c) --- */

struct reader {
    const uint8_t *bytes;
    size_t len, at;
    bool failed;
};

/* n bytes, or NULL when fewer are left. */
static const uint8_t *take(struct reader *r, size_t n)
{
    if (r->failed || n > r->len - r->at) {
        r->failed = true;
        return NULL;
    }
    r->at += n;
    return r->bytes + r->at - n;
}

static uint64_t take_le(struct reader *r, unsigned width)
{
    const uint8_t *bytes = take(r, width);
    return bytes ? isa_load_le(bytes, width) : 0;
}

static void array_begin(struct printer *p, const char *name)
{
    if (p->json) {
        bir_json_put_key(&p->w, name);
        bir_json_put_array_begin(&p->w);
    }
}

static void array_end(struct printer *p)
{
    if (p->json)
        bir_json_put_array_end(&p->w);
}

static void read_operand(struct printer *p, struct reader *r, enum isa_generation generation)
{
    uint64_t list = take_le(r, 1), slot = take_le(r, 1), size = take_le(r, 1);
    const uint8_t *bytes = take(r, size);
    struct isa_decoded_descriptor descriptor;
    if (!bytes || list >= BIR_ROLE_COUNT || slot >= ISA_SLOTS) {
        r->failed = true;
        return;
    }
    if (size == 0) {
        group_begin(p, NULL);
        put_text(p, "list", isa_role_name((enum bir_role)list));
        put_text(p, "slot", isa_slot_info_of((enum isa_slot)slot)->name);
        put_text(p, "form", "no bytes");
        group_end(p, NULL);
    } else if (isa_decode_slot((enum isa_slot)slot, generation, 0, bytes, size, &descriptor)) {
        print_descriptor(p, &descriptor, "list", isa_role_name((enum bir_role)list));
    } else {
        r->failed = true;
    }
}

static void read_instruction(struct printer *p, struct reader *r, enum bir_arch arch, enum isa_generation generation)
{
    uint16_t opcode = (uint16_t)take_le(r, 2);
    uint8_t engine = (uint8_t)take_le(r, 1);
    uint64_t n_words = take_le(r, 1), n_operands = take_le(r, 2), length = take_le(r, 4);
    const uint8_t *body = take(r, length);
    struct isa_decoded_word word;
    if (!body || n_words * ISA_WORD_BYTES > length) {
        r->failed = true;
        return;
    }
    size_t operands_len = length - n_words * ISA_WORD_BYTES;
    struct reader inside = { body, operands_len, 0, false };
    if (!p->json)
        bir_buf_printf(p->buf, "\n%s on %s\n", bir_opcode_name(opcode), bir_engine_name(engine));
    group_begin(p, NULL);
    if (p->json) {
        put_text(p, "opcode", bir_opcode_name(opcode));
        put_text(p, "engine", bir_engine_name(engine));
    }
    p->depth++;
    array_begin(p, "operands");
    /* A saturated count says only that there are more. */
    for (uint64_t i = 0; (i < n_operands || n_operands == UINT16_MAX) && inside.at < inside.len && !inside.failed; i++)
        read_operand(p, &inside, generation);
    array_end(p);
    array_begin(p, "words");
    for (uint64_t i = 0; i < n_words; i++) {
        isa_decode_word(body + operands_len + i * ISA_WORD_BYTES, generation, &word);
        print_word(p, &word, arch, generation);
    }
    array_end(p);
    p->depth--;
    group_end(p, NULL);
    r->failed = r->failed || inside.failed || inside.at != inside.len;
}

static void read_function(struct printer *p, struct reader *r)
{
    uint64_t len = take_le(r, 4);
    const uint8_t *name = take(r, len);
    if (!name)
        return;
    if (!p->json) {
        bir_buf_puts(p->buf, "\nfunction ");
        bir_buf_put(p->buf, name, len);
        bir_buf_putc(p->buf, '\n');
        return;
    }
    group_begin(p, NULL);
    bir_json_put_key(&p->w, "function");
    bool text = bir_utf8_valid((const char *)name, len, NULL);
    bir_json_put_string(&p->w, text ? (const char *)name : "?", text ? len : 1);
    group_end(p, NULL);
}

/* A flat list of records in file order. False when the file is cut short or malformed; r->at is where. */
static bool print_container(struct printer *p, struct reader *r, enum bir_arch arch, enum isa_generation generation)
{
    enum { RECORD_END, RECORD_FUNCTION, RECORD_INSTRUCTION };
    bool done = false;
    group_begin(p, NULL);
    put_text(p, "arch", bir_arch_name(arch));
    array_begin(p, "records");
    while (!done && !r->failed && p->buf->status == BIR_OK) {
        switch (take_le(r, 1)) {
        case RECORD_FUNCTION: read_function(p, r); break;
        case RECORD_INSTRUCTION: read_instruction(p, r, arch, generation); break;
        default:
            done = !r->failed && r->bytes[r->at - 1] == RECORD_END;
            (void)take_le(r, 8);
            r->failed = r->failed || !done;
            break;
        }
    }
    array_end(p);
    group_end(p, NULL);
    return !r->failed && r->at == r->len;
}

static enum bir_status decode_container(struct printer *p, const uint8_t *bytes, size_t len, struct bir_diags *diags)
{
    enum { HEADER_BYTES = 8, VERSION = 1 };
    struct reader r = { bytes, len, HEADER_BYTES, false };
    enum bir_arch arch = (enum bir_arch)isa_load_le(bytes + 6, 2);
    enum isa_generation generation;
    if (isa_load_le(bytes + 4, 2) != VERSION || !isa_generation_of(arch, &generation))
        return bir_fail(diags, "isa-decode-container", 4, NULL,
                        "version %u and architecture %u of the file are not known", (unsigned)isa_load_le(bytes + 4, 2),
                        (unsigned)isa_load_le(bytes + 6, 2));
    if (!print_container(p, &r, arch, generation) && p->buf->status == BIR_OK)
        return bir_fail(diags, "isa-decode-container", (int64_t)r.at, "write the file again with encode --format bin",
                        "the file is cut short or malformed near byte %zu", r.at);
    return p->buf->status;
}

enum bir_status isa_decode(const uint8_t *bytes, size_t len, const struct isa_decode_options *options,
                           struct bir_diags *diags, struct bir_buf *out)
{
    enum bir_arch arch = options->arch == BIR_ARCH_NONE ? BIR_ARCH_GEN3 : options->arch;
    enum isa_generation generation;
    struct isa_decoded_descriptor descriptor;
    struct printer p = { .json = options->json, .buf = out };
    if (!isa_generation_of(arch, &generation))
        return bir_fail(diags, "isa-unsupported-arch", BIR_NO_OFFSET, "Use --arch sunda, gen3 or core_v4.",
                        "no decoder for architecture %s", bir_arch_name(arch));
    bir_json_writer_init(&p.w, out, options->indent);
    if (options->slot == ISA_SLOT_NONE && len >= 8 && memcmp(bytes, "RISA", 4) == 0)
        return decode_container(&p, bytes, len, diags);
    if (options->slot == ISA_SLOT_NONE) {
        if (len == 0 || len % ISA_WORD_BYTES != 0)
            return bir_fail(diags, "isa-decode-length", BIR_NO_OFFSET,
                            "an instruction word has 64 bytes; name a --slot to decode a descriptor",
                            "%zu bytes are no whole number of 64-byte words", len);
        print_words(&p, bytes, len, arch, generation);
        return out->status;
    }
    if (!isa_decode_slot(options->slot, generation, 0, bytes, len, &descriptor))
        return bir_fail(diags, "isa-decode-length", BIR_NO_OFFSET, NULL, "%s has %u bytes, the input has %zu",
                        isa_slot_info_of(options->slot)->name, isa_slot_info_of(options->slot)->size_bytes, len);
    print_descriptor(&p, &descriptor, "arch", bir_arch_name(arch));
    return out->status;
}
