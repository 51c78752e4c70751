/* One UTF-8 sequence at a time; the whole-text check bir_utf8_valid is declared in json_reader.h. */
#ifndef BIR_BASE_UTF8_H
#define BIR_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length (1 to 4) of the well-formed sequence at text, which has len > 0 bytes; 0 when there is none: a stray
 * continuation byte, an overlong form, a surrogate, a value above U+10FFFF, or a cut sequence. */
size_t bir_utf8_sequence(const char *text, size_t len);

/* Writes the UTF-8 form of a scalar value (not a surrogate, at most 0x10FFFF); returns its length, 1 to 4. */
size_t bir_utf8_encode(uint32_t scalar, char out[4]);

#endif
