#include "Folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "CFiles.h"
#include "Failure.h"

namespace cldb {

using leveldb::Status;

namespace {

// Flushes down to the drive. For a file, its bytes and what is needed to find them.
int SyncDescriptor(int descriptor, bool is_folder) { return -cfiles_flush(descriptor, is_folder); }

std::string ParentOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Status Folder::Open(const std::string& path, bool make, const Hooks& hooks, std::unique_ptr<Folder>* result) {
  // A slash at the end would make the system follow a link there.
  std::string trimmed = path;
  while (trimmed.size() > 1 && trimmed.back() == '/') trimmed.pop_back();
  if (trimmed.empty()) return Status::InvalidArgument("the path of the database is empty");
  std::unique_ptr<Folder> folder(new Folder(trimmed, hooks));
  if (make) {
    Status made = folder->Make();
    if (!made.ok()) return made;
  }
  folder->descriptor_ = ::open(trimmed.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder->descriptor_ < 0) {
    int error = errno;
    if (error == ELOOP || error == ENOTDIR)
      return Failed(CLDB_CORRUPTION, trimmed, "this is not a folder, or a symbolic link to one");
    if (error == ENOENT) return Failed(CLDB_NOT_FOUND, trimmed, "there is no such folder", error);
    return SystemError(trimmed, "the folder can't be opened", error);
  }
  *result = std::move(folder);
  return Status::OK();
}

Folder::~Folder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status Folder::Make() {
  struct stat info;
  bool exists = ::lstat(path_.c_str(), &info) == 0;
  // A folder with a CURRENT was flushed when that was made. Without, it may come from a process that died
  // between making the folder and flushing its parent, so it is flushed again.
  if (exists && ::lstat(PathOf("CURRENT").c_str(), &info) == 0) return Status::OK();
  if (!exists) {
    if (int error = Ask(CLDB_MAKE_FOLDER, path_))
      return SystemError(path_, "the folder can't be made", error);
    if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
      if (errno == ENOENT) return Failed(CLDB_NOT_FOUND, path_, "there is no folder to make it in", ENOENT);
      return SystemError(path_, "the folder can't be made", errno);
    }
  }
  std::string parent = ParentOf(path_);
  int descriptor = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT)
    return Failed(CLDB_NOT_FOUND, parent, "there is no such folder", ENOENT);
  if (descriptor < 0) return SystemError(parent, "the folder can't be opened", errno);
  int error = Ask(CLDB_SYNC_FOLDER, parent);
  if (error == 0) error = SyncDescriptor(descriptor, true);
  ::close(descriptor);
  if (error != 0) return SystemError(parent, "the folder can't be flushed", error);
  return Status::OK();
}

Status Folder::NameOf(const std::string& path, std::string* name) const {
  size_t prefix = path_.size();
  bool inside = path.size() > prefix + 1 && path.compare(0, prefix, path_) == 0 && path[prefix] == '/';
  if (inside) *name = path.substr(prefix + 1);
  if (!inside || name->find('/') != std::string::npos || *name == "." || *name == "..")
    return Failed(CLDB_CORRUPTION, path, "the database names a file outside of its folder");
  return Status::OK();
}

Status Folder::List(std::vector<std::string>* names) const {
  names->clear();
  // A descriptor of its own, since reading a folder moves the position of its descriptor.
  int descriptor = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(path_, "the folder can't be opened", errno);
  DIR* stream = ::fdopendir(descriptor);
  if (stream == nullptr) {
    int error = errno;
    ::close(descriptor);
    return SystemError(path_, "the folder can't be read", error);
  }
  errno = 0;
  while (struct dirent* entry = ::readdir(stream)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names->push_back(std::move(name));
    errno = 0;
  }
  int error = errno;
  ::closedir(stream);
  if (error != 0) return SystemError(path_, "the folder can't be read", error);
  return Status::OK();
}

Status Folder::Find(const std::string& name, bool* exists, uint64_t* size) const {
  struct stat info;
  *exists = ::fstatat(descriptor_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (!*exists) {
    if (errno == ENOENT) return Status::OK();
    return SystemError(PathOf(name), "the file can't be looked at", errno);
  }
  if (!S_ISREG(info.st_mode))
    return Failed(CLDB_CORRUPTION, PathOf(name), "this is not a plain file, and does not belong here");
  *size = static_cast<uint64_t>(info.st_size);
  return Status::OK();
}

Status Folder::OpenForReading(const std::string& name, int* descriptor, uint64_t* size) const {
  // O_NONBLOCK, so that a pipe under the name of a table can't hold the process.
  int opened = ::openat(descriptor_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (opened < 0) {
    if (errno == ELOOP) return Failed(CLDB_CORRUPTION, PathOf(name), "this is a symbolic link");
    if (errno == ENOENT) return Failed(CLDB_CORRUPTION, PathOf(name), "the file is missing", ENOENT);
    return SystemError(PathOf(name), "the file can't be opened", errno);
  }
  struct stat info;
  if (::fstat(opened, &info) != 0) {
    int error = errno;
    ::close(opened);
    return SystemError(PathOf(name), "the file can't be looked at", error);
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(opened);
    return Failed(CLDB_CORRUPTION, PathOf(name), "this is not a plain file");
  }
  *descriptor = opened;
  *size = static_cast<uint64_t>(info.st_size);
  return Status::OK();
}

Status Folder::Read(int descriptor, const std::string& name, uint64_t offset, size_t count, char* bytes,
                    size_t* read) const {
  *read = 0;
  while (*read < count) {
    size_t part = count - *read;
    if (hooks_.read != nullptr) {
      if (int error = hooks_.read(hooks_.read_context, PathOf(name).c_str(), &part))
        return SystemError(PathOf(name), "the file can't be read", error);
      part = std::min(part, count - *read);
    }
    ssize_t got = ::pread(descriptor, bytes + *read, part, static_cast<off_t>(offset + *read));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(PathOf(name), "the file can't be read", errno);
    if (got == 0) break;
    *read += static_cast<size_t>(got);
  }
  return Status::OK();
}

Status Folder::OpenMarker(const std::string& name, int* descriptor) {
  bool exists;
  uint64_t size;
  Status found = Find(name, &exists, &size);
  if (!found.ok()) return found;
  if (!exists) {
    if (int error = Ask(CLDB_CREATE, PathOf(name)))
      return SystemError(PathOf(name), "the file can't be made", error);
  }
  *descriptor = ::openat(descriptor_, name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (*descriptor < 0) return SystemError(PathOf(name), "the file can't be opened", errno);
  return Status::OK();
}

Status Folder::Create(const std::string& name, int* descriptor) {
  if (poisoned()) return Refusal();
  if (int error = Ask(CLDB_CREATE, PathOf(name)))
    return Failure(PathOf(name), "the file can't be made", error);
  *descriptor = ::openat(descriptor_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (*descriptor < 0) return Failure(PathOf(name), "the file can't be made", errno);
  return Status::OK();
}

Status Folder::Write(int descriptor, const std::string& name, const char* bytes, size_t count,
                     uint64_t* offset) {
  if (poisoned()) return Refusal();
  while (count > 0) {
    size_t part = count;
    if (hooks_.change != nullptr) {
      std::string path = PathOf(name);
      cldb_operation operation = {CLDB_WRITE, path.c_str(), nullptr, bytes, count, *offset};
      if (int error = hooks_.change(hooks_.change_context, &operation, &part))
        return Failure(path, "the file can't be written", error);
      part = std::min(part, count);
    }
    ssize_t written = part == 0 ? 0 : ::write(descriptor, bytes, part);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Failure(PathOf(name), "the file can't be written", written < 0 ? errno : EIO);
    bytes += written;
    count -= static_cast<size_t>(written);
    *offset += static_cast<uint64_t>(written);
  }
  return Status::OK();
}

Status Folder::SyncFile(int descriptor, const std::string& name) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_SYNC, hooks_.change == nullptr ? path_ : PathOf(name));
  if (error == 0) error = SyncDescriptor(descriptor, false);
  if (error != 0) return Failure(PathOf(name), "the file can't be flushed to the drive", error);
  return Status::OK();
}

Status Folder::CloseFile(int descriptor, const std::string& name) {
  // Some file systems report a failed write only here. The descriptor is gone in either case.
  if (::close(descriptor) != 0 && errno != EINTR)
    return Failure(PathOf(name), "the file can't be closed", errno);
  return Status::OK();
}

Status Folder::SyncFolder() {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_SYNC_FOLDER, path_);
  if (error == 0) error = SyncDescriptor(descriptor_, true);
  if (error != 0) return Failure(path_, "the folder can't be flushed to the drive", error);
  return Status::OK();
}

Status Folder::Rename(const std::string& from, const std::string& to) {
  if (poisoned()) return Refusal();
  int error = 0;
  if (hooks_.change != nullptr) {
    std::string path = PathOf(from), new_path = PathOf(to);
    cldb_operation operation = {CLDB_RENAME, path.c_str(), new_path.c_str(), nullptr, 0, 0};
    size_t count = 0;
    error = hooks_.change(hooks_.change_context, &operation, &count);
  }
  if (error == 0 && ::renameat(descriptor_, from.c_str(), descriptor_, to.c_str()) != 0) error = errno;
  if (error != 0) return Failure(PathOf(to), "the file can't be put in its place", error);
  return SyncFolder();
}

Status Folder::Remove(const std::string& name) {
  if (poisoned()) return Refusal();
  int error = Ask(CLDB_REMOVE, PathOf(name));
  if (error == 0 && ::unlinkat(descriptor_, name.c_str(), 0) != 0) error = errno;
  if (error != 0) return SystemError(PathOf(name), "the file can't be removed", error);
  return Status::OK();
}

void Folder::Discard(const std::string& name) {
  if (Ask(CLDB_REMOVE, PathOf(name)) == 0) ::unlinkat(descriptor_, name.c_str(), 0);
}

void Folder::Poison(const std::string& reason) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!poisoned_.exchange(true, std::memory_order_acq_rel)) poison_reason_ = reason;
}

std::string Folder::poison_reason() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return poison_reason_;
}

int Folder::Ask(cldb_operation_kind kind, const std::string& path) const {
  if (hooks_.change == nullptr) return 0;
  cldb_operation operation = {kind, path.c_str(), nullptr, nullptr, 0, 0};
  size_t count = 0;
  return hooks_.change(hooks_.change_context, &operation, &count);
}

Status Folder::Refusal() const {
  return Failed(CLDB_POISONED, path_, "nothing more is written after a failure (" + poison_reason() + ")");
}

Status Folder::Failure(const std::string& path, const char* what, int error) {
  Status status = SystemError(path, what, error);
  Poison(WordsOf(status));
  return status;
}

}  // namespace cldb
