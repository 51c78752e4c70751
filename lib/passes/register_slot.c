/* Choice (lowering.md 11 item 8): 4 bytes int32, or 8 bytes int64, in DRAM. */
#include "passes/register_slot.h"

enum bir_status bir_register_slot_new(struct bir_dram_space *dram, struct bir_function *function,
                                      const struct bir_str *name, const struct bir_register *reg,
                                      struct bir_diags *diags, struct bir_location **out)
{
    struct bir_module *module = function->module;
    bool wide = reg->num_physical == 2;
    int64_t ones[] = { 1, 1 };
    const struct bir_str *set_name = bir_intern_printf(&module->strings, "%s_set", name->text);
    const struct bir_str *class = bir_intern_cstr(&module->strings, "Tensor");
    const struct bir_ints *shape = bir_ints_get(module, ones, 2);
    if (!set_name || !class || !shape)
        return bir_arena_failure(&module->arena);
    if (bir_function_find_set(function, set_name) || bir_function_find_location(function, name))
        return bir_fail(diags, "colour-spill-name", bir_pass_place(reg->base.source_offset), "rename the location",
                        "the name %s of a register's location is taken", name->text);
    struct bir_set *set = bir_set_new(function, set_name);
    if (!set)
        return bir_arena_failure(&module->arena);
    set->kind = BIR_TENSOR_INTERNAL;
    set->base.dtype = wide ? BIR_DTYPE_INT64 : BIR_DTYPE_INT32;
    set->tensor_class = class;
    set->tensor_shape = shape;
    set->n_blocks = 1;
    *out = bir_dram_location_new(dram, set, name, wide ? 8 : 4);
    if (*out)
        return BIR_OK;
    return dram->full ? bir_fail(diags, "colour-spill-dram", BIR_NO_OFFSET, NULL,
                                 "no DRAM address is left for the location %s of a register", name->text)
                      : bir_arena_failure(&module->arena);
}
