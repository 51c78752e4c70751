/*
 * Input: BIR-JSON, its first byte apart, which chooses strict or lenient reading. Checked on what is accepted: the use
 * lists are exact, the verifier survives, and writing, reading and writing again gives the same bytes; on what is
 * refused: there is an error whose place lies in the text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "bir/json.h"
#include "bir/verifier.h"

#define MEMORY_BYTES ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_diagnostics(const struct bir_diags *diags, const char *text, size_t len, struct bir_arena *arena)
{
    for (const struct bir_diag *d = diags->first; d; d = d->next) {
        require(bir_utf8_valid(d->message, strlen(d->message), NULL));
        require(d->offset >= 0 && (size_t)d->offset <= len);
        require(bir_json_pointer_at(text, len, (size_t)d->offset, arena));
    }
}

/* The module, or NULL when the text is refused. */
static struct bir_module *read_text(const char *text, size_t len, bool strict)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_module *module = NULL;
    struct bir_read_options options = { .strict = strict, .max_depth = 200, .max_arena_bytes = MEMORY_BYTES };
    bir_arena_init(&arena, MEMORY_BYTES);
    bir_diags_init(&diags, &arena, 8);
    enum bir_status status = bir_module_read_json(text, len, &options, &diags, &module);
    require((status == BIR_OK) == (module != NULL));
    require((status == BIR_OK) == (diags.errors == 0));
    check_diagnostics(&diags, text, len, &arena);
    bir_arena_deinit(&arena);
    return module;
}

static void verify(const struct bir_module *module, bool strict)
{
    struct bir_arena arena;
    struct bir_diags diags;
    bir_arena_init(&arena, MEMORY_BYTES);
    bir_diags_init(&diags, &arena, 8);
    enum bir_status status = bir_module_verify(module, strict, &diags);
    require(status == (diags.errors > 0 ? BIR_INVALID : BIR_OK));
    bir_arena_deinit(&arena);
}

static void write_module(const struct bir_module *module, uint32_t indent, struct bir_buf *buf)
{
    const struct bir_write_options options = { .indent = indent };
    bir_buf_init(buf, 0);
    require(bir_module_write_json(module, &options, buf) == BIR_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool strict = data[0] & 1;
    struct bir_module *module = read_text((const char *)data + 1, size - 1, strict);
    if (!module)
        return 0;
    const char *problem;
    require(bir_module_check_uses(module, &problem));
    verify(module, strict);
    struct bir_buf once, twice;
    uint32_t indent = data[0] & 2 ? 2 : 0;
    write_module(module, indent, &once);
    bir_module_free(module);
    module = read_text(once.data, once.len, strict);
    require(module != NULL);
    require(bir_module_check_uses(module, &problem));
    write_module(module, indent, &twice);
    require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    bir_module_free(module);
    bir_buf_deinit(&once);
    bir_buf_deinit(&twice);
    return 0;
}
