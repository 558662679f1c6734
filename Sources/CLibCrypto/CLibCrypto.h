// The hashes of the system's OpenSSL libcrypto. Apple's systems have CryptoKit instead.
#pragma once

#if !defined(__APPLE__)
#include <openssl/sha.h>
#endif
