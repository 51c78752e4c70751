/*
 * Symbolic immediates: an expression that must have exactly one value over its axes, folded into a plain immediate.
 *
 * Choice: the value is the number itself, so a float dtype gets its nearest representation only when that is exact; the
 * raw 16-bit form of float16 and bfloat16 immediates is how the number is written, not what the expression means.
 */
#include "passes/fold_immediate.h"

#include "pelican/simplify.h"

static enum bir_status refuse(const struct bir_symbolic_imm_value *imm, struct bir_diags *diags, const char *why)
{
    return bir_fail(diags, "lower-immediate", bir_pass_place(imm->base.source_offset), "make the expression constant",
                    "symbolic immediate of %s must evaluate to a single value: %s",
                    bir_argument_parent(&imm->base)->name ? bir_argument_parent(&imm->base)->name->text : "?", why);
}

/* Bits of an integer as a float with a sign, `exponent_bits` and `fraction_bits`; false when it is not exact. */
static bool float_bits(int64_t value, unsigned exponent_bits, unsigned fraction_bits, uint64_t *bits)
{
    uint64_t sign = value < 0;
    uint64_t magnitude = sign ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t bias = (UINT64_C(1) << (exponent_bits - 1)) - 1;
    if (magnitude == 0) {
        *bits = 0;
        return true;
    }
    unsigned top = 63 - (unsigned)__builtin_clzll(magnitude);
    if (top > bias)
        return false;
    uint64_t fraction = magnitude ^ (UINT64_C(1) << top);
    if (top > fraction_bits) {
        if (fraction & ((UINT64_C(1) << (top - fraction_bits)) - 1))
            return false;
        fraction >>= top - fraction_bits;
    } else {
        fraction <<= fraction_bits - top;
    }
    *bits = sign << (exponent_bits + fraction_bits) | (top + bias) << fraction_bits | fraction;
    return true;
}

/* Within the range of an integer of so many bytes? */
static bool integer_fits(int64_t value, uint32_t bytes, bool is_signed)
{
    if (bytes == 8)
        return is_signed || value >= 0;
    int64_t span = INT64_C(1) << (8 * bytes);
    return is_signed ? value >= -span / 2 && value < span / 2 : value >= 0 && value < span;
}

static bool encode_value(uint8_t dtype, int64_t value, uint64_t *bits)
{
    switch ((enum bir_dtype)dtype) {
    case BIR_DTYPE_FLOAT32: return float_bits(value, 8, 23, bits);
    case BIR_DTYPE_BFLOAT16: return float_bits(value, 8, 7, bits);
    case BIR_DTYPE_FLOAT16: return float_bits(value, 5, 10, bits);
    case BIR_DTYPE_INT8:
    case BIR_DTYPE_INT16:
    case BIR_DTYPE_INT32:
    case BIR_DTYPE_INT64: *bits = (uint64_t)value; return integer_fits(value, bir_dtype_bytes(dtype), true);
    default:
        *bits = (uint64_t)value;
        return bir_dtype_is_immediate(dtype) && integer_fits(value, bir_dtype_bytes(dtype), false);
    }
}

enum bir_status bir_immediate_value(struct bir_module *module, const struct bir_symbolic_imm_value *imm,
                                    struct bir_diags *diags, uint64_t *bits)
{
    if (!imm->expr)
        return refuse(imm, diags, "it has no expression");
    const struct pelican_expr *e = pelican_simplify(&module->expressions, imm->expr);
    if (!e)
        return module->expressions.overflow ? refuse(imm, diags, "it does not fit 64 bits")
                                            : bir_arena_failure(&module->arena);
    struct pelican_range range = pelican_range_of(e);
    if (!range.known || range.inf != range.sup)
        return refuse(imm, diags, "its value changes or is known at run time only");
    if (!encode_value(imm->base.dtype, range.inf, bits))
        return refuse(imm, diags, "its dtype cannot hold the value");
    return BIR_OK;
}

bool bir_immediate_replace(struct bir_module *module, struct bir_symbolic_imm_value *imm, uint64_t bits)
{
    struct bir_argument *plain =
        bir_argument_new_before(module, &imm->base, BIR_ARG_IMM_VALUE, (enum bir_dtype)imm->base.dtype);
    if (!plain)
        return false;
    ((struct bir_imm_value *)plain)->bits = bits;
    plain->source_offset = imm->base.source_offset;
    bir_argument_remove(&imm->base);
    return true;
}
