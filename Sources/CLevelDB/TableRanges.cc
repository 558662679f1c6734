#include "TableRanges.h"

#include "Failure.h"
#include "InternalKey.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/table.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

namespace {

Status ReadRanges(leveldb::Iterator* position, KeyRanges* ranges) {
  position->SeekToFirst();
  while (position->Valid() && position->key().size() > kTrailerSize) {
    std::string first = UserKey(position->key()).ToString();
    unsigned char tag = static_cast<unsigned char>(first[0]);
    const std::string next(1, static_cast<char>(tag + 1));
    // The iterator compares whole keys bytewise, which differs from LevelDB's order, but not for keys with different
    // first bytes.
    if (tag < 0xff) position->Seek(next);
    bool is_last = tag == 0xff || !position->Valid();
    if (!position->status().ok()) break;
    if (is_last) {
      position->SeekToLast();
    } else {
      position->Prev();
    }
    if (!position->Valid() || position->key().size() <= kTrailerSize) break;
    ranges->push_back({std::move(first), UserKey(position->key()).ToString()});
    if (is_last) break;
    position->Next();
  }
  return position->status();
}

}  // namespace

Status ReadKeyRanges(std::unique_ptr<leveldb::RandomAccessFile> file, uint64_t size, KeyRanges* ranges) {
  leveldb::Options options;
  options.paranoid_checks = true;
  leveldb::ReadOptions reading;
  reading.verify_checksums = true;
  reading.fill_cache = false;
  try {
    leveldb::Table* opened = nullptr;
    Status status = leveldb::Table::Open(options, file.get(), size, &opened);
    if (!status.ok()) return status;
    std::unique_ptr<leveldb::Table> table(opened);
    std::unique_ptr<leveldb::Iterator> position(table->NewIterator(reading));
    return ReadRanges(position.get(), ranges);
  } catch (const std::bad_alloc&) {
    return Failed(CLDB_DAMAGED, "a table", "it requires more memory than the system has");
  }
}

}  // namespace cldb
