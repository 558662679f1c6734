#include "LockedFile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <utility>

#include "Failure.h"

namespace cldb {

using leveldb::Status;

namespace {

// The one global of this module: the kernel's locks belong to the process, so their list does as well.
struct Registry {
  std::mutex mutex;
  std::set<std::pair<dev_t, ino_t>> files;
};

Registry& registry() {
  // Never destroyed, since a database may be closed while the process ends.
  static Registry* registry = new Registry;
  return *registry;
}

Status Busy(const std::string& path, const char* who) {
  return Failed(CLDB_BUSY, path, std::string("the database is open in ") + who, EAGAIN);
}

}  // namespace

Status LockedFile::Acquire(Folder& folder, const std::string& name, LockedFile** result) {
  const std::string path = folder.PathOf(name);
  std::lock_guard<std::mutex> guard(registry().mutex);
  struct stat info;
  if (::lstat(path.c_str(), &info) == 0 && registry().files.count({info.st_dev, info.st_ino}) > 0)
    return Busy(path, "this process");
  int descriptor;
  Status opened = folder.OpenMarker(name, &descriptor);
  if (!opened.ok()) return opened;
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  if (::fcntl(descriptor, F_SETLK, &range) != 0 || ::fstat(descriptor, &info) != 0) {
    int error = errno;
    ::close(descriptor);
    if (error == EAGAIN || error == EACCES) return Busy(path, "another process");
    return SystemError(path, "the file can't be locked", error);
  }
  registry().files.insert({info.st_dev, info.st_ino});
  *result = new LockedFile(descriptor, info.st_dev, info.st_ino);
  return Status::OK();
}

void LockedFile::Release() {
  std::lock_guard<std::mutex> guard(registry().mutex);
  if (descriptor_ < 0) return;
  registry().files.erase({device_, inode_});
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace cldb
