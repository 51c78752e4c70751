/*
 * Collectives, ranks, barriers and random state (bir-json.md 13.6).
 *
 * A named replica group cannot be resolved here and is refused; an unspecified one leaves the key out. Numbers that no
 * key of the format holds travel under the name of their KLR field, choice: readers keep keys they do not know, and
 * nothing is lost.
 */
#include "codegen/operators.h"

static enum bir_status key_groups(struct codegen *cg, struct codegen_keys *keys, const struct klr_node *group)
{
    if (group->ctor == KLR_ReplicaGroup_named)
        return codegen_fail(cg, "klr-replica-group", group, "give the ranks of each group",
                            "replica group '%.80s' is only a name, its ranks are needed",
                            klr_string_at(group, KLR_ReplicaGroup_named_name)->text);
    if (group->ctor == KLR_ReplicaGroup_literal)
        codegen_key_int_lists(keys, "replica_groups", klr_list_at(group, KLR_ReplicaGroup_literal_groups));
    return BIR_OK;
}

/* concatDim: 0 is the partition dimension, everything else a free one (CollectiveDimension has only these two).
 * channel_id is the stream. */
enum bir_status codegen_collective(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                   struct codegen_keys *keys)
{
    const struct klr_list *pairs = klr_list_at(op, KLR_CollectiveOp_sourceTargetPairs);
    int64_t value;
    (void)inst;
    BIR_TRY(key_groups(cg, keys, klr_node_at(op, KLR_CollectiveOp_replicaGroup)));
    if (pairs)
        codegen_key_int_lists(keys, "src_target_pairs", pairs);
    if (klr_option_int(op, KLR_CollectiveOp_concatDim, &value))
        codegen_key_text(keys, "cc_dim", value == 0 ? "Partition" : "Free");
    if (klr_option_int(op, KLR_CollectiveOp_channel_id, &value))
        codegen_key_int(keys, "stream_id", value);
    if (klr_option_int(op, KLR_CollectiveOp_num_channels, &value))
        codegen_key_int(keys, "num_channels", value);
    return codegen_key_priority(keys, op, KLR_CollectiveOp_priority);
}

/* recv_from_rank is an array of expressions; constants are AffExprKind without terms (bir-json.md 9.1). */
static enum bir_status key_recv_ranks(struct codegen *cg, struct codegen_keys *keys,
                                      const struct klr_node *const *ranks, uint64_t count)
{
    struct bir_buf buf;
    enum bir_status status = BIR_OK;
    bir_buf_init(&buf, 0);
    bir_buf_putc(&buf, '[');
    for (uint64_t i = 0; i < count && status == BIR_OK; i++) {
        int64_t rank = 0;
        status = codegen_immediate_int(cg, ranks[i], &rank);
        bir_buf_printf(&buf, "%s{\"c\":%lld,\"kind\":\"AffExprKind\",\"terms\":[]}", i ? "," : "", (long long)rank);
    }
    bir_buf_putc(&buf, ']');
    if (status == BIR_OK && buf.status == BIR_OK)
        codegen_key_json(keys, "recv_from_rank", buf.data, buf.len);
    else if (status == BIR_OK)
        status = BIR_NOMEM;
    bir_buf_deinit(&buf);
    return status;
}

enum bir_status codegen_send_recv(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                  struct codegen_keys *keys)
{
    const struct klr_node *rank = klr_node_at(op, KLR_SendRecv_recvFromRank);
    (void)inst;
    return key_recv_ranks(cg, keys, &rank, 1);
}

enum bir_status codegen_send_recv_compute(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                          struct codegen_keys *keys)
{
    const struct klr_list *to = klr_list_at(op, KLR_SendRecvCompute_sendToRanks);
    const struct klr_list *from = klr_list_at(op, KLR_SendRecvCompute_recvFromRanks);
    int64_t rank = 0;
    (void)inst;
    if (to->count > 1)
        return codegen_fail(cg, "klr-send-ranks", op, "send to one rank an instruction",
                            "%llu ranks to send to, CollectiveCompute has one send_to_rank",
                            (unsigned long long)to->count);
    if (to->count == 1) {
        BIR_TRY(codegen_immediate_int(cg, to->items[0].node, &rank));
        codegen_key_expr(keys, "send_to_rank", pelican_constant(&cg->module->expressions, rank));
    }
    const struct klr_node **ranks =
        bir_arena_alloc_array(&cg->scratch, BIR_MEM_OTHER, (size_t)from->count, sizeof *ranks);
    if (!ranks)
        return codegen_nomem(cg);
    for (uint64_t i = 0; i < from->count; i++)
        ranks[i] = from->items[i].node;
    return key_recv_ranks(cg, keys, ranks, from->count);
}

enum bir_status codegen_peer(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                             struct codegen_keys *keys)
{
    int alu = 0;
    (void)inst;
    BIR_TRY(codegen_alu_op(cg, op, klr_enum_at(op, op->type == KLR_TYPE_Send ? KLR_Send_op : KLR_Recv_op), &alu));
    if (alu != BIR_ALU_BYPASS)
        codegen_key_enum(keys, "op", BIR_ENUM_ALU_OP, alu);
    return BIR_OK;
}

/* Barriers of one core are numbered from 0; the cores of a kernel pass the same ones in the same order, so numbers
 * match. */
enum bir_status codegen_core_barrier(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                     struct codegen_keys *keys)
{
    (void)op;
    (void)inst;
    codegen_key_int(keys, "id", cg->next_barrier_id++);
    return BIR_OK;
}

enum bir_status codegen_set_rng_seed(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                     struct codegen_keys *keys)
{
    (void)cg;
    (void)op;
    codegen_key_text(keys, "rng_engine", bir_engine_name(inst->engine));
    return BIR_OK;
}

enum bir_status codegen_current_rank(struct codegen *cg, const struct klr_node *op, struct bir_instruction *inst,
                                     struct codegen_keys *keys)
{
    int64_t iteration = klr_int_at(op, KLR_CurrentProcessingRankId_iterationId);
    int64_t channel = klr_int_at(op, KLR_CurrentProcessingRankId_channelId);
    int64_t channels = klr_int_at(op, KLR_CurrentProcessingRankId_numChannels);
    (void)inst;
    if (iteration < 0 || channel < 0)
        return codegen_fail(cg, "klr-rank-id", op, "use numbers from 0",
                            "iteration %lld, channel %lld: neither may be negative", (long long)iteration,
                            (long long)channel);
    codegen_key_int(keys, "iter_id", iteration);
    codegen_key_int(keys, "channel_id", channel);
    if (channels != 1)
        codegen_key_int(keys, "num_channels", channels);
    return BIR_OK;
}
