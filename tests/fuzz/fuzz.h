/* What the fuzz targets share: the entry that libFuzzer, AFL++ and driver.c call. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Always 0. A broken property stops the program. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#endif
