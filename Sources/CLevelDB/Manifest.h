// What a manifest says of a database: which tables it is made of, and where its log begins.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace cldb {

struct TableInfo {
  int level = 0;
  uint64_t number = 0;
  uint64_t size = 0;
  // Without what LevelDB puts behind a key.
  std::string smallest;
  std::string largest;
};

struct Manifest {
  // Logs below this number are in tables, but for the one that is named here: 0 for none.
  uint64_t log_number = 0;
  uint64_t previous_log_number = 0;
  // By level, then by number.
  std::vector<TableInfo> tables;

  // Reads the records of a manifest that was found whole. What LevelDB would not check but assume, which ends
  // the process when it is not so, is an error here.
  static leveldb::Status Read(const leveldb::Slice& bytes, const std::string& path, Manifest* result);
};

}  // namespace cldb
