// A new file that is held in memory until it may be written to disk.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "DiskFiles.h"
#include "leveldb/env.h"

namespace cldb {

// Safe to use from any thread.
class StagedFile {
 public:
  StagedFile(std::string path, bool is_log, std::shared_ptr<const std::atomic<bool>> is_sealed)
      : path_(std::move(path)), is_log_(is_log), is_sealed_(std::move(is_sealed)) {}

  leveldb::Status Append(const leveldb::Slice& data);
  leveldb::Status Flush();
  leveldb::Status Sync();
  leveldb::Status Close();
  // Copies up to `count` bytes.
  leveldb::Status Read(uint64_t offset, size_t count, leveldb::Slice* result, char* scratch) const;
  std::string bytes() const;

  // Writes and flushes the bytes and the name, and frees the memory. Later appends go to disk at once.
  leveldb::Status Put(Folder& folder, const std::string& name);
  // Renames a file that is on disk and not closed, replacing the target.
  leveldb::Status Rename(Folder& folder, const std::string& name);

 private:
  const std::string path_;
  const bool is_log_;
  const std::shared_ptr<const std::atomic<bool>> is_sealed_;
  mutable std::mutex mutex_;  // guards what follows
  std::string bytes_;
  bool is_closed_ = false;
  std::unique_ptr<DiskWriter> writer_;  // once it is on disk, until it is closed
  // Once it is on disk and closed; then it is never changed again.
  std::unique_ptr<DiskTable> table_;
  std::atomic<bool> is_on_disk_{false};
};

// LevelDB's interfaces to a staged file.
class StagedWriter final : public leveldb::WritableFile {
 public:
  explicit StagedWriter(std::shared_ptr<StagedFile> file) : file_(std::move(file)) {}
  leveldb::Status Append(const leveldb::Slice& data) override { return file_->Append(data); }
  leveldb::Status Close() override { return file_->Close(); }
  leveldb::Status Flush() override { return file_->Flush(); }
  leveldb::Status Sync() override { return file_->Sync(); }

 private:
  const std::shared_ptr<StagedFile> file_;
};

class StagedTable final : public leveldb::RandomAccessFile {
 public:
  explicit StagedTable(std::shared_ptr<StagedFile> file) : file_(std::move(file)) {}
  leveldb::Status Read(uint64_t offset, size_t count, leveldb::Slice* result, char* scratch) const override;

 private:
  const std::shared_ptr<StagedFile> file_;
};

// Bytes that were read and checked before.
class BytesReader final : public leveldb::SequentialFile {
 public:
  explicit BytesReader(std::string bytes) : bytes_(std::move(bytes)) {}
  leveldb::Status Read(size_t count, leveldb::Slice* result, char* scratch) override;
  leveldb::Status Skip(uint64_t count) override;

 private:
  const std::string bytes_;
  size_t offset_ = 0;
};

}  // namespace cldb
