/*
 * Distance is the least number of bytes to insert, leave out, replace or exchange with their neighbour (restricted
 * Damerau-Levenshtein), worked out in three rows. A name is near when no more than a third of the wanted one is wrong
 * (rounded up, so that in five bytes two may be); names beyond the rows' length are never near, so nothing is allocated
 * and an offer costs a bounded time.
 */
#include "base/near.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST_BYTES 96u

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][LONGEST_BYTES + 1];
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

void bir_near_init(struct bir_near *near, const char *wanted, size_t len)
{
    *near = (struct bir_near){ .wanted = wanted, .wanted_len = len };
}

static bool is_known(const struct bir_near *near, const char *name, size_t len)
{
    for (size_t i = 0; i < near->count; i++)
        if (near->best[i].len == len && memcmp(near->best[i].name, name, len) == 0)
            return true;
    return false;
}

void bir_near_offer(struct bir_near *near, const char *name, size_t len)
{
    size_t most = near->wanted_len < 3 ? 1 : (near->wanted_len + 2) / 3;
    size_t difference = len > near->wanted_len ? len - near->wanted_len : near->wanted_len - len;
    if (len > LONGEST_BYTES || near->wanted_len > LONGEST_BYTES || difference > most || is_known(near, name, len))
        return;
    size_t found = distance(near->wanted, near->wanted_len, name, len);
    size_t at = near->count;
    while (at > 0 && found < near->best[at - 1].distance)
        at--;
    if (found > most || at == BIR_NEAR_NAMES)
        return;
    near->count += near->count < BIR_NEAR_NAMES;
    for (size_t i = near->count - 1; i > at; i--)
        near->best[i] = near->best[i - 1];
    near->best[at].name = name;
    near->best[at].len = len;
    near->best[at].distance = found;
}

void bir_near_write(const struct bir_near *near, const char *quote, struct bir_buf *out)
{
    for (size_t i = 0; i < near->count; i++) {
        bir_buf_puts(out, i == 0 ? "" : i + 1 == near->count ? " or " : ", ");
        bir_buf_puts(out, quote);
        bir_buf_put(out, near->best[i].name, near->best[i].len);
        bir_buf_puts(out, quote);
    }
}

const char *bir_near_hint(const struct bir_near *near, struct bir_arena *arena, const char *otherwise)
{
    if (near->count == 0)
        return otherwise;
    struct bir_buf text;
    bir_buf_init(&text, 0);
    bir_buf_puts(&text, "did you mean ");
    bir_near_write(near, "", &text);
    bir_buf_putc(&text, '?');
    const char *hint = text.status == BIR_OK ? bir_arena_strndup(arena, text.data, text.len) : NULL;
    bir_buf_deinit(&text);
    return hint;
}
