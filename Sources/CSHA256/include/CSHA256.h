// SHA-256 of libcrypto behind three functions.
//
// libcrypto's "EVP" functions look up their algorithm at each start, which costs as much as hashing an event. OpenSSL 3
// deprecates the direct functions, so only CSHA256.c calls them.
#pragma once

#include <stddef.h>

/// The state of a hash in progress. CSHA256.c checks that libcrypto's state fits.
typedef struct csha256 {
  unsigned long long words[14];
} csha256;

void csha256_start(csha256 *_Nonnull hash);
void csha256_update(csha256 *_Nonnull hash, const void *_Nullable bytes, size_t count);
void csha256_finish(csha256 *_Nonnull hash, unsigned char digest[_Nonnull 32]);
