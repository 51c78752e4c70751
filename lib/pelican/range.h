/* Ranges with a table of known results that the caller keeps. Internal to lib/pelican. */
#ifndef BIR_PELICAN_RANGE_H
#define BIR_PELICAN_RANGE_H

#include "pelican/memo.h"
#include "pelican/simplify.h"

/* As pelican_range_of; memo is used for ranges only. */
struct pelican_range pelican_range_with(struct pelican_memo *memo, const struct pelican_expr *e);

#endif
