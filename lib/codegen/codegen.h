/*
 * KLR kernel in, BIR module out: the front door of the compiler for .klr files.
 *
 * Every operand becomes a physical access pattern with its full-rank geometry, immediates and registers become their
 * own kinds, and a runtime offset becomes a companion on the operand it moves (lowering.md 3 to 5). Engines are
 * resolved: no instruction leaves with `Unassigned`; register and branch instructions are on ALL until the engine
 * split.
 */
#ifndef BIR_CODEGEN_CODEGEN_H
#define BIR_CODEGEN_CODEGEN_H

#include "base/buf.h"
#include "base/cancel.h"
#include "base/diag.h"
#include "bir/module.h"
#include "klr/klr.h"

struct bir_codegen_options {
    enum bir_arch arch; /* BIR_ARCH_NONE means gen3: a .klr file names none */
    /* A simple access as the reference wrote it, choice: one pair {elements of a row, rows}, access shape {1,1,1}, the
     * operand flagged as the whole location (lowering.md 3.3). False gives one pair a dimension (lowering.md,
     * correction 14). */
    bool literal_simple_access;
    size_t arena_limit_bytes;  /* of the module and of the scratch memory; 0 = no bound */
    struct bir_cancel *cancel; /* or NULL; polled once a block and every 1,024 statements */
};

/*
 * Makes the module of a kernel: one function a core. One body: the function has the kernel's name ("kernel" when that
 * is empty). Several bodies: `<kernel>_core<N>`, N from 0, in the file's order; a tensor of the file occurs in each
 * function that uses it. A kernel without bodies gives one function without blocks.
 *
 * Blocks keep their labels, instructions the names of their statements; a statement without a name is called
 * `<operator>-<n>`. source_offset is the byte offset in the .klr file of the statement (instructions), of the operand's
 * own value (operands), of the TensorName (storages) and of the block.
 *
 * Faults of the kernel are all listed; the status is then BIR_INVALID and *out untouched. The module is independent of
 * *file.
 */
enum bir_status bir_codegen_klr(const struct klr_file *file, const struct bir_codegen_options *options,
                                struct bir_diags *diags, struct bir_module **out) BIR_MUST_CHECK;

/* The operator table as Markdown: klr operator, BIR opcode or why there is none, engine, operands, keys. For the
 * manual. */
void bir_codegen_describe_operators(struct bir_buf *out);
/* The same for the man page klr(5): a .TP paragraph an operator. */
void bir_codegen_describe_operators_man(struct bir_buf *out);

#endif
