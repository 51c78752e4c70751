/*
 * Printing goes by the rows of abi.h alone: a walk flattens nested rows into fields (a base first, then the layout's
 * own rows; an inline array into its items, an expression into its members), and one table of value forms says how the
 * bytes of each type read. So a new layout prints without a line here.
 *
 * What a pointer means is looked up in the image: a symbol, a part of the image, the object itself, nothing, or
 * something outside.
 */
#include "bir/abi_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "bir/immediate.h"
#include "bir/module.h"

/* --- walking --- */

struct walk {
    const struct bir_abi_segment *segment;
    bir_abi_field_fn *fn;
    void *user;
};

static void emit(const struct walk *walk, const char *prefix, const char *member, uint32_t offset, uint32_t size,
                 enum bir_abi_type type)
{
    struct bir_abi_field field = { .offset = offset, .size_bytes = size, .type = type };
    snprintf(field.name, sizeof field.name, "%s%s", prefix, member);
    field.bytes = walk->segment->bytes + offset;
    walk->fn(walk->user, walk->segment, &field);
}

static void walk_layout(const struct walk *walk, const struct bir_abi_layout *layout, const char *prefix, uint32_t at);

/* Items of an inline array: of a type with a layout of its own, or plain 8-byte ones. */
static void walk_items(const struct walk *walk, const struct bir_abi_row *row, const char *prefix, uint32_t at,
                       enum bir_abi_type type)
{
    uint32_t item = row->type == BIR_ABI_PAIRS ? (uint32_t)sizeof(struct bir_abi_appair) : 8;
    for (uint32_t i = 0; i < row->size_bytes / item; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s[%" PRIu32 "]", prefix, row->member, i);
        if (row->type != BIR_ABI_PAIRS) {
            emit(walk, name, "", at + i * item, item, type);
            continue;
        }
        strncat(name, ".", sizeof name - strlen(name) - 1);
        walk_layout(walk, bir_abi_layout_of(BIR_ABI_APPAIR), name, at + i * item);
    }
}

static void walk_row(const struct walk *walk, const struct bir_abi_row *row, const char *prefix, uint32_t at)
{
    switch (row->type) {
    case BIR_ABI_PAIRS: walk_items(walk, row, prefix, at, BIR_ABI_I64); break;
    case BIR_ABI_U64S: walk_items(walk, row, prefix, at, BIR_ABI_U64); break;
    case BIR_ABI_PTRS: walk_items(walk, row, prefix, at, BIR_ABI_PTR); break;
    case BIR_ABI_VALUES: walk_items(walk, row, prefix, at, BIR_ABI_VALUE); break;
    case BIR_ABI_QUASI: {
        char name[64];
        snprintf(name, sizeof name, "%s%s.", prefix, row->member);
        walk_layout(walk, bir_abi_layout_of(BIR_ABI_QUASI_AFFINE), name, at);
        break;
    }
    default: emit(walk, prefix, row->member, at, row->size_bytes, row->type); break;
    }
}

/* Depth: three bases, and two nestings in one layout. */
static void walk_layout(const struct walk *walk, const struct bir_abi_layout *layout, const char *prefix, uint32_t at)
{
    if (layout->base != BIR_ABI_NONE)
        walk_layout(walk, bir_abi_layout_of(layout->base), prefix, at);
    for (uint32_t i = 0; i < layout->n_rows; i++)
        walk_row(walk, &layout->rows[i], prefix, at + layout->rows[i].offset);
}

void bir_abi_each_field(const struct bir_abi_segment *segment, bir_abi_field_fn *fn, void *user)
{
    struct walk walk = { segment, fn, user };
    for (uint32_t i = 0; i < segment->count; i++) {
        char prefix[32] = "";
        if (segment->count > 1)
            snprintf(prefix, sizeof prefix, "[%" PRIu32 "].", i);
        walk_layout(&walk, segment->layout, prefix, i * segment->layout->size_bytes);
    }
}

/* --- values --- */

static uint64_t unsigned_of(const struct bir_abi_field *field)
{
    uint64_t value = 0;
    memcpy(&value, field->bytes, field->size_bytes < sizeof value ? field->size_bytes : sizeof value);
    return value;
}

static int64_t signed_of(const struct bir_abi_field *field)
{
    uint64_t value = unsigned_of(field);
    return field->size_bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static bool is_zero(const uint8_t *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

static bool is_opaque(enum bir_abi_type type)
{
    return type == BIR_ABI_GAP || type == BIR_ABI_CACHE;
}

static bool is_pointer(enum bir_abi_type type)
{
    return type == BIR_ABI_PTR || type == BIR_ABI_PARENT;
}

static bool is_unsigned(enum bir_abi_type type)
{
    return type == BIR_ABI_U32 || type == BIR_ABI_U64 || type == BIR_ABI_BOOL;
}

/* Shown in hexadecimal: addresses, literals before their dtype is applied, and what readers of JSON do not hold as an
 * integer. */
static bool is_hex(const struct bir_abi_field *field)
{
    return is_pointer(field->type) || field->type == BIR_ABI_VALUE ||
           (field->type == BIR_ABI_U64 && unsigned_of(field) > INT64_MAX);
}

/* dtype of the operand that the image is of, or -1. */
static int32_t operand_dtype(const struct bir_abi_image *image)
{
    int32_t dtype = -1;
    if (bir_abi_layout_is_argument(image->segments[0].layout))
        memcpy(&dtype, image->segments[0].bytes + offsetof(struct bir_abi_argument, dtype), sizeof dtype);
    return dtype;
}

/* --- meanings --- */

static void mean_offset(struct bir_buf *out, uint64_t offset)
{
    if (offset > 0)
        bir_buf_printf(out, "+0x%" PRIx64, offset);
}

/* Names are as long as their makers like; the list of symbols has them in full. */
#define SHOWN_NAME_BYTES 120

static void mean_name_of(const struct bir_abi_symbol *symbol, struct bir_buf *out)
{
    size_t n = 0;
    while (n < symbol->name_len && n < SHOWN_NAME_BYTES)
        n += bir_utf8_sequence(symbol->name + n, symbol->name_len - n);
    bir_buf_put(out, symbol->name, n);
    if (n < symbol->name_len)
        bir_buf_puts(out, "...");
}

static void mean_pointer(const struct bir_abi_image *image, const struct bir_abi_field *field, struct bir_buf *out)
{
    uint64_t address = unsigned_of(field);
    if (address == 0) {
        bir_buf_puts(out, field->type == BIR_ABI_PARENT ? "NULL Parent Instruction for Argument!" : "none");
        return;
    }
    const struct bir_abi_segment *segment = bir_abi_segment_at(image, address);
    const struct bir_abi_symbol *symbol = segment ? NULL : bir_abi_symbol_at(image, address);
    if (segment == image->segments) {
        bir_buf_puts(out, "this object");
        mean_offset(out, address - segment->address);
    } else if (segment) {
        bir_buf_printf(out, "part %td", segment - image->segments);
        mean_offset(out, address - segment->address);
    } else if (symbol) {
        bir_buf_printf(out, "%s ", bir_abi_symbol_class_name(symbol->class));
        mean_name_of(symbol, out);
        mean_offset(out, address - symbol->address);
    } else {
        bir_buf_puts(out, "outside the image");
    }
}

static void mean_literal(const struct bir_abi_image *image, const struct bir_abi_field *field, struct bir_buf *out)
{
    int32_t dtype = operand_dtype(image);
    struct bir_json_writer w;
    if (dtype < 0 || dtype >= BIR_DTYPE_COUNT || !bir_dtype_is_immediate((uint8_t)dtype)) {
        bir_buf_puts(out, "unsupported dtype");
        return;
    }
    bir_json_writer_init(&w, out, 0);
    bir_immediate_write(&w, (uint8_t)dtype, bir_immediate_bits((uint8_t)dtype, signed_of(field)));
    bir_buf_printf(out, " as %s", bir_dtype_name((uint8_t)dtype));
}

static void mean_name(const char *name, const char *otherwise, struct bir_buf *out)
{
    bir_buf_puts(out, name ? name : otherwise);
}

static void mean_kind(int64_t ordinal, struct bir_buf *out)
{
    const char *problem = NULL;
    const struct bir_abi_layout *layout = bir_abi_layout_by_ordinal(ordinal, &problem);
    mean_name(layout ? layout->name : NULL, problem, out);
}

static const char *tag_name(int64_t tag)
{
    return tag == BIR_STORAGE_SET        ? "MemoryLocationSet"
           : tag == BIR_STORAGE_REGISTER ? "Register"
           : tag == BIR_STORAGE_LOCATION ? "MemoryLocation"
                                         : NULL;
}

static const char *enum_name(enum bir_enum_id id, int64_t value)
{
    return value >= 0 && value <= INT32_MAX ? bir_enum_name(id, (int)value) : NULL;
}

/* Appends nothing when the value says all. */
static void put_meaning(const struct bir_abi_image *image, const struct bir_abi_field *field, struct bir_buf *out)
{
    switch (field->type) {
    case BIR_ABI_PTR:
    case BIR_ABI_PARENT: mean_pointer(image, field, out); break;
    case BIR_ABI_BOOL: mean_name(unsigned_of(field) > 1 ? "neither 0 nor 1" : "", "", out); break;
    case BIR_ABI_KIND: mean_kind(signed_of(field), out); break;
    case BIR_ABI_DTYPE: mean_name(enum_name(BIR_ENUM_DTYPE, signed_of(field)), "Unknown dtype", out); break;
    case BIR_ABI_ENGINE: mean_name(enum_name(BIR_ENUM_ENGINE, signed_of(field)), "unknown engine", out); break;
    case BIR_ABI_DIM: mean_name(enum_name(BIR_ENUM_INDIRECT_DIM, signed_of(field)), "unknown dimension", out); break;
    case BIR_ABI_TAG: mean_name(tag_name(signed_of(field)), "unknown class tag", out); break;
    case BIR_ABI_VALUE: mean_literal(image, field, out); break;
    case BIR_ABI_GAP: bir_buf_puts(out, "not mapped"); break;
    case BIR_ABI_CACHE: bir_buf_puts(out, "derived"); break;
    default: break;
    }
}

/* --- text --- */

struct text {
    const struct bir_abi_image *image;
    struct bir_buf *out;
};

#define DUMP_LINE_BYTES 16

static void put_dump(const struct bir_abi_field *field, struct bir_buf *out)
{
    for (uint32_t at = 0; at < field->size_bytes; at += DUMP_LINE_BYTES) {
        uint32_t n = field->size_bytes - at < DUMP_LINE_BYTES ? field->size_bytes - at : DUMP_LINE_BYTES;
        bir_buf_printf(out, "  0x%03" PRIx32 "       ", field->offset + at);
        bir_buf_put_hex(out, field->bytes + at, n);
        bir_buf_putc(out, '\n');
    }
}

static void put_value_text(const struct bir_abi_field *field, char value[32])
{
    if (is_opaque(field->type))
        snprintf(value, 32, "%s", is_zero(field->bytes, field->size_bytes) ? "zero" : "below");
    else if (is_hex(field))
        snprintf(value, 32, "0x%" PRIx64, unsigned_of(field));
    else if (is_unsigned(field->type))
        snprintf(value, 32, "%" PRIu64, unsigned_of(field));
    else
        snprintf(value, 32, "%" PRId64, signed_of(field));
}

static void put_line(void *user, const struct bir_abi_segment *segment, const struct bir_abi_field *field)
{
    const struct text *text = user;
    struct bir_buf *out = text->out;
    char value[32], hex[17] = "";
    (void)segment;
    put_value_text(field, value);
    for (uint32_t i = 0; field->size_bytes <= 8 && i < field->size_bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", field->bytes[i]);
    bir_buf_printf(out, "  0x%03" PRIx32 " %4" PRIu32 "  %-16s  %-27s %-20s ", field->offset, field->size_bytes, hex,
                   field->name, value);
    put_meaning(text->image, field, out);
    while (out->len > 0 && out->data[out->len - 1] == ' ')
        out->len--;
    bir_buf_putc(out, '\n');
    if (is_opaque(field->type) && !is_zero(field->bytes, field->size_bytes))
        put_dump(field, out);
}

static void put_title(const struct bir_abi_image *image, uint32_t i, struct bir_buf *out)
{
    const struct bir_abi_segment *segment = &image->segments[i];
    const struct bir_abi_symbol *self = i == 0 ? bir_abi_symbol_at(image, segment->address) : NULL;
    if (i > 0)
        bir_buf_printf(out, "part %" PRIu32 ": ", i);
    bir_buf_puts(out, segment->layout->name);
    if (self) {
        bir_buf_putc(out, ' ');
        mean_name_of(self, out);
    }
    bir_buf_printf(out, " at 0x%" PRIx64 ": ", segment->address);
    if (segment->count > 1)
        bir_buf_printf(out, "%" PRIu32 " x ", segment->count);
    bir_buf_printf(out, "%s, 0x%" PRIx32 " bytes\n", segment->layout->class_name, segment->layout->size_bytes);
}

void bir_abi_image_text(const struct bir_abi_image *image, struct bir_buf *out)
{
    struct text text = { image, out };
    for (uint32_t i = 0; i < image->n_segments && out->status == BIR_OK; i++) {
        put_title(image, i, out);
        bir_abi_each_field(&image->segments[i], put_line, &text);
    }
    if (image->n_symbols > 0)
        bir_buf_puts(out, "symbols:\n");
    for (uint32_t i = 0; i < image->n_symbols; i++) {
        const struct bir_abi_symbol *symbol = &image->symbols[i];
        bir_buf_printf(out, "  0x%" PRIx64 "  %-12s ", symbol->address, bir_abi_symbol_class_name(symbol->class));
        bir_buf_put(out, symbol->name, symbol->name_len);
        bir_buf_putc(out, '\n');
    }
}

/* --- JSON --- */

struct json {
    const struct bir_abi_image *image;
    struct bir_json_writer *w;
};

static void put_hex_member(struct bir_json_writer *w, const char *key, uint64_t value)
{
    char text[19];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    bir_json_put_key(w, key);
    bir_json_put_cstr(w, text);
}

static void put_count_member(struct bir_json_writer *w, const char *key, uint64_t value)
{
    bir_json_put_key(w, key);
    bir_json_put_u64(w, value);
}

static void put_text_member(struct bir_json_writer *w, const char *key, const char *text, size_t len)
{
    bir_json_put_key(w, key);
    bir_json_put_string(w, text, len);
}

static void put_value_json(struct bir_json_writer *w, const struct bir_abi_field *field)
{
    if (is_opaque(field->type))
        return;
    if (is_hex(field)) {
        put_hex_member(w, "value", unsigned_of(field));
        return;
    }
    bir_json_put_key(w, "value");
    if (is_unsigned(field->type))
        bir_json_put_u64(w, unsigned_of(field));
    else
        bir_json_put_i64(w, signed_of(field));
}

static void put_field(void *user, const struct bir_abi_segment *segment, const struct bir_abi_field *field)
{
    const struct json *json = user;
    struct bir_json_writer *w = json->w;
    struct bir_buf text;
    (void)segment;
    bir_buf_init(&text, 0);
    bir_buf_put_hex(&text, field->bytes, field->size_bytes);
    bir_json_put_object_begin(w);
    put_count_member(w, "offset", field->offset);
    put_count_member(w, "size", field->size_bytes);
    put_text_member(w, "member", field->name, strlen(field->name));
    put_text_member(w, "bytes", text.data ? text.data : "", text.len);
    put_value_json(w, field);
    text.len = 0;
    put_meaning(json->image, field, &text);
    if (text.len > 0)
        put_text_member(w, "meaning", text.data, text.len);
    bir_json_put_object_end(w);
    if (text.status != BIR_OK)
        w->buf->status = text.status;
    bir_buf_deinit(&text);
}

static void put_segment(struct json *json, const struct bir_abi_segment *segment)
{
    struct bir_json_writer *w = json->w;
    bir_json_put_object_begin(w);
    put_hex_member(w, "address", segment->address);
    put_text_member(w, "layout", segment->layout->name, strlen(segment->layout->name));
    put_count_member(w, "count", segment->count);
    bir_json_put_key(w, "fields");
    bir_json_put_array_begin(w);
    bir_abi_each_field(segment, put_field, json);
    bir_json_put_array_end(w);
    bir_json_put_object_end(w);
}

static void put_symbol(struct bir_json_writer *w, const struct bir_abi_symbol *symbol)
{
    const char *class = bir_abi_symbol_class_name(symbol->class);
    bir_json_put_object_begin(w);
    put_hex_member(w, "address", symbol->address);
    put_count_member(w, "size", symbol->size_bytes);
    put_text_member(w, "class", class, strlen(class));
    put_text_member(w, "name", symbol->name, symbol->name_len);
    bir_json_put_object_end(w);
}

void bir_abi_image_json(const struct bir_abi_image *image, struct bir_json_writer *w)
{
    struct json json = { image, w };
    const struct bir_abi_segment *object = &image->segments[0];
    const struct bir_abi_symbol *self = bir_abi_symbol_at(image, object->address);
    bir_json_put_object_begin(w);
    put_text_member(w, "kind", object->layout->name, strlen(object->layout->name));
    if (self)
        put_text_member(w, "name", self->name, self->name_len);
    put_text_member(w, "class", object->layout->class_name, strlen(object->layout->class_name));
    put_hex_member(w, "address", object->address);
    bir_json_put_key(w, "segments");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < image->n_segments && w->buf->status == BIR_OK; i++)
        put_segment(&json, &image->segments[i]);
    bir_json_put_array_end(w);
    bir_json_put_key(w, "symbols");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < image->n_symbols; i++)
        put_symbol(w, &image->symbols[i]);
    bir_json_put_array_end(w);
    bir_json_put_object_end(w);
}
