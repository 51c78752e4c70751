/* L1: order of eviction, the byte budget, and what happens to an entry whose bytes have changed. Memo: full comparison.
 */
#define _GNU_SOURCE
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "daemon/cache.h"
#include "daemon/memo.h"

static struct bir_digest key_of(unsigned n)
{
    struct bir_digest key;
    bir_digest_bytes(&n, sizeof n, &key);
    return key;
}

static struct blob *blob_of(unsigned n, size_t len)
{
    char *data = malloc(len);
    struct bir_digest key = key_of(n);
    if (!data)
        return NULL;
    memset(data, (int)(n & 0xff), len);
    return blob_new(data, len, NULL, 0, &key);
}

static void put(struct cache *cache, enum cache_kind kind, unsigned n, size_t len)
{
    struct bir_digest key = key_of(n);
    struct blob *blob = blob_of(n, len);
    ck_assert_ptr_nonnull(blob);
    cache_put(cache, kind, &key, blob);
    blob_unref(blob);
}

static bool has(struct cache *cache, enum cache_kind kind, unsigned n)
{
    struct bir_digest key = key_of(n);
    struct blob *blob = cache_get(cache, kind, &key, 0);
    return blob && blob->data[0] == (char)(n & 0xff);
}

START_TEST(least_recently_used_goes_first)
{
    struct cache cache;
    cache_init(&cache, 50000);
    for (unsigned n = 0; n < 4; n++)
        put(&cache, CACHE_ANSWER, n, 10000);
    ck_assert(has(&cache, CACHE_ANSWER, 0)); /* used: now the newest */
    put(&cache, CACHE_ANSWER, 4, 10000);
    ck_assert(!has(&cache, CACHE_ANSWER, 1));
    for (unsigned n = 0; n < 5; n++)
        ck_assert(n == 1 || has(&cache, CACHE_ANSWER, n));
    ck_assert_uint_eq(cache.counters[CACHE_ANSWER].evicted, 1);
    ck_assert_uint_eq(cache.counters[CACHE_ANSWER].entries, 4);
    put(&cache, CACHE_SOURCE, 9, 40000); /* the kinds share one budget */
    ck_assert(has(&cache, CACHE_SOURCE, 9));
    ck_assert_uint_eq(cache.counters[CACHE_ANSWER].entries, 0);
    cache_deinit(&cache);
    ck_assert_uint_eq(cache.used_bytes, 0);
}
END_TEST

START_TEST(budget_holds)
{
    struct cache cache;
    cache_init(&cache, 100000);
    for (unsigned n = 0; n < 20000; n++) {
        put(&cache, n % 3 ? CACHE_ANSWER : CACHE_SOURCE, n, 1 + n * 37 % 3000);
        ck_assert_uint_le(cache.used_bytes, 100000);
        ck_assert_uint_eq(cache.used_bytes, cache.counters[CACHE_ANSWER].bytes + cache.counters[CACHE_SOURCE].bytes);
    }
    ck_assert_uint_gt(cache.used_bytes, 90000);
    put(&cache, CACHE_ANSWER, 77777, 200000); /* larger than all of it: not kept, and nothing evicted for it */
    ck_assert(!has(&cache, CACHE_ANSWER, 77777));
    ck_assert_uint_gt(cache.used_bytes, 90000);
    cache_deinit(&cache);
}
END_TEST

START_TEST(many_entries)
{
    struct cache cache;
    cache_init(&cache, UINT64_MAX >> 1);
    for (unsigned n = 0; n < 5000; n++)
        put(&cache, CACHE_ANSWER, n, 8);
    for (unsigned n = 0; n < 5000; n++) {
        ck_assert(has(&cache, CACHE_ANSWER, n));
        ck_assert(!has(&cache, CACHE_SOURCE, n));
    }
    for (unsigned n = 0; n < 5000; n += 2) {
        struct bir_digest key = key_of(n);
        ck_assert(cache_drop(&cache, CACHE_ANSWER, &key));
        ck_assert(!cache_drop(&cache, CACHE_ANSWER, &key));
    }
    for (unsigned n = 0; n < 5000; n++)
        ck_assert_int_eq(has(&cache, CACHE_ANSWER, n), n % 2);
    cache_deinit(&cache);
}
END_TEST

START_TEST(damage_is_a_counted_miss)
{
    struct cache cache;
    cache_init(&cache, 100000);
    struct bir_digest key = key_of(1);
    char *text = strdup("{}");
    struct blob *blob = blob_new(calloc(1, 100), 100, text, 2, &key);
    cache_put(&cache, CACHE_ANSWER, &key, blob);
    uint64_t now_ms = 0;
    for (int part = 0; part < 2; part++) {
        char *byte = part ? &blob->text[1] : &blob->data[99];
        cache_put(&cache, CACHE_ANSWER, &key, blob);
        *byte ^= 1;
        ck_assert_ptr_null(cache_get(&cache, CACHE_ANSWER, &key, now_ms)); /* the first use is checked */
        *byte ^= 1;
        ck_assert_ptr_null(cache_get(&cache, CACHE_ANSWER, &key, now_ms));
        cache_put(&cache, CACHE_ANSWER, &key, blob);
        ck_assert_ptr_eq(cache_get(&cache, CACHE_ANSWER, &key, now_ms), blob);
        *byte ^= 1;
        for (uint64_t used_ms = now_ms; used_ms < now_ms + CACHE_TRUST_MS; used_ms++) /* use is no check */
            ck_assert_ptr_eq(cache_get(&cache, CACHE_ANSWER, &key, used_ms), blob);
        now_ms += CACHE_TRUST_MS;
        ck_assert_ptr_null(cache_get(&cache, CACHE_ANSWER, &key, now_ms));
        *byte ^= 1;
        ck_assert_uint_eq(cache.counters[CACHE_ANSWER].corrupt, 2 * ((unsigned)part + 1));
    }
    ck_assert_uint_eq(cache.used_bytes, 0);
    ck_assert_uint_eq(blob->refs, 1);
    blob_unref(blob);
    cache_deinit(&cache);
}
END_TEST

START_TEST(evicted_blob_lives_while_used)
{
    struct cache cache;
    cache_init(&cache, 20000);
    struct bir_digest key = key_of(5);
    put(&cache, CACHE_ANSWER, 5, 10000);
    struct blob *held = blob_ref(cache_get(&cache, CACHE_ANSWER, &key, 0));
    put(&cache, CACHE_ANSWER, 6, 15000);
    ck_assert(!has(&cache, CACHE_ANSWER, 5));
    ck_assert_uint_eq(held->refs, 1);
    ck_assert(blob_intact(held));
    blob_unref(held);
    cache_deinit(&cache);
}
END_TEST

START_TEST(blob_gives_its_charge_back)
{
    struct proto_budget budget = { .used_bytes = 100, .limit_bytes = 100 };
    struct blob *blob = blob_of(1, 10);
    blob->budget = &budget;
    blob->charge = 60;
    blob_ref(blob);
    blob_unref(blob);
    ck_assert_uint_eq(budget.used_bytes, 100);
    blob_uncharge(blob);
    ck_assert_uint_eq(budget.used_bytes, 40);
    blob_unref(blob);
    ck_assert_uint_eq(budget.used_bytes, 40);
    ck_assert_ptr_null(blob_unref(NULL));
}
END_TEST

/* Any allocation may fail: an entry is missing then, and nothing else. libcheck must not allocate in between. */
START_TEST(allocation_failures)
{
    for (long n = 1;; n++) {
        long live = alloc_live();
        struct cache cache;
        static struct memo memo;
        bool consistent = true;
        cache_init(&cache, 1000000);
        alloc_fail_at(n);
        for (unsigned i = 0; i < 1100; i += i < 4 ? 1 : 100) {
            struct bir_digest key = key_of(i);
            struct blob *blob = blob_of(i, 50);
            if (!blob)
                continue;
            cache_put(&cache, CACHE_ANSWER, &key, blob);
            blob_unref(blob);
            memo_put(&memo, (const char *)&key, sizeof key, &key, i);
            const struct memo_slot *slot = memo_find(&memo, (const char *)&key, sizeof key);
            consistent = consistent && (!slot || slot->method == i);
        }
        bool fired = alloc_fail_fired();
        alloc_fail_at(0);
        cache_deinit(&cache);
        memo_deinit(&memo);
        long kept = alloc_live() - live;
        ck_assert_int_eq(kept, 0);
        ck_assert(consistent);
        ck_assert_uint_eq(cache.used_bytes, 0);
        if (!fired)
            break;
    }
}
END_TEST

START_TEST(memo_compares_in_full)
{
    static struct memo memo;
    char text[MEMO_TEXT_BYTES + 1];
    memset(text, 'x', sizeof text);
    struct bir_digest one = key_of(1);
    struct bir_digest two = key_of(2);
    memo_put(&memo, text, MEMO_TEXT_BYTES + 1, &one, 0);
    ck_assert_ptr_null(memo_find(&memo, text, MEMO_TEXT_BYTES + 1));
    memo_put(&memo, "", 0, &one, 0);
    ck_assert_ptr_null(memo_find(&memo, "", 0));
    memo_put(&memo, text, 100, &one, 3);
    ck_assert_ptr_nonnull(memo_find(&memo, text, 100));
    ck_assert_uint_eq(memo_find(&memo, text, 100)->method, 3);
    ck_assert_ptr_null(memo_find(&memo, text, 99));
    /* Far more texts than slots: whatever is found is the text's own. */
    for (unsigned n = 0; n < 3 * MEMO_SLOTS; n++)
        memo_put(&memo, (const char *)&n, sizeof n, n % 2 ? &one : &two, n % 4);
    unsigned found = 0;
    for (unsigned n = 0; n < 3 * MEMO_SLOTS; n++) {
        const struct memo_slot *slot = memo_find(&memo, (const char *)&n, sizeof n);
        found += slot != NULL;
        if (slot) {
            ck_assert_uint_eq(slot->method, n % 4);
            ck_assert_mem_eq(&slot->key, n % 2 ? &one : &two, sizeof one);
        }
    }
    ck_assert_uint_gt(found, MEMO_SLOTS / 2);
    ck_assert_uint_le(found, MEMO_SLOTS);
    memo_deinit(&memo);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    TCase *tcase = tcase_create("cache");
    tcase_add_test(tcase, least_recently_used_goes_first);
    tcase_add_test(tcase, budget_holds);
    tcase_add_test(tcase, many_entries);
    tcase_add_test(tcase, damage_is_a_counted_miss);
    tcase_add_test(tcase, evicted_blob_lives_while_used);
    tcase_add_test(tcase, blob_gives_its_charge_back);
    tcase_add_test(tcase, allocation_failures);
    tcase_add_test(tcase, memo_compares_in_full);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
