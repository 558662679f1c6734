#include "Inventory.h"

#include <algorithm>

#include "Failure.h"
#include "FileName.h"

namespace cldb {

using leveldb::Status;

namespace {

constexpr uint64_t kLongestCurrent = 64;

// No new file has a number that is this far above the log's.
constexpr uint64_t kFarAhead = 1'000'000;

// Whether a file can be a leftover of an interrupted creation. Such files have no entries: CURRENT precedes writes.
bool IsLeftOfCreation(const std::string& name, uint64_t size) {
  return name == "LOCK" || name == "MANIFEST-000002" || name == "000002.dbtmp" ||
         (name == "000003.log" && size == 0);
}

}  // namespace

Status Inventory::Take(const Folder& folder, bool is_in_use, Inventory* result, std::string* key) {
  CLDB_TRY(result->TakeNames(folder));
  if (!result->has_database) return Status::OK();
  CLDB_TRY(result->TakeManifest(folder));
  CLDB_TRY(result->CheckTables(folder, key));
  return is_in_use ? result->OpenLogs(folder) : result->TakeLogs(folder);
}

bool Inventory::HasChanged(const Folder& folder) const {
  Inventory now;
  std::string manifest_name;
  std::optional<uint64_t> size;
  Status status = now.TakeCurrent(folder, &manifest_name);
  if (status.ok()) status = folder.Find(manifest_name, &size);
  return now.current_ != current_ || (status.ok() && size.value_or(0) != manifest_size_);
}

Status Inventory::TakeNames(const Folder& folder) {
  std::vector<std::string> listed;
  CLDB_TRY(folder.List(&listed));
  bool is_left_of_creation = true;
  for (const std::string& name : listed) {
    FileName parsed = FileName::Parse(name);
    // Files of other programs are left out. LevelDB would take some of them for its own.
    if (parsed.kind == FileName::Kind::kOther || parsed.IsAbsurd()) continue;
    std::optional<uint64_t> size;
    CLDB_TRY(folder.Find(name, &size));
    if (parsed.kind == FileName::Kind::kCurrent) has_database = true;
    if (!IsLeftOfCreation(name, size.value_or(0))) is_left_of_creation = false;
    names.insert(name);
  }
  if (!has_database && !is_left_of_creation)
    return Failed(CLDB_DAMAGED, folder.PathOf("CURRENT"), "the file is missing, but others are there");
  return Status::OK();
}

Status Inventory::TakeCurrent(const Folder& folder, std::string* manifest_name) {
  OpenFile file;
  CLDB_TRY(folder.OpenForReading("CURRENT", &file));
  std::string current(std::min(file.size, kLongestCurrent), '\0');
  size_t read = 0;
  CLDB_TRY(folder.Read(file, 0, current.size(), &current[0], &read));
  std::string name = current.substr(0, current.find('\n'));
  FileName parsed = FileName::Parse(name);
  if (read < file.size || current != name + "\n" || parsed.kind != FileName::Kind::kManifest || parsed.IsAbsurd())
    return Failed(CLDB_DAMAGED, folder.PathOf(file.name), "the file does not name a manifest of this folder");
  current_ = std::move(current);
  *manifest_name = std::move(name);
  return Status::OK();
}

Status Inventory::TakeManifest(const Folder& folder) {
  std::string name;
  CLDB_TRY(TakeCurrent(folder, &name));
  RecordFile file;
  CLDB_TRY(RecordFile::Read(folder, name, RecordFile::Kind::kManifest, &file));
  manifest_size_ = file.file_size;
  if (file.tail == RecordFile::Tail::kDamage)
    return Failed(CLDB_DAMAGED, folder.PathOf(name),
                  "the manifest is damaged at byte " + std::to_string(file.bytes.size()));
  CLDB_TRY(Manifest::Read(file.bytes, folder.PathOf(name), &manifest));
  has_torn_tail = file.tail == RecordFile::Tail::kTorn;
  contents["CURRENT"] = current_;
  contents[name] = std::move(file.bytes);
  // A file with a number far ahead, such as a date, is another program's. LevelDB would number its next files after it.
  for (auto other = names.begin(); other != names.end();) {
    const bool is_far_ahead = FileName::Parse(*other).number > manifest.log_number + kFarAhead;
    other = is_far_ahead ? names.erase(other) : std::next(other);
  }
  for (const TableInfo& table : manifest.tables) {
    std::optional<uint64_t> size;
    if (folder.Find(NameOf(table), &size).ok() && size) names.insert(NameOf(table));
  }
  return Status::OK();
}

std::map<uint64_t, std::string> Inventory::NeededLogs() const {
  std::map<uint64_t, std::string> found;
  for (const std::string& name : names) {
    FileName parsed = FileName::Parse(name);
    if (parsed.kind != FileName::Kind::kLog) continue;
    if (parsed.number >= manifest.log_number ||
        (parsed.number == manifest.previous_log_number && parsed.number != 0))
      found[parsed.number] = name;
  }
  return found;
}

Status Inventory::OpenLogs(const Folder& folder) {
  // Tables that were created after the listing are added, because LevelDB compares the names with the manifest.
  for (const TableInfo& table : manifest.tables) names.insert(NameOf(table));
  // An incomplete record at the end of the manifest is being written, and is not a torn tail.
  has_torn_tail = false;
  for (const auto& log : NeededLogs()) {
    growing.emplace_back();
    CLDB_TRY(GrowingLog::Open(folder, log.second, &growing.back()));
    names.erase(log.second);
  }
  return Status::OK();
}

Status Inventory::TakeLogs(const Folder& folder) {
  std::string torn;
  for (const auto& log : NeededLogs()) {
    RecordFile file;
    CLDB_TRY(RecordFile::Read(folder, log.second, RecordFile::Kind::kLog, &file));
    // A torn tail can only be in the last log: a log is started after the last write to the previous one was confirmed.
    if (!torn.empty() && file.file_size > 0 && damage.ok())
      damage = Failed(CLDB_DAMAGED, folder.PathOf(torn), "the log is damaged at its end, and another one follows it");
    if (file.tail == RecordFile::Tail::kTorn) {
      has_torn_tail = true;
      torn = log.second;
    }
    if (file.tail == RecordFile::Tail::kDamage && damage.ok())
      damage = Failed(CLDB_DAMAGED, folder.PathOf(log.second),
                      "the log is damaged at byte " + std::to_string(file.bytes.size()));
    for (auto& range : ReadKeyRanges(file.bytes)) log_ranges.push_back(std::move(range));
    contents[log.second] = std::move(file.bytes);
    logs.insert(log.second);
  }
  return Status::OK();
}

std::string Inventory::NameOf(const TableInfo& table) const {
  const std::string name = FileName::Of(FileName::Kind::kTable, table.number);
  const std::string older = name.substr(0, name.size() - 3) + "sst";
  return names.count(name) == 0 && names.count(older) > 0 ? older : name;
}

Status Inventory::CheckTables(const Folder& folder, std::string* key) const {
  Status first;
  for (const TableInfo& table : manifest.tables) {
    if (!first.ok() && *key <= table.smallest) continue;
    const std::string name = NameOf(table);
    std::optional<uint64_t> size;
    CLDB_TRY(folder.Find(name, &size));
    if (size == table.size) continue;
    first = Failed(CLDB_DAMAGED, folder.PathOf(name),
                   !size ? std::string("the table is missing")
                         : "the table has " + std::to_string(*size) + " bytes, and was written with " +
                               std::to_string(table.size));
    *key = table.smallest;
  }
  return first;
}

}  // namespace cldb
