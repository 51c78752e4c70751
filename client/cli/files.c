/*
 * A directory is walked with fts: symbolic links inside of it are taken when they lead to files and not followed into
 * directories, so the walk ends.
 */
#include "client/cli/files.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool file_is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool append(struct file_list *list, const char *path)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        const char **paths = reallocarray(list->paths, capacity, sizeof *paths);
        if (!paths)
            return false;
        list->paths = paths;
        list->capacity = capacity;
    }
    list->paths[list->count++] = path;
    return true;
}

static bool is_module(const FTSENT *entry)
{
    static const char ending[] = ".json";
    size_t len = entry->fts_namelen;
    struct stat st;
    if (len < sizeof ending - 1 || strcmp(entry->fts_name + len - (sizeof ending - 1), ending) != 0)
        return false;
    return entry->fts_info == FTS_F ||
           (entry->fts_info == FTS_SL && stat(entry->fts_accpath, &st) == 0 && S_ISREG(st.st_mode));
}

static int compare_paths(const void *a, const void *b)
{
    const char *const *one = a;
    const char *const *other = b;
    return strcmp(*one, *other);
}

static enum cli_exit walk(struct file_list *list, FTS *tree, const char *directory)
{
    enum cli_exit status = CLI_DONE;
    size_t first = list->count;
    FTSENT *entry;
    while ((errno = 0, entry = fts_read(tree))) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
            status = cli_fail(CLI_USAGE, "cannot read %s: %s", entry->fts_path, strerror(entry->fts_errno));
        if (!is_module(entry))
            continue;
        const char *path = bir_arena_strndup(&list->arena, entry->fts_path, strlen(entry->fts_path));
        if (!path || !append(list, path))
            return cli_fail(CLI_INTERNAL, "there is no memory for the files of %s", directory);
    }
    if (errno)
        return cli_fail(CLI_USAGE, "cannot read %s: %s", directory, strerror(errno));
    if (list->count == first && status == CLI_DONE)
        return cli_fail(CLI_USAGE, "there is no .json file in %s", directory);
    if (list->count > first)
        qsort(list->paths + first, list->count - first, sizeof *list->paths, compare_paths);
    return status;
}

static enum cli_exit append_directory(struct file_list *list, char *directory)
{
    /* "dir/" finds dir/a.json, not dir//a.json. */
    for (size_t len = strlen(directory); len > 1 && directory[len - 1] == '/'; len--)
        directory[len - 1] = '\0';
    char *roots[] = { directory, NULL };
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    if (!tree)
        return cli_fail(CLI_USAGE, "cannot read %s: %s", directory, strerror(errno));
    enum cli_exit status = walk(list, tree, directory);
    fts_close(tree);
    return status;
}

enum cli_exit file_list_init(struct file_list *list, char *const *words, size_t word_count)
{
    enum cli_exit status = CLI_DONE;
    *list = (struct file_list){ .paths = NULL };
    bir_arena_init(&list->arena, 0);
    for (size_t i = 0; i < word_count; i++) {
        enum cli_exit found = CLI_DONE;
        if (file_is_directory(words[i]))
            found = append_directory(list, words[i]);
        else if (!append(list, words[i]))
            found = cli_fail(CLI_INTERNAL, "there is no memory for the names of the files");
        status = found == CLI_DONE ? status : found;
    }
    return status;
}

void file_list_deinit(struct file_list *list)
{
    free(list->paths);
    bir_arena_deinit(&list->arena);
}
