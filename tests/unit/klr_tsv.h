/* The schema as tests/vectors/klr/klr-schema.tsv has it, independent of the reader's own table. */
#ifndef TESTS_KLR_TSV_H
#define TESTS_KLR_TSV_H

#include <string.h>

#include "unit.h"

enum { TSV_COLUMNS = 10, TSV_ROWS_MAX = 1000 };

struct tsv_row {
    const char *type;
    long tag;
    const char *kind; /* structure, sum, enum */
    long ctor;
    const char *ctor_name;
    long count;
    const char *field; /* NULL: a constructor without fields */
    const char *field_type;
};

struct tsv {
    char *text;
    struct tsv_row rows[TSV_ROWS_MAX];
    size_t count;
};

/* Cuts a line at its tabs; returns how many columns it had. */
static inline size_t tsv_split(char *line, const char **columns, size_t max)
{
    size_t count = 0;
    while (line && count < max) {
        columns[count++] = line;
        line = strchr(line, '\t');
        if (line)
            *line++ = '\0';
    }
    return count;
}

static inline void tsv_add(struct tsv *tsv, char *line)
{
    const char *c[TSV_COLUMNS];
    ck_assert_uint_eq(tsv_split(line, c, TSV_COLUMNS), TSV_COLUMNS);
    ck_assert_uint_lt(tsv->count, TSV_ROWS_MAX);
    bool none = strcmp(c[8], "-") == 0;
    tsv->rows[tsv->count++] = (struct tsv_row){ c[0],
                                                strtol(c[1], NULL, 10),
                                                c[2],
                                                strtol(c[4], NULL, 10),
                                                c[5],
                                                strtol(c[6], NULL, 10),
                                                none ? NULL : c[8],
                                                none ? NULL : c[9] };
}

static inline void tsv_load(struct tsv *tsv)
{
    size_t len;
    tsv->text = unit_read_file(ROOST_VECTORS "/klr/klr-schema.tsv", &len);
    tsv->count = 0;
    bool titles = true;
    for (char *line = strtok(tsv->text, "\n"); line; line = strtok(NULL, "\n")) {
        if (line[0] == '#')
            continue;
        if (!titles)
            tsv_add(tsv, line);
        titles = false;
    }
}

#endif
