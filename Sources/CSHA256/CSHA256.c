#include "CSHA256.h"

#if !defined(__APPLE__)  // Apple's systems have CryptoKit.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

_Static_assert(sizeof(SHA256_CTX) <= sizeof(csha256), "csha256 has room for libcrypto's state");

void csha256_start(csha256 *hash) { SHA256_Init((SHA256_CTX *)hash); }

void csha256_update(csha256 *hash, const void *bytes, size_t count) {
  SHA256_Update((SHA256_CTX *)hash, bytes, count);
}

void csha256_finish(csha256 *hash, unsigned char digest[32]) {
  SHA256_Final(digest, (SHA256_CTX *)hash);
}
#endif
