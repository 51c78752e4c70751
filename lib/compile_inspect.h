/* What the method inspect prints: images of operands (bir/abi_image.h), from a file of images or for the operands of a
 * module. */
#ifndef BIR_COMPILE_INSPECT_H
#define BIR_COMPILE_INSPECT_H

#include "base/buf.h"
#include "base/cancel.h"
#include "bir/module.h"

struct bir_inspect_options {
    const char *image;  /* KIND of bir_inspect_images: a name or ordinal of bir_abi_layout_by_name, or "auto" */
    const char *target; /* of bir_inspect_module: compile_target.h, NULL = every operand */
    bool json;          /* {"images":[...]}, one object of bir_abi_image_json each */
    bool binary;        /* image files instead of a report */
    uint32_t indent;
    struct bir_cancel *cancel; /* or NULL */
};

/* NULL, or what is wrong with the name of a kind (static text). */
const char *bir_inspect_kind_problem(const char *image);

/* Prints every image of the input: an image file, or the bare bytes of one object. BIR_INVALID for bytes that are none,
 * and for images that are not of the kind. */
enum bir_status bir_inspect_images(const uint8_t *bytes, size_t len, const struct bir_inspect_options *options,
                                   size_t arena_bytes, struct bir_diags *diags, struct bir_buf *out) BIR_MUST_CHECK;

/* Writes the images of the operands of functions, then of queues, in program order, addresses from
 * BIR_ABI_BASE_DEFAULT; numbers the instructions. BIR_INVALID with "inspect-no-target" when nothing has the target's
 * name. */
enum bir_status bir_inspect_module(struct bir_module *module, const struct bir_inspect_options *options,
                                   size_t arena_bytes, struct bir_diags *diags, struct bir_buf *out) BIR_MUST_CHECK;

#endif
