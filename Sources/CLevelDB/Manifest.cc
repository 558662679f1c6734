#include "Manifest.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "Coding.h"
#include "Failure.h"
#include "FileName.h"
#include "InternalKey.h"
#include "RecordFile.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

namespace {

constexpr uint64_t kLevels = 7;
// LevelDB ends the process at 2^56. No database comes near this.
constexpr uint64_t kLargestSequence = (uint64_t(1) << 55) - 1;

struct Named {
  uint64_t size;
  std::string smallest, largest;

  bool operator==(const Named& other) const {
    return size == other.size && smallest == other.smallest && largest == other.largest;
  }
};

class Reader {
 public:
  // False if LevelDB does not write such a record. If another program does, `other_writer` says so.
  bool Apply(const Slice& record, std::string* other_writer) {
    const char* bytes = record.data();
    const char* limit = bytes + record.size();
    std::map<Place, Named> added;
    while (bytes < limit) {
      uint64_t tag, level, number;
      Slice text, other;
      if (!ReadShortVarint(bytes, limit, &tag)) return false;
      switch (tag) {
        case kComparator:
          if (!ReadBytes(bytes, limit, &text)) return false;
          if (text == Slice("leveldb.BytewiseComparator")) break;
          *other_writer = "the keys have the order of another program, \"" + Printable(text) + "\"";
          return false;
        case kLogNumber:
          if (!ReadNumber(bytes, limit, &log_number)) return false;
          has_log_number = true;
          break;
        case kPreviousLogNumber:
          if (!ReadNumber(bytes, limit, &previous_log_number)) return false;
          break;
        case kNextFileNumber:
          if (!ReadNumber(bytes, limit, &next_file_number)) return false;
          break;
        case kLastSequence:
          if (!ReadVarint(bytes, limit, &number) || number > kLargestSequence) return false;
          has_sequence = true;
          break;
        case kCompactPointer:
          if (!ReadLevel(bytes, limit, &level) || !ReadBytes(bytes, limit, &text) || !IsInternalKey(text)) return false;
          break;
        case kDeletedFile:
          if (!ReadLevel(bytes, limit, &level) || !ReadNumber(bytes, limit, &number)) return false;
          if (tables.erase({level, number}) == 0) return false;
          break;
        case kNewFile: {
          Named table;
          if (!ReadLevel(bytes, limit, &level) || !ReadNumber(bytes, limit, &number) ||
              !ReadVarint(bytes, limit, &table.size) || !ReadBytes(bytes, limit, &text) ||
              !ReadBytes(bytes, limit, &other) || !IsInternalKey(text) || !IsInternalKey(other))
            return false;
          table.smallest = text.ToString();
          table.largest = other.ToString();
          if (CompareKeys(table.smallest, table.largest) > 0) return false;
          // goleveldb names a new table twice, and LevelDB takes that for once.
          const auto named = added.find({level, number});
          if (named != added.end() && named->second == table) break;
          if (!placed.insert({level, number}).second) return false;
          added[{level, number}] = std::move(table);
          break;
        }
        default:
          *other_writer = "the manifest has a part that LevelDB 1.23 does not know, " + std::to_string(tag) +
                          ": another program, such as RocksDB or Pebble, has written to the database";
          return false;
      }
    }
    // A table that only moves to another level is deleted and added by one record.
    tables.merge(added);
    return true;
  }

  // What must hold after all records were read.
  bool IsSound() const {
    if (!has_log_number || !has_sequence || next_file_number == 0) return false;
    if (log_number >= next_file_number || previous_log_number >= next_file_number) return false;
    std::vector<uint64_t> numbers;
    for (const auto& table : tables) numbers.push_back(table.first.second);
    std::sort(numbers.begin(), numbers.end());
    if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) return false;
    if (!numbers.empty() && (numbers.front() == 0 || numbers.back() >= next_file_number)) return false;
    return !LevelsOverlap();
  }

  std::map<std::pair<uint64_t, uint64_t>, Named> tables;
  uint64_t log_number = 0, previous_log_number = 0, next_file_number = 0;
  bool has_log_number = false, has_sequence = false;

 private:
  using Place = std::pair<uint64_t, uint64_t>;  // level, number

  std::set<Place> placed;  // of all tables, also of those that were deleted: LevelDB uses no number twice

  static bool ReadLevel(const char*& bytes, const char* limit, uint64_t* level) {
    return ReadShortVarint(bytes, limit, level) && *level < kLevels;
  }

  static bool ReadNumber(const char*& bytes, const char* limit, uint64_t* number) {
    return ReadVarint(bytes, limit, number) && *number <= FileName::kLargestNumber;
  }

  // The first bytes of a name, for a message.
  static std::string Printable(const Slice& name) {
    std::string text = name.ToString().substr(0, 64);
    for (char& byte : text) {
      if (byte < ' ' || byte > '~') byte = '?';
    }
    return text;
  }

  // At all levels but the first, no two tables may have a key between the ends of both.
  bool LevelsOverlap() const {
    std::vector<std::pair<uint64_t, const Named*>> sorted;
    for (const auto& table : tables) {
      if (table.first.first > 0) sorted.push_back({table.first.first, &table.second});
    }
    std::sort(sorted.begin(), sorted.end(), [](const auto& left, const auto& right) {
      if (left.first != right.first) return left.first < right.first;
      return CompareKeys(left.second->smallest, right.second->smallest) < 0;
    });
    for (size_t index = 1; index < sorted.size(); index++) {
      const auto &before = sorted[index - 1], &table = sorted[index];
      if (before.first == table.first && CompareKeys(before.second->largest, table.second->smallest) >= 0) return true;
    }
    return false;
  }
};

}  // namespace

Status Manifest::Read(const Slice& bytes, const std::string& path, Manifest* result) {
  RecordCursor cursor(bytes);
  Reader reader;
  Slice record;
  size_t offset = 0;
  while (cursor.Next(&record)) {
    std::string other_writer;
    if (!reader.Apply(record, &other_writer))
      return Failed(CLDB_DAMAGED, path,
                    !other_writer.empty() ? other_writer
                                          : "the record at byte " + std::to_string(offset) + " is not valid");
    offset = cursor.offset();
  }
  if (!reader.IsSound()) return Failed(CLDB_DAMAGED, path, "the manifest does not describe a database");
  result->log_number = reader.log_number;
  result->previous_log_number = reader.previous_log_number;
  result->tables.clear();
  for (const auto& table : reader.tables) {
    result->tables.push_back({static_cast<int>(table.first.first), table.first.second, table.second.size,
                              UserKey(table.second.smallest).ToString(), UserKey(table.second.largest).ToString()});
  }
  return Status::OK();
}

}  // namespace cldb
