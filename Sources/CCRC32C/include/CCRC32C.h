#ifndef CCRC32C_H
#define CCRC32C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// Continues a CRC-32C (RFC 3720, appendix B.4) over more bytes, with the processor's instruction if there is one.
/// `remainder` is the last result; at first, all its bits are set. The checksum is the complement of the result.
uint32_t ccrc32c_update(uint32_t remainder, const void *bytes, size_t count);

/// Continues a CRC-32C as `ccrc32c_update` does, but without the instruction, eight bytes at a time.
uint32_t ccrc32c_update_with_tables(uint32_t remainder, const void *bytes, size_t count);

#if defined(__cplusplus)
}
#endif

#endif
