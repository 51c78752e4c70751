/*
 * Primitive values. All but Strings come here only when they are skipped or the short way (quick.h) did not know their
 * head: libcbor looks, and what is not as the schema asks for is a fault at r->pos.
 *
 * Strings are interned. As file names, and the names that a tensor and its address share, come again and again, the
 * last string of each length (modulo KLR_RECENT) is compared before anything is checked or hashed.
 */
#include "klr/primitive.h"

#include "base/json_reader.h"
#include "klr/quick.h"

enum { PROOF = 0x80 /* in the dialect that writes them */ };

static void head_here(const struct klr_reader *r, struct klr_head *head)
{
    klr_head_read(r->bytes + r->pos, r->len - r->pos, head);
}

enum bir_status klr_read_nat(struct klr_reader *r, union klr_slot *slot)
{
    struct klr_head head;
    char digits[KLR_NEGATIVE_BYTES];
    head_here(r, &head);
    if (head.kind == KLR_HEAD_NEGINT)
        return klr_fault(r, "klr-int-range", r->pos, "the file is damaged", "a Nat is at least 0, found %s",
                         klr_negative_words(head.value, digits));
    if (head.kind != KLR_HEAD_UINT)
        return klr_fault_head(r, KLR_TYPE_Nat, 0, &head);
    r->pos += head.size;
    if (slot)
        slot->nat = head.value;
    return BIR_OK;
}

enum bir_status klr_read_integer(struct klr_reader *r, enum klr_type type, uint64_t max, union klr_slot *slot)
{
    struct klr_head head;
    char digits[KLR_NEGATIVE_BYTES];
    head_here(r, &head);
    bool negative = head.kind == KLR_HEAD_NEGINT;
    if (!negative && head.kind != KLR_HEAD_UINT)
        return klr_fault_head(r, type, 0, &head);
    if (head.value > max && negative)
        return klr_fault(r, "klr-int-range", r->pos, NULL, "%s is at least %lld, found %s", klr_types[type].name,
                         -1 - (long long)max, klr_negative_words(head.value, digits));
    if (head.value > max)
        return klr_fault(r, "klr-int-range", r->pos, NULL, "%s is at most %llu, found %llu", klr_types[type].name,
                         (unsigned long long)max, (unsigned long long)head.value);
    r->pos += head.size;
    if (slot)
        slot->integer = negative ? -1 - (int64_t)head.value : (int64_t)head.value;
    return BIR_OK;
}

enum bir_status klr_read_float32(struct klr_reader *r, union klr_slot *slot)
{
    struct klr_head head;
    head_here(r, &head);
    if (head.kind != KLR_HEAD_FLOAT32)
        return klr_fault_head(r, KLR_TYPE_Float32, 0, &head);
    r->pos += head.size;
    if (slot)
        slot->float_bits = (uint32_t)head.value;
    return BIR_OK;
}

enum bir_status klr_read_bool(struct klr_reader *r, union klr_slot *slot)
{
    struct klr_head head;
    head_here(r, &head);
    if (head.kind != KLR_HEAD_BOOL)
        return klr_fault_head(r, KLR_TYPE_Bool, 0, &head);
    r->pos += head.size;
    if (slot)
        slot->boolean = head.value != 0;
    return BIR_OK;
}

static inline bool is_ascii(const char *text, size_t len)
{
    uint64_t word, all = 0;
    if (len < sizeof(word)) {
        for (size_t i = 0; i < len; i++)
            all |= (uint8_t)text[i];
        return all < 0x80;
    }
    for (size_t at = 0; at < len - sizeof(word); at += sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        all |= word;
    }
    memcpy(&word, text + len - sizeof(word), sizeof(word));
    return ((all | word) & UINT64_C(0x8080808080808080)) == 0;
}

/* The text of a String, whose head has been read and whose bytes are there. */
static KLR_HOT enum bir_status read_text(struct klr_reader *r, size_t len, union klr_slot *slot)
{
    const char *text = (const char *)r->bytes + r->pos;
    const struct bir_str **recent = &r->recent[len % KLR_RECENT];
    if (slot && *recent && (*recent)->len == len && memcmp((*recent)->text, text, len) == 0) {
        r->pos += len;
        slot->string = *recent;
        return BIR_OK;
    }
    size_t bad;
    if (!is_ascii(text, len) && !bir_utf8_valid(text, len, &bad))
        return klr_fault(r, "klr-not-utf8", r->pos + bad, "the file is damaged",
                         "byte 0x%02x at position %zu of a String of %llu bytes begins no UTF-8 character",
                         (uint8_t)text[bad], bad, (unsigned long long)len);
    r->pos += len;
    if (!slot)
        return BIR_OK;
    slot->string = *recent = bir_intern(r->strings, text, len);
    return slot->string ? BIR_OK : klr_fault_memory(r, r->strings->arena);
}

static KLR_COLD enum bir_status read_any_string(struct klr_reader *r, union klr_slot *slot)
{
    struct klr_head head;
    head_here(r, &head);
    if ((head.kind == KLR_HEAD_TEXT || head.cut_text) && head.value > r->limits.max_string_bytes)
        return klr_fault_limit(r, "klr-string-limit", r->pos, "the length is wrong, or the limit has to be raised",
                               "a String of %llu bytes is announced, the limit is %llu", (unsigned long long)head.value,
                               (unsigned long long)r->limits.max_string_bytes);
    if (head.kind != KLR_HEAD_TEXT)
        return klr_fault_head(r, KLR_TYPE_String, 0, &head);
    r->pos += head.size;
    return read_text(r, (size_t)head.value, slot);
}

enum bir_status klr_read_string(struct klr_reader *r, union klr_slot *slot)
{
    uint64_t len;
    size_t left = r->len - r->pos;
    uint32_t size = klr_head_quick(r->bytes + r->pos, left, KLR_MAJOR_TEXT, &len);
    if (size == 0 || len > left - size || len > r->limits.max_string_bytes)
        return read_any_string(r, slot);
    r->pos += size;
    return read_text(r, (size_t)len, slot);
}

/* A proof field: nothing in one dialect, an empty list in the other. The first one of a file is TensorName's, which is
 * followed by a Bool, so that it tells which (klr-format.md 3). Slice and AccessBasic end with theirs and cannot tell.
 */
enum bir_status klr_read_proof(struct klr_reader *r)
{
    bool before_bool = r->steps.items[r->steps.count - 1].type == KLR_TYPE_TensorName;
    bool written = r->pos < r->len && r->bytes[r->pos] == PROOF;
    if (r->dialect == KLR_DIALECT_UNDECIDED)
        r->dialect = written ? KLR_DIALECT_CPP : KLR_DIALECT_LEAN;
    if (r->dialect == KLR_DIALECT_LEAN && !(before_bool && written))
        return BIR_OK;
    if (r->dialect == KLR_DIALECT_CPP && written) {
        r->pos++;
        return BIR_OK;
    }
    struct klr_head head;
    head_here(r, &head);
    if (head.kind == KLR_HEAD_CUT)
        return klr_fault_head(r, KLR_TYPE_Prop, 0, &head);
    return klr_fault(r, "klr-mixed-dialect", r->pos, "a writer leaves proofs out everywhere or nowhere",
                     "the first tensor of the file has %s for its proofs, here is byte 0x%02x",
                     r->dialect == KLR_DIALECT_LEAN ? "no bytes" : "0x80", r->bytes[r->pos]);
}
