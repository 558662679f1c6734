// A log of LevelDB that another process may be writing.
//
// What stands behind the last whole record may be on its way to the file, so it is neither torn nor damaged: it is
// looked at again by the next call. Whether something is missing, only one can tell who knows what was written.
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
  // `folder` must outlive the result. The file is held open, so it can be read to its end after it was removed.
  static leveldb::Status Open(const Folder& folder, const std::string& name, std::unique_ptr<GrowingLog>* result);
  ~GrowingLog();
  GrowingLog(const GrowingLog&) = delete;
  GrowingLog& operator=(const GrowingLog&) = delete;

  // Calls `see` with each key and value of the records that have become whole since the last call, in order.
  leveldb::Status Read(const std::function<void(const leveldb::Slice& key, const leveldb::Slice& value)>& see);

 private:
  GrowingLog(const Folder& folder, std::string name, int descriptor)
      : folder_(folder), name_(std::move(name)), descriptor_(descriptor) {}

  const Folder& folder_;
  const std::string name_;
  const int descriptor_;
  uint64_t offset_ = 0;  // where the first record begins that was not seen
};

}  // namespace cldb
