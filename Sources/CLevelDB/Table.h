// Tables on disk, with the checks that LevelDB omits: LevelDB allocates whatever a footer requests, and checks the
// structure of a block with assertions, which end the process.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "Coding.h"
#include "Folder.h"
#include "Manifest.h"
#include "Records.h"
#include "leveldb/comparator.h"
#include "leveldb/env.h"
#include "leveldb/iterator.h"
#include "leveldb/table.h"

namespace cldb {

// The index of a table: a block with an entry for each data block, in the order of keys and offsets. Each entry is a
// restart point. The key of an entry is at or after the last key of its data block.
class TableIndex {
 public:
  TableIndex() = default;
  // The caller has checked the block's entries. `valid` becomes false if they can't index a file of `file_size` bytes.
  TableIndex(std::string block, uint64_t file_size, bool* valid);

  // Whether the index allows a data block at an offset of the file to have the keys from `first` to `last`.
  bool Allows(uint64_t offset, const leveldb::Slice& first, const leveldb::Slice& last) const;

 private:
  // Reads an entry: a key, and then an offset and a size. Returns false if one of them is incomplete.
  bool ReadEntry(size_t index, leveldb::Slice* key, uint64_t* offset, uint64_t* size) const;
  leveldb::Slice KeyOf(size_t index) const;

  std::string block_;
  // The offset in the block at which its entries end and its restart points start.
  size_t entries_end_ = 0;
  size_t count_ = 0;
};

// The file of a table. A read is one block with its trailer, or the footer, and is checked before LevelDB gets it.
// Files are not mapped, because truncation of a mapped file ends the process.
class TableFile final : public leveldb::RandomAccessFile {
 public:
  // `info` is the manifest's entry of the table. If it is null because the manifest does not name the table yet, the
  // positions of blocks are not checked.
  static leveldb::Status Open(const Folder& folder, const std::string& name, const TableInfo* info,
                              std::unique_ptr<TableFile>* result);
  leveldb::Status Read(uint64_t offset, size_t count, leveldb::Slice* result, char* scratch) const override;
  uint64_t size() const { return file_.size; }

 private:
  TableFile(const Folder& folder, const TableInfo* info) : folder_(folder) {
    if (info != nullptr) info_ = *info;
  }

  leveldb::Status ReadAll(uint64_t offset, size_t count, char* scratch) const;
  leveldb::Status ReadIndex(const char* footer) const;
  // Whether the index and the manifest allow a block at this offset with these first and last keys.
  bool IsInItsPlace(uint64_t offset, const std::string& first, const std::string& last) const;
  leveldb::Status Damage(const char* what) const;

  const Folder& folder_;
  OpenFile file_;
  std::optional<TableInfo> info_;
  // Set when LevelDB reads the footer, which it does once and first, before it shares the table among threads.
  mutable uint64_t index_offset_ = 0;
  mutable TableIndex index_;
};

// Iterates over the keys of one table. Unreadable blocks are skipped, and then `status` is not OK.
class TableCursor {
 public:
  // Opens a table. `info` is as in `TableFile::Open`.
  static leveldb::Status Open(const Folder& folder, const std::string& name, const TableInfo* info,
                              std::unique_ptr<TableCursor>* result);

  // Adds the table's ranges of keys. Reads two blocks for each range.
  leveldb::Status AddRanges(KeyRanges* ranges);
  // Moves to the first key at or after `key`.
  void Seek(const leveldb::Slice& key);
  bool IsAtKey() const { return position_->Valid(); }
  leveldb::Slice key() const { return UserKey(position_->key()); }
  leveldb::Slice value() const { return position_->value(); }
  leveldb::Status status() const { return position_->status(); }

 private:
  // The order of user keys. Each key is written once, so trailers need no comparison.
  class KeyOrder final : public leveldb::Comparator {
   public:
    int Compare(const leveldb::Slice& left, const leveldb::Slice& right) const override {
      return UserKey(left).compare(UserKey(right));
    }
    const char* Name() const override { return "cldb.table"; }
    // LevelDB calls these only when it writes tables.
    void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
    void FindShortSuccessor(std::string*) const override {}
  };

  KeyOrder order_;
  std::unique_ptr<TableFile> file_;
  std::unique_ptr<leveldb::Table> table_;
  std::unique_ptr<leveldb::Iterator> position_;
};

}  // namespace cldb
