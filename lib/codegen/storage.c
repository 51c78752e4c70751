/*
 * Tensors of the file to sets, locations and registers of the function.
 *
 * A location stands for one Address of the file, found by the address's name: views of one address share it
 * (lowering.md, correction 3). Its dimensions are the address's: [partitions, bytes of a partition] on chip, [rows,
 * bytes of a row] in HBM (klr-format.md 9.1). The set, `<name>_set`, takes dtype and shape from the first view met. An
 * address with an offset is placed: parOffset is the base partition, freeOffset the byte inside it (in PSUM: bank and
 * byte). Two placed addresses of one name that lie differently are two regions and get two locations, the second called
 * `<name>@<parOffset>,<freeOffset>`.
 *
 * Kinds come from the kernel's lists, by address name: inputs ExternalInput, outputs ExternalOutput, shared constants
 * Const with `file`, everything else Internal. An input that is also an output is an ExternalOutput, because it is
 * written. Shared buffers get address space Shared when the kernel has several cores, and so does Memory.shared_hbm.
 *
 * Equal TensorNames are one node of the tree, so `tensors` finds nearly every operand's location by pointer.
 */
#include "codegen/context.h"

#include <stdio.h>
#include <string.h>

#include "codegen/maps.h"

struct storage_role {
    bool input, output, shared;
    const struct bir_str *constant_file; /* of a shared constant, or NULL */
};

/* The size of a PSUM bank (descriptors.md 1.2). */
enum { PSUM_BANK_BYTES = 0x800 };

uint32_t codegen_source(const struct klr_node *node)
{
    uint64_t offset = klr_offset(node);
    return offset < BIR_NO_SOURCE ? (uint32_t)offset : BIR_NO_SOURCE;
}

const struct bir_str *codegen_text(struct codegen *cg, const struct bir_str *text)
{
    return bir_intern(&cg->module->strings, text->text, text->len);
}

const struct bir_str *codegen_literal(struct codegen *cg, const char *text)
{
    const struct bir_str *known = bir_map_get(&cg->literals, text);
    if (known)
        return known;
    known = bir_intern_cstr(&cg->module->strings, text);
    return known && bir_map_put(&cg->literals, &cg->scratch, text, (void *)(uintptr_t)known) ? known : NULL;
}

const struct bir_str *codegen_text_with(struct codegen *cg, const struct bir_str *text, const char *suffix)
{
    size_t suffix_len = strlen(suffix);
    char *joined = bir_arena_alloc(&cg->scratch, BIR_MEM_STRINGS, (size_t)text->len + suffix_len);
    if (!joined)
        return NULL;
    memcpy(joined, text->text, text->len);
    memcpy(joined + text->len, suffix, suffix_len);
    return bir_intern(&cg->module->strings, joined, (size_t)text->len + suffix_len);
}

enum bir_status codegen_nomem(const struct codegen *cg)
{
    return cg->scratch.failure != BIR_OK ? cg->scratch.failure : bir_arena_failure(&cg->module->arena);
}

/* For marking; role_find is for asking. */
static struct storage_role *role_of(struct codegen *cg, const struct bir_str *address)
{
    const struct bir_str *name = codegen_text(cg, address);
    if (!name)
        return NULL;
    struct storage_role *role = bir_map_get(&cg->roles, name);
    if (role)
        return role;
    role = BIR_NEW(&cg->scratch, BIR_MEM_OTHER, struct storage_role);
    return role && bir_map_put(&cg->roles, &cg->scratch, name, role) ? role : NULL;
}

/* Most addresses have none: an internal tensor's. `address` is interned in the module. */
static struct storage_role role_find(const struct codegen *cg, const struct bir_str *address)
{
    const struct storage_role *role = bir_map_get(&cg->roles, address);
    return role ? *role : (struct storage_role){ 0 };
}

static const struct klr_node *address_of(const struct klr_node *tensor_name)
{
    return klr_node_at(tensor_name, KLR_TensorName_address);
}

enum role_mark { MARK_INPUT, MARK_OUTPUT, MARK_SHARED };

static enum bir_status mark_roles(struct codegen *cg, const struct klr_list *tensors, enum role_mark mark)
{
    for (uint64_t i = 0; i < tensors->count; i++) {
        struct storage_role *role = role_of(cg, klr_string_at(address_of(tensors->items[i].node), KLR_Address_name));
        if (!role)
            return codegen_nomem(cg);
        bool *flag = mark == MARK_INPUT ? &role->input : mark == MARK_OUTPUT ? &role->output : &role->shared;
        *flag = true;
    }
    return BIR_OK;
}

static enum bir_status mark_constants(struct codegen *cg)
{
    for (uint64_t i = 0; i < cg->shared_constants->count; i++) {
        const struct klr_node *constant = cg->shared_constants->items[i].node;
        struct storage_role *role = role_of(cg, klr_string_at(constant, KLR_SharedConstantFile_name));
        const struct bir_str *file = codegen_text(cg, klr_string_at(constant, KLR_SharedConstantFile_fileName));
        if (!role || !file)
            return codegen_nomem(cg);
        role->constant_file = file;
    }
    return BIR_OK;
}

static enum bir_status declare_all(struct codegen *cg, const struct klr_list *tensors)
{
    enum bir_status result = BIR_OK;
    for (uint64_t i = 0; i < tensors->count; i++) {
        const struct codegen_tensor *tensor;
        enum bir_status status = codegen_tensor_get(cg, tensors->items[i].node, tensors->items[i].node, &tensor);
        if (status == BIR_INVALID)
            result = BIR_INVALID;
        else if (status != BIR_OK)
            return status;
    }
    return result;
}

enum bir_status codegen_declare_storages(struct codegen *cg)
{
    cg->tensors = (struct bir_map){ 0 };
    cg->roles = (struct bir_map){ 0 };
    BIR_TRY(mark_roles(cg, cg->inputs, MARK_INPUT));
    BIR_TRY(mark_roles(cg, cg->outputs, MARK_OUTPUT));
    BIR_TRY(mark_roles(cg, cg->shared_buffers, MARK_SHARED));
    BIR_TRY(mark_constants(cg));
    enum bir_status inputs = declare_all(cg, cg->inputs);
    if (inputs != BIR_OK && inputs != BIR_INVALID)
        return inputs;
    enum bir_status outputs = declare_all(cg, cg->outputs);
    if (outputs != BIR_OK && outputs != BIR_INVALID)
        return outputs;
    enum bir_status shared = declare_all(cg, cg->shared_buffers);
    return shared != BIR_OK ? shared : outputs != BIR_OK ? outputs : inputs;
}

/* --- geometry --- */

/* Row length of a location at the address of that name: the longest of its tensors', in whole elements, and not above
 * freeSize. */
static int64_t common_row(const struct codegen *cg, const struct bir_str *name, int64_t free_size)
{
    const struct codegen_pitch *pitch = bir_map_get(&cg->pitches, name);
    if (!pitch || pitch->row_bytes == 0)
        return free_size;
    int64_t row = (pitch->row_bytes + pitch->elem_bytes - 1) / pitch->elem_bytes * pitch->elem_bytes;
    return row < free_size ? row : free_size;
}

static enum bir_status region_read(struct codegen *cg, const struct klr_node *tensor, const struct bir_str *own,
                                   const struct klr_node *place, struct codegen_region *out)
{
    static const uint8_t types[] = {
        [KLR_Memory_hbm] = BIR_MEMORY_DRAM,        [KLR_Memory_sbuf] = BIR_MEMORY_SB,
        [KLR_Memory_psum] = BIR_MEMORY_PSUM,       [KLR_Memory_reg] = BIR_MEMORY_NONE,
        [KLR_Memory_shared_hbm] = BIR_MEMORY_DRAM, [KLR_Memory_private_hbm] = BIR_MEMORY_DRAM
    };
    const struct klr_node *address = address_of(tensor);
    const char *name = own->text;
    uint32_t memory = klr_enum_at(address, KLR_Address_memory);
    uint64_t rows = klr_nat_at(address, KLR_Address_parSize), bytes = klr_nat_at(address, KLR_Address_freeSize);
    int64_t size;
    if (memory >= sizeof types || types[memory] == BIR_MEMORY_NONE)
        return codegen_fail(cg, "klr-memory", place, "put the tensor into hbm, sbuf or psum",
                            "tensor '%.80s' lives in memory %s, which holds no tensors", name,
                            memory < sizeof types ? klr_ctor_name(KLR_TYPE_Memory, memory) : "?");
    if (rows > INT64_MAX || bytes > INT64_MAX || __builtin_mul_overflow((int64_t)rows, (int64_t)bytes, &size))
        return codegen_fail(cg, "klr-size", place, NULL,
                            "address '%.80s' of %llu rows of %llu bytes does not fit in 63 bits", name,
                            (unsigned long long)rows, (unsigned long long)bytes);
    *out = (struct codegen_region){ .type = types[memory], .rows = (int64_t)rows, .row_bytes = (int64_t)bytes };
    bool par = klr_option_nat(address, KLR_Address_parOffset, &out->first_row);
    bool free_offset = klr_option_nat(address, KLR_Address_freeOffset, &out->first_byte);
    out->placed = par || free_offset;
    if (out->type == BIR_MEMORY_DRAM)
        return BIR_OK;
    out->row_bytes = common_row(cg, own, out->row_bytes);
    if (rows > CODEGEN_PARTITIONS || out->first_row > CODEGEN_PARTITIONS - rows)
        return codegen_fail(cg, "klr-partitions", place, "split the tensor along its first dimension",
                            "address '%.80s' takes partitions %llu to %llu, the memory has %d", name,
                            (unsigned long long)out->first_row, (unsigned long long)(out->first_row + rows - 1),
                            CODEGEN_PARTITIONS);
    return BIR_OK;
}

/* Puts a placed region's address into its location. HBM regions count row-major bytes from the named region's start,
 * choice. */
static enum bir_status location_place(struct codegen *cg, struct bir_location *location,
                                      const struct codegen_region *region, const struct klr_node *place)
{
    uint64_t addr = region->first_byte, skipped;
    location->allocated = location->pinned = true;
    if (region->type == BIR_MEMORY_PSUM) {
        if (addr / PSUM_BANK_BYTES > INT32_MAX)
            return codegen_fail(cg, "klr-size", place, NULL, "freeOffset %llu lies beyond PSUM",
                                (unsigned long long)addr);
        location->bank = (int32_t)(addr / PSUM_BANK_BYTES);
        addr %= PSUM_BANK_BYTES;
    }
    if (region->type != BIR_MEMORY_DRAM)
        location->base_partition = (uint32_t)region->first_row; /* below 128: region_read */
    else if (__builtin_mul_overflow(region->first_row, (uint64_t)region->row_bytes, &skipped) ||
             __builtin_add_overflow(addr, skipped, &addr) || addr > INT64_MAX)
        return codegen_fail(cg, "klr-size", place, NULL,
                            "an HBM region %llu rows of %lld bytes and %llu bytes in does not fit in 63 bits",
                            (unsigned long long)region->first_row, (long long)region->row_bytes,
                            (unsigned long long)region->first_byte);
    location->addr_bytes = addr;
    return BIR_OK;
}

static bool region_matches(const struct bir_location *location, const struct codegen_region *region)
{
    uint64_t byte = codegen_location_start(location);
    if (location->pinned != region->placed)
        return false;
    if (!region->placed)
        return true;
    if (region->type == BIR_MEMORY_DRAM)
        return byte == region->first_row * (uint64_t)region->row_bytes + region->first_byte;
    return location->base_partition == region->first_row && byte == region->first_byte;
}

/* --- new storages --- */

/* TensorClass of a set that is internal to the kernel. */
static const char *internal_class(enum bir_memory_type type)
{
    return type == BIR_MEMORY_SB ? "NeuronSBTensor" : type == BIR_MEMORY_PSUM ? "NeuronPSUMTensor" : "Tensor";
}

static enum bir_status set_describe(struct codegen *cg, struct bir_set *set, const struct codegen_tensor *tensor,
                                    const struct codegen_region *region, const struct storage_role *role)
{
    bool internal = !role->input && !role->output && !role->constant_file;
    const char *cls = internal ? internal_class(region->type) : "Tensor";
    uint32_t memory = klr_enum_at(address_of(tensor->name), KLR_Address_memory);
    set->kind = (uint8_t)(role->output          ? BIR_TENSOR_EXTERNAL_OUTPUT
                          : role->input         ? BIR_TENSOR_EXTERNAL_INPUT
                          : role->constant_file ? BIR_TENSOR_CONST
                                                : BIR_TENSOR_INTERNAL);
    set->addr_space = (uint8_t)(memory == KLR_Memory_shared_hbm || (role->shared && cg->n_cores > 1));
    set->base.dtype = tensor->dtype;
    set->base.source_offset = codegen_source(tensor->name);
    set->tensor_class = codegen_literal(cg, cls);
    set->tensor_shape = bir_ints_get(cg->module, tensor->dims, tensor->rank);
    set->n_blocks = 1;
    if (!set->tensor_class || !set->tensor_shape)
        return codegen_nomem(cg);
    if (role->constant_file) {
        struct bir_prop file = { .key = codegen_literal(cg, "file"),
                                 .type = BIR_VALUE_TEXT,
                                 .u.s = role->constant_file };
        set->base.props = file.key ? bir_props_get(cg->module, &file, 1) : NULL;
        if (!set->base.props)
            return codegen_nomem(cg);
    }
    return BIR_OK;
}

static struct bir_location *location_make(struct codegen *cg, const struct bir_str *name, enum bir_memory_type type,
                                          int64_t rows, int64_t row_bytes, uint32_t source_offset)
{
    const struct bir_str *set_name = codegen_text_with(cg, name, "_set");
    struct bir_set *set = set_name ? bir_set_new(cg->function, set_name) : NULL;
    struct bir_location *location = set ? bir_location_new(set, name) : NULL;
    if (!location)
        return NULL;
    location->type = (uint8_t)type;
    location->tensor_id = 0;
    location->base.source_offset = source_offset;
    location->dims = bir_ints_get(cg->module, (const int64_t[]){ rows, row_bytes }, 2);
    return location->dims ? location : NULL;
}

static enum bir_status location_new(struct codegen *cg, const struct bir_str *name, const struct bir_str *address,
                                    const struct codegen_tensor *tensor, const struct codegen_region *region,
                                    const struct klr_node *place, struct bir_location **out)
{
    struct storage_role role = role_find(cg, address);
    struct bir_location *location =
        location_make(cg, name, region->type, region->rows, region->row_bytes, codegen_source(tensor->name));
    if (!location)
        return codegen_nomem(cg);
    BIR_TRY(set_describe(cg, location->set, tensor, region, &role));
    if (region->placed)
        BIR_TRY(location_place(cg, location, region, place));
    *out = location;
    return BIR_OK;
}

enum bir_status codegen_location_at(struct codegen *cg, const struct bir_str *name, const struct codegen_region *region,
                                    uint8_t dtype, const struct klr_node *view, struct bir_location **out)
{
    struct bir_location *location =
        location_make(cg, name, region->type, region->rows, region->row_bytes, codegen_source(view));
    if (!location)
        return codegen_nomem(cg);
    struct bir_set *set = location->set;
    int64_t shape[2] = { region->rows, region->row_bytes / (int64_t)bir_dtype_bytes(dtype) };
    set->kind = BIR_TENSOR_INTERNAL;
    set->n_blocks = 1;
    set->base.dtype = dtype;
    set->base.source_offset = codegen_source(view);
    set->tensor_class = codegen_literal(cg, internal_class(region->type));
    set->tensor_shape = bir_ints_get(cg->module, shape, 2);
    if (!set->tensor_class || !set->tensor_shape)
        return codegen_nomem(cg);
    BIR_TRY(location_place(cg, location, region, view));
    *out = location;
    return BIR_OK;
}

uint64_t codegen_location_start(const struct bir_location *location)
{
    return location->addr_bytes + (location->type == BIR_MEMORY_PSUM ? (uint64_t)location->bank * PSUM_BANK_BYTES : 0);
}

/* A further view of a location. In HBM and in partitions it may be larger than the ones before; a different row size on
 * chip would move the rows of operands that are already there. */
static enum bir_status location_share(struct codegen *cg, struct bir_location *location,
                                      const struct codegen_region *region, const struct klr_node *place)
{
    int64_t rows = location->dims->items[0], row_bytes = location->dims->items[1];
    if (location->type != region->type)
        return codegen_fail(cg, "klr-address-conflict", place, "give the two tensors addresses of different names",
                            "address '%.80s' is used in two memories", location->base.name->text);
    if (rows == region->rows && row_bytes == region->row_bytes)
        return BIR_OK;
    if (region->type != BIR_MEMORY_DRAM && row_bytes != region->row_bytes)
        return codegen_fail(cg, "klr-address-conflict", place, "views of one address must agree on its freeSize",
                            "address '%.80s' has rows of %lld bytes here and of %lld bytes before",
                            location->base.name->text, (long long)region->row_bytes, (long long)row_bytes);
    if (region->rows * region->row_bytes > rows * row_bytes) /* neither product overflows: region_read */
        location->dims = bir_ints_get(cg->module, (const int64_t[]){ region->rows, region->row_bytes }, 2);
    return location->dims ? BIR_OK : codegen_nomem(cg);
}

static enum bir_status location_get(struct codegen *cg, const struct codegen_tensor *tensor,
                                    const struct klr_node *place, struct bir_location **out)
{
    struct codegen_region region = { 0 };
    const struct bir_str *address = codegen_text(cg, klr_string_at(address_of(tensor->name), KLR_Address_name));
    const struct bir_str *name = address;
    if (!name)
        return codegen_nomem(cg);
    BIR_TRY(region_read(cg, tensor->name, address, place, &region));
    struct bir_location *location = bir_function_find_location(cg->function, name);
    if (location && location->type == region.type && !region_matches(location, &region)) {
        char suffix[48];
        snprintf(suffix, sizeof suffix, "@%llu,%llu", (unsigned long long)region.first_row,
                 (unsigned long long)region.first_byte);
        name = codegen_text_with(cg, name, suffix);
        if (!name)
            return codegen_nomem(cg);
        location = bir_function_find_location(cg->function, name);
    }
    if (!location)
        return location_new(cg, name, address, tensor, &region, place, out);
    *out = location;
    return location_share(cg, location, &region, place);
}

/* --- tensors --- */

/* Fills rank, dims and strides from the shape. */
static enum bir_status tensor_shape(struct codegen *cg, struct codegen_tensor *tensor, const struct klr_node *place)
{
    const struct klr_node *shape = klr_node_at(tensor->name, KLR_TensorName_shape);
    const struct klr_list *free_dims = klr_list_at(shape, KLR_Shape_freeDims);
    const char *name = klr_string_at(tensor->name, KLR_TensorName_name)->text;
    if (free_dims->count >= BIR_PATTERN_MAX_RANK)
        return codegen_fail(cg, "klr-rank", place, NULL, "tensor '%.80s' has %llu dimensions, %d are supported", name,
                            (unsigned long long)free_dims->count + 1, BIR_PATTERN_MAX_RANK);
    uint32_t rank = (uint32_t)free_dims->count + 1;
    int64_t *dims = bir_arena_alloc_array(&cg->scratch, BIR_MEM_OTHER, 2 * (size_t)rank, sizeof *dims);
    if (!dims)
        return codegen_nomem(cg);
    int64_t *stride = dims + rank, size = 1;
    for (uint32_t k = rank; k-- > 0;) {
        uint64_t extent = k ? free_dims->items[k - 1].nat : klr_nat_at(shape, KLR_Shape_parDim);
        stride[k] = size;
        if (extent > INT64_MAX || __builtin_mul_overflow(size, (int64_t)extent, &size))
            return codegen_fail(cg, "klr-size", place, NULL, "tensor '%.80s' has more than 2^63 elements", name);
        dims[k] = (int64_t)extent;
    }
    tensor->rank = rank;
    tensor->dims = dims;
    tensor->stride = stride;
    tensor->rows = dims[0];
    if (__builtin_mul_overflow(stride[0], (int64_t)bir_dtype_bytes(tensor->dtype), &tensor->row_bytes) ||
        __builtin_mul_overflow(size, (int64_t)bir_dtype_bytes(tensor->dtype), &size))
        return codegen_fail(cg, "klr-size", place, NULL, "tensor '%.80s' has more than 2^63 bytes", name);
    return BIR_OK;
}

static enum bir_status tensor_make(struct codegen *cg, struct codegen_tensor *tensor, const struct klr_node *place)
{
    int dtype = codegen_map_dtype(klr_enum_at(tensor->name, KLR_TensorName_dtype));
    if (dtype < 0)
        return codegen_fail(cg, "klr-dtype", place, NULL, "Unsupported dtype encountered");
    tensor->dtype = (uint8_t)dtype;
    BIR_TRY(tensor_shape(cg, tensor, place));
    BIR_TRY(location_get(cg, tensor, place, &tensor->location));
    tensor->on_chip = tensor->location->type != BIR_MEMORY_DRAM;
    tensor->pitch_bytes = tensor->location->dims->items[1];
    const struct klr_node *address = address_of(tensor->name);
    uint64_t par_size = klr_nat_at(address, KLR_Address_parSize), free_size = klr_nat_at(address, KLR_Address_freeSize);
    if ((uint64_t)tensor->rows > par_size || (uint64_t)tensor->row_bytes > free_size)
        return codegen_fail(
            cg, "klr-tensor-size", place, "enlarge the address or shrink the shape",
            "tensor '%.80s' of %lld rows of %lld bytes does not fit its address of %llu rows of %llu bytes",
            klr_string_at(tensor->name, KLR_TensorName_name)->text, (long long)tensor->rows,
            (long long)tensor->row_bytes, (unsigned long long)par_size, (unsigned long long)free_size);
    return BIR_OK;
}

enum bir_status codegen_tensor_get(struct codegen *cg, const struct klr_node *tensor_name, const struct klr_node *place,
                                   const struct codegen_tensor **out)
{
    struct codegen_tensor *tensor = bir_map_get(&cg->tensors, tensor_name);
    if (!tensor) {
        tensor = BIR_NEW(&cg->scratch, BIR_MEM_OTHER, struct codegen_tensor);
        if (!tensor)
            return codegen_nomem(cg);
        tensor->name = tensor_name;
        BIR_TRY(tensor_make(cg, tensor, place));
        if (!bir_map_put(&cg->tensors, &cg->scratch, tensor_name, tensor))
            return codegen_nomem(cg);
    }
    *out = tensor;
    return BIR_OK;
}

/* Names of registers: minted on ALL with one physical register (lowering.md 4.4). */
enum bir_status codegen_register_get(struct codegen *cg, const struct bir_str *name, bool mint,
                                     struct bir_register **out)
{
    const struct bir_str *own = codegen_text(cg, name);
    if (!own)
        return codegen_nomem(cg);
    *out = bir_function_find_register(cg->function, own);
    if (*out || !mint)
        return BIR_OK;
    *out = bir_function_add_register(cg->function, own, BIR_ENGINE_ALL, 1);
    return *out ? BIR_OK : codegen_nomem(cg);
}
