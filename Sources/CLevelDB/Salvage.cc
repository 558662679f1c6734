// Reads the files of a database with a damaged manifest, tables or logs, each file separately.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "DiskFiles.h"
#include "Failure.h"
#include "FileName.h"
#include "Folder.h"
#include "InternalKey.h"
#include "RecordFile.h"
#include "LogBatches.h"
#include "leveldb/comparator.h"
#include "leveldb/iterator.h"
#include "leveldb/options.h"
#include "leveldb/table.h"

namespace {

using cldb::DiskTable;
using cldb::FileName;
using cldb::kTrailerSize;
using cldb::UserKey;
using leveldb::Slice;
using leveldb::Status;

// The order of LevelDB's own keys without their trailers, because each user key is written once.
class KeyOrder final : public leveldb::Comparator {
 public:
  int Compare(const Slice& left, const Slice& right) const override {
    return UserKey(left).compare(UserKey(right));
  }
  const char* Name() const override { return "cldb.salvage"; }
  // Only for writing tables.
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

// A table, open.
struct OpenTable {
  std::unique_ptr<DiskTable> file;
  std::unique_ptr<leveldb::Table> table;
  std::unique_ptr<leveldb::Iterator> position;

  static Status Open(const cldb::Folder& folder, const std::string& name, const leveldb::Comparator* order,
                     OpenTable* result) {
    Status status = DiskTable::Open(folder, name, nullptr, &result->file);
    if (!status.ok()) return status;
    leveldb::Options options;
    options.paranoid_checks = true;
    options.comparator = order;
    leveldb::Table* table = nullptr;
    status = leveldb::Table::Open(options, result->file.get(), result->file->size(), &table);
    if (!status.ok()) return status;
    result->table.reset(table);
    leveldb::ReadOptions reading;
    reading.verify_checksums = true;
    reading.fill_cache = false;
    result->position.reset(table->NewIterator(reading));
    return status;
  }
};

struct TableRange {
  std::string name;
  std::string first, before_last, last;

  // Whether the table can have a key. The last one counts alone: in a journal it may be the id, which comes after the
  // entries of all tables.
  bool MayHave(const Slice& key) const {
    return (key.compare(first) >= 0 && key.compare(before_last) <= 0) || key == Slice(last);
  }
};

}  // namespace

struct cldb_salvage {
  std::mutex mutex;
  std::unique_ptr<cldb::Folder> folder;
  KeyOrder order;
  std::vector<TableRange> tables;
  // What is in logs; LevelDB keeps them small.
  std::map<std::string, std::vector<std::string>> logged;
  std::string problems;
  // The table that was read last.
  std::string open_name;
  OpenTable open;

  // Notes why a file can't be read. A shortage is temporary, so it says nothing about the file, and is returned.
  Status Note(const std::string& name, const Status& status) {
    if (cldb::IsShortage(status)) return status;
    problems += name + ": " + cldb::WordsOf(status) + "\n";
    return Status::OK();
  }

  Status TakeTable(const std::string& name);
  Status TakeLog(const std::string& name);
  Status Seek(const TableRange& range, const Slice& key);
};

Status cldb_salvage::TakeTable(const std::string& name) {
  OpenTable table;
  Status status = OpenTable::Open(*folder, name, &order, &table);
  if (!status.ok()) return Note(name, status);
  TableRange range{name, "", "", ""};
  table.position->SeekToFirst();
  if (table.position->Valid()) range.first = UserKey(table.position->key()).ToString();
  table.position->SeekToLast();
  // If the end of a table can't be read, its last key is unknown.
  range.last = table.position->Valid() ? UserKey(table.position->key()).ToString() : std::string("\xff");
  if (table.position->Valid()) table.position->Prev();
  range.before_last = table.position->Valid() ? UserKey(table.position->key()).ToString() : range.last;
  status = table.position->status();
  if (!status.ok()) {
    range.first.clear();
    range.before_last = "\xff";
    status = Note(name, status);
  }
  tables.push_back(std::move(range));
  return status;
}

Status cldb_salvage::TakeLog(const std::string& name) {
  bool is_altered = false;
  Status status = cldb::RecordFile::ReadAround(*folder, name, &is_altered, [&](const Slice& record) {
    bool is_batch = cldb::ReadBatch(record, [&](const Slice& key, const Slice& value) {
      logged[key.ToString()].push_back(value.ToString());
    });
    is_altered |= !is_batch;
  });
  if (!status.ok()) return Note(name, status);
  if (is_altered) problems += name + ": a part of the log is altered\n";
  return Status::OK();
}

// Moves to the first key at or after the given one in a table. `open_name` is empty if the table can't be read.
// Fails only because of a shortage.
Status cldb_salvage::Seek(const TableRange& range, const Slice& key) {
  if (open_name != range.name) {
    open = OpenTable();
    open_name.clear();
    Status status = OpenTable::Open(*folder, range.name, &order, &open);
    if (!status.ok()) return cldb::IsShortage(status) ? status : Status::OK();
    open_name = range.name;
  }
  open.position->Seek(key.ToString() + std::string(kTrailerSize, '\0'));
  Status status = open.position->status();
  return cldb::IsShortage(status) ? status : Status::OK();
}

cldb_salvage* cldb_salvage_open(const char* path, int folder, cldb_status* status) {
  try {
    auto result = std::make_unique<cldb_salvage>();
    Status opened = cldb::Folder::Open(path, folder, false, cldb::Hooks(), &result->folder);
    if (!cldb::Translate(opened, status)) return nullptr;
    std::vector<std::string> names;
    if (!cldb::Translate(result->folder->List(&names), status)) return nullptr;
    for (const std::string& name : names) {
      FileName found = FileName::Parse(name);
      if (found.IsAbsurd()) continue;
      Status taken;
      if (found.kind == FileName::Kind::kTable) taken = result->TakeTable(name);
      if (found.kind == FileName::Kind::kLog) taken = result->TakeLog(name);
      if (!cldb::Translate(taken, status)) return nullptr;
    }
    cldb::Succeed(status);
    return result.release();
  } catch (...) {
    cldb::TranslateException(status);
    return nullptr;
  }
}

void cldb_salvage_free(cldb_salvage* salvage) { delete salvage; }

bool cldb_salvage_get(cldb_salvage* salvage, const void* key, size_t key_size, cldb_receiver receive, void* context,
                      cldb_status* status) {
  std::lock_guard<std::mutex> guard(salvage->mutex);
  try {
    const Slice wanted(static_cast<const char*>(key), key_size);
    auto logged = salvage->logged.find(wanted.ToString());
    if (logged != salvage->logged.end()) {
      for (const std::string& value : logged->second) receive(context, value.data(), value.size());
    }
    for (const TableRange& range : salvage->tables) {
      if (!range.MayHave(wanted)) continue;
      if (!cldb::Translate(salvage->Seek(range, wanted), status)) return false;
      leveldb::Iterator* position = salvage->open.position.get();
      if (salvage->open_name.empty() || !position->Valid() || UserKey(position->key()) != wanted) continue;
      Slice value = position->value();
      receive(context, value.data(), value.size());
    }
    cldb::Succeed(status);
    return true;
  } catch (...) {
    cldb::TranslateException(status);
    return false;
  }
}

bool cldb_salvage_last(cldb_salvage* salvage, const void* limit, size_t limit_size, cldb_receiver receive,
                       void* context, cldb_status* status) {
  std::lock_guard<std::mutex> guard(salvage->mutex);
  try {
    const Slice before(static_cast<const char*>(limit), limit_size);
    std::string last;
    auto logged = salvage->logged.lower_bound(before.ToString());
    if (logged != salvage->logged.begin()) last = std::prev(logged)->first;
    for (const TableRange& range : salvage->tables) {
      if (!cldb::Translate(salvage->Seek(range, before), status)) return false;
      if (salvage->open_name.empty()) continue;
      leveldb::Iterator* position = salvage->open.position.get();
      if (position->Valid()) {
        position->Prev();
      } else {
        position->SeekToLast();
      }
      if (!position->Valid()) continue;
      Slice found = UserKey(position->key());
      if (found.compare(before) < 0 && found.compare(last) > 0) last = found.ToString();
    }
    if (!last.empty()) receive(context, last.data(), last.size());
    cldb::Succeed(status);
    return true;
  } catch (...) {
    cldb::TranslateException(status);
    return false;
  }
}

void cldb_salvage_problems(cldb_salvage* salvage, cldb_receiver receive, void* context) {
  receive(context, salvage->problems.data(), salvage->problems.size());
}
