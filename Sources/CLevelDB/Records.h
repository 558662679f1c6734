// LevelDB's format of logs and manifests (its doc/log_format.md), and the contents of logs: batches of keys and
// values.
//
// LevelDB silently treats a short read, a truncated file and many flipped bits as the end of the file, even with
// paranoid checks. Here a file is read to the end that the file system reports, and bytes after the last whole record
// are either the torn tail of one write, or damage.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "Folder.h"
#include "leveldb/slice.h"

namespace cldb {

// A file consists of blocks, and a record of one or more fragments, none of which crosses the end of a block. Each
// fragment has a header: checksum (4 bytes), length (2), type (1).
constexpr size_t kRecordBlockSize = 32768;
constexpr size_t kRecordHeaderSize = 7;

struct Fragment {
  int type = 0;
  size_t size = 0;     // with the header
  bool whole = false;  // the fragment ends inside of the block and has the right checksum

  // Whether a record begins with this fragment.
  bool begins() const;
};

// Reads the fragment at the start of `block`, which is the rest of a block.
Fragment ReadFragment(const leveldb::Slice& block);

bool AreZeros(const leveldb::Slice& bytes);

// Joins the fragments of records.
class RecordJoiner {
 public:
  // Takes the next fragment from the rest of a block. Returns false, with nothing taken, if no valid one follows.
  bool Take(leveldb::Slice* block);
  // Whether the last fragment was the end of a record.
  bool is_whole() const { return !is_inside_; }
  // The bytes of the record that has just ended. They are valid until the next `Take`, and only as long as the block.
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
  explicit RecordCursor(const leveldb::Slice& bytes) : bytes_(bytes) {}
  // Returns false after the last record. `record` is valid until the next call.
  bool Next(leveldb::Slice* record);
  // Where the next record begins.
  size_t offset() const { return offset_; }

 private:
  const leveldb::Slice bytes_;
  size_t offset_ = 0;
  RecordJoiner joiner_;
};

struct RecordFile {
  enum class Kind { kLog, kManifest };
  enum class Tail {
    kNone,    // the file ends with a whole record; in a log, zeros may follow it
    kTorn,    // only the last record is cut or garbled. No other can be unconfirmed, because each record is flushed
              // before the next is written
    kDamage,  // whole records follow garbled bytes, or a batch is one that LevelDB would not have written
  };

  // The file up to the end of its last whole record before the first error.
  std::string bytes;
  uint64_t file_size = 0;
  Tail tail = Tail::kNone;

  // Reads a file. Fails only if the system does, not for wrong bytes. Memory is allocated only for whole records, so
  // that a sparse file costs none.
  static leveldb::Status Read(const Folder& folder, const std::string& name, Kind kind, RecordFile* result);
};

// Receives the keys and values of batches, in order.
using EntryReceiver = std::function<void(const leveldb::Slice& key, const leveldb::Slice& value)>;

// Calls `see` with each key and value of a record that is a batch. Returns false, without a call, if it is not a batch.
bool ReadBatch(const leveldb::Slice& record, const EntryReceiver& see);

// Ranges of keys: each has the first and the last of all keys that begin with the same byte. In a journal, each kind of
// key begins with a different byte.
using KeyRanges = std::vector<std::pair<std::string, std::string>>;

// The ranges of keys in intact bytes of a log.
KeyRanges ReadKeyRanges(const std::string& log);

// A log that another process may be writing.
//
// Bytes after the last whole record may be a write in progress, so the next call reads them again. Only a caller that
// knows what was written can detect that something is missing. For one thread at a time.
class GrowingLog {
 public:
  // Opens a log. `folder` must outlive the result.
  static leveldb::Status Open(const Folder& folder, const std::string& name, std::unique_ptr<GrowingLog>* result);

  // Calls `see` with the entries of the batches that were completed since the last call.
  leveldb::Status Read(const EntryReceiver& see);

 private:
  explicit GrowingLog(const Folder& folder) : folder_(folder) {}

  const Folder& folder_;
  OpenFile file_;
  uint64_t offset_ = 0;  // where the first unseen record begins
};

}  // namespace cldb
