/* Enumerations of KLR (wire numbers, from 0) as enumerations of BIR. */
#ifndef BIR_CODEGEN_MAPS_H
#define BIR_CODEGEN_MAPS_H

#include <stdint.h>

/* -1 when the number is out of range (or the value has no counterpart). */
int codegen_map_dtype(uint32_t klr_dtype);   /* enum bir_dtype */
int codegen_map_alu_op(uint32_t klr_alu_op); /* enum bir_alu_op */
int codegen_map_accumulation(uint32_t klr_accum_cmd);
int codegen_map_branch(uint32_t klr_br_cmp_op); /* enum bir_branch_compare; -1 for `always` */
int codegen_map_dge_mode(uint64_t dge_mode);    /* DGEType ordinal */
/* Never fail: a bad engine is Unassigned, a bad function Unknown (enums.md 14). */
int codegen_map_engine(uint32_t klr_engine);
int codegen_map_activation(uint32_t klr_function);
/* Wire spellings; NULL when out of range. */
const char *codegen_map_axis(uint32_t klr_tensor_sub_dim);
const char *codegen_map_transpose(uint32_t klr_transpose_ops);
const char *codegen_map_perf_mode(uint32_t klr_matmul_perf_mode);
const char *codegen_map_print_buffer(uint32_t klr_print_output_buffer);

#endif
