/* Images for people and for programs: every byte with its offset, member name, value and meaning. */
#ifndef BIR_BIR_ABI_PRINT_H
#define BIR_BIR_ABI_PRINT_H

#include "base/json_writer.h"
#include "bir/abi_image.h"

/* One member of an object, or one item of a vector in it. */
struct bir_abi_field {
    char name[80];   /* "list.next", "pattern.items[0].step", "expr.axes.data" */
    uint32_t offset; /* in its segment */
    uint32_t size_bytes;
    enum bir_abi_type type;
    const uint8_t *bytes;
};
typedef void bir_abi_field_fn(void *user, const struct bir_abi_segment *segment, const struct bir_abi_field *field);

/* Calls fn for the fields of a segment, in order of offset, without holes. Inline items beyond the size of their vector
 * come too. */
void bir_abi_each_field(const struct bir_abi_segment *segment, bir_abi_field_fn *fn, void *user);

/* Appends a listing: a line for the object, one for each field ("offset size bytes member value meaning"), the same for
 * each part, then the symbols. Bytes without known meaning that are not zero are shown in full. */
void bir_abi_image_text(const struct bir_abi_image *image, struct bir_buf *out);

/* One value:
 * {"kind","name","class","address","segments":[{"address","layout","count","fields":[{"offset","size","member","bytes",
 * "value","meaning"}]}],"symbols":[{"address","size","class","name"}]}. Addresses, pointers, literals and
 * numbers beyond int64 are strings "0x..."; "name" stands only for an object that has a symbol, "value" and "meaning"
 * only where there is one. */
void bir_abi_image_json(const struct bir_abi_image *image, struct bir_json_writer *w);

#endif
