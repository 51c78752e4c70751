/*
 * The text is scanned leniently from its start: tokens and nesting are all that counts, and scanning stops at the token
 * that reaches the offset, so whatever follows may be broken. One frame a level remembers where the current member is:
 * its key's place in the text, or its index. A frame is `active` from the first byte of the member's key (of the
 * element, in an array) to the last byte of its value; between members the innermost value is the container itself.
 *
 * Levels beyond MAX_FRAMES are only counted, and stand for the value at that depth, so hostile nesting costs no memory.
 *
 * A token changes nothing but the place in the text and the innermost frame until the scan goes on behind it. So both
 * are put back once the token that holds a target is found, and the search for a later target goes on from there: any
 * number of places in ascending order costs one scan.
 */
#include "base/json_reader.h"

#include "base/json_scan.h"
#include "base/utf8.h"
#include "base/vec.h"

#define MAX_FRAMES BIR_JSON_DEPTH_BOUND

struct frame {
    const char *key; /* behind the quote; NULL in an array */
    size_t key_len;
    uint64_t index;
    bool is_object;
    bool active;
    bool expects_value; /* the next string of an object is a value, not a key */
};

struct bir_json_locator {
    const char *start, *p, *end, *target;
    const char *token;         /* where the token at hand begins */
    struct frame before_token; /* the innermost frame there */
    BIR_VEC(struct frame) frames;
    uint64_t beyond; /* levels that have no frame */
    struct bir_arena *arena;
};

static struct frame *innermost(struct bir_json_locator *s)
{
    return s->frames.count > 0 && s->beyond == 0 ? &s->frames.items[s->frames.count - 1] : NULL;
}

static void value_begins(struct bir_json_locator *s)
{
    struct frame *frame = innermost(s);
    if (frame && !frame->is_object)
        frame->active = true;
}

static void value_ends(struct bir_json_locator *s)
{
    struct frame *frame = innermost(s);
    if (frame)
        frame->active = false;
}

static bool open_container(struct bir_json_locator *s)
{
    if (s->p == s->target)
        return true;
    if (s->frames.count >= MAX_FRAMES) {
        s->beyond++;
        return true;
    }
    struct frame frame = { .is_object = *s->p == '{' };
    return bir_vec_push(s->arena, &s->frames, frame);
}

static void close_container(struct bir_json_locator *s)
{
    struct frame *frame = innermost(s);
    if (frame)
        frame->active = false;
    if (s->p == s->target)
        return;
    if (s->beyond > 0)
        s->beyond--;
    else if (s->frames.count > 0)
        s->frames.count--;
    value_ends(s);
}

static void next_member(struct bir_json_locator *s)
{
    struct frame *frame = innermost(s);
    if (!frame)
        return;
    frame->active = false;
    frame->expects_value = false;
    frame->index++;
}

/* The closing quote of the string whose text starts at p, or the end of the text. */
static const char *string_end(const char *p, const char *end)
{
    while (p < end && *p != '"')
        p += *p == '\\' && end - p > 1 ? 2 : 1;
    return p;
}

/* A string from its opening quote at s->p; true when it reaches the target or is not closed. */
static bool pass_string(struct bir_json_locator *s)
{
    const char *text = s->p + 1;
    const char *close = string_end(text, s->end);
    struct frame *frame = innermost(s);
    bool is_key = frame && frame->is_object && !frame->expects_value;
    if (is_key) {
        frame->key = text;
        frame->key_len = (size_t)(close - text);
        frame->active = true;
        frame->expects_value = true;
    }
    s->p = close < s->end ? close + 1 : close;
    if (s->target < s->p || close == s->end)
        return true;
    if (!is_key)
        value_ends(s);
    return false;
}

/* A number, a literal or rubbish; true when it reaches the target. */
static bool pass_scalar(struct bir_json_locator *s)
{
    while (s->p < s->end && !bir_json_is_space(*s->p) && !memchr("{}[],:\"", *s->p, 7))
        s->p++;
    if (s->target < s->p)
        return true;
    value_ends(s);
    return false;
}

/* Remembers the place before a token, and returns to it. */
static void note_token(struct bir_json_locator *s)
{
    const struct frame *frame = innermost(s);
    s->token = s->p;
    if (frame)
        s->before_token = *frame;
}

static void go_back(struct bir_json_locator *s)
{
    struct frame *frame = innermost(s);
    s->p = s->token;
    if (frame)
        *frame = s->before_token;
}

/* Moves to the token that holds the target; false on allocation failure. */
static bool search_target(struct bir_json_locator *s)
{
    bool found = false;
    while (!found) {
        s->p = bir_json_scan_space(s->p, s->end);
        note_token(s);
        if (s->p >= s->end || s->p > s->target)
            return true;
        char c = *s->p;
        bool starts_value = c != ',' && c != ':' && c != '}' && c != ']';
        if (starts_value)
            value_begins(s);
        if (c == '"') {
            found = pass_string(s);
        } else if (starts_value && c != '{' && c != '[') {
            found = pass_scalar(s);
        } else {
            if (c == '{' || c == '[') {
                if (!open_container(s))
                    return false;
            } else if (c == '}' || c == ']') {
                close_container(s);
            } else if (c == ',') {
                next_member(s);
            }
            found = s->p++ == s->target;
        }
    }
    return true;
}

/* Longest output of one source character: "\u0000" for NUL, which no C string can hold. */
#define TOKEN_CHAR_MAX 6

/* The source character at p as part of a reference token; gives the bytes written. */
static size_t put_token_char(const struct bir_json_char *c, char out[TOKEN_CHAR_MAX])
{
    const char *text = c->bytes;
    size_t len = c->byte_count;
    if (len == 1) {
        switch (c->bytes[0]) {
        case '~': text = "~0", len = 2; break;
        case '/': text = "~1", len = 2; break;
        case '\0': text = "\\u0000", len = 6; break;
        default: break;
        }
    }
    memcpy(out, text, len);
    return len;
}

/* The key as a reference token into out, or only its length when out is NULL. Malformed UTF-8 becomes U+FFFD. */
static size_t put_key(const struct frame *frame, char *out)
{
    const char *p = frame->key;
    const char *end = p + frame->key_len;
    size_t total = 0;
    while (p < end) {
        struct bir_json_char c = bir_json_next_char(p, end);
        if (c.source_count == 1 && (unsigned char)*p >= 0x80) {
            size_t length = bir_utf8_sequence(p, (size_t)(end - p));
            memcpy(c.bytes, length ? p : "\xEF\xBF\xBD", length ? length : 3);
            c.byte_count = (uint8_t)(length ? length : 3);
            c.source_count = (uint8_t)(length ? length : 1);
        }
        char token[TOKEN_CHAR_MAX];
        size_t len = put_token_char(&c, token);
        if (out)
            memcpy(out + total, token, len);
        total += len;
        p += c.source_count;
    }
    return total;
}

static size_t put_index(uint64_t index, char *out)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + index % 10);
        index /= 10;
    } while (index != 0);
    for (size_t i = 0; out && i < count; i++)
        out[i] = digits[count - 1 - i];
    return count;
}

/* The path of the active frames into out, or only its length when out is NULL. */
static size_t put_path(const struct bir_json_locator *s, char *out)
{
    size_t total = 0;
    for (uint32_t i = 0; i < s->frames.count; i++) {
        const struct frame *frame = &s->frames.items[i];
        if (!frame->active)
            break;
        if (out)
            out[total] = '/';
        total++;
        char *rest = out ? out + total : NULL;
        total += frame->is_object ? put_key(frame, rest) : put_index(frame->index, rest);
    }
    return total;
}

struct bir_json_locator *bir_json_locator_new(const char *text, size_t len, struct bir_arena *arena)
{
    struct bir_json_locator *s = BIR_NEW(arena, BIR_MEM_OTHER, struct bir_json_locator);
    if (!s)
        return NULL;
    s->start = s->token = s->p = len > 0 ? text : "";
    s->end = s->start + len;
    s->arena = arena;
    return s;
}

const char *bir_json_locator_pointer(struct bir_json_locator *s, size_t offset)
{
    size_t len = (size_t)(s->end - s->start);
    s->target = s->start + (offset < len ? offset : len);
    if (!search_target(s))
        return NULL;
    char *path = bir_arena_alloc(s->arena, BIR_MEM_STRINGS, put_path(s, NULL) + 1);
    if (path)
        (void)put_path(s, path);
    go_back(s);
    return path;
}

const char *bir_json_pointer_at(const char *text, size_t len, size_t offset, struct bir_arena *arena)
{
    struct bir_json_locator *locator = bir_json_locator_new(text, len, arena);
    return locator ? bir_json_locator_pointer(locator, offset) : NULL;
}

void bir_text_line_column(const char *text, size_t len, size_t offset, uint32_t *line, uint32_t *column)
{
    if (offset > len)
        offset = len;
    size_t newlines = 0;
    size_t start = 0;
    while (start < offset) {
        const char *newline = memchr(text + start, '\n', offset - start);
        if (!newline)
            break;
        newlines++;
        start = (size_t)(newline - text) + 1;
    }
    size_t columns = offset - start;
    *line = newlines < UINT32_MAX ? (uint32_t)newlines + 1 : UINT32_MAX;
    *column = columns < UINT32_MAX ? (uint32_t)columns + 1 : UINT32_MAX;
}
