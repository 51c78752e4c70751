/*
 * BIR-JSON reader: entry point, module, functions, queues (bir-json.md sections 3, 4, 12).
 *
 * The document may be a module or an object whose only key "module" holds one, as the vendor's round-trip tool reads
 * it. Order of keys does not matter: blocks that come before their function's allocations, and queues that come before
 * the functions, are skipped and read when what they refer to is there. Everything else refers by fix-ups.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bir/read.h"

#define READ_DEPTH_MAX 1000u /* deeper documents could not be written again (BIR_JSON_WRITER_MAX_DEPTH) */

struct module_fields {
    struct key_set seen;
    struct read_mark queues;
    int64_t version;
    uint32_t version_offset, object_offset;
    bool queues_skipped;
};

/* Functions */

static enum bir_status read_function_attributes(struct read_context *ctx, struct bir_function *function)
{
    enum bir_json_type type = bir_json_peek(&ctx->json);
    if (type != BIR_JSON_ARRAY && type != BIR_JSON_OBJECT)
        return bir_json_mismatch(&ctx->json, "an array or object of attributes");
    return read_raw(ctx, &function->attributes);
}

static enum bir_status read_function_allocations(struct read_context *ctx)
{
    BIR_TRY(read_allocations(ctx));
    return read_resolve_locations(ctx, ctx->function);
}

struct function_fields {
    struct key_set seen;
    struct read_mark blocks;
    bool blocks_skipped;
};

static enum bir_status read_function_field(struct read_context *ctx, struct bir_function *function,
                                           struct function_fields *f, enum read_key key, struct bir_slice text)
{
    static const char *const known[] = { "optin_passes", NULL };
    switch (key) {
    case READ_NAME: return read_text(ctx, &function->name);
    case READ_ORIGIN: return read_origin(ctx, &function->origin);
    case READ_ATTRIBUTES: return read_function_attributes(ctx, function);
    case READ_ALLOCATIONS: return read_function_allocations(ctx);
    case READ_BLOCKS:
        if (key_set_has(&f->seen, READ_ALLOCATIONS))
            return read_blocks(ctx, &function->body);
        f->blocks = read_mark_here(ctx);
        f->blocks_skipped = true;
        return bir_json_skip(&ctx->json, NULL);
    default: return read_listed(ctx, text, "a function", known);
    }
}

static enum bir_status read_function(struct read_context *ctx, bool is_nki)
{
    struct bir_function *function = bir_function_new(ctx->module, NULL, is_nki);
    if (!function)
        return read_fail_memory(ctx);
    function->source_offset = read_offset(ctx);
    function->attributes = NULL;
    ctx->function = function;
    ctx->locations.count = 0;
    memset(ctx->checked, 0, sizeof ctx->checked);
    uint32_t base = ctx->pending.count;
    struct function_fields f = { .blocks_skipped = false };
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &f.seen, &text, &key))
        BIR_TRY(read_function_field(ctx, function, &f, key, text));
    BIR_TRY(ctx->json.status);
    BIR_TRY(read_require(ctx, &f.seen, function->source_offset, "a function", READ_NAME));
    BIR_TRY(read_enter_once(ctx, &ctx->function_names[is_nki], function->name, function->source_offset, "functions"));
    if (f.blocks_skipped) {
        struct read_mark place = read_seek(ctx, f.blocks);
        BIR_TRY(read_blocks(ctx, &function->body));
        read_resume(ctx, place);
    }
    ctx->function = NULL;
    return read_take_props(ctx, base, &function->props);
}

static enum bir_status read_functions(struct read_context *ctx, bool is_nki)
{
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(read_function(ctx, is_nki));
    return ctx->json.status;
}

/* Empty, or exactly one key "functions". */
static enum bir_status read_nki_functions(struct read_context *ctx)
{
    ctx->module->nki_functions_present = true;
    struct key_set seen = { { 0 } };
    struct bir_slice text;
    enum read_key key;
    if (bir_json_peek(&ctx->json) != BIR_JSON_OBJECT)
        return read_fail(ctx, "bir-nki-functions", "BIR025", bir_json_value_offset(&ctx->json),
                         "write {\"functions\": [...]}", "malformed nki_functions: not an object");
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &seen, &text, &key)) {
        if (key != READ_FUNCTIONS)
            return read_fail(ctx, "bir-nki-functions", "BIR025", ctx->json.value_start, "write {\"functions\": [...]}",
                             "malformed nki_functions: a key other than functions");
        BIR_TRY(read_functions(ctx, true));
    }
    return ctx->json.status;
}

/* Queues */

/* names: the queues so far, in strict mode. */
static enum bir_status read_queue(struct read_context *ctx, struct bir_map *names)
{
    static const char *const known[] = { "attributes", "num_dma_engines", "semaphore_groups", NULL };
    struct bir_queue *queue = bir_queue_new(ctx->module, NULL);
    if (!queue)
        return read_fail_memory(ctx);
    queue->source_offset = read_offset(ctx);
    queue->blocks_present = false;
    uint32_t base = ctx->pending.count;
    struct key_set seen = { { 0 } };
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &seen, &text, &key)) {
        if (key == READ_NAME) {
            BIR_TRY(read_text(ctx, &queue->name));
        } else if (key == READ_BLOCKS) {
            queue->blocks_present = true;
            BIR_TRY(read_blocks(ctx, &queue->body));
        } else {
            BIR_TRY(read_listed(ctx, text, "a queue", known));
        }
    }
    BIR_TRY(ctx->json.status);
    BIR_TRY(read_require(ctx, &seen, queue->source_offset, "a queue", READ_NAME));
    BIR_TRY(read_enter_once(ctx, names, queue->name, queue->source_offset, "queues"));
    return read_take_props(ctx, base, &queue->props);
}

static enum bir_status read_queues(struct read_context *ctx)
{
    struct bir_map names = { 0 };
    ctx->in_queue = true;
    memset(ctx->checked, 0, sizeof ctx->checked);
    BIR_TRY(bir_json_array_begin(&ctx->json));
    while (bir_json_array_next(&ctx->json))
        BIR_TRY(read_queue(ctx, &names));
    ctx->in_queue = false;
    return ctx->json.status;
}

/* Module */

static enum bir_status read_arch(struct read_context *ctx)
{
    struct bir_slice name;
    BIR_TRY(bir_json_string(&ctx->json, &name));
    int value = bir_enum_value(BIR_ENUM_ARCH_LEVEL, name.text, name.len);
    if (value < 0 && ctx->strict)
        return read_fail_enum(ctx, ctx->json.value_start, BIR_ENUM_ARCH_LEVEL, name.text, name.len);
    ctx->module->arch = bir_arch_from_name(name.text, name.len);
    if (ctx->module->arch != BIR_ARCH_NONE)
        return BIR_OK;
    ctx->module->arch_text = bir_intern(&ctx->module->strings, name.text, name.len);
    return ctx->module->arch_text ? BIR_OK : read_fail_memory(ctx);
}

/* None say the same as an empty object (bir-json.md section 3). */
static enum bir_status read_module_attributes(struct read_context *ctx)
{
    const struct bir_str *attributes;
    BIR_TRY(read_raw_object(ctx, &attributes));
    ctx->module->attributes = read_is_empty(attributes) ? NULL : attributes;
    return BIR_OK;
}

static enum bir_status read_module_field(struct read_context *ctx, struct module_fields *f, enum read_key key,
                                         struct bir_slice text)
{
    static const char *const known[] = { "artifact_info", "artifact_path", "call_to_physical_memlocs", "name", NULL };
    static const struct bir_slice revision_key = { "revision", 8 };
    switch (key) {
    case READ_VERSION: f->version_offset = read_offset(ctx); return bir_json_i64(&ctx->json, &f->version);
    case READ_ARCH: return read_arch(ctx);
    case READ_REVISION:
    case READ_ARCH_REV: return read_enum_field(ctx, BIR_ENUM_ARCH_REVISION, revision_key, &ctx->module->revision);
    case READ_ATTRIBUTES: return read_module_attributes(ctx);
    case READ_FUNCTIONS: return read_functions(ctx, false);
    case READ_NKI_FUNCTIONS: return read_nki_functions(ctx);
    case READ_QUEUES:
        if (key_set_has(&f->seen, READ_FUNCTIONS))
            return read_queues(ctx);
        f->queues = read_mark_here(ctx);
        f->queues_skipped = true;
        return bir_json_skip(&ctx->json, NULL);
    default: return read_listed(ctx, text, "a module", known);
    }
}

/* The version decides how expressions are spelled; it is known only now. */
static enum bir_status check_version(struct read_context *ctx, const struct module_fields *f)
{
    if (f->version != 1 && f->version != 2)
        return read_fail(ctx, "bir-version", NULL, f->version_offset, "write version 2",
                         "Check the version of bir json file - should be 1 (old) or 2 (new), found %" PRId64,
                         f->version);
    int64_t wrong = f->version == 1 ? ctx->first_v2 : ctx->first_v1;
    if (wrong == BIR_NO_OFFSET)
        return BIR_OK;
    return read_fail(ctx, "bir-version", NULL, (size_t)wrong,
                     f->version == 1 ? "write version 2" : "give the expression a kind, or write version 1",
                     "an expression in the spelling of version %d in a document of version %" PRId64,
                     f->version == 1 ? 2 : 1, f->version);
}

static enum bir_status finish_module(struct read_context *ctx, struct module_fields *f, uint32_t base)
{
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a module", READ_VERSION));
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a module", READ_ARCH));
    BIR_TRY(read_require(ctx, &f->seen, f->object_offset, "a module", READ_FUNCTIONS));
    BIR_TRY(check_version(ctx, f));
    if (f->queues_skipped) {
        struct read_mark place = read_seek(ctx, f->queues);
        BIR_TRY(read_queues(ctx));
        read_resume(ctx, place);
        BIR_TRY(check_version(ctx, f));
    }
    return read_take_props(ctx, base, &ctx->module->props);
}

/* Is "module" the first and only key so far? Then the object is a wrapper and not a module itself. */
static bool is_wrapper_key(const struct key_set *seen, enum read_key key)
{
    struct key_set only = { { 0 } };
    only.words[READ_MODULE >> 6] = UINT64_C(1) << (READ_MODULE & 63);
    return key == READ_MODULE && seen->words[0] == only.words[0] && seen->words[1] == only.words[1];
}

static enum bir_status read_module_object(struct read_context *ctx, bool may_wrap)
{
    struct module_fields f = { .object_offset = read_offset(ctx) };
    uint32_t base = ctx->pending.count;
    bool is_wrapper = false;
    struct bir_slice text;
    enum read_key key;
    BIR_TRY(bir_json_object_begin(&ctx->json));
    while (read_next_key(ctx, &f.seen, &text, &key)) {
        if (is_wrapper)
            return read_fail(ctx, "bir-unknown-key", NULL, ctx->json.value_start, "leave module alone in its wrapper",
                             "a wrapper holds nothing beside its module");
        is_wrapper = may_wrap && ctx->pending.count == base && is_wrapper_key(&f.seen, key);
        BIR_TRY(is_wrapper ? read_module_object(ctx, false) : read_module_field(ctx, &f, key, text));
    }
    BIR_TRY(ctx->json.status);
    return is_wrapper ? BIR_OK : finish_module(ctx, &f, base);
}

/* The names of instructions were entered in scratch memory: few of those who read a module look one up again. */
static void forget_names(struct bir_function *first)
{
    for (struct bir_function *f = first; f; f = f->next)
        bir_function_forget_names(f);
}

static enum bir_status read_document(struct read_context *ctx)
{
    if (bir_json_peek(&ctx->json) != BIR_JSON_OBJECT)
        return bir_json_mismatch(&ctx->json, "a module object");
    BIR_TRY(read_module_object(ctx, true));
    BIR_TRY(bir_json_end(&ctx->json));
    BIR_TRY(read_resolve_module(ctx));
    forget_names(ctx->module->functions);
    forget_names(ctx->module->nki_functions);
    return BIR_OK;
}

static struct read_context *context_new(struct bir_arena *scratch, const struct bir_read_options *options,
                                        struct bir_diags *diags)
{
    struct read_context *ctx = BIR_NEW(scratch, BIR_MEM_OTHER, struct read_context);
    if (!ctx)
        return NULL;
    ctx->options = options;
    ctx->diags = diags;
    ctx->scratch = scratch;
    ctx->strict = options->strict;
    ctx->unknown_operands = options->unknown_operands && !options->strict;
    ctx->first_v1 = ctx->first_v2 = BIR_NO_OFFSET;
    ctx->max_arg_id_offset = BIR_NO_SOURCE;
    bir_buf_init(&ctx->text, 0); /* as long as a value of the document, not more */
    read_keys_init(ctx);
    return ctx;
}

static enum bir_status read_text_into(struct read_context *ctx, const char *text, size_t len)
{
    uint32_t depth = ctx->options->max_depth ? ctx->options->max_depth : BIR_JSON_DEPTH_DEFAULT;
    bir_json_reader_init(&ctx->json, text, len, depth < READ_DEPTH_MAX ? depth : READ_DEPTH_MAX, ctx->scratch,
                         ctx->diags);
    ctx->module = bir_module_new(ctx->options->max_arena_bytes);
    enum bir_status status = ctx->module ? read_document(ctx) : BIR_NOMEM;
    bir_buf_deinit(&ctx->text);
    if (status == BIR_OK)
        bir_arena_trim(&ctx->module->arena);
    else
        bir_module_free(ctx->module);
    return status;
}

enum bir_status bir_module_read_json(const char *text, size_t len, const struct bir_read_options *options,
                                     struct bir_diags *diags, struct bir_module **module)
{
    static const struct bir_read_options defaults = { 0 };
    if (!options)
        options = &defaults;
    struct bir_arena scratch;
    bir_arena_init_scratch(&scratch, options->max_arena_bytes);
    struct read_context *ctx = context_new(&scratch, options, diags);
    enum bir_status status = ctx ? read_text_into(ctx, text, len) : bir_arena_failure(&scratch);
    if (status == BIR_OK)
        *module = ctx->module;
    else if (!ctx && status == BIR_LIMIT)
        (void)bir_fail_limit(diags, "bir-memory-limit", 0, "raise the memory limit",
                             "the memory limit of %zu bytes is too low to read any module", scratch.limit_bytes);
    bir_arena_deinit(&scratch);
    return status;
}
