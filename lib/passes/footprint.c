/*
 * Footprints.
 *
 * A pattern is a set of element offsets {base + sum i_k * step_k}. Its pairs, sorted by step, grow one run as long as
 * the next step is not longer than the run; the pairs left enumerate runs. On chip the first pair walks partitions when
 * its step is a multiple of the row; the others make runs of columns inside a row. What does not fit this scheme is
 * covered by its bounding rectangle.
 */
#include "passes/footprint.h"

#include "base/json_reader.h"
#include "passes/address_table.h"
#include "pelican/arith.h"
#include "pelican/simplify.h"

#define RUNS_MAX   64 /* of one operand, before the interval around them is taken */
#define ROW_MAX    (INT64_C(1) << 40)
#define BLOCKS_MAX 64 /* of a symbolic operand, before the whole set is taken */

/* --- spaces --- */

static uint32_t space_of(const struct bir_spaces *spaces, const struct bir_location *location)
{
    if (location->type == BIR_MEMORY_SB)
        return BIR_SPACE_SB;
    if (location->type == BIR_MEMORY_PSUM)
        return BIR_SPACE_PSUM;
    uintptr_t other = (uintptr_t)bir_map_get(&spaces->dram, location);
    return other ? (uint32_t)other : BIR_SPACE_DRAM_ARENA;
}

/* Internal DRAM locations with an address share one arena; others have a space of their own (bir-json.md 8.4). */
static bool is_in_arena(const struct bir_location *location)
{
    return location->allocated && location->set->kind == BIR_TENSOR_INTERNAL;
}

static bool is_aliased(const struct bir_location *location)
{
    return bir_props_find(location->base.props, "alias") != NULL;
}

/* The locations that an alias list names: [[set, location, kind], ...] or [[location, kind], ...]. */
static bool join_aliases(struct bir_spaces *spaces, const struct bir_location *location, void *space)
{
    const struct bir_prop *prop = bir_props_find(location->base.props, "alias");
    struct bir_json_reader r;
    struct bir_diags ignored;
    struct bir_slice text, name;
    if (!prop || prop->type != BIR_VALUE_JSON)
        return true;
    bir_diags_init(&ignored, spaces->scratch, 0);
    bir_json_reader_init(&r, prop->u.s->text, prop->u.s->len, 8, spaces->scratch, &ignored);
    if (bir_json_array_begin(&r) != BIR_OK)
        return true;
    while (bir_json_array_next(&r)) {
        if (bir_json_array_begin(&r) != BIR_OK)
            return true;
        name = (struct bir_slice){ NULL, 0 };
        while (bir_json_array_next(&r)) { /* the last string is the location */
            if (bir_json_peek(&r) == BIR_JSON_STRING ? bir_json_string(&r, &name) : bir_json_skip(&r, &text))
                return true;
        }
        const struct bir_str *known =
            name.text ? bir_intern_find(&spaces->function->module->strings, name.text, name.len) : NULL;
        const struct bir_location *other = known ? bir_function_find_location(spaces->function, known) : NULL;
        if (other && !bir_map_put(&spaces->dram, spaces->scratch, other, space))
            return false;
    }
    return true;
}

static bool add_location(struct bir_spaces *spaces, const struct bir_location *location)
{
    bool on_chip = location->type == BIR_MEMORY_SB || location->type == BIR_MEMORY_PSUM;
    if (on_chip || (is_in_arena(location) && !is_aliased(location)))
        return true;
    void *space = bir_map_get(&spaces->dram, location);
    if (!space) {
        space = (void *)(uintptr_t)spaces->count++;
        if (!bir_map_put(&spaces->dram, spaces->scratch, location, space))
            return false;
    }
    return join_aliases(spaces, location, space);
}

bool bir_spaces_init(struct bir_spaces *spaces, struct bir_function *function, struct bir_arena *scratch)
{
    *spaces = (struct bir_spaces){ .scratch = scratch, .function = function, .count = BIR_SPACE_FIRST_OTHER };
    for (uint32_t i = 0; i < function->storages.count; i++) {
        if (function->storages.items[i]->tag != BIR_STORAGE_SET)
            continue;
        const struct bir_set *set = (const struct bir_set *)function->storages.items[i];
        for (uint32_t k = 0; k < set->locations.count; k++) {
            if (!add_location(spaces, set->locations.items[k]))
                return false;
        }
    }
    return true;
}

/* --- runs --- */

/* Elements [start, start + length) relative to the access; `outer` pairs repeat it. */
struct runs {
    int64_t length;
    struct bir_pair outer[BIR_PATTERN_MAX_RANK];
    uint32_t n_outer;
    int64_t count;     /* product of outer nums, saturating */
    int64_t low, high; /* all elements lie in low .. high - 1, relative to the start offset */
    bool known;        /* false: something overflowed */
};

static void insert_pair(struct bir_pair *pairs, uint32_t *n, struct bir_pair pair)
{
    uint32_t i = (*n)++;
    for (; i > 0 && pairs[i - 1].step_elems > pair.step_elems; i--)
        pairs[i] = pairs[i - 1];
    pairs[i] = pair;
}

/* Runs of the pairs from `first` on. Negative steps are turned round: low becomes negative. Pairs of *r beyond n_outer
 * are left as they are. */
static void find_runs(const struct bir_pattern *pattern, uint32_t first, struct runs *r)
{
    struct bir_pair sorted[BIR_PATTERN_MAX_RANK];
    uint32_t n = 0;
    r->length = r->count = r->high = 1;
    r->low = 0;
    r->n_outer = 0;
    r->known = true;
    for (uint32_t i = first; i < pattern->rank && n < BIR_PATTERN_MAX_RANK; i++) {
        struct bir_pair pair = pattern->pairs[i];
        int64_t span;
        if (pair.num <= 1 || pair.step_elems == 0)
            continue;
        if (pair.step_elems == INT64_MIN || __builtin_mul_overflow(pair.num - 1, pair.step_elems, &span) ||
            __builtin_add_overflow(span < 0 ? r->low : r->high, span, span < 0 ? &r->low : &r->high)) {
            r->known = false;
            return;
        }
        pair.step_elems = pair.step_elems < 0 ? -pair.step_elems : pair.step_elems;
        insert_pair(sorted, &n, pair);
    }
    int64_t extent;
    r->known = !__builtin_sub_overflow(r->high, r->low, &extent); /* every run length below is at most that */
    for (uint32_t i = 0; i < n && r->known; i++) {
        if (sorted[i].step_elems <= r->length && r->n_outer == 0) {
            r->length += sorted[i].step_elems * (sorted[i].num - 1);
            continue;
        }
        r->outer[r->n_outer++] = sorted[i];
        if (__builtin_mul_overflow(r->count, sorted[i].num, &r->count))
            r->count = INT64_MAX;
    }
    if (r->known && r->count > RUNS_MAX) { /* one run around all */
        r->length = extent;
        r->n_outer = 0;
        r->count = 1;
    }
}

/* Start of the i-th run, relative to the start offset. */
static int64_t run_start(const struct runs *r, int64_t i)
{
    int64_t at = r->low;
    for (uint32_t k = 0; k < r->n_outer; k++) {
        at += i % r->outer[k].num * r->outer[k].step_elems;
        i /= r->outer[k].num;
    }
    return at;
}

/* --- locations --- */

static bool put(struct bir_spaces *spaces, struct bir_rectangle rectangle, bir_rectangle_vec *out)
{
    if (rectangle.byte >= rectangle.byte_end || rectangle.partition >= rectangle.partition_end)
        return true;
    return bir_vec_push(spaces->scratch, out, rectangle);
}

/* Byte offset of the location inside its row or space. */
static uint64_t location_start(const struct bir_spaces *spaces, const struct bir_location *location)
{
    uint64_t bank = (uint64_t)(location->bank < 0 ? -(int64_t)location->bank : location->bank);
    if (location->type == BIR_MEMORY_PSUM)
        return location->addr_bytes + bank * (uint64_t)BIR_PSUM_BANK_BYTES;
    if (location->type == BIR_MEMORY_SB || space_of(spaces, location) == BIR_SPACE_DRAM_ARENA)
        return location->addr_bytes;
    return 0;
}

static bool is_on_chip(const struct bir_location *location)
{
    return location->type == BIR_MEMORY_SB || location->type == BIR_MEMORY_PSUM;
}

static uint64_t clamped_product(const struct bir_ints *dims, uint32_t from)
{
    uint64_t n = 1;
    for (uint32_t i = from; i < dims->count; i++) {
        if (dims->items[i] < 0 || __builtin_mul_overflow(n, (uint64_t)dims->items[i], &n))
            return UINT64_MAX / 4;
    }
    return n;
}

static bool whole_location(struct bir_spaces *spaces, const struct bir_location *location, bir_rectangle_vec *out)
{
    struct bir_rectangle r = { .space = space_of(spaces, location), .partition_end = 1 };
    bool known = location->dims && location->dims->count > 0;
    r.byte = location_start(spaces, location) & (UINT64_MAX / 4);
    if (!is_on_chip(location)) {
        r.byte_end = r.byte + (known ? clamped_product(location->dims, 0) : UINT64_MAX / 4);
        if (is_aliased(location)) { /* where the others start in it is not known */
            r.byte = 0;
            r.byte_end = UINT64_MAX / 2;
        }
        return put(spaces, r, out);
    }
    r.partition = location->base_partition < BIR_PARTITIONS ? location->base_partition : BIR_PARTITIONS;
    int64_t rows = known ? location->dims->items[0] : BIR_PARTITIONS;
    r.partition_end =
        rows >= BIR_PARTITIONS - (int64_t)r.partition || rows < 0 ? BIR_PARTITIONS : r.partition + (uint32_t)rows;
    r.byte_end = r.byte + (known ? clamped_product(location->dims, 1) : UINT64_MAX / 4);
    return put(spaces, r, out);
}

static bool whole_set(struct bir_spaces *spaces, const struct bir_set *set, bir_rectangle_vec *out)
{
    for (uint32_t i = 0; i < set->locations.count; i++) {
        if (!whole_location(spaces, set->locations.items[i], out))
            return false;
    }
    return true;
}

/* --- accesses --- */

/* An access of a location: pattern from a start offset that lies in first .. last. */
struct access {
    const struct bir_location *location;
    const struct bir_pattern *pattern;
    int64_t first, last; /* elements; equal when static */
    int64_t elem_bytes;
    int64_t row_elems; /* on chip: elements of a row */
};

static bool add_dram(struct bir_spaces *spaces, const struct access *a, bir_rectangle_vec *out)
{
    struct runs runs;
    find_runs(a->pattern, 0, &runs);
    struct bir_rectangle r = { .space = space_of(spaces, a->location), .partition_end = 1 };
    uint64_t start = location_start(spaces, a->location);
    if (!runs.known || is_aliased(a->location) || start > INT64_MAX / 4)
        return whole_location(spaces, a->location, out);
    for (int64_t i = 0; i < runs.count; i++) {
        int64_t low, high;
        if (__builtin_add_overflow(a->first, run_start(&runs, i), &low) || low < 0 ||
            __builtin_add_overflow(run_start(&runs, i), runs.length, &high) ||
            __builtin_add_overflow(a->last, high, &high) || high > INT64_MAX / 4 / a->elem_bytes)
            return whole_location(spaces, a->location, out);
        r.byte = start + (uint64_t)(low * a->elem_bytes);
        r.byte_end = start + (uint64_t)(high * a->elem_bytes);
        if (!put(spaces, r, out))
            return false;
    }
    return true;
}

/* Columns first_col + runs, on the partitions that the first pair walks. False in *fits when the scheme does not apply.
 */
static bool add_rows(struct bir_spaces *spaces, const struct access *a, bir_rectangle_vec *out, bool *fits)
{
    struct runs runs;
    find_runs(a->pattern, 1, &runs);
    struct bir_pair outer = a->pattern->pairs[0];
    int64_t row = pelican_floor_div_i64(a->first, a->row_elems), column = pelican_mod_i64(a->first, a->row_elems);
    int64_t slack;
    if (__builtin_sub_overflow(a->last, a->first, &slack))
        return true;
    int64_t pace = outer.num <= 1 ? 1 : outer.step_elems / a->row_elems;
    *fits = runs.known && a->first >= 0 && a->row_elems <= ROW_MAX && slack < a->row_elems &&
            runs.low > -a->row_elems && runs.high <= a->row_elems && a->location->base_partition < BIR_PARTITIONS &&
            (outer.num <= 1 || outer.step_elems % a->row_elems == 0) && pace > 0 && outer.num > 0 &&
            outer.num <= BIR_PARTITIONS && column + runs.low >= 0 && column + slack + runs.high <= a->row_elems &&
            row < BIR_PARTITIONS;
    if (!*fits)
        return true;
    int64_t base = (int64_t)a->location->base_partition + row;
    int64_t strips = pace == 1 ? 1 : outer.num;
    uint64_t start = location_start(spaces, a->location) & (UINT64_MAX / 4);
    for (int64_t s = 0; s < strips; s++) {
        for (int64_t i = 0; i < runs.count; i++) {
            int64_t low = column + run_start(&runs, i);
            struct bir_rectangle r = { .space = space_of(spaces, a->location),
                                       .partition = (uint32_t)(base + s * pace),
                                       .partition_end = (uint32_t)(base + s * pace + (pace == 1 ? outer.num : 1)),
                                       .byte = start + (uint64_t)(low * a->elem_bytes),
                                       .byte_end = start + (uint64_t)((low + slack + runs.length) * a->elem_bytes) };
            if (!put(spaces, r, out))
                return false;
        }
    }
    return true;
}

static bool add_access(struct bir_spaces *spaces, const struct access *a, bir_rectangle_vec *out)
{
    bool fits = false;
    if (a->elem_bytes <= 0 || !a->pattern || a->pattern->rank == 0)
        return whole_location(spaces, a->location, out);
    if (!is_on_chip(a->location))
        return add_dram(spaces, a, out);
    if (a->row_elems > 0 && !add_rows(spaces, a, out, &fits))
        return false;
    return fits || whole_location(spaces, a->location, out);
}

static int64_t row_elems(const struct bir_location *location, int64_t elem_bytes)
{
    const struct bir_ints *dims = location->dims;
    if (!dims || dims->count < 2 || elem_bytes <= 0 || dims->items[1] % elem_bytes)
        return 0;
    return dims->items[1] / elem_bytes;
}

static bool add_physical(struct bir_spaces *spaces, const struct bir_physical_ap *ap, bir_rectangle_vec *out)
{
    const struct bir_location *location = (const struct bir_location *)ap->base.location;
    struct access a = { location, ap->pattern, ap->offset_elems, ap->offset_elems, bir_dtype_bytes(ap->base.dtype), 0 };
    if ((ap->base.flags & BIR_ARGF_WHOLE_LOCATION) || bir_argument_dynamic(&ap->base))
        return whole_location(spaces, location, out);
    a.row_elems = row_elems(location, a.elem_bytes);
    return add_access(spaces, &a, out);
}

/* The tile over its range, in every block of its range (correction 13). */
static bool add_symbolic(struct bir_spaces *spaces, const struct bir_symbolic_ap *ap, bir_rectangle_vec *out)
{
    const struct bir_set *set = (const struct bir_set *)ap->base.location;
    struct pelican_range tile = { 0, 0, false }, block = { 0, 0, true };
    if (ap->n_addrs == 1 || ap->n_addrs == 2)
        tile = pelican_range_of(ap->addrs[0]);
    if (ap->n_addrs == 2)
        block = pelican_range_of(ap->addrs[1]);
    if (!tile.known || !block.known || block.inf < 0 || block.sup - block.inf >= BLOCKS_MAX || !ap->pattern ||
        ap->pattern->rank == 0)
        return whole_set(spaces, set, out);
    for (uint32_t i = 0; i < set->locations.count; i++) {
        const struct bir_location *location = set->locations.items[i];
        int64_t b = location->tensor_id < 0 ? 0 : location->tensor_id;
        struct access a = {
            location, ap->pattern, tile.inf, tile.sup, bir_dtype_bytes(ap->base.dtype), ap->pattern->pairs[0].step_elems
        }; /* lowering.md 8.7 divides by the step */
        if (b >= block.inf && b <= block.sup && !add_access(spaces, &a, out))
            return false;
    }
    return true;
}

bool bir_footprint_add(struct bir_spaces *spaces, const struct bir_argument *arg, bir_rectangle_vec *out)
{
    if (!arg->location)
        return true;
    if (arg->kind == BIR_ARG_PHYSICAL_AP && arg->location->tag == BIR_STORAGE_LOCATION)
        return add_physical(spaces, (const struct bir_physical_ap *)arg, out);
    if (arg->location->tag != BIR_STORAGE_SET)
        return true;
    if (arg->kind == BIR_ARG_SYMBOLIC_AP)
        return add_symbolic(spaces, (const struct bir_symbolic_ap *)arg, out);
    return whole_set(spaces, (const struct bir_set *)arg->location, out);
}
