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

// Puts a record together from its fragments.
class RecordJoiner {
 public:
  static constexpr size_t kHeaderSize = 7;

  // Takes the next fragment from what is left of a block. False, with nothing taken, if no whole one that can be the
  // next stands there.
  bool Take(leveldb::Slice* block);
  // Whether the last fragment was the end of a record.
  bool is_whole() const { return !is_inside_; }
  // That record; valid until the next call, and as long as the block.
  leveldb::Slice bytes() const { return is_joined_ ? leveldb::Slice(joined_) : single_; }

 private:
  bool is_inside_ = false;
  bool is_joined_ = false;
  leveldb::Slice single_;
  std::string joined_;
};

// Takes the records out of bytes that were found whole, one after the other.
class RecordCursor {
 public:
  static constexpr size_t kBlockSize = 32768;

  explicit RecordCursor(const leveldb::Slice& bytes) : bytes_(bytes) {}
  // False after the last one. `record` is valid until the next call.
  bool Next(leveldb::Slice* record);
  // Where the next record begins.
  size_t offset() const { return offset_; }

 private:
  const leveldb::Slice bytes_;
  size_t offset_ = 0;
  RecordJoiner joiner_;
};

}  // namespace cldb
