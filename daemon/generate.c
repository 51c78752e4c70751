/* Build tool: writes the man page of roostd, with the options of its own table in place of the line @GENERATED@. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/options.h"

int main(int argc, char **argv)
{
    char line[4096];
    struct bir_buf out;
    bir_buf_init(&out, 0);
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        if (strcmp(line, "@GENERATED@\n") == 0)
            roostd_options_man(&out);
        else
            bir_buf_puts(&out, line);
    }
    bool good = file && fclose(file) == 0 && out.status == BIR_OK;
    good = good && fwrite(out.data, 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    bir_buf_deinit(&out);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
