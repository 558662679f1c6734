#include "CCRC32C.h"

#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define INSTRUCTION __attribute__((target("sse4.2")))
#define ADD_WORD(remainder, word) ((uint32_t)_mm_crc32_u64(remainder, word))
#define ADD_BYTE(remainder, byte) _mm_crc32_u8(remainder, byte)

bool ccrc32c_is_available(void) { return __builtin_cpu_supports("sse4.2"); }

#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define INSTRUCTION
#define ADD_WORD(remainder, word) __crc32cd(remainder, word)
#define ADD_BYTE(remainder, byte) __crc32cb(remainder, byte)

bool ccrc32c_is_available(void) { return true; }

#else
#define INSTRUCTION
#define ADD_WORD(remainder, word) (remainder)
#define ADD_BYTE(remainder, byte) (remainder)

bool ccrc32c_is_available(void) { return false; }
#endif

INSTRUCTION
uint32_t ccrc32c_update(uint32_t remainder, const void *bytes, size_t count) {
  const uint8_t *next = bytes;
  for (; count >= sizeof(uint64_t); count -= sizeof(uint64_t), next += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, next, sizeof word);
    remainder = ADD_WORD(remainder, word);
  }
  for (; count > 0; count -= 1, next += 1) remainder = ADD_BYTE(remainder, *next);
  return remainder;
}
