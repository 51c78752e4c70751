/*
 * Messages of the decoder: what was expected (type, tag, field count), what was found, and the trail of types down to
 * the place, cut in the middle when deep. Everything variable goes through fixed buffers or the scratch arena; when
 * that is exhausted the message is shorter, never missing.
 */
#include "klr/reader.h"

#include <stdio.h>

#include "klr/revision.h"

enum { WORDS_BYTES = 160, TRAIL_ENDS = 6 };

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* "LncKernel.bodies" or, for a sum of several arms, "Operator.tensorTensor". */
static const char *step_owner_member(const struct klr_step *step)
{
    const struct klr_arm *arm = klr_arm_find(step->type, step->ctor);
    return klr_types[step->type].arm_count > 1 ? arm->name : step->field->name;
}

static bool step_in_trail(const struct klr_step *step)
{
    return !step->is_position && step->type != KLR_TYPE_Contents;
}

/* Where the reader is, "; while reading A.b > C.d", or "" at the top. NULL when memory is short. */
static const char *trail(struct klr_reader *r)
{
    uint32_t members = 0;
    for (uint32_t i = 0; i < r->steps.count; i++)
        members += step_in_trail(&r->steps.items[i]);
    const char *text = "";
    uint32_t index = 0;
    for (uint32_t i = 0; i < r->steps.count && text; i++) {
        const struct klr_step *step = &r->steps.items[i];
        if (!step_in_trail(step))
            continue;
        index++;
        if (index > TRAIL_ENDS && index <= members - TRAIL_ENDS && members > 2 * TRAIL_ENDS) {
            if (index == TRAIL_ENDS + 1)
                text = bir_arena_printf(&r->scratch, "%s > ...", text);
            continue;
        }
        text = bir_arena_printf(&r->scratch, "%s%s%s.%s", text, index == 1 ? "; while reading " : " > ",
                                klr_types[step->type].name, step_owner_member(step));
    }
    return text;
}

/* The message with the trail behind it. */
static const char *message(struct klr_reader *r, const char *fmt, va_list args) BIR_PRINTF(2, 0);
static const char *message(struct klr_reader *r, const char *fmt, va_list args)
{
    const char *text = bir_arena_vprintf(&r->scratch, fmt, args);
    const char *where = trail(r);
    const char *whole = text && where ? bir_arena_printf(&r->scratch, "%s%s", text, where) : text;
    return whole ? whole : "malformed value (no memory left for details)";
}

enum bir_status klr_fault(struct klr_reader *r, const char *code, size_t offset, const char *hint, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = message(r, fmt, args);
    va_end(args);
    return bir_fail(r->diags, code, (int64_t)offset, hint, "%s", text);
}

enum bir_status klr_fault_limit(struct klr_reader *r, const char *code, size_t offset, const char *hint,
                                const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = message(r, fmt, args);
    va_end(args);
    return bir_fail_limit(r->diags, code, (int64_t)offset, hint, "%s", text);
}

enum bir_status klr_fault_memory(struct klr_reader *r, const struct bir_arena *arena)
{
    if (bir_arena_failure(arena) != BIR_LIMIT)
        return BIR_NOMEM;
    return bir_fail_limit(r->diags, "klr-memory", (int64_t)r->pos, "raise the memory limit of a module",
                          "the kernel does not fit in the %zu bytes allowed for a module, %zu of %zu input bytes read",
                          arena->limit_bytes, r->pos, r->len);
}

/* "Nat", "TensorTensor (tag 182) with 6 fields", "Operator (tag 218)", "a list", "an Option (tag 255) of Nat". */
static void expected_words(enum klr_type type, uint8_t wraps, char words[WORDS_BYTES])
{
    const struct klr_type_info *info = &klr_types[type];
    enum klr_wrap outer = KLR_WRAP_OUTER(wraps);
    if (outer == KLR_WRAP_LIST)
        snprintf(words, WORDS_BYTES, "a list of %s%s", KLR_WRAP_INNER(wraps) ? "lists of " : "", info->name);
    else if (outer == KLR_WRAP_OPTION)
        snprintf(words, WORDS_BYTES, "Option (tag 255) of %s%s", KLR_WRAP_INNER(wraps) ? "a list of " : "", info->name);
    else if (info->kind == KLR_KIND_PRIMITIVE)
        snprintf(words, WORDS_BYTES, "%s", info->name);
    else if (info->arm_count > 1)
        snprintf(words, WORDS_BYTES, "%s (tag %u)", info->name, info->tag);
    else
        snprintf(words, WORDS_BYTES, "%s (tag %u) with %u field%s", info->name, info->tag, klr_arms[info->arms].count,
                 plural(klr_arms[info->arms].count));
}

const char *klr_negative_words(uint64_t value, char digits[KLR_NEGATIVE_BYTES])
{
    if (value == UINT64_MAX)
        return "-18446744073709551616";
    snprintf(digits, KLR_NEGATIVE_BYTES, "-%llu", (unsigned long long)value + 1);
    return digits;
}

static void tag_words(const struct klr_head *head, char words[WORDS_BYTES])
{
    enum klr_type other = klr_type_of_tag((uint32_t)(head->value >> 8));
    bool is_option = head->value >> 8 == 255;
    if (head->size != 3)
        snprintf(words, WORDS_BYTES, "CBOR tag %llu in a head of %u bytes, where type tags take 3",
                 (unsigned long long)head->value, head->size);
    else if (is_option || other != KLR_TYPE_COUNT)
        snprintf(words, WORDS_BYTES, "type tag %u (now %s), constructor %u", (unsigned)(head->value >> 8),
                 is_option ? "Option" : klr_types[other].name, (unsigned)(head->value & 0xff));
    else
        snprintf(words, WORDS_BYTES, "type tag %u (no type now), constructor %u", (unsigned)(head->value >> 8),
                 (unsigned)(head->value & 0xff));
}

static void found_words(const struct klr_head *head, char words[WORDS_BYTES])
{
    unsigned long long value = head->value;
    char digits[KLR_NEGATIVE_BYTES];
    switch (head->kind) {
    case KLR_HEAD_UINT: snprintf(words, WORDS_BYTES, "the integer %llu", value); break;
    case KLR_HEAD_NEGINT:
        snprintf(words, WORDS_BYTES, "the integer %s", klr_negative_words(head->value, digits));
        break;
    case KLR_HEAD_TEXT: snprintf(words, WORDS_BYTES, "a text of %llu bytes", value); break;
    case KLR_HEAD_LIST: snprintf(words, WORDS_BYTES, "a list of %llu", value); break;
    case KLR_HEAD_TAG: tag_words(head, words); break;
    case KLR_HEAD_BOOL: snprintf(words, WORDS_BYTES, "%s", value ? "true" : "false"); break;
    case KLR_HEAD_FLOAT32: snprintf(words, WORDS_BYTES, "a 32-bit float"); break;
    case KLR_HEAD_BYTES: snprintf(words, WORDS_BYTES, "a byte string of %llu bytes", value); break;
    case KLR_HEAD_MAP: snprintf(words, WORDS_BYTES, "a map of %llu pairs", value); break;
    case KLR_HEAD_FLOAT16: snprintf(words, WORDS_BYTES, "a 16-bit float"); break;
    case KLR_HEAD_FLOAT64: snprintf(words, WORDS_BYTES, "a 64-bit float"); break;
    case KLR_HEAD_NULL: snprintf(words, WORDS_BYTES, "null"); break;
    case KLR_HEAD_UNDEFINED: snprintf(words, WORDS_BYTES, "undefined"); break;
    case KLR_HEAD_INDEFINITE: snprintf(words, WORDS_BYTES, "a head without a length (0x%02x)", head->first); break;
    case KLR_HEAD_BREAK: snprintf(words, WORDS_BYTES, "a break (0xff)"); break;
    case KLR_HEAD_CUT: snprintf(words, WORDS_BYTES, "the end of the file"); break;
    case KLR_HEAD_RESERVED: snprintf(words, WORDS_BYTES, "the reserved byte 0x%02x", head->first); break;
    }
}

enum bir_status klr_fault_head(struct klr_reader *r, enum klr_type type, uint8_t wraps, const struct klr_head *head)
{
    char expected[WORDS_BYTES], found[WORDS_BYTES];
    size_t left = r->len - r->pos;
    expected_words(type, wraps, expected);
    found_words(head, found);
    if (head->kind == KLR_HEAD_CUT && head->cut_text)
        return klr_fault(r, "klr-truncated", r->pos, "the file is cut short, or the length is wrong",
                         "expected %s: a text of %llu bytes is announced, %zu bytes are left", expected,
                         (unsigned long long)head->value, left - head->size);
    if (head->kind == KLR_HEAD_CUT)
        return klr_fault(r, "klr-truncated", r->pos, "the file is cut short: copy or write it again",
                         "expected %s, found the end of the file after %zu bytes of it", expected, left);
    if (head->kind == KLR_HEAD_RESERVED)
        return klr_fault(r, "klr-bad-head", r->pos, "the file is damaged",
                         "expected %s, found %s, which starts no value", expected, found);
    return klr_fault(r, "klr-wrong-type", r->pos, NULL, "expected %s, found %s", expected, found);
}

enum bir_status klr_fault_tag(struct klr_reader *r, enum klr_type type, const struct klr_head *head)
{
    char expected[WORDS_BYTES], found[WORDS_BYTES];
    if (head->kind != KLR_HEAD_TAG || head->size != 3)
        return klr_fault_head(r, type, 0, head);
    expected_words(type, 0, expected);
    found_words(head, found);
    struct klr_evidence rest = { r->bytes + r->pos, r->len - r->pos };
    const char *hint = klr_revision_of_tag(r->diags->arena, rest, type, (uint32_t)(head->value >> 8));
    return klr_fault(r, "klr-wrong-tag", r->pos, hint, "expected %s, found %s", expected, found);
}

enum bir_status klr_fault_ctor(struct klr_reader *r, enum klr_type type, uint32_t ctor)
{
    const struct klr_type_info *info = &klr_types[type];
    const struct klr_arm *first = &klr_arms[info->arms];
    return klr_fault(r, "klr-unknown-constructor", r->pos,
                     "the file is damaged or written by a newer revision of the format",
                     "%s (tag %u) has constructors %u to %u, found %u", info->name, info->tag, first->ctor,
                     first->ctor + info->arm_count - 1u, ctor);
}

enum bir_status klr_fault_count(struct klr_reader *r, enum klr_type type, const struct klr_arm *arm,
                                const struct klr_head *head)
{
    const struct klr_type_info *info = &klr_types[type];
    const char *dot = info->arm_count > 1 ? "." : "", *arm_name = info->arm_count > 1 ? arm->name : "";
    char found[WORDS_BYTES];
    found_words(head, found);
    if (head->kind != KLR_HEAD_LIST)
        return klr_fault(r, head->kind == KLR_HEAD_CUT ? "klr-truncated" : "klr-field-count", r->pos, NULL,
                         "expected %s%s%s (tag %u) with %u field%s, found %s in place of the count", info->name, dot,
                         arm_name, info->tag, arm->count, plural(arm->count), found);
    if (head->size != 1)
        return klr_fault(r, "klr-field-count", r->pos, "field counts are written in one byte",
                         "expected %s%s%s (tag %u) with %u field%s, found the count %llu in a head of %u bytes",
                         info->name, dot, arm_name, info->tag, arm->count, plural(arm->count),
                         (unsigned long long)head->value, head->size);
    struct klr_evidence rest = { r->bytes + r->pos, r->len - r->pos };
    const char *hint = klr_revision_of_count(r->diags->arena, rest, type, head->value);
    return klr_fault(r, "klr-field-count", r->pos, hint, "expected %s%s%s (tag %u) with %u field%s, found %llu field%s",
                     info->name, dot, arm_name, info->tag, arm->count, plural(arm->count),
                     (unsigned long long)head->value, plural(head->value));
}
