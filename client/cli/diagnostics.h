/* Diagnostics of a reply as those of a compile, so that both are printed by the same code. */
#ifndef CLIENT_CLI_DIAGNOSTICS_H
#define CLIENT_CLI_DIAGNOSTICS_H

#include "client/cli/cli.h"

/* Appends the diagnostics of a JSON array; false when it is not one, or memory is short. */
bool diagnostics_read(const char *json, struct bir_diags *diags);

/* Prints them as text or JSON: for check on standard output, otherwise on standard error. name is the input's. */
enum cli_exit diagnostics_print(const struct cli *cli, const struct bir_diags *diags, const char *name,
                                const void *input, size_t input_len);

#endif
