// Writes the manifest so that goleveldb reads every record of the log.
//
// LevelDB puts its newest sequence number into each record of the manifest. goleveldb drops the records of the log that
// are not above it, in most modes without an error: those that were written while the previous log became a table, and all
// of a log that is used again. Here the number is lowered to the one before the log's first record, which is what
// the tables have at most. LevelDB itself takes the highest number from the log.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "leveldb/env.h"

namespace cldb {

class ManifestWriter final : public leveldb::WritableFile {
 public:
  // `first_sequence` gives the sequence number of the first record of a log; 0 if it has none.
  ManifestWriter(std::unique_ptr<leveldb::WritableFile> file, std::function<uint64_t(uint64_t log)> first_sequence)
      : file_(std::move(file)), first_sequence_(std::move(first_sequence)) {}

  leveldb::Status Append(const leveldb::Slice& data) override;
  leveldb::Status Flush() override;
  leveldb::Status Sync() override;
  leveldb::Status Close() override;

 private:
  void LowerSequence();

  const std::unique_ptr<leveldb::WritableFile> file_;
  const std::function<uint64_t(uint64_t log)> first_sequence_;
  // LevelDB appends the header of a fragment, then its bytes, and flushes it.
  std::string pending_;
  size_t header_ = 0, payload_ = 0;
};

}  // namespace cldb
