/* build_flow_deps: Flow edges from real footprints (lowering.md 12.3). */
#include "passes/memory_order.h"

/*
 * Entry: locations have addresses (one without is taken to lie at its `addr`).
 * Exit: every instruction that reads bytes has a Flow edge to each earlier one in its function that wrote some of them
 * last; one in a loop has a loop-carried Flow edge to each that stands behind it in the loop's body and wrote some of
 * them in the iteration before. Ordered edges between the same two are raised. Invalidates: nothing.
 */
enum bir_status bir_pass_build_flow_deps(struct bir_module *module, const struct bir_pass_context *context,
                                         struct bir_diags *diags)
{
    (void)diags;
    BIR_EACH_CODE_FUNCTION(f, module)
    {
        struct bir_memory_order_kinds kinds = { .flow = true };
        BIR_TRY(bir_memory_order(f, context, kinds));
    }
    return BIR_OK;
}
