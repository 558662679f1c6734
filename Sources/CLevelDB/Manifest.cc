#include "Manifest.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "Coding.h"
#include "Failure.h"
#include "FileName.h"
#include "Records.h"

namespace cldb {

using leveldb::Slice;
using leveldb::Status;

namespace {

constexpr uint64_t kLevels = 7;

enum Tag : uint64_t {
  kComparator = 1,
  kLogNumber = 2,
  kNextFileNumber = 3,
  kLastSequence = 4,
  kCompactPointer = 5,
  kDeletedFile = 6,
  kNewFile = 7,
  kPreviousLogNumber = 9,
};

// A field of a manifest's record: a tag and its values.
struct Part {
  uint64_t tag = 0, level = 0, number = 0, size = 0;
  Slice text, other;
  bool is_of_another_program = false;

  // Reads the next field. Returns false if it is cut, or has a tag or a value that LevelDB does not write.
  bool Read(const char*& bytes, const char* limit) {
    if (!ReadShortVarint(bytes, limit, &tag)) return false;
    switch (tag) {
      case kComparator: return ReadBytes(bytes, limit, &text);
      case kLogNumber:
      case kPreviousLogNumber:
      case kNextFileNumber: return ReadNumber(bytes, limit);
      case kLastSequence: return ReadVarint(bytes, limit, &number) && number <= kLargestSequence;
      case kCompactPointer: return ReadLevel(bytes, limit) && ReadKey(bytes, limit, &text);
      case kDeletedFile: return ReadLevel(bytes, limit) && ReadNumber(bytes, limit);
      case kNewFile:
        return ReadLevel(bytes, limit) && ReadNumber(bytes, limit) && ReadVarint(bytes, limit, &size) &&
               ReadKey(bytes, limit, &text) && ReadKey(bytes, limit, &other) && CompareKeys(text, other) <= 0;
      default:
        is_of_another_program = true;
        return false;
    }
  }

 private:
  bool ReadLevel(const char*& bytes, const char* limit) {
    return ReadShortVarint(bytes, limit, &level) && level < kLevels;
  }
  bool ReadNumber(const char*& bytes, const char* limit) {
    return ReadVarint(bytes, limit, &number) && number <= FileName::kLargestNumber;
  }
  static bool ReadKey(const char*& bytes, const char* limit, Slice* key) {
    return ReadBytes(bytes, limit, key) && IsInternalKey(*key);
  }
};

struct Named {
  uint64_t size;
  std::string smallest, largest;

  bool operator==(const Named& other) const {
    return size == other.size && smallest == other.smallest && largest == other.largest;
  }
};

class Reader {
 public:
  // Applies a record. Returns false if LevelDB writes no such record; sets `other_writer` if another program does.
  bool Apply(const Slice& record, std::string* other_writer) {
    const char* bytes = record.data();
    const char* limit = bytes + record.size();
    std::map<Place, Named> added;
    while (bytes < limit) {
      Part part;
      const bool is_read = part.Read(bytes, limit);
      if (part.is_of_another_program)
        *other_writer = "the manifest has a part that LevelDB 1.23 does not know, " + std::to_string(part.tag) +
                        ": another program, such as RocksDB or Pebble, has written to the database";
      if (!is_read) return false;
      switch (part.tag) {
        case kComparator:
          if (part.text == Slice("leveldb.BytewiseComparator")) break;
          *other_writer = "the keys have the order of another program, \"" + Printable(part.text) + "\"";
          return false;
        case kLogNumber:
          log_number = part.number;
          has_log_number = true;
          break;
        case kPreviousLogNumber:
          previous_log_number = part.number;
          break;
        case kNextFileNumber:
          next_file_number = part.number;
          break;
        case kLastSequence:
          has_sequence = true;
          break;
        case kDeletedFile:
          if (tables.erase({part.level, part.number}) == 0) return false;
          break;
        case kNewFile: {
          const Place place = {part.level, part.number};
          const Named table = {part.size, part.text.ToString(), part.other.ToString()};
          // goleveldb names a new table twice, which LevelDB accepts.
          const auto named = added.find(place);
          if (named != added.end() && named->second == table) break;
          if (!placed.insert(place).second) return false;
          added[place] = table;
        }
      }
    }
    // A table that moves to another level is deleted and added by one record, so tables are added after all deletions.
    tables.merge(added);
    return true;
  }

  // Whether numbers and tables are consistent, after all records were read.
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

  std::set<Place> placed;  // of all tables, also of deleted ones: LevelDB uses no number twice

  static std::string Printable(const Slice& name) {
    std::string text = name.ToString().substr(0, 64);
    for (char& byte : text) {
      if (byte < ' ' || byte > '~') byte = '?';
    }
    return text;
  }

  // Whether key ranges of tables overlap at a level other than the first. The first level may have overlaps.
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

void LowerSequence(std::string* bytes, size_t start, uint64_t offset,
                   const std::function<uint64_t(uint64_t)>& first_sequence) {
  // A rest of a block that is too short for a header is filled with zeros.
  const size_t left = kRecordBlockSize - offset % kRecordBlockSize;
  if (left < kRecordHeaderSize) start += left;
  if (start >= bytes->size()) return;
  RecordJoiner joiner;
  Slice rest(bytes->data() + start, bytes->size() - start);
  // A record in several fragments stays as it is; most records have some hundred bytes.
  if (!joiner.Take(&rest) || !joiner.is_whole() || !rest.empty()) return;
  const char* part_start = joiner.bytes().data();
  const char* part_end = part_start;
  const char* limit = bytes->data() + bytes->size();
  Part part;
  uint64_t log = 0;
  // In a record, the number of the log comes before the sequence number.
  while (part_end < limit && part.tag != kLastSequence) {
    part_start = part_end;
    if (!part.Read(part_end, limit)) return;
    if (part.tag == kLogNumber) log = part.number;
  }
  const uint64_t first = part.tag == kLastSequence && log > 0 ? first_sequence(log) : 0;
  if (first == 0 || first > part.number) return;
  // The new number has as many bytes as the old one, so that no other byte moves.
  const size_t end = part_end - bytes->data();
  uint64_t lower = first - 1;
  for (size_t index = part_start + 1 - bytes->data(); index < end; index++, lower >>= 7)
    (*bytes)[index] = static_cast<char>((lower & 0x7f) | (index + 1 < end ? 0x80 : 0));
  const size_t type = start + kRecordHeaderSize - 1;
  WriteFixed32(Checksum(&(*bytes)[type], bytes->size() - type), &(*bytes)[start]);
}

}  // namespace cldb
