// A new file of LevelDB: in memory until `Put`, then on disk.
//
// The first flush also flushes the folder, because a crash could otherwise lose the name.
//
// Zeros are written after the end of a log, and appended bytes overwrite them. A flush then changes neither the size of
// the file nor its blocks. So the file system has no metadata to flush, and a flush takes about two thirds of the time.
// LevelDB's format allows the zeros, and RecordFile does not treat them as a torn tail.
//
// Safe to use from any thread.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "FileName.h"
#include "Folder.h"
#include "Table.h"
#include "leveldb/env.h"

namespace cldb {

class NewFile {
 public:
  // See `LowerSequence` (Manifest.h).
  using FirstSequence = std::function<uint64_t(uint64_t log)>;

  // Appending in memory fails once `is_sealed` is true.
  NewFile(Folder& folder, std::string name, const std::atomic<bool>& is_sealed, FirstSequence first_sequence);
  ~NewFile() { Close(); }

  leveldb::Status Append(const leveldb::Slice& data);
  // Writes the buffer if the file is a log. LevelDB also flushes a table after each block, which would be many small
  // writes, but it reads no table or manifest before the file is synced or closed.
  leveldb::Status Flush();
  leveldb::Status Sync();
  // Closes the file. Closing again does nothing.
  leveldb::Status Close();
  // Reads a part of a table. Only for tables.
  leveldb::Status Read(uint64_t offset, size_t count, leveldb::Slice* result, char* scratch) const;
  std::string bytes() const;
  // The sequence number of the first record of a log; 0 if there is none.
  uint64_t first_sequence() const;

  // Creates the file under a name, and writes and flushes the buffer.
  leveldb::Status Put(const std::string& name);
  // Renames a file that is on disk and open, replacing the target, and flushes the folder.
  leveldb::Status Rename(const std::string& name);

 private:
  leveldb::Status CloseFile();
  leveldb::Status WriteBuffer();
  leveldb::Status WriteAndSync();
  void WriteZerosAhead();

  Folder& folder_;
  const FileName::Kind kind_;
  const std::atomic<bool>& is_sealed_;
  const FirstSequence first_sequence_;

  mutable std::mutex mutex_;  // guards what follows
  std::string name_;
  std::string start_;         // the first bytes
  std::string buffer_;        // the bytes that are not on disk yet
  size_t record_ = 0;         // where the last record of a manifest begins in the buffer
  bool is_closed_ = false;
  int descriptor_ = -1;       // while it is open on disk
  uint64_t offset_ = 0;       // the end on disk
  uint64_t synced_ = 0;       // the offset at the last flush
  uint64_t zeros_end_ = 0;
  bool writes_zeros_;
  bool is_on_disk_ = false;
  bool name_is_flushed_ = false;
  std::unique_ptr<TableFile> table_;  // set when a table is closed on disk, and never changed again
};

}  // namespace cldb
