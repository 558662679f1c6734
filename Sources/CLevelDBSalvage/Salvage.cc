// Reads each file of a damaged database separately.

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "CLevelDBSalvage.h"
#include "Failure.h"
#include "FileName.h"
#include "Folder.h"
#include "Records.h"
#include "Table.h"

using cldb::EntryReceiver;
using cldb::FileName;
using cldb::Folder;
using cldb::Fragment;
using cldb::RecordJoiner;
using cldb::TableCursor;
using cldb::Translate;
using cldb::kRecordBlockSize;
using cldb::kRecordHeaderSize;
using leveldb::Slice;
using leveldb::Status;

namespace {

// Reads every whole batch of a log, also after errors. After an error, bytes of an entry may be mistaken for a batch,
// so the caller must verify each entry. Sets `is_altered` if a record follows an error or is not a batch. If blocks
// can't be read, reads the others and returns the first failure.
Status ReadAround(const Folder& folder, const std::string& name, bool* is_altered, const EntryReceiver& see) {
  cldb::OpenFile file;
  CLDB_TRY(folder.OpenForReading(name, &file));
  Status status;
  const std::unique_ptr<char[]> block(new char[kRecordBlockSize]);
  RecordJoiner record;
  bool has_error = false;
  for (uint64_t offset = 0; offset < file.size; offset += kRecordBlockSize) {
    size_t count = std::min<uint64_t>(kRecordBlockSize, file.size - offset), read = 0;
    Status found = folder.Read(file, offset, count, block.get(), &read);
    if (!found.ok()) {
      if (status.ok()) status = found;
      record = RecordJoiner();
      has_error = true;
      continue;
    }
    Slice rest(block.get(), read);
    while (rest.size() >= kRecordHeaderSize && !cldb::AreZeros(rest)) {
      if (record.Take(&rest)) {
        if (record.is_whole()) *is_altered |= has_error | !cldb::ReadBatch(record.bytes(), see);
        continue;
      }
      // The position of the next fragment is unknown after an error, so every position is tried.
      const Fragment fragment = cldb::ReadFragment(rest);
      record = RecordJoiner();
      has_error |= !fragment.whole;
      if (!fragment.whole || !fragment.begins()) rest.remove_prefix(fragment.whole ? fragment.size : 1);
    }
  }
  return status;
}

}  // namespace

struct cldb_salvage {
  struct Table {
    std::string name;
    // The ranges of readable keys.
    cldb::KeyRanges ranges;
    // Whether the ranges were read completely. Otherwise the table may have any key.
    bool is_readable = false;

    bool MayHave(const Slice& key) const {
      if (!is_readable) return true;
      for (const auto& range : ranges) {
        if (key.compare(range.first) >= 0 && key.compare(range.second) <= 0) return true;
      }
      return false;
    }
  };

  std::mutex mutex;
  std::unique_ptr<Folder> folder;
  std::vector<Table> tables;
  // The entries of logs, which LevelDB keeps small.
  std::map<std::string, std::vector<std::string>> logged;
  // The table that was read last.
  std::string open_name;
  std::unique_ptr<TableCursor> open;

  Status Open(const std::string& name) {
    if (open_name == name && open != nullptr) return Status::OK();
    open.reset();
    open_name = name;
    return TableCursor::Open(*folder, name, nullptr, &open);
  }

  Status TakeTable(const std::string& name) {
    CLDB_TRY(Open(name));
    tables.push_back({name, {}});
    Status status = open->AddRanges(&tables.back().ranges);
    tables.back().is_readable = status.ok();
    return status;
  }

  Status TakeLog(const std::string& name) {
    bool is_altered = false;
    Status status = ReadAround(*folder, name, &is_altered, [&](const Slice& key, const Slice& value) {
      logged[key.ToString()].push_back(value.ToString());
    });
    return status.ok() && is_altered ? Status::Corruption("a part of the log is altered") : status;
  }
};

cldb_salvage* cldb_salvage_open(const char* path, int folder, cldb_receiver receive, void* context,
                                cldb_status* status) {
  auto salvage = std::make_unique<cldb_salvage>();
  std::vector<std::string> names;
  Status opened = Folder::Open(path, folder, nullptr, nullptr, &salvage->folder);
  if (opened.ok()) opened = salvage->folder->List(&names);
  if (!Translate(opened, status)) return nullptr;
  for (const std::string& name : names) {
    const FileName found = FileName::Parse(name);
    if (found.IsAbsurd()) continue;
    Status taken;
    if (found.kind == FileName::Kind::kTable) taken = salvage->TakeTable(name);
    if (found.kind == FileName::Kind::kLog) taken = salvage->TakeLog(name);
    if (taken.ok()) continue;
    // A lack of descriptors or memory is temporary, so it says nothing about the file.
    if (cldb::IsShortage(taken)) {
      Translate(taken, status);
      return nullptr;
    }
    const std::string words = cldb::WordsOf(taken);
    const cldb_entry problem = {name.data(), name.size(), words.data(), words.size()};
    receive(context, &problem);
  }
  cldb::Succeed(status);
  return salvage.release();
}

void cldb_salvage_free(cldb_salvage* salvage) { delete salvage; }

bool cldb_salvage_get(cldb_salvage* salvage, const void* key, size_t key_size, cldb_receiver receive, void* context,
                      cldb_status* status) {
  std::lock_guard<std::mutex> guard(salvage->mutex);
  const Slice wanted(static_cast<const char*>(key), key_size);
  const auto give = [&](const Slice& value) {
    const cldb_entry entry = {key, key_size, value.data(), value.size()};
    receive(context, &entry);
  };
  const auto logged = salvage->logged.find(wanted.ToString());
  if (logged != salvage->logged.end()) {
    for (const std::string& value : logged->second) give(value);
  }
  for (const auto& table : salvage->tables) {
    if (!table.MayHave(wanted)) continue;
    Status read = salvage->Open(table.name);
    if (read.ok()) {
      salvage->open->Seek(wanted);
      read = salvage->open->status();
    }
    if (cldb::IsShortage(read)) {
      salvage->open.reset();
      return Translate(read, status);
    }
    // Unreadable blocks are skipped.
    if (salvage->open != nullptr && salvage->open->IsAtKey() && salvage->open->key() == wanted)
      give(salvage->open->value());
  }
  return cldb::Succeed(status);
}

bool cldb_salvage_last(cldb_salvage* salvage, const void* limit, size_t limit_size, cldb_receiver receive,
                       void* context, cldb_status* status) {
  std::lock_guard<std::mutex> guard(salvage->mutex);
  const Slice before(static_cast<const char*>(limit), limit_size);
  std::string last;
  const auto logged = salvage->logged.lower_bound(before.ToString());
  if (logged != salvage->logged.begin()) last = std::prev(logged)->first;
  for (const auto& table : salvage->tables) {
    for (const auto& range : table.ranges) {
      if (before.compare(range.second) > 0) last = std::max(last, range.second);
    }
  }
  const cldb_entry entry = {last.data(), last.size(), nullptr, 0};
  if (!last.empty()) receive(context, &entry);
  return cldb::Succeed(status);
}
