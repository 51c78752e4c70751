/*
 * Views: TensorRefs that name a place in memory instead of a tensor with an Address (klr-format.md 6.1).
 *
 * The sheets give their fields and no meaning, and no tracer writes them; what follows is *choice*, here and nowhere
 * else, close to what the file's authors say of the two structures:
 *
 *   TensorSram  parNum partitions from partition parOffset of the memory on; in each the elements that `pattern`, the
 *               pairs of the free dimensions alone, reaches from byte freeOffset on. From partition to partition the
 *               step is always one.
 *   TensorHbm   the elements that `dims`, one pair a dimension, reaches from byte `address` of HBM on.
 *
 * As everywhere but in Access.pattern, the third word of a pair is part of the start already and is not added again
 * (lowering.md, correction 5).
 *
 * Addresses are absolute, so a view's location is a placed one. A view inside a placed tensor whose address has the
 * view's name is an access to that tensor's location. All other views that start at the same byte of the same memory
 * share one location, as large as the largest of them needs, whatever their names are; it takes the name of the view
 * that is used first. Locations that overlap without sharing a start are told apart by their names only; the dependency
 * passes compare addresses.
 *
 * The start is the lowest byte a view touches, not the byte its pattern begins with: steps may be negative.
 */
#include <stdio.h>

#include "codegen/context.h"
#include "codegen/maps.h"

struct view_fault {
    const char *code, *text;
};

/* A view of any arm, taken apart. `access` has dtype and pairs, those of TensorSram after a first one that is still to
 * come; `low_elems` is the element at the region's first byte, relative to the start of the pattern (at most 0). */
struct view {
    const struct klr_node *node;
    const struct bir_str *name;
    struct codegen_region region;
    int64_t elem_bytes, low_elems;
    bool on_chip;
};

static const char *memory_name(enum bir_memory_type type)
{
    return bir_enum_name(BIR_ENUM_MEMORY_TYPE, (int)type);
}

static bool is_on_chip(const struct klr_node *ref)
{
    return ref->ctor != KLR_TensorRef_hbm;
}

static bool read_pairs(const struct klr_list *pairs, struct codegen_access *access)
{
    for (uint64_t i = 0; i < pairs->count; i++) {
        const struct klr_node *pair = pairs->items[i].node;
        uint64_t num = klr_nat_at(pair, KLR_APPair_num);
        if (num > INT64_MAX)
            return false;
        access->pairs[access->rank++] = (struct bir_pair){ klr_int_at(pair, KLR_APPair_step), (int64_t)num };
    }
    return true;
}

/* first_byte and row_bytes of the region from the pairs and the byte they begin at. */
static bool read_extent(struct view *view, const struct codegen_access *access, uint64_t start)
{
    int64_t low, high, first, length;
    bool empty;
    if (start > INT64_MAX || !codegen_pairs_range(access, view->on_chip ? 1 : 0, &low, &high, &empty) ||
        __builtin_mul_overflow(low, view->elem_bytes, &first) ||
        __builtin_add_overflow((int64_t)start, first, &first) || first < 0 ||
        __builtin_sub_overflow(high, low, &length) || __builtin_add_overflow(length, 1, &length) ||
        __builtin_mul_overflow(length, view->elem_bytes, &length) || length > INT64_MAX - first)
        return false;
    view->low_elems = low;
    view->region.first_byte = (uint64_t)first;
    view->region.row_bytes = length;
    return true;
}

/* NULL, or what is wrong with it. */
static const struct view_fault *view_read(const struct klr_node *ref, struct view *view, struct codegen_access *access)
{
    static const struct view_fault no_dtype = { "klr-dtype", "its dtype is not known" },
                                   rank = { "klr-rank", "it has no dimensions, or too many" },
                                   partitions = { "klr-partitions", "the memory has 128 partitions" },
                                   bounds = { "klr-bounds", "it reaches below byte 0 or beyond 2^63" };
    *view = (struct view){ .node = klr_node_at(ref, KLR_TensorRef_sbuf_view), .on_chip = is_on_chip(ref) };
    view->name = klr_string_at(view->node, KLR_TensorSram_name);
    int dtype = codegen_map_dtype(klr_enum_at(view->node, KLR_TensorSram_dtype));
    const struct klr_list *pairs = klr_list_at(view->node, view->on_chip ? KLR_TensorSram_pattern : KLR_TensorHbm_dims);
    if (dtype < 0)
        return &no_dtype;
    *access = (struct codegen_access){ .dtype = (uint8_t)dtype, .source_offset = codegen_source(view->node) };
    access->rank = view->on_chip ? 1 : 0;
    if (pairs->count + access->rank < 1 || pairs->count > BIR_PATTERN_MAX_RANK - 1)
        return &rank;
    view->elem_bytes = bir_dtype_bytes(access->dtype);
    view->region = (struct codegen_region){ .type = BIR_MEMORY_DRAM, .rows = 1, .placed = true };
    uint64_t start = klr_nat_at(view->node, view->on_chip ? KLR_TensorSram_freeOffset : KLR_TensorHbm_address);
    if (view->on_chip) {
        uint64_t count = klr_nat_at(view->node, KLR_TensorSram_parNum);
        view->region.type = ref->ctor == KLR_TensorRef_sbuf ? BIR_MEMORY_SB : BIR_MEMORY_PSUM;
        view->region.first_row = klr_nat_at(view->node, KLR_TensorSram_parOffset);
        if (count > CODEGEN_PARTITIONS || view->region.first_row > CODEGEN_PARTITIONS - count)
            return &partitions;
        view->region.rows = (int64_t)count;
    }
    return read_pairs(pairs, access) && read_extent(view, access, start) ? NULL : &bounds;
}

/* The area of views that start where this one does, enlarged to hold it. NULL on allocation failure. */
static struct codegen_view_area *area_of(struct codegen *cg, const struct view *view)
{
    const struct codegen_region *region = &view->region;
    char key[64];
    int len = snprintf(key, sizeof key, "%s@%llu,%llu", memory_name(region->type),
                       (unsigned long long)region->first_row, (unsigned long long)region->first_byte);
    const struct bir_str *name = bir_intern(&cg->module->strings, key, (size_t)len);
    struct codegen_view_area *area = name ? bir_map_get(&cg->views, name) : NULL;
    if (name && !area) {
        area = BIR_NEW(&cg->scratch, BIR_MEM_OTHER, struct codegen_view_area);
        if (!area || !bir_map_put(&cg->views, &cg->scratch, name, area))
            return NULL;
        area->region = *region;
    }
    if (!area)
        return NULL;
    area->region.rows = region->rows > area->region.rows ? region->rows : area->region.rows;
    area->region.row_bytes = region->row_bytes > area->region.row_bytes ? region->row_bytes : area->region.row_bytes;
    area->elem_bytes = view->elem_bytes > area->elem_bytes ? view->elem_bytes : area->elem_bytes;
    return area;
}

enum bir_status codegen_view_survey(struct codegen *cg, const struct klr_node *ref)
{
    struct codegen_access access;
    struct view view;
    if (view_read(ref, &view, &access))
        return BIR_OK;
    return area_of(cg, &view) ? BIR_OK : codegen_nomem(cg);
}

/* --- locations --- */

/* A name that no location of the function has. */
static const struct bir_str *free_name(struct codegen *cg, const struct view *view)
{
    char suffix[64];
    const struct bir_str *name = codegen_text(cg, view->name);
    if (name && name->len && !bir_function_find_location(cg->function, name))
        return name;
    snprintf(suffix, sizeof suffix, "@%s:%llu,%llu", memory_name(view->region.type),
             (unsigned long long)view->region.first_row, (unsigned long long)view->region.first_byte);
    name = name ? codegen_text_with(cg, name, suffix) : NULL;
    while (name && bir_function_find_location(cg->function, name))
        name = codegen_text_with(cg, name, "'");
    return name;
}

static enum bir_status area_location(struct codegen *cg, const struct view *view, uint8_t dtype,
                                     struct bir_location **out)
{
    struct codegen_view_area *area = area_of(cg, view);
    if (!area)
        return codegen_nomem(cg);
    if (area->function != cg->function) {
        const struct bir_str *name = free_name(cg, view);
        struct codegen_region region = area->region;
        if (!name)
            return codegen_nomem(cg);
        /* Rows hold whole elements of every view: sizes are powers of two. */
        if (view->on_chip && __builtin_add_overflow(region.row_bytes, area->elem_bytes - 1, &region.row_bytes))
            return codegen_fail(cg, "klr-size", view->node, NULL, "rows of more than 2^63 bytes");
        region.row_bytes -= view->on_chip ? region.row_bytes % area->elem_bytes : 0;
        area->function = NULL;
        BIR_TRY(codegen_location_at(cg, name, &region, dtype, view->node, &area->location));
        area->function = cg->function;
    }
    *out = area->location;
    return BIR_OK;
}

/* Whether the view lies in the placed location, on element boundaries of its rows. */
static bool is_inside(const struct bir_location *location, const struct view *view)
{
    const struct codegen_region *region = &view->region;
    uint64_t start = codegen_location_start(location), elem = (uint64_t)view->elem_bytes;
    uint64_t rows = (uint64_t)location->dims->items[0], row_bytes = (uint64_t)location->dims->items[1];
    if (!view->on_chip) {
        row_bytes *= rows; /* no overflow: region_read */
    } else if (region->first_row < location->base_partition ||
               region->first_row + (uint64_t)region->rows > location->base_partition + rows || row_bytes % elem) {
        return false;
    }
    return region->first_byte >= start && (region->first_byte - start) % elem == 0 &&
           region->first_byte - start <= row_bytes &&
           (uint64_t)region->row_bytes <= row_bytes - (region->first_byte - start);
}

/* *out is the location of the tensor whose address has the view's name, or NULL when the view is not part of it. */
static enum bir_status tensor_location(struct codegen *cg, const struct view *view, struct bir_location **out)
{
    const struct bir_str *name = bir_intern_find(&cg->module->strings, view->name->text, view->name->len);
    const struct codegen_pitch *pitch = name ? bir_map_get(&cg->pitches, name) : NULL;
    const struct codegen_tensor *tensor;
    *out = NULL;
    if (!pitch)
        return BIR_OK;
    BIR_TRY(codegen_tensor_get(cg, pitch->tensor, view->node, &tensor));
    if (tensor->location->type != view->region.type)
        return codegen_fail(cg, "klr-address-conflict", view->node, "give tensor and view the same memory",
                            "'%.80s' is a view into %s of a tensor in %s", view->name->text,
                            memory_name(view->region.type), memory_name((enum bir_memory_type)tensor->location->type));
    if (!tensor->location->pinned)
        return codegen_fail(cg, "klr-address-conflict", view->node,
                            "access the tensor by its name, or give it an address",
                            "'%.80s' is a view at partition %llu, byte %llu of a tensor that has no address yet",
                            view->name->text, (unsigned long long)view->region.first_row,
                            (unsigned long long)view->region.first_byte);
    if (is_inside(tensor->location, view))
        *out = tensor->location;
    return BIR_OK;
}

/* --- access --- */

/* Start and steps inside the location, which holds the view. */
static void move_into(const struct view *view, struct codegen_access *access)
{
    const struct bir_location *location = access->location;
    const struct codegen_region *region = &view->region;
    access->offset_elems =
        (int64_t)(region->first_byte - codegen_location_start(location)) / view->elem_bytes - view->low_elems;
    if (!view->on_chip)
        return;
    int64_t pitch = location->dims->items[1] / view->elem_bytes;
    access->offset_elems += (int64_t)(region->first_row - location->base_partition) * pitch;
    access->pairs[0] = (struct bir_pair){ pitch, region->rows };
}

enum bir_status codegen_view_access(struct codegen *cg, const struct klr_node *ref, struct codegen_access *out)
{
    struct view view;
    const struct view_fault *fault = view_read(ref, &view, out);
    if (fault)
        return codegen_fail(cg, fault->code, view.node, NULL, "view '%.80s' (%llu %s at %llu, first byte %llu): %s",
                            view.name->text,
                            (unsigned long long)(view.on_chip ? klr_nat_at(view.node, KLR_TensorSram_parNum) : 1),
                            view.on_chip ? "partitions" : "row",
                            (unsigned long long)(view.on_chip ? klr_nat_at(view.node, KLR_TensorSram_parOffset) : 0),
                            (unsigned long long)klr_nat_at(view.node, view.on_chip ? KLR_TensorSram_freeOffset
                                                                                   : KLR_TensorHbm_address),
                            fault->text);
    if (!view.on_chip)
        BIR_TRY(
            codegen_check_direction(cg, &out->pairs[0], 1, klr_list_at(view.node, KLR_TensorHbm_dims)->items[0].node));
    BIR_TRY(tensor_location(cg, &view, &out->location));
    if (!out->location)
        BIR_TRY(area_location(cg, &view, out->dtype, &out->location));
    if (!is_inside(out->location, &view))
        return codegen_fail(cg, "klr-address-conflict", view.node, NULL, "view '%.80s' reaches out of location '%.80s'",
                            view.name->text, out->location->base.name->text);
    move_into(&view, out);
    return codegen_fold_rank(cg, out, view.node);
}
