/* Induction registers of loops (lowering.md 7). */
#ifndef BIR_PASSES_INDUCTION_H
#define BIR_PASSES_INDUCTION_H

#include "passes/pass.h"

/* The register that holds the value of the axis on an engine: the assigned one, or the one that the Loop lists when a
 * dump was read. NULL when there is none. */
struct bir_register *bir_induction_register(struct pelican_axis *axis, enum bir_engine engine);

#endif
