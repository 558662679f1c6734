// Numbers, checksums and keys in LevelDB's files.

#pragma once

#include <cstddef>
#include <cstdint>

#include "leveldb/slice.h"

namespace cldb {

// The largest sequence number that is accepted. LevelDB ends the process at 2^56, and no database comes near this.
constexpr uint64_t kLargestSequence = (uint64_t(1) << 55) - 1;

uint32_t ReadFixed32(const char* bytes);
uint64_t ReadFixed64(const char* bytes);
void WriteFixed32(uint32_t value, char* bytes);

// Reads a base-128 number and advances `bytes`. Returns false if the number doesn't end before `limit`.
bool ReadVarint(const char*& bytes, const char* limit, uint64_t* value);

// Like `ReadVarint`, for a number of up to 32 bits. Returns false for a longer one, with which LevelDB fails.
bool ReadShortVarint(const char*& bytes, const char* limit, uint64_t* value);

// Reads a length and as many bytes, and advances `bytes`. Returns false if they don't end before `limit`.
bool ReadBytes(const char*& bytes, const char* limit, leveldb::Slice* value);

// The CRC-32C (RFC 3720, appendix B.4) of the bytes, as LevelDB stores it.
uint32_t Checksum(const char* bytes, size_t count);

// An internal key of LevelDB is the user's key and then, in eight bytes, a sequence number and a kind.
constexpr size_t kTrailerSize = 8;

// Whether a key has the length of an internal key and a known kind.
bool IsInternalKey(const leveldb::Slice& key);

// The user's part of an internal key; empty if the key is too short.
leveldb::Slice UserKey(const leveldb::Slice& key);

// Compares internal keys: by the user's keys, then the newer before the older.
int CompareKeys(const leveldb::Slice& left, const leveldb::Slice& right);

}  // namespace cldb
