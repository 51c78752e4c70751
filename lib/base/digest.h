/* BLAKE2b-256 content digests (libsodium), written as 64 lower-case hex digits. */
#ifndef BIR_BASE_DIGEST_H
#define BIR_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BIR_DIGEST_BYTES 32
#define BIR_DIGEST_HEX_CHARS 64

struct bir_digest {
    uint8_t bytes[BIR_DIGEST_BYTES];
};

struct bir_hasher {
    _Alignas(64) unsigned char state[384]; /* holds crypto_generichash_state; the size is asserted in digest.c */
};

void bir_digest_bytes(const void *data, size_t len, struct bir_digest *out);

void bir_hasher_init(struct bir_hasher *hasher);
void bir_hasher_update(struct bir_hasher *hasher, const void *data, size_t len);
/* Length-prefixed, so that ("ab","c") and ("a","bc") differ. */
void bir_hasher_update_field(struct bir_hasher *hasher, const void *data, size_t len);
void bir_hasher_finish(struct bir_hasher *hasher, struct bir_digest *out);

void bir_digest_to_hex(const struct bir_digest *digest, char hex[BIR_DIGEST_HEX_CHARS + 1]);
/* False unless text is exactly 64 lower-case hex digits. */
bool bir_digest_from_hex(struct bir_digest *digest, const char *text, size_t len);

#endif
