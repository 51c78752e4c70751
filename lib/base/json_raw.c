/*
 * Re-layout of JSON text. As it is, spellings of numbers, strings and keys pass through: one pass over the tokens with
 * no memory of its own. Canonical, scalars are spelled as the writer would, and where there are objects the text becomes a tree of nodes (an
 * array, in the order of the text, linked by index), the members of each object are relinked in key order, and the tree
 * is written; all three steps are loops and linear but for the sort itself. Keys compare by their meaning, so an
 * escaped spelling sorts like the plain one; equal keys keep their order.
 *
 * The caller promises valid JSON; text that breaks the promise makes the buffer fail with BIR_INTERNAL.
 */
#include "base/json_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"

/* A token of the text; a key's token takes its colon in. */
struct token {
    const char *text;
    size_t len;
    bool escaped; /* a string with escapes */
    char kind;    /* '{' '}' '[' ']', 'k' key, 's' scalar */
};

static void fail(struct bir_json_writer *w, enum bir_status status)
{
    if (w->buf->status == BIR_OK)
        w->buf->status = status;
}

/* Commas are passed over: the writer sets them anew. */
static const char *next_token(const char *p, const char *end, struct token *token)
{
    struct bir_json_fault fault;
    struct bir_json_decimal decimal;
    while (p < end && (bir_json_is_space(*p) || *p == ','))
        p++;
    if (p == end)
        return NULL;
    *token = (struct token){ .text = p, .len = 1, .kind = *p };
    if (memchr("{}[]", *p, 4))
        return p + 1;
    token->kind = 's';
    const char *stop;
    if (*p == '"') {
        stop = bir_json_scan_string(p + 1, end, &token->escaped, &fault);
        stop = stop ? stop + 1 : NULL;
    } else if (*p == '-' || bir_json_is_digit(*p)) {
        stop = bir_json_scan_number(p, end, &decimal, &fault);
    } else {
        stop = bir_json_scan_literal(p, end, &fault);
    }
    if (!stop)
        return NULL;
    token->len = (size_t)(stop - p);
    const char *colon = bir_json_scan_space(stop, end);
    if (*p == '"' && colon < end && *colon == ':') {
        token->kind = 'k';
        return colon + 1;
    }
    return stop;
}

static void put_token(struct bir_json_writer *w, const struct token *token)
{
    switch (token->kind) {
    case '{': bir_json_put_object_begin(w); break;
    case '}': bir_json_put_object_end(w); break;
    case '[': bir_json_put_array_begin(w); break;
    case ']': bir_json_put_array_end(w); break;
    case 'k': bir_json_put_spelled_key(w, token->text, token->len); break;
    default: bir_json_put_spelled(w, token->text, token->len); break;
    }
}

static void put_unescaped(struct bir_json_writer *w, const struct token *token)
{
    struct bir_buf text;
    bir_buf_init(&text, 0);
    for (const char *p = token->text + 1, *end = token->text + token->len - 1; p < end;) {
        struct bir_json_char c = bir_json_next_char(p, end);
        bir_buf_put(&text, c.bytes, c.byte_count);
        p += c.source_count;
    }
    if (text.status != BIR_OK)
        fail(w, text.status);
    else if (token->kind == 'k')
        bir_json_put_key_n(w, text.data, text.len);
    else
        bir_json_put_string(w, text.data, text.len);
    bir_buf_deinit(&text);
}

/* Fractions and exponents in shortest form, if a double holds them; integers as they are. */
static void put_canonical_number(struct bir_json_writer *w, const struct token *token)
{
    bool is_real = memchr(token->text, '.', token->len) || memchr(token->text, 'e', token->len) ||
                   memchr(token->text, 'E', token->len);
    double value = is_real ? bir_parse_double(token->text, token->len) : 0;
    if (is_real && value - value == 0)
        bir_json_put_double(w, value);
    else if (!is_real && token->len == 2 && memcmp(token->text, "-0", 2) == 0)
        bir_json_put_u64(w, 0);
    else
        put_token(w, token);
}

static void put_canonical_token(struct bir_json_writer *w, const struct token *token)
{
    if (token->escaped)
        put_unescaped(w, token);
    else if (token->kind == 's' && (*token->text == '-' || bir_json_is_digit(*token->text)))
        put_canonical_number(w, token);
    else
        put_token(w, token);
}

static void put_unsorted(struct bir_json_writer *w, const char *p, const char *end, bool canonical)
{
    uint32_t start_depth = w->depth;
    struct token token;
    do {
        p = next_token(p, end, &token);
        if (!p || ((token.kind == '}' || token.kind == ']') && w->depth == start_depth)) {
            fail(w, BIR_INTERNAL);
            return;
        }
        if (canonical)
            put_canonical_token(w, &token);
        else
            put_token(w, &token);
    } while ((w->depth > start_depth || token.kind == 'k') && w->buf->status == BIR_OK);
}

/* Sorted */

#define NO_NODE UINT32_MAX

struct node {
    struct token key;   /* kind 0: none */
    struct token token; /* '{', '[' or scalar */
    uint32_t parent, first, next;
};

struct tree {
    struct node *nodes;
    uint32_t count;
    uint32_t capacity;
};

static bool add_node(struct bir_json_writer *w, struct tree *tree, const struct node *node)
{
    if (tree->count == tree->capacity) {
        uint32_t capacity;
        size_t bytes;
        if (__builtin_mul_overflow(tree->capacity ? tree->capacity : 8u, 2u, &capacity) ||
            __builtin_mul_overflow((size_t)capacity, sizeof(*node), &bytes)) {
            fail(w, BIR_LIMIT);
            return false;
        }
        struct node *nodes = realloc(tree->nodes, bytes);
        if (!nodes) {
            fail(w, BIR_NOMEM);
            return false;
        }
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    tree->nodes[tree->count++] = *node;
    return true;
}

struct builder {
    struct tree *tree;
    uint32_t parent; /* open container */
    uint32_t last;   /* its newest child */
    struct token key;
    uint32_t depth;
};

static bool add_value(struct bir_json_writer *w, struct builder *b, const struct token *token)
{
    struct node node = { .key = b->key, .token = *token, .parent = b->parent, .first = NO_NODE, .next = NO_NODE };
    uint32_t at = b->tree->count;
    if (!add_node(w, b->tree, &node))
        return false;
    if (b->last != NO_NODE)
        b->tree->nodes[b->last].next = at;
    else if (b->parent != NO_NODE)
        b->tree->nodes[b->parent].first = at;
    b->last = at;
    b->key.kind = 0;
    if (token->kind == '{' || token->kind == '[') {
        b->parent = at;
        b->last = NO_NODE;
        b->depth++;
    }
    return true;
}

static bool close_container(struct bir_json_writer *w, struct builder *b)
{
    if (b->depth == 0) {
        fail(w, BIR_INTERNAL);
        return false;
    }
    b->last = b->parent;
    b->parent = b->tree->nodes[b->parent].parent;
    b->depth--;
    return true;
}

static bool build(struct bir_json_writer *w, struct tree *tree, const char *p, const char *end)
{
    struct builder b = { .tree = tree, .parent = NO_NODE, .last = NO_NODE };
    do {
        struct token token;
        p = next_token(p, end, &token);
        if (!p) {
            fail(w, BIR_INTERNAL);
            return false;
        }
        if (token.kind == 'k')
            b.key = token;
        else if (token.kind == '}' || token.kind == ']') {
            if (!close_container(w, &b))
                return false;
        } else if (!add_value(w, &b, &token)) {
            return false;
        }
        if (b.depth > BIR_JSON_WRITER_MAX_DEPTH) {
            fail(w, BIR_LIMIT);
            return false;
        }
    } while (b.depth > 0);
    return true;
}

/* Order of two spellings between quotes by the bytes they mean. */
static int compare_escaped(const char *a, const char *a_end, const char *b, const char *b_end)
{
    struct bir_json_char ca = { 0 }, cb = { 0 };
    uint8_t ia = 0, ib = 0;
    for (;;) {
        if (ia == ca.byte_count && a < a_end) {
            ca = bir_json_next_char(a, a_end);
            a += ca.source_count;
            ia = 0;
        }
        if (ib == cb.byte_count && b < b_end) {
            cb = bir_json_next_char(b, b_end);
            b += cb.source_count;
            ib = 0;
        }
        bool a_done = ia == ca.byte_count, b_done = ib == cb.byte_count;
        if (a_done || b_done)
            return b_done - a_done;
        unsigned char byte_a = (unsigned char)ca.bytes[ia++], byte_b = (unsigned char)cb.bytes[ib++];
        if (byte_a != byte_b)
            return byte_a < byte_b ? -1 : 1;
    }
}

static int compare_keys(const struct token *a, const struct token *b)
{
    if (a->escaped || b->escaped)
        return compare_escaped(a->text + 1, a->text + a->len - 1, b->text + 1, b->text + b->len - 1);
    size_t common = (a->len < b->len ? a->len : b->len) - 2;
    int order = memcmp(a->text + 1, b->text + 1, common);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

/* Of equal keys, a's come first: this is what makes the sort stable. */
static uint32_t merge(struct node *nodes, uint32_t a, uint32_t b)
{
    uint32_t head = NO_NODE;
    uint32_t *link = &head;
    while (a != NO_NODE && b != NO_NODE) {
        uint32_t *smaller = compare_keys(&nodes[a].key, &nodes[b].key) <= 0 ? &a : &b;
        *link = *smaller;
        link = &nodes[*smaller].next;
        *smaller = *link;
    }
    *link = a != NO_NODE ? a : b;
    return head;
}

static bool is_sorted(const struct node *nodes, uint32_t first)
{
    for (uint32_t i = first; i != NO_NODE && nodes[i].next != NO_NODE; i = nodes[i].next) {
        if (compare_keys(&nodes[i].key, &nodes[nodes[i].next].key) > 0)
            return false;
    }
    return true;
}

/* Merge sort of linked members: runs[i] is empty or a sorted list of 2^i of them, as in a binary counter. */
static uint32_t sort_members(struct node *nodes, uint32_t first)
{
    if (is_sorted(nodes, first))
        return first;
    uint32_t runs[32];
    memset(runs, 0xFF, sizeof(runs)); /* NO_NODE */
    while (first != NO_NODE) {
        uint32_t carry = first;
        first = nodes[first].next;
        nodes[carry].next = NO_NODE;
        int i = 0;
        for (; runs[i] != NO_NODE; i++) {
            carry = merge(nodes, runs[i], carry);
            runs[i] = NO_NODE;
        }
        runs[i] = carry;
    }
    uint32_t sorted = NO_NODE;
    for (int i = 0; i < 32; i++)
        sorted = merge(nodes, runs[i], sorted);
    return sorted;
}

static void put_end_of(struct bir_json_writer *w, const struct node *container)
{
    put_token(w, &(struct token){ .kind = container->token.kind == '{' ? '}' : ']' });
}

static void put_tree(struct bir_json_writer *w, const struct node *nodes)
{
    uint32_t at = 0;
    while (w->buf->status == BIR_OK) {
        const struct node *node = &nodes[at];
        if (node->key.kind == 'k')
            put_canonical_token(w, &node->key);
        put_canonical_token(w, &node->token);
        bool container = node->token.kind != 's';
        if (container && node->first != NO_NODE) {
            at = node->first;
            continue;
        }
        if (container)
            put_end_of(w, node);
        while (nodes[at].next == NO_NODE) {
            at = nodes[at].parent;
            if (at == NO_NODE)
                return;
            put_end_of(w, &nodes[at]);
        }
        at = nodes[at].next;
    }
}

static void put_sorted(struct bir_json_writer *w, const char *p, const char *end)
{
    struct tree tree = { 0 };
    if (build(w, &tree, p, end)) {
        for (uint32_t i = 0; i < tree.count; i++) {
            if (tree.nodes[i].token.kind == '{')
                tree.nodes[i].first = sort_members(tree.nodes, tree.nodes[i].first);
        }
        put_tree(w, tree.nodes);
    }
    free(tree.nodes);
}

void bir_json_put_raw(struct bir_json_writer *w, const char *text, size_t len, bool canonical)
{
    if (w->buf->status != BIR_OK)
        return;
    if (len == 0)
        text = "";
    if (canonical && memchr(text, '{', len))
        put_sorted(w, text, text + len);
    else
        put_unsorted(w, text, text + len, canonical);
}
