/* What the method explain prints: operands from names to bytes, and the programs that compute their addresses. */
#ifndef BIR_COMPILE_EXPLAIN_H
#define BIR_COMPILE_EXPLAIN_H

#include "base/buf.h"
#include "bir/module.h"

/*
 * Explains the instruction `target` names, or one operand of it ("NAME/ins/0", "NAME/indirection_ins/1",
 * "NAME/outs/0"), or with NULL every instruction but the emitted register code. A name that occurs several times is
 * explained each time. Text, or with json
 * {"explanations":[{"instruction","text"}]}. BIR_INVALID with "explain-no-target" when nothing has that name.
 */
enum bir_status bir_explain(const struct bir_module *module, const char *target, bool json, uint32_t indent,
                            struct bir_diags *diags, struct bir_buf *out) BIR_MUST_CHECK;

#endif
