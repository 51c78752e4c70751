/*
 * libsodium's generic hash without a key is BLAKE2b. Hashing needs no sodium_init: without it the portable
 * implementation runs, and nothing global is written, so digests may be computed on any thread. A program that calls
 * sodium_init at its start gets the vectorised implementation and the same digests.
 */
#include "base/digest.h"

#include <assert.h>
#include <sodium/crypto_generichash.h>
#include <string.h>

static_assert(sizeof(crypto_generichash_state) <= sizeof(((struct bir_hasher *)0)->state), "the state fits");
static_assert(_Alignof(crypto_generichash_state) <= _Alignof(struct bir_hasher), "the state is aligned");
static_assert(BIR_DIGEST_BYTES >= crypto_generichash_BYTES_MIN && BIR_DIGEST_BYTES <= crypto_generichash_BYTES_MAX,
              "a digest size that the library offers");

static crypto_generichash_state *state_of(struct bir_hasher *hasher)
{
    return (crypto_generichash_state *)(void *)hasher->state;
}

void bir_digest_bytes(const void *data, size_t len, struct bir_digest *out)
{
    (void)crypto_generichash(out->bytes, sizeof(out->bytes), data, len, NULL, 0);
}

void bir_hasher_init(struct bir_hasher *hasher)
{
    (void)crypto_generichash_init(state_of(hasher), NULL, 0, BIR_DIGEST_BYTES);
}

void bir_hasher_update(struct bir_hasher *hasher, const void *data, size_t len)
{
    if (len > 0)
        (void)crypto_generichash_update(state_of(hasher), data, len);
}

void bir_hasher_update_field(struct bir_hasher *hasher, const void *data, size_t len)
{
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++)
        prefix[i] = (unsigned char)((uint64_t)len >> (8 * i));
    bir_hasher_update(hasher, prefix, sizeof(prefix));
    bir_hasher_update(hasher, data, len);
}

void bir_hasher_finish(struct bir_hasher *hasher, struct bir_digest *out)
{
    (void)crypto_generichash_final(state_of(hasher), out->bytes, sizeof(out->bytes));
}

void bir_digest_to_hex(const struct bir_digest *digest, char hex[BIR_DIGEST_HEX_CHARS + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < BIR_DIGEST_BYTES; i++) {
        hex[2 * i] = digits[digest->bytes[i] >> 4];
        hex[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    hex[BIR_DIGEST_HEX_CHARS] = '\0';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

bool bir_digest_from_hex(struct bir_digest *digest, const char *text, size_t len)
{
    if (len != BIR_DIGEST_HEX_CHARS)
        return false;
    struct bir_digest parsed;
    for (int i = 0; i < BIR_DIGEST_BYTES; i++) {
        int high = hex_value(text[2 * i]);
        int low = hex_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        parsed.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *digest = parsed;
    return true;
}
