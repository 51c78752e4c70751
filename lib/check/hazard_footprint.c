/*
 * Operands to byte sets (hazards.md section 5).
 *
 * A footprint is a product: a set of rows (partitions) times a set of bytes within each. In SB and PSUM the outer pair
 * walks partitions and the inner pairs bytes. When the outer step is a multiple of the pitch, every row has the same
 * bytes and one product is the operand; else rows that start at the same columns are gathered, so an operand has
 * several products. DRAM has one row. An Internal location that is also part of an alias group is in two spaces: the
 * arena, where its neighbours are, and the group, where its other names are.
 *
 * Equal operands share their footprints: patterns are hash-consed, so location, pattern, offset and dtype are the key.
 */
#include "base/json_reader.h"
#include "check/hazard_internal.h"

#define PSUM_BANK_BYTES 2048 /* hazards.md 5.3 */

struct known {
    const struct bir_location *location; /* NULL: free */
    const struct bir_pattern *pattern;   /* NULL: whole location, address unknown */
    int64_t offset;
    uint32_t first, count; /* footprints */
    uint8_t dtype;
};

struct alias_node {
    const struct bir_location *location;
    uint32_t parent;
    uint32_t space; /* of the group, at its root; 0 = none yet */
};

struct builder {
    struct hazard_analysis *h;
    struct known *known;
    uint32_t known_capacity, known_count;
    struct bir_map tensor_spaces; /* set -> space */
    struct bir_map alias_numbers; /* location -> number + 1 in aliases */
    BIR_VEC(struct alias_node) aliases;
    uint32_t exec; /* being looked at */
    const struct bir_instruction *inst;
    bool failed_to_fit; /* some number left int64 */
};

/* --- reasons --- */

static enum bir_status unplaced(struct builder *b, const struct bir_argument *arg, const char *why)
{
    static const char *const lists[BIR_ROLE_COUNT] = { "ins", "indirection_ins", "outs" };
    struct hazard_analysis *h = b->h;
    const struct bir_instruction *owner = h->execs.items[b->exec].inst;
    if (!hazard_rule(h, HAZARD_RULE_UNPLACED))
        return BIR_OK;
    const struct bir_prop *name = bir_props_find(bir_argument_props(arg), "memref");
    if (!name)
        name = bir_props_find(bir_argument_props(arg), "memsetref");
    const char *storage = arg->location && arg->location->name   ? arg->location->name->text
                          : name && name->type == BIR_VALUE_TEXT ? name->u.s->text
                                                                 : "?";
    if (b->inst == owner)
        return hazard_reason(h, arg->source_offset, "%s[%u] of %s (%s): %s", lists[arg->role],
                             (unsigned)bir_argument_position(arg), hazard_name(owner), storage, why);
    return hazard_reason(h, arg->source_offset, "%s[%u] of descriptor %s in DMABlock %s (%s): %s", lists[arg->role],
                         (unsigned)bir_argument_position(arg), hazard_name(b->inst), hazard_name(owner), storage, why);
}

/* --- spaces --- */

static uint32_t alias_root(struct builder *b, uint32_t node)
{
    while (b->aliases.items[node].parent != node) {
        uint32_t *parent = &b->aliases.items[node].parent;
        *parent = b->aliases.items[*parent].parent;
        node = *parent;
    }
    return node;
}

static enum bir_status alias_number(struct builder *b, const struct bir_location *location, uint32_t *number)
{
    uintptr_t known = (uintptr_t)bir_map_get(&b->alias_numbers, location);
    if (!known) {
        struct alias_node node = { .location = location, .parent = b->aliases.count };
        if (!bir_vec_push(&b->h->scratch, &b->aliases, node))
            return hazard_memory(b->h);
        known = b->aliases.count;
        if (!bir_map_put(&b->alias_numbers, &b->h->scratch, location, (void *)known))
            return hazard_memory(b->h);
    }
    *number = (uint32_t)(known - 1);
    return BIR_OK;
}

static enum bir_status join_alias(struct builder *b, const struct bir_location *a, const struct bir_location *c)
{
    uint32_t x, y;
    BIR_TRY(alias_number(b, a, &x));
    BIR_TRY(alias_number(b, c, &y));
    b->aliases.items[alias_root(b, x)].parent = alias_root(b, y);
    return BIR_OK;
}

static const struct bir_location *alias_target(const struct builder *b, struct bir_slice set, struct bir_slice name)
{
    const struct bir_function *function = b->h->function;
    const struct bir_strtab *strings = &b->h->module->strings;
    const struct bir_str *location_name = bir_intern_find(strings, name.text, name.len);
    const struct bir_str *set_name = set.text ? bir_intern_find(strings, set.text, set.len) : NULL;
    const struct bir_set *in = set_name ? bir_function_find_set(function, set_name) : NULL;
    for (uint32_t i = 0; in && i < in->locations.count; i++)
        if (in->locations.items[i]->base.name == location_name)
            return in->locations.items[i];
    return location_name ? bir_function_find_location(function, location_name) : NULL;
}

/* One element of `alias`: [set, location, kind] or, older, [location, kind]. */
static enum bir_status read_alias(struct builder *b, struct bir_json_reader *r, const struct bir_location *location)
{
    struct bir_slice names[2] = { { NULL, 0 }, { NULL, 0 } };
    uint32_t count = 0, n = 0;
    BIR_TRY(bir_json_array_begin(r));
    for (; bir_json_array_next(r); count++) {
        if (bir_json_peek(r) == BIR_JSON_STRING && n < 2)
            BIR_TRY(bir_json_string(r, &names[n++]));
        else
            BIR_TRY(bir_json_skip(r, NULL));
    }
    BIR_TRY(r->status);
    const struct bir_location *target = NULL;
    if (count >= 3 && n == 2)
        target = alias_target(b, names[0], names[1]);
    else if (n >= 1)
        target = alias_target(b, (struct bir_slice){ NULL, 0 }, names[0]);
    if (target)
        return join_alias(b, location, target);
    return hazard_reason(b->h, location->base.source_offset, "location %s has an alias that cannot be found",
                         location->base.name ? location->base.name->text : "");
}

static enum bir_status read_aliases(struct builder *b, const struct bir_location *location)
{
    const struct bir_prop *alias = bir_props_find(location->base.props, "alias");
    if (!alias || alias->type != BIR_VALUE_JSON || !hazard_rule(b->h, HAZARD_RULE_ALIAS))
        return BIR_OK;
    struct bir_json_reader r;
    bir_json_reader_init(&r, alias->u.s->text, alias->u.s->len, 8, &b->h->scratch, NULL);
    enum bir_status status = bir_json_array_begin(&r);
    while (status == BIR_OK && bir_json_array_next(&r))
        status = read_alias(b, &r, location);
    if (status == BIR_OK)
        status = r.status;
    if (status != BIR_INVALID)
        return status;
    return hazard_reason(b->h, location->base.source_offset, "location %s has an alias of unknown form",
                         location->base.name ? location->base.name->text : "");
}

static enum bir_status read_all_aliases(struct builder *b)
{
    const struct bir_function *function = b->h->function;
    for (uint32_t i = 0; i < function->storages.count; i++) {
        const struct bir_storage *storage = function->storages.items[i];
        if (storage->tag != BIR_STORAGE_SET)
            continue;
        const struct bir_set *set = (const struct bir_set *)storage;
        for (uint32_t k = 0; k < set->locations.count; k++)
            BIR_TRY(read_aliases(b, set->locations.items[k]));
    }
    return BIR_OK;
}

/* Space of a DRAM tensor: the arena for Internal, else its own (5.4). */
static enum bir_status tensor_space(struct builder *b, const struct bir_set *set, uint32_t *space)
{
    *space = HAZARD_SPACE_ARENA;
    if (set->kind == BIR_TENSOR_INTERNAL && hazard_rule(b->h, HAZARD_RULE_ARENA))
        return BIR_OK;
    *space = (uint32_t)(uintptr_t)bir_map_get(&b->tensor_spaces, set);
    if (*space)
        return BIR_OK;
    *space = b->h->n_spaces++;
    return bir_map_put(&b->tensor_spaces, &b->h->scratch, set, (void *)(uintptr_t)*space) ? BIR_OK
                                                                                          : hazard_memory(b->h);
}

/* Space of the alias group of a location, 0 when it is in none. */
static uint32_t alias_space(struct builder *b, const struct bir_location *location)
{
    uintptr_t number = (uintptr_t)bir_map_get(&b->alias_numbers, location);
    if (!number)
        return 0;
    struct alias_node *root = &b->aliases.items[alias_root(b, (uint32_t)(number - 1))];
    if (!root->space)
        root->space = b->h->n_spaces++;
    return root->space;
}

/* --- sets --- */

struct work { /* a set under construction */
    struct hazard_set set;
    struct hazard_dim dims[HAZARD_DIMS + 1];
};

static void work_init(struct work *w, int64_t start, int64_t run)
{
    w->set = (struct hazard_set){ .start = start, .run = run, .dims = w->dims };
}

static void work_add(struct builder *b, struct work *w, int64_t step, int64_t num, int64_t scale)
{
    if (step < 0 && !hazard_rule(b->h, HAZARD_RULE_NEGATIVE))
        return;
    if (num <= 1)
        return;
    if (w->set.n_dims > HAZARD_DIMS || __builtin_mul_overflow(step, scale, &step))
        b->failed_to_fit = true;
    else
        w->dims[w->set.n_dims++] = (struct hazard_dim){ step, num };
}

static enum bir_status work_finish(struct builder *b, struct work *w, bool exact, struct hazard_set *out)
{
    if (b->failed_to_fit || !hazard_set_normalise(&w->set)) {
        b->failed_to_fit = true;
        return BIR_OK;
    }
    *out = w->set;
    out->dims = NULL;
    if (!exact) {
        out->run = hazard_set_last(&w->set) - out->start + 1;
        out->n_dims = 0;
    }
    if (out->n_dims == 0)
        return BIR_OK;
    out->dims = bir_arena_alloc_array(&b->h->scratch, BIR_MEM_TABLES, out->n_dims, sizeof(*out->dims));
    if (!out->dims)
        return hazard_memory(b->h);
    for (uint32_t i = 0; i < out->n_dims; i++)
        out->dims[i] = w->dims[i];
    return BIR_OK;
}

static enum bir_status push_footprint(struct builder *b, const struct hazard_footprint *f)
{
    if (b->failed_to_fit)
        return BIR_OK;
    return bir_vec_push(&b->h->scratch, &b->h->footprints, *f) ? BIR_OK : hazard_memory(b->h);
}

/* --- SB, PSUM --- */

static int64_t floor_div(int64_t a, int64_t b) /* b > 0 */
{
    int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

struct tile {
    const struct bir_location *location;
    const struct bir_pattern *pattern;
    int64_t pitch_elems, size_bytes, start_bytes;
    uint32_t space;
};

/* Rows from `row` on (row_step, row_num), in each the columns column, column + step, ... (num of them) plus the inner
 * pairs. */
static enum bir_status add_rows(struct builder *b, const struct tile *t, int64_t row, int64_t row_step, int64_t row_num,
                                int64_t column, int64_t step, int64_t num)
{
    struct hazard_footprint f = { .location = t->location, .space = t->space, .exact = true };
    struct work rows, bytes;
    int64_t start = hazard_rule(b->h, HAZARD_RULE_BASE) ? t->location->base_partition : 0;
    bool fits = !__builtin_add_overflow(start, row, &start);
    work_init(&rows, start, 1);
    work_add(b, &rows, row_step, row_num, 1);
    fits = fits && !__builtin_mul_overflow(column, t->size_bytes, &start);
    fits = fits && !__builtin_add_overflow(start, t->start_bytes, &start);
    work_init(&bytes, start, t->size_bytes);
    work_add(b, &bytes, step, num, t->size_bytes);
    for (uint32_t k = 1; k < t->pattern->rank; k++)
        work_add(b, &bytes, t->pattern->pairs[k].step_elems, t->pattern->pairs[k].num, t->size_bytes);
    b->failed_to_fit = b->failed_to_fit || !fits;
    BIR_TRY(work_finish(b, &rows, hazard_rule(b->h, HAZARD_RULE_ROWS), &f.rows));
    BIR_TRY(work_finish(b, &bytes, hazard_rule(b->h, HAZARD_RULE_EXACT), &f.bytes));
    return push_footprint(b, &f);
}

/* Rows gathered so far that have the same columns. */
struct rows {
    int64_t first, count, column, num;
};

/* The outer step is no multiple of the pitch: elements first, first + step, ... (step > 0) fall into rows at changing
 * columns. */
static enum bir_status add_irregular(struct builder *b, const struct tile *t, int64_t first, int64_t step, int64_t num,
                                     bool *too_many)
{
    struct rows rows = { 0 };
    uint32_t n = 0;
    for (int64_t i = 0; i < num; n++) {
        int64_t at = first + i * step, row = floor_div(at, t->pitch_elems), column = at - row * t->pitch_elems;
        int64_t in_row = (t->pitch_elems - 1 - column) / step + 1;
        in_row = in_row > num - i ? num - i : in_row;
        if (n == HAZARD_IRREGULAR_ROWS) {
            *too_many = true;
            return BIR_OK;
        }
        bool same = rows.count > 0 && row == rows.first + rows.count && column == rows.column && in_row == rows.num;
        if (!same && rows.count > 0)
            BIR_TRY(add_rows(b, t, rows.first, 1, rows.count, rows.column, step, rows.num));
        if (!same)
            rows = (struct rows){ .first = row, .column = column, .num = in_row };
        rows.count++;
        i += in_row;
    }
    return add_rows(b, t, rows.first, 1, rows.count, rows.column, step, rows.num);
}

static enum bir_status add_tile(struct builder *b, const struct tile *t, int64_t offset, const struct bir_argument *arg)
{
    struct bir_pair outer = t->pattern->pairs[0];
    int64_t last;
    bool too_many = false;
    if (outer.num == 1 || outer.step_elems % t->pitch_elems == 0) {
        int64_t row = floor_div(offset, t->pitch_elems);
        return add_rows(b, t, row, outer.step_elems / t->pitch_elems, outer.num, offset - row * t->pitch_elems, 0, 1);
    }
    if (__builtin_mul_overflow(outer.step_elems, outer.num - 1, &last) || __builtin_add_overflow(offset, last, &last) ||
        outer.step_elems == INT64_MIN) {
        b->failed_to_fit = true;
        return BIR_OK;
    }
    bool is_negative = outer.step_elems < 0;
    BIR_TRY(add_irregular(b, t, is_negative ? last : offset, is_negative ? -outer.step_elems : outer.step_elems,
                          outer.num, &too_many));
    return too_many
               ? unplaced(b, arg, "the outer step is no multiple of the pitch and touches more than 4096 partitions")
               : BIR_OK;
}

static enum bir_status place_tile(struct builder *b, const struct bir_location *location,
                                  const struct bir_physical_ap *ap)
{
    struct tile t = { .location = location, .pattern = ap->pattern, .size_bytes = bir_dtype_bytes(ap->base.dtype) };
    if (!location->dims || location->dims->count < 2)
        return unplaced(b, &ap->base, "the location has no bytes per partition in dims");
    int64_t unit =
        hazard_rule(b->h, HAZARD_RULE_OPERAND_DTYPE) ? t.size_bytes : bir_dtype_bytes(location->set->base.dtype);
    t.pitch_elems = unit > 0 ? location->dims->items[1] / unit : 0;
    if (t.pitch_elems < 1)
        return unplaced(b, &ap->base, "a partition of the location holds no element");
    t.space = location->type == BIR_MEMORY_PSUM ? HAZARD_SPACE_PSUM : HAZARD_SPACE_SB;
    int64_t bank = location->bank < 0 ? -(int64_t)location->bank : location->bank;
    if (t.space == HAZARD_SPACE_PSUM && hazard_rule(b->h, HAZARD_RULE_BANK))
        t.start_bytes = bank * PSUM_BANK_BYTES;
    if (location->addr_bytes > INT64_MAX ||
        __builtin_add_overflow(t.start_bytes, (int64_t)location->addr_bytes, &t.start_bytes)) {
        b->failed_to_fit = true;
        return BIR_OK;
    }
    return add_tile(b, &t, ap->offset_elems, &ap->base);
}

/* --- DRAM --- */

/* The bytes of `set` (relative to the location) in the location's space and in that of its alias group. */
static enum bir_status add_dram(struct builder *b, const struct bir_location *location, const struct hazard_set *set,
                                bool exact)
{
    struct hazard_footprint f = { .location = location, .exact = exact, .rows = { .run = 1 }, .bytes = *set };
    uint32_t group = alias_space(b, location);
    if (b->failed_to_fit)
        return BIR_OK;
    if (group) {
        f.space = group;
        BIR_TRY(push_footprint(b, &f));
    }
    BIR_TRY(tensor_space(b, location->set, &f.space));
    int64_t last = hazard_set_last(set);
    if (location->addr_bytes > INT64_MAX ||
        __builtin_add_overflow(f.bytes.start, (int64_t)location->addr_bytes, &f.bytes.start) ||
        __builtin_add_overflow(last, (int64_t)location->addr_bytes, &last) || last == INT64_MAX) {
        b->failed_to_fit = true;
        return BIR_OK;
    }
    return push_footprint(b, &f);
}

static enum bir_status place_dram(struct builder *b, const struct bir_location *location,
                                  const struct bir_physical_ap *ap)
{
    struct work bytes;
    struct hazard_set set = { 0 };
    int64_t size = bir_dtype_bytes(ap->base.dtype), start;
    b->failed_to_fit = __builtin_mul_overflow(ap->offset_elems, size, &start);
    work_init(&bytes, start, size);
    for (uint32_t k = 0; k < ap->pattern->rank; k++)
        work_add(b, &bytes, ap->pattern->pairs[k].step_elems, ap->pattern->pairs[k].num, size);
    BIR_TRY(work_finish(b, &bytes, hazard_rule(b->h, HAZARD_RULE_EXACT), &set));
    return b->failed_to_fit ? BIR_OK : add_dram(b, location, &set, true);
}

/* An address that only the running program knows: the whole location, in DRAM (5.6). */
static enum bir_status place_whole(struct builder *b, const struct bir_location *location,
                                   const struct bir_argument *arg)
{
    int64_t size = 1;
    if (location->type != BIR_MEMORY_DRAM)
        return unplaced(b, arg, "a runtime address outside DRAM cannot be placed");
    for (uint32_t i = 0; location->dims && i < location->dims->count; i++)
        if (location->dims->items[i] < 0 || __builtin_mul_overflow(size, location->dims->items[i], &size))
            size = -1;
    if (!location->dims || location->dims->count == 0 || size < 0)
        return unplaced(b, arg, "a runtime address in a location of unknown size");
    struct hazard_set set = { .run = size };
    return size > 0 ? add_dram(b, location, &set, !hazard_rule(b->h, HAZARD_RULE_RUNTIME)) : BIR_OK;
}

/* --- operands --- */

static enum bir_status place_physical(struct builder *b, const struct bir_location *location,
                                      const struct bir_physical_ap *ap)
{
    for (uint32_t k = 0; k < ap->pattern->rank; k++)
        if (ap->pattern->pairs[k].num < 1)
            return BIR_OK; /* touches nothing */
    if (bir_dtype_bytes(ap->base.dtype) == 0)
        return unplaced(b, &ap->base, "the dtype is not known");
    switch (location->type) {
    case BIR_MEMORY_DRAM: return place_dram(b, location, ap);
    case BIR_MEMORY_SB:
    case BIR_MEMORY_PSUM: return place_tile(b, location, ap);
    default: return unplaced(b, &ap->base, "the memory of the location is not modelled");
    }
}

static uint64_t hash_key(const struct known *k)
{
    uint64_t x = (uint64_t)(uintptr_t)k->location >> 3;
    x = (x ^ (uint64_t)(uintptr_t)k->pattern) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 29) ^ (uint64_t)k->offset ^ ((uint64_t)k->dtype << 56)) * UINT64_C(0xBF58476D1CE4E5B9);
    return x ^ (x >> 32);
}

static struct known *find_known(const struct builder *b, const struct known *key)
{
    for (uint64_t i = hash_key(key);; i++) {
        struct known *slot = &b->known[i & (b->known_capacity - 1)];
        bool same = slot->location == key->location && slot->pattern == key->pattern && slot->offset == key->offset &&
                    slot->dtype == key->dtype;
        if (!slot->location || same)
            return slot;
    }
}

static enum bir_status grow_known(struct builder *b)
{
    if (2 * b->known_count < b->known_capacity)
        return BIR_OK;
    struct builder bigger = *b;
    bigger.known_capacity = b->known_capacity ? 2 * b->known_capacity : 256;
    bigger.known = bir_arena_alloc_array(&b->h->scratch, BIR_MEM_TABLES, bigger.known_capacity, sizeof(*b->known));
    if (!bigger.known)
        return hazard_memory(b->h);
    for (uint32_t i = 0; i < b->known_capacity; i++)
        if (b->known[i].location)
            *find_known(&bigger, &b->known[i]) = b->known[i];
    b->known = bigger.known;
    b->known_capacity = bigger.known_capacity;
    return BIR_OK;
}

static enum bir_status add_accesses(struct builder *b, const struct known *k, bool write)
{
    for (uint32_t i = 0; i < k->count; i++) {
        struct hazard_access access = { .exec = b->exec, .footprint = k->first + i, .write = write };
        if (!bir_vec_push(&b->h->scratch, &b->h->accesses, access))
            return hazard_memory(b->h);
    }
    return BIR_OK;
}

/* Footprints of an operand on one location (ap NULL: somewhere in it), made or found, as accesses of the execution. */
static enum bir_status access_location(struct builder *b, const struct bir_location *location,
                                       const struct bir_physical_ap *ap, const struct bir_argument *arg)
{
    struct known key = { .location = location };
    if (ap) {
        key.pattern = ap->pattern;
        key.offset = ap->offset_elems;
        key.dtype = ap->base.dtype;
    }
    BIR_TRY(grow_known(b));
    struct known *slot = find_known(b, &key);
    if (!slot->location || slot->count == 0) { /* one without footprints may have a reason to tell again */
        uint32_t first = b->h->footprints.count;
        b->failed_to_fit = false;
        BIR_TRY(ap ? place_physical(b, location, ap) : place_whole(b, location, arg));
        if (b->failed_to_fit) {
            b->h->footprints.count = first;
            BIR_TRY(unplaced(b, arg, "it reaches beyond 2^63 bytes"));
        }
        b->known_count += slot->location ? 0 : 1;
        key.first = first;
        key.count = b->h->footprints.count - first;
        *slot = key;
    }
    return add_accesses(b, slot, arg->role == BIR_ROLE_OUT);
}

/* Operands inside queues were bound to the first function that has the name; the trigger's own function goes first. */
static const struct bir_location *own_location(const struct builder *b, const struct bir_argument *arg)
{
    const struct bir_location *location = (const struct bir_location *)arg->location;
    const struct bir_function *function = b->h->function;
    if (location->base.function == function || bir_props_find(bir_argument_props(arg), "memref_owner_func"))
        return location;
    const struct bir_location *own =
        location->base.name ? bir_function_find_location(function, location->base.name) : NULL;
    return own && own->set->base.name == location->set->base.name ? own : location;
}

static const struct bir_set *own_set(const struct builder *b, const struct bir_argument *arg)
{
    const struct bir_set *set = (const struct bir_set *)arg->location;
    if (set->base.function == b->h->function || !set->base.name)
        return set;
    const struct bir_set *own = bir_function_find_set(b->h->function, set->base.name);
    return own ? own : set;
}

/* Every location of the set, or the one that the operand names beside it (5.6). */
static enum bir_status add_register_ap(struct builder *b, const struct bir_argument *arg)
{
    if (!arg->location || arg->location->tag != BIR_STORAGE_SET)
        return unplaced(b, arg, "the set is not known");
    const struct bir_set *set = own_set(b, arg);
    const struct bir_prop *memref = bir_props_find(bir_argument_props(arg), "memref");
    const struct bir_str *only = memref && memref->type == BIR_VALUE_TEXT ? memref->u.s : NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < set->locations.count; i++) {
        if (only && set->locations.items[i]->base.name != only)
            continue;
        BIR_TRY(access_location(b, set->locations.items[i], NULL, arg));
        n++;
    }
    return n > 0 ? BIR_OK : unplaced(b, arg, "the location is not known");
}

static enum bir_status add_operand(struct builder *b, const struct bir_argument *arg)
{
    switch ((enum bir_argument_kind)arg->kind) {
    case BIR_ARG_PHYSICAL_AP: {
        const struct bir_physical_ap *ap = (const struct bir_physical_ap *)arg;
        if (!arg->location || arg->location->tag != BIR_STORAGE_LOCATION)
            return unplaced(b, arg, "the location is not known");
        bool is_runtime = bir_argument_dynamic(arg);
        return access_location(b, own_location(b, arg), is_runtime ? NULL : ap, arg);
    }
    case BIR_ARG_REGISTER_AP: return add_register_ap(b, arg);
    case BIR_ARG_SYMBOLIC_AP: return unplaced(b, arg, "a symbolic_ap has no address yet");
    default: return BIR_OK; /* immediates and registers (5.5) */
    }
}

static enum bir_status add_operands(struct builder *b, struct bir_instruction *inst)
{
    b->inst = inst;
    for (enum bir_role role = BIR_ROLE_IN; role < BIR_ROLE_COUNT; role++) {
        if (role == BIR_ROLE_INDIRECTION && !hazard_rule(b->h, HAZARD_RULE_INDIRECTION))
            continue;
        BIR_EACH_ARGUMENT (arg, inst, role) {
            BIR_TRY(add_operand(b, arg));
        }
    }
    return BIR_OK;
}

/* A DMABlock does what its descriptors do (1.3). */
static enum bir_status add_descriptors(struct builder *b, struct bir_instruction *block)
{
    struct bir_region *region = bir_instruction_region(block);
    struct bir_walk walk;
    if (!region)
        return BIR_OK;
    bir_walk_init(&walk, region);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));) {
        const struct bir_sync *sync = inst->rare ? inst->rare->sync : NULL;
        if (sync && (sync->waits.count > 0 || sync->updates.count > 0))
            BIR_TRY(hazard_reason(b->h, inst->source_offset,
                                  "descriptor %s in DMABlock %s waits or updates by itself: not modelled",
                                  hazard_name(inst), hazard_name(block)));
        BIR_TRY(add_operands(b, inst));
    }
    return BIR_OK;
}

enum bir_status hazard_footprint_build(struct hazard_analysis *h)
{
    struct builder b = { .h = h };
    h->n_spaces = HAZARD_SPACE_FIRST_TENSOR;
    BIR_TRY(read_all_aliases(&b));
    for (b.exec = 0; b.exec < h->n_execs; b.exec++) {
        if ((b.exec & HAZARD_POLL_MASK) == 0 && bir_cancelled(h->options->cancel))
            return BIR_CANCELLED;
        const struct hazard_exec *e = &h->execs.items[b.exec];
        struct bir_instruction *inst =
            (struct bir_instruction *)(uintptr_t)e->inst; /* walking needs no const variant */
        BIR_TRY(add_operands(&b, inst));
        if (e->trigger != HAZARD_NONE)
            BIR_TRY(add_descriptors(&b, inst));
    }
    return BIR_OK;
}
