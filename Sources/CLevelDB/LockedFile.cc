#include "LockedFile.h"

#include <cerrno>
#include <mutex>
#include <set>
#include <utility>

#include "CFiles.h"
#include "Failure.h"

namespace cldb {

using leveldb::Status;

namespace {

// The list is global, because the kernel's locks belong to the process.
struct Registry {
  std::mutex mutex;
  std::set<std::pair<uint64_t, uint64_t>> files;  // device, inode
};

Registry& registry() {
  // The list is never destroyed, because a database may be closed while the process ends.
  static Registry* registry = new Registry;
  return *registry;
}

// Takes the fcntl lock of C++ LevelDB and the flock of goleveldb, which are independent. On file systems where both are
// one lock, such as NFS and those of Apple's systems, the second is refused. Then only the fcntl lock is taken.
int LockForBoth(int descriptor) {
  const int error = cfiles_lock(descriptor, true);
  if (error == -EWOULDBLOCK) return EAGAIN;
  const int own = -cfiles_lock_for_process(descriptor);
  if (own == 0 || error != 0) return own;
  cfiles_unlock(descriptor);
  return -cfiles_lock_for_process(descriptor);
}

Status Busy(const std::string& path, const char* who) {
  return Failed(CLDB_BUSY, path, std::string("the database is open in ") + who, EAGAIN);
}

}  // namespace

Status LockedFile::Acquire(Folder& folder, std::unique_ptr<LockedFile>* result) {
  const std::string name = "LOCK", path = folder.PathOf(name);
  std::lock_guard<std::mutex> guard(registry().mutex);
  std::optional<uint64_t> size;
  cfiles_status info;
  CLDB_TRY(folder.Find(name, &size));
  const bool is_known = size && folder.StatusOf(name, &info) == 0;
  if (is_known && registry().files.count({info.device, info.inode}) > 0) return Busy(path, "this process");
  int descriptor;
  CLDB_TRY(folder.OpenMarker(name, &descriptor));
  int error = LockForBoth(descriptor);
  if (error == 0) error = -cfiles_status_of(descriptor, &info);
  if (error != 0) {
    cfiles_close(descriptor);
    if (error == EAGAIN || error == EACCES) return Busy(path, "another process");
    return SystemError(path, "the file can't be locked", error);
  }
  registry().files.insert({info.device, info.inode});
  result->reset(new LockedFile(descriptor, info.device, info.inode));
  return Status::OK();
}

LockedFile::~LockedFile() {
  std::lock_guard<std::mutex> guard(registry().mutex);
  registry().files.erase({device_, inode_});
  cfiles_unlock(descriptor_);
  cfiles_close(descriptor_);
}

}  // namespace cldb
