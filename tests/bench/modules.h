/* Modules for measurements of time and memory. */
#ifndef TESTS_BENCH_MODULES_H
#define TESTS_BENCH_MODULES_H

#include <stdbool.h>
#include <stdio.h>

/* Writes a module of `count` instructions (1 to 10,000,000). False for an unknown kind or when writing fails.
 *   static  on physical operands: loads, vector and scalar work, stores, as an unrolled kernel has them
 *   loops   Activation with one symbolic input each, eight to a doubly nested loop
 *   nestedD Activation with one symbolic input each, in the body of a loop of its own, D loops inside each other (to 100)
 *   names   as static, but each instruction has tensors of its own, and a fourth a register
 *   mlir    the address expressions of "loops" as affine.apply operations, for mlir-opt -lower-affine */
bool bench_module(FILE *to, const char *kind, long count);

#endif
