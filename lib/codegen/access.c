/*
 * Accesses to start offset and pairs.
 *
 * All four kinds end as one form: a start offset in elements and one (step, num) pair a dimension over the tensor laid
 * out row-major in its own shape, the partition dimension first (klr-format.md 9.3 to 9.5). A slice keeps its step and
 * its rounded-up count (lowering.md, correction 15; the peer loses both), and a negative total offset is an error, not
 * 0.
 *
 * Then the geometry is checked against the tensor, in elements, and moved from the tensor's rows to those of the
 * location: on chip a row of the address may be longer than one of the tensor (or of another element size), so steps of
 * whole rows become steps of whole pitches, and the rest has to stay inside its row.
 *
 * BIR-JSON holds at most five pairs (bir-json.md 8.4). A pattern with more loses pairs of one element and joins
 * neighbours that make one run; one that still has more is an error.
 */
#include "codegen/context.h"
#include "codegen/maps.h"

/* Most pairs of an operand, choice (bir-json.md 8.4). */
enum { OPERAND_MAX_RANK = 5 };

const struct klr_node *codegen_access_tensor(const struct klr_node *access)
{
    switch (access->ctor) {
    case KLR_Access_simple: return klr_node_at(access, KLR_Access_simple_tensor);
    case KLR_Access_basic: return klr_node_at(klr_node_at(access, KLR_Access_basic_access), KLR_AccessBasic_tensor);
    case KLR_Access_pattern:
        return klr_node_at(klr_node_at(access, KLR_Access_pattern_access), KLR_AccessPattern_tensor);
    default: return klr_node_at(klr_node_at(access, KLR_Access_birPattern_access), KLR_BirAccessPattern_tensor);
    }
}

bool codegen_access_is_dynamic(const struct klr_node *access)
{
    if (access->ctor != KLR_Access_birPattern)
        return false;
    const struct klr_node *pattern = klr_node_at(access, KLR_Access_birPattern_access);
    return klr_node_at(pattern, KLR_BirAccessPattern_scalarOffset) ||
           klr_node_at(pattern, KLR_BirAccessPattern_vectorOffset);
}

bool codegen_ref_is_dynamic(const struct klr_node *ref)
{
    return ref->ctor == KLR_TensorRef_abstract &&
           codegen_access_is_dynamic(klr_node_at(ref, KLR_TensorRef_abstract_access));
}

/* --- the four encoders --- */

static void encode_simple(const struct codegen *cg, const struct codegen_tensor *tensor, struct codegen_access *out)
{
    if (cg->options->literal_simple_access) {
        out->rank = 1;
        out->pairs[0] = (struct bir_pair){ tensor->stride[0], tensor->rows };
        out->whole_location = true;
        return;
    }
    out->rank = tensor->rank;
    for (uint32_t k = 0; k < tensor->rank; k++)
        out->pairs[k] = (struct bir_pair){ tensor->stride[k], tensor->dims[k] };
}

/* offset += step * count; false on overflow. */
static bool add_product(int64_t *offset, int64_t step, int64_t count)
{
    int64_t product;
    return !__builtin_mul_overflow(step, count, &product) && !__builtin_add_overflow(*offset, product, offset);
}

/* One slice: first index, step and count. u is the first index not reached, in either direction. */
static enum bir_status encode_slice(struct codegen *cg, const struct klr_node *slice, const struct klr_node *place,
                                    int64_t *first, int64_t *step, int64_t *count)
{
    uint64_t l = klr_nat_at(slice, KLR_Slice_l), u = klr_nat_at(slice, KLR_Slice_u);
    *step = klr_int_at(slice, KLR_Slice_step);
    if (*step == 0 || *step == INT64_MIN)
        return codegen_fail(cg, "klr-slice-step", place, "use a step other than 0", "slice with step %lld",
                            (long long)*step);
    if (l > INT64_MAX || u > INT64_MAX)
        return codegen_fail(cg, "klr-bounds", place, NULL, "slice %llu:%llu reaches beyond 2^63", (unsigned long long)l,
                            (unsigned long long)u);
    int64_t magnitude = *step < 0 ? -*step : *step;
    int64_t distance = *step < 0 ? (int64_t)l - (int64_t)u : (int64_t)u - (int64_t)l;
    *first = (int64_t)l;
    *count = distance <= 0 ? 0 : (distance - 1) / magnitude + 1;
    return BIR_OK;
}

static enum bir_status encode_basic(struct codegen *cg, const struct codegen_tensor *tensor,
                                    const struct klr_node *basic, const struct klr_node *place,
                                    struct codegen_access *out)
{
    const struct klr_list *indexes = klr_list_at(basic, KLR_AccessBasic_indexes);
    if (indexes->count != tensor->rank)
        return codegen_fail(cg, "klr-index-count", place, "give one index a dimension",
                            "%llu indexes for a tensor of %u dimensions", (unsigned long long)indexes->count,
                            tensor->rank);
    out->rank = tensor->rank;
    for (uint32_t k = 0; k < tensor->rank; k++) {
        const struct klr_node *index = indexes->items[k].node;
        int64_t first = 0, step = 1, count = 1;
        if (index->ctor == KLR_Index_slice) {
            BIR_TRY(encode_slice(cg, klr_node_at(index, KLR_Index_slice_slice), index, &first, &step, &count));
        } else {
            uint64_t coord = klr_nat_at(index, KLR_Index_coord_e);
            first = coord > INT64_MAX ? INT64_MAX : (int64_t)coord;
        }
        int64_t last;
        if (__builtin_mul_overflow(step, count > 0 ? count - 1 : 0, &last) ||
            __builtin_add_overflow(first, last, &last))
            last = INT64_MAX;
        if (count > 0 && (first >= tensor->dims[k] || last < 0 || last >= tensor->dims[k]))
            return codegen_fail(cg, "klr-bounds", index, NULL,
                                "index %lld of dimension %u is outside 0..%lld of tensor '%.80s'",
                                (long long)(first >= tensor->dims[k] ? first : last), k, (long long)tensor->dims[k] - 1,
                                klr_string_at(tensor->name, KLR_TensorName_name)->text);
        /* An empty slice may start past the end; nothing is read there. */
        if (count > 0 && !add_product(&out->offset_elems, tensor->stride[k], first))
            return codegen_fail(cg, "klr-bounds", index, NULL, "start offset beyond 2^63");
        if (__builtin_mul_overflow(step, tensor->stride[k], &step)) {
            if (count > 1)
                return codegen_fail(cg, "klr-bounds", index, NULL, "step beyond 2^63");
            step = tensor->stride[k];
        }
        out->pairs[k] = (struct bir_pair){ step, count };
    }
    return BIR_OK;
}

/* A list of APPairs; the third word counts only where `with_offsets` says so (lowering.md, correction 5). */
static enum bir_status encode_pairs(struct codegen *cg, const struct klr_list *pattern, bool with_offsets,
                                    const struct klr_node *place, struct codegen_access *out)
{
    if (pattern->count == 0 || pattern->count > BIR_PATTERN_MAX_RANK)
        return codegen_fail(cg, "klr-rank", place, "give one pair a dimension, at least one",
                            "access pattern of %llu pairs, 1 to %d are supported", (unsigned long long)pattern->count,
                            BIR_PATTERN_MAX_RANK);
    out->rank = (uint32_t)pattern->count;
    for (uint32_t k = 0; k < out->rank; k++) {
        const struct klr_node *pair = pattern->items[k].node;
        int64_t step = klr_int_at(pair, KLR_APPair_step);
        uint64_t num = klr_nat_at(pair, KLR_APPair_num), offset = klr_nat_at(pair, KLR_APPair_offset);
        if (num > INT64_MAX)
            return codegen_fail(cg, "klr-bounds", pair, NULL, "pair %u counts %llu elements", k,
                                (unsigned long long)num);
        if (with_offsets && (offset > INT64_MAX || !add_product(&out->offset_elems, step, (int64_t)offset)))
            return codegen_fail(cg, "klr-bounds", pair, NULL,
                                "pair %u starts %llu steps of %lld elements in, beyond 2^63", k,
                                (unsigned long long)offset, (long long)step);
        out->pairs[k] = (struct bir_pair){ step, (int64_t)num };
    }
    return BIR_OK;
}

static enum bir_status encode_bir_pattern(struct codegen *cg, const struct klr_node *pattern,
                                          struct codegen_access *out)
{
    uint64_t offset = klr_nat_at(pattern, KLR_BirAccessPattern_offset);
    uint32_t override;
    if (offset > INT64_MAX)
        return codegen_fail(cg, "klr-bounds", pattern, NULL, "start offset %llu beyond 2^63",
                            (unsigned long long)offset);
    BIR_TRY(encode_pairs(cg, klr_list_at(pattern, KLR_BirAccessPattern_pattern), false, pattern, out));
    out->offset_elems = (int64_t)offset;
    if (klr_option_enum(pattern, KLR_BirAccessPattern_dtypeOverride, &override)) {
        int dtype = codegen_map_dtype(override);
        if (dtype < 0)
            return codegen_fail(cg, "klr-dtype", pattern, NULL, "Unsupported dtype encountered");
        out->dtype = (uint8_t)dtype;
    }
    return BIR_OK;
}

/* --- bounds --- */

bool codegen_pairs_range(const struct codegen_access *access, uint32_t first, int64_t *low, int64_t *high, bool *empty)
{
    *low = *high = 0;
    *empty = false;
    for (uint32_t k = first; k < access->rank; k++) {
        const struct bir_pair *pair = &access->pairs[k];
        if (pair->num <= 0)
            *empty = true;
        else if (!add_product(pair->step_elems < 0 ? low : high, pair->step_elems, pair->num - 1))
            return false;
    }
    return true;
}

/* A static access must lie inside its tensor. Of a dynamic one the start is unknown: what its pairs span must fit;
 * along the dimension that a vector offset indexes, the pair counts indexes, not rows. */
static enum bir_status check_bounds(struct codegen *cg, const struct codegen_access *access,
                                    const struct klr_node *place)
{
    const struct codegen_tensor *tensor = access->tensor;
    int64_t elem = bir_dtype_bytes(access->dtype), low, high;
    int64_t size = tensor->rows * tensor->row_bytes / elem; /* no overflow: tensor_shape */
    const char *name = klr_string_at(tensor->name, KLR_TensorName_name)->text;
    bool dynamic = codegen_access_is_dynamic(place), vector = false, empty;
    if (dynamic)
        vector =
            klr_node_at(klr_node_at(place, KLR_Access_birPattern_access), KLR_BirAccessPattern_vectorOffset) != NULL;
    bool known = codegen_pairs_range(access, vector ? 1 : 0, &low, &high, &empty);
    if (known && empty)
        return BIR_OK;
    if (dynamic) {
        if (known && !__builtin_sub_overflow(high, low, &high) && high < size)
            return BIR_OK;
        return codegen_fail(cg, "klr-bounds", place, "shrink the pattern",
                            "the pattern spans more than the %lld elements of tensor '%.80s'", (long long)size, name);
    }
    known = known && !__builtin_add_overflow(low, access->offset_elems, &low) &&
            !__builtin_add_overflow(high, access->offset_elems, &high);
    if (known && low >= 0 && high < size)
        return BIR_OK;
    if (!known)
        return codegen_fail(cg, "klr-bounds", place, NULL, "the access to tensor '%.80s' reaches beyond 2^63", name);
    return codegen_fail(cg, "klr-bounds", place, "shrink the pattern or move its start",
                        "the access touches elements %lld to %lld, tensor '%.80s' has elements 0 to %lld",
                        (long long)low, (long long)high, name, (long long)size - 1);
}

/* --- from tensor rows to location rows --- */

static enum bir_status rows_mismatch(struct codegen *cg, const struct klr_node *place,
                                     const struct codegen_access *access)
{
    return codegen_fail(cg, "klr-row-bytes", place, "make rows a multiple of the element size",
                        "rows of %lld bytes (%lld in the address) do not divide into elements of %s",
                        (long long)access->tensor->row_bytes, (long long)access->tensor->pitch_bytes,
                        bir_dtype_name(access->dtype));
}

static enum bir_status wraps(struct codegen *cg, const struct klr_node *place, int64_t row, int64_t pitch)
{
    return codegen_fail(cg, "klr-access-wraps", place, "give the tensor an address whose freeSize is its own row size",
                        "the access runs over the end of rows of %lld elements, which lie %lld elements apart",
                        (long long)row, (long long)pitch);
}

/* On chip, when rows of the location are longer than the tensor's: see the head of this file. */
static enum bir_status move_to_pitch(struct codegen *cg, struct codegen_access *access, const struct klr_node *place)
{
    const struct codegen_tensor *tensor = access->tensor;
    int64_t elem = bir_dtype_bytes(access->dtype);
    if (!tensor->on_chip)
        return BIR_OK;
    if (tensor->row_bytes % elem || tensor->pitch_bytes % elem)
        return rows_mismatch(cg, place, access);
    if (tensor->row_bytes == tensor->pitch_bytes || tensor->row_bytes == 0)
        return BIR_OK;
    int64_t row = tensor->row_bytes / elem, pitch = tensor->pitch_bytes / elem;
    int64_t low = access->offset_elems % row, high = low, moved = low;
    if (!add_product(&moved, access->offset_elems / row, pitch))
        return wraps(cg, place, row, pitch);
    access->offset_elems = moved;
    for (uint32_t k = 0; k < access->rank; k++) {
        struct bir_pair *pair = &access->pairs[k];
        if (pair->step_elems % row == 0) {
            if (__builtin_mul_overflow(pair->step_elems / row, pitch, &pair->step_elems))
                return wraps(cg, place, row, pitch);
        } else if (pair->num > 1 &&
                   !add_product(pair->step_elems < 0 ? &low : &high, pair->step_elems, pair->num - 1)) {
            return wraps(cg, place, row, pitch);
        }
    }
    return low < 0 || high >= row ? wraps(cg, place, row, pitch) : BIR_OK;
}

/* --- rank --- */

/* Removes free pairs of one element, then joins neighbours that make one run, until the rank fits. */
static void fold_rank(struct codegen_access *access)
{
    for (uint32_t k = access->rank; access->rank > OPERAND_MAX_RANK && k-- > 1;)
        if (access->pairs[k].num == 1) {
            for (uint32_t j = k; j + 1 < access->rank; j++)
                access->pairs[j] = access->pairs[j + 1];
            access->rank--;
        }
    for (uint32_t k = access->rank - 1; access->rank > OPERAND_MAX_RANK && k > 1; k--) {
        struct bir_pair *outer = &access->pairs[k - 1], *inner = &access->pairs[k];
        int64_t run, num;
        if (__builtin_mul_overflow(inner->step_elems, inner->num, &run) || run != outer->step_elems ||
            __builtin_mul_overflow(inner->num, outer->num, &num))
            continue;
        *outer = (struct bir_pair){ inner->step_elems, num };
        for (uint32_t j = k; j + 1 < access->rank; j++)
            access->pairs[j] = access->pairs[j + 1];
        access->rank--;
    }
}

enum bir_status codegen_fold_rank(struct codegen *cg, struct codegen_access *access, const struct klr_node *place)
{
    fold_rank(access);
    if (access->rank <= OPERAND_MAX_RANK)
        return BIR_OK;
    return codegen_fail(cg, "klr-rank", place, "split the instruction",
                        "access of %u dimensions that cannot be joined, an operand has at most %d", access->rank,
                        OPERAND_MAX_RANK);
}

/* --- direction --- */

/* What the step of the first pair came from: the pair, the index, or for a simple access the access. */
static const struct klr_node *first_pair_place(const struct klr_node *access)
{
    const struct klr_list *list = NULL;
    switch (access->ctor) {
    case KLR_Access_basic:
        list = klr_list_at(klr_node_at(access, KLR_Access_basic_access), KLR_AccessBasic_indexes);
        break;
    case KLR_Access_pattern:
        list = klr_list_at(klr_node_at(access, KLR_Access_pattern_access), KLR_AccessPattern_pattern);
        break;
    case KLR_Access_birPattern:
        list = klr_list_at(klr_node_at(access, KLR_Access_birPattern_access), KLR_BirAccessPattern_pattern);
        break;
    default: break;
    }
    return list && list->count ? list->items[0].node : access;
}

enum bir_status codegen_check_direction(struct codegen *cg, struct bir_pair *first, int64_t row_elems,
                                        const struct klr_node *place)
{
    if (first->step_elems >= 0)
        return BIR_OK;
    if (first->num > 1)
        return codegen_fail(cg, "klr-negative-partition-step", place,
                            "start at the other end and turn the other operands round",
                            "the first pair takes %lld steps of %lld elements; a step from partition to partition (or "
                            "from row to row) is at least 0",
                            (long long)first->num, (long long)first->step_elems);
    first->step_elems = row_elems;
    return BIR_OK;
}

/* From one row of the location to the next, in elements of the operand; rows of HBM are the tensor's own. */
static int64_t row_step(const struct codegen_access *access)
{
    const struct codegen_tensor *tensor = access->tensor;
    return (tensor->on_chip ? tensor->pitch_bytes : tensor->row_bytes) / (int64_t)bir_dtype_bytes(access->dtype);
}

static enum bir_status finish(struct codegen *cg, struct codegen_access *access, const struct klr_node *place)
{
    BIR_TRY(check_bounds(cg, access, place));
    BIR_TRY(codegen_check_direction(cg, &access->pairs[0], row_step(access), first_pair_place(place)));
    BIR_TRY(move_to_pitch(cg, access, place));
    return codegen_fold_rank(cg, access, place);
}

enum bir_status codegen_access_static(struct codegen *cg, const struct klr_node *access, struct codegen_access *out)
{
    *out = (struct codegen_access){ .source_offset = codegen_source(access) };
    BIR_TRY(codegen_tensor_get(cg, codegen_access_tensor(access), access, &out->tensor));
    out->location = out->tensor->location;
    out->dtype = out->tensor->dtype;
    switch (access->ctor) {
    case KLR_Access_simple: encode_simple(cg, out->tensor, out); break;
    case KLR_Access_basic:
        BIR_TRY(encode_basic(cg, out->tensor, klr_node_at(access, KLR_Access_basic_access), access, out));
        break;
    case KLR_Access_pattern:
        BIR_TRY(encode_pairs(cg, klr_list_at(klr_node_at(access, KLR_Access_pattern_access), KLR_AccessPattern_pattern),
                             true, access, out));
        break;
    case KLR_Access_birPattern:
        BIR_TRY(encode_bir_pattern(cg, klr_node_at(access, KLR_Access_birPattern_access), out));
        break;
    default:
        return codegen_fail(cg, "klr-access", access, NULL, "Unsupported access type encountered %u",
                            access->ctor + 1u);
    }
    return finish(cg, out, access);
}

enum bir_status codegen_ref_access(struct codegen *cg, const struct klr_node *ref, bool allow_dynamic,
                                   struct codegen_access *out)
{
    if (!allow_dynamic && codegen_ref_is_dynamic(ref))
        return codegen_fail(cg, "klr-dynamic-access", ref, "only DMA and copy operators take a runtime offset",
                            "Dynamic Access is not allowed in the instruction. (%s)", cg->operator_name);
    switch (ref->ctor) {
    case KLR_TensorRef_abstract: return codegen_access_static(cg, klr_node_at(ref, KLR_TensorRef_abstract_access), out);
    case KLR_TensorRef_sbuf:
    case KLR_TensorRef_psum:
    case KLR_TensorRef_hbm: return codegen_view_access(cg, ref, out);
    default:
        return codegen_fail(cg, "klr-tensor-ref", ref, "name the tensor by an access or a view",
                            "Unsupported tensorRef type encountered! (%s)",
                            klr_ctor_name(KLR_TYPE_TensorRef, ref->ctor));
    }
}
