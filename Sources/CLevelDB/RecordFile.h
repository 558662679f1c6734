// LevelDB's format of logs and manifests (its doc/log_format.md), read more strictly than LevelDB reads it.
//
// LevelDB silently treats a short read, a cut file and many flipped bits as the end of the file, even with paranoid
// checks. Here a file is read to the end that the file system reports. Bytes after the last whole record are either the
// torn tail of one write, or damage.

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "Folder.h"
#include "leveldb/slice.h"

namespace cldb {

// A batch begins with the sequence number of its first change (8 bytes) and their number (4).
constexpr size_t kBatchHeaderSize = 12;

struct RecordFile {
  enum class Tail {
    kNone,    // the file ends with a whole record; in a log, zeros may follow it
    kTorn,    // one record, the last, is cut or garbled. A flush was never confirmed for it, since each
              // record is flushed before the next is written
    kDamage,  // whole records follow garbled bytes
  };

  // The file up to the end of its last whole record before anything that is wrong.
  std::string bytes;
  uint64_t file_size = 0;
  Tail tail = Tail::kNone;

  enum class Kind { kLog, kManifest };

  // Reads a file. Fails only if the system does, not for wrong bytes. Memory is allocated only for whole records, so a
  // sparse file costs none.
  static leveldb::Status Read(const Folder& folder, const std::string& name, Kind kind, RecordFile* result);

  // Calls `take` with every whole record of a log, also with those after an error. There, bytes of an entry may be taken
  // for a record, so each needs a proof of its own. `is_altered` is set if records follow an error. The status is that
  // of the first block that can't be read; the others are read nevertheless.
  static leveldb::Status ReadAround(const Folder& folder, const std::string& name, bool* is_altered,
                                    const std::function<void(const leveldb::Slice&)>& take);
};

// Joins a record from its fragments.
class RecordJoiner {
 public:
  static constexpr size_t kHeaderSize = 7;

  // Takes the next fragment from the rest of a block. False, with nothing taken, if there is no complete next fragment.
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

// Iterates over the records of intact bytes.
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
