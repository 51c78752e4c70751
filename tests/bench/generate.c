/* Writes a module for the measurements (modules.h). usage: bench_generate static|loops|nestedD|names|mlir COUNT */
#include <stdlib.h>

#include "modules.h"

int main(int argc, char **argv)
{
    char *end = NULL;
    long count = argc == 3 ? strtol(argv[2], &end, 10) : 0;
    if (count < 1 || count > 10000000 || *end) {
        fprintf(stderr, "usage: bench_generate static|loops|nestedD|names|mlir COUNT\n");
        return 2;
    }
    return bench_module(stdout, argv[1], count) ? 0 : 1;
}
