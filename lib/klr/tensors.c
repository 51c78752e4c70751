/*
 * Interning of TensorNames: every operand of a file repeats the whole tensor it works on, 42 % of the bytes of a large
 * kernel (klr-format.md 12). The table maps the bytes of a tensor to its node. It holds offsets into the file, no
 * copies, and lives in the reader's scratch arena. The hashes take the string table's seed, so that inputs cannot aim
 * at them.
 *
 * How long a tensor is shows only when it has been read. To be spared even that, the hints lead from the hash of the
 * name alone, which stands in front, to tensors with such a name: when the bytes of one of them stand here, then so
 * does that tensor, for the bytes of a value decide where it ends. Hints are a cache: a name has few places, which the
 * last tensors win, and what they miss is read and found in the table. So the work on a tensor is bounded whatever the
 * names are.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "klr/reader.h"

enum {
    FIRST_CAPACITY = 64,
    HINTS_PER_ENTRY = 2,
    HINT_PLACES = 8, /* neighbours that may hold the hint for a name */
    SHAPE_BYTES = 4, /* type tag, constructor and field count, in front of the name */
};

/* Hash of the name of the tensor at r->pos; 0 will do when it cannot be told. */
static uint32_t hash_name(const struct klr_reader *r)
{
    const uint8_t *bytes = r->bytes + r->pos;
    size_t left = r->len - r->pos;
    uint64_t len;
    if (left < SHAPE_BYTES)
        return 0;
    uint32_t size = klr_head_quick(bytes + SHAPE_BYTES, left - SHAPE_BYTES, KLR_MAJOR_TEXT, &len);
    if (size == 0 || len > left - SHAPE_BYTES - size)
        return 0;
    return (uint32_t)XXH3_64bits_withSeed(bytes + SHAPE_BYTES + size, (size_t)len, r->strings->seed);
}

static uint32_t hint_mask(const struct klr_reader *r)
{
    return r->tensor_capacity * HINTS_PER_ENTRY - 1;
}

const struct klr_node *klr_tensor_recognise(struct klr_reader *r, struct klr_tensor_hashes *hashes)
{
    hashes->name = hash_name(r);
    if (r->tensor_capacity == 0)
        return NULL;
    uint32_t mask = hint_mask(r);
    for (uint32_t i = 0; i < HINT_PLACES; i++) {
        uint32_t hint = r->tensor_hints[(hashes->name + i) & mask];
        if (hint == 0)
            return NULL;
        const struct klr_tensor_entry *entry = &r->tensors[hint - 1];
        if (entry->hashes.name == hashes->name && entry->len <= r->len - r->pos &&
            memcmp(r->bytes + entry->start, r->bytes + r->pos, entry->len) == 0) {
            r->pos += entry->len;
            return entry->node;
        }
    }
    return NULL;
}

const struct klr_node *klr_tensor_find(const struct klr_reader *r, size_t start, struct klr_tensor_hashes *hashes)
{
    const uint8_t *bytes = r->bytes + start;
    size_t len = r->pos - start;
    hashes->bytes = (uint32_t)XXH3_64bits_withSeed(bytes, len, r->strings->seed);
    if (r->tensor_capacity == 0)
        return NULL;
    uint32_t mask = r->tensor_capacity - 1;
    for (uint32_t i = hashes->bytes & mask;; i = (i + 1) & mask) {
        const struct klr_tensor_entry *entry = &r->tensors[i];
        if (!entry->node)
            return NULL;
        if (entry->hashes.bytes == hashes->bytes && entry->len == len &&
            memcmp(r->bytes + entry->start, bytes, len) == 0)
            return entry->node;
    }
}

/* Makes a hint of the entry at `place`: in the first free place of its name, or instead of what is in the first. */
static void hint(struct klr_reader *r, uint32_t place)
{
    uint32_t mask = hint_mask(r), first = r->tensors[place].hashes.name, i = 0;
    while (i < HINT_PLACES && r->tensor_hints[(first + i) & mask] != 0)
        i++;
    r->tensor_hints[(first + i % HINT_PLACES) & mask] = place + 1;
}

/* There is room. */
static void insert(struct klr_reader *r, const struct klr_tensor_entry *entry)
{
    uint32_t mask = r->tensor_capacity - 1, place = entry->hashes.bytes & mask;
    while (r->tensors[place].node)
        place = (place + 1) & mask;
    r->tensors[place] = *entry;
    hint(r, place);
}

static bool grow(struct klr_reader *r)
{
    const struct klr_tensor_entry *old = r->tensors;
    uint32_t old_capacity = r->tensor_capacity, capacity = old_capacity ? old_capacity : FIRST_CAPACITY / 2;
    if (capacity > UINT32_MAX / 2 / HINTS_PER_ENTRY) {
        r->scratch.failure = BIR_LIMIT;
        return false;
    }
    capacity *= 2;
    struct klr_tensor_entry *entries =
        bir_arena_alloc_array(&r->scratch, BIR_MEM_TABLES, capacity, sizeof(struct klr_tensor_entry));
    uint32_t *hints =
        bir_arena_alloc_array(&r->scratch, BIR_MEM_TABLES, (size_t)capacity * HINTS_PER_ENTRY, sizeof(uint32_t));
    if (!entries || !hints)
        return false;
    r->tensors = entries;
    r->tensor_hints = hints;
    r->tensor_capacity = capacity;
    for (uint32_t i = 0; i < old_capacity; i++) {
        if (old[i].node)
            insert(r, &old[i]);
    }
    return true;
}

enum bir_status klr_tensor_add(struct klr_reader *r, size_t start, const struct klr_tensor_hashes *hashes,
                               const struct klr_node *node)
{
    if (r->tensor_count >= r->tensor_capacity / 2 && !grow(r))
        return klr_fault_memory(r, &r->scratch);
    struct klr_tensor_entry entry = { .node = node, .start = start, .len = r->pos - start, .hashes = *hashes };
    insert(r, &entry);
    r->tensor_count++;
    return BIR_OK;
}
