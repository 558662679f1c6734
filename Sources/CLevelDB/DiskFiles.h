// Files on disk, as LevelDB wants them. Each is used by one thread at a time, but for DiskTable.

#pragma once

#include <memory>
#include <string>

#include "Folder.h"
#include "leveldb/env.h"

namespace cldb {

// A table, read at any place. Not mapped: a mapped table that is cut while it is open ends the process.
// What is read is one block with its trailer, or the footer, and is looked at before LevelDB gets it.
class DiskTable final : public leveldb::RandomAccessFile {
 public:
  static leveldb::Status Open(const Folder& folder, const std::string& name, std::unique_ptr<DiskTable>* result);
  ~DiskTable() override;
  leveldb::Status Read(uint64_t offset, size_t count, leveldb::Slice* result, char* scratch) const override;
  uint64_t size() const { return size_; }

 private:
  DiskTable(const Folder& folder, std::string name, int descriptor, uint64_t size)
      : folder_(folder), name_(std::move(name)), descriptor_(descriptor), size_(size) {}

  leveldb::Status ReadAll(uint64_t offset, size_t count, char* scratch) const;
  leveldb::Status CheckIndex(const char* footer) const;

  leveldb::Status Damage(const char* what) const;

  const Folder& folder_;
  const std::string name_;
  const int descriptor_;
  const uint64_t size_;
};

// A new file. Its first flush also flushes its folder, without which the name could be lost in a crash.
class DiskWriter final : public leveldb::WritableFile {
 public:
  DiskWriter(Folder& folder, std::string name, int descriptor);
  ~DiskWriter() override;
  leveldb::Status Append(const leveldb::Slice& data) override;
  leveldb::Status Close() override;
  leveldb::Status Flush() override;
  leveldb::Status Sync() override;

 private:
  static constexpr size_t kBufferSize = 64 * 1024;

  Folder& folder_;
  const std::string name_;
  int descriptor_;
  uint64_t offset_ = 0;
  bool name_is_flushed_ = false;
  size_t used_ = 0;
  const std::unique_ptr<char[]> buffer_;
};

}  // namespace cldb
