/*
 * DMA operators and the on-engine copy: which instruction, which side may be dynamic (lowering.md 5.1).
 *
 * ncDmaCopy becomes a DMACopy when compute_op is none, or uniqueIndices is set (mode CCE with cce_op add when it also
 * adds).
 *
 * When it adds through a vector offset of the destination, it is a GenericIndirectSave: data and index tensor in, the
 * static destination out.
 *
 * When it adds without any runtime offset, it is a DMACopy of mode CCE with source and old destination as inputs,
 * choice: the reference faults there ("cannot extract dynamic ap from a static access").
 */
#include "codegen/maps.h"
#include "codegen/operators.h"

static enum bir_status key_dge(struct codegen_keys *keys, const struct klr_node *op, uint64_t dge_mode)
{
    int dge = codegen_map_dge_mode(dge_mode);
    if (dge < 0)
        return codegen_fail(keys->cg, "klr-dge-mode", op, "use 0 unknown, 1 software, 2 hardware or 3 none",
                            "dgeMode %llu is not between 0 and 3", (unsigned long long)dge_mode);
    codegen_key_enum(keys, "dge_type", BIR_ENUM_DGE_TYPE, dge);
    return BIR_OK;
}

/* dge_type, oob_is_err and dma_qos from the three fields that every DMA operator has. */
static enum bir_status dma_keys(struct codegen *cg, struct codegen_keys *keys, const struct klr_node *op,
                                uint64_t dge_mode, const struct klr_node *oob, enum klr_slot_index priority_slot)
{
    BIR_TRY(key_dge(keys, op, dge_mode));
    if (oob->ctor == KLR_DmaBounds_reg)
        return codegen_fail(cg, "klr-dma-bounds", oob, "use skip or error",
                            "%s checks its bounds by a register, which has no BIR form", cg->operator_name);
    codegen_key_bool(keys, "oob_is_err", oob->ctor == KLR_DmaBounds_error);
    return codegen_key_priority(keys, op, priority_slot);
}

static enum bir_status check_dge(struct codegen *cg, const struct klr_node *op, uint64_t dge_mode, const char *side,
                                 bool dynamic)
{
    if (!dynamic || codegen_map_dge_mode(dge_mode) != 0)
        return BIR_OK;
    return codegen_fail(cg, "klr-dge-mode", op, "set dge_mode to software or hardware",
                        "DGE must be enabled when dynamic %s access in DMA is used", side);
}

/* An add through a vector offset: data and index tensor in, static destination out (lowering.md 5.5). */
static enum bir_status indirect_save(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                     struct codegen_keys *keys)
{
    struct codegen_access index, destination;
    const struct klr_node *dst = klr_node_at(op, KLR_NcDmaCopy_dst);
    BIR_TRY(codegen_extract_index(cg, dst, &index));
    inst->opcode = BIR_OP_GENERIC_INDIRECT_SAVE;
    BIR_TRY(codegen_add_ref(cg, inst, BIR_ROLE_IN, klr_node_at(op, KLR_NcDmaCopy_src)));
    BIR_TRY(codegen_add_access(cg, inst, BIR_ROLE_IN, &index, NULL));
    BIR_TRY(codegen_ref_access(cg, dst, true, &destination));
    BIR_TRY(codegen_add_access(cg, inst, BIR_ROLE_OUT, &destination, NULL));
    BIR_TRY(key_dge(keys, op, klr_nat_at(op, KLR_NcDmaCopy_dgeMode)));
    codegen_key_json(keys, "indirect_dims", "[\"W\"]", 5);
    codegen_key_text(keys, "op", "add");
    return BIR_OK;
}

enum bir_status codegen_dma_copy(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                 struct codegen_keys *keys)
{
    const struct klr_node *dst = klr_node_at(op, KLR_NcDmaCopy_dst), *src = klr_node_at(op, KLR_NcDmaCopy_src);
    bool dst_dynamic = codegen_ref_is_dynamic(dst), src_dynamic = codegen_ref_is_dynamic(src);
    bool adds = klr_enum_at(op, KLR_NcDmaCopy_compute_op) == KLR_DgeComputeOp_add;
    bool unique = klr_bool_at(op, KLR_NcDmaCopy_uniqueIndices);
    uint64_t dge = klr_nat_at(op, KLR_NcDmaCopy_dgeMode);
    if (dst_dynamic && src_dynamic)
        return codegen_fail(cg, "klr-dynamic-access", op, "load one side into a tensor first",
                            "Only one of the src and dst can contain dynamic access.");
    BIR_TRY(check_dge(cg, op, dge, "src", src_dynamic));
    BIR_TRY(check_dge(cg, op, dge, "dst", dst_dynamic));
    if (unique && ((dst_dynamic && klr_node_at(codegen_dynamic_pattern(dst), KLR_BirAccessPattern_scalarOffset)) ||
                   (src_dynamic && klr_node_at(codegen_dynamic_pattern(src), KLR_BirAccessPattern_scalarOffset))))
        return codegen_fail(cg, "klr-dynamic-access", op, "use a vector offset",
                            "When unique_indices=True, it's expected that the vector_offset is set. Check the "
                            "nisa.dma_copy call");
    if (adds && !unique && (dst_dynamic || src_dynamic))
        return indirect_save(cg, op, inst, keys);
    BIR_TRY(codegen_add_dynamic_ref(cg, inst, BIR_ROLE_IN, src));
    BIR_TRY(codegen_add_dynamic_ref(cg, inst, BIR_ROLE_OUT, dst));
    if (adds && !dst_dynamic && !src_dynamic)
        BIR_TRY(codegen_add_ref(cg, inst, BIR_ROLE_IN, dst));
    codegen_key_text(keys, "mode", adds ? "CCE" : "Copy");
    if (adds)
        codegen_key_text(keys, "cce_op", "add");
    if (adds && !dst_dynamic && !src_dynamic)
        codegen_key_json(keys, "constants", "[1.0,1.0]", 9);
    return dma_keys(cg, keys, op, dge, klr_node_at(op, KLR_NcDmaCopy_oobMode), KLR_NcDmaCopy_priority);
}

enum bir_status codegen_dma_transpose(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                      struct codegen_keys *keys)
{
    (void)inst;
    uint64_t dge = klr_nat_at(op, KLR_DmaTranspose_dgeMode);
    BIR_TRY(check_dge(cg, op, dge, "src", codegen_ref_is_dynamic(klr_node_at(op, KLR_DmaTranspose_src))));
    return dma_keys(cg, keys, op, dge, klr_node_at(op, KLR_DmaTranspose_oobMode), KLR_DmaTranspose_priority);
}

/* constants: one scale a source. */
enum bir_status codegen_dma_compute(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                    struct codegen_keys *keys)
{
    const struct klr_list *scales = klr_list_at(op, KLR_DmaCompute_scales),
                          *srcs = klr_list_at(op, KLR_DmaCompute_srcs);
    (void)inst;
    if (scales->count != srcs->count)
        return codegen_fail(cg, "klr-dma-compute", op, "give one scale a source", "%llu scales for %llu sources",
                            (unsigned long long)scales->count, (unsigned long long)srcs->count);
    return codegen_key_floats(keys, "constants", scales);
}

/* tensor_copy: at most one side dynamic, and that by a scalar offset (lowering.md 5.1). */
enum bir_status codegen_copy(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                             struct codegen_keys *keys)
{
    const struct klr_node *dst = klr_node_at(op, KLR_NcCopy_dst), *src = klr_node_at(op, KLR_NcCopy_src);
    bool dst_dynamic = codegen_ref_is_dynamic(dst), src_dynamic = codegen_ref_is_dynamic(src);
    (void)keys;
    if (!dst_dynamic && !src_dynamic)
        return BIR_OK;
    if (dst_dynamic && src_dynamic)
        return codegen_fail(cg, "klr-dynamic-access", op, "copy through a third tensor",
                            "Only one of src and dst can have dynamic access in tensor_copy.");
    const struct klr_node *pattern = codegen_dynamic_pattern(dst_dynamic ? dst : src);
    if (klr_node_at(pattern, KLR_BirAccessPattern_vectorOffset))
        return codegen_fail(cg, "klr-dynamic-access", pattern, "gather by DMA",
                            "tensor_copy only supports scalar_offset for dynamic access, not vector_offset.");
    inst->opcode = src_dynamic ? BIR_OP_TENSOR_COPY_DYNAMIC_SRC : BIR_OP_TENSOR_COPY_DYNAMIC_DST;
    return BIR_OK;
}
