/* The file that --output names. */
#ifndef CLIENT_CLI_OUTPUT_H
#define CLIENT_CLI_OUTPUT_H

#include "client/cli/cli.h"

/* Puts bytes into the file, whole or not at all: until then it has its old bytes, or does not exist. What is no regular
 * file (pipe, device, a descriptor below /dev or /proc) and a file in a directory that takes no new ones are written
 * in place. An existing file keeps mode and owner, a symbolic link its target. */
enum cli_exit output_write(const char *path, const void *bytes, size_t len);

#endif
