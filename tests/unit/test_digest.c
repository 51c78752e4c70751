/* Expected digests: Python's hashlib.blake2b(digest_size=32), and the empty input's from RFC 7693 implementations. */
#include "base/digest.h"

#include <string.h>

#include "unit.h"

struct vector {
    const char *text;
    size_t len;
    const char *hex;
};

static unsigned char all_bytes[256];
static char many_x[100000];

static void setup(void)
{
    for (int i = 0; i < 256; i++)
        all_bytes[i] = (unsigned char)i;
    memset(many_x, 'x', sizeof(many_x));
}

static const struct vector vectors[] = {
    { "", 0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8" },
    { "abc", 3, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319" },
    { (const char *)all_bytes, 256, "39a7eb9fedc19aabc83425c6755dd90e6f9d0c804964a1f4aaeea3b9fb599835" },
    { many_x, sizeof(many_x), "50dd597a70b2b0682d3e005e65e28ac492130997e64a1ef1385475df08e1d4fa" },
};

START_TEST(known_digests)
{
    setup();
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct bir_digest digest;
        char hex[BIR_DIGEST_HEX_CHARS + 1];
        bir_digest_bytes(vectors[i].text, vectors[i].len, &digest);
        bir_digest_to_hex(&digest, hex);
        ck_assert_str_eq(hex, vectors[i].hex);
    }
}
END_TEST

START_TEST(pieces_give_the_digest_of_the_whole)
{
    setup();
    for (size_t piece = 1; piece < 5000; piece = piece * 3 + 1) {
        struct bir_hasher hasher;
        bir_hasher_init(&hasher);
        for (size_t at = 0; at < sizeof(many_x); at += piece)
            bir_hasher_update(&hasher, many_x + at, sizeof(many_x) - at < piece ? sizeof(many_x) - at : piece);
        bir_hasher_update(&hasher, NULL, 0);
        struct bir_digest digest;
        char hex[BIR_DIGEST_HEX_CHARS + 1];
        bir_hasher_finish(&hasher, &digest);
        bir_digest_to_hex(&digest, hex);
        ck_assert_str_eq(hex, vectors[3].hex);
    }
}
END_TEST

static struct bir_digest digest_of_fields(const char *first, const char *second)
{
    struct bir_hasher hasher;
    struct bir_digest digest;
    bir_hasher_init(&hasher);
    bir_hasher_update_field(&hasher, first, strlen(first));
    bir_hasher_update_field(&hasher, second, strlen(second));
    bir_hasher_finish(&hasher, &digest);
    return digest;
}

START_TEST(fields_do_not_run_together)
{
    struct bir_digest a = digest_of_fields("ab", "c");
    struct bir_digest b = digest_of_fields("a", "bc");
    ck_assert_int_ne(memcmp(&a, &b, sizeof(a)), 0);
    char hex[BIR_DIGEST_HEX_CHARS + 1];
    bir_digest_to_hex(&a, hex); /* eight little-endian length bytes before each field */
    ck_assert_str_eq(hex, "20263e794775e4edf2b306c0f306af9e50175c831c857604b481e847f790bf95");
}
END_TEST

START_TEST(only_lower_case_hex_is_read)
{
    struct bir_digest digest, again;
    bir_digest_bytes("abc", 3, &digest);
    char hex[BIR_DIGEST_HEX_CHARS + 1];
    bir_digest_to_hex(&digest, hex);
    ck_assert(bir_digest_from_hex(&again, hex, BIR_DIGEST_HEX_CHARS));
    ck_assert_int_eq(memcmp(&digest, &again, sizeof(digest)), 0);
    ck_assert(!bir_digest_from_hex(&again, hex, BIR_DIGEST_HEX_CHARS - 1));
    ck_assert(!bir_digest_from_hex(&again, hex, BIR_DIGEST_HEX_CHARS + 1));
    static const char bad[] = "/:`gGA \n";
    for (size_t i = 0; i < sizeof(bad); i++) {
        char broken[BIR_DIGEST_HEX_CHARS + 1];
        memcpy(broken, hex, sizeof(broken));
        broken[7 * i] = bad[i];
        ck_assert(!bir_digest_from_hex(&again, broken, BIR_DIGEST_HEX_CHARS));
    }
    ck_assert_int_eq(memcmp(&digest, &again, sizeof(digest)), 0); /* untouched by failures */
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { known_digests, pieces_give_the_digest_of_the_whole, fields_do_not_run_together,
                                   only_lower_case_hex_is_read };
    return UNIT_RUN("digest", tests);
}
