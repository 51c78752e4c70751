/*
 * Bytes that are shared and never change: the source of a module, or a finished answer.
 *
 * Reference counts belong to the loop thread. A worker may read a blob that its job holds, and makes the answer before
 * the loop sees it.
 */
#ifndef DAEMON_BLOB_H
#define DAEMON_BLOB_H

#include "base/buf.h"
#include "base/digest.h"
#include "proto/frame.h"

struct blob {
    unsigned refs;
    bool error; /* an answer that goes out as "error", not as "result" */
    char *data; /* source bytes, or the payload of the answer */
    size_t data_len;
    char *text; /* answer: the reply's JSON behind "cache":"..." (behind "error": of an error), to its end; else NULL */
    size_t text_len;
    uint64_t checksum;        /* over text and data */
    struct bir_digest module; /* content digest of the module: of data itself, or of what the answer was made from */
    char module_hex[BIR_DIGEST_HEX_CHARS + 1];
    struct proto_budget *budget; /* gets `charge` back in the end, or NULL */
    size_t charge;
};

/* Takes data and text (malloc'ed, NULL when empty) in success and failure; NULL when there is no memory. */
struct blob *blob_new(char *data, size_t data_len, char *text, size_t text_len,
                      const struct bir_digest *module) BIR_MUST_CHECK;
struct blob *blob_ref(struct blob *blob);
/* Accepts NULL; gives NULL. */
struct blob *blob_unref(struct blob *blob);

/* Gives the charge back while the bytes live on: from now on somebody else accounts for them. */
void blob_uncharge(struct blob *blob);

/* False when the bytes are not those that blob_new saw. */
bool blob_intact(const struct blob *blob);

/* Bytes of memory it stands for. */
size_t blob_bytes(const struct blob *blob);

#endif
