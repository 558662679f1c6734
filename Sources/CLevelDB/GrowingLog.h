// A log of LevelDB that another process may be writing.
//
// Bytes after the last whole record may still be written, so they are neither torn nor damaged: the next call reads
// them again. Only a caller that knows what was written can detect that something is missing.
//
// Used by one thread at a time.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "Folder.h"
#include "leveldb/slice.h"

namespace cldb {

class GrowingLog {
 public:
  // `folder` must outlive the result. The file stays open, so it can be read to its end after it was removed.
  static leveldb::Status Open(const Folder& folder, const std::string& name, std::unique_ptr<GrowingLog>* result);
  ~GrowingLog();
  GrowingLog(const GrowingLog&) = delete;
  GrowingLog& operator=(const GrowingLog&) = delete;

  // Calls `see` with each key and value of the records completed since the last call, in order.
  leveldb::Status Read(const std::function<void(const leveldb::Slice& key, const leveldb::Slice& value)>& see);

 private:
  GrowingLog(const Folder& folder, std::string name, int descriptor)
      : folder_(folder), name_(std::move(name)), descriptor_(descriptor) {}

  const Folder& folder_;
  const std::string name_;
  const int descriptor_;
  uint64_t offset_ = 0;  // where the first unseen record begins
};

}  // namespace cldb
