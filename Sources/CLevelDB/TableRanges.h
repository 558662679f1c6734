// The first and the last key of a table, without reading what is between them.

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leveldb/env.h"

namespace cldb {

// One pair for each first byte that keys have: journals give each kind of key another.
using KeyRanges = std::vector<std::pair<std::string, std::string>>;

// Reads the index of a table and two blocks for each range. Corruption if it is no whole table.
leveldb::Status ReadKeyRanges(std::unique_ptr<leveldb::RandomAccessFile> file, uint64_t size, KeyRanges* ranges);

}  // namespace cldb
