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
  // Without the trailer of LevelDB's keys.
  std::string smallest;
  std::string largest;
};

struct Manifest {
  // The contents of logs with lower numbers are in tables, except those of the previous log, if its number is not 0.
  uint64_t log_number = 0;
  uint64_t previous_log_number = 0;
  // By level, then by number.
  std::vector<TableInfo> tables;

  // Reads the records of an intact manifest. Violations of LevelDB's unchecked assumptions, which would end the
  // process, are errors here.
  static leveldb::Status Read(const leveldb::Slice& bytes, const std::string& path, Manifest* result);
};

// Changes a record that LevelDB has written, from `start` to the end of the bytes, so that goleveldb reads every record of
// the log; `offset` is that of `start` in the file.
//
// LevelDB puts its newest sequence number into each record of the manifest. goleveldb drops the records of the log that
// are not above it, in most modes without an error: those that were written while the previous log became a table, and
// all of a log that is used again. Here the number is lowered to the one before the log's first record, which is what the
// tables have at most. LevelDB itself takes the highest number from the log.
//
// `first_sequence` gives the sequence number of the first record of a log; 0 if it has none.
void LowerSequence(std::string* bytes, size_t start, uint64_t offset,
                   const std::function<uint64_t(uint64_t log)>& first_sequence);

}  // namespace cldb
