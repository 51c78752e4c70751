/*
 * lower_ap: symbolic access patterns become register access patterns and the register code that computes their address
 * (lowering.md 8; the vendor's LowerAP).
 *
 * For block b = block(iv) and flat element offset t = tile(iv) inside it, the code computes
 *     address = table[b] + (t / step) * partition stride + (t mod step) * element bytes
 * where step is the first step of the pattern, and, for the moving operand of a Matmult, adds (n - 1) * element bytes
 * so that the address is that of the last element of a row. The replacement names the address register, and for
 * simulation the registers of t and b.
 *
 * Two phases per instruction: every operand is planned, with all guards, before the first is converted. So an
 * instruction that is refused is left as it was, and all that is wrong with a module is reported in one run.
 */
#include <stdio.h>

#include "bir/predicate.h"
#include "passes/address_table.h"
#include "passes/emit.h"
#include "passes/fold_immediate.h"
#include "passes/lower_affine.h"
#include "passes/pass.h"

/* Choice (lowering.md, correction 8): the moving operand of a Matmult is ins[1]. */
#define MATMULT_MOVING_POSITION 1

/* Lowest arch whose instructions have register operands (lowering.md 8.1; the vendor compares with 0x13). */
#define MIN_ARCH BIR_ARCH_SUNDA

/* Choice (lowering.md 8.5): emitted instructions are called `<instruction>-lap<operand>-<number>`. */
#define MARKER "-lap"

/* Of one operand, but for the terms of its expressions (lowering.md 8.5). */
#define FIXED_INSTRUCTIONS 14

struct plan {
    struct bir_symbolic_ap *ap;
    struct bir_set *set;
    struct bir_affine tile, block;
    int64_t step_elems, partition_stride_bytes, elem_bytes;
    int64_t bias_bytes; /* 0: none */
};

struct immediate {
    struct bir_symbolic_imm_value *operand;
    uint64_t bits;
};

struct lowering {
    struct bir_module *module;
    const struct bir_pass_context *context;
    struct bir_diags *diags;
    struct bir_emitter emitter;
    struct bir_dram_space dram;
    struct bir_map pointers;              /* set -> the location that holds its table's address */
    BIR_VEC(struct plan) plans;           /* of the current instruction */
    BIR_VEC(struct immediate) immediates; /* the same */
    enum bir_status status;               /* BIR_INVALID once an instruction was refused */
    bool claimed;                         /* the emitter was told of a function whose names are new */
};

/* --- guards --- */

static const char *inst_name(const struct bir_instruction *inst)
{
    return inst->name ? inst->name->text : "?";
}

/* The guards that need only the operand, in the order of lowering.md 8.2. */
struct guard {
    bool (*holds)(const struct bir_symbolic_ap *ap);
    const char *code, *suffix, *text, *hint; /* suffix: the member at fault, NULL for the operand */
};

static bool not_dram(const struct bir_symbolic_ap *ap)
{
    return bir_argument_memory(&ap->base) != BIR_MEMORY_DRAM;
}

static bool names_a_set(const struct bir_symbolic_ap *ap)
{
    return ap->base.location && ap->base.location->tag == BIR_STORAGE_SET;
}

static bool has_table(const struct bir_symbolic_ap *ap)
{
    struct bir_set *set = (struct bir_set *)ap->base.location;
    return bir_partition_stride_bytes(bir_set_memory(set)) == 0 || bir_set_addr_table(set) != NULL;
}

static bool has_tile(const struct bir_symbolic_ap *ap)
{
    return ap->n_addrs > 0 && ap->addrs[0];
}

static bool has_block(const struct bir_symbolic_ap *ap)
{
    return ap->n_addrs == 1 || ap->addrs[1];
}

static bool is_tile_and_block(const struct bir_symbolic_ap *ap)
{
    return ap->n_addrs <= 2;
}

static bool steps_forward(const struct bir_symbolic_ap *ap)
{
    return ap->pattern && ap->pattern->rank > 0 && ap->pattern->pairs[0].step_elems > 0;
}

static bool is_on_chip(const struct bir_symbolic_ap *ap)
{
    return bir_partition_stride_bytes(bir_argument_memory(&ap->base)) != 0;
}

static bool has_dtype(const struct bir_symbolic_ap *ap)
{
    return bir_dtype_bytes(ap->base.dtype) != 0;
}

static bool has_engine(const struct bir_symbolic_ap *ap)
{
    return bir_engine_is_concrete(bir_argument_parent(&ap->base)->engine);
}

static bool not_indirect(const struct bir_symbolic_ap *ap)
{
    return ap->tensor_indirect_arg_id < 0;
}

static const struct guard guards[] = {
    { not_dram, "lower-dram", NULL, "cannot be DRAM",
      "symbolic operands live in SBUF or PSUM; DRAM takes dynamic_ap_info" },
    { names_a_set, "lower-storage", "/memsetref", "StorageBase type does not match",
      "memsetref must name a memory_location_set" },
    { has_table, "lower-no-table", NULL, "Addr tensor has not been created yet", "run insert_address_tables first" },
    { has_tile, "lower-no-tile", NULL, "symAP tile_addrs affineExpr is null", "give addrs a tile expression" },
    { has_block, "lower-no-block", "/addrs/1", "symAP block_addrs affineExpr is null",
      "give addrs a block expression" },
    { is_tile_and_block, "lower-per-dimension", "/addrs", "addrs has more than a tile and a block expression",
      "per-dimension addresses are carried, not lowered: write addrs as [tile, block]" },
    { steps_forward, "lower-step", "/ap", "getPattern()[0].getStep() > 0",
      "the first pair of ap must have a positive step" },
    { is_on_chip, "lower-memory", NULL, "DRAM AP should not reach LowerAP", "the set must be placed in SB or PSUM" },
    { has_dtype, "lower-dtype", "/dtype", "Unknown dtype", "use one of the 20 known dtypes" },
    { has_engine, "lower-engine", NULL, "the instruction is on no single engine",
      "run split_engines, or set its engine" },
    { not_indirect, "lower-indirect", NULL, "a tensor-indirect symbolic operand has no register form",
      "use a physical_ap with an index operand" },
};

static enum bir_status check_guards(const struct bir_symbolic_ap *ap, struct bir_diags *diags)
{
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++) {
        if (!guards[i].holds(ap))
            return bir_fail_member(diags, guards[i].code, bir_pass_place(ap->base.source_offset), guards[i].suffix,
                                   guards[i].hint, "operand of %s: %s", inst_name(bir_argument_parent(&ap->base)),
                                   guards[i].text);
    }
    return BIR_OK;
}

static enum bir_status refuse_value(const struct plan *plan, struct bir_diags *diags, const char *code,
                                    const char *suffix, const char *what, int64_t value, const char *limit)
{
    return bir_fail_member(diags, code, bir_pass_place(plan->ap->base.source_offset), suffix,
                           "check bounds and coefficients of the axes", "operand of %s on %s: %s reaches %lld, %s",
                           inst_name(bir_argument_parent(&plan->ap->base)), plan->set->base.name->text, what,
                           (long long)value, limit);
}

/* lowering.md 8.7: 0 <= tile and 0 <= block < blocks over the domain of the loops. Where a predicate is false the
 * address is not used, so nothing is known of it. */
static enum bir_status check_domain(const struct plan *plan, struct bir_diags *diags)
{
    int64_t blocks = plan->set->addr_table->table_entries->count;
    if (bir_instruction_may_be_skipped(bir_argument_parent(&plan->ap->base)))
        return BIR_OK;
    if (!plan->tile.never_runs && plan->tile.range.inf < 0)
        return refuse_value(plan, diags, "lower-tile-range", "/addrs/0", "the tile offset", plan->tile.range.inf,
                            "below 0");
    if (!plan->block.never_runs && plan->block.range.inf < 0)
        return refuse_value(plan, diags, "lower-block-range", "/addrs/1", "the block number", plan->block.range.inf,
                            "below 0");
    if (!plan->block.never_runs && plan->block.range.sup >= blocks)
        return refuse_value(plan, diags, "lower-block-range", "/addrs/1", "the block number", plan->block.range.sup,
                            blocks == 1 ? "but the set has one block" : "beyond the last block of the set");
    return BIR_OK;
}

/* The last partition and every immediate and intermediate of steps d1 and g to m. */
static enum bir_status check_address(const struct plan *plan, struct bir_diags *diags)
{
    if (plan->step_elems > INT32_MAX)
        return refuse_value(plan, diags, "lower-overflow", "/ap/0", "the partition step", plan->step_elems,
                            "beyond int32");
    if (plan->bias_bytes < 0 || plan->bias_bytes > INT32_MAX)
        return refuse_value(plan, diags, "lower-overflow", "/ap", "the bytes of a row", plan->bias_bytes,
                            "outside int32");
    if (plan->tile.never_runs)
        return BIR_OK;
    int64_t partition = plan->tile.range.sup / plan->step_elems;
    int64_t column = plan->tile.range.sup < plan->step_elems ? plan->tile.range.sup : plan->step_elems - 1;
    if (partition >= BIR_PARTITIONS && !bir_instruction_may_be_skipped(bir_argument_parent(&plan->ap->base)))
        return refuse_value(plan, diags, "lower-partition-range", "/addrs/0", "the partition", partition, "beyond 127");
    /* below: entries are 29-bit addresses, 127 strides stay under 2^25, so only the column can overflow */
    if (column * plan->elem_bytes + plan->bias_bytes > INT32_MAX / 2)
        return refuse_value(plan, diags, "lower-overflow", "/addrs/0", "the column in elements", column,
                            "too far for int32 addresses");
    return BIR_OK;
}

static bool is_moving_operand(const struct bir_argument *arg)
{
    return bir_argument_parent(arg)->opcode == BIR_OP_MATMULT && arg->role == BIR_ROLE_IN &&
           bir_argument_position(arg) == MATMULT_MOVING_POSITION;
}

/* n of step m, in bytes: the distance from the first to the last element of a row; -1 when it overflows. */
static int64_t row_bias_bytes(const struct plan *plan)
{
    int64_t n = bir_pattern_elems_per_partition(plan->ap->pattern);
    int64_t bytes;
    return n < 0 || __builtin_mul_overflow(n - 1, plan->elem_bytes, &bytes) ? -1 : bytes;
}

static enum bir_status plan_addresses(struct lowering *low, struct plan *plan)
{
    struct bir_symbolic_ap *ap = plan->ap;
    struct bir_affine_site site = { bir_argument_parent(&ap->base), ap->base.source_offset, "addrs/0 (tile)",
                                    "/addrs/0" };
    const struct pelican_expr *block = ap->n_addrs > 1 ? ap->addrs[1] : pelican_constant(&low->module->expressions, 0);
    if (!block)
        return bir_arena_failure(&low->module->arena);
    enum bir_status tile = bir_affine_prepare(low->module, &site, ap->addrs[0], low->diags, &plan->tile);
    if (tile != BIR_OK && tile != BIR_INVALID)
        return tile;
    site.what = "addrs/1 (block)";
    site.suffix = "/addrs/1";
    BIR_TRY(bir_affine_prepare(low->module, &site, block, low->diags, &plan->block));
    return tile;
}

static enum bir_status plan_operand(struct lowering *low, struct bir_symbolic_ap *ap)
{
    BIR_TRY(check_guards(ap, low->diags));
    struct plan plan = { .ap = ap, .set = (struct bir_set *)ap->base.location };
    plan.step_elems = ap->pattern->pairs[0].step_elems;
    plan.partition_stride_bytes = bir_partition_stride_bytes(bir_argument_memory(&ap->base));
    plan.elem_bytes = bir_dtype_bytes(ap->base.dtype);
    plan.bias_bytes = is_moving_operand(&ap->base) ? row_bias_bytes(&plan) : 0;
    BIR_TRY(plan_addresses(low, &plan));
    BIR_TRY(check_domain(&plan, low->diags));
    BIR_TRY(check_address(&plan, low->diags));
    return bir_vec_push(low->context->scratch, &low->plans, plan) ? BIR_OK : bir_arena_failure(low->context->scratch);
}

static enum bir_status plan_immediate(struct lowering *low, struct bir_symbolic_imm_value *imm)
{
    struct immediate folded = { .operand = imm };
    BIR_TRY(bir_immediate_value(low->module, imm, low->diags, &folded.bits));
    return bir_vec_push(low->context->scratch, &low->immediates, folded) ? BIR_OK
                                                                         : bir_arena_failure(low->context->scratch);
}

/* Plans all operands; BIR_INVALID after all of them were looked at. */
static enum bir_status plan_instruction(struct lowering *low, const struct bir_instruction *inst)
{
    enum bir_status worst = BIR_OK;
    bool any = false;
    low->plans.count = low->immediates.count = 0;
    BIR_EACH_OPERAND(arg, inst)
    any = any || arg->kind == BIR_ARG_SYMBOLIC_AP || arg->kind == BIR_ARG_SYMBOLIC_IMM_VALUE;
    if (!any)
        return BIR_OK;
    for (int role = 0; role < BIR_ROLE_COUNT; role++) {
        BIR_EACH_ARGUMENT (arg, inst, role) {
            enum bir_status status = BIR_OK;
            if (arg->kind == BIR_ARG_SYMBOLIC_AP)
                status = plan_operand(low, (struct bir_symbolic_ap *)arg);
            else if (arg->kind == BIR_ARG_SYMBOLIC_IMM_VALUE)
                status = plan_immediate(low, (struct bir_symbolic_imm_value *)arg);
            if (status != BIR_OK && status != BIR_INVALID)
                return status;
            worst = status == BIR_OK ? worst : status;
        }
    }
    return worst;
}

/* --- conversion --- */

/* The seven registers, in mint order (lowering.md 8.3). */
enum role { AP_OFFSET, SUB_TENSOR_ID, TEMP, DRAM_ADDR0, DRAM_ADDR1, TEMP1, AP_ADDR, ROLES };

static const char *const role_names[ROLES] = {
    "_RegAPOffset_", "_RegSubTensorId_", "_RegTemp_", "_RegDramAddr0_", "_RegDramAddr1_", "_RegTemp1_", "_RegAPAddr_",
};

static void mint(struct lowering *low, const struct plan *plan, struct bir_register *regs[ROLES], enum role first,
                 enum role last)
{
    struct bir_stem stem = bir_set_stem(plan->set);
    for (unsigned r = first; r <= (unsigned)last; r++)
        regs[r] = bir_emit_mint_numbered(&low->emitter, role_names[r], stem.text, (uint32_t)stem.len);
}

static bool is_pointer_to(const struct bir_set *set, const struct bir_location *table)
{
    return set->kind == BIR_TENSOR_POINTER && set->base.dtype == BIR_DTYPE_INT64 && set->locations.count == 1 &&
           set->locations.items[0]->pointer_target == table;
}

static enum bir_status new_pointer(struct lowering *low, const struct plan *plan, const struct bir_str *name,
                                   struct bir_location *table, struct bir_location **out)
{
    struct bir_module *module = low->module;
    struct bir_function *function = plan->set->base.function;
    const struct bir_str *set_name = bir_intern_printf(&module->strings, "%s_set", name->text);
    int64_t shape[] = { 1, 1 };
    const struct bir_ints *tensor_shape = bir_ints_get(module, shape, 2);
    if (!set_name || !tensor_shape)
        return bir_arena_failure(&module->arena);
    if (bir_function_find_set(function, set_name))
        return bir_fail(low->diags, "lower-pointer-name", bir_pass_place(plan->set->base.source_offset), "rename it",
                        "set %s is in the way of the address pointer of %s", set_name->text,
                        plan->set->base.name->text);
    struct bir_set *set = bir_set_new(function, set_name);
    if (!set)
        return bir_arena_failure(&module->arena);
    set->kind = BIR_TENSOR_POINTER;
    set->base.dtype = BIR_DTYPE_INT64;
    set->tensor_class = table->set->tensor_class;
    set->tensor_shape = tensor_shape;
    set->n_blocks = 1;
    *out = bir_dram_location_new(&low->dram, set, name, BIR_POINTER_BYTES);
    if (!*out)
        return low->dram.full
                   ? bir_fail(low->diags, "lower-table-dram", BIR_NO_OFFSET, NULL,
                              "no DRAM address is left for the address pointer of set %s", plan->set->base.name->text)
                   : bir_arena_failure(&module->arena);
    (*out)->pointer_target = table;
    return BIR_OK;
}

/* Step c: the location `<stem>-ADDR` that holds the table's address. */
static enum bir_status pointer_location(struct lowering *low, const struct plan *plan, struct bir_location **out)
{
    struct bir_stem stem = bir_set_stem(plan->set);
    struct bir_location *table = plan->set->addr_table->locations.items[0];
    *out = bir_map_get(&low->pointers, plan->set);
    if (*out)
        return BIR_OK;
    const struct bir_str *name = bir_intern_printf(&low->module->strings, "%.*s-ADDR", stem.len, stem.text);
    if (!name)
        return bir_arena_failure(&low->module->arena);
    *out = bir_function_find_location(plan->set->base.function, name);
    if (!*out)
        BIR_TRY(new_pointer(low, plan, name, table, out));
    if (is_pointer_to((*out)->set, table))
        return bir_map_put(&low->pointers, low->context->scratch, plan->set, *out)
                   ? BIR_OK
                   : bir_arena_failure(low->context->scratch);
    return bir_fail(low->diags, "lower-pointer-name", bir_pass_place((*out)->base.source_offset), "rename the location",
                    "location %s exists, but is no int64 Pointer to %s", name->text, table->base.name->text);
}

/* Steps a, b, d to f: RegAPAddr := table[block]. */
static void emit_table_access(struct lowering *low, const struct plan *plan, struct bir_location *pointer,
                              struct bir_register *regs[ROLES])
{
    struct bir_emitter *e = &low->emitter;
    mint(low, plan, regs, AP_OFFSET, TEMP);
    if (e->failed)
        return;
    bir_lower_affine(e, &plan->tile, regs[AP_OFFSET], regs[TEMP]);
    bir_lower_affine(e, &plan->block, regs[SUB_TENSOR_ID], regs[TEMP]);
    mint(low, plan, regs, DRAM_ADDR0, TEMP1);
    if (e->failed)
        return;
    struct bir_register_pair table = { regs[DRAM_ADDR0], regs[DRAM_ADDR1] };
    struct bir_register_pair addend = { regs[TEMP], regs[TEMP1] };
    bir_emit_tensor_load(e, table.lo, table.hi, pointer, 0, BIR_DTYPE_INT64);
    bir_emit_alu_reg_imm(e, BIR_ALU_MULT, regs[TEMP], regs[SUB_TENSOR_ID], BIR_ADDRESS_ENTRY_BYTES);
    bir_emit_move_imm(e, regs[TEMP1], 0);
    bir_emit_alu64(e, BIR_ALU_ADD, table, table, addend);
    mint(low, plan, regs, AP_ADDR, AP_ADDR);
    if (e->failed)
        return;
    bir_emit_table_load(e, regs[AP_ADDR], plan->set->addr_table, table);
}

/* Steps g to m: RegAPAddr += place of the tile offset. */
static void emit_delinearisation(struct lowering *low, const struct plan *plan, struct bir_register *regs[ROLES])
{
    struct bir_emitter *e = &low->emitter;
    if (e->failed)
        return;
    bir_emit_alu_reg_imm(e, BIR_ALU_DIVIDE, regs[TEMP], regs[AP_OFFSET], plan->step_elems);
    bir_emit_alu_reg_imm(e, BIR_ALU_MULT, regs[TEMP], regs[TEMP], plan->partition_stride_bytes);
    bir_emit_alu_reg_reg(e, BIR_ALU_ADD, regs[AP_ADDR], regs[AP_ADDR], regs[TEMP]);
    bir_emit_alu_reg_imm(e, BIR_ALU_MOD, regs[TEMP], regs[AP_OFFSET], plan->step_elems);
    bir_emit_alu_reg_imm(e, BIR_ALU_MULT, regs[TEMP], regs[TEMP], plan->elem_bytes);
    bir_emit_alu_reg_reg(e, BIR_ALU_ADD, regs[AP_ADDR], regs[AP_ADDR], regs[TEMP]);
    if (is_moving_operand(&plan->ap->base))
        bir_emit_alu_reg_imm(e, BIR_ALU_ADD, regs[AP_ADDR], regs[AP_ADDR], plan->bias_bytes);
}

/* lowering.md 8.6: the kind-3 operand in the place of the kind-2 one. */
static bool replace_operand(struct lowering *low, const struct plan *plan, struct bir_register *regs[ROLES])
{
    struct bir_argument *old = &plan->ap->base;
    struct bir_argument *arg =
        bir_argument_new_before(low->module, old, BIR_ARG_REGISTER_AP, (enum bir_dtype)old->dtype);
    if (!arg)
        return false;
    struct bir_register_ap *ap = (struct bir_register_ap *)arg;
    ap->pattern = plan->ap->pattern;
    ap->address = regs[AP_ADDR];
    ap->offset = regs[AP_OFFSET];
    ap->sub_tensor = regs[SUB_TENSOR_ID];
    ap->const_sub_tensor_id = -1;
    arg->source_offset = old->source_offset;
    arg->rare = old->rare; /* access_shape and unknown keys; the old operand is gone */
    bir_argument_set_location(arg, old->location, old->role == BIR_ROLE_OUT, true);
    bir_argument_remove(old);
    return true;
}

static enum bir_status convert(struct lowering *low, const struct plan *plan, uint32_t k)
{
    struct bir_register *regs[ROLES] = { 0 };
    struct bir_location *pointer;
    char suffix[24];
    BIR_TRY(pointer_location(low, plan, &pointer));
    snprintf(suffix, sizeof suffix, MARKER "%u-", k);
    bir_emitter_place(&low->emitter, bir_argument_parent(&plan->ap->base), suffix);
    emit_table_access(low, plan, pointer, regs);
    emit_delinearisation(low, plan, regs);
    if (low->emitter.failed || !replace_operand(low, plan, regs))
        return bir_pass_out_of_memory(low->context, low->module);
    low->context->stats->lowered_operands++;
    return BIR_OK;
}

static enum bir_status lower_instruction(struct lowering *low, struct bir_instruction *inst)
{
    enum bir_status status = plan_instruction(low, inst);
    if (status == BIR_INVALID) { /* report the other instructions too */
        low->status = status;
        return BIR_OK;
    }
    BIR_TRY(status);
    for (uint32_t i = 0; i < low->immediates.count; i++) {
        if (!bir_immediate_replace(low->module, low->immediates.items[i].operand, low->immediates.items[i].bits))
            return bir_arena_failure(&low->module->arena);
        low->context->stats->folded_immediates++;
    }
    for (uint32_t i = 0; i < low->plans.count; i++)
        BIR_TRY(convert(low, &low->plans.items[i], i));
    return BIR_OK;
}

/* Upper bounds, but for expressions that simplification makes longer. */
static void count_emissions(const struct bir_instruction *inst, uint64_t *instructions, uint64_t *registers)
{
    BIR_EACH_OPERAND(arg, inst)
    {
        if (arg->kind != BIR_ARG_SYMBOLIC_AP)
            continue;
        const struct bir_symbolic_ap *ap = (const struct bir_symbolic_ap *)arg;
        *registers += ROLES;
        *instructions += FIXED_INSTRUCTIONS;
        for (uint32_t i = 0; i < ap->n_addrs; i++) {
            if (ap->addrs[i] && ap->addrs[i]->kind == PELICAN_AFFINE)
                *instructions += 2 * (uint64_t)ap->addrs[i]->u.affine.n_terms;
        }
    }
}

static enum bir_status claim_names(struct lowering *low, struct bir_function *function)
{
    struct bir_walk walk;
    uint64_t n = 0, instructions = 0, registers = 0;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(low->context, inst, n++));
        count_emissions(inst, &instructions, &registers);
    }
    if (registers > 0 && !low->claimed) {
        bir_emitter_claim(&low->emitter, function, MARKER, instructions, registers);
        low->claimed = true;
    }
    return BIR_OK;
}

static enum bir_status lower_function(struct lowering *low, struct bir_function *function)
{
    BIR_TRY(claim_names(low, function));
    struct bir_walk walk;
    uint64_t n = 0;
    bir_walk_init(&walk, &function->body);
    for (struct bir_instruction *inst = bir_walk_next(&walk); inst; inst = bir_walk_next(&walk)) {
        BIR_TRY(bir_pass_poll_walk(low->context, inst, n++));
        BIR_TRY(lower_instruction(low, inst));
    }
    return BIR_OK;
}

/*
 * Entry: instructions with symbolic operands are on concrete engines; their axes have registers
 * (assign_loop_registers); their sets have tables (insert_address_tables). Exit: no symbolic operand and no symbolic
 * immediate remains; the code that computes an address stands directly before its consumer, on its engine. No edge is
 * recorded between emitted instructions: one engine executes them in order (lowering.md 12.7). Invalidates: register
 * colours.
 */
enum bir_status bir_pass_lower_ap(struct bir_module *module, const struct bir_pass_context *context,
                                  struct bir_diags *diags)
{
    struct lowering low = { .module = module, .context = context, .diags = diags };
    enum bir_arch arch = bir_pass_arch(context, module);
    if (arch != BIR_ARCH_NONE && arch < MIN_ARCH)
        return bir_fail(diags, "lower-arch", BIR_NO_OFFSET, "lower for sunda, gen3 or core_v4",
                        "arch %s has no register operands", bir_arch_name(arch));
    bir_emitter_init(&low.emitter, module, context);
    bir_dram_space_init(&low.dram, module);
    BIR_EACH_CODE_FUNCTION(f, module)
    BIR_TRY(lower_function(&low, f));
    return low.status;
}
