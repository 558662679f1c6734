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
  // The first and the last user key.
  std::string smallest;
  std::string largest;
};

struct Manifest {
  // The contents of logs with lower numbers are in tables, except the previous log, if its number is not 0.
  uint64_t log_number = 0;
  uint64_t previous_log_number = 0;
  // Sorted by level, then by number.
  std::vector<TableInfo> tables;

  // Reads the records of an intact manifest. LevelDB makes unchecked assumptions about records, and ends the process if
  // they are wrong; here such a record is an error.
  static leveldb::Status Read(const leveldb::Slice& bytes, const std::string& path, Manifest* result);
};

// Lowers the sequence number in the last record of a manifest, so that goleveldb reads every record of the log. The
// manifest's record begins at `start`, which is `offset` in the file, and ends with the bytes.
//
// LevelDB puts its newest sequence number into each record of the manifest. goleveldb drops records of the log that are
// not above this number, in most modes without an error: those that were written while the previous log became a table,
// and all records of a reused log. So the number is lowered to the one before the log's first record. No table has a
// higher number. LevelDB itself takes the highest number from the log.
//
// `first_sequence` returns the sequence number of the first record of a log; 0 if the log has no record.
void LowerSequence(std::string* bytes, size_t start, uint64_t offset,
                   const std::function<uint64_t(uint64_t log)>& first_sequence);

}  // namespace cldb
