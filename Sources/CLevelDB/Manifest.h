// The contents of a manifest: the tables of a database, and the start of its log.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace cldb {

struct TableInfo {
  int level = 0;
  uint64_t number = 0;
  uint64_t size = 0;
  // User keys.
  std::string smallest;
  std::string largest;
};

struct Manifest {
  // Logs with lower numbers are in tables, except the previous log, if its number is not 0.
  uint64_t log_number = 0;
  uint64_t previous_log_number = 0;
  // By level, then by number.
  std::vector<TableInfo> tables;

  // Reads the records of an intact manifest. What violates LevelDB's unchecked assumptions, and would end the
  // process, is an error here.
  static leveldb::Status Read(const leveldb::Slice& bytes, const std::string& path, Manifest* result);
};

// Lowers the sequence number in the last record of a manifest, so that goleveldb reads every record of the log. The
// record is from `start`, which is `offset` in the file, to the end of the bytes.
//
// LevelDB puts its newest sequence number into each record. goleveldb drops records of the log that are not above
// this number, in most modes without an error: those that were written while the previous log became a table, and all
// of a reused log. The number is lowered to the one before the log's first record, which is at least that of all
// tables. LevelDB itself takes the highest number from the log.
//
// `first_sequence` gives the sequence number of the first record of a log; 0 if it has none.
void LowerSequence(std::string* bytes, size_t start, uint64_t offset,
                   const std::function<uint64_t(uint64_t log)>& first_sequence);

}  // namespace cldb
