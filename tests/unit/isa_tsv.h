/* Tab-separated vector files: one case a line, '#' starts a comment. */
#ifndef TESTS_ISA_TSV_H
#define TESTS_ISA_TSV_H

#include <string.h>

#include "isa/addr4.h"
#include "unit.h"

#define TSV_COLUMNS 8

struct tsv {
    char *text, *next;
    char *column[TSV_COLUMNS];
    int columns, rows;
};

static inline void tsv_open(struct tsv *tsv, const char *name)
{
    char path[512];
    size_t len;
    snprintf(path, sizeof path, "%s/%s", ROOST_VECTORS, name);
    *tsv = (struct tsv){ 0 };
    tsv->text = tsv->next = unit_read_file(path, &len);
}

static inline bool tsv_next(struct tsv *tsv)
{
    while (*tsv->next) {
        char *line = tsv->next, *end = strchr(line, '\n');
        tsv->next = end ? end + 1 : line + strlen(line);
        if (end)
            *end = '\0';
        if (*line == '#' || *line == '\0')
            continue;
        tsv->columns = 0;
        for (char *at = line; at && tsv->columns < TSV_COLUMNS;) {
            tsv->column[tsv->columns++] = at;
            at = strchr(at, '\t');
            if (at)
                *at++ = '\0';
        }
        tsv->rows++;
        return true;
    }
    return false;
}

static inline void tsv_close(struct tsv *tsv)
{
    free(tsv->text);
}

/* Bytes of a hex text; fails the test when it is none. */
static inline size_t tsv_hex(const char *text, uint8_t *bytes, size_t capacity)
{
    size_t n = strlen(text) / 2;
    ck_assert_msg(strlen(text) % 2 == 0 && n <= capacity, "bad hex %s", text);
    for (size_t i = 0; i < n; i++) {
        char pair[3] = { text[2 * i], text[2 * i + 1], 0 }, *end;
        bytes[i] = (uint8_t)strtoul(pair, &end, 16);
        ck_assert_ptr_eq(end, pair + 2);
    }
    return n;
}

static inline enum isa_generation tsv_generation(const char *text)
{
    ck_assert_msg(text[0] == 'v' && text[1] >= '2' && text[1] <= '4' && text[2] == '\0', "bad generation %s", text);
    return (enum isa_generation)(text[1] - '2');
}

#endif
