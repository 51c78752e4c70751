/*
 * Fuzz target for the way of a .klr file to a placed module. Besides not crashing: a refusal has a diagnostic, a module
 * keeps the invariants of its use lists, no instruction of it is without an engine, and its placed locations lie inside
 * their memory.
 */
#include <assert.h>

#include "codegen/codegen.h"
#include "passes/pass.h"

enum { LIMIT_BYTES = 64 << 20 };

static void check_module(struct bir_module *module)
{
    const char *problem;
    bool sound = bir_module_check_uses(module, &problem);
    assert(sound);
    (void)sound;
    BIR_EACH_FUNCTION (function, module) {
        struct bir_walk walk;
        bir_walk_init(&walk, &function->body);
        for (struct bir_instruction *inst; (inst = bir_walk_next(&walk));)
            assert(inst->engine != BIR_ENGINE_UNASSIGNED);
    }
}

static void check_places(const struct bir_module *module)
{
    BIR_EACH_FUNCTION (function, module) {
        for (uint32_t i = 0; i < function->storages.count; i++) {
            const struct bir_set *set = (const struct bir_set *)function->storages.items[i];
            for (uint32_t k = 0; set->base.tag == BIR_STORAGE_SET && k < set->locations.count; k++) {
                const struct bir_location *location = set->locations.items[k];
                assert(location->allocated);
                assert(location->pinned || location->type != BIR_MEMORY_SB ||
                       location->addr_bytes + (uint64_t)location->dims->items[1] <= 224 * 1024);
                assert(location->pinned || location->type != BIR_MEMORY_PSUM ||
                       (location->bank >= 0 && location->bank < 8 && location->addr_bytes < 2048));
            }
        }
    }
}

static void place(struct bir_module *module, struct bir_diags *diags)
{
    struct bir_arena scratch;
    struct bir_pass_stats stats = { 0 };
    struct bir_pass_context context = { .stats = &stats, .scratch = &scratch };
    uint32_t errors = diags->errors;
    bir_arena_init(&scratch, LIMIT_BYTES);
    enum bir_status status = bir_pass_allocate_memory(module, &context, diags);
    assert(status == BIR_OK || status == BIR_INVALID || status == BIR_LIMIT);
    assert(status != BIR_INVALID || diags->errors > errors);
    if (status == BIR_OK)
        check_places(module);
    bir_arena_deinit(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bir_arena arena;
    struct bir_strtab strings;
    struct bir_diags diags;
    struct klr_file file;
    struct bir_module *module = NULL;
    struct bir_codegen_options options = { .arena_limit_bytes = LIMIT_BYTES };
    bir_arena_init(&arena, LIMIT_BYTES);
    bir_strtab_init(&strings, &arena);
    bir_diags_init(&diags, &arena, 20);
    if (klr_read(data, size, NULL, &strings, &arena, &diags, &file) == BIR_OK) {
        enum bir_status status = bir_codegen_klr(&file, &options, &diags, &module);
        assert(status == BIR_OK || status == BIR_INVALID || status == BIR_LIMIT);
        assert(status == BIR_OK || (diags.errors > 0 && !module));
        if (status == BIR_OK) {
            check_module(module);
            place(module, &diags);
            bir_module_free(module);
        }
    }
    bir_arena_deinit(&arena);
    return 0;
}
