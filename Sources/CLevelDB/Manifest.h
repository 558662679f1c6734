// The contents of a manifest: the tables of a database, and the start of its log.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace cldb {

// The parts of a manifest's record: each is a tag and its value.
enum ManifestTag {
  kComparator = 1,
  kLogNumber = 2,
  kNextFileNumber = 3,
  kLastSequence = 4,
  kCompactPointer = 5,
  kDeletedFile = 6,
  kNewFile = 7,
  kPreviousLogNumber = 9,
};

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

}  // namespace cldb
