#include "CCRC32C.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define INSTRUCTION __attribute__((target("sse4.2")))
#define ADD_WORD(remainder, word) ((uint32_t)_mm_crc32_u64(remainder, word))
#define ADD_BYTE(remainder, byte) _mm_crc32_u8(remainder, byte)

static bool is_available(void) { return __builtin_cpu_supports("sse4.2"); }

#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define INSTRUCTION
#define ADD_WORD(remainder, word) __crc32cd(remainder, word)
#define ADD_BYTE(remainder, byte) __crc32cb(remainder, byte)

static bool is_available(void) { return true; }

#else
#define INSTRUCTION
#define ADD_WORD(remainder, word) (remainder)
#define ADD_BYTE(remainder, byte) (remainder)

static bool is_available(void) { return false; }
#endif

INSTRUCTION
static uint32_t update(uint32_t remainder, const uint8_t *next, size_t count) {
  for (; count >= sizeof(uint64_t); count -= sizeof(uint64_t), next += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, next, sizeof word);
    remainder = ADD_WORD(remainder, word);
  }
  for (; count > 0; count -= 1, next += 1) remainder = ADD_BYTE(remainder, *next);
  return remainder;
}

// Each instruction waits some cycles for the result of the previous one, so three parts are processed in turns, each
// with its own remainder. The remainder of two parts together is the sum (xor) of two remainders: of the second part
// from 0, and of the first part followed by as many zero bytes as the second has.
#define PART_SIZE 1024

/// For each value of each byte of a remainder: the remainder after PART_SIZE zero bytes.
static uint32_t after_part[sizeof(uint32_t)][256];
static pthread_once_t after_part_once = PTHREAD_ONCE_INIT;

static void make_after_part(void) {
  static const uint8_t zeros[PART_SIZE];
  for (unsigned place = 0; place < sizeof(uint32_t); place += 1) {
    for (unsigned byte = 1; byte < 256; byte += 1) {
      unsigned rest = byte & (byte - 1);
      // The remainder of a byte with several bits is the sum (xor) of those of its bits.
      after_part[place][byte] = rest == 0 ? update((uint32_t)byte << (8 * place), zeros, PART_SIZE)
                                          : after_part[place][rest] ^ after_part[place][byte ^ rest];
    }
  }
}

static uint32_t pass_part(uint32_t remainder) {
  return after_part[0][remainder & 0xFF] ^ after_part[1][remainder >> 8 & 0xFF] ^
         after_part[2][remainder >> 16 & 0xFF] ^ after_part[3][remainder >> 24];
}

INSTRUCTION
static uint32_t update_three_parts(uint32_t remainder, const uint8_t *parts) {
  uint32_t second = 0, third = 0;
  for (size_t offset = 0; offset < PART_SIZE; offset += sizeof(uint64_t)) {
    uint64_t words[3];
    memcpy(&words[0], parts + offset, sizeof(uint64_t));
    memcpy(&words[1], parts + PART_SIZE + offset, sizeof(uint64_t));
    memcpy(&words[2], parts + 2 * PART_SIZE + offset, sizeof(uint64_t));
    remainder = ADD_WORD(remainder, words[0]);
    second = ADD_WORD(second, words[1]);
    third = ADD_WORD(third, words[2]);
  }
  return pass_part(pass_part(remainder) ^ second) ^ third;
}

/// Eight tables of 256: table *k* has the remainder of each byte when it is followed by *k* zero bytes.
static uint32_t tables[sizeof(uint64_t)][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void) {
  for (uint32_t byte = 0; byte < 256; byte += 1) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; bit += 1) remainder = remainder & 1 ? remainder >> 1 ^ 0x82F63B78 : remainder >> 1;
    tables[0][byte] = remainder;
  }
  for (unsigned place = 1; place < sizeof(uint64_t); place += 1) {
    for (unsigned byte = 0; byte < 256; byte += 1) {
      const uint32_t before = tables[place - 1][byte];
      tables[place][byte] = tables[0][before & 0xFF] ^ before >> 8;
    }
  }
}

uint32_t ccrc32c_update_with_tables(uint32_t remainder, const void *bytes, size_t count) {
  const uint8_t *next = bytes;
  pthread_once(&tables_once, make_tables);
  for (; count >= sizeof(uint64_t); count -= sizeof(uint64_t), next += sizeof(uint64_t)) {
    uint64_t word;
    memcpy(&word, next, sizeof word);
    word ^= remainder;
    remainder = 0;
    for (unsigned place = 0; place < sizeof word; place += 1)
      remainder ^= tables[sizeof word - 1 - place][word >> (8 * place) & 0xFF];
  }
  for (; count > 0; count -= 1, next += 1) remainder = tables[0][(remainder ^ *next) & 0xFF] ^ remainder >> 8;
  return remainder;
}

uint32_t ccrc32c_update(uint32_t remainder, const void *bytes, size_t count) {
  if (!is_available()) return ccrc32c_update_with_tables(remainder, bytes, count);
  const uint8_t *next = bytes;
  if (count >= 3 * PART_SIZE) pthread_once(&after_part_once, make_after_part);
  for (; count >= 3 * PART_SIZE; count -= 3 * PART_SIZE, next += 3 * PART_SIZE) {
    remainder = update_three_parts(remainder, next);
  }
  return update(remainder, next, count);
}
