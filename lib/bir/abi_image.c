/*
 * Images as values and as files.
 *
 * Lists ascend by address, so that what an address means is found by binary search and an image has one file form only.
 * A reader believes a count after it has seen that many bytes: every segment and symbol takes at least its header.
 */
#include "bir/abi_image.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_reader.h"

enum { FILE_HEADER_BYTES = 16, SEGMENT_HEADER_BYTES = 16, SYMBOL_HEADER_BYTES = 20 };

const char *bir_abi_symbol_class_name(enum bir_abi_symbol_class class)
{
    static const char *const names[] = { "vtable",       "instruction", "operand",    "location",
                                         "location set", "register",    "expression", "axis" };
    return (unsigned)class < BIR_ABI_SYMBOL_COUNT ? names[class] : "?";
}

static uint64_t segment_bytes(const struct bir_abi_segment *segment)
{
    return (uint64_t)segment->count * segment->layout->size_bytes;
}

/* How many of the items, whose first member is their address, start at or before one. */
static uint32_t count_up_to(const void *items, size_t item_size, uint32_t count, uint64_t address)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint64_t start;
        memcpy(&start, (const char *)items + middle * item_size, sizeof start);
        if (start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
_Static_assert(offsetof(struct bir_abi_segment, address) == 0 && offsetof(struct bir_abi_symbol, address) == 0,
               "count_up_to reads the first member");

const struct bir_abi_segment *bir_abi_segment_at(const struct bir_abi_image *image, uint64_t address)
{
    uint32_t n = count_up_to(image->segments, sizeof *image->segments, image->n_segments, address);
    const struct bir_abi_segment *segment = n > 0 ? &image->segments[n - 1] : NULL;
    return segment && address - segment->address < segment_bytes(segment) ? segment : NULL;
}

const struct bir_abi_symbol *bir_abi_symbol_at(const struct bir_abi_image *image, uint64_t address)
{
    uint32_t n = count_up_to(image->symbols, sizeof *image->symbols, image->n_symbols, address);
    const struct bir_abi_symbol *symbol = n > 0 ? &image->symbols[n - 1] : NULL;
    return symbol && address - symbol->address < symbol->size_bytes ? symbol : NULL;
}

/* Writing */

static void put_u32(struct bir_buf *out, uint32_t value)
{
    bir_buf_put(out, &value, sizeof value);
}

static void put_u64(struct bir_buf *out, uint64_t value)
{
    bir_buf_put(out, &value, sizeof value);
}

void bir_abi_image_put(const struct bir_abi_image *image, struct bir_buf *out)
{
    const uint8_t head[] = { BIR_ABI_VERSION, (uint8_t)image->segments[0].layout->id, 0, 0 };
    bir_buf_puts(out, BIR_ABI_MAGIC);
    bir_buf_put(out, head, sizeof head);
    put_u32(out, image->n_segments);
    put_u32(out, image->n_symbols);
    for (uint32_t i = 0; i < image->n_segments; i++) {
        const struct bir_abi_segment *segment = &image->segments[i];
        put_u64(out, segment->address);
        put_u32(out, (uint32_t)segment->layout->id);
        put_u32(out, segment->count);
        bir_buf_put(out, segment->bytes, segment_bytes(segment));
    }
    for (uint32_t i = 0; i < image->n_symbols; i++) {
        const struct bir_abi_symbol *symbol = &image->symbols[i];
        put_u64(out, symbol->address);
        put_u32(out, symbol->size_bytes);
        put_u32(out, (uint32_t)symbol->class);
        put_u32(out, symbol->name_len);
        bir_buf_put(out, symbol->name, symbol->name_len);
    }
}

/* Reading */

struct reader {
    const uint8_t *bytes;
    size_t len, at;
    struct bir_arena *arena;
    struct bir_diags *diags;
};

static enum bir_status fail(struct reader *r, const char *what)
{
    return bir_fail(r->diags, "abi-file", BIR_NO_OFFSET, "write image files with the option binary of inspect",
                    "byte %zu of the image file: %s", r->at, what);
}

static bool has(const struct reader *r, uint64_t n)
{
    return n <= r->len - r->at;
}

static uint32_t get_u32(struct reader *r)
{
    uint32_t value;
    memcpy(&value, r->bytes + r->at, sizeof value);
    r->at += sizeof value;
    return value;
}

static uint64_t get_u64(struct reader *r)
{
    uint64_t value;
    memcpy(&value, r->bytes + r->at, sizeof value);
    r->at += sizeof value;
    return value;
}

/* A range of addresses that starts at or after *end, which becomes its end. */
static bool follows(uint64_t address, uint64_t size, uint64_t *end)
{
    if (address < *end || size == 0)
        return false;
    return !__builtin_add_overflow(address, size, end);
}

static enum bir_status get_segments(struct reader *r, struct bir_abi_segment *segments, uint32_t count)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!has(r, SEGMENT_HEADER_BYTES))
            return fail(r, "a segment is cut short");
        uint64_t address = get_u64(r);
        const struct bir_abi_layout *layout = bir_abi_layout_of((enum bir_abi_layout_id)get_u32(r));
        segments[i] = (struct bir_abi_segment){ address, layout, get_u32(r), r->bytes + r->at };
        if (!layout)
            return fail(r, "a segment has an unknown layout");
        if (segments[i].count == 0 || !has(r, segment_bytes(&segments[i])))
            return fail(r, "a segment holds no element, or more than the file");
        if (!follows(address, segment_bytes(&segments[i]), &end))
            return fail(r, "the addresses of segments do not ascend without overlap");
        r->at += segment_bytes(&segments[i]);
    }
    return BIR_OK;
}

static enum bir_status get_symbols(struct reader *r, struct bir_abi_symbol *symbols, uint32_t count)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!has(r, SYMBOL_HEADER_BYTES))
            return fail(r, "a symbol is cut short");
        symbols[i].address = get_u64(r);
        symbols[i].size_bytes = get_u32(r);
        size_t bad;
        uint32_t class = get_u32(r);
        symbols[i].class = (enum bir_abi_symbol_class) class;
        symbols[i].name_len = get_u32(r);
        symbols[i].name = (const char *)r->bytes + r->at;
        if (class >= BIR_ABI_SYMBOL_COUNT)
            return fail(r, "a symbol has an unknown class");
        if (!has(r, symbols[i].name_len) || !bir_utf8_valid(symbols[i].name, symbols[i].name_len, &bad))
            return fail(r, "the name of a symbol is longer than the file, or not UTF-8");
        if (!follows(symbols[i].address, symbols[i].size_bytes, &end))
            return fail(r, "the addresses of symbols do not ascend without overlap");
        r->at += symbols[i].name_len;
    }
    return BIR_OK;
}

/* The ordinal that an operand carries must be that of its class. */
static enum bir_status check_ordinal(const struct bir_abi_segment *object, struct bir_diags *diags)
{
    int32_t ordinal;
    const char *problem = NULL;
    if (!bir_abi_layout_is_argument(object->layout))
        return BIR_OK;
    memcpy(&ordinal, object->bytes + offsetof(struct bir_abi_argument, kind), sizeof ordinal);
    const struct bir_abi_layout *layout = bir_abi_layout_by_ordinal(ordinal, &problem);
    if (!layout)
        return bir_fail(diags, "abi-kind", BIR_NO_OFFSET, "kinds with a class are 1, 2, 3, 6, 7, 8 and 11",
                        "%s %" PRId32 " at offset 0x18 of the object", problem, ordinal);
    if (object->layout->ordinal != 0 && layout != object->layout)
        return bir_fail(diags, "abi-kind", BIR_NO_OFFSET, "name the kind that the object has",
                        "the object has kind %" PRId32 " (%s) at offset 0x18, not %" PRId32 " (%s)", ordinal,
                        layout->name, object->layout->ordinal, object->layout->name);
    return BIR_OK;
}

static enum bir_status get_lists(struct reader *r, uint32_t n_segments, uint32_t n_symbols, struct bir_abi_image *image)
{
    if (!has(r, (uint64_t)n_segments * SEGMENT_HEADER_BYTES + (uint64_t)n_symbols * SYMBOL_HEADER_BYTES))
        return fail(r, "there are more segments and symbols than fit into the file");
    struct bir_abi_segment *segments = bir_arena_alloc_array(r->arena, BIR_MEM_OTHER, n_segments, sizeof *segments);
    if (!segments)
        return bir_arena_failure(r->arena);
    struct bir_abi_symbol *symbols = bir_arena_alloc_array(r->arena, BIR_MEM_OTHER, n_symbols, sizeof *symbols);
    if (!symbols)
        return bir_arena_failure(r->arena);
    BIR_TRY(get_segments(r, segments, n_segments));
    BIR_TRY(get_symbols(r, symbols, n_symbols));
    *image = (struct bir_abi_image){ segments, symbols, n_segments, n_symbols };
    return BIR_OK;
}

bool bir_abi_is_file(const uint8_t *bytes, size_t len)
{
    return len >= FILE_HEADER_BYTES && memcmp(bytes, BIR_ABI_MAGIC, strlen(BIR_ABI_MAGIC)) == 0;
}

enum bir_status bir_abi_image_get(const uint8_t *bytes, size_t len, size_t *at, const struct bir_abi_layout *layout,
                                  struct bir_arena *arena, struct bir_diags *diags, struct bir_abi_image *image)
{
    struct reader r = { bytes, len, *at, arena, diags };
    struct bir_abi_image got;
    if (!bir_abi_is_file(bytes + *at, len - *at) || bytes[*at + 4] != BIR_ABI_VERSION)
        return fail(&r, "expected \"" BIR_ABI_MAGIC "\" and version 1");
    const uint8_t *head = bytes + *at + 5;
    r.at += 8;
    uint32_t n_segments = get_u32(&r), n_symbols = get_u32(&r);
    if (n_segments == 0 || head[1] != 0 || head[2] != 0)
        return fail(&r, "the header names no segment, or its spare bytes are not zero");
    BIR_TRY(get_lists(&r, n_segments, n_symbols, &got));
    const struct bir_abi_segment *object = &got.segments[0];
    if ((int)object->layout->id != head[0] || object->count != 1 || !object->layout->stands_alone)
        return fail(&r, "the first segment is not the one object that the header announces");
    if (layout && object->layout != layout)
        return bir_fail(diags, "abi-kind", BIR_NO_OFFSET, "name the kind that the image has, or auto",
                        "the image is that of a %s, not of a %s", object->layout->name, layout->name);
    BIR_TRY(check_ordinal(object, diags));
    *at = r.at;
    *image = got;
    return BIR_OK;
}

/* Bare bytes */

static uint64_t pointer_at(const uint8_t *bytes, size_t offset)
{
    uint64_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static uint32_t count_at(const uint8_t *bytes, size_t offset)
{
    uint32_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

/* Where small vectors stand in each layout: data pointer, capacity, first inline item. */
static const struct small_place {
    enum bir_abi_layout_id layout;
    uint32_t data, cap, items;
    uint32_t inline_cap;
} small_places[] = {
#define PLACE(ID, name, member, inline_cap)                                                                            \
    { BIR_ABI_##ID, offsetof(struct bir_abi_##name, member.data), offsetof(struct bir_abi_##name, member.cap),         \
      offsetof(struct bir_abi_##name, member.items), inline_cap },
    PLACE(ACCESS_PATTERN, access_pattern, pattern, BIR_ABI_PAIRS_INLINE)
        PLACE(ACCESS_PATTERN, access_pattern, access_shape, BIR_ABI_SHAPE_INLINE)
            PLACE(SYMBOLIC_IMM_VALUE, symbolic_imm_value, expr.axes, BIR_ABI_AXES_INLINE)
                PLACE(IMM_ARRAY, imm_array, values, BIR_ABI_ARRAY_INLINE)
                    PLACE(INST_ARG, inst_arg, pattern, BIR_ABI_PAIRS_INLINE)
                        PLACE(DYNAMIC_AP_INFO, dynamic_ap_info, actual, BIR_ABI_PAIRS_INLINE)
#undef PLACE
};

/* A small vector that has not grown points into its object. */
static uint64_t recover_address(const struct bir_abi_layout *layout, const uint8_t *bytes)
{
    for (const struct bir_abi_layout *l = layout; l; l = bir_abi_layout_of(l->base))
        for (size_t i = 0; i < sizeof small_places / sizeof *small_places; i++) {
            const struct small_place *place = &small_places[i];
            uint64_t data = pointer_at(bytes, place->layout == l->id ? place->data : 0);
            if (place->layout == l->id && count_at(bytes, place->cap) == place->inline_cap && data > place->items)
                return data - place->items;
        }
    return 0;
}

static enum bir_status layout_of_bytes(const uint8_t *bytes, size_t len, struct bir_diags *diags,
                                       const struct bir_abi_layout **layout)
{
    const char *problem = NULL;
    if (len < sizeof(struct bir_abi_argument))
        return bir_fail(diags, "abi-size", BIR_NO_OFFSET, NULL, "%zu bytes are less than any operand has (0x%zx)", len,
                        sizeof(struct bir_abi_argument));
    int32_t ordinal = (int32_t)count_at(bytes, offsetof(struct bir_abi_argument, kind));
    *layout = bir_abi_layout_by_ordinal(ordinal, &problem);
    if (!*layout)
        return bir_fail(diags, "abi-kind", BIR_NO_OFFSET, "kinds with a class are 1, 2, 3, 6, 7, 8 and 11",
                        "%s %" PRId32 " at offset 0x18 of the object", problem, ordinal);
    return BIR_OK;
}

enum bir_status bir_abi_image_bare(const uint8_t *bytes, size_t len, const struct bir_abi_layout *layout,
                                   struct bir_arena *arena, struct bir_diags *diags, struct bir_abi_image *image)
{
    if (!layout)
        BIR_TRY(layout_of_bytes(bytes, len, diags, &layout));
    if (len != layout->size_bytes)
        return bir_fail(diags, "abi-size", BIR_NO_OFFSET, "give exactly the bytes of one object, or an image file",
                        "a %s has %" PRIu32 " bytes, the input has %zu", layout->name, layout->size_bytes, len);
    uint64_t address = recover_address(layout, bytes), end;
    if (__builtin_add_overflow(address, (uint64_t)layout->size_bytes, &end))
        address = 0;
    struct bir_abi_segment *segment = BIR_NEW(arena, BIR_MEM_OTHER, struct bir_abi_segment);
    if (!segment)
        return bir_arena_failure(arena);
    *segment = (struct bir_abi_segment){ address, layout, 1, bytes };
    BIR_TRY(check_ordinal(segment, diags));
    *image = (struct bir_abi_image){ segment, NULL, 1, 0 };
    return BIR_OK;
}
