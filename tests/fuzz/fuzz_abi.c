/*
 * Input: byte 0 chooses bare bytes (0) or an image file, the rest is read. Checked: whatever is accepted prints, JSON
 * output is JSON, the file form comes back as it was, and a description composes to an image that reads as the same
 * description again.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bir/abi_operand.h"
#include "bir/abi_print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void print(const struct bir_abi_image *image)
{
    struct bir_buf text, json;
    struct bir_json_writer w;
    bir_buf_init(&text, 0);
    bir_buf_init(&json, 0);
    bir_abi_image_text(image, &text);
    bir_json_writer_init(&w, &json, 0);
    bir_abi_image_json(image, &w);
    require(text.status == BIR_OK && json.status == BIR_OK);
    json_t *root = json_loadb(json.data, json.len, JSON_ALLOW_NUL, NULL);
    require(root != NULL);
    json_decref(root);
    bir_buf_deinit(&text);
    bir_buf_deinit(&json);
}

/* Images of descriptions are a fixed point of reading and composing. */
static void round_trip(const struct bir_abi_image *image, struct bir_arena *arena, struct bir_diags *diags)
{
    struct bir_abi_operand operand, again;
    struct bir_abi_image first, second;
    struct bir_buf a, b;
    if (bir_abi_read(image, arena, diags, &operand) != BIR_OK ||
        bir_abi_compose(&operand, arena, diags, &first) != BIR_OK)
        return;
    require(bir_abi_read(&first, arena, diags, &again) == BIR_OK);
    require(bir_abi_compose(&again, arena, diags, &second) == BIR_OK);
    bir_buf_init(&a, 0);
    bir_buf_init(&b, 0);
    bir_abi_image_put(&first, &a);
    bir_abi_image_put(&second, &b);
    require(a.status == BIR_OK && b.status == BIR_OK && a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
    bir_buf_deinit(&a);
    bir_buf_deinit(&b);
}

static void rewrite(const struct bir_abi_image *image, const uint8_t *bytes, size_t len)
{
    struct bir_buf out;
    bir_buf_init(&out, 0);
    bir_abi_image_put(image, &out);
    require(out.status == BIR_OK && out.len == len && memcmp(out.data, bytes, len) == 0);
    bir_buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bir_arena arena;
    struct bir_diags diags;
    struct bir_abi_image image;
    if (size < 1)
        return 0;
    bool bare = data[0] == 0;
    size_t at = 0;
    bir_arena_init(&arena, (size_t)64 << 20);
    bir_diags_init(&diags, &arena, 10);
    data++;
    size--;
    enum bir_status status = bare ? bir_abi_image_bare(data, size, NULL, &arena, &diags, &image)
                                  : bir_abi_image_get(data, size, &at, NULL, &arena, &diags, &image);
    require((status == BIR_OK) == (diags.errors == 0));
    if (status == BIR_OK) {
        print(&image);
        round_trip(&image, &arena, &diags);
        if (!bare)
            rewrite(&image, data, at);
    }
    bir_arena_deinit(&arena);
    return 0;
}
