// LevelDB's format of logs and manifests (its doc/log_format.md), read more strictly than LevelDB reads it.
//
// LevelDB takes a short read, a cut and many a flipped bit for the end of the file, in silence, paranoid or not.
// Here a file is read to the end that the file system gives, and each byte behind the last whole record is
// accounted for: it is what a power loss can leave of one write, or it is damage.

#pragma once

#include <cstdint>
#include <string>

#include "Folder.h"
#include "leveldb/slice.h"

namespace cldb {

struct RecordFile {
  enum class Tail {
    kNone,    // the file ends with a whole record
    kTorn,    // one record, the last, is cut or garbled. A flush was never confirmed for it, since each
              // record is flushed before the next is written
    kDamage,  // what is garbled has whole records behind it
  };

  // The file up to the end of its last whole record before anything that is wrong.
  std::string bytes;
  uint64_t file_size = 0;
  Tail tail = Tail::kNone;

  enum class Kind { kLog, kManifest };

  // Reads a file. Fails when the system does, and for nothing that is wrong with the bytes. Memory is taken for
  // whole records only, so a file made long by a hole costs none.
  static leveldb::Status Read(const Folder& folder, const std::string& name, Kind kind, RecordFile* result);
};

// Takes the records out of bytes that were found whole, one after the other.
class RecordCursor {
 public:
  explicit RecordCursor(const leveldb::Slice& bytes) : bytes_(bytes) {}
  // False after the last one. `record` is valid until the next call.
  bool Next(leveldb::Slice* record);
  // Where the next record begins.
  size_t offset() const { return offset_; }

 private:
  const leveldb::Slice bytes_;
  size_t offset_ = 0;
  std::string joined_;
};

}  // namespace cldb
