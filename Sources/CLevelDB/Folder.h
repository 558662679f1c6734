// The folder of a database, and every system call made in it.
//
// Invariants:
//  1. Each file is reached through the folder's descriptor and its bare name, without following links, so
//     nothing outside of the folder can be read or changed, whatever the files in it say.
//  2. The hook of a test, if there is one, is asked before each read and each change to the disk.
//  3. No file is ever truncated or overwritten: a file is written only after it was created under a name that did not
//     exist. So hard links to files that existed at the opening are safe too; a file of this opening is appended to
//     until it is closed, whatever links it gets meanwhile. Only zeros that were written for later bytes are
//     overwritten.
//  4. After one failed create (unless the system had no descriptor to give), write (except of such zeros), flush or
//     rename, no further change is made ("poisoned"). Nor after someone has removed or replaced a file that is being
//     written. The kernel marks pages clean after a failed flush, and LevelDB's idea of a log's length is wrong after
//     a failed append: whatever is written later may be silently lost.
//
// Safe to use from any thread.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "CFiles.h"
#include "CLevelDB.h"
#include "leveldb/status.h"

namespace cldb {

class Folder {
 public:
  // Opens the folder of `descriptor` again, wherever it is now; `path` is for messages. `hook` is null, or asked before
  // each operation.
  static leveldb::Status Open(const std::string& path, int descriptor, cldb_hook hook, void* context,
                              std::unique_ptr<Folder>* result);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

  // The file name in a path of LevelDB. LevelDB makes them all but that of the manifest, which CURRENT names, and that
  // was checked (Inventory.h).
  std::string NameOf(const std::string& path) const { return path.substr(path_.size() + 1); }

  leveldb::Status List(std::vector<std::string>* names) const;
  // Whether there is a file of that name. An error for anything else of that name, and if that is unknown.
  leveldb::Status Find(const std::string& name, bool* exists, uint64_t* size) const;
  // The status of a file without opening it; 0 or an errno.
  int StatusOf(const std::string& name, cfiles_status* status) const;
  leveldb::Status OpenForReading(const std::string& name, int* descriptor, uint64_t* size) const;
  // Fills `bytes` from an offset on; `read` is smaller than `count` only at the end of the file.
  leveldb::Status Read(int descriptor, const std::string& name, uint64_t offset, size_t count, char* bytes,
                       size_t* read) const;
  // Opens or creates an empty marker file, such as a lock. It is never written to.
  leveldb::Status OpenMarker(const std::string& name, int* descriptor);

  // Creates a file. An existing one is an error. A lack of descriptors does not poison, because nothing was created.
  leveldb::Status Create(const std::string& name, int* descriptor);
  // Writes all bytes at the end of the file and moves `offset` on.
  leveldb::Status Write(int descriptor, const std::string& name, const char* bytes, size_t count,
                        uint64_t* offset);
  // Writes up to kMostZeros zeros from the end of the file on, to be overwritten later. A failure does not poison, and
  // returns false.
  bool WriteZeros(int descriptor, const std::string& name, uint64_t offset, size_t count);
  static constexpr size_t kMostZeros = 256 << 10;
  leveldb::Status SyncFile(int descriptor, const std::string& name);
  // Fails and poisons if the file is shorter than what was written to it: another program has put an old copy into it.
  leveldb::Status CheckSize(int descriptor, const std::string& name, uint64_t written);
  // Fails and poisons if the name does not lead to the open file any more: what is written there would be lost.
  leveldb::Status CheckIsInPlace(int descriptor, const std::string& name);
  leveldb::Status CloseFile(int descriptor, const std::string& name);
  leveldb::Status SyncFolder();
  // Renames and flushes the folder.
  leveldb::Status Rename(const std::string& from, const std::string& to);
  // A failure here does not poison: at worst an unused file stays.
  leveldb::Status Remove(const std::string& name);
  // Removes a new file that is not referenced anywhere yet, even after a failure.
  void Discard(const std::string& name);

  // Refuses all changes from now on. The first reason stays.
  void Poison(const std::string& reason);
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  std::string poison_reason() const;

 private:
  Folder(std::string path, int descriptor, cldb_hook hook, void* context)
      : path_(std::move(path)), descriptor_(descriptor), hook_(hook), context_(context) {}

  // Asks the hook; 0 or an errno. `count` is that of a read or a write, which the hook can lower.
  int Ask(cldb_operation_kind kind, const std::string& name, const char* new_path = nullptr, size_t* count = nullptr,
          const char* bytes = nullptr, uint64_t offset = 0) const;
  // Returns 0 or an errno.
  int WriteAll(int descriptor, const std::string& name, const char* bytes, size_t count, uint64_t* offset);
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
