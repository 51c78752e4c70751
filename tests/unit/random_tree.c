/*
 * Printers of two-spelling trees. The canonical one sorts with a plain comparison and formats numbers with the C
 * library, so that it shares no code with what it is compared to.
 */
#include "random_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static void *need(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

struct tree *tree_new(struct bir_arena *arena, enum tree_type type)
{
    struct tree *tree = need(bir_arena_alloc(arena, BIR_MEM_OTHER, sizeof *tree));
    tree->type = type;
    tree->tail = &tree->first;
    return tree;
}

const char *tree_printf(struct bir_arena *arena, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof text)
        abort();
    return need(bir_arena_strndup(arena, text, (size_t)len));
}

struct tree *tree_scalar(struct bir_arena *arena, const char *canonical, const char *spelling)
{
    struct tree *tree = tree_new(arena, TREE_SCALAR);
    tree->text = need(bir_arena_strndup(arena, canonical, strlen(canonical)));
    tree->spelling = need(bir_arena_strndup(arena, spelling, strlen(spelling)));
    return tree;
}

struct tree *tree_text_n(struct bir_arena *arena, const char *text, size_t len)
{
    struct tree *tree = tree_new(arena, TREE_TEXT);
    tree->text = need(bir_arena_strndup(arena, text, len));
    tree->len = len;
    return tree;
}

struct tree *tree_text(struct bir_arena *arena, const char *text)
{
    return tree_text_n(arena, text, strlen(text));
}

struct tree *tree_int(struct bir_arena *arena, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return tree_scalar(arena, text, text);
}

struct tree *tree_bool(struct bir_arena *arena, bool value)
{
    return tree_scalar(arena, value ? "true" : "false", value ? "true" : "false");
}

void tree_format_double(double value, char out[64])
{
    char exact[40], digits[24] = "";
    int precision = 0;
    do
        snprintf(exact, sizeof exact, "%.*e", precision++, value);
    while (strtod(exact, NULL) != value);
    const char *sign = exact[0] == '-' ? "-" : "";
    int count = 0, exponent = atoi(strchr(exact, 'e') + 1);
    for (const char *p = exact; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9')
            digits[count++] = *p;
    digits[count] = '\0';
    int point = exponent + 1; /* digits before the decimal point */
    if (value == 0)
        snprintf(out, 64, "%s0.0", sign);
    else if (count <= point && point <= 15)
        snprintf(out, 64, "%s%s%.*s.0", sign, digits, point - count, "000000000000000");
    else if (point > 0 && point <= 15)
        snprintf(out, 64, "%s%.*s.%s", sign, point, digits, digits + point);
    else if (point > -4 && point <= 0)
        snprintf(out, 64, "%s0.%.*s%s", sign, -point, "0000", digits);
    else
        snprintf(out, 64, "%s%c%s%se%c%02d", sign, digits[0], count > 1 ? "." : "", digits + 1,
                 exponent < 0 ? '-' : '+', abs(exponent));
}

struct tree *tree_double(struct bir_arena *arena, double value, uint64_t *random)
{
    char canonical[64], spelling[80];
    tree_format_double(value, canonical);
    switch (bir_random_below(random, 4)) {
    case 0: snprintf(spelling, sizeof spelling, "%.17e", value); break;
    case 1: snprintf(spelling, sizeof spelling, "%.16E", value); break;
    default: snprintf(spelling, sizeof spelling, "%s", canonical); break;
    }
    return tree_scalar(arena, canonical, spelling);
}

static struct tree_member *append(struct bir_arena *arena, struct tree *container, struct tree *value)
{
    struct tree_member *member = need(bir_arena_alloc(arena, BIR_MEM_OTHER, sizeof *member));
    member->value = value;
    member->where = TREE_BOTH;
    *container->tail = member;
    container->tail = &member->next;
    container->count++;
    return member;
}

void tree_put(struct bir_arena *arena, struct tree *object, unsigned where, const char *key, struct tree *value)
{
    struct tree_member *member = append(arena, object, value);
    member->key = key;
    member->where = where;
}

void tree_add(struct bir_arena *arena, struct tree *array, struct tree *value)
{
    append(arena, array, value);
}

struct tree_member *tree_find(const struct tree *object, const char *key)
{
    struct tree_member *member = object->first;
    while (member && strcmp(member->key, key) != 0)
        member = member->next;
    return member;
}

/* Printing */

struct printer {
    struct bir_buf *out;
    uint32_t indent, depth; /* canonical */
    bool canonical;
    struct tree_style style;
};

static void put_escape(struct bir_buf *out, unsigned code, bool upper)
{
    bir_buf_printf(out, upper ? "\\u%04X" : "\\u%04x", code);
}

static const char *short_escape(unsigned char c)
{
    static const char *const escapes[256] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"
    };
    return escapes[c];
}

static void put_canonical_text(struct bir_buf *out, const char *text, size_t len)
{
    bir_buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (short_escape(c))
            bir_buf_puts(out, short_escape(c));
        else if (c < 0x20)
            put_escape(out, c, false);
        else
            bir_buf_putc(out, text[i]);
    }
    bir_buf_putc(out, '"');
}

/* Code point at text[*i], which steps to its last byte. The bytes are valid UTF-8. */
static unsigned code_point(const char *text, size_t *i)
{
    unsigned c = (unsigned char)text[*i];
    unsigned more = c < 0x80 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    unsigned code = more == 0 ? c : c & (0x3Fu >> more);
    while (more-- > 0)
        code = code << 6 | ((unsigned char)text[++*i] & 0x3F);
    return code;
}

static void put_input_text(struct printer *p, const char *text, size_t len)
{
    uint64_t *order = &p->style.order;
    bool odd = bir_random_below(order, 4) == 0; /* escapes a writer would not choose */
    bir_buf_putc(p->out, '"');
    for (size_t i = 0; i < len; i++) {
        size_t start = i;
        unsigned char c = (unsigned char)text[i];
        unsigned code = code_point(text, &i);
        bool upper = bir_random_below(order, 2);
        bool escape = odd && bir_random_below(order, 3) == 0;
        if (escape && code > 0xFFFF) {
            put_escape(p->out, 0xD800 + ((code - 0x10000) >> 10), upper);
            put_escape(p->out, 0xDC00 + ((code - 0x10000) & 0x3FF), upper);
        } else if (escape || (c < 0x20 && !short_escape(c))) {
            put_escape(p->out, code, upper);
        } else if (short_escape(c)) {
            bir_buf_puts(p->out, short_escape(c));
        } else {
            bir_buf_puts(p->out, odd && c == '/' ? "\\" : "");
            bir_buf_put(p->out, text + start, i + 1 - start);
        }
    }
    bir_buf_putc(p->out, '"');
}

static void put_space(struct printer *p)
{
    static const char *const spaces[] = { "", "", "", " ", "\n", "\t", "\r\n  ", "    " };
    if (p->style.space)
        bir_buf_puts(p->out, spaces[bir_random_below(&p->style.space, sizeof spaces / sizeof *spaces)]);
}

static void put_line(struct printer *p)
{
    if (p->canonical && p->indent > 0) {
        bir_buf_putc(p->out, '\n');
        for (uint32_t i = 0; i < p->indent * p->depth; i++)
            bir_buf_putc(p->out, ' ');
    }
    if (!p->canonical)
        put_space(p);
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const struct tree_member *const *)a)->key, (*(const struct tree_member *const *)b)->key);
}

static void print(struct printer *p, const struct tree *tree);

static void put_key(struct printer *p, const char *key)
{
    if (p->canonical) {
        put_canonical_text(p->out, key, strlen(key));
        bir_buf_puts(p->out, p->indent > 0 ? ": " : ":");
        return;
    }
    put_input_text(p, key, strlen(key));
    put_space(p);
    bir_buf_putc(p->out, ':');
    put_space(p);
}

static void print_members(struct printer *p, const struct tree_member *const *members, uint32_t count, bool keys)
{
    bir_buf_putc(p->out, keys ? '{' : '[');
    p->depth++;
    for (uint32_t i = 0; i < count; i++) {
        bir_buf_puts(p->out, i > 0 ? "," : "");
        put_line(p);
        if (keys)
            put_key(p, members[i]->key);
        print(p, members[i]->value);
    }
    p->depth--;
    if (count > 0)
        put_line(p);
    bir_buf_putc(p->out, keys ? '}' : ']');
}

static void print_container(struct printer *p, const struct tree *tree)
{
    bool keys = tree->type == TREE_OBJECT;
    const struct tree_member **members = need(calloc(tree->count + 1, sizeof(*members)));
    uint32_t count = 0;
    for (const struct tree_member *m = tree->first; m; m = m->next)
        if (m->where & (p->canonical ? TREE_OUT : TREE_IN))
            members[count++] = m;
    if (keys && (p->canonical || p->style.sorted))
        qsort(members, count, sizeof(*members), by_key);
    for (uint32_t i = count; keys && !p->canonical && !p->style.sorted && i > 1; i--) {
        uint64_t j = bir_random_below(&p->style.order, i);
        const struct tree_member *m = members[i - 1];
        members[i - 1] = members[j];
        members[j] = m;
    }
    print_members(p, members, count, keys);
    free(members);
}

static void print(struct printer *p, const struct tree *tree)
{
    if (p->canonical && tree->canonical)
        tree = tree->canonical;
    switch (tree->type) {
    case TREE_SCALAR: bir_buf_puts(p->out, p->canonical ? tree->text : tree->spelling); break;
    case TREE_TEXT:
        if (p->canonical)
            put_canonical_text(p->out, tree->text, tree->len);
        else
            put_input_text(p, tree->text, tree->len);
        break;
    case TREE_ARRAY:
    case TREE_OBJECT: print_container(p, tree); break;
    }
}

void tree_print_canonical(const struct tree *tree, uint32_t indent, struct bir_buf *out)
{
    struct printer p = { .out = out, .indent = indent, .canonical = true };
    print(&p, tree);
}

void tree_print_input(const struct tree *tree, struct tree_style style, struct bir_buf *out)
{
    struct printer p = { .out = out, .style = style };
    put_space(&p);
    print(&p, tree);
    put_space(&p);
}
