// The first and the last key of a table, without reading the keys between them.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leveldb/env.h"

namespace cldb {

// One pair for each first byte of keys: each kind of key in a journal has a different one.
using KeyRanges = std::vector<std::pair<std::string, std::string>>;

// Reads the index of a table and two blocks for each range. Corruption if it is not a complete table.
leveldb::Status ReadKeyRanges(std::unique_ptr<leveldb::RandomAccessFile> file, uint64_t size, KeyRanges* ranges);

}  // namespace cldb
