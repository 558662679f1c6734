// LevelDB's interfaces to files on disk. Each is used by one thread at a time, except DiskTable.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "Folder.h"
#include "Manifest.h"
#include "TableBlock.h"
#include "leveldb/env.h"

namespace cldb {

// A table with random access. It is not mapped, because a mapped table that is cut while it is open ends the process. A
// read is one block with its trailer, or the footer, and is checked before LevelDB gets it: LevelDB checks assumptions
// about its tables with assertions, and a failed assertion ends the process.
class DiskTable final : public leveldb::RandomAccessFile {
 public:
  // `info` is the manifest's entry of the table. If it is null because the manifest does not name the table yet, the
  // positions of blocks are not checked.
  static leveldb::Status Open(const Folder& folder, const std::string& name, const TableInfo* info,
                              std::unique_ptr<DiskTable>* result);
  ~DiskTable() override;
  leveldb::Status Read(uint64_t offset, size_t count, leveldb::Slice* result, char* scratch) const override;
  uint64_t size() const { return size_; }

 private:
  DiskTable(const Folder& folder, std::string name, const TableInfo* info, int descriptor, uint64_t size)
      : folder_(folder), name_(std::move(name)), descriptor_(descriptor), size_(size) {
    if (info != nullptr) info_ = *info;
  }

  leveldb::Status ReadAll(uint64_t offset, size_t count, char* scratch) const;
  leveldb::Status ReadIndex(const char* footer) const;
  // Whether a block at this offset, with these keys at its ends, is where the index says.
  bool IsInItsPlace(uint64_t offset, const std::string& first, const std::string& last) const;

  leveldb::Status Damage(const char* what) const;

  const Folder& folder_;
  const std::string name_;
  const int descriptor_;
  const uint64_t size_;
  std::optional<TableInfo> info_;
  // Read with the footer, which LevelDB reads first and once, before it shares the table among threads.
  mutable uint64_t index_offset_ = 0;
  mutable TableIndex index_;
};

// A new file. Its first flush also flushes its folder, without which the name could be lost in a crash.
//
// The writer of a log writes zeros after its end and appends over them. A flush then changes neither the size of the
// file nor its blocks, so the file system has no metadata to flush, and takes about two thirds of the time. LevelDB's
// format allows the zeros, and RecordFile does not take them for a torn tail.
class DiskWriter final : public leveldb::WritableFile {
 public:
  DiskWriter(Folder& folder, std::string name, int descriptor, bool is_log);
  ~DiskWriter() override;
  leveldb::Status Append(const leveldb::Slice& data) override;
  // Also flushes the name, and replaces the target.
  leveldb::Status Rename(const std::string& name);
  leveldb::Status Close() override;
  // Writes what a log has in memory. LevelDB flushes a table after each block, which would be many small writes, but
  // reads no table or manifest before it is synced or closed.
  leveldb::Status Flush() override;
  leveldb::Status Sync() override;

 private:
  static constexpr size_t kBufferSize = 64 * 1024;

  leveldb::Status WriteBuffer();
  void WriteZerosAhead();

  Folder& folder_;
  std::string name_;
  int descriptor_;
  const bool is_log_;
  bool writes_zeros_;
  uint64_t offset_ = 0;
  uint64_t synced_ = 0;  // the offset at the last flush
  uint64_t zeros_end_ = 0;
  bool name_is_flushed_ = false;
  size_t used_ = 0;
  const std::unique_ptr<char[]> buffer_;
};

}  // namespace cldb
