#include "daemon/blob.h"

#include <stdlib.h>

#include <xxhash.h>

static uint64_t checksum(const struct blob *blob)
{
    uint64_t text = blob->text_len ? XXH3_64bits(blob->text, blob->text_len) : 0;
    return blob->data_len ? XXH3_64bits_withSeed(blob->data, blob->data_len, text) : text;
}

struct blob *blob_new(char *data, size_t data_len, char *text, size_t text_len, const struct bir_digest *module)
{
    struct blob *blob = calloc(1, sizeof *blob);
    if (!blob) {
        free(data);
        free(text);
        return NULL;
    }
    *blob = (struct blob){ .refs = 1, .data = data, .data_len = data_len, .text = text, .text_len = text_len };
    blob->module = *module;
    bir_digest_to_hex(module, blob->module_hex);
    blob->checksum = checksum(blob);
    return blob;
}

struct blob *blob_ref(struct blob *blob)
{
    blob->refs++;
    return blob;
}

void blob_uncharge(struct blob *blob)
{
    proto_budget_release(blob->budget, blob->charge);
    blob->budget = NULL;
    blob->charge = 0;
}

struct blob *blob_unref(struct blob *blob)
{
    if (!blob || --blob->refs > 0)
        return NULL;
    blob_uncharge(blob);
    free(blob->data);
    free(blob->text);
    free(blob);
    return NULL;
}

bool blob_intact(const struct blob *blob)
{
    return checksum(blob) == blob->checksum;
}

size_t blob_bytes(const struct blob *blob)
{
    return sizeof *blob + blob->data_len + blob->text_len;
}
