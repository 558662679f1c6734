// LevelDB's LOCK file: the locks that the implementations of LevelDB take, and a list of what this process has locked.
//
// C++ LevelDB takes an fcntl lock, goleveldb an flock. An fcntl lock is lost when any code in the process closes the file,
// and does not exclude other users in the same process. So the list is checked before the file is opened, by device and
// inode: `db` and `./db` are one.

#pragma once

#include <sys/types.h>

#include "Folder.h"
#include "leveldb/env.h"

namespace cldb {

class LockedFile final : public leveldb::FileLock {
 public:
  static leveldb::Status Acquire(Folder& folder, const std::string& name, LockedFile** result);
  ~LockedFile() override { Release(); }
  // Harmless when repeated.
  void Release();

 private:
  LockedFile(int descriptor, uint64_t device, uint64_t inode)
      : descriptor_(descriptor), device_(device), inode_(inode) {}

  int descriptor_;
  const uint64_t device_;
  const uint64_t inode_;
};

}  // namespace cldb
