/* The files that a command line means: those it names, and every .json below the directories it names. */
#ifndef CLIENT_CLI_FILES_H
#define CLIENT_CLI_FILES_H

#include "client/cli/cli.h"

struct file_list {
    struct bir_arena arena; /* of the paths that were found */
    const char **paths;
    size_t count;
    size_t capacity;
};

/* In the order of the words, below a directory in the order of the paths' bytes. Directories that cannot be read or
 * hold no .json are reported, and the status says so; the other files are in the list all the same. */
enum cli_exit file_list_init(struct file_list *list, char *const *words, size_t word_count);
void file_list_deinit(struct file_list *list);

bool file_is_directory(const char *path);

#endif
