// The folder of a database, and every system call made in it.
//
// Invariants:
//  1. Each file is reached through the folder's descriptor and its bare name, without following links, so
//     nothing outside of the folder can be read or changed, whatever the files in it say.
//  2. If a test has set a hook, it is called before each read and each change to the disk.
//  3. No file is ever truncated or overwritten: a file is written only if it was created since the opening, under a
//     name that did not exist. So hard links to older files are safe too. Only zeros that were written ahead are
//     overwritten.
//  4. The folder is "poisoned", and nothing more is changed, after a create, write, flush, close or rename has failed,
//     or when another program has removed, replaced or truncated a file that is being written. Two failures don't
//     poison: a create without a free descriptor, and a write of zeros. After a failed flush the kernel marks pages
//     clean, and after a failed append LevelDB's length of a log is wrong: later writes could be silently lost.
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

// A plain file that is open for reading. It can be read to its end even after its name was removed.
struct OpenFile {
  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor >= 0) cfiles_close(descriptor);
  }

  int descriptor = -1;
  std::string name;
  uint64_t size = 0;  // at the opening
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
  // The path of a file, for messages; with an empty name, that of the folder.
  std::string PathOf(const std::string& name) const { return name.empty() ? path_ : path_ + "/" + name; }

  // The file name in a path of LevelDB, which makes all names except the manifest's; that was checked (Inventory.h).
  std::string NameOf(const std::string& path) const { return path.substr(path_.size() + 1); }

  leveldb::Status List(std::vector<std::string>* names) const;
  // Finds the size of a plain file; no size if nothing has the name. Fails for anything but a plain file.
  leveldb::Status Find(const std::string& name, std::optional<uint64_t>* size) const;
  int StatusOf(const std::string& name, cfiles_status* status) const;
  leveldb::Status OpenForReading(const std::string& name, OpenFile* result) const;
  // `read` is smaller than `count` only at the end of the file.
  leveldb::Status Read(const OpenFile& file, uint64_t offset, size_t count, char* bytes, size_t* read) const;
  // Opens or creates an empty file, such as a lock, that is never written to.
  leveldb::Status OpenMarker(const std::string& name, int* descriptor);

  // Creates a file, which must not exist. A lack of descriptors does not poison, because nothing was created.
  leveldb::Status Create(const std::string& name, int* descriptor);
  // Writes all bytes at `offset`, which is the end of the file, and advances `offset`.
  leveldb::Status Write(int descriptor, const std::string& name, const char* bytes, size_t count,
                        uint64_t* offset);
  // Writes up to kMostZeros zeros at the end of the file, to be overwritten later. Returns false on failure, which does
  // not poison the folder, unlike other failed writes.
  bool WriteZeros(int descriptor, const std::string& name, uint64_t offset, size_t count);
  static constexpr size_t kMostZeros = 256 << 10;
  leveldb::Status SyncFile(int descriptor, const std::string& name);
  // Fails and poisons if the file has fewer bytes than were written to it: another program has truncated it.
  leveldb::Status CheckSize(int descriptor, const std::string& name, uint64_t written);
  // Fails and poisons if the name no longer refers to the open file: later writes would be lost.
  leveldb::Status CheckIsInPlace(int descriptor, const std::string& name);
  leveldb::Status CloseFile(int descriptor, const std::string& name);
  leveldb::Status SyncFolder();
  leveldb::Status Rename(const std::string& from, const std::string& to);
  // Removes a file. A failure does not poison: at worst an unused file stays.
  leveldb::Status Remove(const std::string& name);
  // Removes a new file that nothing refers to yet, even in a poisoned folder.
  void Discard(const std::string& name);

  // Refuses all changes from now on. Only the first reason is kept.
  void Poison(const std::string& reason);
  bool poisoned() const { return poisoned_.load(std::memory_order_acquire); }
  std::string poison_reason() const;

 private:
  Folder(std::string path, int descriptor, cldb_hook hook, void* context)
      : path_(std::move(path)), descriptor_(descriptor), hook_(hook), context_(context) {}

  // Calls the hook, and returns 0 or an errno. The hook may lower the `count` of a read or a write.
  int Ask(cldb_operation_kind kind, const std::string& name, const char* new_path = nullptr, size_t* count = nullptr,
          const char* bytes = nullptr, uint64_t offset = 0) const;
  int WriteAll(int descriptor, const std::string& name, const char* bytes, size_t count, uint64_t* offset);
  // Makes a system call that changes the disk, unless the folder is poisoned or the hook returns an errno.
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
