// The hashes of OpenSSL's libcrypto, as the system has it. Apple's systems have CryptoKit instead.
#pragma once

#if !defined(__APPLE__)
#include <openssl/sha.h>
#endif
