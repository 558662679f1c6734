// Numbers and checksums in LevelDB's files.

#pragma once

#include <cstddef>
#include <cstdint>

#include "leveldb/slice.h"

namespace cldb {

uint32_t ReadFixed32(const char* bytes);
uint64_t ReadFixed64(const char* bytes);

// Reads a base-128 number and moves `bytes` on; false if it doesn't end before `limit`.
bool ReadVarint(const char*& bytes, const char* limit, uint64_t* value);

// The same for up to 32 bits. LevelDB itself fails with a longer one.
bool ReadShortVarint(const char*& bytes, const char* limit, uint64_t* value);

// Reads a length, and that many bytes.
bool ReadBytes(const char*& bytes, const char* limit, leveldb::Slice* value);

void WriteFixed32(uint32_t value, char* bytes);

// The CRC-32C (RFC 3720, appendix B.4) of the bytes, as LevelDB stores it.
uint32_t Checksum(const char* bytes, size_t count);

}  // namespace cldb
