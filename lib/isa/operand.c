/*
 * Every access pattern is reduced to the same four facts before any descriptor is filled: a start (a place, or a
 * register that will hold one), the free dimensions, the number of partitions, and the element size. The slot then only
 * decides how much of this has to fit.
 *
 * Arithmetic is in bytes and 64 bits, every product of input values is checked. A partition is `pitch_bytes` wide in
 * the location's own row-major block: dims[1] of the location, which does not depend on the dtype of the access.
 */
#include "isa/operand.h"

#include <inttypes.h>

#define MX_LANES 4u /* logical elements in a container of a packed type */

/* What an encoder of one form works on. */
struct access {
    const struct bir_argument *argument;
    const struct bir_instruction *inst;
    const struct bir_pattern *pattern;
    struct isa_route route;
    enum isa_generation generation;
    uint32_t elem_bytes;
    struct isa_check check;
    uint32_t addr_word;
};

static enum isa_space space_of(enum bir_memory_type memory)
{
    return memory == BIR_MEMORY_SB ? ISA_SPACE_SBUF : memory == BIR_MEMORY_PSUM ? ISA_SPACE_PSUM : ISA_SPACE_NONE;
}

static const char *memory_name(enum bir_memory_type memory)
{
    const char *name = memory == BIR_MEMORY_NONE ? NULL : bir_enum_name(BIR_ENUM_MEMORY_TYPE, (int)memory);
    return name ? name : "an unknown memory";
}

/* Bytes of one partition row of a location; 0 when the location does not say. */
static int64_t location_pitch_bytes(const struct bir_location *location)
{
    const struct bir_ints *dims = location->dims;
    return dims && dims->count >= 2 && dims->items[1] > 0 ? dims->items[1] : 0;
}

/* The location whose shape stands for the operand: its own, or the first block of its set. */
static const struct bir_location *shape_location(const struct bir_argument *argument)
{
    if (!argument->location)
        return NULL;
    if (argument->location->tag == BIR_STORAGE_LOCATION)
        return (const struct bir_location *)argument->location;
    if (argument->location->tag != BIR_STORAGE_SET)
        return NULL;
    const struct bir_set *set = (const struct bir_set *)argument->location;
    return set->locations.count ? set->locations.items[0] : NULL;
}

/* The first pair of a pattern has to walk consecutive partitions: no descriptor field carries a partition step. */
static bool check_partition_pair(const struct bir_pair *pair, int64_t pitch_bytes, uint32_t elem_bytes,
                                 struct isa_problem *problem)
{
    if (pair->step_elems < 0)
        return isa_refuse(problem, ISA_RULE_PARTITION_STEP, "partition step %" PRId64 " is negative", pair->step_elems);
    if (pair->num <= 1)
        return true;
    if (pair->step_elems == 0)
        return isa_refuse(problem, ISA_RULE_PARTITION_STEP, "partition step 0 with %" PRId64 " partitions", pair->num);
    int64_t step_bytes;
    if (pitch_bytes == 0)
        return true;
    if (__builtin_mul_overflow(pair->step_elems, (int64_t)elem_bytes, &step_bytes) || step_bytes != pitch_bytes)
        return isa_refuse(problem, ISA_RULE_PARTITION_STEP,
                          "partition step %" PRId64 " elements of %" PRIu32 " bytes is not the row pitch of %" PRId64
                          " bytes",
                          pair->step_elems, elem_bytes, pitch_bytes);
    return true;
}

static bool location_has_address(const struct bir_location *location, const struct bir_module *module)
{
    if (location->allocated)
        return true;
    return !(location->present & BIR_LOCF_ALLOCATED) && !(module && module->from_klr);
}

static uint32_t magnitude(int32_t value)
{
    return value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
}

bool isa_operand_start(const struct bir_physical_ap *access, enum isa_generation generation, struct isa_start *start,
                       struct isa_problem *problem)
{
    const struct bir_storage *storage = access->base.location;
    if (!storage || storage->tag != BIR_STORAGE_LOCATION)
        return isa_refuse(problem, ISA_RULE_NO_LOCATION, "the operand names no memory location");
    const struct bir_location *location = (const struct bir_location *)storage;
    start->space = space_of((enum bir_memory_type)location->type);
    if (start->space == ISA_SPACE_NONE)
        return isa_refuse(problem, ISA_V04, "operand may not be in %s",
                          memory_name((enum bir_memory_type)location->type));
    if (!location_has_address(location, storage->function ? storage->function->module : NULL))
        return isa_refuse(problem, ISA_RULE_NO_LOCATION, "location %s has no address yet", storage->name->text);

    uint32_t elem_bytes = bir_dtype_bytes(access->base.dtype);
    int64_t offset_bytes, pitch_bytes = location_pitch_bytes(location);
    if (access->offset_elems < 0 || __builtin_mul_overflow(access->offset_elems, (int64_t)elem_bytes, &offset_bytes))
        return isa_refuse(problem, ISA_V01, "offset %" PRId64 " elements is out of range", access->offset_elems);
    /* A location without a shape: the first step is the row, and a single partition without one holds the whole offset
     * (choice). */
    if (pitch_bytes == 0 &&
        __builtin_mul_overflow(access->pattern->pairs[0].step_elems, (int64_t)elem_bytes, &pitch_bytes))
        pitch_bytes = INT64_MAX;
    int64_t row = pitch_bytes > 0 ? offset_bytes / pitch_bytes : 0, column = offset_bytes - row * pitch_bytes;

    int64_t partition;
    if (__builtin_add_overflow(row, (int64_t)location->base_partition, &partition) ||
        partition >= (int64_t)ISA_PARTITIONS)
        return isa_refuse(problem, ISA_V01,
                          "address out of range: base partition %" PRIu32 " and offset %" PRId64
                          " elements lead beyond partition %u",
                          location->base_partition, access->offset_elems, ISA_PARTITIONS - 1);
    uint32_t bank = start->space == ISA_SPACE_PSUM ? magnitude(location->bank) : 0;
    if (bank >= ISA_PSUM_BANKS)
        return isa_refuse(problem, ISA_V01, "PSUM bank %" PRIu32 " is out of range 0..%u", bank, ISA_PSUM_BANKS - 1);
    uint64_t byte, backed = isa_backed_bytes(generation, start->space);
    if (__builtin_add_overflow((uint64_t)column, location->addr_bytes, &byte) ||
        __builtin_add_overflow(byte, (uint64_t)bank * ISA_PSUM_BANK_BYTES, &byte) || byte >= backed)
        return isa_refuse(problem, ISA_V12,
                          "access leaves the partition: it starts at addr %" PRIu64 " + %" PRId64
                          " in %s, whose partitions have %" PRIu64 " bytes on %s",
                          location->addr_bytes + (uint64_t)bank * ISA_PSUM_BANK_BYTES, column,
                          isa_space_name(start->space), backed, isa_generation_name(generation));
    start->partition = (uint32_t)partition;
    start->byte = (uint32_t)byte;
    return true;
}

static uint32_t start_word(const struct isa_start *start)
{
    return isa_partition_base(start->space, start->partition) + start->byte;
}

/* --- address of each kind --- */

static bool resolve_physical(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    struct isa_start start;
    if (!isa_operand_start((const struct bir_physical_ap *)a->argument, a->generation, &start, problem))
        return false;
    out->space = start.space;
    out->partition = start.partition;
    out->byte = start.byte;
    a->addr_word = start_word(&start);
    return true;
}

/* The memory of a register operand is that of its set; where in it, only the program knows. */
static bool check_register_space(struct access *a, enum isa_space space, struct isa_problem *problem)
{
    struct isa_check check = a->check;
    if (space == ISA_SPACE_NONE)
        return isa_refuse(problem, ISA_V04, "operand may not be in %s", memory_name(bir_argument_memory(a->argument)));
    uint32_t alignment = isa_tag_alignment(check.tag, check.generation);
    /* An aligned address of the right window stands for the unknown one in V02..V06. */
    return alignment == 0 ? isa_refuse(problem, ISA_V02, "dtype tag 0x%02x has no alignment class on %s", check.tag,
                                       isa_generation_name(check.generation))
                          : isa_check_address(isa_partition_base(space, 0), &check, problem);
}

static bool resolve_register(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    const struct bir_register_ap *access = (const struct bir_register_ap *)a->argument;
    out->is_register = true;
    if (!access->address)
        return isa_refuse(problem, ISA_RULE_NOT_ALLOCATED, "the operand names no address register (regref)");
    if (access->address->physical_id < 0)
        return isa_refuse(problem, ISA_RULE_NOT_ALLOCATED, "register %s has no physical id",
                          access->address->base.name->text);
    if (access->address_is_offset)
        return isa_refuse(problem, ISA_RULE_OFFSET_REGISTER,
                          "an offset register (is_regloc_offset) cannot be used with 32-bit addressing");
    if (access->const_offset_elems != 0)
        return isa_refuse(problem, ISA_RULE_OFFSET_REGISTER,
                          "constant offset %" PRId64 " elements is not folded into the address register",
                          access->const_offset_elems);
    out->register_id = (uint32_t)access->address->physical_id;
    if (!isa_addr4_register(out->register_id, &a->addr_word))
        return isa_refuse(problem, ISA_V07, "register %" PRIu32 " is out of range 0..%u", out->register_id,
                          ISA_REGISTERS - 1);
    if (out->register_id >= ISA_ALLOCATABLE_REGISTERS)
        out->warning = "register id above 61, which no allocator hands out";
    out->space = space_of(bir_argument_memory(a->argument));
    return check_register_space(a, out->space, problem);
}

static bool resolve_address(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    return a->argument->kind == BIR_ARG_PHYSICAL_AP ? resolve_physical(a, out, problem)
                                                    : resolve_register(a, out, problem);
}

/* --- the static form --- */

static bool pack_dims(const struct access *a, uint32_t rank, struct isa_static *fixed, struct isa_problem *problem)
{
    struct isa_dim dims[BIR_PATTERN_MAX_RANK];
    uint32_t n_dims = a->pattern->rank - 1;
    for (uint32_t i = 0; i < n_dims; i++)
        dims[i] = (struct isa_dim){ a->pattern->pairs[i + 1].step_elems, a->pattern->pairs[i + 1].num };
    bool keep_units = (a->route.flags & ISA_SLOTF_KEEP_UNITS) != 0;
    struct isa_pack_result pack = isa_encode_ap(dims, n_dims, rank, keep_units, fixed);
    return isa_check_pack(&pack, rank, problem);
}

/* A register start may be anywhere, so only the spread of the walk can be judged (V12). */
static bool check_spread(const struct access *a, const struct isa_static *fixed, enum isa_space space,
                         struct isa_problem *problem)
{
    int64_t low = 0;
    for (uint32_t i = 0; i < fixed->rank; i++)
        if (fixed->step_elems[i] < 0)
            low += (int64_t)fixed->step_elems[i] * (fixed->count[i] - 1);
    return isa_check_walk(fixed, -low * (int64_t)a->elem_bytes, a->elem_bytes, space, a->generation, problem);
}

static bool encode_static(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    struct isa_static *fixed = &out->descriptor.u.fixed;
    if (!resolve_address(a, out, problem) || !pack_dims(a, isa_slot_info_of(out->slot)->rank, fixed, problem))
        return false;
    fixed->addr = a->addr_word;
    if (out->is_register && !check_spread(a, fixed, out->space, problem))
        return false;
    return isa_check_static(fixed, &a->check, problem);
}

static bool encode_addr4(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    struct isa_static point = { 0 };
    if (!resolve_address(a, out, problem) || !pack_dims(a, 0, &point, problem))
        return false;
    out->descriptor.u.addr4 = point.addr = a->addr_word;
    return isa_check_static(&point, &a->check, problem);
}

/* --- gathers --- */

/* 1-based position in indirection_ins of the index vector that a companion names, 0 when it has none. */
static int64_t companion_index_position(const struct bir_argument *argument)
{
    const struct bir_dynamic_info *dynamic = bir_argument_dynamic(argument);
    for (uint32_t i = 0; dynamic && i < dynamic->n_terms; i++) {
        const struct pelican_expr *expr = dynamic->terms[i].expr;
        while (expr && expr->kind == PELICAN_MULT)
            expr = expr->u.mult.operand;
        if (expr && expr->kind == PELICAN_INDIRECT_ARG)
            return expr->u.arg_id;
    }
    return 0;
}

static bool has_companion(const struct bir_argument *argument)
{
    return argument->kind == BIR_ARG_PHYSICAL_AP && bir_argument_dynamic(argument);
}

static const struct bir_argument *index_argument(const struct access *a)
{
    int64_t position = companion_index_position(a->argument);
    if (position >= 1 && position <= UINT32_MAX)
        return bir_instruction_argument(a->inst, BIR_ROLE_INDIRECTION, (uint32_t)position - 1);
    if (a->inst->opcode != BIR_OP_INDIRECT_COPY)
        return NULL;
    const struct bir_argument *index = bir_instruction_argument(a->inst, BIR_ROLE_INDIRECTION, 0);
    return index ? index : bir_instruction_argument(a->inst, BIR_ROLE_IN, 1);
}

struct index_vector {
    uint32_t word;
    int64_t elems; /* per partition */
};

static bool resolve_index(const struct access *a, enum isa_rule rule, struct index_vector *index,
                          struct isa_problem *problem)
{
    const struct bir_argument *argument = index_argument(a);
    if (!argument)
        return isa_refuse(problem, rule, "the gather names no index vector");
    if (argument->kind != BIR_ARG_PHYSICAL_AP)
        return isa_refuse(problem, rule, "dynamic offset not supported for the index AP");
    struct isa_start start;
    if (!isa_operand_start((const struct bir_physical_ap *)argument, a->generation, &start, problem))
        return false;
    index->word = start_word(&start) | ISA_ADDR4_INDIRECT;
    index->elems = bir_pattern_elems_per_partition(bir_argument_pattern(argument));
    /* IndirectCopy says itself how many of its indices are valid. */
    const struct bir_prop *valid = bir_props_find(a->inst->props, "num_valid_indices");
    if (a->inst->opcode == BIR_OP_INDIRECT_COPY && valid && !isa_prop_number(valid, &index->elems))
        return isa_refuse(problem, rule, "num_valid_indices changes or is known at run time only");
    return true;
}

/* num_elem of a descriptor; packed types count lanes. */
static bool fit_num_elem(int64_t elems, bool is_packed, enum isa_rule rule, uint16_t *out, struct isa_problem *problem)
{
    int64_t total;
    if (elems < 1 || __builtin_mul_overflow(elems, is_packed ? (int64_t)MX_LANES : 1, &total) || total > UINT16_MAX)
        return isa_refuse(problem, rule, "%" PRId64 " elements%s do not fit 1..65535", elems,
                          is_packed ? " of four lanes" : "");
    *out = (uint16_t)total;
    return true;
}

static bool encode_indirect(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    struct index_vector index;
    if (a->argument->kind != BIR_ARG_PHYSICAL_AP)
        return isa_refuse(problem, ISA_V15, "dynamic offset not supported for the data AP");
    if (!resolve_physical(a, out, problem) || !resolve_index(a, ISA_V15, &index, problem))
        return false;
    struct isa_indirect *indirect = &out->descriptor.u.indirect;
    indirect->index_addr = index.word;
    indirect->data_addr = a->addr_word;
    if (!fit_num_elem(index.elems, false, ISA_V15, &indirect->num_elem, problem))
        return false;
    if (a->inst->opcode == BIR_OP_INDIRECT_COPY && indirect->num_elem > 4096)
        return isa_refuse(problem, ISA_V15, "%u indices, IndirectCopy takes at most 4096", indirect->num_elem);
    return isa_check_indirect(indirect, &a->check, problem);
}

/* --- MX --- */

struct scale {
    uint32_t word;
    uint8_t pidx;
    const struct bir_argument *argument;
};

static bool resolve_scale(const struct access *a, uint32_t position, enum isa_rule rule, struct scale *scale,
                          struct isa_problem *problem)
{
    int at = isa_mx_scale_position(a->inst->opcode, (enum bir_role)a->argument->role, position);
    scale->argument = at < 0 ? NULL : bir_instruction_argument(a->inst, (enum bir_role)a->argument->role, (uint32_t)at);
    if (!scale->argument)
        return isa_refuse(problem, rule, "the MX operand has no scale operand in the same instruction");
    if (scale->argument->kind != BIR_ARG_PHYSICAL_AP)
        return isa_refuse(problem, rule, "the scale must have an immediate address");
    struct isa_start start;
    if (!isa_operand_start((const struct bir_physical_ap *)scale->argument, a->generation, &start, problem))
        return false;
    if (start.space != ISA_SPACE_SBUF)
        return isa_refuse(problem, rule, "the scale must be in SBUF");
    uint32_t inside = start.partition % ISA_QUADRANT_PARTITIONS;
    scale->word = isa_partition_base(ISA_SPACE_SBUF, start.partition - inside) + start.byte;
    scale->pidx = (uint8_t)inside; /* choice of descriptors.md 3.2: partition mod 32 */
    return true;
}

/* One contiguous run: the innermost step is 1 or -1 and every further dimension continues the one inside it. */
static bool contiguous_run(const struct bir_pattern *pattern, int64_t *elems, int8_t *direction)
{
    int64_t run = 1;
    *direction = 1;
    for (uint32_t i = pattern->rank; i-- > 1;) {
        const struct bir_pair *pair = &pattern->pairs[i];
        if (pair->num == 1)
            continue;
        if (run == 1)
            *direction = pair->step_elems < 0 ? -1 : 1;
        if (pair->num < 1 || pair->step_elems != run * *direction || __builtin_mul_overflow(run, pair->num, &run))
            return false;
    }
    *elems = run;
    return true;
}

static bool encode_mx(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    struct isa_mx *mx = &out->descriptor.u.mx;
    struct scale scale;
    int64_t elems;
    if (!resolve_address(a, out, problem) || !resolve_scale(a, out->position, ISA_V16, &scale, problem))
        return false;
    if (has_companion(scale.argument))
        return isa_refuse(problem, ISA_V16, "the scale of a static MX operand may not be indirect");
    if (!contiguous_run(a->pattern, &elems, &mx->step_elem))
        return isa_refuse(problem, ISA_V16, "MX data must be one contiguous run, the pattern is not");
    if (!fit_num_elem(elems, a->check.is_packed, ISA_V16, &mx->num_elem, problem))
        return false;
    mx->start_addr = a->addr_word;
    mx->scale_addr = scale.word;
    mx->scale_pidx = scale.pidx;
    if (!isa_check_mx(mx, &a->check, problem))
        return false;
    if (out->is_register)
        return true;
    /* The run as a static walk, for V12 and V13. */
    int64_t span = elems * (int64_t)a->elem_bytes;
    int64_t first = mx->step_elem < 0 ? (int64_t)out->byte + a->elem_bytes - span : (int64_t)out->byte;
    if (first < 0 || first + span > (int64_t)isa_backed_bytes(a->generation, out->space))
        return isa_refuse(problem, ISA_V12, "access leaves the partition: it touches bytes %" PRId64 "..%" PRId64,
                          first, first + span - 1);
    return isa_check_partitions(out->partition, a->check.partitions, problem);
}

static bool encode_mx_indirect(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    struct isa_mx_indirect *mx = &out->descriptor.u.mx_indirect;
    struct scale scale;
    struct index_vector index;
    if (a->argument->kind != BIR_ARG_PHYSICAL_AP)
        return isa_refuse(problem, ISA_V17, "the data of an MX gather must have an immediate address");
    if (!resolve_physical(a, out, problem) || !resolve_scale(a, out->position, ISA_V17, &scale, problem) ||
        !resolve_index(a, ISA_V17, &index, problem))
        return false;
    if (companion_index_position(scale.argument) != companion_index_position(a->argument))
        return isa_refuse(problem, ISA_V17, "data and scale of an MX gather must use the same index vector");
    mx->index_addr = index.word;
    mx->data_addr = a->addr_word;
    mx->scale_addr = scale.word;
    mx->scale_pidx = scale.pidx;
    return fit_num_elem(index.elems, a->check.is_packed, ISA_V17, &mx->num_elem, problem) &&
           isa_check_mx_indirect(mx, &a->check, problem);
}

/* --- DMA --- */

enum { ADDR8_STATIC = 0x10 }; /* mode byte: variable id (0 for SBUF) and a 32-bit offset */

static bool encode_addr8(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    if (!resolve_physical(a, out, problem))
        return false;
    out->descriptor.u.addr8 = (struct isa_addr8){ a->addr_word, 0, ADDR8_STATIC };
    return true;
}

/* --- driver --- */

static bool is_dram(enum bir_memory_type memory)
{
    return memory == BIR_MEMORY_DRAM || memory == BIR_MEMORY_INPUT || memory == BIR_MEMORY_OUTPUT;
}

static bool is_access(const struct bir_argument *argument)
{
    return argument->kind == BIR_ARG_PHYSICAL_AP || argument->kind == BIR_ARG_REGISTER_AP;
}

/* Why an operand has no descriptor, before any pattern is looked at; NULL when it may have one. */
static const char *reason_without_bytes(const struct bir_argument *argument, const struct isa_route *route)
{
    switch (argument->kind) {
    case BIR_ARG_IMM_VALUE:
    case BIR_ARG_IMM_ARRAY:
    case BIR_ARG_SYMBOLIC_IMM_VALUE: return "immediate: its value travels in the instruction word";
    case BIR_ARG_REGISTER_ACCESS: return "register: its id travels in the instruction word";
    default: break;
    }
    if (!is_access(argument))
        return NULL;
    if (route->slot == ISA_SLOT_ADDR8 || (route->flags & ISA_SLOTF_DRAM)) {
        if (is_dram(bir_argument_memory(argument)))
            return "in DRAM: the runtime loader resolves the address";
        if (route->slot == ISA_SLOT_ADDR8 && argument->kind == BIR_ARG_REGISTER_AP)
            return "address from a register: the DMA engine reads it at run time";
        if (route->slot == ISA_SLOT_ADDR8 && companion_index_position(argument) != 0)
            return "gather: the DMA engine takes the rows from the index vector at run time";
    }
    return route->slot == ISA_SLOT_NONE && !(route->flags & ISA_SLOTF_UNSUPPORTED) ? route->reason : NULL;
}

static bool check_kind(const struct access *a, struct isa_problem *problem)
{
    if (is_access(a->argument))
        return true;
    const struct bir_argument_class *class = bir_argument_class_of((enum bir_argument_kind)a->argument->kind);
    return isa_refuse(problem, ISA_RULE_KIND, "codegen stage can only have PhysicalAP or RegisterAP, found %s",
                      class ? class->wire : "an unknown kind");
}

static bool prepare(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    const struct bir_argument *argument = a->argument;
    if (!check_kind(a, problem))
        return false;
    if (a->route.flags & ISA_SLOTF_UNSUPPORTED)
        return isa_refuse(problem, ISA_RULE_UNSUPPORTED, "%s operand: %s (%s)", bir_opcode_name(a->inst->opcode),
                          a->route.reason, isa_generation_name(a->generation));
    bool write = argument->role == BIR_ROLE_OUT;
    if (!isa_check_dtype(argument->dtype, a->route.flags, write, a->generation, problem))
        return false;
    a->pattern = bir_argument_pattern(argument);
    if (!a->pattern || a->pattern->rank == 0 || a->pattern->rank > BIR_PATTERN_MAX_RANK)
        return isa_refuse(problem, ISA_V10, "the operand has no access pattern of rank 1..%d", BIR_PATTERN_MAX_RANK);
    a->elem_bytes = bir_dtype_bytes(argument->dtype);
    a->check = (struct isa_check){
        .generation = a->generation,
        .tag = isa_dtype_tag(argument->dtype, a->generation),
        .elem_bytes = (uint8_t)a->elem_bytes,
        .write = write,
        .psum_ok = (a->route.flags & ISA_SLOTF_PSUM) != 0,
        .sbuf_ok = (a->route.flags & ISA_SLOTF_SBUF) != 0,
        .matmul_dst = (a->route.flags & ISA_SLOTF_MATMUL_DST) != 0,
        .any_partition = (a->route.flags & ISA_SLOTF_NO_QUADRANT) != 0,
        .is_packed = argument->dtype == BIR_DTYPE_FLOAT4_E2M1FN_X4 || argument->dtype == BIR_DTYPE_FLOAT8_E4M3FN_X4 ||
                     argument->dtype == BIR_DTYPE_FLOAT8_E5M2_X4,
    };
    out->tag = a->check.tag;
    int64_t elems = bir_pattern_elems_per_partition(a->pattern);
    out->elems = elems < 0 ? 0 : (uint64_t)elems;
    return true;
}

static bool check_partition_dim(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    const struct bir_pair *pair = &a->pattern->pairs[0];
    const struct bir_location *location = shape_location(a->argument);
    if (!isa_check_channels(pair->num, problem))
        return false;
    a->check.partitions = out->partitions = (uint32_t)pair->num;
    return check_partition_pair(pair, location ? location_pitch_bytes(location) : 0, a->elem_bytes, problem);
}

/* The variant inside the slot (descriptors.md section 4, item 3). */
static bool choose_variant(const struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    const struct isa_slot_info *info = isa_slot_info_of(out->slot);
    out->descriptor.slot = out->slot;
    bool gathers = companion_index_position(a->argument) != 0;
    if (has_companion(a->argument) && !gathers)
        return isa_refuse(problem, ISA_RULE_UNEXPANDED, "the operand still has a runtime offset (dynamic_ap_info)");
    if (info->form == ISA_FORM_INDIRECT)
        return true;
    if (a->inst->opcode == BIR_OP_INDIRECT_COPY && a->argument->role == BIR_ROLE_IN)
        gathers = true; /* on v4 the source is a MEM_PATTERN4D slot */
    if (!gathers)
        return true;
    if (info->indirect == ISA_SLOT_NONE || a->generation != ISA_V4)
        return isa_refuse(problem, ISA_V11, "static slot %s but has indirect field", info->name);
    if (info->indirect == ISA_SLOT_INDIRECT12B)
        return isa_refuse(problem, ISA_V15, "no encoder is known for the 12-byte indirect form");
    out->descriptor.slot = (enum isa_slot)info->indirect;
    return true;
}

static bool encode_form(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    switch (isa_slot_info_of(out->descriptor.slot)->form) {
    case ISA_FORM_ADDR4: return encode_addr4(a, out, problem);
    case ISA_FORM_STATIC: return encode_static(a, out, problem);
    case ISA_FORM_INDIRECT: return encode_indirect(a, out, problem);
    case ISA_FORM_MX: return encode_mx(a, out, problem);
    case ISA_FORM_MX_INDIRECT: return encode_mx_indirect(a, out, problem);
    case ISA_FORM_ADDR8: return encode_addr8(a, out, problem);
    default: return isa_refuse(problem, ISA_RULE_UNSUPPORTED, "the operand has no descriptor");
    }
}

static bool encode(struct access *a, struct isa_operand *out, struct isa_problem *problem)
{
    if (!prepare(a, out, problem) || !choose_variant(a, out, problem))
        return false;
    if (out->slot != ISA_SLOT_ADDR8 && !check_partition_dim(a, out, problem))
        return false;
    return encode_form(a, out, problem);
}

enum isa_outcome isa_operand_encode(const struct bir_argument *argument, uint32_t position,
                                    enum isa_generation generation, struct isa_operand *out,
                                    struct isa_problem *problem)
{
    struct access a = { .argument = argument, .inst = bir_argument_parent(argument), .generation = generation };
    a.route = isa_route_operand(bir_argument_parent(argument), (enum bir_role)argument->role, position, generation);
    *out = (struct isa_operand){ .argument = argument,
                                 .position = position,
                                 .slot = a.route.slot,
                                 .slot_flags = a.route.flags,
                                 .space = ISA_SPACE_NONE };
    out->reason = reason_without_bytes(argument, &a.route);
    if (out->reason)
        return out->outcome = ISA_NO_BYTES;
    if (!encode(&a, out, problem))
        return out->outcome = ISA_REFUSED;
    out->size_bytes = (uint8_t)isa_encode_raw(&out->descriptor, out->bytes);
    return out->outcome = ISA_ENCODED;
}
