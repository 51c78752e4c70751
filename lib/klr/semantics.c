/*
 * The proofs that Lean's structures carry, checked again because another writer need not have had them, and the
 * products that anyone who uses the numbers is going to form (klr-format.md 4, 9.1, 9.2):
 *
 *  - an address's partitions times its bytes a partition, and a tensor's elements times the element size, fit 64 bits;
 *  - a tensor has at most as many rows as its address has partitions, and its row fits the bytes of one partition;
 *  - freeElements is the product of the free dimensions (1 for none);
 *  - a basic access has one index for each dimension, and its slices do not stand still.
 *
 * The nodes come from the reader in file order, TensorNames once for equal bytes, so the work is linear in the file.
 */
#include "klr/semantics.h"

static int64_t place(const struct klr_node *node)
{
    return (int64_t)klr_offset(node);
}

/* Precision that prints a name, or its first characters when it is long; never half a character. */
static int shown(const struct bir_str *name)
{
    enum { SHOWN_MAX_BYTES = 64 };
    uint32_t len = name->len;
    if (len > SHOWN_MAX_BYTES) {
        len = SHOWN_MAX_BYTES;
        while (len > 0 && ((uint8_t)name->text[len] & 0xc0) == 0x80)
            len--;
    }
    return (int)len;
}

/* Product of the free dimensions, false when it does not fit. */
static bool free_product(const struct klr_list *dims, uint64_t *elems)
{
    *elems = 1;
    bool fits = true, zero = false;
    for (uint64_t i = 0; i < dims->count; i++) {
        zero |= dims->items[i].nat == 0;
        fits &= !__builtin_mul_overflow(*elems, dims->items[i].nat, elems);
    }
    if (zero)
        *elems = 0;
    return fits || zero;
}

static void check_products(const struct klr_node *tensor, uint64_t free_elems, struct bir_diags *diags)
{
    const struct klr_node *address = klr_node_at(tensor, KLR_TensorName_address);
    const struct bir_str *name = klr_string_at(tensor, KLR_TensorName_name);
    const struct bir_str *address_name = klr_string_at(address, KLR_Address_name);
    uint64_t par_size = klr_nat_at(address, KLR_Address_parSize), free_size = klr_nat_at(address, KLR_Address_freeSize);
    uint64_t par_dim = klr_nat_at(klr_node_at(tensor, KLR_TensorName_shape), KLR_Shape_parDim), product;
    uint32_t elem_bytes = klr_dtype_bytes(klr_enum_at(tensor, KLR_TensorName_dtype));
    if (__builtin_mul_overflow(par_size, free_size, &product))
        bir_diag_add(diags, BIR_ERROR, "klr-size-overflow", place(address),
                     "parSize %llu times freeSize %llu of address \"%.*s\" does not fit in 64 bits",
                     (unsigned long long)par_size, (unsigned long long)free_size, shown(address_name),
                     address_name->text);
    if (__builtin_mul_overflow(par_dim, free_elems, &product) || __builtin_mul_overflow(product, elem_bytes, &product))
        bir_diag_add(diags, BIR_ERROR, "klr-size-overflow", place(tensor),
                     "the size of tensor \"%.*s\", %llu times %llu elements of %u bytes, does not fit in 64 bits",
                     shown(name), name->text, (unsigned long long)par_dim, (unsigned long long)free_elems, elem_bytes);
}

static void check_fits_address(const struct klr_node *tensor, uint64_t free_elems, struct bir_diags *diags)
{
    const struct klr_node *address = klr_node_at(tensor, KLR_TensorName_address);
    const struct bir_str *name = klr_string_at(tensor, KLR_TensorName_name);
    uint64_t par_dim = klr_nat_at(klr_node_at(tensor, KLR_TensorName_shape), KLR_Shape_parDim), row_bytes;
    uint64_t par_size = klr_nat_at(address, KLR_Address_parSize), free_size = klr_nat_at(address, KLR_Address_freeSize);
    uint32_t elem_bytes = klr_dtype_bytes(klr_enum_at(tensor, KLR_TensorName_dtype));
    if (par_dim > par_size)
        bir_diag_add(diags, BIR_ERROR, "klr-tensor-size", place(tensor),
                     "tensor \"%.*s\" has %llu partitions, its address only %llu", shown(name), name->text,
                     (unsigned long long)par_dim, (unsigned long long)par_size);
    if (__builtin_mul_overflow(free_elems, elem_bytes, &row_bytes) || row_bytes > free_size)
        bir_diag_add(diags, BIR_ERROR, "klr-tensor-size", place(tensor),
                     "tensor \"%.*s\" has %llu elements of %u bytes a partition, its address only %llu bytes",
                     shown(name), name->text, (unsigned long long)free_elems, elem_bytes,
                     (unsigned long long)free_size);
}

static void check_tensor(const struct klr_node *tensor, struct bir_diags *diags)
{
    const struct bir_str *name = klr_string_at(tensor, KLR_TensorName_name);
    uint64_t stated = klr_nat_at(tensor, KLR_TensorName_freeElements), free_elems;
    if (!free_product(klr_list_at(klr_node_at(tensor, KLR_TensorName_shape), KLR_Shape_freeDims), &free_elems)) {
        bir_diag_add(diags, BIR_ERROR, "klr-size-overflow", place(tensor),
                     "the product of the free dimensions of tensor \"%.*s\" does not fit in 64 bits", shown(name),
                     name->text);
        return;
    }
    if (stated != free_elems)
        bir_diag_add(diags, BIR_ERROR, "klr-free-elements", place(tensor),
                     "freeElements of tensor \"%.*s\" is %llu, its free dimensions multiply to %llu", shown(name),
                     name->text, (unsigned long long)stated, (unsigned long long)free_elems);
    check_fits_address(tensor, free_elems, diags);
    check_products(tensor, free_elems, diags);
}

static void check_basic(const struct klr_node *access, struct bir_diags *diags)
{
    const struct klr_node *tensor = klr_node_at(access, KLR_AccessBasic_tensor);
    const struct klr_node *shape = klr_node_at(tensor, KLR_TensorName_shape);
    const struct bir_str *name = klr_string_at(tensor, KLR_TensorName_name);
    uint64_t rank = 1 + klr_list_at(shape, KLR_Shape_freeDims)->count;
    uint64_t indexes = klr_list_at(access, KLR_AccessBasic_indexes)->count;
    if (indexes != rank)
        bir_diag_add(diags, BIR_ERROR, "klr-index-count", place(access),
                     "%llu index%s on tensor \"%.*s\", which has %llu dimensions", (unsigned long long)indexes,
                     indexes == 1 ? "" : "es", shown(name), name->text, (unsigned long long)rank);
}

static void check_slice(const struct klr_node *slice, struct bir_diags *diags)
{
    if (klr_int_at(slice, KLR_Slice_step) == 0)
        bir_diag_add(diags, BIR_ERROR, "klr-slice-step", place(slice), "a slice from %llu to %llu with step 0",
                     (unsigned long long)klr_nat_at(slice, KLR_Slice_l),
                     (unsigned long long)klr_nat_at(slice, KLR_Slice_u));
}

enum bir_status klr_semantics_check(const struct klr_node *const *nodes, uint32_t count, struct bir_diags *diags)
{
    uint32_t errors = diags->errors;
    for (uint32_t i = 0; i < count; i++) {
        switch (nodes[i]->type) {
        case KLR_TYPE_TensorName: check_tensor(nodes[i], diags); break;
        case KLR_TYPE_AccessBasic: check_basic(nodes[i], diags); break;
        case KLR_TYPE_Slice: check_slice(nodes[i], diags); break;
        default: break;
        }
    }
    return diags->errors == errors ? BIR_OK : BIR_INVALID;
}
