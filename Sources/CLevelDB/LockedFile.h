// LevelDB's LOCK file. It is locked for both implementations of LevelDB, and listed while this process has it locked.
//
// C++ LevelDB takes an fcntl lock, and goleveldb an flock. An fcntl lock is lost when any code in the process closes
// the file, and does not exclude other users in the same process. So before the file is opened, the list is searched
// for its device and inode.

#pragma once

#include <memory>

#include "Folder.h"

namespace cldb {

class LockedFile {
 public:
  // Locks the file LOCK, which is created if necessary. Fails with CLDB_BUSY if another user has locked it.
  static leveldb::Status Acquire(Folder& folder, std::unique_ptr<LockedFile>* result);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

 private:
  LockedFile(int descriptor, uint64_t device, uint64_t inode)
      : descriptor_(descriptor), device_(device), inode_(inode) {}

  const int descriptor_;
  const uint64_t device_;
  const uint64_t inode_;
};

}  // namespace cldb
