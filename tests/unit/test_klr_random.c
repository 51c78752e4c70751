/*
 * Random kernels, written by a writer of this file's own that knows the format from klr-schema.tsv alone, read back and
 * compared as trees: in both dialects, with heads in longer forms than needed where those are allowed.
 */
#include "klr/klr.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/random.h"
#include "klr_tree.h"
#include "klr_tsv.h"

static struct tsv tsv;
static bool used[TSV_ROWS_MAX]; /* rows whose constructor has been written */

struct writer {
    struct bir_buf bytes;
    uint64_t random;
    bool proofs;
    int nesting; /* of Access */
};

static uint64_t below(struct writer *w, uint64_t bound)
{
    return bir_random_below(&w->random, bound);
}

/* A head in the shortest form or, when loose, at times in a longer one. */
static void put_head(struct writer *w, unsigned major, uint64_t value, bool loose)
{
    unsigned size_log = value < 24 ? 0 : value < 0x100 ? 1 : value < 0x10000 ? 2 : value <= UINT32_MAX ? 3 : 4;
    if (loose && below(w, 6) == 0)
        size_log += (unsigned)below(w, 5 - size_log);
    if (size_log == 0) {
        bir_buf_putc(&w->bytes, (char)(major << 5 | value));
        return;
    }
    bir_buf_putc(&w->bytes, (char)(major << 5 | (23 + size_log)));
    for (unsigned left = 1u << (size_log - 1); left-- > 0;)
        bir_buf_putc(&w->bytes, (char)(value >> (8 * left)));
}

static void put_shape(struct writer *w, unsigned tag, unsigned ctor, unsigned count)
{
    const unsigned char bytes[] = { 0xd9, (unsigned char)tag, (unsigned char)ctor, (unsigned char)(0x80 + count) };
    bir_buf_put(&w->bytes, bytes, sizeof(bytes));
}

/* A number of random width. */
static uint64_t any_number(struct writer *w)
{
    return bir_random_next(&w->random) >> below(w, 64);
}

static json_t *put_nat(struct writer *w, uint64_t value)
{
    put_head(w, 0, value, true);
    return klr_tree_nat(value);
}

static json_t *put_int(struct writer *w, int64_t value)
{
    put_head(w, value < 0 ? 1 : 0, value < 0 ? (uint64_t)(-1 - value) : (uint64_t)value, true);
    return json_integer(value);
}

static json_t *put_float(struct writer *w)
{
    char text[16];
    uint32_t bits = (uint32_t)bir_random_next(&w->random);
    bir_buf_putc(&w->bytes, (char)0xfa);
    for (int shift = 24; shift >= 0; shift -= 8)
        bir_buf_putc(&w->bytes, (char)(bits >> shift));
    snprintf(text, sizeof(text), "%08" PRIx32, bits);
    return json_string(text);
}

static json_t *put_text(struct writer *w, const char *text, size_t len)
{
    put_head(w, 3, len, true);
    bir_buf_put(&w->bytes, text, len);
    return json_stringn(text, len);
}

static json_t *put_string(struct writer *w)
{
    static const char *const pieces[] = { "a", "inst.1", "", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "~/" };
    char text[1024];
    size_t len = 0;
    for (uint64_t n = below(w, 20) == 0 ? 150 : below(w, 4); n > 0; n--) {
        const char *piece = pieces[below(w, sizeof(pieces) / sizeof(pieces[0]))];
        memcpy(text + len, piece, strlen(piece));
        len += strlen(piece);
    }
    return put_text(w, text, len);
}

static json_t *put_typed(struct writer *w, const char *type);

/* A value of a field type as the table spells it; items: elements of a list, or -1 for any number. */
static json_t *put_value(struct writer *w, const char *type, int items)
{
    char inner[64];
    const char *open = strchr(type, '<');
    if (!open)
        return put_typed(w, type);
    snprintf(inner, sizeof(inner), "%.*s", (int)(strlen(open) - 2), open + 1);
    if (strncmp(type, "Option", 6) == 0) {
        bool some = below(w, 2) && !(strcmp(inner, "Access") == 0 && w->nesting > 3);
        put_shape(w, 255, some, some);
        return some ? put_value(w, inner, -1) : json_null();
    }
    json_t *list = json_array();
    uint64_t count = items >= 0 ? (uint64_t)items : below(w, 4);
    put_head(w, 4, count, true);
    while (count-- > 0)
        json_array_append_new(list, put_value(w, inner, -1));
    return list;
}

static void put_proof(struct writer *w)
{
    if (w->proofs)
        bir_buf_putc(&w->bytes, (char)0x80);
}

/* Tensors hold together: sizes multiply to freeElements and fit the address. *rank may be NULL. */
static json_t *put_tensor(struct writer *w, int *rank)
{
    uint64_t dims = below(w, 4), elems = 1, par_dim = below(w, 200);
    json_t *free_dims = json_array(), *tensor = json_object(), *address = json_object();
    put_shape(w, 114, 0, 8);
    json_object_set_new(tensor, "name", put_string(w));
    json_object_set_new(tensor, "dtype", put_typed(w, "Dtype"));
    put_shape(w, 112, 0, 2);
    json_t *par = put_nat(w, par_dim);
    put_head(w, 4, dims, true);
    for (uint64_t i = 0; i < dims; i++) {
        uint64_t dim = below(w, 40);
        elems *= dim;
        json_array_append_new(free_dims, put_nat(w, dim));
    }
    json_object_set_new(tensor, "shape", json_pack("{s:o,s:o}", "parDim", par, "freeDims", free_dims));
    put_shape(w, 113, 0, 7);
    json_object_set_new(address, "name", put_string(w));
    json_object_set_new(address, "memory", put_typed(w, "Memory"));
    json_object_set_new(address, "parSize", put_nat(w, par_dim + below(w, 3)));
    json_object_set_new(address, "freeSize", put_nat(w, elems * 8 + below(w, 1u << 20)));
    json_object_set_new(address, "parOffset", put_value(w, "Option<Nat>", -1));
    json_object_set_new(address, "freeOffset", put_value(w, "Option<Nat>", -1));
    json_object_set_new(address, "isShared", put_typed(w, "Bool"));
    json_object_set_new(tensor, "address", address);
    json_object_set_new(tensor, "freeElements", put_nat(w, elems));
    put_proof(w);
    put_proof(w);
    json_object_set_new(tensor, "addressRotation", put_typed(w, "Bool"));
    if (rank)
        *rank = 1 + (int)dims;
    return tensor;
}

static json_t *put_basic(struct writer *w)
{
    int rank;
    put_shape(w, 118, 0, 3);
    json_t *tensor = put_tensor(w, &rank);
    json_t *indexes = put_value(w, "List<Index>", rank);
    put_proof(w);
    return json_pack("{s:o,s:o}", "tensor", tensor, "indexes", indexes);
}

static json_t *put_slice(struct writer *w)
{
    put_shape(w, 115, 0, 4);
    json_t *l = put_nat(w, any_number(w)), *u = put_nat(w, any_number(w));
    int64_t step = (int64_t)bir_random_next(&w->random);
    json_t *slice = json_pack("{s:o,s:o,s:o}", "l", l, "u", u, "step", put_int(w, step ? step : 1));
    put_proof(w);
    return slice;
}

/* First row of a random constructor of a type; the rows of a type follow one another. */
static size_t pick_ctor(struct writer *w, const char *type)
{
    size_t first = 0, end;
    while (first < tsv.count && strcmp(tsv.rows[first].type, type) != 0)
        first++;
    ck_assert_msg(first < tsv.count, "no type %s", type);
    for (end = first; end < tsv.count && strcmp(tsv.rows[end].type, type) == 0;)
        end++;
    bool shallow = w->nesting > 3 && strcmp(type, "Access") == 0; /* the first arm, simple, ends the recursion */
    size_t row = shallow ? first : first + below(w, end - first);
    while (row > first && tsv.rows[row - 1].ctor == tsv.rows[row].ctor)
        row--;
    return row;
}

static json_t *put_ctor(struct writer *w, const char *type)
{
    size_t row = pick_ctor(w, type);
    const struct tsv_row *ctor = &tsv.rows[row];
    put_shape(w, (unsigned)ctor->tag, (unsigned)ctor->ctor, (unsigned)ctor->count);
    json_t *members = json_object();
    for (long i = 0; i < ctor->count; i++)
        json_object_set_new(members, ctor[i].field, put_value(w, ctor[i].field_type, -1));
    for (long i = 0; i < (ctor->count ? ctor->count : 1); i++)
        used[row + (size_t)i] = true;
    if (strcmp(ctor->kind, "structure") == 0)
        return members;
    if (ctor->count > 0)
        return json_pack("{s:o}", ctor->ctor_name, members);
    json_decref(members);
    return json_string(ctor->ctor_name);
}

static json_t *put_access(struct writer *w)
{
    w->nesting++;
    json_t *access = put_ctor(w, "Access");
    w->nesting--;
    return access;
}

static json_t *put_typed(struct writer *w, const char *type)
{
    if (strcmp(type, "Nat") == 0)
        return put_nat(w, any_number(w));
    if (strcmp(type, "Int") == 0)
        return put_int(w, (int64_t)(below(w, 2) ? any_number(w) : ~any_number(w)));
    if (strcmp(type, "Int32") == 0)
        return put_int(w, (int32_t)bir_random_next(&w->random) >> below(w, 32));
    if (strcmp(type, "Float32") == 0)
        return put_float(w);
    if (strcmp(type, "String") == 0)
        return put_string(w);
    if (strcmp(type, "TensorName") == 0)
        return put_tensor(w, NULL);
    if (strcmp(type, "AccessBasic") == 0)
        return put_basic(w);
    if (strcmp(type, "Slice") == 0)
        return put_slice(w);
    if (strcmp(type, "Access") == 0)
        return put_access(w);
    if (strcmp(type, "Bool") == 0) {
        bool value = below(w, 2) != 0;
        bir_buf_putc(&w->bytes, (char)(value ? 0xf5 : 0xf4));
        return json_boolean(value);
    }
    return put_ctor(w, type);
}

static json_t *put_file(struct writer *w)
{
    static const char mark[] = "\xd9\xd9\xf7\x83\x00\x00\x0c\xd9\xeb\x00\x81\x63NKI";
    bool lnc = below(w, 4) != 0;
    bir_buf_put(&w->bytes, mark, sizeof(mark) - 1);
    put_shape(w, 236, lnc ? 3 : 2, 1);
    return json_pack("{s:{s:o}}", lnc ? "lnc" : "kernel", "kernel", put_typed(w, lnc ? "LncKernel" : "Kernel"));
}

static void check_round_trip(uint64_t seed)
{
    struct writer w = { .random = seed, .proofs = seed % 2 };
    struct bir_arena arena;
    struct bir_strtab strings;
    struct bir_diags diags;
    struct klr_file file;
    bir_buf_init(&w.bytes, 0);
    json_t *expected = put_file(&w);
    ck_assert_int_eq(w.bytes.status, BIR_OK);
    bir_arena_init(&arena, 0);
    bir_strtab_init(&strings, &arena);
    bir_diags_init(&diags, &arena, 5);
    enum bir_status status = klr_read(w.bytes.data, w.bytes.len, NULL, &strings, &arena, &diags, &file);
    ck_assert_msg(status == BIR_OK, "seed %" PRIu64 ": @%lld %s", seed, (long long)diags.first->offset,
                  diags.first->message);
    json_t *tree = klr_tree_file(&file, true);
    ck_assert_msg(json_equal(tree, expected), "seed %" PRIu64 " reads back differently", seed);
    if (file.dialect != KLR_DIALECT_UNDECIDED)
        ck_assert_int_eq(file.dialect, w.proofs ? KLR_DIALECT_CPP : KLR_DIALECT_LEAN);
    json_decref(tree);
    json_decref(expected);
    bir_arena_deinit(&arena);
    bir_buf_deinit(&w.bytes);
}

/* Types that other content kinds or nothing holds. */
static bool row_is_out_of_reach(const struct tsv_row *row)
{
    static const char *const types[] = { "ActivationImm", "MatmulGroupElement", "KLRFile",
                                         "KLRMetaData",   "Contents",           "Shape",
                                         "Address",       "TensorName",         "Slice",
                                         "AccessBasic" }; /* last 5: by hand */
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(row->type, types[i]) == 0)
            return true;
    }
    return false;
}

START_TEST(random_kernels_read_back_equal)
{
    tsv_load(&tsv);
    for (uint64_t seed = 1; seed <= 1500; seed++)
        check_round_trip(seed);
    for (size_t row = 0; row < tsv.count; row++)
        ck_assert_msg(used[row] || row_is_out_of_reach(&tsv.rows[row]), "%s.%s was never written", tsv.rows[row].type,
                      tsv.rows[row].ctor_name);
    free(tsv.text);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { random_kernels_read_back_equal };
    return UNIT_RUN("klr_random", tests);
}
