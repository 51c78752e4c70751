/* build_anti_deps: Anti and Output edges from real footprints (lowering.md 12.4). */
#include "passes/memory_order.h"

/*
 * Entry: as build_flow_deps.
 * Exit: every instruction that writes bytes has an Anti edge to each earlier reader of them since the write before, and
 * an Output edge to that write; in loops the same, loop-carried, to readers and writers of the iteration before that
 * stand behind it. A pair that has a Flow edge in the same list keeps it: the strongest kind counts. Invalidates:
 * nothing.
 */
enum bir_status bir_pass_build_anti_deps(struct bir_module *module, const struct bir_pass_context *context,
                                         struct bir_diags *diags)
{
    (void)diags;
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        struct bir_memory_order_kinds kinds = { .anti_output = true };
        BIR_TRY(bir_memory_order(f, context, kinds));
    }
    return BIR_OK;
}
