// The contents of a database's folder, read before LevelDB opens it.
//
// LevelDB gets its manifest and its logs from here. They are read to their ends and checked, so LevelDB can't mistake a
// failed or short read for the end of a file, and removes no file that was not read to its true end.

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "Manifest.h"
#include "Records.h"

namespace cldb {

struct Inventory {
  // False if the folder is empty, or has only leftovers of an unfinished creation.
  bool has_database = false;
  std::set<std::string> names;

  // The bytes that LevelDB reads at opening, by name: CURRENT, the manifest, and logs whose entries are in no table.
  std::map<std::string, std::string> contents;
  // The names of the logs in `contents`, and their ranges of keys.
  std::set<std::string> logs;
  KeyRanges log_ranges;
  Manifest manifest;

  // The name of a table's file, which may have the suffix of older versions of LevelDB.
  std::string NameOf(const TableInfo& table) const;

  bool has_torn_tail = false;
  // OK if all logs are intact. Otherwise the place of the damage; `contents` has the bytes before the damage.
  leveldb::Status damage;

  // Takes stock. Fails with Corruption if stored data is unreachable; `key` is then the first missing key, if known.
  //
  // If `is_in_use`, another process may be writing: the logs are opened but not read. They are in `growing`, in order,
  // and neither in `names` nor in `contents`.
  static leveldb::Status Take(const Folder& folder, bool is_in_use, Inventory* result, std::string* key);
  std::vector<std::unique_ptr<GrowingLog>> growing;

  // Whether the manifest has grown or was replaced since the inventory was taken. If so, missing files may have been
  // replaced. Each opening for writing makes a new manifest.
  bool HasChanged(const Folder& folder) const;

 private:
  // The contents of CURRENT, and the length of the manifest.
  std::string current_;
  uint64_t manifest_size_ = 0;

  std::map<uint64_t, std::string> NeededLogs() const;
  leveldb::Status TakeNames(const Folder& folder);
  leveldb::Status TakeCurrent(const Folder& folder, std::string* manifest_name);
  leveldb::Status TakeManifest(const Folder& folder);
  leveldb::Status TakeLogs(const Folder& folder);
  leveldb::Status OpenLogs(const Folder& folder);
  leveldb::Status CheckTables(const Folder& folder, std::string* key) const;
};

}  // namespace cldb
