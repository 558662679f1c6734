// Numbers, checksums and keys in LevelDB's files.

#pragma once

#include <cstddef>
#include <cstdint>

#include "leveldb/slice.h"

namespace cldb {

// LevelDB ends the process at 2^56. No database comes near this.
constexpr uint64_t kLargestSequence = (uint64_t(1) << 55) - 1;

uint32_t ReadFixed32(const char* bytes);
uint64_t ReadFixed64(const char* bytes);
void WriteFixed32(uint32_t value, char* bytes);

// Reads a base-128 number and advances `bytes`; false if the number doesn't end before `limit`.
bool ReadVarint(const char*& bytes, const char* limit, uint64_t* value);

// The same for up to 32 bits. LevelDB fails with a longer number.
bool ReadShortVarint(const char*& bytes, const char* limit, uint64_t* value);

// Reads a length, and that many bytes.
bool ReadBytes(const char*& bytes, const char* limit, leveldb::Slice* value);

// The CRC-32C (RFC 3720, appendix B.4) of the bytes, as LevelDB stores it.
uint32_t Checksum(const char* bytes, size_t count);

// LevelDB's internal keys are the user's key, then a sequence number and a kind in eight bytes.
constexpr size_t kTrailerSize = 8;

// Whether a key has the length of an internal key and a known kind.
bool IsInternalKey(const leveldb::Slice& key);

// The user's part of an internal key; empty if the key is too short.
leveldb::Slice UserKey(const leveldb::Slice& key);

// The order of internal keys: the user's, then the newer before the older.
int CompareKeys(const leveldb::Slice& left, const leveldb::Slice& right);

}  // namespace cldb
