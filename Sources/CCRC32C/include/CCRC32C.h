#ifndef CCRC32C_H
#define CCRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// Whether this processor has an instruction for CRC-32C.
bool ccrc32c_is_available(void);

/// Continues a CRC-32C over more bytes. Only where `ccrc32c_is_available`.
uint32_t ccrc32c_update(uint32_t remainder, const void *bytes, size_t count);

#if defined(__cplusplus)
}
#endif

#endif
