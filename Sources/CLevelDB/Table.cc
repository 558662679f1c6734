#include "Table.h"

#include <cstring>
#include <utility>

#include "Failure.h"
#include "Snappy.h"
#include "leveldb/options.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

namespace {

constexpr size_t kFooterSize = 48;
constexpr unsigned char kTableMagic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
// A block is followed by its compression type (1 byte) and a checksum of both (4 bytes).
constexpr size_t kBlockTrailerSize = 5;
constexpr char kUncompressed = 0, kSnappy = 1;

// Whether a block with its trailer is inside of a file, and has at most the largest size.
bool IsPlace(uint64_t offset, uint64_t size, uint64_t file_size) {
  return size <= kLargestBlock && offset <= file_size && size <= file_size - offset &&
         file_size - offset - size >= kBlockTrailerSize;
}

// Whether bytes are a footer. A block has its compression type, 0 or 1, in place of the fourth byte of the magic
// number, so no block looks like a footer.
bool IsFooter(const char* bytes, size_t count) {
  return count == kFooterSize &&
         std::memcmp(bytes + kFooterSize - sizeof(kTableMagic), kTableMagic, sizeof(kTableMagic)) == 0;
}

// Reads the place of the index block from a footer. Returns false if a handle points outside of the file.
bool ReadFooter(const char* bytes, uint64_t file_size, uint64_t* offset, uint64_t* size) {
  const char* limit = bytes + kFooterSize - sizeof(kTableMagic);
  for (int handle = 0; handle < 2; handle++) {  // the metaindex block's, then the index block's
    if (!ReadVarint(bytes, limit, offset) || !ReadVarint(bytes, limit, size)) return false;
    if (!IsPlace(*offset, *size, file_size)) return false;
  }
  return true;
}

bool BlockIsWhole(const char* bytes, size_t count) {
  // The checksum includes the type.
  return Checksum(bytes, count - 4) == ReadFixed32(bytes + count - 4);
}

// Finds the contents of a block of `count` bytes with its trailer. If the block is compressed, `buffer` holds them.
// Returns null, or a text that says what is wrong.
const char* ReadContents(const char* bytes, size_t count, std::string* buffer, Slice* contents) {
  if (count < kBlockTrailerSize) return "a block of the table is too short";
  const size_t size = count - kBlockTrailerSize;
  *contents = Slice(bytes, size);
  if (bytes[size] == kUncompressed) return nullptr;
  if (!BlockIsWhole(bytes, count)) return "the checksum of a block of the table is wrong";
  if (bytes[size] != kSnappy)
    return "a block of the table is compressed, but not with Snappy: a program other than LevelDB 1.23 wrote it";
  if (!Uncompress(*contents, buffer)) return "a compressed block of the table can't be uncompressed";
  *contents = *buffer;
  return nullptr;
}

// Reads a number of up to 32 bits. Most numbers in blocks have one byte.
inline bool ReadLength(const char*& bytes, const char* limit, uint64_t* value) {
  if (bytes == limit || *bytes & 0x80) return ReadShortVarint(bytes, limit, value);
  *value = *bytes++;
  return true;
}

// Checks a block, and finds its first and last key, which are empty if it has no entries. Returns false if LevelDB
// could not have written or read the block: each entry must be inside, each key an internal key after the previous one,
// and each restart point the offset of a complete key.
bool ReadBlock(const Slice& contents, std::string* first, std::string* last) {
  first->clear();
  last->clear();
  const char* bytes = contents.data();
  const size_t size = contents.size();
  if (size < 4) return false;
  // The block ends with its restart points, each the offset of an entry, and their number.
  uint64_t restarts = ReadFixed32(bytes + size - 4);
  if (restarts > size / 4 - 1) return false;
  const char* entries_end = bytes + size - 4 * (restarts + 1);
  uint64_t next_restart = 0;
  std::string key;
  for (const char* entry = bytes; entry < entries_end;) {
    bool is_first = entry == bytes;
    bool is_restart =
        next_restart < restarts && ReadFixed32(entries_end + 4 * next_restart) == uint64_t(entry - bytes);
    uint64_t shared, unshared, value_size;
    if (!ReadLength(entry, entries_end, &shared) || !ReadLength(entry, entries_end, &unshared) ||
        !ReadLength(entry, entries_end, &value_size))
      return false;
    if (shared > last->size() || (is_restart && shared > 0)) return false;
    if (unshared + value_size > uint64_t(entries_end - entry)) return false;
    key.assign(*last, 0, shared).append(entry, unshared);
    if (!IsInternalKey(key) || (!is_first && CompareKeys(*last, key) >= 0)) return false;
    if (is_first) *first = key;
    key.swap(*last);
    if (is_restart) next_restart++;
    entry += unshared + value_size;
  }
  // A block without entries nevertheless has one restart point, at 0.
  if (entries_end == bytes) return restarts <= 1 && (restarts == 0 || ReadFixed32(entries_end) == 0);
  return next_restart == restarts && restarts > 0;
}

}  // namespace

TableIndex::TableIndex(std::string block, uint64_t file_size, bool* valid) : block_(std::move(block)) {
  *valid = false;
  const size_t restarts = ReadFixed32(&block_[block_.size() - 4]);
  entries_end_ = block_.size() - 4 * (restarts + 1);
  // A block without entries has one restart point that refers to no entry.
  count_ = entries_end_ > 0 ? restarts : 0;
  uint64_t end = 0;
  for (size_t index = 0; index < count_; index++) {
    Slice key;
    uint64_t offset, size;
    if (!ReadEntry(index, &key, &offset, &size) || offset < end || !IsPlace(offset, size, file_size)) return;
    end = offset + size;
  }
  *valid = true;
}

bool TableIndex::Allows(uint64_t offset, const Slice& first, const Slice& last) const {
  if (last.empty()) return false;
  // Finds the first entry whose key is not below the last key of the block.
  size_t index = 0;
  for (size_t end = count_; index < end;) {
    const size_t middle = index + (end - index) / 2;
    if (CompareKeys(KeyOf(middle), last) < 0) index = middle + 1;
    else end = middle;
  }
  Slice key;
  uint64_t found, size;
  return index < count_ && ReadEntry(index, &key, &found, &size) && found == offset &&
         (index == 0 || CompareKeys(first, KeyOf(index - 1)) > 0);
}

Slice TableIndex::KeyOf(size_t index) const {
  Slice key;
  uint64_t offset, size;
  ReadEntry(index, &key, &offset, &size);
  return key;
}

bool TableIndex::ReadEntry(size_t index, Slice* key, uint64_t* offset, uint64_t* size) const {
  const char* limit = &block_[entries_end_];
  const char* entry = &block_[ReadFixed32(limit + 4 * index)];
  uint64_t shared, unshared, value_size;
  if (!ReadShortVarint(entry, limit, &shared) || !ReadShortVarint(entry, limit, &unshared) ||
      !ReadShortVarint(entry, limit, &value_size) || shared > 0)
    return false;
  *key = Slice(entry, unshared);
  entry += unshared;
  // Each entry must be a restart point, or LevelDB would read a handle that was not checked here. After the last
  // restart point comes their number, which is below the offset of any second entry, so a further entry is refused.
  const char* next = entry + value_size;
  if (next < limit && next != &block_[ReadFixed32(limit + 4 * (index + 1))]) return false;
  return ReadVarint(entry, limit, offset) && ReadVarint(entry, limit, size);
}

Status TableFile::Open(const Folder& folder, const std::string& name, const TableInfo* info,
                       std::unique_ptr<TableFile>* result) {
  std::unique_ptr<TableFile> table(new TableFile(folder, info));
  CLDB_TRY(folder.OpenForReading(name, &table->file_));
  *result = std::move(table);
  return Status::OK();
}

Status TableFile::Read(uint64_t offset, size_t count, Slice* result, char* scratch) const {
  *result = Slice();
  CLDB_TRY(ReadAll(offset, count, scratch));
  if (IsFooter(scratch, count)) {
    CLDB_TRY(ReadIndex(scratch));
  } else {
    std::string buffer, first, last;
    Slice contents;
    if (const char* problem = ReadContents(scratch, count, &buffer, &contents)) return Damage(problem);
    if (!ReadBlock(contents, &first, &last) || !IsInItsPlace(offset, first, last))
      return Damage("a block of the table is altered");
  }
  *result = Slice(scratch, count);
  return Status::OK();
}

Status TableFile::ReadAll(uint64_t offset, size_t count, char* scratch) const {
  if (offset > file_.size || count > file_.size - offset) return Damage("the table ends before the requested block");
  size_t read;
  Status status = folder_.Read(file_, offset, count, scratch, &read);
  if (status.ok() && read < count) return Damage("the table was cut short while it was open");
  return status;
}

Status TableFile::Damage(const char* what) const { return Failed(CLDB_DAMAGED, folder_.PathOf(file_.name), what); }

Status TableFile::ReadIndex(const char* footer) const {
  uint64_t offset, size;
  if (!ReadFooter(footer, file_.size, &offset, &size)) return Damage("the table's footer points outside of the file");
  std::string index(size + kBlockTrailerSize, 0);
  CLDB_TRY(ReadAll(offset, index.size(), &index[0]));
  std::string buffer, first, last;
  Slice contents;
  if (!BlockIsWhole(index.data(), index.size())) return Damage("the checksum of the table's index is wrong");
  if (const char* problem = ReadContents(index.data(), index.size(), &buffer, &contents)) return Damage(problem);
  bool is_index = ReadBlock(contents, &first, &last);
  // The handles are checked also without `info`, because LevelDB allocates whatever a handle requests.
  if (is_index) {
    index_offset_ = offset;
    index_ = TableIndex(contents.ToString(), file_.size, &is_index);
  }
  return is_index ? Status::OK() : Damage("the table's index is altered");
}

bool TableFile::IsInItsPlace(uint64_t offset, const std::string& first, const std::string& last) const {
  if (!info_.has_value() || offset == index_offset_) return true;
  return index_.Allows(offset, first, last) && UserKey(first).compare(info_->smallest) >= 0 &&
         UserKey(last).compare(info_->largest) <= 0;
}

Status TableCursor::Open(const Folder& folder, const std::string& name, const TableInfo* info,
                         std::unique_ptr<TableCursor>* result) {
  auto cursor = std::make_unique<TableCursor>();
  CLDB_TRY(TableFile::Open(folder, name, info, &cursor->file_));
  leveldb::Options options;
  options.paranoid_checks = true;
  options.comparator = &cursor->order_;
  leveldb::Table* table = nullptr;
  CLDB_TRY(leveldb::Table::Open(options, cursor->file_.get(), cursor->file_->size(), &table));
  cursor->table_.reset(table);
  leveldb::ReadOptions reading;
  reading.verify_checksums = true;
  reading.fill_cache = false;
  cursor->position_.reset(table->NewIterator(reading));
  *result = std::move(cursor);
  return Status::OK();
}

void TableCursor::Seek(const Slice& key) { position_->Seek(key.ToString() + std::string(kTrailerSize, '\0')); }

Status TableCursor::AddRanges(KeyRanges* ranges) {
  position_->SeekToFirst();
  while (IsAtKey() && !key().empty()) {
    std::string first = key().ToString();
    const unsigned char tag = static_cast<unsigned char>(first[0]);
    if (tag < 0xff) Seek(std::string(1, static_cast<char>(tag + 1)));
    const bool is_last = tag == 0xff || !IsAtKey();
    if (is_last) {
      position_->SeekToLast();
    } else {
      position_->Prev();
    }
    if (!IsAtKey()) break;
    ranges->push_back({std::move(first), key().ToString()});
    if (is_last) break;
    position_->Next();
  }
  return status();
}

}  // namespace cldb
