// The folder of a database, and every system call made in it.
//
// Invariants:
//  1. Each file is reached through the folder's descriptor and its bare name, without following links, so
//     nothing outside of the folder can be read or changed, whatever the files in it say.
//  2. The hook of a test, if there is one, is asked before each read and each change to the disk.
//  3. No file is ever truncated or overwritten: a file is written only if it was created since the opening, under a
//     name that did not exist. So hard links to older files are safe too. Only zeros that were written ahead are
//     overwritten.
//  4. After a failed create (unless the system had no descriptor), write (except of such zeros), flush or rename, no
//     further change is made ("poisoned"), nor after another program has removed or replaced a file that is being
//     written. The kernel marks pages clean after a failed flush, and LevelDB's length of a log is wrong after a
//     failed append: later writes could be silently lost.
//
// Safe to use from any thread.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "CFiles.h"
#include "CLevelDB.h"
#include "leveldb/status.h"

namespace cldb {

// A plain file that is open for reading, to its end even after its name was removed.
struct OpenFile {
  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor >= 0) cfiles_close(descriptor);
  }

  int descriptor = -1;
  std::string name;
  uint64_t size = 0;  // when it was opened
};

class Folder {
 public:
  // Opens the folder of `descriptor` again; `path` is for messages. `hook` may be null.
  static leveldb::Status Open(const std::string& path, int descriptor, cldb_hook hook, void* context,
                              std::unique_ptr<Folder>* result);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  // An empty name is that of the folder.
  std::string PathOf(const std::string& name) const { return name.empty() ? path_ : path_ + "/" + name; }

  // The file name in a path of LevelDB. LevelDB makes all names but the manifest's, which was checked (Inventory.h).
  std::string NameOf(const std::string& path) const { return path.substr(path_.size() + 1); }

  leveldb::Status List(std::vector<std::string>* names) const;
  // The size of a plain file; none if nothing has the name. An error for anything else, and if the system can't tell.
  leveldb::Status Find(const std::string& name, std::optional<uint64_t>* size) const;
  int StatusOf(const std::string& name, cfiles_status* status) const;
  leveldb::Status OpenForReading(const std::string& name, OpenFile* result) const;
  // `read` is smaller than `count` only at the end of the file.
  leveldb::Status Read(const OpenFile& file, uint64_t offset, size_t count, char* bytes, size_t* read) const;
  // Opens or creates an empty file, such as a lock, that is never written to.
  leveldb::Status OpenMarker(const std::string& name, int* descriptor);

  // An existing file is an error. A lack of descriptors does not poison, because nothing was created.
  leveldb::Status Create(const std::string& name, int* descriptor);
  // Writes all bytes at `offset`, the end of the file, and advances it.
  leveldb::Status Write(int descriptor, const std::string& name, const char* bytes, size_t count,
                        uint64_t* offset);
  // Writes up to kMostZeros zeros at the end of the file, to be overwritten later. A failure returns false and does
  // not poison.
  bool WriteZeros(int descriptor, const std::string& name, uint64_t offset, size_t count);
  static constexpr size_t kMostZeros = 256 << 10;
  leveldb::Status SyncFile(int descriptor, const std::string& name);
  // Fails and poisons if the file is shorter than what was written to it: another program has truncated it.
  leveldb::Status CheckSize(int descriptor, const std::string& name, uint64_t written);
  // Fails and poisons if the name is no longer that of the open file: later writes would be lost.
  leveldb::Status CheckIsInPlace(int descriptor, const std::string& name);
  leveldb::Status CloseFile(int descriptor, const std::string& name);
  leveldb::Status SyncFolder();
  leveldb::Status Rename(const std::string& from, const std::string& to);
  // A failure here does not poison: at worst an unused file stays.
  leveldb::Status Remove(const std::string& name);
  // Removes a new file that nothing refers to yet, even after a failure.
  void Discard(const std::string& name);

  // Refuses all changes from now on. The first reason stays.
  void Poison(const std::string& reason);
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  std::string poison_reason() const;

 private:
  Folder(std::string path, int descriptor, cldb_hook hook, void* context)
      : path_(std::move(path)), descriptor_(descriptor), hook_(hook), context_(context) {}

  // Asks the hook; 0 or an errno. The hook may lower the `count` of a read or a write.
  int Ask(cldb_operation_kind kind, const std::string& name, const char* new_path = nullptr, size_t* count = nullptr,
          const char* bytes = nullptr, uint64_t offset = 0) const;
  int WriteAll(int descriptor, const std::string& name, const char* bytes, size_t count, uint64_t* offset);
  // Makes a system call that changes the disk, if the folder is not poisoned and the hook has no error.
  leveldb::Status Change(cldb_operation_kind kind, const std::string& name, const char* what,
                         const std::function<int()>& call);
  leveldb::Status Refusal() const;
  leveldb::Status Failure(const std::string& path, const char* what, int error);

  const std::string path_;
  const int descriptor_;
  const cldb_hook hook_;
  void* const context_;

  std::atomic<bool> poisoned_{false};
  mutable std::mutex mutex_;  // guards poison_reason_
  std::string poison_reason_;
};

}  // namespace cldb
