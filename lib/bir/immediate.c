/*
 * Literals. Integers travel as numbers, float16 and bfloat16 as their 16-bit patterns, float32 as a number, non-finite
 * ones as strings (bir-json.md section 2). A float32 is written with the digits of its exact value as a double, as the
 * vendor's library does, so reading and writing an already written value changes nothing.
 */
#include "bir/immediate.h"

#include <math.h>
#include <string.h>

#define FLOAT32_BOUND 0x1.ffffffp127 /* halfway between the greatest float32 and the next power of two */

static uint64_t float_bits(double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

static enum bir_status read_float32(struct bir_json_reader *r, uint64_t *bits)
{
    double value;
    size_t offset = bir_json_value_offset(r);
    if (bir_json_peek(r) != BIR_JSON_STRING) {
        BIR_TRY(bir_json_double(r, &value));
        if (fabs(value) < FLOAT32_BOUND) {
            *bits = float_bits(value);
            return BIR_OK;
        }
        r->status = BIR_INVALID;
        return bir_fail(r->diags, "json-range", (int64_t)offset, "write \"inf\" if that is meant",
                        "%g is beyond the range of float32", value);
    }
    static const struct {
        const char *text;
        double value;
    } specials[] = { { "inf", INFINITY }, { "-inf", -INFINITY }, { "nan", NAN } };
    struct bir_slice text;
    BIR_TRY(bir_json_string(r, &text));
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (strlen(specials[i].text) == text.len && memcmp(specials[i].text, text.text, text.len) == 0) {
            *bits = float_bits(specials[i].value);
            return BIR_OK;
        }
    r->status = BIR_INVALID;
    return bir_fail(r->diags, "json-type", (int64_t)offset, "write a number, \"inf\", \"-inf\" or \"nan\"",
                    "expected a number, found another string");
}

struct range {
    int64_t min;
    int64_t max; /* of uint64 the signed part; larger values are taken as unsigned */
};

static struct range range_of(uint8_t dtype)
{
    switch (dtype) {
    case BIR_DTYPE_UINT8: return (struct range){ 0, UINT8_MAX };
    case BIR_DTYPE_INT8: return (struct range){ INT8_MIN, INT8_MAX };
    case BIR_DTYPE_INT16: return (struct range){ INT16_MIN, INT16_MAX };
    case BIR_DTYPE_UINT16:
    case BIR_DTYPE_BFLOAT16:
    case BIR_DTYPE_FLOAT16: return (struct range){ 0, UINT16_MAX };
    case BIR_DTYPE_UINT32: return (struct range){ 0, UINT32_MAX };
    case BIR_DTYPE_INT32: return (struct range){ INT32_MIN, INT32_MAX };
    case BIR_DTYPE_UINT64: return (struct range){ 0, INT64_MAX };
    default: return (struct range){ INT64_MIN, INT64_MAX };
    }
}

/* Takes a float that is an integer in place of one, as the vendor's library does. False: it is none, or out of range.
 */
static bool take_integral(struct range range, double value, int64_t *out)
{
    if (!(value >= (double)range.min && value <= (double)range.max) || value != trunc(value) || fabs(value) >= 0x1p63)
        return false;
    *out = (int64_t)value;
    return *out >= range.min && *out <= range.max;
}

enum bir_status bir_immediate_read(struct bir_json_reader *r, uint8_t dtype, bool strict, uint64_t *bits)
{
    if (dtype == BIR_DTYPE_FLOAT32)
        return read_float32(r, bits);
    struct range range = range_of(dtype);
    struct bir_json_reader before = *r;
    int64_t value;
    if (bir_json_peek(r) == BIR_JSON_NUMBER) {
        struct bir_number number;
        BIR_TRY(bir_json_number(r, &number));
        if (number.kind == BIR_NUMBER_U64 && dtype == BIR_DTYPE_UINT64) {
            *bits = number.u64;
            return BIR_OK;
        }
        if (number.kind == BIR_NUMBER_DOUBLE && !strict && take_integral(range, number.f64, &value)) {
            *bits = (uint64_t)value;
            return BIR_OK;
        }
        *r = before;
    }
    BIR_TRY(bir_json_i64_in(r, "the literal", range.min, range.max, &value));
    *bits = (uint64_t)value;
    return BIR_OK;
}

void bir_immediate_write(struct bir_json_writer *w, uint8_t dtype, uint64_t bits)
{
    switch (dtype) {
    case BIR_DTYPE_FLOAT32: {
        uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        bir_json_put_double(w, (double)value);
        break;
    }
    case BIR_DTYPE_INT8:
    case BIR_DTYPE_INT16:
    case BIR_DTYPE_INT32:
    case BIR_DTYPE_INT64: bir_json_put_i64(w, (int64_t)bits); break;
    default: bir_json_put_u64(w, bits); break;
    }
}

uint64_t bir_immediate_bits(uint8_t dtype, int64_t value)
{
    uint32_t width = 8 * bir_dtype_bytes(dtype);
    bool is_signed = dtype == BIR_DTYPE_INT8 || dtype == BIR_DTYPE_INT16 || dtype == BIR_DTYPE_INT32;
    if (width >= 64)
        return (uint64_t)value;
    uint64_t low = (uint64_t)value & ((UINT64_C(1) << width) - 1);
    if (is_signed && low >> (width - 1))
        return low | ~((UINT64_C(1) << width) - 1);
    return low;
}
