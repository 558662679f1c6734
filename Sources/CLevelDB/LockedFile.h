// LevelDB's LOCK file: the locks of LevelDB's implementations, and a list of the files that this process has locked.
//
// C++ LevelDB takes an fcntl lock, goleveldb an flock. An fcntl lock is lost when any code in the process closes the
// file, and does not exclude other users in the same process. So the list is checked, by device and inode, before the
// file is opened.

#pragma once

#include <memory>

#include "Folder.h"

namespace cldb {

class LockedFile {
 public:
  // Creates the file LOCK if necessary.
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
