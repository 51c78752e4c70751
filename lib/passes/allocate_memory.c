/*
 * Addresses for locations that have none.
 *
 * On chip the function is swept once in program order. Locations enter when they are first touched and leave after the
 * last touch (location_ranges.h); what is taken at the moment is a bit map (memory_map.h), and a newcomer takes the
 * lowest place that is free and stays free of every location the input has placed itself. SBUF and PSUM are swept
 * separately.
 *
 * Placement rules
 *   - bytes are rounded up to 32; partitions to groups of 32, because an operand must start at partition 0, 32, 64 or
 * 96;
 *   - partition 0 is preferred. 32, 64 and 96 are tried, within the counts of descriptors.md 5 (V13), only for
 * locations that no engine instruction uses together with another one: engines read both operands from the same
 * quadrant;
 *   - PSUM: a location of up to 2 KiB lies within one bank, a larger one takes whole consecutive banks (so an
 * accumulation group, which writes one location, stays together). An empty bank is preferred to a shared one, so that
 * two accumulations share a bank only when all eight are in use.
 *
 * DRAM locations do not get addresses but numbers (`table_entry_id`), because the runtime places them; only internal
 * ones, which share one arena by the addresses they carry (bir-json.md 8.4), follow one another in it. Nothing is
 * reused there.
 */
#include <stdlib.h>

#include "passes/location_ranges.h"
#include "passes/memory_map.h"
#include "passes/pass.h"

enum { PSUM_BANK_BYTES = 0x800, PSUM_BANKS = 8, CHIP_PARTITIONS = 128 };
enum { BANK_GRANULES = PSUM_BANK_BYTES / MEMORY_GRANULE_BYTES };
enum { DRAM_ALIGNMENT_BYTES = 64 }; /* choice */
enum { NAMED_TENSORS = 8 };         /* in the error */

/* A location of the memory being swept. */
struct item {
    struct bir_location *location;
    struct location_range range;
    uint32_t order;            /* in the function's allocations */
    uint32_t rows, bytes;      /* partitions, bytes of each */
    bool fixed;                /* placed by the input */
    struct memory_block block; /* once placed */
};

struct sweep {
    struct bir_function *function;
    const struct bir_pass_context *context;
    struct bir_diags *diags;
    enum bir_memory_type memory;
    uint64_t partition_bytes;
    struct memory_map map;
    BIR_VEC(struct item) items;         /* by first touch */
    BIR_VEC(struct item *) active;      /* heap by last touch */
    BIR_VEC(struct item *) fixed;       /* by first touch, those that have one */
    uint32_t next_fixed;                /* first of `fixed` that has not entered yet */
    uint64_t *future[MEMORY_QUADRANTS]; /* bits of fixed items that enter during the newcomer's life */
};

/* Bytes of a partition that the generation has (descriptors.md 1.2); the smallest when it is not known. */
static uint64_t partition_bytes(enum bir_memory_type memory, enum bir_arch arch)
{
    if (memory == BIR_MEMORY_PSUM)
        return (uint64_t)PSUM_BANKS * PSUM_BANK_BYTES;
    return (arch >= BIR_ARCH_CORE_V4 ? 256u : arch == BIR_ARCH_GEN3 ? 224u : 192u) * UINT64_C(1024);
}

/* The input gave an address: it says so, or leaves `allocated` out and gives one that is not zero. */
static bool has_address(const struct bir_location *location)
{
    if (location->allocated || location->pinned)
        return true;
    return !(location->present & BIR_LOCF_ALLOCATED) &&
           (location->addr_bytes != 0 || location->base_partition != 0 || location->bank != 0);
}

static uint32_t granules_of(uint64_t bytes)
{
    return (uint32_t)((bytes + MEMORY_GRANULE_BYTES - 1) / MEMORY_GRANULE_BYTES);
}

/* --- items --- */

static enum bir_status check_dims(struct sweep *sweep, const struct bir_location *location)
{
    const struct bir_ints *dims = location->dims;
    int64_t rows = dims && dims->count == 2 ? dims->items[0] : -1, bytes = rows >= 0 ? dims->items[1] : -1;
    const char *memory = sweep->memory == BIR_MEMORY_SB ? "SBUF" : "PSUM";
    if (rows < 0 || bytes < 0)
        return bir_fail(sweep->diags, "alloc-dims", bir_pass_place(location->base.source_offset),
                        "give [partitions, bytes per partition]", "location '%s' in %s has no two dimensions",
                        location->base.name ? location->base.name->text : "?", memory);
    if (rows > CHIP_PARTITIONS || (uint64_t)bytes > sweep->partition_bytes)
        return bir_fail(sweep->diags, "alloc-too-large", bir_pass_place(location->base.source_offset),
                        "split the tensor", "location '%s' needs %lld partitions of %lld bytes, %s has %d of %llu",
                        location->base.name ? location->base.name->text : "?", (long long)rows, (long long)bytes,
                        memory, CHIP_PARTITIONS, (unsigned long long)sweep->partition_bytes);
    return BIR_OK;
}

static struct memory_block fixed_block(const struct sweep *sweep, const struct bir_location *location, uint32_t rows,
                                       uint32_t bytes)
{
    uint64_t start = location->addr_bytes;
    if (sweep->memory == BIR_MEMORY_PSUM)
        start += (uint64_t)llabs((long long)location->bank) * PSUM_BANK_BYTES;
    if (start > sweep->partition_bytes)
        start = sweep->partition_bytes; /* outside: the verifier's business, nothing to keep free here */
    uint32_t first = (uint32_t)(start / MEMORY_GRANULE_BYTES);
    return (struct memory_block){ memory_quadrants(location->base_partition, rows), first,
                                  granules_of(start + bytes) - first };
}

static enum bir_status add_item(struct sweep *sweep, const struct location_ranges *ranges,
                                struct bir_location *location)
{
    struct item item = { .location = location, .fixed = has_address(location), .order = sweep->items.count };
    BIR_TRY(check_dims(sweep, location));
    item.range = location_range_of(ranges, location);
    item.rows = (uint32_t)location->dims->items[0];
    item.bytes = (uint32_t)location->dims->items[1];
    if (item.fixed)
        item.block = fixed_block(sweep, location, item.rows, item.bytes);
    return bir_vec_push(sweep->context->scratch, &sweep->items, item) ? BIR_OK
                                                                      : bir_arena_failure(sweep->context->scratch);
}

static int by_first_touch(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->range.first != y->range.first)
        return x->range.first < y->range.first ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static enum bir_status collect(struct sweep *sweep, const struct location_ranges *ranges)
{
    bool any = false;
    enum bir_status result = BIR_OK;
    for (uint32_t i = 0; i < sweep->function->storages.count; i++) {
        if (sweep->function->storages.items[i]->tag != BIR_STORAGE_SET)
            continue;
        struct bir_set *set = (struct bir_set *)sweep->function->storages.items[i];
        for (uint32_t k = 0; k < set->locations.count; k++) {
            struct bir_location *location = set->locations.items[k];
            if (location->type != sweep->memory)
                continue;
            enum bir_status status = add_item(sweep, ranges, location);
            if (status != BIR_OK && status != BIR_INVALID)
                return status;
            result = status != BIR_OK ? status : result;
            any = any || !has_address(location);
        }
    }
    if (!any)
        sweep->items.count = 0;
    if (sweep->items.count)
        qsort(sweep->items.items, sweep->items.count, sizeof *sweep->items.items, by_first_touch);
    return any ? result : BIR_OK;
}

/* --- coming, going --- */

static void heap_down(struct sweep *sweep, uint32_t at)
{
    struct item **heap = sweep->active.items;
    for (;;) {
        uint32_t least = at, child = 2 * at + 1;
        for (uint32_t c = child; c < child + 2 && c < sweep->active.count; c++)
            if (heap[c]->range.last < heap[least]->range.last)
                least = c;
        if (least == at)
            return;
        struct item *swap = heap[at];
        heap[at] = heap[least];
        heap[least] = swap;
        at = least;
    }
}

static bool enter(struct sweep *sweep, struct item *item)
{
    memory_map_take(&sweep->map, item->block);
    if (!bir_vec_push(sweep->context->scratch, &sweep->active, item))
        return false;
    struct item **heap = sweep->active.items;
    for (uint32_t at = sweep->active.count - 1; at > 0 && heap[at]->range.last < heap[(at - 1) / 2]->range.last;) {
        struct item *swap = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
    return true;
}

/* Everything whose last touch lies before `now` leaves. */
static void leave(struct sweep *sweep, uint32_t now)
{
    while (sweep->active.count && sweep->active.items[0]->range.last < now) {
        memory_map_release(&sweep->map, sweep->active.items[0]->block);
        sweep->active.items[0] = sweep->active.items[--sweep->active.count];
        heap_down(sweep, 0);
    }
}

/* Marks what fixed items will take after now and up to the newcomer's last touch; NULL when nothing. The cost is the
 * number of those items, which is small unless an input places a great many locations and leaves one long-lived one
 * open. */
static const uint64_t *const *future_bits(struct sweep *sweep, const struct item *item)
{
    uint32_t k = sweep->next_fixed;
    if (k == sweep->fixed.count || sweep->fixed.items[k]->range.first > item->range.last)
        return NULL;
    for (unsigned q = 0; q < MEMORY_QUADRANTS; q++)
        for (uint32_t w = 0; w < sweep->map.words; w++)
            sweep->future[q][w] = 0;
    for (; k < sweep->fixed.count && sweep->fixed.items[k]->range.first <= item->range.last; k++) {
        const struct memory_block *block = &sweep->fixed.items[k]->block;
        for (unsigned q = 0; q < MEMORY_QUADRANTS; q++)
            for (uint32_t g = block->first; block->quadrants >> q & 1 && g < block->first + block->count; g++)
                if (g < sweep->map.granules)
                    sweep->future[q][g / 64] |= UINT64_C(1) << (g % 64);
    }
    return (const uint64_t *const *)sweep->future;
}

/* --- placement --- */

static bool best_fit(const struct sweep *sweep)
{
    const char *way = sweep->context->options.allocate;
    return way && way[0] == 'b'; /* the option table admits two values only */
}

/* In one bank: an empty one when there is one, else any (best fit: the tightest). */
static int64_t find_in_bank(const struct sweep *sweep, const uint64_t *const *also, unsigned quadrants, uint32_t count)
{
    int64_t best = -1;
    uint32_t best_run = UINT32_MAX;
    for (uint32_t bank = 0; bank < PSUM_BANKS; bank++) {
        uint32_t from = bank * BANK_GRANULES;
        if (memory_map_find(&sweep->map, also, quadrants, from, from + BANK_GRANULES, BANK_GRANULES, false, NULL) >= 0)
            return from;
    }
    for (uint32_t bank = 0; bank < PSUM_BANKS; bank++) {
        uint32_t from = bank * BANK_GRANULES, run;
        int64_t at =
            memory_map_find(&sweep->map, also, quadrants, from, from + BANK_GRANULES, count, best_fit(sweep), &run);
        if (at < 0 || (best >= 0 && (!best_fit(sweep) || run >= best_run)))
            continue;
        best = at;
        best_run = run;
    }
    return best;
}

/* Whole banks in a row. */
static int64_t find_banks(const struct sweep *sweep, const uint64_t *const *also, unsigned quadrants, uint32_t count)
{
    uint32_t granules = (count + BANK_GRANULES - 1) / BANK_GRANULES * BANK_GRANULES;
    for (uint32_t from = 0; from + granules <= sweep->map.granules; from += BANK_GRANULES)
        if (memory_map_find(&sweep->map, also, quadrants, from, from + granules, granules, false, NULL) >= 0)
            return from;
    return -1;
}

static void set_address(const struct sweep *sweep, struct bir_location *location, uint32_t base, uint64_t byte)
{
    bool psum = sweep->memory == BIR_MEMORY_PSUM;
    location->base_partition = base;
    location->bank = psum ? (int32_t)(byte / PSUM_BANK_BYTES) : 0;
    location->addr_bytes = psum ? byte % PSUM_BANK_BYTES : byte;
    location->allocated = true;
    location->present |= BIR_LOCF_ALLOCATED;
}

static bool try_base(const struct sweep *sweep, struct item *item, const uint64_t *const *also, uint32_t base)
{
    uint32_t count = granules_of(item->bytes), taken = count;
    unsigned quadrants = memory_quadrants(base, item->rows);
    int64_t at;
    if (count == 0 || quadrants == 0)
        at = 0;
    else if (sweep->memory == BIR_MEMORY_SB)
        at = memory_map_find(&sweep->map, also, quadrants, 0, sweep->map.granules, count, best_fit(sweep), NULL);
    else if (count <= BANK_GRANULES)
        at = find_in_bank(sweep, also, quadrants, count);
    else
        at = find_banks(sweep, also, quadrants, count);
    if (at < 0)
        return false;
    if (sweep->memory == BIR_MEMORY_PSUM && count > BANK_GRANULES)
        taken = (count + BANK_GRANULES - 1) / BANK_GRANULES * BANK_GRANULES;
    item->block = (struct memory_block){ quadrants, (uint32_t)at, taken };
    set_address(sweep, item->location, base, (uint64_t)at * MEMORY_GRANULE_BYTES);
    return true;
}

static bool place(struct sweep *sweep, struct item *item)
{
    /* Start partitions and how many partitions may start there (V13). */
    static const struct {
        uint32_t base, most;
    } bases[] = { { 0, 128 }, { 32, 32 }, { 64, 64 }, { 96, 32 } };
    const uint64_t *const *also = future_bits(sweep, item);
    size_t tried = item->range.bound ? 1 : sizeof bases / sizeof *bases;
    for (size_t i = 0; i < tried; i++)
        if (item->rows <= bases[i].most && try_base(sweep, item, also, bases[i].base))
            return true;
    return false;
}

/* --- error --- */

static int by_size(const void *a, const void *b)
{
    const struct item *x = *(struct item *const *)a, *y = *(struct item *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static const struct bir_instruction *instruction_at(const struct sweep *sweep, uint32_t index)
{
    struct bir_walk walk;
    bir_walk_init(&walk, &sweep->function->body);
    for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));)
        if (inst->index == index)
            return inst;
    return NULL;
}

/* Names of the largest locations alive, biggest first, as one text in the diagnostics' arena. */
static const char *live_names(struct sweep *sweep, uint64_t *live_bytes, unsigned quadrants)
{
    struct bir_arena *arena = sweep->diags->arena;
    const char *text = "";
    uint32_t named = 0, count = sweep->active.count;
    if (count)
        qsort(sweep->active.items, count, sizeof *sweep->active.items, by_size);
    for (uint32_t i = 0; i < count; i++) {
        const struct item *item = sweep->active.items[i];
        if (!(item->block.quadrants & quadrants))
            continue;
        *live_bytes += (uint64_t)item->block.count * MEMORY_GRANULE_BYTES;
        if (named++ >= NAMED_TENSORS)
            continue;
        const char *longer = bir_arena_printf(arena, "%s%s%.60s (%u)", text, named > 1 ? ", " : "",
                                              item->location->base.name->text, item->bytes);
        text = longer ? longer : text;
    }
    const char *whole =
        named > NAMED_TENSORS ? bir_arena_printf(arena, "%s and %u more", text, named - NAMED_TENSORS) : NULL;
    return whole ? whole : named ? text : "nothing";
}

static enum bir_status does_not_fit(struct sweep *sweep, const struct item *item)
{
    unsigned quadrants = memory_quadrants(0, item->rows);
    uint64_t live = 0, need = (uint64_t)granules_of(item->bytes) * MEMORY_GRANULE_BYTES;
    uint32_t run = 0;
    const struct bir_instruction *inst = instruction_at(sweep, item->range.first);
    (void)memory_map_find(&sweep->map, future_bits(sweep, item), quadrants, 0, sweep->map.granules,
                          sweep->map.granules + 1, false, &run);
    const char *names = live_names(sweep, &live, quadrants);
    uint64_t largest = (uint64_t)run * MEMORY_GRANULE_BYTES;
    uint64_t missing = live + need > sweep->partition_bytes ? live + need - sweep->partition_bytes
                                                            : need - (largest < need ? largest : 0);
    return bir_fail(
        sweep->diags, "alloc-does-not-fit", bir_pass_place(item->location->base.source_offset),
        "shorten live ranges, use smaller tiles, or try best-fit",
        "location '%.80s' (%u partitions of %u bytes) does not fit into %s at instruction '%.80s' of function '%.80s': "
        "%llu bytes a partition are missing; of %llu bytes %llu are taken, the longest free run has %llu; alive are %s",
        item->location->base.name->text, item->rows, item->bytes, sweep->memory == BIR_MEMORY_SB ? "SBUF" : "PSUM",
        inst && inst->name ? inst->name->text : "?", sweep->function->name->text, (unsigned long long)missing,
        (unsigned long long)sweep->partition_bytes, (unsigned long long)live, (unsigned long long)largest, names);
}

/* --- sweep --- */

static bool touched(const struct item *item)
{
    return item->range.first <= item->range.last;
}

static bool sweep_prepare(struct sweep *sweep)
{
    struct bir_arena *scratch = sweep->context->scratch;
    if (!memory_map_init(&sweep->map, scratch, sweep->partition_bytes))
        return false;
    for (int q = 0; q < MEMORY_QUADRANTS; q++) {
        sweep->future[q] = bir_arena_alloc_array(scratch, BIR_MEM_TABLES, sweep->map.words, sizeof(uint64_t));
        if (!sweep->future[q])
            return false;
    }
    for (uint32_t i = 0; i < sweep->items.count; i++) {
        struct item *item = &sweep->items.items[i];
        if (item->fixed && touched(item) && !bir_vec_push(scratch, &sweep->fixed, item))
            return false;
    }
    return true;
}

static enum bir_status sweep_run(struct sweep *sweep)
{
    for (uint32_t i = 0; i < sweep->items.count; i++) {
        struct item *item = &sweep->items.items[i];
        BIR_TRY(bir_pass_poll(sweep->context, i));
        if (touched(item))
            leave(sweep, item->range.first);
        if (item->fixed) {
            sweep->next_fixed += touched(item) ? 1 : 0;
        } else {
            if (!touched(item))
                set_address(sweep, item->location, 0, 0); /* nothing touches it: it may lie anywhere */
            else if (!place(sweep, item))
                return does_not_fit(sweep, item);
            sweep->context->stats->allocated_locations++;
        }
        if (touched(item) && !enter(sweep, item))
            return bir_arena_failure(sweep->context->scratch);
    }
    return BIR_OK;
}

static enum bir_status allocate_on_chip(struct bir_function *function, const struct bir_pass_context *context,
                                        struct bir_diags *diags, const struct location_ranges *ranges,
                                        enum bir_memory_type memory)
{
    struct sweep sweep = { .function = function, .context = context, .diags = diags, .memory = memory };
    sweep.partition_bytes = partition_bytes(memory, bir_pass_arch(context, function->module));
    BIR_TRY(collect(&sweep, ranges));
    if (sweep.items.count == 0)
        return BIR_OK;
    return sweep_prepare(&sweep) ? sweep_run(&sweep) : bir_arena_failure(context->scratch);
}

/* --- DRAM --- */

static bool is_external(const struct bir_set *set)
{
    return set->kind <= BIR_TENSOR_OUTPUT || set->kind == BIR_TENSOR_CONST;
}

static uint64_t dram_bytes(const struct bir_location *location)
{
    uint64_t bytes = 1;
    for (uint32_t i = 0; location->dims && i < location->dims->count; i++)
        if (location->dims->items[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)location->dims->items[i], &bytes))
            return UINT64_MAX;
    return bytes;
}

/* End of the local [0] and the shared [1] arena as far as the input has filled them. */
static void dram_ends(const struct bir_function *function, uint64_t ends[2])
{
    for (uint32_t i = 0; i < function->storages.count; i++) {
        const struct bir_set *set = (const struct bir_set *)function->storages.items[i];
        if (set->base.tag != BIR_STORAGE_SET || is_external(set))
            continue;
        for (uint32_t k = 0; k < set->locations.count; k++) {
            const struct bir_location *location = set->locations.items[k];
            uint64_t end;
            if (location->type == BIR_MEMORY_DRAM && has_address(location) &&
                !__builtin_add_overflow(location->addr_bytes, dram_bytes(location), &end) &&
                end > ends[set->addr_space == 1])
                ends[set->addr_space == 1] = end;
        }
    }
}

static enum bir_status number_dram(struct bir_module *module, const struct bir_pass_context *context,
                                   struct bir_diags *diags, struct bir_location *location, uint64_t *arena_end,
                                   int64_t number)
{
    struct bir_prop entry = { .type = BIR_VALUE_INT, .u.i = number };
    uint64_t addr = 0, end;
    if (!is_external(location->set)) {
        if (__builtin_add_overflow(*arena_end, DRAM_ALIGNMENT_BYTES - 1, &addr) ||
            __builtin_add_overflow(addr &= ~(uint64_t)(DRAM_ALIGNMENT_BYTES - 1), dram_bytes(location), &end) ||
            end > INT64_MAX)
            return bir_fail(diags, "alloc-too-large", bir_pass_place(location->base.source_offset), NULL,
                            "location '%.80s' ends beyond 2^63 bytes of DRAM", location->base.name->text);
        *arena_end = end;
    }
    entry.key = bir_intern_cstr(&module->strings, "table_entry_id");
    location->addr_bytes = addr;
    location->allocated = true;
    location->present |= BIR_LOCF_ALLOCATED;
    location->base.props = entry.key ? bir_props_with(module, location->base.props, "table_entry_id", &entry) : NULL;
    context->stats->allocated_locations++;
    return location->base.props ? BIR_OK : bir_pass_out_of_memory(context, module);
}

static enum bir_status number_all_dram(struct bir_function *function, const struct bir_pass_context *context,
                                       struct bir_diags *diags)
{
    uint64_t ends[2] = { 0, 0 };
    int64_t number = 0;
    dram_ends(function, ends);
    for (uint32_t i = 0; i < function->storages.count; i++) {
        struct bir_set *set = (struct bir_set *)function->storages.items[i];
        if (set->base.tag != BIR_STORAGE_SET)
            continue;
        for (uint32_t k = 0; k < set->locations.count; k++) {
            struct bir_location *location = set->locations.items[k];
            if (location->type != BIR_MEMORY_DRAM)
                continue;
            if (!has_address(location))
                BIR_TRY(number_dram(function->module, context, diags, location, &ends[set->addr_space == 1], number));
            number++;
        }
    }
    return BIR_OK;
}

/*
 * allocate_memory.
 * On entry: any module; locations with an address keep it.
 * Afterwards: every SB, PSUM and DRAM location has `allocated` set; two on-chip locations placed here, or one placed
 * here and one of the input, that are ever alive together share no byte. Locations of other types (Unallocated, Input,
 * ...) are left alone. Invalidates: nothing but instruction numbers. Must run before the passes that read addresses
 * (dependencies, lower_ap). Deterministic: the result depends on the module alone. Error "alloc-does-not-fit" names
 * what is alive where it got too tight.
 */
enum bir_status bir_pass_allocate_memory(struct bir_module *module, const struct bir_pass_context *context,
                                         struct bir_diags *diags)
{
    BIR_EACH_CODE_FUNCTION(function, module)
    {
        struct location_ranges ranges;
        BIR_TRY(bir_pass_poll(context, 0));
        BIR_TRY(location_ranges_find(function, context, &ranges));
        BIR_TRY(allocate_on_chip(function, context, diags, &ranges, BIR_MEMORY_SB));
        BIR_TRY(allocate_on_chip(function, context, diags, &ranges, BIR_MEMORY_PSUM));
        BIR_TRY(number_all_dram(function, context, diags));
    }
    return BIR_OK;
}
