/*
 * Operands, keys in byte order (bir-json.md sections 8 and 10).
 *
 * Most operands of lowered code are a register or an integer with nothing else about them. In compact output each of
 * these is a beginning that depends on kind and dtype alone, then the name or the number. The beginnings are cut from
 * what the general writer makes of the first such operand and kept for the rest of the writing.
 */
#include "base/decimal.h"
#include "base/json_scan.h"
#include "bir/immediate.h"
#include "bir/write.h"

static void write_shape(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_argument *arg)
{
    if (!bir_argument_shape(arg))
        return;
    WRITE_FIELD(w, props, "access_shape");
    write_ints(w, bir_argument_shape(arg));
}

static void write_ap(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_pattern *pattern)
{
    WRITE_FIELD(w, props, "ap");
    write_pattern(w, pattern);
}

static void write_dtype(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_argument *arg)
{
    if (arg->dtype == BIR_ENUM_UNKNOWN)
        return;
    WRITE_FIELD(w, props, "dtype");
    write_name(w, bir_dtype_name(arg->dtype));
}

static void write_set_name(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_argument *arg)
{
    const struct bir_set *set = bir_argument_set(arg);
    if (!set || !set->base.name || (arg->flags & BIR_ARGF_NO_MEMSETREF))
        return;
    WRITE_FIELD(w, props, "memsetref");
    write_str(w, set->base.name);
}

static void write_register_name(struct bir_json_writer *w, const struct bir_register *reg)
{
    write_str(w, reg->base.name);
}

static void write_dynamic(struct bir_json_writer *w, const struct bir_dynamic_info *info)
{
    struct prop_cursor props = write_cursor(info->props);
    bir_json_put_object_begin(w);
    WRITE_FIELD(w, &props, "actual_ap");
    write_pattern(w, info->actual);
    WRITE_FIELD(w, &props, "c");
    bir_json_put_i64(w, info->c_elems);
    WRITE_FIELD(w, &props, "indirect_dim");
    write_name(w, bir_enum_name(BIR_ENUM_INDIRECT_DIM, info->indirect_dim));
    if (info->indirect_dim_max_index) {
        WRITE_FIELD(w, &props, "indirect_dim_max_index");
        bir_json_put_i64(w, info->indirect_dim_max_index);
    }
    WRITE_FIELD(w, &props, "offset_expr");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < info->n_terms; i++) {
        struct prop_cursor rest = write_cursor(info->terms[i].props);
        bir_json_put_object_begin(w);
        WRITE_FIELD(w, &rest, "aff_expr");
        bir_write_expr(w, info->terms[i].expr);
        WRITE_FIELD(w, &rest, "coef");
        bir_json_put_i64(w, info->terms[i].coef);
        write_rest(w, &rest);
        bir_json_put_object_end(w);
    }
    bir_json_put_array_end(w);
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

static void write_physical(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_physical_ap *ap)
{
    write_shape(w, props, &ap->base);
    write_ap(w, props, ap->pattern);
    write_dtype(w, props, &ap->base);
    if (bir_argument_dynamic(&ap->base)) {
        WRITE_FIELD(w, props, "dynamic_ap_info");
        write_dynamic(w, bir_argument_dynamic(&ap->base));
    }
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "physical_ap");
    if (ap->base.location) { /* unresolved: the names are properties */
        WRITE_FIELD(w, props, "memref");
        write_str(w, ap->base.location->name);
    }
    write_set_name(w, props, &ap->base);
    WRITE_FIELD(w, props, "offset");
    bir_json_put_i64(w, ap->offset_elems);
}

static void write_symbolic(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_symbolic_ap *ap)
{
    write_shape(w, props, &ap->base);
    if (ap->n_addrs > 0) {
        WRITE_FIELD(w, props, "addrs");
        bir_json_put_array_begin(w);
        for (uint32_t i = 0; i < ap->n_addrs; i++)
            bir_write_expr(w, ap->addrs[i]);
        bir_json_put_array_end(w);
    }
    write_ap(w, props, ap->pattern);
    write_dtype(w, props, &ap->base);
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "symbolic_ap");
    write_set_name(w, props, &ap->base);
    const struct bir_argument_rare *rare = bir_argument_rare_of(&ap->base);
    if (rare && rare->num_tensor_indirect_indices != 0) {
        WRITE_FIELD(w, props, "num_tensor_indirect_indices");
        bir_json_put_i64(w, rare->num_tensor_indirect_indices);
    }
    if (ap->tensor_indirect_arg_id != -1) {
        WRITE_FIELD(w, props, "tensor_indirect_arg_id");
        bir_json_put_i64(w, ap->tensor_indirect_arg_id);
    }
}

static void write_register_ap(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_register_ap *ap)
{
    write_shape(w, props, &ap->base);
    write_ap(w, props, ap->pattern);
    if (ap->const_offset_elems != 0) {
        WRITE_FIELD(w, props, "const_ap_offset");
        bir_json_put_i64(w, ap->const_offset_elems);
    }
    if (ap->const_sub_tensor_id != -1) {
        WRITE_FIELD(w, props, "const_sub_tensor_id");
        bir_json_put_i64(w, ap->const_sub_tensor_id);
    }
    write_dtype(w, props, &ap->base);
    if (ap->address_is_offset) {
        WRITE_FIELD(w, props, "is_regloc_offset");
        bir_json_put_bool(w, true);
    }
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "register_ap");
    write_set_name(w, props, &ap->base);
    if (ap->offset) {
        WRITE_FIELD(w, props, "reg_ap_offset");
        write_register_name(w, ap->offset);
    }
    if (ap->sub_tensor) {
        WRITE_FIELD(w, props, "reg_sub_tensor_id");
        write_register_name(w, ap->sub_tensor);
    }
    if (ap->address) {
        WRITE_FIELD(w, props, "regref");
        write_register_name(w, ap->address);
    }
}

static void write_imm_value(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_imm_value *imm)
{
    write_dtype(w, props, &imm->base);
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "imm_value");
    WRITE_FIELD(w, props, "value");
    bir_immediate_write(w, imm->base.dtype, imm->bits);
}

static void write_symbolic_imm(struct bir_json_writer *w, struct prop_cursor *props,
                               const struct bir_symbolic_imm_value *imm)
{
    write_dtype(w, props, &imm->base);
    if (imm->expr) {
        WRITE_FIELD(w, props, "expr");
        bir_write_expr(w, imm->expr);
    }
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "symbolic_imm_value");
    if (imm->value_list) {
        WRITE_FIELD(w, props, "value_list");
        bir_json_put_raw(w, imm->value_list->text, imm->value_list->len, true);
    }
}

static void write_imm_array(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_imm_array *array)
{
    write_dtype(w, props, &array->base);
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "imm_array");
    WRITE_FIELD(w, props, "value_array");
    bir_json_put_array_begin(w);
    for (uint32_t i = 0; i < array->count; i++)
        bir_immediate_write(w, array->base.dtype, array->bits[i]);
    bir_json_put_array_end(w);
}

static void write_register_access(struct bir_json_writer *w, struct prop_cursor *props, const struct bir_argument *arg)
{
    write_dtype(w, props, arg);
    WRITE_FIELD(w, props, "kind");
    WRITE_NAME(w, "register_access");
    if (arg->location) {
        WRITE_FIELD(w, props, "regref");
        write_str(w, arg->location->name);
    }
}

static void write_argument(struct bir_json_writer *w, const struct bir_argument *arg)
{
    struct prop_cursor props = write_cursor(bir_argument_props(arg));
    bir_json_put_object_begin(w);
    switch ((enum bir_argument_kind)arg->kind) {
    case BIR_ARG_PHYSICAL_AP: write_physical(w, &props, (const struct bir_physical_ap *)arg); break;
    case BIR_ARG_SYMBOLIC_AP: write_symbolic(w, &props, (const struct bir_symbolic_ap *)arg); break;
    case BIR_ARG_REGISTER_AP: write_register_ap(w, &props, (const struct bir_register_ap *)arg); break;
    case BIR_ARG_IMM_VALUE: write_imm_value(w, &props, (const struct bir_imm_value *)arg); break;
    case BIR_ARG_SYMBOLIC_IMM_VALUE: write_symbolic_imm(w, &props, (const struct bir_symbolic_imm_value *)arg); break;
    case BIR_ARG_IMM_ARRAY: write_imm_array(w, &props, (const struct bir_imm_array *)arg); break;
    case BIR_ARG_REGISTER_ACCESS: write_register_access(w, &props, arg); break;
    case BIR_ARG_REGISTER_SET: break; /* never built */
    }
    write_rest(w, &props);
    bir_json_put_object_end(w);
}

/* What the general writer makes of an operand, without its last value_len bytes and the brace. Stays empty on failure.
 */
static void render_beginning(struct write_beginning *beginning, const struct bir_argument *arg, size_t value_len)
{
    struct bir_buf text;
    struct bir_json_writer w;
    bir_buf_init(&text, 0);
    bir_json_writer_init(&w, &text, 0);
    write_argument(&w, arg);
    if (text.status == BIR_OK && text.len - value_len - 1 <= sizeof beginning->text) {
        beginning->len = (uint8_t)(text.len - value_len - 1);
        memcpy(beginning->text, text.data, beginning->len);
    }
    bir_buf_deinit(&text);
}

/* Comma, beginning, value and brace, the value with at most value_max bytes, counted once finish_simple is called: the
 * place of the value, or NULL when it has to be done in general. */
static inline char *start_simple(struct bir_json_writer *w, const struct write_beginning *beginning, size_t value_max)
{
    char *out = bir_buf_window(w->buf, 1 + sizeof beginning->text + value_max + 1);
    if (!out || beginning->len == 0)
        return NULL;
    *out = ',';
    out += w->need_comma;
    memcpy(out, beginning->text, sizeof beginning->text); /* more than its length: a copy of constant size */
    return out + beginning->len;
}

static inline bool finish_simple(struct bir_json_writer *w, char *out)
{
    if (!out) /* the name needs an escape */
        return false;
    *out++ = '}';
    w->buf->len = (size_t)(out - w->buf->data);
    w->need_comma = true;
    return true;
}

/* Is the name spelled as it is, so that its length tells where the beginning ends? */
static bool is_plain(const struct bir_str *name)
{
    for (uint32_t i = 0; i < name->len; i++)
        if ((unsigned char)name->text[i] < 0x20 || name->text[i] == '"' || name->text[i] == '\\')
            return false;
    return true;
}

static bool write_simple_register(struct writer *writer, const struct bir_argument *arg)
{
    const struct bir_str *name = arg->location ? arg->location->name : NULL;
    if (!name)
        return false;
    struct write_beginning *beginning = &writer->register_access[arg->dtype];
    if (beginning->len == 0 && !is_plain(name))
        return false;
    if (beginning->len == 0)
        render_beginning(beginning, arg, (size_t)name->len + 2);
    char *out = start_simple(&writer->json, beginning, (size_t)name->len + 2);
    return out && finish_simple(&writer->json, bir_json_copy_plain(out, name->text, name->len));
}

static bool write_simple_immediate(struct writer *writer, const struct bir_argument *arg)
{
    if (arg->dtype != BIR_DTYPE_INT32 && arg->dtype != BIR_DTYPE_INT64)
        return false;
    struct write_beginning *beginning = &writer->imm_value[arg->dtype];
    if (beginning->len == 0) {
        struct bir_imm_value zero = { .base = { .kind = BIR_ARG_IMM_VALUE, .dtype = arg->dtype } };
        render_beginning(beginning, &zero.base, strlen("0"));
    }
    char *out = start_simple(&writer->json, beginning, BIR_DECIMAL_MAX);
    int64_t value = (int64_t)((const struct bir_imm_value *)arg)->bits;
    return out && finish_simple(&writer->json, bir_decimal_put_signed(out, value));
}

/* False when the operand is not simple, with nothing written. */
static inline bool write_simple(struct writer *writer, const struct bir_argument *arg)
{
    const struct bir_json_writer *w = &writer->json;
    if (arg->rare || arg->dtype >= BIR_DTYPE_COUNT || w->indent > 0 || w->depth >= BIR_JSON_WRITER_MAX_DEPTH)
        return false;
    if (arg->kind == BIR_ARG_REGISTER_ACCESS)
        return write_simple_register(writer, arg);
    return arg->kind == BIR_ARG_IMM_VALUE && write_simple_immediate(writer, arg);
}

void write_arguments(struct writer *writer, const struct bir_instruction *inst, enum bir_role role)
{
    bir_json_put_array_begin(&writer->json);
    BIR_EACH_OPERAND(arg, inst)
    if (arg->role == role && !write_simple(writer, arg))
        write_argument(&writer->json, arg);
    bir_json_put_array_end(&writer->json);
}
