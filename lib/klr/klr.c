/* Reading a whole file: set-up, decoding, rules of meaning, clean-up. The tree and its invariants are described in
 * klr.h. */
#include "klr/klr.h"

#include "klr/reader.h"
#include "klr/semantics.h"

void klr_reader_init(struct klr_reader *r, const void *bytes, size_t len, const struct klr_limits *limits,
                     struct bir_strtab *strings, struct bir_arena *arena, struct bir_diags *diags)
{
    *r = (struct klr_reader){ .bytes = bytes, .len = len, .strings = strings, .arena = arena, .diags = diags };
    r->limits = limits ? *limits : KLR_LIMITS_DEFAULT;
    if (r->limits.max_nesting > KLR_NESTING_MAX)
        r->limits.max_nesting = KLR_NESTING_MAX;
    bir_arena_init_scratch(&r->scratch, arena->limit_bytes);
}

void klr_reader_deinit(struct klr_reader *r)
{
    bir_arena_deinit(&r->scratch);
}

enum bir_status klr_read(const void *bytes, size_t len, const struct klr_limits *limits, struct bir_strtab *strings,
                         struct bir_arena *arena, struct bir_diags *diags, struct klr_file *out)
{
    struct klr_reader r;
    struct klr_file file = { 0 };
    klr_reader_init(&r, bytes, len, limits, strings, arena, diags);
    enum bir_status status = klr_decode(&r, &file);
    if (status == BIR_OK)
        status = klr_semantics_check(r.rules.items, r.rules.count, diags);
    klr_reader_deinit(&r);
    bir_arena_trim(arena);
    if (status == BIR_OK)
        *out = file;
    return status;
}

bool klr_is_klr(const void *bytes, size_t len)
{
    static const uint8_t mark[] = { 0xd9, 0xd9, 0xf7 };
    return len > 0 && memcmp(bytes, mark, len < sizeof(mark) ? len : sizeof(mark)) == 0;
}
